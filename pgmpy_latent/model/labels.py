"""Names of columns and states: when two are the same, and how they are sorted."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Hashable

#: Most digits of a number as a name or state; Python itself refuses to print those of some thousands.
MOST_DIGITS = 1000
_MOST_BITS = 3.33 * MOST_DIGITS  # a digit takes 3.32 bits


def identity(value) -> tuple[str, Hashable]:
    """Return a key that equal states share: 1 and 1.0 have the same, True, 1 and "1" have different ones."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, (int, float)):
        return "int", int(value) if isinstance(value, float) and value.is_integer() else value
    return ("str" if isinstance(value, str) else type(value).__name__), value


def sort_key(value) -> tuple:
    """Return a key that sorts names or states of any types."""
    kind, value = identity(value)
    return kind, value if kind in ("bool", "bytes", "int", "str") else repr(value)


def has_too_many_digits(value) -> bool:
    """Tell whether a number, also inside a tuple, has more than :data:`MOST_DIGITS` digits.

    Examples
    --------
    >>> has_too_many_digits(10**900), has_too_many_digits(10**5000), has_too_many_digits(("x", -(10**5000)))
    (False, True, True)
    """
    if isinstance(value, (str, float)):
        return False
    if isinstance(value, int):
        return value.bit_length() > _MOST_BITS
    if isinstance(value, decimal.Decimal):
        return value.is_finite() and value.adjusted() >= MOST_DIGITS
    if isinstance(value, numbers.Rational):
        return max(int(value.numerator).bit_length(), int(value.denominator).bit_length()) > _MOST_BITS
    return isinstance(value, tuple) and any(map(has_too_many_digits, value))
