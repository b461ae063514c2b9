"""The commands for several rows per person or group: what they print, write and refuse."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import latent_transition, multilevel_classes
from tests.cli.test_commands import refused, run

MOVES = ["transitions", "panel.csv", "--id", "person", "--time", "wave", "--items", "health,mood", "--states", "2"]
LEVELS = ["levels", "panel.csv", "--group", "person", "--items", "health,mood", "--classes", "2", "--clusters", "2"]
FEW = ["--starts", "2", "--jobs", "1"]
TERMS = ["autumn", "winter", "spring"]


@pytest.fixture(autouse=True)
def panel(tmp_path, monkeypatch):
    """Return forty people at three waves, some of which are lacking; the table is also at panel.csv."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    well = (rng.random((40, 1)) < 0.5) ^ (rng.random((40, 3)) < 0.1)
    health = np.where(rng.random((40, 3)) < 0.9, well, ~well)
    mood = np.where(rng.random((40, 3)) < 0.8, well, ~well)
    rows = pd.DataFrame(
        {
            "person": np.repeat(np.arange(40), 3),
            "wave": np.tile([1, 2, 3], 40),
            "term": np.tile(TERMS, 40),
            "health": np.where(health.ravel(), "good", "poor"),
            "mood": np.where(mood.ravel(), "fine", "low"),
            "w": np.repeat(rng.integers(1, 3, 40), 3),
        }
    )
    rows = rows[rng.random(len(rows)) < 0.9].reset_index(drop=True)
    rows.to_csv("panel.csv", index=False)
    return rows


def test_transitions(capsys, panel):
    files = ["--output", "all.csv", "--paths", "paths.csv", "--report", "page.html"]
    code, out, _ = run(capsys, *MOVES, *FEW, *files, "--weights", "w")
    assert code == 0
    found = latent_transition(panel, "person", "wave", ["health", "mood"], 2, sample_weight="w", n_starts=2)
    assert out.startswith("LatentTransition(2 states, 3 times, 40 people, equal transitions, 7 parameters")
    written = pd.read_csv("all.csv")
    assert written.columns.tolist() == ["table", "time", "state", "from", "item", "category", "probability"]
    parts = {name: part["probability"].to_numpy() for name, part in written.groupby("table")}
    for name, frame in (("share", found.shares_), ("transition", found.transitions_), ("answer", found.profiles_)):
        np.testing.assert_allclose(parts[name], frame.to_numpy().T.ravel(), atol=1e-9)
    assert f"   0  {found.transitions_.iloc[0, 0]:.3f}  {found.transitions_.iloc[0, 1]:.3f}" in out
    paths = pd.read_csv("paths.csv", index_col="person")
    np.testing.assert_array_equal(paths.to_numpy(), found.paths().to_numpy())
    assert "<title>" in Path("page.html").read_text(encoding="utf-8")


def test_times_that_are_texts_are_put_in_order(capsys, panel):
    argv = [word if word != "wave" else "term" for word in MOVES]
    files = ["--output", "all.csv", "--paths", "paths.csv"]
    assert run(capsys, *argv, *FEW, "--times", ",".join(TERMS), "--by-time", *files)[0] == 0
    ordered = panel.assign(term=pd.Categorical(panel["term"], TERMS, ordered=True))
    found = latent_transition(ordered, "person", "term", ["health", "mood"], 2, by_time=True, n_starts=2)
    written = pd.read_csv("all.csv")
    assert written.loc[written["table"] == "share", "time"].tolist() == TERMS * 2
    moves = written.loc[written["table"] == "transition"]
    np.testing.assert_allclose(moves["probability"], found.transitions_.to_numpy().T.ravel(), atol=1e-9)
    assert moves["time"].tolist() == ["autumn", "autumn", "winter", "winter"] * 2
    assert pd.read_csv("paths.csv").columns.tolist() == ["person", *TERMS]
    message = refused(capsys, *argv)
    assert "--time: column 'term' has texts, such as " in message
    assert "which have no order; say it, as --times " in message
    assert "--times lacks 'spring', which column 'term' has; name every time" in refused(
        capsys, *argv, "--times", "autumn,winter"
    )
    assert "--times names a time twice" in refused(capsys, *argv, "--times", "autumn,winter,spring,winter")


def test_levels(capsys, panel):
    files = ["--output", "all.csv", "--groups", "groups.csv", "--report", "page.html"]
    code, out, _ = run(capsys, *LEVELS, *FEW, *files)
    assert code == 0
    found = multilevel_classes(panel, "person", 2, 2, items=["health", "mood"], n_starts=2)
    assert out.startswith("MultilevelClasses(2 classes in 2 clusters,")
    written = pd.read_csv("all.csv")
    parts = {name: part["probability"].to_numpy() for name, part in written.groupby("table")}
    np.testing.assert_allclose(parts["cluster share"], found.cluster_shares_, atol=1e-9)
    np.testing.assert_allclose(parts["class share"], found.class_shares_.to_numpy().T.ravel(), atol=1e-9)
    np.testing.assert_allclose(parts["answer"], found.profiles_.to_numpy().T.ravel(), atol=1e-9)
    groups = pd.read_csv("groups.csv", index_col="person")
    assert groups.columns.tolist() == ["P(cluster=0)", "P(cluster=1)"]
    np.testing.assert_allclose(groups, found.groups(), atol=1e-9)
    assert "<title>" in Path("page.html").read_text(encoding="utf-8")


def test_items_are_all_columns_that_no_option_names(capsys):
    columns = pd.read_csv("panel.csv").drop(columns="term")
    columns.to_csv("panel.csv", index=False)
    without = [*MOVES[:6], "--states", "2", *FEW, "--weights", "w", "--output", "all.csv"]
    assert run(capsys, *without)[0] == 0
    assert pd.read_csv("all.csv")["item"].dropna().unique().tolist() == ["health", "mood"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*MOVES, "--id", "who"], "--id"),
        ([*MOVES, "--time", "person"], "--id and --time both name column 'person'; name the column of the time"),
        ([*MOVES, "--items", "weight"], "'weight'"),
        ([*MOVES, "--items", "health,wave"], "column 'wave' is among --items and also --time; take it out of one"),
        ([*MOVES, "--weights", "term"], "--weights: in row 1 of the table, 'term' is 'autumn', not a finite number"),
        ([*MOVES, "--strata", "term"], "--strata: column 'term' differs between the rows of "),
        ([*LEVELS, "--weights", "wave"], "--weights: column 'wave' differs between the rows of "),
        ([*LEVELS, "--group", "school"], "'school'"),
        ([*LEVELS, "--output", "panel.csv"], "--output: 'panel.csv' is the table, which this command reads"),
        ([*LEVELS, "--output", "a.csv", "--groups", "a.csv"], "--groups: 'a.csv' is also the file of --output"),
    ],
)
def test_what_cannot_be_fitted_is_refused(capsys, argv, message):
    assert message in refused(capsys, *argv, *FEW)


def test_a_table_without_items_is_refused(capsys):
    pd.read_csv("panel.csv")[["person", "wave"]].to_csv("panel.csv", index=False)
    assert "no column is left for the items" in refused(capsys, *MOVES[:6], "--states", "2")


def test_codes_are_said_as_options(capsys, panel):
    codes = panel["health"].map({"good": 1, "poor": 2}).where(panel.index % 9 > 0, 99)
    panel.assign(health=codes).to_csv("panel.csv", index=False)
    _, _, err = run(capsys, *MOVES, *FEW)
    assert "99 in column 'health'; if they do, pass --missing health=99" in " ".join(err.split())
    assert "missing={" not in err
    code, out, err = run(capsys, *MOVES, *FEW, "--missing", "health=99")
    assert (code, err) == (0, "")
    assert " 99 " not in out
