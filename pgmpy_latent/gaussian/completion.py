"""Correlations of columns with missing cells, completed by a fitted forest: what a search looks at between two fits."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.gaussian.fit import FittedForest
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.shape import Inference, Shape


def completed_correlations(found: FittedForest, moments: TableMoments) -> np.ndarray:
    """Return the expected correlations of the columns, given the filled cells and a model.

    Examples
    --------
    >>> from pgmpy_latent.gaussian.fit import fitted
    >>> from pgmpy_latent.gaussian.forest import Forest
    >>> from pgmpy_latent.gaussian.moments import moments_of
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0], [4.0, 2.0], [3.0, np.nan]])
    >>> moments = moments_of(rows)
    >>> completed_correlations(fitted(Forest(2, 2, [[0, 1]], [0.5]), moments), moments).round(2).tolist()
    [[1.0, 0.53], [0.53, 1.0]]
    """
    if moments.is_complete:
        return moments.correlations
    forest, n_columns = found.forest, moments.n_columns
    mean, std = (found.mean - moments.mean) / moments.std, found.std / moments.std
    first, second = np.zeros(n_columns), np.zeros((n_columns, n_columns))
    for part in moments.patterns:
        known = np.zeros(forest.n_nodes, bool)
        known[part.filled] = True
        shape = Shape.of(forest.ends, known)
        inference = Inference.at(shape, forest.correlation)
        here, centre, scale = part.filled, mean[part.filled], std[part.filled]
        shift = np.outer(centre, part.mean)
        own = (part.second - shift - shift.T + np.outer(centre, centre)) / np.outer(scale, scale)
        missing = np.flatnonzero(shape.unknown < n_columns)
        gone = shape.unknown[missing]
        average = (part.mean - centre) / scale
        across = inference.means(own)[missing]  # expected products of missing and filled columns
        weights = inference.means(np.eye(len(here)))[missing]
        product = np.zeros((n_columns, n_columns))
        product[np.ix_(here, here)] = own
        product[np.ix_(gone, here)], product[np.ix_(here, gone)] = across, across.T
        product[np.ix_(gone, gone)] = inference.covariance[np.ix_(missing, missing)] + across @ weights.T
        second += part.weight * product
        first[here] += part.weight * average
        first[gone] += part.weight * (weights @ average)
    first, second = first / moments.filled_weight, second / moments.filled_weight
    covariance = second - np.outer(first, first)
    deviation = np.sqrt(covariance.diagonal())
    return covariance / np.outer(deviation, deviation)
