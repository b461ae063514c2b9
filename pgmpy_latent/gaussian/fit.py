"""Fit a forest of given edges to the moments of a table: starts, EM, result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em import fit as em
from pgmpy_latent.gaussian.forest import Forest, with_positive_loadings
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.objective import (
    MOST_CORRELATED,
    CompleteTable,
    GaussianObjective,
    RowsWithGaps,
    TableWithGaps,
)
from pgmpy_latent.learners.memory import held_by_checkpoints

#: Share that starts keep of the correlation with a hidden node, which scores made of its own columns overstate.
MODEST = 0.95
#: Least size of the correlation of an edge where EM begins: at zero it would hardly move.
LEAST_START = 0.05
#: Runs EM: :func:`pgmpy_latent.em.fit.fit`, or that of a search, which has settings of its own.
Runner = Callable[..., em.Fit]


@held_by_checkpoints("fitted forest")
@dataclass(frozen=True, eq=False)
class FittedForest:
    """A forest with its parameters, and how good it is.

    Attributes
    ----------
    forest : Forest
        With the largest loading of every hidden node positive.
    mean, std : arrays, shape (n_columns,)
        In the units of the table.
    log_likelihood : float
    """

    forest: Forest
    mean: np.ndarray
    std: np.ndarray
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class FitByEM(FittedForest):
    """A forest at the parameters where EM ended.

    Attributes
    ----------
    em : Fit
        How EM went.
    """

    em: em.Fit

    @property
    def result(self) -> FittedForest:
        """Where EM ended, without how it went."""
        return FittedForest(self.forest, self.mean, self.std, self.log_likelihood)


def objective_of(forest: Forest, moments: TableMoments) -> GaussianObjective:
    """Return what EM maximises: the log-likelihood as a function of a vector of parameters."""
    kind: type[GaussianObjective] = RowsWithGaps if moments.rows is not None else TableWithGaps
    return (CompleteTable if moments.is_complete else kind)(forest.ends, forest.n_nodes, moments)


def point_of(found: FittedForest, moments: TableMoments) -> np.ndarray:
    """Return the vector of parameters at which EM has a fitted forest."""
    z = np.arctanh(np.clip(found.forest.correlation, -MOST_CORRELATED, MOST_CORRELATED))
    if moments.is_complete:
        return z
    return np.concatenate([z, (found.mean - moments.mean) / moments.std, np.log(found.std / moments.std)])


def fitted(
    forest: Forest,
    moments: TableMoments,
    starts: np.ndarray | None = None,
    run: Runner = em.fit,
    mean: np.ndarray | None = None,
    std: np.ndarray | None = None,
    **options,
) -> FitByEM:
    """Fit a forest by EM.

    Parameters
    ----------
    forest : Forest
        The edges, and correlations to begin with.
    moments : TableMoments
        Of the table.
    starts : array, shape (n_starts, n_edges), optional
        Other correlations to begin with.
    run : callable
        Runs EM.
    mean, std : arrays, optional
        Where EM begins if cells are missing; those of the filled cells by default.
    options
        Of EM; see :func:`pgmpy_latent.em.fit.fit`.

    Examples
    --------
    >>> from pgmpy_latent.gaussian.moments import moments_of
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(500, 1)) + 0.5 * rng.normal(size=(500, 3))
    >>> found = fitted(Forest(3, 4, [[3, 0], [3, 1], [3, 2]], [0.5, 0.5, 0.5]), moments_of(rows))
    >>> found.forest.correlation.round(2).tolist(), found.em.converged
    ([0.87, 0.9, 0.91], True)
    """
    objective = objective_of(forest, moments)
    starts = forest.correlation[None] if starts is None else starts
    points = np.arctanh(np.clip(starts, -MOST_CORRELATED, MOST_CORRELATED))
    if not moments.is_complete:
        begin_mean = np.zeros(moments.n_columns) if mean is None else (mean - moments.mean) / moments.std
        begin_std = np.zeros(moments.n_columns) if std is None else np.log(std / moments.std)
        shared = np.concatenate([begin_mean, begin_std])
        points = np.concatenate([points, np.broadcast_to(shared, (len(points), len(shared)))], axis=1)
    result = run(objective, points, **options)
    point, n_edges = result.tables, len(forest.ends)
    new = with_positive_loadings(forest.with_correlation(np.tanh(point[:n_edges])))
    new_mean, new_std = moments.mean, moments.std
    if not moments.is_complete:
        middle = n_edges + moments.n_columns
        new_mean = new_mean + new_std * point[n_edges:middle]
        new_std = new_std * np.exp(point[middle:])
    return FitByEM(new, new_mean, new_std, float(result.log_likelihood), result)


def pairwise_correlations(moments: TableMoments) -> np.ndarray:
    """Return the correlations of pairs of columns, each from the rows that have both; 0 where there are none.

    Examples
    --------
    >>> from pgmpy_latent.gaussian.moments import moments_of
    >>> rows = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 2.0], [np.nan, 2.0]])
    >>> pairwise_correlations(moments_of(rows)).round(3).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if moments.is_complete:
        return moments.correlations
    d = moments.n_columns
    weight, first, second = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    for part in moments.patterns:
        here = np.ix_(part.filled, part.filled)
        weight[here] += part.weight
        first[here] += part.weight * part.mean[:, None]  # of the row's column, where both are filled
        second[here] += part.weight * part.second
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = first / weight
        square = np.zeros((d, d))
        for part in moments.patterns:
            square[np.ix_(part.filled, part.filled)] += part.weight * part.second.diagonal()[:, None]
        variance = square / weight - mean**2
        found = (second / weight - mean * mean.T) / np.sqrt(variance * variance.T)
    found = np.where(np.isfinite(found), found, 0.0)
    np.fill_diagonal(found, 1.0)
    return np.clip(found, -1.0, 1.0)


def random_starts(forest: Forest, correlations: np.ndarray, n_starts: int, rng: np.random.Generator) -> np.ndarray:
    """Return correlations of edges to begin EM with: (n_starts, n_edges).

    From the leaves of a tree to its root, a hidden node gets a score: the first principal component of the scores
    below it, after these were weighted at random; in the first start they count alike. Edges begin with the correlation
    of the scores at their ends.

    Parameters
    ----------
    forest : Forest
    correlations : array, shape (n_columns, n_columns)
        Of the columns.
    n_starts : int
    rng : Generator

    Examples
    --------
    >>> forest = Forest(3, 4, [[3, 0], [3, 1], [3, 2]], [0.0, 0.0, 0.0])
    >>> matrix = np.array([[1.0, 0.5, -0.5], [0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]])
    >>> random_starts(forest, matrix, 1, np.random.default_rng(0)).round(3).tolist()
    [[-0.776, -0.776, 0.776]]
    """
    return np.stack([_start(forest, correlations, None if at == 0 else rng) for at in range(n_starts)])


def _start(forest: Forest, correlations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    scores = np.zeros((forest.n_nodes, forest.n_columns))
    scores[: forest.n_columns] = np.eye(forest.n_columns)
    for members in forest.trees():
        hidden = [node for node in members if node >= forest.n_columns]
        if not hidden:
            continue
        root = hidden[0] if rng is None else int(rng.choice(hidden))
        walk = forest.walk(root)
        below: dict[int, list[int]] = {node: [] for node, _ in walk}
        for node, above in walk[1:]:
            below[above].append(node)
        for node, _ in reversed(walk):
            if node >= forest.n_columns and below[node]:
                scores[node] = _score(scores[below[node]], correlations, rng)
    left, right = scores[forest.ends[:, 0]], scores[forest.ends[:, 1]]
    start = ((left @ correlations) * right).sum(axis=1)
    hides = (forest.ends >= forest.n_columns).any(axis=1)
    start = np.where(hides, MODEST * start, start)
    small = np.abs(start) < LEAST_START
    start = np.where(small & hides, np.where(start < 0, -LEAST_START, LEAST_START), start)
    return np.clip(start, -MODEST, MODEST)


def _score(parts: np.ndarray, correlations: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """Return the first principal component of some scores, of variance 1."""
    weight = np.ones(len(parts)) if rng is None else rng.exponential(size=len(parts)) + 0.1
    parts = parts * weight[:, None]
    _, vectors = np.linalg.eigh(parts @ correlations @ parts.T)
    score = vectors[:, -1] @ parts
    variance = score @ correlations @ score
    return score / np.sqrt(max(float(variance), 1e-12))
