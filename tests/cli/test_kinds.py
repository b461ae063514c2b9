"""The option ``--kinds``: which columns of a file are numbers."""

import re

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import compare_classes, load, posterior, row_log_likelihoods
from pgmpy_latent.cli import main


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ill = rng.integers(2, size=80)
    frame = pd.DataFrame(
        {
            "sex": np.where(rng.random(80) < 0.2 + 0.6 * ill, "f", "m"),
            "pressure": rng.normal(120 + 30 * ill, 10).round(1),
            "visits": rng.poisson(1 + 12 * ill),
        }
    )
    frame.loc[:4, "pressure"] = np.nan
    frame.to_csv("clinic.csv", index=False)
    return "clinic.csv"


def test_kinds_are_said_back_and_numbers_are_described_by_mean_and_deviation(file, capsys):
    assert main(["learn", file, "--kinds", "visits=poisson", "--classes", "2", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    table = [line.split() for line in said.splitlines()]
    assert ["sex", "text", "-", "2:", "f,", "m"] in table
    assert any(line[:4] == ["pressure", "gaussian", "5", "(6%)"] and line[5:7] == ["values", "from"] for line in table)
    assert any(line[:3] == ["visits", "poisson", "-"] for line in table)
    assert "of numbers mean and standard deviation" in said.replace("\n", " ")
    tree = load("pgmpy-latent-model.json")
    assert tree.is_numeric.tolist() == [False, False, True, True]
    assert not [line for line in said.splitlines() if line.startswith("print") and "pressure" in line]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kinds", "auto"], "'visits' holds .* different whole numbers.*--kinds COLUMN=KIND"),
        (["--kinds", "sex=gaussian"], "'sex' is '.' in row 1 of the table, which is no number; pass --missing sex="),
        (["--kinds", "age=gaussian"], "--kinds: there is no column 'age'"),
        (["--kinds", "visits=poisson", "--method", "bin-g"], "bin-g learns from categories alone.*use classes"),
    ],
)
def test_mistakes_are_named_with_their_remedy(file, options, words, capsys):
    assert main(["learn", file, *options]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(words, said), said


def test_score_and_predict_read_the_numbers_of_a_model(file, capsys):
    assert main(["learn", file, "--kinds", "visits=poisson", "--classes", "2", "--jobs", "1"]) == 0
    tree, frame = load("pgmpy-latent-model.json"), pd.read_csv(file)
    assert main(["score", "pgmpy-latent-model.json", file, "--output", "scores.csv"]) == 0
    assert main(["predict", "pgmpy-latent-model.json", file, "--output", "classes.csv"]) == 0
    np.testing.assert_allclose(pd.read_csv("scores.csv")["log_likelihood"], row_log_likelihoods(tree, frame), rtol=1e-9)
    np.testing.assert_allclose(pd.read_csv("classes.csv")["P(H=1)"], posterior(tree, frame)["H", 1], atol=1e-5)

    frame["pressure"] = frame["pressure"].astype(object).where(frame.index != 6, "high")
    frame.to_csv("new.csv", index=False)
    assert main(["score", "pgmpy-latent-model.json", "new.csv"]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert "'pressure' is a number in the model, and 'high' in row 7 of the table is none; pass --missing" in said
    assert main(["score", "pgmpy-latent-model.json", "new.csv", "--missing", "pressure=high"]) == 0


def test_compare_takes_kinds(file, capsys):
    options = ["--kinds", "visits=poisson", "--starts", "4", "--jobs", "1", "--output", "all.csv"]
    assert main(["compare", file, "--classes", "1-3", *options]) == 0
    assert "Recommended: 2 classes" in capsys.readouterr().out
    expected = compare_classes(pd.read_csv(file), range(1, 4), kinds={"visits": "poisson"}, n_starts=4)
    np.testing.assert_allclose(pd.read_csv("all.csv")["log_likelihood"], expected["log_likelihood"], rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--bootstrap", "9"], "--bootstrap draws tables of categories alone; leave it out, or --kinds"),
        (["--classes", "2", "--group", "sex"], "--kinds has no meaning with --group; leave it out"),
        (["--ordinal", "visits"], "--ordinal names column 'visits', which --kinds says is a number; leave out either"),
    ],
)
def test_compare_says_what_numbers_do_not_have(file, options, words, capsys):
    assert main(["compare", file, "--kinds", "visits=poisson", *options]) != 0
    assert words in " ".join(capsys.readouterr().err.split())


def test_codes_of_missing_numbers_are_remembered_as_numbers(file, capsys):
    frame = pd.read_csv(file)
    frame.fillna({"pressure": 999}).to_csv("coded.csv", index=False)
    options = ["--kinds", "visits=poisson", "--missing", "pressure=999,refused", "--classes", "2", "--jobs", "1"]
    assert main(["learn", "coded.csv", *options]) == 0
    tree = load("pgmpy-latent-model.json")
    assert dict(tree.missing) == {"pressure": (999.0, "refused")}
    in_python = row_log_likelihoods(tree, pd.read_csv("coded.csv"))
    np.testing.assert_array_equal(in_python, row_log_likelihoods(tree, frame))
    assert main(["score", "pgmpy-latent-model.json", "coded.csv", "--output", "scores.csv"]) == 0
    np.testing.assert_allclose(pd.read_csv("scores.csv")["log_likelihood"], in_python, rtol=1e-9)
