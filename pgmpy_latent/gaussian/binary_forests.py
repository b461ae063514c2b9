"""Binary forests from the bottom up: two roots at a time get a hidden parent (BIN-G and BIN-A for numbers)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pgmpy_latent.gaussian.first_forests import DECIMALS, information_of
from pgmpy_latent.gaussian.forest import Forest
from pgmpy_latent.learners.forests.bin_a import merges_of

#: Bounds on the loadings of a pair.
LEAST, MOST = 0.1, 0.99


class Roots:
    """The roots of a growing forest: their scores, and how these are correlated.

    Parameters
    ----------
    correlations : array, shape (n_columns, n_columns)
        Of the columns.
    weight : float
        Of all rows.
    cost : float
        What an edge must gain.

    Examples
    --------
    >>> roots = Roots(np.array([[1.0, 0.64, 0.4], [0.64, 1.0, 0.4], [0.4, 0.4, 1.0]]), 100.0, 2.3)
    >>> roots.join(0, 1), roots.edges
    (3, {(0, 3): 0.8, (1, 3): 0.8})
    """

    def __init__(self, correlations: np.ndarray, weight: float, cost: float):
        n_columns = len(correlations)
        self.columns = correlations
        self.n_columns = n_columns
        self.scores = np.eye(n_columns)
        self.reliability = np.ones(n_columns)  # correlation of a root with its score
        self.correlations = correlations.copy()
        self.alive = np.ones(n_columns, bool)
        self.weight = weight
        self.cost = cost
        self.edges: dict[tuple[int, int], float] = {}

    def is_worth_it(self, left: int, right: int) -> bool:
        """Tell whether an edge between two roots gains more than it costs."""
        return float(self.weight * information_of(self.correlations[left, right])) > self.cost

    def join(self, left: int, right: int) -> int:
        """Give two roots a hidden parent, with equal loadings; return its number."""
        seen = float(self.correlations[left, right])
        latent = np.clip(seen / (self.reliability[left] * self.reliability[right]), -MOST, MOST)
        loading = float(np.clip(np.sqrt(abs(latent)), LEAST, MOST))
        new, sign = len(self.scores), -1.0 if seen < 0 else 1.0
        self.edges[left, new], self.edges[right, new] = loading, sign * loading
        across = np.array([loading * self.reliability[left], sign * loading * self.reliability[right]])
        within = np.array([[1.0, np.clip(seen, -MOST, MOST)], [np.clip(seen, -MOST, MOST), 1.0]])
        weights = np.linalg.solve(within, across)
        score = weights @ self.scores[[left, right]]
        spread = float(np.sqrt(score @ self.columns @ score))
        self._append(score / spread, float(np.clip(weights @ across / np.sqrt(weights @ within @ weights), LEAST, 1.0)))
        self.alive[[left, right]] = False
        return new

    def _append(self, score: np.ndarray, reliability: float) -> None:
        self.scores = np.vstack([self.scores, score])
        self.reliability = np.append(self.reliability, reliability)
        self.alive = np.append(self.alive, True)
        with_all = np.clip(self.scores @ (self.columns @ score), -1.0, 1.0)
        with_all[-1] = 1.0
        self.correlations = np.block([[self.correlations, with_all[:-1, None]], [with_all[None, :]]])

    def forest(self) -> Forest:
        """Return the forest so far."""
        return Forest.of_edges(self.n_columns, len(self.scores), self.edges)


def closest_first(correlations: np.ndarray, weight: float, cost: float) -> Forest:
    """Join the two roots with the highest mutual information, as long as an edge between them is worth it.

    Examples
    --------
    >>> closest_first(np.array([[1.0, 0.64, 0.4], [0.64, 1.0, 0.4], [0.4, 0.4, 1.0]]), 100.0, 2.3).ends.tolist()
    [[0, 3], [1, 3], [2, 4], [3, 4]]
    """
    roots = Roots(correlations, weight, cost)
    while roots.alive.sum() > 1:
        strength = np.abs(roots.correlations).round(DECIMALS)
        strength[~roots.alive] = -1.0
        strength[:, ~roots.alive] = -1.0
        strength[np.tril_indices(len(strength))] = -1.0
        left, right = map(int, np.unravel_index(int(np.argmax(strength)), strength.shape))
        if not roots.is_worth_it(left, right):
            break
        roots.join(left, right)
    return roots.forest()


def clustered(
    correlations: np.ndarray,
    weight: float,
    cost: float,
    linkage: str,
    merges: Callable[[np.ndarray, str], np.ndarray] = merges_of,
) -> Forest:
    """Join what agglomerative clustering joins; where an edge is not worth it, the forest falls apart.

    Examples
    --------
    >>> correlations = np.array([[1.0, 0.64, 0.0], [0.64, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> clustered(correlations, 100.0, 2.3, "average").ends.tolist()
    [[0, 3], [1, 3]]
    """
    roots = Roots(correlations, weight, cost)
    slots: list[int | None] = list(range(len(correlations)))
    for first, second in merges(information_of(correlations), linkage).tolist():
        left, right = slots[first], slots[second]
        joins = left is not None and right is not None and roots.is_worth_it(left, right)
        slots.append(roots.join(left, right) if joins and left is not None and right is not None else None)
    return roots.forest()
