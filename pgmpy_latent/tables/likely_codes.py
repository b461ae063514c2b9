"""Values that look like codes for missing answers, such as 99 above a scale from 1 to 5, or "refused"."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate, pairwise
from typing import SupportsFloat

#: Texts that usually stand for a missing answer, in lower case.
MISSING_WORDS = frozenset(
    ["", "?", "??", ".", "..", "-", "--", "*", "na", "n/a", "n.a.", "#n/a", "nan", "nil", "none", "null", "missing",
     "unknown", "unspecified", "dk", "d/k", "refused", "declined", "don't know", "don’t know", "dont know",
     "do not know", "no answer", "no response", "not available", "not stated", "no data", "prefer not to say",
     "prefer not to answer", "rather not say", "not applicable", "inapplicable", "not asked", "not answered",
     "not known", "undisclosed"]
)  # fmt: skip
#: Numbers that usually stand for a missing answer if they are far from the others.
HIGH_CODES = frozenset({8, 9, 77, 88, 96, 97, 98, 99, 777, 888, 996, 997, 998, 999, 8888, 9997, 9998, 9999, 99999})
LOW_CODES = frozenset({*range(-9, 0), *(-code for code in HIGH_CODES)})
#: A number that is closer to the others than this may belong to their scale.
LEAST_GAP = 3
#: Columns with larger numbers than this are not scales.
LARGEST = 1e6


def likely_codes(states: Sequence[Hashable]) -> list[Hashable]:
    """Return the values of a column that look like codes for missing answers; none if all of them do.

    These are numbers far from a scale, such as 9 or 99 above 1 to 5 or -1 below it, and texts such as "?" or
    "don't know".

    Examples
    --------
    >>> likely_codes([1, 2, 3, 99]), likely_codes(["no", "yes", "Refused"]), likely_codes([-1, 0, 1])
    ([99], ['Refused'], [])
    """
    codes: list[Hashable] = [
        state for state in states if isinstance(state, str) and state.strip().casefold() in MISSING_WORDS
    ]
    codes += _apart([state for state in states if state not in codes])
    return codes if len(codes) < len(states) else []


def as_numbers(states: Sequence[Hashable]) -> list[float] | None:
    """Return the states as numbers, including numbers in text; None if one of them is not a number.

    Examples
    --------
    >>> as_numbers([1, "2.5"]), as_numbers([1, "two"])
    ([1, 2.5], None)
    """
    if any(isinstance(state, bool) for state in states):
        return None
    try:
        return [state if isinstance(state, int) else _as_float(state) for state in states]
    except (TypeError, ValueError, OverflowError):  # the last of fractions of large numbers
        return None


def _as_float(state: Hashable) -> float:
    if isinstance(state, (str, bytes, SupportsFloat)):
        return float(state)
    raise TypeError(f"{state!r} is not a number")


def _apart(states: Sequence[Hashable]) -> list[Hashable]:
    """Return the states that are usual codes and far from the others."""
    numbers = as_numbers(states)
    if numbers is None or not all(abs(number) <= LARGEST for number in numbers):
        return []
    by_value = dict(zip(numbers, states, strict=True))
    negative, scale = sorted(x for x in numbers if x < 0), sorted(x for x in numbers if x >= 0)
    above = _above(scale)
    scale = scale[: len(scale) - len(above)]
    return [by_value[number] for number in (*_below(negative, scale), *above)]


def _above(scale: list[float]) -> list[float]:
    """Return the numbers at the end of a sorted list that are usual codes, after a step larger than any before it."""
    steps = [after - before for before, after in pairwise(scale)]
    largest = list(accumulate(steps, max))
    for at in range(2, len(scale)):  # a scale has at least two values
        reach = max(LEAST_GAP, largest[at - 2] + 1, (scale[at - 1] - scale[0]) / 10)
        if steps[at - 1] >= reach and HIGH_CODES.issuperset(scale[at:]):
            return scale[at:]
    return []


def _below(negative: list[float], scale: list[float]) -> list[float]:
    """Return the negative numbers if they are usual codes, and not half of a scale around zero."""
    if len(scale) < 2 or not LOW_CODES.issuperset(negative):
        return []
    if {-number for number in negative} == {number for number in scale if number > 0}:
        return []
    apart = scale[0] - negative[-1] >= 2 if negative else False
    is_count = not any(number % 1 for number in scale)
    return negative if apart or (negative == [-1] and is_count) else []
