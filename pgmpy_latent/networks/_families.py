"""Scores of families, from the counts of their tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import gammaln, xlogy


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


def bdeu_score(counts: np.ndarray, total: float, equivalent_sample_size: float = 1.0) -> float:
    """Return the log marginal likelihood of a family whose prior counts are spread evenly over the table.

    Examples
    --------
    >>> round(bdeu_score(np.array([[1.0, 1.0]]), 2.0, 2.0), 4)
    -1.7918
    """
    cell, row = equivalent_sample_size / counts.size, equivalent_sample_size / len(counts)
    rows = gammaln(row) - gammaln(row + counts.sum(axis=1))
    return float(rows.sum() + (gammaln(cell + counts) - gammaln(cell)).sum())


#: Scoring method -> score of a family's counts, given the sum of all weights.
FAMILY_SCORES: dict[str, Callable[..., float]] = {"bic": bic_score, "bdeu": bdeu_score}


def family_score(scoring_method: str, equivalent_sample_size: float) -> Callable[[np.ndarray, float], float]:
    """Return the score of a family's counts.

    Examples
    --------
    >>> round(family_score("bdeu", 2.0)(np.array([[1.0, 1.0]]), 2.0), 4)
    -1.7918
    """
    if scoring_method == "bdeu":
        return partial(bdeu_score, equivalent_sample_size=equivalent_sample_size)
    return FAMILY_SCORES[scoring_method]
