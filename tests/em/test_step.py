"""The M-step against its definition, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.em.step import m_step
from pgmpy_latent.inference.layout import Layout

SHAPES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 12)), min_size=1, max_size=4)


def by_definition(counts, layout, prior, tables, free):
    new = tables.copy()
    for start in range(len(tables)):
        end = 0
        for length in layout.row_lengths:
            row = slice(end, end := end + length)
            total = (counts[start, row] + prior).sum()
            if total > 0:
                change = free[row]
                new[start, row][change] = (counts[start, row] + prior)[change] / total
    return new


@settings(deadline=None, max_examples=60)
@given(SHAPES, st.integers(1, 3), st.sampled_from([0.0, 0.5]), st.integers(0, 10_000), st.booleans())
def test_rows_are_divided_by_their_sums(shapes, n_starts, prior, seed, some_are_frozen):
    layout, rng = Layout(shapes), np.random.default_rng(seed)
    tables = rng.random((n_starts, layout.size))
    counts = rng.poisson(0.7, tables.shape) * rng.random(tables.shape)  # with rows of zeros
    free = rng.random(layout.size) < 0.7 if some_are_frozen else np.ones(layout.size, dtype=bool)
    before = tables.copy(), counts.copy()
    given_free = free if some_are_frozen else None
    expected = by_definition(counts, layout, prior, tables, free)
    new = m_step(counts, layout, prior, tables, given_free)
    np.testing.assert_allclose(new, expected, rtol=1e-14)
    assert (new[:, ~free] == tables[:, ~free]).all()
    np.testing.assert_array_equal(tables, before[0])
    np.testing.assert_array_equal(counts, before[1])
    of_entries = np.full(layout.size, prior)
    np.testing.assert_allclose(m_step(counts, layout, of_entries, tables, given_free), expected, rtol=1e-14)
    np.testing.assert_allclose(m_step(counts[0], layout, prior, tables[0], given_free), expected[0], rtol=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
def test_how_arrays_lie_in_memory_does_not_matter(order):
    layout = Layout([(2, 3)])
    counts = np.asarray(np.arange(12.0).reshape(2, 6), order=order)
    tables = np.broadcast_to(np.full(6, 1 / 3), (2, 6))
    expected = by_definition(counts, layout, 0.0, np.array(tables), np.ones(6, dtype=bool))
    np.testing.assert_allclose(m_step(counts, layout, 0.0, tables, None), expected, rtol=1e-14)
