"""The thesis' Tables 4.2 and 4.3: latent class models scored by Cheeseman and Stutz."""

from __future__ import annotations

import json
import warnings

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import split_merge
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import BASELINES, Figure
from benchmarks.tables.cells import Cell, missing, not_comparable
from pgmpy_latent import Baseline, RandomStarts, SplitMerge, presets, scores

TITLE = "Karčiauskas, Tables 4.2 and 4.3"
STANDARD, SPLITTING, FIXED = "Standard", "Splitting", "StandardFixed"
NOTES = [
    "Cheeseman-Stutz score of models fitted with a pseudo-count of 1 (MAP), mean of five runs, of three for ours. "
    + _thesis.EQUAL_SCORES,
    "Ours has a minute on one thread, the thesis' 280 minutes. Splitting is SplitMerge without merges; Standard is "
    "RandomStarts that only grows; StandardFixed has the states of the best model of Splitting, and random starts, "
    "twice as many in each round, until the minute is over. Independence, Chow-Liu and the forest over the columns "
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
SEEDS, SECONDS = range(3), 60
QUICK = "quick: "


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


def learner(column: str, seed: int, seconds: float, states: int | None = None):
    """Return the learner of a column."""
    settings = {"random_state": seed, "time_limit": seconds, "show_progress": False}
    if column == SPLITTING:
        return SplitMerge(tuning=presets.KARCIAUSKAS_2005_CHAPTER_4, **settings)
    if column == STANDARD:
        return RandomStarts(tuning=presets.KARCIAUSKAS_2005_CHAPTER_4_STANDARD, **settings)
    return RandomStarts(n_states=states, tuning=presets.KARCIAUSKAS_2005_CHAPTER_4_STANDARD_FIXED, **settings)


def fitted(table: str, model) -> dict:
    """Return the score and the states of a model."""
    found = model.fit(split_merge.table(table))
    return {"score": found.score_, "states": max([1, *found.n_states_.values()]), "stopped": found.stopped_}


def baseline(table: str, column: str) -> dict:
    frame = split_merge.table(table)
    found = Baseline(BASELINES[column], prior=1.0, show_progress=False).fit(frame)
    return {"score": scores.cheeseman_stutz(found.tree_, frame, prior=1.0)}


def results(run: runner.Runner, column: str) -> list[dict]:
    """Return the figures of all runs, with seconds."""
    found = (run.find(HERE, column, seed) for seed in SEEDS)
    return [{**json.loads(row["figures"]), "seconds": float(row["seconds"])} for row in found if row]


def measure(run: runner.Runner, quick: bool = False) -> None:
    """Measure what is not there yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is the minute that ends a run
        if quick:
            work = {column: lambda c=column: fitted("Heart", learner(c, 0, 2, 2)) for column in (SPLITTING, FIXED)}
            work |= {column: lambda c=column: baseline("Heart", c) for column in BASELINES}
            run.compare(f"{QUICK}Heart", work, repeats=1)
            return
        fitted("Heart", learner(SPLITTING, 0, 5))  # loads the kernels
        for column in BASELINES:
            run.compare(HERE, {column: lambda c=column: baseline(HERE, c)}, repeats=1)
        for column in (SPLITTING, STANDARD, FIXED):
            for seed in SEEDS:
                best = max(results(run, SPLITTING), key=lambda one: one["score"], default={"states": None})
                model = learner(column, seed, SECONDS, best["states"])
                run.compare(HERE, {column: lambda x=model: fitted(HERE, x)}, seed=seed, repeats=1)


def row_cells(run: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    title, found = _thesis.title(table), []
    for column, figure in figures(table)[row].items():
        ours = results(run, column) if row == HERE else []
        if row != HERE:
            found.append(not_comparable(title, row, column, figure.mean, NOT_HERE))
        elif not ours:
            found.append(missing(title, row, column, figure.mean))
        else:
            seconds = float(np.mean([result["seconds"] for result in ours]))
            values = [result["score"] for result in ours]
            n_stopped = sum(result["stopped"] is not None for result in ours)
            found.append(_thesis.score_cell(title, row, column, figure, values, seconds, n_stopped))
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
