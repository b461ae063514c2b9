"""Operators on states keep the distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.operators import canonical_states, marginals, permute_states
from pgmpy_latent.testing import assert_valid, latent_trees
from tests import reference


def observed_distribution(tree):
    """Return the distribution over the observed variables by enumeration."""
    states = reference.joint_states(tree.cards)
    probability = reference.joint_probabilities(tree.parent, tree.tables, states)
    kept = states[:, ~tree.latent]
    found = {}
    for key, value in zip(map(tuple, kept.tolist()), probability, strict=True):
        found[key] = found.get(key, 0.0) + value
    return found


@given(latent_trees(max_nodes=5, max_card=3, zeros=None))
def test_marginals_equal_enumeration(tree):
    states = reference.joint_states(tree.cards)
    probability = reference.joint_probabilities(tree.parent, tree.tables, states)
    for node, marginal in enumerate(marginals(tree)):
        expected = np.bincount(states[:, node], probability, minlength=tree.cards[node])
        np.testing.assert_allclose(marginal, expected, rtol=1e-10, atol=1e-12)


@given(latent_trees(max_nodes=5, max_card=3, zeros=None), st.randoms(use_true_random=False))
def test_permuting_there_and_back_is_the_identity(tree, random):
    node = random.randrange(tree.n_nodes)
    order = list(range(int(tree.cards[node])))
    random.shuffle(order)
    there = permute_states(tree, tree.names[node], order)
    assert_valid(there)
    assert permute_states(there, tree.names[node], np.argsort(order)) == tree


@given(latent_trees(max_nodes=5, max_card=3, zeros=None), st.randoms(use_true_random=False))
def test_canonical_states_keep_the_distribution_and_forget_the_order(tree, random):
    canonical = canonical_states(tree)
    assert_valid(canonical)
    assert canonical.state_names == tree.state_names
    before, after = observed_distribution(tree), observed_distribution(canonical)
    assert after == pytest.approx(before, rel=1e-9, abs=1e-12)
    assert canonical_states(canonical) == canonical
    for node in np.flatnonzero(canonical.latent):
        assert (np.diff(marginals(canonical)[node].round(6)) <= 0).all()
    shuffled = tree
    for node in np.flatnonzero(tree.latent):
        order = list(range(int(tree.cards[node])))
        random.shuffle(order)
        moved = permute_states(shuffled, tree.names[node], order)
        shuffled = LatentTree(tree.names, tree.state_names, tree.parent, tree.latent, moved.tables)
    again = canonical_states(shuffled)
    for mine, first in zip(marginals(again), marginals(canonical), strict=True):
        np.testing.assert_allclose(mine, first, atol=2e-6)


def test_an_order_that_is_no_permutation():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    with pytest.raises(ValueError, match="need a permutation"):
        permute_states(tree, "x", [0, 0])
