"""What a type checker tells users: types do not vanish after ``fit``, and misspelt words are found before a run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

PROJECT = Path(__file__).parents[1]
LEARNERS = ["SplitMerge", "RandomStarts", "EAST", "BinG", "BinA", "HLTA", "HiddenChowLiu", "Baseline"]
NETWORKS = ["StructuralEM", "AgglomerativeCardinality", "FindHidden"]
SCRIPT = f"""
import pgmpy_latent as pl
from pgmpy_latent import presets

table: object = None
{"".join(f"reveal_type(pl.{name}().fit(table)){chr(10)}" for name in LEARNERS + NETWORKS)}
reveal_type(pl.TreeEM().fit(None, table))
reveal_type(pl.NetworkEM().fit(None, table))
reveal_type(pl.LatentClassificationModel().fit(table, table))
reveal_type(pl.GaussianTreeEM().fit(None, table))
reveal_type(pl.GaussianEAST().fit(table).tree_)
reveal_type(pl.EAST().partial_fit(table))
reveal_type(pl.HLTA().fit(table).partial_fit(table).tree_)
reveal_type(pl.StructuralEM().fit(table).network_)
reveal_type(pl.TreeEM().fit(None, table).tree_)
reveal_type(pl.SplitMerge().fit(table).bic_)
reveal_type(pl.SplitMerge().fit(table).stopped_)
reveal_type(pl.SplitMerge().fit(table).n_states_)
reveal_type(pl.BinA().fit(table).weight_kind_)
"""
REVEALED = [
    *(f"learners.*.{name}" for name in LEARNERS),
    *(f"networks.*.{name}" for name in NETWORKS),
    "em.estimators.TreeEM",
    "em.network_em.NetworkEM",
    "classification.lcm.LatentClassificationModel",
    "gaussian.estimator.GaussianTreeEM",
    "model.gaussian_tree.GaussianTree",
    "learners.east.east.EAST",
    "model.tree.LatentTree",
    "model.network.LatentNetwork",
    "model.tree.LatentTree",
    "float",
    "str | None",
    "dict[typing.Hashable, int]",
    "Literal['frequency'] | Literal['sampling'] | None",
]
#: Lines that no run would survive, and the words that each is refused with.
MISTAKES = {
    'pl.SplitMerge(max_states="3")': 'Argument "max_states" to "SplitMerge"',
    "pl.EAST(tuning=presets.HLTA)": 'Argument "tuning" to "EAST"',
    'pl.Baseline("chow-liu")': 'Argument 1 to "Baseline"',
    'pl.BinG().fit(table, weight_kind="survey")': 'Argument "weight_kind" to "fit"',
    'pl.BinG().fit(table, unseen="ignore")': 'Argument "unseen" to "fit"',
    'pl.BinG().fit(table).predict(table, absent="ignore")': 'Argument "absent" to "predict"',
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says about a user's script, as line -> messages."""
    path = tmp_path_factory.mktemp("types") / "script.py"
    path.write_text(SCRIPT + "\n".join(MISTAKES) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(PROJECT / "pyproject.toml"), str(path)]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    lines = path.read_text().split("\n")
    messages = {}
    for number, message in re.findall(r"script\.py:(\d+): (.*)", result.stdout):
        messages.setdefault(lines[int(number) - 1], []).append(message)
    assert messages, result.stdout + result.stderr
    return messages


def test_types_do_not_vanish_after_fit(said):
    asked = [line for line in SCRIPT.split("\n") if line.startswith("reveal_type")]
    for line, expected in zip(asked, REVEALED, strict=True):
        (note,) = said[line]
        revealed = re.search(r'Revealed type is "(.*)"', note)[1]
        pattern = re.escape(expected).replace(r"\.\*", r"[\w.]*")
        assert re.fullmatch(rf"(pgmpy_latent\.|builtins\.)?{pattern}", revealed), (line, revealed)


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_found_before_a_run(said, line):
    assert any(MISTAKES[line] in message for message in said.get(line, [])), said.get(line)
