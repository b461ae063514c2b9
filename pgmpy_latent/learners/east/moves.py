"""All kinds of moves that the search makes. A new kind is a subclass of ``Move``, and an entry of ``MOVES``.

``docs/east.md`` shows one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from pgmpy_latent.learners.east.edge_moves import Relocate
from pgmpy_latent.learners.east.move import PHASES, Move
from pgmpy_latent.learners.east.node_moves import Contract, Delete, Introduce
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.east.state_moves import Grow, Shrink
from pgmpy_latent.model.tree import LatentTree

#: All kinds of moves, in the order in which the search looks at them.
MOVES: tuple[type[Move], ...] = (Introduce, Grow, Relocate, Shrink, Delete, Contract)


def moves_of(tree: LatentTree, rules: Rules, evaluation: str = "auto", phases: Collection[str] = PHASES) -> list[Move]:
    """Return the moves of a tree, for one of the evaluations and some phases."""
    return [
        move
        for kind in MOVES
        if kind.phase in phases and evaluation in kind.used_with
        for move in kind.in_tree(tree, rules)
    ]


def moves_within(tree: LatentTree, rules: Rules, nodes: Collection[Hashable]) -> list[Move]:
    """Return the moves that let some hidden nodes settle after another move."""
    settling = [move for kind in MOVES if kind.may_settle for move in kind.in_tree(tree, rules)]
    return [move for move in settling if move.is_within(nodes)]


def to_plain(move: Move) -> list:
    """Return a move as a list of text and numbers; :func:`from_plain` reads it.

    Examples
    --------
    >>> from_plain(to_plain(Delete("H2", "H1")))
    Delete(node='H2', into='H1')
    """
    parts = [list(part) if isinstance(part, tuple) else part for part in vars(move).values()]
    return [type(move).__name__, *parts]


def from_plain(parts: Sequence) -> Move:
    """Return the move that :func:`to_plain` wrote.

    Examples
    --------
    >>> from_plain(["Grow", "H"])
    Grow(node='H')
    """
    name, *values = parts
    kinds = {kind.__name__: kind for kind in MOVES}
    return kinds[name](*(tuple(value) if isinstance(value, list) else value for value in values))
