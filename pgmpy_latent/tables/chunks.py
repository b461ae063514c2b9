"""Tables that come in chunks: iterators of frames, Parquet files, Dask frames. Only distinct rows stay in memory."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pgmpy_latent.exceptions import DataError, MemoryLimitError, WeightError
from pgmpy_latent.model.tree import MissingCodes, pairs_of_codes
from pgmpy_latent.runtime.settings import check_number, kind_in_words
from pgmpy_latent.tables.columns import plain
from pgmpy_latent.tables.distinct_rows import Pool, Reading
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.large_tables import (
    Part,
    active_client,
    batches,
    column_names,
    consecutive,
    in_order,
    is_dask,
    is_dataset,
    opened,
    parts_of,
    table_of,
)
from pgmpy_latent.tables.missing_codes import (
    CodesByColumn,
    CombinedCodes,
    codes_by_column,
    joined,
    warn_of_absent_codes,
)
from pgmpy_latent.tables.survey import WeightKind, kind_of
from pgmpy_latent.tables.unseen import Unseen

#: Default limit of the memory of distinct rows, in bytes.
MEMORY_LIMIT = 4e9


def encode_chunks(
    chunks,
    *,
    sample_weight: Hashable | None = None,
    weight_kind: WeightKind | None = None,
    strata: Hashable | None = None,
    cluster: Hashable | None = None,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None = None,
    columns: Iterable[Hashable] | None = None,
    unseen: Unseen = "error",
    memory_limit: float | None = MEMORY_LIMIT,
    missing=None,
) -> CategoricalData:
    """Read a table that comes in chunks, in one pass; the result is that of :func:`encode` for the whole table.

    Distinct rows and their summed weights are held in memory, not the table. A category may appear in a late chunk
    only: states are sorted at the end. In Categorical columns, categories that only later chunks have come after those
    of earlier ones. If a Dask client is active, its workers read Parquet files and Dask DataFrames.

    Parameters
    ----------
    chunks : iterable of tables, Parquet path, pyarrow Dataset or Dask DataFrame
        Tables that :func:`encode` reads, except CategoricalData, with the same columns in the same order and of the
        same types (a column in single precision in one chunk and in double in another is refused); a ``.parquet``
        file or a folder of them; a Dask DataFrame, whose partitions are encoded by its workers.
    sample_weight, strata, cluster : column names, optional
        The columns that hold weights, strata and clusters.
    weight_kind, state_names, columns, unseen, missing
        As in :func:`encode`.
    memory_limit : float, optional
        Bytes that the distinct rows may take. A row counts as 12 bytes per column and 80 more; if weights may be
        sampling weights, every different weight of a distinct row counts as 64 more. None: no limit.

    Returns
    -------
    CategoricalData
        Without ``row_index``.

    Raises
    ------
    MemoryLimitError
        If the distinct rows take more. :class:`~pgmpy_latent.TreeEM` and learners of trees take such a table as it is,
        unless it is an iterator.
    ClusterError
        If a Dask client is active whose scheduler does not answer.

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
    check_number("memory_limit", memory_limit, 1, none=True)
    reading = Reading(sample_weight, None if columns is None else tuple(columns), weight_kind, strata, cluster, missing)
    pool = _Stream(chunks, reading, memory_limit, may_overflow=False).read()
    data = pool.finish(state_names, unseen, reading)
    data = replace(data, missing=pairs_of_codes(_codes_of(missing, pool.names)))
    warn_of_absent_codes(missing, pool.seen_codes, dict(zip(data.columns, data.state_names, strict=True)), ())
    return data


def encode_or_shard(
    X,
    *,
    sample_weight: Hashable | None,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None,
    columns: Iterable[Hashable] | None,
    memory_limit: float | None,
    weight_kind: WeightKind | None = None,
    strata: Hashable | None = None,
    cluster: Hashable | None = None,
    missing=None,
) -> CategoricalData | ShardedTable:
    """Read a table in chunks: return its distinct rows if they fit into memory, otherwise how to read it in shards.

    The first pass collects distinct rows and categories; once the rows are too many it continues with the categories
    alone. See :func:`encode_chunks`.

    Examples
    --------
    >>> import pandas as pd
    >>> chunk = pd.DataFrame({"x": list("ab")})
    >>> options = {"sample_weight": None, "state_names": None, "columns": ["x"]}
    >>> encode_or_shard(iter([chunk, chunk]), memory_limit=1e6, **options).weights.tolist()
    [2.0, 2.0]
    >>> encode_or_shard(iter([chunk, chunk]), memory_limit=1, **options)
    Traceback (most recent call last):
    pgmpy_latent.exceptions.MemoryLimitError: the distinct rows take more than memory_limit=1 bytes...
    """
    reading = Reading(sample_weight, None if columns is None else tuple(columns), weight_kind, strata, cluster, missing)
    stream = _Stream(X, reading, memory_limit, may_overflow=True)
    pool = stream.read()
    codes = pairs_of_codes(_codes_of(missing, pool.names))
    if not pool.full or stream.parts is None:
        data = replace(pool.finish(state_names, "error", reading), missing=codes)
        warn_of_absent_codes(missing, pool.seen_codes, dict(zip(data.columns, data.state_names, strict=True)), ())
        return data
    n_columns = len(pool.names) - len(reading.units)
    names, states = pool.names[:n_columns], pool.states(state_names, n_columns)
    warn_of_absent_codes(missing, pool.seen_codes, dict(zip(names, states, strict=True)), ())
    kept = [at for at, n_rows in enumerate(pool.part_rows) if n_rows]  # others have no row of positive weight
    sizes = [pool.part_rows[at] * n_columns for at in kept]
    shards = [tuple(stream.parts[kept[at]] for at in run) for run in consecutive(sizes)]
    kind = None if sample_weight is None else kind_of(weight_kind, pool.sums.whole)
    scale = pool.sums.kish_scale if kind == "sampling" else 1.0
    # EM needs neither the weights of single rows nor their design: shards are read with weights that are summed
    plain = Reading(sample_weight, names, None if kind is None else "frequency", missing=missing)
    return ShardedTable(
        columns=names,
        state_names=states,
        total_weight=pool.sums.total * pool.sums.largest * scale,
        shards=tuple(shards),
        reading=plain,
        client=stream.client,
        lazy=stream.lazy,
        seen=tuple(bool(values.occurring) for values in pool.categories[:n_columns]),
        n_rows=sum(pool.part_rows),
        weight_kind=kind,
        scale=scale,
        missing=codes,
    )


def _codes_of(missing, names: Sequence[Hashable]) -> CodesByColumn:
    """Return the codes for missing cells of some columns; those of other columns of the table are left out."""
    if isinstance(missing, CombinedCodes):
        return joined(_codes_of(missing.stated, names), codes_by_column(missing._replace(stated=None), names))
    if isinstance(missing, Mapping):  # reading the chunks has checked that all names are columns
        missing = {name: values for name, values in missing.items() if plain(name) in names}
    return codes_by_column(missing, names)


def comes_in_pieces(X) -> bool:
    """Tell whether :func:`encode_chunks` reads a table and :func:`encode` does not.

    Examples
    --------
    >>> comes_in_pieces("answers.parquet"), comes_in_pieces([[0, 1]]), comes_in_pieces(iter([[[0, 1]]]))
    (True, False, True)
    """
    return isinstance(X, (str, os.PathLike, Iterator)) or is_dask(X) or is_dataset(X)


# --- Shards -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShardedTable:
    """A table whose distinct rows do not fit into memory: its states, and where its shards are.

    Attributes
    ----------
    columns, state_names
        As in :class:`~pgmpy_latent.CategoricalData`, for the whole table.
    total_weight : float
        Sum of all weights.
    shards : tuple of tuples of Part
        Consecutive parts of the source. They depend on the source alone, not on who reads them.
    reading : Reading
        How to read the parts.
    client : distributed.Client or None
        Whose workers hold the shards.
    lazy : bool
        Whether parts are partitions of a Dask DataFrame, still to be computed.
    seen : tuple of bool
        Which columns have a cell that is not missing.
    n_rows : int
        Number of rows of positive weight.
    weight_kind : {None, "frequency", "sampling"}
        What the weights are.
    scale : float
        Factor of the weights: sampling weights sum to Kish's effective number of rows.
    missing : tuple of pairs
        Values that count as missing, as of :class:`~pgmpy_latent.CategoricalData`.
    """

    columns: tuple[Hashable, ...]
    state_names: tuple[tuple[Hashable, ...], ...]
    total_weight: float
    shards: tuple[tuple[Part, ...], ...]
    reading: Reading
    client: object
    lazy: bool
    seen: tuple[bool, ...]
    n_rows: int
    weight_kind: WeightKind | None = None
    scale: float = 1.0
    missing: MissingCodes = ()

    @property
    def calls(self) -> list[tuple]:
        """The arguments of :func:`read_shard` for every shard."""
        states = dict(zip(self.columns, self.state_names, strict=True))
        return [
            ([part.content for part in parts], [part.label for part in parts], self.reading, states, self.scale)
            for parts in self.shards
        ]


def read_shard(contents: list, labels: list[str], reading: Reading, state_names: dict, scale: float) -> CategoricalData:
    """Read the parts of a shard, with the states of the whole table and weights on its scale."""
    pool = Pool(None)
    for content, label in zip(contents, labels, strict=True):
        pool.add(reading.read(table_of(content), label))
    data = pool.finish(state_names, "error", reading)
    return CategoricalData(data.columns, data.state_names, data.codes, data.weights * scale)


class _Stream:
    """One pass over a source."""

    def __init__(self, source, reading: Reading, memory_limit: float | None, may_overflow: bool):
        self.memory_limit, self.may_overflow = memory_limit, may_overflow
        reading.check_names()
        self.source, self.reading = opened(source), reading
        names = column_names(self.source)
        for what, name in (
            ("sample_weight", reading.weights),
            ("strata", reading.strata),
            ("cluster", reading.cluster),
        ):
            if names is not None and name not in (None, *names):
                error = WeightError if what == "sample_weight" else DataError
                raise error(f"the table has no column {name!r}, which {what} names; it has {names}")
        self.lazy = is_dask(self.source)
        wanted = reading.columns
        if wanted is not None:
            wanted = tuple(dict.fromkeys((*wanted, *reading.aside)))
        self.parts = parts_of(self.source, wanted)
        self.client = None if self.parts is None else active_client()

    def read(self) -> Pool:
        """Return the distinct rows, or only the categories and sums of weights if they are too many."""
        pool = Pool(self.memory_limit)
        if self.parts is None:
            tables = batches(self.source) if is_dataset(self.source) else _tables(self.source)
            calls = ((table, f"chunk {number}", True) for number, table in enumerate(tables))
        else:  # a generator: whether rows are wanted is decided when a part is next
            calls = ((part.content, part.label, not pool.full) for part in self.parts)
        for chunk in in_order(self.reading.read_part, calls, self.client, self.lazy):
            pool.add(chunk)
            if pool.full and (self.parts is None or not self.may_overflow):
                self._refuse(pool)
            if pool.full:
                pool.refuse_many_categories(len(pool.names) - len(self.reading.units))
        pool.join()
        if pool.full and (self.parts is None or not self.may_overflow):
            self._refuse(pool)
        return pool

    def _refuse(self, pool: Pool) -> None:
        most = f"{pool.most_rows:,.0f} rows of {len(pool.names)} columns"
        remedy = (
            "Write the pieces into a folder of Parquet files and give its path, so that they can be read shard by shard"
            if self.may_overflow
            else "Learners of trees and TreeEM take a Parquet folder or a Dask DataFrame of any size; all else needs "
            "fewer rows or columns"
        )
        raise MemoryLimitError(
            f"the distinct rows take more than memory_limit={self.memory_limit:g} bytes ({most}). {remedy}; or allow "
            "more: encode_chunks(X, memory_limit=...) makes a table that every learner takes."
        )


def _tables(chunks) -> Iterable:
    if isinstance(chunks, (CategoricalData, Mapping)) or hasattr(chunks, "columns") or not isinstance(chunks, Iterable):
        raise TypeError(f"chunks is {kind_in_words(chunks)}; pass an iterable of tables, as [frame], or use encode()")
    return chunks
