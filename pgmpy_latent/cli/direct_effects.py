"""``pgmpy-latent direct-effects``: which columns depend on each other beyond the classes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pgmpy_latent.cli.describe import aligned
from pgmpy_latent.cli.files import optional_output, read_model, table_for, write_rows
from pgmpy_latent.cli.model_and_rows import add_model, add_rows, design_of
from pgmpy_latent.cli.options import add_command, add_design, add_limits, add_reading, add_seed_and_jobs, number
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs, written_lines
from pgmpy_latent.cli.text import compile_first, counted, say, wrapped

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """\
examples:
  pgmpy-latent direct-effects model.json answers.csv
  pgmpy-latent direct-effects model.json answers.csv --output tests.csv
  pgmpy-latent direct-effects model.json answers.csv --add --report edges.html

Tests for every two columns whether an edge between them would describe the table
better; adjusted p-values allow for the number of pairs. With --add, edges are
added one at a time, as long as BIC rises; --report writes a page about the model
and them.
Weights, strata and clusters are the columns that the model was learned with, if
the file has them; --weights, --strata and --cluster name others, and "none" does
without.
"""
#: How many pairs are printed.
SHOWN = 20


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "direct-effects",
        "find columns that depend on each other beyond the classes",
        "Test the columns of a latent class model for direct effects, and add them.",
        EXAMPLES,
    )
    parser.set_defaults(run=run, absent="error")
    add_model(parser)
    add_rows(parser)
    parser.add_argument("--add", action="store_true", help="add edges as long as BIC rises, and say which")
    parser.add_argument("--output", metavar="FILE.csv", help="write the tests of all pairs there")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about the model and its edges (adds them)")
    add_overwrite(parser)
    add_design(parser.add_argument_group("how rows were drawn"))
    add_reading(parser)
    group = parser.add_argument_group("how edges are added")
    group.add_argument("--starts", type=number(int, 0), metavar="N", default=4, help="random starts (default: 4)")
    add_seed_and_jobs(group)
    add_limits(group)


def run(args: argparse.Namespace) -> None:
    """Test all pairs, print the strongest, add edges if asked, and write the tests and the report."""
    path, report = optional_output(args.output), optional_output(args.report, "--report")
    checkpoint = optional_output(args.checkpoint, "--checkpoint")
    outputs = [("--output", path), ("--report", report), ("--checkpoint", checkpoint)]
    check_outputs(args, outputs, [("the table", args.file), ("the model", args.model)], [checkpoint])
    model = read_model(args.model)
    rows, frame = table_for(model, args)
    design = design_of(frame, args)

    from pgmpy_latent import add_direct_effects, direct_effects, write_report

    compile_first()
    tests = direct_effects(model, rows, **design)
    say(effect_lines(tests))
    added = None
    if args.add or report is not None:
        added = add_direct_effects(
            model,
            rows,
            n_starts=args.starts,
            random_state=args.seed,
            n_jobs=args.jobs,
            time_limit=args.time_limit,
            checkpoint=args.checkpoint,
            **design,
        )
        say(["", *wrapped(repr(added))])
    if path is not None:
        write_rows(tests, path, "%.10g")
    if report is not None:
        write_report(model, report, rows, direct_effects=added, **design)
    if written := written_lines([path, report]):
        say(["", *written])


def effect_lines(tests: pd.DataFrame) -> list[str]:
    """Return the strongest direct effects as lines."""
    import pandas as pd

    shown = tests.head(SHOWN)
    forms = {"statistic": "{:.2f}", "df": "{}", "p_value": "{:.3f}", "adjusted_p": "{:.3f}"}
    titles = {"p_value": "p", "adjusted_p": "adjusted"}
    lines = aligned(
        pd.DataFrame(
            {
                titles.get(name, name): [forms.get(name, "{}").format(value) for value in shown[name]]
                for name in ("first", "second", *forms)
            }
        )
    )
    further = len(tests) - len(shown)
    return [*lines, *([f"... and {counted(further, 'more pair')}; --output writes all"] if further else [])]
