"""States of hidden variables in networks of any shape: against enumeration, and against their own undoing."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgmpy_latent.exceptions import UnsplittableStateError
from pgmpy_latent.model.network import LatentNetwork, child_lists, reordered
from pgmpy_latent.networks.states import distance, marginal, merge_states, split_state
from pgmpy_latent.testing import latent_networks
from tests.support import reference_networks as reference

seeds = st.integers(0, 2**32 - 1)
#: How far to go.
sizes = st.sampled_from([0.05, 0.5, 0.95, 1.0])


@st.composite
def nodes_of(draw, n_states=1, **options):
    """Return a network, one of its nodes with at least so many states, and as many of these."""
    network = draw(latent_networks(zeros=None, max_nodes=5, max_card=4, **options))
    able = [node for node, card in enumerate(network.cards) if card >= n_states]
    assume(able)
    node = draw(st.sampled_from(able))
    states = draw(st.permutations(range(network.cards[node])))[:n_states]
    return (network, node, *states)


def joint(network):
    """Return the joint distribution of all nodes, an axis for each."""
    states = reference.joint_states(network.cards)
    return reference.joint_probabilities(network, states).reshape(network.cards)


def joint_of(network, nodes):
    """Return the joint distribution of some nodes, in their order, by enumeration."""
    table = np.moveaxis(joint(network), nodes, range(len(nodes)))
    return table.sum(axis=tuple(range(len(nodes), network.n_nodes)))


def rows_by_state(network, child, node):
    """Return the table of a child as {state of the node: rows}, a row per combination of its other parents."""
    above = network.parents[child]
    rows = reference.joint_states(network.cards[list(above)])
    place = above.index(node)
    return {state: network.tables[child][rows[:, place] == state] for state in range(network.cards[node])}


def is_splittable(network, node, state):
    """Tell whether a state has probability, and is not certain of all its neighbours."""
    share = joint_of(network, [node])[state]
    if share == 0:
        return False
    rows = [row for child in child_lists(network.parents)[node] for row in rows_by_state(network, child, node)[state]]
    if network.parents[node]:
        rows.append(joint_of(network, [node, *network.parents[node]])[state].ravel())
    return any((row > 0).sum() > 1 for row in rows)


def halves_of(drawn, size, seed):
    """Return the network with a state split; those that cannot be split are left out."""
    network, node, state = drawn
    assume(is_splittable(network, node, state))
    return split_state(network, network.names[node], state, np.random.default_rng(seed), size)


def assert_same_tables(one, other, atol=1e-10):
    assert one.names == other.names
    assert one.parents == other.parents
    for left, right in zip(one.tables, other.tables, strict=True):
        np.testing.assert_allclose(left, right, atol=atol, rtol=0)


# marginals


@given(latent_networks(max_nodes=5, zeros=None), st.data())
def test_marginals_are_those_of_enumeration(network, data):
    nodes = data.draw(st.permutations(range(network.n_nodes)))[: data.draw(st.integers(1, network.n_nodes))]
    found = marginal(network, nodes)
    assert found.shape == tuple(network.cards[list(nodes)])
    np.testing.assert_allclose(found, joint_of(network, nodes), atol=1e-12)


def test_nodes_that_nothing_links_are_independent():
    network = LatentNetwork(
        ["x", "y"], [[0, 1], [0, 1, 2]], [(), ()], [False] * 2, [[[0.25, 0.75]], [[0.5, 0.25, 0.25]]]
    )
    np.testing.assert_allclose(marginal(network, [1, 0]), np.outer([0.5, 0.25, 0.25], [0.25, 0.75]), atol=1e-15)


# splitting


@given(nodes_of(), sizes, seeds)
def test_merging_the_halves_gives_the_network_back(drawn, size, seed):
    network, node, state = drawn
    split = halves_of(drawn, size, seed)
    back = merge_states(split, network.names[node], (state, int(network.cards[node])))
    assert_same_tables(back, network)


@given(nodes_of(), sizes, seeds)
def test_halves_are_equally_likely_and_other_states_stay_as_they_were(drawn, size, seed):
    network, node, state = drawn
    split = halves_of(drawn, size, seed)
    before, after = joint_of(network, [node]), joint_of(split, [node])
    np.testing.assert_allclose(after[[state, -1]], before[state] / 2, atol=1e-12)
    others = [at for at in range(network.cards[node]) if at != state]
    np.testing.assert_array_equal(split.tables[node][:, others], network.tables[node][:, others])
    for child in child_lists(network.parents)[node]:
        old, new = rows_by_state(network, child, node), rows_by_state(split, child, node)
        for other in others:
            np.testing.assert_array_equal(new[other], old[other])


@given(nodes_of(), seeds)
def test_a_split_of_size_zero_keeps_the_distribution_of_all_other_nodes(drawn, seed):
    network, node, state = drawn
    before = np.moveaxis(joint(network), node, 0)
    assume(before[state].sum() > 0)
    split = split_state(network, network.names[node], state, np.random.default_rng(seed), size=0.0)
    after = np.moveaxis(joint(split), node, 0)
    np.testing.assert_allclose(after[state], before[state] / 2, atol=1e-14)
    np.testing.assert_allclose(after[-1], before[state] / 2, atol=1e-14)
    np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), atol=1e-14)


@given(nodes_of(), sizes, seeds)
def test_halves_go_as_far_as_they_are_told_in_opposite_directions(drawn, size, seed):
    """What a half says about a neighbour, over what the state said, lies in 1 ± size and touches its bounds."""
    network, node, state = drawn
    split = halves_of(drawn, size, seed)
    pairs = []
    for child in child_lists(network.parents)[node]:
        old, new = rows_by_state(network, child, node), rows_by_state(split, child, node)
        pairs += zip(old[state], new[state], new[network.cards[node]], strict=True)
    if network.parents[node]:
        both = [joint_of(some, [node, *network.parents[node]]) for some in (network, split)]
        pairs.append([table.ravel() / table.sum() for table in (both[0][state], both[1][state], both[1][-1])])
    for whole, one, other in pairs:
        np.testing.assert_allclose((one + other) / 2, whole, atol=1e-10)
        np.testing.assert_allclose([one.sum(), other.sum()], 1.0, atol=1e-10)
        assert (one[whole == 0] == 0).all()
        ratio = np.abs(one[whole > 0] / whole[whole > 0] - 1)
        expected = size if (whole > 0).sum() > 1 else 0.0
        assert ratio.max() == pytest.approx(expected, abs=1e-7)


def test_a_state_can_be_split_as_far_as_probabilities_allow():
    network = a_chain()
    split = split_state(network, "H", 0, np.random.default_rng(0), size=1.0)
    assert split.table("B").min() < 1e-15
    assert split.table("H").min() < 1e-15
    assert_same_tables(merge_states(split, "H", (0, 2)), network)


@given(nodes_of(), seeds)
def test_states_are_unsplittable_exactly_if_they_have_no_probability_or_no_direction(drawn, seed):
    network, node, state = drawn
    rng = np.random.default_rng(seed)
    if is_splittable(network, node, state):
        assert split_state(network, network.names[node], state, rng).cards[node] == network.cards[node] + 1
    else:
        with pytest.raises(UnsplittableStateError, match="split another one"):
            split_state(network, network.names[node], state, rng)


def test_a_state_without_probability_is_refused_by_name():
    network = a_chain(own=[[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(UnsplittableStateError, match="state 1 of 'H' has probability zero"):
        split_state(network, "H", 1, np.random.default_rng(0))
    with pytest.raises(UnsplittableStateError, match="state 1 of 'H' has probability zero"):
        split_state(network, "H", 1, np.random.default_rng(0), size=0.0)


def test_a_state_that_is_certain_of_all_its_neighbours_is_refused_by_name():
    network = a_chain(own=[[1.0, 0.0], [0.0, 1.0]], below=[[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(UnsplittableStateError, match="state 0 of 'H' is certain of all its neighbours"):
        split_state(network, "H", 0, np.random.default_rng(0))
    split = split_state(network, "H", 0, np.random.default_rng(0), size=0.0)
    assert split.table("H").tolist() == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]


def test_one_neighbour_that_is_uncertain_is_enough():
    above = split_state(a_chain(below=[[0.0, 1.0], [1.0, 0.0]]), "H", 0, np.random.default_rng(0))
    assert above.table("B").tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert (above.table("H")[:, 0] != above.table("H")[:, 2]).all()
    below = split_state(a_chain(own=[[1.0, 0.0], [0.0, 1.0]]), "H", 0, np.random.default_rng(0))
    assert below.table("H").tolist() == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    assert (below.table("B")[0] != below.table("B")[2]).all()


# networks that are equivalent


def a_chain(own=((0.6, 0.4), (0.3, 0.7)), below=((0.9, 0.1), (0.2, 0.8)), above=(0.5, 0.5)):
    """A -> H -> B, with B first in node order."""
    tables = [np.array(below), np.array(own), np.array([above])]
    states = [[f"s{at}" for at in range(table.shape[1])] for table in tables]
    return LatentNetwork(["B", "H", "A"], states, [(1,), (2,), ()], [False, True, False], tables)


def turned(chain):
    """Return A <- H -> B with the distribution of A -> H -> B."""
    pairs = chain.tables[2].T * chain.tables[1]  # P(A, H)
    shares = pairs.sum(axis=0)
    tables = [chain.tables[0], shares[None], (pairs / shares).T]
    return LatentNetwork(chain.names, chain.state_names, [(1,), (), (1,)], chain.latent, tables)


@st.composite
def chains(draw):
    rng = np.random.default_rng(draw(seeds))
    a, h, b = (draw(st.integers(2, 4)) for _ in range(3))
    chain = a_chain(rng.dirichlet(np.ones(h), a), rng.dirichlet(np.ones(b), h), rng.dirichlet(np.ones(a)))
    return chain, draw(st.integers(0, h - 1))


@given(chains(), sizes, seeds)
def test_equivalent_networks_split_alike(drawn, size, seed):
    """Whichever way the edge to A points, the same draws lead to the same distribution of A, H and B."""
    chain, state = drawn
    fork = turned(chain)
    np.testing.assert_allclose(joint(fork), joint(chain), atol=1e-14)
    splits = [split_state(some, "H", state, np.random.default_rng(seed), size) for some in (chain, fork)]
    np.testing.assert_allclose(joint(splits[0]), joint(splits[1]), atol=1e-12)
    assert_same_tables(turned(splits[0]), splits[1], atol=1e-10)


@given(chains(), sizes, seeds)
def test_what_halves_say_about_a_parent_moves_by_a_delta_that_sums_to_nothing(drawn, size, seed):
    chain, state = drawn
    split = split_state(chain, "H", state, np.random.default_rng(seed), size)
    before, after = joint_of(chain, [1, 2]), joint_of(split, [1, 2])
    given_state = before[state] / before[state].sum()
    one, other = (after[half] / after[half].sum() for half in (state, -1))
    delta = one - given_state
    assert abs(delta.sum()) < 1e-12
    assert np.abs(delta).max() > 1e-6
    np.testing.assert_allclose(other, given_state - delta, atol=1e-12)
    np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), atol=1e-14)  # P(A)


# merging


def below(network, node):
    """Return a node and all that descend from it."""
    found = {node}
    for other in network.order:
        if found & set(network.parents[other]):
            found.add(other)
    return found


@given(nodes_of(n_states=2))
def test_a_merged_state_has_the_probability_of_both_and_nothing_above_changes(drawn):
    network, node, one, other = drawn
    merged = merge_states(network, network.names[node], (one, other))
    kept, gone = sorted((one, other))
    rest = [at for at in range(network.n_nodes) if at not in below(network, node)]
    before, after = joint_of(network, [node, *rest]), joint_of(merged, [node, *rest])
    before[kept] += before[gone]
    np.testing.assert_allclose(after, np.delete(before, gone, axis=0), atol=1e-14)


@given(nodes_of(n_states=2))
def test_tables_of_children_are_averaged_by_the_probabilities_of_the_states(drawn):
    network, node, one, other = drawn
    merged = merge_states(network, network.names[node], (one, other))
    kept, gone = sorted((one, other))
    shares = joint_of(network, [node])[[kept, gone]]
    weights = shares / shares.sum() if shares.sum() else [0.5, 0.5]
    untouched = set(range(network.n_nodes)) - {node, *child_lists(network.parents)[node]}
    for at in untouched:
        np.testing.assert_array_equal(merged.tables[at], network.tables[at])
    for child in child_lists(network.parents)[node]:
        old, new = rows_by_state(network, child, node), rows_by_state(merged, child, node)
        old[kept] = weights[0] * old[kept] + weights[1] * old.pop(gone)
        for state, expected in enumerate(old[state] for state in sorted(old)):
            np.testing.assert_allclose(new[state], expected, atol=1e-14)


@given(nodes_of(n_states=2))
def test_it_does_not_matter_which_of_two_states_is_named_first(drawn):
    network, node, one, other = drawn
    name = network.names[node]
    assert_same_tables(merge_states(network, name, (one, other)), merge_states(network, name, (other, one)), atol=0)


# names and order


@given(nodes_of(n_states=2), seeds)
def test_states_that_are_new_in_number_are_numbered_and_all_else_keeps_its_names(drawn, seed):
    network, node, one, other = drawn
    name, card = network.names[node], int(network.cards[node])
    rng = np.random.default_rng(seed)
    found = {card - 1: merge_states(network, name, (one, other))}
    if is_splittable(network, node, one):
        found[card + 1] = split_state(network, name, one, rng)
    for n_states, new in found.items():
        assert new.state_names[node] == tuple(range(n_states))
        assert new.state_names[:node] + new.state_names[node + 1 :] == (
            network.state_names[:node] + network.state_names[node + 1 :]
        )
        assert (new.names, new.parents, new.latent.tolist()) == (
            network.names, network.parents, network.latent.tolist()
        )  # fmt: skip


@given(nodes_of(), st.data())
def test_states_in_another_order_have_the_same_distribution_and_the_old_names(drawn, data):
    network, node, _ = drawn
    order = data.draw(st.permutations(range(network.cards[node])))
    new = reordered(network, {node: order})
    np.testing.assert_allclose(joint(new), np.take(joint(network), order, axis=node), atol=1e-15)
    assert new.state_names == network.state_names
    assert_same_tables(reordered(new, {node: np.argsort(order)}), network, atol=0)


# distances


@given(nodes_of(n_states=2))
def test_distances_are_sums_over_neighbours_of_mean_differences(drawn):
    network, node, one, other = drawn
    expected = 0.0
    for child in child_lists(network.parents)[node]:
        rows = rows_by_state(network, child, node)
        expected += np.mean([np.abs(a - b).sum() for a, b in zip(rows[one], rows[other], strict=True)])
    if network.parents[node]:
        expected += np.mean([abs(row[one] - row[other]) for row in network.tables[node]])
    assert distance(network, node, one, other) == pytest.approx(expected, abs=1e-14)
    assert distance(network, node, one, other) == distance(network, node, other, one)
    assert distance(network, node, one, one) == 0


@given(nodes_of(), sizes, seeds)
def test_halves_are_no_distance_apart_before_they_move_and_some_afterwards(drawn, size, seed):
    network, node, state = drawn
    last = int(network.cards[node])
    moved = halves_of(drawn, size, seed)
    still = split_state(network, network.names[node], state, np.random.default_rng(seed), 0.0)
    assert distance(still, node, state, last) == 0
    assert distance(moved, node, state, last) > 0
