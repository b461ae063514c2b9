"""Folds of a table: every row is held out once, and the others are there to learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Design

#: Rows that are enough to judge by, and the least and the largest share that is held out to have so many.
ENOUGH_ROWS, LEAST_SHARE, MOST_SHARE = 1_000, 0.1, 0.3
#: From so many rows on, NumPy does not draw a fixed number of them: each is held out, or not, by itself.
MANY_ROWS = 10**9


class Fold(NamedTuple):
    """Rows to learn from, and rows that are held out."""

    learn: CategoricalData
    held_out: CategoricalData

    def identity(self) -> tuple[str, tuple[np.ndarray, ...]]:
        """Return text and arrays that together are the same for the same rows in both parts only."""
        texts, arrays = zip(*(part.identity() for part in self), strict=True)
        return repr(texts), (*arrays[0], *arrays[1])


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


def usual_share(n_rows: float) -> float:
    """Return the share of rows to hold out where nobody says: a tenth, or more if a tenth are fewer than 1,000 rows.

    It is never more than three tenths, since the others are learned from.

    Examples
    --------
    >>> usual_share(100), usual_share(5_000), usual_share(20_000)
    (0.3, 0.2, 0.1)
    """
    return min(MOST_SHARE, max(LEAST_SHARE, ENOUGH_ROWS / n_rows))


def held_out_share(data: CategoricalData, share: float | None, seed: np.random.SeedSequence) -> Fold:
    """Hold out a share of the rows, drawn at random: at least one, and not all.

    Rows, weights and clusters count as in :func:`folds`, and the draw depends on as little.

    Parameters
    ----------
    data : CategoricalData
        The table.
    share : float, optional
        Of the rows, or of the clusters if there are any. None stands for the :func:`usual_share`.
    seed : SeedSequence
        Of the draw.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(np.array([[0], [0], [0], [1], [1], [1]]))
    >>> part = held_out_share(data, 0.3, np.random.SeedSequence(0))
    >>> part.learn.weights.sum(), part.held_out.weights.sum()
    (np.float64(4.0), np.float64(2.0))
    """
    rng = np.random.default_rng(seed)
    design = _units(data)
    share = usual_share(float(design.count.sum())) if share is None else share
    counts = _counts_held_out(design, data.row_keys, share, rng)
    rest = design.count - counts
    learn, held_out = (np.bincount(design.row, design.weight * n, minlength=data.n_distinct) for n in (rest, counts))
    if not (learn.any() and held_out.any()):
        units = "row" if design.cluster is None else "cluster"
        raise DataError(f"there is one {units} only, and none to hold out; give a table to validate with: X_valid=...")
    return Fold(_part(data, learn), _part(data, held_out))


def _counts_held_out(design: Design, keys: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return how many rows of each entry of a design are held out."""
    if design.cluster is not None:
        clusters = np.unique(design.cluster)
        return np.where(
            np.isin(design.cluster, rng.permutation(clusters)[: _some(len(clusters), share)]), design.count, 0
        )
    order = np.lexsort([design.weight, keys[design.row]])  # not that of rows, columns or states
    rows = np.round(design.count[order]).astype(np.int64)
    counts = np.empty(len(rows))
    n_rows = int(rows.sum())
    if n_rows < MANY_ROWS:
        counts[order] = rng.multivariate_hypergeometric(rows, _some(n_rows, share), method="marginals")
    else:
        counts[order] = rng.binomial(rows, share)
    return counts


def _some(n: int, share: float) -> int:
    """Return a share of a number, in whole numbers: at least one, and not all."""
    return max(min(round(share * n), n - 1), 1)


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
        data.columns,
        data.state_names,
        codes,
        weights[rows],
        weight_kind=data.weight_kind,
        missing=data.missing,
        values=data.values,
    )
