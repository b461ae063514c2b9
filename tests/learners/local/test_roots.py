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


def alive(all_roots):
    return [slot for slot, root in enumerate(all_roots.roots) if root is not None]


def tree_of(all_roots):
    return all_roots.tree([f"H{number}" for number in range(all_roots.n_hidden)])


def node_below(all_roots, node):
    """Return a node as the reference has it."""
    if node < len(all_roots.data.columns):
        return node, int(all_roots.data.cards[node])
    children = [child for child, above in enumerate(all_roots.parents) if above == node]
    return [(node_below(all_roots, child), all_roots.tables[child]) for child in children]


def random_model(all_roots, left, right, rng):
    """Return a model of two roots with random tables; its gain is written out."""
    roots = [all_roots.roots[slot] for slot in (left, right)]
    n_states = int(rng.integers(1, min(root.n_states for root in roots) + 1))
    share = rng.dirichlet(np.ones(n_states))
    tables = [rng.dirichlet(np.ones(root.n_states), size=n_states) for root in roots]
    gain = 0.0
    for row, weight in zip(all_roots.data.codes, all_roots.data.weights, strict=True):
        below = [reference.likelihood_below(node_below(all_roots, root.node), row) for root in roots]
        together = share @ np.prod([table @ own for table, own in zip(tables, below, strict=True)], axis=0)
        apart = np.prod([all_roots.tables[root.node][0] @ own for root, own in zip(roots, below, strict=True)])
        gain += weight * np.log(together / apart)
    return PairModel(share, *tables, float(gain))


def joins(all_roots, rng, closest=False):
    """Join pairs, random ones or the closest, until one root is left; yield the two slots after each."""
    while all_roots.n_roots > 1:
        pair = all_roots.closest() if closest else rng.choice(alive(all_roots), size=2, replace=False).tolist()
        all_roots.join(*pair, random_model(all_roots, *pair, rng))
        yield pair


@given(small_tables(), seeds)
def test_likelihood_and_size_are_those_of_the_tree(data, seed):
    all_roots = begin(data)
    assert all_roots.n_parameters == scores.n_parameters(tree_of(all_roots)) == (data.cards - 1).sum()
    assert all_roots.log_likelihood == pytest.approx(scores.log_likelihood(tree_of(all_roots), data), abs=1e-9)
    for count, _ in enumerate(joins(all_roots, np.random.default_rng(seed)), start=1):
        tree = tree_of(all_roots)
        assert (all_roots.n_hidden, len(tree.roots)) == (count, all_roots.n_roots)
        assert tree.names[:count] == tuple(f"H{number}" for number in range(count))
        assert tree.observed_names == data.columns
        assert all_roots.n_parameters == scores.n_parameters(tree)
        assert all_roots.log_likelihood == pytest.approx(scores.log_likelihood(tree, data), rel=1e-9, abs=1e-9)


@given(small_tables(max_columns=5, max_rows=6, max_card=3), seeds)
def test_information_is_that_of_the_posteriors(data, seed):
    all_roots = begin(data)
    for _ in joins(all_roots, np.random.default_rng(seed)):
        tree, slots = tree_of(all_roots), alive(all_roots)
        names = dict(zip(slots, by_slot(all_roots, tree), strict=True))
        expected = reference.root_information(tree, data.codes, data.weights)
        for left, right in combinations(slots, 2):
            value = expected[frozenset([names[left], names[right]])]
            assert all_roots.information[left, right] == pytest.approx(value, abs=1e-9)
        gone = [slot for slot in range(len(all_roots.roots)) if slot not in slots]
        assert np.isneginf(all_roots.information[gone]).all()
        assert np.isneginf(all_roots.information[:, gone]).all()
        assert np.isneginf(np.diag(all_roots.information)).all()


def by_slot(all_roots, tree):
    """Return the names of the roots in the order of their slots, and check that a slot is the first column below."""
    names = [tree.names[root] for root in tree.roots]
    position = {name: at for at, name in enumerate(all_roots.data.columns)}
    first = {name: min(position[column] for column in columns_below(tree, name)) for name in names}
    assert sorted(first.values()) == alive(all_roots)
    return sorted(names, key=first.get)


@pytest.mark.parametrize("closest", [False, True])
@given(data=small_tables(max_columns=7), seed=seeds)
def test_the_closest_pair_is_the_first_of_the_largest_entries(closest, data, seed):
    all_roots = begin(data)
    for _ in joins(all_roots, np.random.default_rng(seed), closest):
        slots = alive(all_roots)
        for slot in range(len(all_roots.roots)):
            others = [all_roots.information[slot, other] for other in slots if slot in slots and other != slot]
            assert all_roots.most[slot] == max(others, default=-np.inf)
        pairs = {pair: all_roots.information[pair] for pair in combinations(slots, 2)}
        expected = max(pairs, key=pairs.get) if pairs else None  # the first of several
        assert all_roots.closest() == expected


def test_equal_pairs_are_taken_by_name():
    column = [0, 1] * 4
    data = encode(pd.DataFrame({name: column for name in "abcd"}))
    all_roots = begin(data)
    assert all_roots.closest() == (0, 1)
    exact = PairModel(np.array([0.5, 0.5]), np.eye(2), np.eye(2), 8 * np.log(2))
    all_roots.join(2, 3, exact)
    assert all_roots.closest() == (0, 1)
    all_roots.join(0, 1, exact)
    assert all_roots.closest() == (0, 2)


@given(small_tables(max_columns=8), seeds)
def test_laying_out_anew_changes_nothing(data, seed):
    all_roots, fixed = begin(data), begin(data)
    fixed._lay_out = lambda: None
    for _ in zip(joins(all_roots, np.random.default_rng(seed)), joins(fixed, np.random.default_rng(seed)), strict=True):
        np.testing.assert_allclose(all_roots.information, fixed.information, rtol=0, atol=1e-12)
        assert all_roots.log_likelihood == fixed.log_likelihood
        assert all_roots.posteriors.n_slots <= 2 * all_roots.n_roots
        slot = alive(all_roots)[0]
        one, other = (own.posteriors.narrow[own.posteriors.first[slot]] for own in (all_roots, fixed))
        np.testing.assert_array_equal(one, other)
    assert fixed.posteriors.n_slots == len(data.columns)


@given(small_tables(max_columns=7), seeds)
def test_a_join_compares_the_new_root_with_the_others_and_nothing_else(data, seed):
    all_roots, rng = begin(data), np.random.default_rng(seed)
    with mock.patch.object(roots, "block_information", wraps=roots.block_information) as counted:
        while all_roots.n_roots > 1:
            before = all_roots.information.copy()
            left, right = rng.choice(alive(all_roots), size=2, replace=False).tolist()
            counted.reset_mock()
            all_roots.join(left, right, random_model(all_roots, left, right, rng))
            assert counted.call_count == 1
            others = [slot for slot in range(len(before)) if slot not in (left, right)]
            assert all_roots.information[np.ix_(others, others)].tobytes() == before[np.ix_(others, others)].tobytes()
            np.testing.assert_array_equal(all_roots.information, all_roots.information.T)


@given(small_tables(), seeds, st.integers(0, 4))
def test_related_roots_come_best_first(data, seed, n):
    all_roots = begin(data)
    for _ in joins(all_roots, np.random.default_rng(seed)):
        for left, right in combinations(alive(all_roots), 2):
            value = {
                all_roots.roots[slot].node: all_roots.information[left, slot] + all_roots.information[right, slot]
                for slot in alive(all_roots)
                if slot not in (left, right)
            }
            expected = [node for node in sorted(value, key=value.get, reverse=True) if value[node] > 0]
            assert [root.node for root in all_roots.related(left, right, n)] == expected[:n]


@given(small_tables(max_columns=2), seeds)
def test_models_survive_as_plain_numbers(data, seed):
    model = random_model(begin(data), 0, 1, np.random.default_rng(seed))
    again = back(plain(model))
    assert again.gain == model.gain
    for name in ("share", "left", "right"):
        assert getattr(again, name).tobytes() == getattr(model, name).tobytes()
        assert getattr(again, name).shape == getattr(model, name).shape


def test_one_column_has_nobody_to_join():
    all_roots = begin(encode(pd.DataFrame({"x": [0, 1, 1]})))
    assert all_roots.closest() is None
    assert all_roots.log_likelihood == pytest.approx(np.log(1 / 3) + 2 * np.log(2 / 3))


def test_a_column_without_cells_says_nothing():
    data = encode(pd.DataFrame({"x": [0, 1, 1], "y": [None] * 3}), state_names={"y": ["a", "b"]})
    all_roots = begin(data)
    assert all_roots.information[0, 1] == 0
    assert all_roots.log_likelihood == pytest.approx(np.log(1 / 3) + 2 * np.log(2 / 3))
    assert all_roots.roots[1].posterior().tolist() == [[0.0] * data.n_distinct] * 2
