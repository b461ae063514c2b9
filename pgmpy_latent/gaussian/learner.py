"""The base of the learners of Gaussian trees: ``fit``, the attributes it sets, and questions to a fitted learner."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Literal, Self

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent.diagnostics.explain import writable
from pgmpy_latent.gaussian import queries
from pgmpy_latent.gaussian.columns import NumberTable, check_columns, read_numbers, warn_of_few_numbers
from pgmpy_latent.gaussian.criteria import CRITERIA, Costs, check_criterion
from pgmpy_latent.gaussian.edits import OPERATORS
from pgmpy_latent.gaussian.fit import pairwise_correlations
from pgmpy_latent.gaussian.forest import Forest
from pgmpy_latent.gaussian.loadings import loadings
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.policy import TreePolicy
from pgmpy_latent.gaussian.queries import Absent
from pgmpy_latent.gaussian.words import summary_text
from pgmpy_latent.learners.base import frame_of
from pgmpy_latent.learners.fitted import (
    ShownInNotebooks,
    checked_array,
    is_array,
    score_beside_bic,
    unfinished_words,
    weighting_words,
)
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.search_learner import SearchSettings
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.pgmpy_api import BaseCausalDiscovery, LinearGaussianBayesianNetwork
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.parallel import uninterrupted
from pgmpy_latent.runtime.settings import Constraint, stopped_words
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.scores.scoring_methods import Criterion
from pgmpy_latent.tables.columns import without_columns
from pgmpy_latent.tables.survey import Survey, WeightKind, names_column
from pgmpy_latent.tables.target import refuse_weights_as_target

#: Where columns may stand in a tree.
Columns = Literal["anywhere", "leaves"]


class GaussianLearner(SearchSettings, ShownInNotebooks, TransformerMixin, BaseCausalDiscovery):
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
    tree_: GaussianTree
    model_: LinearGaussianBayesianNetwork
    causal_graph_: LinearGaussianBayesianNetwork
    latents_: list[Hashable]
    log_likelihood_: float
    n_parameters_: int
    bic_: float
    score_: float
    history_: pd.DataFrame
    n_iter_: int
    stopped_: str | None
    remaining_gain_: float
    weight_kind_: WeightKind | None
    n_rows_: int
    total_weight_: float
    n_features_in_: int
    feature_names_in_: np.ndarray

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
        columns = table.columns
        self._data = table  # what report() describes
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(columns, dtype=object)
        self.tree_ = outcome.tree.with_missing(table.missing)
        self.model_ = self.causal_graph_ = to_pgmpy(self.tree_)
        self.latents_ = list(self.tree_.latent_names)
        self.log_likelihood_ = float(outcome.log_likelihood)
        self.n_parameters_ = self.tree_.n_parameters
        self.bic_ = bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        self.score_ = float(outcome.score)
        self.history_ = frame_of(outcome.history)
        self.n_iter_ = max(1, len(outcome.history))
        self.stopped_ = outcome.stopped
        self.remaining_gain_ = float(outcome.remaining_gain)

    @property
    def adjacency_matrix_(self) -> pd.DataFrame:
        """1 where the row's variable is the parent of the column's."""
        check_is_fitted(self)
        return nx.to_pandas_adjacency(self.causal_graph_, weight=1, dtype="int")

    # Questions ------------------------------------------------------------------------------------

    def _table(self, X):
        """Return a table whose columns can be found by name; the columns of an array are those of ``fit``."""
        check_is_fitted(self)
        if not is_array(X):
            return X
        X = checked_array(X)
        aside = self._weights_column
        if aside is not None and X.shape[1] == self.n_features_in_ + 1:
            X = without_columns(X, [aside])
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )
        return pd.DataFrame(X, columns=pd.Index(self.tree_.observed_names, tupleize_cols=False))

    def _asked(self, X) -> tuple[GaussianTree, object]:
        """Return the model and the table of a question."""
        table = self._table(X)
        return self.tree_, table

    def score_samples(self, X, *, absent: Absent = "error") -> np.ndarray:
        """Return the log-density of each row; missing cells are integrated out.

        See :func:`pgmpy_latent.gaussian.row_log_likelihoods`.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table).score_samples(table.head(1)).round(2)
        array([-2.55])
        """
        return queries.row_log_likelihoods(*self._asked(X), absent=absent).to_numpy()

    def score(self, X=None, y=None, *, true_graph=None, metric=None, sample_weight=None):
        """Return the mean log-density of the rows, or compare the learned graph with a true one.

        Parameters
        ----------
        X : DataFrame or array, optional
            The rows.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        true_graph : pgmpy.base.DAG, optional
            A graph to compare with, in place of ``X``.
        metric : str or pgmpy metric, optional
            For graphs; see pgmpy.
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows of ``X``.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> round(GaussianBaseline().fit(table).score(table), 2)
        -2.8
        """
        check_is_fitted(self)
        refuse_weights_as_target(y, sample_weight)
        if (X is None) == (true_graph is None):
            raise ValueError("give either X, for the mean log-density, or true_graph, to compare the graphs")
        if true_graph is not None:
            return super().score(X, true_graph, metric)
        values = self.score_samples(X)
        return float(np.average(values, weights=sample_weight))

    def predict(self, X, *, absent: Absent = "error") -> pd.DataFrame:
        """Return the mean of every hidden variable given each row: factor scores.

        See :func:`pgmpy_latent.gaussian.posterior`, which has standard deviations as well.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(50, 1)) + 0.3 * rng.normal(size=(50, 3)), columns=["x", "y", "z"])
        >>> GaussianBaseline("one_factor").fit(table).predict(table.head(1)).round(2).loc[0].tolist()
        [-0.06]
        """
        found = queries.posterior(*self._asked(X), absent=absent)
        means = found.loc[:, found.columns.get_level_values(1) == "mean"]
        means.columns = pd.Index(self.latents_, tupleize_cols=False)
        return means

    def transform(self, X, *, absent: Absent = "error") -> np.ndarray:
        """Return the means of the hidden variables given each row as features; see :meth:`predict`.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table).transform(table).shape
        (4, 0)
        """
        return self.predict(X, absent=absent).to_numpy()

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the hidden variables.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table).get_feature_names_out()
        array([], dtype=object)
        """
        check_is_fitted(self)
        return np.array([str(name) for name in self.latents_], dtype=object)

    def impute(
        self, X, method: Literal["mean", "draw"] = "mean", random_state=None, *, absent: Absent = "error"
    ) -> pd.DataFrame:
        """Return the table with its missing cells filled. See :func:`pgmpy_latent.gaussian.impute`.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table).impute(pd.DataFrame({"x": [2.0], "y": [None]})).round(2).loc[0].tolist()
        [2.0, 2.07]
        """
        return queries.impute(*self._asked(X), method, random_state, absent=absent)

    def sample(self, n: int = 1, *, latents: bool = False, random_state=None) -> pd.DataFrame:
        """Draw rows from the learned model. See :func:`pgmpy_latent.gaussian.sample`.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table).sample(5, random_state=0).shape
        (5, 2)
        """
        check_is_fitted(self)
        return queries.sample(self.tree_, n, latents=latents, random_state=random_state)

    # The model in words, numbers and pages --------------------------------------------------------

    def posterior(self, X, *, absent: Absent = "error") -> pd.DataFrame:
        """Return the mean and the standard deviation of every hidden variable given each row.

        See :func:`pgmpy_latent.gaussian.posterior`.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(50, 1)) + 0.3 * rng.normal(size=(50, 3)), columns=["x", "y", "z"])
        >>> GaussianBaseline("one_factor").fit(table).posterior(table.head(1)).round(2).loc[0].tolist()
        [-0.06, 0.18]
        """
        return queries.posterior(*self._asked(X), absent=absent)

    def loadings(self) -> pd.DataFrame:
        """Return the correlations of columns and hidden variables. See :func:`pgmpy_latent.gaussian.loadings`.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame(rng.normal(size=(50, 1)) + rng.normal(size=(50, 3)), columns=["x", "y", "z"])
        >>> GaussianBaseline("one_factor").fit(table).loadings().round(2)["H1"].tolist()
        [0.66, 0.6, 0.66]
        """
        check_is_fitted(self)
        return loadings(self.tree_)

    def summary(self) -> None:
        """Print how well the model fits, its tree with the correlations of all edges, and how certain scores are.

        Examples
        --------
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
        >>> GaussianBaseline().fit(table, sample_weight=[1, 2, 2, 2]).summary()
        log-likelihood -19.72, BIC -24.58, 5 parameters, 0 hidden variables, 2 columns
        <BLANKLINE>
        x: y 0.63
        <BLANKLINE>
        Numbers are correlations with the variable above.
        <BLANKLINE>
        Frequency weights: 4 rows stand for 7 (weight_kind="frequency").
        """
        check_is_fitted(self)
        text = summary_text(
            self.tree_, log_likelihood=self.log_likelihood_, bic=self.bic_, score=score_beside_bic(self)
        )
        for words in (weighting_words(self), unfinished_words(self)):
            text += f"\n\n{words}" if words else ""
        print(writable(text, sys.stdout.encoding))

    def report(self, path, X=None, *, sample_weight=None, weight_kind: WeightKind | None = None) -> None:
        """Write a report: one page of HTML about the model, its fit, the search and the table, which needs no network.

        Parameters
        ----------
        path : path-like
            The file, as ``"report.html"``. It is replaced if it exists.
        X : DataFrame or array, optional
            The table to hold the model against; by default the one that ``fit`` was given.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows of ``X``.
        weight_kind : {"frequency", "sampling"}, optional
            What they are.

        Examples
        --------
        >>> import os, tempfile
        >>> from pgmpy_latent import GaussianBaseline
        >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0, 4.0, 4.5], "y": [1.0, 1.5, 1.0, 4.0, 3.0, 5.0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     GaussianBaseline().fit(table).report(f"{folder}/report.html")
        ...     os.listdir(folder)
        ['report.html']
        """
        from pgmpy_latent.report import write_report  # a later layer

        check_is_fitted(self)
        survey: Survey = {} if weight_kind is None else {"weight_kind": weight_kind}
        write_report(self, path, None if X is None else self._table(X), sample_weight=sample_weight, **survey)
