"""A picture of a network of any shape."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.explain import counted
from pgmpy_latent.diagnostics.layers import LEAST_SPACE, Layers, layered
from pgmpy_latent.diagnostics.link_strength import link_strength
from pgmpy_latent.inference.queries import model_of
from pgmpy_latent.learners.common_edges import edges_found_again
from pgmpy_latent.model.network import LatentNetwork, as_network, blanket
from pgmpy_latent.plotting.axes import BLUE, VERMILION, as_label, axes_size, new_axes, text_width
from pgmpy_latent.plotting.outline import BOX_LABEL

#: Height of a line of text and of the rest of a box, in inches.
TEXT_LINE, REST_OF_BOX = 0.14, 0.1
#: What is said of columns without edges.
ALONE = "independent:"
#: Inches above a box for the numbers on its edges, the width of one, and how far it is moved up from arrowheads.
STRIP, NUMBER, ABOVE_ARROW = 0.17, 0.3, 0.03
#: Size of texts in points, and of the numbers on edges.
SIZE, NUMBER_SIZE = 8.5, 7.0
#: Space beside the text of a box in inches, and minimum distance of arrowheads.
PAD, ARROW_APART = 0.07, 0.09
#: Widths of edges in points, and of a picture in inches at least.
THINNEST, WIDEST, NARROWEST = 0.6, 4.0, 5.0
#: Height of a line of the explanation, and width of the marks in it, in inches.
LINE, MARK = 0.22, 0.3


def plot_network(
    model, *, base=None, support: pd.DataFrame | None = None, around: Sequence[Hashable] | None = None, ax=None
):
    """Draw a network in layers from top to bottom, parents above their children.

    Hidden variables are in blue boxes, with their number of states in brackets; columns are in grey ones. The width of
    an edge shows how much the parent says about the child beyond its other parents: their mutual information given
    these, under the model. Edges that leave one variable share their way. Edges that are not in ``base``, in
    either direction, are orange red. Columns without edges come last.

    Parameters
    ----------
    model : LatentNetwork, LatentTree, pgmpy network or fitted learner
        What to draw; up to about a hundred variables can be read.
    base : model, optional
        The network to compare with; by default ``base_`` of the learner, if it has one, as
        :class:`pgmpy_latent.FindHidden` has. Hidden variables are matched by their neighbours, not by name.
    support : DataFrame, optional
        As :func:`pgmpy_latent.support` returns it. The shares of bootstrap networks that link two variables are
        written on the edges, in percent, and those of hidden variables into their boxes.
    around : list of names, optional
        Only these variables are drawn, with their parents, their children and the children's other parents. All by
        default.
    ax : matplotlib axes, optional
        Where to draw; texts shrink if there is too little room. By default a figure that is as large as the network
        needs.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> network = LatentNetwork(["rain", "H", "wet"], [[0, 1]] * 3, [(), (), (0, 1)], [False, True, False],
    ...                         [[[0.8, 0.2]], [[0.5, 0.5]], [[1.0, 0.0], [0.2, 0.8], [0.1, 0.9], [0.0, 1.0]]])
    >>> ax = plot_network(network, base=LatentNetwork(["rain", "wet"], [[0, 1]] * 2, [(), (0,)], [False] * 2,
    ...                                               [[[0.8, 0.2]], [[0.9, 0.1], [0.1, 0.9]]]))
    >>> ax.get_title(loc="left")
    '1 hidden variable, 2 columns, 2 edges'
    """
    network = as_network(model_of(model))
    base = getattr(model, "base_", None) if base is None else base
    drawing = _Drawing(network, None if base is None else as_network(model_of(base)), support, around)
    layers = layered(drawing.parents, drawing.widths, drawing.box + LEAST_SPACE + drawing.strip, drawing.before_alone)
    tops, height = layers.rows(drawing.parents, drawing.box, drawing.strip)
    foot = LINE * (len(drawing.explanations) + 1.0)
    width, scale = max(layers.width, NARROWEST), 1.0
    if ax is not None:
        given = axes_size(ax)
        scale = min(1.0, given[0] / width, given[1] / (height + foot))
        width = given[0] / scale
    ax = new_axes(ax, width + 0.2, height + foot + 0.5)
    ax.set_xlim(-0.05, width + 0.05)
    ax.set_ylim(height + foot, -0.1)
    ax.set_axis_off()
    drawing.draw(ax, layers, tops, scale)
    drawing.explain(ax, height + LINE, scale)
    ax.set_title(drawing.title, loc="left", fontsize=11)
    return ax


@dataclass(frozen=True)
class _Edge:
    """An edge between two of the boxes of a picture."""

    parent: int
    child: int
    strength: float
    is_new: bool
    number: str


class _Drawing:
    """What is drawn of a network: its boxes, numbered from 0, and its edges."""

    def __init__(self, network: LatentNetwork, base: LatentNetwork | None, support: pd.DataFrame | None, around):
        self.network, self.base = network, base
        self.nodes = _nodes_around(network, around)
        numbers = {} if support is None else _numbers(network, support)
        self.has_numbers = support is not None
        self.strip = STRIP if numbers else 0.0
        place = {node: at for at, node in enumerate(self.nodes)}
        strengths = link_strength(network)
        self.widest = max([value for above in (strengths or ()) for value in above], default=0.0)
        again = {} if base is None else dict(zip(_pairs(network), edges_found_again(network, base), strict=True))
        self.edges = [
            _Edge(
                place[above],
                place[node],
                strengths[node][at] / self.widest if strengths is not None and self.widest > 0 else 0.0,
                again.get((above, node)) == 0,
                numbers.get((above, node), ""),
            )
            for node in self.nodes
            for at, above in enumerate(network.parents[node])
            if above in place
        ]
        self.parents: list[list[int]] = [[] for _ in self.nodes]
        for edge in self.edges:
            self.parents[edge.child].append(edge.parent)
        self.texts = [self._text(node, numbers.get(node)) for node in self.nodes]
        self.box = REST_OF_BOX + TEXT_LINE * (1 + max(text.count("\n") for text in self.texts))
        linked = {at for edge in self.edges for at in (edge.parent, edge.child)}
        self.alone = [at for at in range(len(self.nodes)) if at not in linked]
        self.before_alone = text_width(ALONE, SIZE) + 2 * PAD if self.alone else 0.0
        self.widths = [
            max(
                *(text_width(line, SIZE) + 2 * PAD for line in text.split("\n")),
                len(above) * (NUMBER if numbers else ARROW_APART),
            )
            for text, above in zip(self.texts, self.parents, strict=True)
        ]

    def _text(self, node: int, share: str | None) -> str:
        text = as_label(self.network.names[node])
        if self.network.latent[node]:
            text += f" ({self.network.cards[node]})" + (f" {share}%" if share else "")
        return "\n".join(textwrap.wrap(text, BOX_LABEL))

    @property
    def title(self) -> str:
        """The sizes, in words."""
        n_hidden = int(self.network.latent[self.nodes].sum())
        whole = len(self.nodes) == self.network.n_nodes
        sizes = (n_hidden, "hidden variable"), (len(self.nodes) - n_hidden, "column"), (len(self.edges), "edge")
        return ", ".join(counted(*size) for size in sizes) + (
            "" if whole else f" (of {self.network.n_nodes:,} variables)"
        )

    # Drawing ----------------------------------------------------------------------------------------------------------

    def draw(self, ax, layers: Layers, tops: np.ndarray, scale: float) -> None:
        """Draw edges and boxes."""
        for edge in sorted(self.edges, key=lambda edge: (edge.is_new, edge.strength)):
            self._draw_edge(ax, edge, layers, tops, scale)
        for at, node in enumerate(self.nodes):
            left, top = layers.x[at] - self.widths[at] / 2, tops[layers.layer[at]]
            _draw_box(ax, left, top, self.widths[at], self.box, bool(self.network.latent[node]), scale)
            place = {"x": layers.x[at], "y": top + self.box / 2, "ha": "center", "va": "center_baseline"}
            ax.text(s=self.texts[at], size=SIZE * scale, zorder=4, **place)
        if self.alone:
            y = tops[layers.layer[self.alone[0]]] + self.box / 2
            ax.text(0.0, y, ALONE, size=SIZE * scale, va="center", color="0.35", style="italic")

    def _draw_edge(self, ax, edge: _Edge, layers: Layers, tops: np.ndarray, scale: float) -> None:
        """Draw an edge that leaves its parent below, passes layers upright, and ends in an arrow on its child."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        end, begin = self._arrival(edge, layers), layers.layer[edge.parent]
        points, codes = [(layers.x[edge.parent], tops[begin] + self.box)], [Path.MOVETO]
        ways = layers.way(edge.parent, edge.child)
        for step, x in enumerate([*ways, end], start=1):
            (left, upper), lower = points[-1], tops[begin + step] - self.strip
            middle = (upper + lower) / 2
            points += [(left, middle), (x, middle), (x, lower)]
            codes += [Path.CURVE4] * 3
            is_last = step > len(ways)
            if self.strip or not is_last:
                points.append((x, tops[begin + step] + (0.0 if is_last else self.box)))
                codes.append(Path.LINETO)
        arrow = FancyArrowPatch(
            path=Path(points, codes),
            arrowstyle=f"-|>,head_length={3.5 * scale},head_width={1.6 * scale}",
            color=VERMILION if edge.is_new else "0.6",
            lw=(THINNEST + (WIDEST - THINNEST) * edge.strength) * scale,
            mutation_scale=1.0,
            joinstyle="miter",
            zorder=2 if edge.is_new else 1,
        )
        ax.add_patch(arrow)
        if edge.number:
            behind = {"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none"}
            style = {"ha": "center", "va": "center", "color": BLUE, "bbox": behind, "zorder": 2.5}
            middle = tops[layers.layer[edge.child]] - self.strip / 2 - ABOVE_ARROW
            ax.text(end, middle, edge.number, size=NUMBER_SIZE * scale, **style)

    def _arrival(self, edge: _Edge, layers: Layers) -> float:
        """Return where an edge ends on its child."""
        others = self.parents[edge.child]
        room = min(self.widths[edge.child] / len(others), 2 * NUMBER if self.strip else 2 * ARROW_APART)
        return layers.arrival(edge.parent, edge.child, others, room)

    # Explanation ------------------------------------------------------------------------------------------------------

    @property
    def explanations(self) -> list[tuple[str, str]]:
        """What is explained below the picture: a kind of mark, and words."""
        found = []
        if self.widest > 0 and self.edges:
            found.append(("width", f"mutual information of {self.widest:.2g} nats, given the other parents"))
        if self.base is not None:
            n_gone = edges_found_again(self.base, self.network).count(0)
            gone = (
                f"; {counted(n_gone, 'edge')} of the base network {'is' if n_gone == 1 else 'are'} gone"
                if n_gone
                else ""
            )
            found.append(("new", f"not in the base network{gone}"))
        if self.network.latent[self.nodes].any():
            found.append(("hidden", "hidden variable, with its number of states"))
        if self.has_numbers:
            found.append(("", "numbers: bootstrap support in percent"))
        return found

    def explain(self, ax, top: float, scale: float) -> None:
        """Explain below the network what marks mean."""
        for at, (kind, words) in enumerate(self.explanations):
            y = top + LINE * at
            if kind == "hidden":
                _draw_box(ax, 0.0, y - LINE / 4, MARK, LINE / 2, True, scale)
            elif kind:
                color, width = ("0.6", WIDEST) if kind == "width" else (VERMILION, 1.5)
                ax.plot([0, MARK], [y, y], color=color, lw=width * scale, solid_capstyle="butt")
            ax.text(MARK + 0.08 if kind else 0.0, y, words, size=SIZE * scale, va="center", color="0.35")


def _draw_box(ax, left: float, top: float, width: float, height: float, hidden: bool, scale: float) -> None:
    """Draw the box of a node, whose corners are round if it is hidden."""
    from matplotlib.patches import FancyBboxPatch

    shape = f"round,pad=0,rounding_size={0.4 * min(height, 0.25)}" if hidden else "square,pad=0"
    inside, line = ("#E3F0F8", BLUE) if hidden else ("white", "0.5")
    box = FancyBboxPatch((left, top), width, height, boxstyle=shape, fc=inside, ec=line, lw=0.8 * scale, zorder=3)
    ax.add_patch(box)


def _nodes_around(network: LatentNetwork, around: Sequence[Hashable] | None) -> list[int]:
    """Return the nodes to draw."""
    if around is None:
        return list(range(network.n_nodes))
    if isinstance(around, str) or not isinstance(around, Sequence) or not around:
        raise TypeError(f"around is {around!r}; give a list of variables, as around=['H']")
    if unknown := [name for name in around if name not in network.names]:
        raise ValueError(f"around names {unknown[0]!r}, which the network does not have; give some of its variables")
    chosen = [network.index(name) for name in around]
    return sorted({*chosen, *(other for node in chosen for other in blanket(network.parents, node))})


def _pairs(network: LatentNetwork) -> list[tuple[int, int]]:
    """Return the edges of a network as pairs of parent and child, in the order of ``network.edges``."""
    return [(above, node) for node, some in enumerate(network.parents) for above in some]


def _linked(network: LatentNetwork, one: Hashable, other: Hashable) -> bool:
    """Tell whether a network has an edge between two variables, in either direction."""
    if one not in network.names or other not in network.names:
        return False
    first, second = network.index(one), network.index(other)
    return first in network.parents[second] or second in network.parents[first]


def _numbers(network: LatentNetwork, support: pd.DataFrame) -> dict:
    """Return the labels of edges, by pairs of nodes, and of hidden nodes."""
    if missing := [name for name in ("parent", "child", "support") if name not in support.columns]:
        raise ValueError(f"support has no column {missing[0]!r}; give the table that pgmpy_latent.support returns")
    found: dict = {}
    kinds = support["kind"] if "kind" in support.columns else ["edge"] * len(support)
    for kind, *names, share in zip(kinds, support["parent"], support["child"], support["support"], strict=True):
        label = f"{100 * share:.0f}"
        if kind == "hidden variable" and names[0] in network.latent_names:
            found[network.index(names[0])] = label
        elif kind == "edge" and _linked(network, *names):
            above, node = (network.index(name) for name in names)
            found[(above, node) if above in network.parents[node] else (node, above)] = label
        else:
            what = (
                f"{names[0]!r} as a hidden variable"
                if kind == "hidden variable"
                else f"an edge between {names[0]!r} and {names[1]!r}"
            )
            raise ValueError(
                f"support has {what}, but the network has none; it belongs to another network, or to this one under "
                "other names"
            )
    return found
