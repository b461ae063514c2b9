"""Which edges networks share: hidden variables are matched by their neighbours, whatever their names."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentNetwork
from pgmpy_latent.learners.common_edges import LEAST_SHARE, counterparts, edges_found_again, matched_latents
from pgmpy_latent.testing import latent_networks


def network_of(edges, hidden, columns):
    """Return a network of nodes with one state, given its edges."""
    names = [*hidden, *columns]
    parents = [[names.index(above) for above, below in edges if below == name] for name in names]
    tables = [[[1.0]]] * len(names)
    return LatentNetwork(names, [[0]] * len(names), parents, [name in hidden for name in names], tables)


def turned(network, seed):
    """Return the same network with its nodes in another order, and other names of hidden ones."""
    order = np.random.default_rng(seed).permutation(network.n_nodes).tolist()
    place = {node: at for at, node in enumerate(order)}
    return LatentNetwork(
        [f"G{network.names[node]}" if network.latent[node] else network.names[node] for node in order],
        [network.state_names[node] for node in order],
        [[place[above] for above in network.parents[node]] for node in order],
        network.latent[order],
        [network.tables[node] for node in order],
    )


def column_neighbours(network, node):
    near = {above for above, below in network.edges if below == network.names[node]}
    near |= {below for above, below in network.edges if above == network.names[node]}
    return near & set(network.observed_names)


@settings(max_examples=40)
@given(latent_networks(max_nodes=8, max_card=1), st.integers(0, 99))
def test_the_same_network_under_other_names_has_all_edges(network, seed):
    other = turned(network, seed)
    place = counterparts(network, other)
    assert len(set(place.values())) == len(place)
    for node, match in matched_latents(network, other).items():
        assert column_neighbours(network, node) == column_neighbours(other, match)
    known = [network.index(above) in place and network.index(below) in place for above, below in network.edges]
    kept = [abs(found) for found in edges_found_again(network, other)]
    sets = [frozenset(column_neighbours(network, node)) for node in np.flatnonzero(network.latent)]
    if len(set(sets)) == len(sets) and all(sets):  # no two hidden variables can be mistaken for each other
        assert len(place) == network.n_nodes
        assert kept == [1] * len(network.edges)
    else:
        assert all(found <= can for found, can in zip(kept, known, strict=True))


@settings(max_examples=60)
@given(latent_networks(max_nodes=7, max_card=1), latent_networks(max_nodes=7, max_card=1))
def test_most_neighbours_agree(network, other):
    """The first matches, by columns alone, are the best of all assignments."""
    ours, theirs = np.flatnonzero(network.latent).tolist(), np.flatnonzero(other.latent).tolist()

    def share(node, match):
        one, two = column_neighbours(network, node), column_neighbours(other, match)
        both = len(one & two) / max(len(one | two), 1)
        return both if both >= LEAST_SHARE else 0.0

    padded = [*theirs, *[None] * len(ours)]
    best = max(
        sum(share(node, match) for node, match in zip(ours, order, strict=False) if match is not None)
        for order in permutations(padded, len(ours))
    )
    apart = not any(one in ours and two in ours for two in ours for one in network.parents[two])
    found = matched_latents(network, other)
    if apart:  # no hidden neighbours, so that columns are all
        assert sum(share(*pair) for pair in found.items()) == pytest.approx(best)
    assert len(set(found.values())) == len(found)


@given(latent_networks(max_nodes=7, max_card=1), latent_networks(max_nodes=7, max_card=1))
def test_an_edge_is_found_again_if_its_counterparts_are_linked(network, other):
    place = counterparts(network, other)
    for (above, below), found in zip(network.edges, edges_found_again(network, other), strict=True):
        here, there = (place.get(network.index(name)) for name in (above, below))
        linked = {(other.index(one), other.index(two)): 1 for one, two in other.edges}
        assert found == linked.get((here, there), -linked.get((there, here), 0))


def test_hidden_variables_above_hidden_variables_are_matched_through_them():
    edges = [("H", "a"), ("H", "b"), ("G", "c"), ("G", "d"), ("T", "H"), ("T", "G")]
    network = network_of(edges, "HGT", "abcd")
    other = turned(network, 3)
    assert {network.names[one]: other.names[two] for one, two in matched_latents(network, other).items()} == {
        "H": "GH", "G": "GG", "T": "GT",
    }  # fmt: skip
    assert edges_found_again(network, other) == [1] * 6


def test_half_of_the_neighbours_are_enough_and_less_is_not():
    network = network_of([("H", "a"), ("H", "b"), ("c", "H")], "H", "abcdef")
    near = network_of([("H", "a"), ("b", "H"), ("H", "d")], "H", "abcdef")
    far = network_of([("H", "a"), ("H", "b"), ("H", "d"), ("H", "e")], "H", "abcdef")
    assert matched_latents(network, near) == {0: 0}
    assert network.edges == [("c", "H"), ("H", "a"), ("H", "b")]
    assert edges_found_again(network, near) == [0, 1, -1]
    assert matched_latents(network, far) == {}
    assert edges_found_again(network, far) == [0, 0, 0]


def test_hidden_variables_without_columns_are_told_apart_by_name():
    nothing = [[1.0]]
    names, latent = ["H0", "H1", "x", "y"], [True, True, False, False]
    network = LatentNetwork(names, [["s"]] * 4, [(), (0,), (), ()], latent, [nothing] * 4)
    turned = LatentNetwork(["H1", "H0", "x", "y"], [["s"]] * 4, [(1,), (), (), ()], latent, [nothing] * 4)
    assert counterparts(network, turned) == {0: 1, 1: 0, 2: 2, 3: 3}
    assert edges_found_again(network, turned) == [1]


def test_a_node_corresponds_to_one_other_at_most():
    two = [[0.5, 0.5]] * 2
    shown = LatentNetwork("GHxy", [[0, 1]] * 4, [(), (), (0,), (0,)], [True, False, False, False],
                          [two[:1], two[:1], two, two])  # fmt: skip
    hidden = LatentNetwork("Hxy", [[0, 1]] * 3, [(), (0,), (0,)], [True, False, False], [two[:1], two, two])
    assert counterparts(shown, hidden) == {1: 0, 2: 1, 3: 2}
