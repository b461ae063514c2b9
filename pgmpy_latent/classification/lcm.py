"""LatentClassificationModel: a scikit-learn classifier for continuous attributes."""

from __future__ import annotations

import os
from collections.abc import Hashable
from functools import partial
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent import presets
from pgmpy_latent.classification import inputs as _input
from pgmpy_latent.classification.canonical import canonical
from pgmpy_latent.classification.learn import Learned, Recipe, learn
from pgmpy_latent.classification.model import grouped, kernels, latent_means, log_densities, suitable
from pgmpy_latent.classification.resume import memo_of, recalled_model
from pgmpy_latent.classification.rows import Training, training
from pgmpy_latent.classification.size_search import LAST_SHARE, Wrapper, most_rows
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import check_checkpoint
from pgmpy_latent.runtime.clock import Clock, clock_line
from pgmpy_latent.runtime.configured import Configured
from pgmpy_latent.runtime.settings import (
    RandomState,
    check_number,
    entropy_of,
    flag,
    number,
    one_of,
    stopped_words,
    whole_seed,
)
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import as_pandas
from pgmpy_latent.tables.survey import WeightKind, check_kind, checked_weights, numbered, set_apart

#: What ``learn_edges`` may be, and what it means.
EDGES = {False: None, True: "shared", "shared": "shared", "separate": "separate"}


class LatentClassificationModel(Configured, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Classify rows of continuous attributes by hidden Gaussians.

    Given its class, a row has ``n_latents`` independent hidden Gaussian values, whose means and variances depend on the
    class; and it belongs to one of ``n_components`` components, with probabilities that depend on the class. Its
    attributes are a linear function of the hidden values, plus an offset and noise, all of these the component's own.
    With one component this is naive Bayes on a learned rotation of the attributes (the linear model of Langseth and
    Nielsen, 2005); with several, a mixture of factor analysers joined with it. Missing attributes are integrated out,
    exactly, in learning and in use.

    Parameters
    ----------
    n_latents : int, optional
        Number of hidden Gaussians, at most the number of attributes times the number of classes. By default it is
        found by cross-validated accuracy within the training data (the wrapper).
    n_components : int, optional
        Number of components; 1 is the linear model. By default it is found by the wrapper.
    tied : bool
        Whether the noise is the same in all components.
    offset : bool, optional
        Whether the attributes have offsets. The paper's linear model has none (its note 11): ``n_components=1`` and
        ``offset=False``. Without offsets the attributes are scaled, but not centred. None: as ``tuning`` says, which is
        True by default.
    learn_edges : bool or {"shared", "separate"}
        Whether loadings that the Gaussian (BGe) score does not support become exactly zero; True and ``"shared"``: the
        same ones in all components, ``"separate"``: in each component its own.
    n_starts : int, optional
        Restarts of the final model, of which most are given up early. None: as ``tuning`` says, which is 20 by default.
    cv : int, splitter or iterable
        Folds of the wrapper, as scikit-learn understands them. Whole numbers mean stratified, shuffled folds, drawn
        anew when the best sizes are compared again; of more than some thousand rows a stratified sample is used. Rows
        of one ``cluster`` stay in one fold.
    max_iter : int, optional
        Most iterations of EM. None: as ``tuning`` says, which is 100 by default.
    tol : float, optional
        EM ends when an iteration raises the log-likelihood by less than this, per row. While sizes are compared it
        ends at 0.01 if that is more. None: as ``tuning`` says, which is 0.003 by default.
    {shared}
    tuning : LatentClassificationTuning, optional
        How restarts, sizes, noise and variances are treated; ``presets.LANGSETH_NIELSEN_2005`` follows the paper. None
        stands for ``presets.LATENT_CLASSIFICATION``.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    class_prior_ : array, shape (n_classes,)
        Shares of the classes.
    n_latents_, n_components_ : int
        The sizes of the model.
    component_weights_ : array, shape (n_classes, n_components)
        P(component | class).
    latent_means_, latent_variances_ : arrays, shape (n_classes, n_latents)
        Latents have mean zero (if there are offsets) and variance one over all classes, and the one that moves the
        attributes most comes first.
    loadings_ : array, shape (n_components, n_features, n_latents)
        In units of the attributes.
    offsets_, noise_ : arrays, shape (n_components, n_features)
        In units of the attributes, and their squares.
    edges_ : bool array, shape (n_components, n_features, n_latents)
        Loadings that may differ from zero.
    log_likelihood_ : float
        Of the attributes given the classes, on the training data.
    log_likelihoods_ : list of float
        What EM maximises, the log-likelihood with the penalty of ``shrinkage``, at every iteration of the final model;
        with ``learn_edges``, since the edges were settled.
    n_iter_ : int
        Iterations of the final model.
    weight_kind_ : {None, "frequency", "sampling"}
        What the weights are, or were taken for; None if there were none.
    design_ : dict
        Which of ``sample_weight``, ``strata`` and ``cluster`` ``fit`` was given: the name of the column, or None where
        values were given.
    n_rows_ : int
        Number of rows.
    total_weight_ : float
        Sum of frequency weights; of sampling weights, Kish's effective number of rows.
    cv_results_ : DataFrame or None
        Sizes that the wrapper tried, the best first: accuracy, its standard error over folds, log-loss, how often, and
        seconds. None if nothing was left to find.
    stopped_ : {None, "time_limit", "interrupted"}
        Why the wrapper or the last fit ended early.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> est = LatentClassificationModel(n_latents=3, n_components=1, random_state=0).fit(X, y)
    >>> round(est.score(X, y), 2)
    0.98
    >>> est.predict_proba(X.iloc[[100]]).round(2).tolist()
    [[0.0, 0.0, 1.0]]
    """

    _constraints: ClassVar[dict] = {
        "n_latents": number(1, whole=True, optional=True),
        "n_components": number(1, whole=True, optional=True),
        "tied": flag,
        "learn_edges": one_of(True, False, "shared", "separate"),
        "checkpoint": lambda name, value: check_checkpoint(value),
    }
    _default_tuning = presets.LATENT_CLASSIFICATION
    _tuning: presets.LatentClassificationTuning
    classes_: np.ndarray
    class_prior_: np.ndarray
    n_latents_: int
    n_components_: int
    component_weights_: np.ndarray
    latent_means_: np.ndarray
    latent_variances_: np.ndarray
    loadings_: np.ndarray
    offsets_: np.ndarray
    noise_: np.ndarray
    edges_: np.ndarray
    log_likelihood_: float
    log_likelihoods_: list[float]
    n_iter_: int
    weight_kind_: WeightKind | None
    design_: dict[str, Hashable]
    n_rows_: int
    total_weight_: float
    cv_results_: pd.DataFrame | None
    stopped_: str | None
    _renamed: ClassVar[dict] = {"n_init": "n_starts"}
    _shared: ClassVar[dict] = {
        "n_jobs": (
            "n_jobs : int, optional",
            "Sizes that the wrapper tries at a time; -1 for as many as there are cores. Results do not depend on it.",
        ),
        "time_limit": (
            "time_limit : float, optional",
            "Seconds. The wrapper ends early, and its best sizes so far are used.",
        ),
    }

    def __init__(
        self,
        n_latents: int | None = None,
        n_components: int | None = None,
        *,
        tied: bool = True,
        offset: bool | None = None,
        learn_edges: bool | Literal["shared", "separate"] = False,
        n_starts: int | None = None,
        cv: object = 5,
        max_iter: int | None = None,
        tol: float | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.LatentClassificationTuning | None = None,
    ) -> None:
        self.n_latents = n_latents
        self.n_components = n_components
        self.tied = tied
        self.offset = offset
        self.learn_edges = learn_edges
        self.n_starts = n_starts
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def fit(
        self, X, y, sample_weight=None, *, weight_kind: WeightKind | None = None, strata=None, cluster=None
    ) -> Self:
        """Learn the model.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_features)
            Numbers; NaN where missing. Frames of polars and of other libraries that narwhals knows are welcome.
        y : array, shape (n_rows,)
            Classes.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows; one of weight zero is left out. What a model must have rows for (classes, folds,
            latents times components) is counted in rows, not in weight. A column that is named here, or as ``strata``
            or ``cluster``, is not an attribute, and new rows may lack it; columns of arrays are named by position.
        weight_kind : {"frequency", "sampling"}, optional
            What the weights are: a row of frequency weight two counts as two rows; sampling weights are scaled to sum
            to Kish's effective number of rows. By default whole numbers are frequencies, others sampling weights.
        strata, cluster : array, shape (n_rows,), or column name, optional
            The stratum and the primary sampling unit of every row; the same label in two strata means two clusters. A
            model of given sizes does not depend on them. Where sizes are found, rows of a cluster stay in one fold if
            ``cv`` is a whole number, and splitters get clusters as ``groups``.

        Returns
        -------
        self
        """
        self._check_settings()
        drawn = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        table = _input.training_rows(self, X, y, drawn, weight_kind)
        self._check_sizes(*table.attributes.shape)
        rows = training(table.attributes, table.labels, table.weights, centre=self._tuning.offset)
        memo, entropy = memo_of(self, table, entropy_of(self.random_state))
        seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
        clock = Clock(self.time_limit, LAST_SHARE, memo.tend)
        if self.show_progress:
            with clock_line("compiling, at the first fit only"):
                kernels()
        with one_blas_thread(), memo.going_on:
            shape, self.cv_results_ = self._sizes(table, rows, seed, clock, memo)
            clock.use_reserve()
            work = partial(learn, rows, rows.weights[None], shape, self._recipe(), self._tuning.n_starts, seed, clock)
            learned = recalled_model(memo, clock, rows, shape, work)
        if learned.interrupted:
            clock.note_stop()
        self.stopped_ = clock.stopped
        self.n_latents_, self.n_components_ = shape
        self._keep(learned, rows)
        if self.stopped_ is not None:
            warn(stopped_words(self.stopped_, self.checkpoint), ConvergenceWarning)
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.cv, Integral) and int(self.cv) < 2:
            raise ValueError(f"cv is {self.cv!r}; give at least 2 folds")

    def _check_sizes(self, n_rows: int, n_attributes: int) -> None:
        most = n_attributes * len(self.classes_)
        if self.n_latents is not None and self.n_latents > most:
            raise ValueError(
                f"n_latents is {self.n_latents}; {n_attributes} attributes times {len(self.classes_)} classes, {most}, "
                "is the most that can matter"
            )
        latents, components = self.n_latents or 1, self.n_components or 1
        if latents * components > n_rows:
            sizes = [f"{name}={getattr(self, name)}" for name in ("n_latents", "n_components") if getattr(self, name)]
            raise ValueError(f"{' times '.join(sizes)} is more than the {n_rows} rows; give fewer")

    def _recipe(self) -> Recipe:
        tuning = self._tuning
        return Recipe(
            tied=bool(self.tied),
            offset=bool(tuning.offset),
            noise_floor=float(tuning.noise_floor),
            shrinkage=None if tuning.shrinkage is None else float(tuning.shrinkage),
            edges=EDGES[self.learn_edges],
            select=tuning.select,
            max_iter=int(tuning.max_iter),
            tol=float(tuning.tol),
            relative=tuning.stop == "relative",
            thinning=bool(tuning.thinning),
            trial_starts=None if tuning.sizes == "search" else int(tuning.n_starts),
            greedy=tuning.sizes == "greedy",
        )

    def _sizes(
        self, table: _input.TrainingRows, rows: Training, seed: int, clock: Clock, memo: Memo
    ) -> tuple[tuple[int, int], pd.DataFrame | None]:
        """Return the numbers of latents and of components, and how they were learned."""
        if self.n_latents is not None and self.n_components is not None:
            return (int(self.n_latents), int(self.n_components)), None
        most, search = most_rows(table.attributes.shape[1]), self._tuning.sizes == "search"
        if isinstance(self.cv, Integral) and len(table.labels) > most and search:
            table = table.some(_input.some_rows(table.labels, most, seed))
            rows = training(table.attributes, table.labels, table.weights, centre=self._tuning.offset)
        folds = _input.Folds(self.cv, table, self.classes_, seed)
        wrapper = Wrapper(rows, folds, self._recipe(), seed, clock, self.n_jobs, self.show_progress, memo=memo)
        return wrapper.search(self.n_latents, self.n_components)

    def _keep(self, learned: Learned, rows: Training) -> None:
        """Set the fitted attributes, in units of the table."""
        edges = np.ones(learned.models.loadings.shape, bool) if learned.edges is None else learned.edges
        self.class_prior_ = rows.class_shares(rows.weights[None])[0]
        model, edges = canonical(learned.models, self.class_prior_, edges, shift=self._tuning.offset)
        self._model, self._location, self._scale = model, rows.location, rows.scale
        self.edges_ = edges[0]
        self.component_weights_ = np.exp(model.log_weights[0])
        self.latent_means_, self.latent_variances_ = model.means[0], model.variances[0]
        self.loadings_ = model.loadings[0] * rows.scale[:, None]
        self.offsets_ = rows.location + rows.scale * model.offsets[0]
        self.noise_ = np.square(rows.scale) * model.noise[0]
        jacobian = rows.weights @ (~np.isnan(rows.table) @ np.log(rows.scale))
        self.log_likelihoods_ = [value - jacobian for value in learned.traces[0]]
        self.log_likelihood_ = float(learned.log_likelihoods[0] - jacobian)
        self.n_iter_ = min(len(self.log_likelihoods_), self._tuning.max_iter)

    def _log_joint(self, X) -> np.ndarray:
        """Return log P(class, attributes), in units of the standardised attributes."""
        table = self._standardised(X)
        with one_blas_thread():
            return log_densities(self._model, grouped(table), len(table))[0] + np.log(self.class_prior_)

    def _standardised(self, X) -> np.ndarray:
        check_is_fitted(self)
        table = (_input.new_rows(self, X) - self._location) / self._scale
        _input.refuse_remote(self, table)
        return table

    def predict_log_proba(self, X):
        """Return log P(class | attributes), shape (n_rows, n_classes).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> est = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
        >>> est.predict_log_proba(X).shape
        (150, 3)
        """
        joint = self._log_joint(X)
        joint -= joint.max(axis=1, keepdims=True)  # of rows far from all others, the logarithms are huge
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def predict_proba(self, X):
        """Return P(class | attributes), shape (n_rows, n_classes); missing attributes are integrated out.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> est = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
        >>> est.predict_proba([[np.nan] * 4]).round(2).tolist()
        [[0.33, 0.33, 0.33]]
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """Return the most probable class of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> LatentClassificationModel(2, 1, random_state=0).fit(X, y).predict(X[:2]).tolist()
        [0, 0]
        """
        joint = self._log_joint(X)
        return self.classes_[joint.argmax(axis=1)]

    def score(self, X, y, sample_weight=None, *, weight_kind: WeightKind | None = None, strata=None, cluster=None):
        """Return the share of rows whose class is predicted well (accuracy), by weight.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_features)
        y : array, shape (n_rows,)
            Classes.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows. Rows count alike by default, whatever ``fit`` was given.
        weight_kind, strata, cluster
            As in :meth:`fit`. A weighted share depends on none of them; columns that they name are not attributes.

        Returns
        -------
        float
            From 0 to 1; larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> est = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
        >>> est.score(X.assign(w=(y == 0) * 1.0), y, sample_weight="w")
        1.0
        """
        check_is_fitted(self)
        check_kind(weight_kind)
        drawn = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        X, drawn = set_apart(as_pandas(X), drawn)
        for what in ("strata", "cluster"):
            numbered(drawn[what], what, len(y))
        return super().score(X, y, checked_weights(drawn["sample_weight"], len(y)))

    def score_samples(self, X):
        """Return the log density of the known attributes of each row; classes are summed out.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> est = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
        >>> bool(est.score_samples([[50.0] * 4])[0] < est.score_samples(X).min())
        True
        """
        table = self._standardised(X)
        with one_blas_thread():
            logs = log_densities(self._model, grouped(table), len(table))[0] + np.log(self.class_prior_)
        return np.logaddexp.reduce(logs, axis=1) - ~np.isnan(table) @ np.log(self._scale)

    def transform(self, X):
        """Return the posterior means of the latents, averaged over classes, shape (n_rows, n_latents).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> LatentClassificationModel(2, 1, random_state=0).fit(X, y).transform(X).shape
        (150, 2)
        """
        table = self._standardised(X)
        means = np.zeros((len(table), self.n_latents_))
        with one_blas_thread():
            groups = suitable(grouped(table), self._model)
            joint = log_densities(self._model, groups, len(table))[0] + np.log(self.class_prior_)
            joint -= joint.max(axis=1, keepdims=True)
            chances = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
            for rows in groups:
                for label in range(len(self.classes_)):
                    means[rows.at] += chances[rows.at, label, None] * latent_means(self._model, label, rows)[0]
        return means

    def get_feature_names_out(self, input_features=None):
        """Return the names of the latents, as :meth:`transform` orders them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> LatentClassificationModel(2, 1, random_state=0).fit(X, y).get_feature_names_out().tolist()
        ['Z1', 'Z2']
        """
        check_is_fitted(self)
        return np.array(_input.latent_names(self), dtype=object)

    def sample(self, n_rows=1, *, label=None, random_state=None):
        """Draw rows from the model.

        Parameters
        ----------
        n_rows : int
        label : class, optional
            Draw from this class only; by default classes are drawn too.
        random_state : int, RandomState or Generator, optional

        Returns
        -------
        X : DataFrame or array, shape (n_rows, n_features)
            A frame if the model was learned from one.
        y : array, shape (n_rows,)
            Classes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> est = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
        >>> X_new, y_new = est.sample(3, label=1, random_state=0)
        >>> X_new.shape, y_new.tolist()
        ((3, 4), [1, 1, 1])
        """
        check_is_fitted(self)
        check_number("n_rows", n_rows, 1, whole=True)
        rng = np.random.default_rng(whole_seed(random_state))
        prior = self.class_prior_ if label is None else np.eye(len(self.classes_))[self._class_number(label)]
        labels = rng.choice(len(self.classes_), size=n_rows, p=prior)
        # one uniform number decides each component, whatever its class
        cumulative = np.cumsum(self.component_weights_, axis=1)[labels]
        components = (rng.random((n_rows, 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1)
        latents = self.latent_means_[labels] + np.sqrt(self.latent_variances_[labels]) * rng.normal(
            size=(n_rows, self.n_latents_)
        )
        noise = np.sqrt(self.noise_[components]) * rng.normal(size=(n_rows, self.n_features_in_))
        values = np.einsum("riq,rq->ri", self.loadings_[components], latents) + self.offsets_[components] + noise
        if hasattr(self, "feature_names_in_"):
            values = pd.DataFrame(values, columns=self.feature_names_in_)
        return values, self.classes_[labels]

    def _class_number(self, label) -> int:
        at = np.flatnonzero(self.classes_ == label)
        if len(at) != 1:
            raise ValueError(f"there is no class {label!r}; give one of {self.classes_.tolist()}")
        return int(at[0])

    def _check_component(self, component) -> None:
        is_integer = isinstance(component, Integral) and not isinstance(component, bool)
        if not is_integer or not 0 <= int(component) < self.n_components_:
            raise ValueError(f"component is {component!r}; give a whole number from 0 to {self.n_components_ - 1}")

    def to_pgmpy(self, label, component=0):
        """Return the Gaussian part of a class and a component as a pgmpy network.

        Its mean and covariance are those of the model: ``P(latents, attributes | class, component)``. pgmpy's
        ``to_joint_gaussian`` rounds to eight decimals.

        Parameters
        ----------
        label : class
            One of ``classes_``.
        component : int
            Counted from zero.

        Returns
        -------
        pgmpy.models.LinearGaussianBayesianNetwork
            Latents are named ``Z1``, ``Z2``, ...

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> est = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
        >>> network = est.to_pgmpy(0)
        >>> network.check_model(), sorted(network.latents)
        (True, ['Z1', 'Z2'])
        """
        from pgmpy_latent.classification.gaussian_networks import gaussian_network

        check_is_fitted(self)
        self._check_component(component)
        at = self._class_number(label)
        return gaussian_network(
            _input.attribute_names(self),
            _input.latent_names(self),
            self.latent_means_[at],
            self.latent_variances_[at],
            self.loadings_[component],
            self.offsets_[component],
            self.noise_[component],
            self.edges_[component],
        )

    def structure(self, component=None):
        """Return the structure as a graph: class, latents, component and attributes, with the edges that were learned.

        Parameters
        ----------
        component : int, optional
            Edges of this component; by default those that any component has.

        Returns
        -------
        pgmpy.base.DAG

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> est = LatentClassificationModel(2, 1, learn_edges=True, random_state=0).fit(X, y)
        >>> est.structure().has_edge("class", "Z1")
        True
        """
        from pgmpy_latent.classification.gaussian_networks import structure

        check_is_fitted(self)
        if component is not None:
            self._check_component(component)
        edges = np.logical_or.reduce(self.edges_) if component is None else self.edges_[component]
        attributes, latents = _input.attribute_names(self), _input.latent_names(self)
        taken = {*attributes, *latents}
        mixture = None if self.n_components_ == 1 else _input.free_name("component", taken)
        return structure(attributes, latents, edges, _input.free_name("class", taken), mixture)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
