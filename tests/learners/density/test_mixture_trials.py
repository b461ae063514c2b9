"""Which mixtures are tried: a function of what was tried before, and of nothing else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent.learners.density.mixture_trials import (
    LEAST_TRIALS,
    MOST_TRIALS,
    Choices,
    are_enough,
    chosen_trials,
    first_candidates,
    next_candidate,
    values_of_settings,
)

CHOICES = Choices((1, 2, 4, 8), (2, 4, 8, 16, 32), (0.1, 0.3, 1.0, 3.0), (False, True), (False, True))
WEIGHTS = np.array([1.0, 2.0, 3.0])


def chosen_so_far(tried):
    """Return the settings of what would be averaged."""
    chosen = chosen_trials(np.stack([rows for _, rows in tried]), WEIGHTS)[0] if tried else ()
    return {tried[at][0].settings for at in chosen}


def run(rows_of, n_trials, n_rows=15_000, choices=CHOICES):
    """Try candidates, given the log-likelihood of rows under each."""
    tried, first = [], first_candidates(choices, 1.0, n_rows)
    while len(tried) < n_trials:
        values, chosen = values_of_settings(tried, WEIGHTS), chosen_so_far(tried)
        candidate = next_candidate([candidate for candidate, _ in tried], values, chosen, choices, first)
        tried.append((candidate, rows_of(candidate)))
    return tried


@given(st.integers(0, 1000), st.integers(100, 100_000))
def test_what_is_promising_is_tried_twice_and_new_settings_are_near_the_best(seed, n_rows):
    rng = np.random.default_rng(seed)
    tried = run(lambda candidate: np.log(rng.uniform(0.1, 0.9, 3)), 24, n_rows)
    first = first_candidates(CHOICES, 1.0, n_rows)
    assert tuple(candidate for candidate, _ in tried[: len(first)]) == first
    for at in range(len(first), 24):
        before = [candidate.settings for candidate, _ in tried[:at]]
        candidate, settings = tried[at][0], tried[at][0].settings
        once = [one for one in before if before.count(one) == 1 and one in chosen_so_far(tried[:at])]
        if once:
            assert candidate == once[0]._replace(by_category=True)
            continue
        values = values_of_settings(tried[:at], WEIGHTS)
        best = max(values, key=values.get)
        if at > len(first) and before.count(before[-1]) == 1:  # it failed: something to average
            assert settings == best
            continue
        assert sum(mine != its for mine, its in zip(settings, best, strict=True)) == (settings not in before)
        assert settings in (best, *[one for one in [settings] if one not in before])
        assert settings.n_groups * settings.n_states**2 <= CHOICES.most_entries


def test_when_all_neighbours_were_tried_the_best_comes_again_in_turn():
    choices = CHOICES._replace(n_groups=(2,), n_states=(4,), smoothing=(1.0,))
    tried = run(lambda candidate: np.full(3, -1.0 - candidate.own_edges), 8, choices=choices)
    last = [candidate for candidate, _ in tried[3:]]  # own edges once, as they are not averaged; the others twice
    assert [(one.own_edges, one.by_category) for one in last] == [(False, at % 2 == 1) for at in range(5)]


@given(st.integers(1, 10**6))
def test_more_rows_begin_with_as_many_states_or_more(n_rows):
    fewer, more = (first_candidates(CHOICES, 1.0, n) for n in (n_rows, 2 * n_rows))
    assert all(mine.n_states <= its.n_states for mine, its in zip(fewer, more, strict=True))
    assert [(one.n_groups, one.own_edges) for one in fewer] == [(4, True), (4, False), (1, False)]


def test_settings_that_are_given_are_kept():
    given_settings = Choices((3,), (5,), (0.7,), (True,))
    assert {candidate for candidate, _ in run(lambda candidate: np.full(3, -1.0), 5, choices=given_settings)} == {
        (3, 5, 0.7, True, False)
    }


@given(st.integers(0, 1000), st.integers(2, 6))
def test_the_value_of_settings_is_that_of_averages_of_many(seed, n):
    """Where mixtures differ little, the average of many is as likely as the average of a few foretells."""
    rng = np.random.default_rng(seed)
    logs = np.log(0.4) + 0.02 * rng.standard_normal((4_000, 3))
    settings = first_candidates(CHOICES, 1.0, 1_000)[0]
    foretold = [
        values_of_settings([(settings, rows) for rows in logs[at : at + n]], WEIGHTS)[settings]
        for at in range(0, 4_000 - n, n)
    ]
    average = np.log(np.exp(logs).mean(axis=0)) @ WEIGHTS
    single = (logs @ WEIGHTS).mean()
    assert abs(np.mean(foretold) - average) < 0.1 * (average - single)


@given(st.integers(0, 40), st.floats(0, 1e12), st.floats(0, 1e12), st.integers(1, 10_000))
def test_more_trials_and_more_work_are_enough_if_less_were(n_trials, work, more, n_rows):
    assert are_enough(n_trials + 1, work + more, n_rows) >= are_enough(n_trials, work, n_rows)
    assert are_enough(n_trials, work, n_rows) <= (n_trials >= LEAST_TRIALS)
    assert are_enough(n_trials, work, n_rows) >= (n_trials >= MOST_TRIALS)
    assert are_enough(n_trials, work, n_rows) >= are_enough(n_trials, work, n_rows + 10_000)


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
