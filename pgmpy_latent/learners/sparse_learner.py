"""Learners that take sparse tables: how these are read for ``fit``, and how rows of them are asked about.

A learner that never writes its table out derives from :class:`SparseLearner`, before its other base; its
``_learn(data)`` is then also given :class:`~pgmpy_latent.tables.sparse.SparseRows`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, Unpack

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import Absent, log_likelihood
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.tables.sparse import SparseRows, is_sparse, read_sparse
from pgmpy_latent.tables.survey import Survey, WeightKind, check_kind, set_apart
from pgmpy_latent.tables.target import refuse_weights_as_target


class SparseLearner(LatentTreeLearner):
    """Base of learners that take sparse tables of zeros and ones: ``fit``, ``partial_fit``, ``score`` and queries.

    A sparse table is never written out as a whole; queries look at some thousand rows at a time.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _sparse_rows(self, X, sample_weight, missing, survey: Survey) -> SparseRows | None:
        X, sample_weight, survey = _without_design(X, sample_weight, survey)
        if not is_sparse(X):
            return None
        if missing:
            raise DataError("a sparse table holds zeros and ones, and none of them is missing; leave missing out")
        rows = read_sparse(X, sample_weight, **survey)
        if rows.n_rows < 2:
            raise DataError(f"n_samples = {rows.n_rows}, at least 2 are required")
        return rows

    def _known(self, X, sample_weight=None, **survey: Unpack[Survey]) -> SparseRows:
        """Return new sparse rows under the names of the columns of ``fit``."""
        check_is_fitted(self)
        X, sample_weight, survey = _without_design(X, sample_weight, survey)
        if isinstance(X, pd.DataFrame):
            columns = set(self._columns)
            X = X.loc[:, [name in columns for name in X.columns]]
        rows = read_sparse(X, sample_weight, **survey)
        known = [self.tree_.state_names[self.tree_.index(name)] for name in self._columns]
        kinds = [type(states[0]) for states in known if states[0] in rows.states]  # 1 and True are the same here
        if kinds:
            rows = replace(rows, states=tuple(map(kinds[0], rows.states)))
        if isinstance(X, SparseRows) and {*self._columns} <= {*rows.columns}:
            return rows
        if not isinstance(X, pd.DataFrame):
            if len(rows.columns) != self.n_features_in_:
                raise DataError(
                    f"X has {len(rows.columns)} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            return replace(rows, columns=tuple(self._columns))
        return rows

    def _ask(self, query, X, **options):
        if not is_sparse(X):
            return super()._ask(query, X, **options)
        parts = [super(SparseLearner, self)._ask(query, block, **options) for block in self._known(X).blocks()]
        return pd.concat(parts, ignore_index=True).set_axis(_index_of(X))

    def score(
        self,
        X=None,
        y=None,
        *,
        true_graph=None,
        metric=None,
        sample_weight=None,
        absent: Absent = "error",
        weight_kind: WeightKind | None = None,
        strata=None,
        cluster=None,
    ):
        """Return the mean log-likelihood of the rows. See :meth:`BinG.score`; sparse rows are welcome.

        Examples
        --------
        >>> from scipy import sparse
        >>> from pgmpy_latent import HLTA
        >>> words = sparse.csr_array([[1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]] * 10)
        >>> round(HLTA().fit(words).score(words), 2)
        -1.24
        """
        if not is_sparse(X) or metric is not None:
            options = {"true_graph": true_graph, "metric": metric, "sample_weight": sample_weight, "absent": absent}
            return super().score(X, y, **options, weight_kind=weight_kind, strata=strata, cluster=cluster)
        refuse_weights_as_target(y, sample_weight)
        check_kind(weight_kind)
        # the mean does not depend on the scale
        rows = self._known(X, sample_weight, weight_kind="sampling", strata=strata, cluster=cluster)
        return sum(log_likelihood(self.tree_, block, absent=absent) for block in rows.blocks()) / rows.total_weight

    def partial_fit(
        self,
        X,
        y=None,
        sample_weight=None,
        *,
        decay: float = 0.9,
        weight_kind: WeightKind | None = None,
        strata=None,
        cluster=None,
    ) -> Self:
        """Let the tables follow new rows. See :meth:`BinG.partial_fit`.

        A sparse table is taken in steps of some thousand rows.

        Parameters
        ----------
        X : DataFrame, array, CategoricalData, sparse matrix, or a table in pieces
            New rows.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows, or the name of the column that holds them.
        decay : float
            From above 0.5, with which old rows are soon forgotten, to 1, with which all batches count alike.
        weight_kind, strata, cluster
            As in :meth:`fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> from pgmpy_latent import HLTA, datasets
        >>> frame = datasets.coins("binary_forest", random_state=0)
        >>> HLTA().fit(frame).partial_fit(frame.head(100)).stopped_ is None
        True
        """
        survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
        if not is_sparse(X) or not hasattr(self, "tree_"):
            return super().partial_fit(X, y, sample_weight, decay=decay, **survey)
        refuse_weights_as_target(y, sample_weight)
        if weight_kind is None and sample_weight is not None:
            survey["weight_kind"] = self.weight_kind_
        for block in self._known(X, sample_weight, **survey).blocks():
            super().partial_fit(block, decay=decay)  # blocks are about equally large, as they count alike
        return self

    def report(
        self,
        path,
        X=None,
        *,
        sample_weight=None,
        groups=None,
        relations=(),
        direct_effects=None,
        rows=None,
        **survey: Unpack[Survey],
    ) -> None:
        """Write a report. See :meth:`BinG.report`; of a sparse table, give some rows, written out.

        Examples
        --------
        >>> from scipy import sparse
        >>> from pgmpy_latent import HLTA
        >>> HLTA().fit(sparse.csr_array([[1, 1, 0], [0, 0, 1]] * 9)).report("report.html")
        Traceback (most recent call last):
        pgmpy_latent.exceptions.DataError: a report needs rows that are written out...
        """
        if is_sparse(X) or (X is None and isinstance(getattr(self, "_data", None), SparseRows)):
            raise DataError(
                "a report needs rows that are written out; give some, as in report(path, X[:5000].toarray())"
            )
        found = {"groups": groups, "relations": relations, "direct_effects": direct_effects}
        super().report(path, X, sample_weight=sample_weight, rows=rows, **found, **survey)


def _without_design(X, sample_weight, survey: Survey) -> tuple[Any, Any, Survey]:
    """Return a frame without columns that hold weights, strata and clusters, of which the rest may be sparse."""
    if not isinstance(X, pd.DataFrame):
        return X, sample_weight, survey
    named = {"sample_weight": sample_weight, "strata": survey.get("strata"), "cluster": survey.get("cluster")}
    X, design = set_apart(X, named)
    values: Survey = {**survey, "strata": design["strata"], "cluster": design["cluster"]}
    return X, design["sample_weight"], values


def _index_of(X) -> pd.Index:
    if isinstance(X, pd.DataFrame):
        return X.index
    return pd.RangeIndex(X.n_rows if isinstance(X, SparseRows) else X.shape[0])
