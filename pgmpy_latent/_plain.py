"""Values as JSON, without loss: numbers, words, arrays, models, and lists, tuples and dicts of them."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode

import numpy as np

from pgmpy_latent.convert import model_from_document, model_text
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.network import LatentNetwork
from pgmpy_latent.tree import LatentTree

#: The key that marks what JSON has no form for.
TAG = "!"


def plain(value):
    """Return a value in a form that JSON keeps without loss.

    Examples
    --------
    >>> plain({"a": (1, 2.5), "b": float("-inf")})
    {'a': {'!': 'tuple', 'of': [1, 2.5]}, 'b': {'!': 'float', 'of': '-inf'}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TAG: "float", "of": repr(value)}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, tuple):
        return {TAG: "tuple", "of": [plain(one) for one in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and TAG not in value:
            return {key: plain(own) for key, own in value.items()}
        return {TAG: "dict", "of": [[plain(key), plain(own)] for key, own in value.items()]}
    if isinstance(value, (LatentTree, LatentNetwork)):
        return {TAG: "model", "of": json.loads(model_text(value))}
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        value = value.astype(value.dtype.newbyteorder("<"))
        return {TAG: "array", "of": [value.dtype.str, list(value.shape), b64encode(value.tobytes()).decode()]}
    raise CheckpointError(
        f"{value!r} ({type(value).__name__}) cannot be kept in a checkpoint: names and states may be text, whole "
        "numbers, booleans, floats, and tuples of these. Rename it, or learn without a checkpoint."
    )


def back(value):
    """Return the value behind what :func:`plain` made.

    Examples
    --------
    >>> back(plain({1: ("x", None)}))
    {1: ('x', None)}
    """
    if isinstance(value, list):
        return [back(one) for one in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: back(own) for key, own in value.items()}
    inner = value["of"]
    return {
        "tuple": lambda: tuple(back(one) for one in inner),
        "dict": lambda: {back(key): back(own) for key, own in inner},
        "float": lambda: float(inner),
        "model": lambda: model_from_document(inner),
        "array": lambda: _array(*inner),
    }[value[TAG]]()


def _array(dtype: str, shape: list[int], content: str) -> np.ndarray:
    return np.frombuffer(b64decode(content), dtype).reshape(shape).astype(np.dtype(dtype).newbyteorder("="))
