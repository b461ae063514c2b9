"""Methods of fitted learners and given models that are Gaussian trees."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Literal

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent.diagnostics.explain import writable
from pgmpy_latent.gaussian import queries
from pgmpy_latent.gaussian.loadings import loadings
from pgmpy_latent.gaussian.queries import Absent
from pgmpy_latent.gaussian.words import summary_text
from pgmpy_latent.learners.fitted import (
    ShownInNotebooks,
    checked_array,
    is_array,
    score_beside_bic,
    unfinished_words,
    weighting_words,
)
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.pgmpy_api import LinearGaussianBayesianNetwork
from pgmpy_latent.tables.columns import without_columns
from pgmpy_latent.tables.survey import Survey, WeightKind, index_of_frame, refuse_other_order
from pgmpy_latent.tables.target import refuse_weights_as_target

#: Methods that only models of categories have -> what Gaussian trees have in their place.
INSTEAD = {
    "profiles": "hidden variables that are numbers have no classes: loadings() says how columns go with them",
    "informative_columns": "loadings() says how columns go with hidden variables",
    "predict_proba": "hidden variables that are numbers have no probabilities: posterior(X) has means and deviations",
    "partial_fit": "fit all rows together",
}


class FittedGaussian(ShownInNotebooks, TransformerMixin):
    """Methods of everything that has a Gaussian tree as its model, ``tree_``."""

    #: The column that held the weights of ``fit``, if one did.
    _weights_column: Hashable | None = None
    tree_: GaussianTree
    model_: LinearGaussianBayesianNetwork
    causal_graph_: LinearGaussianBayesianNetwork
    latents_: list[Hashable]
    n_parameters_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __getattr__(self, name: str):
        """Name what Gaussian trees have in place of a method that models of categories have."""
        instead = f"; {INSTEAD[name]}" if name in INSTEAD else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{instead}", name=name, obj=self)

    def _describe(self, tree: GaussianTree) -> None:
        """Set the attributes that say what the model is."""
        columns = tree.observed_names
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(columns, dtype=object)
        self.tree_ = tree
        self.model_ = self.causal_graph_ = to_pgmpy(tree)
        self.latents_ = list(tree.latent_names)
        self.n_parameters_ = tree.n_parameters

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
        refuse_other_order(sample_weight, index_of_frame(X), "sample_weight")
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
        known = {name: getattr(self, f"{name}_", None) for name in ("log_likelihood", "bic")}
        text = summary_text(self.tree_, **known, score=score_beside_bic(self) if hasattr(self, "score_") else None)
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
