"""Langseth and Nielsen, Table 3: accuracies on fifteen data sets."""

from __future__ import annotations

import math
from functools import partial

from benchmarks.tables import langseth_nielsen as shared  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks.tables._tried_classifiers import why_worse
from benchmarks.tables.cells import NOT_MEASURED, Cell, Finding, compared, typical_difference
from benchmarks.tables.results import method_of, seconds_of

TITLE = f"{shared.PAPER}, Table 3"
COLUMNS = ("NB", "NB/D", "k-NN", "CG/PCA/n", "LCM(q)", "LCM(q)/S", "LCM(q,m;T)", "LCM(q,m;U)", "LCM(q,m;T)/S")
#: Accuracy in percent and its theoretical standard deviation, in the order of the columns.
FIGURES = {
    "balance-scale": ((86.9, 1.4), (65.8, 1.9), (89.8, 1.2), (76.3, 1.7), (88.0, 1.3), (87.8, 1.3), (90.9, 1.2),
                      (89.0, 1.3), (87.4, 1.3)),
    "breast": ((96.2, 0.7), (97.4, 0.6), (95.9, 0.8), (94.6, 0.9), (96.8, 0.7), (96.5, 0.7), (96.5, 0.7), (96.5, 0.7),
               (96.5, 0.7)),
    "crabs": ((39.5, 3.5), (44.5, 3.5), (89.5, 2.2), (94.5, 1.6), (94.5, 1.6), (95.5, 1.5), (95.5, 1.5), (95.5, 1.5),
              (94.5, 1.6)),
    "diabetes": ((75.9, 1.5), (75.6, 1.5), (75.1, 1.6), (74.5, 1.6), (75.9, 1.5), (76.6, 1.5), (75.9, 1.6), (75.5, 1.6),
                 (72.9, 1.6)),
    "glass": ((36.4, 3.3), (71.0, 3.1), (71.5, 3.1), (72.0, 3.1), (57.0, 3.4), (62.1, 3.3), (70.1, 3.2), (64.5, 3.3),
              (67.3, 3.2)),
    "glass2": ((62.0, 3.8), (81.6, 3.0), (77.3, 3.2), (72.4, 3.5), (66.9, 3.7), (67.6, 3.7), (85.3, 3.0), (81.0, 3.3),
               (79.8, 3.1)),
    "heart": ((84.8, 2.2), (83.7, 2.2), (82.6, 2.3), (77.4, 2.5), (85.2, 2.2), (83.7, 2.2), (83.3, 2.3), (83.3, 2.3),
              (82.6, 2.3)),
    "iris": ((95.3, 1.7), (93.3, 2.0), (94.7, 1.7), (96.7, 1.5), (98.0, 1.1), (96.7, 1.5), (96.7, 1.6), (97.3, 1.3),
             (95.3, 1.7)),
    "liver": ((58.0, 2.7), (58.0, 2.7), (64.6, 2.7), (69.0, 2.5), (65.2, 2.6), (66.4, 2.5), (68.4, 2.5), (69.0, 2.5),
              (69.0, 2.5)),
    "pima": ((75.0, 1.6), (76.2, 1.5), (75.3, 1.5), (72.8, 1.6), (74.0, 1.6), (74.4, 1.6), (75.0, 1.6), (75.6, 1.5),
             (73.7, 1.6)),
    "sonar": ((70.7, 3.2), (76.5, 2.9), (83.6, 2.6), (70.7, 3.2), (81.2, 2.7), (76.4, 2.9), (80.2, 2.8), (84.1, 2.5),
              (83.2, 2.6)),
    "tae": ((54.3, 4.1), (49.6, 4.1), (57.0, 4.0), (53.6, 4.1), (56.9, 4.0), (53.6, 4.1), (61.5, 4.0), (58.9, 4.0),
            (56.9, 4.0)),
    "thyroid": ((96.3, 1.3), (92.6, 1.8), (95.8, 1.4), (89.8, 2.1), (95.3, 1.4), (95.8, 1.4), (94.4, 1.6), (95.4, 1.4),
                (89.3, 2.1)),
    "vehicle": ((44.3, 1.7), (59.1, 1.7), (70.7, 1.6), (77.3, 1.4), (84.3, 1.3), (80.4, 1.4), (83.5, 1.3), (84.2, 1.3),
                (79.2, 1.4)),
    "wine": ((97.2, 1.2), (98.9, 0.8), (95.5, 1.5), (97.2, 1.2), (100.0, 0.0), (99.4, 0.6), (99.4, 1.0), (98.9, 0.8),
             (97.7, 1.1)),
}  # fmt: skip

PROTOCOL = (
    "Accuracy in percent, larger is better: five folds, in the paper one draw of them, ours the mean over three (over "
    "those that are measured, where fewer are).",
    "Which cells got more than one draw was in part decided after verdicts had been seen: LCM(q,m;U) got its further "
    "draws on sonar before it did on other sets.",
    shared.ERRORS,
    "NB and k-NN are scikit-learn's: they show how far the folds, and the data, agree with the paper's.",
    shared.WRITTEN_HERE,
    "diabetes and pima are the same rows in different folds; breast is without its 16 incomplete rows, and with the "
    "number of the patient as an attribute, as the paper counts ten; glass2 is glass with float glass against other "
    "window glass, the usual rule, which the paper does not state.",
    "The row of averages stands in Table 2; in Table 3 the paper prints three of them under the wrong column.",
    shared.DEPARTURE,
    "The paper gives no times.",
)


def notes(run) -> tuple[str, ...]:
    """Return the protocol, and why cells are undecided."""
    found = shared.results(run)
    return (*PROTOCOL, *one_draw(found), *anchors(found), *left(found))


NOTES = notes


def least_error(found, name: str) -> float:
    """Return the error of a cell if ours were the mean over endless draws of the folds."""
    return shared.STANDARD_ERRORS * shared.draw_deviation(found, name) + shared.ROUNDING


def limit(name: str) -> float:
    """Return the error above which a cell of a data set is not decided."""
    return max(100 / shared.ROWS[name], typical_difference(theirs for theirs, _ in FIGURES[name]))


def one_draw(found) -> list[str]:
    """Say on which sets no number of our draws could tell equal from different."""
    hopeless = {name: least_error(found, name) for name in FIGURES if least_error(found, name) > limit(name)}
    if not hopeless:
        return []
    words = ", ".join(f"{name} ({error:.1f} against {limit(name):.1f})" for name, error in hopeless.items())
    return [
        "What keeps cells undecided is the paper's single draw of the folds. If ours were endless, two standard "
        f"deviations of theirs would still be more than what typically separates its methods on {words}."
    ]


def anchors(found) -> list[str]:
    """Say whether differences to a method on the same folds vary less."""
    plain, *others = (shared.variation(found, anchor) for anchor in ("", "GaussianNB", "k-NN"))
    if math.isnan(plain + sum(others)):
        return []
    remedy = "are no remedy" if min(others) > plain else "would be a remedy"
    return [
        f"Differences to a classifier that both sides ran on their folds {remedy}: over draws of the folds accuracies "
        f"of LCM(q) and LCM(q,m;T) vary by {plain:.2f} points (root mean square over the sets), less those of NB by "
        f"{others[0]:.2f}, less those of k-NN by {others[1]:.2f}."
    ]


stored = shared.results


def jobs(run):
    return shared.jobs(COLUMNS)


def quick_jobs(run):
    return shared.quick_jobs()


def left(found) -> list[str]:
    """Say what the presets that are not measured would take."""
    hours: dict[str, float] = {}
    for column in shared.OWN_COLUMNS:
        method = method_of(shared.METHODS[column], True)
        for name in shared.ROWS:
            case = shared.work.table_case(name)
            if not found.row(case, method) and (seconds := found.expected_seconds(case, method)):
                hours[name] = hours.get(name, 0.0) + seconds / 3600
    if not hours:
        return []
    longest = sorted(hours, key=hours.get, reverse=True)[:3]
    words = ", ".join(f"{name} ({hours[name]:.1f} h)" for name in longest)
    return [
        f"One draw of the folds of all presets that are not measured would take about {sum(hours.values()):.0f} h of "
        f"processor time, by what is, most of it on {words}."
    ]


def finding(found, name: str, method: str, theirs: float, why: str = "") -> Finding:
    ours = shared.accuracies(found, name, method)
    if not ours:
        return NOT_MEASURED
    error = shared.allowed(shared.draw_deviation(found, name), len(ours))
    seconds = seconds_of(shared.fit_seconds(found, name, method))
    return compared(theirs, float(np.mean(ours)), error, seconds=seconds, why_worse=why)


def cell(found, name: str, column: str) -> Cell:
    theirs, _ = FIGURES[name][COLUMNS.index(column)]
    why = why_worse(partial(shared.mean_accuracy, found), name, column)
    default, preset = shared.both(
        column, lambda method: finding(found, name, method, theirs, why if method == shared.METHODS[column] else "")
    )
    one_row = 100 / shared.ROWS[name]
    return Cell(TITLE, name, column, theirs, shared.kind_of(column), default, preset=preset, same=one_row)


def cells(run) -> list[Cell]:
    found = shared.results(run)
    return [cell(found, name, column) for name in FIGURES for column in COLUMNS]
