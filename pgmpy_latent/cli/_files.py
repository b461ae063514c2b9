"""Files of the command line: tables and models that are read, and places that can be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent._files import check_writable, write_whole
from pgmpy_latent._tables import BadInputError, Table, check_known, read_table

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from pgmpy_latent.data import CategoricalData
    from pgmpy_latent.network import LatentNetwork
    from pgmpy_latent.tree import LatentTree

#: Ending of a file -> the format that pgmpy has for it.
FORMATS = {".bif": "bif", ".xmlbif": "xmlbif", ".xml": "xmlbif", ".net": "net", ".uai": "uai"}


# Reading ------------------------------------------------------------------------------------------


def table_of(args: argparse.Namespace) -> Table:
    """Read the table that was named; none stands for the demonstration."""
    if args.file is not None:
        return read_table(args.file, args.separator, args.missing)
    return demonstration()


def demonstration() -> Table:
    """Return the table that comes with the package."""
    from pgmpy_latent.datasets import load_anes96

    return Table("American National Election Study 1996 (demonstration)", load_anes96())


def encoded(table: Table) -> CategoricalData:
    """Return the chosen columns as categorical data."""
    from pgmpy_latent.data import encode

    try:
        return encode(table.frame, sample_weight=None if table.weights is None else table.weights.to_numpy())
    except TypeError as error:  # cells that are no categories, such as lists in Parquet
        raise BadInputError(f"{table.title}: {error}") from None


def model_format(path: str) -> str:
    """Return the format of a model file by its ending: "json", or one of pgmpy's."""
    ending = Path(path).suffix.lower()
    if ending == ".json":
        return "json"
    if ending not in FORMATS:
        raise BadInputError(f"{path}: the ending of a model is .json, {', '.join(FORMATS)}; this is none of them")
    return FORMATS[ending]


def read_model(path: str) -> LatentTree | LatentNetwork:
    """Read a model: a tree where no node has several parents."""
    kind = model_format(path)
    if not Path(path).is_file():
        problem = "is a folder" if Path(path).is_dir() else "no such file"
        raise BadInputError(f"{path}: {problem}; give a model that pgmpy-latent learn has written")

    from pgmpy_latent import LatentTree, load, network_from_pgmpy
    from pgmpy_latent.exports import read_export
    from pgmpy_latent.network import as_tree

    try:
        model = load(path) if kind == "json" else read_export(path, kind)
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from None
    if isinstance(model, LatentTree):
        return model
    network = network_from_pgmpy(model)
    return as_tree(network) if all(len(above) <= 1 for above in network.parents) else network


def table_for(model: LatentTree | LatentNetwork, args: argparse.Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of a model with its states in place of their texts, and the whole table."""
    frame = table_of(args).frame
    for name in model.observed_names:
        check_known(frame, [str(name)], f"{args.file} lacks a column of the model")
    columns = {}
    for name, states, hidden in zip(model.names, model.state_names, model.latent, strict=True):
        if not hidden:
            columns[name] = _as_states(frame[str(name)], states)
    return _frame(columns), frame


def _frame(columns: dict) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(columns.values())))
    frame.columns = pd.Index(list(columns), tupleize_cols=False)  # a name may be a tuple
    return frame


def _as_states(column: pd.Series, states: Sequence) -> pd.Series:
    """Return the cells as the states that are written alike; others stay as they are."""
    by_text = {str(state): state for state in states}
    column = column.astype(object)
    return column.map({cell: by_text.get(str(cell), cell) for cell in column.dropna().unique()})


# Writing ------------------------------------------------------------------------------------------


def checked_path(path: Path, option: str) -> Path:
    """Raise, naming the option, if a file cannot be written, so that this is known before any work; return the path."""
    try:
        check_writable(path, option)
    except OSError as error:
        raise BadInputError(str(error)) from None
    if path.exists() and not os.access(path, os.W_OK):
        raise BadInputError(f"{option}: {str(path)!r} is there and may not be changed; give another name")
    return path


def output_file(name: str | None, option: str = "--output") -> Path | None:
    """Return where a file shall be written, once it is known that it can be; None stands for the terminal."""
    if name is None:
        return None
    if not name or name.endswith(("/", os.sep)):
        raise BadInputError(f"{option} is {name!r}; give the name of a file")
    return checked_path(Path(name), option)


def write_model(model: LatentTree | LatentNetwork, path: Path, kind: str) -> None:
    """Write a model as JSON or in one of pgmpy's formats."""
    from pgmpy_latent import save, to_pgmpy

    if kind == "json":
        save(model, path)
    else:
        to_pgmpy(model).save(str(path), kind)


def write_rows(frame: pd.DataFrame, path: Path | None, digits: str = "%.6g") -> None:
    """Write rows as CSV in UTF-8: to a file, or where the output goes."""
    text = frame.to_csv(index=False, float_format=digits, lineterminator="\n")
    if path is not None:
        write_whole(path, text.encode())
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # data keep their letters, whatever the terminal knows
    sys.stdout.write(text)
    sys.stdout.flush()
