"""How changes of parameters are measured: by the information that completed data have about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from pgmpy_latent.inference.numeric_tables import NumericTables

#: Entries of tables up to this size do not move by their curvature; :mod:`pgmpy_latent.em.maximum` checks them.
STILL = 1e-12


class Metric(Protocol):
    """What the curvature of an objective needs to know about changes of the parameters around a point."""

    @property
    def moving(self) -> np.ndarray:
        """For every parameter, whether it can change here."""

    def inner(self, one: np.ndarray, other: np.ndarray) -> float:
        """Return the inner product of two changes."""

    def largest_change(self, way: np.ndarray) -> float:
        """Return how large a change is, relative to the sizes that parameters have here."""


@dataclass(frozen=True, eq=False)
class TableMetric:
    """The metric of probability tables, weight of the row over entry, and of numeric columns, their information.

    Attributes
    ----------
    moving : bool array, shape (size,)
        Entries that may move here.
    per_unit : array, shape (size,)
        One over every probability that may move, zero elsewhere.
    by_entry : array, shape (size,)
        Weight of the row over the probability.
    numeric : list
        For every numeric column, where its table stands, the information about each row, and the weight of the row.

    Examples
    --------
    >>> metric = TableMetric.of(np.array([0.25, 0.75]), np.array([4.0, 4.0]), None)
    >>> round(metric.inner(np.array([0.1, -0.1]), np.array([0.1, -0.1])), 6)
    0.213333
    >>> metric.largest_change(np.array([0.1, -0.1]))
    0.4
    """

    moving: np.ndarray
    per_unit: np.ndarray
    by_entry: np.ndarray
    numeric: list[tuple[slice, np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, tables: np.ndarray, weights: np.ndarray, numeric: NumericTables | None) -> Self:
        """Return the metric at some tables, given for every entry the weight of its row."""
        moving = tables > STILL
        per_unit = np.divide(1.0, tables, where=moving, out=np.zeros_like(tables))
        if numeric is None:
            return cls(moving, per_unit, weights * per_unit, [])
        per_unit[numeric.entries] = 0.0
        information = numeric.information(tables, weights)
        rows = [
            (place, matrices, weights[place].reshape(shape)[:, 0])
            for (_, place, shape), matrices in zip(numeric.tables, information, strict=True)
        ]
        return cls(moving | numeric.entries, per_unit, weights * per_unit, rows)

    def inner(self, one: np.ndarray, other: np.ndarray) -> float:
        """Return the inner product of two changes."""
        product = float(self.by_entry @ (one * other))
        for place, matrices, _ in self.numeric:
            shape = matrices.shape[:2]
            product += float(np.einsum("ri,rij,rj", one[place].reshape(shape), matrices, other[place].reshape(shape)))
        return product

    def largest_change(self, way: np.ndarray) -> float:
        """Return the largest relative change of a probability, or change of a numeric row in standard errors of one."""
        largest = float(np.abs(way * self.per_unit).max())
        for place, matrices, weights in self.numeric:
            rows = way[place].reshape(matrices.shape[:2])
            squares = np.einsum("ri,rij,rj->r", rows, matrices, rows) / np.maximum(weights, 1e-300)
            largest = max(largest, float(np.sqrt(np.maximum(squares, 0.0).max())))
        return largest
