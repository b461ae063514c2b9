"""RandomStarts: the standard way, with and without a search for the numbers of states."""

import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import RandomStarts, SplitMerge, datasets, encode, log_likelihood, sample, scores
from pgmpy_latent.exceptions import RegularityWarning, SkeletonError, StateNameError
from pgmpy_latent.learners.cardinality.random_starts import with_cards
from pgmpy_latent.learners.search import Search
from tests.support.samples import (
    THESIS_TABLES,
    assert_same_tree,
    latent_class,
    press_ctrl_c,
    thesis_table,
    tuned,
    two_classes_of_columns,
)

QUIET = {"random_state": 0, "show_progress": False}
QUICK = {**QUIET, "n_starts": 6}


@pytest.fixture(scope="module")
def three_classes():
    return sample(latent_class(3, [2, 3, 2, 3, 2]), 400, random_state=0)


@pytest.fixture(scope="module")
def two_levels():
    return sample(two_classes_of_columns(), 400, random_state=0)


def assert_consistent(learner, table, **weights):
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, table, **weights), abs=1e-7)
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, table, **weights), abs=1e-7)
    assert learner.score_ == pytest.approx(learner.bic_, abs=1e-7)
    assert learner.history_["score"].is_monotonic_increasing
    assert learner.history_["score"].iloc[-1] == pytest.approx(learner.score_)
    assert learner.model_.check_model()


# a search for the number of states: Standard3, and HLCStandard3 with a skeleton


@pytest.mark.parametrize(("n_states", "cards"), [(2, [2] * 5), (3, [2, 3] * 3), (4, [3] * 6)])
def test_the_true_number_of_states_is_found(n_states, cards):
    table = sample(latent_class(n_states, cards), 2000, random_state=1)
    learner = RandomStarts(**QUIET, n_starts=16).fit(table)
    assert learner.tree_.cards[0] == n_states
    assert_consistent(learner, table)
    assert learner.bic_ == pytest.approx(tuned(SplitMerge, **QUIET, adjust=False).fit(table).bic_, abs=0.1)
    assert set(learner.history_["operator"]) <= {"start", "increase", "decrease", "new starts", "fit"}


def test_independent_columns_need_no_hidden_variable():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, size=(300, 4))
    learner = tuned(RandomStarts, **QUICK).fit(table)
    assert learner.latents_ == []
    assert learner.not_needed_ == ["H"]
    assert_consistent(learner, table)
    # a number that was asked for stays, useful or not
    assert tuned(RandomStarts, n_states=1, **QUICK).fit(table).not_needed_ == ["H"]
    assert tuned(RandomStarts, n_states=1, **QUICK).fit(table).latents_ == ["H"]


def test_a_skeleton_is_filled(two_levels):
    learner = tuned(RandomStarts, two_classes_of_columns(), **QUICK).fit(two_levels)
    assert set(learner.latents_) == {"A", "B"}
    best = tuned(SplitMerge, two_classes_of_columns(), **QUIET, adjust=False).fit(two_levels)
    assert learner.bic_ == pytest.approx(best.bic_, abs=0.1)
    assert_consistent(learner, two_levels)
    assert set(learner.history_["target"].dropna()) == {"A", "B"}


def test_seven_variables_with_the_true_skeleton():
    tree = datasets.hlc_model(7, random_state=0)
    table = sample(tree, 2000, random_state=0)
    learner = tuned(RandomStarts, tree, **QUICK, adjust=False).fit(table)
    assert learner.latents_ == ["H1", "H2", "H3"]
    assert learner.bic_ >= scores.bic(tree, table)
    assert_consistent(learner, table)


@pytest.mark.parametrize("options", [{"shrink": False, "adjust": False}, {"starts": "random"}, {"narrowing": 4.0}])
def test_other_ways_to_search(three_classes, options):
    learner = tuned(RandomStarts, **QUIET, n_starts=12, **options).fit(three_classes)
    assert learner.tree_.cards[0] == 3
    assert_consistent(learner, three_classes)


def test_standard(three_classes):
    """One start for each number, one state more as long as there is time (the thesis' Standard)."""
    learner = tuned(
        RandomStarts, **QUIET, n_starts=1, shrink=False, adjust=False, patience=None, time_limit=0.5, starts="random"
    )
    with pytest.warns(ConvergenceWarning, match="the time limit"):
        learner.fit(three_classes)
    assert learner.stopped_ == "time_limit"
    assert learner.tree_.cards[0] >= 2
    assert set(learner.history_["operator"]) == {"start", "increase"}
    assert_consistent(learner, three_classes)


@pytest.mark.parametrize("max_states", [1, 2])
def test_no_more_states_than_allowed(three_classes, max_states):
    learner = tuned(RandomStarts, **QUICK, max_states=max_states, regular=False).fit(three_classes)
    assert learner.tree_.cards[0] == max_states


# numbers that are given: StandardFixed


def test_a_number_for_all_or_by_name(two_levels):
    learner = tuned(RandomStarts, two_classes_of_columns(), n_states=3, **QUICK).fit(two_levels)
    assert learner.tree_.cards[learner.tree_.latent].tolist() == [3, 3]
    assert_consistent(learner, two_levels)
    learner = tuned(RandomStarts, two_classes_of_columns(), n_states={"B": 3, "A": 1}, **QUICK).fit(two_levels)
    assert [learner.tree_.table(name).shape[1] for name in "AB"] == [1, 3]
    assert learner.not_needed_ == ["A"]
    learner = tuned(RandomStarts, two_classes_of_columns(), n_states={"B": 3}, **QUICK).fit(two_levels)
    assert [learner.tree_.table(name).shape[1] for name in "AB"] == [2, 3]


def test_every_round_doubles_the_starts(monkeypatch, three_classes):
    sizes = []
    fit = Search.fit

    def watched(self, engine, starts, **options):
        sizes.append(len(starts))
        return fit(self, engine, starts, **options)

    monkeypatch.setattr(Search, "fit", watched)
    learner = tuned(RandomStarts, n_states=4, n_starts=2, n_rounds=4, **QUIET).fit(three_classes)
    assert sizes == [2, 4, 8, 16, 1]  # and the best to its end
    assert_consistent(learner, three_classes)
    one = tuned(RandomStarts, n_states=4, n_starts=2, n_rounds=1, **QUIET).fit(three_classes)
    assert learner.log_likelihood_ >= one.log_likelihood_ - 1e-9


def test_rounds_until_the_time_is_up(three_classes):
    learner = tuned(RandomStarts, n_states=3, n_starts=2, n_rounds=None, time_limit=0.5, **QUIET)
    with pytest.warns(ConvergenceWarning, match="the time limit"):
        learner.fit(three_classes)
    assert learner.stopped_ == "time_limit"
    assert learner.tree_.cards[0] == 3
    assert_consistent(learner, three_classes)


def test_more_states_than_can_be_told_apart(three_classes):
    table = three_classes[["x0", "x2", "x4"]]  # three binary columns
    with pytest.warns(RegularityWarning, match=r"5 states of 'H' are more than the 4 .* Ask for at most 4\.") as caught:
        learner = tuned(RandomStarts, n_states=5, **QUICK).fit(table)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # the line of the user
    assert learner.tree_.cards[0] == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned(RandomStarts, n_states=4, **QUICK).fit(table)


def test_the_bound_knows_the_other_hidden_variables(two_levels):
    graph = nx.Graph([("A", "a1"), ("A", "B"), ("B", "b1"), ("B", "b2")])
    table = two_levels[["a1", "b1", "b2"]]
    with pytest.warns(RegularityWarning, match="3 states of 'A' are more than the 2"):
        tuned(RandomStarts, graph, n_states={"A": 3, "B": 2}, **QUICK).fit(table)


def test_the_answer_depends_on_the_seed_alone(three_classes):
    for options in ({"n_states": 3}, {"adjust": False}):
        one = tuned(RandomStarts, **QUICK, **options).fit(three_classes)
        assert_same_tree(tuned(RandomStarts, **QUICK, **options, n_jobs=2).fit(three_classes).tree_, one.tree_)
        assert_same_tree(tuned(RandomStarts, **QUICK, **options).fit(encode(three_classes)).tree_, one.tree_)


def test_weights_are_repetitions(three_classes):
    table = three_classes.head(120)
    weights = np.random.default_rng(0).integers(0, 4, size=120)
    weighted = tuned(RandomStarts, **QUICK).fit(table, sample_weight=weights)
    repeated = tuned(RandomStarts, **QUICK).fit(table.loc[table.index.repeat(weights)])
    assert weighted.bic_ == pytest.approx(repeated.bic_, rel=1e-9)
    assert weighted.tree_.cards.tolist() == repeated.tree_.cards.tolist()
    assert_consistent(weighted, table, sample_weight=weights)


def test_missing_values_priors_and_other_scores(three_classes):
    table = three_classes.mask(np.random.default_rng(0).random(three_classes.shape) < 0.2)
    learner = tuned(RandomStarts, **QUICK, prior=1, scoring_method="cs").fit(table)
    assert min(own.min() for own in learner.tree_.tables) > 0
    assert learner.score_ == pytest.approx(scores.cheeseman_stutz(learner.tree_, table), abs=1e-7)
    learner = tuned(RandomStarts, **QUICK, scoring_method=scores.aic).fit(table)
    assert learner.score_ == pytest.approx(scores.aic(learner.tree_, table), abs=1e-7)


@pytest.mark.parametrize("name", ["voting", "wisconsin"])
def test_what_the_thesis_found(data_folder, name):
    learner = RandomStarts(**QUIET, n_starts=32).fit(thesis_table(data_folder, name))
    assert learner.bic_ >= THESIS_TABLES[name][-1] - 0.2


# the end before the end


@pytest.mark.parametrize("options", [{}, {"n_states": 6}])
@pytest.mark.parametrize("time_limit", [1e-9, 0.05])
def test_a_time_limit_ends_the_search(options, time_limit):
    table = sample(latent_class(8, [4] * 12, concentration=1.0), 3000, random_state=0)
    learner = tuned(RandomStarts, **QUIET, time_limit=time_limit, **options)
    with pytest.warns(ConvergenceWarning, match="the time limit"):
        learner.fit(table)
    assert learner.stopped_ == "time_limit"
    assert_consistent(learner, table)
    assert not options or learner.tree_.cards[0] == 6


@pytest.mark.parametrize("options", [{}, {"n_states": 3, "n_rounds": 3}])
@pytest.mark.parametrize("moment", [1, 5, 60])
def test_ctrl_c_leaves_the_best_so_far(monkeypatch, three_classes, options, moment):
    press_ctrl_c(monkeypatch, moment)
    learner = tuned(RandomStarts, **QUICK, **options)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
        learner.fit(three_classes)
    assert learner.stopped_ == "interrupted"
    assert_consistent(learner, three_classes)


def test_the_time_limit_holds_while_starts_are_drawn(monkeypatch, three_classes):
    """Rounds grow, and so does the time it takes to draw their starts."""
    moments = []
    tick = Search.tick

    def watched(self):
        moments.append(None)
        tick(self)

    monkeypatch.setattr(Search, "tick", watched)
    tuned(RandomStarts, n_states=2, n_starts=4, n_rounds=3, **QUIET).fit(three_classes)
    assert len(moments) >= 8 + 16  # at least once for each start after the first round


# settings that cannot be meant


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_starts": 0}, ValueError, "n_starts is 0; give a whole number of at least 1"),
        ({"n_states": 2, "n_rounds": 0}, ValueError, "n_rounds is 0; give a whole number of at least 1, or None"),
        (
            {"n_states": 2, "n_rounds": None},
            ValueError,
            "n_rounds=None goes on until the time is up; give a time_limit",
        ),
        ({"patience": None}, ValueError, "patience=None goes on until the time is up; give a time_limit as well"),
        ({"patience": 0}, ValueError, "patience is 0; give a whole number of at least 1, or None"),
        ({"starts": "k-means"}, ValueError, "starts is 'k-means'; give 'memberships' or 'random'"),
        ({"scoring_method": "x"}, ValueError, "scoring_method is 'x'; give 'bic'"),
        ({"narrowing": 1}, ValueError, "narrowing is 1; give a number above 1, or None"),
        ({"time_limit": 0}, ValueError, "time_limit is 0; give a number of seconds above 0"),
        ({"n_states": {"K": 2}}, StateNameError, r"n_states names \['K'\]; the hidden variables are \['H'\]"),
        ({"n_states": 0}, StateNameError, "n_states of 'H' is 0; give a whole number of at least 1"),
        ({"n_states": {"H": 2.5}}, StateNameError, "n_states of 'H' is 2.5; give a whole number of at least 1"),
        ({"skeleton": nx.Graph([("K", "x0"), ("K", "x1")])}, SkeletonError, r"lacks the columns \['x2', 'x3', 'x4'\]"),
    ],
)
def test_settings_that_cannot_be_meant(three_classes, settings, error, message):
    with pytest.raises(error, match=message):
        tuned(RandomStarts, **{**QUICK, **settings}).fit(three_classes)


def test_without_narrowing_all_starts_run_to_their_end(three_classes):
    learner = tuned(RandomStarts, n_states=3, **QUICK, narrowing=None).fit(three_classes)
    assert_consistent(learner, three_classes)


def test_trees_with_other_numbers_of_states():
    tree = two_classes_of_columns()
    cards = tree.cards.copy()
    cards[:2] = [4, 1]
    other = with_cards(tree, cards)
    assert other.cards.tolist() == cards.tolist()
    assert other.parent.tolist() == tree.parent.tolist()
    assert other.state_names[2:] == tree.state_names[2:]
    assert all(np.ptp(table) == 0 for table in other.tables)
