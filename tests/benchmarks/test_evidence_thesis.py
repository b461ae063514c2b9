"""The tables of Karčiauskas' thesis and of Elidan and Friedman: figures, cells, and the quick sizes."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.tables import _thesis
from benchmarks.tables.cells import BETTER, EQUAL, NOT_COMPARABLE, VERDICTS, WORSE

MODULES = ("kark_4", "kark_5", "kark_6_13", "kark_6_synthetic", "kark_7", "elidan_friedman")
#: Cells that have a figure of the paper: table -> how many, and how many of them are not comparable.
CELLS = {
    "4.2": (24, 22), "4.3": (8, 6), "5.1": (29, 2), "6.1": (24, 0), "6.2": (24, 0), "6.3": (24, 0), "6.4": (15, 3),
    "6.5": (15, 6), "6.6": (15, 6), "6.7": (3, 0), "6.8": (30, 9), "6.9": (15, 0), "6.10": (15, 0), "6.11": (30, 0),
    "6.13": (60, 6), "6.14": (3, 3), "6.15": (22, 0), "7.1": (9, 0), "7.2": (9, 0), "7.3": (6, 0), "7.4": (3, 3),
}  # fmt: skip


def module_of(name: str):
    return import_module(f"benchmarks.tables.{name}")


@pytest.fixture(scope="module")
def all_cells() -> dict:
    return {name: module_of(name).cells(runner.Runner(f"tables_{name}")) for name in MODULES}


@pytest.mark.parametrize("table", list(CELLS))
def test_every_cell_of_the_thesis_is_there(all_cells, table):
    cells = [cell for found in all_cells.values() for cell in found if cell.table == _thesis.title(table)]
    assert len({(cell.row, cell.column) for cell in cells}) == len(cells)
    assert (len(cells), sum(cell.verdict == NOT_COMPARABLE for cell in cells)) == CELLS[table]


@pytest.mark.parametrize("name", MODULES)
def test_cells_are_numbers_with_a_verdict(all_cells, name):
    for cell in all_cells[name]:
        assert cell.verdict in VERDICTS
        assert all(math.isfinite(value) for value in (cell.theirs, cell.ours, cell.error) if value is not None)
        if cell.verdict in (BETTER, EQUAL, WORSE):
            assert None not in (cell.theirs, cell.ours)
            assert cell.error >= 0
        if cell.verdict == NOT_COMPARABLE:
            assert cell.reason


def test_the_figures_of_the_thesis_are_consistent():
    for table in _thesis.TEXT:
        for row in _thesis.figures(table).values():
            assert all(figure.mean < 0 <= figure.interval for figure in row.values())
    other = _thesis.figures("6.13")
    for row, found in _thesis.figures("6.15").items():
        assert found[_thesis.SPLIT_MERGE] == other[row][_thesis.SPLIT_MERGE]
    for row, table in (("10:7x2", "6.2"), ("10:10x2", "6.3"), ("10:15x2", "6.4"), ("5:20x2", "6.6"), ("3:3x3", "6.1")):
        assert _thesis.figures("6.8")[row] == _thesis.figures(table)["1e6"]
    assert _thesis.figures("6.9")["1"] == _thesis.figures("6.3")["1e6"]
    assert _thesis.figures("6.10")["1"] == _thesis.figures("6.5")["1e4"]


def test_figures_are_those_of_the_older_script():
    from benchmarks import split_merge

    kark = module_of("kark_6_13")
    for row in kark.rows_here("6.13"):
        given = split_merge.TABLES[kark.our_name(row)][2]
        theirs = _thesis.figures("6.13")[row]
        assert given == tuple(theirs[column].mean for column in (kark.SPLIT_MERGE, kark.STANDARD, kark.FIXED))


def test_means_are_equal_within_one_or_their_intervals():
    figure = _thesis.Figure(-100.0, 3.0, 60.0)
    assert _thesis.score_cell("T", "r", "c", figure, [-104.0], 2.0).verdict == WORSE
    assert _thesis.score_cell("T", "r", "c", figure, [-103.0], 2.0).verdict == EQUAL
    close = _thesis.score_cell("T", "r", "c", _thesis.Figure(-100.0, 0.0, 60.0), [-99.1], 2.0)
    assert (close.verdict, close.speed_up) == (EQUAL, 30.0)
    assert _thesis.half_width([1.0, 2.0, 3.0]) == pytest.approx(2.4841, abs=1e-4)  # 4.3027 / √3


def test_samples_are_drawn_as_asked():
    kark = module_of("kark_6_synthetic")
    one = kark.sample_of("6.8", "10:2,3,4,5,6,7")
    assert (one.n_classes, one.cards, one.n_rows) == (10, (2, 3, 4, 5, 6, 7), 10**6)
    _, rows, counts = kark.drawn(kark.Sample("3:3x3", 1, 10**9))
    assert (counts.sum(), rows.shape) == (10**9, (27, 3))
    assert len(kark.samples()) == 61
    assert len(kark.comparable()) == 56


def test_ranks_tell_which_structures_are_identifiable():
    kark = module_of("kark_5")
    matrix = kark.jacobian(2, (2, 2, 2), np.random.default_rng(0))
    assert matrix.shape == (7, 8)
    assert abs(matrix.sum(axis=1)).max() < 1e-12  # the cells sum to one
    assert kark.identifiable(2, (2, 2, 2)) == {"rank": 7, "parameters": 7}
    assert kark.identifiable(3, (2,) * 4) == {"rank": 13, "parameters": 14}


@pytest.mark.parametrize("name", MODULES)
def test_the_quick_size_runs(name, tmp_path, request):
    if name in ("kark_4", "kark_6_13"):
        request.getfixturevalue("data_folder")
    run = runner.Runner(f"tables_{name}", again=True)
    run.path = tmp_path / "quick.csv"
    module_of(name).measure(run, quick=True)
    assert run.rows
    assert all(row["case"].startswith("quick: ") for row in run.rows)
