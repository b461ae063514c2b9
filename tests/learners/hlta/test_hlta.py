"""HLTA: islands are groups that one hidden variable explains, levels are stacked, and sparse tables are welcome."""

import signal
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from pgmpy_latent import HLTA, Baseline, BinA, RandomStarts, encode, log_likelihood, presets, scores
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.hlta import levels
from pgmpy_latent.learners.hlta.islands import Islands
from pgmpy_latent.learners.hlta.variables import columns_as_variables, hidden_variable, nearest_variables
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.neighbours import nearest_columns
from pgmpy_latent.tables.sparse import read_sparse
from tests.support.samples import assert_same_tree, clusters, tuned

QUIET = {"show_progress": False}
seeds = st.integers(0, 2**32 - 1)


def planted(n_rows=800, groups=(4, 5, 6), seed=0, strength=0.8, lead=0.75):
    """Return zeros and ones: each group of columns follows a hidden one, and these follow another."""
    rng = np.random.default_rng(seed)
    top = rng.random(n_rows) < 0.5
    columns = {}
    for group, size in enumerate(groups):
        hidden = np.where(rng.random(n_rows) < lead, top, rng.random(n_rows) < 0.5)
        for member in range(size):
            follows = rng.random(n_rows) < strength
            columns[f"g{group}_{member}"] = np.where(follows, hidden, rng.random(n_rows) < 0.3).astype(int)
    return pd.DataFrame(columns)


def quick_search():
    return Search(Settings(prior=0.01, search_tol=0.1, search_iter=60), random_state=0)


def finder(data, max_size=15, threshold=3.0):
    variables, near = columns_as_variables(data), nearest_columns(data, 64)
    return Islands(variables, data.weights, near, quick_search(), max_size, threshold)


def islands_of(frame, **options):
    data = encode(frame).in_order_of_names()
    found = finder(data, **options)
    groups = []
    while (island := found.next()) is not None:
        groups.append({data.columns[at] for at in island.group.members})
    return groups


def test_islands_are_the_groups_that_were_planted():
    frame = planted(2000)
    expected = [{name for name in frame if name.startswith(f"g{group}")} for group in range(3)]
    found = islands_of(frame)
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_islands_are_disjoint_and_no_larger_than_allowed():
    frame = planted(500, groups=(9,))
    found = islands_of(frame, max_size=4)
    assert all(2 <= len(island) <= 4 for island in found)
    assert sum(map(len, found)) == len(set().union(*found))


def test_a_higher_threshold_makes_fewer_islands():
    frame = planted(1000, groups=(3, 3, 3, 3), lead=0.95)
    assert len(islands_of(frame, threshold=1e6)) < len(islands_of(frame, threshold=0.0))


def test_columns_that_say_nothing_are_in_no_island():
    frame = planted(1000, groups=(4,))
    frame["noise"] = np.random.default_rng(1).integers(0, 2, len(frame))
    assert all("noise" not in island for island in islands_of(frame))
    learner = HLTA(**QUIET).fit(frame)
    assert learner.tree_.parent[learner.tree_.index("noise")] == -1


def test_the_model_of_an_island_is_a_maximum_for_its_columns():
    """Islands are grown by EM that goes on from smaller ones; a latent class model from many starts is no better."""
    frame = planted(2000, groups=(5,))
    island = finder(encode(frame).in_order_of_names()).next()
    other = RandomStarts(n_states=2, n_starts=20, random_state=0, **QUIET).fit(frame)
    assert island.log_likelihood > other.log_likelihood_ - 1.0
    assert island.log_likelihood <= other.log_likelihood_ + 1e-2


@given(seed=seeds)
def test_hidden_variables_in_bins_keep_shares_and_order(seed):
    rng = np.random.default_rng(seed)
    chance = rng.random(40)
    posterior = np.stack([1 - chance, chance], axis=1)
    patterns, weights = rng.permutation(np.arange(100) % 40), rng.gamma(2.0, 1.0, 100)
    variable = hidden_variable(7, patterns, posterior, weights)
    codes = variable.read()
    assert variable.node == 7
    np.testing.assert_allclose(weights @ variable.beliefs[codes], weights @ posterior[patterns])
    order = np.argsort(chance[patterns])
    assert (np.diff(codes[order]) >= 0).all()
    # messages times the share are the beliefs again
    share = weights @ posterior[patterns] / weights.sum()
    back = variable.messages * share
    np.testing.assert_allclose(back / back.sum(axis=1, keepdims=True), variable.beliefs)


def test_variables_are_compared_by_their_posteriors():
    data = encode(planted(600, groups=(3, 3)))
    found = nearest_variables(columns_as_variables(data), data.weights, 5)
    np.testing.assert_allclose(found.information, nearest_columns(data, 5).information, atol=1e-11)


def test_levels_are_stacked_and_hidden_variables_binary():
    frame = planted(3000, groups=(4,) * 6, lead=0.6, seed=3)
    learner = HLTA(top=1, **QUIET).fit(frame)
    tree = learner.tree_
    assert set(learner.levels_) == set(learner.latents_)
    assert max(learner.levels_.values()) >= 2
    assert set(learner.n_states_.values()) == {2}
    for name, level in learner.levels_.items():
        for child in tree.children(name):
            assert learner.levels_.get(child, 0) <= level
    flat = HLTA(top=100, **QUIET).fit(frame)
    assert set(flat.levels_.values()) == {1}
    assert (flat.tree_.parent < 0).sum() == 1


def test_scores_are_those_of_the_tree():
    frame = planted()
    learner = HLTA(**QUIET).fit(frame)
    assert learner.log_likelihood_ == pytest.approx(scores.log_likelihood(learner.tree_, frame), abs=1e-6)
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, frame), abs=1e-6)
    assert learner.score_ == pytest.approx(learner.bic_, abs=1e-6)
    assert learner.bic_ > Baseline("chow_liu").fit(frame).bic_
    last = learner.history_.iloc[-1]
    assert last.operator == "fit"
    assert last.n_parameters == learner.n_parameters_


def test_other_categories_missing_cells_and_weights_are_fine():
    frame = planted(600)
    frame["g0_0"] += frame["g0_1"]
    gaps = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    weights = np.random.default_rng(1).integers(1, 4, len(frame))
    weighted = HLTA(**QUIET).fit(gaps, sample_weight=weights)
    repeated = HLTA(**QUIET).fit(gaps.loc[np.repeat(gaps.index, weights)])
    assert_same_tree(weighted.tree_, repeated.tree_)
    reversed_columns = HLTA(**QUIET).fit(gaps[gaps.columns[::-1]], sample_weight=weights)
    assert clusters(weighted.tree_) == clusters(reversed_columns.tree_)


def test_sparse_tables_give_what_dense_ones_do():
    frame = planted()
    dense = HLTA(**QUIET).fit(frame)
    matrix = sparse.csr_array(frame.to_numpy())
    by_name = HLTA(**QUIET).fit(pd.DataFrame.sparse.from_spmatrix(matrix, columns=frame.columns, index=frame.index))
    assert clusters(by_name.tree_) == clusters(dense.tree_)
    assert by_name.bic_ == pytest.approx(dense.bic_, rel=1e-6)
    assert by_name.log_likelihood_ == pytest.approx(log_likelihood(by_name.tree_, frame), rel=1e-12)
    learner = HLTA(**QUIET).fit(matrix)
    assert learner.n_features_in_ == frame.shape[1]
    array = frame.to_numpy()
    assert learner.score(matrix) == pytest.approx(learner.score(array), rel=1e-12)
    np.testing.assert_allclose(learner.score_samples(matrix), learner.score_samples(array))
    pd.testing.assert_frame_equal(learner.predict(matrix), learner.predict(array))
    pd.testing.assert_frame_equal(learner.predict_proba(matrix), learner.predict_proba(array))
    np.testing.assert_allclose(learner.transform(matrix), learner.transform(array))


def test_answers_about_sparse_rows_do_not_depend_on_blocks(monkeypatch):
    frame = planted(300)
    matrix = sparse.csr_array(frame.to_numpy())
    weights = np.random.default_rng(0).random(300)
    learner = HLTA(**QUIET).fit(matrix, sample_weight=weights)
    whole, score = learner.predict_proba(matrix), learner.score(matrix, sample_weight=weights)
    monkeypatch.setattr("pgmpy_latent.tables.sparse.BLOCK_CELLS", 1000)
    pd.testing.assert_frame_equal(learner.predict_proba(matrix), whole)
    assert learner.score(matrix, sample_weight=weights) == pytest.approx(score, rel=1e-12)
    named = pd.DataFrame.sparse.from_spmatrix(matrix, index=pd.Index(np.arange(300) + 7, name="row"))
    assert learner.predict(named).index.equals(named.index)


def test_partial_fit_takes_sparse_rows():
    frame = planted(1200)
    matrix = sparse.csr_array(frame.to_numpy())
    learner = HLTA(**QUIET).partial_fit(matrix[:600])
    dense = HLTA(**QUIET).fit(matrix[:600])
    before = learner.tree_
    learner.partial_fit(matrix[600:])
    dense.partial_fit(frame.to_numpy()[600:])
    assert before != learner.tree_
    for ours, theirs in zip(learner.tree_.tables, dense.tree_.tables, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_batches_end_close_to_what_all_rows_at_once_reach():
    frame = planted(4000, groups=(5,) * 6)
    whole = HLTA(random_state=0, **QUIET).fit(frame)
    batches = HLTA(random_state=0, tuning=presets.HLTA.replace(batch_size=500, n_epochs=8), **QUIET).fit(frame)
    assert clusters(whole.tree_) == clusters(batches.tree_)
    gap = whole.log_likelihood_ - batches.log_likelihood_
    gain = whole.log_likelihood_ - Baseline("independence").fit(frame).log_likelihood_
    assert -1.0 < gap < 0.01 * gain
    assert_same_tree(
        batches.tree_,
        HLTA(random_state=0, tuning=presets.HLTA.replace(batch_size=500, n_epochs=8), **QUIET).fit(frame).tree_,
    )


@pytest.mark.parametrize("n_rows", [1000, 1001, 1499])
def test_the_last_batch_counts_no_more_than_others(n_rows):
    """A batch of one row that counted as much as one of five hundred would pull all tables towards that row."""
    frame = planted(1500, groups=(5,) * 6, seed=4).head(n_rows)
    whole = HLTA(random_state=0, **QUIET).fit(frame)
    batches = HLTA(random_state=0, tuning=presets.HLTA.replace(batch_size=500, n_epochs=4), **QUIET).fit(frame)
    gain = whole.log_likelihood_ - Baseline("independence").fit(frame).log_likelihood_
    assert whole.log_likelihood_ - batches.log_likelihood_ < 0.02 * gain


@pytest.mark.parametrize("seed", [0, 1])
def test_heavy_rows_are_in_all_batches(seed):
    rng = np.random.default_rng(3)
    topics = rng.random((4000, 6)) < 0.05
    words = (rng.random((4000, 30)) < np.where(np.repeat(topics, 5, axis=1), 0.5, 0.005)).astype(int)
    data = encode(words)
    assert data.weights.max() > 1000
    whole = HLTA(**QUIET).fit(words)
    gain = whole.log_likelihood_ - Baseline("independence").fit(words).log_likelihood_
    for table in (words, sparse.csr_array(words)):
        batches = HLTA(random_state=seed, tuning=presets.HLTA.replace(batch_size=100, n_epochs=6), **QUIET).fit(table)
        assert whole.log_likelihood_ - batches.log_likelihood_ < 0.02 * gain


@given(seed=seeds, n=st.integers(1, 60), size=st.integers(1, 20))
def test_batches_hold_every_row_with_all_its_weight(seed, n, size):
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.5, 1.0, 2.0, 40.0], n)
    data = CategoricalData([0], [[0, 1]], rng.integers(0, 2, (n, 1)), weights)
    options = {"max_size": 15, "threshold": 3.0, "max_states": 2, "top": 15, "batch_size": size, "n_epochs": 1}
    batches = levels.LevelsPolicy(data, quick_search(), **options)._batches(0)
    total = sum(np.bincount(rows, own, minlength=n) for rows, own in batches)
    np.testing.assert_allclose(total, weights)
    assert all(len(np.unique(rows)) == len(rows) > 0 for rows, _ in batches)


def test_a_large_table_is_fitted_in_batches_by_itself(monkeypatch):
    monkeypatch.setattr(levels, "ALL_AT_ONCE", 1000)
    monkeypatch.setattr(levels, "BATCH_CELLS", 5000)
    frame = planted(1000)
    batches = HLTA(random_state=0, tuning=presets.HLTA.replace(n_epochs=6), **QUIET).fit(frame)
    assert batches.log_likelihood_ == pytest.approx(log_likelihood(batches.tree_, frame), rel=1e-12)
    monkeypatch.undo()
    assert batches.log_likelihood_ > HLTA(random_state=0, **QUIET).fit(frame).log_likelihood_ - 50


def test_batches_go_on_from_a_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(levels, "CHUNK_SECONDS", 0.0)  # a state after every island and every batch
    frame = planted(600)
    settings = {"random_state": 0, "tuning": presets.HLTA.replace(batch_size=200, n_epochs=2), **QUIET}
    whole = HLTA(**settings).fit(frame)
    learner = HLTA(checkpoint=tmp_path / "a.json", **settings)
    for _ in range(40):
        with monkeypatch.context() as patched:
            steps = []
            advance = levels.LevelsPolicy.advance

            def stops(self, state, advance=advance, steps=steps):
                steps.append(state)
                if len(steps) > 1:
                    raise KeyboardInterrupt
                return advance(self, state)

            patched.setattr(levels.LevelsPolicy, "advance", stops)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learner.fit(frame)
        if learner.stopped_ is None:
            break
    assert learner.stopped_ is None
    assert_same_tree(learner.tree_, whole.tree_)
    assert learner.levels_ == whole.levels_


def test_a_sparse_table_is_never_written_out(monkeypatch):
    rng = np.random.default_rng(0)
    n_rows, n_columns = 5_000, 200
    matrix = sparse.random_array((n_rows, n_columns), density=0.002, rng=rng, format="csr")
    groups = np.repeat(np.arange(20), 5)
    follows = (rng.random((n_rows, 20)) < 0.03)[:, groups] & (rng.random((n_rows, 100)) < 0.7)
    matrix = (matrix + sparse.hstack([sparse.csr_array(follows), sparse.csr_array((n_rows, n_columns - 100))])) > 0
    monkeypatch.setattr("pgmpy_latent.tables.sparse.BLOCK_CELLS", 10**5)
    monkeypatch.setattr("pgmpy_latent.tables.neighbours.SPARSE_PAIRS", 10**4)
    monkeypatch.setattr(levels, "ALL_AT_ONCE", 10**5)
    monkeypatch.setattr(levels, "BATCH_CELLS", 10**5)
    sizes = []
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        toarray = kind.toarray

        def recorded(self, *args, toarray=toarray, **kwargs):
            found = toarray(self, *args, **kwargs)
            sizes.append(found.size)
            return found

        monkeypatch.setattr(kind, "toarray", recorded)
    monkeypatch.setattr(sparse.csr_array, "todense", None)
    learner = HLTA(tuning=presets.HLTA.replace(n_epochs=1), random_state=0, **QUIET).fit(matrix)
    learner.score(matrix)
    learner.predict(matrix)
    assert 0 < max(sizes) <= 10**5
    found = {frozenset(learner.tree_.children(name)) for name in learner.latents_}
    assert sum(frozenset(range(5 * g, 5 * g + 5)) in found for g in range(20)) >= 15


def late_after(monkeypatch, n_variables, seconds):
    """Let so many seconds pass at once after a number of hidden variables."""
    original, counter, calls = levels.hidden_variable, time.perf_counter, []

    def counted(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(levels, "hidden_variable", counted)
    monkeypatch.setattr(time, "perf_counter", lambda: counter() + (seconds if len(calls) > n_variables else 0.0))


def test_time_limit_returns_the_forest_so_far_with_its_own_likelihood(monkeypatch):
    monkeypatch.setattr(levels, "CHUNK_SECONDS", 0.0)
    frame = planted(3000, groups=(5,) * 8, lead=0.6)
    late_after(monkeypatch, 3, 1e4)
    with pytest.warns(UserWarning, match="time limit"):
        learner = HLTA(time_limit=1000.0, **QUIET).fit(frame)
    assert learner.stopped_ == "time_limit"
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, frame), rel=1e-12)
    assert set(learner.levels_) == set(learner.latents_)


def test_batches_finish_their_em_after_a_time_limit(monkeypatch):
    """A tenth of the limit is kept for it, also where it looks at some rows at a time."""
    frame = planted(400, groups=(5,) * 60, lead=0.6)
    late_after(monkeypatch, 20, 910.0)
    with pytest.warns(UserWarning, match="time limit stopped the search") as caught:
        learner = HLTA(
            time_limit=1000.0, tuning=presets.HLTA.replace(batch_size=200, n_epochs=1), random_state=0, **QUIET
        ).fit(frame)
    assert learner.remaining_gain_ == 0
    assert "Its EM was not finished" not in str(caught[0].message)
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, frame), rel=1e-12)
    assert learner.history_["log_likelihood"].iloc[-1] == pytest.approx(learner.log_likelihood_)


def test_batches_without_time_say_that_em_was_not_finished():
    frame = planted(3000, groups=(5,) * 8, lead=0.6)
    with pytest.warns(UserWarning, match="Its EM was not finished: an unknown number of nats"):
        learner = HLTA(time_limit=0.01, tuning=presets.HLTA.replace(batch_size=100), **QUIET).fit(frame)
    assert learner.remaining_gain_ == np.inf
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, frame), rel=1e-12)


@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize("where", ["hidden_variable", "nearest_columns"])
def test_ctrl_c_at_any_place_returns_the_forest_so_far(monkeypatch, where, call):
    original, calls = getattr(levels, where), []

    def pressed(*args, **kwargs):
        calls.append(args)
        if len(calls) == (1 if where == "nearest_columns" else call):
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(levels, where, pressed)
    frame = planted(1000, groups=(5,) * 6)
    with pytest.warns(UserWarning, match="Ctrl-C stopped the search"):
        learner = HLTA(**QUIET).fit(frame)
    assert len(learner.latents_) == (call - 1 if where == "hidden_variable" else 0)
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, frame), rel=1e-12)


def test_an_interrupt_between_two_lines_leaves_forest_and_levels_in_step(monkeypatch):
    add, calls = levels.Forest.add, []

    def pressed(self, *args):
        found = add(self, *args)
        calls.append(found)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(levels.Forest, "add", pressed)
    frame = planted(1000, groups=(5,) * 6)
    with pytest.warns(UserWarning, match="Ctrl-C stopped the search"):
        learner = HLTA(**QUIET).fit(frame)
    assert set(learner.levels_) == set(learner.latents_)
    assert len(learner.latents_) == 2


def test_two_related_columns_need_no_hidden_variable():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (500, 6)), columns=list("abcdef"))
    frame["b"] = np.where(rng.random(500) < 0.9, frame["a"], 1 - frame["a"])
    learner = HLTA(**QUIET).fit(frame)
    assert learner.latents_ == []
    assert learner.levels_ == {}
    assert learner.bic_ > Baseline("chow_liu").fit(frame).bic_


def test_zeros_and_ones_are_understood_whatever_they_were_called():
    table = planted(200).to_numpy()
    learner = HLTA(**QUIET).fit(sparse.csr_array(table > 0))
    assert learner.score(sparse.csr_array(table)) == pytest.approx(learner.score(table > 0))
    assert learner.score(table > 0) < -1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_island": 2}, "max_island is 2"),
        ({"threshold": -1}, "threshold is -1"),
        ({"top": 0}, "top is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"n_epochs": 0}, "n_epochs is 0"),
    ],
)
def test_settings_that_cannot_be_meant(settings, message):
    with pytest.raises(ValueError, match=message):
        tuned(HLTA, **settings).fit(planted(20))


def test_bad_sparse_input_is_refused(tmp_path):
    learner = HLTA(**QUIET).fit(sparse.csr_array(planted(50).to_numpy()))
    with pytest.raises(DataError, match="X has 3 features, but HLTA is expecting 15"):
        learner.score(sparse.csr_array((4, 3)))
    with pytest.raises(DataError, match="n_samples = 1"):
        HLTA().fit(sparse.csr_array([[1, 0]]))
    with pytest.raises(NotFittedError):
        HLTA().score(sparse.csr_array((4, 3)))
    for query in (learner.score, learner.predict, learner.partial_fit, HLTA().fit):
        with pytest.raises(DataError, match=r"0 sample\(s\)"):
            query(sparse.csr_array((0, 15)))
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        HLTA().fit(sparse.csr_array((15, 0)))
    with pytest.raises(DataError, match="got 1D sparse array"):
        HLTA().fit(sparse.coo_array([1, 0, 1]))
    with pytest.raises(DataError, match="a report needs rows that are written out"):
        learner.report(tmp_path / "report.html")
    learner.report(tmp_path / "report.html", planted(50).to_numpy())
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_one_column_or_none_that_is_related_gives_independent_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=list("abc"))
    learner = HLTA(**QUIET).fit(frame)
    assert learner.latents_ == []
    assert HLTA(**QUIET).fit(frame[["a"]]).latents_ == []


def test_constant_columns_do_not_hide_what_ones_are_called():
    dense = planted().to_numpy(bool).copy()
    dense[:, 0] = False
    learner = HLTA(random_state=0, show_progress=False).fit(dense)
    for rows in (sparse.csr_array(dense.astype(int)), read_sparse(sparse.csr_array(dense.astype(int)))):
        assert learner.score(rows) == pytest.approx(learner.score(dense), rel=1e-12)
        assert len(learner.predict(rows)) == len(dense)


def test_ctrl_c_while_a_model_is_written_down_is_too_late_to_lose_it(monkeypatch):
    def press(*given):
        signal.raise_signal(signal.SIGINT)
        return bic(*given)

    bic, before = scores.bic, signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    monkeypatch.setattr(scores, "bic", press)
    learner = BinA(random_state=0, show_progress=False).fit(planted())
    assert np.isfinite(learner.bic_)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


# States, and the tree over the columns --------------------------------------------------------------------


def class_table(n_states, n_columns=10, n_rows=3000):
    """Return rows of a latent class model with clear classes."""
    rng = np.random.default_rng(0)
    profiles = np.where(rng.random((n_states, n_columns)) < 0.5, 0.05, 0.95)
    classes = rng.integers(0, n_states, n_rows)
    rows = (rng.random((n_rows, n_columns)) < profiles[classes]).astype(int)
    return pd.DataFrame(rows, columns=[f"c{at}" for at in range(n_columns)])


def test_hidden_variables_have_as_many_states_as_bic_asks_for():
    table = class_table(4)
    found, binary = (HLTA(max_states=limit, random_state=0, **QUIET).fit(table) for limit in (None, 2))
    assert max(found.n_states_.values()) > 2
    assert max(binary.n_states_.values()) == 2
    assert found.bic_ > binary.bic_


def test_the_tree_over_the_columns_is_not_better():
    rng = np.random.default_rng(0)
    chain = [rng.integers(0, 2, 2000)]
    for _ in range(11):
        chain.append(np.where(rng.random(2000) < 0.15, 1 - chain[-1], chain[-1]))
    table = pd.DataFrame(np.stack(chain, axis=1), columns=[f"c{at:02}" for at in range(12)])
    chow_liu = Baseline("chow_liu", prior=0.01).fit(table)  # the prior of HLTA
    anywhere = HLTA(columns="anywhere", random_state=0, **QUIET).fit(table)
    assert anywhere.bic_ >= chow_liu.bic_ - 1e-6
    leaves = HLTA(random_state=0, **QUIET).fit(table)
    assert set(leaves.levels_) == set(leaves.latents_)
    assert not set(leaves.tree_.parent[leaves.tree_.parent >= 0]) & set(np.flatnonzero(~leaves.tree_.latent))


def test_hidden_copies_of_columns_take_over_where_columns_determine_each_other():
    rng = np.random.default_rng(1)
    parent, columns = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], [rng.integers(0, 2, 4000)]
    for above in parent:
        columns.append(np.where(rng.random(4000) < 0.03, 1 - columns[above], columns[above]))
    noisy = [np.where(rng.random(4000) < 0.05, 1 - column, column) for column in columns]
    table = pd.DataFrame(np.stack(noisy, axis=1), columns=[f"c{at:02}" for at in range(len(noisy))])
    learner = HLTA(random_state=0, **QUIET).fit(table)
    assert learner.bic_ >= Baseline("chow_liu").fit(table).bic_
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, table))
    assert learner.score_ == pytest.approx(learner.bic_)


def test_hidden_variables_need_two_states():
    with pytest.raises(ValueError, match="max_states"):
        HLTA(max_states=1, **QUIET).fit(class_table(2))
