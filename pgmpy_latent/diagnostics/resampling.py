"""Tables drawn anew, from a model or from the rows of a table.

Frequency weights count rows: a table of total weight ``N`` (rounded) is drawn anew as ``N`` rows. Rows with sampling
weights keep them: a table has as many rows as the given one, each with the weight of one of its rows. Seeds are keyed
by draw, and batches depend on the table alone, so that no result depends on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.exceptions import WeightError
from pgmpy_latent.inference.queries import rows_as_given, sample_codes
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Design, kish_scale

#: Most draws in a batch.
BATCH = 25
#: Most distinct rows of all draws of a batch. Small problems cost more to call than to solve, so they are solved
#: together; but every draw of a batch goes through the rows of all.
MOST_ROWS = 512
#: Most cells of a drawn table; a larger one would not fit into memory.
MOST_CELLS = 1e9


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
    """Return how many rows are drawn for a table: as many as it has; of frequency weights, their sum, rounded.

    Examples
    --------
    >>> n_rows_of(CategoricalData(["x"], [["a", "b"]], [[0], [1]], [2.0, 1.3]))
    3
    """
    if data.weight_kind != "sampling" and data.total_weight * len(data.columns) > MOST_CELLS:
        raise WeightError(
            f"the weights sum to {data.total_weight:.6g}, more rows than a bootstrap can draw; scale them so that "
            "they sum to the number of observations, or say weight_kind='sampling' if they are survey weights"
        )
    n = _design_of(data).n_rows if data.weight_kind == "sampling" else round(data.total_weight)
    if n < 2:
        raise WeightError(
            f"the weights sum to {data.total_weight:.6g}, which stands for {n} rows, too few for a bootstrap; scale "
            "them so that they sum to the number of observations, or say weight_kind='sampling' if they are survey "
            "weights"
        )
    return n


def _design_of(data: CategoricalData) -> Design:
    assert data.design is not None, "rows with sampling weights have a design"
    return data.design


def batches(data: CategoricalData, n_draws: int) -> list[range]:
    """Return which draws are computed together: many where tables are small.

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
    """Draw tables from a model (parametric bootstrap), each with the rows and missing cells of a given one.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
        Its observed variables are the columns of the table, with their states.
    data : CategoricalData
        The table. Where weights count rows, their sum is the number of rows, and each pattern of missing cells keeps
        its share of them; with sampling weights, each drawn row gets the weight and the missing cells of a row of the
        table.
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
    missing, row_weights = (
        _rows_with_weights(data) if data.weight_kind == "sampling" else (_missing_cells(data, n), np.ones(n))
    )
    tables = [sample_codes(model, n, rng)[:, nodes] for rng in generators]
    codes = np.concatenate([np.where(missing, -1, table) for table in tables])
    row_weights = np.tile(row_weights, len(tables))
    merged = CategoricalData(data.columns, data.state_names, codes, row_weights).select(data.columns)
    place = np.repeat(np.arange(len(tables)), n) * merged.n_distinct + rows_as_given(merged)
    weights = np.bincount(place, row_weights, minlength=len(tables) * merged.n_distinct)
    return Draws(merged, weights.reshape(len(tables), -1))


def _missing_cells(data: CategoricalData, n: int) -> np.ndarray:
    """Return which cells of ``n`` rows are missing, with every pattern in its share of rows: (n or 1, columns)."""
    if not data.has_missing.any():
        return np.zeros((1, len(data.columns)), bool)
    patterns, pattern_of_row = np.unique(data.codes < 0, axis=0, return_inverse=True)
    wanted = np.bincount(pattern_of_row.ravel(), data.weights) * (n / data.total_weight)
    counts = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: n - counts.sum()]] += 1  # those that lost most get the rest
    return np.repeat(patterns, counts, axis=0)


def _rows_with_weights(data: CategoricalData) -> tuple[np.ndarray, np.ndarray]:
    """Return which cells are missing in every single row of a table, (n, columns), and its weight.

    Rows come in the order of :func:`_missing_cells`, so that equal weights give the same draws as no weights.
    """
    design = _design_of(data)
    patterns, pattern_of_row = np.unique(data.codes < 0, axis=0, return_inverse=True)
    times = np.round(design.count).astype(np.int64)
    pattern = np.repeat(pattern_of_row.ravel()[design.row], times)
    weights = np.repeat(design.weight, times)
    order = np.lexsort([weights, pattern])
    return patterns[pattern[order]], weights[order]


def drawn_from_rows(data: CategoricalData, rng: np.random.Generator) -> CategoricalData:
    """Draw a table from the rows of another (nonparametric bootstrap). See :func:`drawn_weights`.

    Examples
    --------
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [30.0, 70.0])
    >>> drawn_from_rows(data, np.random.default_rng(0)).total_weight
    100.0
    """
    weights = drawn_weights(data, rng)
    there = weights > 0
    return CategoricalData(
        data.columns, data.state_names, data.codes[there], weights[there], weight_kind=data.weight_kind
    )


def drawn_weights(data: CategoricalData, rng: np.random.Generator) -> np.ndarray:
    """Return the weights of the distinct rows in a table drawn anew.

    Rows are drawn with replacement: where weights count rows, in proportion to them; otherwise all with the same
    chance, and they keep their weights. Clusters are drawn as a whole, and strata are drawn from separately.

    Examples
    --------
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [0.0, 3.0])
    >>> drawn_weights(data, np.random.default_rng(0))
    array([0., 3.])
    """
    n, design = n_rows_of(data), data.design
    if design is None:
        return rng.multinomial(n, data.weights / data.weights.sum()).astype(np.float64)
    weight, count = design.drawn(rng)
    there = count > 0
    scale = kish_scale(weight[there], count[there]) if data.weight_kind == "sampling" else 1.0
    return np.bincount(design.row, weight * count * scale, minlength=data.n_distinct)
