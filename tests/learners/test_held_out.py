"""Learning for prediction: what a parameter costs is chosen by rows that were held out."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import EAST, BinG, RandomStarts, SplitMerge, encode, log_likelihood, presets, sample, scores, smoothed
from pgmpy_latent.exceptions import CheckpointError, DataError
from pgmpy_latent.learners import held_out
from pgmpy_latent.learners.east.policy import EastPolicy
from pgmpy_latent.learners.held_out import SHARES, PathMemory, best_share, path_table, with_held_out_scores
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.runtime.checkpoint import HistoryEntry
from pgmpy_latent.tables.folds import folds
from pgmpy_latent.testing import check_learner
from tests.support.samples import assert_same_tree, leafy_tree, two_classes_of_columns

QUIET = {"random_state": 0, "show_progress": False}
PLAIN_EAST = {**QUIET, "tuning": presets.EAST.replace(excursions=(), look_ahead=0)}
PLAIN_SPLITS = {**QUIET, "tuning": presets.SPLIT_MERGE.replace(adjust=False)}


STATES = pd.CategoricalDtype([0, 1])


def drawn(n, seed):
    return sample(leafy_tree(0, n_columns=5, card=2), n, random_state=seed).astype(STATES)


@pytest.fixture(scope="module")
def table():
    return drawn(200, 0)


@pytest.fixture(scope="module")
def new_rows():
    return drawn(150, 1)


def few_rows_of_all_types():
    """Return text, numbers, truth values and a category that does not occur, in few rows."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 60)
    noisy = np.where(rng.random((60, 3)) < 0.2, 1 - first[:, None], first[:, None])
    return pd.DataFrame(
        {
            "text": np.array(["no", "yes"], dtype=object)[first],
            "number": noisy[:, 0] + 1,
            "truth": noisy[:, 1].astype(bool),
            "category": pd.Categorical.from_codes(noisy[:, 2], ["low", "high", "never"]),
        }
    )


def searched(learner, data, penalty, start, continues):
    """Run one search to its end, without the driver; return its tree."""
    search = learner._search(data)
    policy, first_tree = learner._searching(data, penalty, search, continues)
    state = policy.start(first_tree() if start is None else start)
    while not state.finished:
        state = policy.advance(state).state
    return state.tree


def totals_by_hand(learner, data, n_folds, n_shares):
    """Return the log-likelihood of all held-out rows for some shares, written out; and the trees of all rows."""
    totals, own = np.zeros(n_shares), []
    everything = (data, None)
    for learn, test in [*folds(data, n_folds, learner._search(data).seed(0)), everything]:
        tree = None
        for number, share in enumerate(SHARES[:n_shares]):
            tree = searched(learner, learn, share * np.log(learn.total_weight) / 2, tree, number > 0)
            if test is None:
                own.append(tree)
            else:
                totals[number] += log_likelihood(smoothed(tree, learn, pseudo_count=0.1), test)
    return totals, own


@pytest.mark.parametrize(
    "learner",
    [
        EAST(scoring_method=scores.HeldOut(n_folds=2), **PLAIN_EAST),
        EAST(columns="anywhere", scoring_method=scores.HeldOut(n_folds=2), **PLAIN_EAST),
        SplitMerge(scoring_method=scores.HeldOut(n_folds=2), **PLAIN_SPLITS),
    ],
    ids=["EAST", "EAST anywhere", "SplitMerge"],
)
def test_the_share_is_the_best_of_paths_by_hand(learner, table):
    learner.fit(table)
    found = learner.held_out_
    totals, own = totals_by_hand(learner, encode(table).in_order_of_names(), 2, len(found))
    np.testing.assert_allclose(found["log_likelihood"], totals, rtol=1e-9)
    assert found["share"].tolist() == list(SHARES[: len(found)])
    np.testing.assert_allclose(found["penalty"], found["share"] * np.log(200) / 2)
    best = int(found["best"].to_numpy().argmax())
    assert found["best"].sum() == 1
    assert totals[best] >= totals.max() - 0.1
    assert learner.score_ == pytest.approx(totals[best])
    assert learner.n_parameters_ <= own[best].n_parameters  # fewer if the tree was made regular
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(own[best], table), abs=0.01)
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, table))


def test_the_path_ends_when_it_has_fallen_twice(table):
    found = EAST(scoring_method="heldout", **PLAIN_EAST).fit(table).held_out_["log_likelihood"].to_numpy()
    if len(found) < len(SHARES):
        assert (found[-2:] < found.max() - 0.1).all()
    for end in range(3, len(found)):
        assert (found[end - 2 : end] >= found[:end].max() - 0.1).any()


def test_of_equal_shares_the_largest_is_chosen():
    assert best_share([-5.0, -4.96, -4.92, -7.0]) == 0
    assert best_share([-5.0, -4.8, -4.75]) == 1


def test_a_table_validates_instead_of_folds(table, new_rows):
    how = scores.HeldOut(validation=new_rows)
    learner = EAST(scoring_method=how, **PLAIN_EAST).fit(table)
    assert learner.score_ == pytest.approx(log_likelihood(smoothed(learner, table), new_rows), abs=0.05)
    assert learner.score_ == learner.held_out_["log_likelihood"][learner.held_out_["best"]].item()
    weighted = encode(new_rows, sample_weight=np.full(len(new_rows), 2))
    doubled = EAST(scoring_method=scores.HeldOut(validation=weighted), **PLAIN_EAST).fit(table)
    assert doubled.held_out_["log_likelihood"][0] == pytest.approx(2 * learner.held_out_["log_likelihood"][0])


def test_validation_learns_nothing_twice(monkeypatch, table, new_rows):
    learned = []
    searching = EAST._searching

    def counted(self, data, penalty, search, continues=False):
        learned.append(round(penalty, 6))
        return searching(self, data, penalty, search, continues)

    monkeypatch.setattr(EAST, "_searching", counted)
    EAST(scoring_method=scores.HeldOut(validation=new_rows), **PLAIN_EAST).fit(table)
    assert len(learned) == len(set(learned))


def test_a_tree_for_prediction_predicts_better(new_rows):
    train = drawn(100, 2)
    scored = {
        method: log_likelihood(smoothed(EAST(scoring_method=method, **PLAIN_EAST).fit(train), train), new_rows)
        for method in ("bic", "heldout")
    }
    assert scored["heldout"] >= scored["bic"] - 0.1


@pytest.mark.parametrize("n_parameters", [1, 2])
def test_aic_is_a_search_in_which_a_parameter_costs_one_nat(table, n_parameters):
    learner = EAST(scoring_method="aic", max_latents=n_parameters, **PLAIN_EAST).fit(table)
    assert learner.score_ == pytest.approx(scores.aic(learner.tree_, table))
    data = encode(table).in_order_of_names()
    by_hand = searched(learner, data, 1.0, None, False)
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(by_hand, table))
    assert learner.n_parameters_ == by_hand.n_parameters
    bic = EAST(scoring_method="bic", max_latents=n_parameters, **PLAIN_EAST).fit(table)
    assert learner.score_ >= bic.log_likelihood_ - bic.n_parameters_
    assert learner.held_out_ is bic.held_out_ is None


def test_a_weight_is_a_repeated_row_and_order_does_not_matter(table):
    counts = np.random.default_rng(0).integers(1, 4, len(table))
    learner = EAST(columns="anywhere", scoring_method=scores.HeldOut(n_folds=2), **PLAIN_EAST)
    weighted = clone(learner).fit(table, sample_weight=counts)
    long = table.loc[table.index.repeat(counts)].sample(frac=1, random_state=0)
    repeated = clone(learner).fit(long[long.columns[::-1]])
    pd.testing.assert_frame_equal(weighted.held_out_, repeated.held_out_)
    assert weighted.score_ == repeated.score_
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_)


def test_clusters_are_held_out_as_a_whole(monkeypatch, table):
    seen = []
    monkeypatch.setattr(held_out, "folds", lambda *args: seen.extend(folds(*args)) or seen)
    cluster = np.arange(len(table)) % 10
    EAST(scoring_method="heldout", **PLAIN_EAST).fit(table.assign(of=cluster), cluster="of")
    assert len(seen) == 3
    assert sorted(part.held_out.total_weight for part in seen) == [60, 60, 80]  # 3, 3 and 4 clusters of 20 rows


def test_the_number_of_threads_does_not_matter(table):
    one, two = (SplitMerge(scoring_method="heldout", n_jobs=n_jobs, **PLAIN_SPLITS).fit(table) for n_jobs in (None, 2))
    assert_same_tree(one.tree_, two.tree_)
    pd.testing.assert_frame_equal(one.held_out_, two.held_out_)


def test_rows_are_held_out_from_the_learner_of_the_start(monkeypatch, table):
    n_rows = []
    learn = BinG._learn
    monkeypatch.setattr(BinG, "_learn", lambda self, data: n_rows.append(data.total_weight) or learn(self, data))
    EAST(start=BinG(), scoring_method="heldout", **PLAIN_EAST).fit(table)
    assert n_rows[0] == 200
    assert len(n_rows) == 4
    assert sum(n_rows[1:]) == 400


@pytest.mark.parametrize("learner", [EAST(**PLAIN_EAST), SplitMerge(**PLAIN_SPLITS)], ids=["EAST", "SplitMerge"])
def test_the_contract_of_all_learners_holds(learner):
    check_learner(learner.set_params(scoring_method=scores.HeldOut(n_folds=2)), few_rows_of_all_types())


def test_history_has_a_row_for_every_share_that_predicts_better(table):
    learner = SplitMerge(scoring_method="heldout", **PLAIN_SPLITS).fit(table)
    history = learner.history_
    assert set(history["operator"]) <= {"start", "lower penalty", "make regular"}
    assert history["score"].is_monotonic_increasing
    assert history["score"].iloc[-1] == learner.score_
    tried = learner.held_out_.set_index("share")["log_likelihood"]
    for entry in history[history["operator"] == "lower penalty"].itertuples():
        assert entry.score == tried[entry.target]


def test_shares_on_the_way_that_are_no_better_have_no_row():
    tree = two_classes_of_columns()
    entries = [
        HistoryEntry(0, "start", None, -9.0, -8.0, 1, 0.1),
        HistoryEntry(1, "split", "H", -8.0, -7.0, 2, 0.2),
        HistoryEntry(2, "lower penalty", 0.7, -7.5, -7.0, 2, 0.3),
        HistoryEntry(3, "lower penalty", 0.5, -7.0, -7.0, 2, 0.4),
        HistoryEntry(4, "fit", None, -6.5, -6.0, 3, 0.5),
    ]
    memory = PathMemory(2, ((-4.0, -5.0), (-6.0, -7.0), (-4.0, -4.0), (-1.0,)), ((1, 1), (2, 2), (2, 2), (3,)))
    outcome = with_held_out_scores(Outcome(tree, -6.5, -6.0, entries, memory=memory), [-9.0, -13.0, -8.0])
    assert [(one.operator, one.target, one.score, one.n_parameters) for one in outcome.history] == [
        ("start", None, -9.0, 2),
        ("lower penalty", 0.5, -8.0, 3),
    ]
    assert outcome.score == -8.0
    assert len(path_table(outcome.memory, 10.0)) == 3
    stopped = with_held_out_scores(
        Outcome(tree, -8.0, -7.0, entries[:2], memory=replace(memory, held_out=((-4.0,),))), []
    )
    assert stopped.score == -8.0
    assert path_table(stopped.memory, 10.0).empty


def test_a_search_from_another_first_tree_that_takes_the_lead_is_no_further_share():
    tree = two_classes_of_columns()
    entries = [
        HistoryEntry(0, "start", None, -9.0, -8.0, 1, 0.1),
        HistoryEntry(1, "start", "forest of columns", -8.0, -7.0, 2, 0.2),
        HistoryEntry(2, "lower penalty", 0.7, -7.5, -6.5, 3, 0.3),
    ]
    totals = [-9.0, -5.0, -7.0]
    memory = PathMemory(1, tuple((total,) for total in totals), ((2,), (3,), (4,)))
    outcome = with_held_out_scores(Outcome(tree, -7.5, -6.5, entries, memory=memory), totals)
    assert [(one.operator, one.target, one.score, one.n_parameters) for one in outcome.history] == [
        ("start", None, -9.0, 2),
        ("lower penalty", 0.7, -5.0, 3),
    ]
    assert outcome.score == -5.0


def interrupted(monkeypatch, at_call, signal=KeyboardInterrupt):
    """Let the search be interrupted at some step of its inner searches."""
    advance, calls = EastPolicy.advance, []

    def counted(self, state):
        calls.append(state)
        if len(calls) == at_call:
            raise signal
        return advance(self, state)

    monkeypatch.setattr(EastPolicy, "advance", counted)


@pytest.mark.parametrize("at_call", [3, 20, 60])
def test_ctrl_c_returns_the_best_tree_of_all_rows_so_far(monkeypatch, table, at_call):
    interrupted(monkeypatch, at_call)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
        learner = EAST(scoring_method="heldout", **PLAIN_EAST).fit(table)
    assert learner.stopped_ == "interrupted"
    assert np.isfinite(learner.score_)
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, table))
    if learner.held_out_.empty:
        assert learner.score_ == pytest.approx(learner.bic_)


def test_a_time_limit_returns_the_best_tree_so_far(table):
    with pytest.warns(ConvergenceWarning, match="time limit"):
        learner = EAST(scoring_method="heldout", time_limit=1e-6, **PLAIN_EAST).fit(table)
    assert learner.stopped_ == "time_limit"
    assert learner.held_out_.empty
    assert learner.score_ == pytest.approx(learner.bic_)


@pytest.mark.parametrize("own_table", [False, True])
def test_a_checkpoint_resumes_in_the_middle_of_a_fold(monkeypatch, tmp_path, table, new_rows, own_table):
    how = scores.HeldOut(validation=new_rows) if own_table else scores.HeldOut(n_folds=2)
    whole = EAST(scoring_method=how, **PLAIN_EAST).fit(table)
    learner = EAST(scoring_method=how, checkpoint=tmp_path / "search.json", **PLAIN_EAST)
    for at_call in (5, 25, 25):
        with monkeypatch.context() as patched, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            interrupted(patched, at_call)
            learner.fit(table)
    learner.fit(table)
    assert_same_tree(learner.tree_, whole.tree_)
    pd.testing.assert_frame_equal(learner.held_out_, whole.held_out_, check_exact=True)
    with pytest.raises(CheckpointError, match="belongs to another search: scoring_method"):
        clone(learner).set_params(scoring_method="bic").fit(table)


def test_reports_and_summaries_name_the_score(tmp_path, table):
    learner = SplitMerge(scoring_method=scores.HeldOut(n_folds=2), **PLAIN_SPLITS).fit(table)
    learner.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(log-likelihood of held-out rows; larger is better)" in text
    assert "by the log-likelihood of rows that were held out" in text
    assert "scoring_method=scores.HeldOut(n_folds=2)" in text or "scoring_method = ...  # HeldOut(n_folds=2)" in text


def test_what_cannot_be_done_is_refused_before_the_search(table, new_rows):
    with pytest.raises(ValueError, match="scoring_method is 'cs'; give 'bic', 'aic', 'heldout' or HeldOut"):
        EAST(scoring_method="cs", **QUIET).fit(table)
    with pytest.raises(ValueError, match="as candidates are compared by what they gain where the tree changes"):
        EAST(scoring_method=scores.icl, **QUIET).fit(table)
    with pytest.raises(ValueError, match="scoring_method is 'heldout'; give 'bic', 'aic', 'cs' or a function"):
        RandomStarts(scoring_method="heldout", **QUIET).fit(table)
    endless = presets.SPLIT_MERGE.replace(patience=None)
    with pytest.raises(ValueError, match="folds need searches that end"):
        SplitMerge(scoring_method="heldout", tuning=endless, time_limit=1, **QUIET).fit(table)
    with pytest.raises(ValueError, match="n_folds is 1; give a whole number of at least 2"):
        scores.HeldOut(n_folds=1)
    with pytest.raises(TypeError, match=r"validation is .new\.csv.; give a table"):
        scores.HeldOut(validation="new.csv")
    without = new_rows.iloc[:, 1:]
    with pytest.raises(DataError, match=f"{table.columns[0]}"):
        EAST(scoring_method=scores.HeldOut(validation=without), **QUIET).fit(table)
    with pytest.raises(DataError, match="too few rows for 50 folds"):
        EAST(scoring_method=scores.HeldOut(n_folds=50), **QUIET).fit(table.head(30))
