"""How much is left to gain where EM seems to rest, and which way: the curvature says, where steps say too little.

EM shrinks errors by its Jacobian ``J``. A direction in which that is nearly one has next to no share in a step, and may
hold all that is left to gain. A step ``r`` is ``(I - J) e`` for the error ``e``, and ``I - J`` is symmetric in the
metric of the completed data (weight of a row over entry). So conjugate gradients find ``e``, and what it is worth, by
one step of EM from a neighbouring point per product. A direction that curves upwards leads away from a saddle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.step import Problem, step

#: Most products with ``I - J``: if there is something left, which most often shows in four to eight, and if not.
PRODUCTS, MOST_PRODUCTS = 12, 40
#: How far away the neighbouring point is: by how much the entry that changes most does so, relative to itself.
NEARBY = 1e-4
#: Entries up to here stand still; :mod:`pgmpy_latent.em.maximum` looks after them.
STILL = 1e-12
#: How many times what a quadratic promises is taken to be left: an entry on its way to zero gains twice as much.
CAUTION = 2.0
#: Curvature, relative to that of the completed data, which cannot be told from none.
FLAT = 1e-7
#: How slow EM is taken to be at least: by how many times its steps fall short of what they lead to.
SLOW = 1e4
#: Products end when they would add less than this share of the tolerance.
NEGLIGIBLE = 0.02
#: Shares of the way that are tried; how far to go from a saddle at most; and what an entry keeps of itself.
SHARES, AWAY, KEPT = 0.5 ** np.arange(8), 0.1, 0.1


@dataclass(frozen=True)
class GainLeft:
    """What the curvature says about a point.

    Attributes
    ----------
    gain : float
        Nats that are left; infinite at a saddle.
    ways : tuple of arrays like the tables
        Which way: to the top of the quadratic; at a saddle, away from it first.
    n_steps : int
        Passes over the rows that were made to find out.
    """

    gain: float
    ways: tuple[np.ndarray, ...]
    n_steps: int


def gain_left(problem: Problem, tables: np.ndarray, new: np.ndarray, atol: float) -> GainLeft:
    """Return what is left to gain near some tables, and which way.

    Parameters
    ----------
    problem : Problem
        What EM maximises.
    tables, new : arrays, shape (size,)
        Where EM seems to rest, and where its next step leads.
    atol : float
        Nats that matter.

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> engine = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)}), [2], np.array([49.0, 51.0]))
    >>> found = gain_left(Problem(engine), np.array([0.5, 0.5]), np.array([0.49, 0.51]), 1e-3)
    >>> round(found.gain, 3), found.ways[0].round(3).tolist()
    (0.04, [-0.01, 0.01])
    """
    moving = tables > STILL
    inverse = np.divide(1.0, tables, where=moving, out=np.zeros_like(tables))
    _, counts = problem.engine.expected_counts(tables[None], problem.free, pool=problem.pool)
    metric = problem.engine.layout.row_sums(counts[0] + problem.prior) * inverse
    first = np.where(moving, new - tables, 0.0)
    error, rest, way = np.zeros_like(tables), first, first
    size, gain, longest, n_steps = float(metric @ first**2), 0.0, SLOW, 1
    while n_steps <= (PRODUCTS if gain > atol else MOST_PRODUCTS) and CAUTION * longest * size > NEGLIGIBLE * atol:
        share = NEARBY / np.abs(way * inverse).max()
        near = tables + share * way
        _, _, beyond = step(problem, near[None])
        n_steps += 1
        product = (first - np.where(moving, beyond[0] - near, 0.0)) / share
        curvature = float(metric @ (way * product))
        flat = FLAT * float(metric @ way**2)
        if curvature < -flat:
            return GainLeft(np.inf, (way * (AWAY / np.abs(way).max()), error), n_steps)
        if not curvature > flat:
            break
        length = size / curvature
        error, rest = error + length * way, rest - length * product
        gain, longest, old = gain + length * size / 2, max(longest, length), size
        size = float(metric @ rest**2)
        way = rest + size / old * way
    return GainLeft(CAUTION * gain, (error,), n_steps)


def uphill(problem: Problem, tables: np.ndarray, value: float, ways: tuple[np.ndarray, ...]) -> tuple | None:
    """Return a higher point on one of some ways, if there is one, and how many passes it took to look for it.

    Parameters
    ----------
    problem : Problem
        What EM maximises.
    tables : array, shape (size,)
        Where EM seems to rest.
    value : float
        The objective there.
    ways : sequence of arrays like ``tables``
        From :func:`gain_left`.

    Returns
    -------
    point : tuple or None
        Tables, log-likelihood, objective, and the tables after the next M-step.
    n_steps : int
    """
    n_steps = 0
    for way in ways:
        best = None
        for share in SHARES:
            point = problem.normalise(np.maximum(tables + share * way, KEPT * tables), tables)
            log, reached, new = step(problem, point[None])
            n_steps += 1
            if best is not None and reached[0] <= best[2]:
                break
            if reached[0] > value:
                best = (point, log[0], reached[0], new[0])
        if best is not None:
            return best, n_steps
    return None, n_steps
