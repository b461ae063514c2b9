"""The neighbourhood of one hidden node: the model in which EM runs around a node alone.

A node and its neighbours, with everything further away turned into evidence, are a latent class model: its classes are
the states of the node, its columns the neighbours. :class:`Neighbourhood` is that model, for any number
of states; its log-likelihood is the one of the whole tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pgmpy_latent.inference.plan import Evidence, Plan, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.operators.star import Star
from pgmpy_latent.runtime.arrays import largest_in_rows

#: Least share of the variance of a state that a numeric column has in its halves: a shift of means uses some of it up.
LEAST_LEFT = 0.25
#: Most numbers of messages that are stored: 32 MB.
MOST_STORED = 2**22


class Neighbourhood:
    """The latent class model around one hidden node.

    Parameters
    ----------
    plan : Plan
        Over the node and its neighbours, with the node as the root.
    center : int
        Position of the node in the plan.
    neighbours : sequence of int
        Positions of its neighbours, in the order of the star's columns.
    cards : int array
        Numbers of states of the neighbours.
    weights : array
        Of the rows.
    """

    def __init__(self, plan: Plan, center: int, neighbours: Sequence[int], cards: np.ndarray, weights: np.ndarray):
        self.plan = plan
        self.center = center
        self.neighbours = list(neighbours)
        self.cards = np.asarray(cards, dtype=np.int64)
        self.weights = weights
        self._engines: dict[int, TreeEngine] = {}

    @property
    def n_shared(self) -> int:
        """How many neighbours are numeric columns with one variance for all states."""
        return sum(emission.is_shared for emission in self.plan.emissions.values())

    def engine(self, n_states: int, weights: np.ndarray | None = None) -> TreeEngine:
        """Return the engine for a number of states, with other weights if given."""
        cards = np.empty(len(self.cards) + 1, dtype=np.int64)
        cards[self.center] = n_states
        cards[self.neighbours] = self.cards
        if weights is not None:
            return TreeEngine(self.plan, cards, weights)
        if n_states not in self._engines:
            self._engines[n_states] = TreeEngine(self.plan, cards, self.weights)
        return self._engines[n_states]

    def flat(self, stars: Sequence[Star]) -> np.ndarray:
        """Return the tables of stars with equally many states: (stars, size)."""
        parts: list[np.ndarray] = [np.empty(0)] * (len(self.cards) + 1)
        parts[self.center] = np.stack([star.share for star in stars])
        rows = np.stack([star.rows for star in stars])
        ends = np.cumsum(self.cards)
        for node, first, end in zip(self.neighbours, ends - self.cards, ends, strict=True):
            parts[node] = rows[:, :, first:end].reshape(len(stars), -1)
        return np.concatenate(parts, axis=1)

    def star(self, flat: np.ndarray, n_states: int) -> Star:
        """Return the star with these flat tables."""
        tables = self.engine(n_states).layout.unpack(flat)
        rows = np.concatenate([tables[node] for node in self.neighbours], axis=1)
        return Star(tables[self.center][0].copy(), rows, self.cards)

    def posterior(self, star: Star) -> np.ndarray:
        """Return P(state | row): (rows, states)."""
        return self.engine(star.n_states).beliefs(self.flat([star])[0], [self.center])[0]

    def log_likelihoods(self, stars: Sequence[Star]) -> np.ndarray:
        """Return the log-likelihood of the whole tree under each star."""
        return self.engine(stars[0].n_states).log_likelihood(self.flat(stars))

    def part(self, rows: np.ndarray, weights: np.ndarray) -> Neighbourhood:
        """Return the same model for some of the rows, with weights of their own."""
        pieces = {node: tuple(piece.of(rows) for piece in own) for node, own in self.plan.evidence.items()}
        constants = self.plan.given_constants
        plan = compile_plan(
            self.plan.parents,
            pieces,
            pivots=[self.center],
            row_constants=None if constants is None else constants[rows],
        )
        return Neighbourhood(plan, self.center, self.neighbours, self.cards, weights)

    def widened(self, halves: Star, whole: Star) -> Star:
        """Return halves of a state in which no numeric column has much less variance than in the state."""
        emissions = self.plan.emissions
        if not emissions:
            return halves
        rows = halves.rows.copy()
        for node, first, card in zip(self.neighbours, halves.starts, self.cards, strict=True):
            if node in emissions and emissions[node].is_gaussian:
                place = (slice(None), slice(first, first + card))
                before, after = (emissions[node].parameters(star.rows[place]) for star in (whole, halves))
                least = np.maximum(after.variance, LEAST_LEFT * before.variance)
                rows[place] = emissions[node].table(after.mean, least)
        return Star(halves.share, rows, halves.cards)

    @property
    def messages(self) -> Messages:
        """The messages of the rows about every neighbour."""
        return Messages(self)

    @cached_property
    def stored_messages(self) -> Messages | np.ndarray:
        """The same, computed once for all rows where that does not take much memory."""
        size = len(self.weights) * int(self.cards.sum())
        return self.messages[:] if size <= MOST_STORED else self.messages


def star_model(evidence: Sequence[Evidence], weights: np.ndarray) -> Neighbourhood:
    """Return the latent class model of a node, given the evidence about each of its neighbours.

    Examples
    --------
    >>> seen = Evidence(np.array([0, 1, 1]), 2)
    >>> here = star_model([seen, seen], np.ones(3))
    >>> round(float(here.log_likelihoods([Star(np.ones(1), np.full((1, 4), 0.5), here.cards)])[0]), 4)
    -4.1589
    """
    plan = compile_plan([-1, *[0] * len(evidence)], dict(enumerate(evidence, start=1)), pivots=[0])
    return Neighbourhood(plan, 0, range(1, len(evidence) + 1), np.array([one.n_states for one in evidence]), weights)


class Messages:
    """Messages of rows about the neighbours, side by side, each up to a factor; computed for the rows asked for.

    ``messages[rows]`` is an array of shape (rows, sum of the neighbours' states).
    """

    def __init__(self, neighbourhood: Neighbourhood):
        self.neighbourhood = neighbourhood

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        here = self.neighbourhood
        columns = [
            self._of(here.plan.evidence.get(node, ()), int(card), rows)
            for node, card in zip(here.neighbours, here.cards, strict=True)
        ]
        return np.concatenate(columns, axis=1)

    def _of(self, pieces: Sequence[Evidence], card: int, rows: np.ndarray | slice) -> np.ndarray:
        product = np.ones((len(self.neighbourhood.weights[rows]), card))
        for piece in pieces:
            product = product * piece.shown(rows)
            largest = largest_in_rows(product)
            product = np.divide(product, largest, out=product, where=largest > 0)
        return product
