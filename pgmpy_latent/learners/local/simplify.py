"""Simpler trees: hidden nodes that can be joined into one, and states that can be merged."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from pgmpy_latent.inference.plan import Evidence
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.local.neighbourhood import Neighbourhood, star_model
from pgmpy_latent.learners.local.pairs import groupings, losses
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import contract_edge
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.operators.star import Star, merge_groups, merge_pairs, star_of, with_star
from pgmpy_latent.tables.encode import CategoricalData

#: How many merges of two states are looked at for each number of states, those of the most similar states; and how many
#: of these, the most likely ones, EM tries.
SCREENED, CANDIDATES = 12, 2
#: States that a joint node has beyond those of the larger of two nodes when EM first compares merges.
EXTRA = 2
#: How often one state less may be worse before no fewer are tried.
PATIENCE = 2
#: Where EM stops when it tries changes: when so little is left to gain, or after so many iterations.
TOLERANCE, ITERATIONS = 2.0, 16


@dataclass(frozen=True, eq=False)
class Change:
    """A change of a hidden node: new tables around it; it may also absorb a neighbour.

    Attributes
    ----------
    node, swallowed : hashable
        Names; ``swallowed`` is None if only states became fewer.
    star : Star
        The node and its neighbours afterwards.
    gain : float
        By how much the score rises if nothing else changes.
    touched : frozenset
        The nodes that the change needs as they are.
    """

    node: Hashable
    swallowed: Hashable
    star: Star
    gain: float
    touched: frozenset

    @property
    def changed(self) -> frozenset:
        """The nodes that are not the same afterwards."""
        return frozenset({self.node} if self.swallowed is None else {self.node, self.swallowed})

    def __str__(self) -> str:
        return str(self.node) if self.swallowed is None else f"{self.node}+{self.swallowed}"

    def applied(self, tree: LatentTree) -> LatentTree:
        """Return the tree with the change made."""
        if self.swallowed is not None:
            tree = contract_edge(tree, self.node, self.swallowed)
        return with_star(tree, tree.index(self.node), self.star, range(self.star.n_states))


def n_star_parameters(star: Star, n_shared: int = 0) -> int:
    """Return the number of free parameters of a node and of its neighbours given it.

    ``n_shared`` of the neighbours are numeric columns with one variance for all states.

    Examples
    --------
    >>> n_star_parameters(Star(np.full(2, 0.5), np.full((2, 5), 0.5), np.array([2, 3])))
    7
    """
    return star.n_states - 1 + star.n_states * int((star.cards - 1).sum()) - (star.n_states - 1) * n_shared


def n_shared_around(tree: LatentTree, node: int) -> int:
    """Return how many neighbours of a node are numeric columns with one variance for all states."""
    around = neighbours_of(tree, node)
    return int((tree.cards[around] - 1 - tree.per_state[around]).sum())


def compatible(changes: Sequence[Change]) -> list[Change]:
    """Return changes that do not get in each other's way, the first ones first."""
    chosen: list[Change] = []
    for change in changes:
        if not any(change.changed & other.touched or other.changed & change.touched for other in chosen):
            chosen.append(change)
    return chosen


def unaffected(tree: LatentTree, tasks: Collection[tuple], chosen: Sequence[Change]) -> list[tuple]:
    """Return the tasks whose nodes, and their neighbours, are not altered by the chosen changes."""
    changed = frozenset().union(*(change.changed for change in chosen))

    def around(name: Hashable) -> set:
        return {name, *(tree.names[at] for at in neighbours_of(tree, tree.index(name)))}

    return [task for task in tasks if not any(around(name) & changed for name in task if name is not None)]


class Simplifier:
    """Finds the changes that raise the score of a tree.

    Every change concerns the latent class model around one node, with everything beyond its neighbours as evidence: one
    pass over the tree serves all of them.

    Parameters
    ----------
    data : CategoricalData
        The table.
    search : Search
        Runs EM.
    penalty : float
        What a parameter costs.
    max_states : int, optional
        Most states of a hidden node.
    """

    def __init__(self, data: CategoricalData, search: Search, penalty: float, max_states: int | None = None):
        self.data = data
        self.max_states = np.inf if max_states is None else max_states
        self.search = search
        self.penalty = penalty

    def changes(self, tree: LatentTree, hopeless: Collection[tuple] = ()) -> tuple[list[Change], list[tuple]]:
        """Try all changes but those that are known to be hopeless.

        Returns
        -------
        changes : list of Change
            Those that raise the score, each by itself, best first.
        hopeless : list of (node, swallowed)
            All others.
        """
        hidden = np.flatnonzero(tree.latent)
        tasks: list[tuple[int, int | None]] = [
            (int(tree.parent[node]), int(node)) for node in hidden if tree.parent[node] in hidden
        ]
        tasks += [(int(node), None) for node in hidden if tree.cards[node] > 2]
        known = set(hopeless)
        tasks = [task for task in tasks if self._names(tree, task) not in known]
        evidence = self._evidence(tree, {node for task in tasks for node in task if node is not None})
        best = self.search.map(lambda task: self.best(tree, evidence, *task), tasks)
        known |= {self._names(tree, task) for task, change in zip(tasks, best, strict=True) if change is None}
        changes = sorted((change for change in best if change is not None), key=lambda change: -change.gain)
        return changes, sorted(known, key=repr)

    @staticmethod
    def _names(tree: LatentTree, task: tuple[int, int | None]) -> tuple:
        return tuple(None if node is None else tree.names[node] for node in task)

    def _evidence(self, tree: LatentTree, nodes: set[int]) -> dict[tuple[int, int], Evidence]:
        """Return the evidence from beyond the neighbours of some nodes."""
        engine = engine_for(tree, self.data)
        walk = engine.walk(engine.layout.pack(tree.tables))
        return {
            (other, node): walk.likelihood(other, node) for node in sorted(nodes) for other in neighbours_of(tree, node)
        }

    def best(self, tree: LatentTree, evidence: Mapping, node: int, swallowed: int | None) -> Change | None:
        """Return the best change of a node, with or without a neighbour that it swallows; None if none helps.

        Parameters
        ----------
        tree : LatentTree
            The model.
        evidence : mapping
            (neighbour, node) -> evidence from beyond the neighbour, for all neighbours of the two.
        node, swallowed : int
            The nodes; ``swallowed`` is None if only states are merged.
        """
        around = self._around(tree, node, swallowed)
        if not around:  # nothing depends on it
            return None
        star, gain = self.fewer_states(*self.joint_node(tree, evidence, node, swallowed))
        if star is None or gain <= 0:
            return None
        nodes = [node] if swallowed is None else [node, swallowed]
        touched = frozenset(tree.names[one] for one in (*nodes, *around))
        return Change(tree.names[node], None if swallowed is None else tree.names[swallowed], star, gain, touched)

    @staticmethod
    def _around(tree: LatentTree, node: int, swallowed: int | None) -> list[int]:
        """Return the neighbours of a node and of the one that it swallows."""
        nodes = {node} if swallowed is None else {node, swallowed}
        return sorted({other for inner in nodes for other in neighbours_of(tree, inner)} - nodes)

    def joint_node(
        self, tree: LatentTree, evidence: Mapping, node: int, swallowed: int | None
    ) -> tuple[Neighbourhood, Star, int, int]:
        """Return the arguments of :meth:`fewer_states`, for a node with or without a neighbour that it swallows."""
        parameters, changed = n_star_parameters(star_of(tree, node), n_shared_around(tree, node)), tree
        if swallowed is not None:
            changed = contract_edge(tree, tree.names[node], tree.names[swallowed])
            beyond = tree.per_state[neighbours_of(tree, swallowed)].sum() - (tree.cards[node] - 1)
            parameters += int(tree.cards[swallowed] * beyond) + n_shared_around(tree, swallowed)
        at = changed.index(tree.names[node])
        around = [tree.index(changed.names[other]) for other in neighbours_of(changed, at)]
        beyond_them = [evidence[other, node if (other, node) in evidence else swallowed] for other in around]
        most = int(tree.cards[node] if swallowed is None else tree.cards[[node, swallowed]].max() + EXTRA)
        return star_model(beyond_them, self.data.weights), star_of(changed, at), parameters, most

    def fewer_states(self, here: Neighbourhood, star: Star, parameters: int, most: int) -> tuple[Star | None, float]:
        """Merge states one after the other, at once down to ``most``; return the best star on the way, and its gain."""
        base = float(here.log_likelihoods([star])[0])
        if star.n_states > most:
            labels = groupings(star.share[:, None] * star.rows)[most]
            star = merge_groups(star, labels)
        best, highest, failures = None, -np.inf, 0
        while star.n_states > 2 and failures < PATIENCE:
            candidates = self._merges(here, star)
            n_states = star.n_states - 1
            fit = self.search.fit(
                here.engine(n_states), here.flat(candidates), narrowing=2.0, atol=TOLERANCE, max_iter=ITERATIONS
            )
            star = here.star(fit.tables, n_states)
            gain = fit.log_likelihood - base - self.penalty * (n_star_parameters(star, here.n_shared) - parameters)
            if gain > highest and star.n_states <= self.max_states:
                best, highest, failures = star, gain, 0
            elif best is not None:
                failures += 1
        return best, highest

    def _merges(self, here: Neighbourhood, star: Star) -> list[Star]:
        """Return the most likely merges of two similar states."""
        apart = losses(star.share[:, None] * star.rows)
        nearest = np.argsort(apart, axis=None, kind="stable")[: min(SCREENED, comb(star.n_states, 2))]
        candidates = merge_pairs(star, [divmod(int(at), star.n_states) for at in nearest])
        values = here.log_likelihoods(candidates)
        return [candidates[at] for at in np.argsort(-values, kind="stable")[:CANDIDATES]]
