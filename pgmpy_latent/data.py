"""From any table to categorical data: distinct rows of small codes, their weights, their states' names."""

from __future__ import annotations

import datetime
import decimal
import enum
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import isinf
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmpy_latent.exceptions import (
    DataError,
    StateNameError,
    UnseenCategoryError,
    UnseenCategoryWarning,
    WeightError,
)

#: Keys of packed rows stay below this, so that one more digit cannot overflow a signed 64-bit integer.
_LARGEST_KEY = 2**62
#: Cells that are transposed at once; about what a processor's cache holds.
_BLOCK_CELLS = 2**20
#: How many values, columns or rows a message lists before it says "and so on".
_LISTED = 5
#: What pandas calls object columns in which equal values are also of the same kind (1 == True elsewhere).
_PURE_OBJECTS = frozenset({"string", "integer", "floating", "boolean", "bytes", "empty"})
_TIMES = (datetime.date, datetime.time, datetime.timedelta, pd.Period, np.datetime64, np.timedelta64)


def _read_only(array: np.ndarray, dtype) -> np.ndarray:
    """Return a C-contiguous array that cannot be written to; a private copy unless it is one already."""
    array = np.asarray(array)
    if array.base is not None or array.flags.writeable or array.dtype != dtype or not array.flags.c_contiguous:
        array = np.array(array, dtype=dtype, order="C", copy=True)
        array.flags.writeable = False
    return array


def _code_dtype(largest_card: int) -> type:
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
        Sum of the weights of the rows that are equal.
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
        object.__setattr__(self, "codes", _read_only(self.codes, _code_dtype(largest)))
        object.__setattr__(self, "weights", _read_only(self.weights, np.float64))
        if self.row_index is not None:
            object.__setattr__(self, "row_index", _read_only(self.row_index, _index_dtype(len(self.codes))))
        sizes = (len(self.weights), len(self.columns))
        if self.codes.shape != sizes or len(self.state_names) != sizes[1]:
            raise DataError(
                f"codes have shape {self.codes.shape}, but there are {sizes[0]} weights, {sizes[1]} columns "
                f"and {len(self.state_names)} lists of states; let encode() make CategoricalData"
            )

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
        return _read_only([len(states) for states in self.state_names], np.int64)

    @cached_property
    def has_missing(self) -> np.ndarray:
        """Which columns have a missing cell."""
        return _read_only((self.codes < 0).any(axis=0), np.bool_)

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
        return _read_only(keys, np.uint64)

    def select(self, columns: Iterable[Hashable]) -> CategoricalData:
        """Return the data of some columns only, in the order given; rows that are now equal are merged.

        Examples
        --------
        >>> data = encode(np.array([[0, 1], [0, 2], [1, 2]]))
        >>> data.select([0]).weights.tolist()
        [2.0, 1.0]
        """
        return encode(self, columns=columns)

    def __repr__(self) -> str:
        text = f"{self.n_rows} rows, {self.n_distinct} distinct, {len(self.columns)} columns"
        missing = int(self.has_missing.sum())
        note = f", {missing} column{'s' * (missing != 1)} with missing cells" if missing else ""
        return f"CategoricalData({text}, total weight {self.total_weight:.10g}{note})"

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
    source = _open(X)
    names = _wanted_columns(source, columns, hidden)
    given = _given_states(state_names, names)
    if encoded:
        weights = _weights_of_distinct(X, sample_weight)
    else:
        weights = _checked_weights(sample_weight, source.n_rows)
    kept = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    states, codes = _code_columns(source, names, given, kept, unseen)
    groups, distinct = _distinct_rows(codes, [len(column_states) for column_states in states])
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


# --- Tables -----------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """One column, read: codes are positions in ``levels``, -1 is missing."""

    codes: np.ndarray
    levels: list
    settled: bool = False  # the levels are the states already, whether they occur or not


class _Source(NamedTuple):
    """A table whose columns can be read one by one, leaving out the rows that are not kept."""

    names: list
    n_rows: int
    read: Callable[[int, np.ndarray | None], _Column]
    copies: np.ndarray | None = None  # how many rows of the table each row stands for, unless one


def _open(X) -> _Source:
    """Say how to read the columns of any table."""
    if isinstance(X, CategoricalData):
        return _open_encoded(X)
    if isinstance(X, pd.DataFrame):
        return _open_columns([_plain(name) for name in X.columns], len(X), lambda i: _pandas_values(X.iloc[:, i]))
    if hasattr(X, "tocoo"):
        raise TypeError("X is a sparse matrix; pass a dense table, such as X.toarray()")
    if not isinstance(X, (np.ndarray, list, tuple)):
        import narwhals as nw  # only here: most tables do not need it

        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if isinstance(frame, nw.DataFrame):
            if frame.implementation.is_pandas_like():
                return _open(frame.to_pandas())
            names = frame.columns
            return _open_columns(names, len(frame), lambda i: _narwhals_values(frame[names[i]]))
        if isinstance(X, (pd.Series, Mapping)) or not hasattr(X, "__array__"):
            raise TypeError(f"X is a {type(X).__name__}; pass a DataFrame or a 2-D array")
    return _open_array(X)


def _open_columns(names: list, n_rows: int, values_of: Callable) -> _Source:
    def read(i: int, kept) -> _Column:
        values = values_of(i)
        return _read(names[i], values if kept is None else values[kept])

    return _Source(names, n_rows, read)


def _open_encoded(data: CategoricalData) -> _Source:
    copies = None
    if data.row_index is not None:
        copies = np.bincount(data.row_index[data.row_index >= 0], minlength=data.n_distinct)

    def read(i: int, kept) -> _Column:
        codes = data.codes[:, i]
        return _Column(codes if kept is None else codes[kept], list(data.state_names[i]), settled=True)

    return _Source(list(data.columns), data.n_distinct, read, copies)


def _open_array(X) -> _Source:
    if isinstance(X, np.ma.MaskedArray):  # np.asarray would let the masked cells reappear
        X = np.where(np.ma.getmaskarray(X), None, X.data.astype(object))
    # Lists as objects: np.asarray([["a", 1]]) would turn the 1 into "1".
    X = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead; give a row per observation, all of one length"
        )
    return _open_columns(list(range(X.shape[1])), len(X), lambda i: np.ascontiguousarray(X[:, i]))


def _wanted_columns(source: _Source, columns: Iterable[Hashable] | None, hidden: Iterable[Hashable]) -> tuple:
    """Return the names of the columns to read, once the table and the names are known to make sense."""
    shape = (source.n_rows, len(source.names))
    if not source.names:
        raise DataError(f"0 feature(s) (shape={shape}) while a minimum of 1 is required: X has no columns")
    if not source.n_rows:
        raise DataError(f"0 sample(s) (shape={shape}) while a minimum of 1 is required: X has no rows")
    present = set(source.names)
    for name in hidden:
        if name in present:
            raise DataError(f"hidden variable {name!r} is named like a column; rename one")
    names = tuple(source.names) if columns is None else tuple(map(_plain, columns))
    if not names:
        raise DataError("columns is empty; name at least one column")
    absent = [name for name in names if name not in present]
    if absent:
        raise DataError(f"X lacks the columns {_listing(absent)}; it has {_listing(source.names)}")
    counts, asked = Counter(source.names), Counter(names)
    twice = [name for name in asked if counts[name] > 1 or asked[name] > 1]
    if twice:
        raise DataError(f"duplicate column names: {_listing(twice)}; give every column a name of its own")
    return names


# --- Columns ----------------------------------------------------------------------------------------------


def _pandas_values(series: pd.Series):
    """Return the values of a pandas column as an array that :func:`_factorise` knows."""
    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("dictionary"):
        return series.array.__arrow_array__().to_pandas().array  # Arrow's dictionary is pandas' Categorical
    if isinstance(dtype, (np.dtype, pd.SparseDtype)):
        return np.ascontiguousarray(series)
    return series.array


def _narwhals_values(series):
    """Return the values of a narwhals column as an array that :func:`_factorise` knows."""
    import narwhals as nw

    if series.dtype == nw.Enum:
        return pd.Categorical(series.to_numpy(), categories=list(series.dtype.categories))
    if series.dtype == nw.Categorical and series.implementation.is_pyarrow():
        return series.to_native().to_pandas().array
    if series.dtype.is_nested() or (series.null_count() and not series.dtype.is_float()):
        return pd.Series(series.to_list(), dtype=object).to_numpy()  # to_numpy would make integers floats
    return series.to_numpy()


def _read(name: Hashable, values) -> _Column:
    """Read one column: plain levels, each once, and the codes that point to them."""
    if values.dtype.kind == "c":
        raise DataError(f"Complex data not supported: column {name!r}; split it into real columns or bin it")
    if values.dtype.kind in "mM":
        _refuse_time(name, values.dtype)
    try:
        codes, raw_levels = _factorise(values)
    except (TypeError, NotImplementedError) as error:  # the second is Arrow's, about lists
        raise TypeError(
            f"column {name!r}: a cell as argument must be a string, number or boolean ({error}); "
            "turn such cells into strings or drop the column"
        ) from None
    position: dict[tuple, int] = {}
    lookup = np.full(len(raw_levels) + 1, -1)  # code -1, a missing cell, finds the -1 at the end
    for i, raw in enumerate(raw_levels):
        value = _plain(raw)
        if not _is_missing(value):
            _refuse_odd(name, value)
            lookup[i] = position.setdefault(_identity(value), len(position))
    levels = _whole_or_float([value for _, value in position])
    _refuse_lookalikes(name, levels)
    if len(position) < len(raw_levels):  # some were missing or the same value in another type
        codes = lookup[codes]
    return _Column(codes, levels, settled=isinstance(values, pd.Categorical) and bool((codes >= 0).any()))


def _factorise(values) -> tuple[np.ndarray, list]:
    """Return codes (-1: missing) and the values they stand for, never looking at cells one by one."""
    if isinstance(values, pd.Categorical):
        return values.codes, values.categories.tolist()
    if not isinstance(values, np.ndarray):
        codes, levels = pd.factorize(values)
        return codes, list(levels)
    if values.dtype.kind == "b":
        codes, present = _dense_ranks(values.view(np.int8), 2)
        return codes, present.astype(bool).tolist()
    if values.dtype.kind in "iu":
        return _factorise_integers(values)
    if values.dtype.kind == "f":
        codes, levels = pd.factorize(values.astype(np.float64, copy=False))
        return codes, levels.tolist()
    values = values.astype(object, copy=False)
    codes, levels = pd.factorize(values)
    if pd.api.types.infer_dtype(values, skipna=True) in _PURE_OBJECTS:
        return codes, levels.tolist()
    # 1, 1.0 and True hash alike, so the types must be told apart beside the values.
    types, _ = pd.factorize(pd.Series(list(map(type, values)), dtype=object).to_numpy())
    _, first, codes = np.unique(codes * (types.max() + 1) + types, return_index=True, return_inverse=True)
    return codes, values[first].tolist()


def _factorise_integers(values: np.ndarray) -> tuple[np.ndarray, list]:
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low < len(values) + 2**16:
        if values.dtype.kind == "i":
            values = values.astype(np.int64, copy=False)  # int8 could not hold the difference
        offsets = (values - values.dtype.type(low)).astype(np.int64, copy=False)
        codes, present = _dense_ranks(offsets, high - low + 1)
        return codes, [low + level for level in present.tolist()]
    levels, codes = np.unique(values, return_inverse=True)
    return codes, levels.tolist()


def _plain(value):
    """Return a value as str, int, float or bool where it is one in disguise."""
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, pd.Interval):
        return str(value)
    if isinstance(value, decimal.Decimal) and not value.is_nan():
        return int(value) if value.is_finite() and value == int(value) else float(value)
    return value


def _is_missing(value) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value  # NaN differs from itself


def _identity(value) -> tuple[str, Hashable]:
    """Return what makes two values the same state: 1 and 1.0 are, True, 1 and "1" are not."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, (int, float)):
        return "int", int(value) if isinstance(value, float) and value.is_integer() else value
    return ("str" if isinstance(value, str) else type(value).__name__), value


def _hash64(*values) -> int:
    text = repr([_identity(_plain(value)) for value in values])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _whole_or_float(levels: list) -> list:
    """Make all numbers floats if one has a fraction; whole ones are integers already."""
    if not any(isinstance(value, float) for value in levels):
        return levels
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in levels]
    return [
        float(value) if number and abs(value) < 2**1000 and value == float(value) else value
        for value, number in zip(levels, numbers, strict=True)
    ]


def _refuse_odd(name: Hashable, value) -> None:
    if isinstance(value, float) and isinf(value):
        raise DataError(f"column {name!r} holds infinity (inf); make it a category, NaN or another number")
    if isinstance(value, complex):
        raise DataError(f"Complex data not supported: column {name!r}; split it into real columns or bin it")
    if isinstance(value, _TIMES):
        _refuse_time(name, type(value).__name__)


def _refuse_time(name: Hashable, kind) -> None:
    raise DataError(f"column {name!r} holds dates or times ({kind}); bin them or convert them to strings")


def _refuse_lookalikes(name: Hashable, levels: list) -> None:
    """Raise if two states would read alike, as 1, "1", 1.0 and True do in files and reports."""
    if len({_identity(value)[0] for value in levels}) < 2:
        return
    seen: dict = {}  # True and 1 collide as keys, 1 and "1" by their text
    for value in levels:
        faces = {value, str(value)}
        if _identity(value)[0] == "int":
            faces |= {str(_identity(value)[1]), f"{_identity(value)[1]}.0"}
        for face in faces:
            if face in seen:
                raise DataError(
                    f"column {name!r} holds both {seen[face]!r} and {value!r}; "
                    "convert the column to one type, as in X[column].astype(str)"
                )
        seen |= dict.fromkeys(faces, value)


# --- States -----------------------------------------------------------------------------------------------


def _given_states(state_names, names: tuple) -> dict[Hashable, list]:
    """Return the states that a caller gave for the columns in use, as plain values."""
    if state_names is None:
        return {}
    if not isinstance(state_names, Mapping):
        raise StateNameError("state_names must be a dict of column to list of states")
    return {name: _checked_states(name, state_names[name]) for name in names if name in state_names}


def _checked_states(name: Hashable, states) -> list:
    if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
        raise StateNameError(f"state_names of column {name!r} is {states!r}; give a list of states")
    states = [_plain(state) for state in states]
    if not states:
        raise StateNameError(f"state_names of column {name!r} is empty; name at least one state")
    if not all(isinstance(state, Hashable) for state in states):
        raise StateNameError(f"state_names of column {name!r} must hold strings, numbers or booleans, not lists")
    if any(_is_missing(state) for state in states):
        raise StateNameError(f"state_names of column {name!r} has a missing value; missing cells need no state")
    twice = [state for state, count in Counter(states).items() if count > 1]
    if twice:
        raise StateNameError(f"state_names of column {name!r} names {twice[0]!r} twice; name each state once")
    return states


def _code_columns(source: _Source, names: tuple, given: dict, kept, unseen: str) -> tuple[list, np.ndarray]:
    """Return the states of every column and the codes, a row per column so that columns are contiguous."""
    position = {name: i for i, name in enumerate(source.names)}
    codes = np.empty((len(names), source.n_rows if kept is None else len(kept)), np.int8)
    copies = source.copies if kept is None or source.copies is None else source.copies[kept]
    all_states, strangers = [], []
    for i, name in enumerate(names):
        column = source.read(position[name], kept)
        states, lookup = _place(column, given.get(name))
        if len(states) - 1 > np.iinfo(codes.dtype).max:
            codes = codes.astype(_code_dtype(len(states)))
        codes[i] = column.codes if lookup is None else lookup.astype(codes.dtype)[column.codes]
        if name in given:
            strangers += _find_strangers(name, column, lookup, states, copies)
        elif not column.settled and (codes[i] < 0).all():
            raise DataError(f"column {name!r} is all missing; drop it, declare it hidden or give its state_names")
        all_states.append(states)
    _report_strangers(strangers, unseen)
    return all_states, codes


def _place(column: _Column, given: list | None) -> tuple[list, np.ndarray | None]:
    """Return the states and where each level stands among them, -1 for nowhere; None: as it is."""
    if given is not None:
        position = {_identity(state): i for i, state in enumerate(given)}
        return given, np.array([*(position.get(_identity(level), -1) for level in column.levels), -1])
    if column.settled:
        return column.levels, None
    order = sorted(range(len(column.levels)), key=lambda i: _sort_key(column.levels[i]))
    if order == list(range(len(order))):
        return column.levels, None
    return [column.levels[i] for i in order], np.append(np.argsort(order), -1)


def _sort_key(value) -> tuple:
    kind, value = _identity(value)
    return kind, value if kind in ("bool", "bytes", "int", "str") else repr(value)


def _find_strangers(name, column: _Column, lookup: np.ndarray, states: list, copies) -> list[tuple]:
    """Return (column, values, counts, states) if values occur that are not among the given states."""
    if (lookup[:-1] >= 0).all():
        return []
    present = column.codes >= 0
    rows = None if copies is None else copies[present]
    counts = np.bincount(column.codes[present], rows, minlength=len(column.levels))
    found = np.flatnonzero((lookup[:-1] < 0) & (counts > 0))
    values = sorted(((column.levels[i], int(counts[i])) for i in found), key=lambda pair: _sort_key(pair[0]))
    return [(name, *zip(*values, strict=True), states)] if values else []


def _report_strangers(strangers: list[tuple], unseen: str) -> None:
    """Raise, or warn once for the whole table, about values that no given state stands for."""
    if not strangers:
        return
    text = "; ".join(_describe_strangers(*one) for one in strangers[:_LISTED])
    if len(strangers) > _LISTED:
        text += f"; and {len(strangers) - _LISTED} more columns"
    if unseen == "error":
        raise UnseenCategoryError(f'{text}. Map them, list them in state_names, or ask for unseen="missing".')
    warnings.warn(f"{text}. They are treated as missing.", UnseenCategoryWarning, stacklevel=4)


def _describe_strangers(name: Hashable, values: tuple, counts: tuple, states: list) -> str:
    cells = [f"{v!r} ({n} row{'s' * (n > 1)})" for v, n in zip(values[:_LISTED], counts, strict=False)]
    if len(values) > _LISTED:
        cells.append(f"{len(values) - _LISTED} more")
    text = f"column {name!r} holds {', '.join(cells)}, not among its states {_listing(states)}"
    known = {*states, *map(str, states)}
    alike = next((v for v in values if v in known or str(v) in known), None)
    if alike is not None:
        state = next(s for s in states if s == alike or str(s) == str(alike))
        text += f" (mind the types: {type(alike).__name__} in the data, {type(state).__name__} among the states)"
    return text


def _listing(values: Sequence) -> str:
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(map(repr, values[:_LISTED])) + more


# --- Weights ----------------------------------------------------------------------------------------------


def _checked_weights(sample_weight, n_rows: int) -> np.ndarray | None:
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
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        cells = ", ".join(f"{weights[i]} in row {i}" for i in bad[:_LISTED])
        more = " and so on" if len(bad) > _LISTED else ""
        raise WeightError(f"sample_weight holds {cells}{more}; weights must be finite and not negative")
    if not weights.any():
        raise WeightError("sample_weight is zero in every row; give at least one row a positive weight")
    return weights


def _weights_of_distinct(data: CategoricalData, sample_weight) -> np.ndarray:
    """Return the weights of the distinct rows, from new weights of the table's rows if there are any."""
    weights = _checked_weights(sample_weight, data.n_rows)
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


def _distinct_rows(codes: np.ndarray, cards: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct row of every row, and the distinct rows; ``codes`` has a row per column."""
    groups, n_distinct = _rank_rows(codes, cards)
    member = np.empty(n_distinct, np.intp)
    member[groups] = np.arange(len(groups))  # any row of a group will do: they are equal
    distinct = np.empty((n_distinct, len(codes)), codes.dtype)
    step = max(1, _BLOCK_CELLS // len(codes))
    for start in range(0, n_distinct, step):  # in blocks, as a transposition at once runs against the cache
        distinct[start : start + step] = codes[:, member[start : start + step]].T
    return groups, distinct


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
            key, present = _dense_ranks(key, bound)
            bound = len(present)
            if bound == n_rows:  # all rows differ already; further columns cannot change their order
                break
        key *= card + missing
        key += digits
        key += missing
        bound *= card + missing
    ranks, present = _dense_ranks(key, bound)
    return ranks, len(present)


def _dense_ranks(values: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each value among the distinct ones, and these; all are in ``range(bound)``."""
    if bound > 4 * len(values) + 2**16:
        present, ranks = np.unique(values, return_inverse=True)
        return ranks, present
    seen = np.zeros(bound, np.bool_)
    seen[values] = True
    present = np.flatnonzero(seen)
    if len(present) == bound:
        return values, present
    return (np.cumsum(seen) - 1)[values], present
