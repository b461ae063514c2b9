"""Log-linear tables: Newton's method against a general optimiser, and the laws of the projection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pgmpy_latent.em.class_logit import ClassLogit
from pgmpy_latent.em.log_linear import LogLinear, ordinal_item
from pgmpy_latent.exceptions import DataError


def random_family(rng, rows=3, columns=4, n=3):
    return LogLinear(rng.normal(size=(rows, columns, n)))


def by_optimiser(family, counts):
    """The maximum of the sum of counts times logarithms, by a general optimiser from zero."""
    found = minimize(
        lambda theta: -(counts * np.log(family.tables(theta))).sum(), np.zeros(family.design.shape[2]), method="BFGS",
        options={"gtol": 1e-9},
    )  # fmt: skip
    return -found.fun


@given(st.integers(0, 2**32 - 1))
def test_newton_reaches_what_a_general_optimiser_does(seed):
    rng = np.random.default_rng(seed)
    family = random_family(rng)
    counts = rng.gamma(2.0, 10.0, size=(5, *family.shape))
    begin = family.tables(rng.normal(size=(5, 3)))
    found = family.fit(counts, begin)
    for table, count in zip(found, counts, strict=True):
        assert (count * np.log(table)).sum() == pytest.approx(by_optimiser(family, count), rel=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_a_fit_never_falls_whatever_the_counts(seed):
    rng = np.random.default_rng(seed)
    family = random_family(rng)
    counts = rng.gamma(0.1, 10.0, size=(8, *family.shape)) * (rng.random((8, *family.shape)) < 0.5)
    begin = family.tables(5 * rng.normal(size=(8, 3)))
    found = family.fit(counts, begin)
    gain = (counts * (np.log(np.maximum(found, 1e-300)) - np.log(np.maximum(begin, 1e-300)))).sum(axis=(1, 2))
    assert (gain >= -1e-9).all()
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_a_projection_changes_nothing_the_second_time(seed):
    rng = np.random.default_rng(seed)
    family = random_family(rng)
    once = family.project(rng.dirichlet(np.ones(4), size=(2, 3)))
    np.testing.assert_array_equal(family.project(once), once)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 2), (2, 2), (3, 5), (4, 3)])
def test_an_ordinal_item_has_a_parameter_per_step_and_one_per_further_class(n_rows, n_columns):
    family = ordinal_item(n_rows, n_columns)
    assert family.n_parameters == (n_columns - 1) + (n_rows - 1) == family.design.shape[2]
    table = family.tables(np.random.default_rng(0).normal(size=family.design.shape[2]))
    adjacent = np.diff(np.log(table), axis=1)
    np.testing.assert_allclose(np.ptp(adjacent - adjacent[0], axis=1), 0, atol=1e-12)  # one effect per class


def test_rows_without_counts_keep_their_effect():
    family = ordinal_item(3, 4)
    begin = family.tables(np.array([0.1, 0.2, 0.3, 0.4, -0.5]))
    counts = np.array([[5.0, 3, 2, 1], [1, 2, 3, 4], [0, 0, 0, 0]])
    found = family.fit(counts, begin)
    effect = family.parameters(found)
    np.testing.assert_allclose(effect[4], -0.5, atol=1e-6)
    np.testing.assert_allclose(family.fit(0 * counts, begin), begin, rtol=1e-12)


@pytest.mark.parametrize("design", [np.zeros((2, 2)), np.zeros((2, 0, 1)), np.full((1, 2, 1), np.nan)])
def test_a_wrong_design_is_refused(design):
    with pytest.raises(DataError, match="give finite numbers of shape"):
        LogLinear(design)


def as_log_linear(logit):
    """The same family with its design written out."""
    z, (rows, classes) = logit.covariates, logit.shape
    design = np.zeros((rows, classes, (classes - 1) * z.shape[1]))
    for place, at in enumerate(at for at in range(classes) if at != logit.reference):
        design[:, at, place * z.shape[1] : (place + 1) * z.shape[1]] = z
    np.testing.assert_array_equal(logit.log_linear.design, design)
    return LogLinear(design)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 1))
def test_the_logit_of_classes_is_the_family_with_its_design_written_out(seed, n_classes, reference):
    rng = np.random.default_rng(seed)
    logit = ClassLogit(np.column_stack([np.ones(6), rng.normal(size=(6, 2))]), n_classes, reference)
    written = as_log_linear(logit)
    theta = 0.2 * rng.normal(size=(3, 3 * (n_classes - 1)))
    np.testing.assert_allclose(logit.tables(theta), written.tables(theta), rtol=1e-12)
    np.testing.assert_allclose(logit.parameters(logit.tables(theta)), theta, atol=1e-9)
    counts = rng.gamma(2.0, 5.0, size=(3, 6, n_classes))
    begin = logit.tables(theta)
    for left, right in zip(logit.direction(counts, begin), written.direction(counts, begin), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(logit.fit(counts, begin), written.fit(counts, begin), atol=1e-6)
    assert logit.n_parameters == written.n_parameters == 3 * (n_classes - 1)


def test_wrong_covariates_are_refused():
    with pytest.raises(DataError, match="give finite numbers of shape"):
        ClassLogit(np.array([np.nan]), 2)
