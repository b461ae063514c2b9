"""The interfaces of engines: what EM needs of any of them, and what queries about single rows need in addition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from pgmpy_latent.inference.layout import Layout


class Engine(Protocol):
    """Exact inference for the rows of a table: the structure of a model bound to data.

    This is all that EM knows of a model. Tables are flat vectors, or several of them, one per start (see
    :class:`~pgmpy_latent.inference.layout.Layout`).
    :class:`~pgmpy_latent.inference.tree_engine.TreeEngine`,
    :class:`~pgmpy_latent.inference.network_engine.NetworkEngine` and
    :class:`~pgmpy_latent.inference.sharded_engine.ShardedEngine` implement it.

    Attributes
    ----------
    layout : Layout
        Where the tables lie.
    """

    layout: Layout

    @property
    @abstractmethod
    def is_large(self) -> bool:
        """Whether threads can share the rows of one start."""

    @property
    @abstractmethod
    def n_weightings(self) -> int:
        """Number of weightings of the rows; with several, every start names the one it uses."""

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """Weight of all rows, by the first weighting."""

    @abstractmethod
    def expected_counts(
        self,
        tables: np.ndarray,
        free: np.ndarray | None = None,
        weightings: np.ndarray | None = None,
        pool: Executor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood and the expected count of every entry of every table.

        Parameters
        ----------
        tables : array, shape (size,) or (n_starts, size)
            Probability tables.
        free : bool array, shape (n_tables,), optional
            Tables whose counts are wanted; the counts of others are zero.
        weightings : int array, shape (n_starts,), optional
            Which of the engine's weightings each start uses; the first by default.
        pool : Executor, optional
            Threads that share the rows if the engine is large; the result does not depend on it.

        Returns
        -------
        log_likelihood : float, or array of shape (n_starts,)
        counts : array like ``tables``
        """

    @abstractmethod
    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""

    @abstractmethod
    def freeze(self, tables: np.ndarray, free: np.ndarray) -> Frozen[Engine]:
        """Return an engine for EM on the free tables alone, which may be smaller than the whole one.

        Parameters
        ----------
        tables : array, shape (size,)
            Probability tables.
        free : bool array, shape (n_tables,)
            Tables that will change; at least one.
        """


class RowEngine(Engine, Protocol):
    """An engine whose rows are at hand, so that they can be asked about one by one.

    Attributes
    ----------
    weights : array, shape (n_rows,) or (n_weightings, n_rows)
        Weights of the rows.
    """

    weights: np.ndarray

    @abstractmethod
    def row_log_likelihoods(self, tables: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row (of shape (n_rows,) or (n_starts, n_rows))."""

    @abstractmethod
    def beliefs(self, tables: np.ndarray, nodes: Sequence[int]) -> list[np.ndarray]:
        """Return P(node | row) for each of the nodes: (n_rows, states). Rows of probability zero give NaN."""

    @abstractmethod
    def draw(self, tables: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the states of all nodes from their joint posterior, for each row: (n_rows, n_nodes).

        Rows of probability zero have no posterior: their unknown states stay unknown, as -1.
        """

    @abstractmethod
    def reweighted(self, weights: np.ndarray) -> Self:
        """Return an engine for the same rows with other weights."""

    @abstractmethod
    def for_counts(self) -> Self:
        """Return an engine for :class:`Engine`'s methods alone, without what only questions about rows need."""


E = TypeVar("E", bound=Engine, covariant=True)


@dataclass(frozen=True)
class Frozen(Generic[E]):
    """The part of a model that can change, with the rest turned into evidence.

    Attributes
    ----------
    engine : Engine
        Over the nodes of the part.
    nodes : int array
        Which nodes of the whole these are.
    lost_parent : bool array
        Which of them have lost their parent; they have a table of ones.
    free : bool array
        Which of the part's tables can change.
    whole : Layout
        Where the tables of the whole lie.
    """

    engine: E
    nodes: np.ndarray
    lost_parent: np.ndarray
    free: np.ndarray
    whole: Layout

    @classmethod
    def nothing(cls, engine: E, free: np.ndarray) -> Frozen[E]:
        """Return the whole as its own part, with nothing turned into evidence."""
        everything = np.arange(engine.layout.n_tables)
        return cls(engine, everything, np.zeros(len(everything), dtype=bool), np.asarray(free), engine.layout)

    @cached_property
    def _shared(self) -> list[tuple[int, int, int]]:
        """Return (first entry in the part, in the whole, size) of the tables that both have."""
        part = self.engine.layout
        return [
            (int(part.offsets[at]), int(self.whole.offsets[node]), int(part.sizes[at]))
            for at, node in enumerate(self.nodes)
            if not self.lost_parent[at]
        ]

    def narrow(self, tables: np.ndarray) -> np.ndarray:
        """Return the part's tables, given those of the whole (leading axes are kept)."""
        part = np.ones((*tables.shape[:-1], self.engine.layout.size))
        for here, there, size in self._shared:
            part[..., here : here + size] = tables[..., there : there + size]
        return part

    def narrow_prior(self, prior: float | np.ndarray) -> np.ndarray:
        """Return the prior of the part; tables that cannot change need none."""
        whole = np.broadcast_to(np.asarray(prior, dtype=np.float64), (self.whole.size,))
        return self.narrow(whole) * self.free[self.engine.layout.table_of_entry]

    def widen(self, part: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return the whole's tables with the free ones taken from the part."""
        tables = tables.copy()
        for at, node in enumerate(self.nodes):
            if self.free[at]:
                here, there = self.engine.layout.offsets[at], self.whole.offsets[node]
                size = self.whole.sizes[node]
                tables[there : there + size] = part[here : here + size]
        return tables
