"""A Gaussian tree that is there already, with the methods of a learner."""

from __future__ import annotations

from typing import Self

import pandas as pd

from pgmpy_latent.gaussian import queries
from pgmpy_latent.gaussian.columns import NumberTable
from pgmpy_latent.gaussian.fitted import FittedGaussian
from pgmpy_latent.learners.fitted import checked_array, is_array
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.history import History
from pgmpy_latent.model.pgmpy_api import BaseCausalDiscovery
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.tables.survey import WeightKind, names_column
from pgmpy_latent.tables.target import refuse_weights_as_target


class GivenGaussian(FittedGaussian, BaseCausalDiscovery):
    """A given Gaussian tree with the methods of a learner; :func:`pgmpy_latent.fitted` makes it.

    Attributes
    ----------
    tree_ : GaussianTree
        The model.
    model_, causal_graph_ : pgmpy.models.LinearGaussianBayesianNetwork
        The same as a pgmpy network.
    latents_, n_parameters_, n_features_in_, feature_names_in_
        As learners have them.
    log_likelihood_, bic_, n_rows_, total_weight_, weight_kind_, history_, stopped_
        As learners have them, if they are known: of the table that was given, from the estimator, or from the file.
    written_by_, learner_ : str
        Of a file, if it says so: the version that wrote it, and what had learned the model.
    """

    log_likelihood_: float
    bic_: float
    n_rows_: int
    total_weight_: float
    weight_kind_: WeightKind | None
    history_: pd.DataFrame

    def __init__(self, model: GaussianTree) -> None:
        self.model = model
        self._data: NumberTable | None = None
        self._describe(model)

    def fit(self, X=None, y=None, sample_weight=None, *, weight_kind: WeightKind | None = None) -> Self:
        """Hold the model against a table. The model stays as it is: there is nothing to learn.

        Parameters
        ----------
        X : DataFrame or array, optional
            The table. Without one, nothing happens.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight, weight_kind
            As in the ``fit`` of learners.

        Returns
        -------
        self
            ``log_likelihood_``, ``bic_`` and what is said about the rows are of this table.

        Examples
        --------
        >>> model = GivenGaussian(GaussianTree(["x"], [-1], [False], [0.0]))
        >>> round(model.fit(pd.DataFrame({"x": [-1.0, 1.0]})).log_likelihood_, 4)
        -2.8379
        """
        refuse_weights_as_target(y, sample_weight)
        if X is None:
            return self
        frame = checked_array(X) if is_array(X) else X
        self._weights_column = sample_weight if names_column(sample_weight) else None
        table, _ = queries.read_for(self.tree_, frame, sample_weight=sample_weight, weight_kind=weight_kind)
        self._data = table
        self.weight_kind_, self.n_rows_, self.total_weight_ = table.weight_kind, table.n_rows, table.total_weight
        self.log_likelihood_ = queries.log_likelihood_of(self.tree_, table)
        self.bic_ = bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        return self

    def remember(self, history: History) -> Self:
        """Set what is known about the table and the search that the model comes from."""
        for name, value in history.known().items():
            setattr(self, f"{name}_", value)
        if "log_likelihood_" in vars(self) and "total_weight_" in vars(self):
            self.bic_ = bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        return self
