"""Fits that are killed with SIGKILL at random moments, many times: what is left is whole, and goes on to the end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from pgmpy.base import DAG
from sklearn.base import clone
from tqdm.auto import tqdm

from pgmpy_latent import EAST, HLTA, BinG, FindHidden, LatentClassificationModel, StructuralEM, presets, sample
from pgmpy_latent.em.estimators import EMEstimator
from pgmpy_latent.learners.forests import forest_search
from pgmpy_latent.learners.hlta import levels
from pgmpy_latent.networks.find_hidden.proposals import ProposalPolicy
from pgmpy_latent.runtime import checkpoint as _checkpoint
from tests.classification import test_resume as classifier
from tests.em import test_resume as kept_em
from tests.runtime.test_checkpoint import QUIET, Killed, assert_same_fit, learners
from tests.support.samples import two_classes_of_columns

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes that are killed are forked")

IN_PROCESSES = "EAST in two processes"
#: What does the same without further threads or processes.
ALONE = {IN_PROCESSES: "EAST, evaluation auto"}
#: What a process does to itself when it is about to write a file for the n-th time.
MOMENTS = ("half written", "written", "in place")


def fits():
    """Return a learner of every kind that keeps a file, by name."""
    latents = DAG([("A", "a1"), ("A", "a2"), ("A", "B"), ("B", "b1"), ("B", "b2")], latents={"A", "B"})
    latents.add_nodes_from(["a3", "b3"])
    return {
        **{type(learner).__name__: learner for learner in learners()},
        "EAST, evaluation auto": EAST(**QUIET),
        "HLTA in batches": HLTA(top=1, tuning=presets.HLTA.replace(batch_size=40, n_epochs=3), **QUIET),
        "StructuralEM with hidden variables": StructuralEM(latents, n_states=2, **QUIET),
        "FindHidden by rows held out": FindHidden(max_latents=1, criterion="held_out", **QUIET),
        "LatentClassificationModel": classifier.classifier(),
        "EAST after BinG": EAST(start=BinG(simplify=True), tuning=presets.EAST.replace(evaluation="dc"), **QUIET),
        "TreeEM": kept_em.estimators(n_init=8)[0][0],
        "NetworkEM": kept_em.estimators(n_init=8)[1][0],
        IN_PROCESSES: EAST(n_jobs=2, **QUIET),
    }


@cache
def table():
    return sample(two_classes_of_columns(), 300, random_state=1)


def fitted(name, path=None):
    learner = fits()[name].set_params(checkpoint=path)
    if isinstance(learner, LatentClassificationModel):
        return learner.fit(classifier.X, classifier.Y)
    if isinstance(learner, EMEstimator):
        return learner.fit((kept_em.star if name == "TreeEM" else kept_em.crossed)(table()), table())
    return learner.fit(table())


@cache
def uninterrupted(name):
    return fitted(name)


def assert_goes_on(name, path):
    """Fit to the end, and compare with what was never interrupted; nothing but the file is left beside it."""
    learner, whole = fitted(name, path), uninterrupted(name)
    if isinstance(learner, LatentClassificationModel):
        classifier.assert_same(learner, whole)
    elif isinstance(learner, EMEstimator):
        kept_em.assert_same(learner, whole)
    else:
        assert_same_fit(learner, whole)
    assert os.listdir(path.parent) == [path.name]


def unfinished(path):
    """Return whether a search is under way in a file, which must be whole if there is one; fail if rubbish piles up."""
    others = [found for found in os.listdir(path.parent) if found not in (path.name, f"{path.name}.start")]
    assert len(others) <= 1  # what a process was writing when it was killed; the next one removes it
    assert all(found.startswith(f".{path.name}.") for found in others)
    start = path.with_name(f"{path.name}.start")
    begun = start.exists() and bool(json.loads(start.read_bytes()))
    return (path.exists() and not json.loads(path.read_bytes())["finished"]) or begun


# a process that fits in forks of itself, which do not have to load and compile anything, and kills them


def serve():
    """Answer requests, one a line: how a fork that fitted ended, and after how many seconds."""
    _checkpoint.SHARE = np.inf  # every state is written
    forest_search.CHUNK_SECONDS = levels.CHUNK_SECONDS = 0.0  # after every pair, island or batch
    tqdm.set_lock(threading.RLock())  # its own is shared with forks, and held for ever by one that dies with it
    for line in sys.stdin:
        print(json.dumps(_in_a_fork(**json.loads(line))), flush=True)


def _in_a_fork(name, path, delay, moment, at):
    uninterrupted(ALONE.get(name, name))  # loads and compiles what forks need
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(_fit_in_child(name, path, moment, at, sender))
    os.close(sender)
    os.read(receiver, 1)
    began = time.perf_counter()
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(receiver)
    return {"pid": child, "ended": ended, "seconds": time.perf_counter() - began}


def _fit_in_child(name, path, moment, at, sender):
    try:
        with parallel_config(backend="loky"):
            if name == IN_PROCESSES:
                fitted(name)  # starts the other process
            if moment is not None:
                _die_in_a_write(moment, at)
            os.write(sender, b"!")
            fitted(name, path)
        return 0
    except BaseException:
        traceback.print_exc()
        return 1


def _die_in_a_write(moment, at):
    """Let this process kill itself in its write number ``at``, counted from 1."""
    fsync, replace, calls = os.fsync, os.replace, []

    def dying_fsync(file):
        calls.append(file)
        if len(calls) == at and moment == "half written":
            os.ftruncate(file, os.fstat(file).st_size // 2)
        fsync(file)
        if len(calls) == at and moment != "in place":
            os.kill(os.getpid(), signal.SIGKILL)

    def dying_replace(*given):
        replace(*given)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync, os.replace = dying_fsync, dying_replace


class Server:
    """The other end of :func:`serve`."""

    def __init__(self, temporary):
        self.temporary = temporary
        command = [sys.executable, "-c", "from tests.runtime.test_sigkill import serve; serve()"]
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": {**os.environ, "TMPDIR": str(temporary)}}
        self.process = subprocess.Popen(command, text=True, cwd=Path(__file__).parents[2], **options)
        self.pid = None

    def fit(self, name, path=None, *, delay=None, moment=None, at=0):
        """Fit in a fork; return whether it was killed, and its seconds."""
        request = {"name": name, "path": path and str(path), "delay": delay, "moment": moment, "at": at}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        found = json.loads(self.process.stdout.readline())
        self.end_others()  # the processes of a fork that was killed live on while the next one works
        self.pid = found["pid"]
        assert found["ended"] in (0, -signal.SIGKILL)
        return found["ended"] != 0, found["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.end_others()

    def end_others(self):
        """End the processes that worked for the last fork."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGTERM)  # joblib's own, which tidies up when all others ended, ignores it


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("temporary"))
    yield server
    server.close()


def killed_again_and_again(server, name, path, n_kills):
    """Let processes begin a fit, or go on with it, and die, so many times while it is under way."""
    _, span = server.fit(ALONE.get(name, name))
    rng, kills = np.random.default_rng([n_kills, *name.encode()]), 0
    for _ in range(30 * n_kills):
        killed, _ = server.fit(name, path, delay=rng.uniform(0, span))
        if unfinished(path):
            kills += killed
        elif path.exists():
            assert_goes_on(name, path)
            path.unlink()
            span *= 0.8
        else:  # it died before it had begun
            span *= 1.1
        if kills == n_kills:
            return
    pytest.fail(f"{kills} of {n_kills} kills came while {name} was under way")


@pytest.mark.parametrize("n_kills", [5, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name in fits() if name != IN_PROCESSES])
def test_killed_at_random_moments(tmp_path, server, name, n_kills):
    killed_again_and_again(server, name, tmp_path / "search.json", n_kills)
    assert_goes_on(name, tmp_path / "search.json")


@pytest.mark.parametrize("n_kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_while_processes_work_for_it(tmp_path, server, n_kills):
    killed_again_and_again(server, IN_PROCESSES, tmp_path / "search.json", n_kills)
    assert_goes_on(IN_PROCESSES, tmp_path / "search.json")
    server.end_others()
    patience = time.monotonic() + 30
    while list(server.temporary.glob("pgmpy_latent_*")) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not list(server.temporary.glob("pgmpy_latent_*"))


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", ["EAST", "AgglomerativeCardinality"])
def test_killed_in_a_write(tmp_path, server, name, moment, at):
    path = tmp_path / "search.json"
    for _ in range(2):  # what the first one leaves behind, the second one removes
        killed, _ = server.fit(name, path, moment=moment, at=at)
        assert killed
        assert unfinished(path) == (at > 1 or moment == "in place")
        whole = [found for found in os.listdir(tmp_path) if found in ("search.json", "search.json.start")]
        assert len(os.listdir(tmp_path)) == len(whole) + (moment != "in place")
    assert_goes_on(name, path)


# what a kill costs


def test_proposals_that_were_tried_are_not_tried_again(monkeypatch, tmp_path):
    many_rows, with_tried = sample(two_classes_of_columns(), 5000, random_state=2), ProposalPolicy._with_tried
    learner = FindHidden(n_states=2, **QUIET, checkpoint=tmp_path / "a.json")
    tried, left = [], [np.inf]

    def tries_some(policy, state, so_far, proposals):
        if not left[0]:
            raise Killed
        left[0] -= 1
        tried.append(proposals[so_far.n_tried])
        return with_tried(policy, state, so_far, proposals)

    monkeypatch.setattr(_checkpoint, "SHARE", np.inf)
    monkeypatch.setattr(ProposalPolicy, "_with_tried", tries_some)
    whole = clone(learner).set_params(checkpoint=None).fit(many_rows)
    without_kills = tried.copy()
    assert len(without_kills) >= 3
    tried.clear()
    for _ in without_kills:
        left[0] = 1
        with suppress(Killed):  # the last of these runs ends by itself
            learner.fit(many_rows)
    left[0] = np.inf
    assert_same_fit(learner.fit(many_rows), whole)
    assert tried == without_kills
