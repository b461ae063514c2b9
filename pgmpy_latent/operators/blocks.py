"""Blocks: the parts into which a tree falls at columns that are known in every row.

A column that is never missing separates the nodes on its sides: given its state, they are independent, and it has one
state in every row. So the log-likelihood of a tree is a sum over its blocks, each of which can be fitted by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import numpy as np

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import rooted_at


def rooted_at_columns(tree: LatentTree, columns: Sequence[Hashable]) -> LatentTree:
    """Return the same distribution with every component rooted at its first of some columns, if it has one.

    Parameters
    ----------
    tree : LatentTree
        The model.
    columns : sequence of hashable
        Observed nodes, in the order in which they are preferred.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, 0], [True, False], [[[0.5, 0.5]], [[1, 0], [0.5, 0.5]]])
    >>> rooted_at_columns(tree, ["x"]).parent.tolist()
    [1, -1]
    """
    component = np.empty(tree.n_nodes, dtype=np.int64)
    for node in tree.order:
        component[node] = node if tree.parent[node] < 0 else component[tree.parent[node]]
    parent, tables, done = tree.parent, list(tree.tables), set()
    for name in columns:
        node = tree.index(name)
        if component[node] not in done:
            done.add(component[node])
            if parent[node] >= 0:
                parent, tables = rooted_at(parent, tables, node)
    if parent is tree.parent:
        return tree
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)


def blocks_of(tree: LatentTree, columns: Collection[Hashable]) -> list[tuple[int, ...]]:
    """Return the nodes of every block: a column inside the tree belongs to all blocks that meet there.

    Parameters
    ----------
    tree : LatentTree
        The model.
    columns : collection of hashable
        Observed nodes at which it is divided.

    Returns
    -------
    list of tuple of int
        The top of each block comes first. Every edge is in one block; a node without edges is a block of its own.

    Examples
    --------
    >>> tables = [[[0.5, 0.5]], [[1, 0], [0.5, 0.5]], [[1, 0], [0.5, 0.5]], [[1, 0], [0.5, 0.5]]]
    >>> tree = LatentTree(["H", "x", "y", "z"], [[0, 1], "ab", "ab", "ab"], [-1, 0, 0, 2],
    ...                   [True, False, False, False], tables)
    >>> blocks_of(tree, ["x", "y", "z"])
    [(0, 1, 2), (2, 3)]
    """
    divides = np.zeros(tree.n_nodes, dtype=bool)
    divides[[tree.index(name) for name in columns]] = True
    blocks: list[list[int]] = []
    place = np.full(tree.n_nodes, -1)  # the block that a node shares with its parent
    for node in tree.order.tolist():
        above = int(tree.parent[node])
        if above < 0:
            if not divides[node] or not tree.child_lists[node]:
                place[node] = len(blocks)
                blocks.append([node])
        elif divides[above]:
            place[node] = len(blocks)
            blocks.append([above, node])
        else:
            place[node] = place[above]
            blocks[place[node]].append(node)
    return [tuple(block) for block in blocks]


def subtree(tree: LatentTree, nodes: Sequence[int], share: np.ndarray | None = None) -> LatentTree:
    """Return the model of some connected nodes, in the order of the tree.

    Parameters
    ----------
    tree : LatentTree
        The model.
    nodes : sequence of int
        The nodes.
    share : array, shape (states,), optional
        The distribution of the topmost; needed unless it is a root.
    """
    nodes = sorted(nodes)
    place = {node: at for at, node in enumerate(nodes)}
    parent = [place.get(int(tree.parent[node]), -1) for node in nodes]
    tables = [tree.tables[node] for node in nodes]
    if share is not None:
        tables[parent.index(-1)] = share[None]
    return LatentTree(
        [tree.names[node] for node in nodes],
        [tree.state_names[node] for node in nodes],
        parent,
        tree.latent[nodes],
        tables,
    )
