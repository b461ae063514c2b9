"""EM that is judged as it goes, by rows that it does not learn from, and ends when these become less likely."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pgmpy_latent.em.ascent import Ascent, StopRule
from pgmpy_latent.em.step import Problem, race
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock

#: Several flat tables -> how good each is; larger is better.
Judge = Callable[[np.ndarray], np.ndarray]


class JudgedFit(NamedTuple):
    """The tables that were judged best.

    Attributes
    ----------
    tables : array, shape (size,)
    verdict : float
        What the judge says of them; larger is better.
    n_iter : int
        Iterations that led to them.
    interrupted : bool
        Whether Ctrl-C or the time limit ended EM.
    """

    tables: np.ndarray
    verdict: float
    n_iter: int
    interrupted: bool


class Watch:
    """Judges an ascent now and then, and remembers the best tables.

    Parameters
    ----------
    ascent : Ascent
        With one start that goes on.
    judge : callable
        Flat tables -> how good they are.
    interval : int
        Iterations between two verdicts.
    patience : int
        Verdicts in a row that may be no better than one before them.
    rise : float
        How much better a verdict must be to count as better.
    judges_start : bool
        Whether the first verdict is about the tables that the ascent began with, or ``interval`` iterations later.
    """

    def __init__(
        self, ascent: Ascent, judge: Judge, interval: int, patience: int, rise: float, judges_start: bool = True
    ):
        self.ascent, self.judge, self.interval, self.patience, self.rise = ascent, judge, interval, patience, rise
        self.best: JudgedFit | None = None
        self._next = ascent.position.n_iter + (0 if judges_start else interval)
        self._n_worse, self._mark = 0, -np.inf

    def is_over(self) -> bool:
        """Judge if it is time to; tell whether the ascent shall end."""
        position = self.ascent.position
        if position.n_iter >= self._next:
            self._next = position.n_iter + self.interval
            self.look(position.before[0])
        return self._n_worse >= self.patience

    def look(self, tables: np.ndarray) -> None:
        """Judge tables, and remember them if they are the best so far."""
        verdict = float(self.judge(tables[None])[0])
        if self.best is None or verdict > self.best.verdict:
            self.best = JudgedFit(tables, verdict, self.ascent.position.n_iter, False)
        if verdict > self._mark + self.rise:
            self._n_worse, self._mark = 0, verdict
        else:
            self._n_worse += 1


def fit_judged(
    engine: Engine,
    starts: np.ndarray,
    judge: Judge,
    *,
    prior: float | np.ndarray = 0.0,
    race_iter: int = 30,
    interval: int = 10,
    patience: int = 3,
    rise: float = 0.0,
    judges_start: bool = True,
    max_iter: int = 1_000,
    atol: float = 0.1,
    n_jobs: int | None = 1,
    clock: Clock | None = None,
) -> JudgedFit:
    """Run EM until a judge likes its tables less, and return those that the judge liked best.

    Of several starts the judge chooses one after ``race_iter`` iterations, and that one goes on. EM is that of
    :func:`~pgmpy_latent.em.fit.fit`: the objective, ``log-likelihood + sum(prior * log(tables))``, never falls.

    Parameters
    ----------
    engine : Engine
        Computes expected counts of the rows to learn from.
    starts : array, shape (n_starts, size)
        Flat tables to begin with.
    judge : callable
        Flat tables, of shape (n, size) -> how good each is, as the log-likelihood of rows that are held out.
    prior : float or array of shape (size,)
        Dirichlet pseudo-counts.
    race_iter : int
        Iterations of every start before one is chosen, if there are several.
    interval, patience : int
        Iterations between two verdicts, and verdicts in a row that may be no better than one before them.
    rise : float
        How much better a verdict must be to count as better.
    judges_start : bool
        Whether the tables that EM begins with may come back. Where they were fitted with other pseudo-counts, they
        would say nothing about these: the first verdict then comes after ``interval`` iterations.
    max_iter : int
        Most iterations of a start.
    atol : float
        EM also ends when less than this is left to gain, by extrapolation.
    n_jobs : int, optional
        Threads that share starts and rows; the result does not depend on it.
    clock : Clock, optional
        Stops EM, which then returns its best tables, as after Ctrl-C.

    Returns
    -------
    JudgedFit

    Examples
    --------
    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> def engine_of(codes):
    ...     return TreeEngine(compile_plan([-1], {0: Evidence(np.array(codes), 2)}), [2])
    >>> learn, held_out = engine_of([0, 0, 0, 1]), engine_of([0, 1])
    >>> found = fit_judged(learn, np.array([[0.5, 0.5]]), held_out.log_likelihood, interval=1)
    >>> found.tables.tolist(), round(found.verdict, 3)
    ([0.5, 0.5], -1.386)
    """
    rule = StopRule(atol, max_iter, check=False)
    with Problem(engine, prior, None, parallel.n_threads(n_jobs)).threads() as problem:
        ascent = Ascent.begin(problem, np.asarray(starts, dtype=np.float64), rule, clock=clock)
        watch, interrupted = Watch(ascent, judge, interval, patience, rise, judges_start), False
        try:
            if len(ascent.position.numbers) > 1:
                race(
                    ascent,
                    [(max(1, min(race_iter, max_iter - 1)), 1)],
                    judge=lambda values: judge(ascent.position.before),
                )
            if ascent.run(watch.is_over):
                watch.look(ascent.result(interrupted=False).tables)
        except STOP_SIGNALS:
            interrupted = True
    if watch.best is None:
        watch.look(ascent.result(interrupted).tables)
    assert watch.best is not None, "something was judged"
    return watch.best._replace(interrupted=interrupted)
