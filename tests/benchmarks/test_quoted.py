"""Every figure of a hand-written page is looked up in results, or is listed here as no measurement."""

import re

import pytest

from benchmarks import quoted, runner, worked
from tests.test_docs import DOCS

#: Pages that scripts write, or that list code and words.
WRITTEN = {"api", "benchmarks", "beyond", "changelog", "evidence", "gallery", "scaling"}
PAGES = ["README.md", *(page.name for page in sorted(DOCS.glob("*.md")) if page.stem not in WRITTEN)]
#: What looks like a measurement: amounts in units of time, memory, likelihood or shares, decimals, and scores.
UNIT = r"(?:s|ms|µs|MB|GB|KB|%|nats?|bits|x|×|times|seconds?|milliseconds|minutes?|hours?|points|per cent)(?![\w-])"
FIGURE = re.compile(
    rf"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?\s*{UNIT}|(?<![\w.])-?\d[\d,]*\.\d+|(?<![\w.,])-\d{{1,3}}(?:,\d{{3}})+|(?<!\w)\.\d+"
)
#: Page -> fragments whose figures are settings, definitions, levels of tests, or published by others.
NO_MEASUREMENTS = {
    "README.md": ["Python 3.11 to 3.14"],
    "architecture.md": ["1e-6 nats", "2e-9 nats", "below 0.01 lifted", "about 340 nats"],
    "classification.md": ["1 % of its variance"],
    "coming_from.md": ["-2 times ours"],
    "constraints.md": ["right in 95 % of cases"],
    "density.md": ["no better (by 0.003 nats per row)", "less likely than 99 %"],
    "diagnostics.md": ["level of 0.05", "share of 0.001", "pseudo-count of 0.1", "0.1 is a compromise"],
    "direct_effects.md": ["bootstrap reject at 5 %", "Holm-adjusted p < .001"],
    "east.md": ["0.7, 0.5, 0.35, 0.25, 0.18 and 0.12 of it", "equally well (0.1 nats)"],
    "gaussian.md": [
        "below 0.8 or so",
        "that lavaan prints (chi-squared 85.306, df 24, RMSEA 0.092, CFI 0.931, SRMR 0.065)",
        "γ = 0.5",
        "section 2.5 of the paper",
    ],
    "groups.md": ["is below 0.05", "p < .001"],
    "learners.md": ["below 0.01 lifted", "may take 4 GB", "written as 1.0"],
    "mixed.md": ["(a standard deviation of 3% of the column's)"],
    "model.md": ["pyAgrum 3.3.1"],
    "networks.md": ["likely (3 nats)", "have 0.5 unless"],
    "relate.md": ["Holm-adjusted p < .001", "StepMix 3.0 to 0.0001"],
    "releasing.md": ["before 1.0"],
    "split_merge.md": ["section 4.4.2"],
    "transitions.md": ["(0.90 in the model that the panel was drawn from)"],
    "tree_em.md": ["(4 GB by default", "0.1 is not the same number"],
}


def figures(page, fragments):
    """Return what looks like a measurement on a page, outside of fragments, code, formulas and references."""
    text = quoted.path_of(page).read_text(encoding="utf-8").partition("## References")[0]
    spans = [found.span() for one in fragments for found in re.finditer(quoted.pattern_of(one), text)]
    known = {at for start, end in spans for at in range(start, end)}
    text = "".join(" " if at in known else letter for at, letter in enumerate(text))
    for other in (r"^```.*?^```$", r"<!--.*?-->", r"\$\$.*?\$\$", r"`[^`\n]*`", r"\$[^$\n]*\$", r"\]\([^)]*\)"):
        text = re.sub(other, " ", text, flags=re.DOTALL | re.MULTILINE)
    return [found[0].strip() for found in FIGURE.finditer(text)]


@pytest.mark.parametrize("page", quoted.pages())
def test_what_a_page_quotes_was_measured(page):
    assert quoted.stale(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_figure_of_a_page_is_looked_up_by_nobody(page):
    looked_up = [quoted.filled(page, fragment) for fragment in quoted.fragments(page)]
    assert figures(page, [*looked_up, *NO_MEASUREMENTS.get(page, [])]) == []


@pytest.mark.parametrize("page", NO_MEASUREMENTS)
def test_what_is_listed_as_no_measurement_stands_on_its_page(page):
    text = quoted.path_of(page).read_text(encoding="utf-8")
    missing = [one for one in NO_MEASUREMENTS[page] if not re.search(quoted.pattern_of(one), text)]
    assert missing == []


@pytest.mark.parametrize("page", quoted.WORKED)
def test_what_a_page_says_of_its_example_was_measured_by_this_code(page):
    assert set(quoted.expressions(page)) == {row["method"] for row in quoted.worked().rows if row["case"] == page}


def test_an_example_gives_again_what_was_measured(monkeypatch):
    defined = worked.run_page("constraints.md")
    for expression in quoted.expressions("constraints.md"):
        found = quoted.worked().figure("constraints.md", expression, "value")
        assert eval(expression, defined) == pytest.approx(found, abs=1e-6)


# The mechanism ------------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Pretend that there is a page of benchmarks with one table, and a page that quotes it; return the path of this."""
    table = "| case | seconds | seconds |\n|---|---|---|\n| voting, 3 | 1,234.5 (2) | 7 |\n"
    monkeypatch.setattr(runner, "PAGE", tmp_path / "benchmarks.md")
    runner.render("em", f"## EM\n\nIn all 3 won.\n\n### Other\n{table}")
    monkeypatch.setattr(quoted, "path_of", lambda name: tmp_path / name)
    monkeypatch.setattr(quoted, "WORKED", {})
    fragment = (
        "took {em > Other | voting* | seconds | 1} seconds, {em | voting, 3 | seconds#2 | 1 | .2f} less, "
        "{em ~ (\\d+) won} won"
    )
    monkeypatch.setattr(quoted, "MEASURED", {"page.md": [fragment]})
    quoted.section.cache_clear()
    yield tmp_path / "page.md"
    quoted.section.cache_clear()


def test_figures_come_from_cells_numbers_formats_and_patterns(page):
    assert quoted.filled("page.md", quoted.MEASURED["page.md"][0]) == "took 1,234.5 seconds, 7.00 less, 3 won"


def test_stale_figures_are_put_right_across_lines_and_nothing_else(page):
    page.write_text("It took 99\nseconds, 0.10 less,\n5 won; 8 more.\n")
    assert len(quoted.stale("page.md")) == 1
    assert quoted.put_right("page.md") == []
    assert quoted.stale("page.md") == []
    assert page.read_text().endswith("; 8 more.\n")


def test_a_fragment_that_is_gone_is_told(page):
    page.write_text("Nothing is said here.\n")
    assert quoted.put_right("page.md") == quoted.MEASURED["page.md"]
    assert page.read_text() == "Nothing is said here.\n"


@pytest.mark.parametrize(
    "place", ["em | nobody | seconds", "em | voting* | minutes", "em > Nothing | voting* | seconds"]
)
def test_a_place_that_is_not_there_is_refused(page, place):
    with pytest.raises(LookupError):
        quoted.figure("page.md", place)


@pytest.mark.parametrize(
    "text", ["12 s", "0.3 seconds", "7 times", "5%", "93 %", "2 GB", "-1,234", "-3.5", "p < .001", "40 ms", "3.7"]
)
def test_what_looks_measured_is_found(page, text):
    page.write_text(f"It is {text}, they say.\n")
    assert len(figures("page.md", [])) == 1
    assert figures("page.md", [text]) == []


@pytest.mark.parametrize(
    "text", ["in 2009", "12 columns", "1,234 rows", "`3.5 s`", "$0.5$", "[page 2](a.md#1.5)", "x86"]
)
def test_what_is_no_measurement_is_left_alone(page, text):
    page.write_text(f"It is {text}, they say.\n\n```\n1.5 s\n```\n\n## References\n5.5 s\n")
    assert figures("page.md", []) == []
