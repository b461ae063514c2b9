"""Prediction: the mean log-likelihood of test rows on tables of zeros and ones with rows to learn, validate and test.

Needs the density benchmark beside the papers' data sets. Numbers of states and smoothing are chosen by the validation
rows alone, nothing is fitted to these, and test rows are scored once, at the end. One thread; every fit runs in a
process of its own; about ten minutes. ``--only`` takes the name of a table.
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import pandas as pd

FOLDER = runner.DATA / "density"
#: Table -> mean log-likelihood of test rows that is wanted of one tree, and processor seconds that are allowed.
WANTED = {
    "nltcs": (-6.01, 5),
    "plants": (-12.70, 60),
    "baudio": (-39.77, 90),
    "accidents": (-26.63, 90),
    "dna": (-79.15, 30),
}
#: Method -> the learner, as code.
LEARNERS = {
    "HiddenChowLiu": "HiddenChowLiu(random_state=0, show_progress=False)",
    "4 groups": "HiddenChowLiu(n_groups=4, max_states=8, random_state=0, show_progress=False)",
    "Chow-Liu": 'Baseline("chow_liu", prior=0.1)',
}
#: Runs in a process of its own; prints what was found.
CODE = """
import json
from benchmarks import density
from pgmpy_latent import Baseline, HiddenChowLiu
print(json.dumps(density.fitted({learner}, "{table}")))
"""


def rows(table: str, part: str) -> pd.DataFrame:
    """Read the rows to learn from, to validate with or to test; a column may lack one of its two values."""
    frame = pd.read_csv(FOLDER / f"{table}.{part}.csv.gz", header=None)
    return frame.astype(pd.CategoricalDtype([0, 1]))


def fitted(learner, table: str) -> dict:
    """Fit, score the test rows, and return processor seconds and what was found."""
    import time

    from pgmpy_latent import HiddenChowLiu

    train, valid = rows(table, "train"), rows(table, "valid")
    validates = isinstance(learner, HiddenChowLiu)
    type(learner)(**learner.get_params()).fit(train.iloc[:200, :6])  # what is compiled once is not counted
    began = time.process_time()
    learner.fit(train, **({"X_valid": valid} if validates else {}))
    seconds = time.process_time() - began
    found = {"seconds": seconds, "columns": train.shape[1], "rows": len(train), "valid": learner.score(valid)}
    if validates:
        best = learner.held_out_[learner.held_out_["best"]].iloc[0]
        found |= {"n_states": int(best["n_states"]), "smoothing": float(best["smoothing"])}
    return found | {"parameters": learner.n_parameters_, "test": learner.score(rows(table, "test"))}


def measure(run: runner.Runner, only: str) -> None:
    """Fit all tables by all methods."""
    for table in WANTED:
        if only in table:
            for method, learner in LEARNERS.items():
                run.alone(table, method, CODE.format(learner=learner, table=table))


def lines(run: runner.Runner) -> list[str]:
    """Return a line for every table and method; the one that validation rows like best comes last."""
    found = []
    for table, (wanted, allowed) in WANTED.items():
        if not all(run.find(table, method) for method in LEARNERS):
            continue
        columns, n_rows = (run.figure(table, "Chow-Liu", name) for name in ("columns", "rows"))
        for method in sorted(LEARNERS, key=lambda method: run.figure(table, method, "valid")):
            valid, test = (run.figure(table, method, name) for name in ("valid", "test"))
            chosen = "– | –"
            if method != "Chow-Liu":
                n_states, smoothing = (run.figure(table, method, name) for name in ("n_states", "smoothing"))
                chosen = f"{n_states} | {smoothing:g}"
            found.append(
                f"| {table} ({columns} columns, {n_rows:,} rows) | {method} | {chosen} | {valid:.3f} | {test:.3f} "
                f"| {wanted:.2f} | {run.seconds(table, method):.1f} | {allowed} |"
            )
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
            "with the same edges (`n_groups=4`), with states for each of them. The last method of a table is the one",
            "that the validation rows like best.",
            "",
            "| table | method | states | smoothing | validation | test | wanted | seconds | allowed |",
            "|---|---|---|---|---|---|---|---|---|",
            *lines(run),
        ]
    )


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("density", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    runner.render("density", page(run))


if __name__ == "__main__":
    main()
