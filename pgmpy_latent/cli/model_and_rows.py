"""Commands for a saved model and rows: their arguments, and how the rows were drawn."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pgmpy_latent.cli.columns import labels_of, weights_of
from pgmpy_latent.cli.files import design_in_file
from pgmpy_latent.cli.text import note
from pgmpy_latent.tables.files import check_known, known_endings

if TYPE_CHECKING:
    import pandas as pd

#: What stands for no column of weights, strata or clusters, whatever the model was learned with.
NOTHING = "none"


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the file of the model."""
    parser.add_argument("model", metavar="MODEL.json", help="a model that learn has written; also .bif, .xmlbif")


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Add the file of the rows."""
    parser.add_argument("file", metavar="FILE", help=f"the rows: {known_endings()}")


def design_of(frame: pd.DataFrame, args: argparse.Namespace) -> dict:
    """Return weights, strata and clusters of the rows."""
    found, learned_with = {}, design_in_file(args.model)
    for option, what, name in (
        ("--weights", "sample_weight", args.weights),
        ("--strata", "strata", args.strata),
        ("--cluster", "cluster", args.cluster),
    ):
        column = _as_learned(frame, option, learned_with.get(what)) if name is None else name
        if column is None or (name == NOTHING and NOTHING not in frame.columns):
            continue
        check_known(frame, [column], option)
        values = weights_of(frame[column]) if what == "sample_weight" else labels_of(frame[column], option)
        found[what] = values.to_numpy()
    return found


def _as_learned(frame: pd.DataFrame, option: str, name: str | None) -> str | None:
    """Return the column that the model was learned with, if there was one and the table has it; say which."""
    if name is None:
        return None
    if name in frame.columns:
        note(f"{option} {name}, as the model was learned; {option} {NOTHING} does without")
        return name
    note(
        f"the model was learned with {option} {name}, and the table has no such column: rows are read as if there were "
        f"none; name another column with {option}, or say {option} {NOTHING}"
    )
    return None
