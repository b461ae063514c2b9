"""Notes of the command line beside its results: limits that were reached, shares, options by their names."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, classification_table, load, sample, save
from pgmpy_latent.cli import main
from pgmpy_latent.exceptions import CheckpointError, DataError
from tests.support.samples import latent_class


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def rows():
    drawn = sample(latent_class(3, [3, 3, 3, 3]), 400, random_state=1)
    drawn.columns = list("abcd")
    return drawn


def run(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def test_learn_says_that_its_limit_was_reached(capsys, rows):
    rows.to_csv("t.csv", index=False)
    words = (
        "note: 2 classes is the largest number that was tried, so that more might be better still; try --max-classes 4"
    )
    assert words in run(capsys, "learn", "t.csv", "--max-classes", "2", "--starts", "4", "--output", "m")[1]
    for size in (("--classes", "2"), ("--max-classes", "5")):
        assert (
            "largest number" not in run(capsys, "learn", "t.csv", *size, "--starts", "4", "--output", f"m{size[1]}")[1]
        )


def test_a_class_by_itself_has_the_shares_of_the_table_however_short_the_time(capsys, rows):
    gaps = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.1)
    gaps.to_csv("t.csv", index=False)
    code, out, _ = run(capsys, "learn", "t.csv", "--time-limit", "1e-9", "--output", "m")
    assert code == 0
    assert "(of all rows, by the model)" in out
    assert "not converged" not in out
    assert "nats" not in out
    tree = load("m.json")
    for name in "abcd":
        shares = gaps[name].value_counts(normalize=True)
        states = tree.state_names[tree.index(name)]
        found = tree.table(name)[0]
        np.testing.assert_allclose(found, [shares[state] for state in states], rtol=1e-9)


def test_compare_names_the_option_for_more_starts(capsys, rows):
    noise = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (60, 5)), columns=list("abcde"))
    for table in (rows.head(60), noise):
        table.to_csv("t.csv", index=False)
        for classes in ("4", "6", "8"):
            _, out, _ = run(capsys, "compare", "t.csv", "--classes", classes, "--starts", "12")
            assert "n_starts" not in out
            if "raise --starts" in out:
                return
    pytest.fail("all starts agreed in every table")


def test_reports_and_tables_say_on_what_scale_rows_count(rows):
    table = rows.assign(w=np.random.default_rng(0).lognormal(0, 1, len(rows)).round(3))
    learner = RandomStarts(n_states=2, n_starts=2, random_state=0).fit(table, sample_weight="w")
    learner.report("page.html")
    kish = table["w"].sum() ** 2 / (table["w"] ** 2).sum()
    page = Path("page.html").read_text()
    assert (
        f"Rows count by their sampling weights, which sum to Kish’s effective number of rows: {kish:.1f} for 400"
        in page
    )
    assert classification_table(learner, table).to_numpy().sum() == pytest.approx(kish)
    RandomStarts(n_states=2, n_starts=2, random_state=0).fit(rows).report("plain.html")
    assert "Rows count" not in Path("plain.html").read_text()


def test_a_table_is_not_to_be_removed_for_a_checkpoint(rows):
    rows.to_csv("survey.csv", index=False)
    with pytest.raises(CheckpointError, match=r"'survey.csv' is not the file of a search. Name another file.$"):
        RandomStarts(n_states=2, checkpoint="survey.csv").fit(rows)


def test_paths_of_text_and_learners_in_place_of_models_get_a_hint(rows):
    rows.to_csv("survey.csv", index=False)
    with pytest.raises(DataError, match=r"If it is text, read it first: pd.read_csv\('survey.csv'\)"):
        RandomStarts(n_states=2).fit("survey.csv")
    learner = RandomStarts(n_states=2, n_starts=2, random_state=0).fit(rows)
    save(learner, "m.json")
    assert load("m.json") == learner.tree_


def test_columns_with_the_same_oddity_share_a_note_which_is_repeated_at_the_end(capsys, rows):
    wide = {f"m{at}": (np.arange(400) * (at + 1)) % 31 for at in range(3)}
    table = rows.assign(**wide, w=1).assign(**{"city, state": "x"})
    table.loc[:5, "city, state"] = "y"
    table.to_csv("t.csv", index=False)
    argv = ("learn", "t.csv", "--classes", "1", "--starts", "1", "--output", "m", "--drop", 'a,"city, state"')
    code, out, _ = run(capsys, *argv)
    assert code == 0
    words = (
        "columns 'm0', 'm1', 'm2' have more than 20 different numbers; if they are measurements, bin them (as 18-29, "
        "30-44, ...), or leave them out with --drop m0,m1,m2"
    )
    assert out.count(f"note: {words}") == 1
    first, end = out.split("Before you rely on it:")
    assert f"- {words}" in end
    assert "- column 'w' is used as a category; if it holds weights, pass --weights w" in end
    assert "city" not in first


def test_a_column_is_one_line_of_what_was_understood(capsys, rows):
    rows.assign(a=rows["a"].where(rows.index % 4 > 0)).to_csv("t.csv", index=False)
    out = run(capsys, "learn", "t.csv", "--classes", "1", "--starts", "1", "--output", "m")[1]
    assert "column kind missing categories a numbers 100 (25%) 3: 0, 1, 2 b numbers - 3: 0, 1, 2" in out
    many = pd.DataFrame({f"c{at}": ["x", "y"] * 5 for at in range(33)})
    many.to_csv("t.csv", index=False)
    out = run(capsys, "learn", "t.csv", "--classes", "1", "--starts", "1", "--output", "n")[1]
    assert "c29 text - 2: x, y ... and 3 more columns" in out
    assert "c30" not in out.split("more columns")[0]


@pytest.mark.parametrize("method", ["hlta", "find-hidden"])
def test_more_methods(capsys, rows, method):
    rows.head(80).to_csv("t.csv", index=False)
    code, out, err = run(capsys, "learn", "t.csv", "--method", method, "--output", "m", "--time-limit", "2", "--bif")
    assert code == 0, err
    assert "Written: m.json" in out
    code_lines = out.partition("In Python: ")[2]
    assert ("to_pgmpy" in code_lines) == (method == "hlta")
    assert run(capsys, "score", "m.json", "t.csv")[0] == 0
