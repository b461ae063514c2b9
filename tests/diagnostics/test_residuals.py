"""Residuals of pairs of columns, against the definition by enumeration."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from statsmodels.stats.multitest import multipletests

from pgmpy_latent import LatentTree, RandomStarts, encode, residuals, sample
from pgmpy_latent.exceptions import NoOverlapWarning
from pgmpy_latent.model.network import LatentNetwork, as_network
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.testing import codes_for, latent_trees, weights_for
from tests.support import reference

COLUMNS = ["first", "second", "statistic", "df", "per_df", "p_value", "adjusted_p", "n"]


def table_of(tree, codes, weights=None):
    states = [tree.state_names[node] for node in np.flatnonzero(~tree.latent)]
    return CategoricalData(tree.observed_names, states, codes, np.ones(len(codes)) if weights is None else weights)


def by_pair(found):
    return {(row.first, row.second): row for row in found.itertuples(index=False)}


@st.composite
def problems(draw, **options):
    tree = draw(latent_trees(**options))
    codes = draw(codes_for(tree, min_rows=4))
    return tree, codes, draw(weights_for(len(codes)))


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.NoOverlapWarning")
@given(problems(zeros=None))
def test_statistics_equal_the_definition(problem):
    tree, codes, weights = problem
    found = residuals(tree, table_of(tree, codes, weights))
    assert found.columns.tolist() == COLUMNS
    names = tree.observed_names
    assert len(found) == len(names) * (len(names) - 1) // 2
    for (first, second), row in by_pair(found).items():
        expected = reference.pair_residual(tree, codes, weights, names.index(first), names.index(second))
        assert (row.df, row.n) == (expected[1], pytest.approx(expected[2]))
        if row.n == 0:
            assert np.isnan(row.statistic)
            continue
        assert row.statistic == pytest.approx(expected[0], rel=1e-8, abs=1e-9)
        if row.df:
            assert row.per_df == pytest.approx(row.statistic / row.df)
            assert row.p_value == pytest.approx(chi2.sf(row.statistic, row.df))
        else:
            assert np.isnan(row.per_df)
            assert np.isnan(row.p_value)


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.NoOverlapWarning")
@given(problems())
def test_a_network_has_the_residuals_of_the_tree_that_it_is(problem):
    tree, codes, weights = problem
    data = table_of(tree, codes, weights)
    pd.testing.assert_frame_equal(residuals(as_network(tree), data), residuals(tree, data), check_exact=True)


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.NoOverlapWarning")
@given(problems(), st.randoms(use_true_random=False))
def test_a_weight_is_a_repeated_row(problem, random):
    tree, codes, _ = problem
    weights = np.array([random.randint(1, 3) for _ in codes], float)
    once = residuals(tree, encode(table_of(tree, codes, weights)))
    repeated = residuals(tree, table_of(tree, np.repeat(codes, weights.astype(int), axis=0)))
    np.testing.assert_allclose(
        once.set_index(["first", "second"])["statistic"].sort_index(),
        repeated.set_index(["first", "second"])["statistic"].sort_index(),
        rtol=1e-9,
        atol=1e-9,
    )


def test_networks_with_several_parents():
    tables = [[[0.3, 0.7]], [[0.6, 0.4]], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]], [[0.8, 0.2], [0.1, 0.9]]]
    network = LatentNetwork("xHyz", [[0, 1]] * 4, [(), (), (0, 1), (1,)], [False, True, False, False], tables)
    table = sample(network, 200, random_state=0)
    found = by_pair(residuals(network, table))
    p_y_given_x = 0.6 * np.array([[0.9, 0.1], [0.2, 0.8]]) + 0.4 * np.array([[0.4, 0.6], [0.7, 0.3]])
    fitted = 200 * np.array([[0.3], [0.7]]) * p_y_given_x
    counts = pd.crosstab(table["x"], table["y"]).to_numpy()
    assert found["x", "y"].statistic == pytest.approx(((counts - fitted) ** 2 / fitted).sum())


def items(n_items, n_rows, seed=0):
    item = [[0.9, 0.1], [0.2, 0.8]]
    names = [f"q{at}" for at in range(n_items)]
    tree = LatentTree(
        ["H", *names],
        [[0, 1], *[["no", "yes"]] * n_items],
        [-1, *[0] * n_items],
        [True, *[False] * n_items],
        [[[0.5, 0.5]], *[item] * n_items],
    )
    return tree, sample(tree, n_rows, random_state=seed)


def test_a_true_model_leaves_nothing_to_explain():
    _, table = items(6, 2000)
    found = residuals(RandomStarts(n_states=2).fit(table), table)
    assert found["statistic"].is_monotonic_decreasing
    assert found["per_df"].mean() < 1.5
    assert (found["adjusted_p"] > 0.05).all()
    assert found.attrs["advice"].startswith("No pair of columns stands out once their number is accounted for: the")
    assert repr(found.loc[0, "first"]) in found.attrs["advice"]


def test_pairs_that_stand_out_are_named():
    _, table = items(8, 1000)
    table["q5"] = table["q4"].where(table.index % 4 == 0, table["q5"])
    learner = RandomStarts(n_states=2).fit(table)
    found = residuals(learner, table)
    assert found.loc[0, ["first", "second"]].tolist() == ["q4", "q5"]
    assert found.loc[0, "adjusted_p"] < 1e-3
    assert "1 of 28 pairs of columns goes together in a way" in found.attrs["advice"]
    assert "'q4' and 'q5' (" in found.attrs["advice"]
    assert "EAST would try a hidden variable" in found.attrs["advice"]
    assert "StructuralEM would try an edge" in residuals(as_network(learner.tree_), table).attrs["advice"]
    many = residuals(RandomStarts(n_states=1).fit(table), table)
    assert "28 of 28 pairs of columns go together" in many.attrs["advice"]
    assert ", and 23 more. EAST" in many.attrs["advice"]


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.NoOverlapWarning")
@given(problems(zeros=None, max_card=6))
def test_the_advice_names_the_first_pair_of_the_table(problem):
    """Pairs differ in degrees of freedom, by which the largest statistic need not be the strongest evidence."""
    tree, codes, weights = problem
    found = residuals(tree, table_of(tree, codes, 30 * weights))
    assert found["p_value"].dropna().is_monotonic_increasing
    known = found[found["p_value"].notna()]
    assert found["p_value"].notna().to_numpy()[: len(known)].all()  # what is not known comes last
    if len(known):
        named = re.findall(r"'(\w+)' and '(\w+)'", found.attrs["advice"])
        out = known[known["adjusted_p"] < 0.05]
        expected = (out if len(out) else known.head(1)).head(5)
        assert named == list(zip(expected["first"], expected["second"], strict=True))
        assert named[0] == (found.loc[0, "first"], found.loc[0, "second"])


def test_adjusted_p_values_are_those_of_holm():
    _, table = items(5, 300)
    found = residuals(RandomStarts(n_states=1).fit(table), table.assign(q0=table["q0"].sample(frac=1, random_state=0)))
    np.testing.assert_allclose(found["adjusted_p"], multipletests(found["p_value"], method="holm")[1])


def test_arrays_are_read_as_the_learner_reads_them():
    _, table = items(4, 100)
    learner = RandomStarts(n_states=2).fit(table)
    pd.testing.assert_frame_equal(residuals(learner, table.to_numpy()), residuals(learner, table))


def test_many_columns_in_several_blocks():
    tree, table = items(700, 150)
    found = by_pair(residuals(tree, table))
    assert len(found) == 700 * 699 // 2
    codes = (table == "yes").to_numpy().astype(int)
    for left, right in [(0, 1), (3, 600), (511, 512), (698, 699)]:
        counts = np.zeros((2, 2))
        np.add.at(counts, (codes[:, left], codes[:, right]), 1)
        item = np.array([[0.9, 0.1], [0.2, 0.8]])
        fitted = 150 * (item.T @ item) / 2
        row = found[f"q{left}", f"q{right}"]
        assert row.statistic == pytest.approx(((counts - fitted) ** 2 / fitted).sum())


def test_columns_that_never_meet():
    tree, table = items(3, 40)
    table.loc[:19, "q0"] = None
    table.loc[20:, "q1"] = None
    with pytest.warns(NoOverlapWarning, match=r"1 pair of columns is never filled in the same row: 'q0' and 'q1'"):
        found = residuals(tree, table)
    last = found.iloc[-1]
    assert (last["first"], last["second"], last["n"]) == ("q0", "q1", 0)
    assert np.isnan(last[["statistic", "per_df", "p_value", "adjusted_p"]].astype(float)).all()
    assert found["adjusted_p"].notna().sum() == 2


def test_one_column_has_no_pairs():
    found = residuals(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]]), pd.DataFrame({"x": ["a", "b"]}))
    assert len(found) == 0
    assert found.columns.tolist() == COLUMNS
    assert found.attrs["advice"] == "There is no pair of columns to compare."


def test_something_else_than_a_model():
    with pytest.raises(TypeError, match="pgmpy network or fitted learner as the first argument, got DataFrame"):
        residuals(pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1]}))
