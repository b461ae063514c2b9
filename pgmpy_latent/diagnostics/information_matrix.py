"""The observed information about every probability of a model, from gradients of the likelihood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Protocol

import numpy as np
from scipy.linalg import block_diag
from tqdm.auto import tqdm

from pgmpy_latent.em.fit import Problem
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.runtime.settings import PROGRESS_DELAY

#: A probability below the first number that stands for fewer rows than the second is at the boundary. EM comes closer
#: and closer to zero and never gets there.
SMALL, FEW_ROWS = 1e-3, 0.1
#: Step of the differences between gradients, on the scale of logits.
STEP = 1e-4
#: How many parameters are moved at once.
BATCH = 16
#: Share of the information of complete rows below which a direction counts as without information.
NOTHING = 1e-6
#: Share of a probability's direction that may lie in directions without information.
NEGLIGIBLE = 1e-4


class Parameters(Protocol):
    """Parameters that tables are functions of."""

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""

    def moved(self, step: float) -> Iterator[np.ndarray]:
        """Yield the tables with each of the parameters in turn raised by a step."""

    def gradient(self, tables: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the gradient of the log-likelihood: (..., n_parameters), from expected counts at some tables."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Free parameters of tables: for all but the largest of a row's entries, the logarithm of its ratio to the largest.

    Entries that are fixed keep their values, and the others of their row share what is left.

    Attributes
    ----------
    layout : Layout
        Where the tables lie.
    tables : array, shape (size,)
        Where the parameters are.
    fixed : bool array, shape (size,)
        Entries that do not move.

    Examples
    --------
    >>> coordinates = Coordinates(Layout([(1, 3)]), np.array([0.2, 0.5, 0.3]), np.array([False, False, False]))
    >>> coordinates.gradient(coordinates.tables, np.array([4.0, 5.0, 1.0])).tolist()
    [2.0, -2.0]
    """

    layout: Layout
    tables: np.ndarray
    fixed: np.ndarray

    @cached_property
    def groups(self) -> list[np.ndarray]:
        """For every row of every table that can change, its entries that are not fixed: the largest comes first."""
        groups = []
        free = np.add.reduceat(~self.fixed, self.layout.row_starts, dtype=np.int64)
        for row in np.flatnonzero(free > 1):
            start, length = self.layout.row_starts[row], self.layout.row_lengths[row]
            entries = start + np.flatnonzero(~self.fixed[start : start + length])
            largest = int(np.argmax(self.tables[entries]))
            groups.append(np.concatenate([entries[[largest]], np.delete(entries, largest)]))
        return groups

    @cached_property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return sum(len(group) - 1 for group in self.groups)

    def moved(self, step: float) -> Iterator[np.ndarray]:
        """Yield the tables with each of the parameters in turn raised by a step."""
        for group in self.groups:
            values = self.tables[group]
            for at in range(1, len(group)):
                raised = values.copy()
                raised[at] *= np.exp(step)
                tables = self.tables.copy()
                tables[group] = raised * (values.sum() / raised.sum())
                yield tables

    def gradient(self, tables: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the gradient of the log-likelihood: (..., n_parameters), from expected counts at some tables.

        The derivative by the logit of an entry is its count less its share of all counts of the row.
        """
        parts = [np.empty((*counts.shape[:-1], 0))]
        for group in self.groups:
            shares = tables[..., group] / tables[..., group].sum(axis=-1, keepdims=True)
            excess = counts[..., group] - shares * counts[..., group].sum(axis=-1, keepdims=True)
            parts.append(excess[..., 1:])
        return np.concatenate(parts, axis=-1)

    def whitening(self, counts: np.ndarray) -> np.ndarray:
        """Return the matrix that transforms parameters so that complete rows have the identity as information."""
        blocks = [np.empty((0, 0))]
        for group in self.groups:
            shares = (self.tables[group] / self.tables[group].sum())[1:]
            complete = counts[group].sum() * (np.diag(shares) - np.outer(shares, shares))
            blocks.append(np.linalg.inv(np.linalg.cholesky(complete)))
        return block_diag(*blocks)

    def derivatives(self) -> np.ndarray:
        """Return the derivative of every entry by every parameter: (size, n_parameters)."""
        jacobian = np.zeros((self.layout.size, self.n_parameters))
        begin = 0
        for group in self.groups:
            values = self.tables[group]
            block = np.diag(values) - np.outer(values, values) / values.sum()
            jacobian[group, begin : begin + len(group) - 1] = block[:, 1:]
            begin += len(group) - 1
        return jacobian


@dataclass(frozen=True)
class Precision:
    """How well a table determines the entries of the tables.

    Attributes
    ----------
    standard_errors : array, shape (size,)
        NaN where an entry is fixed or not identified.
    identified : bool array, shape (size,)
        Whether the rows determine an entry, if it is not fixed.
    gain : float
        Gain from moving to the maximum, in nats, if the log-likelihood were quadratic.
    is_maximum : bool
        Whether there is no direction in which the log-likelihood clearly curves upwards.
    weakest : float
        The least information in any direction, as a share of the information of complete rows.
    """

    standard_errors: np.ndarray
    identified: np.ndarray
    gain: float
    is_maximum: bool
    weakest: float


def at_the_boundary(layout: Layout, tables: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return which entries are zero, or on their way there.

    Examples
    --------
    >>> layout = Layout([(1, 3)])
    >>> at_the_boundary(layout, np.array([1e-5, 0.4, 0.59999]), np.array([1e-3, 40.0, 60.0])).tolist()
    [True, False, False]
    """
    return (tables == 0) | ((tables < SMALL) & (tables * layout.row_sums(counts) < FEW_ROWS))


def information(problem: Problem, coordinates: Parameters, show_progress: bool = False) -> np.ndarray:
    """Return the observed information: minus the second derivatives of the log-likelihood by the parameters.

    The gradients are exact; their derivatives are differences between two points on either side.

    Examples
    --------
    Of a share p of n rows, the logit has the information n p (1 - p).

    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> engine = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)}), [2], weights=[25.0, 75.0])
    >>> coordinates = Coordinates(engine.layout, np.array([0.25, 0.75]), np.array([False, False]))
    >>> information(Problem(engine), coordinates).round(4).tolist()
    [[18.75]]
    """
    rows = [np.empty((0, coordinates.n_parameters))]
    up, down = coordinates.moved(STEP), coordinates.moved(-STEP)
    n_batches = -(-coordinates.n_parameters // BATCH)
    with problem.threads() as problem:
        for _ in tqdm(range(n_batches), "information", disable=not show_progress, delay=PROGRESS_DELAY, leave=False):
            gradients = []
            for points in (up, down):
                tables = np.stack(list(islice(points, BATCH)))
                _, counts = problem.shared_counts(tables)
                gradients.append(coordinates.gradient(tables, counts))
            rows.append((gradients[1] - gradients[0]) / (2 * STEP))
    matrix = np.concatenate(rows)
    return (matrix + matrix.T) / 2


def row_scores(engine: RowEngine, coordinates: Parameters, show_progress: bool = False) -> np.ndarray:
    """Return the derivatives of the log-likelihood of every distinct row by the parameters: (rows, n_parameters).

    They are differences between two points on either side. A row that is missing throughout says nothing.

    Examples
    --------
    The logit of a share of 0.25: a row that shows it has the derivative 0.75, any other -0.25.

    >>> from pgmpy_latent.inference.tree_engine import TreeEngine
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> engine = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)}), [2], weights=[25.0, 75.0])
    >>> coordinates = Coordinates(engine.layout, np.array([0.25, 0.75]), np.array([False, False]))
    >>> row_scores(engine, coordinates).round(4).tolist()
    [[0.75], [-0.25]]
    """
    columns = [np.empty((0, len(engine.weights)))]
    up, down = coordinates.moved(STEP), coordinates.moved(-STEP)
    n_batches = -(-coordinates.n_parameters // BATCH)
    for _ in tqdm(range(n_batches), "scores of rows", disable=not show_progress, delay=PROGRESS_DELAY, leave=False):
        above, below = (engine.row_log_likelihoods(np.stack(list(islice(points, BATCH)))) for points in (up, down))
        columns.append((above - below) / (2 * STEP))
    return np.concatenate(columns).T


def precision(
    coordinates: Coordinates,
    curvature: np.ndarray,
    counts: np.ndarray,
    n_unidentified: int = 0,
    scatter: np.ndarray | None = None,
) -> Precision:
    """Return standard errors by the delta method, from the observed information.

    Parameters
    ----------
    coordinates : Coordinates
        The parameters.
    curvature : array, shape (n_parameters, n_parameters)
        The observed information.
    counts : array, shape (size,)
        Expected counts at the tables.
    n_unidentified : int
        In how many directions, at least, the log-likelihood is known to be flat.
    scatter : array, shape (n_parameters, n_parameters), optional
        Variance of the gradient of the log-likelihood, for the sandwich estimate: with A the information and B this,
        the variance is ``inv(A) B inv(A)``. By default B is A.

    Examples
    --------
    >>> coordinates = Coordinates(Layout([(1, 2)]), np.array([0.25, 0.75]), np.array([False, False]))
    >>> precision(coordinates, np.array([[18.75]]), np.array([25.0, 75.0])).standard_errors.round(4).tolist()
    [0.0433, 0.0433]
    """
    whiten = coordinates.whitening(counts)
    values, vectors = np.linalg.eigh(whiten @ curvature @ whiten.T)
    flat = values <= NOTHING
    flat[: max(n_unidentified, 0)] = True  # eigenvalues come in rising order
    slopes = coordinates.derivatives() @ whiten.T @ vectors
    lengths = (slopes**2).sum(axis=1)
    identified = (slopes[:, flat] ** 2).sum(axis=1) <= NEGLIGIBLE * lengths
    if scatter is None:
        variances = (slopes[:, ~flat] ** 2 / values[~flat]).sum(axis=1)
    else:
        inner = (vectors.T @ whiten @ scatter @ whiten.T @ vectors)[np.ix_(~flat, ~flat)]
        outer = slopes[:, ~flat] / values[~flat]
        variances = ((outer @ inner) * outer).sum(axis=1)
    gradient = vectors.T @ whiten @ coordinates.gradient(coordinates.tables, counts)
    return Precision(
        standard_errors=np.where(identified & (lengths > 0), np.sqrt(variances), np.nan),
        identified=identified,
        gain=float((gradient[~flat] ** 2 / values[~flat]).sum() / 2),
        is_maximum=not (values < -NEGLIGIBLE).any(),
        weakest=float(values.min(initial=1.0)),
    )
