"""The page of evidence: verdicts and counts follow from the cells, and everything that is measured gets onto it."""

import csv
import doctest
import io
import math
import pkgutil
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import tables
from benchmarks.tables import page
from benchmarks.tables.cells import (
    BASELINE,
    BETTER,
    DECIDED,
    EQUAL,
    KINDS,
    MISSING,
    NOT_COMPARABLE,
    OWN,
    UNDECIDED,
    VERDICTS,
    WITHOUT_PRESET,
    WORSE,
    Cell,
    compared,
    lost,
    typical_difference,
    with_limits,
)

FIGURES = st.floats(-1e6, 1e6, allow_nan=False)
ERRORS = st.floats(0, 1e3, allow_nan=False)
SECONDS = st.none() | st.floats(1e-3, 1e6)
WORDS = st.text("abc |*", min_size=1, max_size=5).map(str.strip).filter(bool)


@st.composite
def any_findings(draw, theirs, larger_is_better):
    """Draw a finding of any kind."""
    if draw(st.booleans()):
        return draw(st.sampled_from([Cell("T", "r", "c", None, OWN).default, WITHOUT_PRESET]))
    details = {"larger_is_better": larger_is_better, "seconds": draw(SECONDS)}
    return compared(theirs, draw(FIGURES), draw(ERRORS), **details)


@st.composite
def any_cells(draw):
    """Draw a cell of any kind."""
    where = draw(st.sampled_from(["Paper, Table 1", "Paper, Table 2"])), draw(WORDS), draw(WORDS)
    theirs, kind, larger = draw(FIGURES), draw(st.sampled_from(KINDS)), draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        return lost(*where, draw(st.none() | FIGURES), kind, "the data are lost", draw(st.none() | FIGURES))
    default, preset = draw(any_findings(theirs, larger)), draw(any_findings(theirs, larger))
    details = {"preset": preset, "larger_is_better": larger, "their_seconds": draw(SECONDS)}
    return Cell(*where, theirs, kind, default, **details, same=draw(ERRORS))


def own(theirs, found):
    return Cell("T", "r", "c", theirs, OWN, found)


def sections_of(cells):
    titles = dict.fromkeys(cell.table for cell in cells)
    return [page.Section(title, [cell for cell in cells if cell.table == title], ("A note.",)) for title in titles]


@given(FIGURES, FIGURES, ERRORS, st.booleans())
def test_verdict_follows_from_the_difference(theirs, ours, error, larger_is_better):
    found = compared(theirs, ours, error, larger_is_better=larger_is_better, why_worse="chance")
    gain = (ours - theirs) if larger_is_better else (theirs - ours)
    assert found.verdict == (EQUAL if abs(gain) <= error else BETTER if gain > 0 else WORSE)
    assert found.reason == ("chance" if found.verdict == WORSE else "")
    cell = replace(own(theirs, found), larger_is_better=larger_is_better)
    assert (page.loss(cell) > 0) == (gain < 0)
    if error > 1e-6:
        assert page.loss(cell) == pytest.approx(-gain / error)


@given(FIGURES, FIGURES, ERRORS)
def test_swapping_sides_and_direction(theirs, ours, error):
    opposite = {BETTER: WORSE, WORSE: BETTER, EQUAL: EQUAL}
    there = compared(theirs, ours, error)
    assert compared(ours, theirs, error).verdict == opposite[there.verdict]
    assert compared(theirs, ours, error, larger_is_better=False).verdict == opposite[there.verdict]


@given(FIGURES, FIGURES, ERRORS, FIGURES)
def test_a_difference_by_pairs_decides_alone(theirs, ours, error, difference):
    found = compared(theirs, ours, error, difference=difference)
    assert found.verdict == compared(0.0, difference, error).verdict
    assert (found.ours, found.difference) == (ours, difference)


@given(FIGURES, FIGURES, ERRORS, ERRORS)
def test_larger_errors_only_make_equal(theirs, ours, error, more):
    before, after = (compared(theirs, ours, one) for one in (error, error + more))
    assert after.verdict in (before.verdict, EQUAL)


@given(st.lists(FIGURES, max_size=6))
def test_typical_difference_is_the_median_over_pairs(figures):
    pairs = [abs(one - other) for one, other in combinations(figures, 2)]
    assert typical_difference(figures) == (median(pairs) if pairs else 0.0)


@given(st.lists(any_cells(), max_size=8))
def test_only_what_is_equal_with_a_large_error_becomes_undecided(cells):
    for before, after in zip(cells, with_limits(cells), strict=True):
        group = [one.theirs for one in cells if (one.table, one.row) == (before.table, before.row)]
        assert after.limit == max(before.same, typical_difference([one for one in group if one is not None]))
        for old, new in zip(before.findings.values(), after.findings.values(), strict=True):
            is_vague = old.verdict == EQUAL and old.error > after.limit
            assert new == (replace(old, verdict=UNDECIDED) if is_vague else old)


def test_cells_of_one_group_may_stand_in_several_rows():
    cells = [Cell("T", row, "c", figure, OWN, group="c") for row, figure in (("a", 1.0), ("b", 4.0))]
    assert [cell.limit for cell in with_limits(cells)] == [3.0, 3.0]


@given(st.lists(any_cells()))
def test_counts(cells):
    for setting in page.SETTINGS:
        found = page.counts(page.findings(cells, setting))
        assert list(found) == list(VERDICTS)
        assert sum(found.values()) == len(cells)


@given(st.lists(any_cells()), st.integers(0, 5), st.sampled_from(page.SETTINGS))
def test_weakest(cells, n, setting):
    found = page.weakest(cells, setting, n)
    there = [cell for cell in cells if cell.findings[setting].is_compared]
    once = []
    for cell in there:
        if not any(figure_of(cell, setting) == figure_of(other, setting) for other in once):
            once.append(cell)
    losses = sorted((page.loss(cell, setting) for cell in once), reverse=True)
    assert [page.loss(cell, setting) for cell in found] == losses[:n]


def figure_of(cell, setting):
    return cell.row, cell.column, cell.theirs, cell.findings[setting].ours


def test_a_figure_of_two_tables_is_weak_once():
    cells = [Cell(table, "r", "c", 2.0, OWN, compared(2.0, 1.0, 0.1)) for table in ("S", "T")]
    assert [cell.table for cell in page.weakest(cells)] == ["S"]


@given(st.lists(any_cells()))
def test_median_speed_up(cells):
    found, n = page.median_speed_up(cells)
    timed = [cell for cell in cells if cell.default.is_compared and cell.default.seconds and cell.their_seconds]
    assert n == len(timed)
    assert (found is None) == (n == 0)
    if n:
        speeds = [cell.their_seconds / cell.default.seconds for cell in timed]
        assert min(speeds) <= found <= max(speeds)


@given(st.lists(any_cells(), max_size=8))
def test_page_has_every_cell(cells):
    text = page.page(sections_of(cells))
    rows = [line for line in text.splitlines() if line.startswith("| ") and line.count("|") - line.count("\\|") == 12]
    heads = [line for line in rows if line.startswith("| row |")]
    assert len(rows) - len(heads) == len(cells)


@given(st.lists(any_cells(), min_size=1, max_size=8))
def test_the_headline_counts_scores_of_own_methods_only(cells):
    text = " ".join(page.page(sections_of(cells)).split())
    for setting in page.SETTINGS:
        verdicts = [cell.findings[setting].verdict for cell in cells if cell.kind == OWN]
        n = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
        decided = sum(n[verdict] for verdict in DECIDED)
        assert (
            f"**{n[BETTER]} better, {n[EQUAL]} equal, {n[WORSE]} worse**, {n[UNDECIDED]} undecided; {n[MISSING]} not "
            f"measured, {n[NOT_COMPARABLE]} not comparable. Of {decided} decided, "
        ) in text


@given(st.lists(any_cells(), max_size=8))
def test_csv_has_every_cell(cells):
    rows = list(csv.DictReader(io.StringIO(page.as_csv(cells))))
    assert [(row["table"], row["row"], row["column"]) for row in rows] == [
        (cell.table, cell.row, cell.column) for cell in cells
    ]
    for row, cell in zip(rows, cells, strict=True):
        assert (row["kind"], row["own_method"]) == (cell.kind, str(cell.kind == OWN))
        for setting, found in cell.findings.items():
            assert row[f"{setting}_verdict"] == found.verdict
            assert (row[f"{setting}_ours"] == "") == (found.ours is None)
            assert found.ours is None or float(row[f"{setting}_ours"]) == found.ours


@given(st.floats(1e-5, 1e7) | st.floats(-1e7, -1e-5))
def test_numbers_keep_three_digits(value):
    assert float(page.number(value).replace(",", "")) == pytest.approx(value, rel=6e-3 if abs(value) < 1e-4 else 5.1e-3)


@given(st.floats(1e-4, 1e8))
def test_times_and_factors_can_be_read_back(value):
    size, unit = page.seconds_text(value).split()
    assert float(size) * {"s": 1, "min": 60, "h": 3_600, "days": 86_400}[unit] == pytest.approx(value, rel=0.06)
    assert float(page.factor(value).replace(",", "")) == pytest.approx(value, rel=0.06)


def test_reasons_are_told_once():
    cells = [lost("T", row, "c", 1.0, OWN, "the data are lost") for row in "ab"]
    cells += [own(2.0, compared(2.0, 1.0, 0.5, why_worse="a local maximum"))]
    text = page.page([page.Section("T", cells)])
    assert text.count("the data are lost") == 1
    assert "Not comparable, 2 cells: the data are lost." in text
    assert "**worse**: a local maximum" in text
    assert "(worse). A local maximum." in text


def test_baselines_are_not_among_the_weakest():
    cells = [Cell("T", "r", "c", 2.0, BASELINE, compared(2.0, 1.0, 0.1))]
    assert "The weakest own methods" not in page.page([page.Section("T", cells)])


def test_nothing_beside_a_figure_is_lost():
    section = page.Section(
        "T", [Cell("T", "r", "c", 1.0, OWN)], ("One.", "Two."), {"r": {"CL": "-5"}, "s": {"IND": "-7"}}
    )
    text = page.page([section])
    assert "One. Two." in text
    assert "| r | -5 | – |" in text
    assert "| s | – | -7 |" in text


def test_loss_without_error():
    assert page.loss(own(2.0, compared(2.0, 1.0, 0.0))) == math.inf
    assert page.loss(own(1.0, compared(1.0, 1.0, 0.0))) == 0


def test_what_is_not_measured_names_the_command_that_measures_it():
    cells = [Cell("T", "r", "c", 1.0, OWN, compared(1.0, 1.0, 0.5), preset=Cell("T", "r", "c", 1.0, OWN).default)]
    text = " ".join(page.page([page.Section("T", cells, name="kark_4")]).split())
    command = '`python -m benchmarks.tables --only "kark_4 + preset"`'
    assert f"Not measured with the preset settings, 1 cell: {command} measures them." in text
    assert "with the default settings, 1 cell" not in text


@pytest.mark.parametrize(
    "name", [found.name for found in pkgutil.iter_modules(tables.__path__) if found.name[:2] != "__"]
)
def test_examples_of_the_scripts_are_right(name):
    assert doctest.testmod(import_module(f"{tables.__name__}.{name}")).failed == 0
