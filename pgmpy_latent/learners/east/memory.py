"""What a search of EAST remembers from one step to the next, and how a checkpoint keeps it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields

from pgmpy_latent.learners.east.move import EXPAND, PHASES, Move
from pgmpy_latent.learners.east.moves import from_plain, to_plain
from pgmpy_latent.learners.resumed import check_memory
from pgmpy_latent.runtime.lossless_json import back, plain, register

#: Phases that follow when no phase of a round helps any more.
EXCURSION, LOOK_AHEAD = "excursion", "look ahead"


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

    phase: str = EXPAND
    exhausted: Mapping[str, int] = field(default_factory=dict)
    queue: tuple[Move, ...] = ()
    moved: bool = False
    taking_over: tuple[Hashable, Hashable] | None = None
    failed: tuple[str, ...] = ()
    excursions: tuple[float, ...] = ()

    def to_plain(self) -> dict:
        """Return the memory as JSON can hold it; called when a checkpoint is written.

        Examples
        --------
        >>> from pgmpy_latent.learners.east.moves import Grow
        >>> EastMemory(queue=(Grow("H"),)).to_plain()["queue"]
        [['Grow', 'H']]
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return plain(values | lists | {"queue": [to_plain(move) for move in self.queue]})

    @classmethod
    def from_plain(cls, document: dict) -> EastMemory:
        """Return the memory that :meth:`to_plain` wrote; raise if something is missing or of the wrong kind.

        Examples
        --------
        >>> EastMemory.from_plain(EastMemory(phase="adjust").to_plain()).phase
        'adjust'
        """
        values = back(document)
        phases = (*PHASES, EXCURSION, LOOK_AHEAD)
        check_memory(values, phase=phases, exhausted=dict, queue=list, moved=bool, failed=list, excursions=list)
        check_memory(values, taking_over=lambda pair: pair is None or (type(pair) is list and len(pair) == 2))
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**values | lists | {"queue": tuple(from_plain(parts) for parts in values["queue"])})


register("memory of EAST", (EastMemory,), EastMemory.to_plain, EastMemory.from_plain)
