"""Distributions of all nodes, and of families, given the state of one node of a network."""

import numpy as np
import pytest

from pgmpy_latent import LatentNetwork
from pgmpy_latent.diagnostics.conditionals import shares_and_conditionals
from pgmpy_latent.diagnostics.link_strength import families_given
from tests.support import reference_networks


def test_a_state_that_does_not_occur_says_nothing():
    """The shares are exact, and what would be given such a state is NaN."""
    network = LatentNetwork(
        ["H", "x", "y"], [[0, 1, 2], [0, 1], [0, 1]], [(), (0,), (0, 1)], [True, False, False],
        [[[0.25, 0.75, 0.0]], [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]],
         [[0.5, 0.5], [0.1, 0.9], [0.3, 0.7], [1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]],
    )  # fmt: skip
    share, given = shares_and_conditionals(network, 0)
    np.testing.assert_allclose(share, [0.25, 0.75, 0.0])
    np.testing.assert_allclose(given[1][:2], [[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_allclose(given[2][:2], [[0.9 * 0.5 + 0.1 * 0.1, 0.54], [0.2 * 0.3 + 0.8, 0.14]])
    assert all(np.isnan(table[2]).all() for table in given)


def test_given_a_state_families_are_those_of_all_combinations():
    rng = np.random.default_rng(0)
    parents = [(), (0,), (0, 1), (1,)]
    tables = [rng.dirichlet(np.ones(2), 2 ** len(above)) for above in parents]
    network = LatentNetwork("abcd", [[0, 1]] * 4, parents, [True, False, False, False], tables)
    states = np.array(list(np.ndindex(2, 2, 2, 2)))
    every = reference_networks.joint_probabilities(network, states).reshape(2, 2, 2, 2)
    log, families = families_given(network, 3, 1)
    seen = every[..., 1]
    assert np.exp(log) == pytest.approx(seen.sum())
    np.testing.assert_allclose(families[2], seen / seen.sum(), atol=1e-12)
    np.testing.assert_allclose(families[1], seen.sum(axis=2) / seen.sum(), atol=1e-12)
