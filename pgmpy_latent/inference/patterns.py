"""Numbering the distinct combinations that rows show."""

from __future__ import annotations

import numpy as np


def distinct_pairs(
    left: np.ndarray, n_left: int, right: np.ndarray, n_right: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct pairs of two index vectors.

    Returns
    -------
    pairs, left_of_pair, right_of_pair : arrays
        The pair of each row, and what each pair consists of; pairs are in lexicographic order.

    Examples
    --------
    >>> pairs, first, second = distinct_pairs(np.array([1, 0, 1]), 2, np.array([0, 2, 0]), 3)
    >>> pairs.tolist(), first.tolist(), second.tolist()
    ([1, 0, 1], [0, 1], [2, 0])
    """
    key = left.astype(np.int64) * n_right + right
    if n_left * n_right <= 4 * len(key) + 1024:
        present = np.zeros(n_left * n_right, dtype=np.bool_)
        present[key] = True
        number = np.cumsum(present, dtype=np.int32) - np.int32(1)
        kinds, pairs = np.flatnonzero(present), number[key]
    else:
        kinds, pairs = np.unique(key, return_inverse=True)
        pairs = pairs.astype(np.int32)
    return pairs, kinds // n_right, kinds % n_right


def distinct_combinations(columns: list[tuple[np.ndarray, int]]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number the distinct combinations of several index vectors, given with their numbers of values.

    Examples
    --------
    >>> number, parts = distinct_combinations([(np.array([1, 0, 1]), 2), (np.array([0, 2, 0]), 3)])
    >>> number.tolist(), [part.tolist() for part in parts]
    ([1, 0, 1], [[0, 1], [2, 0]])
    """
    pattern, count = np.zeros(len(columns[0][0]), dtype=np.int32), 1
    for other, n_other in columns:
        if count == len(pattern):  # all rows differ already
            break
        pattern, kinds, _ = distinct_pairs(pattern, count, other, n_other)
        count = len(kinds)
    first_row = np.zeros(count, dtype=np.int64)
    first_row[pattern[::-1]] = np.arange(len(pattern))[::-1]
    return pattern, [column[first_row] for column, _ in columns]
