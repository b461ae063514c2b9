"""EM for Gaussian trees: how one iteration moves correlations, means and standard deviations.

A point holds the inverse hyperbolic tangent of every edge's correlation (Fisher's z), and where cells are missing also
the mean and the logarithm of the standard deviation of every column, in standard units of the table. Of a complete
table the best means and standard deviations are those of the table itself, whatever the edges are.

Hidden nodes have no scale of their own. The M-step lets them have any mean and variance, and the correlations that
follow from these are the new ones: the same maximum in fewer iterations (parameter-expanded EM).
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pgmpy_latent.gaussian.messages import RowMessages, RowMoments
from pgmpy_latent.gaussian.moments import StandardRows, TableMoments
from pgmpy_latent.gaussian.shape import LOG_2_PI, Inference, Shape, all_correlations

#: The least share of its variance that a node has of its own, given a neighbour. A column on its way to being its
#: hidden neighbour itself ends here: the likelihood is bounded there, but its arithmetic would not be.
LEAST_SHARE = 1e-6
#: The largest correlation of an edge, and its value on Fisher's scale.
MOST_CORRELATED = float(np.sqrt(1 - LEAST_SHARE))
MOST_Z = float(np.arctanh(MOST_CORRELATED))
#: Largest change of a logarithm of a standard deviation, or of a mean in standard units, by a leap.
FARTHEST = 10.0


class GaussianObjective:
    """What both kinds of tables share; an :class:`~pgmpy_latent.em.step.Objective`.

    Parameters
    ----------
    ends : int array, shape (n_edges, 2)
        The nodes of every edge; the columns of the table are the first nodes, in their order.
    n_nodes : int
        Number of nodes, hidden ones included.
    moments : TableMoments
        Of the table.
    """

    def __init__(self, ends: np.ndarray, n_nodes: int, moments: TableMoments):
        self.ends = np.asarray(ends, np.int64).reshape(-1, 2)
        self.n_nodes = n_nodes
        self.moments = moments

    @property
    def prior(self) -> float:
        """There is none."""
        return 0.0

    @property
    def has_metric(self) -> bool:
        """The metric is known."""
        return True

    def prepare(self) -> None:
        """Do nothing: there are no rows to share."""

    def threads(self) -> AbstractContextManager[Self]:
        """Return this objective: it uses one thread."""
        return nullcontext(self)

    def for_one_thread(self) -> Self:
        """Return this objective."""
        return self

    def step(
        self, tables: np.ndarray, weightings: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log-likelihoods at several points, twice, and where one EM iteration leads from each."""
        found = [self._step_from(point) for point in tables]
        values = np.array([value for value, _ in found])
        return values, values, np.stack([new for _, new in found])

    @abstractmethod
    def _step_from(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-likelihood at a point, and where one EM iteration leads."""

    def normalise(self, points: np.ndarray, fallback: np.ndarray) -> np.ndarray:
        """Return points with correlations that are not too close to 1, and means and deviations near the last ones."""
        n_edges = len(self.ends)
        points = np.where(np.isfinite(points), points, fallback)
        edges = np.clip(points[..., :n_edges], -MOST_Z, MOST_Z)
        rest = np.clip(points[..., n_edges:], fallback[..., n_edges:] - FARTHEST, fallback[..., n_edges:] + FARTHEST)
        return np.concatenate([edges, rest], axis=-1)

    def moved(self, point: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the allowed point next to ``point + change``."""
        return self.normalise(point + change, point)

    def _spread(self, nodes: np.ndarray, correlation: np.ndarray) -> np.ndarray:
        """Return the covariance of estimates from one completed row: of Fisher's z of all edges, then of log_std.

        They are functions of second moments, whose covariances are products of correlations.
        """
        n_edges, (first, second) = len(self.ends), self.ends.T
        columns = np.arange(self.moments.n_columns)
        scale = 1 / (1 - correlation**2)
        half = -correlation * scale / 2
        edges = np.arange(n_edges)
        terms = [
            (edges, (first, second), scale),
            (edges, (first, first), half),
            (edges, (second, second), half),
            (n_edges + columns, (columns, columns), np.full(len(columns), 0.5)),
        ]
        spread = np.zeros((n_edges + len(columns),) * 2)
        for rows, pairs, by in terms:
            for others, other_pairs, other_by in terms:
                both = products_of_moments(pairs, other_pairs, nodes)
                spread[np.ix_(rows, others)] += by[:, None] * both * other_by
        return spread

    def _metric(self, point: np.ndarray, spread: np.ndarray) -> GaussianMetric:
        """Return the metric of the completed data, given the covariance of estimates from a completed row."""
        factor = cho_factor(spread + 1e-12 * np.eye(len(spread)))
        at_bound = np.zeros(len(point), bool)
        at_bound[: len(self.ends)] = np.abs(point[: len(self.ends)]) >= MOST_Z
        return GaussianMetric(~at_bound, factor, self.moments.filled_weight)


@dataclass(frozen=True, eq=False)
class GaussianMetric:
    """How changes of Fisher's z, means and logarithms of deviations are measured.

    Attributes
    ----------
    moving : bool array, shape (size,)
        Parameters that are not at their bounds.
    factor : tuple
        The Cholesky factor of the covariance of estimates from one completed row.
    weight : float
        Weight of all rows.
    """

    moving: np.ndarray
    factor: tuple[np.ndarray, bool]
    weight: float

    def inner(self, one: np.ndarray, other: np.ndarray) -> float:
        """Return the inner product of two changes, by the information of the completed data."""
        return self.weight * float(one @ cho_solve(self.factor, other))

    def largest_change(self, way: np.ndarray) -> float:
        """Return the largest change of a parameter."""
        return float(np.abs(way).max())


def products_of_moments(
    pairs: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray], correlations: np.ndarray
) -> np.ndarray:
    """Return covariances of the products of pairs of nodes, of unit variance and mean 0, with those of other pairs.

    Examples
    --------
    >>> nodes = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> products_of_moments((np.array([0]), np.array([1])), (np.array([0]), np.array([0])), nodes).tolist()
    [[1.0]]
    """
    (a, b), (c, d) = pairs, others
    straight = correlations[np.ix_(a, c)] * correlations[np.ix_(b, d)]
    return straight + correlations[np.ix_(a, d)] * correlations[np.ix_(b, c)]


class CompleteTable(GaussianObjective):
    """The log-likelihood of a table without missing cells, as a function of the correlations of edges.

    Examples
    --------
    >>> from pgmpy_latent.gaussian.moments import moments_of
    >>> rows = np.random.default_rng(0).normal(size=(50, 1)) + np.random.default_rng(1).normal(size=(50, 3))
    >>> objective = CompleteTable(np.array([[3, 0], [3, 1], [3, 2]]), 4, moments_of(rows))
    >>> values, _, new = objective.step(np.full((1, 3), 0.5))
    >>> bool(objective.step(new)[0] > values)
    True
    """

    @cached_property
    def _shape(self) -> Shape:
        return Shape.of(self.ends, np.arange(self.n_nodes) < self.moments.n_columns)

    @cached_property
    def _constant(self) -> float:
        moments = self.moments
        return moments.filled_weight * moments.n_columns * LOG_2_PI / 2 + moments.log_units

    def _step_from(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        moments = self.moments
        try:
            found = Inference.at(self._shape, np.tanh(point))
        except FloatingPointError:
            return -np.inf, point
        expected = found.expected_moments(moments.correlations)
        value = -moments.filled_weight * (found.log_determinant + expected.distance) / 2 - self._constant
        scale = np.sqrt(expected.squares)
        new = expected.products / (scale[self.ends[:, 0]] * scale[self.ends[:, 1]])
        return value, np.arctanh(np.clip(new, -MOST_CORRELATED, MOST_CORRELATED))

    def metric(self, point: np.ndarray) -> GaussianMetric:
        """Return how changes of correlations are measured: by those that can be estimated from completed rows."""
        correlation = np.tanh(point)
        nodes = all_correlations(self.ends, self.n_nodes, correlation)
        n_edges, spread = len(point), self._spread(nodes, correlation)
        edges, columns, between = spread[:n_edges, :n_edges], spread[n_edges:, n_edges:], spread[:n_edges, n_edges:]
        # EM leaves the deviations of columns as they are, at their best: what is known of them is given
        return self._metric(point, edges - between @ np.linalg.solve(columns, between.T))


@dataclass(frozen=True, eq=False)
class _Part:
    """A pattern of missing columns: the shape of what is known, and the moments of its rows."""

    shape: Shape
    weight: float
    mean: np.ndarray
    second: np.ndarray


class TableWithGaps(GaussianObjective):
    """The log-likelihood of a table with missing cells, as a function of correlations, means and deviations.

    Examples
    --------
    >>> from pgmpy_latent.gaussian.moments import moments_of
    >>> rows = np.random.default_rng(0).normal(size=(50, 1)) + np.random.default_rng(1).normal(size=(50, 3))
    >>> rows[:9, 1] = np.nan
    >>> objective = TableWithGaps(np.array([[3, 0], [3, 1], [3, 2]]), 4, moments_of(rows))
    >>> values, _, new = objective.step(np.concatenate([np.full(3, 0.5), np.zeros(6)])[None])
    >>> bool(objective.step(new)[0] > values)
    True
    """

    @cached_property
    def _parts(self) -> list[_Part]:
        parts = []
        for pattern in self.moments.patterns:
            known = np.zeros(self.n_nodes, bool)
            known[pattern.filled] = True
            parts.append(_Part(Shape.of(self.ends, known), pattern.weight, pattern.mean, pattern.second))
        return parts

    def split(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the correlations of edges, and the means and standard deviations of columns, in standard units."""
        edges, mean, log_std = np.split(point, [len(self.ends), len(self.ends) + self.moments.n_columns])
        return np.tanh(edges), mean, np.exp(log_std)

    def _step_from(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        correlation, mean, std = self.split(point)
        try:
            value, sums, squares, products = self.expected(correlation, mean, std)
        except FloatingPointError:
            return -np.inf, point
        return value, self._updated(mean, std, sums, squares, products)

    def expected(self, correlation: np.ndarray, mean: np.ndarray, std: np.ndarray) -> RowMoments:
        """Return the log-likelihood, and mean expected moments in the units that ``mean`` and ``std`` stand for."""
        sums, squares = np.zeros(self.n_nodes), np.zeros(self.n_nodes)
        products, value = np.zeros(len(self.ends)), -self.moments.log_units
        for part in self._parts:
            known, unknown = part.shape.known, part.shape.unknown
            found = Inference.at(part.shape, correlation)
            centre, scale = mean[known], std[known]
            shift = np.outer(centre, part.mean)
            second = (part.second - shift - shift.T + np.outer(centre, centre)) / np.outer(scale, scale)
            first = (part.mean - centre) / scale
            expected = found.expected_moments(second)
            constant = 2 * float(np.log(scale).sum()) + len(known) * LOG_2_PI
            value -= part.weight * (found.log_determinant + expected.distance + constant) / 2
            sums[known] += part.weight * first
            sums[unknown] += part.weight * found.means(first[:, None])[:, 0]
            squares += part.weight * expected.squares
            products += part.weight * expected.products
        total = self.moments.filled_weight
        return RowMoments(value, sums / total, squares / total, products / total)

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the slope of the log-likelihood at a point.

        It is that of the expected log-likelihood of the completed rows (Fisher's identity).
        """
        correlation, mean, std = self.split(point)
        _, sums, squares, products = self.expected(correlation, mean, std)
        above, below = self.ends.T
        rest = 1 - correlation**2
        both = squares[above] + squares[below]
        edges = correlation - (correlation * both - products * (1 + correlation**2)) / rest
        own, off = correlation**2 / rest, correlation / rest
        n_columns = len(mean)
        weighted = np.bincount(self.ends.ravel(), np.repeat(own, 2), self.n_nodes) + 1
        pull = weighted * sums
        np.add.at(pull, above, -off * sums[below])
        np.add.at(pull, below, -off * sums[above])
        stretch = weighted * squares
        np.add.at(stretch, above, -off * products)
        np.add.at(stretch, below, -off * products)
        slopes = [edges, pull[:n_columns] / std, stretch[:n_columns] - 1]
        return self.moments.filled_weight * np.concatenate(slopes)

    def _updated(
        self, mean: np.ndarray, std: np.ndarray, sums: np.ndarray, squares: np.ndarray, products: np.ndarray
    ) -> np.ndarray:
        """Return the point after the M-step, given the mean moments of all nodes in the units of the last point."""
        n_columns, (above, below) = len(mean), self.ends.T
        scale = np.sqrt(np.maximum(squares - sums**2, 1e-300))
        new = (products - sums[above] * sums[below]) / (scale[above] * scale[below])
        return np.concatenate(
            [
                np.arctanh(np.clip(new, -MOST_CORRELATED, MOST_CORRELATED)),
                mean + std * sums[:n_columns],
                np.log(std * scale[:n_columns]),
            ]
        )

    def metric(self, point: np.ndarray) -> GaussianMetric:
        """Return how changes are measured: by what can be estimated from completed rows."""
        correlation, _, std = self.split(point)
        nodes = all_correlations(self.ends, self.n_nodes, correlation)
        n_columns, n_edges = self.moments.n_columns, len(self.ends)
        means = np.arange(n_edges, n_edges + n_columns)
        others = np.setdiff1d(np.arange(len(point)), means)
        spread = np.zeros((len(point), len(point)))
        spread[np.ix_(others, others)] = self._spread(nodes, correlation)
        spread[np.ix_(means, means)] = nodes[:n_columns, :n_columns] * np.outer(std, std)
        return self._metric(point, spread)


class RowsWithGaps(TableWithGaps):
    """The same, row by row: for tables in which nearly every row lacks other columns."""

    @cached_property
    def _messages(self) -> RowMessages:
        rows = self._rows
        return RowMessages(self.ends, self.n_nodes, rows.is_filled, rows.weights)

    @property
    def _rows(self) -> StandardRows:
        if self.moments.rows is None:
            raise ValueError("these moments are without rows; take TableWithGaps")
        return self.moments.rows

    def expected(self, correlation: np.ndarray, mean: np.ndarray, std: np.ndarray) -> RowMoments:
        """Return the log-likelihood, and mean expected moments in the units that ``mean`` and ``std`` stand for."""
        rows, total = self._rows, self.moments.filled_weight
        standard = (rows.values - mean[:, None] * rows.is_filled) / std[:, None]
        value, sums, squares, products = self._messages.moments(correlation, standard)
        value -= self.moments.log_units + float(np.log(std) @ (rows.is_filled @ rows.weights))
        return RowMoments(value, sums / total, squares / total, products / total)
