"""A picture of how people move between hidden states over time."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.plotting.axes import as_label, ink_on, legend_beside, new_axes, pyplot
from pgmpy_latent.runtime.settings import kind_in_words

#: Half the width of a bar, where times are one apart; and points along a band.
HALF, POINTS = 0.12, 40
#: Inches per time, and the least share that is written into a bar.
STEP, WRITTEN = 1.4, 0.06


def plot_transitions(found, *, ax=None):
    """Draw the shares of the hidden states at every time as bars, and who moves where as bands between them.

    The width of a band is the share of all people who are in one state at a time and in the other at the next.

    Parameters
    ----------
    found : LatentTransition
        What :func:`pgmpy_latent.latent_transition` returns.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import latent_transition
    >>> table = pd.DataFrame({"id": [1, 1, 2, 2, 3, 3], "wave": [1, 2] * 3, "x": [0, 0, 1, 1, 0, 1]})
    >>> ax = plot_transitions(latent_transition(table, "id", "wave", ["x"], n_states=2, random_state=0))
    >>> ax.get_title(loc="left")
    '2 hidden states at 2 times'
    """
    if not hasattr(found, "transitions_") or not hasattr(found, "shares_"):
        raise TypeError(f"found is {kind_in_words(found)}; give what latent_transition returns")
    shares, moves = found.shares_, found.transitions_.to_numpy()
    n_times, n_states = shares.shape
    tables = moves.reshape(-1, n_states, n_states)
    ax = new_axes(ax, STEP * n_times + 1.6, 4.2)
    colormap = pyplot().get_cmap("viridis")
    colors = [colormap(place) for place in np.linspace(0.15, 0.9, n_states)]
    for at in range(n_times - 1):
        _draw_bands(ax, at, shares.iloc[at].to_numpy()[:, None] * tables[at if len(tables) > 1 else 0], colors)
    for at, share in enumerate(shares.to_numpy()):
        begins = np.cumsum(share) - share
        for state, (begin, size) in enumerate(zip(begins, share, strict=True)):
            label = f"state {as_label(shares.columns[state])}" if at == 0 else None
            ax.bar(at, size, 2 * HALF, begin, color=colors[state], edgecolor="white", linewidth=0.6, label=label)
            if size >= WRITTEN:
                color = ink_on(colors[state])
                ax.text(at, begin + size / 2, f"{size:.0%}", ha="center", va="center", size=7.5, color=color)
    ax.set_xticks(range(n_times), [as_label(time) for time in shares.index])
    ax.set_xlabel(as_label(shares.index.name))
    ax.set_ylabel("share of people")
    ax.set_ylim(0, 1)
    ax.spines[["top", "right"]].set_visible(False)
    legend_beside(ax)
    ax.set_title(f"{n_states} hidden state{'s' * (n_states != 1)} at {n_times} times", loc="left", fontsize=11)
    return ax


def _draw_bands(ax, at: int, joint: np.ndarray, colors: list) -> None:
    """Draw bands from the bars of one time to those of the next; ``joint[i, j]`` of all people go from i to j."""
    begin, end = np.cumsum(joint.sum(axis=1)) - joint.sum(axis=1), np.cumsum(joint.sum(axis=0)) - joint.sum(axis=0)
    along = np.linspace(0, 1, POINTS)
    bent = along**2 * (3 - 2 * along)
    x = at + HALF + along * (1 - 2 * HALF)
    for before in range(len(joint)):
        for after in range(len(joint)):
            width = joint[before, after]
            low = begin[before] + (end[after] - begin[before]) * bent
            ax.fill_between(x, low, low + width, color=colors[before], alpha=0.35, linewidth=0)
            begin[before] += width
            end[after] += width
