"""Reading the columns of any table: their values, their states, and the columns that are refused."""

from __future__ import annotations

import datetime
import decimal
import enum
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from math import isinf
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmpy_latent.exceptions import (
    AbsentColumnError,
    DataError,
    StateNameError,
)
from pgmpy_latent.model.labels import (
    MOST_DIGITS,
    check_names,
    has_too_many_digits,
    identity,
    refuse_long_names,
    sort_key,
)
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.tables.missing import is_missing

#: How many values, columns or rows a message lists at most.
LISTED = 5
#: Columns and rows of an array that are copied at once; about the size of a processor's cache.
_BLOCK_COLUMNS = 8
_BLOCK_ROWS = 2**12
#: Names that pandas gives to object columns in which equal values have the same type (1 == True in others).
_PURE_OBJECTS = frozenset({"string", "integer", "floating", "boolean", "bytes", "empty"})
_TIMES = (datetime.date, datetime.time, datetime.timedelta, pd.Period, np.datetime64, np.timedelta64)


# --- Tables -----------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """One column, read: codes are positions in ``levels``, -1 is missing."""

    codes: np.ndarray
    levels: list
    settled: bool = False  # the levels are the states already, whether they occur or not


def _no_values(position: int) -> object:
    raise TypeError("the columns of this source are codes already; it has no values")


class Source(NamedTuple):
    """A table whose columns can be read: ``read(positions, rows)`` yields columns, of some rows or of all (None)."""

    names: list
    n_rows: int
    read: Callable[[Sequence[int], np.ndarray | None], Iterator[Column]]
    copies: np.ndarray | None = None  # how many rows of the table each row stands for, unless one
    values: Callable[[int], object] = _no_values  # the cells of the column at a position, as they are
    labels: pd.Index | None = None  # those of the rows, if there are any


def open_table(X) -> Source:
    """Return the source that reads the columns of any table."""
    if isinstance(X, pd.DataFrame):
        names = [plain(name) for name in X.columns]
        source = _open_columns(names, len(X), lambda places: (_pandas_values(X.iloc[:, i]) for i in places))
        return source._replace(labels=X.index)
    if hasattr(X, "tocoo"):
        raise TypeError("X is a sparse matrix; pass a dense table, such as X.toarray()")
    if not isinstance(X, (np.ndarray, list, tuple)):
        import narwhals as nw  # only here: most tables do not need it

        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if isinstance(frame, nw.DataFrame):
            if frame.implementation.is_pandas_like():
                return open_table(frame.to_pandas())
            names = frame.columns
            return _open_columns(names, len(frame), lambda places: (_narwhals_values(frame[names[i]]) for i in places))
        if isinstance(X, (pd.Series, Mapping)) or not hasattr(X, "__array__"):
            raise TypeError(f"X is {kind_in_words(X)}; pass a DataFrame or a 2-D array")
    return _open_array(X)


def as_pandas(X):
    """Return a data frame of any library as a pandas one, with NaN for missing numbers; other objects unchanged.

    Examples
    --------
    >>> import polars as pl
    >>> as_pandas(pl.DataFrame({"x": [1, None]}))["x"].tolist()
    [1.0, nan]
    """
    if isinstance(X, (pd.DataFrame, np.ndarray, list, tuple)):
        return X
    import narwhals as nw  # only here: most tables do not need it

    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return X
    if frame.implementation.is_pandas_like():
        return frame.to_pandas()
    return pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


def without_columns(X, names: Collection[Hashable]):
    """Return a table of the same type without some columns.

    Examples
    --------
    >>> without_columns(np.array([[1, 2, 3]]), [1]).tolist()
    [[1, 3]]
    >>> without_columns(pd.DataFrame({"x": [1], "w": [2]}), ["w"]).columns.tolist()
    ['x']
    """
    if isinstance(X, pd.DataFrame):
        return X.loc[:, [plain(name) not in names for name in X.columns]]
    if not isinstance(X, (np.ndarray, list, tuple)):
        import narwhals as nw

        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
            return frame.drop([name for name in frame.columns if name in names]).to_native()
    X = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asanyarray(X)
    return X[:, [at for at in range(X.shape[1]) if at not in names]]


def _open_columns(names: list, n_rows: int, values_of: Callable) -> Source:
    refuse_long_names(names, "column", DataError, "X")

    def read(positions: Sequence[int], rows: np.ndarray | None) -> Iterator[Column]:
        columns = values_of(positions) if rows is None else (values[rows] for values in values_of(positions))
        return map(_read, [names[position] for position in positions], columns)

    return Source(names, n_rows, read, values=lambda position: next(iter(values_of([position]))))


def _open_array(X) -> Source:
    if isinstance(X, np.ma.MaskedArray):  # np.asarray would let the masked cells reappear
        cells = X.data.astype(object)
        cells[np.ma.getmaskarray(X)] = None
        X = cells
    # Lists as objects: np.asarray([["a", 1]]) would turn the 1 into "1".
    X = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead; give a row per observation, all of one length"
        )
    return _open_columns(list(range(X.shape[1])), len(X), lambda places: _array_values(X, places))


def wanted_columns(source: Source, columns: Iterable[Hashable] | None, hidden: Iterable[Hashable]) -> tuple:
    """Return the names of the columns to read; raise if the table is empty or the names are not valid."""
    shape = (source.n_rows, len(source.names))
    if not source.names:
        raise DataError(f"0 feature(s) (shape={shape}) while a minimum of 1 is required: X has no columns")
    if not source.n_rows:
        raise DataError(f"0 sample(s) (shape={shape}) while a minimum of 1 is required: X has no rows")
    present = set(source.names)
    for name in hidden:
        if name in present:
            raise DataError(f"hidden variable {name!r} is named like a column; rename one")
    names = tuple(source.names) if columns is None else tuple(map(plain, columns))
    refuse_long_names(names, "column", DataError, "columns")
    if not names:
        raise DataError("columns is empty; name at least one column")
    absent = [name for name in names if name not in present]
    if absent:
        columns = f"column{'s' * (len(absent) > 1)} {listing(absent)}"
        raise AbsentColumnError(f"X lacks the {columns}; it has {listing(source.names)}")
    asked = set(names)
    check_names((name for name in source.names if name in asked), "column", DataError, "X")
    if len(asked) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"columns names {twice!r} twice; name each once")
    return names


# --- Columns ----------------------------------------------------------------------------------------------


def _array_values(X: np.ndarray, positions: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield contiguous columns of an array; several are copied at once, as neighbours share cache lines."""
    if X.strides[0] == X.itemsize:
        yield from (X[:, i] for i in positions)
        return
    for start in range(0, len(positions), _BLOCK_COLUMNS):
        chosen = positions[start : start + _BLOCK_COLUMNS]
        columns = np.empty((len(chosen), len(X)), X.dtype)
        for first in range(0, len(X), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            columns[:, rows] = X[rows, chosen].T
        yield from columns


def _pandas_values(series: pd.Series):
    """Return the values of a pandas column as an array that :func:`_factorise` accepts."""
    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("dictionary"):
        return series.array.__arrow_array__().to_pandas().array  # Arrow's dictionary is pandas' Categorical
    if isinstance(dtype, (np.dtype, pd.SparseDtype)):
        return np.ascontiguousarray(series)
    return series.array


def _narwhals_values(series):
    """Return the values of a narwhals column as an array that :func:`_factorise` accepts."""
    import narwhals as nw

    if series.dtype == nw.Enum:
        return pd.Categorical(series.to_numpy(), categories=list(series.dtype.categories))
    if series.dtype == nw.Categorical and series.implementation.is_pyarrow():
        return series.to_native().to_pandas().array
    if series.dtype.is_nested() or (series.null_count() and not series.dtype.is_float()):
        return pd.Series(series.to_list(), dtype=object).to_numpy()  # to_numpy would make integers floats
    return series.to_numpy()


def _read(name: Hashable, values) -> Column:
    """Read one column: its distinct values in plain types, and a code for every cell."""
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
        value = plain(raw)
        if not is_missing(value):
            _refuse_odd(name, value)
            lookup[i] = position.setdefault(identity(value), len(position))
    levels = settled_levels(name, [value for _, value in position])
    if len(position) < len(raw_levels):  # some were missing or the same value in another type
        codes = lookup[codes]
    return Column(codes, levels, settled=isinstance(values, pd.Categorical) and bool((codes >= 0).any()))


def _factorise(values) -> tuple[np.ndarray, list]:
    """Return codes (-1: missing) and the values that they stand for, without a loop over cells."""
    if isinstance(values, pd.Categorical):
        return values.codes, values.categories.tolist()
    if not isinstance(values, np.ndarray):
        codes, levels = pd.factorize(values)
        return codes, list(levels)
    if values.dtype.kind == "b":
        codes, present = dense_ranks(values.view(np.int8), 2)
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
    # 1, 1.0 and True are equal and hash alike, so types are compared as well as values.
    types, _ = pd.factorize(pd.Series(list(map(type, values)), dtype=object).to_numpy())
    _, first, codes = np.unique(codes * (types.max() + 1) + types, return_index=True, return_inverse=True)
    return codes, values[first].tolist()


def _factorise_integers(values: np.ndarray) -> tuple[np.ndarray, list]:
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low < len(values) + 2**16:
        if values.dtype.kind == "i":
            values = values.astype(np.int64, copy=False)  # int8 could not hold the difference
        offsets = (values - values.dtype.type(low)).astype(np.int64, copy=False)
        codes, present = dense_ranks(offsets, high - low + 1)
        return codes, [low + level for level in present.tolist()]
    levels, codes = np.unique(values, return_inverse=True)
    return codes, levels.tolist()


def dense_ranks(values: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each value among the distinct values, and the distinct values; all in ``range(bound)``."""
    if bound > 4 * len(values) + 2**16:
        present, ranks = np.unique(values, return_inverse=True)
        return ranks, present
    seen = np.zeros(bound, np.bool_)
    seen[values] = True
    present = np.flatnonzero(seen)
    if len(present) == bound:
        return values, present
    return (np.cumsum(seen) - 1)[values], present


def plain(value):
    """Return a value as a plain str, int, float or bool if it stands for one; others unchanged."""
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, pd.Interval):
        return str(value)
    if isinstance(value, decimal.Decimal) and not value.is_nan():
        if value.is_finite() and value.adjusted() >= MOST_DIGITS:
            return value  # as an integer it could fill the memory; it is refused where the column is known
        return int(value) if value.is_finite() and value == int(value) else float(value)
    return value


def in_dtype_of(column: pd.Series, dtype) -> pd.Series:
    """Return a column of states as a Categorical if ``dtype``, that of the original column, is one.

    States without a category get one after the others; categories are then no longer ordered.

    Examples
    --------
    >>> given = pd.Series(["low", None], dtype=pd.CategoricalDtype(["low", "high"], ordered=True))
    >>> in_dtype_of(pd.Series(["low", "high"]), given.dtype).dtype == given.dtype
    True
    """
    if not isinstance(dtype, pd.CategoricalDtype):
        return column
    codes, states = pd.factorize(column)
    position = {identity(plain(category)): at for at, category in enumerate(dtype.categories)}
    new = [plain(state) for state in states if identity(plain(state)) not in position]
    if new:
        position |= {identity(state): len(position) + at for at, state in enumerate(new)}
        dtype = pd.CategoricalDtype([*dtype.categories, *new])
    lookup = np.array([*(position[identity(plain(state))] for state in states), -1])  # code -1 finds the -1 at the end
    return pd.Series(pd.Categorical.from_codes(lookup[codes], dtype=dtype))


def settled_levels(name: Hashable, levels: list) -> list:
    """Return the values of a whole column in their final types; raise if two of them look the same as text."""
    kinds = dict(map(identity, levels))
    if "int" in kinds:
        levels = _whole_or_float(levels)
    if len(kinds) > 1:
        _refuse_lookalikes(name, levels)
    return levels


def _whole_or_float(levels: list) -> list:
    """Make all numbers floats if one of them has a fraction."""
    for value in levels:
        if isinstance(value, float):
            break
    else:
        return levels
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in levels]
    return [
        float(value) if number and abs(value) < 2**1000 and value == float(value) else value
        for value, number in zip(levels, numbers, strict=True)
    ]


def _refuse_odd(name: Hashable, value) -> None:
    if isinstance(value, float) and isinf(value):
        raise DataError(f"column {name!r} holds infinity (inf); make it a category, NaN or another number")
    if has_too_many_digits(value):
        raise DataError(f"column {name!r} holds a number of more than {MOST_DIGITS:,} digits; bin it or make it text")
    if isinstance(value, complex):
        raise DataError(f"Complex data not supported: column {name!r}; split it into real columns or bin it")
    if isinstance(value, _TIMES):
        _refuse_time(name, type(value).__name__)


def _refuse_time(name: Hashable, kind) -> None:
    raise DataError(
        f"column {name!r} holds dates or times ({kind}); drop it, or make a few categories of it, such as years or "
        f"weekdays; if each is meant as a category, make it text, as with astype(str), and say "
        f"allow_many_states=[{name!r}]"
    )


def _refuse_lookalikes(name: Hashable, levels: list) -> None:
    """Raise if two states look the same in files and reports, as 1, "1", 1.0 and True do."""
    seen: dict = {}  # True and 1 collide as keys, 1 and "1" by their text
    for value in levels:
        forms = {value, str(value)}
        if identity(value)[0] == "int":
            forms |= {str(identity(value)[1]), f"{identity(value)[1]}.0"}
        for form in forms:
            if form in seen:
                raise DataError(
                    f"column {name!r} holds both {seen[form]!r} and {value!r}; "
                    "convert the column to one type, as in X[column].astype(str)"
                )
        seen |= dict.fromkeys(forms, value)


# --- States -----------------------------------------------------------------------------------------------


def given_states(state_names, names: tuple) -> dict[Hashable, list]:
    """Return the states that the caller lists for the columns in use, as plain values."""
    if state_names is None:
        return {}
    if not isinstance(state_names, Mapping):
        raise StateNameError("state_names must be a dict of column to list of states")
    return {name: checked_states(name, state_names[name]) for name in names if name in state_names}


def checked_states(name: Hashable, states) -> list:
    """Return the states that the caller lists for a column, as plain values; raise if they are not valid."""
    if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
        raise StateNameError(f"state_names of column {name!r} is {states!r}; give a list of states")
    states = [plain(state) for state in states]
    if not states:
        raise StateNameError(f"state_names of column {name!r} is empty; name at least one state")
    if not all(isinstance(state, Hashable) for state in states):
        raise StateNameError(f"state_names of column {name!r} must hold strings, numbers or booleans, not lists")
    if any(is_missing(state) for state in states):
        raise StateNameError(f"state_names of column {name!r} has a missing value; missing cells need no state")
    if any(map(has_too_many_digits, states)):
        raise StateNameError(
            f"state_names of column {name!r} has a number of more than {MOST_DIGITS:,} digits; make it text"
        )
    twice = [state for state, count in Counter(states).items() if count > 1]
    if twice:
        raise StateNameError(f"state_names of column {name!r} names {twice[0]!r} twice; name each state once")
    return states


def place(column: Column, known_states: list | None) -> tuple[list, np.ndarray | None]:
    """Return the states, and the state of each level, -1 for none; None instead if they are the same."""
    if known_states is not None:
        position = {identity(state): i for i, state in enumerate(known_states)}
        return known_states, np.array([*(position.get(identity(level), -1) for level in column.levels), -1])
    if column.settled:
        return column.levels, None
    order = sorted(range(len(column.levels)), key=lambda i: sort_key(column.levels[i]))
    if order == list(range(len(order))):
        return column.levels, None
    return [column.levels[i] for i in order], np.append(np.argsort(order), -1)


def listing(values: Sequence) -> str:
    """Return the first few of some values as a list in a message."""
    more = f" and {len(values) - LISTED} more" if len(values) > LISTED else ""
    return ", ".join(map(repr, values[:LISTED])) + more
