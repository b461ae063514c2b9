"""Where EM for latent classification models begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pgmpy_latent.classification.model import Parameters, joined, transposed
from pgmpy_latent.classification.rows import Training

#: Iterations of k-means that place the components; more make the starts alike.
LLOYD = 5
#: Standard deviation of the random part of the loadings.
JITTER = 0.3
#: How much of the classes' separation, and with several components of their spread, the latents begin with.
MODESTY = (0.5, 0.7)
#: Numbers in the arrays of starts whose components are placed together.
AT_A_TIME = 60_000
#: Variance of the noise to begin with, where an attribute's is one.
NOISE = 0.5


def draw_starts(
    rows: Training, weightings: np.ndarray, shape: tuple[int, int], n_starts: int, seed: int, *, offset: bool = True
) -> tuple[Parameters, np.ndarray]:
    """Return models to begin with, ``n_starts`` for every weighting of the rows.

    Parameters
    ----------
    rows : Training
    weightings : array, shape (weightings, n_distinct)
    shape : (int, int)
        Numbers of latents and of components.
    n_starts : int
    seed : int
        A start depends on the seed, the shape, its weighting and its number, and on nothing else.
    offset : bool
        Whether the attributes have offsets.

    Returns
    -------
    batch : Parameters
        A batch, weighting by weighting.
    numbers : int array
        The weighting of each.
    """
    parts = []
    for number, weights in enumerate(weightings):
        axes = _within_classes(rows, weights)
        keys = [(*shape, number, start) for start in range(n_starts)]
        rngs = [np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key)) for key in keys]
        parts.append(_starts(rows, weights, axes, *shape, offset, rngs))
    return joined(parts), np.repeat(np.arange(len(weightings)), n_starts)


def _within_classes(rows: Training, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of the classes, the mean of all, and the principal axes within classes times their spread."""
    table = rows.filled
    means = np.stack(
        [
            np.average(table[here], axis=0, weights=weights[here])
            for here in rows.labels == np.arange(rows.n_classes)[:, None]
        ]
    )
    deviations = (table - means[rows.labels]) * np.sqrt(weights / weights.sum())[:, None]
    _, spread, axes = np.linalg.svd(deviations, full_matrices=False)
    return means, np.average(table, axis=0, weights=weights), axes.T * spread


def _starts(
    rows: Training, weights, axes, n_latents: int, n_components: int, offset: bool, rngs: Sequence[np.random.Generator]
) -> Parameters:
    """Return a model for every generator: rotated principal axes for the latents, k-means for the components."""
    class_means, mean, principal = axes
    n_starts, n_attributes, classes = len(rngs), len(mean), len(class_means)
    loadings = np.stack([_loadings(principal, n_latents, rng) for rng in rngs])
    separation, spread = MODESTY
    if not offset:
        separation, mean = 1.0, np.zeros(n_attributes)
    latent_means = separation * (class_means - mean) @ transposed(np.linalg.pinv(loadings))
    every = np.repeat(loadings[:, None], n_components, axis=1)
    if n_components == 1:
        offsets = np.repeat(mean[None, None], n_starts, axis=0)
    elif offset:
        chances = np.stack([rng.random(n_components) for rng in rngs])
        offsets, every = _k_means(rows.filled, weights, chances), spread * every
    else:  # EM never separates components that begin alike
        offsets = np.zeros((n_starts, n_components, n_attributes))
        every = every + JITTER * np.stack([rng.normal(size=every.shape[1:]) for rng in rngs])
    return Parameters(
        np.full((n_starts, classes, n_components), -np.log(n_components)),
        latent_means,
        np.ones((n_starts, classes, n_latents)),
        every,
        offsets,
        np.full((n_starts, n_components, n_attributes), NOISE),
    )


def _loadings(principal: np.ndarray, n_latents: int, rng: np.random.Generator) -> np.ndarray:
    """Return principal axes, rotated at random, and something random added."""
    loadings = JITTER * rng.normal(size=(len(principal), n_latents))
    shared = min(n_latents, principal.shape[1])
    loadings[:, :shared] += principal[:, :shared]
    if n_latents <= principal.shape[1]:
        loadings = loadings @ np.linalg.qr(rng.normal(size=(n_latents, n_latents)))[0]
    return loadings


def _k_means(table: np.ndarray, weights: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Return centres of clusters for several starts: k-means++ and a few iterations.

    Parameters
    ----------
    table : array, shape (n_rows, n_attributes)
    weights : array, shape (n_rows,)
    chances : array, shape (n_starts, n_centres)
        Numbers from 0 to 1, which decide the first centres.
    """
    size = max(1, AT_A_TIME // (table.size + len(table) * chances.shape[1]))
    parts = [chances[begin : begin + size] for begin in range(0, len(chances), size)]
    return np.concatenate([_k_means_together(table, weights, part) for part in parts])


def _k_means_together(table: np.ndarray, weights: np.ndarray, chances: np.ndarray) -> np.ndarray:
    n_starts, n_centres = chances.shape
    at, every = np.arange(n_starts), np.broadcast_to(weights, (n_starts, len(table)))
    centres = table[_drawn(every, chances[:, 0])][:, None]
    distance = np.square(table - centres).sum(axis=2)
    for number in range(1, n_centres):
        likely = weights * distance
        chosen = table[_drawn(np.where(likely.sum(axis=1) > 0, likely.T, every.T).T, chances[:, number])][:, None]
        centres = np.concatenate([centres, chosen], axis=1)
        distance = np.minimum(distance, np.square(table - chosen).sum(axis=2))
    for _ in range(LLOYD):
        nearest = (np.square(centres).sum(axis=2)[:, None] - 2.0 * table @ transposed(centres)).argmin(axis=2)
        places = (nearest + n_centres * at[:, None]).ravel()
        mass = np.bincount(places, every.ravel(), minlength=n_starts * n_centres).reshape(n_starts, n_centres, 1)
        members = (nearest[..., None] == np.arange(n_centres)) * weights[:, None]
        centres = np.divide(transposed(members) @ table, mass, out=centres, where=mass > 0)
    return centres


def _drawn(chances: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return a row for every start, drawn in proportion to its chances; repeated rows count as one of their total."""
    cumulative = np.cumsum(chances, axis=1)
    return np.minimum((cumulative <= (numbers * cumulative[:, -1])[:, None]).sum(axis=1), chances.shape[1] - 1)
