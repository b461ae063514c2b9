"""The figures of a report about a Gaussian tree: each is computed once, at its first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from pgmpy_latent.gaussian import FitMeasures, fit_measures, residual_correlations, standard_errors
from pgmpy_latent.gaussian.columns import NumberTable
from pgmpy_latent.gaussian.criteria import CRITERIA
from pgmpy_latent.gaussian.learner import GaussianLearner
from pgmpy_latent.gaussian.queries import read_for
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.runtime.configured import settings_in_force
from pgmpy_latent.scores.scoring_methods import Criterion

#: Number of parameters from which standard errors are left out, since they would take long.
MANY_PARAMETERS = 400


@dataclass(eq=False)
class GaussianFacts:
    """A Gaussian tree, the table to compare it with, and the learner that found it, if any.

    Attributes
    ----------
    model : GaussianTree
    data : NumberTable
        The table.
    learner : fitted learner or None
        Where the model comes from.
    own_data : bool
        Whether the table is the one that the learner learned from.
    command : str or None
        The command line that the model comes from.
    """

    model: GaussianTree
    data: NumberTable
    learner: GaussianLearner | None = None
    own_data: bool = True
    command: str | None = None

    @property
    def settings(self) -> dict:
        """The learner's settings; empty if there is no learner."""
        return {} if self.learner is None else settings_in_force(self.learner)

    @property
    def criterion(self) -> Criterion:
        """What the search maximised."""
        return CRITERIA[self.settings.get("scoring_method", "bic")]

    @property
    def hidden(self) -> list[int]:
        """The hidden nodes."""
        return np.flatnonzero(self.model.latent).tolist()

    @cached_property
    def _asked(self) -> tuple[pd.DataFrame, dict]:
        """The table as a frame, and its weights, which are scaled already, as frequencies."""
        frame = pd.DataFrame(self.data.values, columns=pd.Index(self.data.columns, tupleize_cols=False))
        weights = self.data.weights
        return frame, {} if weights is None else {"sample_weight": weights, "weight_kind": "frequency"}

    @cached_property
    def measures(self) -> FitMeasures:
        """How well the model fits."""
        frame, weights = self._asked
        return fit_measures(self.model, frame, **weights)

    @cached_property
    def residuals(self) -> pd.DataFrame:
        """Residual correlations, the largest first."""
        frame, weights = self._asked
        return residual_correlations(self.model, frame, **weights)

    @cached_property
    def errors(self) -> pd.DataFrame | None:
        """Standard errors; None where the model is not at a maximum of the likelihood of this table, or is large."""
        if self.learner is None or not self.own_data or self.model.n_parameters > MANY_PARAMETERS:
            return None
        frame, weights = self._asked
        return standard_errors(self.model, frame, **weights)

    @property
    def missing_shares(self) -> np.ndarray:
        """The share of the weight that lacks each column."""
        weights = np.ones(self.data.n_rows) if self.data.weights is None else self.data.weights
        return weights @ np.isnan(self.data.values) / weights.sum()


def gaussian_facts(model, X=None, sample_weight=None, **survey) -> GaussianFacts:
    """Return model, table and learner, ready for a report."""
    learner = model if isinstance(model, GaussianLearner) else None
    tree: GaussianTree = getattr(model, "tree_", model)
    if X is not None:
        data, _ = read_for(tree, X, sample_weight=sample_weight, **survey)
        return GaussianFacts(tree, data, learner, own_data=False)
    if sample_weight is not None or survey:
        raise ValueError("sample_weight belongs to X; give both, or neither for the table that was learned from")
    known: NumberTable | None = getattr(model, "_data", None)
    if known is None:
        raise ValueError(f"this {type(model).__name__} has no table with it; give the one to report about as X")
    return GaussianFacts(tree, known, learner, own_data=learner is not None)
