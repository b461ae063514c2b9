"""Which latents act on which attributes, by the Bayesian score of Gaussian networks (BGe) on completed data.

Class and component are parents of some of the Gaussian variables only, which the score does not allow for the network
as a whole. The difference between two sets of parents of one attribute is unaffected: it is a difference of two
families that could occur in a network where the component is a parent of everything (Geiger and Heckerman 1994;
section 4.1 of Langseth and Nielsen 2005).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from pgmpy_latent.classification.model import Moments, transposed

#: Equivalent sample size of the prior of the means, and degrees of freedom of the prior of the covariance beyond the
#: number of variables: the least that a proper prior with a finite mean can have, in whole numbers.
MEAN_WEIGHT, FREEDOM = 1.0, 2.0
#: Diagonal of the prior's scatter matrix, for variables of variance one, to match.
SCATTER = MEAN_WEIGHT * (FREEDOM - 1.0) / (MEAN_WEIGHT + 1.0)
#: A change must raise the score by more than rounding does.
LEAST_GAIN = 1e-6


def learned_edges(total: Moments, edges: np.ndarray, shared: bool, offset: bool = True) -> np.ndarray:
    """Add and remove edges, always the best, as long as the score rises; at most two changes per latent.

    Parameters
    ----------
    total : Moments
        Expected sums over all rows.
    edges : bool array, shape (models, components, attributes, latents)
        To begin with.
    shared : bool
        Whether all components have the same edges.
    offset : bool
        Whether means are unknown, as offsets can be anything; otherwise latents and attributes are known to have mean
        zero.

    Returns
    -------
    bool array like ``edges``
    """
    scatter, cross, squares = _scatter(total, offset)
    edges = edges.copy()
    for _ in range(2 * edges.shape[-1]):
        gains = _gains(scatter, cross, squares, edges, total.mass[..., None])
        if shared:
            gains = np.broadcast_to(gains.sum(axis=1, keepdims=True), gains.shape)
        best = gains.argmax(axis=-1)[..., None]
        better = np.take_along_axis(gains, best, axis=-1) > LEAST_GAIN
        if not better.any():
            break
        flipped = np.take_along_axis(edges, best, axis=-1) ^ better
        np.put_along_axis(edges, best, flipped, axis=-1)
    return edges


def _scatter(total: Moments, offset: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the posterior's scatter of latents, of attributes with latents, and of attributes, in every component."""
    mass = np.maximum(total.mass, np.finfo(float).tiny)[..., None]
    latent_means, means = total.latents / mass, total.attributes / mass
    # sums about the mean, plus how far the mean is from the prior's, which is zero; without offsets, sums about zero
    weight = mass[..., None] * ((MEAN_WEIGHT / (MEAN_WEIGHT + mass))[..., None] - 1.0) * float(offset)
    scatter = total.latent_products + weight * latent_means[..., :, None] * latent_means[..., None, :]
    cross = total.cross_products + weight * means[..., :, None] * latent_means[..., None, :]
    squares = total.attribute_squares + weight[..., 0] * means * means
    # the scale of a latent is arbitrary: the prior speaks of latents whose variance within components is about one
    variance = np.diagonal(scatter, axis1=-2, axis2=-1).sum(axis=1) / mass.sum(axis=1)
    scale = 1.0 / np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, None]
    scatter = scatter * scale[..., :, None] * scale[..., None, :]
    at = np.arange(scatter.shape[-1])
    scatter[..., at, at] += SCATTER
    return scatter, cross * scale[..., None, :], squares + SCATTER


def _gains(scatter, cross, squares, edges, mass) -> np.ndarray:
    """Return by how much the score rises if one edge is added, or removed where it is; an array like ``edges``."""
    both = edges[..., :, None] & edges[..., None, :]
    inside = np.where(both, scatter[..., None, :, :], 0.0)
    at = np.arange(scatter.shape[-1])
    inside[..., at, at] += ~edges
    inverse = np.where(both, np.linalg.inv(inside), 0.0)
    of_parents = np.where(edges, cross, 0.0)
    coefficients = (inverse @ of_parents[..., None])[..., 0]
    residual = squares - (coefficients * of_parents).sum(axis=-1)
    pivots = np.diagonal(inverse, axis1=-2, axis2=-1)
    # what removing an edge does, and what adding one does, to the determinant of the parents and to the residual
    projected = inverse @ scatter[..., None, :, :]
    schur = np.diagonal(scatter, axis1=-2, axis2=-1)[..., None, :] - (
        np.swapaxes(scatter[..., None, :, :], -1, -2) * transposed(projected)
    ).sum(axis=-1)
    apart = cross - (transposed(projected) @ of_parents[..., None])[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_determinant = np.where(edges, np.log(pivots), np.log(np.maximum(schur, np.finfo(float).tiny)))
        removed = residual[..., None] + coefficients**2 / pivots
        added = residual[..., None] - apart**2 / schur
    after = np.maximum(np.where(edges, removed, added), np.finfo(float).tiny)
    parents = edges.sum(axis=-1)
    change = np.where(edges, -1.0, 1.0)
    return _family(mass[..., None], parents[..., None] + change, log_determinant, after) - _family(
        mass[..., None], parents[..., None], 0.0, residual[..., None]
    )


def _family(mass, parents, log_determinant, residual) -> np.ndarray:
    """Return the score of an attribute with some parents, up to a constant."""
    before, after = 0.5 * (FREEDOM + parents + 1.0), 0.5 * (FREEDOM + parents + 1.0 + mass)
    return (
        gammaln(after)
        - gammaln(before)
        - after * np.log(residual)
        - 0.5 * log_determinant
        + (before + 0.5 * parents) * np.log(SCATTER)
    )
