"""Whole numbers in text files, also where programs write them as 1.0, as some do in columns with missing cells."""

from __future__ import annotations

import re

#: "007" is text.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(?:\.0+)?")


def whole_number(text: str) -> int | None:
    """Return the whole number that a text stands for, or None.

    Examples
    --------
    >>> whole_number("5.0"), whole_number("-1"), whole_number("5.5"), whole_number("007")
    (5, -1, None, None)
    """
    match = _WHOLE.fullmatch(text)
    return None if match is None else int(match[1])


def without_fraction(text: str) -> str:
    """Return the text of a whole number without ".0", and any other text unchanged.

    Examples
    --------
    >>> without_fraction("5.0"), without_fraction("5"), without_fraction("5.5"), without_fraction("v5.0")
    ('5', '5', '5.5', 'v5.0')
    """
    number = whole_number(text)
    return text if number is None else str(number)
