"""Gaussian latent trees: hidden variables behind columns of numbers, and questions to a fitted model."""

from pgmpy_latent.gaussian.goodness import FitMeasures, fit_measures, residual_correlations
from pgmpy_latent.gaussian.loadings import determinacy, loadings
from pgmpy_latent.gaussian.queries import bic, impute, log_likelihood, posterior, row_log_likelihoods, sample
from pgmpy_latent.gaussian.uncertainty import standard_errors
from pgmpy_latent.model.gaussian_convert import from_linear_gaussian as from_pgmpy

__all__ = [
    "FitMeasures",
    "bic",
    "determinacy",
    "fit_measures",
    "from_pgmpy",
    "impute",
    "loadings",
    "log_likelihood",
    "posterior",
    "residual_correlations",
    "row_log_likelihoods",
    "sample",
    "standard_errors",
]
