"""Operators on states do what their definitions say, keep what they promise, and undo each other."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.exceptions import UnsplittableStateError
from pgmpy_latent.operators import (
    can_split,
    canonical_states,
    introduce_state,
    marginals,
    merge_states,
    neighbour_rows,
    permute_states,
    random_direction,
    remove_state,
    root_walk,
    split_state,
    thesis_direction,
)
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support import reference
from tests.support.reference import assert_same_tables

trees = latent_trees(max_nodes=5, max_card=3, zeros=None)
trees_with_hidden = latent_trees(min_nodes=2, max_nodes=5, max_card=4, zeros=None).filter(
    lambda tree: tree.latent.any()
)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def hidden_states(draw, n_states=1):
    """Return a tree, a hidden node of it, and some of its states."""
    tree = draw(trees_with_hidden)
    large_enough = [name for name in tree.latent_names if tree.cards[tree.index(name)] >= n_states]
    assume(large_enough)
    node = draw(st.sampled_from(large_enough))
    states = draw(st.permutations(tree.state_names[tree.index(node)]))
    return tree, node, states[: draw(st.integers(n_states, max(n_states, len(states))))]


def neighbours(tree, node):
    return [name for name in reference.branches(tree, node) if name is not None]


def random_vectors(tree, node, rng, scale=1.0):
    """Return vectors of sum zero for some of the neighbours, of any size, with some entries zero."""
    found = {}
    for name in neighbours(tree, node):
        card = int(tree.cards[tree.index(name)])
        vector = rng.normal(size=card) * (rng.random(card) < 0.8) * scale
        used = vector != 0
        if rng.random() < 0.8 and used.sum() > 1:
            vector[used] -= vector[used].mean()
            found[name] = vector
    return found


def a_class_model(rows=((0.9, 0.1), (0.2, 0.8)), share=(0.25, 0.75), n_items=3):
    """Return a latent class model with equal items."""
    names = ["H", *"xyz"[:n_items]]
    states = [range(len(share)), *["ab"] * n_items]
    return LatentTree(names, states, [-1] + [0] * n_items, [True] + [False] * n_items, [[share], *[rows] * n_items])


# marginals, order of states


@given(trees)
def test_marginals_equal_enumeration(tree):
    states = reference.joint_states(tree.cards)
    probability = reference.joint_probabilities(tree.parent, tree.tables, states)
    for node, marginal in enumerate(marginals(tree)):
        expected = np.bincount(states[:, node], probability, minlength=tree.cards[node])
        np.testing.assert_allclose(marginal, expected, rtol=1e-10, atol=1e-12)


@given(trees, st.randoms(use_true_random=False))
def test_permuting_there_and_back_is_the_identity(tree, random):
    node = random.randrange(tree.n_nodes)
    order = list(range(int(tree.cards[node])))
    random.shuffle(order)
    there = permute_states(tree, tree.names[node], order)
    assert_valid(there)
    assert permute_states(there, tree.names[node], np.argsort(order)) == tree


@given(trees, st.randoms(use_true_random=False))
def test_canonical_states_keep_the_distribution_and_forget_the_order(tree, random):
    canonical = canonical_states(tree)
    assert_valid(canonical)
    assert canonical.state_names == tree.state_names
    before, after = reference.observed_distribution(tree), reference.observed_distribution(canonical)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)
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


# what a node says about its neighbours


@given(trees, st.data())
def test_neighbour_rows_are_the_tables_at_the_root(tree, data):
    node = data.draw(st.sampled_from(tree.names))
    marginal, rows = neighbour_rows(tree, node)
    walked = root_walk(tree, node)
    np.testing.assert_allclose(marginal, walked.table(node)[0], rtol=1e-12)
    assert list(rows) == neighbours(tree, node)
    for other, table in rows.items():
        np.testing.assert_allclose(table, walked.table(other), rtol=1e-12)
        pair = reference.distribution(tree, [node, other])
        np.testing.assert_allclose(marginal[:, None] * table, pair, rtol=1e-9, atol=1e-15)


# splitting


@given(hidden_states())
def test_a_split_without_direction_vectors_duplicates_the_state(drawn):
    tree, node, (state, *_) = drawn
    split = split_state(tree, node, state, direction={})
    assert_valid(split)
    assert split.state_names[tree.index(node)][:-1] == tree.state_names[tree.index(node)]
    assert reference.root_of(split, node) == reference.root_of(tree, node)
    others = [name for name in tree.names if name != node]
    before, after = reference.distribution(tree, others), reference.distribution(split, others)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)


@given(hidden_states(), seeds, st.sampled_from([1e-6, 1e-3, 0.5, 1.0]))
def test_a_random_split_is_never_in_vain(drawn, seed, size):
    tree, node, (state, *_) = drawn
    if not can_split(tree, node, state):
        with pytest.raises(UnsplittableStateError, match=f"state '{state}' of '{node}'"):
            split_state(tree, node, state, rng=np.random.default_rng(seed), size=size)
        return
    split = split_state(tree, node, state, rng=np.random.default_rng(seed), size=size)
    assert_valid(split)
    at = tree.index(node)
    halves = [tree.state_names[at].index(state), -1]
    tables = [split.tables[child] for child in split.child_lists[at]]
    differences = [abs(table[halves[0]] - table[halves[1]]).max() for table in tables]
    if split.parent[at] >= 0:
        columns = split.tables[at]
        differences.append(abs(columns[:, halves[0]] - columns[:, halves[1]]).max())
    assert max(differences) > 0


@given(hidden_states())
def test_what_cannot_be_split_is_an_extreme_point(drawn):
    tree, node, (state, *_) = drawn
    at = tree.index(node)
    inside = reference.joint_array(tree).take(tree.state_names[at].index(state), axis=at)
    if inside.sum() > 0:
        around = [tree.index(name) - (tree.index(name) > at) for name in neighbours(tree, node)]
        apart = tuple(set(range(inside.ndim)) - set(around))
        assert can_split(tree, node, state) == ((inside.sum(axis=apart) > 0).sum() > 1)


@given(hidden_states(), seeds, st.sampled_from([1e-3, 0.3, 1.0]))
def test_a_random_direction_is_a_relative_tilt(drawn, seed, size):
    tree, node, (state, *_) = drawn
    assume(can_split(tree, node, state))
    position = tree.state_names[tree.index(node)].index(state)
    direction = random_direction(tree, node, state, np.random.default_rng(seed), size)
    marginal, rows = neighbour_rows(tree, node)
    assert direction.keys() == rows.keys()
    for other, shift in direction.items():
        row = rows[other][position]
        assert (np.abs(shift) <= row).all()
        assert shift.sum() == pytest.approx(0, abs=1e-15)
        own = marginal[position] > 0 or other in tree.children(node)
        largest = size if (row > 0).sum() > 1 and own else 0.0
        assert (np.abs(shift[row > 0]) / row[row > 0]).max() == pytest.approx(largest, rel=1e-6)


@given(hidden_states(), seeds)
def test_directions_do_not_depend_on_the_root(drawn, seed):
    tree, node, (state, *_) = drawn
    assume(can_split(tree, node, state) and min(map(np.min, marginals(tree))) > 0)
    here = random_direction(tree, node, state, np.random.default_rng(seed))
    there = random_direction(root_walk(tree, node), node, state, np.random.default_rng(seed))
    assert here.keys() == there.keys()
    for other in here:
        np.testing.assert_allclose(here[other], there[other], atol=1e-12)


@given(hidden_states(), seeds, st.sampled_from([1e-3, 0.2]), st.sampled_from([0.0, 1e-6, 0.05]))
def test_a_thesis_direction_follows_procedure_6_2(drawn, seed, size, edge):
    tree, node, (state, *_) = drawn
    position = tree.state_names[tree.index(node)].index(state)
    _, rows = neighbour_rows(tree, node)
    direction = thesis_direction(tree, node, state, np.random.default_rng(seed), size, edge)
    assert direction.keys() == rows.keys()
    for other, shift in direction.items():
        row = rows[other][position]
        if (row < edge).any() or (row > 1 - edge).any() or len(row) == 1:
            assert not shift.any()
            continue
        assert shift.sum() == pytest.approx(0, abs=1e-15)
        changed = np.concatenate([row + shift, row - shift])
        assert (changed >= edge - 1e-16).all()
        assert (changed <= 1 - edge + 1e-15).all()
        room = min(row.min() - edge, 1 - edge - row.max())
        if room >= size:
            assert np.abs(shift).max() == size  # exactly
        else:
            assert np.abs(shift).max() <= size


def test_a_thesis_split_does_nothing_on_the_boundary_where_a_random_split_does():
    tree = a_class_model(rows=((1.0, 0.0), (0.5, 0.5)))
    three = LatentTree(
        ["H", "x"], [[0], "abc"], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5, 0.0]]]
    )  # one zero is enough
    direction = thesis_direction(three, "H", 0, np.random.default_rng(0))
    assert not direction["x"].any()
    split = split_state(three, "H", 0, direction=direction)
    np.testing.assert_array_equal(split.table("x")[0], split.table("x")[1])
    other = split_state(three, "H", 0, rng=np.random.default_rng(0))
    assert abs(other.table("x")[0] - other.table("x")[1]).max() > 1e-4
    with pytest.raises(UnsplittableStateError, match=r"state 0 of 'H'.*split another state"):
        split_state(tree, "H", 0, rng=np.random.default_rng(0))


@given(hidden_states(), seeds, st.sampled_from(["random", "thesis", "given", "large"]))
def test_merging_the_halves_undoes_any_split(drawn, seed, kind):
    tree, node, (state, *_) = drawn
    rng = np.random.default_rng(seed)
    if kind == "random":
        assume(can_split(tree, node, state))
        direction = random_direction(tree, node, state, rng, size=0.5)
    elif kind == "thesis":
        direction = thesis_direction(tree, node, state, rng, size=0.1)
    else:
        direction = random_vectors(tree, node, rng, scale=0.05 if kind == "given" else 100.0)
    split = split_state(tree, node, state, direction=direction)
    assert_valid(split)
    new = split.state_names[tree.index(node)][-1]
    assert_same_tables(tree, merge_states(split, node, [state, new]))


@given(hidden_states(), seeds)
def test_a_split_is_what_the_definition_says(drawn, seed):
    tree, node, (state, *_) = drawn
    position = tree.state_names[tree.index(node)].index(state)
    direction = random_vectors(tree, node, np.random.default_rng(seed))
    _, rows = neighbour_rows(tree, node)
    for other, shift in direction.items():  # as large as fits, so that nothing is left to be scaled down
        used = shift != 0
        shift *= 0.99 * (rows[other][position][used] / abs(shift[used])).min()
    split = split_state(tree, node, state, direction=direction)
    expected = reference.split_joint(tree, node, state, direction)
    np.testing.assert_allclose(reference.joint_array(split), expected, rtol=1e-6, atol=1e-14)


def test_a_direction_is_scaled_down_as_a_whole():
    tree = a_class_model()
    split = split_state(tree, "H", 0, direction={"x": [-5.0, 5.0], "y": [0.05, -0.05]})
    np.testing.assert_allclose(split.table("x"), [[0.8, 0.2], [0.2, 0.8], [1.0, 0.0]], atol=1e-14)
    np.testing.assert_allclose(split.table("y"), [[0.95, 0.05], [0.2, 0.8], [0.85, 0.15]], atol=1e-14)
    np.testing.assert_allclose(split.table("z"), [[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]], atol=1e-14)
    np.testing.assert_allclose(split.table("H"), [[0.125, 0.75, 0.125]])
    blocked = split_state(a_class_model(rows=((1, 0), (0, 1))), "H", 0, direction={"x": [-0.1, 0.1]})
    assert blocked.table("x").tolist() == [[1, 0], [0, 1], [1, 0]]


def test_rounding_in_a_direction_is_taken_out():
    tree = a_class_model(rows=((0.5, 0.5), (0.2, 0.8)))
    split = split_state(tree, "H", 0, direction={"x": [0.1 + 1e-11, -0.1]})
    assert abs(split.table("x").sum(axis=1) - 1).max() < 1e-15


def test_tiny_probabilities_can_be_split():
    tree = LatentTree(["H", "x"], [[0], "abc"], [-1, 0], [True, False], [[[1.0]], [[1.0, 1e-200, 1e-30]]])
    split = split_state(tree, "H", 0, rng=np.random.default_rng(1), size=0.5)
    first, second = split.table("x")
    assert (abs(first - second)[1:] > 0).all()
    np.testing.assert_allclose(merge_states(split, "H", [0, 1]).table("x"), tree.table("x"), rtol=1e-14)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300])
def test_directions_of_a_size_next_to_nothing(size):
    tree = root_walk(a_class_model(), "x")
    with pytest.raises(ValueError, match="or rounding undoes it"):
        random_direction(tree, "H", 0, np.random.default_rng(0), size)
    for direction in (
        thesis_direction(tree, "H", 0, np.random.default_rng(0), size),
        {"y": [size, -size]},
    ):
        assert max(np.abs(vector).max() for vector in direction.values()) <= size
        split = split_state(tree, "H", 0, direction=direction)
        assert_same_tables(tree, merge_states(split, "H", [0, 2]))


def test_a_parent_row_that_the_model_does_not_hold_is_not_split():
    """State 1 of H has probability zero, and its child is a point mass: nothing of it could differ."""
    tree = LatentTree(
        ["x", "H", "y"], ["ab", [0, 1], "ab"], [-1, 0, 1], [False, True, False],
        [[[0.5, 0.5]], [[1, 0], [1, 0]], [[0.5, 0.5], [1, 0]]],
    )  # fmt: skip
    assert can_split(tree, "H", 0)
    assert not can_split(tree, "H", 1)


@pytest.mark.parametrize(
    ("states", "fresh"),
    [([0, 1], 2), (["s0", "s1"], 0), ([1, 0], 2), ([True, "s"], 0), ([0, True], 2), ([0, 1.0], 2), ([2, 0], 1)],
)
def test_the_new_state_has_a_fresh_name(states, fresh):
    tree = LatentTree(["H", "x"], [states, "ab"], [-1, 0], [True, False], [[[0.5, 0.5]], [[0.5, 0.5], [0.2, 0.8]]])
    split = split_state(tree, "H", states[1], direction={})
    assert split.state_names[0] == (*states, fresh)
    assert introduce_state(tree, "H", share=0.1).state_names[0] == (*states, fresh)


# merging


@given(hidden_states(n_states=2))
def test_a_merger_is_what_the_definition_says(drawn):
    tree, node, states = drawn
    merged = merge_states(tree, node, states)
    assert_valid(merged)
    expected = reference.merged_joint(tree, node, states)
    np.testing.assert_allclose(reference.joint_array(merged), expected, rtol=1e-9, atol=1e-15)
    kept = [state for state in tree.state_names[tree.index(node)] if state not in states[1:]]
    assert list(merged.state_names[tree.index(node)]) == kept
    root = reference.root_of(tree, node)
    assert_same_tables(merged, root_walk(merge_states(root_walk(tree, node), node, states), root))


@given(hidden_states(n_states=2))
def test_a_merger_keeps_what_is_reached_through_one_neighbour(drawn):
    tree, node, states = drawn
    merged = merge_states(tree, node, states)
    for nodes in reference.branches(tree, node).values():
        names = [tree.names[other] for other in nodes]
        before, after = reference.distribution(tree, names), reference.distribution(merged, names)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)


def test_a_merger_changes_how_neighbours_depend_on_each_other():
    tree = a_class_model(rows=((1, 0), (0, 1)), share=(0.5, 0.5))
    merged = merge_states(tree, "H", [0, 1])
    np.testing.assert_allclose(reference.distribution(tree, ["x", "y"]), [[0.5, 0], [0, 0.5]])
    np.testing.assert_allclose(reference.distribution(merged, ["x", "y"]), [[0.25, 0.25], [0.25, 0.25]])


def test_impossible_states_are_averaged_evenly():
    tree = LatentTree(
        ["H", "x"], [[0, 1, 2], "ab"], [-1, 0], [True, False], [[[1, 0, 0]], [[0.5, 0.5], [1, 0], [0, 1]]]
    )
    assert merge_states(tree, "H", [1, 2]).table("x").tolist() == [[0.5, 0.5], [0.5, 0.5]]


# introducing and removing


@given(hidden_states(), st.sampled_from([1e-6, 0.1, 0.5, 0.999]), seeds)
def test_removing_undoes_introducing(drawn, share, seed):
    tree, node, _ = drawn
    rng = np.random.default_rng(seed)
    rows = {
        name: rng.dirichlet(np.ones(tree.cards[tree.index(name)]))
        for name in neighbours(tree, node)
        if rng.random() < 0.7
    }
    larger = introduce_state(tree, node, share=share, rows=rows, name="new")
    assert_valid(larger)
    marginal, around = neighbour_rows(larger, node)
    assert marginal[-1] == pytest.approx(share)
    for name, table in around.items():
        uniform = np.full(table.shape[1], 1 / table.shape[1])
        np.testing.assert_allclose(table[-1], rows.get(name, uniform), rtol=1e-9)
    assert_same_tables(tree, remove_state(larger, node, "new"))


@given(hidden_states(n_states=2))
def test_removing_is_conditioning_on_the_other_states(drawn):
    tree, node, (state, *_) = drawn
    at = tree.index(node)
    smaller = remove_state(tree, node, state)
    assert_valid(smaller)
    position = tree.state_names[at].index(state)
    assert smaller.state_names[at] == tree.state_names[at][:position] + tree.state_names[at][position + 1 :]
    rest = np.delete(marginals(tree)[at], position)
    if rest.sum() > 0:
        expected = reference.removed_joint(tree, node, state)
        np.testing.assert_allclose(reference.joint_array(smaller), expected, rtol=1e-9, atol=1e-15)
    else:
        np.testing.assert_allclose(marginals(smaller)[at], 1 / len(rest))


# names of states carry the meaning, not their order


@given(hidden_states(n_states=2), seeds)
def test_relabelling_commutes_with_operators_on_states(drawn, seed):
    tree, node, states = drawn
    rng = np.random.default_rng(seed)
    relabelled, orders = tree, {}
    for name in tree.names:
        orders[name] = rng.permutation(tree.cards[tree.index(name)])
        relabelled = permute_states(relabelled, name, orders[name])
    direction = random_vectors(tree, node, rng, scale=0.1)
    permuted = {name: vector[orders[name]] for name, vector in direction.items()}
    row = rng.dirichlet(np.ones(tree.cards[tree.index(neighbours(tree, node)[0])])) if neighbours(tree, node) else None
    rows = {} if row is None else {neighbours(tree, node)[0]: row}
    permuted_rows = {name: vector[orders[name]] for name, vector in rows.items()}
    pairs = [
        (root_walk(tree, node), root_walk(relabelled, node)),
        (merge_states(tree, node, states), merge_states(relabelled, node, states)),
        (
            split_state(tree, node, states[0], direction=direction),
            split_state(relabelled, node, states[0], direction=permuted),
        ),
        (
            introduce_state(tree, node, share=0.3, rows=rows, name="new"),
            introduce_state(relabelled, node, share=0.3, rows=permuted_rows, name="new"),
        ),
    ]
    if marginals(tree)[tree.index(node)].max() < 1:
        pairs.append((remove_state(tree, node, states[0]), remove_state(relabelled, node, states[0])))
    for first, second in pairs:
        np.testing.assert_allclose(
            reference.distribution(second, tree.names), reference.distribution(first, tree.names), rtol=1e-9, atol=1e-14
        )


# the likelihood can be raised


def log_likelihood(tree, frequencies):
    """Return Σ P_D log P_L over the rows, by enumeration."""
    return float((frequencies * np.log(reference.observed_distribution(tree))).sum())


def a_model_and_data(seed, n_items, card):
    """Return a random latent class model, and frequencies of all rows that it does not describe."""
    rng = np.random.default_rng(seed)
    names = [f"x{item}" for item in range(n_items)]
    tree = LatentTree(
        ["H", *names],
        [range(2), *[range(card)] * n_items],
        [-1] + [0] * n_items,
        [True] + [False] * n_items,
        [rng.dirichlet([2, 2], size=1), *(rng.dirichlet(np.ones(card), size=2) for _ in names)],
    )
    return tree, names, rng.dirichlet(np.ones(card**n_items)).reshape([card] * n_items)


def raises_when_small(change, tree, frequencies):
    """Tell whether a change raises the likelihood, once it is halved often enough."""
    before = log_likelihood(tree, frequencies)
    return any(log_likelihood(change(0.5**power), frequencies) > before for power in range(2, 40))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_items", "card"), [(3, 2), (3, 3), (4, 2)])
def test_theorem_4_1_a_small_new_state_raises_the_likelihood(seed, n_items, card):
    tree, names, frequencies = a_model_and_data(seed, n_items, card)
    too_rare = np.argwhere(reference.observed_distribution(tree) < frequencies)
    for row in too_rare:  # the theorem holds for each of them
        rows = {name: np.eye(card)[state] for name, state in zip(names, row, strict=True)}

        def introduced(share, rows=rows):
            return introduce_state(tree, "H", share=share, rows=rows)

        assert raises_when_small(introduced, tree, frequencies)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_items", "card"), [(3, 2), (3, 3), (4, 2)])
def test_theorem_4_2_a_small_split_raises_the_likelihood(seed, n_items, card):
    tree, names, frequencies = a_model_and_data(seed, n_items, card)

    def splits():
        for state in range(2):
            for one, other in [(a, b) for a in names for b in names if a < b]:
                for sign in (1, -1):
                    vector = np.eye(card)[0] - np.eye(card)[1]
                    yield lambda epsilon, state=state, one=one, other=other, vector=vector, sign=sign: split_state(
                        tree, "H", state, direction={one: epsilon * vector, other: sign * epsilon * vector}
                    )

    assert any(raises_when_small(split, tree, frequencies) for split in splits())


# mistakes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: split_state(tree, "x", "a", direction={}), "'x' is observed; only hidden nodes can change"),
        (lambda tree: merge_states(tree, "x", "ab"), "'x' is observed; only hidden"),
        (lambda tree: introduce_state(tree, "x", share=0.5), "'x' is observed; only hidden"),
        (lambda tree: remove_state(tree, "x", "a"), "'x' is observed; only hidden"),
        (lambda tree: can_split(tree, "x", "a"), "'x' is observed; only hidden"),
        (lambda tree: thesis_direction(tree, "x", "a", None), "'x' is observed; only hidden"),
        (lambda tree: split_state(tree, "H", 0), r"split state 0 of 'H', give a direction, or rng="),
        (lambda tree: split_state(tree, "H", 7, direction={}), r"'H' has no state 7; its states are \[0, 1\]"),
        (lambda tree: split_state(tree, "H", 0, direction={"q": [0]}), "'q' is not a neighbour of 'H'; choose among"),
        (lambda tree: split_state(tree, "H", 0, direction={"x": [0.0]}), r"'x' has shape \(1,\); its states ask for"),
        (lambda tree: split_state(tree, "H", 0, direction={"x": [0.1, 0]}), "'x' sums to 0.1; .*subtract its mean"),
        (lambda tree: split_state(tree, "H", 0, direction={"x": [np.nan, 0]}), "'x' holds NaN or infinity"),
        (lambda tree: random_direction(tree, "H", 0, None, size=0), "size is 0; it must be at least 1e-12"),
        (
            lambda tree: random_direction(tree, "H", 0, None, size=2),
            "size is 2; it must be at least 1e-12, .* at most 1",
        ),
        (lambda tree: thesis_direction(tree, "H", 0, None, size=0), "size is 0; it must be above 0"),
        (lambda tree: thesis_direction(tree, "H", 0, None, edge=0.5), "edge is 0.5; it must be at least 0 and below"),
        (lambda tree: merge_states(tree, "H", [0]), "1 states of 'H' are to be merged; give two or more"),
        (lambda tree: merge_states(tree, "H", [0, 0]), r"'H' is to be merged with itself: \[0, 0\]"),
        (lambda tree: merge_states(tree, "H", [0, 9]), "'H' has no state 9"),
        (lambda tree: introduce_state(tree, "H", share=0), "share of the new state of 'H' is 0; it must be above 0"),
        (lambda tree: introduce_state(tree, "H", share=1), "share of the new state of 'H' is 1"),
        (lambda tree: introduce_state(tree, "H", share=0.5, name=1), "'H' has a state 1 already"),
        (lambda tree: introduce_state(tree, "H", share=0.5, rows={"x": [0.5, 0.6]}), "the row for 'x' is .*sum to 1"),
        (lambda tree: introduce_state(tree, "H", share=0.5, rows={"x": [-1, 2]}), "the row for 'x' is .*at least 0"),
        (lambda tree: introduce_state(tree, "H", share=0.5, rows={"x": [1]}), r"'x' has shape \(1,\)"),
        (lambda tree: introduce_state(tree, "H", share=0.5, rows={"H": [1, 0]}), "'H' is not a neighbour of 'H'"),
        (lambda tree: remove_state(tree, "H", 5), "'H' has no state 5"),
        (lambda tree: remove_state(remove_state(tree, "H", 0), "H", 1), "1 is the last state of 'H'; delete the node"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        change(a_class_model())
