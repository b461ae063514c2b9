"""Bootstrap p-values of residuals, against a loop that draws, fits and compares."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import LatentTree, RandomStarts, residuals, sample
from pgmpy_latent.diagnostics import pair_draws
from pgmpy_latent.diagnostics.adjustment import holm, share_as_extreme, smallest_of_all
from pgmpy_latent.diagnostics.pair_draws import drawn_pair_statistics
from pgmpy_latent.diagnostics.pairs import pair_statistics
from pgmpy_latent.diagnostics.resampling import drawn_from_model
from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.model.network import as_network
from pgmpy_latent.tables.encode import CategoricalData

NAMES = list("vwxyz")
ITEM = np.array([[0.85, 0.15], [0.2, 0.8]])
TREE = LatentTree(["H", *NAMES], [[0, 1]] * 6, [-1, *[0] * 5], [True, *[False] * 5], [[[0.6, 0.4]], *[ITEM] * 5])


def fitted(table, tree=TREE):
    data = encode_for(tree, table)
    engine = engine_for(tree, data)
    found = fit(engine, engine.layout.pack(tree.tables))
    return tree.with_tables(engine.layout.unpack(found.tables)), data


def with_gaps(table):
    return table.mask(np.random.default_rng(5).random(table.shape) < 0.1).astype("Int64")


@pytest.mark.parametrize("change", [lambda table: table, with_gaps], ids=["complete", "missing cells"])
def test_statistics_are_those_of_drawn_and_refitted_tables(change):
    tree, data = fitted(change(sample(TREE, 200, random_state=0)))
    statistic, df = drawn_pair_statistics(tree, data, 5, 7)
    assert statistic.shape == df.shape == (5, 10)
    for draw in range(5):
        rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(draw,)))
        drawn = drawn_from_model(tree, data, [rng])
        rows = CategoricalData(data.columns, data.state_names, drawn.data.codes, drawn.weights[0])
        engine = engine_for(tree, rows)
        again = fit(engine, engine.layout.pack(tree.tables), atol=1e-7)
        expected = pair_statistics(tree.with_tables(engine.layout.unpack(again.tables)), rows)
        np.testing.assert_allclose(statistic[draw], expected[:, 2], rtol=0.05, atol=0.05)
        np.testing.assert_array_equal(df[draw], expected[:, 3])


def test_p_values_count_drawn_tables():
    table = sample(TREE, 200, random_state=0)
    tree, data = fitted(table)
    found = residuals(tree, table, n_bootstrap=30, random_state=7)
    drawn, _ = drawn_pair_statistics(tree, data, 30, 7)
    observed = pair_statistics(tree, data)
    for first, second, value, *_ in observed.tolist():
        row = found[(found["first"] == NAMES[int(first)]) & (found["second"] == NAMES[int(second)])].iloc[0]
        at = np.flatnonzero((observed[:, 0] == first) & (observed[:, 1] == second))[0]
        assert row["p_value"] == pytest.approx((1 + (drawn[:, at] >= value).sum()) / 31)
    assert (found["adjusted_p"] >= found["p_value"] - 1e-12).all()
    assert found["p_value"].is_monotonic_increasing


def test_a_network_and_threads_give_the_same():
    table = sample(TREE, 150, random_state=0)
    tree, _ = fitted(table)
    options = {"n_bootstrap": 30, "random_state": 3}
    first = residuals(tree, table, **options)
    pd.testing.assert_frame_equal(first, residuals(as_network(tree), table, **options), check_exact=True)
    pd.testing.assert_frame_equal(first, residuals(tree, table, n_jobs=2, **options), check_exact=True)


def test_a_pair_that_goes_together_stands_out():
    table = sample(TREE, 500, random_state=0)
    table["x"] = table["w"].where(table.index % 3 == 0, table["x"])
    found = residuals(RandomStarts(n_states=2, random_state=0).fit(table), table, n_bootstrap=99)
    assert found.loc[0, ["first", "second"]].tolist() == ["w", "x"]
    assert found.loc[0, "p_value"] == 0.01
    assert found.loc[0, "adjusted_p"] <= 0.05 < found.loc[1, "adjusted_p"]
    assert "'w' and 'x'" in found.attrs["advice"]


def test_the_bootstrap_holds_its_level_where_chi_squared_does_not():
    by_draw, by_formula = [], []
    for seed in range(40):
        table = sample(TREE, 200, random_state=seed)
        tree, _ = fitted(table)
        by_draw.append((residuals(tree, table, n_bootstrap=39, random_state=seed)["p_value"] <= 0.05).mean())
        by_formula.append((residuals(tree, table)["p_value"] <= 0.05).mean())
    assert 0.02 < np.mean(by_draw) < 0.09
    assert np.mean(by_formula) < 0.01


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="n_bootstrap"):
        residuals(TREE, sample(TREE, 20, random_state=0), n_bootstrap=-1)


def test_ctrl_c_returns_what_is_there(monkeypatch):
    table = sample(TREE, 60, random_state=0)
    tree, data = fitted(table)
    whole, calls = pair_draws._statistics_of_draws, []

    def stopped(model, data, prior, seeds):
        calls.append(seeds)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return whole(model, data, prior, seeds)

    monkeypatch.setattr(pair_draws, "_statistics_of_draws", stopped)
    with pytest.warns(ConvergenceWarning, match="p-values rest on 25 of 60 drawn tables"):
        statistic, _ = drawn_pair_statistics(tree, data, 60, 0)
    assert len(statistic) == 25
    with pytest.raises(KeyboardInterrupt):
        drawn_pair_statistics(tree, data, 60, 0)


def test_adjusted_p_values_leave_unknown_ones_out():
    np.testing.assert_allclose(holm(np.array([np.nan, 0.02, 0.03])), [np.nan, 0.04, 0.04])
    drawn = np.array([[0.5, np.nan], [0.01, 0.3]])
    np.testing.assert_allclose(smallest_of_all(drawn, np.array([0.02, np.nan])), [2 / 3, np.nan])
    np.testing.assert_allclose(share_as_extreme(drawn, np.array([0.1, np.nan])), [2 / 3, np.nan])
