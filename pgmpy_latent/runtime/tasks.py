"""Work that travels: a function and its items, packed for other processes and machines, and done there.

Work is a function of its item and of nothing that changes, so that it does not matter which worker does it, in which
order, or how often. Workers that are no threads get what the function refers to packed, and keep the last few packs
unpacked; every task has the pack with it, or the file that holds it, so that a worker that comes late, or in place of a
lost one, can do any task.
"""

from __future__ import annotations

import pickle
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from joblib import wrap_non_picklable_objects

from pgmpy_latent.runtime.arrays import one_blas_thread

#: Packs that a worker keeps unpacked.
KEPT = 6

_HERE = threading.local()
_UNPACKED: OrderedDict[bytes, object] = OrderedDict()
_LOCK = threading.Lock()


def working() -> bool:
    """Tell whether this thread does an item for somebody.

    Examples
    --------
    >>> working(), done(lambda item: working(), None)
    (False, True)
    """
    return getattr(_HERE, "working", False)


def abandoned() -> bool:
    """Tell whether this thread works on something that nobody waits for any more.

    Examples
    --------
    >>> abandoned()
    False
    """
    stop = getattr(_HERE, "stop", None)
    return stop is not None and stop.is_set()


def abandon_with(stop: threading.Event) -> None:
    """Say how this thread gets to know that nobody waits for it."""
    _HERE.stop = stop


@dataclass(frozen=True)
class Interrupted:
    """An item that was interrupted; raising it would end some kinds of workers."""

    reason: KeyboardInterrupt


def done(work: Callable, item):
    """Do an item, as a worker; :func:`result` is what it gave.

    Examples
    --------
    >>> result(done(abs, -3))
    3
    """
    before = working()
    _HERE.working = True
    try:
        return work(item)
    except KeyboardInterrupt as reason:
        return Interrupted(reason)
    finally:
        _HERE.working = before


def result(found):
    """Return what an item gave, or raise what interrupted it."""
    if isinstance(found, Interrupted):
        raise found.reason
    return found


class Packed:
    """A function in a form that travels; what it is a method of is packed once for all of its methods.

    With a folder, which workers must see, the pack is a file there, and tasks are small.

    Examples
    --------
    >>> pickle.loads(pickle.dumps(Packed("a-b".split))).unpacked()("-")
    ['a', 'b']
    """

    def __init__(self, work: Callable, folder: Path | None = None):
        owner, self.method = work, None
        if getattr(work, "__self__", None) is not None and hasattr(type(work.__self__), work.__name__):
            owner, self.method = work.__self__, work.__name__
        pack = packed(owner)
        self.name = blake2b(pack, digest_size=16).digest()
        self.pack: bytes | Path = pack
        if folder is not None:
            self.pack = folder / self.name.hex()
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


def packed(thing) -> bytes:
    """Return anything as bytes, functions of notebooks and scripts included."""
    return pickle.dumps(wrap_non_picklable_objects(thing, keep_wrapper=False), pickle.HIGHEST_PROTOCOL)


Answer = tuple[list[tuple[int, object]], list]


def answer(work: Callable, items: Iterable[tuple[int, object]]) -> Answer:
    """Do numbered items, one after the other, until one is interrupted.

    Returns
    -------
    results : list of (number, result)
    caught : list
        Warnings, where this thread may record them.

    Examples
    --------
    >>> answer(abs, [(7, -3)])
    ([(7, 3)], [])
    """
    results: list[tuple[int, object]] = []
    with one_blas_thread(), _recorded() as caught:
        for at, item in items:
            results.append((at, done(work, item)))
            if isinstance(results[-1][1], Interrupted):
                break
    return results, [(str(one.message), one.category, one.filename, one.lineno) for one in caught]


@contextmanager
def _recorded() -> Iterator[list]:
    """Collect warnings; only the main thread can, since Python keeps what is done about them for all threads."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def unfolded(answered: Answer) -> Iterator[tuple[int, object]]:
    """Yield the results of a task, after what it warned of."""
    results, caught = answered
    for message, category, filename, line in caught:
        warnings.warn_explicit(message, category, filename, line)
    for at, found in results:
        yield at, result(found)
