"""Slow, obvious versions of what latent classification models compute: definitions written out, row by row.

A model is a ``Parameters`` without the axis of models: ``batch.take(0)``.
"""

from dataclasses import replace

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal, norm

from pgmpy_latent.classification.edges import FREEDOM, MEAN_WEIGHT
from pgmpy_latent.classification.model import Moments


def joint(model, label, component):
    """Return mean and covariance of (attributes, latents) in a class and a component, as in appendix B."""
    loadings, variances = model.loadings[component], np.diag(model.variances[label])
    mean = np.concatenate([loadings @ model.means[label] + model.offsets[component], model.means[label]])
    attributes = loadings @ variances @ loadings.T + np.diag(model.noise[component])
    return mean, np.block([[attributes, loadings @ variances], [variances @ loadings.T, variances]])


def component_log_density(model, label, component, row):
    """Return log P(component, seen attributes | class)."""
    seen = np.flatnonzero(~np.isnan(row))
    log_weight = model.log_weights[label, component]
    if not len(seen):
        return log_weight
    mean, covariance = joint(model, label, component)
    return log_weight + multivariate_normal.logpdf(row[seen], mean[seen], covariance[np.ix_(seen, seen)])


def component_log_densities(model, label, row):
    return np.array([component_log_density(model, label, m, row) for m in range(len(model.loadings))])


def log_density(model, label, row):
    """Return log p(seen attributes | class)."""
    return logsumexp(component_log_densities(model, label, row))


def log_likelihood(model, table, labels, weights):
    return sum(w * log_density(model, y, row) for row, y, w in zip(table, labels, weights, strict=True))


def shares(model, label, row):
    """Return P(component | class, seen attributes)."""
    logs = component_log_densities(model, label, row)
    return np.exp(logs - logsumexp(logs))


def posterior(model, label, component, row):
    """Return mean and covariance of (attributes, latents) given the seen attributes; what is seen has no variance."""
    mean, covariance = joint(model, label, component)
    seen = np.flatnonzero(~np.isnan(row))
    gain = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    mean, covariance = mean + gain @ (row[seen] - mean[seen]), covariance - gain @ covariance[seen]
    mean[seen], covariance[seen], covariance[:, seen] = row[seen], 0.0, 0.0
    return mean, covariance


def latent_mean(model, label, row):
    """Return the posterior mean of the latents given class and seen attributes."""
    n_attributes = model.loadings.shape[1]
    parts = [posterior(model, label, m, row)[0][n_attributes:] for m in range(len(model.loadings))]
    return shares(model, label, row) @ np.array(parts)


def completed(model, table, labels, weights):
    """Return (label, component, weight times share, posterior mean and covariance) of every row and component."""
    return [
        (label, component, weight * share, *posterior(model, label, component, row))
        for row, label, weight in zip(table, labels, weights, strict=True)
        for component, share in enumerate(shares(model, label, row))
    ]


def moments(filled, n_components, n_attributes):
    """Return the expected sums over completed rows, in every component, with an axis for one model."""
    size = len(filled[0][3])
    mass, sums, products = np.zeros(n_components), np.zeros((n_components, size)), np.zeros((n_components, size, size))
    for _, component, share, mean, covariance in filled:
        mass[component] += share
        sums[component] += share * mean
        products[component] += share * (covariance + np.outer(mean, mean))
    x, z = slice(None, n_attributes), slice(n_attributes, None)
    squares = np.diagonal(products, axis1=1, axis2=2)[:, x]
    found = (mass, sums[:, z], products[:, z, z], sums[:, x], squares, products[:, x, z])
    return Moments(*(array[None] for array in found))


def expected_log_likelihood(model, filled):
    """Return Q, the expected log-likelihood of completed rows, term by term."""
    n_attributes = model.loadings.shape[1]
    total = 0.0
    for label, component, share, mean, covariance in filled:
        x, z = mean[:n_attributes], mean[n_attributes:]
        variance = np.diag(covariance)[n_attributes:]
        density = model.log_weights[label, component]
        for j, (centre, spread) in enumerate(zip(model.means[label], model.variances[label], strict=True)):
            density += norm.logpdf(z[j], centre, np.sqrt(spread)) - 0.5 * variance[j] / spread
        for i, noise in enumerate(model.noise[component]):
            # x_i - l·z, as a combination of all variables
            combination = np.concatenate([np.eye(n_attributes)[i], -model.loadings[component, i]])
            explained = model.loadings[component, i] @ z + model.offsets[component, i]
            density += norm.logpdf(x[i], explained, np.sqrt(noise))
            density -= 0.5 * combination @ covariance @ combination / noise
        total += share * density
    return total


def m_step(old, filled, *, tied, divisor="component", edges=None):
    """Return the updates of section 4.2 from completed rows, with offset, and without floors.

    ``divisor="all"`` is the untied update of the noise as it is printed.
    """
    n_components, n_attributes, n_latents = old.loadings.shape
    log_weights, means, variances = old.log_weights.copy(), old.means.copy(), old.variances.copy()
    for y in range(len(means)):
        mine = [part for part in filled if part[0] == y]
        size = sum(share for _, _, share, _, _ in mine)
        means[y] = sum(share * mean[n_attributes:] for _, _, share, mean, _ in mine) / size
        centre = np.concatenate([np.zeros(n_attributes), means[y]])
        spread = [share * ((mean - centre) ** 2 + np.diag(cov)) for _, _, share, mean, cov in mine]
        variances[y] = sum(spread)[n_attributes:] / size
        for m in range(n_components):
            log_weights[y, m] = np.log(sum(part[2] for part in mine if part[1] == m) / size)
    loadings, offsets, noise = np.zeros_like(old.loadings), old.offsets.copy(), old.noise.copy()
    unexplained, masses = np.zeros((n_components, n_attributes)), np.zeros(n_components)
    for m in range(n_components):
        mine = [part for part in filled if part[1] == m]
        masses[m] = sum(part[2] for part in mine)
        for i in range(n_attributes):
            parents = np.arange(n_latents) if edges is None else np.flatnonzero(edges[m, i])
            outer, cross, square = np.zeros((len(parents) + 1, len(parents) + 1)), np.zeros(len(parents) + 1), 0.0
            for _, _, share, mean, covariance in mine:
                at = n_attributes + parents
                augmented = np.append(mean[at], 1.0)
                outer += share * np.outer(augmented, augmented)
                outer[:-1, :-1] += share * covariance[np.ix_(at, at)]
                cross += share * (mean[i] * augmented + np.append(covariance[i, at], 0.0))
                square += share * (mean[i] ** 2 + covariance[i, i])
            found = np.linalg.solve(outer, cross)
            loadings[m, i, parents], offsets[m, i] = found[:-1], found[-1]
            unexplained[m, i] = square - found @ cross
    for m in range(n_components):
        if tied:
            noise[m] = unexplained.sum(axis=0) / masses.sum()
        else:
            noise[m] = unexplained[m] / (masses[m] if divisor == "component" else masses.sum())
    return type(old)(log_weights, means, variances, loadings, offsets, noise)


def completed_as_printed(model, table, labels, weights, *, offset_in_density):
    """Complete rows without gaps by the printed posterior of the latents, which leaves out the offset."""
    without = replace(model, offsets=np.zeros_like(model.offsets))
    found = []
    for row, label, weight in zip(table, labels, weights, strict=True):
        for component, share in enumerate(shares(model if offset_in_density else without, label, row)):
            found.append((label, component, weight * share, *posterior(without, label, component, row)))
    return found


def log_marginal_likelihood(values):
    """Return the log marginal likelihood of complete rows of Gaussian variables (Geiger and Heckerman 1994, section 3).

    The prior is normal-Wishart with mean zero. The variables are some of those of a network: the degrees of freedom
    beyond their number are the same for all subsets.
    """
    rows, size = values.shape
    if not size:
        return 0.0
    prior = MEAN_WEIGHT * (FREEDOM - 1.0) / (MEAN_WEIGHT + 1.0) * np.eye(size)
    mean = values.sum(axis=0) / rows
    after = prior + sum(np.outer(row - mean, row - mean) for row in values)
    after = after + MEAN_WEIGHT * rows / (MEAN_WEIGHT + rows) * np.outer(mean, mean)
    freedom = FREEDOM + size
    return (
        -0.5 * rows * size * np.log(2 * np.pi)
        + 0.5 * size * np.log(MEAN_WEIGHT / (MEAN_WEIGHT + rows))
        + _log_wishart(size, freedom)
        - _log_wishart(size, freedom + rows)
        + 0.5 * freedom * np.linalg.slogdet(prior)[1]
        - 0.5 * (freedom + rows) * np.linalg.slogdet(after)[1]
    )


def _log_wishart(size, freedom):
    """Return the logarithm of the constant c(n, α) of the Wishart density."""
    gammas = sum(gammaln(0.5 * (freedom + 1 - i)) for i in range(1, size + 1))
    return -(0.5 * freedom * size * np.log(2) + 0.25 * size * (size - 1) * np.log(np.pi) + gammas)


def family_score(attribute, latents, parents):
    """Return log p(attribute, parents) - log p(parents) of complete rows."""
    above = latents[:, np.flatnonzero(parents)]
    return log_marginal_likelihood(np.column_stack([above, attribute])) - log_marginal_likelihood(above)


def normalised(latents):
    """Return the latents of several components on the scale that the prior speaks of.

    The scatter that the posterior adds to the prior's, summed over components, is the number of rows.
    """
    scatter = np.zeros(latents[0].shape[1])
    for z in latents:
        mean = z.mean(axis=0)
        scatter += ((z - mean) ** 2).sum(axis=0) + MEAN_WEIGHT * len(z) / (MEAN_WEIGHT + len(z)) * mean**2
    return [z / np.sqrt(scatter / sum(len(z) for z in latents)) for z in latents]


def gains(attributes, latents, edges):
    """Return by how much the score of each component's attribute rises if one edge is added, or removed where it is.

    ``attributes`` and ``latents`` hold the rows of each component.
    """
    latents = normalised(latents)
    found = np.zeros(edges.shape)
    for m, i, j in np.ndindex(edges.shape):
        flipped = edges[m, i].copy()
        flipped[j] = ~flipped[j]
        x = attributes[m][:, i]
        found[m, i, j] = family_score(x, latents[m], flipped) - family_score(x, latents[m], edges[m, i])
    return found


def greedy_edges(attributes, latents, edges, shared, least):
    """Flip the best edge of every attribute until none raises its score by more than ``least``."""
    edges = edges.copy()
    while True:
        rises = gains(attributes, latents, edges)
        if shared:
            rises[:] = rises.sum(axis=0)
        before = edges.copy()
        for m, i in np.ndindex(edges.shape[:2]):
            best = rises[m, i].argmax()
            if rises[m, i, best] > least:
                edges[m, i, best] = ~edges[m, i, best]
        if (edges == before).all():
            return edges
