"""Workers: whoever does the work, and however many there are, the results are the same to the last bit."""

import os
import pickle
import signal
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris

from pgmpy_latent import (
    EAST,
    BinG,
    LatentClassificationModel,
    SplitMerge,
    StructuralEM,
    compare_classes,
    presets,
    sample,
    standard_errors,
    support,
)
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import Clock, TimeLimitReached
from tests.support.samples import assert_same_tree, latent_class, two_classes_of_columns

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def table():
    return sample(two_classes_of_columns(), 300, random_state=1)


# what is done with items


def square(number):
    return number**2


def slow_square(number):
    time.sleep(0.002 * max(0, 5 - number))
    return number**2


def too_late(number):
    if number == 3:
        raise TimeLimitReached
    return number


def warned(number):
    warnings.warn(f"number {number}", UserWarning, stacklevel=1)
    return number


def inside(number):
    return os.getpid(), parallel.n_workers(4), parallel.n_threads(4), parallel.mapped(_here, [0, 1, 2], 4)


def _here(item):
    return os.getpid(), threading.get_ident()


def blas_threads(number):
    from threadpoolctl import threadpool_info

    return max((one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"), default=1)


class Adder:
    """Has a method, and counts how often it was unpacked where it is."""

    unpacked = 0

    def __init__(self, more):
        self.more = more

    def __setstate__(self, own):
        vars(self).update(own)
        Adder.unpacked += 1

    def added(self, number):
        return number + self.more, Adder.unpacked, os.getpid()


def sleepy(seconds):
    time.sleep(seconds)
    return seconds


def test_while_processes_work_something_else_can_be_seen_to(monkeypatch):
    monkeypatch.setattr(parallel, "PULSE", 0.05)
    calls = []
    with parallel_config(backend="loky"):
        clock = Clock(on_check=lambda: calls.append(1))
        assert parallel.mapped(sleepy, [0.5, 0.0], 2, clock) == [0.5, 0.0]
    assert len(calls) > 4


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_order_stays(backend, n_jobs):
    with parallel_config(backend=backend):
        assert parallel.mapped(slow_square, range(5), n_jobs) == [0, 1, 4, 9, 16]
        assert parallel.mapped(slow_square, [], n_jobs) == []
        more = 3
        assert parallel.mapped(lambda number: number + more, range(20), n_jobs) == list(range(3, 23))


def _where(n_processes, folder, number):
    """Wait until as many processes have begun as there should be: a busy machine may start them one after the other."""
    (Path(folder) / str(os.getpid())).touch()
    ends = time.monotonic() + 30
    while len(os.listdir(folder)) < n_processes and time.monotonic() < ends:
        time.sleep(0.01)
    return number, os.getpid()


def processes_of(n_items, n_jobs, n_processes):
    with TemporaryDirectory() as folder:
        work = partial(_where, n_processes, folder)
        return {pid for _, pid in parallel.mapped(work, range(n_items), n_jobs)}


def test_the_users_backend_does_the_work():
    own = os.getpid()
    assert processes_of(4, 2, 1) == {own}
    with parallel_config(backend="loky"):
        assert own not in processes_of(10, 2, 2)
        assert len(processes_of(10, 2, 2)) == 2
        assert len(processes_of(20, 3, 2)) in (2, 3)
    with parallel_config(backend="loky", n_jobs=2):
        assert parallel.n_workers(None) == 2
        assert parallel.n_threads(None) == 1
        assert len(processes_of(10, None, 2)) == 2
    with parallel_config(n_jobs=2):
        assert (parallel.n_workers(None), parallel.n_threads(None)) == (2, 2)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_never_multiply(backend):
    with parallel_config(backend=backend):
        for pid, n_workers, n_threads, below in parallel.mapped(inside, range(3), 2):
            assert (n_workers, n_threads) == (1, 1)
            assert len(set(below)) == 1
            assert below[0][0] == pid
    assert parallel.n_workers(4) == 4


def test_matrix_products_of_workers_have_one_thread(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    with parallel_config(backend="loky", inner_max_num_threads=3):
        assert parallel.mapped(blas_threads, range(3), 2) == [1, 1, 1]


def test_a_process_that_was_killed_is_named_and_replaced(tmp_path):
    with parallel_config(backend="loky"):
        with pytest.raises(RuntimeError, match="terminated"):
            parallel.mapped(partial(_killed_elsewhere, os.getpid()), range(8), 2)
        assert parallel.mapped(square, range(8), 2) == [n**2 for n in range(8)]


def _killed_elsewhere(here, number):
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return number


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_item_that_ran_out_of_time_ends_the_work_but_no_worker(backend, n_jobs):
    with parallel_config(backend=backend):
        with pytest.raises(TimeLimitReached):
            parallel.mapped(too_late, range(6), n_jobs)
        clock = Clock()
        found, interrupted = parallel.work_through(too_late, [0, 1, 3, 3], n_jobs, clock=clock)
        assert interrupted
        assert clock.stopped == "time_limit"
        assert set(found) <= {0, 1}
        assert parallel.work_through(too_late, [0, 1], n_jobs) == ([0, 1], False)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_errors_and_warnings_come_through(backend):
    with parallel_config(backend=backend):
        with pytest.raises(ZeroDivisionError):
            parallel.mapped(partial(divmod, 1), [1, 0], 2)
        with pytest.warns(UserWarning, match="number"):
            assert parallel.mapped(warned, [1, 2], 2) == [1, 2]


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_every_item_is_done_once(backend, n_jobs):
    with parallel_config(backend=backend):
        found = list(parallel.as_completed(slow_square, range(40), n_jobs))
    assert sorted(found) == [(at, at * at) for at in range(40)]


def test_a_function_is_unpickled_a_few_times_by_every_process():
    with parallel_config(backend="loky"):
        parallel.mapped(square, range(8), 2)  # starts the processes
        found = parallel.mapped(Adder(5).added, range(40), 2)
    assert [number for number, _, _ in found] == list(range(5, 45))
    most = {pid: max(n for _, n, other in found if other == pid) for _, _, pid in found}
    assert sum(most.values()) == 2 * parallel.TASKS


def test_a_thread_that_nobody_waits_for_gets_to_know():
    search, begun, ends = Search(Settings(), n_jobs=2), threading.Event(), []

    def work(number):
        if number == 0:
            begun.wait()
            raise KeyboardInterrupt
        begun.set()
        try:
            while True:
                time.sleep(0.001)
                search.tick()
        except TimeLimitReached:
            ends.append(number)
            raise

    with pytest.raises(KeyboardInterrupt):
        search.map(work, [0, 1])
    for _ in range(1000):
        if ends:
            break
        time.sleep(0.005)
    assert ends == [1]


def test_after_an_interrupt_the_search_goes_on_alone():
    search = Search(Settings(), n_jobs=2)

    def fail(number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.map(fail, [0, 1])
    assert len({thread for _, thread in search.map(_here, range(4))}) == 1
    search.tick()  # this thread was not cancelled


def test_draws_that_nobody_waits_for_end(monkeypatch, table):
    """Threads that learn trees for support do not learn them to the end after Ctrl-C."""
    ends, both = [], threading.Barrier(2)

    class Endless(BinG):
        def _learn(self, data):
            search = self._search(data)
            if both.wait() == 0:
                raise KeyboardInterrupt
            try:
                while True:
                    time.sleep(0.001)
                    search.tick()
            finally:
                ends.append(1)

    learner = BinG(**QUIET).fit(table)
    learner.__class__ = Endless
    with pytest.raises(KeyboardInterrupt):
        support(learner, table, n_bootstrap=2, n_jobs=2, show_progress=False)
    for _ in range(1000):
        if ends:
            break
        time.sleep(0.005)
    assert ends == [1]


def test_a_clock_travels():
    clock = Clock(10.0, reserved=0.5, on_check=print, outer=Clock())
    clock.earlier = 3.0
    time.sleep(0.01)
    again = pickle.loads(pickle.dumps(clock))
    assert again.elapsed == pytest.approx(clock.elapsed, abs=0.1)
    assert again.seconds_left == pytest.approx(clock.seconds_left, abs=0.1)
    assert (again.on_check, again.outer, again.is_up) == (None, None, False)


def test_a_reserve_is_used_when_it_is_asked_for():
    clock = Clock(3600.0, reserved=1 - 1e-9)
    time.sleep(0.001)
    with pytest.raises(TimeLimitReached):
        clock.check()
    clock.note_stop()
    clock.use_reserve()
    clock.check()
    clock.note_stop(KeyboardInterrupt())
    assert clock.stopped == "time_limit"  # the first reason counts


def test_time_limits_reach_other_processes():
    with parallel_config(backend="loky"):
        search = Search(Settings(), n_jobs=2, time_limit=1.0)
        began = time.perf_counter()
        with pytest.raises(TimeLimitReached):
            search.map(partial(_tick_for_ever, search), [0, 1])
        assert time.perf_counter() - began < 60


def _tick_for_ever(search, number):
    while True:
        time.sleep(0.01)
        search.tick()


def _pressed_and_done(done):
    with parallel.uninterrupted(heed=True):
        signal.raise_signal(signal.SIGINT)
        done.append("heeded")


@pytest.fixture
def heard():
    """Let Ctrl-C be heard, as it is not by processes in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_who_ignores_ctrl_c_goes_on_to_ignore_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    done = []
    _pressed_and_done(done)
    assert done == ["heeded"]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("heard")
def test_ctrl_c_waits_for_what_must_not_be_left_half_done():
    done = []
    with parallel.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        done.append("forgotten")
    with pytest.raises(KeyboardInterrupt):
        _pressed_and_done(done)
    assert done == ["forgotten", "heeded"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


# what learners find


def fits():
    """Return what is done with a table, and how two results are compared."""
    return {
        "EAST": lambda table, n: EAST(n_jobs=n, **QUIET).fit(table).tree_,
        "EAST, columns anywhere": lambda table, n: EAST(columns="anywhere", n_jobs=n, **QUIET).fit(table).tree_,
        "EAST, rl": lambda table, n: (
            EAST(n_jobs=n, tuning=presets.EAST.replace(evaluation="rl", n_starts=2, n_steps=5), **QUIET)
            .fit(table)
            .tree_
        ),
        "EAST, dc": lambda table, n: (
            EAST(n_jobs=n, tuning=presets.EAST.replace(evaluation="dc"), **QUIET).fit(table).tree_
        ),
        "BinG": lambda table, n: BinG(n_jobs=n, simplify=True, **QUIET).fit(table).tree_,
        "BinG, columns anywhere": lambda table, n: BinG(columns="anywhere", n_jobs=n, **QUIET).fit(table).tree_,
        "SplitMerge": lambda table, n: (
            SplitMerge(n_jobs=n, tuning=presets.SPLIT_MERGE.replace(depth=1, n_restarts=1), **QUIET).fit(table).tree_
        ),
        "StructuralEM": lambda table, n: StructuralEM(n_jobs=n, **QUIET).fit(table).network_,
    }


def tables_of_draws(table, n_jobs):
    learner = BinG(**QUIET).fit(table)
    return [
        support(learner, table, n_bootstrap=5, n_jobs=n_jobs, random_state=0, show_progress=False),
        standard_errors(
            learner.tree_, table, method="bootstrap", n_bootstrap=6, n_jobs=n_jobs, random_state=0, show_progress=False
        ),
        compare_classes(
            table, [1, 2], n_starts=3, n_bootstrap=4, n_jobs=n_jobs, random_state=0, show_progress=False
        ).drop(columns="seconds"),
    ]


@pytest.mark.parametrize("name", fits())
def test_serial_threading_and_loky_find_the_same_model(table, name):
    fit = fits()[name]
    alone = fit(table, 1)
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend):
            assert_same_tree(fit(table, 2), alone)


@pytest.mark.filterwarnings("ignore")
def test_serial_threading_and_loky_draw_the_same_tables(table):
    alone = tables_of_draws(table, 1)
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend):
            for one, other in zip(tables_of_draws(table, 2), alone, strict=True):
                pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_serial_threading_and_loky_find_the_same_sizes():
    X, y = (part[::3] for part in load_iris(return_X_y=True))

    def fit(n_jobs):
        learner = LatentClassificationModel(n_components=1, n_starts=4, max_iter=20, cv=3, n_jobs=n_jobs, **QUIET)
        return learner.fit(X, y)

    alone = fit(1)
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend):
            again = fit(2)
        np.testing.assert_array_equal(again.predict_proba(X), alone.predict_proba(X))
        columns = alone.cv_results_.columns.drop("seconds")
        pd.testing.assert_frame_equal(again.cv_results_[columns], alone.cv_results_[columns], check_exact=True)


def test_a_checkpoint_of_one_backend_is_taken_up_by_another(monkeypatch, tmp_path, table):
    from tests.runtime.test_checkpoint import Killed, killed_after

    alone = EAST(**QUIET).fit(table)
    learner = EAST(n_jobs=2, checkpoint=tmp_path / "a.json", **QUIET)
    with monkeypatch.context() as patched, parallel_config(backend="loky"):
        killed_after(patched, 3)
        with pytest.raises(Killed):
            learner.fit(table)
    assert_same_tree(learner.fit(table).tree_, alone.tree_)


# Dask


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_went_away_is_named_before_the_search(table):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local:
        client = distributed.Client(local, timeout=2)
        with parallel_config(backend="dask"):
            client.close()
            with pytest.raises(RuntimeError, match=r"backend DaskDistributedBackend cannot be reached .*or leave"):
                EAST(n_jobs=2, **QUIET).fit(table)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    import dask

    settings = {"distributed.scheduler.allowed-failures": 10, "distributed.worker.daemon": False}
    with dask.config.set(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with local, distributed.Client(local) as client:
            yield client


@pytest.mark.filterwarnings("ignore")
def test_dask_finds_the_same_model(cluster, table):
    with parallel_config(backend="dask"):
        assert os.getpid() not in {pid for pid, _ in parallel.mapped(_here, range(4), 2)}
        assert_same_tree(EAST(n_jobs=2, **QUIET).fit(table).tree_, EAST(**QUIET).fit(table).tree_)


def _killed_once(path, number):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return number**2
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_dask_that_is_killed_changes_nothing(cluster, table, tmp_path):
    with parallel_config(backend="dask"):
        assert parallel.mapped(partial(_killed_once, str(tmp_path / "killed")), range(8), 2) == [n**2 for n in range(8)]
        assert (tmp_path / "killed").exists()
        alone = BinG(**QUIET).fit(table)
        found = support(alone, table, n_bootstrap=4, n_jobs=2, random_state=0, show_progress=False)
    wanted = support(alone, table, n_bootstrap=4, n_jobs=1, random_state=0, show_progress=False)
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def test_engines_travel(table):
    from pgmpy_latent.inference.queries import encode_for, engine_for

    tree = latent_class(2, [2] * 3)
    data = encode_for(tree, sample(tree, 50, random_state=0))
    engine = engine_for(tree, data)
    flat = engine.layout.pack(tree.tables)
    again = pickle.loads(pickle.dumps(engine))
    for one, other in zip(engine.expected_counts(flat), again.expected_counts(flat), strict=True):
        np.testing.assert_array_equal(one, other)
