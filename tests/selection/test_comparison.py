"""How two networks differ: edges, hidden variables under any name, probabilities, scores."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import (
    LatentNetwork,
    RandomStarts,
    compare_networks,
    datasets,
    row_log_likelihoods,
    sample,
    scores,
    to_pgmpy,
)
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.model.network import reordered
from pgmpy_latent.testing import latent_networks
from tests.support.reference import joint_states
from tests.support.reference_networks import joint_probabilities


def network_of(edges, hidden=(), columns="abcd", seed=0, cards=None):
    """Return a network with random tables."""
    names, rng = [*hidden, *columns], np.random.default_rng(seed)
    cards = [(cards or {}).get(name, 2) for name in names]
    parents = [[names.index(above) for above, below in edges if below == name] for name in names]
    tables = [
        rng.dirichlet(np.ones(card), int(np.prod([cards[at] for at in above], dtype=int)))
        for above, card in zip(parents, cards, strict=True)
    ]
    states = [range(card) for card in cards]
    return LatentNetwork(names, states, parents, [name in hidden for name in names], tables)


def in_other_words(network, seed, hidden_names=True):
    """Return the same distribution: other orders of nodes and parents, other names and orders of hidden states."""
    rng = np.random.default_rng(seed)
    hidden = np.flatnonzero(network.latent).tolist()
    network = reordered(network, {node: rng.permutation(network.cards[node]) for node in hidden})
    order = rng.permutation(network.n_nodes).tolist()
    place = {node: at for at, node in enumerate(order)}
    parents, tables = [], []
    for node in order:
        above = list(network.parents[node])
        turned = rng.permutation(len(above)).tolist()
        table = network.tables[node].reshape(*network.cards[above], -1)
        tables.append(table.transpose([*turned, len(above)]).reshape(network.tables[node].shape))
        parents.append([place[above[at]] for at in turned])
    names = [
        f"G{network.names[node]}" if network.latent[node] and hidden_names else network.names[node] for node in order
    ]
    return LatentNetwork(names, [network.state_names[node] for node in order], parents, network.latent[order], tables)


CHAIN = [("H", "a"), ("H", "b"), ("H", "c"), ("a", "d")]


def test_a_network_in_other_words_is_the_same():
    network = network_of([*CHAIN, ("b", "d")], "H", cards={"H": 3, "a": 3})
    for seed in range(5):
        found = compare_networks(network, in_other_words(network, seed), sample(network, 50, random_state=seed))
        assert (found.edges["status"] == "both").all()
        assert found.edges[["parent", "child"]].to_numpy().tolist() == [list(edge) for edge in network.edges]
        assert found.n_different == 0
        assert found.equivalent
        assert found.latents[["first", "second", "similarity"]].to_numpy().tolist() == [["H", "GH", 1.0]]
        assert found.parameters["variable"].tolist() == list(network.names)
        assert (found.parameters[["mean_difference", "largest_difference"]] < 1e-12).all(axis=None)
        assert found.scores["difference"].drop("cheeseman_stutz", errors="ignore").abs().max() < 1e-8


def test_edges_are_in_both_reversed_or_in_one():
    one = network_of([*CHAIN, ("b", "d")], "H")
    other = network_of([("G", "a"), ("b", "G"), ("G", "c"), ("c", "d"), ("b", "d")], "G", columns="dcba")
    found = compare_networks(one, other)
    assert {(row.parent, row.child): row.status for row in found.edges.itertuples()} == {
        ("H", "a"): "both", ("H", "b"): "reversed", ("H", "c"): "both", ("a", "d"): "first only",
        ("b", "d"): "both", ("c", "d"): "second only",
    }  # fmt: skip
    assert found.n_different == 3
    assert not found.equivalent
    assert found.scores is None
    notes = dict(zip(found.parameters["variable"], found.parameters["note"], strict=True))
    assert notes == {"H": "other parents", "a": "", "b": "other parents", "c": "", "d": "other parents"}
    assert str(found).split("\n")[:4] == [
        "Edges: 3 in both, 1 reversed, 1 in the first only, 1 in the second only.",
        "  reversed: H -> b",
        "  first only: a -> d",
        "  second only: c -> d",
    ]
    assert "Hidden variable H is G in the second network: 100% of the columns next to them are the same" in str(found)


def test_hidden_variables_without_a_match_keep_apart_though_they_have_one_name():
    one = network_of([("H", "a"), ("H", "b")], "H")
    other = network_of([("H", "c"), ("H", "d"), ("b", "d")], "H")
    found = compare_networks(one, other)
    assert found.latents[["first", "second"]].to_numpy().tolist() == [["H", None], [None, "H"]]
    assert found.latents["columns"].tolist() == [("a", "b"), ("c", "d")]
    assert {(row.parent, row.child): row.status for row in found.edges.itertuples()} == {
        ("H", "a"): "first only", ("H", "b"): "first only", ("H (second)", "c"): "second only",
        ("b", "d"): "second only", ("H (second)", "d"): "second only",
    }  # fmt: skip
    assert found.parameters["variable"].tolist() == list("abcd")
    assert "Hidden variable H: in the first network only." in str(found)
    assert "Hidden variable H: in the second network only." in str(found)


@pytest.mark.parametrize(
    ("edges", "other", "same"),
    [
        ([("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], True),
        ([("a", "b"), ("b", "c")], [("c", "b"), ("b", "a")], True),
        ([("a", "b"), ("b", "c")], [("a", "b"), ("c", "b")], False),
        ([("a", "c"), ("b", "c"), ("a", "b")], [("c", "a"), ("c", "b"), ("b", "a")], True),
        ([("a", "b")], [("a", "b"), ("b", "c")], False),
    ],
)
def test_networks_with_the_same_links_and_colliders_are_equivalent(edges, other, same):
    assert compare_networks(network_of(edges), network_of(other)).equivalent == same


@given(st.integers(0, 2**32 - 1))
def test_probabilities_differ_by_the_total_variation_of_the_best_matching_states(seed):
    one, other = (network_of(CHAIN, "H", seed=[seed, at], cards={"H": 3}) for at in range(2))
    found = compare_networks(one, in_other_words(other, seed % 97)).parameters.set_index("variable")
    states = joint_states(one.cards)
    weights = joint_probabilities(one, states)
    share = np.array([weights[states[:, 0] == state].sum() for state in range(3)])
    wanted = []
    for order in permutations(range(3)):
        turned = reordered(other, {0: order})
        apart = [np.abs(one.tables[node] - turned.tables[node]) for node in range(5)]
        # the order is that in which the columns' distributions given the states are nearest, d through a
        given_d = [net.tables[1] @ net.tables[4] for net in (one, turned)]
        total = sum(apart[node].sum() for node in (1, 2, 3)) + np.abs(given_d[0] - given_d[1]).sum()
        wanted.append((total, [apart[0].sum() / 2, *(share @ apart[node].sum(axis=1) / 2 for node in (1, 2, 3))]))
    least = min(total for total, _ in wanted)
    nearest = [mean for total, mean in wanted if total <= least + 1e-9]  # several, if all columns are ordered alike
    means = found.loc[["H", "a", "b", "c"], "mean_difference"].to_numpy()
    assert any(np.allclose(means, mean, rtol=1e-7, atol=1e-9) for mean in nearest)
    assert (found["largest_difference"] >= found["mean_difference"] * 0.999 / 2).all()


@given(latent_networks(max_nodes=6), latent_networks(max_nodes=6))
def test_any_two_networks_of_the_same_columns_can_be_compared(one, other):
    if set(one.observed_names) != set(other.observed_names):
        with pytest.raises(DataError, match=r"the networks have different columns: .*; compare networks of the same"):
            compare_networks(one, other)
        return
    there, back = compare_networks(one, other), compare_networks(other, one)
    assert there.n_different == back.n_different
    assert there.equivalent == back.equivalent
    assert len(there.edges) == len(back.edges)
    mirrored = {"both": "both", "reversed": "reversed", "first only": "second only", "second only": "first only"}
    assert sorted(there.edges["status"]) == sorted(map(mirrored.get, back.edges["status"]))
    assert str(there)


def test_scores_and_the_paired_standard_error():
    rng = np.random.default_rng(0)
    one, other = network_of(CHAIN, "H"), network_of([("a", "b"), ("c", "d")], seed=3)
    table = sample(one, 80, random_state=0)
    weights = rng.integers(1, 4, len(table))
    found = compare_networks(one, to_pgmpy(other), table, sample_weight=weights).scores
    repeated = table.loc[np.repeat(np.arange(80), weights)].reset_index(drop=True)
    logs = [row_log_likelihoods(network, repeated).to_numpy() for network in (one, other)]
    row = found.loc["log_likelihood_per_row"]
    assert row["first"] == pytest.approx(logs[0].mean())
    assert row["difference"] == pytest.approx((logs[1] - logs[0]).mean())
    assert row["standard_error"] == pytest.approx((logs[1] - logs[0]).std() / np.sqrt(len(repeated)))
    assert found["standard_error"].notna().sum() == 1
    assert found.at["bic", "second"] == pytest.approx(scores.bic(other, repeated))
    assert found.at["bic", "difference"] == pytest.approx(scores.bic(other, repeated) - scores.bic(one, repeated))
    plain = compare_networks(one, other, repeated)
    pd.testing.assert_frame_equal(plain.scores, found)
    assert f": BIC {found.at['bic', 'difference']:+,.2f}, log-likelihood per row" in str(plain)


def test_the_order_of_categories_means_nothing_and_other_categories_are_said():
    one = network_of(CHAIN, "H")
    states = [list(own) for own in one.state_names]
    tables = list(one.tables)
    states[4], tables[4] = [1, 0], tables[4][:, ::-1]
    turned = LatentNetwork(one.names, states, one.parents, one.latent, tables)
    table = sample(one, 20, random_state=0)
    found = compare_networks(one, turned, table)
    assert (found.parameters["largest_difference"] < 1e-12).all()
    assert found.scores["difference"].abs().max() < 1e-9
    states[4] = [1, 2]
    strange = LatentNetwork(one.names, states, one.parents, one.latent, tables)
    assert compare_networks(one, strange).parameters["note"].tolist() == ["", "", "", "", "other states of d"]
    with pytest.raises(
        DataError,
        match=r"different categories of 'd': only one of them has '0', '2', .* cannot score the same table; leave",
    ):
        compare_networks(one, strange, table)
    fewer = network_of(CHAIN, "H", cards={"H": 3})
    notes = compare_networks(one, fewer).parameters["note"].tolist()
    assert notes == [*["other states of H"] * 4, ""]


def test_learners_and_trees_are_compared():
    survey = datasets.load_anes96()[["vote", "PID", "selfLR", "educ"]]
    two, three = (RandomStarts(n_states=n, random_state=0, show_progress=False).fit(survey) for n in (2, 3))
    found = compare_networks(two, three, survey)
    assert found.n_different == 0
    assert found.latents[["states_first", "states_second"]].to_numpy().tolist() == [[2, 3]]
    assert found.scores.at["bic", "first"] == pytest.approx(two.bic_)
    assert found.scores.at["bic", "second"] == pytest.approx(three.bic_)


def test_questions_that_cannot_be_meant():
    one = network_of(CHAIN, "H")
    with pytest.raises(ValueError, match="sample_weight belongs to X; give both, or neither"):
        compare_networks(one, one, sample_weight=[1.0])
    with pytest.raises(TypeError, match="expected a LatentTree, LatentNetwork, pgmpy network or fitted learner"):
        compare_networks(one, "network.json")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": list("aabb") * 9, "y": list("ccdd") * 9, "z": rng.normal(size=36)})
    mixed = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(frame, kinds={"z": "gaussian"})
    with pytest.raises(DataError, match="compare_networks is about categories alone, and 'z' is a number"):
        compare_networks(mixed, mixed)


def test_rows_that_belong_together_count_as_one_in_the_standard_error():
    one, other = network_of(CHAIN, "H"), network_of([("a", "b"), ("c", "d")], seed=3)
    table = sample(one, 80, random_state=0)
    repeated, units = pd.concat([table] * 3, ignore_index=True), np.tile(np.arange(80), 3)

    def standard_error(*rows, **survey):
        return compare_networks(one, other, *rows, **survey).scores.at["log_likelihood_per_row", "standard_error"]

    by_units = standard_error(repeated, cluster=units)
    assert by_units == pytest.approx(standard_error(table) * np.sqrt(80 / 79), rel=1e-9)
    assert by_units > 1.5 * standard_error(repeated)
