"""Tables of other programs: SPSS, Stata and SAS, which pyreadstat reads, and Excel, which openpyxl reads.

Labels of values become the categories, in the order of their codes, and codes that the file declares missing become
missing cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Most columns that a note names.
NAMED = 5


@dataclass
class ForeignTable:
    """A table with what its file says about it.

    Attributes
    ----------
    frame : DataFrame
    labels : dict of column to str
        What columns are about, in words.
    notes : list of str
        What was done to the cells.
    """

    frame: pd.DataFrame
    labels: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


# SPSS, Stata and SAS ------------------------------------------------------------------------------


def read_statistics(path: str) -> ForeignTable:
    """Read a file of SPSS, Stata or SAS; raises ImportError with the remedy if pyreadstat is missing."""
    try:
        import pyreadstat
    except ImportError:
        raise ImportError(
            "SPSS, Stata and SAS files are read by pyreadstat, which is not installed: pip install pyreadstat; or "
            "export the table as CSV"
        ) from None
    readers: dict[str, Any] = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".por": pyreadstat.read_por,
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }
    read = readers[Path(path).suffix.lower()]
    options = {} if read in (pyreadstat.read_por, pyreadstat.read_xport) else {"user_missing": True}
    frame, about = read(path, **options)
    frame.columns = [str(name) for name in frame.columns]
    declared = _declared_missing(about)
    gone, columns = {}, {}
    for name in frame.columns:
        marked = frame[name].map(declared.get(name, lambda cell: False), na_action="ignore").eq(True)
        if marked.any():
            gone[name] = int(marked.sum())
        columns[name] = _labelled(
            frame[name].mask(marked | frame[name].eq("")), about.variable_value_labels.get(name, {})
        )
    labels = {name: text for name, text in about.column_names_to_labels.items() if text}
    return ForeignTable(_frame(columns), labels, _missing_notes(gone))


def _frame(columns: Mapping[str, pd.Series]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(dict(columns))


def _declared_missing(about) -> dict[str, Callable]:
    """Return, for columns with codes that the file declares missing, a function that recognises them."""
    declared: dict[str, Callable] = {}
    for name, ranges in (getattr(about, "missing_ranges", None) or {}).items():
        declared[name] = lambda cell, ranges=ranges: any(
            type(cell) is type(one["lo"]) and one["lo"] <= cell <= one["hi"] for one in ranges
        )
    for name, letters in (getattr(about, "missing_user_values", None) or {}).items():
        declared[name] = lambda cell, letters=frozenset(letters): cell in letters
    return declared


def _labelled(cells: pd.Series, labels: Mapping) -> pd.Series:
    """Return cells with labels for codes, if every code has its own; else codes, as integers if they are whole."""
    import pandas as pd

    codes = sorted(cells.dropna().unique().tolist(), key=lambda code: (isinstance(code, str), code))
    words = [labels.get(code) for code in codes]
    if codes and None not in words and len(set(words)) == len(words):
        return cells.map(dict(zip(codes, words, strict=True))).astype(pd.CategoricalDtype(words, ordered=True))
    if codes and all(isinstance(code, (int, float)) and float(code).is_integer() for code in codes):
        return cells.astype("float64").astype("Int64")
    return cells.astype(object).where(cells.notna(), None)


def _missing_notes(gone: Mapping[str, int]) -> list[str]:
    if not gone:
        return []
    some = ", ".join(f"{count:,} in {name!r}" for name, count in list(gone.items())[:NAMED])
    more = f" and in {len(gone) - NAMED} other columns" if len(gone) > NAMED else ""
    return [f"cells with codes that the file declares missing count as missing: {some}{more}"]


# Excel --------------------------------------------------------------------------------------------


def read_sheet(path: str) -> tuple[list[str], list[list[str]], list[str]]:
    """Read the first sheet of an Excel file: names of columns, cells as text, and notes.

    Raises ImportError with the remedy if openpyxl is missing.
    """
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            "Excel files are read by openpyxl, which is not installed: pip install openpyxl; or export the table as CSV"
        ) from None
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
        rows = [[_text(cell) for cell in row] for row in sheets[0].iter_rows(values_only=True)]
        rows = _without_margins(row for row in rows if any(row))
        others = len(book.worksheets) - 1
        notes = [f"the sheet {sheets[0].title!r} is read, and not the {others} other ones"] if others else []
    finally:
        book.close()
    if not rows:
        return [], [], notes
    return rows[0], [list(cells) for cells in zip(*rows[1:], strict=True)], notes


def _text(cell) -> str:
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _without_margins(rows: Iterable[list[str]]) -> list[list[str]]:
    """Return rows of the same length, without columns that are empty in all of them."""
    table = list(rows)
    used = [at for at in range(max(map(len, table), default=0)) if any(at < len(row) and row[at] for row in table)]
    return [[row[at] if at < len(row) else "" for at in used] for row in table]
