"""Levels of islands, stacked: the hidden variables of one level are the variables of the next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import networkx as nx
import numpy as np

from pgmpy_latent import scores
from pgmpy_latent.em.step import m_step
from pgmpy_latent.em.stepwise import DECAY, Running, batches
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.queries import engine_for, log_likelihood
from pgmpy_latent.learners.hlta.islands import Island, Islands
from pgmpy_latent.learners.hlta.variables import (
    Variable,
    columns_as_variables,
    hidden_variable,
    joint_counts,
    log_likelihood_alone,
    nearest_variables,
    share_of,
)
from pgmpy_latent.learners.memory import check_memory_is, check_value, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_model_again, check_over, check_same_state
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.learners.skeletons import grown_tree, numbered_latent_names
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.runtime.checkpoint import HistoryEntry, State, check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.neighbours import nearest_columns
from pgmpy_latent.tables.sparse import SparseRows

#: How many neighbours of a variable may join its island.
NEAREST = 64
#: Seconds of work per step of the search; the result does not depend on it.
CHUNK_SECONDS = 3.0
#: A level that leaves more than this share of its variables to the next is the last.
TOO_MANY = 0.95
#: Cells up to which EM looks at all rows at once, and cells of a batch beyond.
ALL_AT_ONCE, BATCH_CELLS = 5 * 10**7, 2**25
#: The least pseudo-count that stepwise EM works with.
LEAST_PRIOR = 1e-3


held_by_checkpoints("running counts")(Running)


@held_by_checkpoints("island")
@dataclass(frozen=True, eq=False)
class KnownIsland:
    """An island that was found earlier.

    Attributes
    ----------
    members : tuple of int
        Which variables of the level belong to it.
    tables : tuple of arrays
        The distribution of its hidden variable, and the members given it.
    """

    members: tuple[int, ...]
    tables: tuple[np.ndarray, ...]


@held_by_checkpoints("memory of HLTA")
@dataclass(frozen=True)
class LevelsMemory:
    """What a search for islands remembers.

    Attributes
    ----------
    phase : str
        What the next step does.
    levels : tuple of tuples of KnownIsland
        The islands of each level, until all are linked.
    sizes : tuple of int
        Numbers of islands of the levels.
    epoch, batch : int
        The next epoch and batch of stepwise EM.
    running : Running, optional
        Expected counts of stepwise EM so far.
    """

    phase: Literal["islands", "link", "fit"] = "islands"
    levels: tuple[tuple[KnownIsland, ...], ...] = ()
    sizes: tuple[int, ...] = ()
    epoch: int = 0
    batch: int = 0
    running: Running | None = None


class Forest:
    """Islands above islands above columns: parents and tables of all nodes, columns first.

    Parameters
    ----------
    variables : sequence of Variable
        The columns.
    weights : array
        Of the rows.
    """

    def __init__(self, variables: Sequence[Variable], weights: np.ndarray):
        self.weights = weights
        self.parents = [-1] * len(variables)
        self.tables = [share_of(variable, weights) for variable in variables]
        self.log_likelihood = sum(log_likelihood_alone(variable, weights) for variable in variables)
        self.n_parameters = sum(table.shape[1] - 1 for table in self.tables)

    def add(self, island: Island, variables: Sequence[Variable]) -> int:
        """Put a hidden node above the members of an island, and return its number."""
        node = len(self.parents)
        members = [variables[at] for at in island.group.members]
        self.parents.append(-1)
        self.tables.append(island.tables[0])
        for variable, table in zip(members, island.tables[1:], strict=True):
            self.parents[variable.node], self.tables[variable.node] = node, table
        alone = sum(log_likelihood_alone(variable, self.weights) for variable in members)
        self.log_likelihood += island.log_likelihood - alone
        self.n_parameters += (island.n_states - 1) * (1 + sum(variable.n_states - 1 for variable in members))
        return node

    def link(self, parent: Variable, child: Variable) -> None:
        """Put a root below another one."""
        counts = joint_counts(parent, child, self.weights)
        expected = share_of(child, self.weights)
        self.parents[child.node], self.tables[child.node] = parent.node, normalised(counts + expected)
        self.n_parameters += (parent.n_states - 1) * (child.n_states - 1)


class LevelsPolicy:
    """Find islands level by level, link the variables of the top level, and fit the whole tree.

    Parameters
    ----------
    data : CategoricalData or SparseRows
        The table, columns in the order of their names.
    search : Search
        Runs EM.
    max_size, threshold, max_states
        Of islands. See :class:`~pgmpy_latent.learners.hlta.islands.Islands`.
    top : int
        A level with so many variables or fewer is the last.
    batch_size : int or None
        Rows of a step of the last EM; None: chosen by the size of the table.
    n_epochs : int
        How often it looks at every row.
    """

    def __init__(
        self,
        data: CategoricalData | SparseRows,
        search: Search,
        *,
        max_size: int,
        threshold: float,
        max_states: int | None,
        top: int,
        batch_size: int | None,
        n_epochs: int,
    ):
        self.data = data
        self.search = search
        self.max_size = max_size
        self.threshold = threshold
        self.max_states = max_states
        self.top = top
        self.batch_size = _batch_size(data) if batch_size is None else batch_size
        self.n_epochs = n_epochs
        self.penalty = scores.penalty_per_parameter(data.total_weight)
        self._latest: tuple[State, _LevelState] | None = None

    def start(self) -> State:
        """Return the state in which all columns are independent."""
        place = _LevelState.at_columns(self)
        return self._state(place, 0, LevelsMemory(levels=((),)))

    def advance(self, state: State) -> Step:
        """Take the next step."""
        phase = state.memory.phase
        if phase == "islands":
            return self._islands(state)
        if phase == "link":
            return self._link(state)
        return self._fit(state)

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search.

        Until the islands are linked, the log-likelihood is an estimate; from then to the end of EM there is no exact
        one either, so that only the columns and states of the model are compared with the table.
        """
        check_memory_is(state, LevelsMemory, "HLTA")
        memory: LevelsMemory = state.memory
        tree = state.tree
        check_model_again(tree, self.data.columns, self.data.state_names)
        check_number_again("score", state.score, self.score(tree, state.log_likelihood))
        if sum(memory.sizes) != tree.latent.sum():
            raise ValueError(f"it remembers {sum(memory.sizes)} islands, and has {tree.latent.sum()}")
        check_over(state, memory.phase == "fit" and self._epochs_are_over(state))
        if memory.phase != "fit":
            place = self._recalled(memory.levels)
            check_same_state(state, self._state(place, state.step, memory))
            self._latest = (state, place)
        elif state.finished:
            check_number_again("log-likelihood", state.log_likelihood, self.log_likelihood(tree))
        else:
            self._check_batches(state)

    def _epochs_are_over(self, state: State) -> bool:
        """Tell whether EM has used all batches, or needs none."""
        at_once = self.batch_size >= self.data.n_distinct or not state.tree.latent.any()
        return at_once or (state.memory.epoch, state.memory.batch) == (self.n_epochs, 0)

    def _check_batches(self, state: State) -> None:
        """Raise if the tables in the middle of stepwise EM do not follow from its counts."""
        memory: LevelsMemory = state.memory
        check_value("epoch", memory.epoch, memory.epoch < self.n_epochs)
        running = memory.running
        if running is not None:
            layout = Layout([table.shape for table in state.tree.tables])
            prior = max(self.search.settings.prior, LEAST_PRIOR)
            counts = running.counts * self.data.total_weight
            if counts.shape != (layout.size,) or not (counts >= 0).all():
                raise ValueError("its memory of 'counts' is not one count of at least 0 per table entry")
            tables = m_step(counts, layout, prior, layout.pack(state.tree.tables), None)
            again = replace(state, tree=state.tree.with_tables(layout.unpack(tables)))
            check_same_state(state, again)

    def score(self, tree: LatentTree, log_likelihood: float) -> float:
        """Return the BIC."""
        return log_likelihood - self.penalty * tree.n_parameters

    def _state(self, place: _LevelState, step: int, memory: LevelsMemory) -> State:
        forest = place.forest
        names = numbered_latent_names(self.data.columns, len(forest.parents) - len(self.data.columns))
        tree = grown_tree(self.data, forest.parents, forest.tables, names)
        state = State(tree, self.score(tree, forest.log_likelihood), forest.log_likelihood, step, memory)
        self._latest = (state, place)
        return state

    def _place(self, state: State) -> _LevelState:
        """Return the level that a search state is at; if it is not the latest, its islands are built again."""
        if self._latest is not None and self._latest[0] is state:
            return self._latest[1]
        return self._recalled(state.memory.levels)

    def _recalled(self, levels: Sequence[Sequence[KnownIsland]]) -> _LevelState:
        place = _LevelState.at_columns(self)
        for number, level in enumerate(levels):
            if number:
                place.go_up()
            for island in level:
                place.recall(island)
        return place

    # Islands

    def _islands(self, state: State) -> Step:
        place = self._place(state)
        levels = [list(level) for level in state.memory.levels]
        entries: list[HistoryEntry] = []
        phase: Literal["islands", "link"] = "islands"
        ends = time.perf_counter() + CHUNK_SECONDS
        while True:
            try:
                self.search.tick()
                island = place.islands.next()
                if island is not None:
                    place.accept(island)
                    levels[-1].append(KnownIsland(tuple(island.group.members), tuple(island.tables)))
                    entries.append(self._entry(place, state.step + len(entries) + 1, len(levels)))
                elif place.is_last(self.top):
                    phase = "link"
                    break
                else:
                    place.go_up()
                    levels.append([])
            except STOP_SIGNALS as stop:
                self.search.note_interrupt(stop)  # the islands so far are kept
                if place.n_hidden != sum(map(len, levels)):  # it came between two lines that belong together
                    place = self._recalled(levels)
                break
            if time.perf_counter() > ends:
                break
        memory = LevelsMemory(phase, tuple(map(tuple, levels)), tuple(map(len, levels)))
        return Step(self._state(place, state.step + len(entries), memory), entries=tuple(entries))

    def _entry(self, place: _LevelState, step: int, level: int) -> HistoryEntry:
        forest = place.forest
        score = forest.log_likelihood - self.penalty * forest.n_parameters
        return self.search.entry(step, "island", f"level {level}", score, forest.log_likelihood, forest.n_parameters)

    def _link(self, state: State) -> Step:
        """Join the roots by the tree of the strongest links."""
        place = self._place(state)
        place.link()
        memory = LevelsMemory("fit", sizes=state.memory.sizes)
        linked = self._state(place, state.step + 1, memory)
        if not linked.tree.latent.any():
            return Step(replace(linked, finished=True), "link", None)
        return Step(linked, "link", None)

    # The last EM

    def _fit(self, state: State) -> Step:
        if self.batch_size >= self.data.n_distinct:
            return self._fit_at_once(state)
        return self._fit_in_batches(state, time.perf_counter() + CHUNK_SECONDS)

    def finish(self, state: State) -> Step:
        """Fit the current tree to the end, linked or not, as far as the time allows."""
        if not state.tree.latent.any():
            return Step(state)
        if self.batch_size >= self.data.n_distinct:
            return self._fit_at_once(state)
        step = self._fit_in_batches(state, np.inf)
        self.search.remaining_gain = 0.0 if step.state.finished else np.inf
        return step

    def _fit_at_once(self, state: State) -> Step:
        rows = next(self.data.blocks(self.data.n_rows)) if isinstance(self.data, SparseRows) else self.data
        engine = engine_for(state.tree, rows)
        fit = self.search.fit(engine, engine.layout.pack(state.tree.tables), **self.search.settings.last_fit)
        tree = state.tree.with_tables(engine.layout.unpack(fit.tables))
        score = self.score(tree, fit.log_likelihood)
        return Step(State(tree, score, fit.log_likelihood, state.step + 1, state.memory, True), "fit", None)

    def _fit_in_batches(self, state: State, ends: float) -> Step:
        """Take steps of stepwise EM until the chunk of time is over; an interrupt keeps the steps so far."""
        memory: LevelsMemory = state.memory
        epoch, batch, running = memory.epoch, memory.batch, memory.running
        prior = max(self.search.settings.prior, LEAST_PRIOR)
        layout = Layout([table.shape for table in state.tree.tables])
        tables, dealt = layout.pack(state.tree.tables), self._batches(epoch)
        while True:
            try:
                self.search.tick()
            except STOP_SIGNALS as stop:
                self.search.note_interrupt(stop)
                break
            rows = dealt[batch]
            engine = engine_for(state.tree, self._rows(*rows))
            _, counts = engine.expected_counts(tables)
            weight = float(rows[1].sum())
            first = Running(counts / weight, weight)
            running = first if running is None else running.blended(first.counts, weight, DECAY)
            tables = m_step(running.counts * self.data.total_weight, layout, prior, tables, None)
            batch += 1
            if batch == len(dealt):
                epoch, batch = epoch + 1, 0
                dealt = self._batches(epoch)
            if epoch == self.n_epochs or time.perf_counter() > ends:
                break
        if (epoch, batch) == (memory.epoch, memory.batch):  # there was no time for a step
            return Step(state)
        tree = state.tree.with_tables(layout.unpack(tables))
        memory = replace(memory, epoch=epoch, batch=batch, running=running)
        if epoch < self.n_epochs:
            return Step(replace(state, tree=tree, memory=memory))
        exact = self.log_likelihood(tree)
        return Step(State(tree, self.score(tree, exact), exact, state.step + 1, memory, True), "fit")

    def log_likelihood(self, tree: LatentTree) -> float:
        """Return the log-likelihood of the table, of which only some rows are looked at at a time."""
        step, n_rows = self.batch_size, self.data.n_distinct
        total = 0.0
        for first in range(0, n_rows, step):
            total += log_likelihood(tree, self.data.take(slice(first, first + step)))
        return total

    def _batches(self, epoch: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return rows and weights of all batches; every epoch deals the rows out anew."""
        return batches(self.data.weights, self.batch_size, self.search.seed(epoch))

    def _rows(self, rows: np.ndarray, weights: np.ndarray) -> CategoricalData:
        some = self.data.take(rows)
        return CategoricalData(some.columns, some.state_names, some.codes, weights)


class _LevelState:
    """State of building a level: its variables, the islands so far, and the whole forest."""

    def __init__(self, policy: LevelsPolicy, variables: Sequence[Variable], forest: Forest):
        self.policy = policy
        self.variables = variables
        self.forest = forest
        self.hidden: list[Variable] = []
        self._islands: Islands | None = None
        self._at_bottom = True

    @staticmethod
    def at_columns(policy: LevelsPolicy) -> _LevelState:
        variables = columns_as_variables(policy.data)
        return _LevelState(policy, variables, Forest(variables, policy.data.weights))

    @property
    def n_hidden(self) -> int:
        """Number of hidden nodes."""
        return len(self.forest.parents) - len(self.policy.data.columns)

    @property
    def islands(self) -> Islands:
        """The search for islands on this level; built on first use, as comparing all pairs takes a while."""
        if self._islands is None:
            data, search = self.policy.data, self.policy.search
            if self._at_bottom:
                near = nearest_columns(data, NEAREST, search.tick)
            else:
                near = nearest_variables(self.variables, data.weights, NEAREST, search.clock)
            options = (self.policy.max_size, self.policy.threshold, self.policy.max_states)
            self._islands = Islands(self.variables, data.weights, near, search, *options)
        return self._islands

    def accept(self, island: Island) -> None:
        """Put a hidden variable above an island."""
        node = len(self.forest.parents)
        variable = hidden_variable(node, island.group.patterns, island.posterior, self.policy.data.weights)
        self.forest.add(island, self.variables)
        self.hidden.append(variable)

    def recall(self, island: KnownIsland) -> None:
        """Accept an island that was found earlier."""
        self.accept(self.islands.recalled(island.members, island.tables))

    @property
    def _left(self) -> list[Variable]:
        """Variables of the next level: hidden ones, and those that are related to others but belong to no island."""
        free = np.flatnonzero(self.islands.free & self.islands.tied.any(axis=1))
        return [*self.hidden, *(self.variables[at] for at in free.tolist())]

    def is_last(self, top: int) -> bool:
        """Tell whether this level is the last."""
        left = len(self._left)
        return not self.hidden or left <= top or left > TOO_MANY * len(self.variables)

    def go_up(self) -> None:
        """Make the hidden variables of this level the variables of the next."""
        self.variables, self.hidden, self._islands, self._at_bottom = self._left, [], None, False

    def link(self) -> None:
        """Join the variables that are left by the tree of the highest mutual information."""
        if self.hidden:
            self.go_up()
        near, tied = self.islands.neighbours, self.islands.tied
        graph = nx.Graph()
        for at, place in np.argwhere(tied).tolist():
            graph.add_edge(at, int(near.which[at, place]), weight=float(near.information[at, place]))
        tree = nx.maximum_spanning_tree(graph)
        for part in sorted(map(sorted, nx.connected_components(tree))):
            for above, below in nx.bfs_edges(tree, part[0], sort_neighbors=sorted):
                self.forest.link(self.variables[above], self.variables[below])


def _batch_size(data: CategoricalData | SparseRows) -> int:
    n_columns = len(data.columns)
    if data.n_distinct * n_columns <= ALL_AT_ONCE:
        return data.n_distinct
    return max(256, BATCH_CELLS // n_columns)
