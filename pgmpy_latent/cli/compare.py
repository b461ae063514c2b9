"""``pgmpy-latent compare``: one table to choose the number of classes."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

from pgmpy_latent.cli.columns import choose_columns
from pgmpy_latent.cli.describe import aligned, describe_table
from pgmpy_latent.cli.files import encoded, missing_codes, optional_output, table_of, write_rows
from pgmpy_latent.cli.groups import check_group, compare_and_say
from pgmpy_latent.cli.kinds import add_kinds, with_numbers
from pgmpy_latent.cli.options import (
    add_columns,
    add_command,
    add_limits,
    add_prior,
    add_reading,
    add_seed_and_jobs,
    listed,
    number,
    sizes,
)
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs, written_lines
from pgmpy_latent.cli.text import compile_first, counted, say, width, wrapped
from pgmpy_latent.tables.files import BadInputError, check_known, known_endings

if TYPE_CHECKING:
    import pandas as pd

    from pgmpy_latent.tables.encode import CategoricalData

EXAMPLES = """\
examples:
  pgmpy-latent compare answers.csv --drop id --classes 1-6
  pgmpy-latent compare answers.csv --weights w --bootstrap 100 --output all.csv
  pgmpy-latent compare answers.csv --group country --classes 3
  pgmpy-latent compare patients.csv --kinds age=gaussian,visits=poisson

Fits a latent class model for every number of classes. Larger BIC, AIC and ICL
are better. Entropy is 1 if every row clearly belongs to one class. With --bootstrap,
p-values say whether one more class describes the table better than chance would
(BLRT), and whether the model fits at all (G2). With --group, it says what differs
between groups, for one number of classes: nothing, the sizes of the classes,
some items, or everything.
"""
#: Columns of the comparison before and after the scores -> title and format; those that a table lacks are left out.
SIZE = {"log_likelihood": ("log-lik.", "{:.2f}"), "n_parameters": ("params", "{:,.0f}")}
DIAGNOSTICS = {
    "relative_entropy": ("entropy", "{:.3f}"),
    "smallest_share": ("smallest", "{:.1%}"),
    "starts": ("starts", "{}"),
    "identified": ("identified", "{}"),
    "g2_p": ("p(G2)", "{:.3f}"),
    "blrt_p": ("p(BLRT)", "{:.3f}"),
}
#: Columns to leave out if the terminal is too narrow, the first ones first, after the scores other than BIC.
LEFT_OUT = ("identified", "smallest", "starts")


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "compare",
        "compare numbers of classes",
        "Put latent class models with several numbers of classes side by side.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("file", nargs="?", metavar="FILE", help=f"{known_endings()}; none: the demonstration table")
    parser.add_argument(
        "--classes", type=sizes, metavar="A-B", default=list(range(1, 9)), help="numbers of classes (default: 1-8)"
    )
    parser.add_argument("--group", metavar="COLUMN", help="say what differs between the groups of this column instead")
    parser.add_argument("--output", metavar="FILE.csv", help="write the whole table there, with all columns")
    add_overwrite(parser)
    add_columns(parser)
    add_reading(parser)
    add_kinds(parser)
    group = parser.add_argument_group("how it learns")
    group.add_argument("--starts", type=number(int, 1), metavar="N", default=16, help="random starts (default: 16)")
    group.add_argument(
        "--bootstrap", type=number(int, 0), metavar="N", default=0, help="draws for p-values (default: none)"
    )
    group.add_argument(
        "--ordinal", type=listed, metavar="A,B,...", default=[], help="columns of numbers that are ordered categories"
    )
    add_prior(group)
    add_seed_and_jobs(group)
    add_limits(group)


def run(args: argparse.Namespace) -> int:
    """Compare, print the table, and say which number is recommended and why; return the exit code."""
    path = optional_output(args.output)
    checkpoint = optional_output(args.checkpoint, "--checkpoint")
    outputs = [("--output", path), ("--checkpoint", checkpoint)]
    check_outputs(args, outputs, [("the table", args.file)], [checkpoint])
    columns = args.columns
    if columns and args.group is not None and args.group not in columns:
        columns = [*columns, args.group]  # as weights need not be among them
    table = choose_columns(table_of(args), columns, args.drop, args.weights, args.strata, args.cluster)
    check_known(table.frame, args.ordinal, "--ordinal")
    if args.group is not None:
        check_group(args, table)
    table, numeric = with_numbers(table, args.kinds)
    if numeric and args.bootstrap:
        raise BadInputError("--bootstrap draws tables of categories alone; leave it out, or --kinds")
    data = encoded(table, args.weight_kind, args.allow_many_states, numeric)
    _check_ordinal(data, args.ordinal)
    codes = missing_codes(args, table, data)
    say([*describe_table(table, data, table.missing_in), ""])

    if args.group is not None:
        compile_first()
        return compare_and_say(args, data, path, codes)

    from pgmpy_latent import compare_classes
    from pgmpy_latent.exceptions import MissingCodeWarning

    compile_first()

    bootstrap = {"n_bootstrap": args.bootstrap} if args.bootstrap else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingCodeWarning)  # the description of the table says it
        comparison = compare_classes(
            data,
            args.classes,
            n_starts=args.starts,
            prior=args.prior or None,
            random_state=args.seed,
            n_jobs=args.jobs,
            missing=codes,
            allow_many_states=True,
            ordinal=args.ordinal or None,
            time_limit=args.time_limit,
            checkpoint=args.checkpoint,
            **bootstrap,
        )
    say([*comparison_lines(comparison), "", *_recommendation(comparison)])
    if path is not None:
        write_rows(comparison.reset_index(), path, "%.10g")
        say(written_lines([path]))
    was_cut = len(comparison) < len(args.classes) and args.time_limit is None
    return 130 if was_cut else 0  # Ctrl-C leaves the sizes that were done


def _check_ordinal(data: CategoricalData, columns: list[str]) -> None:
    """Raise for columns of texts: a file does not say in which order they are."""
    states = dict(zip(data.columns, data.state_names, strict=True))
    for name in columns:
        if name in data.values:
            raise BadInputError(
                f"--ordinal names column {name!r}, which --kinds says is a number; leave out either, or say "
                f"{name}=categorical"
            )
        if len(states[name]) > 2 and not all(isinstance(state, (int, float)) for state in states[name]):
            raise BadInputError(
                f"--ordinal names column {name!r}, whose categories are texts, and a file does not say in which order "
                "they are; replace them by numbers"
            )


def comparison_lines(comparison: pd.DataFrame) -> list[str]:
    """Return the columns of a comparison that fit on the terminal; the recommended row has a star."""
    import pandas as pd

    from pgmpy_latent.scores import SCORES

    if {"n_best", "n_starts"} <= set(comparison.columns):
        comparison = comparison.assign(
            starts=[f"{a} of {b}" for a, b in zip(comparison["n_best"], comparison["n_starts"], strict=True)]
        )
    if "identified" in comparison.columns:
        comparison = comparison.assign(
            identified=[pd.NA if pd.isna(known) else "yes" if known else "no" for known in comparison["identified"]]
        )
    rows = {
        "classes": [f"{'* ' if best else ''}{n}" for n, best in zip(comparison.index, comparison["best"], strict=True)]
    }
    titles = {name: score.title for name, score in SCORES.items() if score.in_terminal}
    shown = SIZE | {name: (title, "{:.2f}") for name, title in titles.items()} | DIAGNOSTICS
    for name, (title, form) in shown.items():
        if name in comparison.columns and comparison[name].notna().any():
            rows[title] = ["" if pd.isna(value) else form.format(value) for value in comparison[name]]
    left_out = [*(title for name, title in titles.items() if name != "bic"), *LEFT_OUT]
    gone = []
    while len((lines := aligned(pd.DataFrame(rows)))[0]) > width() and (ahead := [t for t in left_out if t in rows]):
        gone.append(ahead[0])
        del rows[ahead[0]]
    return [*lines, *(wrapped(f"(no room for {', '.join(gone)}; --output writes all columns)") if gone else [])]


def _recommendation(comparison: pd.DataFrame) -> list[str]:
    chosen = comparison.attrs.get("recommended", comparison.index[comparison["best"]][0])
    reason = comparison.attrs.get("reason", "It has the best BIC.").replace("raise n_starts", "raise --starts")
    return wrapped(f"Recommended: {counted(int(chosen), 'class', 'es')}. {reason}")
