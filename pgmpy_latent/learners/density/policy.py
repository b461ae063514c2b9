"""The search for a hidden Chow-Liu tree: EM for every candidate, judged by rows that are held out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pgmpy_latent.em.judged import JudgedFit, fit_judged
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.density.begin import approached, begun, starts_of
from pgmpy_latent.learners.density.mixture import groups_of_rows, joined
from pgmpy_latent.learners.density.shape import hidden_tree
from pgmpy_latent.learners.density.trials import MANY_STATES, Candidate, Trial, best_trial, next_candidate
from pgmpy_latent.learners.memory import check_memory_is, check_value, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.pruning import prune_states
from pgmpy_latent.presets import HiddenChowLiuTuning
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import Fold

#: Keys of the seeds of starts, of groups of rows and of batches; 0 is that of the rows that are held out.
STARTS, GROUPS, BATCHES = 1, 2, 3
#: What ``history_`` calls the steps.
MORE_STATES, OTHER_SMOOTHING, ALL_ROWS = "more states", "other smoothing", "fit to all rows"
MORE_GROUPS, PRUNED = "more groups", "states that carry nothing"


@held_by_checkpoints("memory of HiddenChowLiu")
@dataclass(frozen=True)
class TrialsMemory:
    """What was tried, and whether the tables were fitted to the held-out rows too."""

    trials: tuple[Trial, ...] = ()
    has_all_rows: bool = False

    @property
    def phase(self) -> str:
        """What the search is doing, for its progress bar."""
        last = self.trials[-1]
        return f"{last.n_states} states, smoothing {last.smoothing:g}"


class TrialsPolicy:
    """The policy: tries numbers of states, then smoothing, and fits the best model to all rows.

    The score of its states is the log-likelihood of the held-out rows; that of the last state is the one that the best
    model had before it was fitted to these rows as well.

    Parameters
    ----------
    data : CategoricalData
        All rows.
    part : Fold
        Rows to learn from, and rows that judge. If all rows are to learn from, there is a table of its own to judge.
    parent : int array, shape (n_columns,)
        The tree over the columns.
    search : Search
        Clock, seeds and workers.
    numbers, smoothings : tuples
        What is tried.
    tuning : HiddenChowLiuTuning
        How EM runs.
    groups : tuple of int
        Numbers of trees to mix that are tried.
    most : int, optional
        Most states of a hidden variable in all trees together.
    """

    def __init__(
        self,
        data: CategoricalData,
        part: Fold,
        parent: np.ndarray,
        search: Search,
        numbers: tuple[int, ...],
        smoothings: tuple[float, ...],
        tuning: HiddenChowLiuTuning,
        groups: tuple[int, ...] = (1,),
        most: int | None = None,
    ):
        self.data, self.part, self.parent, self.search = data, part, parent, search
        self.numbers, self.smoothings, self.tuning = numbers, smoothings, tuning
        self.groups, self.most = groups, most
        self.has_own_table = part.learn is data

    # Candidates

    def _next(self, trials: tuple[Trial, ...]) -> Candidate | None:
        first = min(self.smoothings, key=lambda value: abs(value - self.tuning.first_smoothing))
        return next_candidate(trials, self.numbers, self.smoothings, first, self.groups, self.most)

    def _fitted(self, candidate: Candidate, best: State | None) -> tuple[LatentTree, JudgedFit]:
        """Return the tree of a candidate, from random starts or, with as many states, from the best tree so far."""
        tuning, search = self.tuning, self.search
        before = None if best is None else best_trial(best.memory.trials)
        goes_on = before is not None and (before.n_states, before.n_groups) == (candidate.n_states, candidate.n_groups)
        starts = [best.tree] if best is not None and goes_on else self._starts(candidate)
        tree = starts[0]
        engine, judging = (engine_for(tree, rows) for rows in self.part)
        if candidate.n_states >= MANY_STATES:
            engine = engine.in_precision(tuning.precision)
        prior = pseudo_counts_of_rows(engine.layout, candidate.smoothing, engine.layout.pack(tree.tables) > 0)
        if goes_on or candidate.n_groups > 1:
            tables = np.stack([engine.layout.pack(start.tables) for start in starts])
        else:
            seed = search.seed(BATCHES, candidate.n_states)
            tables = approached(starts, self.part.learn, prior, seed, tuning, search)
        fit = fit_judged(
            engine,
            tables,
            judging.log_likelihood,
            prior=prior,
            race_iter=tuning.race_iter,
            interval=tuning.interval,
            patience=tuning.patience,
            rise=tuning.rise * self.part.held_out.weights.sum(),
            judges_start=not goes_on,  # the best tree's tables were fitted with another smoothing
            max_iter=tuning.max_iter,
            atol=tuning.tol,
            n_jobs=search.n_jobs,
            clock=search.clock,
        )
        if fit.interrupted:
            search.note_interrupt()
            if best is not None:
                raise search.clock.stop_signal()
        return tree.with_tables(engine.layout.unpack(fit.tables)), fit

    def _starts(self, candidate: Candidate) -> list[LatentTree]:
        """Return trees to begin with: single ones, or mixtures of trees, one for each group of rows that are alike."""
        shape = hidden_tree(self.data, self.parent, candidate.n_states)
        if candidate.n_groups > 1:
            kinds = (False, True) if self.tuning.category_starts else (False,)
            return [self._mixture(shape, candidate, by_category) for by_category in kinds]
        n_starts = len(self.tuning.concentrations) + self.tuning.category_starts
        rngs = [np.random.default_rng(self.search.seed(STARTS, candidate.n_states, at)) for at in range(n_starts)]
        return starts_of(shape, self.part.learn, self.parent, rngs, self.tuning.concentrations)

    def _mixture(self, shape: LatentTree, candidate: Candidate, by_category: bool) -> LatentTree:
        """Return a mixture of trees, each after a few iterations of EM on a group of rows."""
        learn = self.part.learn
        group_of_row = groups_of_rows(learn, candidate.n_groups, self.search.seed(GROUPS))
        trees, weights = [], []
        for group in np.unique(group_of_row).tolist():
            rows = learn.take(group_of_row == group)
            seed = self.search.seed(STARTS, candidate.n_states, group)
            tuning, search = self.tuning, self.search
            trees.append(begun(shape, rows, self.parent, seed, by_category, candidate.smoothing, tuning, search))
            weights.append(rows.weights.sum())
        return joined(trees, np.array(weights) / np.sum(weights))

    def _log_likelihood(self, tree: LatentTree, data: CategoricalData) -> float:
        engine = engine_for(tree, data)
        return float(engine.log_likelihood(engine.layout.pack(tree.tables)))

    def _standard_error(self, tree: LatentTree, other: LatentTree) -> float:
        """Return the standard error of the difference of two trees' log-likelihoods of the held-out rows."""
        held_out = self.part.held_out
        engines = [(engine_for(one, held_out), one) for one in (tree, other)]
        rows, others = (engine.row_log_likelihoods(engine.layout.pack(one.tables)) for engine, one in engines)
        gains, weights = rows - others, held_out.weights
        return float(np.sqrt(weights @ (gains - weights @ gains / weights.sum()) ** 2))

    # Steps

    def start(self) -> State:
        """Return the state after the first candidate."""
        candidate = self._next(())
        assert candidate is not None, "there is always a first one"
        return self._tried(candidate, None)[1]

    def _tried(self, candidate: Candidate, best: State | None) -> tuple[Trial, State]:
        """Try a candidate; return the trial, and the state that has it as its best model."""
        tree, fit = self._fitted(candidate, best)
        error = 0.0 if best is None else self._standard_error(tree, best.tree)
        trial = Trial(*candidate, fit.verdict, error, fit.n_iter, tree.n_parameters)
        trials = (trial,) if best is None else (*best.memory.trials, trial)
        step = 0 if best is None else best.step + 1
        value = self._log_likelihood(tree, self.data)
        return trial, State(tree, trial.log_likelihood, value, step, TrialsMemory(trials))

    def advance(self, state: State) -> Step:
        """Try the next candidate; fit the best model to all rows if there is none."""
        candidate = self._next(state.memory.trials)
        if candidate is None:
            return self.finish(state)
        trial, new = self._tried(candidate, state)
        if best_trial(new.memory.trials) is not trial:
            return Step(replace(state, memory=new.memory))
        before = best_trial(state.memory.trials)
        if trial.n_groups > before.n_groups:
            return Step(new, MORE_GROUPS, trial.n_groups)
        is_larger = trial.n_states > before.n_states
        return Step(new, *((MORE_STATES, trial.n_states) if is_larger else (OTHER_SMOOTHING, trial.smoothing)))

    def finish(self, state: State) -> Step:
        """Let the best tables follow all rows, by a few iterations of EM, and prune states that carry nothing.

        Tables are not changed if the judging rows are a table apart.
        """
        if self.has_own_table:
            tree = prune_states(state.tree)
            if tree is state.tree:
                return Step(replace(state, finished=True))
            return Step(replace(state, tree=tree, step=state.step + 1, finished=True), PRUNED, None)
        tree, smoothing = state.tree, best_trial(state.memory.trials).smoothing
        engine = engine_for(tree, self.data)
        fit = self.search.fit(
            engine,
            engine.layout.pack(tree.tables),
            prior=pseudo_counts_of_rows(engine.layout, smoothing, engine.layout.pack(tree.tables) > 0),
            max_iter=self.tuning.last_iter,
            check=False,
            n_jobs=self.search.n_jobs,
        )
        tree = prune_states(tree.with_tables(engine.layout.unpack(fit.tables)))
        memory = replace(state.memory, has_all_rows=True)
        new = State(tree, state.score, fit.log_likelihood, state.step + 1, memory, finished=True)
        return Step(new, ALL_ROWS, None)

    # Checkpoints

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of this search."""
        check_memory_is(state, TrialsMemory, "HiddenChowLiu")
        memory: TrialsMemory = state.memory
        self._check_order(memory.trials)
        check_over(state, self._next(memory.trials) is None)
        is_last = state.finished and not self.has_own_table
        check_value("has_all_rows", memory.has_all_rows, memory.has_all_rows == is_last)
        best = best_trial(memory.trials)

        def score(tree: LatentTree, log_likelihood: float) -> float:
            return best.log_likelihood if memory.has_all_rows else self._log_likelihood(tree, self.part.held_out)

        check_again(state, self.data, score)
        check_value("trials", memory.trials, state.score == best.log_likelihood)

    def _check_order(self, trials: tuple[Trial, ...]) -> None:
        """Raise if these are not the candidates that come one after the other."""
        check_value("trials", trials, bool(trials))
        for at, trial in enumerate(trials):
            expected = self._next(trials[:at])
            check_value("trials", trials, expected == (trial.n_states, trial.smoothing, trial.n_groups))
