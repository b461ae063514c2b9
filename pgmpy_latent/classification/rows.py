"""The table a classifier learns from: distinct rows on a common scale, with their classes and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmpy_latent.classification.inputs import CONSTANT, Fold
from pgmpy_latent.classification.model import RaggedRows, Rows, grouped


@dataclass(frozen=True)
class Training:
    """Distinct rows in a fixed order: the order of rows does not matter, and repeating a row is weighting it.

    Attributes
    ----------
    table : array, shape (n_distinct, n_attributes)
        Standardised attributes; NaN where missing.
    labels : int array, shape (n_distinct,)
        Numbers of the classes.
    weights : array, shape (n_distinct,)
        Sums over equal rows.
    location, scale : arrays, shape (n_attributes,)
        ``attribute = location + scale * table``.
    place : int array, shape (n_rows,)
        Position in the table of each original row.
    row_weights : array, shape (n_rows,)
        Weights of the original rows.
    n_classes : int
    """

    table: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    place: np.ndarray
    row_weights: np.ndarray
    n_classes: int

    @cached_property
    def by_class(self) -> list[list[Rows | RaggedRows]]:
        """For every class, its rows in groups that miss the same attributes."""
        return [grouped(self.table, np.flatnonzero(self.labels == label)) for label in range(self.n_classes)]

    @cached_property
    def groups(self) -> list[Rows | RaggedRows]:
        """All rows, in groups that miss the same attributes."""
        return grouped(self.table)

    @cached_property
    def n_ragged(self) -> int:
        """Number of rows whose missing attributes few other rows share; they cost more than the rest."""
        return sum(len(rows.at) for rows in self.groups if isinstance(rows, RaggedRows))

    @cached_property
    def filled(self) -> np.ndarray:
        """The table with the mean of its class, or of all, where a value is missing."""
        filled = np.nan_to_num(self.table)
        for label in range(self.n_classes):
            here = np.flatnonzero(self.labels == label)
            seen = ~np.isnan(self.table[here])
            mass = self.weights[here] @ seen
            means = np.divide(self.weights[here] @ filled[here], mass, out=np.zeros(len(mass)), where=mass > 0)
            filled[here] = np.where(seen, filled[here], means)
        return filled

    def weighting(self, rows: np.ndarray) -> np.ndarray:
        """Return the weights of the distinct rows if only some of the original rows are used."""
        return np.bincount(self.place[rows], self.row_weights[rows], minlength=len(self.table))

    def class_shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the share of each class under several weightings: (weightings, classes)."""
        masses = np.stack([weights[:, self.labels == label].sum(axis=1) for label in range(self.n_classes)], axis=1)
        return masses / masses.sum(axis=1, keepdims=True)


def training(attributes: np.ndarray, labels: np.ndarray, weights: np.ndarray, *, centre: bool = True) -> Training:
    """Bring rows into the form that learning needs.

    Parameters
    ----------
    attributes : array, shape (n_rows, n_attributes)
        NaN where missing.
    labels : int array, shape (n_rows,)
        Numbers of the classes, from zero.
    weights : array, shape (n_rows,)
        Positive weights. Their proportions decide, but for edges and shrinkage, which depend on how many rows there
        are: as many as the weights sum to.
    centre : bool
        Whether to subtract the mean of each attribute; a model without offsets needs the attributes as they are.

    Examples
    --------
    >>> found = training(np.array([[1.0], [3.0], [1.0]]), np.array([0, 1, 0]), np.ones(3))
    >>> found.table.round(3).tolist(), found.weights.tolist(), found.place.tolist()
    ([[-0.707], [1.414]], [2.0, 1.0], [0, 1, 0])
    """
    keys = np.column_stack([labels, np.where(np.isnan(attributes), np.inf, attributes)])
    distinct, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    values = np.where(np.isinf(distinct[:, 1:]), np.nan, distinct[:, 1:])
    masses = np.bincount(place, weights)
    location, scale = _location_and_scale(values, masses)
    if not centre:
        location = np.zeros_like(location)
    return Training(
        table=(values - location) / scale,
        labels=distinct[:, 0].astype(np.int64),
        weights=masses,
        location=location,
        scale=scale,
        place=place,
        row_weights=weights,
        n_classes=int(labels.max()) + 1,
    )


def _location_and_scale(attributes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each attribute; one where it is constant."""
    seen = ~np.isnan(attributes)
    mass = np.maximum(weights @ seen, np.finfo(float).tiny)  # of a column that some rows do not have, zero
    location = (weights @ np.where(seen, attributes, 0.0)) / mass
    deviations = np.where(seen, attributes - location, 0.0)
    scale = np.sqrt((weights @ (deviations * deviations)) / mass)
    size = np.abs(np.where(seen, attributes, 0.0)).max(axis=0)
    return location, np.where(scale > CONSTANT * size, scale, 1.0)


def fold_weightings(rows: Training, folds: Sequence[Fold]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the distinct rows for learning and for testing: (folds, n_distinct) each."""
    learn = np.stack([rows.weighting(train) for train, _ in folds])
    test = np.stack([rows.weighting(test) for _, test in folds])
    return learn, test
