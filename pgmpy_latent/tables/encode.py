"""From any table to categorical data: distinct rows as small integers, with their weights and the names of states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgmpy_latent.exceptions import DataError, WeightError
from pgmpy_latent.model.emissions import Emission, Feature, NumericKind, emission_of_states
from pgmpy_latent.model.labels import identity, sort_key
from pgmpy_latent.model.tree import MissingCodes, MissingCodesLike, pairs_of_codes
from pgmpy_latent.runtime.arrays import read_only
from pgmpy_latent.tables.columns import (
    Column,
    Source,
    dense_ranks,
    given_states,
    open_table,
    place,
    plain,
    wanted_columns,
)
from pgmpy_latent.tables.missing_codes import (
    CodesByColumn,
    SeenCodes,
    codes_by_column,
    joined,
    settled_columns,
    warn_of_absent_codes,
    without_codes,
)
from pgmpy_latent.tables.numbers import emission_for, number_keys, read_numbers
from pgmpy_latent.tables.survey import (
    Design,
    RowDesign,
    WeightKind,
    are_whole,
    check_kind,
    check_kind_has_weights,
    check_weights,
    kind_of,
    names_column,
    read_design,
    rows_in_words,
    warn_if_doubtful,
)
from pgmpy_latent.tables.unseen import Unseen, find_unseen, report_unseen

#: Keys of packed rows stay below this, so that one more digit cannot overflow a signed 64-bit integer.
_LARGEST_KEY = 2**62
#: Rows that are transposed at once; about what a processor's cache holds.
_BLOCK_ROWS = 2**12


def code_dtype(largest_card: int) -> type:
    """Return the smallest signed integer type for codes from -1 to ``largest_card - 1``."""
    return next(t for t in (np.int8, np.int16, np.int32) if largest_card - 1 <= np.iinfo(t).max)


def _index_dtype(n_rows: int) -> type:
    return np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64


@dataclass(frozen=True, eq=False, repr=False, init=False)
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
    weight_kind : {None, "frequency", "sampling"}
        Kind of the weights; None if there were none. Sampling weights sum to the effective number of rows.
    design : Design, optional
        How single rows were drawn: with sampling weights, from strata or in clusters.
    row_count : int, optional
        Number of rows of the table, if there is no ``row_index``.
    missing : dict of column to values, or pairs of them, optional
        Values that counted as missing cells when the table was read; models that are learned from it keep
        them. Stored as pairs (column, values).
    values : dict of column to array, optional
        Distinct values of the numeric columns, in ascending order, of which codes are the positions. Their states are
        the features that models see (:mod:`pgmpy_latent.model.emissions`).

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
    row_index: np.ndarray | None
    weight_kind: WeightKind | None
    design: Design | None
    row_count: int | None
    missing: MissingCodes
    values: dict[Hashable, np.ndarray]

    def __init__(
        self,
        columns: Iterable[Hashable],
        state_names: Iterable[Iterable[Hashable]],
        codes: ArrayLike,
        weights: ArrayLike,
        row_index: ArrayLike | None = None,
        weight_kind: WeightKind | None = None,
        design: Design | None = None,
        row_count: int | None = None,
        missing: MissingCodesLike = (),
        values: Mapping[Hashable, np.ndarray] | None = None,
    ) -> None:
        object.__setattr__(self, "missing", pairs_of_codes(missing))
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "state_names", tuple(tuple(states) for states in state_names))
        numbers = {name: read_only(column, np.float64) for name, column in (values or {}).items()}
        object.__setattr__(self, "values", numbers)
        largest = max(map(len, (*self.state_names, *numbers.values())), default=1)
        object.__setattr__(self, "codes", read_only(codes, code_dtype(largest)))
        object.__setattr__(self, "weights", read_only(weights, np.float64))
        index = None if row_index is None else read_only(row_index, _index_dtype(len(self.codes)))
        object.__setattr__(self, "row_index", index)
        object.__setattr__(self, "weight_kind", weight_kind)
        object.__setattr__(self, "design", design)
        object.__setattr__(self, "row_count", row_count)
        sizes = (len(self.weights), len(self.columns))
        if self.codes.shape != sizes or len(self.state_names) != sizes[1]:
            raise DataError(
                f"codes have shape {self.codes.shape}, but there are {sizes[0]} weights, {sizes[1]} columns "
                f"and {len(self.state_names)} lists of states; let encode() make CategoricalData"
            )
        check_weights("weights", self.weights)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, including those of weight zero."""
        if self.row_index is not None:
            return len(self.row_index)
        return len(self.codes) if self.row_count is None else self.row_count

    @property
    def n_distinct(self) -> int:
        """Number of rows that differ."""
        return len(self.codes)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights: the number of rows without weights, the effective number with sampling weights."""
        return float(self.weights.sum())

    @cached_property
    def row_counts(self) -> np.ndarray:
        """How many rows each distinct row stands for: the weights, unless they are sampling weights."""
        if self.weight_kind != "sampling" or self.design is None:
            return self.weights
        return read_only(np.bincount(self.design.row, self.design.count, minlength=self.n_distinct), np.float64)

    @cached_property
    def table_rows(self) -> np.ndarray:
        """How many rows of the table are equal to each distinct row, whatever they weigh; weights if unknown."""
        if self.row_index is None:
            return self.row_counts
        return read_only(np.bincount(self.row_index[self.row_index >= 0], minlength=self.n_distinct), np.float64)

    @cached_property
    def cards(self) -> np.ndarray:
        """Number of states of each column."""
        return read_only([len(states) for states in self.state_names], np.int64)

    @property
    def n_codes(self) -> list[int]:
        """Number of different codes of each column: its states, or its values if it is numeric."""
        return [len(self.values.get(name, states)) for name, states in zip(self.columns, self.state_names, strict=True)]

    @cached_property
    def has_missing(self) -> np.ndarray:
        """Which columns have a missing cell."""
        return read_only((self.codes < 0).any(axis=0), np.bool_)

    @cached_property
    def row_keys(self) -> np.ndarray:
        """A 64-bit number per distinct row, the same in every table that holds this row.

        It depends only on the pairs of column name and state name in the row: neither on the order of columns, rows or
        states nor on other rows. Missing cells add nothing.
        """
        keys = np.zeros(self.n_distinct, np.uint64)
        for column, states, codes in zip(self.columns, self.state_names, self.codes.T, strict=True):
            if column in self.values:
                keys += np.append(number_keys(self.values[column], _hash64(column)), np.uint64(0))[codes]
                continue
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

    def take(self, rows: np.ndarray | slice) -> CategoricalData:
        """Return some of the distinct rows, given by position or as a mask, with their weights.

        Examples
        --------
        >>> encode(np.array([[0], [1], [1]])).take([1]).weights.tolist()
        [2.0]
        """
        codes, design = self.codes[rows], None
        if self.design is not None:
            place = np.full(self.n_distinct, -1)
            place[rows] = np.arange(len(codes))
            design = self.design.take(place)
        return CategoricalData(
            self.columns,
            self.state_names,
            codes,
            self.weights[rows],
            None,
            self.weight_kind,
            design,
            missing=self.missing,
            values=self.values,
        )

    def in_order_of_names(self) -> CategoricalData:
        """Return the data with columns sorted by name, so that results do not depend on the order of the table.

        Examples
        --------
        >>> encode(pd.DataFrame({"y": [1], "x": [2]})).in_order_of_names().columns
        ('x', 'y')
        """
        columns = sorted(self.columns, key=sort_key)
        return self if tuple(columns) == self.columns else self.select(columns)

    def codes_of(self, names: Sequence[Hashable]) -> np.ndarray:
        """Return the codes of the distinct rows for some names; -1 everywhere for names that are not columns."""
        codes = np.full((self.n_distinct, len(names)), -1, dtype=self.codes.dtype)
        column = {name: at for at, name in enumerate(self.columns)}
        for node, name in enumerate(names):
            if name in column:
                codes[:, node] = self.codes[:, column[name]]
        return codes

    def identity(self) -> tuple[str, tuple[np.ndarray, ...]]:
        """Return text and arrays that together are the same for the same data only."""
        numbers = (self.values[name] for name in self.columns if name in self.values)
        return repr((self.columns, self.state_names, self.codes.shape)), (self.codes, self.weights, *numbers)

    def __repr__(self) -> str:
        n_columns, missing = len(self.columns), int(self.has_missing.sum())
        text = f"{self.n_rows} rows, {self.n_distinct} distinct, {n_columns} column{'s' * (n_columns != 1)}"
        note = f", {missing} column{'s' * (missing != 1)} with missing cells" if missing else ""
        return f"CategoricalData({text}, {weight_words(self)}{note})"

    def __sizeof__(self) -> int:  # by which Dask decides what to move and what to write to disk
        arrays = [self.codes, self.weights, self.row_index, *self.values.values()]
        if self.design is not None:
            arrays += [self.design.row, self.design.weight, self.design.count, self.design.stratum, self.design.cluster]
        return sum(array.nbytes for array in arrays if array is not None)

    def __reduce__(self):  # copies and pickles are built anew, so that their arrays are read-only too
        rows = (self.columns, self.state_names, self.codes, self.weights, self.row_index)
        return CategoricalData, (*rows, self.weight_kind, self.design, self.row_count, self.missing, self.values)

    def __deepcopy__(self, memo) -> CategoricalData:
        return self  # immutable


def weight_words(data: CategoricalData) -> str:
    """Return the kind of a table's weights, and their sum, as text.

    Examples
    --------
    >>> weight_words(encode(np.array([[0], [1]]), sample_weight=[0.2, 0.2], cluster=["p", "q"]))
    'sampling weights, effective number of rows 2, 2 clusters'
    """
    words = f"total weight {data.total_weight:.10g}"
    if data.weight_kind == "sampling":
        words = f"sampling weights, effective number of rows {rows_in_words(data.total_weight)}"
    elif data.weight_kind == "frequency":
        words = f"frequency weights, total weight {data.total_weight:.10g}"
    return words if data.design is None else words + data.design.words


def encode(
    X,
    *,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None = None,
    columns: Iterable[Hashable] | None = None,
    unseen: Unseen = "error",
    hidden: Iterable[Hashable] = (),
    missing=None,
    numeric: Mapping[Hashable, NumericKind | Emission] | None = None,
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
    sample_weight : array-like of shape (n_rows,) or column name, optional
        Finite weights of at least zero. A row of weight zero counts as absent. A column that is named here, or as
        ``strata`` or ``cluster``, is not read as data unless ``columns`` asks for it.
    weight_kind : {"frequency", "sampling"}, optional
        What the weights are. A row of frequency weight 3 stands for three rows. Sampling weights say
        how many of a population a row stands for: their scale says nothing, and they are scaled to sum to Kish's
        effective number of rows, ``(Σw)² / Σw²``. By default whole numbers are frequencies and anything else sampling
        weights, with a warning where that is doubtful.
    strata : array-like of shape (n_rows,) or column name, optional
        The stratum of every row, if strata were drawn from separately. Strata with a single unit are joined
        (``docs/survey_weights.md``).
    cluster : array-like of shape (n_rows,) or column name, optional
        The primary sampling unit of every row (household, school, village), if rows were drawn together. The same
        label in two strata means two clusters.
    state_names : dict of column to sequence of states, optional
        States and their order; may name states that do not occur, and columns that ``X`` does not have.
    columns : iterable of column names, optional
        Which columns to read, in this order. Others are ignored.
    unseen : {"error", "missing"}
        What to do about a value that is not in its column's ``state_names``: raise
        :class:`~pgmpy_latent.exceptions.UnseenCategoryError`, or treat it as missing with one warning.
    hidden : iterable of names
        Names of hidden variables, which may not be columns of ``X``.
    missing : value, list of values, or dict of column to either, optional
        Values that count as missing cells, in all columns or in those that are named, as ``{"age": [99, -1]}``. They
        are no states, and models that are learned from the data remember them.
    numeric : dict of column to kind, optional
        Columns that are numbers: "gaussian", "shared_gaussian" (one variance for all states of the parent), "poisson"
        or "negative_binomial" (:mod:`pgmpy_latent.model.emissions`). Others are categories, whatever they hold.

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
    >>> data = encode(np.array([["b"], ["a"], ["b"]]), sample_weight=[1, 2, 3])
    >>> data.state_names, data.codes.tolist(), data.weights.tolist()
    ((('a', 'b'),), [[0], [1]], [2.0, 4.0])
    >>> survey = pd.DataFrame({"answer": ["yes", "no", "no"], "w": [0.5, 0.5, 1.0]})
    >>> encode(survey, sample_weight="w")
    CategoricalData(3 rows, 2 distinct, 1 column, sampling weights, effective number of rows 2.667)
    >>> encode(np.array([[1], [2], [99]]), missing=99).state_names
    ((1, 2),)
    >>> encode(np.array([["b"], ["c"]]), state_names={0: ["a", "b"]})
    Traceback (most recent call last):
    pgmpy_latent.exceptions.UnseenCategoryError: column 0 holds 'c' (1 row), not among its states 'a', 'b'...
    """
    if unseen not in ("error", "missing"):
        raise ValueError(f"unseen={unseen!r} is not known; use 'error' or 'missing'")
    check_kind(weight_kind)
    hidden = tuple(hidden)
    data = X if isinstance(X, CategoricalData) else None
    has_weights = data is not None and data.weight_kind is not None
    check_kind_has_weights(weight_kind, has_weights or sample_weight is not None)
    reweighted = not (sample_weight is None and strata is None and cluster is None)
    if data is not None and not reweighted:
        _check_same_kind(data, weight_kind)
        if state_names is None and columns is None and not hidden and not missing and not numeric:
            return data
    source = open_source(X)
    used: list[Hashable] = []
    design: RowDesign | None = None  # stays None if data that were encoded before keep their weights
    weights: np.ndarray | None
    if data is None:
        design, used = read_design(source, sample_weight, strata, cluster)
        weights = design.weights
    elif reweighted:
        design = _design_of_encoded(data, sample_weight, strata, cluster)
        weights = _weights_of_distinct_rows(data, design)
    else:
        weights = data.weights
    names = wanted_columns(source, columns if columns is not None else _others(source, used), hidden)
    before = () if data is None else data.missing
    missing_codes = _codes_in_use(missing, source.names, names, before)
    positive = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    seen_codes: SeenCodes = set()
    known_states = given_states(state_names, names)
    numbers = _Numbers({name: kind for name, kind in (numeric or {}).items() if name in names}, data)
    if numbers:
        known_states = {name: states for name, states in known_states.items() if name not in numbers}
        settled = None if missing is None else settled_columns(missing, before, names)
        source = numbers.source(source, missing_codes, settled)
    by_name = {name: codes for name, codes in missing_codes.items() if name not in numbers}
    states, codes = code_columns(source, names, known_states, positive, unseen, by_name, seen_codes)
    if not numbers:
        warn_of_absent_codes(missing, seen_codes, dict(zip(names, states, strict=True)), before)
    cards = [len(column_states) for column_states in states]
    groups, distinct = distinct_rows(codes, cards)
    place = _row_index(groups, positive, source.n_rows)
    row_index = (
        place if data is None or data.row_index is None else np.append(place, place.dtype.type(-1))[data.row_index]
    )
    if design is None:  # the weights of data that were encoded before
        assert data is not None
        assert weights is not None
        kind, merged = data.weight_kind, None if data.design is None else data.design.with_rows(place)
        summed = np.bincount(groups, weights if positive is None else weights[positive], minlength=len(distinct))
    else:
        counted = _rows_that_count(row_index, design)
        rows = (design, row_index) if counted is None else (design.take(counted), row_index[counted])
        kind, summed, merged = _merged(rows[0], weight_kind, rows[1], cards, len(distinct))
    summed = summed.astype(np.float64, copy=False)
    for array in (distinct, summed, row_index):
        array.flags.writeable = False
    states = [
        numbers.features(name, distinct[:, at], summed) if name in numbers else states[at]
        for at, name in enumerate(names)
    ]
    values = numbers.values
    return CategoricalData(
        names, states, distinct, summed, row_index, kind, merged, missing=missing_codes, values=values
    )


class _Numbers:
    """The numeric columns of a table while it is read: those that are asked for, and those of data encoded before."""

    def __init__(self, asked: Mapping[Hashable, NumericKind | Emission], data: CategoricalData | None):
        before = {} if data is None else {
            name: emission_of_states(states) for name, states in zip(data.columns, data.state_names, strict=True)
        }  # fmt: skip
        absent = [name for name in asked if data is not None and name not in data.values]
        if absent:
            raise DataError(f"column {absent[0]!r} was encoded as categories before; encode the table itself")
        self.kinds: dict[Hashable, NumericKind | Emission] = {
            name: known for name, known in before.items() if known is not None
        }
        self.kinds |= asked
        self.values: dict[Hashable, np.ndarray] = {} if data is None else dict(data.values)

    def __contains__(self, name: Hashable) -> bool:
        return name in self.kinds

    def __bool__(self) -> bool:
        return bool(self.kinds)

    def source(self, source: Source, missing: CodesByColumn, settled: Sequence[Hashable] | None) -> Source:
        """Return a source whose numeric columns have one level per value."""
        if self.values:  # of data that were encoded before, whose columns have their codes
            return source

        def read(positions: Sequence[int], rows: np.ndarray | None) -> Iterator[Column]:
            others = source.read([at for at in positions if source.names[at] not in self], rows)
            for at in positions:
                name = source.names[at]
                if name not in self:
                    yield next(others)
                    continue
                kind = self.kinds[name]
                codes = missing.get(name, () if name in (settled or ()) else None)
                self.values[name], places = read_numbers(name, source, kind, rows, codes)
                yield Column(places, [None] * len(self.values[name]), settled=True)

        return source._replace(read=read)

    def features(self, name: Hashable, codes: np.ndarray, weights: np.ndarray) -> tuple[Feature, ...]:
        """Return the features of a column, by the weights of its values unless they are known."""
        kind, values = self.kinds[name], self.values[name]
        if isinstance(kind, Emission):
            return kind.features
        seen = codes >= 0
        return emission_for(name, kind, values, np.bincount(codes[seen], weights[seen], len(values))).features


def _others(source: Source, used: list[Hashable]) -> list[Hashable] | None:
    """Return the columns other than those of weights, strata and clusters; None stands for all."""
    return [name for name in source.names if name not in used] if used else None


def _rows_that_count(row_index: np.ndarray, design: RowDesign) -> np.ndarray | None:
    """Return the rows of positive weight; None stands for all."""
    counts = row_index >= 0 if design.weights is None else (row_index >= 0) & (design.weights > 0)
    return None if counts.all() else np.flatnonzero(counts)


def _codes_in_use(missing, known: Sequence[Hashable], names: Sequence[Hashable], before: tuple) -> CodesByColumn:
    """Return the codes for missing cells of the columns in use, with those of data that were encoded before."""
    codes = joined(dict(before), codes_by_column(missing, known))
    return {name: codes[name] for name in names if name in codes}


def column_names(X) -> list[Hashable]:
    """Return the names of the columns of a table, as :func:`encode` knows them.

    Examples
    --------
    >>> column_names(np.eye(2)), column_names(pd.DataFrame({"x": [1]}))
    ([0, 1], ['x'])
    """
    return open_source(X).names


def decode(codes, states: Sequence[Hashable], dtype=None) -> pd.Series:
    """Turn the codes of one column back into a pandas column of its states.

    The default dtype loses nothing: integers and booleans become nullable if a cell is missing.

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
    if kinds == {int} and all(isinstance(state, int) and -(2**63) <= state < 2**63 for state in states):
        return "Int64" if missing else "int64"
    if kinds == {float}:
        return "float64"
    return pd.Series([""]).dtype if kinds == {str} else object  # what this pandas makes of strings


# --- Codes ------------------------------------------------------------------------------------------------


def open_source(X) -> Source:
    """Return the source that reads the columns of any table; the rows of CategoricalData are its distinct rows."""
    return _open_encoded(X) if isinstance(X, CategoricalData) else open_table(X)


def _open_encoded(data: CategoricalData) -> Source:
    copies = None
    if data.row_index is not None:
        copies = np.bincount(data.row_index[data.row_index >= 0], minlength=data.n_distinct)

    def read(positions: Sequence[int], rows: np.ndarray | None) -> Iterator[Column]:
        for i in positions:
            codes, values = data.codes[:, i], data.values.get(data.columns[i])
            levels = list(data.state_names[i]) if values is None else [None] * len(values)
            yield Column(codes if rows is None else codes[rows], levels, settled=True)

    return Source(list(data.columns), data.n_distinct, read, copies)


def code_columns(
    source: Source,
    names: tuple[Hashable, ...],
    known_states: Mapping[Hashable, list],
    rows: np.ndarray | None,
    unseen: Unseen,
    missing: CodesByColumn | None = None,
    seen_codes: SeenCodes | None = None,
) -> tuple[list, np.ndarray]:
    """Return the states of every column and the codes, a row per column so that columns are contiguous.

    Only some rows are read unless ``rows`` is None. Codes for missing cells that occur are added to ``seen_codes``.
    """
    position = {name: i for i, name in enumerate(source.names)}
    codes = np.empty((len(names), source.n_rows if rows is None else len(rows)), np.int8)
    copies = source.copies if rows is None or source.copies is None else source.copies[rows]
    all_states, unseen_values = [], []
    columns = source.read([position[name] for name in names], rows)
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        if missing and name in missing:
            column = without_codes(name, column, missing[name], known_states.get(name), seen_codes)
        states, lookup = place(column, known_states.get(name))
        if len(states) - 1 > np.iinfo(codes.dtype).max:
            codes = codes.astype(code_dtype(len(states)))
        codes[i] = column.codes if lookup is None else lookup.astype(codes.dtype)[column.codes]
        if lookup is not None and name in known_states:
            unseen_values += find_unseen(name, column, lookup, states, copies)
        elif not column.settled and (codes[i] < 0).all():
            raise DataError(f"column {name!r} is all missing; drop it, declare it hidden or give its state_names")
        all_states.append(states)
    report_unseen(unseen_values, unseen)
    return all_states, codes


def uniform_by_key(row_keys: np.ndarray, salt: np.uint64) -> np.ndarray:
    """Return a number between 0 and 1 for every row, as if drawn at random, that its key and the salt fix.

    Examples
    --------
    >>> uniform_by_key(np.array([1, 2, 1], np.uint64), np.uint64(7)).round(3).tolist()
    [0.818, 0.714, 0.818]
    """
    keys = row_keys ^ salt  # scrambled by the finaliser of splitmix64
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    keys ^= keys >> np.uint64(31)
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54


def _hash64(*values: Hashable) -> int:
    text = repr([identity(plain(value)) for value in values])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


# --- Weights ----------------------------------------------------------------------------------------------


def _design_of_encoded(data: CategoricalData, sample_weight, strata, cluster) -> RowDesign:
    """Return new weights, strata and clusters for the rows of a table that is encoded already."""
    if any(map(names_column, (sample_weight, strata, cluster))):
        raise WeightError(
            "sample_weight, strata and cluster of CategoricalData are values, one per row: its columns hold categories "
            "alone. To name columns, encode the table itself."
        )
    n_rows = data.n_distinct if data.row_index is None else len(data.row_index)
    design, _ = read_design(Source([], n_rows, lambda positions, kept: iter(())), sample_weight, strata, cluster)
    if data.row_index is None:
        return design
    if design.weights is None:
        if data.weight_kind is not None:
            raise WeightError(
                "strata and cluster of CategoricalData that was encoded with weights need sample_weight, as the "
                "weights of single rows were merged; give it, too, or encode the table itself with strata and cluster"
            )
        return design
    lost = np.flatnonzero((data.row_index < 0) & (design.weights > 0))
    if len(lost):
        raise WeightError(
            f"sample_weight is positive in row {lost[0]}, which was left out with weight zero when the table "
            "was encoded; encode the table anew"
        )
    return design


def _check_same_kind(data: CategoricalData, weight_kind: WeightKind | None) -> None:
    if weight_kind is not None and data.weight_kind not in (None, weight_kind):
        raise WeightError(
            f"weight_kind is {weight_kind!r}, but this table was encoded with {data.weight_kind} weights; encode the "
            "table itself with the kind that is right"
        )


def _weights_of_distinct_rows(data: CategoricalData, design: RowDesign) -> np.ndarray | None:
    """Return the new weights of the distinct rows of data that were encoded before; None if all are one."""
    if data.row_index is None or design.weights is None:
        return design.weights
    here = data.row_index >= 0
    return np.bincount(data.row_index[here], design.weights[here], minlength=data.n_distinct)


def _merged(
    design: RowDesign, weight_kind: WeightKind | None, groups: np.ndarray, cards: list[int], n_distinct: int
) -> tuple:
    """Return the kind of the weights, the weights of the distinct rows, and the design if single rows matter.

    Sampling weights are scaled to sum to Kish's effective number of rows, over rows before equal rows are merged.
    """
    if design.is_plain:
        return None, np.bincount(groups, minlength=n_distinct).astype(np.float64), None
    weights = np.ones(len(groups)) if design.weights is None else design.weights
    kind = None if design.weights is None else kind_of(weight_kind, are_whole(weights))
    if weight_kind is None and design.weights is not None:
        has_units = design.strata is not None or design.clusters is not None
        warn_if_doubtful(kind, cards, len(groups), n_distinct, float(weights.mean()), has_units)
    if kind == "sampling":
        merged = Design.of_rows(groups, weights, None, design.strata, design.clusters).on_kish_scale()
        return kind, merged.row_weights(n_distinct), merged
    summed = np.bincount(groups, weights, minlength=n_distinct).astype(np.float64, copy=False)
    if design.strata is None and design.clusters is None:
        return kind, summed, None
    return kind, summed, Design.of_rows(groups, np.ones(len(groups)), weights, design.strata, design.clusters)


# --- Distinct rows ----------------------------------------------------------------------------------------


def distinct_rows(codes: np.ndarray, cards: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct row of every row, and the distinct rows; ``codes`` has a row per column."""
    groups, n_distinct = _rank_rows(codes, cards)
    member = np.empty(n_distinct, np.intp)
    member[groups] = np.arange(len(groups))  # any row of a group: they are equal
    if 4 * n_distinct < len(groups):
        return groups, _transposed(codes.take(member, axis=1))
    return groups, _transposed(codes).take(member, axis=0)  # copies whole rows, which suits the cache


def _transposed(codes: np.ndarray) -> np.ndarray:
    """Return a contiguous transposed array; copied in blocks, which fit into the cache."""
    rows = np.empty(codes.shape[::-1], codes.dtype)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        rows[block] = codes[:, block].T
    return rows


def _row_index(groups: np.ndarray, rows: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return the group of every row of the source, -1 for rows that were left out; None: all were read."""
    index: np.ndarray = np.full(n_rows, -1, _index_dtype(n_rows))
    index[slice(None) if rows is None else rows] = groups
    return index


def _rank_rows(codes: np.ndarray, cards: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return the rank of every row among the distinct rows, in lexicographic order, and their number.

    Rows are numbers whose digits are the codes. When the numbers grow too large, ranks replace them, which keeps the
    order of the columns read so far.
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
