"""A picture of the loadings of a Gaussian tree."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.gaussian.loadings import loadings
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.plotting.axes import as_label, new_axes, text_width
from pgmpy_latent.runtime.settings import kind_in_words

#: Width and height of a cell in inches, and size of its number in points.
CELL, SIZE = (0.62, 0.26), 8.0
#: Size of a loading from which its number is white.
DARK = 0.6


def plot_loadings(model, *, ax=None):
    """Draw the correlations of all columns with all hidden variables of a Gaussian tree, as a heat map.

    Blue loadings are positive, red ones negative. Columns are in the order of the hidden variables that they are next
    to, those with the largest loadings first; the cells of these pairs are framed.

    Parameters
    ----------
    model : GaussianTree, or a fitted learner that has one
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> tree = GaussianTree(["H", *"abc"], [-1, 0, 0, 0], [True] + [False] * 3, [0.0, 0.8, -0.7, 0.9])
    >>> ax = plot_loadings(tree)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['c', 'a', 'b']
    """
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, GaussianTree):
        raise TypeError(f"expected a GaussianTree or a learner of one, got {kind_in_words(model)}; see plot_profiles")
    if not tree.latent_names:
        raise ValueError("this tree has no hidden variables, and so no loadings; plot_tree draws it")
    found, nearest = loadings(tree), _nearest(tree)
    values = found.to_numpy()
    own = np.abs(values[np.arange(len(values)), np.maximum(nearest, 0)])
    order = np.lexsort((-own, np.where(nearest < 0, values.shape[1], nearest)))
    names = [as_label(found.index[at]) for at in order]
    width = max(text_width(name, SIZE + 1) for name in names) + CELL[0] * values.shape[1] + 1.2
    ax = new_axes(ax, width, CELL[1] * len(values) + 1.0)
    image = ax.imshow(values[order], cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    for row, at in enumerate(order.tolist()):
        for column, value in enumerate(values[at].tolist()):
            color = "white" if abs(value) >= DARK else "black"
            bold = "bold" if column == nearest[at] else "normal"
            text = f"{value:.2f}".replace("-", "−")
            ax.text(column, row, text, ha="center", va="center", size=SIZE, color=color, weight=bold)
            if column == nearest[at]:
                ax.add_patch(_frame(column, row))
    ax.set_yticks(range(len(names)), names, size=SIZE + 1)
    ax.set_xticks(range(values.shape[1]), [as_label(name, 24) for name in found.columns], size=SIZE + 1)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, label="loading", shrink=0.8)
    ax.set_title("Loadings", loc="left", fontsize=11)
    return ax


def _nearest(tree: GaussianTree) -> np.ndarray:
    """Return the place of the hidden variable next to each column with the largest loading; -1 if there is none."""
    place = {node: at for at, node in enumerate(np.flatnonzero(tree.latent).tolist())}
    found = []
    for name in tree.observed_names:
        around = {tree.index(other): abs(value) for other, value in tree.neighbours(name).items()}
        beside = [node for node in around if tree.latent[node]]
        found.append(place[max(beside, key=around.__getitem__)] if beside else -1)
    return np.array(found)


def _frame(column: int, row: int):
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, ec="0.2", lw=1.2)
