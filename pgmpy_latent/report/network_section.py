"""Networks in which nodes have several parents: a picture, their hidden variables with neighbours, and all edges."""

from __future__ import annotations

from collections.abc import Hashable

from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, folded, label, paragraph, section, table
from pgmpy_latent.report.network_picture import network_picture

#: Maximum number of edges that are listed.
MOST_EDGES = 1000


def network_section(facts: Facts) -> Html:
    """Return the section about a network that is not a tree."""
    network = facts.network
    hidden = set(network.latent_names)
    parents: dict[Hashable, list[str]] = {name: [] for name in network.names}
    children: dict[Hashable, list[str]] = {name: [] for name in network.names}
    for above, below in network.edges:
        parents[below].append(label(above))
        children[above].append(label(below))
    words = (
        f"{count(len(network.edges), 'edge')} between {count(network.n_nodes, 'variable')}, of which "
        f"{count(len(hidden))} {'is' if len(hidden) == 1 else 'are'} hidden. This model is not a tree: nodes have "
        "several parents."
    )
    picture = network_picture(facts)
    if picture is None:
        words += " It is listed, as a picture of it could not be read here; plotting.plot_network draws parts of it."
    parts = [paragraph(words), *([] if picture is None else [picture])]
    if hidden:
        rows = [
            [label(name), count(network.cards[network.index(name)]), ", ".join(parents[name]) or "–",
             ", ".join(children[name]) or "–"]
            for name in network.latent_names
        ]  # fmt: skip
        parts.append(table(["Hidden variable", "States", "Parents", "Children"], rows, numbers=(1,)))
    rows = [[label(name), ", ".join(parents[name])] for name in network.names if parents[name]][:MOST_EDGES]
    if rows:
        parts.append(folded("Parents of every variable", table(["Variable", "Parents"], rows)))
    return section("network", "The network", *parts)
