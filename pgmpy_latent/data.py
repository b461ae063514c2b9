"""From any table to categorical data: distinct rows of small codes, their weights, their states' names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pandas as pd

from pgmpy_latent._arrays import read_only
from pgmpy_latent._columns import (
    LISTED,
    Column,
    Source,
    dense_ranks,
    find_strangers,
    given_states,
    identity,
    open_table,
    place,
    plain,
    report_strangers,
    sort_key,
    wanted_columns,
)
from pgmpy_latent.exceptions import DataError, WeightError

#: Keys of packed rows stay below this, so that one more digit cannot overflow a signed 64-bit integer.
_LARGEST_KEY = 2**62
#: Rows that are transposed at once; about what a processor's cache holds.
_BLOCK_ROWS = 2**12


def code_dtype(largest_card: int) -> type:
    """Return the smallest signed integer type for codes from -1 to ``largest_card - 1``."""
    return next(t for t in (np.int8, np.int16, np.int32) if largest_card - 1 <= np.iinfo(t).max)


def _index_dtype(n_rows: int) -> type:
    return np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalData:
    """A table of categories, immutable: distinct rows in lexicographic order, with summed weights.

    Made by :func:`encode`; every learner takes it in place of a table, so that a table is read only once.

    Parameters
    ----------
    columns : sequence of hashable
        Names of the columns, in the table's order.
    state_names : sequence of sequences
        The states of each column. A code is a position in this list.
    codes : array of int, shape (n_distinct, n_columns)
        The distinct rows, as small integers; -1 is a missing cell.
    weights : array of float, shape (n_distinct,)
        Sum of the weights of the rows that are equal: finite, at least zero, not all of them zero.
    row_index : array of int, shape (n_rows,), optional
        For every row of the table its distinct row; -1 for a row of weight zero, which was left out.

    Examples
    --------
    >>> import pandas as pd
    >>> data = encode(pd.DataFrame({"smokes": ["no", "yes", "no"], "age": [2, None, 2]}))
    >>> data
    CategoricalData(3 rows, 2 distinct, 2 columns, total weight 3, 1 column with missing cells)
    >>> data.state_names
    (('no', 'yes'), (2,))
    >>> data.codes.tolist(), data.weights.tolist(), data.row_index.tolist()
    ([[0, 0], [1, -1]], [2.0, 1.0], [0, 1, 0])
    """

    columns: tuple[Hashable, ...]
    state_names: tuple[tuple[Hashable, ...], ...]
    codes: np.ndarray
    weights: np.ndarray
    row_index: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "state_names", tuple(tuple(states) for states in self.state_names))
        largest = max((len(states) for states in self.state_names), default=1)
        object.__setattr__(self, "codes", read_only(self.codes, code_dtype(largest)))
        object.__setattr__(self, "weights", read_only(self.weights, np.float64))
        if self.row_index is not None:
            object.__setattr__(self, "row_index", read_only(self.row_index, _index_dtype(len(self.codes))))
        sizes = (len(self.weights), len(self.columns))
        if self.codes.shape != sizes or len(self.state_names) != sizes[1]:
            raise DataError(
                f"codes have shape {self.codes.shape}, but there are {sizes[0]} weights, {sizes[1]} columns "
                f"and {len(self.state_names)} lists of states; let encode() make CategoricalData"
            )
        _check_weights("weights", self.weights)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, those of weight zero included."""
        return len(self.codes if self.row_index is None else self.row_index)

    @property
    def n_distinct(self) -> int:
        """Number of rows that differ."""
        return len(self.codes)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows where no weights were given."""
        return float(self.weights.sum())

    @cached_property
    def cards(self) -> np.ndarray:
        """Number of states of each column."""
        return read_only([len(states) for states in self.state_names], np.int64)

    @cached_property
    def has_missing(self) -> np.ndarray:
        """Which columns have a missing cell."""
        return read_only((self.codes < 0).any(axis=0), np.bool_)

    @cached_property
    def row_keys(self) -> np.ndarray:
        """A 64-bit number per distinct row, the same in every table that holds this row.

        It depends on the pairs of column name and state name in the row and on nothing else: neither on the
        order of columns, rows or states nor on other rows. Missing cells add nothing.
        """
        keys = np.zeros(self.n_distinct, np.uint64)
        for column, states, codes in zip(self.columns, self.state_names, self.codes.T, strict=True):
            hashes = [_hash64(column, state) for state in states]
            keys += np.array([*hashes, 0], np.uint64)[codes]  # code -1 finds the zero at the end
        return read_only(keys, np.uint64)

    def select(self, columns: Iterable[Hashable]) -> CategoricalData:
        """Return the data of some columns only, in the order given; rows that are now equal are merged.

        Examples
        --------
        >>> data = encode(np.array([[0, 1], [0, 2], [1, 2]]))
        >>> data.select([0]).weights.tolist()
        [2.0, 1.0]
        """
        return encode(self, columns=columns)

    def take(self, rows: np.ndarray) -> CategoricalData:
        """Return some of the distinct rows, given by position or as a mask, with their weights.

        Examples
        --------
        >>> encode(np.array([[0], [1], [1]])).take([1]).weights.tolist()
        [2.0]
        """
        return CategoricalData(self.columns, self.state_names, self.codes[rows], self.weights[rows])

    def in_order_of_names(self) -> CategoricalData:
        """Return the data with the columns in the order of their names, so that nothing depends on the table's order.

        Examples
        --------
        >>> encode(pd.DataFrame({"y": [1], "x": [2]})).in_order_of_names().columns
        ('x', 'y')
        """
        columns = sorted(self.columns, key=sort_key)
        return self if tuple(columns) == self.columns else self.select(columns)

    def codes_of(self, names: Sequence[Hashable]) -> np.ndarray:
        """Return the codes of the distinct rows for the given names, -1 throughout for names that are no columns."""
        codes = np.full((self.n_distinct, len(names)), -1, dtype=self.codes.dtype)
        column = {name: at for at, name in enumerate(self.columns)}
        for node, name in enumerate(names):
            if name in column:
                codes[:, node] = self.codes[:, column[name]]
        return codes

    def __repr__(self) -> str:
        text = f"{self.n_rows} rows, {self.n_distinct} distinct, {len(self.columns)} columns"
        missing = int(self.has_missing.sum())
        note = f", {missing} column{'s' * (missing != 1)} with missing cells" if missing else ""
        return f"CategoricalData({text}, total weight {self.total_weight:.10g}{note})"

    def __sizeof__(self) -> int:  # by which Dask decides what to move and what to write to disk
        return sum(array.nbytes for array in (self.codes, self.weights, self.row_index) if array is not None)

    def __reduce__(self):  # copies and pickles are built anew, so that their arrays are read-only too
        return CategoricalData, (self.columns, self.state_names, self.codes, self.weights, self.row_index)

    def __deepcopy__(self, memo) -> CategoricalData:
        return self  # immutable


def encode(
    X,
    *,
    sample_weight=None,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None = None,
    columns: Iterable[Hashable] | None = None,
    unseen: str = "error",
    hidden: Iterable[Hashable] = (),
) -> CategoricalData:
    """Read a table as categorical data.

    Missing cells (NaN, None, NA, NaT) are kept as missing. The states of a column are the values that occur
    in rows of positive weight, sorted; the levels of a Categorical, Enum or Arrow dictionary, in their order
    and also those that do not occur; or what ``state_names`` says. States are plain values: floats become
    integers if all are whole, members of an enumeration their values, intervals their text.

    Parameters
    ----------
    X : DataFrame, 2-D array, list of rows, frame that narwhals understands, or CategoricalData
        The columns of arrays and lists are called 0, 1, 2 and so on. CategoricalData keeps its states.
    sample_weight : array-like of shape (n_rows,), optional
        Finite weights of at least zero. A row of weight zero counts as absent.
    state_names : dict of column to sequence of states, optional
        States and their order; may name states that do not occur, and columns that ``X`` does not have.
    columns : iterable of column names, optional
        Which columns to read, in this order. Others are ignored.
    unseen : {"error", "missing"}
        What to do about a value that is not in its column's ``state_names``: raise
        :class:`~pgmpy_latent.exceptions.UnseenCategoryError`, or treat it as missing with one warning.
    hidden : iterable of names
        Names of hidden variables, which may not be columns of ``X``.

    Returns
    -------
    CategoricalData

    Raises
    ------
    DataError, WeightError, StateNameError, UnseenCategoryError
        Naming the column or argument and what would be right.
    TypeError
        If ``X`` is no table, or if cells cannot be hashed, such as lists.

    Examples
    --------
    >>> data = encode(np.array([["b"], ["a"], ["b"]]), sample_weight=[1, 2, 0.5])
    >>> data.state_names, data.codes.tolist(), data.weights.tolist()
    ((('a', 'b'),), [[0], [1]], [2.0, 1.5])
    >>> encode(np.array([["b"], ["c"]]), state_names={0: ["a", "b"]})
    Traceback (most recent call last):
    pgmpy_latent.exceptions.UnseenCategoryError: column 0 holds 'c' (1 row), not among its states 'a', 'b'...
    """
    if unseen not in ("error", "missing"):
        raise ValueError(f"unseen={unseen!r} is not known; use 'error' or 'missing'")
    hidden = tuple(hidden)
    encoded = isinstance(X, CategoricalData)
    if encoded and sample_weight is None and state_names is None and columns is None and not hidden:
        return X
    source = _open_encoded(X) if encoded else open_table(X)
    names = wanted_columns(source, columns, hidden)
    given = given_states(state_names, names)
    if encoded:
        weights = _weights_of_distinct(X, sample_weight)
    else:
        weights = checked_weights(sample_weight, source.n_rows)
    kept = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    states, codes = code_columns(source, names, given, kept, unseen)
    groups, distinct = distinct_rows(codes, [len(column_states) for column_states in states])
    if kept is not None:
        weights = weights[kept]
    summed = np.bincount(groups, weights, minlength=len(distinct)).astype(np.float64, copy=False)
    row_index = _row_index(groups, kept, source.n_rows, X.row_index if encoded else None)
    for array in (distinct, summed, row_index):
        array.flags.writeable = False
    return CategoricalData(names, states, distinct, summed, row_index)


def decode(codes, states: Sequence[Hashable], dtype=None) -> pd.Series:
    """Turn the codes of one column back into a pandas column of its states.

    Without ``dtype`` it is chosen so that nothing is lost: integers and booleans become nullable where a cell
    is missing.

    Examples
    --------
    >>> decode([1, 0, 1], ["no", "yes"]).tolist()
    ['yes', 'no', 'yes']
    >>> str(decode([1, -1], [3, 4]).dtype)
    'Int64'
    """
    codes = np.asarray(codes, np.intp)
    if dtype is None:
        dtype = _natural_dtype(states, missing=bool((codes < 0).any()))
    levels = pd.Series(list(states), dtype=dtype).array
    return pd.Series(levels.take(codes, allow_fill=True))


def _natural_dtype(states: Sequence[Hashable], missing: bool):
    kinds = {type(state) for state in states}
    if kinds == {bool}:
        return "boolean" if missing else "bool"
    if kinds == {int} and all(-(2**63) <= state < 2**63 for state in states):
        return "Int64" if missing else "int64"
    if kinds == {float}:
        return "float64"
    return pd.Series([""]).dtype if kinds == {str} else object  # what this pandas makes of strings


# --- Codes ------------------------------------------------------------------------------------------------


def _open_encoded(data: CategoricalData) -> Source:
    copies = None
    if data.row_index is not None:
        copies = np.bincount(data.row_index[data.row_index >= 0], minlength=data.n_distinct)

    def read(positions: Sequence[int], kept) -> Iterator[Column]:
        for i in positions:
            codes = data.codes[:, i]
            yield Column(codes if kept is None else codes[kept], list(data.state_names[i]), settled=True)

    return Source(list(data.columns), data.n_distinct, read, copies)


def code_columns(source: Source, names: tuple, given: dict, kept, unseen: str) -> tuple[list, np.ndarray]:
    """Return the states of every column and the codes, a row per column so that columns are contiguous."""
    position = {name: i for i, name in enumerate(source.names)}
    codes = np.empty((len(names), source.n_rows if kept is None else len(kept)), np.int8)
    copies = source.copies if kept is None or source.copies is None else source.copies[kept]
    all_states, strangers = [], []
    columns = source.read([position[name] for name in names], kept)
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        states, lookup = place(column, given.get(name))
        if len(states) - 1 > np.iinfo(codes.dtype).max:
            codes = codes.astype(code_dtype(len(states)))
        codes[i] = column.codes if lookup is None else lookup.astype(codes.dtype)[column.codes]
        if name in given:
            strangers += find_strangers(name, column, lookup, states, copies)
        elif not column.settled and (codes[i] < 0).all():
            raise DataError(f"column {name!r} is all missing; drop it, declare it hidden or give its state_names")
        all_states.append(states)
    report_strangers(strangers, unseen)
    return all_states, codes


def _hash64(*values) -> int:
    text = repr([identity(plain(value)) for value in values])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


# --- Weights ----------------------------------------------------------------------------------------------


def checked_weights(sample_weight, n_rows: int, *, all_zero: bool = False) -> np.ndarray | None:
    """Return weights as floats, one per row; anything else is an error, and so is no weight at all unless allowed."""
    if sample_weight is None:
        return None
    raw = np.asarray(sample_weight)
    if raw.dtype.kind == "O":
        raw = np.where(pd.isna(raw), np.nan, raw)
    weights = None
    if raw.dtype.kind in "biuf" or (raw.dtype.kind == "O" and not any(isinstance(w, str) for w in raw.flat)):
        with suppress(TypeError, ValueError):
            weights = raw.astype(np.float64)
    if weights is None:
        raise WeightError(f"sample_weight is not numeric ({raw.dtype}); give one number per row")
    if weights.shape != (n_rows,):
        raise WeightError(f"sample_weight has shape {weights.shape}; X has {n_rows} rows: give ({n_rows},)")
    _check_weights("sample_weight", weights, all_zero)
    return weights


def _check_weights(what: str, weights: np.ndarray, all_zero: bool = False) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        cells = ", ".join(f"{weights[i]} in row {i}" for i in bad[:LISTED])
        more = " and so on" if len(bad) > LISTED else ""
        raise WeightError(f"{what} holds {cells}{more}; weights must be finite and not negative")
    if not (all_zero or weights.any()):
        raise WeightError(f"{what} is zero in every row; give at least one row a positive weight")


def _weights_of_distinct(data: CategoricalData, sample_weight) -> np.ndarray:
    """Return the weights of the distinct rows, from new weights of the table's rows if there are any."""
    weights = checked_weights(sample_weight, data.n_rows)
    if weights is None or data.row_index is None:
        return data.weights if weights is None else weights
    lost = np.flatnonzero((data.row_index < 0) & (weights > 0))
    if len(lost):
        raise WeightError(
            f"sample_weight is positive in row {lost[0]}, which was left out with weight zero when the table "
            "was encoded; encode the table anew"
        )
    here = data.row_index >= 0
    return np.bincount(data.row_index[here], weights[here], minlength=data.n_distinct)


# --- Distinct rows ----------------------------------------------------------------------------------------


def distinct_rows(codes: np.ndarray, cards: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct row of every row, and the distinct rows; ``codes`` has a row per column."""
    groups, n_distinct = _rank_rows(codes, cards)
    member = np.empty(n_distinct, np.intp)
    member[groups] = np.arange(len(groups))  # any row of a group will do: they are equal
    if 4 * n_distinct < len(groups):
        return groups, _transposed(codes.take(member, axis=1))
    return groups, _transposed(codes).take(member, axis=0)  # whole rows at a time, which the cache prefers


def _transposed(codes: np.ndarray) -> np.ndarray:
    """Return a contiguous array with rows and columns exchanged; in blocks, as at once runs against the cache."""
    rows = np.empty(codes.shape[::-1], codes.dtype)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        rows[block] = codes[:, block].T
    return rows


def _row_index(groups: np.ndarray, kept, n_rows: int, outer: np.ndarray | None) -> np.ndarray:
    """Return the group of every input row, -1 where it was left out now or when ``outer`` was made."""
    index = np.full(n_rows, -1, _index_dtype(n_rows))
    index[slice(None) if kept is None else kept] = groups
    return index if outer is None else np.append(index, index.dtype.type(-1))[outer]


def _rank_rows(codes: np.ndarray, cards: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return the rank of every row among the distinct rows, in lexicographic order, and their number.

    Rows are numbers whose digits are the codes. When a number grows too large, its rank takes its place,
    which keeps the order of what was read so far.
    """
    n_rows = codes.shape[1]
    key, bound = np.zeros(n_rows, np.int64), 1
    for digits, card in zip(codes, cards, strict=True):
        missing = int(digits.min() < 0)
        if bound * (card + missing) > _LARGEST_KEY:
            key, present = dense_ranks(key, bound)
            bound = len(present)
            if bound == n_rows:  # all rows differ already; further columns cannot change their order
                break
        key *= card + missing
        key += digits
        key += missing
        bound *= card + missing
    ranks, present = dense_ranks(key, bound)
    return ranks, len(present)
