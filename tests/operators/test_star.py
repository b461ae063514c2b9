"""The arrays around one node: what splitting, merging, introducing, removing and shifting promise."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.operators import merge_states, neighbour_rows, root_walk, split_state
from pgmpy_latent.operators.star import (
    Star,
    centred,
    introduce,
    merge,
    merge_groups,
    merge_losses,
    merge_pairs,
    remove,
    scaled_down,
    split,
    star_of,
    substitute,
    tilted,
    uniform_shift,
    with_star,
)
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support.reference import assert_same_tables

SMALLEST = 5e-324
seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([1e-310, 1e-3, 0.5, 1.0])


def some_zeros(rng, rows, columns):
    """Return distributions; some entries are zero, some one, and some next to nothing."""
    table = rng.dirichlet(np.ones(columns), size=rows)
    kind = rng.random((rows, columns))
    kind[np.arange(rows), rng.integers(columns, size=rows)] = 1.0
    table = np.where(kind < 0.3, rng.choice([1e-320, 1e-300, 1e-17, 1e-9]), table)
    table = np.where(kind < 0.2, 0.0, table)
    return table / table.sum(axis=1, keepdims=True)


@st.composite
def stars(draw, min_states=1, min_neighbours=0):
    """Return a star and one of its states."""
    n_states = draw(st.integers(min_states, 4))
    cards = np.array(draw(st.lists(st.integers(1, 4), min_size=min_neighbours, max_size=5)), dtype=np.int64)
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        share = some_zeros(rng, 1, n_states)[0]
        rows = [some_zeros(rng, n_states, card) for card in cards]
    else:
        share = rng.dirichlet(np.ones(n_states))
        rows = [rng.dirichlet(np.ones(card), size=n_states) for card in cards]
    star = Star(share, np.concatenate([np.empty((n_states, 0)), *rows], axis=1), cards)
    return star, draw(st.integers(0, n_states - 1))


def random_shift(star, rng, scale):
    """Return a shift that sums to zero over each neighbour, with some zeros."""
    shift = rng.normal(size=star.rows.shape[1]) * scale
    for part in star.parts(shift):
        part[rng.random(len(part)) < 0.2] = 0.0
        part[part != 0] -= part[part != 0].mean() if part.any() else 0.0
    return shift


def assert_distributions(star):
    for values in (star.share, *star.parts(star.rows)):
        assert (values >= 0).all()
        assert (values <= 1 + 1e-15).all()
        np.testing.assert_allclose(values.sum(axis=-1), 1, rtol=0, atol=1e-14)


def assert_same(left, right, atol=1e-12):
    np.testing.assert_allclose(left.share, right.share, rtol=0, atol=atol)
    np.testing.assert_allclose(left.rows, right.rows, rtol=0, atol=atol)
    np.testing.assert_array_equal(left.cards, right.cards)


# columns


@given(stars())
def test_columns_of_neighbours(drawn):
    star, _ = drawn
    assert [part.shape for part in star.parts(star.rows)] == [(star.n_states, card) for card in star.cards]
    combined = {np.add: np.sum, np.minimum: np.min, np.maximum: np.max}
    for combine, plain in combined.items():
        for values in (star.rows, star.rows[0]):
            expected = [np.broadcast_to(plain(p, axis=-1, keepdims=True), p.shape) for p in star.parts(values)]
            found = star.per_neighbour(values, combine)
            np.testing.assert_allclose(found, np.concatenate([values[..., :0], *expected], axis=-1), rtol=1e-12)


# splitting and merging


@given(stars(), seeds, st.sampled_from([1e-310, 1e-3, 0.1, 100.0]))
def test_merging_the_halves_undoes_a_split(drawn, seed, scale):
    star, state = drawn
    halves = split(star, state, random_shift(star, np.random.default_rng(seed), scale))
    assert_distributions(halves)
    assert halves.n_states == star.n_states + 1
    assert halves.share[state] == halves.share[-1] == star.share[state] / 2
    others = np.arange(star.n_states) != state
    np.testing.assert_array_equal(halves.rows[:-1][others], star.rows[others])
    assert_same(merge(halves, [state, star.n_states]), star)


@given(stars(), seeds)
def test_a_split_leaves_what_has_room_as_it_is(drawn, seed):
    star, state = drawn
    row = star.rows[state]
    shift = scaled_down(random_shift(star, np.random.default_rng(seed), 1.0), row, star)
    halves = split(star, state, shift)
    np.testing.assert_array_equal(halves.rows[state], row + shift)
    np.testing.assert_array_equal(halves.rows[-1], row - shift)


@given(stars(min_states=2), st.data())
def test_merging_averages(drawn, data):
    star, _ = drawn
    order = data.draw(st.permutations(range(star.n_states)))
    states = order[: data.draw(st.integers(2, star.n_states))]
    merged = merge(star, states)
    assert_distributions(merged)
    total = star.share[states].sum()
    weights = star.share[states] / total if total > 0 else np.full(len(states), 1 / len(states))
    kept = [state for state in range(star.n_states) if state not in states[1:]]
    first = kept.index(states[0])
    assert merged.share[first] == pytest.approx(total)
    expected = sum(weight * star.rows[state] for weight, state in zip(weights, states, strict=True))
    np.testing.assert_allclose(merged.rows[first], expected, atol=1e-14)
    for position, state in enumerate(kept):
        if position != first:
            assert merged.share[position] == star.share[state]
            np.testing.assert_array_equal(merged.rows[position], star.rows[state])
    np.testing.assert_allclose(merged.share @ merged.rows, star.share @ star.rows, atol=1e-14)


@given(stars(), seeds, st.sampled_from([1e-3, 100.0]))
def test_substituting_the_halves_of_a_state_splits_it(drawn, seed, scale):
    star, state = drawn
    shift = random_shift(star, np.random.default_rng(seed), scale)
    alone = Star(np.ones(1), star.rows[[state]], star.cards)
    assert_same(substitute(star, state, split(alone, 0, shift)), split(star, state, shift), atol=0)


@given(stars(), stars())
def test_substituting_keeps_what_the_state_had(drawn, other):
    star, state = drawn
    rows = np.repeat(star.rows[[state]], other[0].n_states, axis=0)
    parts = Star(other[0].share, rows, star.cards)
    larger = substitute(star, state, parts)
    assert larger.n_states == star.n_states + parts.n_states - 1
    assert_same(merge(larger, [state, *range(star.n_states, larger.n_states)]) if parts.n_states > 1 else larger, star)


# introducing and removing


@given(stars(), st.sampled_from([1e-12, 0.1, 0.5, 0.999]), seeds)
def test_removing_undoes_introducing(drawn, share, seed):
    star, _ = drawn
    rng = np.random.default_rng(seed)
    row = np.concatenate([np.empty(0), *(some_zeros(rng, 1, card)[0] for card in star.cards)])
    larger = introduce(star, share, row)
    assert_distributions(larger)
    assert larger.share[-1] == share
    np.testing.assert_array_equal(larger.rows[-1], row)
    assert_same(remove(larger, star.n_states), star)


@given(stars(min_states=2))
def test_removing_keeps_rows_and_proportions(drawn):
    star, state = drawn
    smaller = remove(star, state)
    others = np.arange(star.n_states) != state
    np.testing.assert_array_equal(smaller.rows, star.rows[others])
    rest = star.share[others]
    assert smaller.share.sum() == pytest.approx(1)
    if rest.sum() > 0:
        np.testing.assert_allclose(smaller.share * rest.sum(), rest, rtol=1e-9, atol=1e-300)
    else:
        np.testing.assert_array_equal(smaller.share, np.full(len(rest), 1 / len(rest)))


def test_what_is_left_of_a_state_that_had_nearly_all_keeps_its_proportions():
    star = Star(np.array([1.0, 3e-300, 1e-300]), np.eye(3), np.array([3]))
    np.testing.assert_allclose(remove(star, 0).share, [0.75, 0.25], rtol=1e-14)


# shifts


@given(stars(), seeds, st.sampled_from([1e-310, 1e-3, 1.0, 100.0]))
def test_scaling_down_takes_one_factor_per_neighbour(drawn, seed, scale):
    star, state = drawn
    rng = np.random.default_rng(seed)
    shift, room = random_shift(star, rng, scale), star.rows[state]
    found = scaled_down(shift, room, star)
    assert (np.abs(found) <= room).all()
    for before, after, limit in zip(star.parts(shift), star.parts(found), star.parts(room), strict=True):
        tight = np.abs(before) > limit
        if tight.any():
            factor = (limit[tight] / np.abs(before[tight])).min()
            np.testing.assert_allclose(after, before * factor, rtol=1e-12, atol=1e-320)
        else:
            np.testing.assert_array_equal(after, before)


def test_scaling_down_leaves_no_room_even_where_numbers_end():
    star = Star(np.ones(1), np.array([[1.0, SMALLEST, SMALLEST]]), np.array([3]))
    for size in np.linspace(0.1, 5, 50):
        for shift in ([-1.0, 0.5, 0.5], [0.0, 1.0, -1.0], [0.7, -0.3, -0.4]):
            found = scaled_down(np.array(shift) * size, star.rows[0], star)
            assert (np.abs(found) <= star.rows[0]).all()


def test_a_shift_without_any_room_is_no_shift():
    star = Star(np.ones(1), np.array([[0.5, 0.5, 0.5, 0.5]]), np.array([2, 2]))
    found = scaled_down(np.array([0.1, -0.1, 0.1, -0.1]), np.array([-0.1, 0.5, 0.5, 0.5]), star)
    np.testing.assert_array_equal(found, [0, 0, 0.1, -0.1])


@given(stars(min_neighbours=1), seeds)
def test_centring_changes_the_likeliest_states_only(drawn, seed):
    star, state = drawn
    row = star.rows[state]
    shift = np.random.default_rng(seed).normal(size=len(row)) * row
    found = centred(shift, row, star)
    for before, after, part in zip(star.parts(shift), star.parts(found), star.parts(row), strict=True):
        largest = int(np.argmax(part))  # the first
        others = np.arange(len(part)) != largest
        np.testing.assert_array_equal(after[others], before[others])
        assert after[largest] == pytest.approx(-before[others].sum(), rel=1e-12, abs=1e-15)


@given(stars(), seeds, sizes, st.sampled_from([1e-310, 1.0]))
def test_a_tilt_is_relative_and_sums_to_zero(drawn, seed, size, scale):
    star, state = drawn
    row = star.rows[state]
    tilt = np.random.default_rng(seed).uniform(-1, 1, size=len(row)) * scale
    shift = tilted(star, state, tilt, size)
    assert (np.abs(shift) <= row).all()  # so that zeros stay zero, and no half leaves [0, 1]
    assert_distributions(split(star, state, shift))
    for part, moved in zip(star.parts(row), star.parts(shift), strict=True):
        assert moved.sum() == pytest.approx(0, abs=1e-15)
        if (part > 0).sum() < 2:
            assert not moved.any()
        elif part[part > 0].min() > 1e-8:  # otherwise rounding shows, in a likelier state or at the end of the numbers
            largest = (np.abs(moved[part > 0]) / part[part > 0]).max()
            assert largest == pytest.approx(size, rel=1e-6 if size > 1e-300 else 0.1)


def test_a_tilt_that_is_the_same_everywhere_is_none():
    star = Star(np.ones(1), np.array([[0.5, 0.5, 0.25, 0.75]]), np.array([2, 2]))
    np.testing.assert_array_equal(tilted(star, 0, np.array([1.0, 1.0, 0.0, 0.0]), 0.5), np.zeros(4))


@given(stars(), seeds, sizes, st.sampled_from([0.0, 1e-6, 0.05]))
def test_a_uniform_shift_stays_inside_and_sums_to_zero(drawn, seed, size, edge):
    star, state = drawn
    row = star.rows[state]
    shift = uniform_shift(star, state, size, edge, np.random.default_rng(seed))
    assert_distributions(split(star, state, shift))
    for part, moved in zip(star.parts(row), star.parts(shift), strict=True):
        if (part < edge).any() or len(part) == 1:
            assert not moved.any()
            continue
        assert moved.sum() == pytest.approx(0, abs=1e-15)
        for half in (part + moved, part - moved):
            assert (half >= edge - 1e-16).all()
            assert (half <= 1 - edge + 1e-15).all()
        if part.min() - edge >= size:
            assert np.abs(moved).max() == size  # exactly
        else:
            assert np.abs(moved).max() <= size


def test_a_uniform_shift_without_an_edge_moves_what_is_nearly_certain():
    star = Star(np.ones(1), np.array([[1.0, 1e-200]]), np.array([2]))
    shift = uniform_shift(star, 0, 0.1, 0.0, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(shift), [1e-200, 1e-200])


def test_a_uniform_shift_draws_the_neighbours_one_after_the_other():
    rows = np.array([[0.5, 0.5, 0.2, 0.3, 0.5]])
    both = uniform_shift(Star(np.ones(1), rows, np.array([2, 3])), 0, 0.1, 0.0, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    first = uniform_shift(Star(np.ones(1), rows[:, :2], np.array([2])), 0, 0.1, 0.0, rng)
    second = uniform_shift(Star(np.ones(1), rows[:, 2:], np.array([3])), 0, 0.1, 0.0, rng)
    np.testing.assert_array_equal(both, np.concatenate([first, second]))


@pytest.mark.parametrize("size", [SMALLEST, 1e-310, 1e-300])
def test_sizes_next_to_nothing_neither_overflow_nor_vanish(size):
    """Warnings are errors here: a quotient such as 0.5 / 1e-310 must not be formed."""
    star = Star(np.ones(1), np.array([[0.5, 0.5, 0.9, 0.1 - 1e-300, 1e-300]]), np.array([2, 3]))
    shift = np.array([size, -size, size, -size, 0.0])
    np.testing.assert_array_equal(scaled_down(shift, star.rows[0], star), shift)
    assert_same(split(star, 0, shift), split(star, 0, np.zeros(5)), atol=1e-300)
    drawn = uniform_shift(star, 0, size, 0.0, np.random.default_rng(0))
    assert 0 < np.abs(drawn).max() <= size
    for tilt in (shift, np.array([1.0, -1.0, 1.0, -1.0, 1.0])):
        assert np.abs(tilted(star, 0, tilt, 0.5)[:2]).tolist() == [0.25, 0.25]
        assert np.abs(tilted(star, 0, tilt, size)).max() <= size


# stars of trees


trees = latent_trees(max_nodes=6, max_card=3, zeros=None)


@given(trees, st.data())
def test_the_star_of_a_node_is_what_the_tables_say_when_it_is_the_root(tree, data):
    at = data.draw(st.integers(0, tree.n_nodes - 1))
    star, walked = star_of(tree, at), root_walk(tree, tree.names[at])
    np.testing.assert_array_equal(star.share, walked.tables[at][0])
    assert [part.tolist() for part in star.parts(star.rows)] == [
        walked.tables[child].tolist() for child in walked.child_lists[at]
    ]
    assert star.cards.tolist() == walked.cards[list(walked.child_lists[at])].tolist()
    assert list(neighbour_rows(tree, tree.names[at])[1]) == [tree.names[child] for child in walked.child_lists[at]]
    assert_same(star_of(walked, at), star, atol=0)


@given(trees, st.data())
def test_putting_a_star_back_restores_the_tree(tree, data):
    at = data.draw(st.integers(0, tree.n_nodes - 1))
    star = star_of(tree, at)
    assert_same_tables(tree, with_star(tree, at, star, tree.state_names[at]))
    walked = root_walk(tree, tree.names[at])
    assert with_star(walked, at, star, tree.state_names[at]) == walked


@given(trees, st.data(), seeds)
def test_operators_on_trees_are_those_on_stars(tree, data, seed):
    assume(tree.latent.any())
    node = data.draw(st.sampled_from(tree.latent_names))
    at = tree.index(node)
    star = star_of(tree, at)
    shift = random_shift(star, np.random.default_rng(seed), 0.1)
    names = (*tree.state_names[at], 0)
    halves = with_star(tree, at, split(star, 0, shift), names)
    assert_valid(halves)
    around = list(neighbour_rows(tree, node)[1])
    direction = dict(zip(around, star.parts(shift), strict=True))
    assert_same_tables(halves, split_state(tree, node, names[0], direction=direction))
    merged = with_star(halves, at, merge(star_of(halves, at), [star.n_states, 0]), names[1:])
    assert_same_tables(merged, merge_states(halves, node, [0, names[0]]))


def test_states_are_called_as_asked():
    tree = LatentTree(["x", "H"], ["ab", [0]], [-1, 0], [False, True], [[[0.5, 0.5]], [[1.0], [1.0]]])
    star = split(star_of(tree, 1), 0, np.array([0.25, -0.25]))
    larger = with_star(tree, 1, star, ["low", "high"])
    assert larger.state_names[1] == ("low", "high")
    assert larger.parent.tolist() == [-1, 0]
    np.testing.assert_allclose(larger.table("H"), [[0.75, 0.25], [0.25, 0.75]])


@given(stars(min_states=2))
def test_merging_pairs_at_once_equals_merging_one_after_the_other(drawn):
    star, _ = drawn
    states = range(star.n_states)
    pairs = [(a, b) for a in states for b in states if a != b]
    for pair, together in zip(pairs, merge_pairs(star, pairs), strict=True):
        assert_same(together, merge(star, pair))


@given(stars(), st.data())
def test_merging_groups_at_once_equals_merging_one_after_the_other(drawn, data):
    star, _ = drawn
    n_groups = data.draw(st.integers(1, star.n_states))
    labels = np.array(data.draw(st.permutations([*range(n_groups), *[0] * (star.n_states - n_groups)])))
    together = merge_groups(star, labels)
    for group in range(n_groups):
        members = np.flatnonzero(labels == group).tolist()
        alone = merge(star, members)
        at = members[0]
        assert together.share[group] == pytest.approx(alone.share[at], abs=1e-15)
        np.testing.assert_allclose(together.rows[group], alone.rows[at], atol=1e-12)


def log_joint(share, rows, cards, cells):
    """Return ln P(state, cells) of one state, by the definition."""
    starts = np.cumsum(cards) - cards
    with np.errstate(divide="ignore"):
        return np.log(share) + sum(np.log(rows[start + cell]) for start, cell in zip(starts, cells, strict=True))


@given(stars(min_states=2, min_neighbours=1))
def test_losses_of_merges_are_those_of_rows_that_stay_in_their_states(drawn):
    star, _ = drawn
    found = merge_losses(star, star)
    for a, b in ((0, 1), (1, 0)):
        merged, expected = merge(star, (a, b)), 0.0
        kept = a if a < b else a - 1
        for cells in product(*map(range, star.cards)):
            after = log_joint(merged.share[kept], merged.rows[kept], star.cards, cells)
            for state in (a, b):
                before = log_joint(star.share[state], star.rows[state], star.cards, cells)
                if np.exp(before) > 0:
                    expected += np.exp(before) * (before - after)
        assert found[a, b] == pytest.approx(expected, abs=1e-9)


@given(stars(min_states=2, min_neighbours=1))
def test_losses_between_two_stars(drawn):
    star, _ = drawn
    part = Star(star.share[1:] / 2, star.rows[1:], star.cards)
    found = merge_losses(part, star)
    assert found.shape == (star.n_states - 1, star.n_states)
    halved = Star(np.append(star.share, star.share[1] / 2), np.vstack([star.rows, star.rows[1]]), star.cards)
    np.testing.assert_allclose(found[0], merge_losses(halved, star)[-1], atol=1e-12)
