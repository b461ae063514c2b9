"""The thesis' Tables 6.13, 6.14 and 6.15: latent class models of real tables, scored by BIC."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks import split_merge
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import BASELINES, FIXED, NO_ADJUST, SPLIT_MERGE, STANDARD
from benchmarks.tables.cells import Cell, Finding, not_comparable
from benchmarks.tables.kark_6_synthetic import CAUSES
from benchmarks.tables.results import Job, Results, method_of
from pgmpy_latent import Baseline, RandomStarts, SplitMerge, presets

TITLE = "Karčiauskas, Tables 6.13 to 6.15"
NOTES = [
    "BIC with the natural logarithm, mean of five runs, ours of two to ten; numbers become whether they exceed the "
    "median, gaps stay. " + _thesis.EQUAL_SCORES,
    "No clock stops our runs; the thesis' searches were stopped after five hours. Standard3 is RandomStarts, "
    "StandardFixed has 16, 32, 64, 128 and 256 random starts rather than SplitMerge's time, and SplitMerge-NoAdjust is "
    "SplitMerge without adjustments.",
    "Where a cell is undecided, it is the thesis' own interval that exceeds the limit: on Housing, Vehicle and "
    "Mushroom its five runs lie further apart than its methods do, which more runs of ours cannot change.",
    "The thesis does not say which of Heart's variables is categorical, nor how ties at the median are binned; both "
    "were chosen so that its scores are met.",
    "The columns of the thesis are latent class models; Independence, Chow-Liu and the forest over the columns with "
    "the highest BIC stand below. Where one of the latter two is better, one hidden variable is the wrong model: "
    "columns depend on each other beyond their classes.",
]
#: Name in the thesis -> name in benchmarks.split_merge, where they differ.
NAMES = {"Pen": "Pen digits", "Page": "Page blocks"}
NOT_HERE = "the table is not in the folder of data sets"
#: Of our runs: of the thesis' own methods, of the others, and where a run is long.
SEEDS, BASELINE_SEEDS, LONG_SEEDS = range(10), range(5), range(2)
ROUNDS, FIRST_ROUND = 5, 16
QUICK = "quick: "
#: Our settings of a column: as it comes, and to the letter.
TUNING = {
    STANDARD: (presets.RANDOM_STARTS, presets.KARCIAUSKAS_2005_STANDARD3),
    SPLIT_MERGE: (presets.SPLIT_MERGE, presets.KARCIAUSKAS_2005_CHAPTER_6),
    NO_ADJUST: (
        presets.SPLIT_MERGE.replace(adjust=False), presets.KARCIAUSKAS_2005_CHAPTER_6.replace(adjust=False),
    ),
    FIXED: (
        presets.RANDOM_STARTS.replace(n_rounds=ROUNDS), presets.KARCIAUSKAS_2005_STANDARD_FIXED.replace(n_rounds=ROUNDS)
    ),
}  # fmt: skip
#: Row and column of cells in which the preset is worse, on which the experiments of the synthetic tables run too.
CAUSES_OF = (("Thyroid", NO_ADJUST),)
TABLES = {"6.13": (SPLIT_MERGE, STANDARD, FIXED), "6.15": (NO_ADJUST,)}
#: What benchmarks.split_merge calls the columns that it has by default.
OLDER = {SPLIT_MERGE: "SplitMerge", STANDARD: "RandomStarts"}


def our_name(row: str) -> str | None:
    """Return what benchmarks.split_merge calls a table; None if we do not have it."""
    name = NAMES.get(row, row)
    return name if name in split_merge.TABLES else None


def rows_here(table: str) -> list[str]:
    return [row for row in _thesis.figures(table) if our_name(row)]


def seeds_of(row: str, column: str) -> range:
    """Return which runs there are to be."""
    if our_name(row) in split_merge.LONG:
        return LONG_SEEDS
    return SEEDS if column in _thesis.OWN_COLUMNS else BASELINE_SEEDS


def older_results() -> runner.Runner:
    return runner.Runner("split_merge")


def result(run: runner.Runner, older: runner.Runner, column: str, to_the_letter: bool, row: str, seed: int):
    """Return the figures of a run, with seconds, or None; some of those by default are the older script's."""
    found = run.find(row, method_of(column, to_the_letter), seed)
    if not found and not to_the_letter and column in OLDER:
        found = older.find(our_name(row), OLDER[column], seed)
    return {**json.loads(found["figures"]), "seconds": float(found["seconds"])} if found else None


def results(run: runner.Runner, older: runner.Runner, column: str, to_the_letter: bool, row: str) -> list[dict]:
    found = (result(run, older, column, to_the_letter, row, seed) for seed in SEEDS)
    return [one for one in found if one]


def stored(run: runner.Runner) -> Results:
    """Return the results, with the older script's, from which processor time is guessed."""
    return Results(run, "split_merge")


# -- measuring ---------------------------------------------------------------------------------------------------------


def fitted(row: str, column: str, to_the_letter: bool, seed: int, states: int | None = None) -> dict:
    """Run a column's method to its end; return its figures and CPU seconds."""
    settings = {"tuning": TUNING[column][to_the_letter], "random_state": seed, "show_progress": False}
    if column == FIXED:
        settings |= {"n_states": states, "n_starts": FIRST_ROUND}
    learner = (RandomStarts if column in (STANDARD, FIXED) else SplitMerge)(**settings)
    frame, began = split_merge.table(our_name(row)), time.process_time()
    found = learner.fit(frame)
    return {"seconds": time.process_time() - began, **split_merge.figures(found)}


def changed(row: str, column: str, cause: str) -> dict:
    """Run a column's preset with something changed in it."""
    tuning = CAUSES[cause].replace(adjust=column != NO_ADJUST)
    return split_merge.timed(SplitMerge(tuning=tuning, random_state=0, show_progress=False), our_name(row))


def baseline(row: str, column: str) -> dict:
    return {"bic": Baseline(BASELINES[column]).fit(split_merge.table(our_name(row))).bic_}


def column_job(run: runner.Runner, older: runner.Runner, column: str, to_the_letter: bool, row: str, seed: int) -> Job:
    """Return the job of a run; StandardFixed takes the states of SplitMerge's best model with the same settings."""

    def work() -> dict:
        states = None
        if column == FIXED:
            best = max(results(run, older, SPLIT_MERGE, to_the_letter, row), key=lambda one: one["bic"])
            states = max(best["states"], default=1)
        return fitted(row, column, to_the_letter, seed, states)

    return row, method_of(column, to_the_letter), seed, work


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return what neither script has measured; short runs first."""
    older = older_results()
    for row in rows_here("6.13"):
        yield from ((row, column, 0, lambda r=row, c=column: baseline(r, c)) for column in BASELINES)
    for seed in SEEDS:  # all cells get a first run before one gets a second
        for to_the_letter in (True, False):
            for table, columns in TABLES.items():
                for row in sorted(rows_here(table), key=lambda row: our_name(row) in split_merge.LONG):
                    for column in columns:
                        if seed in seeds_of(row, column) and not result(run, older, column, to_the_letter, row, seed):
                            yield column_job(run, older, column, to_the_letter, row, seed)

    for row, column in CAUSES_OF:
        yield from ((row, f"{column}, {c}", 0, lambda r=row, k=column, c=c: changed(r, k, c)) for c in CAUSES)


def quick_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return the columns' methods on a small table, once."""
    case = f"{QUICK}Heart"
    for column in BASELINES:
        yield case, column, 0, lambda c=column: baseline("Heart", c)
    for to_the_letter in (False, True):
        for column in (SPLIT_MERGE, STANDARD):
            details = ("Heart", column, to_the_letter, 0)
            yield case, method_of(column, to_the_letter), 0, lambda d=details: fitted(*d)


# -- cells -------------------------------------------------------------------------------------------------------------


def finding(run: runner.Runner, older: runner.Runner, column: str, to_the_letter: bool, row: str, figure) -> Finding:
    """Compare our scores with the thesis'."""
    ours = results(run, older, column, to_the_letter, row)
    seconds = float(np.mean([one["seconds"] for one in ours])) if ours else None
    why = why_changed(run, column, row) if to_the_letter else ""
    return _thesis.score_finding(figure, [one["bic"] for one in ours], seconds, why)


def why_changed(run: runner.Runner, column: str, row: str) -> str:
    """Say what the BIC becomes when something is changed in the preset, where that was tried."""
    found = {cause: run.find(row, f"{column}, {cause}") for cause in CAUSES}
    return "; ".join(f"{c} it is {json.loads(one['figures'])['bic']:,.1f}" for c, one in found.items() if one)


def row_cells(run: runner.Runner, older: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    found = []
    for column, figure in _thesis.figures(table)[row].items():
        both = [
            finding(run, older, column, letter, row, figure) if our_name(row) else not_comparable(NOT_HERE)
            for letter in (False, True)
        ]
        found.append(_thesis.score_cell(_thesis.title(table), row, column, figure, *both))
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
        ours = results(run, older, SPLIT_MERGE, False, row)
        if ours and all(run.find(row, column) for column in BASELINES):
            baselines = {column: run.figure(row, column, "bic") for column in BASELINES}
            found[row] = _thesis.beside(baselines, float(np.mean([one["bic"] for one in ours])))
    return found
