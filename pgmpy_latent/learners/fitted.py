"""Methods of fitted learners: likelihoods, posteriors, imputation, new rows, summaries and reports."""

from __future__ import annotations

import sys
from typing import Unpack

import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent import scores
from pgmpy_latent.diagnostics import explain
from pgmpy_latent.diagnostics.uncertainty import standard_errors
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference import queries
from pgmpy_latent.inference.queries import Absent
from pgmpy_latent.learners.profiles import profiles, profiles_with_errors
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.configured import settings_in_force
from pgmpy_latent.tables.columns import without_columns
from pgmpy_latent.tables.survey import Survey, WeightKind, check_kind, rows_in_words, set_apart
from pgmpy_latent.tables.target import refuse_weights_as_target
from pgmpy_latent.tables.unseen import FIT_AGAIN, Unseen, unseen_remedy

#: A score that differs from BIC by less is BIC: figures are printed with two decimals.
LEAST_DIFFERENCE = 0.005
#: Most hidden variables whose numbers of states are listed in one sentence.
MOST_SIZES = 12


class ShownInNotebooks:
    """How learners look in notebooks; ``_holder`` names the attribute with the model."""

    _holder = "tree_"

    def _repr_html_inner(self) -> str:
        """Return the learner as notebooks show it: scikit-learn's picture of its settings, and the fitted model."""
        from pgmpy_latent.report.notebook import learner_html

        return learner_html(self, super()._repr_html_inner())  # type: ignore[misc]  # of scikit-learn's base class

    def _repr_mimebundle_(self, **kwargs) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


class FittedModel(ShownInNotebooks, TransformerMixin):
    """Methods of a fitted learner; each calls a function of :mod:`pgmpy_latent.inference.queries` with its model.

    Needs a model under the name that ``_holder`` gives, ``n_features_in_`` and ``_columns``, the columns of ``fit``,
    and a next class that has pgmpy's ``score``. New frames are read by the names of their columns, and further columns
    are ignored; arrays are read by position.
    """

    #: How new rows with categories that the model does not know are treated: the ``unseen`` of ``fit``.
    _unseen: Unseen = "missing"

    @property
    def _learned(self):
        return getattr(self, self._holder)

    def _table(self, X):
        """Return a table whose columns can be found by name; the columns of an array are those of ``fit``.

        An array may still have the columns that ``fit`` read as weights, strata or clusters; they are left out.
        """
        check_is_fitted(self)
        if not is_array(X):
            return X
        X = checked_array(X)
        aside = {name for name in getattr(self, "design_", {}).values() if name is not None}
        if X.shape[1] == self.n_features_in_ + len(aside) and aside <= {*range(X.shape[1])}:
            X = without_columns(X, aside)
        if X.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )
        return pd.DataFrame(X, columns=pd.Index(self._columns, tupleize_cols=False))

    def _table_and_design(self, X, drawn: dict) -> tuple[object, dict]:
        """Return a table as :meth:`_table` does, and the design, with values in place of the columns of an array."""
        if is_array(X):
            X, drawn = set_apart(checked_array(X), drawn)
        return self._table(X), drawn

    def _ask(self, query, X, **options):
        """Call a function of :mod:`pgmpy_latent.inference.queries` with the learned model."""
        X = self._table(X)
        with unseen_remedy(FIT_AGAIN):
            return query(self._learned, X, unseen=self._unseen, **options)

    def score_samples(self, X, *, absent: Absent = "error") -> np.ndarray:
        """Return the log-likelihood of each row (natural logarithm); larger is better.

        Parameters
        ----------
        X : DataFrame, array or CategoricalData
            The rows; missing cells are summed out.
        absent : {"error", "sum_out"}
            If a frame lacks columns of ``fit``: raise an error, or sum them out as missing cells.

        Returns
        -------
        array, shape (n_rows,)
            Minus infinity for rows that the model rules out.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame).score_samples(frame.head(2)).round(4)
        array([-0.6931, -0.6931])
        """
        return self._ask(queries.row_log_likelihoods, X, absent=absent).to_numpy()

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
        """Return the mean log-likelihood of the rows, or compare the learned graph with a true one.

        Parameters
        ----------
        X : DataFrame, array or CategoricalData, optional
            The rows; missing cells are summed out.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        true_graph : pgmpy.base.DAG, optional
            A graph to compare with, in place of ``X``.
        metric : str or pgmpy metric, optional
            What to use instead of the log-likelihood or, with ``true_graph``, of the structural Hamming distance. Those
            of pgmpy want all nodes, and so the hidden variables, in ``true_graph`` or among the columns of ``X``.
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows of ``X``, or the name of the column that holds them. Rows count alike by default,
            whatever ``fit`` was given.
        absent : {"error", "sum_out"}
            If a frame lacks columns of ``fit``: raise an error, or sum them out as missing cells.
        weight_kind, strata, cluster
            As in :meth:`fit`. A weighted mean depends on none of them; columns that they name are not read as data.

        Returns
        -------
        float
            Natural logarithm, larger is better; or the value of the metric.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> learner = RandomStarts(n_states=2).fit(frame)
        >>> round(learner.score(frame), 4), learner.score(true_graph=learner.model_)
        (-0.6931, 0)
        """
        check_is_fitted(self)
        refuse_weights_as_target(y, sample_weight)
        if (X is None) == (true_graph is None):
            raise ValueError("give either X, for the mean log-likelihood, or true_graph, to compare the graphs")
        check_kind(weight_kind)
        drawn = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        if true_graph is not None or metric is not None:
            given = [what for what, value in drawn.items() if value is not None]
            if given:
                raise ValueError(f"pgmpy's metrics take no weights; leave {' and '.join(given)} out")
            if X is not None and hasattr(metric, "evaluate"):
                return metric.evaluate(X, self.causal_graph_)  # pgmpy's own way would refuse missing cells first
            return super().score(X, true_graph, metric)
        X, drawn = self._table_and_design(X, drawn)
        kind: WeightKind | None = None if sample_weight is None else "sampling"  # the mean does not depend on the scale
        with unseen_remedy(FIT_AGAIN):
            data = queries.encode_for(self._learned, X, unseen=self._unseen, absent=absent, weight_kind=kind, **drawn)
        return scores.log_likelihood(self._learned, data, absent=absent) / data.total_weight

    def predict_proba(self, X, *, absent: Absent = "error") -> pd.DataFrame:
        """Return the posterior distribution of each hidden variable given each row.

        Parameters
        ----------
        X : DataFrame, array or CategoricalData
            The rows.
        absent : {"error", "sum_out"}
            If a frame lacks columns of ``fit``: raise an error, or sum them out as missing cells.

        Returns
        -------
        DataFrame
            Columns are pairs (latent, state), rows those of ``X`` under its index. Rows that the model rules out are
            NaN, with a warning.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4]).predict_proba(frame.tail(1)).round(2)
        node     H
        state    0    1
        3      1.0  0.0
        """
        return self._ask(queries.posterior, X, absent=absent)

    def predict(self, X, *, absent: Absent = "error") -> pd.DataFrame:
        """Return the most likely state of each hidden variable given each row, each variable by itself.

        Parameters
        ----------
        X, absent
            As in :meth:`predict_proba`.

        Returns
        -------
        DataFrame
            A column per hidden variable, rows those of ``X`` under its index.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4]).predict(frame)["H"].tolist()
        [1, 1, 0, 0]
        """
        return self._ask(queries.most_likely, X, absent=absent)

    def transform(self, X, *, absent: Absent = "error"):
        """Return the posteriors of the hidden variables as features. See :meth:`predict_proba`.

        Parameters
        ----------
        X, absent
            As in :meth:`predict_proba`.

        Returns
        -------
        array, shape (n_rows, n_hidden_states)
            Or a DataFrame, as ``set_output`` says; its columns are :meth:`get_feature_names_out`.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).set_output(transform="pandas").fit_transform(frame).columns.tolist()
        ['H=0', 'H=1']
        """
        return self.predict_proba(X, absent=absent).to_numpy()

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the features that :meth:`transform` makes, such as ``"H=0"``.

        Parameters
        ----------
        input_features : sequence of str, optional
            If given, must be the names of the columns of ``fit``; as many as there were, if these had none.

        Returns
        -------
        array of str

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame).get_feature_names_out()
        array(['H=0', 'H=1'], dtype=object)
        """
        check_is_fitted(self)
        if input_features is not None:
            if len(input_features) != self.n_features_in_:
                raise ValueError(f"input_features should have length equal to number of columns: {self.n_features_in_}")
            known = getattr(self, "feature_names_in_", None)
            if known is not None and list(input_features) != list(known):
                raise ValueError(f"input_features is not equal to feature_names_in_: {list(known)}")
        tree = self._learned
        names = [f"{name}={state}" for name in tree.latent_names for state in tree.state_names[tree.index(name)]]
        return np.array(names, dtype=object)

    def impute(self, X, method: str = "most_likely", random_state=None, *, absent: Absent = "error") -> pd.DataFrame:
        """Return the table with its missing cells filled. See :func:`pgmpy_latent.impute`.

        Parameters
        ----------
        X : DataFrame, array or CategoricalData
            The rows.
        method : {"most_likely", "draw"}
            The most likely state of each missing cell given the row's other cells; or a draw of all missing cells of a
            row from their joint posterior.
        random_state : int or Generator, optional
            For draws.
        absent : {"error", "sum_out"}
            If a frame lacks columns of ``fit``: raise an error, or fill them as if all their cells were missing.

        Returns
        -------
        DataFrame
            All columns of a frame in its order, under its index, and categorical where they are there; of an array, the
            columns of ``fit``. Cells that are filled stay as they are, also those whose category the model does not
            know.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> gap = pd.DataFrame({"x": ["a"], "y": [None], "z": ["e"]})
        >>> RandomStarts(n_states=2).fit(frame).impute(gap).loc[0].tolist()
        ['a', 'c', 'e']
        """
        return self._ask(queries.impute, X, method=method, random_state=random_state, absent=absent)

    def sample(self, n: int = 1, *, latents: bool = False, random_state=None) -> pd.DataFrame:
        """Draw new rows from the learned model.

        Parameters
        ----------
        n : int
            Number of rows.
        latents : bool
            Whether the hidden variables are among the columns.
        random_state : int or Generator, optional
            For repeatable draws.

        Returns
        -------
        DataFrame
            Columns hold states: ``astype(X.dtypes)`` makes them categorical again where those of ``X`` were.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame).sample(5, random_state=0).shape
        (5, 3)
        """
        check_is_fitted(self)
        return queries.sample(self._learned, n, latents=latents, random_state=random_state)

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
        """Write a report: one page of HTML about the model, the table and the search, which needs no network.

        Parameters
        ----------
        path : path-like
            The file, as ``"report.html"``. It is replaced if it exists.
        X : DataFrame, array or CategoricalData, optional
            The table to hold the model against; by default the one that ``fit`` was given.
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows of ``X``, or the name of the column that holds them.
        groups : GroupComparison, optional
            What :func:`pgmpy_latent.compare_groups` found; it gets a section.
        relations : CovariateRelation, OutcomeRelation or list of them, optional
            What :func:`pgmpy_latent.relate` found; it gets a section.
        direct_effects : DirectEffects, optional
            What :func:`pgmpy_latent.add_direct_effects` found; it gets a section.
        rows : DataFrame, array, CategoricalData or int, optional
            Rows that the reader can choose to see why they are unusual, or how many of the least likely ones of the
            table. None by default: whoever has the page can read them.
        survey : weight_kind, strata, cluster
            What the weights are, and how rows were drawn, as in :meth:`fit`.

        Examples
        --------
        >>> import os, tempfile
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     RandomStarts(n_states=2, random_state=0).fit(frame).report(f"{folder}/report.html")
        ...     os.listdir(folder)
        ['report.html']
        """
        from pgmpy_latent.report import write_report  # a later layer

        check_is_fitted(self)
        found = {"groups": groups, "relations": relations, "direct_effects": direct_effects}
        write_report(self, path, X, sample_weight=sample_weight, rows=rows, **found, **survey)


class FittedDiscrete(FittedModel):
    """Methods of everything that has one tree or network as its model."""

    def profiles(
        self, *, errors: bool = False, X=None, sample_weight=None, level: float = 0.95, **survey: Unpack[Survey]
    ) -> pd.DataFrame:
        """Return the shares of the hidden states, and the probabilities of the categories given each of them.

        Parameters
        ----------
        errors : bool
            Whether to return a table with a row per probability, with standard errors and confidence intervals
            (:func:`pgmpy_latent.standard_errors`), in place of a table with a column per state.
        X : DataFrame, array or CategoricalData, optional
            For ``errors``: the table that the model was fitted to; by default the one that ``fit`` was given.
        sample_weight, survey
            For ``errors``: as in :func:`pgmpy_latent.standard_errors`.
        level : float
            For ``errors``: how often the intervals shall cover the truth.

        Returns
        -------
        DataFrame
            Columns are pairs (latent, state). The first row, ``("share", "")``, holds P(state). The others are pairs
            (variable, category) of all observed variables, with P(variable = category | state), also of variables
            below other hidden variables. Where truth values and numbers meet among the categories,
            truth values are written as text, as pandas cannot tell True from 1 in an index.

            With ``errors``, the columns are ``latent``, ``state``, ``variable``, ``category``, ``probability``,
            ``standard_error``, ``lower``, ``upper`` and ``note``. Probabilities that are no entries of the model's
            tables, as those of a column given a hidden variable that is not its parent, have no errors; their note says
            so.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4]).profiles().round(2).loc[["share", "x"]]
        latent               H
        state                0    1
        variable category
        share               0.7  0.3
        x        a          0.0  1.0
                 b          1.0  0.0
        """
        check_is_fitted(self)
        if not errors:
            return profiles(self._learned)
        table = getattr(self, "_data", None) if X is None else X
        if table is None:
            raise DataError(
                f"errors=True needs the table that this {type(self).__name__} was fitted to; give it, as "
                "profiles(errors=True, X=table)"
            )
        found = standard_errors(self, table, sample_weight=sample_weight, level=level, show_progress=False, **survey)
        return profiles_with_errors(self._learned, found)

    def _words(self) -> str:
        """Return what a summary says about the table and the search, in paragraphs of their own."""
        return "".join(f"\n\n{one}" for one in remarks_on(self))

    def _fit(self) -> dict[str, float | None]:
        """Return how well the model fits, as far as that is known."""
        known: dict[str, float | None] = {name: getattr(self, f"{name}_", None) for name in ("log_likelihood", "bic")}
        return known | {"score": score_beside_bic(self) if hasattr(self, "score_") else None}

    def informative_columns(self, n: int | None = None) -> pd.DataFrame:
        """Return which columns say most about each hidden variable.

        Parameters
        ----------
        n : int, optional
            How many columns to list for each hidden variable, if there are as many. By default as many as it takes to
            cover 95% of what all columns say about it, and at least two.

        Returns
        -------
        DataFrame
            ``latent``; ``column``; their ``mutual_information`` under the model, in nats; and ``coverage``, how much
            of what all columns say about the hidden variable this one and those before it say together, from 0 to 1:
            an estimate from rows drawn from the model, always the same ones. Columns that are independent of the
            hidden variable, as those in other trees of a forest, are left out.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4]).informative_columns().round(2)
          latent column  mutual_information  coverage
        0      H      x                0.61       1.0
        1      H      y                0.61       1.0
        """
        check_is_fitted(self)
        return explain.informative_columns(self._learned, n)

    def summary(self, n: int | None = None) -> None:
        """Print how well the model fits, its tree or network, and which columns say most about each hidden variable.

        Numbers in brackets are numbers of states. In a tree, columns are listed behind their parent; of a network,
        hidden variables with their neighbours, then the edges among columns. :meth:`profiles` describes the states. If
        the search was stopped, a last line says so.

        Parameters
        ----------
        n : int, optional
            How many columns to list for each hidden variable. By default as many as it takes to cover 95% of what all
            columns say about it, and at most six. See :meth:`informative_columns`.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4]).summary()
        log-likelihood -6.11, BIC -14.17 (other programs: 28.34), 7 parameters, 1 hidden variable, 3 columns
        <BLANKLINE>
        H (2): x, y, z
        <BLANKLINE>
        Columns that say most about each hidden variable, in nats (and how much of all they cover):
        H: x 0.61, y 0.61 (100%)
        <BLANKLINE>
        Frequency weights: 4 rows stand for 10 (weight_kind="frequency").
        """
        check_is_fitted(self)
        model = self._learned
        tell = explain.summary_text if isinstance(model, LatentTree) else explain.network_text
        text = tell(model, n, **self._fit()) + self._words()
        print(explain.writable(text, sys.stdout.encoding))


def remarks_on(learner) -> list[str]:
    """Return what is to be said about a learner's weights, sample of rows, updates and end; only what there is.

    Examples
    --------
    >>> from pgmpy_latent import Baseline
    >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd")})
    >>> remarks_on(Baseline("independence").fit(frame, sample_weight=[1, 2, 3, 4]))
    ['Frequency weights: 4 rows stand for 10 (weight_kind="frequency").']
    """
    words = (
        weighting_words(learner),
        prior_words(learner),
        sampled_words(learner),
        updated_words(learner),
        unfinished_words(learner),
    )
    return [text for text in words if text]


def weighting_words(learner) -> str:
    """Return a sentence about the kind of the weights, and about strata and clusters; empty if there are none.

    Examples
    --------
    >>> from pgmpy_latent import Baseline
    >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "w": [0.5, 0.5, 1, 2]})
    >>> weighting_words(Baseline("independence").fit(frame, sample_weight="w"))
    'Sampling weights: 4 rows count as 2.909 in log-likelihood and BIC (weight_kind="sampling").'
    """
    return " ".join(filter(None, [_weight_words(learner), _unit_words(learner)]))


def _weight_words(learner) -> str:
    kind, n = getattr(learner, "weight_kind_", None), getattr(learner, "n_rows_", 0)
    if kind is None:
        return ""
    rows, weight = f"{n:,} row{'s' * (n != 1)}", learner.total_weight_
    if kind == "sampling":
        worth = f"count as {rows_in_words(weight)} in log-likelihood and BIC"
        return f'Sampling weights: {rows} {worth} (weight_kind="sampling").'
    return f'Frequency weights: {rows} stand for {weight:,.10g} (weight_kind="frequency").'


def _unit_words(learner) -> str:
    """Return words that name the strata and clusters; empty if there are none."""
    given = getattr(learner, "design_", {})
    units = [
        f"{words} ({what}={given[what]!r})" if given[what] is not None else words
        for what, words in (("strata", "from strata"), ("cluster", "in clusters"))
        if what in given
    ]
    if not units:
        return ""
    return (
        f"Rows were drawn {' and '.join(units)}: standard errors and bootstrap draws depend on it, the model does not."
    )


def score_beside_bic(learner) -> float | None:
    """Return what a learner's search maximised, if that is not the BIC.

    Examples
    --------
    >>> from pgmpy_latent import Baseline
    >>> learner = Baseline("independence").fit(pd.DataFrame({"x": list("aabb"), "y": list("ccdd")}))
    >>> score_beside_bic(learner) is None
    True
    """
    return None if abs(learner.score_ - learner.bic_) < LEAST_DIFFERENCE else learner.score_


def prior_words(learner) -> str:
    """Say which prior the score of a search has; empty if it has none.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts, SplitMerge
    >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    >>> prior_words(SplitMerge(random_state=0).fit(frame)) == ""
    True
    >>> prior_words(SplitMerge(scoring_method="cs", random_state=0).fit(frame))[:60]
    'The score is the Cheeseman–Stutz approximation of the margin'
    """
    if not hasattr(learner, "score_") or not hasattr(learner, "_criteria"):
        return ""
    criterion = scores.criterion_of(settings_in_force(learner).get("scoring_method", "bic"), learner._criteria)
    if criterion is None or not criterion.prior_words:
        return ""
    words = criterion.prior_words.format(prior=getattr(learner, "_pseudo_count", 1.0))
    other = "" if words == scores.PRIOR_OF_ENTRIES.format(prior=1) else ", unlike scores.cheeseman_stutz, which has 1"
    return f"The score is {criterion.sentence}, {words}{other}."


def sampled_words(learner) -> str:
    """Say on how many rows the tree was searched for, and how stable it is; empty if it was on all rows.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sampled_words(SimpleNamespace(n_sample_rows_=10**5, total_weight_=1e8, second_tree_=None))
    'Searched on a sample of 100,000 of 100,000,000 rows; the tables are fitted to all of them. How stable the tree is \
was not looked at.'
    """
    n_rows = getattr(learner, "n_sample_rows_", None)
    if n_rows is None:
        return ""
    sample = f"a sample of {n_rows:,} of {learner.total_weight_:,.0f} rows"
    words = f"Searched on {sample}; the tables are fitted to all of them."
    second = learner.second_tree_
    if second is None:
        return f"{words} How stable the tree is was not looked at."
    ours, theirs = (sorted(tree.cards[tree.latent].tolist(), reverse=True) for tree in (learner.tree_, second))
    agree = f", {learner.stability_:.0%} of the edges agree" * (not np.isnan(learner.stability_))
    return (
        f"{words} A second sample leads to {_sizes_in_words(theirs)}, here {_sizes_in_words(ours)}{agree} (stability_)."
    )


def _sizes_in_words(sizes: list[int]) -> str:
    n = len(sizes)
    shown = f" of {', '.join(map(str, sizes))} states" if 0 < n <= MOST_SIZES else ""
    return f"{n} hidden variable{'s' * (n != 1)}{shown}"


def updated_words(learner) -> str:
    """Say which figures are not about the tables of a learner, if these have followed later rows.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts
    >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(frame)
    >>> updated_words(learner), updated_words(learner.partial_fit(frame))[:39]
    ('', 'The tables have followed later rows (1 ')
    """
    running = getattr(learner, "_running", None)
    if running is None:
        return ""
    times = f"{running.n_updates:,} update{'s' * (running.n_updates != 1)}"
    return (
        f"The tables have followed later rows ({times} by partial_fit). log_likelihood_, bic_, score_ and history_ "
        "are of the model that fit found, on the table that fit was given."
    )


def unfinished_words(learner) -> str:
    """Return a sentence about why a search was stopped; empty if it was not."""
    stopped = {"time_limit": "the time limit", "interrupted": "Ctrl-C"}.get(getattr(learner, "stopped_", None) or "")
    if not stopped:
        return ""
    words = f"Not finished: {stopped} stopped the search, and this is the best model so far."
    left = getattr(learner, "remaining_gain_", 0.0)
    if left > 0:
        amount = f"about {left:.3g}" if np.isfinite(left) else "an unknown number of"
        words += f" Its EM was not finished: {amount} nats of log-likelihood are left to gain."
    return words


def is_array(X) -> bool:
    """Tell whether a table is an array or a list, whose columns have positions but no names."""
    return isinstance(X, (np.ndarray, list, tuple)) or (hasattr(X, "__array__") and not hasattr(X, "columns"))


def checked_array(X) -> np.ndarray:
    """Return the array or list of rows as a two-dimensional array."""
    # Lists as objects: np.asarray([["a", 1]]) would turn the 1 into "1". Masked arrays stay masked.
    X = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asanyarray(X)
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: a row per observation, also for a "
            "single one, as in X.reshape(1, -1)"
        )
    return X
