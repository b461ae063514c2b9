"""Rows that do not fit into memory: shards of them, held by Dask's workers or by files, and the engine over all."""

from __future__ import annotations

import errno
import os
import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Protocol

import numpy as np

from pgmpy_latent.em.starts import ringing_times
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import network_engine
from pgmpy_latent.inference.sharded_engine import ShardedEngine
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.tables.chunks import ShardedTable, read_shard
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.large_tables import cluster_errors, in_order

#: Share by which a bound on sums of rounded numbers is lowered.
ROUNDING = 1e-9


#: Names, parents and numbers of states of the nodes.
Graph = tuple[Sequence[Hashable], Sequence[Sequence[int]], np.ndarray]
#: The parts of one shard, and the function that reads them.
Read = tuple[list, Callable[..., CategoricalData]]


class Holder(Protocol):
    """Holds the shards of a table."""

    def each(self, function: Callable, *args) -> Iterable:
        """Yield ``function(shard, *args)`` for every shard, in their order."""

    def turn(self, function: Callable) -> None:
        """Replace every shard by ``function(shard)``."""


class Shards:
    """All shards of a table, for the tables of one graph; made by :func:`open_shards`.

    At first they hold rows, from which starts can be made. EM turns them into engines when it first needs them, and
    releases the rows.

    Parameters
    ----------
    table : ShardedTable
        The states and the total weight of the whole table.
    held : Holder
        Holds the shards.
    graph : names, parents, numbers of states
        The nodes.

    Attributes
    ----------
    engine : ShardedEngine
        For EM on all rows.
    """

    def __init__(self, table: ShardedTable, held: Holder, graph: Graph):
        _, parents, cards = graph
        self.table, self.held, self.graph = table, held, graph
        weights = list(held.each(_weight))
        if not np.isclose(sum(weights), table.total_weight, rtol=1e-9):
            raise DataError(
                f"the table weighed {table.total_weight:.10g} when it was first read and {sum(weights):.10g} now; "
                "fit it while nobody writes to it"
            )
        shapes = [(prod(int(cards[node]) for node in above), int(cards[at])) for at, above in enumerate(parents)]
        self.engine = ShardedEngine(self._each_engine, Layout(shapes), weights)
        self._compiled = False

    def _each_engine(self, function: Callable, *args) -> Iterable:
        if not self._compiled:
            self.held.turn(partial(_engine, self.graph))
            self._compiled = True
        return self.held.each(function, *args)

    def digests(self) -> list[np.ndarray]:
        """Return, for every shard, numbers that tell its rows and weights from others."""
        return list(self.held.each(_digest))

    def starting_rows(self, seeds: Sequence[np.random.SeedSequence], n_rows: int) -> CategoricalData:
        """Return rows among which are those that any start would choose from the whole table, with all their weight.

        A start takes the ``n_rows`` distinct rows whose clocks ring first (``starts.ringing_times``). A row rings at a
        rate proportional to its weight, and its rates in all shards sum. So a row is among the first only if in some
        shard its rate is at least the last of these divided by the number of shards; which is little to send, and
        starts are those of the table in memory.
        """
        loudest = list(self.held.each(_loudest, seeds, n_rows))
        floors = []
        for at in range(len(seeds)):
            keys, rates = (np.concatenate(parts) for parts in zip(*(shard[at] for shard in loudest), strict=True))
            _, place = np.unique(keys, return_inverse=True)
            sums = np.sort(np.bincount(place, rates))[::-1]
            floors.append(sums[n_rows - 1] * (1 - ROUNDING) / len(loudest) if len(sums) >= n_rows else 0.0)
        keys, codes = (np.concatenate(parts) for parts in zip(*self.held.each(_loud, seeds, floors), strict=True))
        keys, first = np.unique(keys, return_index=True)
        codes = codes[first]
        weights = sum(self.held.each(_weights_of, keys))
        order = np.lexsort(codes.T[::-1])
        return CategoricalData(self.table.columns, self.table.state_names, codes[order], weights[order])


@contextmanager
def open_shards(
    table: ShardedTable,
    names: Sequence[Hashable],
    parents: Sequence[Sequence[int]],
    cards: np.ndarray,
    n_jobs: int = 1,
) -> Iterator[Shards]:
    """Read the shards of a table for a graph, and hold them until the end of the block.

    If the table came with a Dask client, its workers hold them, and shards of a lost worker are read again from the
    source. Otherwise they are files in a temporary folder, of which ``n_jobs`` are in memory at a time.

    Parameters
    ----------
    table : ShardedTable
        Where the shards are.
    names, parents, cards
        The graph, as :func:`~pgmpy_latent.inference.queries.network_engine` takes it.
    n_jobs : int
        Threads of this process that share the shards; the result does not depend on it.
    """
    with held_rows(table, n_jobs) as held:
        yield Shards(table, held, (names, parents, cards))


@contextmanager
def held_rows(table: ShardedTable, n_jobs: int = 1) -> Iterator[Holder]:
    """Read the rows of all shards of a table, and hold them until the end of the block. See :func:`open_shards`."""
    reads: list[Read] = [
        (held, partial(read_shard, labels=labels, reading=reading, state_names=states, scale=scale))
        for held, labels, reading, states, scale in table.calls
    ]
    if table.client is not None:
        yield _OnWorkers(table.client, reads)
        return
    with tempfile.TemporaryDirectory(prefix="pgmpy_latent_shards_") as folder:
        yield _InFiles(Path(folder), reads, table.lazy, n_jobs)


# --- Holders ---------------------------------------------------------------------------------------


class _InFiles:
    """Shards in files, read whenever they are needed."""

    def __init__(self, folder: Path, reads: list[Read], lazy: bool, n_jobs: int):
        self.n_jobs = n_jobs
        self.paths = [folder / f"{number}.pickle" for number in range(len(reads))]
        shards = in_order(_call, ((read, held) for held, read in reads), None, lazy, at_once=n_jobs)
        for path, shard in zip(self.paths, shards, strict=True):
            _write(path, shard)

    def each(self, function: Callable, *args) -> Iterator:
        """Yield the result of a function for every shard."""
        with parallel.pool_of_threads(self.n_jobs) as pool:
            waiting: deque = deque()
            for path in self.paths:
                waiting.append(pool.submit(_from_file, path, function, args))
                if len(waiting) >= self.n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def turn(self, function: Callable) -> None:
        """Replace every shard by the result of a function."""
        for path, turned in zip(self.paths, self.each(function), strict=True):
            _write(path, turned)


def _call(read: Callable, held: list):
    return read(held)


def _write(path: Path, shard) -> None:
    try:
        with path.open("wb") as file:
            pickle.dump(shard, file, protocol=5)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OSError(
            error.errno,
            f"no space is left for shards in {os.fspath(path.parent)!r}; make room, or set TMPDIR to a larger disk",
        ) from None


def _from_file(path: Path, function: Callable, args: tuple):
    with path.open("rb") as file:
        shard = pickle.load(file)
    return _apply(function, shard, args)


class _OnWorkers:
    """Shards held by Dask's workers: results of tasks that read the source, so that Dask can make them again."""

    def __init__(self, client, reads: list[Read]):
        import dask

        self.client = client
        self.shards = client.compute([dask.delayed(read, pure=False)(held) for held, read in reads])

    def turn(self, function: Callable) -> None:
        """Replace every shard by the result of a function; Dask releases the old ones."""
        self.shards = self.client.map(function, self.shards, pure=False)

    def each(self, function: Callable, *args) -> list:
        """Return the results of a function for all shards."""
        with cluster_errors(self.client):
            given = self.client.submit(_given, args, pure=False)  # sent once, and made again if it is lost
            results = self.client.map(partial(_apply, function), self.shards, [given] * len(self.shards), pure=False)
            return self.client.gather(results)


def _given(args: tuple) -> tuple:
    return args


def _apply(function: Callable, shard, args: tuple):
    with one_blas_thread():  # on whatever machine it is
        return function(shard, *args)


# --- Functions of a shard --------------------------------------------------------------------------------


def _engine(graph: Graph, data: CategoricalData) -> RowEngine:
    names, parents, cards = graph
    return network_engine(names, parents, cards, data).for_counts()


def _digest(data: CategoricalData) -> np.ndarray:
    return np.frombuffer(blake2b(data.codes.tobytes() + data.weights.tobytes(), digest_size=16).digest(), np.uint8)


def _weight(data: CategoricalData) -> float:
    return data.total_weight


def _rates(data: CategoricalData, seed: np.random.SeedSequence) -> np.ndarray:
    return 1.0 / ringing_times(data.weights, data.row_keys, np.random.default_rng(seed))


def _loudest(data: CategoricalData, seeds: Sequence, n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for every seed the keys of the rows that ring first, and their rates."""
    loudest = []
    for seed in seeds:
        rates = _rates(data, seed)
        few = min(n_rows, len(rates))
        first = np.argpartition(rates, len(rates) - few)[len(rates) - few :]
        loudest.append((data.row_keys[first], rates[first]))
    return loudest


def _loud(data: CategoricalData, seeds: Sequence, floors: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return keys and codes of the rows that ring at least at the floor's rate, for any seed."""
    wanted = np.zeros(data.n_distinct, bool)
    for seed, floor in zip(seeds, floors, strict=True):
        wanted |= _rates(data, seed) >= floor
    return data.row_keys[wanted], data.codes[wanted]


def _weights_of(data: CategoricalData, keys: np.ndarray) -> np.ndarray:
    """Return the weights of the rows with some keys, which are sorted; zero where a shard does not have the row."""
    place = np.minimum(np.searchsorted(keys, data.row_keys), len(keys) - 1)
    here = keys[place] == data.row_keys
    return np.bincount(place[here], data.weights[here], minlength=len(keys))
