"""Values as JSON, without loss: numbers, text, arrays, and lists, tuples and dicts of them.

Other types join by :func:`register`, which their own module calls: this one knows none of them.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pgmpy_latent.exceptions import CheckpointError

#: The key that marks what JSON has no form for.
TAG = "!"


class Codec(NamedTuple):
    """How values of some types become JSON documents, and documents values."""

    types: tuple[type, ...]
    to_document: Callable
    from_document: Callable


_CODECS: dict[str, Codec] = {}


def register(tag: str, types: tuple[type, ...], to_document: Callable, from_document: Callable) -> None:
    """Let values of further types be written, under a tag of their own.

    Examples
    --------
    >>> register("range", (range,), lambda value: [value.start, value.stop], lambda ends: range(*ends))
    >>> back(plain([range(2, 5)]))
    [range(2, 5)]
    """
    _CODECS[tag] = Codec(types, to_document, from_document)


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
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        value = value.astype(value.dtype.newbyteorder("<"))
        return {TAG: "array", "of": [value.dtype.str, list(value.shape), b64encode(value.tobytes()).decode()]}
    for tag, codec in _CODECS.items():
        if isinstance(value, codec.types):
            return {TAG: tag, "of": codec.to_document(value)}
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
    tag, inner = value[TAG], value["of"]
    if tag in _CODECS:
        return _CODECS[tag].from_document(inner)
    return {
        "tuple": lambda: tuple(back(one) for one in inner),
        "dict": lambda: {back(key): back(own) for key, own in inner},
        "float": lambda: float(inner),
        "array": lambda: _array(*inner),
    }[tag]()


def _array(dtype: str, shape: list[int], content: str) -> np.ndarray:
    return np.frombuffer(b64decode(content), dtype).reshape(shape).astype(np.dtype(dtype).newbyteorder("="))


def is_registered(value) -> bool:
    """Tell whether a value is of a type that :func:`register` was told of.

    Examples
    --------
    >>> is_registered(1)
    False
    """
    return any(isinstance(value, codec.types) for codec in _CODECS.values())
