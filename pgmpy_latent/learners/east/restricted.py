"""Restricted likelihood: how good a candidate is when only the tables that it changes are fitted, by local EM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from zlib import crc32

import numpy as np

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.east.moves import Contract, Delete, Grow, Introduce, Local, Move, Relocate, Shrink
from pgmpy_latent.learners.local.directions import NEGLIGIBLE, data_directions
from pgmpy_latent.learners.local.node_messages import NodeMessages, dense, times
from pgmpy_latent.learners.local.pairs import losses
from pgmpy_latent.learners.local.simplify import Simplifier, n_star_parameters
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import star as stars
from pgmpy_latent.operators.edges import composed, neighbours_of, path_from_root, rooted_at
from pgmpy_latent.operators.star import Star
from pgmpy_latent.runtime.arrays import largest_in_rows
from pgmpy_latent.runtime.parallel import TASKS

#: How many merges of two states are starts of a state deletion, those of the most similar states.
MERGES = 12
#: Share of the usual distribution in tables that local EM begins with.
SMOOTHING = 1e-3


@dataclass(frozen=True, eq=False)
class Candidate:
    """A move, and what is known about the tree that it leads to.

    Attributes
    ----------
    move : Move
        The move.
    gain : float
        By how much the log-likelihood rises, at least.
    n_more : int
        How many parameters more there are.
    local : Local
        The tables that the move changes.
    score : float
        By how much BIC rises.
    """

    move: Move
    gain: float
    n_more: int
    local: Local
    score: float

    @property
    def ratio(self) -> float:
        """The improvement ratio: by how much BIC rises per parameter; infinite where parameters are saved."""
        if self.score <= 0:
            return self.score
        return self.score / self.n_more if self.n_more > 0 else np.inf


class Restricted:
    """Evaluates candidates by local EM: what the rest of the tree says is computed once, and shared by all of them.

    Parameters
    ----------
    outlook : NodeMessages
        The current tree, seen from its nodes.
    search : Search
        Runs EM.
    penalty : float
        What a parameter costs.
    n_starts, n_steps : int
        Random starts of a candidate, and most iterations of EM; the starts are halved after 1, 3, 7, ... iterations.
    key : tuple of int
        Tells the random draws of this step from those of others.
    tolerance : float
        Local EM ends where so little is left to gain.
    max_states : int, optional
        Most states of a node that two become.
    """

    def __init__(
        self,
        outlook: NodeMessages,
        search: Search,
        penalty: float,
        n_starts: int,
        n_steps: int,
        key: tuple[int, ...],
        tolerance: float = 0.1,
        max_states: int | None = None,
    ):
        self.outlook = outlook
        self.tree = outlook.tree
        self.search = search
        self.penalty = penalty
        self.n_starts = n_starts
        self.n_steps = n_steps
        self.key = key
        self.tolerance = tolerance
        self.max_states = max_states
        self.known: dict[Move, Candidate] = {}

    def candidates(self, moves: Sequence[Move]) -> list[Candidate]:
        """Evaluate moves that were not evaluated before; the workers share them."""
        self.learn(self.search.map(self.evaluated, self.parcels(moves)))
        apart, together = _in_parts(moves)
        return [self.known[move] for some in (apart, *together) for move in some]

    def parcels(self, moves: Sequence[Move]) -> list[list[Move]]:
        """Return the moves that were not evaluated before; those that share work are together.

        Several workers get smaller parcels: what moves share is little beside what each of them takes.
        """
        apart, together = _in_parts([move for move in moves if move not in self.known])
        if self.search.n_workers > 1:
            most = max(1, -(-sum(map(len, together)) // (TASKS * self.search.n_workers)))
            by_moved = [sorted(some, key=lambda move: repr(move.moved)) for some in together]
            together = [some[first : first + most] for some in by_moved for first in range(0, len(some), most)]
        return _short_in_the_middle([*together, *([move] for move in apart)])

    def evaluated(self, parcel: Sequence[Move]) -> list[Candidate]:
        """Evaluate moves that share work."""
        self.search.tick()
        return self._relocations(parcel) if _relocates(parcel[0]) else [self._evaluated(move) for move in parcel]

    def learn(self, evaluated: Iterable[Sequence[Candidate]]) -> None:
        """Remember what workers have found."""
        for some in evaluated:
            self.known |= {one.move: one for one in some}

    def candidate(self, move: Move) -> Candidate:
        """Evaluate a move, once."""
        self.search.tick()
        if move not in self.known:
            self.known[move] = self._evaluated(move)
        return self.known[move]

    def __getstate__(self) -> dict:
        """Return what a worker needs: all but what has been found so far."""
        return {**vars(self), "known": {}}

    def _evaluated(self, move: Move) -> Candidate:
        if isinstance(move, Relocate):
            return self._relocations([move])[0] if _relocates(move) else self._cut_or_linked(move)
        evaluate = {
            Introduce: self.introduce,
            Grow: self._grow,
            Shrink: self._shrink,
            Delete: self._delete,
            Contract: self._contract,
        }
        return evaluate[type(move)](move)

    def rng(self, move: Move) -> np.random.Generator:
        """Return the source of randomness of a move, which does not depend on the moves before it."""
        return np.random.default_rng(self.search.seed(*self.key, crc32(repr(move).encode())))

    def made(self, move: Move, gain: float, n_more: int, local: Local) -> Candidate:
        """Return a candidate with its score."""
        return Candidate(move, gain, n_more, local, gain - self.penalty * n_more)

    def _fit(self, engine: TreeEngine, starts: np.ndarray, free: Sequence[bool] | None = None):
        free = None if free is None else np.array(free)
        return self.search.fit(engine, starts, free=free, narrowing=2.0, max_iter=self.n_steps, atol=self.tolerance)

    # -- nodes ----------------------------------------------------------------------------------------------------

    def introduce(self, move: Introduce, starts: Sequence[Sequence[np.ndarray]] = ()) -> Candidate:
        """Evaluate a new node: P(new | old) and P(moved | new) are free.

        Parameters
        ----------
        move : Introduce
            The move.
        starts : sequence of lists of tables
            P(new | old) and P(moved | new) to begin with, besides random ones.
        """
        tree, outlook = self.tree, self.outlook
        node, moved = tree.index(move.node), [tree.index(name) for name in move.moved]
        rest = outlook.rest(node, moved)
        evidence = {0: _soft(rest)} | {at: outlook.message(other, node) for at, other in enumerate(moved, start=2)}
        plan = compile_plan([-1, 0, *[1] * len(moved)], evidence, pivots=[0])
        card = int(tree.cards[node])
        engine = TreeEngine(plan, [card, move.n_states, *tree.cards[moved]], outlook.weights)
        ones = np.ones((1, card))  # what is known of the old node holds its distribution already
        rng = self.rng(move)
        flat = [engine.layout.pack([ones, *tables]) for tables in starts]
        flat += [random_tables(engine.layout, rng) for _ in range(self.n_starts - len(starts))]
        flat = np.stack(flat)
        flat[:, :card] = 1.0
        found = self._fit(engine, flat, [False, *[True] * (len(moved) + 1)])
        _, between, *tables = engine.layout.unpack(found.tables)
        local = Local(move.node, {None: between.copy()} | dict(zip(move.moved, _copied(tables), strict=True)))
        base = outlook.log_likelihood(node, rest, moved)
        return self.made(move, found.log_likelihood - base, n_more_introduced(tree, move), local)

    def _delete(self, move: Delete) -> Candidate:
        """Evaluate the tree without a node: P(neighbours of it | the node that takes over) are free."""
        tree, outlook = self.tree, self.outlook
        gone, into = tree.index(move.node), tree.index(move.into)
        moved = [other for other in outlook.around[gone] if other != into]
        rest = outlook.rest(into, [gone])
        base = self._through(gone, moved, rest @ outlook.given(into, gone))
        starts = [self._start(outlook.given(into, gone), gone, other) for other in moved]
        messages = [outlook.message(other, gone) for other in moved]
        gain, local = self._hung_on(move.into, rest, [tree.names[other] for other in moved], messages, starts)
        return self.made(move, gain - base, n_more_deleted(tree, move), local)

    def _contract(self, move: Contract) -> Candidate:
        """Evaluate two nodes as one, which begins with all pairs of their states; these are merged one by one."""
        tree, outlook = self.tree, self.outlook
        nodes = [tree.index(move.node), tree.index(move.swallowed)]
        evidence = {(other, node): outlook.message(other, node) for node in nodes for other in outlook.around[node]}
        simplifier = Simplifier(outlook.data, self.search, self.penalty, self.max_states)
        change = simplifier.best(tree, evidence, *nodes, least=-np.inf)
        n_more = n_star_parameters(change.star) - sum(n_star_parameters(outlook.star(node)) for node in nodes)
        n_more += int(tree.cards[nodes[0]] * tree.cards[nodes[1]] - 1)  # their edge was counted twice
        gain = change.gain + self.penalty * n_more
        return self.made(move, gain, n_more, Local(move.node, star=change.star))

    def _through(self, node: int, neighbours: Sequence[int], before: np.ndarray) -> float:
        """Return the log-likelihood, given what a node is told by one neighbour, from what the others say."""
        logs, zeros = times(np.zeros(before.shape), None, (self.outlook.factor(other, node) for other in neighbours))
        logs = logs if zeros is None else np.where(zeros > 0, -np.inf, logs)
        largest = largest_in_rows(logs)
        product = (before * np.exp(logs - largest)).sum(axis=1)
        return float(self.outlook.weights @ (np.log(product) + largest[:, 0]))

    def _hung_on(
        self, root, rest: np.ndarray, names: Sequence, messages: Sequence[Evidence], starts: Sequence[np.ndarray]
    ) -> tuple[float, Local]:
        """Fit P(each of some nodes | root), everything else being known; return the log-likelihood and the tables."""
        if not names:
            return float(self.outlook.weights @ np.log(rest.sum(axis=1))), Local(root, {})
        evidence = {0: _soft(rest)} | dict(enumerate(messages, start=1))
        plan = compile_plan([-1, *[0] * len(names)], evidence, pivots=[0])
        cards = [rest.shape[1], *(table.shape[1] for table in starts)]
        engine = TreeEngine(plan, cards, self.outlook.weights)
        flat = engine.layout.pack([np.ones((1, rest.shape[1])), *starts])
        found = self._fit(engine, flat, [False, *[True] * len(names)])
        tables = _copied(engine.layout.unpack(found.tables)[1:])
        return found.log_likelihood, Local(root, dict(zip(names, tables, strict=True)))

    # -- edges ----------------------------------------------------------------------------------------------------

    def _relocations(self, moves: Sequence[Relocate]) -> list[Candidate]:
        """Evaluate moves away from one node: P(moved | new) is free."""
        tree, outlook = self.tree, self.outlook
        old = tree.index(moves[0].old)
        wanted: dict[int, list[Relocate]] = {}
        for move in moves:
            wanted.setdefault(tree.index(move.new), []).append(move)
        without: dict[tuple, tuple[np.ndarray, float]] = {}
        found: dict[Relocate, Candidate] = {}
        for target, shares in outlook.transitions(old, wanted):
            for move in wanted[target]:
                self.search.tick()
                moved = [tree.index(name) for name in move.moved]
                if move.moved not in without:
                    rest = outlook.rest(old, moved)
                    without[move.moved] = rest, outlook.log_likelihood(old, rest, moved)
                rest, base = without[move.moved]
                there = np.matmul(rest[:, None, :], shares)[:, 0]
                back = self._path_table(target, old)
                starts = [self._start(back, old, other) for other in moved]
                messages = [outlook.message(other, old) for other in moved]
                gain, local = self._hung_on(move.new, there, move.moved, messages, starts)
                n_more = int((tree.cards[target] - tree.cards[old]) * (tree.cards[moved] - 1).sum())
                found[move] = self.made(move, gain - base, n_more, local)
        return [found[move] for move in moves]

    def _start(self, between: np.ndarray, middle: int, end: int) -> np.ndarray:
        """Return P(end | beginning), given P(middle | beginning), with a little of everything: no row is impossible."""
        outlook = self.outlook
        return (1 - SMOOTHING) * composed(between, outlook.given(middle, end)) + SMOOTHING * outlook.star(end).share

    def _path_table(self, target: int, old: int) -> np.ndarray:
        """Return P(old | target)."""
        parent, tables = rooted_at(self.tree.parent, self.tree.tables, target)
        path = path_from_root(parent, old)
        table = tables[path[1]]
        for step in path[2:]:
            table = composed(table, tables[step])
        return table

    def _cut_or_linked(self, move: Relocate) -> Candidate:
        """Evaluate an edge less, or one more between two components."""
        tree, outlook = self.tree, self.outlook
        moved = tree.index(move.moved[0])
        if move.new is None:
            old = tree.index(move.old)
            rest, message = outlook.rest(old, [moved]), outlook.message(moved, old)
            base = outlook.log_likelihood(old, rest, [moved])
            root = move.moved[0]
            share = outlook.star(moved).share[None]
            alone, local = self._hung_on(root, np.ones((len(rest), 1)), [root], [message], [share])
            gain = alone + float(outlook.weights @ np.log(rest.sum(axis=1))) - base
            return self.made(move, gain, -int((tree.cards[old] - 1) * (tree.cards[moved] - 1)), local)
        new = tree.index(move.new)
        rest, share = outlook.rest(new), outlook.star(moved).share
        message = outlook.walk.likelihood(moved)
        index, messages = dense(message)
        base = float(outlook.weights @ np.log((messages @ share)[index] * rest.sum(axis=1)))
        start = outlook.posterior(new).T @ (outlook.posterior(moved) * outlook.weights[:, None]) + share
        start = start / start.sum(axis=1, keepdims=True)
        gain, local = self._hung_on(move.new, rest, move.moved, [message], [start])
        return self.made(move, gain - base, int((tree.cards[new] - 1) * (tree.cards[moved] - 1)), local)

    # -- states ---------------------------------------------------------------------------------------------------

    def _grow(self, move: Grow) -> Candidate:
        """Evaluate a state more: all tables around the node are free. The starts are splits of its states."""
        node = self.tree.index(move.node)
        starts = self._splits(node, self.rng(move))
        return self._other_states(move, node, starts, self.outlook.star(node).n_states + 1)

    def _splits(self, node: int, rng: np.random.Generator) -> list[Star]:
        here, star = self.outlook.neighbourhood(node), self.outlook.star(node)
        each = max(1, -(-self.n_starts // star.n_states))
        found = []
        for state in range(star.n_states):
            weights = self.outlook.weights * self.outlook.posterior(node)[:, state]
            if (weights > NEGLIGIBLE * weights.max()).sum() < 2:
                continue  # the same row over and over
            shifts = data_directions(star, state, here.messages, weights, each, rng)
            found += [stars.split(star, state, shift) for shift in shifts if np.any(shift)]
        return found or [stars.split(star, 0, np.zeros(star.rows.shape[1]))]

    def _shrink(self, move: Shrink) -> Candidate:
        """Evaluate a state less. The starts are merges of the most similar states, and removals."""
        node = self.tree.index(move.node)
        star = self.outlook.star(node)
        apart = losses(star.share[:, None] * star.rows)
        nearest = np.argsort(apart, axis=None, kind="stable")[: min(MERGES, comb(star.n_states, 2))]
        starts = stars.merge_pairs(star, [divmod(int(at), star.n_states) for at in nearest])
        if star.n_states > 2:
            starts += [stars.remove(star, state) for state in range(star.n_states)]
        return self._other_states(move, node, starts, star.n_states - 1)

    def _other_states(self, move: Grow | Shrink, node: int, starts: Sequence[Star], n_states: int) -> Candidate:
        here, star = self.outlook.neighbourhood(node), self.outlook.star(node)
        base = float(here.log_likelihoods([star])[0])
        found = self._fit(here.engine(n_states), here.flat(starts))
        per_state = 1 + int((star.cards - 1).sum())
        n_more = (n_states - star.n_states) * per_state
        return self.made(
            move, found.log_likelihood - base, n_more, Local(move.node, star=here.star(found.tables, n_states))
        )


def _relocates(move: Move) -> bool:
    """Tell whether a move takes something from one node to another."""
    return isinstance(move, Relocate) and None not in (move.old, move.new)


def _in_parts(moves: Sequence[Move]) -> tuple[list[Move], list[list[Move]]]:
    """Return moves that share no work, and those that do: relocations from the same node."""
    by_old: dict = {}
    for move in moves:
        if _relocates(move):
            by_old.setdefault(move.old, []).append(move)
    return [move for move in moves if not _relocates(move)], list(by_old.values())


def _takes_long(parcel: Sequence[Move]) -> bool:
    return len(parcel) > 1 or isinstance(parcel[0], (Grow, Contract))


def _short_in_the_middle(parcels: Sequence[Sequence[Move]]) -> list[Sequence[Move]]:
    """Return parcels in the order in which workers that begin at both ends are done at the same time."""
    long, short = ([one for one in parcels if _takes_long(one) == wanted] for wanted in (True, False))
    return [*long[: len(long) // 2], *short, *long[len(long) // 2 :]]


def n_more_introduced(tree: LatentTree, move: Introduce) -> int:
    """Return how many parameters more the tree has after an introduction."""
    card = int(tree.cards[tree.index(move.node)])
    below = int(sum(tree.cards[tree.index(name)] - 1 for name in move.moved))
    return card * (move.n_states - 1) + (move.n_states - card) * below


def n_more_deleted(tree: LatentTree, move: Delete) -> int:
    """Return how many parameters more the tree has after a deletion; usually fewer."""
    gone, into = tree.index(move.node), tree.index(move.into)
    moved = [other for other in neighbours_of(tree, gone) if other != into]
    beyond = int((tree.cards[moved] - 1).sum())
    return int((tree.cards[into] - tree.cards[gone]) * beyond - tree.cards[into] * (tree.cards[gone] - 1))


def _soft(messages: np.ndarray) -> Evidence:
    return Evidence(np.arange(len(messages)), messages.shape[1], messages)


def _copied(tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [table.copy() for table in tables]
