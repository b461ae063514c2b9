"""Which files a command may write: never one that it reads, none twice, and existing ones only with --overwrite."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pgmpy_latent.tables.files import BadInputError


def add_overwrite(parser, *aliases: str) -> None:
    """Add the option that lets a command overwrite files."""
    parser.add_argument(
        "--overwrite",
        *aliases,
        action="store_true",
        help="overwrite existing files (never those that are read)",
    )


def check_outputs(
    args: argparse.Namespace,
    outputs: Sequence[tuple[str, Path | None]],
    inputs: Sequence[tuple[str, str | None]],
    free: Sequence[Path | None] = (),
) -> None:
    """Raise, before any work, if a command would overwrite its input, or an existing file without ``--overwrite``.

    Parameters
    ----------
    args : argparse.Namespace
        Says whether files may be overwritten.
    outputs : sequence of (option, path)
        What is going to be written; None for the terminal.
    inputs : sequence of (words, path)
        What is going to be read; None where nothing was named.
    free : sequence of paths
        Outputs that may be there already.
    """
    written = [(option, path) for option, path in outputs if path is not None]
    for at, (option, path) in enumerate(written):
        for words, read in inputs:
            if read is not None and is_same_file(path, read):
                raise BadInputError(f"{option}: {str(path)!r} is {words}, which this command reads; give another name")
        for other, earlier in written[:at]:
            if is_same_file(path, earlier):
                raise BadInputError(f"{option}: {str(path)!r} is also the file of {other}; give another name")
    for option, path in written:
        if os.path.lexists(path) and not args.overwrite and path not in free:
            raise BadInputError(
                f"{option}: {str(path)!r} exists already; give another name, or pass --overwrite to replace it"
            )


def written_lines(paths: Iterable[Path | None]) -> list[str]:
    """Return a line for every file that was written; None stands for those that were not asked for.

    Examples
    --------
    >>> written_lines([Path("tests.csv"), None])
    ['Written: tests.csv']
    """
    return [f"Written: {path}" for path in paths if path is not None]


def is_same_file(one: str | os.PathLike, other: str | os.PathLike) -> bool:
    """Tell whether two paths lead to one file, by whatever links and spellings.

    Examples
    --------
    >>> is_same_file("model.json", "./folder/../model.json"), is_same_file("model.json", "other.json")
    (True, False)
    """
    if "\0" in f"{one}{other}":  # which is no path, as reading it will say
        return False
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))
