"""Mixtures of trees: the weight and the size of every tree, and the heaviest ones as text."""

from __future__ import annotations

from pgmpy_latent.diagnostics.explain import tree_text
from pgmpy_latent.diagnostics.mixture_text import parts_of
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, bar, count, element, folded, paragraph, percent, section, table

#: Most trees in the table, most of them that are written out, and most lines of each.
MOST_TREES, WRITTEN, MOST_LINES = 50, 4, 200


def mixture_section(facts: Facts) -> Html:
    """Return the section about the trees of a mixture."""
    mixture, parts = facts.mixture, parts_of(facts.mixture)
    words = (
        "Every row comes from one of these trees, which have edges and hidden variables of their own; the hidden "
        f"variable {mixture.names[0]} says from which. They are there to predict rows, and are not meant to be "
        "interpreted: with another seed there are others that predict as well."
    )
    largest = float(parts["weight"].max())
    rows = [
        [
            str(row.Index),
            bar(row.weight / largest, percent(row.weight, 1)),
            count(row.hidden_variables),
            count(row.states),
            count(row.parameters),
        ]
        for row in parts.head(MOST_TREES).itertuples()
    ]
    header = ["Tree", "Weight", "Hidden variables", "Most states", "Parameters"]
    shown = [paragraph(words), table(header, rows, numbers=(2, 3, 4))]
    if len(parts) > MOST_TREES:
        shown.append(paragraph(f"… and {count(len(parts) - MOST_TREES, 'more tree')}.", class_="quiet"))
    for number in parts.index[:WRITTEN]:
        lines = tree_text(mixture.trees[number]).splitlines()
        left = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], *([f"… and {count(left, 'more line')}"] if left > 0 else [])]
        shown.append(folded(f"Tree {number}", element("pre", "\n".join(lines))))
    return section("trees", "The trees", *shown)
