"""Sparse tables of zeros and ones, such as words in documents, which are read in blocks of rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.model.labels import check_names, sort_key
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import (
    WeightKind,
    are_whole,
    check_kind,
    checked_weights,
    index_of_frame,
    kind_of,
    kish_scale,
    names_column,
    numbered,
    refuse_other_order,
)

#: Most cells of a dense block of rows.
BLOCK_CELLS = 2**25


def is_sparse(X) -> bool:
    """Tell whether a table is a SciPy sparse matrix, a frame of sparse columns, or sparse rows read before.

    Examples
    --------
    >>> is_sparse(sparse.csr_array(np.eye(2))), is_sparse(np.eye(2))
    (True, False)
    """
    if isinstance(X, pd.DataFrame):
        return len(X.columns) > 0 and all(isinstance(dtype, pd.SparseDtype) for dtype in X.dtypes)
    return sparse.issparse(X) or isinstance(X, SparseRows)


@dataclass(frozen=True, eq=False, repr=False)
class SparseRows:
    """A table of zeros and ones, immutable, that stores only the ones; made by :func:`read_sparse`.

    Parameters
    ----------
    columns : tuple of hashable
        Names of the columns.
    ones : scipy.sparse.csr_array of bool, shape (n_rows, n_columns)
        Where the ones are.
    weights : array, shape (n_rows,)
        Weights of the rows.
    states : tuple
        Names of the states zero and one.
    weight_kind : {None, "frequency", "sampling"}
        What the weights are; sampling weights sum to Kish's effective number of rows.

    Examples
    --------
    >>> rows = read_sparse(sparse.csr_array(np.eye(3)))
    >>> rows
    SparseRows(3 rows, 3 columns, 3 ones)
    >>> [block.codes.tolist() for block in rows.blocks(2)]
    [[[1, 0, 0], [0, 1, 0]], [[0, 0, 1]]]
    """

    columns: tuple[Hashable, ...]
    ones: sparse.csr_array
    weights: np.ndarray
    states: tuple = (0, 1)
    weight_kind: WeightKind | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.ones.shape[0]

    def identity(self) -> tuple[str, tuple[np.ndarray, ...]]:
        """Return text and arrays that together are the same for the same data only."""
        described = repr((self.columns, self.states, self.ones.shape))
        return described, (self.ones.indptr, self.ones.indices, self.weights)

    @property
    def n_distinct(self) -> int:
        """Number of rows: equal ones are not merged."""
        return self.ones.shape[0]

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    @property
    def state_names(self) -> tuple[tuple, ...]:
        """The states of each column."""
        return (self.states,) * len(self.columns)

    @cached_property
    def by_column(self) -> sparse.csc_array:
        """The ones by column, for looking up the rows of a column."""
        return self.ones.tocsc()

    def column(self, at: int) -> np.ndarray:
        """Return the codes of one column."""
        codes = np.zeros(self.n_rows, np.int8)
        where = self.by_column
        codes[where.indices[where.indptr[at] : where.indptr[at + 1]]] = 1
        return codes

    def take(self, rows: slice | np.ndarray) -> CategoricalData:
        """Return some rows as dense data."""
        codes = self.ones[rows].toarray().astype(np.int8)
        return CategoricalData(self.columns, self.state_names, codes, self.weights[rows])

    def blocks(self, n_rows: int | None = None) -> Iterator[CategoricalData]:
        """Yield the rows in their order as dense blocks of about equal size, of at most ``n_rows`` each.

        By default a block has at most :data:`BLOCK_CELLS` cells.
        """
        most = max(1, BLOCK_CELLS // max(1, len(self.columns))) if n_rows is None else n_rows
        for some in np.array_split(np.arange(self.n_rows), -(-self.n_rows // most)):
            yield self.take(slice(some[0], some[-1] + 1))

    def in_order_of_names(self) -> SparseRows:
        """Return the table with columns sorted by name, so that results do not depend on the order of the table.

        Examples
        --------
        >>> frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array([[1, 0]]), columns=["y", "x"])
        >>> read_sparse(frame).in_order_of_names().columns
        ('x', 'y')
        """
        order = sorted(range(len(self.columns)), key=lambda at: sort_key(self.columns[at]))
        columns = tuple(self.columns[at] for at in order)
        return SparseRows(columns, self.ones[:, order].tocsr(), self.weights, self.states, self.weight_kind)

    def __repr__(self) -> str:
        return f"SparseRows({self.n_rows} rows, {len(self.columns)} columns, {self.ones.nnz} ones)"


def read_sparse(
    X, sample_weight=None, *, weight_kind: WeightKind | None = None, strata=None, cluster=None
) -> SparseRows:
    """Read a sparse table of zeros and ones.

    Parameters
    ----------
    X : scipy sparse matrix or array, or DataFrame of sparse columns
        Zeros and ones, or booleans. The columns of a matrix are called 0, 1, 2 and so on.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows; a row of weight zero counts as absent.
    weight_kind : {"frequency", "sampling"}, optional
        What the weights are. See :func:`pgmpy_latent.encode`.
    strata, cluster : arrays, shape (n_rows,), optional
        How rows were drawn. They are checked, but do not change what is learned.

    Returns
    -------
    SparseRows

    Raises
    ------
    DataError
        If there is anything else in the table.

    Examples
    --------
    >>> read_sparse(sparse.csr_array([[0, 2], [1, 0]]))
    Traceback (most recent call last):
    pgmpy_latent.exceptions.DataError: column 1 of the sparse table holds 2, not only zeros and ones...
    """
    check_kind(weight_kind)
    if any(map(names_column, (sample_weight, strata, cluster))):
        raise DataError(
            "sample_weight, strata and cluster of a sparse table are values, one per row; its columns hold zeros and "
            "ones alone"
        )
    for what, value in (("sample_weight", sample_weight), ("strata", strata), ("cluster", cluster)):
        refuse_other_order(value, index_of_frame(X), what)
    for what, labels in (("strata", strata), ("cluster", cluster)):
        numbered(labels, what, X.n_rows if isinstance(X, SparseRows) else X.shape[0])
    if isinstance(X, SparseRows):
        return X if sample_weight is None else _weighted(X, sample_weight, weight_kind)
    if len(X.shape) != 2:
        raise DataError(f"Expected 2D array, got {len(X.shape)}D sparse array instead; give a row per observation")
    if 0 in X.shape:
        raise DataError(
            f"the sparse table has {X.shape[0]} sample(s) and {X.shape[1]} feature(s); it needs some of both"
        )
    names: Sequence[Hashable] = range(X.shape[1])
    if isinstance(X, pd.DataFrame):
        names, X = _of_frame(X)
    matrix = sparse.csr_array(X)
    matrix.sum_duplicates()
    _check_cells(names, matrix)
    states = (False, True) if matrix.dtype == np.bool_ else (0, 1)
    ones = matrix.astype(np.bool_)
    ones.eliminate_zeros()
    ones.sort_indices()
    rows = SparseRows(tuple(names), ones, np.ones(len(ones.indptr) - 1), states)
    return rows if sample_weight is None else _weighted(rows, sample_weight, weight_kind)


def _weighted(rows: SparseRows, sample_weight, weight_kind: WeightKind | None) -> SparseRows:
    """Return the rows with weights on top of those they have."""
    weights = rows.weights * checked_weights(sample_weight, rows.n_rows)
    kept = weights > 0
    weights = weights[kept]
    kind = kind_of(weight_kind, are_whole(weights))
    if kind == "sampling":
        weights = weights * kish_scale(weights)
    return SparseRows(rows.columns, rows.ones[kept], weights, rows.states, kind)


def _of_frame(X: pd.DataFrame) -> tuple[list, sparse.coo_array]:
    for name, dtype in X.dtypes.items():
        if dtype.fill_value != 0 or pd.isna(dtype.fill_value):
            raise DataError(
                f"column {name!r} of the sparse frame is filled with {dtype.fill_value!r}, not with 0; give sparse "
                "columns of zeros and ones, or a dense table where cells may be missing"
            )
    names = list(X.columns)
    check_names(names, "column", DataError, "X")
    if len({dtype.subtype.kind for dtype in X.dtypes}) > 1:
        raise DataError("some columns of the sparse frame are booleans and some are numbers; make them all of one kind")
    return names, X.sparse.to_coo()


def _check_cells(names: Sequence[Hashable], matrix: sparse.csr_array) -> None:
    """Raise unless all cells are zeros and ones."""
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"the sparse table holds {matrix.dtype}; give zeros and ones")
    odd = np.flatnonzero((matrix.data != 0) & (matrix.data != 1))
    if len(odd):
        column, value = names[matrix.indices[odd[0]]], matrix.data[odd[0]].item()
        raise DataError(
            f"column {column!r} of the sparse table holds {value:g}, not only zeros and ones; say (X > 0) for whether "
            "something occurs, or give a dense table for other categories"
        )
