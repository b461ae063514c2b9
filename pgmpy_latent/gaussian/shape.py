"""Exact inference in a Gaussian tree: hidden nodes given columns, from second moments of the columns alone.

The precision matrix of all nodes is as sparse as the tree. With ``P`` its block over the unknown nodes and ``Q`` that
between unknown and known ones, the unknown nodes given a row ``x`` are normal with covariance ``V = P**-1`` and mean
``-V Q x``. Both the likelihood and all expected moments are then functions of the second moments of the columns, and
cost the same for any number of rows. ``Q`` has an entry per edge, so that products with it are sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Shape:
    """The edges of a forest, sorted by what is known of their ends.

    Attributes
    ----------
    n_nodes : int
    ends : int array, shape (n_edges, 2)
        The nodes of every edge.
    known, unknown : int arrays
        Nodes whose values the rows have, and all others.
    both, mixed, neither : int arrays
        Edges between known nodes, between an unknown and a known one, and between unknown ones.
    mixed_ends, both_ends, neither_ends : int arrays, shape (n, 2)
        Their ends, as positions among the unknown and the known nodes; of mixed edges the unknown one first.
    by_unknown : int array
        The mixed edges in the order of their unknown ends.
    first_of_unknown : int array
        Where in this order each unknown end begins.
    with_known : int array
        The unknown nodes that have mixed edges, as positions.
    """

    n_nodes: int
    ends: np.ndarray
    known: np.ndarray
    unknown: np.ndarray
    both: np.ndarray
    mixed: np.ndarray
    neither: np.ndarray
    both_ends: np.ndarray
    mixed_ends: np.ndarray
    neither_ends: np.ndarray
    by_unknown: np.ndarray
    first_of_unknown: np.ndarray
    with_known: np.ndarray

    @classmethod
    def of(cls, ends: np.ndarray, is_known: np.ndarray) -> Shape:
        """Return the shape of a forest, given the ends of its edges and which nodes are known.

        Examples
        --------
        >>> shape = Shape.of(np.array([[0, 1], [0, 2]]), np.array([False, True, True]))
        >>> shape.mixed_ends.tolist()
        [[0, 0], [0, 1]]
        """
        ends = np.asarray(ends, np.int64).reshape(-1, 2)
        known, unknown = np.flatnonzero(is_known), np.flatnonzero(~is_known)
        place = np.empty(len(is_known), np.int64)
        place[known], place[unknown] = np.arange(len(known)), np.arange(len(unknown))
        n_known = is_known[ends].sum(axis=1)
        both, mixed, neither = (np.flatnonzero(n_known == n) for n in (2, 1, 0))
        turned = np.where(is_known[ends[mixed, :1]], ends[mixed][:, ::-1], ends[mixed])
        mixed_ends = place[turned]
        by_unknown = np.argsort(mixed_ends[:, 0], kind="stable")
        with_known, first = np.unique(mixed_ends[by_unknown, 0], return_index=True)
        return cls(
            len(is_known), ends, known, unknown, both, mixed, neither, place[ends[both]], mixed_ends,
            place[ends[neither]], by_unknown, first, with_known,
        )  # fmt: skip

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.ends)

    def sums_by_unknown(self, terms: np.ndarray) -> np.ndarray:
        """Return, for every unknown node, the sum of what its mixed edges have; edges run along the first axis."""
        sums = np.zeros((len(self.unknown), *terms.shape[1:]))
        if len(self.mixed):
            sums[self.with_known] = np.add.reduceat(terms[self.by_unknown], self.first_of_unknown, axis=0)
        return sums


class Inference(NamedTuple):
    """The distribution of the unknown nodes given the known ones, at some correlations of the edges.

    Attributes
    ----------
    shape : Shape
    log_determinant : float
        Of the correlation matrix of the known nodes.
    diagonal, off : arrays
        The precision matrix of all nodes: its diagonal, and its entries at the edges.
    covariance : array, shape (n_unknown, n_unknown)
        Of the unknown nodes given the known ones.
    """

    shape: Shape
    log_determinant: float
    diagonal: np.ndarray
    off: np.ndarray
    covariance: np.ndarray

    @classmethod
    def at(cls, shape: Shape, correlation: np.ndarray) -> Inference:
        """Return the distribution at some correlations, one per edge.

        Examples
        --------
        >>> shape = Shape.of(np.array([[0, 1], [0, 2]]), np.array([False, True, True]))
        >>> found = Inference.at(shape, np.array([0.8, -0.5]))
        >>> round(float(np.exp(found.log_determinant)), 6), found.covariance.round(6).tolist()
        (0.84, [[0.321429]])
        """
        rest = 1 - correlation**2
        off = -correlation / rest
        own = correlation**2 / rest
        diagonal = 1 + np.bincount(shape.ends.ravel(), np.repeat(own, 2), shape.n_nodes)
        log_determinant = float(np.log(rest).sum())
        n_unknown = len(shape.unknown)
        if not n_unknown:
            return cls(shape, log_determinant, diagonal, off, np.zeros((0, 0)))
        precision = np.zeros((n_unknown, n_unknown), order="F")
        precision[np.arange(n_unknown), np.arange(n_unknown)] = diagonal[shape.unknown]
        precision[shape.neither_ends.min(axis=1), shape.neither_ends.max(axis=1)] = off[shape.neither]
        factor, failed = lapack.dpotrf(precision, overwrite_a=1)
        if failed:
            raise FloatingPointError("correlations are too close to 1 for this arithmetic")
        log_determinant += 2 * float(np.log(factor.diagonal()).sum())
        covariance, _ = lapack.dpotri(factor, overwrite_c=1)
        covariance += np.triu(covariance, 1).T
        return cls(shape, log_determinant, diagonal, off, covariance)

    def forces(self, rows: np.ndarray) -> np.ndarray:
        """Return what known values say about each unknown node: ``-Q x``; known nodes run along the first axis."""
        shape = self.shape
        weight = -self.off[shape.mixed]
        return shape.sums_by_unknown(weight.reshape(-1, *[1] * (rows.ndim - 1)) * rows[shape.mixed_ends[:, 1]])

    def means(self, rows: np.ndarray) -> np.ndarray:
        """Return the means of the unknown nodes given rows; (n_known, n_rows) becomes (n_unknown, n_rows)."""
        return self.covariance @ self.forces(rows)

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared Mahalanobis distance of each row, given (n_known, n_rows)."""
        shape, forces = self.shape, self.forces(rows)
        total = self.diagonal[shape.known] @ rows**2
        total += 2 * self.off[shape.both] @ (rows[shape.both_ends[:, 0]] * rows[shape.both_ends[:, 1]])
        return total - (forces * (self.covariance @ forces)).sum(axis=0)

    def expected_moments(self, moments: np.ndarray) -> Moments:
        """Return the expected second moments of all nodes and edges, given those of the known nodes."""
        shape, covariance, known = self.shape, self.covariance, self.shape.known
        squares, products = np.empty(shape.n_nodes), np.empty(shape.n_edges)
        squares[known] = moments.diagonal()
        products[shape.both] = moments[shape.both_ends[:, 0], shape.both_ends[:, 1]]
        distance = self.diagonal[known] @ squares[known] + 2 * self.off[shape.both] @ products[shape.both]
        if len(shape.unknown):
            half = self.forces(moments)  # (n_unknown, n_known)
            both = self.forces(half.T)  # symmetric
            spread = covariance @ both
            distance -= spread.trace()
            squares[shape.unknown] = covariance.diagonal() + (spread * covariance).sum(axis=1)
            upper, lower = shape.neither_ends.T
            products[shape.neither] = covariance[upper, lower] + (spread[upper] * covariance[lower]).sum(axis=1)
            hidden, column = shape.mixed_ends.T
            products[shape.mixed] = (covariance[hidden] * half[:, column].T).sum(axis=1)
        return Moments(squares, products, float(distance))


class Moments(NamedTuple):
    """Expected second moments of all nodes, and of the two ends of every edge; and the mean Mahalanobis distance."""

    squares: np.ndarray
    products: np.ndarray
    distance: float


def all_correlations(ends: np.ndarray, n_nodes: int, correlation: np.ndarray) -> np.ndarray:
    """Return the correlations of all pairs of nodes: the product over the path between them.

    Examples
    --------
    >>> all_correlations(np.array([[0, 1], [0, 2]]), 3, np.array([0.8, -0.5]))[1].tolist()
    [0.8, 1.0, -0.4]
    """
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(n_nodes)]
    for (left, right), value in zip(ends.tolist(), correlation.tolist(), strict=True):
        neighbours[left].append((right, value))
        neighbours[right].append((left, value))
    matrix, seen = np.eye(n_nodes), np.zeros(n_nodes, bool)
    for root in range(n_nodes):
        if seen[root]:
            continue
        members, queue = [root], [root]
        seen[root] = True
        for node in queue:  # grows while it is walked
            for other, value in neighbours[node]:
                if not seen[other]:
                    seen[other] = True
                    matrix[other, members] = matrix[members, other] = value * matrix[node, members]
                    members.append(other)
                    queue.append(other)
    return matrix
