"""The thesis' Tables 4.2 and 4.3: latent class models scored by Cheeseman and Stutz."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks import split_merge
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import BASELINES, FIXED, SPLITTING, Figure
from benchmarks.tables.cells import Cell, Finding, not_comparable
from benchmarks.tables.results import Job, Results, method_of
from pgmpy_latent import Baseline, RandomStarts, SplitMerge, presets, scores

TITLE = "Karčiauskas, Tables 4.2 and 4.3"
#: In place of a clock: how often growing may fail, and how many rounds StandardFixed has.
PATIENCE, ROUNDS = 10, 8
STANDARD = "Standard"
NOTES = [
    "Cheeseman-Stutz score of models fitted with a pseudo-count of 1 (MAP), mean of five runs. " + _thesis.EQUAL_SCORES,
    "By default, Splitting is SplitMerge without merges, Standard is RandomStarts that only grows, and StandardFixed "
    "has the states of the best model of Splitting and random starts, twice as many in each round. The thesis' "
    "searches go on until they are stopped, after 280 minutes. No clock stops ours: growing may fail "
    f"{PATIENCE} times, and StandardFixed has {ROUNDS} rounds. Independence, Chow-Liu and the forest over the columns "
    "with the highest BIC, below the tables, have the same score and pseudo-count.",
]
#: Table 4.2: minutes, then mean, interval and states of Standard and of Splitting.
TABLE_4_2 = {
    "Corn10": (4, (-10340.1, 1.7, 8), (-10339.1, 0.3, 8)),
    "Crude10": (5, (-10491.8, 0.7, 6), (-10491.3, 0.7, 6)),
    "Earn10": (5, (-26387.0, 7.1, 11), (-26380.7, 0.0, 10)),
    "Corn20": (21, (-23527.4, 2.4, 10), (-23527.2, 0.7, 10)),
    "Crude20": (50, (-23799.3, 1.0, 9), (-23799.4, 0.5, 9)),
    "Earn20": (167, (-46784.1, 13.5, 15), (-46767.2, 5.8, 17)),
    "Corn30": (67, (-40421.8, 8.2, 11), (-40409.9, 0.6, 11)),
    "Crude30": (48, (-28949.3, 10.3, 9), (-28943.4, 2.2, 10)),
    "Earn30": (186, (-74112.5, 71.4, 14), (-73922.3, 0.3, 18)),
    "Solar": (1, (-8343.2, 1.0, 5), (-8342.3, 0.5, 5)),
    "Soybean": (95, (-11180.7, 29.2, 14), (-11072.4, 35.8, 17)),
    "Mushroom": (280, (-83858.7, 1400.2, 15), (-80935.0, 24.8, 21)),
}
#: Table 4.3: mean, interval and states of StandardFixed; its other columns repeat Table 4.2.
TABLE_4_3 = {
    "Corn30": (-40431.2, 10.3, 11),
    "Earn30": (-73994.6, 48.9, 18),
    "Soybean": (-11113.5, 11.1, 15),
    "Mushroom": (-81796.7, 241.0, 21),
}
HERE = "Mushroom"
NOT_HERE = "the table is not in the folder of data sets"
SEEDS = range(5)
QUICK = "quick: "
MAP_BY_DEFAULT = {"scoring_method": "cs", "prior": 1.0}
#: Our settings of a column: as it comes, but for the score, and to the letter.
TUNING = {
    SPLITTING: (
        presets.SPLIT_MERGE.replace(**MAP_BY_DEFAULT, merge=False, patience=PATIENCE),
        presets.KARCIAUSKAS_2005_CHAPTER_4.replace(patience=PATIENCE),
    ),
    STANDARD: (
        presets.RANDOM_STARTS.replace(**MAP_BY_DEFAULT, shrink=False, adjust=False, patience=PATIENCE),
        presets.KARCIAUSKAS_2005_CHAPTER_4_STANDARD.replace(patience=PATIENCE),
    ),
    FIXED: (
        presets.RANDOM_STARTS.replace(**MAP_BY_DEFAULT, n_starts=16, n_rounds=ROUNDS - 4),
        presets.KARCIAUSKAS_2005_CHAPTER_4_STANDARD_FIXED.replace(n_rounds=ROUNDS),
    ),
}


def figures(table: str) -> dict[str, dict[str, Figure]]:
    """Return the thesis' figures: row -> column -> figure."""
    both = {
        row: {
            column: Figure(mean, interval, 60 * minutes, str(states))
            for column, (mean, interval, states) in zip((STANDARD, SPLITTING), found, strict=True)
        }
        for row, (minutes, *found) in TABLE_4_2.items()
    }
    if table == "4.2":
        return both
    return {
        row: {FIXED: Figure(mean, interval, both[row][SPLITTING].seconds, str(states)), SPLITTING: both[row][SPLITTING]}
        for row, (mean, interval, states) in TABLE_4_3.items()
    }


def stored(run: runner.Runner) -> Results:
    """Return the results, from which processor time is guessed."""
    return Results(run)


# -- measuring ---------------------------------------------------------------------------------------------------------


def fitted(table: str, column: str, to_the_letter: bool, seed: int, states: int | None = None) -> dict:
    """Run a column's method to its end; return the score and the states of its model, and CPU seconds."""
    settings = {"tuning": TUNING[column][to_the_letter], "random_state": seed, "show_progress": False}
    if column == FIXED:
        settings["n_states"] = states
    learner = (SplitMerge if column == SPLITTING else RandomStarts)(**settings)
    frame, began = split_merge.table(table), time.process_time()
    found = learner.fit(frame)
    seconds, states = time.process_time() - began, max([1, *found.n_states_.values()])
    return {"seconds": seconds, "score": found.score_, "states": states, "stopped": found.stopped_}


def baseline(table: str, column: str) -> dict:
    frame = split_merge.table(table)
    found = Baseline(BASELINES[column], prior=1.0, show_progress=False).fit(frame)
    return {"score": scores.cheeseman_stutz(found.tree_, frame, prior=1.0)}


def results(run: runner.Runner, column: str, to_the_letter: bool = False) -> list[dict]:
    """Return the figures of all runs, with seconds."""
    found = (run.find(HERE, method_of(column, to_the_letter), seed) for seed in SEEDS)
    return [{**json.loads(row["figures"]), "seconds": float(row["seconds"])} for row in found if row]


def column_job(run: runner.Runner, column: str, to_the_letter: bool, seed: int) -> Job:
    """Return the job of a run; StandardFixed takes the states of the best model of Splitting."""

    def work() -> dict:
        best = max(results(run, SPLITTING, to_the_letter), key=lambda one: one["score"], default={"states": None})
        return fitted(HERE, column, to_the_letter, seed, best["states"])

    return HERE, method_of(column, to_the_letter), seed, work


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return what is to be measured."""
    for column in BASELINES:
        yield HERE, column, 0, lambda c=column: baseline(HERE, c)
    for seed in SEEDS:
        for to_the_letter in (False, True):
            yield from (column_job(run, column, to_the_letter, seed) for column in TUNING)


def quick_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return the columns' methods on a small table, once."""
    case = f"{QUICK}Heart"
    for column in BASELINES:
        yield case, column, 0, lambda c=column: baseline("Heart", c)
    for to_the_letter in (False, True):
        for column in (SPLITTING, FIXED):
            details = ("Heart", column, to_the_letter, 0, 2)
            yield case, method_of(column, to_the_letter), 0, lambda d=details: fitted(*d)


# -- cells -------------------------------------------------------------------------------------------------------------


def finding(run: runner.Runner, column: str, to_the_letter: bool, figure: Figure) -> Finding:
    """Compare our scores with the thesis'."""
    ours = results(run, column, to_the_letter)
    seconds = float(np.mean([one["seconds"] for one in ours])) if ours else None
    return _thesis.score_finding(figure, [one["score"] for one in ours], seconds)


def row_cells(run: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    found = []
    for column, figure in figures(table)[row].items():
        both = [
            finding(run, column, letter, figure) if row == HERE else not_comparable(NOT_HERE)
            for letter in (False, True)
        ]
        found.append(_thesis.score_cell(_thesis.title(table), row, column, figure, *both))
    return found


def cells(run: runner.Runner) -> list[Cell]:
    """Return the cells of both tables."""
    return [cell for table in ("4.2", "4.3") for row in figures(table) for cell in row_cells(run, table, row)]


def beside(run: runner.Runner) -> dict[str, dict[str, str]]:
    """Return the scores of baselines."""
    ours = results(run, SPLITTING)
    if not ours or not all(run.find(HERE, column) for column in BASELINES):
        return {}
    baselines = {column: run.figure(HERE, column, "score") for column in BASELINES}
    return {HERE: _thesis.beside(baselines, float(np.mean([result["score"] for result in ours])), SPLITTING)}
