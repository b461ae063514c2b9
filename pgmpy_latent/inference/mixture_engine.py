"""The engine of mixtures: several engines for the same rows, and the weight of each."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import pairwise

import numpy as np

from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import Frozen, RowEngine, nothing_frozen
from pgmpy_latent.inference.tree_engine import Precision, TreeEngine


class MixtureEngine(RowEngine):
    """Exact inference in a weighted mean of models, for the rows of a table.

    The flat tables are the weights of the parts, as a table of one row, and then the tables of every part. Nodes are
    the choice of a part, as node 0, and the columns.

    Parameters
    ----------
    parts : sequence of TreeEngine
        One for each part, all of them for the same rows with the same weights.
    nodes : int array, shape (n_parts, n_columns)
        Where the columns stand among the nodes of each part.

    Examples
    --------
    >>> from pgmpy_latent.inference.plan import Evidence, compile_plan
    >>> part = TreeEngine(compile_plan([-1], {0: Evidence(np.array([0, 1]), 2)}), [2])
    >>> engine = MixtureEngine([part, part], np.zeros((2, 1), int))
    >>> log_likelihood, counts = engine.expected_counts(np.array([0.5, 0.5, 1.0, 0.0, 0.5, 0.5]))
    >>> round(float(log_likelihood), 4), counts.round(3).tolist()
    (-1.674, [0.667, 1.333, 0.667, 0.0, 0.333, 1.0])
    """

    n_weightings = 1

    def __init__(self, parts: Sequence[TreeEngine], nodes: np.ndarray):
        self.parts, self.nodes = tuple(parts), np.asarray(nodes)
        self.weights = self.parts[0].weights
        shapes = [np.array([[1, len(self.parts)]]), *(part.layout.shapes for part in self.parts)]
        self.layout = Layout(np.concatenate(shapes))
        ends = len(self.parts) + np.cumsum([0, *(part.layout.size for part in self.parts)])
        self._slices = [slice(begin, end) for begin, end in pairwise(ends.tolist())]
        firsts = np.cumsum([1, *(part.layout.n_tables for part in self.parts)])
        self._tables = [slice(begin, end) for begin, end in pairwise(firsts.tolist())]

    @property
    def is_large(self) -> bool:
        """Whether threads can share the rows of one start."""
        return any(part.is_large for part in self.parts)

    @property
    def work(self) -> int:
        """Numbers that all parts multiply; see :attr:`~pgmpy_latent.inference.tree_engine.TreeEngine.work`."""
        return sum(part.work for part in self.parts)

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

    def expected_counts(
        self,
        tables: np.ndarray,
        free: np.ndarray | None = None,
        weightings: np.ndarray | None = None,
        pool: Executor | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood and the expected count of every entry of every table, as any engine does.

        The counts of a part are those of the rows, each weighted by the probability that it comes from that part.
        """
        assert weightings is None, "rows of mixtures have one weighting"
        if tables.ndim == 2:
            found = [self.expected_counts(start, free, pool=pool) for start in tables]
            return np.array([logs for logs, _ in found]), np.stack([counts for _, counts in found])
        logs, shares = self._shares(tables)
        weighted = shares * self.weights
        counts = np.zeros(self.layout.size)
        if free is None or free[0]:
            counts[: len(self.parts)] = weighted.sum(axis=1)
        for part, here, of_part, weights in zip(self.parts, self._slices, self._tables, weighted, strict=True):
            if free is None or np.any(free[of_part]):
                own = None if free is None else free[of_part]
                counts[here] = part.reweighted(weights).expected_counts(tables[here], own, pool=pool)[1]
        return self._total(logs), counts

    def log_likelihood(self, tables: np.ndarray, weightings: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihood alone: a float, or one per start."""
        assert weightings is None, "rows of mixtures have one weighting"
        logs = self.row_log_likelihoods(tables)
        return np.array([self._total(start) for start in logs]) if tables.ndim == 2 else self._total(logs)

    def _total(self, logs: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the rows' log-likelihoods; a row that weighs nothing counts for nothing."""
        counted = self.weights > 0
        return np.asarray(self.weights[counted] @ logs[counted])[()]

    def row_log_likelihoods(self, tables: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row (of shape (n_rows,) or (n_starts, n_rows))."""
        if tables.ndim == 2:
            return np.stack([self.row_log_likelihoods(start) for start in tables])
        return self._shares(tables)[0]

    def _joint(self, tables: np.ndarray) -> np.ndarray:
        """Return the logarithm of the joint probability of every part and row: (n_parts, n_rows)."""
        logs = [part.row_log_likelihoods(tables[here]) for part, here in zip(self.parts, self._slices, strict=True)]
        with np.errstate(divide="ignore"):
            return np.log(tables[: len(self.parts), None]) + np.stack(logs)

    def _shares(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows' log-likelihoods, and P(part | row) as (n_parts, n_rows), zero for impossible rows."""
        joint = self._joint(tables)
        largest = joint.max(axis=0)
        shares = np.exp(joint - np.where(np.isneginf(largest), 0.0, largest))
        sums = shares.sum(axis=0)
        with np.errstate(divide="ignore"):
            logs = largest + np.log(sums)
        shares /= np.where(sums > 0, sums, 1.0)
        return logs, shares

    def beliefs(self, tables: np.ndarray, nodes: Sequence[int]) -> list[np.ndarray]:
        """Return P(node | row) for each of the nodes: (n_rows, states). Rows of probability zero give NaN."""
        logs, shares = self._shares(tables)
        impossible = np.isneginf(logs)
        columns = [node - 1 for node in nodes if node > 0]
        means: list = [0.0] * len(columns)
        for part, here, own, share in zip(self.parts, self._slices, self.nodes, shares, strict=True):
            beliefs = part.beliefs(tables[here], [int(own[column]) for column in columns])
            means = [
                mean + np.where(share[:, None] > 0, share[:, None] * belief, 0.0)
                for mean, belief in zip(means, beliefs, strict=True)
            ]
        found, given = [], iter(means)
        for node in nodes:
            belief = next(given) if node > 0 else shares.T.copy()
            belief[impossible] = np.nan
            found.append(belief)
        return found

    def draw(self, tables: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the part of every row, and its columns from their joint posterior in that part: (n_rows, n_nodes).

        Rows of probability zero have no posterior: their unknown states stay unknown, as -1.
        """
        logs, shares = self._shares(tables)
        bounds = np.cumsum(shares, axis=0)
        uniform = rng.random(len(logs)) * bounds[-1]
        chosen = np.minimum((uniform >= bounds).sum(axis=0), len(self.parts) - 1)
        codes = np.empty((len(logs), 1 + self.nodes.shape[1]), dtype=np.int64)
        for number, (part, here, own) in enumerate(zip(self.parts, self._slices, self.nodes, strict=True)):
            rows = chosen == number
            codes[rows, 1:] = part.draw(tables[here], rng)[rows][:, own]
        codes[:, 0] = np.where(np.isneginf(logs), -1, chosen)
        return codes

    def reweighted(self, weights: np.ndarray) -> MixtureEngine:
        """Return an engine for the same rows with other weights."""
        return MixtureEngine([part.reweighted(weights) for part in self.parts], self.nodes)

    def in_precision(self, precision: Precision) -> MixtureEngine:
        """Return an engine whose expected counts are computed in another precision, given P(part | row) in double.

        See :meth:`~pgmpy_latent.inference.tree_engine.TreeEngine.in_precision`. The log-likelihood that comes with the
        counts is in double.
        """
        return MixtureEngine([part.in_precision(precision) for part in self.parts], self.nodes)

    def for_counts(self) -> MixtureEngine:
        """Return this engine: counts of a mixture need the rows one by one."""
        return self

    def freeze(self, tables: np.ndarray, free: np.ndarray) -> Frozen[MixtureEngine]:
        """Return the whole engine, which leaves the counts of other tables at zero."""
        return nothing_frozen(self, free)
