"""Coefficients without a finite estimate: where a category and a class never occur together, or a number tells all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.relations.covariates import Covariates
from pgmpy_latent.relations.logit import log_probabilities
from pgmpy_latent.runtime.warn import warn

#: Expected rows of a class in a category below which there are none.
NO_ROWS = 1e-3
#: Size of a coefficient of a covariate in standard deviations above which it has no finite maximum.
SEPARATED = 15.0


@dataclass(frozen=True, eq=False)
class Separation:
    """Which coefficients grow without bound, and why.

    Attributes
    ----------
    coefficients : bool array, shape (n_classes, n_terms)
        Which have no finite estimate.
    cells : list of (covariate, category, class number)
        Categories and classes that do not occur together.
    """

    coefficients: np.ndarray
    cells: list[tuple[Hashable, Hashable, int]]

    def warn(self, covariates: Covariates, classes: Sequence[Hashable], remedy: str) -> None:
        """Warn if there are any, naming them."""
        if self.cells:
            named = [f"{name}={value!r} and class {classes[at]!r}" for name, value, at in self.cells]
            more = f" and {len(named) - 5} more" if len(named) > 5 else ""
            warn(
                f"{', '.join(named[:5])}{more} do not occur together, so coefficients grow without bound: these have "
                f"no standard error and their covariate no Wald test. {remedy}"
            )
        far = [at for at in np.flatnonzero(self.coefficients.any(axis=0)) if at]
        told = sorted({str(covariates.terms[at][0]) for at in far} - {str(name) for name, _, _ in self.cells})
        if told:
            warn(
                f"{', '.join(told)} tells some class apart without error, so its coefficients grow without bound: they "
                "have no standard error. Merge categories, or leave it out."
            )


def separation(
    covariates: Covariates,
    matrix: np.ndarray,
    weights: np.ndarray,
    beta: np.ndarray,
    reference: int,
    *,
    all_classes: bool = False,
) -> Separation:
    """Return which coefficients grow without bound.

    Parameters
    ----------
    covariates : Covariates
        What the columns of the matrix are.
    matrix : array, shape (n, n_terms)
        Distinct rows of covariates.
    weights : array, shape (n,)
        How often they occur.
    beta : array, shape (n_classes, n_terms)
        Where the coefficients are.
    reference : int
        The class whose coefficients are zero.
    all_classes : bool
        Whether a class that does not occur in a category leaves the coefficients of all classes there undetermined, as
        with weights that may be negative.

    Examples
    --------
    >>> covariates = Covariates(("sex",), (("f", "m"),))
    >>> matrix, beta = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [0.1, -20.0]])
    >>> found = separation(covariates, matrix, np.array([50.0, 50.0]), beta, 0)
    >>> found.coefficients.tolist(), found.cells
    ([[False, False], [False, True]], [('sex', 'm', 1)])
    """
    shares = np.exp(log_probabilities(matrix, beta))
    means = np.average(matrix, axis=0, weights=weights)
    deviations = np.sqrt(np.average((matrix - means) ** 2, axis=0, weights=weights))
    unbounded = abs(beta) * deviations > SEPARATED
    is_number = [bool(at) and category == "" for at, (_, category) in enumerate(covariates.terms)]
    unbounded[:, 0] = unbounded[:, is_number].any(axis=1)  # the constant goes with them
    cells = []
    for name, values in zip(covariates.names, covariates.categories, strict=True):
        if values is None:
            continue
        columns = [at for at, (covariate, _) in enumerate(covariates.terms) if at and covariate == name]
        indicators = matrix[:, columns]
        indicators = np.column_stack([1 - indicators.sum(axis=1), indicators])
        expected = (weights[:, None] * indicators).T @ shares
        for at, category in enumerate(values):
            absent = expected[at] < NO_ROWS
            cells += [(name, category, int(k)) for k in np.flatnonzero(absent)]
            if absent[reference] or (all_classes and absent.any()):
                absent = np.ones_like(absent)
            # the first category is in the constant, and all others are compared with it
            unbounded[np.ix_(absent, [columns[at - 1]] if at else [0, *columns])] = True
    unbounded[reference] = False
    return Separation(unbounded, cells)


def without_unbounded(errors: np.ndarray, unbounded: np.ndarray) -> np.ndarray:
    """Return a covariance with NaN for coefficients that have no finite estimate.

    Examples
    --------
    >>> without_unbounded(np.eye(2), np.array([False, True])).tolist()
    [[1.0, nan], [nan, nan]]
    """
    return np.where(unbounded[:, None] | unbounded, np.nan, errors)
