"""The engine of rows that are not in one place: the sum of the engines of their shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor

import numpy as np

from pgmpy_latent.inference.layout import Layout


class ShardedEngine:
    """What EM asks of an engine, added up over shards, always in their order.

    Results therefore depend on the shards and not on who computes them. Rows by themselves (beliefs, draws, frozen
    parts) are not offered: ask a model about them in pieces.

    Parameters
    ----------
    each : callable
        ``each(function, *args)`` yields ``function(engine, *args)`` for the engine of every shard, in their order.
    layout : Layout
        Where the tables of all shards lie.
    weights : sequence of float
        What the rows of every shard weigh together.

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> shards = [TreeEngine(compile_plan([-1], {0: Evidence(np.array(own), 2)}), [2]) for own in ([0, 1, 1], [1])]
    >>> def each(function, *args):
    ...     return (function(shard, *args) for shard in shards)
    >>> engine = ShardedEngine(each, shards[0].layout, [3.0, 1.0])
    >>> engine.expected_counts(np.array([0.5, 0.5]))[1]
    array([1., 3.])
    """

    def __init__(self, each: Callable[..., Iterable], layout: Layout, weights: Sequence[float]):
        self.each = each
        self.layout = layout
        self.weights = np.asarray(weights, dtype=np.float64)

    #: Workers share the shards, so that threads need not share the rows of one start.
    is_large = False

    def expected_counts(
        self,
        tables: np.ndarray,
        free: np.ndarray | None = None,
        weightings: np.ndarray | None = None,
        pool: Executor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood and the expected count of every entry of every table, as any engine does."""
        assert weightings is None, "rows in shards have one weighting"
        return _added(self.each(_counts, tables, free))

    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""
        assert weightings is None, "rows in shards have one weighting"
        (total,) = _added(self.each(_log_likelihood, tables))
        return total


def _counts(engine, tables: np.ndarray, free: np.ndarray | None) -> tuple:
    return engine.expected_counts(tables, free)


def _log_likelihood(engine, tables: np.ndarray) -> tuple:
    return (engine.log_likelihood(tables),)


def _added(results: Iterable[tuple]) -> tuple:
    total: tuple | None = None
    for result in results:
        total = result if total is None else tuple(a + b for a, b in zip(total, result, strict=True))
    return total
