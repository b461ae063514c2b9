"""Leaving out what the data do not need: gains are what they say, and trees become simpler while BIC rises."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent import BinA, BinG, LatentTree, encode, sample, scores
from pgmpy_latent.learners.forests.forest_search import ForestPolicy
from pgmpy_latent.learners.local.pairs import Options
from pgmpy_latent.learners.local.simplify import Change, Simplifier, compatible, n_star_parameters, unaffected
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators import contract_edge, is_regular
from pgmpy_latent.operators.star import Star, merge, star_of
from pgmpy_latent.tables.dependence import pairwise_information
from pgmpy_latent.testing import codes_for, latent_trees, weights_for
from tests.support.samples import Notes, assert_same_tree, latent_class, two_classes_of_columns

QUIET = {"random_state": 0, "show_progress": False}


def simplifier_for(data, **options):
    return Simplifier(data, Search(Settings(search_tol=0.1), random_state=0), np.log(data.total_weight) / 2, **options)


@st.composite
def problems(draw):
    """A tree with hidden nodes that are neighbours, and a weighted table with gaps that it does not rule out."""
    tree = draw(latent_trees(min_nodes=4, max_nodes=7, max_card=3))
    hidden = np.flatnonzero(tree.latent)
    assume(any(tree.parent[node] in hidden for node in hidden))
    assume((~tree.latent).any())
    codes = draw(codes_for(tree))
    weights = draw(weights_for(len(codes)))
    assume(weights.sum() > 1)
    columns = np.flatnonzero(~tree.latent)
    frame = {
        tree.names[node]: [None if code < 0 else tree.state_names[node][code] for code in codes[:, at]]
        for at, node in enumerate(columns)
    }
    states = {tree.names[node]: tree.state_names[node] for node in columns}
    return tree, encode(
        pd.DataFrame(frame, dtype=object), sample_weight=weights, weight_kind="frequency", state_names=states
    )


@settings(max_examples=60)
@given(problems())
def test_the_gain_of_a_change_is_by_how_much_bic_rises(problem):
    tree, data = problem
    changes, hopeless = simplifier_for(data).changes(tree)
    before = scores.bic(tree, data)
    for change in changes:
        assert change.gain > 0
        rise = scores.bic(change.applied(tree), data) - before
        assert rise == pytest.approx(change.gain, rel=1e-6, abs=1e-6)
    tried = {(change.node, change.swallowed) for change in changes} | set(hopeless)
    hidden = set(tree.latent_names)
    edges = [(tree.names[above], tree.names[at]) for at, above in enumerate(tree.parent) if above >= 0]
    assert {pair for pair in edges if hidden.issuperset(pair)} == {pair for pair in tried if pair[1] is not None}


@settings(max_examples=60)
@given(problems())
def test_what_is_known_to_be_hopeless_is_not_tried_again(problem):
    tree, data = problem
    simplifier = simplifier_for(data)
    changes, hopeless = simplifier.changes(tree)
    again, still = simplifier.changes(tree, [*hopeless, *((c.node, c.swallowed) for c in changes)])
    assert again == []
    assert set(still) == {*hopeless, *((c.node, c.swallowed) for c in changes)}


def test_counting_the_parameters_of_a_star_counts_those_of_a_latent_class_model():
    tree = latent_class(3, [2, 3, 4])
    assert n_star_parameters(star_of(tree, 0)) == scores.n_parameters(tree)


def a_change(node, swallowed, *touched):
    star = Star(np.ones(1), np.ones((1, 1)), np.array([1]))
    return Change(node, swallowed, star, 1.0, frozenset({node, swallowed, *touched} - {None}))


def test_changes_that_need_what_another_changes_are_left_for_later():
    first, near, far = a_change("A", "B", "C"), a_change("C", None, "B", "D"), a_change("D", "E", "C")
    assert compatible([first, near, far]) == [first, far]
    assert compatible([]) == []


def test_only_what_stands_far_from_a_change_is_unaffected():
    chain = LatentTree(
        ["A", "B", "C", "D", "E"], [[0]] * 5, [-1, 0, 1, 2, 3], [True] * 5, [[[1.0]]] * 5
    )  # fmt: skip
    tasks = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "E"), ("E", None)]
    assert unaffected(chain, tasks, [a_change("A", None)]) == [("C", "D"), ("D", "E"), ("E", None)]


def test_a_node_that_was_split_in_two_becomes_one_again():
    truth = latent_class(2, [2] * 8, seed=1, concentration=0.2)
    frame = sample(truth, 3000, random_state=0)
    binary = BinG(**QUIET).fit(frame)
    simple = BinG(simplify=True, **QUIET).fit(frame)
    assert len(binary.latents_) > 3
    assert len(simple.latents_) == 1
    assert list(simple.n_states_.values()) == [2]
    assert simple.bic_ > binary.bic_


@pytest.mark.parametrize("learner", [BinG, BinA])
def test_simplifying_raises_bic_and_leaves_a_regular_tree(learner):
    frame = sample(two_classes_of_columns(), 2000, random_state=1)
    plain, simple = learner(**QUIET).fit(frame), learner(simplify=True, **QUIET).fit(frame)
    assert simple.bic_ >= plain.bic_
    assert is_regular(simple.tree_)
    assert simple.model_.check_model()
    assert simple.bic_ == pytest.approx(scores.bic(simple.tree_, encode(frame)), abs=1e-6)
    steps = simple.history_[simple.history_["operator"] != "fit"]["score"]
    assert steps.is_monotonic_increasing


def test_max_states_holds_while_simplifying():
    frame = sample(latent_class(5, [3] * 6, seed=3, concentration=0.2), 4000, random_state=0)
    free, bound = (BinG(simplify=True, max_states=n, **QUIET).fit(frame) for n in (None, 2))
    assert max(free.n_states_.values()) > 2
    assert set(bound.n_states_.values()) == {2}


def test_a_joint_node_can_have_more_states_than_either_had():
    truth = latent_class(4, [2] * 8, seed=5, concentration=0.1)
    learner = BinG(simplify=True, **QUIET).fit(sample(truth, 5000, random_state=0))
    assert max(learner.n_states_.values()) > 2


def test_simplifying_goes_on_from_any_state_as_if_never_stopped():
    frame = sample(two_classes_of_columns(), 1500, random_state=2)
    learner = BinG(simplify=True, **QUIET)
    data = encode(frame)

    def run(notes):
        ordered = data.in_order_of_names()
        search = Search(Settings(), random_state=0, checkpoint=notes)
        information, _ = pairwise_information(ordered)
        options = Options(None, 4, 2.0, (4, 12), float(np.log(data.total_weight) / 2))
        policy = ForestPolicy(
            ordered,
            information,
            lambda all_roots: learner._order(all_roots.information, options.penalty),
            options,
            search,
            True,
        )
        return search.run(policy.start, policy.advance)

    notes = Notes()
    whole = run(notes)
    assert {state.memory.phase for state, _ in notes.saved} >= {"join", "fit", "simplify"}
    for saved in notes.saved:
        again = run(Notes(saved))
        assert_same_tree(again.tree, whole.tree)
        assert again.score == whole.score


def test_threads_change_nothing():
    frame = sample(two_classes_of_columns(), 1500, random_state=3)
    one, two = (BinG(simplify=True, n_jobs=n, **QUIET).fit(frame) for n in (1, 2))
    assert_same_tree(one.tree_, two.tree_)


def test_merging_product_states_undoes_a_contraction():
    """If the joint states that agree in one of the two nodes are merged, the other node is as good as gone."""
    tree = LatentTree(
        ["H", "G", "x", "y"], [[0, 1], [0, 1], "ab", "ab"], [-1, 0, 0, 1], [True, True, False, False],
        [[[0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], [[0.5, 0.5], [0.3, 0.7]]],
    )  # fmt: skip
    joint = contract_edge(tree, "H", "G")
    star = star_of(joint, joint.index("H"))
    merged = merge(merge(star, [0, 1]), [1, 2])
    np.testing.assert_allclose(merged.share, [0.4, 0.6])
    np.testing.assert_allclose(merged.rows[:, :2], tree.table("x"))
