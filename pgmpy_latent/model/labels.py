"""Names of columns and of states: when two are the same, and in which order they stand."""

from __future__ import annotations

from collections.abc import Hashable


def identity(value) -> tuple[str, Hashable]:
    """Return what makes two values the same state: 1 and 1.0 are, True, 1 and "1" are not."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, (int, float)):
        return "int", int(value) if isinstance(value, float) and value.is_integer() else value
    return ("str" if isinstance(value, str) else type(value).__name__), value


def sort_key(value) -> tuple:
    """Return what puts names or states in order, whatever their types."""
    kind, value = identity(value)
    return kind, value if kind in ("bool", "bytes", "int", "str") else repr(value)
