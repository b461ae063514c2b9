"""The page of scaling: slopes follow from the points, every axis is measured or has a reason, and all gets onto it."""

import dataclasses
import json
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import runner, scaling, scaling_page, scaling_tables
from benchmarks.scaling import LIMIT, LONGEST_LIMIT, SHORT_REPEATS, TWO_WORKERS, Point
from benchmarks.scaling_learners import BASE, LEARNERS
from benchmarks.scaling_tables import AXES, COLUMNS, HIDDEN, ROWS
from pgmpy_latent.testing import assert_valid


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "results")
    return runner.Runner("scaling")


def note_power_law(run, name, stopped=()):
    """Pretend that seconds are 0.001 times rows, times the square of columns; whatever else there is costs nothing."""
    for case, sizes in scaling.cases(name):
        seconds = 0.001 * sizes[ROWS] * sizes.get(COLUMNS, 1) ** 2
        figures = json.dumps({"stopped": sizes[ROWS] in stopped})
        row = {
            "case": case,
            "method": name,
            "seed": "0",
            "seconds": str(seconds),
            "figures": figures,
            "day": "2026-11-19",
        }
        run.rows.append({**row, "versions": "python 3"})


# Slopes -------------------------------------------------------------------------------------------


@given(st.floats(-2, 4), st.floats(1e-3, 10), st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True))
def test_slopes_of_a_power_law_are_its_power(power, factor, sizes):
    points = [Point(size, factor * size**power, False) for size in sorted(sizes)]
    assert scaling_page.slopes(points) == pytest.approx((power, power), abs=1e-6)


def test_the_last_step_is_that_of_the_last_two_points():
    overall, last = scaling_page.slopes([Point(1, 1.0, False), Point(10, 1.0, False), Point(100, 100.0, False)])
    assert (overall, last) == pytest.approx((1.0, 2.0))


def test_fits_that_were_stopped_count_for_no_slope():
    points = [Point(1, 1.0, False), Point(2, 2.0, False), Point(4, 60.0, True)]
    assert scaling_page.slopes(points) == pytest.approx((1.0, 1.0))
    assert scaling_page.slopes(points[1:]) is None


# What is measured ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_every_axis_is_measured_or_has_a_reason(name):
    learner = LEARNERS[name]
    measured = [scaling_page.LIKE.get(what, what) for what in learner.growth]
    assert sorted([*measured, *learner.left_out]) == sorted(AXES)
    assert all(list(sizes) == sorted(set(sizes)) and len(sizes) > 2 for sizes in learner.growth.values())


@pytest.mark.parametrize("name", LEARNERS)
def test_hidden_variables_have_enough_columns_to_be_found(name):
    points = [sizes for _, sizes in scaling.cases(name) if {COLUMNS, HIDDEN} <= set(sizes)]
    assert all(sizes[COLUMNS] >= 3 * sizes[HIDDEN] for sizes in points)


def test_the_planted_tree_has_the_sizes_that_are_asked_for():
    truth = scaling_tables.planted_tree({**BASE, COLUMNS: 10, HIDDEN: 3})
    assert_valid(truth)
    assert truth.children("H1") == ("H2", "H3", "x1", "x2", "x3", "x4")
    assert set(truth.cards.tolist()) == {3}
    assert len(scaling_tables.linked_network(truth).edges) == 12 + 4
    assert len(scaling_tables.half_network(truth).edges) == 12 - 4


def test_one_tiny_fit_is_measured_once(run, monkeypatch, capsys):
    name = "Baseline, Chow-Liu"
    tiny = dataclasses.replace(LEARNERS[name], growth={ROWS: (50, 100)}, base={**BASE, COLUMNS: 4})
    monkeypatch.setattr(scaling, "LEARNERS", {name: tiny})
    scaling.warm_up.cache_clear()
    scaling.measure(run, "no such case")
    assert scaling.points_of(run, name, ROWS) == []
    scaling.measure(run, "Chow-Liu")
    small, large = scaling.points_of(run, name, ROWS)
    assert (small.size, large.size) == (50, 100)
    assert 0 < small.seconds < LIMIT
    assert not large.stopped
    capsys.readouterr()
    scaling.measure(run, "")
    assert capsys.readouterr().out == ""


def test_a_limit_that_a_busy_processor_reached_is_raised():
    limits = []

    def fit(limit, n_jobs):
        limits.append(limit)
        return SimpleNamespace(stopped_=None if limit > 2 * LIMIT else "time_limit", history_=[1, 2])

    learner = dataclasses.replace(LEARNERS["EAST"], prepare=lambda sizes: fit)
    found = scaling.measured(learner, BASE)
    assert limits == [LIMIT, 2 * LIMIT] + [4 * LIMIT] * (1 + SHORT_REPEATS)
    assert found == {"seconds": found["seconds"], "stopped": False, "steps": 2}


def test_a_limit_is_not_raised_for_ever():
    limits = []

    def fit(limit, n_jobs):
        limits.append(limit)
        return SimpleNamespace(stopped_="time_limit")

    learner = dataclasses.replace(LEARNERS["EAST"], prepare=lambda sizes: fit)
    assert scaling.measured(learner, BASE)["stopped"]
    assert limits[-1] == LONGEST_LIMIT


# The page -----------------------------------------------------------------------------------------


def test_the_page_has_slopes_plots_and_reasons(run, tmp_path):
    note_power_law(run, "SplitMerge")
    note_power_law(run, "LatentClassificationModel")
    scaling_page.write(run, tmp_path)
    text = (tmp_path / "scaling.md").read_text()
    assert "ten times the rows take 10 times as long" in text
    assert re.search(r"\| \[SplitMerge\]\(#splitmerge\) \| 1.4e\+02 \| 1.00 \(1.00\) \| 2.00 \(2.00\) \|", text)
    assert "| rows | 1,000, 3,000, 10,000, 30,000 | 1, 3, 10, 30 | 1.00 | 1.00 |" in text
    assert "| states of hidden variables | – | – it finds the number itself | – | – |" in text
    assert "## EAST" not in text
    images = re.findall(r"\]\((images/\S+\.svg)\)", text)
    assert len(images) == 2
    for image in images:
        assert "<!-- processor seconds -->" in (tmp_path / image).read_text()


def test_links_lead_to_headings(run):
    for name in LEARNERS:
        note_power_law(run, name)
    text = scaling_page.page(run)
    headings = [
        re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
        for title in re.findall(r"^## (.*)", text, re.M)
        if title in LEARNERS
    ]
    assert re.findall(r"^\| \[.*\]\(#([\w-]+)\)", text, re.M) == headings
    assert len(set(headings)) == len(LEARNERS)


def test_fits_that_were_stopped_are_marked(run):
    note_power_law(run, "LatentClassificationModel", stopped=(30_000,))
    text = scaling_page.page(run)
    assert "| rows | 1,000, 3,000, 10,000, 30,000 | 1, 3, 10, stopped after 30 | 1.00 | 1.00 |" in text


def test_the_same_results_give_the_same_files(run, tmp_path):
    note_power_law(run, "Baseline, Chow-Liu", stopped=(10_000,))
    for folder in ("once", "again"):
        scaling_page.write(run, tmp_path / folder)
    for file in ("scaling.md", "images/scaling_baseline_chow_liu.svg"):
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_a_page_of_nothing_says_nothing(run):
    assert scaling_page.expectation(run) == []
    assert scaling_page.first_use(run) == []
    assert [line for line in scaling_page.page(run).splitlines() if line.startswith("## ")] == ["## Two workers"]


# First use and two workers ------------------------------------------------------------------------


def note(run, case, name, figures, seconds="2.0"):
    row = {"case": case, "method": name, "seed": "0", "seconds": seconds, "fastest": seconds, "day": "2026-11-19"}
    run.rows.append({**row, "figures": json.dumps(figures), "versions": "python 3"})


def test_first_use_is_told_where_both_processes_were_timed(run):
    note(run, scaling.COMPILING, "EAST", {"second": 0.1})
    assert scaling_page.first_use(run) == []
    note(run, scaling.LOADING, "EAST", {"second": 0.05}, "0.5")
    assert "| EAST | 2.0 | 0.5 | 0.05 |" in scaling_page.first_use(run)
    assert scaling_page.learners_in(run) == []


def test_two_workers_are_told_as_a_ratio_of_clock_time(run):
    assert any("has not been measured yet" in line for line in scaling_page.two_workers(run))
    note(run, scaling.workers_case("EAST")[0], "EAST", {"two": 1.25, "available": 1.9})
    (line,) = [line for line in scaling_page.two_workers(run) if line.startswith("| EAST |")]
    assert line.endswith("| 2.0 | 1.2 | 1.60 | 1.90 |")


def test_two_workers_alternate_with_one(run, monkeypatch):
    calls = []
    learner = dataclasses.replace(LEARNERS["EAST"], prepare=lambda sizes: lambda limit, n_jobs: calls.append(n_jobs))
    monkeypatch.setattr(scaling, "LEARNERS", {"EAST": learner})
    monkeypatch.setattr(scaling, "TWO_WORKERS", {"EAST": TWO_WORKERS["EAST"]})
    monkeypatch.setattr(scaling, "available", lambda: 2.0)
    scaling.measure_workers(run, "EAST")
    assert calls == [1, 2] * (1 + scaling.WORKERS_REPEATS)
    assert run.figure(scaling.workers_case("EAST")[0], "EAST", "available") == 2.0


def test_the_first_fit_of_two_is_told_with_the_second(monkeypatch):
    waits = iter([30_000_000, 1_000])
    learner = dataclasses.replace(
        LEARNERS["EAST"], prepare=lambda sizes: lambda limit, n_jobs: sum(range(next(waits))) and None
    )
    monkeypatch.setattr(scaling, "LEARNERS", {"EAST": learner})
    found = scaling.small_fit("EAST")
    assert found["seconds"] > found["second"]


# Tables -------------------------------------------------------------------------------------------


def test_a_tenth_of_the_cells_of_rows_with_gaps_is_missing():
    table = scaling_tables.planted(BASE)[1]
    gaps = scaling_tables.with_gaps(table)
    assert gaps.isna().to_numpy().mean() == pytest.approx(scaling_tables.GAPS, abs=0.01)
    assert ((gaps == table) | gaps.isna()).all(axis=None)


def test_every_other_mixed_column_has_numbers_around_its_categories():
    table = scaling_tables.planted(BASE)[1]
    mixed, kinds = scaling_tables.half_numbers(table)
    numbers = [name for name, kind in kinds.items() if kind == "gaussian"]
    assert numbers == list(table.columns[1::2])
    assert (mixed[numbers] - table[numbers]).to_numpy().std() == pytest.approx(scaling_tables.NOISE, rel=0.05)
    assert mixed[table.columns[::2]].equals(table[table.columns[::2]])


def test_a_panel_has_all_people_at_all_waves_and_neighbouring_waves_hang_together():
    sizes = {ROWS: 400, scaling_tables.ITEMS: 2, scaling_tables.STATES: 3, scaling_tables.WAVES: 4}
    table, items = scaling_tables.panel({**sizes, scaling_tables.HIDDEN_STATES: 2})
    assert items == ["x1", "x2"]
    assert table.groupby("wave")["person"].nunique().tolist() == [400] * 4
    assert set(table["x1"]) == {0, 1, 2}


def test_older_results_are_told(run):
    note_power_law(run, "SplitMerge")
    assert scaling_page.older(run) == []
    run.rows[0]["day"] = "2026-11-17"
    assert "before 2026-11-19" in scaling_page.older(run)[0]
