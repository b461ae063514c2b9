"""``pgmpy-latent compare --group``."""

import pandas as pd
import pytest

from pgmpy_latent import datasets
from pgmpy_latent.cli import main


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "answers.csv"
    datasets.load_anes96()[["vote", "PID", "selfLR"]].to_csv(path, index=False)
    return path


def test_it_says_what_differs(table, tmp_path, capsys):
    output = tmp_path / "models.csv"
    code = main(["compare", str(table), "--group", "vote", "--classes", "2", "--starts", "2", "--output", str(output)])
    said = capsys.readouterr().out
    assert code == 0
    assert "* sizes differ" in said
    assert "selfLR" in said
    assert "Recommended: sizes differ. BIC is best where the sizes of the classes differ" in " ".join(said.split())
    assert pd.read_csv(output)["rung"].tolist()[:2] == ["nothing differs", "sizes differ"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", "vote"], "--group compares groups for one number of classes; give it, as --classes 3"),
        (["--group", "vot", "--classes", "2"], "'vot'"),
        (["--group", "vote", "--classes", "2", "--bootstrap", "9"], "--bootstrap has no meaning with --group"),
        (["--group", "vote", "--classes", "2", "--ordinal", "PID"], "--ordinal has no meaning with --group"),
    ],
)
def test_mistakes_are_named(table, capsys, options, message):
    assert main(["compare", str(table), *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_checkpoint_is_continued_from(table, tmp_path, capsys):
    argv = ["compare", str(table), "--group", "vote", "--classes", "2", "--starts", "1"]
    argv += ["--checkpoint", str(tmp_path / "groups.json")]
    assert main([*argv, "--time-limit", "0.000001"]) == 0
    late = capsys.readouterr()
    assert "all differ" not in late.out
    assert "the time limit stopped the comparison of groups" in " ".join(late.err.split())
    assert main(argv) == 0
    assert "all differ" in capsys.readouterr().out


def test_numbers_of_classes_have_a_time_limit(table, tmp_path, capsys):
    argv = ["compare", str(table), "--classes", "1-3", "--starts", "1"]
    assert main([*argv, "--time-limit", "0.000001", "--checkpoint", str(tmp_path / "classes.json")]) == 0
    said = capsys.readouterr()
    assert "the time limit stopped the comparison at 1 class;" in " ".join(said.err.split())
    assert main([*argv, "--checkpoint", str(tmp_path / "classes.json")]) == 0


def test_the_column_of_groups_need_not_be_among_the_others(table, capsys):
    argv = [
        "compare",
        str(table),
        "--columns",
        "PID,selfLR",
        "--group",
        "vote",
        "--classes",
        "2",
        "--starts",
        "1",
    ]
    assert main(argv) == 0
    assert "vote" in capsys.readouterr().out
