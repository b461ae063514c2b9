"""The one EM of the project: starts, ascent, result. It knows engines and flat tables; no pandas, pgmpy or search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pgmpy_latent.em.ascent import Ascent, Fit, Position, StopRule, same_value
from pgmpy_latent.em.maximum import all_lifted
from pgmpy_latent.em.sharing import Sharing
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
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock

__all__ = [
    "Fit", "Position", "Problem", "Runner", "fit", "fit_groups", "log_prior", "m_step", "narrowed_in_groups",
    "narrowing_stages", "race", "step",
]  # fmt: skip

#: What a zero becomes where a prior asks for something larger.
LIFT = 1e-6
#: How many times the tolerance beginning again must gain for it to be done once more.
WORTH = 5.0
#: Nats below a maximum from which on an ascent is taken to lead back to it.
NEARBY = 1.0


def fit(
    engine: Engine,
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
    position: Position | None = None,
    checkpoint: Callable[[Position, bool], None] | None = None,
    clock: Clock | None = None,
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
    position : Position, optional
        Where an EM with the same starts and options was, as ``checkpoint`` was given it; it goes on from there.
    checkpoint : callable
        Called between cycles with the position of all starts, and with whether the time is up.
    clock : Clock, optional
        Stops EM at its time limit.
    report : callable
        Called with iteration and best objective after every iteration. May raise
        KeyboardInterrupt or TimeLimitReached to stop: EM then returns its best tables.

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
    rule = StopRule(atol, max_iter, stop, target, accelerate, check)
    problem, starts, widen = _reduced(Problem(engine, prior, free, parallel.n_threads(n_jobs)), starts)
    retrying = Retry(problem, rule, polish) if retry and stop == "remaining" else None
    with problem.threads() as problem:
        if position is None:
            ascent = Ascent.begin(problem, starts, rule, report)
        else:
            ascent, narrowing = Ascent(problem, rule, position, report), None
        sharing = Sharing(ascent, n_jobs, clock, checkpoint)
        while True:
            interrupted = False
            try:
                report(ascent.position.n_iter, ascent.position.highest)
                if narrowing is not None:
                    race(ascent, narrowing_stages(len(ascent.position.numbers), narrowing))
                while not ascent.run(sharing.pause):
                    sharing.run()
                if polish and not ascent.position.polished:
                    ascent.polish()
                    ascent.run(sharing.pause)
            except STOP_SIGNALS:
                interrupted = True
            found = ascent.result(interrupted)
            if retrying is None:
                return widen(found)
            found, start, rule, polish = retrying.next(found)
            if start is None:
                return widen(found)
            ascent, narrowing = Ascent.begin(problem, start[None], rule, report), None
            sharing = Sharing(ascent, 1, clock)  # a checkpoint stays at the end of the first ascent


def _reduced(problem: Problem, starts: np.ndarray) -> tuple[Problem, np.ndarray, Callable[[Fit], Fit]]:
    """Return the problem over the tables that can change, its starts, and what turns its result into the whole's."""
    engine, free = problem.engine, problem.free
    if free is None or np.all(free):
        return replace(problem, free=None), starts, lambda found: found
    frozen_entries = ~np.asarray(free)[engine.layout.table_of_entry]
    if (starts[:, frozen_entries] != starts[0, frozen_entries]).any():
        raise ValueError("the starts differ in tables that are not free; give all of them the same")
    if not np.any(free):
        raise ValueError("no table is free; there is nothing to fit")
    frozen = engine.freeze(starts[0], np.asarray(free))

    def widen(found: Fit) -> Fit:
        tables = frozen.widen(found.tables, starts[found.best_start])
        objective = found.log_likelihood + log_prior(tables, problem.prior)
        shifted = found.final_objectives + (objective - found.objective)
        return replace(found, tables=tables, objective=objective, final_objectives=shifted)

    part = Problem(frozen.engine, frozen.narrow_prior(problem.prior), frozen.free, problem.n_threads)
    return part, frozen.narrow(starts), widen


class Retry:
    """Begins again from the best tables with all small entries lifted at once, as long as that helps.

    Several zeros can hold each other in place. Most new ascents lead back to where they came from, so that they are
    given up early; what they lead to is polished, which looks for a way up by the curvature.
    """

    def __init__(self, problem: Problem, rule: StopRule, polish: bool):
        self.problem, self.rule, self.polish = problem, rule, polish
        self.found: Fit | None = None  # the best so far
        self.unpolished: Fit | None = None  # higher, and being polished now

    def next(self, ended: Fit) -> tuple[Fit, np.ndarray | None, StopRule, bool]:
        """Take the end of an ascent; return the best fit so far, and start, stop rule and polish of the next ascent.

        The start is None if there is no further ascent.
        """
        best, atol = self.found, self.rule.atol
        if best is None:
            self.found = ended
        elif self.unpolished is None and self._is_worth_polishing(ended):
            self.unpolished = ended
            return best, ended.tables, self.rule, True
        else:
            if self.unpolished is not None:
                ended, self.unpolished = _higher_fit(self.unpolished, ended, atol), None
            if ended.objective <= best.objective + WORTH * atol:
                return replace(best, interrupted=ended.interrupted), None, self.rule, False
            self.found = _higher_fit(best, ended, atol)
        return self._lifted()

    def _is_worth_polishing(self, ended: Fit) -> bool:
        """Tell whether an ascent came back to the best maximum, or higher.

        Where it came back, its entries are not as close to zero as they were, and the curvature may show a way up that
        cannot be seen from zeros.
        """
        return self.polish and not ended.interrupted and ended.objective > self.found.objective - NEARBY

    def _lifted(self) -> tuple[Fit, np.ndarray | None, StopRule, bool]:
        found = self.found
        start = all_lifted(self.problem, found.tables)
        if not found.converged or found.interrupted or (start == found.tables).all():
            return found, None, self.rule, False
        least = found.objective + WORTH * self.rule.atol
        return found, start, replace(self.rule, target=max(self.rule.target, least)), False


def _higher_fit(found: Fit, again: Fit, atol: float) -> Fit:
    """Return a fit whose best start went on to a higher maximum."""
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
    ascent = Ascent.begin(Problem(engine, prior), starts, StopRule(atol, max_iter), groups=groups)
    hopeless = np.setdiff1d(groups, ascent.groups)
    if len(hopeless):
        raise ImpossibleRowError(
            f"some rows of problem {hopeless[0]} have probability zero under all of its starting tables, so EM cannot "
            "begin there. Replace zeros that the data contradicts, or give a prior."
        )
    race(ascent, stages, ascent.groups)
    ascent.run()
    tables, objectives = ascent.best_of_groups(len(engine.pattern_weights))
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
