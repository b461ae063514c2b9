"""All kinds of moves that the search makes. A new kind is a subclass of ``Move``, and an entry of ``MOVES``.

``docs/east.md`` shows one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from pgmpy_latent.learners.east.edge_moves import Relocate
from pgmpy_latent.learners.east.move import PHASES, Move
from pgmpy_latent.learners.east.node_moves import Contract, Delete, Interpose, Introduce
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.east.state_moves import Grow, Shrink
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.lossless_json import back, plain, register

#: All kinds of moves, in the order in which the search looks at them.
MOVES: tuple[type[Move], ...] = (Introduce, Interpose, Grow, Relocate, Shrink, Delete, Contract)


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


def _to_document(move: Move) -> list:
    return plain([type(move).__name__, *vars(move).values()])


def _from_document(parts: list) -> Move:
    name, *values = back(parts)
    return {kind.__name__: kind for kind in MOVES}[name](*values)


register("move of EAST", (Move,), _to_document, _from_document)
