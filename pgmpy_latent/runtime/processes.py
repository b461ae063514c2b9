"""Work shared by processes of one machine, of which the one that asks is one.

Nobody deals items out: whoever is ready claims the next one, by making an empty file with its number, which only one of
them can. So nobody waits to be given something, and all are done at nearly the same time. The process that asks claims
items of a stage from the end and others from the beginning: items next to each other share work, which is done once by
each process that has some of them. The last ones are those in the middle, which should be short.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from pathlib import Path

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker

from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.tasks import Answer, Packed, answer, done, packed, result, unfolded

#: Seconds that processes are waited for without a look at anything else, and after which they tell what they have done.
PULSE = 1.0
#: Seconds after which processes that have nothing to do end, as joblib has it.
IDLE = 300
#: What processes are started with, so that each has one thread.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def in_processes(
    work: Callable, stages: Iterable[Sequence], n: int, meanwhile: Callable[[], None]
) -> Iterator[tuple[int, object]]:
    """Apply a function to items, and yield (number, result) as they are finished.

    Parameters
    ----------
    work : callable
        Of one item; picklable.
    stages : iterable of sequences
        Items, numbered through all stages. Those of a stage are made while other processes work on those before.
    n : int
        Processes, with this one.
    meanwhile : callable
        Called every second or so while others work on something long.
    """
    with _own_folder() as folder:
        line = _Line(work, folder, n)
        try:
            for stage in stages:
                line.append(stage)
            while (own := line.claim()) is not None:
                at, item = own
                with one_blas_thread():
                    found = done(work, item)
                line.n_left -= 1
                yield at, result(found)
                yield from line.results(line.ended(0))
            while line.n_left:
                ended = line.ended(PULSE)
                yield from line.results(ended)
                if not ended:
                    meanwhile()
        finally:
            line.close()


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a folder, and remove it in the end; should this process be killed, joblib removes it when others ended."""
    made = tempfile.TemporaryDirectory(prefix="pgmpy_latent_", ignore_cleanup_errors=True)
    resource_tracker.register(made.name, "folder")
    try:
        yield Path(made.name)
    finally:
        made.cleanup()
        resource_tracker.unregister(made.name, "folder")


class _Line:
    """Items that wait to be claimed, and the tasks of other processes, each of which claims as many as it can.

    A task is given its first item when it is handed out, so that every process gets one.
    """

    def __init__(self, work: Callable, folder: Path, n: int):
        self.folder, self.n = folder, n
        self.packed = Packed(work, folder)
        self.items: list = []
        self.n_left = 0  # items whose results are not known
        self.first = 0  # what lies before is claimed
        self.stages: list[list[int]] = []  # of each, the first item and the last that may be free
        self.waiting: set[Future] = set()
        self.open, self.error = True, None
        self.lock = threading.RLock()
        self.executor = get_reusable_executor(n - 1, timeout=IDLE, env=ONE_THREAD)

    def append(self, items: Sequence) -> None:
        """Add items, and let processes that have nothing to do claim some."""
        if not len(items):
            return
        numbered = list(enumerate(items, start=len(self.items)))
        path = self.folder / f"stage-{len(self.stages)}"
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(packed(numbered))
        os.replace(unfinished, path)  # whole, or not there
        with self.lock:
            self.items += items
            self.n_left += len(items)
            self.stages.append([len(self.items) - len(items), len(self.items) - 1])
            while self._hand_out():
                pass

    def _hand_out(self) -> bool:
        """Give a process that has nothing to do a task, unless the only item that is left can be done here."""
        busy = sum(not future.done() for future in self.waiting)
        n_free = sum(max(0, last + 1 - max(begin, self.first)) for begin, last in self.stages)
        if not self.open or busy >= self.n - 1 or n_free < 2:
            return False
        number = self._claimed_first()
        if number is None:
            return False
        future = self.executor.submit(_task, self.packed, self.folder, number)
        self.waiting.add(future)
        future.add_done_callback(self._task_ended)
        return True

    def _claimed_first(self) -> int | None:
        while self.first < len(self.items):
            self.first += 1
            if _claim(self.folder, self.first - 1):
                return self.first - 1
        return None

    def _task_ended(self, future: Future) -> None:
        """Let the process go on if there is more; called by the thread that heard of it."""
        if future.cancelled() or future.exception() is not None:
            return  # loky, which is about to end, holds locks of its own
        try:
            with self.lock:
                self._hand_out()
        except Exception as error:  # nobody would hear of it
            self.error = error

    def claim(self) -> tuple[int, object] | None:
        """Return the last item of the first stage of which nobody has claimed all, or None."""
        with self.lock:
            for stage in self.stages:
                while stage[1] >= max(stage[0], self.first):
                    stage[1] -= 1
                    if _claim(self.folder, stage[1] + 1):
                        return stage[1] + 1, self.items[stage[1] + 1]
        return None

    def ended(self, patience: float) -> set[Future]:
        """Return the tasks that have ended, after a wait of some seconds at most."""
        if self.error is not None:
            raise self.error
        with self.lock:
            waiting = set(self.waiting)
        ended = wait(waiting, timeout=patience, return_when=FIRST_COMPLETED).done
        with self.lock:
            self.waiting -= ended
        return ended

    def results(self, tasks: Iterable[Future]) -> Iterator[tuple[int, object]]:
        """Yield what tasks that have ended have done."""
        for task in tasks:
            for found in unfolded(task.result()):
                self.n_left -= 1
                yield found

    def close(self) -> None:
        """End processes in the middle of what nobody wants any more; others are started when there is work again."""
        with self.lock:
            self.open = False
            waiting = [future for future in self.waiting if not future.done()]
        if not waiting or not self.n_left:
            return
        patience = time.monotonic() + PULSE
        while not all(future.running() or future.done() for future in waiting) and time.monotonic() < patience:
            time.sleep(0.001)  # loky stumbles over work that it has not handed on yet
        self.executor.shutdown(wait=True, kill_workers=True)


def _claim(folder: Path, number: int) -> bool:
    """Tell whether an item was free, and is ours now."""
    try:
        os.close(os.open(folder / f"claim-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except (FileExistsError, FileNotFoundError):  # somebody was faster; all is done, and the folder gone
        return False
    return True


def _task(work: Packed, folder: Path, number: int) -> Answer:
    """Do an item and all others that can be claimed, for about a second."""
    return answer(work.unpacked(), _claimed(folder, number))


def _claimed(folder: Path, number: int) -> Iterator[tuple[int, object]]:
    ends = time.monotonic() + PULSE
    for path in (folder / f"stage-{stage}" for stage in range(10**9)):
        if not path.exists():
            return
        for at, item in pickle.loads(path.read_bytes()):
            if at == number or (at > number and time.monotonic() < ends and _claim(folder, at)):
                yield at, item
