"""A picture of a latent tree."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.explain import counted
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.operators.bins import in_bins
from pgmpy_latent.plotting.axes import BLUE, axes_size, new_axes, text_width
from pgmpy_latent.plotting.models import any_tree_of
from pgmpy_latent.plotting.outline import HIDDEN, INNER, NOTE, Entry, Places, outlined, placed
from pgmpy_latent.tables.dependence import block_information

#: Inches from row to row, between a node and its children, and the same with numbers on the edges.
ROW, GAP, GAP_WITH_NUMBERS = 0.2, 0.4, 0.75
#: Size of texts in points, and of the numbers on edges.
SIZE, NUMBER_SIZE = 8.5, 7.0
#: Space around the text of a box, as a share of its size; and left of a column's name, in inches.
PAD, INDENT = 0.22, 0.05
#: Rows for the explanation below, and minimum width of a picture in inches.
FOOT, NARROWEST = 2.0, 5.0
#: Widths of edges in points.
THINNEST, WIDEST = 0.5, 6.0
#: Styles of boxes.
BOXES = {
    HIDDEN: {"boxstyle": f"round,pad={PAD}", "fc": "#E3F0F8", "ec": BLUE},
    INNER: {"boxstyle": f"square,pad={PAD}", "fc": "white", "ec": "0.5"},
}


def plot_tree(model, *, support: pd.DataFrame | None = None, ax=None):
    """Draw a latent tree from left to right, every column in a row of its own.

    Hidden variables are in blue boxes, with their number of states in brackets; columns with children are in grey ones.
    The width of an edge shows the mutual information of its two nodes under the model. Below every node the columns
    that it says most about come first. Columns that are independent of all others are listed at the end. In a
    tree of more than 160 columns, columns are counted rather than drawn, and small subtrees are folded.

    The edges of a Gaussian tree have their correlations written on them, negative ones are dashed, and those that are
    further from 0 are wider.

    Parameters
    ----------
    model : LatentTree or GaussianTree, or a fitted learner that has one
        What to draw.
    support : DataFrame, optional
        As :func:`pgmpy_latent.support` returns it: ``parent``, ``child`` and ``support``, from 0 to 1. The numbers are
        written on the edges, in percent.
    ax : matplotlib axes, optional
        Where to draw; texts shrink if there is too little room. By default a figure that is as large as the tree needs.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    NotATreeError
        If the model is a network in which a node has several parents.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> support = pd.DataFrame({"parent": ["H1", "H1"], "child": ["H2", "H3"], "support": [0.97, 0.62]})
    >>> ax = plot_tree(hlc_model(7, random_state=0), support=support)
    >>> ax.get_title(loc="left")
    '3 hidden variables, 7 columns'
    """
    tree = any_tree_of(model)
    numbers = _numbers(tree, support)
    strength, is_negative, widest = _edge_strength(tree), np.zeros(tree.n_nodes, bool), 1.0
    if not isinstance(tree, GaussianTree):
        widest = strength.max()
    else:
        is_negative = tree.correlation < 0
        numbers = numbers or _correlations(tree)
    entries, folded = outlined(tree, strength)
    where = placed(entries, _width, GAP_WITH_NUMBERS if numbers else GAP)
    width, height = max((where.x + where.width).max(), NARROWEST), where.n_rows + FOOT
    scale = 1.0
    if ax is not None:
        given = axes_size(ax)
        scale = min(1.0, given[0] / width, given[1] / (height * ROW))
        width = given[0] / scale
    ax = new_axes(ax, width + 0.2, height * ROW + 0.6)
    ax.set_xlim(0, width)
    ax.set_ylim(height - 0.5, -0.8)
    ax.set_axis_off()
    for at, entry in enumerate(entries):
        if entry.above >= 0:
            share = strength[entry.node] / widest if entry.node >= 0 and widest > 0 else 0.0
            style = ":" if entry.kind == NOTE else "--" if is_negative[entry.node] else "-"
            _draw_edge(ax, where, entry.above, at, _edge_width(share) * scale, style)
        _draw_text(ax, entry, where.x[at], where.y[at], scale)
        if entry.node in numbers:
            _draw_number(ax, where.x[at], where.y[at], numbers[entry.node], scale)
    words = "" if not numbers else "correlations" if support is None else "bootstrap support in percent"
    _explain(ax, height - 1, 0.0 if isinstance(tree, GaussianTree) else widest, words, scale)
    ax.set_title(_title(tree, folded), loc="left", fontsize=11)
    return ax


def _correlations(tree: GaussianTree) -> dict[int, str]:
    """Return the labels of the edges above nodes: correlations with the parent."""
    below = np.flatnonzero(tree.parent >= 0).tolist()
    return {node: f"{tree.correlation[node]:.2f}".replace("-", "−") for node in below}


def _edge_strength(tree: LatentTree | GaussianTree) -> np.ndarray:
    """Return the mutual information of every node and its parent, or the size of their correlation; 0 for roots.

    Where a node is a number, its mutual information is that of fine bins.
    """
    if isinstance(tree, GaussianTree):
        return np.abs(tree.correlation)
    tree = in_bins(tree)
    shares, information = marginals(tree), np.zeros(tree.n_nodes)
    for node, above in enumerate(tree.parent):
        if above >= 0:
            information[node] = block_information(shares[above][:, None] * tree.tables[node], [0], [0])[0, 0]
    return information


def _numbers(tree: LatentTree | GaussianTree, support: pd.DataFrame | None) -> dict[int, str]:
    """Return the labels of the edges above nodes."""
    if support is None:
        return {}
    if missing := [name for name in ("parent", "child", "support") if name not in support.columns]:
        raise ValueError(f"support has no column {missing[0]!r}; give the table that pgmpy_latent.support returns")
    widths = {}
    for parent, child, share in zip(support["parent"], support["child"], support["support"], strict=True):
        widths[_lower_end(tree, parent, child)] = f"{100 * share:.0f}"
    return widths


def _lower_end(tree: LatentTree | GaussianTree, parent: Hashable, child: Hashable) -> int:
    for above, below in ((parent, child), (child, parent)):  # the other way round it is the same split
        if above in tree.names and below in tree.names and tree.parent[tree.index(below)] == tree.index(above):
            return tree.index(below)
    raise ValueError(
        f"support has an edge between {parent!r} and {child!r}, but the tree has none; it belongs to another tree, "
        "or to this one under other names"
    )


def _width(entry: Entry) -> float:
    if entry.kind in BOXES:
        return text_width(entry.text, SIZE) + 2 * PAD * SIZE / 72
    return text_width(entry.text, SIZE) + INDENT


def _edge_width(share: float) -> float:
    return THINNEST + (WIDEST - THINNEST) * share


def _draw_edge(ax, where: Places, above: int, below: int, width: float, style: str) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, right = where.x[above] + where.width[above], where.x[below]
    top, bottom, middle = where.y[above], where.y[below], (left + right) / 2
    path = Path([(left, top), (middle, top), (middle, bottom), (right, bottom)], [Path.MOVETO] + [Path.CURVE4] * 3)
    ax.add_patch(PathPatch(path, fc="none", ec="0.65", lw=width, ls=style, capstyle="butt", zorder=1))


def _draw_text(ax, entry: Entry, x: float, y: float, scale: float) -> None:
    style = BOXES.get(entry.kind)
    x += INDENT if style is None else PAD * SIZE / 72
    color, slant = ("0.35", "italic") if entry.kind == NOTE else ("black", "normal")
    box = None if style is None else {**style, "lw": 0.8 * scale}
    ax.text(x, y, entry.text, size=SIZE * scale, va="center", color=color, style=slant, bbox=box, zorder=3)


def _draw_number(ax, x: float, y: float, text: str, scale: float) -> None:
    behind = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
    ax.text(
        x - 2 * INDENT, y, text, size=NUMBER_SIZE * scale, ha="right", va="center", color=BLUE, bbox=behind, zorder=2
    )


def _explain(ax, y: float, widest: float, numbers: str, scale: float) -> None:
    """Explain below the tree what widths mean, if they are of mutual information, and numbers, if there are any."""
    words = []
    if widest > 0:
        ax.plot([0, 0.3], [y, y], color="0.65", lw=WIDEST * scale, solid_capstyle="butt")
        words.append(f"mutual information of {widest:.2g} nats")
    if numbers:
        words.append(f"numbers: {numbers}")
    ax.text(0.36 if widest > 0 else 0.0, y, "; ".join(words), size=SIZE * scale, va="center", color="0.35")


def _title(tree: LatentTree | GaussianTree, folded: bool) -> str:
    words = f"{counted(len(tree.latent_names), 'hidden variable')}, {counted(len(tree.observed_names), 'column')}"
    return f"{words} (too many to draw: the largest parts)" if folded else words
