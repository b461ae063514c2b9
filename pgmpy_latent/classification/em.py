"""EM for latent classification models: one iteration, and many models run to their ends side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from pgmpy_latent.classification.model import (
    Moments,
    Parameters,
    RaggedRows,
    Rows,
    joined,
    kernels,
    moments,
    own,
    suitable,
)
from pgmpy_latent.em.step import best_of_groups, race
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock

#: Weight of the old value of a coefficient, relative to the rows; it stays where no row depends on it.
INERTIA = 1e-9
#: Smallest variance of a latent in a class, where a usual one is one.
SMALLEST_VARIANCE = 1e-6
#: After fewer iterations than this, models are settled where they are; see :meth:`_Climb.settle`.
FEW = 3
#: Numbers of a batch that are worked on at a time; more would not stay in the processor's cache.
CHUNK = 400_000


@dataclass(frozen=True)
class Problem:
    """Rows of known classes, and what the parameters must satisfy.

    Attributes
    ----------
    groups : list of list of Rows and RaggedRows
        For every class, its rows in groups that miss the same attributes, and others.
    weights : array, shape (problems, n_rows)
        Weightings of the rows: one, or one per fold.
    tied : bool
        Whether the noise is the same in all components.
    offset : bool
        Whether the attributes have an offset.
    noise_floor : float
        Smallest variance of the noise.
    shrinkage : float
        How much the classes agree about the variances of the latents. See :func:`log_penalty`.
    """

    groups: Sequence[Sequence[Rows | RaggedRows]]
    weights: np.ndarray
    tied: bool = True
    offset: bool = True
    noise_floor: float = 1e-2
    shrinkage: float = 0.0


def step(
    problem: Problem, model: Parameters, numbers: np.ndarray, edges: np.ndarray | None = None
) -> tuple[np.ndarray, Parameters]:
    """Take one EM iteration with every model of a batch.

    Parameters
    ----------
    problem : Problem
    model : Parameters
    numbers : int array, shape (models,)
        Which weighting each model has.
    edges : bool array, shape (models, components, attributes, latents), optional
        Loadings that may differ from zero.

    Returns
    -------
    objectives : array, shape (models,)
        Log-likelihood at the given parameters, and the penalty.
    new : Parameters
        After the M-step.
    """
    log_likelihoods, by_class = expected(problem, model, numbers)
    return log_likelihoods + log_penalty(problem, model), m_step(problem, model, by_class, edges)


def log_penalty(problem: Problem, model: Parameters) -> np.ndarray:
    """Return the penalty of the log-likelihoods that lets classes borrow variances from each other.

    It is ``-s/2`` times the sum, over latents and classes, of the logarithm of a variance relative to the harmonic mean
    of the classes: zero where all classes have the same variance, and below zero elsewhere, whatever the scale of a
    latent. In the M-step a class gets ``s`` rows more, whose variance is that mean.

    Examples
    --------
    >>> ones = np.ones((1, 1, 1, 1))
    >>> model = Parameters(np.zeros((1, 2, 1)), np.zeros((1, 2, 1)), np.array([[[1.0], [2.0]]]), ones, ones[0], ones[0])
    >>> log_penalty(Problem([], np.ones((1, 2)), shrinkage=4.0), model).round(4).tolist()
    [-0.2356]
    """
    if not problem.shrinkage:
        return np.zeros(len(model.variances))
    logs = np.log(model.variances / _common_variance(model))
    return -0.5 * problem.shrinkage * logs.sum(axis=(1, 2))


def _common_variance(model: Parameters) -> np.ndarray:
    """Return the harmonic mean of the classes' variances, which the penalty likes best."""
    return 1.0 / (1.0 / model.variances).mean(axis=1, keepdims=True)


def expected(problem: Problem, model: Parameters, numbers: np.ndarray) -> tuple[np.ndarray, list[Moments]]:
    """Return log-likelihoods, and the expected sums of each class."""
    total = np.zeros(len(numbers))
    by_class = []
    for label, groups in enumerate(problem.groups):
        of_class: Moments | None = None
        for rows in suitable(groups, model):
            logs, sums = moments(model, label, rows, problem.weights[:, rows.at][numbers])
            total += logs
            of_class = sums if of_class is None else of_class + sums
        if of_class is None:
            raise ValueError(f"class {label} has no rows")
        by_class.append(of_class)
    return total, by_class


def m_step(problem: Problem, old: Parameters, by_class: Sequence[Moments], edges=None) -> Parameters:
    """Return the parameters that maximise the expected log-likelihood of rows and hidden variables."""
    tiny = np.finfo(float).tiny
    masses = np.stack([sums.mass for sums in by_class], axis=1)
    class_mass = masses.sum(axis=-1, keepdims=True)
    log_weights = np.log(np.maximum(masses / class_mass, tiny))
    means = np.stack([sums.latents.sum(axis=1) for sums in by_class], axis=1) / class_mass
    squares = np.stack([np.diagonal(sums.latent_products, axis1=-2, axis2=-1).sum(axis=1) for sums in by_class], axis=1)
    scatter, borrowed = squares - class_mass * means * means, problem.shrinkage
    variances = np.maximum((scatter + borrowed * _common_variance(old)) / (class_mass + borrowed), SMALLEST_VARIANCE)
    total = sum_of(by_class)
    loadings, offsets, residuals = _regression(problem, old, total, edges)
    noise = _noise(problem, old, total.mass, residuals)
    return Parameters(log_weights, means, variances, loadings, offsets, noise)


def sum_of(by_class: Sequence[Moments]) -> Moments:
    """Return the sums over all classes."""
    return reduce(add, by_class)


def _regression(problem: Problem, old: Parameters, total: Moments, edges):
    """Regress the attributes on the latents and a constant, in every component."""
    latents = total.latents.shape[-1]
    size = latents + 1 if problem.offset else latents
    products = np.empty((*total.mass.shape, latents + 1, latents + 1))
    products[..., :latents, :latents] = total.latent_products
    products[..., :latents, latents] = products[..., latents, :latents] = total.latents
    products[..., latents, latents] = total.mass
    cross = np.concatenate([total.cross_products, total.attributes[..., None]], axis=-1)
    before = np.concatenate([old.loadings, old.offsets[..., None]], axis=-1)
    products, cross, before = products[..., :size, :size], cross[..., :size], before[..., :size]
    # a step that is held back a little towards the old coefficients still raises the likelihood
    at = np.arange(size)
    inertia = INERTIA * (products[..., at, at] + total.mass.mean(axis=1)[:, None, None])
    free = np.ones((1, 1, 1, 1), bool)
    if edges is not None:
        free = np.concatenate([edges, np.ones((*edges.shape[:-1], size - latents), bool)], axis=-1)
    coefficients, residuals = np.empty(cross.shape), np.empty(cross.shape[:-1])
    given = (products, cross, total.attribute_squares, inertia, before, free)
    kernels().regressions(*map(own, given), edges is None, coefficients, residuals)
    offsets = coefficients[..., latents] if problem.offset else old.offsets
    return coefficients[..., :latents], offsets, np.maximum(residuals, 0.0)


def _noise(problem: Problem, old: Parameters, mass: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Return the variances of the residuals, over all rows or those of each component."""
    if problem.tied:
        residuals, mass = residuals.sum(axis=1, keepdims=True), mass.sum(axis=1, keepdims=True)
    inertia = INERTIA * mass.sum(axis=1, keepdims=True)[..., None]
    noise = np.maximum((residuals + inertia * old.noise) / (mass[..., None] + inertia), problem.noise_floor)
    return np.broadcast_to(noise, old.noise.shape).copy() if problem.tied else noise


def parts_of(models: Parameters, n_rows: float) -> list[slice]:
    """Cut a batch into pieces that fit into the processor's cache; never by the number of workers.

    Parameters
    ----------
    models : Parameters
        The batch.
    n_rows : float
        Rows that are looked at together.
    """
    count, _, components, attributes, latents = models.shape
    size = max(1, int(CHUNK / (components * n_rows * min(attributes, latents))))
    return [slice(begin, begin + size) for begin in range(0, count, size)]


@dataclass(frozen=True)
class Ended:
    """Models that EM took to their ends.

    Attributes
    ----------
    models : Parameters
    log_likelihoods : array, shape (models,)
        At these parameters, with the penalty.
    numbers : int array, shape (models,)
        Which weighting each model has.
    edges : bool array or None
        Loadings that may differ from zero.
    traces : list of list of float
        The same at every iteration.
    interrupted : bool
        Whether Ctrl-C or the clock ended EM early.
    """

    models: Parameters
    log_likelihoods: np.ndarray
    numbers: np.ndarray
    edges: np.ndarray | None
    traces: list[list[float]]
    interrupted: bool = False


@dataclass(frozen=True)
class _Batch:
    """Models in step: ``before -> models`` is the last iteration; ``values`` are the log-likelihoods at ``before``."""

    models: Parameters
    before: Parameters
    values: np.ndarray
    gains: np.ndarray
    numbers: np.ndarray
    positions: np.ndarray
    edges: np.ndarray | None

    def take(self, which) -> _Batch:
        """Return some of the models."""
        return _Batch(
            self.models.take(which),
            self.before.take(which),
            self.values[which],
            self.gains[which],
            self.numbers[which],
            self.positions[which],
            None if self.edges is None else self.edges[which],
        )


class _RunningModels:
    """EM on a batch of models, one iteration at a time for all; see :func:`run_em`."""

    def __init__(
        self, problem: Problem, starts: Parameters, numbers: np.ndarray, edges, max_iter: int, clock: Clock | None
    ):
        self.problem = problem
        low, high = np.full(len(numbers), -np.inf), np.full(len(numbers), np.inf)
        # always replaced as a whole, so that an interrupt finds it in order
        self.batch = _Batch(starts, starts, low, high, numbers, np.arange(len(numbers)), edges)
        self.traces: list[list[float]] = [[] for _ in numbers]
        self.max_iter = max_iter
        self.clock = clock
        self.n_iter = 0

    @property
    def done(self) -> bool:
        return self.n_iter >= self.max_iter or not len(self.batch.numbers)

    def advance(self) -> np.ndarray:
        """Take every model one iteration further; return the log-likelihoods before it."""
        old = self.batch
        results: list[tuple[np.ndarray, Parameters]] = []
        interrupt = None
        for part in parts_of(old.models, self.problem.weights.shape[1] / old.models.shape[1]):
            interrupt = self._interrupt(old, part.start) if results else None
            if interrupt is not None:
                old = old.take(slice(0, part.start))
                break
            edges = None if old.edges is None else old.edges[part]
            results.append(step(self.problem, old.models.take(part), old.numbers[part], edges))
        values = np.concatenate([logs for logs, _ in results])
        new = joined([models for _, models in results])
        self.batch = _Batch(new, old.models, values, values - old.values, old.numbers, old.positions, old.edges)
        self.n_iter += 1
        for position, value in zip(old.positions, values, strict=True):
            self.traces[position].append(float(value))
        if interrupt is not None:
            raise interrupt
        self._check_time()
        return values

    def _check_time(self) -> None:
        """Raise if the time is up."""
        if self.clock is not None:
            self.clock.check()

    def _interrupt(self, old: _Batch, n_done: int) -> BaseException | None:
        """Return what ends the first iteration after some of the models; in later ones it is raised.

        Models that have taken no step are worth nothing, so that every weighting gets one that has.
        """
        try:
            self._check_time()
        except STOP_SIGNALS as reason:
            if self.n_iter:
                raise
            if len(np.unique(old.numbers[:n_done])) == len(np.unique(old.numbers)):
                return reason
        return None

    def settle(self, fewest: bool) -> None:
        """Evaluate models that took only a step or two; otherwise the parameters before the last step would count.

        Parameters
        ----------
        fewest : bool
            Whether to do so for the best model of each weighting only, because the time is up.
        """
        if fewest:
            self.keep(np.sort(best_of_groups(self.batch.values, self.batch.numbers, 1)))
        self.clock = None
        if not self.n_iter:
            self.advance()
        batch, logs = self.batch, []
        for part in parts_of(batch.models, self.problem.weights.shape[1] / batch.models.shape[1]):
            models = batch.models.take(part)
            log_likelihoods, _ = expected(self.problem, models, batch.numbers[part])
            logs.append(log_likelihoods + log_penalty(self.problem, models))
        values = np.concatenate(logs)
        for position, value in zip(batch.positions, values, strict=True):
            self.traces[position].append(float(value))
        self.batch = replace(batch, before=batch.models, values=values)

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the models only."""
        self.batch = self.batch.take(which)

    def split_off(self, over: np.ndarray) -> Ended:
        """Return the models that are over, and go on with the others."""
        ended = self.batch.take(over)
        self.batch = self.batch.take(~over)
        # the log-likelihood is known at the parameters before the last step, so these are returned
        traces = [self.traces[position] for position in ended.positions]
        return Ended(ended.before, ended.values, ended.numbers, ended.edges, traces)


def run_em(
    problem: Problem,
    starts: Parameters,
    numbers: np.ndarray,
    *,
    stages: Sequence[tuple[int, int]] = (),
    edges: np.ndarray | None = None,
    max_iter: int = 100,
    tol: float = 3e-3,
    relative: bool = False,
    clock: Clock | None = None,
    judge: Callable[[Parameters, np.ndarray, np.ndarray], np.ndarray] = lambda models, numbers, logs: logs,
) -> Ended:
    """Run EM from many starts, thin them out on the way, and take the rest to their ends.

    Parameters
    ----------
    problem : Problem
    starts : Parameters
    numbers : int array, shape (models,)
        Which weighting each model has; models of one weighting race against each other.
    stages : list of (iterations, number of models kept for each weighting)
    edges : bool array, shape (models, components, attributes, latents), optional
        Loadings that may differ from zero.
    max_iter : int
        Most iterations of a model.
    tol : float
        Gain of an iteration, per row, below which a model ends.
    relative : bool
        Whether the tolerance is a share of the log-likelihood, and not per row.
    clock : Clock, optional
        Ends EM where it is when its time is up, as Ctrl-C does; checked after every iteration.
    judge : callable
        Returns values, of which the largest are kept, given models, their weightings and their log-likelihoods; by
        default the latter.
    """
    runner = _RunningModels(problem, starts, numbers, edges, max_iter, clock)
    enough = tol * problem.weights.sum(axis=1)
    ended, interrupted = [], False
    try:
        race(runner, stages, numbers, lambda logs: judge(runner.batch.before, runner.batch.numbers, logs))
        while not runner.done:
            runner.advance()
            batch = runner.batch
            least = tol * np.abs(batch.values) if relative else enough[batch.numbers]
            ended.append(runner.split_off(batch.gains < least))
    except STOP_SIGNALS:
        interrupted = True
    if runner.n_iter < FEW and len(runner.batch.numbers):
        runner.settle(fewest=interrupted)
    ended.append(runner.split_off(np.ones(len(runner.batch.numbers), bool)))
    return Ended(
        joined([part.models for part in ended]),
        np.concatenate([part.log_likelihoods for part in ended]),
        np.concatenate([part.numbers for part in ended]),
        None if edges is None else np.concatenate([part.edges for part in ended if part.edges is not None]),
        [trace for part in ended for trace in part.traces],
        interrupted,
    )
