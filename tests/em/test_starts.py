"""The ways to begin EM: one registry, from which estimators and searches take names, starts and documentation."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgmpy_latent import NetworkEM, RandomStarts, TreeEM, presets
from pgmpy_latent.em.starts import STRATEGIES, StartInputs, Strategy, make_start, random_tables

NETWORK = DAG([("H", "x"), ("H", "y"), ("H", "z")], latents={"H"})


def survey(n=60):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n) > 0
    return pd.DataFrame({name: group ^ (rng.random(n) < 0.2) for name in "xyz"})


@pytest.fixture
def own_strategy(monkeypatch):
    """A strategy of its own, for the time of a test; yields the seeds that it was asked for."""
    seeds = []

    def make(inputs, seed):
        seeds.append(seed)
        assert len(inputs.rows.codes) == len(inputs.rows.weights)
        return random_tables(inputs.layout, np.random.default_rng(seed))

    monkeypatch.setitem(STRATEGIES, "own", Strategy("tables of my own", make, needs_rows=True))
    return seeds


@pytest.mark.parametrize("estimator", [TreeEM, NetworkEM])
def test_estimators_begin_as_a_new_strategy_says(own_strategy, estimator):
    options = {"n_init": 3, "seed": 0, "show_progress": False}
    own = estimator(init_cpds="own", **options).fit(NETWORK, survey())
    assert len(own_strategy) == 3
    same = estimator(init_cpds="random", **options).fit(NETWORK, survey())
    np.testing.assert_array_equal(own.start_objectives_, same.start_objectives_)


def test_a_strategy_that_is_not_random_begins_once(monkeypatch):
    monkeypatch.setitem(
        STRATEGIES,
        "fixed",
        Strategy("the same tables", lambda inputs, seed: random_tables(inputs.layout, np.random.default_rng(3)), False),
    )
    fitted = TreeEM(init_cpds="fixed", n_init=5, show_progress=False).fit(NETWORK, survey())
    assert len(fitted.start_objectives_) == 1
    with pytest.raises(ValueError, match="starts is 'fixed'; give 'memberships' or 'random'"):
        presets.RANDOM_STARTS.replace(starts="fixed")


def test_searches_begin_as_a_new_strategy_says(own_strategy):
    options = {"n_states": 2, "n_starts": 3, "random_state": 0, "show_progress": False}
    own = RandomStarts(tuning=presets.RANDOM_STARTS.replace(starts="own"), **options).fit(survey())
    assert len(own_strategy) == 3
    same = RandomStarts(tuning=presets.RANDOM_STARTS.replace(starts="random"), **options).fit(survey())
    assert own.log_likelihood_ == same.log_likelihood_


@pytest.mark.usefixtures("own_strategy")
def test_messages_name_a_new_strategy():
    with pytest.raises(
        ValueError, match="init_cpds is 'best'; give 'memberships', 'random', 'uniform', 'own' or a dict of CPDs"
    ):
        TreeEM(init_cpds="best").fit(NETWORK, survey())
    with pytest.raises(ValueError, match="starts is 'best'; give 'memberships', 'random' or 'own'"):
        presets.RANDOM_STARTS.replace(starts="best")


def test_unknown_strategies_are_refused():
    inputs = StartInputs(None, (), np.empty(0))
    with pytest.raises(ValueError, match="kind is 'best'; give 'memberships', 'random' or 'uniform'"):
        make_start("best", inputs, np.random.SeedSequence(0))


@pytest.mark.parametrize("estimator", [TreeEM, NetworkEM])
def test_documentation_describes_all_strategies(estimator):
    words = " ".join(estimator.__doc__.split())
    assert 'init_cpds : dict or {"memberships", "random", "uniform"}, optional' in words
    assert "random class memberships of some rows (the default), random tables, uniform tables" in words
    tuning = " ".join(presets.RandomStartsTuning.__doc__.split())
    assert 'starts : {"memberships", "random"} Random class memberships of some rows, or random tables.' in tuning
