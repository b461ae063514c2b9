"""The table: how many rows and columns, which categories, and what is missing."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.gaussian.columns import NumberTable
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.gaussian_facts import GaussianFacts
from pgmpy_latent.report.html import (
    Html,
    bar,
    count,
    decimal,
    element,
    folded,
    label,
    paragraph,
    percent,
    section,
    stacked_bar,
    table,
)
from pgmpy_latent.tables.encode import CategoricalData

#: Maximum number of columns listed, and of categories named for each.
MOST_COLUMNS, MOST_CATEGORIES = 400, 8
#: Number of columns from which the list is folded.
LONG_LIST = 40
#: A category with a smaller share than this is rare.
RARE = 0.01


def data_section(facts: Facts) -> Html:
    """Return the section about the table."""
    data = facts.data
    cells = data.codes < 0
    complete = float(data.weights[~cells.any(axis=1)].sum() / data.total_weight)
    overall = float(facts.missing_shares.mean()) if len(data.columns) else 0.0
    left_out = int((data.row_index < 0).sum()) if data.row_index is not None else 0
    weights = "none: every row counts once" if is_unweighted(facts) else _weights(data)
    if left_out:
        weights += f"; {count(left_out, 'row')} of weight zero left out"
    rows = [
        ["Rows", count(data.n_rows)],
        ["Distinct rows", count(data.n_distinct)],
        ["Weights", weights],
        *_drawn(data),
        ["Columns", count(len(data.columns))],
        ["Rows without missing cells", percent(complete, 1)],
        ["Missing cells", percent(overall, 1)],
    ]
    parts = [table(["", ""], rows, class_="plain"), *_remarks(facts)]
    columns = table(
        ["Column", "Categories", "Shares of known cells", "Missing"],
        [_column(facts, at) for at in range(min(len(data.columns), MOST_COLUMNS))],
        numbers=(1,),
        class_="columns",
    )
    if len(data.columns) > LONG_LIST:
        columns = folded(f"The {count(min(len(data.columns), MOST_COLUMNS))} columns", columns)
    parts.append(columns)
    if len(data.columns) > MOST_COLUMNS:
        more = f"The first {MOST_COLUMNS} of {count(len(data.columns))} columns are listed."
        parts.append(paragraph(more, class_="quiet"))
    return section("data", "The data", *parts)


def _weights(data: CategoricalData) -> str:
    """Return the kind and the sum of the weights."""
    if data.weight_kind == "sampling":
        return f"sampling weights; Kish’s effective number of rows is {decimal(data.total_weight, 1)}"
    kind = "frequency weights, which " if data.weight_kind == "frequency" else ""
    return f"{kind}sum to {count(data.total_weight)}"


def _drawn(data: CategoricalData) -> list[list[str]]:
    """Return the sampling design as a row of the table of facts; no row for a simple random sample."""
    design = data.design
    if design is None or (design.cluster is None and design.n_strata == 1):
        return []
    strata = f"from {design.n_strata} strata" if design.n_strata > 1 else ""
    clusters = f"in {count(design.n_units, 'cluster')}" if design.cluster is not None else ""
    return [["Rows were drawn", " ".join(filter(None, (clusters, strata)))]]


def is_unweighted(facts: Facts | GaussianFacts) -> bool:
    """Return whether every row has weight one."""
    data = facts.data
    if isinstance(data, NumberTable):
        return data.weights is None
    if data.row_index is None or data.weight_kind is not None:
        return False
    return np.array_equal(np.bincount(data.row_index[data.row_index >= 0], minlength=data.n_distinct), data.weights)


def rare_categories(facts: Facts) -> list[tuple[int, int]]:
    """Return (column, category) of the rare categories."""
    return [
        (at, int(category))
        for at, shares in enumerate(facts.column_shares)
        for category in np.flatnonzero(shares < RARE)
    ]


def _remarks(facts: Facts) -> list[Html]:
    """Return remarks about the categories."""
    notes = []
    rare = rare_categories(facts)
    if rare:
        named = [f"{label(facts.data.columns[at])} = {label(facts.data.state_names[at][k])}" for at, k in rare[:6]]
        more = f" and {count(len(rare) - 6)} more" if len(rare) > 6 else ""
        words = f"Categories with less than {percent(RARE)} of the filled cells: {', '.join(named)}{more}."
        notes.append(paragraph(words, class_="quiet"))
    return notes


def _column(facts: Facts, at: int) -> list:
    data = facts.data
    shares, states = facts.column_shares[at], data.state_names[at]
    order = np.arange(len(states))
    if len(states) > MOST_CATEGORIES:
        order = np.sort(np.argsort(-shares, kind="stable")[: MOST_CATEGORIES - 1])
    names, shown = [label(states[k]) for k in order], shares[order]
    if len(order) < len(states):
        names, shown = [*names, f"{len(states) - len(order)} others"], np.append(shown, max(0.0, 1 - shown.sum()))
    words = ", ".join(f"{name} {percent(share)}" for name, share in zip(names, shown, strict=True))
    drawn = element("div", stacked_bar(shown.tolist(), names), element("small", words), class_="shares")
    missing = facts.missing_shares[at]
    return [
        label(data.columns[at]),
        count(len(states)),
        drawn,
        bar(missing, percent(missing, 1)) if missing else "none",
    ]


def mean_categories(facts: Facts) -> str:
    """Return the range and the mean of the numbers of categories, as text."""
    cards = facts.data.cards
    if cards.min() == cards.max():
        return f"{cards.min()} each"
    return f"{cards.min()} to {cards.max()}, {decimal(float(cards.mean()), 1)} on average"
