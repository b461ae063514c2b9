"""The command that looks for direct effects: what it prints, writes and refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentTree, TreeEM, add_direct_effects, direct_effects, load, sample, save, to_pgmpy
from tests.cli.test_commands import refused, run

ARGV = ["direct-effects", "model.json", "rows.csv"]


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    """Return answers in which every third d is a copy of c, also at rows.csv; two classes of them are at model.json."""
    monkeypatch.chdir(tmp_path)
    leaf = [[0.9, 0.1], [0.2, 0.8]]
    tree = LatentTree(
        ["H", *"abcde"],
        [[0, 1], *[["no", "yes"]] * 5],
        [-1, *[0] * 5],
        [True, *[False] * 5],
        [[[0.5, 0.5]], *[leaf] * 5],
    )
    table = sample(tree, 600, random_state=0).astype(object)
    table["d"] = table["c"].where(table.index % 3 == 0, table["d"])
    save(TreeEM(latent_card=2, seed=0, n_init=4, show_progress=False).fit(to_pgmpy(tree), table).tree_, "model.json")
    table["w"] = np.where(table.index % 2, 1, 2)
    table.to_csv("rows.csv", index=False)
    return table


def test_the_strongest_pairs_come_first(capsys, rows):
    code, out, _ = run(capsys, *ARGV, "--weights", "w", "--output", "tests.csv")
    assert code == 0
    expected = direct_effects(load("model.json"), rows.drop(columns="w"), sample_weight=rows["w"].to_numpy())
    written = pd.read_csv("tests.csv")
    pd.testing.assert_frame_equal(written, expected, check_dtype=False, rtol=1e-8, atol=1e-12)
    heading, first, *others = out.splitlines()
    assert heading.split() == ["first", "second", "statistic", "df", "p", "adjusted"]
    assert first.split()[:4] == ["c", "d", f"{expected['statistic'][0]:.2f}", "2"]
    assert len(others) == 9 + 2  # ten pairs, and which file was written


def test_edges_are_added_and_reported(capsys, rows):
    code, out, _ = run(capsys, *ARGV, "--add", "--report", "edges.html", "--starts", "0")
    assert code == 0
    expected = add_direct_effects(load("model.json"), rows.drop(columns="w"), n_starts=0)
    assert expected.edges == [("c", "d")]
    assert expected.reason in " ".join(out.split())
    page = Path("edges.html").read_text(encoding="utf-8")
    assert "Direct effects" in page


def test_what_cannot_be_tested_is_refused(capsys, rows):
    rows.drop(columns="e").to_csv("less.csv", index=False)
    assert "less.csv lacks a column of the model" in refused(capsys, *ARGV[:2], "less.csv")
    assert "--weights" in refused(capsys, *ARGV, "--weights", "weight")
    assert "--report: 'rows.csv' is the table, which this command reads" in refused(
        capsys, *ARGV, "--report", "rows.csv"
    )
    two = LatentTree(
        ["H", "G", *"abcd"], [[0, 1]] * 2 + [["no", "yes"]] * 4, [-1, 0, 0, 0, 1, 1], [True, True, *[False] * 4],
        [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * 5],
    )  # fmt: skip
    save(two, "two.json")
    assert "the model has 2 hidden variables; direct effects are edges between the columns" in refused(
        capsys, ARGV[0], "two.json", ARGV[2]
    )
