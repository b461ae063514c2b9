"""Bins in the place of numbers: rough categories by which models are proposed. No model is fitted to them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count

import numpy as np

from pgmpy_latent.model.emissions import Emission, emission_of_states
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import introduce_node, root_walk
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.tables.encode import CategoricalData, distinct_rows


@dataclass(frozen=True, eq=False)
class NumberBins:
    """Bins of about equally many rows that the values of a numeric column fall into.

    Attributes
    ----------
    emission : Emission
        What the column is.
    of_value : int array, shape (n_values,)
        The bin of each distinct value.
    features : array, shape (n_bins, n_features)
        Mean features of the values in each bin.

    Examples
    --------
    >>> heights = NumberBins.of(np.arange(4.0), np.ones(4), Emission("gaussian", 1.5, 1.0, 2.0, 1e-3), 2)
    >>> heights.of_value.tolist(), heights.emission.parameters(heights.table(np.eye(2))).mean.tolist()
    ([0, 0, 1, 1], [0.5, 2.5])
    """

    emission: Emission
    of_value: np.ndarray
    features: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray, emission: Emission, n_bins: int) -> NumberBins:
        """Return the bins of a column, given the weights of its distinct values, which ascend.

        All rows with the same value are in one bin, so that bins may be empty: such a bin has the features of the
        whole column.
        """
        total = weights.sum()
        middle = (np.cumsum(weights) - weights / 2) / (total if total > 0 else 1.0)
        of_value = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
        features = emission.features_of(values)
        sums = np.stack([np.bincount(of_value, weights * column, n_bins) for column in features.T], axis=1)
        inside = np.bincount(of_value, weights, n_bins)[:, None]
        usual = sums.sum(axis=0) / total if total > 0 else features.mean(axis=0)
        means = np.divide(sums, inside, out=np.tile(usual, (n_bins, 1)), where=inside > 0)
        return cls(emission, of_value, means)

    def codes(self, places: np.ndarray) -> np.ndarray:
        """Return the bins of cells, given the positions of their values, -1 where a cell is missing."""
        return np.append(self.of_value, -1)[places]

    def table(self, shares: np.ndarray) -> np.ndarray:
        """Return the table of the column, given how likely its bins are in every state of the parent."""
        return shares @ self.features


def bins_of_column(data: CategoricalData, at: int, n_bins: int | None = None) -> NumberBins:
    """Return the bins of a numeric column of a table; by default as many as the column has features.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> data = encode(pd.DataFrame({"x": [0.5, 1.5, 3.0]}), numeric={"x": "gaussian"})
    >>> bins_of_column(data, 0).of_value.tolist()
    [0, 1, 2]
    """
    emission, values = emission_of_states(data.state_names[at]), data.values[data.columns[at]]
    assert emission is not None, "bins are those of numeric columns"
    seen = data.codes[:, at] >= 0
    weights = np.bincount(data.codes[seen, at], data.weights[seen], len(values))
    return NumberBins.of(values, weights, emission, int(data.cards[at]) if n_bins is None else n_bins)


class BinnedTable:
    """A table of categories alone, with bins in the place of numbers, to propose trees for the table itself.

    Parameters
    ----------
    data : CategoricalData
        The table.
    n_bins : int
        Of each numeric column; fewer where many rows share a value.

    Attributes
    ----------
    data : CategoricalData
        The table in bins. Bins without rows are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> table = encode(pd.DataFrame({"x": [0.5, 1.5, 3.0], "y": list("aba")}), numeric={"x": "gaussian"})
    >>> binned = BinnedTable(table, 2)
    >>> binned.data.state_names, binned.data.total_weight
    (((0, 1), ('a', 'b')), 3.0)
    """

    def __init__(self, data: CategoricalData, n_bins: int):
        states, codes = list(data.state_names), data.codes.astype(np.int64)
        self._bins: dict[Hashable, NumberBins] = {}
        for at, name in enumerate(data.columns):
            if name not in data.values:
                continue
            bins = bins_of_column(data, at, n_bins)
            there, of_value = np.unique(bins.of_value, return_inverse=True)
            codes[:, at] = np.append(of_value, -1)[codes[:, at]]
            states[at] = tuple(range(len(there)))
            self._bins[name] = NumberBins(bins.emission, of_value, bins.features[there])
        rows, distinct = distinct_rows(np.ascontiguousarray(codes.T), list(map(len, states)))
        weights = np.bincount(rows, data.weights, minlength=len(distinct))
        self.data = CategoricalData(data.columns, states, distinct, weights)

    def with_numbers(self, tree: LatentTree) -> LatentTree:
        """Return a tree over the bins with numbers in their place.

        A numeric column is a leaf. One that has several neighbours, or another such column as its neighbour, becomes
        the leaf of a new hidden variable, which has a state for every bin and takes its place.
        """
        for name in self._bins:
            tree = self._as_leaf(tree, name)
        states, tables = list(tree.state_names), list(tree.tables)
        for name, bins in self._bins.items():
            node = tree.index(name)
            states[node] = bins.emission.features
            tables[node] = bins.table(tables[node])
        return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)

    def _as_leaf(self, tree: LatentTree, name: Hashable) -> LatentTree:
        """Return the same distribution over the bins, in a tree where a column is a leaf below another kind of node."""
        around = [tree.names[other] for other in neighbours_of(tree, tree.index(name))]
        if len(around) > 1 or (around and around[0] in self._bins):
            new = next(name for name in (f"H{number}" for number in count(1)) if name not in tree.names)
            return root_walk(introduce_node(tree, name, around, new), new)
        return root_walk(tree, around[0]) if around else tree
