"""How the command line reads a table: missing codes, columns set aside, numbers as other programs write them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, load, sample, save
from pgmpy_latent.cli import main
from pgmpy_latent.tables.files import read_table
from tests.support.samples import latent_class

QUICK = ("--classes", "2", "--starts", "2")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


@pytest.fixture(scope="module")
def survey():
    """A survey with words and numbers for missing answers, weights, and villages that are numbered."""
    drawn = sample(latent_class(2, [3, 3, 5]), 120, random_state=0)
    drawn.columns = ["trust", "news", "scale"]
    codes = drawn.apply(lambda column: column.astype("category").cat.codes)
    words = np.array(["low", "mid", "high"], dtype=object)
    table = pd.DataFrame({"trust": words[codes["trust"]], "news": words[codes["news"]], "scale": codes["scale"] + 1})
    table.loc[:9, "trust"] = "refused"
    table.loc[5:14, "scale"] = 99
    table.loc[20:24, "news"] = "NA"
    return table.assign(village=np.arange(120) // 6 + 1, w=np.where(np.arange(120) % 2, 0.5, 1.5))


def test_codes_for_all_columns_leave_weights_and_clusters_alone(capsys, survey):
    survey.to_csv("t.csv", index=False)
    drawn = ("--weights", "w", "--cluster", "village")
    code, out, err = run(capsys, "learn", "t.csv", *QUICK, *drawn, "--missing", "refused,99,10,1.5", "--output", "m")
    assert code == 0, err
    assert "20 clusters" in out
    survey.assign(village=survey["village"].where(survey["village"] != 10)).to_csv("gap.csv", index=False)
    code, _, err = run(capsys, "learn", "gap.csv", *QUICK, *drawn, "--output", "m2")
    assert (code, "--cluster: in row 55 of the table, 'village' is missing" in err) == (2, True)
    run(capsys, "predict", "m.json", "t.csv", "--id", "village", "--missing", "10", "--output", "p.csv")
    assert pd.read_csv("p.csv")["village"].tolist() == survey["village"].tolist()


def test_codes_for_all_columns_that_occur_nowhere_are_pointed_out(capsys, survey):
    survey.drop(columns=["village", "w"]).to_csv("t.csv", index=False)
    _, _, err = run(capsys, "learn", "t.csv", *QUICK, "--missing", "refused,nosuch,NA", "--output", "m")
    assert "note: --missing nosuch: no column holds 'nosuch'; mend it if it is mistyped" in err
    assert "--missing refused" not in err
    pytest.importorskip("pyarrow")
    survey.drop(columns=["village", "w"]).to_parquet("t.parquet")
    _, _, err = run(capsys, "learn", "t.parquet", *QUICK, "--missing", "99,nosuch", "--output", "m3")
    assert "note: --missing nosuch: no column holds 'nosuch'" in err
    assert "--missing 99" not in err


def test_codes_for_all_columns_do_not_hide_others(capsys, survey):
    survey.drop(columns=["village", "w"]).to_csv("t.csv", index=False)
    for command in (("learn", *QUICK, "--output", "m"), ("compare", "--classes", "1", "--starts", "1")):
        code, out, _ = run(capsys, command[0], "t.csv", *command[1:], "--missing", "refused")
        assert code == 0
        assert "categories that may mean missing: 'NA' in column 'news', 99 in column 'scale'; if they do, pass" in out


def test_a_mistyped_code_is_pointed_out_beside_what_the_column_holds(capsys, survey):
    survey.drop(columns=["village", "w"]).to_csv("t.csv", index=False)
    _, _, err = run(capsys, "learn", "t.csv", *QUICK, "--missing", "trust=refusd", "--output", "m")
    assert "--missing trust=refusd: column 'trust' holds no 'refusd' but 'refused'; mend it if it is mistyped" in err
    _, _, err = run(capsys, "learn", "t.csv", *QUICK, "--missing", "scale=98", "--output", "m2")
    assert "column 'scale' holds no '98' but '99'" in err


def test_whole_numbers_with_a_fraction_of_zero_are_whole_numbers(capsys, survey):
    whole = survey[["trust", "news", "scale"]].assign(again=survey["scale"])
    gappy = whole.assign(scale=whole["scale"].where(whole.index % 9 > 0))
    gappy.to_csv("gappy.csv", index=False)
    assert ",99.0," in Path("gappy.csv").read_text()  # as pandas writes numbers with gaps
    code, _, err = run(capsys, "learn", "gappy.csv", *QUICK, "--missing", "scale=99", "--output", "m")
    assert code == 0, err
    assert "--missing scale=99" not in err  # 99.0 is 99
    tree = load("m.json")
    assert tree.state_names[tree.index("scale")] == (1, 2, 3, 4, 5)
    assert dict(tree.missing) == {"scale": (99,)}
    whole.to_csv("whole.csv", index=False)
    assert run(capsys, "predict", "m.json", "whole.csv", "--output", "one.csv")[0] == 0
    mixed = whole.astype({"scale": str})
    mixed.loc[::2, "scale"] += ".0"
    mixed.to_csv("mixed.csv", index=False)
    assert run(capsys, "predict", "m.json", "mixed.csv", "--output", "two.csv")[0] == 0
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    odd = mixed.assign(scale=mixed["scale"].where(mixed.index != 3, "oops"))
    odd.to_csv("odd.csv", index=False)
    code, _, err = run(capsys, "predict", "m.json", "odd.csv", "--output", "three.csv")
    assert (code, "column 'scale' holds 'oops' (1 row)" in err) == (0, True)


def test_models_of_python_read_numbers_in_whatever_way_they_are_written(capsys, survey):
    table = survey[["trust", "news"]].assign(size=np.where(survey["scale"] > 2, "1.0", "2.0"))
    save(RandomStarts(n_states=2, n_starts=2, random_state=0).fit(table, missing={}).tree_, "m.json")
    table.to_csv("t.csv", index=False)
    table.assign(size=np.where(survey["scale"] > 2, 1, 2)).to_csv("whole.csv", index=False)
    for file, output in (("t.csv", "one.csv"), ("whole.csv", "two.csv")):
        code, _, err = run(capsys, "predict", "m.json", file, "--missing", "", "--output", output)
        assert (code, "not among its states" in err) == (0, False)
    assert Path("one.csv").read_text() == Path("two.csv").read_text()


def test_names_of_columns_and_codes_may_hold_equals_signs(capsys, survey):
    survey = survey.drop(columns=["village", "w"]).rename(columns={"trust": "a=b"})
    survey.loc[30, "news"] = "x=y"
    survey.to_csv("t.csv", index=False)
    said = ("--missing", "a=b=refused", "--missing", "news=x=y", "--missing", "NA")
    code, out, err = run(capsys, "learn", "t.csv", *QUICK, *said, "--output", "m")
    assert (code, "16 missing cells" in out) == (0, True), err
    assert dict(load("m.json").missing) == {"a=b": ("NA", "refused"), "news": ("NA", "x=y"), "scale": ("NA",)}
    survey.assign(a=1).to_csv("t.csv", index=False)
    code, _, err = run(capsys, "learn", "t.csv", *QUICK, *said)
    words = "--missing: 'a=b=refused' can mean 'b=refused' in column 'a' or 'refused' in column 'a=b'; rename one of"
    assert (code, words in err) == (2, True), err
    code, _, err = run(capsys, "learn", "t.csv", *QUICK, "--missing", "new=x=y")
    assert (code, "--missing: there is no column 'new'; did you mean 'news'?" in err) == (2, True), err


def test_decimal_commas_in_files_with_semicolons(capsys, survey):
    survey["scale"] = survey["scale"].replace(99, np.nan)
    survey["height"] = np.where(np.arange(120) % 3, 1.75, 1.5)
    survey.to_csv("t.csv", index=False, sep=";", decimal=",")
    said = ("--weights", "w", "--drop", "village", "--missing", "refused,NA", *QUICK)
    code, out, err = run(capsys, "learn", "t.csv", *said, "--output", "m")
    assert code == 0, err
    assert "commas are decimal commas in columns 'scale', 'w', 'height', read as points" in out
    assert "2: 1.5, 1.75 [decimal commas]" in out
    assert "may mean missing" not in out
    tree = load("m.json")
    assert tree.state_names[tree.index("scale")] == (1, 2, 3, 4, 5)
    survey.to_csv("points.csv", index=False)
    assert run(capsys, "learn", "points.csv", *said, "--output", "same")[0] == 0
    assert load("same.json") == tree


@pytest.mark.parametrize(("separator", "cells"), [(",", ["1,5", "2,5"]), (";", ["1,5", "1,2,3"]), (";", ["1,5", "x"])])
def test_other_commas_stay_text(separator, cells):
    pd.DataFrame({"a": cells, "b": 1}).to_csv("t.csv", index=False, sep=separator)
    assert read_table("t.csv").frame["a"].tolist() == cells
