"""Paths that are no files, wherever one is given: refused before any work, and never waited for."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pgmpy_latent import (
    EAST,
    BinG,
    LatentClassificationModel,
    TreeEM,
    encode_chunks,
    load,
    presets,
    sample,
    save,
    to_pgmpy,
)
from pgmpy_latent.cli import main
from pgmpy_latent.exceptions import CheckpointError, DataError
from tests.classification import test_resume as classifier
from tests.support.mutants import estimators, fitted
from tests.support.samples import latent_class, small_tree, two_classes_of_columns

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")


@pytest.fixture(scope="module")
def table():
    return sample(two_classes_of_columns(), 300, random_state=1)


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Work in a folder with a table, a model, a pipe and a folder."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    for name in ("pipe.json", "pipe.bif", "pipe.parquet", "pipe.html", "pipe.csv.gz"):
        Path(name).symlink_to("pipe.csv")
    Path("folder").mkdir()
    frame = pd.DataFrame({"x": [0, 1] * 10, "y": [0, 1] * 10, "z": [0, 0, 1, 1] * 5})
    frame.to_csv("rows.csv", index=False)
    save(latent_class(2, [2, 2]), "model.json")


def fitted_to_nothing(learner, table, path):
    """Fit an estimator to a table that is refused as soon as it is read."""
    if isinstance(learner, LatentClassificationModel):
        return clone(learner).set_params(checkpoint=path).fit(np.full_like(classifier.X, np.inf), classifier.Y)
    return fitted(learner, table.assign(a1=[[0]] * len(table)), path)


@pytest.mark.parametrize("name", estimators())
def test_a_table_of_no_categories_is_refused(table, name):
    with pytest.raises((TypeError, ValueError), match=r"column '(a1|x0)'.*(list|has infinite values)"):
        fitted_to_nothing(estimators()[name], table, "search.json")


@pytest.mark.parametrize("name", estimators())
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pipe.csv", "checkpoint 'pipe.csv' is a pipe, not a file. Name another file"),
        (os.devnull, "is a device, not a file. Name another file"),
        ("folder", "is a folder, not a file. Name another file"),
        ("a\0b", r"holds a NUL character.*Name another file"),
        ("n" * 300, r"File name too long.*Name another file"),
    ],
)
def test_checkpoints_are_refused_before_the_table_is_read(table, name, path, words):
    with pytest.raises(CheckpointError, match=words):
        fitted_to_nothing(estimators()[name], table, path)


def test_long_names_of_checkpoints(table):
    path = "n" * 255
    learner = EAST(
        start=BinG(simplify=True),
        tuning=presets.EAST.replace(evaluation="dc"),
        random_state=0,
        show_progress=False,
        checkpoint=path,
    )
    first = learner.fit(table).tree_
    assert path in os.listdir()
    assert learner.fit(table).tree_ == first
    assert sorted(name for name in os.listdir() if "n" * 50 in name) == [path]


def test_models_and_reports(table):
    with pytest.raises(OSError, match="it is a pipe"):
        save(small_tree(), "pipe.json")
    with pytest.raises(OSError, match="it is a device"):
        save(small_tree(), os.devnull)
    with pytest.raises(OSError, match="is a pipe; give a file that save wrote"):
        load("pipe.json")
    with pytest.raises(ValueError, match="holds a NUL character"):
        load("a\0b")
    learner = BinG(random_state=0, show_progress=False).fit(table)
    for path, words in {"pipe.html": "it is a pipe", "folder": "it is a folder", "a\0b": "NUL character"}.items():
        with pytest.raises((OSError, ValueError), match=words):
            learner.report(path)


def test_tables_in_pieces():
    pytest.importorskip("pyarrow")
    for fit in (encode_chunks, lambda path: TreeEM().fit(to_pgmpy(small_tree()), path)):
        with pytest.raises(DataError, match=r"'pipe\.parquet' is a pipe; give a file, or a folder"):
            fit("pipe.parquet")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["learn", "pipe.csv"], "pipe.csv: is a pipe; give the name of a file"),
        (["learn", "pipe.csv.gz"], "is a pipe"),
        (["learn", "pipe.parquet"], "is a pipe"),
        (["compare", "pipe.csv"], "is a pipe"),
        (["score", "pipe.json", "rows.csv"], "pipe.json: is a pipe; give a model"),
        (["score", "pipe.bif", "rows.csv"], "is a pipe"),
        (["predict", "model.json", "pipe.csv"], "is a pipe"),
        (["sample", "pipe.json"], "is a pipe"),
        (["convert", "pipe.json", "new.json"], "is a pipe"),
        (["learn", "a\0b.csv"], "NUL character"),
        (["learn", "rows.csv", "--output", "pipe"], "--output: cannot write 'pipe.bif': it is a pipe"),
        (["learn", "rows.csv", "--report", "pipe.html"], "--report: cannot write 'pipe.html': it is a pipe"),
        (["learn", "rows.csv", "--report", "a\0b"], "NUL character"),
        (
            ["learn", "rows.csv", "--method", "east", "--checkpoint", "pipe.csv"],
            "--checkpoint: cannot write 'pipe.csv'",
        ),
        (["learn", "rows.csv", "--report", os.devnull, "--overwrite"], "it is a device"),
        (
            ["score", "model.json", "rows.csv", "--output", "pipe.csv"],
            "--output: cannot write 'pipe.csv': it is a pipe",
        ),
        (["sample", "model.json", "--output", "folder"], "it is a folder"),
        (["convert", "model.json", "pipe.json"], "OUT: cannot write 'pipe.json': it is a pipe"),
        (["compare", "rows.csv", "--output", "pipe.csv"], "it is a pipe"),
        (["demo", "pipe.csv"], "it is a pipe"),
    ],
    ids=lambda value: " ".join(value).replace("\0", "0") if isinstance(value, list) else "",
)
def test_the_command_line(capsys, argv, words):
    assert main(argv) == 2
    assert words in " ".join(capsys.readouterr().err.split())


# files that are damaged


def _damaged(content, rng):
    changed = bytearray(content)
    for at in rng.integers(0, len(content), rng.integers(1, 4)):
        changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def test_damaged_metadata_of_parquet(capsys):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv("rows.csv").assign(word=pd.Categorical(["no", "yes"] * 10))
    frame.to_parquet("rows.parquet")
    content = Path("rows.parquet").read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(120):
        Path("rows.parquet").write_bytes(content[:begin] + _damaged(content[begin:], rng))
        try:
            encode_chunks("rows.parquet")
        except DataError as error:
            refused += "rows.parquet" in str(error)
        code = main(["score", "model.json", "rows.parquet"])
        err = capsys.readouterr().err
        assert code in (0, 2)
        assert code == 0 or "rows.parquet" in err
    assert refused > 20


def test_a_damaged_file_among_others_is_named():
    pytest.importorskip("pyarrow")
    frame = pd.read_csv("rows.csv")
    for name in ("0.parquet", "1.parquet"):
        frame.to_parquet(Path("folder", name))
    content = Path("folder", "1.parquet").read_bytes()
    Path("folder", "1.parquet").write_bytes(content[:-100] + b"?" * 92 + content[-8:])
    with pytest.raises(DataError, match=r"1\.parquet' cannot be read"):
        encode_chunks("folder")


def test_damaged_uai_files(capsys):
    to_pgmpy(small_tree()).save("model.uai", "uai")
    content = Path("model.uai").read_bytes()
    rng = np.random.default_rng(0)
    for text in (content.replace(b"BAYES", b"MARKOV"), b"", *(_damaged(content, rng) for _ in range(80))):
        Path("model.uai").write_bytes(text)
        code = main(["sample", "model.uai", "-n", "1"])
        err = capsys.readouterr().err
        assert code in (0, 2)
        assert code == 0 or "model.uai" in err
