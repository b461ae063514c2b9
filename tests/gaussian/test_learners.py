"""Learners of Gaussian trees: what they find, the contract of learners, and what is said of tables."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pgmpy_latent import GaussianBaseline, GaussianBinA, GaussianBinG, GaussianEAST, GaussianTree, gaussian, load, save
from pgmpy_latent.exceptions import DataError, FewRowsWarning, MissingCodeWarning
from tests.support import reference_gaussian as reference
from tests.support.gaussian_samples import THREE, drawn

LEARNERS = [
    GaussianBaseline(),
    GaussianBaseline("independence"),
    GaussianBaseline("one_factor"),
    GaussianBinG(),
    GaussianBinG(simplify=True),
    GaussianBinG(simplify=True, columns="anywhere"),
    GaussianBinA(simplify=True),
    GaussianEAST(),
    GaussianEAST(columns="leaves"),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
TWO = GaussianTree(
    ["A", "B", *"abcdef"],
    [-1, 0, 0, 0, 0, 1, 1, 1],
    [True] * 2 + [False] * 6,
    [0, 0.6, 0.8, 0.7, -0.9, 0.8, 0.9, 0.7],
)


@parametrize_with_checks(
    [clone(learner).set_params(show_progress=False) for learner in LEARNERS[:4]],
    expected_failed_checks=lambda learner: {
        "check_sample_weight_equivalence_on_dense_data": "EM ends within its tolerance, not at the last digit",
    },
)
@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.FewRowsWarning")
@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.CodesAsNumbersWarning")
def test_learners_follow_scikit_learn(estimator, check):
    check(estimator)


def splits(tree):
    """Return how the edges of a tree divide its columns, as sets of names of the side without the first."""
    found = set()
    for node in np.flatnonzero(tree.parent >= 0).tolist():
        below, names = [node], set()
        while below:
            at = below.pop()
            names |= set() if tree.latent[at] else {tree.names[at]}
            below += tree.child_lists[at]
        first = tree.observed_names[0]
        found.add(frozenset(set(tree.observed_names) - names if first in names else names))
    return found


@every_learner
def test_the_contract_of_learners(learner):
    rows = gaussian.sample(TWO, 300, random_state=3)
    found = clone(learner).set_params(random_state=0).fit(rows)
    again = clone(learner).set_params(random_state=0).fit(rows)
    assert found.tree_ == again.tree_
    assert found.log_likelihood_ == pytest.approx(reference.log_likelihood(found.tree_, rows.to_numpy()), rel=1e-9)
    assert found.n_parameters_ == 12 + (found.tree_.parent >= 0).sum()
    assert found.bic_ == pytest.approx(found.log_likelihood_ - found.n_parameters_ * np.log(300) / 2, rel=1e-12)
    assert found.score(rows) == pytest.approx(found.log_likelihood_ / 300)
    assert found.model_.check_model()
    assert found.model_.latents == set(found.latents_)
    assert gaussian.from_pgmpy(found.model_).names == found.tree_.names
    assert list(found.tree_.observed_names) == list(rows.columns) == list(found.feature_names_in_)
    assert found.history_["score"].is_monotonic_increasing
    assert found.history_["score"].iloc[-1] == pytest.approx(found.bic_)
    assert found.stopped_ is None
    assert list(found.predict(rows).columns) == found.latents_
    assert found.transform(rows).shape == (300, len(found.get_feature_names_out()))
    assert found.adjacency_matrix_.to_numpy().sum() == len(found.model_.edges())
    assert found.sample(4, random_state=1).equals(found.sample(4, random_state=1))
    loadings = found.tree_.correlations()[found.tree_.latent][:, ~found.tree_.latent]
    assert (loadings[np.arange(len(loadings)), np.abs(loadings).argmax(axis=1)] > 0).all()
    neighbours = [len(found.tree_.neighbours(name)) for name in found.latents_]
    assert all(number >= 3 for number in neighbours)
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.score_samples(rows), found.score_samples(rows))


@pytest.mark.parametrize("learner", LEARNERS[4:], ids=repr)
def test_the_tree_that_rows_came_from_is_found(learner):
    rows = gaussian.sample(TWO, 2000, random_state=0)
    found = clone(learner).set_params(random_state=0).fit(rows)
    assert splits(found.tree_) == splits(TWO)
    np.testing.assert_allclose(found.tree_.covariance(), TWO.covariance(), atol=0.1)


def test_columns_can_be_inner_nodes():
    chain = GaussianTree(list("abcde"), [-1, 0, 1, 2, 3], [False] * 5, [0, 0.7, 0.6, 0.7, 0.8])
    rows = gaussian.sample(chain, 2000, random_state=0)
    found = GaussianEAST(random_state=0).fit(rows)
    assert found.latents_ == []
    assert splits(found.tree_) == splits(chain)
    leaves = GaussianEAST(columns="leaves", random_state=0).fit(rows)
    assert len(leaves.latents_) > 0
    assert all(len(leaves.tree_.neighbours(name)) == 1 for name in "abcde")


def test_columns_without_anything_in_common_stay_alone():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 4)), columns=list("abcd"))
    for learner in (GaussianEAST(random_state=0), GaussianBinG(), GaussianBinA()):
        found = learner.fit(rows)
        assert found.latents_ == []
        assert found.n_parameters_ == 8
        assert found.bic_ == pytest.approx(GaussianBaseline("independence").fit(rows).bic_)


@every_learner
def test_missing_cells_are_integrated_out(learner):
    rows = gaussian.sample(TWO, 300, random_state=4)
    gaps = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.1)
    found = clone(learner).set_params(random_state=0).fit(gaps)
    assert found.log_likelihood_ == pytest.approx(reference.log_likelihood(found.tree_, gaps.to_numpy()), rel=1e-9)
    filled = found.impute(gaps)
    assert not filled.isna().any(axis=None)
    assert found.history_["score"].is_monotonic_increasing


@every_learner
def test_a_weight_equals_a_repeated_row(learner):
    rows = gaussian.sample(TWO, 200, random_state=5)
    weights = np.random.default_rng(0).integers(0, 4, len(rows))
    weighted = clone(learner).set_params(random_state=0).fit(rows, sample_weight=weights)
    repeated = clone(learner).set_params(random_state=0).fit(rows.iloc[np.repeat(np.arange(200), weights)])
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, abs=1e-2)
    assert splits(weighted.tree_) == splits(repeated.tree_)
    assert weighted.total_weight_ == weights.sum()
    assert weighted.weight_kind_ == "frequency"


def test_other_units_lead_to_the_same_tree():
    rows = gaussian.sample(TWO, 400, random_state=6)
    plain = GaussianEAST(random_state=0).fit(rows)
    changed = GaussianEAST(random_state=0).fit(rows.assign(a=-1e6 * rows["a"] + 5, e=rows["e"] / 1e5))
    assert splits(plain.tree_) == splits(changed.tree_)
    shift = 400 * (np.log(1e6) - np.log(1e5))
    assert changed.log_likelihood_ == pytest.approx(plain.log_likelihood_ - shift, abs=1e-2)


def test_the_figures_of_nine_tests_of_pupils(data_folder):
    table = pd.read_csv(data_folder / "holzinger9.csv")[[f"x{at}" for at in range(1, 10)]]
    assert round(GaussianBaseline("chow_liu").fit(table).bic_, 3) == -3829.769
    assert round(GaussianBaseline("one_factor").fit(table).bic_, 3) == -3928.270
    found = GaussianEAST(random_state=0).fit(table)
    assert found.bic_ >= -3821.0
    assert len(found.latents_) == 3
    groups = [set(found.tree_.neighbours(name)) for name in found.latents_]
    for factor in ({"x1", "x2", "x3"}, {"x4", "x5", "x6"}, {"x7", "x8", "x9"}):
        assert sum(factor <= group for group in groups) == 1
    assert GaussianEAST(columns="leaves", random_state=0).fit(table).bic_ >= -3821.0


def test_arrays_pipelines_and_frames_of_other_libraries_work():
    import polars as pl

    rows = gaussian.sample(TWO, 200, random_state=7)
    frame = GaussianBinG(simplify=True).fit(rows)
    array = GaussianBinG(simplify=True).fit(rows.to_numpy())
    assert array.tree_.observed_names == tuple(range(6))
    assert array.bic_ == pytest.approx(frame.bic_)
    assert GaussianBinG(simplify=True).fit(pl.from_pandas(rows)).tree_ == frame.tree_
    np.testing.assert_allclose(array.predict(rows.to_numpy()), frame.predict(rows))
    with pytest.raises(ValueError, match="X has 5 features, but GaussianBinG is expecting 6"):
        array.predict(rows.to_numpy()[:, :5])
    scores = make_pipeline(StandardScaler(), GaussianBinG(simplify=True)).fit_transform(rows)
    assert scores.shape == (200, len(frame.latents_))
    weighted = GaussianBinG().fit(np.column_stack([rows.to_numpy(), np.ones(200)]), sample_weight=6)
    assert weighted.n_features_in_ == 6


def test_a_time_limit_returns_the_best_tree_so_far():
    rows = drawn(200)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the search"):
        found = GaussianEAST(time_limit=0.05, random_state=0).fit(rows)
    assert found.stopped_ == "time_limit"
    assert found.log_likelihood_ == pytest.approx(gaussian.log_likelihood(found.tree_, rows), rel=1e-9)


def test_mistakes_are_explained():
    rows = drawn(40)
    with pytest.raises(DataError, match="column 'x1' is constant"):
        GaussianEAST().fit(rows.assign(x1=1.0))
    with pytest.raises(ValueError, match="columns is 'inner'; give 'anywhere' or 'leaves'"):
        GaussianEAST(columns="inner").fit(rows)
    with pytest.raises(ValueError, match="model is 'forest'"):
        GaussianBaseline("forest").fit(rows)
    with pytest.raises(NotFittedError):
        GaussianEAST().predict(rows)
    with pytest.raises(ValueError, match="give either X"):
        GaussianBaseline().fit(rows).score()
    with pytest.warns(FewRowsWarning, match="the model has 26 parameters for 12 rows"):
        GaussianBaseline().fit(rows.head(12))


def test_values_that_count_as_missing_are_missing(tmp_path):
    rows = drawn(200).astype({"x1": object})
    rows.loc[3, "x1"] = "refused"
    rows.loc[[4, 7], "x2"] = 999.0
    codes = {"x1": ["refused"], "x2": [999]}
    found = GaussianBaseline("one_factor").fit(rows, missing=codes)
    cleaned = rows.replace({"x1": {"refused": np.nan}, "x2": {999.0: np.nan}}).astype(float)
    wanted = GaussianBaseline("one_factor").fit(cleaned)
    assert found.log_likelihood_ == wanted.log_likelihood_
    assert dict(found.tree_.missing) == {"x1": ("refused",), "x2": (999,)}
    save(found.tree_, tmp_path / "model.json")
    for tree in (found.tree_, load(tmp_path / "model.json"), gaussian.from_pgmpy(found.model_)):
        np.testing.assert_allclose(gaussian.row_log_likelihoods(tree, rows), wanted.score_samples(cleaned))
    assert found.impute(rows).loc[3, "x1"] == pytest.approx(wanted.impute(cleaned).loc[3, "x1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianBaseline().fit(cleaned.assign(x2=rows["x2"]), missing={})
    with pytest.warns(MissingCodeWarning, match="do not occur: 99 in column 'x2'"):
        GaussianBaseline().fit(cleaned.assign(x2=rows["x2"]), missing={"x2": [99]})
    with pytest.raises(DataError, match="missing names 'x22', which is not a column of the table; did you mean 'x2'"):
        GaussianBaseline().fit(cleaned, missing={"x22": [99]})


def test_one_column_and_two_columns_are_tables_too():
    rows = drawn(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for learner in LEARNERS:
            one = clone(learner).fit(rows[["x0"]])
            assert one.n_parameters_ == 2
            two = clone(learner).fit(rows[["x0", "x1"]])
            assert two.latents_ == []
            assert two.log_likelihood_ == pytest.approx(
                reference.log_likelihood(two.tree_, rows[["x0", "x1"]].to_numpy())
            )


def test_the_tree_of_three_factors_is_found():
    found = GaussianEAST(random_state=0).fit(drawn(2000))
    assert splits(found.tree_) == splits(THREE)
