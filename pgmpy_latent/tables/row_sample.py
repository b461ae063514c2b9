"""Samples of the rows of a table in shards, drawn by row keys: neither shards nor the order of rows matter.

Every row is in a sample with the same probability, equal rows as often as their number says. How many of the ``m`` rows
that are equal to each other are drawn is the quantile of a binomial distribution at a number that the key of these rows
gives. It depends on ``m`` over all shards, which no shard knows. An upper bound is enough to tell almost all rows that
are not drawn: the weight of all rows whose keys fall into the same of many buckets (a count-min sketch), which is a sum
over shards. The weights of the few that are left are then added up exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, log2

import numpy as np
from scipy.stats import binom

from pgmpy_latent.exceptions import MemoryLimitError
from pgmpy_latent.tables.chunks import ShardedTable
from pgmpy_latent.tables.encode import CategoricalData, uniform_by_key
from pgmpy_latent.tables.survey import WeightKind

#: Fewest and most buckets, as powers of two.
FEWEST, MOST = 10, 26
#: Share by which a bound on sums of rounded numbers is raised.
ROUNDING = 1e-9

#: ``each(function, *args)`` returns ``function(shard, *args)`` of every shard.
Each = Callable[..., Iterable]


def two_samples(table: ShardedTable, each: Each, n_rows: int, seed: int) -> tuple[CategoricalData, CategoricalData]:
    """Draw two samples without a row in common, of about ``n_rows`` rows each; of half the table if it has fewer.

    Each row is in the first sample, in the second, or in none, independently of all others. A row of weight ``w``
    counts as ``w`` rows; a fraction is rounded up with a probability of its own size. Sampling weights are on the scale
    of Kish's effective number of rows, so that a row is drawn in proportion to its weight, and what is drawn are
    counts.

    Parameters
    ----------
    table : ShardedTable
        The states of the whole table.
    each : callable
        Applies a function to every shard.
    n_rows : int
        Expected number of rows of each sample. Their memory grows with it, and that of drawing with the square root of
        ``n_rows`` times the number of rows of the table.
    seed : int
        Same seed, same samples, whatever the shards are (but for the last bit of sums of weights with fractions).

    Returns
    -------
    first, second : CategoricalData
        With the columns and states of the whole table.

    Raises
    ------
    MemoryLimitError
        If one of them is empty, because ``n_rows`` is so small.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import encode
    >>> data = encode(pd.DataFrame({"x": [0, 1] * 500}))
    >>> table = ShardedTable(data.columns, data.state_names, 1000.0, (), None, None, False, (True,), 1000)
    >>> first, second = two_samples(table, lambda function, *args: [function(data, *args)], 100, seed=0)
    >>> first.weights.tolist(), second.weights.tolist()
    ([49.0, 54.0], [42.0, 53.0])
    """
    salts = np.random.SeedSequence(seed).generate_state(3, np.uint64)
    weights = sum(each(_bucket_weights, _n_buckets(n_rows, table.n_rows)))
    share = min(1.0, 2 * n_rows / float(weights.sum()))  # of rows that are in either sample
    found = zip(*each(_candidates, weights, share, salts), strict=True)
    keys, summed = _sums_by_key(*(np.concatenate(parts) for parts in found))
    drawn = _n_drawn(keys, summed, share, salts)
    keys, drawn = keys[drawn > 0], drawn[drawn > 0]
    first = binom.ppf(uniform_by_key(keys, salts[2]), drawn, 0.5)
    codes = _codes_by_key(each, keys)
    return _sample(table, codes, first), _sample(table, codes, drawn - first)


def _n_buckets(n_rows: int, n_table: int) -> int:
    """Return the number of buckets with which they take about as much memory as the candidates."""
    return 2 ** min(max(ceil(log2(max(2, 2 * n_rows * n_table)) / 2), FEWEST), MOST)


def _n_drawn(keys: np.ndarray, weights: np.ndarray, share: float, salts: np.ndarray) -> np.ndarray:
    """Return how many of the rows with each key are drawn: the quantile of a binomial distribution, by the key."""
    copies = np.floor(weights)
    copies += uniform_by_key(keys, salts[1]) < weights - copies
    uniform = uniform_by_key(keys, salts[0])
    drawn = np.zeros(len(keys))
    some = _may_be_drawn(uniform, copies, share)
    drawn[some] = binom.ppf(uniform[some], copies[some], share)
    return drawn


def _may_be_drawn(uniform: np.ndarray, most: np.ndarray, share: float) -> np.ndarray:
    """Tell which keys have a row that is drawn if there are at most so many rows of each; or may have, by rounding."""
    if share == 1:
        return most > 0
    return np.log(uniform) > (1 + ROUNDING) * np.log1p(-share) * most


def _sample(table: ShardedTable, codes: np.ndarray, counts: np.ndarray) -> CategoricalData:
    """Return rows as a table, those that occur, in lexicographic order."""
    if not counts.any():
        raise MemoryLimitError("a sample that fits into memory has no row; leave out columns, or allow more memory")
    codes, counts = codes[counts > 0], counts[counts > 0]
    order = np.lexsort(codes.T[::-1])
    # rows with larger sampling weights were drawn more often: what is left are counts
    kind: WeightKind | None = None if table.weight_kind is None else "frequency"
    return CategoricalData(
        table.columns,
        table.state_names,
        codes[order],
        counts[order],
        weight_kind=kind,
        row_count=int(counts.sum()),
        missing=table.missing,
    )


def _sums_by_key(keys: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys, place = np.unique(keys, return_inverse=True)
    return keys, np.bincount(place, weights, minlength=len(keys))


def _codes_by_key(each: Each, keys: np.ndarray) -> np.ndarray:
    """Return the rows with some keys, which are sorted and occur."""
    found, codes = (np.concatenate(parts) for parts in zip(*each(_rows_with_keys, keys), strict=True))
    _, first = np.unique(found, return_index=True)
    return codes[first]


# --- Functions of a shard --------------------------------------------------------------------------------


def _buckets(data: CategoricalData, n_buckets: int) -> np.ndarray:
    return (data.row_keys & np.uint64(n_buckets - 1)).astype(np.int64)


def _bucket_weights(data: CategoricalData, n_buckets: int) -> np.ndarray:
    return np.bincount(_buckets(data, n_buckets), data.weights, minlength=n_buckets)


def _candidates(
    data: CategoricalData, bucket_weights: np.ndarray, share: float, salts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return keys and weights of the rows that are drawn if all rows of their buckets are equal to them.

    Whether a row is among them depends on its key alone, so that all shards that hold it return it.
    """
    most = np.ceil((1 + ROUNDING) * bucket_weights[_buckets(data, len(bucket_weights))])
    some = _may_be_drawn(uniform_by_key(data.row_keys, salts[0]), most, share)
    return data.row_keys[some], data.weights[some]


def _rows_with_keys(data: CategoricalData, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows whose keys are among some, and these keys."""
    some = np.isin(data.row_keys, keys)
    return data.row_keys[some], data.codes[some]
