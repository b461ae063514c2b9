"""The command that relates classes to other columns: what it prints, writes and refuses."""

import re

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import check_export, fitted, load, relate, sample, save
from tests.cli.test_commands import answers_tree, refused, run


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """Return rows with an age, a sex and weights, which are also at rows.csv; the model is at model.json."""
    monkeypatch.chdir(tmp_path)
    save(answers_tree(), "model.json")
    rows = sample(answers_tree(), 300, latents=True, random_state=1)
    rng = np.random.default_rng(0)
    rows["age"] = (40 + 10 * rows.pop("class") + rng.normal(0, 10, 300)).round(1)
    rows.loc[:9, "age"] = np.nan
    rows = rows.assign(
        sex=np.where(rng.random(300) < 0.5, "f", "m"), w=rng.integers(1, 3, 300), town=rng.integers(0, 30, 300)
    )
    rows.to_csv("rows.csv", index=False)
    return rows


def test_covariates(capsys, table):
    code, out, _ = run(capsys, "relate", "model.json", "rows.csv", "--covariates", "age,sex", "--output", "c.csv")
    assert code == 0
    expected = relate(load("model.json"), table, ["age", "sex"])
    assert out.startswith("Covariates and class: three steps, modal assignment, ML; 290 rows, 10 left out")
    assert pd.read_csv("c.csv")["estimate"].to_numpy() == pytest.approx(expected.coefficients["estimate"].to_numpy())


def test_the_category_that_others_are_compared_with_can_be_named_and_is_said(capsys, table):
    argv = ["relate", "model.json", "rows.csv", "--covariates", "age,sex", "--output", "c.csv", "--overwrite"]
    used = table.dropna(subset="age")["sex"]
    _, out, _ = run(capsys, *argv)
    assert f"against class 0, sex 'f' ({(used == 'f').mean():.0%})\n" in out
    first = pd.read_csv("c.csv").query("covariate == 'sex'")
    _, out, _ = run(capsys, *argv, "--reference", "sex=m")
    assert f"against class 0, sex 'm' ({(used == 'm').mean():.0%})\n" in out
    assert " <0.0001" in out
    assert "0.0000" not in out
    other = pd.read_csv("c.csv").query("covariate == 'sex'")
    assert (first["category"].tolist(), other["category"].tolist()) == (["m"], ["f"])
    assert other["estimate"].to_numpy() == pytest.approx(-first["estimate"].to_numpy(), abs=1e-4)


def test_outcomes(capsys, table):
    argv = ["relate", "model.json", "rows.csv", "--outcome", "age", "--steps", "2", "--output", "m.csv"]
    code, out, _ = run(capsys, *argv, "--weights", "w", "--cluster", "town")
    assert code == 0
    assert out.startswith("age by class (normal): two steps; 290 rows, 10 left out")
    expected = relate(load("model.json"), table, "age", "outcome", 2, sample_weight="w", cluster="town")
    written = pd.read_csv("m.csv")
    assert written["mean"].to_numpy() == pytest.approx(expected.means["mean"].to_numpy())
    assert written["standard_error"].to_numpy() == pytest.approx(expected.means["standard_error"].to_numpy())


def test_weights_strata_and_clusters_are_those_of_learn(capsys, table):
    drop = ["--drop", "age,sex"]
    learn = ["learn", "rows.csv", *drop, "--weights", "w", "--cluster", "town", "--classes", "2", "--output", "learned"]
    assert run(capsys, *learn)[0] == 0
    assert fitted("learned.json").design_ == {"sample_weight": "w", "cluster": "town"}
    argv = ["relate", "learned.json", "rows.csv", "--outcome", "age", "--output", "m.csv", "--overwrite"]
    _, _, err = run(capsys, *argv)
    assert "--weights w, as the model was learned; --weights none does without" in " ".join(err.split())
    remembered = pd.read_csv("m.csv")
    run(capsys, *argv, "--weights", "w", "--cluster", "town")
    pd.testing.assert_frame_equal(pd.read_csv("m.csv"), remembered)
    _, _, err = run(capsys, *argv, "--weights", "none", "--cluster", "none")
    assert "as the model was learned" not in err
    expected = relate(load("learned.json"), table, "age", "outcome")
    assert pd.read_csv("m.csv")["mean"].to_numpy() == pytest.approx(expected.means["mean"].to_numpy())
    assert not np.allclose(remembered["mean"], expected.means["mean"])


def test_weights_that_another_format_forgets_are_said_to_be_forgotten(capsys, table):
    learn = [
        "learn",
        "rows.csv",
        "--drop",
        "age,sex",
        "--weights",
        "w",
        "--weight-kind",
        "sampling",
        "--strata",
        "town",
    ]
    assert run(capsys, *learn, "--classes", "2", "--output", "learned")[0] == 0
    _, out, _ = run(capsys, "convert", "learned.json", "m.bif")
    assert "What only learned.json keeps: weights 'w' (sampling), strata 'town', numbers of rows" in " ".join(
        out.split()
    )
    assert "forgotten: weights 'w' (sampling), strata 'town'" in str(check_export(fitted("learned.json"), "bif"))
    run(capsys, "convert", "m.bif", "back.json")
    argv = ["rows.csv", "--outcome", "age"]
    for name in ("m.bif", "back.json"):
        _, unweighted, err = run(capsys, "relate", name, *argv)
        said = f"{name} does not say with which weights the model was learned, if any, and none are used"
        assert said in " ".join(err.split())
        _, without, err = run(capsys, "relate", name, *argv, "--weights", "none")
        assert without == unweighted
        assert "does not say" not in err
    _, out, _ = run(capsys, "convert", "learned.json", "copy.json")
    assert "keeps" not in out
    assert run(capsys, "relate", "copy.json", *argv) == run(capsys, "relate", "learned.json", *argv)


def test_the_kind_of_weights_is_remembered_too(capsys, table):
    learn = ["learn", "rows.csv", "--drop", "age,sex,town", "--weights", "w", "--weight-kind", "sampling"]
    assert run(capsys, *learn, "--classes", "2", "--output", "learned")[0] == 0
    argv = ["relate", "learned.json", "rows.csv", "--outcome", "age", "--output", "m.csv", "--overwrite"]
    run(capsys, *argv)
    expected = relate(fitted("learned.json"), table, "age", "outcome")
    written = pd.read_csv("m.csv")["standard_error"].to_numpy()
    assert written == pytest.approx(expected.means["standard_error"].to_numpy())
    run(capsys, *argv, "--weight-kind", "frequency")
    assert pd.read_csv("m.csv")["standard_error"].to_numpy() != pytest.approx(written, rel=1e-3)


def test_the_mean_score_has_the_weights_of_learn(capsys, table):
    learn = ["learn", "rows.csv", "--drop", "age,sex,town", "--weights", "w", "--classes", "2", "--output", "learned"]
    assert run(capsys, *learn)[0] == 0
    ends = [run(capsys, "score", "learned.json", "rows.csv", *more)[2] for more in ([], ["--weights", "w"])]
    means = [re.search(r"mean log-likelihood .*", err)[0] for err in ends]
    assert means[0] == means[1]
    assert "weighted by 'w'" in means[0]
    assert "--weights w, as the model was learned" in " ".join(ends[0].split())
    _, _, err = run(capsys, "score", "learned.json", "rows.csv", "--weights", "none")
    assert "weighted" not in err


def test_a_table_without_the_weights_of_learn_is_read_without_and_this_is_said(capsys, table):
    learn = ["learn", "rows.csv", "--drop", "age,sex,town", "--weights", "w", "--classes", "2", "--output", "learned"]
    assert run(capsys, *learn)[0] == 0
    table.drop(columns="w").to_csv("without.csv", index=False)
    code, _, err = run(capsys, "relate", "learned.json", "without.csv", "--outcome", "age")
    assert code == 0
    words = " ".join(err.split())
    assert "learned with --weights w, and the table has no such column: rows are read as if there were none" in words


def test_numbers_can_be_categories(capsys, table):
    argv = ["relate", "model.json", "rows.csv", "--outcome", "w", "--categorical", "w", "--correction", "none"]
    _, out, _ = run(capsys, *argv)
    assert out.startswith("w by class (categorical): three steps, modal assignment, not corrected")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--covariates", "height"], "height"),
        (["--covariates", "a"], "--covariates has ['a'], which the classes are made from"),
        (["--covariates", "sex", "--reference", "sex=x"], "--reference: 'sex' has no category 'x'; there are f, m"),
        (["--covariates", "sex", "--reference", "age=1"], "--reference: there is no column 'age'"),
        (["--covariates", "age", "--reference", "age=40"], "'age' holds numbers; pass --categorical age too"),
        (["--outcome", "sex", "--reference", "sex=m"], "--reference names categories of covariates"),
        (["--outcome", "age", "--steps", "1"], "steps=1 is not for outcomes"),
        (["--outcome", "age", "--categorical", "size"], "size"),
        (["--outcome", "age", "--latent", "G"], "latent is 'G'"),
    ],
)
def test_what_cannot_be_related_is_refused(capsys, options, message):
    assert message in refused(capsys, "relate", "model.json", "rows.csv", *options)


def test_a_checkpoint_is_continued_from(capsys, table):
    argv = ["relate", "model.json", "rows.csv", "--covariates", "age", "--steps", "1", "--checkpoint", "age.json"]
    code, out, err = run(capsys, *argv, "--time-limit", "0.000001")
    assert code == 0
    assert "the time limit stopped relate" in " ".join(err.split())
    code, again, _ = run(capsys, *argv)
    assert code == 0
    assert again == run(capsys, *argv[:-2])[1] != out
    assert "belongs to another search: kind=" in refused(
        capsys, *argv[:3], "--outcome", "age", "--checkpoint", "age.json"
    )
    assert "is the model, which this command reads" in refused(capsys, *argv[:-1], "model.json")


@pytest.mark.parametrize("option", ["--outcome", "--covariates"])
def test_values_that_look_like_codes_are_noted(capsys, table, option):
    ages = pd.Series(np.random.default_rng(0).integers(18, 81, 300)).where(np.arange(300) % 5 > 0, 99)
    table.assign(**{"age (years)": ages}).to_csv("rows.csv", index=False)
    argv = ["relate", "model.json", "rows.csv", option, "age (years)"]
    _, out, err = run(capsys, *argv)
    said = "values that may mean missing: 99 in column 'age (years)'; if they do, pass --missing 'age (years)=99'"
    assert said in " ".join(err.split())
    assert "taken as they are" not in err
    _, without, err = run(capsys, *argv, "--missing", "age (years)=99")
    assert "may mean missing" not in err
    assert "60 left out" in without
    assert without != out
