"""Covariates as numbers: which columns are numeric, dummies of the others, and one matrix of all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.tables.columns import plain

#: What the constant term is called.
INTERCEPT = "(intercept)"
#: Singular values of the scaled matrix below this share of the largest count as zero.
DEPENDENT = 1e-8
#: Most categories that a covariate may have.
MOST_CATEGORIES = 50


def is_numeric(column: pd.Series) -> bool:
    """Tell whether a covariate counts as a number: numbers do, truth values and categories do not.

    Examples
    --------
    >>> is_numeric(pd.Series([1, 2])), is_numeric(pd.Series([True, False])), is_numeric(pd.Series(["a", "b"]))
    (True, False, False)
    """
    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


def categories_of(column: pd.Series) -> tuple[Hashable, ...]:
    """Return the categories that occur in a column, in the order of a Categorical, and sorted otherwise.

    Examples
    --------
    >>> categories_of(pd.Series(["b", "a", None, "b"])), categories_of(pd.Series([2.0, None, 1.0]))
    (('a', 'b'), (1, 2))
    """
    seen = column.dropna()
    if isinstance(seen.dtype, pd.CategoricalDtype):
        present = set(seen.unique())
        return tuple(_whole([plain(value) for value in seen.cat.categories if value in present]))
    values = _whole([plain(value) for value in seen.unique()])
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))


def _whole(values: list) -> list:
    """Return whole numbers that missing cells have made floats as integers."""
    whole = [int(value) for value in values if isinstance(value, float) and value.is_integer()]
    return list(whole) if len(whole) == len(values) else values


@dataclass(frozen=True, eq=False)
class Covariates:
    """How covariates become the columns of a matrix: a constant, numbers as they are, and a dummy per category.

    The first category of a covariate has no dummy: the others are compared with it.

    Attributes
    ----------
    names : tuple of hashable
        The covariates.
    categories : tuple
        For every covariate its categories, or None if it is numeric.

    Examples
    --------
    >>> z = pd.DataFrame({"age": [20.0, 30.0], "sex": ["f", "m"]})
    >>> covariates = Covariates.of(z)
    >>> covariates.terms
    [('(intercept)', ''), ('age', ''), ('sex', 'm')]
    >>> covariates.matrix(z).tolist()
    [[1.0, 20.0, 0.0], [1.0, 30.0, 1.0]]
    """

    names: tuple[Hashable, ...]
    categories: tuple[tuple[Hashable, ...] | None, ...]

    @classmethod
    def of(cls, z: pd.DataFrame) -> Covariates:
        """Return the covariates that are the columns of a frame without missing cells; raise if they cannot be used."""
        found: list[tuple[Hashable, ...] | None] = []
        for at, name in enumerate(z.columns):
            column = z.iloc[:, at]
            values = None if is_numeric(column) else categories_of(column)
            found.append(values)
            if values is not None and len(values) > MOST_CATEGORIES:
                raise DataError(
                    f"covariate {name!r} has {len(values)} categories; merge some, or make it numeric if it counts"
                )
            if column.nunique() < 2:
                raise DataError(f"covariate {name!r} is the same in all rows that are used; leave it out")
            if values is None and not np.isfinite(column.to_numpy(np.float64)).all():
                raise DataError(f"covariate {name!r} has infinite values; leave these rows out, or mark them missing")
        covariates = cls(tuple(z.columns), tuple(found))
        covariates._check_rank(covariates.matrix(z))
        return covariates

    @property
    def terms(self) -> list[tuple[Hashable, Hashable]]:
        """For every column of the matrix its covariate, and its category; that is empty for numbers."""
        terms: list[tuple[Hashable, Hashable]] = [(INTERCEPT, "")]
        for name, values in zip(self.names, self.categories, strict=True):
            terms += [(name, "")] if values is None else [(name, value) for value in values[1:]]
        return terms

    def matrix(self, z: pd.DataFrame) -> np.ndarray:
        """Return the matrix (n_rows, n_terms) of a frame with these columns."""
        columns = [np.ones(len(z))]
        for at, values in enumerate(self.categories):
            column = z.iloc[:, at]
            if values is None:
                columns.append(column.to_numpy(np.float64))
            else:
                columns += [(column == value).to_numpy(np.float64) for value in values[1:]]
        return np.stack(columns, axis=1)

    def scaling(self, matrix: np.ndarray) -> np.ndarray:
        """Return the matrix T for which ``matrix @ T`` has numbers of mean 0 and deviation 1, and dummies as they are.

        A category that does not occur in some class then concerns its own coefficient only.
        """
        transform = standardising(matrix)
        dummies = [category != "" for _, category in self.terms]
        transform[:, dummies] = np.eye(len(dummies))[:, dummies]
        return transform

    def frame(self, z) -> pd.DataFrame:
        """Return covariates that a user gives, of one row or of several, as a frame with these columns; check them."""
        if isinstance(z, (Mapping, pd.Series)):
            z = pd.DataFrame({name: [value] for name, value in dict(z).items()})
        elif not isinstance(z, pd.DataFrame):
            if len(self.names) > 1:
                raise DataError(f"z is {z!r}; give a dict with a value for each of {list(self.names)}")
            z = pd.DataFrame({self.names[0]: [z]})
        absent = [name for name in self.names if name not in z.columns]
        if absent:
            raise DataError(f"z has no value for {absent}; give one for each of {list(self.names)}")
        z = z[list(self.names)]
        for name, values in zip(self.names, self.categories, strict=True):
            self._check_values(name, z[name], values)
        return z

    def _check_values(self, name: Hashable, column: pd.Series, values: Sequence[Hashable] | None) -> None:
        if column.isna().any():
            raise DataError(f"z has no value for {name!r}; a person without it has no prediction")
        if values is None:
            if not is_numeric(column):
                raise DataError(f"z has {column.iloc[0]!r} for {name!r}; give a number")
        elif unknown := [value for value in column.unique() if value not in values]:
            raise DataError(f"z has {unknown[0]!r} for {name!r}; give one of {list(values)}")

    def _check_rank(self, matrix: np.ndarray) -> None:
        scaled = matrix @ standardising(matrix)
        if np.linalg.svd(scaled, compute_uv=False).min() < DEPENDENT * np.sqrt(len(matrix)):
            raise DataError(
                f"the covariates {list(self.names)} determine each other, so that their coefficients are not "
                "determined; leave one of them out"
            )


def standardising(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix T for which ``matrix @ T`` has a constant first column and others of mean 0 and deviation 1.

    Examples
    --------
    >>> matrix = np.array([[1.0, 2.0], [1.0, 4.0]])
    >>> (matrix @ standardising(matrix)).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    """
    means, deviations = matrix[:, 1:].mean(axis=0), matrix[:, 1:].std(axis=0)
    transform = np.eye(matrix.shape[1])
    transform[1:, 1:] = np.diag(1 / deviations)
    transform[0, 1:] = -means / deviations
    return transform
