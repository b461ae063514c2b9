"""Evaluates the moves of a tree block by block: what an earlier step found out about a block holds while it stands."""

from __future__ import annotations

from pgmpy_latent.learners.east.blocks import Block, BlockMessages
from pgmpy_latent.learners.east.evaluation import CombinedEvaluation
from pgmpy_latent.learners.east.move import Move
from pgmpy_latent.learners.east.settings import EastSettings
from pgmpy_latent.learners.search import Search


class BlockEvaluation(CombinedEvaluation):
    """Evaluates moves within a block on the rows of its columns, and moves across blocks on all rows.

    Parameters
    ----------
    messages : BlockMessages
        The current tree and the table.
    search, settings, penalty, step
        See :class:`~pgmpy_latent.learners.east.evaluation.Evaluation`.
    before : BlockEvaluation, optional
        Of another tree: what it knows about moves in blocks that both trees have holds here, too.
    """

    messages: BlockMessages

    def __init__(
        self,
        messages: BlockMessages,
        search: Search,
        settings: EastSettings,
        penalty: float = 0.0,
        step: int = 0,
        before: BlockEvaluation | None = None,
    ):
        super().__init__(messages, search, settings, penalty, step)
        self._homes: dict[Block, CombinedEvaluation] = {}
        if before is not None:
            self._homes = {block: before._homes[block] for block in messages.blocks if block in before._homes}
            self.known = {
                move: evaluated
                for move, evaluated in before.known.items()
                if before.sources(move) <= set(messages.blocks) and move.names <= set(messages.tree.names)
            }

    def __getstate__(self) -> dict:
        """Return what a worker needs: everything except the moves evaluated so far."""
        return {**super().__getstate__(), "_homes": {}}

    def sources(self, move: Move) -> set[Block]:
        """Return the blocks that the gain of a move across blocks depends on."""
        return {block for block in move.blocks(self.messages) if block is not None}

    def home(self, move: Move) -> CombinedEvaluation:
        """Return the evaluation of the block in which a move is made; this one if there are several."""
        blocks = move.blocks(self.messages)
        if len(blocks) > 1 or None in blocks:
            return self
        (block,) = blocks
        assert block is not None
        if block not in self._homes:
            self._homes[block] = CombinedEvaluation(
                block.messages, self.search, self.settings, self.penalty, block.seed
            )
        return self._homes[block]
