"""What the edges of a tree separate, and how much of it another tree of the same columns separates in the same way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from pgmpy_latent.model.tree import LatentTree


def column_bits(tree: LatentTree) -> dict[Hashable, int]:
    """Return a power of two for every column, so that a sum of them stands for a set of columns."""
    return {name: 1 << at for at, name in enumerate(tree.observed_names)}


def splits(tree: LatentTree, bits: Mapping[Hashable, int]) -> dict[int, frozenset[int]]:
    """Return, for every node that has a parent, the two sets of columns that the edge to it separates.

    Parameters
    ----------
    tree : LatentTree
        A tree or forest.
    bits : dict of column to int
        A power of two for each column, so that the sum stands for a set of them.

    Returns
    -------
    dict of node to frozenset of two ints
        The columns of the node's own tree, on either side of its edge.

    Examples
    --------
    >>> tables = [[[0.5, 0.5]], *[[[1.0, 0.0], [0.0, 1.0]]] * 2]
    >>> tree = LatentTree("Hxy", [[0, 1]] * 3, [-1, 0, 0], [True, False, False], tables)
    >>> [sorted(both) for both in splits(tree, {"x": 1, "y": 2}).values()]
    [[1, 2], [1, 2]]
    """
    below = [0 if hidden else bits[name] for name, hidden in zip(tree.names, tree.latent, strict=True)]
    for node in tree.order[::-1]:
        if tree.parent[node] >= 0:
            below[tree.parent[node]] |= below[node]
    whole = list(below)
    for node in tree.order:
        if tree.parent[node] >= 0:
            whole[node] = whole[tree.parent[node]]
    return {
        node: frozenset((below[node], whole[node] ^ below[node]))
        for node in range(tree.n_nodes)
        if tree.parent[node] >= 0
    }


def shared_splits(tree: LatentTree, other: LatentTree) -> float:
    """Return which share of the edges of two trees separates columns that the other tree separates, too.

    An edge agrees with the other tree if the columns on one of its sides are those on a side of an edge there; between
    trees, the columns on its other side are then the same as well. In a forest, the columns of each of its trees count
    as one side of a further edge. Edges that separate a single column which the other tree separates, too, are left
    out: any two trees with the same leaves agree in these. The place of the root, and names and numbers of states of
    hidden variables, do not matter.

    Parameters
    ----------
    tree, other : LatentTree
        Trees or forests over the same columns.

    Returns
    -------
    float
        From 0 to 1; NaN if there is nothing to compare, as in two latent class models.

    Examples
    --------
    >>> table = [[0.5, 0.5], [0.5, 0.5]]
    >>> def tree(parent_of_q):
    ...     return LatentTree("ABpqrs", [[0, 1]] * 6, [-1, 0, 0, parent_of_q, 1, 1], [True] * 2 + [False] * 4,
    ...                       [[[0.5, 0.5]], *[table] * 5])
    >>> shared_splits(tree(0), tree(0)), shared_splits(tree(0), tree(1))
    (1.0, 0.0)
    """
    bits = column_bits(tree)
    edges = [_separations(each, bits) for each in (tree, other)]
    sides = [{side for edge in own for side in edge} for own in edges]
    agree: list[bool] = []
    for own, known in zip(edges, reversed(sides), strict=True):
        common = [{side for side in edge if side in known} for edge in own]
        agree += [bool(shared) for shared in common if all(side.bit_count() > 1 for side in shared)]
    return sum(agree) / len(agree) if agree else float("nan")


def _separations(tree: LatentTree, bits: Mapping[Hashable, int]) -> set[frozenset[int]]:
    """Return what the edges of a tree separate; of a forest, also which columns its trees have."""
    separated = set(splits(tree, bits).values())
    whole = sum(bits.values())
    trees = {sum(edge) for edge in separated}
    return separated | {frozenset((columns,)) for columns in trees if columns != whole}
