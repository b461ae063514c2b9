"""A picture of what differs between groups."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from pgmpy_latent.plotting.axes import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILION,
    as_label,
    legend_beside,
    lighten,
    new_axes,
)
from pgmpy_latent.runtime.settings import kind_in_words

#: Colours and marks of the classes, so that they can be told apart without colour vision.
COLORS, MARKS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, BLACK), "osD^vPX*"
#: Inches per group, and least and greatest width.
GROUP, NARROWEST, WIDEST = 1.1, 4.5, 12.0


def plot_groups(comparison, item: Hashable | None = None, *, category=None, rung: str | None = None, ax=None):
    """Draw the sizes of the classes, or the probability of an answer in each class, by group.

    Groups stand side by side, with a line for each class. Lines that are level say that groups do not differ.

    Parameters
    ----------
    comparison : GroupComparison
        What :func:`pgmpy_latent.compare_groups` returns.
    item : name, optional
        The item whose probabilities are drawn; by default the sizes of the classes.
    category : optional
        The category of the item; the last one by default.
    rung : str, optional
        Which of the models; the recommended one by default.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pgmpy_latent import compare_groups, datasets
    >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
    >>> found = compare_groups(survey, "vote", 2, n_starts=4, show_progress=False)
    >>> plot_groups(found).get_ylabel(), plot_groups(found, "PID").get_ylabel()
    ('share of the group', 'P(PID = Strong Republican)')
    """
    if not hasattr(comparison, "profiles") or not hasattr(comparison, "models"):
        raise TypeError(f"comparison is {kind_in_words(comparison)}; give what compare_groups(X, group, n) returns")
    values, label = _values(comparison.profiles(rung), item, category)
    groups = list(dict.fromkeys(group for group, _ in values.index))
    by_class = values.to_numpy().reshape(len(groups), -1).T
    ax = new_axes(ax, min(max(GROUP * len(groups) + 1.5, NARROWEST), WIDEST), 3.4)
    for number, line in enumerate(by_class):
        color, mark = COLORS[number % len(COLORS)], MARKS[number % len(MARKS)]
        ax.plot(np.arange(len(groups)), line, mark, ls="-", color=color, label=f"class {values.index[number][1]}")
    ax.set_xticks(np.arange(len(groups)), [as_label(group, 24) for group in groups])
    ax.set_xlim(-0.4, len(groups) - 0.6)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel(as_label(comparison.group))
    ax.set_ylabel(label)
    lighten(ax)
    legend_beside(ax, fontsize=8)
    ax.set_title(comparison.recommended if rung is None else rung, loc="left", fontsize=11)
    return ax


def _values(profiles: pd.DataFrame, item: Hashable | None, category) -> tuple[pd.Series, str]:
    """Return what is drawn, for every pair (group, class), and what it is called."""
    if item is None:
        return profiles.iloc[0], "share of the group"
    categories = [state for name, state in profiles.index[1:] if name == item]
    if not categories:
        items = list(dict.fromkeys(name for name, _ in profiles.index[1:]))
        raise ValueError(f"item is {item!r}; give one of {', '.join(map(repr, items))}")
    category = categories[-1] if category is None else category
    if category not in categories:
        raise ValueError(f"category is {category!r}; give one of {', '.join(map(repr, categories))}")
    place = 1 + [tuple(pair) for pair in profiles.index[1:]].index((item, category))
    return profiles.iloc[place], f"P({as_label(item)} = {as_label(category)})"
