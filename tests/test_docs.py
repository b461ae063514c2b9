"""The documentation is complete, its figures are those that were measured, and its notebooks are in order.

That pages build and notebooks run is tested by ``.ci/slow``, which takes minutes.
"""

import ast
import re

import pytest

import pgmpy_latent
from notebooks.run import NOTEBOOKS, main
from tests.test_readme import ROOT

DOCS = ROOT / "docs"


def entries(page):
    """Return the names that the page lists, with the module they belong to."""
    module, names = "pgmpy_latent", []
    for line in page.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1]
        elif re.fullmatch(r"   \w+", line):
            names.append(f"{module}.{line.strip()}")
    return names


# The API ------------------------------------------------------------------------------------------


def test_the_api_page_lists_every_public_name_once():
    listed = entries((DOCS / "api.md").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))
    public = {f"pgmpy_latent.{name}" for name in pgmpy_latent._HOME}
    for module in ("scores", "operators", "plotting", "presets"):
        public |= {f"pgmpy_latent.{module}.{name}" for name in getattr(pgmpy_latent, module).__all__}
    for module in ("datasets", "exceptions", "testing"):
        own = vars(getattr(pgmpy_latent, module))
        public |= {
            f"pgmpy_latent.{module}.{name}"
            for name, value in own.items()
            if not name.startswith("_") and getattr(value, "__module__", None) == f"pgmpy_latent.{module}"
        }
    assert set(listed) == public


# Pages --------------------------------------------------------------------------------------------


def test_every_page_is_in_a_table_of_contents():
    listed = {"index"}
    for page in DOCS.glob("*.md"):
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            listed.update(line for line in block.splitlines() if line and not line.startswith(":"))
    assert listed == {page.stem for page in DOCS.glob("*.md")} | {f"notebooks/{name}" for name in NOTEBOOKS}


def test_figures_that_pages_quote_were_measured():
    measured = set(re.findall(r"-?[\d,.]*\d", (DOCS / "benchmarks.md").read_text(encoding="utf-8")))
    quoted = [
        figure
        for line in (DOCS / "which_learner.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "---" not in line
        for cell in line.split("|")[2:-1]
        for figure in re.findall(r"-?[\d,.]*\d", cell)
    ]
    assert len(quoted) > 60
    assert [figure for figure in quoted if figure not in measured] == []


# Notebooks ----------------------------------------------------------------------------------------


def test_all_notebooks_are_listed():
    files = {path.stem for path in (ROOT / "notebooks").glob("*.py")} - {"run", "__init__"}
    assert files == set(NOTEBOOKS)
    page = (DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert re.findall(r"\.\./notebooks/(\w+)\.py", page) == list(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_asks_a_question_and_has_its_seed_in_the_first_cell(name):
    text = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
    first, *cells = re.split(r"^# %%", text, flags=re.MULTILINE)[1:]
    question = re.match(r" \[markdown\]\n# # (.+\?)\n", first)
    assert question, "the title is no question"
    assert f"[{question[1]}](../notebooks/{name}.py)" in (DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert "\nSEED = " in cells[0]
    assert "## The decision" in text
    ast.parse(text)


def test_an_unknown_notebook_is_named(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["surveys"])
    assert "there is no notebook surveys; there are survey, latent_tree" in capsys.readouterr().err
