"""Sparse tables of zeros and ones say the same as dense ones, and are never written out as a whole."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pgmpy_latent import encode, mutual_information
from pgmpy_latent.exceptions import DataError, WeightError
from pgmpy_latent.tables.neighbours import Nearest, nearest_columns
from pgmpy_latent.tables.sparse import SparseRows, is_sparse, read_sparse

seeds = st.integers(0, 2**32 - 1)


def zeros_and_ones(seed, n_rows=30, n_columns=7, density=0.3):
    rng = np.random.default_rng(seed)
    lead = rng.random((n_rows, 1)) < 0.5
    return (rng.random((n_rows, n_columns)) < np.where(lead, density, density / 4)).astype(np.int8)


@given(seed=seeds, k=st.integers(1, 8), weighted=st.booleans())
def test_nearest_columns_are_those_of_the_whole_matrix_sparse_or_dense(seed, k, weighted):
    table = zeros_and_ones(seed)
    weights = np.random.default_rng(seed).gamma(2.0, 1.0, len(table)) if weighted else None
    states = {at: [0, 1] for at in range(table.shape[1])}
    data = encode(table, sample_weight=weights, state_names=states)
    whole = mutual_information(data).to_numpy().copy()
    np.fill_diagonal(whole, -np.inf)
    expected = -np.sort(-whole, axis=1)[:, : min(k, table.shape[1] - 1)]
    for source in (data, read_sparse(sparse.csr_array(table), weights)):
        found = nearest_columns(source, k)
        np.testing.assert_allclose(found.information, expected, atol=1e-11)
        listed = np.take_along_axis(whole, found.which, axis=1)
        np.testing.assert_allclose(listed, expected, atol=1e-11)


@given(seed=seeds, n=st.integers(1, 9), k=st.integers(1, 9), step=st.integers(1, 4))
def test_the_parts_that_a_matrix_comes_in_do_not_matter(seed, n, k, step):
    values = np.random.default_rng(seed).random((n, n))
    values += values.T
    at_once, in_parts = Nearest(n, k), Nearest(n, k)
    at_once.offer(np.arange(n), np.arange(n), values)
    for first in range(0, n, step):
        columns = np.arange(first, min(first + step, n))
        in_parts.offer(np.arange(n), columns, values[:, columns])
    np.testing.assert_array_equal(at_once.found().which, in_parts.found().which)
    np.testing.assert_array_equal(at_once.found().information, in_parts.found().information)


def test_all_pairs_that_are_listed_come_strongest_first():
    nearest = Nearest(3, 2)
    nearest.offer(np.arange(3), np.arange(3), np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], float))
    pairs, values = nearest.found().pairs
    assert pairs.tolist() == [[0, 2], [0, 2], [1, 2], [1, 2], [0, 1], [0, 1]]
    assert values.tolist() == [3, 3, 2, 2, 1, 1]


@given(seed=seeds, size=st.integers(1, 40))
def test_blocks_and_columns_hold_the_table(seed, size):
    table = zeros_and_ones(seed)
    rows = read_sparse(sparse.csc_matrix(table))
    np.testing.assert_array_equal(np.concatenate([block.codes for block in rows.blocks(size)]), table)
    np.testing.assert_array_equal(np.stack([rows.column(at) for at in range(table.shape[1])], axis=1), table)
    assert sum(block.total_weight for block in rows.blocks(size)) == rows.total_weight == len(table)


def test_frames_of_sparse_columns_keep_their_names_and_booleans_their_states():
    table = zeros_and_ones(0, 5, 3)
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(table), columns=["b", "c", "a"])
    rows = read_sparse(frame)
    assert rows.columns == ("b", "c", "a")
    assert rows.states == (0, 1)
    ordered = rows.in_order_of_names()
    assert ordered.columns == ("a", "b", "c")
    np.testing.assert_array_equal(ordered.column(0), table[:, 2])
    assert read_sparse(sparse.csr_array(table.astype(bool))).states == (False, True)
    assert is_sparse(frame)
    assert not is_sparse(frame.sparse.to_dense())


def test_duplicates_and_explicit_zeros_are_understood():
    matrix = sparse.coo_array(([1, 0, 1], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    assert read_sparse(matrix).ones.nnz == 2
    twice = sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 1))
    with pytest.raises(DataError, match="column 0 of the sparse table holds 2"):
        read_sparse(twice)


def test_rows_of_weight_zero_count_as_absent():
    rows = read_sparse(sparse.csr_array(np.eye(3)), [1, 0, 2])
    assert rows.n_rows == 2
    assert rows.total_weight == 3
    with pytest.raises(WeightError):
        read_sparse(sparse.csr_array(np.eye(3)), [1, 2])


def test_weights_of_rows_that_were_read_already_multiply():
    rows = read_sparse(read_sparse(sparse.csr_array(np.eye(3)), [1, 2, 0]), [3, 1])
    assert rows.weights.tolist() == [3, 2]


def test_other_cells_are_refused_by_name():
    with pytest.raises(DataError, match=r"column 'y' of the sparse table holds 3, not only.*; say \(X > 0\)"):
        read_sparse(pd.DataFrame.sparse.from_spmatrix(sparse.csr_array([[0, 3]]), columns=["x", "y"]))
    with pytest.raises(DataError, match="column 0 of the sparse table holds nan"):
        read_sparse(sparse.csr_array([[np.nan, 1.0]]))
    filled = pd.DataFrame({"x": pd.arrays.SparseArray([1, 1, 0], fill_value=1)})
    with pytest.raises(DataError, match="column 'x' of the sparse frame is filled with 1"):
        read_sparse(filled)
    with pytest.raises(DataError, match="holds complex"):
        read_sparse(sparse.csr_array(np.array([[1j]])))
    mixed = pd.DataFrame({"x": pd.arrays.SparseArray([0, 1]), "y": pd.arrays.SparseArray([False, True])})
    with pytest.raises(DataError, match="some columns of the sparse frame are booleans"):
        read_sparse(mixed)
    same = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array([[0, 1]]), columns=["x", "x"])
    with pytest.raises(DataError, match="two columns are called 'x'"):
        read_sparse(same)


def test_sparse_rows_say_what_they_are():
    assert repr(SparseRows(("x",), sparse.csr_array([[True]]), np.ones(1))) == "SparseRows(1 rows, 1 columns, 1 ones)"
