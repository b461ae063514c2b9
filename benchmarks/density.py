"""Prediction: the mean log-likelihood of test rows, by trees that are made for it and by all other learners.

Needs the density benchmark beside the papers' data sets. Numbers of states and smoothing are chosen by validation
rows alone, and test rows are scored once, at the end. One thread; every fit runs in a process of its own; about half an
hour. ``--only`` takes the name of a table, and ``--method`` that of a method. ``--wanted`` measures the rows that have
a target, which ``benchmarks.beyond`` judges: ``python -m benchmarks.density --wanted --again`` takes ten minutes.
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import argparse
import time

from benchmarks.density_tables import BINARY, WITHOUT_PARTS, rows

#: Table -> mean log-likelihood of test rows that is wanted of one tree, and processor seconds that are allowed.
WANTED = {
    "nltcs": (-6.01, 5),
    "plants": (-12.70, 60),
    "baudio": (-39.77, 90),
    "accidents": (-26.63, 90),
    "dna": (-79.15, 30),
    "coil42": (-34_110 / 4_000, 30),
}
#: The same, wanted of a mixture of trees with edges of their own.
WANTED_OF_MIXTURES = {
    "nltcs": (-5.990, 5),
    "plants": (-12.33, 60),
    "baudio": (-39.55, 90),
    "accidents": (-26.35, 90),
    "dna": (-78.75, 30),
    "coil42": (-34_110 / 4_000, 30),
}
#: Tables with so few rows that an average of mixtures with the same edges is the tree that meets the target.
AVERAGED = ("dna",)
#: Method -> the learner, as code.
LEARNERS = {
    "HiddenChowLiu": "HiddenChowLiu(random_state=0, show_progress=False)",
    "4 groups": "HiddenChowLiu(n_groups=4, max_states=8, random_state=0, show_progress=False)",
    "averaged": "HiddenChowLiuMixture(own_edges=False, random_state=0, show_progress=False)",
    "mixture": "HiddenChowLiuMixture(random_state=0, show_progress=False)",
    "Chow-Liu": 'Baseline("chow_liu", prior=0.1)',
}
#: The method whose result is no tree.
MIXTURE = "mixture"
#: Most seconds of a search by the other learners.
LIMIT = 60
#: Learners that are compared on tables of categories.
ALL_LEARNERS = {
    "HiddenChowLiu": LEARNERS["HiddenChowLiu"],
    "mixture": LEARNERS["mixture"],
    "EAST": f"EAST(time_limit={LIMIT}, random_state=0, show_progress=False)",
    "BinG, simplified": f"BinG(simplify=True, time_limit={LIMIT}, random_state=0, show_progress=False)",
    "SplitMerge": f"SplitMerge(time_limit={LIMIT}, random_state=0, show_progress=False)",
    "HLTA": f"HLTA(time_limit={LIMIT}, random_state=0, show_progress=False)",
    "Chow-Liu": LEARNERS["Chow-Liu"],
    "forest": 'Baseline("forest")',
}
CATEGORICAL = ("coil42", *WITHOUT_PARTS)
#: Runs in a process of its own; prints what was found.
CODE = """
import json, warnings
from benchmarks import density
from pgmpy_latent import EAST, HLTA, Baseline, BinG, HiddenChowLiu, HiddenChowLiuMixture, SplitMerge
warnings.simplefilter("ignore")
print(json.dumps(density.fitted({learner}, "{table}")))
"""
#: Tables and models whose answers are timed; a share of the cells is missing where answers complete rows.
ASKED = ("nltcs", "plants")
ASKED_MODELS = {
    "one tree": "HiddenChowLiu(n_states=16, smoothing=1.0, random_state=0, show_progress=False)",
    "mixture": (
        "HiddenChowLiuMixture(n_groups=4, n_states=8, smoothing=1.0, own_edges=True, n_trials=2, random_state=0, "
        "show_progress=False)"
    ),
}
ANSWERS, MISSING_SHARE = ("score_samples", "impute", "sample", "unusual_rows"), 0.1
ASK = """
import json, warnings
from benchmarks import density
from pgmpy_latent import HiddenChowLiu, HiddenChowLiuMixture
warnings.simplefilter("ignore")
print(json.dumps(density.answered({learner}, "{table}")))
"""


def answered(learner, table: str) -> dict:
    """Fit, and return the processor milliseconds that answers about a thousand test rows take."""
    import numpy as np

    from pgmpy_latent import unusual_rows

    learner.fit(rows(table, "train"), X_valid=rows(table, "valid"))
    test = rows(table, "test")
    gaps = test.mask(np.random.default_rng(0).random(test.shape) < MISSING_SHARE)
    work = {
        "score_samples": lambda: learner.score_samples(gaps),
        "impute": lambda: learner.impute(gaps),
        "sample": lambda: learner.sample(len(test), random_state=0),
        "unusual_rows": lambda: unusual_rows(learner, test, show_progress=False),
    }
    found = {"rows": len(test), "columns": test.shape[1], "parameters": learner.n_parameters_}
    for name in ANSWERS:
        work[name]()  # what is compiled once is not counted
        began = time.process_time()
        work[name]()
        found[name] = 1e6 * (time.process_time() - began) / len(test)
    return found | {"seconds": sum(found[name] for name in ANSWERS) * len(test) / 1e6}


def fitted(learner, table: str) -> dict:
    """Fit, score the test rows, and return processor seconds and what was found."""
    from pgmpy_latent import HiddenChowLiu, HiddenChowLiuMixture, smoothed

    train = rows(table, "train")
    has_valid = table not in WITHOUT_PARTS
    validates = isinstance(learner, (HiddenChowLiu, HiddenChowLiuMixture))
    first = {"n_states": 16, "smoothing": 1.0, "n_groups": 1} if validates else {}  # so many that both precisions run
    type(learner)(**learner.get_params() | first).fit(train.iloc[:200, :6])  # what is compiled once is not counted
    began = time.process_time()
    learner.fit(train, **({"X_valid": rows(table, "valid")} if validates and has_valid else {}))
    found = {"seconds": time.process_time() - began, "columns": train.shape[1], "rows": len(train)}
    found |= {"parameters": learner.n_parameters_, "stopped": learner.stopped_ if hasattr(learner, "stopped_") else ""}
    if validates:
        tried = learner.held_out_
        best = tried.loc[(tried["best"] if "best" in tried else tried["log_likelihood"]).idxmax()]
        found |= {"n_states": int(best["n_states"]), "smoothing": float(best["smoothing"])}
    model = None if validates or table in BINARY else smoothed(learner, train)
    if isinstance(learner, HiddenChowLiuMixture) and learner.own_edges is False:
        model = learner.one_tree()
    if has_valid:
        found["valid"] = _mean(learner, model, rows(table, "valid"))
    return found | {"test": _mean(learner, model, rows(table, "test"))}


def _mean(learner, model, table) -> float:
    """Return the mean log-likelihood of rows under a model, or under the learner if there is none."""
    from pgmpy_latent import log_likelihood

    return learner.score(table) if model is None else log_likelihood(model, table) / len(table)


def measure(run: runner.Runner, only: str, wanted: bool = False, method: str = "") -> None:
    """Fit all tables by all methods; or only those with a target, or one method."""
    learners = {table: LEARNERS for table in WANTED}
    if wanted:
        learners = {table: {name: LEARNERS[name] for name in aims(table)} for table in WANTED}
    else:
        for table in CATEGORICAL:
            learners[table] = {**learners.get(table, {}), **ALL_LEARNERS}
    for table, methods in learners.items():
        if only in table:
            for name, learner in methods.items():
                if method in ("", name):
                    run.alone(table, name, CODE.format(learner=learner, table=table))
    if wanted or method:
        return

    for table in ASKED:
        if only in table:
            for method, learner in ASKED_MODELS.items():
                run.alone(f"answers, {table}", method, ASK.format(learner=learner, table=table))


def forget(run: runner.Runner, only: str, wanted: bool, method: str) -> None:
    """Leave out what is to be measured anew."""
    for row in list(run.rows):
        chosen = not wanted or (row["case"] in WANTED and row["method"] in aims(row["case"]))
        if only in row["case"] and method in ("", row["method"]) and chosen:
            run.forget(row["case"], row["method"])


def aims(table: str) -> tuple[str, ...]:
    """Return the methods that are to meet the targets of a table: one tree, if one is asked for, and a mixture."""
    if table == "coil42":
        return (MIXTURE,)
    return "averaged" if table in AVERAGED else "HiddenChowLiu", MIXTURE


def answers(run: runner.Runner) -> list[str]:
    """Return a line for every table and model: milliseconds of answers about a thousand rows."""
    found = []
    for table in ASKED:
        for method in ASKED_MODELS:
            case = f"answers, {table}"
            if run.find(case, method):
                columns, parameters = (run.figure(case, method, name) for name in ("columns", "parameters"))
                cells = [f"{run.figure(case, method, name):.0f}" for name in ANSWERS]
                found.append(f"| {table} ({columns} columns) | {method} | {parameters:,} | {' | '.join(cells)} |")
    return found


def lines(run: runner.Runner) -> list[str]:
    """Return a line for every table and method; the one that validation rows like best comes last."""
    found = []
    for table in WANTED:
        if not run.find(table, "Chow-Liu"):
            continue
        columns, n_rows = (run.figure(table, "Chow-Liu", name) for name in ("columns", "rows"))
        measured = [method for method in LEARNERS if run.find(table, method)]
        for method in sorted(measured, key=lambda method: run.figure(table, method, "valid")):
            valid, test = (run.figure(table, method, name) for name in ("valid", "test"))
            chosen = "– | –"
            if method != "Chow-Liu":
                n_states, smoothing = (run.figure(table, method, name) for name in ("n_states", "smoothing"))
                chosen = f"{n_states} | {smoothing:g}"
            found.append(
                f"| {table} ({columns} columns, {n_rows:,} rows) | {method} | {chosen} | {valid:.3f} | {test:.3f} "
                f"| {run.seconds(table, method):.1f} |"
            )
    return found


def comparison(run: runner.Runner) -> list[str]:
    """Return a line for every table of categories: test rows by each learner, the best one in bold."""
    found = []
    for table in CATEGORICAL:
        tests = {method: run.figure(table, method, "test") for method in ALL_LEARNERS if run.find(table, method)}
        if "Chow-Liu" not in tests:
            continue
        columns, n_rows = (run.figure(table, "Chow-Liu", name) for name in ("columns", "rows"))
        best = max(tests.values())
        cells = [
            f"{f'**{test:.3f}**' if test == best else f'{test:.3f}'} ({run.seconds(table, method):.0f} s"
            f"{', stopped' if run.figure(table, method, 'stopped') == 'time_limit' else ''})"
            if (test := tests.get(method)) is not None
            else "–"
            for method in ALL_LEARNERS
        ]
        found.append(f"| {table} ({columns} columns, {n_rows:,} rows) | {' | '.join(cells)} |")
    return found


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    return "\n".join(
        [
            "## HiddenChowLiu: likelihood of new rows",
            "",
            "Written by `python -m benchmarks.density`. One thread; processor seconds, without loading Python.",
            "Mean log-likelihood per row. The validation rows choose the number of states and the smoothing, and say",
            "when EM ends; nothing is fitted to them. Test rows are scored once. `4 groups` is a mixture of four trees",
            "with the same edges (`n_groups=4`), with states for each of them. `mixture` is `HiddenChowLiuMixture()`,",
            "and `averaged` the same with `own_edges=False`, which is one tree as well; with the states and the",
            "smoothing of the best of their trials. The last method of a table is the one that the validation rows",
            "like best. What was wanted is on the page [beyond the papers](beyond.md#trees-that-predict).",
            "",
            "| table | method | states | smoothing | validation | test | seconds |",
            "|---|---|---|---|---|---|---|",
            *lines(run),
            "",
            "### All learners on tables of categories",
            "",
            "Mean log-likelihood of test rows: a tenth of the rows, or those that COIL-42 comes with. Numbers are cut",
            "at the median, and classes are left out. `HiddenChowLiu` and `mixture` hold out rows to validate with and",
            "follow them in the end; of COIL-42 nobody learns from these rows. The others search by BIC, for",
            f"{LIMIT} seconds at most, and their tables are `smoothed` afterwards. Processor seconds are in brackets;",
            "the machine was shared, so that searches that were stopped had less of it than their limit says.",
            "",
            f"| table | {' | '.join(ALL_LEARNERS)} |",
            f"|---|{'---|' * len(ALL_LEARNERS)}",
            *comparison(run),
            "",
            "### Answers",
            "",
            "Processor milliseconds of answers about a thousand test rows. A tenth of the cells is missing for",
            "`score_samples` and `impute`, so that nearly all rows have gaps of their own. `unusual_rows` also draws",
            "10,000 rows, and `sample` as many as there are test rows.",
            "",
            f"| table | model | parameters | {' | '.join(ANSWERS)} |",
            f"|---|---|---|{'---|' * len(ANSWERS)}",
            *answers(run),
        ]
    )


def main() -> None:
    from benchmarks import beyond  # it takes the aims above

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--wanted", action="store_true", help="only the rows that have a target")
    parser.add_argument("--method", default="", help="only this method")
    own, others = parser.parse_known_args()
    options = runner.arguments(__doc__, others)
    run = runner.Runner("density")
    if not options.render:
        if options.again:
            forget(run, options.only, own.wanted, own.method)
        measure(run, options.only, own.wanted, own.method)
    runner.render("density", page(run))
    beyond.main([])


if __name__ == "__main__":
    main()
