"""Questions to Gaussian trees agree with the joint normal density written out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import GaussianTree, gaussian
from pgmpy_latent.exceptions import AbsentColumnError, DataError
from pgmpy_latent.testing import gaussian_trees
from tests.support import reference_gaussian as reference
from tests.support.gaussian_samples import THREE, drawn


def rows_for(tree, seed, n_rows=6, gaps=0.3):
    rng = np.random.default_rng(seed)
    observed = np.flatnonzero(~tree.latent)
    rows = tree.mean[observed] + 2 * tree.std[observed] * rng.normal(size=(n_rows, len(observed)))
    rows[rng.random(rows.shape) < gaps] = np.nan
    return pd.DataFrame(rows, columns=list(tree.observed_names), index=[f"r{at}" for at in range(n_rows)])


@given(gaussian_trees(), st.integers(0, 1000))
def test_likelihoods_are_those_of_the_joint_normal(tree, seed):
    rows = rows_for(tree, seed)
    found = gaussian.row_log_likelihoods(tree, rows)
    wanted = [reference.row_log_likelihood(tree, row) for row in rows.to_numpy()]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    assert list(found.index) == list(rows.index)
    weights = np.random.default_rng(seed).gamma(1.0, size=len(rows))
    total = gaussian.log_likelihood(tree, rows, sample_weight=weights, weight_kind="frequency")
    assert total == pytest.approx(weights @ np.array(wanted), rel=1e-8, abs=1e-8)


@given(gaussian_trees(), st.integers(0, 1000))
def test_posteriors_and_imputed_cells_are_conditional_means(tree, seed):
    rows = rows_for(tree, seed)
    posterior, filled = gaussian.posterior(tree, rows), gaussian.impute(tree, rows)
    for at, row in enumerate(rows.to_numpy()):
        unknown, mean, covariance = reference.conditional(tree, row)
        for place, node in enumerate(unknown):
            name = tree.names[node]
            if tree.latent[node]:
                assert posterior[name, "mean"].iloc[at] == pytest.approx(mean[place], rel=1e-7, abs=1e-8)
                std = np.sqrt(covariance[place, place])
                assert posterior[name, "std"].iloc[at] == pytest.approx(std, rel=1e-6, abs=1e-8)
            else:
                assert filled[name].iloc[at] == pytest.approx(mean[place], rel=1e-7, abs=1e-7)
    known = rows.notna().to_numpy()
    assert (filled.to_numpy()[known] == rows.to_numpy()[known]).all()


def test_drawn_rows_and_drawn_cells_have_the_moments_of_the_model():
    rows = gaussian.sample(THREE, 40_000, random_state=1)
    np.testing.assert_allclose(rows.cov() / np.outer(*[THREE.std[4:]] * 2), THREE.correlations()[4:, 4:], atol=0.03)
    np.testing.assert_allclose((rows.mean() - THREE.mean[4:]) / THREE.std[4:], 0, atol=0.03)
    gaps = rows.head(20_000).copy()
    gaps[["x0", "x1"]] = np.nan
    filled = gaussian.impute(THREE, gaps, method="draw", random_state=2)
    np.testing.assert_allclose(filled.corr(), THREE.correlations()[4:, 4:], atol=0.03)
    both = gaussian.sample(THREE, 5, latents=True, random_state=0)
    assert list(both.columns) == list(THREE.names)


def test_tables_of_any_kind_are_read_by_name():
    rows = drawn(5)
    wanted = gaussian.row_log_likelihoods(THREE, rows)
    import polars as pl

    shuffled = rows[sorted(rows.columns, reverse=True)].assign(more="text")
    np.testing.assert_array_equal(gaussian.row_log_likelihoods(THREE, shuffled), wanted)
    np.testing.assert_array_equal(gaussian.row_log_likelihoods(THREE, pl.from_pandas(rows)), wanted)
    nullable = rows.astype("Float64")
    nullable.iloc[0, 0] = pd.NA
    assert gaussian.row_log_likelihoods(THREE, nullable)[0] != wanted[0]
    with pytest.raises(AbsentColumnError, match="the table has no column 'x0'"):
        gaussian.posterior(THREE, rows.drop(columns="x0"))
    partly = gaussian.row_log_likelihoods(THREE, rows.drop(columns="x0"), absent="missing")
    np.testing.assert_allclose(partly, gaussian.row_log_likelihoods(THREE, rows.assign(x0=np.nan)))


def test_mistakes_are_explained():
    with pytest.raises(TypeError, match="expected a GaussianTree, got a DataFrame"):
        gaussian.log_likelihood(pd.DataFrame(), drawn(5))
    with pytest.raises(DataError, match=r"column 'x0' \(.*\) does not hold numbers"):
        gaussian.posterior(THREE, drawn(3).assign(x0=["a", "b", "c"]))
    with pytest.raises(DataError, match="column 'x3' is infinite in row 1"):
        gaussian.posterior(THREE, drawn(3).assign(x3=[0, np.inf, 1]))
    with pytest.raises(ValueError, match="method is 'best'; give 'mean' or 'draw'"):
        gaussian.impute(THREE, drawn(3), method="best")


def test_a_table_without_any_cell_says_nothing():
    tree = GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.8], [0.0, 3.0], [1.0, 2.0])
    nothing = pd.DataFrame({"x": [np.nan]})
    assert gaussian.log_likelihood(tree, nothing) == pytest.approx(0, abs=1e-12)
    assert gaussian.posterior(tree, nothing).iloc[0].tolist() == pytest.approx([0.0, 1.0])
    assert gaussian.impute(tree, nothing)["x"].tolist() == [3.0]
