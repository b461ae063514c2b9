"""Values that count as missing cells, as 99 for "no answer": how they are said, and how columns lose them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pgmpy_latent.exceptions import DataError, MissingCodeWarning, StateNameError
from pgmpy_latent.model.labels import MOST_DIGITS, has_too_many_digits, identity
from pgmpy_latent.model.tree import pairs_of_codes
from pgmpy_latent.tables.columns import LISTED, Column, plain, refuse_long_names, settled_levels
from pgmpy_latent.tables.likely_codes import likely_codes

#: Column -> the values that count as missing there.
Codes = dict[Hashable, tuple[Hashable, ...]]
#: A column and the identity of a value that counts as missing there, and occurs.
Met = set[tuple[Hashable, tuple]]


class Kept(NamedTuple):
    """What a caller says counts as missing, and what a given model knows to, which the rows need not hold."""

    said: object
    known: Codes


def codes_by_column(missing, columns: Sequence[Hashable]) -> Codes:
    """Return which values count as missing in which column.

    Parameters
    ----------
    missing : None, dict of column to value or values, or value or values of all columns
        What a caller said.
    columns : sequence of hashable
        The columns of the table.

    Examples
    --------
    >>> codes_by_column({"age": 99}, ["age", "sex"]), codes_by_column(["?", -1], ["age"])
    ({'age': (99,)}, {'age': ('?', -1)})
    """
    if missing is None:
        return {}
    if isinstance(missing, Kept):
        of_model = {name: values for name, values in missing.known.items() if name in columns}
        return joined(of_model, codes_by_column(missing.said, columns))
    if not isinstance(missing, Mapping):
        values = _values("all columns", missing)
        return dict.fromkeys(columns, values) if values else {}
    refuse_long_names("missing", map(plain, missing))
    present = set(columns)
    absent = [name for name in map(plain, missing) if name not in present]
    if absent:
        raise DataError(f"missing names {absent[0]!r}, which is no column of the table; it has {list(columns)[:5]}")
    return dict(pairs_of_codes({plain(name): _values(repr(name), values) for name, values in missing.items()}))


def _values(where: str, values) -> tuple[Hashable, ...]:
    """Return one value or several as plain ones, each once; cells that are missing anyway are left out."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        values = [values]
    found: dict[tuple, Hashable] = {}
    for value in map(plain, values):
        if has_too_many_digits(value):
            raise DataError(
                f"missing of {where} holds a number of more than {MOST_DIGITS:,} digits, which no column may hold; "
                "leave it out"
            )
        if not isinstance(value, (str, bytes, bool, int, float, type(None))):
            raise DataError(f"missing of {where} holds a {type(value).__name__}; give text, numbers or booleans")
        if value is not None and value == value:
            found.setdefault(identity(value), value)
    return tuple(found.values())


def settled_columns(missing, before: Iterable[tuple], columns: Sequence[Hashable]) -> Sequence[Hashable]:
    """Return the columns of which a caller has said what counts as missing there, now or when the table was read.

    Nothing in a dict or list says so of all columns; values for all columns leave open what else there is.

    Examples
    --------
    >>> settled_columns({"age": 99}, (), ["age", "sex"]), settled_columns({}, (), ["age", "sex"])
    (['age'], ['age', 'sex'])
    >>> settled_columns("?", [("age", ("?",)), ("sex", ("?", 9))], ["age", "sex"])
    ['sex']
    """
    if missing is None:
        return [name for name, _ in before]
    if isinstance(missing, Mapping):
        return [*(name for name, _ in before), *map(plain, missing)] if missing else columns
    everywhere = set(map(identity, _values("all columns", missing)))
    if not everywhere:
        return columns
    return [name for name, values in before if not everywhere.issuperset(map(identity, values))]


def joined(first: Codes, second: Codes) -> Codes:
    """Return what counts as missing by either.

    Examples
    --------
    >>> joined({"age": (99,)}, {"age": (99, -1), "sex": ("?",)})
    {'age': (99, -1), 'sex': ('?',)}
    """
    names = dict.fromkeys([*first, *second])
    return {name: _values(repr(name), [*first.get(name, ()), *second.get(name, ())]) for name in names}


def warn_of_unmet(
    missing, met: Met, states: Mapping[Hashable, Sequence], before: Iterable[tuple], stacklevel: int
) -> None:
    """Warn of values that a caller says count as missing, and that do not occur: they may be mistyped.

    Where a column holds values that look like codes instead, these are named.

    Parameters
    ----------
    missing : None, dict, value or values, or Kept
        What a caller said; what a model knows is not looked for.
    met : set
        What occurs.
    states : dict of column to states
        What is left in the columns that were read.
    before : pairs of column and values
        What counted as missing when the table was read before, and is gone from it.
    stacklevel : int
        Of the line to point at.
    """
    said = missing.said if isinstance(missing, Kept) else missing
    met = met | {(name, identity(value)) for name, values in before for value in values}
    if isinstance(said, Mapping):
        by_name = {plain(name): _values(repr(name), values) for name, values in said.items()}
        unmet = [
            f"{value!r} in column {name!r}{_held_instead(states[name])}"
            for name, values in by_name.items()
            for value in values
            if name in states and (name, identity(value)) not in met
        ]
    else:
        anywhere = {value for _, value in met}
        values = () if said is None else _values("all columns", said)
        unmet = [f"{value!r} in any column" for value in values if identity(value) not in anywhere]
    if unmet:
        more = f" and {len(unmet) - LISTED} more" if len(unmet) > LISTED else ""
        warnings.warn(
            f"missing names values that do not occur: {', '.join(unmet[:LISTED])}{more}. Mend them if they are "
            "mistyped; otherwise nothing is lost.",
            MissingCodeWarning,
            stacklevel=stacklevel + 1,
        )


def _held_instead(states: Sequence[Hashable]) -> str:
    """Say which of some states look like codes for missing answers, if any do."""
    likely = likely_codes(states)
    return f" (it holds {' and '.join(map(repr, likely))})" if likely else ""


def without_codes(
    name: Hashable,
    column: Column,
    values: Collection[Hashable],
    given: Sequence[Hashable] | None = None,
    met: Met | None = None,
) -> Column:
    """Return a column in which cells with some values are missing; ``given`` are states that it must have.

    What occurs, or is a category of a Categorical, is added to ``met``.

    Examples
    --------
    >>> column = without_codes("age", Column(np.array([0, 1, 0]), [1, 99]), [99])
    >>> column.codes.tolist(), column.levels
    ([0, -1, 0], [1])
    """
    wanted = set(map(identity, values))
    contradictory = [state for state in given or () if identity(state) in wanted]
    if contradictory:
        raise StateNameError(
            f"{contradictory[0]!r} is a state of column {name!r} and counts as missing; decide for one"
        )
    if given is None:
        _refuse_other_type(name, column.levels, values)
    gone = np.array([identity(level) in wanted for level in column.levels], dtype=bool)
    if met is not None:
        met.update((name, identity(level)) for level, out in zip(column.levels, gone, strict=True) if out)
    if not gone.any():
        return column
    lookup = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)  # code -1 finds the -1 at the end
    left = [identity(level)[1] for level, out in zip(column.levels, gone, strict=True) if not out]
    return Column(lookup[column.codes], settled_levels(name, left), column.settled and bool(left))


def _refuse_other_type(name: Hashable, levels: Sequence[Hashable], values: Collection[Hashable]) -> None:
    """Raise if a value does not occur, but one of another type that reads alike does, and does not count as missing."""
    by_text = {str(level): level for level in levels}
    said = set(map(identity, values))
    for value in values:
        level = by_text.get(str(value), value)
        if identity(level) not in said:
            raise DataError(
                f"missing={value!r} is {type(value).__name__}, and column {name!r} holds {level!r}, which is "
                f"{type(level).__name__}; name {level!r} among its missing values, or convert the column"
            )
