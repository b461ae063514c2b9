"""Memoise expensive intermediate results in a checkpoint.

For computations that are no sequence of states. One that is resumed runs again from the beginning, and reads results
that the memo holds instead of computing them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

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
        The file that holds them.
    saved : Saved, optional
        Content of the file, if a computation is resumed from it.

    Examples
    --------
    >>> Memo().recall("the answer", lambda: 6 * 7)
    42
    """

    def __init__(self, checkpoint: Checkpoint | None = None, saved: Saved | None = None):
        self.checkpoint = checkpoint
        self.entries: dict[str, Any] = {}
        self.finished = saved is not None and saved.state.finished
        self._is_resumed = saved is not None
        if saved is not None:
            with self.checking():
                self.entries = dict(saved.state.memory.results)
                if replace(saved.state, memory=MemoEntries()) != self._state():
                    raise ValueError("it counts or scores what a memo does not")

    @property
    def going_on(self) -> AbstractContextManager:
        """A context in which errors of a resumed computation name its file."""
        return self.checkpoint.resuming() if self._is_resumed and self.checkpoint is not None else nullcontext()

    def checking(self) -> AbstractContextManager:
        """Return a context in which any error is reported as damage of the checkpoint."""
        return nullcontext() if self.checkpoint is None else self.checkpoint.checking()

    def recall(
        self,
        name: str,
        compute: Callable[[], Any],
        is_complete: Callable[[], bool] = lambda: True,
        check: Callable[[Any], None] = lambda result: None,
    ) -> Any:
        """Return the result that is known by a name, or else compute it and write it down.

        Parameters
        ----------
        name : str
            Tells results apart; the same in every run.
        compute : callable
            Returns plain numbers, text, arrays, models, and lists, tuples and dicts of them.
        is_complete : callable
            Whether the result that was computed is whole, and not what an interrupt left.
        check : callable
            Raises if the result in the file cannot be what was computed.
        """
        if name in self.entries:
            with self.checking():
                check(self.entries[name])
            return self.entries[name]
        result = compute()
        if is_complete():
            self.note(name, result)
        return result

    def note(self, name: str, value: Any) -> None:
        """Write a result down."""
        if self.checkpoint is not None:
            self.entries[name] = value
            self._write(self.checkpoint)

    def tend(self, now: bool = False) -> None:
        """Write results that wait to be written, if it is time."""
        if self.checkpoint is not None:
            self.checkpoint.tend(now)

    def finish(self) -> None:
        """Mark the memo as complete."""
        if self.checkpoint is not None and not self.finished:
            self.finished = True
            self._write(self.checkpoint)

    def _write(self, checkpoint: Checkpoint) -> None:
        state = replace(self._state(), memory=MemoEntries(dict(self.entries)))
        checkpoint.keep(state, [], last=self.finished)

    def _state(self) -> State:
        return State(None, 0.0, 0.0, len(self.entries), MemoEntries(), self.finished)
