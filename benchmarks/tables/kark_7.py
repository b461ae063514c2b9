"""The thesis' Tables 7.1 to 7.4: numbers of hidden states of hierarchical latent class models on given skeletons."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import lru_cache

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from benchmarks import split_merge
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import COLUMNS, FIXED, SPLIT_MERGE, STANDARD, Figure
from benchmarks.tables.cells import BASELINE, NOT_MEASURED, OWN, Cell, Finding, compared, lost
from benchmarks.tables.results import Job, Results, method_of
from pgmpy_latent import Baseline, LatentTree, RandomStarts, SplitMerge, datasets, presets, sample

TITLE = "Karčiauskas, Tables 7.1 to 7.4"
NOTES = [
    "Which parameters the thesis drew is not known; ours are ten draws by its rules (those that are measured, where "
    "fewer are; with fewer than three nothing is compared), one run each. Instead of BIC, each cell holds how far the "
    "mean BIC is below the best: in the thesis the best mean of the row; with the presets, for each draw, the best of "
    "the three presets; by default, for each draw, the best of all our runs and of EM from the true parameters, which "
    "is the stricter measure. Gaps are equal if they differ by at most 1, which the thesis takes for the same score, "
    "or by the 95 % intervals of the means together; ours is over different models, so it is wide.",
    "HLCStandard3 is RandomStarts on the skeleton; HLCStandardFixed has the structure that SplitMerge found with the "
    "same settings, and 16, 32, 64, 128 and 256 random starts. No run is stopped by a clock (the thesis' are, after "
    "hours).",
    "Independence, Chow-Liu, the forest over the columns with the highest BIC and a latent class model (one hidden "
    "variable, its states found by BIC, half a minute) "
    "stand below, as gaps to the same models. The skeleton of Table 7.4 is a picture that the text of the thesis "
    "does not hold; EAST's table has learned trees of the same data.",
]
#: Baselines -> model.
BASELINES = {**_thesis.BASELINES, "Latent class": "latent_class"}
#: Of our draws.
SEEDS = range(10)
#: With fewer nothing is known of the spread over models, and nothing is compared.
FEWEST_DRAWS = 3
ROUNDS, FIRST_ROUND, CLASS_SECONDS = 5, 16, 30
#: Our settings of a column: as it comes, and to the letter.
TUNING = {
    SPLIT_MERGE: (presets.SPLIT_MERGE, presets.KARCIAUSKAS_2005_CHAPTER_7),
    STANDARD: (presets.RANDOM_STARTS, presets.KARCIAUSKAS_2005_STANDARD3),
    FIXED: (
        presets.RANDOM_STARTS.replace(n_rounds=ROUNDS), presets.KARCIAUSKAS_2005_STANDARD_FIXED.replace(n_rounds=ROUNDS)
    ),
}  # fmt: skip
#: Thesis' table and row -> variables, rows, whether parameters are strong.
MODELS = {("7.1", f"1e{power}"): (7, 10**power, False) for power in (4, 5, 6)}
MODELS |= {("7.2", f"1e{power}"): (7, 10**power, True) for power in (4, 5, 6)}
MODELS |= {("7.3", f"{n}"): (n, 10_000, True) for n in (12, 18)}
LOST = "the skeleton, the picture of Figure 7.9, is lost"
#: Table 7.4: mean, interval and hours.
COIL = {STANDARD: (-51626.1, 7.4, 971), SPLIT_MERGE: (-51516.5, 19.4, 467), FIXED: (-51515.1, 30.1, None)}
QUICK = "quick: "

Model = tuple[int, int, bool]


@lru_cache(maxsize=1)
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


def stored(run: runner.Runner) -> Results:
    """Return the results, with the older script's."""
    return Results(run, "split_merge")


# -- measuring ---------------------------------------------------------------------------------------------------------


def fitted(learner, rows: pd.DataFrame) -> dict:
    """Return the figures and the CPU seconds of a fit."""
    began = time.process_time()
    found = learner.set_params(show_progress=False).fit(rows)
    kept = {"bic": found.bic_, "states": list(found.n_states_.values()), "stopped": found.stopped_}
    return {**kept, "seconds": time.process_time() - began}


def column_run(model: Model, column: str, to_the_letter: bool, seed: int) -> dict:
    """Run a column's method; StandardFixed has the structure that SplitMerge finds, whose seconds do not count."""
    true, rows = drawn(model, seed)
    settings = {"tuning": TUNING[column][to_the_letter], "random_state": seed}
    if column == STANDARD:
        return fitted(RandomStarts(true, **settings), rows)
    tuning = TUNING[SPLIT_MERGE][to_the_letter]
    learner = SplitMerge(true, tuning=tuning, random_state=seed, show_progress=False)
    if column == SPLIT_MERGE:
        return fitted(learner, rows)
    found = learner.fit(rows)
    return fitted(RandomStarts(found.tree_, n_states=found.n_states_, n_starts=FIRST_ROUND, **settings), rows)


def baseline(model: Model, seed: int, column: str) -> dict:
    return fitted(Baseline(BASELINES[column], random_state=seed, time_limit=CLASS_SECONDS), drawn(model, seed)[1])


def model_jobs(model: Model, seed: int, prefix: str = "") -> Iterator[Job]:
    """Return the jobs of a draw; SplitMerge's by default is that of benchmarks.split_merge, with EM from the truth."""
    case = prefix + split_merge.model_case(*model)
    yield case, SPLIT_MERGE, seed, lambda: split_merge.hierarchical(*model, seed)
    for column in BASELINES:
        yield case, column, seed, lambda c=column: baseline(model, seed, c)
    for to_the_letter in (False, True):
        for column in TUNING:
            if to_the_letter or column != SPLIT_MERGE:
                details = (model, column, to_the_letter, seed)
                yield case, method_of(column, to_the_letter), seed, lambda d=details: column_run(*d)


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return what neither this script nor the older one has; short models first."""
    older = older_results()
    for model in MODELS.values():
        for seed in SEEDS:
            yield from (job for job in model_jobs(model, seed) if not figures(run, older, model, job[1], seed))


def quick_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return a small table, once."""
    yield from model_jobs((7, 300, True), 0, QUICK)


# -- cells -------------------------------------------------------------------------------------------------------------


def all_results(run: runner.Runner, older: runner.Runner, model: Model) -> dict[int, dict[str, dict]]:
    """Return the results of the draws for which all columns are there by default: draw -> method -> figures."""
    methods = [method_of(column, letter) for letter in (False, True) for column in COLUMNS] + list(BASELINES)
    found = {}
    for seed in SEEDS:
        there = {name: one for name in methods if (one := figures(run, older, model, name, seed))}
        if all(column in there for column in COLUMNS):
            found[seed] = there
    return found


def row_name(table: str, row: str) -> str:
    n_variables, n_rows, _ = MODELS[table, row]
    return f"{n_variables} variables, {n_rows:,} rows"


def our_gaps(results: dict[int, dict[str, dict]], method: str) -> list[float]:
    """Return how far a method is below the best of each draw: with a preset, of those draws that have all presets."""
    to_the_letter = [method_of(column, True) for column in COLUMNS]
    gaps = []
    for found in results.values():
        bics = {name: one["bic"] for name, one in found.items() if name not in BASELINES}
        if method not in to_the_letter:
            gaps.append(found[method]["bic"] - max(found[SPLIT_MERGE]["oracle"], *bics.values()))
        elif all(name in bics for name in to_the_letter):
            gaps.append(bics[method] - max(bics[name] for name in to_the_letter))
    return gaps


def finding(results: dict[int, dict[str, dict]], method: str, figure: Figure) -> Finding:
    """Compare our gaps, over different models, with the thesis' on one."""
    values = our_gaps(results, method)
    if len(values) < FEWEST_DRAWS:
        return NOT_MEASURED
    error = _thesis.together(figure.interval, _thesis.half_width(values))
    seconds = float(np.mean([found[method]["seconds"] for found in results.values() if method in found]))
    why = _thesis.spread(values, figure.mean)
    return compared(figure.mean, float(np.mean(values)), error, seconds=seconds, why_worse=why)


def row_cells(run: runner.Runner, older: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    title, name = _thesis.title(table), row_name(table, row)
    results = all_results(run, older, MODELS[table, row])
    found = []
    for column, figure in _thesis.gaps(_thesis.figures(table)[row]).items():
        both = [finding(results, method_of(column, letter), figure) for letter in (False, True)]
        found.append(_thesis.score_cell(title, name, f"HLC{column}", figure, *both))
    return found


def beside(run: runner.Runner) -> dict[str, dict[str, str]]:
    """Return the gaps of baselines."""
    older, found = older_results(), {}
    for model in MODELS.values():
        results = all_results(run, older, model)
        whole = {seed: one for seed, one in results.items() if all(column in one for column in BASELINES)}
        if whole:
            means = {column: float(np.mean(our_gaps(whole, column))) for column in (SPLIT_MERGE, *BASELINES)}
            baselines = {column: means[column] for column in BASELINES}
            found[split_merge.model_case(*model)] = _thesis.beside(baselines, means[SPLIT_MERGE])
    return found


def cells(run: runner.Runner) -> list[Cell]:
    """Return the cells of the four tables."""
    older = older_results()
    found = [cell for table, row in MODELS for cell in row_cells(run, older, table, row)]
    title = _thesis.title("7.4")
    kinds = {column: OWN if column == SPLIT_MERGE else BASELINE for column in COIL}
    return found + [
        lost(title, "CoIL", f"HLC{column}", mean, kinds[column], LOST) for column, (mean, *_) in COIL.items()
    ]
