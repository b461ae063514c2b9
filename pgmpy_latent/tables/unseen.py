"""Unseen categories: values that are not among the known states of their column, and the errors and warnings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import numpy as np

from pgmpy_latent.exceptions import UnknownColumnError, UnseenCategoryError, UnseenCategoryWarning
from pgmpy_latent.model.labels import identity, sort_key
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import LISTED, Column, listing

#: A column with at least this many rows that all hold one unseen category is not the column that the states belong to.
MANY_ROWS = 10
#: What else becomes of unseen categories: of several, and of one.
LEFT_BY_IMPUTE = ("; impute leaves them as they are", "; impute leaves it as it is")
#: How the remedies for unseen categories begin.
MAP_THEM = ". Map them"
#: The last remedy where a learner says what becomes of them.
FIT_AGAIN = 'fit with unseen="missing"'


class UnseenValues(NamedTuple):
    """The values of one column that are not among its states."""

    column: Hashable
    values: Sequence[Hashable]
    counts: Sequence[int]  # numbers of rows
    states: Sequence[Hashable]
    nothing_known: bool  # whether no cell of the column holds one of its states


def find_unseen(
    name: Hashable, column: Column, lookup: np.ndarray, states: Sequence[Hashable], copies: np.ndarray | None
) -> list[UnseenValues]:
    """Return the unseen values of a column as a list of one, or an empty list; ``lookup`` gives the state of levels."""
    if (lookup[:-1] >= 0).all():
        return []
    present = column.codes >= 0
    rows = None if copies is None else copies[present]
    counts = np.bincount(column.codes[present], rows, minlength=len(column.levels))
    unseen = np.flatnonzero((lookup[:-1] < 0) & (counts > 0))
    pairs = sorted(((column.levels[i], int(counts[i])) for i in unseen), key=lambda pair: sort_key(pair[0]))
    if not pairs:
        return []
    values, numbers = zip(*pairs, strict=True)
    return [UnseenValues(name, values, numbers, states, bool(counts[unseen].sum() == counts.sum()))]


def unknown_cells(column: Column, states: Sequence[Hashable]) -> tuple[np.ndarray, list]:
    """Return, for every cell, the position of its unseen value or -1, and the unseen values.

    Examples
    --------
    >>> codes, values = unknown_cells(Column(np.array([0, 1, -1, 0]), ["Other", "A"]), ["A", "B"])
    >>> codes.tolist(), values
    ([0, -1, -1, 0], ['Other'])
    """
    known = set(map(identity, states))
    unknown = np.array([*(identity(level) not in known for level in column.levels), False])  # the last is code -1
    lookup = np.where(unknown, np.cumsum(unknown) - 1, -1)
    return lookup[column.codes], [level for level, out in zip(column.levels, unknown, strict=False) if out]


#: What becomes of categories that are not among the known states.
Unseen = Literal["missing", "error"]


def report_unseen(columns: Sequence[UnseenValues], unseen: Unseen) -> None:
    """Raise, or warn once for the whole table, about unseen values."""
    if not columns:
        return
    mistaken = [column for column in columns if _is_another_column(column)]
    if unseen == "missing" and mistaken:
        kinds = _kinds_apart(mistaken[0].values, mistaken[0].states)
        raise UnknownColumnError(
            f"{_described(mistaken[0])}. No cell of the column is known{kinds}, and "
            "all of them would count as missing. Map or convert the column, or empty its cells (None) if that is meant"
        )
    text = "; ".join(map(_described, columns[:LISTED]))
    if len(columns) > LISTED:
        text += f"; and {len(columns) - LISTED} more columns"
    if unseen == "error":
        raise UnseenCategoryError(f'{text}{MAP_THEM}, list them in state_names, or ask for unseen="missing".')
    single = len(columns) == 1 and len(columns[0].values) == 1
    words = "It is treated" if single else "They are treated"
    warn(f"{text}. {words} as missing{LEFT_BY_IMPUTE[single]}.", UnseenCategoryWarning)


@contextmanager
def unseen_remedy(last: str) -> Iterator[None]:
    """Give errors about unseen categories the remedies of queries, for which states cannot be listed.

    Parameters
    ----------
    last : str
        The last of the remedies.

    Examples
    --------
    >>> with unseen_remedy('fit with unseen="missing"'):
    ...     report_unseen([UnseenValues("x", ["b"], [1], ["a"], False)], "error")
    Traceback (most recent call last):
    pgmpy_latent.exceptions.UnseenCategoryError: column 'x' holds 'b' (1 row), not among its states 'a'. Map them to \
known categories, empty the cells, or fit with unseen="missing".
    """
    try:
        yield
    except UnknownColumnError:  # has remedies of its own
        raise
    except UnseenCategoryError as error:
        found = str(error).rpartition(MAP_THEM)[0]
        raise UnseenCategoryError(f"{found}{MAP_THEM} to known categories, empty the cells, or {last}.") from None


def _is_another_column(column: UnseenValues) -> bool:
    """Tell whether the states cannot belong to this column; a few rows may all hold the same new category."""
    few_rows = len(column.values) == 1 and sum(column.counts) < MANY_ROWS
    return column.nothing_known and not (few_rows and not _kinds_apart(column.values, column.states))


def _kinds_apart(values: Sequence, states: Sequence) -> str:
    """Return the part of a message that contrasts the types of values and states; empty if they share a type."""
    words = {"str": "text", "int": "a number", "bool": "a truth value"}
    in_data, in_states = ({identity(value)[0] for value in some} for some in (values, states))
    if in_data & in_states:
        return ""
    first, second = (words.get(min(kinds), min(kinds)) for kinds in (in_data, in_states))
    return f": {values[0]!r} is {first}, and {states[0]!r} among the states is {second}"


def _described(column: UnseenValues) -> str:
    """Return the part of a message that lists the unseen values of a column, and hints at differing types."""
    name, values, counts, states, _ = column
    cells = [f"{v!r} ({n} row{'s' * (n > 1)})" for v, n in zip(values[:LISTED], counts, strict=False)]
    if len(values) > LISTED:
        cells.append(f"{len(values) - LISTED} more")
    text = f"column {name!r} holds {', '.join(cells)}, not among its states {listing(states)}"
    known = {*states, *map(str, states)}
    alike = next((v for v in values if v in known or str(v) in known), None)
    if alike is not None:
        state = next(s for s in states if s == alike or str(s) == str(alike))
        text += f" (mind the types: {type(alike).__name__} in the data, {type(state).__name__} among the states)"
    return text
