"""Edges between the columns of latent class models: one of them fitted, several found, and what they are worth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    LatentNetwork,
    LatentTree,
    NetworkEM,
    RandomStarts,
    add_direct_effects,
    compare_classes,
    direct_effects,
    encode,
    log_likelihood,
    sample,
    to_pgmpy,
)
from pgmpy_latent.diagnostics.direct_effects import edges_to_add
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.runtime.clock import TimeLimitReached
from pgmpy_latent.selection import edge_search
from pgmpy_latent.selection.added_edges import best_edge, fitted_to_pair, fitted_with_edge
from pgmpy_latent.selection.class_choice import worth_of_edge

NAMES = list("uvwxyz")
ITEM = np.array([[0.85, 0.15], [0.2, 0.8]])
TREE = LatentTree(["H", *NAMES], [[0, 1]] * 7, [-1, *[0] * 6], [True, *[False] * 6], [[[0.6, 0.4]], *[ITEM] * 6])
QUIET = {"show_progress": False}


def with_copies(n=1_000, seed=0, pairs=(("v", "w"),)):
    """Return a table in which every third answer to a column is a copy of that to another."""
    table = sample(TREE, n, random_state=seed)
    for first, second in pairs:
        copied = np.random.default_rng([seed, ord(first)]).random(n) < 1 / 3
        table[second] = table[first].where(copied, table[second])
    return table


def learner(table, n_states=2):
    return RandomStarts(n_states=n_states, random_state=0).fit(table)


# Figures ------------------------------------------------------------------------------------------


def test_the_figures_of_the_survey_of_1982(data_folder):
    table = pd.read_csv(data_folder / "lca_gss82.csv")
    found = add_direct_effects(learner(table), table, **QUIET)
    assert [set(edge) for edge in found.edges] == [{"UNDERSTA", "COOPERAT"}]
    assert found.log_likelihood_ == pytest.approx(-2749.474, abs=1e-3)
    assert found.network_.n_parameters == 17
    assert found.history_["seconds"].iloc[-1] < 5
    classes = compare_classes(table, [2, 3], **QUIET)
    assert classes.loc[3, "log_likelihood"] == pytest.approx(-2754.545, abs=1e-3)
    assert classes.loc[3, "n_parameters"] == 20
    assert set(classes.loc[2, "edge"]) == {"UNDERSTA", "COOPERAT"}
    assert classes.loc[2, "edge_bic"] == pytest.approx(found.bic_, abs=1e-3)
    assert (
        "One edge is worth more than one class: with an edge between 'UNDERSTA' and 'COOPERAT', 2 classes have"
        in (classes.attrs["reason"])
    )


# One edge -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_one_edge_is_what_network_em_finds(missing):
    table = with_copies(400)
    table = table.mask(np.random.default_rng(1).random(table.shape) < missing).astype("Int64")
    tree, data = learner(table).tree_, encode(table)
    fits = [fitted_with_edge(tree, data, ("v", "w")), fitted_to_pair(tree, data, ("v", "w"))]
    estimator = NetworkEM(seed=0, show_progress=False).fit(to_pgmpy(fits[0].network), table)
    for fit in fits:
        assert fit.log_likelihood == pytest.approx(estimator.log_likelihood_, abs=5e-3)
        assert log_likelihood(fit.network, table) == pytest.approx(fit.log_likelihood, abs=1e-6)
        expected = fit.log_likelihood - fit.network.n_parameters / 2 * np.log(len(table))
        assert fit.bic == pytest.approx(expected)


def test_the_best_edge_is_that_of_the_pair_that_goes_together():
    table = with_copies()
    fit = best_edge(learner(table).tree_, encode(table))
    assert (fit.parent, fit.child) == ("v", "w")
    prior = best_edge(learner(table).tree_, encode(table), prior=1.0)
    assert (prior.parent, prior.child) == ("v", "w")


def test_columns_that_are_never_filled_together_have_no_edge():
    data = encode(pd.DataFrame({"x": ["a", "b", None, None], "y": [None, None, "a", "b"]}))
    tree = LatentTree(["H", "x", "y"], [[0], ["a", "b"], ["a", "b"]], [-1, 0, 0], [True, False, False],
                      [[[1.0]], [[0.5, 0.5]], [[0.5, 0.5]]])  # fmt: skip
    assert best_edge(tree, data) is None


def test_one_edge_may_be_worth_more_than_one_class():
    table = compare_classes(with_copies(3_000), [1, 2, 3], **QUIET)
    assert table.loc[2, "edge"] == ("v", "w")
    assert "with an edge between 'v' and 'w', 2 classes have" in table.attrs["reason"]
    without = compare_classes(sample(TREE, 1_000, random_state=0), [1, 2, 3], **QUIET)
    assert "edge" not in without.attrs["reason"]
    assert worth_of_edge(without) == []
    assert worth_of_edge(without.drop(columns="edge_bic")) == []


# Tests of all pairs -------------------------------------------------------------------------------


def test_tests_of_pairs_name_the_columns():
    table = with_copies()
    found = direct_effects(learner(table), table, **QUIET)
    assert found.columns.tolist() == ["first", "second", "statistic", "df", "p_value", "adjusted_p"]
    assert len(found) == 15
    assert found.loc[0, ["first", "second"]].tolist() == ["v", "w"]
    assert found.loc[0, "adjusted_p"] < 0.001
    assert found["p_value"].is_monotonic_increasing
    some = direct_effects(learner(table), table, [("w", "v"), ("x", "y")], **QUIET)
    assert some.loc[0, "statistic"] == pytest.approx(found.loc[0, "statistic"], rel=1e-4)
    assert some.loc[0, "adjusted_p"] == pytest.approx(2 * some.loc[0, "p_value"])


def test_the_statistic_is_about_twice_the_gain():
    table = sample(TREE, 2_000, random_state=3)
    model, data = learner(table), encode(table)
    found = direct_effects(model, table, **QUIET)
    for row in found.iloc[[0, 5, 10]].itertuples():
        gain = fitted_with_edge(model.tree_, data, (row.first, row.second)).log_likelihood - model.log_likelihood_
        assert row.statistic == pytest.approx(2 * gain, rel=0.15, abs=0.2)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [([("v", "k")], "pairs names 'k', which is no column"), ([("v", "v")], "between which no edge can be added")],
)
def test_wrong_pairs_are_named(pairs, message):
    table = sample(TREE, 100, random_state=0)
    with pytest.raises(DataError, match=message):
        direct_effects(learner(table), table, pairs)


def test_other_models_are_refused():
    table = sample(TREE, 200, random_state=0)
    tree = LatentTree(["v", "w"], [[0, 1]] * 2, [-1, 0], [False] * 2, [[[0.5, 0.5]], ITEM])
    with pytest.raises(DataError, match="the model has 0 hidden variables; direct effects are edges between the col"):
        add_direct_effects(tree, table)
    network = LatentNetwork(["H", "v", "w"], [[0, 1]] * 3, [(), (0,), (1,)], [True, False, False],
                            [[[0.5, 0.5]], ITEM, ITEM])  # fmt: skip
    with pytest.raises(DataError, match="'w' has no edge from the hidden variable"):
        direct_effects(network, table)
    network = LatentNetwork(["v", "H", "w"], [[0, 1]] * 3, [(), (0,), (1,)], [False, True, False],
                            [[[0.5, 0.5]], ITEM, ITEM])  # fmt: skip
    with pytest.raises(DataError, match="'v' has no edge from the hidden variable"):
        direct_effects(network, table)


# The search ---------------------------------------------------------------------------------------


def test_edges_are_found_one_by_one():
    table = with_copies(3_000, pairs=[("v", "w"), ("w", "x"), ("y", "z")])
    found = add_direct_effects(learner(table), table, **QUIET)
    assert {frozenset(edge) for edge in found.edges} == {frozenset("vw"), frozenset("wx"), frozenset("yz")}
    assert found.history_["bic"].is_monotonic_increasing
    assert found.history_["n_parameters"].diff().dropna().tolist() == [2, 2, 2]
    assert found.model_.check_model()
    assert log_likelihood(found.network_, table) == pytest.approx(found.log_likelihood_, abs=1e-6)
    assert repr(found).startswith("3 edges between columns raise BIC by ")
    assert repr(found).endswith("No other edge raises it further.")
    again = add_direct_effects(found.network_, table, **QUIET)
    assert again.edges == []


def test_without_direct_effects_nothing_is_added():
    table = sample(TREE, 1_000, random_state=0)
    found = add_direct_effects(learner(table), table, **QUIET)
    assert found.edges == []
    assert len(found.history_) == 1
    assert found.history_["log_likelihood"].iloc[0] == pytest.approx(learner(table).log_likelihood_)


def test_edges_may_be_limited():
    table = with_copies(2_000, pairs=[("v", "w"), ("y", "z")])
    found = add_direct_effects(learner(table), table, max_edges=1, **QUIET)
    assert len(found.edges) == 1
    assert found.reason.endswith("The search ended at max_edges=1.")


def test_weights_are_repeated_rows():
    table = with_copies(300)
    weights = np.random.default_rng(0).integers(1, 4, len(table))
    tree = learner(table).tree_
    once = add_direct_effects(tree, table, sample_weight=weights, **QUIET)
    again = add_direct_effects(tree, table.loc[table.index.repeat(weights)], **QUIET)
    assert once.edges == again.edges
    assert once.bic_ == pytest.approx(again.bic_, abs=1e-6)


def test_a_network_stays_cheap():
    tables = [np.array([[0.5, 0.5]]), ITEM, np.tile(ITEM, (2, 1)), ITEM, np.tile(ITEM, (2, 1))]
    network = LatentNetwork(
        ["H", "a", "b", "c", "d"], [[0, 1]] * 5, [(), (0,), (0, 1), (0,), (0, 3)], [True, *[False] * 4], tables
    )
    assert edges_to_add(network) == [("a", "c"), ("d", "a"), ("b", "c")]  # b and d have a parent already


def test_the_time_limit_returns_the_edges_so_far(monkeypatch):
    def late(self):
        raise TimeLimitReached

    table = with_copies()
    monkeypatch.setattr(edge_search._Search, "_step", late)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the search for edges after 0; more may be"):
        found = add_direct_effects(learner(table), table, **QUIET)
    assert found.edges == []


@pytest.mark.parametrize("argument", ["max_edges", "n_starts", "time_limit"])
def test_mistakes_are_named(argument):
    with pytest.raises(ValueError, match=argument):
        add_direct_effects(TREE, sample(TREE, 50, random_state=0), **{argument: -1})
