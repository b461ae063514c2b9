"""What the command line writes over: never what it reads, none of its files twice, others only with --overwrite."""

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pgmpy_latent import load, sample, save
from pgmpy_latent.cli import main
from tests.cli.test_commands import COMMANDS
from tests.support.samples import latent_class

LEARN = ["learn", "rows.csv", "--method", "independence"]
THERE = "exists already; give another name, or pass --overwrite to replace it"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Work in a folder with a table and a model, and with other names for both."""
    monkeypatch.chdir(tmp_path)
    tree = latent_class(2, [2, 2])
    save(tree, "model.json")
    frame = sample(tree, 40, random_state=0)
    frame.to_csv("rows.csv", index=False)
    Path("folder").mkdir()
    Path("link.csv").symlink_to("rows.csv")
    os.link("rows.csv", "hard.csv")
    Path("link.json").symlink_to("model.json")


def contents():
    return {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def refused(capsys, *argv):
    """Return what is said about a command that is refused, before any work, and writes nothing."""
    before = contents()
    capsys.readouterr()
    assert main([*map(str, argv)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert contents() == before
    return " ".join(err.split())


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize(
    "name", ["rows.csv", "folder/../rows.csv", "link.csv", "hard.csv", os.path.join("folder", "..", "link.csv")]
)
def test_what_is_read_is_never_written(capsys, name, overwrite):
    words = f"{name!r} is the table, which this command reads; give another name"
    assert f"--report: {words}" in refused(capsys, *LEARN, "--report", name, *overwrite)
    assert f"--checkpoint: {words}" in refused(capsys, "learn", "rows.csv", "--checkpoint", name, *overwrite)
    assert f"--output: {words}" in refused(capsys, "compare", "rows.csv", "--output", name, *overwrite)
    for command in ("score", "predict"):
        argv = [command, "model.json", "rows.csv", "--output"]
        assert f"--output: {words}" in refused(capsys, *argv, name, *overwrite)
        assert "'link.json' is the model, which this command reads" in refused(capsys, *argv, "link.json", *overwrite)
    sampled = refused(capsys, "sample", "link.json", "--output", "model.json", *overwrite)
    assert "--output: 'model.json' is the model, which this command reads; give another name" in sampled
    converted = refused(capsys, "convert", "model.json", "./model.json", *overwrite)
    assert "OUT: 'model.json' is the model, which this command reads; give another name" in converted


def test_a_table_called_as_the_model_will_be(capsys):
    shutil.copy("rows.csv", "rows.json")
    message = refused(capsys, "learn", "rows.json", "--separator", ",", "--output", "rows", "--overwrite")
    assert "--output: 'rows.json' is the table, which this command reads; give another name" in message
    shutil.copy("rows.csv", "pgmpy-latent-model.json")
    message = refused(capsys, "learn", "pgmpy-latent-model.json", "--separator", ",")
    assert "'pgmpy-latent-model.json' is the table" in message


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_outputs_of_one_command_are_different_files(capsys, overwrite):
    argv = [*LEARN, "--output", "m", *overwrite]
    assert "--report: 'm.json' is also the file of --output" in refused(capsys, *argv, "--report", "m.json")
    assert "--report: 'm.bif' is also the file of --output" in refused(capsys, *argv, "--report", "m.bif")
    checkpoint = ["--checkpoint", "folder/../m.json"]
    assert "--checkpoint: 'folder/../m.json' is also the file of --output" in refused(capsys, *argv, *checkpoint)
    both = ["--checkpoint", "a", "--report", "./a"]
    assert "--report: 'a' is also the file of --checkpoint; give another name" in refused(capsys, *argv, *both)
    default = ["--checkpoint", "pgmpy-latent-model.json"]
    assert "--checkpoint: 'pgmpy-latent-model.json' is also" in refused(capsys, *LEARN, *default, *overwrite)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ([*LEARN, "--output", "m"], "m.json"),
        ([*LEARN, "--output", "m", "--bif"], "m.bif"),
        ([*LEARN, "--report", "r.html"], "r.html"),
        (["compare", "rows.csv", "--classes", "1", "--output", "c.csv"], "c.csv"),
        (["score", "model.json", "rows.csv", "--output", "s.csv"], "s.csv"),
        (["predict", "model.json", "rows.csv", "--output", "p.csv"], "p.csv"),
        (["sample", "model.json", "-n", "3", "--output", "d.csv"], "d.csv"),
        (["convert", "model.json", "copy.json"], "copy.json"),
        (["demo", "demo.csv"], "demo.csv"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_files_that_are_there_are_written_over_only_if_told_to(capsys, argv, name):
    Path(name).write_text("mine")
    assert f"{name!r} {THERE}" in refused(capsys, *argv)
    assert main([*argv, "--overwrite"]) == 0
    assert Path(name).read_text() != "mine"


def test_a_link_to_nothing_is_there_too(capsys):
    Path("m.json").symlink_to("elsewhere.json")
    assert f"'m.json' {THERE}" in refused(capsys, *LEARN, "--output", "m")


def test_plain_learning_may_be_repeated(capsys):
    assert main(LEARN) == 0
    first = load("pgmpy-latent-model.json")
    assert main(["learn", "rows.csv", "--classes", "1"]) == 0
    assert load("pgmpy-latent-model.json") != first


def test_a_checkpoint_that_is_there_is_taken_up_and_no_other_file_is(capsys):
    argv = ["learn", "rows.csv", "--method", "split-merge", "--checkpoint", "search.json"]
    assert main(argv) == 0
    assert main(argv) == 0
    assert "--report: 'search.json' is also the file of --checkpoint" in refused(
        capsys, *argv, "--report", "search.json"
    )
    assert f"--report: 'search.json' {THERE}" in refused(capsys, *LEARN, "--report", "search.json")
    table = ["learn", "rows.csv", "--method", "split-merge", "--checkpoint", "model.json"]
    before = contents()
    assert main(table) == 2
    assert "checkpoint 'model.json' is not the file of a search. Name another file." in capsys.readouterr().err
    assert {path: text for path, text in contents().items() if path in before} == before


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_so(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "--overwrite" in words
    assert "overwrite existing files (never those that are read)" in words


def test_rows_stay_readable(capsys):
    before = pd.read_csv("rows.csv")
    refused(capsys, *LEARN, "--report", "rows.csv", "--overwrite")
    pd.testing.assert_frame_equal(pd.read_csv("rows.csv"), before)
