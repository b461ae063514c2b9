"""Text for the terminal: wrapped lines, tables, notes, and progress, which also works without a terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pgmpy_latent.runtime.clock import clock_line
from pgmpy_latent.tables.files import shortened

#: Maximum and minimum width of printed lines, in characters.
WIDTH, NARROWEST = 100, 60
#: Minimum and maximum width of a class in a profile, in characters.
NARROW, WIDE = 30, 40
#: Seconds between two lines of progress without a terminal.
LINE_SECONDS = 10.0


def width() -> int:
    """Return the width of the terminal in characters, within bounds."""
    return min(WIDTH, max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns))


def say(lines: Sequence[str]) -> None:
    """Print lines as the result of a command."""
    print("\n".join(lines), flush=True)


def note(words: str) -> None:
    """Print a remark to stderr, apart from the result."""
    print("\n".join(wrapped(f"note: {words}")), file=sys.stderr, flush=True)


def wrapped(words: str, indent: str = "") -> list[str]:
    """Return the words in lines that fit; all but the first are indented.

    Examples
    --------
    >>> wrapped("a note")
    ['a note']
    """
    return textwrap.wrap(words, width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return how many there are, in words.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row"), counted(0, "class", "es")
    ('1 row', '2,000 rows', 'no classes')
    """
    return f"{number:,} {noun}" if number == 1 else f"{f'{number:,}' if number else 'no'} {noun}{plural}"


def in_blocks(titles: list[str], rows: list[tuple[str, list[str]]]) -> list[str]:
    r"""Lay out a table with as many columns side by side as the width allows; the others follow below.

    Of a cell with a null character, what stands before it is shortened where the cell is too long, and what stands
    behind it is kept.

    Examples
    --------
    >>> print("\n".join(in_blocks(["H = 0", "H = 1"], [("vote", ["Dole\0 98%", "Clinton\0 99%"])])))
          H = 0        H = 1
    vote  Dole  98%    Clinton  99%
    """
    name_width = min(30, max(len(name) for name, _ in rows))
    longest = max(len(text) for _, cells in [("", titles), *rows] for text in cells)
    wanted = min(WIDE, max(longest + 2, min(NARROW, 13)))
    room = width() - name_width
    side_by_side = max(1, min(len(titles), room // min(NARROW, wanted)))
    cell = min(wanted, room // side_by_side - 2)
    lines = []
    for first in range(0, len(titles), side_by_side):
        part = slice(first, first + side_by_side)
        lines += [""] * (first > 0)
        for name, cells in [("", titles), *rows]:
            texts = [_fitted(text, cell).ljust(cell) for text in cells[part]]
            lines.append("  ".join([shortened(name, name_width).ljust(name_width), *texts]).rstrip())
    return lines


def _fitted(text: str, room: int) -> str:
    """Shorten the label of a cell, not its share."""
    label, _, share = text.partition("\0")
    return f"{shortened(label, room - len(share) - 1)} {share}" if share else shortened(label, room)


def compile_first(numeric: bool = False) -> None:
    """Load the compiled code, which the first run must compile; a line says so, and how long it has taken.

    Tables with numeric columns need other code than those of categories alone: it is compiled in the first run that has
    such columns, whatever was compiled before.
    """
    what = "compiling what numeric columns need, in the first run with such columns only"
    with clock_line(what if numeric else "compiling, in the first run only"):
        from pgmpy_latent.inference.tree_engine import kernel_for

        kernel_for(numeric=numeric)


# While it works -----------------------------------------------------------------------------------


class PlainLines:
    r"""A stream that turns progress bars, which return to the beginning of their line, into a plain line now and then.

    Parameters
    ----------
    stream : text stream
        Where it all goes.
    seconds : float
        Least time between two lines of progress.

    Examples
    --------
    >>> stream = PlainLines(sys.stdout, 0.0)
    >>> for text in ("\rEAST: 1 steps", "\rEAST: 2 steps", "\r             \r", "done\n"):
    ...     _ = stream.write(text)
    EAST: 1 steps
    EAST: 2 steps
    done
    """

    def __init__(self, stream, seconds: float = LINE_SECONDS):
        self._stream = stream
        self._seconds = seconds
        self._last = float("-inf")

    def write(self, text: str) -> int:
        """Pass text on, but only some of the updates of a progress bar."""
        if "\r" not in text or text.endswith("\n"):
            return self._stream.write(text.replace("\r", ""))
        words = re.sub(r"\|[^|]*\|", ",", text.rsplit("\r", 1)[1]).strip()  # without the bar itself
        now = time.monotonic()
        if words and now - self._last >= self._seconds:
            self._last = now
            self._stream.write(f"{words}\n")
            self._stream.flush()
        return len(text)

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


@contextmanager
def progress_and_notes() -> Iterator[None]:
    """Turn progress bars into lines if there is no terminal, and warnings for users into notes, each printed once."""
    stderr, shown = sys.stderr, set()

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        words = re.sub("; impute leaves (them as they are|it as it is)", "", str(message))  # there is no such command
        if words not in shown:
            shown.add(words)
            note(words)

    if not stderr.isatty():
        sys.stderr = PlainLines(stderr)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries say to programmers
            warnings.filterwarnings("always", category=UserWarning, append=False)
            warnings.showwarning = show
            yield
    finally:
        sys.stderr = stderr
