"""The one EM of the project. It knows engines and flat tables; no pandas, no pgmpy, no search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pgmpy_latent.em.ascent import Ascent, Fit, StopRule, ascend, same_value
from pgmpy_latent.em.maximum import all_lifted
from pgmpy_latent.em.sharing import Keeper, Memory, SharedAscent, taken_up
from pgmpy_latent.em.step import (
    Problem,
    Runner,
    log_prior,
    m_step,
    narrowed_in_groups,
    narrowing_stages,
    race,
    step,
)
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.runtime import parallel

__all__ = [
    "Fit", "Problem", "Runner", "fit", "fit_groups", "log_prior", "m_step", "narrowed_in_groups", "narrowing_stages",
    "race", "step",
]  # fmt: skip

#: What a zero becomes where a prior asks for something larger.
LIFT = 1e-6
#: How many times the tolerance beginning again must gain for it to be done once more.
WORTH = 5.0


def fit(
    engine,
    starts: np.ndarray,
    *,
    prior: float | np.ndarray = 0.0,
    free: np.ndarray | None = None,
    max_iter: int = 10_000,
    atol: float = 1e-3,
    narrowing: float | None = None,
    accelerate: bool = True,
    stop: str = "remaining",
    polish: bool = True,
    check: bool = True,
    retry: bool = False,
    target: float = -np.inf,
    n_jobs: int | None = 1,
    keeper: Keeper | None = None,
    report: Callable[[int, float], None] = lambda iteration, value: None,
) -> Fit:
    """Maximise the (penalised) likelihood by EM from many starts.

    The objective, ``log-likelihood + sum(prior * log(tables))``, never falls along a start. After some plain
    iterations each second step is a leap in the direction of the last two (SQUAREM), taken only where it does
    not lower the objective. A start ends when the gain that is left, extrapolated from the size of the last steps
    and the rate at which they shrink, is below ``atol``; the best one is then polished to a twentieth of that. There
    the curvature has the last word, which knows of directions in which EM crawls, and of saddles.

    Where a start comes to rest, the conditions of a maximum are checked, zeros included. Entries at or near zero whose
    derivative promises more than ``atol`` are lifted, and EM goes on from there, as long as it helps. Maxima on the
    boundary stay.

    Parameters
    ----------
    engine : engine
        What computes expected counts.
    starts : array, shape (n_starts, size) or (size,)
        Flat tables to begin with. Zeros are lifted a little where there is a prior, which rules them out.
    prior : float or array of shape (size,)
        Dirichlet pseudo-counts; 0 gives maximum likelihood.
    free : bool array, shape (n_tables,), optional
        Tables that may change. The others stay as they are, bit for bit, and must agree among the starts.
    max_iter : int
        Most iterations (evaluations of the expected counts) of a start. The first evaluates the start itself.
    atol : float
        Remaining gain at which a start ends; 0 runs ``max_iter`` iterations.
    narrowing : float, optional
        Keep only the best ``1/narrowing`` of the starts after 1, 3, 7, 15, ... iterations. By default every start
        goes on to its end.
    accelerate : bool
        Whether to leap. Without, this is textbook EM.
    stop : {"remaining", "last_step"}
        What ``atol`` bounds: the gain that is left, by extrapolation, or the gain of the last iteration, as papers do,
        which stops early where EM crawls.
    polish : bool
        Whether the best start goes on to a twentieth of ``atol``.
    check : bool
        Whether zeros are lifted where they keep tables from being a maximum. Without, a zero in the start is one in the
        end. Textbook EM (``stop="last_step"``) does not check.
    retry : bool
        Whether the best tables, with all small entries lifted, are a further start in the end, again and again as long
        as that helps: several zeros at once can lead to another, higher maximum. For final models.
    target : float
        Objective that is wanted. A start that would not reach it with ten times the gain that is left, by
        extrapolation, ends.
    n_jobs : int, optional
        Who shares the work, as joblib understands it: threads of this process share starts, and the rows of large
        tables; where joblib was told to use other workers, they get starts that take long. The result does not depend
        on it.
    keeper : Keeper, optional
        Is given where EM is, now and then, and may hold an EM that is to go on.
    report : callable
        Called with iteration and best objective after every iteration.

    Returns
    -------
    Fit

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> plan = compile_plan([-1, 0], {1: Evidence(np.array([0, 1, 1, -1]), 2)})
    >>> found = fit(TreeEngine(plan, [1, 2]), np.array([1.0, 0.5, 0.5]))
    >>> found.tables.round(4).tolist(), round(found.log_likelihood, 4)
    ([1.0, 0.3333, 0.6667], -1.9095)
    """
    if stop not in ("remaining", "last_step"):
        raise ValueError(f"stop is {stop!r}; give 'remaining' or 'last_step'")
    starts = _possible(np.atleast_2d(np.asarray(starts, dtype=np.float64)), engine.layout, prior, free)
    n_threads, route = parallel.n_threads(n_jobs), StopRule(atol, max_iter, stop, target, accelerate, check)
    if free is None or np.all(free):
        problem, frozen = Problem(engine, prior, None, n_threads), None
    else:
        frozen_entries = ~np.asarray(free)[engine.layout.table_of_entry]
        if (starts[:, frozen_entries] != starts[0, frozen_entries]).any():
            raise ValueError("the starts differ in tables that are not free; give all of them the same")
        if not np.any(free):
            raise ValueError("no table is free; there is nothing to fit")
        frozen = engine.freeze(starts[0], np.asarray(free))
        starts, whole = frozen.narrow(starts), starts
        problem = Problem(frozen.engine, frozen.narrow_prior(prior), frozen.free, n_threads)
    keeper = Memory() if keeper is None else keeper
    with problem.threads():
        if keeper.saved is None:
            shared = SharedAscent(Ascent(problem, starts, route, report), n_jobs, keeper)
        else:
            shared = taken_up(keeper.saved, len(starts), problem, route, report, n_jobs, keeper)
        found = _climbed(shared, narrowing if keeper.saved is None else None, polish)
        if retry and not route.by_last_step:
            found = _retried(found, problem, route, polish, report, _ClockOnly(keeper))
    return found if frozen is None else _widened(found, frozen, whole[found.best_start], prior)


def _climbed(shared: SharedAscent, narrowing: float | None, polish: bool) -> Fit:
    """Take starts to their ends, as far as Ctrl-C allows, and return the best."""
    climb = shared.climb
    interrupted = False
    try:
        climb.report(climb.n_iter, climb.highest)
        if narrowing is not None:
            race(climb, narrowing_stages(len(climb.numbers), narrowing))
        shared.to_the_top()
        if polish:
            if not climb.polished:
                climb.polish()
            shared.to_the_top()
    except KeyboardInterrupt:
        interrupted = True
    return shared.finish(interrupted)


@dataclass(frozen=True)
class _ClockOnly:
    """A keeper that knows the time limit of another one, and keeps nothing: what was kept is where starts were."""

    keeper: Keeper
    saved = None

    @property
    def seconds_left(self) -> float:
        return self.keeper.seconds_left

    @property
    def due(self) -> bool:
        return self.seconds_left <= 0

    def keep(self, state: dict) -> None:
        raise KeyboardInterrupt


def _retried(found: Fit, problem: Problem, route: StopRule, polish: bool, report: Callable, keeper: Keeper) -> Fit:
    """Begin again where small entries are lifted, all at once, as long as it helps."""

    def climbed(start: np.ndarray, route: StopRule, polish: bool) -> Fit:
        return _climbed(SharedAscent(Ascent(problem, start[None], route, report), 1, keeper), None, polish)

    while found.converged and not found.interrupted:
        start, least = all_lifted(problem, found.tables), found.objective + WORTH * route.atol
        if (start == found.tables).all():
            return found
        again = climbed(start, replace(route, target=max(route.target, least)), polish=False)  # most lead back
        if again.objective <= least:
            return replace(found, interrupted=again.interrupted)
        if polish and not again.interrupted:
            again = _higher_fit(again, climbed(again.tables, route, polish), route.atol)
        found = _higher_fit(found, again, route.atol)
    return found


def _higher_fit(found: Fit, again: Fit, atol: float) -> Fit:
    """Return a fit whose best start went on to a higher end."""
    ends = found.final_objectives.copy()
    ends[found.best_start] = again.objective
    trace = again.log_likelihoods[again.log_likelihoods > found.log_likelihoods[-1]]
    trace = np.concatenate([found.log_likelihoods, trace])
    return replace(
        again,
        log_likelihoods=trace,
        n_iter=len(trace),
        best_start=found.best_start,
        final_objectives=ends,
        n_best=int(same_value(ends, again.objective, atol).sum()),
    )


def fit_groups(
    engine,
    starts: np.ndarray,
    groups: np.ndarray,
    *,
    prior: float | np.ndarray = 0.0,
    max_iter: int = 10_000,
    atol: float = 1e-3,
    stages: Sequence[tuple[int, int]] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Maximise the likelihoods of many small problems at once: the same rows with other weights.

    What :func:`fit` does for one problem, for one problem per weighting of the engine, as those of a bootstrap. They
    share each pass through the kernels, which is what counts where problems are small. An interrupt is not caught.

    Parameters
    ----------
    engine : engine
        With one weighting per problem.
    starts : array, shape (n_starts, size)
        Flat tables to begin with.
    groups : int array, shape (n_starts,)
        The problem, and so the weighting, of each start. Every problem needs a start that is possible.
    prior, max_iter, atol
        As in :func:`fit`; the best starts are not polished.
    stages : list of (iterations, number of starts kept in each group)
        How starts are thinned out before they go on to their ends.

    Returns
    -------
    tables : array, shape (n_problems, size)
        The best of every problem.
    log_likelihoods : array, shape (n_problems,)
        At these tables, without the prior.

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> plan = compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)})
    >>> engine = TreeEngine(plan, [2], np.array([[1.0, 1.0], [1.0, 3.0]]))
    >>> fit_groups(engine, np.full((2, 2), 0.5), np.array([0, 1]))[0].tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    groups = np.asarray(groups, np.int64)
    starts = _possible(np.asarray(starts, dtype=np.float64), engine.layout, prior, None)
    climb = Ascent(Problem(engine, prior), starts, StopRule(atol, max_iter), groups=groups)
    hopeless = np.setdiff1d(groups, climb.groups)
    if len(hopeless):
        raise ImpossibleRowError(
            f"some rows of problem {hopeless[0]} have probability zero under all of its starting tables, so EM cannot "
            "begin there. Replace zeros that the data contradicts, or give a prior."
        )
    race(climb, stages, climb.groups)
    ascend(climb)
    tables, objectives = climb.best_of_groups(len(engine.pattern_weights))
    return tables, objectives - log_prior(tables, prior)


def _possible(starts: np.ndarray, layout, prior: float | np.ndarray, free: np.ndarray | None) -> np.ndarray:
    """Return starts without the zeros that a prior rules out: EM would neither begin there nor leave them."""
    zeros = (starts == 0) & (np.asarray(prior) > 0)
    if free is not None:
        zeros &= np.asarray(free)[layout.table_of_entry]
    if not zeros.any():
        return starts
    lifted = np.where(zeros, LIFT, starts)
    return np.where(layout.row_sums(zeros.astype(np.float64)) > 0, lifted / layout.row_sums(lifted), starts)


def _widened(found: Fit, frozen, start: np.ndarray, prior: float | np.ndarray) -> Fit:
    """Put what was found in a part of the tables back into the whole."""
    tables = frozen.widen(found.tables, start)
    objective = found.log_likelihood + log_prior(tables, prior)
    shifted = found.final_objectives + (objective - found.objective)
    return replace(found, tables=tables, objective=objective, final_objectives=shifted)
