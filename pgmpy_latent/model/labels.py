"""Names of columns, nodes and states: which are allowed, when two are the same, and how they are sorted."""

from __future__ import annotations

import decimal
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable

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


def check_names(
    names: Iterable[Hashable],
    what: str,
    error: type[Exception],
    where: str = "",
    *,
    allow_none: bool = True,
    allow_empty: bool = True,
) -> None:
    """Raise if names of columns or nodes cannot be used; tables, models and files all call this.

    No two are the same, and none is a number with too many digits to print. pgmpy does not allow None, and files that
    are text have no other word for "no name" than an empty one.

    Parameters
    ----------
    names : iterable of hashable
        The names, in order.
    what : {"column", "node"}
        What they are names of, for the message.
    error : exception class
        What to raise.
    where : str
        Where the names come from, for the message: an argument or a file.
    allow_none, allow_empty : bool
        Whether None and empty text are names.

    Examples
    --------
    >>> check_names(["x", "y", "x"], "column", ValueError, "survey.csv")
    Traceback (most recent call last):
    ValueError: survey.csv: two columns are called 'x'; give every column a name of its own
    """
    names = list(names)
    prefix = f"{where}: " if where else ""
    refuse_long_names(names, what, error, where)
    if not allow_none and None in names:
        raise error(f"{prefix}a {what} is called None, which pgmpy does not allow; rename it")
    if not allow_empty and "" in names:
        raise error(f"{prefix}{what} {names.index('') + 1} has no name; name every {what}")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise error(f"{prefix}two {what}s are called {twice!r}; give every {what} a name of its own")


def refuse_long_names(names: Iterable[Hashable], what: str, error: type[Exception], where: str = "") -> None:
    """Raise if a name is a number with too many digits to print; parameters are those of :func:`check_names`.

    Where names are only looked up, nothing else need hold.

    Examples
    --------
    >>> refuse_long_names(["x", 10**2000], "column", ValueError, "X")
    Traceback (most recent call last):
    ValueError: X: the name of a column is a number of more than 1,000 digits; rename it
    """
    if any(map(has_too_many_digits, names)):
        prefix = f"{where}: " if where else ""
        raise error(f"{prefix}the name of a {what} is a number of more than {MOST_DIGITS:,} digits; rename it")
