"""Binary latent forests from the bottom up: two roots at a time get a common parent, then EM fits the whole."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Protocol, Unpack

import numpy as np

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.column_places import MovesColumns, run_with_places
from pgmpy_latent.learners.east.settings import Columns
from pgmpy_latent.learners.local.pairs import Options, Pair
from pgmpy_latent.learners.local.roots import PairModel, Roots
from pgmpy_latent.learners.local.simplify import Change, Simplifier, compatible, unaffected
from pgmpy_latent.learners.memory import check_memory_is, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_over, check_same_state
from pgmpy_latent.learners.search import FitOptions, Outcome, Search, Step
from pgmpy_latent.learners.search_learner import SearchingLearner, made_regular
from pgmpy_latent.learners.skeletons import numbered_latent_names
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.presets import BinATuning
from pgmpy_latent.runtime.checkpoint import HistoryEntry, State
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.runtime.configured import ORDER_DOES_NOT_MATTER
from pgmpy_latent.runtime.settings import Constraint, RandomState, flag, number
from pgmpy_latent.tables.dependence import pairwise_information, warn_of_no_overlap
from pgmpy_latent.tables.encode import CategoricalData

#: Seconds for which pairs are joined before a tree is built of the result, which does not depend on it.
CHUNK_SECONDS = 1.0


@held_by_checkpoints("memory of a binary forest")
@dataclass(frozen=True)
class ForestMemory:
    """What the search for a forest remembers.

    Attributes
    ----------
    phase : str
        What the next step does.
    pairs : tuple of PairModel or None
        While roots are joined: what became of the pairs so far, in their order; None if they got no parent.
    hopeless : tuple of (node, neighbour or None)
        While the forest becomes simpler: changes that did not help; see :meth:`Simplifier.changes`.
    """

    phase: Literal["join", "fit", "simplify"] = "join"
    pairs: tuple[PairModel | None, ...] = ()
    hopeless: tuple[tuple[Hashable, Hashable], ...] = ()


class Order(Protocol):
    """Which roots are to be joined next."""

    def pair(self, roots: Roots) -> tuple[int, int] | None:
        """Return two slots of the roots, or None if there is nothing left to join."""

    def joined(self, slot: int) -> None:
        """Learn that the last pair has got a parent, which is at this slot."""

    def refused(self) -> None:
        """Learn that the last pair has not."""


class ForestPolicy:
    """Join roots as long as there are pairs; fit the forest; make it simpler, if asked to.

    Parameters
    ----------
    data : CategoricalData
        The table, columns in the order of their names.
    information : array
        Mutual information of the columns.
    make_order : callable
        Returns the :class:`Order` at its beginning, given the roots of the columns alone.
    options : Options
        How pairs are modelled.
    search : Search
        Runs EM.
    simplify : bool
        Whether to join hidden nodes, and merge states, where that raises BIC.
    """

    def __init__(
        self,
        data: CategoricalData,
        information: np.ndarray,
        make_order: Callable[[Roots], Order],
        options: Options,
        search: Search,
        simplify: bool,
    ):
        self.data = data
        self.information = information
        self.make_order = make_order
        self.options = options
        self.search = search
        self.simplify = simplify
        self._latest: tuple[State, Roots, Order] | None = None

    def start(self) -> State:
        """Return the state in which all columns are independent."""
        roots = self._columns_alone()
        state = self._state(roots, 0, ForestMemory())
        self._latest = (state, roots, self.make_order(roots))
        return state

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search."""
        check_memory_is(state, ForestMemory, "a binary forest")
        memory: ForestMemory = state.memory
        if memory.phase == "join":
            roots, order = self._where(state)
            check_same_state(state, self._state(roots, state.step, memory))
            self._latest = (state, roots, order)
        check_over(state, memory.phase == "simplify" and not memory.hopeless)
        check_again(state, self.data, self.score)

    def _columns_alone(self) -> Roots:
        return Roots(self.data, self.information, self.search.settings.prior, self.options.debias)

    def advance(self, state: State) -> Step:
        """Take the next step."""
        phase = state.memory.phase
        if phase == "join":
            return self._join(state)
        if phase == "fit":
            return self._fit(state)
        return self._simplify(state)

    # Joining

    def _join(self, state: State) -> Step:
        roots, order = self._where(state)
        models: list[PairModel | None] = list(state.memory.pairs)
        entries: list[HistoryEntry] = []
        is_over = False
        ends = time.perf_counter() + CHUNK_SECONDS
        while True:
            pair = order.pair(roots)
            if pair is None:
                is_over = True
                break
            try:
                model = self._pair(roots, pair, len(models)).best()
            except STOP_SIGNALS as stop:
                self.search.note_interrupt(stop)  # the pairs joined so far are kept
                break
            self._tell(roots, order, pair, model)
            models.append(model)
            if model is not None:
                entries.append(self._entry(roots, state.step + len(entries) + 1))
            if time.perf_counter() > ends:
                break
        memory = ForestMemory("fit") if is_over else ForestMemory("join", tuple(models))
        new = self._state(roots, state.step + len(entries), memory)
        self._latest = (new, roots, order)
        return Step(new, entries=tuple(entries))

    def _pair(self, roots: Roots, pair: tuple[int, int], attempt: int) -> Pair:
        left, right = (roots.root(slot) for slot in pair)
        related = roots.related(*pair, max(self.options.context, default=0))
        return Pair(left, right, related, self.data.weights, self.search, (attempt,), self.options)

    @staticmethod
    def _tell(roots: Roots, order: Order, pair: tuple[int, int], model: PairModel | None) -> None:
        if model is None:
            order.refused()
            return
        roots.join(*pair, model)
        order.joined(min(pair))

    def _where(self, state: State) -> tuple[Roots, Order]:
        """Return the roots of a state; if it is not the latest, everything is joined again as it was."""
        if self._latest is not None and self._latest[0] is state:
            return self._latest[1:]
        roots = self._columns_alone()
        order = self.make_order(roots)
        for model in state.memory.pairs:
            pair = order.pair(roots)
            if pair is None:
                raise ValueError("its memory of 'pairs' has more of them than there are")
            self._tell(roots, order, pair, model)
        return roots, order

    @cached_property
    def _names(self) -> list[str]:
        """Names for all hidden variables that there may be."""
        return numbered_latent_names(self.data.columns, len(self.data.columns) - 1)

    def score(self, tree: LatentTree, log_likelihood: float) -> float:
        """Return the BIC."""
        return log_likelihood - self.options.penalty * tree.n_parameters

    def _state(self, roots: Roots, step: int, memory: ForestMemory) -> State:
        tree = roots.tree(self._names[: roots.n_hidden])
        return State(tree, self.score(tree, roots.log_likelihood), roots.log_likelihood, step, memory)

    def _entry(self, roots: Roots, step: int) -> HistoryEntry:
        log_likelihood, parameters = roots.log_likelihood, roots.n_parameters
        name = self._names[roots.n_hidden - 1]
        score = log_likelihood - self.options.penalty * parameters
        return self.search.entry(step, "join", name, score, log_likelihood, parameters)

    # Fitting the whole forest

    def _fit(self, state: State) -> Step:
        """Run EM on all tables together, to the end unless simplifying comes next."""
        memory = ForestMemory("simplify")
        if not state.tree.latent.any():
            return Step(replace(state, memory=memory, finished=True))
        if self.simplify:
            return Step(self._fitted(state.tree, state.step + 1, memory, first=True), "fit", None)
        return Step(replace(self._settled(state, memory), finished=True), "fit", None)

    def _fitted(self, tree: LatentTree, step: int, memory: ForestMemory, **options: Unpack[FitOptions]) -> State:
        engine = engine_for(tree, self.data)
        fit = self.search.fit(engine, engine.layout.pack(tree.tables), **options)
        tree = tree.with_tables(engine.layout.unpack(fit.tables))
        return State(tree, self.score(tree, fit.log_likelihood), fit.log_likelihood, step, memory)

    def finish(self, state: State) -> Step:
        """Fit the current forest to the end."""
        if not state.tree.latent.any():
            return Step(state)
        new = self._settled(state, state.memory)
        return Step(new, "fit", None) if new.score > state.score else Step(state)

    def _settled(self, state: State, memory: ForestMemory) -> State:
        # whatever EM reached when interrupted is better than nothing
        return self._fitted(state.tree, state.step + 1, memory, **self.search.settings.last_fit)

    # Simplifying

    def _simplify(self, state: State) -> Step:
        """Make all changes that raise the score and do not get in each other's way."""
        simplifier = Simplifier(self.data, self.search, self.options.penalty, self.options.max_states)
        memory: ForestMemory = state.memory
        changes, hopeless = simplifier.changes(state.tree, memory.hopeless)
        for chosen in (compatible(changes), changes[:1]):  # together they may help less than the best one alone
            new = self._changed(state, chosen, hopeless)
            if new.score > state.score:
                return Step(new, "simplify", ", ".join(map(str, chosen)))
        if memory.hopeless:  # much has changed since these were tried
            return Step(replace(state, memory=replace(memory, hopeless=())))
        return Step(replace(self._settled(state, memory), finished=True), "fit", None)

    def _changed(self, state: State, chosen: Sequence[Change], hopeless: Sequence[tuple]) -> State:
        if not chosen:
            return state
        tree = state.tree
        for change in chosen:
            tree = change.applied(tree)
        still_hopeless = tuple(unaffected(state.tree, hopeless, chosen))
        return self._fitted(tree, state.step + 1, replace(state.memory, hopeless=still_hopeless))


class ForestLearner(MovesColumns, SearchingLearner):
    """Base of :class:`BinG` and :class:`BinA`: keywords and the run."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "max_states": number(2, whole=True, optional=True),
        "simplify": flag,
    }
    _tuning: BinATuning
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {
        "max_states": (
            "max_states : int, optional",
            "Most states of a hidden variable, at least 2. A pair never needs more than its smaller variable has, so "
            "that binary tables get binary hidden variables; ``simplify`` may find more, up to this number.",
        ),
        "simplify": (
            "simplify : bool",
            "Whether to contract edges between hidden variables, and to reduce their states, as long as BIC rises. The "
            "trees are then no longer binary.",
        ),
        "random_state": ORDER_DOES_NOT_MATTER,
    }

    def __init__(
        self,
        *,
        max_states: int | None = None,
        simplify: bool = False,
        columns: Columns = "leaves",
        n_starts: int | None = None,
        prior: float | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: BinATuning | None = None,
    ) -> None:
        self.max_states = max_states
        self.simplify = simplify
        self.columns = columns
        self.n_starts = n_starts
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def _order(self, information: np.ndarray, penalty: float) -> Order:
        raise NotImplementedError

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        search = self._search(data)
        ordered = data.in_order_of_names()
        information, apart = pairwise_information(ordered)
        warn_of_no_overlap(ordered.columns, apart)  # the line that calls fit
        penalty = scores.penalty_per_parameter(data.total_weight)
        tuning = self._tuning
        options = Options(
            max_states=self.max_states,
            n_starts=tuning.n_starts,
            narrowing=tuning.narrowing,
            context=tuple(tuning.context),
            penalty=penalty,
            debias=bool(tuning.debias),
            grouped_starts=bool(tuning.grouped_starts),
        )
        policy = ForestPolicy(
            ordered,
            information,
            lambda roots: self._order(roots.information, penalty),
            options,
            search,
            bool(self.simplify),
        )
        outcome = run_with_places(search, policy.start, policy, self._column_places(ordered, search, policy.score))
        return made_regular(outcome, policy.score) if self.simplify else outcome
