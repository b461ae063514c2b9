"""What the first step says about the class of every row, in the form that the last step needs, by method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.special import logsumexp

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.relations.step_one import StepOne

#: Condition number of the classification errors above which they cannot be corrected for.
SINGULAR = 1e10

#: How classification errors are corrected for, and how rows are assigned.
Correction = Literal["ml", "bch"]
Assignment = Literal["modal", "proportional"]


class Evidence(Protocol):
    """About the class of each row: turns P(class) of the last step into posteriors and the objective."""

    def posterior(self, log_density: np.ndarray) -> np.ndarray:
        """Return how much of each row is in each class, given log densities of both: (n_rows, n_classes)."""

    def objective(self, log_density: np.ndarray) -> np.ndarray:
        """Return what each row adds to the objective: (n_rows,)."""


@dataclass(frozen=True, eq=False)
class ClassLikelihoods:
    """Likelihoods of the classes: the class is summed out.

    A row may be split among several pieces of evidence, of which it has the given shares.

    Attributes
    ----------
    shares : array, shape (n_rows, n_pieces)
        Shares of the row; they sum to one.
    logs : array, shape (n_rows or 1, n_pieces, n_classes)
        Log-likelihood of each class.

    Examples
    --------
    >>> evidence = ClassLikelihoods(np.ones((1, 1)), np.log([[[0.9, 0.3]]]))
    >>> evidence.posterior(np.log([[0.5, 0.5]])).round(4).tolist()
    [[0.75, 0.25]]
    """

    shares: np.ndarray
    logs: np.ndarray

    def posterior(self, log_density: np.ndarray) -> np.ndarray:
        """Return the posterior of each row."""
        joint = log_density[:, None, :] + self.logs
        parts = np.exp(joint - logsumexp(joint, axis=2, keepdims=True))
        return (self.shares[:, :, None] * parts).sum(axis=1)

    def objective(self, log_density: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row."""
        return (self.shares * logsumexp(log_density[:, None, :] + self.logs, axis=2)).sum(axis=1)


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """Weights of each row in each class, which sum to one: every class counts by its weight, as if it were known.

    Examples
    --------
    >>> ClassWeights(np.array([[1.2, -0.2]])).objective(np.log([[0.5, 0.25]])).round(4).tolist()
    [-0.5545]
    """

    weights: np.ndarray

    def posterior(self, log_density: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.weights

    def objective(self, log_density: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the log densities; a weight of zero adds nothing."""
        return np.where(self.weights == 0, 0.0, self.weights * np.where(self.weights == 0, 0.0, log_density)).sum(
            axis=1
        )


def assigned(posteriors: np.ndarray, assignment: Assignment) -> np.ndarray:
    """Return the share of each row that is assigned to each class: all to the likeliest, or in proportion.

    Examples
    --------
    >>> assigned(np.array([[0.7, 0.3]]), "modal").tolist(), assigned(np.array([[0.7, 0.3]]), "proportional").tolist()
    ([[1.0, 0.0]], [[0.7, 0.3]])
    """
    if assignment == "proportional":
        return posteriors
    return np.eye(posteriors.shape[1])[posteriors.argmax(axis=1)]


def classification_errors(shares: np.ndarray, posteriors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return P(assigned class | class): a row per class, a column per class that rows are assigned to.

    Examples
    --------
    >>> posteriors = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> classification_errors(assigned(posteriors, "modal"), posteriors, np.ones(2)).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    counts = posteriors.T @ (weights[:, None] * shares)
    return counts / counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Method:
    """How the last step treats what the first says: the evidence, as a function of the tables of step one.

    Attributes
    ----------
    step_one : StepOne
        The first step.
    steps : int
        2: the likelihood of the columns given the class; 3: assigned classes.
    correction : {"ml", "bch"}, optional
        What is done about wrong assignments.
    assignment : {"modal", "proportional"}
        How rows are assigned.
    weights : array, shape (n_rows,)
        Weights of the rows.
    with_sizes : bool
        Whether classes have the sizes of step one in the last step, as for outcomes; a logit has its own.
    """

    step_one: StepOne
    steps: int
    correction: Correction | None
    assignment: Assignment
    weights: np.ndarray
    with_sizes: bool

    @property
    def uses_errors(self) -> bool:
        """Whether the evidence depends on the classification errors."""
        return self.steps == 3 and self.correction is not None

    def shares(self, tables: np.ndarray) -> np.ndarray:
        """Return the share of each row that is assigned to each class; likeliest classes stay those of step one."""
        at = self.step_one.tables if self.assignment == "modal" else tables
        return assigned(self.step_one.posteriors(at), self.assignment)

    def errors(self, tables: np.ndarray) -> np.ndarray:
        """Return the classification errors."""
        return classification_errors(self.shares(tables), self.step_one.posteriors(tables), self.weights)

    def evidence(self, tables: np.ndarray, errors: np.ndarray | None = None) -> Evidence:
        """Return the evidence, by default with the classification errors at these tables."""
        if self.steps == 2:
            logs = self.step_one.class_log_likelihoods(tables)
            return ClassLikelihoods(np.ones((len(logs), 1)), logs[:, None, :] + self._log_sizes(tables))
        shares = self.shares(tables)
        if self.correction is None:
            return ClassWeights(shares)
        errors = self.errors(tables) if errors is None else errors
        if self.correction == "bch":
            return ClassWeights(shares @ np.linalg.inv(errors))
        shares, logs = _distinct_pieces(shares, errors)
        return ClassLikelihoods(shares, logs + self._log_sizes(tables))

    def _log_sizes(self, tables: np.ndarray) -> np.ndarray:
        return np.log(self.step_one.sizes(tables)) if self.with_sizes else np.zeros(len(self.step_one.sizes(tables)))

    def check(self) -> None:
        """Raise if classes cannot be told apart well enough to correct for errors."""
        if self.uses_errors and np.linalg.cond(self.errors(self.step_one.tables)) > SINGULAR:
            raise DataError(
                "no row is assigned to some class, or two classes get the same rows, so wrong assignments cannot be "
                'corrected for; use steps=2, assignment="proportional", or a model with fewer classes'
            )


def _distinct_pieces(shares: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return shares and log-likelihoods of the pieces: a piece per assigned class, of which modal rows have one."""
    with np.errstate(divide="ignore"):
        logs = np.log(errors.T)
    if ((shares == 0) | (shares == 1)).all():
        return np.ones((len(shares), 1)), logs[shares.argmax(axis=1)][:, None, :]
    return shares, logs[None]
