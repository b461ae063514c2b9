"""Tables from files, for the command line: nothing is guessed, and errors name the line or the column."""

from __future__ import annotations

import csv
import difflib
import gzip
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from pgmpy_latent.exceptions import PgmpyLatentError
from pgmpy_latent.runtime.files import kind_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.likely_codes import likely_codes

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
#: Texts that mean a missing cell in text files by default, besides an empty one.
MISSING = ("NA", "NaN")
#: Whole numbers, also written as "1.0", as some programs do in columns with missing cells; "007" is text.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(?:\.0+)?")


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


# Reading ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A table with its title, and with the weights, strata and clusters of its rows."""

    title: str
    frame: pd.DataFrame
    weights: pd.Series | None = None
    strata: pd.Series | None = None
    cluster: pd.Series | None = None


def read_table(
    path: str,
    separator: str | None = None,
    missing: Sequence[str] | None = None,
    missing_in: Mapping[str, Sequence[str]] | None = None,
    aside: Collection[str | None] = (),
) -> Table:
    """Read a table from a file of separated cells, or in Parquet.

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
        Further texts that mean a missing cell in some columns.
    aside : collection of column names
        Columns that are not categories, such as weights, clusters and identifiers; ``missing`` does not apply to them.

    Returns
    -------
    Table
        In text files, columns of whole numbers become integers, also if they are written as 1.0; other columns stay
        text. Parquet keeps its types.
    """
    _refuse_pipes(path)
    if separator is None and Path(path).suffix.lower() in PARQUET:
        return Table(path, _read_parquet(path, _Markers((), missing, missing_in or {}, aside)))
    if separator is None:
        separator = _separator_of(path)
    if len(separator) != 1:
        raise BadInputError(f"--separator is {separator!r}; give one character (a tab is $'\\t' in most shells)")
    return Table(path, _read_text(path, separator, _Markers(MISSING, missing, missing_in or {}, aside)))


class _Markers(NamedTuple):
    """Texts that mean a missing cell: by default, in all columns, and in some; and columns set aside."""

    usual: Sequence[str]
    everywhere: Sequence[str] | None
    by_column: Mapping[str, Sequence[str]]
    aside: Collection[str | None]

    def of(self, name: str) -> set[str]:
        """Return the texts that mean a missing cell in a column."""
        common = self.usual if self.everywhere is None or name in self.aside else self.everywhere
        return {"", *common, *self.by_column.get(name, ())}

    def warn_of_absent_texts(self, cells: Mapping[str, Collection[str]]) -> None:
        """Warn of texts that occur in no cell, as they may be mistyped; ``cells`` has the distinct ones by column."""
        from pgmpy_latent.exceptions import MissingCodeWarning

        named = [text for text in self.everywhere or () if text and text not in MISSING]
        searched = [texts for name, texts in cells.items() if name not in self.aside] if named else []
        absent = [
            f"--missing {text}: no column holds {text!r}" for text in named if not any(map(_holds(text), searched))
        ]
        for name, texts in self.by_column.items():
            left = [cell for cell in cells[name] if cell not in self.of(name)]
            likely = likely_codes(sorted(left))
            instead = f" but {' and '.join(map(repr, likely))}" if likely else ""
            absent += [
                f"--missing {name}={text}: column {name!r} holds no {text!r}{instead}"
                for text in texts
                if text and not _holds(text)(cells[name])
            ]
        for complaint in absent:
            warn(f"{complaint}; mend it if it is mistyped", MissingCodeWarning)


def _holds(text: str) -> Callable[[Collection[str]], bool]:
    """Return a function that looks for a text among cells; whole numbers may be written in another way."""
    number = _whole(text)
    return lambda cells: text in cells or (number is not None and any(_whole(cell) == number for cell in cells))


def _refuse_pipes(path: str) -> None:
    """Raise if reading a path could block, as a pipe does; opening it reports any other problem."""
    try:
        kind = kind_of(path)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if kind not in (None, "a folder"):
        raise BadInputError(f"{path}: is {kind}; give the name of a file")


def _read_text(path: str, separator: str, markers: _Markers) -> pd.DataFrame:
    import pandas as pd

    try:
        with _open_text(path) as file:
            names, columns = _read_columns(file, path, separator)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInputError(f"{path}: cannot be unpacked ({error}); compress the file anew") from None
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{path}: not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from None
    if not columns[0]:
        raise BadInputError(f"{path}: has a line of column names but no rows")
    _check_any(names, markers.by_column, "--missing")
    if markers.everywhere or markers.by_column:
        markers.warn_of_absent_texts({name: set(cells) for name, cells in zip(names, columns, strict=True)})
    return pd.DataFrame({name: _typed(cells, markers.of(name)) for name, cells in zip(names, columns, strict=True)})


def _read_parquet(path: str, markers: _Markers) -> pd.DataFrame:
    import pandas as pd

    try:
        from pyarrow import parquet
    except ImportError:
        raise BadInputError(
            f"{path}: Parquet is read by pyarrow, which is not installed: pip install pyarrow; or export the table as "
            "CSV"
        ) from None
    try:
        if Path(path).is_file() and not Path(path).stat().st_size:
            raise BadInputError(f"{path}: is empty; export the table anew")
        with open(path, "rb") as file:
            frame = parquet.read_table(file).to_pandas(ignore_metadata=True)
    except BadInputError:
        raise
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # Arrow raises many kinds, and Python for damaged names and types
        lines = str(error).splitlines() or [type(error).__name__]
        raise BadInputError(f"{path}: cannot be read as Parquet ({lines[0]}); export the table anew") from None
    frame.columns = [str(name) for name in frame.columns]
    _check_names(list(frame.columns), path, None)
    if not len(frame):
        raise BadInputError(f"{path}: has columns but no rows")
    _check_any(list(frame.columns), markers.by_column, "--missing")
    if not (markers.everywhere or markers.by_column):
        return frame
    markers.warn_of_absent_texts({name: set(frame[name].dropna().map(str)) for name in frame.columns})
    return pd.DataFrame({name: _without(frame[name], markers.of(name) - {""}) for name in frame.columns})


def _without(column: pd.Series, markers: set[str]) -> pd.Series:
    """Return the column with the cells missing whose text is a marker; the number 99.0 matches 99."""
    wholes = {_whole(marker) for marker in markers} - {None}

    def is_marked(value) -> bool:
        return str(value) in markers or (not isinstance(value, str) and _whole(str(value)) in wholes)

    if hasattr(column, "cat"):
        return column.cat.remove_categories([level for level in column.cat.categories if is_marked(level)])
    return column.mask(column.map(is_marked, na_action="ignore").eq(True))


def _separator_of(path: str) -> str:
    endings = [ending.lower() for ending in Path(path).suffixes]
    ending = endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else "".join(endings[-1:])
    if ending not in SEPARATORS:
        known = ", ".join(SEPARATORS)
        raise BadInputError(
            f"{path}: the ending is none of {known} (also with .gz), {', '.join(PARQUET)}; say --separator ',' or "
            "export as CSV"
        )
    return SEPARATORS[ending]


def _open_text(path: str) -> TextIO:
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        head = file.read(8192)
    if not head.strip():
        raise BadInputError(f"{path}: is empty; the first line should name the columns")
    if b"\0" in head:
        raise BadInputError(f"{path}: is a binary file, not text; export the table as CSV in UTF-8")
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _read_columns(file: TextIO, path: str, separator: str) -> tuple[list[str], list[list[str]]]:
    reader = csv.reader(file, delimiter=separator, strict=True)
    try:
        names = next(row for row in reader if row)
        _check_names(names, path, separator)
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


def _check_names(names: list[str], path: str, separator: str | None) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if "" in names:
        raise BadInputError(f"{path}: column {names.index('') + 1} has no name; name every column in the first line")
    if twice:
        raise BadInputError(f"{path}: two columns are called {twice[0]!r}; give every column a name of its own")
    if separator is None:
        return
    for other, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other in names[0] and other != separator:
            raise BadInputError(f"{path}: one column, called {names[0]!r}; separated by {word}? Say --separator")


def _typed(cells: list[str], markers: set[str]):
    """Return the cells of a column with None for missing ones; as integers if all cells are whole numbers."""
    import pandas as pd

    numbers = {level: _whole(level) for level in set(cells) - markers}
    if not numbers or None in numbers.values():
        return [None if cell in markers else cell for cell in cells]
    gone = {_whole(marker) for marker in markers}  # 99 also matches 99.0
    numbers = {level: number for level, number in numbers.items() if number not in gone}
    return pd.array([numbers.get(cell) for cell in cells], dtype="Int64")


def _whole(text: str) -> int | None:
    """Return the whole number that a text stands for, or None."""
    match = _WHOLE.fullmatch(text)
    return None if match is None else int(match[1])


def without_fraction(text: str) -> str:
    """Return the text of a whole number without ".0", and any other text unchanged.

    Examples
    --------
    >>> without_fraction("5.0"), without_fraction("5"), without_fraction("5.5"), without_fraction("v5.0")
    ('5', '5', '5.5', 'v5.0')
    """
    number = _whole(text)
    return text if number is None else str(number)


# Choosing columns ---------------------------------------------------------------------------------


def choose_columns(
    table: Table,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    weights: str | None,
    strata: str | None = None,
    cluster: str | None = None,
) -> Table:
    """Return the table with the columns to use; weights, strata and clusters are separate fields."""
    frame = table.frame
    check_known(frame, columns or drop, "--columns" if columns else "--drop")
    for option, name in (("--weights", weights), ("--strata", strata), ("--cluster", cluster)):
        if name is not None:
            check_known(frame, [name], option)
            if columns and name in columns:
                raise BadInputError(f"column {name!r} is among --columns and also {option}; take it out of one of them")
    left_out = {*drop, weights, strata, cluster}
    used = list(columns or (name for name in frame.columns if name not in left_out))
    if not used:
        raise BadInputError("no column is left; drop fewer")
    if len(set(used)) < len(used):
        raise BadInputError("--columns names a column twice; name each once")
    return Table(
        table.title,
        frame[used],
        None if weights is None else weights_of(frame[weights]),
        None if strata is None else labels_of(frame[strata], "--strata"),
        None if cluster is None else labels_of(frame[cluster], "--cluster"),
    )


def check_known(frame: pd.DataFrame, names: Sequence[str], option: str) -> None:
    """Raise for a name that is not a column, suggesting a similar one; ``option`` is the option that names it."""
    _check_any(list(frame.columns), names, option)


def _check_any(known: Sequence[str], names: Iterable[str], option: str) -> None:
    for name in names:
        if name not in known:
            raise BadInputError(f"{option}: there is no column {name!r}; {did_you_mean(name, known)}")


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


def labels_of(column: pd.Series, option: str) -> pd.Series:
    """Return the labels of strata or clusters; a missing one is an error."""
    missing = column.isna().to_numpy()
    if missing.any():
        raise BadInputError(
            f"{option}: in row {int(missing.argmax()) + 1} of the table, {column.name!r} is missing; mend it or leave "
            "the row out"
        )
    return column


def weights_of(column: pd.Series) -> pd.Series:
    """Return a column of text as weights; raise if it holds anything else."""
    import numpy as np
    import pandas as pd

    weights = pd.to_numeric(column.astype(object), errors="coerce").astype("float64")
    good = np.isfinite(weights.to_numpy()) & (weights.to_numpy() >= 0)
    if not good.all():
        row = int((~good).argmax())
        cell = column.iloc[row]
        what = "is missing" if pd.isna(cell) else f"is {str(cell)!r}, not a finite number of at least 0"
        raise BadInputError(
            f"--weights: in row {row + 1} of the table, {column.name!r} {what}; mend it or leave the row out"
        )
    if not weights.any():
        raise BadInputError(f"--weights: all weights in {column.name!r} are zero; choose another column")
    return weights
