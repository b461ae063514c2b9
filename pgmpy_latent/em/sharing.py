"""Share the starts of a long EM among joblib's workers, if these are not threads of this process.

No start depends on another. If EM takes long, its starts are divided into parts, each worker runs a part to its end,
and the results are collected here. Threads of this process share starts inside each step instead (``em.step``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.ascent import Ascent, Position, StopRule
from pgmpy_latent.em.step import Objective
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import Clock, TimeLimitReached

#: Seconds that EM takes here before its starts are shared; less is not worth sending them away.
HERE = 1.0
#: Parts per worker: some take longer than others.
PARTS = 4


@dataclass(frozen=True, eq=False)
class PartRunner:
    """The task of a worker: run some starts to their ends, as far as the clock allows."""

    problem: Objective
    rule: StopRule
    clock: Clock | None

    def run(self, part: Position) -> Position:
        """Run the starts of a part, and return their position afterwards."""
        ascent = Ascent(self.problem, self.rule, part)
        ascent.run(self.is_over)
        return ascent.position.snapshot()

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return self.clock is not None and self.clock.is_up


class Sharing:
    """Decides when the starts of an ascent are shared, and shares them.

    Parameters
    ----------
    ascent : Ascent
        The starts.
    n_jobs : int, optional
        As joblib understands it.
    clock : Clock, optional
        Stops the ascent at its time limit.
    checkpoint : callable, optional
        Called between cycles, and whenever a part has ended, with the position of all starts and whether time is up.
    """

    def __init__(
        self,
        ascent: Ascent,
        n_jobs: int | None,
        clock: Clock | None,
        checkpoint: Callable[[Position, bool], None] | None = None,
    ):
        self.ascent = ascent
        self.n_jobs = n_jobs
        self.clock = clock
        self.checkpoint = checkpoint
        self.ends = time.monotonic() + HERE
        self._others: bool | None = None

    def pause(self) -> bool:
        """Call the checkpoint, and raise if the time is up; return whether it is time to share."""
        if self.checkpoint is not None:
            self.checkpoint(self.ascent.position, self.clock is not None and self.clock.seconds_left <= 0)
        if self.clock is not None:
            self.clock.check()
        return time.monotonic() > self.ends and len(self.ascent.position.numbers) > 1 and self._others_work()

    def _others_work(self) -> bool:
        """Return whether there are workers that are not threads of this process; asking a scheduler takes time."""
        if self._others is None:
            self._others = not parallel.in_threads() and parallel.n_workers(self.n_jobs) > 1
        return self._others

    def run(self) -> None:
        """Let the workers run all starts to their ends."""
        ascent, position = self.ascent, self.ascent.position
        n_parts = min(len(position.numbers), PARTS * parallel.n_workers(self.n_jobs))
        parts = [position.part(which) for which in np.array_split(np.arange(len(position.numbers)), n_parts)]
        members = [part.numbers for part in parts]
        work = PartRunner(ascent.problem.for_one_thread(), ascent.rule, self.clock)
        unfinished = []
        for at, part in parallel.as_completed(work.run, parts, self.n_jobs, self.clock):
            if len(part.numbers):  # out of time: a checkpoint resumes these starts from before they were sent
                unfinished.append((members[at], part))
                continue
            ascent.take_in(members[at], part)
            ascent.report(position.most_iter, position.highest)
            if self.checkpoint is not None:
                self.checkpoint(position, False)
        is_over = work.is_over()
        if is_over and self.checkpoint is not None:
            self.checkpoint(position, True)
        for numbers, part in unfinished:
            ascent.take_in(numbers, part)
        position.all_back()
        if is_over:
            raise TimeLimitReached
