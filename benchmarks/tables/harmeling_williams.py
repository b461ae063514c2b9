"""What the tables of Harmeling and Williams share: their figures, and how ours are measured."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product

from benchmarks import binary_forests as forests  # first: it sets the number of threads
from benchmarks import east, runner

# isort: split
import numpy as np
import pandas as pd

from benchmarks.tables.cells import BASELINE, NOT_MEASURED, OWN, WITHOUT_PRESET, Cell, Finding, compared
from benchmarks.tables.results import Job, Results, error_of_difference, method_of, seconds_of
from pgmpy_latent import EAST, Baseline, BinA, BinG, datasets, log_likelihood, presets

PAPER = "Harmeling and Williams"
COLUMNS = ("IND", "CL", "LCM", "BIN-G", "BIN-A", "ZHANG")
#: Our search in place of the one that the paper calls ZHANG: its successor, by the same group.
SEARCH = "EAST"
ZHANG_NOTE = (
    "ZHANG is the Java program of an earlier search of the same group; EAST, its successor, stands in for it on our "
    "side."
)
#: Columns that draw nothing, and a baseline of ours that the paper does not have: the forest over the columns with the
#: highest BIC, which stands below the tables with ours of the columns without hidden variables.
FIXED = ("IND", "CL", forests.BIC_FOREST)
VOC_REASON = "VOC (boxes of objects in images) is not among the data sets that we have"


FOREST_NOTE = (
    f"{forests.BIC_FOREST}, below, is the forest over the columns with the highest BIC, Baseline('forest'); the paper "
    "does not have it."
)


#: The paper's own methods -> learner and the preset that follows the paper to the letter.
PRESETS = {
    "BIN-G": (BinG, presets.HARMELING_WILLIAMS_2011_BIN_G),
    "BIN-A": (BinA, presets.HARMELING_WILLIAMS_2011_BIN_A),
}


def kind_of(column: str) -> str:
    return OWN if column in PRESETS else BASELINE


def our_method(column: str, to_the_letter: bool = False) -> str:
    return method_of(SEARCH if column == "ZHANG" else column, to_the_letter)


def preset_learner(method: str, seed: int, prior: float | None = None):
    """Return the learner of a method with a preset, or None if the method has none."""
    found = {method_of(column, True): pair for column, pair in PRESETS.items()}.get(method)
    if found is None:
        return None
    kind, tuning = found
    return kind(tuning=tuning, prior=prior, random_state=seed, show_progress=False)


# -- Tables 2 and 3: ten folds -----------------------------------------------------------------------------------------

#: Tables whose rows and folds are drawn more often: five draws are too few to say what the paper's one draw can be.
MORE_DRAWS = {"HOUSE-BUILDING": 30}
#: What is drawn more often: the paper's own methods, and what they are measured from.
DRAWN_MORE = ("IND", "CL", *forests.FORESTS)


def draws(name: str, column: str) -> range:
    """Return the draws of rows and folds of a table."""
    return range(MORE_DRAWS.get(name, len(forests.SEEDS))) if column in DRAWN_MORE else forests.SEEDS


#: Table 2: mean and standard deviation over folds of LCM and ZHANG; the other columns stand in ``forests.FOLDED``.
MORE_SCORES = {
    "BINARY-FOREST": ((-556.60, 2.24), (-555.43, 1.27)),
    "THREE-LEVEL-BINARY": ((-487.42, 2.45), (-486.42, 1.52)),
    "THREE-COINS": ((-208.46, 0.53), (-208.46, 0.53)),
    "SIX-COINS": ((-623.33, 19.18), (-556.65, 2.14)),
    "COLEMAN": ((-425.18, 4.57), (-425.15, 4.57)),
    "HIV-TEST": ((-33.11, 5.45), (-32.69, 5.71)),
    "HOUSE-BUILDING": ((-145.86, 5.33), (-145.87, 5.33)),
    "HANNOVER-5": ((-761.17, 39.86), (-764.62, 41.78)),
    "HANNOVER-8": ((-1116.42, 58.26), (-1116.23, 58.81)),
    "CAR-EVALUATION": ((-686.62, 10.55), (-686.83, 10.41)),
}
#: Table 3: seconds of a fit, mean and standard deviation over folds, in the order of ``COLUMNS``.
FOLD_SECONDS = {
    "BINARY-FOREST": ((0.00, 0.00), (0.02, 0.03), (23.61, 4.54), (3.70, 0.23), (2.78, 0.21), (134.35, 1.30)),
    "THREE-LEVEL-BINARY": ((0.00, 0.00), (0.02, 0.03), (32.02, 3.83), (2.81, 0.10), (2.82, 0.20), (66.23, 0.75)),
    "THREE-COINS": ((0.00, 0.00), (0.02, 0.03), (2.40, 0.03), (1.19, 0.04), (1.13, 0.05), (2.98, 0.14)),
    "SIX-COINS": ((0.00, 0.00), (0.03, 0.04), (8.21, 0.43), (3.36, 0.17), (2.73, 0.16), (43.62, 0.63)),
    "COLEMAN": ((0.00, 0.01), (0.01, 0.03), (16.30, 0.86), (8.07, 1.85), (7.32, 1.66), (2.80, 0.36)),
    "HIV-TEST": ((0.00, 0.01), (0.01, 0.03), (0.95, 0.04), (0.42, 0.09), (0.28, 0.09), (3.38, 0.43)),
    "HOUSE-BUILDING": ((0.00, 0.01), (0.02, 0.04), (2.36, 0.15), (1.55, 0.14), (1.03, 0.14), (1.73, 0.38)),
    "HANNOVER-5": ((0.01, 0.01), (0.03, 0.08), (64.22, 14.44), (25.13, 0.58), (22.05, 0.54), (6.73, 1.25)),
    "HANNOVER-8": ((0.01, 0.01), (0.04, 0.05), (348.63, 66.80), (32.97, 1.14), (30.96, 5.63), (229.76, 45.15)),
    "CAR-EVALUATION": ((0.01, 0.01), (0.02, 0.03), (4.97, 0.58), (3.60, 0.11), (2.90, 0.12), (93.04, 2.50)),
}


def fold_score(name: str, column: str) -> tuple[float, float]:
    """Return the paper's mean and standard deviation over folds (Table 2)."""
    if column in forests.FOLDED_METHODS:
        return forests.FOLDED[name][1][forests.FOLDED_METHODS.index(column)]
    return MORE_SCORES[name][("LCM", "ZHANG").index(column)]


def folded_results(run: runner.Runner) -> Results:
    """Return the results of Tables 2 and 3, which are those of the same fits."""
    older = ("tables_harmeling_williams_2", "tables_harmeling_williams_3", "binary_forests")
    return Results(run, *older, n_fits=forests.N_FOLDS)


def on_folds(name: str, method: str, seed: int) -> dict:
    """Return what ``forests.on_folds`` does, for EAST and latent class models too."""
    if method in (*forests.FOLDED_METHODS, forests.BIC_FOREST):
        return forests.on_folds(name, method, seed, forests.PRIOR)
    frame = forests.folded_table(name, seed)
    scores, seconds = [], []
    for held_out in forests.folds(len(frame)):
        settings = {"prior": forests.PRIOR, "random_state": seed, "show_progress": False}
        learner = preset_learner(method, seed, forests.PRIOR)
        if learner is None:
            learner = EAST(**settings) if method == SEARCH else Baseline("latent_class", **settings)
        began = time.process_time()  # one thread: what it takes on a machine that does nothing else
        learner.fit(frame.drop(index=held_out))
        seconds.append(time.process_time() - began)
        scores.append(round(log_likelihood(learner.tree_, frame.iloc[held_out], unseen="error"), 4))
    return {"scores": scores, "seconds": float(np.mean(seconds))}


def folded_jobs() -> Iterator[Job]:
    methods = [(column, our_method(column)) for column in (*COLUMNS, forests.BIC_FOREST)]
    methods += [(column, our_method(column, True)) for column in PRESETS]
    for seed in range(max(MORE_DRAWS.values())):  # all cells get a first run before one gets a second
        for name, (column, method) in product(forests.FOLDED, methods):
            if seed in draws(name, column):
                yield forests.folded_case(name), method, seed, partial(on_folds, name, method, seed)


def quick_jobs() -> Iterator[Job]:
    """Return the smallest coins, once."""
    for method in ("IND", "CL", "BIN-G", "LCM", *(our_method(column, True) for column in PRESETS)):
        yield "quick: THREE-COINS", method, 0, partial(quick_fit, method)


def fold_scores(results: Results, name: str, column: str, to_the_letter: bool = False) -> dict[int, float]:
    """Return the mean over folds of the log-likelihood of held-out rows, for every draw of rows and folds."""
    method = our_method(column, to_the_letter)
    rows = {seed: results.row(forests.folded_case(name), method, seed) for seed in draws(name, column)}
    return {seed: float(np.mean(json.loads(row["figures"])["scores"])) for seed, row in rows.items() if row}


def quick_fit(method: str) -> dict:
    frame = datasets.coins("three_coins", random_state=0)
    learner = preset_learner(method, 0, forests.PRIOR) or forests.learner(method, 0, forests.PRIOR)
    return {"bic": learner.fit(frame).bic_}


# -- Tables 1 and 4: whole tables --------------------------------------------------------------------------------------

#: COIL-86 with the states that the paper's toolbox lists, so that parameters are counted alike.
LISTED = "COIL-86, states as listed"
#: The range of each column in both files, and one state more in a column that the paper's figures do not name: of those
#: that agree with both its parameter counts, the first.
ONE_MORE = "MAANTHUI"


@cache
def listed_table() -> pd.DataFrame:
    """Return COIL-86 with all states that a column's range in the training and test rows has room for."""
    train, test = (pd.read_csv(runner.DATA / f"coil86_{part}.csv.gz") for part in ("train", "test"))
    both = pd.concat([train, test])
    return train.astype(
        {
            name: pd.CategoricalDtype(range(both[name].min(), both[name].max() + 1 + (name == ONE_MORE)), ordered=True)
            for name in train
        }
    )


def whole_case(name: str) -> str:
    return LISTED if name == forests.COIL86 else name


def on_whole(name: str, method: str, seed: int) -> dict:
    """Learn from a whole table, without a time limit."""
    learner = preset_learner(method, seed)
    if learner is None and method != "LCM" and name != forests.COIL86:
        return forests.on_whole(name, method, seed)
    frame, weights = (listed_table(), None) if name == forests.COIL86 else forests.whole_table(name)
    learner = (learner or forests.learner(method, seed)).set_params(time_limit=None)
    began = time.process_time()  # one thread: what it takes on a machine that does nothing else
    found = learner.fit(frame, sample_weight=weights)
    seconds = time.process_time() - began
    n_rows = len(frame) if weights is None else weights.sum()
    mixed = float(found.log_likelihood_ - found.n_parameters_ / 2 * np.log2(n_rows))
    return {"mixed": mixed, "stopped": found.stopped_, "seconds": seconds, **forests.figures(found)}


#: A latent class model that was not stopped; the older script's was.
FULL_LCM = "LCM, to the end"


def whole_method(column: str) -> str:
    return FULL_LCM if column == "LCM" else column


def whole_seeds(column: str) -> range:
    """Return the seeds: one for what draws nothing, or takes long."""
    return range(1) if column in (*FIXED, "LCM") else forests.SEEDS


def whole_jobs(*names: str) -> Iterator[Job]:
    for column in (*FIXED, *forests.FORESTS, "LCM"):
        for name in names:
            for seed in whole_seeds(column):
                yield whole_case(name), whole_method(column), seed, partial(on_whole, name, column, seed)
    for seed in forests.SEEDS:
        for name, column in product(names, PRESETS):
            method = our_method(column, True)
            yield whole_case(name), method, seed, partial(on_whole, name, method, seed)


def whole_finding(results: Results, case: str, method: str, seeds: range, figure: str, theirs: float) -> Finding:
    """Compare our figure of a whole table, the mean over seeds, with that of the paper's run."""
    ours = results.values(case, method, figure, seeds)
    if not ours:
        return NOT_MEASURED
    error = error_of_difference(ours, None, rounding=0.5)
    seconds, why = seconds_of(results.values(case, method, "seconds", seeds)), why_worse(results, case, method, figure)
    return compared(theirs, float(np.mean(ours)), error, seconds=seconds, why_worse=why)


def whole_cells(table: str, results: Results, name: str, figure: str) -> Iterator[Cell]:
    """Return the cells of a whole table, but for ZHANG."""
    case = whole_case(name)
    for column, (theirs, their_seconds) in forests.WHOLE[name][1].items():
        seeds = whole_seeds(column)
        default = whole_finding(results, case, whole_method(column), seeds, figure, theirs)
        preset = WITHOUT_PRESET
        if column in PRESETS:
            preset = whole_finding(results, case, our_method(column, True), seeds, figure, theirs)
        details = {"preset": preset, "same": 1.0, "their_seconds": their_seconds}
        yield Cell(table, name, column, theirs, kind_of(column), default, **details)


def whole_beside(results: Results, names: Sequence[str], figure: str) -> dict[str, dict[str, str]]:
    """Return our figures of models without hidden variables, and of the forests with them."""
    rows: dict[str, dict[str, str]] = {}
    for name, column in product(names, (*FIXED, *forests.FORESTS)):
        ours = results.values(whole_case(name), column, figure, whole_seeds(column))
        rows.setdefault(name, {})[column] = f"{np.mean(ours):,.0f}" if ours else "–"
    return rows


def why_worse(results: Results, case: str, method: str, figure: str) -> str:
    """Say what speaks for a model whose likelihood is lower."""
    (size,), (bic,) = (results.values(case, method, name, range(1)) for name in ("parameters", "bic"))
    if figure != "log_likelihood":
        return f"another maximum, with {size:,} parameters"
    return (
        f"the search maximises BIC, not likelihood: ours has {size:,} parameters and a BIC of {bic:,.0f}; how many "
        "the paper's model has is not said, and a larger one has the higher likelihood"
    )


def coil_search(results: Results) -> list[float]:
    """Return the BIC of EAST on COIL-42, natural logarithms."""
    return results.values(east.COIL, "EAST", "bic", east.COIL_SEEDS["EAST"])
