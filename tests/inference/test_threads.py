"""Large plans in parts: the same numbers, and the same bits whoever computes them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference import threads as parts
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from tests.inference.test_tree_engine import TOLERANCE, problems
from tests.support import reference


@contextmanager
def everything_is_large(most_sums=np.inf, size=2):
    """Cut every operation into as many parts as it has numbers."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "FEW_ROWS", 0)
        patched.setattr(parts, "SIZE", size)
        patched.setattr(parts, "MOST_SUMS", most_sums)
        yield


def anew(engine):
    return TreeEngine(engine.plan, engine.cards, engine.weights)


@given(problems(), st.sampled_from([np.inf, 0.25]), st.integers(1, 9))
def test_counts_in_parts_equal_enumeration(problem, most_sums, size):
    tree, rows, weights, engine, tables = problem
    with everything_is_large(most_sums, size):
        cut = anew(engine)
        log_likelihood, counts = cut.expected_counts(tables)
        logs = cut.row_log_likelihoods(tables)
        alone = cut.log_likelihood(tables)
    expected = reference.expected_counts(tree.parent, tree.tables, rows, weights)
    np.testing.assert_allclose(counts, engine.layout.pack(expected), **TOLERANCE)
    np.testing.assert_array_equal(logs, engine.row_log_likelihoods(tables))
    assert log_likelihood == alone == pytest.approx(engine.log_likelihood(tables), rel=1e-12, abs=1e-12)


@given(problems(), st.sampled_from([np.inf, 0.25]), st.data())
def test_threads_change_no_bit(problem, most_sums, data):
    tree, _, _, engine, tables = problem
    free = np.array([data.draw(st.booleans()) for _ in range(tree.n_nodes)])
    starts = np.stack([tables, random_tables(engine.layout, np.random.default_rng(0))])
    with everything_is_large(most_sums), ThreadPoolExecutor(3) as pool:
        cut = anew(engine)
        for given_free in (None, free):
            shared = cut.expected_counts(starts, given_free, pool=pool)
            for one, other in zip(cut.expected_counts(starts, given_free), shared, strict=True):
                np.testing.assert_array_equal(one, other)
            for at, start in enumerate(starts):
                for one, other in zip(cut.expected_counts(start, given_free), shared, strict=True):
                    np.testing.assert_array_equal(one, other[at])


def test_all_operations_are_cut_if_they_are_large():
    rng = np.random.default_rng(0)
    evidence = {node: Evidence(rng.integers(-1, 3, 400), 3) for node in range(3, 12)}
    parents = [-1, 0, 0, *[0] * 3, *[1] * 3, *[2] * 3]
    engine = TreeEngine(compile_plan(parents, evidence, pivots=[0]), [2, 3, 5, *[3] * 9])
    assert not engine.is_large
    tables = random_tables(engine.layout, rng)
    expected = engine.expected_counts(tables)
    with everything_is_large():
        cut = anew(engine)
        up, down = cut._ways
        assert cut.is_large
        kinds = {
            way: {engine.plan.steps[one.begin].kind for one in some if one.cuts} for way, some in enumerate((up, down))
        }
        assert kinds == {0: {parts.PIVOT, parts.PRODUCT, parts.EDGE}, 1: {parts.PRODUCT, parts.EDGE}}
        for some, order in ((up, 1), (down, -1)):
            assert [at for one in some[::order] for at in range(one.begin, one.end)] == list(
                range(len(engine.plan.steps))
            )
        for one, other in zip(cut.expected_counts(tables), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    with everything_is_large(most_sums=0.0):  # what adds up into too many numbers is not cut
        up, down = anew(engine)._ways
        assert parts.PIVOT not in {engine.plan.steps[one.begin].kind for one in up if one.cuts}
        assert {engine.plan.steps[one.begin].kind for one in down if one.cuts} == {parts.EDGE}


@pytest.mark.parametrize("n_starts", [1, 2, 3, 5])
def test_em_on_a_large_table_does_not_depend_on_threads(n_starts):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (300, 6))
    evidence = {node: Evidence(codes[:, node - 1], 3) for node in range(1, 7)}
    with everything_is_large(size=64):
        engine = TreeEngine(compile_plan([-1] + [0] * 6, evidence), [3] * 7)
        assert engine.is_large
        starts = np.stack([random_tables(engine.layout, np.random.default_rng(at)) for at in range(n_starts)])
        one = em.fit(engine, starts, max_iter=60)
        for n_jobs in (2, 3):
            more = em.fit(engine, starts, max_iter=60, n_jobs=n_jobs)
            np.testing.assert_array_equal(more.tables, one.tables)
            np.testing.assert_array_equal(more.final_objectives, one.final_objectives)
            np.testing.assert_array_equal(more.log_likelihoods, one.log_likelihoods)


def test_no_more_threads_than_asked_for(monkeypatch):
    rng = np.random.default_rng(2)
    evidence = {node: Evidence(rng.integers(0, 3, 200), 3) for node in range(1, 5)}
    asked = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, n):
            asked.append(n)
            super().__init__(n)

    monkeypatch.setattr("pgmpy_latent.runtime.parallel.ThreadPoolExecutor", Pool)
    with everything_is_large(size=16):
        engine = TreeEngine(compile_plan([-1] + [0] * 4, evidence), [2] + [3] * 4)
        start = random_tables(engine.layout, rng)
        em.fit(engine, start, max_iter=20, n_jobs=1)
        assert asked == []
        em.fit(engine, start, max_iter=20, n_jobs=2)
    assert asked == [2]
