"""Moves that change edges: relocate nodes, cut edges, and link components."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np

from pgmpy_latent.learners.east.blocks import Block, BlockMessages, Division, merged_leaf_model
from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove
from pgmpy_latent.learners.east.completed_counts import expected_log_likelihood
from pgmpy_latent.learners.east.evaluation import Evaluation, LeafModel, leaf_model
from pgmpy_latent.learners.east.move import ADJUST, Move, start_table, with_tables
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.local.node_messages import NodeMessages, through
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import cut_edge, link_nodes, relocate_node, root_walk
from pgmpy_latent.operators.edges import composed, neighbours_of, normalised, path_from_root, rooted_at
from pgmpy_latent.tables.dependence import block_information

#: How many new neighbours local EM tries for every node that could be relocated, and how much they must know about it,
#: as a share of what its old neighbour knows.
PLACES, LEAST_SHARE = 4, 0.5


@dataclass(frozen=True)
class Relocate(Move):
    """Node relocation: the edges of some neighbours of ``old`` lead to ``new`` instead.

    If ``new`` is None, the edge is cut; if ``old`` is None, ``moved`` is a node of another component than ``new``.
    """

    moved: tuple[Hashable, ...]
    old: Hashable
    new: Hashable

    operator = "relocate node"
    phase = ADJUST
    is_screened = True
    may_settle = True

    def __str__(self) -> str:
        ends = ["nowhere" if end is None else str(end) for end in (self.old, self.new)]
        return f"{', '.join(map(str, self.moved))}: {ends[0]} to {ends[1]}"

    @classmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return all ways to hang one side of an edge on another hidden node, to cut the edge, or to link parts."""
        component = _components(tree)
        inner = [name for name, numeric in zip(tree.names, tree.is_numeric, strict=True) if not numeric]
        moves = []
        for node in np.flatnonzero(~tree.is_numeric).tolist():
            if rules.binds(tree.names[node]):
                continue
            for unit in rules.units(tree, node):
                others = [tree.index(name) for name in unit]
                old, beyond = tree.names[node], set().union(*(_beyond(tree, other, node) for other in others))
                targets = [
                    name
                    for name in (inner if rules.anywhere else tree.latent_names)
                    if name != old and component[tree.index(name)] == component[node] and tree.index(name) not in beyond
                ]
                moves += [cls(unit, old, new) for new in targets]
                is_first = node < others[0] or tree.is_numeric[others[0]]  # cutting is the same from both ends
                if is_first and not rules.binds(unit[0]):
                    moves.append(cls(unit, old, None))
        return moves + list(cls._links(tree, component, rules))

    @classmethod
    def to_places(cls, tree: LatentTree, places: Mapping[Hashable, Collection[Hashable]]) -> list[Self]:
        """Return the ways to hang some nodes on certain others, with what is beyond them, and to cut their edges.

        Where a node and its new place are on the same side of an edge, the other side moves to that place instead.

        Parameters
        ----------
        tree : LatentTree
            The model.
        places : mapping
            Node -> the nodes that it may hang on.
        """
        component = _components(tree)
        moves: dict[Self, None] = {}  # in their order, each once
        for name, targets in places.items():
            node = tree.index(name)
            others = [tree.index(target) for target in targets if target != name]
            others = [other for other in others if not tree.is_numeric[other]]
            within = [new for new in others if component[new] == component[node]]
            moves |= dict.fromkeys(cls._linking(tree, node, new) for new in others if new not in within)
            for old in neighbours_of(tree, node):
                if tree.is_numeric[old]:
                    continue
                beyond, end = _beyond(tree, node, old), tree.names[old]
                for new in within:
                    if new in beyond:
                        moves[cls((end,), name, tree.names[new])] = None
                    elif new != old:
                        moves[cls((name,), end, tree.names[new])] = None
                if end not in places or old < node:  # cutting is the same from both ends
                    moves[cls((name,), end, None)] = None
        return list(moves)

    @classmethod
    def _links(cls, tree: LatentTree, component: np.ndarray, rules: Rules) -> Iterator[Self]:
        """Yield edges between components."""
        for pair in combinations(_ends_of_links(tree, component, rules), 2):
            if component[pair[0]] != component[pair[1]] and not tree.is_numeric[list(pair)].all():
                yield cls._linking(tree, *pair)

    @classmethod
    def _linking(cls, tree: LatentTree, *ends: int) -> Self:
        """Return the edge between two components: numbers hang on anything else, and columns on hidden nodes."""
        moved, new = sorted(ends, key=lambda node: (not tree.is_numeric[node], tree.latent[node], node))
        return cls((tree.names[moved],), None, tree.names[new])

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """The ends of the edge before and after."""
        return tuple(end for end in (self.old, self.new) if end is not None)

    @property
    def names(self) -> frozenset:
        """The ends, and the nodes that are moved."""
        return frozenset([*self.nodes, *self.moved])

    def blocks(self, messages: BlockMessages) -> set[Block | None]:
        """The blocks of the edges that are moved or cut, and that of their new end; None if that is another column."""
        left: set[Block | None] = (
            set() if self.old is None else {messages.of_edge(self.old, name) for name in self.moved}
        )
        arrived = {messages.of_node(name) for name in self.moved} if self.old is None else set()
        if self.new is None or any(block is not None and self.new in block.tree.names for block in left):
            return left
        return {*left, *arrived, messages.of_node(self.new)}

    @property
    def loosened(self) -> frozenset:
        """The node that the moved ones leave."""
        return frozenset() if self.old is None else frozenset([self.old])

    @property
    def shared_work(self) -> Hashable:
        """Moves away from the same node share the messages of its neighbours; cuts and links share nothing."""
        return None if self.new is None else self.old

    def is_possible(self, tree: LatentTree, rules: Rules) -> bool:
        """Neighbours of ``old``, and ``new`` not on their own side of the edge."""
        if not self.names <= set(tree.names):
            return False
        nodes = [tree.index(name) for name in self.moved]
        if self.old is None:
            component, ends = _components(tree), (tree.index(self.moved[0]), tree.index(self.new))
            is_right_way = self == self._linking(tree, *ends) and component[ends[0]] != component[ends[1]]
            is_right_way = is_right_way and not tree.is_numeric[ends[1]]
            return bool(is_right_way) and set(ends) <= set(_ends_of_links(tree, component, rules))
        old = tree.index(self.old)
        if not set(nodes) <= set(neighbours_of(tree, old)) or tree.is_numeric[old]:
            return False
        if self.new is None:
            return True
        component, new = _components(tree), tree.index(self.new)
        if tree.is_numeric[new] or component[new] != component[old]:
            return False
        return not any(new in _beyond(tree, node, old) for node in nodes)

    def is_within(self, nodes: Collection[Hashable]) -> bool:
        """From one of the nodes to another; cuts and links are not."""
        return self.old in nodes and self.new in nodes

    def is_undone_by(self, move: Move, fresh: Collection[Hashable]) -> bool:
        """By moving one of the nodes again."""
        return isinstance(move, Relocate) and not set(move.moved).isdisjoint(self.moved)

    def apply(self, tree: LatentTree, changed: ChangedTables) -> LatentTree:
        """Return the tree seen from the node that the edges lead to, or in two parts.

        Examples
        --------
        >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, 0], [True, False],
        ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
        >>> Relocate(("x",), "H", None).apply(tree, ChangedTables("H", {"x": np.array([[0.5, 0.5]])}))
        LatentTree(2 nodes, 1 latent, 2 parameters)
        """
        if self.new is None:
            tree = root_walk(cut_edge(root_walk(tree, self.old), self.old, self.moved[0]), self.moved[0])
        elif self.old is None:
            tree = link_nodes(root_walk(tree, self.new), self.moved[0], self.new)
        else:
            for name in self.moved:
                tree = relocate_node(tree, name, self.old, self.new)
            tree = root_walk(tree, self.new)
        return with_tables(tree, changed.tables)

    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """P(moved | new) is free."""
        if self.shared_work is not None:
            return self.evaluate_together([self], evaluation)[0]
        base, apart, n_more, model = self._cut(evaluation) if self.new is None else self._link(evaluation)
        fit = evaluation.search.fit(model.engine, model.start, free=model.free, **evaluation.em_options)
        return evaluation.scored(self, fit.log_likelihood + apart - base, n_more, model.changed(fit.tables))

    @classmethod
    def evaluate_together(cls, moves: Sequence[Self], evaluation: Evaluation) -> list[EvaluatedMove]:
        """Evaluate moves away from one node; they share paths to new neighbours, and the tree without moved nodes."""
        if isinstance(evaluation.messages, BlockMessages):  # the ends are in different blocks
            return [move._across(evaluation, evaluation.messages) for move in moves]
        tree, messages = evaluation.tree, evaluation.messages
        old = tree.index(moves[0].old)
        wanted: dict[int, list[Self]] = {}
        for move in moves:
            wanted.setdefault(tree.index(move.new), []).append(move)
        without: dict[tuple, tuple[np.ndarray, float]] = {}
        evaluated: dict[Self, EvaluatedMove] = {}
        for target, shares in messages.transitions(old, wanted):
            between = _path_table(tree, target, old)
            for move in wanted[target]:
                evaluation.search.tick()
                moved = [tree.index(name) for name in move.moved]
                if move.moved not in without:
                    rest = messages.rest(old, moved)
                    without[move.moved] = rest, messages.log_likelihood(old, rest, moved)
                rest, base = without[move.moved]
                rest_at_target = np.matmul(rest[:, None, :], shares)[:, 0]
                starts = [start_table(messages, between, old, other) for other in moved]
                evidence = [messages.message(other, old) for other in moved]
                model = leaf_model(move.new, rest_at_target, move.moved, evidence, starts, messages.weights)
                fit = evaluation.search.fit(model.engine, model.start, free=model.free, **evaluation.em_options)
                n_more = int((tree.cards[target] - tree.cards[old]) * tree.per_state[moved].sum())
                evaluated[move] = evaluation.scored(move, fit.log_likelihood - base, n_more, model.changed(fit.tables))
        return [evaluated[move] for move in moves]

    def _across(self, evaluation: Evaluation, messages: BlockMessages) -> EvaluatedMove:
        """Cut edges in one block and add them in another: the gains add up, as the blocks are independent."""
        evaluation.search.tick()
        lost = messages.loss_of_cut(self.old, self.moved)
        if messages.division.known.issuperset([self.new, *self.moved]):
            return self._between_columns(evaluation, messages.division, lost)
        tree = evaluation.tree
        moved, old, new = [tree.index(name) for name in self.moved], tree.index(self.old), tree.index(self.new)
        posterior = messages.posterior(new) * messages.weights[:, None]
        counts = [posterior.T @ messages.posterior(node) + _share(messages, node) for node in moved]
        starts = [messages.from_bins(node, normalised(table)) for node, table in zip(moved, counts, strict=True)]
        evidence = [messages.message(node, old) for node in moved]
        model, base = merged_leaf_model(
            self.new, messages.rest_evidence(new), self.moved, evidence, starts, messages.weights
        )
        fit = evaluation.search.fit(model.engine, model.start, free=model.free, **evaluation.em_options)
        n_more = int((tree.cards[new] - tree.cards[old]) * tree.per_state[moved].sum())
        return evaluation.scored(self, fit.log_likelihood - base - lost, n_more, model.changed(fit.tables))

    def _between_columns(self, evaluation: Evaluation, division: Division, lost: float) -> EvaluatedMove:
        """Add edges between columns without missing cells: the best tables are relative frequencies."""
        cards = {name: int(evaluation.tree.cards[evaluation.tree.index(name)]) for name in (*self.moved, *self.nodes)}
        counts = [division.pair_counts(self.new, name) for name in self.moved]
        gain = sum(map(expected_log_likelihood, counts)) - lost
        n_more = (cards[self.new] - cards[self.old]) * sum(cards[name] - 1 for name in self.moved)
        changed = ChangedTables(self.new, dict(zip(self.moved, map(normalised, counts), strict=True)))
        return evaluation.scored(self, gain, n_more, changed)

    def _cut(self, evaluation: Evaluation) -> tuple[float, float, int, LeafModel]:
        """Return the log-likelihoods with the edge and of the part that stays, the parameters gained, and a model."""
        tree, messages = evaluation.tree, evaluation.messages
        root = self.moved[0]
        moved, old = tree.index(root), tree.index(self.old)
        rest = messages.rest(old, [moved])
        base = messages.log_likelihood(old, rest, [moved])
        apart = float(messages.weights @ np.log(rest.sum(axis=1)))
        evidence, share = messages.message(moved, old), messages.star(moved).share[None]
        n_more = -int((tree.cards[old] - 1) * tree.per_state[moved])
        model = leaf_model(root, np.ones((len(rest), 1)), [root], [evidence], [share], messages.weights)
        return base, apart, n_more, model

    def _link(self, evaluation: Evaluation) -> tuple[float, float, int, LeafModel]:
        """Return the same as :meth:`_cut`, for an edge that is added; nothing stays apart."""
        tree, messages = evaluation.tree, evaluation.messages
        moved, new = tree.index(self.moved[0]), tree.index(self.new)
        rest, share = messages.rest(new), messages.star(moved).share
        evidence = messages.likelihood(moved)
        index, likelihoods, scales = through(evidence, share[None])
        base = float(messages.weights @ np.log(likelihoods[index, 0] * rest.sum(axis=1)))
        base += 0.0 if scales is None else float(messages.weights @ scales[index])
        counts = messages.posterior(new).T @ (messages.posterior(moved) * messages.weights[:, None])
        counts = counts + _share(messages, moved)
        start = messages.from_bins(moved, counts / counts.sum(axis=1, keepdims=True))
        n_more = int((tree.cards[new] - 1) * tree.per_state[moved])
        return base, 0.0, n_more, leaf_model(self.new, rest, self.moved, [evidence], [start], messages.weights)

    def evaluate_on_counts(self, evaluation: Evaluation) -> EvaluatedMove:
        """P(moved | new) is counted."""
        tree, counts = evaluation.tree, evaluation.counts
        moved = [tree.index(name) for name in self.moved]
        ends = [None if end is None else tree.index(end) for end in (self.old, self.new)]
        old, new = ([counts.pair(end, node) for node in moved] for end in ends)
        gain = sum(map(expected_log_likelihood, new)) - sum(map(expected_log_likelihood, old))
        beyond = int((tree.cards[moved] - 1).sum())
        rows = [1 if end is None else int(tree.cards[end]) for end in ends]
        root = self.moved[0] if self.new is None else self.new
        changed = ChangedTables(root, dict(zip(self.moved, map(normalised, new), strict=True)))
        return evaluation.scored(self, gain, (rows[1] - rows[0]) * beyond, changed)

    @classmethod
    def screened(cls, moves: Sequence[Self], evaluation: Evaluation) -> list[Self]:
        """Return all moves of nodes that have few places to go to, and the most likely ones of the others."""
        origins: dict[tuple, list[Self]] = {}
        few = [move for move in moves if move.new is None]
        for move in moves:
            if move.new is not None:
                origins.setdefault((move.moved, move.old), []).append(move)
        few += [move for some in origins.values() if len(some) <= PLACES for move in some]
        many = [some for some in origins.values() if len(some) > PLACES]
        if not many:
            return few
        worth = _worth_of_places([move for some in many for move in some], evaluation)
        hopeful = [[move for move in some if move in worth] for some in many]
        return few + [move for some in hopeful for move in sorted(some, key=lambda move: -worth[move])[:PLACES]]


def _worth_of_places(moves: Sequence[Relocate], evaluation: Evaluation) -> dict[Relocate, float]:
    """Return the mutual information of posteriors less the cost, as if nodes were independent given a row.

    Moves to nodes that know much less about the moved ones than their old neighbour does are left out.
    """
    tree, messages = evaluation.tree, evaluation.messages
    names = {name for move in moves for name in (*move.moved, *move.nodes)}
    nodes = sorted(map(tree.index, names))
    place = {node: at for at, node in enumerate(nodes)}
    posteriors = np.concatenate([messages.posterior(node) for node in nodes], axis=1)
    starts = np.cumsum([0, *tree.cards[nodes][:-1]])
    joint = (posteriors * messages.weights[:, None]).T @ posteriors
    shared = messages.weights.sum() * block_information(joint, starts, starts)
    worth = {}
    for move in moves:
        new, moved = tree.index(move.new), [tree.index(name) for name in move.moved]
        information = sum(shared[place[new], place[other]] for other in moved)
        old = 0.0
        if move.old is not None:
            old = sum(shared[place[tree.index(move.old)], place[other]] for other in moved)
        if information >= LEAST_SHARE * old:
            worth[move] = information - evaluation.penalty * tree.cards[new] * tree.per_state[moved].sum()
    return worth


def _share(messages: NodeMessages, node: int) -> np.ndarray:
    """Return the distribution of a node; of the bins of a numeric column, in which rows are spread evenly."""
    card = int(messages.tree.cards[node])
    return np.full(card, 1 / card) if messages.tree.is_numeric[node] else messages.star(node).share


def _path_table(tree: LatentTree, start: int, end: int) -> np.ndarray:
    """Return P(end | start)."""
    parent, tables = rooted_at(tree.parent, tree.tables, start)
    path = path_from_root(parent, end)
    table = tables[path[1]]
    for step in path[2:]:
        table = composed(table, tables[step])
    return table


def _components(tree: LatentTree) -> np.ndarray:
    """Return the root of each node."""
    return np.array([path_from_root(tree.parent, node)[0] for node in range(tree.n_nodes)])


def _ends_of_links(tree: LatentTree, component: np.ndarray, rules: Rules) -> list[int]:
    """Return the nodes that may be linked with other components: by default hidden ones, or else columns."""
    hidden = {int(component[tree.index(name)]) for name in tree.latent_names}
    is_inner = ~tree.is_numeric | (tree.parent < 0)  # a number that hangs on something has all that it can have
    return [
        node
        for node in np.flatnonzero(is_inner).tolist()
        if rules.anywhere or tree.latent[node] or component[node] not in hidden
    ]


def _beyond(tree: LatentTree, node: int, without: int) -> set[int]:
    """Return the nodes on a node's side of the edge to a neighbour."""
    beyond, ahead = {node}, [(node, without)]
    while ahead:
        here, before = ahead.pop()
        for other in neighbours_of(tree, here):
            if other != before:
                beyond.add(other)
                ahead.append((other, here))
    return beyond
