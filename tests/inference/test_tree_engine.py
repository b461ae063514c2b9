"""Message passing against enumeration."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.patterns import distinct_combinations, distinct_pairs
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.inference.walk import multiply_scaled, region_of
from pgmpy_latent.testing import codes_for, latent_trees, weights_for
from tests.support import reference

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


def engine_for(tree, codes, weights=None, **options):
    columns = np.flatnonzero(~tree.latent)
    evidence = {int(c): Evidence(codes[:, at], int(tree.cards[c])) for at, c in enumerate(columns)}
    return TreeEngine(compile_plan(tree.parent, evidence, **options), tree.cards, weights)


@st.composite
def problems(draw, **options):
    """A tree, codes with gaps, weights, and an engine whose messages meet anywhere."""
    tree = draw(latent_trees(**options))
    codes = draw(codes_for(tree))
    weights = draw(weights_for(len(codes)))
    pivots = draw(st.sets(st.integers(0, tree.n_nodes - 1)))
    rows = reference.rows_of(codes, np.flatnonzero(~tree.latent))
    engine = engine_for(tree, codes, weights, pivots=pivots)
    return tree, rows, weights, engine, engine.layout.pack(tree.tables)


@given(problems())
def test_log_likelihood_equals_enumeration(problem):
    tree, rows, weights, engine, tables = problem
    expected = reference.log_likelihoods(tree.parent, tree.tables, rows)
    np.testing.assert_allclose(engine.row_log_likelihoods(tables), expected, **TOLERANCE)
    np.testing.assert_allclose(engine.log_likelihood(tables), weights @ expected, **TOLERANCE)


@given(problems())
def test_counts_equal_enumeration(problem):
    tree, rows, weights, engine, tables = problem
    log_likelihood, counts = engine.expected_counts(tables)
    expected = reference.expected_counts(tree.parent, tree.tables, rows, weights)
    np.testing.assert_allclose(counts, engine.layout.pack(expected), **TOLERANCE)
    assert log_likelihood == pytest.approx(engine.log_likelihood(tables), rel=1e-12, abs=1e-12)
    for table in engine.layout.unpack(counts):
        assert table.sum() == pytest.approx(weights.sum(), rel=1e-12)


@given(problems(), st.data())
def test_counts_of_free_tables_only(problem, data):
    tree, _, _, engine, tables = problem
    free = np.array([data.draw(st.booleans()) for _ in range(tree.n_nodes)])
    _, everything = engine.expected_counts(tables)
    _, counts = engine.expected_counts(tables, free)
    wanted = free[engine.layout.table_of_entry]
    np.testing.assert_allclose(counts[wanted], everything[wanted], rtol=1e-12, atol=1e-300)
    assert not counts[~wanted].any()


@given(problems(), st.data())
def test_counts_add_over_row_blocks(problem, data):
    tree, rows, weights, engine, tables = problem
    codes = np.array([[row.get(int(c), -1) for c in np.flatnonzero(~tree.latent)] for row in rows])
    cut = data.draw(st.integers(0, len(rows)))
    parts = [slice(0, cut), slice(cut, None)]
    parts = [part for part in parts if len(codes[part])]
    results = [engine_for(tree, codes[p], weights[p]).expected_counts(tables) for p in parts]
    log_likelihood, counts = engine.expected_counts(tables)
    np.testing.assert_allclose(sum(r[0] for r in results), log_likelihood, **TOLERANCE)
    np.testing.assert_allclose(sum(r[1] for r in results), counts, **TOLERANCE)


@given(problems())
def test_a_weight_is_a_repeated_row(problem):
    tree, rows, _, _, tables = problem
    codes = np.array([[row.get(int(c), -1) for c in np.flatnonzero(~tree.latent)] for row in rows])
    times = np.arange(len(rows)) % 3 + 1
    once = engine_for(tree, codes, times.astype(float)).expected_counts(tables)
    repeated = engine_for(tree, np.repeat(codes, times, axis=0)).expected_counts(tables)
    np.testing.assert_allclose(once[0], repeated[0], **TOLERANCE)
    np.testing.assert_allclose(once[1], repeated[1], **TOLERANCE)


@given(problems())
def test_many_starts_at_once_give_the_same_bits(problem):
    _, _, _, engine, tables = problem
    uniform = engine.layout.pack([np.full(shape, 1 / shape[1]) for shape in engine.layout.shapes])
    together = engine.expected_counts(np.stack([tables, uniform, tables]))
    for at, alone in enumerate((tables, uniform, tables)):
        log_likelihood, counts = engine.expected_counts(alone)
        assert together[0][at] == log_likelihood
        np.testing.assert_array_equal(together[1][at], counts)


@given(problems())
def test_beliefs_equal_enumeration(problem):
    tree, rows, _, engine, tables = problem
    for node, belief in enumerate(engine.beliefs(tables, range(tree.n_nodes))):
        expected = reference.beliefs(tree.parent, tree.tables, rows, node)
        np.testing.assert_allclose(belief, expected, **TOLERANCE)


@given(problems())
def test_rows_posteriors_and_pairs_of_many_starts_at_once(problem):
    tree, _, _, engine, tables = problem
    uniform = engine.layout.pack([np.full(shape, 1 / shape[1]) for shape in engine.layout.shapes])
    both, nodes, pairs = np.stack([tables, uniform]), range(tree.n_nodes), [(0, tree.n_nodes - 1)]
    logs, beliefs, counts = (
        engine.row_log_likelihoods(both),
        engine.beliefs(both, nodes),
        engine.pair_counts(both, pairs),
    )
    for at, alone in enumerate(both):
        np.testing.assert_array_equal(logs[at], engine.row_log_likelihoods(alone))
        for together, one in zip(beliefs, engine.beliefs(alone, nodes), strict=True):
            np.testing.assert_array_equal(together[at], one)
        np.testing.assert_array_equal(counts[0][at], engine.pair_counts(alone, pairs)[0])


@given(problems(min_nodes=2), st.data())
def test_beliefs_without_an_edge(problem, data):
    tree, rows, _, engine, tables = problem
    below = np.flatnonzero(tree.parent >= 0)
    if not len(below):
        return
    cut = int(data.draw(st.sampled_from(below.tolist())))
    side = {cut}
    for node in tree.order:
        if int(tree.parent[node]) in side:
            side.add(int(node))
    outside = [node for node in range(tree.n_nodes) if node not in side]
    found = engine.beliefs(tables, outside, without=[cut])
    silent = [{node: seen for node, seen in row.items() if node not in side} for row in rows]
    for node, belief in zip(outside, found, strict=True):
        expected = reference.beliefs(tree.parent, tree.tables, silent, node)
        np.testing.assert_allclose(belief, expected, **TOLERANCE)


@given(problems(), st.data())
def test_likelihoods_of_a_node_away_from_a_neighbour_equal_enumeration(problem, data):
    tree, rows, _, engine, tables = problem
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    graph = nx.from_edgelist((int(above), at) for at, above in enumerate(tree.parent) if above >= 0)
    graph.add_nodes_from(range(tree.n_nodes))
    away_from = data.draw(st.sampled_from([None, *graph[node]]))
    if away_from is not None:
        graph.remove_edge(node, away_from)
    own_side = nx.node_connected_component(graph, node)
    evidence = engine.walk(tables).likelihood(node, away_from)
    messages = np.vstack([np.eye(evidence.n_states), np.ones(evidence.n_states)])  # of states, and of a missing cell
    if evidence.messages is not None:
        messages = evidence.messages
    prior = reference.beliefs(tree.parent, tree.tables, [{}], node)
    found = messages[evidence.index] * prior
    heard = [{other: seen for other, seen in row.items() if other in own_side} for row in rows]
    expected = reference.beliefs(tree.parent, tree.tables, heard, node)
    np.testing.assert_allclose(found / found.sum(axis=1, keepdims=True), expected, **TOLERANCE)


@given(problems(), st.data())
def test_pair_counts_equal_enumeration(problem, data):
    tree, rows, weights, engine, tables = problem
    nodes = st.integers(0, tree.n_nodes - 1)
    pairs = [(data.draw(nodes), data.draw(nodes)) for _ in range(3)]
    for (left, right), found in zip(pairs, engine.pair_counts(tables, pairs), strict=True):
        expected = reference.pair_counts(tree.parent, tree.tables, rows, weights, left, right)
        np.testing.assert_allclose(found, expected, **TOLERANCE)


@given(problems(), st.data())
def test_a_frozen_plan_gives_what_the_whole_gives(problem, data):
    tree, _, _, engine, tables = problem
    chosen = data.draw(st.sets(st.integers(0, tree.n_nodes - 1), min_size=1, max_size=3))
    free = np.isin(np.arange(tree.n_nodes), list(chosen))
    frozen = engine.freeze(tables, free)
    small, little = frozen.engine, frozen.narrow(tables)
    np.testing.assert_allclose(small.log_likelihood(little), engine.log_likelihood(tables), **TOLERANCE)
    logs = small.row_log_likelihoods(little)
    np.testing.assert_allclose(logs, engine.row_log_likelihoods(tables), **TOLERANCE)
    _, everything = engine.expected_counts(tables)
    _, counts = small.expected_counts(little)
    whole = frozen.widen(counts, np.zeros_like(tables))
    wanted = free[engine.layout.table_of_entry]
    np.testing.assert_allclose(whole[wanted], everything[wanted], **TOLERANCE)
    assert not whole[~wanted].any()


@given(latent_trees(min_nodes=2), st.integers(0, 2**32 - 1))
def test_soft_evidence_equals_enumeration(tree, seed):
    rng = np.random.default_rng(seed)
    n_rows = 5
    evidence, rows = {}, [{} for _ in range(n_rows)]
    for node in range(tree.n_nodes):
        if rng.random() < 0.6 or node == 0:
            messages = rng.random((3, tree.cards[node])) + 1e-3
            index = rng.integers(0, 3, size=n_rows)
            evidence[node] = Evidence(index, int(tree.cards[node]), messages, rng.normal(size=3))
            for row, pattern in zip(rows, index, strict=True):
                row[node] = messages[pattern] * np.exp(evidence[node].log_scales[pattern])
    engine = TreeEngine(compile_plan(tree.parent, evidence), tree.cards)
    tables = engine.layout.pack(tree.tables)
    expected = reference.log_likelihoods(tree.parent, tree.tables, rows)
    np.testing.assert_allclose(engine.row_log_likelihoods(tables), expected, **TOLERANCE)
    counts = reference.expected_counts(tree.parent, tree.tables, rows, np.ones(n_rows))
    np.testing.assert_allclose(engine.expected_counts(tables)[1], engine.layout.pack(counts), **TOLERANCE)


@given(problems(zeros=True, max_nodes=6))
def test_zeros_give_minus_infinity_or_the_right_number_never_nan(problem):
    tree, rows, _, engine, tables = problem
    expected = reference.log_likelihoods(tree.parent, tree.tables, rows)
    found = engine.row_log_likelihoods(tables)
    np.testing.assert_allclose(found, expected, **TOLERANCE)
    _, counts = engine.expected_counts(tables)
    assert np.isfinite(counts).all()
    if np.isfinite(expected).all():
        weights = engine.weights
        expected_counts = reference.expected_counts(tree.parent, tree.tables, rows, weights)
        np.testing.assert_allclose(counts, engine.layout.pack(expected_counts), **TOLERANCE)


@settings(max_examples=25)
@given(problems(max_nodes=5), st.integers(0, 2**32 - 1))
def test_draws_agree_with_the_evidence_and_repeat(problem, seed):
    tree, rows, _, engine, tables = problem
    drawn = engine.draw(tables, np.random.default_rng(seed))
    again = engine.draw(tables, np.random.default_rng(seed))
    np.testing.assert_array_equal(drawn, again)
    assert (drawn >= 0).all()
    assert (drawn < tree.cards).all()
    for row, states in zip(rows, drawn, strict=True):
        assert all(states[node] == seen for node, seen in row.items())


def test_draws_follow_the_joint_posterior():
    rng = np.random.default_rng(3)
    parent = np.array([-1, 0, 0, 1])
    tables = [rng.dirichlet(np.ones(2), size=1 if p < 0 else 2) for p in parent]
    n = 60_000
    seen = np.where(np.arange(n) % 2, 1, -1)
    plan = compile_plan(parent, {3: Evidence(np.ones(n, int), 2), 2: Evidence(seen, 2)})
    engine = TreeEngine(plan, [2, 2, 2, 2])
    drawn = engine.draw(engine.layout.pack(tables), rng)
    for known, rows in (({3: 1, 2: 1}, drawn[1::2]), ({3: 1}, drawn[::2])):
        states, probability = reference.row_joint(parent, tables, known)
        for state, share in zip(states, probability / probability.sum(), strict=True):
            observed = (rows == state).all(axis=1).mean()
            assert abs(observed - share) < 5 * np.sqrt(0.25 / len(rows))


def star(n_leaves, card, rng):
    parent = np.array([-1] + [0] * n_leaves)
    tables = [rng.dirichlet(np.ones(3), size=1)] + [rng.dirichlet(np.ones(card), size=3) for _ in range(n_leaves)]
    return parent, tables, np.arange(1, n_leaves + 1)


def caterpillar(n_leaves, card, rng):
    n_inner = n_leaves // 10
    parent = [-1] + list(range(n_inner - 1)) + [at % n_inner for at in range(n_leaves)]
    tables = [
        rng.dirichlet(np.ones(3 if node < n_inner else card), size=1 if above < 0 else 3)
        for node, above in enumerate(parent)
    ]
    return np.array(parent), tables, np.arange(n_inner, n_inner + n_leaves)


@pytest.mark.parametrize("shape", [star, caterpillar])
@pytest.mark.parametrize("n_leaves", [1_100, 3_000, 10_000])
def test_no_underflow_with_thousands_of_leaves(shape, n_leaves):
    rng = np.random.default_rng(n_leaves)
    parent, tables, columns = shape(n_leaves, 4, rng)
    codes = rng.integers(-1, 4, size=(2, n_leaves))
    evidence = {int(c): Evidence(codes[:, at], 4) for at, c in enumerate(columns)}
    engine = TreeEngine(compile_plan(parent, evidence), [t.shape[1] for t in tables])
    flat = engine.layout.pack(tables)
    belief, logs = reference.log_beliefs(parent, tables, codes, columns, 0)
    np.testing.assert_allclose(engine.row_log_likelihoods(flat), logs, rtol=1e-10)
    np.testing.assert_allclose(engine.beliefs(flat, [0])[0], belief, rtol=0, atol=1e-8)
    log_likelihood, counts = engine.expected_counts(flat)
    assert np.isfinite(log_likelihood)
    np.testing.assert_allclose(engine.layout.unpack(counts)[0][0], belief.sum(axis=0), rtol=0, atol=1e-8)


def test_a_tree_deeper_than_python_recurses():
    depth = 3_000
    rng = np.random.default_rng(0)
    parent = np.concatenate([[-1], np.arange(depth - 1), [depth - 1]])  # a chain of hidden nodes with one leaf
    tables = [rng.dirichlet(np.ones(2), size=1 if above < 0 else 2) for above in parent]
    plan = compile_plan(parent, {depth: Evidence(np.array([0, 1]), 2)}, pivots={depth - 1})
    engine = TreeEngine(plan, [2] * (depth + 1))
    flat = engine.layout.pack(tables)
    found, _ = reference.log_beliefs(parent, tables, np.array([[0], [1]]), [depth], 0)
    np.testing.assert_allclose(engine.beliefs(flat, [0])[0], found, rtol=0, atol=1e-10)
    assert engine.draw(flat, rng).shape == (2, depth + 1)
    counts = engine.pair_counts(flat, [(0, depth - 1)])[0]
    np.testing.assert_allclose(counts.sum(), 2.0, rtol=1e-9)


def test_two_halves_that_contradict_each_other_are_not_lost():
    """The first half of the leaves rules state 1 out by 10^-1500, the second half state 0."""
    n_leaves = 2_000
    first = np.array([[0.9, 0.1], [0.1, 0.9]])
    parent = np.array([-1] + [0] * n_leaves)
    tables = [np.array([[0.3, 0.7]])] + [first] * n_leaves
    codes = np.repeat([[0, 1]], n_leaves // 2, axis=1).reshape(1, -1)
    codes = np.sort(codes, axis=1)
    evidence = {at + 1: Evidence(codes[:, at], 2) for at in range(n_leaves)}
    engine = TreeEngine(compile_plan(parent, evidence), [2] * (n_leaves + 1))
    flat = engine.layout.pack(tables)
    np.testing.assert_allclose(engine.beliefs(flat, [0])[0], [[0.3, 0.7]], rtol=1e-9)
    np.testing.assert_allclose(engine.expected_counts(flat)[1][:2], [0.3, 0.7], rtol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2)), min_size=1))
def test_distinct_combinations_number_the_distinct_rows(rows):
    array = np.array(rows)
    number, parts = distinct_combinations([(array[:, 0], 4), (array[:, 1], 6), (array[:, 2], 3)])
    np.testing.assert_array_equal(np.stack(parts, axis=1)[number], array)
    pairs, left, right = distinct_pairs(array[:, 0], 4, array[:, 1], 6)
    assert len(left) == len({(a, b) for a, b, _ in rows})
    np.testing.assert_array_equal(np.stack([left[pairs], right[pairs]], axis=1), array[:, :2])


@given(latent_trees(min_nodes=2, max_nodes=10), st.data())
def test_a_region_is_connected_and_smallest(tree, data):
    tables = data.draw(st.sets(st.integers(0, tree.n_nodes - 1), min_size=1, max_size=3))
    region = set(region_of(tree.parent, np.array(sorted(tables))).tolist())
    ends = tables | {int(tree.parent[t]) for t in tables if tree.parent[t] >= 0}
    assert ends <= region
    for node in region - ends:  # an inner node of a path: two of its neighbours belong to the region
        children = [c for c in region if tree.parent[c] == node]
        assert len(children) + (int(tree.parent[node]) in region) >= 2


@given(st.integers(0, 1000), st.sampled_from([1.0, 1e-20, 1e-80, 1e-160]), st.sampled_from([0.0, 0.3]))
def test_multiply_scaled_is_the_product_with_exponents_apart(seed, scale, zeros):
    rng = np.random.default_rng(seed)
    arrays = rng.random((4, 5, 3)) * scale ** rng.random((4, 5, 3)) * (rng.random((4, 5, 3)) >= zeros)
    mantissa, exponent = np.frexp(arrays[0])
    for other in arrays[1:]:
        fraction, power = np.frexp(other)
        mantissa, carry = np.frexp(mantissa * fraction)
        exponent = exponent + power + carry
    largest = np.where(mantissa > 0, exponent, np.iinfo(np.int32).min).max(axis=1, keepdims=True)
    wanted = np.ldexp(mantissa, np.maximum(exponent - largest, -2000))
    assert (multiply_scaled(arrays[0], arrays[1:]) == wanted).all()


def test_multiply_scaled_keeps_what_a_plain_product_loses():
    left = np.array([[1.0, 1e-300]])
    right = np.array([[1e-300, 1.0]])
    product = multiply_scaled(np.ones((1, 2)), [left] * 3 + [right] * 3)
    np.testing.assert_allclose(product[0, 0] / product[0, 1], 1.0, rtol=1e-12)


def test_codes_of_one_byte_with_as_many_states_as_it_holds():
    codes = np.arange(-1, 128).astype(np.int8)
    engine = TreeEngine(compile_plan([-1, 0], {1: Evidence(codes, 128)}), [2, 128])
    tables = engine.layout.pack([np.array([[0.5, 0.5]]), np.full((2, 128), 1 / 128)])
    np.testing.assert_allclose(engine.row_log_likelihoods(tables), [0.0] + [-np.log(128)] * 128, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64])
def test_the_type_of_codes_does_not_matter(dtype):
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, size=(50, 300)).astype(dtype)
    parent = np.array([-1] + [0] * 300)
    evidence = {at + 1: Evidence(codes[:, at], 3) for at in range(300)}
    engine = TreeEngine(compile_plan(parent, evidence), [2] + [3] * 300)
    tables = [rng.dirichlet(np.ones(2), size=1)] + [rng.dirichlet(np.ones(3), size=2) for _ in range(300)]
    _, expected = reference.log_beliefs(parent, tables, codes[:3], np.arange(1, 301), 0)
    found = engine.row_log_likelihoods(engine.layout.pack(tables))
    np.testing.assert_allclose(found[:3], expected, rtol=1e-12)


@pytest.mark.parametrize("n_leaves", [50, 200, 300, 1000, 2000, 5000])
def test_many_rows_of_many_leaves_neither_vanish_nor_overflow(n_leaves):
    rng = np.random.default_rng(n_leaves)
    codes = rng.integers(0, 2, size=(40, n_leaves))
    evidence = {at + 1: Evidence(codes[:, at], 2) for at in range(n_leaves)}
    engine = TreeEngine(compile_plan([-1] + [0] * n_leaves, evidence), [2] * (n_leaves + 1))
    tables = random_tables(engine.layout, rng)
    prior, *items = engine.layout.unpack(tables)
    logs = np.log(prior[0]) + sum(np.log(item[:, codes[:, at]]).T for at, item in enumerate(items))
    expected = np.logaddexp(logs[:, 0], logs[:, 1])
    np.testing.assert_allclose(engine.row_log_likelihoods(tables), expected, rtol=1e-11)
    np.testing.assert_allclose(engine.log_likelihood(tables), expected.sum(), rtol=1e-11)
    heavier = engine.reweighted(np.full(40, 1.5))
    np.testing.assert_allclose(heavier.log_likelihood(tables), 1.5 * expected.sum(), rtol=1e-11)
    share = np.exp(logs[:, 0] - expected).sum()
    np.testing.assert_allclose(engine.expected_counts(tables)[1][0], share, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_hidden", "n_leaves"), [(6, 200), (12, 250), (3, 700)])
@pytest.mark.parametrize("pivots", [{0}, {1}])
def test_hidden_nodes_with_many_leaves_each(n_hidden, n_leaves, pivots):
    rng = np.random.default_rng(n_hidden)
    parent = np.array([-1] + [0] * n_hidden + [1 + at // n_leaves for at in range(n_hidden * n_leaves)])
    columns = np.arange(1 + n_hidden, len(parent))
    codes = rng.integers(-1, 2, size=(30, len(columns)))
    evidence = {int(c): Evidence(codes[:, at], 2) for at, c in enumerate(columns)}
    engine = TreeEngine(compile_plan(parent, evidence, pivots=pivots), [2] * len(parent))
    tables = random_tables(engine.layout, rng)
    belief, logs = reference.log_beliefs(parent, engine.layout.unpack(tables), codes[:4], columns, 0)
    np.testing.assert_allclose(engine.row_log_likelihoods(tables)[:4], logs, rtol=1e-11)
    np.testing.assert_allclose(engine.beliefs(tables, [0])[0][:4], belief, rtol=0, atol=1e-9)
    total, counts = engine.expected_counts(tables)
    assert total == pytest.approx(engine.row_log_likelihoods(tables).sum(), rel=1e-12)
    for table in engine.layout.unpack(counts):
        assert table.sum() == pytest.approx(30, rel=1e-9)
    # a part of it, with all these exponents in its evidence
    free = np.zeros(len(parent), dtype=bool)
    free[[1, 2]] = True
    frozen = engine.freeze(tables, free)
    assert frozen.engine.log_likelihood(frozen.narrow(tables)) == pytest.approx(total, rel=1e-11)
    again = frozen.engine.freeze(frozen.narrow(tables), np.array([False, True] + [False] * (len(frozen.nodes) - 2)))
    assert again.engine.log_likelihood(again.narrow(frozen.narrow(tables))) == pytest.approx(total, rel=1e-11)


def test_near_certain_leaves_that_contradict_each_other():
    tables = [np.array([[0.3, 0.7]])] + [np.array([[1 - 1e-12, 1e-12], [1e-12, 1 - 1e-12]])] * 64
    codes = np.repeat([[0, 1]], 32, axis=1)
    evidence = {at + 1: Evidence(codes[:, at], 2) for at in range(64)}
    engine = TreeEngine(compile_plan([-1] + [0] * 64, evidence), [2] * 65)
    flat = engine.layout.pack(tables)
    assert engine.log_likelihood(flat) == pytest.approx(32 * np.log(1e-12), rel=1e-9)
    np.testing.assert_allclose(engine.beliefs(flat, [0])[0], [[0.3, 0.7]], rtol=1e-9)


def test_soft_evidence_far_above_one():
    messages = np.array([[1e200, 2e200], [3.0, 1.0]])
    evidence = {0: tuple(Evidence(np.array([0, 1]), 2, messages) for _ in range(5))}
    engine = TreeEngine(compile_plan([-1], evidence), [2])
    found = engine.row_log_likelihoods(np.array([0.5, 0.5]))
    expected = [5 * 200 * np.log(10) + np.log((1 + 32) / 2), np.log((3**5 + 1) / 2)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
