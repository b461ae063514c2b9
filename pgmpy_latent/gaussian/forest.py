"""The structure that EM and searches of Gaussian trees work on: an unrooted forest of numbered nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pgmpy_latent.gaussian.shape import all_correlations
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.operators.canonical import fresh_names
from pgmpy_latent.runtime.arrays import read_only


@held_by_checkpoints("forest over numbers")
@dataclass(frozen=True, eq=False)
class Forest:
    """Columns, hidden nodes, and the correlations of the edges between them; no direction, and no names.

    Attributes
    ----------
    n_columns : int
        The columns are nodes 0, 1, ...; the hidden nodes come behind them.
    n_nodes : int
    ends : int array, shape (n_edges, 2)
    correlation : array, shape (n_edges,)

    Examples
    --------
    >>> Forest(2, 3, [[2, 0], [2, 1]], [0.8, -0.5]).neighbours
    ({2: 0.8}, {2: -0.5}, {0: 0.8, 1: -0.5})
    """

    n_columns: int
    n_nodes: int
    ends: np.ndarray
    correlation: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", read_only(np.asarray(self.ends, np.int64).reshape(-1, 2), np.int64))
        object.__setattr__(self, "correlation", read_only(self.correlation, np.float64))

    @classmethod
    def of_edges(cls, n_columns: int, n_nodes: int, edges: dict[tuple[int, int], float]) -> Forest:
        """Return the forest with some edges, sorted."""
        listed = sorted((min(pair), max(pair), value) for pair, value in edges.items())
        ends = np.array([pair for *pair, _ in listed], np.int64)
        return cls(n_columns, n_nodes, ends, np.array([value for *_, value in listed], np.float64))

    @cached_property
    def neighbours(self) -> tuple[dict[int, float], ...]:
        """The neighbours of every node, with the correlation of the edge."""
        found: tuple[dict[int, float], ...] = tuple({} for _ in range(self.n_nodes))
        for (left, right), value in zip(self.ends.tolist(), self.correlation.tolist(), strict=True):
            found[left][right] = found[right][left] = value
        return found

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return 2 * self.n_columns + len(self.ends)

    def with_correlation(self, correlation: np.ndarray) -> Forest:
        """Return the same edges with other correlations."""
        return replace(self, correlation=correlation)

    def walk(self, root: int) -> list[tuple[int, int]]:
        """Return the nodes of a tree from its root on, each with the one that it was reached from (-1 for the root).

        Examples
        --------
        >>> Forest(2, 3, [[2, 0], [2, 1]], [0.8, -0.5]).walk(0)
        [(0, -1), (2, 0), (1, 2)]
        """
        reached = [(root, -1)]
        for node, before in reached:  # grows while it is walked
            reached.extend((other, node) for other in self.neighbours[node] if other != before)
        return reached

    def trees(self) -> list[list[int]]:
        """Return the nodes of every tree of the forest."""
        seen: set[int] = set()
        found = []
        for node in range(self.n_nodes):
            if node not in seen:
                found.append([member for member, _ in self.walk(node)])
                seen.update(found[-1])
        return found


def tidy(forest: Forest) -> Forest:
    """Leave out hidden nodes that say nothing: those with fewer than three neighbours.

    One with two neighbours is redundant: the distribution is that of an edge between the two. One with a single
    neighbour, or none, is not seen by any column.

    Examples
    --------
    >>> tidy(Forest(2, 3, [[2, 0], [2, 1]], [0.8, -0.5])).neighbours
    ({1: -0.4}, {0: -0.4})
    """
    edges = [dict(others) for others in forest.neighbours]
    queue = list(range(forest.n_columns, forest.n_nodes))
    gone = set()
    while queue:
        node = queue.pop()
        if node in gone or len(edges[node]) > 2:
            continue
        others = list(edges[node].items())
        for other, _ in others:
            del edges[other][node]
        if len(others) == 2:
            (left, first), (right, second) = others
            edges[left][right] = edges[right][left] = first * second
        gone.add(node)
        edges[node] = {}
        queue.extend(other for other, _ in others if other >= forest.n_columns)
    if not gone:
        return forest
    kept = [node for node in range(forest.n_nodes) if node not in gone]
    place = {node: at for at, node in enumerate(kept)}
    pairs = {
        (place[node], place[other]): value for node in kept for other, value in edges[node].items() if node < other
    }
    return Forest.of_edges(forest.n_columns, len(kept), pairs)


def forest_of(tree: GaussianTree, columns: Sequence[Hashable] | None = None) -> tuple[Forest, np.ndarray]:
    """Return the forest of a model, and for each of its nodes the node of the model.

    ``columns`` gives the order of the observed nodes; by default that of the model.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, -0.5])
    >>> forest, nodes = forest_of(tree)
    >>> forest.ends.tolist(), nodes.tolist()
    ([[2, 0], [2, 1]], [1, 2, 0])
    """
    observed = tree.observed_names if columns is None else columns
    nodes = np.array([*map(tree.index, observed), *np.flatnonzero(tree.latent)], np.int64)
    place = np.argsort(nodes)
    below = np.flatnonzero(tree.parent >= 0)
    ends = np.stack([place[tree.parent[below]], place[below]], axis=1)
    return Forest(len(observed), tree.n_nodes, ends, tree.correlation[below]), nodes


def with_positive_loadings(forest: Forest, nodes: np.ndarray | None = None) -> Forest:
    """Return the same distribution of the columns, with the largest loading of every hidden node positive.

    A loading is the correlation of a hidden node with a column, next to it or further away.

    Parameters
    ----------
    forest : Forest
    nodes : array, optional
        The correlations of all pairs of nodes, if they are known.

    Examples
    --------
    >>> with_positive_loadings(Forest(2, 3, [[2, 0], [2, 1]], [-0.8, 0.5])).correlation.tolist()
    [0.8, -0.5]
    """
    if nodes is None:
        nodes = all_correlations(forest.ends, forest.n_nodes, forest.correlation)
    loadings = nodes[:, : forest.n_columns]
    largest = loadings[np.arange(forest.n_nodes), np.abs(loadings).round(12).argmax(axis=1)]
    sign = np.where(largest < 0, -1.0, 1.0)
    return forest.with_correlation(forest.correlation * sign[forest.ends[:, 0]] * sign[forest.ends[:, 1]])


def rooted(
    forest: Forest, names: Sequence[Hashable], mean: np.ndarray, std: np.ndarray, roots: Sequence[int] = ()
) -> GaussianTree:
    """Return a forest as a model with the hidden nodes first, root by root.

    Parameters
    ----------
    forest : Forest
    names : sequence
        Of the columns. Hidden nodes are called H1, H2 and so on.
    mean, std : arrays, shape (n_columns,)
    roots : sequence of int
        Roots of some trees. By default the root is the hidden node with most columns next to it, of those the one that
        is next to most columns and hidden nodes; the first column where nothing is hidden.

    Examples
    --------
    >>> tree = rooted(Forest(2, 3, [[2, 0], [2, 1]], [0.8, -0.5]), ["x", "y"], np.zeros(2), np.ones(2))
    >>> tree.names, tree.parent.tolist()
    (('H1', 'x', 'y'), [-1, 0, 0])
    """
    parent, correlation = np.full(forest.n_nodes, -1), np.zeros(forest.n_nodes)
    hidden: list[int] = []
    for members in forest.trees():
        asked = [node for node in members if node in roots]
        for node, above in forest.walk(asked[0] if asked else _root(forest, members)):
            if above >= 0:
                parent[node], correlation[node] = above, forest.neighbours[node][above]
            if node >= forest.n_columns:
                hidden.append(node)
    order = np.array([*hidden, *range(forest.n_columns)], np.int64)
    place = np.append(np.argsort(order), -1)
    is_hidden = order >= forest.n_columns
    return GaussianTree(
        [*fresh_names(len(hidden), names), *names],
        place[parent[order]],
        is_hidden,
        correlation[order],
        np.concatenate([np.zeros(len(hidden)), mean]),
        np.concatenate([np.ones(len(hidden)), std]),
    )


def _root(forest: Forest, members: Sequence[int]) -> int:
    """Return the root of a tree: where it is widest."""

    def width(node: int) -> tuple[int, int, int]:
        others = forest.neighbours[node]
        return -sum(other < forest.n_columns for other in others), -len(others), min(others, default=node)

    hidden = [node for node in members if node >= forest.n_columns]
    return min(hidden, key=width) if hidden else min(members)
