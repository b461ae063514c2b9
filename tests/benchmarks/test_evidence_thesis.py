"""The tables of Karčiauskas' thesis and of Elidan and Friedman: figures, cells, and the quick sizes."""

from __future__ import annotations

import dataclasses
import math
from importlib import import_module

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.tables import _thesis
from benchmarks.tables.cells import BASELINE, COMPARED, EQUAL, NOT_COMPARABLE, NOT_MEASURED, OWN, VERDICTS, WORSE
from benchmarks.tables.results import Results

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
    assert (len(cells), sum(cell.default.verdict == NOT_COMPARABLE for cell in cells)) == CELLS[table]
    methods = {column.removeprefix("HLC") for column in {cell.column for cell in cells if cell.kind == OWN}}
    assert methods <= {_thesis.SPLIT_MERGE, _thesis.NO_ADJUST, _thesis.SPLITTING}


@pytest.mark.parametrize("name", MODULES)
def test_cells_are_numbers_with_a_verdict(all_cells, name):
    for cell in all_cells[name]:
        for one in cell.findings.values():
            assert one.verdict in VERDICTS
            assert all(math.isfinite(value) for value in (cell.theirs, one.ours, one.error) if value is not None)
            if one.verdict in COMPARED:
                assert None not in (cell.theirs, one.ours)
                assert one.error >= 0
            if one.verdict == NOT_COMPARABLE:
                assert one.reason


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
    assert _thesis.score_finding(figure, [-104.0, -104.0]).verdict == WORSE
    assert _thesis.score_finding(figure, [-103.0, -103.0]).verdict == EQUAL
    assert _thesis.score_finding(figure, []) == NOT_MEASURED
    close = _thesis.score_finding(_thesis.Figure(-100.0, 0.0, 60.0), [-99.1], 2.0)
    cell = _thesis.score_cell("T", "r", "SplitMerge", figure, close, NOT_MEASURED)
    assert (close.verdict, cell.speed_up, cell.kind) == (EQUAL, 30.0, OWN)
    assert _thesis.score_cell("T", "r", "HLCStandard3", figure, close, NOT_MEASURED).kind == BASELINE
    assert _thesis.half_width([1.0, 2.0, 3.0]) == pytest.approx(2.4841, abs=1e-4)  # 4.3027 / √3


def test_of_a_single_run_the_interval_is_the_thesis():
    figure = _thesis.Figure(-100.0, 3.0, 60.0)
    assert _thesis.half_width([-104.0], 3.0) == 3.0
    assert _thesis.score_finding(figure, [-104.0]).error == pytest.approx(3 * math.sqrt(2))


@pytest.fixture
def one_sample(monkeypatch, tmp_path):
    """Return a module, a runner and a sample with two runs of each column, by default and with presets."""
    kark = module_of("kark_6_synthetic")
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run, one = runner.Runner("some"), kark.sample_of("6.1", "1e3")
    figures = {
        kark.TRUTH: (-10.0,), **dict.fromkeys(kark.BASELINES, (-90.0,)),
        "SplitMerge": (-11.0, -13.0), "Standard3": (-12.0, -12.0), "StandardFixed": (-12.0, -12.0),
        "SplitMerge, preset": (-30.0, -32.0), "Standard3, preset": (-40.0, -40.0), "StandardFixed, preset": (-33.0,),
    }  # fmt: skip
    for method, bics in figures.items():
        for seed, bic in enumerate(bics):
            run.note(one.case, method, seed, [1.0], {"bic": bic, "states": 2, "stopped": None})
    return kark, run, one


def test_gaps_by_default_are_to_the_best_model_known_and_to_the_letter_to_the_best_mean(one_sample):
    kark, run, one = one_sample
    figure = _thesis.Figure(0.0, 0.0)
    assert kark.finding(run, one, "SplitMerge", False, figure).ours == -2.0
    assert kark.finding(run, one, "SplitMerge", True, figure).ours == 0.0
    assert kark.finding(run, one, "Standard3", True, figure).ours == -9.0


def test_a_preset_that_is_worse_is_shown_on_other_draws(one_sample):
    kark, run, one = one_sample
    assert kark.why_drawn(run, one) == ""
    for draw, bic in ((3, -14.0), (4, -18.0)):
        case = dataclasses.replace(one, draw=draw).case
        for method, value in (("SplitMerge", bic), ("Standard3", -12.0), ("StandardFixed", -13.0)):
            run.note(case, f"{method}, preset", 0, [1.0], {"bic": value, "states": 2, "stopped": None})
    assert kark.why_drawn(run, one) == "on 2 other draws of parameters it is -4.0 on average, -6.0 to -2.0"
    reason = kark.finding(run, one, "SplitMerge", True, _thesis.Figure(9.0, 0.0)).reason
    assert reason.endswith("-6.0 to -2.0")
    for column in ("Standard3", "StandardFixed"):  # it is SplitMerge's figure
        worse = kark.finding(run, one, column, True, _thesis.Figure(90.0, 0.0))
        assert worse.verdict == WORSE
        assert "draws of parameters" not in worse.reason


def test_standard_fixed_takes_the_states_of_the_same_settings(one_sample):
    kark, run, one = one_sample
    run.note(one.case, "SplitMerge, preset", 2, [1.0], {"bic": -1.0, "states": 7, "stopped": None})
    assert kark.learner_of(run, one, "StandardFixed", True, 0).n_states == 7
    assert kark.learner_of(run, one, "StandardFixed", False, 0).n_states == 2


def test_what_the_older_script_has_is_not_measured_again(monkeypatch, tmp_path):
    kark = module_of("kark_6_13")
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    older, run = runner.Runner("split_merge"), runner.Runner("tables_kark_6_13")
    figures = {"bic": -9.0, "states": [2], "stopped": None}
    older.note("Pen digits", "SplitMerge", 0, [30.0], figures)
    older.note("Pen digits", "RandomStarts", 0, [30.0], {**figures, "bic": -8.0})

    def missing(seed):
        return {job[1] for job in kark.jobs(run) if (job[0], job[2]) == ("Pen", seed)}

    assert missing(0) - set(kark.BASELINES) == missing(1) - {"SplitMerge", "Standard3"}
    assert {"SplitMerge", "Standard3", "SplitMerge, preset"} <= missing(1)
    assert missing(2) == set()  # a long run
    assert [one["bic"] for one in kark.results(run, older, "Standard3", False, "Pen")] == [-8.0]
    assert kark.results(run, older, "SplitMerge", True, "Pen") == []


@pytest.mark.parametrize("script", ["split_merge", "tables_kark_4", "tables_kark_6_13", "tables_kark_6_synthetic"])
def test_no_clock_has_stopped_what_is_compared_with_the_thesis(script):
    rows = runner.Runner(script).rows
    assert rows
    assert not [row["case"] for row in rows if "time_limit" in row["figures"]]


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
    Results(run).measure(module_of(name).quick_jobs(run))
    assert run.rows
    assert all(row["case"].startswith("quick: ") for row in run.rows)


def test_gaps_on_skeletons_are_to_the_best_of_each_draw():
    kark = module_of("kark_7")
    results = {
        0: {"SplitMerge": {"bic": -5.0, "oracle": -4.0}, "Standard3": {"bic": -6.0}, "Chow-Liu": {"bic": -1.0},
            "SplitMerge, preset": {"bic": -8.0}, "Standard3, preset": {"bic": -7.0},
            "StandardFixed, preset": {"bic": -9.0}},
        1: {"SplitMerge": {"bic": -3.0, "oracle": -4.0}, "Standard3": {"bic": -3.0}},
    }  # fmt: skip
    assert kark.our_gaps(results, "SplitMerge") == [-1.0, 0.0]
    assert kark.our_gaps(results, "Standard3") == [-2.0, 0.0]
    assert kark.our_gaps(results, "SplitMerge, preset") == [-1.0]  # of the draw that has all presets


def test_fewer_than_three_draws_on_skeletons_are_not_compared():
    kark, figure = module_of("kark_7"), _thesis.Figure(-9.0, 0.5)
    draw = {column: {"bic": -5.0, "oracle": -4.0, "seconds": 1.0} for column in kark.COLUMNS}
    assert kark.finding(dict.fromkeys(range(2), draw), "SplitMerge", figure) == NOT_MEASURED
    assert kark.finding(dict.fromkeys(range(3), draw), "SplitMerge", figure).error == 1.0
    assert kark.finding(dict.fromkeys(range(3), draw), "SplitMerge, preset", figure) == NOT_MEASURED


def test_agglomeration_alone_is_the_preset_and_with_em_the_default():
    from benchmarks.tables import elidan_friedman as figures

    result = {"true": [2, 3], "agglomerated": [2, 9], "found": [2, 3], "agglomeration_seconds": [1.0, 1.0]}
    cell = next(figures.count_cells([result]))
    assert (cell.column, cell.preset.ours, cell.default.ours) == ("exact", 1.0, 2.0)
