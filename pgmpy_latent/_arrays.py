"""Arrays that nobody can change, and products of them that do not depend on the number of threads."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
from threadpoolctl import threadpool_limits


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


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which matrix products run in one thread.

    Ours are many and small: threads would wait for each other, on a busy machine for many times as long as the products
    take. And the last bits of a sum depend on how many threads share it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     np.ones((2, 2)) @ np.ones(2)
    array([2., 2.])
    """
    return threadpool_limits(limits=1, user_api="blas")
