"""Harmeling and Williams, Table 1: log-likelihoods of the newsgroups' words."""

from __future__ import annotations

from benchmarks import binary_forests as forests
from benchmarks.tables import harmeling_williams as shared
from benchmarks.tables.cells import Cell, lost
from benchmarks.tables.results import Results

TITLE = f"{shared.PAPER}, Table 1"
#: Log-likelihood and seconds; VOC's rows are not to be had.
VOC = {"IND": -209_725, "CL": -184_577, "LCM": -168_797, "BIN-G": -188_532, "BIN-A": -188_345}

NOTES = (
    "Log-likelihood of all rows, larger is better; means over five seeds of BIN-G and BIN-A, one run of the others. "
    "The paper has one run of each: equal is within two standard errors of a difference of such runs, by our spread "
    "over seeds, and half a unit.",
    "A forest with one tree less or more has other parameters, and every method chooses by BIC, not by likelihood.",
    "The latent class model is searched to its end here. It has no structure, and more parameters than all forests.",
    "The paper has no figure for ZHANG, which did not finish in days.",
    shared.FOREST_NOTE,
)


def stored(run) -> Results:
    return Results(run, "binary_forests", "tables_harmeling_williams_4")


def jobs(run):
    return shared.whole_jobs(forests.NEWS)


def quick_jobs(run):
    return shared.quick_jobs()


def beside(run) -> dict[str, dict[str, str]]:
    """Return our figures, with that of the forest over the columns."""
    return shared.whole_beside(stored(run), [forests.NEWS], "log_likelihood")


def cells(run) -> list[Cell]:
    found = list(shared.whole_cells(TITLE, stored(run), forests.NEWS, "log_likelihood"))
    return found + [
        lost(TITLE, "VOC", column, value, shared.kind_of(column), shared.VOC_REASON) for column, value in VOC.items()
    ]
