"""Scores of families, from the counts of their tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import gammaln, xlogy

#: Name of a score of families -> its pseudo-count of every table entry by default.
PSEUDO_COUNTS = {"bde": 0.5, "bic": 0.0}


def bic_score(counts: np.ndarray, total: float) -> float:
    """Return the log-likelihood of a table's best parameters, minus half the logarithm of the rows for each of them.

    Parameters
    ----------
    counts : array, shape (combinations of the parents' states, states)
        The counts of the family.
    total : float
        Sum of the weights of all rows.

    Examples
    --------
    >>> round(bic_score(np.array([[3.0, 1.0], [0.0, 4.0]]), 8.0), 4)
    -4.3288
    """
    n_rows, n_states = counts.shape
    sums = counts.sum(axis=1)
    return float(xlogy(counts, counts).sum() - xlogy(sums, sums).sum() - n_rows * (n_states - 1) / 2 * np.log(total))


def bde_score(counts: np.ndarray, total: float, prior: float) -> float:
    """Return the log marginal likelihood of a family with the same prior count for every entry of the table.

    Examples
    --------
    >>> round(bde_score(np.array([[1.0, 1.0]]), 2.0, 1.0), 4)
    -1.7918
    """
    row = prior * counts.shape[1]
    rows = gammaln(row) - gammaln(row + counts.sum(axis=1))
    return float(rows.sum() + (gammaln(prior + counts) - gammaln(prior)).sum())


def family_score(scoring_method: str, prior: float) -> Callable[[np.ndarray, float], float]:
    """Return the score of a family's counts, given the sum of all weights.

    Examples
    --------
    >>> round(family_score("bde", 1.0)(np.array([[1.0, 1.0]]), 2.0), 4)
    -1.7918
    """
    return partial(bde_score, prior=prior) if scoring_method == "bde" else bic_score
