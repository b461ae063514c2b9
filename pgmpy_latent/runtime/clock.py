"""One clock for everything that may run out of time: searches, EM, and the choice of a classifier's sizes.

And a line that shows how long something takes that has no end in sight, such as compiling.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

#: Seconds after which a line says that something takes a while; loading compiled code takes less.
PATIENCE = 3.0


class TimeLimitReached(Exception):  # noqa: N818 - not an error: the result so far is returned
    """The time limit was reached, or nobody waits for the result any more. EM returns its best model so far."""


#: Exceptions that end a computation early with its result so far: Ctrl-C and the time limit.
STOP_SIGNALS = (KeyboardInterrupt, TimeLimitReached)


class Clock:
    """Measures time, and raises when a time limit is reached.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now.
    reserved : float
        Share of the time limit that is not used until :meth:`use_reserve` is called, as for a last EM.
    on_check : callable, optional
        Called by every :meth:`check`, from any thread, and every second or so while other processes work: writes
        checkpoints that are due.
    outer : Clock, optional
        Clock of a computation that this one is part of: when that is cancelled, so is this one.

    Attributes
    ----------
    stopped : str or None
        Why the computation stopped early: ``"time_limit"``, ``"interrupted"``, or None.

    Examples
    --------
    >>> clock = Clock(60.0, reserved=0.1)
    >>> clock.check()
    >>> 0 <= clock.elapsed < clock.seconds_left < 60
    True
    >>> clock.is_up
    False
    """

    def __init__(
        self,
        time_limit: float | None = None,
        reserved: float = 0.0,
        on_check: Callable[[], None] | None = None,
        outer: Clock | None = None,
    ):
        self.began = time.perf_counter()
        self.time_limit = np.inf if time_limit is None else float(time_limit)
        self.reserved = reserved
        self.earlier = 0.0
        self.on_check = on_check
        self.outer = outer
        self.stopped: str | None = None
        self._surviving_thread: int | None = None

    def __getstate__(self) -> dict:
        """Return what another process needs, in the time of day: its performance counter may begin elsewhere."""
        alone = {"on_check": None, "outer": None, "_surviving_thread": None}
        return {**vars(self), **alone, "began": self.began - time.perf_counter() + time.time()}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, began=state["began"] - time.time() + time.perf_counter())

    @property
    def elapsed(self) -> float:
        """Seconds so far, including those of ``earlier`` runs that this one continues."""
        return self.earlier + time.perf_counter() - self.began

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit, with what is reserved."""
        return self.began + self.time_limit - time.perf_counter()

    @property
    def is_up(self) -> bool:
        """Whether the time limit, without what is reserved, is reached."""
        return time.perf_counter() > self.began + (1 - self.reserved) * self.time_limit

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits any more for what this thread computes."""
        survivor = self._surviving_thread
        if survivor is not None and survivor != threading.get_ident():
            return True
        return self.outer is not None and self.outer.is_cancelled

    @property
    def was_interrupted(self) -> bool:
        """Whether other threads were cancelled, and may still be on their way to their next :meth:`check`."""
        return self._surviving_thread is not None

    def check(self) -> None:
        """Raise TimeLimitReached if the time is up, or nobody waits for what this thread computes."""
        if self.on_check is not None:
            self.on_check()
        if self.is_up or self.is_cancelled:
            raise TimeLimitReached

    def cancel_other_threads(self) -> None:
        """Make the next :meth:`check` of every other thread raise, for good: this one goes on alone."""
        self._surviving_thread = threading.get_ident()

    def use_reserve(self) -> None:
        """Let the clock run to the end of the time limit."""
        self.reserved = 0.0

    def note_stop(self, signal: BaseException | None = None) -> None:
        """Remember why the computation stops; the first reason counts.

        Parameters
        ----------
        signal : exception, optional
            What ended it, if known; otherwise it was the time limit if that is reached, or else Ctrl-C.
        """
        if self.stopped is None:
            late = isinstance(signal, TimeLimitReached) or self.is_up
            self.stopped = "time_limit" if late else "interrupted"

    def stop_signal(self) -> BaseException:
        """Return the exception that says why the computation stopped."""
        return TimeLimitReached() if self.stopped == "time_limit" else KeyboardInterrupt()


@contextmanager
def clock_line(words: str, patience: float = PATIENCE) -> Iterator[None]:
    """Show how many seconds something has taken, if it takes more than a little while; then, how many it took.

    Examples
    --------
    >>> with clock_line("compiling"):
    ...     pass
    """
    stream, done, begin = sys.stderr, threading.Event(), time.monotonic()

    def tick() -> None:
        wait = patience
        while not done.wait(wait):
            wait = 1.0
            stream.write(f"\r{words}: {time.monotonic() - begin:.0f} s")
            stream.flush()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield
    finally:
        done.set()
        ticking.join()
        seconds = time.monotonic() - begin
        if seconds >= patience:
            stream.write(f"\r{words}: took {seconds:.0f} s\n")
            stream.flush()
