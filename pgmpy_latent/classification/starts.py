"""Where EM for latent classification models begins."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.classification.model import Parameters
from pgmpy_latent.classification.rows import Training

#: Iterations of k-means that place the components; more make the starts alike.
LLOYD = 5
#: Standard deviation of the random part of the loadings.
JITTER = 0.3
#: How much of the classes' separation, and with several components of their spread, the latents begin with.
MODESTY = (0.5, 0.7)
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
    drawn = []
    for number, weights in enumerate(weightings):
        axes = _within_classes(rows, weights)
        for start in range(n_starts):
            sequence = np.random.SeedSequence(seed, spawn_key=(*shape, number, start))
            drawn.append(_start(rows, weights, axes, *shape, offset, np.random.default_rng(sequence)))
    batch = Parameters(*(np.stack(arrays) for arrays in zip(*drawn, strict=True)))
    return batch, np.repeat(np.arange(len(weightings)), n_starts)


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


def _start(rows: Training, weights, axes, n_latents: int, n_components: int, offset: bool, rng: np.random.Generator):
    """Return the arrays of one model: rotated principal axes for the latents, k-means for the components."""
    class_means, mean, principal = axes
    n_attributes = len(mean)
    loadings = JITTER * rng.normal(size=(n_attributes, n_latents))
    shared = min(n_latents, principal.shape[1])
    loadings[:, :shared] += principal[:, :shared]
    if n_latents <= principal.shape[1]:
        loadings = loadings @ np.linalg.qr(rng.normal(size=(n_latents, n_latents)))[0]
    separation, spread = MODESTY
    if not offset:
        separation, mean = 1.0, np.zeros(n_attributes)
    latent_means = separation * (class_means - mean) @ np.linalg.pinv(loadings).T
    every = np.repeat(loadings[None], n_components, axis=0)
    if n_components == 1:
        offsets = mean[None]
    elif offset:
        offsets, every = _k_means(rows.filled, weights, n_components, rng), spread * every
    else:  # EM never separates components that begin alike
        offsets, every = np.zeros((n_components, n_attributes)), every + JITTER * rng.normal(size=every.shape)
    classes = len(class_means)
    return (
        np.full((classes, n_components), -np.log(n_components)),
        latent_means,
        np.ones((classes, n_latents)),
        every,
        offsets,
        np.full((n_components, n_attributes), NOISE),
    )


def _k_means(table: np.ndarray, weights: np.ndarray, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Return centres of clusters: k-means++ and a few iterations."""
    first = table[_drawn(weights, rng)]
    chosen, distance = [first], np.square(table - first).sum(axis=1)
    for _ in range(n_components - 1):
        chances = weights * distance
        chosen.append(table[_drawn(chances if chances.sum() > 0 else weights, rng)])
        distance = np.minimum(distance, np.square(table - chosen[-1]).sum(axis=1))
    centres = np.array(chosen)
    for _ in range(LLOYD):
        nearest = (np.square(centres).sum(axis=1) - 2.0 * table @ centres.T).argmin(axis=1)
        mass = np.bincount(nearest, weights, minlength=n_components)
        members = (nearest[:, None] == np.arange(n_components)) * weights[:, None]
        moved = mass > 0
        centres[moved] = (members.T @ table)[moved] / mass[moved, None]
    return centres


def _drawn(chances: np.ndarray, rng: np.random.Generator) -> int:
    """Return a row, drawn in proportion to its chances; repeated rows count as one of their total weight."""
    cumulative = np.cumsum(chances)
    return min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), len(chances) - 1)
