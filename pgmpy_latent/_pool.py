"""Pieces of a table, each read by itself, and the pool of distinct rows that they are thrown into."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pgmpy_latent._columns import Column, Source, given_states, identity, open_table, settled_levels, wanted_columns
from pgmpy_latent._sources import table_of
from pgmpy_latent.data import CategoricalData, checked_weights, code_columns, code_dtype, distinct_rows
from pgmpy_latent.exceptions import DataError, WeightError

#: Distinct rows that are collected before those that are equal are joined; more than twice those there are already.
POOL_ROWS = 1_000_000
#: What a distinct row takes at most while a table is read and a tree is fitted: bytes per cell, and beside them.
BYTES_PER_CELL, BYTES_PER_ROW = 12, 80


@dataclass(frozen=True)
class Piece:
    """The distinct rows of a chunk: codes are positions in its own levels."""

    label: str
    names: tuple
    levels: list[list]
    occurring: list[np.ndarray]  # positions of the levels that do
    settled: list[bool]
    codes: np.ndarray  # a row per column
    weights: np.ndarray
    n_rows: int  # of positive weight
    total_weight: float


@dataclass(frozen=True)
class Reading:
    """How a piece of a table is read by itself.

    Attributes
    ----------
    weights : column name or None
        The column that holds weights.
    columns : tuple or None
        Which columns are read; all others by default.
    """

    weights: Hashable | None
    columns: tuple | None

    def check_weights_name(self) -> None:
        """Raise unless the weights are named by their column."""
        try:
            hash(self.weights)
            named = not hasattr(self.weights, "to_delayed")  # a Series of Dask's has a hash
        except TypeError:
            named = False
        if not named:
            raise WeightError(
                f"sample_weight is a {type(self.weights).__name__}; of a table in pieces, give the name of the column "
                "that holds the weights"
            )

    def read_held(self, held, label: str, rows: bool) -> Piece:
        """Encode a part; without its rows if only its categories are wanted."""
        return self.read(table_of(held), label, rows)

    def read(self, table, label: str, rows: bool = True) -> Piece:
        """Encode one chunk by itself."""
        source = open_table(table)
        names = self._names(source, label)
        weights = self._weights_of(source, label) if source.n_rows else np.empty(0)
        kept = None if weights is None or (len(weights) and weights.all()) else np.flatnonzero(weights)
        n_rows = source.n_rows if kept is None else len(kept)
        if not n_rows:
            nothing = [[] for _ in names]
            none = [np.empty(0, np.int64) for _ in names]
            return Piece(label, names, nothing, none, [False] * len(names), *_no_rows(len(names)), 0, 0.0)
        weights = weights if weights is None or kept is None else weights[kept]
        total = float(n_rows if weights is None else weights.sum())
        levels, occurring, settled, codes = [], [], [], np.empty((len(names), n_rows if rows else 0), np.int8)
        positions = {name: at for at, name in enumerate(source.names)}
        for at, column in enumerate(source.read([positions[name] for name in names], kept)):
            levels.append(column.levels)
            settled.append(column.settled)
            occurring.append(_occurring(column))
            if rows:
                codes = codes.astype(np.promote_types(codes.dtype, code_dtype(len(column.levels))), copy=False)
                codes[at] = column.codes
        if not rows:
            return Piece(label, names, levels, occurring, settled, *_no_rows(len(names)), n_rows, total)
        groups, distinct = distinct_rows(codes, [max(1, len(own)) for own in levels])
        summed = np.bincount(groups, weights, minlength=len(distinct)).astype(np.float64, copy=False)
        return Piece(label, names, levels, occurring, settled, distinct.T, summed, n_rows, total)

    def _names(self, source: Source, label: str) -> tuple:
        wanted = self.columns
        if wanted is None:
            wanted = tuple(name for name in source.names if self.weights is None or name != self.weights)
        if not source.n_rows:  # an empty chunk is no mistake
            source = source._replace(n_rows=1)
        try:
            return wanted_columns(source, wanted, ())
        except DataError as error:
            raise DataError(f"{label}: {error}") from None

    def _weights_of(self, source: Source, label: str) -> np.ndarray | None:
        if self.weights is None:
            return None
        if self.weights not in source.names:
            raise WeightError(f"{label} has no column {self.weights!r}, which sample_weight names")
        (column,) = source.read([source.names.index(self.weights)], None)
        values = np.array([*column.levels, np.nan], dtype=object)[column.codes]
        try:
            return checked_weights(values, source.n_rows, all_zero=True)
        except WeightError as error:
            raise WeightError(f"{label}, column {self.weights!r}: {error}") from None


def _no_rows(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty((n_columns, 0), np.int8), np.empty(0)


def _occurring(column: Column) -> np.ndarray:
    """Return which levels of a column occur; those of Categoricals need not."""
    if not column.settled:
        return np.arange(len(column.levels))
    return np.flatnonzero(np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels)))


# --- The distinct rows so far -----------------------------------------------------------------------------


@dataclass
class Book:
    """The values of a column so far, in the order in which they appeared."""

    levels: list = field(default_factory=list)
    position: dict = field(default_factory=dict)
    occurring: set = field(default_factory=set)
    kinds: set = field(default_factory=set)
    singles: dict[float, float] = field(default_factory=dict)  # numbers by what they are in single precision
    settled: bool | None = None

    def places(self, levels: list) -> np.ndarray:
        """Return where the values of a chunk stand; those that are new are added."""
        for value in levels:
            if self.position.setdefault(identity(value), len(self.levels)) == len(self.levels):
                self.levels.append(value)
                self.kinds.add(identity(value)[0])
        self.singles |= {_single(value): value for value in levels if _has_fraction(value)}
        return np.array([*(self.position[identity(value)] for value in levels), -1], np.int64)  # -1 finds the last

    def twin(self, levels: list) -> tuple | None:
        """Return a number of a chunk and another one so far of which one is the other in single precision."""
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
    """Distinct rows with weights, joined again whenever they have doubled; dropped once they are too many."""

    def __init__(self, memory_limit: float | None):
        self.memory_limit = memory_limit
        self.books: list[Book] = []
        self.names: tuple | None = None
        self.most_rows = np.inf
        self.full = False
        self.part_rows: list[int] = []
        self.total_weight = 0.0
        self._first = ""
        self._codes: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._size, self._joined_size = 0, 0

    def add(self, piece: Piece) -> None:
        """Take in the distinct rows of a chunk."""
        if self.names is None:
            self.names, self._first = piece.names, piece.label
            self.books = [Book() for _ in piece.names]
            if self.memory_limit is not None:
                self.most_rows = self.memory_limit / (BYTES_PER_CELL * len(self.names) + BYTES_PER_ROW)
        self._check_columns(piece)
        places = []
        for book, levels, occurring, settled in zip(
            self.books, piece.levels, piece.occurring, piece.settled, strict=True
        ):
            places.append(book.places(levels))
            book.occurring.update(places[-1][occurring].tolist())
            if levels:
                book.settled = settled if book.settled is None else book.settled and settled
        self.part_rows.append(piece.n_rows)
        self.total_weight += piece.total_weight
        if not self.full and piece.codes.shape[1]:
            self._add_rows(piece, places)

    def _add_rows(self, piece: Piece, places: list[np.ndarray]) -> None:
        codes = np.empty(piece.codes.shape, code_dtype(max(len(book.levels) for book in self.books)))
        for at, place in enumerate(places):
            codes[at] = place[piece.codes[at]]
        self._codes.append(codes)
        self._weights.append(piece.weights)
        self._size += codes.shape[1]
        if self._size > min(max(POOL_ROWS, 2 * self._joined_size), 2 * self.most_rows):
            self.join()

    def _check_columns(self, piece: Piece) -> None:
        if piece.names != self.names:
            odd = sorted({*piece.names} ^ {*self.names}, key=str)
            words = f"differs in {', '.join(map(repr, odd[:5]))}" if odd else "has them in another order"
            raise DataError(f"{piece.label} has other columns than {self._first}: it {words}")
        for name, book, levels in zip(self.names, self.books, piece.levels, strict=True):
            if levels and book.levels and book.kinds.isdisjoint(identity(value)[0] for value in levels):
                raise DataError(
                    f"column {name!r} holds {levels[0]!r} in {piece.label} and {book.levels[0]!r} before; "
                    "give it the same type in all chunks"
                )
            if twin := book.twin(levels):
                raise DataError(
                    f"column {name!r} holds {twin[0]!r} in {piece.label} and {twin[1]!r} before, the same number in "
                    "single precision; give it the same type in all chunks"
                )

    def join(self) -> None:
        """Join rows that are equal; if too many are left, drop them."""
        if not self._size:
            return
        codes = np.concatenate(self._codes, axis=1)
        self._codes = []
        groups, distinct = distinct_rows(codes, [max(1, len(book.levels)) for book in self.books])
        summed = np.bincount(groups, np.concatenate(self._weights), minlength=len(distinct))
        self._codes, self._weights = [np.ascontiguousarray(distinct.T)], [summed]
        self._size = self._joined_size = len(distinct)
        if len(distinct) > self.most_rows:
            self.full, self._size, self._codes, self._weights = True, 0, [], []

    def finish(self, state_names, unseen: str) -> CategoricalData:
        """Put the states in order."""
        if self.names is None:
            raise DataError("there are no chunks; give at least one table")
        if not self._size:
            raise WeightError(
                "there are no rows, or all rows of all chunks have weight zero; give at least one row a positive weight"
            )
        self.join()
        (codes,), (weights,) = self._codes, self._weights
        states, placed = self._coded(codes, state_names, unseen)
        groups, distinct = distinct_rows(placed, [len(own) for own in states])
        return CategoricalData(self.names, states, distinct, np.bincount(groups, weights, minlength=len(distinct)))

    def states(self, state_names) -> tuple:
        """Return the states of every column in order, without looking at rows."""
        most = max(1, *(len(book.occurring) for book in self.books))
        codes = np.full((len(self.books), most), -1)
        for row, book in zip(codes, self.books, strict=True):
            row[: len(book.occurring)] = sorted(book.occurring)
        states, _ = self._coded(codes, state_names, "error")
        return tuple(map(tuple, states))

    def _coded(self, codes: np.ndarray, state_names, unseen: str) -> tuple[list, np.ndarray]:
        levels = [settled_levels(name, book.levels) for name, book in zip(self.names, self.books, strict=True)]

        def read(positions: Sequence[int], kept) -> Iterator[Column]:
            for at in positions:
                yield Column(codes[at], levels[at], settled=bool(self.books[at].settled))

        source = Source(list(self.names), codes.shape[1], read)
        return code_columns(source, self.names, given_states(state_names, self.names), None, unseen)
