"""Numeric columns: their means, standard deviations and dispersions given the state of their parent."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.model.emissions import emissions_table
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, label, paragraph, section, significant, table
from pgmpy_latent.report.mixed_facts import N_BINS, MixedFacts

#: What every kind is called.
KINDS = {
    "gaussian": "Gaussian",
    "shared_gaussian": "Gaussian, one variance",
    "poisson": "Poisson",
    "negative_binomial": "negative binomial",
}
#: Significant digits of parameters.
DIGITS = 4


def numbers_section(facts: Facts) -> Html | None:
    """Return the section about numeric columns; None if there is none."""
    if not isinstance(facts, MixedFacts):
        return None
    rows, before = [], None
    for row in emissions_table(facts.fitted_model).reset_index().itertuples():
        first = row.column != before
        given = "" if row.parent is None else f"{label(row.parent)} = {label(row.state)}"
        dispersion = "" if np.isnan(row.dispersion) else significant(row.dispersion, DIGITS)
        described = [label(row.column), KINDS[row.kind]] if first else ["", ""]
        rows.append([*described, given, significant(row.mean, DIGITS), significant(row.sd, DIGITS), dispersion])
        before = row.column
    words = (
        "These columns are numbers, fitted as densities, without bins. Elsewhere on this page they are shown in "
        f"{N_BINS} ranges of about equally many rows: shares of the ranges in a state are those of the fitted density, "
        "and pairs of columns are compared by ranges. Log-likelihoods are those of densities, in the units of the "
        "columns."
    )
    header = ["Column", "Kind", "Given", "Mean", "Standard deviation", "Dispersion"]
    if not any(row[-1] for row in rows):  # no column is a count with a dispersion
        header, rows = header[:-1], [row[:-1] for row in rows]
    return section("numbers", "Numbers", paragraph(words), table(header, rows, numbers=range(3, len(header))))
