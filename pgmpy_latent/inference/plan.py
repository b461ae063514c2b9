"""Plans: message passing over a forest, compiled for one table of evidence.

The message that a subtree sends up depends only on the evidence below it. So every site of the message tree
lists the distinct combinations of evidence seen below it (its *patterns*), computes a message once per pattern,
and looks the messages of its neighbours up by index. Nothing in a plan depends on the number of hidden
states, on weights or on parameters.

Words used here: a *site* is a node of the message tree. A node that is observed in every row separates its
neighbours, so it is cut into one site per neighbour, and the forest falls into *components*. Messages flow
towards the *pivot* of their component. A *slot* is the place of one message at the site that receives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pgmpy_latent.inference.patterns import distinct_combinations, distinct_pairs
from pgmpy_latent.model.emissions import NUMERIC_KINDS, Emission
from pgmpy_latent.model.tree import parents_first
from pgmpy_latent.runtime.arrays import largest_in_rows

#: Kinds and columns of operations; ``kernels`` says what they do. Repeated here so that a plan can be made
#: without loading the compiler.
LEAF_BELOW, LEAF_ABOVE, HARD, SOFT, ONES, PRODUCT, EDGE, PIVOT, NUMBERS = range(9)

#: Most patterns that a group of neighbours may have: its messages should stay in the processor's cache.
MOST_PATTERNS = 2048
#: A group should have this many times fewer patterns than there are rows.
ROWS_PER_PATTERN = 32
#: Most numbers at an observed node where messages meet: it takes a vector of its states for each of them.
WIDEST = 2**22
#: How many runs of sorted patterns are worked on in turn.
INTERLEAVED = 8
#: Rows are joined into patterns of numeric columns if there are so many times fewer of these.
FEW_EQUAL = 2
#: Numbers at the beginning of an operation on numeric columns, for each of them.
HEADER = 8
#: Most neighbours in a group. A stored product has one exponent for all states, so it must not be so long that
#: a state falls out of the range of numbers that the other groups would have brought back.
MOST_FACTORS = 12


def shown_states(index: np.ndarray, n_states: int) -> np.ndarray:
    """Return the likelihood of each row's cell given each state: an indicator, or ones if the cell is missing.

    Examples
    --------
    >>> shown_states(np.array([1, -1]), 2)
    array([[0., 1.],
           [1., 1.]])
    """
    shown = np.zeros((len(index), n_states))
    seen = np.flatnonzero(index >= 0)
    shown[index < 0] = 1.0
    shown[seen, index[seen]] = 1.0
    return shown


@dataclass(frozen=True)
class Evidence:
    """Evidence of the rows about one node: ``index[row]`` points into ``messages[pattern, state]``.

    Parameters
    ----------
    index : array of int, shape (n_rows,)
        Pattern of each row. Without ``messages``, the state of each row, -1 where it is missing.
    n_states : int
        Number of states of the node.
    messages : array, shape (n_patterns, n_states), optional
        Likelihood of the evidence given each state. None: the states themselves are known.
    log_scales : array, shape (n_patterns,), optional
        Logarithm of a factor that was taken out of each message; of a numeric column, one more for missing cells.
    numbers : Numbers, optional
        Values that ``index`` points into, -1 where a cell is missing; for numeric columns.

    Examples
    --------
    >>> Evidence(np.array([0, 1, -1]), 2).complete
    False
    """

    index: np.ndarray
    n_states: int
    messages: np.ndarray | None = None
    log_scales: np.ndarray | None = None
    numbers: Numbers | None = None

    @classmethod
    def of_numbers(cls, index: np.ndarray, values: np.ndarray, emission: Emission) -> Evidence:
        """Return the evidence of the cells of a numeric column: ``index[row]`` points into its distinct values."""
        scales = np.append(emission.log_constants(values), 0.0)  # a missing cell, at -1, has none
        return cls(index, len(emission.features), None, scales, Numbers(values, emission))

    @property
    def complete(self) -> bool:
        """Whether the state is known in every row."""
        return self.messages is None and self.numbers is None and bool((self.index >= 0).all())

    @property
    def n_patterns(self) -> int:
        """Number of distinct messages."""
        if self.messages is not None:
            return len(self.messages)
        if self.numbers is not None:
            return len(self.numbers.values) + int((self.index < 0).any())
        return self.n_states + int((self.index < 0).any())

    def scaled(self) -> Evidence:
        """Return the same evidence with no message above one, so that products of many cannot overflow."""
        if self.messages is None or not self.messages.size or self.messages.max() <= 1:
            return self
        largest = np.maximum(largest_in_rows(self.messages)[:, 0], 1.0)
        logs = np.log(largest) + (0.0 if self.log_scales is None else self.log_scales)
        return Evidence(self.index, self.n_states, self.messages / largest[:, None], logs)

    def of(self, rows: np.ndarray) -> Evidence:
        """Return the evidence of some of the rows, with the messages that they show.

        Examples
        --------
        >>> soft = Evidence(np.array([0, 1, 1]), 2, np.array([[1.0, 0.5], [0.2, 1.0]]))
        >>> soft.of(np.array([1, 2])).messages
        array([[0.2, 1. ]])
        """
        if self.messages is None:
            return replace(self, index=self.index[rows])
        shown, index = np.unique(self.index[rows], return_inverse=True)
        scales = None if self.log_scales is None else self.log_scales[shown]
        return Evidence(index, self.n_states, self.messages[shown], scales)

    def shown(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return what some rows say about each state; of a numeric column its features, ones where it is missing."""
        index = self.index[rows]
        if self.messages is not None:
            return self.messages[index]
        if self.numbers is None:
            return shown_states(index, self.n_states)
        return np.append(self.numbers.emission.features_of(self.numbers.values), np.ones((1, self.n_states)), 0)[index]

    def patterns(self) -> np.ndarray:
        """Return the pattern of each row; a missing cell is the pattern after the last state."""
        index = self.index.astype(np.int32, copy=False)
        if self.messages is not None:
            return index
        after = self.n_states if self.numbers is None else len(self.numbers.values)
        return np.where(index < 0, np.int32(after), index)


@dataclass(frozen=True)
class Numbers:
    """The distinct values of a numeric column, and how they depend on its parent."""

    values: np.ndarray
    emission: Emission


@dataclass
class Site:
    """A node of the message tree, while a plan is made and for walking along it afterwards."""

    node: int
    evidence: tuple[Evidence, ...]
    whole: bool  # not one of several copies of a node that was cut
    has_prior: bool
    links: list[tuple[int, int, bool]] = field(default_factory=list)  # neighbour, table, am I the parent
    single: bool = False  # has one state, and the node, a root that nothing else is linked to, is its leaf


@dataclass(frozen=True)
class Step:
    """One operation of a plan in readable form; ``row`` is what the kernel gets."""

    kind: int
    site: int  # receives
    slot: int
    count: int
    a: int = 0
    b: int = 0
    table: int = 0
    above: bool = False
    factors: tuple[int, ...] = ()  # first slots of the factors of a product
    firsts: int = 0  # where the same stand for the kernel
    high: int = -1  # where the upper halves of the factors' patterns stand, if there are any
    leaf: int = -1  # the node whose table a leaf operation reads as evidence
    members: tuple[int, ...] = ()  # the numeric columns of an operation that joins them

    @property
    def row(self) -> tuple[int, ...]:
        """The step as the kernel reads it."""
        return (
            self.kind, self.site, self.slot, self.count, self.a, self.b, self.table, int(self.above),
            self.firsts, self.high,
        )  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Compiled message passing for one forest and one table of evidence. See :func:`compile_plan`.

    Attributes
    ----------
    parents : array of int
        Parent of each node, -1 for roots.
    evidence : dict
        Node -> its evidence.
    n_rows : int
        Number of rows of evidence.
    sites, steps : list
        The message tree and the operations in upward order.
    low, high : uint16 arrays
        Patterns of the factors of all products, each counted from the first slot of the factor. Most fit into two
        bytes, which keeps the cache for the messages; the few that do not have an upper half as well.
    firsts : int64 array
        First slots of the factors of all products.
    site_slots : int64 array
        First slot of each site; the last entry is the number of slots.
    soft : float64 array
        Given messages, flat.
    row_patterns : list of arrays
        For each component, the pattern of each row at the pivot.
    given_constants : float64 array or None
        Known part of each row's log-likelihood.
    row_constants : float64 array or None
        The same, with the scales of soft evidence.
    """

    parents: np.ndarray
    evidence: dict[int, tuple[Evidence, ...]]
    n_rows: int
    sites: list[Site]
    steps: list[Step]
    low: np.ndarray
    high: np.ndarray
    firsts: np.ndarray
    site_slots: np.ndarray
    soft: np.ndarray
    row_patterns: list[np.ndarray]
    given_constants: np.ndarray | None
    row_constants: np.ndarray | None

    def patterns_of_factors(self, step: Step) -> np.ndarray:
        """Return which slot of each factor a pattern of a product takes: (factors, patterns)."""
        size = step.a * step.count
        patterns = self.low[step.b : step.b + size].astype(np.int64)
        if step.high >= 0:
            patterns += self.high[step.high : step.high + size].astype(np.int64) << 16
        return patterns.reshape(step.a, step.count)

    @property
    def emissions(self) -> dict[int, Emission]:
        """The numeric columns, by node."""
        numbers = {node: pieces[0].numbers for node, pieces in self.evidence.items() if pieces}
        return {node: column.emission for node, column in numbers.items() if column is not None}

    @property
    def n_patterns(self) -> int:
        """Number of patterns at all pivots together."""
        return sum(step.count for step in self.steps if step.kind == PIVOT)


def compile_plan(
    parents: np.ndarray | Sequence[int],
    evidence: Mapping[int, Evidence | tuple[Evidence, ...]],
    *,
    pivots: Iterable[int] = (),
    row_constants: np.ndarray | None = None,
) -> Plan:
    """Compile message passing over a forest.

    Parameters
    ----------
    parents : sequence of int
        Parent of each node, -1 for roots.
    evidence : dict
        Node -> evidence; nodes that are absent are hidden. Several pieces of evidence on one node multiply.
    pivots : set of int, optional
        Where the messages of a component should meet, if it contains one of these nodes. Otherwise, and among
        these, where there are fewest patterns.
    row_constants : array, shape (n_rows,), optional
        Known part of each row's log-likelihood, added to what the plan computes. Needed if there is no
        evidence at all.

    Returns
    -------
    Plan

    Examples
    --------
    >>> plan = compile_plan([-1, 0, 0], {1: Evidence(np.array([0, 1, 1]), 2), 2: Evidence(np.array([0, 0, 1]), 2)})
    >>> plan.n_rows, len(plan.sites)
    (3, 3)
    """
    parents = np.asarray(parents, dtype=np.int64)
    pieces = {
        node: tuple(piece.scaled() for piece in ((one,) if isinstance(one, Evidence) else one))
        for node, one in evidence.items()
    }
    lengths = {len(piece.index) for node_pieces in pieces.values() for piece in node_pieces}
    if not lengths and row_constants is not None:
        lengths = {len(row_constants)}
    (n_rows,) = lengths  # all evidence is about the same rows
    compiler = _Compiler(parents, pieces, n_rows)
    for component in compiler.components():
        compiler.compile(component, frozenset(pivots))
    return compiler.plan(row_constants)


class _Compiler:
    """The state of a compilation."""

    def __init__(self, parents: np.ndarray, evidence: dict[int, tuple[Evidence, ...]], n_rows: int):
        self.parents = parents
        self.evidence = evidence
        self.n_rows = n_rows
        self.most_patterns = min(MOST_PATTERNS, max(16, n_rows // ROWS_PER_PATTERN))
        self.sites = _make_sites(parents, evidence)
        self.steps: list[Step] = []
        self.low: list[np.ndarray] = [np.zeros(0, np.uint16)]
        self.high: list[np.ndarray] = [np.zeros(0, np.uint16)]
        self.low_size = self.high_size = 0
        self.firsts: list[int] = []
        self.slots = [0] * len(self.sites)
        self.soft: list[np.ndarray] = []
        self.soft_size = 0
        self.n_patterns = 0
        self.row_patterns: list[np.ndarray] = []

    def plan(self, given_constants: np.ndarray | None) -> Plan:
        row_constants = given_constants
        for pieces in self.evidence.values():
            for piece in pieces:
                if piece.log_scales is not None:
                    row_constants = (0 if row_constants is None else row_constants) + piece.log_scales[piece.index]
        return Plan(
            self.parents,
            self.evidence,
            self.n_rows,
            self.sites,
            self.steps,
            np.concatenate(self.low),
            np.concatenate(self.high),
            np.array(self.firsts, dtype=np.int64),
            np.concatenate([[0], np.cumsum(self.slots)]).astype(np.int64),
            np.concatenate(self.soft) if self.soft else np.zeros(0),
            self.row_patterns,
            given_constants,
            row_constants,
        )

    def components(self) -> list[list[int]]:
        """Return the sites of each component, breadth first from its first site."""
        seen = [False] * len(self.sites)
        components = []
        for first in range(len(self.sites)):
            if seen[first]:
                continue
            seen[first] = True
            component = [first]
            for site in component:
                for other, _, _ in self.sites[site].links:
                    if not seen[other]:
                        seen[other] = True
                        component.append(other)
            components.append(component)
        return components

    def compile(self, component: list[int], preferred: frozenset[int]) -> None:
        """Write the operations of one component."""
        if self._is_lone_column(component):
            self._finish_alone(component[0])
            return
        pivot = self._best_pivot(component, preferred)
        upward, towards = self._orient(pivot)
        below: dict[int, list[int]] = {site: [] for site in component}
        for site in upward[:-1]:
            below[towards[site][0]].append(site)
        sent: dict[int, tuple[int, int, np.ndarray]] = {}  # full sites: slot, count, patterns of their product
        for site in upward:
            if site != pivot and self._is_plain_leaf(site, below[site], towards[site][2]):
                continue
            inputs = [self._receive_evidence(site, piece) for piece in self.sites[site].evidence]
            numeric = [child for child in below[site] if self._is_numeric(child)]
            if numeric:
                inputs.append(self._receive_numbers(site, [self.sites[child].node for child in numeric]))
            for child in below[site]:
                _, table, above = towards[child]
                if child in numeric:
                    continue
                if child in sent:
                    inputs.append(self._receive_edge(site, child, sent.pop(child), table, above))
                else:
                    inputs.append(self._receive_leaf(site, child, table, above))
            if not inputs:
                inputs.append(self._receive_nothing(site))
            groups = self._group(site, inputs)
            if site == pivot:
                self._finish(site, groups)
            else:
                sent[site] = self._multiply(site, groups)

    def _is_lone_column(self, component: list[int]) -> bool:
        """Tell whether a component is a root of which rows show the states, and nothing else."""
        this = self.sites[component[0]]
        return len(component) == 1 and len(this.evidence) == 1 and this.evidence[0].messages is None

    def _finish_alone(self, site: int) -> None:
        """Write the operations of a root alone: its table has one row, so it is a leaf below a site with one state.

        As a pivot it would take a vector of its states for each of them.
        """
        this = self.sites[site]
        this.single, this.has_prior = True, False
        if self._is_numeric(site):
            self._finish(site, [self._receive_numbers(site, [this.node])])
        else:
            self._finish(site, [self._receive_leaf(site, site, this.node, False)])

    def _is_numeric(self, site: int) -> bool:
        for piece in self.sites[site].evidence:  # noqa: SIM110 - no call within the deepest one of a fit
            if piece.numbers is not None:
                return True
        return False

    def _orient(self, pivot: int) -> tuple[list[int], dict[int, tuple[int, int, bool]]]:
        """Return the sites with the pivot last, and for each its link towards the pivot."""
        order = [pivot]
        towards: dict[int, tuple[int, int, bool]] = {}
        for site in order:
            for other, table, _ in self.sites[site].links:
                if other != pivot and other not in towards:
                    above = next(mine for back, _, mine in self.sites[other].links if back == site)
                    towards[other] = (site, table, above)
                    order.append(other)
        return order[::-1], towards

    def _best_pivot(self, component: list[int], preferred: frozenset[int]) -> int:
        """Return the site that makes the lists of patterns shortest, judged by their upper bounds."""
        first = component[0]
        upward, towards = self._orient(first)
        inside, width = {}, {}  # logarithms of numbers of patterns, and numbers that the shown states take
        for site in component:
            inside[site], width[site] = 0.0, 0
            for piece in self.sites[site].evidence:
                n_patterns = piece.n_patterns
                inside[site] += np.log(n_patterns)
                if piece.messages is None:
                    width[site] += n_patterns * piece.n_states
        for site in upward[:-1]:
            inside[towards[site][0]] += inside[site]
        ceiling = np.log(self.n_rows)
        cost = {first: 0.0}
        for site in upward[:-1]:
            cost[first] += np.exp(min(ceiling, inside[site]))
        for site in upward[-2::-1]:
            outside = inside[first] - inside[site]
            change = np.exp(min(ceiling, outside)) - np.exp(min(ceiling, inside[site]))
            cost[site] = cost[towards[site][0]] + change
        candidates = [site for site in component if self.sites[site].whole and not self._is_numeric(site)]
        candidates = [site for site in candidates if self.sites[site].node in preferred] or candidates
        if not candidates and any(map(self._is_numeric, component)):  # below a column that every row knows
            return self._known_parents(component)[0]
        if not candidates:  # two copies: the child receives from the parent
            candidates = [site for site in component if not any(mine for _, _, mine in self.sites[site].links)]
        narrow = [site for site in candidates if width[site] <= WIDEST]
        candidates = narrow or self._known_parents(component) or candidates
        return min(candidates, key=lambda site: (round(cost[site], 6), not self.sites[site].has_prior, site))

    def _known_parents(self, component: list[int]) -> list[int]:
        """Return the copy of a known parent, if the component is an edge between it and a leaf."""
        if len(component) > 2:
            return []
        return [site for site in component if not self.sites[site].whole and self.sites[site].links[0][2]]

    def _is_plain_leaf(self, site: int, below: list[int], above: bool) -> bool:
        """Tell whether a site's messages are nothing but the entries of one table."""
        this = self.sites[site]
        seen = len(this.evidence) == 1 and this.evidence[0].messages is None
        return not below and seen and (not above or not this.whole)

    def _take_slots(self, site: int, count: int) -> int:
        slot = self.slots[site]
        self.slots[site] += count
        return slot

    def _receive_evidence(self, site: int, piece: Evidence) -> tuple[int, int, np.ndarray]:
        count = piece.n_patterns
        slot = self._take_slots(site, count)
        if piece.messages is None:
            self.steps.append(Step(HARD, site, slot, count, a=piece.n_states))
        else:
            self.steps.append(Step(SOFT, site, slot, count, a=self.soft_size))
            self.soft.append(np.ravel(piece.messages).astype(np.float64))
            self.soft_size += piece.messages.size
        return slot, count, piece.patterns()

    def _receive_nothing(self, site: int) -> tuple[int, int, np.ndarray]:
        slot = self._take_slots(site, 1)
        self.steps.append(Step(ONES, site, slot, 1))
        return slot, 1, np.zeros(self.n_rows, np.int32)

    def _receive_leaf(self, site: int, leaf: int, table: int, above: bool) -> tuple[int, int, np.ndarray]:
        piece = self.sites[leaf].evidence[0]
        count = piece.n_patterns
        slot = self._take_slots(site, count)
        kind = LEAF_ABOVE if above else LEAF_BELOW
        node = self.sites[leaf].node
        self.steps.append(Step(kind, site, slot, count, a=piece.n_states, table=table, above=above, leaf=node))
        return slot, count, piece.patterns()

    def _receive_numbers(self, site: int, nodes: list[int]) -> tuple[int, int, np.ndarray]:
        """Write one operation for all numeric columns below a site: their logarithms are added up before any is taken.

        So no density is too small, or too large, for a number. The operation reads from ``soft`` a header per column,
        the values of the patterns, column by column, and the distinct values of columns that need tables of them.
        Where rows show states of the site itself, these are one more column, which rules out all other states.
        """
        known = [piece for piece in self.sites[site].evidence if piece.messages is None and piece.numbers is None]
        pieces = [*(self.evidence[node][0] for node in nodes), *known]
        columns = [(piece.patterns(), piece.n_patterns) for piece in pieces]
        patterns, count = np.arange(self.n_rows, dtype=np.int32), self.n_rows
        shown = [column for column, _ in columns]
        if max(n for _, n in columns) <= self.n_rows / FEW_EQUAL:
            some, of_some = distinct_combinations(columns)
            if len(of_some[0]) <= self.n_rows / FEW_EQUAL:
                patterns, shown, count = some, of_some, len(of_some[0])
        slot, begin = self._take_slots(site, count), self.soft_size
        headers, numbers, levels = np.zeros((len(pieces), HEADER)), [], []
        levels_at = begin + headers.size + count * len(pieces)
        for header, node, piece, column in zip(headers, [*nodes, *[-1] * len(known)], pieces, shown, strict=True):
            if piece.numbers is None:
                header[:2] = 0.0, len(NUMERIC_KINDS)
                numbers.append(np.append(np.arange(piece.n_states, dtype=np.float64), np.nan)[column])
                continue
            values, emission = piece.numbers.values, piece.numbers.emission
            has_missing = len(piece.index) > 0 and bool((piece.index < 0).any())
            by_level = emission.kind == "negative_binomial"
            table = np.append(np.arange(len(values)) if by_level else emission.standardised(values), np.nan)
            numbers.append(table[column])
            if by_level:
                levels.append(values)
            header[:] = [
                node, NUMERIC_KINDS.index(emission.kind), emission.largest, emission.floor, has_missing,
                len(values), levels_at, 0.0,
            ]  # fmt: skip
            levels_at += len(values) * by_level
        for part in (headers.ravel(), *numbers, *levels):
            self.soft.append(np.asarray(part, np.float64))
            self.soft_size += len(part)
        self.steps.append(Step(NUMBERS, site, slot, count, a=begin, b=len(pieces), members=tuple(nodes)))
        return slot, count, patterns

    def _receive_edge(self, site, child, sent, table: int, above: bool) -> tuple[int, int, np.ndarray]:
        source_slot, count, patterns = sent
        slot = self._take_slots(site, count)
        self.steps.append(Step(EDGE, site, slot, count, a=child, b=source_slot, table=table, above=above))
        return slot, count, patterns

    def _group(self, site: int, inputs: list) -> list[tuple[int, int, np.ndarray]]:
        """Multiply inputs into few groups, smallest first, as long as a group has few patterns."""
        inputs = sorted(inputs, key=lambda one: one[1])
        groups = []
        current, members = inputs[0], 1
        for one in inputs[1:]:
            merged = None
            if members < MOST_FACTORS and current[1] * one[1] <= 64 * self.most_patterns:
                merged = distinct_pairs(current[2], current[1], one[2], one[1])
            if merged is None or len(merged[1]) > self.most_patterns:
                groups.append(current)
                current, members = one, 1
                continue
            patterns, left, right = merged
            members += 1
            slot = self._take_slots(site, len(left))
            self._add_product(PRODUCT, site, slot, [current, one], [left, right])
            current = slot, len(left), patterns
        return [*groups, current]

    def _multiply(self, site: int, groups: list) -> tuple[int, int, np.ndarray]:
        """Multiply the groups of a site that is not the pivot."""
        if len(groups) == 1:
            return groups[0]
        patterns, columns = distinct_combinations([(group[2], group[1]) for group in groups])
        slot = self._take_slots(site, len(columns[0]))
        self._add_product(PRODUCT, site, slot, groups, columns)
        return slot, len(columns[0]), patterns

    def _finish(self, site: int, groups: list) -> None:
        """Multiply the groups of the pivot, row pattern by row pattern."""
        patterns, columns = distinct_combinations([(group[2], group[1]) for group in groups])
        count = len(columns[0])
        order = _interleaved(count)
        self._add_product(PIVOT, site, self.n_patterns, groups, [column[order] for column in columns])
        self.n_patterns += count
        place = np.empty(count, dtype=np.int32)
        place[order] = np.arange(count)
        self.row_patterns.append(place[patterns])

    def _add_product(self, kind: int, site: int, slot: int, groups: list, columns: list) -> None:
        count = len(columns[0])
        many = max(group[1] for group in groups) > 2**16
        begin, high, firsts = self.low_size, self.high_size if many else -1, len(self.firsts)
        for group, column in zip(groups, columns, strict=True):
            self.low.append((column & 0xFFFF).astype(np.uint16))
            if many:
                self.high.append((column >> 16).astype(np.uint16))
            self.firsts.append(group[0])
        self.low_size += count * len(groups)
        self.high_size += count * len(groups) * many
        factors = tuple(group[0] for group in groups)
        self.steps.append(Step(kind, site, slot, count, len(groups), begin, factors=factors, firsts=firsts, high=high))


def _interleaved(count: int) -> np.ndarray:
    """Return the numbers below ``count``, neighbours far apart.

    Patterns are sorted, so that neighbours share messages; sums into one and the same place would have to wait for
    each other.

    Examples
    --------
    >>> _interleaved(10).tolist()
    [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    """
    runs = -(-count // INTERLEAVED)
    order = np.arange(runs * INTERLEAVED).reshape(INTERLEAVED, runs).T.ravel()
    return order[order < count]


def _make_sites(parents: np.ndarray, evidence: dict[int, tuple[Evidence, ...]]) -> list[Site]:
    """Return the message tree: a site per node, or one per neighbour where every row knows the state."""
    degree = np.bincount(parents[parents >= 0], minlength=len(parents)) + (parents >= 0)
    sites: list[Site] = []
    site_of: dict[int, int] = {}
    cut = set()
    for node in parents_first(parents):
        node = int(node)
        pieces = evidence.get(node, ())
        root = parents[node] < 0
        if len(pieces) == 1 and (degree[node] > 1 or (root and degree[node])) and pieces[0].complete:
            cut.add(node)
            if root:
                sites.append(Site(node, pieces, True, True))
        else:
            site_of[node] = len(sites)
            sites.append(Site(node, pieces, True, bool(root)))
        if root:
            continue
        ends = []
        for end in (int(parents[node]), node):
            if end in cut:
                ends.append(len(sites))
                sites.append(Site(end, evidence[end], False, False))
            else:
                ends.append(site_of[end])
        sites[ends[0]].links.append((ends[1], node, True))
        sites[ends[1]].links.append((ends[0], node, False))
    return sites
