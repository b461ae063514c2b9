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
