"""Checks whether columns are plausible categories, and whether some values are codes for missing answers.

All learners use them: identifiers, dates and measurements are refused by name, and one warning names values that look
like codes for missing answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from pgmpy_latent.exceptions import DataError, ManyStatesWarning, MissingCodeWarning
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import LISTED
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.likely_codes import HIGH_CODES, LOW_CODES, as_numbers, likely_codes
from pgmpy_latent.tables.numbers import LEAST_CODE

#: In tables with at most this many rows, a column is an identifier only if every row has a category of its own.
FEW_ROWS = 100
#: A column is an identifier if it has at least this share of as many categories as rows.
ALMOST_ALL = 0.9
#: A column with no more values than this is a scale, a calendar or a list, however few rows there are.
FEW_VALUES = 20
#: Numbers are measurements if they occur in fewer rows each than this, on average.
FEW_REPEATS = 5
#: Other values that occur so rarely are not categories if there are more than this: more than there are countries.
MANY_VALUES = 250
#: Other values that occur so rarely are doubtful if there are more than this: more than there are American states.
MANY_TEXTS = 60
#: Other values are doubtful, however few there are, if they occur in fewer rows each than this.
FEWEST_REPEATS = 2
#: Numbers with fractions are measurements if there are more of them than this, however often they occur.
MANY_FRACTIONS = 50
#: How many columns the warning about codes for missing answers names at most; its remedy is meant to be copied.
MOST_COLUMNS = 30
#: Columns of more different whole numbers, and of fractions, hold measurements: small codes may belong to them.
MOST_NUMBERS = 100

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[ap]m)?(?:Z|[+-]\d{2}:?\d{2})?"
_DATE = re.compile(
    rf"(?:\d{{4}}[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{{1,2}})?|\d{{1,2}}[-/.]\d{{1,2}}[-/.](?:\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}\.?[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}|{_CLOCK})(?:[T ]\s*{_CLOCK})?",
    re.IGNORECASE,
)


#: What else to do about columns of measurements, where kinds of columns may be stated.
KINDS_REMEDY = "kinds='auto' takes numbers as they are, without bins"


class _Values(NamedTuple):
    """The values that occur in a column, their numbers of rows, and the number of filled rows."""

    name: Hashable
    states: list
    rows: np.ndarray  # frequency weights count
    n_filled: float  # not weighted, as tables with identifiers may have weights

    @property
    def n_rows(self) -> float:
        return float(self.rows.sum())


# --- Unsuitable and doubtful columns ----------------------------------------------------------------------


def refuse_unsuitable(
    data: CategoricalData,
    allowed=False,
    columns: Collection[Hashable] | None = None,
    *,
    takes_kinds: bool = False,
) -> None:
    """Raise if a column is hardly categorical: identifiers, dates, measurements.

    Parameters
    ----------
    data : CategoricalData
        The table.
    allowed : bool or collection of column names
        Columns to accept anyway; True stands for all.
    columns : collection of column names, optional
        Columns to check; all by default.
    takes_kinds : bool
        Whether whoever reads the message may say that columns are numbers.

    Raises
    ------
    DataError
        Naming the column and what to do about it.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> refuse_unsuitable(encode(pd.DataFrame({"id": range(200)})))
    Traceback (most recent call last):
    pgmpy_latent.exceptions.DataError: column 'id' has a category of its own in every row, as identifiers and exact \
measurements have; drop it or bin it, or say allow_many_states=['id'] if you mean it
    """
    unsuitable = unsuitable_columns(data, allowed, columns)
    if unsuitable:
        it = "it" if len(unsuitable) == 1 else "them"
        raise DataError(
            f"{in_words(unsuitable)}; drop {it} or bin {it}, or say allow_many_states={list(unsuitable)!r} if you "
            f"mean {it}" + (f"; {KINDS_REMEDY}" if takes_kinds and _has_numbers(data, unsuitable) else "")
        )


def _has_numbers(data: CategoricalData, names: Collection[Hashable]) -> bool:
    """Tell whether one of some columns has nothing but numbers; those that are written as text do not count."""
    columns = (states for name, states in zip(data.columns, data.state_names, strict=True) if name in names)
    return any(all(type(state) in (int, float) for state in states) for states in columns)


def in_words(unsuitable: Mapping[Hashable, str]) -> str:
    """Return the problems of columns as text; only the first few if there are many.

    Examples
    --------
    >>> in_words({"id": "has a category of its own in every row", "day": "holds 60 different dates"})
    "column 'id' has a category of its own in every row; column 'day' holds 60 different dates"
    """
    problems = [f"column {name!r} {problem}" for name, problem in unsuitable.items()]
    more = [f"and {len(problems) - LISTED} more columns"] if len(problems) > LISTED else []
    return "; ".join([*problems[:LISTED], *more])


def unsuitable_columns(
    data: CategoricalData, allowed=False, columns: Collection[Hashable] | None = None
) -> dict[Hashable, str]:
    """Return the columns that are hardly categorical, and why. See :func:`refuse_unsuitable`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> unsuitable_columns(encode(pd.DataFrame({"height": [150 + at / 10 for at in range(300)] * 2})))
    {'height': 'holds 300 different numbers in 600 rows, as measurements do'}
    """
    if allowed is True:
        return {}
    meant = _meant(data, allowed)
    problems = {values.name: _problem(values) for values in _occurring(data, columns) if values.name not in meant}
    return {name: problem for name, problem in problems.items() if problem is not None}


def warn_of_many_states(
    data: CategoricalData,
    allowed=False,
    columns: Collection[Hashable] | None = None,
    *,
    refused: bool = True,
    remedy: str = "say allow_many_states={}",
    takes_kinds: bool = False,
) -> None:
    """Warn once of columns that may be measurements or identifiers, but may also be categories.

    Parameters
    ----------
    data, allowed, columns
        As in :func:`refuse_unsuitable`.
    refused : bool
        Whether unsuitable columns are refused elsewhere; otherwise the warning names them too.
    remedy : str
        How to accept the columns, with a pair of braces in place of their names.
    takes_kinds : bool
        As in :func:`refuse_unsuitable`.
    """
    doubtful = doubtful_columns(data, allowed, columns)
    if not refused:
        doubtful = unsuitable_columns(data, allowed, columns) | doubtful
    if doubtful:
        meant = remedy.replace("{}", repr(list(doubtful)))
        further = f" ({KINDS_REMEDY})" if takes_kinds and _has_numbers(data, doubtful) else ""
        warn(
            f"columns that may be measurements or identifiers are taken as categories: {in_words(doubtful)}. If they "
            f"are no categories, bin them (as pd.cut does) or drop them{further}; if they are, {meant}.",
            ManyStatesWarning,
        )


def doubtful_columns(
    data: CategoricalData, allowed=False, columns: Collection[Hashable] | None = None
) -> dict[Hashable, str]:
    """Return the columns that may be measurements or identifiers, and why; without unsuitable ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> doubtful_columns(encode(pd.DataFrame({"age": [*range(18, 90)] * 10, "wave": [1, 2] * 360})))
    {'age': 'holds 72 different numbers in 720 rows'}
    """
    if allowed is True:
        return {}
    meant = _meant(data, allowed)
    doubts = {
        values.name: _doubt(values)
        for values in _occurring(data, columns)
        if values.name not in meant and _problem(values) is None
    }
    return {name: doubt for name, doubt in doubts.items() if doubt is not None}


def _meant(data: CategoricalData, allowed) -> set:
    if allowed is None or allowed is False:
        return set()
    if isinstance(allowed, (str, bytes)) or not isinstance(allowed, Collection):
        raise ValueError(f"allow_many_states is {allowed!r}; give True, False or a list of columns")
    absent = [name for name in allowed if name not in data.columns]
    if absent:
        raise DataError(f"allow_many_states names {absent[0]!r}, which is not a column; name columns of the table")
    return set(allowed)


def _occurring(data: CategoricalData, columns: Collection[Hashable] | None) -> Iterator[_Values]:
    """Yield the columns that have many values, with the number of rows of each value."""
    rows, table_rows = data.row_counts, data.table_rows
    for name, states, codes in zip(data.columns, data.state_names, data.codes.T, strict=True):
        if len(states) > FEW_VALUES and (columns is None or name in columns):
            filled = codes >= 0
            counts = np.bincount(codes[filled], rows[filled], minlength=len(states))
            seen = np.flatnonzero(counts)
            yield _Values(name, [states[at] for at in seen], counts[seen], float(table_rows[filled].sum()))


def _problem(values: _Values) -> str | None:
    """Return why a column is hardly categorical; None if it may be."""
    number = len(values.states)
    if number <= FEW_VALUES:
        return None
    if all(isinstance(state, str) and _DATE.fullmatch(state.strip()) for state in values.states):
        return f"holds {number:,} different dates or times, as {values.states[0]!r}"
    if number == values.n_filled:
        return "has a category of its own in every row, as identifiers and exact measurements have"
    if values.n_filled > FEW_ROWS and number >= ALMOST_ALL * values.n_filled:
        return f"has {number:,} categories in {values.n_filled:,.0f} rows, as identifiers and exact measurements have"
    if values.n_rows <= FEW_ROWS:
        return None
    numbers = as_numbers(values.states)
    if numbers is None:
        if number <= MANY_VALUES or number * FEW_REPEATS <= values.n_rows:
            return None
        words = f"holds {number:,} different values in {values.n_rows:,.0f} rows, fewer than {FEW_REPEATS} rows each"
        return f"{words}, as identifiers and free text do"
    fractions = any(one % 1 for one in numbers)
    if number * FEW_REPEATS > values.n_rows or (fractions and number > MANY_FRACTIONS):
        return f"holds {number:,} different numbers in {values.n_rows:,.0f} rows, as measurements do"
    return None


def _doubt(values: _Values) -> str | None:
    """Return why a column may hold measurements or identifiers; None if it is clearly categorical."""
    number = len(values.states)
    if number <= FEW_VALUES:
        return None
    if as_numbers(values.states) is not None:
        return f"holds {number:,} different numbers in {values.n_rows:,.0f} rows"
    repeats = FEW_REPEATS if number > MANY_TEXTS else FEWEST_REPEATS
    if number * repeats <= values.n_rows:
        return None
    return f"holds {number:,} different values in {values.n_rows:,.0f} rows, fewer than {repeats} rows each"


# --- Likely codes for missing answers ---------------------------------------------------------------------


class HasStates(Protocol):
    """A table whose columns and their states are known, in memory or not."""

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """Names of the columns."""

    @property
    def state_names(self) -> tuple[tuple[Hashable, ...], ...]:
        """The states of every column."""


def suspected_codes(data: HasStates, settled: Collection[Hashable] = ()) -> dict[Hashable, list[Hashable]]:
    """Return the values that look like codes for missing answers, by column. See :func:`likely_codes`.

    Parameters
    ----------
    data : CategoricalData
        The table.
    settled : collection of column names
        Columns whose codes for missing cells are known.

    Examples
    --------
    >>> from pgmpy_latent.tables.encode import encode
    >>> suspected_codes(encode([[1, "yes"], [2, "no"], [3, "?"], [4, "no"], [99, "no"]]))
    {0: [99], 1: ['?']}
    """
    suspected = {}
    for name, states in zip(data.columns, data.state_names, strict=True):
        codes = [] if name in settled else likely_codes(states)
        if codes:
            suspected[name] = codes
    return suspected


def are_measured(distinct: np.ndarray) -> bool:
    """Tell whether the distinct values of a column of numbers are measurements rather than a scale.

    Examples
    --------
    >>> are_measured(np.array([1.0, 2.0, 99.0])), are_measured(np.array([1.5, 2.0]))
    (False, True)
    """
    return len(distinct) > MOST_NUMBERS or bool((distinct % 1).any())


def codes_among_numbers(distinct: np.ndarray) -> list[int]:
    """Return which distinct values of a column of numbers look like codes for missing answers.

    Small ones, as 9, may belong to measurements.

    Examples
    --------
    >>> codes_among_numbers(np.array([1.0, 2.0, 3.0, 9.0])), codes_among_numbers(np.array([0.5, 1.0, 3.0, 9.0, 999.0]))
    ([9], [999])
    """
    if not are_measured(distinct):
        return [int(code) for code in likely_codes([int(value) for value in distinct]) if isinstance(code, int)]
    if not np.isin(distinct, [*HIGH_CODES, *LOW_CODES]).any():
        return []
    above, below = (
        [int(code) for code in likely_codes(values.tolist()) if isinstance(code, float)]
        for values in (distinct, -distinct)  # the latter for codes far below negative numbers
    )
    codes = [code for code in above if not 0 <= code < LEAST_CODE] + [-code for code in below if code >= LEAST_CODE]
    return sorted(set(codes))


def codes_in_words(suspected: Mapping[Hashable, Sequence[Hashable]]) -> str:
    """Return suspected codes of some columns as text.

    Examples
    --------
    >>> codes_in_words({"age": [98, 99], "sex": ["?"]})
    "98 and 99 in column 'age', '?' in column 'sex'"
    """
    return ", ".join(f"{' and '.join(map(repr, codes))} in column {name!r}" for name, codes in suspected.items())


def warn_of_codes(data: HasStates, settled: Collection[Hashable] = (), call: str = "") -> None:
    """Warn once, for all columns, of values that look like codes for missing answers.

    Parameters
    ----------
    data : CategoricalData
        The table.
    settled : collection of column names
        Columns whose codes for missing cells are known.
    call : str
        The call that takes ``missing``, with a pair of braces in place of the keyword; by default the keyword alone.

    Examples
    --------
    >>> from pgmpy_latent.tables.encode import encode
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     warn_of_codes(encode([[1], [2], [3], [99]]))
    >>> print(said[0].message)
    values that look like codes for missing answers are taken as categories: 99 in column 0. If they are codes, say \
missing={0: [99]}; if they are categories, missing={0: []} says so, and missing={} says so of all columns.
    """
    suspected = suspected_codes(data, settled)
    if suspected:
        shown = dict(list(suspected.items())[:MOST_COLUMNS])
        listed = codes_in_words(shown)
        more = f" and in {len(suspected) - MOST_COLUMNS} more columns" if len(suspected) > MOST_COLUMNS else ""
        example = ", ".join(f"{name!r}: {codes!r}" for name, codes in shown.items())
        keyword = f"missing={{{example}{', ...' if more else ''}}}"
        warn(
            f"values that look like codes for missing answers are taken as categories: {listed}{more}. If they are "
            f"codes, say {call.format(keyword) if call else keyword}; if they are categories, "
            f"missing={{{next(iter(suspected))!r}: []}} says so, and missing={{}} says so of all columns.",
            MissingCodeWarning,
        )
