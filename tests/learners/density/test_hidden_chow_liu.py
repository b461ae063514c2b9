"""HiddenChowLiu: held-out rows choose, test rows are never seen, and the result is a standard tree."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pgmpy_latent import (
    Baseline,
    HiddenChowLiu,
    datasets,
    encode,
    log_likelihood,
    presets,
    sample,
)
from pgmpy_latent.exceptions import CheckpointError, DataError, UnseenCategoryWarning
from pgmpy_latent.learners.density import begin, policy
from pgmpy_latent.learners.density.shape import hidden_tree
from tests.support import reference
from tests.support.samples import assert_same_tree, leafy_tree, press_ctrl_c

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def rows():
    """Return tables to learn from, to validate with and to test, of which no row is in two."""
    table = sample(leafy_tree(n_columns=8, card=3), 9_000, random_state=0).drop_duplicates(ignore_index=True)
    table = table.astype(pd.CategoricalDtype([0, 1, 2]))
    return table[:250], table[250:350], table[350:450]


@pytest.fixture(scope="module")
def learner():
    return HiddenChowLiu(max_states=4, **QUIET)


@pytest.fixture
def seen(monkeypatch):
    """Return the tables that a search has looked at."""
    tables, make = [], policy.engine_for

    def noted(tree, data):
        tables.append(data)
        return make(tree, data)

    for module in (policy, begin):
        monkeypatch.setattr(module, "engine_for", noted)
    return tables


def leaks(tables, test):
    """Tell whether any of some tables holds a row of the test table."""
    known = {tuple(row) for row in encode(test).codes.tolist()}
    return any(tuple(row) in known for data in tables for row in data.codes.tolist())


# What is held out ---------------------------------------------------------------------------------


def test_test_rows_are_never_seen_and_a_planted_leak_is_caught(learner, rows, seen):
    train, valid, test = rows
    clean = clone(learner).fit(train, X_valid=valid)
    assert len(seen) > 3
    assert not leaks(seen, test)
    seen.clear()
    leaky = clone(learner).fit(train, X_valid=pd.concat([valid, test]))
    assert leaks(seen, test)
    assert leaky.score_ != clean.score_  # what decides has changed


def test_rows_that_judge_are_not_learned_from(learner, rows, seen):
    train = rows[0]
    clone(learner).set_params(validation_share=0.1).fit(train)
    sizes = [data.weights.sum() for data in seen]
    assert set(sizes) == {225.0, 25.0, 250.0}
    learn, held_out = (next(data for data in seen if data.weights.sum() == size) for size in (225, 25))
    assert not {tuple(row) for row in learn.codes.tolist()} & {tuple(row) for row in held_out.codes.tolist()}
    assert sizes[-1] == 250  # the last EM has all rows


def test_validation_rows_only_validate(learner, rows):
    train, valid, _ = rows
    fitted = clone(learner).fit(train, X_valid=valid)
    assert fitted.score_ == pytest.approx(log_likelihood(fitted.tree_, valid), rel=1e-12)
    assert fitted.log_likelihood_ == pytest.approx(log_likelihood(fitted.tree_, train), rel=1e-12)
    assert fitted.total_weight_ == len(train)
    assert "fit to all rows" not in set(fitted.history_["operator"])
    assert not hasattr(fitted, "_validation") or fitted._validation is None


def test_a_share_that_is_held_out_is_learned_from_in_the_end(learner, rows):
    fitted = clone(learner).fit(rows[0])
    last = fitted.history_.iloc[-1]
    assert last["operator"] == "fit to all rows"
    assert last["score"] == fitted.held_out_.query("best")["log_likelihood"].item()
    assert last["log_likelihood"] > fitted.history_["log_likelihood"].iloc[-2]


def test_weights_of_rows_to_validate_with_count(rows):
    train, valid, _ = rows
    learner = HiddenChowLiu(n_states=2, smoothing=1.0, **QUIET)
    twice = encode(valid, sample_weight=np.full(len(valid), 2))
    scores = [clone(learner).fit(train, X_valid=given).score_ for given in (twice, pd.concat([valid, valid]))]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def test_unknown_categories_to_validate_with_count_as_missing(rows):
    train, valid, _ = rows
    strange, gap = valid.astype(object), valid.astype(object)
    strange.iloc[0, 0], gap.iloc[0, 0] = "new", None
    learner = HiddenChowLiu(n_states=2, smoothing=1.0, **QUIET)
    with pytest.warns(UnseenCategoryWarning, match="new"):
        found = clone(learner).fit(train, X_valid=strange)
    assert found.score_ == clone(learner).fit(train, X_valid=gap).score_


# What is chosen -----------------------------------------------------------------------------------


def test_the_best_trial_is_the_model(learner, rows):
    train, valid, _ = rows
    fitted = clone(learner).fit(train, X_valid=valid)
    tried = fitted.held_out_
    assert tried["best"].sum() == 1
    best = tried.query("best").iloc[0]
    others = tried.loc[best.name + 1 :]
    assert (others["log_likelihood"] <= best["log_likelihood"] + others["standard_error"]).all()
    assert fitted.smoothing_ == best["smoothing"]
    assert set(fitted.n_states_.values()) == {best["n_states"]}
    assert fitted.n_parameters_ == best["n_parameters"]


@pytest.mark.parametrize("seed", [0, 1])
def test_every_smoothing_is_judged_by_tables_of_its_own(rows, seed):
    train, valid, _ = rows
    options = {"n_states": 4, "random_state": seed, "show_progress": False}
    tried = HiddenChowLiu(**options).fit(train, X_valid=valid).held_out_
    assert len(tried) > 2
    assert tried["log_likelihood"].is_unique
    assert (tried["standard_error"][1:] > 0).all()
    assert (tried["n_iter"] > presets.HIDDEN_CHOW_LIU.interval).all()


def test_states_that_carry_nothing_are_pruned_and_no_row_notices(monkeypatch, tmp_path):
    train = datasets.load_anes96().iloc[:60, :7]
    valid = datasets.load_anes96().iloc[60:120, :7]
    learner = HiddenChowLiu(n_states=32, smoothing=3.0, checkpoint=tmp_path / "search.json", **QUIET)
    pruned = clone(learner).fit(train, X_valid=valid)
    monkeypatch.setattr(policy, "prune_states", lambda tree: tree)
    whole = clone(learner).set_params(checkpoint=None).fit(train, X_valid=valid)
    assert set(whole.n_states_.values()) == {32}
    assert min(pruned.n_states_.values()) < 32
    assert pruned.n_parameters_ < whole.n_parameters_ == pruned.held_out_["n_parameters"].iloc[0]
    for table in (train, valid, valid.mask(np.random.default_rng(0).random(valid.shape) < 0.2)):
        assert pruned.score_samples(table) == pytest.approx(whole.score_samples(table), abs=1e-9)
    monkeypatch.undo()
    assert_same_tree(clone(learner).fit(train, X_valid=valid).tree_, pruned.tree_)  # from the checkpoint


def test_given_settings_are_not_searched_for(rows):
    fitted = HiddenChowLiu(n_states=3, smoothing=0.7, **QUIET).fit(rows[0])
    assert fitted.held_out_[["n_states", "smoothing"]].to_numpy().tolist() == [[3, 0.7]]


def test_the_standard_error_is_that_of_the_difference(rows):
    train, valid, _ = rows
    fits = [HiddenChowLiu(n_states=n, smoothing=1.0, **QUIET).fit(train, X_valid=valid) for n in (2, 4)]
    gains = np.subtract(*(fit.score_samples(valid) for fit in fits))
    tried = HiddenChowLiu(max_states=4, smoothing=1.0, **QUIET).fit(train, X_valid=valid).held_out_
    assert tried["standard_error"].tolist() == pytest.approx([0.0, gains.std() * np.sqrt(len(valid))], rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_with_fifty_rows_per_parameter_new_rows_are_predicted_within_two_hundredths_of_the_truth(seed):
    truth = hidden_chow_liu_tree(seed)
    train, new = (sample(truth, n, random_state=at) for at, n in enumerate((50 * truth.n_parameters, 20_000)))
    assert HiddenChowLiu(**QUIET).fit(train).score(new) > log_likelihood(truth, new) / len(new) - 0.02


def hidden_chow_liu_tree(seed, n_columns=7, n_states=3):
    """Return a random tree of the kind that is learned, whose columns have two to four categories."""
    rng = np.random.default_rng(seed)
    parent = np.array([-1] + [rng.integers(at) for at in range(1, n_columns)])
    cards = rng.integers(2, 5, size=n_columns)
    tree = hidden_tree(encode(np.arange(12)[:, None] % cards), parent, n_states)
    return tree.with_tables([rng.dirichlet(np.full(t.shape[1], 0.5), size=len(t)) for t in tree.tables])


def test_rows_drawn_from_such_a_tree_are_predicted_nearly_as_well_as_by_the_truth():
    truth = leafy_tree(n_columns=8)
    train, new = (sample(truth, 4_000, random_state=seed) for seed in (0, 1))
    fitted = HiddenChowLiu(**QUIET).fit(train)
    assert fitted.score(new) > log_likelihood(truth, new) / len(new) - 0.02
    assert fitted.score(new) > Baseline("chow_liu").fit(train).score(new)


def test_nothing_is_ruled_out(learner, rows):
    fitted = clone(learner).fit(rows[0])
    assert all((table > 0).all() for table in fitted.tree_.tables)
    fitted.partial_fit(rows[1].iloc[:3], decay=0.6)
    assert all((table > 0).all() for table in fitted.tree_.tables)


# Results ------------------------------------------------------------------------------------------


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    table = sample(leafy_tree(seed, 6, 3), 120, random_state=seed)
    rng = np.random.default_rng(seed)
    again = table.iloc[rng.permutation(len(table)), rng.permutation(6)]
    learner = HiddenChowLiu(max_states=4, **QUIET)
    first, second = (clone(learner).fit(one) for one in (table, again))
    assert first.score_ == pytest.approx(second.score_, abs=1e-6)
    assert first.score(table) == pytest.approx(second.score(table), abs=1e-8)


def test_probabilities_are_those_of_enumeration(rows):
    gaps = rows[0].iloc[:, :4].mask(np.random.default_rng(0).random((250, 4)) < 0.1)
    fitted = HiddenChowLiu(n_states=3, **QUIET).fit(gaps)
    tree = fitted.tree_
    columns = [tree.index(name) for name in gaps]
    codes = gaps.head(20).apply(lambda column: column.cat.codes).to_numpy()
    wanted = reference.log_likelihoods(tree.parent, tree.tables, reference.rows_of(codes, columns))
    assert fitted.score_samples(gaps.head(20)) == pytest.approx(wanted, abs=1e-10)


def test_columns_without_any_link_need_no_hidden_variable():
    table = pd.DataFrame({"x": list("ab") * 20, "y": list("aabb") * 10})
    fitted = HiddenChowLiu(**QUIET).fit(table)
    assert fitted.latents_ == []
    assert np.isfinite(fitted.score(table))


def test_summary_and_report_say_what_hidden_variables_are_for(learner, rows, tmp_path, capsys):
    fitted = clone(learner).fit(rows[0])
    fitted.summary()
    fitted.report(tmp_path / "report.html")
    for text in (capsys.readouterr().out, (tmp_path / "report.html").read_text()):
        assert "there to predict rows; they are not meant to be interpreted" in text


def test_few_parameters_are_not_asked_for(recwarn):
    HiddenChowLiu(n_states=8, **QUIET).fit(datasets.load_anes96().iloc[:50, :5])
    assert not [one for one in recwarn if "parameters for" in str(one.message)]


# Time, Ctrl-C, checkpoints ------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [1, 30, 150])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_leaves_the_best_model_so_far(learner, rows, monkeypatch, moment):
    press_ctrl_c(monkeypatch, moment)
    fitted = clone(learner).fit(rows[0], X_valid=rows[1])
    assert fitted.stopped_ == "interrupted"
    assert fitted.score_ == pytest.approx(log_likelihood(fitted.tree_, rows[1]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_time_limit_leaves_a_model(learner, rows):
    fitted = clone(learner).set_params(time_limit=1e-6).fit(rows[0])
    assert fitted.stopped_ == "time_limit"
    assert np.isfinite(fitted.score(rows[2]))


def test_a_checkpoint_belongs_to_its_rows_to_validate_with(learner, rows, tmp_path):
    train, valid, test = rows
    saving = clone(learner).set_params(checkpoint=tmp_path / "search.json")
    first = saving.fit(train, X_valid=valid).tree_
    assert_same_tree(clone(saving).fit(train, X_valid=valid).tree_, first)
    with pytest.raises(CheckpointError, match="another table"):
        clone(saving).fit(train, X_valid=test)
    with pytest.raises(CheckpointError, match="another table"):
        clone(saving).fit(train)


# Mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_states": 0}, "n_states is 0; give a whole number of at least 1, or None"),
        ({"smoothing": 0}, "smoothing is 0; give a number above 0, or None"),
        ({"validation_share": 1}, "validation_share is 1; give a number above 0 and below 1"),
        ({"tuning": presets.HLTA}, "give None, or as presets.HIDDEN_CHOW_LIU"),
    ],
)
def test_settings_are_checked_first(setting, message):
    with pytest.raises(ValueError, match=message):
        HiddenChowLiu(**setting).fit("no table")


def test_one_cluster_cannot_be_held_out(rows):
    with pytest.raises(DataError, match=r"one cluster only.*X_valid"):
        HiddenChowLiu(**QUIET).fit(rows[0], cluster=np.zeros(len(rows[0]), int))
