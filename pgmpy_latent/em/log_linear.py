"""Probability tables whose logarithms are linear in a few parameters, fitted to counts by Newton's method.

``P(column j | row r)`` is proportional to ``exp(sum_m design[r, j, m] * theta[m])``. With one design this is an item
whose categories are ordered, with another the multinomial logit of a class on covariates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmpy_latent.exceptions import DataError

#: Most steps of Newton's method in one M-step, and most halvings of a step.
STEPS, HALVINGS = 12, 30
#: Most that a step changes a logarithm by; where counts are zero, maxima may be infinitely far away.
LONGEST = 10.0
#: Newton's method ends when a step would gain less than this share of the count, in nats.
LEAST_GAIN = 1e-13
#: Added to the information matrix, relative to its largest entry: parameters that no count speaks of stay.
RIDGE = 1e-10
#: Probabilities below this are as good as zero, and their logarithms are taken to be its logarithm.
LEAST = 1e-300
#: Tables that differ from their projection by no more than this are of the family, and stay bit for bit.
SAME = 1e-12
#: Most entries of tables that are fitted at once: with more of them, they leave the cache of a processor.
AT_ONCE = 100_000


class Family(ABC):
    """A family of tables of one shape, with parameters that are fitted to counts by Newton's method."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tables."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of parameters that the tables depend on."""

    @abstractmethod
    def logs(self, theta: np.ndarray) -> np.ndarray:
        """Return the logarithms of the tables of some parameters, shape (..., rows, columns)."""

    @abstractmethod
    def parameters_of_logs(self, logs: np.ndarray) -> np.ndarray:
        """Return parameters of tables: the right ones for tables of the family, and close ones for others."""

    def arranged(self, tables: np.ndarray) -> np.ndarray:
        """Return a copy of several tables that lies in memory as :meth:`logs` does."""
        return tables.copy()

    def tables(self, theta: np.ndarray) -> np.ndarray:
        """Return the tables of some parameters, shape (..., rows, columns)."""
        return np.exp(self.logs(theta))

    def parameters(self, tables: np.ndarray) -> np.ndarray:
        """Return the parameters of tables, by least squares of their logarithms; exact for tables of the family.

        Examples
        --------
        >>> logit = LogLinear(np.array([[[0.0], [1.0]], [[0.0], [2.0]]]))
        >>> logit.parameters(logit.tables(np.array([0.5]))).round(12).tolist()
        [0.5]
        """
        return self.parameters_of_logs(np.log(np.maximum(tables, LEAST)))

    @abstractmethod
    def direction(self, counts: np.ndarray, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step of Newton's method for each of several tables, and what it promises to gain."""

    def project(self, tables: np.ndarray) -> np.ndarray:
        """Return tables of the family close to others; those that are of the family stay bit for bit."""
        flat = tables.reshape(-1, *self.shape)
        found = np.empty(flat.shape)
        for part in self._parts(len(flat)):
            projected = self.tables(self.parameters(flat[part]))
            inside = (np.abs(projected - flat[part]) <= SAME).all(axis=(-2, -1), keepdims=True)
            found[part] = np.where(inside, flat[part], projected)
        return found.reshape(tables.shape)

    def _parts(self, n: int) -> Iterator[slice]:
        """Yield which of several tables are worked on at once."""
        width = max(1, AT_ONCE // max(self.shape[0] * self.shape[1], 1))
        for begin in range(0, n, width):
            yield slice(begin, begin + width)

    def fit(self, counts: np.ndarray, tables: np.ndarray, left: float = 0.0) -> np.ndarray:
        """Return tables of the family that maximise ``sum(counts * log(tables))``, never below the given ones.

        Parameters
        ----------
        counts : array, shape (..., rows, columns)
            Expected counts, with pseudo-counts if there are any.
        tables : array like ``counts``
            Tables of the family where Newton's method begins.
        left : float
            Newton's method ends when what is left to gain is about this share of what it has gained.

        Examples
        --------
        >>> logit = LogLinear(np.array([[[0.0], [1.0]]]))
        >>> logit.fit(np.array([[1.0, 3.0]]), np.array([[0.5, 0.5]])).round(9).tolist()
        [[0.25, 0.75]]
        """
        lead = counts.shape[:-2]
        flat_counts = counts.reshape(-1, *self.shape)
        flat_tables = tables.reshape(-1, *self.shape)
        found = np.empty(flat_tables.shape)
        for part in self._parts(len(found)):
            found[part] = self._newton(flat_counts[part], flat_tables[part], left)
        return found.reshape(*lead, *self.shape)

    def _newton(self, counts: np.ndarray, tables: np.ndarray, left: float) -> np.ndarray:
        """Return tables after steps of Newton's method, each halved until it does not lower the value."""
        counts, tables = self.arranged(counts), self.arranged(tables)
        logs = np.log(np.maximum(tables, LEAST))
        theta = self.parameters_of_logs(logs)
        value, total = _value(counts, logs), counts.sum(axis=(1, 2))
        begin, running = value.copy(), np.flatnonzero(total > 0)
        for _ in range(STEPS):
            if not len(running):
                break
            everyone = slice(None) if len(running) == len(counts) else running
            way, slope = self.direction(counts[everyone], tables[everyone])
            share = slope / total[running]
            running, way, share = (part[share > LEAST_GAIN] for part in (running, way, share))
            length, waiting = np.ones(len(running)), np.arange(len(running))
            for _ in range(HALVINGS):
                if not len(waiting):
                    break
                at = running[waiting]
                tried = theta[at] + length[waiting, None] * way[waiting]
                logs = self.logs(tried)
                reached = _value(counts if len(at) == len(counts) else counts[at], logs)
                good = reached >= value[at]
                if good.all() and len(at) == len(counts):
                    theta, tables, value = tried, np.exp(logs), reached
                else:
                    theta[at[good]], tables[at[good]], value[at[good]] = tried[good], np.exp(logs[good]), reached[good]
                waiting = waiting[~good]
                length[waiting] /= 2
            share[waiting] = 0.0  # those cannot rise any more, but for rounding
            enough = np.maximum(LEAST_GAIN, left * (value - begin)[running] / total[running])
            running = running[share**2 > enough]  # what Newton's method leaves is about the square
        return tables


@dataclass(frozen=True, eq=False)
class LogLinear(Family):
    """A family of tables: the logarithms of the entries are linear in parameters, up to a constant for every row.

    Attributes
    ----------
    design : array, shape (rows, columns, parameters)
        Factors of the parameters in the linear predictor of every entry.

    Examples
    --------
    >>> logit = LogLinear(np.array([[[0.0], [1.0]], [[0.0], [2.0]]]))
    >>> logit.tables(np.array([np.log(3.0)])).round(9).tolist()
    [[0.25, 0.75], [0.1, 0.9]]
    """

    design: np.ndarray

    def __post_init__(self) -> None:
        design = np.array(self.design, dtype=np.float64)
        if design.ndim != 3 or not design.size or not np.isfinite(design).all():
            raise DataError(
                f"the design of a log-linear table has shape {design.shape}; give finite numbers of shape "
                "(rows, columns, parameters)"
            )
        design.flags.writeable = False
        object.__setattr__(self, "design", design)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tables."""
        return self.design.shape[0], self.design.shape[1]

    @cached_property
    def centred(self) -> np.ndarray:
        """The design less its mean over each row, with one line per entry: constants of rows do not matter."""
        rows, columns, n = self.design.shape
        return (self.design - self.design.mean(axis=1, keepdims=True)).reshape(rows * columns, n)

    @cached_property
    def n_parameters(self) -> int:
        """Number of parameters that the tables depend on."""
        return int(np.linalg.matrix_rank(self.centred.T @ self.centred, hermitian=True))

    @cached_property
    def _solver(self) -> np.ndarray:
        return np.linalg.pinv(self.centred.T @ self.centred, hermitian=True) @ self.centred.T

    def logs(self, theta: np.ndarray) -> np.ndarray:
        """Return the logarithms of the tables of some parameters, shape (..., rows, columns)."""
        predictor = (theta @ self.centred.T).reshape(*theta.shape[:-1], *self.shape)
        predictor -= predictor.max(axis=-1, keepdims=True)
        return predictor - np.log(np.exp(predictor).sum(axis=-1, keepdims=True))

    def parameters_of_logs(self, logs: np.ndarray) -> np.ndarray:
        """Return the parameters of tables, by least squares of their logarithms; exact for tables of the family."""
        return logs.reshape(*logs.shape[:-2], -1) @ self._solver.T

    def direction(self, counts: np.ndarray, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step of Newton's method for each of several tables, and what it promises to gain."""
        n, (rows, columns), centred = len(counts), self.shape, self.centred
        weights = counts.sum(axis=2, keepdims=True)
        expected = weights * tables
        gradient = (counts - expected).reshape(n, -1) @ centred
        weighted = expected.reshape(n, -1, 1) * centred
        sums = weighted.reshape(n, rows, columns, -1).sum(axis=2)
        means = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
        way, gain = damped_step(weighted.swapaxes(1, 2) @ centred - sums.swapaxes(1, 2) @ means, gradient)
        return shortened(way, np.abs(way @ centred.T).max(axis=1)), gain


def damped_step(information: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps ``information^-1 gradient`` of several tables, and half their product with the gradient.

    Examples
    --------
    >>> damped_step(np.array([[[2.0]]]), np.array([[1.0]]))[0].round(6).tolist()
    [[0.5]]
    """
    largest = np.maximum(np.abs(information).max(axis=(1, 2)), LEAST)
    damped = information + (RIDGE * largest)[:, None, None] * np.eye(information.shape[1])
    way = np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
    return way, (gradient * way).sum(axis=1) / 2


def shortened(way: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return steps of several tables so short that no logarithm changes by more than ``LONGEST``.

    Examples
    --------
    >>> shortened(np.array([[1.0], [1.0]]), np.array([2.0, 20.0])).tolist()
    [[1.0], [0.5]]
    """
    return way * (LONGEST / np.maximum(change, LONGEST))[:, None]


def _value(counts: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the sum of counts times logarithms, for each of several tables."""
    return (counts * logs).sum(axis=(1, 2))


def ordinal_item(n_rows: int, n_columns: int) -> LogLinear:
    """Return the family of tables of an item whose categories are ordered.

    Adjacent-category logits with scores 1, 2, ...: ``log P(j | row k) = a_j + b_k * j`` up to a constant for every row,
    with ``a_1 = 0`` and ``b_1 = 0``. The larger ``b_k``, the more a row favours high categories.

    Parameters
    ----------
    n_rows, n_columns : int
        States of the parent, and categories of the item.

    Examples
    --------
    >>> ordinal_item(3, 5).n_parameters
    6
    """
    design = np.zeros((n_rows, n_columns, n_columns - 1 + n_rows - 1))
    for column in range(1, n_columns):
        design[:, column, column - 1] = 1.0
    for row in range(1, n_rows):
        design[row, :, n_columns - 2 + row] = np.arange(n_columns)
    return LogLinear(design)
