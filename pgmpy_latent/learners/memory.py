"""The memory of a policy as a dataclass: how a checkpoint holds it, and what is refused when it is read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from reprlib import repr as shorten
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.lossless_json import back, plain, register

Memory = TypeVar("Memory")


def held_by_checkpoints(tag: str) -> Callable[[type[Memory]], type[Memory]]:
    """Return a decorator of frozen dataclasses that policies keep in ``State.memory``, or as a part of it.

    Fields are numbers, text, arrays, models, other dataclasses with this decorator, and mappings and tuples of these. A
    file in which a field is missing, or has a value that its annotation does not allow, is refused.

    Parameters
    ----------
    tag : str
        What the file calls the class.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @held_by_checkpoints("tosses")
    ... @dataclass(frozen=True)
    ... class Tosses:
    ...     n_heads: int
    >>> back(plain(Tosses(3)))
    Tosses(n_heads=3)
    >>> back({"!": "tosses", "of": {"n_heads": -3}})
    Traceback (most recent call last):
    ValueError: its memory of 'n_heads' is -3
    """

    def decorate(cls: type[Memory]) -> type[Memory]:
        register(tag, (cls,), _document_of, lambda document: _from_document(cls, document))
        return cls

    return decorate


def _document_of(memory: Any) -> dict:
    return {field.name: plain(getattr(memory, field.name)) for field in fields(memory)}


def _from_document(cls: type[Memory], document: Mapping) -> Memory:
    kinds = get_type_hints(cls)
    values = {name: back(value) for name, value in document.items()}
    for name, kind in kinds.items():
        if name not in values:
            raise ValueError(f"its memory of {name!r} is missing")
        check_value(name, values[name], is_of_kind(values[name], kind))
    return cls(**values)


def check_value(name: str, value: object, is_allowed: bool) -> None:
    """Raise if a checkpoint holds a value that no search writes.

    Examples
    --------
    >>> check_value("rounds", 7, is_allowed=7 < 5)
    Traceback (most recent call last):
    ValueError: its memory of 'rounds' is 7
    """
    if not is_allowed:
        raise ValueError(f"its memory of {name!r} is {shorten(value)}")


def check_memory_is(state: State, kind: type, learner: str) -> None:
    """Raise if the memory of a state is not that of a certain policy."""
    if not isinstance(state.memory, kind):
        raise ValueError(f"its memory is not that of {learner}")


def is_of_kind(value: object, kind: Any) -> bool:
    """Tell whether an annotation allows a value. Numbers that count are not negative, and True is not a number.

    Examples
    --------
    >>> is_of_kind((1, 2), tuple[int, ...]), is_of_kind((1, True), tuple[int, ...]), is_of_kind("b", Literal["a"])
    (True, False, False)
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin in (Union, UnionType):
        return any(is_of_kind(value, argument) for argument in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(is_of_kind(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(is_of_kind, value, arguments))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, dict) and all(
            is_of_kind(key, arguments[0]) and is_of_kind(item, arguments[1]) for key, item in value.items()
        )
    if kind is int:
        return type(value) is int and value >= 0
    if kind in (bool, float, str):
        return type(value) is kind
    return isinstance(value, Hashable if kind is Hashable else kind)
