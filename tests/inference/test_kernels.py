"""Compiled primitives against plain NumPy, for every length of message that has code of its own."""

import numpy as np
import pytest
from numba import njit

from pgmpy_latent.inference.kernels import matrices, products, vectors
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from tests.support import reference

STEPS = [2, 4, 8, 12, 20]
CARDS = [1, 2, 3, 4, 5, 8, 9, 12, 17]


@njit
def gather_multiply(numbers, target, left, source, count, step, alike):
    vectors.gather_multiply(numbers, 1, target, step, left, 0, source, 2 * step, count, step, alike)


@njit
def scatter_add(numbers, target, source, count, step):
    vectors.scatter_add(numbers, 1, target, 2 * step, source, step, count, step)


@njit
def rows_of_sums(target, source, count, step):
    vectors.add_up_rows(target, source, count, step)
    for row in range(count):
        target[count + row] = vectors.add_up(source, row * step, step)


@njit
def scale_rows(target, factors, count, step):
    vectors.scale_rows(target, 0, target, factors, count, step)


@njit
def small_steps(target, left, right, step):
    vectors.multiply(target, 0, left, step, right, 0, step)
    vectors.add(target, 0, left, 0, step)
    vectors.divide(target, step, left, 0, right, step, step)


@njit
def largest_in_rows(target, source, count, step):
    vectors.largest_in_rows(target, source, step, count, step)


@njit
def scale_into(target, source, factors, count, step):
    vectors.scale_rows(target, step, source, factors, count, step)


@njit
def powers_of_two(number):
    exponent = vectors.power_of_two(number)
    return exponent, vectors.two_to_the(exponent)


@njit
def product_of_matrices(target, left, right, rows, inner, columns, fresh):
    matrices.add_product(target, columns, columns, left, 3, inner, 1, right, 5, columns, rows, inner, columns, fresh)


@njit
def product_with_the_transposed(target, left, right, rows, inner, columns, fresh):
    matrices.add_product(target, columns, columns, left, 3, 1, rows, right, 5, columns, rows, inner, columns, fresh)


@pytest.mark.parametrize("step", STEPS)
def test_gather_multiply(step):
    rng = np.random.default_rng(step)
    numbers = rng.integers(0, 6, size=10).astype(np.uint16)
    source, left = rng.random((8, step)), rng.random((9, step))
    for alike in (False, True):
        target = np.zeros((10, step))
        gather_multiply(numbers, target.ravel(), left.ravel(), source.ravel(), 9, step, alike)
        expected = (left[:1] if alike else left) * source[2:][numbers[1:]]
        np.testing.assert_array_equal(target[1:], expected)
        assert not target[0].any()


@pytest.mark.parametrize("step", STEPS)
def test_scatter_add(step):
    rng = np.random.default_rng(step)
    numbers = rng.integers(0, 4, size=10).astype(np.uint16)
    source, target = rng.random((10, step)), rng.random((6, step))
    expected = target.copy()
    np.add.at(expected, 2 + numbers[1:].astype(int), source[1:])
    scatter_add(numbers, target.ravel(), source.ravel(), 9, step)
    np.testing.assert_allclose(target, expected, rtol=1e-15)


@pytest.mark.parametrize("step", STEPS)
def test_sums_and_scales(step):
    rng = np.random.default_rng(step)
    source, factors = rng.random((7, step)), rng.random(7)
    sums = np.zeros(14)
    rows_of_sums(sums, source.ravel(), 7, step)
    np.testing.assert_allclose(sums, np.tile(source.sum(axis=1), 2), rtol=1e-14)
    scaled = source.copy()
    scale_rows(scaled.ravel(), factors, 7, step)
    np.testing.assert_array_equal(scaled, source * factors[:, None])


@pytest.mark.parametrize("step", STEPS)
def test_one_message_at_a_time(step):
    rng = np.random.default_rng(step)
    left, right, target = rng.random((2, step)), rng.random((2, step)), np.zeros((2, step))
    right[1, 1] = 0.0
    small_steps(target.ravel(), left.ravel(), right.ravel(), step)
    np.testing.assert_allclose(target[0], left[1] * right[0] + left[0], rtol=1e-14)
    quotients = np.divide(left[0], right[1], out=np.zeros(step), where=right[1] > 0)
    np.testing.assert_array_equal(target[1], quotients)


@pytest.mark.parametrize("length", [2, 4, 6, 8, 10, 14, 64])
def test_nothing_beyond_a_message_is_touched(length):
    rng = np.random.default_rng(length)
    left, right = rng.random(2 * length + 8), 1 + rng.random(2 * length + 8)
    target = np.full(2 * length + 8, 0.5)
    small_steps(target, left, right, length)
    np.testing.assert_array_equal(target[2 * length :], 0.5)
    np.testing.assert_allclose(target[:length], left[length : 2 * length] * right[:length] + left[:length], rtol=1e-14)


@pytest.mark.parametrize("step", STEPS)
def test_largest_numbers_and_rounded_rows(step):
    rng = np.random.default_rng(step)
    source, factors = rng.random((7, step)), rng.random(6)
    found = np.zeros(7)
    largest_in_rows(found, source.ravel(), 6, step)
    np.testing.assert_array_equal(found[:6], source[1:].max(axis=1))
    target = np.zeros((8, step), np.float32)
    scale_into(target.ravel(), source.ravel(), factors, 6, step)
    np.testing.assert_array_equal(target[1:7], (source[:6] * factors[:, None]).astype(np.float32))
    assert not target[[0, 7]].any()


@pytest.mark.parametrize("number", [1.0, 0.3, 0.5, 1e-199, 7.0])
def test_powers_of_two(number):
    exponent, power = powers_of_two(number)
    assert power / 2 <= number < power == 2.0**exponent


@pytest.mark.parametrize("columns", STEPS)
@pytest.mark.parametrize("rows", [1, 9, 33])
def test_products_of_matrices_in_single_precision(rows, columns):
    rng = np.random.default_rng(rows)
    left, right = rng.random(3 + rows * 40, np.float32), rng.random(5 + 40 * columns, np.float32)
    target = np.zeros((rows + 2, columns), np.float32)
    product_of_matrices(target.ravel(), left, right, rows, 40, columns, True)
    expected = left[3:].reshape(rows, 40).astype(float) @ right[5:].reshape(40, columns)
    np.testing.assert_allclose(target[1:-1], expected, rtol=40 * 2.0**-24)


@pytest.mark.parametrize("columns", STEPS)
@pytest.mark.parametrize("inner", [1, 3, 40])
@pytest.mark.parametrize("rows", [1, 2, 4, 7, 33])
def test_products_of_matrices(rows, inner, columns):
    rng = np.random.default_rng(rows)
    left, right = rng.random(3 + rows * inner), rng.random(5 + inner * columns)
    terms = right[5:].reshape(inner, columns)
    for multiply, factors in (
        (product_of_matrices, left[3:].reshape(rows, inner)),
        (product_with_the_transposed, left[3:].reshape(inner, rows).T),
    ):
        for fresh in (False, True):
            before = np.full((rows + 2, columns), np.nan if fresh else 0.25)
            target = before.copy()
            multiply(target.ravel(), left, right, rows, inner, columns, fresh)
            np.testing.assert_allclose(target[1:-1], (0.0 if fresh else 0.25) + factors @ terms, rtol=1e-13)
            np.testing.assert_array_equal(target[[0, -1]], before[[0, -1]])


@pytest.mark.parametrize(("wide", "height"), [(32, 4), (64, 8)])
def test_tiles_of_any_shape_give_the_same_bits(wide, height, monkeypatch):
    """Processors with other vectors have other tiles; the order of sums does not depend on them."""
    rng = np.random.default_rng(0)
    left, right = rng.random(3 + 33 * 40), rng.random(5 + 40 * 44)
    target, expected = np.zeros((35, 44)), np.zeros((35, 44))
    product_of_matrices(expected.ravel(), left, right, 33, 40, 44, True)
    monkeypatch.setattr(matrices, "WIDE", wide)
    monkeypatch.setattr(matrices, "TILE_ROWS", height)
    njit(product_of_matrices.py_func)(target.ravel(), left, right, 33, 40, 44, True)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("pivots", [{0}, {1}, {4}])
def test_every_number_of_states_equals_enumeration(card, pivots):
    rng = np.random.default_rng(card)
    parent, cards = np.array([-1, 0, 1, 1, 0, 4]), [card, max(1, 18 - card), 3, 2, 2, 3]
    tables = [rng.dirichlet(np.ones(c), size=cards[p] if p >= 0 else 1) for c, p in zip(cards, parent, strict=True)]
    codes = rng.integers(-1, 2, size=(6, 3))
    evidence = {node: Evidence(codes[:, at], cards[node]) for at, node in enumerate((2, 3, 5))}
    engine = TreeEngine(compile_plan(parent, evidence, pivots=pivots), cards)
    flat = engine.layout.pack(tables)
    rows = reference.rows_of(codes, [2, 3, 5])
    counts = engine.layout.pack(reference.expected_counts(parent, tables, rows, np.ones(6)))
    np.testing.assert_allclose(engine.expected_counts(flat)[1], counts, rtol=1e-10, atol=1e-12)
    logs = reference.log_likelihoods(parent, tables, rows)
    np.testing.assert_allclose(engine.row_log_likelihoods(flat), logs, rtol=1e-10)


@pytest.mark.parametrize("pivots", [{0}, {1}])
def test_more_patterns_than_two_bytes_can_number(pivots):
    rng = np.random.default_rng(0)
    n_states, n_rows = 60, 70_000
    cells = rng.choice(n_states**3, size=n_rows, replace=False)
    codes = np.stack([cells // n_states**2, cells // n_states % n_states, cells % n_states], axis=1)
    extra = rng.integers(0, 2, size=(n_rows, 2))
    parent, cards = np.array([-1, 0, 1, 1, 1, 0, 0]), [2, 3, n_states, n_states, n_states, 2, 2]
    tables = [rng.dirichlet(np.ones(c), size=cards[p] if p >= 0 else 1) for c, p in zip(cards, parent, strict=True)]
    columns = np.concatenate([codes, extra], axis=1)
    evidence = {at + 2: Evidence(columns[:, at], cards[at + 2]) for at in range(5)}
    plan = compile_plan(parent, evidence, pivots=pivots)
    assert (len(plan.high) > 0) == (pivots == {0})  # only then does a site with so many patterns send a message
    engine = TreeEngine(plan, cards)
    below = np.prod([tables[at + 2][:, codes[:, at]].T for at in range(3)], axis=0)  # P(leaves | inner node)
    beside = np.prod([tables[5][:, extra[:, 0]].T, tables[6][:, extra[:, 1]].T], axis=0)
    joint = tables[0][0][None, :, None] * beside[:, :, None] * tables[1][None] * below[:, None, :]
    likelihood = joint.sum(axis=(1, 2))
    flat = engine.layout.pack(tables)
    np.testing.assert_allclose(engine.row_log_likelihoods(flat), np.log(likelihood), rtol=1e-10)
    _, counts = engine.expected_counts(flat)
    found = engine.layout.unpack(counts)
    np.testing.assert_allclose(found[1], (joint / likelihood[:, None, None]).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found[0][0], (joint.sum(axis=2) / likelihood[:, None]).sum(axis=0), rtol=1e-9)
    belief = engine.beliefs(flat, [1])[0]
    np.testing.assert_allclose(belief, joint.sum(axis=1) / likelihood[:, None], rtol=1e-9, atol=1e-12)


def test_the_engine_and_the_compiler_agree_on_the_length_of_messages():
    plan = compile_plan([-1, 0], {1: Evidence(np.array([0]), 2)})
    for card in CARDS:
        assert TreeEngine(plan, [card, 2]).site_step[0] == vectors.stride(card)


def test_the_kinds_of_operations_are_numbered_alike():
    from pgmpy_latent.inference import plan

    for kind in ("LEAF_BELOW", "LEAF_ABOVE", "HARD", "SOFT", "ONES", "PRODUCT", "EDGE", "PIVOT"):
        assert getattr(plan, kind) == getattr(products, kind)


def test_a_state_that_is_ruled_out_among_many_factors():
    """Zeros in tables and in the prior must not be mistaken for numbers that became too small, nor hide these."""
    rng = np.random.default_rng(1)
    n_leaves = 400
    parent = np.array([-1] + [0] * n_leaves)
    tables = [np.array([[0.3, 0.0, 0.7]])] + [rng.dirichlet([1, 1], size=3) for _ in range(n_leaves)]
    tables[7] = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]])
    tables[200] = np.array([[0.5, 0.5], [0.5, 0.5], [1e-200, 1.0]])
    codes = rng.integers(0, 2, size=(40, n_leaves))
    evidence = {at + 1: Evidence(codes[:, at], 2) for at in range(n_leaves)}
    engine = TreeEngine(compile_plan(parent, evidence), [3] + [2] * n_leaves)
    flat = engine.layout.pack(tables)
    belief, logs = reference.log_beliefs(parent, tables, codes, np.arange(1, n_leaves + 1), 0)
    np.testing.assert_allclose(engine.row_log_likelihoods(flat), logs, rtol=1e-10)
    np.testing.assert_allclose(engine.expected_counts(flat)[1][:3], belief.sum(axis=0), rtol=0, atol=1e-9)
