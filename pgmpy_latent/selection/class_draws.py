"""Latent class models of tables that were drawn from one: what their log-likelihoods and misfits would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.diagnostics.goodness import deviance_and_pearson
from pgmpy_latent.diagnostics.resampling import Draws, drawn_from_model
from pgmpy_latent.em.constraints import Constraints, ordinal_families
from pgmpy_latent.em.fit import fit_groups
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.queries import tree_evidence
from pgmpy_latent.learners.local.directions import data_directions, random_star
from pgmpy_latent.learners.local.neighbourhood import star_model
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.star import Star, split, star_of
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.tables.encode import CategoricalData

#: Where EM ends on a drawn table. A p-value counts how often a drawn value reaches the observed one, up to what this
#: leaves open.
DRAW_TOL = 0.01
#: Most iterations of a start.
DRAW_ITERATIONS = 2_000
#: Random starts for a drawn table, beside the models that are known to be near. With 60 that all go on to their ends,
#: mean likelihood ratios of small tables came out 1 to 4 % larger, in three times the time.
RANDOM_STARTS = 12
#: Classes, the largest first, that are split to get a start for a larger model.
MOST_SPLITS = 6
#: How starts are thinned out: iterations, and starts of each table that go on.
STAGES = ((20, 8),)


@held_by_checkpoints("class draws")
@dataclass(frozen=True)
class Refit:
    """What was found on drawn tables, an entry per draw.

    Attributes
    ----------
    g2, x2 : arrays
        Misfit of the model they were drawn from, fitted anew; NaN where cells are missing.
    ratio : array or None
        Twice what the larger model gains in log-likelihood; None if there is no larger model.
    """

    g2: np.ndarray
    x2: np.ndarray
    ratio: np.ndarray | None

    @classmethod
    def joined(cls, parts: Sequence[Refit]) -> Refit:
        """Return the draws of several batches as one."""
        ratios = [part.ratio for part in parts if part.ratio is not None]
        return cls(
            np.concatenate([part.g2 for part in parts]),
            np.concatenate([part.x2 for part in parts]),
            np.concatenate(ratios) if ratios else None,
        )


def refitted(
    tree: LatentTree,
    larger: LatentTree | None,
    data: CategoricalData,
    seeds: Sequence[np.random.SeedSequence],
    prior: float,
    ordinal: Sequence[int] = (),
    clock: Clock | None = None,
) -> Refit:
    """Draw tables from a latent class model, and fit it and a larger one to each of them.

    Parameters
    ----------
    tree, larger : LatentTree
        Latent class models of the table, as EM left them; the larger one may be None.
    data : CategoricalData
        The table.
    seeds : sequence of SeedSequence
        One per draw.
    prior : float
        Dirichlet pseudo-count of every table entry.
    ordinal : sequence of int
        Numbers of the columns whose categories are ordered.
    clock : Clock, optional
        Checked before drawing; raises when its time is up.

    Returns
    -------
    Refit
    """
    if clock is not None:
        clock.check()
    generators = [np.random.default_rng(seed) for seed in seeds]
    with one_blas_thread():
        there = _Fits(drawn_from_model(tree, data, generators), prior, generators, ordinal)
        stars, logs = there.fit(there.starts_near(_star(tree)))
        g2, x2 = there.misfit(stars)
        if larger is None:
            return Refit(g2, x2, None)
        _, more = there.fit(there.starts_above(stars, _star(larger)))
    gain = more - logs if prior > 0 else np.maximum(more - logs, 0.0)  # a larger model contains the smaller one
    return Refit(g2, x2, 2 * gain)


def _star(tree: LatentTree) -> Star:
    return star_of(tree, int(np.flatnonzero(tree.latent)[0]))


class _Fits:
    """Latent class models of several drawn tables, in one batch.

    Parameters
    ----------
    draws : Draws
        The tables.
    prior : float
        Dirichlet pseudo-count of every table entry.
    generators : list of Generator
        One per table.
    ordinal : sequence of int
        Numbers of the columns whose categories are ordered.
    """

    def __init__(
        self,
        draws: Draws,
        prior: float,
        generators: Sequence[np.random.Generator],
        ordinal: Sequence[int] = (),
    ):
        data = draws.data
        self.draws = draws
        self.here = star_model(list(tree_evidence(data, data.columns).values()), data.weights)
        self.messages = self.here.messages[slice(None)]
        self.prior = prior
        self.generators = generators
        self.ordinal = ordinal

    def fit(self, starts: Sequence[Sequence[Star]]) -> tuple[list[Star], np.ndarray]:
        """Return the best model of every table, given some starts for each, and its log-likelihood."""
        n_states = starts[0][0].n_states
        engine = self.here.engine(n_states, self.draws.weights)
        flat = self.here.flat([star for stars_of_table in starts for star in stars_of_table])
        groups = np.repeat(np.arange(len(starts)), [len(stars_of_table) for stars_of_table in starts])
        tables, logs = fit_groups(
            engine,
            flat,
            groups,
            prior=self.prior,
            constraints=self._constraints(engine.layout),
            atol=DRAW_TOL,
            max_iter=DRAW_ITERATIONS,
            stages=STAGES,
        )
        return [self.here.star(stars_of_table, n_states) for stars_of_table in tables], logs

    def _constraints(self, layout: Layout) -> Constraints | None:
        """Return the constraints of ordered columns, whose tables come after that of the classes."""
        if not self.ordinal:
            return None
        return Constraints(layout, log_linear=ordinal_families(layout, [1 + column for column in self.ordinal]))

    def _random(self, star: Star, n_states: int) -> list[Star]:
        """Return random starts, from the rows of all tables: EM takes them elsewhere in each."""
        weights, rng = self.draws.data.weights, self.generators[0]
        return [random_star(star, n_states, self.messages, weights, rng) for _ in range(RANDOM_STARTS)]

    def starts_near(self, star: Star) -> list[list[Star]]:
        """Return starts for the model that the tables were drawn from: itself, and random ones."""
        more = self._random(star, star.n_states) if star.n_states > 1 else []  # one class has one maximum
        return [[star, *more]] * len(self.draws.weights)

    def starts_above(self, stars: Sequence[Star], larger: Star) -> list[list[Star]]:
        """Return starts for a larger model: splits of what was found, the model of the observed table, random ones."""
        more = [larger, *self._random(larger, larger.n_states)]
        return [[*self._splits(number, star, larger.n_states), *more] for number, star in enumerate(stars)]

    def _splits(self, number: int, star: Star, n_states: int) -> list[Star]:
        """Return models in which one class is split; where more classes are wanted, the largest half is split again."""
        rng = self.generators[number]
        starts = []
        belongs = self.here.posterior(star) * self.draws.weights[number][:, None]
        for state in np.argsort(-star.share, kind="stable")[:MOST_SPLITS].tolist():
            shift = data_directions(star, state, self.messages, belongs[:, state], 1, rng)[0]
            starts.append(split(star, state, shift))
        while starts[0].n_states < n_states:
            starts = [self._split_again(number, each) for each in starts]
        return starts

    def _split_again(self, number: int, star: Star) -> Star:
        state = int(np.argmax(star.share))
        belongs = self.here.posterior(star)[:, state] * self.draws.weights[number]
        return split(star, state, data_directions(star, state, self.messages, belongs, 1, self.generators[number])[0])

    def misfit(self, stars: Sequence[Star]) -> tuple[np.ndarray, np.ndarray]:
        """Return G² and X² of every table's model; NaN where cells are missing."""
        if self.draws.data.has_missing.any():
            return np.full(len(stars), np.nan), np.full(len(stars), np.nan)
        rows = self.here.engine(stars[0].n_states).row_log_likelihoods(self.here.flat(stars))
        return deviance_and_pearson(self.draws.weights, rows)
