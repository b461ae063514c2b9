"""A tree whose numeric columns are cut into bins, for everything that is said about categories alone."""

from __future__ import annotations

import numpy as np
from scipy import stats

from pgmpy_latent.model.emissions import Emission, emissions_of
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.states import marginals

#: Bins that a numeric column is cut into; all are equally likely under the model.
N_BINS = 64
#: Halvings of the interval in which a quantile is.
HALVINGS = 60
#: No bin of a state has a smaller probability than this, so that nothing is ruled out that a number does not.
LEAST = 1e-12


def in_bins(tree: LatentTree, n_bins: int = N_BINS) -> LatentTree:
    """Return a tree with bins in the place of numbers; a tree without numbers is returned as it is.

    Mutual information with a column in bins is at most that with the number itself, and nearly as large.

    Examples
    --------
    >>> height = Emission("gaussian", 170.0, 10.0, 3.0, 1e-3)
    >>> tree = LatentTree(["H", "x"], [[0, 1], height.features], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], height.table([160.0, 180.0], [25.0, 25.0])])
    >>> in_bins(tree, 4).table("x").round(2).tolist()
    [[0.5, 0.48, 0.02, 0.0], [0.0, 0.02, 0.48, 0.5]]
    """
    emissions = emissions_of(tree)
    if not emissions:
        return tree
    tables, states, shares = list(tree.tables), list(tree.state_names), marginals(tree)
    for node, emission in emissions.items():
        above = tree.parent[node]
        weights = np.ones(1) if above < 0 else shares[above]
        tables[node] = _cut(emission, tree.tables[node], weights, n_bins)
        states[node] = tuple(range(tables[node].shape[1]))
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)


def _cut(emission: Emission, table: np.ndarray, weights: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the probabilities of bins given every state; bounds are quantiles of the mixture of the states."""
    per_state = _distribution(emission, table)
    bounds = np.unique(_quantiles(per_state, weights, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return shares_between(emission, table, bounds)


def shares_between(emission: Emission, table: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the probabilities of the ranges between some bounds given every state: (states, ranges).

    Examples
    --------
    >>> height = Emission("gaussian", 170.0, 10.0, 3.0, 1e-3)
    >>> shares_between(height, height.table([160.0], [25.0]), np.array([160.0])).round(6).tolist()
    [[0.5, 0.5]]
    """
    per_state = _distribution(emission, table)
    below = np.array([per_state.cdf(bound) for bound in bounds]).reshape(len(bounds), len(table)).T
    parts = np.maximum(np.diff(below, axis=1, prepend=0.0, append=1.0), LEAST)
    return parts / parts.sum(axis=1, keepdims=True)


def _quantiles(per_state, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the smallest numbers below which, or at which, these shares of a mixture are."""
    of_states = np.stack([per_state.ppf(share) for share in shares[:, None]])
    low = np.full(len(shares), of_states.min() - 1.0)
    high = np.full(len(shares), of_states.max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = weights @ np.stack([per_state.cdf(point) for point in middle], axis=1)
        low, high = np.where(below < shares, middle, low), np.where(below < shares, high, middle)
    return high


def _distribution(emission: Emission, table: np.ndarray):
    found = emission.parameters(table)
    if emission.is_gaussian:
        return stats.norm(found.mean, np.sqrt(found.variance))
    if found.dispersion is None:
        return stats.poisson(found.mean)
    size = 1 / found.dispersion
    return stats.nbinom(size, size / (size + found.mean))
