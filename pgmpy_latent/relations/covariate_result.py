"""What relate says about covariates: coefficients, tests, predicted class sizes, and the network of a person."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.relations.covariates import INTERCEPT, Covariates
from pgmpy_latent.relations.logit import log_probabilities
from pgmpy_latent.relations.wald import P_COLUMNS, reach, share_limits, two_sided

#: Name of the row of ``tests`` for all covariates together.
ALL = "(all)"
#: Numbers of values of a numeric covariate at which class sizes are predicted.
N_VALUES = 25


def _short(number: float) -> str:
    """Return a number with four decimals, or as a power of ten if it is very large."""
    return f"{number:.4f}" if abs(number) < 1e6 else f"{number:.0e}"


def method_words(steps: int, correction: str | None, assignment: str) -> str:
    """Return how classes and z were related, in words.

    Examples
    --------
    >>> method_words(3, "bch", "modal"), method_words(2, "ml", "modal")
    ('three steps, modal assignment, BCH', 'two steps')
    """
    if steps < 3:
        return {1: "one step", 2: "two steps"}[steps]
    words = {"ml": "ML", "bch": "BCH", None: "not corrected"}
    return f"three steps, {assignment} assignment, {words[correction]}"


def rows_words(n_rows: int, n_left_out: int) -> str:
    """Return how many rows were used and left out, in words.

    Examples
    --------
    >>> rows_words(315, 4)
    '315 rows, 4 left out'
    """
    return f"{n_rows:,} rows, {n_left_out:,} left out"


@dataclass(frozen=True, eq=False, repr=False)
class CovariateRelation:
    """How classes depend on covariates, by :func:`relate`; printed, it shows the coefficients and tests.

    Attributes
    ----------
    coefficients : DataFrame
        A row per class but the reference, and term: ``class``, ``covariate``, ``category`` (empty for numbers),
        ``estimate``, ``standard_error``, ``z``, ``p_value``, and ``odds_ratio`` with its interval ``lower``, ``upper``.
        A coefficient that grows without bound, where a category and a class do not occur together, has the value at
        which the likelihood no longer rose, and NaN for its standard error.
    tests : DataFrame
        A row per covariate, and one for all of them: the Wald test (``wald``, ``df``, ``p_value``) and the
        likelihood-ratio test (``likelihood_ratio``, ``lr_p_value``) of "this covariate says nothing about the class".
        ``df`` is the number of its coefficients. If one of them grows without bound, the Wald test is NaN.
    log_likelihood : float
        Of the columns given z (one and two steps), or of the assigned classes given z (three steps); NaN for BCH,
        which has no likelihood.
    n_parameters : int
        Number of parameters of what has this log-likelihood.
    n_rows, n_rows_left_out : int
        Rows that were used, and rows without a value of z or without any known column, which no step uses.
    steps, correction, assignment
        The method.
    reference : hashable
        The class that others are compared with.
    covariance : array, shape (n_coefficients, n_coefficients)
        Of the estimates, in the order of ``coefficients``.
    level : float
        Of the intervals.
    degrees_of_freedom : float
        Of the t distribution behind p-values and intervals; infinite for rows that were drawn one by one.
    network : LatentNetwork
        The model of the columns given the class.
    latent : hashable
        Name of the class.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts, datasets, relate
    >>> survey = datasets.load_anes96()
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(survey[["vote", "PID", "selfLR", "ClinLR"]])
    >>> found = relate(learner, survey, pd.Series(survey["age"].cat.codes, name="age"), steps=2)
    >>> found.class_sizes("age", [2, 8])[["value", "class"]].values.tolist()
    [[2, 0], [2, 1], [8, 0], [8, 1]]
    """

    coefficients: pd.DataFrame
    tests: pd.DataFrame
    log_likelihood: float
    n_parameters: int
    n_rows: int
    n_rows_left_out: int
    steps: int
    correction: str | None
    assignment: str
    reference: Hashable
    covariance: np.ndarray
    level: float
    degrees_of_freedom: float
    network: LatentNetwork
    latent: Hashable
    _covariates: Covariates = field(repr=False)
    _beta: np.ndarray = field(repr=False)
    _rows: tuple[pd.DataFrame, np.ndarray] = field(repr=False)

    def __repr__(self) -> str:
        head = f"Covariates and {self.latent}: {method_words(self.steps, self.correction, self.assignment)}; "
        head += rows_words(self.n_rows, self.n_rows_left_out)
        if np.isfinite(self.log_likelihood):
            head += f"; log-likelihood {self.log_likelihood:.4f} ({self.n_parameters} parameters)"
        shown: dict[str, Any] = {"float_format": _short, "formatters": P_COLUMNS}
        table = self.coefficients.to_string(index=False, **shown)
        tests = self.tests.dropna(axis=1, how="all").to_string(**shown)  # not all steps have both tests
        against = ", ".join([f"class {self.reference!r}", *self._first_categories()])
        return f"{head}\nagainst {against}\n{table}\n\n{tests}"

    def _first_categories(self) -> list[str]:
        """Return the categories that others are compared with, in words, with their shares of the rows."""
        z, weights = self._rows
        named = zip(self._covariates.names, self._covariates.categories, strict=True)
        first = [(at, name, values[0]) for at, (name, values) in enumerate(named) if values is not None]
        shares = [weights[(z.iloc[:, at] == value).to_numpy()].sum() / weights.sum() for at, _, value in first]
        return [f"{name} {value!r} ({share:.0%})" for (_, name, value), share in zip(first, shares, strict=True)]

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """Names of the classes."""
        return self.network.state_names[self.network.index(self.latent)]

    def probabilities(self, z) -> pd.DataFrame:
        """Return the probabilities of the classes for people with these covariates.

        Parameters
        ----------
        z : dict, Series or DataFrame
            A value for each covariate, or a column of values; a single value if there is one covariate.

        Returns
        -------
        DataFrame
            A row per person, a column per class.
        """
        frame = self._covariates.frame(z)
        shares = np.exp(log_probabilities(self._covariates.matrix(frame), self._beta))
        return pd.DataFrame(shares, frame.index, pd.Index(self.classes, name=self.latent, tupleize_cols=False))

    def model_at(self, z):
        """Return the pgmpy network for a person with these covariates.

        Parameters
        ----------
        z : dict or Series
            A value for each covariate; a single value if there is one covariate.

        Returns
        -------
        pgmpy.models.DiscreteBayesianNetwork
            The class has its probabilities given z, and the columns theirs given the class.
        """
        shares = self.probabilities(z)
        if len(shares) != 1:
            raise DataError(f"z has {len(shares)} rows; give the covariates of one person")
        tables = list(self.network.tables)
        row = shares.to_numpy()
        tables[self.network.index(self.latent)] = row / row.sum()
        return to_pgmpy(self.network.with_tables(tables))

    def class_sizes(self, covariate: Hashable | None = None, values: Sequence | None = None) -> pd.DataFrame:
        """Return predicted class sizes against a covariate: means over the rows, with the covariate set to each value.

        Parameters
        ----------
        covariate : hashable, optional
            Which; need not be given if there is only one.
        values : sequence, optional
            Its values; by default 25 between the smallest and the largest, or all categories.

        Returns
        -------
        DataFrame
            A row per value and class: ``value``, ``class``, ``size``, ``standard_error``, and the interval ``lower``,
            ``upper``. ``attrs["covariate"]`` names the covariate.
        """
        names = list(self._covariates.names)
        if covariate is None and len(names) > 1:
            raise ValueError(f"name one of the covariates {names}")
        covariate = names[0] if covariate is None else covariate
        if covariate not in names:
            raise ValueError(f"covariate is {covariate!r}; give one of {names}")
        at = names.index(covariate)
        z, weights = self._rows
        if values is None:
            known = self._covariates.categories[at]
            column = z.iloc[:, at]
            values = np.linspace(column.min(), column.max(), N_VALUES).tolist() if known is None else list(known)
        found = []
        for value in values:
            frame = z.copy()
            frame[frame.columns[at]] = [value] * len(frame)
            matrix = self._covariates.matrix(self._covariates.frame(frame))
            sizes, errors = self._mean_sizes(matrix, weights)
            found += [(value, *line) for line in zip(self.classes, sizes, errors, strict=True)]
        table = pd.DataFrame(found, columns=["value", "class", "size", "standard_error"])
        sizes, errors = table["size"].to_numpy(), table["standard_error"].to_numpy()
        table["lower"], table["upper"] = share_limits(sizes, errors, reach(self.level, self.degrees_of_freedom))
        table.attrs["covariate"] = covariate
        return table

    def _mean_sizes(self, matrix: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean probabilities of the classes over rows, and their standard errors by the delta method."""
        shares = np.exp(log_probabilities(matrix, self._beta))
        weights = weights / weights.sum()
        others = [at for at, name in enumerate(self.classes) if name != self.reference]
        slopes = np.stack(
            [
                ((weights * shares[:, k])[:, None] * ((k == j) - shares[:, [j]]) * matrix).sum(axis=0)
                for k in range(len(self.classes))
                for j in others
            ]
        ).reshape(len(self.classes), -1)
        known = np.nan_to_num(self.covariance)  # sizes do not move with coefficients that grow without bound
        variances = ((slopes @ known) * slopes).sum(axis=1)
        return weights @ shares, np.sqrt(np.maximum(variances, 0.0))


def coefficient_table(
    beta: np.ndarray,
    covariance: np.ndarray,
    covariates: Covariates,
    classes: Sequence[Hashable],
    others: Sequence[int],
    level: float,
    freedom: float,
) -> pd.DataFrame:
    """Return the coefficients of all classes but the reference as a frame. See :class:`CovariateRelation`.

    Examples
    --------
    >>> covariates = Covariates(("age",), (None,))
    >>> beta = np.array([[0.0, 0.0], [1.0, 0.5]])
    >>> table = coefficient_table(beta, np.eye(2) / 4, covariates, ["a", "b"], [1], 0.95, np.inf)
    >>> table[["class", "covariate", "estimate", "z"]].values.tolist()
    [['b', '(intercept)', 1.0, 2.0], ['b', 'age', 0.5, 1.0]]
    """
    labels = [(classes[at], *term) for at in others for term in covariates.terms]
    table = pd.DataFrame(labels, columns=["class", "covariate", "category"])
    table["estimate"] = beta[list(others)].ravel()
    variances = np.diag(covariance)
    table["standard_error"] = errors = np.sqrt(np.where(variances >= 0, variances, np.nan))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        table["z"] = table["estimate"] / errors
        table["p_value"] = two_sided(table["z"].to_numpy(), freedom)
        spread = reach(level, freedom) * errors
        table["odds_ratio"] = np.exp(table["estimate"])
        table["lower"], table["upper"] = np.exp(table["estimate"] - spread), np.exp(table["estimate"] + spread)
    return table


def terms_of(covariates: Covariates, name: Hashable) -> np.ndarray:
    """Return which columns of the matrix a covariate has; all but the constant for ``"(all)"``.

    Examples
    --------
    >>> terms_of(Covariates(("age", "sex"), (None, ("f", "m"))), "sex").tolist()
    [False, False, True]
    """
    if name == ALL:
        return np.array([covariate != INTERCEPT for covariate, _ in covariates.terms])
    return np.array([covariate == name for covariate, _ in covariates.terms])
