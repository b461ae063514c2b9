"""The section of the report about edges between columns."""

import pytest

from pgmpy_latent import LatentTree, RandomStarts, add_direct_effects, sample
from pgmpy_latent.exceptions import DataError

ITEM = [[0.9, 0.1], [0.2, 0.8]]
QUIET = {"show_progress": False}


@pytest.fixture(scope="module")
def table():
    names = ["p", "q", "t", "<r>", "s"]
    tree = LatentTree(["H", *names], [[0, 1], *[["no", "yes"]] * 5], [-1, *[0] * 5], [True, *[False] * 5],
                      [[[0.5, 0.5]], *[ITEM] * 5])  # fmt: skip
    rows = sample(tree, 1000, random_state=0)
    rows["s"] = rows["<r>"].where(rows.index % 3 == 0, rows["s"])
    return rows


@pytest.fixture(scope="module")
def learner(table):
    return RandomStarts(n_states=2, n_starts=2, random_state=0, **QUIET).fit(table)


def section(learner, tmp_path, found):
    learner.report(tmp_path / "report.html", direct_effects=found)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'href="#effects"' in page
    return page.partition('<section id="effects"')[2].partition("</section>")[0]


def test_edges_have_a_section(learner, table, tmp_path):
    found = add_direct_effects(learner, table, **QUIET)
    assert found.edges == [("<r>", "s")]
    words = section(learner, tmp_path, found)
    assert "no edge" in words
    assert "&lt;r&gt; and s" in words
    assert "s given the class and &lt;r&gt;" in words
    assert words.count("class 0") == words.count("class 1") == 2  # a row for each category of r
    share = found.network_.table("s")[0, 0]  # the class comes first, and then r
    assert f"{share:.1%}" in words
    assert "nan" not in words


def test_no_edges_are_said(learner, table, tmp_path):
    found = add_direct_effects(learner, table, max_edges=0, **QUIET)
    words = section(learner, tmp_path, found)
    assert "No edge between two columns raises BIC" in words
    assert "given the class" not in words


def test_results_for_other_models_are_refused(learner, table, tmp_path):
    found = add_direct_effects(learner, table, max_edges=0, **QUIET)
    fewer = RandomStarts(n_states=2, n_starts=2, random_state=0, **QUIET).fit(table[["p", "q", "t", "s"]])
    with pytest.raises(DataError, match=r"add_direct_effects for other columns than .* differ in '<r>'; give"):
        fewer.report(tmp_path / "report.html", direct_effects=found)
    more = RandomStarts(n_states=3, n_starts=2, random_state=0, **QUIET).fit(table)
    with pytest.raises(DataError, match=r"add_direct_effects for 2 classes, but .* 'H' has 3 states"):
        more.report(tmp_path / "report.html", direct_effects=found)
    with pytest.raises(TypeError, match="direct_effects is an int; give what add_direct_effects"):
        learner.report(tmp_path / "report.html", direct_effects=3)
