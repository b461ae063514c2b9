"""What a search of EAST remembers from one step to the next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pgmpy_latent.learners.east.move import EXPAND, Move, Phase
from pgmpy_latent.learners.memory import held_by_checkpoints

#: Phases that follow when no phase of a round helps any more.
EXCURSION: Literal["excursion"] = "excursion"
LOOK_AHEAD: Literal["look ahead"] = "look ahead"


@held_by_checkpoints("memory of EAST")
@dataclass(frozen=True)
class EastMemory:
    """The memory of a search.

    Attributes
    ----------
    phase : str
        What the next step does: one of ``PHASES``, ``EXCURSION`` or ``LOOK_AHEAD``.
    exhausted : dict
        Phase -> the step at which it last found nothing better.
    queue : tuple of Move
        Moves that wait to be tried, best first.
    moved : bool
        Whether a move was accepted since the queue was filled.
    taking_over : (old node, new node), optional
        A node that was introduced last, and may take over more neighbours of the node it was introduced at.
    failed : tuple of str
        Signatures of moves that the look-ahead tried in vain.
    excursions : tuple of float
        Shares of the penalty that are still to be tried.
    """

    phase: Phase | Literal["excursion", "look ahead"] = EXPAND
    exhausted: Mapping[Phase, int] = field(default_factory=dict)
    queue: tuple[Move, ...] = ()
    moved: bool = False
    taking_over: tuple[Hashable, Hashable] | None = None
    failed: tuple[str, ...] = ()
    excursions: tuple[float, ...] = ()
