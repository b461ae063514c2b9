"""``pgmpy-latent levels``: classes of rows in clusters of groups."""

from __future__ import annotations

import argparse

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
from pgmpy_latent.cli.options import add_command, number
from pgmpy_latent.cli.text import compile_first, say, wrapped

EXAMPLES = """\
examples:
  pgmpy-latent levels pupils.csv --group school --classes 2 --clusters 2
  pgmpy-latent levels pupils.csv --group school --classes 2 --clusters 3 --jobs 1

A row per member of a group, such as pupils in schools. Every group belongs to a
cluster, and clusters differ in the sizes of the classes, which mean the same
everywhere. Larger BIC by groups is better: compare numbers of clusters by it.
"""


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "levels",
        "find classes of rows and clusters of groups",
        "Fit a multilevel latent class model: classes of rows in clusters of groups.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    add_table(parser, "a row per member of a group")
    parser.add_argument("--group", required=True, metavar="COLUMN", help="column with the group of every row")
    parser.add_argument("--classes", required=True, type=number(int, 1), metavar="K", help="number of classes of rows")
    parser.add_argument(
        "--clusters", required=True, type=number(int, 1), metavar="N", help="number of clusters of groups"
    )
    add_outputs(parser, "--groups", "write how likely every group is in every cluster there")


def run(args: argparse.Namespace) -> None:
    """Fit, print shares and answers, and write what is asked for."""
    paths = checked_outputs(args, "--groups")
    frame, items = read_rows(args, {"--group": args.group})

    from pgmpy_latent import multilevel_classes

    compile_first()
    settings = settings_of(frame, args)
    with errors_as_options(args):
        found = multilevel_classes(frame, args.group, args.classes, args.clusters, items=items, **settings)
    shares = found.class_shares_
    clusters = found.cluster_shares_.to_frame()
    say(
        [
            *wrapped(repr(found)),
            *frame_lines("Share of the groups in every cluster:", clusters),
            *frame_lines("Share of every class (columns) in every cluster (rows):", shares),
            *frame_lines("Answers in every class:", found.profiles_),
        ]
    )
    whole = clusters.set_axis([None], axis=1)
    tables = {"cluster share": whole, "class share": shares, "answer": found.profiles_}
    groups = found.groups()
    groups.columns = [f"P(cluster={cluster})" for cluster in groups.columns]
    write_found(found, paths, [tidy(tables, "class"), groups.reset_index()])
