"""Outcomes: the distribution of z in every class, by family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import gammaln

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.relations.covariates import MOST_CATEGORIES, categories_of, is_numeric

#: Least variance of a class, as a share of the variance of all rows: with less, the likelihood has no bound.
LEAST_VARIANCE = 1e-6
#: A share or rate below this is at the boundary.
BOUNDARY = 1e-9

#: Names of the families.
Family = Literal["normal", "categorical", "count"]


def family_of(column: pd.Series, family: Family | None) -> Family:
    """Return the family of an outcome: as asked for, or "normal" for numbers of more than two values.

    Examples
    --------
    >>> family_of(pd.Series([1.5, 2, 3]), None), family_of(pd.Series([0, 1]), None)
    ('normal', 'categorical')
    """
    if family not in (None, "normal", "categorical", "count"):
        raise ValueError(f"family is {family!r}; give 'normal', 'categorical' or 'count'")
    if column.nunique() < 2:
        raise DataError(f"outcome {column.name!r} is the same in all rows that are used; name another")
    if family is None:
        family = "normal" if is_numeric(column) and column.nunique() > 2 else "categorical"
    if family == "categorical" and column.nunique() > MOST_CATEGORIES:
        raise DataError(f"outcome {column.name!r} has {column.nunique()} categories; merge some of them")
    if family != "categorical" and not is_numeric(column):
        raise DataError(f"outcome {column.name!r} is not numeric; give family='categorical', or numbers")
    if family != "categorical" and not np.isfinite(column.to_numpy(np.float64)).all():
        raise DataError(f"outcome {column.name!r} has infinite values; leave these rows out, or mark them missing")
    if family == "count":
        values = column.to_numpy(np.float64)
        if (values < 0).any() or (values != np.round(values)).any():
            raise DataError(f"outcome {column.name!r} has values that are no counts; give family='normal'")
    return family


@dataclass(frozen=True, eq=False)
class OutcomePart(ABC):
    """The last step for outcomes: parameters say how z is distributed in every class.

    Attributes
    ----------
    values : array, shape (n_rows,)
        The outcome: numbers, or numbers of categories.
    n_classes : int
        Number of classes.
    """

    values: np.ndarray
    n_classes: int

    @abstractmethod
    def start(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the parameters for known classes."""

    @abstractmethod
    def log_densities(self, theta: np.ndarray) -> np.ndarray:
        """Return log P(z | class) of every row: (n_rows, n_classes)."""

    @abstractmethod
    def equations(self, theta: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return what every row adds to the equations that the estimate solves."""

    def update(self, theta: np.ndarray, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the parameters that maximise the likelihood of classes with this posterior."""
        return self.start(posterior, weights)

    def movable(self, theta: np.ndarray) -> np.ndarray:
        """Return which parameters can move: shares and rates of zero cannot."""
        return abs(theta) > BOUNDARY


@dataclass(frozen=True, eq=False)
class NormalPart(OutcomePart):
    """Numbers with a mean and a variance in every class.

    Examples
    --------
    >>> part = NormalPart(np.array([1.0, 3.0, 5.0]), 2)
    >>> part.start(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3)).round(4).tolist()
    [2.0, 5.0, 1.0, 0.0]
    """

    def log_densities(self, theta: np.ndarray) -> np.ndarray:
        """Return the log densities of normal distributions."""
        means, variances = theta[: self.n_classes], np.maximum(theta[self.n_classes :], self._least)
        return -0.5 * (np.log(2 * np.pi * variances) + (self.values[:, None] - means) ** 2 / variances)

    def start(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return weighted means and variances."""
        sums = weights @ posterior
        means = (weights * self.values) @ posterior / sums
        squares = (self.values[:, None] - means) ** 2
        variances = (weights[:, None] * posterior * squares).sum(axis=0) / sums
        return np.concatenate([means, variances])

    def equations(self, theta: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return weighted deviations from means and variances."""
        means, variances = theta[: self.n_classes], theta[self.n_classes :]
        off = self.values[:, None] - means
        return np.concatenate([posterior * off, posterior * (off**2 - variances)], axis=1)

    def movable(self, theta: np.ndarray) -> np.ndarray:
        """Return which parameters can move: a variance at its bound cannot."""
        n = self.n_classes
        return np.concatenate([np.ones(n, bool), abs(theta[n:]) > self._least])

    @property
    def _least(self) -> float:
        return float(LEAST_VARIANCE * np.var(self.values))


@dataclass(frozen=True, eq=False)
class CountPart(OutcomePart):
    """Counts with a Poisson rate, their mean, in every class.

    Examples
    --------
    >>> part = CountPart(np.array([0.0, 2.0, 3.0]), 2)
    >>> part.start(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3)).round(4).tolist()
    [1.0, 3.0]
    """

    def log_densities(self, theta: np.ndarray) -> np.ndarray:
        """Return the log probabilities of Poisson distributions."""
        values = self.values[:, None]
        logs = values * np.log(np.maximum(theta, np.finfo(np.float64).tiny))
        return logs - theta - gammaln(values + 1)

    def start(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return weighted means."""
        return (weights * self.values) @ posterior / (weights @ posterior)

    def equations(self, theta: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return weighted deviations from means."""
        return posterior * (self.values[:, None] - theta)


@dataclass(frozen=True, eq=False)
class CategoricalPart(OutcomePart):
    """Categories with shares in every class; two categories are the binary case.

    Attributes
    ----------
    categories : tuple of hashable
        The categories that the values number.

    Examples
    --------
    >>> part = CategoricalPart(np.array([0, 1, 1]), 2, ("no", "yes"))
    >>> part.start(np.array([[1, 0], [1, 0], [0, 1.0]]), np.ones(3)).round(4).tolist()
    [0.5, 0.5, 0.0, 1.0]
    """

    categories: tuple[Hashable, ...]

    def log_densities(self, theta: np.ndarray) -> np.ndarray:
        """Return the logs of the shares."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(theta.reshape(self.n_classes, -1)[:, self.values].T)

    def start(self, posterior: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return weighted shares."""
        counts = posterior.T @ (weights[:, None] * self._indicators)
        return (counts / counts.sum(axis=1, keepdims=True)).ravel()

    def equations(self, theta: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """Return weighted deviations from shares."""
        off = self._indicators[:, None, :] - theta.reshape(self.n_classes, -1)
        return (posterior[:, :, None] * off).reshape(len(posterior), -1)

    @property
    def _indicators(self) -> np.ndarray:
        return np.eye(len(self.categories))[self.values]


def outcome_part(column: pd.Series, pattern: np.ndarray, family: Family, n_classes: int) -> OutcomePart:
    """Return the last step for an outcome: its distinct values, and which of them every row has.

    Examples
    --------
    >>> outcome_part(pd.Series(["a", "b"]), np.array([0, 1, 1]), "categorical", 2).values.tolist()
    [0, 1, 1]
    """
    if family == "categorical":
        categories = categories_of(column)
        codes = pd.Categorical(column, list(categories)).codes.astype(np.int64)
        return CategoricalPart(codes[pattern], n_classes, categories)
    values = column.to_numpy(np.float64)[pattern]
    return NormalPart(values, n_classes) if family == "normal" else CountPart(values, n_classes)
