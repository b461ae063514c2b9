"""The identity of a search: its learner with certain settings, and its data.

The number of jobs, the time limit, progress bars and the path of the file do not count.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import networkx as nx
import numpy as np
from joblib import wrap_non_picklable_objects

from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.runtime.configured import settings_in_force
from pgmpy_latent.runtime.lossless_json import is_registered, plain

#: Rows that enter a digest at a time.
BLOCK = 65_536
#: Settings that change how a search runs, but not what it finds.
NOT_COUNTED = ("n_jobs", "time_limit", "show_progress", "checkpoint")
#: Settings that may hold a model.
MODELS = ("start", "skeleton", "base", "network")


@dataclass(frozen=True)
class Fingerprint:
    """The learner, settings and data of a search.

    Attributes
    ----------
    learner : str
        Name of the class.
    data : str
        Digest of columns, states, rows and weights.
    settings : dict of str to str
        The constructor's arguments as text, including the fields of its tuning, except those that do not change the
        result.
    """

    learner: str
    data: str
    settings: Mapping[str, str]

    @property
    def is_given_a_model(self) -> bool:
        """Whether the learner starts from a model, which names hidden variables and their states."""
        return any(self.settings.get(name, "None") != "None" for name in MODELS)

    def differences(self, other: Fingerprint) -> list[str]:
        """Return the differences of another fingerprint from this one as text."""
        differences = []
        if other.learner != self.learner:
            return [f"learner {self.learner}, not {other.learner}"]
        for name in sorted({*self.settings, *other.settings}):
            ours, theirs = self.settings.get(name, "nothing"), other.settings.get(name, "nothing")
            if ours != theirs:
                differences.append(f"{name}={ours}, not {theirs}")
        if other.data != self.data:
            differences.append(f"another table, data {self.data}, not {other.data}")
        return differences


#: What pgmpy's ``ExpertKnowledge`` says about edges.
KNOWLEDGE = ("required_edges", "forbidden_edges", "search_space", "temporal_order")


class Identified(Protocol):
    """Data with an identity."""

    def identity(self) -> tuple[str, Sequence[np.ndarray]]:
        """Return text and arrays that together are the same for the same data only."""


def fingerprint(learner, data: Identified) -> Fingerprint:
    """Return the fingerprint of a learner and its data.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import BinG, encode
    >>> found = fingerprint(BinG(n_jobs=2), encode(pd.DataFrame({"x": ["a", "b"]})))
    >>> found.learner, found.settings["simplify"], "n_jobs" in found.settings
    ('BinG', 'False', False)
    """
    text, arrays = data.identity()
    return fingerprint_of(learner, text, *arrays)


def fingerprint_of(learner, text: str, *arrays: np.ndarray) -> Fingerprint:
    """Return the fingerprint of a learner and of data whose identity is a text and arrays."""
    return fingerprint_of_call(type(learner).__name__, settings_in_force(learner), text, *arrays)


def fingerprint_of_call(name: str, settings: Mapping[str, object], text: str, *arrays: np.ndarray) -> Fingerprint:
    """Return the fingerprint of a function with certain arguments, and of data whose identity is a text and arrays.

    Examples
    --------
    >>> fingerprint_of_call("relate", {"steps": 3, "n_jobs": 2}, "a table").settings
    {'steps': '3'}
    """
    counted = {name: value for name, value in settings.items() if name not in NOT_COUNTED}
    described = {name: _described(value) for name, value in sorted(counted.items())}
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        for first in range(0, len(array), BLOCK):  # a copy of a large table would take eight times its memory
            block = array[first : first + BLOCK]
            digest.update(np.ascontiguousarray(block, np.int64 if block.dtype.kind in "iub" else None).tobytes())
    return Fingerprint(name, digest.hexdigest()[:16], described)


def _described(value) -> str:
    """Return a text for the value of a setting that is the same in every run."""
    if is_registered(value):
        return f"{type(value).__name__} {hashlib.sha256(json.dumps(plain(value)).encode()).hexdigest()[:16]}"
    if isinstance(value, nx.Graph):
        parts = [sorted(map(repr, value.nodes)), sorted(map(repr, value.edges))]
        parts += [sorted(repr(cpd) + repr(cpd.values.tolist()) for cpd in getattr(value, "cpds", []))]
        return f"{type(value).__name__} {hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
    if all(hasattr(value, name) for name in ("variables", "state_names", "values")):  # a table of pgmpy's
        return f"{type(value).__name__}({_described([value.variables, value.state_names, value.values.tolist()])})"
    if all(hasattr(value, name) for name in KNOWLEDGE):  # of pgmpy's, about edges
        return f"{type(value).__name__}({_described({name: getattr(value, name) for name in KNOWLEDGE})})"
    if hasattr(value, "get_params") and not isinstance(value, type):
        fitted = next((getattr(value, name) for name in ("tree_", "network_") if hasattr(value, name)), None)
        settings = {name: _described(setting) for name, setting in sorted(settings_in_force(value).items())}
        counted = ", ".join(f"{name}={text}" for name, text in settings.items() if name not in NOT_COUNTED)
        return f"{type(value).__name__}({counted})" + ("" if fitted is None else f" with {_described(fitted)}")
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{_described(key)}: {_described(item)}" for key, item in value.items())) + "}"
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
