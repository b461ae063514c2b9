"""Tables in pieces: what is read is what the whole table says, whatever the pieces are."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import RandomStarts, encode, encode_chunks
from pgmpy_latent.exceptions import DataError, UnseenCategoryError, WeightError
from pgmpy_latent.tables import distinct_rows as _pool
from pgmpy_latent.tables import large_tables
from tests.support.samples import assert_same_tree


def assert_same_data(found, whole):
    assert found.columns == whole.columns
    assert found.state_names == whole.state_names
    assert [[type(state) for state in own] for own in found.state_names] == [
        [type(state) for state in own] for own in whole.state_names
    ]
    np.testing.assert_array_equal(found.codes, whole.codes)
    np.testing.assert_allclose(found.weights, whole.weights, rtol=1e-12)


def pieces(frame, cuts):
    ends = [0, *sorted(cuts), len(frame)]
    return [frame.iloc[a:b] for a, b in pairwise(ends) if b > a]


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 12))
    cells = {
        "text": st.sampled_from(["b", "a", "c", None]),
        "whole": st.sampled_from([3, 1, 2]),
        "real": st.sampled_from([1.0, 2.5, np.nan, 2.0]),
        "truth": st.booleans(),
    }
    frame = pd.DataFrame({name: draw(st.lists(own, min_size=n_rows, max_size=n_rows)) for name, own in cells.items()})
    frame["text"] = frame["text"].astype(object)
    frame["levels"] = pd.Categorical(
        draw(st.lists(st.sampled_from("zyx"), min_size=n_rows, max_size=n_rows)), list("zyxw")
    )
    weights = draw(st.lists(st.sampled_from([0.0, 1.0, 0.5, 3.0]), min_size=n_rows, max_size=n_rows))
    return frame.dropna(axis=1, how="all"), np.array(weights), draw(st.lists(st.integers(0, n_rows), max_size=4))


@given(tables())
def test_pieces_say_what_the_whole_table_says(drawn):
    frame, _, cuts = drawn
    assert_same_data(encode_chunks(iter(pieces(frame, cuts))), encode(frame))


@given(tables())
def test_weights_are_a_column_of_the_pieces(drawn):
    frame, weights, cuts = drawn
    kept = frame[weights > 0].dropna(axis=1, how="all").columns
    if not weights.any() or not len(kept):
        return
    frame = frame[kept]
    found = encode_chunks(pieces(frame.assign(w=weights), cuts), sample_weight="w")
    assert_same_data(found, encode(frame, sample_weight=weights))


def test_rows_are_joined_on_the_way(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, size=(500, 4)), columns=list("abcd"))
    monkeypatch.setattr(_pool, "POOL_ROWS", 40)
    sizes, join = [], _pool.Pool.join

    def counted(pool):
        join(pool)
        sizes.append(pool._size)

    monkeypatch.setattr(_pool.Pool, "join", counted)
    assert_same_data(encode_chunks(frame.iloc[at : at + 20] for at in range(0, 500, 20)), encode(frame))
    assert len(sizes) > 3
    assert max(sizes) <= 81


def test_a_category_may_come_late_and_columns_may_be_chosen():
    first = pd.DataFrame({"x": ["b", "b"], "y": [1, 2], "z": [None, None]})
    last = pd.DataFrame({"x": ["a", "b"], "y": [0, 1], "z": ["q", None]})
    whole = pd.concat([first, last])
    assert_same_data(encode_chunks([first, last], columns=["z", "x"]), encode(whole, columns=["z", "x"]))
    states = {"x": ["c", "b", "a"]}
    assert_same_data(encode_chunks([first, last], state_names=states), encode(whole, state_names=states))
    with pytest.raises(UnseenCategoryError, match="column 'x' holds 'a'"):
        encode_chunks([first, last], state_names={"x": ["b"]})


@pytest.fixture
def survey():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(["no", "yes", None], size=400, p=[0.5, 0.4, 0.1]) for name in "abc"})
    return frame.assign(d=rng.integers(0, 3, 400), w=rng.integers(1, 4, 400).astype(float))


def test_parquet_files_folders_and_datasets(monkeypatch, tmp_path, survey):
    pytest.importorskip("pyarrow")
    import pyarrow.dataset as ds

    monkeypatch.setattr(large_tables, "PART_CELLS", 280)
    folder = tmp_path / "parts"
    folder.mkdir()
    survey.to_parquet(tmp_path / "one.parquet")
    survey.head(150).to_parquet(folder / "0.parquet")
    survey.tail(250).to_parquet(folder / "1.parquet")
    whole = encode(survey.drop(columns="w"), sample_weight=survey["w"])
    for source in (str(tmp_path / "one.parquet"), folder, ds.dataset(folder)):
        assert_same_data(encode_chunks(source, sample_weight="w"), whole)


def test_folders_by_the_values_of_a_column_keep_that_column(tmp_path, survey):
    pytest.importorskip("pyarrow")
    frame = survey.drop(columns="w").assign(year=np.arange(len(survey)) % 2 + 2020)
    frame.to_parquet(tmp_path / "by_year", partition_cols=["year"])
    found, whole = encode_chunks(tmp_path / "by_year"), encode(frame)
    assert found.columns == whole.columns
    assert found.total_weight == whole.total_weight
    assert found.state_names[found.columns.index("year")] == (2020, 2021)


def test_dask_frames(survey):
    dask_frame = pytest.importorskip("dask.dataframe", reason="dask is an extra")
    whole = encode(survey.drop(columns="w"), sample_weight=survey["w"])
    frame = dask_frame.from_pandas(survey, npartitions=5)
    assert_same_data(encode_chunks(frame, sample_weight="w"), whole)


def test_learners_take_tables_in_pieces(tmp_path, survey):
    pytest.importorskip("pyarrow")
    survey.to_parquet(tmp_path / "survey.parquet")
    settings = {"n_states": 2, "n_starts": 2, "random_state": 0}
    whole = RandomStarts(**settings).fit(survey.drop(columns="w"), sample_weight=survey["w"])
    for table in (tmp_path / "survey.parquet", iter(pieces(survey, [100, 250]))):
        learner = RandomStarts(**settings).fit(table, sample_weight="w")
        assert_same_tree(learner.tree_, whole.tree_)
        assert learner.predict(survey).equals(whole.predict(survey))


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ([], DataError, "there are no chunks; give at least one table"),
        ([{"x": [1]}, {"y": [1]}], DataError, "chunk 1 has other columns than chunk 0: it differs in 'x', 'y'"),
        ([{"x": [1], "y": [1]}, {"y": [1], "x": [1]}], DataError, "chunk 1 .* has them in another order"),
        ([{"x": [1]}, {"x": ["1"]}], DataError, "column 'x' holds '1' in chunk 1 and 1 before; give it the same type"),
        ([{"x": [None]}], DataError, "column 'x' is all missing"),
        ([{"x": [], "w": []}], WeightError, "there are no rows, or all rows"),
        ([{"x": [1], "w": ["a"]}], WeightError, "chunk 0, column 'w': sample_weight is not numeric"),
        ([{"x": [1], "w": [1]}, {"x": [1], "w": [-1]}], WeightError, "chunk 1, column 'w': .* -1.0 in row 0"),
        ([{"x": [1], "w": [0]}], WeightError, "all rows of all chunks have weight zero"),
        ([{"x": [1]}], WeightError, "chunk 0 has no column 'w', which sample_weight names"),
    ],
)
def test_pieces_that_do_not_fit_together_are_named(parts, error, words):
    weights = "w" if error is WeightError else None
    with pytest.raises(error, match=words):
        encode_chunks([pd.DataFrame(part) for part in parts], sample_weight=weights)


def test_kinds_of_values_may_mix_as_in_one_table():
    parts = [pd.DataFrame({"x": pd.Series(values, dtype=object)}) for values in (["a", 1], [2, "b"], ["a", 3])]
    assert_same_data(encode_chunks(parts), encode(pd.concat(parts)))


def test_a_series_of_dask_is_no_name_of_a_column():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({"x": [0, 1], "w": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(WeightError, match="give the name of the column that holds the weights"):
        encode_chunks(frame[["x"]], sample_weight=frame["w"])


def test_what_is_no_table_in_pieces(tmp_path):
    with pytest.raises(TypeError, match="chunks is a DataFrame; pass an iterable of tables"):
        encode_chunks(pd.DataFrame({"x": [1]}))
    with pytest.raises(ValueError, match="unseen='drop' is not known"):
        encode_chunks([], unseen="drop")
    pytest.importorskip("pyarrow")
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        encode_chunks(tmp_path / "gone.parquet")
    (tmp_path / "text.parquet").write_text("x,y")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        encode_chunks(tmp_path / "text.parquet")


@pytest.mark.parametrize("kinds", [(np.float32, np.float64), (np.float64, np.float32)])
def test_single_and_double_precision_do_not_mix(kinds):
    chunks = [pd.DataFrame({"x": np.array([0.1, 0.5, 3.0, np.nan]).astype(kind)}) for kind in kinds]
    with pytest.raises(
        DataError, match=r"column 'x' holds 0\.1\d* in chunk 1 and 0\.1\d* before, the same number in single"
    ):
        encode_chunks(chunks)


def test_numbers_that_both_precisions_have_may_mix():
    chunks = [pd.DataFrame({"x": np.array([0.5, 2.0, 0.25]).astype(kind)}) for kind in (np.float32, np.float64)]
    assert encode_chunks(chunks).weights.tolist() == [2.0, 2.0, 2.0]
    near = [pd.DataFrame({"x": [0.1, 0.3]}), pd.DataFrame({"x": [0.1, 0.1 + 1e-12]})]  # all in double precision
    assert encode_chunks(near).state_names == ((0.1, 0.1 + 1e-12, 0.3),)
