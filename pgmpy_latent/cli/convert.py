"""``pgmpy-latent convert``: a model in another format, and what that loses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent.cli.files import history_in_file, output_file, read_model
from pgmpy_latent.cli.options import add_command, listed
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs, written_lines
from pgmpy_latent.cli.text import say, wrapped
from pgmpy_latent.tables.files import BadInputError, did_you_mean

if TYPE_CHECKING:
    from pgmpy_latent.model.network import LatentNetwork
    from pgmpy_latent.model.tree import LatentTree

EXAMPLES = """\
examples:
  pgmpy-latent convert model.json model.bif             for pgmpy, bnlearn, pyAgrum
  pgmpy-latent convert model.json model.dne             for Netica
  pgmpy-latent convert mixed.json model.bif --force     without its numeric columns
  pgmpy-latent convert model.bif model.json --hidden H  of a file of others

Endings: .json, .bif, .xmlbif or .xml, .net (Hugin), .uai, .xdsl (GeNIe), and, which
are only written: .dne (Netica), .r (code for bnlearn), .py (code for pgmpy).
Probabilities keep every digit. Names and states that a format does not allow are
respelled; a file beside it, OUT.names.json, says how, and which variables are
hidden. Where it is there, the model is read back as it was. Columns of weights,
strata and clusters, and how the search went, stay in .json alone.
"""


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "convert",
        "write a model in another format",
        "Write a model in the format of another program, unless that would lose something.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the file to read")
    parser.add_argument("out", metavar="OUT", help="the file to write; its ending says the format")
    parser.add_argument("--hidden", type=listed, metavar="A,B,...", default=[], help="variables that are hidden")
    parser.add_argument("--force", action="store_true", help="write it even if something is lost")
    add_overwrite(parser)


def run(args: argparse.Namespace) -> None:
    """Write the model in another format, or print what that would lose."""
    from pgmpy_latent import fitted
    from pgmpy_latent.model import exports

    kind = exports.format_of(args.out)
    path = output_file(args.out, "OUT")
    outputs = [("OUT", path), *([("OUT", exports.names_path(path))] if kind.text is not None else [])]
    check_outputs(args, outputs, [("the model", args.model)])
    model = _hiding(read_model(args.model), args.hidden)
    check = exports.check_export(model, kind.name) if kind.text is not None else None
    lost = _indented(check.lost) if check is not None else []
    if lost and not args.force:
        words = f"{kind.name.upper()} would lose something; nothing was written. Pass --force to write it anyway."
        raise BadInputError("\n".join([words, *lost]))
    history = history_in_file(args.model)
    forgotten = [] if history is None else history.in_words()
    if kind.text is None and forgotten and not args.hidden:
        written = exports.write_model(fitted(args.model), path)
        forgotten = []
    else:
        written = exports.write_model(model, path)
    say(written_lines(written))
    if lost:
        say(["What it lost:", *lost])
    if check is not None and check.respelled:
        say([f"What {path.name} cannot say, and {written[-1].name} keeps:", *_indented(check.respelled)])
    if forgotten:
        say(wrapped(f"What only {Path(args.model).name} keeps: {', '.join(forgotten)}", "  "))


def _indented(sentences: Sequence[str]) -> list[str]:
    return [line for words in sentences for line in wrapped(f"  {words}", "    ")]


def _hiding(model: LatentTree | LatentNetwork, hidden: list[str]) -> LatentTree | LatentNetwork:
    """Return the model with some more of its nodes hidden."""
    from dataclasses import replace

    import numpy as np

    names = [str(name) for name in model.names]
    for name in hidden:
        if name not in names:
            raise BadInputError(f"--hidden: the model has no {name!r}; {did_you_mean(name, names)}")
    latent = model.latent | np.array([name in hidden for name in names])
    return replace(model, latent=latent) if hidden else model
