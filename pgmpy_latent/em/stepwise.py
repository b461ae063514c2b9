"""Stepwise EM: the tables of a learned tree follow new rows, without a new search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.step import m_step
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.sparse import SparseRows


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
