"""``pgmpy-latent score``, ``predict`` and ``sample``: what a saved model says about rows, and new rows from it."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent.cli.columns import weights_of
from pgmpy_latent.cli.files import optional_output, read_model, table_for, write_rows
from pgmpy_latent.cli.model_and_rows import add_model, add_rows, design_columns
from pgmpy_latent.cli.options import add_command, add_reading, listed, number
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs
from pgmpy_latent.cli.text import compile_first, counted, note
from pgmpy_latent.tables.files import BadInputError, check_known, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pgmpy_latent.inference.queries import Absent

SCORE_EXAMPLES = """\
examples:
  pgmpy-latent score model.json answers.csv
  pgmpy-latent score model.json new.csv --id respondent --output scores.csv
  pgmpy-latent score model.json answers.csv --unseen error > scores.csv

Logarithms are natural. Larger is better, and the least likely rows are the
oddest. Missing cells are summed out. The mean goes to stderr. The file needs the
columns of the model, unless --absent sum-out allows it to lack some; others are
ignored, but for the column of weights that the model was learned with, which the
mean has, too. Values that --missing named when the model was learned count
as missing here, too.
"""
PREDICT_EXAMPLES = """\
examples:
  pgmpy-latent predict model.json answers.csv --id respondent --output classes.csv
  pgmpy-latent predict model.json answers.csv --variables vote

For a hidden variable H there is a column H, its most likely state, and P(H=0),
P(H=1), ..., the probabilities of its states given the row. Missing cells are
summed out. A column of the table, such as vote above, is predicted where it is
missing.
"""
SAMPLE_EXAMPLES = """\
examples:
  pgmpy-latent sample model.json -n 5
  pgmpy-latent sample model.json -n 1000 --seed 0 --latents --output drawn.csv
"""


def add_parsers(commands) -> None:
    """Add the commands to the parser."""
    score = add_command(
        commands, "score", "say how likely rows are", "Write the log-likelihood of every row.", SCORE_EXAMPLES
    )
    score.set_defaults(run=run_score)
    _add_files(score)
    score.add_argument("--weights", metavar="COLUMN", help="column of row weights, for the mean; none: no weights")
    predict = add_command(
        commands,
        "predict",
        "say in which hidden state rows are",
        "For every row, write the most likely state of every hidden variable, and the\nprobabilities of all states.",
        PREDICT_EXAMPLES,
    )
    predict.set_defaults(run=run_predict)
    _add_files(predict)
    predict.add_argument(
        "--variables", type=listed, metavar="A,B,...", help="these variables, hidden or not (default: the hidden ones)"
    )
    sample = add_command(commands, "sample", "draw rows", "Draw rows from a model, as CSV.", SAMPLE_EXAMPLES)
    sample.set_defaults(run=run_sample)
    _add_model(sample)
    sample.add_argument("-n", type=number(int, 0), metavar="N", default=1000, help="number of rows (default: 1000)")
    sample.add_argument("--seed", type=number(int, 0), metavar="N", help="same seed, same rows (default: other rows)")
    sample.add_argument("--latents", action="store_true", help="write the hidden variables too")


def _add_model(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--output", metavar="FILE.csv", help="where to write (default: the terminal)")
    add_overwrite(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    add_rows(parser)
    parser.add_argument("--id", metavar="COLUMN", help="a column of the file to keep; otherwise rows are numbered")
    parser.add_argument(
        "--unseen",
        choices=("missing", "error"),
        default="missing",
        help="how to treat categories that the model does not know (default: missing, with a note)",
    )
    parser.add_argument(
        "--absent",
        choices=("error", "sum-out"),
        default="error",
        help="how to treat columns of the model that the file lacks (default: an error)",
    )
    add_reading(parser)


# Running ------------------------------------------------------------------------------------------


def run_score(args: argparse.Namespace) -> None:
    """Write the log-likelihood of every row."""
    path = _output(args)
    model = read_model(args.model)
    rows, frame = table_for(model, args)
    names = _names_of_rows(frame, args.id)
    column = design_columns(frame, args).get("sample_weight")
    weights = None if column is None else weights_of(frame[column])

    import numpy as np

    from pgmpy_latent import row_log_likelihoods

    compile_first()
    with _in_terms_of_options():
        values = row_log_likelihoods(model, rows, unseen=args.unseen, absent=_word(args))
    write_rows(_beside(names, {"log_likelihood": values}), path, "%.12g")
    impossible = np.isneginf(values.to_numpy())
    _say_impossible(impossible, names)
    counts = np.ones(len(values)) if weights is None else weights.to_numpy()
    mean = np.average(values.to_numpy()[~impossible], weights=counts[~impossible]) if counts[~impossible].any() else 0.0
    which = "of the others" if impossible.any() else f"of {counted(len(values), 'row')}"
    words = f"mean log-likelihood {mean:.6f} {which}{'' if weights is None else f', weighted by {column!r}'}"
    print(words, file=sys.stderr, flush=True)


def run_predict(args: argparse.Namespace) -> None:
    """Write the most likely states and the probabilities of all states for every row."""
    path = _output(args)
    model = read_model(args.model)
    variables = _variables(model, args.variables)
    rows, frame = table_for(model, args)
    names = _names_of_rows(frame, args.id)

    from pgmpy_latent import most_likely, posterior

    compile_first()
    with _in_terms_of_options(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "rows of probability zero")  # said below
        options = {"unseen": args.unseen, "absent": _word(args)}
        shares = posterior(model, rows, variables, **options)
        likeliest = most_likely(model, rows, variables, **options)
    columns = {}
    for at, name in enumerate(variables):
        columns[str(name)] = likeliest.iloc[:, at]
        columns |= {f"P({name}={state})": shares[name][state] for state in model.state_names[model.index(name)]}
    write_rows(_beside(names, columns), path)
    _say_impossible(shares.isna().any(axis=1).to_numpy(), names)


def run_sample(args: argparse.Namespace) -> None:
    """Write rows that are drawn from the model."""
    path = _output(args)
    model = read_model(args.model)

    from pgmpy_latent import sample

    write_rows(sample(model, args.n, latents=args.latents, random_state=args.seed), path)


# Parts --------------------------------------------------------------------------------------------


def _output(args: argparse.Namespace) -> Path | None:
    """Return the file to write, after checking that it is neither the model nor the table; None means the terminal."""
    path = optional_output(args.output)
    read = [("the model", args.model), ("the table", getattr(args, "file", None))]
    check_outputs(args, [("--output", path)], read)
    return path


def _word(args: argparse.Namespace) -> Absent:
    """Return the value of the Python keyword ``absent`` for the option."""
    return "sum_out" if args.absent == "sum-out" else "error"


def _variables(model, wanted: list[str] | None) -> list:
    if wanted is None:
        if not model.latent_names:
            raise BadInputError("the model has no hidden variables; name columns to predict with --variables")
        return list(model.latent_names)
    by_text = {str(name): name for name in model.names}
    for name in wanted:
        if name not in by_text:
            raise BadInputError(f"--variables: the model has no {name!r}; {did_you_mean(name, list(by_text))}")
    return [by_text[name] for name in dict.fromkeys(wanted)]


def _names_of_rows(frame: pd.DataFrame, column: str | None) -> pd.Series:
    """Return the labels of rows: the values of a column, or row numbers."""
    import pandas as pd

    if column is None:
        return pd.Series(range(1, len(frame) + 1), name="row")
    check_known(frame, [column], "--id")
    return frame[column]


def _beside(names: pd.Series, columns: dict[str, pd.Series]) -> pd.DataFrame:
    import pandas as pd

    if names.name in columns:
        raise BadInputError(f"--id: the model has a variable called {names.name!r} too; rename the column")
    parts = [names, *columns.values()]
    frame = pd.concat([part.reset_index(drop=True) for part in parts], axis=1)
    frame.columns = [str(names.name), *columns]
    return frame


@contextmanager
def _in_terms_of_options() -> Iterator[None]:
    """Reword errors about unknown categories to name the option instead of the Python argument."""
    from pgmpy_latent.exceptions import UnseenCategoryError

    try:
        yield
    except UnseenCategoryError as error:
        if "No cell of the column is known" in str(error):
            raise BadInputError(str(error).replace('absent="sum_out"', "--absent sum-out")) from None
        what = str(error).partition(". Map them")[0]
        raise BadInputError(f"{what}. Correct the cells, or pass --unseen missing.") from None


def _say_impossible(impossible: np.ndarray, names: pd.Series) -> None:
    if impossible.any():
        which = [str(name) for name in names[impossible]]
        first = ", ".join([*which[:3], *(["..."] if len(which) > 3 else [])])
        note(
            f"{counted(len(which), 'row')} cannot occur under the model ({names.name}: {first}); a model that was "
            "learned with --prior 0.01 rules nothing out"
        )
