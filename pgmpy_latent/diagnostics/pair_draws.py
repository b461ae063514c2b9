"""Statistics of pairs of columns in tables drawn from a model: how large they are if the model is true."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics.pairs import pair_statistics
from pgmpy_latent.diagnostics.resampling import Draws, batches, drawn_from_model
from pgmpy_latent.em import fit as em
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.settings import PROGRESS_DELAY
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData

#: Share of uniform tables in the start of EM for a drawn table: EM cannot leave zeros.
UNIFORM_SHARE = 0.01
#: Log-likelihood that EM may leave to gain on a drawn table.
DRAW_TOL = 0.01
#: Fewest drawn tables for which an interrupted bootstrap returns a result.
FEWEST_DRAWS = 20


def drawn_pair_statistics(
    model: LatentTree | LatentNetwork,
    data: CategoricalData,
    n_draws: int,
    entropy: int,
    *,
    prior: float = 0.0,
    n_jobs: int | None = None,
    show_progress: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return statistics and degrees of freedom of all pairs, each (n_draws, n_pairs), in tables drawn from a model.

    Every drawn table has the missing cells of the given one, and the model is fitted to it anew. After Ctrl-C those of
    the draws that were finished are returned, with a warning.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
        A model that was fitted to the table.
    data : CategoricalData
        The table.
    n_draws : int
        Number of tables to draw.
    entropy : int
        The seed.
    prior : float
        Dirichlet pseudo-count of every table entry.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Examples
    --------
    >>> tree = LatentTree(["x", "y"], [[0, 1]] * 2, [-1, -1], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]]])
    >>> data = CategoricalData(["x", "y"], [[0, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]], [30.0, 20.0, 20.0, 30.0])
    >>> statistic, df = drawn_pair_statistics(tree, data, 200, 0)
    >>> statistic.shape, bool(0.8 < statistic.mean() < 1.2), df.max()
    ((200, 1), True, np.float64(1.0))
    """
    seeds = [[np.random.SeedSequence(entropy, spawn_key=(draw,)) for draw in draws] for draws in batches(data, n_draws)]
    work = partial(_statistics_of_draws, model, data, prior)
    bar = tqdm(
        total=n_draws, desc="bootstrap", disable=not show_progress, delay=PROGRESS_DELAY, leave=False, unit=" tables"
    )
    with bar:
        parts, interrupted = parallel.work_through(work, seeds, n_jobs, lambda part: bar.update(len(part)))
    found = np.concatenate(parts) if parts else np.empty((0, 0, 2))
    if interrupted:
        if len(found) < FEWEST_DRAWS:
            raise KeyboardInterrupt
        warn(
            f"Ctrl-C stopped the bootstrap; p-values rest on {len(found)} of {n_draws} drawn tables",
            ConvergenceWarning,
        )
    return found[:, :, 0], found[:, :, 1]


def _statistics_of_draws(
    model: LatentTree | LatentNetwork, data: CategoricalData, prior: float, seeds: Sequence[np.random.SeedSequence]
) -> np.ndarray:
    """Return (statistic, df) of every pair of columns: (n_draws, n_pairs, 2)."""
    with one_blas_thread():
        draws = drawn_from_model(model, data, [np.random.default_rng(seed) for seed in seeds])
        found = []
        for weights, refitted in zip(draws.weights, refitted_models(model, draws, prior), strict=True):
            rows = CategoricalData(data.columns, data.state_names, draws.data.codes, weights)
            found.append(pair_statistics(refitted, rows)[:, 2:4])
    return np.stack(found)


def refitted_models(
    model: LatentTree | LatentNetwork, draws: Draws, prior: float = 0.0
) -> list[LatentTree | LatentNetwork]:
    """Return a model fitted to each of several drawn tables, with the model's own tables to begin with.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> data = CategoricalData(["x"], [["a", "b"]], [[0], [1]], [1.0, 1.0])
    >>> draws = Draws(data, np.array([[1.0, 3.0], [2.0, 2.0]]))
    >>> [fitted.table("x").tolist() for fitted in refitted_models(tree, draws)]
    [[[0.25, 0.75]], [[0.5, 0.5]]]
    """
    engine = engine_for(model, draws.data)
    lengths = engine.layout.row_lengths
    tables = engine.layout.pack(model.tables)
    start = (1 - UNIFORM_SHARE) * tables + UNIFORM_SHARE / np.repeat(lengths, lengths)
    if isinstance(engine, TreeEngine):  # all of them share each pass through the compiled code
        many = engine.reweighted(draws.weights)
        starts = np.tile(start, (len(draws.weights), 1))
        fitted, _ = em.fit_groups(many, starts, np.arange(len(starts)), prior=prior, atol=DRAW_TOL)
    else:
        fits = [em.fit(engine.reweighted(weights), start, prior=prior, atol=DRAW_TOL) for weights in draws.weights]
        if any(fit.interrupted for fit in fits):
            raise KeyboardInterrupt
        fitted = np.stack([fit.tables for fit in fits])
    return [model.with_tables(engine.layout.unpack(flat)) for flat in fitted]
