"""Which candidates are tried: a function of what was tried before, and of nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent.learners.density.trials import Trial, best_trial, next_candidate, numbers_of_states

SMOOTHINGS = (0.1, 0.3, 1.0, 3.0)


def run(value_of, numbers, **more):
    """Try candidates until none is left, given the log-likelihood of each."""
    trials = []
    while (candidate := next_candidate(trials, numbers, SMOOTHINGS, 0.3, **more)) is not None:
        trials.append(Trial(*candidate, value_of(candidate), 0.0, 10, 10))
    return trials


@given(st.integers(1, 100), st.dictionaries(st.tuples(st.integers(), st.sampled_from(SMOOTHINGS)), st.floats(-9, -1)))
def test_the_search_ends_at_a_best_smoothing_among_its_neighbours(most, values):
    numbers = numbers_of_states(most)
    trials = run(lambda candidate: values.get(tuple(candidate[:2]), -float(hash(candidate) % 97)), numbers)
    tried = [(trial.n_states, trial.smoothing) for trial in trials]
    assert len(set(tried)) == len(tried)
    best = best_trial(trials)
    at = SMOOTHINGS.index(best.smoothing)
    for nearby in (*SMOOTHINGS[max(at - 1, 0) : at], *SMOOTHINGS[at + 1 : at + 2]):
        assert (best.n_states, nearby) in tried


def test_states_grow_as_long_as_each_number_is_better():
    trials = run(lambda candidate: {2: -3.0, 4: -2.0, 8: -2.5, 16: -1.0}[candidate.n_states], (2, 4, 8, 16))
    assert [trial.n_states for trial in trials] == [2, 4, 8, 4, 4]  # 16 is not reached
    assert [trial.smoothing for trial in trials] == [0.3, 0.3, 0.3, 0.1, 1.0]


def test_less_smoothing_is_a_reason_to_try_more_states_again():
    values = {(2, 0.3): -3.0, (4, 0.3): -4.0, (2, 0.1): -2.0, (4, 0.1): -1.0}
    trials = run(lambda candidate: values.get(tuple(candidate[:2]), -9.0), (2, 4))
    assert [(trial.n_states, trial.smoothing) for trial in trials] == [*values]


def test_smoothing_moves_on_as_long_as_it_helps():
    trials = run(lambda candidate: candidate.smoothing, (2,))
    assert [trial.smoothing for trial in trials] == [0.3, 0.1, 1.0, 3.0]


def test_groups_grow_after_states_and_smoothing_with_as_many_states_or_fewer():
    values = {(4, 1): -3.0, (4, 2): -2.5, (4, 4): -4.0, (2, 4): -2.0}
    trials = run(lambda candidate: values.get((candidate.n_states, candidate.n_groups), -9.0), (2, 4), groups=(1, 2, 4))
    tried = [(trial.n_states, trial.n_groups) for trial in trials if trial.smoothing == 0.3]
    assert tried == [(2, 1), (4, 1), (4, 2), (4, 4), (2, 4)]
    assert best_trial(trials).n_groups == 4


def test_all_groups_together_have_no_more_than_the_most_states():
    trials = run(lambda candidate: float(candidate.n_groups * candidate.n_states), (2, 4, 8), groups=(1, 2, 4), most=8)
    assert max(trial.n_groups * trial.n_states for trial in trials) == 8
    assert {trial.n_groups for trial in trials} == {1, 2}  # four groups of two are no neighbours of one of eight


def test_a_difference_within_its_standard_error_is_none():
    errors = {2: 0.0, 4: 0.5, 8: 0.5}
    trials = [Trial(n, 1.0, 1, value, errors[n], 9, 9) for n, value in ((2, -3.0), (4, -2.6), (8, -2.4))]
    assert best_trial(trials[:2]).n_states == 2
    assert best_trial(trials).n_states == 8  # better than two states, not than four alone
