"""Agglomeration of one hidden variable: against scores and merges from scratch, by definition."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent.networks.agglomeration import merging as _agglomerate
from pgmpy_latent.networks.agglomeration.merging import (
    Scoring,
    Statistics,
    Trace,
    agglomerate,
    blanket_states,
    statistics,
)
from pgmpy_latent.testing import latent_networks, weights_for
from tests.support import reference_agglomeration as slow

methods = st.sampled_from(["bde", "mdl"])
priors = st.sampled_from([0.1, 0.5, 1.0, 4.0])
#: Scores that differ by less than this, relative to their size, are equal but for rounding.
NEAR = 1e-9


@st.composite
def problems(draw, max_rows=9, whole=False):
    """Return codes (some cells missing), weights, cardinalities and parents of a network, and the node in question."""
    network = draw(latent_networks(max_nodes=6).filter(lambda network: network.edges))
    parents = network.parents
    linked = [node for node in range(network.n_nodes) if slow.blanket(parents, node)]
    node = draw(st.sampled_from(sorted(linked, key=lambda node: -len(slow.blanket(parents, node)))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = int(rng.integers(1, max_rows + 1))
    cards = rng.choice([1, 2, 2, 3], size=network.n_nodes)
    codes = rng.integers(0, cards, size=(n_rows, network.n_nodes))
    codes[rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.25, 0.7]))] = -1
    weights = rng.integers(1, 5, size=n_rows).astype(float) if whole else draw(weights_for(n_rows))
    return codes, weights, cards, parents, node


def scoring_of(problem, states, method, prior):
    return Scoring(statistics(*problem, states), method, prior)


def trace_of(problem, method, prior):
    codes, _, cards, parents, node = problem
    first, _ = blanket_states(codes, cards, parents, node)
    return agglomerate(scoring_of(problem, first, method, prior)), first


def near(value):
    return NEAR * max(1.0, abs(value))


def dense(labels):
    """Return labels renumbered without gaps, in their order."""
    return np.unique(labels, return_inverse=True)[1]


# first states


@given(problems(max_rows=20))
def test_first_states_are_the_distinct_assignments_of_the_blanket_in_order(problem):
    codes, _, cards, parents, node = problem
    states, kinds = blanket_states(codes, cards, parents, node)
    expected, expected_kinds = slow.first_states(problem)
    assert states.tolist() == expected.tolist()
    assert [tuple(kind) for kind in kinds.tolist()] == expected_kinds
    assert set(states.tolist()) == set(range(len(kinds)))
    around = slow.blanket(parents, node)
    np.testing.assert_array_equal(kinds[states], codes[:, around])


def test_a_missing_cell_is_a_value_of_its_own_and_stands_first():
    codes = np.array([[0, 1, 1], [0, -1, 0], [0, 0, -1], [0, 1, 1]])
    states, kinds = blanket_states(codes, [1, 2, 2], [(), (0,), (0,)], 0)
    assert kinds.tolist() == [[-1, 0], [0, -1], [1, 1]]
    assert states.tolist() == [2, 0, 1, 2]


def test_a_variable_with_nothing_around_it_has_one_state():
    trace, first = trace_of((np.zeros((3, 2), dtype=int), np.ones(3), [1, 2], [(), ()], 0), "bde", 1.0)
    assert first.tolist() == [0, 0, 0]
    assert (trace.n_first, trace.best, len(trace.merges)) == (1, 1, 0)


# scores


@given(problems(max_rows=20), methods, priors, st.data())
@settings(max_examples=150)
def test_the_score_of_any_states_is_that_of_the_completed_table(problem, method, prior, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    states = dense(rng.integers(0, data.draw(st.integers(1, 5)), size=len(problem[0])))
    scoring = scoring_of(problem, states, method, prior)
    expected = slow.score_of_states(problem, states, states.max() + 1, method, prior)
    assert scoring.total(scoring.statistics.counts) == pytest.approx(expected, abs=near(expected))


@given(problems(), methods, priors)
def test_what_is_hidden_behind_the_node_itself_is_not_looked_at(problem, method, prior):
    codes, *rest = problem
    node = rest[-1]
    first, _ = blanket_states(codes, rest[1], rest[2], node)
    other = codes.copy()
    other[:, node] = np.where(codes[:, node] < 0, 0, -1)
    one, two = (statistics(some, *rest, first).counts for some in (codes, other))
    np.testing.assert_array_equal(one, two)


@given(problems(), methods, priors)
def test_a_merge_makes_the_difference_of_two_scores_from_scratch(problem, method, prior):
    codes, _, cards, parents, node = problem
    first, kinds = blanket_states(codes, cards, parents, node)
    scoring = scoring_of(problem, first, method, prior)
    n_states = len(kinds)
    before = slow.score_of_states(problem, first, n_states, method, prior)
    gains = _agglomerate._first_gains(scoring, scoring.statistics.counts)
    step = scoring.of_number(n_states - 1) - scoring.of_number(n_states)
    for (kept, gone), after in slow.merged_scores(problem, first, method, prior).items():
        assert gains[kept, gone] + step == pytest.approx(after - before, abs=near(before))
        assert gains[gone, kept] == pytest.approx(gains[kept, gone], abs=near(before))
        alone = _agglomerate.gains_with(scoring, scoring.statistics.counts, kept, np.array([gone]))
        np.testing.assert_allclose(alone, gains[kept, gone], atol=near(before))
    assert np.isneginf(np.diag(gains)).all()


@given(problems(max_rows=20), methods, priors)
def test_states_without_rows_change_only_what_depends_on_their_number(problem, method, prior):
    first, kinds = slow.first_states(problem)
    scoring = scoring_of(problem, first, method, prior)
    counts = scoring.statistics.counts
    more = np.concatenate([counts, np.zeros_like(counts[:1])])
    expected = slow.score_of_states(problem, first, len(kinds) + 1, method, prior)
    assert scoring.total(more) == pytest.approx(expected, abs=near(expected))
    assert scoring.of_states(more)[-1] == 0


# counts looked up


@given(problems(max_rows=20, whole=True), methods, priors)
def test_counts_that_are_looked_up_give_what_is_computed(problem, method, prior):
    first, _ = slow.first_states(problem)
    known = scoring_of(problem, first, method, prior)
    assert (known._known is not None) == (known.statistics.counts.shape[1] > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_agglomerate, "LARGEST_KNOWN", 0)
        computed = scoring_of(problem, first, method, prior)
        assert computed._known is None
    counts = known.statistics.counts
    columns = np.arange(counts.shape[1])
    np.testing.assert_array_equal(known.values(counts, columns), computed.values(counts, columns))
    one, other = agglomerate(known), agglomerate(computed)
    np.testing.assert_array_equal(one.merges, other.merges)
    np.testing.assert_array_equal(one.gains, other.gains)


@given(problems(max_rows=20, whole=True), methods, priors)
def test_whole_and_nearly_whole_weights_score_alike(problem, method, prior):
    codes, weights, *rest = problem
    first, _ = slow.first_states(problem)
    known = scoring_of(problem, first, method, prior)
    computed = scoring_of((codes, weights + 2.0**-30, *rest), first, method, prior)
    assert (known._known is not None) == (known.statistics.counts.shape[1] > 0)
    assert computed._known is None
    assert known.total(known.statistics.counts) == pytest.approx(computed.total(computed.statistics.counts), abs=1e-5)


@given(problems(whole=True), methods, priors)
def test_weights_are_repeated_rows(problem, method, prior):
    codes, weights, *rest = problem
    often = np.repeat(codes, weights.astype(int), axis=0)
    one, _ = trace_of(problem, method, prior)
    other, _ = trace_of((often, np.ones(len(often)), *rest), method, prior)
    np.testing.assert_array_equal(one.merges, other.merges)
    np.testing.assert_array_equal(one.scores, other.scores)


# merging


@given(problems(), methods, priors)
@settings(max_examples=150)
def test_every_merge_is_the_best_of_all(problem, method, prior):
    trace, first = trace_of(problem, method, prior)
    labels = first.copy()
    for (kept, gone), score in zip(trace.merges.tolist(), trace.scores[1:], strict=True):
        tried = slow.merged_scores(problem, labels, method, prior)
        best = max(tried.values())
        close = [pair for pair, value in tried.items() if value > best - near(best)]
        assert (kept, gone) in close
        assert score == pytest.approx(tried[kept, gone], abs=near(best))
        labels = np.where(labels == gone, kept, labels)
    assert set(labels.tolist()) == {0}


@given(problems(), methods, priors)
def test_without_ties_the_trace_is_that_of_trying_everything(problem, method, prior):
    labels, kinds = slow.first_states(problem)
    merges, scores = slow.agglomerate(problem, method, prior)
    for kept, gone in merges:
        tried = sorted(slow.merged_scores(problem, labels, method, prior).values())
        assume(len(tried) < 2 or tried[-1] - tried[-2] > near(tried[-1]))
        labels = np.where(labels == gone, kept, labels)
    trace, _ = trace_of(problem, method, prior)
    assert [tuple(pair) for pair in trace.merges.tolist()] == merges
    np.testing.assert_allclose(trace.scores, scores, rtol=NEAR, atol=NEAR)
    assert trace.n_first == len(kinds)


@given(problems(max_rows=14), methods, priors, st.data())
def test_labels_are_as_many_as_asked_for_and_have_the_score_of_the_trace(problem, method, prior, data):
    trace, first = trace_of(problem, method, prior)
    n_states = data.draw(st.integers(1, trace.n_first))
    labels = trace.labels(n_states)
    assert sorted(set(labels.tolist())) == list(range(n_states))
    at = trace.n_states.tolist().index(n_states)
    expected = slow.score_of_states(problem, labels[first], n_states, method, prior)
    assert trace.scores[at] == pytest.approx(expected, abs=near(expected))
    coarser = trace.labels(max(1, n_states - 1))
    assert len({(a, b) for a, b in zip(labels.tolist(), coarser.tolist(), strict=True)}) == n_states  # a nested merge


@given(problems(max_rows=14), methods, priors)
def test_the_best_number_of_states_has_the_highest_score(problem, method, prior):
    trace, _ = trace_of(problem, method, prior)
    best = trace.scores[trace.n_states == trace.best].item()
    assert best >= trace.scores.max() - near(best)
    fewer = trace.scores[trace.n_states < trace.best]
    assert (fewer < best).all()


def test_of_equal_numbers_of_states_the_smaller_is_best():
    merges = np.array([[0, 1], [0, 2], [0, 3]])
    assert Trace(merges, np.array([1.0, 0.0, -1.0]), -5.0, 4).best == 2
    assert Trace(merges, np.array([-1.0, -1.0, 2.0]), -5.0, 4).best == 1
    assert Trace(merges, np.array([-1.0, -1.0, -1.0]), -5.0, 4).best == 4


def all_alike(n_states):
    """Every state has one row, in columns of its own: all merges of as many rows gain the same."""
    ones = np.ones(n_states, dtype=int)
    return Statistics(np.eye(n_states), ones, ones, np.array([float(n_states)]), 1, 1, float(n_states))


@pytest.mark.parametrize("method", ["bde", "mdl"])
def test_of_equal_merges_the_first_is_taken(method):
    trace = agglomerate(Scoring(all_alike(5), method, 1.0))
    assert trace.merges.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4]]


def test_states_that_say_the_same_are_merged_before_others():
    """Four assignments of three children, of which two say nearly the same: these two go together first."""
    codes = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1], [0, 2, 2, 2]])
    problem = (codes, np.array([40.0, 10.0, 50.0, 50.0]), [1, 3, 3, 3], [(), (0,), (0,), (0,)], 0)
    for method in ("bde", "mdl"):
        trace, _ = trace_of(problem, method, 1.0)
        assert trace.merges[0].tolist() == [0, 1]
        assert trace.best == 3
