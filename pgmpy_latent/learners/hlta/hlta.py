"""HLTA: latent trees above thousands of columns."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent import presets
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import Absent, log_likelihood
from pgmpy_latent.learners.hlta.levels import LevelsPolicy
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.search_learner import SearchingLearner, made_regular
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import Constraint, RandomState, number
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.sparse import SparseRows, is_sparse, read_sparse
from pgmpy_latent.tables.survey import Survey, WeightKind, check_kind, set_apart


class HLTA(SearchingLearner):
    """Learn a latent tree above hundreds or thousands of columns, level by level.

    Hierarchical latent tree analysis, as for words in documents. The two columns that say most about each other are
    the beginning of an island, which is joined by whatever says most about one of its members, until two hidden
    variables would explain the island clearly better than one does; whatever the hidden variable says too little about
    stays outside. Every island gets a binary hidden variable. These
    are the variables of the next level, seen through their posteriors, and so on, until few are left, which are linked
    by the tree of their highest mutual information. Only small models are fitted on the way up; at the end EM fits the
    whole tree, on all rows at once or, for large tables, on some at a time (stepwise EM).

    Parameters
    ----------
    max_island : int
        Most variables of an island, at least 3. It bounds the work; islands are meant to end by themselves, and a
        smaller number cuts topics of more words into several.
    threshold : float
        By how much the BIC of an island with two hidden variables must exceed that with one for the island to end.
        Larger values make larger islands.
    top : int
        A level of so many variables or fewer is the last. A large number gives one level of hidden variables, linked
        with each other.
    prior : float, optional
        Dirichlet pseudo-count of every table entry, so that nothing that has not occurred yet is impossible; None is
        maximum likelihood (batches then still use 0.001).
    random_state : int, RandomState or Generator, optional
        Seed of the batches of the last EM; nothing else is drawn.
    {shared}
    tuning : HLTATuning, optional
        When EM ends, and how many rows its steps look at. None stands for ``presets.HLTA``.

    Attributes
    ----------
    levels_ : dict
        The level of every hidden variable: 1 if it stands above columns.
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. Hidden variables are called H1, H2 and
        so on in the order in which they came, level by level. Scores in ``history_`` are those of the forest so far as
        its islands see it; ``score_`` and ``log_likelihood_`` are exact.

    See Also
    --------
    BinA, BinG : Hidden variables with several states; for up to a few hundred columns.

    Notes
    -----
    ``fit``, ``partial_fit``, ``score`` and what is asked of rows take SciPy's sparse matrices of zeros and ones, and
    frames of sparse columns. A large one is never written out as a whole: islands look at one column after the other,
    and whatever needs whole rows at some thousand of them, up to 50 million cells at a time.

    References
    ----------
    P. Chen, N. L. Zhang, T. Liu, L. K. M. Poon, Z. Chen and F. Khawar (2017). Latent tree models for hierarchical topic
    detection. Artificial Intelligence 250, 105-124.

    T. Liu, N. L. Zhang and P. Chen (2014). Hierarchical latent tree analysis for topic detection. ECML PKDD 2014, Part
    II, 256-272.

    Examples
    --------
    >>> from pgmpy_latent import HLTA, datasets
    >>> learner = HLTA(top=2).fit(datasets.coins("binary_forest", random_state=0))
    >>> sorted(set(learner.levels_.values()))
    [1]
    """

    levels_: dict[Hashable, int]
    n_jobs = None  # islands come one after the other

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "max_island": number(3, whole=True),
        "threshold": number(0),
        "top": number(1, whole=True),
    }
    _default_tuning = presets.HLTA
    _tuning: presets.HLTATuning

    def __init__(
        self,
        *,
        max_island: int = 60,
        threshold: float = 3.0,
        top: int = 15,
        prior: float | None = 0.01,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.HLTATuning | None = None,
    ) -> None:
        self.max_island = max_island
        self.threshold = threshold
        self.top = top
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

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

    def _learn(self, data: CategoricalData | SparseRows) -> Outcome[LatentTree]:
        search = self._search(data)
        policy = LevelsPolicy(
            data.in_order_of_names(),
            search,
            max_size=int(self.max_island),
            threshold=float(self.threshold),
            top=int(self.top),
            batch_size=self._tuning.batch_size,
            n_epochs=int(self._tuning.n_epochs),
        )
        outcome = search.run(policy.start, policy.advance, policy.check, policy.finish)
        if outcome.stopped is not None and outcome.remaining_gain > 0:  # what islands made of it is an estimate
            exact = policy.log_likelihood(outcome.tree)
            outcome = replace(outcome, log_likelihood=exact, score=policy.score(outcome.tree, exact))
        sizes = outcome.memory.sizes
        levels = np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()
        level_of = dict(zip(outcome.tree.latent_names, levels, strict=True))
        outcome = made_regular(outcome, policy.score)
        self.levels_ = {name: level_of[name] for name in outcome.tree.latent_names}
        return outcome

    # Sparse tables

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
        parts = [super(HLTA, self)._ask(query, block, **options) for block in self._known(X).blocks()]
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
            For scikit-learn.
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
        if weight_kind is None and sample_weight is not None:
            survey["weight_kind"] = self.weight_kind_
        for block in self._known(X, sample_weight, **survey).blocks():
            super().partial_fit(block, decay=decay)  # blocks are about equally large, as they count alike
        return self

    def report(self, path, X=None, *, sample_weight=None, **survey: Unpack[Survey]) -> None:
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
        super().report(path, X, sample_weight=sample_weight, **survey)


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
