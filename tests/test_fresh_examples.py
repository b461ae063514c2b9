"""Property tests repeat their examples in ordinary runs; ``.ci/slow`` shows them others, and how to repeat failures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROPERTY = """
from hypothesis import given, strategies as st

@given(st.integers(0, 10**9))
def test_property(number):
    with open("examples", "a") as file:
        file.write(f"{number} ")
    assert number < {bound}
"""


def examples(folder, *options, bound=10**9 + 1):
    """Return the examples that a property test is shown, and what pytest prints."""
    (folder / "examples").write_text("")
    (folder / "test_one.py").write_text(PROPERTY.replace("{bound}", str(bound)))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        *options,
        "test_one.py",
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == (0 if bound > 10**9 else 1), done.stdout + done.stderr
    return (folder / "examples").read_text().split(), done.stdout


def test_ordinary_runs_repeat_their_examples(tmp_path):
    first, _ = examples(tmp_path)
    assert len(first) >= 10
    assert examples(tmp_path)[0] == first


def test_fresh_runs_do_not_unless_they_are_given_the_same_seed(tmp_path):
    fresh = "--hypothesis-profile=fresh"
    assert examples(tmp_path, fresh)[0] != examples(tmp_path, fresh)[0]
    seeded, _ = examples(tmp_path, fresh, "--hypothesis-seed=7")
    assert examples(tmp_path, fresh, "--hypothesis-seed=7")[0] == seeded


@pytest.mark.parametrize("seed", [[], ["--hypothesis-seed=7"]], ids=["no seed", "seed"])
def test_a_failure_of_a_fresh_run_says_how_to_repeat_it(tmp_path, seed):
    _, printed = examples(tmp_path, "--hypothesis-profile=fresh", *seed, bound=1000)
    assert "number=1000" in printed
    assert "@reproduce_failure(" in printed
    assert not (tmp_path / ".hypothesis" / "examples").exists()


@pytest.mark.parametrize("option", ["-m", "--hypothesis-profile=fresh", '--hypothesis-seed="$seed"'])
def test_continuous_integration_has_fresh_runs(option):
    (line,) = [
        line
        for line in (ROOT / ".ci" / "slow").read_text().replace("\\\n", " ").splitlines()
        if "-m pytest" in line and "hypothesis" in line
    ]
    assert option in line.split()
