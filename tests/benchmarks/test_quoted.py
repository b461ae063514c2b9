"""Every figure of a hand-written page is looked up in results, or is listed here as no measurement."""

import re

import pytest

from benchmarks import quoted, worked
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
    "networks.md": ["likely (3 nats)"],
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
