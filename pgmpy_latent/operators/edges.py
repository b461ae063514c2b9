"""Functions that the operators share: reverse, compose and look up edges, by node index."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from pgmpy_latent.model.tree import LatentTree


def normalised(weights: np.ndarray) -> np.ndarray:
    """Return rows divided by their sums; a row of zeros becomes uniform.

    Examples
    --------
    >>> normalised(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    totals = weights.sum(axis=1, keepdims=True)
    uniform = np.full(weights.shape, 1 / weights.shape[1])
    return np.divide(weights, totals, out=uniform, where=totals > 0)


def composed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return P(c | a) from P(b | a) and P(c | b), where b separates a from c.

    Rows are normalised, so that small errors of their sums do not add up along a path.

    Examples
    --------
    >>> composed(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([[0.75, 0.25]])
    """
    return normalised(first @ second)


def reverse_edge(above: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(y) and P(x | y) from P(x) and P(y | x); uniform where y has probability zero.

    Examples
    --------
    >>> marginal, turned = reverse_edge(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    >>> marginal, turned
    (array([1., 0.]), array([[0.5, 0.5], [0.5, 0.5]]))
    """
    joint = above[:, None] * table
    return joint.sum(axis=0), normalised(joint.T)


def path_from_root(parent: np.ndarray, at: int) -> list[int]:
    """Return the nodes from the root of a component down to one of its nodes.

    Examples
    --------
    >>> path_from_root(np.array([1, -1]), 0)
    [1, 0]
    """
    path = [at]
    while (above := int(parent[path[-1]])) >= 0:
        path.append(above)
    return path[::-1]


def rooted_at(parent: np.ndarray, tables: Sequence[np.ndarray], at: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return new parents and tables of the same distribution with a node as the root of its component.

    Operators take several such steps and build one tree at the end, as building a tree checks all of it.

    Examples
    --------
    >>> parent, tables = rooted_at(np.array([-1, 0]), [np.array([[0.5, 0.5]]), np.eye(2)], 1)
    >>> parent.tolist(), tables[1].tolist()
    ([1, -1], [[0.5, 0.5]])
    """
    path = path_from_root(parent, at)
    parent, tables = np.array(parent), list(tables)
    if len(path) == 1:
        return parent, tables
    marginal = tables[path[0]][0]
    for above, below in pairwise(path):
        marginal, tables[above] = reverse_edge(marginal, tables[below])
        parent[above] = below
    parent[at] = -1
    # rows may sum to one plus a rounding error, and errors of a long path must not add up
    tables[at] = (marginal / marginal.sum())[None, :]
    return parent, tables


def neighbours_of(tree: LatentTree, at: int) -> list[int]:
    """Return parent and children of a node, in node order: an order that does not depend on the root.

    Examples
    --------
    >>> tree = LatentTree(["x", "y"], [["a"], ["b"]], [1, -1], [False, False], [[[1.0]], [[1.0]]])
    >>> neighbours_of(tree, 0)
    [1]
    """
    above = int(tree.parent[at])
    return sorted([*tree.child_lists[at], *([above] if above >= 0 else [])])


def require_neighbours(tree: LatentTree, node: Hashable, others: Iterable[Hashable]) -> None:
    """Raise unless every one of the others is a parent or a child of the node.

    Examples
    --------
    >>> tree = LatentTree(["x", "y"], [["a"], ["b"]], [1, -1], [False, False], [[[1.0]], [[1.0]]])
    >>> require_neighbours(tree, "x", ["z"])
    Traceback (most recent call last):
    ValueError: 'z' is not a neighbour of 'x'; choose among its neighbours ['y']
    """
    neighbours = [tree.names[other] for other in neighbours_of(tree, tree.index(node))]
    for other in others:
        if other not in neighbours:
            raise ValueError(f"{other!r} is not a neighbour of {node!r}; choose among its neighbours {neighbours}")


def require_hidden(tree: LatentTree, node: Hashable) -> int:
    """Return the index of a hidden node; raise if it is observed.

    Examples
    --------
    >>> require_hidden(LatentTree(["x"], [["a"]], [-1], [False], [[[1.0]]]), "x")
    Traceback (most recent call last):
    ValueError: 'x' is observed; only hidden nodes can change: []
    """
    at = tree.index(node)
    if not tree.latent[at]:
        raise ValueError(f"{node!r} is observed; only hidden nodes can change: {list(tree.latent_names)}")
    return at
