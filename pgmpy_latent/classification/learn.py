"""One model of given numbers of latents and components: starts, EM, edges, and the choice of the best result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from pgmpy_latent.classification.edges import learned_edges
from pgmpy_latent.classification.em import Ended, Problem, expected, log_penalty, parts_of, run_em, sum_of
from pgmpy_latent.classification.model import Parameters, log_densities
from pgmpy_latent.classification.rows import Training
from pgmpy_latent.classification.starts import draw_starts
from pgmpy_latent.em.step import best_of_groups
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock

#: Most times that edges are learned anew after EM.
EDGE_ROUNDS = 4
#: Rows that a class borrows from the others in models of one component. With several components, which tell classes
#: apart by their shares, borrowing did not help. And where all classes have the same variances, latents can be rotated
#: at will: no edge is better than another.
SHRINKAGE = 20.0


@dataclass(frozen=True)
class Recipe:
    """How a model is learned once its shape is known.

    Attributes
    ----------
    tied, offset, noise_floor
        See :class:`~pgmpy_latent.classification.em.Problem`.
    shrinkage : float or None
        The same; None: 20 for models of one component that have all edges, and 0 for others.
    edges : {None, "shared", "separate"}
        Whether edges are learned, and whether all components have the same.
    select : {"accuracy", "likelihood"}
        What decides among restarts, on the rows they were learned from.
    max_iter, tol, relative
        Where EM ends; see :func:`~pgmpy_latent.classification.em.run_em`.
    thinning : bool
        Whether most restarts are given up early.
    trial_starts : int or None
        Restarts where sizes are compared, if all sizes are, with EM to its end; None: few sizes are compared, with few
        restarts and EM that ends early.
    greedy : bool
        Whether "all sizes" ends with the first number of latents that is no better than the one before.
    """

    tied: bool = True
    offset: bool = True
    noise_floor: float = 1e-2
    shrinkage: float | None = None
    edges: str | None = None
    select: str = "accuracy"
    max_iter: int = 100
    tol: float = 3e-3
    relative: bool = False
    thinning: bool = True
    trial_starts: int | None = None
    greedy: bool = False

    def shrinkage_of(self, n_components: int) -> float:
        """Return how many rows classes borrow from each other in models of so many components."""
        if self.shrinkage is not None:
            return self.shrinkage
        return SHRINKAGE if n_components == 1 and self.edges is None else 0.0


class _Limits(TypedDict):
    """Where EM ends: options of :func:`~pgmpy_latent.classification.em.run_em`."""

    max_iter: int
    tol: float
    relative: bool
    clock: Clock | None


@held_by_checkpoints("classifiers")
@dataclass(frozen=True)
class Learned:
    """The best model of each weighting.

    Attributes
    ----------
    models : Parameters
        One per weighting.
    log_likelihoods, accuracies : arrays, shape (weightings,)
        On the rows that were learned from; the likelihood is without the penalty of classes that disagree.
    log_joint : array, shape (weightings, n_distinct, classes)
        log P(class, attributes) of every row, whether it was learned from or not; empty in checkpoints.
    edges : bool array or None
    traces : tuple of tuple of float
        What EM maximises, at every iteration since the edges were settled.
    interrupted : bool
        Whether Ctrl-C or the clock ended EM early.
    """

    models: Parameters
    log_likelihoods: np.ndarray
    accuracies: np.ndarray
    log_joint: np.ndarray
    edges: np.ndarray | None
    traces: tuple[tuple[float, ...], ...]
    interrupted: bool


def learn(
    rows: Training,
    weightings: np.ndarray,
    shape: tuple[int, int],
    recipe: Recipe,
    n_starts: int,
    seed: int,
    clock: Clock | None = None,
) -> Learned:
    """Learn a model for each of several weightings of the rows.

    Parameters
    ----------
    rows : Training
    weightings : array, shape (weightings, n_distinct)
    shape : (int, int)
        Numbers of latents and of components.
    recipe : Recipe
    n_starts : int
        Starts for each weighting.
    seed : int
    clock : Clock, optional
        Ends learning where it is when its time is up, as Ctrl-C does.
    """
    shrinkage = recipe.shrinkage_of(shape[1])
    problem = Problem(rows.by_class, weightings, recipe.tied, recipe.offset, recipe.noise_floor, shrinkage)
    starts, numbers = draw_starts(rows, weightings, shape, n_starts, seed, offset=recipe.offset)
    limits: _Limits = {
        "max_iter": recipe.max_iter, "tol": recipe.tol, "relative": recipe.relative, "clock": clock
    }  # fmt: skip
    choice = _Choice(rows, weightings, recipe.select)
    stages = thinning(n_starts) if recipe.thinning else []
    ended = run_em(problem, starts, numbers, stages=stages, judge=choice.worth, **limits)
    if recipe.edges is not None:
        ended = _with_edges(problem, ended, recipe.edges == "shared", limits)
    learned = choice.best(ended)
    return replace(learned, log_likelihoods=learned.log_likelihoods - log_penalty(problem, learned.models))


def thinning(n_starts: int) -> list[tuple[int, int]]:
    """Return (iterations, models kept afterwards): half after 10 iterations, a quarter after 20, at least four.

    Examples
    --------
    >>> thinning(20), thinning(4)
    ([(10, 10), (10, 5)], [])
    """
    stages, n_left = [], n_starts
    for share in (2, 4):
        fewer = max(4, -(-n_starts // share))
        if fewer < n_left:
            stages.append((10, fewer))
        n_left = fewer
    return stages


def _with_edges(problem: Problem, ended: Ended, shared: bool, limits: _Limits) -> Ended:
    """Alternate between edges, learned from the expected sums, and EM with them, until they stay (structural EM)."""
    edges: np.ndarray = np.ones(ended.models.loadings.shape, bool)
    for _ in range(EDGE_ROUNDS):
        if ended.interrupted:
            break
        try:
            _, by_class = expected(problem, ended.models, ended.numbers)
            new = learned_edges(sum_of(by_class), edges, shared, problem.offset)
        except STOP_SIGNALS:
            return replace(ended, interrupted=True)
        if ended.edges is not None and (new == edges).all():
            break
        ended = run_em(problem, without(ended.models, new), ended.numbers, edges=new, **limits)
        if ended.edges is not None:  # models come in another order
            edges = ended.edges
    return ended


def without(models: Parameters, edges: np.ndarray) -> Parameters:
    """Return models whose loadings are zero where there is no edge."""
    loadings = np.where(edges, models.loadings, 0.0)
    return Parameters(models.log_weights, models.means, models.variances, loadings, models.offsets, models.noise)


@dataclass(frozen=True)
class _Choice:
    """How models of the same shape are compared, on the rows they were learned from.

    The most likely restart is often not the best classifier. With many components, choosing by accuracy gains more
    than running EM further.
    """

    rows: Training
    weightings: np.ndarray
    select: str

    def log_joint(self, models: Parameters, numbers: np.ndarray) -> np.ndarray:
        """Return log P(class, attributes) of every row: (models, n_distinct, classes)."""
        rows = self.rows
        parts = parts_of(models, len(rows.table))
        logs = [log_densities(models.take(part), rows.groups, len(rows.table)) for part in parts]
        return np.concatenate(logs) + np.log(rows.class_shares(self.weightings))[numbers][:, None, :]

    def accuracy(self, log_joint: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the share of rows that each model predicts well, of those it was learned from."""
        weights = self.weightings[numbers]
        return ((log_joint.argmax(axis=-1) == self.rows.labels) * weights).sum(axis=1) / weights.sum(axis=1)

    def worth(self, models: Parameters, numbers: np.ndarray, log_likelihoods: np.ndarray) -> np.ndarray:
        """Return a number for each model, the larger the better; between equal accuracies the likelihood decides."""
        if self.select == "likelihood":
            return log_likelihoods
        return self._ranked(self.accuracy(self.log_joint(models, numbers), numbers), log_likelihoods)

    @staticmethod
    def _ranked(accuracies: np.ndarray, log_likelihoods: np.ndarray) -> np.ndarray:
        """Return the place of each model, from worst to best."""
        places = np.empty(len(accuracies))
        places[np.lexsort((log_likelihoods, accuracies))] = np.arange(len(accuracies))
        return places

    def best(self, ended: Ended) -> Learned:
        """Return the best model of each weighting."""
        log_joint = self.log_joint(ended.models, ended.numbers)
        accuracies = self.accuracy(log_joint, ended.numbers)
        likely = self.select == "likelihood"
        worth = ended.log_likelihoods if likely else self._ranked(accuracies, ended.log_likelihoods)
        best = best_of_groups(worth, ended.numbers, 1)
        return Learned(
            ended.models.take(best),
            ended.log_likelihoods[best],
            accuracies[best],
            log_joint[best],
            None if ended.edges is None else ended.edges[best],
            tuple(tuple(ended.traces[at]) for at in best),
            ended.interrupted,
        )
