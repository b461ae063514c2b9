"""Expected counts in single precision, against enumeration and against double precision, within the stated bounds."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference import threads
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from tests.inference.test_edges import Problem, assert_close, problems

#: As stated by ``TreeEngine.in_precision``: nats for each row and node, and parts of the largest count of a table.
NATS, SHARE = 1e-6, 1e-4


def assert_within_bounds(engine: TreeEngine, found: tuple, expected: tuple) -> None:
    weight = np.abs(engine.weights).sum()
    assert abs(found[0] - expected[0]) <= NATS * max(weight, 1.0) * len(engine.cards)
    assert_close(engine, found[1], expected[1], SHARE)


@settings(max_examples=40)
@given(problems)
def test_any_numbers_of_states_are_close_to_enumeration(problem):
    logs, counts = problem.expected()
    rounded = problem.engine.in_precision("single")
    assert_within_bounds(rounded, rounded.expected_counts(problem.tables), (problem.weights @ logs, counts))


@settings(max_examples=20)
@given(problems)
def test_all_but_the_counts_is_computed_in_double(problem):
    engine, tables = problem.engine, problem.tables
    rounded = engine.in_precision("single")
    assert rounded.log_likelihood(tables) == engine.log_likelihood(tables)
    np.testing.assert_array_equal(rounded.row_log_likelihoods(tables), engine.row_log_likelihoods(tables))
    again = rounded.in_precision("double").expected_counts(tables)
    np.testing.assert_array_equal(again[1], engine.expected_counts(tables)[1])


@settings(max_examples=20)
@given(problems)
def test_several_starts_and_free_tables(problem):
    rounded = problem.engine.in_precision("single")
    starts = np.stack([problem.tables, random_tables(rounded.layout, np.random.default_rng(0))])
    values, counts = rounded.expected_counts(starts)
    for at, start in enumerate(starts):
        alone = rounded.expected_counts(start)
        assert values[at] == alone[0]
        np.testing.assert_array_equal(counts[at], alone[1])
    free = np.arange(len(problem.cards)) == len(problem.cards) - 1
    some = rounded.expected_counts(problem.tables, free=free)[1]
    np.testing.assert_array_equal(some, counts[0] * free[rounded.layout.table_of_entry])


@pytest.mark.parametrize("card", [1, 2, 8, 32])
def test_products_beyond_the_range_of_single_precision(card):
    """A hundred hidden nodes in a chain, with ten columns each: rows have a probability of e**-700 or so."""
    rng = np.random.default_rng(card)
    n_hidden, n_below = 100, 10
    parent = np.array([*range(-1, n_hidden - 1), *np.repeat(np.arange(n_hidden), n_below)])
    codes = rng.integers(0, 2, size=(40, n_hidden * n_below))
    evidence = {n_hidden + at: Evidence(codes[:, at], 2) for at in range(codes.shape[1])}
    engine = TreeEngine(compile_plan(parent, evidence), [card] * n_hidden + [2] * codes.shape[1])
    tables = random_tables(engine.layout, rng)
    exact = engine.expected_counts(tables)
    assert exact[0] / 40 < -500
    assert_within_bounds(engine, engine.in_precision("single").expected_counts(tables), exact)


def test_rows_that_single_precision_makes_impossible_are_computed_in_double():
    """What is below says state 1, what is above says state 2, by 50 orders of magnitude each."""
    sure = np.array([[1.0, 1e-50]])
    evidence = {1: Evidence(np.zeros(3, int), 2, sure), 0: Evidence(np.zeros(3, int), 2, sure[:, ::-1])}
    engine = TreeEngine(compile_plan([-1, 0], evidence, pivots=[0]), [2, 2])
    tables = engine.layout.pack([np.array([[0.5, 0.5]]), np.eye(2)])
    exact, found = engine.expected_counts(tables), engine.in_precision("single").expected_counts(tables)
    assert np.isfinite(exact[0])
    assert found[0] == exact[0]
    np.testing.assert_array_equal(found[1], exact[1])


def test_impossible_rows_stay_impossible():
    engine = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)}), [2])
    assert engine.in_precision("single").expected_counts(np.array([1.0, 0.0]))[0] == -np.inf


@pytest.mark.parametrize("card", [2, 4, 20, 32])
def test_threads_change_no_bit(card, monkeypatch):
    monkeypatch.setattr(threads, "FEW_ROWS", 0)
    monkeypatch.setattr(threads, "SIZE", 64)
    problem = Problem(card, [card, card, 5], n_rows=300)
    rounded = problem.engine.in_precision("single")
    assert rounded.is_large
    log_likelihood, counts = rounded.expected_counts(problem.tables)
    with ThreadPoolExecutor(2) as pool:
        found = rounded.expected_counts(problem.tables, pool=pool)
    assert found[0] == log_likelihood
    np.testing.assert_array_equal(found[1], counts)
    logs, expected = problem.expected()
    assert_within_bounds(rounded, found, (problem.weights @ logs, expected))
