"""The standard form of a tree depends on its undirected structure and on its columns, and on nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.datasets import hlc_model
from pgmpy_latent.operators import canonical_tree, equivalent, permute_states, root_walk
from pgmpy_latent.operators.canonical import with_standard_roots
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support.reference import assert_same_tables, branches
from tests.support.samples import awkward_trees, leafy_tree

trees = latent_trees(max_nodes=8, max_card=3, zeros=None)
seeds = st.integers(0, 2**32 - 1)


def random_tree(parent, latent, names, cards=None, seed=0):
    """A tree of the given shape with random tables."""
    rng = np.random.default_rng(seed)
    cards = [2] * len(parent) if cards is None else cards
    tables = [
        rng.dirichlet(np.ones(card), size=1 if above < 0 else cards[above])
        for above, card in zip(parent, cards, strict=True)
    ]
    return LatentTree(names, [range(card) for card in cards], parent, latent, tables)


def reordered(tree, order):
    """The same tree with its nodes in another order."""
    place = np.append(np.argsort(order), -1)
    return LatentTree(
        [tree.names[node] for node in order],
        [tree.state_names[node] for node in order],
        place[tree.parent[order]],
        tree.latent[order],
        [tree.tables[node] for node in order],
    )


def renamed(tree, names):
    return LatentTree(names, tree.state_names, tree.parent, tree.latent, tree.tables)


def scrambled(tree, seed):
    """The same model with other roots, other hidden names and another order of nodes."""
    rng = np.random.default_rng(seed)
    for node in rng.permutation(tree.n_nodes)[: rng.integers(8)]:
        tree = root_walk(tree, tree.names[node])
    fresh = iter(rng.permutation(tree.n_nodes).tolist())
    tree = renamed(
        tree, [("old", next(fresh)) if hidden else name for name, hidden in zip(tree.names, tree.latent, strict=True)]
    )
    return reordered(tree, rng.permutation(tree.n_nodes))


@given(trees, seeds)
def test_standard_roots_leave_all_else_alone(tree, seed):
    tree = scrambled(tree, seed)
    found = with_standard_roots(tree)
    assert_valid(found)
    assert (found.names, found.state_names) == (tree.names, tree.state_names)
    assert equivalent(found, tree)
    assert_same_tables(canonical_tree(found), canonical_tree(tree))
    again = with_standard_roots(found)
    assert again.parents == found.parents


@given(trees)
def test_it_is_the_same_model(tree):
    found = canonical_tree(tree)
    assert_valid(found)
    assert equivalent(tree, found)  # the same distribution, as many parameters
    assert len(found.roots) == len(tree.roots)
    assert found.latent_names == tuple(f"H{at + 1}" for at in range(tree.latent.sum()))
    assert found.names == (*found.latent_names, *sorted(tree.observed_names))
    assert sorted(found.state_names) == sorted(tree.state_names)


@given(trees)
def test_the_joint_over_all_variables_stays(tree):
    # hidden states tell which hidden node is which
    tree = LatentTree(
        tree.names,
        [[(name, state) for state in states] for name, states in zip(tree.names, tree.state_names, strict=True)],
        tree.parent,
        tree.latent,
        tree.tables,
    )
    found = canonical_tree(tree)
    old_names = [states[0][0] for states in found.state_names]
    back = reordered(renamed(found, old_names), [old_names.index(name) for name in tree.names])
    for root in tree.roots:
        back = root_walk(back, tree.names[root])
    assert_same_tables(tree, back, atol=1e-9)


@given(trees, seeds)
def test_roots_names_and_order_do_not_matter(tree, seed):
    expected, found = canonical_tree(tree), canonical_tree(scrambled(tree, seed))
    assert found.names == expected.names
    assert found.parent.tolist() == expected.parent.tolist()
    assert found.cards.tolist() == expected.cards.tolist()
    assert_same_tables(expected, found, atol=1e-9)


@given(latent_trees(min_nodes=5, max_nodes=14, max_card=2, forests=False), seeds)
def test_it_holds_where_nothing_but_the_structure_tells_nodes_apart(tree, seed):
    tree = random_tree(tree.parent, tree.latent, tree.names, [2] * tree.n_nodes, seed)
    expected, found = canonical_tree(tree), canonical_tree(scrambled(tree, seed))
    assert (found.names, found.parent.tolist()) == (expected.names, expected.parent.tolist())
    for left, right in zip(expected.tables, found.tables, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-9)


@given(trees, seeds)
def test_the_structure_does_not_depend_on_the_numbers(tree, seed):
    other = random_tree(tree.parent, tree.latent, tree.names, tree.cards, seed)
    expected, found = canonical_tree(tree), canonical_tree(scrambled(other, seed))
    assert (found.names, found.parent.tolist()) == (expected.names, expected.parent.tolist())
    assert found.cards.tolist() == expected.cards.tolist()


@given(awkward_trees(max_nodes=7), seeds)
def test_names_of_any_type(tree, seed):
    found = canonical_tree(tree)
    assert canonical_tree(found) == found
    other = canonical_tree(scrambled(tree, seed))
    assert (other.names, other.parent.tolist()) == (found.names, found.parent.tolist())


@given(trees, seeds)
def test_the_order_of_columns_is_respected(tree, seed):
    columns = np.random.default_rng(seed).permutation(tree.observed_names).tolist()
    found = canonical_tree(tree, columns)
    assert list(found.observed_names) == columns
    assert equivalent(tree, found)
    assert canonical_tree(found, columns) == found
    # breadth first, by earliest column: as it would be with columns called by their positions
    called = {name: f"x{at:02}" for at, name in enumerate(columns)}
    alphabetic = canonical_tree(renamed(tree, [called.get(name, name) for name in tree.names]))
    assert found.parent.tolist() == alphabetic.parent.tolist()


@given(trees)
def test_roots_are_hidden_centroids(tree):
    found = canonical_tree(tree)

    def largest(node):
        parts = branches(found, node)
        return max(
            (sum(not found.latent[at] for at in part) for side, part in parts.items() if side is not None), default=0
        )

    for root in found.roots:
        apart = set(branches(found, found.names[root]).get(None, ()))
        component = [at for at in range(found.n_nodes) if at not in apart]
        hidden = [at for at in component if found.latent[at]]
        if hidden:
            assert found.latent[root]
            assert largest(found.names[root]) == min(largest(found.names[at]) for at in hidden)
        else:
            assert root == min(component)


def test_it_leaves_hidden_states_alone():
    tree = hlc_model(7, random_state=0)
    swapped = permute_states(tree, "H2", [2, 0, 1])
    assert canonical_tree(tree) == tree
    assert canonical_tree(swapped) == swapped
    assert canonical_tree(swapped).state_names[1] == (2, 0, 1)


def test_models_of_the_thesis_stay_as_they_are():
    for size in (7, 18):
        tree = hlc_model(size, random_state=1)
        columns = [f"D{at + 1}" for at in range(size)]
        assert canonical_tree(tree, columns) == tree
        found = canonical_tree(scrambled(tree, 3), columns)
        assert (found.names, found.parent.tolist()) == (tree.names, tree.parent.tolist())
        for left, right in zip(tree.tables, found.tables, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-12)


def test_a_chain():
    # a - P - Q - R - b, with c on Q: the largest branch of each has two columns, except for Q's
    tree = random_tree([-1, 0, 1, 2, 3, 2], [0, 1, 1, 1, 0, 0], ["a", "P", "Q", "R", "b", "c"])
    found = canonical_tree(tree)
    assert found.names == ("H1", "H2", "H3", "a", "b", "c")
    assert found.parent.tolist() == [-1, 0, 0, 1, 2, 0]


def test_a_chain_of_hidden_nodes_that_only_the_first_column_tells_apart():
    # a - P - Q - R - b: all have the same largest branch and the same sum of distances
    tree = random_tree([-1, 0, 1, 2, 3], [0, 1, 1, 1, 0], ["a", "P", "Q", "R", "b"])
    assert canonical_tree(tree).parent.tolist() == [-1, 0, 1, 0, 2]
    assert canonical_tree(tree, ["b", "a"]).parent.tolist() == [-1, 0, 1, 0, 2]
    assert canonical_tree(tree, ["b", "a"]).observed_names == ("b", "a")


@pytest.mark.parametrize(
    ("cards", "columns", "root"), [((2, 2), "abcd", "ab"), ((2, 3), "abcd", "cd"), ((2, 2), "dcba", "dc")]
)
def test_two_centroids(cards, columns, root):
    # the two sides are alike: more states decide, and after that the first column
    tree = random_tree([-1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0], [*"PQabcd"], [*cards, 2, 2, 2, 2])
    for start in tree.names:
        found = canonical_tree(root_walk(tree, start), list(columns))
        assert set(found.children("H1")) == {"H2", *root}
        assert found.roots.tolist() == [0]


def test_the_sum_of_distances_comes_before_states():
    # a and b on P, c and d on Q, and between P and Q the columns m, which x hangs on, and o
    tree = random_tree([-1, 0, 0, 1, 0, 2, 2, 3, 3], [0, 0, 1, 1, *[0] * 5], [*"moPQxabcd"], [2, 2, 2, 3, *[2] * 5])
    # from both, the largest branch has five columns; the distances from P sum to 15, those from Q to 16
    assert set(canonical_tree(tree).children("H1")) == {"a", "b", "m"}


def test_forests_begin_with_the_first_column():
    tree = leafy_tree(n_columns=6, alone=2)
    found = canonical_tree(tree, ["z1", "x2", "x3", "z0", "x0", "x5", "x1", "x4"])
    assert found.latent_names == ("H1", "H2", "H3", "H4")
    assert found.observed_names == ("z1", "x2", "x3", "z0", "x0", "x5", "x1", "x4")
    assert found.parent.tolist() == [-1, 0, 0, 0, -1, 1, 1, -1, 2, 3, 2, 3]
    both = random_tree([-1, 0, 0, -1, 3, 3], [1, 0, 0, 1, 0, 0], ["P", "c", "d", "Q", "a", "b"])
    assert canonical_tree(both).children("H1") == ("a", "b")
    assert canonical_tree(both, list("dabc")).children("H1") == ("d", "c")


def test_without_hidden_nodes_the_first_column_is_the_root():
    tree = random_tree([-1, 0, 1, -1], [0, 0, 0, 0], [*"dbca"])
    found = canonical_tree(tree)
    assert found.names == ("a", "b", "c", "d")
    assert found.parent.tolist() == [-1, -1, 1, 1]


def test_hidden_nodes_alone():
    tree = random_tree([-1, 0, -1], [1, 1, 1], [*"PQR"], [2, 2, 3])
    found = canonical_tree(tree)
    assert found.names == ("H1", "H2", "H3")
    for seed in range(5):
        again = canonical_tree(scrambled(tree, seed))
        assert (again.names, again.parent.tolist()) == (found.names, found.parent.tolist())
        np.testing.assert_allclose(again.table("H2"), found.table("H2"), atol=1e-12)


def test_hidden_leaves_of_one_shape_are_told_apart_by_their_probabilities():
    tree = random_tree([-1, 0, 0, 0, 0], [1, 1, 1, 1, 0], [*"PQRSx"])
    found = canonical_tree(tree)
    for seed in range(10):
        again = canonical_tree(scrambled(tree, seed))
        for left, right in zip(found.tables, again.tables, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-12)


def test_an_observed_node_between_hidden_ones():
    # P - m - Q with columns on both; m is observed and cannot be the root
    tree = random_tree([-1, 0, 0, 1, 1, 4, 4], [0, 1, 0, 0, 1, 0, 0], ["m", "P", "a", "b", "Q", "c", "d"])
    found = canonical_tree(tree)
    assert [found.names[root] for root in found.roots] == ["H1"]
    assert not found.latent[found.index("m")]


def test_names_that_columns_have_are_avoided():
    tree = random_tree([-1, 0, 0, 1, 1], [1, 1, 0, 0, 0], ["P", "Q", "H2", "y", "z"])
    assert canonical_tree(tree).latent_names == ("H_1", "H_2")
    assert canonical_tree(renamed(tree, ["P", "Q", "H2", "H_1", "z"])).latent_names == ("H__1", "H__2")
    assert canonical_tree(renamed(tree, ["P", "Q", "H3", "H", "H0"])).latent_names == ("H1", "H2")
    assert canonical_tree(renamed(tree, ["H2", "H1", "x", "y", "z"])).latent_names == ("H1", "H2")


def test_columns_must_be_the_observed_nodes():
    tree = leafy_tree(n_columns=2)
    for columns, message in [
        (["x0", "x1", "P0"], r"columns names \['P0'\]; the observed nodes are \['x0', 'x1'\]"),
        (["x0"], r"columns is \['x0'\]; name each observed node once"),
        (["x0", "x0", "x1"], "name each observed node once"),
    ]:
        with pytest.raises(ValueError, match=message):
            canonical_tree(tree, columns)


def test_large_trees():
    rng = np.random.default_rng(0)
    n_nodes = 3000
    parent = [-1, *(int(rng.integers(max(0, at - 3), at)) for at in range(1, n_nodes))]  # deep
    latent = [at in set(parent) for at in range(n_nodes)]
    tree = random_tree(parent, latent, range(n_nodes))
    found = canonical_tree(tree)
    again = canonical_tree(scrambled(tree, 1))
    assert (again.names, again.parent.tolist()) == (found.names, found.parent.tolist())
