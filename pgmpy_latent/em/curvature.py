"""How much EM has left to gain near a point, and in which direction, by the curvature of the objective.

EM shrinks errors by its Jacobian ``J``. A direction in which that is nearly one has next to no share in a step, and may
hold all that is left to gain. A step ``r`` is ``(I - J) e`` for the error ``e``, and ``I - J`` is symmetric in the
metric of the completed data (weight of a row over entry). So conjugate gradients find ``e``, and what it is worth, by
one step of EM from a neighbouring point per product. A direction that curves upwards leads away from a saddle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.step import Objective, Point

#: Most products with ``I - J``: once there is something left to gain, which mostly shows in four to eight; and before.
PRODUCTS, MOST_PRODUCTS = 12, 40
#: Distance of the neighbouring point: the largest relative change of an entry.
NEARBY = 1e-4
#: Factor on the gain of the quadratic approximation: an entry on its way to zero gains twice as much.
CAUTION = 2.0
#: Curvature, relative to that of the completed data, below which it cannot be told from zero.
FLAT = 1e-7
#: Least slowness of EM to allow for: the ratio of an error to the step that EM takes to reduce it.
SLOW = 1e4
#: Products end when they would add less than this share of the tolerance.
NEGLIGIBLE = 0.02
#: Step lengths that are tried, and the longest step away from a saddle.
SHARES, AWAY = 0.5 ** np.arange(8), 0.1


@dataclass(frozen=True)
class GainLeft:
    """The gain that is left at a point, by the curvature.

    Attributes
    ----------
    gain : float
        Nats that are left to gain; infinite at a saddle.
    ways : tuple of arrays like the tables
        Directions to try: to the maximum of the quadratic approximation; at a saddle, away from it first.
    n_steps : int
        Passes over the rows that the computation took.
    """

    gain: float
    ways: tuple[np.ndarray, ...]
    n_steps: int


def gain_left(problem: Objective, tables: np.ndarray, new: np.ndarray, atol: float) -> GainLeft:
    """Return the gain that is left near some tables, and the direction of it.

    Parameters
    ----------
    problem : Objective
        What EM maximises.
    tables, new : arrays, shape (size,)
        Where EM hardly moves any more, and the tables after its next step.
    atol : float
        Nats that matter.

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> from pgmpy_latent.em.step import Problem
    >>> engine = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)}), [2], np.array([49.0, 51.0]))
    >>> left = gain_left(Problem(engine), np.array([0.5, 0.5]), np.array([0.49, 0.51]), 1e-3)
    >>> round(left.gain, 3), left.ways[0].round(3).tolist()
    (0.04, [-0.01, 0.01])
    """
    metric = problem.metric(tables)
    moving = metric.moving
    first = np.where(moving, new - tables, 0.0)
    error, rest, way = np.zeros_like(tables), first, first
    size, gain, longest, n_steps = metric.inner(first, first), 0.0, SLOW, 1
    while n_steps <= (PRODUCTS if gain > atol else MOST_PRODUCTS) and CAUTION * longest * size > NEGLIGIBLE * atol:
        share = NEARBY / metric.largest_change(way)
        near = tables + share * way
        _, _, beyond = problem.step(near[None])
        n_steps += 1
        product = (first - np.where(moving, beyond[0] - near, 0.0)) / share
        curvature = metric.inner(way, product)
        flat = FLAT * metric.inner(way, way)
        if curvature < -flat:
            return GainLeft(np.inf, (way * (AWAY / np.abs(way).max()), error), n_steps)
        if not curvature > flat:
            break
        length = size / curvature
        error, rest = error + length * way, rest - length * product
        gain, longest, old = gain + length * size / 2, max(longest, length), size
        size = metric.inner(rest, rest)
        way = rest + size / old * way
    return GainLeft(CAUTION * gain, (error,), n_steps)


def uphill(
    problem: Objective, tables: np.ndarray, value: float, ways: tuple[np.ndarray, ...]
) -> tuple[Point | None, int]:
    """Return a point with a higher objective in one of some directions, if there is one, and the passes it took.

    Parameters
    ----------
    problem : Objective
        What EM maximises.
    tables : array, shape (size,)
        Where EM hardly moves any more.
    value : float
        The objective there.
    ways : sequence of arrays like ``tables``
        From :func:`gain_left`.

    Returns
    -------
    point : Point or None
    n_steps : int
        Passes over the rows.
    """
    n_steps = 0
    for way in ways:
        best: Point | None = None
        for share in SHARES:
            point = problem.moved(tables, share * way)
            log_likelihoods, objectives, new = problem.step(point[None])
            n_steps += 1
            if best is not None and objectives[0] <= best.objective:
                break
            if objectives[0] > value:
                best = Point(point, log_likelihoods[0], objectives[0], new[0])
        if best is not None:
            return best, n_steps
    return None, n_steps
