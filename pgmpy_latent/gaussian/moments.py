"""Moments of columns of numbers: weights, means and mean products, per pattern of missing columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

#: With fewer rows per pattern of missing columns than this, EM works on the rows.
ROWS_PER_PATTERN = 100


@dataclass(frozen=True, eq=False)
class PatternMoments:
    """The rows in which the same columns are filled.

    Attributes
    ----------
    filled : int array
        Which columns these are.
    weight : float
        Of the rows.
    mean : array, shape (n_filled,)
        Of the filled columns, in standard units of the whole table.
    factor : array, shape (n_rows, n_filled), or None
        Its transpose times itself is ``second``: the rows, where there are fewer of them than filled columns.
    whole : array, shape (n_filled, n_filled), or None
        ``second``, where there are more rows.
    """

    filled: np.ndarray
    weight: float
    mean: np.ndarray
    factor: np.ndarray | None = None
    whole: np.ndarray | None = None

    @property
    def second(self) -> np.ndarray:
        """Mean products of the filled columns, about 0, in the same units: (n_filled, n_filled)."""
        if self.whole is not None:
            return self.whole
        assert self.factor is not None  # for type checkers: one of the two is there
        return self.factor.T @ self.factor


@dataclass(frozen=True, eq=False)
class StandardRows:
    """The rows of a table with many patterns of missing columns, in standard units.

    Attributes
    ----------
    values : array, shape (n_columns, n_rows)
        0 where a cell is missing.
    is_filled : bool array, shape (n_columns, n_rows)
    weights : array, shape (n_rows,)
    """

    values: np.ndarray
    is_filled: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class TableMoments:
    """All that EM needs of a table: its size does not depend on the number of rows unless cells are missing.

    Columns are in standard units: the mean of the filled cells is 0, and their variance 1.

    Attributes
    ----------
    mean, std : arrays, shape (n_columns,)
        What 0 and 1 stand for in each column.
    patterns : tuple of PatternMoments
        Patterns of missing columns; rows without any filled cell are in none.
    total_weight : float
        Of all rows.
    rows : StandardRows or None
        The rows, if there are so many patterns that these are no shorter.
    """

    mean: np.ndarray
    std: np.ndarray
    patterns: tuple[PatternMoments, ...]
    total_weight: float
    rows: StandardRows | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @cached_property
    def filled_weight(self) -> float:
        """Weight of the rows that have a filled cell."""
        return sum(part.weight for part in self.patterns)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing, but for rows without any."""
        return len(self.patterns) == 1 and len(self.patterns[0].filled) == self.n_columns

    @cached_property
    def correlations(self) -> np.ndarray:
        """Correlation matrix of a complete table."""
        if not self.is_complete:
            raise ValueError("cells are missing; complete the moments first")
        return self.patterns[0].second

    @cached_property
    def log_units(self) -> float:
        """What the units cost: the sum over filled cells of the logarithm of the standard deviation of their column."""
        return float(sum(part.weight * np.log(self.std[part.filled]).sum() for part in self.patterns))

    def identity(self) -> tuple[str, list[np.ndarray]]:
        """Return text and arrays that together are the same for the same moments only."""
        arrays = [array for part in self.patterns for array in (part.filled, part.mean, part.second)]
        return f"numbers of weight {self.total_weight!r}", [self.mean, self.std, *arrays]


def moments_of(values: np.ndarray, weights: np.ndarray | None = None) -> TableMoments:
    """Return the moments of a table of numbers, NaN where a cell is missing.

    Parameters
    ----------
    values : array, shape (n_rows, n_columns)
        No column may be constant.
    weights : array, shape (n_rows,), optional
        One by default.

    Examples
    --------
    >>> moments = moments_of(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 2.0]]))
    >>> moments.mean.tolist(), moments.is_complete, moments.correlations.round(3).tolist()
    ([2.0, 2.0], True, [[1.0, 0.5], [0.5, 1.0]])
    """
    weights = np.ones(len(values)) if weights is None else weights
    is_filled = ~np.isnan(values)
    per_column = weights @ is_filled
    mean = weights @ np.where(is_filled, values, 0.0) / per_column
    centred = np.where(is_filled, values - mean, 0.0)
    std = np.sqrt(weights @ centred**2 / per_column)
    standard = centred / std
    patterns = []
    for filled, rows in rows_by_pattern(is_filled):
        weight = float(weights[rows].sum())
        if weight > 0 and len(filled):
            part = standard[rows] if len(filled) == values.shape[1] else standard[np.ix_(rows, filled)]
            weighted = part * (weights[rows] / weight)[:, None]
            mean_of_part = weighted.sum(axis=0)
            if len(part) < len(filled):
                factor = part * np.sqrt(weights[rows] / weight)[:, None]
                patterns.append(PatternMoments(filled, weight, mean_of_part, factor=factor))
            else:
                patterns.append(PatternMoments(filled, weight, mean_of_part, whole=weighted.T @ part))
    counts = is_filled.any(axis=1) & (weights > 0)
    kept = None
    if len(patterns) > 1 and counts.sum() <= ROWS_PER_PATTERN * len(patterns):
        kept = StandardRows(
            np.ascontiguousarray(standard[counts].T), np.ascontiguousarray(is_filled[counts].T), weights[counts]
        )
    return TableMoments(mean, std, tuple(patterns), float(weights.sum()), kept)


def rows_by_pattern(is_filled: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of filled columns and the rows in which just these are filled.

    Examples
    --------
    >>> [(filled.tolist(), rows.tolist()) for filled, rows in rows_by_pattern(np.array([[1, 1], [1, 0], [1, 1]]) > 0)]
    [([0], [1]), ([0, 1], [0, 2])]
    """
    if is_filled.all():
        return [(np.arange(is_filled.shape[1]), np.arange(len(is_filled)))]
    packed = np.packbits(is_filled, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(number.ravel()))[:-1])
    return [(np.flatnonzero(is_filled[at]), rows) for at, rows in zip(first, parts, strict=True)]
