"""How a text file is written: its encoding and separator, judged by its first lines, and decimal commas."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Iterable
from itertools import islice

#: Separators that are looked for, in words.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
#: Number of lines that must agree on a separator.
LINES = 50
#: The separator of files in which numbers may have decimal commas, as spreadsheets write them in much of Europe.
WITH_DECIMAL_COMMAS = ";"
_WITH_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def marked_encoding(head: bytes) -> str:
    """Return the encoding that the first bytes of a file name: UTF-16, which Excel calls Unicode text, or UTF-8.

    Examples
    --------
    >>> marked_encoding("é".encode("utf-16")), marked_encoding(b"a;b")
    ('utf-16', 'utf-8-sig')
    """
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "utf-8-sig")


def likely_separator(lines: Iterable[str], usual: str) -> str:
    """Return the separator that gives the first lines the same number of cells, the more cells the better.

    Parameters
    ----------
    lines : iterable of str
        The lines of the file; some of the first are looked at.
    usual : str
        What the ending of the file says; it is kept unless another one gives more cells.

    Examples
    --------
    >>> likely_separator(["age;income", "20;1,5", "30;2,5"], ","), likely_separator(["a,b;c", "1,2"], ",")
    (';', ',')
    """
    first = [line for line in islice(lines, LINES) if line.strip()]
    cells = {separator: _cells(first, separator) for separator in (usual, *SEPARATORS)}
    return max(cells, key=lambda separator: (cells[separator], separator == usual))


def has_decimal_commas(cells: Collection[str]) -> bool:
    """Tell whether cells are numbers, some of them with a decimal comma, and nothing else.

    Beside whole numbers, commas that only ever stand between two single digits in order may as well separate answers:
    then they are not decimal commas.

    Examples
    --------
    >>> has_decimal_commas(["0,577", "2", "-1,5"]), has_decimal_commas(["1", "2"]), has_decimal_commas(["1,5", "1,2,3"])
    (True, False, False)
    >>> has_decimal_commas(["1", "2", "3", "1,2", "2,3"]), has_decimal_commas(["1,0", "1,3", "1,7", "2,0"])
    (False, True)
    """
    with_comma = [cell for cell in cells if _WITH_COMMA.fullmatch(cell)]
    n_whole = sum(_WHOLE.fullmatch(cell) is not None for cell in cells)
    may_be_answers = all(len(cell) == 3 and "0" < cell[0] < cell[2] for cell in with_comma)
    return bool(with_comma) and not (n_whole and may_be_answers) and len(with_comma) + n_whole == len(cells)


def _cells(lines: list[str], separator: str) -> int:
    """Return how many cells each line has; 1 if they differ."""
    try:
        counts = {len(row) for row in csv.reader(lines, delimiter=separator, strict=True) if row}
    except csv.Error:  # a quoted cell may go on beyond the lines that are looked at
        return len(next(csv.reader(lines[:1], delimiter=separator), []))
    return counts.pop() if len(counts) == 1 else 1
