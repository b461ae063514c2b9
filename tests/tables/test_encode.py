"""The reading of tables: every kind of column, every mistake, and what must hold for any table."""

import copy
import datetime
import decimal
import enum
import hashlib
import itertools
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.exceptions import (
    DataError,
    InvalidTreeError,
    StateNameError,
    UnseenCategoryError,
    UnseenCategoryWarning,
    WeightError,
)
from pgmpy_latent.tables.encode import CategoricalData, decode, encode

NA = float("nan")


def one(values, dtype=None, **options):
    """Encode a table of one column called x."""
    return encode(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}), **options)


def cells(data):
    """Every input row as a tuple of state names, None where missing; rows left out are None."""
    looked_up = [
        tuple(None if code < 0 else states[code] for code, states in zip(row, data.state_names, strict=True))
        for row in data.codes.tolist()
    ]
    return [None if i < 0 else looked_up[i] for i in data.row_index]


def assert_same(left, right):
    """Assert that two encodings agree in everything but the rows of the table."""
    assert left.columns == right.columns
    assert left.state_names == right.state_names
    assert left.codes.dtype == right.codes.dtype
    np.testing.assert_array_equal(left.codes, right.codes)
    np.testing.assert_array_equal(left.weights, right.weights)


def column_states(data):
    return [(type(state), state) for state in data.state_names[0]]


def typed(*states):
    return [(type(state), state) for state in states]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("values", "dtype", "states"),
    [
        (["b", None, "a"], object, ["a", "b"]),
        (["b", None, "a"], "str", ["a", "b"]),
        (["b", pd.NA, "a"], "string", ["a", "b"]),
        (["b", None, "a"], pd.ArrowDtype(pa.string()), ["a", "b"]),
        ([10, 9, -3], "int64", [-3, 9, 10]),
        ([100, -128, 127], "int8", [-128, 100, 127]),
        ([2**64 - 1, 0, 5], "uint64", [0, 5, 2**64 - 1]),
        ([2**63, -5, None], object, [-5, 2**63]),
        ([10**15, -(10**15), 0], "int64", [-(10**15), 0, 10**15]),
        ([2, None, 1], "Int64", [1, 2]),
        ([2**60 + 1, None, 2**60], pd.ArrowDtype(pa.int64()), [2**60, 2**60 + 1]),
        ([True, False, True], "bool", [False, True]),
        ([True, True], "bool", [True]),
        ([True, None, False], "boolean", [False, True]),
        ([True, None, False], object, [False, True]),
        ([True, None, False], pd.ArrowDtype(pa.bool_()), [False, True]),
        ([2.0, NA, 1.0], "float64", [1, 2]),
        ([2.0, NA, -0.0], "float64", [0, 2]),
        ([2.5, NA, 1.0], "float64", [1.0, 2.5]),
        ([1e300, 0.5], "float64", [0.5, 1e300]),
        ([0.5, 2**1100], object, [0.5, 2**1100]),
        ([3, 7, 3], "uint64", [3, 7]),
        ([255, 0], "uint8", [0, 255]),
        ([2.0, None, 1.0], "Float64", [1, 2]),
        ([0.5, 2.0, -0.0], "float32", [0.0, 0.5, 2.0]),
        ([1, 2.5, None], object, [1.0, 2.5]),
        ([1, 1.0, np.int64(1), 2], object, [1, 2]),
        (["b", 3, None], object, [3, "b"]),
        ([True, "b", 3.0], object, [True, 3, "b"]),
        ([np.str_("a"), "a"], object, ["a"]),
        ([decimal.Decimal("1.50"), decimal.Decimal(2), decimal.Decimal("NaN")], object, [1.5, 2.0]),
        ([Color.RED, Color.BLUE], object, ["blue", "red"]),
        ([(1, "a"), (0, "b")], object, [(0, "b"), (1, "a")]),
        ([b"b", b"a"], object, [b"a", b"b"]),
        (["b", None], pd.CategoricalDtype(["c", "b", "a"]), ["c", "b", "a"]),
        ([2.0, None], pd.CategoricalDtype([3.0, 2.0]), [3, 2]),
        (["b", None], pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())), ["b"]),
        ([0, 1, 1], pd.SparseDtype("int64"), [0, 1]),
        (["", " "], "str", ["", " "]),
        ([7, 7], "int64", [7]),
    ],
)
def test_pandas_columns_give_plain_sorted_states(values, dtype, states):
    data = one(values, dtype)
    assert column_states(data) == typed(*states)
    expected = [None if pd.isna(v) is True else v.value if isinstance(v, Color) else v for v in values]
    assert [cell for (cell,) in cells(data)] == expected


def test_intervals_become_their_text_and_keep_their_order():
    data = encode(pd.DataFrame({"x": pd.cut([1, 9, 20], [0, 2, 10, 15, 30])}))
    assert data.state_names == (("(0, 2]", "(2, 10]", "(10, 15]", "(15, 30]"),)
    assert data.codes.ravel().tolist() == [0, 1, 3]


@pytest.mark.parametrize("missing", [None, NA, pd.NA, pd.NaT, np.float64("nan")])
def test_every_kind_of_missing_cell(missing):
    assert one(["a", missing, 1], object).codes.ravel().tolist() == [-1, 0, 1]
    assert one(["a", missing], object).has_missing.tolist() == [True]


@pytest.mark.parametrize(
    ("array", "states"),
    [
        (np.array([[1, 0], [0, 0]]), ((0, 1), (0,))),
        (np.array([[True, False]]), ((True,), (False,))),
        (np.array([["b", "a"], ["a", "a"]]), (("a", "b"), ("a",))),
        (np.array([["b", "a"]], dtype=np.dtypes.StringDType()), (("b",), ("a",))),
        (np.array([["a", 1], [None, 2]], dtype=object), (("a",), (1, 2))),
        (np.array([[1, 0.5]], dtype=np.float16), ((1,), (0.5,))),
        (np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[0, 0], [1, 0]]), ((1,), (2, 4))),
        ([["a", 1], ["b", 2]], (("a", "b"), (1, 2))),
        ([("a", 1), ("b", 1)], (("a", "b"), (1,))),
    ],
)
def test_arrays_and_lists_have_numbered_columns(array, states):
    data = encode(array)
    assert data.columns == (0, 1)
    assert data.state_names == states


def test_anything_that_turns_into_an_array():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2]])

    assert encode(Wrapped()).state_names == ((1,), (2,))


@pytest.fixture
def polars_frame():
    return pl.DataFrame(
        {
            "enum": pl.Series(["lo", None], dtype=pl.Enum(["lo", "mid", "hi"])),
            "cat": pl.Series(["z", "a"], dtype=pl.Categorical),
            "int": [2**60 + 1, None],
            "bool": [True, None],
            "str": ["b", None],
            "float": [1.0, None],
        }
    )


@pytest.mark.parametrize("convert", [lambda frame: frame, lambda frame: frame.lazy()])
def test_polars(polars_frame, convert):
    data = encode(convert(polars_frame))
    assert data.columns == ("enum", "cat", "int", "bool", "str", "float")
    assert data.state_names == (("lo", "mid", "hi"), ("a", "z"), (2**60 + 1,), (True,), ("b",), (1,))
    assert cells(data) == [("lo", "z", 2**60 + 1, True, "b", 1), (None, "a", None, None, None, None)]


def test_arrow_table():
    chunks = [pa.array(["y", "x"]).dictionary_encode(), pa.array([None, "z"]).dictionary_encode()]
    table = pa.table({"d": pa.chunked_array(chunks), "i": [2**60 + 1, None, 2, 2], "s": ["a", "b", None, "a"]})
    data = encode(table)
    assert data.state_names == (("y", "x", "z"), (2, 2**60 + 1), ("a", "b"))
    assert cells(data) == [("y", 2**60 + 1, "a"), ("x", None, "b"), (None, 2, None), ("z", 2, "a")]


def test_arrow_dictionary_column_in_pandas_keeps_unused_levels():
    levels = pa.DictionaryArray.from_arrays(pa.array([1, None], pa.int8()), ["c", "b", "a"])
    series = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([levels])))
    assert encode(series.to_frame("x")).state_names == (("c", "b", "a"),)


def test_a_narwhals_frame_around_pandas():
    import narwhals as nw

    frame = nw.from_native(pd.DataFrame({"x": pd.Categorical(["b"], categories=["b", "a"])}))
    assert encode(frame).state_names == (("b", "a"),)


def test_codes_are_as_small_as_they_can_be():
    for n_states, dtype in [(1, np.int8), (128, np.int8), (129, np.int16), (2**15 + 1, np.int32)]:
        data = one(range(n_states))
        assert data.codes.dtype == dtype
        assert data.codes.ravel().tolist() == list(range(n_states))
    wide = encode(pd.DataFrame({"a": [0, 1] * 100, "b": range(200)}))
    assert wide.codes.dtype == np.int16
    assert wide.select(["a"]).codes.dtype == np.int8


# --- What is wrong with a table ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "1"], r"column 'x' holds both (1 and '1'|'1' and 1); convert the column to one type"),
        ([1.0, "1"], "column 'x' holds both"),
        ([1.0, "1.0"], "column 'x' holds both"),
        ([2.5, "2.5", 1], "column 'x' holds both"),
        ([True, 1], "column 'x' holds both True and 1"),
        ([0, "a", np.False_], "column 'x' holds both"),
        ([True, "True"], "column 'x' holds both"),
        ([1.0, float("inf")], r"column 'x' holds infinity \(inf\)"),
        ([1.5, -float("inf")], "column 'x' holds infinity"),
        (["a", float("inf")], "column 'x' holds infinity"),
        ([decimal.Decimal("inf")], "column 'x' holds infinity"),
        ([None, NA], "column 'x' is all missing; drop it, declare it hidden or give its state_names"),
        ([NA, NA], "column 'x' is all missing"),
        (pd.Categorical([None], categories=["a"]), "column 'x' is all missing"),
        ([1j, 2], "Complex data not supported: column 'x'"),
        (["a", 2j], "Complex data not supported: column 'x'"),
        (pd.to_datetime(["2020-01-01"]), "column 'x' holds dates or times.*drop it, or make a few categories"),
        (pd.to_datetime(["2020-01-01"], utc=True), "column 'x' holds dates or times"),
        (pd.to_timedelta([1], unit="s"), "column 'x' holds dates or times"),
        (pd.period_range("2020", periods=1, freq="D"), "column 'x' holds dates or times"),
        ([datetime.date(2020, 1, 1), "a"], r"column 'x' holds dates or times \(date\)"),
        (pd.Categorical(pd.to_datetime(["2020-01-01"])), "column 'x' holds dates or times"),
        (pd.array([1], dtype=pd.ArrowDtype(pa.timestamp("s"))), "column 'x' holds dates or times"),
    ],
)
def test_columns_that_are_refused(values, message):
    with pytest.raises(DataError, match=message):
        one(values)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"x": [[1], [2]]}),
        pd.DataFrame({"x": [{"a": 1}, "b"]}),
        pd.DataFrame({"x": pd.array([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}),
        pl.DataFrame({"x": [[1], [2]]}),
        pa.table({"x": [[1], [2]]}),
    ],
)
def test_cells_that_cannot_be_hashed(table):
    with pytest.raises(TypeError, match=r"column 'x'.*argument must be a string, number"):
        encode(table)


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_dates_are_refused_in_any_frame(frame):
    with pytest.raises(DataError, match="column 'x' holds dates or times"):
        encode(frame({"x": [datetime.datetime(2020, 1, 1), None]}))
    with pytest.raises(DataError, match="column 'x' holds dates or times"):
        encode(frame({"x": [datetime.datetime(2020, 1, 1)]}))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([1, 2]), "Expected 2D array, got 1D array instead"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D"),
        (["a", "b"], "Expected 2D array, got 1D"),
        ([[1, 2], [3]], "Expected 2D array, got 1D.*all of one length"),
        (np.zeros((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\).*no rows"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required.*no columns"),
        (pd.DataFrame({"x": []}), "no rows"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
            "X: two columns are called 'a'; give every column a name of",
        ),
    ],
)
def test_tables_that_are_refused(table, message):
    with pytest.raises(DataError, match=message):
        encode(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (scipy.sparse.csr_matrix([[1]]), r"X is a sparse matrix; .*X.toarray\(\)"),
        (scipy.sparse.coo_array([[1]]), "sparse"),
        (pd.Series([1]), "X is a Series; pass a DataFrame"),
        ({"a": [1]}, "X is a dict"),
        (None, "X is None"),
    ],
)
def test_what_is_no_table(table, message):
    with pytest.raises(TypeError, match=message):
        encode(table)


def test_columns_are_picked_in_the_order_asked():
    table = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "b", "c", "c"])
    data = encode(table, columns=(name for name in ["b", "a"]))
    assert data.columns == ("b", "a")
    assert data.state_names == ((2,), (1,))
    with pytest.raises(DataError, match="X lacks the columns 'd', 'e'; it has 'a', 'b'"):
        encode(table, columns=["a", "d", "e"])
    with pytest.raises(DataError, match="columns names 'a' twice; name each once"):
        encode(table, columns=["a", "a"])
    with pytest.raises(DataError, match="X: two columns are called 'c'; give every column a name of its own"):
        encode(table, columns=["c"])
    with pytest.raises(DataError, match="columns is empty"):
        encode(table, columns=[])


def test_column_names_may_be_tuples_and_are_plain():
    table = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert encode(table).columns == (("a", 1), ("a", 2))
    names = encode(pd.DataFrame([[1, 2]], columns=pd.Index([np.int64(3), "a"], dtype=object))).columns
    assert [(type(name), name) for name in names] == typed(3, "a")


def test_a_hidden_variable_may_not_be_a_column():
    table = pd.DataFrame({"H": [1], "x": [1]})
    for X in (table, encode(table)):
        with pytest.raises(DataError, match="hidden variable 'H' is named like a column; rename one"):
            encode(X, hidden=["H"], columns=["x"])
    assert encode(table, hidden=["G"]).columns == ("H", "x")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, -2], "sample_weight holds -1.0 in row 1, -2.0 in row 2; weights must be finite"),
        ([1, NA, 1], "sample_weight holds nan in row 1"),
        ([1, 1, np.inf], "sample_weight holds inf in row 2"),
        ([1, None, 1], "sample_weight holds nan in row 1"),
        (pd.array([1, pd.NA, 1]), "sample_weight holds nan in row 1"),
        ([0, 0, 0], "sample_weight is zero in every row"),
        ([1, 1], r"sample_weight has shape \(2,\); X has 3 rows"),
        ([[1], [1], [1]], r"sample_weight has shape \(3, 1\)"),
        (1.0, r"sample_weight has shape \(\)"),
        (["1", "1", "1"], "sample_weight is not numeric"),
        ([1, "1", 1.0], "sample_weight is not numeric"),
        (np.array([1, "1", 1.0], dtype=object), "sample_weight is not numeric"),
        (np.array([1, [], 1.0], dtype=object), "sample_weight is not numeric"),
        ([1j, 1, 1], "sample_weight is not numeric"),
    ],
)
def test_weights_that_are_refused(weights, message):
    table = pd.DataFrame({"x": ["a", "b", "b"]})
    for X in (table, encode(table)):
        with pytest.raises(WeightError, match=message):
            encode(X, sample_weight=weights)


def test_weights_of_a_series_are_taken_by_position():
    data = one(["a", "b"], sample_weight=pd.Series([1, 2.5], index=[7, 3]), weight_kind="frequency")
    assert data.weights.tolist() == [1, 2.5]
    assert data.total_weight == 3.5
    assert one(["a", "b"], sample_weight=pd.array([1, 2])).weights.tolist() == [1, 2]


def test_rows_of_weight_zero_leave_before_states_are_listed():
    data = one(["a", "b", "c"], sample_weight=[1, 0, 2])
    assert data.state_names == (("a", "c"),)
    assert data.row_index.tolist() == [0, -1, 1]
    assert data.n_rows == 3
    levels = one(pd.Categorical(["a", "b", "c"]), sample_weight=[1, 0, 2])
    assert levels.state_names == (("a", "b", "c"),)
    assert one([1.0, np.inf], sample_weight=[1, 0]).state_names == ((1,),)
    with pytest.raises(DataError, match="all missing"):
        one(["a", None], sample_weight=[0, 1])


# --- TrainingRows states -----------------------------------------------------------------------------------------


def test_given_states_fix_the_order_and_may_not_occur():
    data = one(["a", None, "b"], state_names={"x": ["c", "b", "a"], "elsewhere": []})
    assert data.state_names == (("c", "b", "a"),)
    assert data.codes.ravel().tolist() == [-1, 1, 2]
    assert one([None], object, state_names={"x": ["a"]}).codes.tolist() == [[-1]]
    assert one([NA], state_names={"x": [1, 2]}).cards.tolist() == [2]


@pytest.mark.parametrize(
    ("values", "dtype", "states"),
    [
        ([1, 2], "int64", [2.0, 1.0]),
        ([1.0, NA], "float64", np.array([1, 2])),
        ([1, 2], "Int8", (1, 2)),
        ([True, False], "bool", np.array([True, False])),
        (["1"], "str", ["1", 1]),
        ([Color.RED], object, list(Color)),
    ],
)
def test_given_states_match_by_value(values, dtype, states):
    data = one(values, dtype, state_names={"x": states})
    assert not any(isinstance(state, np.generic) for state in data.state_names[0])
    expected = [None if pd.isna(v) is True else v.value if isinstance(v, Color) else v for v in values]
    assert [cell for (cell,) in cells(data)] == expected


@pytest.mark.parametrize(
    ("values", "states", "message"),
    [
        (["a", "c", "c"], ["a"], r"column 'x' holds 'c' \(2 rows\), not among its states 'a'. Map them"),
        ([True], [0, 1], r"holds True \(1 row\).*mind the types: bool in the data, int among the states"),
        ([1], ["0", "1"], "mind the types: int in the data, str among the states"),
        (["1"], [0, 1], "mind the types: str in the data, int among the states"),
        ([1], [False, True], "mind the types: int in the data, bool among the states"),
        (list(range(9)), [0], r"1 \(1 row\), 2 .*, 3 .*, 4 .*, 5 \(1 row\), 3 more"),
    ],
)
def test_values_that_are_not_among_the_states(values, states, message):
    with pytest.raises(UnseenCategoryError, match=message):
        one(values, state_names={"x": states})
    with pytest.raises(UnseenCategoryError, match=message):
        encode(one(values), state_names={"x": states})


def test_unseen_values_become_missing_with_one_warning():
    table = pd.DataFrame({"x": ["a", "c", "c"], "y": [1, 2, 1], "z": [0, 0, 0]})
    known = {"x": ["a"], "y": [1], "z": [0]}
    for X in (table, encode(table)):
        with pytest.warns(UnseenCategoryWarning) as caught:
            data = encode(X, state_names=known, unseen="missing")
        assert len(caught) == 1
        text = str(caught[0].message)
        assert "column 'x' holds 'c' (2 rows)" in text
        assert "column 'y' holds 2 (1 row)" in text
        assert "'z'" not in text
        assert caught[0].filename == __file__
        assert cells(data) == [("a", 1, 0), (None, None, 0), (None, 1, 0)]


def test_many_columns_of_unseen_values_are_summed_up():
    with pytest.raises(UnseenCategoryError, match="and 2 more columns"):
        encode(np.ones((1, 7)), state_names={i: [0] for i in range(7)})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64", "float32", "Int64", "object", "category"])
def test_unseen_values_are_counted_in_every_dtype(dtype):
    with pytest.raises(UnseenCategoryError, match=r"holds 7 \(2 rows\)"):
        one([7, 3, 7], dtype, state_names={"x": [3]})
    with pytest.raises(UnseenCategoryError, match=r"holds True \(2 rows\)"):
        one([True, False, True], state_names={"x": [False]})


def test_unused_levels_and_absent_rows_are_not_unseen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one(pd.Categorical(["a"], categories=["a", "b"]), state_names={"x": ["a"]})
        one(["a", "b"], state_names={"x": ["a"]}, sample_weight=[1, 0])


def test_unseen_is_checked():
    with pytest.raises(ValueError, match="unseen='drop' is not known; use 'error' or 'missing'"):
        one(["a"], unseen="drop")


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([], "state_names of column 'x' is empty"),
        (["a", "b", "a"], "state_names of column 'x' names 'a' twice"),
        ([1, 1.0], "twice"),
        ([True, 1], "twice"),
        (["a", None], "has a missing value"),
        ([1.0, NA], "has a missing value"),
        ("ab", "give a list of states"),
        (3, "give a list of states"),
        ([["a"]], "must hold strings, numbers or booleans"),
    ],
)
def test_given_states_that_are_refused(states, message):
    with pytest.raises(StateNameError, match=message):
        one(["a"], state_names={"x": states})


def test_given_states_are_a_dict():
    with pytest.raises(StateNameError, match="must be a dict"):
        one(["a"], state_names=["a"])


# --- The result -------------------------------------------------------------------------------------------


@pytest.fixture
def data():
    return encode(
        pd.DataFrame({"a": ["x", "y", "x", None], "b": [1, 2, 1, 2]}),
        sample_weight=[1, 2, 0.5, 0],
        weight_kind="frequency",
    )


def test_the_parts_of_the_result(data):
    assert (data.n_rows, data.n_distinct, data.total_weight) == (4, 2, 3.5)
    assert data.cards.dtype == np.int64
    assert data.cards.tolist() == [2, 2]
    assert data.has_missing.tolist() == [False, False]
    assert data.row_index.tolist() == [0, 1, 0, -1]
    assert data.codes.flags.c_contiguous
    assert repr(data) == "CategoricalData(4 rows, 2 distinct, 2 columns, frequency weights, total weight 3.5)"


@pytest.mark.parametrize("duplicate", [lambda x: x, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_arrays_are_read_only_even_in_copies(data, duplicate):
    again = duplicate(data)
    assert_same(data, again)
    for array in (
        again.codes,
        again.weights,
        again.row_index,
        again.cards,
        again.has_missing,
        again.row_keys,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        again.codes = None


def test_a_given_array_is_copied_and_cannot_change_the_data():
    codes = np.array([[0], [1]])
    data = CategoricalData(["x"], [["a", "b"]], codes, [1, 1])
    codes[0] = 1
    assert data.codes.tolist() == [[0], [1]]
    assert (data.row_index, data.n_rows) == (None, 2)
    assert data.select(["x"]).row_index.tolist() == [0, 1]


@pytest.mark.parametrize("parts", [(["x"], [], [[0]], [1]), (["x"], [["a"]], [[0, 0]], [1])])
def test_parts_that_do_not_belong_together(parts):
    with pytest.raises(DataError, match="let encode"):
        CategoricalData(*parts)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 0], "weights is zero in every row; give at least one row a positive weight"),
        ([1, -1], "weights holds -1.0 in row 1; weights must be finite and not negative"),
        ([NA, 1], "weights holds nan in row 0"),
    ],
)
def test_weights_that_are_refused_beside_codes(weights, message):
    with pytest.raises(WeightError, match=message):
        CategoricalData(["x"], [["a", "b"]], [[0], [1]], weights)


def test_encoded_data_is_returned_as_it_is(data):
    assert encode(data) is data


def test_encoded_data_takes_new_weights_and_keeps_its_states(data):
    again = encode(data, sample_weight=[1, 0, 3, 0])
    assert again.state_names == data.state_names
    assert (again.codes.tolist(), again.weights.tolist()) == ([[0, 0]], [4])
    assert again.row_index.tolist() == [0, -1, 0, -1]
    with pytest.raises(WeightError, match="positive in row 3, which was left out with weight zero"):
        encode(data, sample_weight=[1, 1, 1, 1])


def test_encoded_data_can_be_recoded(data):
    again = encode(data, state_names={"a": ["z", "y", "x"]}, columns=["b", "a"])
    assert again.columns == ("b", "a")
    assert cells(again) == [(1, "x"), (2, "y"), (1, "x"), None]


def test_select_names_the_column_it_lacks(data):
    with pytest.raises(DataError, match="X lacks the column 'c'"):
        data.select(["c"])


def test_select_keeps_given_states_as_they_are():
    data = encode(np.array([[1, 0]]), state_names={0: [2.0, 1.0]})
    assert column_states(data.select([0])) == typed(2.0, 1.0)


def test_row_keys_know_names_only():
    keys = one([1, 2]).row_keys
    assert keys.dtype == np.uint64
    assert one([2.0, 7.5, 1.0]).row_keys[[0, 1]].tolist() == keys.tolist()
    assert one(["1", "2"]).row_keys.tolist() != keys.tolist()
    assert one([True]).row_keys[0] != keys[0]
    padded = encode(pd.DataFrame({"y": [None, None, "a"], "x": [1, 2, 2]}))
    assert padded.row_keys[padded.row_index[:2]].tolist() == keys.tolist()
    assert encode(np.array([[None, 1], [0, 1]], dtype=object)).select([0]).row_keys[0] == 0


def test_row_keys_never_change():  # seeds depend on them: results must repeat from release to release
    digest = hashlib.blake2b(b"[('str', 'x'), ('str', 'a')]", digest_size=8).digest()
    assert one(["a"]).row_keys.tolist() == [int.from_bytes(digest, "little")] == [7968219823958558022]


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_, np.float32, object])
def test_the_layout_of_an_array_does_not_matter(dtype):
    """Rows and columns beyond one block, columns in any order, every stride."""
    array = np.random.default_rng(0).integers(0, 2, (10_000, 21)).astype(dtype)
    wanted = [20, 3, *range(5, 18), 4]
    expected = encode(pd.DataFrame({i: array[:, i].copy() for i in range(21)}), columns=wanted)
    padded = np.zeros((20_000, 42), dtype)
    padded[::2, ::2] = array
    for layout in (array, np.asfortranarray(array), padded[::2, ::2], array[::-1].copy()[::-1]):
        data = encode(layout, columns=wanted)
        assert_same(data, expected)
        np.testing.assert_array_equal(data.row_index, expected.row_index)


def test_codes_of_rows_too_long_for_one_key_are_in_order():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (40, 150)).astype(float)
    table[:, 1:100] = 0.0  # nothing is decided within the first keys
    table[:, 100:][rng.random((40, 50)) < 0.1] = np.nan
    data = encode(np.vstack([table, table[::3]]))
    rows = data.codes.tolist()
    assert rows == sorted(rows)
    assert len(set(map(tuple, rows))) == len(rows) == 40
    assert data.weights.tolist() == np.bincount(data.row_index).tolist()


@pytest.mark.parametrize(
    ("codes", "states", "dtype", "values"),
    [
        ([1, 0], [3, 4], "int64", [4, 3]),
        ([1, -1], [3, 4], "Int64", [4, pd.NA]),
        ([0, 1], [False, True], "bool", [False, True]),
        ([0, -1], [False, True], "boolean", [False, pd.NA]),
        ([0, -1], [0.5, 1.0], "float64", [0.5, NA]),
        ([0, -1], ["a", "b"], pd.Series(["a"]).dtype, ["a", NA]),
        ([0, 1], [1, "b"], "object", [1, "b"]),
        ([0, 0], [2**70], "object", [2**70, 2**70]),
    ],
)
def test_decode(codes, states, dtype, values):
    pd.testing.assert_series_equal(decode(codes, states), pd.Series(values, dtype=dtype))


def test_decode_into_a_given_dtype():
    kind = pd.CategoricalDtype(["b", "a"])
    pd.testing.assert_series_equal(decode([0, -1], ["b", "a"], dtype=kind), pd.Series(["b", None], dtype=kind))


# --- Any table --------------------------------------------------------------------------------------------

KINDS = [
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(max_size=2),
    st.floats(allow_nan=False, allow_infinity=False),
]


@st.composite
def tables(draw, max_rows=12, max_columns=4):
    """Draw a table whose columns are of one kind each, with a value in the first row and missing cells."""
    n_rows, n_columns = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    frame = {}
    for j in range(n_columns):
        pool = draw(st.lists(draw(st.sampled_from(KINDS)), min_size=1, max_size=3))
        rest = draw(st.lists(st.sampled_from([*pool, None]), min_size=n_rows - 1, max_size=n_rows - 1))
        frame[f"c{j}"] = pd.Series([pool[0], *rest], dtype=object)
    table = pd.DataFrame(frame)
    return table.infer_objects() if draw(st.booleans()) else table


@st.composite
def weighted_tables(draw):
    table = draw(tables())
    weights = draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    return table, np.array([1, *weights[1:]])


def python_rows(table):
    """The rows of a table as tuples, None where missing."""
    return [
        tuple(None if v is None or v is pd.NaT or v is pd.NA or v != v else v for v in row)
        for row in table.itertuples(index=False, name=None)
    ]


@settings(deadline=None)
@given(weighted_tables())
def test_distinct_rows_and_weights_equal_a_dict_of_tuples(drawn):
    table, weights = drawn
    expected = {}
    for row, weight in zip(python_rows(table), weights, strict=True):
        if weight:
            expected[row] = expected.get(row, 0) + weight
    data = encode(table, sample_weight=weights)
    rows = cells(data)
    assert rows == [r if w else None for r, w in zip(python_rows(table), weights, strict=True)]
    found = {rows[i]: data.weights[g] for i, g in enumerate(data.row_index) if g >= 0}
    assert found == expected
    assert len(expected) == data.n_distinct
    for j, states in enumerate(data.state_names):
        assert list(states) == sorted({row[j] for row in expected} - {None})


@settings(deadline=None)
@given(tables())
def test_rows_are_in_lexicographic_order_with_missing_first(table):
    rows = encode(table).codes.tolist()
    assert all(before < after for before, after in itertools.pairwise(rows))


@settings(deadline=None)
@given(weighted_tables(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(drawn, random):
    table, weights = drawn
    order = list(range(len(table)))
    random.shuffle(order)
    data = encode(table, sample_weight=weights)
    shuffled = encode(table.iloc[order], sample_weight=weights[order])
    assert_same(data, shuffled)
    np.testing.assert_array_equal(data.row_index[order], shuffled.row_index)


@settings(deadline=None)
@given(weighted_tables())
def test_a_weight_is_a_repeated_row_and_weight_zero_an_absent_one(drawn):
    table, weights = drawn
    repeated = table.iloc[np.repeat(np.arange(len(table)), weights)]
    assert_same(encode(table, sample_weight=weights), encode(repeated))


@settings(deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_column_order_changes_only_the_order(table, random):
    names = list(table.columns)
    random.shuffle(names)
    data, permuted = encode(table), encode(table[names])
    assert dict(zip(data.columns, data.state_names, strict=True)) == dict(
        zip(permuted.columns, permuted.state_names, strict=True)
    )
    assert sorted(data.row_keys.tolist()) == sorted(permuted.row_keys.tolist())
    np.testing.assert_array_equal(data.row_keys[data.row_index], permuted.row_keys[permuted.row_index])
    assert_same(encode(data, columns=names), permuted)


@settings(deadline=None)
@given(tables(), st.data())
def test_select_equals_encoding_the_columns(table, choice):
    names = choice.draw(st.lists(st.sampled_from(list(table.columns)), min_size=1, unique=True))
    selected, direct = encode(table).select(names), encode(table[names])
    assert_same(selected, direct)
    np.testing.assert_array_equal(selected.row_index, direct.row_index)


@settings(deadline=None)
@given(tables())
def test_decoding_and_encoding_gives_the_same_again(table):
    data = encode(table)
    rows = data.codes[data.row_index]
    decoded = pd.DataFrame({name: decode(rows[:, j], data.state_names[j]) for j, name in enumerate(data.columns)})
    assert python_rows(decoded) == python_rows(table)
    assert_same(encode(decoded), data)


@settings(deadline=None)
@given(weighted_tables())
def test_new_weights_equal_encoding_with_them(drawn):
    table, weights = drawn
    data = encode(table)
    states = dict(zip(data.columns, data.state_names, strict=True))
    assert_same(encode(data, sample_weight=weights), encode(table, sample_weight=weights, state_names=states))


@settings(deadline=None)
@given(tables())
def test_polars_and_arrow_read_like_pandas(table):
    columns = {name: table[name].tolist() for name in table.columns}
    columns = {name: [None if v != v else v for v in values] for name, values in columns.items()}
    expected = encode(table)
    assert_same(encode(pl.DataFrame(columns, strict=False)), expected)
    assert_same(encode(pa.table(columns)), expected)


# Numbers without end ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [decimal.Decimal("1e2000000"), 10**5000, -(10**5000), Fraction(10**5000, 3)],
    ids=["decimal", "positive", "negative", "fraction"],
)
def test_numbers_of_thousands_of_digits_are_refused_at_once(value):
    for cells in ([value, 1], [None, value], ["a", value]):
        with pytest.raises(DataError, match="column 'x' holds a number of more than 1,000 digits; bin it"):
            encode(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    with pytest.raises(StateNameError, match="state_names of column 'x' has a number of more than 1,000 digits"):
        encode(pd.DataFrame({"x": [1, 2]}), state_names={"x": [1, 2, value]})
    with pytest.raises(DataError, match="missing of 'x' holds a number of more than 1,000 digits"):
        encode(pd.DataFrame({"x": [1, 2]}), missing={"x": value})
    with pytest.raises(InvalidTreeError, match="node 'x' has a state that is a number of more than 1,000 digits"):
        LatentTree(["x"], [[1, value]], [-1], [False], [[[0.5, 0.5]]])
    with pytest.raises(InvalidTreeError, match="missing of 'x' holds a number of more than 1,000 digits"):
        LatentTree(["x"], [[1, 2]], [-1], [False], [[[0.5, 0.5]]], missing={"x": [value]})


@pytest.mark.parametrize("name", [10**5000, ("x", 10**5000)], ids=["number", "in a tuple"])
def test_names_of_thousands_of_digits_are_refused(name):
    words = "(X|columns|missing): the name of a column is a number of more than 1,000 digits; rename it"
    table = pd.DataFrame({"x": [1, 2]})
    odd = table.set_axis(pd.Index([name], tupleize_cols=False), axis=1)
    for read in (
        lambda: encode(odd),
        lambda: encode(odd, sample_weight="w"),
        lambda: encode(table, columns=[name]),
        lambda: encode(table, missing={name: 1}),
    ):
        with pytest.raises(DataError, match=words):
            read()
    with pytest.raises(InvalidTreeError, match="the name of a node is a number of more than 1,000 digits"):
        LatentTree([name], [[1, 2]], [-1], [False], [[[0.5, 0.5]]])


def test_weights_are_not_named_by_thousands_of_digits():
    with pytest.raises(DataError, match="sample_weight: the name of a column is a number of more than 1,000 digits"):
        encode(pd.DataFrame({"x": [1, 2]}), sample_weight=10**5000)


def test_decimals_of_hundreds_of_digits_are_whole_numbers():
    assert encode(pd.DataFrame({"x": [decimal.Decimal("1e400"), 1]})).state_names == ((1, 10**400),)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([10**400, 1], "sample_weight holds a number too large for a float; scale the weights down"),
        ([decimal.Decimal("1e2000000"), 1], "sample_weight holds inf in row 0"),
        ([1.7e308, 1.7e308], "sample_weight sums to more than a float can hold"),
    ],
)
def test_weights_beyond_floats_are_refused(weights, words):
    with pytest.raises(WeightError, match=words):
        encode(pd.DataFrame({"x": [1, 2]}), sample_weight=weights)
