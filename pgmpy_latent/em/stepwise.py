"""Stepwise EM: tables follow new rows without a new search, or a large table batch by batch before EM on all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.step import Problem, m_step
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.sparse import SparseRows

#: How fast stepwise EM forgets.
DECAY = 0.7


@dataclass(frozen=True)
class Running:
    """The expected counts of the rows so far.

    Attributes
    ----------
    counts : array, shape (size,)
        Running mean of the expected counts, per unit of weight.
    weight : float
        Of all rows so far.
    n_updates : int
    """

    counts: np.ndarray
    weight: float
    n_updates: int = 0

    def blended(self, counts: np.ndarray, weight: float, decay: float) -> Running:
        """Return the counts with those of new rows added, given the mean counts and the weight of the new rows."""
        share = (self.n_updates + 2.0) ** -decay
        return Running((1.0 - share) * self.counts + share * counts, self.weight + weight, self.n_updates + 1)


def running_counts(tree: LatentTree, data: CategoricalData | SparseRows) -> Running:
    """Return the expected counts of the rows that a tree was learned from, under that tree."""
    total = np.zeros(sum(table.size for table in tree.tables))
    for rows in data.blocks() if isinstance(data, SparseRows) else [data]:
        engine = engine_for(tree, rows)
        total += engine.expected_counts(engine.layout.pack(tree.tables))[1]
    return Running(total / data.total_weight, data.total_weight)


def counts_of_model(tree: LatentTree, weight: float) -> Running:
    """Return the expected counts of the rows that a tree was fitted to, by its tables alone.

    Where EM has ended, an M-step changes nothing, so that the expected count of an entry is the weight of its parent
    state times the entry. A prior, which counts for little among many rows, is left out.

    Examples
    --------
    >>> tree = LatentTree(["x", "y"], [["a", "b"]] * 2, [-1, 0], [False] * 2, [[[0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> counts_of_model(tree, 1000.0).counts.tolist()
    [0.2, 0.8, 0.1, 0.1, 0.0, 0.8]
    """
    shares = marginals(tree)
    counts = [
        table if above < 0 else shares[above][:, None] * table
        for table, above in zip(tree.tables, tree.parent, strict=True)
    ]
    return Running(np.concatenate([count.ravel() for count in counts]), weight)


def updated(
    tree: LatentTree, running: Running, data: CategoricalData, decay: float, prior: float | np.ndarray
) -> tuple[LatentTree, Running]:
    """Take one step of stepwise EM (Cappé and Moulines, 2009).

    With ``s`` the running mean of expected counts, ``c`` the mean of those of the new rows, and ``t`` the number of
    updates before, ``s ← (1 - η) s + η c`` with ``η = (t + 2)^-decay``; the tables are those that an M-step makes of
    ``s`` times the weight of all rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import encode
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> old = running_counts(tree, encode(pd.DataFrame({"x": ["a", "b"]})))
    >>> new = encode(pd.DataFrame({"x": pd.Categorical(["a"], ["a", "b"])}))
    >>> updated(tree, old, new, 1.0, 0.0)[0].table("x")
    array([[0.75, 0.25]])
    """
    rows = _possible_rows(tree, data)
    if rows is None:
        return tree, running
    engine = engine_for(tree, rows)
    tables = engine.layout.pack(tree.tables)
    _, counts = engine.expected_counts(tables)
    running = running.blended(counts / rows.total_weight, rows.total_weight, decay)
    new = m_step(running.counts * running.weight, engine.layout, prior, tables, None)
    return tree.with_tables(engine.layout.unpack(new)), running


def _possible_rows(tree: LatentTree, data: CategoricalData) -> CategoricalData | None:
    """Return the rows that are possible under the tree; None if all have probability zero."""
    engine = engine_for(tree, data)
    possible = np.isfinite(engine.row_log_likelihoods(engine.layout.pack(tree.tables)))
    if possible.all():
        return data
    weight = data.weights[~possible].sum()
    warn(
        f"rows of weight {weight:g} have probability zero under the model and change nothing; fit with a small prior, "
        "as prior=0.01, if such rows must count",
        UserWarning,
    )
    if not possible.any():
        return None
    return data.take(possible)


def batches(weights: np.ndarray, size: int, seed: np.random.SeedSequence) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows and weights of all batches, which are alike: heavy rows are in several, with part of the weight.

    A batch that lacked the most frequent row, or had little else, would pull the tables astray. The seed deals the rows
    out.

    Parameters
    ----------
    weights : array, shape (n_rows,)
        Weights of the distinct rows.
    size : int
        Rows of a batch, without the copies of heavy ones.
    seed : SeedSequence

    Examples
    --------
    >>> dealt = batches(np.array([1.0, 1.0, 1.0, 8.0]), 2, np.random.SeedSequence(0))
    >>> [(rows.tolist(), own.tolist()) for rows, own in dealt]
    [([1, 2, 3], [1.0, 1.0, 4.0]), ([0, 3], [1.0, 4.0])]
    """
    n_batches = -(-len(weights) // size)
    copies = np.clip(np.ceil(weights / np.median(weights)), 1, n_batches).astype(np.int64)
    rng = np.random.default_rng(seed)
    first = np.empty(len(weights), np.int64)
    first[rng.permutation(len(weights))] = np.arange(len(weights)) % n_batches
    rows = np.repeat(np.arange(len(weights)), copies)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
    batch = (first[rows] + number) % n_batches
    order = np.argsort(batch, kind="stable")
    cuts = np.searchsorted(batch[order], np.arange(1, n_batches))
    return [(some, weights[some] / copies[some]) for some in np.split(rows[order], cuts)]


def first_passes(
    tree: LatentTree,
    data: CategoricalData,
    starts: np.ndarray,
    *,
    prior: float | np.ndarray,
    size: int,
    n_passes: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = 1,
    clock: Clock | None = None,
) -> np.ndarray:
    """Return the tables of several starts after passes over the batches of a large table, as starts of EM on all rows.

    Tables change after every batch, by running means of the expected counts, so that a pass over all rows takes them
    much further than one iteration of EM. Ctrl-C and the time limit end the passes; EM that follows notices them too.

    Parameters
    ----------
    tree : LatentTree
        Its shape alone counts.
    data : CategoricalData
        The table.
    starts : array, shape (n_starts, size)
        Flat tables.
    prior : float or array of shape (size,)
        Dirichlet pseudo-counts, above zero where a batch may not show what the table does.
    size, n_passes : int
        Distinct rows of a batch, and how often each of them is looked at.
    seed : SeedSequence
        Deals out the rows. The order of rows in the table does not matter.
    n_jobs : int, optional
        Threads that share the starts; the result does not depend on it.
    clock : Clock, optional

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> tree = LatentTree([0], [[0, 1]], [-1], [False], [[[0.5, 0.5]]])
    >>> data = encode(np.array([[0], [1], [1], [1]]))
    >>> options = {"prior": 0.0, "size": 1, "n_passes": 1, "seed": np.random.SeedSequence(0)}
    >>> first_passes(tree, data, np.array([[0.5, 0.5]]), **options).round(3).tolist()
    [[0.154, 0.846]]
    """
    engines = list(_engines(tree, data, size, seed))
    tables, running = np.array(starts, dtype=np.float64), None
    try:
        for engine in engines * n_passes:
            if clock is not None:
                clock.check()
            with Problem(engine, prior, None, parallel.n_threads(n_jobs)).threads() as problem:
                counts = problem.shared_counts(tables)[1] / engine.total_weight
            if running is None:
                running = Running(counts, engine.total_weight)
            else:
                running = running.blended(counts, engine.total_weight, DECAY)
            tables = m_step(running.counts * data.total_weight, engine.layout, prior, tables, None)
    except STOP_SIGNALS as stop:
        if clock is not None:
            clock.note_stop(stop)
    return tables


def _engines(tree: LatentTree, data: CategoricalData, size: int, seed: np.random.SeedSequence) -> Iterator[TreeEngine]:
    """Yield an engine for every batch, whatever the order of the rows in the table."""
    order = np.argsort(data.row_keys, kind="stable")
    for rows, weights in batches(data.weights[order], size, seed):
        yield engine_for(tree, data.take(order[rows])).reweighted(weights)
