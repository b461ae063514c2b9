"""Pictures of searches, and of models of different sizes."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent.learners.sampled_search import of_search
from pgmpy_latent.plotting.axes import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILION,
    as_label,
    check_is_frame,
    legend_beside,
    lighten,
    new_axes,
)
from pgmpy_latent.runtime.configured import fill_docstring, settings_in_force
from pgmpy_latent.runtime.settings import kind_in_words, word_list
from pgmpy_latent.scores import SCORES, drawn_scores

#: Colours and marks of lines, in their order; both differ.
LINES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"), (PURPLE, "v"), (BLACK, "P"))
#: Characters of a line of explanation.
WRAP = 80
#: Units below the best score down to which the axis of a comparison is linear; a difference of 10 is decisive.
LINEAR = 10.0


def plot_history(*learners, labels: Sequence[str] | None = None, ax=None):
    """Draw the score of searches against the seconds they took.

    Parameters
    ----------
    *learners : fitted learners
        Each has a ``history_``. Compare only scores of the same kind, on the same table. Of a search on a sample of
        the rows, the scores are those of the sample.
    labels : sequence of str, optional
        What to call them; by default the names of their classes.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A staircase for each learner, with a mark at every accepted step; larger is better.

    Examples
    --------
    >>> from pgmpy_latent import SplitMerge, datasets, presets
    >>> survey = datasets.load_anes96().iloc[:, :4]
    >>> tunings = [presets.SPLIT_MERGE, presets.SPLIT_MERGE.replace(merge=False)]
    >>> learners = [SplitMerge(random_state=0, tuning=tuning).fit(survey) for tuning in tunings]
    >>> ax = plot_history(*learners, labels=["split and merge", "split"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['split and merge', 'split']
    """
    if not learners:
        raise ValueError("there is nothing to draw; give at least one fitted learner")
    for learner in learners:
        if not hasattr(learner, "fit"):
            raise TypeError(f"expected fitted learners, got {kind_in_words(learner)}; give learners with a history_")
        check_is_fitted(learner, "history_")
    if labels is not None and len(labels) != len(learners):
        raise ValueError(f"there are {len(labels)} labels for {len(learners)} learners; give one for each")
    names = _class_names(learners) if labels is None else labels
    ax = new_axes(ax, 7.0, 4.2)
    lines = []
    for at, learner in enumerate(learners):
        color, marker = LINES[at % len(LINES)]
        history = of_search(learner.history_)
        seconds, scores = history["seconds"], history["score"]
        lines += ax.plot(seconds, scores, color=color, marker=marker, ms=4, lw=1.2, drawstyle="steps-post")
    ax.ticklabel_format(axis="y", style="plain", useOffset=False)
    ax.set_ylabel(_score_words(learners))
    ax.set_xlabel("seconds")
    ax.set_xlim(*_limits([time for learner in learners for time in of_search(learner.history_)["seconds"]]))
    legend_beside(ax, lines, [as_label(name) for name in names])
    lighten(ax)
    return ax


def _limits(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the range of an axis of seconds: from 0, unless all steps fall into its second half.

    Examples
    --------
    >>> _limits([0.0, 10.0]), _limits([8.0, 10.0])
    ((0.0, 10.5), (7.9, 10.1))
    """
    first, last = (float(min(seconds)), float(max(seconds))) if len(seconds) else (0.0, 1.0)
    margin = 0.05 * (last - first or last or 1.0)
    return (0.0, last + margin) if first <= last / 2 or first == last else (first - margin, last + margin)


def _score_words(learners: Sequence) -> str:
    """Return the name of the score that the learners maximise, if they agree."""
    kinds = {settings_in_force(learner).get("scoring_method", "bic") for learner in learners}
    kind = kinds.pop()
    if kinds or not isinstance(kind, str):
        return "score"
    return f"score ({_title(kind)})"


def _title(name: str) -> str:
    """Return what a score, or another column of a comparison, is called."""
    return SCORES[name].title if name in SCORES else name.replace("_", " ")


def _class_names(learners: Sequence) -> list[str]:
    """Return the names of the learners' classes, numbered where one occurs twice."""
    names = [type(learner).__name__ for learner in learners]
    several = Counter(names)
    seen: Counter[str] = Counter()
    for at, name in enumerate(names):
        seen[name] += 1
        if several[name] > 1:
            names[at] = f"{name} {seen[name]}"
    return names


@fill_docstring(scores=word_list([f"``{name}``" for name in drawn_scores()], "and"))
def plot_comparison(table: pd.DataFrame, criteria: Sequence[str] | None = None, *, ax=None):
    """Draw how far the scores of models are below their best, against the numbers of classes.

    Scores differ by amounts that say nothing, as they charge differently for parameters; so every curve is measured
    from its own best, which is filled. Close to it the axis is linear, and farther down logarithmic: a difference of a
    few units can be read beside one of thousands. The recommended number of classes is marked.

    Parameters
    ----------
    table : DataFrame
        As :func:`pgmpy_latent.compare_classes` returns it.
    criteria : sequence of str, optional
        Which of its columns to draw; by default {scores}.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Higher is better.

    Examples
    --------
    >>> table = pd.DataFrame({"best": [False, True, False], "bic": [-90.0, -80.0, -85.0], "aic": [-88.0, -75.0, -74.0]},
    ...                      index=pd.Index([1, 2, 3], name="n_classes"))
    >>> table.attrs["reason"] = "It has the best BIC."
    >>> print(plot_comparison(table).get_title(loc="left"))
    2 classes are recommended
    It has the best BIC.
    """
    check_is_frame(table, "compare_classes(X)")
    drawn = [name for name in drawn_scores() if name in table.columns] if criteria is None else list(criteria)
    unknown = [name for name in drawn if name not in table.columns]
    if unknown or not drawn:
        usual = ", ".join(map(repr, drawn_scores()))
        what = f"no column {unknown[0]!r}" if unknown else f"none of the columns {usual}"
        raise ValueError(f"the table has {what}; give a table of compare_classes, and criteria that are columns of it")
    ax = new_axes(ax, 7.0, 4.6)
    recommended = _recommended(table)
    if recommended is not None:
        ax.axvline(recommended, color="0.85", lw=8, zorder=0)
    sizes = table.index.to_numpy()
    tops = [table[name].idxmax() if table[name].notna().any() else None for name in drawn]
    for at, (name, top) in enumerate(zip(drawn, tops, strict=True)):
        color, marker = LINES[at % len(LINES)]
        below = table[name] - table[name].max()
        ax.plot(sizes, below, color=color, marker=marker, mfc="white", lw=1.2, label=_title(name))
        if top is not None:
            ax.plot(top, 0.0, color=color, marker=marker, ms=8 + 4 * tops[at + 1 :].count(top))  # others lie upon it
    ax.set_xticks(sizes)
    ax.set_xlabel("number of classes")
    _scale_of_differences(ax, float((table[drawn].max() - table[drawn].min()).max()))
    legend_beside(ax)
    lighten(ax)
    if recommended is not None:
        title = f"{recommended} class{' is' if recommended == 1 else 'es are'} recommended"
        reason = table.attrs.get("reason")
        lines = textwrap.wrap(as_label(reason, len(reason)), WRAP) if reason else []
        ax.set_title("\n".join([title, *lines]), loc="left", fontsize=10)
    return ax


def _scale_of_differences(ax, largest: float) -> None:
    """Make the vertical axis one of differences from the best, the largest of which is given."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    largest = max(largest, LINEAR) if largest > 0 else LINEAR  # NaN where there is no score
    powers = 10.0 ** np.arange(1, np.ceil(np.log10(largest)) + 1)
    ticks = [0.0, 5.0, *(step * power for power in powers for step in (1, 2, 5))]
    ax.set_yscale("symlog", linthresh=LINEAR, linscale=1.0)
    ax.yaxis.set_major_locator(FixedLocator([-value for value in ticks if value <= largest]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"−{-value:,.0f}" if value else "best"))
    ax.set_ylim(-1.25 * largest, 1.0)
    ax.set_ylabel("score below its best")


def _recommended(table: pd.DataFrame) -> int | None:
    """Return the recommended number of classes, if the table has it."""
    if "recommended" in table.attrs:
        return int(table.attrs["recommended"])
    if "best" in table.columns and table["best"].any():
        return int(table.index[table["best"]][0])
    return None
