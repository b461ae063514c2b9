"""Which columns say most about hidden variables of networks: by enumeration, and as for trees."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentNetwork, LatentTree, StructuralEM, fitted, sample, to_pgmpy
from pgmpy_latent.diagnostics import explain
from pgmpy_latent.diagnostics.explain import informative_columns, network_text, shown, tree_text
from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.model.network import as_network
from pgmpy_latent.testing import latent_networks, latent_trees
from tests.support.reference import joint_states
from tests.support.reference_networks import joint_probabilities


def information(network, left, right):
    """Return the mutual information of two sets of nodes, from the joint distribution."""
    states = joint_states(network.cards)
    weights = joint_probabilities(network, states)

    def entropy(nodes):
        _, where = np.unique(states[:, nodes], axis=0, return_inverse=True)
        shares = np.bincount(where.ravel(), weights)
        shares = shares[shares > 0]
        return -(shares * np.log(shares)).sum()

    return entropy(left) + entropy(right) - entropy([*left, *right])


@settings(max_examples=40)
@given(latent_networks(max_nodes=5, zeros=None))
def test_mutual_information_agrees_with_enumeration(network):
    found = informative_columns(network, network.n_nodes, n_rows=100)
    for latent in network.latent_names:
        part = found[found["latent"] == latent]
        expected = {
            name: information(network, [network.index(latent)], [network.index(name)])
            for name in network.observed_names
        }
        assert set(part["column"]) >= {name for name, value in expected.items() if value > 1e-9}
        np.testing.assert_allclose(part["mutual_information"], [expected[name] for name in part["column"]], atol=1e-9)
        assert (np.diff(part["mutual_information"]) <= 1e-9).all()
        assert part["coverage"].between(0, 1).all()
        assert part["coverage"].is_monotonic_increasing


def test_a_state_that_does_not_occur_hides_no_information():
    network = LatentNetwork(
        ["x", "H"], [[0, 1], [0, 1, 2]], [(), (0,)], [False, True],
        [[[0.3, 0.7]], [[0.0, 1.0, 0.0], [0.9, 0.1, 0.0]]],
    )  # fmt: skip
    found = informative_columns(network, 1, n_rows=100)
    assert list(found["column"]) == ["x"]
    assert found["mutual_information"][0] == pytest.approx(information(network, [0], [1]), abs=1e-12)


@settings(max_examples=25)
@given(latent_trees(max_nodes=6, max_card=3), st.integers(1, 3))
def test_a_tree_says_the_same_as_a_network(tree, n):
    mine, yours = (informative_columns(model, n, n_rows=3000, random_state=1) for model in (tree, as_network(tree)))
    telling = mine[mine["mutual_information"] > 1e-6].reset_index(drop=True)
    yours = yours[yours["mutual_information"] > 1e-6].reset_index(drop=True)
    pd.testing.assert_series_equal(telling["mutual_information"], yours["mutual_information"], atol=1e-9)
    assert telling["latent"].tolist() == yours["latent"].tolist()


def test_coverage_is_that_of_the_exact_information():
    rng = np.random.default_rng(0)
    parents = [(), (), (0, 1), (0,), (0, 3), (2,)]
    tables = [rng.dirichlet([0.6] * 2, 2 ** len(above)) for above in parents]
    network = LatentNetwork(["H", *"abcde"], [[0, 1]] * 6, parents, [True] + [False] * 5, tables)
    found = informative_columns(network, 5, n_rows=40_000)
    nodes = [network.index(name) for name in found["column"]]
    whole = information(network, [0], [1, 2, 3, 4, 5])
    expected = [information(network, [0], nodes[: at + 1]) / whole for at in range(len(nodes))]
    np.testing.assert_allclose(found["coverage"], expected, atol=0.02)
    assert "a" not in set(found["column"])  # says nothing by itself


PAIR = LatentNetwork(
    ["H", *"pqrs"], [[0, 1]] * 5, [(), (0,), (0,), (0,), (1, 2)], [True] + [False] * 4,
    [[[0.5, 0.5]], *[[[0.9, 0.1], [0.1, 0.9]]] * 3, [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.1, 0.9]]],
)  # fmt: skip


def test_learners_and_given_models_answer(capsys):
    wanted = informative_columns(PAIR, 2)
    for form in (PAIR, to_pgmpy(PAIR)):
        pd.testing.assert_frame_equal(fitted(form).informative_columns(2), wanted)
    learner = StructuralEM(PAIR, random_state=0, show_progress=False).fit(sample(PAIR, 800, random_state=0))
    pd.testing.assert_frame_equal(learner.informative_columns(3), informative_columns(learner.network_, 3))
    learner.summary(1)
    last = capsys.readouterr().out.splitlines()
    assert last[-2] == explain.INFORMATION
    best = learner.informative_columns(1).iloc[0]
    assert last[-1] == f"H: {best['column']} {best['mutual_information']:.2f} ({best['coverage']:.0%})"
    assert "Columns that say most" in network_text(PAIR)


def test_a_summary_goes_on_where_too_many_nodes_depend_on_each_other():
    n, rng = 60, np.random.default_rng(0)
    parents = [tuple(np.sort(rng.choice(at, min(at, 6), replace=False)).tolist()) for at in range(n)]
    tables = [rng.dirichlet(np.ones(3), 3 ** len(above)) for above in parents]
    network = LatentNetwork([f"x{at}" for at in range(n)], [range(3)] * n, parents, np.arange(n) == 3, tables)
    with pytest.raises(ComponentTooLargeError):
        informative_columns(network)
    assert "Columns that say most" not in network_text(network)


def test_a_network_in_words_quotes_names_and_lists_independent_columns_as_a_tree_does():
    leaf = [[0.9, 0.1], [0.1, 0.9]]
    names, tables = ["H (3): x", "a, b", "c", "alone; d"], [[[0.6, 0.4]], leaf, leaf, [[0.5, 0.5]]]
    network = LatentNetwork(names, [[0, 1]] * 4, [(), (0,), (1,), ()], [True, False, False, False], tables)
    lines = network_text(network).splitlines()
    assert lines[2] == f"{shown(names[0])} (2): 'a, b'"
    assert lines[4:6] == ["Edges among columns:", "'a, b' -> c"]
    assert lines[7] == f"independent: {shown(names[3])}"
    star = LatentNetwork(names, [[0, 1]] * 4, [(), (0,), (0,), ()], [True, False, False, False], tables)
    as_tree = tree_text(LatentTree(names, [[0, 1]] * 4, [-1, 0, 0, -1], [True, False, False, False], tables))
    assert as_tree.splitlines() == [line for line in network_text(star).splitlines()[2:5] if line]
