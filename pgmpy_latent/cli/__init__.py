"""The command line, ``pgmpy-latent``: learn, score, predict, sample, compare, relate and others."""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pgmpy_latent import __version__
from pgmpy_latent.cli import ask, compare, convert, demo, direct_effects, learn, levels, relate, transitions
from pgmpy_latent.cli.text import progress_and_notes
from pgmpy_latent.exceptions import PgmpyLatentError

#: New objects after which Python looks for garbage; 700 by default.
COLLECTION_THRESHOLD = 100_000

OVERVIEW = """\
examples:
  pgmpy-latent demo                           write a table to try things on
  pgmpy-latent learn demo.csv --output model  learn from it; writes model.json
  pgmpy-latent predict model.json demo.csv    in which class is every row?
  pgmpy-latent COMMAND --help                 options and examples of a command

exit codes: 0 fine, 1 failed at work, 2 bad usage or input, 130 Ctrl-C
"""


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; options that a command does not have are its error, and its help lists those it has."""
    parser, commands = _parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        command = commands.choices[args.command]
        command.error(f"{command.prog} has no {' '.join(unknown)}; {command.prog} --help lists its options")
    return args


def _parser() -> tuple[argparse.ArgumentParser, argparse._SubParsersAction]:
    parser = argparse.ArgumentParser(
        prog="pgmpy-latent",
        description="Learn hidden variables in categorical data; a plugin to pgmpy.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pgmpy-latent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    learn.add_parser(commands)
    ask.add_parsers(commands)
    compare.add_parser(commands)
    relate.add_parser(commands)
    direct_effects.add_parser(commands)
    transitions.add_parser(commands)
    levels.add_parser(commands)
    convert.add_parser(commands)
    demo.add_parser(commands)
    return parser, commands


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage less often: importing makes some 200,000 objects that stay, and each search visits them all.

    With Python's own threshold this is a tenth of the time of a short run.
    """
    before = gc.get_threshold()
    gc.set_threshold(COLLECTION_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        The exit code: 0; 1 if something failed at work, such as a full disk; 2 for bad usage or input; 130 after
        Ctrl-C, also where the best model so far was written.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks must not end the run
    args = _parsed(argv)
    args.command_line = shlex.join(["pgmpy-latent", *(sys.argv[1:] if argv is None else argv)])
    try:
        with rare_collections(), progress_and_notes():
            return args.run(args) or 0
    except PgmpyLatentError as error:
        print(f"pgmpy-latent: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output is gone; there is no one to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"pgmpy-latent: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("pgmpy-latent: interrupted; nothing was written", file=sys.stderr)
        return 130
