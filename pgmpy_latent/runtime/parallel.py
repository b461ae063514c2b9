"""Independent work shared by joblib's workers: threads by default, or what ``joblib.parallel_config`` says.

A function is applied to items; it depends on the item and on nothing that changes, so that it does not matter which
worker does it, in which order, or how often. Workers that are not threads get the function pickled with every task.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from joblib import Parallel, cpu_count, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Tasks per process in :func:`mapped`: few, because each unpickles the function; several, because some take longer.
TASKS = 2
#: Seconds between two calls of ``clock.on_check`` while other processes work.
PULSE = 1.0


def n_workers(n_jobs: int | None) -> int:
    """Return how many workers a number of jobs means to joblib; one within a worker.

    Examples
    --------
    >>> n_workers(None), n_workers(2)
    (1, 2)
    """
    try:
        available = effective_n_jobs(n_jobs)
    except Exception as error:  # of many kinds, if a scheduler went away
        if in_threads():
            raise
        raise RuntimeError(
            f"joblib's backend {type(get_active_backend()[0]).__name__} cannot be reached ({error or 'no answer'}); "
            "see that its scheduler and workers run, or leave joblib.parallel_config and learn on this machine"
        ) from error
    return min(available, n_jobs) if n_jobs is not None and n_jobs > 0 else max(available, 1)


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads of this process a number of jobs means; one within a worker.

    If joblib was told to use other workers and no number is given, that is one: their number says nothing about this
    machine.

    Examples
    --------
    >>> n_threads(None), n_threads(2)
    (1, 2)
    """
    if n_jobs == 1:
        return 1
    if in_threads():
        return n_workers(n_jobs)
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    return max(1, cpu_count() + 1 + n_jobs)


def in_threads() -> bool:
    """Tell whether workers share the memory of this process.

    Examples
    --------
    >>> in_threads()
    True
    """
    return getattr(_backend(), "supports_sharedmem", False)


def _backend():
    return get_active_backend(prefer="threads")[0]


def mapped(function: Callable, items: Sequence, n_jobs: int | None, clock: Clock | None = None) -> list:
    """Apply a function to independent items, and return the results in their order.

    Parameters
    ----------
    function : callable
        Of one item. With process workers it must be picklable: a method of a picklable object, or a partial.
    items : sequence
        What it is applied to. Processes get them in a few tasks each.
    n_jobs : int, optional
        As joblib understands it.
    clock : Clock, optional
        Checked between results. If an exception ends the work, the clock cancels threads that are still working.

    Raises
    ------
    KeyboardInterrupt, TimeLimitReached
        If Ctrl-C was pressed here, or an item raised it.

    Examples
    --------
    >>> mapped(abs, [-3, 2], n_jobs=2)
    [3, 2]
    """
    n = _n_useful(items, n_jobs, clock)
    if n == 1:
        return list(map(function, items))
    n_tasks = len(items) if in_threads() else min(len(items), TASKS * n)
    results: list = [None] * len(items)
    for at, result in _in_tasks(function, items, n, n_tasks, clock):
        results[at] = result
    return results


def as_completed(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None, clock: Clock | None = None
) -> Iterator[tuple[int, Result]]:
    """Apply a function to independent items that take long, and yield (position, result) as they are finished.

    Parameters
    ----------
    function, items, n_jobs, clock
        See :func:`mapped`. Every item is a task of its own.

    Examples
    --------
    >>> sorted(as_completed(abs, [-3, 2], n_jobs=2))
    [(0, 3), (1, 2)]
    """
    n = _n_useful(items, n_jobs, clock)
    if n == 1:
        return ((at, function(item)) for at, item in enumerate(items))
    return _in_tasks(function, items, n, len(items), clock)


def work_through(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None,
    report: Callable[[Result], object] = lambda result: None,
    clock: Clock | None = None,
) -> tuple[list[Result], bool]:
    """Apply a function to independent items that take long, as far as Ctrl-C allows.

    Parameters
    ----------
    function, items, n_jobs, clock
        See :func:`as_completed`.
    report : callable
        Called with every result as soon as it is there.

    Returns
    -------
    results : list
        Of the items that were finished, in their order.
    interrupted : bool
        Whether Ctrl-C, or the time limit, came before the last; ``clock.stopped`` says which.

    Examples
    --------
    >>> work_through(abs, [-3, 2], n_jobs=2)
    ([3, 2], False)
    """
    results: dict[int, Result] = {}
    interrupted = False
    try:
        for at, result in as_completed(function, items, n_jobs, clock):
            results[at] = result
            report(result)
    except STOP_SIGNALS as stop:
        interrupted = True
        if clock is not None:
            clock.note_stop(stop)
    return [results[at] for at in sorted(results)], interrupted


def _n_useful(items: Sequence, n_jobs: int | None, clock: Clock | None) -> int:
    """Return how many workers have something to do; one if threads of an interrupted computation may still run."""
    if len(items) <= 1 or (clock is not None and clock.was_interrupted):
        return 1
    return min(n_workers(n_jobs), len(items))


def pool_of_threads(n: int) -> ThreadPoolExecutor:
    """Return threads of this process for work within a step, which other workers could not share in time.

    To be used in a ``with`` statement, which waits for what is under way.

    Examples
    --------
    >>> with pool_of_threads(2) as pool:
    ...     list(pool.map(abs, [-3, 2]))
    [3, 2]
    """
    return ThreadPoolExecutor(n)


# Tasks -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stopped:
    """An item that was stopped. Raising the signal would end some kinds of workers."""

    signal: BaseException


def _in_tasks(
    function: Callable[[Item], Result], items: Sequence[Item], n: int, n_tasks: int, clock: Clock | None
) -> Iterator[tuple[int, Result]]:
    """Yield (position, result) of items that joblib's workers share in so many tasks."""
    parallel = Parallel(
        n_jobs=n,
        prefer="threads",
        return_as="generator_unordered" if getattr(_backend(), "supports_return_generator", False) else "list",
        batch_size=1,
        pre_dispatch="all" if effective_n_jobs(n) <= n else n,  # some backends use all they have, whatever the number
    )
    numbered = list(enumerate(items))
    n_left = len(numbered)
    answers = parallel(delayed(_do)(function, numbered[first::n_tasks]) for first in range(n_tasks))
    try:
        with _pulse(clock):
            for answer in answers:
                for at, result in _results(answer):
                    n_left -= 1
                    yield at, result
                if n_left and clock is not None:
                    clock.check()
    finally:
        if n_left and clock is not None:
            clock.cancel_other_threads()
        _close(answers)


def _do(function: Callable, items: Sequence[tuple[int, object]]) -> tuple[list[tuple[int, object]], list]:
    """Apply a function to numbered items until one is stopped; return the results, and the warnings if possible.

    This runs in a worker, where nested work is not shared any further.
    """
    results: list[tuple[int, object]] = []
    with parallel_config(backend="sequential"), one_blas_thread(), _recorded_warnings() as caught:
        for at, item in items:
            try:
                results.append((at, function(item)))
            except STOP_SIGNALS as stop:
                results.append((at, _Stopped(stop)))
                break
    return results, [(str(one.message), one.category, one.filename, one.lineno) for one in caught]


@contextmanager
def _recorded_warnings() -> Iterator[list]:
    """Collect warnings of a process; threads share Python's filters, so there warnings take their usual way."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _results(answer: tuple[list[tuple[int, Result | _Stopped]], list]) -> Iterator[tuple[int, Result]]:
    """Yield the results of a task after repeating its warnings; raise what stopped it."""
    results, caught = answer
    for message, category, filename, line in caught:
        warnings.warn_explicit(message, category, filename, line)
    for at, result in results:
        if isinstance(result, _Stopped):
            raise result.signal
        yield at, result


@contextmanager
def _pulse(clock: Clock | None) -> Iterator[None]:
    """Call ``clock.on_check`` from time to time while processes work; threads check the clock themselves."""
    on_check = None if clock is None else clock.on_check
    if on_check is None or in_threads():
        yield
        return
    over = threading.Event()

    def beat() -> None:
        while not over.wait(PULSE):
            on_check()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _close(answers) -> None:
    """Cancel what is not done yet, without joblib's advice to ask for less."""
    if hasattr(answers, "close"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*adjusting the input task", category=UserWarning)
            answers.close()


# Ctrl-C -------------------------------------------------------------------------------------------


@contextmanager
def uninterrupted(heed: bool = False) -> Iterator[None]:
    """Delay Ctrl-C until something short is done that must not be left half done.

    Parameters
    ----------
    heed : bool
        Whether Ctrl-C ends the work afterwards; otherwise it came too late, and is forgotten.

    Examples
    --------
    >>> with uninterrupted():
    ...     signal.raise_signal(signal.SIGINT)
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():  # other threads get no signals
        yield
        return
    pressed = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)
    if pressed and heed:
        raise KeyboardInterrupt
