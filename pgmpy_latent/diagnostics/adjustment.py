"""P-values of several tests at once, adjusted for their number."""

from __future__ import annotations

import numpy as np


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values adjusted for their number by Holm's method; NaN stays NaN and does not count.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, np.nan, 0.5])).tolist()
    [0.03, 0.08, nan, 0.5]
    """
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    stepped = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def share_as_extreme(drawn: np.ndarray, observed: np.ndarray, slack: float = 0.0) -> np.ndarray:
    """Return the p-values of statistics by their values in tables drawn from the model: ``(1 + b) / (1 + B)``.

    Parameters
    ----------
    drawn : array, shape (B, n_tests)
        Statistics of the drawn tables, of which b are at least the observed one.
    observed : array, shape (n_tests,)
        Statistics of the table; NaN gives NaN.
    slack : float
        By how much a drawn value may fall short.

    Examples
    --------
    >>> share_as_extreme(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]), np.array([2.5, 8.0])).tolist()
    [0.5, 0.25]
    """
    beyond = (drawn >= observed - slack).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, (1 + beyond) / (1 + len(drawn)))


def smallest_of_all(drawn: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return p-values adjusted for their number by how small the smallest of all is in drawn tables.

    What Westfall and Young call single-step: the share of drawn tables in which the smallest of the p-values of all
    tests, by the same approximation, is at most the observed one. Tests that depend on each other cost less than by
    Holm's method, and few drawn tables are enough.

    Parameters
    ----------
    drawn : array, shape (B, n_tests)
        Approximate p-values of all tests in the drawn tables.
    observed : array, shape (n_tests,)
        Those of the table; NaN gives NaN.

    Examples
    --------
    >>> smallest_of_all(np.array([[0.5, 0.9], [0.2, 0.3], [0.01, 0.7]]), np.array([0.1, 0.3])).tolist()
    [0.5, 0.75]
    """
    least = np.fmin.reduce(drawn, axis=1, initial=np.inf) if drawn.size else np.empty(0)
    beyond = (least[:, None] <= observed).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, (1 + beyond) / (1 + len(drawn)))
