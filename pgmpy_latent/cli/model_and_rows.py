"""Commands for a saved model and rows: their arguments, and how the rows were drawn."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pgmpy_latent.cli.columns import labels_of, weights_of
from pgmpy_latent.cli.files import history_in_file
from pgmpy_latent.cli.text import note
from pgmpy_latent.tables.files import check_known, known_endings

if TYPE_CHECKING:
    import pandas as pd

    from pgmpy_latent.model.history import History

#: What stands for no column of weights, strata or clusters, whatever the model was learned with.
NOTHING = "none"
#: Keyword -> option that names its column.
OPTIONS = {"sample_weight": "--weights", "strata": "--strata", "cluster": "--cluster"}


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the file of the model."""
    parser.add_argument("model", metavar="MODEL.json", help="a model that learn has written; also .bif, .xmlbif")


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Add the file of the rows."""
    parser.add_argument("file", metavar="FILE", help=f"the rows: {known_endings()}")


def design_of(frame: pd.DataFrame, args: argparse.Namespace) -> dict:
    """Return weights, their kind, strata and clusters of the rows, as keywords."""
    history, columns = history_in_file(args.model), design_columns(frame, args)
    if history is None and args.weights is None:
        note(
            f"{args.model} does not say with which weights the model was learned, if any, and none are used; name "
            f"their column with --weights, or say --weights {NOTHING}"
        )
    found: dict = {}
    for what, column in columns.items():
        option = OPTIONS[what]
        values = weights_of(frame[column]) if what == "sample_weight" else labels_of(frame[column], option)
        found[what] = values.to_numpy()
    weights = columns.get("sample_weight")
    same = weights is not None and weights == _name_in(history, "sample_weight")
    remembered = history.weight_kind if history is not None and same else None
    found["weight_kind"] = remembered if args.weight_kind is None else args.weight_kind
    return found


def design_columns(frame: pd.DataFrame, args: argparse.Namespace) -> dict[str, str]:
    """Return keyword -> column, for weights and, if the command has them, strata and clusters.

    They are those that the command names or, without a word of it, those that the model was learned with.
    """
    history = history_in_file(args.model)
    found = {}
    for what, option in OPTIONS.items():
        if not hasattr(args, option[2:]):
            continue
        name = getattr(args, option[2:])
        column = _as_learned(frame, option, _name_in(history, what)) if name is None else name
        if column is None or (name == NOTHING and NOTHING not in frame.columns):
            continue
        check_known(frame, [column], option)
        found[what] = column
    return found


def _name_in(history: History | None, what: str) -> str | None:
    """Return the name of the column that a keyword had when the model was learned, if it had one."""
    name = None if history is None else (history.design or {}).get(what)
    return None if name is None else str(name)


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
