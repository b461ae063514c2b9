"""The base of the learners of Gaussian trees: ``fit``, and the attributes that it sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent.gaussian.columns import NumberTable, check_columns, read_numbers, warn_of_few_numbers
from pgmpy_latent.gaussian.criteria import CRITERIA, Costs, check_criterion
from pgmpy_latent.gaussian.edits import OPERATORS
from pgmpy_latent.gaussian.fit import pairwise_correlations
from pgmpy_latent.gaussian.fitted import FittedGaussian
from pgmpy_latent.gaussian.forest import Forest
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.policy import TreePolicy
from pgmpy_latent.learners.base import frame_of
from pgmpy_latent.learners.fitted import checked_array, is_array
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.search_learner import SearchSettings
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.pgmpy_api import BaseCausalDiscovery
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.parallel import uninterrupted
from pgmpy_latent.runtime.settings import Constraint, stopped_words
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.scores.scoring_methods import Criterion
from pgmpy_latent.tables.survey import WeightKind, names_column
from pgmpy_latent.tables.target import refuse_weights_as_target

#: Where columns may stand in a tree.
Columns = Literal["anywhere", "leaves"]


class GaussianLearner(SearchSettings, FittedGaussian, BaseCausalDiscovery):
    """Base of the learners of Gaussian trees: a pgmpy structure learner and a scikit-learn estimator.

    A subclass stores its keywords untouched in ``__init__``, and implements ``_begin(correlations, weight, cost)``,
    which returns forests to begin with, and ``_operators``, the moves that improve them.
    """

    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {
        "columns": (
            'columns : {"anywhere", "leaves"}',
            "Whether columns may have several neighbours, as hidden variables do, or only one.",
        ),
        "scoring_method": (
            'scoring_method : {"bic", "ebic", "aic"}',
            "What is maximised. The extended BIC takes the logarithm of the number of columns from the log-likelihood "
            "for every edge, besides the cost of its parameter: with many columns there are many places for an edge, "
            "and some will look useful by chance.",
        ),
    }
    _constraints: ClassVar[Mapping[str, Constraint]] = {"scoring_method": check_criterion}
    #: ``scoring_method`` -> what the search maximises, in words.
    _criteria: ClassVar[Mapping[str, Criterion]] = CRITERIA
    #: Everything runs in one thread.
    n_jobs = None
    log_likelihood_: float
    bic_: float
    score_: float
    history_: pd.DataFrame
    n_iter_: int
    stopped_: str | None
    remaining_gain_: float
    weight_kind_: WeightKind | None
    n_rows_: int
    total_weight_: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    def _begin(self, correlations: np.ndarray, weight: float, cost: float) -> list[Forest]:
        """Return the forests to begin with, given the correlations of the columns, and what an edge must gain."""
        raise NotImplementedError(f"{type(self).__name__} does not say where it begins: implement _begin")

    def _operators(self) -> Sequence[str]:
        """Return the moves of the search."""
        return tuple(OPERATORS)

    def fit(self, X, y=None, sample_weight=None, *, weight_kind: WeightKind | None = None, missing=None) -> Self:
        """Learn a tree.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_columns)
            Columns of numbers; missing cells (NaN) are fine.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows.
        weight_kind : {"frequency", "sampling"}, optional
            What the weights are: numbers of rows, or sampling weights. Whole numbers are frequencies by default, others
            sampling weights.
        missing : value, list of values, or dict of column to either, optional
            Values that count as missing cells, in all columns or in those that are named, as ``{"income": [999]}``. The
            model keeps them, and new rows are read in the same way. Values that look like such codes are named in a
            warning; ``missing={}`` says that there are none.

        Returns
        -------
        self

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table).model_.edges()
        OutEdgeView([('x', 'y')])
        """
        refuse_weights_as_target(y, sample_weight)
        self._check_settings()
        X = checked_array(X) if is_array(X) else X
        table = read_numbers(X, sample_weight, weight_kind=weight_kind, missing=missing)
        check_columns(table)
        with one_blas_thread():
            moments = table.moments()
            outcome = self._learn(table.columns, moments)
        with uninterrupted():
            self._weights_column = sample_weight if names_column(sample_weight, table.columns) else None
            self.weight_kind_, self.n_rows_, self.total_weight_ = table.weight_kind, table.n_rows, table.total_weight
            self._keep(outcome, table)
        if outcome.stopped is not None:
            checkpoint = getattr(self, "checkpoint", None)
            warn(stopped_words(outcome.stopped, checkpoint, left=outcome.remaining_gain), ConvergenceWarning)
        warn_of_few_numbers(self.n_parameters_, self.total_weight_)
        return self

    def _learn(self, columns: Sequence[Hashable], moments: TableMoments) -> Outcome[GaussianTree]:
        search = self._search(moments)
        costs = Costs.of(getattr(self, "scoring_method", "bic"), moments.total_weight, moments.n_columns)
        anywhere = getattr(self, "columns", "anywhere") == "anywhere"
        policy = TreePolicy(columns, moments, search, costs, self._operators(), anywhere)
        forests = self._begin(pairwise_correlations(moments), moments.total_weight, costs.edge)
        return search.run(lambda: policy.start(forests), policy.advance, policy.check, policy.finish)

    def _keep(self, outcome: Outcome[GaussianTree], table: NumberTable) -> None:
        """Set the public attributes that describe the result."""
        self._data = table  # what report() describes
        self._describe(outcome.tree.with_missing(table.missing))
        self.log_likelihood_ = float(outcome.log_likelihood)
        self.bic_ = bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        self.score_ = float(outcome.score)
        self.history_ = frame_of(outcome.history)
        self.n_iter_ = max(1, len(outcome.history))
        self.stopped_ = outcome.stopped
        self.remaining_gain_ = float(outcome.remaining_gain)
