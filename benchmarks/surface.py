"""How many classes? compare_classes with a bootstrap likelihood-ratio test, beside StepMix's.

Needs the papers' data sets and StepMix. A quarter of an hour, most of it StepMix's.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from pgmpy_latent import compare_classes

#: Tables, as the page calls them -> files. All columns have two states.
TABLES = {"carcinoma": "polca_carcinoma.csv", "coleman": "coleman.csv"}
N_BOOTSTRAP = 100
CLASSES = range(1, 6)
#: Seconds that both tables together may take.
ALLOWED = 20
OURS, THREADS, STEPMIX = "ours", "ours, two threads", "StepMix"


def table(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the distinct rows of a table, as zeros and ones, and their counts."""
    frame = pd.read_csv(runner.DATA / TABLES[name])
    counts = frame.pop("count")
    return frame - frame.min(), counts


def measured(work: Callable[[], dict]) -> Callable[[], dict]:
    """Return the work with the processor's seconds and the load of the machine among its figures."""

    def run() -> dict:
        began = time.process_time()
        figures = work()
        return figures | {"cpu": time.process_time() - began, "load": os.getloadavg()[0]}

    return run


def ours(name: str, n_jobs: int) -> dict:
    items, counts = table(name)
    found = compare_classes(
        items, CLASSES, sample_weight=counts, n_bootstrap=N_BOOTSTRAP, n_jobs=n_jobs, show_progress=False
    )
    return {
        "p": found["blrt_p"].dropna().tolist(),
        "blrt": found["blrt"].dropna().tolist(),
        "recommended": found.attrs["recommended"],
        "reason": found.attrs["reason"],
    }


def stepmix_model(**options):
    from stepmix import StepMix

    return StepMix(measurement="binary", random_state=0, verbose=0, progress_bar=0, **options)


def rows_of(name: str) -> pd.DataFrame:
    """Return the rows one by one, as StepMix wants them."""
    items, counts = table(name)
    return items.loc[items.index.repeat(counts)].reset_index(drop=True)


def stepmix(name: str) -> dict:
    """Run StepMix's test with its defaults."""
    from stepmix.bootstrap import blrt_sweep

    rows = rows_of(name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = blrt_sweep(
            stepmix_model(), rows, low=CLASSES[0], high=CLASSES[-1], n_repetitions=N_BOOTSTRAP, random_state=0
        )
    return {"p": found["p"].tolist()}


def stepmix_observed(name: str) -> dict:
    """Return twice the gains in log-likelihood that StepMix's test compares with: of the same fits, done again."""
    rows = rows_of(name)
    logs = [stepmix_model(n_components=size).fit(rows).score(rows) * len(rows) for size in CLASSES]
    return {"blrt": (2 * np.diff(logs)).tolist()}


def observed(name: str) -> str:
    return f"{name}, observed"


def measure(run: runner.Runner, only: str) -> None:
    for name in TABLES:
        if only in name:
            methods = {OURS: lambda name=name: ours(name, 1), THREADS: lambda name=name: ours(name, 2)}
            run.compare(name, {method: measured(work) for method, work in methods.items()}, repeats=3)
            run.compare(observed(name), {STEPMIX: lambda name=name: stepmix_observed(name)}, repeats=1)
            run.compare(name, {STEPMIX: measured(lambda name=name: stepmix(name))}, repeats=1)


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    methods = (OURS, THREADS, STEPMIX)
    loads = [run.figure(name, method, "load") for name in TABLES for method in methods]
    clock = {method: sum(run.seconds(name, method) for name in TABLES) for method in methods}
    cpu = {method: sum(run.figure(name, method, "cpu") for name in TABLES) for method in methods}
    lines = [
        "## How many classes: the bootstrap likelihood-ratio test",
        "",
        "Written by `python -m benchmarks.surface`.",
        f"`compare_classes` with {CLASSES[0]} to {CLASSES[-1]} classes draws",
        f"{N_BOOTSTRAP} tables from each model, tests every number of classes against the next smaller one, and gives",
        "G² and X² p-values, too. It fits each drawn table from a dozen random starts, splits, and the models at hand.",
        "`stepmix.bootstrap.blrt_sweep` does the test alone, with as many tables and StepMix's defaults: one random",
        "start for each fit. One thread, unless it says two; ours is the median of three runs. The machine has two",
        f"cores and had other work (load {min(loads):.0f} to {max(loads):.0f}), so that the clock shows more than it",
        "would otherwise; the processor's own seconds stand beside it.",
        f"Versions: {run.find('coleman', OURS)['versions']}.",
        "",
        "| table | method | seconds | of a processor | 2 to 5 classes against one less: twice the gain | p-values |",
        "|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        for method in methods:
            gains = run.figure(*((observed(name), STEPMIX) if method == STEPMIX else (name, method)), "blrt")
            lines.append(
                f"| {name} | {method} | {run.seconds(name, method):.1f} | {run.figure(name, method, 'cpu'):.1f} "
                f"| {', '.join(f'{gain:.1f}' for gain in gains)} "
                f"| {', '.join(f'{p:.2f}' for p in run.figure(name, method, 'p'))} |"
            )
    lines += [
        "",
        f"Both tables together take {clock[OURS]:.1f} s on the clock with one thread and",
        f"{clock[THREADS]:.1f} s with two (wanted: below {ALLOWED} s), StepMix {clock[STEPMIX]:.0f} s.",
        f"On a processor it is {cpu[OURS]:.1f} s against {cpu[STEPMIX]:.0f} s, {cpu[STEPMIX] / cpu[OURS]:.0f} times as",
        "long. Where no drawn table reaches the observed gain, StepMix says 0 and ours",
        f"1/{N_BOOTSTRAP + 1}. Where gains differ, or are below 0, a fit of the given table ended at a local maximum,",
        "or short of one; the p-value belongs to it.",
        "",
        *(f"- {name}: {run.figure(name, OURS, 'reason')}" for name in TABLES),
    ]
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("surface", again=options.again, only=options.only)
    if not options.render:
        items, counts = table("coleman")
        compare_classes(items, [1, 2], sample_weight=counts, n_bootstrap=2, show_progress=False)  # loads the kernels
        measure(run, options.only)
    runner.render("surface", page(run))


if __name__ == "__main__":
    main()
