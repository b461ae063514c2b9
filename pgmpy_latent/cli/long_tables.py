"""Commands for tables with several rows per person or group: their options, and how the table is read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent.cli.columns import labels_of, weights_of
from pgmpy_latent.cli.describe import aligned, suspects
from pgmpy_latent.cli.files import optional_output, table_of, write_rows
from pgmpy_latent.cli.options import add_design, add_limits, add_prior, add_reading, add_seed_and_jobs, listed, number
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs, written_lines
from pgmpy_latent.cli.text import note, say
from pgmpy_latent.tables.files import BadInputError, check_known, known_endings

if TYPE_CHECKING:
    import pandas as pd


def add_table(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add the file and the columns of the items."""
    parser.add_argument("file", metavar="FILE", help=f"{rows}: {known_endings()}")
    parser.add_argument(
        "--items", type=listed, metavar="A,B,...", help="columns that were observed (default: all others)"
    )


def add_outputs(parser: argparse.ArgumentParser, option: str, words: str) -> None:
    """Add the files to write, one of which is about units, and the options that fits of long tables share."""
    parser.add_argument("--output", metavar="FILE.csv", help="write all probabilities there")
    parser.add_argument(option, metavar="FILE.csv", help=words)
    parser.add_argument("--report", metavar="FILE.html", help="write a page about the model")
    add_overwrite(parser)
    add_design(parser.add_argument_group("how they were drawn"))
    add_reading(parser)
    group = parser.add_argument_group("how it learns")
    group.add_argument("--starts", type=number(int, 1), metavar="N", default=16, help="random starts (default: 16)")
    add_prior(group)
    add_seed_and_jobs(group)
    add_limits(group)


def checked_outputs(args: argparse.Namespace, option: str) -> dict[str, Path | None]:
    """Return the files to write by their options; raise before any work if one of them cannot be written."""
    named = {"--output": args.output, option: getattr(args, option.strip("-")), "--report": args.report}
    paths = {each: optional_output(name, each) for each, name in named.items()}
    checkpoint = optional_output(args.checkpoint, "--checkpoint")
    check_outputs(args, [*paths.items(), ("--checkpoint", checkpoint)], [("the table", args.file)], [checkpoint])
    return paths


def read_rows(args: argparse.Namespace, units: Mapping[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the whole table and the columns of the items; every option must name a column, and none two of them."""
    from pgmpy_latent.tables.encode import encode

    table = table_of(args)
    for words in table.notes:
        note(words)
    frame = table.frame
    aside = {**units, "--weights": args.weights, "--strata": args.strata, "--cluster": args.cluster}
    aside = {option: name for option, name in aside.items() if name is not None}
    for option, name in aside.items():
        check_known(frame, [name], option)
    check_known(frame, args.items or [], "--items")
    items = args.items or [name for name in frame.columns if name not in aside.values()]
    for option, name in aside.items():
        if name in items:
            raise BadInputError(f"column {name!r} is among --items and also {option}; take it out of one of them")
    if not items:
        raise BadInputError("no column is left for the items; the table has none but those that other options name")
    for words in suspects(encode(frame, columns=items), table.missing_in):
        note(words)
    return frame, items


def settings_of(frame: pd.DataFrame, args: argparse.Namespace) -> dict:
    """Return the arguments that fits of long tables share."""
    given = {
        "sample_weight": None if args.weights is None else weights_of(frame[args.weights]),
        "strata": None if args.strata is None else labels_of(frame[args.strata], "--strata"),
        "cluster": None if args.cluster is None else labels_of(frame[args.cluster], "--cluster"),
    }
    return {
        **{name: column if column is None else column.to_numpy() for name, column in given.items()},
        "missing": {},  # what looks like a code was said when the table was read
        "weight_kind": args.weight_kind,
        "prior": args.prior or None,
        "n_starts": args.starts,
        "random_state": args.seed,
        "n_jobs": args.jobs,
        "time_limit": args.time_limit,
        "checkpoint": args.checkpoint,
    }


@contextmanager
def errors_as_options(args: argparse.Namespace) -> Iterator[None]:
    """Say of weights, strata and clusters that differ within a person or group which option and column they are."""
    from pgmpy_latent.exceptions import DataError

    try:
        yield
    except DataError as error:
        argument, differs, rest = str(error).partition(" differs between ")
        option = {"sample_weight": "weights"}.get(argument, argument)
        if not differs or option not in ("weights", "strata", "cluster"):
            raise
        words = f"--{option}: column {getattr(args, option)!r}{differs}{rest}"
        raise BadInputError(words) from None


def frame_lines(title: str, frame: pd.DataFrame) -> list[str]:
    """Return a table of probabilities as lines, below its title.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_lines("Moves", pd.DataFrame([[0.25, 0.75]], index=pd.Index(["a"], name="from"), columns=[0, 1]))
    ['', 'Moves', 'from      0      1', '   a  0.250  0.750']
    """
    import pandas as pd

    flat = frame.reset_index()
    known = frame.index.nlevels
    texts = [flat.iloc[:, at].map("{:.3f}".format if at >= known else str) for at in range(flat.shape[1])]
    return [
        "",
        title,
        *aligned(pd.DataFrame({str(name): text for name, text in zip(flat.columns, texts, strict=True)})),
    ]


def tidy(tables: Mapping[str, pd.DataFrame], column: str) -> pd.DataFrame:
    """Return tables below each other, with a row per probability; ``column`` is what their columns stand for.

    Examples
    --------
    >>> import pandas as pd
    >>> tidy({"share": pd.DataFrame([[0.25, 0.75]], index=pd.Index([1], name="wave"), columns=[0, 1])}, "state")
       table  wave  state  probability
    0  share     1      0         0.25
    1  share     1      1         0.75
    """
    import pandas as pd

    parts = []
    for title, frame in tables.items():
        named = frame.set_axis(pd.Index(list(frame.columns)), axis=1).reset_index()
        keys = list(named.columns[: frame.index.nlevels])
        long = named.melt(id_vars=keys, var_name=column, value_name="probability")
        long.insert(0, "table", title)
        parts.append(long)
    whole = pd.concat(parts, ignore_index=True)
    return whole[[name for name in whole.columns if name != "probability"] + ["probability"]]


def write_found(found, paths: Mapping[str, Path | None], frames: Sequence[pd.DataFrame]) -> None:
    """Write the tables, in the order of their options, and the report, and say so."""
    for path, frame in zip(list(paths.values())[:2], frames, strict=True):
        if path is not None:
            write_rows(frame, path, "%.10g")
    if paths["--report"] is not None:
        found.report(paths["--report"])
    if written := written_lines(paths.values()):
        say(["", *written])
