"""The page of evidence: verdicts and counts follow from the cells, and everything that is measured gets onto it."""

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.tables import page
from benchmarks.tables.cells import (
    BETTER,
    EQUAL,
    MISSING,
    NOT_COMPARABLE,
    VERDICTS,
    WORSE,
    compared,
    missing,
    not_comparable,
)

FIGURES = st.floats(-1e6, 1e6, allow_nan=False)
ERRORS = st.floats(0, 1e3, allow_nan=False)
SECONDS = st.none() | st.floats(1e-3, 1e6)
WORDS = st.text("abc |*", min_size=1, max_size=5).map(str.strip).filter(bool)


@st.composite
def any_cells(draw):
    """Draw a cell of any kind."""
    where = draw(st.sampled_from(["Paper, Table 1", "Paper, Table 2"])), draw(WORDS), draw(WORDS)
    kind = draw(st.sampled_from(["compared", "not comparable", "missing"]))
    if kind == "missing":
        return missing(*where, draw(FIGURES))
    if kind == "not comparable":
        return not_comparable(*where, draw(st.none() | FIGURES), "the data are lost", draw(st.none() | FIGURES))
    details = {"seconds": draw(SECONDS), "their_seconds": draw(SECONDS), "larger_is_better": draw(st.booleans())}
    return compared(*where, draw(FIGURES), draw(FIGURES), draw(ERRORS), **details)


def sections_of(cells):
    titles = dict.fromkeys(cell.table for cell in cells)
    return [page.Section(title, [cell for cell in cells if cell.table == title], ("A note.",)) for title in titles]


@given(FIGURES, FIGURES, ERRORS, st.booleans())
def test_verdict_follows_from_the_difference(theirs, ours, error, larger_is_better):
    cell = compared("T", "r", "c", theirs, ours, error, larger_is_better=larger_is_better)
    gain = (ours - theirs) if larger_is_better else (theirs - ours)
    assert cell.verdict == (EQUAL if abs(gain) <= error else BETTER if gain > 0 else WORSE)
    assert (page.loss(cell) > 0) == (gain < 0)
    if error > 1e-6:
        assert page.loss(cell) == pytest.approx(-gain / error)


@given(FIGURES, FIGURES, ERRORS)
def test_swapping_sides_and_direction(theirs, ours, error):
    opposite = {BETTER: WORSE, WORSE: BETTER, EQUAL: EQUAL}
    there = compared("T", "r", "c", theirs, ours, error)
    assert compared("T", "r", "c", ours, theirs, error).verdict == opposite[there.verdict]
    assert compared("T", "r", "c", theirs, ours, error, larger_is_better=False).verdict == opposite[there.verdict]


@given(FIGURES, FIGURES, ERRORS, ERRORS)
def test_larger_errors_only_make_equal(theirs, ours, error, more):
    before, after = (compared("T", "r", "c", theirs, ours, one) for one in (error, error + more))
    assert after.verdict in (before.verdict, EQUAL)


@given(st.lists(any_cells()))
def test_counts(cells):
    found = page.counts(cells)
    assert list(found) == list(VERDICTS)
    assert sum(found.values()) == len(cells)
    half = page.stricter(cells)
    assert sum(half.values()) == sum(found[verdict] for verdict in page.COMPARABLE)
    assert page.stricter(cells, 1.0)[EQUAL] >= half[EQUAL]
    assert half[WORSE] >= found[WORSE]
    assert half[BETTER] >= found[BETTER]


@given(st.lists(any_cells()), st.integers(0, 5))
def test_weakest(cells, n):
    found, comparable = page.weakest(cells, n), [cell for cell in cells if cell.verdict in page.COMPARABLE]
    assert len(found) == min(n, len(comparable))
    assert [page.loss(cell) for cell in found] == sorted(map(page.loss, comparable), reverse=True)[:n]


@given(st.lists(any_cells()))
def test_median_speed_up(cells):
    found, n = page.median_speed_up(cells)
    timed = [cell for cell in cells if cell.verdict in page.COMPARABLE and cell.seconds and cell.their_seconds]
    assert n == len(timed)
    assert (found is None) == (n == 0)
    if n:
        speeds = [cell.their_seconds / cell.seconds for cell in timed]
        assert min(speeds) <= found <= max(speeds)


@given(st.lists(any_cells(), max_size=8))
def test_page_has_every_cell(cells):
    text = page.page(sections_of(cells))
    rows = [line for line in text.splitlines() if line.startswith("| ") and line.count("|") - line.count("\\|") == 10]
    heads = [line for line in rows if line.startswith("| row |")]
    assert len(rows) - len(heads) == len(cells)
    n = page.counts(cells)
    counted = f"**{n[BETTER]} better, {n[EQUAL]} equal, {n[WORSE]} worse**, {n[NOT_COMPARABLE]} not comparable"
    assert counted in " ".join(text.split())
    assert f"{n[MISSING]} not measured yet" in " ".join(text.split())


@given(st.lists(any_cells(), max_size=8))
def test_csv_has_every_cell(cells):
    rows = list(csv.DictReader(io.StringIO(page.as_csv(cells))))
    assert [row["verdict"] for row in rows] == [cell.verdict for cell in cells]
    assert [(row["table"], row["row"], row["column"]) for row in rows] == [
        (cell.table, cell.row, cell.column) for cell in cells
    ]
    for row, cell in zip(rows, cells, strict=True):
        assert (row["ours"] == "") == (cell.ours is None)
        assert cell.ours is None or float(row["ours"]) == cell.ours


@given(st.floats(1e-5, 1e7) | st.floats(-1e7, -1e-5))
def test_numbers_keep_three_digits(value):
    assert float(page.number(value).replace(",", "")) == pytest.approx(value, rel=6e-3 if abs(value) < 1e-4 else 5.1e-3)


@given(st.floats(1e-4, 1e8))
def test_times_and_factors_can_be_read_back(value):
    size, unit = page.seconds_text(value).split()
    assert float(size) * {"s": 1, "min": 60, "h": 3_600, "days": 86_400}[unit] == pytest.approx(value, rel=0.06)
    assert float(page.factor(value).replace(",", "")) == pytest.approx(value, rel=0.06)


def test_reasons_are_told_once():
    cells = [not_comparable("T", row, "c", 1.0, "the data are lost") for row in "ab"]
    cells += [compared("T", "r", "c", 2.0, 1.0, 0.5, reason="a local maximum")]
    text = page.page([page.Section("T", cells)])
    assert text.count("the data are lost") == 1
    assert "Not comparable, 2 cells: the data are lost." in text
    assert "**worse**: a local maximum" in text
    assert "(worse). A local maximum." in text


def test_nothing_beside_a_figure_is_lost():
    section = page.Section(
        "T", [missing("T", "r", "c", 1.0)], ("One.", "Two."), {"r": {"CL": "-5"}, "s": {"IND": "-7"}}
    )
    text = page.page([section])
    assert "One. Two." in text
    assert "| r | -5 | – |" in text
    assert "| s | – | -7 |" in text


def test_loss_without_error():
    assert page.loss(compared("T", "r", "c", 2.0, 1.0, 0.0)) == math.inf
    assert page.loss(compared("T", "r", "c", 1.0, 1.0, 0.0)) == 0
