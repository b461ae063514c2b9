"""What counts as a missing cell: which values in memory, and which texts in a file.

Values that callers declare missing besides, such as 99 for "no answer", are in ``tables/missing_codes.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from pgmpy_latent.exceptions import MissingCodeWarning
from pgmpy_latent.tables.likely_codes import likely_codes
from pgmpy_latent.tables.whole_numbers import whole_number

#: Texts that mean a missing cell in text files by default, besides an empty one.
MISSING_TEXTS = ("NA", "NaN")


def is_missing(value) -> bool:
    """Tell whether a cell is missing: None, NaN of any type, or pandas' NA or NaT.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("NaN"), is_missing(0)
    (True, True, False, False)
    """
    import pandas as pd  # only here: --help needs the texts above, and no pandas

    return value is None or value is pd.NA or value is pd.NaT or value != value  # NaN differs from itself


class MissingTexts(NamedTuple):
    """Texts that mean a missing cell in a file: by default, in all columns, and in some; and columns set aside."""

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
        named = [text for text in self.everywhere or () if text and text not in MISSING_TEXTS]
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
            warnings.warn(f"{complaint}; mend it if it is mistyped", MissingCodeWarning, stacklevel=2)


def _holds(text: str) -> Callable[[Collection[str]], bool]:
    """Return a function that looks for a text among cells; whole numbers may be written in another way."""
    number = whole_number(text)
    return lambda cells: text in cells or (number is not None and any(whole_number(cell) == number for cell in cells))
