"""Latent classification models below the estimator: densities, EM, edges, rows and starts, against definitions."""

from dataclasses import fields, replace
from functools import partial
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.naive_bayes import GaussianNB

from pgmpy_latent.classification import edges as _edges
from pgmpy_latent.classification import em as _em
from pgmpy_latent.classification import model as _model
from pgmpy_latent.classification.em import (
    FEW,
    SMALLEST_VARIANCE,
    Problem,
    expected,
    log_penalty,
    m_step,
    run_em,
    step,
    sum_of,
)
from pgmpy_latent.classification.learn import Recipe, learn, thinning, without
from pgmpy_latent.classification.model import (
    Moments,
    Parameters,
    RaggedRows,
    Rows,
    component_log_densities,
    grouped,
    joined,
    latent_means,
    log_densities,
    moments,
    shares_and_sums,
    suitable,
)
from pgmpy_latent.classification.rows import fold_weightings, training
from pgmpy_latent.classification.starts import draw_starts
from pgmpy_latent.runtime.clock import Clock
from tests.support import reference_classification as reference

#: Numbers of attributes and latents on both sides of the choice between two systems of equations.
SIZES = [(4, 1), (3, 2), (3, 3), (2, 5)]


def random_model(rng, classes=2, components=2, attributes=3, latents=2, models=1):
    weights = rng.dirichlet(np.ones(components), size=(models, classes))
    return Parameters(
        np.log(weights),
        rng.normal(size=(models, classes, latents)),
        0.1 + rng.gamma(2.0, 0.5, size=(models, classes, latents)),
        rng.normal(size=(models, components, attributes, latents)),
        rng.normal(size=(models, components, attributes)),
        0.1 + rng.gamma(2.0, 0.3, size=(models, components, attributes)),
    )


def random_table(rng, rows, attributes, gaps=0.0):
    """Rows with gaps anywhere; if there are gaps, the first row has nothing else, and the last one none."""
    table = 1.5 * rng.normal(size=(rows, attributes))
    table[rng.random(table.shape) < gaps] = np.nan
    if gaps:
        table[0], table[-1] = np.nan, 1.0
    return table


def random_problem(rng, labels, attributes, gaps=0.0, **options):
    """Return a table, weights, and the problem they make."""
    table = random_table(rng, len(labels), attributes, gaps)
    weights = rng.gamma(2.0, 0.5, size=len(labels)) + 0.1
    return table, weights, Problem(by_class(table, labels), weights[None], **options)


def by_class(table, labels):
    return [grouped(table, np.flatnonzero(labels == label)) for label in range(labels.max() + 1)]


def arrays(parameters):
    return {field.name: getattr(parameters, field.name) for field in fields(parameters)}


def assert_same(left, right, **tolerance):
    """Compare parameters or moments, exactly unless a tolerance is given."""
    for name, array in arrays(left).items():
        np.testing.assert_allclose(array, getattr(right, name), **{"rtol": 0, **tolerance}, err_msg=name)


def changed(model, name, index, by):
    array = getattr(model, name).copy()
    array[index] += by
    return replace(model, **{name: array})


ONE = np.zeros(1, int)
SEEDS = st.integers(0, 10**6)


# Densities and posteriors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", [0.0, 0.4])
@pytest.mark.parametrize(("attributes", "latents"), SIZES)
def test_log_densities_are_those_of_multivariate_normals(attributes, latents, gaps):
    rng = np.random.default_rng(attributes)
    model = random_model(rng, 3, 2, attributes, latents, models=2)
    table = random_table(rng, 10, attributes, gaps)
    found = log_densities(model, grouped(table), len(table))
    for at, row, label in np.ndindex(found.shape):
        single = model.take(at)
        assert found[at, row, label] == pytest.approx(reference.log_density(single, label, table[row]), abs=1e-9)
    for rows in grouped(table):
        logs = component_log_densities(model, 1, rows)
        shares, sums = shares_and_sums(logs)
        for at, row in np.ndindex(2, len(rows.at)):
            there = model.take(at), 1, table[rows.at[row]]
            np.testing.assert_allclose(logs[at, :, row], reference.component_log_densities(*there), atol=1e-9)
            np.testing.assert_allclose(shares[at, :, row], reference.shares(*there), atol=1e-9)
            assert sums[at, row] == pytest.approx(reference.log_density(*there), abs=1e-9)


@pytest.mark.parametrize("gaps", [0.0, 0.4])
@pytest.mark.parametrize(("attributes", "latents"), SIZES)
def test_the_latents_posterior_means_are_those_of_the_joint_normal(attributes, latents, gaps):
    rng = np.random.default_rng(attributes)
    model = random_model(rng, 2, 3, attributes, latents, models=2)
    table = random_table(rng, 8, attributes, gaps)
    for rows in grouped(table):
        found = latent_means(model, 1, rows)
        for at, row in np.ndindex(found.shape[:2]):
            expected_mean = reference.latent_mean(model.take(at), 1, table[rows.at[row]])
            np.testing.assert_allclose(found[at, row], expected_mean, atol=1e-9)


@given(SEEDS, st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.sampled_from([0.0, 0.2, 0.6]))
@settings(max_examples=30)
def test_moments_are_sums_over_the_joint_normal(seed, attributes, latents, components, gaps):
    rng = np.random.default_rng(seed)
    labels = np.array([0, 1, 0, 1, 1, 0, 1])
    table, weights, problem = random_problem(rng, labels, attributes, gaps)
    model = random_model(rng, 2, components, attributes, latents)
    found, sums = expected(problem, model, ONE)
    single = model.take(0)
    assert found[0] == pytest.approx(reference.log_likelihood(single, table, labels, weights), abs=1e-9)
    for label in range(2):
        here = labels == label
        filled = reference.completed(single, table[here], labels[here], weights[here])
        assert_same(sums[label], reference.moments(filled, components, attributes), rtol=1e-9, atol=1e-9)


def test_moments_take_one_weighting_for_each_model_or_one_for_all():
    rng = np.random.default_rng(0)
    model, table = random_model(rng, models=2), random_table(rng, 5, 3)
    (rows,) = grouped(table)
    weights = rng.random((2, 5))
    logs, found = moments(model, 0, rows, weights)
    for at in range(2):
        alone_logs, alone = moments(model.take([at]), 0, rows, weights[[at]])
        assert logs[at] == pytest.approx(alone_logs[0], abs=1e-12)
        assert_same(Moments(**{name: array[[at]] for name, array in arrays(found).items()}), alone, atol=1e-12)
    assert_same(moments(model, 0, rows, weights[:1])[1], moments(model, 0, rows, weights[[0, 0]])[1], atol=1e-12)


@pytest.mark.parametrize(("attributes", "latents"), SIZES)
def test_rows_of_weight_zero_are_as_if_they_were_not_there(attributes, latents):
    rng = np.random.default_rng(1)
    model, table = random_model(rng, attributes=attributes, latents=latents), random_table(rng, 9, attributes)
    weights = rng.integers(0, 3, size=(1, 9)).astype(float)
    there = weights[0] > 0
    assert 0 < there.sum() < 9
    logs, found = moments(model, 1, *grouped(table), weights)
    logs_without, without_them = moments(model, 1, *grouped(table[there]), weights[:, there])
    assert logs[0] == pytest.approx(logs_without[0], abs=1e-12)
    assert_same(found, without_them, atol=1e-12)


def test_a_covariance_that_is_not_positive_definite_is_an_error():
    rng = np.random.default_rng(0)
    model = random_model(rng)
    broken = replace(model, noise=np.where(np.arange(3) == 1, -1e3, model.noise))
    with pytest.raises(np.linalg.LinAlgError, match="covariance matrix of the attributes"):
        log_densities(broken, grouped(random_table(rng, 4, 3)), 4)


@given(SEEDS, st.integers(1, 4), st.integers(1, 6), st.integers(1, 3), st.sampled_from([1, 40, 10**6]))
@settings(max_examples=30)
def test_rows_one_by_one_say_what_groups_say(seed, attributes, latents, components, chunk):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 2, components, attributes, latents, models=2)
    table = random_table(rng, 9, attributes, 0.4)
    weights = rng.random((2, 9))
    groups = _model._in_groups(table, None)
    there = ~np.isnan(table)
    ragged = RaggedRows(np.where(there, table, 0.0), there.astype(float), np.arange(9), groups)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_model, "RAGGED_CHUNK", chunk)
        np.testing.assert_allclose(
            latent_means(model, 1, ragged), in_place(groups, lambda rows: latent_means(model, 1, rows), 1), atol=1e-9
        )
        logs = component_log_densities(model, 1, ragged)
        np.testing.assert_allclose(
            logs, in_place(groups, lambda rows: component_log_densities(model, 1, rows), 2), atol=1e-9
        )
        log_likelihood, found = moments(model, 1, ragged, weights)
    parts = [moments(model, 1, rows, weights[:, rows.at]) for rows in groups]
    np.testing.assert_allclose(log_likelihood, sum(logs for logs, _ in parts), atol=1e-9)
    assert_same(found, sum_of([sums for _, sums in parts]), rtol=1e-9, atol=1e-9)


def in_place(groups, asked, axis):
    """Return what is asked of groups, with the rows in the order of the table."""
    order = np.argsort(np.concatenate([rows.at for rows in groups]))
    return np.take(np.concatenate([asked(rows) for rows in groups], axis=axis), order, axis=axis)


def test_many_small_groups_are_joined_unless_there_are_many_latents():
    rng = np.random.default_rng(0)
    table = random_table(rng, 60, 4, 0.5)
    table[:20] = rng.normal(size=(20, 4))
    groups = grouped(table)
    assert [type(rows) for rows in groups] == [Rows, RaggedRows]
    few, many = (random_model(rng, 2, 1, 4, latents) for latents in (8, 9))
    assert suitable(groups, few) == groups
    assert all(isinstance(rows, Rows) for rows in suitable(groups, many))


# Special cases ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("attributes", "latents"), SIZES)
def test_one_component_is_the_linear_model(attributes, latents):
    rng = np.random.default_rng(1)
    model = random_model(rng, 2, 1, attributes, latents)
    table = random_table(rng, 6, attributes)
    loadings, noise = model.loadings[0, 0], np.diag(model.noise[0, 0])
    for label in range(2):
        mean = loadings @ model.means[0, label] + model.offsets[0, 0]
        covariance = loadings @ np.diag(model.variances[0, label]) @ loadings.T + noise
        found = log_densities(model, grouped(table), 6)[0, :, label]
        np.testing.assert_allclose(found, multivariate_normal.logpdf(table, mean, covariance), atol=1e-9)


def copies_of(one, log_weights):
    """Return a model whose components are all the same one."""
    repeated = {name: np.repeat(getattr(one, name), 3, axis=1) for name in ("loadings", "offsets", "noise")}
    return replace(one, log_weights=log_weights, **repeated)


@pytest.mark.parametrize(("attributes", "latents"), SIZES)
def test_copies_of_a_component_are_as_good_as_one(attributes, latents):
    rng = np.random.default_rng(2)
    one = random_model(rng, 2, 1, attributes, latents)
    three = copies_of(one, np.log([[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]]))
    table = random_table(rng, 8, attributes, gaps=0.3)
    one_by_one, together = (log_densities(model, grouped(table), 8) for model in (one, three))
    np.testing.assert_allclose(together, one_by_one, atol=1e-9)
    for rows in grouped(table):
        np.testing.assert_allclose(latent_means(three, 0, rows), latent_means(one, 0, rows), atol=1e-9)


@pytest.mark.parametrize("tied", [True, False])
def test_copies_of_a_component_learn_what_one_learns(tied):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, size=30)
    _, _, problem = random_problem(rng, labels, 3, gaps=0.2, tied=tied)
    one = random_model(rng, components=1)
    three = copies_of(one, np.log([[[0.2, 0.3, 0.5]] * 2]))
    for _ in range(5):
        single, one = step(problem, one, ONE)
        several, three = step(problem, three, ONE)
        assert several[0] == pytest.approx(single[0], abs=1e-7)
        assert_same(three, copies_of(one, np.log([[[0.2, 0.3, 0.5]] * 2])), atol=1e-7)


def test_without_loadings_it_is_a_mixture_of_diagonal_gaussians_with_weights_by_class():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, size=40)
    table, weights, problem = random_problem(rng, labels, 3, tied=False)
    model = random_model(rng, components=3)
    edges = np.zeros(model.loadings.shape, bool)
    model = without(model, edges)
    for _ in range(4):
        logs = np.stack(
            [
                norm.logpdf(table, m, np.sqrt(v)).sum(axis=1)
                for m, v in zip(model.offsets[0], model.noise[0], strict=True)
            ]
        )
        logs = logs.T[:, None] + model.log_weights[0]
        np.testing.assert_allclose(log_densities(model, grouped(table), 40)[0], logsumexp(logs, axis=2), atol=1e-9)
        mine = logs[np.arange(40), labels]
        shares = weights[:, None] * np.exp(mine - logsumexp(mine, axis=1, keepdims=True))
        means = shares.T @ table / shares.sum(axis=0)[:, None]
        variances = shares.T @ table**2 / shares.sum(axis=0)[:, None] - means**2
        by_label = np.stack([shares[labels == label].sum(axis=0) for label in range(2)])
        _, model = step(problem, model, ONE, edges)
        np.testing.assert_allclose(model.offsets[0], means, atol=1e-7)
        np.testing.assert_allclose(model.noise[0], variances, atol=1e-7)
        np.testing.assert_allclose(
            model.log_weights[0], np.log(by_label / by_label.sum(axis=1, keepdims=True)), atol=1e-7
        )


def test_identity_loadings_without_noise_are_gaussian_naive_bayes():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, size=90)
    table = rng.normal(size=(90, 4)) * (1 + labels[:, None]) + labels[:, None]
    bayes = GaussianNB(var_smoothing=0).fit(table, labels)
    model = Parameters(
        np.zeros((1, 3, 1)), bayes.theta_[None], bayes.var_[None], np.eye(4)[None, None], np.zeros((1, 1, 4)),
        np.full((1, 1, 4), 1e-10),
    )  # fmt: skip
    found = log_densities(model, grouped(table), 90)[0] + np.log(bayes.class_prior_)
    np.testing.assert_allclose(found, bayes.predict_joint_log_proba(table), atol=1e-6)
    means = latent_means(model, 1, grouped(table)[0])[0]
    np.testing.assert_allclose(means, table, atol=1e-6)


@pytest.mark.parametrize("attributes", [1, 2, 4])
def test_latents_for_every_attribute_and_class_reproduce_any_gaussians(attributes):
    rng = np.random.default_rng(5)
    classes, latents = 3, 3 * attributes
    means = rng.normal(size=(classes, attributes))
    roots = rng.normal(size=(classes, attributes, attributes)) + np.eye(attributes)
    covariances = roots @ np.swapaxes(roots, 1, 2) + 0.5 * np.eye(attributes)
    values, vectors = np.linalg.eigh(covariances)
    loadings = np.concatenate(list(vectors), axis=1)
    variances = np.full((classes, latents), 1e-11)
    for label in range(classes):
        variances[label, label * attributes : (label + 1) * attributes] = values[label]
    model = Parameters(
        np.zeros((1, classes, 1)), (means @ np.linalg.pinv(loadings).T)[None], variances[None], loadings[None, None],
        np.zeros((1, 1, attributes)), np.full((1, 1, attributes), 1e-11),
    )  # fmt: skip
    table = random_table(rng, 20, attributes, gaps=0.3)
    found = log_densities(model, grouped(table), 20)[0]
    for row, label in np.ndindex(20, classes):
        seen = np.flatnonzero(~np.isnan(table[row]))
        there = means[label, seen], covariances[label][np.ix_(seen, seen)]
        density = multivariate_normal.logpdf(table[row, seen], *there) if len(seen) else 0.0
        assert found[row, label] == pytest.approx(density, abs=1e-6)


# EM ---------------------------------------------------------------------------------------------------------------


@st.composite
def hard_rows(draw):
    """Rows of a few classes, some of them tiny; constant, repeated and nearly repeated attributes; gaps; weights."""
    rng = np.random.default_rng(draw(SEEDS))
    labels = np.repeat(np.arange(3), [draw(st.integers(1, 2)), draw(st.integers(1, 20)), 10])[
        draw(st.sampled_from([0, 1])) :
    ]
    labels = np.unique(labels, return_inverse=True)[1]
    n_attributes = draw(st.integers(1, 5))
    table = rng.normal(size=(len(labels), n_attributes)) @ rng.normal(size=(n_attributes, n_attributes))
    table += 3 * rng.normal(size=(3, n_attributes))[labels]
    twist = draw(st.sampled_from(["none", "constant", "twice", "nearly twice", "rounded"]))
    if twist == "constant":
        table[:, 0] = 2.5
    if twist == "twice":
        table[:, -1] = table[:, 0]
    if twist == "nearly twice":
        table[:, -1] = table[:, 0] + 1e-7 * rng.normal(size=len(table))
    if twist == "rounded":
        table = np.round(table)
    table[:-1][rng.random(table[:-1].shape) < draw(st.sampled_from([0.0, 0.0, 0.2, 0.7]))] = np.nan
    weights = draw(st.sampled_from([np.ones(len(table)), rng.gamma(1.0, size=len(table)) + 0.01]))
    return table, labels, weights


@given(
    hard_rows(), st.integers(1, 8), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans(),
    st.sampled_from([1e-2, 1e-3, 1e-6]), st.sampled_from([0.0, 1.0, 20.0]),
)  # fmt: skip
@settings(max_examples=120)
def test_the_objective_never_falls(hard, latents, components, tied, offset, sparse, floor, shrinkage):
    rows = training(*hard, centre=offset)
    models, numbers = draw_starts(rows, rows.weights[None], (latents, components), 2, seed=1)
    if not offset:
        models = replace(models, offsets=np.zeros_like(models.offsets))
    edges = np.random.default_rng(0).random(models.loadings.shape) < 0.5 if sparse else None
    if sparse:
        models = without(models, edges)
    problem = Problem(rows.by_class, rows.weights[None], tied, offset, floor, shrinkage)
    values = []
    for _ in range(20):
        found, models = step(problem, models, numbers, edges)
        values.append(found)
    values = np.array(values)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) >= -1e-8 * (np.abs(values[1:]) + len(hard[0]))).all()
    assert models.noise.min() >= floor
    assert models.variances.min() >= SMALLEST_VARIANCE
    np.testing.assert_allclose(np.exp(models.log_weights).sum(axis=-1), 1, atol=1e-12)
    if tied:
        assert (models.noise == models.noise[:, :1]).all()
    if not offset:
        assert not models.offsets.any()
    if sparse:
        assert not models.loadings[~edges].any()


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("attributes", "latents"), [(4, 2), (2, 3)])
def test_a_step_makes_the_updates_of_the_paper(attributes, latents, tied, sparse, gaps):
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, size=25)
    table, weights, problem = random_problem(rng, labels, attributes, gaps, tied=tied, noise_floor=1e-9)
    model = random_model(rng, 2, 2, attributes, latents)
    edges = rng.random(model.loadings.shape) < 0.6 if sparse else None
    model = without(model, edges) if sparse else model
    if tied:
        model = replace(model, noise=model.noise[:, [0, 0]])
    for _ in range(2):
        filled = reference.completed(model.take(0), table, labels, weights)
        updated = reference.m_step(model.take(0), filled, tied=tied, edges=edges[0] if sparse else None)
        _, model = step(problem, model, ONE, edges)
        assert_same(model.take(0), updated, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shrinkage", [0.0, 3.0])
def test_classes_that_disagree_about_variances_are_penalised_whatever_the_scale(shrinkage):
    rng = np.random.default_rng(8)
    model = random_model(rng, 3, 2, 4, 2, models=5)
    problem = Problem([], np.ones((1, 1)), shrinkage=shrinkage)
    value = log_penalty(problem, model)
    assert (value < 0).all() == bool(shrinkage)
    same = replace(model, variances=np.broadcast_to(model.variances[:, :1], model.variances.shape))
    np.testing.assert_allclose(log_penalty(problem, same), 0, atol=1e-12)
    scaled = replace(model, variances=model.variances * rng.gamma(2.0, 1.0, size=(5, 1, 2)))
    np.testing.assert_allclose(log_penalty(problem, scaled), value)


@pytest.mark.parametrize("shrinkage", [0.5, 20.0])
def test_the_m_step_maximises_the_expected_likelihood_with_the_penalty_at_the_common_variance(shrinkage):
    """For each class: minus half of mass (log v + scatter / mass / v) and of s (log v + c / v), at its top."""
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 2, size=25)
    _, _, problem = random_problem(rng, labels, 3, shrinkage=shrinkage, noise_floor=1e-9)
    model = random_model(rng, 2, 1, 3, 2)
    plain = replace(problem, shrinkage=0.0)
    _, sums = expected(problem, model, ONE)
    own = m_step(plain, model, sums).variances[0]
    new = m_step(problem, model, sums).variances[0]
    mass = np.array([[found.mass.sum()] for found in sums])
    common = 1 / (1 / model.variances[0]).mean(axis=0)

    def value(v):
        return -0.5 * (mass * (np.log(v) + own / v) + shrinkage * (np.log(v) + common / v)).sum()

    for at in np.ndindex(new.shape):
        for change in (0.99, 1.01):
            moved = new.copy()
            moved[at] *= change
            assert value(moved) < value(new)


def test_much_shrinkage_makes_classes_alike_and_none_is_the_paper():
    rng = np.random.default_rng(10)
    labels = np.repeat([0, 1], 40)
    table = rng.normal(size=(80, 3)) * np.where(labels, 3.0, 1.0)[:, None]
    rows = training(table, labels, np.ones(80))
    ratio = []
    for shrinkage in (0.0, 20.0, 1e5):
        found = learn(rows, rows.weights[None], (2, 1), Recipe(shrinkage=shrinkage), 4, 0)
        ratio.append(float(np.log(found.models.variances[0, 1] / found.models.variances[0, 0]).mean()))
        problem = Problem(rows.by_class, rows.weights[None], shrinkage=shrinkage)
        np.testing.assert_allclose(found.log_likelihoods, expected(problem, found.models, ONE)[0])
        assert found.traces[0][-1] == pytest.approx(found.log_likelihoods[0] + log_penalty(problem, found.models)[0])
    assert ratio[0] > ratio[1] > ratio[2] > 0
    assert ratio[2] < 0.01


def fall(update, model, data, steps=10):
    """Return the first fall of the likelihood by more than rounding; zero if there is none in a few steps."""
    value = reference.log_likelihood(model, *data)
    for _ in range(steps):
        model = update(model)
        before, value = value, reference.log_likelihood(model, *data)
        if value < before - 1e-9:
            return before - value
    return 0.0


def clusters(rng):
    """Two clusters far from zero, of which the classes have different shares."""
    labels = np.repeat([0, 1], 15)
    centre = np.where(rng.random(30) < np.where(labels, 0.2, 0.8), 3.0, -2.0)
    return (
        centre[:, None] + rng.normal(size=(30, 2)) @ [[1.0, 0.5], [0.0, 0.4]] + 0.3 * labels[:, None],
        labels,
        np.ones(30),
    )


def test_with_the_two_corrections_the_likelihood_rises_and_without_either_it_falls():
    data = clusters(np.random.default_rng(0))
    start = replace(
        random_model(np.random.default_rng(1), attributes=2, latents=1).take(0),
        offsets=np.array([[2.0] * 2, [-1.0] * 2]),
    )

    def right(tied):
        return lambda model: reference.m_step(model, reference.completed(model, *data), tied=tied)

    def noise_over_all_rows(model):
        return reference.m_step(model, reference.completed(model, *data), tied=False, divisor="all")

    def no_offset(tied, offset_in_density):
        def update(model):
            filled = reference.completed_as_printed(model, *data, offset_in_density=offset_in_density)
            return reference.m_step(model, filled, tied=tied)

        return update

    for tied in (True, False):
        begin = replace(start, noise=start.noise[[0, 0]]) if tied else start
        assert fall(right(tied), begin, data) == 0
        assert fall(no_offset(tied, offset_in_density=True), begin, data) > 0.1
        assert fall(no_offset(tied, offset_in_density=False), begin, data) > 0.1
    assert fall(noise_over_all_rows, start, data) > 0.1


def derivative(function, model, changes, size=1e-5):
    """Return the derivative of a function of a model when several entries move together."""
    values = []
    for sign in (1.0, -1.0):
        moved = model
        for name, index, share in changes:
            moved = changed(moved, name, index, sign * size * share)
        values.append(function(moved))
    return (values[0] - values[1]) / (2 * size)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("attributes", "latents"), [(3, 1), (2, 3)])
def test_gradients_of_the_expected_log_likelihood_vanish_after_the_m_step(attributes, latents, tied, gaps):
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, size=15)
    table, weights, problem = random_problem(rng, labels, attributes, gaps, tied=tied, noise_floor=1e-9)
    model = random_model(rng, 2, 2, attributes, latents)
    edges = rng.random(model.loadings.shape) < 0.7
    model = without(model, edges)
    if tied:
        model = replace(model, noise=model.noise[:, [0, 0]])
    filled = reference.completed(model.take(0), table, labels, weights)
    new = step(problem, model, ONE, edges)[1].take(0)
    directions = [[(name, at, 1.0)] for name in ("means", "variances") for at in np.ndindex(2, latents)]
    directions += [[("loadings", at, 1.0)] for at in np.ndindex(new.loadings.shape) if edges[0][at]]
    directions += [[("offsets", at, 1.0)] for at in np.ndindex(new.offsets.shape)]
    for at in range(attributes):
        both = [("noise", (m, at), 1.0) for m in range(2)]
        directions += [both] if tied else [[one] for one in both]

    def slopes(there):
        weights = np.exp(there.log_weights)
        simplex = [[("log_weights", (y, m), (-1) ** m / weights[y, m]) for m in range(2)] for y in range(2)]
        q = partial(reference.expected_log_likelihood, filled=filled)
        return np.array([derivative(q, there, direction) for direction in [*directions, *simplex]])

    np.testing.assert_allclose(slopes(new), 0, atol=1e-5)
    assert np.abs(slopes(model.take(0))).min() > 1e-3


@pytest.mark.parametrize("tied", [True, False])
def test_without_an_offset_the_loadings_gradients_vanish_and_the_offset_stays(tied):
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 2, size=15)
    table, weights, problem = random_problem(rng, labels, 3, 0.2, tied=tied, offset=False, noise_floor=1e-9)
    model = random_model(rng)
    model = replace(model, offsets=np.zeros_like(model.offsets), noise=model.noise[:, [0, 0]])
    filled = reference.completed(model.take(0), table, labels, weights)
    new = step(problem, model, ONE)[1].take(0)
    assert not new.offsets.any()
    for at in np.ndindex(new.loadings.shape):
        slope = derivative(lambda moved: reference.expected_log_likelihood(moved, filled), new, [("loadings", at, 1.0)])
        assert abs(slope) < 1e-4


@pytest.mark.parametrize("tied", [True, False])
def test_where_a_floor_is_active_the_gradient_points_outward(tied):
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 2, size=20)
    table, weights, problem = random_problem(rng, labels, 3, tied=tied, noise_floor=10.0)
    model = replace(random_model(rng), variances=np.full((1, 2, 2), 1e-7), noise=np.full((1, 2, 3), 10.0))
    filled = reference.completed(model.take(0), table, labels, weights)
    new = step(problem, model, ONE)[1].take(0)
    assert (new.noise == 10.0).all()
    assert (new.variances == SMALLEST_VARIANCE).all()
    entries = [[("variances", at, 1.0)] for at in np.ndindex(2, 2)]
    entries += [[("noise", (0, at), 1.0), ("noise", (1, at), 1.0)] for at in range(3)]
    if not tied:
        entries += [[("noise", at, 1.0)] for at in np.ndindex(2, 3)]
    for entry in entries:
        slope = derivative(lambda moved: reference.expected_log_likelihood(moved, filled), new, entry, size=1e-8)
        assert slope < -1e-3


def test_a_component_that_no_row_belongs_to_keeps_its_noise_and_its_loadings():
    rng = np.random.default_rng(10)
    labels = rng.integers(0, 2, size=20)
    _, _, problem = random_problem(rng, labels, 3, tied=False)
    model = random_model(rng)
    model = replace(model, offsets=np.stack([model.offsets[:, 0], np.full((1, 3), 1e3)], axis=1))
    _, new = step(problem, model, ONE)
    for name in ("noise", "loadings", "offsets"):
        np.testing.assert_allclose(getattr(new, name)[:, 1], getattr(model, name)[:, 1], rtol=1e-9)
    assert np.isfinite(new.log_weights).all()


def test_what_was_learned_does_not_depend_on_the_order_of_classes_or_attributes():
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 3, size=60)
    table, weights, problem = random_problem(rng, labels, 4, 0.1)
    model = random_model(rng, 3, 2, 4, 2)
    classes, columns = np.array([2, 0, 1]), np.array([3, 1, 0, 2])
    other = Problem(by_class(table[:, columns], np.argsort(classes)[labels]), weights[None])
    moved = Parameters(
        model.log_weights[:, classes], model.means[:, classes], model.variances[:, classes],
        model.loadings[:, :, columns], model.offsets[:, :, columns], model.noise[:, :, columns],
    )  # fmt: skip
    one, two = (run_em(p, m, ONE, max_iter=15, tol=0.0) for p, m in ((problem, model), (other, moved)))
    np.testing.assert_allclose(one.traces, two.traces, rtol=1e-10)
    np.testing.assert_allclose(one.models.loadings[:, :, columns], two.models.loadings, atol=1e-7)
    first = log_densities(one.models, grouped(table), 60)[0][:, classes]
    np.testing.assert_allclose(first, log_densities(two.models, grouped(table[:, columns]), 60)[0], atol=1e-7)


def test_what_was_learned_follows_the_units_of_the_attributes():
    rng = np.random.default_rng(12)
    labels = rng.integers(0, 2, size=50)
    table = random_table(rng, 50, 3, gaps=0.1) + labels[:, None]
    units, shifts = np.array([1e-6, 1.0, 1e6]), np.array([1e-5, -2.0, 3e6])
    densities = []
    for unit, shift in ((np.ones(3), np.zeros(3)), (units, shifts)):
        rows = training(table * unit + shift, labels, np.ones(50))
        found = learn(rows, rows.weights[None], (2, 2), Recipe(), 3, seed=0).log_joint[0]
        seen = ~np.isnan(rows.table)
        jacobian = seen @ np.log(rows.scale)
        densities.append((found - jacobian[:, None])[rows.place] + ~np.isnan(table) @ np.log(unit)[:, None])
    np.testing.assert_allclose(densities[0], densities[1], atol=1e-6)


def test_densities_in_the_units_of_the_attributes_are_those_of_multivariate_normals():
    rng = np.random.default_rng(13)
    labels = rng.integers(0, 2, size=20)
    attributes = random_table(rng, 20, 3) * [1e-2, 1.0, 1e2] + [5.0, 0.0, -1e2]
    rows = training(attributes, labels, np.ones(20))
    model = random_model(rng)
    single = model.take(0)
    scaled = replace(
        single,
        loadings=single.loadings * rows.scale[:, None],
        offsets=rows.location + rows.scale * single.offsets,
        noise=single.noise * rows.scale**2,
    )
    found = (log_densities(model, rows.groups, 20)[0] - np.log(rows.scale).sum())[rows.place]
    for row, label in np.ndindex(found.shape):
        assert found[row, label] == pytest.approx(reference.log_density(scaled, label, attributes[row]), abs=1e-8)


# Edges ------------------------------------------------------------------------------------------------------------


def complete_moments(attributes, latents):
    """Return the sums over rows whose latents are known, component by component."""
    parts = [
        (float(len(x)), z.sum(axis=0), z.T @ z, x.sum(axis=0), (x * x).sum(axis=0), x.T @ z)
        for x, z in zip(attributes, latents, strict=True)
    ]
    return Moments(*(np.stack(arrays)[None] for arrays in zip(*parts, strict=True)))


def random_complete(rng, components, attributes, latents, centred=False):
    """Return attributes and latents of every component; its attributes hang on some of its latents."""
    x, z = [], []
    for _ in range(components):
        rows = rng.integers(2, 30)
        z.append(2 * rng.normal(size=(rows, latents)) + (0 if centred else 2 * rng.normal(size=latents)))
        loadings = rng.normal(size=(attributes, latents)) * (rng.random((attributes, latents)) < 0.5)
        x.append(
            z[-1] @ loadings.T + rng.normal(size=(rows, attributes)) + (0 if centred else rng.normal(size=attributes))
        )
        if centred:
            z[-1] -= z[-1].mean(axis=0)
            x[-1] -= x[-1].mean(axis=0)
    return x, z


def gains_of(total, edges):
    return _edges._gains(*_edges._scatter(total), edges, total.mass[..., None])


@pytest.mark.parametrize("centred", [True, False])
@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=30)
def test_gains_are_differences_of_marginal_likelihoods(centred, seed, components, attributes, latents):
    rng = np.random.default_rng(seed)
    x, z = random_complete(rng, components, attributes, latents, centred)
    edges = rng.random((1, components, attributes, latents)) < 0.5
    found = gains_of(complete_moments(x, z), edges)
    np.testing.assert_allclose(found[0], reference.gains(x, z, edges[0]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shared", [True, False])
@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.booleans())
@settings(max_examples=20)
def test_learned_edges_are_those_of_a_greedy_search(shared, seed, components, attributes, latents, full):
    rng = np.random.default_rng(seed)
    x, z = random_complete(rng, components, attributes, latents)
    total = complete_moments(x, z)
    edges = np.full((1, components, attributes, latents), full)
    found = _edges.learned_edges(total, edges, shared)
    expected_edges = reference.greedy_edges(x, z, edges[0], shared, _edges.LEAST_GAIN)
    np.testing.assert_array_equal(found[0], expected_edges)
    assert (edges == full).all()
    left = gains_of(total, found)
    assert (left.sum(axis=1) if shared else left).max() <= _edges.LEAST_GAIN


def test_shared_edges_are_the_same_in_all_components_and_separate_ones_need_not_be():
    rng = np.random.default_rng(0)
    z = [rng.normal(size=(1000, 2)) for _ in range(2)]
    x = [z[0][:, [0]] + 0.5 * rng.normal(size=(1000, 1)), z[1][:, [1]] + 0.5 * rng.normal(size=(1000, 1))]
    total, none = complete_moments(x, z), np.zeros((1, 2, 1, 2), bool)
    assert _edges.learned_edges(total, none, shared=False)[0, :, 0].tolist() == [[True, False], [False, True]]
    assert _edges.learned_edges(total, none, shared=True).all()


def test_edges_of_several_models_are_learned_as_if_alone():
    rng = np.random.default_rng(1)
    totals = [complete_moments(*random_complete(rng, 2, 3, 3)) for _ in range(3)]
    batch = Moments(*(np.concatenate(parts) for parts in zip(*(arrays(t).values() for t in totals), strict=True)))
    edges = rng.random((3, 2, 3, 3)) < 0.5
    found = _edges.learned_edges(batch, edges, shared=False)
    for at, total in enumerate(totals):
        np.testing.assert_array_equal(found[[at]], _edges.learned_edges(total, edges[[at]], shared=False))


def test_neither_the_scale_nor_the_sign_of_a_latent_matters_for_its_edges():
    rng = np.random.default_rng(2)
    x, z = random_complete(rng, 2, 3, 3)
    edges = rng.random((1, 2, 3, 3)) < 0.5
    scaled = [latents * [1e-3, -1.0, 1e3] for latents in z]
    found, expected_gains = gains_of(complete_moments(x, scaled), edges), gains_of(complete_moments(x, z), edges)
    np.testing.assert_allclose(found, expected_gains, atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 5.0])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_the_true_edges_are_found_with_plenty_of_rows(shared, full, shift):
    rng = np.random.default_rng(3)
    true = rng.random((6, 4)) < 0.4
    x, z = [], []
    for _ in range(2):
        z.append(rng.normal(size=(5000, 4)) + shift)
        loadings = true * rng.uniform(0.5, 1.0, size=true.shape)
        x.append(z[-1] @ loadings.T - 2 * shift + 0.5 * rng.normal(size=(5000, 6)))
    found = _edges.learned_edges(complete_moments(x, z), np.full((1, 2, 6, 4), full), shared)
    np.testing.assert_array_equal(found[0], [true, true])


def two_blocks(rng, n_rows=2000):
    """Attributes of which some hang on one latent, and the others on another; the classes tell the latents apart."""
    labels = rng.integers(0, 2, size=n_rows)
    latents = rng.normal(size=(n_rows, 2)) * np.where(labels[:, None], [0.4, 1.6], [1.6, 0.4]) + labels[:, None] * [
        1.0,
        -1.0,
    ]
    return latents[:, [0, 0, 0, 1, 1, 1]] + 0.4 * rng.normal(size=(n_rows, 6)), labels


def test_edges_of_hidden_latents_are_found_from_the_attributes():
    attributes, labels = two_blocks(np.random.default_rng(4))
    rows = training(attributes, labels, np.ones(len(labels)))
    found = learn(rows, rows.weights[None], (2, 1), Recipe(edges="shared", max_iter=200, tol=1e-5), 6, seed=0)
    first = found.edges[0, 0, 0]
    assert first.sum() == 1
    np.testing.assert_array_equal(found.edges[0, 0], [first] * 3 + [~first] * 3)
    np.testing.assert_array_equal(found.models.loadings != 0, found.edges)


# Rows -------------------------------------------------------------------------------------------------------------


@st.composite
def tables(draw):
    """Rows that repeat now and then, with gaps, and labels of which all occur."""
    rng = np.random.default_rng(draw(SEEDS))
    n_rows, n_attributes = draw(st.integers(3, 20)), draw(st.integers(1, 3))
    table = np.round(rng.normal(size=(n_rows, n_attributes)), draw(st.sampled_from([0, 1, 8]))) + 0.0
    table[1:][rng.random((n_rows - 1, n_attributes)) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    labels = np.concatenate([[0, 1], rng.integers(0, 2, size=n_rows - 2)])
    return rng, table, labels


def assert_same_rows(left, right, weight=1.0):
    for name in ("table", "location", "scale"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_allclose(left.weights * weight, right.weights, rtol=1e-12)


@given(tables())
def test_training_rows_are_the_attributes_on_a_common_scale(drawn):
    rng, table, labels = drawn
    weights = rng.random(len(table)) + 0.1
    rows = training(table, labels, weights)
    np.testing.assert_allclose((rows.location + rows.scale * rows.table)[rows.place], table, atol=1e-12)
    np.testing.assert_array_equal(rows.labels[rows.place], labels)
    assert rows.n_classes == 2
    assert rows.weights.sum() == pytest.approx(weights.sum())
    np.testing.assert_array_equal(rows.row_weights, weights)
    assert len({(label, *np.nan_to_num(row, nan=99)) for label, row in zip(labels, table, strict=True)}) == len(
        rows.table
    )
    for column in rows.table.T:
        seen = ~np.isnan(column)
        mean = np.average(column[seen], weights=rows.weights[seen])
        variance = np.average((column[seen] - mean) ** 2, weights=rows.weights[seen])
        assert mean == pytest.approx(0, abs=1e-9)
        assert variance == pytest.approx(1 if len(set(column[seen])) > 1 else 0, abs=1e-9)


@given(tables())
def test_the_order_of_rows_does_not_matter(drawn):
    rng, table, labels = drawn
    weights, order = rng.random(len(table)) + 0.1, rng.permutation(len(table))
    rows, other = training(table, labels, weights), training(table[order], labels[order], weights[order])
    assert_same_rows(rows, other)
    np.testing.assert_array_equal(rows.place[order], other.place)


@given(tables())
def test_neither_does_the_scale_of_the_weights(drawn):
    rng, table, labels = drawn
    weights = rng.random(len(table)) + 0.1
    assert_same_rows(training(table, labels, weights), training(table, labels, 1e-6 * weights), weight=1e-6)


@given(tables())
def test_whole_weights_are_repeated_rows(drawn):
    rng, table, labels = drawn
    counts = rng.integers(1, 4, size=len(table))
    weighted = training(table, labels, counts.astype(float))
    repeated = training(np.repeat(table, counts, axis=0), np.repeat(labels, counts), np.ones(counts.sum()))
    assert_same_rows(weighted, repeated)


def test_models_learned_from_whole_weights_and_from_repeated_rows_agree():
    rng = np.random.default_rng(5)
    labels = np.concatenate([[0, 1], rng.integers(0, 2, size=48)])
    table, counts = random_table(rng, 50, 3, gaps=0.1) + labels[:, None], rng.integers(1, 4, size=50)
    weighted = training(table, labels, counts.astype(float))
    repeated = training(np.repeat(table, counts, axis=0), np.repeat(labels, counts), np.ones(counts.sum()))
    found = [
        learn(rows, rows.weights[None], (2, 2), Recipe(edges="shared"), 3, seed=0) for rows in (weighted, repeated)
    ]
    np.testing.assert_allclose(found[0].log_joint, found[1].log_joint, atol=1e-6)
    assert found[0].accuracies == pytest.approx(found[1].accuracies)


@given(tables(), st.integers(2, 4))
def test_weightings_of_folds_add_up(drawn, n_folds):
    rng, table, labels = drawn
    rows = training(table, labels, rng.random(len(table)) + 0.1)
    fold = rng.integers(0, n_folds, size=len(table))
    folds = [(np.flatnonzero(fold != at), np.flatnonzero(fold == at)) for at in range(n_folds)]
    learning, testing = fold_weightings(rows, folds)
    np.testing.assert_allclose(learning + testing, np.tile(rows.weights, (n_folds, 1)), rtol=1e-12)
    np.testing.assert_allclose(testing.sum(axis=0), rows.weights, rtol=1e-12)
    np.testing.assert_allclose(testing.sum(axis=1), [rows.row_weights[test].sum() for _, test in folds], atol=1e-12)
    shares = rows.class_shares(rows.weights[None])[0]
    np.testing.assert_allclose(
        shares, [np.average(labels == y, weights=rows.row_weights) for y in range(2)], rtol=1e-12
    )


def test_constant_attributes_become_zero_and_keep_their_units():
    table = np.array([[0.1, 1e9 + 0.1, 1.0], [0.1, 1e9 + 0.1, 2.0], [0.1, np.nan, np.nan]] * 7)
    rows = training(table, np.arange(21) % 3, np.linspace(0.1, 1, 21))
    assert np.nanmax(np.abs(rows.table[:, :2])) <= 1e-6
    assert rows.scale[:2].tolist() == [1.0, 1.0]
    assert rows.location[:2] == pytest.approx([0.1, 1e9 + 0.1])


def test_without_centring_the_attributes_are_scaled_only():
    rng = np.random.default_rng(6)
    table, labels = random_table(rng, 9, 2) + 7, np.arange(9) % 2
    rows, centred = training(table, labels, np.ones(9), centre=False), training(table, labels, np.ones(9))
    assert not rows.location.any()
    np.testing.assert_array_equal(rows.scale, centred.scale)
    np.testing.assert_allclose(
        rows.table - centred.table, centred.location / centred.scale + np.zeros((9, 2)), atol=1e-12
    )


def test_gaps_are_filled_with_the_mean_of_the_class():
    table = np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, np.nan], [8.0, 1.0]])
    rows = training(table, np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 2.0, 2.0]))
    filled = (rows.location + rows.scale * rows.filled)[rows.place]
    np.testing.assert_allclose(filled, [[1.0, 5.0], [3.0, 5.0], [2.5, 5.0], [8.0, 1.0]], atol=1e-12)


def test_a_gap_in_a_class_that_never_has_the_attribute_is_filled_with_the_mean_of_all():
    table = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 4.0], [5.0, 8.0]])
    rows = training(table, np.array([0, 0, 1, 1]), np.ones(4))
    np.testing.assert_allclose((rows.location + rows.scale * rows.filled)[rows.place[:2], 1], [6.0, 6.0], atol=1e-12)


@given(tables())
def test_groups_hold_every_row_once_and_what_it_misses(drawn):
    _, table, labels = drawn
    rows = training(table, labels, np.ones(len(table)))
    for groups in (rows.groups, list(chain(*rows.by_class))):
        assert sorted(np.concatenate([group.at for group in groups])) == list(range(len(rows.table)))
        for group in (one for one in groups if isinstance(one, RaggedRows)):
            np.testing.assert_array_equal(np.where(group.is_known, group.values, np.nan), rows.table[group.at])
            assert sorted(np.concatenate([part.at for part in group.groups])) == group.at.tolist()
        for group in chain(*(one.groups if isinstance(one, RaggedRows) else [one] for one in groups)):
            np.testing.assert_array_equal(group.values.T, rows.table[np.ix_(group.at, group.seen)])
            assert np.isnan(rows.table[np.ix_(group.at, group.unseen)]).all()
            assert sorted([*group.seen, *group.unseen]) == list(range(table.shape[1]))
    for label, groups in enumerate(rows.by_class):
        assert all((rows.labels[group.at] == label).all() for group in groups)


# Starts and races -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blocks():
    """Rows with gaps, and the weightings of three folds."""
    rng = np.random.default_rng(7)
    attributes, labels = two_blocks(rng, 120)
    attributes[rng.random(attributes.shape) < 0.05] = np.nan
    rows = training(attributes, labels, rng.gamma(2.0, 0.5, size=120) + 0.1)
    fold = np.arange(120) % 3
    learning, _ = fold_weightings(rows, [(np.flatnonzero(fold != at), np.flatnonzero(fold == at)) for at in range(3)])
    return rows, learning


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (8, 2), (12, 1)])
def test_a_start_depends_on_seed_shape_weighting_and_number_only(blocks, shape):
    rows, weightings = blocks
    few, numbers = draw_starts(rows, weightings[:2], shape, 2, seed=5)
    assert numbers.tolist() == [0, 0, 1, 1]
    assert few.shape == (4, 2, shape[1], 6, shape[0])
    many, _ = draw_starts(rows, np.stack([rows.weights, weightings[1], weightings[2]]), shape, 4, seed=5)
    assert_same(few.take([2, 3]), many.take([4, 5]))
    assert not np.array_equal(few.loadings[2], few.loadings[3])
    assert not np.array_equal(few.loadings[2], draw_starts(rows, weightings[:2], shape, 2, seed=6)[0].loadings[2])


@given(hard_rows(), st.integers(1, 8), st.integers(1, 6))
@settings(max_examples=40)
def test_starts_are_proper_models_whatever_the_rows(hard, latents, components):
    rows = training(*hard)
    starts, _ = draw_starts(rows, rows.weights[None], (latents, components), 2, seed=0)
    assert all(np.isfinite(array).all() for array in arrays(starts).values())
    np.testing.assert_allclose(np.exp(starts.log_weights).sum(axis=-1), 1, atol=1e-12)
    assert (starts.variances > 0).all()
    assert (starts.noise > 0).all()


@pytest.mark.parametrize("components", [1, 3])
def test_starts_depend_on_the_proportions_of_weights_only(blocks, components):
    rows, weightings = blocks
    starts = [draw_starts(rows, factor * weightings, (2, components), 3, seed=0)[0] for factor in (1.0, 7.0)]
    assert_same(*starts, atol=1e-9)


@pytest.mark.parametrize("sparse", [True, False])
def test_models_that_run_together_end_as_they_do_alone(blocks, sparse):
    rows, weightings = blocks
    problem = Problem(rows.by_class, weightings)
    starts, numbers = draw_starts(rows, weightings, (2, 2), 3, seed=0)
    edges = np.random.default_rng(0).random(starts.loadings.shape) < 0.7 if sparse else None
    starts = without(starts, edges) if sparse else starts
    together = run_em(problem, starts, numbers, edges=edges, max_iter=30, tol=1e-3)
    assert sorted(together.numbers) == sorted(numbers)
    found = {round(value, 6): at for at, value in enumerate(together.log_likelihoods)}
    for at in range(len(numbers)):
        mine = edges[[at]] if sparse else None
        alone = run_em(problem, starts.take([at]), numbers[[at]], edges=mine, max_iter=30, tol=1e-3)
        match = found[round(alone.log_likelihoods[0], 6)]
        assert together.numbers[match] == numbers[at]
        np.testing.assert_allclose(together.traces[match], alone.traces[0], rtol=1e-10)
        assert_same(together.models.take([match]), alone.models, atol=1e-7)
        if sparse:
            np.testing.assert_array_equal(together.edges[match], edges[at])
            assert not together.models.loadings[match][~edges[at]].any()


def test_a_weighting_in_a_batch_is_the_problem_of_its_rows_alone(blocks):
    rows, weightings = blocks
    starts, numbers = draw_starts(rows, weightings, (2, 2), 1, seed=0)
    values, stepped = step(Problem(rows.by_class, weightings), starts, numbers)
    for at in range(3):
        there = weightings[at] > 0
        alone = Problem(by_class(rows.table[there], rows.labels[there]), weightings[[at]][:, there])
        value, model = step(alone, starts.take([at]), ONE)
        assert values[at] == pytest.approx(value[0], rel=1e-12)
        assert_same(stepped.take([at]), model, atol=1e-9)


def test_batches_in_pieces_are_batches_as_a_whole(blocks, monkeypatch):
    rows, weightings = blocks
    starts, numbers = draw_starts(rows, weightings, (2, 2), 3, seed=0)
    found = []
    for chunk in (1, 10**9):
        monkeypatch.setattr("pgmpy_latent.classification.em.CHUNK", chunk)
        found.append(run_em(Problem(rows.by_class, weightings), starts, numbers, max_iter=10, tol=0.0))
    np.testing.assert_allclose(found[0].traces, found[1].traces, rtol=1e-12)
    assert_same(found[0].models, found[1].models, atol=1e-9)


@pytest.mark.parametrize("max_iter", [1, 4, 5, 30])
def test_the_likelihood_that_is_returned_is_that_of_the_models_that_are(blocks, max_iter):
    rows, weightings = blocks
    problem = Problem(rows.by_class, weightings)
    starts, numbers = draw_starts(rows, weightings, (2, 2), 3, seed=0)
    ended = run_em(problem, starts, numbers, stages=[(5, 2)], max_iter=max_iter, tol=1e-3)
    values, _ = expected(problem, ended.models, ended.numbers)
    np.testing.assert_allclose(values, ended.log_likelihoods, rtol=1e-12)
    assert [trace[-1] for trace in ended.traces] == ended.log_likelihoods.tolist()
    assert all(len(trace) <= max_iter + (max_iter < FEW) for trace in ended.traces)  # after the last step as well
    assert all(np.diff(trace).min(initial=0.0) > -1e-8 for trace in ended.traces)


@pytest.mark.parametrize("kept", [1, 2, 4])
def test_races_keep_the_best_of_every_weighting(blocks, kept):
    rows, weightings = blocks
    problem = Problem(rows.by_class, weightings)
    starts, numbers = draw_starts(rows, weightings, (2, 2), 5, seed=0)
    all_of_them = run_em(problem, starts, numbers, max_iter=4, tol=0.0)
    ended = run_em(problem, starts, numbers, stages=[(4, kept)], max_iter=4, tol=0.0)
    assert np.bincount(ended.numbers).tolist() == [kept] * 3
    for number in range(3):
        best = np.sort(all_of_them.log_likelihoods[all_of_them.numbers == number])[-kept:]
        np.testing.assert_allclose(np.sort(ended.log_likelihoods[ended.numbers == number]), best, rtol=1e-12)


@pytest.mark.parametrize("stages", [[], [(5, 1)]])
def test_an_interrupt_ends_em_where_it_is(blocks, stages):
    rows, weightings = blocks
    problem = Problem(rows.by_class, weightings)
    starts, numbers = draw_starts(rows, weightings, (1, 1), 2, seed=0)
    calls = []

    def report():
        calls.append(0)
        if len(calls) == 3:
            raise KeyboardInterrupt

    ended = run_em(problem, starts, numbers, stages=stages, tol=0.0, clock=Clock(on_check=report))
    assert ended.interrupted
    assert sorted(ended.numbers) == sorted(numbers)
    assert {len(trace) for trace in ended.traces} == {3}
    np.testing.assert_allclose(expected(problem, ended.models, ended.numbers)[0], ended.log_likelihoods, rtol=1e-12)


@pytest.mark.parametrize("n_reports", [1, 2, 4])
def test_whatever_ends_the_first_iteration_every_weighting_has_a_model_that_took_a_step(blocks, monkeypatch, n_reports):
    monkeypatch.setattr(_em, "CHUNK", 1)  # a model at a time
    rows, weightings = blocks
    problem = Problem(rows.by_class, weightings)
    starts, numbers = draw_starts(rows, weightings, (2, 2), 3, seed=0)
    before, _ = expected(problem, starts, numbers)
    calls = []

    def report():
        calls.append(0)
        if len(calls) >= n_reports:
            raise KeyboardInterrupt

    ended = run_em(problem, starts, numbers, stages=[(5, 2)], clock=Clock(on_check=report))
    assert ended.interrupted
    assert sorted(ended.numbers) == [0, 1, 2]
    assert len(calls) < len(numbers)
    for number, value, trace in zip(ended.numbers, ended.log_likelihoods, ended.traces, strict=True):
        assert value > before[numbers == number].min()
        assert trace[-1] == value > trace[0]
    np.testing.assert_allclose(expected(problem, ended.models, ended.numbers)[0], ended.log_likelihoods, rtol=1e-12)


def test_an_interrupt_in_the_very_first_step_leaves_a_model(blocks, monkeypatch):
    rows, weightings = blocks
    problem = Problem(rows.by_class, weightings)
    starts, numbers = draw_starts(rows, weightings, (1, 1), 2, seed=0)
    pressed = []

    def press(*arguments):
        if not pressed:
            pressed.append(1)
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(_em, "step", press)
    ended = run_em(problem, starts, numbers)
    assert ended.interrupted
    assert np.isfinite(ended.log_likelihoods).all()
    assert all(len(trace) == 2 for trace in ended.traces)


# Learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_init", range(1, 30))
def test_thinning_leaves_a_quarter_but_never_fewer_than_four_nor_more_than_there_are(n_init):
    kept = [n_init, *(number for _, number in thinning(n_init))]
    assert kept == sorted(set(kept), reverse=True)
    assert kept[-1] == min(n_init, max(4, np.ceil(n_init / 4)))


@pytest.mark.parametrize("select", ["accuracy", "likelihood"])
@pytest.mark.parametrize("edges", [None, "shared", "separate"])
def test_learning_returns_the_best_model_of_every_weighting(blocks, select, edges):
    rows, weightings = blocks
    recipe = Recipe(select=select, edges=edges, max_iter=20)
    found = learn(rows, weightings, (2, 2), recipe, 2, seed=0)
    problem = Problem(rows.by_class, weightings, noise_floor=recipe.noise_floor)
    values, by_label = expected(problem, found.models, np.arange(3))
    np.testing.assert_allclose(values, found.log_likelihoods, rtol=1e-12)
    shares = rows.class_shares(weightings)
    joint = log_densities(found.models, rows.groups, len(rows.table)) + np.log(shares)[:, None]
    np.testing.assert_allclose(found.log_joint, joint, atol=1e-9)
    right = (joint.argmax(axis=2) == rows.labels) * weightings
    np.testing.assert_allclose(found.accuracies, right.sum(axis=1) / weightings.sum(axis=1), rtol=1e-12)
    if edges is None:
        ended = run_em(problem, *draw_starts(rows, weightings, (2, 2), 2, seed=0), max_iter=20)
        every = log_densities(ended.models, rows.groups, len(rows.table)) + np.log(shares)[ended.numbers][:, None]
        weights = weightings[ended.numbers]
        accuracies = ((every.argmax(axis=2) == rows.labels) * weights).sum(axis=1) / weights.sum(axis=1)
        for number in range(3):
            best = max(
                np.flatnonzero(ended.numbers == number),
                key=lambda at: (select == "accuracy" and round(accuracies[at], 9), ended.log_likelihoods[at]),
            )
            assert found.accuracies[number] == pytest.approx(accuracies[best])
            assert found.log_likelihoods[number] == pytest.approx(ended.log_likelihoods[best])
    else:
        assert not found.models.loadings[~found.edges].any()
        assert (found.edges == found.edges[:, :1]).all() or edges == "separate"
    assert sum_of(by_label).mass.sum(axis=1) == pytest.approx(weightings.sum(axis=1))


def test_learning_a_fold_in_a_batch_is_learning_it_from_its_rows(blocks):
    rows, weightings = blocks
    batch = learn(rows, weightings, (2, 2), Recipe(), 4, seed=0)
    alone = learn(rows, weightings[:1], (2, 2), Recipe(), 4, seed=0)
    np.testing.assert_allclose(batch.log_joint[0], alone.log_joint[0], atol=1e-7)
    np.testing.assert_allclose(batch.traces[0], alone.traces[0], rtol=1e-10)


@pytest.fixture(params=[1, 2])
def without_offset(request):
    attributes, labels = two_blocks(np.random.default_rng(8), 100)
    rows = training(attributes + 3, labels, np.ones(100), centre=False)
    recipe = Recipe(offset=False, max_iter=30, tol=0.0)
    return learn(rows, rows.weights[None], (2, request.param), recipe, 3, seed=0)


def test_a_model_that_is_to_have_no_offset_has_none(without_offset):
    assert not without_offset.models.offsets.any()


def test_learning_without_offset_climbs_as_well(without_offset):
    (trace,) = without_offset.traces
    assert np.diff(trace).min() > -1e-8 * abs(trace[0])


def test_learning_without_offset_tells_components_apart(without_offset):
    loadings = without_offset.models.loadings[0]
    assert all(np.abs(loadings[0] - other).max() > 1e-3 for other in loadings[1:])


def test_batches_can_be_joined_and_taken_apart():
    rng = np.random.default_rng(9)
    batch = random_model(rng, models=4)
    assert batch.shape == (4, 2, 2, 3, 2)
    assert_same(joined([batch.take([0, 1]), batch.take(slice(2, 4))]), batch)


def test_the_m_step_of_several_models_is_that_of_each():
    rng = np.random.default_rng(10)
    labels = rng.integers(0, 2, size=20)
    _, _, problem = random_problem(rng, labels, 3, 0.2)
    models = random_model(rng, models=3)
    _, sums = expected(problem, models, np.zeros(3, int))
    batch = m_step(problem, models, sums)
    for at in range(3):
        assert_same(batch.take([at]), step(problem, models.take([at]), ONE)[1], atol=1e-9)
