"""The sections that only reports about Gaussian trees have: the tree, its hidden variables, its fit, and the table."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.gaussian.loadings import determinacy, loadings
from pgmpy_latent.gaussian.words import tree_text
from pgmpy_latent.report.gaussian_facts import GaussianFacts
from pgmpy_latent.report.html import (
    Html,
    bar,
    count,
    decimal,
    element,
    folded,
    label,
    p_value,
    paragraph,
    percent,
    section,
    table,
)
from pgmpy_latent.report.tree_section import explorer

#: Maximum number of loadings of a hidden variable, of pairs of columns, and of columns that are listed.
MOST_LOADINGS, MOST_PAIRS, MOST_COLUMNS = 12, 12, 400
#: Size of a residual correlation from which it is pointed out.
LARGE_RESIDUAL = 0.1


def gaussian_tree_section(facts: GaussianFacts) -> Html:
    """Return the section about the tree."""
    intro = (
        "Hidden variables are filled; columns are open. The thicker a line, the stronger the correlation of its two "
        "ends. The correlation of any two variables is the product along the path between them. Directions of edges "
        "cannot be learned from data."
    )
    return explorer(intro, "table", tree_data(facts), tree_text(facts.model).splitlines())


def tree_data(facts: GaussianFacts) -> dict:
    """Return the nodes in the format of the page's script; ``facts`` takes the place of a probability table."""
    tree = facts.model
    strength = np.abs(tree.correlation)
    nodes = []
    for node, name in enumerate(tree.names):
        about = []
        if tree.parent[node] >= 0:
            above = label(tree.names[tree.parent[node]])
            about.append([f"Correlation with {above}", decimal(float(tree.correlation[node]), 3)])
        if not tree.latent[node]:
            about += [["Mean", f"{tree.mean[node]:.6g}"], ["Standard deviation", f"{tree.std[node]:.6g}"]]
        nodes.append(
            {
                "name": label(name),
                "hidden": bool(tree.latent[node]),
                "parent": int(tree.parent[node]),
                "link": round(float(strength[node]), 4),
                "children": _in_order(facts, list(tree.child_lists[node])),
                "anchor": "latents" if tree.latent[node] else None,
                "facts": about,
            }
        )
    return {"nodes": nodes, "roots": _in_order(facts, tree.roots.tolist())}


def _in_order(facts: GaussianFacts, nodes: list[int]) -> list[int]:
    """Return nodes in drawing order: columns by their correlation, then nodes with children."""
    tree = facts.model
    return sorted(nodes, key=lambda node: (bool(tree.child_lists[node]), -abs(float(tree.correlation[node]))))


def loadings_section(facts: GaussianFacts) -> Html | None:
    """Return the section about the hidden variables; None if there is none."""
    if not facts.hidden:
        return None
    found, known = loadings(facts.model), determinacy(facts.model)
    intro = (
        "A loading is the correlation of a hidden variable with a column. A hidden variable has mean 0 and variance 1, "
        "and its largest loading is positive: its units, sign and name mean nothing by themselves. Its score is the "
        "best prediction of it from all columns (predict); if the two correlate by less than about 0.8, scores are too "
        "uncertain to compare rows."
    )
    rows = []
    for at, name in enumerate(found.columns):
        values = found.iloc[:, at].to_numpy()
        best = np.argsort(-np.abs(values), kind="stable")[:MOST_LOADINGS]
        listed = ", ".join(f"{label(found.index[one])} {decimal(float(values[one]))}" for one in best)
        score = float(known.iloc[at])
        rows.append([label(name), listed, bar(score, decimal(score))])
    body = table(["Hidden variable", "Largest loadings", "Correlation with its score"], rows, class_="columns")
    return section("latents", "Hidden variables", paragraph(intro), body)


def gaussian_fit_section(facts: GaussianFacts) -> Html:
    """Return the section about fit, residual correlations and uncertainty."""
    return section("fit", "Fit and diagnostics", *_measures(facts), *_residuals(facts), *_errors(facts))


def _measures(facts: GaussianFacts) -> list[Html]:
    found = facts.measures
    rows = [
        ["Log-likelihood", "of the filled cells; larger is better", decimal(found.log_likelihood)],
        ["Parameters", "two per column and one per edge", count(found.n_parameters)],
        ["BIC", "log-likelihood less ln(N) / 2 per parameter; larger is better", decimal(found.bic)],
        ["SRMR", "root of the mean square of residual correlations", decimal(found.srmr, 3)],
    ]
    is_complete = not np.isnan(found.saturated_log_likelihood)
    if is_complete:
        p = p_value(found.p_value)
        rows += [
            ["Saturated log-likelihood", "any means and covariances", decimal(found.saturated_log_likelihood)],
            ["Chi-squared", "twice the difference to it", f"{decimal(found.chi_squared)}, df {found.df}, p {p}"],
            ["RMSEA", "misfit per degree of freedom", decimal(found.rmsea, 3)],
            ["CFI", "improvement on independent columns, of what is possible", decimal(found.cfi, 3)],
        ]
    words = (
        "The tree was chosen with these rows, which makes p, RMSEA and CFI look better than they would in new ones: "
        "hold rows out to test it."
        if is_complete
        else "Where cells are missing, or columns are as many as rows, there is no closed form of the saturated "
        "log-likelihood that chi-squared, RMSEA and CFI need; they are left out."
    )
    return [
        table(["", "What it is", "This model"], rows, numbers=(2,), class_="scores"),
        paragraph(words, class_="quiet"),
    ]


def _residuals(facts: GaussianFacts) -> list[Html]:
    found = facts.residuals
    if not len(found):
        return []
    large = int((found["residual"].abs() >= LARGE_RESIDUAL).sum())
    words = (
        f"Correlations of the columns less those of the model: {count(large)} of {count(len(found), 'pair')} differ by "
        f"{LARGE_RESIDUAL} or more."
    )
    rows = []
    for row in found.head(MOST_PAIRS).itertuples():
        values = row.observed, row.fitted, row.residual
        rows.append([f"{label(row.first)}, {label(row.second)}", *(decimal(value, 3) for value in values)])
    header = ["Pair", "Observed", "Model", "Difference"]
    title = f"The {len(rows)} largest" if len(rows) < len(found) else None
    listed = table(header, rows, numbers=(1, 2, 3), caption=title)
    return [element("h3", "Residual correlations"), paragraph(words), listed]


def _errors(facts: GaussianFacts) -> list[Html]:
    if facts.errors is None:
        return []
    of_edges = facts.errors["parameter"] == "correlation"
    parts = [
        element("h3", "Uncertainty"),
        paragraph("Standard errors and 95% intervals from the observed information, for the tree as given."),
    ]
    if of_edges.any():
        parts.append(_error_table(facts, of_edges.to_numpy(), "Correlations of neighbours"))
    return [*parts, folded("Means and standard deviations", _error_table(facts, ~of_edges.to_numpy(), None))]


def _error_table(facts: GaussianFacts, chosen: np.ndarray, caption: str | None) -> Html:
    assert facts.errors is not None  # for type checkers
    rows = []
    for row in facts.errors[chosen].itertuples():
        what = f"{label(row.node)}, {label(row.parent)}" if row.parameter == "correlation" else label(row.node)
        kind = {"correlation": "", "mean": "mean", "std": "standard deviation"}[str(row.parameter)]
        known = not np.isnan(row.standard_error)
        interval = f"{decimal(row.lower, 3)} to {decimal(row.upper, 3)}" if known else row.note
        rows.append([what, kind, decimal(row.value, 3), decimal(row.standard_error, 3), interval])
    header = ["Variables", "", "Value", "Standard error", "95% interval"]
    return table(header, rows, numbers=(2, 3, 4), caption=caption)


def numbers_section(facts: GaussianFacts) -> Html:
    """Return the section about the table."""
    data, missing = facts.data, facts.missing_shares
    is_complete = ~np.isnan(data.values).any(axis=1)
    weights = "none: every row counts once"
    if data.weights is not None:
        weights = f"{data.weight_kind} weights, which sum to {decimal(data.total_weight, 1)}"
    rows = [
        ["Rows", count(data.n_rows)],
        ["Weights", weights],
        ["Columns", count(len(data.columns))],
        ["Rows without missing cells", count(int(is_complete.sum()))],
        ["Missing cells", percent(float(missing.mean()), 1)],
    ]
    listed = []
    for at, name in enumerate(data.columns[:MOST_COLUMNS]):
        filled = data.values[~np.isnan(data.values[:, at]), at]
        figures = filled.mean(), filled.std(), filled.min(), np.median(filled), filled.max()
        known = [f"{value:.4g}".replace("-", "−") for value in figures]
        gone = bar(missing[at], percent(missing[at], 1)) if missing[at] else "none"
        listed.append([label(name), *known, gone])
    header = ["Column", "Mean", "Standard deviation", "Least", "Median", "Largest", "Missing"]
    parts = [table(["", ""], rows, class_="plain"), table(header, listed, numbers=(1, 2, 3, 4, 5), class_="columns")]
    if data.missing:
        codes = "; ".join(f"{label(name)}: {', '.join(map(label, values))}" for name, values in data.missing)
        parts.append(paragraph(f"Values that count as missing: {codes}.", class_="quiet"))
    if len(data.columns) > MOST_COLUMNS:
        more = f"The first {MOST_COLUMNS} of {count(len(data.columns))} columns are listed."
        parts.append(paragraph(more, class_="quiet"))
    return section("data", "The data", *parts)
