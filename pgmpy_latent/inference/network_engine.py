"""The engine of networks of any shape: unknown variables of a row are summed out exactly, component by component."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from scipy.special import xlogy

from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.inference.elimination import Elimination, largest_clique, plan_elimination
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.patterns import distinct_combinations
from pgmpy_latent.inference.protocol import Frozen, RowEngine, nothing_frozen
from pgmpy_latent.runtime.parallel import uninterrupted

#: Entries of the largest table that may be needed to sum hidden variables out: 32 MB.
MOST_ENTRIES = 2**22


@dataclass(frozen=True)
class Component:
    """Variables that are unknown in some rows and depend on each other given the known cells of these rows.

    Attributes
    ----------
    variables : tuple of int
        The unknown nodes.
    families : tuple of int
        Nodes whose families (themselves and their parents) contain one of them.
    rows : int array
        The rows.
    patterns : int array, like ``rows``
        The pattern of each of these rows: the known states in all those families.
    bases : int array, shape (n_patterns, n_families)
        First entry of the part of each table that belongs to a pattern.
    weights : array, shape (n_patterns,)
        Sum of the weights of the rows of a pattern.
    elimination : Elimination
        How the variables are summed out.
    """

    variables: tuple[int, ...]
    families: tuple[int, ...]
    rows: np.ndarray
    patterns: np.ndarray
    bases: np.ndarray
    weights: np.ndarray
    elimination: Elimination


class NetworkEngine(RowEngine):
    """Message passing in a network with hidden variables and missing cells.

    Given the known cells of a row, its unknown variables fall into independent components, and a component depends only
    on the known variables in its families. So every component is summed out, by variable elimination, once for every
    pattern of these; families without unknown variables are counted beforehand.

    Parameters
    ----------
    parents : sequence of sequences of int
        The graph.
    cards : sequence of int
        Number of states of each node.
    codes : int array, shape (n_rows, n_nodes)
        States; -1 where a cell is missing or the node is hidden.
    weights : array, shape (n_rows,), optional
        Weights of the rows.
    names : sequence, optional
        Names of the nodes, for error messages.
    most_entries : int
        Largest table allowed.

    Raises
    ------
    ComponentTooLargeError
        If a table with more entries would be needed; the variables are named.

    Examples
    --------
    >>> engine = NetworkEngine([(), (), (0, 1)], [2, 2, 2], np.array([[-1, 0, 0], [-1, 1, 1]]), [3.0, 1.0])
    >>> tables = engine.layout.pack([np.full(shape, 0.5) for shape in engine.layout.shapes])
    >>> log_likelihood, counts = engine.expected_counts(tables)
    >>> round(float(log_likelihood), 4), counts[:4].tolist()
    (-5.5452, [2.0, 2.0, 3.0, 1.0])
    """

    def __init__(
        self,
        parents: Sequence[Sequence[int]],
        cards: np.ndarray | Sequence[int],
        codes: np.ndarray,
        weights: np.ndarray | Sequence[float] | None = None,
        names: Sequence[Hashable] | None = None,
        most_entries: int = MOST_ENTRIES,
    ):
        self.parents = tuple(tuple(int(node) for node in above) for above in parents)
        self.cards = np.asarray(cards, dtype=np.int64)
        self.codes = np.asarray(codes)
        self.names = tuple(range(len(self.cards))) if names is None else tuple(names)
        self.most_entries = most_entries
        self.weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        rows = [prod(self.cards[list(above)].tolist()) for above in self.parents]
        self.layout = Layout(np.stack([rows, self.cards], axis=1))
        self.strides = [self._family_strides(node) for node in range(len(self.cards))]
        self._columns = np.ascontiguousarray(self.codes.T)
        self.components = self._find_components()
        self._closed = [self._closed_family(node) for node in range(len(self.cards))]
        self.known_counts = np.zeros(self.layout.size)
        for which, entries in self._closed:
            self.known_counts += np.bincount(entries, self.weights[which], minlength=self.layout.size)
        self._joint_plans: dict[tuple, Elimination] = {}

    # -- families -------------------------------------------------------------------------------------------------

    def _family_strides(self, node: int) -> dict[int, int]:
        """Return the distance between two states of each member of a family in its table."""
        strides, size = {node: 1}, int(self.cards[node])
        for above in reversed(self.parents[node]):
            strides[above] = size
            size *= int(self.cards[above])
        return strides

    def _closed_family(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in which a whole family is known, and the table entries that they show."""
        strides = self.strides[node]
        closed = np.flatnonzero((self._columns[list(strides)] >= 0).all(axis=0))
        entries = np.full(len(closed), self.layout.offsets[node])
        for member, stride in strides.items():
            entries += stride * self._columns[member][closed].astype(np.int64)
        return closed, entries

    # -- components -----------------------------------------------------------------------------------------------

    def _find_components(self) -> list[Component]:
        """Return the components of the unknown variables of all rows."""
        missing = self._columns < 0
        some = np.flatnonzero(missing.any(axis=1))
        if not len(some):
            return []
        kinds, shown = distinct_combinations([(missing[node].astype(np.int8), 2) for node in some])
        order = np.argsort(kinds, kind="stable")
        bounds = np.searchsorted(kinds[order], np.arange(len(shown[0]) + 1))
        members: dict[tuple[int, ...], list[np.ndarray]] = {}
        for kind in range(len(shown[0])):
            rows = order[bounds[kind] : bounds[kind + 1]]
            for variables in self._connected([int(n) for n, open_in in zip(some, shown, strict=True) if open_in[kind]]):
                members.setdefault(variables, []).append(rows)
        return [self._component(variables, np.sort(np.concatenate(rows))) for variables, rows in members.items()]

    def _connected(self, open_nodes: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the sets of unknown nodes that are linked by families."""
        group = {node: {node} for node in open_nodes}
        for strides in self.strides:
            inside = [node for node in strides if node in group]
            for other in inside[1:]:
                if group[other] is not group[inside[0]]:
                    group[inside[0]] |= group[other]
                    for node in group[other]:
                        group[node] = group[inside[0]]
        return sorted({tuple(sorted(linked)) for linked in group.values()})

    def _component(self, variables: tuple[int, ...], rows: np.ndarray) -> Component:
        inside = set(variables)
        families = tuple(node for node, strides in enumerate(self.strides) if inside & set(strides))
        around = sorted({node for family in families for node in self.strides[family]} - inside)
        columns = [(self._columns[node][rows], int(self.cards[node])) for node in around]
        if columns:
            patterns, states = distinct_combinations(columns)
        else:
            patterns, states = np.zeros(len(rows), dtype=np.int32), []
        state_of = dict(zip(around, states, strict=True))
        n_patterns = len(states[0]) if states else 1
        bases = np.empty((n_patterns, len(families)), dtype=np.int64)
        for at, family in enumerate(families):
            bases[:, at] = self.layout.offsets[family]
            for member, stride in self.strides[family].items():
                if member not in inside:
                    bases[:, at] += stride * state_of[member].astype(np.int64)
        weights = np.bincount(patterns, self.weights[rows], minlength=n_patterns)
        return Component(variables, families, rows, patterns, bases, weights, self._plan(variables, families))

    def _plan(self, variables: Sequence[int], families: Sequence[int], keep: Sequence[int] = ()) -> Elimination:
        cards = {node: int(self.cards[node]) for node in variables}
        within = [{n: stride for n, stride in self.strides[f].items() if n in cards} for f in families]
        size = largest_clique(cards, [tuple(family) for family in within], keep)
        if size > self.most_entries:
            raise ComponentTooLargeError(
                f"summing out {[self.names[node] for node in variables]}, which some rows leave open together, takes a "
                f"table of {size:,} entries; the most allowed are {self.most_entries:,}. Give hidden variables fewer "
                "states or parents, or leave out columns that are missing together."
            )
        return plan_elimination(cards, within, keep)

    # -- the Engine protocol ---------------------------------------------------------------------------------

    def reweighted(self, weights: np.ndarray) -> NetworkEngine:
        """Return an engine for the same rows with other weights."""
        return NetworkEngine(self.parents, self.cards, self.codes, weights, self.names, self.most_entries)

    def for_counts(self) -> NetworkEngine:
        """Return the engine itself: counts need all that it has."""
        return self

    def freeze(self, tables: np.ndarray, free: np.ndarray) -> Frozen[NetworkEngine]:
        """Return the whole engine, which leaves the counts of other tables at zero."""
        return nothing_frozen(self, free)

    #: Threads cannot share the rows of one start.
    is_large = False
    n_weightings = 1

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

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
        weightings, pool
            For trees only.
        """
        assert weightings is None, "a network has one weighting"
        results = [self._expected_counts(start) for start in np.atleast_2d(tables)]
        log_likelihoods, counts = np.array([log for log, _ in results]), np.stack([counts for _, counts in results])
        if free is not None:
            counts *= np.asarray(free)[self.layout.table_of_entry]
        if tables.ndim == 1:
            return log_likelihoods[0], counts[0]
        return log_likelihoods, counts

    def _expected_counts(self, tables: np.ndarray) -> tuple[float, np.ndarray]:
        counts = self.known_counts.copy()
        total = float(xlogy(self.known_counts, tables).sum())
        for component in self.components:
            logs, _ = self._eliminate(component, tables, counts)
            total += _weighted(component.weights, logs)
        return total, counts

    def _eliminate(
        self,
        component: Component,
        tables: np.ndarray,
        counts: np.ndarray | None = None,
        plan: Elimination | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum the variables out; return log-likelihoods, and the shares of the entries of the last clique."""
        eliminate = _compiled()
        keep = plan is not None
        plan = component.elimination if plan is None else plan
        n_patterns = len(component.bases)
        logs = np.empty(n_patterns)
        last = np.zeros((n_patterns, int(plan.steps[-1, 0])) if keep else (1, 1))
        weights = np.ones(n_patterns) if keep else component.weights
        eliminate(
            plan.steps, plan.factors, plan.maps, component.bases, weights,
            np.ascontiguousarray(tables, dtype=np.float64), np.zeros(len(tables)) if counts is None else counts, logs,
            last, keep or counts is not None, keep, np.empty(plan.n_clique_entries),
            np.empty(plan.n_message_entries), np.empty(plan.n_message_entries), np.empty(len(plan.steps)),
        )  # fmt: skip
        return logs, last

    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""
        totals = []
        for start in np.atleast_2d(tables):
            total = float(xlogy(self.known_counts, start).sum())
            totals.append(total + sum(_weighted(c.weights, self._eliminate(c, start)[0]) for c in self.components))
        log_likelihoods = np.array(totals)
        return log_likelihoods if tables.ndim == 2 else log_likelihoods[0]

    def row_log_likelihoods(self, tables: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row (of shape (n_rows,) or (n_starts, n_rows))."""
        if tables.ndim == 2:
            return np.stack([self.row_log_likelihoods(one) for one in tables])
        rows = np.zeros(len(self.codes))
        with np.errstate(divide="ignore"):
            logs = np.log(tables)
        for closed, entries in self._closed:
            rows[closed] += logs[entries]
        for component in self.components:
            rows[component.rows] += self._eliminate(component, tables)[0][component.patterns]
        return rows

    def joint(self, component: Component, tables: np.ndarray, keep: Sequence[int]) -> np.ndarray:
        """Return the joint distribution of some of a component's variables: (n_patterns, combined states).

        The last variable runs fastest. Impossible patterns have zeros.
        """
        key = (component.variables, tuple(keep))
        if key not in self._joint_plans:
            self._joint_plans[key] = self._plan(component.variables, component.families, keep)
        return self._eliminate(component, tables, plan=self._joint_plans[key])[1]

    def beliefs(self, tables: np.ndarray, nodes: Sequence[int]) -> list[np.ndarray]:
        """Return P(node | row) for each of the nodes: (n_rows, states). Rows of probability zero give NaN."""
        impossible = np.isneginf(self.row_log_likelihoods(tables))
        beliefs = []
        for node in nodes:
            codes = self._columns[node]
            belief = np.zeros((len(codes), int(self.cards[node])))
            seen = np.flatnonzero(codes >= 0)
            belief[seen, codes[seen]] = 1.0
            for component in self.components:
                if node in component.variables:
                    belief[component.rows] = self.joint(component, tables, [node])[component.patterns]
            belief[impossible] = np.nan
            beliefs.append(belief)
        return beliefs

    def draw(self, tables: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the states of all nodes from their joint posterior, for each row: (n_rows, n_nodes)."""
        codes = self.codes.astype(np.int64)
        for node in np.flatnonzero((codes < 0).any(axis=0)):
            engine = NetworkEngine(self.parents, self.cards, codes, self.weights, self.names, self.most_entries)
            belief = engine.beliefs(tables, [int(node)])[0]
            open_rows = np.flatnonzero((codes[:, node] < 0) & ~np.isnan(belief[:, 0]))
            bounds = np.cumsum(belief[open_rows], axis=1)
            drawn = (rng.random(len(open_rows))[:, None] * bounds[:, -1:] >= bounds).sum(axis=1)
            codes[open_rows, node] = np.minimum(drawn, self.cards[node] - 1)
        return codes


@cache
def _compiled() -> Callable[..., None]:
    """Return the compiled elimination; the compiler loads at first use, and would not survive Ctrl-C halfway."""
    with uninterrupted(heed=True):
        from pgmpy_latent.inference.kernels.cliques import eliminate
    return eliminate


def _weighted(weights: np.ndarray, logs: np.ndarray) -> float:
    """Return the weighted sum of log-likelihoods; rows of weight zero do not count, even if they are impossible."""
    return float(weights @ logs) if np.isfinite(logs).all() else float((weights * logs)[weights > 0].sum())
