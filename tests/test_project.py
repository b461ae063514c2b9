"""Settings that several files repeat agree: versions of Python, of pgmpy, of the linter and of the type checker."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def test_supported_pythons_are_the_same_everywhere():
    assert PROJECT["requires-python"] == ">=3.11,<3.15"
    listed = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert listed == PYTHONS
    (matrix,) = re.findall(r"^ +python: \[(.*)\]$", WORKFLOW, re.MULTILINE)
    assert re.findall(r'"([\d.]+)"', matrix) == PYTHONS
    assert "Python 3.11 to 3.14" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_linter_has_the_same_version_everywhere():
    (pinned,) = [line for line in PROJECT["optional-dependencies"]["test"] if line.startswith("ruff")]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert f"ruff-pre-commit\n    rev: v{pinned.removeprefix('ruff==')}\n" in hooks
    printed = subprocess.run(
        [sys.executable, ".github/requirement.py", "ruff"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == pinned


def test_the_oldest_pgmpy_that_we_promise_is_tested():
    (required,) = [line for line in PROJECT["dependencies"] if line.startswith("pgmpy")]
    oldest = re.match(r"pgmpy>=([\d.]+),", required)[1]
    assert f"requirement: pgmpy=={oldest}\n" in WORKFLOW


def test_the_type_checker_runs_wherever_the_linter_does():
    (pinned,) = [line for line in PROJECT["optional-dependencies"]["test"] if line.startswith("mypy")]
    assert re.fullmatch(r"mypy==[\d.]+", pinned)
    assert '"$environment/bin/mypy"\n' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "- run: mypy\n" in WORKFLOW
    assert "entry: python -m mypy\n" in (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
