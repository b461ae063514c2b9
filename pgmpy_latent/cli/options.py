"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
import csv
import io
import shlex
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import TypeVar

from pgmpy_latent.tables.missing import MISSING_TEXTS

#: Kinds of weights, as in :mod:`pgmpy_latent.tables.survey`, repeated here to keep ``--help`` fast.
KINDS = ("frequency", "sampling")


Number = TypeVar("Number", int, float)


def number(kind: type[Number], least: float) -> Callable[[str], Number]:
    """Return a reader of numbers of at least some size.

    Examples
    --------
    >>> number(int, 1)("3")
    3
    """

    def read(text: str) -> Number:
        with suppress(ValueError):
            value = kind(text)
            if least <= value < float("inf"):
                return value
        word = "whole number" if kind is int else "number"
        raise argparse.ArgumentTypeError(f"{text!r} is not a {word} of at least {least}")

    return read


def positive(text: str) -> float:
    """Read a number above zero."""
    value = number(float, 0)(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} leaves no time; give a number of seconds above 0")
    return value


def jobs(text: str) -> int:
    """Read a number of threads; -1 stands for all cores."""
    return -1 if text == "-1" else number(int, 1)(text)


def listed(text: str) -> list[str]:
    """Split at commas; quotes protect a comma.

    Examples
    --------
    >>> listed('a,"b,c"')
    ['a', 'b,c']
    """
    return next(csv.reader([text]), [])


def as_list(names: Iterable[Hashable]) -> str:
    """Return names as :func:`listed` reads them, ready for a shell.

    Examples
    --------
    >>> print(as_list(["age", "city, state"]))
    'age,"city, state"'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(map(str, names))
    return shlex.quote(text.getvalue())


def sizes(text: str) -> list[int]:
    """Read numbers of classes and ranges of them.

    Examples
    --------
    >>> sizes("1-3,5")
    [1, 2, 3, 5]
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (first.strip().isdecimal() and (last.strip().isdecimal() or not dash)):
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of classes, such as 1-8 or 2,3,5")
        low = int(first)
        high = int(last) if dash else low
        if not 1 <= low <= high:
            raise argparse.ArgumentTypeError(f"{part!r} is not a range of numbers of classes, such as 1-8")
        numbers.update(range(low, high + 1))
    return sorted(numbers)


def add_command(commands, name: str, words: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Add a command with its help, which ends in examples."""
    return commands.add_parser(
        name,
        help=words,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a table is read."""
    group = parser.add_argument_group("how the file is read")
    group.add_argument(
        "--missing",
        type=listed,
        action="append",
        metavar="A,B,...",
        help="texts and numbers that mean a missing cell, as an empty cell always does; COLUMN=A,B,... is for one "
        f"column, and the option can be repeated. Values for all columns replace the default "
        f"({','.join(MISSING_TEXTS)}; in Parquet none), and do not apply to weights, strata, clusters and --id; '' "
        "means empty cells only",
    )
    group.add_argument(
        "--separator", metavar="C", help="separator of cells (default: commas, semicolons or tabs, by the first lines)"
    )


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose columns of a table."""
    group = parser.add_argument_group("which columns are used")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--columns", type=listed, metavar="A,B,...", help="use these columns only")
    which.add_argument(
        "--drop",
        type=listed,
        metavar="A,B,...",
        default=[],
        help="leave these columns out; names are separated by commas without blanks, and a name with a comma in it "
        "goes in double quotes inside single ones: --drop 'id,\"city, state\"' (the same for all lists of columns)",
    )
    add_survey(group)


def add_design(group) -> None:
    """Add the options that say how rows were drawn."""
    group.add_argument("--weights", metavar="COLUMN", help="column of row weights")
    group.add_argument(
        "--weight-kind",
        choices=KINDS,
        help="frequency weights count rows (default: whole numbers are frequencies)",
    )
    group.add_argument("--strata", metavar="COLUMN", help="column of strata, which were drawn from separately")
    group.add_argument("--cluster", metavar="COLUMN", help="column of clusters (primary sampling units)")


def add_survey(group) -> None:
    """Add the options that say how rows were drawn, and which columns are categories all the same."""
    add_design(group)
    group.add_argument(
        "--allow-many-states",
        type=listed,
        metavar="A,B,...",
        default=[],
        help="columns that are categories although they look like identifiers, dates or measurements",
    )


def add_seed_and_jobs(group) -> None:
    """Add the seed and the number of threads."""
    group.add_argument(
        "--seed", type=number(int, 0), metavar="N", default=0, help="seed of the random numbers (default: 0)"
    )
    group.add_argument("--jobs", type=jobs, metavar="N", default=-1, help="threads (default: one per core)")


def add_limits(group) -> None:
    """Add the time limit and the checkpoint of commands that fit many models."""
    group.add_argument(
        "--time-limit", type=positive, metavar="SECONDS", help="stop after this time, with what is finished"
    )
    group.add_argument("--checkpoint", metavar="FILE", help="save what is finished there; the same command goes on")


def add_prior(group) -> None:
    """Add the pseudo-count."""
    group.add_argument(
        "--prior",
        type=number(float, 0),
        metavar="A",
        default=0.0,
        help="pseudo-count for every probability (default: 0, maximum likelihood)",
    )
