"""Chunks of a table, each encoded by itself, and the pool that collects their distinct rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pgmpy_latent.exceptions import DataError, WeightError
from pgmpy_latent.model.labels import identity
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.tables.columns import Column, Source, given_states, open_table, settled_levels, wanted_columns
from pgmpy_latent.tables.encode import CategoricalData, code_columns, code_dtype, distinct_rows
from pgmpy_latent.tables.large_tables import table_of
from pgmpy_latent.tables.missing_codes import SeenCodes, codes_by_column, without_codes
from pgmpy_latent.tables.survey import (
    Design,
    WeightKind,
    are_whole,
    check_kind,
    check_kind_has_weights,
    checked_weights,
    kind_of,
    names_column,
    refuse_one_column_twice,
    warn_if_doubtful,
)
from pgmpy_latent.tables.unseen import Unseen

#: Rows that the pool collects before it merges equal ones; at least twice as many as were left the last time.
POOL_ROWS = 1_000_000
#: Most bytes that a distinct row takes while a table is read and a tree is fitted: per cell, and in addition.
BYTES_PER_CELL, BYTES_PER_ROW = 12, 80
#: Most bytes that a single weight takes, if weights may be sampling weights.
BYTES_PER_ENTRY = 64
#: Most categories of a column of a table that does not fit into memory; they are all held there.
MOST_CATEGORIES = 100_000


@dataclass(frozen=True)
class ChunkRows:
    """The distinct rows of a chunk: codes are positions in its own levels."""

    label: str
    names: tuple[Hashable, ...]
    levels: list[list]
    occurring: list[np.ndarray]  # positions of the levels that occur
    settled: list[bool]
    codes: np.ndarray  # a row per column
    weights: np.ndarray
    n_rows: int  # of positive weight
    sums: WeightSums
    entries: Entries | None = None  # single weights, where these may be sampling weights
    seen_codes: SeenCodes = field(default_factory=set)  # values that count as missing, and occur


@dataclass(frozen=True)
class WeightSums:
    """Sums of weights and of their squares, and whether all weights are whole numbers.

    Sums are of weights divided by ``largest``, so that squares cannot overflow.
    """

    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    whole: bool = True

    @classmethod
    def of(cls, weights: np.ndarray) -> WeightSums:
        """Return the sums of some positive weights."""
        largest = float(weights.max())
        share = weights / largest
        return cls(largest, float(share.sum()), float(share @ share), are_whole(weights))

    def __add__(self, other: WeightSums) -> WeightSums:
        largest = max(self.largest, other.largest)
        if largest == 0:
            return self
        left, right = self.largest / largest, other.largest / largest
        total, squares = self.total * left + other.total * right, self.squares * left**2 + other.squares * right**2
        return WeightSums(largest, total, squares, self.whole and other.whole)

    @property
    def kish_scale(self) -> float:
        """Factor that makes the weights sum to Kish's effective number of rows."""
        return self.total / self.squares / self.largest


@dataclass(frozen=True)
class Entries:
    """Single weights of rows: ``count`` rows equal the distinct row ``row`` and have the same weight."""

    row: np.ndarray
    weight: np.ndarray
    count: np.ndarray

    @classmethod
    def merged(cls, row: np.ndarray, weight: np.ndarray, count: np.ndarray | None = None) -> Entries:
        """Return the entries of rows; equal ones are merged."""
        design = Design.of_rows(row, weight, count)
        return cls(design.row, design.weight, design.count)


@dataclass(frozen=True)
class Reading:
    """How the chunks of a table are read.

    Attributes
    ----------
    weights : column name or None
        The column that holds weights.
    columns : tuple or None
        Which columns are read; all others by default.
    weight_kind : str or None
        Kind of the weights, if the caller states it.
    strata, cluster : column names or None
        The columns that hold strata and clusters. They are read after the others.
    missing : value, values, or dict of column to either, optional
        Values that count as missing cells.
    """

    weights: Hashable | None
    columns: tuple[Hashable, ...] | None
    weight_kind: WeightKind | None = None
    strata: Hashable | None = None
    cluster: Hashable | None = None
    missing: object = None

    @property
    def units(self) -> tuple[Hashable, ...]:
        """Names of the columns that hold strata and clusters, if there are any."""
        return tuple(name for name in (self.strata, self.cluster) if name is not None)

    @property
    def aside(self) -> tuple[Hashable, ...]:
        """Names of the columns that hold weights, strata and clusters."""
        return self.units if self.weights is None else (*self.units, self.weights)

    def check_names(self) -> None:
        """Raise unless weights, strata and clusters are named by their columns."""
        check_kind(self.weight_kind)
        check_kind_has_weights(self.weight_kind, self.weights is not None)
        for what, value in (("sample_weight", self.weights), ("strata", self.strata), ("cluster", self.cluster)):
            if value is not None and not names_column(value, [value]):
                raise (WeightError if what == "sample_weight" else DataError)(
                    f"{what} is {kind_in_words(value)}; of a table in pieces, give the name of the column that holds "
                    f"{'the weights' if what == 'sample_weight' else 'it'}"
                )
        refuse_one_column_twice(self.aside)

    def read_part(self, content, label: str, rows: bool) -> ChunkRows:
        """Encode a part of a source; without its rows if only the categories are wanted."""
        return self.read(table_of(content), label, rows)

    def read(self, table, label: str, rows: bool = True) -> ChunkRows:
        """Encode one chunk by itself."""
        source = open_table(table)
        names = self._names(source, label)
        weights = self._weights_of(source, label) if source.n_rows else np.empty(0)
        positive = None if weights is None or (len(weights) and weights.all()) else np.flatnonzero(weights)
        n_rows = source.n_rows if positive is None else len(positive)
        if not n_rows:
            no_levels: list[list] = [[] for _ in names]
            none_occurs = [np.empty(0, np.int64) for _ in names]
            unsettled = [False] * len(names)
            return ChunkRows(label, names, no_levels, none_occurs, unsettled, *_no_rows(len(names)), 0, WeightSums())
        weights = weights if weights is None or positive is None else weights[positive]
        sums = WeightSums(1.0, float(n_rows), float(n_rows)) if weights is None else WeightSums.of(weights)
        levels, occurring, settled = [], [], []
        codes: np.ndarray = np.empty((len(names), n_rows if rows else 0), np.int8)
        positions = {name: at for at, name in enumerate(source.names)}
        missing = codes_by_column(self.missing, source.names)
        seen_codes: SeenCodes = set()
        for at, column in enumerate(source.read([positions[name] for name in names], positive)):
            if at < len(names) - len(self.units) and names[at] in missing:
                column = without_codes(names[at], column, missing[names[at]], seen_codes=seen_codes)
            levels.append(column.levels)
            settled.append(column.settled)
            occurring.append(_occurring(column))
            if at >= len(names) - len(self.units) and (column.codes < 0).any():
                raise DataError(f"{label}: column {names[at]!r}, which strata or cluster names, has missing cells")
            if rows:
                codes = codes.astype(np.promote_types(codes.dtype, code_dtype(len(column.levels))), copy=False)
                codes[at] = column.codes
        if not rows:
            return ChunkRows(
                label, names, levels, occurring, settled, *_no_rows(len(names)), n_rows, sums, seen_codes=seen_codes
            )
        groups, distinct = distinct_rows(codes, [max(1, len(column_levels)) for column_levels in levels])
        summed = np.bincount(groups, weights, minlength=len(distinct)).astype(np.float64, copy=False)
        single = None if weights is None or self.weight_kind == "frequency" else Entries.merged(groups, weights)
        return ChunkRows(label, names, levels, occurring, settled, distinct.T, summed, n_rows, sums, single, seen_codes)

    def _names(self, source: Source, label: str) -> tuple:
        wanted = self.columns
        if wanted is None:
            wanted = tuple(name for name in source.names if name not in self.aside)
        if not source.n_rows:  # an empty chunk is not an error
            source = source._replace(n_rows=1)
        try:
            units = wanted_columns(source, self.units, ()) if self.units else ()
            return (*wanted_columns(source, wanted, ()), *units)
        except DataError as error:
            raise DataError(f"{label}: {error}") from None

    def _weights_of(self, source: Source, label: str) -> np.ndarray | None:
        if self.weights is None:
            return None
        if self.weights not in source.names:
            raise WeightError(f"{label} has no column {self.weights!r}, which sample_weight names")
        try:
            return checked_weights(source.values(source.names.index(self.weights)), source.n_rows, all_zero=True)
        except WeightError as error:
            raise WeightError(f"{label}, column {self.weights!r}: {error}") from None


def _no_rows(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty((n_columns, 0), np.int8), np.empty(0)


def _occurring(column: Column) -> np.ndarray:
    """Return which levels of a column occur; categories of a Categorical need not."""
    if not column.settled:
        return np.arange(len(column.levels))
    return np.flatnonzero(np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels)))


# --- The pool ---------------------------------------------------------------------------------------------


@dataclass
class Categories:
    """The values of a column so far, in the order in which they appeared."""

    levels: list = field(default_factory=list)
    position: dict = field(default_factory=dict)
    occurring: set = field(default_factory=set)
    kinds: set = field(default_factory=set)
    singles: dict[float, float] = field(default_factory=dict)  # single precision -> number
    settled: bool | None = None

    def places(self, levels: list) -> np.ndarray:
        """Return the positions of the values of a chunk; new ones are added."""
        for value in levels:
            if self.position.setdefault(identity(value), len(self.levels)) == len(self.levels):
                self.levels.append(value)
                self.kinds.add(identity(value)[0])
        self.singles |= {_single(value): value for value in levels if _has_fraction(value)}
        return np.array([*(self.position[identity(value)] for value in levels), -1], np.int64)  # -1 finds the last

    def twin(self, levels: list) -> tuple | None:
        """Return a number of a chunk, and a different one so far, if one is the other in single precision."""
        for value in levels if self.singles else ():
            before = self.singles.get(_single(value), value) if _has_fraction(value) else value
            if before != value and _single(value) in (before, value):
                return value, before
        return None


def _has_fraction(value) -> bool:
    return isinstance(value, float) and np.isfinite(value) and not value.is_integer()


def _single(value: float) -> float:
    """Return a number as it is in single precision."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


class Pool:
    """Collects the distinct rows of chunks and their weights; drops the rows once they are too many.

    Equal rows are merged whenever their number has doubled.
    """

    def __init__(self, memory_limit: float | None):
        self.memory_limit = memory_limit
        self.categories: list[Categories] = []
        self.names: tuple[Hashable, ...] = ()
        self.most_rows = np.inf
        self.full = False
        self.part_rows: list[int] = []
        self.sums = WeightSums()
        self.seen_codes: SeenCodes = set()
        self._first = ""
        self._codes: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._entries: list[Entries] = []  # of which rows are positions among all that were added
        self._size, self._joined_size = 0, 0

    def add(self, chunk: ChunkRows) -> None:
        """Add the distinct rows of a chunk."""
        if not self.part_rows:
            self.names, self._first = chunk.names, chunk.label
            self.categories = [Categories() for _ in chunk.names]
            if self.memory_limit is not None:
                self.most_rows = self.memory_limit / (BYTES_PER_CELL * len(self.names) + BYTES_PER_ROW)
        self._check_columns(chunk)
        places = []
        for values, levels, occurring, settled in zip(
            self.categories, chunk.levels, chunk.occurring, chunk.settled, strict=True
        ):
            places.append(values.places(levels))
            values.occurring.update(places[-1][occurring].tolist())
            if levels:
                values.settled = settled if values.settled is None else values.settled and settled
        self.part_rows.append(chunk.n_rows)
        self.sums += chunk.sums
        self.seen_codes |= chunk.seen_codes
        if not self.full and chunk.codes.shape[1]:
            self._add_rows(chunk, places)

    def _add_rows(self, chunk: ChunkRows, places: list[np.ndarray]) -> None:
        codes: np.ndarray = np.empty(
            chunk.codes.shape, code_dtype(max(len(values.levels) for values in self.categories))
        )
        for at, place in enumerate(places):
            codes[at] = place[chunk.codes[at]]
        self._codes.append(codes)
        self._weights.append(chunk.weights)
        if chunk.entries is not None:
            single = chunk.entries
            self._entries.append(Entries(single.row + self._size, single.weight, single.count))
        self._size += codes.shape[1]
        if self._size > min(max(POOL_ROWS, 2 * self._joined_size), 2 * self.most_rows):
            self.join()

    def _check_columns(self, chunk: ChunkRows) -> None:
        if chunk.names != self.names:
            odd = sorted({*chunk.names} ^ {*self.names}, key=str)
            words = f"differs in {', '.join(map(repr, odd[:5]))}" if odd else "has them in another order"
            raise DataError(f"{chunk.label} has other columns than {self._first}: it {words}")
        for name, values, levels in zip(self.names, self.categories, chunk.levels, strict=True):
            if levels and values.levels and values.kinds.isdisjoint(identity(value)[0] for value in levels):
                raise DataError(
                    f"column {name!r} holds {levels[0]!r} in {chunk.label} and {values.levels[0]!r} before; "
                    "give it the same type in all chunks"
                )
            if twin := values.twin(levels):
                raise DataError(
                    f"column {name!r} holds {twin[0]!r} in {chunk.label} and {twin[1]!r} before, the same number in "
                    "single precision; give it the same type in all chunks"
                )

    def refuse_many_categories(self, n_columns: int) -> None:
        """Raise if one of the first columns has so many categories that they hardly fit into memory either."""
        for name, values in zip(self.names[:n_columns], self.categories, strict=False):
            if len(values.levels) > MOST_CATEGORIES:
                raise DataError(
                    f"column {name!r} has more than {MOST_CATEGORIES:,} categories, as identifiers and exact "
                    "measurements have; drop it or bin it"
                )

    def join(self) -> None:
        """Merge equal rows; drop all of them if too many are left."""
        if not self._size:
            return
        codes = np.concatenate(self._codes, axis=1)
        self._codes = []
        groups, distinct = distinct_rows(codes, [max(1, len(values.levels)) for values in self.categories])
        summed = np.bincount(groups, np.concatenate(self._weights), minlength=len(distinct))
        self._codes, self._weights = [np.ascontiguousarray(distinct.T)], [summed]
        self._size = self._joined_size = len(distinct)
        n_single = 0
        if self._entries:
            row, weight, count = (
                np.concatenate([getattr(part, name) for part in self._entries]) for name in ("row", "weight", "count")
            )
            self._entries = [Entries.merged(groups[row], weight, count)]
            n_single = len(self._entries[0].row)
        if len(distinct) + n_single * self._share_of_entry > self.most_rows:
            self.full, self._size, self._codes, self._weights, self._entries = True, 0, [], [], []

    @property
    def _share_of_entry(self) -> float:
        """Memory of a single weight, as a share of that of a distinct row."""
        return BYTES_PER_ENTRY / (BYTES_PER_CELL * len(self.names) + BYTES_PER_ROW)

    def finish(self, state_names, unseen: Unseen, reading: Reading) -> CategoricalData:
        """Return the table, with the states in order."""
        if not self.part_rows:
            raise DataError("there are no chunks; give at least one table")
        if not self._size:
            raise WeightError(
                "there are no rows, or all rows of all chunks have weight zero; give at least one row a positive weight"
            )
        self.join()
        (codes,), (weights,) = self._codes, self._weights
        n_columns = len(self.names) - len(reading.units)
        states, placed = self._coded(codes[:n_columns], state_names, unseen)
        cards = [len(column_states) for column_states in states]
        groups, distinct = distinct_rows(placed, cards)
        kind = None if reading.weights is None else kind_of(reading.weight_kind, self.sums.whole)
        n_rows = sum(self.part_rows)
        if kind is not None and reading.weight_kind is None:
            warn_if_doubtful(
                kind, cards, n_rows, len(distinct), self.sums.total * self.sums.largest / n_rows, bool(reading.units)
            )
        design = self._design(codes, weights, groups, kind, reading)
        if kind == "sampling" and design is not None:
            design = design.on_kish_scale()
            summed = design.row_weights(len(distinct))
        else:
            summed = np.bincount(groups, weights, minlength=len(distinct))
        return CategoricalData(self.names[:n_columns], states, distinct, summed, None, kind, design, n_rows)

    def _design(
        self, codes: np.ndarray, weights: np.ndarray, groups: np.ndarray, kind: str | None, reading: Reading
    ) -> Design | None:
        """Return the design of the rows, before weights are scaled; None if there are only counts."""
        n_columns = len(self.names) - len(reading.units)
        units = dict(zip(reading.units, codes[n_columns:], strict=True))
        strata, clusters = units.get(reading.strata), units.get(reading.cluster)
        if kind == "sampling":
            (single,) = self._entries
            row, weight, count = single.row, single.weight, single.count
        elif units:
            row, weight, count = np.arange(len(weights)), np.ones(len(weights)), weights
        else:
            return None
        parts = (None if labels is None else labels[row] for labels in (strata, clusters))
        return Design.of_rows(groups[row], weight, count, *parts)

    def states(self, state_names, n_columns: int) -> tuple:
        """Return the states of the first columns, without looking at rows."""
        categories = self.categories[:n_columns]
        most = max(1, *(len(values.occurring) for values in categories))
        codes = np.full((n_columns, most), -1)
        for row, values in zip(codes, categories, strict=True):
            row[: len(values.occurring)] = sorted(values.occurring)
        states, _ = self._coded(codes, state_names, "error")
        return tuple(map(tuple, states))

    def _coded(self, codes: np.ndarray, state_names, unseen: Unseen) -> tuple[list, np.ndarray]:
        names, categories = self.names[: len(codes)], self.categories[: len(codes)]
        levels = [settled_levels(name, values.levels) for name, values in zip(names, categories, strict=True)]

        def read(positions: Sequence[int], rows: np.ndarray | None) -> Iterator[Column]:
            for at in positions:
                yield Column(codes[at], levels[at], settled=bool(categories[at].settled))

        source = Source(list(names), codes.shape[1], read)
        return code_columns(source, names, given_states(state_names, names), None, unseen)
