"""Regular trees, and the comparison of models without enumeration."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.operators import (
    bound_from_cards,
    equivalent,
    introduce_node,
    irregular_nodes,
    is_regular,
    make_regular,
    marginally_equivalent,
    permute_states,
    regular_bound,
    root_walk,
    split_state,
)
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support import reference

trees = latent_trees(max_nodes=6, max_card=4, zeros=None)


def a_class_model(n_states, cards, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"x{item}" for item in range(len(cards))]
    return LatentTree(
        ["H", *names],
        [range(n_states), *map(range, cards)],
        [-1] + [0] * len(cards),
        [True] + [False] * len(cards),
        [rng.dirichlet(np.ones(n_states), size=1), *(rng.dirichlet(np.ones(card), size=n_states) for card in cards)],
    )


@pytest.mark.parametrize(
    ("cards", "bound"),
    [([], 0), ([5], 0), ([2, 2], 1), ([3, 5], 2), ([1, 4], 0), ([2, 2, 2], 4), ([2, 3, 4], 6), ([1, 1, 7], 1)],
)
def test_bounds(cards, bound):
    assert bound_from_cards(cards) == bound
    if cards:
        assert regular_bound(a_class_model(2, cards), "H") == bound


def test_bounds_are_not_limited_by_machine_integers():
    assert bound_from_cards(np.full(100, 10)) == 10**99
    assert type(bound_from_cards(np.array([3, 4]))) is int


@given(trees)
def test_irregular_nodes_are_those_that_break_the_definition(tree):
    for name in tree.latent_names:
        at = tree.index(name)
        cards = [int(tree.cards[tree.index(other)]) for other in reference.branches(tree, name) if other is not None]
        limit = prod(cards) / max(cards) if cards else 0
        regular = len(cards) > 1 and (tree.cards[at] < limit if len(cards) == 2 else tree.cards[at] <= limit)
        assert (name in irregular_nodes(tree)) == (not regular or tree.cards[at] == 1)
    assert is_regular(tree) == (not irregular_nodes(tree))


@given(trees)
def test_a_regular_tree_says_the_same(tree):
    regular = make_regular(tree)
    assert_valid(regular)
    assert is_regular(regular)
    assert regular.observed_names == tree.observed_names
    before, after = reference.observed_distribution(tree), reference.observed_distribution(regular)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-14)
    assert marginally_equivalent(tree, regular)
    assert make_regular(regular) is regular
    assert (regular is tree) == is_regular(tree)


@pytest.mark.parametrize("root", ["H", "x0", "x2"])
def test_a_node_with_too_many_states_becomes_the_joint_of_its_neighbours(root):
    tree = root_walk(a_class_model(9, [2, 3, 2]), root)
    regular = make_regular(tree)
    assert regular.names == tree.names
    assert regular.state_names[0] == (0, 1, 2, 3)
    assert regular.parent.tolist() == tree.parent.tolist()
    before, after = reference.observed_distribution(tree), reference.observed_distribution(regular)
    np.testing.assert_allclose(after, before, rtol=1e-12)


def test_a_node_of_one_state_falls_out_and_leaves_a_forest():
    tree = a_class_model(1, [2, 3, 2])
    regular = make_regular(tree)
    assert regular.names == ("x0", "x1", "x2")
    assert (regular.parent == -1).all()


def test_hidden_nodes_alone_are_left_as_they_are():
    tree = LatentTree("HG", [[0, 1], [0, 1]], [-1, 0], [True, True], [[[0.5, 0.5]], [[1, 0], [0, 1]]])
    assert make_regular(tree).n_nodes == 1


@given(trees, st.integers(0, 2**32 - 1))
def test_relabelling_commutes_with_make_regular(tree, seed):
    rng = np.random.default_rng(seed)
    relabelled = tree
    for name in tree.names:
        relabelled = permute_states(relabelled, name, rng.permutation(tree.cards[tree.index(name)]))
    first, second = make_regular(tree), make_regular(relabelled)
    np.testing.assert_allclose(
        reference.observed_distribution(second), reference.observed_distribution(first), rtol=1e-9, atol=1e-14
    )
    assert equivalent(first, second)


# comparing


@given(trees, st.integers(0, 2**32 - 1))
def test_equivalence_agrees_with_enumeration(tree, seed):
    rng = np.random.default_rng(seed)
    at = int(rng.integers(tree.n_nodes))
    table = tree.tables[at].copy()
    row = int(rng.integers(len(table)))
    table[row] = 0.999 * table[row] + 0.001 * rng.dirichlet(np.ones(table.shape[1]))
    other = tree.with_tables([*tree.tables[:at], table, *tree.tables[at + 1 :]])
    gap = abs(reference.observed_distribution(tree) - reference.observed_distribution(other)).max()
    if gap > 1e-6:
        assert not marginally_equivalent(tree, other)
        assert not marginally_equivalent(other, tree)
    elif gap < 1e-14:
        assert marginally_equivalent(tree, other)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("change", [1e-4, -1e-4])
def test_a_small_change_of_one_entry_is_seen(seed, change):
    tree = a_class_model(3, [2, 3, 2, 2], seed)
    table = tree.tables[2].copy()
    table[0, :2] += (change, -change) if table[0, :2].min() > 1e-4 else (0, 0)
    other = tree.with_tables([*tree.tables[:2], table, *tree.tables[3:]])
    differs = abs(reference.observed_distribution(tree) - reference.observed_distribution(other)).max() > 0
    assert marginally_equivalent(tree, other) == (not differs)


@given(trees, st.integers(0, 2**32 - 1))
def test_order_of_nodes_and_states_does_not_matter(tree, seed):
    rng = np.random.default_rng(seed)
    other = tree
    for name in tree.names:
        other = permute_states(other, name, rng.permutation(tree.cards[tree.index(name)]))
    order = rng.permutation(tree.n_nodes)
    place = np.append(np.argsort(order), -1)  # the last for roots
    other = LatentTree(
        [other.names[node] for node in order],
        [other.state_names[node] for node in order],
        place[other.parent[order]],
        other.latent[order],
        [other.tables[node] for node in order],
    )
    assert equivalent(tree, other)
    assert equivalent(other, tree)


def test_zeros_against_small_numbers():
    zeros, small = (LatentTree(["x"], ["abc"], [-1], [False], [[[0.5, 0.5 - tiny, tiny]]]) for tiny in (0.0, 1e-4))
    assert not marginally_equivalent(zeros, small)
    assert marginally_equivalent(zeros, zeros)


def test_a_difference_between_rare_rows_is_seen():
    """Hardly any row that is drawn is one of them; random functions give weight to all."""
    one, other = (
        LatentTree(["x"], ["abc"], [-1], [False], [[[1 - 2e-5, 1e-5 + shift, 1e-5 - shift]]]) for shift in (0.0, 5e-6)
    )
    assert not marginally_equivalent(one, other)


def coins(n_coins, tilt):
    """Return fair coins, all but the last of them independent; it depends on the parity of all the others.

    The hidden state after each coin is (parity so far, coin). Any n_coins - 1 of the coins are independent.
    """
    step = np.zeros((4, 4))
    for parity in range(2):
        for coin in range(2):
            step[2 * parity : 2 * parity + 2, 2 * (parity ^ coin) + coin] = 0.5
    last = step.copy()
    last[:, :2] *= 1 + tilt
    last[:, 2:] *= 1 - tilt
    shown = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    first = [[0.5, 0, 0, 0.5]]
    hidden, leaves = [f"H{i}" for i in range(n_coins)], [f"x{i}" for i in range(n_coins)]
    return LatentTree(
        [*hidden, *leaves],
        [range(4)] * n_coins + [range(2)] * n_coins,
        [*range(-1, n_coins - 1), *range(n_coins)],
        [True] * n_coins + [False] * n_coins,
        [first, *[step] * (n_coins - 2), last, *[shown] * n_coins],
    )


def test_a_difference_that_only_whole_rows_show_is_seen():
    """An expectation of 40 random functions barely depends on a parity; the probability of every row does."""
    few, tilted = reference.observed_distribution(coins(4, 0.0)), reference.observed_distribution(coins(4, 0.1))
    np.testing.assert_allclose(few, 1 / 16)
    np.testing.assert_allclose(np.unique(tilted.round(12)), [0.9 / 16, 1.1 / 16])
    assert marginally_equivalent(coins(40, 0.1), coins(40, 0.1))
    assert not marginally_equivalent(coins(40, 0.0), coins(40, 1e-4))


def test_equivalent_trees_have_equally_many_parameters():
    tree = a_class_model(2, [2, 2, 2, 2])
    same = introduce_node(tree, "H", ["x0", "x1"], "G")
    assert marginally_equivalent(tree, same)
    assert not equivalent(tree, same)
    assert not marginally_equivalent(tree, split_state(tree, "H", 0, rng=np.random.default_rng(0), size=0.5))


def test_other_variables_or_states_are_not_equivalent():
    tree = a_class_model(2, [2, 2, 2])
    assert not marginally_equivalent(tree, a_class_model(2, [2, 2]))
    assert not marginally_equivalent(tree, a_class_model(2, [2, 2, 3]))
    renamed = LatentTree(tree.names, [*tree.state_names[:3], "ab"], tree.parent, tree.latent, tree.tables)
    assert not marginally_equivalent(tree, renamed)


def test_large_trees_are_compared_in_linear_time():
    """The probability of a row of 4,000 leaves is far below the smallest number that a float can hold."""
    n_leaves = 4000
    rows = [[[0.99, 0.01], [0.01, 0.99]]] * n_leaves
    names = ["H", *range(n_leaves)]
    star = LatentTree(
        names, [[0, 1]] * len(names), [-1] + [0] * n_leaves, [True] + [False] * n_leaves, [[[0.5, 0.5]], *rows]
    )
    deeper = introduce_node(star, "H", range(0, n_leaves, 2), "G")
    assert marginally_equivalent(star, deeper)
    rows[7] = [[0.99, 0.01], [0.02, 0.98]]
    assert not marginally_equivalent(deeper, star.with_tables([[[0.5, 0.5]], *rows]))
