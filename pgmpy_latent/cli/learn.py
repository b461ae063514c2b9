"""``pgmpy-latent learn``: a model from a table."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent.cli.columns import choose_columns
from pgmpy_latent.cli.describe import (
    describe_classes,
    describe_network,
    describe_table,
    describe_tree,
    profiled_columns,
    table_notes,
)
from pgmpy_latent.cli.files import (
    checked_path,
    encoded,
    missing_codes,
    optional_output,
    table_of,
)
from pgmpy_latent.cli.kinds import add_kinds, with_numbers
from pgmpy_latent.cli.options import (
    add_columns,
    add_command,
    add_prior,
    add_reading,
    add_seed_and_jobs,
    number,
    positive,
)
from pgmpy_latent.cli.outputs import add_overwrite, check_outputs
from pgmpy_latent.cli.text import compile_first, say, wrapped
from pgmpy_latent.tables.files import BadInputError, known_endings

if TYPE_CHECKING:
    from pgmpy_latent.model.network import LatentNetwork
    from pgmpy_latent.model.tree import LatentTree

EXAMPLES = """\
methods:
  classes        one hidden variable above all columns; how many classes it has
                 is decided by BIC (the default)
  split-merge    the same, found by splitting and merging classes
  random-starts  the same, from random starts, one class more or less at a time
  east           a tree of hidden variables: seconds for 10 columns, minutes for 40
  bin-g, bin-a   a forest of hidden variables, for hundreds of columns
  hlta           levels of topics above the words of texts, for thousands of columns
  find-hidden    a network over the columns, and hidden variables that it lacks
  forest, chow-liu, independence    no hidden variables: what the others must beat

examples:
  pgmpy-latent learn                    a survey that comes with the package
  pgmpy-latent learn answers.csv --drop id --classes 3
  pgmpy-latent learn answers.csv --method east --weights w --output camps \\
      --report camps.html
  pgmpy-latent learn answers.tsv.gz --columns q1,q2,q3,q4 --missing NA,-9 \\
      --missing q4=8,9
  pgmpy-latent learn patients.csv --kinds age=gaussian,visits=poisson
  pgmpy-latent learn words.parquet --method bin-g --time-limit 600

The first line of the file names the columns, every other line is a row. Cells
are categories: columns of whole numbers are read as numbers (1.0 is 1), all others
as text. Missing cells are fine. Ctrl-C ends the search, and the best model so far
is written. Existing files are not overwritten without --overwrite, except those of
the default --output; the table that is read is never overwritten.
"""

#: Default name of the model; these files may be overwritten.
PREFIX = "pgmpy-latent-model"

#: Method -> name of its learner in the package, and its keywords.
LEARNERS = {
    "classes": (None, {}),
    "split-merge": ("SplitMerge", {}),
    "random-starts": ("RandomStarts", {}),
    "east": ("EAST", {}),
    "bin-g": ("BinG", {}),
    "bin-a": ("BinA", {}),
    "hlta": ("HLTA", {}),
    "find-hidden": ("FindHidden", {}),
    "forest": ("Baseline", {"model": "forest"}),
    "chow-liu": ("Baseline", {"model": "chow_liu"}),
    "independence": ("Baseline", {"model": "independence"}),
}
#: What a search may maximise.
SCORES = ("bic", "aic", "heldout")
#: Option -> keyword of the learners. An option that a learner does not have is refused.
KEYWORDS = {
    "classes": "n_states",
    "max_classes": "max_states",
    "starts": "n_starts",
    "prior": "prior",
    "score": "scoring_method",
    "time_limit": "time_limit",
    "checkpoint": "checkpoint",
}


def add_parser(commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "learn",
        "learn a model from a table",
        "Learn hidden variables that explain how the columns of a table depend on each other.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("file", nargs="?", metavar="FILE", help=f"{known_endings()}; none: the demonstration table")
    parser.add_argument("--method", choices=LEARNERS, default="classes", metavar="NAME", help="how to learn; see below")
    add_columns(parser)
    add_reading(parser)
    add_kinds(parser)
    group = parser.add_argument_group("how it learns")
    size = group.add_mutually_exclusive_group()
    size.add_argument("--classes", type=number(int, 1), metavar="K", help="number of classes (default: by BIC)")
    size.add_argument(
        "--max-classes", type=number(int, 1), metavar="K", help="most classes, or states of a hidden variable, to try"
        " (default: 8 with --method classes, else no limit)",
    )  # fmt: skip
    group.add_argument("--starts", type=number(int, 1), metavar="N", help="random starts (default: by method)")
    add_prior(group)
    group.add_argument(
        "--score", choices=SCORES, metavar="NAME", help="what split-merge, random-starts and east maximise: bic, aic,"
        " or heldout, for a model that predicts new rows (default: bic)",
    )  # fmt: skip
    add_seed_and_jobs(group)
    group.add_argument(
        "--time-limit", type=positive, metavar="SECONDS", help="stop after this time, with the best model so far"
    )
    group.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="save the search there; the same command resumes it (not with --method classes)",
    )
    group = parser.add_argument_group("what it writes")
    group.add_argument(
        "--output", metavar="PREFIX", default=PREFIX, help="write PREFIX.json, and PREFIX.bif if that"
        " says all of it (default: %(default)s)",
    )  # fmt: skip
    group.add_argument("--bif", action="store_true", help="write PREFIX.bif too, and beside it what BIF cannot say")
    group.add_argument("--report", metavar="FILE.html", help="write a page about the model and its fit")
    add_overwrite(group)


def run(args: argparse.Namespace) -> int:
    """Learn a model, describe it, and write it; return the exit code."""
    from sklearn.exceptions import ConvergenceWarning

    from pgmpy_latent import save
    from pgmpy_latent.exceptions import MissingCodeWarning
    from pgmpy_latent.model.exports import names_path

    begin = time.perf_counter()
    path = output_prefix(args.output)
    report = optional_output(args.report, "--report")
    checkpoint = optional_output(args.checkpoint, "--checkpoint")
    model = [path, path.with_suffix(".bif"), names_path(path.with_suffix(".bif"))]
    outputs = [*(("--output", file) for file in model), ("--checkpoint", checkpoint), ("--report", report)]
    check_outputs(args, outputs, [("the table", args.file)], [checkpoint, *(model if args.output == PREFIX else ())])
    learner = make_learner(args)
    table = choose_columns(table_of(args), args.columns, args.drop, args.weights, args.strata, args.cluster)
    table, numeric = with_numbers(table, args.kinds)
    if numeric and not learner._takes_numbers:
        raise BadInputError(
            f"--method {args.method} learns from categories alone, and --kinds says that {next(iter(numeric))!r} is a "
            f"number; use {', '.join(method for method in LEARNERS if _learner(method)._takes_numbers)}"
        )
    data = encoded(table, args.weight_kind, args.allow_many_states, numeric)
    codes = missing_codes(args, table, data)
    say(describe_table(table, data, table.missing_in))
    compile_first(numeric=bool(data.values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the summary says it
        warnings.simplefilter("ignore", MissingCodeWarning)  # the description of the table says it
        learner.fit(data, missing=codes, allow_many_states=True)
    said = {"sample_weight": args.weights, "strata": args.strata, "cluster": args.cluster}
    learner.design_ = {what: name for what, name in said.items() if name is not None}  # which the file remembers
    found = learner.network_ if args.method == "find-hidden" else learner.tree_
    save(learner, path)  # before anything else can go wrong
    try:
        written = [f"Written: {path}", *_exported(found, path, args.bif)]
        describe = {"classes": describe_classes, "find-hidden": describe_network}.get(args.method, describe_tree)
        say(["", *describe(learner, data), *_unfinished(learner, args)])
        if report is not None:
            from pgmpy_latent.report import write_report

            write_report(learner, report, command=args.command_line)
            written.append(f"Written: {report}")
    except KeyboardInterrupt:
        print(f"pgmpy-latent: interrupted; the model is in {path}", file=sys.stderr)
        return 130
    say(["", *written, f"Took {time.perf_counter() - begin:.1f} seconds."])
    say(["", "In Python:", *_snippet(found, path)])
    if notes := table_notes(table, data, table.missing_in):
        say(["", "Before you rely on it:", *(line for words in notes for line in wrapped(f"- {words}", "  "))])
    return 130 if learner.stopped_ == "interrupted" else 0


# Before it begins ---------------------------------------------------------------------------------


def output_prefix(prefix: str) -> Path:
    """Return the path of the model; raise if it cannot be written."""
    if not prefix or prefix.endswith(("/", os.sep)):
        raise BadInputError(f"--output is {prefix!r}; give the beginning of a file name")
    path = Path(f"{prefix.removesuffix('.json')}.json")
    checked_path(path.with_suffix(".bif"), "--output")
    return checked_path(path, "--output")


def make_learner(args: argparse.Namespace):
    """Return the learner of a method with its options set; raise for an option that it does not have."""
    learner = _learner(args.method)
    known = learner.get_params(deep=False)
    options = {option: getattr(args, option) for option in KEYWORDS if getattr(args, option) not in (None, 0.0)}
    for option in options:
        if KEYWORDS[option] not in known:
            raise BadInputError(
                f"--{option.replace('_', '-')} does not apply to --method {args.method}; {_who(option)}"
            )
    common = {"random_state": args.seed, "n_jobs": args.jobs}
    learner.set_params(
        **{KEYWORDS[option]: value for option, value in options.items()},
        **{keyword: value for keyword, value in common.items() if keyword in known},
    )
    try:
        learner._check_settings()
    except ValueError as error:
        words = str(error)
        for option, keyword in KEYWORDS.items():
            words = words.replace(keyword, f"--{option.replace('_', '-')}")
        raise BadInputError(words.removesuffix(", or None")) from None
    return learner


def _learner(method: str):
    name, settings = LEARNERS[method]
    if name is None:
        from pgmpy_latent.cli.classes import LatentClasses

        return LatentClasses()
    import pgmpy_latent

    return getattr(pgmpy_latent, name)(**settings)


def _who(option: str) -> str:
    """Return advice that names the methods with an option."""
    methods = [method for method in LEARNERS if KEYWORDS[option] in _learner(method).get_params(deep=False)]
    return f"leave it out, or use {', '.join(methods)}" if methods else "no method has it"


# After it has ended -------------------------------------------------------------------------------


def _unfinished(learner, args: argparse.Namespace) -> list[str]:
    from pgmpy_latent.learners.fitted import unfinished_words

    words = unfinished_words(learner)
    if words and args.checkpoint is not None:
        again = "" if args.overwrite or (args.output == PREFIX and args.report is None) else " with --overwrite"
        words += f" The same command{again} resumes from the checkpoint."
    return ["", *wrapped(words)] if words else []


def _exported(tree: LatentTree | LatentNetwork, path: Path, force_bif: bool) -> list[str]:
    """Also write the model as BIF, if that says all or was requested; return lines about it."""
    from pgmpy_latent.model.exports import check_export, write_model

    check = check_export(tree, "bif")
    if not force_bif and (check.lost or check.respelled):
        return []
    lines = [f"Written: {file}" for file in write_model(tree, path.with_suffix(".bif"))]
    return lines + [line for words in check.lost for line in wrapped(f"What BIF loses: {words}", "  ")]


def _snippet(model: LatentTree | LatentNetwork, path: Path) -> list[str]:
    """Return three lines of Python that query the model."""
    from pgmpy_latent.model.tree import LatentTree

    asked, evidence = (*model.latent_names, *model.names)[0], {}
    network, imported = f"load({str(path)!r})", "load"
    if isinstance(model, LatentTree):
        network, imported = f"to_pgmpy({network})", "load, to_pgmpy"
        profiled = profiled_columns(model, asked) if model.latent_names else []
        known = [one for one in profiled if not model.is_numeric[model.index(one[0])]]
        for name, _, contributions in known[:1]:
            evidence = {name: model.state_names[model.index(name)][int(contributions[0].argmax())]}
    else:
        children = [node for node, above in enumerate(model.parents) if model.index(asked) in above]
        columns = [node for node in children if not model.latent[node]]
        evidence = {model.names[node]: model.state_names[node][0] for node in columns[:1]}
    query = f"query([{asked!r}], evidence={evidence!r})"
    lines = ["from pgmpy.inference import VariableElimination", f"from pgmpy_latent import {imported}"]
    return [*lines, f"print(VariableElimination({network}).{query})"]
