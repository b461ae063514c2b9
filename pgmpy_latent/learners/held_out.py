"""Learning for prediction: what a parameter costs is chosen by rows that were held out.

A search with BIC's penalty comes first, on all rows. Then, for every fold, the same search learns from the rows of the
other folds, and goes on from what it found with smaller and smaller shares of the penalty. After each share the fold's
rows are scored with smoothed tables. The path ends when the sum over all folds has fallen, and the search on all rows
follows it to the share with the highest sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pandas as pd

from pgmpy_latent import scores
from pgmpy_latent.em.smoothing import smoothed_tables
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.memory import check_memory_is, check_value, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import Outcome, Search, Step
from pgmpy_latent.learners.search_learner import SearchingLearner
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.checkpoint import HistoryEntry, State
from pgmpy_latent.scores import HeldOut
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.folds import Fold, folds
from pgmpy_latent.tables.missing_codes import CombinedCodes

#: Shares of BIC's penalty, in the order in which they are tried.
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12)
#: The path ends after this many shares in a row with which the held-out rows are less likely than with the best one.
PATIENCE = 2
#: Difference of log-likelihoods, in nats, up to which two shares predict equally well, and the larger one is preferred.
EQUAL = 0.1
#: What ``history_`` calls a smaller share.
LOWER = "lower penalty"


class InnerPolicy(Protocol):
    """The policy of a search with a certain cost of a parameter."""

    def start(self, tree: Any) -> State:
        """Return the state at which the search begins; some policies begin with several trees."""

    def advance(self, state: State) -> Step:
        """Take the next step."""

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table."""


Inner = TypeVar("Inner", bound=InnerPolicy)


class Searching(NamedTuple, Generic[Inner]):
    """A search on some rows: its policy, and a function that makes the tree, or trees, to begin with."""

    policy: Inner
    first_tree: Callable[[], Any]


#: Rows, cost of a parameter, search, whether the search continues from a tree of the path -> how it is searched.
Searcher = Callable[[CategoricalData, float, Search, bool], Searching]


@held_by_checkpoints("search within a path")
@dataclass(frozen=True)
class InnerState:
    """The state of a search on some rows.

    Attributes
    ----------
    fold : int
        Which rows it learns from: those outside of this fold; all, if it is the number of folds.
    tree, score, log_likelihood, step, memory, finished
        As in :class:`~pgmpy_latent.runtime.checkpoint.State`.
    """

    fold: int
    tree: LatentTree
    score: float
    log_likelihood: float
    step: int
    memory: object
    finished: bool

    @classmethod
    def of(cls, fold: int, state: State) -> InnerState:
        """Return the state of a search as part of a memory."""
        return cls(fold, state.tree, state.score, state.log_likelihood, state.step, state.memory, state.finished)

    @property
    def state(self) -> State:
        """The state as its policy knows it."""
        return State(self.tree, self.score, self.log_likelihood, self.step, self.memory, self.finished)


@held_by_checkpoints("memory of a path")
@dataclass(frozen=True)
class PathMemory:
    """How far the path has come.

    Attributes
    ----------
    number : int
        The share, by its place among ``SHARES``, that the search on all rows has reached.
    held_out : tuple of tuples of float
        For every share so far the log-likelihood of the held-out rows of every fold so far.
    n_parameters : tuple of tuples of int
        Numbers of parameters of the same trees.
    trees : tuple of LatentTree
        For every fold, the tree that was found with the last share.
    own : tuple of LatentTree
        The tree that was found on all rows with each share, if a separate table validates.
    inner : InnerState or None
        The search that is under way.
    """

    number: int = 0
    held_out: tuple[tuple[float, ...], ...] = ()
    n_parameters: tuple[tuple[int, ...], ...] = ()
    trees: tuple[LatentTree, ...] = ()
    own: tuple[LatentTree, ...] = ()
    inner: InnerState | None = None

    @property
    def phase(self) -> str:
        """What the search is doing, for its progress bar."""
        if self.inner is None or self.number > 0 or not self.held_out:
            return f"all rows, share {SHARES[self.number]:g}"
        return f"fold {self.inner.fold + 1}, share {SHARES[len(self.held_out) - 1]:g}"


class PathPolicy:
    """The policy: follows the path on every fold, chooses a share, and follows the path to it on all rows.

    The score of its states is the log-likelihood less the penalty of the share that they have reached; see
    :func:`with_held_out_scores`.

    Parameters
    ----------
    data : CategoricalData
        All rows.
    search : Search
        Runs EM.
    searcher : callable
        Makes the searches.
    parts : list of Fold
        Which rows are held out, and which are learned from. A separate table is the only fold, with all rows to learn
        from.
    """

    def __init__(self, data: CategoricalData, search: Search, searcher: Searcher, parts: list[Fold]):
        self.data, self.search, self.searcher, self.parts = data, search, searcher, parts
        self.has_own_table = parts[0].learn is data
        self._within = search.part()
        self._latest: tuple[tuple[int, int], Searching] | None = None

    # Scores

    def penalty(self, number: int, data: CategoricalData) -> float:
        """Return the cost of a parameter with a share."""
        return SHARES[number] * scores.penalty_per_parameter(data.total_weight)

    def _score(self, number: int) -> Callable[[LatentTree, float], float]:
        return lambda tree, log_likelihood: log_likelihood - self.penalty(number, self.data) * tree.n_parameters

    def _state(self, tree: LatentTree, log_likelihood: float, step: int, memory: PathMemory) -> State:
        return State(tree, self._score(memory.number)(tree, log_likelihood), log_likelihood, step, memory)

    def _log_likelihood(self, tree: LatentTree, data: CategoricalData) -> float:
        engine = engine_for(tree, data)
        return float(engine.log_likelihood(engine.layout.pack(tree.tables)))

    def held_out_score(self, tree: LatentTree, part: Fold) -> float:
        """Return the log-likelihood of the held-out rows, with smoothed tables."""
        smooth = smoothed_tables(tree, part.learn, clock=self.search.clock)
        return self._log_likelihood(smooth, part.held_out)

    # Steps

    def start(self) -> State:
        """Return the state at which the search on all rows begins."""
        everything = len(self.parts)
        searching = self._searching(everything, 0)
        first = searching.policy.start(searching.first_tree())
        memory = PathMemory(inner=InnerState.of(everything, first))
        return self._state(first.tree, first.log_likelihood, 0, memory)

    def advance(self, state: State) -> Step:
        """Take the next step."""
        memory: PathMemory = state.memory
        if memory.inner is None:
            return self._begin_next(state)
        if memory.inner.finished:
            return self._end(state, memory.inner)
        return self._continue(state, memory.inner)

    def _searching(self, fold: int, number: int) -> Searching:
        if self._latest is None or self._latest[0] != (fold, number):
            is_all = fold == len(self.parts)
            data = self.data if is_all else self.parts[fold].learn
            search = self.search if is_all and number == 0 else self._within  # which writes no checkpoint of its own
            searching = self.searcher(data, self.penalty(number, data), search, number > 0)
            self._latest = ((fold, number), searching)
        return self._latest[1]

    def _share_of(self, memory: PathMemory, fold: int) -> int:
        """Return the share, by its place, of the search that is under way on a fold or on all rows."""
        return memory.number if fold == len(self.parts) else len(memory.held_out) - 1

    def _continue(self, state: State, inner: InnerState) -> Step:
        """Take a step of the search that is under way; the best tree of all rows is that of the path."""
        memory = state.memory
        step = self._searching(inner.fold, self._share_of(memory, inner.fold)).policy.advance(inner.state)
        memory = replace(memory, inner=InnerState.of(inner.fold, step.state))
        if inner.fold < len(self.parts) or step.operator is None:
            return Step(replace(state, memory=memory))
        new = self._state(step.state.tree, step.state.log_likelihood, state.step + 1, memory)
        return Step(new, step.operator, step.target)

    def _end(self, state: State, inner: InnerState) -> Step:
        """Note what a finished search has found."""
        memory = replace(state.memory, inner=None)
        if inner.fold < len(self.parts):
            memory = self._noted(memory, inner.fold, inner.tree)
        return Step(replace(state, memory=memory))

    def _noted(self, memory: PathMemory, fold: int, tree: LatentTree) -> PathMemory:
        value = self.held_out_score(tree, self.parts[fold])
        return replace(
            memory,
            held_out=(*memory.held_out[:-1], (*memory.held_out[-1], value)),
            n_parameters=(*memory.n_parameters[:-1], (*memory.n_parameters[-1], tree.n_parameters)),
            trees=(*memory.trees[:fold], tree, *memory.trees[fold + 1 :]),
            own=(*memory.own, tree) if self.has_own_table else (),
        )

    def _begin_next(self, state: State) -> Step:
        """Begin the next search: on a fold, or on all rows once a share is chosen."""
        memory: PathMemory = state.memory
        if not memory.held_out or len(memory.held_out[-1]) == len(self.parts):
            best = best_share(self.totals(memory))
            if best is not None and self._is_over(memory):
                return self.finish(state) if memory.number == best else self._lower(state)
            memory = replace(memory, held_out=(*memory.held_out, ()), n_parameters=(*memory.n_parameters, ()))
        number, fold = len(memory.held_out) - 1, len(memory.held_out[-1])
        if self.has_own_table and number == 0:  # all rows were learned from
            return Step(replace(state, memory=self._noted(memory, fold, state.tree)))
        searching = self._searching(fold, number)
        first = searching.policy.start(memory.trees[fold] if number else searching.first_tree())
        return Step(replace(state, memory=replace(memory, inner=InnerState.of(fold, first))))

    def _lower(self, state: State) -> Step:
        """Go on with the next smaller share, on all rows."""
        number = state.memory.number + 1
        memory = replace(state.memory, number=number)
        if self.has_own_table:
            tree = memory.own[number]
            new = self._state(tree, self._log_likelihood(tree, self.data), state.step + 1, memory)
            return Step(new, LOWER, SHARES[number])
        everything = len(self.parts)
        first = self._searching(everything, number).policy.start(state.tree)
        memory = replace(memory, inner=InnerState.of(everything, first))
        return Step(self._state(first.tree, first.log_likelihood, state.step + 1, memory), LOWER, SHARES[number])

    def finish(self, state: State) -> Step:
        """Fit the current tree to the end."""
        memory = replace(state.memory, inner=None)
        engine = engine_for(state.tree, self.data)
        fit = self.search.fit(engine, engine.layout.pack(state.tree.tables), **self.search.settings.last_fit)
        tree = state.tree.with_tables(engine.layout.unpack(fit.tables))
        new = self._state(tree, fit.log_likelihood, state.step + 1, memory)
        if new.score <= state.score:
            return Step(replace(state, memory=memory, finished=True))
        return Step(replace(new, finished=True), "fit", None)

    # The choice

    def totals(self, memory: PathMemory) -> list[float]:
        """Return the log-likelihood of all held-out rows for every share that was tried on all folds."""
        return [sum(values) for values in memory.held_out if len(values) == len(self.parts)]

    def _is_over(self, memory: PathMemory) -> bool:
        """Tell whether the share can be chosen."""
        totals = self.totals(memory)
        fallen = [total < max(totals) - EQUAL for total in totals]
        return len(totals) == len(SHARES) or (len(totals) > PATIENCE and all(fallen[-PATIENCE:]))

    # Checkpoints

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of a path."""
        check_memory_is(state, PathMemory, "a search with rows held out")
        memory: PathMemory = state.memory
        n_folds = len(self.parts)
        check_value("number", memory.number, memory.number < len(SHARES))
        check_again(state, self.data, self._score(memory.number))
        sizes = [len(values) for values in memory.held_out]
        full = all(size == n_folds for size in sizes[:-1]) and all(size <= n_folds for size in sizes)
        check_value("held_out", memory.held_out, full and len(sizes) <= len(SHARES))
        check_value("n_parameters", memory.n_parameters, [len(one) for one in memory.n_parameters] == sizes)
        check_value("trees", memory.trees, len(memory.trees) == (n_folds if len(sizes) > 1 else sum(sizes)))
        check_value("own", memory.own, len(memory.own) == (sum(sizes) if self.has_own_table else 0))
        if memory.inner is not None:
            check_value("inner", memory.inner.fold, memory.inner.fold <= n_folds)
            self._searching(memory.inner.fold, self._share_of(memory, memory.inner.fold)).policy.check(
                memory.inner.state
            )
        over = bool(sizes) and memory.inner is None and self._is_over(memory)
        check_over(state, over and memory.number == best_share(self.totals(memory)))


def best_share(totals: Sequence[float]) -> int | None:
    """Return the place of the share with the highest sum, the first of those that are about equal; None if none is.

    Examples
    --------
    >>> best_share([-12.0, -10.05, -10.0, -11.0]), best_share([])
    (1, None)
    """
    return int(np.argmax(np.asarray(totals) >= max(totals) - EQUAL)) if len(totals) else None


# Learners


class PathLearner(SearchingLearner):
    """Mixin of learners whose searches take a penalty per parameter, which rows that are held out may choose."""

    held_out_: pd.DataFrame | None

    def _searching(self, data: CategoricalData, penalty: float, search: Search, continues: bool) -> Searching:
        """Return the policy of a search with a cost of a parameter, and what makes its first tree.

        ``continues`` says that it goes on from a tree that was found with a higher cost.
        """
        raise NotImplementedError

    def _learn_path(self, data: CategoricalData, how: HeldOut) -> Outcome[LatentTree]:
        """Learn with the penalty that predicts best."""
        search = self._search(data)
        parts = parts_of(data, how, search)
        policy = PathPolicy(data, search, self._searching, parts)
        outcome = search.run(policy.start, policy.advance, policy.check, policy.finish)
        return with_held_out_scores(outcome, policy.totals(outcome.memory))

    def _keep(self, outcome: Outcome, X) -> None:
        super()._keep(outcome, X)
        is_path = isinstance(outcome.memory, PathMemory)
        self.held_out_ = path_table(outcome.memory, X.total_weight) if is_path else None


def parts_of(data: CategoricalData, how: HeldOut, search: Search) -> list[Fold]:
    """Return what is held out and what is learned from: folds, or a separate table and all rows."""
    if how.validation is None:
        return folds(data, how.n_folds, search.seed(0))
    return [Fold(data, validation_table(data, how.validation))]


def validation_table(data: CategoricalData, table) -> CategoricalData:
    """Read rows to validate with, with the columns, states and codes for missing cells of those to learn from.

    Parameters
    ----------
    data : CategoricalData
        The rows to learn from.
    table : DataFrame, array or CategoricalData
        The rows to validate with. Categories that the others do not have count as missing.
    """
    return encode(
        table,
        columns=data.columns,
        state_names=dict(zip(data.columns, data.state_names, strict=True)),
        unseen="missing",
        missing=CombinedCodes(None, dict(data.missing)) if data.missing else None,
    )


def with_held_out_scores(outcome: Outcome[LatentTree], totals: Sequence[float]) -> Outcome[LatentTree]:
    """Return an outcome whose score is the log-likelihood of held-out rows, with an entry of the history per share.

    Shares on the way that were no better than those before them have no entry. If the search was stopped before the
    first share was tried on all folds, the score stays BIC.

    Parameters
    ----------
    outcome : Outcome
        Of the path.
    totals : list of float
        The log-likelihood of all held-out rows, for every share.
    """
    last_entries: list[HistoryEntry] = []
    for entry in outcome.history:
        if not last_entries or entry.operator == LOWER:  # a later "start" is another first tree that took the lead
            last_entries.append(entry)
        first = last_entries[-1]
        last_entries[-1] = replace(entry, operator=first.operator, target=first.target)
    n_done = len(totals)
    memory = replace(
        outcome.memory, held_out=outcome.memory.held_out[:n_done], n_parameters=outcome.memory.n_parameters[:n_done]
    )
    if not totals:
        return replace(outcome, history=last_entries, memory=memory)
    scored = [replace(entry, score=total) for entry, total in zip(last_entries, totals, strict=False)]
    better = [entry for number, entry in enumerate(scored[:-1]) if entry.score == max(totals[: number + 1])]
    history = [replace(entry, step=step) for step, entry in enumerate([*better, scored[-1]])]
    return replace(outcome, score=history[-1].score, history=history, memory=memory)


def path_table(memory: PathMemory, total_weight: float) -> pd.DataFrame:
    """Return a row for every share: the sum over all folds, and the mean number of parameters.

    Examples
    --------
    >>> path_table(PathMemory(held_out=((-7.0, -5.0), (-6.0, -5.5)), n_parameters=((3, 4), (5, 6))), 100.0).round(3)
       share  penalty  log_likelihood  n_parameters   best
    0    1.0    2.303           -12.0           3.5  False
    1    0.7    1.612           -11.5           5.5   True
    """
    totals = [float(sum(values)) for values in memory.held_out]
    shares = np.array(SHARES[: len(totals)])
    return pd.DataFrame(
        {
            "share": shares,
            "penalty": shares * scores.penalty_per_parameter(total_weight),
            "log_likelihood": np.array(totals),
            "n_parameters": np.array([np.mean(sizes) for sizes in memory.n_parameters]),
            "best": np.arange(len(totals)) == best_share(totals),
        }
    )
