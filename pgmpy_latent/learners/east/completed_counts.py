"""Data completion: expected counts of the table as the current model completes it."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import rel_entr, xlogy

from pgmpy_latent.learners.local.node_messages import NodeMessages


def expected_log_likelihood(counts: np.ndarray) -> float:
    """Return the log-likelihood of counts (parent's state, child's state) under the best table of the child.

    Examples
    --------
    >>> round(expected_log_likelihood(np.array([[3.0, 1.0], [0.0, 2.0]])), 4)
    -2.2493
    """
    return float(xlogy(counts, counts).sum() - xlogy(counts.sum(axis=1), counts.sum(axis=1)).sum())


class CompletedCounts:
    """Expected counts of the completed table, and statistics of nodes from them; section 4 of the EAST paper.

    Nodes are given by index; ``around(node)`` in the messages has the order of neighbours.

    Parameters
    ----------
    messages : NodeMessages
        The current tree and the table.
    """

    def __init__(self, messages: NodeMessages):
        self.messages = messages
        self._pairs: dict[tuple[int, int], np.ndarray] = {}
        self._dependences: dict[int, np.ndarray] = {}

    def __reduce__(self):  # workers count again
        return CompletedCounts, (self.messages,)

    @cached_property
    def total(self) -> float:
        """Total weight of the rows."""
        return float(self.messages.weights.sum())

    def single(self, node: int) -> np.ndarray:
        """Return the expected counts of the states of a node."""
        return self.messages.weights @ self.messages.posterior(node)

    def pair(self, above: int | None, below: int) -> np.ndarray:
        """Return the expected joint counts of two nodes, adjacent or not; None is a parent with one state."""
        if above is None:
            return self.messages.weights[None] @ self.messages.posterior(below)
        if (above, below) not in self._pairs:
            counts = self.messages.walk.pair_count(above, below, self.messages.weights)
            self._pairs[above, below], self._pairs[below, above] = counts, counts.T
        return self._pairs[above, below]

    def triple(self, node: int, left: int, right: int) -> np.ndarray:
        """Return the expected joint counts of a node and two of its neighbours."""
        star, around = self.messages.star(node), self.messages.around[node]
        places = [around.index(left), around.index(right)]
        columns, rows = (slice(star.starts[at], star.starts[at] + star.cards[at]) for at in places)
        return self.messages.completed(node)[:, columns, rows]

    def dependence(self, node: int) -> np.ndarray:
        """Return G² of all pairs of neighbours of a node, for the hypothesis that they are independent given it."""
        if node in self._dependences:
            return self._dependences[node]
        counts, star = self.messages.completed(node), self.messages.star(node)
        joint = np.add.reduceat(np.add.reduceat(xlogy(counts, counts), star.starts, axis=-2), star.starts, axis=-1)
        single = np.add.reduceat(counts, star.starts, axis=2)[:, :, 0]  # summed over another neighbour's states
        alone = np.add.reduceat(xlogy(single, single), star.starts, axis=1).sum(axis=0)
        shares = single[:, : star.cards[0]].sum(axis=1)
        g_squared = 2 * (joint.sum(axis=0) - alone[:, None] - alone[None] + xlogy(shares, shares).sum())
        np.fill_diagonal(g_squared, 0.0)
        self._dependences[node] = np.maximum(g_squared, 0.0)
        return self._dependences[node]

    def divergence(self, node: int) -> float:
        """Return how badly a node models pairs of its neighbours: their divergence, averaged over pairs."""
        star = self.messages.star(node)
        seen = self.messages.completed(node).sum(axis=0) / self.total
        modelled = (star.rows * star.share[:, None]).T @ star.rows
        parts = [slice(first, first + card) for first, card in zip(star.starts, star.cards, strict=True)]
        pairs = combinations(parts, 2)
        return float(np.mean([rel_entr(seen[left, right], modelled[left, right]).sum() for left, right in pairs]))
