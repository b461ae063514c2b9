"""One step: the logit of the class and all tables together, by the EM of the project.

The distinct rows of covariates are the states of an observed node above the class, and the table of the class given
that node is log-linear. The log-likelihood is that of the columns given the covariates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from pgmpy_latent.diagnostics import information_matrix as fisher
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.constraints import Constraints
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import network_engine
from pgmpy_latent.model.network import reordered_tables
from pgmpy_latent.relations.logit import LogitPart
from pgmpy_latent.relations.rows import RelatedRows
from pgmpy_latent.relations.step_one import EMPTY, TOLERANCE, StepOne, inverse_information
from pgmpy_latent.runtime.clock import Clock, TimeLimitReached

#: Share of the random starts that goes on after 1, 3, 7, ... iterations: one in this many.
NARROWING = 2.0
#: Log-likelihood that a smaller model may leave to gain, which its test is off by at most twice.
SMALLER_TOLERANCE = 1e-5


class Starts(NamedTuple):
    """Where EM begins, and with what.

    Attributes
    ----------
    n_starts : int
        Number of starts.
    entropy : int
        Seed of those that are random.
    n_jobs : int, optional
        Threads that share them.
    prior : float
        Pseudo-count of every entry of the tables of the columns; a logit has none.
    clock : Clock, optional
        Ends EM with its best tables so far.
    """

    n_starts: int = 1
    entropy: int = 0
    n_jobs: int | None = None
    prior: float = 0.0
    clock: Clock | None = None


@dataclass(frozen=True, eq=False)
class OneStep:
    """The model of columns and class given covariates, for the rows of a table.

    Attributes
    ----------
    rows : RelatedRows
        The rows, and the model of the columns.
    part : LogitPart
        The logit of the class.
    """

    rows: RelatedRows
    part: LogitPart

    @cached_property
    def engine(self) -> RowEngine:
        """For the columns, the class, and the distinct rows of covariates above it, which come last."""
        network, node = self.rows.network, self.rows.node
        parents = [*network.parents, ()]
        parents[node] = (len(network.names),)
        cards = [*network.cards.tolist(), len(self.rows.z)]
        return network_engine([*network.names, self.rows.pattern_name], parents, cards, self.rows.data)

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of the distinct rows of covariates."""
        weights = np.bincount(self.rows.pattern, self.rows.weights, minlength=len(self.rows.z))
        return weights / weights.sum()

    @cached_property
    def constraints(self) -> Constraints:
        """The logit of the class; the shares of the covariates are known."""
        layout = self.engine.layout
        fixed = np.full(layout.size, np.nan)
        fixed[layout.slices[-1]] = self.shares
        return Constraints(layout, fixed=fixed, log_linear={self.rows.node: self.part.family})

    def tables(self, measured: list[np.ndarray], theta: np.ndarray) -> np.ndarray:
        """Return flat tables: those of the columns given the class, and of the class given covariates."""
        measured = [*measured, self.shares[None]]
        measured[self.rows.node] = self.part.family.tables(theta)
        return self.engine.layout.pack(measured)

    def log_likelihood(self, tables: np.ndarray) -> float:
        """Return the log-likelihood of the columns given the covariates."""
        total = self.rows.weights.sum()
        return float(self.engine.log_likelihood(tables) - total * xlogy(self.shares, self.shares).sum())

    def fitted(self, starts: np.ndarray, settings: Starts, tolerance: float = TOLERANCE) -> em.Fit:
        """Maximise the likelihood by EM from the given tables."""
        layout = self.engine.layout
        of_columns = ~np.isin(layout.table_of_entry, [self.rows.node, layout.n_tables - 1])
        prior = np.where(of_columns, settings.prior, 0.0) if settings.prior else 0.0
        return em.fit(
            self.engine,
            starts,
            prior=prior,
            atol=tolerance,
            narrowing=NARROWING if len(starts) > 1 else None,
            constraints=self.constraints,
            n_jobs=settings.n_jobs,
            clock=settings.clock,
        )

    def best(self, step_one: StepOne, settings: Starts) -> tuple[np.ndarray, bool]:
        """Return the best tables of several starts, and whether EM came to its end.

        The first start is step one with a logit of its posteriors.
        """
        posteriors = step_one.posteriors(step_one.tables)
        theta = self.part.start(posteriors, self.rows.weights)
        layout = step_one.engine.layout
        starts = [self.tables(layout.unpack(step_one.tables), theta)]
        for number in range(1, settings.n_starts):
            rng = np.random.default_rng(np.random.SeedSequence(settings.entropy, spawn_key=(number,)))
            starts.append(self.tables(layout.unpack(random_tables(layout, rng)), np.zeros_like(theta)))
        found = self.fitted(np.stack(starts), settings)
        tables = found.tables if settings.n_starts == 1 else self._in_order(found.tables, posteriors)
        return tables, not found.interrupted

    def _in_order(self, tables: np.ndarray, posteriors: np.ndarray) -> np.ndarray:
        """Return the same model with its classes in the order of step one, by the weight of rows that are in both."""
        (found,) = self.engine.beliefs(tables, [self.rows.node])
        _, order = linear_sum_assignment((self.rows.weights[:, None] * posteriors).T @ found, maximize=True)
        layout, node = self.engine.layout, self.rows.node
        parents = [*self.rows.network.parents, ()]
        parents[node] = (len(parents) - 1,)
        return layout.pack(reordered_tables(layout.unpack(tables), parents, {node: order}))

    def measured(self, tables: np.ndarray) -> list[np.ndarray]:
        """Return the tables of the model of the columns; classes have their mean sizes."""
        found = self.engine.layout.unpack(tables)[:-1]
        sizes = self.shares[None] @ found[self.rows.node]
        found[self.rows.node] = sizes / sizes.sum()
        return found

    def without(self, terms: np.ndarray, tables: np.ndarray, step_one: StepOne, settings: Starts) -> float:
        """Return the log-likelihood of the model without some terms, by EM from the tables of the whole one.

        Without any covariate it is that of step one.
        """
        if terms[1:].all():
            return float(step_one.engine.log_likelihood(step_one.tables))
        part = LogitPart(self.part.matrix[:, ~terms], self.part.pattern, self.part.n_classes, self.part.reference)
        smaller = OneStep(self.rows, part)
        found = smaller.constraints.project(tables)
        fit = smaller.fitted(found[None], settings, SMALLER_TOLERANCE)
        if fit.interrupted:
            raise KeyboardInterrupt if settings.clock is None or not settings.clock.is_up else TimeLimitReached
        return smaller.log_likelihood(fit.tables)

    def theta(self, tables: np.ndarray) -> np.ndarray:
        """Return the coefficients of the logit."""
        return self.part.family.parameters(self.engine.layout.unpack(tables)[self.rows.node])


@dataclass(frozen=True, eq=False)
class OneStepParameters:
    """All parameters of the one-step model at its maximum: logits of the tables of the columns, then coefficients.

    Has what :func:`pgmpy_latent.diagnostics.information_matrix.information` asks of coordinates.

    Attributes
    ----------
    model : OneStep
        The model.
    at : array, shape (size,)
        The tables at the maximum.
    """

    model: OneStep
    at: np.ndarray

    @cached_property
    def counts(self) -> np.ndarray:
        """Expected counts at the maximum."""
        return self.model.engine.expected_counts(self.at)[1]

    @cached_property
    def columns(self) -> fisher.Coordinates:
        """The parameters of the tables of the columns."""
        layout = self.model.engine.layout
        unknown = layout.row_sums(self.counts) <= EMPTY * self.model.engine.total_weight
        elsewhere = np.isin(layout.table_of_entry, [self.model.rows.node, layout.n_tables - 1])
        fixed = fisher.at_the_boundary(layout, self.at, self.counts) | unknown | elsewhere
        return fisher.Coordinates(layout, self.at, fixed)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return self.columns.n_parameters + len(self.theta)

    @cached_property
    def theta(self) -> np.ndarray:
        """The coefficients."""
        return self.model.theta(self.at)

    def moved(self, step: float) -> Iterator[np.ndarray]:
        """Yield the tables with each of the parameters in turn raised by a step."""
        yield from self.columns.moved(step)
        place = self.model.engine.layout.slices[self.model.rows.node]
        for at in range(len(self.theta)):
            theta = self.theta.copy()
            theta[at] += step
            tables = self.at.copy()
            tables[place] = self.model.part.family.tables(theta).ravel()
            yield tables

    def gradient(self, tables: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the gradient of the log-likelihood: (..., n_parameters), from expected counts at some tables."""
        place, family = self.model.engine.layout.slices[self.model.rows.node], self.model.part.family
        shares = tables[..., place].reshape(*tables.shape[:-1], *family.shape)
        found = counts[..., place].reshape(shares.shape)
        excess = found - shares * found.sum(axis=-1, keepdims=True)
        of_theta = excess.reshape(*tables.shape[:-1], -1) @ family.log_linear.centred
        return np.concatenate([self.columns.gradient(tables, counts), of_theta], axis=-1)

    def covariance(self) -> np.ndarray:
        """Return the covariance of the coefficients: by the information, or by the sandwich if rows have a design."""
        engine = self.model.engine
        curvature = fisher.information(em.Problem(engine), self)
        inverse = inverse_information(curvature, self._whitening())
        design = self.model.rows.data.design
        if design is not None:
            scatter = design.scatter(fisher.row_scores(engine, self))
            inverse = inverse @ scatter @ inverse
        return inverse[self.columns.n_parameters :, self.columns.n_parameters :]

    def _whitening(self) -> np.ndarray:
        """Return the matrix that gives complete rows the identity as information."""
        place, family = self.model.engine.layout.slices[self.model.rows.node], self.model.part.family
        shares = self.at[place].reshape(family.shape)
        totals = self.counts[place].reshape(family.shape).sum(axis=1, keepdims=True)
        centred = family.log_linear.centred
        lines = centred.reshape(*family.shape, -1)
        means = (shares[:, :, None] * lines).sum(axis=1)
        complete = centred.T @ ((totals * shares).reshape(-1, 1) * centred)
        complete -= (totals * means).T @ means
        values, vectors = np.linalg.eigh(complete)
        lifted = np.maximum(values, fisher.NOTHING * values.max())
        return block_diag(self.columns.whitening(self.counts), (vectors / np.sqrt(lifted)) @ vectors.T)
