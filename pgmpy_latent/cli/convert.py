"""``pgmpy-latent convert``: a model in another format, and what that loses."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pgmpy_latent.cli.files import output_file, read_model
from pgmpy_latent.cli.options import add_command, listed
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs
from pgmpy_latent.cli.text import say, wrapped
from pgmpy_latent.tables.files import BadInputError, did_you_mean

if TYPE_CHECKING:
    from pgmpy_latent.model.network import LatentNetwork
    from pgmpy_latent.model.tree import LatentTree

EXAMPLES = """\
examples:
  pgmpy-latent convert model.json model.bif             unless that loses something
  pgmpy-latent convert model.json model.xmlbif --force  written anyway
  pgmpy-latent convert model.bif model.json --hidden H  BIF forgets what is hidden

Endings: .json, which loses nothing, .bif, .xmlbif or .xml, .net and .uai. What
would be lost is listed; to find out, pgmpy writes and reads the model.
"""


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "convert",
        "write a model in another format",
        "Write a model in another format, unless that would lose something.",
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
    from pgmpy_latent.model import exports

    kind = exports.format_of(args.out)
    path = output_file(args.out, "OUT")
    check_outputs(args, [("OUT", path)], [("the model", args.model)])
    model = _hiding(read_model(args.model), args.hidden)
    losses = exports.check_export(model, kind.name) if kind.may_lose else []
    lost = [line for loss in losses for line in wrapped(f"  {loss}", "    ")]
    if losses and not args.force:
        words = f"{kind.name.upper()} would lose something; nothing was written. Pass --force to write it anyway."
        raise BadInputError("\n".join([words, *lost]))
    kind.write(model, path)
    say([f"Written: {path}", *(["What it lost:", *lost] if lost else [])])


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
