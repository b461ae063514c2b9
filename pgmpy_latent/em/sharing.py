"""How one EM is shared by joblib's workers, and kept in a file on its way.

Starts know nothing of each other, and a climb can be stopped and taken up anywhere. So where EM takes long and joblib
was told to use workers other than threads of this process, the starts fall into parts, which go up by themselves, a
while at a time: whoever is ready takes the next part a bit further. In between, all can be written to a file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pgmpy_latent.em.ascent import Ascent, Fit, StopRule, ascend
from pgmpy_latent.em.step import Problem, step
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.arrays import ROUNDING

#: Seconds that EM takes here before its starts are shared; less is not worth the way.
HERE = 1.0
#: Seconds that parts go on by themselves at first, and at most; they double.
FIRST, MOST = 2.0, 20.0
#: Parts per worker: some take longer than others.
PARTS = 4


class Keeper(Protocol):
    """Keeps a climb, say in a file."""

    #: What was kept before, to be taken up.
    saved: dict | None

    #: Seconds for which a part of the starts may go on before it is time to keep something.
    seconds_left: float

    @property
    def due(self) -> bool:
        """Whether it is time to keep something."""

    def keep(self, state: dict) -> None:
        """Keep where a climb is: numbers, arrays, tuples and dicts of them."""


class Memory:
    """A keeper that keeps nothing."""

    saved = None
    seconds_left = np.inf
    due = False

    def keep(self, state: dict) -> None:
        """Forget it."""


@dataclass(frozen=True, eq=False)
class _Further:
    """What workers do."""

    problem: Problem
    route: StopRule

    def go(self, item: tuple[dict, float]) -> dict:
        """Take a part further, for some seconds."""
        snapshot, seconds = item
        ends = time.monotonic() + seconds
        climb = Ascent.of(snapshot, self.problem, self.route, lambda iteration, value: None)
        turns = iter((False,))  # at least one, so that it gets on
        ascend(climb, lambda: next(turns, True) and (time.monotonic() > ends or parallel.abandoned()))
        return climb.snapshot()


class SharedAscent:
    """Starts on their way up, here and at other workers.

    Parameters
    ----------
    climb : Ascent
        The starts, or those that were kept.
    n_jobs : int, optional
        As joblib understands it.
    keeper : Keeper
        Is given where all are, whenever it is due.

    Attributes
    ----------
    parts : list of (int array, dict)
        Numbers of the starts of every part, and where they are; empty as long as all are here.
    """

    def __init__(self, climb: Ascent, n_jobs: int | None, keeper: Keeper):
        self.climb = climb
        self.n_jobs = n_jobs
        self.keeper = keeper
        self.parts: list[tuple[np.ndarray, dict]] = []

    def to_the_top(self) -> None:
        """Take all starts to their ends."""
        began = time.monotonic()

        def pause() -> bool:
            if self.keeper.due:
                self.keep()
            return time.monotonic() > began + HERE and len(self.climb.numbers) > 1 and self._others_work

        if not self.parts and not ascend(self.climb, pause):
            n_parts = min(len(self.climb.numbers), PARTS * parallel.n_workers(self.n_jobs))
            some = np.array_split(np.arange(len(self.climb.numbers)), n_parts)
            self.parts = [(self.climb.numbers[which], self.climb.snapshot(which)) for which in some]
        if self.parts:
            self._go_on_in_parts()

    @cached_property
    def _others_work(self) -> bool:
        """Whether there are workers that are no threads of this process; asking a scheduler takes its time."""
        return not parallel.in_threads() and parallel.n_workers(self.n_jobs) > 1

    def _go_on_in_parts(self) -> None:
        work = _Further(self.climb.problem.for_one_thread(), self.climb.route)
        seconds = FIRST
        while left := [at for at, (_, part) in enumerate(self.parts) if not self._arrived(part)]:
            in_turn = -(-len(left) // parallel.n_workers(self.n_jobs))  # that one worker takes one after the other
            each = max(0.0, min(seconds, self.keeper.seconds_left)) / in_turn
            items = [(self.parts[at][1], each) for at in left]
            for at, part in parallel.as_completed(work.go, items, self.n_jobs, self._tend):
                self.parts[left[at]] = self.parts[left[at]][0], part
                self._tend()
            seconds = min(2 * seconds, MOST)
        self._join()

    def _join(self) -> None:
        parts, self.parts = self.parts, []
        self.climb.join(parts)

    def _arrived(self, part: dict) -> bool:
        return not len(part["numbers"]) or part["n_iter"] >= self.climb.route.max_iter

    def _tend(self) -> None:
        """Say how far the parts are, and keep them if it is time; each goes on from where it was last known to be."""
        parts = [part for _, part in self.parts]
        self.climb.report(max(part["n_iter"] for part in parts), max(part["highest"] for part in parts))
        if self.keeper.due:
            self.keep()

    def finish(self, interrupted: bool) -> Fit:
        """Return the best of all starts; after an interrupt, of where they were last known to be."""
        if self.parts:
            self._join()
        return self.climb.finish(interrupted)

    def keep(self) -> None:
        """Hand over where all starts are."""
        self.keeper.keep({"climb": self.climb.snapshot(), "parts": list(self.parts)})


def taken_up(
    state: dict, n_starts: int, problem: Problem, route: StopRule, report: Callable, n_jobs: int | None, keeper: Keeper
) -> SharedAscent:
    """Return the climb that was kept; raise if it is not one of so many starts, or not what the table says."""
    for snapshot in (state["climb"], *(part for _, part in state["parts"])):
        _check_snapshot(snapshot, n_starts, problem)
    trace = state["climb"]["trace"]
    if not trace or not _are_starts(trace[0], n_starts, all_of_them=True):
        raise ValueError(f"it does not know how {n_starts} starts began")
    for members, part in state["parts"]:
        if not _are_starts(members, n_starts) or not {*part["numbers"].tolist()} <= {*members.tolist()}:
            raise ValueError("its parts have starts of others")
    shared = SharedAscent(Ascent.of(state["climb"], problem, route, report), n_jobs, keeper)
    shared.parts = [tuple(part) for part in state["parts"]]
    return shared


# What was kept ------------------------------------------------------------------------------------

#: What a snapshot says of all starts together, and how.
KINDS = {"n_iter": int, "cycles": int, "highest": float, "atol": float, "polished": bool, "best_value": float,
         "reached": bool}  # fmt: skip


def check_tables(tables, layout) -> None:
    """Raise if flat tables are not of the size of a layout, or their rows are no probabilities.

    Examples
    --------
    >>> from pgmpy_latent.inference.layout import Layout
    >>> check_tables(np.array([0.5, 0.6]), Layout([(1, 2)]))
    Traceback (most recent call last):
    ValueError: its tables hold no probabilities
    """
    if not isinstance(tables, np.ndarray) or tables.dtype != np.float64 or tables.shape[-1:] != (layout.size,):
        raise ValueError(f"its tables are not of {layout.size} numbers")
    if not (tables >= 0).all() or not (np.abs(layout.row_sums(tables) - 1) <= ROUNDING).all():
        raise ValueError("its tables hold no probabilities")


def _check_snapshot(snapshot: dict, n_starts: int, problem: Problem) -> None:
    """Raise if a snapshot of a climb is not what one step from its tables says."""
    numbers, final = snapshot["numbers"], snapshot["final"]
    n_here = len(numbers)
    for name in Ascent.PER_START:
        kind = "i" if name == "numbers" else "f"
        if snapshot[name].dtype.kind != kind or len(snapshot[name]) != n_here:
            raise ValueError(f"its {name!r} of {n_here} starts is no such thing")
    for name, kind in KINDS.items():
        if type(snapshot[name]) is not kind:
            raise ValueError(f"its {name!r} is {snapshot[name]!r}")
    if final.shape != (n_starts,) or final.dtype != np.float64 or not set(numbers.tolist()) <= set(range(n_starts)):
        raise ValueError(f"it does not know where {n_starts} starts are")
    if not snapshot["n_iter"] >= 1 or len(set(numbers.tolist())) < n_here or not {*snapshot["best"]} <= {0}:
        raise ValueError("it has starts twice, or before their beginning")
    _check_trace(snapshot, n_starts)
    if n_here:
        _check_step(problem, snapshot["before"], snapshot)
    for number, value, tables, converged, remaining in snapshot["best"].values():
        if number not in range(n_starts) or type(converged) is not bool or type(remaining) is not float:
            raise ValueError("its best start is no such thing")
        _check_step(problem, tables[None], {"value": np.array([value])})


def _check_trace(snapshot: dict, n_starts: int) -> None:
    """Raise if the log-likelihoods on the way are not those of starts that have come so far."""
    trace = snapshot["trace"]
    if not isinstance(trace, tuple) or len(trace) not in (0, 2):
        raise ValueError("its 'trace' is not what EM writes")
    if trace:
        numbers, logs = trace
        good = isinstance(logs, np.ndarray) and logs.dtype == np.float64 and not np.isnan(logs).any()
        if not good or not _are_starts(numbers, n_starts) or numbers.shape != logs.shape:
            raise ValueError("its 'trace' is not what EM writes")
        if np.bincount(numbers).max() > snapshot["n_iter"]:
            raise ValueError("its 'trace' has more iterations than there were")


def _are_starts(numbers, n_starts: int, all_of_them: bool = False) -> bool:
    """Tell whether something is a list of numbers of starts."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind != "i" or numbers.ndim != 1 or not len(numbers):
        return False
    found = set(numbers.tolist())
    return found <= set(range(n_starts)) and (len(found) == n_starts or not all_of_them)


def _check_step(problem: Problem, before: np.ndarray, known: dict) -> None:
    """Raise if a step from some tables does not lead to what is known about it."""
    check_tables(before, problem.engine.layout)
    logs, values, at = step(problem, before, None)
    for name, found in {"logs": logs, "value": values, "at": at}.items():
        if name in known and not np.allclose(known[name], found, rtol=ROUNDING, atol=ROUNDING):
            raise ValueError(f"its {name!r} is not what a step from its tables gives")
