"""Unusual rows: those that are least likely under a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgmpy_latent.inference.queries import AnyModel, engine_for, index_of, model_and_rows, rows_as_given, sample_codes
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_number
from pgmpy_latent.tables.encode import CategoricalData

#: How many rows are drawn from the model to compare with.
N_DRAWS = 10_000
#: Log-likelihoods that differ by less are the same, but for rounding.
SAME = 1e-9


def unusual_rows(model, X, n: int = 20, *, random_state=0, show_progress: bool = True) -> pd.DataFrame:
    """Return the rows with the smallest log-likelihood, and what is odd about them.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, TreeMixture or fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    n : int
        Number of rows to return; all, if there are fewer.
    random_state : int or Generator
        For the rows that are drawn from the model.
    show_progress : bool
        Whether work of more than two seconds shows a progress bar; many patterns of missing cells take long.

    Returns
    -------
    DataFrame
        The least likely row first, under the table's index:

        - ``log_likelihood``: natural logarithm of the row's probability;
        - ``share``: the share of 10,000 rows drawn from the model that are at most as likely: small if the row is
          stranger than rows of the model itself. It is a p-value, ``(1 + count) / (1 + 10000)``, and so never zero;
          among 10,000 ordinary rows, expect one as small as 0.0001;
        - ``cell``: the column with the most surprising value, ``value``: that value, and ``probability``: its
          probability given the other cells of the row.

    Notes
    -----
    Missing cells are summed out, so that rows with many of them can hardly be unlikely; such a row is compared with
    drawn rows in which the same cells are missing. If a row has probability zero, its oddest cell is the first one that
    is impossible given the others. There is none (None, NaN) if no cell is known, or if the rest of the row is
    impossible whichever cell is left out.

    Examples
    --------
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.5]], [[0.98, 0.02], [0.02, 0.98]], [[0.9, 0.1], [0.1, 0.9]]])
    >>> table = pd.DataFrame({"x": ["a", "b", "a"], "y": ["c", "c", "c"]}, index=["p", "q", "r"])
    >>> unusual_rows(tree, table, n=1).round(3)
       log_likelihood  share cell value  probability
    q          -2.847  0.119    x     b        0.116
    """
    check_number("n", n, 1, whole=True)
    tree, data = model_and_rows(model, X)
    engine = engine_for(tree, data)
    logs = engine.row_log_likelihoods(engine.layout.pack(tree.tables))
    rows = rows_as_given(data)
    chosen = np.argsort(logs[rows], kind="stable")[:n]
    distinct = rows[chosen]
    share = _shares(tree, data, distinct, logs, np.random.default_rng(random_state), show_progress)
    column, probability = _oddest_cells(tree, data, distinct)
    cells = [None if at < 0 else data.columns[at] for at in column]
    values = [
        None if at < 0 else data.state_names[at][data.codes[row, at]] for row, at in zip(distinct, column, strict=True)
    ]
    table = pd.DataFrame(
        {
            "log_likelihood": logs[distinct],
            "share": share,
            "cell": pd.Series(cells, index=range(len(cells)), dtype=object),
            "value": pd.Series(values, index=range(len(values)), dtype=object),
            "probability": probability,
        }
    )
    table.index = index_of(X, data)[chosen]
    return table


def _row_logs(tree: AnyModel, data: CategoricalData, codes: np.ndarray) -> np.ndarray:
    """Return the log-likelihoods of rows, given by codes of the table's columns."""
    engine = engine_for(tree, CategoricalData(data.columns, data.state_names, codes, np.ones(len(codes))))
    return engine.row_log_likelihoods(engine.layout.pack(tree.tables))


def _shares(
    tree: AnyModel,
    data: CategoricalData,
    distinct: np.ndarray,
    logs: np.ndarray,
    rng: np.random.Generator,
    show_progress: bool,
) -> np.ndarray:
    """Return, for some distinct rows, the share of drawn rows that are at most as likely."""
    drawn = sample_codes(tree, N_DRAWS, rng)[:, [tree.index(name) for name in data.columns]]
    shares = np.empty(len(distinct))
    patterns, pattern_of_row = np.unique(data.codes[distinct] < 0, axis=0, return_inverse=True)
    bar = tqdm(patterns, "patterns of missing cells", disable=not show_progress, delay=PROGRESS_DELAY, leave=False)
    for number, missing in enumerate(bar):
        drawn_logs = np.sort(_row_logs(tree, data, np.where(missing, -1, drawn)))
        here = np.flatnonzero(pattern_of_row.ravel() == number)
        shares[here] = np.searchsorted(drawn_logs, logs[distinct[here]] + SAME, side="right")
    return (1 + shares) / (1 + N_DRAWS)


def _oddest_cells(tree: AnyModel, data: CategoricalData, distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for some distinct rows, the column whose value is least likely given the others, and how likely it is.

    P(cell | others) is P(row) / P(others), and the others are the row with the cell emptied.
    """
    codes = data.codes[distinct]
    row, column = np.nonzero(codes >= 0)
    emptied = codes[row].copy()
    emptied[np.arange(len(row)), column] = -1
    probability = np.full(codes.shape, np.inf)
    if len(row):
        whole, others = _row_logs(tree, data, codes)[row], _row_logs(tree, data, emptied)
        possible = np.isfinite(others)
        probability[row[possible], column[possible]] = np.exp((whole - others)[possible])
    oddest = probability.argmin(axis=1)
    least = probability[np.arange(len(codes)), oddest]
    return np.where(np.isfinite(least), oddest, -1), np.where(np.isfinite(least), least, np.nan)
