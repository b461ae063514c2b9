"""Pearson's statistic of every two columns: how far their joint counts are from those that a model predicts."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.inference.queries import AnyModel, engine_for
from pgmpy_latent.tables.dependence import Block, joint_counts_in_blocks, sums_of_rows
from pgmpy_latent.tables.encode import CategoricalData


def pair_statistics(tree: AnyModel, data: CategoricalData) -> np.ndarray:
    """Return a row (first, second, statistic, df, n) for every pair of columns; see :func:`residuals`."""
    parts = [np.empty((0, 5))]
    for left, right, counts, totals in joint_counts_in_blocks(data):
        parts.append(_compared(left, right, counts, totals, _pair_probabilities(tree, data, left, right)))
    return np.concatenate(parts)


def _pair_probabilities(tree: AnyModel, data: CategoricalData, left: Block, right: Block) -> np.ndarray:
    """Return P(state, other state) under the model for all states of the columns of two blocks.

    A row with a single filled cell has the likelihood P(state), and P(other state | state) is its posterior.
    """
    column = np.repeat(left.columns, left.cards)
    n_rows = len(column)
    codes = np.full((n_rows, len(data.columns)), -1)
    codes[np.arange(n_rows), column] = np.arange(n_rows) - np.repeat(left.starts, left.cards)
    engine = engine_for(tree, CategoricalData(data.columns, data.state_names, codes, np.ones(n_rows)))
    tables = engine.layout.pack(tree.tables)
    shares = np.exp(engine.row_log_likelihoods(tables))
    given = engine.beliefs(tables, [tree.index(data.columns[at]) for at in right.columns])
    return np.nan_to_num(np.concatenate(given, axis=1)) * shares[:, None]  # given an impossible state it is NaN


def _compared(
    left: Block, right: Block, counts: np.ndarray, totals: np.ndarray, probabilities: np.ndarray
) -> np.ndarray:
    """Return a row (first, second, statistic, df, n) for every pair of different columns of two blocks."""
    fitted = np.repeat(np.repeat(totals, left.cards, axis=0), right.cards, axis=1) * probabilities
    apart = (counts - fitted) ** 2
    terms = np.divide(apart, fitted, out=np.where(apart > 0, np.inf, 0.0), where=fitted > 0)
    statistic = sums_of_rows(np.add.reduceat(terms, right.starts, axis=1), left.starts)
    possible = counts + probabilities  # a state counts if it occurs or may occur
    rows = sums_of_rows((np.add.reduceat(possible, right.starts, axis=1) > 0).astype(np.float64), left.starts)
    columns = np.add.reduceat((sums_of_rows(possible, left.starts) > 0).astype(np.float64), right.starts, axis=1)
    df = np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)
    first, second = np.meshgrid(left.columns, right.columns, indexing="ij")
    wanted = first < second
    return np.stack([values[wanted] for values in (first, second, statistic, df, totals)], axis=1)
