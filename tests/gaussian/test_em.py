"""EM of Gaussian trees: its steps by definition, its maxima by gradients, its objective never falls."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import GaussianTree, gaussian
from pgmpy_latent.em.curvature import gain_left
from pgmpy_latent.gaussian.fit import fitted, objective_of, pairwise_correlations, random_starts
from pgmpy_latent.gaussian.forest import Forest, forest_of, tidy, with_positive_loadings
from pgmpy_latent.gaussian.moments import moments_of
from pgmpy_latent.gaussian.neighbourhoods import moments_of_correlations
from pgmpy_latent.gaussian.objective import RowsWithGaps, TableWithGaps
from pgmpy_latent.testing import gaussian_trees
from tests.support import reference_gaussian as reference
from tests.support.gaussian_samples import THREE, drawn


def rows_of(tree, seed, gaps, n_rows=12):
    rows = gaussian.sample(tree, n_rows, random_state=seed).to_numpy()
    hole = np.random.default_rng(seed).random(rows.shape) < gaps
    hole[:3] = False  # every column keeps some cells
    return np.where(hole, np.nan, rows)


def point_of(tree, moments):
    """Return the vector of parameters at which EM has just this tree."""
    forest, nodes = forest_of(tree)
    z = np.arctanh(forest.correlation)
    if moments.is_complete:
        return forest, z
    columns = nodes[: forest.n_columns]
    mean, std = (tree.mean[columns] - moments.mean) / moments.std, tree.std[columns] / moments.std
    return forest, np.concatenate([z, mean, np.log(std)])


@given(gaussian_trees(), st.integers(0, 1000), st.sampled_from([0.0, 0.3]), st.booleans())
def test_a_step_is_that_of_the_definition(tree, seed, gaps, weighted):
    rows = rows_of(tree, seed, gaps)
    weights = np.random.default_rng(seed).integers(1, 4, len(rows)).astype(float) if weighted else np.ones(len(rows))
    moments = moments_of(rows, weights)
    if moments.is_complete:  # whose means and deviations are always those of the table
        observed = np.flatnonzero(~tree.latent)
        mean, std = tree.mean.copy(), tree.std.copy()
        mean[observed], std[observed] = moments.mean, moments.std
        tree = GaussianTree(tree.names, tree.parent, tree.latent, tree.correlation, mean, std)
    forest, point = point_of(tree, moments)
    objective = objective_of(forest, moments)
    values, _, new = objective.step(point[None])
    assert values[0] == pytest.approx(reference.log_likelihood(tree, rows, weights), rel=1e-8, abs=1e-7)
    some = ~np.isnan(rows).all(axis=1)  # EM leaves out rows that say nothing
    correlation, mean, std = reference.expected_step(tree, rows[some], weights[some])
    _, nodes = forest_of(tree)
    below = np.flatnonzero(tree.parent >= 0)
    np.testing.assert_allclose(np.tanh(new[0][: len(below)]), correlation[below], atol=1e-6)
    if not moments.is_complete:
        _, shift, scale = objective.split(new[0])
        columns = nodes[: forest.n_columns]
        np.testing.assert_allclose(moments.mean + moments.std * shift, mean[columns], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(moments.std * scale, std[columns], rtol=1e-6)
    assert objective.step(new)[0][0] >= values[0] - 1e-9 * abs(values[0])


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_at_the_end_all_gradients_vanish(gaps):
    moments = moments_of(drawn(300, gaps=gaps).to_numpy())
    forest, _ = forest_of(THREE)
    starts = random_starts(forest, pairwise_correlations(moments), 2, np.random.default_rng(0))
    found = fitted(forest, moments, starts, atol=1e-9)
    assert found.em.converged
    objective, point = objective_of(forest, moments), found.em.tables
    slopes = []
    for at in range(len(point)):
        step = np.zeros(len(point))
        step[at] = 1e-5
        above, below = objective.step(np.stack([point + step, point - step]))[0]
        slopes.append((above - below) / 2e-5)
    assert np.abs(slopes).max() < 0.01


@given(gaussian_trees(max_nodes=9), st.integers(0, 1000))
def test_rows_and_patterns_give_the_same(tree, seed):
    rows = rows_of(tree, seed, 0.4, n_rows=15)
    moments = moments_of(rows, np.random.default_rng(seed).gamma(2.0, size=len(rows)))
    forest, point = point_of(tree, moments)
    if moments.rows is None:
        return
    by_rows, by_patterns = (kind(forest.ends, forest.n_nodes, moments) for kind in (RowsWithGaps, TableWithGaps))
    assert isinstance(objective_of(forest, moments), RowsWithGaps)
    for found, wanted in zip(by_rows.step(point[None]), by_patterns.step(point[None]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-7)
    np.testing.assert_allclose(by_rows.gradient(point), by_patterns.gradient(point), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [TableWithGaps, RowsWithGaps])
def test_gradients_are_numerical_ones(kind):
    moments = moments_of(drawn(60, gaps=0.2).to_numpy())
    forest, _ = forest_of(THREE)
    objective = kind(forest.ends, forest.n_nodes, moments)
    point = point_of(THREE, moments)[1] + 0.1
    np.testing.assert_allclose(objective.gradient(point), _gradient(objective, point), atol=1e-4)


def test_many_patterns_take_no_more_memory_than_the_rows():
    rows = np.random.default_rng(0).normal(size=(500, 30))
    moments = moments_of(np.where(np.random.default_rng(1).random(rows.shape) < 0.3, np.nan, rows))
    assert len(moments.patterns) == 500
    assert sum(part.factor.size for part in moments.patterns) <= rows.size
    few = moments_of(np.where(np.arange(30) == 3, np.where(rows < 0, np.nan, rows), rows))
    assert len(few.patterns) == 2
    assert few.rows is None


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_objective_never_falls(gaps):
    moments = moments_of(drawn(200, gaps=gaps).to_numpy())
    forest, _ = forest_of(THREE)
    starts = random_starts(forest, pairwise_correlations(moments), 3, np.random.default_rng(0))
    trace = fitted(forest, moments, starts).em.log_likelihoods
    assert len(trace) > 20
    assert np.diff(trace).min() >= -1e-8


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_metric_turns_what_em_leaves_of_an_error_into_the_curvature(gaps):
    """The metric times ``I - J``, with the Jacobian ``J`` of a step, is minus the matrix of second derivatives."""
    moments = moments_of(drawn(100 if gaps else 300, gaps=gaps).to_numpy())
    forest, _ = forest_of(THREE)
    objective, point = objective_of(forest, moments), fitted(forest, moments, atol=1e-10).em.tables
    unit = np.eye(len(point))
    jacobian = np.stack([_slope(lambda at: objective.step(at[None])[2][0], point, way) for way in unit], axis=1)
    curvature = np.stack([_slope(lambda at: _gradient(objective, at), point, way) for way in unit], axis=1)
    metric = objective.metric(point)
    weights = np.array([[metric.inner(left, right) for right in unit] for left in unit])
    np.testing.assert_allclose(weights @ (unit - jacobian), -curvature, atol=1e-3 * np.abs(curvature).max())


def _slope(function, point, way, size=1e-4):
    return (function(point + size * way) - function(point - size * way)) / (2 * size)


def _gradient(objective, point, size=1e-4):
    ways = size * np.eye(len(point))
    values = objective.step(np.concatenate([point + ways, point - ways]))[0]  # all at once, which takes less time
    return (values[: len(point)] - values[len(point) :]) / (2 * size)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_curvature_tells_what_is_left_to_gain(gaps):
    moments = moments_of(drawn(300, gaps=gaps).to_numpy())
    forest, _ = forest_of(THREE)
    best = fitted(forest, moments, atol=1e-10)
    objective = objective_of(forest, moments)
    rng = np.random.default_rng(0)
    near = best.em.tables + 0.01 * rng.normal(size=len(best.em.tables))
    values, _, new = objective.step(near[None])
    left = best.log_likelihood - values[0]
    stated = gain_left(objective, near, new[0], 1e-6)
    assert left > 0.05
    assert stated.gain / 2 == pytest.approx(left, rel=0.1)  # half: a precaution for tables
    toward = objective.step((near + stated.ways[0])[None])[0][0]
    assert best.log_likelihood - toward < 0.1 * left


def test_the_work_of_an_iteration_does_not_depend_on_the_number_of_rows():
    few, many = (moments_of(drawn(n).to_numpy()) for n in (50, 5000))
    assert [part.second.shape for part in few.patterns] == [part.second.shape for part in many.patterns]
    gaps = moments_of(drawn(5000, gaps=0.2).to_numpy())
    assert len(gaps.patterns) <= 2**9
    assert all(part.second.shape == (len(part.filled),) * 2 for part in gaps.patterns)


def test_a_column_that_is_its_factor_ends_at_the_bound():
    correlations = np.full((4, 4), 0.3)
    correlations[0] = correlations[:, 0] = 0.7  # a loading of 1.28 would be best
    np.fill_diagonal(correlations, 1.0)
    moments = moments_of_correlations(correlations, 400.0)
    found = fitted(Forest(4, 5, [[4, at] for at in range(4)], np.full(4, 0.5)), moments)
    star = fitted(Forest(4, 4, [[0, 1], [0, 2], [0, 3]], np.zeros(3)), moments)
    assert found.forest.correlation[0] > 0.99999
    assert found.log_likelihood == pytest.approx(star.log_likelihood, abs=1e-2)


@given(gaussian_trees(max_nodes=10))
def test_tidy_and_signs_leave_the_distribution_of_the_columns(tree):
    forest, nodes = forest_of(tree)
    place = np.argsort(nodes)
    whole = reference.joint(tree)[1] / np.outer(tree.std, tree.std)
    columns = np.arange(forest.n_columns)
    for other in (tidy(forest), with_positive_loadings(forest), with_positive_loadings(tidy(forest))):
        made = GaussianTree(
            [f"n{at}" for at in range(other.n_nodes)],
            *_parents(other),
        )
        wanted = whole[np.ix_(nodes[columns], nodes[columns])]
        np.testing.assert_allclose(made.correlations()[np.ix_(columns, columns)], wanted, atol=1e-12)
    for node, others in enumerate(tidy(forest).neighbours):
        assert node < forest.n_columns or len(others) >= 3
    loadings = _loadings(with_positive_loadings(forest))
    assert all(row[np.abs(row).round(12).argmax()] >= 0 for row in loadings[forest.n_columns :])
    assert len(place) == forest.n_nodes


def _parents(forest):
    parent, correlation = np.full(forest.n_nodes, -1), np.zeros(forest.n_nodes)
    for members in forest.trees():
        for node, above in forest.walk(members[0]):
            if above >= 0:
                parent[node], correlation[node] = above, forest.neighbours[node][above]
    return parent, np.arange(forest.n_nodes) >= forest.n_columns, correlation


def _loadings(forest):
    made = GaussianTree([f"n{at}" for at in range(forest.n_nodes)], *_parents(forest))
    return made.correlations()[:, : forest.n_columns]


def test_moments_are_those_of_pandas():
    rows = drawn(60, gaps=0.15)
    moments = moments_of(rows.to_numpy())
    np.testing.assert_allclose(moments.mean, rows.mean(), rtol=1e-12)
    np.testing.assert_allclose(moments.std, rows.std(ddof=0), rtol=1e-12)
    np.testing.assert_allclose(pairwise_correlations(moments), rows.corr(), atol=1e-10)
    assert sum(part.weight for part in moments.patterns) == 60
    repeated = moments_of(np.repeat(rows.to_numpy(), 3, axis=0))
    weighted = moments_of(rows.to_numpy(), np.full(60, 3.0))
    assert pd.Series([len(part.filled) for part in repeated.patterns]).equals(
        pd.Series([len(part.filled) for part in weighted.patterns])
    )
    for left, right in zip(repeated.patterns, weighted.patterns, strict=True):
        np.testing.assert_allclose(left.second, right.second, atol=1e-12)
