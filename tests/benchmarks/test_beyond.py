"""The page beyond the papers: verdicts follow from figures, and the page is what results render."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import beyond, class_figures, density, runner, wide
from benchmarks.beyond import BETTER, DIFFERS, EQUAL, WORSE, Line
from benchmarks.tables import _thesis
from tests.test_docs import DOCS


def line(ours, larger_is_better=True, error=0.5):
    return Line("table", "figure", -100.0, ours, error, 1.0, 1, larger_is_better)


@pytest.mark.parametrize(
    ("ours", "larger_is_better", "verdict"),
    [
        (-99.6, True, EQUAL),
        (-99.4, True, BETTER),
        (-100.6, True, WORSE),
        (-100.6, False, BETTER),
        (-99.4, None, DIFFERS),
        (-99.5, None, EQUAL),
    ],
)
def test_verdicts(ours, larger_is_better, verdict):
    assert line(ours, larger_is_better).verdict == verdict


@given(st.floats(-1e3, 1e3), st.floats(0, 10))
def test_whoever_is_better_the_other_is_worse(ours, error):
    opposite = {BETTER: WORSE, WORSE: BETTER, EQUAL: EQUAL}
    assert line(ours, False, error).verdict == opposite[line(ours, True, error).verdict]


def test_the_error_of_a_mean_is_twice_that_of_the_difference_and_half_a_digit():
    assert beyond.error_of([5.0], 0.0, 1) == pytest.approx(0.05)
    assert beyond.error_of([1.0, 3.0], 0.0, 0) == pytest.approx(2 * 1.0 + 0.5)
    assert beyond.error_of([1.0, 3.0], 2.0, 0) == pytest.approx(2 * 5**0.5 + 0.5)


def test_the_page_is_what_results_render():
    assert (DOCS / "beyond.md").read_text(encoding="utf-8") == beyond.page()


def test_every_published_figure_has_a_line_with_its_value():
    found = {(one.data, one.figure): one.published for one in beyond.parts()["Latent class analysis"]}
    published = {
        (data, model): value for data, models in class_figures.PUBLISHED.items() for model, value in models.items()
    }
    assert found == published
    assert [one.published for one in beyond.parts()["Wide tables"]] == [wide.JAVA[1], wide.JAVA[2], wide.JAVA[0]]


def test_aims_are_met_by_likelihood_and_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("density")
    wanted, allowed = density.WANTED["nltcs"]
    for seconds, test, verdict in (
        (allowed, wanted, beyond.MET), (allowed + 1, wanted, beyond.MISSED), (1.0, wanted - 0.01, beyond.MISSED)
    ):  # fmt: skip
        run.note("nltcs", "HiddenChowLiu", 0, [seconds], {"test": test})
        (row,) = beyond.density_rows(run)
        assert row[5] == verdict


def test_tables_of_the_thesis_have_the_verdicts_of_the_page_of_evidence(tmp_path, monkeypatch):
    """The error is that by which the page of evidence compares the same figures."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("all_tables")
    bics = {"pen digits": (-81_460.0, -81_400.0), "page blocks": (-22_740.0, -22_741.0), "voting": (-3_087.0,) * 2}
    for name, values in bics.items():
        for seed, bic in enumerate(values):
            run.note(name, "EAST", seed, [1.0], {"bic": bic})
    lines = {one.data.lower(): one for one in beyond.column_lines(run, runner.Runner("east"))}
    assert lines.keys() == bics.keys()
    for name, row in (("pen digits", "Pen"), ("page blocks", "Page"), ("voting", "Voting")):
        figure = max(_thesis.figures("6.13")[row].values(), key=lambda one: one.mean)
        found = _thesis.score_finding(figure, bics[name])
        assert (lines[name].published, lines[name].verdict) == (figure.mean, found.verdict)
        assert lines[name].error == pytest.approx(found.error)
    assert {one.verdict for one in lines.values()} == {EQUAL, WORSE}


def test_lines_without_results_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    assert {name: lines for name, lines in beyond.parts().items() if lines} == {}
    assert "| 0 |  |" in beyond.page()
