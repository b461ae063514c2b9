"""How well a model describes the cells of a table: G², X², and what to compare them with."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

from pgmpy_latent.tables.encode import CategoricalData

#: Rows per cell, on average, below which the chi-squared distribution says little about G² and X².
ROWS_PER_CELL = 5.0
#: More cells than this are not told apart by the number of degrees of freedom.
MOST_CELLS = 2**53


def deviance_and_pearson(weights: np.ndarray, row_logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return G² and X² of a table without missing cells, from its distinct rows alone.

    With ``w`` the weight of a cell, ``N`` their sum and ``e = N p`` what is expected there::

        G² = 2 sum w ln(w / e)        X² = sum (w - e)² / e

    over all cells. Cells that no row shows add nothing to G², and ``e`` each to X², which is ``N (1 - sum p)`` over the
    cells that rows show.

    Parameters
    ----------
    weights : array, shape (..., n_distinct)
        Weights of the distinct rows; zero if a row does not occur.
    row_logs : array, shape (..., n_distinct)
        Their log-likelihoods.

    Examples
    --------
    Two cells, of which the second is expected in half of four rows, and never seen.

    >>> deviance_and_pearson(np.array([4.0]), np.log([0.5]))
    (np.float64(5.545...), np.float64(4.0))
    """
    total = weights.sum(axis=-1, keepdims=True)
    shown = weights > 0
    chances = np.where(shown, np.exp(row_logs), 0.0)
    with np.errstate(invalid="ignore"):  # rows that do not occur may be impossible
        logs = np.where(shown, row_logs, 0.0)
    deviance = 2 * (xlogy(weights, weights / total) - weights * logs).sum(axis=-1)
    expected = total * chances
    squares = np.divide((weights - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0)
    unseen = np.maximum(total[..., 0] * (1 - chances.sum(axis=-1)), 0.0)
    return deviance, squares.sum(axis=-1) + unseen


def degrees_of_freedom(data: CategoricalData, dimension: int) -> int | None:
    """Return the number of free cells less the dimensions of the model; None if there are too many cells to count.

    Examples
    --------
    >>> degrees_of_freedom(CategoricalData(["x", "y"], [["a", "b"]] * 2, [[0, 1]], [1.0]), 2)
    1
    """
    cells = math.prod(data.cards.tolist())
    return cells - 1 - dimension if cells <= MOST_CELLS else None


def chi_squared_p(data: CategoricalData, statistic: float, df: int | None) -> float:
    """Return the p-value by the chi-squared distribution; NaN where cells are too sparse for it.

    Examples
    --------
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [20.0, 10.0])
    >>> round(chi_squared_p(data, 3.84, 1), 3)
    0.05
    >>> chi_squared_p(data, 3.84, 0)
    nan
    """
    sparse = data.total_weight < ROWS_PER_CELL * math.prod(data.cards.tolist())
    return math.nan if df is None or df < 1 or sparse else float(chi2.sf(statistic, df))
