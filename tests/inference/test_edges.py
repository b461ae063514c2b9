"""Edges between hidden nodes of any number of states, against enumeration of the hidden states."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference import threads
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from tests.support import reference

#: Relative to the largest count of a table.
EXACT = 1e-12


class Problem:
    """A chain or star of hidden nodes, each with columns below it, one with soft evidence; some cells are missing."""

    def __init__(self, seed: int, hidden: list[int], chain: bool = True, n_rows: int = 12, pivots=()):
        rng = np.random.default_rng(seed)
        n_hidden = len(hidden)
        above = [-1, *(range(n_hidden - 1) if chain else [0] * (n_hidden - 1))]
        below = np.repeat(np.arange(n_hidden), 2)
        self.parent = np.array([*above, *below])
        self.cards = [*hidden, *rng.integers(2, 4, size=len(below)).tolist()]
        self.codes = rng.integers(-1, 2, size=(n_rows, len(below)))
        self.soft = rng.random((3, hidden[-1])) * rng.choice([1e-3, 1.0], size=(3, 1))
        self.index = rng.integers(0, 3, size=n_rows)
        self.weights = rng.integers(0, 4, size=n_rows) + rng.choice([0.0, 0.5], size=n_rows)
        self.weights[0] = 1.0
        columns = range(n_hidden, n_hidden + len(below))
        evidence = {c: Evidence(self.codes[:, at], self.cards[c]) for at, c in enumerate(columns)}
        evidence[n_hidden - 1] = Evidence(self.index, hidden[-1], self.soft)
        self.engine = TreeEngine(compile_plan(self.parent, evidence, pivots=pivots), self.cards, self.weights)
        self.tables = random_tables(self.engine.layout, rng)
        self.rows = reference.rows_of(self.codes, list(columns))
        for row, pattern in zip(self.rows, self.index, strict=True):
            row[n_hidden - 1] = self.soft[pattern]

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        tables = self.engine.layout.unpack(self.tables)
        logs, counts = reference.expected_counts_of_few_hidden(self.parent, tables, self.rows, self.weights)
        return logs, self.engine.layout.pack(counts)


problems = st.builds(
    Problem,
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 40), min_size=2, max_size=3),
    st.booleans(),
    n_rows=st.integers(1, 12),
    pivots=st.sets(st.integers(0, 2)),
)


def assert_close(engine: TreeEngine, found: np.ndarray, expected: np.ndarray, bound: float) -> None:
    for own, table in zip(engine.layout.unpack(found), engine.layout.unpack(expected), strict=True):
        np.testing.assert_allclose(own, table, rtol=bound, atol=bound * table.max())


@settings(max_examples=40)
@given(problems)
def test_any_numbers_of_states_equal_enumeration(problem):
    logs, counts = problem.expected()
    log_likelihood, found = problem.engine.expected_counts(problem.tables)
    assert log_likelihood == pytest.approx(problem.weights @ logs, rel=EXACT)
    np.testing.assert_allclose(problem.engine.row_log_likelihoods(problem.tables), logs, rtol=EXACT, atol=EXACT)
    assert_close(problem.engine, found, counts, EXACT)


@settings(max_examples=20)
@given(problems, st.data())
def test_wanted_tables_frozen_parts_and_several_starts(problem, data):
    engine = problem.engine
    _, counts = problem.expected()
    free = np.array([data.draw(st.booleans()) for _ in problem.cards])
    free[data.draw(st.integers(0, len(free) - 1))] = True
    kept = counts * free[engine.layout.table_of_entry]
    assert_close(engine, engine.expected_counts(problem.tables, free=free)[1], kept, EXACT)
    frozen = engine.freeze(problem.tables, free)
    inner = frozen.engine.expected_counts(frozen.narrow(problem.tables))[1]
    assert_close(engine, frozen.widen(inner, np.zeros_like(counts)), kept, EXACT)
    starts = np.stack([problem.tables, random_tables(engine.layout, np.random.default_rng(0)), problem.tables])
    together = engine.expected_counts(starts)
    for at, start in enumerate(starts):
        log_likelihood, alone = engine.expected_counts(start)
        assert together[0][at] == log_likelihood
        np.testing.assert_array_equal(together[1][at], alone)


@pytest.mark.parametrize("card", [2, 8, 32])
def test_messages_that_leave_the_range_of_numbers(card):
    """Two hidden nodes with 400 columns each: products of 1e-300 and below cross the edge between them."""
    rng = np.random.default_rng(card)
    n_leaves = 400
    parent = np.array([-1, 0] + [0] * n_leaves + [1] * n_leaves)
    columns = np.arange(2, len(parent))
    codes = rng.integers(0, 2, size=(9, len(columns)))
    evidence = {int(c): Evidence(codes[:, at], 2) for at, c in enumerate(columns)}
    engine = TreeEngine(compile_plan(parent, evidence), [card, card, *[2] * len(columns)])
    flat = random_tables(engine.layout, rng)
    tables = engine.layout.unpack(flat)
    belief, logs = reference.log_beliefs(parent, tables, codes, columns, 0)
    assert logs.max() < -320
    log_likelihood, counts = engine.expected_counts(flat)
    assert log_likelihood == pytest.approx(logs.sum(), rel=EXACT)
    np.testing.assert_allclose(engine.layout.unpack(counts)[0][0], belief.sum(axis=0), rtol=0, atol=1e-10)
    belief, _ = reference.log_beliefs(parent, tables, codes, columns, 1)
    np.testing.assert_allclose(engine.layout.unpack(counts)[1].sum(axis=0), belief.sum(axis=0), rtol=0, atol=1e-10)


@pytest.mark.parametrize("card", [4, 20, 32])
def test_threads_change_no_bit_of_wide_edges(card, monkeypatch):
    monkeypatch.setattr(threads, "FEW_ROWS", 0)
    monkeypatch.setattr(threads, "SIZE", 64)
    problem = Problem(card, [card, card, 5], n_rows=300)
    assert problem.engine.is_large
    log_likelihood, counts = problem.engine.expected_counts(problem.tables)
    with ThreadPoolExecutor(2) as pool:
        found = problem.engine.expected_counts(problem.tables, pool=pool)
    assert found[0] == log_likelihood
    np.testing.assert_array_equal(found[1], counts)
    logs, expected = problem.expected()
    assert log_likelihood == pytest.approx(problem.weights @ logs, rel=EXACT)
    assert_close(problem.engine, counts, expected, EXACT)
