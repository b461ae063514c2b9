"""The engine of rows that are not in one place: the sum of the engines of their shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor

import numpy as np

from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import Engine, Frozen


class ShardedEngine(Engine):
    """The sum of the engines of all shards, always added in their order.

    Results therefore depend on the shards and not on who computes them. It has no methods for single rows (posteriors,
    draws): ask a model about the rows of a chunk at a time.

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
    n_weightings = 1

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

    def expected_counts(
        self,
        tables: np.ndarray,
        free: np.ndarray | None = None,
        weightings: np.ndarray | None = None,
        pool: Executor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood and the expected count of every entry of every table, as any engine does."""
        assert weightings is None, "rows in shards have one weighting"
        log_likelihoods, counts = _sums(self.each(_counts, tables, free))
        return log_likelihoods, counts

    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""
        assert weightings is None, "rows in shards have one weighting"
        (total,) = _sums(self.each(_log_likelihood, tables))
        return total

    def freeze(self, tables: np.ndarray, free: np.ndarray) -> Frozen[ShardedEngine]:
        """Return the whole engine, which leaves the counts of other tables at zero."""
        return Frozen.nothing(self, free)


def _counts(engine: Engine, tables: np.ndarray, free: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    return engine.expected_counts(tables, free)


def _log_likelihood(engine: Engine, tables: np.ndarray) -> tuple[np.ndarray]:
    return (engine.log_likelihood(tables),)


def _sums(results: Iterable[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    """Return the sums of results of several shards, added in their order."""
    shards = iter(results)
    totals = list(next(shards))
    for result in shards:
        totals = [total + value for total, value in zip(totals, result, strict=True)]
    return totals
