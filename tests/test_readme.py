"""What the README and the documentation say is true: their Python runs, their links lead somewhere."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import pgmpy_latent

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")] + sorted(
    ROOT.glob("docs/*.md")
)
#: Written by a benchmark script, which does not run with the tests.
WRITTEN_LATER = {"benchmarks.md"}


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def command_after(marker):
    """Return the one line of the fenced block that follows a marker comment of the README."""
    found = re.search(rf"^<!-- {marker} -->\n```\n(.+)\n```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert found, f"README.md has no single line after <!-- {marker} -->"
    return found[1]


#: Executed by tests of their own.
EXECUTED = {"README.md", "tour.md"}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if python_blocks(page) and page.name not in EXECUTED], ids=lambda page: page.name
)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem}")  # so that pickles find the classes of the page
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for number, block in enumerate(python_blocks(page), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), vars(module))


def test_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 99
    assert len(python_blocks(ROOT / "README.md")) == 5


@pytest.mark.parametrize("number", range(5))
def test_an_example_of_the_readme_runs_by_itself(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    exec(python_blocks(ROOT / "README.md")[number], namespace)
    assert capsys.readouterr().out
    if "network" in namespace:
        assert namespace["network"].check_model()
        assert namespace["network"].latents == {"camp"}
    if "classes" in namespace:
        assert Path("classes.html").is_file()
    if "tree" in namespace:
        assert_is_drawn(namespace["tree"].tree_)


def assert_is_drawn(tree):
    """Assert that the picture on the first pages, and what they say of it, are of this tree."""
    svg = (ROOT / "docs" / "images" / "tree.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<!-- (.+) -->", svg)  # Matplotlib draws texts as paths, and writes them in comments
    hidden = [f"{tree.names[at]} ({tree.cards[at]})" for at in range(tree.n_nodes) if tree.latent[at]]
    assert {*hidden, *tree.observed_names} <= set(texts)
    assert f"{len(hidden)} hidden variables, {len(tree.observed_names)} columns" in texts
    number = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven"][len(hidden)]
    for page, folder in (("README.md", "docs/"), ("docs/index.md", "")):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"![{number} hidden variables found in a survey]({folder}images/tree.svg)" in text


def test_the_tour_shows_what_it_promises(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in python_blocks(ROOT / "docs" / "tour.md"):
        exec(block, namespace)
    assert namespace["estimator"].converged_
    assert namespace["network"].check_model()
    assert namespace["network"].latents == {"camp"}
    assert Path("camps.json").is_file()
    assert "camp(0)" in capsys.readouterr().out


def test_commands():
    assert command_after("run").endswith(".venv/bin/pgmpy-latent learn")
    assert command_after("test").endswith(".venv/bin/python -m pytest -n auto")
    for marker in ("run", "test"):
        assert command_after(marker).startswith("python3 -m venv .venv && .venv/bin/pip install ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http") and Path(target).name not in WRITTEN_LATER:
            assert (page.parent / target).exists(), target


def test_changelog_knows_the_version():
    from pgmpy_latent import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()


def test_the_sentence_about_a_table_of_ones_own_is_python_that_runs(tmp_path, monkeypatch):
    """The README says it in one line, so that the file is not needed; here there is such a file."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    fitted, saved, loaded = re.search(r"in Python `(.+?)`; `(.+?)` and `(.+?)` keep the model", text).groups()
    monkeypatch.chdir(tmp_path)
    table = pgmpy_latent.datasets.load_anes96()[["PID", "selfLR", "vote"]]
    table.assign(age=[20, 30, 99, 20] * 236, w=[0.5, 1.5] * 472).to_csv("answers.csv", index=False)
    names = {"SplitMerge": pgmpy_latent.SplitMerge, "save": pgmpy_latent.save, "pd": pd}
    exec(f"{fitted}\n{saved}", names)
    assert dict(names["learner"].tree_.missing) == {"age": (99,)}
    assert eval(loaded, {"load": pgmpy_latent.load}) == names["learner"].tree_
