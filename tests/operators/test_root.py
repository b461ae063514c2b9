"""Moving the root changes the arrows and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.operators import equivalent, marginals, root_walk
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support import reference
from tests.support.reference import assert_same_tables

trees = latent_trees(max_nodes=6, max_card=3, zeros=None)


@given(trees, st.data())
def test_walking_keeps_the_joint_over_all_variables(tree, data):
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    walked = root_walk(tree, tree.names[node])
    assert_valid(walked)
    assert walked.parent[node] == -1
    assert len(walked.roots) == len(tree.roots)
    assert (walked.names, walked.state_names) == (tree.names, tree.state_names)
    assert (walked.latent == tree.latent).all()
    np.testing.assert_allclose(reference.joint_array(walked), reference.joint_array(tree), rtol=1e-12, atol=1e-15)
    assert repr(walked) == repr(tree)  # which tells the number of parameters
    assert equivalent(tree, walked)


@given(trees, st.data())
def test_walking_back_restores_the_tables(tree, data):
    node = data.draw(st.sampled_from(tree.names))
    old_root = reference.root_of(tree, node)
    back = root_walk(root_walk(tree, node), old_root)
    assert_same_tables(tree, back)


@given(trees, st.data())
def test_tables_off_the_path_are_the_same_arrays(tree, data):
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    walked = root_walk(tree, tree.names[node])
    path = set()
    while node >= 0:
        path.add(node)
        node = int(tree.parent[node])
    for other in range(tree.n_nodes):
        if other not in path:
            assert walked.tables[other] is tree.tables[other]
            assert walked.parent[other] == tree.parent[other]


@given(trees)
def test_a_root_stays_a_root(tree):
    for root in tree.roots:
        assert root_walk(tree, tree.names[root]) is tree


def test_states_of_probability_zero_get_uniform_rows():
    tree = LatentTree(
        ["x", "y"], ["abc", "de"], [-1, 0], [False, False], [[[0.5, 0.5, 0]], [[1, 0], [1, 0], [0.3, 0.7]]]
    )
    walked = root_walk(tree, "y")
    assert walked.table("y").tolist() == [[1, 0]]
    np.testing.assert_array_equal(walked.table("x"), [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_tiny_probabilities_keep_rows_normalised():
    tiny = 1e-200
    tree = LatentTree(
        ["x", "y", "z"],
        ["ab", "ab", "ab"],
        [-1, 0, 1],
        [False, True, False],
        [[[1 - tiny, tiny]], [[1, 0], [1 - 1e-120, 1e-120]], [[1, 0], [0.5, 0.5]]],
    )
    walked = root_walk(tree, "z")  # P(y = b) is 1e-320, below the smallest normal number
    assert marginals(tree)[1][1] > 0
    assert_valid(walked)
    np.testing.assert_allclose(walked.table("x").sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(walked.table("y"), [[1, 0], [0, 1]], atol=1e-15)
    np.testing.assert_allclose(walked.table("x"), [[1, 0], [0, 1]], atol=1e-15)


def test_row_sums_that_are_slightly_off_do_not_add_up_along_a_path():
    off = [[0.5 + 9e-9, 0.5], [0.5, 0.5 + 9e-9]]
    n_nodes = 30
    tree = LatentTree(
        range(n_nodes), ["ab"] * n_nodes, range(-1, n_nodes - 1), [False] * n_nodes, [off[:1], *[off] * (n_nodes - 1)]
    )
    assert_valid(root_walk(tree, n_nodes - 1))


def test_an_unknown_node_is_named():
    tree = LatentTree(["x"], ["ab"], [-1], [False], [[[0.5, 0.5]]])
    with pytest.raises(KeyError, match="no node is called 'y'"):
        root_walk(tree, "y")
