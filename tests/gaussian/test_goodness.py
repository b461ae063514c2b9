"""Measures of fit, residual correlations, loadings and standard errors of Gaussian trees."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from pgmpy.models import LinearGaussianBayesianNetwork

from pgmpy_latent import GaussianBaseline, GaussianTree, GaussianTreeEM, gaussian
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.testing import gaussian_trees
from tests.support import reference_gaussian as reference
from tests.support.gaussian_samples import drawn


@pytest.fixture(scope="module")
def pupils(data_folder):
    table = pd.read_csv(data_folder / "holzinger9.csv")[[f"x{at}" for at in range(1, 10)]]
    network = LinearGaussianBayesianNetwork(
        [("g", f"f{at}") for at in range(3)] + [(f"f{at // 3}", f"x{at + 1}") for at in range(9)],
        latents={"g", "f0", "f1", "f2"},
    )
    return GaussianTreeEM(seed=0, atol=1e-8, show_progress=False).fit(network, table).tree_, table


def test_the_figures_that_lavaan_prints_for_three_factors_of_nine_tests(pupils):
    """Rosseel (2012), Journal of Statistical Software 48(2): three correlated factors, which a general one explains."""
    found = gaussian.fit_measures(*pupils)
    assert round(found.saturated_log_likelihood, 3) == -3695.092
    assert (round(found.chi_squared, 3), found.df) == (85.306, 24)
    assert (round(found.cfi, 3), round(found.rmsea, 3), round(found.srmr, 3)) == (0.931, 0.092, 0.065)
    loadings = gaussian.loadings(pupils[0])
    own = [loadings.loc[f"x{at + 1}", f"f{at // 3}"] for at in range(9)]
    wanted = [0.772, 0.424, 0.581, 0.852, 0.855, 0.838, 0.570, 0.723, 0.665]
    np.testing.assert_allclose(own, wanted, atol=6e-4)


def test_residual_correlations_are_differences_the_largest_first(pupils):
    tree, table = pupils
    found = gaussian.residual_correlations(tree, table)
    assert len(found) == 36
    assert found["residual"].abs().is_monotonic_decreasing
    first = found.iloc[0]
    assert first["observed"] == pytest.approx(table.corr().loc[first["first"], first["second"]])
    np.testing.assert_allclose(found["observed"] - found["fitted"], found["residual"], atol=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_standard_errors_are_those_of_the_curvature_of_the_likelihood(gaps):
    rows = drawn(150, gaps=gaps)[["x0", "x1", "x2", "x3"]]
    tree = GaussianBaseline("one_factor", show_progress=False).fit(rows).tree_
    found = gaussian.standard_errors(tree, rows)
    at_maximum = np.concatenate([np.arctanh(tree.correlation[1:]), tree.mean[1:], np.log(tree.std[1:])])

    def value(point):
        z, mean, log_std = np.split(point, 3)
        changed = GaussianTree(
            tree.names, tree.parent, tree.latent, [0, *np.tanh(z)], [0, *mean], [1, *np.exp(log_std)]
        )
        return gaussian.log_likelihood(changed, rows)

    def second(a, b):
        same = value(at_maximum + a + b) + value(at_maximum - a - b)
        return same - value(at_maximum + a - b) - value(at_maximum - a + b)

    steps = 1e-3 * np.eye(12)
    curvature = np.array([[second(a, b) for a in steps] for b in steps])
    errors = np.sqrt(np.linalg.inv(-curvature / 4e-6).diagonal())
    scale = np.concatenate([1 - tree.correlation[1:] ** 2, np.ones(4), tree.std[1:]])
    np.testing.assert_allclose(found["standard_error"], errors * scale, rtol=2e-3)
    np.testing.assert_allclose(found["value"], np.concatenate([tree.correlation[1:], tree.mean[1:], tree.std[1:]]))
    assert (found["lower"] < found["value"]).all()
    assert (found["value"] < found["upper"]).all()


def test_missing_cells_widen_intervals_and_weights_narrow_them():
    rows = drawn(300)
    tree = GaussianBaseline(show_progress=False).fit(rows).tree_
    plain = gaussian.standard_errors(tree, rows)["standard_error"]
    gaps = gaussian.standard_errors(tree, drawn(300, gaps=0.3))["standard_error"]
    assert gaps.mean() > 1.1 * plain.mean()
    four = gaussian.standard_errors(tree, rows, sample_weight=np.full(300, 4))["standard_error"]
    np.testing.assert_allclose(four, plain / 2, rtol=1e-3)


def test_what_is_not_identified_has_no_standard_error():
    rows = drawn(200)[["x0", "x3"]]
    pair = GaussianTree(["H", "x0", "x3"], [-1, 0, 0], [True, False, False], [0.0, 0.6, 0.6], [0, 0, 3], [1, 0.5, 3.5])
    found = gaussian.standard_errors(pair, rows)
    assert found["note"].tolist() == ["not identified"] * 2 + [""] * 4
    assert found["standard_error"].isna().tolist() == [True] * 2 + [False] * 4
    with pytest.raises(ValueError, match="level is 2"):
        gaussian.standard_errors(pair, rows, level=2)
    with pytest.raises(DataError, match="column 'x0' is constant"):
        gaussian.standard_errors(pair, rows.assign(x0=1.0))


def test_measures_that_need_a_complete_table_are_missing_for_others():
    rows = drawn(200, gaps=0.1)
    tree = GaussianBaseline(show_progress=False).fit(rows).tree_
    found = gaussian.fit_measures(tree, rows)
    assert np.isnan([found.saturated_log_likelihood, found.chi_squared, found.p_value, found.rmsea, found.cfi]).all()
    assert 0 < found.srmr < 1
    assert found.log_likelihood == pytest.approx(gaussian.log_likelihood(tree, rows))


@given(gaussian_trees())
def test_loadings_are_correlations_and_scores_are_conditional_means(tree):
    mean, covariance = reference.joint(tree)
    observed, hidden = np.flatnonzero(~tree.latent), np.flatnonzero(tree.latent)
    scale = np.sqrt(covariance.diagonal())
    wanted = covariance[np.ix_(observed, hidden)] / scale[observed, None]
    np.testing.assert_allclose(gaussian.loadings(tree).to_numpy(), wanted, atol=1e-10)
    _, _, left = reference.conditional(tree, mean[observed])
    np.testing.assert_allclose(gaussian.determinacy(tree), np.sqrt(np.clip(1 - left.diagonal(), 0, 1)), atol=1e-6)
