"""The multinomial logit of a class on covariates, as a family of tables: a row per pattern of covariates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmpy_latent.em.log_linear import Family, LogLinear, damped_step, shortened
from pgmpy_latent.exceptions import DataError


@dataclass(frozen=True, eq=False)
class ClassLogit(Family):
    """Tables with ``log P(class k | row r) = covariates[r] @ theta[k]`` up to a constant of the row.

    The same family as :class:`~pgmpy_latent.em.log_linear.LogLinear` with a design of mostly zeros, which EM never
    writes out. Parameters are those of all classes but the reference, one after the other; those of the reference are
    zero.

    Attributes
    ----------
    covariates : array, shape (rows, covariates)
        Include a column of ones for the constant.
    n_classes : int
    reference : int
        The class without parameters.

    Examples
    --------
    >>> logit = ClassLogit(np.array([[1.0, 0.0], [1.0, 1.0]]), 2)
    >>> logit.tables(np.array([0.0, np.log(3.0)])).round(9).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    >>> logit.fit(np.array([[3.0, 3.0], [1.0, 3.0]]), np.full((2, 2), 0.5)).round(6).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """

    covariates: np.ndarray
    n_classes: int
    reference: int = 0

    def __post_init__(self) -> None:
        covariates = np.array(self.covariates, dtype=np.float64)
        if covariates.ndim != 2 or not covariates.size or not np.isfinite(covariates).all():
            raise DataError(
                f"covariates have shape {covariates.shape}; give finite numbers of shape (rows, covariates)"
            )
        covariates.flags.writeable = False
        object.__setattr__(self, "covariates", covariates)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tables."""
        return len(self.covariates), self.n_classes

    @cached_property
    def others(self) -> list[int]:
        """All classes but the reference."""
        return [at for at in range(self.n_classes) if at != self.reference]

    @cached_property
    def log_linear(self) -> LogLinear:
        """The same family with its design written out."""
        rows, columns = self.covariates.shape
        design = np.zeros((rows, self.n_classes, self.n_classes - 1, columns))
        for place, at in enumerate(self.others):
            design[:, at, place] = self.covariates
        return LogLinear(design.reshape(rows, self.n_classes, -1))

    @cached_property
    def n_parameters(self) -> int:
        """Number of parameters that the tables depend on."""
        return int(np.linalg.matrix_rank(self.covariates.T @ self.covariates, hermitian=True)) * (self.n_classes - 1)

    @cached_property
    def _solver(self) -> np.ndarray:
        z = self.covariates
        return np.linalg.pinv(z.T @ z, hermitian=True) @ z.T

    @cached_property
    def _products(self) -> np.ndarray:
        """Products of all pairs of covariates: (rows, covariates squared)."""
        z = self.covariates
        return (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)

    def logs(self, theta: np.ndarray) -> np.ndarray:
        """Return the logarithms of the tables of some parameters, shape (..., rows, classes).

        In memory, all rows of a class follow each other: there are many rows and few classes.
        """
        lead, (rows, classes) = theta.shape[:-1], self.shape
        predictor = np.zeros((*lead, classes, rows))
        predictor[..., self.others, :] = theta.reshape(*lead, classes - 1, -1) @ self.covariates.T
        predictor -= predictor.max(axis=-2, keepdims=True)
        predictor -= np.log(np.exp(predictor).sum(axis=-2, keepdims=True))
        return np.swapaxes(predictor, -1, -2)

    def arranged(self, tables: np.ndarray) -> np.ndarray:
        """Return a copy of several tables in which all rows of a class follow each other in memory."""
        return np.swapaxes(np.swapaxes(tables, -1, -2).copy(), -1, -2)

    def parameters_of_logs(self, logs: np.ndarray) -> np.ndarray:
        """Return the parameters of tables, by least squares of their log odds; exact for tables of the family."""
        theta = self._solver @ logs
        theta = theta[..., self.others] - theta[..., [self.reference]]
        return np.swapaxes(theta, -1, -2).reshape(*logs.shape[:-2], -1)

    def direction(self, counts: np.ndarray, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step of Newton's method for each of several tables, and what it promises to gain."""
        n, classes, q = len(counts), self.n_classes, self.covariates.shape[1]
        weights = counts.sum(axis=2)
        by_class = np.swapaxes(tables, 1, 2)[:, self.others]
        expected = by_class * weights[:, None]
        gradient = (np.swapaxes(counts, 1, 2)[:, self.others] - expected) @ self.covariates
        information = np.empty((n, classes - 1, q, classes - 1, q))
        for left in range(classes - 1):
            for right in range(left + 1):
                share = expected[:, left] * ((left == right) - by_class[:, right])
                block = (share @ self._products).reshape(n, q, q)
                information[:, left, :, right], information[:, right, :, left] = block, block
        size = (classes - 1) * q
        way, gain = damped_step(information.reshape(n, size, size), gradient.reshape(n, size))
        return shortened(way, self._reach(way)), gain

    def _reach(self, way: np.ndarray) -> np.ndarray:
        """Return by how much steps change a logarithm at most, apart from constants of rows."""
        moves = way.reshape(len(way), self.n_classes - 1, -1) @ self.covariates.T
        means = moves.sum(axis=1) / self.n_classes  # that of the reference is zero
        return np.maximum(np.abs(moves - means[:, None]).max(axis=(1, 2)), np.abs(means).max(axis=1))
