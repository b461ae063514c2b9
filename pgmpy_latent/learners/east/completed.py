"""Data completion: how good a candidate is on the table as the current model completes it, from counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import rel_entr, xlogy

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.east.moves import Delete, Grow, Introduce, Local, Relocate, Shrink
from pgmpy_latent.learners.east.restricted import Candidate, Restricted, n_more_deleted, n_more_introduced
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.operators import star as stars
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.operators.star import Star

#: Iterations of EM on completed counts.
STEPS = 15


def expected_log_likelihood(counts: np.ndarray) -> float:
    """Return the log-likelihood of counts (parent's state, child's state) under the best table of the child.

    Examples
    --------
    >>> round(expected_log_likelihood(np.array([[3.0, 1.0], [0.0, 2.0]])), 4)
    -2.2493
    """
    return float(xlogy(counts, counts).sum() - xlogy(counts.sum(axis=1), counts.sum(axis=1)).sum())


class Completed:
    """Scores of candidates on completed data; section 4 of the EAST paper.

    Parameters
    ----------
    outlook : NodeMessages
        The current tree, seen from its nodes.
    restricted : Restricted
        Runs EM, and evaluates what counts cannot.
    """

    def __init__(self, outlook: NodeMessages, restricted: Restricted):
        self.outlook = outlook
        self.tree = outlook.tree
        self.restricted = restricted
        self.penalty = restricted.penalty
        self._pairs: dict[tuple[int, int], np.ndarray] = {}
        self._known_dependences: dict = {}

    def __reduce__(self):  # counts are taken anew
        return Completed, (self.outlook, self.restricted)

    # -- counts ---------------------------------------------------------------------------------------------------

    def counts(self, node: int) -> np.ndarray:
        """Return expected counts of a node and pairs of its neighbours; see :meth:`NodeMessages.completed`."""
        return self.outlook.completed(node)

    def pair(self, above: int, below: int) -> np.ndarray:
        """Return expected joint counts of two nodes, adjacent or not."""
        if (above, below) not in self._pairs:
            found = self.outlook.walk.pair_count(above, below, self.outlook.weights)
            self._pairs[above, below], self._pairs[below, above] = found, found.T
        return self._pairs[above, below]

    @cached_property
    def _total(self) -> float:
        return float(self.outlook.weights.sum())

    # -- expansion ------------------------------------------------------------------------------------------------

    def dependence(self, node: int) -> np.ndarray:
        """Return G² of all pairs of neighbours of a node, for the hypothesis that they are independent given it."""
        counts, star = self.counts(node), self.outlook.star(node)

        def blocks(values: np.ndarray) -> np.ndarray:
            return np.add.reduceat(np.add.reduceat(values, star.starts, axis=-2), star.starts, axis=-1)

        joint = blocks(xlogy(counts, counts)).sum(axis=0)
        single = np.add.reduceat(counts, star.starts, axis=2)[:, :, 0]  # summed over another neighbour's states
        alone = np.add.reduceat(xlogy(single, single), star.starts, axis=1).sum(axis=0)
        shares = single[:, : star.cards[0]].sum(axis=1)
        found = 2 * (joint - alone[:, None] - alone[None] + xlogy(shares, shares).sum())
        np.fill_diagonal(found, 0.0)
        return np.maximum(found, 0.0)

    def introduction(self, move: Introduce) -> float:
        """Return G²: how far the neighbours in question are from being independent given the node."""
        around = self.outlook.around[self.tree.index(move.node)]
        places = [around.index(self.tree.index(name)) for name in move.moved]
        found = self._dependences(move.node)
        return float(sum(found[pair] for pair in combinations(places, 2)))

    def _dependences(self, name) -> np.ndarray:
        if name not in self._known_dependences:
            self._known_dependences[name] = self.dependence(self.tree.index(name))
        return self._known_dependences[name]

    def growth(self, move: Grow) -> float:
        """Return how badly the node models pairs of its neighbours: their divergence, averaged over pairs."""
        node = self.tree.index(move.node)
        star = self.outlook.star(node)
        seen = self.counts(node).sum(axis=0) / self._total
        modelled = (star.rows * star.share[:, None]).T @ star.rows
        pairs = list(combinations(range(len(star.cards)), 2))
        parts = [slice(first, first + card) for first, card in zip(star.starts, star.cards, strict=True)]
        return float(
            np.mean([rel_entr(seen[parts[a], parts[b]], modelled[parts[a], parts[b]]).sum() for a, b in pairs])
        )

    # -- adjustment and simplification ----------------------------------------------------------------------------

    def candidate(self, move: Relocate | Shrink | Delete) -> Candidate:
        """Evaluate a move by the expected log-likelihood of the completed table."""
        evaluate = {Relocate: self._relocate, Shrink: self._shrink, Delete: self._delete}
        return evaluate[type(move)](move)

    def _relocate(self, move: Relocate) -> Candidate:
        tree = self.tree
        moved = [tree.index(name) for name in move.moved]
        ends = [None if end is None else tree.index(end) for end in (move.old, move.new)]
        old, new = ([self._hung(end, node) for node in moved] for end in ends)
        gain = sum(map(expected_log_likelihood, new)) - sum(map(expected_log_likelihood, old))
        beyond = int((tree.cards[moved] - 1).sum())
        rows = [1 if end is None else int(tree.cards[end]) for end in ends]
        root = move.moved[0] if move.new is None else move.new
        tables = dict(zip(move.moved, map(normalised, new), strict=True))
        return self.restricted.made(move, gain, (rows[1] - rows[0]) * beyond, Local(root, tables))

    def _hung(self, above: int | None, below: int) -> np.ndarray:
        if above is None:
            return self.outlook.weights[None] @ self.outlook.posterior(below)
        return self.pair(above, below)

    def _delete(self, move: Delete) -> Candidate:
        """Without the node, whose own part of the log-likelihood is left out with it."""
        tree = self.tree
        gone, into = tree.index(move.node), tree.index(move.into)
        moved = [other for other in self.outlook.around[gone] if other != into]
        new = [self.pair(into, other) for other in moved]
        gain = sum(map(expected_log_likelihood, new)) - expected_log_likelihood(self.pair(into, gone))
        gain -= sum(expected_log_likelihood(self.pair(gone, other)) for other in moved)
        names = [tree.names[other] for other in moved]
        return self.restricted.made(
            move,
            gain,
            n_more_deleted(tree, move),
            Local(move.into, dict(zip(names, map(normalised, new), strict=True))),
        )

    def _shrink(self, move: Shrink) -> Candidate:
        """With the two states merged that lose least."""
        node = self.tree.index(move.node)
        star = self.outlook.star(node)
        rows = np.concatenate([self.pair(node, other) for other in self.outlook.around[node]], axis=1)
        share = self.outlook.weights @ self.outlook.posterior(node)
        completed = Star(share / share.sum(), self._star_rows(rows, star), star.cards)
        base = self._star_value(share, rows, star)
        best, least = (0, 1), np.inf
        for pair in combinations(range(star.n_states), 2):
            loss = base - self._star_value(*(_merged(counts, pair) for counts in (share, rows)), star)
            if loss < least:
                best, least = pair, loss
        per_state = 1 + int((star.cards - 1).sum())
        return self.restricted.made(move, -least, -per_state, Local(move.node, star=stars.merge(completed, best)))

    @staticmethod
    def _star_rows(counts: np.ndarray, star: Star) -> np.ndarray:
        return np.concatenate([normalised(part) for part in star.parts(counts)], axis=1)

    def _star_value(self, share: np.ndarray, rows: np.ndarray, star: Star) -> float:
        """Return the expected log-likelihood of a node and its neighbours given it."""
        return float(
            xlogy(share, share).sum()
            - xlogy(self._total, self._total)
            + sum(expected_log_likelihood(part) for part in star.parts(rows))
        )

    # -- new nodes, fitted to the counts --------------------------------------------------------------------------

    def introduce(self, move: Introduce, table: np.ndarray | None = None) -> Candidate:
        """Fit a new node to the counts of the old one and its two neighbours, with as many states as BIC prefers.

        The log-likelihood of the whole tree rises by no less than that of the completed counts does.

        Parameters
        ----------
        move : Introduce
            The move.
        table : array, optional
            :meth:`table` of the move, for a worker that has not counted.
        """
        if len(move.moved) != 2:
            return self.restricted.introduce(move)
        table = self.table(move) if table is None else table
        cells = np.argwhere(table > 0)
        weights = table[tuple(cells.T)]
        rng = self.restricted.rng(move)
        apart = expected_log_likelihood(table.sum(axis=2)) + expected_log_likelihood(table.sum(axis=1))
        best = None
        for n_states in range(2, move.n_states + 1):
            tried = replace(move, n_states=n_states)
            candidate = self._fitted(tried, cells, weights, apart, rng)
            if best is not None and candidate.score <= best.score:
                break
            best = candidate
        return best

    def table(self, move: Introduce) -> np.ndarray | None:
        """Return the expected counts of the old node and its two neighbours; None if there are more."""
        if len(move.moved) != 2:
            return None
        node = self.tree.index(move.node)
        star, around = self.outlook.star(node), self.outlook.around[node]
        places = [around.index(self.tree.index(name)) for name in move.moved]
        left, right = (slice(star.starts[at], star.starts[at] + star.cards[at]) for at in places)
        return self.counts(node)[:, left, right]

    def _fitted(
        self, move: Introduce, cells: np.ndarray, weights: np.ndarray, apart: float, rng: np.random.Generator
    ) -> Candidate:
        cards = [int(self.tree.cards[self.tree.index(name)]) for name in (move.node, *move.moved)]
        evidence = {
            at: Evidence(np.ascontiguousarray(cells[:, column]), card)
            for at, column, card in zip((0, 2, 3), range(3), cards, strict=True)
        }
        engine = TreeEngine(compile_plan([-1, 0, 1, 1], evidence), [cards[0], move.n_states, *cards[1:]], weights)
        starts = np.stack([random_tables(engine.layout, rng) for _ in range(self.restricted.n_starts)])
        found = self.restricted.search.fit(
            engine, starts, prior=0.0, narrowing=2.0, max_iter=STEPS, atol=self.restricted.tolerance
        )
        own, between, *below = engine.layout.unpack(found.tables)
        node_part = float(xlogy(weights, own[0][cells[:, 0]]).sum())
        local = Local(move.node, {None: between.copy()} | {n: t.copy() for n, t in zip(move.moved, below, strict=True)})
        return self.restricted.made(
            move, found.log_likelihood - node_part - apart, n_more_introduced(self.tree, move), local
        )


def _merged(counts: np.ndarray, pair: Sequence[int]) -> np.ndarray:
    """Return counts by state with the rows of two states added up."""
    merged = counts.copy()
    merged[pair[0]] += merged[pair[1]]
    return np.delete(merged, pair[1], axis=0)
