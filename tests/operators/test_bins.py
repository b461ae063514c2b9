"""Numbers cut into bins: equally likely ones, which lose little of what a number says."""

import numpy as np
import pytest
from scipy import stats

from pgmpy_latent.model.emissions import Emission
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.operators.bins import in_bins

HEIGHT = Emission("gaussian", 170.0, 10.0, 9.0, 1e-3)
VISITS = Emission("poisson", 0.0, 1.0, 60.0, 1e-3)
SHARES = np.array([0.7, 0.2, 0.1])
MEANS, DEVIATIONS = np.array([150.0, 175.0, 200.0]), np.array([3.0, 9.0, 1.0])


def tree(emission, table) -> LatentTree:
    return LatentTree(
        ["H", "x"], [tuple(range(len(SHARES))), emission.features], [-1, 0], [True, False], [[SHARES], table]
    )


@pytest.mark.parametrize("n_bins", [2, 5, 64])
def test_bins_of_a_normal_number_are_equally_likely(n_bins):
    cut = in_bins(tree(HEIGHT, HEIGHT.table(MEANS, DEVIATIONS**2)), n_bins)
    np.testing.assert_allclose(marginals(cut)[1], np.full(n_bins, 1 / n_bins), atol=1e-9)


def test_each_state_has_the_probabilities_of_its_distribution():
    cut = in_bins(tree(HEIGHT, HEIGHT.table(MEANS, DEVIATIONS**2)), 5)

    def below(number):
        return SHARES @ stats.norm.cdf(number, MEANS, DEVIATIONS)

    grid = np.linspace(100, 250, 2_000_001)
    bounds = grid[
        np.searchsorted(SHARES @ stats.norm.cdf(grid, MEANS[:, None], DEVIATIONS[:, None]), [0.2, 0.4, 0.6, 0.8])
    ]
    assert [round(below(bound), 3) for bound in bounds] == [0.2, 0.4, 0.6, 0.8]
    expected = np.diff(stats.norm.cdf(bounds, MEANS[:, None], DEVIATIONS[:, None]), prepend=0.0, append=1.0, axis=1)
    np.testing.assert_allclose(cut.table("x"), expected, atol=1e-4)


def test_bins_of_counts_are_counts_that_belong_together():
    rates = np.array([0.5, 3.0, 12.0])
    cut = in_bins(tree(VISITS, VISITS.table(rates)), 64)
    shares = SHARES @ stats.poisson.pmf(np.arange(40), rates[:, None])
    found = marginals(cut)[1]
    assert found[0] == pytest.approx(shares[0], abs=1e-9)  # a count is never cut
    assert found[1] == pytest.approx(shares[1], abs=1e-9)
    assert 10 <= len(found) <= 20  # rare ones are joined
    np.testing.assert_allclose(found.sum(), 1.0)


def test_mirrored_states_have_mirrored_bins():
    mirrored = LatentTree(["H", "x"], [[0, 1], HEIGHT.features], [-1, 0], [True, False],
                          [[[0.5, 0.5]], HEIGHT.table(np.array([160.0, 180.0]), np.array([25.0, 25.0]))])  # fmt: skip
    table = in_bins(mirrored, 6).table("x")
    np.testing.assert_allclose(table[0], table[1][::-1], atol=1e-9)


def test_a_number_without_parent_is_cut_by_its_own_distribution():
    alone = LatentTree(["x"], [HEIGHT.features], [-1], [False], [HEIGHT.table(np.array([160.0]), np.array([25.0]))])
    np.testing.assert_allclose(in_bins(alone, 8).table("x"), np.full((1, 8), 1 / 8), atol=1e-9)
