"""Arrays that nobody can change."""

from __future__ import annotations

import numpy as np


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
