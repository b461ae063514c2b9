"""Folds of a table: every row is held out once, and the others are there to learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Design


class Fold(NamedTuple):
    """Rows to learn from, and rows that are held out."""

    learn: CategoricalData
    held_out: CategoricalData


def folds(data: CategoricalData, n_folds: int, seed: np.random.SeedSequence) -> list[Fold]:
    """Divide a table at random; every row is held out in one fold.

    A row of frequency weight 3 is three rows, which may be in different folds. Rows with sampling weights keep them.
    All rows of a cluster are in one fold, since they are alike. The same seed gives the same folds, whatever the order
    of rows, columns and states; clusters are taken in the order of their labels.

    Parameters
    ----------
    data : CategoricalData
        The table.
    n_folds : int
        At least 2.
    seed : SeedSequence
        Of the draw.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(np.array([[0], [0], [0], [1], [1], [1]]))
    >>> [fold.held_out.weights.tolist() for fold in folds(data, 2, np.random.SeedSequence(0))]
    [[2.0, 1.0], [1.0, 2.0]]
    """
    rng = np.random.default_rng(seed)
    design = _units(data)
    counts = _counts_of_folds(design, data.row_keys, n_folds, rng)
    weights = np.stack([np.bincount(design.row, design.weight * count, minlength=data.n_distinct) for count in counts])
    if not weights.any(axis=1).all():
        units = "rows" if design.cluster is None else "clusters"
        raise DataError(
            f"there are too few {units} for {n_folds} folds, one of which is empty; give fewer folds, or a table to "
            "validate with: scores.HeldOut(validation=...)"
        )
    return [
        Fold(_part(data, weights[np.arange(n_folds) != at].sum(axis=0)), _part(data, weights[at]))
        for at in range(n_folds)
    ]


def _units(data: CategoricalData) -> Design:
    """Return the rows of a table, of which equal ones are counted; a fraction of a row is a row of less weight."""
    if data.design is not None:
        return data.design
    counts = np.ceil(data.weights)
    whole = np.arange(data.n_distinct)
    return Design(whole, data.weights / np.maximum(counts, 1), counts, np.zeros_like(whole))


def _counts_of_folds(design: Design, keys: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return how many rows of each entry of a design every fold holds out, as an array of shape (folds, entries)."""
    if design.cluster is not None:
        clusters = np.unique(design.cluster)
        fold_of_cluster = rng.permutation(np.arange(len(clusters)) % n_folds)
        fold = fold_of_cluster[np.searchsorted(clusters, design.cluster)]
        return np.where(fold == np.arange(n_folds)[:, None], design.count, 0.0)
    order = np.lexsort([design.weight, keys[design.row]])  # not that of rows, columns or states
    counts = np.empty((n_folds, len(design.row)))
    counts[:, order] = rng.multinomial(np.round(design.count[order]).astype(np.int64), np.full(n_folds, 1 / n_folds)).T
    return counts


def _part(data: CategoricalData, weights: np.ndarray) -> CategoricalData:
    """Return the rows of positive weight."""
    rows = np.flatnonzero(weights > 0)
    codes = data.codes[rows]
    return CategoricalData(
        data.columns, data.state_names, codes, weights[rows], weight_kind=data.weight_kind, missing=data.missing
    )
