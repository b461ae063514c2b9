"""The last step: parameters that solve their equations, by EM and Newton steps; and their covariance over all steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pgmpy_latent.diagnostics.information_matrix import STEP
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.relations.evidence import ClassWeights, Evidence, Method
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.tables.survey import Design

#: Most iterations of EM, after how many Newton's method is tried first and then again and again, and most of its steps.
MOST_ITERATIONS, FIRST_TRY, BEFORE_NEWTON, NEWTON_STEPS = 5_000, 5, 20, 20
#: Size of a Newton step, relative to the parameters, below which it was the last.
SMALL_STEP = 1e-9
#: Gain of the objective, in nats, below which it is at its maximum although some parameter still grows.
LITTLE_GAIN = 1e-8
#: Step of differences by parameters of the last step, relative to their size, and by classification errors.
RELATIVE_STEP, ERROR_STEP = 1e-5, 1e-6


class Part(Protocol):
    """What relates classes and z: a model with parameters theta."""

    def start(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return parameters for known classes."""

    def log_densities(self, theta: np.ndarray) -> np.ndarray:
        """Return the log density of class and z that the model gives every row: (n_rows, n_classes)."""

    def update(self, theta: np.ndarray, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the parameters that maximise the likelihood of classes with this posterior."""

    def equations(self, theta: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return what every row adds to the equations that the estimate solves: (n_rows, n_parameters)."""

    def movable(self, theta: np.ndarray) -> np.ndarray:
        """Return which parameters can move; others are at the boundary."""


@held_by_checkpoints("estimate")
@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters of the last step.

    Attributes
    ----------
    theta : array, shape (n_parameters,)
        The parameters.
    objective : float
        What they maximise: the log-likelihood of the evidence, if it is one.
    converged : bool
        Whether the parameters solve their equations.
    trace : tuple of float
        The objective at every iteration; it never falls.
    """

    theta: np.ndarray
    objective: float
    converged: bool
    trace: tuple[float, ...]


def estimated(
    part: Part, evidence: Evidence, weights: np.ndarray, posterior: np.ndarray, clock: Clock | None = None
) -> Estimate:
    """Return the parameters of the last step: EM from those for a posterior, ended by Newton steps.

    A clock whose time is up raises.

    Examples
    --------
    Half of the rows are in each class for sure.

    >>> from pgmpy_latent.relations.logit import LogitPart
    >>> part = LogitPart(np.ones((1, 1)), np.array([0, 0]), 2, 0)
    >>> estimate = estimated(part, ClassWeights(np.eye(2)), np.ones(2), np.eye(2))
    >>> estimate.theta.round(4).tolist(), round(estimate.objective, 4)
    ([0.0], -1.3863)
    """

    def objective(theta: np.ndarray) -> float:
        return float(weights @ evidence.objective(part.log_densities(theta)))

    if isinstance(evidence, ClassWeights):
        theta = part.start(evidence.weights, weights)
        value = objective(theta)
        return Estimate(theta, value, True, (value,))
    theta = part.start(posterior, weights)
    trace = [objective(theta)]
    for iteration in range(1, MOST_ITERATIONS + 1):
        theta = part.update(theta, evidence.posterior(part.log_densities(theta)), weights)
        trace.append(objective(theta))
        if clock is not None:
            clock.check()
        if iteration == FIRST_TRY or iteration % BEFORE_NEWTON == 0:
            newton = _solved(part, evidence, weights, theta)
            if newton is not None and (value := objective(newton)) >= trace[-1] - 1e-9 * abs(trace[-1]):
                return Estimate(newton, value, True, (*trace, max(value, trace[-1])))
            if iteration > BEFORE_NEWTON and trace[-1] - trace[-1 - BEFORE_NEWTON] < LITTLE_GAIN:
                return Estimate(theta, trace[-1], True, tuple(trace))
    return Estimate(theta, trace[-1], False, tuple(trace))


def _solved(part: Part, evidence: Evidence, weights: np.ndarray, theta: np.ndarray) -> np.ndarray | None:
    """Return the solution of the equations by Newton's method, or None if it does not come close.

    Where a parameter grows without bound, steps stay long, but what they promise to gain vanishes.
    """
    free = part.movable(theta)
    theta = theta.copy()
    promise = np.inf
    with np.errstate(all="ignore"):
        for _ in range(NEWTON_STEPS):
            total = _total(part, evidence, weights, theta)[free]
            slopes = slopes_by_theta(part, evidence, weights, theta)[np.ix_(free, free)]
            if not (np.isfinite(slopes).all() and np.isfinite(total).all()):
                return None
            try:
                step = np.linalg.solve(slopes, -total)
            except np.linalg.LinAlgError:
                return None
            theta[free] += step
            promise = abs(float(total @ step))
            if (part.movable(theta) != free).any():
                return None
            if (abs(step) <= SMALL_STEP * (1 + abs(theta[free]))).all():
                return theta
    return theta if promise < LITTLE_GAIN else None


def _total(part: Part, evidence: Evidence, weights: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the sums of the equations over all rows."""
    return weights @ part.equations(theta, evidence.posterior(part.log_densities(theta)))


def slopes_by_theta(part: Part, evidence: Evidence, weights: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the derivatives of the sums of the equations by the parameters: (n_parameters, n_parameters).

    Examples
    --------
    >>> from pgmpy_latent.relations.logit import LogitPart
    >>> part = LogitPart(np.ones((1, 1)), np.array([0, 0]), 2, 0)
    >>> slopes_by_theta(part, ClassWeights(np.eye(2)), np.ones(2), np.zeros(1)).round(4).tolist()
    [[-0.5]]
    """
    steps = RELATIVE_STEP * np.maximum(abs(theta), 1e-2)
    columns = []
    for at, step in enumerate(steps):
        up, down = theta.copy(), theta.copy()
        up[at] += step
        down[at] -= step
        ends = [_total(part, evidence, weights, moved) for moved in (up, down)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, axis=1)


def covariance(part: Part, method: Method, theta: np.ndarray, design: Design, clock: Clock | None = None) -> np.ndarray:
    """Return the covariance of the parameters over all steps; NaN for parameters at the boundary.

    A clock whose time is up raises.

    Every row moves the estimate by its own equations, by the classification errors and by the tables of step one. With
    u the sum of the three and A the derivative of the equations, the covariance is ``inv(A) B inv(A)'``, B being the
    variance of the sum of u that differences between units show.
    """
    step_one, weights = method.step_one, method.weights
    evidence = method.evidence(step_one.tables)

    def total(changed: Evidence) -> np.ndarray:
        if clock is not None:
            clock.check()
        return _total(part, changed, weights, theta)

    moves = part.equations(theta, evidence.posterior(part.log_densities(theta)))
    moves = moves + step_one.influence @ _slopes_by_tables(method, total).T
    if method.uses_errors:
        moves = moves + _influence_of_errors(method) @ _slopes_by_errors(method, total).T
    free = part.movable(theta)
    slopes = slopes_by_theta(part, evidence, weights, theta)
    inverse = np.linalg.pinv(slopes[np.ix_(free, free)])
    found = np.full((len(theta), len(theta)), np.nan)
    found[np.ix_(free, free)] = inverse @ design.scatter(moves[:, free]) @ inverse.T
    return found


def _slopes_by_tables(method: Method, total: Callable[[Evidence], np.ndarray]) -> np.ndarray:
    """Return the derivatives of the sums by the parameters of step one, the classification errors going with them."""
    coordinates = method.step_one.coordinates
    ups, downs = coordinates.moved(STEP), coordinates.moved(-STEP)
    columns = [
        (total(method.evidence(up)) - total(method.evidence(down))) / (2 * STEP)
        for up, down in zip(ups, downs, strict=True)
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((len(total(method.evidence(coordinates.tables))), 0))


def _slopes_by_errors(method: Method, total: Callable[[Evidence], np.ndarray]) -> np.ndarray:
    """Return the derivatives of the sums by the classification errors: (n_parameters, n_classes ** 2)."""
    tables = method.step_one.tables
    errors = method.errors(tables)
    columns = []
    for at in np.ndindex(errors.shape):
        up, down = errors.copy(), errors.copy()
        up[at] += ERROR_STEP
        down[at] = max(down[at] - ERROR_STEP, 0.0)
        ends = total(method.evidence(tables, up)) - total(method.evidence(tables, down))
        columns.append(ends / (up[at] - down[at]))
    return np.stack(columns, axis=1)


def _influence_of_errors(method: Method) -> np.ndarray:
    """Return how much a row of weight one moves the classification errors at given tables: (n_rows, n_classes ** 2)."""
    tables = method.step_one.tables
    shares, posteriors, errors = method.shares(tables), method.step_one.posteriors(tables), method.errors(tables)
    sizes = method.weights @ posteriors
    moves = posteriors[:, :, None] * (shares[:, None, :] - errors[None]) / sizes[None, :, None]
    return moves.reshape(len(moves), -1)
