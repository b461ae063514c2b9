"""Which columns of a table are numbers: the option ``--kinds``."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from pgmpy_latent.cli.options import as_list
from pgmpy_latent.tables.files import BadInputError, Table, check_known

if TYPE_CHECKING:
    import pandas as pd

    from pgmpy_latent.model.emissions import NumericKind
    from pgmpy_latent.tables.numbers import Kind

#: Kinds that may be stated, as in :mod:`pgmpy_latent.tables.numbers`, repeated here to keep ``--help`` fast.
KINDS = ("categorical", "gaussian", "shared_gaussian", "poisson", "negative_binomial")
#: What the option says: the kinds of some columns, or that all are read from their cells.
Stated: TypeAlias = "Mapping[Hashable, Kind] | Literal['auto']"


def kinds(text: str) -> Stated:
    """Read the kinds of columns.

    Examples
    --------
    >>> kinds("age=gaussian,visits=poisson"), kinds("auto")
    ({'age': 'gaussian', 'visits': 'poisson'}, 'auto')
    """
    if text == "auto":
        return "auto"
    found: dict[Hashable, Kind] = {}
    for part in text.split(","):
        name, _, kind = part.rpartition("=")
        if not name or kind not in KINDS:
            raise argparse.ArgumentTypeError(
                f"{part!r} is not COLUMN=KIND, with a KIND of {', '.join(KINDS)}; or give the one word auto"
            )
        found[name] = cast("Kind", kind)
    return found


def add_kinds(parser: argparse.ArgumentParser) -> None:
    """Add the option to a parser."""
    parser.add_argument(
        "--kinds", type=kinds, metavar="COLUMN=KIND,...", help="columns that are numbers, without bins: gaussian,"
        " shared_gaussian, poisson, negative_binomial (or categorical); other columns, or with auto all, are read by"
        " their cells (default: all columns are categories)",
    )  # fmt: skip


def with_numbers(table: Table, stated: Stated | None) -> tuple[Table, dict[Hashable, NumericKind]]:
    """Return the table with its columns of numbers as numbers, and their kinds; without ``--kinds`` there are none.

    Raises
    ------
    BadInputError
        If a column is not in the table, if one that is to be numeric has cells that are no numbers, or if it cannot be
        told what a column is.
    """
    if stated is None:
        return table, {}
    from pgmpy_latent.exceptions import DataError
    from pgmpy_latent.tables.numbers import kinds_of_table, numeric_only

    frame = table.frame.copy()
    said: Mapping[Hashable, Kind] = {} if isinstance(stated, str) else stated
    check_known(frame, list(map(str, said)), "--kinds")
    for name in frame:
        if said.get(name, "categorical") != "categorical":
            frame[name] = as_numbers(frame[name], "--kinds")
        elif name not in said:
            with suppress(BadInputError):
                frame[name] = as_numbers(frame[name], "--kinds")
    try:
        found = kinds_of_table(frame, stated)
    except DataError as error:
        words = str(error).partition("; say which by kinds")[0]
        raise BadInputError(f"{words}; say which with --kinds COLUMN=KIND (one of {', '.join(KINDS)})") from None
    numeric = numeric_only(found)
    kept = {name: frame[name] if name in numeric else table.frame[name] for name in frame}
    return replace(table, frame=frame.assign(**kept)), numeric


def as_numbers(column: pd.Series, why: str) -> pd.Series:
    """Return a column of text as numbers; raise if it holds anything else, after saying why it is to be numbers."""
    import pandas as pd

    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    odd = numbers.isna() & column.notna()
    if odd.any():
        row = int(odd.to_numpy().argmax())
        raise BadInputError(
            f"{why}: {column.name!r} is {str(column.iloc[row])!r} in row {row + 1} of the table, which is no number; "
            f"pass --missing {as_list([f'{column.name}=...'])} if it means a missing cell"
        )
    return numbers
