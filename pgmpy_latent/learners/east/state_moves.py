"""Moves that change the number of states of a hidden node: introduce and delete states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Self

import numpy as np
from scipy.special import xlogy

from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove
from pgmpy_latent.learners.east.completed_counts import expected_log_likelihood
from pgmpy_latent.learners.east.evaluation import Evaluation
from pgmpy_latent.learners.east.move import DELETE_STATES, EXPAND, Move
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.local.directions import NEGLIGIBLE, data_directions
from pgmpy_latent.learners.local.node_states import best_splits
from pgmpy_latent.learners.local.pairs import losses
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import regular_bound
from pgmpy_latent.operators import star as stars
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.operators.star import Star, with_star

#: How many merges of two states a state deletion starts with: those of the most similar states.
MERGES = 12
#: From more splits than this, partial EM chooses some that a state introduction starts with.
MANY_SPLITS, CHOSEN_SPLITS = 16, 4


@dataclass(frozen=True)
class _ChangeStates(Move):
    """One state more or less: all tables around the node are free."""

    node: Hashable

    may_settle = True

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """The node whose states change."""
        return (self.node,)

    def is_undone_by(self, move: Move, fresh: Collection[Hashable]) -> bool:
        """By changing the number of states again."""
        return isinstance(move, _ChangeStates) and move.node == self.node

    def apply(self, tree: LatentTree, changed: ChangedTables) -> LatentTree:
        """Put the new tables around the node in place."""
        return with_star(tree, tree.index(self.node), changed.whole_star, range(changed.whole_star.n_states))

    @abstractmethod
    def starts(self, evaluation: Evaluation) -> list[Star]:
        """Return tables around the node that local EM starts with."""

    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """All tables around the node are free."""
        node = evaluation.tree.index(self.node)
        here, star = evaluation.messages.neighbourhood(node), evaluation.messages.star(node)
        starts = self.starts(evaluation)
        n_states = starts[0].n_states
        base = float(here.log_likelihoods([star])[0])
        fit = evaluation.search.fit(here.engine(n_states), here.flat(starts), **evaluation.em_options)
        n_more = (n_states - star.n_states) * (1 + int((star.cards - 1).sum()) - here.n_shared)
        changed = ChangedTables(self.node, star=here.star(fit.tables, n_states))
        return evaluation.scored(self, fit.log_likelihood - base, n_more, changed)


@dataclass(frozen=True)
class Grow(_ChangeStates):
    """State introduction: starts are splits of the states."""

    operator = "introduce state"
    phase = EXPAND
    takes_long = True
    ranked_by_need = True

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return the hidden nodes that may have one state more."""
        return [
            cls(name)
            for name in tree.latent_names
            if tree.cards[tree.index(name)] < min(regular_bound(tree, name), rules.max_states)
        ]

    def starts(self, evaluation: Evaluation) -> list[Star]:
        """Split every state along the directions in which its rows vary most."""
        messages, rng = evaluation.messages, evaluation.rng(self)
        node = evaluation.tree.index(self.node)
        here, star = messages.neighbourhood(node), messages.star(node)
        each = max(1, -(-evaluation.settings.n_starts // star.n_states))
        shifts = []
        for state in range(star.n_states):
            weights = messages.weights * messages.posterior(node)[:, state]
            if (weights > NEGLIGIBLE * weights.max()).sum() < 2:
                continue  # the same row over and over
            directions = data_directions(star, state, here.messages, weights, each, rng)
            shifts += [(state, shift) for shift in directions if np.any(shift)]
        if evaluation.counts_first and len(shifts) > MANY_SPLITS:
            starts = best_splits(here, star, messages.posterior(node), shifts, CHOSEN_SPLITS, evaluation.search)
        else:
            starts = [stars.split(star, state, shift) for state, shift in shifts]
        return starts or [stars.split(star, 0, np.zeros(star.rows.shape[1]))]

    def need(self, evaluation: Evaluation) -> float:
        """How badly the node models pairs of its neighbours."""
        return evaluation.counts.divergence(evaluation.tree.index(self.node))


@dataclass(frozen=True)
class Shrink(_ChangeStates):
    """State deletion; a node that is left with one state is then removed."""

    operator = "delete state"
    phase = DELETE_STATES

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return the hidden nodes that may have one state less; with one state they cannot hold columns together."""
        moves = []
        for name in tree.latent_names:
            node = tree.index(name)
            free = tree.cards[node] == 2 and all(len(unit) == 1 for unit in rules.units(tree, node))
            if tree.cards[node] > 2 or free:
                moves.append(cls(name))
        return moves

    def starts(self, evaluation: Evaluation) -> list[Star]:
        """Merge the most similar states, and remove every state."""
        star = evaluation.messages.star(evaluation.tree.index(self.node))
        apart = losses(star.share[:, None] * star.rows)
        nearest = np.argsort(apart, axis=None, kind="stable")[: min(MERGES, comb(star.n_states, 2))]
        starts = stars.merge_pairs(star, [divmod(int(at), star.n_states) for at in nearest])
        if star.n_states > 2:
            starts += [stars.remove(star, state) for state in range(star.n_states)]
        return starts

    def evaluate_on_counts(self, evaluation: Evaluation) -> EvaluatedMove:
        """Merge the two states that lose least."""
        node, counts = evaluation.tree.index(self.node), evaluation.counts
        star = evaluation.messages.star(node)
        rows = np.concatenate([counts.pair(node, other) for other in evaluation.messages.around[node]], axis=1)
        share = counts.single(node)
        tables = np.concatenate([normalised(part) for part in star.parts(rows)], axis=1)
        completed = Star(share / share.sum(), tables, star.cards)
        base = _star_value(share, rows, star, counts.total)
        best, least = (0, 1), np.inf
        for pair in combinations(range(star.n_states), 2):
            loss = base - _star_value(_merged(share, pair), _merged(rows, pair), star, counts.total)
            if loss < least:
                best, least = pair, loss
        per_state = 1 + int((star.cards - 1).sum())
        changed = ChangedTables(self.node, star=stars.merge(completed, best))
        return evaluation.scored(self, -least, -per_state, changed)


def _star_value(share: np.ndarray, rows: np.ndarray, star: Star, total: float) -> float:
    """Return the expected log-likelihood of a node and of its neighbours given it."""
    return float(
        xlogy(share, share).sum()
        - xlogy(total, total)
        + sum(expected_log_likelihood(part) for part in star.parts(rows))
    )


def _merged(counts: np.ndarray, pair: Sequence[int]) -> np.ndarray:
    """Return counts by state with the rows of two states added up."""
    merged = counts.copy()
    merged[pair[0]] += merged[pair[1]]
    return np.delete(merged, pair[1], axis=0)
