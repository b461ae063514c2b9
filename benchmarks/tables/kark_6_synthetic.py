"""The thesis' Tables 6.1 to 6.11: latent class models learned from tables drawn from random ones.

Which parameters were drawn is not known, so scores cannot be compared; how far below the best model known can be.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from benchmarks import merging
from benchmarks.tables import _thesis
from benchmarks.tables._thesis import BASELINES, COLUMNS, FIXED, SPLIT_MERGE, STANDARD, Figure
from benchmarks.tables.cells import NOT_MEASURED, Cell, Finding, not_comparable
from benchmarks.tables.results import Job, method_of
from pgmpy_latent import Baseline, LatentTree, RandomStarts, SplitMerge, presets, scores
from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.queries import encode_for, engine_for

TITLE = "Karčiauskas, Tables 6.1 to 6.11"
NOTES = [
    "Which parameters the thesis drew is not known; ours are drawn likewise, uniformly. Instead of BIC, each cell "
    "holds how far the mean BIC is below the best mean of the row, as far as the thesis' figures tell, and with the "
    "presets likewise, over the three presets. By default it is how far the mean is below the best model known for the "
    "table, the best of all our runs and of EM from the true parameters, which is the stricter measure. "
    + _thesis.EQUAL_SCORES,
    "Standard3 is RandomStarts with random tables as starts, as in the thesis; so is StandardFixed, with 16, 32, and "
    "so on to 1,024 starts rather than for SplitMerge's time, so that the result does not depend on the machine. No "
    "run is stopped by a clock (the thesis' are, after ten hours).",
    "Where the thesis' searches were stopped at ten hours, the best of its row is no measure: its runs for 1,000,000 "
    "rows of 5:20x2 all ended with one component. Such rows are not comparable, but for 100,000 rows of 10:15x2, whose "
    "best model is in Table 6.7.",
    "SplitMerge's last look at splits by EM to convergence was settled with the row of 100,000,000 rows of 10:10x2 in "
    "view.",
    "The columns of the thesis are latent class models; the gaps of Independence, Chow-Liu and the forest "
    "over the columns with the highest BIC stand below.",
]
#: Of our runs; fewer where a run is long.
SEEDS, LONG_SEEDS = range(5), range(2)
#: Distinct rows from which on a run is long.
LONG = 12_000
#: Rounds of StandardFixed, and the starts of the first.
ROUNDS, FIRST_ROUND = 7, 16
TRUTH = "EM from the truth"
#: What the thesis' searches were stopped after, in seconds.
STOPPED = 36_000
NO_MEASURE = "stopped after ten hours: the best mean of the thesis' row is no measure of what can be reached"
QUICK = "quick: "


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


@lru_cache(maxsize=1)
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
    """Return the figures of a learner, and its CPU seconds."""
    _, rows, counts = drawn(one)
    began = time.process_time()
    found = learner.set_params(show_progress=False).fit(rows, sample_weight=counts)
    seconds = time.process_time() - began
    states = max([1, *found.n_states_.values()])
    return {"seconds": seconds, "bic": found.bic_, "states": states, "stopped": found.stopped_}


#: Our settings of a column: as it comes, and to the letter. No clock: every search ends by itself.
TUNING = {
    STANDARD: (presets.RANDOM_STARTS.replace(starts="random"), presets.KARCIAUSKAS_2005_STANDARD3),
    SPLIT_MERGE: (presets.SPLIT_MERGE, presets.KARCIAUSKAS_2005_CHAPTER_6),
    FIXED: (
        presets.RANDOM_STARTS.replace(starts="random", n_rounds=ROUNDS),
        presets.KARCIAUSKAS_2005_STANDARD_FIXED.replace(n_rounds=ROUNDS),
    ),
}

#: Experiments on why the preset of SplitMerge is worse where it is: what is changed in it.
LONG_EM = {"tol": 1e-4, "search_tol": 1e-4, "max_iter": 5_000, "search_iter": 5_000}
CAUSES = {
    "with splits of size 0.1 instead of 0.001": presets.KARCIAUSKAS_2005_CHAPTER_6.replace(perturbation=0.1),
    "with EM that ends below 0.0001 or after 5,000 iterations": presets.KARCIAUSKAS_2005_CHAPTER_6.replace(**LONG_EM),
    "without partial EM": presets.KARCIAUSKAS_2005_CHAPTER_6.replace(partial=False),
}
#: Table and row of the cells that they are for.
CAUSES_OF = (("6.1", "1e4"), ("6.1", "1e5"), ("6.1", "1e6"), ("6.9", "4"), ("6.10", "5"))
#: Draws of parameters on which the presets ran as well, to see whether the draw is to blame; and of which cells.
OTHER_DRAWS = range(2, 11)
OTHER_DRAWS_OF = (("6.1", "1e4"), ("6.1", "1e5"), ("6.1", "1e6"))
#: The same for SplitMerge by default.
DEFAULT_CAUSES = {
    "with 20 splits of a state instead of 4": presets.SPLIT_MERGE.replace(n_splits=20),
    "with random splits": presets.SPLIT_MERGE.replace(directions="random"),
    "with full EM for every split": presets.SPLIT_MERGE.replace(partial=False),
    "with all states as candidates for a split, of which fewer are dropped": presets.SPLIT_MERGE.replace(
        n_candidates=None, narrowing=1.2
    ),
}
DEFAULT_CAUSES_OF = (("6.11", "20"),)


def learner_of(run: runner.Runner, one: Sample, column: str, to_the_letter: bool, seed: int, prefix: str = ""):
    """Return the learner of a column; StandardFixed takes the states of the best model of SplitMerge."""
    settings = {"random_state": seed, "tuning": TUNING[column][to_the_letter]}
    if column == SPLIT_MERGE:
        return SplitMerge(**settings)
    if column == STANDARD:
        return RandomStarts(**settings)
    found = results(run, one, method_of(SPLIT_MERGE, to_the_letter), prefix)
    states = max(found, key=lambda result: result["bic"])["states"]
    return RandomStarts(n_states=states, n_starts=FIRST_ROUND, **settings)


def sample_jobs(run: runner.Runner, one: Sample, seeds: range, prefix: str = "") -> Iterator[Job]:
    """Return what is to be measured for a table; in this order, since StandardFixed needs SplitMerge's states."""
    case = prefix + one.case
    yield case, TRUTH, 0, lambda: from_truth(one)
    for column, model in BASELINES.items():
        yield case, column, 0, lambda m=model: fitted(one, Baseline(m))
    for to_the_letter in (False, True):
        for column in (SPLIT_MERGE, STANDARD, FIXED):
            for seed in seeds:
                details = (run, one, column, to_the_letter, seed, prefix)
                yield case, method_of(column, to_the_letter), seed, lambda d=details: fitted(one, learner_of(*d))


def cause_jobs() -> Iterator[Job]:
    """Return the experiments."""
    for causes, cells_of in ((CAUSES, CAUSES_OF), (DEFAULT_CAUSES, DEFAULT_CAUSES_OF)):
        for one in dict.fromkeys(sample_of(*cell) for cell in cells_of):
            for (cause, tuning), seed in product(causes.items(), seeds_of(one)):
                learner = SplitMerge(random_state=seed, tuning=tuning)
                yield one.case, f"{SPLIT_MERGE}, {cause}", seed, lambda o=one, x=learner: fitted(o, x)


def other_draw_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return the runs of presets on other draws of parameters."""
    for cell, draw in product(OTHER_DRAWS_OF, OTHER_DRAWS):
        one = replace(sample_of(*cell), draw=draw)
        for column in (SPLIT_MERGE, STANDARD, FIXED):
            details = (run, one, column, True, 0)
            yield one.case, method_of(column, True), 0, lambda d=details: fitted(d[1], learner_of(*d))


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return what is to be measured, table by table."""
    for one in samples():
        if one in comparable():
            yield from sample_jobs(run, one, seeds_of(one))
    yield from cause_jobs()
    yield from other_draw_jobs(run)


def quick_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return a table of few cells, once."""
    yield from sample_jobs(run, Sample("3:3x3", 1, 1000), range(1), QUICK)


# -- cells -------------------------------------------------------------------------------------------------------------


def results(run: runner.Runner, one: Sample, method: str, prefix: str = "") -> list[dict]:
    """Return the figures of all runs, with seconds."""
    found = (run.find(prefix + one.case, method, seed) for seed in SEEDS)
    return [{**json.loads(row["figures"]), "seconds": float(row["seconds"])} for row in found if row]


def best_known(run: runner.Runner, one: Sample) -> float | None:
    """Return the best BIC of all runs and of EM from the truth; None before all columns were measured by default.

    Baselines have no part in it: it is the best latent class model.
    """
    if not all(results(run, one, column) for column in (TRUTH, *BASELINES, *COLUMNS)):
        return None
    methods = (TRUTH, *(method_of(column, letter) for column in COLUMNS for letter in (False, True)))
    return max(result["bic"] for method in methods for result in results(run, one, method))


def best_mean(run: runner.Runner, one: Sample) -> float | None:
    """Return the best mean BIC of the three columns with presets, the thesis' measure; None before all are measured."""
    found = [results(run, one, method_of(column, True)) for column in COLUMNS]
    return max(float(np.mean([result["bic"] for result in some])) for some in found) if all(found) else None


def their_gaps(table: str, row: str) -> tuple[dict[str, Figure], bool]:
    """Return how far the thesis' means are below the best one, and whether that one is worth anything."""
    figures = _thesis.figures(table)[row]
    if (table, row) == ("6.4", "1e5"):
        found = _thesis.figures("6.7")["1e5"]
        return _thesis.gaps(figures, max(found.values(), key=lambda figure: figure.mean)), True
    return _thesis.gaps(figures), figures[SPLIT_MERGE].seconds != STOPPED


def finding(run: runner.Runner, one: Sample, column: str, to_the_letter: bool, figure: Figure) -> Finding:
    """Compare our gaps with the thesis': to the best model known, or, to the letter, to the best mean of the row."""
    best = best_mean(run, one) if to_the_letter else best_known(run, one)
    found = results(run, one, method_of(column, to_the_letter))
    if best is None or not found:
        return NOT_MEASURED
    values, seconds = [result["bic"] - best for result in found], [result["seconds"] for result in found]
    reasons = [] if to_the_letter else [why_worse(run, one, best)]
    if column == SPLIT_MERGE:
        reasons += [why_changed(run, one, best, CAUSES if to_the_letter else DEFAULT_CAUSES)]
        reasons += [why_drawn(run, one)] if to_the_letter else []
    why = "; ".join(part for part in reasons if part)
    return _thesis.score_finding(figure, values, float(np.mean(seconds)), why)


def row_cells(run: runner.Runner, table: str, row: str) -> list[Cell]:
    """Return the cells of a row."""
    one, title = sample_of(table, row), _thesis.title(table)
    theirs, worth = their_gaps(table, row)
    name = f"{one.structure}, {one.n_rows:,} rows" + (f", draw {one.draw}" if table in ("6.9", "6.10") else "")
    cells = []
    for column, figure in theirs.items():
        both = [
            finding(run, one, column, letter, figure) if worth else not_comparable(NO_MEASURE)
            for letter in (False, True)
        ]
        cells.append(_thesis.score_cell(title, name, column, figure, *both))
    return cells


def why_changed(run: runner.Runner, one: Sample, best: float, causes: Iterable[str]) -> str:
    """Say what the mean gap becomes when something is changed in the settings of SplitMerge, where that was tried."""
    found = {cause: results(run, one, f"{SPLIT_MERGE}, {cause}") for cause in causes}
    gaps = {cause: np.mean([result["bic"] for result in some]) - best for cause, some in found.items() if some}
    return "; ".join(f"{cause} it is {gap:+,.1f}" for cause, gap in gaps.items())


def why_drawn(run: runner.Runner, one: Sample) -> str:
    """Say how far below the best mean SplitMerge's preset is on other draws of parameters, where that was tried."""
    gaps = []
    for draw in sorted({1, *OTHER_DRAWS} - {one.draw}):
        other = replace(one, draw=draw)
        best, found = best_mean(run, other), results(run, other, method_of(SPLIT_MERGE, True))
        if best is not None:
            gaps.append(float(np.mean([result["bic"] for result in found])) - best)
    if not gaps:
        return ""
    return (
        f"on {len(gaps)} other draws of parameters it is {np.mean(gaps):+,.1f} on average, {min(gaps):+,.1f} to "
        f"{max(gaps):+,.1f}"
    )


def why_worse(run: runner.Runner, one: Sample, best: float) -> str:
    """Say who knows the best model, and how far below it the best run of each column is."""
    ours = {
        method: max(found)
        for method in (method_of(column, letter) for letter in (False, True) for column in COLUMNS)
        if (found := [result["bic"] for result in results(run, one, method)])
    }
    below = ", ".join(f"{method}'s best run {best - bic:,.1f} below" for method, bic in ours.items() if bic < best)
    if max(ours.values()) < best:
        return f"a local maximum: the best model known is that of EM from the true parameters; {below}"
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
