"""Tables that come in pieces: iterators of frames, Parquet files, Dask frames. Only distinct rows are held."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pgmpy_latent._columns import Column, Source, given_states, identity, open_table, settled_levels, wanted_columns
from pgmpy_latent.data import CategoricalData, checked_weights, code_columns, distinct_rows
from pgmpy_latent.exceptions import DataError, WeightError

#: Rows that are read from a Parquet file at a time.
BATCH_ROWS = 1_000_000
#: Distinct rows that are collected before those that are equal are joined; more than twice those there are already.
POOL_ROWS = 1_000_000


def encode_chunks(
    chunks,
    *,
    sample_weight: Hashable | None = None,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None = None,
    columns: Iterable[Hashable] | None = None,
    unseen: str = "error",
) -> CategoricalData:
    """Read a table that comes in pieces, in one pass; the result is that of :func:`encode` for the whole table.

    Distinct rows and their summed weights are held in memory, not the table. A category may appear in a late piece
    only: states are put in order at the end. Where pieces have Categorical columns, levels that only later pieces have
    come after those of earlier ones.

    Parameters
    ----------
    chunks : iterable of tables, Parquet path, pyarrow Dataset or Dask DataFrame
        Anything that :func:`encode` reads, several times, with the same columns in the same order; a ``.parquet`` file
        or a folder of them; a Dask DataFrame, whose partitions are encoded by its workers.
    sample_weight : column name, optional
        The column that holds weights.
    state_names, columns, unseen
        As in :func:`encode`.

    Returns
    -------
    CategoricalData
        Without ``row_index``: which row was which is not kept.

    Examples
    --------
    >>> import pandas as pd
    >>> whole = pd.DataFrame({"x": list("abac"), "w": [1, 2, 3, 4]})
    >>> data = encode_chunks((whole.iloc[:2], whole.iloc[2:]), sample_weight="w")
    >>> data.state_names, data.weights.tolist()
    ((('a', 'b', 'c'),), [4.0, 2.0, 4.0])
    """
    if unseen not in ("error", "missing"):
        raise ValueError(f"unseen={unseen!r} is not known; use 'error' or 'missing'")
    pool = _Pool(sample_weight, None if columns is None else tuple(columns))
    for piece in _pieces(chunks, pool.read):
        pool.add(piece)
    return pool.finish(state_names, unseen)


def comes_in_pieces(X) -> bool:
    """Tell whether a table is one that :func:`encode_chunks` reads and :func:`encode` does not.

    Examples
    --------
    >>> comes_in_pieces("answers.parquet"), comes_in_pieces([[0, 1]]), comes_in_pieces(iter([[[0, 1]]]))
    (True, False, True)
    """
    return isinstance(X, (str, os.PathLike, Iterator)) or _is_dask(X) or _is_dataset(X)


# --- Where pieces come from -------------------------------------------------------------------------------


def _pieces(chunks, read: Callable) -> Iterator[_Piece]:
    if _is_dask(chunks):
        yield from _from_dask(chunks, read)
        return
    if isinstance(chunks, (str, os.PathLike)) or _is_dataset(chunks):
        chunks = _parquet_batches(chunks)
    if isinstance(chunks, (CategoricalData, Mapping)) or hasattr(chunks, "columns") or not isinstance(chunks, Iterable):
        raise TypeError(f"chunks is a {type(chunks).__name__}; pass an iterable of tables, as [frame], or use encode()")
    for number, table in enumerate(chunks):
        yield read(table, number)


def _is_dask(X) -> bool:
    return type(X).__module__.startswith("dask") and hasattr(X, "to_delayed")


def _is_dataset(X) -> bool:
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "to_batches") and hasattr(X, "scanner")


def _from_dask(frame, read: Callable) -> Iterator[_Piece]:
    """Let Dask's workers encode the partitions, which come back in their order."""
    import dask

    delayed = [dask.delayed(read, pure=True)(part, number) for number, part in enumerate(frame.to_delayed())]
    yield from dask.compute(*delayed)


def _parquet_batches(source) -> Iterator:
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow; install it with pip install pyarrow") from error
    if isinstance(source, (str, os.PathLike)):
        if not Path(source).exists():
            raise FileNotFoundError(f"there is no file or folder {str(source)!r}")
        try:
            source = ds.dataset(str(source), format="parquet")
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{str(source)!r} cannot be read as Parquet: {error}") from None
    for batch in source.to_batches(batch_size=BATCH_ROWS):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


# --- The distinct rows so far -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """The distinct rows of a chunk: codes are positions in its own levels."""

    number: int
    names: tuple
    levels: list[list]
    settled: list[bool]
    codes: np.ndarray  # a row per column
    weights: np.ndarray


@dataclass
class _Book:
    """The values of a column so far, in the order in which they appeared."""

    levels: list = field(default_factory=list)
    position: dict = field(default_factory=dict)
    settled: bool | None = None

    def places(self, levels: list) -> np.ndarray:
        """Return where the values of a chunk stand; those that are new are added."""
        for value in levels:
            if self.position.setdefault(identity(value), len(self.levels)) == len(self.levels):
                self.levels.append(value)
        return np.array([*(self.position[identity(value)] for value in levels), -1], np.int64)  # -1 finds the last


class _Pool:
    """Distinct rows with weights, joined again whenever they have doubled."""

    def __init__(self, weights: Hashable | None, columns: tuple | None):
        self.weights_column, self.columns = weights, columns
        self.books: list[_Book] = []
        self.names: tuple | None = None
        self._codes: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._size, self._joined_size = 0, 0

    def read(self, table, number: int) -> _Piece:
        """Encode one chunk by itself."""
        source = open_table(table)
        names = wanted_columns(source, self._wanted(source), ())
        weights = self._weights_of(source, number)
        kept = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
        if kept is not None and not len(kept):
            nothing = [[] for _ in names]
            return _Piece(number, names, nothing, [False] * len(names), np.empty((len(names), 0), int), np.empty(0))
        positions = {name: at for at, name in enumerate(source.names)}
        read = list(source.read([positions[name] for name in names], kept))
        codes = np.array([column.codes for column in read], dtype=np.int64).reshape(len(names), -1)
        if kept is not None:
            weights = weights[kept]
        groups, distinct = distinct_rows(codes, [max(1, len(column.levels)) for column in read])
        summed = np.bincount(groups, weights, minlength=len(distinct)).astype(np.float64, copy=False)
        settled = [column.settled for column in read]
        return _Piece(number, names, [column.levels for column in read], settled, distinct.T, summed)

    def _wanted(self, source: Source) -> tuple:
        if self.columns is not None:
            return self.columns
        return tuple(name for name in source.names if self.weights_column is None or name != self.weights_column)

    def _weights_of(self, source: Source, number: int) -> np.ndarray | None:
        if self.weights_column is None:
            return None
        if self.weights_column not in source.names:
            raise WeightError(f"chunk {number} has no column {self.weights_column!r}, which sample_weight names")
        (column,) = source.read([source.names.index(self.weights_column)], None)
        values = np.array([*column.levels, np.nan], dtype=object)[column.codes]
        try:
            return checked_weights(values, source.n_rows, all_zero=True)
        except WeightError as error:
            raise WeightError(f"chunk {number}, column {self.weights_column!r}: {error}") from None

    def add(self, piece: _Piece) -> None:
        """Take in the distinct rows of a chunk."""
        if self.names is None:
            self.names = piece.names
            self.books = [_Book() for _ in piece.names]
        self._check_columns(piece)
        codes = np.empty(piece.codes.shape, np.int32)
        for at, (book, levels, settled) in enumerate(zip(self.books, piece.levels, piece.settled, strict=True)):
            codes[at] = book.places(levels)[piece.codes[at]]
            if levels:
                book.settled = settled if book.settled is None else book.settled and settled
        self._codes.append(codes)
        self._weights.append(piece.weights)
        self._size += codes.shape[1]
        if self._size > max(POOL_ROWS, 2 * self._joined_size):
            self._join()

    def _check_columns(self, piece: _Piece) -> None:
        if piece.names != self.names:
            odd = sorted({*piece.names} ^ {*self.names}, key=str)
            words = f"differs in {', '.join(map(repr, odd[:5]))}" if odd else "has them in another order"
            raise DataError(f"chunk {piece.number} has other columns than chunk 0: it {words}")
        for name, book, levels in zip(self.names, self.books, piece.levels, strict=True):
            if levels and book.levels:
                before, now = identity(book.levels[0])[0], identity(levels[0])[0]
                if before != now:
                    raise DataError(
                        f"column {name!r} holds {levels[0]!r} in chunk {piece.number} and {book.levels[0]!r} before; "
                        "give it the same type in all chunks"
                    )

    def _join(self) -> None:
        """Join rows that are equal."""
        codes = np.concatenate(self._codes, axis=1)
        groups, distinct = distinct_rows(codes, [max(1, len(book.levels)) for book in self.books])
        summed = np.bincount(groups, np.concatenate(self._weights), minlength=len(distinct))
        self._codes, self._weights = [np.ascontiguousarray(distinct.T)], [summed]
        self._size = self._joined_size = len(distinct)

    def finish(self, state_names, unseen: str) -> CategoricalData:
        """Put the states in order."""
        if self.names is None:
            raise DataError("there are no chunks; give at least one table")
        if not self._size:
            raise WeightError("all rows of all chunks have weight zero; give at least one row a positive weight")
        self._join()
        (codes,), (weights,) = self._codes, self._weights
        levels = [settled_levels(name, book.levels) for name, book in zip(self.names, self.books, strict=True)]

        def read(positions: Sequence[int], kept) -> Iterator[Column]:
            for at in positions:
                yield Column(codes[at], levels[at], settled=bool(self.books[at].settled))

        source = Source(list(self.names), codes.shape[1], read)
        states, placed = code_columns(source, self.names, given_states(state_names, self.names), None, unseen)
        groups, distinct = distinct_rows(placed, [len(own) for own in states])
        return CategoricalData(self.names, states, distinct, np.bincount(groups, weights, minlength=len(distinct)))
