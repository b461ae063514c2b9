"""Exact inference row by row, for all rows at once: messages along the edges of a Gaussian forest.

For tables in which nearly every row lacks other columns. What the columns behind a node say about it is a precision and
a weighted value (of a normal likelihood, up to a factor), one of each per row. These run from the leaves to the root of
every tree; on the way back, the mean and the variance of a node given its parent and what is behind it give those given
the whole row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pgmpy_latent.gaussian.shape import LOG_2_PI


class RowMoments(NamedTuple):
    """Expected moments of nodes and edges, summed over rows by their weights.

    Attributes
    ----------
    value : float
        The log-likelihood.
    sums, squares : arrays, shape (n_nodes,)
        Of the nodes.
    products : array, shape (n_edges,)
        Of the two ends of each edge.
    """

    value: float
    sums: np.ndarray
    squares: np.ndarray
    products: np.ndarray


class RowMessages:
    """The forest as messages run through it.

    Parameters
    ----------
    ends : int array, shape (n_edges, 2)
    n_nodes : int
    is_filled : bool array, shape (n_columns, n_rows)
        The columns are the first nodes.
    weights : array, shape (n_rows,)

    Examples
    --------
    >>> messages = RowMessages(np.array([[1, 0]]), 2, np.array([[True, False]]), np.ones(2))
    >>> found = messages.moments(np.array([0.8]), np.array([[1.0, 0.0]]))
    >>> found.sums.round(6).tolist(), found.squares.round(6).tolist(), found.products.round(6).tolist()
    ([1.0, 0.8], [2.0, 2.0], [1.6])
    """

    def __init__(self, ends: np.ndarray, n_nodes: int, is_filled: np.ndarray, weights: np.ndarray):
        self.n_nodes, self.n_edges = n_nodes, len(ends)
        self.is_filled = is_filled
        self.n_columns = len(is_filled)
        self.share = is_filled.astype(float)
        self.weights = weights
        around: list[list[tuple[int, int]]] = [[] for _ in range(n_nodes)]
        for edge, (left, right) in enumerate(ends.tolist()):
            around[left].append((right, edge))
            around[right].append((left, edge))
        self.roots: list[int] = []
        #: (node, parent, edge), parents first.
        self.walk: list[tuple[int, int, int]] = []
        self.is_leaf = [len(others) == 1 for others in around]
        seen = [False] * n_nodes
        for root in sorted(range(n_nodes), key=lambda node: -len(around[node])):
            if seen[root]:
                continue
            seen[root] = True
            self.is_leaf[root] = False
            self.roots.append(root)
            reached = [root]
            for node in reached:  # grows while it is walked
                for other, edge in around[node]:
                    if not seen[other]:
                        seen[other] = True
                        self.walk.append((other, node, edge))
                        reached.append(other)

    def moments(self, correlation: np.ndarray, rows: np.ndarray) -> RowMoments:
        """Return the expected moments at some correlations.

        Parameters
        ----------
        correlation : array, shape (n_edges,)
        rows : array, shape (n_columns, n_rows)
            In standard units; 0 where a cell is missing.
        """
        shape = self.n_nodes, len(self.weights)
        precision, force, value = np.zeros(shape), np.zeros(shape), np.zeros(shape[1])
        for node, above, edge in reversed(self.walk):
            said = self._upward(node, float(correlation[edge]), precision[node], force[node], rows)
            precision[above] += said[0]
            force[above] += said[1]
            value += said[2]
        mean, variance = np.empty(shape), np.empty(shape)
        for root in self.roots:
            damping = 1 / (1 + precision[root])
            unknown = (np.log(damping) + force[root] ** 2 * damping) / 2
            if root < self.n_columns:
                here, x = self.is_filled[root], rows[root]
                own = (force[root] - x * (1 + precision[root]) / 2) * x - LOG_2_PI / 2
                unknown = np.where(here, own, unknown)
                mean[root] = np.where(here, x, force[root] * damping)
                variance[root] = np.where(here, 0.0, damping)
            else:
                mean[root], variance[root] = force[root] * damping, damping
            value += unknown
        products = np.empty(self.n_edges)
        for node, above, edge in self.walk:
            slope = self._downward(node, above, float(correlation[edge]), precision, force, mean, variance, rows)
            products[edge] = self.weights @ (mean[node] * mean[above] + slope * variance[above])
        return RowMoments(
            float(self.weights @ value), mean @ self.weights, (mean**2 + variance) @ self.weights, products
        )

    def _upward(
        self, node: int, r: float, precision: np.ndarray, force: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what a node and all behind it say about its parent: precision, force, and the log of the factor."""
        rest = 1 - r**2
        constant = -(LOG_2_PI + np.log(rest)) / 2
        if self.is_leaf[node] and node < self.n_columns:
            x, share = rows[node], self.share[node]
            return r**2 / rest * share, r / rest * x, constant * share - x**2 / (2 * rest)
        damping = 1 / (1 + precision * rest)
        said = (
            r**2 * precision * damping,
            r * force * damping,
            (np.log(damping) + force**2 * rest * damping) / 2,
        )
        if node >= self.n_columns:
            return said
        here, x = self.is_filled[node], rows[node]
        own = r**2 / rest, r / rest * x, constant + (force - x * (precision + 1 / rest) / 2) * x
        return tuple(np.where(here, known, unknown) for known, unknown in zip(own, said, strict=True))  # type: ignore

    def _downward(
        self,
        node: int,
        above: int,
        r: float,
        precision: np.ndarray,
        force: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        rows: np.ndarray,
    ) -> np.ndarray:
        """Set the mean and the variance of a node given the rows; return its slope on its parent, 0 where filled."""
        rest = 1 - r**2
        damping = 1 / (1 + precision[node] * rest)
        slope = r * damping
        own = rest * damping
        centre, spread = slope * mean[above] + own * force[node], own + slope**2 * variance[above]
        if node >= self.n_columns:
            mean[node], variance[node] = centre, spread
            return slope
        here = self.is_filled[node]
        mean[node], variance[node] = np.where(here, rows[node], centre), np.where(here, 0.0, spread)
        return np.where(here, 0.0, slope)
