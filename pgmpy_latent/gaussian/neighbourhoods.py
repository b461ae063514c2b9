"""What a change of a few edges gains, from a small forest in place of the whole one.

Behind every edge is a part of the forest. All that its columns say about the node at the edge is one linear combination
of them, its *score*: given the score, the other columns of the part do not depend on the node. So the gain of a change
around a few nodes is that of a small forest whose columns are the scores of the parts around; the rest of the
likelihood stays as it is. The correlations of all scores follow from those of the columns by one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pgmpy_latent.gaussian.forest import Forest
from pgmpy_latent.gaussian.moments import PatternMoments, TableMoments

#: The least share of its variance that a node has of its own, in scores.
LEAST_REST = 1e-6


class Scores:
    """The scores of all parts of a forest, and their correlations.

    Parameters
    ----------
    forest : Forest
    correlations : array, shape (n_columns, n_columns)
        Of the columns.
    weight : float
        Of all rows.

    Examples
    --------
    >>> star = Forest(3, 4, [[3, 0], [3, 1], [3, 2]], [0.8, 0.8, 0.8])
    >>> scores = Scores(star, np.array([[1.0, 0.64, 0.64], [0.64, 1.0, 0.64], [0.64, 0.64, 1.0]]), 100.0)
    >>> round(scores.between((0, 3), (3, 0)), 3)
    0.707
    """

    def __init__(self, forest: Forest, correlations: np.ndarray, weight: float):
        self.forest = forest
        self.weight = weight
        combinations = np.zeros((forest.n_columns + 2 * len(forest.ends), forest.n_columns))
        combinations[: forest.n_columns] = np.eye(forest.n_columns)
        self._place: dict[tuple[int, int], int] = {}
        for at, (pair, combination) in enumerate(_combinations(forest), forest.n_columns):
            self._place[pair] = at
            combinations[at] = combination
        combinations = combinations[: forest.n_columns + len(self._place)]
        products = combinations @ correlations @ combinations.T
        scale = np.sqrt(np.maximum(products.diagonal(), 1e-300))
        self.correlations = products / (scale[:, None] * scale)

    def place(self, node: int, toward: int) -> int:
        """Return the position of the score of a node and what is behind it, seen from a neighbour."""
        return node if node < self.forest.n_columns else self._place[node, toward]

    def between(self, first: tuple[int, int], second: tuple[int, int]) -> float:
        """Return the correlation of two scores, each given by a node and the neighbour it is seen from."""
        return float(self.correlations[self.place(*first), self.place(*second)])

    def around(self, hubs: Iterable[int]) -> tuple[Forest, TableMoments, dict[int, int]]:
        """Return the small forest around some nodes next to each other, its moments, and where nodes are in it."""
        forest, centre = self.forest, list(hubs)
        inside = set(centre)
        columns = [(hub, hub) for hub in centre if hub < forest.n_columns]
        columns += [(node, hub) for hub in centre for node in forest.neighbours[hub] if node not in inside]
        hidden = [hub for hub in centre if hub >= forest.n_columns]
        places = {node: at for at, node in enumerate([*(node for node, _ in columns), *hidden])}
        edges = {
            (places[node], places[hub]): value
            for hub in centre
            for node, value in forest.neighbours[hub].items()
            if node not in inside or node < hub
        }
        scores = np.array([self.place(node, toward) for node, toward in columns])
        small = Forest.of_edges(len(columns), len(places), edges)
        return small, moments_of_correlations(self.correlations[np.ix_(scores, scores)], self.weight), places


def moments_of_correlations(correlations: np.ndarray, weight: float) -> TableMoments:
    """Return the moments of a complete table of standardised columns.

    Examples
    --------
    >>> moments_of_correlations(np.eye(2), 10.0).n_columns
    2
    """
    n_columns = len(correlations)
    part = PatternMoments(np.arange(n_columns), weight, np.zeros(n_columns), whole=correlations)
    return TableMoments(np.zeros(n_columns), np.ones(n_columns), (part,), weight)


def _combinations(forest: Forest) -> list[tuple[tuple[int, int], np.ndarray]]:
    """Return, for every hidden node seen from a neighbour, what is behind it as a combination of columns."""
    n_nodes, n_columns = forest.n_nodes, forest.n_columns
    precision, force = np.zeros(n_nodes), np.zeros((n_nodes, n_columns))  # of what has arrived at each node
    arrived: dict[tuple[int, int], tuple[float, np.ndarray]] = {}

    def message(node: int, to: int, own: float, combination: np.ndarray) -> None:
        """Pass on to a neighbour what a node and its part say."""
        value = forest.neighbours[node][to]
        rest = max(1 - value**2, LEAST_REST)
        if node < n_columns:
            strength, part = value**2 / rest, np.zeros(n_columns)
            part[node] = value / rest
        else:
            damping = 1 + own * rest
            strength, part = value**2 * own / damping, combination * (value / damping)
        arrived[node, to] = strength, part
        precision[to] += strength
        force[to] += part

    found = []
    for members in forest.trees():
        walk = forest.walk(members[0])
        for node, above in reversed(walk[1:]):
            message(node, above, precision[node], force[node].copy())
        for node, above in walk[1:]:
            back = arrived[node, above]
            message(above, node, precision[above] - back[0], force[above] - back[1])
        for node, _ in walk:
            if node >= n_columns:
                for other in forest.neighbours[node]:
                    found.append(((node, other), force[node] - arrived[other, node][1]))
    return found
