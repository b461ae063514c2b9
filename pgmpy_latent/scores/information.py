"""BIC and its relatives: the log-likelihood less a penalty for every parameter."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from pgmpy_latent.diagnostics.dimension import effective_dimension
from pgmpy_latent.inference.queries import AnyModel, asked, encode_for, log_likelihood
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.survey import Survey


def _likelihood_and_weight(model: AnyModel, X, sample_weight, survey: Survey) -> tuple[float, float]:
    """Return LL and N, without the counts that only some scores need."""
    data = encode_for(model, X, sample_weight=sample_weight, **survey)
    return log_likelihood(model, data), data.total_weight


def penalty_per_parameter(total_weight: float) -> float:
    """Return what each free parameter costs in a score: ``ln(N) / 2``, the penalty of BIC.

    The searches compare models by the log-likelihood minus this for every parameter.

    Examples
    --------
    >>> round(penalty_per_parameter(100.0), 4)
    2.3026
    """
    return float(np.log(total_weight)) / 2


def bic_from_parts(log_likelihood: float, n_parameters: int, total_weight: float) -> float:
    """Return the BIC of a model whose log-likelihood is known.

    Examples
    --------
    >>> round(bic_from_parts(-2.2493, 1, 4.0), 4)
    -2.9424
    """
    return float(log_likelihood - n_parameters * penalty_per_parameter(total_weight))


def aic_from_parts(total: float, d: int) -> float:
    """Return AIC, given the log-likelihood and the number of parameters."""
    return float(total - d)


def caic_from_parts(total: float, d: int, n: float) -> float:
    """Return CAIC, given the log-likelihood, the number of parameters and the total weight."""
    return float(total - d / 2 * (np.log(n) + 1))


def adjusted_bic_from_parts(total: float, d: int, n: float) -> float:
    """Return the adjusted BIC, given the log-likelihood, the number of parameters and the total weight."""
    return float(total - d / 2 * np.log((n + 2) / 24))


def bic(tree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the Bayesian information criterion, ``LL - d/2 ln N``; larger is better.

    Parameters
    ----------
    tree : LatentTree, LatentNetwork, TreeMixture, pgmpy network, fitted learner or estimator
        The model, with maximum likelihood tables.
    X : DataFrame, array or CategoricalData
        The table; missing cells are summed out.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.

    Returns
    -------
    float
        With ``LL`` the log-likelihood, ``d`` the number of free parameters and ``N`` the sum of the weights.
        Statistical software prints ``-2 LL + d ln N``, which is this times -2, and smaller is better there.

    References
    ----------
    Schwarz, G. (1978). Estimating the dimension of a model. The Annals of Statistics, 6(2), 461-464.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(bic(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]})), 4)
    -2.9425
    """
    model = asked(tree)
    total, n = _likelihood_and_weight(model, X, sample_weight, survey)
    return bic_from_parts(total, model.n_parameters, n)


def aic(tree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return Akaike's information criterion, ``LL - d``; larger is better.

    ``LL`` is the log-likelihood and ``d`` the number of free parameters. Arguments are those of :func:`bic`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(aic(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]})), 4)
    -3.2493
    """
    model = asked(tree)
    total, _ = _likelihood_and_weight(model, X, sample_weight, survey)
    return aic_from_parts(total, model.n_parameters)


def caic(tree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the consistent AIC, ``LL - d/2 (ln N + 1)``; larger is better.

    ``LL`` is the log-likelihood, ``d`` the number of free parameters and ``N`` the sum of the weights. Arguments are
    those of :func:`bic`.

    References
    ----------
    Bozdogan, H. (1987). Model selection and Akaike's information criterion. Psychometrika, 52(3), 345-370.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(caic(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]})), 4)
    -3.4425
    """
    model = asked(tree)
    total, n = _likelihood_and_weight(model, X, sample_weight, survey)
    return caic_from_parts(total, model.n_parameters, n)


def adjusted_bic(tree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the sample-size adjusted BIC, ``LL - d/2 ln((N + 2) / 24)``; larger is better.

    ``LL`` is the log-likelihood, ``d`` the number of free parameters and ``N`` the sum of the weights. Below 22 rows
    the logarithm is negative and more parameters count as better: use it for larger tables. Arguments are those of
    :func:`bic`.

    References
    ----------
    Sclove, S. L. (1987). Application of model-selection criteria to some problems in multivariate analysis.
    Psychometrika, 52(3), 333-343.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(adjusted_bic(tree, pd.DataFrame({"x": ["a", "b"] * 23})), 4)
    -38.848
    """
    model = asked(tree)
    total, n = _likelihood_and_weight(model, X, sample_weight, survey)
    return adjusted_bic_from_parts(total, model.n_parameters, n)


def effective_bic(tree: LatentTree, X, *, sample_weight=None, random_state=0, **survey: Unpack[Survey]) -> float:
    """Return the BIC with the effective dimension, ``LL - d_e/2 ln N``; larger is better.

    ``LL`` is the log-likelihood, ``d_e`` is :func:`effective_dimension` and ``N`` the sum of the weights. With
    ``N`` above 1 it is at least :func:`bic`. Arguments are those of :func:`bic`; ``random_state`` is for the
    effective dimension.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]])
    >>> round(effective_bic(tree, pd.DataFrame({"x": ["a", "b"]})), 4)
    -1.7329
    """
    total, n = _likelihood_and_weight(tree, X, sample_weight, survey)
    return bic_from_parts(total, effective_dimension(tree, random_state=random_state), n)
