"""Constraints on tables: they hold in every step of EM, which never falls, and are counted right."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.ascent import Ascent, StopRule
from pgmpy_latent.em.constraints import Constraints
from pgmpy_latent.em.curvature import gain_left
from pgmpy_latent.em.log_linear import ordinal_item
from pgmpy_latent.em.maximum import higher, promised_gains
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from tests.em.test_fit import latent_class, lowest_step, many_starts

FREE = np.nan


def all_kinds(layout):
    """Ties of the first two items, a fixed zero and a fixed value in the third, order in the last two."""
    fixed = np.full(layout.size, FREE)
    third = layout.slices[3]
    fixed[third.start], fixed[third.start + 4] = 0.0, 0.3
    return Constraints(layout, [[1, 2]], fixed, {4: ordinal_item(3, 3), 5: ordinal_item(3, 3)})


def assert_hold(constraints, tables):
    layout = constraints.layout
    for group in constraints.tied:
        for table in group[1:]:
            np.testing.assert_array_equal(tables[..., layout.slices[table]], tables[..., layout.slices[group[0]]])
    if constraints.fixed is not None:
        known = ~np.isnan(constraints.fixed)
        expected = np.broadcast_to(constraints.fixed[known], tables[..., known].shape)
        np.testing.assert_array_equal(tables[..., known], expected)
    for table, family in constraints.log_linear.items():
        found = tables[..., layout.slices[table]].reshape(*tables.shape[:-1], *family.shape)
        np.testing.assert_allclose(family.tables(family.parameters(found)), found, atol=1e-9)
    np.testing.assert_allclose(layout.row_sums(tables), 1.0, atol=1e-9)


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_falls_and_constraints_hold_in_every_step(prior, accelerate, seed, monkeypatch):
    engine, _ = latent_class(seed=seed)
    constraints = all_kinds(engine.layout)
    visited = []

    def step(problem, tables, *rest):
        if sys._getframe(1).f_code is not gain_left.__code__:  # which looks at points next to those that EM visits
            visited.append(tables)
        return em.step(problem, tables, *rest)

    monkeypatch.setattr(em.Problem, "step", step)
    starts = many_starts(engine, 4, seed)
    found = em.fit(engine, starts, prior=prior, accelerate=accelerate, constraints=constraints, retry=True)
    if prior == 0:
        assert lowest_step(found.log_likelihoods) >= -1e-12
    for tables in visited:
        assert_hold(constraints, tables)
    assert_hold(constraints, found.tables)
    assert found.converged
    problem = em.Problem(engine, constraints.pseudo_counts(prior), constraints=constraints)
    assert found.objective == pytest.approx(em.step(problem, found.tables[None])[1][0], rel=1e-10)
    assert len(visited) > 20


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_plain_steps_and_leaps_rise_from_any_start(seed, prior):
    engine, _ = latent_class(n_rows=60, seed=seed % 7)
    constraints = all_kinds(engine.layout)
    problem = em.Problem(engine, constraints.pseudo_counts(prior), constraints=constraints)
    start = constraints.project(random_tables(engine.layout, np.random.default_rng(seed), 0.3))
    ascent = Ascent.begin(problem, start[None], StopRule(0.0, 60))
    values = [ascent.position.value[0]]
    while not ascent.done:
        ascent._cycle()
        assert_hold(constraints, ascent.position.before)
        assert_hold(constraints, ascent.position.at)
        values.append(ascent.position.value[0])
    assert lowest_step(np.array(values)) >= -1e-12


def test_without_constraints_nothing_changes():
    engine, _ = latent_class()
    starts = many_starts(engine, 3)
    plain = em.fit(engine, starts)
    none = em.fit(engine, starts, constraints=Constraints(engine.layout))
    np.testing.assert_array_equal(plain.tables, none.tables)
    assert Constraints(engine.layout).n_parameters == 2 + 5 * 3 * 2


def test_parameters_are_counted():
    layout = Layout([(1, 3), (3, 4), (3, 4), (3, 4), (2, 2)])
    assert Constraints(layout).n_parameters == 2 + 27 + 2
    assert Constraints(layout, [[1, 2, 3]]).n_parameters == 2 + 9 + 2
    assert Constraints(layout, [[1, 2, 3]], log_linear={2: ordinal_item(3, 4)}).n_parameters == 2 + 5 + 2
    fixed = np.full(layout.size, FREE)
    fixed[layout.slices[1]] = [0.1, FREE, FREE, FREE, 0.1, 0.2, FREE, FREE, 0.1, 0.2, 0.3, FREE]
    assert Constraints(layout, fixed=fixed).n_parameters == 2 + (2 + 1 + 0) + 18 + 2
    assert Constraints(layout, [[1, 2]], fixed).n_parameters == 2 + (2 + 1 + 0) + 9 + 2


def test_pseudo_counts_of_tied_tables_count_once_and_fixed_entries_have_none():
    layout = Layout([(1, 2), (1, 2), (1, 3)])
    fixed = np.array([*[FREE] * 4, 0.2, FREE, FREE])
    constraints = Constraints(layout, [[0, 1]], fixed)
    prior = constraints.pseudo_counts(1.0)
    assert prior.tolist() == [1, 1, 0, 0, 0, 1, 1]
    new = constraints.m_step(np.array([1.0, 2, 1, 0, 5, 3, 0]) + prior, np.full(7, 0.5))
    np.testing.assert_allclose(new, [3 / 6, 3 / 6, 3 / 6, 3 / 6, 0.2, 0.8 * 4 / 5, 0.8 / 5])
    assert constraints.pseudo_counts(0.0) == 0.0


def ordinal_log_likelihood(codes, sizes, items):
    joint = np.log(sizes)[None] + sum(np.log(table[:, codes[:, at]]).T for at, table in enumerate(items))
    top = joint.max(axis=1, keepdims=True)
    return float((top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))).sum())


def test_ordinal_items_reach_what_a_general_optimiser_does():
    engine, codes = latent_class(n_rows=400, n_items=4, card=4, seed=3)
    family = ordinal_item(3, 4)
    constraints = Constraints(engine.layout, log_linear=dict.fromkeys(range(1, 5), family))
    found = em.fit(engine, many_starts(engine, 10), constraints=constraints, atol=1e-6)
    tables = engine.layout.unpack(found.tables)

    def value(theta):
        sizes = np.exp(np.append(theta[:2], 0.0))
        items = [family.tables(part) for part in np.split(theta[2:], 4)]
        return -ordinal_log_likelihood(codes, sizes / sizes.sum(), items)

    logs = np.log(tables[0][0])
    begin = np.concatenate([logs[:2] - logs[2], *[family.parameters(table) for table in tables[1:]]])
    assert -value(begin) == pytest.approx(found.log_likelihood, rel=1e-9)
    shaken = begin + 0.2 * np.random.default_rng(0).normal(size=len(begin))
    best = minimize(value, shaken, method="BFGS", options={"gtol": 1e-6})
    assert -best.fun == pytest.approx(found.log_likelihood, abs=1e-4)
    assert constraints.n_parameters == 2 + 4 * (3 + 2)


def test_a_zero_is_lifted_in_all_tied_tables_and_not_where_it_is_fixed():
    codes = np.array([[0, 0], [1, 1], [1, 0], [1, 1]])
    plan = compile_plan([-1, 0, 0], {at + 1: Evidence(codes[:, at], 2) for at in range(2)})
    engine = TreeEngine(plan, [2, 2, 2])
    tables = np.array([[1.0, 0.0, 0.375, 0.625, 0.1, 0.9, 0.375, 0.625, 0.1, 0.9]])
    tied = em.Problem(engine, constraints=Constraints(engine.layout, [[1, 2]]))
    gains, steps = promised_gains(tied, tables)
    assert gains[0, 1] > 0
    point = higher(tied, tables[0], float(engine.log_likelihood(tables[0])), steps[0])
    assert point is not None
    assert_hold(tied.constraints, point.tables)
    fixed = np.full(engine.layout.size, FREE)
    fixed[:2] = [1.0, 0.0]
    gains, steps = promised_gains(em.Problem(engine, constraints=Constraints(engine.layout, [[1, 2]], fixed)), tables)
    assert not gains[0, :2].any()


def test_a_fixed_table_gives_what_a_frozen_one_gives():
    engine, _ = latent_class(seed=5)
    start = random_tables(engine.layout, np.random.default_rng(0))
    free = np.array([True, False, True, True, True, True])
    fixed = np.where(free[engine.layout.table_of_entry], FREE, start)
    frozen = em.fit(engine, start, free=free, atol=1e-7)
    found = em.fit(engine, start, constraints=Constraints(engine.layout, fixed=fixed), atol=1e-7)
    assert found.log_likelihood == pytest.approx(frozen.log_likelihood, abs=1e-5)
    np.testing.assert_array_equal(found.tables[~np.isnan(fixed)], start[~np.isnan(fixed)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tied": [[0, 1]]}, "tie tables of one"),
        ({"tied": [[1, 2], [2, 3]]}, "tied twice"),
        ({"fixed": [0.5]}, "NaN where entries are free"),
        ({"fixed": [-0.5, *[FREE] * 17]}, "is no probability"),
        ({"fixed": [0.5, 0.6, *[FREE] * 16]}, "do not sum to 1"),
        ({"fixed": [*[FREE] * 2, 1.0, FREE, FREE, *[FREE] * 13]}, "fix these to 0"),
        ({"fixed": [*[FREE] * 2, 0.9, 0.9, FREE, *[FREE] * 13]}, "sum to more than 1"),
        ({"fixed": [*[FREE] * 2, 0.1, *[FREE] * 3, 0.2, *[FREE] * 11], "tied": [[1, 2]]}, None),
        ({"fixed": [*[FREE] * 2, 0.1, *[FREE] * 5, 0.2, *[FREE] * 9], "tied": [[1, 2]]}, "different fixed values"),
        ({"log_linear": {0: ordinal_item(2, 3)}}, "make them equal"),
        ({"log_linear": {1: ordinal_item(2, 3)}, "fixed": [*[FREE] * 2, 0.1, *[FREE] * 15]}, "leave out one"),
    ],
)
def test_contradictions_are_refused(options, words):
    layout = Layout([(1, 2), (2, 3), (2, 3), (1, 4)])
    if words is None:
        Constraints(layout, **options)
        return
    with pytest.raises(DataError, match=words):
        Constraints(layout, **options)


def test_free_and_constraints_do_not_go_together():
    engine, _ = latent_class()
    with pytest.raises(ValueError, match="name the tables that may not change in fixed"):
        em.fit(engine, many_starts(engine, 1), free=np.ones(6, bool), constraints=Constraints(engine.layout))
