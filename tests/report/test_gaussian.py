"""Reports about Gaussian trees: nothing is missing, names mean nothing to HTML, and notebooks show the tree."""

import json
import re

import numpy as np
import pytest

from pgmpy_latent import GaussianBaseline, GaussianTree
from pgmpy_latent.report import write_report
from pgmpy_latent.selection.groups import GroupComparison
from tests.support.gaussian_samples import drawn


@pytest.fixture(scope="module")
def learner():
    rows = drawn(200, gaps=0.05).rename(columns={"x0": "<b>first</b>"}).iloc[:, :5]
    rows.iloc[3, 1] = 999.0
    weights = np.random.default_rng(0).integers(1, 3, 200)
    return GaussianBaseline("one_factor", random_state=0, show_progress=False).fit(
        rows, sample_weight=weights, missing={"x1": [999]}
    )


def page_of(model, path, *args, **options):
    write_report(model, path / "report.html", *args, **options)
    return (path / "report.html").read_text()


def test_a_report_has_every_section(learner, tmp_path):
    text = page_of(learner, tmp_path)
    for anchor in ("tree", "latents", "fit", "search", "data", "reproduce"):
        assert f'<section id="{anchor}"' in text
    for words in (
        "Gaussian latent tree with 1 hidden variable",
        "Values that count as missing: x1: 999",
        "frequency weights",
        "Residual correlations",
        "Standard errors and 95% intervals",
        "GaussianBaseline(model=",
        "missing={",
    ):
        assert words.replace("'", "&#x27;") in text or words in text
    assert "<b>first</b>" not in text
    assert learner.report(tmp_path / "own.html") is None
    assert (tmp_path / "own.html").read_text() == text


def test_the_tree_holds_every_number(learner, tmp_path):
    text = page_of(learner, tmp_path)
    found = json.loads(re.search(r'id="tree-data">(.*?)</script>', text).group(1))
    assert [node["name"] for node in found["nodes"]] == list(map(str, learner.tree_.names))
    assert found["nodes"][1]["facts"][0] == ["Correlation with H1", f"{learner.tree_.correlation[1]:.3f}"]
    drawn_nodes = [child for node in found["nodes"] for child in node["children"]] + found["roots"]
    assert sorted(drawn_nodes) == list(range(6))


def test_a_tree_by_itself_is_held_against_a_table(learner, tmp_path):
    rows = drawn(100)
    tree = GaussianTree(["x0", "x1"], [-1, 0], [False, False], [0.0, 0.5])
    text = page_of(tree, tmp_path, rows)
    assert "Gaussian tree without hidden variables" in text
    assert "Chi-squared" in text
    with pytest.raises(ValueError, match="this GaussianTree has no table with it"):
        page_of(tree, tmp_path)
    with pytest.raises(ValueError, match="groups is not for a Gaussian tree, which has no classes"):
        page_of(tree, tmp_path, rows, groups=GroupComparison.__new__(GroupComparison))


def test_notebooks_show_loadings_and_the_tree(learner):
    text = learner._repr_html_inner()
    assert "1 hidden variable, 5 columns, 15 parameters" in text
    assert "&lt;b&gt;first&lt;/b&gt;" in text
    assert "correlation with its score" in text
    assert "<details" in learner.tree_._repr_html_()
