"""Gaussian trees by definition: correlations by walking paths, densities by the joint normal of all columns."""

import numpy as np
from scipy.stats import multivariate_normal


def path_correlation(tree, first, second):
    """Return the product of the correlations on the way from one node to another, 0 if there is none."""

    def ancestors(node):
        found = [node]
        while tree.parent[found[-1]] >= 0:
            found.append(tree.parent[found[-1]])
        return found

    left, right = ancestors(first), ancestors(second)
    shared = [node for node in left if node in right]
    if not shared:
        return 0.0
    meeting = shared[0]
    steps = left[: left.index(meeting)] + right[: right.index(meeting)]
    return float(np.prod([tree.correlation[node] for node in steps]))


def joint(tree):
    """Return mean and covariance of all nodes."""
    n = tree.n_nodes
    correlation = np.array([[path_correlation(tree, a, b) for b in range(n)] for a in range(n)]).reshape(n, n)
    return tree.mean, correlation * np.outer(tree.std, tree.std)


def row_log_likelihood(tree, row):
    """Return the log-density of the filled cells of one row, whose columns are the observed nodes in order."""
    observed = np.flatnonzero(~tree.latent)
    filled = ~np.isnan(row)
    if not filled.any():
        return 0.0
    mean, covariance = joint(tree)
    known = observed[filled]
    return float(multivariate_normal.logpdf(row[filled], mean[known], covariance[np.ix_(known, known)]))


def log_likelihood(tree, rows, weights=None):
    """Return the weighted sum over rows."""
    values = np.array([row_log_likelihood(tree, row) for row in rows])
    return float(values.sum() if weights is None else weights @ values)


def conditional(tree, row):
    """Return the unknown nodes, and their mean and covariance given the filled cells of a row."""
    observed = np.flatnonzero(~tree.latent)
    filled = ~np.isnan(row)
    known = observed[filled]
    unknown = np.setdiff1d(np.arange(tree.n_nodes), known)
    mean, covariance = joint(tree)
    gain = covariance[np.ix_(unknown, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
    return (
        unknown,
        mean[unknown] + gain @ (row[filled] - mean[known]),
        covariance[np.ix_(unknown, unknown)] - gain @ covariance[np.ix_(known, unknown)],
    )


def expected_step(tree, rows, weights):
    """Return correlations, means and standard deviations after one EM step, row by row.

    Hidden nodes may have any mean and variance in the step; only the correlations that follow are returned.
    """
    n = tree.n_nodes
    first, second = np.zeros(n), np.zeros((n, n))
    observed = np.flatnonzero(~tree.latent)
    for row, weight in zip(rows, weights, strict=True):
        unknown, mean, covariance = conditional(tree, row)
        whole = np.zeros(n)
        whole[observed[~np.isnan(row)]] = row[~np.isnan(row)]
        whole[unknown] = mean
        product = np.outer(whole, whole)
        product[np.ix_(unknown, unknown)] += covariance
        first += weight * whole
        second += weight * product
    mean = first / weights.sum()
    covariance = second / weights.sum() - np.outer(mean, mean)
    std = np.sqrt(covariance.diagonal())
    below = np.flatnonzero(tree.parent >= 0)
    correlation = np.zeros(n)
    correlation[below] = covariance[below, tree.parent[below]] / (std[below] * std[tree.parent[below]])
    return correlation, mean, std
