"""How well a Gaussian tree fits: its likelihood against that of any normal distribution, and residual correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2

from pgmpy_latent.gaussian.fit import pairwise_correlations
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.queries import log_likelihood_of, read_for
from pgmpy_latent.gaussian.shape import LOG_2_PI
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.tables.survey import WeightKind


@dataclass(frozen=True)
class FitMeasures:
    """How well a Gaussian tree fits a table. What needs a complete table is NaN for others.

    Attributes
    ----------
    log_likelihood, bic : float
        Larger is better.
    n_parameters : int
    saturated_log_likelihood : float
        Of the normal distribution with the means and covariances of the table: the most that any model can have.
    chi_squared : float
        Twice what the model lacks beside it.
    df : int
        Degrees of freedom: how many means and covariances there are, less the parameters of the model.
    p_value : float
        Of chi-squared, for a tree that was fixed beforehand. It is too large for a tree that was learned from the same
        rows, which fits them better than others; hold out rows to test that.
    rmsea : float
        ``sqrt(max(chi_squared - df, 0) / (df * N))``: misfit per degree of freedom.
    cfi : float
        What the model improves on independent columns, as a share of what can be improved.
    srmr : float
        The root of the mean square of residual correlations, over all pairs of columns and the columns themselves,
        whose residuals are 0. Of a table with missing cells from the rows that have both columns.
    """

    log_likelihood: float
    bic: float
    n_parameters: int
    saturated_log_likelihood: float
    chi_squared: float
    df: int
    p_value: float
    rmsea: float
    cfi: float
    srmr: float


def fit_measures(tree: GaussianTree, X, *, sample_weight=None, weight_kind: WeightKind | None = None) -> FitMeasures:
    """Return how well a Gaussian tree fits a table, in the terms of factor analysis.

    Parameters
    ----------
    tree : GaussianTree
        With maximum likelihood parameters for the table.
    X : DataFrame or array
        The table.
    sample_weight : array, shape (n_rows,), or column name, optional
    weight_kind : {"frequency", "sampling"}, optional
        See :func:`pgmpy_latent.encode`.

    Examples
    --------
    >>> from pgmpy_latent import GaussianBaseline
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(200, 1)) + rng.normal(size=(200, 4)), columns=list("wxyz"))
    >>> found = fit_measures(GaussianBaseline("one_factor").fit(table).tree_, table)
    >>> found.df, round(found.chi_squared, 2), round(found.rmsea, 3), round(found.srmr, 3)
    (2, 2.22, 0.023, 0.017)
    """
    table, moments = read_for(tree, X, sample_weight=sample_weight, weight_kind=weight_kind)
    value = log_likelihood_of(tree, table)
    saturated, alone = _saturated(moments), _independent(moments)
    p, weight = moments.n_columns, moments.filled_weight
    df, df_alone = p * (p + 3) // 2 - tree.n_parameters, p * (p - 1) // 2
    lack, lack_alone = 2 * (saturated - value), 2 * (saturated - alone)
    excess, excess_alone = max(lack - df, 0.0), max(lack_alone - df_alone, lack - df, 0.0)
    residual = _residuals(tree, moments)
    is_known = not np.isnan(saturated)
    return FitMeasures(
        log_likelihood=value,
        bic=bic_from_parts(value, tree.n_parameters, table.total_weight),
        n_parameters=tree.n_parameters,
        saturated_log_likelihood=saturated,
        chi_squared=lack,
        df=df,
        p_value=float(chi2.sf(lack, df)) if is_known and df > 0 else np.nan,
        rmsea=float(np.sqrt(excess / (df * weight))) if is_known and df > 0 else np.nan,
        cfi=1 - excess / excess_alone if is_known and excess_alone > 0 else np.nan,
        srmr=float(np.sqrt((residual[np.tril_indices(p)] ** 2).mean())),
    )


def residual_correlations(
    tree: GaussianTree, X, *, sample_weight=None, weight_kind: WeightKind | None = None
) -> pd.DataFrame:
    """Return the correlations of the columns beside those of the model, the largest differences first.

    Parameters
    ----------
    tree, X, sample_weight, weight_kind
        As in :func:`fit_measures`.

    Returns
    -------
    DataFrame
        A row per pair: ``first``, ``second``, ``observed``, ``fitted`` and ``residual``, the difference. Of a table
        with missing cells, ``observed`` is that of the rows that have both columns.

    Examples
    --------
    >>> tree = GaussianTree(["x", "y"], [-1, -1], [False, False], [0.0, 0.0])
    >>> residual_correlations(tree, pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 3.0, 2.0]})).round(2)
      first second  observed  fitted  residual
    0     x      y       0.5     0.0       0.5
    """
    table, moments = read_for(tree, X, sample_weight=sample_weight, weight_kind=weight_kind)
    observed, residual = pairwise_correlations(moments), _residuals(tree, moments)
    left, right = np.triu_indices(len(observed), 1)
    order = np.argsort(-np.abs(residual[left, right]).round(12), kind="stable")
    left, right = left[order], right[order]
    names = pd.Series(list(table.columns), dtype=object)
    values = observed[left, right], (observed - residual)[left, right], residual[left, right]
    return pd.DataFrame(
        {
            "first": names[left].to_numpy(),
            "second": names[right].to_numpy(),
            **dict(zip(("observed", "fitted", "residual"), values, strict=True)),
        }
    )


def _residuals(tree: GaussianTree, moments: TableMoments) -> np.ndarray:
    """Return the correlations of the columns less those of the model."""
    return pairwise_correlations(moments) - tree.correlations()[np.ix_(~tree.latent, ~tree.latent)]


def _saturated(moments: TableMoments) -> float:
    """Return the log-likelihood of the normal distribution with the moments of a complete table; NaN of others."""
    if not moments.is_complete:
        return np.nan
    sign, log_determinant = np.linalg.slogdet(moments.correlations)
    if sign <= 0:
        return np.nan  # fewer rows than columns, or columns that others determine
    p = moments.n_columns
    return -moments.filled_weight * (p * (LOG_2_PI + 1) + float(log_determinant)) / 2 - moments.log_units


def _independent(moments: TableMoments) -> float:
    """Return the log-likelihood of independent columns, of a complete table."""
    return -moments.filled_weight * moments.n_columns * (LOG_2_PI + 1) / 2 - moments.log_units
