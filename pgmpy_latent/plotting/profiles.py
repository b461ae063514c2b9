"""A picture of how columns differ between the classes of a hidden variable."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pgmpy_latent.diagnostics.conditionals import shares_and_conditionals
from pgmpy_latent.diagnostics.explain import counted
from pgmpy_latent.model.emissions import Emission, emissions_of
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.bins import in_bins
from pgmpy_latent.plotting.axes import as_label, axes_size, ink_on, new_axes, pyplot, text_width
from pgmpy_latent.plotting.models import any_of
from pgmpy_latent.tables.dependence import DECIMALS, block_information

#: Inches from column to column; minimum and maximum width of all bars of a row together.
ROW, NARROWEST, WIDEST = 0.56, 8.5, 13.0
#: Minimum width of a class in inches, if there is room.
CLASS_WIDTH = 1.3
#: Space between classes, as a share of a bar.
SPACE = 0.06
#: Size of texts in points, and of shares inside bars.
SIZE, SHARE_SIZE = 9.0, 7.5
#: Height of a bar, and how far its heading stands above, in rows.
BAR, HEADING = 0.42, 0.38
#: Height of the band behind a heading, which shows that it is of all classes, in rows.
BAND = 0.28
#: Space at either end of the scale of a number, as a share of a bar.
MARGIN = 0.04
#: Inches from the square of a category to its name, and from a name to the next square.
SQUARE, APART = 0.12, 0.18
#: Maximum length of a category in characters.
CATEGORY = 24
#: Standard deviations have two digits, but no more decimals than this.
MOST_DECIMALS = 6


def plot_profiles(model, latent: Hashable | None = None, *, n_columns: int = 12, ax=None):
    """Draw the distribution of columns in every class of a hidden variable.

    Classes stand side by side, with their sizes above. Every row is a column, every bar P(category | class): columns
    that tell the classes apart best, by their mutual information with the hidden variable, come first. Columns that
    hang on other hidden variables are drawn as well, through the tree. A numeric column has its mean in every class as
    a point, and a standard deviation to either side as a line, on one scale for all classes;
    :func:`~pgmpy_latent.plotting.plot_densities` draws its whole distribution.

    Parameters
    ----------
    model : LatentTree, or a fitted learner that has one
        What to draw.
    latent : name, optional
        The hidden variable; needed if there are several.
    n_columns : int
        Most columns to draw; the title says how many there are.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> ax = plot_profiles(hlc_model(7, random_state=0), "H2", n_columns=3)
    >>> ax.get_title(loc="left")
    'H2: 3 classes, by the 3 of 7 columns that tell them apart best'
    """
    tree = any_of(model)
    if not isinstance(n_columns, (int, np.integer)) or n_columns < 1:
        raise ValueError(f"n_columns is {n_columns!r}; give a whole number that is at least 1")
    at = _hidden_node(tree, latent)
    shares, tables = shares_and_conditionals(tree, at)
    columns, emissions = _best_columns(tree, at), emissions_of(tree)
    shown = columns[:n_columns]
    if ax is None:
        headings = [_heading_width(tree, column) for column in shown if column not in emissions]
        width = min(max(CLASS_WIDTH * len(shares), NARROWEST, *headings), WIDEST)
    else:
        width = axes_size(ax)[0]
    ax = new_axes(ax, width + 0.1, ROW * len(shown) + 0.9)
    bar = width / (len(shares) + SPACE * (len(shares) - 1))  # in inches, as all of x
    starts = np.arange(len(shares)) * (1 + SPACE) * bar
    for row, column in enumerate(shown):
        top, foot = row - HEADING - BAND / 2, row - HEADING + BAND / 2
        ax.fill_between([0, width], top, foot, color="0.95", lw=0, zorder=0)  # the heading is of all classes
        if column in emissions:
            _draw_numbers(ax, starts, row, tree.names[column], emissions[column], tables[column], bar)
            continue
        colors = _colors(int(tree.cards[column]))
        _draw_heading(ax, row - HEADING, tree, column, colors, width)
        for start, distribution in zip(starts, tables[column], strict=True):
            _draw_bar(ax, start, row, distribution * bar, colors)
    ax.set_xticks(starts + bar / 2, _class_labels(tree, at, shares), fontsize=SIZE)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_yticks([])
    ax.set_xlim(0, width)
    ax.set_ylim(len(shown) - 1 + BAR, -HEADING - 0.3)
    ax.spines[:].set_visible(False)
    ax.set_title(_title(tree, at, len(shown), len(columns)), loc="left", fontsize=11)
    return ax


def _hidden_node(tree: LatentTree | LatentNetwork, latent: Hashable | None) -> int:
    names = tree.latent_names
    if latent is None:
        if len(names) != 1:
            remedy = f"name one as latent: {', '.join(map(repr, names))}" if names else "there is nothing to draw"
            raise ValueError(f"the model has {counted(len(names), 'hidden variable')}; {remedy}")
        latent = names[0]
    if latent not in names:
        raise ValueError(f"latent is {latent!r}; give a hidden variable, one of {', '.join(map(repr, names))}")
    return tree.index(latent)


def _class_labels(tree: LatentTree | LatentNetwork, at: int, shares: np.ndarray) -> list[str]:
    """Return names and shares of the classes; numbers get a word before them."""
    words = [f"class {state}" if isinstance(state, (int, np.integer)) else state for state in tree.state_names[at]]
    return [f"{as_label(word, CATEGORY)}\n{share:.0%}" for word, share in zip(words, shares, strict=True)]


def _best_columns(tree: LatentTree | LatentNetwork, at: int) -> list[int]:
    """Return the observed nodes, the most informative about the classes first."""
    columns, binned = np.flatnonzero(~tree.latent), in_bins(tree) if isinstance(tree, LatentTree) else tree
    shares, tables = shares_and_conditionals(binned, at)
    information = [block_information(shares[:, None] * tables[node], [0], [0])[0, 0] for node in columns]
    return columns[np.argsort(-np.round(information, DECIMALS), kind="stable")].tolist()


def _colors(number: int) -> list:
    """Return a colour for each category, from dark to light, so that the order is visible without colour vision."""
    colormap = pyplot().get_cmap("viridis")
    return [colormap(place) for place in np.linspace(0.15, 0.95, number)] if number > 1 else [colormap(0.5)]


def _draw_bar(ax, left: float, row: int, widths: np.ndarray, colors: list) -> None:
    starts = left + np.cumsum(widths) - widths
    ax.barh(np.full(len(starts), row), widths, BAR, starts, color=colors, edgecolor="white", linewidth=0.6)
    for start, width, color in zip(starts, widths, colors, strict=True):
        text = f"{width / widths.sum():.0%}"
        if text_width(text, SHARE_SIZE) + 0.06 < width:
            ax.text(start + width / 2, row, text, size=SHARE_SIZE, ha="center", va="center", color=ink_on(color))


def _draw_numbers(
    ax, starts: np.ndarray, row: int, name: Hashable, emission: Emission, features: np.ndarray, bar: float
) -> None:
    """Draw mean and standard deviation of a number in every class, by its expected features there."""
    found = emission.parameters(features)
    spread = np.sqrt(found.variance)
    low, high = (found.mean - spread).min(), (found.mean + spread).max()
    unit = (1 - 2 * MARGIN) * bar / (high - low)
    places, height = starts + MARGIN * bar + (found.mean - low) * unit, row + BAR / 4
    ax.hlines(np.full(len(starts), height), starts, starts + bar, color="0.88", lw=4, zorder=1)  # one scale
    ax.errorbar(places, np.full(len(starts), height), xerr=spread * unit, fmt="o", ms=4, lw=1.2, color="0.3")
    ax.text(0, row - HEADING, as_label(name), size=SIZE, weight="bold", va="center")
    heading = 1.2 * text_width(as_label(name), SIZE) + 0.2
    ax.text(heading, row - HEADING, "mean ± standard deviation", size=SHARE_SIZE, va="center", color="0.2")
    for start, mean, sd in zip(starts, found.mean, spread, strict=True):
        digits = int(np.clip(1 - np.floor(np.log10(sd)), 0, MOST_DECIMALS))
        text = f"{mean:,.{digits}f} ± {sd:,.{digits}f}"
        if text_width(text, SHARE_SIZE) < bar:
            ax.text(start + bar / 2, row - BAR / 4, text, size=SHARE_SIZE, ha="center", va="center")


def _draw_heading(ax, height: float, tree: LatentTree | LatentNetwork, column: int, colors: list, width: float) -> None:
    """Write the name of a column above its bars, and its categories beside squares of their colours."""
    name, states = as_label(tree.names[column]), tree.state_names[column]
    ax.text(0, height, name, size=SIZE, weight="bold", va="center")
    x = _begin_of_categories(name)
    for at, (state, color) in enumerate(zip(states, colors, strict=True)):
        text, rest = as_label(state, CATEGORY), f"and {len(states) - at} more"
        end = x + SQUARE + text_width(text, SHARE_SIZE)
        if end + (0.2 + text_width(rest, SHARE_SIZE) if at < len(states) - 1 else 0.0) > width:
            ax.text(x, height, rest, size=SHARE_SIZE, va="center", color="0.35")
            return
        ax.plot(x + 0.05, height, marker="s", ms=5, color=color)
        ax.text(x + SQUARE, height, text, size=SHARE_SIZE, va="center", color="0.2")
        x = end + APART


def _heading_width(tree: LatentTree | LatentNetwork, column: int) -> float:
    """Return the inches that the name of a column and all of its categories need."""
    texts = [as_label(state, CATEGORY) for state in tree.state_names[column]]
    categories = sum(SQUARE + text_width(text, SHARE_SIZE) for text in texts) + APART * (len(texts) - 1)
    return _begin_of_categories(as_label(tree.names[column])) + categories


def _begin_of_categories(name: str) -> float:
    return 1.2 * text_width(name, SIZE) + 0.2  # bold letters are wider


def _title(tree: LatentTree | LatentNetwork, at: int, n_shown: int, n_columns: int) -> str:
    classes = f"{as_label(tree.names[at])}: {tree.cards[at]} class{'' if tree.cards[at] == 1 else 'es'}"
    if n_shown == n_columns:
        return classes
    return f"{classes}, by the {n_shown} of {n_columns} columns that tell them apart best"
