"""The engine of trees: a plan bound to numbers of states and to weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Literal

import numpy as np

from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.plan import EDGE, LEAF_ABOVE, LEAF_BELOW, NUMBERS, PIVOT, PRODUCT, Plan, compile_plan
from pgmpy_latent.inference.protocol import Frozen, RowEngine, nothing_frozen
from pgmpy_latent.inference.threads import Parts, Segment, divided, work_of
from pgmpy_latent.inference.walk import RowWalk, region_of
from pgmpy_latent.runtime.parallel import uninterrupted

Precision = Literal["double", "single"]
#: Numbers in a cache line. Messages begin with one, so that none needs more lines than it must.
CACHE_LINE = 8


def _aligned(size: int, precision: Precision = "double") -> np.ndarray:
    """Return an array of undefined numbers that begins with a cache line."""
    in_a_line = CACHE_LINE if precision == "double" else 2 * CACHE_LINE
    array = np.empty(size + in_a_line, dtype=precision)
    skipped = -(array.ctypes.data // array.itemsize) % in_a_line
    return array[skipped : skipped + size]


def _no_workspaces() -> dict[Precision, list[tuple[np.ndarray, ...]]]:
    return {"double": [], "single": []}


def _lengths_of_factors(plan: Plan) -> np.ndarray:
    """Return how many slots each of the factors of all products has."""
    slots = {(step.site, step.slot): step.count for step in plan.steps if step.kind != PIVOT}
    lengths = np.zeros(len(plan.firsts), dtype=np.int64)
    for step in plan.steps:
        for number, first in enumerate(step.factors):
            lengths[step.firsts + number] = slots[step.site, first]
    return lengths


@cache
def kernel_for(precision: Precision = "double", numeric: bool = False) -> Callable:
    """Return the compiled code for tables with numeric columns, or without.

    The compiler loads at first use, works for a while in the first run, and would not survive Ctrl-C halfway.
    """
    with uninterrupted(heed=True):
        from pgmpy_latent.inference.kernels.trees import compiled

        return compiled(precision, numeric)


class TreeEngine(RowEngine):
    """Exact inference in a forest, for the rows of a plan.

    ``tables`` are flat vectors (see :class:`~pgmpy_latent.inference.layout.Layout`).

    Parameters
    ----------
    plan : Plan
        Compiled message passing.
    cards : sequence of int
        Number of states of each node.
    weights : array, shape (n_rows,) or (n_weightings, n_rows), optional
        Weight of each row; one by default. If there are several weightings, every start of ``expected_counts`` and
        ``log_likelihood`` names the one it uses.

    Examples
    --------
    >>> from pgmpy_latent.inference.plan import Evidence
    >>> plan = compile_plan([-1, 0], {1: Evidence(np.array([0, 1]), 2)})
    >>> engine = TreeEngine(plan, [2, 2], weights=[3.0, 1.0])
    >>> tables = engine.layout.pack([np.array([[0.5, 0.5]]), np.array([[0.9, 0.1], [0.3, 0.7]])])
    >>> log_likelihood, counts = engine.expected_counts(tables)
    >>> round(float(log_likelihood), 4), float(counts[:2].sum())
    (-2.4488, 4.0)
    """

    def __init__(
        self, plan: Plan, cards: np.ndarray | Sequence[int], weights: np.ndarray | Sequence[float] | None = None
    ):
        self.plan = plan
        self.cards = np.asarray(cards, dtype=np.int64)
        rows = np.where(plan.parents < 0, 1, self.cards[plan.parents])
        self.layout = Layout(np.stack([rows, self.cards], axis=1), plan.emissions)
        self._set_weights(np.ones(plan.n_rows) if weights is None else np.asarray(weights, dtype=np.float64))
        self._ops = np.array([step.row for step in plan.steps], dtype=np.int64)
        self._numeric = True if any(step.kind == NUMBERS for step in plan.steps) else None
        self._lengths = _lengths_of_factors(plan)
        self._place_sites()
        self._nothing_muted = np.zeros(len(self._ops), dtype=np.int8)
        self._everything_wanted = np.ones(len(self._ops), dtype=np.int8)
        self._whole = np.array([0, 0, len(self._ops), -1, -1])
        self._spare_workspaces = _no_workspaces()
        self.precision: Precision = "double"
        self._last_wanted: tuple[bytes, np.ndarray] | None = None

    def _set_weights(self, weights: np.ndarray) -> None:
        """Give the rows their weights."""
        assert weights.shape[-1] == self.plan.n_rows
        self.weights, weightings = weights, np.atleast_2d(weights)
        self.pattern_weights = np.stack([self._sum_over_patterns(weights) for weights in weightings])
        self.constants = np.zeros(len(weightings))
        if self.plan.row_constants is not None:
            self.constants = weightings @ self.plan.row_constants

    def _place_sites(self) -> None:
        """Lay the slots of all sites out in one vector."""
        sites = self.plan.sites
        self.site_card = np.array([1 if site.single else self.cards[site.node] for site in sites], dtype=np.int64)
        self.site_step = np.where(self.site_card <= 2, 2, (self.site_card + 3) // 4 * 4)  # as in vectors.stride
        sizes = np.diff(self.plan.site_slots) * self.site_step
        sizes = (sizes + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE
        self.site_base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.site_prior = np.array(
            [self.layout.offsets[site.node] if site.has_prior else -1 for site in sites], dtype=np.int64
        )

    def _sum_over_patterns(self, weights: np.ndarray) -> np.ndarray:
        """Add the weights of rows up for every pattern of every pivot."""
        counts = [step.count for step in self.plan.steps if step.kind == PIVOT]
        return np.concatenate(
            [
                np.bincount(patterns, weights, minlength=count)
                for patterns, count in zip(self.plan.row_patterns, counts, strict=True)
            ]
        )

    @cached_property
    def _ways(self) -> tuple[list[Segment], list[Segment]]:
        """The way up and the way down, in segments."""
        return divided(self.plan, self.site_step, self.site_base)

    @cached_property
    def is_large(self) -> bool:
        """Whether threads can share the rows of one start."""
        return max(map(len, self._ways)) > 1

    @cached_property
    def work(self) -> int:
        """Numbers that the way up multiplies, about; a billion of them take about a second, and the way down thrice."""
        return sum(work_of(step, self.site_step) for step in self.plan.steps)

    @property
    def n_weightings(self) -> int:
        """Number of weightings of the rows."""
        return len(self.pattern_weights)

    @property
    def total_weight(self) -> float:
        """Weight of all rows, by the first weighting."""
        return float(np.atleast_2d(self.weights)[0].sum())

    def reweighted(self, weights: np.ndarray) -> TreeEngine:
        """Return an engine for the same rows with other weights, which shares all else with this one."""
        engine = copy(self)
        engine._set_weights(np.asarray(weights, dtype=np.float64))
        return engine

    def in_precision(self, precision: Precision) -> TreeEngine:
        """Return an engine for the same rows whose expected counts are computed in another precision.

        In single precision messages, and the products of matrices at edges, are rounded to seven digits; products of
        messages, sums over many rows and the logarithms are in double all the same. The log-likelihood that comes with
        the counts is off by less than 1e-6 nats for each row and node, and a count by less than 1e-4 of the largest in
        its table; on real tables by a tenth of that. States that are 38 orders of magnitude less likely than another,
        given what is below them, are lost; if that makes a row impossible, everything is computed in double. All other
        methods always compute in double.

        Parameters
        ----------
        precision : {"double", "single"}

        Examples
        --------
        >>> from pgmpy_latent.inference.plan import Evidence
        >>> engine = TreeEngine(compile_plan([-1, 0], {1: Evidence(np.array([0, 1, 1]), 2)}), [2, 2])
        >>> tables = np.array([0.5, 0.5, 0.9, 0.1, 0.3, 0.7])
        >>> exact, rounded = (engine.in_precision(p).expected_counts(tables)[1] for p in ("double", "single"))
        >>> bool(np.allclose(exact, rounded, rtol=1e-6))
        True
        """
        engine = copy(self)
        engine.precision = precision
        return engine

    def for_counts(self) -> TreeEngine:
        """Return an engine for counts and the log-likelihood alone, without the evidence of single rows.

        Examples
        --------
        >>> from pgmpy_latent.inference.plan import Evidence
        >>> engine = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1, 1]), 2)}), [2])
        >>> engine.for_counts().expected_counts(np.array([0.5, 0.5]))[1].tolist()
        [1.0, 2.0]
        """
        engine = copy(self)
        sites = [replace(site, evidence=()) for site in self.plan.sites]
        engine.plan = replace(
            self.plan, sites=sites, evidence={}, row_patterns=[], given_constants=None, row_constants=None
        )
        engine.weights = np.atleast_2d(self.weights).sum(axis=1)
        engine._spare_workspaces = _no_workspaces()
        return engine

    def __sizeof__(self) -> int:  # by which Dask decides what to move and what to write to disk
        rows = [*self.plan.row_patterns, *(piece.index for pieces in self.plan.evidence.values() for piece in pieces)]
        return sum(array.nbytes for array in (self.plan.low, self.plan.high, self.pattern_weights, self.weights, *rows))

    def __getstate__(self) -> dict:
        return vars(self) | {"_spare_workspaces": _no_workspaces()}  # scratch, which no other process needs

    def expected_counts(
        self,
        tables: np.ndarray,
        free: np.ndarray | None = None,
        weightings: np.ndarray | None = None,
        pool: Executor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood and the expected count of every entry of every table.

        Parameters
        ----------
        tables : array, shape (size,) or (n_starts, size)
            Probability tables.
        free : bool array, shape (n_tables,), optional
            Tables whose counts are wanted; the counts of others are zero.
        weightings : int array, shape (n_starts,), optional
            Which of the engine's weightings each start uses; the first by default.
        pool : Executor, optional
            Threads that share the rows of a large table; the result does not depend on it.

        Returns
        -------
        log_likelihood : float, or array of shape (n_starts,)
        counts : array like ``tables``
        """
        options = {"wanted": self._wanted(free), "weightings": weightings, "pool": pool}
        log_likelihoods, counts, _ = self._run(tables, backward=True, precision=self.precision, **options)
        if self.precision == "single" and not np.isfinite(log_likelihoods).all():  # perhaps out of its range
            log_likelihoods, counts, _ = self._run(tables, backward=True, **options)
        if free is not None:
            counts *= np.asarray(free)[self.layout.table_of_entry]
        if tables.ndim == 1:
            return log_likelihoods[0], counts[0]
        return log_likelihoods, counts

    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""
        log_likelihoods, _, _ = self._run(tables, weightings=weightings)
        return log_likelihoods if tables.ndim == 2 else log_likelihoods[0]

    def row_log_likelihoods(self, tables: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row (of shape (n_rows,) or (n_starts, n_rows))."""
        _, _, pattern_logs = self._run(tables, keep_logs=True)
        rows = self._logs_of_rows(pattern_logs)
        return rows if tables.ndim == 2 else rows[0]

    def _logs_of_rows(self, pattern_logs: np.ndarray) -> np.ndarray:
        """Return the log-likelihoods of the patterns at all pivots, summed for every row: (n_starts, n_rows)."""
        rows = np.zeros((len(pattern_logs), self.plan.n_rows))
        begin = 0
        pivots = [step for step in self.plan.steps if step.kind == PIVOT]
        for step, patterns in zip(pivots, self.plan.row_patterns, strict=True):
            rows += pattern_logs[:, begin : begin + step.count][:, patterns]
            begin += step.count
        if self.plan.row_constants is not None:
            rows += self.plan.row_constants
        return rows

    def beliefs(self, tables: np.ndarray, nodes: Sequence[int], without: Iterable[int] = ()) -> list[np.ndarray]:
        """Return P(node | row) for each of the nodes: (n_rows, states), or (n_starts, n_rows, states).

        ``without`` names nodes whose edge to their parent is cut: no message crosses it.
        Rows of probability zero give NaN, whichever tree of a forest rules them out; with an edge cut, only the nodes
        on that side.
        """
        if tables.ndim == 2:
            without = tuple(without)
            starts = (self.beliefs(start, nodes, without) for start in tables)
            return [np.stack(beliefs) for beliefs in zip(*starts, strict=True)]
        walk = self.walk(tables, without)
        beliefs = [walk.belief(node) for node in nodes]
        if not walk.cut:
            for belief in beliefs:
                belief[walk.impossible] = np.nan
        return beliefs

    def pair_counts(self, tables: np.ndarray, pairs: Sequence[tuple[int, int]]) -> list[np.ndarray]:
        """Return the expected joint counts of pairs of nodes, adjacent or not; starts, if any, come first."""
        if tables.ndim == 2:
            starts = (self.pair_counts(start, pairs) for start in tables)
            return [np.stack(counts) for counts in zip(*starts, strict=True)]
        walk = self.walk(tables)
        return [walk.pair_count(left, right, self.weights) for left, right in pairs]

    def draw(self, tables: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the states of all nodes from their joint posterior, for each row: (n_rows, n_nodes).

        Rows of probability zero have no posterior: their unknown states stay unknown, as -1.
        """
        return self.walk(tables).draw(rng)

    def freeze(self, tables: np.ndarray, free: np.ndarray) -> Frozen[TreeEngine]:
        """Return a smaller engine in which the parts of the tree without free tables have become evidence.

        Parameters
        ----------
        tables : array, shape (size,)
            Probability tables.
        free : bool array, shape (n_tables,)
            Tables that will change; at least one.

        Returns
        -------
        Frozen
            A smaller engine, whose log-likelihood is that of the whole model.
        """
        nodes = region_of(self.plan.parents, np.flatnonzero(free))
        if len(nodes) == len(self.cards):  # nothing lies outside
            return nothing_frozen(self, free)
        inner = self
        if not self._meets_inside(nodes):
            plan = compile_plan(
                self.plan.parents,
                self.plan.evidence,
                pivots=nodes.tolist(),
                row_constants=self.plan.given_constants,
            )
            inner = TreeEngine(plan, self.cards, self.weights)
        evidence, constants = inner.walk(tables).surroundings(nodes)
        position = {int(node): at for at, node in enumerate(nodes)}
        parents = [position.get(int(self.plan.parents[node]), -1) for node in nodes]
        plan = compile_plan(
            parents, {position[node]: pieces for node, pieces in evidence.items()}, row_constants=constants
        )
        engine = TreeEngine(plan, self.cards[nodes], self.weights)
        lost = (np.array(parents) < 0) & (self.plan.parents[nodes] >= 0)
        return Frozen(engine, nodes, lost, np.asarray(free)[nodes], self.layout)

    def walk(self, tables: np.ndarray, without: Iterable[int] = ()) -> RowWalk:
        """Send all messages up, and return an object for queries of single rows; ``without`` as in :meth:`beliefs`."""
        muted = self._nothing_muted
        cut = {node for node in without if self.plan.parents[node] >= 0}
        if cut:
            carries = (EDGE, LEAF_ABOVE, LEAF_BELOW)
            muted = np.array([s.kind in carries and s.table in cut for s in self.plan.steps], dtype=np.int8)
        workspace = self._workspace()
        _, _, pattern_logs = self._run(tables, muted=muted, workspace=workspace, keep_logs=True)
        up, _, exponents, _ = workspace
        return RowWalk(self, tables, up, exponents, cut, np.isneginf(self._logs_of_rows(pattern_logs)[0]))

    def _meets_inside(self, nodes: np.ndarray) -> bool:
        """Tell whether the messages of every component that the nodes belong to meet at one of them."""
        inside = set(nodes.tolist())
        touched = False
        for step in self.plan.steps:
            members = [step.site] if step.kind != EDGE else [step.site, step.a]
            touched |= any(self.plan.sites[s].node in inside and self.plan.sites[s].whole for s in members)
            if step.kind == PIVOT:
                if touched and self.plan.sites[step.site].node not in inside:
                    return False
                touched = False
        return True

    def _wanted(self, free: np.ndarray | None) -> np.ndarray:
        """Return which operations have a free table at or below them."""
        if free is None:
            return self._everything_wanted
        key = np.asarray(free, dtype=np.bool_).tobytes()
        known = self._last_wanted  # EM asks for the same counts at every iteration
        if known is None or known[0] != key:
            self._last_wanted = known = key, self._wanted_for(free)
        return known[1]

    def _wanted_for(self, free: np.ndarray) -> np.ndarray:
        """Return which operations have one of some free tables at or below them."""
        below = np.zeros(len(self.plan.sites), dtype=np.bool_)
        wanted = np.zeros(len(self._ops), dtype=np.int8)
        for at, step in enumerate(self.plan.steps):
            if step.kind in (LEAF_ABOVE, LEAF_BELOW):
                wanted[at] = free[step.table]
            elif step.kind == NUMBERS:
                wanted[at] = any(free[node] for node in step.members)
            elif step.kind == EDGE:
                source = self.plan.sites[step.a]
                wanted[at] = free[step.table] or below[step.a] or (source.has_prior and free[source.node])
            elif step.kind == PRODUCT:
                wanted[at] = below[step.site]
            below[step.site] |= bool(wanted[at])
        return wanted

    def _workspace(self, precision: Precision = "double") -> tuple[np.ndarray, ...]:
        """Return new arrays for messages, their masses and exponents, and whether each site uses exponents."""
        entries, slots = int(self.site_base[-1]), int(self.plan.site_slots[-1])
        scaled = np.empty(len(self.plan.sites), dtype=np.bool_)
        return _aligned(entries, precision), _aligned(entries), np.empty(slots, dtype=np.int32), scaled

    def _run(
        self, tables, *, backward=False, keep_logs=False, wanted=None, muted=None, workspace=None, weightings=None,
        pool=None, precision="double",
    ):  # fmt: skip
        """Run the plan; return log-likelihoods, counts and the patterns' log-likelihoods."""
        tables = np.ascontiguousarray(np.atleast_2d(tables), dtype=np.float64)
        assert tables.shape[1] == self.layout.size, (tables.shape, self.layout.size)
        starts = len(tables)
        counts = np.empty((starts, self.layout.size if backward else 0))
        log_likelihoods = np.empty(starts)
        pattern_logs = np.empty((starts if keep_logs else 1, self.pattern_weights.shape[1] if keep_logs else 0))
        weightings = np.zeros(starts, np.int64) if weightings is None else np.asarray(weightings, np.int64)
        scratch = workspace
        if scratch is None:
            try:
                scratch = self._spare_workspaces[precision].pop()  # threads never share them
            except IndexError:
                scratch = self._workspace(precision)
        up, mass, exponents, scaled = scratch
        kernel = kernel_for(precision, self._numeric is not None)
        needed = (self._numeric, True if precision == "single" else None)
        rows = (
            self.plan.low, self.plan.high, self.plan.firsts, self._lengths, self.site_card, self.site_step,
            self.site_base, self.plan.site_slots, self.site_prior, self.layout.offsets, self.plan.soft,
            self.pattern_weights,
        )  # fmt: skip
        which_ops = (
            self._everything_wanted if wanted is None else wanted, self._nothing_muted if muted is None else muted,
        )  # fmt: skip
        if muted is None and self.is_large:

            def run(span, which, counts, logs, scaled, target, target_firsts):
                kernel(
                    self._ops, span, *rows, weightings[which], tables[which], *which_ops, counts, logs,
                    pattern_logs[which] if keep_logs else pattern_logs, keep_logs, backward, up, mass, exponents,
                    scaled, target, target_firsts, *needed,
                )  # fmt: skip

            for at in range(starts):
                which = slice(at, at + 1)
                parts = Parts(partial(run, which=which), self.plan.firsts, self.layout, scratch, backward, pool)
                log_likelihoods[at] = parts.run(*self._ways, counts[which])
        else:
            kernel(
                self._ops, self._whole, *rows, weightings, tables, *which_ops, counts, log_likelihoods, pattern_logs,
                keep_logs, backward, up, mass, exponents, scaled, mass, self.plan.firsts, *needed,
            )  # fmt: skip
        if workspace is None:
            self._spare_workspaces[precision].append(scratch)
        return log_likelihoods + self.constants[weightings], counts, pattern_logs
