"""Tables as other programs write them: SPSS, Stata, SAS, Excel, other separators and encodings."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent.cli import main
from pgmpy_latent.tables.encode import encode
from pgmpy_latent.tables.files import BadInputError, read_table


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def survey():
    return pd.DataFrame(
        {
            "trust": [1.0, 2.0, 9.0, np.nan, 2.0, 1.0],
            "age": [20.0, 98.0, 99.0, 41.0, 41.0, 20.0],
            "scale": [1.0, 7.0, 4.0, 1.0, 7.0, 4.0],
            "w": [0.5, 1.5, 1.0, 1.0, 0.5, 1.5],
            "place": ["Bern", "", "Zürich", "Bern", "Zürich", "Bern"],
        }
    )


LABELS = {"trust": {1: "a lot", 2: "a little", 9: "refused"}, "scale": {1: "never", 7: "always"}}


def pyreadstat():
    return pytest.importorskip("pyreadstat", reason="pyreadstat is not installed: pip install pyreadstat")


def cells(column):
    return column.astype(object).where(column.notna(), None).tolist()


def written(survey, ending):
    path = f"t{ending}"
    if ending in (".sav", ".zsav"):
        pyreadstat().write_sav(
            survey, path, variable_value_labels=LABELS, column_labels=["Do you trust?", "", "", "", ""],
            missing_ranges={"trust": [9], "age": [{"lo": 98, "hi": 99}]}, compress=ending == ".zsav",
        )  # fmt: skip
    elif ending == ".dta":
        plain = survey.assign(age=survey["age"].where(survey["age"] < 98, "a").astype(object))
        pyreadstat().write_dta(
            plain, path, variable_value_labels=LABELS, column_labels=["Do you trust?", "", "", "", ""],
            missing_user_values={"age": ["a"]},
        )  # fmt: skip
    else:
        pyreadstat().write_xport(survey, path)
    return path


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_spss(survey, ending):
    table = read_table(written(survey, ending))
    assert cells(table.frame["trust"]) == ["a lot", "a little", None, None, "a little", "a lot"]
    assert encode(table.frame[["trust"]]).state_names == (("a lot", "a little"),)  # as the codes, not as the alphabet
    assert cells(table.frame["age"]) == [20, None, None, 41, 41, 20]
    assert table.frame["scale"].tolist() == [1, 7, 4, 1, 7, 4]  # 4 has no label
    assert encode(table.frame[["scale"]]).state_names == ((1, 4, 7),)
    assert table.frame["w"].tolist() == survey["w"].tolist()
    assert table.frame["place"].isna().tolist() == [False, True, False, False, False, False]
    assert table.labels == {"trust": "Do you trust?"}
    assert table.notes == ["cells with codes that the file declares missing count as missing: 1 in 'trust', 2 in 'age'"]


def test_stata(survey):
    table = read_table(written(survey, ".dta"))
    assert encode(table.frame[["trust"]]).state_names == (("a lot", "a little", "refused"),)
    assert cells(table.frame["age"]) == [20, None, None, 41, 41, 20]
    assert table.notes == ["cells with codes that the file declares missing count as missing: 2 in 'age'"]


def test_sas(survey):
    table = read_table(written(survey, ".xpt"))
    assert table.frame["age"].tolist() == [20, 98, 99, 41, 41, 20]
    assert int(table.frame["trust"].isna().sum()) == 1


def test_named_codes_hold_in_spss_too(survey):
    table = read_table(written(survey, ".sav"), missing_in={"trust": ["a lot"], "scale": ["7"]})
    assert table.frame["trust"].notna().tolist() == [False, True, False, False, True, False]
    assert table.frame["scale"].notna().tolist() == [True, False, True, True, False, True]
    with pytest.raises(BadInputError, match="--missing: there is no column 'scal'; did you mean 'scale'"):
        read_table("t.sav", missing_in={"scal": ["7"]})


def test_codes_that_share_a_label_stay_codes():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    pyreadstat().write_sav(frame, "t.sav", variable_value_labels={"x": {1: "a", 2: "a", 3: "b"}})
    assert read_table("t.sav").frame["x"].tolist() == [1, 2, 3]


def test_learning_from_spss_says_what_it_understood(survey, capsys):
    rows = pd.concat([survey] * 10, ignore_index=True)
    written(rows, ".sav")
    argv = ["learn", "t.sav", "--classes", "2", "--starts", "2", "--weights", "w", "--drop", "place", "--output", "m"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "  trust   text     20 (33%)  2: a lot, a little  [Do you trust?]\n" in out
    assert "  age     numbers  20 (33%)  2: 20, 41\n" in out
    assert "  scale   numbers  -         3: 1, 4, 7\n" in out
    assert "codes that the file declares missing count as missing: 10 in 'trust', 20 in 'age'" in " ".join(out.split())


def book(*sheets):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install openpyxl")
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets:
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    made.save("t.xlsx")
    return "t.xlsx"


def test_excel():
    rows = [["x", "y", None, "z"], [1, "a", None, 0.5], [2.0, "NA", None, 1.5], [None] * 4, [None, "b", None, 0.5]]
    table = read_table(book(("answers", rows), ("codes", [["k"], [1]])))
    frame = table.frame.astype(object)
    assert frame.where(frame.notna(), None).to_dict("list") == {
        "x": [1, 2, None], "y": ["a", None, "b"], "z": ["0.5", "1.5", "0.5"],
    }  # fmt: skip
    assert table.notes == ["the sheet 'answers' is read, and not the 1 other ones"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "is empty; the first row should name the columns"),
        ([["x", "y"]], "has a line of column names but no rows"),
        ([["x", "x"], [1, 2]], "two columns are called 'x'"),
        ([["x", None], [1, 2]], "column 2 has no name"),
    ],
)
def test_excel_files_that_are_no_tables(rows, words):
    with pytest.raises(BadInputError, match=words):
        read_table(book(("answers", rows)))


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt", ".xlsx", ".parquet"])
def test_damaged_files_name_the_program(ending):
    Path(f"t{ending}").write_bytes(b"not what it says" * 20)
    with pytest.raises(BadInputError, match=r"t\.\w+: cannot be read as (SPSS, Stata or SAS|Excel|Parquet) \("):
        read_table(f"t{ending}")
    Path(f"t{ending}").write_bytes(b"")
    with pytest.raises(BadInputError, match="is empty"):
        read_table(f"t{ending}")
    with pytest.raises(BadInputError, match="No such file"):
        read_table(f"nowhere{ending}")


@pytest.mark.parametrize(
    ("ending", "package"), [(".sav", "pyreadstat"), (".xlsx", "openpyxl"), (".parquet", "pyarrow")]
)
def test_a_package_that_is_not_installed_is_named(ending, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    Path(f"t{ending}").write_bytes(b"something")
    with pytest.raises(BadInputError, match=f"pip install {package}; or export the table as CSV"):
        read_table(f"t{ending}")


# Text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("separator", "words"), [(";", "semicolons"), ("\t", "tabs")])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz"])
def test_separators_are_recognised(separator, words, ending, survey):
    survey.to_csv(f"t{ending}", index=False, sep=separator)
    table = read_table(f"t{ending}")
    assert list(table.frame.columns) == list(survey.columns)
    assert table.notes == [f"cells are separated by {words}; pass --separator if they are not"]


def test_commas_in_tsv_and_commas_that_are_decimal():
    Path("t.tsv").write_text("a,b\n1,x\n2,y\n")
    assert read_table("t.tsv").frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    Path("t.csv").write_text("a;b\n1,5;x\n2,5;y\n")
    assert read_table("t.csv").frame.to_dict("list") == {"a": ["1.5", "2.5"], "b": ["x", "y"]}


@pytest.mark.parametrize(
    "text",
    ["a\nx;y\nz\n", 'a,b\n"x;y;z",1\n"x;y;z",2\n', "a,b\nx;y,1\nx;y,2\n", 'a,b\n"1\n2",3\n4,5\n'],
)
def test_other_marks_in_cells_are_no_separators(text):
    Path("t.csv").write_text(text)
    table = read_table("t.csv")
    assert list(table.frame.columns) == text.split("\n")[0].split(",")
    assert table.notes == []


def test_a_separator_that_is_named_is_taken_as_it_is():
    Path("t.csv").write_text("a;b|c;d\n1;2|3;4\n")
    assert list(read_table("t.csv", "|").frame.columns) == ["a;b", "c;d"]


def test_encodings():
    text = "plaçe;né\nZürich;oui\nBern;–\n"
    for encoding, notes in (("cp1252", 2), ("utf-8", 1), ("utf-8-sig", 1), ("utf-16", 1)):
        Path("t.csv").write_bytes(text.encode(encoding))
        table = read_table("t.csv")
        assert table.frame.to_dict("list") == {"plaçe": ["Zürich", "Bern"], "né": ["oui", "–"]}
        assert len(table.notes) == notes
        assert any("read as Windows-1252" in words for words in table.notes) == (encoding == "cp1252")


def test_commands_that_ask_a_model_say_what_was_unusual(capsys, tmp_path):
    Path("t.csv").write_text("a;b\n" + "x;y\nz;u\n" * 10)
    assert main(["learn", "t.csv", "--classes", "1", "--starts", "1", "--output", "m"]) == 0
    capsys.readouterr()
    assert main(["score", "m.json", "t.csv"]) == 0
    assert "note: cells are separated by semicolons" in capsys.readouterr().err
