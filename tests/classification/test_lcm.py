"""LatentClassificationModel as people use it: scikit-learn's contract, gaps, pgmpy, and what bad input gets."""

import warnings
from contextlib import nullcontext

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pgmpy_latent import LatentClassificationModel
from pgmpy_latent.classification.rows import training
from pgmpy_latent.exceptions import DataError, WeightError
from tests.support.samples import tuned


@parametrize_with_checks(
    [
        LatentClassificationModel(2, 1, random_state=0),
        LatentClassificationModel(1, 2, n_starts=4, random_state=0),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return LatentClassificationModel(3, 2, random_state=0).fit(*iris)


def with_gaps(frame, share, seed=0):
    rng = np.random.default_rng(seed)
    return frame.mask(rng.random(frame.shape) < share)


def direct_log_densities(est, X):
    """log p(x | class), from the published attributes alone."""
    logs = np.empty((len(X), len(est.classes_)))
    for row, x in enumerate(np.asarray(X, dtype=float)):
        seen = ~np.isnan(x)
        for label in range(len(est.classes_)):
            total = 0.0
            for m, weight in enumerate(est.component_weights_[label]):
                loadings = est.loadings_[m]
                mean = loadings @ est.latent_means_[label] + est.offsets_[m]
                covariance = (loadings * est.latent_variances_[label]) @ loadings.T + np.diag(est.noise_[m])
                density = (
                    multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).pdf(x[seen]) if seen.any() else 1.0
                )
                total += weight * density
            logs[row, label] = np.log(total)
    return logs


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_published_attributes_are_the_model(fitted, iris, share):
    X = with_gaps(iris[0].iloc[::7], share)
    joint = direct_log_densities(fitted, X) + np.log(fitted.class_prior_)
    np.testing.assert_allclose(fitted.score_samples(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-8)
    expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_log_proba(X), expected, rtol=1e-7, atol=1e-8)


def test_the_log_likelihood_is_that_of_the_attributes_given_the_classes(fitted, iris):
    X, y = iris
    logs = direct_log_densities(fitted, X)
    assert fitted.log_likelihood_ == pytest.approx(logs[np.arange(len(y)), y].sum())
    assert fitted.log_likelihoods_[-1] == pytest.approx(fitted.log_likelihood_)


@pytest.mark.parametrize(("n_components", "shrinkage", "expected"), [(1, None, 20), (2, None, 0), (2, 5, 5), (1, 0, 0)])
def test_classes_borrow_variances_from_each_other(iris, n_components, shrinkage, expected):
    X, y = iris
    est = tuned(LatentClassificationModel, 2, n_components, shrinkage=shrinkage, random_state=0).fit(X, y)
    logs = direct_log_densities(est, X)
    assert est.log_likelihood_ == pytest.approx(logs[np.arange(len(y)), y].sum())
    variances = est.latent_variances_
    penalty = -expected / 2 * np.log(variances * (1 / variances).mean(axis=0)).sum()
    assert (penalty < -0.01) == bool(expected)
    assert est.log_likelihoods_[-1] == pytest.approx(est.log_likelihood_ + penalty)


@pytest.mark.parametrize("weight", [0.5, 1 / 150])
def test_weights_below_one_are_shares_and_borrow_as_much(iris, weight):
    X, y = iris
    whole = LatentClassificationModel(2, 1, random_state=0).fit(X, y)
    shares = LatentClassificationModel(2, 1, random_state=0).fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(whole.predict_proba(X), shares.predict_proba(X), atol=1e-9)


def test_one_component_takes_weights_as_repetitions(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    weighted = LatentClassificationModel(2, 1, random_state=0).fit(X, y, sample_weight=weights)
    repeated = LatentClassificationModel(2, 1, random_state=0).fit(
        X.loc[X.index.repeat(weights)], y.loc[y.index.repeat(weights)]
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("far", [1e6, 1e9, 1e50])
def test_probabilities_of_rows_far_from_all_others_sum_to_one(fitted, iris, far):
    found = fitted.predict_proba(iris[0].head(2) * [1.0, far, 1.0, -far])
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_numbers_that_cannot_be_squared_are_named(fitted, iris):
    X, y = iris
    for factor in (1e200, 1e-200):
        with pytest.raises(DataError, match=r"column 'petal width .cm.' has numbers too large or too close together"):
            LatentClassificationModel(1, 1).fit(X * [1, 1, 1, factor], y)
    with pytest.raises(DataError, match=r"column 'petal width .cm.' has a value more than 1e\+100 standard"):
        fitted.predict(X * [1, 1, 1, 1e150])
    with pytest.raises(ValueError, match="shrinkage is inf; give a number of at least 0 and below inf"):
        tuned(LatentClassificationModel, 1, 1, shrinkage=np.inf).fit(X, y)


def test_latents_have_mean_zero_and_variance_one_and_the_weightiest_comes_first(fitted):
    prior = fitted.class_prior_
    np.testing.assert_allclose(prior @ fitted.latent_means_, 0, atol=1e-10)
    np.testing.assert_allclose(prior @ (fitted.latent_variances_ + fitted.latent_means_**2), 1)
    loadings = fitted.loadings_ / fitted._scale[:, None]
    moved = np.einsum("k,kiq->q", prior @ fitted.component_weights_, loadings**2)
    assert (np.diff(moved) < 0).all()


def test_the_mean_of_transform_over_draws_is_the_latents_own(fitted):
    X, _ = fitted.sample(20_000, random_state=0)
    np.testing.assert_allclose(fitted.transform(X).mean(axis=0), 0, atol=0.03)


def test_draws_have_the_models_moments(fitted):
    X, y = fitted.sample(40_000, label=1, random_state=0)
    assert (y == 1).all()
    weights, loadings = fitted.component_weights_[1], fitted.loadings_
    means = loadings @ fitted.latent_means_[1] + fitted.offsets_
    within = [(loadings[m] * fitted.latent_variances_[1]) @ loadings[m].T + np.diag(fitted.noise_[m]) for m in range(2)]
    mean = weights @ means
    np.testing.assert_allclose(X.mean(), mean, atol=0.02)
    covariance = np.tensordot(weights, within, axes=1) + (weights * (means - mean).T) @ (means - mean)
    np.testing.assert_allclose(X.cov(), covariance, atol=0.01)
    again, _ = fitted.sample(40_000, label=1, random_state=0)
    pd.testing.assert_frame_equal(X, again)


def test_draws_of_all_classes_follow_the_prior(fitted):
    _, y = fitted.sample(9_000, random_state=1)
    np.testing.assert_allclose(np.bincount(y) / 9_000, fitted.class_prior_, atol=0.02)


@pytest.mark.parametrize("learn_edges", [False, True, "separate"])
def test_a_pgmpy_network_has_the_mean_and_covariance_of_the_model(iris, learn_edges):
    X, y = iris
    est = LatentClassificationModel(3, 2, learn_edges=learn_edges, random_state=0).fit(X, y)
    for label in est.classes_:
        for component in range(2):
            network = est.to_pgmpy(label, component)
            assert network.check_model()
            order = list(nx.topological_sort(network))
            at = [order.index(name) for name in [*est.get_feature_names_out(), *X.columns]]
            mean, covariance = (np.asarray(moment) for moment in network.to_joint_gaussian())
            effects = np.vstack([np.eye(3), est.loadings_[component]])
            expected = effects @ est.latent_means_[label] + np.concatenate([np.zeros(3), est.offsets_[component]])
            np.testing.assert_allclose(mean[at], expected, atol=1e-7)
            own = np.diag(np.concatenate([np.zeros(3), est.noise_[component]]))
            expected = (effects * est.latent_variances_[label]) @ effects.T + own
            np.testing.assert_allclose(covariance[np.ix_(at, at)], expected, atol=1e-7)


def test_edges_that_were_not_learned_are_missing_from_loadings_and_graph():
    X, y = load_wine(return_X_y=True, as_frame=True)
    est = LatentClassificationModel(3, 2, learn_edges=True, random_state=0).fit(X, y)
    assert 0 < est.edges_.mean() < 1
    assert (est.edges_[0] == est.edges_[1]).all()
    assert (est.loadings_[~est.edges_] == 0).all()
    graph = est.structure()
    assert graph.latents == {"Z1", "Z2", "Z3", "component"}
    for i, attribute in enumerate(X.columns):
        for j in range(3):
            assert graph.has_edge(f"Z{j + 1}", attribute) == est.edges_[0, i, j]


def test_separate_edges_may_differ_between_components():
    X, y = load_wine(return_X_y=True)
    est = LatentClassificationModel(3, 3, learn_edges="separate", random_state=0).fit(X, y)
    assert (est.edges_ != est.edges_[0]).any()
    one = est.structure(component=1)
    assert {edge for edge in one.edges if edge[0].startswith("Z")} == {
        (f"Z{j + 1}", f"x{i}") for i, j in np.argwhere(est.edges_[1])
    }


def test_names_of_latents_avoid_those_of_attributes():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["Z1", "class", "component", "b"])
    est = LatentClassificationModel(2, 2, random_state=0).fit(frame, y)
    assert est.get_feature_names_out().tolist() == ["Z1_", "Z2"]
    assert {"class_", "component_"} <= set(est.structure().nodes)


def test_the_wrapper_finds_sizes_and_says_how(iris):
    X, y = iris
    est = LatentClassificationModel(random_state=0, show_progress=False).fit(X, y)
    table = est.cv_results_
    assert (est.n_latents_, est.n_components_) == tuple(table.loc[0, ["n_latents", "n_components"]])
    assert table["accuracy"].between(0, 1).all()
    assert table.loc[0, "n_trials"] == table["n_trials"].max()
    assert est.stopped_ is None
    assert est.score(X, y) > 0.95


def test_a_size_that_is_given_is_kept(iris):
    X, y = iris
    linear = LatentClassificationModel(n_components=1, random_state=0, show_progress=False).fit(X, y)
    assert linear.n_components_ == 1
    assert (linear.cv_results_["n_components"] == 1).all()
    narrow = LatentClassificationModel(n_latents=2, random_state=0, show_progress=False).fit(X, y)
    assert narrow.n_latents_ == 2
    assert (narrow.cv_results_["n_latents"] == 2).all()


def test_the_answer_depends_on_the_seed_alone(iris):
    X, y = iris
    one = LatentClassificationModel(random_state=3, show_progress=False, n_latents=2).fit(X, y)
    two = LatentClassificationModel(random_state=3, show_progress=False, n_latents=2, n_jobs=2).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    assert (one.n_latents_, one.n_components_) == (two.n_latents_, two.n_components_)
    np.testing.assert_array_equal(one.loadings_, two.loadings_)
    fixed = LatentClassificationModel(2, 3, random_state=3)
    straight, shuffled = clone(fixed).fit(X, y), clone(fixed).fit(X.iloc[order], y.iloc[order])
    np.testing.assert_array_equal(straight.loadings_, shuffled.loadings_)


def test_weights_are_repetitions(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = LatentClassificationModel(2, 2, random_state=0).fit(X, y, sample_weight=weights)
    repeated = LatentClassificationModel(2, 2, random_state=0).fit(
        X.loc[X.index.repeat(weights)], y.loc[y.index.repeat(weights)]
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    halved = LatentClassificationModel(2, 2, random_state=0).fit(X, y, sample_weight=weights / 2)
    np.testing.assert_allclose(weighted.predict_proba(X), halved.predict_proba(X), atol=1e-9)


def test_units_do_not_matter(iris):
    X, y = iris
    one = LatentClassificationModel(2, 2, random_state=0).fit(X, y)
    factors = np.array([1e-6, 1.0, 1e6, 10.0])
    other = LatentClassificationModel(2, 2, random_state=0).fit(X * factors + 5, y)
    np.testing.assert_allclose(other.predict_proba(X * factors + 5), one.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        other.score_samples(X * factors + 5), one.score_samples(X) - np.log(factors).sum(), atol=1e-6
    )


def test_names_of_classes_do_not_matter(iris):
    X, y = iris
    one = LatentClassificationModel(2, 2, random_state=0).fit(X, y)
    words = LatentClassificationModel(2, 2, random_state=0).fit(X, y.map({0: "c", 1: "b", 2: "a"}))
    assert words.classes_.tolist() == ["a", "b", "c"]
    assert np.mean(words.predict(X) == np.array(["c", "b", "a"])[one.predict(X)]) > 0.97


def test_missing_values_are_learned_from_and_predicted_through(iris):
    X, y = iris
    gappy = with_gaps(X, 0.2)
    est = LatentClassificationModel(2, 2, random_state=0).fit(gappy, y)
    assert np.diff(est.log_likelihoods_).min() > -1e-8
    assert est.score(gappy, y) > 0.9
    assert est.score(X, y) > 0.93


def test_a_row_without_any_value_has_the_shares_of_the_classes(fitted):
    nothing = pd.DataFrame(np.full((1, 4), np.nan), columns=fitted.feature_names_in_)
    np.testing.assert_allclose(fitted.predict_proba(nothing), fitted.class_prior_[None])
    assert fitted.score_samples(nothing) == pytest.approx(0)
    np.testing.assert_allclose(fitted.transform(nothing), 0, atol=1e-10)


def test_ordinary_use_in_scikit_learn(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), LatentClassificationModel(random_state=0, n_starts=4))
    search = GridSearchCV(
        pipeline,
        {"latentclassificationmodel__n_latents": [1, 2], "latentclassificationmodel__n_components": [1, 2]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.94
    calibrated = CalibratedClassifierCV(LatentClassificationModel(2, 1, random_state=0), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    assert cross_val_score(LatentClassificationModel(2, 1, random_state=0), X, y).mean() > 0.94
    frame = LatentClassificationModel(2, 1, random_state=0).set_output(transform="pandas").fit(X, y).transform(X)
    assert frame.columns.tolist() == ["Z1", "Z2"]
    assert frame.index.equals(X.index)


def test_without_an_offset_the_linear_model_is_the_papers(iris):
    X, y = iris
    est = LatentClassificationModel(3, 1, offset=False, random_state=0).fit(X, y)
    assert (est.offsets_ == 0).all()
    assert np.diff(est.log_likelihoods_).min() > -1e-8
    assert est.score(X, y) > 0.94


def test_a_diagonal_model_is_close_to_naive_bayes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2_000)
    X = rng.normal(size=(2_000, 3)) * np.where(y, 1.0, 2.0)[:, None] + 1.5 * y[:, None]
    ours = LatentClassificationModel(3, 1, max_iter=500, tol=1e-6, random_state=0).fit(X, y)
    theirs = GaussianNB().fit(X, y)
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).mean() < 0.02


def test_time_limit_and_interrupts_leave_a_fitted_model(iris, monkeypatch):
    X, y = iris
    words = "no sizes could be compared before the end; n_latents=4 and n_components=1"
    with pytest.warns(ConvergenceWarning, match="time limit stopped"), pytest.warns(UserWarning, match=words):
        est = LatentClassificationModel(random_state=0, time_limit=1e-3, show_progress=False).fit(X, y)
    assert est.stopped_ == "time_limit"
    assert est.predict(X).shape == y.shape
    from pgmpy_latent.classification import size_search as _wrapper

    def press(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(_wrapper, "try_size", press)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped"), pytest.warns(UserWarning, match="no sizes could"):
        est = LatentClassificationModel(random_state=0, show_progress=False).fit(X, y)
    assert est.stopped_ == "interrupted"
    assert est.predict(X).shape == y.shape


def test_ctrl_c_while_edges_are_learned_leaves_the_model_without_them(iris, monkeypatch):
    from pgmpy_latent.classification import learn as _learn

    def press(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_learn, "learned_edges", press)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search; .* is the best model so far"):
        est = LatentClassificationModel(2, 1, learn_edges=True, random_state=0).fit(*iris)
    assert est.stopped_ == "interrupted"
    assert est.edges_.all()
    assert est.score(*iris) > 0.9


@pytest.mark.parametrize("weight", [1e-3, 1 / 150])
def test_weights_that_are_shares_support_as_many_edges_as_rows_do(iris, weight):
    est = LatentClassificationModel(3, 2, learn_edges=True, random_state=0)
    whole = est.fit(*iris).edges_
    shares = est.fit(*iris, sample_weight=np.full(150, weight)).edges_
    np.testing.assert_array_equal(whole, shares)
    assert whole.any()


def test_one_iteration_is_one_step(iris):
    est = tuned(LatentClassificationModel, 3, 1, max_iter=1, shrinkage=0, random_state=0).fit(*iris)
    assert est.n_iter_ == 1
    assert len(est.log_likelihoods_) == 2
    assert est.log_likelihood_ == est.log_likelihoods_[1] > est.log_likelihoods_[0]


@pytest.mark.parametrize("kind", [str, object])
def test_numbers_as_text_are_numbers(iris, kind):
    X, y = iris
    frame = X.astype(str).astype(kind)
    est = LatentClassificationModel(2, 1, random_state=0)
    np.testing.assert_array_equal(est.fit(frame, y).predict_proba(frame), est.fit(X, y).predict_proba(X))


def test_a_column_that_the_rows_for_sizes_lack_is_no_reason_to_warn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X[:, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = training(X, np.arange(20) % 2, np.ones(20))
    assert rows.location[2] == 0.0
    assert rows.scale[2] == 1.0


def test_hard_shapes_are_sound():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(60, 2))
    X = np.column_stack([base, base[:, 0] * 2, np.full(60, 7.0), 1e-9 * base[:, 1], 1e9 + base[:, 0]])
    y = (base[:, 0] + 0.1 * rng.normal(size=60) > 0).astype(int)
    y[:2] = 2
    for shape in [(1, 1), (12, 1), (18, 2), (3, 5)]:
        est = LatentClassificationModel(*shape, random_state=0).fit(X, y)
        assert np.isfinite(est.predict_log_proba(X)[np.arange(60), est.predict(X)]).all()
        assert np.isfinite(est.score_samples(X)).all()
        assert np.diff(est.log_likelihoods_).min() > -1e-6


IRIS = load_iris(return_X_y=True, as_frame=True)


def broken(column, value):
    frame = IRIS[0].astype(object)
    frame.loc[3, column] = value
    return frame


@pytest.mark.parametrize(
    ("settings", "X", "y", "error", "words"),
    [
        ({}, IRIS[0], IRIS[1] * 0, DataError, "one class only, .*0"),
        ({}, IRIS[0], IRIS[1].where(IRIS[1].index != 4, 9), DataError, "class .*9.* has one row"),
        (
            {},
            broken("petal width (cm)", "wide"),
            IRIS[1],
            DataError,
            r"column 'petal width .cm.' \(object\) does not hold",
        ),
        (
            {},
            broken("petal width (cm)", "wide").to_numpy(),
            IRIS[1],
            DataError,
            r"column 'x3' \(object\) does not hold",
        ),
        (
            {},
            IRIS[0].assign(day=pd.Timestamp("2020-01-01")),
            IRIS[1],
            DataError,
            "column 'day' .* does not hold numbers",
        ),
        ({"tied": "untied"}, *IRIS, ValueError, "tied is 'untied'; give True or False"),
        ({"offset": False}, IRIS[0] + 1e5, IRIS[1], DataError, "column 'sepal length .cm.' is too far from zero"),
        ({"cv": []}, *IRIS, DataError, "cv has no folds"),
        ({"cv": [1, 2]}, *IRIS, DataError, "cv has folds that are not pairs of row numbers"),
        ({}, IRIS[0], [None, *IRIS[1][1:]], (ValueError, DataError), "y|None"),
        ({}, np.ones((150, 4)) + np.arange(600).reshape(150, 4) % 2 * 2.3e-16, IRIS[1], DataError, "are constant"),
        ({"n_components": 200}, *IRIS, ValueError, "^n_components=200 is more than the 150 rows"),
        ({"cv": [([0, 1], [150])]}, *IRIS, DataError, "cv has row 150, but there are 150 rows"),
        ({}, IRIS[0].replace(5.1, np.inf), IRIS[1], DataError, "column 'sepal length .cm.' has infinite"),
        ({}, IRIS[0] * 0 + 3, IRIS[1], DataError, "all attributes are constant .*sepal length"),
        ({}, IRIS[0].assign(empty=np.nan), IRIS[1], DataError, "column 'empty' has no value at all"),
        ({"n_latents": 13}, *IRIS, ValueError, "n_latents is 13; 4 attributes times 3 classes, 12"),
        (
            {"n_latents": 10, "n_components": 16},
            *IRIS,
            ValueError,
            "n_latents=10 times n_components=16 is more than the 150",
        ),
        ({"n_latents": 0}, *IRIS, ValueError, "n_latents is 0; give a whole number of at least 1"),
        ({"select": "luck"}, *IRIS, ValueError, "select is 'luck'"),
        ({"learn_edges": "some"}, *IRIS, ValueError, "learn_edges is 'some'"),
        ({"learn_edges": []}, *IRIS, ValueError, "learn_edges is"),
        ({"cv": 1}, *IRIS, ValueError, "cv is 1; give at least 2"),
        ({"noise_floor": 0}, *IRIS, ValueError, "noise_floor is 0; give a number of at least 1e-09"),
        ({"shrinkage": -1}, *IRIS, ValueError, "shrinkage is -1; give a number of at least 0"),
        ({"time_limit": 0}, *IRIS, ValueError, "time_limit is 0"),
        ({"n_jobs": 0}, *IRIS, ValueError, "n_jobs is 0"),
        ({"n_starts": 0}, *IRIS, ValueError, "n_starts is 0"),
        ({"random_state": "x"}, *IRIS, ValueError, "random_state is 'x'"),
    ],
)
def test_bad_input_gets_a_message_that_names_it(settings, X, y, error, words):
    with pytest.raises(error, match=words):
        tuned(LatentClassificationModel, **settings).fit(X, y)


def test_folds_that_lose_a_class_are_named(iris):
    X, y = iris
    folds = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2))]
    with pytest.raises(DataError, match=r"fold 0 of cv leaves no row of class .*2"):
        LatentClassificationModel(cv=folds).fit(X, y)
    with pytest.raises(DataError, match="fold 0 of cv has no row to test on"):
        LatentClassificationModel(cv=[(np.arange(150), np.array([], int))]).fit(X, y)


def test_folds_may_be_a_splitter(iris):
    X, y = iris
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    est = LatentClassificationModel(n_components=1, cv=splitter, random_state=0, show_progress=False).fit(X, y)
    assert (est.cv_results_["n_trials"] == 1).all()
    with pytest.raises(ValueError, match="groups"):
        LatentClassificationModel(cv=GroupKFold(3)).fit(X, y)


def test_a_class_without_weight_is_named(iris):
    X, y = iris
    with pytest.warns(UserWarning, match="all rows of class 0 have weight zero; the classifier will not know it"):
        est = LatentClassificationModel(1, 1, random_state=0).fit(X, y, sample_weight=(y > 0).astype(float))
    assert est.classes_.tolist() == [1, 2]


def test_weights_are_checked(iris):
    X, y = iris
    with pytest.raises(WeightError, match="negative"):
        LatentClassificationModel(1, 1).fit(X, y, sample_weight=np.full(150, -1.0))
    with pytest.raises(WeightError, match="all weights are zero"):
        LatentClassificationModel(1, 1).fit(X, y, sample_weight=np.zeros(150))


def test_an_unknown_class_or_component_is_named(fitted):
    with pytest.raises(ValueError, match="there is no class 'x'; give one of"):
        fitted.to_pgmpy("x")
    with pytest.raises(ValueError, match="component is 2; give a whole number from 0 to 1"):
        fitted.to_pgmpy(0, 2)
    with pytest.raises(ValueError, match="there is no class 7"):
        fitted.sample(3, label=7)


def test_new_rows_with_infinite_values_are_refused(fitted, iris):
    with pytest.raises(DataError, match=r"column 'sepal length .cm.' has infinite"):
        fitted.predict(iris[0].replace(5.1, np.inf))


def test_folds_speak_of_the_rows_as_given(iris):
    X, y = iris
    weights = np.ones(150)
    weights[::5] = 0
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    whole = LatentClassificationModel(n_latents=2, cv=folds, random_state=0, show_progress=False)
    whole.fit(X, y, sample_weight=weights)
    place = np.cumsum(weights > 0) - 1
    kept = [tuple(place[part[weights[part] > 0]] for part in fold) for fold in folds]
    left = LatentClassificationModel(n_latents=2, cv=kept, random_state=0, show_progress=False)
    left.fit(X[weights > 0], y[weights > 0])
    columns = ["n_components", "accuracy", "log_loss"]
    pd.testing.assert_frame_equal(whole.cv_results_[columns], left.cv_results_[columns])


def test_sizes_of_large_tables_are_compared_on_some_of_the_rows(monkeypatch):
    from pgmpy_latent.classification import lcm
    from pgmpy_latent.classification import size_search as _wrapper

    seen = []

    def counted(rows, folds, shape, recipe, seed, clock):
        seen.append(len(rows.place))
        return _wrapper.Trial(np.ones(5), np.ones(5), 0.1, 1.0, 0.0)

    monkeypatch.setattr(_wrapper, "try_size", counted)
    monkeypatch.setattr(lcm, "most_rows", lambda n_attributes: 200)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [4_000, 980, 20])
    X = rng.normal(size=(5_000, 2)) + y[:, None]
    LatentClassificationModel(n_components=1, n_starts=2, random_state=0, show_progress=False).fit(X, y)
    assert set(seen) == {160 + 39 + 10}


def test_missing_cells_may_be_of_any_kind(iris):
    X, y = iris
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    plain = LatentClassificationModel(1, 1, random_state=0).fit(X, y)
    odd = X.astype(object).where(X.notna(), pd.NA)
    for table in (odd, odd.to_numpy(), odd.to_numpy().tolist()):
        fitted = LatentClassificationModel(1, 1, random_state=0).fit(table, y)
        np.testing.assert_array_equal(fitted.loadings_, plain.loadings_)
        np.testing.assert_array_equal(fitted.predict_proba(table), plain.predict_proba(X))


def test_words_in_a_list_are_named():
    with pytest.raises(DataError, match=r"column 'x1' \(.*\) does not hold numbers"):
        LatentClassificationModel(1, 1).fit([[1.0, "a"], [2.0, "b"]] * 4, [0, 1] * 4)


def test_a_truth_value_is_no_component(iris):
    fitted = LatentClassificationModel(1, 2, random_state=0).fit(*iris)
    with pytest.raises(ValueError, match="component is True; give a whole number from 0 to 1"):
        fitted.to_pgmpy(fitted.classes_[0], True)


@pytest.mark.parametrize("shown", [True, False])
def test_compiling_at_the_first_fit_is_said_if_progress_is_shown(shown, monkeypatch, capsys):
    monkeypatch.setattr("pgmpy_latent.classification.lcm.clock_line", lambda words: nullcontext(print(words)))
    X = np.random.default_rng(0).normal(size=(40, 2))
    LatentClassificationModel(1, 1, random_state=0, show_progress=shown).fit(X, X[:, 0] > 0)
    assert capsys.readouterr().out == ("compiling, at the first fit only\n" if shown else "")
