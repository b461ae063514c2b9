"""Harmeling and Williams, Table 3: seconds of the fits of Table 2."""

from __future__ import annotations

from benchmarks import binary_forests as forests

# isort: split
import numpy as np

from benchmarks.tables import harmeling_williams as shared
from benchmarks.tables.cells import WORSE, Cell, compared, missing
from benchmarks.tables.results import error_of_difference

TITLE = f"{shared.PAPER}, Table 3"
#: What the paper's clock resolves, by the look of its figures.
TICK = 0.01
OVERHEAD = (
    "ours also checks and encodes the table, sees to threads and builds the model, which takes longer than counting "
    "so few rows; what the paper's clock covers is not said"
)

NOTES = (
    "Seconds of one fit, smaller is better, on the folds of Table 2; one thread. The paper's are those of Matlab "
    "(ZHANG: Java) on nodes of a cluster in 2009 or before, which differed: it calls them tendencies. Equal is within "
    f"two standard errors, where the paper's clock counts as {TICK} s at best.",
    "IND, CL, BIN-G and BIN-A are seconds of the clock, LCM and ZHANG of the processor.",
    shared.ZHANG_NOTE,
    "Where the paper prints 0.00, ours is worse: " + OVERHEAD + ".",
)


def measure(run, quick: bool) -> None:
    """Measure in Table 2's file what it did not: these are the seconds of the same fits."""
    shared.folded_results(run).measure(shared.quick_jobs() if quick else shared.folded_jobs())


def cell(results, name: str, column: str) -> Cell:
    mean, deviation = shared.FOLD_SECONDS[name][shared.COLUMNS.index(column)]
    ours = results.values(forests.folded_case(name), shared.our_method(column), "seconds", forests.SEEDS)
    if not ours:
        return missing(TITLE, name, column, mean)
    error = error_of_difference(ours, max(deviation, TICK), forests.N_FOLDS, rounding=0.005)
    own = float(np.mean(ours))
    details = {"larger_is_better": False, "seconds": own, "their_seconds": mean or None}
    found = compared(TITLE, name, column, mean, own, error, **details)
    if found.verdict != WORSE:
        return found
    return compared(TITLE, name, column, mean, own, error, reason=OVERHEAD if mean < 0.1 else "", **details)


def cells(run) -> list[Cell]:
    results = shared.folded_results(run)
    return [cell(results, name, column) for name in forests.FOLDED for column in shared.COLUMNS]
