"""The one EM of the project: starts, ascent, result. It knows engines and flat tables, and no models or data frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pgmpy_latent.em.ascent import Ascent, Fit, Position, StopRule, same_value
from pgmpy_latent.em.constraints import Constraints
from pgmpy_latent.em.maximum import all_lifted
from pgmpy_latent.em.sharing import Sharing
from pgmpy_latent.em.step import (
    Objective,
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
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock

__all__ = [
    "Fit", "Objective", "Position", "Problem", "Runner", "constrained_problem", "fit", "fit_groups", "log_prior",
    "m_step", "narrowed_in_groups", "narrowing_stages", "race", "step",
]  # fmt: skip

#: Value that zeros of a start are lifted to where there is a prior.
LIFT = 1e-6
#: Gain of a retry, as a multiple of the tolerance, above which there is another one.
WORTH = 5.0
#: An ascent that ends at most this many nats below a maximum is taken to lead back to it.
NEARBY = 1.0


def fit(
    engine: Engine | Objective,
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
    constraints: Constraints | None = None,
    position: Position | None = None,
    checkpoint: Callable[[Position, bool], None] | None = None,
    clock: Clock | None = None,
    report: Callable[[int, float], None] = lambda iteration, value: None,
) -> Fit:
    """Maximise the (penalised) likelihood by EM from many starts.

    The objective, ``log-likelihood + sum(prior * log(tables))``, never falls along a start. After some plain
    iterations each second step is a leap in the direction of the last two (SQUAREM), accepted only if it does not lower
    the objective. A start ends when the gain that is left, extrapolated from the size of the last steps and the rate at
    which they shrink, is below ``atol``; the best one is then polished to a twentieth of that. There the curvature
    decides, which shows directions in which EM is slow, and saddles.

    Where a start ends, the conditions of a maximum are checked, zeros included. Entries at or near zero whose
    derivative promises more than ``atol`` are lifted, and EM continues from there, as long as it helps. Maxima on the
    boundary stay.

    Parameters
    ----------
    engine : Engine or Objective
        Computes expected counts; or an objective whose parameters are not probability tables, for which ``prior``,
        ``free``, ``constraints``, ``check`` and ``retry`` do not matter.
    starts : array, shape (n_starts, size) or (size,)
        Flat tables to begin with, or other parameters. Where there is a prior, which rules zeros out, they are lifted
        a little.
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
        runs to its end.
    accelerate : bool
        Whether to leap. Without, this is textbook EM.
    stop : {"remaining", "last_step"}
        What ``atol`` bounds: the gain that is left, by extrapolation; or the gain of the last iteration, as in papers,
        which stops too early where EM is slow.
    polish : bool
        Whether the best start continues to a twentieth of ``atol``.
    check : bool
        Whether zeros are lifted where they keep tables from being a maximum. Without, a zero in the start stays one.
        Textbook EM (``stop="last_step"``) does not check.
    retry : bool
        Whether EM begins again from the best tables with all small entries lifted, as long as that helps: lifting
        several zeros at once can lead to another, higher maximum. For final models.
    target : float
        Objective to reach. A start ends if it would miss it even with ten times the gain that is left, by
        extrapolation.
    n_jobs : int, optional
        Number of workers, as joblib understands it: threads of this process share starts, and the rows of large tables;
        with another backend of joblib, its workers share starts that take long. The result does not depend on it.
    constraints : Constraints, optional
        Tables that are equal, entries that are fixed, and log-linear tables. They hold in every step, and the starts
        are changed so that they hold there. Not together with ``free``: fix the tables instead.
    position : Position, optional
        Where to resume an EM with the same starts and options, as passed to ``checkpoint``.
    checkpoint : callable
        Called between cycles with the position of all starts, and with whether the time is up.
    clock : Clock, optional
        Stops EM at its time limit, after any iteration; if there is a checkpoint, only where EM can resume. EM then
        returns its best tables, as it does after Ctrl-C.
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
    >>> result = fit(TreeEngine(plan, [1, 2]), np.array([1.0, 0.5, 0.5]))
    >>> result.tables.round(4).tolist(), round(result.log_likelihood, 4)
    ([1.0, 0.3333, 0.6667], -1.9095)
    """
    if stop not in ("remaining", "last_step"):
        raise ValueError(f"stop is {stop!r}; give 'remaining' or 'last_step'")
    if constraints is not None and free is not None:
        raise ValueError("free and constraints do not go together; name the tables that may not change in fixed")
    constraints = constraints or None  # none at all: EM as it is without
    starts = np.atleast_2d(np.asarray(starts, dtype=np.float64))
    rule = StopRule(atol, max_iter, stop, target, accelerate, check)
    problem: Objective
    widen: Callable[[Fit], Fit] = _as_it_is
    retrying = None
    if isinstance(engine, Objective):
        problem = engine
    else:
        prior, starts = _constrained(starts, engine, prior, free, constraints)
        tables = Problem(engine, prior, free, parallel.n_threads(n_jobs), constraints=constraints)
        problem, starts, widen = _reduced(tables, starts)
        retrying = Retry(problem, rule, polish) if retry and stop == "remaining" else None
    with problem.threads() as problem:
        anywhere = clock if checkpoint is None else None  # a position can be resumed from between cycles only
        if position is None:
            ascent = Ascent.begin(problem, starts, rule, report, clock=anywhere)
            stages = [] if narrowing is None else narrowing_stages(len(ascent.position.numbers), narrowing)
        else:
            ascent, stages = Ascent(problem, rule, position, report, clock=anywhere), []
        sharing = Sharing(ascent, n_jobs, clock, checkpoint)
        while True:  # one ascent, and one more for every retry
            interrupted = False
            try:
                ascent.tell()
                race(ascent, stages)
                while not ascent.run(sharing.pause):
                    sharing.run()
                if polish and not ascent.position.polished:
                    ascent.polish()
                    ascent.run(sharing.pause)
            except STOP_SIGNALS:
                interrupted = True
            best, again = ascent.result(interrupted), None
            if retrying is not None:
                best, again = retrying.next(best)
            if again is None:
                return widen(best)
            ascent = Ascent.begin(problem, again.start[None], again.rule, report, clock=anywhere)
            stages, polish = [], again.polish
            sharing = Sharing(ascent, 1, clock)  # a checkpoint stays at the end of the first ascent


def _as_it_is(fit: Fit) -> Fit:
    """Return a fit: nothing was left out."""
    return fit


def _reduced(problem: Problem, starts: np.ndarray) -> tuple[Problem, np.ndarray, Callable[[Fit], Fit]]:
    """Return the problem without its frozen tables, its starts, and a function that adds the frozen tables to a fit."""
    engine, free = problem.engine, problem.free
    if free is None or np.all(free):
        return replace(problem, free=None), starts, lambda fit: fit
    frozen_entries = ~np.asarray(free)[engine.layout.table_of_entry]
    if (starts[:, frozen_entries] != starts[0, frozen_entries]).any():
        raise ValueError("the starts differ in tables that are not free; give all of them the same")
    if not np.any(free):
        raise ValueError("no table is free; there is nothing to fit")
    frozen = engine.freeze(starts[0], np.asarray(free))
    if frozen.engine is engine and not np.any(problem.prior):  # every node is next to a free table: nothing is left out
        return problem, starts, lambda fit: fit

    def widen(fit: Fit) -> Fit:
        tables = frozen.widen(fit.tables, starts[fit.best_start])
        objective = float(fit.log_likelihood + log_prior(tables, problem.prior))
        shifted = fit.final_objectives + (objective - fit.objective)
        return replace(fit, tables=tables, objective=objective, final_objectives=shifted)

    part = Problem(frozen.engine, frozen.narrow_prior(problem.prior), frozen.free, problem.n_threads)
    return part, frozen.narrow(starts), widen


class Again(NamedTuple):
    """A further ascent: its start, when it ends, and whether it is polished."""

    start: np.ndarray
    rule: StopRule
    polish: bool


class Retry:
    """Begins again from the best tables with all small entries lifted at once, as long as that helps.

    Several zeros can hold each other in place. Most new ascents lead back to the same maximum, so they are given up
    early. One that does end there, or higher, is polished, which looks for a way up by the curvature.
    """

    def __init__(self, problem: Problem, rule: StopRule, polish: bool):
        self.problem, self.rule, self.polish = problem, rule, polish
        self._best: Fit | None = None  # of all ascents so far
        self._unpolished: Fit | None = None  # the ascent that is being polished now

    def next(self, ended: Fit) -> tuple[Fit, Again | None]:
        """Take the end of an ascent; return the best fit so far, and the next ascent if there is one."""
        best, atol = self._best, self.rule.atol
        if best is None:
            best = ended
        elif self._unpolished is None and self._is_worth_polishing(ended, best):
            self._unpolished = ended
            return best, Again(ended.tables, self.rule, True)
        else:
            if self._unpolished is not None:
                ended, self._unpolished = _higher_fit(self._unpolished, ended, atol), None
            if ended.objective <= best.objective + WORTH * atol:
                return replace(best, interrupted=ended.interrupted), None
            best = _higher_fit(best, ended, atol)
        self._best = best
        start = all_lifted(self.problem, best.tables)
        if not best.converged or best.interrupted or (start == best.tables).all():
            return best, None
        target = max(self.rule.target, best.objective + WORTH * atol)
        return best, Again(start, replace(self.rule, target=target), False)

    def _is_worth_polishing(self, ended: Fit, best: Fit) -> bool:
        """Tell whether an ascent came back to the best maximum, or higher.

        If it came back, its entries are not as close to zero as they were, and the curvature may show a way up that
        cannot be seen from zeros.
        """
        return self.polish and not ended.interrupted and ended.objective > best.objective - NEARBY


def _higher_fit(first: Fit, later: Fit, atol: float) -> Fit:
    """Return the fit of two ascents in a row, of which the later one began where the best start of the first ended."""
    ends = first.final_objectives.copy()
    ends[first.best_start] = later.objective
    trace = later.log_likelihoods[later.log_likelihoods > first.log_likelihoods[-1]]
    trace = np.concatenate([first.log_likelihoods, trace])
    return replace(
        later,
        log_likelihoods=trace,
        n_iter=len(trace),
        best_start=first.best_start,
        final_objectives=ends,
        n_best=int(same_value(ends, later.objective, atol).sum()),
    )


def fit_groups(
    engine: Engine,
    starts: np.ndarray,
    groups: np.ndarray,
    *,
    prior: float | np.ndarray = 0.0,
    constraints: Constraints | None = None,
    max_iter: int = 10_000,
    atol: float = 1e-3,
    stages: Sequence[tuple[int, int]] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Maximise the likelihoods of many small problems at once: the same rows with other weights.

    The same as :func:`fit`, for one problem per weighting of the engine, such as those of a bootstrap. They share each
    pass through the kernels, whose overhead dominates where problems are small. Interrupts are not caught.

    Parameters
    ----------
    engine : Engine
        With one weighting per problem.
    starts : array, shape (n_starts, size)
        Flat tables to begin with.
    groups : int array, shape (n_starts,)
        The problem, and so the weighting, of each start. Every problem needs a start that is possible.
    prior, constraints, max_iter, atol
        As in :func:`fit`; the best starts are not polished.
    stages : list of (iterations, number of starts kept in each group)
        How the number of starts is reduced before the others run to their ends.

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
    groups, constraints = np.asarray(groups, np.int64), constraints or None
    prior, starts = _constrained(np.asarray(starts, dtype=np.float64), engine, prior, None, constraints)
    problem = constrained_problem(engine, prior, constraints)
    ascent = Ascent.begin(problem, starts, StopRule(atol, max_iter), groups=groups)
    running = groups[ascent.position.numbers]
    impossible = np.setdiff1d(groups, running)
    if len(impossible):
        raise ImpossibleRowError(
            f"some rows of problem {impossible[0]} have probability zero under all of its starting tables, so EM "
            "cannot begin there. Replace zeros that the data contradicts, or give a prior."
        )
    race(ascent, stages, running)
    ascent.run()
    tables, objectives = ascent.best_of_groups(engine.n_weightings)
    return tables, objectives - log_prior(tables, prior)


def constrained_problem(engine: Engine, prior: float | np.ndarray, constraints: Constraints | None) -> Problem:
    """Return the problem that :func:`fit` solves, for one thread."""
    prior = engine.layout.pseudo_counts(prior)
    spread = prior if constraints is None else constraints.pseudo_counts(prior)
    return Problem(engine, spread, constraints=constraints)


def _constrained(
    starts: np.ndarray,
    engine: Engine,
    prior: float | np.ndarray,
    free: np.ndarray | None,
    constraints: Constraints | None,
) -> tuple[float | np.ndarray, np.ndarray]:
    """Return pseudo-counts and starts that agree with each other and with the constraints."""
    prior = engine.layout.pseudo_counts(prior)
    if constraints is None:
        return prior, _possible(starts, engine.layout, prior, free)
    prior = constraints.pseudo_counts(prior)
    return prior, constraints.project(_possible(starts, engine.layout, prior, None))


def _possible(starts: np.ndarray, layout: Layout, prior: float | np.ndarray, free: np.ndarray | None) -> np.ndarray:
    """Return starts without the zeros that a prior rules out: EM would neither begin there nor leave them."""
    if isinstance(prior, float) and prior == 0.0:
        return starts
    zeros = (starts == 0) & (np.asarray(prior) > 0)
    if free is not None:
        zeros &= np.asarray(free)[layout.table_of_entry]
    if not zeros.any():
        return starts
    lifted = np.where(zeros, LIFT, starts)
    return np.where(layout.row_sums(zeros.astype(np.float64)) > 0, lifted / layout.row_sums(lifted), starts)
