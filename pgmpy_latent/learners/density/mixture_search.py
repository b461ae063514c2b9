"""The search for a mixture of hidden Chow-Liu trees with edges of their own, judged by rows that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from pgmpy_latent.em.judged import fit_judged
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.column_forest import chow_liu_parents
from pgmpy_latent.learners.density.begin import begun
from pgmpy_latent.learners.density.mixture import groups_of_rows
from pgmpy_latent.learners.density.shape import hidden_tree
from pgmpy_latent.learners.density.trials import MANY_STATES
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.model.mixture import TreeMixture, average
from pgmpy_latent.presets import HiddenChowLiuTuning
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import Fold

#: Keys of the seeds of starts and of groups of rows; 0 is that of the rows that are held out.
STARTS, GROUPS = 1, 2
#: What ``history_`` calls the steps.
TRIAL, ALL_ROWS = "another mixture", "fit to all rows"
#: Trees and most states of the mixture that is tried first.
FIRST_GROUPS, FIRST_STATES = 4, 8
#: Mixtures that are fitted. Where distinct rows have few cells, as many as take so many iterations of single trees.
TRIALS, SMALL_CELLS, SMALL_WORK, MOST_TRIALS = 8, 100_000, 4_000, 64
#: How many rows there are for every entry of the tables between hidden variables of what is tried first.
ROWS_PER_ENTRY = 12
#: Most entries of the tables between two hidden variables that a search arrives at: trees times states squared.
MOST_ENTRIES = 2_048


class Candidate(NamedTuple):
    """Settings of a mixture.

    They are the trees, states of their hidden variables, smoothing, whether edges are their own, and whether EM begins
    with states that stand for categories; see :func:`~pgmpy_latent.learners.density.begin.category_tables`.
    """

    n_groups: int
    n_states: int
    smoothing: float
    own_edges: bool
    by_category: bool = False


class Choices(NamedTuple):
    """What is tried of every setting, in ascending order."""

    n_groups: tuple[int, ...]
    n_states: tuple[int, ...]
    smoothing: tuple[float, ...]
    own_edges: tuple[bool, ...]
    by_category: tuple[bool, ...] = (False,)


@dataclass(frozen=True)
class MixtureTrial:
    """A mixture that was fitted.

    Attributes
    ----------
    candidate : Candidate
        Its settings.
    log_likelihood : float
        Of the held-out rows.
    n_iter : int
        Iterations of EM that led to it.
    mixture : TreeMixture
    rows, all_rows : arrays
        Log-likelihood of every distinct row that is held out, and of every one of the table.
    """

    candidate: Candidate
    log_likelihood: float
    n_iter: int
    mixture: TreeMixture
    rows: np.ndarray
    all_rows: np.ndarray


@dataclass(frozen=True)
class MixtureMemory:
    """What was tried, and which trials are averaged."""

    trials: tuple[MixtureTrial, ...]
    chosen: tuple[int, ...]

    @property
    def phase(self) -> str:
        """What the search is doing, for its progress bar."""
        last = self.trials[-1].candidate
        return f"{last.n_groups} trees, {last.n_states} states, smoothing {last.smoothing:g}"


def are_enough(trials: Sequence[MixtureTrial], n_cells: int) -> bool:
    """Tell whether so many mixtures were fitted as are usual for the number of cells in the distinct rows."""
    if n_cells > SMALL_CELLS:
        return len(trials) >= TRIALS
    work = sum(trial.n_iter * trial.candidate.n_groups for trial in trials)
    return len(trials) >= MOST_TRIALS or (work >= SMALL_WORK and len(trials) >= TRIALS)


def first_candidates(choices: Choices, smoothing: float, n_rows: float) -> tuple[Candidate, ...]:
    """Return the settings to begin with: several trees with few states, and one tree with many.

    Several trees have edges of their own first, and then those of the whole table. Hidden variables have so many states
    that there are twelve rows for every entry of the tables between two of them; at least the fewest of the choices.

    Parameters
    ----------
    choices : Choices
        What is tried.
    smoothing : float
        The nearest of the choices is taken.
    n_rows : float
        Total weight of the rows to learn from.

    Examples
    --------
    >>> choices = Choices((1, 2, 4, 8), (2, 4, 8, 16, 32), (0.1, 1.0), (False, True))
    >>> [(one.n_groups, one.n_states, one.own_edges) for one in first_candidates(choices, 1.0, 15_000)]
    [(4, 8, True), (4, 8, False), (1, 32, False)]
    >>> [(one.n_groups, one.n_states, one.own_edges) for one in first_candidates(choices, 1.0, 1_600)]
    [(4, 4, True), (4, 4, False), (1, 8, False)]
    """
    nearest = min(choices.smoothing, key=lambda value: abs(value - smoothing))
    found: dict[int, list[Candidate]] = {}
    for groups, most in ((FIRST_GROUPS, FIRST_STATES), (1, max(choices.n_states))):
        n_groups = max([n for n in choices.n_groups if n <= groups], default=choices.n_groups[0])
        enough = [n for n in choices.n_states if n <= most and n_groups * n**2 * ROWS_PER_ENTRY <= n_rows]
        n_states = max(enough, default=choices.n_states[0])
        edges = choices.own_edges[:1] if n_groups == 1 else choices.own_edges[::-1]
        found.setdefault(n_groups, [Candidate(n_groups, n_states, nearest, own_edges) for own_edges in edges])
    return tuple(candidate for candidates in found.values() for candidate in candidates)


def next_candidate(tried: Sequence[tuple[Candidate, float]], choices: Choices, first: Sequence[Candidate]) -> Candidate:
    """Return the settings to try next: neighbours of the best so far, and the best once more after each failure.

    The best settings have the highest mean over seeds, so that luck does not decide for long. Neighbours differ in one
    setting, by one step: more states, less smoothing, more trees, other edges, more smoothing, fewer trees, fewer
    states. After one that is not better, the best settings are repeated with another seed, since averages over seeds
    predict better than any of them; so they are when all neighbours were tried. Of both ways to begin, repeats take the
    one that these settings were tried with less often. One tree has edges of its own anyway. The tables between two
    hidden variables, of all trees together, have no more than ``MOST_ENTRIES``, since time grows with them.

    Examples
    --------
    >>> choices = Choices((2, 4), (8,), (1.0,), (True,))
    >>> start = Candidate(2, 8, 1.0, True)
    >>> next_candidate([(start, -5.0)], choices, [start])
    Candidate(n_groups=4, n_states=8, smoothing=1.0, own_edges=True, by_category=False)
    >>> next_candidate([(start, -5.0), (Candidate(4, 8, 1.0, True), -6.0)], choices, [start]) == start
    True
    """
    if len(tried) < len(first):
        return first[len(tried)]
    best = _best_settings(tried)
    known = [candidate._replace(by_category=best.by_category) for candidate, _ in tried]  # alike but for the start
    ways = [candidate.by_category for (candidate, _), alike in zip(tried, known, strict=True) if alike == best]
    again = best._replace(by_category=min(choices.by_category, key=ways.count))
    has_failed = known[-1] != best and known[-1] not in known[:-1]
    if has_failed and len(tried) > len(first):
        return again
    steps = (
        ("n_states", 1), ("smoothing", -1), ("n_groups", 1), ("own_edges", -1), ("own_edges", 1), ("smoothing", 1),
        ("n_groups", -1), ("n_states", -1),
    )  # fmt: skip
    for name, by in steps:
        values = getattr(choices, name)
        at = values.index(getattr(best, name)) + by
        if not 0 <= at < len(values) or (name == "own_edges" and best.n_groups == 1):
            continue
        candidate = best._replace(**{name: values[at]})
        if candidate not in known and candidate.n_groups * candidate.n_states**2 <= MOST_ENTRIES:
            return candidate
    return again


def _best_settings(tried: Sequence[tuple[Candidate, float]]) -> Candidate:
    """Return the settings with the highest mean, however EM began; with the way to begin that led highest.

    Examples
    --------
    >>> lucky, good = Candidate(1, 8, 1.0, False), Candidate(1, 4, 1.0, False)
    >>> _best_settings([(lucky, -4.0), (lucky, -9.0), (good, -5.0), (good._replace(by_category=True), -4.5)])
    Candidate(n_groups=1, n_states=4, smoothing=1.0, own_edges=False, by_category=True)
    """
    values: dict[Candidate, list[tuple[float, bool]]] = {}
    for candidate, value in tried:
        values.setdefault(candidate._replace(by_category=False), []).append((value, candidate.by_category))
    best = max(values, key=lambda settings: np.mean([value for value, _ in values[settings]]))
    return best._replace(by_category=max(values[best])[1])


def chosen_trials(rows: np.ndarray, weights: np.ndarray) -> tuple[tuple[int, ...], float]:
    """Choose which mixtures are averaged: the best one, and one after another those that make held-out rows likeliest.

    Of all these averages, the one of most mixtures is chosen that makes held-out rows no less likely than the best
    one does, up to the standard error of the difference: averages of many predict new rows better than a choice of few
    that suits the held-out rows.

    Parameters
    ----------
    rows : array, shape (n_trials, n_rows)
        Log-likelihood of every row under every mixture.
    weights : array, shape (n_rows,)
        Of the rows.

    Returns
    -------
    chosen : tuple of int
        Ascending.
    log_likelihood : float
        Of all rows, under the average.

    Examples
    --------
    >>> chosen_trials(np.log([[0.9, 0.1], [0.1, 0.8], [0.1, 0.1]]), np.ones(2))[0]
    (0, 1)
    """
    order, averages = _averages(rows, weights)
    values = averages @ weights
    best = int(np.argmax(values))
    losses = averages[best] - averages
    errors = np.sqrt(((losses - (losses @ weights / weights.sum())[:, None]) ** 2) @ weights)
    last = int(np.flatnonzero(values[best] - values <= errors)[-1])
    last = max(last, best)
    return tuple(sorted(order[: last + 1])), float(values[last])


def _averages(rows: np.ndarray, weights: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the order in which mixtures are added to an average, and log-likelihoods of rows under each average."""
    order: list[int] = []
    sums = np.full((len(rows) + 1, rows.shape[1]), -np.inf)
    for n_before in range(len(rows)):
        left = [at for at in range(len(rows)) if at not in order]
        candidates = np.logaddexp(sums[n_before], rows[left])
        at = int(np.argmax(candidates @ weights))
        sums[n_before + 1] = candidates[at]
        order.append(left[at])
    return order, sums[1:] - np.log(np.arange(1, len(rows) + 1))[:, None]


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
        return MixtureTrial(candidate, fit.verdict, fit.n_iter, mixture, rows, all_rows)

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
        chosen, score = chosen_trials(np.stack([trial.rows for trial in trials]), self.part.held_out.weights)
        mixture = average([trials[at].mixture for at in chosen])
        value = self._log_likelihood([trials[at].all_rows for at in chosen])
        return State(mixture, score, value, step, MixtureMemory(trials, chosen))

    def _log_likelihood(self, rows: Sequence[np.ndarray]) -> float:
        """Return the log-likelihood of the table under an average, given that of its rows under each mixture."""
        return float((logsumexp(rows, axis=0) - np.log(len(rows))) @ self.data.weights)

    def advance(self, state: State) -> Step:
        """Try the next mixture; fit those that are averaged to all rows if there is none."""
        trials = state.memory.trials
        if self._is_over(trials):
            return self.finish(state)
        tried = [(trial.candidate, trial.log_likelihood) for trial in trials]
        trial = self._trial(next_candidate(tried, self.choices, self.first), len(trials))
        new = self._with((*trials, trial), state.step + 1)
        if len(trials) in new.memory.chosen:
            return Step(new, TRIAL, len(trials))
        return Step(replace(state, memory=replace(state.memory, trials=new.memory.trials)))

    def _is_over(self, trials: Sequence[MixtureTrial]) -> bool:
        if self.n_trials is None:
            return are_enough(trials, self.part.learn.codes.size)
        return len(trials) >= self.n_trials

    def finish(self, state: State) -> Step:
        """Let the tables follow all rows, by a few iterations of EM; not if the judging rows are a table apart."""
        if self.has_own_table:
            return Step(replace(state, finished=True))
        mixtures, rows = zip(*(self._followed(state.memory.trials[at]) for at in state.memory.chosen), strict=True)
        mixture, value = average(mixtures), self._log_likelihood(rows)
        return Step(State(mixture, state.score, value, state.step + 1, state.memory, finished=True), ALL_ROWS, None)

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


def table_of(memory: MixtureMemory) -> pd.DataFrame:
    """Return a row for every trial."""
    return pd.DataFrame(
        [
            {
                **trial.candidate._asdict(),
                "log_likelihood": trial.log_likelihood,
                "n_iter": trial.n_iter,
                "n_parameters": trial.mixture.n_parameters,
                "averaged": number in memory.chosen,
            }
            for number, trial in enumerate(memory.trials)
        ]
    )
