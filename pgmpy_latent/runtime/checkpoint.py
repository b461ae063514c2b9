"""Checkpoints: files from which a search resumes where it was, written completely or not at all.

A file belongs to a learner with certain settings and to certain data, its *fingerprint*; the number of jobs, the time
limit, progress bars and the path of the file do not count. It holds the last state of the search (the model, its score,
the memory of the policy), the history so far, the entropy that seeds are made from, and a digest of all this, so that a
file in which a single bit has changed is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, get_type_hints

from pgmpy_latent.exceptions import CheckpointError, CheckpointWarning
from pgmpy_latent.runtime.arrays import ROUNDING
from pgmpy_latent.runtime.files import check_writable, kind_of, name_beside, remove_unfinished, write_whole
from pgmpy_latent.runtime.fingerprint import Fingerprint
from pgmpy_latent.runtime.lossless_json import back, is_registered, plain
from pgmpy_latent.runtime.warn import warn

FORMAT, VERSION = "pgmpy_latent search", 4
#: Placeholder for the digest while it is computed.
NO_DIGEST = "0" * 64
#: What to do about a file that no search can resume from.
REMEDY = "Remove it, or name another file."
#: A kill costs a search at most this many seconds, besides the step that was under way.
MOST_SECONDS = 60.0
#: Share of the time that may be spent on writing.
SHARE = 0.01


# States ------------------------------------------------------------------------------------------


#: The type of a search's models, and that of what its policy remembers.
Model = TypeVar("Model")
Memory = TypeVar("Memory")


@dataclass(frozen=True)
class State(Generic[Model, Memory]):
    """A search state: the current model, and everything else that the next step depends on.

    Attributes
    ----------
    tree : model or None
        The current model, of a type registered with ``lossless_json``; None if there is none.
    score, log_likelihood : float
        Of the current model; larger is better.
    step : int
        Number of models accepted so far; seeds depend on it.
    memory : value of a type registered with ``lossless_json``, or None
        What the policy remembers between steps; None if it remembers nothing.
    finished : bool
        Whether the search has come to its end.

    Examples
    --------
    >>> from dataclasses import replace
    >>> state = State(None, score=-2.0, log_likelihood=-1.4)
    >>> replace(state, finished=True).finished
    True
    """

    tree: Model
    score: float
    log_likelihood: float
    step: int = 0
    memory: Memory = None  # type: ignore[assignment]  # mypy: a type variable has no default of its own
    finished: bool = False


@dataclass(frozen=True)
class HistoryEntry:
    """One accepted step of a search: what led to a model, how good that is, and when it was found.

    Attributes
    ----------
    step : int
        Number of models accepted so far.
    operator : str
        What led to the model.
    target : hashable
        The variable or variables that changed; None if there are none in particular.
    score, log_likelihood : float
        Of the model; larger is better.
    n_parameters : int
        Of the model.
    seconds : float
        Since the search began.

    Examples
    --------
    >>> HistoryEntry(0, "start", None, score=-2.0, log_likelihood=-1.4, n_parameters=1, seconds=0.1).operator
    'start'
    """

    step: int
    operator: str
    target: Hashable
    score: float
    log_likelihood: float
    n_parameters: int
    seconds: float


# The file -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint: the state of a search, its history, and the entropy of its seeds."""

    state: State
    history: list[HistoryEntry]
    entropy: int


class Checkpoint:
    """The checkpoint of one search.

    Parameters
    ----------
    path : path-like
        Its folder must exist. If there is a file already, the search resumes from it or refuses it; a file of another
        search is never overwritten.
    mark : Fingerprint
        Identifies the search.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, path: str | os.PathLike, mark: Fingerprint, clock: Callable[[], float] = time.monotonic):
        self.path = Path(path)
        self.mark = mark
        self.entropy = 0
        self._clock = clock
        self._waiting: tuple[State, list[HistoryEntry]] | None = None
        self._due, self._latest = -math.inf, -math.inf
        self._lock = threading.Lock()
        self._failed = False
        self._superseded: list[Path] = []

    def resume(self, entropy: int, seeded: bool = False) -> Saved | None:
        """Return the search in the file if there is one, and make sure that the file can be written.

        Parameters
        ----------
        entropy : int
            Of the seeds, if the search begins anew.
        seeded : bool
            Whether the user chose the seed; then that of the file must be the same.
        """
        check_checkpoint(self.path)
        saved = self._read() if self.path.exists() else None
        if saved is None or not saved.state.finished:
            check_writable(self.path, "checkpoint")
        remove_unfinished(self.path)
        if saved is not None:  # the process may have been killed before it removed this file
            self.beside("start").unlink(missing_ok=True)
        if saved is not None and seeded and saved.entropy != entropy:
            raise self.damage(f"its seeds come from {saved.entropy}, not from {entropy}")
        self.entropy = entropy if saved is None else saved.entropy
        return saved

    def damage(self, problem: str) -> CheckpointError:
        """Return the error for a damaged file; it names the problem and the remedy."""
        return CheckpointError(f"checkpoint {str(self.path)!r} is damaged ({problem}). {REMEDY}")

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Report any exception inside the context as damage of the file."""
        try:
            yield
        except CheckpointError:
            raise
        except Exception as error:  # damaged content can raise anything
            raise self.damage(f"{type(error).__name__}: {error}") from error

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Name the file in the error of a search that was resumed from it."""
        try:
            yield
        except (CheckpointError, MemoryError, OSError):  # the last two are about the machine, not about the file
            raise
        except Exception as error:
            raise CheckpointError(
                f"the search in checkpoint {str(self.path)!r} cannot go on ({type(error).__name__}: {error}). {REMEDY}"
            ) from error

    def beside(self, purpose: str) -> Path:
        """Return the path of the checkpoint of a preliminary computation; it is removed when this file is written.

        Examples
        --------
        >>> Checkpoint("search.json", Fingerprint("EAST", "", {})).beside("start").name
        'search.json.start'
        """
        path = self.path.with_name(name_beside(self.path.name, f".{purpose}"))
        self._superseded.append(path)
        return path

    def keep(self, state: State, history: list[HistoryEntry], last: bool = False) -> None:
        """Write a state: the last one at once, others when writing is due."""
        if not _is_memory(state.memory):
            kind = type(state.memory).__name__
            raise TypeError(f"the memory of a policy is a {kind}; make it a dataclass with held_by_checkpoints")
        self._waiting = (state, list(history))
        self.tend(last)

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the last write that another one costs little in comparison."""
        return self._clock() >= self._due

    def tend(self, now: bool = False) -> None:
        """Write the pending state if writing is due; any thread may call this at any time."""
        if self._waiting is None or not (now or self.due):
            return
        if not self._lock.acquire(blocking=now):
            return
        try:
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                began = self._clock()
                self._write(*waiting)
                self._due = self._clock() + min(MOST_SECONDS, (self._clock() - began) / SHARE)
        finally:
            self._lock.release()

    def _write(self, state: State, history: list[HistoryEntry]) -> None:
        try:
            write_whole(self.path, self._content(state, history))
        except OSError as error:
            if not self._failed:
                warn(
                    f"the checkpoint {str(self.path)!r} cannot be written ({error}); the search goes on, and what was "
                    "written before stays. Make room, and fit again to write it.",
                    CheckpointWarning,
                )
            self._failed = True
            return
        self._failed = False
        while self._superseded:
            self._superseded.pop().unlink(missing_ok=True)

    def _content(self, state: State, history: list[HistoryEntry]) -> bytes:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "digest": NO_DIGEST,
            "learner": self.mark.learner,
            "data": self.mark.data,
            "settings": dict(self.mark.settings),
            "entropy": self.entropy,
            "finished": state.finished,
            "step": state.step,
            "score": plain(state.score),
            "log_likelihood": plain(state.log_likelihood),
            "memory": plain(state.memory),
            "history": [plain(vars(entry)) for entry in history],
            "model": plain(state.tree),
        }
        lines = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in document.items()]
        content = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
        return content.replace(NO_DIGEST.encode(), digest_of(content, NO_DIGEST).encode(), 1)

    def _read(self) -> Saved:
        document = self._document()
        with self.checking():
            written = Fingerprint(document["learner"], document["data"], document["settings"])
            differences = written.differences(self.mark)
            if differences:
                raise CheckpointError(
                    f"checkpoint {str(self.path)!r} belongs to another search: {'; '.join(differences)}. {REMEDY}"
                )
            state = State(
                back(document["model"]),
                back(document["score"]),
                back(document["log_likelihood"]),
                document["step"],
                back(document["memory"]),
                document["finished"],
            )
            history = [_entry_of(back(entry)) for entry in document["history"]]
            saved = Saved(state, history, document["entropy"])
            _check_kinds(saved)
            return saved

    def _document(self) -> dict:
        """Return the parsed file; raise if it is not a checkpoint or has changed since it was written."""
        where = f"checkpoint {str(self.path)!r}"
        try:
            content = self.path.read_bytes()
            document = json.loads(content.decode())
        except OSError as error:
            raise CheckpointError(f"{where} cannot be read ({error.strerror or error}). Name another file.") from None
        except (ValueError, RecursionError) as error:
            if content and FORMAT.encode() not in content:
                raise CheckpointError(f"{where} is not the file of a search. Name another file.") from None
            raise CheckpointError(f"{where} is not JSON, or cut short ({error}). {REMEDY}") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise CheckpointError(f"{where} is not the file of a search. Name another file.")
        version = document.get("version")
        if type(version) is not int or not 1 <= version <= VERSION:
            newer = type(version) is int and version > VERSION
            words = "was written by a newer pgmpy_latent; upgrade it" if newer else "has an unknown version"
            raise CheckpointError(f"{where} {words} (version {version!r}, this is {VERSION}). {REMEDY}")
        if version < VERSION:
            words = f"was written by an older pgmpy_latent (version {version}, this is {VERSION})"
            raise CheckpointError(f"{where} {words} and cannot be resumed. {REMEDY}")
        digest = document.get("digest")
        if not isinstance(digest, str) or digest != digest_of(content, digest):
            raise self.damage("its digest is not that of its content")
        return document


def digest_of(content: bytes, written: str) -> str:
    """Return the digest of a file: SHA-256 of its bytes with zeros in the place of the digest that is written there.

    Examples
    --------
    >>> first = digest_of(b'{"digest": "", "score": 1}', "")
    >>> first == digest_of(b'{"digest": "", "score": 2}', "")
    False
    """
    return hashlib.sha256(content.replace(written.encode(), NO_DIGEST.encode(), 1)).hexdigest()


def check_checkpoint(path: object) -> None:
    """Raise if a checkpoint is not a path, or the path leads to something that is not a file.

    Examples
    --------
    >>> check_checkpoint(os.curdir)
    Traceback (most recent call last):
    pgmpy_latent.exceptions.CheckpointError: checkpoint '.' is a folder, not a file. Name another file.
    """
    if path is None:
        return
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ValueError(f"checkpoint is {path!r}; give the path of a file, as 'search.json', or None")
    try:
        kind = kind_of(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint {os.fsdecode(path)!r} cannot be used: {error}. Name another file.") from None
    if kind is not None:
        raise CheckpointError(f"checkpoint {os.fsdecode(path)!r} is {kind}, not a file. Name another file.")


# Checks of the content ----------------------------------------------------------------------------

#: The type of each field of a history entry that has a certain type.
ENTRY = {name: kind for name, kind in get_type_hints(HistoryEntry).items() if name != "target"}


def _entry_of(written: object) -> HistoryEntry:
    """Return an entry of the history from its fields."""
    if not isinstance(written, dict) or {*written} != {*ENTRY, "target"}:
        raise ValueError("its history is not what a search writes")
    return HistoryEntry(**written)


def _is_memory(memory: object) -> bool:
    """Tell whether a value can be the memory of a policy."""
    return memory is None or is_registered(memory)


def _check_kinds(saved: Saved) -> None:
    """Raise if the content has other types or ranges than a search writes."""
    state = saved.state
    for name, value in {"step": state.step, "entropy": saved.entropy}.items():
        if type(value) is not int or value < 0:
            raise ValueError(f"its {name} is {value!r}")
    if type(state.finished) is not bool or not _is_memory(state.memory):
        raise ValueError("its memory is not what a search writes")
    for name in ("score", "log_likelihood"):
        if type(getattr(state, name)) is not float:
            raise ValueError(f"its {name} is {getattr(state, name)!r}")
    before = 0.0
    for entry in saved.history:
        if not all(type(getattr(entry, name)) is kind for name, kind in ENTRY.items()):
            raise ValueError("its history is not what a search writes")
        if not all(0 <= number < 2**63 for number in (entry.step, entry.n_parameters)):
            raise ValueError("its history counts what cannot be counted")
        if not before <= entry.seconds < math.inf:
            raise ValueError("the clock of its history does not go on")
        before = entry.seconds
    if (state.tree is None) != (not saved.history):
        raise ValueError("it has a model without a history, or a history without a model")


def check_number_again(name: str, written: float, computed: float) -> None:
    """Raise if a number in a file differs from its recomputed value by more than rounding.

    Examples
    --------
    >>> check_number_again("score", -1000.0, -1000.0 - 1e-9)
    >>> check_number_again("score", 0.0, -1000.0)
    Traceback (most recent call last):
    ValueError: its score is 0.0, and should be -1000.0
    """
    near = math.isfinite(computed) and abs(written - computed) <= ROUNDING * max(1.0, abs(computed))
    if written != computed and not near:
        raise ValueError(f"its {name} is {written!r}, and should be {float(computed)!r}")
