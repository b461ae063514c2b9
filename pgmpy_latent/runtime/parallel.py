"""Independent work, shared by as many workers as were asked for: threads, or what joblib was told to use."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from itertools import accumulate

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from pgmpy_latent.runtime import tasks as _work
from pgmpy_latent.runtime.processes import in_processes
from pgmpy_latent.runtime.tasks import Packed, abandon_with, abandoned, answer, done, unfolded, working

__all__ = [
    "abandoned", "as_completed", "mapped", "mapped_in_stages", "n_threads", "n_workers", "uninterrupted",
    "work_through",
]  # fmt: skip

#: Tasks per worker: few, because each has its cost; several, because some last longer than others.
TASKS = 4


def n_workers(n_jobs: int | None) -> int:
    """Return how many workers a number of jobs means; one within a worker, so that they never multiply.

    Examples
    --------
    >>> n_workers(None), n_workers(2)
    (1, 2)
    """
    if working():
        return 1
    try:
        found = effective_n_jobs(n_jobs)
    except Exception as error:  # of many kinds, where a scheduler went away
        if in_threads():
            raise
        raise RuntimeError(
            f"joblib's backend {type(get_active_backend()[0]).__name__} cannot be reached ({error or 'no answer'}); "
            "see that its scheduler and workers run, or leave joblib.parallel_config and learn on this machine"
        ) from error
    return min(found, n_jobs) if n_jobs is not None and n_jobs > 0 else max(found, 1)


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads of this process a number of jobs means; one within a worker.

    Where joblib was told to use other workers and no number was given, that is one: their number says nothing about
    this machine.

    Examples
    --------
    >>> n_threads(None), n_threads(2)
    (1, 2)
    """
    if working():
        return 1
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    if n_jobs is None and not in_threads():
        return 1
    return n_workers(n_jobs) if in_threads() else max(1, cpu_count() + 1 + n_jobs)


def in_threads() -> bool:
    """Tell whether workers are threads of this process.

    Examples
    --------
    >>> in_threads()
    True
    """
    return getattr(_backend(), "supports_sharedmem", False)


def _uses_processes() -> bool:
    """Tell whether workers are processes of this machine."""
    return type(_backend()).__name__ == "LokyBackend"


def _backend():
    """Return the backend that joblib was told to use, or its threads."""
    return get_active_backend(prefer="threads")[0]


@contextmanager
def uninterrupted(heed: bool = False) -> Iterator[None]:
    """Let Ctrl-C wait until something short is done that must not be left half done.

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


def as_completed(
    work: Callable, items: Sequence, n_jobs: int | None, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[tuple[int, object]]:
    """Apply a function to independent items, and yield (position, result) as they are finished.

    Parameters
    ----------
    work : callable
        Of one item; must be picklable for workers that are no threads: a method of such an object, or a partial.
    items : sequence
        What it is applied to.
    n_jobs : int, optional
        As joblib understands it.
    meanwhile : callable
        Called every second or so while processes of this machine work on something long.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C was pressed, or if an item raised it, as it does when its time is up.

    Examples
    --------
    >>> sorted(as_completed(abs, [-3, 2], n_jobs=2))
    [(0, 3), (1, 2)]
    """
    n = min(n_workers(n_jobs), len(items))
    if n <= 1:
        yield from ((at, work(item)) for at, item in enumerate(items))
    elif in_threads():
        yield from _in_threads(work, items, n)
    elif _uses_processes():
        yield from in_processes(work, [items], n, meanwhile)
    else:
        yield from _in_tasks(work, items, n)


def mapped(work: Callable, items: Sequence, n_jobs: int | None, report: Callable[[], None] = lambda: None) -> list:
    """Apply a function to independent items; see :func:`as_completed`. The order stays.

    Parameters
    ----------
    work, items, n_jobs
        See there.
    report : callable
        Called whenever an item is finished, and every second or so until then.

    Examples
    --------
    >>> mapped(abs, [-3, 2], n_jobs=2)
    [3, 2]
    """
    found: list = [None] * len(items)
    for at, result in as_completed(work, items, n_jobs, report):
        found[at] = result
        report()
    return found


def mapped_in_stages(
    work: Callable, stages: Iterable[Sequence], n_jobs: int | None, report: Callable[[], None] = lambda: None
) -> list[list]:
    """Apply a function to independent items of several stages; see :func:`as_completed`. The order stays.

    Parameters
    ----------
    work, n_jobs, report
        See :func:`mapped`.
    stages : iterable of sequences
        Items. What it takes to make those of a stage is done here, while other processes work on those before.

    Examples
    --------
    >>> mapped_in_stages(abs, iter([[-3, 2], [], [-1]]), n_jobs=2)
    [[3, 2], [], [1]]
    """
    sizes: list[int] = []
    counted = (sizes.append(len(stage)) or stage for stage in stages)
    n = n_workers(n_jobs)
    if n > 1 and not in_threads() and _uses_processes():
        found = {}
        for at, result in in_processes(work, counted, n, report):
            found[at] = result
            report()
    else:
        found = dict(enumerate(mapped(work, [item for stage in counted for item in stage], n_jobs, report)))
    ends = list(accumulate(sizes))
    return [[found[at] for at in range(end - size, end)] for end, size in zip(ends, sizes, strict=True)]


def work_through(
    work: Callable, items: Sequence, n_jobs: int | None, report: Callable[[object], None] = lambda result: None
) -> tuple[list, bool]:
    """Apply a function to independent items, as far as Ctrl-C allows; see :func:`as_completed`.

    Parameters
    ----------
    work, items, n_jobs
        See there.
    report : callable
        Is given every result, as soon as it is there.

    Returns
    -------
    results : list
        Of the items that were finished, in their order.
    interrupted : bool
        Whether Ctrl-C came before the last.

    Examples
    --------
    >>> work_through(abs, [-3, 2], n_jobs=2)
    ([3, 2], False)
    """
    found: dict[int, object] = {}
    interrupted = False
    try:
        for at, result in as_completed(work, items, n_jobs):
            found[at] = result
            report(result)
    except KeyboardInterrupt:
        interrupted = True
    return [found[at] for at in sorted(found)], interrupted


# Threads ------------------------------------------------------------------------------------------


def _in_threads(work: Callable, items: Sequence, n: int) -> Iterator[tuple[int, object]]:
    """Let threads of our own do it: joblib looks only every ten milliseconds whether its threads are ready."""
    stop = threading.Event()

    def one(item):
        abandon_with(stop)
        return done(work, item)

    pool = ThreadPoolExecutor(n)
    try:
        waiting = {pool.submit(one, item): at for at, item in enumerate(items)}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), _work.result(future.result())
    finally:  # after an interrupt, threads go on to the end of what they have begun, or until they ask
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


# Other workers ------------------------------------------------------------------------------------


def _in_tasks(work: Callable, items: Sequence, n: int) -> Iterator[tuple[int, object]]:
    """Let joblib's workers do it."""
    parallel = Parallel(
        n_jobs=n,
        prefer="threads",
        return_as="generator_unordered" if getattr(_backend(), "supports_return_generator", False) else "list",
        batch_size=1,
        pre_dispatch="all" if effective_n_jobs(n) <= n else n,  # some backends use all they have, whatever the number
    )
    found_so_far = parallel(delayed(task)() for task in _tasks(Packed(work), items, n))
    try:
        for answered in found_so_far:
            yield from unfolded(answered)
    finally:
        _close(found_so_far)


def _tasks(work: Packed, items: Sequence, n: int) -> list[partial]:
    """Deal items out to tasks, a few per worker."""
    numbered = list(enumerate(items))
    n_tasks = min(len(items), TASKS * n)
    return [partial(_task, work, numbered[first::n_tasks]) for first in range(n_tasks)]


def _task(work: Packed, items: Sequence[tuple[int, object]]) -> tuple:
    return answer(work.unpacked(), items)


def _close(results) -> None:
    """Give up what is not done yet, without joblib's advice to ask for less."""
    if hasattr(results, "close"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*tasks which were still being processed", category=UserWarning)
            results.close()
