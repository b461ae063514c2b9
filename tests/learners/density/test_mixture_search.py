"""Which mixtures are tried: a function of what was tried before, and of nothing else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent.learners.density.mixture_search import (
    MOST_ENTRIES,
    Choices,
    chosen_trials,
    first_candidates,
    next_candidate,
)

CHOICES = Choices((1, 2, 4, 8), (2, 4, 8, 16, 32), (0.1, 0.3, 1.0, 3.0), (False, True), (False, True))


def run(value_of, n_trials, n_rows=15_000, choices=CHOICES):
    """Try candidates, given the log-likelihood of each."""
    tried, first = [], first_candidates(choices, 1.0, n_rows)
    while len(tried) < n_trials:
        candidate = next_candidate(tried, choices, first)
        tried.append((candidate, value_of(candidate)))
    return tried


@given(st.integers(0, 1000), st.integers(100, 100_000))
def test_what_is_new_is_near_the_best_and_failures_are_followed_by_the_best(seed, n_rows):
    rng = np.random.default_rng(seed)
    values = {}
    tried = run(lambda candidate: values.setdefault(candidate, rng.random()), 20, n_rows)
    n_first = len(first_candidates(CHOICES, 1.0, n_rows))
    for at in range(n_first, 20):
        known = [candidate[:4] for candidate, _ in tried[:at]]
        means = {settings: np.mean([value for one, value in tried[:at] if one[:4] == settings]) for settings in known}
        best, candidate = max(means, key=means.get), tried[at][0]
        has_failed = at > n_first and known[-1] != best and known[-1] not in known[:-1]
        assert not has_failed or candidate[:4] == best
        assert candidate[:4] == best or candidate[:4] not in known
        assert sum(mine != its for mine, its in zip(candidate[:4], best, strict=True)) <= 1
        assert candidate.n_groups * candidate.n_states**2 <= MOST_ENTRIES
        if candidate[:4] == best:  # a repeat: both ways to begin come up equally often
            begun = [one.by_category for one, _ in tried[:at] if one[:4] == best]
            assert begun.count(candidate.by_category) <= begun.count(not candidate.by_category)


@given(st.integers(1, 10**6))
def test_more_rows_begin_with_as_many_states_or_more(n_rows):
    fewer, more = (first_candidates(CHOICES, 1.0, n) for n in (n_rows, 2 * n_rows))
    assert all(mine.n_states <= its.n_states for mine, its in zip(fewer, more, strict=True))
    assert [(one.n_groups, one.own_edges) for one in fewer] == [(4, True), (4, False), (1, False)]


def test_settings_that_are_given_are_kept():
    given_settings = Choices((3,), (5,), (0.7,), (True,))
    assert {candidate for candidate, _ in run(lambda candidate: -1.0, 5, choices=given_settings)} == {
        (3, 5, 0.7, True, False)
    }


@given(st.integers(0, 1000))
def test_the_average_of_most_mixtures_that_do_no_harm_is_chosen(seed):
    rng = np.random.default_rng(seed)
    rows, weights = np.log(rng.random((5, 30))), rng.integers(1, 4, size=30).astype(float)
    chosen, value = chosen_trials(rows, weights)

    def average(numbers):
        return np.log(np.exp(rows[list(numbers)]).mean(axis=0))

    assert np.isclose(value, average(chosen) @ weights, rtol=1e-12, atol=0)
    path, best = [], (int(np.argmax(rows @ weights)),)
    while len(path) < 5:  # one after another, by definition
        path.append(max((at for at in range(5) if at not in path), key=lambda at: average([*path, at]) @ weights))
        best = max(best, tuple(path), key=lambda numbers: average(numbers) @ weights)
    losses = average(best) - average(chosen)
    every_row = np.repeat(losses, weights.astype(int))
    assert every_row.sum() <= every_row.std() * np.sqrt(len(every_row)) + 1e-9
    assert set(best) <= set(chosen)


def test_mixtures_that_do_harm_are_left_out():
    rows = np.log(np.random.default_rng(0).uniform(0.2, 0.3, size=(4, 500)))
    rows[3] -= 5
    assert chosen_trials(rows, np.ones(500))[0] == (0, 1, 2)
