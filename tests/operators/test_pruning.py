"""Pruning keeps the distribution over the columns, and leaves nothing to prune."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.operators import equivalent, marginals, prune_states, split_state
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support import reference

trees = latent_trees(max_nodes=6, max_card=3, zeros=None)


def same_distribution(left, right):
    """Tell whether two trees give all combinations of columns the same probability, by enumeration."""
    return reference.observed_distribution(left) == pytest.approx(reference.observed_distribution(right), abs=1e-12)


@given(trees)
def test_pruning_keeps_the_distribution(tree):
    pruned = prune_states(tree)
    assert_valid(pruned)
    assert same_distribution(pruned, tree)
    assert pruned.names == tree.names
    assert (pruned.parent == tree.parent).all()
    assert (pruned.cards <= tree.cards).all()
    assert (pruned.cards[~tree.latent] == tree.cards[~tree.latent]).all()


@given(trees)
def test_nothing_is_left_to_prune(tree):
    pruned = prune_states(tree)
    assert prune_states(pruned) is pruned
    assert all((marginals(pruned)[pruned.index(name)] > 0).all() for name in pruned.latent_names)


@given(trees, st.data())
def test_copies_of_states_and_impossible_states_are_pruned(tree, data):
    pruned = prune_states(tree)
    if not pruned.latent_names:
        return
    larger = pruned
    for _ in range(3):
        node = data.draw(st.sampled_from(pruned.latent_names))
        state = data.draw(st.sampled_from(larger.state_names[larger.index(node)]))
        larger = split_state(larger, node, state, direction={})
    again = prune_states(larger)
    assert same_distribution(again, tree)
    assert (again.cards <= pruned.cards).all()


def test_states_that_differ_in_one_neighbour_are_one(a_chain):
    split = split_state(a_chain, "G", 0, direction={"z": [0.1, -0.1]})
    assert split.cards[split.index("G")] == 3
    assert equivalent(prune_states(split), a_chain)
    assert (prune_states(split).cards == a_chain.cards).all()


def test_states_that_differ_in_two_neighbours_stay(a_chain):
    split = split_state(a_chain, "G", 0, direction={"z": [0.1, -0.1], "u": [0.1, -0.1]})
    assert prune_states(split) is split


def test_a_neighbour_is_looked_at_again(a_chain):
    twice = split_state(split_state(a_chain, "G", 0, direction={}), "H", 0, direction={"G": [0.05, 0, -0.05]})
    assert (prune_states(twice).cards == a_chain.cards).all()


def test_impossible_states_go(a_chain):
    tables = list(a_chain.tables)
    tables[0] = np.array([[1.0, 0.0]])
    tree = a_chain.with_tables(tables)
    pruned = prune_states(tree)
    assert pruned.cards[0] == 1
    assert same_distribution(pruned, tree)


def test_the_tolerance_is_relative(a_chain):
    direction = {"z": [1e-8, -1e-8], "u": [1e-8, -1e-8]}
    near = split_state(a_chain, "G", 0, direction=direction)
    assert prune_states(near) is near
    assert (prune_states(near, tolerance=1e-6).cards == a_chain.cards).all()
    with pytest.raises(ValueError, match="tolerance is -1; it must be at least 0 and below 1"):
        prune_states(near, tolerance=-1)


@pytest.fixture
def a_chain():
    """Return a tree with two hidden variables, each of which has two columns."""
    return LatentTree(
        ["H", "G", "x", "y", "z", "u"],
        [[0, 1], [0, 1], "ab", "ab", "ab", "ab"],
        [-1, 0, 0, 0, 1, 1],
        [True, True, False, False, False, False],
        [
            [[0.4, 0.6]],
            [[0.7, 0.3], [0.2, 0.8]],
            [[0.9, 0.1], [0.3, 0.7]],
            [[0.8, 0.2], [0.1, 0.9]],
            [[0.6, 0.4], [0.15, 0.85]],
            [[0.75, 0.25], [0.35, 0.65]],
        ],
    )
