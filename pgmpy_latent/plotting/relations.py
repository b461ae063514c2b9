"""Pictures of relations: class sizes against a covariate, and an outcome by class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmpy_latent.plotting.axes import as_label, legend_beside, lighten, new_axes
from pgmpy_latent.plotting.progress import LINES
from pgmpy_latent.relations.covariate_result import CovariateRelation
from pgmpy_latent.relations.outcome_result import OutcomeRelation
from pgmpy_latent.runtime.settings import kind_in_words

#: Opacity of intervals, and the width of the band in which the classes of a category stand side by side.
FAINT, BAND = 0.15, 0.4


def plot_class_sizes(relation, covariate: Hashable | None = None, values: Sequence | None = None, *, ax=None):
    """Draw predicted class sizes against a covariate, with their intervals.

    Parameters
    ----------
    relation : CovariateRelation
        What ``relate(learner, table, z)`` returns.
    covariate : hashable, optional
        Which; need not be given if there is only one.
    values : sequence, optional
        Its values; by default 25 between the smallest and the largest, or all categories.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A line per class, with a band for its interval; for categories, a mark with a bar.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import RandomStarts, datasets, relate
    >>> survey = datasets.load_anes96()
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(survey[["vote", "PID", "selfLR", "ClinLR"]])
    >>> ax = plot_class_sizes(relate(learner, survey, pd.Series(survey["income"].cat.codes, name="income")))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('income', 'class size')
    """
    if not isinstance(relation, CovariateRelation):
        raise TypeError(f"relation is {kind_in_words(relation)}; give what relate(learner, table, z) returns")
    table = relation.class_sizes(covariate, values)
    ax = new_axes(ax, 7.0, 4.2)
    numeric = table["value"].map(lambda value: isinstance(value, (int, float, np.number))).all()
    for at, name in enumerate(relation.classes):
        lines = table[table["class"] == name]
        _draw(ax, at, len(relation.classes), lines["value"].tolist(), lines, "size", name, bool(numeric))
    ax.set_xlabel(as_label(table.attrs["covariate"]))
    ax.set_ylabel("class size")
    ax.set_ylim((0, 1) if numeric else (-0.03, 1.03))  # marks at 0 and 1 are whole
    _finish(ax, relation.latent)
    return ax


def plot_outcome(relation, *, ax=None):
    """Draw means or shares of an outcome by class, with their intervals.

    Parameters
    ----------
    relation : OutcomeRelation
        What ``relate(learner, table, z, "outcome")`` returns.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A mark with a bar per class; for categories, one per category and class.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import RandomStarts, datasets, relate
    >>> survey = datasets.load_anes96()
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(survey[["vote", "PID", "selfLR", "ClinLR"]])
    >>> ax = plot_outcome(relate(learner, survey, pd.Series(survey["income"].cat.codes, name="income"), "outcome"))
    >>> ax.get_ylabel()
    'mean of income'
    """
    if not isinstance(relation, OutcomeRelation):
        raise TypeError(
            f'relation is {kind_in_words(relation)}; give what relate(learner, table, z, "outcome") returns'
        )
    ax = new_axes(ax, 7.0, 4.2)
    table = relation.means
    if "category" in table.columns:
        classes = list(dict.fromkeys(table["class"]))
        for at, name in enumerate(classes):
            lines = table[table["class"] == name]
            _draw(ax, at, len(classes), lines["category"].tolist(), lines, "share", name, numeric=False)
        ax.set_xlabel(as_label(relation.outcome))
        ax.set_ylabel("share in the class")
        ax.set_ylim(-0.03, 1.03)  # marks at 0 and 1 are whole
        _finish(ax, "class")
    else:
        _draw(ax, 0, 1, table["class"].tolist(), table, "mean", "", numeric=False)
        ax.set_xlabel("class")
        ax.set_ylabel(f"mean of {as_label(relation.outcome)}")
        lighten(ax)
    return ax


def _draw(ax, at: int, n_lines: int, values: list, lines, what: str, name: Hashable, numeric: bool) -> None:
    """Draw a line with a band, or marks with bars beside those of the other lines."""
    color, marker = LINES[at % len(LINES)]
    middle = lines[what].to_numpy()
    lower, upper = lines["lower"].to_numpy(), lines["upper"].to_numpy()
    if numeric:
        ax.plot(values, middle, color=color, lw=1.6, label=as_label(name))
        ax.fill_between(values, lower, upper, color=color, alpha=FAINT, lw=0)
        return
    places = np.arange(len(values)) + BAND * ((at + 0.5) / n_lines - 0.5)
    bars = np.nan_to_num(np.stack([middle - lower, upper - middle]))
    ax.errorbar(places, middle, bars, color=color, marker=marker, ls="none", capsize=3, label=as_label(name))
    ax.set_xticks(np.arange(len(values)), [as_label(value) for value in values])


def _finish(ax, title: Hashable) -> None:
    legend_beside(ax, title=as_label(title))
    lighten(ax)
