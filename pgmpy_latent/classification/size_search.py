"""How many latents and components? By cross-validated accuracy within the training data (the wrapper)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgmpy_latent.classification.inputs import Fold, Folds
from pgmpy_latent.classification.learn import Recipe, learn
from pgmpy_latent.classification.rows import Training, fold_weightings
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, time_left
from pgmpy_latent.runtime.warn import warn

#: Sizes that may be tried; every second number of latents, and these numbers of components, belong to the first look.
LATENTS = (1, 2, 3, 4, 6, 9, 13, 19, 28, 40, 60, 90, 120)
COMPONENTS = (1, 2, 3, 5, 10, 20, 40)
FIRST_COMPONENTS = (1, 3, 10)
#: The numbers of components that are tried if all sizes are.
EVERY_COMPONENTS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 35, 40)
#: Numbers of latents that may pass without a better accuracy before the first look ends.
PATIENCE = 2
#: Sizes whose neighbours are tried next, and how many such trials there are at most.
LEADERS, NEIGHBOURS = 3, 20
#: Restarts of a trial, and where its EM ends at the earliest: which size is best shows before EM is at its end.
TRIAL_STARTS, TRIAL_TOL = 8, 1e-2
#: Sizes that are compared again on other folds, round by round, and on how many draws of folds.
ROUNDS = ((8, 2), (4, 4))
#: Multiplications, roughly, that may be spent on the first look, on it and the neighbours, and in all.
BUDGETS = (0.6e10, 1.0e10, 1.8e10)
#: The largest share of the first budget that a single trial of the first look may take.
TOO_DEAR = 0.2
#: Most latents of the model for which there is no time to compare sizes.
GUESS = 9
#: Share of a time limit that is reserved for the last fit.
LAST_SHARE = 0.3
#: The largest log-loss that a row can have: more confident wrong predictions cost no more.
WORST = 20.0


@held_by_checkpoints("trial of sizes")
@dataclass(frozen=True)
class Trial:
    """How well a size did on one draw of folds.

    Attributes
    ----------
    accuracies : array, shape (folds,)
    masses : array, shape (folds,)
        Weights of the rows that were tested.
    log_loss : float
        Mean over rows.
    work : float
        Multiplications, roughly.
    seconds : float
    """

    accuracies: np.ndarray
    masses: np.ndarray
    log_loss: float
    work: float
    seconds: float

    @property
    def accuracy(self) -> float:
        """Share of rows that were predicted well."""
        return float(self.accuracies @ self.masses / self.masses.sum())


def try_size(
    rows: Training,
    folds: Sequence[Fold],
    shape: tuple[int, int],
    recipe: Recipe,
    seed: int,
    clock: Clock,
) -> Trial:
    """Learn from all folds but one, and test on that one; raise what stopped the learning early."""
    began = time.perf_counter()
    learning, testing = fold_weightings(rows, folds)
    n_starts = TRIAL_STARTS if recipe.trial_starts is None else recipe.trial_starts
    if recipe.trial_starts is None:
        recipe = replace(recipe, tol=max(recipe.tol, TRIAL_TOL))
    learned = learn(rows, learning, shape, recipe, n_starts, seed, clock)
    if learned.interrupted:
        clock.note_stop()
        raise clock.stop_signal()
    masses = testing.sum(axis=1)
    right = learned.log_joint.argmax(axis=-1) == rows.labels
    log_chances = learned.log_joint - np.logaddexp.reduce(learned.log_joint, axis=-1, keepdims=True)
    log_chances_of_class = np.take_along_axis(log_chances, rows.labels[None, :, None], axis=-1)[..., 0]
    losses = np.minimum(-log_chances_of_class, WORST)
    return Trial(
        accuracies=(right * testing).sum(axis=1) / masses,
        masses=masses,
        log_loss=float((losses * testing).sum() / masses.sum()),
        work=work_of(rows, shape, recipe) * len(folds) * n_starts,
        seconds=time.perf_counter() - began,
    )


def work_of(rows: Training, shape: tuple[int, int], recipe: Recipe) -> float:
    """Return the multiplications of EM for one model, roughly.

    Thirty iterations, of which two thirds fall away because most restarts are given up early. Learning edges means EM
    again, and systems of equations for every attribute.
    """
    latents, components = shape
    n_rows, attributes = rows.table.shape
    inner = min(latents, attributes)
    by_row = n_rows * inner * (attributes + 2 * inner) + rows.n_ragged * latents**2 * (attributes + latents)
    by_class = rows.n_classes * inner * (inner**2 + inner * latents + latents**2)
    for_edges = 0 if recipe.edges is None else by_row + 2 * attributes * latents**3
    return 10.0 * components * (by_row + by_class + latents**3 + for_edges)


def most_rows(n_attributes: int) -> int:
    """Return how many rows are enough to compare sizes on: with more, too few sizes could be compared.

    Examples
    --------
    >>> most_rows(3), most_rows(20)
    (9259, 1000)
    """
    inner = min(n_attributes, GUESS)
    dear = 10.0 * FIRST_COMPONENTS[1] * inner * (n_attributes + 2 * inner) * TRIAL_STARTS * 5
    return max(1_000, int(BUDGETS[2] / 60 / dear))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


@dataclass
class Wrapper:
    """The search for sizes.

    Attributes
    ----------
    rows : Training
    folds : Folds
        Draws folds.
    recipe : Recipe
    seed : int
    clock : Clock
    n_jobs : int or None
    show_progress : bool
    trials : dict
        Sizes -> their trials.
    memo : Memo, optional
        Knows trials of a run that was killed.
    """

    rows: Training
    folds: Folds
    recipe: Recipe
    seed: int
    clock: Clock
    n_jobs: int | None = None
    show_progress: bool = False
    trials: dict[tuple[int, int], list[Trial]] = field(default_factory=dict)
    memo: Memo = field(default_factory=Memo)

    def search(self, n_latents: int | None, n_components: int | None) -> tuple[tuple[int, int], pd.DataFrame]:
        """Return the best sizes, and a table of all that were tried.

        Parameters
        ----------
        n_latents, n_components : int, optional
            Sizes that are given.
        """
        self._draws: dict[int, list[Fold]] = {0: self.folds.draw(0)}
        self._set_grid(n_latents, n_components)
        with tqdm(
            disable=not self.show_progress, delay=PROGRESS_DELAY, unit=" sizes", desc="sizes", leave=False
        ) as self._bar:
            try:
                if self.recipe.trial_starts is not None:
                    self._look_at_all()
                else:
                    self._first_look()
                    self._look_closer()
                    self._compare_again()
            except STOP_SIGNALS as stop:
                self.clock.note_stop(stop)
        if not self.trials:
            return self._guess(), self.table()
        return self._best(1)[0], self.table()

    def _guess(self) -> tuple[int, int]:
        """Return sizes for when no time was left to compare any: those of a linear model."""
        most = min(self.rows.table.shape[1], GUESS)
        components = self._components[0]
        some = [q for q in self._latents if q <= most and self._allowed((q, components))] or self._latents[:1]
        shape = some[-1], components
        warn(
            f"no sizes could be compared before the end; n_latents={shape[0]} and n_components={shape[1]} are a guess. "
            "Give more time, or sizes.",
            UserWarning,
        )
        return shape

    def _set_grid(self, n_latents: int | None, n_components: int | None) -> None:
        most = self.rows.table.shape[1] * self.rows.n_classes
        latents = sorted({*(q for q in LATENTS if q <= most), min(most, LATENTS[-1])})
        components = list(COMPONENTS)
        if self.recipe.trial_starts is not None:
            latents, components = list(range(1, most + 1)), list(EVERY_COMPONENTS)
        self._latents = latents if n_latents is None else [int(n_latents)]
        self._components = components if n_components is None else [int(n_components)]

    def _look_at_all(self) -> None:
        """Try every size that is allowed; if greedy, as long as more latents are better."""
        by_latents = [[(q, m) for m in self._components if self._allowed((q, m))] for q in self._latents]
        if not self.recipe.greedy:
            self._try([shape for shapes in by_latents for shape in shapes], 0)
            return
        before = -np.inf
        for shapes in filter(None, by_latents):
            self._try(shapes, 0)
            best = max(self._value(shape)[0] for shape in shapes)
            if best <= before:
                return
            before = best

    def _allowed(self, shape: tuple[int, int]) -> bool:
        return shape[0] * shape[1] <= self._n_learning or shape == (self._latents[0], self._components[0])

    def _first_look(self) -> None:
        """Greedy in the number of latents, each as good as its best number of components; few sizes, far apart."""
        components = [m for m in self._components if m in FIRST_COMPONENTS] or self._components[:1]
        best, waited = -np.inf, 0
        for number in sorted({*self._latents[::2], self._latents[-1]}):
            shapes = [(number, m) for m in components if self._allowed((number, m)) and not self._too_dear((number, m))]
            self._try(shapes, 0)
            value = max((self._value(shape)[0] for shape in shapes), default=-np.inf)
            best, waited = (value, 0) if value > best else (best, waited + 1)
            if waited >= PATIENCE:
                break
            if self._spent() > BUDGETS[0]:
                self._warn_of_the_end(number, rising=waited == 0)
                break

    def _warn_of_the_end(self, number: int, rising: bool) -> None:
        """Say that more latents might be better, where the work that is allowed ended the search while they were."""
        if rising and number < self._latents[-1]:
            warn(
                f"accuracy still rose with {number} latents, where the search for sizes ends because larger ones take "
                "long; try n_latents above that, with n_components=1 or a few",
                UserWarning,
            )

    def _too_dear(self, shape: tuple[int, int]) -> bool:
        cost = work_of(self.rows, shape, self.recipe) * len(self._draws[0]) * TRIAL_STARTS
        return bool(self.trials) and cost > TOO_DEAR * BUDGETS[0]

    def _look_closer(self) -> None:
        """Try the neighbours of the best sizes, until the best have no neighbours left."""
        tried = 0
        while tried < NEIGHBOURS and self._spent() < BUDGETS[1]:
            near = [shape for leader in self._best(LEADERS) for shape in self._neighbours(leader)]
            near = [shape for shape in dict.fromkeys(near) if shape not in self.trials]
            if not near:
                return
            self._try(near, 0)
            tried += len(near)

    def _neighbours(self, shape: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the sizes next to one, in either direction."""
        row, column = self._latents.index(shape[0]), self._components.index(shape[1])
        places = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
        inside = [(i, j) for i, j in places if 0 <= i < len(self._latents) and 0 <= j < len(self._components)]
        return [shape for i, j in inside if self._allowed(shape := (self._latents[i], self._components[j]))]

    @property
    def _n_learning(self) -> int:
        return min(len(learn) for learn, _ in self._draws[0])

    def _compare_again(self) -> None:
        """Compare the best sizes again, on other folds."""
        if not self.folds.renewable:
            return
        repeat = 1
        for kept, draws in ROUNDS:
            for _ in range(draws):
                if self._spent() > BUDGETS[2]:
                    return
                self._try(self._best(kept), repeat)
                repeat += 1

    def _best(self, kept: int) -> list[tuple[int, int]]:
        """Return the best of the sizes that were compared most often, smaller ones first where they are equal."""
        most = max(len(trials) for trials in self.trials.values())
        leading = [shape for shape, trials in self.trials.items() if len(trials) == most]
        order = sorted(
            leading, key=lambda shape: (*(-value for value in self._value(shape)), shape[0] * shape[1], shape)
        )
        return order[:kept]

    def _value(self, shape: tuple[int, int]) -> tuple[float, float]:
        """Return accuracy and log-likelihood of the true classes, over all trials of a size."""
        trials = self.trials[shape]
        return (
            round(float(np.mean([trial.accuracy for trial in trials])), 9),
            -float(np.mean([trial.log_loss for trial in trials])),
        )

    def _spent(self) -> float:
        return sum(trial.work for trials in self.trials.values() for trial in trials)

    def _try(self, shapes: Sequence[tuple[int, int]], repeat: int) -> None:
        """Try several sizes on one draw of folds."""
        if repeat not in self._draws:
            self._draws[repeat] = self.folds.draw(repeat)
        folds = self._draws[repeat]
        names = {shape: f"trial {shape[0]} {shape[1]} {repeat}" for shape in shapes}
        known = self.memo.entries
        done = {shape: self._recalled(known[name], folds) for shape, name in names.items() if name in known}
        left = [shape for shape in names if shape not in done]
        seed = self.seed + repeat
        work = partial(try_size, self.rows, folds, recipe=self.recipe, seed=seed, clock=self.clock)
        try:
            for at, trial in parallel.as_completed(work, left, self.n_jobs, self.clock):
                done[left[at]] = trial
                self.memo.note(names[left[at]], trial)
        finally:  # what was finished before an interrupt counts, but no size may win for having been tried once more
            for shape in shapes:
                if shape in done and (repeat == 0 or len(done) == len(shapes)):
                    self.trials.setdefault(shape, []).append(done[shape])
        best = self._best(1)[0]
        self._bar.set_postfix_str(
            f"{_counted(best[0], 'latent')}, {_counted(best[1], 'component')}: accuracy {self._value(best)[0]:.3f}"
            + time_left(self.clock.seconds_left),
            refresh=False,
        )
        self._bar.update(len(shapes))

    def _recalled(self, trial: object, folds: Sequence[Fold]) -> Trial:
        """Return a trial out of the memo; raise if it cannot be one on these folds."""
        with self.memo.checking():
            if not isinstance(trial, Trial):
                raise ValueError("it holds no trial where one should be")
            for values in (trial.accuracies, trial.masses):
                if values.shape != (len(folds),) or values.dtype != np.float64 or not (values >= 0).all():
                    raise ValueError(f"a trial in it is not one on {len(folds)} folds")
            if not (trial.accuracies <= 1).all():
                raise ValueError("a trial in it was right about more rows than there were")
            for name in ("log_loss", "work", "seconds"):
                value = getattr(trial, name)
                if type(value) is not float or not 0 <= value < np.inf:
                    raise ValueError(f"a trial in it has {value!r} as its {name!r}")
            return trial

    def table(self) -> pd.DataFrame:
        """Return one row for every size that was tried, the best of those compared most often first."""
        columns = ["n_latents", "n_components", "accuracy", "standard_error", "log_loss", "n_trials", "seconds"]
        entries = []
        for (latents, components), trials in self.trials.items():
            folds = np.concatenate([trial.accuracies for trial in trials])
            accuracy, negative_loss = self._value((latents, components))
            error = float(folds.std(ddof=1) / np.sqrt(len(folds))) if len(folds) > 1 else np.nan
            seconds = sum(trial.seconds for trial in trials)
            entries.append((latents, components, accuracy, error, -negative_loss, len(trials), seconds))
        table = pd.DataFrame(entries, columns=columns)
        table["size"] = table["n_latents"] * table["n_components"]
        keys = ["n_trials", "accuracy", "log_loss", "size", "n_latents"]
        table = table.sort_values(keys, ascending=[False, False, True, True, True], ignore_index=True)
        return table.drop(columns="size")
