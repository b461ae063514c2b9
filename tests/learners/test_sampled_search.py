"""Learners on tables that do not fit into memory: a search on a sample by row keys, and EM on all rows."""

import pickle
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    EAST,
    HLTA,
    Baseline,
    BinA,
    BinG,
    LatentTree,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
    compare_classes,
    encode,
    encode_chunks,
    log_likelihood,
    presets,
    sample,
)
from pgmpy_latent.em.stepwise import counts_of_model, running_counts
from pgmpy_latent.exceptions import DataError, MemoryLimitError, SampledRowsWarning
from pgmpy_latent.learners import sampled_search
from pgmpy_latent.learners.sampled_search import ALL_ROWS
from pgmpy_latent.learners.splits import shared_splits
from pgmpy_latent.plotting import plot_history
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.scores import bic_from_parts
from pgmpy_latent.tables import chunks, distinct_rows
from tests.support.samples import assert_same_tree, press_ctrl_c

pytestmark = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.SampledRowsWarning")
QUIET = {"show_progress": False, "random_state": 1}
#: Rows of a table of seven columns that fit into memory.
FITS = 700

LEARNERS = {
    "EAST": EAST(**QUIET),
    "SplitMerge": SplitMerge(**QUIET),
    "RandomStarts": RandomStarts(n_states=2, **QUIET),
    "BinG": BinG(**QUIET),
    "BinA": BinA(simplify=True, **QUIET),
    "HLTA": HLTA(**QUIET),
    "chow_liu": Baseline("chow_liu", **QUIET),
    "forest": Baseline("forest", **QUIET),
    "independence": Baseline("independence", **QUIET),
    "latent_class": Baseline("latent_class", **QUIET),
}


@pytest.fixture(scope="module")
def frame():
    """Two hidden variables; missing cells, text, a category in a single row, and weights."""
    near = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    truth = LatentTree(
        ["A", "B", *"pqrstuv"], [list("abc")] * 9, [-1, 0, 0, 0, 0, 1, 1, 1, 1], [True] * 2 + [False] * 7,
        [[[0.4, 0.3, 0.3]], [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]], *[near] * 7],
    )  # fmt: skip
    table = sample(truth, 6000, random_state=0)
    rng = np.random.default_rng(0)
    table = table.mask(pd.DataFrame(rng.random(table.shape) < 0.02, columns=table.columns))
    table.loc[17, "q"] = "rare"
    return table.assign(n=rng.integers(0, 4, len(table)), w=rng.gamma(4.0, 1.0, len(table)).round(1) + 0.1)


@pytest.fixture
def little_memory(monkeypatch):
    per_row = distinct_rows.BYTES_PER_CELL * 7 + distinct_rows.BYTES_PER_ROW
    monkeypatch.setattr(chunks, "MEMORY_LIMIT", FITS * per_row)


def write(table, folder, n_files=4, row_group_size=400):
    folder.mkdir()
    for at, rows in enumerate(np.array_split(np.arange(len(table)), n_files)):
        table.iloc[rows].to_parquet(folder / f"{at}.parquet", index=False, row_group_size=row_group_size)
    return folder


@pytest.fixture
def folder(frame, tmp_path):
    return write(frame.drop(columns=["n", "w"]), tmp_path / "rows")


@pytest.fixture
def searched(monkeypatch):
    """The tables that learners learn from, in their order."""
    tables = []
    for kind in (EAST, SplitMerge, BinG, BinA, HLTA, Baseline, RandomStarts):
        learn = kind._learn

        def noted(self, data, learn=learn):
            tables.append(data)
            return learn(self, data)

        monkeypatch.setattr(kind, "_learn", noted)
    return tables


def assert_same_result(found, expected):
    """The search is the same to the last bit, and EM on all rows but for rounding."""
    assert found.n_sample_rows_ == expected.n_sample_rows_
    assert found.tree_.names == expected.tree_.names
    assert found.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-9)
    assert_same_tree(found.second_tree_, expected.second_tree_)
    assert found.stability_ == expected.stability_ or np.isnan(expected.stability_)
    for own, other in zip(found.tree_.tables, expected.tree_.tables, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-6)


@pytest.mark.parametrize("name", LEARNERS)
def test_searched_on_a_sample_and_fitted_to_all_rows(name, folder, frame, little_memory, searched):
    learner = pickle.loads(pickle.dumps(LEARNERS[name]))
    with pytest.warns(
        SampledRowsWarning, match=r"take more than .* bytes\. \w+ searches on a sample of \d+ of its 6,000"
    ):
        learner.fit(folder)
    table = frame.drop(columns=["n", "w"])
    first, second = searched[0], searched[-1]
    assert 250 < first.n_rows < 450
    assert learner.n_sample_rows_ == first.n_rows
    assert (learner.n_rows_, learner.total_weight_, learner.weight_kind_) == (6000, 6000.0, None)
    own = log_likelihood(learner.tree_, table)
    assert learner.log_likelihood_ == pytest.approx(own, rel=1e-9)
    assert learner.bic_ == bic_from_parts(learner.log_likelihood_, learner.tree_.n_parameters, 6000.0)
    assert learner.score_ == pytest.approx(learner.bic_, rel=1e-12)
    assert learner.history_["operator"].iloc[-1] == ALL_ROWS
    assert learner.history_["score"].iloc[-1] == learner.score_
    assert learner.history_["step"].is_monotonic_increasing
    # the tree is that of the sample
    alone = pickle.loads(pickle.dumps(LEARNERS[name])).fit(first, missing={})
    assert learner.history_["score"].iloc[:-1].tolist() == alone.history_["score"].tolist()
    assert sorted(map(sorted, map(list, alone.causal_graph_.edges()))) == sorted(
        map(sorted, map(list, learner.causal_graph_.edges()))
    )
    # and its tables those of all rows: EM in memory has nothing left to gain
    assert "rare" in learner.tree_.state_names[learner.tree_.index("q")]
    assert first.state_names == encode(table).state_names == second.state_names
    tables = {cpd.variable: cpd for cpd in learner.model_.get_cpds()}
    prior = getattr(learner, "prior", None)
    again = TreeEM(init_cpds=tables, prior=prior, show_progress=False).fit(learner.model_, table, missing={})
    assert again.log_likelihood_ < own + 0.05
    np.testing.assert_equal(learner.stability_, shared_splits(learner.tree_, learner.second_tree_))
    assert learner.stopped_ is None
    assert learner.remaining_gain_ == 0


def test_the_rare_category_is_not_in_the_sample(folder, little_memory, searched):
    learner = BinG(**QUIET).fit(folder)
    first = searched[0]
    code = first.state_names[1].index("rare")
    assert first.columns[1] == "q"
    assert not (first.codes[:, 1] == code).any()
    tree = learner.tree_
    at = tree.index("q")
    assert 0 < tree.tables[at][:, tree.state_names[at].index("rare")].max() < 0.01


def test_files_row_groups_and_the_order_of_rows_do_not_matter(folder, frame, tmp_path, little_memory, searched):
    table = frame.drop(columns=["n", "w"])
    expected = BinG(**QUIET).fit(folder)
    samples = list(searched)
    shuffled = table.sample(frac=1.0, random_state=3)
    for at, (other, options) in enumerate(
        ((table, {"n_files": 1, "row_group_size": 6000}), (shuffled, {"n_files": 7, "row_group_size": 90}))
    ):
        searched.clear()
        found = BinG(**QUIET).fit(write(other, tmp_path / f"other{at}", **options))
        for own, same in zip(searched, samples, strict=True):
            np.testing.assert_array_equal(own.codes, same.codes)
            np.testing.assert_array_equal(own.weights, same.weights)
        assert_same_result(found, expected)


def test_same_seed_same_result_whatever_the_workers(folder, little_memory, searched):
    first = BinG(**QUIET).fit(folder)
    again = BinG(**QUIET, n_jobs=2).fit(folder)
    assert_same_tree(first.tree_, again.tree_)
    assert_same_tree(first.second_tree_, again.second_tree_)
    assert first.history_.drop(columns="seconds").equals(again.history_.drop(columns="seconds"))
    one, _, _, _ = searched
    BinG(show_progress=False, random_state=2).fit(folder)
    assert not np.array_equal(searched[4].codes, one.codes)
    for _ in range(2):  # without a seed samples are the same, so that checkpoints can be resumed
        BinG(show_progress=False).fit(folder)
    assert np.array_equal(searched[6].codes, searched[8].codes)


def test_what_fits_into_memory_is_searched_as_ever(folder, frame):
    table = frame.drop(columns=["n", "w"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SampledRowsWarning)
        found = BinG(**QUIET).fit(folder, missing={})
    expected = BinG(**QUIET).fit(table, missing={})
    assert_same_tree(found.tree_, expected.tree_)
    for learner in (found, expected):
        assert (learner.n_sample_rows_, learner.stability_, learner.second_tree_) == (None, None, None)
        assert ALL_ROWS not in learner.history_["operator"].tolist()


def test_a_learner_forgets_the_sample_of_an_earlier_fit(folder, frame, little_memory):
    learner = HLTA(**QUIET).fit(folder)
    assert learner.stability_ is not None
    assert set(learner.levels_) == set(learner.latents_)
    learner.fit(frame[["p", "q", "r", "s"]].head(300), missing={})
    assert learner.stability_ is learner.second_tree_ is learner.n_sample_rows_ is None
    assert set(learner.levels_) == set(learner.latents_)
    assert set(learner.fit(folder).levels_) == set(learner.latents_)


# --- Weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weights", "kind"), [("n", "frequency"), ("w", "sampling")])
def test_weights_count(weights, kind, frame, tmp_path, little_memory, searched):
    table = frame[[*"pqrstuv", weights]].assign(town=np.arange(6000) % 50)
    path = write(table, tmp_path / "weighted")
    learner = BinG(**QUIET).fit(path, sample_weight=weights, cluster="town")
    data = encode(table.drop(columns="town"), sample_weight=weights)
    assert learner.weight_kind_ == data.weight_kind == kind
    assert learner.n_rows_ == (table[weights] > 0).sum()
    assert learner.total_weight_ == pytest.approx(data.total_weight, rel=1e-9)
    own = log_likelihood(learner.tree_, table, sample_weight=weights, weight_kind=kind)
    assert learner.log_likelihood_ == pytest.approx(own, rel=1e-9)
    assert learner.bic_ == pytest.approx(bic_from_parts(own, learner.n_parameters_, data.total_weight), rel=1e-9)
    assert learner.design_ == {"sample_weight": weights, "cluster": "town"}
    assert searched[0].weight_kind == "frequency"
    assert list(learner.feature_names_in_) == list("pqrstuv")
    share = pd.Series(searched[0].weights).groupby(searched[0].codes[:, 0]).sum() / searched[0].total_weight
    whole = pd.Series(data.weights).groupby(data.codes[:, 0]).sum() / data.total_weight
    np.testing.assert_allclose(share, whole, atol=0.1)


@pytest.mark.parametrize("weights", ["n", "w"])
def test_files_do_not_matter_with_weights_either(weights, frame, tmp_path, little_memory, searched):
    table = frame[[*"pqrstuv", weights]]
    first = BinG(**QUIET).fit(write(table, tmp_path / "one"), sample_weight=weights)
    shuffled = table.sample(frac=1.0, random_state=4)
    second = BinG(**QUIET).fit(write(shuffled, tmp_path / "other", 3, 170), sample_weight=weights)
    for own, other in zip(searched[:2], searched[2:], strict=True):
        np.testing.assert_array_equal(own.codes, other.codes)
        np.testing.assert_array_equal(own.weights, other.weights)
    assert_same_result(second, first)


def test_rows_of_large_weight_are_drawn_more_often(frame, tmp_path, little_memory, searched):
    table = frame[list("pqrstuv")].assign(n=np.where(frame["p"] == "a", 1000, 1))
    BinG(**QUIET).fit(write(table, tmp_path / "heavy"), sample_weight="n")
    first = searched[0]
    assert first.weights[first.codes[:, 0] == 0].sum() > 0.99 * first.total_weight
    assert 250 < first.n_rows < 450


def test_the_score_that_the_search_maximises(folder, little_memory):
    tuning = presets.SPLIT_MERGE
    learner = SplitMerge(scoring_method="aic", tuning=tuning, **QUIET).fit(folder)
    assert learner.score_ == pytest.approx(learner.log_likelihood_ - learner.n_parameters_, rel=1e-12)
    assert learner.history_["score"].iloc[-1] == learner.score_


# --- Time and Ctrl-C --------------------------------------------------------------------------------------


def test_a_time_limit_leaves_a_model_of_all_rows(folder, frame, little_memory):
    with pytest.warns(ConvergenceWarning, match="time limit"):
        learner = EAST(time_limit=0.3, **QUIET).fit(folder)
    assert learner.stopped_ == "time_limit"
    own = log_likelihood(learner.tree_, frame.drop(columns=["n", "w"]))
    assert learner.log_likelihood_ == pytest.approx(own, rel=1e-9)


def test_the_time_is_divided(folder, little_memory, monkeypatch):
    limits = []
    learn = BinG._learn

    def noted(self, data):
        limits.append(self.time_limit)
        return learn(self, data)

    monkeypatch.setattr(BinG, "_learn", noted)
    learner = BinG(time_limit=1000.0, **QUIET).fit(folder)
    assert learner.time_limit == 1000.0
    assert limits == [400.0, 400.0]
    assert learner.stability_ is not None


def test_no_time_is_left_for_a_second_search(folder, little_memory, monkeypatch):
    fit = sampled_search.fit

    def slow(*args, clock, **options):
        result = fit(*args, clock=clock, **options)
        monkeypatch.setattr(Clock, "seconds_left", property(lambda clock: -1.0))
        return result

    monkeypatch.setattr(sampled_search, "fit", slow)
    with pytest.warns(ConvergenceWarning, match="no time for a second search: stability_ is not known"):
        learner = Baseline("independence", time_limit=50.0, **QUIET).fit(folder)
    assert learner.stability_ is None
    assert learner.stopped_ is None


@pytest.mark.parametrize("moment", [1, 5])
def test_ctrl_c_in_the_first_search(moment, folder, frame, little_memory, monkeypatch, searched):
    press_ctrl_c(monkeypatch, moment)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
        learner = EAST(**QUIET).fit(folder)
    assert learner.stopped_ == "interrupted"
    assert len(searched) == 1
    assert learner.stability_ is None
    own = log_likelihood(learner.tree_, frame.drop(columns=["n", "w"]))
    assert learner.log_likelihood_ == pytest.approx(own, rel=1e-9)


def test_ctrl_c_while_tables_are_fitted_to_all_rows(folder, frame, little_memory, monkeypatch, searched):
    fit = sampled_search.fit

    def pressed(*args, report, **options):
        def interrupt(iteration, value):
            if iteration == 3:
                raise KeyboardInterrupt

        return fit(*args, report=interrupt, **options)

    monkeypatch.setattr(sampled_search, "fit", pressed)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
        learner = BinG(**QUIET).fit(folder)
    assert learner.stopped_ == "interrupted"
    assert len(searched) == 1
    assert learner.remaining_gain_ > 0
    own = log_likelihood(learner.tree_, frame.drop(columns=["n", "w"]))
    assert learner.log_likelihood_ == pytest.approx(own, rel=1e-9)


def test_ctrl_c_in_the_second_search(folder, little_memory, monkeypatch):
    expected = BinG(**QUIET).fit(folder)
    again = sampled_search.LargeTable._search_again

    def pressed(self, tree, seconds):
        press_ctrl_c(monkeypatch, 3)
        again(self, tree, seconds)

    monkeypatch.setattr(sampled_search.LargeTable, "_search_again", pressed)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the second search: stability_ is not known"):
        learner = BinG(**QUIET).fit(folder)
    assert_same_tree(learner.tree_, expected.tree_)
    assert (learner.stopped_, learner.stability_, learner.second_tree_) == (None, None, None)


def test_checkpoints_of_both_searches(folder, little_memory, tmp_path, monkeypatch, searched):
    expected = BinG(**QUIET).fit(folder)
    path = tmp_path / "search.json"
    interrupted = BinG(**QUIET, checkpoint=path)
    with monkeypatch.context() as patch:
        press_ctrl_c(patch, 20)
        with pytest.warns(ConvergenceWarning, match="fit again to go on from the checkpoint"):
            interrupted.fit(folder)
    assert interrupted.stopped_ == "interrupted"
    assert path.exists()
    learner = BinG(**QUIET, checkpoint=path).fit(folder)
    assert_same_tree(learner.tree_, expected.tree_)
    assert_same_tree(learner.second_tree_, expected.second_tree_)
    assert (tmp_path / "search.json.second").exists()
    assert learner.checkpoint == path
    again = BinG(**QUIET, checkpoint=path).fit(folder)  # both searches are over
    assert again.history_["seconds"].iloc[-2] == learner.history_["seconds"].iloc[-2]
    assert_same_tree(again.second_tree_, expected.second_tree_)


# --- What is refused --------------------------------------------------------------------------------------


def test_iterators_are_refused(frame, little_memory):
    pieces = (frame.iloc[at : at + 500] for at in range(0, 6000, 500))
    with pytest.raises(MemoryLimitError, match="Write the pieces into a folder of Parquet files and give its path"):
        BinG(**QUIET).fit(pieces, sample_weight="n")


def test_scores_that_need_all_rows_are_refused(folder, little_memory, searched):
    for score in ("cs", lambda tree, data: 0.0):
        with pytest.raises(MemoryLimitError, match=r"its value for all rows is not known\. Use 'bic' or 'aic'"):
            SplitMerge(scoring_method=score, **QUIET).fit(folder)
    assert not searched


def test_learners_of_networks_and_comparisons_refuse_such_tables(folder, monkeypatch):
    options = chunks.encode_chunks.__kwdefaults__ | {"memory_limit": 1000}
    monkeypatch.setattr(chunks.encode_chunks, "__kwdefaults__", options)
    for call in (lambda: StructuralEM(**QUIET).fit(folder), lambda: compare_classes(folder, [1, 2])):
        with pytest.raises(MemoryLimitError, match="Learners of trees and TreeEM take a Parquet folder"):
            call()
    with pytest.raises(MemoryLimitError):
        encode_chunks(folder)


def test_columns_that_are_no_categories(frame, tmp_path, little_memory, searched, monkeypatch):
    table = frame[list("pqrstuv")].assign(id=np.arange(6000))
    path = write(table, tmp_path / "ids")
    with pytest.raises(DataError, match="column 'id' has a category of its own in every row"):
        BinG(**QUIET).fit(path)
    monkeypatch.setattr(distinct_rows, "MOST_CATEGORIES", 2000)  # identifiers of large tables would fill the memory
    with pytest.raises(DataError, match=r"column 'id' has more than 2,000 categories, .*; drop it or bin it"):
        BinG(**QUIET).fit(path, allow_many_states=["id"])
    assert not searched
    learner = Baseline("independence", **QUIET).fit(path, cluster="id")  # clusters may be many
    assert learner.n_rows_ == 6000


def test_a_sample_must_have_rows(folder, monkeypatch):
    monkeypatch.setattr(chunks, "MEMORY_LIMIT", 1)
    with pytest.raises((MemoryLimitError, DataError), match=r"has no row|at least 2 are required"):
        BinG(**QUIET).fit(folder)


# --- Fitted learners --------------------------------------------------------------------------------------


def test_what_fitted_learners_say(folder, frame, tmp_path, little_memory, capsys):
    learner = BinG(**QUIET).fit(folder)
    learner.summary()
    told = capsys.readouterr().out
    words = f"Searched on a sample of {learner.n_sample_rows_} of 6,000 rows; the tables are fitted to all of them."
    assert words in told
    assert f"{learner.stability_:.0%} of the edges agree (stability_)" in told
    assert words in learner._repr_html_()
    copied = pickle.loads(pickle.dumps(learner))
    assert_same_tree(copied.second_tree_, learner.second_tree_)
    learner.report(tmp_path / "page.html")
    assert "No table came with this model" in (tmp_path / "page.html").read_text()
    learner.report(tmp_path / "page.html", frame.head(500))
    assert words in (tmp_path / "page.html").read_text()
    (line,) = plot_history(learner).lines
    assert len(line.get_ydata()) == len(learner.history_) - 1


def test_updates_go_on_from_all_rows(folder, frame, little_memory):
    learner = RandomStarts(n_states=3, **QUIET).fit(folder)
    table = frame.drop(columns=["n", "w"])
    found = counts_of_model(learner.tree_, learner.total_weight_)
    expected = running_counts(learner.tree_, encode(table))
    np.testing.assert_allclose(found.counts, expected.counts, atol=1e-4)
    assert found.weight == expected.weight
    before = learner.tree_
    learner.partial_fit(table.head(1000))
    assert learner.tree_.names == before.names
    assert log_likelihood(learner.tree_, table.head(1000)) > log_likelihood(before, table.head(1000))


# --- Dask -------------------------------------------------------------------------------------------------


@contextmanager
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask is an extra")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers) as client:
        yield client


def test_dask_frames_with_and_without_workers(folder, frame, little_memory):
    frames = pytest.importorskip("dask.dataframe", reason="dask is an extra")
    expected = Baseline("chow_liu", **QUIET).fit(folder)
    table = frames.from_pandas(frame.drop(columns=["n", "w"]), npartitions=5)
    assert_same_result(Baseline("chow_liu", **QUIET).fit(table), expected)
    with cluster():
        assert_same_result(Baseline("chow_liu", **QUIET).fit(table), expected)
        assert_same_result(Baseline("chow_liu", **QUIET).fit(folder), expected)
