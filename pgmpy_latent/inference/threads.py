"""Large plans: their operations are divided into parts that threads can share.

Parts depend on the plan alone, and their sums are added in order, whichever thread computed them. So results are the
same to the last bit for any number of threads, one included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.plan import EDGE, PIVOT, PRODUCT, Plan, Step

#: Directions, as the kernel knows them.
UP, DOWN = 1, 2
#: Fewest numbers that a part multiplies, about a millisecond of work; and most parts of an operation.
SIZE, MOST = 2**20, 16
#: Numbers that an edge multiplies in the time in which a product of messages multiplies one.
EDGE_SPEED = 4
#: Tables with fewer distinct rows are small, whatever their plan.
FEW_ROWS = 4096
#: Most sums of a part, as a share of the numbers that it multiplies; with more of them, it is not worth it.
MOST_SUMS = 0.25


@dataclass(frozen=True)
class Segment:
    """Operations from ``begin`` to ``end`` that run as a whole, or a single one that is divided into parts.

    Attributes
    ----------
    cuts : tuple of (int, int)
        First and last pattern of every part; empty if the operations run as a whole.
    places : tuple of (int, int, int)
        For every factor whose mass the parts sum: its first entry among all messages, its first entry among the sums of
        a part, and the number of its entries.
    firsts : int array
        First slots of the factors among the sums of a part.
    tables : tuple of int
        Tables whose counts the parts add to.
    """

    begin: int
    end: int
    cuts: tuple[tuple[int, int], ...] = ()
    places: tuple[tuple[int, int, int], ...] = ()
    firsts: np.ndarray | None = None
    tables: tuple[int, ...] = ()

    @cached_property
    def n_sums(self) -> int:
        """Number of sums of a part."""
        return sum(size for _, _, size in self.places)


def divided(plan: Plan, site_step: np.ndarray, site_base: np.ndarray) -> tuple[list[Segment], list[Segment]]:
    """Return the segments of the way up and of the way down; one each if no operation is large.

    Examples
    --------
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> plan = compile_plan([-1, 0], {1: Evidence(np.array([0, 1]), 2)})
    >>> [len(segments) for segments in divided(plan, np.array([2, 2]), np.array([0, 8, 16]))]
    [1, 1]
    """
    everything = [Segment(0, len(plan.steps))]
    if plan.n_rows < FEW_ROWS:
        return everything, everything
    slots = {(step.site, step.slot): step.count for step in plan.steps if step.kind != PIVOT}
    ways: tuple[list[Segment], list[Segment]] = [], []
    for at, step in enumerate(plan.steps):
        cuts = _cuts(step, site_step)
        if not cuts:
            continue
        places, firsts = _adding_up(plan, step, slots, site_step, site_base) if step.kind != EDGE else ((), None)
        worth_it = (
            sum(size for _, _, size in places) * len(cuts) <= MOST_SUMS * step.count * step.a * site_step[step.site]
        )
        tables = _tables(plan, step)
        if step.kind == PIVOT and worth_it:
            ways[0].append(Segment(at, at + 1, cuts, places, firsts, tables))
        elif step.kind != PIVOT:
            ways[0].append(Segment(at, at + 1, cuts))
        if step.kind == EDGE or (step.kind == PRODUCT and worth_it):
            ways[1].append(Segment(at, at + 1, cuts, places, firsts, tables))
    up, down = (_filled(segments, len(plan.steps)) for segments in ways)
    return up, down[::-1]


def work_of(step: Step, site_step: np.ndarray) -> int:
    """Return how many numbers an operation multiplies, if it is a product or an edge; those of edges take less time."""
    if step.kind not in (PIVOT, PRODUCT, EDGE):
        return 0
    factors = site_step[step.a] / EDGE_SPEED if step.kind == EDGE else step.a
    return int(step.count * factors * site_step[step.site])


def _cuts(step: Step, site_step: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return the parts of an operation; none if it is small."""
    n_parts = min(MOST, work_of(step, site_step) // SIZE)
    if n_parts < 2:
        return ()
    ends = np.linspace(0, step.count, n_parts + 1).astype(int).tolist()
    return tuple(pairwise(ends))


def _tables(plan: Plan, step: Step) -> tuple[int, ...]:
    """Return the tables whose counts an operation adds to."""
    own = (step.table,) if step.kind == EDGE else ()
    site = plan.sites[step.a if step.kind == EDGE else step.site]
    counts_prior = step.kind == PIVOT or (step.kind == EDGE and step.above)
    return (*own, site.node) if counts_prior and site.has_prior else own


def _adding_up(plan: Plan, step: Step, slots: dict, site_step: np.ndarray, site_base: np.ndarray) -> tuple:
    """Return where the mass of a product's factors goes, among all messages and in a part; see Segment."""
    width, base = int(site_step[step.site]), int(site_base[step.site])
    places, firsts, slot = [], plan.firsts.copy(), 0
    for number, first in enumerate(step.factors):
        count = slots[step.site, first]
        places.append((base + first * width, slot * width, count * width))
        firsts[step.firsts + number] = slot
        slot += count
    firsts.flags.writeable = False
    return tuple(places), firsts


def _filled(segments: Sequence[Segment], n_steps: int) -> list[Segment]:
    """Return the segments with all operations between them."""
    filled, at = [], 0
    for segment in segments:
        if segment.begin > at:
            filled.append(Segment(at, segment.begin))
        filled.append(segment)
        at = segment.end
    return filled if at == n_steps and filled else [*filled, Segment(at, n_steps)]


class Parts:
    """The upward and downward pass of one start of a large plan.

    Parameters
    ----------
    kernel : callable
        ``kernel(span, counts=, logs=, scaled=, target=, target_firsts=)`` runs operations, or patterns of one of them.
    firsts : int array
        First slots of the factors of all products.
    layout : Layout
        Where the counts of a table stand.
    workspace : tuple of arrays
        Messages, their mass, exponents, and whether sites have any.
    backward : bool
        Whether to compute counts.
    pool : Executor, optional
        Threads that share parts.
    """

    def __init__(
        self,
        kernel: Callable,
        firsts: np.ndarray,
        layout: Layout,
        workspace: tuple[np.ndarray, ...],
        backward: bool,
        pool: Executor | None,
    ):
        self.kernel, self.firsts, self.backward = kernel, firsts, backward
        _, self.mass, self.exponents, self.scaled = workspace
        self.entries = layout.slices
        self.spare_zeros: list[np.ndarray] = []
        self.map = map if pool is None else pool.map
        self.log_likelihood = 0.0

    def run(self, up: Sequence[Segment], down: Sequence[Segment], counts: np.ndarray) -> float:
        """Fill in the expected counts, (1, size), if they are to be computed; return the log-likelihood."""
        self.scaled[:] = False
        self.exponents[:] = 0
        if self.backward:
            counts[:] = 0.0
        for segment in up:
            self._run(UP, segment, counts)
        for segment in down if self.backward else ():
            self._run(DOWN, segment, counts)
        return self.log_likelihood

    def _run(self, way: int, segment: Segment, counts: np.ndarray) -> None:
        n_sums = 0 if segment.firsts is None or not self.backward else segment.n_sums

        def part(cut: tuple[int, int]) -> tuple:
            logs, scaled = np.zeros(1), self.scaled.copy()
            own = self._zeros(counts) if segment.cuts else counts
            target = np.zeros(n_sums) if n_sums else self.mass
            firsts = self.firsts if segment.firsts is None else segment.firsts
            span = np.array([way, segment.begin, segment.end, *cut])
            self.kernel(span, counts=own, logs=logs, scaled=scaled, target=target, target_firsts=firsts)
            return logs[0], scaled, own, target

        for number, (logs, scaled, own, target) in enumerate(self.map(part, segment.cuts or ((-1, -1),))):
            self.log_likelihood += float(logs) if way == UP else 0.0
            self.scaled |= scaled
            if segment.cuts:
                self._add(own, segment.tables, counts)
            for there, here, size in segment.places if n_sums else ():
                sums, own_sums = self.mass[there : there + size], target[here : here + size]
                np.add(sums, own_sums, out=sums) if number else np.copyto(sums, own_sums)

    def _zeros(self, counts: np.ndarray) -> np.ndarray:
        """Return zeros for the counts of a part."""
        try:
            return self.spare_zeros.pop()
        except IndexError:
            return np.zeros_like(counts)

    def _add(self, own: np.ndarray, tables: Sequence[int], counts: np.ndarray) -> None:
        """Add the counts of a part, which are few of all, and make them zeros again."""
        for table in tables:
            entries = self.entries[table]
            counts[:, entries] += own[:, entries]
            own[:, entries] = 0.0
        self.spare_zeros.append(own)
