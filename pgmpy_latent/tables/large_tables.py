"""Large tables, read part by part: Parquet files and folders, pyarrow data sets and Dask DataFrames.

Parts are read by this process or by the workers of a Dask cluster. ``tables/chunks.py`` encodes them one after the
other, and ``em/shards.py`` keeps each as a shard. The formats of files are those of ``tables/files.py`` that pyarrow
reads in parts.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pgmpy_latent.exceptions import ClusterError, DataError
from pgmpy_latent.runtime.files import kind_of
from pgmpy_latent.tables.files import format_of

#: Most cells of a part of a Parquet file, and of a shard, when smaller neighbours are joined.
PART_CELLS = 2**25
#: Rows that are read at a time from a data set that cannot be read file by file.
BATCH_ROWS = 1_000_000


class Part(NamedTuple):
    """A part of a table that can be read again: ``content`` is a :class:`RowGroups` or a Dask partition."""

    label: str
    content: object


class RowGroups:
    """Consecutive row groups of a Parquet file, which any process with access to the file can read.

    Parameters
    ----------
    fragment : pyarrow.dataset.Fragment
        The file, or some of its row groups.
    schema : pyarrow.Schema
        Names and types of all columns.
    columns : list of str, optional
        The columns to read; all by default.
    """

    def __init__(self, fragment, schema, columns: list | None):
        self.fragment, self.schema, self.columns = fragment, schema, columns

    def table(self):
        """Read the rows."""
        try:
            return self.fragment.to_table(schema=self.schema, columns=self.columns)
        except Exception as error:  # Arrow raises many kinds
            raise _unreadable(self.fragment, error) from error


def _unreadable(fragment, error: Exception) -> DataError:
    return DataError(f"{label_of(fragment)} cannot be read ({error}); mend it, and fit it while nobody writes to it")


def table_of(content):
    """Return the table of a part: row groups are read now, and a partition has been computed by Dask already."""
    return content.table() if isinstance(content, RowGroups) else content


def label_of(fragment) -> str:
    """Return the name of a part of a data set for messages."""
    return f"file {fragment.path!r}" if getattr(fragment, "path", "") else "a part of the data set"


def is_dask(X) -> bool:
    """Tell whether a table is a Dask DataFrame."""
    return type(X).__module__.startswith("dask") and hasattr(X, "to_delayed")


def is_dataset(X) -> bool:
    """Tell whether a table is a pyarrow data set."""
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "to_batches") and hasattr(X, "scanner")


def opened(X):
    """Return the pyarrow data set at a path; anything else unchanged."""
    if not isinstance(X, (str, os.PathLike)):
        return X
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow; install it with pip install pyarrow") from error
    kind = kind_of(X)
    if kind not in (None, "a folder"):
        raise DataError(f"{str(X)!r} is {kind}; give a file, or a folder of files")
    if not Path(X).exists():
        raise FileNotFoundError(f"there is no file or folder {str(X)!r}")
    known = format_of(X)
    known_in_parts = None if known is None else known.in_parts
    try:
        dataset = ds.dataset(str(X), format=known_in_parts or "parquet", partitioning="hive")
    except Exception as error:  # Arrow raises many kinds, and Python for damaged names
        is_other_file = Path(X).is_file() and known_in_parts is None
        remedy = f". If it is text, read it first: pd.read_csv({str(X)!r})" if is_other_file else ""
        raise DataError(f"{str(X)!r} cannot be read as Parquet: {error}{remedy}") from None
    if not dataset.schema.names:
        raise DataError(f"{str(X)!r} holds no Parquet file with columns; give a file, or a folder of files")
    return dataset


def column_names(X) -> list | None:
    """Return the columns of an opened source; None if they are not known before it is read."""
    if is_dask(X):
        return list(X.columns)
    return list(X.schema.names) if is_dataset(X) else None


# --- Parts ------------------------------------------------------------------------------------------------


def parts_of(X, columns: Sequence[Hashable] | None) -> list[Part] | None:
    """Return the parts of an opened source, in order; None if it cannot be read part by part, or only once.

    They depend on the source alone: the partitions of a Dask DataFrame, or runs of consecutive row groups of Parquet
    files with at most :data:`PART_CELLS` cells.
    """
    if is_dask(X):
        frame = X if columns is None else X[list(columns)]
        return [Part(f"chunk {number}", partition) for number, partition in enumerate(frame.to_delayed())]
    if not is_dataset(X):
        return None
    try:
        fragments = list(X.get_fragments())
    except ValueError:  # filtered or projected, which pyarrow does not do part by part
        return None
    return [part for fragment in fragments for part in _parts_of_fragment(fragment, X.schema, columns)]


def _parts_of_fragment(fragment, schema, columns: Sequence[Hashable] | None) -> Iterator[Part]:
    label = label_of(fragment)
    file_schema = _schema_of(fragment, schema, columns, label)
    wanted = None if columns is None else list(columns)
    n_columns = len(file_schema.names if wanted is None else wanted)
    groups = getattr(fragment, "row_groups", None)
    if not groups:
        yield Part(label, RowGroups(fragment, file_schema, wanted))
        return
    sizes = [group.num_rows * n_columns for group in groups]
    for members in consecutive(sizes):
        some = fragment.subset(row_group_ids=[groups[at].id for at in members])
        yield Part(label, RowGroups(some, file_schema, wanted))


def _schema_of(fragment, schema, columns: Sequence[Hashable] | None, label: str):
    """Return the schema of one file, with its own types; raise if its columns are not those of the data set."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    try:
        file_schema = fragment.physical_schema
    except Exception as error:
        raise _unreadable(fragment, error) from error
    in_path = ds.get_partition_keys(fragment.partition_expression)
    wanted = schema.names if columns is None else columns
    lacking = [name for name in wanted if name not in file_schema.names and name not in in_path]
    further = [name for name in file_schema.names if name not in schema.names] if columns is None else []
    if lacking or further:
        words = f"lacks {lacking[0]!r}" if lacking else f"has a column {further[0]!r}"
        raise DataError(f"{label} has other columns than the first file: it {words}; give all files the same columns")
    return pa.schema([(file_schema if name in file_schema.names else schema).field(name) for name in wanted])


def consecutive(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield runs of consecutive positions whose sizes sum to at most :data:`PART_CELLS`; a larger one stays alone.

    Examples
    --------
    >>> list(consecutive([PART_CELLS // 2, PART_CELLS // 2, 2 * PART_CELLS, 1, 1]))
    [[0, 1], [2], [3, 4]]
    """
    run: list[int] = []
    total = 0
    for at, size in enumerate(sizes):
        if run and total + size > PART_CELLS:
            yield run
            run, total = [], 0
        run.append(at)
        total += size
    if run:
        yield run


def batches(dataset) -> Iterator:
    """Yield the rows of a data set that has no parts, in batches."""
    import pyarrow as pa

    for batch in dataset.to_batches(batch_size=BATCH_ROWS):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])


# --- Reading on a cluster ---------------------------------------------------------------------------------


def active_client():
    """Return the active Dask client; None if there is none, or if this code runs inside a Dask task.

    Raises
    ------
    ClusterError
        If its scheduler does not answer, or has no workers.
    """
    distributed = sys.modules.get("distributed")  # without it there is no client
    if distributed is None:
        return None
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    _check_reachable(client)
    return client


def _check_reachable(client) -> None:
    address = getattr(client.scheduler, "address", None) or "an unknown address"
    try:
        workers = client.nthreads() if client.status == "running" else None
    except Exception as error:  # connections fail in many ways
        raise ClusterError(_unreachable(address)) from error
    if workers is None:
        raise ClusterError(_unreachable(address))
    if not workers:
        raise ClusterError(f"the Dask scheduler at {address} has no workers; start some, or close the client")


def _unreachable(address: str) -> str:
    return (
        f"the Dask scheduler at {address} does not answer; start it and connect a new client, or close the client "
        "to work in this process"
    )


def in_order(
    function: Callable, calls: Iterable[tuple], client, lazy: bool, at_once: int = os.cpu_count() or 1
) -> Iterator:
    """Yield ``function(*call)`` for every call, in their order, while the next few are computed.

    Parameters
    ----------
    function : callable
        Importable by all workers.
    calls : iterable of tuples
        Consumed as late as possible.
    client : distributed.Client or None
        Its workers make the calls; without one, this process does.
    lazy : bool
        Whether calls contain Dask partitions, which must be computed.
    at_once : int
        How many of these are computed together without a client.
    """
    if client is None and not lazy:
        yield from (function(*call) for call in calls)
        return
    import dask

    delayed = (dask.delayed(function, pure=False)(*call) for call in calls)
    if client is None:
        while some := list(islice(delayed, at_once)):
            yield from dask.compute(*some)
        return
    most = 2 * sum(client.nthreads().values())
    waiting: deque = deque()
    for task in delayed:
        with cluster_errors(client):
            waiting.append(client.compute(task))
        if len(waiting) >= most:
            yield _result(client, waiting.popleft())
    while waiting:
        yield _result(client, waiting.popleft())


def _result(client, future):
    with cluster_errors(client):
        return future.result()


@contextmanager
def cluster_errors(client) -> Iterator[None]:
    """Turn the loss of a cluster, and of workers that die at the same task repeatedly, into errors with a remedy."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            "workers of the Dask cluster died several times at the same part of the table; give them more memory, or "
            f"the source smaller partitions or row groups ({error})"
        ) from error
    except Exception as error:
        if client.status == "running" and not isinstance(error, CancelledError):
            raise
        raise ClusterError(
            "the Dask cluster was lost on the way; see that its scheduler runs, connect a new client and fit again"
        ) from error
