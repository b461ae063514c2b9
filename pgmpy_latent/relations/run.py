"""A run of ``relate``: its clock, its memo and its bar, and what it could not finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.em.resume import check_tables
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.settings import time_left
from pgmpy_latent.runtime.warn import warn


def no_errors(n: int) -> np.ndarray:
    """Return the covariance of so many parameters that was not computed.

    Examples
    --------
    >>> no_errors(1)
    array([[nan]])
    """
    return np.full((n, n), np.nan)


@dataclass
class Run:
    """What is finished, and what the time limit or Ctrl-C has left out.

    Attributes
    ----------
    clock : Clock
        Ends the run.
    memo : Memo
        Holds results that are finished.
    bar : tqdm
        Shows how far the run is.
    left_out : list of str
        What was not finished.

    Examples
    --------
    >>> run = Run(Clock(), Memo(), tqdm(disable=True))
    >>> run.unless_stopped("a test", lambda: 1.0, np.nan)
    1.0
    >>> run.clock.note_stop()
    >>> run.unless_stopped("a test", lambda: 1.0, np.nan), run.left_out
    (nan, ['a test'])
    """

    clock: Clock
    memo: Memo
    bar: tqdm
    left_out: list[str] = field(default_factory=list)

    def tell(self, what: str) -> None:
        """Say what comes next."""
        self.bar.set_postfix_str(f"{what}{time_left(self.clock.seconds_left)}", refresh=False)
        self.bar.update()

    def unless_stopped(self, name: str, compute: Callable[[], Any], otherwise: Any) -> Any:
        """Return a result, from the memo if it has it, or what stands for it where the run was stopped."""
        if name in self.memo.entries:
            return self.memo.entries[name]
        try:
            if self.clock.stopped is None:
                self.clock.check()
                return self.memo.recall(name, compute)
        except STOP_SIGNALS as signal:
            self.clock.note_stop(signal)
        self.left_out.append(name)
        return otherwise

    def best_so_far(self, name: str, layout: Layout, compute: Callable[[], tuple[np.ndarray, bool]]) -> np.ndarray:
        """Return tables, from the memo if it has them; unless they were cut short, write them down."""
        if name in self.memo.entries:
            known: np.ndarray = self.memo.entries[name]
            with self.memo.checking():
                check_tables(known, layout)
            return known
        tables, is_finished = compute()
        if is_finished:
            self.memo.note(name, tables)
        else:
            self.clock.note_stop()
            self.left_out.append(f"{name} (those so far are returned)")
        return tables

    def end(self) -> None:
        """Write what is waiting to be written, and warn of what was left out."""
        if self.clock.stopped is None:
            self.memo.finish()
            return
        self.memo.tend(now=True)
        why = "the time limit" if self.clock.stopped == "time_limit" else "Ctrl-C"
        remedy = "Give more time" if self.memo.checkpoint is None else "Call again to go on from the checkpoint"
        warn(f"{why} stopped relate; not finished: {', '.join(self.left_out)}. {remedy}.", ConvergenceWarning)
