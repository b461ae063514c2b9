"""Which variables say most about each variable: the few of many that matter, without keeping all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.tables.dependence import DECIMALS, block_information, pairs_in_blocks
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.sparse import SparseRows

#: How many pairs of columns of a sparse table are compared at once.
SPARSE_PAIRS = 2**20


@dataclass(frozen=True, eq=False)
class Neighbours:
    """For every variable the others that say most about it, best first.

    Attributes
    ----------
    which : int array, shape (n, k)
        Positions of the others; -1 where there are fewer.
    information : array, shape (n, k)
        Mutual information in nats; minus infinity where there are fewer.
    """

    which: np.ndarray
    information: np.ndarray

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """All pairs that are listed, (n_pairs, 2), and their information: the highest first, then by position."""
        left = np.repeat(np.arange(len(self.which)), self.which.shape[1])
        right, value = self.which.ravel(), self.information.ravel()
        listed = right >= 0
        pairs = np.sort(np.stack([left[listed], right[listed]], axis=1), axis=1)
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -value[listed]))
        return pairs[order], value[listed][order]


class Nearest:
    """Collects the largest entries of the rows of a symmetric matrix that comes in parts.

    Parameters
    ----------
    n : int
        Number of variables.
    k : int
        How many neighbours to keep of each.

    Examples
    --------
    >>> nearest = Nearest(3, 1)
    >>> nearest.offer(np.arange(3), np.arange(3), np.array([[9.0, 0.2, 0.1], [0.2, 9.0, 0.3], [0.1, 0.3, 9.0]]))
    >>> nearest.found().which.tolist()
    [[1], [2], [1]]
    """

    def __init__(self, n: int, k: int):
        self.k = min(k, max(n - 1, 0))
        self.which = np.full((n, self.k), -1, dtype=np.int64)
        self.information = np.full((n, self.k), -np.inf)

    def offer(self, rows: np.ndarray, columns: np.ndarray, information: np.ndarray) -> None:
        """Look at the entries of some rows and columns; every pair comes once for each of its rows."""
        values = information.round(DECIMALS)
        values[rows[:, None] == columns] = -np.inf
        values = np.concatenate([self.information[rows], values], axis=1)
        which = np.concatenate([self.which[rows], np.broadcast_to(columns, information.shape)], axis=1)
        if values.shape[1] > 2 * self.k > 0:
            largest = np.argpartition(-values, self.k - 1, axis=1)[:, : self.k]
            values, which = (np.take_along_axis(one, largest, axis=1) for one in (values, which))
        order = np.lexsort((which, -values), axis=1)[:, : self.k]
        values, which = (np.take_along_axis(one, order, axis=1) for one in (values, which))
        self.information[rows] = values
        self.which[rows] = np.where(np.isfinite(values), which, -1)

    def found(self) -> Neighbours:
        """Return what is listed."""
        return Neighbours(self.which, self.information)


def nearest_columns(
    data: CategoricalData | SparseRows, k: int, report: Callable[[], None] = lambda: None
) -> Neighbours:
    """Return, for every column, the columns that say most about it.

    Parameters
    ----------
    data : CategoricalData or SparseRows
        The table. See :func:`pgmpy_latent.mutual_information` for what missing cells mean.
    k : int
        How many of each.
    report : callable
        Called now and then; what it raises ends the work.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> found = nearest_columns(encode(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]])), 1)
    >>> found.which.tolist(), found.information.round(4).tolist()
    ([[1], [0], [0]], [[0.6931], [0.6931], [0.0]])
    """
    nearest = Nearest(len(data.columns), k)
    with one_blas_thread():
        if isinstance(data, SparseRows):
            for left, right, values in _sparse_pairs(data):
                nearest.offer(left, right, values)
                report()
        else:
            for left, right, values, _ in pairs_in_blocks(data):
                nearest.offer(left, right, values)
                if left is not right:
                    nearest.offer(right, left, values.T)
                report()
    return nearest.found()


def _sparse_pairs(data: SparseRows) -> Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield some columns, all columns, and their mutual information, from the rows in which both are one."""
    ones = data.by_column.astype(np.float64)
    weighted = ones.multiply(data.weights[:, None]).tocsr()
    margins = data.weights @ ones
    everything = np.arange(len(data.columns))
    step = max(1, SPARSE_PAIRS // max(1, len(everything)))
    for first in range(0, len(everything), step):
        some = everything[first : first + step]
        both = (ones[:, some].T @ weighted).toarray()
        yield some, everything, binary_information(both, margins[some], margins, data.total_weight)


def binary_information(both: np.ndarray, left: np.ndarray, right: np.ndarray, total: float) -> np.ndarray:
    """Return the mutual information of pairs of binary variables.

    Parameters
    ----------
    both : array, shape (n_left, n_right)
        Weight of the rows in which both are one.
    left, right : arrays, shapes (n_left,) and (n_right,)
        Weight of the rows in which each is one.
    total : float
        Weight of all rows.

    Examples
    --------
    >>> binary_information(np.array([[2.0]]), np.array([2.0]), np.array([2.0]), 4.0).round(4).tolist()
    [[0.6931]]
    """
    cells = np.empty((2 * len(left), 2 * len(right)))
    cells[1::2, 1::2] = both
    cells[1::2, ::2] = left[:, None] - both
    cells[::2, 1::2] = right - both
    cells[::2, ::2] = total - left[:, None] - right + both
    np.maximum(cells, 0.0, out=cells)  # rounding
    return block_information(cells, 2 * np.arange(len(left)), 2 * np.arange(len(right)))
