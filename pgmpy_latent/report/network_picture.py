"""A network as a picture of the page itself, in layers from top to bottom."""

from __future__ import annotations

import unicodedata

import numpy as np

from pgmpy_latent.diagnostics.layers import LEAST_SPACE, Layers, layered
from pgmpy_latent.diagnostics.link_strength import link_strength
from pgmpy_latent.learners.common_edges import edges_found_again
from pgmpy_latent.model.network import as_network
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, decimal, element, label, paragraph, safe

#: Most variables, and most edges, of a network that is drawn.
MOST_NODES, MOST_EDGES = 120, 200
#: Pixels to an inch of the layout, of a letter, beside a text, of a box's height, and around the picture.
INCH, LETTER, PAD, BOX, MARGIN = 96.0, 8.0, 18.0, 26.0, 8.0
#: Most letters of a name; the whole name is shown where the pointer rests.
LONGEST = 26
#: Width of edges in pixels, and the length, half the width and least distance of arrowheads.
THINNEST, WIDEST, HEAD, HALF, APART = 0.8, 5.0, 7.0, 3.5, 18.0


def network_picture(facts: Facts) -> Html | None:
    """Return the picture with its explanation; None if there is no edge, or too much to be read."""
    network = facts.network
    if not network.edges or network.n_nodes > MOST_NODES or len(network.edges) > MOST_EDGES:
        return None
    picture = _Picture(facts)
    words = [
        "Hidden variables are filled, with their number of states; columns are open. Edges lead downwards, from "
        "parents to children."
    ]
    if picture.strongest > 0:
        words.append(
            " The thicker an edge, the more the parent says about the child beyond its other parents, at most "
            f"{decimal(picture.strongest, 2)} nats (mutual information, by the model)."
        )
    if any(picture.is_new.values()):
        words.append(" Dashed edges are those that the network without hidden variables does not have.")
    box = element(
        "div", picture.drawn(), class_="drawing network", tabindex="0", role="group", aria_label=picture.title
    )
    return safe(paragraph(*words), box)


class _Picture:
    """Boxes and edges of a network, with their places."""

    def __init__(self, facts: Facts):
        self.facts, self.network = facts, facts.network
        strengths = link_strength(self.network)
        flat = [value for above in strengths or () for value in above]
        self.strongest = max(flat, default=0.0)
        base = getattr(facts.learner, "base_", None)
        again = [1] * len(self.network.edges) if base is None else edges_found_again(self.network, as_network(base))
        pairs = [(above, node) for node, some in enumerate(self.network.parents) for above in some]
        self.is_new = {pair: found == 0 for pair, found in zip(pairs, again, strict=True)}
        self.strength = dict(zip(pairs, flat or [0.0] * len(pairs), strict=True))
        self.texts = [self._text(node) for node in range(self.network.n_nodes)]
        self.widths = [
            max(LETTER * _n_letters(text) + PAD, APART * len(above)) / INCH
            for text, above in zip(self.texts, self.network.parents, strict=True)
        ]
        self.layers: Layers = layered(self.network.parents, self.widths, BOX / INCH + LEAST_SPACE)
        self.tops, self.height = self.layers.rows(self.network.parents, BOX / INCH)

    @property
    def title(self) -> str:
        """What is said of the picture to those who do not see it."""
        sizes = (self.network.n_nodes, "variable"), (len(self.network.edges), "edge")
        return f"The network: {' and '.join(count(*size) for size in sizes)}, which the tables below list"

    def _text(self, node: int) -> str:
        name = label(self.network.names[node])
        name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        return f"{name} ({self.network.cards[node]})" if self.network.latent[node] else name

    def drawn(self) -> Html:
        """Return the picture: edges, thin ones first, and boxes above them."""
        edges = [self._edge(*pair) for pair in sorted(self.strength, key=lambda pair: (self.strength[pair], pair))]
        boxes = [self._box(node) for node in range(self.network.n_nodes)]
        width, height = (INCH * size + 2 * MARGIN for size in (self.layers.width, self.height))
        area = f"{-MARGIN:g} {-MARGIN:g} {width:.1f} {height:.1f}"
        return element("svg", *edges, *boxes, width=f"{width:.0f}", height=f"{height:.0f}", viewBox=area)

    def _box(self, node: int) -> Html:
        width, top = INCH * self.widths[node], INCH * self.tops[self.layers.layer[node]]
        middle, hidden = INCH * self.layers.x[node], bool(self.network.latent[node])
        place = {"x": f"{middle - width / 2:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "height": f"{BOX:g}"}
        parts = [
            element("title", label(self.network.names[node])),
            element("rect", **place, rx=f"{BOX / 2 if hidden else 3:g}", class_="box"),
            element("text", self.texts[node], x=f"{middle:.1f}", y=f"{top + BOX / 2:.1f}", text_anchor="middle"),
        ]
        if not hidden:
            return element("g", *parts)
        if self.facts.tells_states and node in self.facts.explained:
            return element("a", *parts, href=f"#latent-{node}", class_="item is-hidden")
        return element("g", *parts, class_="is-hidden")

    def _edge(self, above: int, node: int) -> Html:
        """Return an edge: it leaves its parent below, passes layers upright, and ends in an arrow on its child."""
        layers, parents = self.layers, self.network.parents[node]
        room = min(self.widths[node] / len(parents), 2 * APART / INCH)
        end = INCH * layers.arrival(above, node, parents, room)
        ways = [INCH * x for x in layers.way(above, node)]
        x, y = INCH * layers.x[above], INCH * self.tops[layers.layer[above]] + BOX
        steps = [f"M{x:.1f} {y:.1f}"]
        for step, across in enumerate([*ways, end], start=1):
            lower = INCH * self.tops[layers.layer[above] + step]
            is_last = step > len(ways)
            down = lower - (HEAD if is_last else 0.0)
            middle = (y + down) / 2
            steps.append(f"C{x:.1f} {middle:.1f} {across:.1f} {middle:.1f} {across:.1f} {down:.1f}")
            x, y = across, lower
            if not is_last:
                y += BOX
                steps.append(f"V{y:.1f}")
        share = self.strength[above, node] / self.strongest if self.strongest > 0 else 0.0
        width = THINNEST + (WIDEST - THINNEST) * float(np.clip(share, 0.0, 1.0))
        half = HALF + width / 2
        head = f"M{x - half:.1f} {y - HEAD:.1f}H{x + half:.1f}L{x:.1f} {y:.1f}Z"
        dashes = "6 4" if self.is_new[above, node] else None
        line = element("path", d="".join(steps), class_="edge", stroke_width=f"{width:.1f}", stroke_dasharray=dashes)
        names = [label(self.network.names[at]) for at in (above, node)]
        return element("g", element("title", " → ".join(names)), line, element("path", d=head, class_="head"))


def _n_letters(text: str) -> float:
    """Return how many letters wide a text is; capitals count for more, and letters of East Asian scripts twice.

    Examples
    --------
    >>> _n_letters("sex"), _n_letters("SEX"), _n_letters("性別")
    (3.0, 3.75, 4.0)
    """
    return float(sum(_width(letter) for letter in text))


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    if letter in "mwMW@%":
        return 1.8
    return 1.25 if letter.isupper() else 1.0
