"""Samples by row keys: every row has the same chance, and neither shards nor the order of rows matter."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pgmpy_latent import encode
from pgmpy_latent.exceptions import MemoryLimitError
from pgmpy_latent.tables import row_sample
from pgmpy_latent.tables.chunks import ShardedTable
from pgmpy_latent.tables.encode import uniform_by_key
from pgmpy_latent.tables.row_sample import two_samples
from tests.support import reference

STATES = {"x": ["a", "b", "c"], "y": ["no", "yes"], "z": [1, 2, 3, 4]}


def table_of(data, weight_kind=None):
    seen = (True,) * len(data.columns)
    n_rows = max(1, int(data.total_weight))
    return ShardedTable(
        data.columns, data.state_names, data.total_weight, (), None, None, False, seen, n_rows, weight_kind
    )


def each_of(shards):
    return lambda function, *args: (function(shard, *args) for shard in shards)


def read(frame, weights):
    return encode(frame, sample_weight=weights, state_names=STATES, weight_kind="frequency")


@st.composite
def frames(draw):
    """Tables with equal rows and missing cells, and whole weights."""
    n_rows = draw(st.integers(1, 60))
    columns = {name: st.sampled_from([*states, None]) for name, states in STATES.items()}
    cells = {name: draw(st.lists(cell, min_size=n_rows, max_size=n_rows)) for name, cell in columns.items()}
    weights = draw(st.lists(st.integers(1, 5), min_size=n_rows, max_size=n_rows))
    return pd.DataFrame(cells, dtype=object), np.array(weights, float)


def assert_same_sample(found, expected):
    assert found.state_names == expected.state_names
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.n_rows == expected.n_rows == found.weights.sum()


@settings(max_examples=150)
@given(frames(), st.integers(1, 40), st.integers(0, 2**64), st.data())
def test_samples_are_those_of_the_definition_whatever_the_shards(table, n_rows, seed, data):
    frame, weights = table
    whole = read(frame, weights)
    order = np.array(data.draw(st.permutations(range(len(frame)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(frame)), max_size=4)))
    parts = [rows for rows in np.split(order, cuts) if len(rows)]
    shards = [read(frame.iloc[rows], weights[rows]) for rows in parts]
    counts = np.array(reference.sampled_counts(whole.row_keys, whole.weights, n_rows, seed), float).T
    if not counts.any(axis=1).all():
        with pytest.raises(MemoryLimitError, match="a sample that fits into memory has no row; leave out columns"):
            two_samples(table_of(whole), each_of(shards), n_rows, seed)
        return
    drawn = two_samples(table_of(whole), each_of(shards), n_rows, seed)
    for found, expected in zip(drawn, two_samples(table_of(whole), each_of([whole]), n_rows, seed), strict=True):
        assert_same_sample(found, expected)
    for sample, own in zip(drawn, counts, strict=True):
        np.testing.assert_array_equal(sample.codes, whole.codes[own > 0])
        np.testing.assert_array_equal(sample.weights, own[own > 0])
    if 2 * n_rows >= weights.sum():  # each row is in one of them
        assert sum(sample.total_weight for sample in drawn) == weights.sum()


@pytest.mark.parametrize("buckets", [(1, 1), (10, 26)])
def test_copies_are_binomial(buckets, monkeypatch):
    """Also if the buckets, which are but a way to find the rows that are drawn, say next to nothing."""
    monkeypatch.setattr(row_sample, "FEWEST", buckets[0])
    monkeypatch.setattr(row_sample, "MOST", buckets[1])
    frame = pd.DataFrame({"x": list("aabbc"), "y": ["no", "yes"] * 2 + ["no"], "z": [1, 2, 3, 4, 1]})
    weights = np.array([1.0, 2.0, 7.0, 40.0, 50.0])
    whole = read(frame, weights)
    n_draws, n_rows = 1500, 10
    counts = np.zeros((2, n_draws, 5))
    for seed in range(n_draws):
        for at, sample in enumerate(two_samples(table_of(whole), each_of([whole]), n_rows, seed)):
            place = np.searchsorted(whole.row_keys[np.argsort(whole.row_keys)], sample.row_keys)
            counts[at, seed, np.argsort(whole.row_keys)[place]] = sample.weights
    assert (counts.sum(axis=0) <= whole.weights).all()
    share = n_rows / weights.sum()
    for own in counts:
        expected, variance = whole.weights * share, whole.weights * share * (1 - share)
        assert (np.abs(own.mean(axis=0) - expected) < 4.5 * np.sqrt(variance / n_draws)).all()
        np.testing.assert_allclose(own.var(axis=0), variance, rtol=0.2)
        for at, copies in enumerate(whole.weights):
            never = (own[:, at] == 0).mean()
            assert never == pytest.approx(binom.pmf(0, copies, share), abs=4.5 * np.sqrt(0.25 / n_draws))
        others = np.corrcoef(own.T)[np.triu_indices(5, 1)]
        assert np.abs(others).max() < 4.5 / np.sqrt(n_draws)  # rows are drawn independently of each other


def test_fractions_of_weights_count():
    whole = encode(pd.DataFrame({"x": [0, 1, 2]}), sample_weight=[0.25, 1.5, 98.25], weight_kind="frequency")
    totals = np.zeros(3)
    for seed in range(2000):
        for sample in two_samples(table_of(whole), each_of([whole]), 40, seed):
            totals[sample.codes[:, 0]] += sample.weights
    np.testing.assert_allclose(totals / 2000, 0.8 * whole.weights, atol=0.4, rtol=0.1)
    np.testing.assert_allclose(totals[:2] / 2000, 0.8 * whole.weights[:2], atol=0.08)


def test_samples_of_weighted_tables_have_counts():
    data = encode(pd.DataFrame({"x": [0, 1] * 50}))
    for kind, expected in ((None, None), ("frequency", "frequency"), ("sampling", "frequency")):
        first, _ = two_samples(table_of(data, kind), each_of([data]), 20, 0)
        assert first.weight_kind == expected
        assert first.design is None


def test_large_multiplicities():
    """A table of a billion rows, few of them distinct."""
    data = encode(pd.DataFrame({"x": [0, 1, 2]}), sample_weight=[1e9, 1e3, 1.0], weight_kind="frequency")
    first, second = two_samples(table_of(data), each_of([data]), 100_000, 3)
    for sample in (first, second):
        assert sample.total_weight == pytest.approx(100_000, abs=5 * np.sqrt(100_000))
        assert sample.weights[0] > 99_000
    assert first.weights[0] != second.weights[0]


def test_other_seeds_and_salts_give_other_numbers():
    keys = np.arange(10_000, dtype=np.uint64)
    numbers = np.stack([uniform_by_key(keys, np.uint64(salt)) for salt in (0, 1, 2**63)])
    assert ((numbers > 0) & (numbers < 1)).all()
    np.testing.assert_allclose(numbers.mean(axis=1), 0.5, atol=0.02)
    assert np.abs(np.corrcoef(numbers)[np.triu_indices(3, 1)]).max() < 0.05
    assert uniform_by_key(keys, np.uint64(1))[7] == reference.scrambled(7 ^ 1)
