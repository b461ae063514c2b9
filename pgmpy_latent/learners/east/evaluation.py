"""How moves are evaluated: by local EM, on completed counts, or by both.

This module knows no kind of move: each has its own class.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypedDict
from zlib import crc32

import numpy as np

from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove, by_ratio_first
from pgmpy_latent.learners.east.completed_counts import CompletedCounts
from pgmpy_latent.learners.east.settings import EastSettings
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.search import Search

if TYPE_CHECKING:
    from pgmpy_latent.learners.east.move import Move

#: How many moves of a kind that is fitted to counts first get EM on completed counts, and how many of these local EM.
COUNTED, FITTED = 24, 8
#: Parcels of moves that share work, per worker: few, since each repeats the shared work; several, to balance the load.
PARCELS = 4


@dataclass(frozen=True, eq=False)
class CountedMoves:
    """Moves with the completed counts that they are fitted to, so that a worker need not count again.

    The counts of all have the same shape, or none has any.
    """

    moves: Sequence[Move]
    tables: Sequence[np.ndarray | None]


class LocalOptions(TypedDict):
    """Options of :meth:`Search.fit` that all local EM has in common."""

    narrowing: float
    max_iter: int
    atol: float


class Evaluation:
    """Evaluates moves by local EM: EM on the tables that a move changes (section 3 of the paper).

    The messages of the rest of the tree are computed once and shared by all moves. Every move is evaluated at
    most once.

    Parameters
    ----------
    messages : NodeMessages
        The current tree and the table.
    search : Search
        Runs EM, and shares moves among workers.
    settings : EastSettings
        Numbers of starts and iterations, and the rules.
    penalty : float
        Cost of a parameter.
    step : int
        Number of the step, which the random starts of moves depend on.
    """

    #: Whether moves that can be fitted to completed counts get their starts for local EM from there.
    counts_first: ClassVar[bool] = False

    def __init__(
        self, messages: NodeMessages, search: Search, settings: EastSettings, penalty: float = 0.0, step: int = 0
    ):
        self.messages = messages
        self.tree = messages.tree
        self.counts = CompletedCounts(messages)
        self.search = search
        self.settings = settings
        self.penalty = penalty
        self.step = step
        self.known: dict[Move, EvaluatedMove] = {}
        #: For local EM: half of the starts survive after 1, 3, 7, ... iterations.
        self.em_options: LocalOptions = {"narrowing": 2.0, "max_iter": settings.n_steps, "atol": settings.tolerance}

    def __getstate__(self) -> dict:
        """Return what a worker needs: everything except the moves evaluated so far."""
        return {**vars(self), "known": {}}

    def home(self, move: Move) -> Evaluation:
        """Return the evaluation of the part of the tree in which a move is made."""
        return self

    # Moves

    def candidates(self, moves: Sequence[Move]) -> list[EvaluatedMove]:
        """Return the moves that are worth a full fit, evaluated; the workers share them."""
        for evaluated in self.search.map(self.evaluate_parcel, self.parcels(moves)):
            self.remember(evaluated)
        return self.recalled(moves)

    def candidate(self, move: Move) -> EvaluatedMove:
        """Evaluate a single move, which an earlier tree may have suggested."""
        self.search.tick()
        home = self.home(move)
        if move not in home.known:
            shares = move.shared_work is not None
            home.known[move] = move.evaluate_together([move], home)[0] if shares else move.evaluate(home)
        return home.known[move]

    def parcels(self, moves: Iterable[Move]) -> list[Sequence[Move]]:
        """Return the moves that were not evaluated yet, in parcels that share work; long parcels come first.

        Several workers get smaller parcels: the shared work is little compared with the work on each move.
        """
        apart, together = self._by_shared_work([move for move in moves if move not in self.home(move).known])
        if self.search.n_workers > 1:
            most = max(1, -(-sum(map(len, together)) // (PARCELS * self.search.n_workers)))
            similar = [sorted(some, key=repr) for some in together]
            together = [some[first : first + most] for some in similar for first in range(0, len(some), most)]
        parcels = [*together, *([move] for move in apart)]
        return sorted(parcels, key=lambda parcel: not (len(parcel) > 1 or parcel[0].takes_long))

    def evaluate_parcel(self, parcel: Sequence[Move] | CountedMoves) -> list[EvaluatedMove]:
        """Evaluate moves that share work, or fit some to their completed counts. Workers call this."""
        self.search.tick()
        if isinstance(parcel, CountedMoves):
            moves = parcel.moves
            return moves[0].fit_counts_together(moves, self.home(moves[0]), parcel.tables)
        home = self.home(parcel[0])
        if parcel[0].shared_work is not None:
            return parcel[0].evaluate_together(parcel, home)
        evaluated = []
        for move in parcel:
            evaluated.append(move.evaluate(home))  # no comprehension: it would add a frame
        return evaluated

    def remember(self, evaluated: Iterable[EvaluatedMove]) -> None:
        """Keep evaluated moves."""
        for candidate in evaluated:
            self.home(candidate.move).known[candidate.move] = candidate

    def recalled(self, moves: Sequence[Move]) -> list[EvaluatedMove]:
        """Return moves that were evaluated: those that share no work, then the others in groups."""
        apart, together = self._by_shared_work(moves)
        return [self.home(move).known[move] for some in (apart, *together) for move in some]

    def _by_shared_work(self, moves: Sequence[Move]) -> tuple[list[Move], list[list[Move]]]:
        """Return the moves that share no work, and groups of those that do."""
        groups: dict[Hashable, list[Move]] = {}
        for move in moves:
            if move.shared_work is not None:
                groups.setdefault((id(self.home(move)), move.shared_work), []).append(move)
        return [move for move in moves if move.shared_work is None], list(groups.values())

    # Tools for moves

    def rng(self, move: Move) -> np.random.Generator:
        """Return the source of randomness of a move, which does not depend on other moves."""
        return np.random.default_rng(self.search.seed(self.step, crc32(repr(move).encode())))

    def scored(self, move: Move, gain: float, n_more: int, changed: ChangedTables) -> EvaluatedMove:
        """Return an evaluated move with its score."""
        return EvaluatedMove(move, gain, n_more, changed, gain - self.penalty * n_more)


class CompletionEvaluation(Evaluation):
    """Evaluates moves on completed counts (section 4 of the paper).

    Of the kinds that counts can only rank, the most needed move is evaluated by local EM.
    """

    def candidates(self, moves: Sequence[Move]) -> list[EvaluatedMove]:
        """Return the moves that are worth a full fit, evaluated; the workers share them."""
        evaluated = []
        for kind in dict.fromkeys(type(move) for move in moves if move.ranked_by_need):
            some = [move for move in moves if type(move) is kind]
            evaluated.append(self.candidate(some[int(np.argmax(self.search.map(self._need, some)))]))
        others = [move for move in moves if not move.ranked_by_need]
        return evaluated + self.search.map(self._on_counts, others)

    def _need(self, move: Move) -> float:
        return move.need(self)

    def _on_counts(self, move: Move) -> EvaluatedMove:
        return move.evaluate_on_counts(self)


class CombinedEvaluation(Evaluation):
    """Evaluates by local EM the moves that completed counts and posteriors choose."""

    counts_first = True

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        #: Moves as they were fitted to completed counts, and as they came out of local EM after that.
        self.counted: dict[Move, EvaluatedMove] = {}
        self.refined: dict[Move, EvaluatedMove] = {}

    def __getstate__(self) -> dict:
        """Return what a worker needs: everything except the moves evaluated so far."""
        return {**super().__getstate__(), "counted": {}, "refined": {}}

    def home(self, move: Move) -> CombinedEvaluation:
        """Return the evaluation of the part of the tree in which a move is made."""
        return self

    def candidate(self, move: Move) -> EvaluatedMove:
        """Evaluate a single move, which an earlier tree may have suggested."""
        if not move.counts_first:
            return super().candidate(move)
        home = self.home(move)
        if move not in home.refined:
            self.search.tick()
            if move not in home.counted:
                home.counted[move] = move.fit_counts(home)
            home.refined[move] = self._refined(home.counted[move])
        return home.refined[move]

    def candidates(self, moves: Sequence[Move]) -> list[EvaluatedMove]:
        """Return the moves that are worth a full fit, evaluated; the workers share them."""
        needed = self._most_needed([move for move in moves if move.counts_first])
        numerous = [move for move in moves if move.is_screened]
        others = [move for move in moves if not (move.counts_first or move.is_screened)]
        screened: list[Move] = []
        kinds: list[type[Move]] = list(dict.fromkeys(type(move) for move in numerous))
        for kind in kinds:
            screened += kind.screened([move for move in numerous if type(move) is kind], self)
        parcels = self.parcels([*others, *screened])
        counted = self._with_counts([move for move in needed if move not in self.home(move).counted])
        evaluated = self.search.map(self.evaluate_parcel, [*parcels, *counted])
        for some in evaluated[: len(parcels)]:
            self.remember(some)
        for parcel, fitted in zip(counted, evaluated[len(parcels) :], strict=True):
            for move, one in zip(parcel.moves, fitted, strict=True):
                self.home(move).counted[move] = one
        ordered = sorted(needed, key=lambda move: by_ratio_first(self.home(move).counted[move]))
        best, others_counted = ordered[:FITTED], ordered[FITTED:]
        new = [move for move in best if move not in self.home(move).refined]
        refined = self.search.map(self._refined, [self.home(move).counted[move] for move in new])
        for move, one in zip(new, refined, strict=True):
            self.home(move).refined[move] = one
        fitted = [self.home(move).refined[move] for move in best]
        unrefined = [self.home(move).counted[move] for move in others_counted]
        return self.recalled(others) + fitted + unrefined + self.recalled(screened)

    def _with_counts(self, moves: Sequence[Move]) -> list[CountedMoves]:
        """Return moves with their completed counts: together where these have the same shape."""
        groups: dict[Hashable, list[tuple[Move, np.ndarray | None]]] = {}
        for move in moves:
            home = self.home(move)
            table = move.completed_table(home)
            key = id(home), type(move), None if table is None else table.shape
            groups.setdefault(key, []).append((move, table))
        return [CountedMoves(*zip(*group, strict=True)) for group in groups.values()]

    def _most_needed(self, moves: Sequence[Move]) -> list[Move]:
        needs = np.empty(len(moves))
        for at, move in enumerate(moves):
            needs[at] = move.need(self.home(move))
        return [moves[at] for at in np.argsort(-needs, kind="stable")[:COUNTED]]

    def _refined(self, counted: EvaluatedMove) -> EvaluatedMove:
        return counted.move.refine(self.home(counted.move), counted)


@dataclass(frozen=True, eq=False)
class LeafModel:
    """A root with leaves, of which P(leaf | root) is fitted and nothing else.

    Attributes
    ----------
    root, names : hashable, sequence
        The nodes.
    engine : TreeEngine
        Everything else is its evidence.
    start : array
        Flat tables to start with.
    free : bool array
        Which tables are fitted.
    """

    root: Hashable
    names: Sequence[Hashable]
    engine: TreeEngine
    start: np.ndarray
    free: np.ndarray

    def changed(self, tables: np.ndarray) -> ChangedTables:
        """Return the tables of the leaves, from flat ones."""
        leaves = self.engine.layout.unpack(tables)[1:]
        return ChangedTables(self.root, {name: table.copy() for name, table in zip(self.names, leaves, strict=True)})


def leaf_model(
    root: Hashable,
    rest: np.ndarray,
    names: Sequence[Hashable],
    evidence: Sequence[Evidence],
    starts: Sequence[np.ndarray],
    weights: np.ndarray,
) -> LeafModel:
    """Return the model of a root and some leaves.

    Parameters
    ----------
    root : hashable
        The node that the leaves hang on.
    rest : array, shape (rows, states)
        Messages of everything else about the root; see :meth:`NodeMessages.rest`.
    names, evidence, starts : sequences
        The leaves, one or more, the evidence from beyond each of them, and the tables to start with.
    weights : array
        Of the rows.
    """
    pieces = {0: soft(rest)} | dict(enumerate(evidence, start=1))
    plan = compile_plan([-1, *[0] * len(names)], pieces, pivots=[0])
    engine = TreeEngine(plan, [rest.shape[1], *(table.shape[1] for table in starts)], weights)
    start = engine.layout.pack([np.ones((1, rest.shape[1])), *starts])
    return LeafModel(root, names, engine, start, np.array([False, *[True] * len(names)]))


def soft(messages: np.ndarray) -> Evidence:
    """Return evidence of which every row has its own message."""
    return Evidence(np.arange(len(messages)), messages.shape[1], messages)


EVALUATIONS = {"rl": Evaluation, "dc": CompletionEvaluation, "auto": CombinedEvaluation}
