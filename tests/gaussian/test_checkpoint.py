"""Searches for Gaussian trees go on from a checkpoint as if they had never stopped; damaged files are refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import GaussianBaseline, GaussianBinA, GaussianBinG, GaussianEAST
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.runtime import checkpoint as _checkpoint
from pgmpy_latent.runtime.checkpoint import NO_DIGEST, digest_of
from tests.support.gaussian_samples import drawn

QUIET = {"random_state": 0, "show_progress": False}
SEARCHES = [
    GaussianEAST(**QUIET),
    GaussianEAST(columns="leaves", scoring_method="ebic", **QUIET),
    GaussianBinG(simplify=True, **QUIET),
    GaussianBinA(simplify=True, **QUIET),
]


class Killed(BaseException):
    """What ends a process; no part of a search catches it."""


def killed_after(monkeypatch, n_writes):
    """End the search by force after so many writes."""
    write, calls = _checkpoint.write_whole, []

    def counted(path, content):
        write(path, content)
        calls.append(path)
        if len(calls) == n_writes:
            raise Killed

    monkeypatch.setattr(_checkpoint, "SHARE", np.inf)  # every state is written
    monkeypatch.setattr(_checkpoint, "write_whole", counted)


def without_seconds(learner):
    return learner.history_.drop(columns="seconds")


@pytest.mark.parametrize("gaps", [0.0, 0.02])
@pytest.mark.parametrize("learner", SEARCHES, ids=repr)
def test_a_killed_search_goes_on_as_if_never_stopped(monkeypatch, tmp_path, learner, gaps):
    rows = drawn(150, gaps=gaps).iloc[:, :7]
    whole = learner.set_params(checkpoint=None).fit(rows)
    learner = type(learner)(**{**learner.get_params(), "checkpoint": tmp_path / "search.json"})
    kills = 0
    for n_writes in (1, 2, 3):
        with monkeypatch.context() as patched:
            killed_after(patched, n_writes)
            try:
                learner.fit(rows)
                break
            except Killed:
                kills += 1
    assert kills >= 1
    learner.fit(rows)
    assert learner.tree_ == whole.tree_
    pd.testing.assert_frame_equal(without_seconds(learner), without_seconds(whole), check_exact=True)
    monkeypatch.setattr("pgmpy_latent.learners.search.Search.fit", None)  # no EM is run
    assert learner.fit(rows).tree_ == whole.tree_


def test_other_tables_and_settings_are_refused(tmp_path):
    path = tmp_path / "search.json"
    GaussianBaseline(checkpoint=path, **QUIET).fit(drawn(100))
    with pytest.raises(CheckpointError, match="another table"):
        GaussianBaseline(checkpoint=path, **QUIET).fit(drawn(100, seed=1))
    with pytest.raises(CheckpointError, match="learner GaussianBaseline, not GaussianBinG"):
        GaussianBinG(checkpoint=path, **QUIET).fit(drawn(100))
    with pytest.raises(CheckpointError, match="model='chow_liu', not 'independence'"):
        GaussianBaseline("independence", checkpoint=path, **QUIET).fit(drawn(100))


def rewritten(path, change):
    """Change a file, and give it the digest of what it now holds."""
    document = json.loads(Path(path).read_text())
    change(document)
    document["digest"] = NO_DIGEST
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in document.items()]
    content = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    Path(path).write_bytes(content.replace(NO_DIGEST.encode(), digest_of(content, NO_DIGEST).encode(), 1))


def higher(name):
    def change(document):
        document[name] += 1
        document["history"][-1][name] += 1

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (higher("log_likelihood"), "its log-likelihood is"),
        (higher("score"), "its score is"),
        (lambda d: d["model"]["of"]["nodes"][-1].update(mean=7.0), "not the one that its memory leads to"),
        (lambda d: d.update(memory=None), "memory"),
        (lambda d: d["memory"]["of"]["found"]["of"].pop("mean"), "its memory of 'mean' is missing"),
        (lambda d: d["memory"]["of"]["found"]["of"]["forest"]["of"].update(n_columns=8), "damaged"),
    ],
)
def test_files_that_are_whole_but_wrong_are_refused(tmp_path, change, words):
    path = tmp_path / "search.json"
    learner = GaussianBinG(simplify=True, checkpoint=path, **QUIET).fit(drawn(100))
    rewritten(path, change)
    content = path.read_bytes()
    with pytest.raises(CheckpointError, match=words):
        learner.fit(drawn(100))
    assert path.read_bytes() == content
