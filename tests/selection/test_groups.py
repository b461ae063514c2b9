"""What differs between groups: the ladder of models, the tests of items, and what is said about them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, chi2_contingency
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import LatentNetwork, RandomStarts, compare_groups, log_likelihood, sample
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.runtime import clock
from pgmpy_latent.selection import groups

QUIET = {"show_progress": False, "n_starts": 4}
ITEMS = ["u", "v", "w", "x", "y"]


def network(sizes=0.0, shift=0.0):
    """Return three groups and two classes, whose sizes differ between groups, and in one of which item u does."""
    item = np.array([[0.85, 0.15], [0.2, 0.8]])
    shares = np.array([0.6 + sizes, 0.6, 0.6 - sizes])
    first = np.repeat(item, 3, axis=0)
    first[0, 0] -= shift
    first[:, 1] = 1 - first[:, 0]
    return LatentNetwork(
        ["g", "H", *ITEMS],
        [["a", "b", "c"], [0, 1], *[["no", "yes"]] * 5],
        [(), (0,), (1, 0), *[(1,)] * 4],
        [False, True, *[False] * 5],
        [np.full((1, 3), 1 / 3), np.stack([shares, 1 - shares], axis=1), first, *[item] * 4],
    )


def drawn(n=900, seed=0, **options):
    return sample(network(**options), n, random_state=seed)


# Figures ------------------------------------------------------------------------------------------


def test_the_figures_of_the_survey_on_abortion(data_folder):
    table = pd.read_csv(data_folder / "lca_gss08.csv")
    items = table.columns[:6].tolist()
    found = compare_groups(table[[*items, "DEGREE"]], "DEGREE", 3, show_progress=False)
    assert found.table.index.tolist() == ["nothing differs", "sizes differ", "all differ"]
    assert found.table["n_parameters"].tolist() == [20, 26, 80]
    np.testing.assert_allclose(found.table["log_likelihood"], [-687.4486, -672.414, -650.2821], atol=2e-4)
    assert found.table["seconds"].max() < 5
    assert "3 rows without any answer are left out" in found.reason
    assert not found.items["differs"].any()


# Laws ---------------------------------------------------------------------------------------------


def test_the_model_in_which_all_differ_is_one_for_each_group():
    table = drawn(sizes=0.2)
    found = compare_groups(table, "g", 2, **QUIET)
    apart = [RandomStarts(n_states=2, random_state=0).fit(rows[ITEMS]) for _, rows in table.groupby("g")]
    assert found.table.loc["all differ", "log_likelihood"] == pytest.approx(
        sum(learner.log_likelihood_ for learner in apart), abs=0.02
    )


def test_log_likelihoods_are_those_of_the_models_given_the_group():
    table = drawn(300, shift=0.3)
    table.loc[::7, "v"] = None
    found = compare_groups(table, "g", 2, differ=["u"], **QUIET)
    assert list(found.models) == ["nothing differs", "sizes differ", "some items differ", "all differ"]
    counts = table["g"].value_counts()
    of_group = (counts * np.log(counts / counts.sum())).sum()
    for name, model in found.models.items():
        assert log_likelihood(model, table) - of_group == pytest.approx(
            found.table.loc[name, "log_likelihood"], abs=1e-6
        )
        assert model.n_parameters - 2 == found.table.loc[name, "n_parameters"]
    assert (found.table["lr"].dropna() >= 0).all()
    last = found.table.iloc[-1]
    assert last["lr_p"] == pytest.approx(chi2.sf(last["lr"], last["lr_df"]))
    assert last["bic"] == pytest.approx(last["log_likelihood"] - last["n_parameters"] / 2 * np.log(300))


def test_with_one_class_it_compares_shares():
    table = drawn(400, shift=0.4)[["g", "u", "v"]]
    found = compare_groups(table, "g", 1, items="refit", **QUIET)
    for row in found.items.itertuples():
        expected = chi2_contingency(
            pd.crosstab(table["g"], table[row.item]), correction=False, lambda_="log-likelihood"
        )
        assert row.statistic == pytest.approx(expected.statistic, rel=1e-4)
        assert row.df == expected.dof
    by_score = compare_groups(table, "g", 1, **QUIET).items
    for row in by_score.itertuples():
        expected = chi2_contingency(pd.crosstab(table["g"], table[row.item]), correction=False)
        assert row.statistic == pytest.approx(expected.statistic, rel=1e-4)


def test_a_weight_is_a_repeated_row():
    table = drawn(120, shift=0.3)
    weights = np.random.default_rng(0).integers(1, 4, len(table))
    once = compare_groups(table, "g", 2, sample_weight=weights, **QUIET)
    again = compare_groups(table.loc[table.index.repeat(weights)].reset_index(drop=True), "g", 2, **QUIET)
    np.testing.assert_allclose(once.table["log_likelihood"], again.table["log_likelihood"], atol=1e-6)
    np.testing.assert_allclose(once.items["statistic"], again.items["statistic"], rtol=1e-4)


def test_sampling_weights_count_as_effective_rows():
    table = drawn(400)
    table["weight"] = np.random.default_rng(0).choice([0.4, 1.7], len(table))
    found = compare_groups(table, "g", 2, sample_weight="weight", **QUIET)
    assert "With sampling weights, the 400 rows count as" in found.reason
    table.loc[:99, "g"] = None
    with pytest.warns(UserWarning, match="100 of 400 rows have no 'g'"):
        some = compare_groups(table, "g", 2, sample_weight="weight", **QUIET)
    alone = compare_groups(table.loc[100:].reset_index(drop=True), "g", 2, sample_weight="weight", **QUIET)
    np.testing.assert_allclose(some.table["log_likelihood"], alone.table["log_likelihood"], atol=1e-6)
    np.testing.assert_allclose(some.items["statistic"], alone.items["statistic"], rtol=1e-4)


def test_neither_threads_nor_the_order_of_rows_change_the_result():
    table = drawn(200)
    first = compare_groups(table, "g", 2, **QUIET)
    second = compare_groups(table.sample(frac=1.0, random_state=0), "g", 2, n_jobs=2, **QUIET)
    pd.testing.assert_frame_equal(first.table.drop(columns="seconds"), second.table.drop(columns="seconds"))
    assert first.models == second.models


def test_classes_have_the_same_numbers_in_all_models_and_groups():
    found = compare_groups(drawn(sizes=0.2), "g", 2, differ=["u"], **QUIET)
    for name in found.models:
        yes = found.profiles(name).loc[("x", "yes")].unstack()
        assert (yes[0] < 0.5).all()
        assert (yes[1] > 0.5).all()


# What is found ------------------------------------------------------------------------------------


def test_what_differs_is_found():
    assert compare_groups(drawn(), "g", 2, **QUIET).recommended == "nothing differs"
    sizes = compare_groups(drawn(sizes=0.3), "g", 2, **QUIET)
    assert sizes.recommended == "sizes differ"
    assert sizes.sizes().loc["a", 0] > 0.8 > 0.4 > sizes.sizes().loc["c", 0]
    shifted = compare_groups(drawn(2_000, sizes=0.2, shift=0.5), "g", 2, **QUIET)
    assert shifted.recommended == "some items differ"
    assert shifted.table.loc["some items differ", "differs"] == ("u",)
    assert shifted.items.loc[0, "item"] == "u"
    assert shifted.items["differs"].tolist() == [True, False, False, False, False]
    assert shifted.items["step"].tolist() == [1, pd.NA, pd.NA, pd.NA, pd.NA]
    assert ("g", "u") in shifted.network_.edges


@pytest.mark.parametrize("items", ["score", "refit"])
def test_tests_of_items_agree(items):
    found = compare_groups(drawn(2_000, seed=1, shift=0.4), "g", 2, items=items, **QUIET).items
    assert found.loc[0, "item"] == "u"
    assert found["df"].tolist() == [4] * 5
    assert found.loc[1:, "adjusted_p"].min() > 0.05


def test_the_chosen_model_is_a_pgmpy_network():
    found = compare_groups(drawn(sizes=0.3), "g", 2, **QUIET)
    assert found.model_.check_model()
    assert found.model_.latents == {"H"}
    assert set(found.model_.edges()) == {("g", "H"), *(("H", item) for item in ITEMS)}
    np.testing.assert_allclose(found.profiles().loc["share"].to_numpy().reshape(3, 2), found.sizes())
    with pytest.raises(ValueError, match="rung is 'most differ'; give one of 'nothing differs', 'sizes differ'"):
        found.profiles("most differ")


def test_it_prints_the_table_and_the_reason():
    found = compare_groups(drawn(sizes=0.3), "g", 2, **QUIET)
    assert "sizes differ" in repr(found)
    assert repr(found).endswith(found.reason)
    assert found.reason.startswith("BIC is best where the sizes of the classes differ between the groups, by ")


# Inputs -------------------------------------------------------------------------------------------


def test_groups_may_be_given_as_values():
    table = drawn(200)
    by_name = compare_groups(table, "g", 2, **QUIET)
    by_value = compare_groups(table.drop(columns="g"), table["g"].to_numpy(), 2, **QUIET)
    assert by_value.group == "group"
    np.testing.assert_allclose(by_value.table["log_likelihood"], by_name.table["log_likelihood"], atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": "k"}, "the table has no column 'k', which group names; it has"),
        ({"n_states": 0}, "n_states"),
        ({"items": "wald"}, "items is 'wald'; give 'score' or 'refit'"),
        ({"differ": ["z"]}, r"differ names \['z'\]; give a list of items"),
        ({"group": ["a", "b"]}, "group has 2 values for 50 rows; give one per row"),
        ({"n_starts": 0}, "n_starts"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_mistakes_are_named(arguments, message):
    options = {"group": "g", "n_states": 2, **QUIET} | arguments
    with pytest.raises((ValueError, DataError), match=message):
        compare_groups(drawn(50), **options)


def test_a_single_group_and_a_table_without_items_are_refused():
    with pytest.raises(DataError, match="the column 'g' has fewer than two groups"):
        compare_groups(drawn(50).assign(g="a"), "g", 2)
    alone = drawn(50)
    alone.loc[alone["g"] != "a", ITEMS] = None
    with pytest.raises(DataError, match="only one group of 'g' has rows with answers"):
        compare_groups(alone, "g", 2)
    with pytest.raises(DataError, match="no column but the group 'g'; add the items"):
        compare_groups(drawn(50)[["g"]], "g", 2)
    with pytest.raises(DataError, match="the table has a column 'group'"):
        compare_groups(drawn(50).rename(columns={"u": "group"}), np.arange(50) % 2, 2)


def test_the_time_limit_leaves_models_out(monkeypatch):
    def late(self):
        raise clock.TimeLimitReached

    monkeypatch.setattr(groups._Ladder, "_fit_all", late)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the comparison of groups; what is returned"):
        found = compare_groups(drawn(100), "g", 2, **QUIET)
    assert found.table.index.tolist() == ["nothing differs", "sizes differ"]


def test_the_first_model_is_there_whatever_the_time_limit():
    with pytest.warns(ConvergenceWarning, match="rests on the models that were finished: nothing differs. Give more"):
        found = compare_groups(drawn(100), "g", 2, time_limit=1e-6, **QUIET)
    assert found.recommended == "nothing differs"
    assert found.reason.startswith("Only the model in which nothing differs between the groups was fitted, so nothing")
    assert found.items.empty


def test_groups_that_do_not_occur_and_constant_items_change_nothing():
    table = drawn(200)
    plain = compare_groups(table, "g", 2, **QUIET)
    table["g"] = pd.Categorical(table["g"], categories=["z", "a", "b", "c"])
    table["same"] = "yes"
    found = compare_groups(table, "g", 2, **QUIET)
    assert found.sizes().index.tolist() == ["a", "b", "c"]
    assert found.table["n_parameters"].tolist() == plain.table["n_parameters"].tolist()
    np.testing.assert_allclose(found.table["log_likelihood"], plain.table["log_likelihood"], atol=1e-3)
    assert np.isnan(found.items.set_index("item").loc["same", "p_value"])


def test_small_groups_are_pointed_out():
    table = drawn(300)
    table.loc[:3, "g"] = "d"
    assert "Group 'd' (4 rows) is small" in compare_groups(table, "g", 2, **QUIET).reason


def test_many_small_groups_are_counted():
    table = drawn(n=60)
    table["g"] = [f"g{at // 8}" if at < 56 else "last" if at < 59 else "one" for at in range(60)]
    found = compare_groups(table, "g", 2, **QUIET)
    assert "Groups 'g0' (8 rows), 'g1' (8 rows), 'g2' (8 rows), 'g3' (8 rows), 'g4' (8 rows) and 4 more are small" in (
        found.reason
    )
    table["g"] = np.where(np.arange(60) == 0, "one", "all")
    assert "Group 'one' (1 row) is small" in compare_groups(table, "g", 2, **QUIET).reason
