"""The mutual information of all pairs of columns, from joint counts that are computed by matrix products."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import xlogy

from pgmpy_latent.exceptions import DataError, NoOverlapWarning
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.survey import Survey

#: Most indicators of a block of columns; a good size for both BLAS and the cache.
_BLOCK_INDICATORS = 512
#: Most numbers in the indicator matrices that are in memory at a time.
_CHUNK_NUMBERS = 2**24
#: Columns with more states than this are counted with sparse matrices: nearly all joint counts are zero.
_DENSE_STATES = 256
#: Sums of whole numbers stay exact in single precision below this.
_EXACT_IN_SINGLE = 2**24
#: Decimals of mutual information (in nats) that count when pairs are compared; the rest is rounding.
DECIMALS = 12
#: How many pairs a warning names.
_LISTED = 5


def mutual_information(X, *, sample_weight=None, **survey: Unpack[Survey]) -> pd.DataFrame:
    """Return the mutual information of every pair of columns (natural logarithm), with entropies on the diagonal.

    Missing cells are left out pair by pair: a pair of columns is compared in the rows in which both are filled, and a
    column's entropy is that of the rows in which it is filled. This uses all the data, but entries may be based on
    different rows, so the matrix need not belong to any one distribution: an entry may exceed an entropy, for instance.

    Parameters
    ----------
    X : DataFrame, array or CategoricalData
        The table. See :func:`pgmpy_latent.encode`.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    DataFrame
        Symmetric and nowhere negative; rows and columns are called like the columns of ``X``. Divide by ``log(2)`` for
        bits.

    Warns
    -----
    NoOverlapWarning
        If two columns are never filled in the same row. Their entry is 0; there is one warning for all such pairs.

    Examples
    --------
    >>> table = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("efef")})
    >>> mutual_information(table).round(4)
            x       y       z
    x  0.6931  0.6931  0.0000
    y  0.6931  0.6931  0.0000
    z  0.0000  0.0000  0.6931
    """
    data = encode(X, sample_weight=sample_weight, **survey)
    if data.values:
        name = next(iter(data.values))
        raise DataError(f"mutual information is that of categories, and {name!r} is a number; bin it, as pd.cut does")
    information, apart = pairwise_information(data)
    warn_of_no_overlap(data.columns, apart)
    names = pd.Index(data.columns, tupleize_cols=False)
    return pd.DataFrame(information, index=names, columns=names)


def pairwise_information(data: CategoricalData) -> tuple[np.ndarray, np.ndarray]:
    """Return the mutual information of all pairs of columns as an array, and the pairs that are never filled together.

    Joint counts are matrix products of indicators. The last state of a column needs no indicator: its counts are the
    total less those of the others. See :func:`mutual_information` about missing cells.

    Parameters
    ----------
    data : CategoricalData
        The table.

    Returns
    -------
    information : array, shape (n_columns, n_columns)
        In nats; the diagonal holds the entropies of the columns.
    apart : int array, shape (n_pairs, 2)
        Positions of the columns that are never filled in the same row, the smaller first. Their information is 0.

    Examples
    --------
    >>> information, apart = pairwise_information(encode(np.array([[0, 0], [1, 1]])))
    >>> information.round(4).tolist(), len(apart)
    ([[0.6931, 0.6931], [0.6931, 0.6931]], 0)
    """
    n_columns = len(data.columns)
    information = np.zeros((n_columns, n_columns))
    apart = [np.empty((0, 2), dtype=np.int64)]
    with one_blas_thread():
        for left, right, values, totals in pairs_in_blocks(data):
            information[np.ix_(left, right)] = values
            information[np.ix_(right, left)] = values.T
            rows, columns = np.nonzero(totals == 0)
            apart.append(np.sort(np.stack([left[rows], right[columns]], axis=1), axis=1))
    pairs = np.unique(np.concatenate(apart), axis=0)
    return information, pairs[pairs[:, 0] < pairs[:, 1]]


def chance_information(n_left: np.ndarray, n_right: np.ndarray, total_weight: float) -> np.ndarray:
    """Return the expected mutual information of independent variables in a sample, to first order.

    Parameters
    ----------
    n_left, n_right : int or arrays of int
        Numbers of states.
    total_weight : float
        Number of rows.

    Examples
    --------
    >>> chance_information(2, 51, 100.0)
    0.25
    """
    return (n_left - 1) * (n_right - 1) / (2 * total_weight)


def warn_of_no_overlap(columns: Sequence[Hashable], apart: np.ndarray) -> None:
    """Warn, once, of the columns that are never filled in the same row.

    Parameters
    ----------
    columns : sequence of names
        All columns.
    apart : int array, shape (n_pairs, 2)
        As :func:`pairwise_information` returns it; without any, there is no warning.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_no_overlap(["x", "y"], np.array([[0, 1]]))
    >>> print(caught[0].message)
    1 pair of columns is never filled in the same row: 'x' and 'y'. Nothing can be said about it, and its mutual
    information counts as 0; add rows that have both, or drop one of the two.
    """
    if not len(apart):
        return
    one = len(apart) == 1
    warn(
        f"{len(apart)} pair{'' if one else 's'} of columns {'is' if one else 'are'} never filled in the same row: "
        f"{named_pairs(columns, apart)}. Nothing can be said about {'it' if one else 'them'}, and "
        f"{'its' if one else 'their'} mutual information counts as 0; add rows that have both, or drop one of the two.",
        NoOverlapWarning,
    )


def named_pairs(columns: Sequence[Hashable], pairs: np.ndarray) -> str:
    """Return the names of some pairs of columns as part of a sentence; only the first few if there are many.

    Examples
    --------
    >>> named_pairs(["x", "y", "z"], np.array([[0, 1], [1, 2]]))
    "'x' and 'y', 'y' and 'z'"
    """
    named = ", ".join(f"{columns[i]!r} and {columns[j]!r}" for i, j in pairs[:_LISTED])
    return f"{named}, and {len(pairs) - _LISTED} more" if len(pairs) > _LISTED else named


def block_information(
    counts: np.ndarray, row_starts: np.ndarray | Sequence[int], column_starts: np.ndarray | Sequence[int]
) -> np.ndarray:
    """Return the mutual information of every block of a matrix of joint counts.

    Parameters
    ----------
    counts : array, shape (n_row_states, n_column_states)
        Joint counts, whole or not; the states of several nodes stand one after the other along both axes.
    row_starts, column_starts : sequences of int
        Where the states of each node begin; the first is 0.

    Returns
    -------
    array, shape (n_row_nodes, n_column_nodes)
        In nats; 0 where a block has no counts, and nowhere below 0.

    Examples
    --------
    >>> counts = np.array([[2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 1.0]])
    >>> block_information(counts, [0], [0, 2]).round(4)
    array([[0.6931, 0.    ]])
    """
    counts = np.asarray(counts, dtype=np.float64)
    row_margins = np.add.reduceat(counts, column_starts, axis=1)
    column_margins = sums_of_rows(counts, row_starts)
    totals = np.add.reduceat(column_margins, column_starts, axis=1)
    joint = sums_of_rows(np.add.reduceat(xlogy(counts, counts), column_starts, axis=1), row_starts)
    rows = sums_of_rows(xlogy(row_margins, row_margins), row_starts)
    columns = np.add.reduceat(xlogy(column_margins, column_margins), column_starts, axis=1)
    return _information(joint, rows, columns, totals)


def _information(joint: np.ndarray, rows: np.ndarray, columns: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the mutual information from sums of ``n log n`` over the cells and margins of a table."""
    # in this order, both differences are the same to the last bit if one column is constant
    gains = (joint - columns) - (rows - xlogy(totals, totals))
    return np.maximum(np.divide(gains, totals, out=np.zeros_like(gains), where=totals > 0), 0.0)


def sums_of_rows(values: np.ndarray, starts: np.ndarray | Sequence[int]) -> np.ndarray:
    """Sum groups of consecutive rows; ``np.add.reduceat`` takes ten times as long along the first axis."""
    n_rows = len(values)
    member = sparse.csr_array((np.ones(n_rows), np.arange(n_rows), [*starts, n_rows]), shape=(len(starts), n_rows))
    return member @ values


def joint_counts_in_blocks(data: CategoricalData) -> Iterator[tuple[Block, Block, np.ndarray, np.ndarray]]:
    """Yield the joint counts of all pairs of columns: those of two blocks of columns at a time.

    Yields
    ------
    left, right : Block
        Each pair of blocks once, also of a block with itself; in the order of the columns.
    counts : array, shape (states on the left, states on the right)
        The states of the columns of a block stand one after the other; they begin at its ``starts``.
    totals : array, shape (columns on the left, columns on the right)
        Weight of the rows in which both are filled.

    Examples
    --------
    >>> data = encode(np.array([[0, 0], [1, 1], [1, 0]]))
    >>> [(left, right, counts, totals)] = joint_counts_in_blocks(data)
    >>> counts[:2, 2:].tolist(), totals[0, 1].tolist()
    ([[1.0, 0.0], [1.0, 1.0]], 3.0)
    """
    blocks = blocks_of_columns(data, np.arange(len(data.columns)))
    for number, left in enumerate(blocks):
        for right in blocks[number:]:
            yield left, right, *_joint_counts(data, left, right)


def pairs_in_blocks(data: CategoricalData) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield columns, other columns, their mutual information and the weight of the rows in which both are filled."""
    wide = data.cards > _DENSE_STATES
    blocks = blocks_of_columns(data, np.flatnonzero(~wide))
    for number, left in enumerate(blocks):
        for right in blocks[number:]:
            values, totals = _counted_densely(data, left, right)
            if left is right:  # products of both orders may differ by rounding
                values = np.triu(values) + np.triu(values, 1).T
            yield left.columns, right.columns, values, totals
    partners = np.flatnonzero(~wide)
    step = max(1, _CHUNK_NUMBERS // 4 // data.n_distinct)
    for at in np.flatnonzero(wide).tolist():
        partners = np.append(partners, at)  # with itself, and with those before
        for first in range(0, len(partners), step):
            others = partners[first : first + step]
            yield np.array([at]), others, *_counted_sparsely(data, at, others)


# --- Dense joint counts: indicators and BLAS ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Some columns and their indicators: of all states but the last, of being filled if cells are missing, and of 1.

    Attributes
    ----------
    columns : int array
        Positions in the table.
    cards : int array
        Numbers of states.
    gappy : bool array
        Which of them have missing cells.
    """

    columns: np.ndarray
    cards: np.ndarray
    gappy: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """The first state of every column."""
        return np.cumsum(self.cards) - self.cards

    @cached_property
    def owners(self) -> np.ndarray:
        """For every indicator of a state, the column it belongs to, as a position in the block."""
        return np.repeat(np.arange(len(self.columns)), self.cards - 1)

    @cached_property
    def states(self) -> np.ndarray:
        """For every indicator of a state, the state."""
        return np.concatenate([np.arange(card - 1) for card in self.cards])

    @cached_property
    def filled(self) -> np.ndarray:
        """For every column, the indicator of being filled, which is the one of 1 where nothing is missing."""
        n_states, n_gappy = len(self.owners), int(self.gappy.sum())
        return np.where(self.gappy, n_states + np.cumsum(self.gappy) - 1, n_states + n_gappy)

    @cached_property
    def n_indicators(self) -> int:
        """Number of indicators."""
        return len(self.owners) + int(self.gappy.sum()) + 1

    @cached_property
    def expansion(self) -> sparse.csr_array:
        """The matrix that turns indicators into all states: the last is being filled, minus all other states."""
        first = self.starts[self.owners] + self.states
        last = self.starts + self.cards - 1
        own = np.arange(len(self.owners))
        rows = np.concatenate([first, last, last[self.owners]])
        columns = np.concatenate([own, self.filled, own])
        entries = np.concatenate([np.ones(len(own) + len(last)), -np.ones(len(own))])
        return sparse.csr_array((entries, (rows, columns)), shape=(int(self.cards.sum()), self.n_indicators))

    def indicators(self, codes: np.ndarray, dtype: type) -> np.ndarray:
        """Return the indicators of some rows: (n_rows, n_indicators)."""
        in_state = codes.take(self.columns[self.owners], axis=1) == self.states.astype(codes.dtype)
        filled = codes.take(self.columns[self.gappy], axis=1) >= 0
        return np.concatenate([in_state, filled, np.ones((len(codes), 1), bool)], axis=1, dtype=dtype)


def blocks_of_columns(data: CategoricalData, columns: np.ndarray) -> list[Block]:
    """Return the columns in blocks of bounded size, in their order; a column with very many states is one block."""
    sizes = np.maximum(data.cards[columns] - 1 + data.has_missing[columns], 1)
    groups: list[list[int]] = []
    filled = _BLOCK_INDICATORS
    for column, size in zip(columns.tolist(), sizes.tolist(), strict=True):
        if filled + size > _BLOCK_INDICATORS:
            groups.append([])
            filled = 0
        groups[-1].append(column)
        filled += size
    return [Block(np.array(group), data.cards[group], data.has_missing[group]) for group in groups]


def _counted_densely(data: CategoricalData, left: Block, right: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return mutual information, and the weight of the rows in which both are filled, of all pairs of two blocks."""
    counts, totals = _joint_counts(data, left, right)
    return block_information(counts, left.starts, right.starts), totals


def _joint_counts(data: CategoricalData, left: Block, right: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint counts of the states of two blocks, and the weight of the rows in which both are filled."""
    weights = data.weights
    whole = data.total_weight < _EXACT_IN_SINGLE and bool((weights == np.floor(weights)).all())
    dtype = np.float32 if whole else np.float64
    weights = weights.astype(dtype)[:, None]
    product = np.zeros((left.n_indicators, right.n_indicators), dtype)
    step = max(1, _CHUNK_NUMBERS // (left.n_indicators + right.n_indicators))
    for first in range(0, data.n_distinct, step):
        rows = slice(first, first + step)
        theirs = right.indicators(data.codes[rows], dtype)
        ours = theirs if left is right else left.indicators(data.codes[rows], dtype)
        product += (ours * weights[rows]).T @ theirs
    product = product.astype(np.float64)
    halfway = left.expansion @ product
    counts = np.maximum((right.expansion @ halfway.T).T, 0.0)  # rounding may make counts of last states negative
    return counts, product[np.ix_(left.filled, right.filled)]


# --- Sparse joint counts ------------------------------------------------------------------------------------


def _counted_sparsely(data: CategoricalData, at: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of :func:`_counted_densely` for one column against others, by sparse products."""
    own_states, own_filled = (matrix.T.tocsr() for matrix in _one_hot(data, np.array([at]), data.weights))
    states, filled = _one_hot(data, others, np.ones(data.n_distinct))
    column = np.arange(len(others))
    column_of_state = np.repeat(column, data.cards[others])
    joint = _sums_of_cells(own_states @ states, column_of_state)
    rows = _sums_of_cells(own_states @ filled, column)
    columns = _sums_of_cells(own_filled @ states, column_of_state)
    totals = (own_filled @ filled).toarray()
    return _information(joint, rows, columns, totals), totals


def _one_hot(
    data: CategoricalData, columns: np.ndarray, entries: np.ndarray
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return which state of which column each row is in, and which columns are filled; each row has its own entry."""
    codes = data.codes[:, columns]
    cards = data.cards[columns]
    rows, places = np.nonzero(codes >= 0)
    states = (np.cumsum(cards) - cards)[places] + codes[rows, places]
    return (
        sparse.csr_array((entries[rows], (rows, states)), shape=(len(codes), int(cards.sum()))),
        sparse.csr_array((entries[rows], (rows, places)), shape=codes.shape),
    )


def _sums_of_cells(counts: sparse.csr_array, owner: np.ndarray) -> np.ndarray:
    """Return the sum of ``n log n`` over the cells of every column: (1, n_columns)."""
    cells = counts.tocoo()
    return np.bincount(owner[cells.col], xlogy(cells.data, cells.data), minlength=owner[-1] + 1)[None]
