"""Latent class models of a table with groups: what may differ between the groups, and EM for each answer."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.ascent import same_value
from pgmpy_latent.em.starts import random_memberships
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import engine_for, network_engine
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.learners.skeletons import fresh_latent_name
from pgmpy_latent.model.network import LatentNetwork, reordered
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.tables.encode import CategoricalData

#: Share of uniform tables in a start that comes from another model: EM cannot leave zeros.
UNIFORM_SHARE = 1e-4


@held_by_checkpoints("groups")
@dataclass(frozen=True, eq=False)
class GroupFit:
    """A fitted model of a table with groups.

    Attributes
    ----------
    network : LatentNetwork
        The group, the hidden variable and the columns.
    log_likelihood : float
        Of the columns given the group.
    n_parameters : int
        Without those of the group's own distribution.
    n_best, n_starts : int
        How many of the random starts reached the best value, and how many there were. Where groups have nothing in
        common, each is fitted by itself: of the group in which the fewest did.
    """

    network: LatentNetwork
    log_likelihood: float
    n_parameters: int
    n_best: int
    n_starts: int


class GroupModels:
    """Fits latent class models in which the class sizes, and some columns, may differ between groups.

    Parameters
    ----------
    data : CategoricalData
        Rows in which the group is known.
    group : name
        The column of the group.
    n_states : int
        Number of classes.
    n_starts : int
        Number of random starts of every model.
    entropy : int
        The seed.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    clock : Clock
        Ends a fit, which then raises what the clock's signal is.
    memo : Memo
        Holds the fits that are finished.

    Examples
    --------
    >>> data = CategoricalData(["g", "x"], [["a", "b"], [0, 1]], [[0, 0], [0, 1], [1, 1]], [30.0, 10.0, 40.0])
    >>> models = GroupModels(data, "g", 1, n_starts=1, entropy=0)
    >>> first = models.fit(sizes=False)
    >>> last = models.fit_apart(first)
    >>> first.n_parameters, last.n_parameters, last.network.edges
    (1, 2, [('g', 'H'), ('H', 'x'), ('g', 'x')])
    >>> round(first.log_likelihood, 3), round(last.log_likelihood, 3)
    (-52.925, -22.493)
    """

    def __init__(
        self,
        data: CategoricalData,
        group: Hashable,
        n_states: int,
        n_starts: int,
        entropy: int,
        n_jobs: int | None = None,
        clock: Clock | None = None,
        memo: Memo | None = None,
    ):
        self.memo = Memo() if memo is None else memo
        self.data, self.group, self.n_states, self.n_starts = data, group, n_states, n_starts
        self.entropy, self.n_jobs, self.clock = entropy, n_jobs, Clock() if clock is None else clock
        self.columns = [name for name in data.columns if name != group]
        self.hidden = fresh_latent_name(data.columns)
        states = dict(zip(data.columns, data.state_names, strict=True))
        self.names = [group, self.hidden, *self.columns]
        self.state_names = [states[group], tuple(range(n_states)), *(states[name] for name in self.columns)]
        self.cards = np.array([len(some) for some in self.state_names])
        self.group_codes = data.codes[:, data.columns.index(group)]
        counts = np.bincount(self.group_codes, data.weights, minlength=len(states[group]))
        self.shares = counts / counts.sum()
        self.log_likelihood_of_group = float((counts[counts > 0] * np.log(self.shares[counts > 0])).sum())

    def parents(self, sizes: bool, differ: Collection[Hashable]) -> list[tuple[int, ...]]:
        """Return the graph: the group is a parent of the hidden variable, and of the columns that differ."""
        return [(), (0,) if sizes else (), *((1, 0) if name in differ else (1,) for name in self.columns)]

    def fit(
        self, sizes: bool = True, differ: Collection[Hashable] = (), near: Sequence[GroupFit] = (), n_starts=None
    ) -> GroupFit:
        """Return a model, fitted from random starts and from models that it contains, or from the memo.

        Parameters
        ----------
        sizes : bool
            Whether the class sizes differ between groups.
        differ : collection of names
            The columns whose probabilities differ between groups.
        near : sequence of GroupFit
            Models with fewer edges, from which EM begins as well; classes are numbered as in the first.
        n_starts : int, optional
            Number of random starts.
        """
        n_starts = self.n_starts if n_starts is None else n_starts
        n_starts = min(n_starts, 1) if self.n_states == 1 else n_starts
        name = f"sizes {sizes}, {list(differ)!r} differ, {n_starts} starts"
        return self.memo.recall(name, lambda: self._fitted(sizes, differ, near, n_starts), check=self._check_again)

    def _check_again(self, fit: GroupFit) -> None:
        """Raise if a fit of the memo is not one of this table."""
        check_model_again(fit.network, self.data.columns, self.data.state_names)
        engine = engine_for(fit.network, self.data)
        value = float(engine.log_likelihood(engine.layout.pack(fit.network.tables)))
        check_number_again("log-likelihood", fit.log_likelihood, value - self.log_likelihood_of_group)

    def _fitted(self, sizes: bool, differ: Collection[Hashable], near: Sequence[GroupFit], n_starts: int) -> GroupFit:
        parents = self.parents(sizes, differ)
        engine = network_engine(self.names, parents, self.cards, self.data)
        codes = self.data.codes_of(self.names)
        starts = [self._expanded(fit.network, parents, engine) for fit in near]
        for number in range(n_starts):
            seed = np.random.SeedSequence(self.entropy, spawn_key=(int(sizes), len(differ), number))
            weights, keys = self.data.weights, self.data.row_keys
            starts.append(random_memberships(parents, self.cards, codes, weights, keys, seed))
        found = self._em(engine, np.stack(starts), retry=True, limited=len(near) > 0)
        n_best = int(same_value(found.final_objectives[len(near) :], found.objective).sum())
        network = self._network(parents, engine.layout.unpack(found.tables))
        return self._fit(self.in_order(network, near[0].network if near else None), found, n_best, n_starts)

    def fit_apart(self, first: GroupFit, near: Sequence[GroupFit] = ()) -> GroupFit:
        """Fit the model in which everything differs: one latent class model for each group.

        Parameters
        ----------
        first : GroupFit
            A model of all groups, which numbers the classes.
        near : sequence of GroupFit
            Further models to begin with.
        """
        return self.memo.recall("apart", lambda: self._fitted_apart(first, near), check=self._check_again)

    def _fitted_apart(self, first: GroupFit, near: Sequence[GroupFit]) -> GroupFit:
        parents = self.parents(True, self.columns)
        joint = network_engine(self.names, parents, self.cards, self.data)
        begin = [joint.layout.unpack(self._expanded(fit.network, parents, joint)) for fit in (first, *near)]
        tables = [table.copy() for table in begin[0]]
        numbers = []
        for at in range(int(self.cards[0])):
            ours = [[begin_of[1][at : at + 1], *(table[at :: self.cards[0]] for table in begin_of[2:])]
                    for begin_of in begin]  # fmt: skip
            best, n_best = self._fit_group(at, ours)
            numbers.append(n_best)
            tables[1][at] = best[0][0]
            for table, of_group in zip(tables[2:], best[1:], strict=True):
                table[at :: self.cards[0]] = of_group
        found = self._em(joint, joint.layout.pack(tables)[None])
        network = self._network(parents, joint.layout.unpack(found.tables))
        n_starts = self.n_starts if self.n_states > 1 else 1
        return self._fit(self._groups_in_order(network, first.network), found, min(numbers), n_starts)

    def _fit_group(self, at: int, near: list[list[np.ndarray]]) -> tuple[list[np.ndarray], int]:
        """Return the tables of one group's latent class model, and how many random starts led to them."""
        mine = self.data.take(self.group_codes == at)
        if not mine.n_distinct:
            return near[0], self.n_starts  # a group that never occurs keeps what all have in common
        names, cards = self.names[1:], self.cards[1:]
        parents: list[tuple[int, ...]] = [(), *[(0,)] * len(self.columns)]
        engine, codes = network_engine(names, parents, cards, mine), mine.codes_of(names)
        starts = [engine.layout.pack(tables) for tables in near]
        for number in range(self.n_starts if self.n_states > 1 else 1):
            seed = np.random.SeedSequence(self.entropy, spawn_key=(2, at, number))
            starts.append(random_memberships(parents, cards, codes, mine.weights, mine.row_keys, seed))
        found = self._em(engine, np.stack(starts), retry=True)
        n_best = int(same_value(found.final_objectives[len(near) :], found.objective).sum())
        return engine.layout.unpack(found.tables), n_best

    def _em(self, engine: RowEngine, starts: np.ndarray, retry: bool = False, limited: bool = True) -> em.Fit:
        """Run EM; a fit that did not come to its end raises. The time limit is for models that have one before."""
        with one_blas_thread():
            found = em.fit(engine, starts, retry=retry, n_jobs=self.n_jobs, clock=self.clock if limited else None)
        if found.interrupted:
            self.clock.note_stop()
            raise self.clock.stop_signal()
        return found

    def _network(self, parents: Sequence[Sequence[int]], tables: Sequence[np.ndarray]) -> LatentNetwork:
        latent = [name == self.hidden for name in self.names]
        return LatentNetwork(self.names, self.state_names, parents, latent, tables, self.data.missing)

    def _fit(self, network: LatentNetwork, found: em.Fit, n_best: int, n_starts: int) -> GroupFit:
        given = found.log_likelihood - self.log_likelihood_of_group
        return GroupFit(network, given, network.n_parameters - (int(self.cards[0]) - 1), n_best, n_starts)

    def _expanded(self, network: LatentNetwork, parents: Sequence[Sequence[int]], engine: RowEngine) -> np.ndarray:
        """Return the flat tables of a model with fewer edges in a larger one, a little on the way to uniform ones."""
        tables = []
        for node, above in enumerate(parents):
            table, added = network.tables[node], len(above) - len(network.parents[node])
            assert added in (0, 1), "a larger model has all edges of a smaller one"
            tables.append(np.repeat(table, int(self.cards[0]), axis=0) if added else table)
        flat, lengths = engine.layout.pack(tables), engine.layout.row_lengths
        return (1 - UNIFORM_SHARE) * flat + UNIFORM_SHARE / np.repeat(lengths, lengths)

    def in_order(self, network: LatentNetwork, like: LatentNetwork | None) -> LatentNetwork:
        """Return the model with its classes numbered like those of another; by their sizes if there is none."""
        mine = self._belongs(network)
        if like is None:
            order = np.argsort(-mine.T @ self.data.weights, kind="stable")
        else:
            shared = (self._belongs(like) * self.data.weights[:, None]).T @ mine
            _, order = linear_sum_assignment(shared, maximize=True)
        return reordered(network, {1: order})

    def _groups_in_order(self, network: LatentNetwork, like: LatentNetwork) -> LatentNetwork:
        """Return the model of unlike groups with the classes of each group numbered like those of another model."""
        mine, theirs, step = self._belongs(network), self._belongs(like), int(self.cards[0])
        tables = [table.copy() for table in network.tables]
        for at in range(step):
            here = (self.group_codes == at) * self.data.weights
            _, order = linear_sum_assignment((theirs * here[:, None]).T @ mine, maximize=True)
            tables[1][at] = tables[1][at][order]
            for table in tables[2:]:
                table[at::step] = table[at::step][order]
        return network.with_tables(tables)

    def _belongs(self, network: LatentNetwork) -> np.ndarray:
        """Return the posterior of the classes of every distinct row."""
        engine = engine_for(network, self.data)
        return engine.beliefs(engine.layout.pack(network.tables), [1])[0]
