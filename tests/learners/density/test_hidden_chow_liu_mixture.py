"""HiddenChowLiuMixture: held-out rows choose, and test rows are never seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pgmpy_latent import HiddenChowLiuMixture, encode, load, log_likelihood, row_log_likelihoods, sample, save
from pgmpy_latent.learners.density import begin, mixture_search
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
    with pytest.raises(NotImplementedError, match="learn one with HiddenChowLiu"):
        fitted.report(tmp_path / "report.html")


def test_nothing_is_ruled_out(learner, rows):
    fitted = clone(learner).fit(rows[0])
    assert all((table > 0).all() for table in fitted.mixture_.tables)


def test_a_time_limit_returns_a_mixture(rows):
    with pytest.warns(UserWarning, match="time"):
        fitted = HiddenChowLiuMixture(n_trials=50, time_limit=0.3, **QUIET).fit(rows[0])
    assert fitted.stopped_ == "time_limit"
    assert np.isfinite(fitted.score(rows[2]))
