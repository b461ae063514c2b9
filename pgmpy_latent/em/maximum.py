"""Whether the tables where EM ended are a maximum, zeros included; and if not, where the objective is higher.

EM multiplies an entry by its slope over its row's weight. So an entry at zero never moves, and one that an early step
left at 1e-200 takes thousands of iterations to return, with hardly any gain. At a maximum the slope of such an entry
(the derivative of the objective) is at most the weight of its row (the Lagrange multiplier of "the row sums to one"):
the conditions of Karush, Kuhn and Tucker. Expected counts are entries times slopes, so one pass at tables whose zeros
are lifted by next to nothing shows the slopes of all entries.
"""

from __future__ import annotations

import numpy as np

from pgmpy_latent.em.step import Point, Problem, step

#: Value that zeros are lifted to so that their slopes show. Along a row the likelihood is concave: if it rises here, it
#: rises from zero as well; if it does not, there is next to nothing to gain.
SEEN = 1e-10
#: Largest entries that are checked; EM moves larger ones by itself.
SMALL = 0.01
#: Most that an entry is lifted by, and the shares of the most promising step that are tried, in this order.
MOST, SHARES = 0.1, 0.25 ** np.arange(6)


def promised_gains(
    problem: Problem, tables: np.ndarray, weightings: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how much lifting each small entry promises to gain, in nats, and by how much to lift it.

    With slope ``s`` of an entry, weight ``m`` of its row and weight ``n`` of its table, the objective rises by
    ``s - m`` for a small step, at most, since it is concave along a row; and its curvature is at least ``s**2 / n`` (by
    Cauchy and Schwarz), so that a step of ``n (s - m) / s**2`` gains at most ``n (s - m)**2 / (2 s**2)``.

    Parameters
    ----------
    problem : Problem
        What EM maximises.
    tables : array, shape (n_starts, size)
        Where EM ended.
    weightings : int array, shape (n_starts,), optional
        The weighting of each.

    Returns
    -------
    gains, steps : arrays like ``tables``
        Zero where the conditions of a maximum hold, in fixed tables, and in rows whose parent state has no weight.

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> engine = TreeEngine(compile_plan([-1, 0], {1: Evidence(np.array([0, 1, 1, 1]), 2)}), [2, 2])
    >>> gains, steps = promised_gains(Problem(engine), np.array([[1.0, 0.0, 0.5, 0.5, 0.2, 0.8]]))
    >>> gains.round(3).tolist(), steps.round(3).tolist()
    ([[0.0, 0.107, 0.0, 0.0, 0.0, 0.0]], [[0.0, 0.1, 0.0, 0.0, 0.0, 0.0]])
    """
    layout = problem.engine.layout
    small = tables < SMALL
    if problem.liftable is not None:
        small &= problem.liftable
    seen = np.where(small & (tables < SEEN), SEEN, tables)
    _, counts = problem.engine.expected_counts(seen, problem.free, weightings, pool=problem.pool)
    counts = counts + problem.prior
    if problem.constraints is not None:
        counts = problem.constraints.pooled(counts)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slopes = counts / seen
        surplus = slopes - problem.row_weights(counts, tables)
        ratio = surplus / slopes
        weights = np.add.reduceat(counts, layout.offsets, axis=-1)[..., layout.table_of_entry]
        unmet = small & (surplus > 0) & np.isfinite(slopes)
        gains = np.where(unmet, np.minimum(surplus, weights * ratio**2 / 2), 0.0)
        steps = np.where(unmet, np.minimum(weights * ratio / slopes, MOST), 0.0)
    return gains, steps


def higher(
    problem: Problem, tables: np.ndarray, value: float, steps: np.ndarray, weighting: int | None = None
) -> Point | None:
    """Return a point with a higher objective, from which EM can continue, or None if lifting entries leads to none.

    Parameters
    ----------
    problem : Problem
        What EM maximises.
    tables : array, shape (size,)
        Where EM ended.
    value : float
        The objective there.
    steps : array like ``tables``
        By how much to lift entries, from :func:`promised_gains`; zero for the others.
    weighting : int, optional
        The weighting of this start.

    Returns
    -------
    Point or None
    """
    strongest = np.where(np.arange(len(steps)) == np.argmax(steps), steps, 0.0)
    if problem.constraints is not None:
        strongest = problem.constraints.lifted_together(strongest)
    for move in (steps, strongest):  # lifting all may lower the objective; lifting one alone does raise it
        best: Point | None = None
        for share in SHARES:
            point = _moved(tables, share * move, problem)[None]
            weightings = None if weighting is None else np.array([weighting])
            log_likelihoods, objectives, new = step(problem, point, weightings)
            if best is not None and objectives[0] <= best.objective:
                break
            if objectives[0] > value:
                best = Point(point[0], log_likelihoods[0], objectives[0], new[0])
        if best is not None:
            return best
    return None


def _moved(tables: np.ndarray, moves: np.ndarray, problem: Problem) -> np.ndarray:
    """Return tables with some entries lifted; rows without any stay as they are, bit for bit."""
    layout, points = problem.engine.layout, tables + moves
    moved = np.where(layout.row_sums(moves) > 0, points / layout.row_sums(points), tables)
    return moved if problem.constraints is None else problem.constraints.project(moved)


def all_lifted(problem: Problem, tables: np.ndarray) -> np.ndarray:
    """Return tables whose free entries are all at least ``SMALL``, but for what rows that sum to one take off.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pgmpy_latent.inference.layout import Layout
    >>> problem = Problem(SimpleNamespace(layout=Layout([(1, 2), (1, 2)])), free=[True, False])
    >>> all_lifted(problem, np.array([0.0, 1.0, 0.0, 1.0])).round(4).tolist()
    [0.0099, 0.9901, 0.0, 1.0]
    """
    moves = np.maximum(SMALL - tables, 0.0)
    if problem.liftable is not None:
        moves = np.where(problem.liftable, moves, 0.0)
    return _moved(tables, moves, problem)
