"""How well the model fits: scores, certainty of assignments, and pairs of columns that it does not explain."""

from __future__ import annotations

import warnings

import numpy as np

from pgmpy_latent.diagnostics.assignments import counted
from pgmpy_latent.diagnostics.residuals import SIGNIFICANT, residuals
from pgmpy_latent.report.facts import Facts
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
    safe,
    section,
    table,
)
from pgmpy_latent.scores import SCORES

#: Maximum number of pairs of columns that are listed.
MOST_PAIRS = 12
#: Maximum number of columns whose pairs are compared: a thousand take half a minute.
MANY_COLUMNS = 1000
#: Relative entropy from which assignments count as good, and up to which as bad.
GOOD_ENTROPY, POOR_ENTROPY = 0.8, 0.6


def fit_section(facts: Facts) -> Html:
    """Return the section about fit and diagnostics."""
    parts = [_scores(facts), *_entropy(facts), *_assignments(facts), *_residuals(facts), *_uncertainty(facts)]
    return section("fit", "Fit and diagnostics", *parts)


def _scores(facts: Facts) -> Html:
    """Return the scores of the model, beside those of the model without any dependence."""
    values, alone = facts.scores, facts.independence
    total = values["log_likelihood"]
    rows = [
        ["Log-likelihood (LL)", "natural logarithm, summed over the rows", decimal(total), decimal(-2 * total),
         decimal(alone["log_likelihood"])],
        ["Parameters (d)", "free probabilities", count(values["n_parameters"]), "", count(alone["n_parameters"])],
    ]  # fmt: skip
    effective = values.get("effective_dimension")
    if effective is not None:
        rows.append(["Effective parameters", "how many the data can tell apart", count(effective), "", ""])
    for name, score in SCORES.items():
        if name in values:
            title = score.title[0].upper() + score.title[1:]
            twice = decimal(-2 * values[name]) if score.times_minus_two else ""
            beside = decimal(alone[name]) if name in alone else ""
            rows.append([title, score.formula, decimal(values[name]), twice, beside])
    data = facts.data
    n = f"N is the sum of the weights, {count(data.total_weight)}."
    if data.weight_kind == "sampling":
        n = (
            f"N is Kish’s effective number of rows, {decimal(data.total_weight, 1)} of {count(data.n_rows)}: sampling "
            "weights are scaled to sum to it, in the log-likelihood, too. Other programs may scale them differently."
        )
    note = (
        f"{n} Larger scores are better; the column "
        "“−2 ×” has them as Mplus, poLCA and Latent GOLD print them, where smaller is better. “Independence” is the "
        "model without any dependence between columns, which is the latent class model with one class."
    )
    header = ["", "What it is", "This model", "−2 ×", "Independence"]
    parts = [table(header, rows, numbers=(2, 3, 4), class_="scores"), paragraph(note, class_="quiet")]
    if facts.n_impossible:
        parts.append(
            paragraph(
                f"{count(facts.n_impossible, 'distinct row')} of this table cannot occur under the model, so its "
                "log-likelihood is minus infinity. Fit with a prior, such as prior=0.01, to rule out nothing.",
                class_="warning",
            )
        )
    return Html("".join(parts))


def _entropy(facts: Facts) -> list[Html]:
    value = facts.scores.get("relative_entropy")
    if value is None or np.isnan(value) or not facts.hidden:
        return []
    if value >= GOOD_ENTROPY:
        verdict = "rows can be assigned to states with little error"
    elif value >= POOR_ENTROPY:
        verdict = "most rows can be assigned, with some error; use posteriors rather than assignments where it matters"
    else:
        verdict = "assignments are uncertain; use posteriors, and do not treat assigned states as if they were known"
    nats = decimal(facts.scores["classification_entropy"])
    words = f"{decimal(value, 3)} (0: hidden states unknown; 1: known): {verdict}. Entropy: {nats} nats."
    return [element("h3", "Relative entropy"), element("p", bar(value, words))]


def _assignments(facts: Facts) -> list[Html]:
    """Return how certain the assignments of rows to hidden states are."""
    several = [node for node in facts.explained if facts.model.cards[node] > 1]
    if not several:
        return []
    parts = [
        element("h3", "Assignment of rows to states"),
        paragraph(
            "Rows are assigned to their most likely state. The tables count the assigned rows (down) by the state that "
            "they belong to (across) as far as the model can tell; the average posterior is the share on the diagonal, "
            "which should usually be at least 0.7 to 0.8.",
            _scale_of_counts(facts),
        ),
    ]
    tables = [_assignment(facts, node) for node in several]
    many = len(tables) > 2
    return [
        *parts,
        folded(f"Tables of {count(len(tables), 'hidden variable')}", *tables) if many else safe(*tables),
    ]


def _scale_of_counts(facts: Facts) -> str:
    """Say on what scale rows are counted, if they have weights."""
    data = facts.data
    if data.weight_kind == "sampling":
        return (
            f" Rows count by their sampling weights, which sum to Kish’s effective number of rows: "
            f"{decimal(data.total_weight, 1)} for {count(data.n_rows, 'row')}."
        )
    if data.weight_kind == "frequency":
        return f" Rows count as often as their weights say: {count(data.total_weight)} in all."
    return ""


def _assignment(facts: Facts, node: int) -> Html:
    """Return the classification table of one hidden variable, without impossible rows, which have their own note."""
    states = facts.states_in_words(node)
    assigned = counted(facts.beliefs[node], facts.data.weights, facts.model.state_names[node])
    counts = assigned.to_numpy()
    sizes = counts.sum(axis=1)
    sure = np.divide(np.diag(counts), sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    rows = [
        [
            states[state],
            *(decimal(value, 1) for value in counts[state]),
            decimal(sizes[state], 0),
            decimal(sure[state], 3),
        ]
        for state in range(len(counts))
    ]
    expected = counts.sum(axis=0)
    rows.append(["Expected size", *(decimal(value, 1) for value in expected), decimal(sizes.sum(), 0), ""])
    header = ["Assigned", *states, "Rows", "Average posterior"]
    name = label(facts.model.names[node])
    caption = f"{name}: {percent(assigned.attrs['error'], 1)} of the rows are expected to be assigned wrongly"
    return table(header, rows, numbers=range(1, len(header)), caption=caption)


def _residuals(facts: Facts) -> list[Html]:
    """Return the pairs of columns whose dependence the model does not explain."""
    n_columns = len(facts.data.columns)
    parts = [element("h3", "Local independence: bivariate residuals")]
    if n_columns < 2 or n_columns > MANY_COLUMNS:
        why = "There is no pair of columns." if n_columns < 2 else f"Left out for {count(n_columns)} columns."
        return [*parts, paragraph(why)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = residuals(facts.model, facts.data)
    known = pairs[pairs["per_df"].notna()]
    out = known[known["adjusted_p"] < SIGNIFICANT]
    if type(facts.learner).__name__ == "EAST" and len(out):  # the advice would be to use EAST
        advice = (
            f"{len(out)} of {count(len(known))} pairs of columns depend on each other in a way that the model does not "
            "explain; the search found no change for them that was worth its parameters."
        )
    else:
        advice = pairs.attrs["advice"]
    parts.append(paragraph(advice))
    apart = int(pairs["n"].eq(0).sum())
    if apart:
        parts.append(paragraph(f"{count(apart, 'pair')} of columns never filled in the same row cannot be compared."))
    shown = (out if len(out) else known).head(MOST_PAIRS)
    largest = float(shown["per_df"].replace(np.inf, np.nan).max()) if len(shown) else np.nan
    rows = [
        [
            f"{label(row.first)} – {label(row.second)}",
            bar(row.per_df / largest if largest > 0 else 0.0, decimal(row.per_df)),
            decimal(row.statistic, 1),
            count(row.df),
            p_value(row.p_value),
            p_value(row.adjusted_p),
        ]
        for row in shown.itertuples()
    ]
    if rows:
        header = ["Pair", "X² / df", "X²", "df", "p", "p, adjusted"]
        title = f"The first {len(rows)} of {count(len(out))} that stand out" if len(out) else f"The first {len(rows)}"
        if len(rows) == len(out):
            title = "The pair that stands out" if len(out) == 1 else f"The {len(out)} that stand out"
        parts.append(table(header, rows, numbers=(2, 3, 4, 5), caption=title))
        note = (
            "Observed against fitted tables of two columns; up to about 1 per degree of freedom the model accounts for "
            "the pair. The smallest p-value comes first; adjusted for the number of pairs by Holm's method."
        )
        parts.append(paragraph(note, class_="quiet"))
    return parts


def _uncertainty(facts: Facts) -> list[Html]:
    """Return standard errors and confidence intervals of all probabilities."""
    if facts.standard_errors is None:
        return []
    errors, remarks = facts.standard_errors
    rows = []
    for row in errors.itertuples():
        interval = "–" if np.isnan(row.lower) else f"{decimal(row.lower, 3)} to {decimal(row.upper, 3)}"
        rows.append(
            [
                label(row.node),
                "" if row.parent_state is None else _given(facts, row.node, row.parent_state),
                label(row.state),
                decimal(row.probability, 3),
                decimal(row.standard_error, 3),
                interval,
                row.note,
            ]
        )
    header = ["Variable", "Given", "State", "Probability", "Standard error", "95% interval", ""]
    return [
        element("h3", "Uncertainty of the probabilities"),
        paragraph(f"Standard errors and confidence intervals {_how_sure(facts)} (delta method, logit scale)."),
        *(paragraph(remark, class_="quiet") for remark in remarks),
        folded(f"All {count(len(rows))} probabilities", table(header, rows, numbers=(3, 4, 5))),
    ]


def _how_sure(facts: Facts) -> str:
    """Return how standard errors were computed."""
    design = facts.data.design
    if design is None:
        return "from the observed information"
    units = "rows" if design.cluster is None else "clusters"
    within = f" within {design.n_strata} strata" if design.n_strata > 1 else ""
    return f"by the sandwich estimate: from the observed information, and from how much {units} differ{within}"


def _given(facts: Facts, node, state) -> str:
    """Return the state of the parents as text."""
    above = [facts.model.names[at] for at in facts.model.parents[facts.model.index(node)]]
    states = state if len(above) > 1 else (state,)
    return ", ".join(f"{label(name)} = {label(state_above)}" for name, state_above in zip(above, states, strict=True))
