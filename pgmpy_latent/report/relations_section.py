"""What predicts the class, and what differs between classes: the tables of relate."""

from __future__ import annotations

import pandas as pd

from pgmpy_latent.relations.covariate_result import CovariateRelation, method_words, rows_words
from pgmpy_latent.relations.outcome_result import OutcomeRelation
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, decimal, folded, label, p_value, paragraph, percent, section, table


def relations_section(facts: Facts) -> Html | None:
    """Return the section about covariates and outcomes; None if there are none."""
    parts: list[Html] = []
    for found in facts.relations:
        parts += _covariates(found) if isinstance(found, CovariateRelation) else _outcome(found)
    return section("relations", "The classes and other columns", *parts) if parts else None


def _how(found: CovariateRelation | OutcomeRelation) -> str:
    words = method_words(found.steps, found.correction, found.assignment)
    return f"{words[0].upper()}{words[1:]}; {rows_words(found.n_rows, found.n_rows_left_out)}."


def _covariates(found: CovariateRelation) -> list[Html]:
    names = ", ".join(label(name) for name in found.tests.index[:-1])
    tests = [
        [label(name), decimal(row.wald), count(row.df), p_value(row.p_value), decimal(row.likelihood_ratio),
         p_value(row.lr_p_value)]
        for name, row in zip(found.tests.index, found.tests.itertuples(), strict=True)
    ]  # fmt: skip
    rows = [
        [label(row[0]), _term(row.covariate, row.category), decimal(row.estimate, 4), decimal(row.standard_error, 4),
         p_value(row.p_value), _ratio(row.odds_ratio), f"{_ratio(row.lower)} to {_ratio(row.upper)}"]
        for row in found.coefficients.rename(columns={"class": "of"}).itertuples(index=False)
    ]  # fmt: skip
    header = ["covariate", "Wald", "df", "p", "likelihood ratio", "p"]
    terms = ["class", "covariate", "estimate", "standard error", "p", "odds ratio", f"{percent(found.level)} interval"]
    return [
        paragraph(f"Does the class depend on {names}? {_how(found)}"),
        table(header, tests, numbers=range(1, 6)),
        folded(
            f"Coefficients, against class {label(found.reference)}",
            table(terms, rows, numbers=range(2, 7)),
            paragraph("Differences of log odds for one unit more, or for this category instead of the first."),
        ),
    ]


def _ratio(number: float) -> str:
    """Return an odds ratio with three decimals, or as a power of ten if it is very large."""
    return f"{number:.0e}" if 1e6 <= number < float("inf") else decimal(number, 3)


def _term(covariate, category) -> str:
    return label(covariate) if category == "" else f"{label(covariate)}: {label(category)}"


def _outcome(found: OutcomeRelation) -> list[Html]:
    overall = found.tests.iloc[0]
    test = f"Wald test of all classes: {decimal(overall['wald'])}, df {overall['df']}, p {p_value(overall['p_value'])}."
    pairs = [
        [f"{label(row[0])} and {label(row[1])}", decimal(row.difference), decimal(row.wald), count(row.df),
         p_value(row.p_value), p_value(row.p_holm)]
        for row in found.tests.iloc[1:].itertuples(index=False)
    ]  # fmt: skip
    return [
        paragraph(f"Does {label(found.outcome)} differ between the classes? {_how(found)} {test}"),
        _means(found),
        folded("Pairs of classes", table(["classes", "difference", "Wald", "df", "p", "p, adjusted (Holm)"], pairs,
                                         numbers=range(1, 6))),
    ]  # fmt: skip


def _means(found: OutcomeRelation) -> Html:
    is_share = "share" in found.means.columns
    value = "share" if is_share else "mean"
    header = ["class", *(["category"] if is_share else []), value, "standard error", f"{percent(found.level)} interval"]
    rows = [_mean(row, value) for _, row in found.means.iterrows()]
    notes = [f"{label(row['class'])}: {row['note']}." for _, row in found.means.iterrows() if row["note"]]
    caption = f"{label(found.outcome)} by class. {' '.join(notes)}".strip()
    return table(header, rows, numbers=range(len(header) - 3, len(header)), caption=caption)


def _mean(row: pd.Series, value: str) -> list[str]:
    category = [label(row["category"])] if value == "share" else []
    interval = f"{decimal(row['lower'])} to {decimal(row['upper'])}"
    return [label(row["class"]), *category, decimal(row[value]), decimal(row["standard_error"]), interval]
