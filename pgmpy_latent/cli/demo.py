"""``pgmpy-latent demo``: a table to try the other commands on."""

from __future__ import annotations

import argparse

from pgmpy_latent.cli.files import demonstration, output_file, write_rows
from pgmpy_latent.cli.options import add_command
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs
from pgmpy_latent.cli.text import counted, say

EXAMPLES = """\
examples:
  pgmpy-latent demo                    writes demo.csv
  pgmpy-latent demo survey.csv
"""
#: Commands to try next, with the file that was written.
NEXT = """\
pgmpy-latent learn {file} --method east --output camps --report camps.html
pgmpy-latent compare {file} --classes 1-4
pgmpy-latent predict camps.json {file} --output states.csv
pgmpy-latent score camps.json {file} --output scores.csv
pgmpy-latent sample camps.json -n 5 --seed 0
pgmpy-latent convert camps.json camps.bif --force"""


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "demo",
        "write a table to try things on",
        "Write a table to try the other commands on: what 944 people said in 1996.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("out", nargs="?", metavar="FILE.csv", default="demo.csv", help="where (default: demo.csv)")
    add_overwrite(parser, "--force")


def run(args: argparse.Namespace) -> None:
    """Write the table, and say what can be done with it."""
    path = output_file(args.out, "FILE")
    check_outputs(args, [("FILE", path)], [])
    table = demonstration()
    write_rows(table.frame, path)
    rows, columns = (counted(n, what) for n, what in zip(table.frame.shape, ("row", "column"), strict=True))
    say([f"Written: {path}, {table.title}: {rows}, {columns}", "", "Try:"])
    say([f"  {line}" for line in NEXT.format(file=path).splitlines()])
