"""The moves of a search over Gaussian trees: which edits are worth a try, and what each of them gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.fit import Fit
from pgmpy_latent.gaussian.edits import OPERATORS, Edit
from pgmpy_latent.gaussian.first_forests import information_of
from pgmpy_latent.gaussian.fit import objective_of
from pgmpy_latent.gaussian.forest import Forest, tidy
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.neighbourhoods import Scores
from pgmpy_latent.gaussian.objective import MOST_CORRELATED
from pgmpy_latent.gaussian.shape import all_correlations

#: How many relocations to each side of an edge, and how many pairs around a node, are tried: the most promising.
PLACES, PAIRS = 3, 3
#: Gain in score below which a move is not worth it.
WORTH = 1e-2
#: Most iterations of EM on a small forest.
LOCAL_ITER = 60
#: Share that starts keep of the correlations of edges to scores, which are less reliable than the nodes themselves.
MODEST = 0.9


@dataclass(frozen=True)
class Candidate:
    """An edit, what it gains in score by the small forest around it, and the nodes that it is about."""

    gain: float
    edit: Edit
    nodes: frozenset[int]


class Moves:
    """Finds the edits that raise the score.

    Parameters
    ----------
    run : callable
        Runs EM on a small forest: :meth:`pgmpy_latent.learners.search.Search.fit`.
    cost : float
        What an edge must gain.
    operators : sequence of str
        Edits to try; names of :data:`pgmpy_latent.gaussian.edits.OPERATORS`.
    inner_columns : bool
        Whether columns may have several neighbours.
    tick : callable
        Called before every candidate; raises when the time is up.
    """

    def __init__(
        self,
        run: Callable[..., Fit],
        cost: float,
        operators: Sequence[str] = tuple(OPERATORS),
        inner_columns: bool = True,
        tick: Callable[[], None] = lambda: None,
    ):
        self.run = run
        self.cost = cost
        self.operators = operators
        self.inner_columns = inner_columns
        self.tick = tick

    def candidates(self, scores: Scores) -> list[Candidate]:
        """Return the edits that gain something, the best first."""
        found = []
        for hubs, edits in self._around(scores.forest):
            self.tick()
            found += self._evaluated(scores, hubs, edits)
        return sorted(found, key=lambda candidate: (-candidate.gain, candidate.edit.operator, candidate.edit.nodes))

    def _around(self, forest: Forest) -> Iterator[tuple[tuple[int, ...], list[Edit]]]:
        """Yield nodes next to each other, and the edits around them that need no further thought."""
        for left, right in forest.ends.tolist():
            gone, kept = (left, right) if left >= forest.n_columns else (right, left)
            edits = [Edit("contract", (gone, kept))] if gone >= forest.n_columns else []
            yield (left, right), [*edits, Edit("cut", (left, right))]
        for node, others in enumerate(forest.neighbours):
            if len(others) >= (2 if node < forest.n_columns else 4):
                whole = [Edit("group", (node, *sorted(others)))] if len(others) >= 3 and node < forest.n_columns else []
                yield (node,), whole

    def _evaluated(self, scores: Scores, hubs: tuple[int, ...], edits: list[Edit]) -> list[Candidate]:
        """Return the edits around some nodes that gain something."""
        small, moments, places = scores.around(hubs)
        edits = [edit for edit in edits if self._is_allowed(scores.forest, edit) and self._may_help(scores, edit)]
        wants_more = "relocate" in self.operators if len(hubs) == 2 else "group" in self.operators
        if not edits and not wants_more:
            return []
        value, fitted = self.local_fit(small, moments, MODEST)
        if wants_more:
            back = {place: node for node, place in places.items()}
            residual = self._residuals(fitted, moments)
            own = [places[hub] for hub in hubs]
            more = relocations(fitted, residual, own) if len(hubs) == 2 else pairs(fitted, residual, own[0])
            further = [edit.renumbered(back) for edit in more]
            edits = [*edits, *(edit for edit in further if self._is_allowed(scores.forest, edit))]
        found = []
        for edit in edits:
            new = tidy(edit.renumbered(places).applied(fitted))
            saved = self.cost * (len(small.ends) - len(new.ends))
            gain = self.local_fit(new, moments)[0] - value + saved
            if gain > WORTH:
                found.append(Candidate(gain, edit, frozenset({*hubs, *edit.nodes})))
        return found

    def _is_allowed(self, forest: Forest, edit: Edit) -> bool:
        """Tell whether an edit is to be tried, and leaves columns where they may be."""
        last = edit.nodes[0] if edit.operator == "group" else edit.nodes[-1]  # who gets neighbours
        return edit.operator in self.operators and (
            self.inner_columns or edit.operator == "cut" or last >= forest.n_columns
        )

    def _may_help(self, scores: Scores, edit: Edit) -> bool:
        """Tell whether an edge could be cut: whether what its ends say about each other is worth its cost."""
        if edit.operator != "cut":
            return True
        left, right = edit.nodes
        correlation = np.array(scores.between((left, right), (right, left)))
        return float(scores.weight * information_of(correlation)) < 2 * self.cost

    def local_fit(self, forest: Forest, moments: TableMoments, modest: float = 1.0) -> tuple[float, Forest]:
        """Return the log-likelihood of a small forest after EM, and the forest."""
        if not len(forest.ends):
            return float(objective_of(forest, moments).step(np.zeros((1, 0)))[0][0]), forest
        start = np.arctanh(np.clip(modest * forest.correlation, -MOST_CORRELATED, MOST_CORRELATED))
        result = self.run(objective_of(forest, moments), start[None], max_iter=LOCAL_ITER)
        return float(result.log_likelihood), forest.with_correlation(np.tanh(result.tables))

    @staticmethod
    def _residuals(forest: Forest, moments: TableMoments) -> np.ndarray:
        """Return by how much columns are more strongly correlated than the forest says, with the sign it says."""
        implied = all_correlations(forest.ends, forest.n_nodes, forest.correlation)[: forest.n_columns]
        implied = implied[:, : forest.n_columns]
        return (moments.correlations - implied) * np.where(implied < 0, -1, 1)


def relocations(forest: Forest, residual: np.ndarray, hubs: Sequence[int]) -> list[Edit]:
    """Return the most promising relocations along an edge of a small forest.

    Examples
    --------
    >>> forest = Forest.of_edges(4, 6, {(0, 4): 0.7, (1, 4): 0.7, (2, 5): 0.7, (3, 5): 0.7, (4, 5): 0.7})
    >>> residual = np.zeros((4, 4))
    >>> residual[1, 2:] = residual[2:, 1] = 0.1
    >>> relocations(forest, residual, [4, 5])[0].nodes
    (1, 4, 5)
    """
    edits = []
    for old, new in (hubs, hubs[::-1]):
        far = [node for node in forest.neighbours[new] if node < forest.n_columns and node != old]
        far += [new] * (new < forest.n_columns)
        near = [node for node in forest.neighbours[old] if node != new and node < forest.n_columns]
        promise = {node: float(residual[node, far].sum()) for node in near}
        best = sorted(near, key=lambda node: (-promise[node], node))[:PLACES]
        edits += [Edit("relocate", (node, old, new)) for node in best]
    return edits


def pairs(forest: Forest, residual: np.ndarray, hub: int) -> list[Edit]:
    """Return the most promising pairs around a node of a small forest to get a hidden parent.

    Examples
    --------
    >>> forest = Forest.of_edges(4, 5, {(node, 4): 0.7 for node in range(4)})
    >>> residual = np.zeros((4, 4))
    >>> residual[1, 2] = residual[2, 1] = 0.1
    >>> pairs(forest, residual, 4)[0].nodes
    (4, 1, 2)
    """
    around = sorted(node for node in forest.neighbours[hub] if node < forest.n_columns)
    strength = residual[np.ix_(around, around)]
    left, right = np.triu_indices(len(around), 1)
    best = np.lexsort((right, left, -strength[left, right]))[:PAIRS]
    return [Edit("group", (hub, around[left[at]], around[right[at]])) for at in best]


def compatible(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidates that do not share nodes.

    Examples
    --------
    >>> first, second, third = (Candidate(3 - at, Edit("cut", nodes), frozenset(nodes)) for at, nodes in
    ...                         enumerate([(0, 1), (1, 2), (2, 3)]))
    >>> [candidate.edit.nodes for candidate in compatible([first, second, third])]
    [(0, 1), (2, 3)]
    """
    chosen: list[Candidate] = []
    used: set[int] = set()
    for candidate in candidates:
        if used.isdisjoint(candidate.nodes):
            chosen.append(candidate)
            used |= candidate.nodes
    return chosen
