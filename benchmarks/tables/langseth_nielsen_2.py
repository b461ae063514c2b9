"""Langseth and Nielsen, Table 2: how sixteen classifiers stand on average."""

from __future__ import annotations

import math

from benchmarks.tables import langseth_nielsen as shared  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks.tables.cells import COUNT, NOT_MEASURED, Cell, Finding, compared, lost
from benchmarks.tables.results import seconds_of

TITLE = f"{shared.PAPER}, Table 2"
AVERAGE = "average accuracy"
COLUMNS = (AVERAGE, "winner", "top 3", "poor, p < 10 %", "poor, p < 1 %")
FIGURES = {
    "NB": (71.5, 1, 3, 10, 5), "NB/M": (72.8, 0, 2, 9, 5), "NB/D": (74.9, 2, 2, 8, 3), "TAN/D": (75.6, 0, 1, 9, 3),
    "TAN+/D": (76.0, 0, 4, 8, 3), "k-NN": (81.3, 0, 5, 6, 3), "FA/BIC": (68.7, 0, 0, 13, 10),
    "PCA/λ": (73.8, 0, 0, 12, 5), "PCA/n": (77.1, 0, 0, 10, 4), "CW/PCA/n": (78.2, 0, 1, 7, 4),
    "CG/PCA/n": (79.2, 2, 2, 8, 1), "LCM(q)": (81.3, 4, 5, 2, 1), "LCM(q)/S": (80.9, 2, 4, 3, 1),
    "LCM(q,m;T)": (83.8, 4, 7, 0, 0), "LCM(q,m;U)": (83.2, 3, 7, 0, 0), "LCM(q,m;T)/S": (81.7, 1, 2, 3, 0),
}  # fmt: skip
COUNTS = "a rank among the paper's sixteen classifiers, which changes with any of them; the accuracies are compared"

PROTOCOL = (
    "Average accuracy in percent over the fifteen data sets of Table 3, larger is better; five folds, ours the mean "
    "over three draws of them (LCM(q)/S, LCM(q,m;U) and LCM(q,m;T)/S by default, and presets: one on most sets). A "
    "cell is measured when all fifteen are.",
    shared.ERRORS,
    "NB and k-NN are scikit-learn's; FA/BIC, PCA/λ and PCA/n are put together from its factor analysis, principal "
    "components and naive Bayes. The paper says neither whether attributes are standardised (ours are not) nor among "
    "how many factors BIC chooses (ours up to half as many as attributes).",
    shared.WRITTEN_HERE,
    shared.DEPARTURE,
)


def notes(run) -> tuple[str, ...]:
    """Return the protocol, and what scaling does to PCA/λ."""
    scaled = average(shared.results(run), shared.SCALED_AXES)
    return (*PROTOCOL, *([f"With standardised attributes PCA/λ reaches {scaled:.1f}."] if scaled else []))


NOTES = notes


stored = shared.results


def jobs(run):
    return shared.jobs([*FIGURES, shared.SCALED_AXES])


def quick_jobs(run):
    return shared.quick_jobs()


def by_set(found, method: str) -> dict[str, list[float]]:
    """Return our accuracies on each data set; empty unless all are there."""
    values = {name: shared.accuracies(found, name, method) for name in shared.ROWS}
    return values if all(values.values()) else {}


def average(found, method: str) -> float | None:
    own = by_set(found, method)
    return float(np.mean([np.mean(values) for values in own.values()])) if own else None


def finding(found, method: str, theirs: float, why: str) -> Finding:
    """Compare our average with the paper's."""
    values, ours = by_set(found, method), average(found, method)
    if ours is None:
        return NOT_MEASURED
    deviations = [shared.draw_deviation(found, name) for name in shared.ROWS]
    deviation = math.sqrt(sum(one**2 for one in deviations)) / len(deviations)
    error = shared.allowed(deviation, min(len(one) for one in values.values()))
    seconds = [second for name in shared.ROWS for second in shared.fit_seconds(found, name, method)]
    return compared(theirs, ours, error, seconds=seconds_of(seconds), why_worse=why)


def average_cell(found, column: str) -> Cell:
    theirs, why = FIGURES[column][0], shared.WHY_WORSE.get(column, "")
    default, preset = shared.both(column, lambda method: finding(found, method, theirs, why))
    details = {"preset": preset, "group": AVERAGE, "same": 0.1}
    return Cell(TITLE, column, AVERAGE, theirs, shared.kind_of(column), default, **details)


def cells(run) -> list[Cell]:
    found, kept = shared.results(run), []
    for classifier, figures in FIGURES.items():
        kept.append(average_cell(found, classifier))
        for column, figure in zip(COLUMNS[1:], figures[1:], strict=True):
            kept.append(lost(TITLE, classifier, column, figure, COUNT, COUNTS))
    return kept
