"""Checkpoints: a killed search goes on as if it never had been, and no search overwrites the file of another."""

import contextlib
import errno
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    HiddenChowLiu,
    HiddenChowLiuMixture,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    encode,
    presets,
    sample,
    scores,
)
from pgmpy_latent.exceptions import CheckpointError, CheckpointWarning
from pgmpy_latent.learners.forests import forest_search
from pgmpy_latent.learners.hlta import levels
from pgmpy_latent.learners.search import Search
from pgmpy_latent.runtime import checkpoint as _checkpoint
from pgmpy_latent.runtime import fingerprint as _fingerprint
from pgmpy_latent.runtime.checkpoint import Checkpoint, State
from pgmpy_latent.runtime.fingerprint import fingerprint
from pgmpy_latent.runtime.lossless_json import back, plain
from pgmpy_latent.tables.sparse import read_sparse
from tests.support.samples import (
    assert_same_tree,
    labels,
    latent_class,
    press_ctrl_c,
    sealed,
    small_tree,
    two_classes_of_columns,
)

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def table():
    return sample(two_classes_of_columns(), 300, random_state=1)


def learners():
    return [
        SplitMerge(tuning=presets.SPLIT_MERGE.replace(depth=1, n_restarts=1), **QUIET),
        SplitMerge(scoring_method="heldout", tuning=presets.SPLIT_MERGE.replace(adjust=False), **QUIET),
        RandomStarts(n_starts=4, **QUIET),
        EAST(tuning=presets.EAST.replace(evaluation="dc"), **QUIET),
        EAST(columns="anywhere", **QUIET),
        BinG(simplify=True, **QUIET),
        BinA(columns="anywhere", **QUIET),
        HLTA(top=1, columns="anywhere", **QUIET),
        HiddenChowLiu(max_states=4, **QUIET),
        HiddenChowLiuMixture(n_trials=3, max_groups=2, max_states=2, **QUIET),
        Baseline("latent_class", **QUIET),
        StructuralEM(**QUIET),
        FindHidden(max_latents=1, **QUIET),
        AgglomerativeCardinality(two_classes_of_columns(), **QUIET),
    ]


def model_of(learner):
    return getattr(learner, learner._holder)


def without_seconds(learner):
    return learner.history_.drop(columns="seconds")


def assert_same_fit(learner, whole):
    """Assert that a search that was interrupted has found what one without interruptions finds, bit for bit."""
    assert_same_tree(model_of(learner), model_of(whole))
    pd.testing.assert_frame_equal(without_seconds(learner), without_seconds(whole), check_exact=True)
    assert learner.score_ == whole.score_
    assert learner.stopped_ is None
    if isinstance(learner, FindHidden):
        pd.testing.assert_frame_equal(learner.candidates_, whole.candidates_, check_exact=True)
        assert_same_tree(learner.base_, whole.base_)
    if isinstance(learner, AgglomerativeCardinality):
        for name in ("trace_", "em_scores_"):
            pd.testing.assert_frame_equal(getattr(learner, name), getattr(whole, name), check_exact=True)


every_learner = pytest.mark.parametrize("learner", learners(), ids=lambda learner: type(learner).__name__)


class Killed(BaseException):
    """What ends a process; no part of a search catches it."""


def killed_after(monkeypatch, n_writes, only=None):
    """End the search by force after so many writes, of any file or of one only."""
    write, calls = _checkpoint.write_whole, []

    def counted(path, content):
        write(path, content)
        calls.extend([path] if only in (None, path) else [])
        if len(calls) == n_writes:
            raise Killed

    monkeypatch.setattr(_checkpoint, "SHARE", np.inf)  # every state is written
    monkeypatch.setattr(_checkpoint, "write_whole", counted)


@every_learner
def test_a_killed_search_goes_on_as_if_never_stopped(monkeypatch, tmp_path, table, learner):
    whole = learner.set_params(checkpoint=None).fit(table)
    path = tmp_path / "search.json"
    learner = type(learner)(**{**learner.get_params(deep=False), "checkpoint": path})
    kills = 0
    for n_writes in (1, 2, 2, 3, 5, 8):
        with monkeypatch.context() as patched:
            killed_after(patched, n_writes)
            try:
                learner.fit(table)
                break
            except Killed:
                kills += 1
    assert kills >= 1
    assert_same_fit(learner.fit(table), whole)


@every_learner
def test_a_finished_file_returns_its_model_at_once(monkeypatch, tmp_path, table, learner):
    learner = learner.set_params(checkpoint=str(tmp_path / "search.json"))
    first = model_of(learner.fit(table))
    content = Path(learner.checkpoint).read_bytes()
    monkeypatch.setattr("pgmpy_latent.learners.search.Search.fit", None)  # no EM is run
    assert_same_tree(model_of(learner.fit(table)), first)
    assert json.loads(content)["finished"]
    learner.set_params(checkpoint=None)


def test_fingerprints_tell_functions_and_arrays_apart(table):
    data = encode(table)

    def mark(**settings):
        return fingerprint(SplitMerge(**settings), data).settings

    assert mark(scoring_method=lambda t, d: 1) != mark(scoring_method=lambda t, d: 2)
    assert mark(scoring_method=scores.bic) == mark(scoring_method=scores.bic) != mark(scoring_method=scores.aic)
    assert mark(random_state=np.random.RandomState(1)) == mark(random_state=np.random.RandomState(1))
    assert mark(random_state=np.random.RandomState(1)) != mark(random_state=np.random.RandomState(2))
    with pytest.raises(CheckpointError, match="a checkpoint must tell settings apart"):
        mark(skeleton=(one for one in [1]))
    first, second = _rule_of_a_script("tree.n_nodes"), _rule_of_a_script("len(tree.names)")
    assert first.__qualname__ == second.__qualname__
    assert mark(scoring_method=first) != mark(scoring_method=second)


def _rule_of_a_script(rule):
    namespace = {"__name__": "__main__"}
    exec(f"def score(tree, data): return {rule}", namespace)
    return namespace["score"]


def test_large_tables_are_hashed_in_blocks(monkeypatch, table):
    whole = fingerprint(BinG(), encode(table))
    monkeypatch.setattr(_fingerprint, "BLOCK", 7)
    assert fingerprint(BinG(), encode(table)) == whole


def test_what_a_killed_process_began_to_write_is_removed(tmp_path, table):
    ending = f"{'0123' * 8}.tmp"
    for name, text in {"a": "half of", "a.json": "another's", "b": "one more"}.items():
        (tmp_path / f".{name}.{ending}").write_text(text)
    BinG(checkpoint=tmp_path / "a", **QUIET).fit(table)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".a.json.{ending}", f".b.{ending}", "a"]


@every_learner
def test_seeds_of_numpy_are_kept(tmp_path, table, learner):
    learner = clone(learner).set_params(checkpoint=tmp_path / "a.json", random_state=np.int64(3))
    again = clone(learner).set_params(random_state=3, checkpoint=None)
    assert_same_tree(model_of(learner.fit(table)), model_of(again.fit(table)))
    assert isinstance(json.loads((tmp_path / "a.json").read_text())["entropy"], int)


def test_a_finished_file_holds_what_was_fitted_to_all_rows(monkeypatch, tmp_path, table):
    learner = FindHidden(max_latents=1, criterion="held_out", checkpoint=tmp_path / "a.json", **QUIET)
    first = learner.fit(table)
    model, value, base = first.network_, first.log_likelihood_, first.base_
    with monkeypatch.context() as patched:
        patched.setattr(Search, "fit", lambda *given, **options: pytest.fail("EM ran"))
        again = learner.set_params(time_limit=1e-9).fit(table)
    assert_same_tree(again.network_, model)
    assert_same_tree(again.base_, base)
    assert again.log_likelihood_ == value
    assert again.stopped_ is None


def test_ctrl_c_before_all_rows_are_learned_from_leaves_the_network(monkeypatch, table):
    learner = FindHidden(max_latents=1, criterion="held_out", **QUIET)

    def press(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(FindHidden, "_fitted_again", press)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C"):
        learner.fit(table)
    assert learner.stopped_ == "interrupted"
    assert np.isfinite(learner.log_likelihood_)


def test_a_finished_file_is_returned_where_nothing_can_be_written(monkeypatch, tmp_path, table):
    learner = BinG(checkpoint=tmp_path / "a.json", **QUIET)
    first = learner.fit(table).tree_

    def full(*given):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(_checkpoint, "check_writable", full)
    monkeypatch.setattr(_checkpoint, "write_whole", full)
    assert_same_tree(learner.fit(table).tree_, first)  # warnings are errors here: it is not written again


def test_fingerprints_tell_sparse_tables_apart():
    table = sparse.csr_array(np.eye(3))

    def mark(matrix, weights=None):
        return fingerprint(HLTA(), read_sparse(matrix, weights)).data

    assert mark(table) == mark(table.tocsc())
    assert len({mark(table), mark(table[::-1]), mark(table, [1, 2, 3]), mark(table[:, :2])}) == 4


def test_without_a_seed_the_search_goes_on_with_the_seed_it_had(monkeypatch, tmp_path, table):
    learner = SplitMerge(
        tuning=presets.SPLIT_MERGE.replace(depth=1, n_restarts=1), show_progress=False, checkpoint=tmp_path / "a.json"
    )
    with monkeypatch.context() as patched:
        killed_after(patched, 2)
        with pytest.raises(Killed):
            learner.fit(table)
    entropy = json.loads((tmp_path / "a.json").read_text())["entropy"]
    learner.fit(table)
    assert json.loads((tmp_path / "a.json").read_text())["entropy"] == entropy


def test_ctrl_c_and_the_clock_leave_a_file_that_can_be_taken_up(monkeypatch, tmp_path, table):
    whole = SplitMerge(tuning=presets.SPLIT_MERGE.replace(depth=1, n_restarts=1), **QUIET).fit(table)
    learner = SplitMerge(
        tuning=presets.SPLIT_MERGE.replace(depth=1, n_restarts=1), **QUIET, checkpoint=tmp_path / "a.json"
    )
    with monkeypatch.context() as patched:
        press_ctrl_c(patched, 40)
        with pytest.warns(UserWarning, match="Ctrl-C stopped the search"):
            learner.fit(table)
    assert learner.stopped_ == "interrupted"
    assert len(learner.history_) < len(whole.history_)
    with pytest.warns(UserWarning, match="time limit"):
        learner.set_params(time_limit=1e-9).fit(table)
    learner.set_params(time_limit=None, n_jobs=2).fit(table)  # neither belongs to the fingerprint
    assert learner.stopped_ is None
    assert_same_tree(learner.tree_, whole.tree_)


# files that are refused


@pytest.fixture
def finished(tmp_path, table):
    path = tmp_path / "search.json"
    BinG(**QUIET, checkpoint=path).fit(table)
    return path


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (BinA(**QUIET), "learner BinG, not BinA"),
        (BinG(random_state=1), "random_state=0, not 1"),
        (BinG(**QUIET, simplify=True, max_states=4), "max_states=None, not 4; simplify=False, not True"),
    ],
)
def test_the_file_of_another_search_is_refused_and_kept(finished, table, learner, words):
    before = finished.read_bytes()
    with pytest.raises(CheckpointError, match=f"belongs to another search: {words}. Remove it, or name another file"):
        learner.set_params(checkpoint=finished).fit(table)
    assert finished.read_bytes() == before


def test_other_data_are_refused_with_both_fingerprints(finished, table):
    ours, theirs = (fingerprint(BinG(), encode(one)).data for one in (table, table.head(200)))
    with pytest.raises(CheckpointError, match=f"another search: another table, data {ours}, not {theirs}"):
        BinG(**QUIET, checkpoint=finished).fit(table.head(200))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "is not JSON, or cut short"),
        (lambda text: "", "is not JSON, or cut short"),
        (lambda text: "[]", "is not the file of a search"),
        (lambda text: '{"format": "pgmpy_latent"}', "is not the file of a search"),
        (lambda text: text.replace('"version": 4', '"version": 5', 1), "was written by a newer pgmpy_latent; upgrade"),
        (lambda text: text.replace('"version": 4', '"version": "x"', 1), "has an unknown version"),
        (
            lambda text: text.replace('"version": 4', '"version": 2', 1),
            r"was written by an older pgmpy_latent \(version 2, this is 4\).* Remove it, or name another file",
        ),
        (lambda text: text.replace(" ", "  ", 1), "is damaged .its digest is not that of its content.. Remove it"),
        (lambda text: text.replace('"digest"', '"digests"', 1), "is damaged .its digest is not that of its content"),
    ],
)
def test_damaged_files_are_refused_and_kept(finished, table, change, words):
    _assert_refused(finished, table, change(finished.read_text()), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace('"memory"', '"memories"', 1), "is damaged .KeyError: 'memory'"),
        (lambda text: text.replace('"latent": true', '"latent": 3', 1), "is damaged .FileFormatError: node"),
        (lambda text: json.dumps({**json.loads(text), "memory": []}), "is damaged .ValueError: its memory"),
        (lambda text: json.dumps({**json.loads(text), "history": [{}]}), "is damaged .ValueError: its history"),
        (lambda text: json.dumps({**json.loads(text), "entropy": 1}), "is damaged .its seeds come from 1, not from 0"),
        (
            lambda text: json.dumps({**json.loads(text), "score": 1000.0}),
            r"ValueError: its score is 1000\.0, and should",
        ),
        (
            lambda text: text.replace('"states": [0, 1]', '"states": [0, 5]'),
            r"ValueError: its model gives the hidden 'H1' the states \(0, 5\)",
        ),
        (
            lambda text: '"states": [0, 5]'.join(text.rsplit('"states": [0, 1]', 1)),
            r"ValueError: its model gives '..' the states \(0, 5\), the table \(0, 1\)",
        ),
    ],
)
def test_files_that_are_whole_but_wrong_are_refused_and_kept(finished, table, change, words):
    changed = change(finished.read_text()).encode()
    _assert_refused(finished, table, sealed(changed).decode(), words + ".*Remove it, or name another file")


def _assert_refused(path, table, text, words):
    path.write_text(text)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=words) as refused:
        BinG(**QUIET, checkpoint=path).fit(table)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


def unfinished_learners():
    """Return learners whose memory tells whether there is more to try; structural EM remembers its model alone."""
    others = [
        EAST(**QUIET),
        RandomStarts(n_states=2, tuning=presets.RANDOM_STARTS.replace(n_rounds=3), **QUIET),
        HLTA(top=1, tuning=presets.HLTA.replace(batch_size=40), **QUIET),
    ]
    strangers = (StructuralEM, AgglomerativeCardinality)  # the latter keeps results, and no state
    return [one for one in [*learners(), *others] if not isinstance(one, strangers)]


@pytest.mark.parametrize("n_writes", [1, 2])
@pytest.mark.parametrize("learner", unfinished_learners(), ids=lambda learner: f"{learner}"[:30])
def test_a_search_with_more_to_try_is_not_taken_for_finished(monkeypatch, tmp_path, table, learner, n_writes):
    path = tmp_path / "search.json"
    learner = clone(learner).set_params(checkpoint=path)
    with monkeypatch.context() as patched:
        for module in (forest_search, levels):
            patched.setattr(module, "CHUNK_SECONDS", 0.0)  # a state after every pair, island or batch
        killed_after(patched, n_writes, path)
        with pytest.raises(Killed):
            learner.fit(table)
    document = json.loads(path.read_text())
    assert not document["finished"]
    path.write_bytes(sealed(json.dumps({**document, "finished": True}).encode()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"search\.json.*says that its search is finished.*Remove it, or name"):
        learner.fit(table)
    assert path.read_bytes() == before


def test_a_model_under_which_rows_are_impossible_is_refused(tmp_path, table):
    """Its log-likelihood is minus infinity, from which no number is far."""
    path = tmp_path / "search.json"
    learner = StructuralEM(**QUIET, checkpoint=path).fit(table)
    document = json.loads(path.read_text())
    rows = [row for node in document["model"]["of"]["nodes"] for row in node["table"] if 0.0 in row]
    rows[0].reverse()
    path.write_bytes(sealed(json.dumps(document).encode()))
    with pytest.raises(CheckpointError, match=r"its log-likelihood is -\d.*, and should be -inf.*Remove it, or name"):
        learner.fit(table)


def other_states(final):
    final["of"]["base"]["of"]["nodes"][1]["states"][0] = 7
    return final


@pytest.mark.parametrize("change", [other_states, len], ids=["other states", "no networks"])
def test_a_file_whose_last_models_are_wrong_is_refused_and_kept(tmp_path, table, change):
    path = tmp_path / "search.json"
    learner = FindHidden(max_latents=1, criterion="held_out", **QUIET, checkpoint=path).fit(table)
    document = json.loads(path.read_text())
    memory = document["memory"]["of"]
    memory["final"] = change(memory["final"])
    path.write_bytes(sealed(json.dumps(document).encode()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"search\.json' is damaged .*Remove it, or name another file"):
        learner.fit(table)
    assert path.read_bytes() == before


def test_counts_below_zero_are_refused_before_em_goes_on(monkeypatch, tmp_path, table):
    path = tmp_path / "search.json"
    learner = HLTA(top=1, tuning=presets.HLTA.replace(batch_size=40, n_epochs=3), **QUIET, checkpoint=path)
    with monkeypatch.context() as patched:
        for module in (forest_search, levels):
            patched.setattr(module, "CHUNK_SECONDS", 0.0)  # a state after every pair, island or batch
        killed_after(patched, 9)
        with pytest.raises(Killed):
            learner.fit(table)
    document = json.loads(path.read_text())
    running = document["memory"]["of"]["running"]["of"]
    counts = back(running["counts"])
    counts[12] = -1.0
    running["counts"] = plain(counts)
    path.write_bytes(sealed(json.dumps(document).encode()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"its memory of 'counts' .*Remove it, or name another file"):
        learner.fit(table)
    assert path.read_bytes() == before


def test_a_search_whose_steps_are_miscounted_is_refused(finished, table):
    document = json.loads(finished.read_text())
    changed = sealed(json.dumps({**document, "step": document["step"] + 1}).encode()).decode()
    _assert_refused(finished, table, changed, "it counts 6 steps, and its history 5.*Remove it, or name another file")


def test_a_path_that_cannot_be_written_is_named_before_the_search(tmp_path, table):
    with pytest.raises(FileNotFoundError, match=r"checkpoint: cannot write .*: the folder '.*gone' does not exist"):
        BinG(checkpoint=tmp_path / "gone" / "a.json").fit(table)
    with pytest.raises(CheckpointError, match=r"checkpoint '.*' is a folder, not a file\. Name another file"):
        BinG(checkpoint=tmp_path).fit(table)
    with pytest.raises(ValueError, match=r"checkpoint is 3; give the path of a file, as 'search.json', or None"):
        BinG(checkpoint=3).fit(table)


def test_a_full_disk_leaves_the_old_file_and_the_search_goes_on(monkeypatch, tmp_path, table):
    path = tmp_path / "search.json"
    with monkeypatch.context() as patched:
        killed_after(patched, 2)
        with pytest.raises(Killed):
            SplitMerge(tuning=presets.SPLIT_MERGE.replace(depth=1), **QUIET, checkpoint=path).fit(table)
    before = path.read_bytes()
    fsync = os.fsync

    def full(descriptor):
        fsync(descriptor)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_checkpoint, "SHARE", np.inf)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CheckpointWarning, match="cannot be written .*No space left.*the search goes on") as caught:
        learner = SplitMerge(tuning=presets.SPLIT_MERGE.replace(depth=1), **QUIET, checkpoint=path).fit(table)
    assert len(caught) == 1
    assert learner.stopped_ is None
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["search.json"]


def test_a_disk_that_is_full_again_is_reported_again(monkeypatch, tmp_path):
    full = []

    def write(path, content):
        if full[-1]:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_checkpoint, "write_whole", write)
    checkpoint = Checkpoint(tmp_path / "a.json", fingerprint(BinG(), encode(pd.DataFrame({"x": [0, 1]}))))
    checkpoint.resume(0)
    warned = []
    for is_full in (True, True, False, True, True):
        full.append(is_full)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            checkpoint.keep(State(small_tree(), -1.0, -1.0), [], last=True)
        warned.append(len(caught))
    assert warned == [1, 0, 0, 1, 0]


# when states are written


def test_states_wait_until_writing_is_cheap_but_never_longer_than_a_minute(monkeypatch, tmp_path):
    now, written = [0.0], []

    def write(path, content):
        now[0] += 0.5  # what a write takes
        written.append(json.loads(content)["step"])

    monkeypatch.setattr(_checkpoint, "write_whole", write)
    mark = fingerprint(BinG(), encode(pd.DataFrame({"x": [0, 1]})))
    checkpoint = Checkpoint(tmp_path / "a.json", mark, clock=lambda: now[0])
    checkpoint.resume(0)

    def at(seconds, step=None):
        now[0] = seconds
        if step is None:
            checkpoint.tend()
        else:
            checkpoint.keep(State(small_tree(), -1.0, -1.0, step), [])

    at(0, 0)
    at(1, 1)
    assert written == [0]  # 0.5 seconds of writing are a hundredth of 50
    at(49, 2)
    assert written == [0]
    at(51)
    assert written == [0, 2]  # without a new state as well
    at(200)
    assert written == [0, 2]  # nothing new
    checkpoint.keep(State(small_tree(), -1.0, -1.0, 3), [], last=True)
    checkpoint.keep(State(small_tree(), -1.0, -1.0, 4), [], last=True)
    assert written == [0, 2, 3, 4]
    monkeypatch.setattr(_checkpoint, "SHARE", 1e-9)
    checkpoint.keep(State(small_tree(), -1.0, -1.0, 5), [], last=True)
    at(now[0] + 59, 6)
    assert written[-1] == 5
    at(now[0] + 61)
    assert written[-1] == 6


def test_a_memory_that_no_file_could_be_read_with_is_refused_at_once(tmp_path):
    mark = fingerprint(BinG(), encode(pd.DataFrame({"x": [0, 1]})))
    checkpoint = Checkpoint(tmp_path / "a.json", mark)
    with pytest.raises(TypeError, match="memory of a policy is a dict; make it a dataclass with held_by_checkpoints"):
        checkpoint.keep(State(small_tree(), -1.0, -1.0, memory={"n_failures": 1}), [])
    assert not os.listdir(tmp_path)


# fingerprints and values


def test_the_fingerprint_counts_what_changes_the_answer():
    data = encode(pd.DataFrame({"x": ["a", "b", "a"], "y": [0, 1, 1]}))
    tree, other = latent_class(2, [2, 2]), latent_class(2, [2, 2], seed=5)

    def mark(**settings):
        return fingerprint(SplitMerge(**settings), data)

    assert mark(n_jobs=1, time_limit=3, show_progress=False, checkpoint="a") == mark(n_jobs=2, checkpoint="b")
    assert mark(random_state=0) == mark(random_state=np.int64(0))
    assert mark(random_state=0) != mark(random_state=1)
    assert mark(start=tree) == mark(start=latent_class(2, [2, 2]))
    assert mark(start=tree) != mark(start=other)
    assert mark(skeleton=RandomStarts(n_states=2)) != mark(skeleton=RandomStarts(n_states=3))
    weighted = encode(pd.DataFrame({"x": ["a", "b", "a"], "y": [0, 1, 1]}), sample_weight=[1, 2, 3])
    assert fingerprint(SplitMerge(), data).data != fingerprint(SplitMerge(), weighted).data
    renamed = encode(pd.DataFrame({"x": ["a", "c", "a"], "y": [0, 1, 1]}))
    assert fingerprint(SplitMerge(), data).data != fingerprint(SplitMerge(), renamed).data


arrays = st.one_of(
    *(
        hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
        for dtype in (np.float64, np.int64, np.bool_)
    )
)
plain_values = st.recursive(
    st.one_of(st.none(), labels, st.floats(), arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(labels, inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "!", "of"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(plain_values)
def test_values_come_back_from_json_as_they_were(value):
    again = back(json.loads(json.dumps(plain(value), allow_nan=False)))
    assert repr(again) == repr(value)


def test_names_that_no_file_can_keep_are_named():
    with pytest.raises(CheckpointError, match=r"Timestamp\('2020-01-01 00:00:00'\) .* cannot be kept in a checkpoint"):
        plain([pd.Timestamp("2020-01-01")])


def test_what_stopped_a_search_names_its_file(tmp_path, table):
    learner = EAST(checkpoint=tmp_path / "search.json", time_limit=1e-9, **QUIET)
    words = (
        r"the time limit stopped the search; fit again to go on from the checkpoint '.*search\.json'\. What is fitted"
    )
    with pytest.warns(ConvergenceWarning, match=words):
        learner.fit(table)
    assert_same_tree(learner.set_params(time_limit=None).fit(table).tree_, EAST(**QUIET).fit(table).tree_)


def test_what_came_before_a_search_is_removed_when_it_has_begun(monkeypatch, tmp_path, table):
    path = tmp_path / "search.json"
    learner = EAST(start=BinG(simplify=True), tuning=presets.EAST.replace(evaluation="dc"), checkpoint=path, **QUIET)
    whole = clone(learner).set_params(checkpoint=None).fit(table)
    with monkeypatch.context() as patched:
        killed_after(patched, 2)
        with pytest.raises(Killed):
            learner.fit(table)
    assert os.listdir(tmp_path) == ["search.json.start"]
    assert_same_tree(learner.fit(table).tree_, whole.tree_)
    assert os.listdir(tmp_path) == ["search.json"]
    (tmp_path / "search.json.start").write_text("left behind by a kill")
    assert_same_tree(learner.fit(table).tree_, whole.tree_)
    assert os.listdir(tmp_path) == ["search.json"]


@pytest.mark.parametrize("seed", [0, None])
def test_the_starts_of_a_search_have_a_file_until_it_begins(monkeypatch, tmp_path, table, seed):
    learner = EAST(**{**QUIET, "random_state": seed}, checkpoint=tmp_path / "search.json")
    left = set()
    for n_writes in range(1, 20):
        with monkeypatch.context() as patched, contextlib.suppress(Killed):
            killed_after(patched, n_writes)
            learner.fit(table)
        left.update(os.listdir(tmp_path))
        if "search.json" in left:
            break
    assert left == {"search.json", "search.json.start"}
    learner.fit(table)
    assert os.listdir(tmp_path) == ["search.json"]
    if seed is not None:
        assert_same_fit(learner, clone(learner).set_params(checkpoint=None).fit(table))


@pytest.mark.parametrize("learner", unfinished_learners(), ids=lambda learner: f"{learner}"[:30])
def test_every_part_of_a_memory_is_checked(monkeypatch, tmp_path, table, learner):
    path = tmp_path / "search.json"
    learner = clone(learner).set_params(checkpoint=path)
    with monkeypatch.context() as patched:
        for module in (forest_search, levels):
            patched.setattr(module, "CHUNK_SECONDS", 0.0)  # a state after every pair, island or batch
        killed_after(patched, 2, path)
        with pytest.raises(Killed):
            learner.fit(table)
    document = json.loads(path.read_text())
    if "of" not in document["memory"]:
        pytest.skip("remembers a dict")
    for name, value in document["memory"]["of"].items():
        for forged in ({**document["memory"]["of"], name: [value]}, {**document["memory"]["of"], f"{name}_": value}):
            changed = {**document, "memory": {**document["memory"], "of": forged}}
            path.write_bytes(sealed(json.dumps(changed).encode()))
            with pytest.raises(CheckpointError, match=rf"is damaged .*{name}.*Remove it, or name another file"):
                learner.fit(table)
    without = {"phase": None, **document["memory"]["of"]}
    without.popitem()
    path.write_bytes(sealed(json.dumps({**document, "memory": {**document["memory"], "of": without}}).encode()))
    with pytest.raises(CheckpointError, match=r"is damaged .*its memory of '\w+' is missing"):
        learner.fit(table)
