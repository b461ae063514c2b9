"""Table files: the formats that are known, and how the command line reads them.

What is not as usual, such as semicolons in a .csv, is said in notes; errors name the line or the column. A new format
is a :class:`TableFormat` in :data:`TABLE_FORMATS`; endings, help and messages follow. Tables that are read part by part
are opened in ``tables/large_tables.py``, which looks up the formats here.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import os
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from pgmpy_latent.exceptions import PgmpyLatentError
from pgmpy_latent.model.labels import check_names
from pgmpy_latent.runtime.files import kind_of
from pgmpy_latent.tables.missing import MISSING_TEXTS, MissingTexts
from pgmpy_latent.tables.program_files import NAMED, ForeignTable, read_sheet, read_statistics
from pgmpy_latent.tables.text_layout import (
    SEPARATORS,
    WITH_DECIMAL_COMMAS,
    has_decimal_commas,
    likely_separator,
    marked_encoding,
)
from pgmpy_latent.tables.whole_numbers import whole_number

if TYPE_CHECKING:
    import pandas as pd


class BadInputError(PgmpyLatentError):
    """Something on the command line or in a file cannot be used; the message says what to correct."""


def shortened(text: str, width: int) -> str:
    """Return a text that takes no more than ``width`` characters.

    Examples
    --------
    >>> shortened("Independent-Republican", 12), shortened("Moderate", 12)
    ('Independen..', 'Moderate')
    """
    return text if len(text) <= width else text[: width - 2] + ".."


#: Function from the names of the columns of a file to the texts that mean a missing cell in it.
TextsFor: TypeAlias = Callable[[Sequence[str]], MissingTexts]


# Formats ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableFormat:
    """A format of table files.

    Attributes
    ----------
    endings : tuple of str
        How its files end, in lower case.
    read : callable
        Reads a whole file: given the path, and a function from the names of the columns to the texts that mean a
        missing cell, returns a :class:`~pgmpy_latent.tables.program_files.ForeignTable`, or a DataFrame if there is
        nothing to say about it.
    missing_texts : tuple of str
        Texts that mean a missing cell unless others are named; none in formats that know missing cells.
    may_be_packed : bool
        Whether files may also be packed with gzip and end in .gz.
    in_parts : str, optional
        What pyarrow calls the format, if large tables in it are read part by part.
    """

    endings: tuple[str, ...]
    read: Callable[[str, TextsFor], ForeignTable | pd.DataFrame]
    missing_texts: tuple[str, ...] = ()
    may_be_packed: bool = False
    in_parts: str | None = None


def text_format(separator: str, *endings: str, certain: bool = False) -> TableFormat:
    """Return the format of text files with a separator between cells; if it is not certain, files may have another."""
    read = partial(_read_text, separator=separator, certain=certain)
    return TableFormat(endings, read, MISSING_TEXTS, may_be_packed=True)


def format_of(path: str | os.PathLike) -> TableFormat | None:
    """Return the format of a file by its ending; None if the ending is unknown.

    Examples
    --------
    >>> format_of("answers.TSV.gz") is format_of("answers.tab"), format_of("answers.docx") is None
    (True, True)
    """
    name = os.fspath(path).lower()
    if not name.endswith(".gz"):
        return BY_ENDING.get(Path(name).suffix)
    packed = BY_ENDING.get(Path(name).with_suffix("").suffix)
    return packed if packed is not None and packed.may_be_packed else None


def known_endings() -> str:
    """Return the endings of all formats for messages and help.

    Examples
    --------
    >>> known_endings()
    '.csv, .txt, .tsv, .tab (also with .gz), .parquet, .pq, .xlsx, .xlsm, .sav, .zsav, .por, .dta, .sas7bdat, .xpt'
    """
    packed = [ending for ending, known in BY_ENDING.items() if known.may_be_packed]
    others = [ending for ending, known in BY_ENDING.items() if not known.may_be_packed]
    return ", ".join([f"{', '.join(packed)} (also with .gz)", *others])


# Reading ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A table with its title, the weights, strata and clusters of its rows, and what its file says about it.

    ``missing_in`` has the texts of which it was said that they mean a missing cell in a column.
    """

    title: str
    frame: pd.DataFrame
    weights: pd.Series | None = None
    strata: pd.Series | None = None
    cluster: pd.Series | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    missing_in: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_table(
    path: str,
    separator: str | None = None,
    missing: Sequence[str] | None = None,
    missing_in: Mapping[str, Sequence[str]] | Callable[[Sequence[str]], Mapping[str, Sequence[str]]] | None = None,
    aside: Collection[str | None] = (),
) -> Table:
    """Read a table from a file in one of :data:`TABLE_FORMATS`.

    Parameters
    ----------
    path : str
        Its ending decides the format, unless there is a separator.
    separator : str, optional
        The character between cells.
    missing : sequence of str, optional
        Texts that mean a missing cell in all columns but those set aside. None: the usual ones in text, none in
        Parquet, which knows missing cells.
    missing_in : dict of column to texts, optional
        Further texts that mean a missing cell in some columns; or a function from the names of all columns to them.
    aside : collection of column names
        Columns that are not categories, such as weights, clusters and identifiers; ``missing`` does not apply to them.

    Returns
    -------
    Table
        In text files, columns of whole numbers become integers, also if they are written as 1.0; other columns stay
        text, with points for decimal commas in columns of numbers between semicolons. Parquet keeps its types.
    """
    _refuse_pipes(path)
    if separator is not None and len(separator) != 1:
        raise BadInputError(f"--separator is {separator!r}; give one character (a tab is $'\\t' in most shells)")
    known = format_of(path) if separator is None else text_format(separator, certain=True)
    if known is None:
        raise BadInputError(f"{path}: the ending is none of {known_endings()}; say --separator ',' or export as CSV")
    usual = known.missing_texts

    def some(names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return missing_in(names) if callable(missing_in) else missing_in or {}

    def texts_for(names: Sequence[str]) -> MissingTexts:
        _check_any(names, some(names), "--missing")
        return MissingTexts(usual, missing, some(names), aside)

    read = known.read(path, texts_for)
    table = read if isinstance(read, ForeignTable) else ForeignTable(read)
    said = some(list(table.frame.columns))
    return Table(path, table.frame, labels=table.labels, notes=table.notes, missing_in=said)


def _refuse_pipes(path: str) -> None:
    """Raise if reading a path could block, as a pipe does; opening it reports any other problem."""
    try:
        kind = kind_of(path)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if kind not in (None, "a folder"):
        raise BadInputError(f"{path}: is {kind}; give the name of a file")


def _read_text(path: str, texts_for: TextsFor, separator: str, certain: bool = False) -> ForeignTable:
    try:
        names, columns, separator, notes = _read_decoded(path, separator, certain)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInputError(f"{path}: cannot be unpacked ({error}); compress the file anew") from None
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{path}: not text in UTF-8 ({error.reason} at byte {error.start}), nor in Windows-1252; save it as UTF-8"
        ) from None
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from None
    labels: dict[str, str] = {}
    if separator == WITH_DECIMAL_COMMAS:
        columns, with_commas = _with_points(names, columns, texts_for(names))
        labels = dict.fromkeys(with_commas, "decimal commas")
    if labels:
        more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
        which = ", ".join(map(repr, list(labels)[:NAMED]))
        notes.append(f"commas are decimal commas in column{'s' * (len(labels) > 1)} {which}{more}, read as points")
    return ForeignTable(_typed_frame(names, columns, path, texts_for), labels, notes)


def _with_points(names: list[str], columns: list[list[str]], texts: MissingTexts) -> tuple[list[list[str]], list[str]]:
    """Return the columns with points for decimal commas, and the names of those that had them."""
    read, found = [], []
    for name, cells in zip(names, columns, strict=True):
        distinct = set(cells) - texts.of(name)
        if has_decimal_commas(distinct):
            points = {cell: cell.replace(",", ".") for cell in distinct}
            cells = [points.get(cell, cell) for cell in cells]
            found.append(name)
        read.append(cells)
    return read, found


def _typed_frame(names: list[str], columns: list[list[str]], path: str, texts_for: TextsFor) -> pd.DataFrame:
    """Return a frame of cells that are text, with missing ones, and whole numbers as integers."""
    import pandas as pd

    if not columns[0]:
        raise BadInputError(f"{path}: has a line of column names but no rows")
    texts = texts_for(names)
    if texts.everywhere or texts.by_column:
        texts.warn_of_absent_texts({name: set(cells) for name, cells in zip(names, columns, strict=True)})
    return pd.DataFrame({name: _typed(cells, texts.of(name)) for name, cells in zip(names, columns, strict=True)})


def _read_decoded(path: str, separator: str, certain: bool) -> tuple[list[str], list[list[str]], str, list[str]]:
    """Return names, columns, separator and notes of a text file: in UTF-8, or else as Windows writes it."""
    encoding = _encoding(path)
    try:
        return _read_in(path, encoding, separator, certain)
    except UnicodeDecodeError as error:
        try:
            names, columns, found, notes = _read_in(path, "cp1252", separator, certain)
        except UnicodeDecodeError:
            raise error from None
        words = "the text is not UTF-8 and was read as Windows-1252; if letters look wrong, save it as UTF-8"
        return names, columns, found, [*notes, words]


def _read_in(
    path: str, encoding: str, separator: str, certain: bool
) -> tuple[list[str], list[list[str]], str, list[str]]:
    notes = []
    if not certain:
        with _open_text(path, encoding) as file:
            likely = likely_separator(file, separator)
        if likely != separator:
            notes.append(f"cells are separated by {SEPARATORS[likely]}; pass --separator if they are not")
        separator = likely
    with _open_text(path, encoding) as file:
        names, columns = _read_columns(file, path, separator)
    return names, columns, separator, notes


def _read_excel(path: str, texts_for: TextsFor) -> ForeignTable:
    names, columns, notes = _read_foreign(path, "Excel", read_sheet)
    if not names:
        raise BadInputError(f"{path}: is empty; the first row should name the columns")
    _check_column_names(names, path, None)
    return ForeignTable(_typed_frame(names, columns or [[] for _ in names], path, texts_for), notes=notes)


def _read_statistics(path: str, texts_for: TextsFor) -> ForeignTable:
    table = _read_foreign(path, "SPSS, Stata or SAS", read_statistics)
    table.frame = _with_gaps(table.frame, path, texts_for)
    return table


def _read_foreign(path: str, program: str, read: Callable):
    """Return what a reader gives; its errors, which are of many kinds, become ours."""
    try:
        if Path(path).is_file() and not Path(path).stat().st_size:
            raise BadInputError(f"{path}: is empty; export the table anew")
        with open(path, "rb"):
            return read(path)
    except BadInputError:
        raise
    except ImportError as error:
        raise BadInputError(f"{path}: {error}") from None
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # readers raise many kinds, and Python for damaged names and types
        lines = str(error).splitlines() or [type(error).__name__]
        raise BadInputError(f"{path}: cannot be read as {program} ({lines[0]}); export the table anew") from None


def _read_parquet(path: str, texts_for: TextsFor) -> pd.DataFrame:
    return _with_gaps(_read_foreign(path, "Parquet", _parquet_frame), path, texts_for)


def _parquet_frame(path: str) -> pd.DataFrame:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Parquet is read by pyarrow, which is not installed: pip install pyarrow; or export the table as CSV"
        ) from None
    with open(path, "rb") as file:
        return parquet.read_table(file).to_pandas(ignore_metadata=True)


def _with_gaps(frame: pd.DataFrame, path: str, texts_for: TextsFor) -> pd.DataFrame:
    """Check a frame of a format that knows missing cells, and let the texts that were named mean missing cells, too."""
    import pandas as pd

    frame.columns = [str(name) for name in frame.columns]
    _check_column_names(list(frame.columns), path, None)
    if not len(frame):
        raise BadInputError(f"{path}: has columns but no rows")
    texts = texts_for(list(frame.columns))
    if not (texts.everywhere or texts.by_column):
        return frame
    texts.warn_of_absent_texts({name: set(frame[name].dropna().map(str)) for name in frame.columns})
    return pd.DataFrame({name: _without(frame[name], texts.of(name) - {""}) for name in frame.columns})


def _without(column: pd.Series, markers: set[str]) -> pd.Series:
    """Return the column with the cells missing whose text is a marker; the number 99.0 matches 99."""
    wholes = {whole_number(marker) for marker in markers} - {None}

    def is_marked(value) -> bool:
        return str(value) in markers or (not isinstance(value, str) and whole_number(str(value)) in wholes)

    if hasattr(column, "cat"):
        return column.cat.remove_categories([level for level in column.cat.categories if is_marked(level)])
    return column.mask(column.map(is_marked, na_action="ignore").eq(True))


def _encoding(path: str) -> str:
    """Return the encoding that the beginning of a file names; raise if it is empty or no text."""
    with _opener(path)(path, "rb") as file:
        head = file.read(8192)
    if not head.strip():
        raise BadInputError(f"{path}: is empty; the first line should name the columns")
    encoding = marked_encoding(head)
    if b"\0" in head and encoding != "utf-16":
        raise BadInputError(f"{path}: is a binary file, not text; export the table as CSV in UTF-8")
    return encoding


def _opener(path: str) -> Callable:
    return gzip.open if path.lower().endswith(".gz") else open


def _open_text(path: str, encoding: str) -> TextIO:
    return _opener(path)(path, "rt", encoding=encoding, newline="")


def _read_columns(file: TextIO, path: str, separator: str) -> tuple[list[str], list[list[str]]]:
    reader = csv.reader(file, delimiter=separator, strict=True)
    try:
        names = next(row for row in reader if row)
        _check_column_names(names, path, separator)
        columns: list[list[str]] = [[] for _ in names]
        for row in reader:
            if len(row) != len(names):
                if not row:
                    continue  # an empty line
                raise BadInputError(
                    f"{path}: line {reader.line_num} has {len(row)} cells, the line of column names has {len(names)}; "
                    "quote cells that hold the separator, and mend the line"
                )
            for column, text in zip(columns, row, strict=True):
                column.append(sys.intern(text))
    except csv.Error as error:
        raise BadInputError(f"{path}: line {reader.line_num} cannot be read ({error}); mind the quotes") from None
    return names, columns


def _check_column_names(names: list[str], path: str, separator: str | None) -> None:
    check_names(names, "column", BadInputError, path, allow_empty=False)
    if separator is None:
        return
    for other, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other in names[0] and other != separator:
            raise BadInputError(f"{path}: one column, called {names[0]!r}; separated by {word}? Say --separator")


def _typed(cells: list[str], markers: set[str]):
    """Return the cells of a column with None for missing ones; as integers if all cells are whole numbers."""
    import pandas as pd

    numbers = {level: whole_number(level) for level in set(cells) - markers}
    gone = {whole_number(marker) for marker in markers} - {None}  # 99 also matches 99.0
    if not numbers or None in numbers.values():
        if gone and all(map(_is_number, numbers)):
            markers = markers | {level for level, number in numbers.items() if number in gone}
        return [None if cell in markers else cell for cell in cells]
    numbers = {level: number for level, number in numbers.items() if number not in gone}
    return pd.array([numbers.get(cell) for cell in cells], dtype="Int64")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


TABLE_FORMATS = (
    text_format(",", ".csv", ".txt"),
    text_format("\t", ".tsv", ".tab"),
    TableFormat((".parquet", ".pq"), _read_parquet, in_parts="parquet"),
    TableFormat((".xlsx", ".xlsm"), _read_excel, MISSING_TEXTS),
    TableFormat((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"), _read_statistics),
)
BY_ENDING = {ending: known for known in TABLE_FORMATS for ending in known.endings}


# Names of columns ---------------------------------------------------------------------------------


def check_known(frame: pd.DataFrame, names: Sequence[str], option: str) -> None:
    """Raise for a name that is not a column, suggesting a similar one; ``option`` is the option that names it."""
    _check_any(list(frame.columns), names, option)


def _check_any(known: Sequence[str], names: Iterable[str], option: str) -> None:
    for name in names:
        if name not in known:
            raise BadInputError(f"{option}: there is no column {name!r}; {did_you_mean(name, known)}")


def split_at_column(text: str, names: Sequence[str], option: str) -> tuple[str, str]:
    """Return the column and the value in ``COLUMN=VALUE``, both of which may hold further equals signs.

    Examples
    --------
    >>> split_at_column("a=b=no", ["a=b", "c"], "--missing"), split_at_column("c=b=no", ["a=b", "c"], "--missing")
    (('a=b', 'no'), ('c', 'b=no'))
    """
    splits = [(text[:at], text[at + 1 :]) for at, letter in enumerate(text) if letter == "="]
    found = [(name, value) for name, value in splits if name in names]
    if not found:
        _check_any(names, [name for name, _ in splits[:1]] or [text], option)
    if len(found) > 1:
        readings = " or ".join(f"{value!r} in column {name!r}" for name, value in found)
        raise BadInputError(f"{option}: {text!r} can mean {readings}; rename one of these columns")
    return found[0]


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return a suggestion: the most similar name, or all of them if none is similar.

    Examples
    --------
    >>> did_you_mean("VOTE", ["age", "vote"]), did_you_mean("x", ["age", "vote"])
    ("did you mean 'vote'?", 'there are age, vote')
    """
    lower_case = {known.casefold(): known for known in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), list(lower_case), 1)
    return f"did you mean {lower_case[close[0]]!r}?" if close else f"there are {shortened(', '.join(names), 300)}"
