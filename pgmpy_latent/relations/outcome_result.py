"""What relate says about an outcome: means or shares by class, and tests of their differences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from pgmpy_latent.relations.covariate_result import ALL, method_words, rows_words
from pgmpy_latent.relations.outcomes import CategoricalPart, NormalPart, OutcomePart
from pgmpy_latent.relations.wald import P_COLUMNS, holm, reach, share_limits, wald_test
from pgmpy_latent.runtime.warn import warn


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeRelation:
    """How an outcome differs between classes, by :func:`relate`; printed, it shows means or shares, and tests.

    Attributes
    ----------
    means : DataFrame
        A row per class: ``class``, ``size``, ``mean``, ``standard_error``, ``lower``, ``upper``; for normal outcomes
        ``standard_deviation``. Categorical outcomes have a row per class and ``category``, with ``share`` in place of
        ``mean``. ``note`` says what was done about shares and variances that came out negative, and is empty otherwise.
    tests : DataFrame
        Wald tests of "the outcome is the same in these classes": of all, in the first row, and of every pair:
        ``class``, ``other``, ``difference`` (of means, or of the shares of the second of two categories),
        ``standard_error``, ``wald``, ``df``, ``p_value``, and ``p_holm``, adjusted for the number of pairs.
    log_likelihood : float
        Of columns and outcome (two steps), or of assigned classes and outcome (three steps); NaN for BCH.
    n_rows, n_rows_left_out : int
        Rows that were used, and rows without a value of z or without any known column, which no step uses.
    steps, correction, assignment
        The method.
    outcome : hashable
        Name of the outcome.
    family : {"normal", "categorical", "count"}
        Its distribution in a class.
    covariance : array
        Of the estimates: of all means, or of all shares class by class. NaN where a share is at the boundary.
    level, degrees_of_freedom : float
        Of the intervals; infinite for rows that were drawn one by one.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts, datasets, relate
    >>> survey = datasets.load_anes96()
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(survey[["vote", "PID", "selfLR", "ClinLR"]])
    >>> found = relate(learner, survey, pd.Series(survey["age"].cat.codes, name="age"), "outcome", correction="bch")
    >>> found.means["class"].tolist(), found.family
    ([0, 1], 'normal')
    """

    means: pd.DataFrame
    tests: pd.DataFrame
    log_likelihood: float
    n_rows: int
    n_rows_left_out: int
    steps: int
    correction: str | None
    assignment: str
    outcome: Hashable
    family: str
    covariance: np.ndarray
    level: float
    degrees_of_freedom: float

    def __repr__(self) -> str:
        head = (
            f"{self.outcome} by class ({self.family}): {method_words(self.steps, self.correction, self.assignment)}; "
        )
        head += rows_words(self.n_rows, self.n_rows_left_out)
        shown = self.means if self.means["note"].any() else self.means.drop(columns="note")
        table = shown.to_string(index=False, float_format=lambda number: f"{number:.4f}")
        tests = self.tests.to_string(index=False, float_format=lambda number: f"{number:.4f}", formatters=P_COLUMNS)
        return f"{head}\n{table}\n\n{tests}"


def mean_table(
    part: OutcomePart,
    theta: np.ndarray,
    covariance: np.ndarray,
    classes: Sequence[Hashable],
    sizes: np.ndarray,
    level: float,
    freedom: float,
) -> pd.DataFrame:
    """Return means or shares by class. See :class:`OutcomeRelation`.

    Examples
    --------
    >>> from pgmpy_latent.relations.outcomes import CountPart
    >>> part = CountPart(np.array([0.0, 4.0]), 2)
    >>> table = mean_table(part, np.array([1.0, 3.0]), np.eye(2), ["a", "b"], np.array([0.5, 0.5]), 0.95, np.inf)
    >>> table[["class", "mean", "standard_error"]].values.tolist()
    [['a', 1.0, 1.0], ['b', 3.0, 1.0]]
    """
    n = part.n_classes
    if isinstance(part, CategoricalPart):
        table = _share_table(part, theta, classes, sizes)
    else:
        table = pd.DataFrame({"class": list(classes), "size": sizes, "mean": theta[:n]})
    table["standard_error"] = np.sqrt(np.diag(covariance)[: len(table)])
    middle = table["share" if isinstance(part, CategoricalPart) else "mean"].to_numpy()
    errors, spread = table["standard_error"].to_numpy(), reach(level, freedom)
    table["lower"], table["upper"] = middle - spread * errors, middle + spread * errors
    if isinstance(part, CategoricalPart):
        table["lower"], table["upper"] = share_limits(middle, errors, spread)
        table["note"] = table.pop("note")
    elif isinstance(part, NormalPart):
        with np.errstate(invalid="ignore"):
            table["standard_deviation"] = np.sqrt(theta[n:])
        table["note"] = [f"variance came out as {v:.4g}" if v < 0 else "" for v in theta[n:]]
    else:
        table["note"] = ["mean came out negative" if mean < 0 else "" for mean in theta[:n]]
    if table["note"].any():
        warn(
            f"BCH weights of some rows are negative, and so came out {int((table['note'] != '').sum())} shares or "
            'variances, as the column note says. Use correction="ml" or steps=2, or fewer classes or categories.'
        )
    return table


def _share_table(part: CategoricalPart, theta: np.ndarray, classes: Sequence, sizes: np.ndarray) -> pd.DataFrame:
    """Return shares by class and category; negative ones become zero, and the others of their class sum to one."""
    raw = theta.reshape(part.n_classes, -1)
    shares = np.maximum(raw, 0.0)
    shares = shares / shares.sum(axis=1, keepdims=True)
    labels = [(name, category) for name in classes for category in part.categories]
    table = pd.DataFrame(labels, columns=["class", "category"])
    table["size"] = np.repeat(sizes, len(part.categories))
    table["share"] = shares.ravel()
    table["note"] = [f"came out as {share:.4g}" if share < 0 else "" for share in raw.ravel()]
    return table


def difference_table(part: OutcomePart, theta: np.ndarray, covariance: np.ndarray, classes: Sequence) -> pd.DataFrame:
    """Return Wald tests of all classes and of every pair. See :class:`OutcomeRelation`.

    Examples
    --------
    >>> from pgmpy_latent.relations.outcomes import CountPart
    >>> part = CountPart(np.array([0.0, 4.0]), 2)
    >>> table = difference_table(part, np.array([1.0, 3.0]), np.eye(2) / 2, ["a", "b"])
    >>> table[["class", "other", "wald", "df"]].values.tolist()
    [['(all)', '', 4.0, 1], ['a', 'b', 4.0, 1]]
    """
    n = part.n_classes
    width = len(part.categories) if isinstance(part, CategoricalPart) else 1
    kept = np.arange(1, width) if width > 1 else np.arange(1)  # the first share is what the others leave
    pairs = list(combinations(range(n), 2))

    def contrast(first: int, second: int) -> np.ndarray:
        rows = np.zeros((len(kept), len(covariance)))
        rows[np.arange(len(kept)), first * width + kept] = 1
        rows[np.arange(len(kept)), second * width + kept] = -1
        return rows

    known = np.nan_to_num(covariance)
    estimates = theta[: len(covariance)]
    overall = np.concatenate([contrast(0, other) for other in range(1, n)])
    lines = []
    for names, rows in [((ALL, ""), overall), *(((classes[a], classes[b]), contrast(a, b)) for a, b in pairs)]:
        statistic, freedom, p_value = wald_test(rows @ estimates, rows @ known @ rows.T)
        single = len(rows) == 1 and names[0] is not ALL
        difference = float(rows[0] @ estimates) if single else np.nan
        error = float(np.sqrt(rows[0] @ known @ rows[0])) if single else np.nan
        lines.append((*names, difference, error, statistic, freedom, p_value))
    table = pd.DataFrame(lines, columns=["class", "other", "difference", "standard_error", "wald", "df", "p_value"])
    table["p_holm"] = [np.nan, *holm(table["p_value"].to_numpy()[1:])]
    return table
