"""The interactive tree: its nodes as data for the page's script, and as text if scripts do not run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pgmpy_latent.diagnostics.explain import tree_text
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, element, embedded_json, label, paragraph, section

#: Maximum number of states in a probability table; fewer if all tables together have too many cells.
MOST_STATES, FEWER_STATES, MANY_CELLS = 12, 5, 50_000
#: Maximum number of lines of the tree as text.
MOST_LINES = 400


def tree_section(facts: Facts) -> Html:
    """Return the section about the tree."""
    tree = facts.tree
    intro = [
        "Hidden variables are filled, with their number of states; columns are open. The thicker a line, the more "
        "two neighbours say about each other (mutual information). Directions of edges cannot be learned from data."
    ]
    if not tree.latent.any():
        intro = ["No hidden variable: the columns are linked to each other, or stand alone."]
    return explorer(" ".join(intro), "probability table", tree_data(facts), tree_text(tree).splitlines())


def explorer(intro: str, what: str, data: dict, text: list[str]) -> Html:
    """Return a section with a tree that can be folded; ``what`` is shown of the node that is pointed at.

    Parameters
    ----------
    intro, what : str
    data : dict
        The nodes in the format of the page's script.
    text : list of str
        The lines of the tree as text.
    """
    help_text = (
        "Click a node, or press Enter, to fold and unfold its subtree; arrow keys move. "
        f"The {what} of the node under the pointer, or with the focus, is shown beside the tree."
    )
    controls = element(
        "div",
        element("button", "Unfold all", type="button", id="unfold"),
        element("button", "Fold all", type="button", id="fold"),
        element(
            "label", "Find ", element("input", type="search", id="find", placeholder="a column or hidden variable")
        ),
        class_="controls",
    )
    drawing = element("div", class_="drawing", id="drawing", tabindex="-1")
    panel = element(
        "aside",
        paragraph(f"Point at a node to see its {what}.", class_="quiet"),
        id="panel",
        aria_live="polite",
        aria_label=f"{what.capitalize()} of the chosen node",
    )
    if len(text) > MOST_LINES:
        text = [*text[:MOST_LINES], f"… and {count(len(text) - MOST_LINES, 'more line')}"]
    plain = element("noscript", element("pre", "\n".join(text)))
    nodes = element("script", embedded_json(data), type="application/json", id="tree-data")
    return section(
        "tree", "The tree", paragraph(intro), paragraph(help_text, class_="quiet no-print"), controls,
        element("div", drawing, panel, class_="explorer"), plain, nodes,
    )  # fmt: skip


def tree_data(facts: Facts) -> dict:
    """Return the nodes in the format of the page's script.

    Returns
    -------
    dict
        ``nodes``: name, whether hidden, parent, states, table (probabilities; cut if it is large, and ``cut`` says so),
        mutual information with the parent, children in the order in which they are drawn, and the anchor of the
        node's own section. ``roots``: likewise in order.
    """
    tree = facts.tree
    most = MOST_STATES if sum(min(table.size, MOST_STATES**2) for table in tree.tables) < MANY_CELLS else FEWER_STATES
    nodes = []
    for node, table in enumerate(tree.tables):
        states = tree.state_names[node]
        nodes.append(
            {
                "name": label(tree.names[node]),
                "hidden": bool(tree.latent[node]),
                "parent": int(tree.parent[node]),
                "card": len(states),
                "states": [label(state) for state in states[:most]],
                "table": table[:most, :most].round(4).tolist(),
                "cut": max(table.shape) > most,
                "link": round(float(facts.links[node]), 4),
                "children": _in_order(facts, tree.child_lists[node]),
                "anchor": f"latent-{node}" if node in facts.explained else None,
            }
        )
    return {"nodes": nodes, "roots": _in_order(facts, tree.roots.tolist())}


def _in_order(facts: Facts, nodes: Sequence[int]) -> list[int]:
    """Return nodes in drawing order: columns by their information, then nodes with children."""
    tree = facts.tree
    inner = [node for node in nodes if tree.child_lists[node]]
    leaves = [node for node in nodes if not tree.child_lists[node]]
    ordered = [leaves[at] for at in np.argsort(-facts.links[leaves], kind="stable").tolist()] if leaves else []
    alone = all(tree.parent[node] < 0 for node in nodes)
    return [*inner, *ordered] if alone else [*ordered, *inner]
