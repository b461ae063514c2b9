"""What EM and queries need of an engine, whatever the shape of the model and wherever the rows are."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Protocol

import numpy as np

from pgmpy_latent.inference.layout import Layout


class Engine(Protocol):
    """Exact inference for the rows of a table: a model's structure bound to data. Tables are flat vectors.

    :class:`~pgmpy_latent.inference.tree_engine.TreeEngine`,
    :class:`~pgmpy_latent.inference.network_engine.NetworkEngine` and
    :class:`~pgmpy_latent.inference.sharded_engine.ShardedEngine` satisfy it.
    """

    layout: Layout

    @property
    def is_large(self) -> bool:
        """Whether threads can share the rows of one start."""

    def expected_counts(
        self,
        tables: np.ndarray,
        free: np.ndarray | None = None,
        weightings: np.ndarray | None = None,
        pool: Executor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood and the expected count of every table entry, for one or several starts."""

    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""
