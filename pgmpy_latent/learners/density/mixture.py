"""Mixtures of hidden Chow-Liu trees that share their edges, as one tree: states in groups that do not mix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans

from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import CategoricalData

#: Largest seed that scikit-learn takes.
_MOST = 2**32 - 1


def joined(trees: Sequence[LatentTree], shares: Sequence[float]) -> LatentTree:
    """Return the mixture of trees that differ in their probabilities alone, as one tree.

    Each hidden variable has the states of that of the first tree, then those of the second, and so on; a state leads to
    states of the same tree only, so that its rows of tables are zero elsewhere. In a forest, every component is a
    mixture by itself. Where a column has no hidden variable above it, all trees share the mean of its tables.

    Parameters
    ----------
    trees : sequence of LatentTree
        With the same nodes and edges, and columns in the same order. Hidden variables may differ in their numbers of
        states.
    shares : sequence of float
        Of the trees; they sum to one.

    Examples
    --------
    >>> trees = [
    ...     LatentTree(["H", "x"], [[0], "ab"], [-1, 0], [True, False], [[[1.0]], [[share, 1 - share]]])
    ...     for share in (0.5, 0.1)
    ... ]
    >>> mixture = joined(trees, [0.25, 0.75])
    >>> mixture.table("H"), mixture.table("x")
    (array([[0.25, 0.75]]), array([[0.5, 0.5],
           [0.1, 0.9]]))
    """
    first = trees[0]
    tables = []
    for node, (hidden, above) in enumerate(zip(first.latent, first.parent, strict=True)):
        parts = [tree.tables[node] for tree in trees]
        weighted = [share * part for share, part in zip(shares, parts, strict=True)]
        if not hidden:
            tables.append(np.vstack(parts) if above >= 0 and first.latent[above] else np.sum(weighted, axis=0))
        else:
            tables.append(np.hstack(weighted) if above < 0 else _side_by_side(parts))
    states = [
        tuple(range(table.shape[1])) if hidden else known
        for table, hidden, known in zip(tables, first.latent, first.state_names, strict=True)
    ]
    return LatentTree(first.names, states, first.parent, first.latent, tables, first.missing)


def one_tree(mixture: TreeMixture) -> LatentTree:
    """Return a mixture of trees with the same edges as one tree with the same distribution.

    Raises
    ------
    InvalidTreeError
        If trees differ in their edges, or fall into several parts, each of which would be a mixture by itself.

    Examples
    --------
    >>> trees = [
    ...     LatentTree(["H", "x"], [[0], "ab"], [-1, 0], [True, False], [[[1.0]], [[share, 1 - share]]])
    ...     for share in (0.5, 0.1)
    ... ]
    >>> one_tree(TreeMixture(trees, [0.25, 0.75]))
    LatentTree(2 nodes, 1 latent, 3 parameters)
    """
    first = mixture.trees[0]
    same = all(tree.names == first.names and tree.parents == first.parents for tree in mixture.trees)
    if not same:
        raise InvalidTreeError(
            "trees of this mixture differ in their edges, so that it is no tree; learn one with own_edges=False"
        )
    if len(mixture.trees) > 1 and (len(first.roots) > 1 or not first.latent[first.roots[0]]):
        raise InvalidTreeError(
            "the trees of this mixture fall into several parts, or have a column as their root, so that it is no tree; "
            "use HiddenChowLiu, which mixes each part by itself"
        )
    return joined(mixture.trees, mixture.weights.tolist())


def _side_by_side(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return tables as the blocks of one table, which is zero elsewhere."""
    rows, columns = np.cumsum([(0, 0), *(part.shape for part in parts)], axis=0).T
    table = np.zeros((rows[-1], columns[-1]))
    for at, part in enumerate(parts):
        table[rows[at] : rows[at + 1], columns[at] : columns[at + 1]] = part
    return table


def groups_of_rows(data: CategoricalData, n_groups: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Divide the distinct rows of a table into groups of rows that are alike, by k-means.

    Parameters
    ----------
    data : CategoricalData
        The table. A missing cell is as far from all categories.
    n_groups : int
        Number of groups; there may be fewer distinct rows.
    seed : SeedSequence
        Of the first centres. The order of rows does not matter.

    Returns
    -------
    int array, shape (n_distinct,)

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]))
    >>> groups = groups_of_rows(data, 2, np.random.SeedSequence(0))
    >>> bool(groups[0] == groups[1] != groups[2] == groups[3])
    True
    """
    order = np.argsort(data.row_keys, kind="stable")
    cells = np.concatenate(
        [data.codes[order, at, None] == np.arange(card) for at, card in enumerate(data.cards)], axis=1
    )
    start = int(seed.generate_state(1)[0]) % _MOST
    means = KMeans(min(n_groups, data.n_distinct), n_init=1, random_state=start)
    groups = np.empty(data.n_distinct, dtype=np.int64)
    groups[order] = means.fit(cells.astype(np.float64), sample_weight=data.weights[order]).labels_
    return groups
