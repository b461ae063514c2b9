"""What was understood of a table: one line per column."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from pgmpy_latent.cli.text import shortened, width

if TYPE_CHECKING:
    import numpy as np

    from pgmpy_latent.tables.encode import CategoricalData
    from pgmpy_latent.tables.files import Table

#: Maximum number of columns that are listed.
LISTED = 30
#: Maximum width of names.
NAME = 24


def column_lines(table: Table, data: CategoricalData) -> list[str]:
    """Return a line per column, with its kind, its categories and its missing cells; many columns are cut short."""
    rows = [("column", "kind", "missing", "categories")]
    for name, states in list(zip(data.columns, data.state_names, strict=True))[:LISTED]:
        kind, values = _kind(states) if name not in data.values else _numeric_kind(states, data.values[name])
        label = table.labels.get(str(name))
        missing = int(table.frame[name].isna().sum())
        share = f"{missing:,} ({missing / len(table.frame):.0%})" if missing else "-"
        rows.append((shortened(str(name), NAME), kind, share, f"{values}  [{label}]" if label else values))
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = ["  ".join([*(text.ljust(room) for text, room in zip(row, widths, strict=False)), row[3]]) for row in rows]
    lines = [f"  {shortened(line, width() - 2)}" for line in lines]
    further = len(data.columns) - LISTED
    return lines + ([f"  ... and {further:,} more columns"] if further > 0 else [])


def _kind(states: Sequence[Hashable]) -> tuple[str, str]:
    """Return the kind of a column of categories, and the categories, in words.

    Examples
    --------
    >>> _kind(("no", "yes")), _kind((1, 2, 3))
    (('text', '2: no, yes'), ('numbers', '3: 1, 2, 3'))
    """
    words = [str(state) for state in states]
    kind = "numbers" if all(isinstance(state, (int, float)) for state in states) else "text"
    return kind, f"{len(words)}: {', '.join(words)}"


def _numeric_kind(states: Sequence[Hashable], values: np.ndarray) -> tuple[str, str]:
    """Return the kind of a column of numbers, and their range, in words."""
    from pgmpy_latent.model.emissions import emission_of_states

    emission = emission_of_states(tuple(states))
    assert emission is not None  # the column has numbers
    return emission.kind, f"{len(values):,} values from {values[0]:g} to {values[-1]:g}"
