"""EM: it never falls, obeys its options, and finds what is known to be there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import random_memberships, random_tables, uniform_tables
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.runtime.clock import Clock, TimeLimitReached
from pgmpy_latent.testing import codes_for, latent_trees
from tests.inference.test_tree_engine import engine_for, problems
from tests.support import reference


def lowest_step(trace):
    """Return the smallest rise of a trace, in units that rounding can explain."""
    return np.min(np.diff(trace), initial=0) / (1 + np.abs(trace).max())


def reference_step(tree_parent, tables, rows, weights, prior):
    """One EM iteration by enumeration; a row that nothing is known of stays as it is."""
    counts = reference.expected_counts(tree_parent, tables, rows, weights)
    new = [table.copy() for table in tables]
    for table, count in zip(new, counts, strict=True):
        for row in np.flatnonzero((count + prior).sum(axis=1) > 0):
            table[row] = (count[row] + prior) / (count[row] + prior).sum()
    return new


@given(problems(max_nodes=5, max_card=3), st.sampled_from([0.0, 0.5, 1.0]))
def test_one_iteration_equals_the_definition(problem, prior):
    tree, rows, weights, engine, tables = problem
    _, _, new = em.step(em.Problem(engine, prior), tables[None])
    expected = engine.layout.pack(reference_step(tree.parent, tree.tables, rows, weights, prior))
    np.testing.assert_allclose(new[0], expected, rtol=1e-9, atol=1e-12)


@given(problems(), st.sampled_from([0.0, 0.1, 1.0]), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_objective_never_falls(problem, prior, accelerate, seed):
    _, _, _, engine, _ = problem
    starts = random_tables(engine.layout, np.random.default_rng(seed))
    objectives = []
    found = em.fit(
        engine, starts, prior=prior, accelerate=accelerate, max_iter=80, atol=0,
        report=lambda iteration, value: objectives.append(value),
    )  # fmt: skip
    assert len(objectives) == found.n_iter == 80
    assert lowest_step(np.array(objectives)) >= -1e-12
    if prior == 0:
        assert lowest_step(found.log_likelihoods) >= -1e-12
    assert found.log_likelihood == pytest.approx(engine.log_likelihood(found.tables), rel=1e-10, abs=1e-10)
    assert found.objective == pytest.approx(
        found.log_likelihood + em.log_prior(found.tables, prior), rel=1e-10, abs=1e-10
    )


@given(problems(min_nodes=2), st.data(), st.sampled_from([0.0, 0.5]))
def test_frozen_tables_stay_bit_identical(problem, data, prior):
    tree, _, _, engine, _ = problem
    free = np.array([data.draw(st.booleans()) for _ in range(tree.n_nodes)])
    free[data.draw(st.integers(0, tree.n_nodes - 1))] = True
    start = random_tables(engine.layout, np.random.default_rng(1))
    found = em.fit(engine, start, free=free, prior=prior, max_iter=40, atol=0)
    frozen = ~free[engine.layout.table_of_entry]
    np.testing.assert_array_equal(found.tables[frozen], start[frozen])
    before = engine.log_likelihood(start) + em.log_prior(start, prior)
    after = engine.log_likelihood(found.tables) + em.log_prior(found.tables, prior)
    assert after >= before - 1e-9 * (1 + abs(before))
    assert found.objective == pytest.approx(after, rel=1e-9, abs=1e-9)


def test_nothing_is_copied_where_every_node_is_next_to_a_free_table(monkeypatch):
    """As in a root with free leaves, of which EAST fits many."""
    plan = compile_plan([-1, 0, 0], {at: Evidence(np.array([0, 1, 1, 0]), 2) for at in (1, 2)}, pivots=[0])
    engine, free = TreeEngine(plan, [2, 2, 2]), np.array([False, True, True])
    start = random_tables(engine.layout, np.random.default_rng(0))
    kind = type(engine.freeze(start, free))
    assert engine.freeze(start, free).engine is engine
    with_prior = em.fit(engine, start, free=free, prior=1e-12)
    monkeypatch.setattr(kind, "narrow", lambda self, tables: pytest.fail("copied"))
    found = em.fit(engine, start, free=free)
    np.testing.assert_allclose(found.tables, with_prior.tables, atol=1e-6)
    np.testing.assert_array_equal(found.tables[:2], start[:2])


@given(problems(min_nodes=2, max_nodes=5), st.data())
def test_local_em_takes_the_same_steps_as_em_with_a_mask(problem, data):
    tree, _, _, engine, _ = problem
    free = np.zeros(tree.n_nodes, dtype=bool)
    free[data.draw(st.integers(0, tree.n_nodes - 1))] = True
    start = random_tables(engine.layout, np.random.default_rng(2))
    local = em.fit(engine, start, free=free, max_iter=6, atol=0, accelerate=False)
    tables = start[None]
    masked = em.Problem(engine, 0.0, free)
    for _ in range(5):
        _, _, tables = em.step(masked, tables)
    np.testing.assert_allclose(local.tables, tables[0], rtol=1e-9, atol=1e-12)


@given(problems(max_nodes=5), st.integers(0, 2**32 - 1), st.data())
def test_relabelling_the_states_commutes_with_a_fit(problem, seed, data):
    tree, _, _, _, _ = problem
    columns = np.flatnonzero(~tree.latent)
    codes = data.draw(codes_for(tree))
    layout = Layout([table.shape for table in tree.tables])
    start = layout.unpack(random_tables(layout, np.random.default_rng(seed)))
    orders = [np.random.default_rng(seed + 1).permutation(int(card)) for card in tree.cards]

    def relabelled(tables):
        return [
            table[orders[above] if above >= 0 else [0]][:, orders[node]]
            for node, (above, table) in enumerate(zip(tree.parent, tables, strict=True))
        ]

    new_codes = codes.copy()
    for at, column in enumerate(columns):
        place = np.argsort(orders[column])
        new_codes[:, at] = np.where(codes[:, at] < 0, -1, place[np.maximum(codes[:, at], 0)])
    options = {"max_iter": 12, "atol": 0, "accelerate": False}
    plain = em.fit(engine_for(tree, codes), layout.pack(start), **options)
    changed = em.fit(engine_for(tree, new_codes), layout.pack(relabelled(start)), **options)
    assert changed.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-9, abs=1e-9)
    expected = layout.pack(relabelled(layout.unpack(plain.tables)))
    np.testing.assert_allclose(changed.tables, expected, rtol=1e-6, atol=1e-9)


def test_an_all_missing_row_adds_nothing():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=(20, 4))
    longer = np.concatenate([codes, np.full((3, 4), -1)])
    parent = [-1, 0, 0, 0, 0]
    start = random_tables(Layout([(1, 2)] + [(2, 2)] * 4), rng)

    def fitted(rows):
        plan = compile_plan(parent, {at + 1: Evidence(rows[:, at], 2) for at in range(4)})
        return em.fit(TreeEngine(plan, [2] * 5), start, max_iter=500)

    assert fitted(longer).log_likelihood == pytest.approx(fitted(codes).log_likelihood, abs=2e-3)
    plan = compile_plan(parent, {at + 1: Evidence(longer[:, at], 2) for at in range(4)})
    assert TreeEngine(plan, [2] * 5).row_log_likelihoods(start)[-1] == pytest.approx(0.0, abs=1e-12)


def latent_class(n_rows=300, n_items=5, card=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, size=n_rows)
    items = rng.dirichlet(np.full(card, 0.5), size=(n_items, 3))
    bounds = np.cumsum(items, axis=2)
    codes = np.stack([(rng.random(n_rows)[:, None] > bounds[i][truth]).sum(axis=1) for i in range(n_items)], axis=1)
    plan = compile_plan([-1] + [0] * n_items, {at + 1: Evidence(codes[:, at], card) for at in range(n_items)})
    return TreeEngine(plan, [3] + [card] * n_items), codes


def many_starts(engine, n, seed=0):
    return np.stack([random_tables(engine.layout, np.random.default_rng([seed, at])) for at in range(n)])


def test_threads_do_not_change_a_bit():
    engine, _ = latent_class()
    starts = many_starts(engine, 7)
    one = em.fit(engine, starts)
    for n_jobs in (2, 3, 16):
        more = em.fit(engine, starts, n_jobs=n_jobs)
        np.testing.assert_array_equal(one.tables, more.tables)
        np.testing.assert_array_equal(one.final_objectives, more.final_objectives)


def test_the_promised_accuracy_is_kept():
    engine, _ = latent_class()
    for seed in range(5):
        found = em.fit(engine, many_starts(engine, 4, seed), atol=1e-3)
        exact = em.fit(engine, found.tables, atol=1e-10, max_iter=100_000)
        assert found.converged
        assert exact.log_likelihood - found.log_likelihood < 1e-3


def test_leaps_end_where_plain_em_ends():
    engine, _ = latent_class()
    start = many_starts(engine, 1)
    plain = em.fit(engine, start, accelerate=False, atol=1e-7, max_iter=100_000)
    leaping = em.fit(engine, start, atol=1e-7)
    assert leaping.objective == pytest.approx(plain.objective, abs=1e-4)
    assert leaping.n_iter < plain.n_iter


def test_narrowing_keeps_the_shares_of_the_papers():
    assert em.narrowing_stages(64, 2) == [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2), (32, 1)]
    assert em.narrowing_stages(9, 3) == [(1, 3), (2, 1)]
    assert em.narrowing_stages(1, 2) == []
    assert em.narrowing_stages(5, 1.1)[-1][1] == 1


def test_narrowing_follows_the_best_start():
    engine, _ = latent_class()
    starts = many_starts(engine, 8)
    values, tables = [], starts
    for _ in range(4):
        _, objectives, tables = em.step(em.Problem(engine), tables)
        values.append(objectives)
    found = em.fit(engine, starts, narrowing=2, max_iter=500)
    # after one iteration the better half, after three the better quarter, after seven the best one goes on
    survivors = set(np.argsort(-values[1], kind="stable")[:4])
    assert found.best_start in survivors
    assert found.final_objectives[list(set(range(8)) - survivors)] == pytest.approx(
        values[1][list(set(range(8)) - survivors)]
    )


def test_pyramid_runs_as_many_steps_as_it_is_told():
    engine, _ = latent_class()
    found = em.fit(engine, many_starts(engine, 4), narrowing=2, max_iter=20, atol=0)
    assert found.n_iter == 20


def test_the_number_of_starts_that_reached_the_best_is_counted():
    engine, _ = latent_class()
    starts = many_starts(engine, 6)
    found = em.fit(engine, starts)
    alone = np.array([em.fit(engine, start).objective for start in starts])
    assert found.n_best == (alone > alone.max() - 0.01).sum()
    assert found.objective == pytest.approx(alone.max(), abs=1e-3)


def test_impossible_start_is_refused():
    plan = compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)})
    with pytest.raises(ImpossibleRowError, match="probability zero under the starting tables"):
        em.fit(TreeEngine(plan, [2]), np.array([1.0, 0.0]))


def test_an_impossible_start_among_others_is_left_behind():
    engine, _ = latent_class(card=2)
    starts = many_starts(engine, 3)
    engine.layout.unpack(starts)[1][1] = [[1.0, 0.0]] * 3
    found = em.fit(engine, starts)
    assert found.converged
    assert found.final_objectives[1] == -np.inf
    assert np.isfinite(found.final_objectives[[0, 2]]).all()


def test_converged_means_the_tolerance_that_was_asked_for():
    """Polishing to a finer tolerance may run out of iterations without making the fit less converged."""
    engine, _ = latent_class()
    start = many_starts(engine, 1)
    full = em.fit(engine, start)
    for max_iter in range(full.n_iter - 20, full.n_iter):
        found = em.fit(engine, start, max_iter=max_iter)
        if found.n_iter == max_iter and found.converged:
            assert found.objective >= full.objective - 1e-3
            break
    else:
        pytest.fail("no number of iterations ends within polishing")


def test_zeros_stay_zeros():
    """Where maxima are not checked, a zero in the start is a constraint that EM keeps; a leap must not break it."""
    engine, _ = latent_class(card=2)
    start = random_tables(engine.layout, np.random.default_rng(5))
    layout = engine.layout
    layout.unpack(start)[1][0] = [0.0, 1.0]
    layout.unpack(start)[1][1] = [0.4, 0.6]
    found = em.fit(engine, start, max_iter=300, check=False)
    np.testing.assert_array_equal(layout.unpack(found.tables)[1][0], [0.0, 1.0])


def test_ctrl_c_returns_the_best_so_far():
    engine, _ = latent_class()
    starts = many_starts(engine, 3)

    def stop(iteration, value):
        if iteration == 25:
            raise KeyboardInterrupt

    found = em.fit(engine, starts, report=stop)
    assert found.interrupted
    assert not found.converged
    assert found.log_likelihood == pytest.approx(engine.log_likelihood(found.tables), rel=1e-10)
    assert found.log_likelihood > engine.log_likelihood(starts).max()


def test_an_interrupt_at_any_moment_leaves_a_model(monkeypatch):
    engine, _ = latent_class(n_rows=60)
    starts = many_starts(engine, 3)
    step, calls = em.Problem.step, 0

    def counting(*arguments):
        nonlocal calls
        calls += 1
        if calls == last:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(em.Problem, "step", counting)
    last = 0
    em.fit(engine, starts)
    total = calls
    for moment in range(2, total + 1):
        calls, last = 0, moment
        found = em.fit(engine, starts)
        assert found.interrupted
        assert found.log_likelihood == pytest.approx(engine.log_likelihood(found.tables), rel=1e-10)


def test_the_best_is_counted_with_the_tolerance_asked_for_also_without_polishing():
    engine, _ = latent_class()
    found = em.fit(engine, many_starts(engine, 6), max_iter=24)
    assert found.n_best == (found.final_objectives >= found.objective - 0.01 - 1e-6).sum()


def test_frozen_tables_must_agree_and_something_must_be_free():
    engine, _ = latent_class()
    starts = many_starts(engine, 2)
    free = np.array([True] + [False] * 5)
    with pytest.raises(ValueError, match="differ in tables that are not free"):
        em.fit(engine, starts, free=free)
    with pytest.raises(ValueError, match="no table is free"):
        em.fit(engine, starts[0], free=np.zeros(6, dtype=bool))


def test_priors_give_the_posterior_mode_on_complete_data():
    plan = compile_plan([-1], {0: Evidence(np.array([0, 0, 0, 1]), 3)})
    found = em.fit(TreeEngine(plan, [3]), np.full(3, 1 / 3), prior=2.0)
    np.testing.assert_allclose(found.tables, [5 / 10, 3 / 10, 2 / 10], rtol=1e-12)
    assert found.objective == pytest.approx(found.log_likelihood + 2 * np.log(found.tables).sum(), rel=1e-12)


# stopping at a small last step, as papers do


def textbook(engine, start, n_iter, prior=0.0):
    """Return tables, log-likelihoods and objectives of plain EM, one entry per iteration."""
    tables, logs, objectives = [start], [], []
    for _ in range(n_iter):
        log, objective, new = em.step(em.Problem(engine, prior), tables[-1][None])
        logs.append(log[0])
        objectives.append(objective[0])
        tables.append(new[0])
    return tables[:-1], np.array(logs), np.array(objectives)


def first_small_step(objectives, atol, after=1):
    """Return the number of the first iteration, beyond some, that gained no more than the tolerance."""
    gains = np.diff(objectives)
    return next(at + 2 for at, gain in enumerate(gains) if gain <= atol and at + 2 > after)


@given(problems(max_nodes=5, max_card=3), st.sampled_from([0.0, 0.5]), st.integers(1, 5))
def test_without_leaps_the_trace_is_the_one_of_the_definition(problem, prior, max_iter):
    tree, rows, weights, engine, flat = problem
    found = em.fit(engine, flat, prior=prior, max_iter=max_iter, atol=0, accelerate=False, stop="last_step")
    tables, expected = tree.tables, []
    for _ in range(max_iter):
        reached = tables
        expected.append(weights @ reference.log_likelihoods(tree.parent, tables, rows))
        tables = reference_step(tree.parent, tables, rows, weights, prior)
    np.testing.assert_allclose(found.log_likelihoods, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.tables, engine.layout.pack(reached), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("atol", [30.0, 1.0, 1e-2, 1e-4])  # the first ends before a warm-up would
@pytest.mark.parametrize("seed", range(3))
def test_the_first_small_step_is_the_last(seed, atol, prior):
    engine, _ = latent_class()
    start = random_tables(engine.layout, np.random.default_rng(seed))
    found = em.fit(engine, start, prior=prior, atol=atol, accelerate=False, stop="last_step")
    tables, logs, objectives = textbook(engine, start, 2000, prior)
    n_iter = first_small_step(objectives, atol)
    assert found.n_iter == n_iter
    assert found.converged
    np.testing.assert_allclose(found.log_likelihoods, logs[:n_iter], rtol=1e-12)
    np.testing.assert_allclose(found.tables, tables[n_iter - 1], rtol=1e-9, atol=1e-15)
    assert found.objective == pytest.approx(objectives[n_iter - 1], rel=1e-12)
    assert found.remaining_gain == pytest.approx(objectives[n_iter - 1] - objectives[n_iter - 2], rel=1e-6)


def test_every_start_ends_at_its_own_first_small_step():
    engine, _ = latent_class()
    starts = many_starts(engine, 6)
    found = em.fit(engine, starts, atol=1e-2, accelerate=False, stop="last_step")
    courses = [textbook(engine, start, 2000) for start in starts]
    ends = [first_small_step(objectives, 1e-2) for _, _, objectives in courses]
    assert len(set(ends)) > 1
    finals = [objectives[end - 1] for (_, _, objectives), end in zip(courses, ends, strict=True)]
    np.testing.assert_allclose(found.final_objectives, finals, rtol=1e-12)
    assert found.best_start == np.argmax(finals)
    assert found.n_iter == ends[found.best_start]


@pytest.mark.parametrize("atol", [30.0, 1.0, 1e-2, 1e-4])
def test_the_first_small_step_after_narrowing_is_the_last(atol):
    engine, _ = latent_class()
    starts = many_starts(engine, 8)
    courses = [textbook(engine, start, 2000) for start in starts]
    left, n_iter = np.arange(8), 1
    for iterations, kept in em.narrowing_stages(8, 2):
        n_iter += iterations
        values = np.array([courses[number][2][n_iter - 1] for number in left])
        left = np.sort(left[np.argsort(-values, kind="stable")[:kept]])
    found = em.fit(engine, starts, atol=atol, narrowing=2, accelerate=False, stop="last_step")
    assert [found.best_start] == left.tolist()
    tables, logs, objectives = courses[found.best_start]
    assert found.n_iter == first_small_step(objectives, atol, after=n_iter)
    assert found.converged
    np.testing.assert_allclose(found.log_likelihoods, logs[: found.n_iter], rtol=1e-12)
    np.testing.assert_allclose(found.tables, tables[found.n_iter - 1], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("narrowing", [None, 2])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 8, 9, 20])
def test_a_run_to_a_small_step_takes_no_more_iterations_than_allowed(monkeypatch, max_iter, narrowing, accelerate):
    engine, _ = latent_class()
    starts = many_starts(engine, 8)
    step, calls = em.step, []

    def counting(*arguments):
        calls.append(arguments)
        return step(*arguments)

    monkeypatch.setattr(em.Problem, "step", counting)
    found = em.fit(
        engine, starts, max_iter=max_iter, atol=1e-9, narrowing=narrowing, accelerate=accelerate, stop="last_step"
    )
    assert len(calls) == found.n_iter == len(found.log_likelihoods) == max_iter
    assert not found.converged
    monkeypatch.undo()
    assert found.log_likelihood == pytest.approx(engine.log_likelihood(found.tables), rel=1e-10)
    if not accelerate:
        tables, logs, _ = textbook(engine, starts[found.best_start], max_iter)
        np.testing.assert_allclose(found.log_likelihoods, logs, rtol=1e-12)
        np.testing.assert_allclose(found.tables, tables[-1], rtol=1e-9, atol=1e-15)


def test_nothing_is_polished_after_a_small_step(monkeypatch):
    engine, _ = latent_class()
    step, calls = em.step, []

    def counting(*arguments):
        calls.append(arguments)
        return step(*arguments)

    monkeypatch.setattr(em.Problem, "step", counting)
    found = em.fit(engine, many_starts(engine, 1), atol=1e-2, accelerate=False, stop="last_step")
    assert found.converged
    assert len(calls) == found.n_iter


# many starts of several problems at once


def grouped(n_groups=3, per_group=5, seed=0):
    """Return an engine with a weighting per group, starts and the group of each, in no order."""
    engine, _ = latent_class(n_rows=60, card=2)
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.0, size=(n_groups, 60)) * (rng.random((n_groups, 60)) < 0.8)
    groups = rng.permutation(np.repeat(np.arange(n_groups), per_group))
    return engine.reweighted(weights), many_starts(engine, len(groups), seed), groups


def narrowed_alone(engine, starts, stages, prior):
    """Take the starts of one problem through the stages, one iteration and one start at a time."""
    starts = [start[None] for start in starts]
    for iterations, kept in stages:
        values = np.full(len(starts), -np.inf)
        for _ in range(iterations):
            steps = [em.step(em.Problem(engine, prior), start) for start in starts]
            values = np.array([log_likelihoods[0] for log_likelihoods, _, _ in steps])
            starts = [new for _, _, new in steps]
        starts = [starts[at] for at in np.argsort(-values, kind="stable")[:kept] if np.isfinite(values[at])]
    return np.concatenate(starts) if starts else np.empty((0, engine.layout.size))


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("stages", [[(1, 1)], [(3, 4), (2, 2)], [(4, 3), (8, 2), (16, 1)]])
def test_groups_are_narrowed_as_each_would_be_alone(prior, stages):
    engine, starts, groups = grouped()
    tables, values, left = em.narrowed_in_groups(engine, starts, groups, stages, prior)
    assert left.tolist() == np.repeat([0, 1, 2], stages[-1][1]).tolist()
    for group in range(3):
        alone = engine.reweighted(engine.weights[group])
        expected = narrowed_alone(alone, starts[groups == group], stages, prior)
        np.testing.assert_allclose(tables[left == group], expected, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(values[left == group], alone.log_likelihood(expected), rtol=1e-10)


def test_impossible_starts_of_a_group_are_left_out():
    engine, starts, groups = grouped()
    layout = engine.layout
    first = np.flatnonzero(groups == 1)
    for at in first[:3]:
        layout.unpack(starts[at])[1][:] = [[1.0, 0.0]] * 3  # a column that is always the same
    tables, values, left = em.narrowed_in_groups(engine, starts, groups, [(2, 4)])
    assert left.tolist() == [0] * 4 + [1] * 2 + [2] * 4
    assert np.isfinite(values).all()
    assert np.isfinite(tables).all()
    for at in first:
        layout.unpack(starts[at])[1][:] = [[1.0, 0.0]] * 3
    tables, values, left = em.narrowed_in_groups(engine, starts, groups, [(2, 2), (1, 1)])
    assert left.tolist() == [0, 2]
    starts[:] = starts[first[0]]
    assert [len(found) for found in em.narrowed_in_groups(engine, starts, groups, [(1, 2), (1, 1)])] == [0, 0, 0]


def test_without_iterations_the_best_start_is_kept():
    engine, starts, groups = grouped()
    tables, values, left = em.narrowed_in_groups(engine, starts, groups, [(0, 1)])
    assert left.tolist() == [0, 1, 2]
    for group in range(3):
        own = starts[groups == group]
        best = np.argmax(engine.reweighted(engine.weights[group]).log_likelihood(own))
        np.testing.assert_array_equal(tables[group], own[best])
    np.testing.assert_allclose(values, engine.log_likelihood(tables, left), rtol=1e-12)


@given(problems(max_nodes=5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_several_weightings_equal_separate_engines(problem, n_weightings, seed):
    _, rows, _, engine, _ = problem
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.0, size=(n_weightings, len(rows)))
    which = rng.integers(n_weightings, size=5)
    starts = np.stack([random_tables(engine.layout, rng) for _ in which])
    together = engine.reweighted(weights)
    logs, counts = together.expected_counts(starts, None, which)
    np.testing.assert_allclose(together.log_likelihood(starts, which), logs, rtol=1e-12, atol=1e-12)
    for at, weighting in enumerate(which):
        alone = engine.reweighted(weights[weighting])
        log, count = alone.expected_counts(starts[at])
        assert logs[at] == pytest.approx(log, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(counts[at], count, rtol=1e-12, atol=1e-15)


def test_a_clock_stops_em_after_any_iteration_or_where_it_can_be_resumed():
    engine, _ = latent_class()
    starts = many_starts(engine, 3)
    ends = []
    for checkpoint in (None, lambda position, last: None):
        checks = []

        def count(checks=checks):
            checks.append(None)
            if len(checks) == 20:
                raise TimeLimitReached

        found = em.fit(engine, starts, clock=Clock(on_check=count), checkpoint=checkpoint)
        assert found.interrupted
        ends.append(found.n_iter)
    assert ends[0] < 20 < ends[1]  # cycles are checked, too, which take more than one iteration


def test_an_interrupt_after_the_first_iteration_leaves_a_model():
    engine, _ = latent_class()
    starts = many_starts(engine, 3)

    def stop(iteration, value):
        raise KeyboardInterrupt

    found = em.fit(engine, starts, report=stop)
    assert found.interrupted
    assert found.n_iter == 1
    assert found.log_likelihood == pytest.approx(engine.log_likelihood(starts).max(), rel=1e-12)


# starts


@settings(max_examples=30)
@given(latent_trees(min_nodes=2, latents_are_inner=True), st.data(), st.integers(0, 1000))
def test_membership_starts_are_tables_and_do_not_depend_on_the_order_of_rows(tree, data, seed):
    observed = data.draw(codes_for(tree, min_rows=2))
    codes = np.full((len(observed), tree.n_nodes), -1)
    codes[:, ~tree.latent] = observed
    # equal rows have equal keys; the order among them does not matter
    _, first, keys = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    codes, keys = codes[first], keys[first].astype(np.uint64) * np.uint64(7919)
    weights = np.arange(1.0, len(codes) + 1)
    seed = np.random.SeedSequence(seed)
    layout = Layout([table.shape for table in tree.tables])
    one = random_memberships(tree.parents, tree.cards, codes, weights, keys, seed)
    assert one.shape == (layout.size,)
    assert (one > 0).all()
    np.testing.assert_allclose(layout.row_sums(one), 1.0, rtol=1e-12)
    back = slice(None, None, -1)
    other = random_memberships(tree.parents, tree.cards, codes[back], weights[back], keys[back], seed)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_uniform_tables_are_uniform():
    layout = Layout([(1, 4), (4, 2)])
    np.testing.assert_array_equal(uniform_tables(layout), [0.25] * 4 + [0.5] * 8)


def test_zeros_of_a_start_do_not_outlive_a_prior_unless_they_are_frozen():
    plan = compile_plan([-1, 0], {1: Evidence(np.array([0, 1, 1, 0]), 2)})
    engine = TreeEngine(plan, [2, 2])
    start = np.array([0.5, 0.5, 1.0, 0.0, 0.5, 0.5])
    found = em.fit(engine, start, prior=0.5)
    assert (found.tables > 0).all()
    assert np.isfinite(found.objective)
    frozen = em.fit(engine, start, prior=0.5, free=np.array([True, False]))
    np.testing.assert_array_equal(frozen.tables[2:], start[2:])


def test_a_start_under_which_a_row_is_next_to_impossible_gives_way_to_others():
    codes = [Evidence(np.array([0, 1]), 2)] * 2
    engine = TreeEngine(compile_plan([-1, 0, 0], {1: codes[0], 2: codes[1]}), [2, 2, 2])
    tiny = 5e-324
    hopeless = np.array([0.5, 0.5, 1.0, tiny, 1.0, tiny, 1.0, 1e-300, 1.0, 1e-300])
    sensible = np.array([0.5, 0.5, 0.8, 0.2, 0.2, 0.8, 0.8, 0.2, 0.2, 0.8])
    found = em.fit(engine, np.stack([hopeless, sensible]))
    assert found.best_start == 1
    assert np.isfinite(found.tables).all()


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_groups_end_where_each_would_end_alone(prior):
    engine, starts, groups = grouped()
    tables, values = em.fit_groups(engine, starts, groups, prior=prior, atol=1e-6)
    for group in range(3):
        alone = engine.reweighted(engine.weights[group])
        found = em.fit(alone, starts[groups == group], prior=prior, atol=1e-6, polish=False)
        np.testing.assert_allclose(tables[group], found.tables, rtol=1e-9, atol=1e-12)
        assert values[group] == pytest.approx(found.log_likelihood, rel=1e-12)
        assert values[group] == pytest.approx(alone.log_likelihood(tables[group]), rel=1e-10)


def test_groups_are_thinned_out_as_each_would_be_alone():
    engine, starts, groups = grouped()
    stages = em.narrowing_stages(5, 2)
    tables, values = em.fit_groups(engine, starts, groups, stages=stages)
    for group in range(3):
        alone = engine.reweighted(engine.weights[group])
        found = em.fit(alone, starts[groups == group], narrowing=2, polish=False)
        np.testing.assert_allclose(tables[group], found.tables, rtol=1e-9, atol=1e-12)
        assert values[group] == pytest.approx(found.log_likelihood, rel=1e-12)


def test_groups_end_after_as_many_iterations_as_allowed():
    engine, starts, groups = grouped(per_group=1)
    tables, _ = em.fit_groups(engine, starts, groups, max_iter=3, atol=0)
    for group, start in zip(groups, starts, strict=True):
        expected = textbook(engine.reweighted(engine.weights[group]), start, 3)[0][-1]
        np.testing.assert_allclose(tables[group], expected, rtol=1e-9, atol=1e-15)


def test_a_group_without_a_possible_start_is_named():
    engine, starts, groups = grouped()
    first = np.flatnonzero(groups == 1)
    for at in first[:3]:
        engine.layout.unpack(starts[at])[1][:] = [[1.0, 0.0]] * 3
    tables, values = em.fit_groups(engine, starts, groups)
    assert np.isfinite(values).all()
    assert tables.shape == (3, engine.layout.size)
    for at in first:
        engine.layout.unpack(starts[at])[1][:] = [[1.0, 0.0]] * 3
    with pytest.raises(ImpossibleRowError, match="rows of problem 1 have probability zero under all of its starting"):
        em.fit_groups(engine, starts, groups)
