"""The tables of numeric columns inside the flat vector of all tables: what EM must know of them.

Their rows sum to one, like those of probabilities, but not every such row stands for a distribution: variances have a
floor, and some are shared by all states of the parent. And what is near to what is not measured as for probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pgmpy_latent.model.emissions import LEAST_RATE, Emission


class NumericTables:
    """The numeric columns among the tables of a layout.

    Parameters
    ----------
    emissions : dict of int to Emission
        The numeric tables, and what their columns are.
    shapes : int array, shape (n_tables, 2)
    offsets : int array, shape (n_tables,)
        Of all tables.

    Examples
    --------
    >>> height = Emission("gaussian", 0.0, 1.0, 2.0, 0.01)
    >>> numeric = NumericTables({0: height}, np.array([[1, 3]]), np.array([0]))
    >>> height.parameters(numeric.settled(height.features_of(np.array([1.5])), np.ones((1, 3)))).variance.round(9)
    array([0.01])
    """

    def __init__(self, emissions: Mapping[int, Emission], shapes: np.ndarray, offsets: np.ndarray):
        self.by_table = dict(emissions)
        self.tables: list[tuple[Emission, slice, tuple[int, int]]] = []
        self.entries = np.zeros(int(shapes.prod(axis=1).sum()), dtype=bool)
        for table, emission in sorted(emissions.items()):
            rows, columns = shapes[table].tolist()
            place = slice(int(offsets[table]), int(offsets[table]) + rows * columns)
            self.tables.append((emission, place, (rows, columns)))
            self.entries[place] = True

    @property
    def has_metric(self) -> bool:
        """Whether the curvature of EM can be told: not with negative binomials, whose dispersions are no means."""
        return all(emission.kind != "negative_binomial" for emission, _, _ in self.tables)

    def settled(self, tables: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """Return tables whose variances are at least the floor, and equal where they are shared; the rest is unchanged.

        Parameters
        ----------
        tables : array, shape (..., size)
            Changed in place.
        counts : array like ``tables``, optional
            Expected counts that the tables are made from, by which shared variances are weighted.
        """
        for emission, place, shape in self.tables:
            part = tables[..., place].reshape(*tables.shape[:-1], *shape)
            weights = np.ones(part.shape[:-1])
            if counts is not None:
                weights = counts[..., place].reshape(part.shape).sum(axis=-1)
            tables[..., place] = _settled(emission, part, weights).reshape(*tables.shape[:-1], -1)
        return tables

    def information(self, tables: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        """Return the Fisher information of completed data about the tables, by row and pair of features.

        Parameters
        ----------
        tables : array, shape (size,)
        weights : array, shape (size,)
            For every entry, the weight of its row.

        Returns
        -------
        list of arrays, shape (rows, features, features)
        """
        return [
            _information(emission, tables[place].reshape(shape), weights[place].reshape(shape)[:, 0])
            for emission, place, shape in self.tables
        ]


def _settled(emission: Emission, part: np.ndarray, weights: np.ndarray) -> np.ndarray:
    first = part[..., 1].copy()
    if not emission.is_gaussian:
        return part
    size = emission.largest
    mean = size * (4 * first - 1)
    variance = 2 * size**2 * part[..., 2] - mean**2
    wanted = variance
    if emission.is_shared:
        total = weights.sum(axis=-1, keepdims=True)
        even = np.where(total > 0, weights, 1.0)
        wanted = (even * variance).sum(axis=-1, keepdims=True) / even.sum(axis=-1, keepdims=True)
        wanted = np.broadcast_to(wanted, variance.shape)
    wanted = np.maximum(wanted, emission.floor)
    moved = wanted != variance
    second = np.where(moved, (mean**2 + wanted) / (2 * size**2), part[..., 2])
    return np.stack([np.where(moved, 1 - first - second, part[..., 0]), first, second], axis=-1)


def _information(emission: Emission, table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    rows, columns = table.shape
    information = np.zeros((rows, columns, columns))
    if emission.kind == "poisson":
        mean = np.maximum(emission.largest * table[:, 1], LEAST_RATE * emission.largest)
        information[:, 1, 1] = weights * emission.largest**2 / mean
        return information
    size = emission.largest
    mean = size * (4 * table[:, 1] - 1)
    variance = 2 * size**2 * table[:, 2] - mean**2
    bound = variance <= emission.floor * (1 + 1e-9)  # there the mean alone can move
    variance = np.maximum(variance, emission.floor)
    by_mean, by_square = 4 * size, 2 * size**2
    scale = weights / (2 * variance**3)
    whole = np.where(bound, weights / variance, scale * (4 * mean**2 * variance + 2 * variance**2))
    information[:, 1, 1] = by_mean**2 * whole
    information[:, 1, 2] = information[:, 2, 1] = np.where(bound, 0, -2 * mean * variance * scale) * by_mean * by_square
    information[:, 2, 2] = np.where(bound, 0, variance * scale) * by_square**2
    return information
