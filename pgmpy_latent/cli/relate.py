"""``pgmpy-latent relate``: what predicts the class of a saved model, and what differs between its classes."""

from __future__ import annotations

import argparse
import re
import warnings
from typing import TYPE_CHECKING

from pgmpy_latent.cli.describe import in_options
from pgmpy_latent.cli.files import missing_in, optional_output, read_model, table_for, write_rows
from pgmpy_latent.cli.model_and_rows import add_model, add_rows, design_of
from pgmpy_latent.cli.options import add_command, add_design, add_limits, add_reading, as_list, listed, number
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs, written_lines
from pgmpy_latent.cli.text import compile_first, note, say
from pgmpy_latent.tables.files import BadInputError, check_known, did_you_mean, split_at_column

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """\
examples:
  pgmpy-latent relate model.json answers.csv --covariates age,sex
  pgmpy-latent relate model.json answers.csv --covariates age --steps 1
  pgmpy-latent relate model.json answers.csv --outcome income --correction bch

Covariates predict the class, by a multinomial logit; an outcome differs between
classes. Three steps assign rows to classes and correct for wrong assignments.
Rows without a covariate or an outcome are left out of every step. A column counts
as numeric if all of its cells are numbers, unless --categorical names it; categories
are compared with the first, or the one that --reference names. Weights, strata and
clusters are the columns that the model was learned with, if its file says so (.json)
and the table has them; --weights, --strata and --cluster name others, and "none"
does without.
"""
#: Families of outcomes.
FAMILIES = ("normal", "categorical", "count")


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "relate",
        "relate classes to other columns",
        "Say what predicts the class of a row, or what differs between classes.",
        EXAMPLES,
    )
    parser.set_defaults(run=run, absent="error")
    add_model(parser)
    add_rows(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--covariates", type=listed, metavar="A,B,...", help="columns that predict the class")
    which.add_argument("--outcome", metavar="COLUMN", help="a column that differs between classes")
    parser.add_argument(
        "--categorical", type=listed, metavar="A,B,...", default=[], help="columns of numbers that are categories"
    )
    parser.add_argument(
        "--reference", action="append", metavar="COLUMN=CATEGORY", default=[],
        help="category of a covariate that its others are compared with (default: the first in the alphabet); the "
        "option can be repeated",
    )  # fmt: skip
    parser.add_argument("--steps", type=int, choices=(1, 2, 3), default=3, help="number of steps (default: 3)")
    parser.add_argument(
        "--correction", choices=("ml", "bch", "none"), default="ml", help="with three steps (default: ml)"
    )
    parser.add_argument(
        "--assignment", choices=("modal", "proportional"), default="modal", help="with three steps (default: modal)"
    )
    parser.add_argument("--family", choices=FAMILIES, help="distribution of the outcome (default: by its values)")
    parser.add_argument("--latent", metavar="NAME", help="hidden variable that is the class, if there are several")
    parser.add_argument("--starts", type=number(int, 1), metavar="N", default=1, help="starts of one step (default: 1)")
    parser.add_argument("--seed", type=number(int, 0), metavar="N", default=0, help="seed of the starts (default: 0)")
    add_limits(parser)
    parser.add_argument("--output", metavar="FILE.csv", help="write coefficients or means there")
    add_overwrite(parser)
    add_design(parser.add_argument_group("how rows were drawn"))
    add_reading(parser)


def run(args: argparse.Namespace) -> None:
    """Relate, print the result, and write its table if a file is named."""
    path, checkpoint = optional_output(args.output), optional_output(args.checkpoint, "--checkpoint")
    outputs = [("--output", path), ("--checkpoint", checkpoint)]
    check_outputs(args, outputs, [("the table", args.file), ("the model", args.model)], [checkpoint])
    model = read_model(args.model)
    rows, frame = table_for(model, args)
    names = args.covariates or [args.outcome]
    option = "--covariates" if args.covariates else "--outcome"
    check_known(frame, names, option)
    check_known(frame, args.categorical, "--categorical")
    if args.reference and args.outcome:
        raise BadInputError("--reference names categories of covariates, and an outcome has none; leave it out")
    z = _with_references(_values(frame, names, args.categorical), args.reference)

    from pgmpy_latent import CovariateRelation, relate
    from pgmpy_latent.exceptions import MissingCodeWarning
    from pgmpy_latent.relations.rows import suspected_values

    settled = missing_in(args, list(frame.columns))
    suspected = {name: codes for name, codes in suspected_values(z).items() if name not in settled}
    for words in in_options("values", suspected):
        note(words)
    compile_first()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingCodeWarning)  # said above, in terms of options
            found = relate(
                model,
                rows,
                z,
                "covariate" if args.covariates else "outcome",
                args.steps,
                None if args.correction == "none" else args.correction,
                args.assignment,
                latent=args.latent,
                family=args.family,
                n_starts=args.starts,
                random_state=args.seed,
                time_limit=args.time_limit,
                checkpoint=args.checkpoint,
                **design_of(frame, args),
            )
    except ValueError as error:
        raise BadInputError(re.sub(r"\bz\b", option, str(error))) from None
    say(repr(found).splitlines())
    if path is not None:
        write_rows(found.coefficients if isinstance(found, CovariateRelation) else found.means, path, "%.10g")
        say(written_lines([path]))


def _values(frame: pd.DataFrame, names: list[str], categorical: list[str]) -> pd.DataFrame:
    """Return columns, as numbers where all cells are."""
    import pandas as pd

    columns = {}
    for name in names:
        column = frame[name]
        numbers = pd.to_numeric(column.astype(object), errors="coerce")
        is_number = name not in categorical and bool((numbers.notna() == column.notna()).all())
        columns[name] = numbers.astype("float64") if is_number else column.astype(object)
    return pd.DataFrame(columns)


def _with_references(z: pd.DataFrame, said: list[str]) -> pd.DataFrame:
    """Return covariates whose first categories, which the others are compared with, are those that were said."""
    import pandas as pd

    from pgmpy_latent.relations.covariates import categories_of, is_numeric

    z = z.copy()
    for text in said:
        name, category = split_at_column(text, list(z.columns), "--reference")
        if is_numeric(z[name]):
            raise BadInputError(f"--reference: {name!r} holds numbers; pass --categorical {as_list([name])} too")
        order = sorted(categories_of(z[name]), key=lambda value: str(value) != category)  # a stable sort
        if str(order[0]) != category:
            known = did_you_mean(category, list(map(str, order)))
            raise BadInputError(f"--reference: {name!r} has no category {category!r}; {known}")
        z[name] = pd.Categorical(z[name], order)
    return z
