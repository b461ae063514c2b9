"""The inputs of an EM estimator: the structure of a network, a table with its columns, and tables to begin with."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd

from pgmpy_latent.em.shards import Shards, open_shards
from pgmpy_latent.em.starts import n_rows_of_start
from pgmpy_latent.exceptions import DataError, InvalidTreeError, StateNameError
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.inference.queries import network_engine
from pgmpy_latent.model.convert import aligned_table
from pgmpy_latent.model.emissions import NumericKind
from pgmpy_latent.model.json_format import table_problem
from pgmpy_latent.runtime import parallel
from pgmpy_latent.tables.chunks import ShardedTable, comes_in_pieces, encode_or_shard
from pgmpy_latent.tables.columns import as_pandas
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.large_tables import column_names, opened
from pgmpy_latent.tables.missing_codes import codes_by_column
from pgmpy_latent.tables.numbers import Kind, Kinds, kinds_of_table, numeric_only
from pgmpy_latent.tables.survey import Survey


@dataclass(frozen=True, eq=False)
class Structure:
    """The nodes and edges of a network.

    Attributes
    ----------
    names : list of hashable
        Names of the nodes.
    parents : list of tuples of int
        Indices of each node's parents.
    hidden : set of hashable
        Names of hidden variables; some of them may not be nodes.
    """

    names: list[Hashable]
    parents: list[tuple[int, ...]]
    hidden: set[Hashable]

    @property
    def latent(self) -> np.ndarray:
        """For every node, whether it is hidden."""
        return np.array([name in self.hidden for name in self.names], dtype=bool)


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """The rows that EM runs on, in memory.

    Attributes
    ----------
    engine : Engine
        For the network and these rows.
    n_jobs : int, optional
        Number of workers that share the starts, as joblib understands it.
    data : CategoricalData
        The rows.
    """

    engine: Engine
    n_jobs: int | None
    data: CategoricalData

    def starting_rows(self, seeds: Sequence[np.random.SeedSequence]) -> tuple[CategoricalData, list[int] | None]:
        """Return the rows to make starts from, and None: they show by themselves which nodes have no known cell."""
        return self.data, None

    def digests(self) -> Sequence[np.ndarray]:
        """Return arrays that tell these rows from others."""
        return self.data.codes, self.data.weights, *self.data.values.values()


@dataclass(frozen=True, eq=False)
class RowsInShards:
    """The same for rows that do not fit into memory; threads or Dask workers share the shards, not the starts.

    Attributes
    ----------
    shards : Shards
        The rows.
    silent : list of int
        Nodes without any known cell.
    n_rows : int
        Number of rows that a start is made from.
    n_jobs : int
        Number of workers that share the starts.
    """

    shards: Shards
    silent: list[int]
    n_rows: int
    n_jobs: int = 1

    @property
    def engine(self) -> Engine:
        """For the network and these rows."""
        return self.shards.engine

    def starting_rows(self, seeds: Sequence[np.random.SeedSequence]) -> tuple[CategoricalData, list[int] | None]:
        """Return the rows to make starts with these seeds from, and the nodes without any known cell."""
        return self.shards.starting_rows(seeds, self.n_rows), self.silent

    def digests(self) -> Sequence[np.ndarray]:
        """Return arrays that tell these rows from others."""
        return self.shards.digests()


@contextmanager
def opened_rows(
    structure: Structure, cards: np.ndarray, encoded: CategoricalData | ShardedTable, n_jobs: int | None
) -> Iterator[RowsInMemory | RowsInShards]:
    """Yield the rows of a table for a network; shards are released at the end of the block."""
    names, parents = structure.names, structure.parents
    if isinstance(encoded, CategoricalData):
        yield RowsInMemory(network_engine(names, parents, cards, encoded), n_jobs, encoded)
        return
    seen = dict(zip(encoded.columns, encoded.seen, strict=True))
    silent = [node for node, name in enumerate(names) if not seen.get(name, False)]
    with open_shards(encoded, names, parents, cards, parallel.n_threads(n_jobs)) as shards:
        yield RowsInShards(shards, silent, n_rows_of_start(cards, silent))


def encoded_table(
    data,
    structure: Structure,
    state_names: dict | None,
    sample_weight,
    memory_limit: float | None,
    missing=None,
    numeric: Mapping[Hashable, NumericKind] | None = None,
    **survey: Unpack[Survey],
) -> CategoricalData | ShardedTable:
    """Return the columns of a table that are nodes of a network; as shards if its distinct rows exceed the limit."""
    hidden = structure.hidden
    observed = [name for name in structure.names if name not in hidden]
    if not observed:
        raise DataError("all nodes of the model are hidden; at least one must be a column of the data")
    pieces = comes_in_pieces(data)
    if pieces:
        data = opened(data)
        columns = column_names(data)
    else:
        columns = list(data.columns) if isinstance(data, (pd.DataFrame, CategoricalData)) else None
    absent = [name for name in observed if columns is not None and name not in columns]
    if absent:
        raise DataError(
            f"the model has nodes that are not columns of the data: {absent}. Add the columns, or declare the nodes "
            "hidden: model.latents = {...}."
        )
    if isinstance(missing, Mapping) and columns is not None:
        codes_by_column(missing, columns)  # refuses names that are no columns
        missing = {name: values for name, values in missing.items() if name in observed}
    if pieces:
        present = [name for name in hidden if columns is not None and name in columns]
        if present:
            raise DataError(f"hidden variable {present[0]!r} is named like a column; rename one")
        options = {"sample_weight": sample_weight, "state_names": state_names, "columns": observed, "missing": missing}
        return encode_or_shard(data, memory_limit=memory_limit, **options, **survey)
    options = {"sample_weight": sample_weight, "state_names": state_names, "columns": observed, "missing": missing}
    return encode(data, hidden=hidden, numeric=numeric, **options, **survey)


def kinds_of_columns(
    data, structure: Structure, kinds: Kinds, state_names: Mapping | None, missing=None
) -> dict[Hashable, Kind] | None:
    """Return the kinds of the columns that are nodes of a network; None if all are categories.

    Raises
    ------
    DataError
        If a numeric column is not a leaf, or has none above it.
    """
    if kinds is None:
        return None
    if comes_in_pieces(data):
        raise DataError("kinds are for tables in memory; read the table into a DataFrame, or bin its numbers")
    if isinstance(data, CategoricalData):
        raise DataError("this table is encoded already, and kinds come too late; give encode() numeric=...")
    frame = as_pandas(data)
    frame = frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(frame)
    observed = [name for name in structure.names if name not in structure.hidden]
    stated = {} if isinstance(kinds, str) else dict(kinds)
    absent = [name for name in stated if name not in observed]
    if absent:
        raise DataError(f"kinds names {absent[0]!r}, which is no column of the model; leave it out")
    stated |= {name: "categorical" for name in (state_names or ()) if name in observed and name not in stated}
    aside = [name for name in frame.columns if name not in observed]
    found = kinds_of_table(frame, stated, aside, missing)
    parents_of_others = {structure.names[above] for parents in structure.parents for above in parents}
    for name in numeric_only(found):
        if name in parents_of_others:
            raise DataError(f"column {name!r} is a number and has children in the model; numbers can be leaves only")
        if len(structure.parents[structure.names.index(name)]) > 1:
            raise DataError(f"column {name!r} is a number and has several parents in the model; it can have one")
    return found


def tables_of_cpds(cpds: Mapping, structure: Structure, state_names: list[tuple]) -> dict[Hashable, np.ndarray]:
    """Return the tables of CPDs by variable, with states in the order of ``state_names``."""
    return {name: table_of_cpd(name, cpd, structure, state_names, "init_cpds") for name, cpd in cpds.items()}


def table_of_cpd(name: Hashable, cpd, structure: Structure, state_names: Sequence[tuple], argument: str) -> np.ndarray:
    """Return the table of a CPD, with states in the order of ``state_names``; errors name the argument it came by."""
    names, parents = structure.names, structure.parents
    states = dict(zip(names, state_names, strict=True))
    above = [names[node] for node in parents[names.index(name)]]
    if cpd.variables[0] != name or set(cpd.variables[1:]) != set(above):
        raise StateNameError(f"{argument} of {name!r} is over {list(cpd.variables)}, the model needs {[name, *above]}")
    table = aligned_table(cpd, states, above)
    if problem := table_problem(table):
        raise InvalidTreeError(f"{argument} of {name!r}: {problem}")
    return table
