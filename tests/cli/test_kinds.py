"""The option ``--kinds``: which columns of a file are numbers."""

import re

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import load
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
    assert "sex: categorical, 2 categories" in said
    assert "pressure: gaussian, " in said
    assert " values from " in said
    assert "visits: poisson, " in said
    assert "of numbers mean and standard deviation" in said.replace("\n", " ")
    tree = load("pgmpy-latent-model.json")
    assert tree.is_numeric.tolist() == [False, False, True, True]
    assert not [line for line in said.splitlines() if line.startswith("print") and "pressure" in line]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kinds", "auto"], "'visits' holds .* different whole numbers.*--kinds COLUMN=KIND"),
        (["--kinds", "sex=gaussian"], "in row 1 of the table, 'sex' is '.', which is no number; pass --missing sex="),
        (["--kinds", "age=gaussian"], "--kinds: there is no column 'age'"),
        (["--kinds", "visits=poisson", "--method", "bin-g"], "bin-g learns from categories alone.*use classes"),
    ],
)
def test_mistakes_are_named_with_their_remedy(file, options, words, capsys):
    assert main(["learn", file, *options]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(words, said), said
