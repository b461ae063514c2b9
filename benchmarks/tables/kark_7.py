"""The thesis' Tables 7.1 to 7.4: numbers of hidden states of hierarchical latent class models on given skeletons."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from functools import cache

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from benchmarks import split_merge
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import COLUMNS, FIXED, SPLIT_MERGE, STANDARD
from benchmarks.tables.cells import WORSE, Cell, compared, missing, not_comparable
from pgmpy_latent import Baseline, LatentTree, RandomStarts, SplitMerge, datasets, presets, sample

TITLE = "Karčiauskas, Tables 7.1 to 7.4"
NOTES = [
    "Which parameters the thesis drew is not known; ours are five draws by its rules (two for 12 and 18 variables), "
    "one run each. Instead of BIC, each cell holds how far the mean BIC is below the best model known: in the thesis "
    "the best mean of the row, ours, for each draw, the best of all our methods and of EM from the true parameters. "
    "Ours is the stricter measure. Gaps are equal if they differ by at most 1, which the thesis takes for the same "
    "score, or by the 95 % intervals of the means together; ours is over different models, so that it is wide.",
    "HLCStandard3 is RandomStarts on the skeleton; HLCStandardFixed has the structure that SplitMerge found, and 16, "
    "32, 64, 128 and 256 random starts. Both are stopped after 100 seconds (the thesis: hours).",
    "Independence, Chow-Liu, the forest over the columns with the highest BIC and a latent class model (one hidden "
    "variable, its states found by BIC, half a minute) "
    "stand below, as gaps to the same models. The skeleton of Table 7.4 is a picture that the text of the thesis "
    "does not hold; EAST's table has learned trees of the same data.",
]
#: Baselines -> model.
BASELINES = {**_thesis.BASELINES, "Latent class": "latent_class"}
#: Of our draws; fewer where a run is long, which it is with more variables than these.
SEEDS, LONG_SEEDS, SHORT = split_merge.SEEDS, range(2), 7
ROUNDS, FIRST_ROUND, TIME_LIMIT, CLASS_SECONDS = 5, 16, 100, 30
#: Thesis' table and row -> variables, rows, whether parameters are strong.
MODELS = {("7.1", f"1e{power}"): (7, 10**power, False) for power in (4, 5, 6)}
MODELS |= {("7.2", f"1e{power}"): (7, 10**power, True) for power in (4, 5, 6)}
MODELS |= {("7.3", f"{n}"): (n, 10_000, True) for n in (12, 18)}
LOST = "the skeleton, the picture of Figure 7.9, is lost"
#: Table 7.4: mean, interval and hours.
COIL = {STANDARD: (-51626.1, 7.4, 971), SPLIT_MERGE: (-51516.5, 19.4, 467), FIXED: (-51515.1, 30.1, None)}
QUICK = "quick: "

Model = tuple[int, int, bool]


@cache
def drawn(model: Model, seed: int) -> tuple[LatentTree, pd.DataFrame]:
    """Return a true model and rows, those of benchmarks.split_merge."""
    n_variables, n_rows, strong = model
    true = datasets.hlc_model(n_variables, random_state=seed, strong=strong)
    return true, sample(true, n_rows, random_state=100 + seed)


def figures(run: runner.Runner, older: runner.Runner, model: Model, column: str, seed: int) -> dict | None:
    """Return the figures of a run, with seconds; the older script has most of SplitMerge's."""
    case = split_merge.model_case(*model)
    row = run.find(case, column, seed) or older.find(case, column, seed)
    return {**json.loads(row["figures"]), "seconds": float(row["seconds"])} if row else None


def older_results() -> runner.Runner:
    return runner.Runner("split_merge")


# -- measuring ---------------------------------------------------------------------------------------------------------


def fitted(learner, rows: pd.DataFrame) -> dict:
    """Return the figures and the seconds of a fit."""
    began = time.perf_counter()
    found = learner.set_params(show_progress=False).fit(rows)
    kept = {"bic": found.bic_, "states": list(found.n_states_.values()), "stopped": found.stopped_}
    return {**kept, "seconds": time.perf_counter() - began}


def standard(model: Model, seed: int) -> dict:
    true, rows = drawn(model, seed)
    tuning = presets.KARCIAUSKAS_2005_STANDARD3
    return fitted(RandomStarts(true, random_state=seed, time_limit=TIME_LIMIT, tuning=tuning), rows)


def fixed(model: Model, seed: int, rounds: int = ROUNDS) -> dict:
    """Run HLCStandardFixed with the structure that SplitMerge finds, whose seconds do not count."""
    true, rows = drawn(model, seed)
    found = SplitMerge(true, random_state=seed, show_progress=False).fit(rows)
    settings = {"n_states": found.n_states_, "n_starts": FIRST_ROUND, "time_limit": TIME_LIMIT}
    settings["tuning"] = presets.KARCIAUSKAS_2005_STANDARD_FIXED.replace(n_rounds=rounds)
    return fitted(RandomStarts(found.tree_, random_state=seed, **settings), rows)


def baseline(model: Model, seed: int, column: str) -> dict:
    return fitted(Baseline(BASELINES[column], random_state=seed, time_limit=CLASS_SECONDS), drawn(model, seed)[1])


def work_of(model: Model, column: str, seed: int):
    """Return the work of a run."""
    if column in BASELINES:
        return lambda: baseline(model, seed, column)
    if column == SPLIT_MERGE:
        return lambda: split_merge.hierarchical(*model, seed)
    return lambda: {STANDARD: standard, FIXED: fixed}[column](model, seed)


def measure(run: runner.Runner, quick: bool = False) -> None:
    """Measure what neither this script nor the older one has; short models first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is kept with the figures
        if quick:
            model = (7, 300, True)
            work = {SPLIT_MERGE: work_of(model, SPLIT_MERGE, 0), FIXED: lambda: fixed(model, 0, rounds=1)}
            work |= {column: work_of(model, column, 0) for column in BASELINES}
            run.compare(QUICK + split_merge.model_case(*model), work, repeats=1)
            return
        older = older_results()
        SplitMerge(random_state=0, show_progress=False).fit(drawn((7, 300, True), 0)[1])  # loads the kernels
        for model in MODELS.values():
            for seed in SEEDS if model[0] <= SHORT else LONG_SEEDS:
                for column in (SPLIT_MERGE, *BASELINES, STANDARD, FIXED):
                    if not figures(run, older, model, column, seed):
                        case = split_merge.model_case(*model)
                        run.compare(case, {column: work_of(model, column, seed)}, seed=seed, repeats=1)
            drawn.cache_clear()


# -- cells -------------------------------------------------------------------------------------------------------------


def all_results(run: runner.Runner, older: runner.Runner, model: Model) -> dict[int, dict[str, dict]]:
    """Return the results of the draws for which all is there: draw -> column -> figures."""
    found = {
        seed: {column: figures(run, older, model, column, seed) for column in (*COLUMNS, *BASELINES)} for seed in SEEDS
    }
    return {seed: results for seed, results in found.items() if all(results.values())}


def row_name(table: str, row: str) -> str:
    n_variables, n_rows, _ = MODELS[table, row]
    return f"{n_variables} variables, {n_rows:,} rows"


def our_gaps(run: runner.Runner, older: runner.Runner, model: Model) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return how far each column is below the best of each draw, and its mean seconds; nothing if no draw is whole."""
    results = all_results(run, older, model)
    if not results:
        return {}, {}
    columns = (*COLUMNS, *BASELINES)
    best = {
        seed: max(found[SPLIT_MERGE]["oracle"], *(found[column]["bic"] for column in COLUMNS))
        for seed, found in results.items()
    }
    gaps = {column: [found[column]["bic"] - best[seed] for seed, found in results.items()] for column in columns}
    return gaps, {
        column: float(np.mean([found[column]["seconds"] for found in results.values()])) for column in columns
    }


def row_cells(run: runner.Runner, older: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    title, name = _thesis.title(table), row_name(table, row)
    ours, seconds = our_gaps(run, older, MODELS[table, row])
    found = []
    for column, figure in _thesis.gaps(_thesis.figures(table)[row]).items():
        if not ours:
            found.append(missing(title, name, f"HLC{column}", figure.mean))
            continue
        times = {"seconds": seconds[column], "their_seconds": figure.seconds}
        mean = float(np.mean(ours[column]))
        error = _thesis.together(figure.interval, _thesis.half_width(ours[column]))
        cell = compared(title, name, f"HLC{column}", figure.mean, mean, error, **times)
        why = _thesis.spread(ours[column], figure.mean) if cell.verdict == WORSE else ""
        found.append(replace(cell, reason=why))
    return found


def beside(run: runner.Runner) -> dict[str, dict[str, str]]:
    """Return the gaps of baselines."""
    older, found = older_results(), {}
    for model in MODELS.values():
        ours, _ = our_gaps(run, older, model)
        if ours:
            means = {column: float(np.mean(gaps)) for column, gaps in ours.items()}
            baselines = {column: means[column] for column in BASELINES}
            found[split_merge.model_case(*model)] = _thesis.beside(baselines, means[SPLIT_MERGE])
    return found


def cells(run: runner.Runner) -> list[Cell]:
    """Return the cells of the four tables."""
    older = older_results()
    found = [cell for table, row in MODELS for cell in row_cells(run, older, table, row)]
    title = _thesis.title("7.4")
    return found + [not_comparable(title, "CoIL", f"HLC{column}", mean, LOST) for column, (mean, *_) in COIL.items()]
