"""What a search of EAST remembers from one step to the next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pgmpy_latent.learners.east.move import EXPAND, Move, Phase
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.model.tree import LatentTree

#: Phases that follow when no phase of a round helps any more.
EXCURSION: Literal["excursion"] = "excursion"
LOOK_AHEAD: Literal["look ahead"] = "look ahead"
SPLIT_AND_MERGE: Literal["split and merge"] = "split and merge"


@held_by_checkpoints("memory of EAST")
@dataclass(frozen=True)
class EastMemory:
    """The memory of a search.

    Attributes
    ----------
    phase : str
        What the next step does: one of ``PHASES``, ``EXCURSION``, ``LOOK_AHEAD`` or ``SPLIT_AND_MERGE``.
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
    settled : tuple of str
        Blocks whose numbers of states splits and merges could not improve.
    explained : bool
        Whether a tree that the search came through explained all pairs of columns, so that little more is to be found.
    """

    phase: Phase | Literal["excursion", "look ahead", "split and merge"] = EXPAND
    exhausted: Mapping[Phase, int] = field(default_factory=dict)
    queue: tuple[Move, ...] = ()
    moved: bool = False
    taking_over: tuple[Hashable, Hashable] | None = None
    failed: tuple[str, ...] = ()
    excursions: tuple[float, ...] = ()
    settled: tuple[str, ...] = ()
    explained: bool = False


@held_by_checkpoints("start of EAST")
@dataclass(frozen=True)
class Line:
    """The search from one start, as far as it was taken.

    Attributes
    ----------
    name : str
        What the search began with.
    stage : int
        How many of its stages have begun.
    tree, score, log_likelihood, step, memory
        Its state.
    """

    name: str
    stage: int
    tree: LatentTree
    score: float
    log_likelihood: float
    step: int = 0
    memory: EastMemory = field(default_factory=EastMemory)


@held_by_checkpoints("race of EAST")
@dataclass(frozen=True)
class RaceMemory:
    """The memory of a search that begins with several starts, one after the other.

    Attributes
    ----------
    lines : tuple of Line
        The one under way, and those that wait.
    leader : str
        Name of the line that the best tree so far comes from.
    passed : tuple of (str, int, float)
        The trees that lines came through: name of the line, number of parameters and log-likelihood.
    """

    lines: tuple[Line, ...]
    leader: str
    passed: tuple[tuple[str, int, float], ...] = ()

    @property
    def phase(self) -> str:
        """What the next step does, in words."""
        line = self.lines[0]
        return f"{line.memory.phase} from {line.name}"
