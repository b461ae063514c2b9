"""EM that is stopped, shared and taken up: wherever that happens, it ends as if nothing had."""

import json
import time
from dataclasses import fields

import numpy as np
import pytest
from joblib import parallel_config
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import NetworkEM, TreeEM, sample
from pgmpy_latent.em import fit as em
from pgmpy_latent.em import sharing
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.lossless_json import back, plain
from tests.runtime.test_checkpoint import Killed, killed_after
from tests.support.samples import assert_same_tree, latent_class, sealed

OTHER_DATA = r"data [0-9a-f]{16}, not [0-9a-f]{16}"
pytestmark = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.DegenerateStateWarning")
RULES = [
    {},
    {"accelerate": False},
    {"stop": "last_step", "atol": 0.01},
    {"max_iter": 9},
    {"max_iter": 40},
    {"atol": 0.0, "max_iter": 25},
    {"prior": 0.5},
    {"narrowing": 2.0},
    {"polish": False},
]


@pytest.fixture(scope="module")
def problem():
    tree = latent_class(3, [3] * 5)
    engine = engine_for(tree, encode_for(tree, sample(tree, 300, random_state=0)))
    return engine, np.stack([random_tables(engine.layout, np.random.default_rng(seed)) for seed in range(5)])


@pytest.fixture(scope="module")
def problem_with_zeros(problem):
    """Starts that come to rest at zeros, from which they are lifted."""
    engine, starts = problem
    starts = starts.copy()
    for view in engine.layout.unpack(starts)[1:4]:
        view[:, 0] = [0.0, 0.5, 0.5]
    return engine, starts


def assert_same_fit(one, other):
    for field in fields(em.Fit):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


class Diary:
    """Keeps every position, in the form that a file has; stops EM when the time is up."""

    def __init__(self):
        self.positions = []

    def keep(self, position, last):
        self.positions.append(json.dumps(plain(position.snapshot()), allow_nan=False))

    def some(self, n):
        return [read(text) for text in self.positions[:: max(1, len(self.positions) // n)]]


def read(text):
    return back(json.loads(text))


@pytest.mark.parametrize("options", RULES, ids=str)
def test_em_goes_on_from_everywhere_as_if_never_stopped(problem, options):
    diary = Diary()
    whole = em.fit(*problem, checkpoint=diary.keep, **options)
    assert_same_fit(em.fit(*problem, **options), whole)
    assert len(diary.positions) > 3
    for position in diary.some(7):
        assert_same_fit(em.fit(*problem, position=position, **options), whole)


@pytest.mark.parametrize("options", [{}, {"max_iter": 60}, {"narrowing": 2.0}, {"polish": False}], ids=str)
def test_lifted_starts_go_on_from_everywhere(problem_with_zeros, options):
    assert em.fit(*problem_with_zeros).objective > em.fit(*problem_with_zeros, check=False).objective + 1
    test_em_goes_on_from_everywhere_as_if_never_stopped(problem_with_zeros, options)


def test_lifted_starts_in_parts_end_where_they_end_together(monkeypatch, problem_with_zeros):
    test_starts_in_parts_end_where_they_end_together(monkeypatch, problem_with_zeros, {})


class Elsewhere:
    """Workers that are not threads of this process, but do their work here."""

    def __init__(self, monkeypatch, n):
        monkeypatch.setattr(sharing, "HERE", 0.0)
        monkeypatch.setattr(sharing.parallel, "in_threads", lambda: False)
        monkeypatch.setattr(sharing.parallel, "n_workers", lambda n_jobs: n)
        monkeypatch.setattr(sharing.parallel, "as_completed", self.as_completed)
        self.rounds = 0

    def as_completed(self, work, items, n_jobs, clock):
        self.rounds += 1
        for at in reversed(range(len(items))):  # in any order
            yield at, work(items[at])


@pytest.mark.parametrize("options", RULES, ids=str)
def test_starts_in_parts_end_where_they_end_together(monkeypatch, problem, options):
    whole = em.fit(*problem, **options)
    workers = Elsewhere(monkeypatch, 2)
    diary = Diary()
    assert_same_fit(em.fit(*problem, n_jobs=2, checkpoint=diary.keep, **options), whole)
    if options.get("narrowing") is None:
        assert workers.rounds >= 1
    for position in diary.some(5):
        assert_same_fit(em.fit(*problem, n_jobs=2, position=position, **options), whole)
    monkeypatch.undo()
    assert_same_fit(em.fit(*problem, position=read(diary.positions[-1]), **options), whole)


def test_processes_share_starts(monkeypatch, problem):
    whole = em.fit(*problem)
    monkeypatch.setattr(sharing, "HERE", 0.0)
    shared, shares = sharing.parallel.as_completed, []
    monkeypatch.setattr(
        sharing.parallel,
        "as_completed",
        lambda work, items, *others: shares.append(len(items)) or shared(work, items, *others),
    )
    with parallel_config(backend="loky"):
        assert_same_fit(em.fit(*problem, n_jobs=2), whole)
    assert shares[0] == len(problem[1])


def test_ctrl_c_in_parts_leaves_the_best_so_far(monkeypatch, problem):
    whole = em.fit(*problem)
    workers = Elsewhere(monkeypatch, 2)

    def pressed(work, items, n_jobs, clock):
        for number, (at, part) in enumerate(workers.as_completed(work, items, n_jobs, clock)):
            if number == 2:
                raise KeyboardInterrupt
            yield at, part

    monkeypatch.setattr(sharing.parallel, "as_completed", pressed)
    found = em.fit(*problem, n_jobs=2)
    assert found.interrupted
    assert np.isfinite(found.log_likelihood)
    assert found.log_likelihood <= whole.log_likelihood + 1e-9
    assert found.log_likelihood == pytest.approx(float(problem[0].log_likelihood(found.tables)), abs=1e-9)


class Slow:
    """An engine that takes its time."""

    is_large = False

    def __init__(self, engine):
        self.engine, self.layout = engine, engine.layout

    def expected_counts(self, *given, **options):
        time.sleep(0.01)
        return self.engine.expected_counts(*given, **options)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_parts_keep_to_the_time_and_are_kept_as_they_come(monkeypatch, problem, n):
    engine, starts = problem
    options = {"atol": 0.0, "max_iter": 60}
    whole = em.fit(engine, starts, **options)
    diary = Diary()
    with monkeypatch.context() as patched:
        Elsewhere(patched, n)
        began = time.monotonic()
        found = em.fit(Slow(engine), starts, n_jobs=n, checkpoint=diary.keep, clock=Clock(0.3), **options)
        assert found.interrupted
        assert time.monotonic() - began < 0.6
    last = read(diary.positions[-1])
    assert_same_fit(em.fit(engine, starts, position=last, **options), whole)


# TreeEM and NetworkEM


@pytest.fixture(scope="module")
def table():
    return sample(latent_class(3, [3] * 5), 300, random_state=0)


def star(table):
    return DiscreteBayesianNetwork([("C", column) for column in table.columns], latents={"C"})


def crossed(table):
    model = star(table)
    model.add_edge(*table.columns[:2])
    return model


def estimators(**options):
    settings = {"latent_card": 3, "n_init": 4, "seed": 0, "show_progress": False, **options}
    return [(TreeEM(**settings), star), (NetworkEM(**settings), crossed)]


both = pytest.mark.parametrize("which", [0, 1], ids=["TreeEM", "NetworkEM"])


def fitted(which, table, **options):
    estimator, network = estimators(**options)[which]
    return estimator.fit(network(table), table)


def assert_same(one, other):
    assert_same_tree(*(getattr(each, "tree_", None) or each.network_ for each in (one, other)))
    for name in ("log_likelihood_", "log_likelihoods_", "n_iter_", "converged_", "n_best_", "start_objectives_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.stopped_ is None is other.stopped_


@both
def test_a_killed_fit_goes_on_as_if_never_stopped(monkeypatch, tmp_path, table, which):
    path = tmp_path / "em.json"
    kills = 0
    for n_writes in (1, 2, 3, 5, 8):
        with monkeypatch.context() as patched:
            killed_after(patched, n_writes)
            try:
                fitted(which, table, checkpoint=path)
            except Killed:
                kills += 1
    assert kills == 5
    assert_same(fitted(which, table, checkpoint=path), fitted(which, table))


@both
def test_a_finished_file_returns_its_tables_at_once(monkeypatch, tmp_path, table, which):
    path = tmp_path / "em.json"
    first = fitted(which, table, checkpoint=path)
    assert json.loads(path.read_text())["finished"]
    monkeypatch.setattr(em, "fit", None)
    assert_same(fitted(which, table, checkpoint=str(path), n_jobs=2, time_limit=60), first)


def test_without_a_seed_it_goes_on_with_the_one_it_had(monkeypatch, tmp_path, table):
    path = tmp_path / "em.json"
    with monkeypatch.context() as patched:
        killed_after(patched, 2)
        with pytest.raises(Killed):
            fitted(0, table, checkpoint=path, seed=None)
    entropy = json.loads(path.read_text())["entropy"]
    assert_same(fitted(0, table, checkpoint=path, seed=None), fitted(0, table, seed=entropy))


def cpd_of(table, share):
    return {"C": TabularCPD("C", 3, [[share], [0.5], [0.5 - share]], state_names={"C": [0, 1, 2]})}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 1}, "seed=0, not 1"),
        ({"latent_card": 2}, "latent_card=3, not 2"),
        ({"prior": 0.1}, r"prior=None, not 0\.1"),
        ({"init_cpds": "random"}, "init_cpds=None, not 'random'"),
    ],
)
def test_the_file_of_another_fit_is_refused_and_kept(tmp_path, table, changed, words):
    path = tmp_path / "em.json"
    fitted(0, table, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"belongs to another search: {words}"):
        fitted(0, table, checkpoint=path, **changed)
    assert path.read_bytes() == before


def test_other_rows_networks_and_estimators_are_refused(tmp_path, table):
    path = tmp_path / "em.json"
    fitted(0, table, checkpoint=path)
    with pytest.raises(CheckpointError, match=OTHER_DATA):
        fitted(0, table.iloc[1:], checkpoint=path)
    estimator = TreeEM(latent_card=3, n_init=4, seed=0, show_progress=False, checkpoint=path)
    with pytest.raises(CheckpointError, match=OTHER_DATA):
        estimator.fit(star(table[table.columns[:-1]]), table)
    with pytest.raises(CheckpointError, match="learner TreeEM, not NetworkEM"):
        fitted(1, table, checkpoint=path)


def test_given_tables_are_told_apart_and_known_again(tmp_path, table):
    path = tmp_path / "em.json"
    first = fitted(0, table, checkpoint=path, init_cpds=cpd_of(table, 0.25))
    assert_same(fitted(0, table, checkpoint=path, init_cpds=cpd_of(table, 0.25)), first)
    with pytest.raises(CheckpointError, match="init_cpds="):
        fitted(0, table, checkpoint=path, init_cpds=cpd_of(table, 0.125))


@both
def test_the_time_limit_leaves_the_best_so_far_and_a_file_to_go_on_from(tmp_path, table, which):
    path = tmp_path / "em.json"
    with pytest.warns(
        ConvergenceWarning,
        match=r"time_limit was reached: this is the best model so far.*; fit again to go on from .*em\.json",
    ):
        cut = fitted(which, table, time_limit=1e-9, checkpoint=path)
    assert (cut.stopped_, cut.interrupted_) == ("time_limit", True)
    whole = fitted(which, table)
    assert np.isfinite(cut.log_likelihood_)
    assert cut.log_likelihood_ < whole.log_likelihood_
    assert not json.loads(path.read_text())["finished"]
    assert_same(fitted(which, table, checkpoint=path), whole)


def no_trace(numbers, logs):
    return []


def one_short(numbers, logs):
    return [numbers[:-1], logs]


def strangers(numbers, logs):
    return [numbers + 1, logs]


def twice(numbers, logs):
    return [np.tile(numbers, 2), np.tile(logs, 2)]


def nobody(numbers, logs):
    return [numbers[:0], logs[:0]]


@both
@pytest.mark.parametrize("change", [no_trace, one_short, strangers, twice, nobody])
def test_a_file_whose_way_so_far_cannot_be_is_refused_before_it_is_written(tmp_path, table, which, change):
    path = tmp_path / "em.json"
    with pytest.warns(ConvergenceWarning, match="time_limit was reached"):
        fitted(which, table, time_limit=1e-9, checkpoint=path)
    document = json.loads(path.read_text())
    position = document["memory"]["of"]
    position["trace"] = plain([tuple(change(*back(position["trace"])[0]))])
    path.write_bytes(sealed(json.dumps(document).encode()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"em\.json.*(trace|began).*Remove it, or name another file"):
        fitted(which, table, checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"time_limit": 0}, "time_limit is 0; give a number of seconds above 0"),
        ({"checkpoint": 3}, "checkpoint is 3; give the path of a file"),
    ],
)
def test_settings_that_cannot_be_meant(table, settings, words):
    with pytest.raises(ValueError, match=words):
        fitted(0, table, **settings)


def test_a_checkpoint_that_cannot_be_written_is_named_before_the_work(monkeypatch, tmp_path, table):
    monkeypatch.setattr(em, "fit", None)
    with pytest.raises(OSError, match="nowhere"):
        fitted(0, table, checkpoint=tmp_path / "nowhere" / "em.json")


def test_shards_are_kept_too(monkeypatch, tmp_path, table):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "pieces"
    folder.mkdir()
    for number, piece in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[piece].to_parquet(folder / f"{number}.parquet")
    path = tmp_path / "em.json"

    def fit(**options):
        estimator = estimators(memory_limit=1, **options)[0][0]
        return estimator.fit(star(table), str(folder))

    whole = fit()
    with monkeypatch.context() as patched:
        killed_after(patched, 3)
        with pytest.raises(Killed):
            fit(checkpoint=path)
    assert_same(fit(checkpoint=path), whole)
    table.iloc[:50].to_parquet(folder / "3.parquet")
    with pytest.raises(CheckpointError, match=OTHER_DATA):
        fit(checkpoint=path)


@pytest.mark.parametrize("moment", [1, 2, 7, 16, 17, 18, 30])
def test_ctrl_c_leaves_a_model_and_a_file_to_go_on_from(monkeypatch, tmp_path, table, moment):
    path, calls, count = tmp_path / "em.json", [], TreeEngine.expected_counts

    def pressed(*given, **options):
        calls.append(1)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return count(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(TreeEngine, "expected_counts", pressed)
        if moment == 1:  # there is nothing yet
            with pytest.raises(KeyboardInterrupt):
                fitted(0, table, checkpoint=path)
        else:
            with pytest.warns(ConvergenceWarning, match="interrupted: this is the best model so far"):
                assert fitted(0, table, checkpoint=path).stopped_ == "interrupted"
    assert_same(fitted(0, table, checkpoint=path), fitted(0, table))


def test_weights_count(tmp_path, table):
    path = tmp_path / "em.json"
    estimator = estimators(checkpoint=path)[0][0]
    estimator.fit(star(table), table, sample_weight=np.full(len(table), 2.0))
    with pytest.raises(CheckpointError, match=OTHER_DATA):
        estimator.fit(star(table), table)
