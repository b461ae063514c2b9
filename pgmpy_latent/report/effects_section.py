"""Which columns go together beyond the classes: the edges that were added, and what they are worth."""

from __future__ import annotations

from collections.abc import Hashable

from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, decimal, folded, label, p_value, paragraph, percent, section, table
from pgmpy_latent.selection.edge_search import DirectEffects


def effects_section(facts: Facts) -> Html | None:
    """Return the section about direct effects; None if they were not looked for."""
    found = facts.direct_effects
    if found is None:
        return None
    parts = [
        paragraph(f"Do columns go together beyond the classes? {found.reason}"),
        _history(found),
        paragraph(
            "Each row adds an edge to the model above it; larger BIC is better. The score test is that of the edge "
            "before it was added: about twice what it would gain in log-likelihood. The direction of an edge means "
            "nothing."
        ),
    ]
    parts += [
        folded(f"{label(child)} given the class and {label(parent)}", _table_of(found.network_, parent, child))
        for parent, child in found.edges
    ]
    return section("effects", "Direct effects", *parts)


def _history(found: DirectEffects) -> Html:
    names = ["no edge", *(f"{label(parent)} and {label(child)}" for parent, child in found.edges)]
    rows = [
        [name, decimal(row.log_likelihood), count(row.n_parameters), decimal(row.bic), decimal(row.statistic),
         decimal(row.df, 0), p_value(row.p_value)]
        for name, row in zip(names, found.history_.astype({"df": "float64"}).itertuples(), strict=True)
    ]  # fmt: skip
    header = ["edge", "log-likelihood", "parameters", "BIC", "score test", "df", "p"]
    return table(header, rows, numbers=range(1, 7))


def _table_of(network: LatentNetwork, parent: Hashable, child: Hashable) -> Html:
    """Return P(child | class, parent), a row per class and category of the parent."""
    above, below = network.index(parent), network.index(child)
    parents = network.parents[below]
    hidden = next(node for node in parents if node != above)
    cards = [int(network.cards[node]) for node in parents]
    values = network.tables[below].reshape(*cards, -1)
    if parents[0] == above:
        values = values.swapaxes(0, 1)
    rows = [
        [f"class {state}", label(category), *(percent(share, 1) for share in values[at, place])]
        for at, state in enumerate(network.state_names[hidden])
        for place, category in enumerate(network.state_names[above])
    ]
    header = ["", label(parent), *(label(category) for category in network.state_names[below])]
    return table(header, rows, numbers=range(2, len(header)), caption=f"{label(child)}, shares in each row")
