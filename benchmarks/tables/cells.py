"""What a cell of a paper's table says, what we found, and which of the two is better.

A table is a module of this package with

- ``TITLE``: the paper and the table, as "Harmeling and Williams, Table 2";
- ``measure(run, quick)``: measures what is not there yet; ``quick`` is a size that takes seconds, under case names of
  its own, which never gets onto the page;
- ``cells(run)``: the cells, from what was measured; a cell that was not measured yet is ``missing(...)``;
- ``NOTES``: sentences for the page: the protocol, what differs from the paper's, and why we are worse where we are.

``run`` is a :class:`benchmarks.runner.Runner` whose file is ``benchmarks/results/tables_<module>.csv``; figures that an
older script has measured under the same protocol may be taken from its file.
"""

from __future__ import annotations

from dataclasses import dataclass

BETTER, EQUAL, WORSE, NOT_COMPARABLE, MISSING = "better", "equal", "worse", "not comparable", "not measured"
VERDICTS = (BETTER, EQUAL, WORSE, NOT_COMPARABLE, MISSING)


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    table : str
        The table, as in ``TITLE``.
    row, column : str
        Where it stands.
    theirs, ours : float or None
        The paper's figure and ours, on the same scale.
    error : float
        By how much the two may differ and still be equal: of the paper's mean, of ours, or both; at least what rounding
        in the paper explains.
    larger_is_better : bool
    seconds, their_seconds : float or None
        Of one run.
    verdict : str
        One of ``VERDICTS``.
    reason : str
        Why it cannot be compared, or why ours is worse.
    """

    table: str
    row: str
    column: str
    theirs: float | None
    ours: float | None
    error: float = 0.0
    larger_is_better: bool = True
    seconds: float | None = None
    their_seconds: float | None = None
    verdict: str = MISSING
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus theirs."""
        return None if self.theirs is None or self.ours is None else self.ours - self.theirs

    @property
    def speed_up(self) -> float | None:
        """How many times as long theirs took."""
        return self.their_seconds / self.seconds if self.seconds and self.their_seconds else None


def compared(table: str, row: str, column: str, theirs: float, ours: float, error: float, **details) -> Cell:
    """Return a cell with its verdict.

    Examples
    --------
    >>> compared("T", "r", "c", -10.0, -10.3, 0.5).verdict, compared("T", "r", "c", 5.0, 4.0, 0.5).verdict
    ('equal', 'worse')
    >>> compared("T", "r", "c", 5.0, 4.0, 0.5, larger_is_better=False).verdict
    'better'
    """
    gain = (ours - theirs) * (1 if details.get("larger_is_better", True) else -1)
    verdict = EQUAL if abs(gain) <= error else BETTER if gain > 0 else WORSE
    return Cell(table, row, column, theirs, ours, error, verdict=verdict, **details)


def not_comparable(table: str, row: str, column: str, theirs: float | None, reason: str, ours=None) -> Cell:
    """Return a cell that cannot be compared, and why."""
    return Cell(table, row, column, theirs, ours, verdict=NOT_COMPARABLE, reason=reason)


def missing(table: str, row: str, column: str, theirs: float | None) -> Cell:
    """Return a cell that was not measured yet."""
    return Cell(table, row, column, theirs, None)
