"""Wald tests and intervals of estimates with a covariance."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit
from scipy.stats import chi2
from scipy.stats import t as student

#: Eigenvalues of a covariance below this share of the largest count as zero.
FLAT = 1e-10
#: Smallest p-value that is printed as it is.
SMALLEST_P = 1e-4


def wald_test(estimates: np.ndarray, covariance: np.ndarray) -> tuple[float, int, float]:
    """Return the Wald statistic of "all of these are zero", its degrees of freedom, and the p-value.

    The statistic is ``e' inv(V) e``. Directions without variance are left out; parameters at the boundary, whose
    variance is NaN, count as known.

    Examples
    --------
    >>> statistic, freedom, p_value = wald_test(np.array([2.0, 0.0]), np.eye(2))
    >>> statistic, freedom, round(p_value, 4)
    (4.0, 2, 0.1353)
    """
    covariance = np.nan_to_num(covariance)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(scale > 0, scale, 1.0)  # units of covariates do not matter
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    informed = values > FLAT * max(values.max(initial=0.0), np.finfo(np.float64).tiny)
    along = vectors[:, informed].T @ (estimates / scale)
    statistic, freedom = float((along**2 / values[informed]).sum()), int(informed.sum())
    return statistic, freedom, float(chi2.sf(statistic, freedom)) if freedom else np.nan


def two_sided(ratios: np.ndarray, freedom: float) -> np.ndarray:
    """Return the two-sided p-values of ratios of estimates to standard errors; infinite freedom is the normal.

    Examples
    --------
    >>> two_sided(np.array([1.96]), np.inf).round(4).tolist()
    [0.05]
    """
    return 2 * student.sf(abs(ratios), freedom)


def reach(level: float, freedom: float) -> float:
    """Return how many standard errors an interval reaches to either side.

    Examples
    --------
    >>> round(reach(0.95, np.inf), 4)
    1.96
    """
    return float(student.ppf((1 + level) / 2, freedom))


def share_limits(shares: np.ndarray, errors: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of shares between 0 and 1, this many standard errors away on the scale of logits.

    Examples
    --------
    >>> lower, upper = share_limits(np.array([0.5]), np.array([0.1]), 2.0)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.31], [0.69])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        width = spread * errors / (shares * (1 - shares))
        return expit(logit(shares) - width), expit(logit(shares) + width)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values that are adjusted for their number, by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    found = np.empty(len(p_values))
    found[order] = adjusted
    return found


def p_words(p_value: float) -> str:
    """Return a p-value for a printed table.

    Examples
    --------
    >>> p_words(0.03217), p_words(1e-9), p_words(float("nan"))
    ('0.0322', '<0.0001', 'NaN')
    """
    if np.isnan(p_value):
        return "NaN"
    return f"{p_value:.4f}" if p_value >= SMALLEST_P else f"<{SMALLEST_P:.4f}"


#: For ``DataFrame.to_string``: how columns of p-values are printed.
P_COLUMNS = dict.fromkeys(("p_value", "lr_p_value", "p_holm"), p_words)
