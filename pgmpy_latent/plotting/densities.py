"""A picture of a numeric column: its density given every state of its parent."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.operators import marginals
from pgmpy_latent.plotting.axes import as_label, legend_beside, lighten, new_axes, pyplot
from pgmpy_latent.plotting.models import tree_of

#: Points along a curve, and standard deviations beyond the outermost means that are shown.
POINTS, BEYOND = 400, 3.5


def plot_densities(model, column: Hashable, *, ax=None):
    """Draw the density of a numeric column given every state of its parent, each times the share of the state.

    The grey curve is their sum, the density of the column itself. Counts are drawn as points.

    Parameters
    ----------
    model : LatentTree or fitted learner
        With numeric columns.
    column : hashable
        One of them.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import RandomStarts
    >>> frame = pd.DataFrame({"x": [0.1, 0.4, 5.2, 5.9, 0.2], "y": [1.1, 1.4, 3.2, 2.9, 1.7]})
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(frame, kinds="auto")
    >>> ax = plot_densities(learner, "x")
    >>> ax.get_xlabel(), len(ax.lines)
    ('x', 3)
    """
    tree = tree_of(model)
    node = tree.index(column)
    emission = emissions_of(tree).get(node)
    if emission is None:
        raise DataError(f"column {column!r} has categories; plot_profiles draws these")
    found, above = emission.parameters(tree.tables[node]), int(tree.parent[node])
    share = marginals(tree)[above] if above >= 0 else np.ones(1)
    reach = BEYOND * np.sqrt(found.variance)
    low, high = float((found.mean - reach).min()), float((found.mean + reach).max())
    values = np.linspace(low, high, POINTS) if emission.is_gaussian else np.arange(max(0, np.floor(low)), high + 1)
    densities = np.exp(emission.log_densities(values, tree.tables[node])) * share
    ax = new_axes(ax, 6.4, 3.6)
    style = {} if emission.is_gaussian else {"marker": "o", "markersize": 3, "linewidth": 0.6}
    ax.plot(values, densities.sum(axis=1), color="0.6", label="all", **style)
    colormap = pyplot().get_cmap("viridis")
    states = tree.state_names[above] if above >= 0 else ("",)
    for at, (state, density) in enumerate(zip(states, densities.T, strict=True)):
        color = colormap(0.15 + 0.75 * at / max(len(share) - 1, 1))
        label = f"{as_label(tree.names[above])} = {as_label(state)}" if above >= 0 else as_label(column)
        ax.plot(values, density, color=color, label=label, **style)
    ax.set_xlabel(as_label(column))
    ax.set_ylabel("density" if emission.is_gaussian else "probability")
    ax.set_ylim(bottom=0)
    lighten(ax)
    legend_beside(ax)
    return ax
