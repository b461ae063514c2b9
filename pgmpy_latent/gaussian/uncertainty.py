"""Standard errors of the correlations, means and standard deviations of a Gaussian tree."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from pgmpy_latent.gaussian.fit import FittedForest, point_of
from pgmpy_latent.gaussian.forest import forest_of
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.objective import MOST_Z, RowsWithGaps, TableWithGaps
from pgmpy_latent.gaussian.queries import read_for
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.settings import number
from pgmpy_latent.tables.survey import WeightKind

#: Size of the steps of differences of gradients.
STEP = 1e-4
#: Share of the largest curvature below which the data say nothing about a combination of parameters.
FLAT = 1e-8
#: Share of a parameter in such a combination from which it counts as not identified.
TOUCHED = 1e-3


def standard_errors(
    tree: GaussianTree,
    X,
    *,
    level: float = 0.95,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
) -> pd.DataFrame:
    """Return standard errors and confidence intervals of all parameters, from the observed information.

    The information is the matrix of second derivatives of the log-likelihood of the filled cells, so that missing cells
    widen intervals as they should. Intervals of correlations are computed on Fisher's scale, ``artanh``, those of
    standard deviations on the logarithm. They take the tree as given: that it was found in the same rows makes them too
    narrow. Sampling weights count as in the likelihood, scaled to the effective number of rows; strata and clusters are
    not taken into account.

    Parameters
    ----------
    tree : GaussianTree
        With maximum likelihood parameters for the table.
    X : DataFrame or array
        The table.
    level : float
        Of the intervals.
    sample_weight : array, shape (n_rows,), or column name, optional
    weight_kind : {"frequency", "sampling"}, optional
        See :func:`pgmpy_latent.encode`.

    Returns
    -------
    DataFrame
        ``parameter`` ("correlation", "mean" or "std"), ``node``, ``parent`` (None but for correlations), ``value``,
        ``standard_error``, ``lower``, ``upper`` and ``note``: "at its bound" or "not identified", where there is no
        standard error.

    Examples
    --------
    >>> from pgmpy_latent import GaussianBaseline
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(200, 1)) + rng.normal(size=(200, 3)), columns=list("xyz"))
    >>> found = standard_errors(GaussianBaseline("one_factor").fit(table).tree_, table)
    >>> found[["parameter", "node", "parent", "value", "standard_error"]].head(3).round(2)
         parameter node parent  value  standard_error
    0  correlation    x     H1   0.67            0.06
    1  correlation    y     H1   0.69            0.06
    2  correlation    z     H1   0.80            0.05
    """
    number(0, below=1)("level", level)
    _, moments = read_for(tree, X, sample_weight=sample_weight, weight_kind=weight_kind)
    forest, nodes = forest_of(tree)
    columns = nodes[: forest.n_columns]
    kind = TableWithGaps if moments.rows is None else RowsWithGaps
    objective = kind(forest.ends, forest.n_nodes, moments)
    found = FittedForest(forest, tree.mean[columns], tree.std[columns], 0.0)
    point = np.concatenate(_whole_point(found, moments))
    with one_blas_thread():
        information = _information(objective, point)
    errors, notes = _errors(information, np.abs(point) >= MOST_Z, len(forest.ends))
    width = float(norm.ppf((1 + level) / 2)) * errors
    lower, upper = point - width, point + width
    n_edges, n_columns = len(forest.ends), forest.n_columns
    ends = tree.parent[np.flatnonzero(tree.parent >= 0)]
    below = [tree.names[node] for node in np.flatnonzero(tree.parent >= 0)]
    z, _, log_std = np.split(point, [n_edges, n_edges + n_columns])
    edge, mean, std = np.split(errors, [n_edges, n_edges + n_columns])
    names = [tree.names[node] for node in columns]
    return pd.DataFrame(
        {
            "parameter": ["correlation"] * n_edges + ["mean"] * n_columns + ["std"] * n_columns,
            "node": pd.Series([*below, *names, *names], dtype=object),
            "parent": pd.Series([*(tree.names[above] for above in ends), *[None] * (2 * n_columns)], dtype=object),
            "value": _in_units(point, n_edges, moments),
            "standard_error": np.concatenate(
                [edge * (1 - np.tanh(z) ** 2), mean * moments.std, std * moments.std * np.exp(log_std)]
            ),
            "lower": _in_units(lower, n_edges, moments),
            "upper": _in_units(upper, n_edges, moments),
            "note": notes,
        }
    )


def _whole_point(found: FittedForest, moments: TableMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Fisher's z of all edges, and means and logarithms of deviations in standard units."""
    z = point_of(found, moments)[: len(found.forest.ends)]
    return z, (found.mean - moments.mean) / moments.std, np.log(found.std / moments.std)


def _in_units(point: np.ndarray, n_edges: int, moments: TableMoments) -> np.ndarray:
    """Return correlations, means and standard deviations in the units of the table."""
    z, mean, log_std = np.split(point, [n_edges, n_edges + moments.n_columns])
    return np.concatenate([np.tanh(z), moments.mean + moments.std * mean, moments.std * np.exp(log_std)])


def _information(objective: TableWithGaps, point: np.ndarray) -> np.ndarray:
    """Return the negative second derivatives of the log-likelihood, from differences of gradients."""
    found = np.empty((len(point), len(point)))
    for at in range(len(point)):
        step = np.zeros(len(point))
        step[at] = STEP
        found[at] = (objective.gradient(point - step) - objective.gradient(point + step)) / (2 * STEP)
    return (found + found.T) / 2


def _errors(information: np.ndarray, at_bound: np.ndarray, n_edges: int) -> tuple[np.ndarray, list[str]]:
    """Return standard errors, NaN where there are none, and why."""
    at_bound = at_bound & (np.arange(len(information)) < n_edges)
    free = np.flatnonzero(~at_bound)
    values, vectors = np.linalg.eigh(information[np.ix_(free, free)])
    flat = values < FLAT * values.max()
    unknown = (np.abs(vectors[:, flat]) > TOUCHED).any(axis=1)
    variance = (vectors[:, ~flat] ** 2 / values[~flat]).sum(axis=1)
    errors = np.full(len(information), np.nan)
    errors[free] = np.where(unknown, np.nan, np.sqrt(variance))
    notes = np.where(at_bound, "at its bound", "").astype(object)
    notes[free[unknown]] = "not identified"
    return errors, notes.tolist()
