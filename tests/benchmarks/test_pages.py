"""What scripts write stands on its page, just as results render it; every script is known, and has its section."""

import importlib
import shutil

import pytest

from benchmarks import runner, scaling_page, scripts
from benchmarks.tables import __main__ as tables
from benchmarks.tables import page as evidence
from tests.test_docs import DOCS

SECTIONS = [script for script in scripts.SCRIPTS if script.is_section]
#: Their sections also say how large tables are, which results do not hold.
READ_DATA = {"classification", "e_steps", "hidden_tables"}


@pytest.mark.parametrize("script", SECTIONS, ids=lambda script: script.name)
def test_a_section_is_what_its_results_render(script):
    if script.name in READ_DATA and not runner.DATA.exists():
        pytest.skip("needs the papers' data sets")
    assert runner.sections(runner.PAGE.read_text(encoding="utf-8"))[script.name] == scripts.section_of(script)


def test_the_page_has_the_sections_of_all_scripts_and_no_other():
    page = runner.PAGE.read_text(encoding="utf-8")
    assert set(runner.sections(page)) == {script.name for script in SECTIONS} | {"costs"}
    assert page.count(": begin -->") == len(runner.sections(page))


def test_rendering_a_section_again_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PAGE", tmp_path / "benchmarks.md")
    shutil.copy(DOCS / "benchmarks.md", runner.PAGE)
    before = runner.PAGE.read_text(encoding="utf-8")
    for name, text in runner.sections(before).items():
        runner.render(name, text)
    assert runner.PAGE.read_text(encoding="utf-8") == before


def test_a_new_section_comes_last(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PAGE", tmp_path / "docs" / "benchmarks.md")
    for name in ("first", "second", "first"):
        runner.render(name, f"## {name}")
    assert list(runner.sections(runner.PAGE.read_text())) == ["first", "second"]
    assert "\n\n\n" not in runner.PAGE.read_text()


def test_the_page_of_scaling_is_what_its_results_render():
    assert (DOCS / "scaling.md").read_text(encoding="utf-8") == scaling_page.page(runner.Runner("scaling"))


@pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")
def test_the_page_of_evidence_is_what_its_results_render():
    found = [evidence.section_of(module, tables.runner_of(name)) for name, module in tables.modules().items()]
    assert (DOCS / "evidence.md").read_text(encoding="utf-8") == evidence.page(found)
    cells = evidence.as_csv(cell for section in found for cell in section.cells)
    assert (DOCS / "evidence.csv").read_text(encoding="utf-8") == cells


def test_every_file_of_results_belongs_to_a_script():
    names = {path.stem for path in runner.RESULTS.glob("*.csv") if not path.stem.startswith(scripts.TABLES)}
    assert names <= {script.name for script in scripts.SCRIPTS}


@pytest.mark.parametrize("script", scripts.SCRIPTS, ids=lambda script: script.name)
def test_every_script_can_be_run(script):
    assert callable(importlib.import_module(f"benchmarks.{script.name}").main)
