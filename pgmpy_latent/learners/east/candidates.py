"""Candidates of a search: moves that were evaluated, and the orders in which they are tried."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pgmpy_latent.operators.star import Star

if TYPE_CHECKING:
    from pgmpy_latent.learners.east.move import Move


@dataclass(frozen=True, eq=False)
class ChangedTables:
    """The tables that a move changes.

    Attributes
    ----------
    root : hashable
        The node at which the tree is rooted for these tables.
    tables : dict
        P(node | its predecessor on the path from the root), by the node's name; the new node of an introduction is
        called None.
    star : Star, optional
        Instead of ``tables``: all tables around the root.
    """

    root: Hashable
    tables: Mapping[Hashable, np.ndarray] = field(default_factory=dict)
    star: Star | None = None

    @property
    def whole_star(self) -> Star:
        """The star of a move that changes all tables around a node."""
        if self.star is None:
            raise ValueError(f"the tables around {self.root!r} are given one by one")
        return self.star


@dataclass(frozen=True, eq=False)
class EvaluatedMove:
    """A move, and how good the tree is that it leads to.

    Attributes
    ----------
    move : Move
        The move.
    gain : float
        Lower bound of the rise of the log-likelihood.
    n_more : int
        How many parameters the tree gains; negative if it loses some.
    changed : ChangedTables
        The tables that the move changes, as fitted.
    score : float
        Rise of BIC.
    """

    move: Move
    gain: float
    n_more: int
    changed: ChangedTables
    score: float

    @property
    def ratio(self) -> float:
        """The improvement ratio: rise of BIC per parameter; infinite where parameters are saved."""
        if self.score <= 0:
            return self.score
        return self.score / self.n_more if self.n_more > 0 else np.inf


def by_ratio_first(candidate: EvaluatedMove) -> tuple[float, float]:
    """Return the key that sorts by falling improvement ratio, and ties by score."""
    return -candidate.ratio, -candidate.score


def by_ratio(candidates: Sequence[EvaluatedMove]) -> list[EvaluatedMove]:
    """Return candidates by falling improvement ratio; ties are ordered by score."""
    return sorted(candidates, key=by_ratio_first)


def by_score(candidates: Sequence[EvaluatedMove]) -> list[EvaluatedMove]:
    """Return candidates by falling score."""
    return sorted(candidates, key=lambda candidate: -candidate.score)


def in_turn(candidates: Sequence[EvaluatedMove]) -> list[EvaluatedMove]:
    """Return candidates so that kinds of moves and places take turns, the best of each first."""
    counts: dict[tuple, int] = {}
    ranks = []
    for candidate in by_score(candidates):
        place = (type(candidate.move), candidate.move.place)
        counts[place] = counts.get(place, 0) + 1
        ranks.append((counts[place], candidate))
    return [candidate for _, candidate in sorted(ranks, key=lambda pair: pair[0])]
