"""How alike the rows of two tables are: pairs of columns, rows that are odd, and rows that are copies."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.anomalies import SAME
from pgmpy_latent.inference.queries import AnyModel, engine_for
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.tables.dependence import Block, joint_counts_in_blocks, sums_of_rows
from pgmpy_latent.tables.encode import CategoricalData, distinct_rows

#: Measure -> what it is, in words.
MEASURES = {
    "pairs_mean": "mean distance of two columns' joint shares",
    "pairs_largest": "largest distance of two columns' joint shares",
    "new_pairs": "rows with two values that never go together in the table",
    "below_1_percent": "rows less likely than 99 % of the table's",
    "below_all": "rows less likely than any of the table's",
    "copied": "rows that the table has, too",
}
#: The share of the rows of the table that count as unlikely.
UNLIKELY = 0.01
#: How many pairs of tables are drawn anew, to learn by how much two of them differ by chance.
N_RESAMPLES = 5
#: Most numbers of a matrix of rows and states.
MOST_NUMBERS = 2**24


class Comparison(NamedTuple):
    """What :func:`alikeness` finds.

    Attributes
    ----------
    table : DataFrame
        Under the names of ``MEASURES``: ``rows``, ``new_rows`` and ``meaning``.
    furthest_pair : tuple of names
        The columns whose joint shares differ most; empty if there is only one column.
    """

    table: pd.DataFrame
    furthest_pair: tuple[Hashable, ...]


def alikeness(model: AnyModel, data: CategoricalData, codes: np.ndarray, rng: np.random.Generator) -> Comparison:
    """Compare rows with a table, and with what as many new rows from the source of the table would show.

    - Pairs: the distance of the joint shares of two columns is half the sum of their absolute differences, from 0 to 1.
      New rows are as far from the table as two tables, of both sizes, that are drawn from its rows are from each other.
    - Values that never go together, and copies: a new row is one that is taken out of the table.
    - Unlikely rows: by the log-likelihood under the model.

    Parameters
    ----------
    model : LatentTree, LatentNetwork or TreeMixture
        Its observed nodes are the columns of the table.
    data : CategoricalData
        The table.
    codes : int array, shape (n, n_columns)
        The rows, of at least one; with missing cells where the table has them.
    rng : Generator
        For the tables that are drawn anew.

    Examples
    --------
    >>> from pgmpy_latent import LatentTree, encode
    >>> tables = [[[0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]]]
    >>> tree = LatentTree(["x", "y"], [[0, 1], [0, 1]], [-1, 0], [False, False], tables)
    >>> data = encode(pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 0, 1, 1]}))
    >>> found = alikeness(tree, data, np.array([[0, 0], [0, 1]]), np.random.default_rng(0))
    >>> found.table["rows"].to_dict()  # doctest: +NORMALIZE_WHITESPACE
    {'pairs_mean': 0.5, 'pairs_largest': 0.5, 'new_pairs': 0.5, 'below_1_percent': 0.5, 'below_all': 0.5,
     'copied': 0.5}
    """
    with one_blas_thread():
        (mean, largest), (new_mean, new_largest), furthest = _pairs(data, codes, rng)
        new_pairs = _new_pairs(data, codes)
    below, below_all = _unlikely(model, data, codes)
    repeated = data.row_counts > 1
    rows = (mean, largest, new_pairs[0], below, below_all, _copied(data, codes))
    alone = 1 / (1 + data.row_counts.sum())
    new_rows = (new_mean, new_largest, new_pairs[1], UNLIKELY, alone, _share(data, repeated))
    table = pd.DataFrame({"rows": rows, "new_rows": new_rows, "meaning": list(MEASURES.values())}, list(MEASURES))
    return Comparison(table, tuple(data.columns[at] for at in furthest))


def _share(data: CategoricalData, which: np.ndarray) -> float:
    """Return the share of some of the distinct rows among all rows."""
    return float(data.weights[which].sum() / data.total_weight)


def _with(data: CategoricalData, codes: np.ndarray, weights: np.ndarray) -> CategoricalData:
    return CategoricalData(data.columns, data.state_names, codes, weights)


# Pairs


def _pairs(
    data: CategoricalData, codes: np.ndarray, rng: np.random.Generator
) -> tuple[tuple[float, float], tuple[float, float], tuple[int, ...]]:
    """Return the mean and largest distance of the rows and of new rows from the table, and the furthest pair."""
    n, n_distinct = len(codes), data.n_distinct
    everything = np.concatenate([data.codes, codes])  # one list of rows, so that all tables have the same blocks
    shares = data.weights / data.total_weight
    drawn = [
        rng.multinomial(size, shares) for _ in range(N_RESAMPLES) for size in (n, max(round(data.total_weight), 1))
    ]
    weights = np.zeros((2 + len(drawn), len(everything)))
    weights[0, n_distinct:] = 1.0
    weights[1, :n_distinct] = data.weights
    weights[2:, :n_distinct] = drawn
    found = _distances([_with(data, everything, row) for row in weights])
    if not found:
        return (0.0, 0.0), (0.0, 0.0), ()
    first, second, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    furthest = int(distances[:, 0].argmax())
    means, largest = distances.mean(axis=0), distances.max(axis=0)
    return (
        (float(means[0]), float(largest[0])),
        (float(means[1:].mean()), float(largest[1:].mean())),
        (int(first[furthest]), int(second[furthest])),
    )


def _distances(tables: list[CategoricalData]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return columns, other columns, and how far the first table is from the second, the third from the fourth, ..."""
    found = []
    for blocks in zip(*(joint_counts_in_blocks(table) for table in tables), strict=True):
        left, right = blocks[0][:2]
        shares = [_joint_shares(left, right, counts, totals) for _, _, counts, totals in blocks]
        apart = [
            sums_of_rows(np.add.reduceat(np.abs(one - other), right.starts, axis=1), left.starts) / 2
            for one, other in zip(shares[::2], shares[1::2], strict=True)
        ]
        rows, columns = np.nonzero(left.columns[:, None] < right.columns)
        if len(rows):
            distances = np.stack([distance[rows, columns] for distance in apart], axis=1)
            found.append((left.columns[rows], right.columns[columns], distances))
    return found


def _joint_shares(left: Block, right: Block, counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return joint counts as shares of the rows in which both columns are filled; zero where none is."""
    below = np.repeat(np.repeat(np.maximum(totals, np.finfo(float).tiny), left.cards, axis=0), right.cards, axis=1)
    return counts / below


def _new_pairs(data: CategoricalData, codes: np.ndarray) -> tuple[float, float]:
    """Return the share of rows with two values that never go together; then if each row of the table were new."""
    rows = _with(data, data.codes, data.row_counts)
    given, own = np.zeros(len(codes), bool), np.zeros(data.n_distinct, bool)
    for left, right, counts, _ in joint_counts_in_blocks(rows):
        given |= _has_pair(codes, left, right, counts < 0.5)
        own |= _has_pair(data.codes, left, right, counts < 1.5)  # which one row alone has
    return float(given.mean()), _share(data, own)


def _has_pair(codes: np.ndarray, left: Block, right: Block, pairs: np.ndarray) -> np.ndarray:
    """Tell which rows have one of some pairs of states."""
    found = np.zeros(len(codes), bool)
    if not pairs.any():
        return found
    step = max(1, MOST_NUMBERS // sum(pairs.shape))
    for first in range(0, len(codes), step):
        rows = slice(first, first + step)
        ours, theirs = (_indicators(codes[rows], block) for block in (left, right))
        found[rows] = ((ours @ pairs.astype(np.float32)) * theirs).any(axis=1)
    return found


def _indicators(codes: np.ndarray, block: Block) -> np.ndarray:
    """Return which states rows are in: (rows, states of the block's columns)."""
    states = np.arange(int(block.cards.sum())) - np.repeat(block.starts, block.cards)
    return (codes[:, np.repeat(block.columns, block.cards)] == states).astype(np.float32)


# Rows


def _unlikely(model: AnyModel, data: CategoricalData, codes: np.ndarray) -> tuple[float, float]:
    """Return the share of rows that are less likely than 99 % of the table's, and than all of the table's."""
    own, given = (_row_logs(model, _with(data, rows, np.ones(len(rows)))) for rows in (data.codes, codes))
    order = np.argsort(own)
    passed = np.cumsum(data.weights[order]) / data.total_weight
    bound = own[order[min(int(np.searchsorted(passed, UNLIKELY)), len(order) - 1)]]
    return float((given < bound - SAME).mean()), float((given < own.min() - SAME).mean())


def _row_logs(model: AnyModel, data: CategoricalData) -> np.ndarray:
    engine = engine_for(model, data)
    return engine.row_log_likelihoods(engine.layout.pack(model.tables))


def _copied(data: CategoricalData, codes: np.ndarray) -> float:
    """Return the share of rows that the table has, too."""
    everything = np.concatenate([data.codes, codes]).T
    groups, _ = distinct_rows(np.ascontiguousarray(everything), data.cards.tolist())
    return float(np.isin(groups[data.n_distinct :], groups[: data.n_distinct]).mean())
