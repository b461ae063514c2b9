"""HiddenChowLiu that runs EM in single precision."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import HiddenChowLiu, presets
from pgmpy_latent.inference.tree_engine import TreeEngine

SINGLE = replace(
    presets.HIDDEN_CHOW_LIU, precision="single", max_iter=12, last_iter=3, concentrations=(0.1,), category_starts=0
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, size=300)
    chances = rng.random((3, 7))
    return pd.DataFrame(rng.random((300, 7)) < chances[groups]).rename(columns="x{}".format).astype(int)


def fitted(table, n_states, tuning, n_jobs=1):
    learner = HiddenChowLiu(
        n_states=n_states, smoothing=1.0, random_state=0, show_progress=False, n_jobs=n_jobs, tuning=tuning
    )
    return learner.fit(table)


def test_it_predicts_as_well_as_in_double(table):
    rounded, exact = (fitted(table, 16, replace(SINGLE, precision=precision)) for precision in ("single", "double"))
    assert rounded.score(table) == pytest.approx(exact.score(table), abs=0.01)


def test_reported_log_likelihoods_are_in_double(table):
    learner = fitted(table, 16, SINGLE)
    assert learner.log_likelihood_ == pytest.approx(learner.score(table) * len(table), rel=1e-12)


def test_few_states_stay_in_double(table):
    rounded, exact = (fitted(table, 4, replace(SINGLE, precision=precision)) for precision in ("single", "double"))
    for own, other in zip(rounded.tree_.tables, exact.tree_.tables, strict=True):
        np.testing.assert_array_equal(own, other)


def test_only_candidates_are_fitted_in_single(table, monkeypatch):
    seen, run = [], TreeEngine.expected_counts

    def noted(engine, *args, **options):
        seen.append((engine.precision, engine.plan.n_rows))
        return run(engine, *args, **options)

    monkeypatch.setattr(TreeEngine, "expected_counts", noted)
    fitted(table, 16, SINGLE)
    most = max(rows for _, rows in seen)
    assert {precision for precision, rows in seen if rows < most} == {"single"}
    assert {precision for precision, rows in seen if rows == most} == {"double"}


def test_threads_change_nothing(table):
    one, two = (fitted(table, 16, SINGLE, n_jobs) for n_jobs in (1, 2))
    for own, other in zip(one.tree_.tables, two.tree_.tables, strict=True):
        np.testing.assert_array_equal(own, other)


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match="precision"):
        replace(presets.HIDDEN_CHOW_LIU, precision="half")
