"""Tables from files, for the command line: nothing is guessed, and what cannot be read is said by line and column."""

from __future__ import annotations

import csv
import difflib
import gzip
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from pgmpy_latent.exceptions import PgmpyLatentError
from pgmpy_latent.runtime.files import kind_of
from pgmpy_latent.tables.likely_codes import likely_codes

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
#: Texts that mean a missing cell in text files, besides an empty one, unless it is said otherwise.
MISSING = ("NA", "NaN")
#: Whole numbers, also as programs write them that keep numbers with gaps as fractions ("1.0"); "007" is text.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(?:\.0+)?")


class BadInputError(PgmpyLatentError):
    """Something on the command line or in the file cannot be used. Mend what is named."""


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
    """A table with the words that say where it is from, and how its rows were drawn."""

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
        Its ending says what it is, unless there is a separator.
    separator : str, optional
        What stands between cells.
    missing : sequence of str, optional
        Texts that mean a missing cell in all columns but those set aside. None: the usual ones in text, none in
        Parquet, which knows missing cells.
    missing_in : dict of column to texts, optional
        Further texts that mean a missing cell in some columns.
    aside : collection of column names
        Columns that are no categories, as weights, clusters and identifiers: what is missing in all columns is not
        looked for there.

    Returns
    -------
    Table
        Of text, columns of whole numbers become integers, also where they are written as 1.0; all else stays the text
        it is. Parquet keeps its types.
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
    """Texts that mean a missing cell: by default, as said for all columns, and in some; and columns set aside."""

    usual: Sequence[str]
    everywhere: Sequence[str] | None
    own: Mapping[str, Sequence[str]]
    aside: Collection[str | None]

    def of(self, name: str) -> set[str]:
        """Return the texts that mean a missing cell in a column."""
        common = self.usual if self.everywhere is None or name in self.aside else self.everywhere
        return {"", *common, *self.own.get(name, ())}

    def point_out_unmet(self, cells: Mapping[str, Collection[str]]) -> None:
        """Warn of texts that were named and stand in no cell, given the distinct cells: they may be mistyped."""
        from pgmpy_latent.exceptions import MissingCodeWarning

        named = [text for text in self.everywhere or () if text and text not in MISSING]
        searched = [texts for name, texts in cells.items() if name not in self.aside] if named else []
        unmet = [
            f"--missing {text}: no column holds {text!r}" for text in named if not any(map(_holds(text), searched))
        ]
        for name, texts in self.own.items():
            left = [cell for cell in cells[name] if cell not in self.of(name)]
            likely = likely_codes(sorted(left))
            instead = f" but {' and '.join(map(repr, likely))}" if likely else ""
            unmet += [
                f"--missing {name}={text}: column {name!r} holds no {text!r}{instead}"
                for text in texts
                if text and not _holds(text)(cells[name])
            ]
        for words in unmet:
            warnings.warn(f"{words}; mend it if it is mistyped", MissingCodeWarning, stacklevel=2)


def _holds(text: str) -> Callable[[Collection[str]], bool]:
    """Return what tells whether a text is among some cells, written in whatever way if it is a whole number."""
    number = _whole(text)
    return lambda cells: text in cells or (number is not None and any(_whole(cell) == number for cell in cells))


def _refuse_pipes(path: str) -> None:
    """Raise if something stands at a path that may never answer; what is wrong with others is said by opening them."""
    try:
        found = kind_of(path)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if found not in (None, "a folder"):
        raise BadInputError(f"{path}: is {found}; give the name of a file")


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
    _check_any(names, markers.own, "--missing")
    if markers.everywhere or markers.own:
        markers.point_out_unmet({name: set(cells) for name, cells in zip(names, columns, strict=True)})
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
    except Exception as error:  # Arrow's, and whatever Python makes of names and types that are damaged
        words = str(error).splitlines() or [type(error).__name__]
        raise BadInputError(f"{path}: cannot be read as Parquet ({words[0]}); export the table anew") from None
    frame.columns = [str(name) for name in frame.columns]
    _check_names(list(frame.columns), path, None)
    if not len(frame):
        raise BadInputError(f"{path}: has columns but no rows")
    _check_any(list(frame.columns), markers.own, "--missing")
    if not (markers.everywhere or markers.own):
        return frame
    markers.point_out_unmet({name: set(frame[name].dropna().map(str)) for name in frame.columns})
    return pd.DataFrame({name: _without(frame[name], markers.of(name) - {""}) for name in frame.columns})


def _without(column: pd.Series, markers: set[str]) -> pd.Series:
    """Return the column with cells that are written like a marker missing; the number 99.0 is written 99, too."""
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
    """Return the cells of a column with None for missing ones, as integers if all look like such."""
    import pandas as pd

    numbers = {level: _whole(level) for level in set(cells) - markers}
    if not numbers or None in numbers.values():
        return [None if cell in markers else cell for cell in cells]
    gone = {_whole(marker) for marker in markers}  # 99 stands for 99.0, too
    numbers = {level: number for level, number in numbers.items() if number not in gone}
    return pd.array([numbers.get(cell) for cell in cells], dtype="Int64")


def _whole(text: str) -> int | None:
    """Return the whole number that a text stands for, or None."""
    found = _WHOLE.fullmatch(text)
    return None if found is None else int(found[1])


def without_fraction(text: str) -> str:
    """Return a whole number as integers are written, and any other text as it is.

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
    """Return the table with the columns to use; weights, strata and clusters stand apart."""
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
    """Raise for a name that is no column, with the column that may be meant; ``option`` says who asks for it."""
    _check_any(list(frame.columns), names, option)


def _check_any(known: Sequence[str], names: Iterable[str], option: str) -> None:
    for name in names:
        if name not in known:
            raise BadInputError(f"{option}: there is no column {name!r}; {did_you_mean(name, known)}")


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return which of the names may be meant, or all of them.

    Examples
    --------
    >>> did_you_mean("VOTE", ["age", "vote"]), did_you_mean("x", ["age", "vote"])
    ("did you mean 'vote'?", 'there are age, vote')
    """
    by_letters = {one.casefold(): one for one in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), list(by_letters), 1)
    return f"did you mean {by_letters[close[0]]!r}?" if close else f"there are {shortened(', '.join(names), 300)}"


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
