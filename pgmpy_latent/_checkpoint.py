"""Searches in files: what a search needs to go on where it was, written whole or not at all.

A file belongs to a learner with certain settings and to certain data, its *fingerprint*; the number of jobs, the time
limit, progress bars and the path of the file do not count. It holds the last state of the search (the model, its score,
what the policy remembers), the history so far, and the entropy that seeds are made from.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import sys
import threading
import time
import warnings
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
import numpy as np
from joblib import wrap_non_picklable_objects

from pgmpy_latent._files import check_writable, remove_unfinished, write_whole
from pgmpy_latent.convert import model_from_document, model_text
from pgmpy_latent.data import CategoricalData
from pgmpy_latent.exceptions import CheckpointError, CheckpointWarning, PgmpyLatentError
from pgmpy_latent.network import LatentNetwork
from pgmpy_latent.sparse import SparseRows
from pgmpy_latent.tree import LatentTree

#: Rows that a fingerprint looks at at a time.
BLOCK = 65_536
FORMAT, VERSION = "pgmpy_latent search", 1
#: Settings that change how a search runs, but not what it finds.
NOT_COUNTED = ("n_jobs", "time_limit", "show_progress", "checkpoint")
#: Most seconds of a search that a kill may cost, besides the step that was under way.
MOST_SECONDS = 60.0
#: Share of the time that may go into writing.
SHARE = 0.01


# States ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Where a search stands.

    Attributes
    ----------
    tree : LatentTree
        The current model.
    score, log_likelihood : float
        Of the current model; larger is better.
    step : int
        Number of models accepted so far; seeds depend on it.
    memory : dict
        What the policy wants to know later: plain numbers, words, lists and dicts of them.
    finished : bool
        Whether the search has ended by itself.
    """

    tree: LatentTree
    score: float
    log_likelihood: float
    step: int = 0
    memory: dict = field(default_factory=dict)
    finished: bool = False


# Fingerprints -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fingerprint:
    """Whose search it is.

    Attributes
    ----------
    learner : str
        Name of the class.
    data : str
        Digest of columns, states, rows and weights.
    settings : dict of str to str
        The constructor's arguments in words, but for those that do not change what is found.
    """

    learner: str
    data: str
    settings: Mapping[str, str]

    def differences(self, other: Fingerprint) -> list[str]:
        """Return, in words, in what another fingerprint differs from this one."""
        found = []
        if other.learner != self.learner:
            return [f"learner {self.learner}, not {other.learner}"]
        for name in sorted({*self.settings, *other.settings}):
            ours, theirs = self.settings.get(name, "nothing"), other.settings.get(name, "nothing")
            if ours != theirs:
                found.append(f"{name}={ours}, not {theirs}")
        if other.data != self.data:
            found.append(f"another table, data {self.data}, not {other.data}")
        return found


def fingerprint(learner, data: CategoricalData | SparseRows) -> Fingerprint:
    """Return the fingerprint of a learner and its data.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import BinG, encode
    >>> found = fingerprint(BinG(n_jobs=2), encode(pd.DataFrame({"x": ["a", "b"]})))
    >>> found.learner, found.settings["simplify"], "n_jobs" in found.settings
    ('BinG', 'False', False)
    """
    if isinstance(data, SparseRows):
        words = repr((data.columns, data.states, data.ones.shape))
        return fingerprint_of(learner, words, data.ones.indptr, data.ones.indices, data.weights)
    described = repr((data.columns, data.state_names, data.codes.shape))
    return fingerprint_of(learner, described, data.codes, data.weights)


def fingerprint_of(learner, words: str, *arrays: np.ndarray) -> Fingerprint:
    """Return the fingerprint of a learner and of data of any kind, given as words and arrays."""
    settings = {name: value for name, value in learner.get_params(deep=False).items() if name not in NOT_COUNTED}
    described = {name: _described(value) for name, value in sorted(settings.items())}
    digest = hashlib.sha256(words.encode())
    for array in arrays:
        for first in range(0, len(array), BLOCK):  # a copy of a large table would take eight times its memory
            block = array[first : first + BLOCK]
            digest.update(np.ascontiguousarray(block, np.int64 if block.dtype.kind in "iub" else None).tobytes())
    return Fingerprint(type(learner).__name__, digest.hexdigest()[:16], described)


def _described(value) -> str:
    """Return words that are the same in every run, for whatever a setting may be."""
    if isinstance(value, (LatentTree, LatentNetwork)):
        return f"{type(value).__name__} {hashlib.sha256(model_text(value).encode()).hexdigest()[:16]}"
    if isinstance(value, nx.Graph):
        parts = [sorted(map(repr, value.nodes)), sorted(map(repr, value.edges))]
        parts += [sorted(repr(cpd) + repr(cpd.values.tolist()) for cpd in getattr(value, "cpds", []))]
        return f"{type(value).__name__} {hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
    if all(hasattr(value, name) for name in ("variables", "state_names", "values")):  # a table of pgmpy's
        return f"{type(value).__name__}({_described([value.variables, value.state_names, value.values.tolist()])})"
    if hasattr(value, "get_params") and not isinstance(value, type):
        fitted = next((getattr(value, name) for name in ("tree_", "network_") if hasattr(value, name)), None)
        own = {name: _described(own) for name, own in sorted(value.get_params(deep=False).items())}
        counted = ", ".join(f"{name}={own[name]}" for name in own if name not in NOT_COUNTED)
        return f"{type(value).__name__}({counted})" + ("" if fitted is None else f" with {_described(fitted)}")
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{_described(key)}: {_described(own)}" for key, own in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(_described, value))) + "}"
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(map(_described, value)) + "]"
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if not (callable(value) and hasattr(value, "__qualname__")):
        return f"{type(value).__name__} {_digest_of(value)}"
    name = f"{value.__module__}.{value.__qualname__}"
    return name if _can_be_imported(value) else f"{name} {_digest_of(value)}"


def _can_be_imported(value) -> bool:
    """Tell whether a function or class is what its name says, in every run; those of a script may have changed."""
    if value.__module__ == "__main__":
        return False
    module = sys.modules.get(value.__module__ or "")
    return module is not None and getattr(module, value.__qualname__, None) is value


def _digest_of(value) -> str:
    """Return a fingerprint of what an object holds; of a function without a name, of its code."""
    try:
        return hashlib.sha256(pickle.dumps(wrap_non_picklable_objects(value, keep_wrapper=False))).hexdigest()[:16]
    except Exception as error:  # of whatever kind packing fails with
        raise CheckpointError(
            f"a checkpoint must tell settings apart, and {value!r} cannot be packed ({error}); give a function of a "
            "module, or learn without a checkpoint"
        ) from error


# The file -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saved:
    """What a file holds: the state of a search, its history, and the entropy of its seeds."""

    state: State
    history: list[dict]
    entropy: int


class Checkpoint:
    """The file of one search.

    Parameters
    ----------
    path : path-like
        Its folder must exist. A file that is there already is taken up, or refused; it is never overwritten by
        another search.
    mark : Fingerprint
        Whose search it is.
    clock : callable
        Tells the time in seconds.
    """

    def __init__(self, path, mark: Fingerprint, clock: Callable[[], float] = time.monotonic):
        self.path = Path(path)
        self.mark = mark
        self.entropy = 0
        self._clock = clock
        self._waiting: tuple[State, list[dict]] | None = None
        self._due, self._latest = -math.inf, -math.inf
        self._lock = threading.Lock()
        self._failed = False
        self._superseded: list[Path] = []

    def take_up(self, entropy: int) -> Saved | None:
        """Return the search in the file if there is one, and make sure that the file can be written.

        Parameters
        ----------
        entropy : int
            Of the seeds, should the search begin anew.
        """
        saved = self._read() if self.path.exists() else None
        if saved is None or not saved.state.finished:
            check_writable(self.path, "checkpoint")
        remove_unfinished(self.path)
        if saved is not None:  # a kill may have come before it was removed
            self.beside("start").unlink(missing_ok=True)
        self.entropy = entropy if saved is None else saved.entropy
        return saved

    def beside(self, purpose: str) -> Path:
        """Return the path of another file, for what comes before the search; it is removed when this one is written.

        Examples
        --------
        >>> Checkpoint("search.json", Fingerprint("EAST", "", {})).beside("start").name
        'search.json.start'
        """
        path = self.path.with_name(f"{self.path.name}.{purpose}")
        self._superseded.append(path)
        return path

    def keep(self, state: State, history: list[dict], last: bool = False) -> None:
        """Write a state, now or when writing has become cheap compared with the search; the last one now."""
        self._waiting = (state, list(history))
        self.tend(last)

    @property
    def due(self) -> bool:
        """Whether writing has become cheap compared with the search."""
        return self._clock() >= self._due

    def tend(self, now: bool = False) -> None:
        """Write what waits, if it is time; threads may call this whenever they like."""
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

    def _write(self, state: State, history: list[dict]) -> None:
        try:
            write_whole(self.path, self._text(state, history).encode())
        except OSError as error:
            if not self._failed:
                warnings.warn(
                    f"the checkpoint {str(self.path)!r} cannot be written ({error}); the search goes on, and what was "
                    "written before stays. Make room, and fit again to write it.",
                    CheckpointWarning,
                    stacklevel=2,
                )
            self._failed = True
            return
        while self._superseded:
            self._superseded.pop().unlink(missing_ok=True)

    def _text(self, state: State, history: list[dict]) -> str:
        head = {
            "format": FORMAT,
            "version": VERSION,
            "learner": self.mark.learner,
            "data": self.mark.data,
            "settings": dict(self.mark.settings),
            "entropy": self.entropy,
            "finished": state.finished,
            "step": state.step,
            "score": _plain(state.score),
            "log_likelihood": _plain(state.log_likelihood),
            "memory": _plain(state.memory),
            "history": [_plain(entry) for entry in history],
        }
        body = json.dumps(head, allow_nan=False, indent=0)
        model = "null" if state.tree is None else model_text(state.tree)
        return body[:-2] + ',\n"model": ' + model + "}\n"

    def _read(self) -> Saved:
        where = f"checkpoint {str(self.path)!r}"
        remedy = "Remove it, or name another file."
        try:
            document = json.loads(self.path.read_bytes().decode())
        except OSError as error:
            raise CheckpointError(f"{where} cannot be read ({error.strerror or error}). Name another file.") from None
        except ValueError as error:
            raise CheckpointError(f"{where} is not JSON, or cut short ({error}). {remedy}") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise CheckpointError(f"{where} is not the file of a search. Name another file.")
        version = document.get("version")
        if version != VERSION:
            newer = isinstance(version, int) and version > VERSION
            words = "was written by a newer pgmpy_latent; upgrade it" if newer else "has an unknown version"
            raise CheckpointError(f"{where} {words} (version {version!r}, this is {VERSION}).")
        try:
            found = Fingerprint(document["learner"], document["data"], document["settings"])
            differences = found.differences(self.mark)
            if differences:
                raise CheckpointError(f"{where} belongs to another search: {'; '.join(differences)}. {remedy}")
            state = State(
                None if document["model"] is None else model_from_document(document["model"]),
                _back(document["score"]),
                _back(document["log_likelihood"]),
                document["step"],
                _back(document["memory"]),
                document["finished"],
            )
            history = [_back(entry) for entry in document["history"]]
            if not isinstance(state.memory, dict) or not all("seconds" in entry for entry in history):
                raise ValueError("its memory or history is not what a search writes")
            return Saved(state, history, int(document["entropy"]))
        except CheckpointError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, PgmpyLatentError) as error:
            raise CheckpointError(f"{where} is damaged ({type(error).__name__}: {error}). {remedy}") from None


# Values as JSON -----------------------------------------------------------------------------------

#: The key that marks what JSON has no form for.
TAG = "!"


def _plain(value):
    """Return a value in a form that JSON keeps without loss.

    Examples
    --------
    >>> _plain({"a": (1, 2.5), "b": float("-inf")})
    {'a': {'!': 'tuple', 'of': [1, 2.5]}, 'b': {'!': 'float', 'of': '-inf'}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TAG: "float", "of": repr(value)}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, tuple):
        return {TAG: "tuple", "of": [_plain(one) for one in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and TAG not in value:
            return {key: _plain(own) for key, own in value.items()}
        return {TAG: "dict", "of": [[_plain(key), _plain(own)] for key, own in value.items()]}
    if isinstance(value, (LatentTree, LatentNetwork)):
        return {TAG: "model", "of": json.loads(model_text(value))}
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        value = value.astype(value.dtype.newbyteorder("<"))
        return {TAG: "array", "of": [value.dtype.str, list(value.shape), b64encode(value.tobytes()).decode()]}
    raise CheckpointError(
        f"{value!r} ({type(value).__name__}) cannot be kept in a checkpoint: names and states may be text, whole "
        "numbers, booleans, floats, and tuples of these. Rename it, or learn without a checkpoint."
    )


def _back(value):
    """Return the value behind what :func:`_plain` made.

    Examples
    --------
    >>> _back(_plain({1: ("x", None)}))
    {1: ('x', None)}
    """
    if isinstance(value, list):
        return [_back(one) for one in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: _back(own) for key, own in value.items()}
    inner = value["of"]
    return {
        "tuple": lambda: tuple(_back(one) for one in inner),
        "dict": lambda: {_back(key): _back(own) for key, own in inner},
        "float": lambda: float(inner),
        "model": lambda: model_from_document(inner),
        "array": lambda: _array(*inner),
    }[value[TAG]]()


def _array(dtype: str, shape: list[int], content: str) -> np.ndarray:
    return np.frombuffer(b64decode(content), dtype).reshape(shape).astype(np.dtype(dtype).newbyteorder("="))
