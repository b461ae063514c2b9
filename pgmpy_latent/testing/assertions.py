"""Assertions about trees and learners; they raise AssertionError and need nothing but the package."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pgmpy_latent.exceptions import FewColumnsWarning, FewRowsWarning, WeightError
from pgmpy_latent.model.convert import from_pgmpy
from pgmpy_latent.model.tree import LatentTree, check


def assert_valid(tree: LatentTree) -> None:
    """Raise unless every invariant of a tree holds; see :func:`pgmpy_latent.model.tree.check`.

    Examples
    --------
    >>> assert_valid(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]]))
    """
    check(tree)


def check_learner(learner, X: pd.DataFrame | None = None) -> None:
    """Raise unless a learner of latent trees keeps the contract of all learners.

    It fits copies of the learner a few times and checks that

    - the constructor stores its keywords untouched, and ``fit`` leaves them alone and returns the learner;
    - the attributes of pgmpy and scikit-learn are there and agree with each other: ``model_``, ``causal_graph_``,
      ``adjacency_matrix_``, ``n_features_in_``, ``feature_names_in_``, ``log_likelihood_``, ``bic_``, ``history_``;
    - variables are the columns, in their order, and their states are the categories;
    - the same seed gives the same model, and a pickled copy gives the same answers;
    - a row of weight 2 counts as two rows, and weights in the place of ``y`` raise;
    - missing cells are accepted, and ``impute`` fills them and nothing else;
    - ``score``, ``predict``, ``predict_proba``, ``transform`` and ``sample`` work on what was learned.

    scikit-learn's own checks (``sklearn.utils.estimator_checks``) come in addition.

    Parameters
    ----------
    learner : LatentTreeLearner
        With settings that are quick on a small table. It is not changed. If its ``random_state`` is None, copies
        get a seed.
    X : DataFrame, optional
        A table of its own, for a learner that needs a certain kind of columns. Otherwise 150 rows of four columns:
        text, numbers, truth values, and a categorical one with a category that does not occur.

    Raises
    ------
    AssertionError
        Naming the learner and what does not hold.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts
    >>> check_learner(RandomStarts(n_states=2, n_starts=2))
    """
    frame = _example() if X is None else X
    learner = _with_seed(_copy(learner))
    with warnings.catch_warnings():
        for small in (FewRowsWarning, FewColumnsWarning):
            warnings.simplefilter("ignore", small)
        fitted = _fitted(learner, frame)
        _check_model(fitted)
        _check_history(fitted)
        for check_fitted in (_check_states, _check_numbers, _check_answers, _check_sample, _check_repeated):
            check_fitted(fitted, frame)
        _check_weights(learner, frame)
        _check_missing(learner, frame)


def _example() -> pd.DataFrame:
    """Return a table with two groups of rows and columns of several kinds."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, size=150)

    def draw(first: float, second: float) -> np.ndarray:
        return (rng.random(150) < np.where(group, first, second)).astype(int)

    return pd.DataFrame(
        {
            "smokes": np.array(["no", "yes"], dtype=object)[draw(0.8, 0.2)],
            "visits": draw(0.9, 0.3) + draw(0.7, 0.1),
            "owns": draw(0.7, 0.2).astype(bool),
            "colour": pd.Categorical(np.array(["red", "blue"])[draw(0.8, 0.3)], categories=["red", "green", "blue"]),
        },
        index=pd.Index([f"p{row}" for row in range(150)], name="person"),
    )


def _require(holds: bool, learner, complaint: str) -> None:
    if not holds:
        raise AssertionError(f"{type(learner).__name__}: {complaint}")


def _copy(learner):
    """Return an unfitted copy; scikit-learn looks whether the constructor stored its keywords untouched."""
    try:
        return clone(learner)
    except (RuntimeError, TypeError) as error:
        name = type(learner).__name__
        raise AssertionError(f"{name}: __init__ must store its keywords untouched: {error}") from error


def _with_seed(learner):
    return learner.set_params(random_state=0) if learner.get_params().get("random_state", 0) is None else learner


def _fit(learner, task: str, frame: pd.DataFrame, **options):
    """Fit a learner; an error becomes an AssertionError that says what the task was."""
    try:
        return learner.fit(frame, **options)
    except Exception as error:
        raise AssertionError(f"{type(learner).__name__}: fit must {task}, but it raised {error!r}") from error


def _fitted(learner, frame: pd.DataFrame):
    """Return a fitted copy; check that it was unfitted before, and that its keywords are as they were."""
    learner = clone(learner)
    before = learner.get_params(deep=False)
    try:
        learner.predict(frame)
    except NotFittedError:
        pass
    else:
        _require(False, learner, "predict must raise NotFittedError before fit")
    result = _fit(learner, "accept a small table of categories", frame)
    _require(result is learner, learner, "fit must return the learner")
    after = learner.get_params(deep=False)
    changed = [name for name in before if after[name] is not before[name]]
    _require(not changed, learner, f"fit must leave keywords alone, but it changed {changed}")
    return learner


def _check_model(learner) -> None:
    tree, model = learner.tree_, learner.model_
    assert_valid(tree)
    _require(model.check_model(), learner, "model_ must be a valid pgmpy network")
    _require(model is learner.causal_graph_, learner, "causal_graph_ must be model_")
    _require(from_pgmpy(model) == tree, learner, "model_ must be tree_ as a pgmpy network")
    _require(learner.latents_ == list(tree.latent_names), learner, "latents_ must name the hidden variables of tree_")
    edges = learner.adjacency_matrix_
    stated = {(above, below) for above in edges.index for below in edges.columns if edges.loc[above, below]}
    _require(stated == set(model.edges()), learner, "adjacency_matrix_ must have the edges of model_")


def _check_states(learner, frame: pd.DataFrame) -> None:
    columns = list(frame.columns)
    names = list(learner.tree_.observed_names)
    _require(names == columns, learner, f"the observed variables must be the columns {columns}; they are {names}")
    _require(learner.n_features_in_ == len(columns), learner, "n_features_in_ must be the number of columns")
    if all(isinstance(name, str) for name in columns):
        known = list(learner.feature_names_in_)
        _require(known == columns, learner, f"feature_names_in_ must be the columns {columns}; it is {known}")
    for name, column in frame.items():
        states = learner.model_.states[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            agrees = list(states) == list(column.cat.categories)
        else:
            agrees = set(states) == set(column.dropna())
        _require(agrees, learner, f"the states of {name!r} must be its categories; they are {states}")


def _check_numbers(learner, frame: pd.DataFrame) -> None:
    n, total = len(frame), float(learner.score_samples(frame).sum())
    stated = learner.log_likelihood_
    _require(
        bool(np.isclose(stated, total, rtol=1e-9)),
        learner,
        f"log_likelihood_ is {stated}, but the rows have {total} under tree_",
    )
    _require(learner.n_parameters_ == learner.tree_.n_parameters, learner, "n_parameters_ must be that of tree_")
    bic = total - learner.n_parameters_ / 2 * np.log(n)
    _require(bool(np.isclose(learner.bic_, bic, rtol=1e-9)), learner, f"bic_ is {learner.bic_}; it must be {bic}")
    _require(bool(np.isfinite(learner.score_)), learner, f"score_ is {learner.score_}; it must be finite")
    _require(learner.stopped_ is None, learner, "the search was stopped; give settings that are quick on a small table")


def _check_history(learner) -> None:
    history = learner.history_["score"]
    _require(history.is_monotonic_increasing, learner, "the scores in history_ must not fall")
    last = history.iloc[-1] if len(history) else learner.score_
    _require(bool(np.isclose(last, learner.score_)), learner, f"history_ must end with score_; it ends with {last}")


def _check_answers(learner, frame: pd.DataFrame) -> None:
    rows = frame.iloc[[-1, 0, 0]]
    shares, states = learner.predict_proba(rows), learner.predict(rows)
    for answer in (shares, states):
        _require(answer.index.equals(rows.index), learner, "answers about rows must keep the index of the rows")
    _require(list(states.columns) == learner.latents_, learner, "predict must have a column per hidden variable")
    for name in learner.latents_:
        whole = np.allclose(shares[name].sum(axis=1), 1)
        _require(whole, learner, f"the probabilities of the states of {name!r} must sum to 1")
        best = shares[name].idxmax(axis=1)
        _require(list(states[name]) == list(best), learner, f"predict must give the likeliest state of {name!r}")
    features = np.asarray(learner.transform(rows))
    _require(np.array_equal(features, shares.to_numpy()), learner, "transform must give what predict_proba gives")
    mean = learner.score_samples(frame).mean()
    _require(bool(np.isclose(learner.score(frame), mean)), learner, "score must be the mean of score_samples")


def _check_sample(learner, frame: pd.DataFrame) -> None:
    drawn = learner.sample(5, random_state=0)
    _require(list(drawn.columns) == list(frame.columns), learner, "sample must have the columns of the table")
    _require(drawn.equals(learner.sample(5, random_state=0)), learner, "sample must depend on its seed alone")


def _check_repeated(fitted, frame: pd.DataFrame) -> None:
    again = clone(fitted).fit(frame)
    _require(again.tree_ == fitted.tree_, fitted, "a second fit with the same seed must give the same model")
    again.fit(frame)
    _require(again.tree_ == fitted.tree_, fitted, "a fit must forget the fit before it")
    copy = pickle.loads(pickle.dumps(fitted))
    same = np.array_equal(copy.score_samples(frame), fitted.score_samples(frame))
    _require(same, fitted, "a pickled copy must give the same answers")


def _check_weights(learner, frame: pd.DataFrame) -> None:
    weights = np.random.default_rng(0).integers(1, 4, size=len(frame))
    weighted = _fit(clone(learner), "accept sample_weight", frame, sample_weight=weights)
    repeated = clone(learner).fit(frame.iloc[np.repeat(np.arange(len(frame)), weights)])
    for name in ("log_likelihood_", "bic_"):
        left, right = getattr(weighted, name), getattr(repeated, name)
        complaint = f"weights must count rows, but {name} is {left} with weights and {right} with repeated rows"
        _require(bool(np.isclose(left, right, rtol=1e-9)), learner, complaint)
    trees = weighted.tree_, repeated.tree_
    same = trees[0].names == trees[1].names and all(
        left.shape == right.shape and np.allclose(left, right, rtol=0, atol=1e-6)
        for left, right in zip(trees[0].tables, trees[1].tables, strict=True)
    )
    _require(same, learner, "weights must count rows, but repeated rows give another tree")
    try:
        clone(learner).fit(frame, weights / 2)
    except WeightError:
        return
    _require(False, learner, "fit(X, weights) must raise a WeightError: y is not used, and weights there would be lost")


def _check_missing(learner, frame: pd.DataFrame) -> None:
    cells = frame.astype({name: object for name in frame if not isinstance(frame[name].dtype, pd.CategoricalDtype)})
    gaps = cells.mask(np.random.default_rng(1).random(cells.shape) < 0.1)
    fitted = _fit(clone(learner), "accept missing cells", gaps)
    _check_numbers(fitted, gaps)
    filled = fitted.impute(gaps)
    _require(not filled.isna().any(axis=None), learner, "impute must fill every missing cell")
    known = gaps.notna().to_numpy()
    unchanged = (filled.to_numpy(dtype=object)[known] == gaps.to_numpy(dtype=object)[known]).all()
    _require(bool(unchanged), learner, "impute must leave known cells alone")
    nothing = fitted.score_samples(cells.head(1).mask(np.ones((1, cells.shape[1]), dtype=bool)))
    _require(bool(np.allclose(nothing, 0)), learner, "a row without any known cell must have probability 1")
