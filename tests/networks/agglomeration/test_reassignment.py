"""The second look at merged states: against all partitions of the assignments of a blanket."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.networks.agglomeration.merging import agglomerate, blanket_states
from pgmpy_latent.networks.agglomeration.reassignment import RISE, Partition, Reassignment, best_of
from pgmpy_latent.networks.agglomeration.round_robin import Agglomeration
from tests.networks.agglomeration.test_merging import methods, near, priors, problems, scoring_of
from tests.support import reference_agglomeration as slow


def looked_at(problem, method, prior, fewest=1):
    """Return the merges and what a second look finds."""
    first, _ = blanket_states(problem[0], *problem[2:])
    scoring = scoring_of(problem, first, method, prior)
    trace = agglomerate(scoring)
    return trace, Reassignment(scoring, fewest), Reassignment(scoring, fewest).levels(trace)


def noisy_copies(seed, n_rows=60):
    """Return the scoring of a hidden variable above two columns of three states, of which at most eight pairs occur."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(2, size=n_rows)
    codes = np.zeros((n_rows, 3), dtype=int)
    for column in (1, 2):
        codes[:, column] = (hidden + rng.choice(3, n_rows, p=[0.5, 0.4, 0.1])) % 3
    codes = codes[codes[:, 1:].sum(axis=1) < 4]
    problem = (codes, rng.integers(1, 9, size=len(codes)).astype(float), np.array([1, 3, 3]), [(), (0,), (0,)], 0)
    return scoring_of(problem, blanket_states(codes, *problem[2:])[0], "bde", 1.0)


def highest_score(scoring):
    """Return the highest score of all partitions; the score of one is tested against its definition elsewhere."""
    counts = scoring.statistics.counts
    return max(
        scoring.total(np.stack([counts[np.equal(groups, group)].sum(axis=0) for group in range(max(groups) + 1)]))
        for groups in slow.partitions(len(counts))
    )


@given(problems(max_rows=4), methods, priors, st.integers(1, 3))
def test_partitions_have_the_score_of_their_states_and_no_partition_scores_higher(problem, method, prior, fewest):
    trace, _, levels = looked_at(problem, method, prior, fewest)
    highest = slow.best_scores(problem, method, prior)
    for n_states, partition in levels.items():
        assert n_states == partition.n_states >= min(fewest, trace.n_first)
        assert set(partition.states.tolist()) == set(range(n_states))
        expected = slow.score_of_partition(problem, partition.states.tolist(), method, prior)
        assert partition.score == pytest.approx(expected, abs=near(expected))
        assert partition.score <= highest[n_states] + near(expected)


@given(problems(), methods, priors)
def test_a_second_look_never_lowers_the_score(problem, method, prior):
    trace, _, levels = looked_at(problem, method, prior)
    assert best_of(levels).score >= trace.scores.max() - near(trace.scores.max()) - RISE


@given(problems(max_rows=6), methods, priors, st.integers(1, 2), st.data())
@settings(max_examples=30)
def test_after_reassigning_no_single_assignment_suits_another_state_better(problem, method, prior, fewest, data):
    trace, look, _ = looked_at(problem, method, prior, fewest)
    given_states = data.draw(st.lists(st.integers(0, 3), min_size=trace.n_first, max_size=trace.n_first))
    begun = np.unique(given_states, return_inverse=True)[1]
    found = look.reassigned(begun)
    before = slow.score_of_partition(problem, begun.tolist(), method, prior)
    assert found.score >= before - near(before)
    sizes = np.bincount(found.states)
    for at, state in enumerate(found.states):
        if sizes[state] == 1:
            continue  # its state would be gone, which is a merge
        for other in range(found.n_states):
            moved = found.states.copy()
            moved[at] = other
            after = slow.score_of_partition(problem, moved.tolist(), method, prior)
            assert after <= found.score + RISE + near(after)


def test_the_best_of_all_partitions_is_found_though_merges_alone_miss_it():
    merged, again, n_seeds = 0, 0, 9
    for seed in range(n_seeds):
        scoring = noisy_copies(seed)
        trace, highest = agglomerate(scoring), highest_score(scoring)
        merged += trace.scores.max() >= highest - near(highest)
        again += best_of(Reassignment(scoring).levels(trace)).score >= highest - near(highest)
    assert merged < again == n_seeds


def test_of_equal_numbers_of_states_the_smaller_is_best():
    def partition(n_states, score):
        return Partition(np.arange(n_states), n_states, score)

    assert best_of({3: partition(3, -1.0), 2: partition(2, -1.0), 1: partition(1, -2.0)}).n_states == 2


@given(problems(), methods, priors)
def test_nothing_depends_on_weights_that_repeat_rows(problem, method, prior):
    codes, weights, *rest = problem
    whole = np.ceil(weights)
    one = looked_at((codes, whole, *rest), method, prior)[2]
    other = looked_at((np.repeat(codes, whole.astype(int), axis=0), np.ones(int(whole.sum())), *rest), method, prior)[2]
    assert {n: p.states.tolist() for n, p in one.items()} == {n: p.states.tolist() for n, p in other.items()}


def test_every_number_of_states_can_be_asked_for_even_more_than_the_blanket_shows():
    scoring = noisy_copies(6)
    trace = agglomerate(scoring)
    levels = Reassignment(scoring).levels(trace)
    first = np.arange(trace.n_first)
    agglomeration = Agglomeration(trace, first, np.zeros((trace.n_first, 0), dtype=int), levels)
    for n_states in range(1, trace.n_first + 3):
        expected = levels[n_states].states if n_states in levels else trace.labels(min(n_states, trace.n_first))
        np.testing.assert_array_equal(agglomeration.states(n_states), expected)
    assert len(set(agglomeration.states(trace.n_first + 2))) == trace.n_first
