"""Read-only arrays, fast operations on short rows, and matrix products that do not depend on threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np
from threadpoolctl import ThreadpoolController

#: Largest relative difference (absolute below 1) between a number and its recomputed value.
ROUNDING = 1e-8

#: Rows of at most this many numbers are processed column by column.
SHORT = 16
#: A column of more states than this is counted sparsely: in a matrix of rows and states, all but one per row are zeros.
WIDE = 256
#: One entry per context of :func:`one_blas_thread` that is open; the first is the limit. It belongs to the process, as
#: the numbers of threads of BLAS libraries do.
_LIMITS: list = []
#: Thread limiters by the number of modules loaded when libraries were searched, which takes milliseconds.
_CONTROLLERS: dict[int, ThreadpoolController] = {}
_LOCK = Lock()


def read_only(array, dtype) -> np.ndarray:
    """Return a C-contiguous array that cannot be written to; a private copy unless it is one already.

    Examples
    --------
    >>> once = read_only([0, 1], np.int64)
    >>> once.flags.writeable, read_only(once, np.int64) is once
    (False, True)
    """
    if (
        type(array) is np.ndarray
        and array.base is None
        and not array.flags.writeable
        and array.dtype == dtype
        and array.flags.c_contiguous
    ):
        return array
    array = np.array(array, dtype=dtype, order="C", copy=True)
    array.flags.writeable = False
    return array


def largest_in_rows(values: np.ndarray) -> np.ndarray:
    """Return the largest number of every row, (rows, 1); for rows of a few numbers ten times as fast as ``max``.

    Examples
    --------
    >>> largest_in_rows(np.array([[1.0, 3.0], [5.0, 2.0]]))
    array([[3.],
           [5.]])
    """
    if values.shape[1] > SHORT:
        return values.max(axis=1, keepdims=True)
    largest = values[:, :1].copy()
    for column in range(1, values.shape[1]):
        np.maximum(largest, values[:, column : column + 1], out=largest)
    return largest


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context in which matrix products run in one thread.

    Our products are many and small: threads would mostly wait for each other, on shared cores for many times as long as
    the products take. And the last bits of a sum depend on the number of threads. Contexts may overlap in several
    threads: the first to begin sets the limit, the last to end lifts it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     np.ones((2, 2)) @ np.ones(2)
    array([2., 2.])
    """
    with _LOCK:
        _LIMITS.append(None if _LIMITS else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            if len(_LIMITS) == 1:
                _LIMITS[0].restore_original_limits()
                _LIMITS.clear()
            else:
                _LIMITS.pop()  # the limit itself is the first


def _controller() -> ThreadpoolController:
    """Return the thread limiter; libraries are searched again if modules were loaded since."""
    loaded = len(sys.modules)
    if loaded not in _CONTROLLERS:
        _CONTROLLERS.clear()
        _CONTROLLERS[loaded] = ThreadpoolController()
    return _CONTROLLERS[loaded]
