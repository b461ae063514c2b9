"""Checkpoints of the classifier: sizes that were tried are not tried again, and the model is the same."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

from pgmpy_latent import LatentClassificationModel
from pgmpy_latent.classification import size_search as _wrapper
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.runtime.fingerprint import fingerprint_of
from tests.runtime.test_checkpoint import Killed, killed_after

QUIET = {"random_state": 0, "show_progress": False, "n_starts": 4, "max_iter": 20, "cv": 3}
X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
ARRAYS = ("loadings_", "offsets_", "noise_", "latent_means_", "latent_variances_", "component_weights_", "edges_")


def classifier(**settings):
    return LatentClassificationModel(n_components=1, **{**QUIET, **settings})


@pytest.fixture(scope="module")
def whole():
    return classifier().fit(X, Y)


def assert_same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.log_likelihoods_ == other.log_likelihoods_
    assert (one.n_latents_, one.n_components_) == (other.n_latents_, other.n_components_)
    tables = [each.cv_results_.drop(columns="seconds") for each in (one, other)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_fit_goes_on_as_if_never_stopped(monkeypatch, tmp_path, whole, n_jobs):
    learner, kills = classifier(checkpoint=tmp_path / "a.json", n_jobs=n_jobs), 0
    for n_writes in (1, 2, 3):
        with monkeypatch.context() as patched:
            killed_after(patched, n_writes)
            try:
                learner.fit(X, Y)
                break
            except Killed:
                kills += 1
    tried, try_size = [], _wrapper.try_size
    monkeypatch.setattr(
        _wrapper, "try_size", lambda *given, **options: tried.append(given[2]) or try_size(*given, **options)
    )
    assert_same(learner.fit(X, Y), whole)
    assert kills >= 2
    assert len(tried) < whole.cv_results_["n_trials"].sum()


def test_a_finished_file_returns_its_model_at_once(monkeypatch, tmp_path, whole):
    learner = classifier(checkpoint=str(tmp_path / "a.json")).fit(X, Y)
    assert_same(learner, whole)
    assert json.loads((tmp_path / "a.json").read_text())["finished"]

    def fail(*given):
        raise AssertionError("nothing is to be learned")

    monkeypatch.setattr(_wrapper, "try_size", fail)
    monkeypatch.setattr("pgmpy_latent.classification.lcm.learn", fail)
    assert_same(learner.fit(X, Y), whole)


def test_without_a_seed_it_goes_on_with_the_seed_it_had(monkeypatch, tmp_path):
    learner = classifier(checkpoint=tmp_path / "a.json", random_state=None)
    with monkeypatch.context() as patched:
        killed_after(patched, 2)
        with pytest.raises(Killed):
            learner.fit(X, Y)
    entropy = json.loads((tmp_path / "a.json").read_text())["entropy"]
    learner.fit(X, Y)
    assert json.loads((tmp_path / "a.json").read_text())["entropy"] == entropy
    assert_same(learner, classifier(random_state=entropy).fit(X, Y))


@pytest.mark.filterwarnings("ignore:no sizes could be compared")
@pytest.mark.filterwarnings("ignore:the time limit stopped")
def test_what_the_clock_cut_short_goes_on(tmp_path, whole):
    learner = classifier(checkpoint=tmp_path / "a.json", time_limit=0.05).fit(X, Y)
    if learner.stopped_ is not None:
        assert not (tmp_path / "a.json").exists() or not json.loads((tmp_path / "a.json").read_text())["finished"]
    assert_same(learner.set_params(time_limit=None).fit(X, Y), whole)


@pytest.mark.parametrize(
    ("settings", "rows", "words"),
    [
        ({"random_state": 1}, slice(None), "random_state=0, not 1"),
        ({"tied": False}, slice(None), "tied=True, not False"),
        ({}, slice(1, None), "another table, data [0-9a-f]{16}, not [0-9a-f]{16}"),
        ({"cv": KFold(3)}, slice(None), "cv=3, not KFold [0-9a-f]{16}"),
    ],
)
def test_the_file_of_another_fit_is_refused_and_kept(tmp_path, settings, rows, words):
    path = tmp_path / "a.json"
    classifier(n_latents=2, checkpoint=path).fit(X, Y)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"belongs to another search: {words}"):
        classifier(n_latents=2, checkpoint=path, **settings).fit(X[rows], Y[rows])
    assert path.read_bytes() == before


def test_folds_are_told_apart(tmp_path):
    parts = list(KFold(3, shuffle=True, random_state=0).split(X))
    given = [KFold(3), KFold(4), parts, parts[::-1], 3]
    assert len({fingerprint_of(classifier(cv=cv), "").settings["cv"] for cv in given}) == len(given)
    with pytest.raises(ValueError, match=r"checkpoint needs a cv that can be iterated over again; give a list"):
        classifier(checkpoint=tmp_path / "a.json", cv=iter(parts)).fit(X, Y)


def test_what_is_no_path_is_named():
    with pytest.raises(ValueError, match="checkpoint is 3; give the path of a file"):
        classifier(checkpoint=3).fit(X, Y)
