"""The command line: ``pgmpy-latent learn`` fits a latent class model to a table and says what it found."""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent import __version__
from pgmpy_latent._tables import BadInputError, Table, choose_columns, read_table, shortened
from pgmpy_latent.exceptions import PgmpyLatentError

if TYPE_CHECKING:
    import numpy as np

    from pgmpy_latent.data import CategoricalData
    from pgmpy_latent.estimator import TreeEM
    from pgmpy_latent.tree import LatentTree

#: Columns of text that the summary fits into.
WIDTH = 100
#: Least and most columns of text that a class takes in the profile.
NARROW, WIDE = 30, 40
#: Most columns of the table that the class profile lists.
PROFILED = 30
#: Most parameters for which it is checked whether they are identified; beyond, that takes more than a moment.
MOST_PARAMETERS = 500
#: A column with more categories than this is worth a remark.
MANY_CATEGORIES = 50
#: Categories that often mean a missing cell; they are pointed out, not touched.
SUSPECTS = ("?", ".", "-", "N/A", "n/a", "na", "nan", "NULL", "null", "None", "none", "-9", "-99", "-999")

EXAMPLES = """\
examples:
  pgmpy-latent learn                                        a survey that comes with the package
  pgmpy-latent learn answers.csv --drop id --classes 3      three classes, all columns but one
  pgmpy-latent learn answers.tsv.gz --columns q1,q2,q3,q4 --weights w --missing NA,-9 --output model

In the file the first line names the columns, every other line is a row. Cells are categories: whole
numbers are read as numbers, everything else as text, just as it stands. Missing cells are fine.
"""


# What was asked -----------------------------------------------------------------------------------


def _number(kind: type, least: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value < float("inf"):
            word = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"{text!r} is not a {word} of at least {least}")
        return value

    return read


def _listed(text: str) -> list[str]:
    """Split at commas; quotes protect a comma."""
    return next(csv.reader([text]), [])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pgmpy-latent", description="Learn hidden variables in categorical data; a plugin to pgmpy."
    )
    parser.add_argument("--version", action="version", version=f"pgmpy-latent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    learn = commands.add_parser(
        "learn",
        help="fit a latent class model to a table",
        description="Fit a latent class model: one hidden variable explains how the columns hang together.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    learn.add_argument("file", nargs="?", metavar="FILE", help=".csv or .tsv, also .gz; none: the demonstration table")
    which = learn.add_mutually_exclusive_group()
    which.add_argument("--columns", type=_listed, metavar="A,B,...", help="use these columns only")
    which.add_argument("--drop", type=_listed, metavar="A,B,...", default=[], help="leave these columns out")
    learn.add_argument("--weights", metavar="COLUMN", help="column of row weights")
    learn.add_argument(
        "--missing", type=_listed, metavar="A,B,...", help="texts that mean a missing cell, as an empty one always does"
        " (default: NA,NaN; '' for empty cells only)", default=["NA", "NaN"],
    )  # fmt: skip
    learn.add_argument("--separator", metavar="C", help="what stands between cells (default: by the file's ending)")
    size = learn.add_mutually_exclusive_group()
    size.add_argument("--classes", type=_number(int, 1), metavar="K", help="number of classes (default: by BIC)")
    size.add_argument(
        "--max-classes", type=_number(int, 1), metavar="K", default=8, help="most classes to try (default: 8)"
    )
    learn.add_argument("--starts", type=_number(int, 1), metavar="N", default=16, help="random starts (default: 16)")
    learn.add_argument(
        "--prior",
        type=_number(float, 0),
        metavar="A",
        default=0.0,
        help="pseudo-count of every table entry (default: 0)",
    )
    learn.add_argument("--seed", type=_number(int, 0), metavar="N", default=0, help="of the random starts (default: 0)")
    learn.add_argument(
        "--output", metavar="PREFIX", default="pgmpy-latent-model", help="write PREFIX.json (default: %(default)s)"
    )
    learn.add_argument("--bif", action="store_true", help="write PREFIX.bif too, even if the format loses something")
    return parser


# Learning -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A fitted model with its score."""

    n_classes: int
    estimator: TreeEM
    n_parameters: int
    bic: float


def needs_compiling(package: Path) -> bool:
    """Tell whether the kernels are probably not compiled yet: numba keeps its results beside them where it can."""
    return not any((package / "propagation" / "__pycache__").glob("kernels*.nbi"))


def fit_candidates(hidden: str, data: CategoricalData, sizes: Sequence[int], args) -> list[Candidate]:
    """Fit a model for every number of classes, saying on stderr how far it is."""
    from tqdm import tqdm

    from pgmpy_latent import to_pgmpy
    from pgmpy_latent.learners._skeleton import one_state_tree

    network = to_pgmpy(one_state_tree(None, data))
    terminal = sys.stderr.isatty()
    if needs_compiling(Path(__file__).parent):
        print("the first run compiles, which takes a while; later ones do not", file=sys.stderr, flush=True)
    candidates = []
    for n_classes in tqdm(sizes, desc="classes", disable=not terminal or len(sizes) == 1, leave=False):
        try:
            found = _fit(network, hidden, data, n_classes, args, show_progress=terminal and len(sizes) == 1)
        except KeyboardInterrupt:
            if not candidates:
                raise
            print("interrupted; going on with what is there", file=sys.stderr, flush=True)
            break
        candidates.append(found)
        if not terminal:
            print(f"{_counted(n_classes, 'class', 'es')}: BIC {found.bic:.2f}", file=sys.stderr, flush=True)
    return candidates


def _fit(network, hidden: str, data: CategoricalData, n_classes: int, args, show_progress: bool) -> Candidate:
    from pgmpy_latent.estimator import TreeEM
    from pgmpy_latent.scores import bic, n_parameters

    estimator = TreeEM(
        latent_card={hidden: n_classes},
        n_init=args.starts,
        prior=args.prior or None,
        seed=args.seed,
        n_jobs=-1,
        show_progress=show_progress,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say stands in the summary
        estimator.fit(network, data)
    if estimator.interrupted_:
        raise KeyboardInterrupt
    tree = estimator.tree_
    return Candidate(n_classes, estimator, n_parameters(tree), bic(tree, data))


# Saying -------------------------------------------------------------------------------------------


def describe_table(table: Table, data: CategoricalData) -> list[str]:
    """Return what was read, and remarks on what looks odd."""
    frame = table.frame
    missing = int(frame.isna().sum().sum())
    lines = [
        table.title,
        f"{_counted(len(frame), 'row')} ({data.n_distinct:,} different), "
        f"{_counted(len(frame.columns), 'column')}, {_counted(missing, 'missing cell')}",
    ]
    if table.weights is not None:
        lines.append(f"total weight {data.total_weight:.10g}, from column {table.weights.name!r}")
    for name, states in zip(data.columns, data.state_names, strict=True):
        if len(states) > MANY_CATEGORIES:
            lines.append(f"note: column {name!r} has {len(states)} categories; if it is a measurement, bin or drop it")
        odd = [str(state) for state in states if str(state) in SUSPECTS]
        if odd:
            lines.append(f"note: column {name!r} holds {odd[0]!r}; if that means missing, say --missing={odd[0]}")
    return lines


def _counted(number: int, noun: str, plural: str = "s") -> str:
    """Return "1 row", "2 rows" or "no rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{f'{number:,}' if number else 'no'} {noun}{plural}"


def describe_candidates(candidates: Sequence[Candidate], best: Candidate) -> list[str]:
    """Return the table of numbers of classes against BIC; nothing if there was no choice."""
    if len(candidates) == 1:
        return []
    lines = [f"  {'classes':>7}  {'log-likelihood':>14}  {'parameters':>10}  {'BIC':>14}  starts that reached the best"]
    for one in candidates:
        fit = one.estimator
        lines.append(
            f"{'*' if one is best else ' '} {one.n_classes:>7}  {fit.log_likelihood_:>14.2f}  {one.n_parameters:>10,}"
            f"  {one.bic:>14.2f}  {fit.n_best_} of {len(fit.start_objectives_)}"
        )
    return [*lines, ""]


def describe_model(best: Candidate, hidden: str, data: CategoricalData) -> list[str]:
    """Return the classes of the chosen model: sizes and profile."""
    tree, fit = best.estimator.tree_, best.estimator
    lines = [
        f"Chosen: {_counted(best.n_classes, 'class', 'es')}, the states of the hidden variable {hidden!r}",
        f"log-likelihood {fit.log_likelihood_:.4f}, {_counted(best.n_parameters, 'parameter')}, BIC {best.bic:.4f} "
        "(larger is better)",
        f"{fit.n_best_} of {_counted(len(fit.start_objectives_), 'start')} reached the best value",
    ]
    if not fit.converged_:
        lines.append(f"note: EM had not converged after {fit.n_iter_} iterations")
    lines += [f"note: {words}; fewer classes would fit as well" for words in fit.degenerate_states_]
    lines += _identification(best)
    marks = _marks(tree, hidden)
    lines += ["", "What marks each class: per column one category, its share of the class, and (of all rows)"]
    sizes = [f"{share:.1%} ({share * data.total_weight:,.0f})" for share in tree.table(hidden)[0]]
    rows = [("(size)", sizes), *((str(name), cells) for name, cells in marks[:PROFILED])]
    titles = [f"{hidden} = {state}" for state in tree.state_names[tree.index(hidden)]]
    lines += _in_blocks(titles, rows)
    if len(marks) > PROFILED:
        lines.append(f"... and {len(marks) - PROFILED:,} columns that tell the classes apart less well")
    return lines


def _identification(best: Candidate) -> list[str]:
    """Return a note if infinitely many parameters fit as well as those that were found."""
    from pgmpy_latent.scores import effective_dimension

    if best.n_parameters > MOST_PARAMETERS:
        return []
    dimension = effective_dimension(best.estimator.tree_)
    if dimension == best.n_parameters:
        return []
    words = (
        f"note: not identified: the {best.n_parameters} parameters fill only {dimension} dimensions, so that other "
        "class profiles fit exactly as well; use fewer classes, or more columns"
    )
    return textwrap.wrap(words, WIDTH)


def _marks(tree: LatentTree, hidden: str) -> list[tuple[str, list[str]]]:
    """Return, for each column, its mark of every class; columns that tell the classes apart best come first."""
    marks = []
    for name in tree.children(hidden):
        contributions = _contributions(tree, hidden, name)
        information = float(tree.table(hidden)[0] @ contributions.sum(axis=1))
        states, table = tree.state_names[tree.index(name)], tree.table(name)
        chosen = (contributions + 1e-9 * table).argmax(axis=1)
        overall = tree.table(hidden)[0] @ table
        cells = [f"{states[at]}\0{table[row, at]:.0%} ({overall[at]:.0%})" for row, at in enumerate(chosen)]
        marks.append((round(-information, 9), len(marks), name, cells))
    return [(name, cells) for _, _, name, cells in sorted(marks, key=lambda mark: mark[:2])]


def _contributions(tree: LatentTree, hidden: str, name: str) -> np.ndarray:
    """Return, for class and category, how much the category sets the class apart: p log(p / p overall)."""
    import numpy as np

    table = tree.table(name)
    overall = tree.table(hidden)[0] @ table
    ratio = np.divide(table, overall, out=np.ones_like(table), where=(table > 0) & (overall > 0))
    return table * np.log(ratio)


def _in_blocks(titles: list[str], rows: list[tuple[str, list[str]]]) -> list[str]:
    """Lay out a table with as many classes side by side as the width allows."""
    name_width = min(30, max(len(name) for name, _ in rows))
    side_by_side = min(len(titles), (WIDTH - name_width) // NARROW)
    cell = min(WIDE, (WIDTH - name_width) // side_by_side) - 2
    lines = []
    for first in range(0, len(titles), side_by_side):
        part = slice(first, first + side_by_side)
        lines += [""] * (first > 0)
        for name, cells in [("", titles), *rows]:
            texts = [_fitted(text, cell).ljust(cell) for text in cells[part]]
            lines.append("  ".join([shortened(name, name_width).ljust(name_width), *texts]).rstrip())
    return lines


def _fitted(text: str, width: int) -> str:
    """Shorten the label of a cell, not its share."""
    label, _, share = text.partition("\0")
    return f"{shortened(label, width - len(share) - 1)} {share}" if share else shortened(label, width)


# Writing ------------------------------------------------------------------------------------------


def check_output(prefix: str) -> Path:
    """Return where the model will be written; raise if nothing can be written there."""
    path = Path(f"{prefix.removesuffix('.json')}.json")
    if not prefix or prefix.endswith(("/", os.sep)):
        raise BadInputError(f"--output is {prefix!r}; give the beginning of a file name")
    if not path.parent.is_dir():
        raise BadInputError(f"--output: the folder {str(path.parent)!r} does not exist; create it first")
    if path.is_dir():
        raise BadInputError(f"--output: {str(path)!r} is a folder; give another name")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise BadInputError(f"--output: cannot write into {str(path.parent)!r} ({error.strerror})") from None
    return path


def write_model(tree: LatentTree, path: Path, force_bif: bool) -> list[str]:
    """Write the model as JSON, and as BIF if that loses nothing or is asked for; return what was done."""
    from pgmpy_latent import check_export, save, to_pgmpy

    save(tree, path)
    lines = [f"Written: {path}"]
    losses = check_export(tree, "bif")
    if force_bif or not losses:
        bif = path.with_suffix(".bif")
        to_pgmpy(tree).save(str(bif), "bif")
        lines.append(f"Written: {bif}")
    if losses:
        kinds = "; ".join(loss.partition(": ")[0] for loss in losses)
        words = f"What BIF, another format, would lose: {kinds}."
        lines += textwrap.wrap(words + ("" if force_bif else " Say --bif to have it all the same."), WIDTH)
    return lines


def _snippet(tree: LatentTree, hidden: str, path: Path) -> list[str]:
    name = _marks(tree, hidden)[0][0]
    evidence = {name: tree.state_names[tree.index(name)][int(_contributions(tree, hidden, name)[0].argmax())]}
    return [
        "from pgmpy.inference import VariableElimination",
        "from pgmpy_latent import load, to_pgmpy",
        f"print(VariableElimination(to_pgmpy(load({str(path)!r}))).query([{hidden!r}], evidence={evidence!r}))",
    ]


# Running ------------------------------------------------------------------------------------------


def learn(args: argparse.Namespace) -> None:
    """Run ``pgmpy-latent learn``."""
    begin = time.perf_counter()
    path = check_output(args.output)
    table = choose_columns(_table(args), args.columns, args.drop, args.weights)

    from pgmpy_latent.data import encode
    from pgmpy_latent.learners._skeleton import fresh_latent_name

    data = encode(table.frame, sample_weight=None if table.weights is None else table.weights.to_numpy())
    hidden = fresh_latent_name(data.columns)
    _say(describe_table(table, data))
    sizes = [args.classes] if args.classes else range(1, args.max_classes + 1)
    candidates = fit_candidates(hidden, data, sizes, args)
    best = max(candidates, key=lambda one: one.bic)
    _say(["", *describe_candidates(candidates, best), *describe_model(best, hidden, data)])
    tree = best.estimator.tree_
    _say(["", *write_model(tree, path, args.bif), f"Took {time.perf_counter() - begin:.1f} seconds."])
    _say(["", "In Python:", *_snippet(tree, hidden, path)])


def _table(args: argparse.Namespace) -> Table:
    if args.file is not None:
        return read_table(args.file, args.separator, args.missing)
    from pgmpy_latent.datasets import load_anes96

    return Table("American National Election Study 1996 (demonstration)", load_anes96())


def _say(lines: Sequence[str]) -> None:
    print("\n".join(lines), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 0, 2 for bad usage or input, 130 after Ctrl-C."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a letter must not end the run
    args = _parser().parse_args(argv)
    try:
        learn(args)
    except PgmpyLatentError as error:
        print(f"pgmpy-latent: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has left; there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"pgmpy-latent: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pgmpy-latent: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
