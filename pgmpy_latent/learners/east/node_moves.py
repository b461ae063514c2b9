"""Moves that change which hidden nodes there are: introduce, delete and join nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Self

import numpy as np
from scipy.special import xlogy

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import Evidence, Plan, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.east.blocks import Block, BlockMessages, distinct, star_log_likelihood
from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove
from pgmpy_latent.learners.east.completed_counts import expected_log_likelihood
from pgmpy_latent.learners.east.evaluation import Evaluation, leaf_model
from pgmpy_latent.learners.east.move import DELETE_NODES, EXPAND, Move, start_table, with_tables
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.local.simplify import Simplifier, n_shared_around, n_star_parameters
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import bound_from_cards, contract_edge, delete_node, introduce_node, root_walk
from pgmpy_latent.operators.edges import neighbours_of, normalised
from pgmpy_latent.operators.regularity import UNBOUNDED
from pgmpy_latent.operators.star import with_star

#: Iterations of EM on completed counts.
COUNT_STEPS = 15


@dataclass(frozen=True)
class Introduce(Move):
    """Node introduction: a new hidden node between a node and some of its neighbours.

    A hidden node must be left with at least three neighbours, the new one included. The new node has as many states as
    the old one, or as many as a regular tree allows.
    """

    node: Hashable
    moved: tuple[Hashable, ...]
    n_states: int

    operator = "introduce node"
    phase = EXPAND
    ranked_by_need = True
    counts_first = True

    def __str__(self) -> str:
        return f"{self.node}: {', '.join(map(str, self.moved))}"

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return all introductions between a node and two units of its neighbours, or one unit of several columns."""
        if tree.latent.sum() >= rules.max_latents:
            return []
        moves = []
        for node in np.flatnonzero(~tree.is_numeric).tolist():
            if rules.binds(tree.names[node]):
                continue
            units, degree = rules.units(tree, node), len(neighbours_of(tree, node))
            for chosen in [*((unit,) for unit in units if len(unit) > 1), *combinations(units, 2)]:
                moved = tuple(other for unit in chosen for other in unit)
                if degree - len(moved) >= 2 or not tree.latent[node]:
                    bound = _bound(tree, [node, *map(tree.index, moved)])
                    n_states = int(min(tree.cards[node], bound, rules.max_states))
                    if n_states > 1:
                        moves.append(cls(tree.names[node], moved, n_states))
        return moves

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """The node that gets a new neighbour."""
        return (self.node,)

    @property
    def names(self) -> frozenset:
        """The node, and the neighbours that are moved."""
        return frozenset([self.node, *self.moved])

    def blocks(self, messages: BlockMessages) -> set[Block | None]:
        """The blocks of the edges that are moved."""
        return {messages.of_edge(self.node, name) for name in self.moved}

    @property
    def place(self) -> Hashable:
        """Nodes take turns."""
        return self.node

    def is_possible(self, tree: LatentTree, rules: Rules) -> bool:
        """The number of states does not matter: it is adapted to the tree."""
        return self.names <= set(tree.names) and any(
            (self.node, self.moved) == (other.node, other.moved) for other in self.in_tree(tree, rules)
        )

    def check(self, tree: LatentTree) -> None:
        """The new node needs two states, and can use no more than its neighbours have together."""
        moved = [tree.index(name) for name in self.moved]
        most = UNBOUNDED if tree.is_numeric[moved].any() else np.prod(tree.cards[moved])
        if type(self.n_states) is not int or not 2 <= self.n_states <= most:
            raise ValueError(f"a new hidden variable is to have {self.n_states!r} states")

    def apply(self, tree: LatentTree, changed: ChangedTables) -> LatentTree:
        """The new node gets the first free name of H1, H2, and so on."""
        new = next(name for name in (f"H{number}" for number in count(1)) if name not in tree.names)
        tree = introduce_node(root_walk(tree, self.node), self.node, self.moved, new)
        return with_tables(tree, changed.tables, new)

    def takes_over(self, before: LatentTree, after: LatentTree) -> tuple[Hashable, Hashable] | None:
        """The new node may take over more neighbours of the old one."""
        new = [name for name in after.latent_names if name not in before.latent_names]
        return (self.node, new[0]) if new and self.node in after.names else None

    def n_more(self, tree: LatentTree) -> int:
        """Return how many parameters the tree gains."""
        card = int(tree.cards[tree.index(self.node)])
        below = int(sum(tree.per_state[tree.index(name)] for name in self.moved))
        return card * (self.n_states - 1) + (self.n_states - card) * below

    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """P(new | old) and P(moved | new) are free; starts are random."""
        return self.refine(evaluation, None)

    def refine(self, evaluation: Evaluation, counted: EvaluatedMove | None) -> EvaluatedMove:
        """Start with the tables that were fitted to counts, if there are any, besides random ones."""
        tree, messages = evaluation.tree, evaluation.messages
        node, moved = tree.index(self.node), [tree.index(name) for name in self.moved]
        rest = messages.rest_evidence(node, moved)
        parts, weights = distinct([rest, *(messages.message(other, node) for other in moved)], messages.weights)
        evidence = {0: parts[0]} | dict(enumerate(parts[1:], start=2))
        plan = compile_plan([-1, 0, *[1] * len(moved)], evidence, pivots=[0])
        card = int(tree.cards[node])
        engine = TreeEngine(plan, [card, self.n_states, *tree.cards[moved]], weights)
        ones = np.ones((1, card))  # ``rest`` includes the old node's distribution already
        rng = evaluation.rng(self)
        starts = [] if counted is None else [engine.layout.pack([ones, *counted.changed.tables.values()])]
        for _ in range(evaluation.settings.n_starts - len(starts)):
            share, new, *drawn = engine.layout.unpack(random_tables(engine.layout, rng))
            starts.append(engine.layout.pack([share, new, *self._with_numbers(evaluation, drawn)]))
        flat = np.stack(starts)
        flat[:, :card] = 1.0
        free = np.array([False, *[True] * (len(moved) + 1)])
        fit = evaluation.search.fit(engine, flat, free=free, **evaluation.em_options)
        changed = self._changed(engine.layout.unpack(fit.tables)[1:])
        base = star_log_likelihood(parts, [messages.given(node, other) for other in moved], weights)
        return evaluation.scored(self, fit.log_likelihood - base, self.n_more(tree), changed)

    def _changed(self, tables: Sequence[np.ndarray]) -> ChangedTables:
        names = (None, *self.moved)
        return ChangedTables(self.node, {name: table.copy() for name, table in zip(names, tables, strict=True)})

    def _with_numbers(self, evaluation: Evaluation, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return tables of the moved nodes, given those in which bins stand for numbers."""
        nodes = map(evaluation.tree.index, self.moved)
        return [evaluation.messages.from_bins(node, table) for node, table in zip(nodes, tables, strict=True)]

    def need(self, evaluation: Evaluation) -> float:
        """G²: how far the moved neighbours are from being independent given the old node."""
        node = evaluation.tree.index(self.node)
        around = evaluation.messages.around[node]
        places = [around.index(evaluation.tree.index(name)) for name in self.moved]
        dependence = evaluation.counts.dependence(node)
        return float(sum(dependence[pair] for pair in combinations(places, 2)))

    def completed_table(self, evaluation: Evaluation) -> np.ndarray | None:
        """Return the expected counts of the old node and its two neighbours; None if more are moved."""
        if len(self.moved) != 2:
            return None
        return evaluation.counts.triple(*(evaluation.tree.index(name) for name in (self.node, *self.moved)))

    def fit_counts(self, evaluation: Evaluation, table: np.ndarray | None = None) -> EvaluatedMove:
        """Fit the new node to the counts of the old one and the moved ones, with as many states as BIC prefers.

        The log-likelihood of the whole tree rises by no less than that of the completed counts.
        """
        table = self.completed_table(evaluation) if table is None else table
        return self.fit_counts_together([self], evaluation, [table])[0]

    @classmethod
    def fit_counts_together(
        cls, moves: Sequence[Self], evaluation: Evaluation, tables: Sequence[np.ndarray | None]
    ) -> list[EvaluatedMove]:
        """Fit new nodes to tables of the same shape: one EM for all, as they differ in nothing but their counts."""
        if tables[0] is None:
            return [move.refine(evaluation, None) for move in moves]
        counts = np.array(tables)
        shape, n_starts = counts.shape[1:], evaluation.settings.n_starts
        plan = _plan_of_cells(shape)
        rngs = [evaluation.rng(move) for move in moves]
        shares, apart = counts.reshape(len(moves), shape[0], -1).sum(axis=2), _log_likelihoods_apart(counts)
        best: list[EvaluatedMove | None] = [None] * len(moves)
        growing = list(range(len(moves)))
        for n_states in range(2, max(move.n_states for move in moves) + 1):
            growing = [at for at in growing if moves[at].n_states >= n_states]
            engine = TreeEngine(plan, [shape[0], n_states, *shape[1:]], counts[growing].reshape(len(growing), -1))
            starts = [random_tables(engine.layout, rngs[at]) for at in growing for _ in range(n_starts)]
            groups = np.repeat(np.arange(len(growing)), n_starts)
            fitted, values = evaluation.search.fit_groups(
                engine,
                np.stack(starts),
                groups,
                narrowing=2.0,
                max_iter=COUNT_STEPS,
                atol=evaluation.settings.tolerance,
            )
            left = []
            for at, flat, value in zip(growing, fitted, values, strict=True):
                share, *below = engine.layout.unpack(flat)
                gain = float(value - xlogy(shares[at], share[0]).sum() - apart[at])
                move = replace(moves[at], n_states=n_states)
                changed = move._changed([below[0], *move._with_numbers(evaluation, below[1:])])
                candidate = evaluation.scored(move, gain, move.n_more(evaluation.tree), changed)
                before = best[at]
                if before is None or candidate.score > before.score:
                    best[at] = candidate
                    left.append(at)
            growing = left
            if not growing:
                break
        return [one for one in best if one is not None]  # all of them: a new node has at least two states


@dataclass(frozen=True)
class Interpose(Introduce):
    """Node introduction on an edge: a new hidden node between two neighbours, with fewer states than either has.

    What two columns of many categories have in common then takes fewer parameters. ``n_states`` is the most that the
    new node may have. Not in the paper.
    """

    used_with = ("auto",)
    ranked_by_need = False
    counts_first = False

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return the edges of which both ends have three states or more, if columns may stand anywhere."""
        if tree.latent.sum() >= rules.max_latents or not rules.anywhere:
            return []
        moves = []
        for node, above in enumerate(tree.parent.tolist()):
            ends = (above, node)
            if above < 0 or tree.is_numeric[node] or any(rules.binds(tree.names[end]) for end in ends):
                continue
            n_states = int(min(bound_from_cards(tree.cards[list(ends)]), rules.max_states))
            if n_states > 1:
                moves.append(cls(tree.names[above], (tree.names[node],), n_states))
        return moves

    def is_possible(self, tree: LatentTree, rules: Rules) -> bool:
        """The edge must be there; which of its ends is above does not matter."""
        return any(self.names == other.names for other in self.in_tree(tree, rules))

    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """Counts of the two ends say how many states the new node gets, and where local EM starts."""
        ends = [evaluation.tree.index(name) for name in (self.node, *self.moved)]
        counted = self.fit_counts(evaluation, evaluation.counts.pair(*ends))
        return replace(counted.move.refine(evaluation, counted), move=self)


@dataclass(frozen=True)
class Delete(Move):
    """Node deletion: a neighbour, hidden or a column, takes over the other neighbours."""

    node: Hashable
    into: Hashable

    operator = "delete node"
    phase = DELETE_NODES
    may_settle = True

    def __str__(self) -> str:
        return f"{self.node} into {self.into}"

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return all pairs of a hidden node and a neighbour that can take over."""
        return [
            cls(name, tree.names[other])
            for name in tree.latent_names
            for other in neighbours_of(tree, tree.index(name))
            if tree.latent[other] or (rules.anywhere and not tree.is_numeric[other])
        ]

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """The deleted node, and the one that takes over."""
        return (self.node, self.into)

    @property
    def loosened(self) -> frozenset:
        """Both nodes."""
        return frozenset(self.nodes)

    def is_possible(self, tree: LatentTree, rules: Rules) -> bool:
        """The two nodes must be neighbours, and numeric columns have nothing below them."""
        return _are_neighbours(tree, self.node, self.into) and not tree.is_numeric[tree.index(self.into)]

    def apply(self, tree: LatentTree, changed: ChangedTables) -> LatentTree:
        """Seen from the node that takes over."""
        return with_tables(delete_node(root_walk(tree, self.into), self.node, self.into), changed.tables)

    def _moved(self, evaluation: Evaluation) -> list[int]:
        """Return the neighbours that are taken over."""
        gone, into = (evaluation.tree.index(name) for name in self.nodes)
        return [other for other in evaluation.messages.around[gone] if other != into]

    def n_more(self, evaluation: Evaluation) -> int:
        """Return how many parameters the tree gains; usually it loses some."""
        gone, into = (evaluation.tree.index(name) for name in self.nodes)
        cards = evaluation.tree.cards
        beyond = int(evaluation.tree.per_state[self._moved(evaluation)].sum())
        return int((cards[into] - cards[gone]) * beyond - cards[into] * (cards[gone] - 1))

    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """P(each neighbour of the deleted node | the node that takes over) is free."""
        tree, messages = evaluation.tree, evaluation.messages
        gone, into = (tree.index(name) for name in self.nodes)
        moved, n_more = self._moved(evaluation), self.n_more(evaluation)
        rest, between = messages.rest(into, [gone]), messages.given(into, gone)
        base = messages.log_likelihood_through(gone, moved, rest @ between)
        if not moved:
            log_likelihood = float(messages.weights @ np.log(rest.sum(axis=1)))
            return evaluation.scored(self, log_likelihood - base, n_more, ChangedTables(self.into, {}))
        starts = [start_table(messages, between, gone, other) for other in moved]
        evidence = [messages.message(other, gone) for other in moved]
        names = [tree.names[other] for other in moved]
        model = leaf_model(self.into, rest, names, evidence, starts, messages.weights)
        fit = evaluation.search.fit(model.engine, model.start, free=model.free, **evaluation.em_options)
        return evaluation.scored(self, fit.log_likelihood - base, n_more, model.changed(fit.tables))

    def evaluate_on_counts(self, evaluation: Evaluation) -> EvaluatedMove:
        """Without the deleted node, its own term of the log-likelihood is missing too."""
        tree, counts = evaluation.tree, evaluation.counts
        gone, into = (tree.index(name) for name in self.nodes)
        moved = self._moved(evaluation)
        new = [counts.pair(into, other) for other in moved]
        gain = sum(map(expected_log_likelihood, new)) - expected_log_likelihood(counts.pair(into, gone))
        gain -= sum(expected_log_likelihood(counts.pair(gone, other)) for other in moved)
        names = [tree.names[other] for other in moved]
        changed = ChangedTables(self.into, dict(zip(names, map(normalised, new), strict=True)))
        return evaluation.scored(self, gain, self.n_more(evaluation), changed)


@dataclass(frozen=True)
class Contract(Move):
    """Two hidden neighbours become one, with as many states as BIC prefers. Not in the paper."""

    node: Hashable
    swallowed: Hashable

    operator = "join nodes"
    phase = DELETE_NODES
    used_with = ("auto",)
    takes_long = True

    def __str__(self) -> str:
        return f"{self.node} and {self.swallowed}"

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return all pairs of hidden neighbours."""
        return [
            cls(name, tree.names[other])
            for name in tree.latent_names
            for other in neighbours_of(tree, tree.index(name))
            if tree.latent[other] and tree.index(name) < other
        ]

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """The two nodes that become one."""
        return (self.node, self.swallowed)

    @property
    def loosened(self) -> frozenset:
        """Both nodes."""
        return frozenset(self.nodes)

    def is_possible(self, tree: LatentTree, rules: Rules) -> bool:
        """The two nodes must be neighbours."""
        return _are_neighbours(tree, self.node, self.swallowed)

    def apply(self, tree: LatentTree, changed: ChangedTables) -> LatentTree:
        """The joint node keeps the first name."""
        tree = contract_edge(tree, self.node, self.swallowed)
        return with_star(tree, tree.index(self.node), changed.whole_star, range(changed.whole_star.n_states))

    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """The joint node starts with all pairs of states, which are merged one by one."""
        tree, messages, rules = evaluation.tree, evaluation.messages, evaluation.settings.rules
        nodes = [tree.index(name) for name in self.nodes]
        evidence = {(other, node): messages.message(other, node) for node in nodes for other in messages.around[node]}
        max_states = None if np.isinf(rules.max_states) else int(rules.max_states)
        simplifier = Simplifier(messages.data, evaluation.search, evaluation.penalty, max_states)
        star, score = simplifier.fewer_states(*simplifier.joint_node(tree, evidence, *nodes))
        assert star is not None  # two nodes have four pairs of states or more, of which some are merged
        shared = [n_shared_around(tree, node) for node in nodes]
        before = [n_star_parameters(messages.star(node), n) for node, n in zip(nodes, shared, strict=True)]
        n_more = n_star_parameters(star, sum(shared)) - sum(before)
        n_more += int(tree.cards[nodes[0]] * tree.cards[nodes[1]] - 1)  # their edge was counted twice
        gain = score + evaluation.penalty * n_more
        return evaluation.scored(self, gain, n_more, ChangedTables(self.node, star=star))


def _bound(tree: LatentTree, around: Sequence[int]) -> int:
    """Return how many states a hidden node between some others can use; between numbers any number."""
    return UNBOUNDED if tree.is_numeric[around].any() else bound_from_cards(tree.cards[around])


def _plan_of_cells(shape: tuple[int, ...]) -> Plan:
    """Return the plan of a new node below an old one and above others, for all cells of a table of their counts."""
    cells = np.indices(shape).reshape(len(shape), -1)
    nodes = (0, *range(2, len(shape) + 1))  # 1 is the new node
    evidence = {node: Evidence(states, card) for node, states, card in zip(nodes, cells, shape, strict=True)}
    return compile_plan([-1, 0, *[1] * (len(shape) - 1)], evidence)


def _log_likelihoods_apart(counts: np.ndarray) -> list[float]:
    """Return the log-likelihoods of tables, stacked, if all variables are independent given the first one."""
    axes = range(1, counts.ndim - 1)
    with_first = [counts.sum(axis=tuple(1 + other for other in axes if other != axis)) for axis in axes]
    return [sum(map(expected_log_likelihood, pairs)) for pairs in zip(*with_first, strict=True)]


def _are_neighbours(tree: LatentTree, one: Hashable, other: Hashable) -> bool:
    known = one in tree.names and other in tree.names
    return known and tree.index(other) in neighbours_of(tree, tree.index(one))
