"""Files of the command line: reading tables and models, and checking that outputs can be written."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent.cli.kinds import as_numbers
from pgmpy_latent.cli.options import as_list
from pgmpy_latent.cli.text import note
from pgmpy_latent.runtime.files import check_readable, check_writable, write_whole
from pgmpy_latent.tables.files import BadInputError, Table, check_known, read_table, split_at_column
from pgmpy_latent.tables.missing import MISSING_TEXTS
from pgmpy_latent.tables.survey import WeightKind
from pgmpy_latent.tables.whole_numbers import without_fraction

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from pgmpy_latent.model.emissions import NumericKind
    from pgmpy_latent.model.history import History
    from pgmpy_latent.model.network import LatentNetwork
    from pgmpy_latent.model.tree import LatentTree
    from pgmpy_latent.tables.encode import CategoricalData


# Reading ------------------------------------------------------------------------------------------


def table_of(args: argparse.Namespace, states: Collection[str] = ()) -> Table:
    """Read a table; by default the demonstration table. States of a model do not count as missing."""
    if args.file is None:
        return demonstration()
    everywhere = _missing_everywhere(args)
    if everywhere is None and not set(MISSING_TEXTS).isdisjoint(states):
        everywhere = [text for text in MISSING_TEXTS if text not in states]
    aside = [getattr(args, option, None) for option in ("weights", "strata", "cluster", "id")]
    return read_table(args.file, args.separator, everywhere, partial(missing_in, args), aside)


def _missing_everywhere(args: argparse.Namespace) -> list[str] | None:
    """Return the texts that mean a missing cell in all columns; None if the default ones do."""
    said = [texts for texts in args.missing or () if not _names_a_column(texts)]
    return [text for texts in said for text in texts] if said else None


def missing_in(args: argparse.Namespace, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the texts that mean a missing cell in single columns; raise if a column is none of the names."""
    some: dict[str, list[str]] = {}
    for first, *others in filter(_names_a_column, args.missing or ()):
        name, value = split_at_column(first, names, "--missing")
        some.setdefault(name, []).extend([value, *others])
    return some


def _names_a_column(texts: Sequence[str]) -> bool:
    return bool(texts) and "=" in texts[0][1:]


def missing_codes(args: argparse.Namespace, table: Table, data: CategoricalData) -> dict[Hashable, list]:
    """Return the missing codes for the model to remember, as numbers if their column has numbers."""
    if args.file is None:
        return {}
    everywhere = _missing_everywhere(args)
    codes = {}
    for name, states in zip(data.columns, data.state_names, strict=True):
        texts = [text for text in (*(everywhere or ()), *table.missing_in.get(str(name), ())) if text]
        kind = next((kind for kind in (int, float) if all(type(state) is kind for state in states)), str)
        if texts and name in data.values:
            codes[name] = [_as_number(text) for text in texts]
        elif texts:
            codes[name] = [_as_kind(text, kind) for text in texts]
    return codes


def _as_kind(text: str, kind: type) -> str | int | float:
    if kind is int:
        text = without_fraction(text)
    try:
        value = kind(text)
    except ValueError:
        return text
    return value if str(value) == text else text  # "07" is a code, and not the number 7


def _as_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def demonstration() -> Table:
    """Return the table that comes with the package."""
    from pgmpy_latent.datasets import load_anes96

    return Table("American National Election Study 1996 (demonstration)", load_anes96())


def encoded(
    table: Table,
    weight_kind: WeightKind | None = None,
    allowed: Sequence[str] = (),
    numeric: Mapping[Hashable, NumericKind] | None = None,
) -> CategoricalData:
    """Return the chosen columns as categorical data; refuse unsuitable columns unless they are allowed or numeric."""
    from pgmpy_latent.exceptions import DataError, WeightKindWarning
    from pgmpy_latent.tables.encode import encode
    from pgmpy_latent.tables.suitable import doubtful_columns, in_words, unsuitable_columns, warn_of_many_states

    if weight_kind is not None and table.weights is None:
        raise BadInputError("--weight-kind needs weights; name their column with --weights")
    weights, strata, cluster = (
        None if column is None else column.to_numpy() for column in (table.weights, table.strata, table.cluster)
    )
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            data = encode(
                table.frame, sample_weight=weights, weight_kind=weight_kind, strata=strata, cluster=cluster,
                numeric=numeric,
            )  # fmt: skip
        for said in noted:
            words = str(said.message).replace('weight_kind="', "--weight-kind ").replace('"', "")
            warnings.warn(words if said.category is WeightKindWarning else said.message, said.category, stacklevel=2)
    except TypeError as error:  # cells that are not categories, such as lists in Parquet
        raise BadInputError(f"{table.title}: {error}") from None
    except DataError as error:
        if not numeric:
            raise
        raise BadInputError(_as_options(str(error))) from None
    check_known(table.frame, allowed, "--allow-many-states")
    unsuitable = unsuitable_columns(data, allowed)
    if unsuitable:
        it, names = "it" if len(unsuitable) == 1 else "them", as_list(unsuitable)
        raise BadInputError(
            f"{in_words(unsuitable)}; leave {it} out with --drop {names}, bin {it}, or pass --allow-many-states "
            f"{names} if you mean {it}"
            + ("; --kinds auto takes numbers as they are, without bins" if _fractions(data, unsuitable) else "")
        )
    doubtful = as_list(doubtful_columns(data, allowed))
    warn_of_many_states(data, allowed, remedy=f"pass --allow-many-states {doubtful}")
    return data


def _fractions(data: CategoricalData, names: Collection[Hashable]) -> bool:
    """Tell whether one of some columns holds numbers with fractions, also as text."""
    from pgmpy_latent.tables.likely_codes import as_numbers

    columns = (as_numbers(states) for name, states in zip(data.columns, data.state_names, strict=True) if name in names)
    return any(one % 1 for numbers in columns for one in numbers or ())


def _as_options(words: str) -> str:
    """Return advice about kinds and codes for missing answers as it is given on the command line."""
    words = re.sub(r"missing=\{'([^']*)': \[([^]]+)\]\}(, or missing=.* if not)?", r"--missing \1=\2", words)
    return words.replace("'categorical' or 'ordinal' of it", "categorical of it with --kinds")


def read_model(path: str) -> LatentTree | LatentNetwork:
    """Read a model, as a tree if no node has several parents."""
    from pgmpy_latent import LatentTree, network_from_pgmpy
    from pgmpy_latent.exceptions import InvalidTreeError
    from pgmpy_latent.model import exports
    from pgmpy_latent.model.network import as_tree

    exports.format_of(path)  # an unknown ending is reported before anything else
    try:
        check_readable(path, "give a model that pgmpy-latent learn has written")
    except (OSError, ValueError) as error:
        raise BadInputError(str(error)) from None
    try:
        model = exports.read_model(path)
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from None
    if isinstance(model, LatentTree):
        return model
    if (beside := exports.names_path(path)).exists() and not path.lower().endswith(".json"):
        print(f"names, states and hidden variables are those of {beside}", file=sys.stderr, flush=True)
    try:
        network = network_from_pgmpy(model)
    except InvalidTreeError as error:
        raise BadInputError(f"{path}: {error}") from None
    return as_tree(network) if all(len(above) <= 1 for above in network.parents) else network


def history_in_file(path: str) -> History | None:
    """Return where a model comes from; None if its file says nothing of it."""
    from pgmpy_latent.model.convert import load_with_history
    from pgmpy_latent.model.exports import format_of

    if format_of(path).name != "json":
        return None
    history = load_with_history(path)[1]
    return history if history.known() else None


def table_for(model: LatentTree | LatentNetwork, args: argparse.Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of a model, with text converted to its states or to numbers, and the whole table."""
    from pgmpy_latent.model.emissions import emission_of_states

    states = {str(state) for name in model.observed_names for state in model.state_names[model.index(name)]}
    table = table_of(args, states)
    for words in table.notes:
        note(words)
    frame = table.frame
    names = [name for name in model.observed_names if args.absent == "error" or str(name) in frame.columns]
    for name in names or model.observed_names:
        lacking = f"{args.file} lacks a column of the model"
        check_known(frame, [str(name)], lacking + ("" if names else ", and all others too"))
    codes = dict(model.missing)
    columns = {}
    for name in names:
        levels, meant_missing = model.state_names[model.index(name)], codes.get(name, ())
        if emission_of_states(levels) is None:
            columns[name] = _as_states(frame[str(name)], (*levels, *meant_missing))
        else:
            columns[name] = _as_numbers(frame[str(name)], meant_missing)
    return _frame(columns), frame


def _frame(columns: dict) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(columns.values())))
    frame.columns = pd.Index(list(columns), tupleize_cols=False)  # a name may be a tuple
    return frame


def _as_states(column: pd.Series, states: Sequence) -> pd.Series:
    """Convert cells to the states with the same text or whole number (5.0 is 5); other cells stay as they are."""
    by_number = {without_fraction(str(state)): state for state in states}
    by_text = {str(state): state for state in states}
    column = column.astype(object)
    alike = {cell: by_number.get(without_fraction(str(cell)), cell) for cell in column.dropna().unique()}
    return column.map({cell: by_text.get(str(cell), state) for cell, state in alike.items()})


def _as_numbers(column: pd.Series, meant_missing: Sequence) -> pd.Series:
    """Convert the cells of a column that is a number in the model; cells that mean "missing" become missing."""
    column = _as_states(column, meant_missing)
    return as_numbers(column.mask(column.isin(list(meant_missing))), "a column of numbers in the model")


# Writing ------------------------------------------------------------------------------------------


def checked_path(path: Path, option: str) -> Path:
    """Return the path of an output; raise, naming the option, if it cannot be written, before any work."""
    try:
        check_writable(path, option)
    except (OSError, ValueError) as error:
        raise BadInputError(str(error)) from None
    if path.exists() and not os.access(path, os.W_OK):
        raise BadInputError(f"{option}: {str(path)!r} exists and is read-only; give another name")
    return path


def optional_output(name: str | None, option: str = "--output") -> Path | None:
    """Return the path of an output, as :func:`output_file` does; None means the terminal."""
    return None if name is None else output_file(name, option)


def output_file(name: str, option: str) -> Path:
    """Return the path of an output after checking that it can be written."""
    if not name or name.endswith(("/", os.sep)):
        raise BadInputError(f"{option} is {name!r}; give the name of a file")
    return checked_path(Path(name), option)


def write_rows(frame: pd.DataFrame, path: Path | None, digits: str = "%.6g") -> None:
    """Write rows as CSV in UTF-8, to a file or to standard output."""
    text = frame.to_csv(index=False, float_format=digits, lineterminator="\n")
    if path is not None:
        write_whole(path, text.encode())
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # data keep their letters, whatever the terminal knows
    sys.stdout.write(text)
    sys.stdout.flush()
