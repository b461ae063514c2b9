"""EM on shards: what it finds is what EM in memory finds, whoever holds the shards."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import NetworkEM, TreeEM, encode, encode_chunks
from pgmpy_latent.em import fit as em
from pgmpy_latent.em import shards
from pgmpy_latent.em.starts import n_rows_of_start, random_memberships
from pgmpy_latent.exceptions import ClusterError, DataError, MemoryLimitError, UnseenCategoryError, WeightError
from pgmpy_latent.inference.sharded_engine import ShardedEngine
from pgmpy_latent.tables import chunks, large_tables
from pgmpy_latent.testing import codes_for, latent_trees, weights_for
from tests.inference.test_tree_engine import TOLERANCE, engine_for
from tests.support.samples import assert_same_tree

#: The category that only the last rows have looks like a code for missing answers, and is none.
pytestmark = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.MissingCodeWarning")

SETTINGS = {"latent_card": 3, "n_init": 3, "seed": 0, "atol": 0, "max_iter": 25, "show_progress": False}
COLUMNS = [f"x{at}" for at in range(6)]


class InAList:
    """Shards in a list, in place of files and workers."""

    def __init__(self, items):
        self.items = list(items)

    def each(self, function, *args):
        return [function(item, *args) for item in self.items]

    def turn(self, function):
        self.items = [function(item) for item in self.items]


def cut(n_rows, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, n_rows), max_size=5)))
    return [slice(a, b) for a, b in pairwise([0, *cuts, n_rows]) if b > a]


@given(latent_trees(), st.data())
def test_the_sum_over_shards_is_the_whole(tree, data):
    codes = data.draw(codes_for(tree))
    weights = data.draw(weights_for(len(codes)))
    whole = engine_for(tree, codes, weights)
    parts = [engine_for(tree, codes[rows], weights[rows]).for_counts() for rows in cut(len(codes), data)]
    sharded = ShardedEngine(InAList(parts).each, whole.layout, [part.weights.sum() for part in parts])
    free = data.draw(st.none() | st.lists(st.booleans(), min_size=tree.n_nodes, max_size=tree.n_nodes).map(np.array))
    one = whole.layout.pack(tree.tables)
    other = one[::-1] + 0.1
    other /= whole.layout.row_sums(other)  # a part in which a column is all missing takes its rows to sum to one
    for tables in (one, np.stack([one, other])):
        for found, expected in zip(
            sharded.expected_counts(tables, free), whole.expected_counts(tables, free), strict=True
        ):
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_allclose(found, expected, **TOLERANCE)
        np.testing.assert_allclose(sharded.log_likelihood(tables), whole.log_likelihood(tables), **TOLERANCE)
    assert sharded.weights.sum() == pytest.approx(weights.sum(), rel=1e-12)


@given(latent_trees(), st.data())
def test_an_engine_for_counts_counts_to_the_last_bit(tree, data):
    codes = data.draw(codes_for(tree))
    engine = engine_for(tree, codes, data.draw(weights_for(len(codes))))
    tables = engine.layout.pack(tree.tables)
    for found, expected in zip(
        engine.for_counts().expected_counts(tables), engine.expected_counts(tables), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=40)
@given(latent_trees(min_nodes=3, latents_are_inner=True), st.data(), st.integers(0, 1000), st.integers(1, 4))
def test_starts_are_those_of_the_table_in_memory(tree, data, seed, n_seeds):
    codes = data.draw(codes_for(tree, min_rows=2, max_rows=300))  # many rows are equal, here and across shards
    weights = data.draw(weights_for(len(codes)))
    names = [name for name, hidden in zip(tree.names, tree.latent, strict=True) if not hidden]
    states = dict(zip(tree.names, tree.state_names, strict=True))
    frame = pd.DataFrame(
        {
            name: pd.Series([states[name][c] if c >= 0 else None for c in own])
            for name, own in zip(names, codes.T, strict=True)
        }
    )
    read = partial(encode, state_names=states, weight_kind="frequency")
    whole = read(frame, sample_weight=weights)
    parts = [read(frame.iloc[rows], sample_weight=weights[rows]) for rows in cut(len(frame), data)]
    seen = tuple((whole.codes >= 0).any(axis=0).tolist())
    table = chunks.ShardedTable(
        whole.columns, whole.state_names, weights.sum(), (), None, None, False, seen, len(frame)
    )
    held = shards.Shards(table, InAList(parts), (tree.names, tree.parents, tree.cards))
    seeds = [np.random.SeedSequence(seed, spawn_key=(at,)) for at in range(n_seeds)]
    observed = dict(zip(names, seen, strict=True))
    silent = [node for node, name in enumerate(tree.names) if not observed.get(name, False)]
    rows = held.starting_rows(seeds, n_rows_of_start(tree.cards, silent))
    for own in seeds:
        found, expected = (
            random_memberships(tree.parents, tree.cards, t.codes_of(tree.names), t.weights, t.row_keys, own, hidden)
            for t, hidden in ((rows, silent), (whole, None))
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert held.engine.layout.shapes.tolist() == [list(table.shape) for table in tree.tables]


# --- Fits -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def survey():
    """Strings, numbers with gaps, a Categorical, a category that only the last rows have, and weights."""
    rng = np.random.default_rng(0)
    n_rows = 1200
    hidden = rng.integers(0, 3, n_rows)
    cells = {name: np.where(rng.random(n_rows) < 0.7, (hidden + at) % 3, rng.integers(0, 3, n_rows))
             for at, name in enumerate(COLUMNS)}  # fmt: skip
    frame = pd.DataFrame(cells)
    frame["x0"] = frame["x0"].astype("Int64").mask(rng.random(n_rows) < 0.1)
    frame["x1"] = np.array(["no", "yes", "perhaps"], dtype=object)[frame["x1"]]
    frame["x2"] = pd.Categorical.from_codes(frame["x2"], ["c", "b", "a", "never"])
    frame.loc[n_rows - 5 :, "x3"] = -7
    return frame.assign(w=rng.integers(0, 4, n_rows).astype(float))


@pytest.fixture(scope="module")
def model():
    edges = [("R", "H"), *(("R", name) for name in COLUMNS[:3]), *(("H", name) for name in COLUMNS[3:])]
    return DiscreteBayesianNetwork(edges, latents={"R", "H"})


@pytest.fixture(scope="module")
def in_memory(survey, model):
    return TreeEM(**SETTINGS).fit(model, survey.drop(columns="w"), sample_weight=survey["w"])


@pytest.fixture
def folder(tmp_path, survey, monkeypatch):
    """The survey as four files, in row groups of 70 rows; a shard has no more than 150 rows that count."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(large_tables, "PART_CELLS", 150 * 6)
    path = tmp_path / "survey"
    path.mkdir()
    for at in range(4):
        survey.iloc[300 * at : 300 * (at + 1)].to_parquet(path / f"{at}.parquet", index=False, row_group_size=70)
    return path


def assert_same_fit(found, expected):
    assert found.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=0, abs=1e-9)
    np.testing.assert_allclose(found.start_objectives_, expected.start_objectives_, rtol=0, atol=1e-9)
    assert found.state_names_ == expected.state_names_
    for own, other in zip(found.tree_.tables, expected.tree_.tables, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-9)


def on_shards(**options):
    return TreeEM(**SETTINGS | {"memory_limit": 1000} | options)


def test_files_and_data_sets_on_shards(folder, model, in_memory, monkeypatch):
    import pyarrow.dataset as ds

    opened = []
    hold = shards._InFiles.__init__

    def noted(self, path, reads, lazy, n_jobs):
        opened.append((Path(path), len(reads)))
        hold(self, path, reads, lazy, n_jobs)

    monkeypatch.setattr(shards._InFiles, "__init__", noted)
    first = on_shards().fit(model, folder, sample_weight="w")
    assert_same_fit(first, in_memory)
    for table, options in ((str(folder), {"n_jobs": 3}), (ds.dataset(folder), {}), (folder, {"n_jobs": 2})):
        found = on_shards(**options).fit(model, table, sample_weight="w")
        assert found.log_likelihood_ == first.log_likelihood_
        assert_same_tree(found.tree_, first.tree_)
    counts = [n_shards for _, n_shards in opened]
    assert 6 <= counts[0] <= 12
    assert counts == [counts[0]] * 4
    assert not any(path.exists() for path, _ in opened)


def test_what_fits_into_memory_stays_there(folder, model, survey, in_memory):
    assert_same_tree(TreeEM(**SETTINGS).fit(model, folder, sample_weight="w").tree_, in_memory.tree_)
    pieces = (survey.iloc[at : at + 100] for at in range(0, len(survey), 100))
    assert_same_tree(TreeEM(**SETTINGS).fit(model, pieces, sample_weight="w").tree_, in_memory.tree_)


def test_other_starts_and_networks_on_shards(folder, survey, in_memory):
    tree = DiscreteBayesianNetwork([("H", name) for name in COLUMNS], latents={"H"})
    table, weights = survey.drop(columns="w"), survey["w"]
    expected = TreeEM(**SETTINGS | {"init_cpds": "random"}).fit(tree, table, sample_weight=weights)
    assert_same_fit(on_shards(init_cpds="random").fit(tree, folder, sample_weight="w"), expected)
    plain = DiscreteBayesianNetwork([("x0", "x1"), ("x1", "x2")])
    assert_same_fit(on_shards(max_iter=3).fit(plain, folder), TreeEM(**SETTINGS | {"max_iter": 3}).fit(plain, table))
    network = DiscreteBayesianNetwork([*tree.edges(), ("x4", "x5")], latents={"H"})
    expected = NetworkEM(**SETTINGS).fit(network, table, sample_weight=weights)
    found = NetworkEM(**SETTINGS, memory_limit=1000).fit(network, folder, sample_weight="w")
    assert found.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=0, abs=1e-9)
    for own, other in zip(found.network_.tables, expected.network_.tables, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-9)


def test_given_states_on_shards(folder, model):
    states = {"x1": ["yes", "no", "perhaps", "other"]}
    found = on_shards(state_names=states).fit(model, folder)
    assert found.state_names_["x1"] == states["x1"]
    assert found.state_names_["x2"] == ["c", "b", "a", "never"]
    assert found.state_names_["x3"] == [-7, 0, 1, 2]
    with pytest.raises(UnseenCategoryError, match="column 'x1' holds 'perhaps'"):
        on_shards(state_names={"x1": ["yes", "no"]}).fit(model, folder)


# --- Dask -------------------------------------------------------------------------------------------------


@contextmanager
def cluster_of(n_workers, **options):
    distributed = pytest.importorskip("distributed", reason="dask is an extra")
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"} | options
    with distributed.LocalCluster(n_workers=n_workers, **options) as cluster, distributed.Client(cluster) as client:
        yield client


def test_dask_frames_without_a_cluster(survey, model, in_memory):
    frames = pytest.importorskip("dask.dataframe", reason="dask is an extra")
    frame = frames.from_pandas(survey, npartitions=7)
    assert_same_fit(on_shards().fit(model, frame, sample_weight="w"), in_memory)
    assert_same_fit(TreeEM(**SETTINGS).fit(model, frame, sample_weight="w"), in_memory)
    some = frame[frame["x4"] >= 0]  # empty partitions are no mistake
    some = frames.concat([frame[frame["x4"] < 0], some])
    assert_same_fit(on_shards().fit(model, some, sample_weight="w"), in_memory)


def test_the_number_of_workers_changes_no_bit(folder, survey, model, in_memory):
    frames = pytest.importorskip("dask.dataframe", reason="dask is an extra")
    alone = on_shards().fit(model, folder, sample_weight="w")
    found = {}
    for n_workers in (1, 2, 4):
        with cluster_of(n_workers):
            files = on_shards().fit(model, folder, sample_weight="w")
            frame = on_shards().fit(model, frames.from_pandas(survey, npartitions=5), sample_weight="w")
        assert_same_tree(files.tree_, alone.tree_)
        assert files.log_likelihood_ == alone.log_likelihood_
        assert_same_fit(frame, in_memory)
        found[n_workers] = frame
    for n_workers in (2, 4):
        assert_same_tree(found[n_workers].tree_, found[1].tree_)
        assert found[n_workers].log_likelihood_ == found[1].log_likelihood_


def disturbed(monkeypatch, disturb):
    """Let something happen after the fourth and after the twelfth iteration of EM."""
    fit = em.fit

    def with_report(engine, starts, **options):
        def report(iteration, value):
            if iteration in (4, 12):
                disturb()

        return fit(engine, starts, **options | {"report": report})

    monkeypatch.setattr(em, "fit", with_report)


def test_a_lost_worker_changes_no_bit(folder, model, monkeypatch):
    alone = on_shards().fit(model, folder, sample_weight="w")
    reads, read = [], large_tables.RowGroups.table

    def counted(groups):
        reads.append(groups)
        return read(groups)

    monkeypatch.setattr(large_tables.RowGroups, "table", counted)
    with cluster_of(3) as client:
        lost = []

        def lose():
            engines = {key: who for key, who in client.who_has().items() if str(key).startswith("_engine")}

            def n_engines(address):  # only what no other worker holds is lost with it
                return sum(list(who) == [address] for who in engines.values())

            most = max(client.has_what(), key=n_engines)
            assert n_engines(most) > 0
            lost.append(len(reads))
            (worker,) = (one for one in client.cluster.workers.values() if one.address == most)
            client.cluster.sync(worker.close)

        disturbed(monkeypatch, lose)
        found = on_shards().fit(model, folder, sample_weight="w")
    assert len(lost) == 2
    assert len(reads) > lost[1] > lost[0]  # what was lost was read again
    assert_same_tree(found.tree_, alone.tree_)
    assert found.log_likelihood_ == alone.log_likelihood_


def test_a_cluster_that_is_lost_on_the_way(folder, model, monkeypatch):
    with cluster_of(1) as client:
        disturbed(monkeypatch, client.cluster.close)
        with pytest.raises(ClusterError, match="the Dask cluster was lost on the way; see that its scheduler runs"):
            on_shards().fit(model, folder, sample_weight="w")


@pytest.mark.slow
def test_a_killed_process_changes_no_bit(folder, model, monkeypatch):
    alone = on_shards().fit(model, folder, sample_weight="w")
    killed = set()
    with cluster_of(2, processes=True) as client:

        def kill():
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)

        disturbed(monkeypatch, kill)
        found = on_shards().fit(model, folder, sample_weight="w")
    assert len(killed) == 2
    assert_same_tree(found.tree_, alone.tree_)
    assert found.log_likelihood_ == alone.log_likelihood_


SCHEDULER = """
import asyncio
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""


def test_a_scheduler_that_does_not_answer(folder, model):
    dask = pytest.importorskip("dask", reason="dask is an extra")
    distributed = pytest.importorskip("distributed", reason="dask is an extra")
    with subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True) as scheduler:
        client = distributed.Client(scheduler.stdout.readline().strip())
        try:
            with pytest.raises(ClusterError, match="has no workers; start some, or close the client"):
                TreeEM().fit(model, folder)
            scheduler.kill()
            scheduler.wait()
            with (
                dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
                pytest.raises(ClusterError, match=r"the Dask scheduler at tcp://.* does not answer; start it"),
            ):
                TreeEM().fit(model, folder)
        finally:
            scheduler.kill()
            client.close()
    assert TreeEM(**SETTINGS).fit(model, folder).log_likelihood_ < 0


# --- Bad input --------------------------------------------------------------------------------------------


def test_files_that_do_not_go_together_are_named(folder, model, survey):
    last = folder / "3.parquet"
    part = survey.iloc[900:]
    part.drop(columns="x5").to_parquet(last, index=False)
    with pytest.raises(DataError, match=r"file '.*3.parquet' has other columns than the first file: it lacks 'x5'"):
        on_shards().fit(model, folder)
    part.assign(x9=1).to_parquet(last, index=False)
    assert on_shards().fit(model, folder).log_likelihood_ < 0  # x9 is not asked for
    with pytest.raises(DataError, match=r"3.parquet' has other columns than the first file: it has a column 'x9'"):
        encode_chunks(folder)
    part.assign(x5=part["x5"].astype(str)).to_parquet(last, index=False)
    with pytest.raises(
        DataError, match=r"column 'x5' holds '\d' in file '.*3.parquet' and \d before; give it the same"
    ):
        on_shards().fit(model, folder)
    part.assign(x5=part["x5"].astype(float), w=-1.0).to_parquet(last, index=False)
    assert on_shards().fit(model, folder).state_names_["x5"] == [0, 1, 2]  # whole numbers are whole numbers
    with pytest.raises(WeightError, match=r"file '.*3.parquet', column 'w': sample_weight holds -1.0 in row 0"):
        on_shards().fit(model, folder, sample_weight="w")


def test_what_does_not_fit_into_memory_is_refused_where_shards_are_no_help(folder, model, survey):
    import pyarrow.dataset as ds

    words = r"take more than memory_limit=1000 bytes \(\d+ rows of {} columns\)\. {}"
    pieces = (survey.iloc[at : at + 100] for at in range(0, len(survey), 100))
    for table in (pieces, ds.dataset(folder).filter(ds.field("x4") >= 0)):
        with pytest.raises(MemoryLimitError, match=words.format(6, "Write the pieces into a folder of Parquet files")):
            on_shards().fit(model, table, sample_weight="w")
    for table in (folder, [survey]):
        with pytest.raises(
            MemoryLimitError, match=words.format(7, "Learners of trees and TreeEM take a Parquet folder")
        ):
            encode_chunks(table, memory_limit=1000)


def test_settings_and_names_that_cannot_be_meant(folder, model, survey, tmp_path):
    with pytest.raises(ValueError, match="memory_limit is 0; give a number of at least 1, or None"):
        TreeEM(memory_limit=0).fit(model, folder)
    with pytest.raises(ValueError, match="memory_limit is '1 GB'; give a number"):
        encode_chunks(folder, memory_limit="1 GB")
    for weights in (survey["w"], survey["w"].to_numpy()):
        with pytest.raises(WeightError, match="give the name of the column that holds the weights"):
            TreeEM().fit(model, folder, sample_weight=weights)
    with pytest.raises(WeightError, match="the table has no column 'v', which sample_weight names"):
        TreeEM().fit(model, folder, sample_weight="v")
    further = DiscreteBayesianNetwork([*model.edges(), ("H", "y")], latents=set(model.latents))
    with pytest.raises(DataError, match=r"the model has nodes that are not columns of the data: \['y'\]"):
        TreeEM().fit(further, folder)
    further.latents = {*model.latents, "y", "x0"}
    with pytest.raises(DataError, match="hidden variable 'x0' is named like a column; rename one"):
        TreeEM().fit(further, folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no Parquet file with columns"):
        TreeEM().fit(model, tmp_path / "empty")


def test_a_table_that_changes_meanwhile(folder, model, survey, monkeypatch):
    read = chunks.encode_or_shard

    def changing(*args, **options):
        found = read(*args, **options)
        survey.iloc[:200].to_parquet(folder / "0.parquet", index=False)
        return found

    monkeypatch.setattr("pgmpy_latent.em.inputs.encode_or_shard", changing)
    with pytest.raises(
        DataError, match=r"file '.*0.parquet' cannot be read .*; mend it, and fit it while nobody writes to it"
    ):
        on_shards().fit(model, folder)
    data = encode(survey[["x3", "x4"]])
    table = chunks.ShardedTable(data.columns, data.state_names, 1201.0, (), None, None, False, (True, True), 1200)
    with pytest.raises(DataError, match="the table weighed 1201 when it was first read and 1200 now"):
        shards.Shards(table, InAList([data]), (["x3", "x4"], [(), (0,)], data.cards))


def test_a_full_disk(folder, model, monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shards.pickle, "dump", full)
    with pytest.raises(OSError, match=r"no space is left for shards in .*; make room, or set TMPDIR"):
        on_shards().fit(model, folder)
