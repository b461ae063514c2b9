"""The working set of a growing forest: against enumeration, whatever is joined in whatever order."""

from itertools import combinations
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import encode, scores
from pgmpy_latent.learners.local import roots
from pgmpy_latent.learners.local.roots import PairModel, Roots
from pgmpy_latent.runtime.lossless_json import back, plain
from pgmpy_latent.tables.dependence import pairwise_information
from tests.support import reference
from tests.support.samples import columns_below, small_tables

seeds = st.integers(0, 2**32 - 1)


def begin(data):
    return Roots(data, pairwise_information(data)[0])


def alive(frontier):
    return [slot for slot, root in enumerate(frontier.roots) if root is not None]


def tree_of(frontier):
    return frontier.tree([f"H{number}" for number in range(frontier.n_hidden)])


def node_below(frontier, node):
    """Return a node as the reference has it."""
    if node < len(frontier.data.columns):
        return node, int(frontier.data.cards[node])
    children = [child for child, above in enumerate(frontier.parents) if above == node]
    return [(node_below(frontier, child), frontier.tables[child]) for child in children]


def random_model(frontier, left, right, rng):
    """Return a model of two roots with random tables; its gain is written out."""
    roots = [frontier.roots[slot] for slot in (left, right)]
    n_states = int(rng.integers(1, min(root.n_states for root in roots) + 1))
    share = rng.dirichlet(np.ones(n_states))
    tables = [rng.dirichlet(np.ones(root.n_states), size=n_states) for root in roots]
    gain = 0.0
    for row, weight in zip(frontier.data.codes, frontier.data.weights, strict=True):
        below = [reference.likelihood_below(node_below(frontier, root.node), row) for root in roots]
        together = share @ np.prod([table @ own for table, own in zip(tables, below, strict=True)], axis=0)
        apart = np.prod([frontier.tables[root.node][0] @ own for root, own in zip(roots, below, strict=True)])
        gain += weight * np.log(together / apart)
    return PairModel(share, *tables, float(gain))


def joins(frontier, rng, closest=False):
    """Join pairs, random ones or the closest, until one root is left; yield the two slots after each."""
    while frontier.n_roots > 1:
        pair = frontier.closest() if closest else rng.choice(alive(frontier), size=2, replace=False).tolist()
        frontier.join(*pair, random_model(frontier, *pair, rng))
        yield pair


@given(small_tables(), seeds)
def test_likelihood_and_size_are_those_of_the_tree(data, seed):
    frontier = begin(data)
    assert frontier.n_parameters == scores.n_parameters(tree_of(frontier)) == (data.cards - 1).sum()
    assert frontier.log_likelihood == pytest.approx(scores.log_likelihood(tree_of(frontier), data), abs=1e-9)
    for count, _ in enumerate(joins(frontier, np.random.default_rng(seed)), start=1):
        tree = tree_of(frontier)
        assert (frontier.n_hidden, len(tree.roots)) == (count, frontier.n_roots)
        assert tree.names[:count] == tuple(f"H{number}" for number in range(count))
        assert tree.observed_names == data.columns
        assert frontier.n_parameters == scores.n_parameters(tree)
        assert frontier.log_likelihood == pytest.approx(scores.log_likelihood(tree, data), rel=1e-9, abs=1e-9)


@given(small_tables(max_columns=5, max_rows=6, max_card=3), seeds)
def test_information_is_that_of_the_posteriors(data, seed):
    frontier = begin(data)
    for _ in joins(frontier, np.random.default_rng(seed)):
        tree, slots = tree_of(frontier), alive(frontier)
        names = dict(zip(slots, by_slot(frontier, tree), strict=True))
        expected = reference.root_information(tree, data.codes, data.weights)
        for left, right in combinations(slots, 2):
            value = expected[frozenset([names[left], names[right]])]
            assert frontier.information[left, right] == pytest.approx(value, abs=1e-9)
        gone = [slot for slot in range(len(frontier.roots)) if slot not in slots]
        assert np.isneginf(frontier.information[gone]).all()
        assert np.isneginf(frontier.information[:, gone]).all()
        assert np.isneginf(np.diag(frontier.information)).all()


def by_slot(frontier, tree):
    """Return the names of the roots in the order of their slots, and check that a slot is the first column below."""
    names = [tree.names[root] for root in tree.roots]
    position = {name: at for at, name in enumerate(frontier.data.columns)}
    first = {name: min(position[column] for column in columns_below(tree, name)) for name in names}
    assert sorted(first.values()) == alive(frontier)
    return sorted(names, key=first.get)


@pytest.mark.parametrize("closest", [False, True])
@given(data=small_tables(max_columns=7), seed=seeds)
def test_the_closest_pair_is_the_first_of_the_largest_entries(closest, data, seed):
    frontier = begin(data)
    for _ in joins(frontier, np.random.default_rng(seed), closest):
        slots = alive(frontier)
        for slot in range(len(frontier.roots)):
            others = [frontier.information[slot, other] for other in slots if slot in slots and other != slot]
            assert frontier.most[slot] == max(others, default=-np.inf)
        pairs = {pair: frontier.information[pair] for pair in combinations(slots, 2)}
        expected = max(pairs, key=pairs.get) if pairs else None  # the first of several
        assert frontier.closest() == expected


def test_equal_pairs_are_taken_by_name():
    column = [0, 1] * 4
    data = encode(pd.DataFrame({name: column for name in "abcd"}))
    frontier = begin(data)
    assert frontier.closest() == (0, 1)
    exact = PairModel(np.array([0.5, 0.5]), np.eye(2), np.eye(2), 8 * np.log(2))
    frontier.join(2, 3, exact)
    assert frontier.closest() == (0, 1)
    frontier.join(0, 1, exact)
    assert frontier.closest() == (0, 2)


@given(small_tables(max_columns=8), seeds)
def test_laying_out_anew_changes_nothing(data, seed):
    frontier, fixed = begin(data), begin(data)
    fixed._lay_out = lambda: None
    for _ in zip(joins(frontier, np.random.default_rng(seed)), joins(fixed, np.random.default_rng(seed)), strict=True):
        np.testing.assert_allclose(frontier.information, fixed.information, rtol=0, atol=1e-12)
        assert frontier.log_likelihood == fixed.log_likelihood
        assert frontier.posteriors.n_slots <= 2 * frontier.n_roots
        slot = alive(frontier)[0]
        one, other = (own.posteriors.narrow[own.posteriors.first[slot]] for own in (frontier, fixed))
        np.testing.assert_array_equal(one, other)
    assert fixed.posteriors.n_slots == len(data.columns)


@given(small_tables(max_columns=7), seeds)
def test_a_join_compares_the_new_root_with_the_others_and_nothing_else(data, seed):
    frontier, rng = begin(data), np.random.default_rng(seed)
    with mock.patch.object(roots, "block_information", wraps=roots.block_information) as counted:
        while frontier.n_roots > 1:
            before = frontier.information.copy()
            left, right = rng.choice(alive(frontier), size=2, replace=False).tolist()
            counted.reset_mock()
            frontier.join(left, right, random_model(frontier, left, right, rng))
            assert counted.call_count == 1
            others = [slot for slot in range(len(before)) if slot not in (left, right)]
            assert frontier.information[np.ix_(others, others)].tobytes() == before[np.ix_(others, others)].tobytes()
            np.testing.assert_array_equal(frontier.information, frontier.information.T)


@given(small_tables(), seeds, st.integers(0, 4))
def test_related_roots_come_best_first(data, seed, n):
    frontier = begin(data)
    for _ in joins(frontier, np.random.default_rng(seed)):
        for left, right in combinations(alive(frontier), 2):
            value = {
                frontier.roots[slot].node: frontier.information[left, slot] + frontier.information[right, slot]
                for slot in alive(frontier)
                if slot not in (left, right)
            }
            expected = [node for node in sorted(value, key=value.get, reverse=True) if value[node] > 0]
            assert [root.node for root in frontier.related(left, right, n)] == expected[:n]


@given(small_tables(max_columns=2), seeds)
def test_models_survive_as_plain_numbers(data, seed):
    model = random_model(begin(data), 0, 1, np.random.default_rng(seed))
    again = back(plain(model))
    assert again.gain == model.gain
    for name in ("share", "left", "right"):
        assert getattr(again, name).tobytes() == getattr(model, name).tobytes()
        assert getattr(again, name).shape == getattr(model, name).shape


def test_one_column_has_nobody_to_join():
    frontier = begin(encode(pd.DataFrame({"x": [0, 1, 1]})))
    assert frontier.closest() is None
    assert frontier.log_likelihood == pytest.approx(np.log(1 / 3) + 2 * np.log(2 / 3))


def test_a_column_without_cells_says_nothing():
    data = encode(pd.DataFrame({"x": [0, 1, 1], "y": [None] * 3}), state_names={"y": ["a", "b"]})
    frontier = begin(data)
    assert frontier.information[0, 1] == 0
    assert frontier.log_likelihood == pytest.approx(np.log(1 / 3) + 2 * np.log(2 / 3))
    assert frontier.roots[1].posterior().tolist() == [[0.0] * data.n_distinct] * 2
