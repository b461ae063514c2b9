"""Columns that cannot be meant, values that stand for missing, and fits with more parameters than rows."""

import ast
import copy
import json
import pickle
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    LatentNetwork,
    LatentTree,
    NetworkEM,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
    classification_table,
    compare_classes,
    encode,
    encode_chunks,
    from_pgmpy,
    impute,
    load,
    log_likelihood,
    most_likely,
    network_from_pgmpy,
    posterior,
    presets,
    residuals,
    row_log_likelihoods,
    sample,
    save,
    support,
    to_pgmpy,
    unusual_rows,
)
from pgmpy_latent.cli import main
from pgmpy_latent.exceptions import (
    AbsentColumnError,
    DataError,
    FewRowsWarning,
    FileFormatError,
    InvalidTreeError,
    ManyStatesWarning,
    MissingCodeWarning,
    StateNameError,
    UnseenCategoryError,
    UnseenCategoryWarning,
)
from tests.support.samples import latent_class

pytestmark = pytest.mark.filterwarnings("error::pgmpy_latent.exceptions.ManyStatesWarning")  # ignored elsewhere
N = 300
STAR = [("H", name) for name in "abcd"]
QUIET = {"random_state": 0, "show_progress": False}
#: Everything that learns from a table whose columns nobody named one by one.
LEARNERS = [
    SplitMerge(**QUIET),
    RandomStarts(n_states=2, n_starts=2, **QUIET),
    Baseline("chow_liu"),
    Baseline("independence"),
    Baseline("latent_class", **QUIET),
    EAST(tuning=presets.EAST.replace(excursions=(), look_ahead=0), **QUIET),
    BinG(**QUIET),
    BinA(**QUIET),
    HLTA(show_progress=False),
    StructuralEM(show_progress=False),
    FindHidden(show_progress=False),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)


@pytest.fixture(scope="module")
def answers():
    """Four columns of numbers from 1 on that belong together."""
    drawn = sample(latent_class(2, [2, 3, 2, 3]), N, random_state=0)
    drawn.columns = list("abcd")
    return drawn.apply(lambda column: column.astype("category").cat.codes.astype("int64") + 1)


def fresh(learner):
    return type(learner)(**learner.get_params(deep=False))


def odd_columns():
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=60)
    return {
        "an identifier": (np.arange(N), "has a category of its own in every row, as identifiers"),
        "codes in text": ([f"p{at}" for at in range(N)], "has a category of its own in every row, as identifiers"),
        "almost an identifier": (np.r_[np.arange(N - 10), np.arange(10)], "has 290 categories in 300 rows"),
        "a measurement": (rng.normal(size=N).round(2), r"holds \d+ different numbers in 300 rows, as measurements"),
        "amounts": (np.arange(N) // 3, "holds 100 different numbers in 300 rows, as measurements do"),
        "numbers in text": ([str(x) for x in rng.normal(size=N).round(2)], r"holds \d+ different numbers in 300 rows"),
        "days in text": (np.tile(days.strftime("%Y-%m-%d"), 5), "holds 60 different dates or times"),
        "days as written": (np.tile(days.strftime("%d/%m/%Y"), 5), "holds 60 different dates or times"),
        "moments": (np.tile(days.astype(str) + " 10:30:00", 5), "holds 60 different dates or times"),
    }


def many_rows(answers, n_values, n_rows):
    """Return a table with a column of so many different texts."""
    table = pd.concat([answers] * -(-n_rows // N), ignore_index=True).head(n_rows)
    return table.assign(odd=[f"code {at % n_values}" for at in range(n_rows)])


# --- Refused by name --------------------------------------------------------------------------------------


@every_learner
def test_every_learner_refuses_identifiers_and_says_what_to_do(answers, learner):
    table = answers.assign(odd=np.arange(N))
    words = "column 'odd' has a category of its own in every row"
    with pytest.raises(DataError, match=words + r".*; drop it or bin it, or say allow_many_states=\['odd'\] if you"):
        fresh(learner).fit(table)


def test_all_columns_that_cannot_be_meant_are_named_at_once(answers, tmp_path, monkeypatch, capsys):
    days = np.tile(pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d"), 5)
    table = answers.assign(id=np.arange(N), day=days, height=np.arange(N) // 3)
    words = "column 'id' has .*; column 'day' holds .*; column 'height' holds .*; drop them or bin them, or say "
    with pytest.raises(DataError, match=words + r"allow_many_states=\['id', 'day', 'height'\] if you mean them"):
        RandomStarts(n_states=2, **QUIET).fit(table)
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    assert main(["learn", "t.csv"]) == 2
    assert "leave them out with --drop id,day,height, bin them, or pass" in capsys.readouterr().err


def test_many_numbers_that_occur_often_are_noted():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 700), "a": rng.integers(0, 2, 700), "b": rng.integers(0, 2, 700)})
    words = r"column 'age' holds 72 different numbers in 700 rows\. .*; if they are, say allow_many_states=\['age'\]"
    learner = RandomStarts(n_states=1, show_progress=False)
    for fit in (learner.fit, lambda X: compare_classes(X, [1], show_progress=False)):
        with pytest.warns(ManyStatesWarning, match=words):
            fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ManyStatesWarning)
        learner.fit(table, allow_many_states=["age"])
        learner.fit(table.assign(age=pd.cut(table["age"], [17, 29, 44, 64, 90])))


def test_frequencies_do_not_hide_identifiers(answers):
    table = answers.assign(odd=np.arange(N))
    for weights in (np.arange(N) % 3 + 1, np.arange(N) % 19 + 1):
        with pytest.raises(DataError, match="column 'odd' has a category of its own in every row"):
            RandomStarts(n_states=2, **QUIET).fit(table, sample_weight=weights)


@pytest.mark.parametrize("what", odd_columns())
def test_columns_that_cannot_be_meant_are_refused(answers, what):
    cells, words = odd_columns()[what]
    table = answers.assign(odd=cells)
    for fit in (RandomStarts(n_states=2, **QUIET).fit, lambda X: compare_classes(X, [1])):
        with pytest.raises(DataError, match=f"column 'odd' {words}"):
            fit(table)
    weighted = table.drop_duplicates()
    with pytest.raises(DataError, match="column 'odd'"):
        RandomStarts(n_states=2, **QUIET).fit(
            weighted, sample_weight=np.full(len(weighted), 0.7), weight_kind="sampling"
        )


def test_texts_of_few_rows_each_are_refused_if_there_are_hundreds(answers):
    words = r"column 'odd' holds 300 different values in 900 rows, fewer than 5 rows each, as identifiers and free text"
    table = many_rows(answers, 300, 900)
    with pytest.raises(DataError, match=words + r".*say allow_many_states=\['odd'\] if you mean it"):
        RandomStarts(n_states=1, **QUIET).fit(table)
    RandomStarts(n_states=1, **QUIET).fit(table, allow_many_states=["odd"])


@pytest.mark.parametrize(("n_values", "n_rows"), [(30, 200), (50, 300), (60, 120), (100, 500), (300, 1500)])
def test_texts_of_dozens_of_kinds_or_of_five_rows_each_are_fine(answers, n_values, n_rows):
    found = RandomStarts(n_states=1, **QUIET).fit(many_rows(answers, n_values, n_rows))
    assert len(found.tree_.state_names[found.tree_.index("odd")]) == n_values


@pytest.mark.parametrize(
    ("n_values", "n_rows", "repeats"), [(40, 75, 2), (61, 300, 5), (150, 300, 5), (245, 490, 5), (200, 800, 5)]
)
def test_texts_that_may_be_identifiers_are_read_and_noted(answers, n_values, n_rows, repeats):
    words = f"column 'odd' holds {n_values} different values in {n_rows} rows, fewer than {repeats} rows each"
    table = many_rows(answers, n_values, n_rows)
    with pytest.warns(ManyStatesWarning, match=words + r".*; if they are, say allow_many_states=\['odd'\]"):
        RandomStarts(n_states=1, **QUIET).fit(table)
    RandomStarts(n_states=1, **QUIET).fit(table, allow_many_states=["odd"])


def test_many_numbers_are_noted_however_many_rows_there_are():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 900, 5000), "y": rng.integers(0, 2, 5000)})
    with pytest.warns(ManyStatesWarning, match=r"column 'x' holds 8\d\d different numbers in 5,000 rows"):
        Baseline("independence").fit(table)


@pytest.mark.parametrize("learner", [LEARNERS[1], EAST(max_latents=1, **QUIET)], ids=["RandomStarts", "EAST"])
@pytest.mark.parametrize("allowed", [True, ["odd"]])
def test_columns_that_are_meant_are_taken(answers, learner, allowed):
    table = answers.assign(odd=np.arange(N) // 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fresh(learner).fit(table, allow_many_states=allowed)
    assert found.tree_.cards[found.tree_.index("odd")] == 100


def test_what_may_be_allowed(answers):
    table = answers.assign(odd=np.arange(N), other=np.arange(N) / 7)
    with pytest.raises(DataError, match="column 'other'"):
        RandomStarts(n_states=2).fit(table, allow_many_states=["odd"])
    with pytest.raises(DataError, match="allow_many_states names 'od', which is not a column"):
        RandomStarts(n_states=2).fit(table, allow_many_states=["od"])
    with pytest.raises(ValueError, match="allow_many_states is 'odd'; give True, False or a list of columns"):
        RandomStarts(n_states=2).fit(table, allow_many_states="odd")
    with pytest.raises(DataError, match="column 'odd'"):
        BinG(**QUIET).fit(table, allow_many_states=False)
    assert len(compare_classes(table, [1], allow_many_states=True, show_progress=False)) == 1


@pytest.mark.parametrize(
    "cells",
    [
        [f"town {at % 50}" for at in range(N)],  # many categories of some rows each are no identifiers
        pd.date_range("2020-01-01", periods=N).strftime("%Y"),
        [f"2020-0{at % 9 + 1}" for at in range(N)],  # nine months
        [f"{at % 30}-{at % 30 + 4}" for at in range(N)],  # spans that are no dates
        np.arange(N) < 7,
    ],
)
def test_columns_of_many_categories_are_fine(answers, cells):
    RandomStarts(n_states=1, show_progress=False).fit(answers.assign(many=cells))


@pytest.mark.parametrize("cells", [np.arange(N) % 50, np.arange(N) % 21 / 2, [str(at % 50) for at in range(N)]])
def test_columns_of_many_numbers_are_read_and_noted(answers, cells):
    with pytest.warns(ManyStatesWarning, match="column 'many'"):
        learner = RandomStarts(n_states=1, show_progress=False).fit(answers.assign(many=cells))
    assert learner.tree_.cards[learner.tree_.index("many")] == len(set(cells))


def test_small_tables_are_fine():
    table = pd.DataFrame({"id": range(20), "x": [0, 1] * 10, "y": np.arange(20) / 7})
    RandomStarts(n_states=1, show_progress=False).fit(table)


@pytest.mark.parametrize("n_rows", [21, 95])
@pytest.mark.parametrize("kind", ["id", "text", "measured", "counted"])
def test_identifiers_are_refused_in_small_tables(n_rows, kind):
    """Weights do not hide them: the rows of the table count."""
    rng = np.random.default_rng(0)
    odd = [f"p{at}" for at in range(n_rows)] if kind == "text" else rng.normal(size=n_rows)
    table = pd.DataFrame({"odd": range(n_rows) if kind == "id" else odd, "a": rng.integers(0, 2, n_rows)})
    weights = np.full(n_rows, 20) if kind == "counted" else None
    with pytest.raises(DataError, match="column 'odd' has a category of its own in every row"):
        SplitMerge(**QUIET).fit(table, sample_weight=weights)


@pytest.mark.parametrize("weight", [1, 20])
def test_measurements_in_small_tables_are_noted(weight):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"odd": rng.normal(size=40).round(1), "a": rng.integers(0, 2, 40)})
    with pytest.warns(ManyStatesWarning, match=r"column 'odd' holds 2\d different numbers"):
        RandomStarts(n_states=1, **QUIET).fit(table, sample_weight=np.full(40, weight), weight_kind="frequency")


def test_rows_count_whatever_they_weigh(answers):
    """A table of ages with a row each may hold counts or people with weights: who means it says so."""
    table = pd.DataFrame({"age": range(120), "x": [0, 1] * 60})
    counts = np.full(120, 20)
    with pytest.raises(DataError, match=r"column 'age' .*say allow_many_states=\['age'\]"):
        RandomStarts(n_states=1).fit(table, sample_weight=counts)
    RandomStarts(n_states=1).fit(table, sample_weight=counts, allow_many_states=["age"])
    with pytest.warns(ManyStatesWarning, match="column 'age'"):
        RandomStarts(n_states=1).fit(table.merge(pd.DataFrame({"y": [0, 1]}), "cross"), sample_weight=np.full(240, 4))


def test_whoever_writes_down_a_network_means_its_columns(answers):
    table = answers.assign(odd=np.arange(N) // 3)
    star = DAG([*STAR, ("H", "odd")], latents={"H"})
    words = "column 'odd' holds 100 different numbers in 300 rows, as .*; if they are, give their state_names"
    for kind in (TreeEM, NetworkEM):
        with pytest.warns(ManyStatesWarning, match=words):
            fitted = kind(seed=0, n_init=2).fit(star, table)
        assert len(fitted.state_names_["odd"]) == 100
        kind(seed=0, n_init=1, state_names={"odd": range(100)}).fit(star, table)  # warnings are errors here


def test_dates_that_are_meant_become_text(answers):
    table = answers.assign(day=np.tile(pd.date_range("2020-01-01", periods=60), 5))
    words = r"column 'day' holds dates or times.*; drop it, or .*make it text, as with astype\(str\), and say "
    with pytest.raises(DataError, match=words + r"allow_many_states=\['day'\]"):
        RandomStarts(n_states=1, **QUIET).fit(table, allow_many_states=["day"])
    found = RandomStarts(n_states=1, **QUIET).fit(table.astype({"day": str}), allow_many_states=["day"])
    assert found.tree_.cards[found.tree_.index("day")] == 60


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_line_notes_columns_that_may_be_measured(capsys, answers):
    answers.assign(age=np.arange(N) % 50).to_csv("t.csv", index=False)
    quick = ("compare", "t.csv", "--classes", "1", "--starts", "1")
    code, _, err = run(capsys, *quick)
    assert code == 0
    assert "column 'age' holds 50 different numbers in 300 rows" in err
    assert "if they are, pass --allow-many-states age" in err
    assert "column 'age'" not in run(capsys, *quick, "--allow-many-states", "age")[2]


def test_agglomeration_looks_at_the_columns_of_its_network_only(answers):
    network = DAG([("H", name) for name in "abc"], latents={"H"})
    found = AgglomerativeCardinality(network, show_progress=False).fit(answers.assign(odd=np.arange(N)))
    assert found.network_.observed_names == ("a", "b", "c")
    with pytest.raises(DataError, match="column 'odd'"):
        AgglomerativeCardinality(DAG([("H", "odd"), ("H", "a")], latents={"H"})).fit(answers.assign(odd=np.arange(N)))


def test_a_bootstrap_does_not_ask_again(answers):
    table = answers.assign(odd=np.arange(N) // 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRowsWarning)
        learner = BinG(**QUIET).fit(table, allow_many_states=True)
        support(learner, table, n_bootstrap=1, show_progress=False)


# --- Values that stand for missing ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coded(answers):
    """The answers with codes for "no answer" in two columns, and the same with gaps."""
    gaps = answers.astype("Int64")
    gaps.loc[3:20, "b"] = None
    gaps.loc[10:30, "d"] = None
    return gaps.fillna({"b": 9, "d": -1}).astype("int64"), gaps


CODES = {"b": 9, "d": [-1]}


@every_learner
def test_values_that_look_missing_are_named_in_one_note(coded, learner):
    table = coded[0].assign(e=np.where(np.arange(N) % 7, "yes", "Don't know"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fresh(learner).fit(table)
    (said,) = [str(one.message) for one in caught if one.category is MissingCodeWarning]
    assert "9 in column 'b', -1 in column 'd', \"Don't know\" in column 'e'" in said
    assert "say missing={'b': [9], 'd': [-1], 'e': [\"Don't know\"]}; if they are categories, missing={'b': []}" in said


@pytest.mark.parametrize(("scale", "code"), [([1.0, 2.0, 3.5], 99), ([0.5, 1.0, 1.5], 9), ([0.5, 1.0, 1.5], -9)])
def test_numbers_apart_from_a_scale_with_fractions(scale, code):
    with pytest.warns(MissingCodeWarning, match=rf"{code}\.0 in column 'x'"):
        Baseline("independence").fit(pd.DataFrame({"x": [*scale, float(code)] * 20}))


@pytest.mark.parametrize("code", [-1, 9, 99, 999, -9, 8, 98])
def test_numbers_apart_from_a_scale(code):
    table = pd.DataFrame({"x": [1, 2, 3, 4, 5, code] * 20, "y": [0, 1] * 60})
    with pytest.warns(MissingCodeWarning, match=rf"{code} in column 'x'\. If they are codes"):
        RandomStarts(n_states=1).fit(table)
    with pytest.warns(MissingCodeWarning, match=f"'{code}' in column 'x'"):
        RandomStarts(n_states=1).fit(table.astype(str))


@pytest.mark.parametrize(
    "scale",
    [
        range(1, 10),
        range(11),
        [-1, 0, 1],
        [-2, -1, 1, 2],
        range(-3, 4),
        [1, 3, 5, 7, 9],
        range(20),
        [0, 1],
        [5, 9],
        [-1, 0.5, 2],
    ],
    ids=str,
)
def test_scales_without_codes(scale):
    table = pd.DataFrame({"x": [*scale] * 20, "y": [0, 1] * (10 * len(scale))})
    RandomStarts(n_states=1, show_progress=False).fit(table)  # warnings are errors here


def test_numbers_of_hundreds_of_digits_are_no_scale():
    large = 10**900
    table = pd.DataFrame({"x": pd.Series([1, large, large + 1, large + 7] * 30, dtype=object), "y": [0, 1] * 60})
    assert Baseline("independence").fit(table).tree_.state_names[0] == (1, large, large + 1, large + 7)


@pytest.mark.parametrize("scale", [range(3), range(4)], ids=str)
def test_minus_one_below_a_count_is_noted(scale):
    with pytest.warns(MissingCodeWarning, match="-1 in column 'x'"):
        Baseline("independence").fit(pd.DataFrame({"x": [-1, *scale] * 20}))


@pytest.mark.parametrize(
    "word", ["?", "NA", "n/a", "missing", "don't know", "Unknown", ".", "None", "Prefer not to say", "Not applicable"]
)
def test_words_for_missing(word):
    with pytest.warns(MissingCodeWarning, match="in column 'x'"):
        Baseline("independence").fit(pd.DataFrame({"x": ["yes", "no", word] * 20}))


@pytest.mark.parametrize("missing", [{}, {"b": 9, "d": -1}, [9, -1], ()])
def test_what_was_said_is_not_noted(coded, missing):
    RandomStarts(n_states=1, show_progress=False).fit(coded[0], missing=missing)


def test_values_named_for_all_columns_do_not_hide_others(coded):
    for missing, words in (([9], "-1 in column 'd'"), (-1, "9 in column 'b'"), ({"b": 9}, "-1 in column 'd'")):
        with pytest.warns(MissingCodeWarning, match=f"taken as categories: {words}. If"):
            RandomStarts(n_states=1, show_progress=False).fit(coded[0], missing=missing)
    RandomStarts(n_states=1, show_progress=False).fit(coded[0], missing={"b": 9, "d": []})  # says that -1 is none


def test_a_mistyped_code_is_pointed_out_beside_what_the_column_holds():
    table = pd.DataFrame({"trust": ["low", "high", "refused"] * 20, "news": ["no", "yes", "no"] * 20})
    with pytest.warns(MissingCodeWarning, match=r"'refusd' in column 'trust' \(it holds 'refused'\)\. Mend"):
        Baseline("independence").fit(table, missing={"trust": "refusd"})


def test_the_note_names_a_call_that_takes_missing(coded):
    network = DiscreteBayesianNetwork(STAR, latents={"H"})
    words = r"say TreeEM\(...\).fit\(model, data, missing={'b': \[9\], 'd': \[-1\]}\); if"
    with pytest.warns(MissingCodeWarning, match=words):
        network.fit(coded[0], estimator=TreeEM(latent_card=2, n_init=1, seed=0, show_progress=False))


def test_partial_fit_does_not_look_for_the_codes_of_the_model(coded):
    table = coded[0]
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(table, missing=[9, -1])
    learner.partial_fit(table)  # warnings are errors here
    assert dict(learner.tree_.missing)["b"] == (9, -1)
    other = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(coded[1]).partial_fit(coded[1])
    np.testing.assert_array_equal(learner.tree_.table("b"), other.tree_.table("b"))


def test_the_remedy_for_codes_in_many_columns_can_be_copied():
    table = pd.DataFrame({f"x{at}": [1, 2, 3, 99] for at in range(30)})
    with pytest.warns(MissingCodeWarning) as caught:
        Baseline("independence").fit(table)
    (said,) = [str(one.message) for one in caught if one.category is MissingCodeWarning]
    remedy = said[said.index("say missing=") + len("say missing=") : said.index("; if they are categories")]
    assert ast.literal_eval(remedy) == {f"x{at}": [99] for at in range(30)}
    Baseline("independence").fit(table, missing=ast.literal_eval(remedy))  # warnings are errors here


def test_hundreds_of_columns_make_one_note_that_ends():
    table = pd.DataFrame({f"x{at}": [1, 2, 3, 99] for at in range(400)})
    with pytest.warns(MissingCodeWarning, match="99 in column 'x29' and in 370 more columns") as caught:
        Baseline("independence").fit(table)
    assert len(str(caught[0].message)) < 2000


@every_learner
def test_codes_that_are_said_are_gaps(coded, learner):
    table, gaps = coded
    said, plain = fresh(learner).fit(table, missing=CODES), fresh(learner).fit(gaps)
    assert said.log_likelihood_ == plain.log_likelihood_
    model, other = (one.tree_ if hasattr(one, "tree_") else one.network_ for one in (said, plain))
    assert dict(model.missing) == {"b": (9,), "d": (-1,)}
    assert model.state_names == other.state_names
    assert model != other  # which does not know of codes
    rows, empty = table.head(40), gaps.head(40)
    pd.testing.assert_frame_equal(said.predict_proba(rows), plain.predict_proba(empty))
    np.testing.assert_array_equal(said.score_samples(rows), plain.score_samples(empty))
    assert said.score(rows) == plain.score(empty)
    filled = said.impute(rows)
    pd.testing.assert_frame_equal(filled, plain.impute(empty), check_dtype=False)
    observed = empty.notna().to_numpy()
    assert (filled.to_numpy()[observed] == rows.to_numpy()[observed]).all()
    assert not np.isin(filled["b"], [9]).any()


def test_codes_are_kept_in_files_and_copies(coded, tmp_path):
    tree = RandomStarts(n_states=2, **QUIET).fit(coded[0], missing=CODES).tree_
    save(tree, tmp_path / "tree.json")
    for other in (load(tmp_path / "tree.json"), pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert other == tree
        assert hash(other) == hash(tree)
        assert other.missing == (("b", (9,)), ("d", (-1,)))
    assert from_pgmpy(to_pgmpy(tree)).missing == tree.missing
    network = StructuralEM(show_progress=False).fit(coded[0], missing=CODES).network_
    save(network, tmp_path / "network.json")
    assert network_from_pgmpy(load(tmp_path / "network.json")) == network
    assert dict(network.missing) == {"b": (9,), "d": (-1,)}


def test_files_without_codes_are_as_they_were(answers, tmp_path):
    tree = RandomStarts(n_states=2, **QUIET).fit(answers).tree_
    save(tree, tmp_path / "tree.json")
    document = json.loads((tmp_path / "tree.json").read_text())
    assert document["version"] == 1
    assert all("missing" not in node for node in document["nodes"])


@pytest.mark.parametrize(
    ("node", "codes", "words"),
    [
        (1, [1], "node 'a': 1 is a state and counts as missing"),
        (1, 9, "node 'a': missing: expected a list"),
        (1, [[9]], "a value of node 'a' that counts as missing is"),
        (0, [9], "node 'H' is hidden; no values of it can count as missing"),
    ],
)
def test_damaged_codes_in_files(answers, tmp_path, node, codes, words):
    path = tmp_path / "tree.json"
    save(RandomStarts(n_states=2, **QUIET).fit(answers).tree_, path)
    document = json.loads(path.read_text())
    document["nodes"][node]["missing"] = codes
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=words):
        load(path)


def test_models_check_their_codes():
    fields = (["H", "x"], [[0, 1], [1, 2]], [-1, 0], [True, False], [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    tree = LatentTree(*fields, missing={"x": [9]})
    assert tree.missing == (("x", (9,)),)
    assert tree != LatentTree(*fields)
    assert tree.with_tables(tree.tables) == tree
    for missing, words in [
        ({"x": [1]}, "1 is a state of 'x'"),
        ({"H": [9]}, "missing names 'H', which is not an observed"),
    ]:
        with pytest.raises(InvalidTreeError, match=words):
            LatentTree(*fields, missing=missing)
        with pytest.raises(InvalidTreeError, match=words):
            LatentNetwork(*fields[:2], [(), (0,)], *fields[3:], missing=missing)


def test_encoded_tables_carry_their_codes(coded):
    table, gaps = coded
    data = encode(table, missing=CODES)
    assert data.missing == (("b", (9,)), ("d", (-1,)))
    np.testing.assert_array_equal(data.codes, encode(gaps).codes)
    assert data.state_names == encode(gaps).state_names
    assert encode(encode(table), missing=CODES).state_names == data.state_names
    assert data.select(["b"]).missing == (("b", (9,)),)
    assert pickle.loads(pickle.dumps(data)).missing == data.missing
    assert dict(RandomStarts(n_states=2, **QUIET).fit(data).tree_.missing) == {"b": (9,), "d": (-1,)}
    pieces = encode_chunks([table.head(100), table.tail(N - 100)], missing=CODES)
    np.testing.assert_array_equal(pieces.codes, data.codes)
    assert pieces.missing == data.missing


def test_codes_of_categoricals_and_of_fractions():
    data = encode(pd.DataFrame({"x": pd.Categorical(["a", "?", "b"], ["?", "b", "a"])}), missing="?")
    assert data.state_names == (("b", "a"),)
    assert data.codes[data.row_index].tolist() == [[1], [-1], [0]]
    assert encode(pd.DataFrame({"x": [1.0, 2.0, 99.5]}), missing=99.5).state_names == ((1, 2),)
    with pytest.warns(MissingCodeWarning, match="values that do not occur: 1 in any column"):
        assert encode(pd.DataFrame({"x": [True, False]}), missing=1).state_names == ((False, True),)


UNMET = "missing names values that do not occur: "


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ({"b": 9, "d": -7}, "-7 in column 'd' (it holds -1). Mend"),
        ({"b": [9, 99, 98], "d": -1}, "99 in column 'b', 98 in column 'b'. Mend"),
        ([9, -1, 77], "77 in any column. Mend"),
        ("?", "'?' in any column. Mend"),
    ],
)
def test_codes_that_do_not_occur_are_pointed_out(coded, tmp_path, missing, words):
    table = coded[0]
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "table.parquet")
    star = DAG(STAR, latents={"H"})
    for fit in (
        lambda: encode(table, missing=missing),
        lambda: encode_chunks(iter([table[:100], table[100:]]), missing=missing),
        lambda: RandomStarts(n_states=1, **QUIET).fit(table, missing=missing),
        lambda: compare_classes(table, [1], missing=missing, show_progress=False),
        lambda: TreeEM(seed=0, n_init=1).fit(star, table, missing=missing),
        lambda: TreeEM(seed=0, n_init=1, memory_limit=1).fit(star, str(tmp_path / "table.parquet"), missing=missing),
    ):
        with pytest.warns(MissingCodeWarning) as caught:
            fit()
        assert sum(UNMET + words in str(one.message) for one in caught) == 1


def test_codes_that_are_known_need_not_occur(coded):
    """What a model or a table that was read before keeps is not looked for, nor is what a Categorical declares."""
    table, gaps = coded
    learner = RandomStarts(n_states=2, **QUIET).fit(table, missing=CODES)  # warnings are errors here
    clean = gaps.dropna().astype("int64")
    learner.score(clean)
    posterior(learner.tree_, clean)
    data = encode(table, missing=CODES)
    RandomStarts(n_states=1, **QUIET).fit(data, missing=CODES)
    encode(pd.DataFrame({"x": pd.Categorical(["a", "b"], ["a", "b", "?"])}), missing={"x": "?"})
    encode(table, columns=["a", "b"], missing=CODES)


def test_codes_of_a_model_to_start_with_apply_to_the_table(coded):
    table, gaps = coded
    tree = RandomStarts(n_states=2, **QUIET).fit(table, missing=CODES).tree_
    network = StructuralEM(show_progress=False).fit(table, missing=CODES).network_
    for learner in (
        SplitMerge(start=tree, max_states=2, **QUIET),
        EAST(start=to_pgmpy(tree), tuning=presets.EAST.replace(excursions=(), look_ahead=0), **QUIET),
        StructuralEM(start=to_pgmpy(network), show_progress=False),
        FindHidden(base=to_pgmpy(network), max_latents=1, show_progress=False),
        AgglomerativeCardinality(to_pgmpy(tree), show_progress=False),
    ):
        found, plain = fresh(learner).fit(table), fresh(learner).fit(gaps)
        assert found.log_likelihood_ == plain.log_likelihood_
        model = found.tree_ if hasattr(found, "tree_") else found.network_
        assert dict(model.missing) == {"b": (9,), "d": (-1,)}
    further = table.replace({"c": {2: 77}})
    with pytest.raises(UnseenCategoryError, match="column 'c' holds 77"):
        SplitMerge(start=tree, max_states=2, **QUIET).fit(further)
    model = SplitMerge(start=tree, max_states=2, **QUIET).fit(further, missing={"c": 77}).tree_
    assert dict(model.missing) == {"b": (9,), "c": (77,), "d": (-1,)}


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_line_points_out_codes_that_do_not_occur(capsys, coded):
    coded[0].to_csv("coded.csv", index=False)
    quick = ("--classes", "1", "--starts", "1")
    code, _, err = run(capsys, "compare", "coded.csv", *quick, "--missing", "b=9,99", "--missing", "d=-1")
    assert code == 0
    assert "--missing b=99: column 'b' holds no '99'; mend it if it is mistyped" in err
    assert "--missing b=9:" not in err
    assert "--missing d" not in err


def test_codes_that_cannot_be_meant(answers):
    for missing, words in [
        ({"z": 9}, "missing names 'z', which is not a column of the table"),
        ({"a": "1"}, "missing='1' is str, and column 'a' holds 1, which is int; name 1 among its missing values"),
        ({"a": [[1]]}, "missing of 'a' holds a list"),
        ({"a": [1, 2]}, "column 'a' is all missing"),
    ]:
        with pytest.raises(DataError, match=words):
            RandomStarts(n_states=1).fit(answers, missing=missing)
    with pytest.raises(StateNameError, match="1 is a state of column 'a' and counts as missing"):
        encode(answers, state_names={"a": [1, 2]}, missing=1)


def test_estimators_keep_codes(coded, tmp_path):
    table, gaps = coded
    star = DiscreteBayesianNetwork(STAR, latents={"H"})
    for kind in (TreeEM, NetworkEM):
        said = kind(seed=0, n_init=2).fit(star, table, missing=CODES)
        plain = kind(seed=0, n_init=2).fit(star, gaps)
        assert said.log_likelihood_ == plain.log_likelihood_
        model = said.tree_ if kind is TreeEM else said.network_
        assert dict(model.missing) == {"b": (9,), "d": (-1,)}
        with pytest.warns(MissingCodeWarning, match="9 in column 'b', -1 in column 'd'"):
            kind(seed=0, n_init=1).fit(star, table)
        states = {"b": [1, 2, 3, 9], "d": [-1, 1, 2, 3]}
        kind(seed=0, n_init=1, state_names=states).fit(star, table)  # whoever names states means them
    table.to_parquet(tmp_path / "t.parquet")
    shards = TreeEM(seed=0, n_init=2, memory_limit=1000).fit(star, tmp_path / "t.parquet", missing=CODES)
    whole = TreeEM(seed=0, n_init=2).fit(star, table, missing=CODES)
    assert shards.log_likelihood_ == pytest.approx(whole.log_likelihood_, abs=1e-6)
    assert shards.tree_.missing == whole.tree_.missing


def test_comparisons_keep_codes(coded):
    table, gaps = coded
    said, models = compare_classes(table, [1, 2], missing=CODES, return_models=True, n_starts=2, show_progress=False)
    plain = compare_classes(gaps, [1, 2], n_starts=2, show_progress=False)
    assert said["bic"].tolist() == plain["bic"].tolist()
    assert dict(models[2].missing) == {"b": (9,), "d": (-1,)}
    with pytest.warns(MissingCodeWarning) as caught:
        compare_classes(table, [1, 2], n_starts=2, show_progress=False)
    assert len(caught) == 1


def test_updates_know_the_codes(coded):
    table, gaps = coded
    said = RandomStarts(n_states=2, **QUIET).fit(table, missing=CODES).partial_fit(table.head(50))
    plain = RandomStarts(n_states=2, **QUIET).fit(gaps).partial_fit(gaps.head(50))
    np.testing.assert_array_equal(said.tree_.table("b"), plain.tree_.table("b"))
    assert dict(said.tree_.missing) == {"b": (9,), "d": (-1,)}


# --- More parameters than rows ----------------------------------------------------------------------------


def test_more_parameters_than_rows_are_said(answers):
    answers = answers.sort_values("d", ascending=False)  # so that the first rows show all categories
    answers = pd.concat([answers.iloc[::7], answers])
    learner = RandomStarts(n_states=4, n_starts=2, **QUIET)
    with pytest.warns(FewRowsWarning, match="the model has 27 parameters for 26 rows.*; ask for fewer states"):
        learner.fit(answers.head(26))
    assert learner.n_parameters_ == 27
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.fit(answers.head(27))
        learner.fit(answers.head(20), sample_weight=np.full(20, 2))
    star = DAG(STAR, latents={"H"})
    for estimator in (TreeEM(latent_card=4, seed=0), NetworkEM(latent_card=4, seed=0)):
        with pytest.warns(FewRowsWarning, match="27 parameters for 20 rows"):
            estimator.fit(star, answers.head(20))


def test_a_comparison_warns_of_the_model_it_recommends():
    many = pd.DataFrame({name: np.arange(40) % 20 for name in "ab"})
    with pytest.warns(FewRowsWarning, match="the recommended model, of 2 classes, has 77 parameters for 40 rows"):
        compare_classes(many, [2], n_starts=1, show_progress=False)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # others are there to be compared with
        compare_classes(pd.DataFrame(rng.integers(0, 2, (40, 5))), [1, 8], n_starts=2, show_progress=False)


def test_wide_tables_are_no_exception():
    """Ninety columns take ninety parameters even if they are independent."""
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 90)))
    for kind, number in (("independence", 90), ("chow_liu", 179)):
        with pytest.warns(FewRowsWarning, match=f"the model has {number} parameters for 60 rows"):
            Baseline(kind).fit(wide)
    with pytest.warns(FewRowsWarning, match="the recommended model, of 1 class, has 90 parameters for 60 rows"):
        compare_classes(wide, [1], n_starts=1, show_progress=False)


# --- New rows ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(answers):
    return RandomStarts(n_states=2, n_starts=2, **QUIET).fit(answers)


QUESTIONS = ["predict", "predict_proba", "score", "score_samples", "impute", "transform"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_rows_of_another_type_are_refused(answers, fitted, question):
    for rows in (answers.astype({"b": str}), answers.head(1).astype({"b": str})):
        words = "No cell of the column is known: '[123]' is text, and 1 among the states is a number"
        with pytest.raises(UnseenCategoryError, match=f"column 'b' holds .*{words}"):
            getattr(fitted, question)(rows)


def test_rows_of_which_a_column_is_unknown_are_refused(answers, fitted):
    for cells in (answers["b"] + 10, 17):
        with pytest.raises(UnseenCategoryError, match=r'No cell of the column is known.*say absent="sum_out"'):
            posterior(fitted.tree_, answers.assign(b=cells))
    with pytest.warns(UnseenCategoryWarning):  # one new category, in a row or two
        posterior(fitted.tree_, answers.head(2).assign(b=17))
    with pytest.warns(UnseenCategoryWarning):  # a cell is known
        posterior(fitted.tree_, answers.assign(b=np.r_[17 : 16 + N, 1]))
    posterior(fitted.tree_, answers.assign(b=None))  # nobody says that these are known


@pytest.mark.parametrize("ask", [unusual_rows, residuals, classification_table], ids=lambda ask: ask.__name__)
def test_advice_names_only_keywords_that_there_are(answers, fitted, ask):
    for rows, words in (
        (answers.drop(columns="b"), r"X lacks the column 'b'; .*Add what is absent, with empty cells \(None\) if not"),
        (
            answers.assign(b=17),
            r"No cell of the column is known.*Map or convert the column, or empty its cells",
        ),
    ):
        with pytest.raises((DataError, UnseenCategoryError), match=words) as caught:
            ask(fitted, rows)
        assert "absent=" not in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask(fitted, answers.assign(b=None))  # the advice works


def test_updates_name_only_keywords_that_there_are(answers):
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(answers)
    with pytest.raises(UnseenCategoryError, match="No cell of the column is known") as caught:
        learner.partial_fit(answers.assign(b=17))
    assert "absent=" not in str(caught.value)
    learner.partial_fit(answers.assign(b=None))


@pytest.mark.parametrize("question", QUESTIONS)
def test_rows_may_lack_columns_where_the_caller_says_so(answers, fitted, question):
    short, empty = answers.drop(columns="b"), answers.assign(b=pd.array([None] * N, dtype="Int64"))
    with pytest.raises(AbsentColumnError, match=r'X lacks the column \'b\';.*or say absent="sum_out"'):
        getattr(fitted, question)(short)
    ours, theirs = getattr(fitted, question)(short, absent="sum_out"), getattr(fitted, question)(empty)
    if question == "impute":
        assert ours.columns.tolist() == ["a", "c", "d", "b"]  # what the table lacks comes last
        ours = ours[list("abcd")]
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    with pytest.raises(ValueError, match="absent is 'sum out'; give 'error' or 'sum_out'"):
        getattr(fitted, question)(short, absent="sum out")


def test_functions_sum_out_absent_columns(answers, fitted):
    for model in (fitted.tree_, StructuralEM(show_progress=False).fit(answers).network_):
        short, empty = answers[["a", "d"]], answers.assign(b=None, c=None)
        for ask in (row_log_likelihoods, log_likelihood):
            np.testing.assert_allclose(ask(model, short, absent="sum_out"), ask(model, empty), rtol=1e-12)
        for ask in (most_likely, posterior):
            one, other = ask(model, short, ["b"], absent="sum_out"), ask(model, empty, ["b"])
            pd.testing.assert_frame_equal(one, other)
        drawn = impute(model, short, method="draw", random_state=0, absent="sum_out")
        assert drawn.notna().all(axis=None)
        assert (drawn[["a", "d"]].to_numpy() == short.to_numpy()).all()
        with pytest.raises(AbsentColumnError, match="X has none of the columns of the model, as 'a'"):
            posterior(model, answers[["a"]].rename(columns={"a": "z"}), absent="sum_out")


# --- The command line -------------------------------------------------------------------------------------


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_line_keeps_codes_with_the_model(capsys, coded):
    table, gaps = coded
    table.to_csv("coded.csv", index=False)
    gaps.to_csv("gaps.csv", index=False)
    quick = ("--classes", "2", "--starts", "2")
    code, out, err = run(capsys, "learn", "coded.csv", *quick, "--output", "odd")
    assert code == 0
    words = "note: categories that may mean missing: 9 in column 'b', -1 in column 'd'; if they do, pass --missing b=9"
    assert words in out
    assert "codes for missing" not in err  # once is enough
    said = ("--missing", "b=9", "--missing", "d=-1")
    code, out, _ = run(capsys, "learn", "coded.csv", *quick, *said, "--output", "m")
    assert code == 0
    assert "39 missing cells" in out
    assert "may mean missing" not in out
    tree = load("m.json")
    assert dict(tree.missing) == {"b": (9,), "d": (-1,)}
    for command in ("predict", "score"):
        run(capsys, command, "m.json", "coded.csv", "--output", "one.csv")
        run(capsys, command, "m.json", "gaps.csv", "--output", "two.csv")
        assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    _, out, _ = run(capsys, "learn", "coded.csv", *quick, "--missing", "9,-1", "--output", "all")
    assert "39 missing cells" in out
    assert dict(load("all.json").missing) == dict.fromkeys("abcd", (9, -1))
    assert main(["compare", "coded.csv", "--classes", "1", "--starts", "1", *said]) == 0
    code, _, err = run(capsys, "learn", "coded.csv", "--missing", "B=9")
    assert (code, "--missing: there is no column 'B'; did you mean 'b'?" in err) == (2, True)


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_line_sums_out_absent_columns(capsys, answers, fitted):
    save(fitted.tree_, "m.json")
    answers.drop(columns="b").to_csv("short.csv", index=False)
    answers.assign(b=None).to_csv("empty.csv", index=False)
    code, _, err = run(capsys, "predict", "m.json", "short.csv")
    assert (code, "lacks a column of the model: there is no column 'b'" in err) == (2, True)
    for command in ("predict", "score"):
        assert (
            run(capsys, command, "m.json", "short.csv", "--absent", "sum-out", "--output", "one.csv", "--overwrite")[0]
            == 0
        )
        assert run(capsys, command, "m.json", "empty.csv", "--output", "two.csv", "--overwrite")[0] == 0
        assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    answers.assign(b="x").to_csv("odd.csv", index=False)
    code, _, err = run(capsys, "score", "m.json", "odd.csv")
    assert code == 2
    assert "No cell of the column is known: 'x' is text, and 1 among the states is a number" in err
    assert "say --absent sum-out" in err


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_line_has_the_same_check(capsys, answers):
    for what, (cells, _) in odd_columns().items():
        answers.assign(odd=cells).to_csv("t.csv", index=False)
        for command in ("learn", "compare"):
            code, _, err = run(capsys, command, "t.csv", "--classes", "1")
            assert (code, "column 'odd'" in err, "--allow-many-states odd" in err) == (2, True, True), what


# --- Columns of very many categories ----------------------------------------------------------------------


def test_a_column_of_thousands_of_categories_takes_no_square_of_them():
    """A pass of EM took a vector of 10,000 states for each of 10,000 categories, and so all of a short time limit."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (20_000, 4)), columns=list("abcd"))
    table["town"] = np.char.add("t", rng.integers(0, 10_000, 20_000).astype(str))
    star = DAG([*STAR, ("H", "town")], latents={"H"})
    tracemalloc.start()
    try:
        with pytest.warns(ManyStatesWarning, match="column 'town'"):
            TreeEM(seed=0, n_init=1, atol=0.0, max_iter=3, show_progress=False).fit(star, table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2e8


def test_east_refuses_categories_that_no_time_limit_could_stop():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.integers(0, 2, 5000) for name in "abc"}).assign(odd=np.arange(5000) // 2)
    began = time.monotonic()
    with pytest.raises(DataError, match=r"column 'odd' has 2,500 categories\. EAST counts pairs of categories"):
        EAST(time_limit=3, **QUIET).fit(table, allow_many_states=True)
    assert time.monotonic() - began < 3
