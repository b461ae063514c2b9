"""One iteration of EM, for several starts at once; and how the number of starts is reduced along the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from pgmpy_latent.em.constraints import Constraints
from pgmpy_latent.em.metric import Metric, TableMetric
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import Clock

#: The least share of itself that an entry keeps in a move by the curvature.
LEAST_SHARE = 0.1


@runtime_checkable
class Objective(Protocol):
    """What an ascent maximises, and all that it knows of it: how EM moves points, which are vectors of parameters.

    :class:`Problem` is the one whose points are probability tables. Another kind of model brings its own, and with it
    has the leaps, the stop rule, the clock and the curvature of the one EM.

    Attributes
    ----------
    prior : float or array
        Dirichlet pseudo-counts; 0.0 where there are no tables.
    """

    @property
    def prior(self) -> float | np.ndarray:
        """Dirichlet pseudo-counts; 0.0 where there are no tables."""

    @property
    def has_metric(self) -> bool:
        """Whether :meth:`metric` is known, so that the curvature can decide when EM ends."""

    def prepare(self) -> None:
        """Decide once how the work is shared, before the first step."""

    def threads(self) -> AbstractContextManager[Objective]:
        """Return a context with the same objective and its threads ready."""

    def for_one_thread(self) -> Objective:
        """Return the same objective for a worker, which can be pickled."""

    def step(
        self, tables: np.ndarray, weightings: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log-likelihoods and objectives at points, (n_starts,), and where one EM iteration leads from each."""

    def normalise(self, points: np.ndarray, fallback: np.ndarray) -> np.ndarray:
        """Return the allowed points next to those that a leap led to; the fallback is where EM was."""

    def moved(self, point: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the allowed point next to ``point + change``."""

    def metric(self, point: np.ndarray) -> Metric:
        """Return how changes around a point are measured."""


class Point(NamedTuple):
    """Tables of one start, and what a step of EM from there has shown.

    Attributes
    ----------
    tables : array, shape (size,)
    log_likelihood, objective : float
        At these tables, without and with the prior.
    new : array like ``tables``
        The tables after the M-step.
    """

    tables: np.ndarray
    log_likelihood: float
    objective: float
    new: np.ndarray


@cache
def _divide_rows() -> Callable:
    """Return the compiled code; the compiler loads at first use, and would not survive Ctrl-C halfway."""
    with parallel.uninterrupted(heed=True):
        from pgmpy_latent.inference.kernels.tables import divide_rows

        return divide_rows


def m_step(
    counts: np.ndarray, layout: Layout, prior: float | np.ndarray, tables: np.ndarray, free: np.ndarray | None
) -> np.ndarray:
    """Return the tables that maximise the expected complete log-likelihood plus ``prior * log(tables)``.

    Parameters
    ----------
    counts, tables : arrays, shape (..., size)
        Expected counts, and the tables they were computed with.
    layout : Layout
        Where the tables lie.
    prior : float or array of shape (size,)
        Dirichlet pseudo-count of every entry: ``(prior + count) / sum(prior + count)``.
    free : bool array, shape (size,), optional
        Entries that may change.

    Returns
    -------
    array like ``tables``
        A row without any count keeps its old values, since every choice is as good.

    Examples
    --------
    >>> layout = Layout([(1, 2), (2, 2)])
    >>> m_step(np.array([3.0, 1, 2, 1, 0, 0]), layout, 0.0, np.full(6, 0.5), None)
    array([0.75      , 0.25      , 0.66666667, 0.33333333, 0.5       ,
           0.5       ])
    """
    prior = layout.pseudo_counts(prior)
    if np.ndim(prior) == 0 and counts.ndim == 2 and layout.numeric is None:
        new = np.empty(counts.shape)
        all_entries = np.ones(layout.size, dtype=np.bool_) if free is None else free
        tables, counts = np.ascontiguousarray(tables), np.ascontiguousarray(counts)
        _divide_rows()(counts, float(prior), tables, all_entries, layout.row_lengths, new)
        return new
    counts = counts + prior
    sums = layout.row_sums(counts)
    known = sums > 0
    new = np.divide(counts, sums, out=tables.copy(), where=known)
    if layout.numeric is not None:
        new = layout.numeric.settled(new, counts)
    return new if free is None else np.where(free, new, tables)


def log_prior(tables: np.ndarray, prior: float | np.ndarray) -> np.ndarray | float:
    """Return the sum of ``prior * log(tables)``, without its constant: a number, or one per start.

    Examples
    --------
    >>> log_prior(np.array([0.5, 0.5]), 1.0)
    -1.386294...
    """
    if isinstance(prior, float) and prior == 0.0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = prior * np.log(tables)
    if isinstance(prior, np.ndarray):
        terms = np.where(prior > 0, terms, 0.0)
    total = terms.sum(axis=-1)
    return float(total) if np.ndim(total) == 0 else total


@dataclass(frozen=True)
class Problem:
    """The objective of EM, log-likelihood plus prior, as a function of the free tables.

    Attributes
    ----------
    engine : Engine
        Computes expected counts.
    prior : float or array
        Dirichlet pseudo-counts.
    free : bool array, shape (n_tables,), optional
        Tables that may change; all by default.
    n_threads : int
        Threads that share the starts, and the rows of large tables. The result does not depend on it.
    pool : Executor, optional
        These threads, while :meth:`threads` keeps them ready.
    constraints : Constraints, optional
        What must hold for the tables in every step. The prior is then that of ``constraints.pseudo_counts``.
    """

    engine: Engine
    prior: float | np.ndarray = 0.0
    free: np.ndarray | None = None
    n_threads: int = 1
    pool: Executor | None = None
    constraints: Constraints | None = None

    @cached_property
    def free_entries(self) -> np.ndarray | None:
        """For every entry of the flat tables, whether it may change on its own."""
        if self.constraints is not None:
            return self.constraints.movable
        return None if self.free is None else np.asarray(self.free)[self.engine.layout.table_of_entry]

    @property
    def liftable(self) -> np.ndarray | None:
        """For every entry, whether it is a probability that may change on its own; None if all are."""
        numeric, free = self.engine.layout.numeric, self.free_entries
        if numeric is None:
            return free
        return ~numeric.entries if free is None else free & ~numeric.entries

    @contextmanager
    def threads(self) -> Iterator[Problem]:
        """Yield the same problem with its threads ready, for as long as the block runs."""
        if self.n_threads <= 1:
            yield self
            return
        with parallel.pool_of_threads(self.n_threads) as pool:
            yield replace(self, pool=pool)

    def for_one_thread(self) -> Problem:
        """Return the same problem for a worker, which can be pickled."""
        return Problem(self.engine, self.prior, self.free, constraints=self.constraints)

    def row_weights(self, counts: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return, for every entry, the weight of its row: the multiplier of "the row sums to one"."""
        if self.constraints is not None:
            return self.constraints.row_weights(counts, tables)
        return self.engine.layout.row_sums(counts)

    def shared_counts(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log-likelihoods and counts of many starts, which the threads share if there are any.

        Threads that are left over share the rows of the last starts, if the engine is large.
        """
        n, is_large = len(tables), self.engine.is_large
        if self.pool is None or (n == 1 and not is_large):
            return self.engine.expected_counts(tables, self.free)
        alone = n - n % self.n_threads if is_large else n
        parts = np.array_split(tables[:alone], min(self.n_threads, alone)) if alone else []
        results = list(self.pool.map(lambda part: self.engine.expected_counts(part, self.free), parts))
        if alone < n:
            results.append(self.engine.expected_counts(tables[alone:], self.free, pool=self.pool))
        return np.concatenate([r[0] for r in results]), np.concatenate([r[1] for r in results])

    @property
    def has_metric(self) -> bool:
        """Whether the information of all tables is known in closed form."""
        numeric = self.engine.layout.numeric
        return numeric is None or numeric.has_metric

    def prepare(self) -> None:
        """Let the engine decide how threads would share rows, once for all steps."""
        _ = self.engine.is_large

    def step(
        self, tables: np.ndarray, weightings: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one EM iteration from each of several starts, each with the weighting it names if there are several.

        Returns
        -------
        log_likelihoods, objectives : arrays, shape (n_starts,)
            At the given tables, without and with the prior.
        new : array like ``tables``
            The tables after the M-step.
        """
        if self.pool is None or weightings is not None:  # starts with weightings of their own need one thread
            log_likelihoods, counts = self.engine.expected_counts(tables, self.free, weightings)
        else:
            log_likelihoods, counts = self.shared_counts(tables)
        objectives = log_likelihoods + log_prior(tables, self.prior)
        if not np.isfinite(counts).all():
            # a row is so unlikely that dividing by its probability overflows: as good as impossible
            overflown = ~np.isfinite(counts).all(axis=1)
            objectives, counts[overflown] = np.where(overflown, -np.inf, objectives), 0.0
        if self.constraints is not None:
            new = self.constraints.m_step(counts + self.prior if np.any(self.prior) else counts, tables)
            numeric = self.engine.layout.numeric
            return log_likelihoods, objectives, new if numeric is None else numeric.settled(new, counts)
        new = m_step(counts, self.engine.layout, self.prior, tables, self.free_entries)
        return log_likelihoods, objectives, new

    def moved(self, point: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the tables next to changed ones; a probability keeps a share of itself."""
        least, numeric = LEAST_SHARE * point, self.engine.layout.numeric
        if numeric is not None:
            least[numeric.entries] = -np.inf
        return self.normalise(np.maximum(point + change, least), point)

    def metric(self, point: np.ndarray) -> TableMetric:
        """Return how changes of tables are measured."""
        _, counts = self.engine.expected_counts(point[None], self.free, pool=self.pool)
        weights = self.row_weights(counts[0] + self.prior, point)
        return TableMetric.of(point, weights, self.engine.layout.numeric)

    def normalise(self, tables: np.ndarray, fallback: np.ndarray) -> np.ndarray:
        """Return tables whose rows sum to one; entries at or below zero, and frozen ones, are the fallback's."""
        # an entry that is zero in the fallback may stay zero: EM could not have moved it
        positive = np.where((tables > 0) | (fallback == 0), np.maximum(tables, 0), fallback)
        sums = self.engine.layout.row_sums(positive)
        normalised = np.divide(positive, sums, out=fallback.copy(), where=sums > 0)
        numeric = self.engine.layout.numeric
        if numeric is not None:
            normalised = numeric.settled(normalised)
        if self.constraints is not None:
            return self.constraints.project(normalised)
        entries = self.free_entries
        return normalised if entries is None else np.where(entries, normalised, fallback)


#: One iteration of EM as a function of the problem; see :meth:`Problem.step`.
step = Problem.step


def narrowing_stages(n_starts: int, q: float) -> list[tuple[int, int]]:
    """Return pairs (iterations, number of starts that go on): the best ``1/q`` after 1, 3, 7, 15, ... iterations.

    With ``q=2`` this is also the pyramid of Chickering and Heckerman.

    Examples
    --------
    >>> narrowing_stages(8, 2)
    [(1, 4), (2, 2), (4, 1)]
    """
    stages, iterations = [], 1
    while n_starts > 1:
        n_starts = max(1, min(n_starts - 1, int(np.ceil(n_starts / q))))
        stages.append((iterations, n_starts))
        iterations *= 2
    return stages


def best_of_groups(values: np.ndarray, groups: np.ndarray, n_best: int) -> np.ndarray:
    """Return the positions of the best of every group, group by group, best first.

    Examples
    --------
    >>> best_of_groups(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), 2).tolist()
    [1, 2, 3]
    """
    best_first = np.lexsort((-values, groups))
    rank = np.arange(len(values)) - np.searchsorted(groups[best_first], groups[best_first])
    return best_first[rank < n_best]


def narrowed_in_groups(
    engine: Engine,
    starts: np.ndarray,
    groups: np.ndarray,
    stages: Sequence[tuple[int, int]],
    prior: float = 0.0,
    clock: Clock | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take many starts of several problems that differ in their weights through a few iterations of plain EM.

    Parameters
    ----------
    engine : Engine
        With one weighting per problem.
    starts : array, shape (n_starts, size)
        Flat tables to begin with.
    groups : int array, shape (n_starts,)
        The problem, and so the weighting, of each start.
    stages : list of (iterations, number of starts kept in each group)
        See :func:`narrowing_stages`.
    prior : float
        Dirichlet pseudo-count.
    clock : Clock, optional
        Checked after every iteration; raises when its time is up.

    Returns
    -------
    tables : array, shape (n_left, size)
    log_likelihoods : array, shape (n_left,)
        At these tables.
    groups : int array, shape (n_left,)
        Of these starts, in ascending order; starts that are impossible from the outset are left out.

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> plan = compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)})
    >>> engine = TreeEngine(plan, [2], np.array([[1.0, 1.0], [1.0, 3.0]]))
    >>> narrowed_in_groups(engine, np.full((2, 2), 0.5), np.array([0, 1]), [(1, 1)])[0].tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    values = np.zeros(len(starts))
    for iterations, n_left in stages:
        for _ in range(iterations):
            values, counts = engine.expected_counts(starts, None, groups)
            starts = m_step(counts, engine.layout, prior, starts, None)
            if clock is not None:
                clock.check()
        if not iterations:
            values = engine.log_likelihood(starts, groups)
        chosen = best_of_groups(values, groups, n_left)
        chosen = chosen[np.isfinite(values[chosen])]
        starts, groups = starts[chosen], groups[chosen]
    return starts, engine.log_likelihood(starts, groups), groups


class Runner(Protocol):
    """Several starts that can be taken further and thinned out."""

    @property
    def done(self) -> bool:
        """Whether no further iteration is allowed."""

    def advance(self) -> np.ndarray:
        """Take every start one iteration further; return how good each is."""

    def keep(self, which: np.ndarray) -> None:
        """Run on with some of the starts only, given by index in ascending order."""


def race(
    runner: Runner,
    stages: Sequence[tuple[int, int]],
    groups: np.ndarray | None = None,
    judge: Callable[[np.ndarray], np.ndarray] = lambda values: values,
) -> None:
    """Advance many starts and keep fewer after each stage.

    Parameters
    ----------
    runner : Runner
        The starts.
    stages : list of (iterations, number of starts kept)
        See :func:`narrowing_stages`.
    groups : int array, shape (n_starts,), optional
        Starts of one group race against each other only; all belong to one by default.
    judge : callable, optional
        Returns the values to compare at the end of a stage, given those of the runner; by default these themselves.
    """
    for iterations, n_left in stages:
        for _ in range(iterations):
            if runner.done:
                return
            values = runner.advance()
        groups = np.zeros(len(values), np.int64) if groups is None else groups
        chosen = np.sort(best_of_groups(judge(values), groups, n_left))
        runner.keep(chosen)
        groups = groups[chosen]
