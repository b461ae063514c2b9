"""Networks of any shape as models: conversion, files, scores, pictures and words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from pgmpy.base import DAG

from pgmpy_latent import (
    AgglomerativeCardinality,
    StructuralEM,
    load,
    log_likelihood,
    network_from_pgmpy,
    plotting,
    sample,
    save,
    scores,
    to_pgmpy,
)
from pgmpy_latent.exceptions import InvalidTreeError, NotATreeError
from pgmpy_latent.model.network import LatentNetwork, as_network, as_tree, part_of
from pgmpy_latent.networks.graph import connected, rearranged
from pgmpy_latent.testing import latent_networks, latent_trees
from tests.support import reference_networks as reference


def collider(rows=((0.9, 0.1), (0.5, 0.5), (0.2, 0.8), (0.4, 0.6))):
    return LatentNetwork(
        ["H", "x", "y"], [[0, 1], ["a", "b"], [True, False]], [(), (), (0, 1)], [True, False, False],
        [[[0.3, 0.7]], [[0.6, 0.4]], rows],
    )  # fmt: skip


def same(left, right, atol=0.0):
    assert (left.names, left.state_names, left.parents) == (right.names, right.state_names, right.parents)
    assert left.latent.tolist() == right.latent.tolist()
    for mine, theirs in zip(left.tables, right.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=atol)


@given(latent_networks(zeros=None))
def test_pgmpy_and_back_changes_nothing(network):
    same(network_from_pgmpy(to_pgmpy(network)), network)


def test_rows_that_are_rounded_are_made_to_sum_to_one_and_others_are_refused():
    network = to_pgmpy(collider())
    network.get_cpds("x").values[:] = [0.5999, 0.4]
    np.testing.assert_allclose(network_from_pgmpy(network).table("x"), [[0.5999 / 0.9999, 0.4 / 0.9999]], rtol=1e-14)
    network.get_cpds("x").values[:] = [0.5, 0.4]
    with pytest.raises(InvalidTreeError, match=r"table of 'x': row 0 sums to 0\.9"):
        network_from_pgmpy(network)


def test_a_saved_network_comes_back_as_pgmpys(tmp_path):
    save(collider(), tmp_path / "model.json")
    same(network_from_pgmpy(load(tmp_path / "model.json")), collider())


@given(latent_trees(max_nodes=5))
def test_trees_become_networks_and_come_back(tree):
    assert as_tree(as_network(tree)) == tree


def test_a_node_with_two_parents_is_in_no_tree():
    with pytest.raises(NotATreeError, match="node 'y' has parents 'H' and 'x'"):
        as_tree(collider())


@given(latent_networks())
def test_the_order_of_nodes_does_not_change_the_distribution(network):
    turned = rearranged(network, network.names[::-1])
    states = reference.joint_states(network.cards)
    np.testing.assert_allclose(
        reference.joint_probabilities(network, states),
        reference.joint_probabilities(turned, states[:, ::-1]),
        rtol=1e-12,
    )


def test_hidden_nodes_without_neighbours_are_left_out():
    network = LatentNetwork(
        ["G", "H", "x"], [[0, 1]] * 3, [(), (), (1,)], [True, True, False],
        [[[0.5, 0.5]], [[0.5, 0.5]], [[0.5, 0.5]] * 2],
    )  # fmt: skip
    assert connected(network).names == ("H", "x")
    assert connected(network).parents == ((), (0,))


def test_scores_that_know_networks_agree_with_their_definitions():
    frame = sample(collider(), 200, random_state=0)
    total = log_likelihood(collider(), frame)
    assert scores.n_parameters(collider()) == 6
    assert scores.bic(collider(), frame) == pytest.approx(total - 3 * np.log(200))
    with pytest.raises(TypeError, match="expected a LatentTree"):
        scores.effective_dimension(collider())


@pytest.fixture(scope="module")
def sized():
    rng = np.random.default_rng(0)
    hidden = rng.integers(3, size=600)
    frame = pd.DataFrame({name: (hidden + (rng.random(600) < 0.1)) % 3 for name in "abcd"})
    network = DAG([("h", name) for name in "abcd"], latents={"h"})
    return AgglomerativeCardinality(network, show_progress=False).fit(frame)


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("n_leaves", [0, 2, 5, 100])
def test_the_merge_tree_shows_its_last_merges_and_the_states_that_were_chosen(sized, n_leaves):
    ax = plotting.plot_merges(sized, n_leaves=n_leaves)
    n_first = len(sized.merges().attrs["blanket"])
    n_shown = min(max(n_leaves, sized.cardinality_["h"]), n_first)
    assert len(ax.get_yticks()) == n_shown
    assert len(ax.texts) == n_shown - 1
    _, diamonds = ax.collections
    assert len(diamonds.get_offsets()) == sized.cardinality_["h"] == 3
    assert ax.get_title(loc="left") == "h: 3 states"


def test_the_curve_of_scores_is_highest_where_it_says(sized):
    ax = plotting.plot_cardinality(sized, "h")
    agglomeration, top = ax.lines
    assert top.get_xdata() == sized.agglomerated_["h"]
    assert top.get_ydata() == max(agglomeration.get_ydata())


def test_pictures_go_where_they_are_told(sized):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert plotting.plot_merges(sized, ax=ax) is ax
    assert plotting.plot_cardinality(sized, ax=ax) is ax


def test_a_summary_names_hidden_variables_their_neighbours_and_other_edges(capsys):
    frame = sample(collider(), 400, random_state=0)
    network = DAG([("H", "y"), ("x", "y")], latents={"H"})
    StructuralEM(network, show_progress=False, max_parents=2).fit(frame).summary()
    text = capsys.readouterr().out
    assert text.startswith("log-likelihood -")
    assert "2 columns" in text


def test_a_part_keeps_the_missing_codes_of_its_own_columns():
    whole = replace(collider(), missing={"x": ["none"], "y": ["?"]})
    assert part_of(whole, [0, 1]).missing == (("x", ("none",)),)
    assert part_of(whole, [0]).missing == ()
    assert part_of(whole, [0, 1, 2]) == whole
