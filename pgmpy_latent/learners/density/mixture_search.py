"""The search for a mixture of hidden Chow-Liu trees with edges of their own, judged by rows that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from pgmpy_latent.em.judged import fit_judged
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.column_forest import chow_liu_parents
from pgmpy_latent.learners.density.begin import begun
from pgmpy_latent.learners.density.mixture import groups_of_rows
from pgmpy_latent.learners.density.mixture_trials import (
    Candidate,
    Choices,
    MixtureTrial,
    are_enough,
    chosen_trials,
    next_candidate,
    values_of_settings,
)
from pgmpy_latent.learners.density.shape import hidden_tree
from pgmpy_latent.learners.density.trials import MANY_STATES
from pgmpy_latent.learners.memory import check_memory_is, check_value, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_model_again, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.model.mixture import TreeMixture, average
from pgmpy_latent.presets import HiddenChowLiuTuning
from pgmpy_latent.runtime.arrays import ROUNDING
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import Fold

#: Keys of the seeds of starts and of groups of rows; 0 is that of the rows that are held out.
STARTS, GROUPS = 1, 2
#: What ``history_`` calls the steps.
TRIAL, ALL_ROWS = "another mixture", "fit to all rows"


@held_by_checkpoints("memory of HiddenChowLiuMixture")
@dataclass(frozen=True)
class MixtureMemory:
    """What was tried, which trials are averaged, and whether their tables were fitted to the held-out rows too."""

    trials: tuple[MixtureTrial, ...]
    chosen: tuple[int, ...]
    has_all_rows: bool = False

    @property
    def phase(self) -> str:
        """What the search is doing, for its progress bar."""
        last = self.trials[-1].candidate
        return f"{last.n_groups} trees, {last.n_states} states, smoothing {last.smoothing:g}"


class MixturePolicy:
    """The policy: fits one mixture after another, averages those that predict best, and fits these to all rows.

    The score of its states is the log-likelihood of the held-out rows; that of the last state is the one that the
    average had before it was fitted to these rows as well.

    Parameters
    ----------
    data : CategoricalData
        All rows.
    part : Fold
        Rows to learn from, and rows that judge. If all rows are to learn from, there is a table of its own to judge.
    search : Search
        Clock, seeds and workers.
    choices : Choices
        What is tried.
    first : sequence of Candidate
        Where to begin.
    n_trials : int, optional
        Number of mixtures; by default see :func:`are_enough`.
    tuning : HiddenChowLiuTuning
        How EM runs.
    """

    def __init__(
        self,
        data: CategoricalData,
        part: Fold,
        search: Search,
        choices: Choices,
        first: Sequence[Candidate],
        n_trials: int | None,
        tuning: HiddenChowLiuTuning,
    ):
        self.data, self.part, self.search = data, part, search
        self.choices, self.first, self.n_trials, self.tuning = choices, first, n_trials, tuning
        self.has_own_table = part.learn is data

    # Mixtures

    def _trial(self, candidate: Candidate, number: int) -> MixtureTrial:
        """Fit a mixture: a tree for each group of rows that are alike, and then all of them together."""
        mixture = self._groups(candidate, number)
        engine, judging = (engine_for(mixture, rows) for rows in self.part)
        fit = fit_judged(
            engine.in_precision(self.tuning.precision) if candidate.n_states >= MANY_STATES else engine,
            engine.layout.pack(mixture.tables)[None],
            judging.log_likelihood,
            prior=pseudo_counts_of_rows(engine.layout, candidate.smoothing),
            interval=self.tuning.interval,
            patience=self.tuning.patience,
            rise=self.tuning.rise * self.part.held_out.weights.sum(),
            max_iter=self.tuning.max_iter if self.search.stopped is None else 1,
            atol=self.tuning.tol,
            n_jobs=self.search.n_jobs,
            clock=self.search.clock,
        )
        if fit.interrupted:
            self.search.note_interrupt()
        mixture = mixture.with_tables(engine.layout.unpack(fit.tables))
        whole = engine if self.has_own_table else engine_for(mixture, self.data)
        rows, all_rows = (each.row_log_likelihoods(fit.tables) for each in (judging, whole))
        n_iter = fit.n_iter + self.tuning.patience * self.tuning.interval  # those that were no better were made as well
        return MixtureTrial(*candidate, fit.verdict, fit.n_iter, n_iter * engine.work, mixture, rows, all_rows)

    def _groups(self, candidate: Candidate, number: int) -> TreeMixture:
        """Return a mixture to begin with: a tree for each group of rows, after a few iterations of EM on them."""
        learn = self.part.learn
        group_of_row = groups_of_rows(learn, candidate.n_groups, self.search.seed(GROUPS, number))
        trees, weights = [], []
        for group in np.unique(group_of_row).tolist():
            rows = learn.take(group_of_row == group)
            parent = chow_liu_parents(rows if candidate.own_edges else learn, warns=False)
            tree = hidden_tree(learn, parent, candidate.n_states)
            seed = self.search.seed(STARTS, number, group)
            start = begun(
                tree, rows, parent, seed, candidate.by_category, candidate.smoothing, self.tuning, self.search
            )
            trees.append(start)
            weights.append(rows.weights.sum())
        return TreeMixture(trees, np.array(weights) / np.sum(weights))

    # Steps

    def start(self) -> State:
        """Return the state after the first mixture."""
        return self._with((self._trial(self.first[0], 0),), 0)

    def _with(self, trials: tuple[MixtureTrial, ...], step: int) -> State:
        """Return the state that averages the trials that predict best together."""
        chosen, score = self._chosen(trials)
        mixture = average([trials[at].mixture for at in chosen])
        value = self._log_likelihood([trials[at].all_rows for at in chosen])
        return State(mixture, score, value, step, MixtureMemory(trials, chosen))

    def _chosen(self, trials: Sequence[MixtureTrial]) -> tuple[tuple[int, ...], float]:
        """Return which trials are averaged, and how likely their average makes the held-out rows."""
        return chosen_trials(np.stack([trial.rows for trial in trials]), self.part.held_out.weights)

    def _log_likelihood(self, rows: Sequence[np.ndarray]) -> float:
        """Return the log-likelihood of the table under an average, given that of its rows under each mixture."""
        return float((logsumexp(rows, axis=0) - np.log(len(rows))) @ self.data.weights)

    def advance(self, state: State) -> Step:
        """Try the next mixture; fit those that are averaged to all rows if there is none."""
        trials = state.memory.trials
        if self._is_over(trials):
            return self.finish(state)
        trial = self._trial(self._next(trials, state.memory.chosen), len(trials))
        new = self._with((*trials, trial), state.step + 1)
        if new.memory.chosen == state.memory.chosen:
            return Step(replace(state, memory=new.memory))
        return Step(new, TRIAL, len(trials))

    def _next(self, trials: Sequence[MixtureTrial], chosen: Sequence[int]) -> Candidate:
        tried = [trial.candidate for trial in trials]
        rows = [trial.rows for trial in trials]
        values = values_of_settings(list(zip(tried, rows, strict=True)), self.part.held_out.weights)
        return next_candidate(tried, values, {tried[at].settings for at in chosen}, self.choices, self.first)

    def _is_over(self, trials: Sequence[MixtureTrial]) -> bool:
        if self.n_trials is None:
            return are_enough(len(trials), sum(trial.work for trial in trials), self.data.n_distinct)
        return len(trials) >= self.n_trials

    def finish(self, state: State) -> Step:
        """Let the tables follow all rows, by a few iterations of EM; not if the judging rows are a table apart."""
        if self.has_own_table:
            return Step(replace(state, finished=True))
        mixtures, rows = zip(*(self._followed(state.memory.trials[at]) for at in state.memory.chosen), strict=True)
        mixture, value = average(mixtures), self._log_likelihood(rows)
        memory = replace(state.memory, has_all_rows=True)
        return Step(State(mixture, state.score, value, state.step + 1, memory, finished=True), ALL_ROWS, None)

    def _followed(self, trial: MixtureTrial) -> tuple[TreeMixture, np.ndarray]:
        """Return a mixture after a few iterations of EM on all rows, and the log-likelihood of every distinct row."""
        engine = engine_for(trial.mixture, self.data)
        fit = self.search.fit(
            engine,
            engine.layout.pack(trial.mixture.tables),
            prior=pseudo_counts_of_rows(engine.layout, trial.candidate.smoothing),
            max_iter=self.tuning.last_iter,
            check=False,
            n_jobs=self.search.n_jobs,
        )
        return trial.mixture.with_tables(engine.layout.unpack(fit.tables)), engine.row_log_likelihoods(fit.tables)

    # Checkpoints

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of this search."""
        check_memory_is(state, MixtureMemory, "HiddenChowLiuMixture")
        memory: MixtureMemory = state.memory
        check_value("trials", memory.trials, bool(memory.trials))
        for at, trial in enumerate(memory.trials):
            self._check_trial(trial, memory.trials[:at])
        check_over(state, self._is_over(memory.trials))
        is_last = state.finished and not self.has_own_table
        check_value("has_all_rows", memory.has_all_rows, memory.has_all_rows == is_last)
        expected = self._with(memory.trials, state.step)
        check_value("chosen", memory.chosen, memory.chosen == expected.memory.chosen)
        check_again(state, self.data, lambda mixture, log_likelihood: expected.score)
        check_value("trials", memory.trials, memory.has_all_rows or state.tree == expected.tree)

    def _check_trial(self, trial: MixtureTrial, before: Sequence[MixtureTrial]) -> None:
        """Raise if a trial is not the one that comes after others, or its mixture does not say of rows what it says."""
        expected = self._next(before, self._chosen(before)[0]) if before else self.first[0]
        check_value("trials", trial, trial.candidate == expected)
        check_model_again(trial.mixture, self.data.columns, self.data.state_names)
        for name, data in (("rows", self.part.held_out), ("all_rows", self.data)):
            engine = engine_for(trial.mixture, data)
            rows, written = engine.row_log_likelihoods(engine.layout.pack(trial.mixture.tables)), getattr(trial, name)
            is_same = written.shape == rows.shape and np.allclose(written, rows, rtol=ROUNDING, atol=ROUNDING)
            check_value(name, written, bool(is_same))
        total = float(trial.rows @ self.part.held_out.weights)
        check_value("log_likelihood", trial.log_likelihood, bool(np.isclose(trial.log_likelihood, total)))
