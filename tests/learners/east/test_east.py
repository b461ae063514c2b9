"""EAST: it finds the trees that are there, keeps what was asked for at every step, and can be stopped and repeated."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    EAST,
    Baseline,
    BinG,
    LatentTree,
    TreeEM,
    datasets,
    encode,
    log_likelihood,
    presets,
    sample,
    scores,
    to_pgmpy,
)
from pgmpy_latent.exceptions import DataError, FewColumnsWarning, SkeletonError, UnseenCategoryError
from pgmpy_latent.learners.east.policy import EastPolicy
from pgmpy_latent.learners.search import Search
from pgmpy_latent.operators import canonical_tree, is_regular, root_walk
from pgmpy_latent.operators.edges import neighbours_of
from tests.support.samples import (
    Notes,
    assert_same_tree,
    columns_below,
    latent_class,
    leafy_tree,
    press_ctrl_c,
    run_out_of_time,
    same_by_name,
    tuned,
)

QUIET = {"random_state": 0, "show_progress": False}
QUICK = {**QUIET, "excursions": (), "look_ahead": 0}
#: Everything that "auto" does, but not so much of it.
SOME = {**QUIET, "excursions": (0.5,), "look_ahead": 4}
TRUTH = datasets.hlc_model(7, random_state=6)
every_evaluation = pytest.mark.parametrize("evaluation", ["auto", "rl", "dc"])


def splits(tree):
    """Return the two sets of columns beside every edge; of a forest, beside every edge of a tree."""
    below = [columns_below(tree, name) for name, above in zip(tree.names, tree.parent, strict=True) if above >= 0]
    whole = components(tree)
    return {frozenset([some, next(own for own in whole if some <= own) - some]) for some in below}


def components(tree):
    return {columns_below(tree, tree.names[root]) for root in tree.roots}


def assert_consistent(learner, table, **weights):
    """Raise unless the results of a fit agree with each other and with the model."""
    tree, history = learner.tree_, learner.history_
    assert learner.model_.check_model()
    assert is_regular(tree)
    assert np.isfinite(learner.bic_)
    assert learner.bic_ == pytest.approx(scores.bic(tree, table, **weights), rel=1e-9)
    assert learner.score_ == pytest.approx(learner.bic_, rel=1e-6)
    assert history["score"].iloc[-1] == pytest.approx(learner.bic_, rel=1e-6)
    assert history["n_parameters"].iloc[-1] == learner.n_parameters_ == scores.n_parameters(tree)
    total = encode(table, **weights).total_weight
    count = (history["log_likelihood"] - history["score"]) / (np.log(total) / 2)
    np.testing.assert_allclose(history["n_parameters"], count, rtol=1e-6)
    if learner.prior is None:  # with a prior, EM maximises something else
        assert (history["score"].diff().dropna() >= -1e-6).all()
    assert history["operator"].iloc[0] == "start"
    assert history["step"].is_monotonic_increasing
    assert tree.observed_names == tuple(table.columns)


@pytest.fixture(scope="module")
def two_levels():
    return sample(TRUTH, 3000, random_state=0)


@pytest.fixture(scope="module")
def pairs():
    return sample(leafy_tree(0, n_columns=6, card=3), 300, random_state=0)


@pytest.fixture(scope="module")
def three_classes():
    return sample(latent_class(3, [2, 3, 2, 3, 2]), 1000, random_state=0)


# what is found


@every_evaluation
def test_a_tree_of_two_levels_is_found(two_levels, evaluation):
    learner = tuned(EAST, evaluation=evaluation, **QUIET).fit(two_levels)
    assert_consistent(learner, two_levels)
    assert learner.stopped_ is None
    if evaluation != "dc":
        assert splits(learner.tree_) == splits(TRUTH)
        assert learner.bic_ > scores.bic(TRUTH, two_levels)


@every_evaluation
@pytest.mark.parametrize("seed", range(3))
def test_the_score_never_falls(evaluation, seed):
    rng = np.random.default_rng(seed)
    table = sample(leafy_tree(seed, n_columns=6, card=2 + seed % 2, alone=seed % 2), 300, random_state=seed)
    table = table.mask(rng.random(table.shape) < 0.1 * (seed % 3))
    learner = tuned(EAST, evaluation=evaluation, **SOME).fit(table)
    assert_consistent(learner, table)


@every_evaluation
def test_with_plenty_of_data_the_truth_is_not_left(evaluation):
    table = sample(TRUTH, 20_000, random_state=0)
    learner = tuned(EAST, start=TRUTH, evaluation=evaluation, **QUIET).fit(table)
    history = learner.history_
    assert history["operator"].iloc[[0, -1]].tolist() == ["start", "fit"]
    assert set(history["operator"][1:-1]) <= {"split and merge"}  # it starts EM anew
    assert (history["n_parameters"] == TRUTH.n_parameters).all()
    assert splits(learner.tree_) == splits(TRUTH)


@every_evaluation
def test_independent_columns_need_no_hidden_variable(evaluation):
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 3, size=(500, 6)), columns=list("abcdef"))
    learner = tuned(EAST, evaluation=evaluation, **QUIET).fit(table)
    assert learner.latents_ == learner.not_needed_ == []
    assert components(learner.tree_) == {frozenset(name) for name in table}
    assert learner.bic_ == pytest.approx(Baseline("independence").fit(table).bic_, rel=1e-9)


@every_evaluation
def test_one_hidden_variable_has_as_many_states_as_there_are_classes(three_classes, evaluation):
    for table, n_states in ((three_classes, 3), (datasets.coins("three_coins", random_state=0), 8)):
        learner = tuned(EAST, evaluation=evaluation, **QUICK).fit(table)
        assert learner.n_states_ == {"H1": n_states}
        assert components(learner.tree_) == {frozenset(table)}
        assert_consistent(learner, table)


@every_evaluation
def test_a_column_of_noise_stays_alone(three_classes, evaluation):
    table = three_classes.assign(noise=np.random.default_rng(1).integers(0, 3, 1000))
    learner = tuned(EAST, evaluation=evaluation, **QUIET).fit(table)
    assert learner.n_states_ == {"H1": 3}
    assert components(learner.tree_) == {frozenset(three_classes), frozenset(["noise"])}


@every_evaluation
def test_independent_groups_of_columns_are_trees_of_their_own(three_classes, evaluation):
    others = sample(latent_class(2, [2, 2, 2, 3], seed=3), 1000, random_state=1).add_prefix("y")
    table = pd.concat([three_classes, others], axis=1)
    learner = tuned(EAST, columns="leaves", evaluation=evaluation, **QUICK).fit(table)
    assert components(learner.tree_) == {frozenset(three_classes), frozenset(others)}
    assert learner.n_states_ == {"H1": 3, "H2": 2}


def test_a_group_of_columns_needs_no_hidden_variable_if_its_columns_explain_each_other(three_classes):
    others = sample(latent_class(2, [2, 2, 2, 3], seed=3), 1000, random_state=1).add_prefix("y")
    table = pd.concat([three_classes, others], axis=1)
    learner = tuned(EAST, **QUICK).fit(table)
    assert components(learner.tree_) == {frozenset(three_classes), frozenset(others)}
    assert learner.n_states_ == {"H1": 3}
    assert learner.bic_ > tuned(EAST, columns="leaves", **QUICK).fit(table).bic_ + 5


def test_it_is_no_worse_than_a_latent_class_model():
    pytest.importorskip("statsmodels")
    table = datasets.load_anes96()
    one = Baseline("latent_class", **QUIET).fit(table)
    assert tuned(EAST, **QUICK).fit(table).bic_ >= one.bic_ - 1


def test_every_step_is_one_of_its_phase(monkeypatch, two_levels):
    taken, advance = [], EastPolicy.advance

    def noted(self, state):
        step = advance(self, state)
        taken.append((state.memory.phase, step.operator))
        return step

    monkeypatch.setattr(EastPolicy, "advance", noted)
    learner = tuned(EAST, columns="leaves", start=BinG(), **SOME).fit(two_levels.head(1000))
    allowed = {
        "expand": {"introduce node", "introduce state", "relocate node"},  # a new node takes over neighbours
        "adjust": {"relocate node"},
        "delete states": {"delete state"},
        "delete nodes": {"delete node", "join nodes"},
        "excursion": {"excursion"},
        "split and merge": {"split and merge", "fit"},
    }
    assert {phase for phase, _ in taken} == {*allowed, "look ahead"}
    allowed["look ahead"] = set().union(*allowed.values()) - {"excursion", "split and merge", "fit"}
    assert all(operator is None or operator in allowed[phase] for phase, operator in taken)
    assert len(learner.history_) > 2


def test_the_final_fit_is_as_exact_as_asked_for(pairs):
    learner = tuned(EAST, tol=1e-6, **QUICK).fit(pairs)
    assert learner.history_["operator"].iloc[-1] == "fit"
    longer = TreeEM(init_cpds={cpd.variable: cpd for cpd in learner.model_.cpds}, atol=1e-8, show_progress=False)
    longer.fit(learner.model_, pairs)
    assert log_likelihood(longer.tree_, pairs) == pytest.approx(learner.log_likelihood_, abs=1e-5)


# constraints


def share_a_neighbour(tree, group):
    around = set.intersection(*(set(neighbours_of(tree, tree.index(name))) for name in group))
    return any(tree.latent[node] for node in around)


CONSTRAINTS = [
    ({"max_latents": 1}, []),
    ({"max_states": 2}, []),
    ({"together": ["x0", "x5"]}, [["x0", "x5"]]),
    ({"together": [["x0", "x2"]]}, [["x0", "x2"]]),
    ({"together": [("x0", "x1"), {"x3", "x4", "x5"}]}, [["x0", "x1"], ["x3", "x4", "x5"]]),
    ({"together": [["x0", "x2"], ["x4", "x5"], ["x2", "x4"]]}, [["x0", "x2", "x4", "x5"]]),
    ({"together": [["x0", "x3"]], "max_latents": 2, "max_states": 2}, [["x0", "x3"]]),
]


@every_evaluation
@pytest.mark.parametrize(("constraints", "groups"), CONSTRAINTS)
def test_constraints_hold_at_every_step(monkeypatch, pairs, evaluation, constraints, groups):
    fitted, seen = EastPolicy.fitted, []

    def noted(self, tree, *args, **options):
        seen.append(tree)
        return fitted(self, tree, *args, **options)

    monkeypatch.setattr(EastPolicy, "fitted", noted)
    learner = tuned(EAST, evaluation=evaluation, **SOME, **constraints).fit(pairs.head(200))
    assert len(seen) > 1
    for tree in (*seen, learner.tree_):
        assert tree.latent.sum() <= constraints.get("max_latents", np.inf)
        assert tree.cards[tree.latent].max(initial=1) <= constraints.get("max_states", np.inf)
        assert all(share_a_neighbour(tree, group) for group in groups)
    assert_consistent(learner, pairs.head(200))


@pytest.fixture
def no_work(monkeypatch):
    monkeypatch.setattr(Search, "fit", lambda *args, **options: pytest.fail("EM ran"))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"max_latents": 2}, "has 3 hidden variables, more than max_latents=2"),
        ({"max_states": 2}, "has 3 states of 'H1', more than max_states=2"),
        ({"together": ["D1", "D7"]}, r"has no hidden variable that the columns \['D1', 'D7'\] share as together= asks"),
    ],
)
@pytest.mark.usefixtures("no_work")
def test_a_start_that_breaks_a_constraint_is_refused(two_levels, constraints, message):
    with pytest.raises(SkeletonError, match=f"the model to start with {message}"):
        tuned(EAST, start=TRUTH, **QUICK, **constraints).fit(two_levels)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"together": ["x0", "nose"]}, r"together names \['nose'\], which the table does not have"),
        ({"together": [["x0"]]}, r"together has the group \['x0'\]; give two different columns or more"),
        ({"together": ["x0", "x0"]}, r"together has the group \['x0', 'x0'\]; give two different columns or more"),
        ({"together": [["x0", "x1"], "x2"]}, "together names"),
        ({"together": [pd.Index(["x0", "x1"])]}, "together names"),
        ({"together": "ab"}, "together is 'ab'; give groups of columns"),
        ({"max_latents": 0}, "max_latents is 0; give a whole number of at least 1, or None"),
        ({"max_states": 1}, "max_states is 1; give a whole number of at least 2, or None"),
        ({"evaluation": "x"}, "evaluation is 'x'; give 'auto', 'rl' or 'dc'"),
        ({"n_starts": 0}, "n_starts is 0; give a whole number of at least 1"),
        ({"look_ahead": -1}, "look_ahead is -1; give a whole number of at least 0"),
        ({"excursions": (-2,)}, r"excursions is \(-2,\); give a tuple of positive numbers"),
        ({"start": "file.json"}, "start is a str; give a LatentTree, a pgmpy network with CPDs, or a fitted learner"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_work")
def test_settings_that_cannot_be_meant(pairs, setting, message):
    with pytest.raises((ValueError, TypeError), match=message):
        tuned(EAST, **{**QUIET, **setting}).fit(pairs)


# starts


def test_starts_of_all_kinds(two_levels):
    two_levels = two_levels.head(1000)
    fitted = tuned(EAST, evaluation="dc", **QUIET).fit(two_levels)
    for start, least in (
        (TRUTH, scores.bic(TRUTH, two_levels)),
        (to_pgmpy(TRUTH), scores.bic(TRUTH, two_levels)),
        (fitted, fitted.bic_),
        (fitted.tree_, fitted.bic_),
        (BinG(simplify=True), BinG(simplify=True, **QUIET).fit(two_levels).bic_),
        (Baseline("chow_liu"), Baseline("chow_liu").fit(two_levels).bic_),
    ):
        learner = tuned(EAST, start=start, evaluation="dc", **QUIET).fit(two_levels)
        assert learner.bic_ >= least - 1e-3
        assert_consistent(learner, two_levels)
        assert not hasattr(start, "tree_") or start is fitted  # what was given is not fitted itself


def test_a_start_with_other_columns_or_categories_is_refused(two_levels):
    with pytest.raises(SkeletonError, match=r"its nodes \['D7'\] are neither columns nor declared as latents"):
        tuned(EAST, start=TRUTH, **QUICK).fit(two_levels.drop(columns="D7"))
    with pytest.raises(UnseenCategoryError, match="'perhaps'"):
        tuned(EAST, start=TRUTH, **QUICK).fit(two_levels.astype(object).assign(D1="perhaps"))


def test_a_start_without_hidden_variables_is_fitted_in_spite_of_gaps():
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 600)
    b = np.where(rng.random(600) < 0.85, a, 1 - a)
    table = pd.DataFrame({"a": a, "b": b, "c": np.where(rng.random(600) < 0.85, b, 1 - b)})
    table = table.mask(rng.random(table.shape) < 0.4)
    near = [[0.6, 0.4], [0.4, 0.6]]
    chain = LatentTree(["a", "b", "c"], [[0, 1]] * 3, [-1, 0, 1], [False] * 3, [[[0.5, 0.5]], near, near])
    learner = EAST(start=chain, **QUIET).fit(table)
    assert learner.bic_ >= Baseline("chow_liu").fit(table).bic_ - 0.01


# the end before the end


@every_evaluation
@pytest.mark.parametrize("moment", [1, 30])
def test_a_time_limit_ends_the_search(monkeypatch, evaluation, moment):
    table = sample(leafy_tree(n_columns=12, card=4), 2000, random_state=0)
    start = leafy_tree(1, n_columns=12, card=4)
    for options in ({}, {"start": start}, {"start": BinG(simplify=True)}):
        learner = tuned(EAST, evaluation=evaluation, time_limit=3600, **QUIET, **options)
        with monkeypatch.context() as patched:
            run_out_of_time(patched, moment)
            with pytest.warns(ConvergenceWarning, match="the time limit stopped the search; raise time_limit"):
                learner.fit(table)
        assert learner.stopped_ == "time_limit"
        assert_consistent(learner, table)
        assert learner.bic_ >= (scores.bic(start, table) if options.get("start") is start else -np.inf)


@every_evaluation
def test_a_time_limit_ends_the_search_where_cells_are_missing(pairs, evaluation):
    table = pairs.mask(np.random.default_rng(0).random(pairs.shape) < 0.1)
    learner = tuned(EAST, evaluation=evaluation, time_limit=1e-9, **QUIET)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the search; raise time_limit"):
        learner.fit(table)
    assert learner.stopped_ == "time_limit"
    assert_consistent(learner, table)


@pytest.mark.parametrize(("moment", "n_jobs"), [(1, 1), (2, 1), (40, 1), (900, 1), (2000, 1), (60, 2), (900, 2)])
def test_ctrl_c_leaves_the_best_so_far(monkeypatch, pairs, moment, n_jobs):
    press_ctrl_c(monkeypatch, moment)
    learner = tuned(EAST, n_jobs=n_jobs, **SOME)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search; fit again"):
        learner.fit(pairs)
    assert learner.stopped_ == "interrupted"
    assert_consistent(learner, pairs)


def test_ctrl_c_while_the_start_is_fitted(monkeypatch, pairs):
    press_ctrl_c(monkeypatch, 2)
    learner = tuned(EAST, start=BinG(simplify=True), **QUICK)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search; fit again"):
        learner.fit(pairs)
    assert learner.stopped_ == "interrupted"


# the same answer again


@every_evaluation
def test_the_answer_depends_on_the_seed_alone(pairs, evaluation):
    table = pairs.head(200).mask(np.random.default_rng(0).random((200, 6)) < 0.05)
    one = tuned(EAST, evaluation=evaluation, **SOME).fit(table)
    for again in (
        tuned(EAST, evaluation=evaluation, **SOME).fit(table),
        tuned(EAST, evaluation=evaluation, n_jobs=2, **SOME).fit(table.sample(frac=1, random_state=0)),
    ):
        assert_same_tree(again.tree_, one.tree_)
        columns = ["operator", "target", "score", "log_likelihood"]
        pd.testing.assert_frame_equal(again.history_[columns], one.history_[columns], check_exact=True)


def columns_in_two_orders(table, **options):
    return [tuned(EAST, **options).fit(table), tuned(EAST, **options).fit(table.iloc[:, ::-1])]


@pytest.mark.parametrize("evaluation", ["auto", "dc"])
def test_the_order_of_columns_does_not_change_what_is_found(pairs, evaluation):
    one, other = columns_in_two_orders(pairs.head(200), evaluation=evaluation, **QUICK)
    assert splits(other.tree_) == splits(one.tree_)
    assert other.bic_ == pytest.approx(one.bic_, rel=1e-9)
    assert same_by_name(canonical_tree(other.tree_), canonical_tree(one.tree_))


def test_the_order_of_columns_does_not_change_the_network(pairs):
    assert same_by_name(*(learner.tree_ for learner in columns_in_two_orders(pairs, evaluation="dc", **QUIET)))


@pytest.mark.parametrize("evaluation", ["auto", "dc"])
def test_weights_are_repetitions(pairs, evaluation):
    table = pairs.head(200).mask(np.random.default_rng(1).random((200, 6)) < 0.1)
    weights = np.random.default_rng(0).integers(0, 4, size=200)
    weighted = tuned(EAST, evaluation=evaluation, **QUICK).fit(table, sample_weight=weights)
    repeated = tuned(EAST, evaluation=evaluation, **QUICK).fit(table.loc[table.index.repeat(weights)])
    assert weighted.bic_ == pytest.approx(repeated.bic_, rel=1e-6)
    assert weighted.model_.edges() == repeated.model_.edges()
    assert_consistent(weighted, table, sample_weight=weights)


# what is reported


def test_the_same_tree_is_reported_in_the_same_way(two_levels):
    renamed = {"H1": "top", "H2": "H3", "H3": "H2"}
    walked = root_walk(TRUTH, "D6")
    names = [renamed.get(name, name) for name in walked.names]
    start = LatentTree(names, walked.state_names, walked.parent, walked.latent, walked.tables)
    one, other = (tuned(EAST, start=own, evaluation="rl", tol=1e-5, **QUIET).fit(two_levels) for own in (None, start))
    assert one.latents_ == other.latents_ == ["H1", "H2", "H3"]
    assert set(one.model_.edges()) == set(other.model_.edges())
    assert {one.tree_.names[root] for root in one.tree_.roots} == {"H1"}
    assert set(one.tree_.children("H1")) == {"H2", "H3", "D4"}  # the middle
    assert one.bic_ == pytest.approx(other.bic_, abs=1e-3)
    for mine, theirs in zip(one.tree_.tables, other.tree_.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=0.02)


def test_columns_may_be_called_like_hidden_variables(pairs):
    plain = tuned(EAST, evaluation="dc", **QUIET).fit(pairs)
    for taken in ({"x0": "H1"}, {"x0": "H", "x1": "H1", "x2": "H2"}):
        learner = tuned(EAST, evaluation="dc", **QUIET).fit(pairs.rename(columns=taken))
        assert learner.latents_ == [f"H_{at + 1}" for at in range(len(plain.latents_))]
        assert_consistent(learner, pairs.rename(columns=taken))
        assert learner.bic_ == pytest.approx(plain.bic_, abs=1)


def test_the_summary_names_every_column_once(capsys, pairs):
    tuned(EAST, evaluation="dc", **QUIET).fit(pairs.assign(z=np.random.default_rng(0).integers(0, 2, 300))).summary()
    tree = capsys.readouterr().out.split("\n\n")[1]
    assert {name: tree.count(name) for name in (*pairs, "z")} == dict.fromkeys((*pairs, "z"), 1)


# searches taken up again


@pytest.mark.parametrize(
    "options", [{"columns": "leaves", **SOME}, {"evaluation": "rl", **QUIET}, {"evaluation": "dc", **QUIET}], ids=str
)
def test_a_search_goes_on_from_any_state_as_if_it_had_never_stopped(monkeypatch, pairs, options):
    table, notes = pairs.iloc[:150, ::-1], Notes()  # columns against the order of their names
    notes.watch(monkeypatch)
    whole = tuned(EAST, **options, checkpoint="notes").fit(table)
    saved = notes.saved
    assert saved[-1][0].finished
    assert len(saved) > len(whole.history_) > 2
    for state, history in saved[:: max(1, len(saved) // 4)]:
        Notes((state, history)).watch(monkeypatch)
        again = tuned(EAST, **options, checkpoint="notes").fit(table)
        assert_same_tree(again.tree_, whole.tree_)
        dropped = [one.history_.drop(columns="seconds") for one in (again, whole)]
        pd.testing.assert_frame_equal(*dropped, check_exact=True)


# tables of all kinds


@pytest.mark.parametrize(
    "options", [{"evaluation": "dc"}, {"improvement_ratio": False}, {"tuning": presets.CHEN_2008}, {"prior": 0.5}]
)
def test_gaps_and_weights(two_levels, options):
    rng = np.random.default_rng(0)
    table = two_levels.head(800).mask(rng.random((800, 7)) < 0.1)
    weights = rng.gamma(4.0, 0.25, size=800)
    learner = tuned(EAST, **{**QUICK, **options}).fit(table, sample_weight=weights)
    assert_consistent(learner, table, sample_weight=weights)
    below = {columns_below(learner.tree_, name) for name in learner.latents_}
    assert any({"D1", "D2", "D3"} <= one for one in below)
    assert learner.bic_ > Baseline("independence").fit(table, sample_weight=weights).bic_ + 50


def test_a_prior_leaves_nothing_impossible(three_classes):
    table = three_classes.head(150).copy()
    table["x4"] = pd.Categorical(table["x4"], categories=[0, 1, 2])  # a state that no row shows
    learner = tuned(EAST, prior=0.5, **SOME).fit(table)
    assert min(own.min() for own in learner.tree_.tables) > 0
    new = pd.DataFrame(np.random.default_rng(0).integers(0, [2, 3, 2, 3, 3], size=(200, 5)), columns=table.columns)
    assert np.isfinite(learner.score_samples(new)).all()


@pytest.mark.parametrize("n_columns", [1, 2])
@every_evaluation
def test_with_fewer_than_three_columns_there_is_a_warning_and_a_model(two_levels, evaluation, n_columns):
    table = two_levels.iloc[:, :n_columns] // 2  # of two categories
    with pytest.warns(FewColumnsWarning, match=f"and the table has {n_columns}; add columns") as caught:
        learner = tuned(EAST, evaluation=evaluation, **QUIET).fit(table)
    assert [one.filename for one in caught] == [__file__]  # the line of the user
    assert_consistent(learner, table)
    assert learner.bic_ >= Baseline("independence").fit(table).bic_ - 1e-6


@every_evaluation
def test_constant_columns_cost_nothing(three_classes, evaluation):
    plain = tuned(EAST, evaluation=evaluation, **QUICK).fit(three_classes)
    table = three_classes.assign(one="a", two=2)
    learner = tuned(EAST, evaluation=evaluation, **QUICK).fit(table)
    assert learner.bic_ == pytest.approx(plain.bic_, abs=0.5)
    assert components(learner.tree_) == {*components(plain.tree_), frozenset(["one"]), frozenset(["two"])}
    assert_consistent(learner, table)
    for values in ([2] * 40, [2, 3] * 20):  # nothing to be found at all
        nothing = pd.DataFrame({"a": 0, "b": 1, "c": values})
        learner = tuned(EAST, evaluation=evaluation, **QUIET).fit(nothing)
        assert learner.latents_ == []
        assert_consistent(learner, nothing)


def test_columns_without_a_cell_and_identifiers_are_refused(three_classes):
    with pytest.raises(DataError, match="column 'gone' is all missing"):
        tuned(EAST, **QUICK).fit(three_classes.assign(gone=np.nan))
    with pytest.raises(DataError, match="column 'id' has a category of its own in every row"):
        tuned(EAST, **QUICK).fit(three_classes.assign(id=range(1000)))


def test_two_different_rows_many_times():
    table = pd.DataFrame({name: [0, 1] * 100 for name in "abcd"})
    learner = tuned(EAST, columns="leaves", **SOME).fit(table)
    assert learner.n_states_ == {"H1": 2}
    assert learner.log_likelihood_ == pytest.approx(-200 * np.log(2), abs=0.01)
    anywhere = tuned(EAST, **SOME).fit(table)  # a column says the same as a hidden variable, and is there anyway
    assert anywhere.n_states_ == {}
    assert anywhere.log_likelihood_ == pytest.approx(-200 * np.log(2), abs=0.01)
    assert anywhere.bic_ > learner.bic_
