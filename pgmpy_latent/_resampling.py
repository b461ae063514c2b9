"""Tables drawn anew, from a model or from the rows of a table.

Weights count rows: a table of total weight ``N`` (rounded) is drawn anew as ``N`` rows. Seeds are keyed by draw, and
batches depend on the table alone, so that no result depends on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.data import CategoricalData
from pgmpy_latent.exceptions import WeightError
from pgmpy_latent.network import LatentNetwork
from pgmpy_latent.queries import sample_codes
from pgmpy_latent.tree import LatentTree

#: Most draws that are worked on at once.
BATCH = 25
#: Distinct rows that the draws of a batch may have in all. Each of them is a small problem, which costs more to call
#: than to solve; but every draw of a batch goes through the rows of all.
MOST_ROWS = 512


@dataclass(frozen=True, eq=False)
class Draws:
    """Several tables of the same columns, which share their distinct rows.

    Attributes
    ----------
    data : CategoricalData
        The rows of all of them.
    weights : array, shape (n_draws, n_distinct)
        How often each table has each row; zero where it does not.
    """

    data: CategoricalData
    weights: np.ndarray


def n_rows_of(data: CategoricalData) -> int:
    """Return how many rows are drawn for a table: its total weight, rounded.

    Examples
    --------
    >>> n_rows_of(CategoricalData(["x"], [["a", "b"]], [[0], [1]], [2.0, 1.3]))
    3
    """
    n = round(data.total_weight)
    if n < 2:
        raise WeightError(
            f"the weights sum to {data.total_weight:.6g}, which stands for {n} rows, too few for a bootstrap; scale "
            "them so that they sum to the number of observations"
        )
    return n


def batches(data: CategoricalData, n_draws: int) -> list[range]:
    """Return which draws are worked on together: many where tables are small.

    Examples
    --------
    >>> batches(CategoricalData(["x"], [["a", "b"]], [[0], [1]], [2.0, 1.0]), 30)
    [range(0, 25), range(25, 30)]
    """
    cells = math.prod((data.cards + data.has_missing).tolist())
    size = BATCH if cells <= MOST_ROWS else min(BATCH, max(1, MOST_ROWS // data.n_distinct))
    return [range(first, min(first + size, n_draws)) for first in range(0, n_draws, size)]


def drawn_from_model(
    model: LatentTree | LatentNetwork, data: CategoricalData, generators: Sequence[np.random.Generator]
) -> Draws:
    """Draw tables from a model (parametric bootstrap), each with as many rows and the same gaps as a given one.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
        Its observed variables are the columns of the table, with their states.
    data : CategoricalData
        The table: its total weight is the number of rows, and each pattern of gaps keeps its share of them.
    generators : sequence of Generator
        One per draw.

    Returns
    -------
    Draws

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.0, 1.0]]])
    >>> data = CategoricalData(["x"], [["a", "b"]], [[-1], [0], [1]], [2.0, 1.0, 1.0])
    >>> draws = drawn_from_model(tree, data, [np.random.default_rng(0)])
    >>> draws.data.codes.tolist(), draws.weights.tolist()
    ([[-1], [1]], [[2.0, 2.0]])
    """
    n = n_rows_of(data)
    nodes = [model.index(name) for name in data.columns]
    missing = _gaps(data, n)
    tables = [sample_codes(model, n, rng)[:, nodes] for rng in generators]
    codes = np.concatenate([np.where(missing, -1, table) for table in tables])
    every = CategoricalData(data.columns, data.state_names, codes, np.ones(len(codes)))
    merged = every.select(data.columns)
    place = np.repeat(np.arange(len(tables)), n) * merged.n_distinct + merged.row_index
    weights = np.bincount(place, minlength=len(tables) * merged.n_distinct).reshape(len(tables), -1)
    return Draws(merged, weights.astype(np.float64))


def _gaps(data: CategoricalData, n: int) -> np.ndarray:
    """Return which cells of ``n`` rows are missing, so that patterns of gaps have their shares: (n or 1, columns)."""
    if not data.has_missing.any():
        return np.zeros((1, len(data.columns)), bool)
    patterns, pattern_of_row = np.unique(data.codes < 0, axis=0, return_inverse=True)
    wanted = np.bincount(pattern_of_row.ravel(), data.weights) * (n / data.total_weight)
    counts = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: n - counts.sum()]] += 1  # those that lost most get the rest
    return np.repeat(patterns, counts, axis=0)


def drawn_from_rows(data: CategoricalData, rng: np.random.Generator) -> CategoricalData:
    """Draw a table from the rows of another (nonparametric bootstrap), likelier the heavier they are.

    Examples
    --------
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [30.0, 70.0])
    >>> drawn_from_rows(data, np.random.default_rng(0)).total_weight
    100.0
    """
    weights = drawn_weights(data, rng)
    there = weights > 0
    return CategoricalData(data.columns, data.state_names, data.codes[there], weights[there])


def drawn_weights(data: CategoricalData, rng: np.random.Generator) -> np.ndarray:
    """Return how often each distinct row is drawn.

    Examples
    --------
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [0.0, 3.0])
    >>> drawn_weights(data, np.random.default_rng(0))
    array([0, 3])
    """
    return rng.multinomial(n_rows_of(data), data.weights / data.weights.sum())
