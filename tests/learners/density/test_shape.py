"""Hidden variables linked like the columns: as many as add something, wherever the root is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import encode
from pgmpy_latent.learners.density.shape import hidden_tree
from pgmpy_latent.testing import assert_valid


def rows(n_columns):
    return encode(np.array([[0] * n_columns, [1] * n_columns]))


@given(st.integers(1, 9), st.integers(0, 10_000), st.integers(1, 4))
def test_every_column_hangs_below_the_hidden_variable_of_itself_or_its_neighbour(n_columns, seed, n_states):
    rng = np.random.default_rng(seed)
    parent = np.array([int(rng.integers(-1, at)) if at else -1 for at in range(n_columns)])
    tree = hidden_tree(rows(n_columns), parent, n_states)
    assert_valid(tree)
    links = {frozenset((at, int(above))) for at, above in enumerate(parent) if above >= 0}
    degree = [sum(at in link for link in links) for at in range(n_columns)]
    assert tree.latent.sum() == sum(n > 1 for n in degree)
    assert set(tree.cards[tree.latent].tolist()) <= {n_states}
    n_trees = int((parent < 0).sum())
    assert int((tree.parent < 0).sum()) == n_trees  # as many components as before
    for link in links:
        if all(degree[at] > 1 for at in link):
            one, other = (tree.parent[tree.index(at)] for at in link)
            assert other in (tree.parent[one], one) or one == tree.parent[other]


def test_two_columns_that_have_only_each_other_stay_as_they_are():
    tree = hidden_tree(rows(3), np.array([-1, 0, -1]), 4)
    assert (tree.names, tree.parent.tolist()) == ((0, 1, 2), [-1, 0, -1])


def test_a_root_with_one_neighbour_hangs_below_it():
    tree = hidden_tree(rows(4), np.array([-1, 0, 1, 1]), 3)
    assert tree.names == ("H1", 0, 1, 2, 3)
    assert tree.parent.tolist() == [-1, 0, 0, 0, 0]
