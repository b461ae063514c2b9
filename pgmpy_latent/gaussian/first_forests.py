"""Forests over columns to begin with: spanning trees of columns, one factor, and joining of neighbours."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from pgmpy_latent.gaussian.forest import Forest

#: Correlations that are smaller than this many standard errors say how far apart two columns are at least, no more.
VISIBLE = 1.0
#: Absolute correlations from here on are taken for this in distances.
NEAREST = 0.9999
#: Decimals at which mutual information is compared, so that ties do not depend on rounding.
DECIMALS = 12


def information_of(correlations: np.ndarray) -> np.ndarray:
    """Return the mutual information of pairs of columns, in nats: ``-log(1 - r**2) / 2``.

    Examples
    --------
    >>> float(information_of(np.array([[1.0, 0.6], [0.6, 1.0]]))[0, 1].round(4))
    0.2231
    """
    return -np.log1p(-np.minimum(correlations**2, NEAREST**2)) / 2


def independent(n_columns: int) -> Forest:
    """Return the forest without edges.

    Examples
    --------
    >>> independent(2).n_parameters
    4
    """
    return Forest(n_columns, n_columns, np.zeros((0, 2), np.int64), np.zeros(0))


def chow_liu(correlations: np.ndarray) -> Forest:
    """Return the tree over the columns themselves that has the largest likelihood.

    Examples
    --------
    >>> chow_liu(np.array([[1.0, 0.5, 0.3], [0.5, 1.0, 0.6], [0.3, 0.6, 1.0]])).ends.tolist()
    [[0, 1], [1, 2]]
    """
    n_columns = len(correlations)
    information = information_of(correlations).round(DECIMALS)
    distance = np.triu(information.max() + 1 - information, 1)  # never 0, which would stand for "no edge"
    tree = minimum_spanning_tree(distance).tocoo()
    pairs = sorted((min(pair), max(pair)) for pair in zip(tree.row.tolist(), tree.col.tolist(), strict=True))
    return Forest.of_edges(n_columns, n_columns, {pair: float(correlations[pair]) for pair in pairs})


def one_factor(n_columns: int) -> Forest:
    """Return a hidden node above all columns; without one if there are fewer than three.

    Examples
    --------
    >>> one_factor(3).ends.tolist()
    [[0, 3], [1, 3], [2, 3]]
    """
    if n_columns < 3:
        return Forest.of_edges(n_columns, n_columns, {(0, 1): 0.5} if n_columns == 2 else {})
    return Forest.of_edges(n_columns, n_columns + 1, {(column, n_columns): 0.5 for column in range(n_columns)})


def joined_neighbours(correlations: np.ndarray, weight: float) -> Forest:
    """Return the binary tree of neighbour joining (Saitou and Nei), with a hidden node at every fork.

    Correlations are products along paths, so that ``-log|r|`` adds up like lengths of edges; from the exact ones
    neighbour joining finds the tree.

    Parameters
    ----------
    correlations : array, shape (n_columns, n_columns)
    weight : float
        Of all rows; smaller correlations than their standard error all count alike.

    Examples
    --------
    >>> from pgmpy_latent.gaussian.shape import all_correlations
    >>> ends, values = np.array([[4, 0], [4, 1], [5, 2], [5, 3], [4, 5]]), np.full(5, 0.7)
    >>> joined_neighbours(all_correlations(ends, 6, values)[:4, :4], 1e9).ends.tolist()
    [[0, 4], [1, 4], [2, 5], [3, 5], [4, 5]]
    """
    n_columns = len(correlations)
    if n_columns < 4:
        return one_factor(n_columns)
    size = np.clip(np.abs(correlations), VISIBLE / np.sqrt(max(weight, 2.0)), NEAREST)
    distance = -np.log(size)
    np.fill_diagonal(distance, 0.0)
    labels, next_label = list(range(n_columns)), n_columns
    edges: dict[tuple[int, int], float] = {}
    while len(labels) > 3:
        n = len(labels)
        total = distance.sum(axis=1)
        criterion = ((n - 2) * distance - total[:, None] - total).round(DECIMALS)
        criterion[np.tril_indices(n)] = np.inf
        left, right = np.unravel_index(int(np.argmin(criterion)), criterion.shape)
        middle = np.maximum((distance[left] + distance[right] - distance[left, right]) / 2, 0.0)
        edges[labels[left], next_label] = edges[labels[right], next_label] = 0.7
        kept = np.delete(np.arange(n), [left, right])
        distance = np.block(
            [[distance[np.ix_(kept, kept)], middle[kept, None]], [middle[None, kept], np.zeros((1, 1))]]
        )
        labels = [*(labels[at] for at in kept), next_label]
        next_label += 1
    for label in labels:
        edges[label, next_label] = 0.7
    return Forest.of_edges(n_columns, next_label + 1, edges)
