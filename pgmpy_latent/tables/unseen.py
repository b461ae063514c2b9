"""Values that are not among the states that a column is known to have: what they are, and what is said about them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence

import numpy as np

from pgmpy_latent.exceptions import UnseenCategoryError, UnseenCategoryWarning
from pgmpy_latent.model.labels import identity, sort_key
from pgmpy_latent.tables.columns import LISTED, Column, listing

#: So many rows do not all hold the same category by chance, if it is a new one.
MANY_ROWS = 10


def find_strangers(name, column: Column, lookup: np.ndarray, states: list, copies) -> list[tuple]:
    """Return (column, values, counts, states, whether no cell is known) if values occur that are no given states."""
    if (lookup[:-1] >= 0).all():
        return []
    present = column.codes >= 0
    rows = None if copies is None else copies[present]
    counts = np.bincount(column.codes[present], rows, minlength=len(column.levels))
    found = np.flatnonzero((lookup[:-1] < 0) & (counts > 0))
    values = sorted(((column.levels[i], int(counts[i])) for i in found), key=lambda pair: sort_key(pair[0]))
    if not values:
        return []
    return [(name, *zip(*values, strict=True), states, counts[found].sum() == counts.sum())]


def unknown_cells(column: Column, states: Sequence[Hashable]) -> tuple[np.ndarray, list]:
    """Return the values of a column that are no given states, and which of them every cell holds; -1 for none.

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


def report_strangers(strangers: list[tuple], unseen: str) -> None:
    """Raise, or warn once for the whole table, about values that no given state stands for."""
    if not strangers:
        return
    unknown = [one for one in strangers if _is_another_column(*one[1:])]
    if unseen == "missing" and unknown:
        _, values, _, states, _ = unknown[0]
        raise UnseenCategoryError(
            f"{_describe_strangers(*unknown[0])}. No cell of the column is known{_kinds_apart(values, states)}, and "
            'all of them would count as missing. Map or convert the column; or leave it out, and say absent="sum_out".'
        )
    text = "; ".join(_describe_strangers(*one) for one in strangers[:LISTED])
    if len(strangers) > LISTED:
        text += f"; and {len(strangers) - LISTED} more columns"
    if unseen == "error":
        raise UnseenCategoryError(f'{text}. Map them, list them in state_names, or ask for unseen="missing".')
    warnings.warn(
        f"{text}. They are treated as missing; impute leaves them as they are.", UnseenCategoryWarning, stacklevel=4
    )


def _is_another_column(values: tuple, counts: tuple, states: list, nothing_known: bool) -> bool:
    """Tell whether a column cannot be the one that the states are of; a few rows may all hold the same new category."""
    a_new_category = len(values) == 1 and sum(counts) < MANY_ROWS and not _kinds_apart(values, states)
    return nothing_known and not a_new_category


def _kinds_apart(values: Sequence, states: Sequence) -> str:
    """Say which kinds values and states are of, if these have nothing in common."""
    words = {"str": "text", "int": "a number", "bool": "a truth value"}
    here, there = ({identity(value)[0] for value in some} for some in (values, states))
    if here & there:
        return ""
    first, second = (words.get(min(kinds), min(kinds)) for kinds in (here, there))
    return f": {values[0]!r} is {first}, and {states[0]!r} among the states is {second}"


def _describe_strangers(name: Hashable, values: tuple, counts: tuple, states: list, _: bool) -> str:
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
