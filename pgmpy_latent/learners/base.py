"""The base classes of all learners: ``fit``, and the attributes that it sets. Methods of fitted models: ``fitted``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import ClassVar, Self, Unpack, get_type_hints

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent import scores
from pgmpy_latent.em.few_rows import warn_of_few_rows
from pgmpy_latent.em.stepwise import Running, counts_of_model, running_counts, updated
from pgmpy_latent.exceptions import DataError, DesignWarning, WeightError
from pgmpy_latent.learners.fitted import FittedDiscrete, FittedModel, checked_array, is_array
from pgmpy_latent.learners.sampled_search import LargeTable
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.emissions import emission_of_states, emissions_of, emissions_table
from pgmpy_latent.model.labels import check_names
from pgmpy_latent.model.pgmpy_api import BaseCausalDiscovery, DiscreteBayesianNetwork
from pgmpy_latent.model.tree import LatentTree, MissingCodes
from pgmpy_latent.operators.canonical import presentable
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import HistoryEntry
from pgmpy_latent.runtime.configured import Configured, settings_in_force
from pgmpy_latent.runtime.parallel import uninterrupted
from pgmpy_latent.runtime.settings import kind_in_words, one_of, stopped_words
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.chunks import ShardedTable, comes_in_pieces, encode_chunks
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.missing_codes import CombinedCodes, settled_columns
from pgmpy_latent.tables.numbers import Kind, Kinds, check_kinds, kinds_in_use, kinds_of_table, numeric_only
from pgmpy_latent.tables.sparse import SparseRows
from pgmpy_latent.tables.suitable import refuse_unsuitable, warn_of_codes, warn_of_many_states
from pgmpy_latent.tables.survey import Survey, WeightKind, design_of_fit, names_column
from pgmpy_latent.tables.target import refuse_weights_as_target
from pgmpy_latent.tables.unseen import FIT_AGAIN, Unseen, unseen_remedy

#: Types of the columns of ``history_``, by those of the fields of an entry; all others are objects.
COLUMN_TYPES = {int: "int64", float: "float64"}


def frame_of(history: Sequence[HistoryEntry]) -> pd.DataFrame:
    """Return a history as a table, with a row for every entry.

    Examples
    --------
    >>> frame_of([HistoryEntry(0, "start", None, -2.0, -1.4, 1, 0.1)])
       step operator target  score  log_likelihood  n_parameters  seconds
    0     0    start   None   -2.0            -1.4             1      0.1
    """
    types = {name: COLUMN_TYPES.get(kind, object) for name, kind in get_type_hints(HistoryEntry).items()}
    return pd.DataFrame([vars(entry) for entry in history], columns=list(types), dtype=object).astype(types)


class StructureLearner(Configured, FittedModel, BaseCausalDiscovery):
    """Base of all learners: a pgmpy structure learner and a scikit-learn estimator.

    A subclass has an ``__init__`` that stores its keywords untouched, and implements ``_learn(data)``, which returns
    an :class:`~pgmpy_latent.learners.Outcome`, and ``_keep_model(model)``. It declares what its keywords may be
    (:class:`~pgmpy_latent.runtime.configured.Configured`), and may extend ``_check_settings()``, which runs before any
    work.
    """

    _moved: ClassVar[Mapping[str, str]] = {
        "unseen": "fit(..., unseen=...)",
        "allow_many_states": "fit(..., allow_many_states=...)",
    }
    _renamed: ClassVar[Mapping[str, str]] = {"n_init": "n_starts"}
    #: Whether a table that does not fit into memory is searched by a sample of its rows; it is refused otherwise.
    _may_sample: ClassVar[bool] = False
    #: Whether columns may be numbers.
    _takes_numbers: ClassVar[bool] = False
    #: Whether a model with more parameters than rows is pointed out; not by learners whose rows decide about that.
    _warns_of_few_rows: ClassVar[bool] = True
    #: ``scoring_method`` -> what the search maximises, in words.
    _criteria: ClassVar[Mapping[str, scores.Criterion]] = scores.SCORERS

    model_: DiscreteBayesianNetwork
    emissions_: pd.DataFrame
    kinds_: dict[Hashable, Kind]
    causal_graph_: DiscreteBayesianNetwork
    latents_: list[Hashable]
    n_states_: dict[Hashable, int]
    not_needed_: list[Hashable]
    log_likelihood_: float
    n_parameters_: int
    bic_: float
    score_: float
    history_: pd.DataFrame
    n_iter_: int
    stopped_: str | None
    remaining_gain_: float
    weight_kind_: WeightKind | None
    design_: dict[str, Hashable]
    n_rows_: int
    total_weight_: float
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    def fit(
        self,
        X,
        y=None,
        sample_weight=None,
        *,
        weight_kind: WeightKind | None = None,
        strata=None,
        cluster=None,
        missing=None,
        allow_many_states=None,
        unseen: Unseen = "missing",
        kinds=None,
    ) -> Self:
        """Learn a model.

        Parameters
        ----------
        X : DataFrame, array, CategoricalData, or a table in pieces
            A row per observation; missing cells are fine. See :func:`pgmpy_latent.encode`. A Parquet path, a pyarrow
            Dataset, a Dask DataFrame or an iterator of frames is read by :func:`pgmpy_latent.encode_chunks`. If its
            distinct rows do not fit into memory, learners of trees search on a sample of the rows, and fit the tree to
            all of them (not for iterators, which are gone once read): see ``docs/learners.md``.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows, by position, or the name of the column that holds them; of a table in pieces, the name.
        weight_kind : {"frequency", "sampling"}, optional
            What the weights are: numbers of rows, or sampling weights. Whole numbers are frequencies by default, others
            sampling weights. See :func:`pgmpy_latent.encode`; ``weight_kind_`` says which was assumed.
        strata, cluster : array, shape (n_rows,), or column name, optional
            The stratum and the primary sampling unit of every row. The model does not depend on them; standard errors
            and bootstrap draws do.
        missing : value, list of values, or dict of column to either, optional
            Values that count as missing cells, in all columns or in those that are named, as ``{"age": [99, -1]}``. The
            model keeps them, and new rows are read in the same way. Values that look like such codes are named in a
            warning; ``missing={}`` says that there are none.
        allow_many_states : bool or list of columns, optional
            Which columns are categories although they look like identifiers, dates or measurements, which are refused
            otherwise; True stands for all.
        unseen : {"missing", "error"}
            What becomes of categories in new rows that the model does not know: they count as missing, or raise.
        kinds : dict of column to kind, or "auto", optional
            Which columns are numbers: ``{"age": "gaussian", "visits": "poisson"}``; also ``"shared_gaussian"``,
            ``"negative_binomial"`` and ``"categorical"``. The kinds of other columns, or of all with "auto", are read
            from their types; ``kinds_`` says what was read. See ``docs/mixed.md``. By default all are categories.

        Returns
        -------
        self

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4]).tree_.table("H").round(4)
        array([[0.7, 0.3]])
        """
        refuse_weights_as_target(y, sample_weight)
        self._check_settings()
        one_of("missing", "error")("unseen", unseen)
        survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
        data: CategoricalData | SparseRows | None = self._sparse_rows(X, sample_weight, missing, survey)
        with LargeTable(self) as large:
            if data is None:
                options = {"missing": missing, "allow_many_states": allow_many_states, "kinds": kinds, **survey}
                if self._may_sample and comes_in_pieces(X):
                    options["read_pieces"] = large.read
                data = self._check_fit_data(X, sample_weight, **options)
            with one_blas_thread():
                outcome = self._outcome(data) if large.table is None else large.learn(data)
        table = data if large.table is None else large.table
        with uninterrupted():  # the search is over, and only attributes are set
            self._keep(outcome, table)
            self._keep_search(data, large)
        if outcome.stopped is not None:
            warn(self._words_on_stopping(outcome), ConvergenceWarning)
        self.design_ = design_of_fit(X, table, {"sample_weight": sample_weight, "strata": strata, "cluster": cluster})
        self._unseen = unseen
        if self._warns_of_few_rows:
            warn_of_few_rows(self._learned, table.total_weight)
        return self

    def _outcome(self, data: CategoricalData | SparseRows) -> Outcome:
        """Learn from a table in memory."""
        outcome = self._learn(data)
        if not isinstance(outcome, Outcome):
            what = f"{type(self).__name__}._learn returned {kind_in_words(outcome)}"
            raise TypeError(f"{what}; return an Outcome, as search.run(...) does")
        return outcome

    def _sparse_rows(self, X, sample_weight, missing, survey: Survey) -> SparseRows | None:
        """Return a sparse table, for learners that never write it out; None if this is not one of them."""
        return None

    def _check_fit_data(
        self,
        X,
        sample_weight=None,
        *,
        missing=None,
        allow_many_states=None,
        kinds: Kinds = None,
        takes_kinds: bool = True,
        read_pieces: Callable[..., CategoricalData] = encode_chunks,
        **survey: Unpack[Survey],
    ) -> CategoricalData:
        """Read the table; unlike pgmpy's own check it keeps missing cells and never looks at cells one by one.

        ``read_pieces`` reads tables in pieces, as :func:`~pgmpy_latent.encode_chunks` does; ``takes_kinds`` says
        whether the caller could have stated kinds.
        """
        known, known_codes = self._known_states(), dict(self._known_codes())
        codes = CombinedCodes(missing, known_codes) if known_codes else missing
        numeric = self._numeric_columns(X, kinds, known or {}, [sample_weight, *survey.values()], codes)
        known = {name: states for name, states in known.items() if name not in numeric} if known else known
        if comes_in_pieces(X):
            data = read_pieces(X, sample_weight=sample_weight, state_names=known, missing=codes, **survey)
        else:
            X = checked_array(X) if is_array(X) else X
            data = encode(X, sample_weight=sample_weight, state_names=known, missing=codes, numeric=numeric, **survey)
            if data.values:
                self._check_numbers(data)
        if data.n_rows < 2:
            raise DataError(f"n_samples = {data.n_rows}, at least 2 are required")
        check_names(data.columns, "column", DataError, "X", allow_none=False)
        takes_kinds = (
            takes_kinds and self._takes_numbers and kinds is None and isinstance(X, (pd.DataFrame, np.ndarray))
        )
        self._check_columns(data, known or {}, missing, allow_many_states, takes_kinds)
        return data

    def _numeric_columns(self, X, kinds: Kinds, known: Mapping[Hashable, tuple], aside: list, missing) -> dict:
        """Return the numeric columns of a table: those of a model that is known, and those of the kinds."""
        check_kinds("kinds", kinds)
        emissions = {name: emission_of_states(tuple(states)) for name, states in known.items()}
        numeric: dict = {name: emission.kind for name, emission in emissions.items() if emission is not None}
        if kinds is None:
            return numeric
        if comes_in_pieces(X):
            raise DataError("kinds are for tables in memory; read the table into a DataFrame, or bin its numbers")
        if isinstance(X, CategoricalData):
            raise DataError("this table is encoded already, and kinds come too late; give encode() numeric=...")
        names = {name for name in aside if names_column(name)}
        found = kinds_of_table(checked_array(X) if is_array(X) else X, kinds, names, missing)
        ordered = [name for name in found if isinstance(kinds, Mapping) and kinds.get(name) == "ordinal"]
        if ordered:
            raise DataError(
                f"column {ordered[0]!r} is said to be ordinal, which {type(self).__name__} does not make use of; say "
                "'categorical', or use TreeEM or compare_classes"
            )
        return {**numeric_only(found), **numeric}

    def _check_numbers(self, data: CategoricalData) -> None:
        """Raise if there are numeric columns that this learner cannot have."""
        names = list(data.values)
        if not self._takes_numbers:
            raise DataError(
                f"{type(self).__name__} learns from categories alone, and {names[0]!r} is a number; bin it (as pd.cut "
                "does), or use EAST, HLTA, RandomStarts, SplitMerge, TreeEM or compare_classes"
            )

    def _check_columns(self, data: CategoricalData, known: dict, missing, allow_many_states, takes_kinds: bool) -> None:
        """Refuse columns that can hardly be meant as categories, and point out values that may stand for missing."""
        used = self._columns_in_use(data)
        allowed = False if allow_many_states is None else allow_many_states
        unknown = [name for name in used if name not in known]
        refuse_unsuitable(data, allowed, unknown, takes_kinds=takes_kinds)
        warn_of_many_states(data, allowed, unknown, takes_kinds=takes_kinds)
        aside = [name for name in data.columns if name not in used]
        settled = {*settled_columns(missing, data.missing, data.columns), *known, *aside}
        warn_of_codes(data, settled)

    def _columns_in_use(self, data: CategoricalData) -> Collection[Hashable]:
        """Return the columns that the model will have; subclasses may leave some aside."""
        return data.columns

    def _known_states(self) -> dict | None:
        """Return the states of columns that are known before the data are read; subclasses may have some."""
        return None

    def _known_codes(self) -> Iterable[tuple[Hashable, tuple]]:
        """Return what counts as missing in columns that are known before the data are read, as a model keeps it."""
        return ()

    def _learn(self, data) -> Outcome:
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns: implement _learn(data)")

    def _words_on_stopping(self, outcome: Outcome) -> str:
        """Say why the search ended early, and how it can be continued."""
        checkpoint = getattr(self, "checkpoint", None)
        further = ", or go on with start=" if hasattr(self, "start") and checkpoint is None else ""
        return stopped_words(str(outcome.stopped), checkpoint, further, outcome.remaining_gain)

    def _keep(self, outcome: Outcome, X: CategoricalData | SparseRows | ShardedTable) -> None:
        """Set the public attributes that describe the result."""
        self._data = None if isinstance(X, ShardedTable) else X  # what report() describes
        self._columns = X.columns
        self.weight_kind_, self.n_rows_, self.total_weight_ = X.weight_kind, X.n_rows, X.total_weight
        self.n_features_in_ = len(X.columns)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
        model = self._keep_model(outcome.tree, getattr(X, "missing", ()))
        self._keep_network(model)
        self.latents_ = list(model.latent_names)
        self.n_states_ = {name: int(model.cards[model.index(name)]) for name in self.latents_}
        single = [name for name in self.latents_ if self.n_states_[name] == 1 and outcome.stopped is None]
        self.not_needed_ = [*outcome.not_needed, *single]
        self.log_likelihood_ = float(outcome.log_likelihood)
        self.n_parameters_ = model.n_parameters
        self.bic_ = scores.bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        self.score_ = float(outcome.score)
        self.history_ = frame_of(outcome.history)
        self.n_iter_ = max(1, len(outcome.history))
        self.stopped_ = outcome.stopped
        self.remaining_gain_ = float(outcome.remaining_gain)

    def _keep_network(self, model) -> None:
        """Set the public attributes that hold the learned model as a network of pgmpy."""
        self.model_ = self.causal_graph_ = to_pgmpy(model)
        self.emissions_ = emissions_table(model)
        kinds = kinds_in_use(model.state_names, model.names)
        self.kinds_ = {name: kinds[name] for name in model.observed_names}

    def _keep_search(self, data: CategoricalData | SparseRows, large: LargeTable) -> None:
        """Set the public attributes that say which rows the search has seen; only learners that sample have some."""

    def _keep_model(self, model, missing: MissingCodes):
        """Set the public attribute that holds the learned model, in canonical form; return the model.

        ``missing`` has the values of the table that count as missing, as pairs (column, values).
        """
        raise NotImplementedError

    @property
    def adjacency_matrix_(self) -> pd.DataFrame:
        """1 where the row's variable is the parent of the column's; made when asked for, as it can be large."""
        check_is_fitted(self)
        return nx.to_pandas_adjacency(self.causal_graph_, weight=1, dtype="int")


class LatentTreeLearner(FittedDiscrete, StructureLearner):
    """Base of the learners of latent trees: a pgmpy structure learner and a scikit-learn estimator.

    A subclass has an ``__init__`` that stores its keywords untouched, and implements ``_learn(data)``, which returns
    an :class:`~pgmpy_latent.learners.Outcome`: a tree whose observed nodes are the columns of ``data``, in
    their order, with the score and log-likelihood it has there. It declares what its keywords may be
    (:class:`~pgmpy_latent.runtime.configured.Configured`), and may extend ``_check_settings()``, which runs before any
    work.

    Tables are DataFrames, arrays or :class:`~pgmpy_latent.CategoricalData`, missing cells included. New frames are read
    by the names of their columns, and further columns are ignored; arrays are read by position.

    Attributes
    ----------
    tree_ : LatentTree
        The learned model. Hidden states are numbered from 0, the largest first.
    model_, causal_graph_ : pgmpy.models.DiscreteBayesianNetwork
        The same as a pgmpy network, one object under two names, with the hidden variables as its ``latents``.
    adjacency_matrix_ : DataFrame
        1 where the row's variable is the parent of the column's.
    latents_ : list
        Names of the hidden variables; empty if none is needed.
    n_states_ : dict
        How many states each of them has.
    not_needed_ : list
        Hidden variables that ended with a single state, or were left out because they carried nothing.
    log_likelihood_ : float
        Of the data (natural logarithm); larger is better.
    n_parameters_ : int
        Number of free parameters.
    bic_ : float
        ``log_likelihood_ - n_parameters_ / 2 * ln(total_weight_)``; larger is better.
    weight_kind_ : {None, "frequency", "sampling"}
        What the weights are, or were taken for; None if there were none.
    design_ : dict
        Which of ``sample_weight``, ``strata`` and ``cluster`` ``fit`` was given: the name of the column, or None where
        values were given. Functions that are given the learner read the same columns (``docs/survey_weights.md``).
    n_rows_ : int
        Number of rows.
    total_weight_ : float
        Sum of frequency weights; of sampling weights, Kish's effective number of rows.
    score_ : float
        What the search maximised (``scoring_method``), at the learned model; larger is better.
    history_ : DataFrame
        A row per accepted step: step, operator, target, score, log_likelihood, n_parameters, seconds.
    stopped_ : {None, "time_limit", "interrupted"}
        What ended the search before its time; None if it ended by itself.
    remaining_gain_ : float
        Log-likelihood that the EM of the learned model left to gain, by extrapolation: 0 if it came to its end, and
        infinite if nobody knows. A search keeps the last tenth of its ``time_limit`` for this EM.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray
        Their names, if all are text.
    n_sample_rows_ : int or None
        Number of rows of the sample that was searched, if the table does not fit into memory; None otherwise.
    stability_ : float or None
        After a search on a sample: which share of the edges of its tree and of the tree of a second sample separates
        the columns in the same way, from 0 to 1; NaN if there is no such edge, as in latent class models. None if there
        was no second search.
    second_tree_ : LatentTree or None
        The tree of the second sample, with tables fitted to that sample.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts
    >>> frame = pd.DataFrame({"x": list("aaabbbab"), "y": list("cccdddcd"), "z": list("eeefffef")})
    >>> learner = RandomStarts(n_states=2).fit(frame)
    >>> learner.model_.check_model(), learner.latents_, round(learner.log_likelihood_, 3)
    (True, ['H'], -5.545)
    """

    #: Whether roots and names of hidden variables are those of :func:`~pgmpy_latent.operators.canonical_tree`, and not
    #: those of the search.
    _has_standard_form: ClassVar[bool] = False
    _may_sample: ClassVar[bool] = True
    tree_: LatentTree
    n_sample_rows_: int | None
    stability_: float | None
    second_tree_: LatentTree | None
    #: What the rows so far have said, for ``partial_fit``; None until it is needed.
    _running: Running | None

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
        """Let the tables follow new rows: one step of stepwise EM. Hidden variables, states and edges stay.

        Rows that came earlier are not looked at again: a running mean of expected counts stands for them, in which the
        new rows get the share ``(t + 2) ** -decay`` after ``t`` updates. Give rows in batches of some hundreds or more.
        It does not leave the local maximum that ``fit`` found; where that came from few rows, fit again.

        Parameters
        ----------
        X : DataFrame, array, CategoricalData, or a table in pieces
            New rows. Categories that the model does not know count as missing, or are refused, as :meth:`fit` was told.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows, or the name of the column that holds them.
        decay : float
            From above 0.5, with which old rows are soon forgotten, to 1, with which all batches count alike.
        weight_kind, strata, cluster
            As in :meth:`fit`. Weights are of the kind that ``fit`` was given, unless something else is said.

        Returns
        -------
        self
            A learner that was not fitted yet is fitted. ``tree_``, ``model_`` and what is asked of them follow the new
            rows. ``log_likelihood_``, ``bic_``, ``score_`` and ``history_`` remain those of the model that ``fit``
            found; :meth:`report` holds the new tables against the table of ``fit``, and says so.

        Examples
        --------
        >>> from pgmpy_latent import RandomStarts
        >>> frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
        >>> learner = RandomStarts(n_states=2, random_state=0).fit(frame)
        >>> learner.partial_fit(frame.head(2), decay=1.0).tree_.table("H")
        array([[0.75, 0.25]])
        """
        refuse_weights_as_target(y, sample_weight)
        if not 0.5 < decay <= 1:
            raise ValueError(f"decay is {decay!r}; give a number above 0.5 and at most 1")
        if not hasattr(self, "tree_"):
            return self.fit(X, None, sample_weight, weight_kind=weight_kind, strata=strata, cluster=cluster)
        if emissions_of(self.tree_):
            raise DataError("tables of numbers do not follow new rows; fit all rows together")
        kind = self._kind_of_update(X, sample_weight, weight_kind)
        design = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        data = self._new_rows(X, design, kind)
        if self._running is None:
            whole = None if self._data is None else running_counts(self.tree_, self._data)
            self._running = whole or counts_of_model(self.tree_, self.total_weight_)
        with one_blas_thread():
            self.tree_, self._running = updated(self.tree_, self._running, data, float(decay), self._prior_of_update())
        self.model_ = self.causal_graph_ = to_pgmpy(self.tree_)
        return self

    def _prior_of_update(self) -> float | np.ndarray:
        """Return the pseudo-counts of table entries in :meth:`partial_fit`."""
        return float(settings_in_force(self).get("prior") or 0.0)

    def _new_rows(self, X, design: dict[str, object], weight_kind: WeightKind | None) -> CategoricalData:
        """Read new rows, with the columns and states of the tree."""
        read: Callable[..., CategoricalData] = encode_chunks
        if not comes_in_pieces(X):
            read = encode
            X, design = self._table_and_design(X, design)
        tree = self.tree_
        with unseen_remedy(FIT_AGAIN):
            return read(
                X,
                **design,
                weight_kind=weight_kind,
                state_names={name: tree.state_names[tree.index(name)] for name in self._columns},
                unseen=self._unseen,
                columns=self._columns,
                missing=CombinedCodes(None, dict(tree.missing)) if tree.missing else None,
            )

    def _kind_of_update(self, X, sample_weight, weight_kind: WeightKind | None) -> WeightKind | None:
        """Return what the weights of new rows are: those of ``fit``, with which the rows are weighed up."""
        if weight_kind is not None and self.weight_kind_ not in (None, weight_kind):
            raise WeightError(
                f"weight_kind is {weight_kind!r}, but fit was given {self.weight_kind_} weights; give new rows weights "
                "of the same kind, or fit again"
            )
        weighted = sample_weight is not None or isinstance(X, CategoricalData)  # which carries its weights
        if self.weight_kind_ == "sampling" and not weighted:
            warn(
                "fit was given sampling weights, and these rows have none, so that they count alike. Give "
                "sample_weight= as in fit.",
                DesignWarning,
            )
        return self.weight_kind_ if weight_kind is None and sample_weight is not None else weight_kind

    def _keep_model(self, model: LatentTree, missing: MissingCodes) -> LatentTree:
        self._running = None
        self.tree_ = presentable(model, missing, self._columns, standard_form=self._has_standard_form)
        return self.tree_

    def _keep_search(self, data: CategoricalData | SparseRows, large: LargeTable) -> None:
        self.n_sample_rows_ = None if large.table is None else data.n_rows
        self.stability_, self.second_tree_ = large.stability, None
        if large.second_tree is not None:
            missing = self.tree_.missing
            self.second_tree_ = presentable(
                large.second_tree, missing, self._columns, standard_form=self._has_standard_form
            )
