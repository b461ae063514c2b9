"""Which columns of a table a command uses, and which of them hold weights, strata and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pgmpy_latent.tables.files import BadInputError, Table, check_known

if TYPE_CHECKING:
    import pandas as pd


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
    return replace(
        table,
        frame=frame[used],
        weights=None if weights is None else weights_of(frame[weights]),
        strata=None if strata is None else labels_of(frame[strata], "--strata"),
        cluster=None if cluster is None else labels_of(frame[cluster], "--cluster"),
    )


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
