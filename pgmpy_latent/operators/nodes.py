"""Operators on the nodes of a tree: introducing, deleting and relocating them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import (
    composed,
    neighbours_of,
    path_from_root,
    require_hidden,
    require_neighbours,
    rooted_at,
)


def introduce_node(tree: LatentTree, node: Hashable, neighbours: Sequence[Hashable], name: Hashable) -> LatentTree:
    """Put a new hidden node between a node and some of its neighbours.

    The new node is a copy of the old one, and the chosen neighbours depend on the copy as they did on the original.
    This keeps the distribution over all old variables. :func:`delete_node` undoes it. To get a new node with fewer
    states, merge some of them afterwards with :func:`~pgmpy_latent.operators.merge_states`.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is.
    node : hashable
        A node, hidden or observed.
    neighbours : sequence of hashable
        One or more of its neighbours.
    name : hashable
        Name of the new node, which comes last and has the states 0, 1, ... .

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y", "z"], [[0, 1], "ab", "ab", "ab"], [-1, 0, 0, 0], [True, False, False, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> larger = introduce_node(tree, "H", ["x", "y"], "G")
    >>> larger.children("H"), larger.children("G")
    (('z', 'G'), ('x', 'y'))
    >>> larger.table("G")
    array([[1., 0.], [0., 1.]])
    """
    at = tree.index(node)
    if name in tree.names:
        raise ValueError(f"a node is called {name!r} already; choose another name for the new one")
    require_neighbours(tree, node, neighbours)
    chosen = [tree.index(other) for other in neighbours]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"a neighbour of {node!r} is named twice: {list(neighbours)}; name each once")
    if not chosen:
        raise ValueError(f"{name!r} would stand between {node!r} and none of its neighbours; give one or more")
    parent, tables = tree.parent, list(tree.tables)
    if parent[at] in chosen:
        parent, tables = rooted_at(parent, tables, at)
    card = int(tree.cards[at])
    parent = np.append(parent, at)
    parent[chosen] = tree.n_nodes
    parent, tables = rooted_at(parent, [*tables, np.eye(card)], path_from_root(tree.parent, at)[0])
    return LatentTree(
        names=(*tree.names, name),
        state_names=(*tree.state_names, range(card)),
        parent=parent,
        latent=np.append(tree.latent, True),
        tables=tables,
        missing=tree.missing,
    )


def delete_node(tree: LatentTree, node: Hashable, into: Hashable = None) -> LatentTree:
    """Delete a hidden node; its other neighbours become neighbours of one of them.

    For each of them P(c | into) is kept: the sum of P(h | into) P(c | h) over the states h of the deleted node. So is
    the joint distribution of all variables that were reached through the same neighbour of the deleted node, together
    with those reached through ``into``. What changes is how the other neighbours depend on each other; nothing does if
    there is at most one of them, or if ``into`` determines the node.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is; if it is the deleted node, ``into`` becomes the root.
    node : hashable
        A hidden node.
    into : hashable, optional
        A neighbour of it, hidden or observed; None for a node without neighbours.

    Examples
    --------
    >>> tree = LatentTree(["H", "G", "x"], [[0, 1], [0, 1], "ab"], [-1, 0, 1], [True, True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> smaller = delete_node(tree, "G", "H")
    >>> smaller.names, smaller.table("x")
    (('H', 'x'), array([[1. , 0. ], [0.5, 0.5]]))
    """
    at = require_hidden(tree, node)
    path = path_from_root(tree.parent, at)
    if into is None:
        _require_isolated(tree, node)
        return _without(tree, at, tree.parent, tree.tables)
    require_neighbours(tree, node, [into])
    target = tree.index(into)
    # if the parent is the target, the root may stay where it is
    parent, tables = rooted_at(tree.parent, tree.tables, path[0] if tree.parent[at] == target else target)
    for child in np.flatnonzero(parent == at):
        parent[child] = target
        tables[child] = composed(tables[at], tables[child])
    return _without(tree, at, *rooted_at(parent, tables, target if path[0] == at else path[0]))


def contract_edge(tree: LatentTree, node: Hashable, neighbour: Hashable) -> LatentTree:
    """Join two hidden nodes that are neighbours into one, whose states are the pairs of theirs.

    This keeps the distribution over all other variables. To get fewer states, merge some of them afterwards with
    :func:`~pgmpy_latent.operators.merge_states`.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is; if it is one of the two, the joint node becomes the root.
    node : hashable
        A hidden node. The joint node has its name and place, and the states 0, 1, ...: pairs in lexicographic order.
    neighbour : hashable
        A hidden neighbour of it.

    Examples
    --------
    >>> tree = LatentTree(["H", "G", "x"], [[0, 1], [0, 1], "ab"], [-1, 0, 1], [True, True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> joint = contract_edge(tree, "H", "G")
    >>> joint.table("H"), joint.table("x")
    (array([[0.5 , 0.  , 0.25, 0.25]]), array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.2, 0.8]]))
    """
    at, other = require_hidden(tree, node), require_hidden(tree, neighbour)
    require_neighbours(tree, node, [neighbour])
    root = path_from_root(tree.parent, at)[0]
    parent, tables = rooted_at(tree.parent, tree.tables, at)
    n_states, n_other = int(tree.cards[at]), int(tree.cards[other])
    for child in np.flatnonzero(parent == at):
        if child != other:
            tables[child] = np.repeat(tables[child], n_other, axis=0)
    for child in np.flatnonzero(parent == other):
        parent[child], tables[child] = at, np.tile(tables[child], (n_states, 1))
    tables[at] = (tables[at][0][:, None] * tables[other]).reshape(1, -1)
    parent, tables = rooted_at(parent, tables, at if root == other else root)
    state_names: list[Sequence[Hashable]] = list(tree.state_names)
    state_names[at] = range(n_states * n_other)
    return _without(tree, other, parent, tables, state_names)


def relocate_node(tree: LatentTree, neighbour: Hashable, old: Hashable, new: Hashable) -> LatentTree:
    """Cut the edge between two nodes and hang one side on another node of the other side.

    The new edge has the joint distribution that its two ends had before. This keeps the distribution of all variables
    on the neighbour's side, that of all variables on the other side, and that of the pair (neighbour, new). The whole
    distribution is kept if ``new`` determines ``old``, or if the neighbour is independent of it.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is.
    neighbour : hashable
        The node whose side of the edge is moved.
    old : hashable
        The node that it hangs on now.
    new : hashable
        The node that it shall hang on: one on the side of ``old``.

    Examples
    --------
    >>> tree = LatentTree(["H", "G", "x"], [[0, 1], [0, 1], "ab"], [-1, 0, 0], [True, True, False],
    ...                   [[[0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> moved = relocate_node(tree, "x", old="H", new="G")
    >>> moved.children("G"), moved.table("x")
    (('x',), array([[0.2, 0.8], [0.9, 0.1]]))
    """
    require_neighbours(tree, old, [neighbour])
    at, target = tree.index(neighbour), tree.index(new)
    if new == old:
        return tree
    parent, tables = rooted_at(tree.parent, tree.tables, target)
    path = path_from_root(parent, at)
    if path[0] != target or at == target or parent[at] != tree.index(old):
        raise ValueError(
            f"{new!r} is not on the side of {old!r} when the edge to {neighbour!r} is cut; choose a node that is"
        )
    table = tables[path[1]]
    for step in path[2:]:
        table = composed(table, tables[step])
    parent[at], tables[at] = target, table
    parent, tables = rooted_at(parent, tables, path_from_root(tree.parent, at)[0])
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)


def cut_edge(tree: LatentTree, node: Hashable, neighbour: Hashable) -> LatentTree:
    """Cut the edge between two nodes, whose sides become independent.

    This keeps the distribution of all variables on either side. :func:`link_nodes` puts an edge back.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is, and the other side is rooted at its end of the edge.
    node, neighbour : hashable
        The ends of the edge.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, 0], [True, False], [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> cut_edge(tree, "H", "x").table("x")
    array([[0.75, 0.25]])
    """
    require_neighbours(tree, node, [neighbour])
    at, other = tree.index(node), tree.index(neighbour)
    below = at if tree.parent[at] == other else other
    _, walked = rooted_at(tree.parent, tree.tables, below)
    parent, tables = tree.parent.copy(), list(tree.tables)
    parent[below], tables[below] = -1, walked[below]
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)


def link_nodes(tree: LatentTree, node: Hashable, other: Hashable) -> LatentTree:
    """Put an edge between two nodes of different components, which stay independent until the tables change.

    Parameters
    ----------
    tree : LatentTree
        The model. The component of ``other`` keeps its root; the one of ``node`` hangs below it.
    node, other : hashable
        The ends of the edge.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, -1], [True, False], [[[0.5, 0.5]], [[0.75, 0.25]]])
    >>> link_nodes(tree, "x", "H").table("x")
    array([[0.75, 0.25], [0.75, 0.25]])
    """
    at, target = tree.index(node), tree.index(other)
    if path_from_root(tree.parent, at)[0] == path_from_root(tree.parent, target)[0]:
        raise ValueError(f"{node!r} and {other!r} are connected already, and an edge more would close a circle")
    parent, tables = rooted_at(tree.parent, tree.tables, at)
    parent[at], tables[at] = target, np.repeat(tables[at], int(tree.cards[target]), axis=0)
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)


def _require_isolated(tree: LatentTree, node: Hashable) -> None:
    neighbours = [tree.names[other] for other in neighbours_of(tree, tree.index(node))]
    if neighbours:
        raise ValueError(f"{node!r} has neighbours; say into which of {neighbours} it shall be deleted")
    if tree.n_nodes == 1:
        raise ValueError(f"{node!r} is the only node, and a tree needs one; keep it")


def _without(
    tree: LatentTree,
    at: int,
    parent: np.ndarray,
    tables: Sequence[np.ndarray],
    state_names: Sequence[Sequence[Hashable]] | None = None,
) -> LatentTree:
    """Return a tree of these parents, tables and states, without a node that has no children there."""
    state_names = tree.state_names if state_names is None else state_names
    others = [node for node in range(tree.n_nodes) if node != at]
    parent = parent[others]
    return LatentTree(
        names=[tree.names[node] for node in others],
        state_names=[state_names[node] for node in others],
        parent=parent - (parent > at),
        latent=tree.latent[others],
        tables=[tables[node] for node in others],
        missing=[(name, values) for name, values in tree.missing if name != tree.names[at]],
    )
