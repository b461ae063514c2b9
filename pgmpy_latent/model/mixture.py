"""Mixtures of trees that differ in their edges: several trees over the same columns, and a weight for each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.model.tree import DiscreteModel, LatentTree, MissingCodesLike, check_table, same_codes, same_types

#: What the hidden variable that selects a tree is called, unless a column has that name.
PART = "part"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class TreeMixture(DiscreteModel):
    """A weighted mean of the distributions of several latent trees over the same columns, immutable.

    A row has the probability ``sum(weights[c] * P(row | trees[c]))``. Edges, hidden variables and numbers of states may
    differ from tree to tree. To queries, the mixture has one hidden variable, which says which tree a row comes from,
    and the columns. ``tables`` are the weights, as a table of one row, and then those of every tree.

    Parameters
    ----------
    trees : sequence of LatentTree
        With the same columns, states and values that count as missing; columns may be in any order.
    weights : sequence of float
        Of the trees; they sum to one.

    Examples
    --------
    >>> from pgmpy_latent import row_log_likelihoods
    >>> trees = [LatentTree(["x"], ["ab"], [-1], [False], [[[share, 1 - share]]]) for share in (0.5, 0.1)]
    >>> mixture = TreeMixture(trees, [0.25, 0.75])
    >>> mixture
    TreeMixture(2 trees, 1 column, 3 parameters)
    >>> import pandas as pd
    >>> np.exp(row_log_likelihoods(mixture, pd.DataFrame({"x": ["a", "b"]}))).round(3).tolist()
    [0.2, 0.8]
    """

    trees: tuple[LatentTree, ...]
    weights: np.ndarray

    def __init__(self, trees: Iterable[LatentTree], weights: ArrayLike) -> None:
        trees, shares = tuple(trees), np.array(weights, dtype=np.float64)
        check_parts(trees, shares)
        first = trees[0]
        columns = first.observed_names
        states = [first.state_names[first.index(name)] for name in columns]
        tables = [shares[None], *(table for tree in trees for table in tree.tables)]
        self._set_fields(
            [free_name(columns), *columns],
            [range(len(trees)), *states],
            [True, *(False for _ in columns)],
            tables,
            first.missing,
        )
        object.__setattr__(self, "trees", trees)
        object.__setattr__(self, "weights", self.tables[0][0])

    @property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """Parents of each node: which tree a row comes from has none, and is the parent of every column."""
        return ((), *((0,) for _ in self.observed_names))

    def table(self, name: Hashable) -> np.ndarray:
        """Return the weights, as the table of the hidden variable that selects a tree; columns have several tables."""
        if name != self.names[0]:
            raise KeyError(f"{name!r} has a table in each of the trees of a mixture; ask one of its trees")
        return self.tables[0]

    def with_tables(self, tables: Iterable[np.ndarray]) -> TreeMixture:
        """Return the same mixture with other weights and tables."""
        left = iter(tables)
        weights = next(left)[0]
        return TreeMixture([tree.with_tables([next(left) for _ in tree.tables]) for tree in self.trees], weights)

    def with_codes(self, missing: MissingCodesLike, columns: Sequence[Hashable]) -> TreeMixture:
        """Return the same mixture with values that count as missing, and with its columns in some order.

        Examples
        --------
        >>> tree = LatentTree(["x", "y"], ["ab", "cd"], [-1, -1], [False, False], [[[0.5, 0.5]]] * 2)
        >>> TreeMixture([tree], [1.0]).with_codes({"x": ["?"]}, ["y", "x"]).observed_names
        ('y', 'x')
        """
        return TreeMixture([_ordered(tree, missing, columns) for tree in self.trees], self.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeMixture):
            return NotImplemented
        return self.trees == other.trees and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.trees, self.weights.tobytes()))

    def __repr__(self) -> str:
        n_trees, n_columns = len(self.trees), len(self.observed_names)
        return (
            f"TreeMixture({n_trees} tree{'s' * (n_trees != 1)}, {n_columns} column{'s' * (n_columns != 1)}, "
            f"{self.n_parameters} parameters)"
        )

    def __reduce__(self):
        return TreeMixture, (self.trees, self.weights)

    def __deepcopy__(self, memo) -> TreeMixture:
        return self  # immutable


def _ordered(tree: LatentTree, missing: MissingCodesLike, columns: Sequence[Hashable]) -> LatentTree:
    """Return a tree whose columns come last, in some order."""
    order = [*np.flatnonzero(tree.latent).tolist(), *(tree.index(name) for name in columns)]
    place = np.append(np.argsort(order), -1)  # the parent of a root stays -1
    return LatentTree(
        [tree.names[at] for at in order],
        [tree.state_names[at] for at in order],
        place[tree.parent[order]],
        tree.latent[order],
        [tree.tables[at] for at in order],
        missing,
    )


def free_name(columns: Sequence[Hashable]) -> str:
    """Return a name for the hidden variable that selects a tree, which no column has.

    Examples
    --------
    >>> free_name(["x", "part"])
    'part_'
    """
    name = PART
    while name in columns:
        name += "_"
    return name


def check_parts(trees: Sequence[LatentTree], weights: np.ndarray) -> None:
    """Raise unless these are trees over the same columns, and a weight for each of them."""
    if not trees:
        raise InvalidTreeError("a mixture needs at least one tree")
    check_table("the weights", np.atleast_2d(weights), (1, len(trees)))
    first = trees[0]
    for number, tree in enumerate(trees):
        if set(tree.observed_names) != set(first.observed_names):
            raise InvalidTreeError(f"tree {number} of a mixture has other columns than the first")
        states = [[each.state_names[each.index(name)] for name in first.observed_names] for each in (tree, first)]
        if states[0] != states[1] or not same_types(*states) or not same_codes(tree.missing, first.missing):
            raise InvalidTreeError(f"tree {number} of a mixture has other states or codes than the first")


def average(mixtures: Sequence[TreeMixture]) -> TreeMixture:
    """Return the mean of several mixtures, each of which weighs as much.

    Examples
    --------
    >>> tree = LatentTree(["x"], ["ab"], [-1], [False], [[[0.5, 0.5]]])
    >>> average([TreeMixture([tree], [1.0]), TreeMixture([tree, tree], [0.5, 0.5])]).weights.tolist()
    [0.5, 0.25, 0.25]
    """
    trees = [tree for mixture in mixtures for tree in mixture.trees]
    return TreeMixture(trees, np.concatenate([mixture.weights for mixture in mixtures]) / len(mixtures))
