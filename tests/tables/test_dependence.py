"""Mutual information of columns, against its definition and against values that are known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from pgmpy_latent.exceptions import NoOverlapWarning, WeightError
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.tables import dependence as information
from pgmpy_latent.tables.dependence import (
    block_information,
    mutual_information,
    pairwise_information,
    warn_of_no_overlap,
)
from pgmpy_latent.tables.encode import CategoricalData, encode
from tests.support import reference


@st.composite
def tables(draw, max_rows=30, max_columns=6):
    """Codes with missing cells, numbers of states, and weights that may have fractions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = np.array(draw(st.lists(st.integers(1, 5), min_size=1, max_size=max_columns)))
    codes = rng.integers(0, cards, size=(draw(st.integers(1, max_rows)), len(cards)))
    gaps = rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.1, 0.6]))
    codes = np.where(gaps & (rng.random(len(cards)) < 0.7), -1, codes)
    whole = rng.integers(1, 6, size=len(codes)).astype(float)
    return codes, cards, draw(st.sampled_from([np.ones(len(codes)), whole, rng.gamma(1.0, 2.0, size=len(codes))]))


def as_data(codes, cards, weights):
    states = {column: list(range(card)) for column, card in enumerate(cards)}
    kind = None if weights is None else "frequency"
    return encode(np.where(codes < 0, np.nan, codes), sample_weight=weights, weight_kind=kind, state_names=states)


def overlapping(codes):
    """Return which pairs of columns are filled in the same row."""
    there = (codes >= 0).astype(int)
    return there.T @ there > 0


@given(tables())
def test_it_agrees_with_the_definition(table):
    codes, cards, weights = table
    found, apart = pairwise_information(as_data(codes, cards, weights))
    np.testing.assert_allclose(found, reference.mutual_information_by_definition(codes, weights), atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    assert (found >= 0).all()
    assert apart.tolist() == np.argwhere(np.triu(~overlapping(codes), 1)).tolist()


@given(tables(max_columns=8), st.sampled_from([1, 3]), st.sampled_from([1, 40]), st.sampled_from([1, 3, 256]))
def test_blocks_and_chunks_do_not_matter(table, size, numbers, dense):
    expected, apart = pairwise_information(as_data(*table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(information, "_BLOCK_INDICATORS", size)
        patch.setattr(information, "_CHUNK_NUMBERS", numbers)
        patch.setattr(information, "_DENSE_STATES", dense)
        found, again = pairwise_information(as_data(*table))
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_array_equal(found, found.T)
    assert (found >= 0).all()
    np.testing.assert_array_equal(again, apart)


def test_many_columns_in_several_blocks():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, rng.integers(1, 5, size=700), size=(90, 700))
    codes[rng.random(codes.shape) < 0.05] = -1
    codes[:, ::3] = np.abs(codes[:, ::3])  # these columns are complete
    data = as_data(codes, codes.max(axis=0) + 1, np.ones(90))
    found, apart = pairwise_information(data)
    assert len(apart) == 0
    for left in range(0, 700, 37):
        some = [left, 0, 350, 699]
        expected = reference.mutual_information_by_definition(codes[:, some], np.ones(90))
        np.testing.assert_allclose(found[np.ix_(some, some)], expected, atol=1e-12)


def test_a_column_with_a_state_for_every_row():
    rng = np.random.default_rng(0)
    names = rng.permutation(1000)
    others = rng.integers(0, 3, size=(1000, 2)).astype(float)
    others[:50, 1] = np.nan
    table = np.column_stack([names, others, names // 3])
    found = mutual_information(table).to_numpy()
    assert found[0, 0] == pytest.approx(np.log(1000))
    assert found[0, 1] == pytest.approx(found[1, 1])  # whoever knows the row knows its cells
    assert found[0, 2] == pytest.approx(found[2, 2])
    assert found[0, 3] == pytest.approx(found[3, 3])
    assert found[1, 2] == pytest.approx(mutual_information(table[:, [1, 2]]).loc[0, 1])
    np.testing.assert_array_equal(found, found.T)


# Known values ---------------------------------------------------------------------------------------


def test_equal_independent_and_constant_columns():
    table = pd.DataFrame({"x": list("aabb") * 3, "same": [1, 1, 2, 2] * 3, "other": list("efef") * 3, "only": "c"})
    found = mutual_information(table)
    assert found.loc["x", "same"] == pytest.approx(np.log(2))
    assert found.loc["x", "x"] == pytest.approx(np.log(2))
    assert found.loc["x", "other"] == pytest.approx(0, abs=1e-15)
    assert (found["only"] == 0).all()
    assert (found.loc["only"] == 0).all()


def test_a_value_by_hand():
    found = mutual_information(np.array([[0, 0], [0, 1], [1, 1]]), sample_weight=[2, 1, 1])
    by_hand = 0.5 * np.log(0.5 / (0.75 * 0.5)) + 0.25 * np.log(0.25 / (0.75 * 0.5)) + 0.25 * np.log(0.25 / 0.125)
    assert found.loc[0, 1] == pytest.approx(by_hand)
    assert found.loc[0, 0] == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))


def test_every_pair_uses_the_rows_that_have_both():
    table = pd.DataFrame({"x": [*"aabb", None, None], "y": list("ccddcd"), "z": [None, *"eefef"]})
    found = mutual_information(table)
    for left, right in [("x", "y"), ("x", "z"), ("y", "z")]:
        both = table[[left, right]].dropna()
        assert found.loc[left, right] == pytest.approx(mutual_information(both).loc[left, right])
    for name in table:
        assert found.loc[name, name] == pytest.approx(mutual_information(table[[name]].dropna()).loc[name, name])


# Tables and their columns ---------------------------------------------------------------------------


@given(tables(), st.randoms(use_true_random=False))
def test_order_and_repetition_of_rows_do_not_matter(table, random):
    codes, cards, _ = table
    times = np.array([random.randint(1, 4) for _ in codes])
    rows = np.repeat(np.arange(len(codes)), times)
    random.shuffle(rows)
    weighted, _ = pairwise_information(as_data(codes, cards, times))
    repeated, _ = pairwise_information(as_data(codes[rows], cards, None))
    np.testing.assert_array_equal(weighted, repeated)


@given(tables(), st.integers(0, 2**32 - 1))
def test_order_of_columns_and_scale_of_weights_do_not_matter(table, seed):
    codes, cards, weights = table
    order = np.random.default_rng(seed).permutation(len(cards))
    found, _ = pairwise_information(as_data(codes, cards, weights))
    permuted, _ = pairwise_information(as_data(codes[:, order], cards[order], weights * 1e-3))
    np.testing.assert_allclose(permuted, found[np.ix_(order, order)], atol=1e-12)


def test_whole_weights_beyond_single_precision_are_exact():
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    weights = np.array([2.0**24, 1, 2.0**24, 1])
    expected = reference.mutual_information_by_definition(codes, weights)
    np.testing.assert_allclose(pairwise_information(as_data(codes, [2, 2], weights))[0], expected, rtol=1e-12)


def test_any_table_and_any_names():
    frame = pd.DataFrame({("a", 1): list("xxyy"), "b": [0, 1, 1, 1], 3: [True, False, True, None]})
    frame.columns = pd.Index([("a", 1), "b", 3], tupleize_cols=False)
    found = mutual_information(frame)
    assert found.index.tolist() == found.columns.tolist() == [("a", 1), "b", 3]
    assert not isinstance(found.columns, pd.MultiIndex)
    pd.testing.assert_frame_equal(mutual_information(encode(frame)), found)
    array = mutual_information(frame.to_numpy(dtype=object))
    np.testing.assert_array_equal(array, found)
    assert array.index.tolist() == [0, 1, 2]
    with pytest.raises(WeightError, match="sample_weight has shape"):
        mutual_information(frame, sample_weight=[1.0])


def test_states_that_do_not_occur_change_nothing():
    table = pd.DataFrame({"x": list("aabb"), "y": list("cddd")})
    declared = table.apply(lambda column: pd.Categorical(column, categories=list("zabcd")))
    np.testing.assert_allclose(mutual_information(declared), mutual_information(table), atol=1e-15)


# Columns that never meet ----------------------------------------------------------------------------


def apart_table(n):
    """Columns of which only one is filled in each row."""
    cells = np.full((2 * n, n), np.nan)
    cells[np.arange(2 * n), np.arange(2 * n) // 2] = np.arange(2 * n) % 2
    return pd.DataFrame(cells, columns=[f"x{at}" for at in range(n)])


def test_columns_that_never_meet_are_named_once():
    with pytest.warns(NoOverlapWarning) as caught:
        found = mutual_information(apart_table(4))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    assert text.startswith("6 pairs of columns are never filled in the same row: 'x0' and 'x1', 'x0' and 'x2', ")
    assert "'x1' and 'x3', and 1 more. Nothing can be said about them" in text
    np.testing.assert_allclose(found, np.log(2) * np.eye(4))
    with pytest.warns(NoOverlapWarning, match="1 pair of columns is never filled .*: 'x0' and 'x1'. Nothing .* it"):
        mutual_information(apart_table(2))


def test_no_warning_without_a_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_no_overlap(["x", "y"], np.empty((0, 2), dtype=int))
        mutual_information(apart_table(2).fillna(0))


def test_rows_of_weight_zero_bring_nobody_together():
    data = CategoricalData(["x", "y"], [[0, 1], [0, 1]], [[0, -1], [-1, 1], [1, 1]], [1.0, 1.0, 0.0])
    found, apart = pairwise_information(data)
    assert apart.tolist() == [[0, 1]]
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_a_column_without_any_cell():
    data = encode(pd.DataFrame({"x": [0, 1], "y": [None, None]}), state_names={"y": ["a", "b"]})
    found, apart = pairwise_information(data)
    assert apart.tolist() == [[0, 1]]
    np.testing.assert_allclose(found, [[np.log(2), 0], [0, 0]])


# Blocks of counts -----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_blocks_of_counts_agree_with_the_definition(row_cards, column_cards, seed):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.5, 3.0, size=(sum(row_cards), sum(column_cards)))
    counts[rng.random(counts.shape) < 0.4] = 0
    row_starts, column_starts = (np.cumsum([0, *cards[:-1]]) for cards in (row_cards, column_cards))
    found = block_information(counts, row_starts, column_starts)
    assert found.shape == (len(row_cards), len(column_cards))
    assert (found >= 0).all()
    for i, (first, card) in enumerate(zip(row_starts, row_cards, strict=True)):
        for j, (start, width) in enumerate(zip(column_starts, column_cards, strict=True)):
            block = counts[first : first + card, start : start + width]
            assert found[i, j] == pytest.approx(reference.mutual_information_of_counts(block), abs=1e-12)


def test_a_block_without_counts_has_no_information():
    assert block_information(np.zeros((2, 3), dtype=int), [0], [0, 1]).tolist() == [[0.0, 0.0]]
    assert block_information(np.array([[1, 0, 0], [0, 1, 0]]), [0], [0, 2]) == pytest.approx(np.array([[np.log(2), 0]]))


def test_overlapping_contexts_limit_threads_until_the_last_has_ended():
    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == before
