"""Agglomeration: states of a hidden variable are merged one by one, scored on the table that they complete.

The hidden variable begins with a state for every distinct assignment of its Markov blanket. A state is then a set
of counts: in the variable's own family, of every combination of its parents; in the family of a child, of every
combination of the child and its other parents. Merging states adds their counts up.

The score of the completed table is a sum over states, plus a term that depends on their number alone. So the
difference that a merge makes depends on the two states and nothing else: it is computed once for every pair, and anew
only for pairs with the merged state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from scipy.special import gammaln, xlogy

from pgmpy_latent import scores
from pgmpy_latent.inference.patterns import distinct_combinations
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.model.network import blanket, child_lists
from pgmpy_latent.networks import scoring as networks
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.settings import one_of

#: Counts up to this are looked up rather than computed.
LARGEST_KNOWN = 2**20


@dataclass(frozen=True)
class Statistics:
    """Counts of the states of a variable in the families that it belongs to.

    Attributes
    ----------
    counts : array, shape (n_states, n_columns)
        A column for every combination that occurs: of the parents; of a child and its other parents; and of the other
        parents of a child.
    pseudo : int array, shape (n_columns,)
        For how many table entries a column stands: one, or the child's states where it is left out.
    signs : int array, shape (n_columns,)
        1, or -1 where the child is left out.
    own_totals : array
        Number of rows with each combination of the parents.
    n_own_rows : int
        Rows of the variable's own table.
    n_child_parameters : int
        Parameters of the children's tables that belong to one state.
    total : float
        Sum of the weights of all rows.
    """

    counts: np.ndarray
    pseudo: np.ndarray
    signs: np.ndarray
    own_totals: np.ndarray
    n_own_rows: int
    n_child_parameters: int
    total: float

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.counts)


def blanket_states(
    codes: np.ndarray, cards: np.ndarray | Sequence[int], parents: Sequence[Sequence[int]], node: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct assignment of the blanket in every row, and the distinct assignments, in lexicographic order.

    A missing cell counts as a value of its own here.

    Examples
    --------
    >>> blanket_states(np.array([[-1, 1], [-1, 0], [-1, 1]]), [2, 2], [(), (0,)], 0)[0].tolist()
    [1, 0, 1]
    """
    around = blanket(parents, node)
    if not around:
        return np.zeros(len(codes), dtype=np.int64), np.empty((1, 0), dtype=np.int64)
    columns = [(codes[:, other].astype(np.int64) + 1, int(cards[other]) + 1) for other in around]
    states, parts = distinct_combinations(columns)
    kinds = np.stack(parts, axis=1) - 1
    order = np.lexsort(kinds.T[::-1])
    return np.argsort(order)[states], kinds[order]


def statistics(
    codes: np.ndarray,
    weights: np.ndarray,
    cards: np.ndarray | Sequence[int],
    parents: Sequence[Sequence[int]],
    node: int,
    states: np.ndarray,
) -> Statistics:
    """Count the families of a variable whose state is known in every row.

    Rows that miss a cell of a family are left out of that family, and of no other.

    Parameters
    ----------
    codes : int array, shape (n_rows, n_nodes)
        States of all nodes, -1 where a cell is missing; the column of ``node`` is not read.
    weights : array, shape (n_rows,)
        Weights of the rows.
    cards, parents : sequences
        Numbers of states, and the graph.
    node : int
        The variable.
    states : int array, shape (n_rows,)
        Its states.

    Examples
    --------
    >>> found = statistics(np.array([[0, 1], [0, 0], [0, 1]]), np.ones(3), [2, 2], [(), (0,)], 0, np.array([0, 0, 1]))
    >>> found.counts.tolist()
    [[2.0, 1.0, 1.0, 2.0], [1.0, 0.0, 1.0, 1.0]]
    """
    n_states = int(states.max()) + 1
    of_parents = _block(codes, weights, cards, parents[node], states, n_states)
    blocks, pseudo, signs = [of_parents], [1] * of_parents.shape[1], [1] * of_parents.shape[1]
    per_state = 0
    for child in child_lists(parents)[node]:
        others = [parent for parent in parents[child] if parent != node]
        n_values = int(cards[child])
        per_state += prod(int(cards[other]) for other in others) * (n_values - 1)
        closed = codes[:, child] >= 0
        cells = _block(codes, weights, cards, [*others, child], states, n_states)
        rows = _block(codes[closed], weights[closed], cards, others, states[closed], n_states)
        blocks += [cells, rows]
        pseudo += [1] * cells.shape[1] + [n_values] * rows.shape[1]
        signs += [1] * cells.shape[1] + [-1] * rows.shape[1]
    return Statistics(
        np.concatenate(blocks, axis=1),
        np.array(pseudo),
        np.array(signs),
        of_parents.sum(axis=0),
        prod(int(cards[parent]) for parent in parents[node]),
        per_state,
        float(weights.sum()),
    )


def _block(codes, weights, cards, nodes: Sequence[int], states: np.ndarray, n_states: int) -> np.ndarray:
    """Return counts of states (rows) and combinations of some nodes that occur (columns)."""
    closed = (codes[:, list(nodes)] >= 0).all(axis=1)
    if not nodes:
        return np.bincount(states, weights, minlength=n_states)[:, None]
    if not closed.any():
        return np.zeros((n_states, 0))
    columns = [(codes[closed, node].astype(np.int64), int(cards[node])) for node in nodes]
    kinds, parts = distinct_combinations(columns)
    n_kinds = len(parts[0])
    counts = np.bincount(states[closed] * n_kinds + kinds, weights[closed], minlength=n_states * n_kinds)
    return counts.reshape(n_states, n_kinds)


@dataclass(frozen=True)
class MergeScorer(scores.Criterion):
    """A score of the completed table by which states are merged; larger is better.

    Attributes
    ----------
    of_counts : callable
        Counts and their pseudo-counts -> what each adds to the score; nothing, if the count is zero.
    of_number : callable
        Statistics, numbers of states and the pseudo-count of an entry -> what depends on the number of states alone.
    network : str
        Name, in :mod:`pgmpy_latent.networks.scoring`, of the score of networks after EM.
    uses_prior : bool
        Whether EM uses the pseudo-count.
    """

    of_counts: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_number: Callable[[Statistics, np.ndarray, float], np.ndarray]
    network: str
    uses_prior: bool


def _bde_of_number(statistics: Statistics, n_states: np.ndarray, prior: float) -> np.ndarray:
    pseudo = prior * n_states[..., None]
    return (gammaln(pseudo) - gammaln(statistics.own_totals + pseudo)).sum(axis=-1)


def _mdl_of_number(statistics: Statistics, n_states: np.ndarray, prior: float) -> np.ndarray:
    parameters = n_states * statistics.n_child_parameters + (n_states - 1) * statistics.n_own_rows
    penalty = scores.penalty_per_parameter(statistics.total)
    return -xlogy(statistics.own_totals, statistics.own_totals).sum() - parameters * penalty


#: ``scoring_method`` of :class:`~pgmpy_latent.AgglomerativeCardinality` -> what it stands for.
SCORERS = {
    "bde": MergeScorer(
        networks.SCORERS["bde"].title,
        networks.SCORERS["bde"].sentence,
        lambda counts, pseudo: gammaln(counts + pseudo) - gammaln(pseudo),
        _bde_of_number,
        network="bde",
        uses_prior=True,
        prior_words=networks.SCORERS["bde"].prior_words,
    ),
    "mdl": MergeScorer(
        networks.SCORERS["bic"].title,
        "the description length of the completed table (MDL) and the BIC of the fitted network",
        lambda counts, pseudo: xlogy(counts, counts),
        _mdl_of_number,
        network="bic",
        uses_prior=False,
    ),
}


class Scoring:
    """The score of the families of a completed table that contain a variable.

    Parameters
    ----------
    statistics : Statistics
        Counts of its states.
    method : str
        A name in ``SCORERS``. "bde" is the marginal likelihood with a pseudo-count for every table entry, "mdl" the
        log-likelihood minus a penalty for every parameter.
    prior : float
        The pseudo-count.
    """

    def __init__(self, statistics: Statistics, method: str, prior: float):
        self.statistics = statistics
        one_of(*SCORERS)("method", method)
        self.scorer = SCORERS[method]
        self.prior = prior
        self._kinds, self._kind_of_column = np.unique(statistics.pseudo, return_inverse=True)
        are_integers = not (statistics.counts % 1).any()
        self._known = None
        if are_integers and len(self._kinds) and statistics.total <= LARGEST_KNOWN:
            numbers = np.arange(2 * int(statistics.total) + 1, dtype=np.float64)  # a state may meet itself
            self._known = np.stack([self.scorer.of_counts(numbers, prior * kind) for kind in self._kinds])

    def values(self, counts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return what counts in the given columns add to the score, by state and column."""
        if self._known is None:
            terms = self.scorer.of_counts(counts, self.prior * self.statistics.pseudo[columns])
        else:
            terms = self._known[self._kind_of_column[columns], counts.astype(np.int64)]
        return terms * self.statistics.signs[columns]

    def of_states(self, counts: np.ndarray) -> np.ndarray:
        """Return what each state adds to the score."""
        return self.values(counts, np.arange(counts.shape[1])).sum(axis=1)

    def of_number(self, n_states: int | np.ndarray) -> np.ndarray:
        """Return what depends on the number of states alone."""
        return self.scorer.of_number(self.statistics, np.asarray(n_states, dtype=np.float64), self.prior)

    def total(self, counts: np.ndarray) -> float:
        """Return the score of a set of states."""
        return float(self.of_states(counts).sum() + self.of_number(len(counts)))


@held_by_checkpoints("agglomeration")
@dataclass(frozen=True)
class Trace:
    """The merges that led from many states to one.

    Attributes
    ----------
    merges : int array, shape (n_merges, 2)
        States that were merged; the lower number goes on as the merged state.
    gains : array, shape (n_merges,)
        By how much the score rose.
    first_score : float
        Before the first merge.
    n_first : int
        Number of states then.
    """

    merges: np.ndarray
    gains: np.ndarray
    first_score: float
    n_first: int

    @cached_property
    def n_states(self) -> np.ndarray:
        """Numbers of states, falling."""
        return self.n_first - np.arange(len(self.merges) + 1)

    @cached_property
    def scores(self) -> np.ndarray:
        """The score at each of them."""
        return self.first_score + np.concatenate([[0.0], np.cumsum(self.gains)])

    @property
    def best(self) -> int:
        """The number of states with the highest score; the smaller one, if two are equal."""
        at_best = np.flatnonzero(self.scores >= self.scores.max() - 1e-9 * max(1.0, abs(self.scores.max())))
        return int(self.n_states[at_best[-1]])

    def labels(self, n_states: int) -> np.ndarray:
        """Return, for every first state, which of the ``n_states`` states it became part of."""
        label = np.arange(self.n_first)
        for merged, absorbed in self.merges[: self.n_first - n_states]:
            label[label == absorbed] = merged
        return np.unique(label, return_inverse=True)[1]


def agglomerate(scoring: Scoring, tick: Callable[[], None] = lambda: None) -> Trace:
    """Merge the two states whose merging raises the score most, or lowers it least, until one is left.

    Of pairs that are equally good, the first is merged.

    Parameters
    ----------
    scoring : Scoring
        The states and their score.
    tick : callable
        Called before every merge; may raise.

    Returns
    -------
    Trace
    """
    counts = scoring.statistics.counts.copy()
    n_first = len(counts)
    local = scoring.of_states(counts)
    gains = _first_gains(scoring, counts)
    best_at = gains.argmax(axis=1)
    best = gains[np.arange(n_first), best_at]
    alive = np.ones(n_first, dtype=bool)
    by_number = np.diff(scoring.of_number(np.arange(n_first, 0, -1)))
    merges, rises = [], []
    for number in range(n_first - 1):
        tick()
        first = int(best.argmax())
        merged, absorbed = sorted((first, int(best_at[first])))
        merges.append((merged, absorbed))
        rises.append(gains[merged, absorbed] + by_number[number])
        counts[merged] += counts[absorbed]
        alive[absorbed] = False
        gains[absorbed], gains[:, absorbed], best[absorbed] = -np.inf, -np.inf, -np.inf
        others = np.flatnonzero(alive)
        others = others[others != merged]
        new = gains_with(scoring, counts, merged, others)
        gains[merged, others] = gains[others, merged] = new
        lost = others[np.isin(best_at[others], (merged, absorbed))]
        best_at[lost] = gains[lost].argmax(axis=1)
        best[lost] = gains[lost, best_at[lost]]
        better = others[(new > best[others]) | ((new == best[others]) & (merged < best_at[others]))]
        best_at[better], best[better] = merged, gains[better, merged]
        best_at[merged] = gains[merged].argmax()
        best[merged] = gains[merged, best_at[merged]]
    first_score = float(local.sum() + scoring.of_number(n_first))
    return Trace(np.array(merges, dtype=np.int64).reshape(-1, 2), np.array(rises), first_score, n_first)


def check_trace(trace: Trace, scoring: Scoring) -> None:
    """Raise if the merges of a trace do not have the gains that it says; which merges are best is not looked for.

    Parameters
    ----------
    trace : Trace
        Out of a checkpoint.
    scoring : Scoring
        The states and their score.
    """
    counts = scoring.statistics.counts.copy()
    n_first = len(counts)
    if trace.n_first != n_first or trace.merges.shape != (n_first - 1, 2) or trace.gains.shape != (n_first - 1,):
        raise ValueError(f"its agglomeration does not begin with {n_first} states and end with one")
    check_number_again("first score", trace.first_score, scoring.total(counts))
    by_number = np.diff(scoring.of_number(np.arange(n_first, 0, -1)))
    left = set(range(n_first))
    for number, (merged, absorbed) in enumerate(trace.merges.tolist()):
        if not {merged, absorbed} <= left or not merged < absorbed:
            raise ValueError(f"its merge {number} is of states {merged} and {absorbed}, which are not there")
        gain = float(gains_with(scoring, counts, merged, np.array([absorbed]))[0] + by_number[number])
        check_number_again(f"gain of merge {number}", float(trace.gains[number]), gain)
        counts[merged] += counts[absorbed]
        left.remove(absorbed)


def gains_with(scoring: Scoring, counts: np.ndarray, state: int, others: np.ndarray) -> np.ndarray:
    """Return what merging a state with each of some others adds to the score; columns where one has none do not."""
    columns = np.flatnonzero(counts[state])
    mine, theirs = counts[state, columns], counts[np.ix_(others, columns)]
    gains = scoring.values(mine + theirs, columns) - scoring.values(theirs, columns) - scoring.values(mine, columns)
    return gains.sum(axis=1)


def _first_gains(scoring: Scoring, counts: np.ndarray) -> np.ndarray:
    """Return the gains of all pairs: column by column, as every column is shared by few states at first."""
    gains = np.zeros((len(counts), len(counts)))
    for column in range(counts.shape[1]):
        states = np.flatnonzero(counts[:, column])
        here, at = counts[states, column], np.array([column])
        alone = scoring.values(here[:, None], at)[:, 0]
        together = scoring.values((here[:, None] + here).reshape(-1, 1), at).reshape(len(states), len(states))
        gains[np.ix_(states, states)] += together - alone[:, None] - alone
    np.fill_diagonal(gains, -np.inf)
    return gains
