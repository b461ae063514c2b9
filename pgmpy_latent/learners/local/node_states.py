"""One hidden node of a model: the most promising splits and merges of its states, and EM from there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Unpack

import numpy as np

from pgmpy_latent import scores
from pgmpy_latent.em.fit import narrowed_in_groups
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.local.directions import NEGLIGIBLE, data_directions, random_directions, random_star
from pgmpy_latent.learners.local.neighbourhood import Neighbourhood
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.search import FitOptions, Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import star as stars
from pgmpy_latent.operators.star import Star

#: Most candidates whose log-likelihood is computed at once.
BATCH = 256
#: Iterations of partial EM, and how many splits of a state are kept after them: it chooses among splits, and EM on the
#: whole goes on from there. And the same where no effort is spared.
PARTIAL_STAGES, THOROUGH_STAGES = [(4, 1)], [(4, 3), (8, 2), (16, 1)]
#: Splits of every state, and narrowing of candidates, where no effort is spared. EM is slow to leave equal halves: the
#: best candidate need not be ahead after a few iterations, so few are dropped then.
THOROUGH_SPLITS, THOROUGH_NARROWING = 9, 1.2
#: Rows that belong to a state with a smaller probability are left out of its partial EM: they could change its gain by
#: no more than this, relative to their weight.
BELONGS = 1e-12
#: So many rows are left out at least: for fewer, a plan without them would take longer to make than it saves.
LEFT_OUT = 1000
#: Random starts of a restart, and most rounds of splits and merges that improve their result.
RESTARTS, IMPROVEMENTS = 64, 3
#: How near to 0 and 1 the random splits of the thesis go.
EDGE = 1e-6


@dataclass(frozen=True)
class Options:
    """How candidates are made and chosen; see :class:`~pgmpy_latent.SplitMerge`, which has them as arguments."""

    directions: str = "data"
    n_splits: int = 4
    perturbation: float = 0.5
    partial: bool = True
    local: bool = True
    introduce: bool = False
    adjustments: str = "all"
    n_candidates: int | None = 8
    n_merge_candidates: int | None = 8
    n_screened: int | None = 64
    narrowing: float = 2.0
    merge_narrowing: float = 2.0
    thorough: bool = False


@dataclass(frozen=True, eq=False)
class Split:
    """A state to split, its two halves after partial EM, and by how much the log-likelihood rises at least."""

    gain: float
    state: int
    halves: Star


@dataclass(frozen=True, eq=False)
class Merge:
    """Two states to merge, and by how much the log-likelihood falls before EM."""

    loss: float
    states: tuple[int, int]


def unsplit(alone: Star) -> Star:
    """Return the star of a single state as two equal halves."""
    return stars.split(alone, 0, np.zeros(alone.rows.shape[1]))


def engine_of_halves(
    here: Neighbourhood, belongs: np.ndarray, left_out: int | None = LEFT_OUT
) -> tuple[TreeEngine, Neighbourhood]:
    """Return what runs partial EM: the two halves of a state, on the rows that belong to it.

    Parameters
    ----------
    here : Neighbourhood
        The latent class model around the node.
    belongs : array, shape (rows,)
        Probability of the state given each row.
    left_out : int, optional
        Rows that do not belong to the state are left out if there are so many; None leaves out none.
    """
    weights = here.weights * belongs
    rows = np.flatnonzero(belongs > BELONGS)
    if left_out is not None and len(weights) - len(rows) >= left_out:
        weights = weights[rows]
        here = here.part(rows, weights)
    return here.engine(2, weights), here


def best_splits(
    here: Neighbourhood,
    star: Star,
    posterior: np.ndarray,
    shifts: Iterable[tuple[int, np.ndarray]],
    n: int,
    search: Search,
) -> list[Star]:
    """Return the stars that the most promising splits lead to, by a few iterations of partial EM.

    Parameters
    ----------
    here, star
        The latent class model around a node, and its tables.
    posterior : array, shape (rows, states)
        P(state | row).
    shifts : pairs of a state and how far its halves are moved apart
        The splits.
    n : int
        How many of them are returned, the ones that raise the log-likelihood most.
    search : Search
        Says when to stop.
    """
    found = []
    for state, shift in shifts:
        search.tick()
        alone = Star(np.ones(1), star.rows[[state]], star.cards)
        engine, part = engine_of_halves(here, posterior[:, state])
        before = engine.log_likelihood(part.flat([unsplit(alone)])[0])
        flat = part.flat([stars.split(alone, 0, shift)])
        group, prior = np.zeros(1, np.int64), search.settings.prior
        tables, values, _ = narrowed_in_groups(engine, flat, group, PARTIAL_STAGES, prior, search.clock)
        if len(values) and np.isfinite(values[0]):
            found.append((float(values[0] - before), state, part.star(tables[0], 2)))
    found.sort(key=lambda split: -split[0])
    return [stars.substitute(star, state, halves) for _, state, halves in found[:n]]


class NodeStates:
    """A hidden node of a fitted model, and the changes of its states that were tried.

    Parameters
    ----------
    fitter : TreeFitter
        Fits models.
    options : Options
        How candidates are made.
    node : hashable
        The hidden node.
    log_likelihood : float
        Of the model.
    key : tuple of int
        First numbers of the seeds of its candidates.
    tree : LatentTree, optional
        The model; or
    around : (LatentTree, Neighbourhood, Star), optional
        an older model of which only the star has changed.
    origin : NodeStates, optional
        The model that is to be improved upon, if this is not it.
    """

    def __init__(
        self,
        fitter: TreeFitter,
        options: Options,
        node: Hashable,
        log_likelihood: float,
        key: tuple[int, ...],
        *,
        tree: LatentTree | None = None,
        around: tuple[LatentTree, Neighbourhood, Star] | None = None,
        origin: NodeStates | None = None,
    ):
        self.fitter = fitter
        self.search = fitter.search
        self.options = options
        self.node = node
        self.log_likelihood = log_likelihood
        self.key = key
        self._tree = tree
        self._around = around
        self.origin = self if origin is None else origin

    @cached_property
    def tree(self) -> LatentTree:
        """The whole model."""
        if self._around is not None:
            base, _, star = self._around
            return self._with(base, star)
        if self._tree is None:
            raise ValueError("give a tree, or a star and the tree around it")
        return self._tree

    def _with(self, tree: LatentTree, star: Star) -> LatentTree:
        return stars.with_star(tree, tree.index(self.node), star, range(star.n_states))

    @cached_property
    def _here(self) -> tuple[Neighbourhood, Star]:
        return self._around[1:] if self._around is not None else self.fitter.neighbourhood(self.tree, self.node)

    @property
    def neighbourhood(self) -> Neighbourhood:
        """The latent class model around the node."""
        return self._here[0]

    @property
    def star(self) -> Star:
        """The tables around the node."""
        return self._here[1]

    @property
    def n_states(self) -> int:
        """Number of states of the node."""
        return self.star.n_states

    @cached_property
    def posterior(self) -> np.ndarray:
        """P(state | row)."""
        return self.neighbourhood.posterior(self.star)

    def fitted(self, candidates: Sequence[Star], label: int, **options: Unpack[FitOptions]) -> NodeStates:
        """Run EM from one or more candidates with equally many states; return the best.

        Local EM changes the star only; else EM changes the whole model.
        """
        key = (*self.key, label)
        n_states = candidates[0].n_states
        options.setdefault("n_jobs", self.search.n_jobs)
        if self.options.local or self.fitter.is_star:
            engine = self.neighbourhood.engine(n_states)
            if self._may_give_up(n_states):
                options.setdefault("target", self.origin.log_likelihood)
            fit = self.search.fit(engine, self.neighbourhood.flat(candidates), **options)
            around = (self.tree, self.neighbourhood, self.neighbourhood.star(fit.tables, n_states))
            return self._next(fit.log_likelihood, key, around=around)
        trees = [self._with(self.tree, star) for star in candidates]
        tree, fit = self.fitter.fit(trees, **options)
        return self._next(fit.log_likelihood, key, tree=tree)

    def _may_give_up(self, n_states: int) -> bool:
        """Tell whether only candidates that beat the origin are of use, and log-likelihoods say which do."""
        return self._log_likelihoods_decide and n_states == self.origin.n_states

    @property
    def _log_likelihoods_decide(self) -> bool:
        """Whether what EM maximises here is the log-likelihood of the final candidate, and EM can tell what is left."""
        settings = self.search.settings
        return self.fitter.is_star and not settings.prior and settings.stop == "remaining"

    def _next(self, log_likelihood: float, key: tuple[int, ...], **model) -> NodeStates:
        return NodeStates(self.fitter, self.options, self.node, log_likelihood, key, origin=self.origin, **model)

    # One state more

    @cached_property
    def splits(self) -> list[Split]:
        """Splits of single states, the most promising first."""
        splits = [split for split in self.search.map(self._best_split, self._states_to_split()) if split is not None]
        return sorted(splits, key=lambda split: -split.gain)

    def _states_to_split(self) -> list[int]:
        """Return the states whose data differ most from their probabilities (chapter 8 of the thesis)."""
        states = np.array([state for state in range(self.n_states) if self._can_split(state)], dtype=np.int64)
        limit = self.options.n_screened
        if limit is None or len(states) <= limit:
            return states.tolist()
        surprise = self._surprise()[states]
        return np.sort(states[np.argsort(-surprise, kind="stable")[:limit]]).tolist()

    def _can_split(self, state: int) -> bool:
        """Tell whether a state gives different rows positive probability, and different rows belong to it."""
        weights = self.neighbourhood.weights * self.posterior[:, state]
        if (weights > NEGLIGIBLE * weights.max()).sum() < 2:
            return False
        return bool(stars.several_possible(self.star, state).any())

    def _surprise(self) -> np.ndarray:
        """Return, for each state, weight times KL(data of the state, the state), the most that a split can gain."""
        engine = self.neighbourhood.engine(1)
        alone = [Star(np.ones(1), self.star.rows[[state]], self.star.cards) for state in range(self.n_states)]
        with np.errstate(invalid="ignore"):
            logs = engine.row_log_likelihoods(self.neighbourhood.flat(alone))
            weights = self.neighbourhood.weights * self.posterior.T
            shares = weights / weights.sum(axis=1, keepdims=True)
            terms = np.where(weights > 0, weights * (np.log(np.maximum(shares, 1e-300)) - logs), 0.0)
        return terms.sum(axis=1)

    def _halves(self, state: int, alone: Star) -> list[Star]:
        """Return the halves of a state, each pair a star of two states."""
        options, rng = self.options, np.random.default_rng(self.search.seed(*self.key, state))
        if options.directions == "clipped":
            halves = [stars.split_clipped(alone, 0, options.perturbation, EDGE, rng) for _ in range(options.n_splits)]
        else:
            halves = [stars.split(alone, 0, shift) for shift in self._shifts(state, rng) if np.any(shift)]
        return [self.neighbourhood.widened(half, alone) for half in halves]

    def _shifts(self, state: int, rng: np.random.Generator) -> list[np.ndarray]:
        options, star = self.options, self.star
        if options.directions == "thesis":
            size = options.perturbation
            return [stars.uniform_shift(star, state, size, EDGE, rng) for _ in range(options.n_splits)]
        if options.directions == "random":
            return random_directions(star, state, options.n_splits, options.perturbation, rng)
        at_random = options.n_splits // 3
        weights, messages = self.neighbourhood.weights * self.posterior[:, state], self.neighbourhood.stored_messages
        by_data = data_directions(star, state, messages, weights, options.n_splits - at_random, rng)
        return by_data + random_directions(star, state, at_random, options.perturbation, rng)

    def _best_split(self, state: int) -> Split | None:
        """Split a state in all directions and let partial EM choose: two states, on the data that belong to them."""
        self.search.tick()
        alone = Star(np.ones(1), self.star.rows[[state]], self.star.cards)
        halves = self._halves(state, alone)
        if not halves:
            return None
        engine, here = engine_of_halves(
            self.neighbourhood, self.posterior[:, state], LEFT_OUT if self._is_quick else None
        )
        before = engine.log_likelihood(here.flat([unsplit(alone)])[0])
        table, value = self._partial_em(engine, here.flat(halves))
        return Split(float(value - before), state, here.star(table, 2)) if np.isfinite(value) else None

    @property
    def _is_quick(self) -> bool:
        """Whether partial EM chooses among splits after a few iterations.

        Otherwise it runs to its end: the tiny perturbations of the thesis need long to leave the saddle point between
        two equal halves.
        """
        return self.search.settings.stop == "remaining" and self.options.directions != "thesis"

    def _partial_em(self, engine: TreeEngine, flat: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the best of several splits, and its log-likelihood."""
        if self.options.partial and not self._is_quick:
            fit = self.search.fit(engine, flat, narrowing=self.options.narrowing)
            return fit.tables, fit.log_likelihood
        stages = THOROUGH_STAGES if self.options.thorough else PARTIAL_STAGES
        stages = stages if self.options.partial else [(0, 1)]
        one_group, prior = np.zeros(len(flat), np.int64), self.search.settings.prior
        tables, values, _ = narrowed_in_groups(engine, flat, one_group, stages, prior, self.search.clock)
        return (tables[0], values[0]) if len(values) else (flat[0], -np.inf)

    @cached_property
    def grown(self) -> NodeStates | None:
        """The best model found with one state more."""
        candidates = self._split_stars
        return self.fitted(candidates, 1, narrowing=self.options.narrowing) if candidates else None

    @property
    def _split_stars(self) -> list[Star]:
        """The candidates with one state more."""
        chosen = self.splits[: self.options.n_candidates]
        candidates = [stars.substitute(self.star, split.state, split.halves) for split in chosen]
        return candidates + self._introductions() if self.options.introduce else candidates

    def _introductions(self) -> list[Star]:
        """Return stars with a new state for the rows that the model gives far too little probability."""
        weights = self.neighbourhood.weights
        engine = self.neighbourhood.engine(self.n_states)
        logs = engine.row_log_likelihoods(self.neighbourhood.flat([self.star])[0])
        lacking = weights * (np.log(weights / weights.sum()) - logs)
        worst = np.argsort(-lacking, kind="stable")[: self.options.n_candidates or 8]
        usual = self.star.share @ self.star.rows
        new = []
        for row, message in zip(worst, self.neighbourhood.messages[worst], strict=True):
            seen = usual * message
            seen = seen / self.star.per_neighbour(seen)
            share = float(np.clip(weights[row] / weights.sum(), 0.01, 0.5))
            new.append(stars.introduce(self.star, share, (seen + usual) / 2))
        return new

    # One state less

    @cached_property
    def merges(self) -> list[Merge]:
        """Merges of two states, the least harmful first."""
        pairs = self._pairs_to_merge()
        merged = stars.merge_pairs(self.star, pairs)
        losses = self.log_likelihood - self._log_likelihoods(merged)
        order = np.argsort(losses, kind="stable")
        return [Merge(float(losses[at]), pairs[at]) for at in order]

    def _log_likelihoods(self, candidates: Sequence[Star]) -> np.ndarray:
        batches = [candidates[first : first + BATCH] for first in range(0, len(candidates), BATCH)]
        values = self.search.map(self.neighbourhood.log_likelihoods, batches)
        self.search.tick()
        return np.concatenate(values) if values else np.empty(0)

    def _pairs_to_merge(self) -> list[tuple[int, int]]:
        """Return the pairs of states that lose least if every row stays where it is."""
        pairs = list(combinations(range(self.n_states), 2))
        limit = self.options.n_screened
        if limit is None or len(pairs) <= limit:
            return pairs
        loss = self.neighbourhood.weights.sum() * stars.merge_losses(self.star, self.star)
        losses = np.array([loss[pair] for pair in pairs])
        return [pairs[at] for at in np.argsort(losses, kind="stable")[:limit]]

    @cached_property
    def shrunk(self) -> NodeStates | None:
        """The best model found with one state less."""
        if self.n_states < 2:
            return None
        chosen = self.merges[: self.options.n_merge_candidates]
        candidates = [stars.merge(self.star, merge.states) for merge in chosen]
        if self.options.introduce:
            candidates += [stars.remove(self.star, state) for state in range(self.n_states)]
        return self.fitted(candidates, 2, narrowing=self.options.merge_narrowing) if candidates else None

    # A last look

    @cached_property
    def thorough(self) -> NodeStates:
        """The same model, with more splits of every state, chosen with more care."""
        options = replace(
            self.options,
            n_splits=max(THOROUGH_SPLITS, self.options.n_splits),
            narrowing=min(THOROUGH_NARROWING, self.options.narrowing),
            thorough=True,
        )
        key = (*self.key, 0, 0)
        again = NodeStates(
            self.fitter, options, self.node, self.log_likelihood, key, tree=self._tree, around=self._around
        )
        again._here, again.posterior = self._here, self.posterior
        return again

    def grown_to_the_end(self, price: float) -> NodeStates | None:
        """Return the best model with one state more that EM finds when it runs to its end.

        Where classes are hard to tell apart, that takes thousands of iterations. Candidates that will not gain
        ``price``, by extrapolation, are given up on the way.
        """
        candidates = self._split_stars
        if not candidates:
            return None
        target = self.log_likelihood + price if self._log_likelihoods_decide else -np.inf
        max_iter = self.search.settings.max_iter
        return self.fitted(candidates, 1, narrowing=self.options.narrowing, max_iter=max_iter, target=target)

    # The same number of states

    def there_and_back(self, depth: int) -> Iterator[tuple[str, NodeStates]]:
        """Yield models on the way back from ``depth`` states more, and from as many less (Definition 6.1 has one)."""
        names = {"grown": "split", "shrunk": "merge"}
        ways = (("shrunk", "grown"), ("grown", "shrunk"))
        for there, back in ways if self.options.adjustments == "all" else ways[:1]:
            node_states: NodeStates | None = self
            for number in range(2 * depth):
                node_states = getattr(node_states, there if number < depth else back)
                if node_states is None:
                    break
                if number >= depth:
                    yield f"{names[there]} {depth}, {names[back]} {number - depth + 1}", node_states

    def exchanged(self) -> Iterator[tuple[str, NodeStates]]:
        """Yield models in which one state is split and two are merged at the same time."""
        most = self.options.n_merge_candidates
        n = None if most is None else 4 * most
        ways = ((3, "swap", self._swaps), (4, "reassign", self._reassignments))
        for label, name, candidates in ways if self.options.adjustments == "all" else ways[1:]:
            if changed := candidates(n):
                yield name, self.fitted(changed, label, narrowing=self.options.merge_narrowing)

    def restarted(self, number: int, n_states: int) -> NodeStates | None:
        """Return a model from random starts, improved by splitting and merging."""
        if n_states < 2:
            return None
        here = self.neighbourhood
        rng = np.random.default_rng(self.search.seed(*self.key, 0, number, 0))  # no model below has such a key
        fresh = []
        for _ in range(RESTARTS):
            self.search.tick()
            fresh.append(random_star(self.star, n_states, here.stored_messages, here.weights, rng))
        node_states = self._from_now_on(
            self.fitted(fresh, 5 + number, narrowing=self.options.narrowing, target=-np.inf)
        )
        near = self.log_likelihood + (n_states - self.n_states - 1) * self.worth
        for _ in range(IMPROVEMENTS):
            if node_states.log_likelihood < near:
                break  # too far below to catch up
            best = max(
                (changed for _, changed in (*node_states.there_and_back(1), *node_states.exchanged())),
                key=lambda changed: changed.log_likelihood,
                default=node_states,
            )
            if best.log_likelihood <= node_states.log_likelihood + self.search.settings.search_tol:
                break
            node_states = self._from_now_on(best)
        return node_states

    @property
    def worth(self) -> float:
        """What a state of this node costs, by the penalty of its parameters."""
        per_state = self.star.rows.shape[1] - len(self.star.cards) + 1
        return per_state * scores.penalty_per_parameter(self.neighbourhood.weights.sum())

    @staticmethod
    def _from_now_on(node_states: NodeStates) -> NodeStates:
        """Measure improvements against this model."""
        node_states.origin = node_states
        return node_states

    def _swaps(self, n: int | None) -> list[Star]:
        """Return stars in which one state is split and two others are merged."""
        options = [
            (split.gain - merge.loss, split, merge)
            for split in self.splits
            for merge in self.merges[:n]
            if split.state not in merge.states
        ]
        options.sort(key=lambda option: -option[0])
        return [
            stars.merge(stars.substitute(self.star, split.state, split.halves), merge.states)
            for _, split, merge in options[:n]
        ]

    def _reassignments(self, n: int | None) -> list[Star]:
        """Return stars in which a half of a state joined another state (Procedure 6.4, second part)."""
        candidates: list[Star] = []
        for split, pairs in self._pairs_to_reassign():
            candidates += stars.merge_pairs(stars.substitute(self.star, split.state, split.halves), pairs)
        order = np.argsort(-self._log_likelihoods(candidates), kind="stable")
        return [candidates[at] for at in order[:n]]

    def _pairs_to_reassign(self) -> Iterator[tuple[Split, list[tuple[int, int]]]]:
        """Yield splits, with the pairs of a state and a half that gain most if every row stays where it is then."""
        total, limit = self.neighbourhood.weights.sum(), self.options.n_screened
        gains = np.full((len(self.splits), 2, self.n_states), -np.inf)
        for at, split in enumerate(self.splits):
            parts = Star(self.star.share[split.state] * split.halves.share, split.halves.rows, self.star.cards)
            gains[at] = split.gain - total * stars.merge_losses(parts, self.star)
            gains[at, :, split.state] = -np.inf
        chosen = np.isfinite(gains)
        if limit is not None and chosen.sum() > limit:
            chosen &= gains >= np.sort(gains, axis=None)[-limit]
        for split, its in zip(self.splits, chosen, strict=True):
            names = (split.state, self.n_states)
            yield split, [(int(state), names[half]) for half, state in np.argwhere(its)]
