"""A latent class model of two roots of a forest: how many states it has, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.local.roots import PairModel, Posteriors, Root, joint_counts, root_above
from pgmpy_latent.learners.search import Search
from pgmpy_latent.operators.edges import normalised

#: How often one state more may lower the score before no further state is tried.
PATIENCE = 2
#: Share of the marginal distribution in tables that EM begins with.
SMOOTHING = 0.05
#: Most states that are grouped; the cost grows with their cube.
MOST_GROUPED = 100
#: Tolerance and most iterations of EM with the related roots, which only serve to find a start for the pair.
ROUGH_TOLERANCE, ROUGH_ITERATIONS = 1.0, 100


@dataclass(frozen=True)
class Options:
    """How pairs are modelled.

    Attributes
    ----------
    max_states : int or None
        Most states of a hidden variable.
    n_starts : int
        Random starts for each number of states.
    narrowing : float or None
        How they are narrowed down; see :func:`pgmpy_latent.em.fit.fit`.
    context : tuple of int
        How many related roots help to tell equally good models of a pair apart; several numbers are tried in turn.
    penalty : float
        What a parameter costs.
    debias : bool
        Whether roots are compared by mutual information less its expectation under independence.
    grouped_starts : bool
        Whether groupings of the states of either root are starts as well.
    """

    max_states: int | None
    n_starts: int
    narrowing: float | None
    context: tuple[int, ...]
    penalty: float
    debias: bool = True
    grouped_starts: bool = True


def groupings(counts: np.ndarray) -> dict[int, np.ndarray]:
    """Group the rows of a table of counts, the two first whose union loses least mutual information with the columns.

    Returns
    -------
    dict
        Number of groups -> the group of each row, from as many groups as rows down to one.

    Examples
    --------
    >>> groupings(np.array([[5.0, 1.0], [1.0, 5.0], [4.0, 1.0]]))[2].tolist()
    [0, 1, 0]
    """
    rows, labels, loss = counts.copy(), np.arange(len(counts)), losses(counts)
    labels_by_size = {len(rows): labels}
    while len(rows) > 1:
        first, second = np.unravel_index(np.argmin(loss), loss.shape)
        rows[first] += rows[second]
        rows = np.delete(rows, second, axis=0)
        loss = np.delete(np.delete(loss, second, axis=0), second, axis=1)
        of_first = _losses_with(rows, int(first))  # all other pairs lose what they lost before
        loss[:first, first], loss[first, first + 1 :] = of_first[:first], of_first[first + 1 :]
        labels = np.where(labels == second, first, labels)
        labels = labels - (labels > second)
        labels_by_size[len(rows)] = labels
    return labels_by_size


def losses(counts: np.ndarray) -> np.ndarray:
    """Return how much mutual information with the columns is lost, in nats, if two rows of counts become one.

    Examples
    --------
    >>> losses(np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 4.0]])).round(3)
    array([[  inf, 0.   , 3.819],
           [  inf,   inf, 3.819],
           [  inf,   inf,   inf]])
    """
    content = _content(counts)
    loss = content[:, None] + content[None] - _content(counts[:, None] + counts[None])
    loss[np.tril_indices(len(counts))] = np.inf
    return loss


def _losses_with(counts: np.ndarray, row: int) -> np.ndarray:
    """Return what :func:`losses` says of one row and each of the rows."""
    content = _content(counts)
    return content[row] + content - _content(counts[row] + counts)


def _content(rows: np.ndarray) -> np.ndarray:
    """Return what each row of counts adds to the mutual information with the columns, up to common terms."""
    return xlogy(rows, rows).sum(axis=-1) - xlogy(rows.sum(axis=-1), rows.sum(axis=-1))


class Pair:
    """Two roots that may get a common parent.

    A pair alone determines its latent class model poorly: two binary columns have three free probabilities, the model
    with two classes has five parameters, and models that are equally good for the pair differ in what the hidden
    variable says about everything else. So the model is first fitted together with the roots most related to the pair,
    as further children, which are then taken away again; among several such models the most promising is chosen.

    Parameters
    ----------
    left, right : Root
        The pair.
    related : sequence of Root
        Roots that say much about it; may be empty.
    weights : array
        Of the rows.
    search : Search
        Runs EM.
    key : tuple of int
        Tells random draws apart.
    options : Options
        Settings.
    """

    def __init__(
        self,
        left: Root,
        right: Root,
        related: Sequence[Root],
        weights: np.ndarray,
        search: Search,
        key: tuple[int, ...],
        options: Options,
    ):
        self.roots = (left, right)
        self.related = tuple(related)
        self.weights = weights
        self.search = search
        self.key = key
        self.options = options

    @property
    def most_states(self) -> int:
        """As many states as the smaller root has can describe any joint distribution of the two."""
        bound = min(root.n_states for root in self.roots)
        return bound if self.options.max_states is None else min(bound, self.options.max_states)

    def best(self) -> PairModel | None:
        """Return the model with the highest score, or None if two independent roots score higher."""
        chosen, highest, failures = None, 0.0, 0
        for n_states in range(2, self.most_states + 1):
            cost = self._cost(n_states)
            if failures == PATIENCE or self._saturated - cost <= highest:
                break
            model = self.fitted(n_states)
            if model.gain - cost > highest:
                chosen, highest, failures = model, model.gain - cost, 0
            else:
                failures += 1
        return chosen

    def _cost(self, n_states: int) -> float:
        left, right = self.roots
        return self.options.penalty * (n_states - 1) * (left.n_states + right.n_states - 1)

    def fitted(self, n_states: int) -> PairModel:
        """Return the model with a number of states.

        This is the most promising of the models found with related roots, unless the model found without them has a
        log-likelihood that is higher by more than the penalty of a parameter.
        """
        sizes = {min(size, len(self.related)) for size in self.options.context} - {0}
        beside = [self._fitted_beside(n_states, size) for size in sorted(sizes)]
        good = [model for model in beside if model.gain >= self._saturated - self.options.penalty]
        if not good:
            alone = self._fitted_beside(n_states, 0)
            worst = max(model.gain for model in (alone, *beside)) - self.options.penalty
            good = [model for model in beside if model.gain >= worst] or [alone]
        return good[0] if len(good) == 1 else max(good, key=self._promise)

    def _fitted_beside(self, n_states: int, n_related: int) -> PairModel:
        """Return the model of the pair that EM reaches from the model of the pair and some related roots."""
        engine = self._engine(self.roots, n_states)
        if n_related:
            wider = self._engine((*self.roots, *self.related[:n_related]), n_states)
            rough = {"atol": ROUGH_TOLERANCE, "max_iter": ROUGH_ITERATIONS}
            fit = self._fit(wider, np.stack(self._random_starts(wider, n_states)), **rough)
            starts = fit.tables[None, : engine.layout.size]  # the pair comes first
        else:
            sides = [side for side in (0, 1) if self._can_group(side)]
            grouped = [engine.layout.pack(self._grouped(side, n_states)) for side in sides]
            starts = np.stack([*grouped, *self._random_starts(engine, n_states)])
        fit = self._fit(engine, starts)
        share, left, right = engine.layout.unpack(fit.tables)
        return PairModel(share[0].copy(), left.copy(), right.copy(), fit.log_likelihood - self._apart)

    def _promise(self, model: PairModel) -> float:
        """Return the gain of the model plus that of an edge to the root that it says most about."""
        posterior = root_above(-1, self.roots, model, self._engine(self.roots, len(model.share))).posterior()
        shared = self._related_posteriors.information(posterior * self.weights)
        return model.gain + float(self.weights.sum() * max(shared.values()))

    @cached_property
    def _related_posteriors(self) -> Posteriors:
        return Posteriors(dict(enumerate(self.related)))

    def _engine(self, roots: Sequence[Root], n_states: int) -> TreeEngine:
        if len(roots) not in self._plans:
            evidence = {at: root.evidence for at, root in enumerate(roots, start=1)}
            self._plans[len(roots)] = compile_plan([-1] + [0] * len(roots), evidence, pivots=[0])
        return TreeEngine(self._plans[len(roots)], [n_states, *(root.n_states for root in roots)], self.weights)

    @cached_property
    def _plans(self) -> dict:
        return {}

    def _random_starts(self, engine: TreeEngine, n_states: int) -> list[np.ndarray]:
        seeds = (self.search.seed(*self.key, n_states, number) for number in range(self.options.n_starts))
        return [random_tables(engine.layout, np.random.default_rng(seed)) for seed in seeds]

    def _grouped(self, side: int, n_states: int) -> list[np.ndarray]:
        """Return the tables that would hold if the hidden variable were a grouping of the states of one root."""
        labels = self._grouping(side, n_states)
        joint = self._joint if side == 0 else self._joint.T
        tables = [np.zeros((n_states, joint.shape[0])), np.zeros((n_states, joint.shape[1]))]
        np.add.at(tables[0], labels, np.diag(joint.sum(axis=1)))
        np.add.at(tables[1], labels, joint)
        share = tables[0].sum(axis=1)
        # a small share of the marginal, so that no state is ruled out
        near, far = ((1 - SMOOTHING) * normalised(counts) + SMOOTHING / counts.shape[1] for counts in tables)
        return [normalised(share[None]), *((near, far) if side == 0 else (far, near))]

    def _can_group(self, side: int) -> bool:
        return self.options.grouped_starts and self.roots[side].n_states <= MOST_GROUPED

    def _grouping(self, side: int, n_states: int) -> np.ndarray:
        if side not in self._groupings:
            self.search.tick()
            self._groupings[side] = groupings(self._joint if side == 0 else self._joint.T)
        return self._groupings[side][n_states]

    @cached_property
    def _groupings(self) -> dict:
        return {}

    @cached_property
    def _joint(self) -> np.ndarray:
        """Expected joint counts of the two roots."""
        return joint_counts(*self.roots, self.weights)

    def _fit(self, engine: TreeEngine, starts: np.ndarray, **options):
        n_jobs = self.search.n_jobs
        return self.search.fit(engine, starts, narrowing=self.options.narrowing, n_jobs=n_jobs, **options)

    @cached_property
    def _apart(self) -> float:
        """Log-likelihood of two independent roots; the factors that evidence leaves out are the same for all models."""
        return sum(self._alone(root) for root in self.roots)

    def _alone(self, root: Root) -> float:
        plan = compile_plan([-1], {0: root.evidence})
        return float(TreeEngine(plan, [root.n_states], self.weights).log_likelihood(root.share))

    @cached_property
    def _saturated(self) -> float:
        """The gain of the best joint distribution of the two roots, by EM: no number of states can exceed it."""
        (above, below), joint = self.roots, self._joint
        if above.is_wide:  # as a leaf it takes no square of its states
            above, below, joint = below, above, joint.T
        plan = compile_plan([-1, 0], {0: above.evidence, 1: below.evidence})
        engine = TreeEngine(plan, [above.n_states, below.n_states], self.weights)
        counts = joint + max(joint.sum(), 1.0) / joint.size  # no zeros in the start
        table = counts / counts.sum(axis=1, keepdims=True)
        share = counts.sum(axis=1, keepdims=True).T / counts.sum()
        fit = self.search.fit(engine, engine.layout.pack([share, table]), prior=0.0)
        return fit.log_likelihood + max(fit.remaining_gain, 0.0) - self._apart
