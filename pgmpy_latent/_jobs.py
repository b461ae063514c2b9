"""Independent work, shared by as many workers as were asked for: threads, or what joblib was told to use.

Work is a function of its item and of nothing that changes, so that it does not matter which worker does it, in which
order, or how often. Threads share what the function refers to. Other workers get it packed, and keep the last few packs
unpacked; every task has the pack with it, or the file that holds it, so that a worker that comes late, or in place of a
lost one, can do any task.
"""

from __future__ import annotations

import pickle
import signal
import tempfile
import threading
import time
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path

from joblib import Parallel, cpu_count, delayed, effective_n_jobs, wrap_non_picklable_objects
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import get_active_backend

from pgmpy_latent._arrays import one_blas_thread

#: Tasks per worker: few, because each has its cost; several, because some last longer than others.
TASKS = 4
#: A process gets so large a part of a worker's share of what is left as one task: smaller and smaller ones.
SHARE = 8
#: Packs that a worker keeps unpacked.
KEPT = 6
#: Seconds that processes are waited for without a look at anything else.
PULSE = 1.0
#: Seconds after which processes that have nothing to do end, as joblib has it.
IDLE = 300
#: What processes are started with, so that each has one thread.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_HERE = threading.local()
_UNPACKED: OrderedDict[bytes, object] = OrderedDict()
_LOCK = threading.Lock()


def n_workers(n_jobs: int | None) -> int:
    """Return how many workers a number of jobs means; one within a worker, so that they never multiply.

    Examples
    --------
    >>> n_workers(None), n_workers(2)
    (1, 2)
    """
    if getattr(_HERE, "working", False):
        return 1
    try:
        found = effective_n_jobs(n_jobs)
    except Exception as error:  # of many kinds, where a scheduler went away
        if _shares_memory():
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
    if getattr(_HERE, "working", False):
        return 1
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    if n_jobs is None and not _shares_memory():
        return 1
    return n_workers(n_jobs) if _shares_memory() else max(1, cpu_count() + 1 + n_jobs)


def _shares_memory() -> bool:
    """Tell whether workers are threads of this process."""
    return getattr(_backend(), "supports_sharedmem", False)


def _uses_processes() -> bool:
    """Tell whether workers are processes of this machine."""
    return type(_backend()).__name__ == "LokyBackend"


def _backend():
    """Return the backend that joblib was told to use, or its threads."""
    return get_active_backend(prefer="threads")[0]


def abandoned() -> bool:
    """Tell whether this thread works on something that nobody waits for any more.

    Examples
    --------
    >>> abandoned()
    False
    """
    stop = getattr(_HERE, "stop", None)
    return stop is not None and stop.is_set()


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
    elif _shares_memory():
        yield from _in_threads(work, items, n)
    elif _uses_processes():
        yield from _in_processes(work, [items], n, meanwhile)
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
    if n > 1 and not _shares_memory() and _uses_processes():
        found = {}
        for at, result in _in_processes(work, counted, n, report):
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


@dataclass(frozen=True)
class _Interrupted:
    """An item that was interrupted; raising it would end some kinds of workers."""

    reason: KeyboardInterrupt


def _done(work: Callable, item):
    """Do an item, as a worker."""
    before = getattr(_HERE, "working", False)
    _HERE.working = True
    try:
        return work(item)
    except KeyboardInterrupt as reason:
        return _Interrupted(reason)
    finally:
        _HERE.working = before


# Threads ------------------------------------------------------------------------------------------


def _in_threads(work: Callable, items: Sequence, n: int) -> Iterator[tuple[int, object]]:
    """Let threads of our own do it: joblib looks only every ten milliseconds whether its threads are ready."""
    stop = threading.Event()

    def one(item):
        _HERE.stop = stop
        return _done(work, item)

    pool = ThreadPoolExecutor(n)
    try:
        waiting = {pool.submit(one, item): at for at, item in enumerate(items)}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), _result(future.result())
    finally:  # after an interrupt, threads go on to the end of what they have begun, or until they ask
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _result(found):
    if isinstance(found, _Interrupted):
        raise found.reason
    return found


# Other workers ------------------------------------------------------------------------------------


class _Packed:
    """A function in a form that travels; what it is a method of is packed once for all of its methods.

    With a folder, which workers must see, the pack is a file there, and tasks are small.
    """

    def __init__(self, work: Callable, folder: str | None = None):
        owner, self.method = work, None
        if getattr(work, "__self__", None) is not None and hasattr(type(work.__self__), work.__name__):
            owner, self.method = work.__self__, work.__name__
        pack = pickle.dumps(wrap_non_picklable_objects(owner, keep_wrapper=False), pickle.HIGHEST_PROTOCOL)
        self.name = blake2b(pack, digest_size=16).digest()
        self.pack: bytes | Path = pack
        if folder is not None:
            self.pack = Path(folder) / self.name.hex()
            self.pack.write_bytes(pack)

    def unpacked(self) -> Callable:
        """Return the function."""
        with _LOCK:
            found = _UNPACKED.pop(self.name, None)
            if found is None:
                found = pickle.loads(self.pack.read_bytes() if isinstance(self.pack, Path) else self.pack)
            _UNPACKED[self.name] = found
            while len(_UNPACKED) > KEPT:
                _UNPACKED.popitem(last=False)
        return found if self.method is None else getattr(found, self.method)


def _task(packed: _Packed, items: Sequence[tuple[int, object]]) -> tuple[list[tuple[int, object]], list]:
    """Do some items, one after the other; return the results, and warnings where this thread may record them."""
    work = packed.unpacked()
    results: list[tuple[int, object]] = []
    with one_blas_thread():
        if threading.current_thread() is not threading.main_thread():
            results.extend((at, _done(work, item)) for at, item in items)
            return results, []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.extend((at, _done(work, item)) for at, item in items)
    return results, [(str(one.message), one.category, one.filename, one.lineno) for one in caught]


def _in_processes(
    work: Callable, stages: Iterable[Sequence], n: int, meanwhile: Callable
) -> Iterator[tuple[int, object]]:
    """Let processes of this machine do it, one fewer than workers: this process, too, does its share.

    It has at hand already what others must compute first. Answers are waited for here: joblib looks only every ten
    milliseconds whether there are any.
    """
    with tempfile.TemporaryDirectory(prefix="pgmpy_latent_") as folder:
        line = _Line(_Packed(work, folder), n)
        try:
            for stage in stages:
                line.append(stage)
            while line.feed(least=1):
                own = line.take()
                if own is not None:
                    at, item = own
                    with one_blas_thread():
                        found = _done(work, item)
                    yield at, _result(found)
                for future in line.answered(0 if own is not None else PULSE, meanwhile):
                    yield from _answers(future.result())
        finally:
            line.close()


class _Line:
    """Items that wait to be done, in their order, so that long ones should come first.

    A process that is done gets the next task from the thread that heard of it. As long as there are many, it has one
    more in store.
    """

    def __init__(self, packed: _Packed, n: int):
        self.packed, self.n = packed, n
        self.n_items = 0
        self.left: deque[tuple[int, object]] = deque()
        self.waiting: set[Future] = set()
        self.open = True
        self.lock = threading.RLock()
        self.executor = get_reusable_executor(n - 1, timeout=IDLE, env=ONE_THREAD)

    def append(self, items: Sequence) -> None:
        """Add items, and give processes what they lack; the last one stays here, whether or not others follow."""
        with self.lock:
            self.left.extend(enumerate(items, start=self.n_items))
            self.n_items += len(items)
            self.feed(least=1)

    def feed(self, done: Future | None = None, least: int = 0) -> bool:
        """Give processes what they lack, but for the last items; tell whether anything is left or under way."""
        if done is not None and (done.cancelled() or done.exception() is not None):
            return True  # loky, which is about to end, holds locks of its own
        with self.lock:
            busy = sum(not future.done() for future in self.waiting)
            while self.open and len(self.left) > least and busy < (self.n - 1) * (1 + (len(self.left) > 2 * self.n)):
                some = [self.left.popleft() for _ in range(max(1, len(self.left) // (SHARE * self.n)))]
                future = self.executor.submit(_task, self.packed, some)
                self.waiting.add(future)
                future.add_done_callback(self.feed)
                busy += 1
            return bool(self.left or self.waiting)

    def take(self) -> tuple[int, object] | None:
        """Return the next item, or None."""
        with self.lock:
            return self.left.popleft() if self.left else None

    def answered(self, patience: float, meanwhile: Callable) -> set[Future]:
        """Return what other processes have done, after a wait of some seconds at most."""
        with self.lock:
            waiting = set(self.waiting)
        done = wait(waiting, timeout=patience, return_when=FIRST_COMPLETED).done
        if not done:
            meanwhile()
        with self.lock:
            self.waiting -= done
        return done

    def close(self) -> None:
        """End processes in the middle of what nobody wants any more; others are started when there is work again."""
        with self.lock:
            self.open = False
            waiting = [future for future in self.waiting if not future.done()]
        if not waiting:
            return
        patience = time.monotonic() + PULSE
        while not all(future.running() or future.done() for future in waiting) and time.monotonic() < patience:
            time.sleep(0.001)  # loky stumbles over work that it has not handed on yet
        self.executor.shutdown(wait=True, kill_workers=True)


def _in_tasks(work: Callable, items: Sequence, n: int) -> Iterator[tuple[int, object]]:
    """Let joblib's workers do it."""
    parallel = Parallel(
        n_jobs=n,
        prefer="threads",
        return_as="generator_unordered" if getattr(_backend(), "supports_return_generator", False) else "list",
        batch_size=1,
        pre_dispatch="all" if effective_n_jobs(n) <= n else n,  # some backends use all they have, whatever the number
    )
    found_so_far = parallel(delayed(task)() for task in _tasks(_Packed(work), items, n))
    try:
        for answer in found_so_far:
            yield from _answers(answer)
    finally:
        _close(found_so_far)


def _tasks(packed: _Packed, items: Sequence, n: int) -> list[partial]:
    """Deal items out to tasks, a few per worker."""
    numbered = list(enumerate(items))
    n_tasks = min(len(items), TASKS * n)
    return [partial(_task, packed, numbered[first::n_tasks]) for first in range(n_tasks)]


def _answers(answer: tuple[list, list]) -> Iterator[tuple[int, object]]:
    """Yield the results of a task, after what it warned of."""
    results, caught = answer
    for message, category, filename, line in caught:
        warnings.warn_explicit(message, category, filename, line)
    for at, found in results:
        yield at, _result(found)


def _close(results) -> None:
    """Give up what is not done yet, without joblib's advice to ask for less."""
    if hasattr(results, "close"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*tasks which were still being processed", category=UserWarning)
            results.close()
