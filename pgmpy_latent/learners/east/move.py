"""Moves of the search: the base class of all kinds.

A move knows which moves of its kind a tree has (:meth:`Move.in_tree`), whether it is still possible in a later tree
(:meth:`Move.is_possible`), how good it is (:meth:`Move.evaluate`) and what tree it leads to (:meth:`Move.apply`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from pgmpy_latent.learners.east.blocks import Block, BlockMessages
from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove
from pgmpy_latent.learners.east.evaluation import Evaluation
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import composed, neighbours_of

#: The phases of a round of the search, in their order. Every kind of move belongs to one.
Phase = Literal["expand", "adjust", "delete states", "delete nodes"]
EXPAND: Phase = "expand"
ADJUST: Phase = "adjust"
DELETE_STATES: Phase = "delete states"
DELETE_NODES: Phase = "delete nodes"
PHASES: tuple[Phase, ...] = (EXPAND, ADJUST, DELETE_STATES, DELETE_NODES)
#: Share of the marginal distribution in tables that local EM starts with, so that no row is impossible.
SMOOTHING = 1e-3


class Move(ABC):
    """A change of a latent tree. Subclasses are frozen dataclasses of names of nodes and numbers."""

    #: Its name in ``history_``, and its phase.
    operator: ClassVar[str]
    phase: ClassVar[Phase]
    #: With which evaluations it is used.
    used_with: ClassVar[tuple[str, ...]] = ("rl", "dc", "auto")
    #: Whether local EM takes long, so that workers should begin with it.
    takes_long: ClassVar[bool] = False
    #: With evaluation "dc": whether counts can only rank its moves, by :meth:`need`.
    ranked_by_need: ClassVar[bool] = False
    #: With evaluation "auto": whether the moves with the greatest :meth:`need` are fitted to counts before local EM.
    counts_first: ClassVar[bool] = False
    #: With evaluation "auto": whether there are so many that :meth:`screened` chooses some.
    is_screened: ClassVar[bool] = False
    #: Whether such moves may be made while the surroundings of another move settle.
    may_settle: ClassVar[bool] = False

    # What every kind must have

    @classmethod
    @abstractmethod
    def in_tree(cls, tree: LatentTree, rules: Rules) -> list[Self]:
        """Return all moves of this kind, in a fixed order."""

    @property
    @abstractmethod
    def nodes(self) -> tuple[Hashable, ...]:
        """The nodes at which the move is made; :attr:`names` may have more."""

    @abstractmethod
    def evaluate(self, evaluation: Evaluation) -> EvaluatedMove:
        """Fit the tables that the move changes by local EM, and return the gain."""

    @abstractmethod
    def apply(self, tree: LatentTree, changed: ChangedTables) -> LatentTree:
        """Return the tree that the move leads to, with the changed tables; it need not be regular."""

    # What some kinds do differently

    def __str__(self) -> str:
        return ", ".join(map(str, self.nodes))

    @property
    def names(self) -> frozenset:
        """All nodes that the move needs."""
        return frozenset(self.nodes)

    @property
    def place(self) -> Hashable:
        """Place of the move; in the look-ahead, moves of different places take turns."""
        return None

    def blocks(self, messages: BlockMessages) -> set[Block | None]:
        """Return the blocks that the move changes; among them None if it is made at a column between blocks."""
        return {messages.of_node(self.nodes[0])}

    @property
    def shared_work(self) -> Hashable:
        """A key that moves have in common if :meth:`evaluate_together` can share work among them; None if not."""
        return None

    @classmethod
    def evaluate_together(cls, moves: Sequence[Self], evaluation: Evaluation) -> list[EvaluatedMove]:
        """Evaluate moves with the same :attr:`shared_work`."""
        return [move.evaluate(evaluation) for move in moves]

    @classmethod
    def screened(cls, moves: Sequence[Self], evaluation: Evaluation) -> list[Self]:
        """Return the moves that are worth local EM."""
        return list(moves)

    def need(self, evaluation: Evaluation) -> float:
        """Return a number by which moves of this kind can be ranked on completed counts; larger is better."""
        raise NotImplementedError(f"{type(self).__name__} moves cannot be ranked by need")

    def completed_table(self, evaluation: Evaluation) -> np.ndarray | None:
        """Return the completed counts that :meth:`fit_counts` needs."""
        return None

    def fit_counts(self, evaluation: Evaluation, table: np.ndarray | None = None) -> EvaluatedMove:
        """Fit the move to completed counts; the result may be a variant of the move."""
        return self.evaluate(evaluation)

    @classmethod
    def fit_counts_together(
        cls, moves: Sequence[Self], evaluation: Evaluation, tables: Sequence[np.ndarray | None]
    ) -> list[EvaluatedMove]:
        """Fit moves to completed counts of the same shape."""
        return [move.fit_counts(evaluation, table) for move, table in zip(moves, tables, strict=True)]

    def refine(self, evaluation: Evaluation, counted: EvaluatedMove | None) -> EvaluatedMove:
        """Evaluate the move by local EM after it was fitted to counts, as ``counted`` says."""
        return self.evaluate(evaluation)

    def evaluate_on_counts(self, evaluation: Evaluation) -> EvaluatedMove:
        """Evaluate the move by the expected log-likelihood of the completed table, if counts can tell."""
        return self.evaluate(evaluation)

    def is_possible(self, tree: LatentTree, rules: Rules) -> bool:
        """Tell whether the move, which was found in an earlier tree, can be made in this one."""
        return self.names <= set(tree.names) and self in self.in_tree(tree, rules)

    def check(self, tree: LatentTree) -> None:  # noqa: B027 - most kinds have nothing to check
        """Raise if a possible move that was read from a file asks for something impossible."""

    def touched(self, tree: LatentTree) -> frozenset:
        """Return the hidden nodes at which the move is made."""
        return frozenset(name for name in self.nodes if name in tree.latent_names)

    def is_within(self, nodes: Collection[Hashable]) -> bool:
        """Tell whether the move concerns no hidden nodes other than these."""
        return all(name in nodes for name in self.nodes)

    @property
    def loosened(self) -> frozenset:
        """The nodes that the move removes, or takes neighbours from."""
        return frozenset()

    def is_undone_by(self, move: Move, fresh: Collection[Hashable]) -> bool:
        """Tell whether another move takes this one back; ``fresh`` are the nodes that this one introduced."""
        return not move.loosened.isdisjoint(fresh)

    def takes_over(self, before: LatentTree, after: LatentTree) -> tuple[Hashable, Hashable] | None:
        """Return (old, new) if the node ``new`` may next take over neighbours of the node ``old``."""
        return None

    def signature(self, tree: LatentTree) -> str:
        """Return words that change whenever the nodes of the move, their neighbours or numbers of states do."""
        around = []
        for name in sorted(self.names, key=str):
            at = tree.index(name)
            others = [f"{tree.names[other]}/{tree.cards[other]}" for other in neighbours_of(tree, at)]
            around.append(f"{name}/{tree.cards[at]}: {' '.join(others)}")
        return f"{type(self).__name__} {self} | {', '.join(around)}"


# Tools of several kinds


def with_tables(tree: LatentTree, changed: Mapping[Hashable, np.ndarray], new: Hashable = None) -> LatentTree:
    """Return a tree with some tables replaced; the new node is called None among them."""
    tables, states = list(tree.tables), list(tree.state_names)
    for name, table in changed.items():
        at = tree.index(new if name is None else name)
        tables[at] = table
        if name is None:
            states[at] = tuple(range(table.shape[1]))
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables)


def start_table(messages: NodeMessages, between: np.ndarray, middle: int, end: int) -> np.ndarray:
    """Return P(end | start), given P(middle | start), with a little of the marginal: no row is impossible."""
    direct = composed(between, messages.given(middle, end))
    return (1 - SMOOTHING) * direct + SMOOTHING * messages.star(end).share
