"""Covariates: a multinomial logit for the class, with a row of its table per distinct row of covariates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from pgmpy_latent.em.class_logit import ClassLogit

#: Most M-steps for given counts, each of some Newton steps, and the gain in nats per unit of weight that ends them.
MOST_STEPS, LITTLE = 20, 1e-13


def log_probabilities(matrix: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return log P(class | z), ``log softmax(matrix @ beta.T)``: (n, n_classes).

    Parameters
    ----------
    matrix : array, shape (n, n_terms)
        The covariates.
    beta : array, shape (n_classes, n_terms)
        Coefficients; those of the reference class are zero.

    Examples
    --------
    >>> np.exp(log_probabilities(np.array([[1.0]]), np.array([[0.0], [np.log(3.0)]]))).round(4).tolist()
    [[0.25, 0.75]]
    """
    return log_softmax(matrix @ beta.T, axis=1)


def maximised(family: ClassLogit, counts: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the parameters that maximise ``sum(counts * log P)``.

    Single counts may be negative, as those of BCH are, as long as the sums of rows are not: the function is concave all
    the same.

    Examples
    --------
    >>> maximised(ClassLogit(np.ones((1, 1)), 2), np.array([[1.0, 3.0]]), np.zeros(1)).round(4).tolist()
    [1.0986]
    """
    tables = family.tables(theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(MOST_STEPS):
            new = family.fit(counts, tables)
            gain = (counts * np.log(new / tables)).sum()
            tables = new
            if not gain > LITTLE * counts.sum():
                break
    return family.parameters(tables)


@dataclass(frozen=True, eq=False)
class LogitPart:
    """The last step for covariates: parameters are the coefficients of all classes but the reference.

    Attributes
    ----------
    matrix : array, shape (n_patterns, n_terms)
        Distinct rows of covariates, on a scale on which Newton steps behave.
    pattern : int array, shape (n_rows,)
        For every row its distinct row of covariates.
    n_classes, reference : int
        Number of classes, and the reference class.
    unbounded : bool array, shape (n_parameters,), optional
        Which parameters grow without bound.
    """

    matrix: np.ndarray
    pattern: np.ndarray
    n_classes: int
    reference: int
    unbounded: np.ndarray | None = None

    @cached_property
    def family(self) -> ClassLogit:
        """The tables P(class | distinct row of covariates)."""
        return ClassLogit(self.matrix, self.n_classes, self.reference)

    def beta(self, theta: np.ndarray) -> np.ndarray:
        """Return the coefficients of all classes."""
        beta = np.zeros((self.n_classes, self.matrix.shape[1]))
        beta[self.family.others] = theta.reshape(self.n_classes - 1, -1)
        return beta

    def start(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the coefficients for known classes."""
        theta = np.zeros((self.n_classes - 1) * self.matrix.shape[1])
        return maximised(self.family, self._counts(posterior, weights), theta)

    def log_densities(self, theta: np.ndarray) -> np.ndarray:
        """Return log P(class | z) of every row."""
        return log_probabilities(self.matrix, self.beta(theta))[self.pattern]

    def update(self, theta: np.ndarray, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return coefficients with a higher likelihood of classes with this posterior, after some Newton steps."""
        counts = self._counts(posterior, weights)
        return self.family.parameters(self.family.fit(counts, self.family.tables(theta)))

    def _counts(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return how often each class occurs with each distinct row of covariates."""
        weighted = weights[:, None] * posterior
        n = len(self.matrix)
        return np.stack([np.bincount(self.pattern, column, minlength=n) for column in weighted.T], axis=1)

    def equations(self, theta: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return what every row adds to the equations that the estimate solves: (n_rows, n_parameters)."""
        excess = (posterior - np.exp(self.log_densities(theta)))[:, self.family.others]
        return (excess[:, :, None] * self.matrix[self.pattern][:, None, :]).reshape(len(excess), -1)

    def movable(self, theta: np.ndarray) -> np.ndarray:
        """Return which parameters can move: all of them, unless they are on the way to infinity."""
        return np.ones(len(theta), bool) if self.unbounded is None else ~self.unbounded
