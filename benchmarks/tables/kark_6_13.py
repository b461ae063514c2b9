"""The thesis' Tables 6.13, 6.14 and 6.15: latent class models of real tables, scored by BIC."""

from __future__ import annotations

import json
import warnings

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import split_merge
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import BASELINES, FIXED, NO_ADJUST, SPLIT_MERGE, STANDARD
from benchmarks.tables.cells import Cell, missing, not_comparable
from pgmpy_latent import Baseline, RandomStarts, SplitMerge, presets

TITLE = "Karčiauskas, Tables 6.13 to 6.15"
NOTES = [
    "BIC with the natural logarithm, mean of five runs, ours of two to five; numbers become whether they exceed the "
    "median, gaps stay. " + _thesis.EQUAL_SCORES,
    "SplitMerge and Standard3 (RandomStarts, begun anew until SplitMerge's seconds are used up, the best kept) have 5 "
    "to 30 seconds on one thread, the thesis' searches up to five hours. StandardFixed has 16, 32, 64, 128 and 256 "
    "random starts, or two minutes; SplitMerge-NoAdjust is SplitMerge without adjustments. On the four largest tables "
    "some have fewer than five runs, at least two.",
    "The thesis does not say which of Heart's variables is categorical, nor how ties at the median are binned; both "
    "were chosen so that its scores are met.",
    "The columns of the thesis are latent class models; Independence, Chow-Liu and the forest over the columns with "
    "the highest BIC stand below. Where one of the latter two is better, one hidden variable is the wrong model: "
    "columns depend on each other beyond their classes.",
]
#: Name in the thesis -> name in benchmarks.split_merge, where they differ.
NAMES = {"Pen": "Pen digits", "Page": "Page blocks"}
NOT_HERE = "the table is not in the folder of data sets"
#: Of our runs; fewer where a run of StandardFixed or SplitMerge-NoAdjust is long.
SEEDS, LONG_SEEDS = range(5), range(2)
#: Seconds given to SplitMerge from which on such a run is long.
LONG = 30
ROUNDS, FIRST_ROUND, TIME_LIMIT = 5, 16, 120
QUICK = "quick: "


def our_name(row: str) -> str | None:
    """Return what benchmarks.split_merge calls a table; None if we do not have it."""
    name = NAMES.get(row, row)
    return name if name in split_merge.TABLES else None


def rows_here(table: str) -> list[str]:
    return [row for row in _thesis.figures(table) if our_name(row)]


def seconds_given(row: str) -> float:
    return split_merge.TABLES[our_name(row)][-1]


def older_name(column: str) -> str:
    """Return what benchmarks.split_merge calls a column."""
    return "RandomStarts" if column == STANDARD else column


def results(run: runner.Runner, older: runner.Runner, column: str, row: str) -> list[dict]:
    """Return the figures of all runs, with seconds; those of the older script first."""
    found = []
    for seed in SEEDS:
        result = older.find(our_name(row), older_name(column), seed) or run.find(row, column, seed)
        if result:
            found.append({**json.loads(result["figures"]), "seconds": float(result["seconds"])})
    return found


def older_results() -> runner.Runner:
    return runner.Runner("split_merge")


# -- measuring ---------------------------------------------------------------------------------------------------------


def fixed(row: str, states: int, seed: int, rounds: int = ROUNDS) -> dict:
    """Run StandardFixed."""
    settings = {"n_states": states, "n_starts": FIRST_ROUND, "time_limit": TIME_LIMIT}
    settings["tuning"] = presets.KARCIAUSKAS_2005_STANDARD_FIXED.replace(n_rounds=rounds)
    learner = RandomStarts(**settings, random_state=seed, show_progress=False)
    return split_merge.figures(learner.fit(split_merge.table(our_name(row))))


def without_adjusting(row: str, seed: int) -> dict:
    """Run SplitMerge without adjustments."""
    learner = SplitMerge(
        tuning=presets.SPLIT_MERGE.replace(adjust=False),
        random_state=seed,
        time_limit=seconds_given(row),
        show_progress=False,
    )
    return split_merge.figures(learner.fit(split_merge.table(our_name(row))))


def baseline(row: str, column: str) -> dict:
    return {"bic": Baseline(BASELINES[column]).fit(split_merge.table(our_name(row))).bic_}


def work_of(older: runner.Runner, run: runner.Runner, column: str, row: str, seed: int):
    """Return the work of a cell."""
    if column == NO_ADJUST:
        return lambda: without_adjusting(row, seed)
    if column == SPLIT_MERGE:
        return lambda: split_merge.split_merge(our_name(row), seed)
    found = results(run, older, SPLIT_MERGE, row)
    if column == STANDARD:
        seconds = float(np.mean([result["seconds"] for result in found]))
        return lambda: split_merge.random_starts(our_name(row), seed, seconds)
    best = max(found, key=lambda result: result["bic"])
    return lambda: fixed(row, max(best["states"], default=1), seed)


def measure(run: runner.Runner, quick: bool = False) -> None:
    """Measure what neither this script nor the older one has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is kept with the figures
        if quick:
            work = {FIXED: lambda: fixed("Heart", 2, 0, rounds=1), NO_ADJUST: lambda: without_adjusting("Heart", 0)}
            work |= {column: lambda c=column: baseline("Heart", c) for column in BASELINES}
            run.compare(f"{QUICK}Heart", work, repeats=1)
            return
        older = older_results()
        SplitMerge(random_state=0, show_progress=False).fit(split_merge.table("Heart"))  # loads the kernels
        for row in rows_here("6.13"):
            for column in BASELINES:
                run.compare(row, {column: lambda r=row, c=column: baseline(r, c)}, repeats=1)
        for seed in SEEDS:  # all cells get a first run before one gets a second
            for table, columns in (("6.13", (SPLIT_MERGE, STANDARD, FIXED)), ("6.15", (NO_ADJUST,))):
                for row in sorted(rows_here(table), key=seconds_given):
                    for column in columns:
                        measure_cell(run, older, column, row, seed)


def measure_cell(run: runner.Runner, older: runner.Runner, column: str, row: str, seed: int) -> None:
    long = column in (FIXED, NO_ADJUST) and seconds_given(row) >= LONG
    there = run.find(row, column, seed) or older.find(our_name(row), older_name(column), seed)
    if not there and seed in (LONG_SEEDS if long else SEEDS):
        run.compare(row, {column: work_of(older, run, column, row, seed)}, seed=seed, repeats=1)


# -- cells -------------------------------------------------------------------------------------------------------------


def row_cells(run: runner.Runner, older: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    title, found = _thesis.title(table), []
    for column, figure in _thesis.figures(table)[row].items():
        if our_name(row) is None:
            found.append(not_comparable(title, row, column, figure.mean, NOT_HERE))
            continue
        ours = results(run, older, column, row)
        if not ours:
            found.append(missing(title, row, column, figure.mean))
            continue
        seconds = float(np.mean([result["seconds"] for result in ours]))
        scores, n_stopped = [result["bic"] for result in ours], sum(result["stopped"] is not None for result in ours)
        found.append(_thesis.score_cell(title, row, column, figure, scores, seconds, n_stopped))
    return found


def cells(run: runner.Runner) -> list[Cell]:
    """Return the cells of the three tables."""
    older = older_results()
    return [
        cell
        for table in ("6.13", "6.14", "6.15")
        for row in _thesis.figures(table)
        for cell in row_cells(run, older, table, row)
    ]


def beside(run: runner.Runner) -> dict[str, dict[str, str]]:
    """Return the BIC of baselines."""
    older, found = older_results(), {}
    for row in rows_here("6.13"):
        ours = results(run, older, SPLIT_MERGE, row)
        if ours and all(run.find(row, column) for column in BASELINES):
            baselines = {column: run.figure(row, column, "bic") for column in BASELINES}
            found[row] = _thesis.beside(baselines, float(np.mean([result["bic"] for result in ours])))
    return found
