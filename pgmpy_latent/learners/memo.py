"""A memo: what the dear parts of a computation gave, kept in a file, so that they are not computed twice.

For computations that are no sequence of states. One that is taken up again goes the same way from the beginning, and
reads what it gets to know from the memo for as long as the memo says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.runtime.checkpoint import Checkpoint, Saved, State


@held_by_checkpoints("memo")
@dataclass(frozen=True)
class MemoEntries:
    """Results by name, as a checkpoint holds them."""

    results: Mapping[str, object] = field(default_factory=dict)


class Memo:
    """Results by name.

    Parameters
    ----------
    checkpoint : Checkpoint, optional
        Where it is kept.
    saved : Saved, optional
        What the file held.

    Examples
    --------
    >>> Memo().recall("the answer", lambda: 6 * 7)
    42
    """

    def __init__(self, checkpoint: Checkpoint | None = None, saved: Saved | None = None):
        self.checkpoint = checkpoint
        self.entries: dict = {}
        self.finished = saved is not None and saved.state.finished
        self._goes_on = saved is not None
        if saved is not None:
            with checkpoint.checking():
                self.entries = dict(saved.state.memory.results)
                if replace(saved.state, memory=MemoEntries()) != self._state():
                    raise ValueError("it counts or scores what a memo does not")

    @property
    def going_on(self) -> AbstractContextManager:
        """In which a computation that was taken up goes on: what it stumbles on is said to come from its file."""
        return self.checkpoint.resuming() if self._goes_on else nullcontext()

    def checking(self) -> AbstractContextManager:
        """Return a context in which any error is reported as damage of the checkpoint."""
        return nullcontext() if self.checkpoint is None else self.checkpoint.checking()

    def recall(
        self,
        name: str,
        compute: Callable[[], object],
        whole: Callable[[], bool] = lambda: True,
        check: Callable[[object], None] = lambda found: None,
    ):
        """Return what is known by a name, or else compute it and write it down.

        Parameters
        ----------
        name : str
            Tells results apart; the same in every run.
        compute : callable
            Returns plain numbers, words, arrays, models, and lists, tuples and dicts of them.
        whole : callable
            Whether what was computed is all of it, and not what an interrupt left.
        check : callable
            Raises if what the file knows cannot be what was computed.
        """
        if name in self.entries:
            with self.checking():
                check(self.entries[name])
            return self.entries[name]
        found = compute()
        if self.checkpoint is not None and whole():
            self.note(name, found)
        return found

    def note(self, name: str, value) -> None:
        """Write a result down."""
        if self.checkpoint is not None:
            self.entries[name] = value
            self._keep()

    def tend(self, now: bool = False) -> None:
        """Write what waits, if it is time."""
        if self.checkpoint is not None:
            self.checkpoint.tend(now)

    def finish(self) -> None:
        """Say that all is known."""
        if self.checkpoint is not None and not self.finished:
            self.finished = True
            self._keep()

    def _keep(self) -> None:
        memory = MemoEntries(dict(self.entries))
        self.checkpoint.keep(replace(self._state(), memory=memory), [], last=self.finished)

    def _state(self) -> State:
        return State(None, 0.0, 0.0, len(self.entries), MemoEntries(), self.finished)
