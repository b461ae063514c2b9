"""Memoise expensive intermediate results in a checkpoint.

For computations that are no sequence of states. One that is resumed runs again from the beginning, and reads results
that the memo holds instead of computing them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.checkpoint import Checkpoint, Saved, State
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.fingerprint import Fingerprint, fingerprint_of_call
from pgmpy_latent.runtime.settings import RandomState, entropy_of
from pgmpy_latent.tables.encode import CategoricalData

Item = TypeVar("Item")
Result = TypeVar("Result")


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

    def work_through(
        self,
        names: Sequence[str],
        work: Callable[[Item], Result],
        items: Sequence[Item],
        n_jobs: int | None,
        report: Callable[[Result], object] = lambda result: None,
        clock: Clock | None = None,
    ) -> tuple[list[Result], bool]:
        """Apply a function to independent items, and write every result down; see :func:`parallel.work_through`.

        Examples
        --------
        >>> Memo().work_through(["first", "second"], abs, [-3, 2], n_jobs=1)
        ([3, 2], False)
        """
        results = {at: self.entries[name] for at, name in enumerate(names) if name in self.entries}
        for result in results.values():
            report(result)
        left = [at for at in range(len(items)) if at not in results]
        interrupted = False
        try:
            for place, result in parallel.as_completed(work, [items[at] for at in left], n_jobs, clock):
                results[left[place]] = result
                self.note(names[left[place]], result)
                report(result)
        except STOP_SIGNALS:
            interrupted = True
        return [results[at] for at in sorted(results)], interrupted

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


def memo_at(
    path, mark: Callable[[], Fingerprint], random_state: RandomState = None, entropy: int | None = None
) -> tuple[Memo, int]:
    """Return the memo in a file, empty without a path, and the entropy of the seeds: that of the file if it has one.

    Parameters
    ----------
    path : path-like, optional
        The file.
    mark : callable
        Returns which computation it belongs to; called only if there is a path.
    random_state : int or Generator, optional
        The seed of the user, if there is one; it must be that of the file.
    entropy : int, optional
        Of the seeds, should the computation begin anew; by default that of ``random_state``.

    Examples
    --------
    >>> memo_at(None, lambda: Fingerprint("relate", "", {}), 7)[1]
    7
    """
    entropy = entropy_of(random_state) if entropy is None else entropy
    if path is None:
        return Memo(), entropy
    checkpoint = Checkpoint(path, mark())
    saved = checkpoint.resume(entropy, random_state is not None)
    return Memo(checkpoint, saved), checkpoint.entropy


def memo_of_call(
    path, call: str, settings: Mapping[str, object], data: CategoricalData, random_state: RandomState, further: str = ""
) -> tuple[Memo, int]:
    """Return the memo of a function of a table, and the entropy of its seeds.

    Parameters
    ----------
    path : path-like, optional
        The file; without one nothing is read or written.
    call : str
        Name of the function.
    settings : dict
        Its arguments that the result depends on.
    data : CategoricalData
        The table, with weights, strata and clusters.
    random_state : int or Generator, optional
        The seed of the user.
    further : str
        Text that tells further data apart.

    Examples
    --------
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [1.0, 1.0])
    >>> memo_of_call(None, "order_test", {"n_classes": 2}, data, 0)[0].entries
    {}
    """

    def mark() -> Fingerprint:
        text, arrays = data.identity()
        design = data.design
        drawn = () if design is None else (design.row, design.weight, design.count, design.stratum, design.cluster)
        return fingerprint_of_call(call, settings, f"{text} {data.weight_kind} {further}", *arrays, *drawn)

    return memo_at(path, mark, random_state)
