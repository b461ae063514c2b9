"""HiddenChowLiuMixture: held-out rows choose, and test rows are never seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pgmpy_latent import (
    HiddenChowLiuMixture,
    encode,
    explore,
    load,
    log_likelihood,
    residuals,
    row_log_likelihoods,
    sample,
    save,
)
from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.learners.density import begin, mixture_search
from pgmpy_latent.learners.fitted_mixture import FOR_PREDICTION
from tests.support.samples import leafy_tree

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def rows():
    """Return tables to learn from, to validate with and to test, of which no row is in two."""
    table = sample(leafy_tree(n_columns=8, card=3), 9_000, random_state=0).drop_duplicates(ignore_index=True)
    table = table.astype(pd.CategoricalDtype([0, 1, 2]))
    return table[:250], table[250:350], table[350:450]


@pytest.fixture(scope="module")
def learner():
    return HiddenChowLiuMixture(n_trials=3, max_groups=2, max_states=2, **QUIET)


def test_the_average_is_the_mean_of_what_was_chosen(learner, rows):
    train, valid, _ = rows
    fitted = clone(learner).fit(train, X_valid=valid)
    assert len(fitted.held_out_) == 3
    assert fitted.score_ == pytest.approx(log_likelihood(fitted.mixture_, valid), rel=1e-12)
    assert fitted.log_likelihood_ == pytest.approx(log_likelihood(fitted.mixture_, train), rel=1e-12)
    assert len(fitted.mixture_.trees) == fitted.held_out_.query("averaged")["n_groups"].sum()


def test_test_rows_are_never_seen_and_a_planted_leak_is_caught(learner, rows, monkeypatch):
    train, valid, test = rows
    seen, make = [], mixture_search.engine_for

    def noted(tree, data):
        seen.append(data)
        return make(tree, data)

    for module in (mixture_search, begin):
        monkeypatch.setattr(module, "engine_for", noted)
    known = {tuple(row) for row in encode(test).codes.tolist()}

    def leaks():
        return any(tuple(row) in known for data in seen for row in data.codes.tolist())

    clone(learner).fit(train, X_valid=valid)
    assert len(seen) > 3
    assert not leaks()
    clone(learner).fit(train, X_valid=pd.concat([valid, test]))
    assert leaks()


def test_the_same_seed_gives_the_same_mixture_for_any_number_of_threads_and_any_order(learner, rows):
    train = rows[0]
    first = clone(learner).fit(train).mixture_
    assert clone(learner).set_params(n_jobs=2).fit(train).mixture_ == first
    shuffled = clone(learner).fit(train.iloc[::-1, ::-1])
    assert np.allclose(shuffled.score_samples(rows[2]), row_log_likelihoods(first, rows[2]), rtol=1e-9)


def test_weights_are_repeated_rows(learner, rows):
    train, valid, test = rows
    times = np.arange(len(train)) % 3 + 1
    weighted = clone(learner).fit(train, sample_weight=times, X_valid=valid)
    repeated = clone(learner).fit(train.loc[train.index.repeat(times)], X_valid=valid)
    assert np.allclose(weighted.score_samples(test), repeated.score_samples(test), rtol=1e-8)


def test_gaps_are_summed_out_and_filled(learner, rows, tmp_path):
    train = rows[0].astype(object)
    train = train.mask(np.random.default_rng(0).random(train.shape) < 0.2)
    fitted = clone(learner).fit(train)
    assert np.isfinite(fitted.score(train))
    assert not fitted.impute(train).isna().to_numpy().any()
    assert fitted.sample(5, random_state=0).columns.tolist() == train.columns.tolist()
    assert fitted.predict_proba(train).sum(axis=1).to_numpy() == pytest.approx(1)
    assert fitted.history_["operator"].iloc[-1] == "fit to all rows"
    save(fitted.mixture_, tmp_path / "mixture.json")
    assert load(tmp_path / "mixture.json") == fitted.mixture_
    save(fitted, tmp_path / "again.json")
    assert load(tmp_path / "again.json") == fitted.mixture_


def test_what_a_mixture_says_of_itself(learner, rows, tmp_path, capsys):
    train, valid, _ = rows
    fitted = clone(learner).set_params(n_groups=2).fit(train, X_valid=valid)
    n_trees = len(fitted.mixture_.trees)
    fitted.summary()
    text = capsys.readouterr().out
    assert f"{n_trees} trees, 8 columns" in text
    assert text.rstrip().endswith(FOR_PREDICTION)
    assert len([line for line in text.splitlines() if line.startswith("tree ")]) == n_trees
    for shown in (fitted._repr_html_(), fitted.mixture_._repr_html_()):
        assert f"{n_trees} trees, 8 columns" in shown
    fitted.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"Mixture of {n_trees} trees" in page
    assert "not meant to be interpreted" in page
    for shown in (page, explore(fitted).page, explore(fitted.mixture_).page):
        assert "Left out: posteriors of a mixture follow from all of its trees" in shown
    profiles = fitted.profiles()
    assert profiles.loc[("share", "")].to_numpy() == pytest.approx(fitted.mixture_.weights)
    assert set(fitted.kinds_.values()) == {"categorical"}
    with pytest.raises(AttributeError, match="networks_ has the weight and the network of every tree"):
        fitted.adjacency_matrix_  # noqa: B018
    assert not hasattr(fitted, "model_")
    with pytest.raises(AttributeError, match="no single network; networks_ has the weight and the network of every"):
        fitted.model_  # noqa: B018


def test_residuals_of_mixtures_are_those_of_their_joint_probabilities(learner, rows):
    train, valid, _ = rows
    fitted = clone(learner).fit(train, X_valid=valid)
    found = residuals(fitted, train).iloc[0]
    pair = [found["first"], found["second"]]
    cells = pd.DataFrame([(a, b) for a in range(3) for b in range(3)], columns=pair)
    expected = len(train) * np.exp(row_log_likelihoods(fitted.mixture_, cells, absent="sum_out").to_numpy())
    observed = pd.crosstab(train[pair[0]], train[pair[1]]).to_numpy().ravel()
    assert found["statistic"] == pytest.approx(((observed - expected) ** 2 / expected).sum(), rel=1e-9)
    with pytest.raises(TypeError, match="leave n_bootstrap out"):
        residuals(fitted, train, n_bootstrap=2)


def test_trees_with_the_same_edges_are_one_tree(learner, rows):
    train, valid, test = rows
    fitted = clone(learner).set_params(own_edges=False).fit(train, X_valid=valid)
    assert len(fitted.mixture_.trees) > 2
    tree = fitted.one_tree()
    assert np.allclose(row_log_likelihoods(tree, test), fitted.score_samples(test), rtol=1e-10)
    gaps = test.mask(np.random.default_rng(0).random(test.shape) < 0.5)
    assert np.allclose(row_log_likelihoods(tree, gaps), fitted.score_samples(gaps), rtol=1e-10)
    own = clone(learner).set_params(own_edges=True, n_groups=2).fit(train, X_valid=valid)
    with pytest.raises(InvalidTreeError, match="own_edges=False"):
        own.one_tree()


def test_nothing_is_ruled_out(learner, rows):
    fitted = clone(learner).fit(rows[0])
    assert all((table > 0).all() for table in fitted.mixture_.tables)


def test_a_time_limit_returns_a_mixture(rows):
    with pytest.warns(UserWarning, match="time"):
        fitted = HiddenChowLiuMixture(n_trials=50, time_limit=0.3, **QUIET).fit(rows[0])
    assert fitted.stopped_ == "time_limit"
    assert np.isfinite(fitted.score(rows[2]))
