"""Values as JSON, without loss: numbers, text, arrays, and lists, tuples and dicts of them.

The modules of other types add them by :func:`register`.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pgmpy_latent.exceptions import CheckpointError

#: The key that marks values of types that JSON does not have.
TAG = "!"


class Codec(NamedTuple):
    """How values of some types become JSON documents, and documents values."""

    types: tuple[type, ...]
    to_document: Callable
    from_document: Callable


_CODECS: dict[str, Codec] = {}


def register(tag: str, types: tuple[type, ...], to_document: Callable, from_document: Callable) -> None:
    """Add types: their values are written under a tag.

    Examples
    --------
    >>> register("range", (range,), lambda value: [value.start, value.stop], lambda ends: range(*ends))
    >>> back(plain([range(2, 5)]))
    [range(2, 5)]
    """
    _CODECS[tag] = Codec(types, to_document, from_document)


def plain(value):
    """Return the JSON form of a value.

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
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return {TAG: "tuple", "of": [plain(item) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and TAG not in value:
            return {key: plain(item) for key, item in value.items()}
        return {TAG: "dict", "of": [[plain(key), plain(item)] for key, item in value.items()]}
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
    """Return the value of a JSON form that :func:`plain` made.

    Examples
    --------
    >>> back(plain({1: ("x", None)}))
    {1: ('x', None)}
    """
    if isinstance(value, list):
        return [back(item) for item in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: back(item) for key, item in value.items()}
    tag, inner = value[TAG], value["of"]
    if tag in _CODECS:
        return _CODECS[tag].from_document(inner)
    return {
        "tuple": lambda: tuple(back(item) for item in inner),
        "dict": lambda: {back(key): back(item) for key, item in inner},
        "float": lambda: float(inner),
        "array": lambda: _array(*inner),
    }[tag]()


def _array(dtype: str, shape: list[int], content: str) -> np.ndarray:
    return np.frombuffer(b64decode(content), dtype).reshape(shape).astype(np.dtype(dtype).newbyteorder("="))


def is_registered(value) -> bool:
    """Tell whether the type of a value was added by :func:`register`.

    Examples
    --------
    >>> is_registered(1)
    False
    """
    return any(isinstance(value, codec.types) for codec in _CODECS.values())
