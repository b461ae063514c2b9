"""Langseth and Nielsen, Table 2: how sixteen classifiers stand on average."""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.tables import langseth_nielsen as shared  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks.tables.cells import WORSE, Cell, compared, missing, not_comparable
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
COUNTS = "a count among sixteen classifiers, six of which we cannot run; among others it would be another count"

PROTOCOL = (
    "Average accuracy in percent over the fifteen data sets of Table 3, larger is better; five folds, ours the mean "
    "over three draws of them. A cell is measured when all fifteen are. Equal is within two theoretical standard "
    "deviations of the average, by Kohavi's formula for each set.",
    "NB and k-NN are scikit-learn's; FA/BIC, PCA/λ and PCA/n are put together from its factor analysis, principal "
    "components and naive Bayes. The paper says neither whether attributes are standardised (ours are not) nor among "
    "how many factors BIC chooses (ours up to half as many as attributes).",
    shared.DEPARTURE,
)


def notes(run) -> tuple[str, ...]:
    """Return the protocol, and what scaling does to PCA/λ."""
    scaled = average(shared.results(run), shared.SCALED_AXES)
    return (*PROTOCOL, *([f"With standardised attributes PCA/λ reaches {scaled:.1f}."] if scaled else []))


NOTES = notes


def measure(run, quick: bool) -> None:
    shared.results(run).measure(shared.quick_jobs() if quick else shared.jobs([*FIGURES, shared.SCALED_AXES]))


def means(found, classifier: str) -> dict[str, float]:
    """Return our accuracy on each data set; empty unless all are there."""
    by_set = {name: shared.accuracies(found, name, classifier) for name in shared.ROWS}
    return {name: float(np.mean(values)) for name, values in by_set.items()} if all(by_set.values()) else {}


def average(found, classifier: str) -> float | None:
    own = means(found, classifier)
    return float(np.mean(list(own.values()))) if own else None


def average_cell(found, classifier: str) -> Cell:
    theirs = FIGURES[classifier][0]
    ours = average(found, classifier) if shared.METHODS[classifier] else None
    if classifier in shared.REASONS:
        return not_comparable(TITLE, classifier, AVERAGE, theirs, shared.REASONS[classifier], ours)
    if ours is None:
        return missing(TITLE, classifier, AVERAGE, theirs)
    variance = sum(shared.deviation(mean, shared.ROWS[name]) ** 2 for name, mean in means(found, classifier).items())
    error = shared.error(math.sqrt(variance) / len(shared.ROWS))
    seconds = [second for name in shared.ROWS for second in shared.fit_seconds(found, name, classifier)]
    cell = compared(TITLE, classifier, AVERAGE, theirs, ours, error, seconds=seconds_of(seconds))
    return replace(cell, reason=shared.WHY_WORSE.get(classifier, "")) if cell.verdict == WORSE else cell


def cells(run) -> list[Cell]:
    found, kept = shared.results(run), []
    for classifier, figures in FIGURES.items():
        kept.append(average_cell(found, classifier))
        for column, figure in zip(COLUMNS[1:], figures[1:], strict=True):
            kept.append(not_comparable(TITLE, classifier, column, figure, COUNTS))
    return kept
