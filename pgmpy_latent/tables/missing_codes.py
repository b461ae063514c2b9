"""Codes for missing cells, such as 99 for "no answer": how callers state them, and how columns lose them.

What is missing without being stated is in ``tables/missing.py``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pgmpy_latent.exceptions import DataError, MissingCodeWarning, StateNameError
from pgmpy_latent.model.labels import MOST_DIGITS, has_too_many_digits, identity, refuse_long_names
from pgmpy_latent.model.tree import pairs_of_codes
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import LISTED, Column, listing, plain, settled_levels
from pgmpy_latent.tables.likely_codes import likely_codes

#: Column -> the values that count as missing there.
CodesByColumn = dict[Hashable, tuple[Hashable, ...]]
#: Pairs of a column and the identity of a code for missing cells that occurs in it.
SeenCodes = set[tuple[Hashable, tuple]]


class CombinedCodes(NamedTuple):
    """The codes for missing cells that a caller states, and those that a model knows, which need not occur."""

    stated: object
    known: CodesByColumn


def codes_by_column(missing, columns: Sequence[Hashable]) -> CodesByColumn:
    """Return which values count as missing in which column.

    Parameters
    ----------
    missing : None, dict of column to value or values, or value or values of all columns
        As the caller states it.
    columns : sequence of hashable
        The columns of the table.

    Examples
    --------
    >>> codes_by_column({"age": 99}, ["age", "sex"]), codes_by_column(["?", -1], ["age"])
    ({'age': (99,)}, {'age': ('?', -1)})
    """
    if missing is None:
        return {}
    if isinstance(missing, CombinedCodes):
        of_model = {name: values for name, values in missing.known.items() if name in columns}
        return joined(of_model, codes_by_column(missing.stated, columns))
    if not isinstance(missing, Mapping):
        values = _values("all columns", missing)
        return dict.fromkeys(columns, values) if values else {}
    refuse_long_names(map(plain, missing), "column", DataError, "missing")
    present = set(columns)
    absent = [name for name in map(plain, missing) if name not in present]
    if absent:
        suggestion = _suggested(absent[0], columns)
        raise DataError(f"missing names {absent[0]!r}, which is not a column of the table; {suggestion}")
    return dict(pairs_of_codes({plain(name): _values(repr(name), values) for name, values in missing.items()}))


def _suggested(name: Hashable, columns: Sequence[Hashable]) -> str:
    """Return the part of a message that names the most similar column, or some of all if none is similar.

    Examples
    --------
    >>> _suggested("Q6", ["q5", "q6"]), _suggested("6", [5, 6]), _suggested("x", list("abcdefg"))
    ("did you mean 'q6'?", 'did you mean 6?', "it has 'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    by_text = {str(column).casefold(): column for column in reversed(columns)}
    close = difflib.get_close_matches(str(name).casefold(), list(by_text), 1)
    return f"did you mean {by_text[close[0]]!r}?" if close else f"it has {listing(columns)}"


def _values(where: str, values) -> tuple[Hashable, ...]:
    """Return one value or several as plain ones, each once; cells that are missing anyway are left out."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        values = [values]
    distinct: dict[tuple, Hashable] = {}
    for value in map(plain, values):
        if has_too_many_digits(value):
            raise DataError(
                f"missing of {where} holds a number of more than {MOST_DIGITS:,} digits, which no column may hold; "
                "leave it out"
            )
        if not isinstance(value, (str, bytes, bool, int, float, type(None))):
            raise DataError(f"missing of {where} holds {kind_in_words(value)}; give text, numbers or booleans")
        if value is not None and value == value:
            distinct.setdefault(identity(value), value)
    return tuple(distinct.values())


def settled_columns(missing, before: Iterable[tuple], columns: Sequence[Hashable]) -> Sequence[Hashable]:
    """Return the columns whose codes for missing cells the caller has stated, now or when the table was read.

    An empty dict or list states that no column has codes. Codes for all columns settle none: a column may have others.

    Examples
    --------
    >>> settled_columns({"age": 99}, (), ["age", "sex"]), settled_columns({}, (), ["age", "sex"])
    (['age'], ['age', 'sex'])
    >>> settled_columns("?", [("age", ("?",)), ("sex", ("?", 9))], ["age", "sex"])
    ['sex']
    >>> settled_columns(CombinedCodes(None, {"age": (99,)}), (), ["age", "sex"])
    ['age']
    """
    if isinstance(missing, CombinedCodes):
        return settled_columns(missing.stated, [*before, *missing.known.items()], columns)
    if missing is None:
        return [name for name, _ in before]
    if isinstance(missing, Mapping):
        return [*(name for name, _ in before), *map(plain, missing)] if missing else columns
    everywhere = set(map(identity, _values("all columns", missing)))
    if not everywhere:
        return columns
    return [name for name, values in before if not everywhere.issuperset(map(identity, values))]


def joined(first: CodesByColumn, second: CodesByColumn) -> CodesByColumn:
    """Return the codes of both.

    Examples
    --------
    >>> joined({"age": (99,)}, {"age": (99, -1), "sex": ("?",)})
    {'age': (99, -1), 'sex': ('?',)}
    """
    names = dict.fromkeys([*first, *second])
    return {name: _values(repr(name), [*first.get(name, ()), *second.get(name, ())]) for name in names}


def warn_of_absent_codes(
    missing, seen_codes: SeenCodes, states: Mapping[Hashable, Sequence], before: Iterable[tuple]
) -> None:
    """Warn of codes that the caller states and that do not occur: they may be mistyped.

    The warning names other values of the column that look like codes.

    Parameters
    ----------
    missing : None, dict, value or values, or CombinedCodes
        The codes; those that only a model knows need not occur.
    seen_codes : set
        The codes that occur.
    states : dict of column to states
        The states of the columns that were read, without the codes.
    before : pairs of column and values
        Codes that were removed when the table was encoded before.
    """
    stated = missing.stated if isinstance(missing, CombinedCodes) else missing
    seen_codes = seen_codes | {(name, identity(value)) for name, values in before for value in values}
    if isinstance(stated, Mapping):
        by_name = {plain(name): _values(repr(name), values) for name, values in stated.items()}
        absent = [
            f"{value!r} in column {name!r}{_likely_instead(states[name])}"
            for name, values in by_name.items()
            for value in values
            if name in states and (name, identity(value)) not in seen_codes
        ]
    else:
        anywhere = {value for _, value in seen_codes}
        values = () if stated is None else _values("all columns", stated)
        absent = [f"{value!r} in any column" for value in values if identity(value) not in anywhere]
    if absent:
        more = f" and {len(absent) - LISTED} more" if len(absent) > LISTED else ""
        warn(
            f"missing names values that do not occur: {', '.join(absent[:LISTED])}{more}. Mend them if they are "
            "mistyped; otherwise nothing is lost.",
            MissingCodeWarning,
        )


def _likely_instead(states: Sequence[Hashable]) -> str:
    """Return the part of a message that names states which look like codes for missing answers, if any do."""
    likely = likely_codes(states)
    return f" (it holds {' and '.join(map(repr, likely))})" if likely else ""


def without_codes(
    name: Hashable,
    column: Column,
    values: Collection[Hashable],
    known_states: Sequence[Hashable] | None = None,
    seen_codes: SeenCodes | None = None,
) -> Column:
    """Return a column in which cells with these values are missing; ``known_states`` are its states, if known.

    Values that occur, or are categories of a Categorical, are added to ``seen_codes``.

    Examples
    --------
    >>> column = without_codes("age", Column(np.array([0, 1, 0]), [1, 99]), [99])
    >>> column.codes.tolist(), column.levels
    ([0, -1, 0], [1])
    """
    identities = set(map(identity, values))
    contradictory = [state for state in known_states or () if identity(state) in identities]
    if contradictory:
        raise StateNameError(
            f"{contradictory[0]!r} is a state of column {name!r} and counts as missing; decide for one"
        )
    if known_states is None:
        _refuse_other_type(name, column.levels, values)
    gone = np.array([identity(level) in identities for level in column.levels], dtype=bool)
    if seen_codes is not None:
        seen_codes.update((name, identity(level)) for level, out in zip(column.levels, gone, strict=True) if out)
    if not gone.any():
        return column
    lookup = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)  # code -1 finds the -1 at the end
    left = [identity(level)[1] for level, out in zip(column.levels, gone, strict=True) if not out]
    return Column(lookup[column.codes], settled_levels(name, left), column.settled and bool(left))


def _refuse_other_type(name: Hashable, levels: Sequence[Hashable], values: Collection[Hashable]) -> None:
    """Raise if a code does not occur, but a value of another type that looks the same does and is not a code."""
    by_text = {str(level): level for level in levels}
    identities = set(map(identity, values))
    for value in values:
        level = by_text.get(str(value), value)
        if identity(level) not in identities:
            raise DataError(
                f"missing={value!r} is {type(value).__name__}, and column {name!r} holds {level!r}, which is "
                f"{type(level).__name__}; name {level!r} among its missing values, or convert the column"
            )
