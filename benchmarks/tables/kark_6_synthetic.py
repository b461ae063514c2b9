"""The thesis' Tables 6.1 to 6.11: latent class models learned from tables drawn from random ones.

Which parameters were drawn is not known, so scores cannot be compared; how far below the best model known can be.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from functools import cache

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from benchmarks import merging
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import BASELINES, COLUMNS, FIXED, SPLIT_MERGE, STANDARD, Figure
from benchmarks.tables.cells import WORSE, Cell, compared, missing, not_comparable
from pgmpy_latent import Baseline, LatentTree, RandomStarts, SplitMerge, presets, scores
from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.queries import encode_for, engine_for

TITLE = "Karčiauskas, Tables 6.1 to 6.11"
NOTES = [
    "Which parameters the thesis drew is not known; ours are drawn likewise, uniformly. Instead of BIC, each cell "
    "holds how far the mean BIC is below the best model known for the table: in the thesis the best mean of the row, "
    "ours the best of all our runs and of EM from the true parameters. Ours is the stricter measure. "
    + _thesis.EQUAL_SCORES,
    "Standard3 is RandomStarts with random tables as starts, as in the thesis; so is StandardFixed, with 16, 32, and "
    "so on to 1,024 starts rather than for SplitMerge's time, so that the result does not depend on the machine. A run "
    "is stopped after five minutes (the thesis: ten hours).",
    "Where the thesis' searches were stopped at ten hours, the best of its row is no measure: its runs for 1,000,000 "
    "rows of 5:20x2 all ended with one component. Such rows are not comparable, but for 100,000 rows of 10:15x2, whose "
    "best model is in Table 6.7.",
    "The columns of the thesis are latent class models; the gaps of Independence, Chow-Liu and the forest "
    "over the columns with the highest BIC stand below.",
]
#: Of our runs; fewer where a run is long.
SEEDS, LONG_SEEDS, STOPPED_SEEDS = range(5), range(2), range(1)
#: Distinct rows from which on a run is long.
LONG = 12_000
TIME_LIMIT = 300
#: Rounds of StandardFixed, and the starts of the first.
ROUNDS, FIRST_ROUND = 7, 16
TRUTH = "EM from the truth"
#: What the thesis' searches were stopped after, in seconds.
STOPPED = 36_000
NO_MEASURE = "stopped after ten hours: the best mean of the thesis' row is no measure of what can be reached"
QUICK = "quick: "
#: What was found out about tables on which SplitMerge misses EM's maximum from the truth.
SPLITS = (
    "SplitMerge's first splits lead to another maximum; with other splits (n_splits=20 instead of 9, or partial=False) "
    "it found the better one of 10:10x2, 100,000,000 rows"
)


@dataclass(frozen=True)
class Sample:
    """A table drawn from a random latent class model: its structure, which draw of parameters, and rows."""

    structure: str
    draw: int
    n_rows: int

    @property
    def case(self) -> str:
        return f"{self.structure}, draw {self.draw}, {self.n_rows:,} rows"

    @property
    def n_classes(self) -> int:
        return int(self.structure.split(":")[0])

    @property
    def cards(self) -> tuple[int, ...]:
        states = self.structure.split(":")[1]
        if "x" not in states:
            return tuple(map(int, states.split(",")))
        n_variables, card = map(int, states.split("x"))
        return (card,) * n_variables


#: Tables with a row per number of rows -> structure.
BY_ROWS = {"6.1": "3:3x3", "6.2": "10:7x2", "6.3": "10:10x2", "6.4": "10:15x2", "6.5": "10:10x3", "6.6": "5:20x2",
           "6.7": "10:15x2"}  # fmt: skip
TABLES = (*BY_ROWS, "6.8", "6.9", "6.10", "6.11")
#: The draws of Table 6.11 are others than those of Tables 6.3 and 6.9.
DRAW_6_11 = 6


def sample_of(table: str, row: str) -> Sample:
    """Return which table a row of the thesis' tables is about.

    Examples
    --------
    >>> sample_of("6.9", "1") == sample_of("6.8", "10:10x2") == sample_of("6.3", "1e6")
    True
    """
    if table in BY_ROWS:
        return Sample(BY_ROWS[table], 1, int(float(row)))
    if table == "6.8":
        return Sample(row, 1, 10**6)
    if table == "6.11":
        return Sample(f"{row}:10x2", DRAW_6_11, 10**6)
    return Sample("10:10x2", int(row), 10**6) if table == "6.9" else Sample("10:10x3", int(row), 10**4)


def samples() -> list[Sample]:
    """Return all of them once, those that can be compared and small ones first."""
    every = {sample_of(table, row) for table in TABLES for row in _thesis.figures(table)}
    size = {one: one.n_rows * np.prod(one.cards, dtype=float) for one in every}
    return sorted(every, key=lambda one: (one not in comparable(), size[one], one.case))


@cache
def drawn(one: Sample) -> tuple[LatentTree, pd.DataFrame, np.ndarray]:
    """Return the true model, the distinct rows and how often each occurs."""
    rng = np.random.default_rng([one.draw, one.n_classes, *one.cards])
    true = merging.random_model(one.n_classes, one.cards, rng)
    shares = merging.distribution(true)
    seed = [one.n_rows, one.draw, one.n_classes, *one.cards]
    counts = np.random.default_rng(seed).multinomial(one.n_rows, shares / shares.sum())
    there = np.flatnonzero(counts)
    codes = np.unravel_index(there, one.cards)
    columns = {
        f"D{at}": pd.Categorical.from_codes(code, categories=range(card))
        for at, (code, card) in enumerate(zip(codes, one.cards, strict=True), start=1)
    }
    return true, pd.DataFrame(columns), counts[there]


@cache
def comparable() -> frozenset[Sample]:
    """Return the tables for which the thesis' figures are worth comparing with."""
    rows = [(table, row) for table in TABLES for row in _thesis.figures(table)]
    return frozenset(sample_of(*one) for one in rows if their_gaps(*one)[1])


def seeds_of(one: Sample) -> range:
    if one not in comparable():
        return STOPPED_SEEDS
    return SEEDS if min(one.n_rows, np.prod(one.cards)) < LONG else LONG_SEEDS


# -- measuring ---------------------------------------------------------------------------------------------------------


def from_truth(one: Sample) -> dict:
    """Run EM from the true parameters."""
    true, rows, counts = drawn(one)
    engine = engine_for(true, encode_for(true, rows, sample_weight=counts))
    found = fit(engine, engine.layout.pack(true.tables), atol=1e-3, max_iter=20_000)
    tree = true.with_tables(engine.layout.unpack(found.tables))
    return {"bic": scores.bic(tree, rows, sample_weight=counts), "distinct": len(rows)}


def fitted(one: Sample, learner) -> dict:
    """Return the figures of a learner."""
    _, rows, counts = drawn(one)
    found = learner.set_params(show_progress=False).fit(rows, sample_weight=counts)
    return {"bic": found.bic_, "states": max([1, *found.n_states_.values()]), "stopped": found.stopped_}


def learner_of(run: runner.Runner, one: Sample, column: str, seed: int, prefix: str = ""):
    """Return the learner of a column; StandardFixed takes the states of the best model of SplitMerge."""
    settings = {"random_state": seed, "time_limit": TIME_LIMIT}
    if column == SPLIT_MERGE:
        return SplitMerge(**settings)
    if column == STANDARD:
        return RandomStarts(tuning=presets.KARCIAUSKAS_2005_STANDARD3, **settings)
    found = results(run, one, SPLIT_MERGE, prefix)
    states = max(found, key=lambda result: result["bic"])["states"]
    return RandomStarts(
        n_states=states,
        tuning=presets.KARCIAUSKAS_2005_STANDARD_FIXED.replace(n_rounds=ROUNDS),
        n_starts=FIRST_ROUND,
        **settings,
    )


def measure_sample(run: runner.Runner, one: Sample, seeds: range, prefix: str = "") -> None:
    """Measure what is not there yet for a table."""
    case = prefix + one.case
    run.compare(case, {TRUTH: lambda: from_truth(one)}, repeats=1)
    for column, model in BASELINES.items():
        run.compare(case, {column: lambda m=model: fitted(one, Baseline(m))}, repeats=1)
    for column in (SPLIT_MERGE, STANDARD, FIXED):
        for seed in seeds:
            if not run.find(case, column, seed):
                learner = learner_of(run, one, column, seed, prefix)
                run.compare(case, {column: lambda x=learner: fitted(one, x)}, seed=seed, repeats=1)
    drawn.cache_clear()


def measure(run: runner.Runner, quick: bool = False) -> None:
    """Measure what is not there yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is kept with the figures
        small = Sample("3:3x3", 1, 1000)
        fitted(small, SplitMerge(random_state=0))  # loads the kernels
        if quick:
            measure_sample(run, small, range(1), QUICK)
            return
        every = samples()
        for number, one in enumerate(every, start=1):
            print(f"[{number} of {len(every)}] {one.case}", flush=True)
            measure_sample(run, one, seeds_of(one))


# -- cells -------------------------------------------------------------------------------------------------------------


def results(run: runner.Runner, one: Sample, column: str, prefix: str = "") -> list[dict]:
    """Return the figures of all runs, with seconds."""
    found = (run.find(prefix + one.case, column, seed) for seed in SEEDS)
    return [{**json.loads(row["figures"]), "seconds": float(row["seconds"])} for row in found if row]


def best_known(run: runner.Runner, one: Sample) -> float | None:
    """Return the best BIC of all runs and of EM from the truth; None before all columns were measured.

    Baselines have no part in it: it is the best latent class model.
    """
    if not all(results(run, one, column) for column in (TRUTH, *BASELINES, *COLUMNS)):
        return None
    return max(result["bic"] for column in (TRUTH, *COLUMNS) for result in results(run, one, column))


def their_gaps(table: str, row: str) -> tuple[dict[str, Figure], bool]:
    """Return how far the thesis' means are below the best one, and whether that one is worth anything."""
    figures = _thesis.figures(table)[row]
    if (table, row) == ("6.4", "1e5"):
        found = _thesis.figures("6.7")["1e5"]
        return _thesis.gaps(figures, max(found.values(), key=lambda figure: figure.mean)), True
    return _thesis.gaps(figures), figures[SPLIT_MERGE].seconds != STOPPED


def row_cells(run: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    one, title = sample_of(table, row), _thesis.title(table)
    theirs, worth = their_gaps(table, row)
    name = f"{one.structure}, {one.n_rows:,} rows" + (f", draw {one.draw}" if table in ("6.9", "6.10") else "")
    best = best_known(run, one)
    cells = []
    for column, figure in theirs.items():
        found = results(run, one, column) if best is not None else []
        values = [result["bic"] - best for result in found]
        if not worth:
            mean = float(np.mean(values)) if values else None
            cells.append(not_comparable(title, name, column, figure.mean, NO_MEASURE, mean))
        elif not values:
            cells.append(missing(title, name, column, figure.mean))
        else:
            mean = float(np.mean(values))
            error = _thesis.allowed(figure.interval, _thesis.half_width(values), mean - figure.mean)
            seconds = float(np.mean([result["seconds"] for result in found]))
            times = {"seconds": seconds, "their_seconds": figure.seconds}
            cell = compared(title, name, column, figure.mean, mean, error, **times)
            why = f"{_thesis.spread(values, figure.mean, n_stopped(found))}; {why_worse(run, one, best)}"
            cells.append(replace(cell, reason=why) if cell.verdict == WORSE else cell)
    return cells


def n_stopped(found: list[dict]) -> int:
    return sum(result["stopped"] is not None for result in found)


def why_worse(run: runner.Runner, one: Sample, best: float) -> str:
    """Say who knows the best model, and how far below it the best run of each column is."""
    ours = {column: max(result["bic"] for result in results(run, one, column)) for column in COLUMNS}
    below = ", ".join(f"{column}'s best run {best - bic:,.1f} below" for column, bic in ours.items() if bic < best)
    if max(ours.values()) < best:
        return f"a local maximum: the best model known is that of EM from the true parameters; {below}. {SPLITS}"
    winner = max(ours, key=ours.get)
    return f"a local maximum: the best model known is {winner}'s, {below}; the thesis has the best mean of its own runs"


def cells(run: runner.Runner) -> list[Cell]:
    """Return the cells of all eleven tables."""
    return [cell for table in TABLES for row in _thesis.figures(table) for cell in row_cells(run, table, row)]


def beside(run: runner.Runner) -> dict[str, dict[str, str]]:
    """Return the gaps of baselines."""
    found = {}
    for one in samples():
        best = best_known(run, one)
        if best is not None:
            gaps = {column: results(run, one, column)[0]["bic"] - best for column in BASELINES}
            ours = [result["bic"] - best for result in results(run, one, SPLIT_MERGE)]
            found[one.case] = _thesis.beside(gaps, float(np.mean(ours)))
    return found
