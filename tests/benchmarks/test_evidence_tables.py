"""The papers' tables that EAST, latent classification models and binary forests have: every cell is there."""

import csv
import math

import pytest

from benchmarks import binary_forests, runner
from benchmarks.tables import (
    __main__ as driver,
)
from benchmarks.tables import (
    east_1,
    harmeling_williams,
    langseth_nielsen,
    langseth_nielsen_2,
    langseth_nielsen_3,
)
from benchmarks.tables.cells import MISSING, NOT_COMPARABLE, VERDICTS, WORSE
from benchmarks.tables.results import Results, error_of_difference

#: Module -> cells, and how many of them cannot be compared.
SIZES = {
    "east_1": (25 + 24, 16),
    "langseth_nielsen_2": (16 * 5, 16 * 4 + 6),
    "langseth_nielsen_3": (15 * 9, 15 * 2),
    "harmeling_williams_1": (10, 5),
    "harmeling_williams_2": (60, 0),
    "harmeling_williams_3": (60, 0),
    "harmeling_williams_4": (11, 0),
}


def cells_of(name):
    return driver.modules()[name].cells(driver.runner_of(name))


@pytest.mark.parametrize("name", SIZES)
def test_every_cell_is_there(name):
    found = cells_of(name)
    n_cells, n_lost = SIZES[name]
    assert len(found) == len({(cell.table, cell.row, cell.column) for cell in found}) == n_cells
    assert sum(cell.verdict == NOT_COMPARABLE for cell in found) == n_lost
    for cell in found:
        assert cell.table == driver.modules()[name].TITLE
        assert cell.verdict in VERDICTS
        assert isinstance(cell.theirs, (int, float))
        assert math.isfinite(cell.theirs)
        assert bool(cell.reason) or cell.verdict != NOT_COMPARABLE
        if cell.verdict not in (MISSING, NOT_COMPARABLE):
            assert math.isfinite(cell.ours)
            assert cell.error > 0


@pytest.mark.parametrize("name", SIZES)
def test_nothing_is_made_up_where_nothing_was_measured(name, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    found = cells_of(name)
    assert len(found) == SIZES[name][0]
    assert {cell.verdict for cell in found} <= {MISSING, NOT_COMPARABLE}
    assert all(cell.ours is None for cell in found)


def test_quick_size_runs_and_writes_nothing(tmp_path, capsys):
    driver.measure(SIZES, quick=True, folder=str(tmp_path))  # other tables have tests of their own
    assert {path.name for path in tmp_path.iterdir()} == {f"tables_{name}.csv" for name in SIZES}
    assert capsys.readouterr().out.count("quick: ") >= 2 * len(SIZES)
    for path in runner.RESULTS.glob("*.csv"):
        assert "quick: " not in path.read_text()


def test_render_writes_page_and_cells(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(driver, "DOCS", tmp_path)
    driver.main(["--render"])
    text = (tmp_path / "evidence.md").read_text()
    for name in SIZES:
        assert f"## {driver.modules()[name].TITLE}\n" in text
    lines = (tmp_path / "evidence.csv").read_text().splitlines()
    assert lines[0].split(",")[-2:] == ["verdict", "reason"]
    assert len(lines) - 1 >= sum(n for n, _ in SIZES.values())
    assert "cells of" in capsys.readouterr().out


def test_unknown_table(capsys):
    with pytest.raises(SystemExit):
        driver.main(["--only", "nobody"])
    assert "no such table; there are" in capsys.readouterr().err


def test_own_results_come_first_and_older_files_are_only_read(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    old = runner.Runner("old")
    old.note("case", "method", 0, [1.0], {"bic": -1.0})
    before = old.path.read_bytes()
    found = Results(runner.Runner("new"), "old")
    found.measure([("case", "method", seed, lambda seed=seed: {"bic": -2.0 - seed}) for seed in (0, 1)])
    assert found.values("case", "method", "bic", range(3)) == [-1.0, -3.0]
    assert old.path.read_bytes() == before
    found.run.note("case", "method", 0, [1.0], {"bic": -9.0})
    assert found.values("case", "method", "bic", range(1)) == [-9.0]


def test_error_grows_with_spread_and_shrinks_with_runs():
    assert error_of_difference([1.0, 3.0], 1.0) > error_of_difference([1.0, 2.0], 1.0)
    assert error_of_difference([1.0, 2.0], 1.0, 10) < error_of_difference([1.0, 2.0], 1.0, 5)
    assert error_of_difference([1.0], None, rounding=0.5) == 0.5


def test_averages_of_the_paper_agree_with_its_table():
    for at, column in enumerate(langseth_nielsen_3.COLUMNS):
        values = [figures[at][0] for figures in langseth_nielsen_3.FIGURES.values()]
        assert sum(values) / len(values) == pytest.approx(langseth_nielsen_2.FIGURES[column][0], abs=0.11)
    assert list(langseth_nielsen_3.FIGURES) == list(langseth_nielsen.ROWS)


def test_deviations_of_the_paper_are_kohavis():
    for name, figures in langseth_nielsen_3.FIGURES.items():
        for accuracy, deviation in figures:
            assert langseth_nielsen.deviation(accuracy, langseth_nielsen.ROWS[name]) == pytest.approx(
                deviation, abs=0.45
            )


def test_figures_of_the_paper_agree_with_those_of_older_scripts():
    for name, (_, _, seconds) in binary_forests.FOLDED.items():
        table = harmeling_williams.FOLD_SECONDS[name]
        assert (table[3][0], table[4][0]) == seconds
    for model, (figure, _) in ((model, goal.paper) for model, goal in east_1.east.SYNTHETIC.items()):
        assert east_1.SYNTHETIC[model][1][2][0] == figure


def test_what_is_worse_in_seconds_says_why():
    for cell in cells_of("harmeling_williams_3"):
        assert cell.verdict != WORSE or cell.theirs > 0.1 or cell.reason


@pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")
def test_states_of_coil86_are_those_that_the_paper_counts():
    found = harmeling_williams.on_whole(binary_forests.COIL86, "IND", 0)
    assert found["parameters"] == 608
    assert found["mixed"] == pytest.approx(-483_256, abs=0.5)


@pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")
def test_rows_are_as_many_as_the_paper_says():
    for name, n_rows in langseth_nielsen.ROWS.items():
        assert len(langseth_nielsen.work.table(name)[1]) == n_rows


def test_page_and_cells_in_the_repository_belong_together():
    with (driver.DOCS / "evidence.csv").open(newline="") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    n = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    assert sum(n.values()) == len(verdicts)
    text = " ".join((driver.DOCS / "evidence.md").read_text().split())
    assert f"**{n['better']} better, {n['equal']} equal, {n['worse']} worse**" in text
