"""What differs between groups: the ladder of models, the tests of items, and the sizes of the classes by group."""

from __future__ import annotations

from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, decimal, folded, label, p_value, paragraph, percent, section, table
from pgmpy_latent.selection.groups import GroupComparison


def groups_section(facts: Facts) -> Html | None:
    """Return the section about groups; None if they were not compared."""
    found = facts.groups
    if found is None:
        return None
    parts = [
        paragraph(f"Do the groups of {label(found.group)} differ? {found.reason}"),
        _models(found),
        paragraph(
            "The log-likelihood is that of the items given the group. Larger BIC is better. Each likelihood-ratio test "
            f"compares a model with the one above it. {_numbers(found, facts)}"
        ),
    ]
    if len(found.items):
        parts.append(folded("Which items differ?", _items(found)))
    parts.append(_sizes(found))
    return section("groups", "What differs between groups", *parts)


def _numbers(found: GroupComparison, facts: Facts) -> str:
    """Return how many rows BIC counts, and how many that of the model on the same page does."""
    here, above = found.total_weight, facts.data.total_weight
    counted = f"BIC has N = {count(here)} here, the rows with a group and some answer"
    if abs(here - above) < 1e-6 * max(here, above):
        return f"{counted}."
    return (
        f"{counted}; that of the model at the top of this page has N = {count(above)}, all rows. "
        "So do not compare the two."
    )


def _models(found: GroupComparison) -> Html:
    rows = [
        [
            f"{row.Index} (recommended)" if row.best else row.Index,
            decimal(row.log_likelihood),
            count(row.n_parameters),
            decimal(row.bic),
            decimal(row.minus_2_bic),
            decimal(row.lr),
            decimal(row.lr_df, 0),
            p_value(row.lr_p),
        ]
        for row in found.table.astype({"lr_df": "float64"}).itertuples()
    ]
    header = ["model", "log-likelihood", "parameters", "BIC", "−2 BIC", "likelihood ratio", "df", "p"]
    return table(header, rows, numbers=range(1, 8))


def _items(found: GroupComparison) -> Html:
    rows = [
        [label(row.item), decimal(row.statistic), count(row.df), p_value(row.p_value), p_value(row.adjusted_p),
         "yes" if row.differs else "no"]
        for row in found.items.itertuples()
    ]  # fmt: skip
    header = ["item", "statistic", "df", "p", "p, adjusted (Holm)", "differs"]
    return table(header, rows, numbers=range(1, 5))


def _sizes(found: GroupComparison) -> Html:
    sizes = found.sizes()
    rows = [[label(group), *(percent(share) for share in row)] for group, row in zip(sizes.index, sizes.to_numpy(),
                                                                                    strict=True)]  # fmt: skip
    header = [label(found.group), *(f"class {state}" for state in sizes.columns)]
    caption = f"Sizes of the classes by group, in the recommended model ({found.recommended})"
    return table(header, rows, numbers=range(1, len(header)), caption=caption)
