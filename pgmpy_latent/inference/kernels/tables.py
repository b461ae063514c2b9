"""Tables from counts, compiled: every row is divided by its sum.

The arithmetic takes less time than NumPy needs to begin with it, and EM in small tables does little else.
"""

from numba import njit


@njit(
    "void(float64[:, ::1], float64, float64[:, ::1], boolean[::1], int64[::1], float64[:, ::1])",
    nogil=True,
    error_model="numpy",
    cache=True,
)
def divide_rows(counts, prior, tables, free, lengths, new):
    """Write ``(count + prior) / sum of its row`` into ``new``, for every start.

    Parameters
    ----------
    counts, tables : arrays, shape (starts, size)
        Rows whose sum is not positive, and entries that are not free, stay as they are in ``tables``.
    prior : float
        Added to every count.
    free : bool array, shape (size,)
        Entries that may change.
    lengths : int array
        Numbers of entries of the rows, which stand one after the other.
    new : array like ``tables``
        The result.
    """
    for start in range(len(counts)):
        first = 0
        for length in lengths:
            total = 0.0
            for entry in range(first, first + length):
                total += counts[start, entry] + prior
            for entry in range(first, first + length):
                if total > 0 and free[entry]:
                    new[start, entry] = (counts[start, entry] + prior) / total
                else:
                    new[start, entry] = tables[start, entry]
            first += length
