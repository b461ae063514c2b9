"""The page of evidence: a summary for sceptics, a section per table; and all cells as CSV.

Beside what ``cells.py`` asks of it, a table's module may have ``beside(run)``, which returns what stands beside each
row without a figure in the paper: row -> name -> text. NOTES are a sentence, several, or a function of ``run``.
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.tables.cells import BETTER, EQUAL, MISSING, NOT_COMPARABLE, VERDICTS, WORSE, Cell

COMPARABLE = (BETTER, EQUAL, WORSE)
#: How many of the weakest results are named.
N_WEAKEST = 3
FIELDS = (
    "table", "row", "column", "theirs", "ours", "difference", "error", "larger_is_better", "seconds", "their_seconds",
    "speed_up", "verdict", "reason",
)  # fmt: skip
DASH = "–"
HEAD = "# Evidence"


@dataclass(frozen=True)
class Section:
    """What the page says about a table."""

    title: str
    cells: Sequence[Cell]
    notes: Sequence[str] = ()
    beside: dict[str, dict[str, str]] = field(default_factory=dict)


def section_of(module, run) -> Section:
    """Return the section of a table's module."""
    notes = module.NOTES(run) if callable(module.NOTES) else module.NOTES
    notes = (notes,) if isinstance(notes, str) else tuple(notes)
    beside = module.beside(run) if hasattr(module, "beside") else {}
    return Section(module.TITLE, tuple(module.cells(run)), notes, beside)


# -- figures -----------------------------------------------------------------------------------------------------------


def counts(cells: Iterable[Cell]) -> dict[str, int]:
    """Return how many cells have each verdict."""
    verdicts = [cell.verdict for cell in cells]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def loss(cell: Cell) -> float:
    """Return by how many of its errors ours is worse; negative where it is better.

    >>> from benchmarks.tables.cells import compared
    >>> loss(compared("T", "r", "c", 10.0, 7.0, 2.0)), loss(compared("T", "r", "c", 1.0, 2.0, 0.0))
    (1.5, -inf)
    """
    worse_by = cell.difference * (-1 if cell.larger_is_better else 1)
    if cell.error > 0:
        return worse_by / cell.error
    return math.copysign(math.inf, worse_by) if worse_by else 0.0


def stricter(cells: Iterable[Cell], share_of_error: float = 0.5) -> dict[str, int]:
    """Return how many comparable cells would have each verdict if errors were smaller."""
    found = [loss(cell) for cell in cells if cell.verdict in COMPARABLE]
    worse, better = sum(one > share_of_error for one in found), sum(one < -share_of_error for one in found)
    return {BETTER: better, EQUAL: len(found) - worse - better, WORSE: worse}


def weakest(cells: Iterable[Cell], n: int = N_WEAKEST) -> list[Cell]:
    """Return the comparable cells with the largest loss, in units of the stated error; the weakest first."""
    return sorted((cell for cell in cells if cell.verdict in COMPARABLE), key=loss, reverse=True)[:n]


def median_speed_up(cells: Iterable[Cell]) -> tuple[float | None, int]:
    """Return the median speed-up of comparable cells, and of how many.

    The same fit may stand in several tables, or under several figures of one; it counts in each.
    """
    found = [cell.speed_up for cell in cells if cell.verdict in COMPARABLE and cell.speed_up is not None]
    return (median(found) if found else None), len(found)


# -- text --------------------------------------------------------------------------------------------------------------


def number(value: float | None, sign: bool = False, error: float = 0.0) -> str:
    """Return a figure with as many digits as its size, and its error, ask for.

    >>> number(-51465.4), number(0.00312), number(88.04), number(None), number(2.0, sign=True)
    ('-51,465.4', '0.00312', '88.04', '–', '+2.00')
    """
    if value is None:
        return DASH
    form = "+," if sign else ","
    if value == 0:
        return "0"
    size = abs(value) if not 0 < error < abs(value) else error
    digits = 1 if abs(value) >= 1_000 else 2 if abs(value) >= 1 else 2 - math.floor(math.log10(abs(value)))
    if 0 < size < 0.01 and abs(value) < 1_000:
        digits = max(digits, 1 - math.floor(math.log10(size)))
    return f"{value:{form}.{min(digits, 6)}f}"


def seconds_text(value: float | None) -> str:
    """Return seconds in a unit that can be read.

    >>> seconds_text(0.0123), seconds_text(90.0), seconds_text(7200.0), seconds_text(200_000)
    ('0.012 s', '90 s', '2.0 h', '2.3 days')
    """
    if value is None:
        return DASH
    if value < 10:
        return f"{value:.2g} s"
    if value < 600:
        return f"{value:.0f} s"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if value >= 2 * size or size == 60:
            return f"{value / size:.1f} {unit}"
    raise AssertionError(value)


def factor(value: float | None) -> str:
    """Return a speed-up.

    >>> factor(0.051), factor(3.14), factor(1234.5), factor(None)
    ('0.051', '3.1', '1,230', '–')
    """
    if value is None:
        return DASH
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.3g}'):,.0f}"


def row_of(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table, with an empty line after it."""
    return [row_of(*head), "|---" * len(head) + "|", *(row_of(*row) for row in rows), ""]


def prose(*sentences: str) -> list[str]:
    """Return sentences as lines, with an empty one after them."""
    return [*textwrap.wrap(" ".join(sentences), 116, break_long_words=False, break_on_hyphens=False), ""]


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


# -- the page ----------------------------------------------------------------------------------------------------------


def share(n: int, of: int) -> str:
    return f"{100 * n / of:.0f} %" if of else DASH


def weakest_lines(cells: Sequence[Cell]) -> list[str]:
    found = weakest(cells)
    if not found:
        return []
    lines = ["The weakest results, by what ours is worse in units of the stated error (equal is at most 1):", ""]
    for at, cell in enumerate(found, 1):
        why = f" {cell.reason[0].upper()}{cell.reason[1:].rstrip('.')}." if cell.reason else ""
        lines += textwrap.wrap(
            f"{at}. {cell.table}, {cell.row}, {cell.column}: {number(cell.ours)} where the paper has "
            f"{number(cell.theirs)}, {loss(cell):.1f} errors of {number(cell.error)} ({cell.verdict}).{why}",
            116,
            subsequent_indent="   ",
        )
    return [*lines, ""]


def speed_sentence(cells: Sequence[Cell]) -> str:
    speed, n = median_speed_up(cells)
    return "" if speed is None else f"The median speed-up is {factor(speed)}, over {counted(n, 'cell')} with times."


def summary(sections: Sequence[Section]) -> list[str]:
    """Return what a sceptic reads first."""
    cells = [cell for section in sections for cell in section.cells]
    n = counts(cells)
    measured = sum(n[verdict] for verdict in COMPARABLE)
    good, strict = n[BETTER] + n[EQUAL], stricter(cells)
    lines = prose(
        f"{counted(len(cells), 'cell')} of {counted(len({cell.table for cell in cells}), 'table')}:",
        f"**{n[BETTER]} better, {n[EQUAL]} equal, {n[WORSE]} worse**, {n[NOT_COMPARABLE]} not comparable,",
        f"{n[MISSING]} not measured yet.",
        f"Of {measured:,} that were compared, {share(good, measured)} are better or equal.",
        f"With errors half as large, {strict[BETTER]} were better, {strict[EQUAL]} equal and {strict[WORSE]} worse.",
        speed_sentence(cells),
    )
    rows = [
        (section.title, str(len(section.cells)), *(str(counts(section.cells)[verdict]) for verdict in VERDICTS),
         factor(median_speed_up(section.cells)[0]))
        for section in sections
    ]  # fmt: skip
    return [
        *lines,
        *prose(
            "*Better* and *worse* are differences beyond the error that stands beside them; *equal* are those within.",
            "A cell on data that we do not have, or that were prepared in a way that is lost, is not comparable, and",
            "says so. Speed-ups are the paper's time, on its computer, divided by ours, on one core.",
        ),
        *weakest_lines(cells),
        *table_of(("table", "cells", *VERDICTS, "median speed-up"), rows),
    ]


def cell_row(cell: Cell) -> tuple[str, ...]:
    compared = cell.verdict in COMPARABLE
    verdict = f"**{cell.verdict}**" if cell.verdict == WORSE else cell.verdict
    return (
        cell.row,
        cell.column,
        number(cell.theirs, error=cell.error),
        number(cell.ours, error=cell.error),
        number(cell.difference, sign=True) if compared else DASH,
        f"± {number(cell.error)}" if compared else DASH,
        seconds_text(cell.seconds),
        factor(cell.speed_up),
        f"{verdict}: {cell.reason}" if cell.reason and compared else verdict,
    )


def reasons(cells: Iterable[Cell]) -> list[str]:
    """Return why cells cannot be compared, and which."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.verdict == NOT_COMPARABLE:
            found.setdefault(cell.reason, []).append(cell)
    lines = []
    for reason, some in found.items():
        lines += prose(f"Not comparable, {counted(len(some), 'cell')}: {reason.rstrip('.')}.")
    return lines


def section_lines(section: Section) -> list[str]:
    """Return the section of a table, or of several that a module has."""
    lines = [f"## {section.title}", "", *prose(*section.notes)]
    tables = list(dict.fromkeys(cell.table for cell in section.cells))
    head = ("row", "column", "paper", "ours", "difference", "error", "seconds", "speed-up", "verdict")
    for table in tables:
        if tables != [section.title]:
            lines += [f"### {table}", ""]
        own = [cell for cell in section.cells if cell.table == table]
        lines += [*table_of(head, map(cell_row, own)), *reasons(own)]
    if section.beside:
        names = list(dict.fromkeys(name for row in section.beside.values() for name in row))
        rows = [(row, *(found.get(name, DASH) for name in names)) for row, found in section.beside.items()]
        lines += ["Beside them, without a figure in the paper:", "", *table_of(("row", *names), rows)]
    return lines


def page(sections: Sequence[Section]) -> str:
    """Return the page."""
    lines = [
        HEAD,
        "",
        *prose(
            "The papers' tables, cell by cell: the paper's figure, ours under the same protocol, and a verdict.",
            "`python -m benchmarks.tables` measures what is missing, and writes this page and",
            "[evidence.csv](evidence.csv), which has a row per cell.",
        ),
        *summary(sections),
    ]
    for section in sections:
        lines += section_lines(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def as_csv(cells: Iterable[Cell]) -> str:
    """Return all cells, a line each."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        row = {name: getattr(cell, name) for name in FIELDS}
        writer.writerow({name: f"{value:.6g}" if isinstance(value, float) and name in TIMES else value
                         for name, value in row.items()})  # fmt: skip
    return text.getvalue()


TIMES = ("seconds", "their_seconds", "speed_up", "error", "difference")
