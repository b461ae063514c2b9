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

from benchmarks.tables.cells import (
    BETTER,
    DECIDED,
    EQUAL,
    KINDS,
    MISSING,
    NOT_COMPARABLE,
    OWN,
    UNDECIDED,
    VERDICTS,
    WORSE,
    Cell,
    Finding,
    with_limits,
)

#: Our settings, in the order of the page.
SETTINGS = ("preset", "default")
QUESTIONS = {"preset": "have we built it?", "default": "are we better?"}
#: How many of the weakest results are named.
N_WEAKEST = 3
FIELDS = (
    "table", "row", "column", "kind", "own_method", "theirs", "larger_is_better", "limit", "their_seconds",
    *(f"{name}_{field}" for name in SETTINGS for field in (
        "ours", "difference", "error", "seconds", "verdict", "reason",
    )),
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
    name: str = ""


def section_of(module, run) -> Section:
    """Return the section of a table's module."""
    notes = module.NOTES(run) if callable(module.NOTES) else module.NOTES
    notes = (notes,) if isinstance(notes, str) else tuple(notes)
    beside = module.beside(run) if hasattr(module, "beside") else {}
    return Section(module.TITLE, with_limits(module.cells(run)), notes, beside, module.__name__.rpartition(".")[2])


# -- figures -----------------------------------------------------------------------------------------------------------


def findings(cells: Iterable[Cell], setting: str) -> list[Finding]:
    return [cell.findings[setting] for cell in cells]


def of_kind(cells: Iterable[Cell], kind: str) -> list[Cell]:
    return [cell for cell in cells if cell.kind == kind]


def counts(found: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings have each verdict."""
    verdicts = [one.verdict for one in found]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def loss(cell: Cell, setting: str = "default") -> float:
    """Return by how many of its errors ours is worse; negative where it is better.

    >>> from benchmarks.tables.cells import compared
    >>> found = [compared(10.0, 7.0, 2.0), compared(10.0, 11.0, 0.0)]
    >>> [loss(Cell("T", "r", "c", 10.0, OWN, one)) for one in found]
    [1.5, -inf]
    """
    found = cell.findings[setting]
    worse_by = found.difference * (-1 if cell.larger_is_better else 1)
    if found.error > 0:
        return worse_by / found.error
    return math.copysign(math.inf, worse_by) if worse_by else 0.0


def weakest(cells: Iterable[Cell], setting: str = "default", n: int = N_WEAKEST) -> list[Cell]:
    """Return the compared cells with the largest loss, in units of the stated error; the weakest first.

    Of a figure that stands in several tables, the first is taken.
    """
    there = [cell for cell in cells if cell.findings[setting].is_compared]
    figures = {(cell.row, cell.column, cell.theirs, cell.findings[setting].ours): cell for cell in reversed(there)}
    found = list(reversed(figures.values()))
    return sorted(found, key=lambda cell: loss(cell, setting), reverse=True)[:n]


def median_speed_up(cells: Iterable[Cell]) -> tuple[float | None, int]:
    """Return the median speed-up of cells that are compared by default, and of how many.

    The same fit may stand in several tables, or under several figures of one; it counts in each.
    """
    found = [cell.speed_up for cell in cells if cell.default.is_compared and cell.speed_up is not None]
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


def weakest_lines(cells: Sequence[Cell], setting: str) -> list[str]:
    found = weakest(cells, setting)
    if not found:
        return []
    lines = prose(
        f"The weakest own methods with the {setting} settings, by what ours is worse in units of the stated error",
        "(equal is at most 1):",
    )
    for at, cell in enumerate(found, 1):
        one = cell.findings[setting]
        why = f" {one.reason[0].upper()}{one.reason[1:].rstrip('.')}." if one.reason else ""
        lines += textwrap.wrap(
            f"{at}. {cell.table}, {cell.row}, {cell.column}: {number(one.ours)} where the paper has "
            f"{number(cell.theirs)}, {loss(cell, setting):.1f} errors of {number(one.error)} ({one.verdict}).{why}",
            116,
            subsequent_indent="   ",
        )
    return [*lines, ""]


def sums_up(found: Iterable[Finding]) -> str:
    """Return verdicts in words."""
    n = counts(found)
    decided = sum(n[verdict] for verdict in DECIDED)
    compared = decided + n[UNDECIDED]
    return (
        f"**{n[BETTER]} better, {n[EQUAL]} equal, {n[WORSE]} worse**, {n[UNDECIDED]} undecided; {n[MISSING]} not "
        f"measured, {n[NOT_COMPARABLE]} not comparable. Of {decided:,} decided, {share(n[BETTER] + n[EQUAL], decided)} "
        f"are equal or better; of {compared:,} compared, {share(n[UNDECIDED], compared)} are undecided."
    )


def headline(cells: Sequence[Cell]) -> list[str]:
    """Return the counts of the papers' own methods, for both settings."""
    own = of_kind(cells, OWN)
    lines = prose(
        f"{counted(len(cells), 'cell')} of {counted(len({cell.table for cell in cells}), 'table')}, of which",
        f"{len(own)} are scores of methods that one of the papers proposes. Each is asked twice.",
    )
    for setting in SETTINGS:
        text = f"- The {setting} settings ({QUESTIONS[setting]}): {sums_up(findings(own, setting))}"
        lines += textwrap.wrap(text, 116, subsequent_indent="  ")
    return [*lines, ""]


def kinds_table(cells: Sequence[Cell]) -> list[str]:
    """Return the counts of every kind of cell, a line per kind and setting."""
    rows = []
    for kind in KINDS:
        for setting in SETTINGS:
            n = counts(findings(of_kind(cells, kind), setting))
            rows.append((kind, setting, *(str(n[verdict]) for verdict in VERDICTS)))
    return table_of(("about", "ours", *VERDICTS), rows)


def sections_table(sections: Sequence[Section]) -> list[str]:
    """Return the counts of own methods, a line per table."""
    short = (BETTER, EQUAL, WORSE, UNDECIDED)
    rows = []
    for section in sections:
        own = of_kind(section.cells, OWN)
        found = [" / ".join(str(counts(findings(own, one))[verdict]) for verdict in short) for one in SETTINGS]
        rows.append((section.title, str(len(own)), *found, factor(median_speed_up(section.cells)[0])))
    order = " / ".join(short)
    return table_of(
        ("table", "own methods", *(f"{one}: {order}" for one in SETTINGS), "median speed-up, all cells"), rows
    )


def summary(sections: Sequence[Section]) -> list[str]:
    """Return what a sceptic reads first."""
    cells = [cell for section in sections for cell in section.cells]
    own = of_kind(cells, OWN)
    speed, n = median_speed_up(cells)
    return [
        *headline(cells),
        *prose(
            "The *preset* follows the paper to the letter, with departures that its docstring names; the *default* is",
            "the learner as it comes. *Better* and *worse* are differences beyond the error that stands beside",
            "them. *Equal* are those within, unless the error is above the cell's limit: then they are *undecided*.",
            "The limit is what typically separates two of the paper's methods on the same question, the median of",
            "the differences of all pairs, or what the paper calls the same, if that is larger; one rule for all",
            "tables. A cell on data that we do not have, or that were prepared in a way that is lost, is not",
            "comparable, and says so. A figure that a paper prints in several tables counts in each.",
        ),
        *prose(
            "Baselines of the papers, scikit-learn's classifiers, seconds on the papers' computers, and counts and",
            "ranks stand apart:",
        ),
        *kinds_table(cells),
        *prose(
            "Speed-ups are the paper's time, on its computer, divided by ours by default, on one core.",
            f"Their median is {factor(speed)}, over {counted(n, 'cell')} with times." if n else "",
        ),
        *sections_table(sections),
        *weakest_lines(own, "default"),
        *weakest_lines(own, "preset"),
    ]


def finding_columns(found: Finding, error: float) -> tuple[str, str, str]:
    """Return our figure, its difference with the error, and the verdict."""
    verdict = f"**{found.verdict}**" if found.verdict == WORSE else found.verdict
    if not found.is_compared:
        return number(found.ours, error=error), DASH, verdict
    difference = f"{number(found.difference, sign=True)} ± {number(found.error)}"
    return number(found.ours, error=found.error), difference, f"{verdict}: {found.reason}" if found.reason else verdict


def cell_row(cell: Cell) -> tuple[str, ...]:
    error = cell.default.error
    return (
        cell.row,
        cell.column,
        number(cell.theirs, error=error),
        *finding_columns(cell.preset, error),
        *finding_columns(cell.default, error),
        seconds_text(cell.default.seconds),
        factor(cell.speed_up),
    )


def reasons(cells: Iterable[Cell]) -> list[str]:
    """Return why cells cannot be compared, and which."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.default.verdict == NOT_COMPARABLE:
            found.setdefault(cell.default.reason, []).append(cell)
    lines = []
    for reason, some in found.items():
        lines += prose(f"Not comparable, {counted(len(some), 'cell')}: {reason.rstrip('.')}.")
    return lines


def missing_lines(section: Section) -> list[str]:
    """Return how many cells are not measured, and the command that measures them."""
    lines = []
    for setting in SETTINGS:
        n, words = counts(findings(section.cells, setting))[MISSING], section.name
        if n:
            words += " + preset" * (setting == "preset")
            command = f'`python -m benchmarks.tables --only "{words}"`'
            lines += prose(f"Not measured with the {setting} settings, {counted(n, 'cell')}: {command} measures them.")
    return lines


def section_lines(section: Section) -> list[str]:
    """Return the section of a table, or of several that a module has."""
    lines = [f"## {section.title}", "", *prose(*section.notes)]
    tables = list(dict.fromkeys(cell.table for cell in section.cells))
    ours = [name for setting in SETTINGS for name in (setting, "difference ± error", "verdict")]
    head = ("row", "column", "paper", *ours, "seconds", "speed-up")
    for table in tables:
        if tables != [section.title]:
            lines += [f"### {table}", ""]
        own = [cell for cell in section.cells if cell.table == table]
        lines += [*table_of(head, map(cell_row, own)), *reasons(own)]
    lines += missing_lines(section)
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
            "The papers' tables, cell by cell: the paper's figure, ours under the same protocol with two settings, and",
            "a verdict on each. `python -m benchmarks.tables` measures what is missing, and writes this page and",
            "[evidence.csv](evidence.csv), which has a row per cell; before that it says what processor time it takes.",
        ),
        *summary(sections),
    ]
    for section in sections:
        lines += section_lines(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def csv_row(cell: Cell) -> dict[str, object]:
    """Return a cell as a row of the file."""
    row: dict[str, object] = {name: getattr(cell, name, None) for name in FIELDS}
    row["own_method"] = cell.kind == OWN
    for setting, found in cell.findings.items():
        row |= {name: getattr(found, name.removeprefix(f"{setting}_")) for name in FIELDS if name.startswith(setting)}
    rounded = ("difference", "error", "seconds", "limit")
    return {
        name: f"{value:.6g}" if isinstance(value, float) and name.endswith(rounded) else value
        for name, value in row.items()
    }


def as_csv(cells: Iterable[Cell]) -> str:
    """Return all cells, a line each."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(csv_row(cell) for cell in cells)
    return text.getvalue()
