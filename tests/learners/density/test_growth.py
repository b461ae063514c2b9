"""Larger trees keep the distribution of smaller ones."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.learners.density.growth import shaken, weighty_states, with_copies, with_hidden_copies
from pgmpy_latent.testing import latent_trees
from tests.support import reference


def joint(tree, names):
    """Return the joint distribution of some nodes of a tree."""
    nodes = [tree.index(name) for name in names]
    grids = np.meshgrid(*[np.arange(tree.cards[node]) for node in nodes], indexing="ij")
    rows = np.stack([grid.ravel() for grid in grids], axis=1)
    return np.exp(reference.log_likelihoods(tree.parent, tree.tables, reference.rows_of(rows, np.array(nodes))))


@settings(max_examples=50)
@given(latent_trees(max_nodes=6, max_card=3), st.integers(0, 99))
def test_copies_of_states_keep_the_distribution(tree, seed):
    rng = np.random.default_rng(seed)
    copies = {int(node): rng.integers(1, 4, tree.cards[node]) for node in np.flatnonzero(tree.latent)}
    larger = with_copies(tree, copies)
    assert [larger.cards[node] for node in copies] == [number.sum() for number in copies.values()]
    np.testing.assert_allclose(joint(larger, tree.observed_names), joint(tree, tree.observed_names), atol=1e-12)


@settings(max_examples=50)
@given(latent_trees(max_nodes=6, max_card=3))
def test_hidden_copies_of_columns_keep_the_distribution(tree):
    larger = with_hidden_copies(tree)
    children = np.bincount(larger.parent[larger.parent >= 0], minlength=larger.n_nodes)
    neighbours = children + (larger.parent >= 0)
    assert (neighbours[~larger.latent] <= 1).all()
    np.testing.assert_allclose(joint(larger, tree.observed_names), joint(tree, tree.observed_names), atol=1e-12)
    again = with_hidden_copies(larger)
    assert again.names == larger.names


@given(latent_trees(max_nodes=6, max_card=3), st.integers(0, 99))
def test_shaken_tables_keep_zeros_and_are_tables(tree, seed):
    moved = shaken(tree, 0.5, np.random.default_rng(seed))
    for before, after in zip(tree.tables, moved.tables, strict=True):
        assert ((before == 0) == (after == 0)).all()
        np.testing.assert_allclose(after.sum(axis=1), 1)


@given(latent_trees(max_nodes=6, max_card=3))
def test_all_states_have_the_weight_of_no_rows(tree):
    assert all(which.all() for which in weighty_states(tree, 10.0, 0.0).values())
    assert not any(which.any() for which in weighty_states(tree, 10.0, 11.0).values())
