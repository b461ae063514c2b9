"""Three ways to put the candidates of a step in order: restricted likelihood, data completion, and both together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pgmpy_latent.learners.east.completed import Completed
from pgmpy_latent.learners.east.moves import Grow, Introduce, Move, Relocate
from pgmpy_latent.learners.east.restricted import Candidate, Restricted
from pgmpy_latent.tables.dependence import block_information

#: How many introductions of a node get EM on completed counts, and how many of these local EM.
COUNTED, FITTED = 24, 8
#: How many new places local EM tries for every node.
PLACES = 4


def by_ratio(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in the order of their improvement ratios; equally good ones by their scores."""
    return sorted(candidates, key=lambda candidate: (-candidate.ratio, -candidate.score))


def by_score(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in the order of their scores."""
    return sorted(candidates, key=lambda candidate: -candidate.score)


def in_turn(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates so that kinds of moves and places take turns, the best of each first."""
    rank: dict[tuple, int] = {}
    places = []
    for candidate in by_score(candidates):
        move = candidate.move
        at = (type(move), getattr(move, "node", None) if isinstance(move, Introduce) else None)
        rank[at] = rank.get(at, 0) + 1
        places.append((rank[at], candidate))
    return [candidate for _, candidate in sorted(places, key=lambda pair: pair[0])]


class RestrictedEvaluation:
    """Every candidate by local EM (section 3 of the paper)."""

    def __init__(self, restricted: Restricted):
        self.restricted = restricted
        self.outlook = restricted.outlook

    def candidates(self, moves: Sequence[Move]) -> list[Candidate]:
        """Return the candidates worth a full fit, in no order."""
        return self.restricted.candidates(moves)

    def candidate(self, move: Move) -> Candidate:
        """Evaluate a move that was found worth it in an earlier tree."""
        return self.restricted.candidate(move)

    def known(self, move: Move) -> Candidate | None:
        """Return what :meth:`candidate` has found, if it was asked before."""
        return self.restricted.known.get(move)


class CompletionEvaluation(RestrictedEvaluation):
    """Every candidate by completed data (section 4); of new nodes and new states, the best one each."""

    def candidates(self, moves: Sequence[Move]) -> list[Candidate]:
        """Return the candidates worth a full fit, in no order."""
        completed = Completed(self.outlook, self.restricted)
        found = []
        for kind, score in ((Introduce, completed.introduction), (Grow, completed.growth)):
            some = [move for move in moves if isinstance(move, kind)]
            if some:
                values = self.restricted.search.map(score, some)
                found.append(self.restricted.candidate(some[int(np.argmax(values))]))
        others = [move for move in moves if not isinstance(move, (Introduce, Grow))]
        return found + self.restricted.search.map(completed.candidate, others)


class CombinedEvaluation(RestrictedEvaluation):
    """Data completion to choose the candidates that local EM looks at."""

    def __init__(self, restricted: Restricted):
        super().__init__(restricted)
        self._introduced: dict[tuple[Introduce, ...], list[Candidate]] = {}

    def __getstate__(self) -> dict:
        """Return what a worker needs: all but what has been found so far."""
        return {"restricted": self.restricted, "outlook": self.outlook, "_introduced": {}}

    def candidates(self, moves: Sequence[Move]) -> list[Candidate]:
        """Return the candidates worth a full fit, in no order."""
        introductions = tuple(move for move in moves if isinstance(move, Introduce))
        relocations = [move for move in moves if isinstance(move, Relocate)]
        others = [move for move in moves if not isinstance(move, (Introduce, Relocate))]
        likely, doubtful = _few_or_many(relocations)
        likely.extend(self._likely(doubtful))
        parcels, tables = self.restricted.parcels([*others, *likely]), []
        if introductions not in self._introduced:
            tables = [(move, self._completed.table(move)) for move in self._dependent(introductions)]
        found = self.restricted.search.map(self._first_look, [*parcels, *tables])
        self.restricted.learn(found[: len(parcels)])
        if introductions not in self._introduced:
            ordered = by_ratio(found[len(parcels) :])
            fitted = self.restricted.search.map(self._from_counts, ordered[:FITTED])
            self._introduced[introductions] = fitted + ordered[FITTED:]
        return self.restricted.candidates(others) + self._introduced[introductions] + self.restricted.candidates(likely)

    def candidate(self, move: Move) -> Candidate:
        """Evaluate a move that was found worth it in an earlier tree."""
        if isinstance(move, Introduce):
            return self._from_counts(self._completed.introduce(move))
        return self.restricted.candidate(move)

    def known(self, move: Move) -> Candidate | None:
        """Return what :meth:`candidate` has found, if it was asked before and keeps it."""
        return None if isinstance(move, Introduce) else self.restricted.known.get(move)

    @cached_property
    def _completed(self) -> Completed:
        return Completed(self.outlook, self.restricted)

    def _dependent(self, moves: Sequence[Introduce]) -> list[Introduce]:
        """Screen by G²; EM on completed counts comes next, and gives local EM a start."""
        dependence = np.array([self._completed.introduction(move) for move in moves])
        return [moves[at] for at in np.argsort(-dependence, kind="stable")[:COUNTED]]

    def _first_look(self, item: tuple[Introduce, np.ndarray] | list[Move]) -> Candidate | list[Candidate]:
        """Evaluate an introduction on completed counts, or a parcel of other moves by local EM."""
        return self._completed.introduce(*item) if isinstance(item, tuple) else self.restricted.evaluated(item)

    def _from_counts(self, candidate: Candidate) -> Candidate:
        return self.restricted.introduce(candidate.move, [list(candidate.local.tables.values())])

    def _likely(self, moves: Sequence[Relocate]) -> list[Relocate]:
        """Screen by the mutual information of posteriors, as if nodes were independent given a row."""
        if not moves:
            return []
        tree, outlook = self.outlook.tree, self.outlook
        nodes = sorted({tree.index(name) for move in moves for name in (*move.moved, move.new)})
        place = {node: at for at, node in enumerate(nodes)}
        posteriors = np.concatenate([outlook.posterior(node) for node in nodes], axis=1)
        starts = np.cumsum([0, *tree.cards[nodes][:-1]])
        joint = (posteriors * outlook.weights[:, None]).T @ posteriors
        shared = outlook.weights.sum() * block_information(joint, starts, starts)

        def worth(move: Relocate) -> float:
            new, moved = tree.index(move.new), [tree.index(name) for name in move.moved]
            own = sum(shared[place[new], place[other]] for other in moved)
            return own - self.restricted.penalty * tree.cards[new] * (tree.cards[moved] - 1).sum()

        return [move for some in _by_origin(moves) for move in sorted(some, key=lambda move: -worth(move))[:PLACES]]


def _by_origin(moves: Sequence[Relocate]) -> list[list[Relocate]]:
    """Return moves of the same nodes from the same node together."""
    found: dict[tuple, list[Relocate]] = {}
    for move in moves:
        found.setdefault((move.moved, move.old), []).append(move)
    return list(found.values())


def _few_or_many(moves: Sequence[Relocate]) -> tuple[list[Relocate], list[Relocate]]:
    """Return moves that local EM can look at, all of them, and those of nodes that have many places to go to."""
    few, many = [move for move in moves if move.new is None], []
    for some in _by_origin([move for move in moves if move.new is not None]):
        (few if len(some) <= PLACES else many).extend(some)
    return few, many


EVALUATIONS = {"rl": RestrictedEvaluation, "dc": CompletionEvaluation, "auto": CombinedEvaluation}
