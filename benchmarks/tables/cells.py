"""What a cell of a paper's table says, what we found with two settings, and which is better.

A table is a module of this package with

- ``TITLE``: the paper and the table, as "Harmeling and Williams, Table 2";
- ``jobs(run)`` and ``quick_jobs(run)``: what is to be measured, see :mod:`benchmarks.tables.results`; the quick ones
  take seconds, under case names of their own, which never get onto the page;
- ``cells(run)``: the cells, from what was measured; what was not measured yet is ``NOT_MEASURED``;
- ``NOTES``: sentences for the page: the protocol, what differs from the paper's, and why we are worse where we are.

``run`` is a :class:`benchmarks.runner.Runner` whose file is ``benchmarks/results/tables_<module>.csv``; figures that an
older script has measured under the same protocol may be taken from its file.

Each cell is asked twice. With the *preset* that follows the paper to the letter: have we built it? With the learner's
*default* settings: are we better?
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import median

BETTER, EQUAL, WORSE, UNDECIDED = "better", "equal", "worse", "undecided"
NOT_COMPARABLE, MISSING, NO_PRESET = "not comparable", "not measured", "no preset"
VERDICTS = (BETTER, EQUAL, WORSE, UNDECIDED, NOT_COMPARABLE, MISSING, NO_PRESET)
DECIDED = (BETTER, EQUAL, WORSE)
COMPARED = (*DECIDED, UNDECIDED)

OWN, BASELINE, LIBRARY = "own method", "baseline", "scikit-learn"
SECONDS, COUNT = "seconds", "count or rank"
#: What a cell is about: a score of a method that the paper proposes, of one that it compares with, or of one that is
#: scikit-learn's on our side; the paper's seconds; or a number of states, variables, data sets or the like.
KINDS = (OWN, BASELINE, LIBRARY, SECONDS, COUNT)


@dataclass(frozen=True)
class Finding:
    """What we found for a cell with one of the two settings.

    Attributes
    ----------
    ours : float or None
        Our figure, on the paper's scale.
    difference : float or None
        Ours less theirs; by pairs of runs on the same rows where there are such.
    error : float
        By how much the two may differ and still be equal; at least what rounding in the paper explains.
    seconds : float or None
        Of one run.
    verdict : str
        One of ``VERDICTS``.
    reason : str
        Why it cannot be compared, or why ours is worse.
    """

    ours: float | None = None
    difference: float | None = None
    error: float = 0.0
    seconds: float | None = None
    verdict: str = MISSING
    reason: str = ""

    @property
    def is_compared(self) -> bool:
        return self.verdict in COMPARED


NOT_MEASURED = Finding()
#: Of baselines that have no settings, or whose settings the paper does not say.
WITHOUT_PRESET = Finding(verdict=NO_PRESET)


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    table : str
        The table, as in ``TITLE``.
    row, column : str
        Where it stands.
    theirs : float or None
        The paper's figure.
    kind : str
        One of ``KINDS``.
    default, preset : Finding
        Ours, with default settings and with those of the paper.
    group : str
        Cells of a table in one group are figures of different methods for the same question; its row, if not given.
    same : float
        A difference that the paper calls the same, or a unit of the last digit that it prints.
    limit : float
        With a larger error, "equal" would say nothing; see :func:`with_limits`.
    larger_is_better : bool
    their_seconds : float or None
    """

    table: str
    row: str
    column: str
    theirs: float | None
    kind: str
    default: Finding = NOT_MEASURED
    preset: Finding = field(default=WITHOUT_PRESET, kw_only=True)
    group: str = field(default="", kw_only=True)
    same: float = field(default=0.0, kw_only=True)
    limit: float = field(default=float("inf"), kw_only=True)
    larger_is_better: bool = field(default=True, kw_only=True)
    their_seconds: float | None = field(default=None, kw_only=True)

    @property
    def speed_up(self) -> float | None:
        """How many times as long theirs took as ours by default."""
        ours = self.default.seconds
        return self.their_seconds / ours if ours and self.their_seconds else None

    @property
    def findings(self) -> dict[str, Finding]:
        return {"preset": self.preset, "default": self.default}


def compared(
    theirs: float,
    ours: float,
    error: float,
    *,
    larger_is_better: bool = True,
    difference: float | None = None,
    seconds: float | None = None,
    why_worse: str = "",
) -> Finding:
    """Return a finding with its verdict; why ours is worse is kept where it is.

    Examples
    --------
    >>> compared(-10.0, -10.3, 0.5).verdict, compared(5.0, 4.0, 0.5, why_worse="chance").reason
    ('equal', 'chance')
    >>> compared(5.0, 4.0, 0.5, larger_is_better=False).verdict, compared(5.0, 4.0, 0.5, difference=0.1).verdict
    ('better', 'equal')
    """
    difference = ours - theirs if difference is None else difference
    gain = difference if larger_is_better else -difference
    verdict = EQUAL if abs(gain) <= error else BETTER if gain > 0 else WORSE
    return Finding(ours, difference, error, seconds, verdict, why_worse if verdict == WORSE else "")


def not_comparable(reason: str, ours: float | None = None) -> Finding:
    """Return a finding that cannot be compared, and why."""
    return Finding(ours, verdict=NOT_COMPARABLE, reason=reason)


def lost(table: str, row: str, column: str, theirs: float | None, kind: str, reason: str, ours=None) -> Cell:
    """Return a cell that cannot be compared with any setting."""
    found = not_comparable(reason, ours)
    return Cell(table, row, column, theirs, kind, found, preset=replace(found, ours=None))


def typical_difference(figures: Iterable[float]) -> float:
    """Return the median of the absolute differences of all pairs; 0 if there is no pair.

    Examples
    --------
    >>> typical_difference([-10.0, -12.0, -90.0]), typical_difference([4.0])
    (78.0, 0.0)
    """
    return median([abs(one - other) for one, other in combinations(figures, 2)] or [0.0])


def with_limits(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return cells in which what is equal only because its error is large is undecided instead.

    The limit is what typically separates two methods of the paper in the cell's group (see :func:`typical_difference`),
    or the difference that the paper calls the same, if that is larger. With a larger error, any method of the paper
    would be equal to any other. What is better or worse in spite of a large error stays so. The rule is the same for
    all tables.

    Examples
    --------
    >>> pair = [Cell("T", "r", name, 5.0, OWN, compared(5.0, 5.0, error)) for name, error in (("a", 0.5), ("b", 2.0))]
    >>> [cell.default.verdict for cell in with_limits([*pair, Cell("T", "r", "c", 6.0, BASELINE)])]
    ['equal', 'undecided', 'not measured']
    """
    cells = list(cells)
    groups: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        if cell.theirs is not None:
            groups.setdefault((cell.table, cell.group or cell.row), []).append(cell.theirs)
    found = []
    for cell in cells:
        limit = max(cell.same, typical_difference(groups.get((cell.table, cell.group or cell.row), ())))
        default, preset = (undecided_above(limit, one) for one in (cell.default, cell.preset))
        found.append(replace(cell, limit=limit, default=default, preset=preset))
    return tuple(found)


def undecided_above(limit: float, found: Finding) -> Finding:
    """Return a finding that is undecided where it is equal with an error above the limit."""
    return replace(found, verdict=UNDECIDED) if found.verdict == EQUAL and found.error > limit else found
