"""Harmeling and Williams, Table 3: seconds of the fits of Table 2."""

from __future__ import annotations

from benchmarks import binary_forests as forests

# isort: split
import numpy as np

from benchmarks.tables import harmeling_williams as shared
from benchmarks.tables.cells import NOT_MEASURED, SECONDS, WITHOUT_PRESET, Cell, Finding, compared
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


stored = shared.folded_results


def jobs(run):
    """Return Table 2's: these are the seconds of the same fits."""
    return shared.folded_jobs()


def quick_jobs(run):
    return shared.quick_jobs()


def finding(results, name: str, column: str, method: str) -> Finding:
    mean, deviation = shared.FOLD_SECONDS[name][shared.COLUMNS.index(column)]
    ours = results.values(forests.folded_case(name), method, "seconds", forests.SEEDS)
    if not ours:
        return NOT_MEASURED
    error = error_of_difference(ours, max(deviation, TICK), forests.N_FOLDS, rounding=TICK / 2)
    own, why = float(np.mean(ours)), OVERHEAD if mean < 0.1 else ""
    return compared(mean, own, error, larger_is_better=False, seconds=own, why_worse=why)


def cell(results, name: str, column: str) -> Cell:
    mean, _ = shared.FOLD_SECONDS[name][shared.COLUMNS.index(column)]
    default = finding(results, name, column, shared.our_method(column))
    preset = WITHOUT_PRESET
    if column in shared.PRESETS:
        preset = finding(results, name, column, shared.our_method(column, True))
    details = {"preset": preset, "same": TICK, "larger_is_better": False, "their_seconds": mean or None}
    return Cell(TITLE, name, column, mean, SECONDS, default, **details)


def cells(run) -> list[Cell]:
    results = shared.folded_results(run)
    return [cell(results, name, column) for name in forests.FOLDED for column in shared.COLUMNS]
