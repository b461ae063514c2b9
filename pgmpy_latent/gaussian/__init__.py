"""Gaussian latent trees: hidden variables behind columns of numbers, and questions to a fitted model."""

from pgmpy_latent.gaussian.queries import bic, impute, log_likelihood, posterior, row_log_likelihoods, sample
from pgmpy_latent.model.gaussian_convert import from_linear_gaussian as from_pgmpy

__all__ = ["bic", "from_pgmpy", "impute", "log_likelihood", "posterior", "row_log_likelihoods", "sample"]
