"""``pgmpy-latent transitions``: how people move between hidden states over time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pgmpy_latent.cli.long_tables import (
    add_outputs,
    add_table,
    checked_outputs,
    errors_as_options,
    frame_lines,
    read_rows,
    settings_of,
    tidy,
    write_found,
)
from pgmpy_latent.cli.options import add_command, as_list, listed, number
from pgmpy_latent.cli.text import compile_first, say, wrapped
from pgmpy_latent.tables.files import BadInputError

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """\
examples:
  pgmpy-latent transitions panel.csv --id person --time wave --states 2
  pgmpy-latent transitions panel.csv --id person --time wave --states 3 --by-time
  pgmpy-latent transitions p.csv --id id --time term --times fall,spring --states 2

The table is long: a row per person and time. Answers that are missing, and times at
which someone was not observed, are summed out, so that nobody is left out. Answers
in a state are the same at all times; transitions are equal, or differ by --by-time.
Larger BIC is better; compare several numbers of states by it.
"""


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "transitions",
        "find hidden states and moves between them",
        "Fit a latent transition model: hidden states, and how people move between them.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    add_table(parser, "a row per person and time")
    parser.add_argument("--id", required=True, metavar="COLUMN", help="column with the person of every row")
    parser.add_argument("--time", required=True, metavar="COLUMN", help="column with the time of every row")
    parser.add_argument("--times", type=listed, metavar="A,B,...", help="the times in order, where they are texts")
    parser.add_argument("--states", required=True, type=number(int, 1), metavar="K", help="number of hidden states")
    parser.add_argument("--by-time", action="store_true", help="let transitions differ between times")
    add_outputs(parser, "--paths", "write the most likely states of everyone there")


def run(args: argparse.Namespace) -> None:
    """Fit, print shares, transitions and answers, and write what is asked for."""
    paths = checked_outputs(args, "--paths")
    if args.id == args.time:
        raise BadInputError(f"--id and --time both name column {args.id!r}; name the column of the time")
    frame, items = read_rows(args, {"--id": args.id, "--time": args.time})
    frame = frame.assign(**{args.time: _times(frame[args.time], args.times)})

    from pgmpy_latent import latent_transition

    compile_first()
    settings = settings_of(frame, args)
    with errors_as_options(args):
        found = latent_transition(frame, args.id, args.time, items, args.states, args.by_time, **settings)
    moves = found.transitions_.rename_axis(index={args.time: "time"})
    tables = {"share": found.shares_.rename_axis("time"), "transition": moves, "answer": found.profiles_}
    say(
        [
            *wrapped(repr(found)),
            *frame_lines("Share of every state:", tables["share"]),
            *frame_lines("Transitions, rows from and columns to:", tables["transition"]),
            *frame_lines("Answers in every state:", tables["answer"]),
        ]
    )
    write_found(found, paths, [tidy(tables, "state"), found.paths().reset_index()])


def _times(column: pd.Series, order: list[str] | None) -> pd.Series:
    """Return times that have an order: numbers or dates as they are, texts in the order that is said."""
    import pandas as pd

    known = column.dropna().astype(object).unique()
    if order is None:
        texts = [time for time in known if isinstance(time, str)]
        if texts:
            raise BadInputError(
                f"--time: column {column.name!r} has texts, such as {texts[0]!r}, which have no order; say it, as "
                f"--times {as_list(texts[:20])}"
            )
        return column
    by_text = {str(time): time for time in known}
    lost = [text for text in by_text if text not in order]
    if lost:
        raise BadInputError(f"--times lacks {lost[0]!r}, which column {column.name!r} has; name every time")
    if len(set(order)) < len(order):
        raise BadInputError("--times names a time twice; name each once")
    return pd.Series(
        pd.Categorical(column.astype(object).map(str, na_action="ignore"), order, ordered=True), column.index
    )
