"""The search driver: seeds by key, clocks, interrupts, and searches that go on from any state as if never stopped."""

import time
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pgmpy_latent import LatentTree, RandomStarts, SplitMerge, encode, sample
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.search import Outcome, Search, Settings, Step
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.clock import Clock, TimeLimitReached
from tests.support.samples import HISTORY, Notes, assert_same_tree, latent_class, tuned, two_classes_of_columns

TOSS = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
FIRST = State(TOSS, -10.0, -10.0)


def rising(last):
    """A policy whose score rises by one in each step, up to a step."""

    def advance(state):
        new = replace(state, step=state.step + 1, score=state.score + 1, finished=state.step + 1 == last)
        return Step(new, "rise", "x")

    return advance


# seeds


def draws(seed):
    return np.random.default_rng(seed).integers(0, 2**62, size=4).tolist()


def test_the_same_key_gives_the_same_stream_whatever_was_drawn_before():
    one, other = Search(Settings(), random_state=7), Search(Settings(), random_state=7)
    for key in [(5,), (0, 0), (1, 2)]:
        draws(other.seed(*key))
        other.seed(*key).spawn(3)
    keys = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (12, 3, 4)]
    found = [draws(one.seed(*key)) for key in keys]
    assert [draws(other.seed(*key)) for key in reversed(keys)] == found[::-1]
    assert len({tuple(stream) for stream in found}) == len(keys)
    assert draws(Search(Settings(), random_state=8).seed(1)) != draws(one.seed(1))


def test_without_a_seed_two_searches_differ_and_each_agrees_with_itself():
    one, other = Search(Settings()), Search(Settings())
    assert draws(one.seed(1)) == draws(one.seed(1))
    assert draws(one.seed(1)) != draws(other.seed(1))


def test_candidates_keep_their_order_whatever_the_threads():
    def slow_square(number):
        time.sleep(0.002 * (5 - number))
        return number**2

    for n_threads in (1, 2, 8):
        search = Search(Settings(), n_jobs=n_threads)
        assert search.map(slow_square, range(5)) == [0, 1, 4, 9, 16]
        assert search.map(slow_square, []) == []


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_in_a_candidate_reaches_the_driver(n_threads):
    search = Search(Settings(), n_jobs=n_threads)

    def fail(number):
        raise KeyboardInterrupt

    def advance(state):
        search.map(fail, [1, 2, 3])

    outcome = search.run(lambda: FIRST, advance)
    assert outcome.stopped == "interrupted"
    assert outcome.tree is TOSS


# the run


def test_a_run_keeps_what_was_accepted():
    outcome = Search(Settings()).run(lambda: FIRST, rising(3))
    assert isinstance(outcome, Outcome)
    assert (outcome.score, outcome.log_likelihood, outcome.stopped) == (-7.0, -10.0, None)
    assert all(list(vars(entry)) == HISTORY for entry in outcome.history)
    assert [entry.step for entry in outcome.history] == [0, 1, 2, 3]
    assert [entry.operator for entry in outcome.history] == ["start", "rise", "rise", "rise"]
    assert [entry.target for entry in outcome.history] == [None, "x", "x", "x"]
    assert [entry.score for entry in outcome.history] == [-10, -9, -8, -7]
    assert {entry.n_parameters for entry in outcome.history} == {1}
    seconds = [entry.seconds for entry in outcome.history]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


def test_steps_without_an_operator_are_no_history():
    def advance(state):
        failed = (state.memory or 0) + 1
        return Step(replace(state, memory=failed, finished=failed == 4))

    notes = Notes()
    outcome = Search(Settings(), checkpoint=notes).run(lambda: FIRST, advance)
    assert [entry.operator for entry in outcome.history] == ["start"]
    assert [state.memory for state, _ in notes.saved] == [None, 1, 2, 3, 4]


def test_a_finished_state_is_returned_as_it_is():
    def advance(state):
        raise AssertionError("there is nothing to do")

    done = replace(FIRST, finished=True)
    history = Search(Settings()).run(lambda: done, advance).history
    outcome = Search(Settings(), checkpoint=Notes((done, history))).run(no_start, advance)
    assert outcome.tree == TOSS
    assert outcome.history == history


def test_the_clock_goes_on_where_a_saved_search_was():
    history = Search(Settings()).run(lambda: FIRST, rising(1)).history
    history[-1] = replace(history[-1], seconds=50.0)
    known = {name: getattr(history[-1], name) for name in ("score", "log_likelihood")}
    notes = Notes((replace(FIRST, step=1, **known), history))
    further = Search(Settings(), time_limit=30, checkpoint=notes).run(no_start, rising(3))
    assert further.stopped is None  # the limit is for this run
    seconds = [entry.seconds for entry in further.history]
    assert seconds == sorted(seconds)
    assert 50 <= seconds[-1] < 55


@pytest.mark.parametrize(
    ("error", "limit", "reason"), [(KeyboardInterrupt, None, "interrupted"), (TimeLimitReached, None, "time_limit")]
)
def test_an_interrupted_run_returns_the_last_model(error, limit, reason):
    notes = Notes()
    search = Search(Settings(), time_limit=limit, checkpoint=notes)

    def advance(state):
        if state.step == 2:
            time.sleep(0.02)
            raise error
        return rising(9)(state)

    outcome = search.run(lambda: FIRST, advance)
    assert outcome.stopped == search.stopped == reason
    assert outcome.score == -8
    assert len(outcome.history) == 3
    state, history = notes.saved[-1]
    assert not state.finished  # to be taken up again
    assert (state.step, len(history)) == (2, 3)


def test_a_step_that_was_cut_short_counts_now_but_is_taken_anew_later():
    notes = Notes()
    search = Search(Settings(), checkpoint=notes)

    def advance(state):
        if state.step == 2:
            search.note_interrupt()  # what was found so far is kept
        return rising(9)(state)

    outcome = search.run(lambda: FIRST, advance)
    assert (outcome.score, outcome.stopped) == (-7, "interrupted")
    state, history = notes.saved[-1]
    assert (state.step, len(history)) == (2, 3)


def test_a_first_fit_that_was_cut_short_is_not_kept():
    notes = Notes()
    search = Search(Settings(), checkpoint=notes)

    def start():
        search.note_interrupt()
        return FIRST

    assert search.run(start, rising(3)).stopped == "interrupted"
    assert not notes.saved


def test_other_errors_are_not_swallowed():
    def advance(state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Search(Settings()).run(lambda: FIRST, advance)


def test_the_time_limit_holds_for_a_policy_that_never_looks_at_the_clock():
    def advance(state):
        time.sleep(0.001)
        failed = (state.memory or 0) + 1
        assert failed < 5000  # or this would never end
        return Step(replace(state, memory=failed))

    assert Search(Settings(), time_limit=0.05).run(lambda: FIRST, advance).stopped == "time_limit"


def test_ticks_are_silent_until_the_time_is_up():
    Search(Settings()).tick()
    Search(Settings(), time_limit=100).tick()
    search = Search(Settings(), time_limit=1e-9)
    with pytest.raises(TimeLimitReached):
        search.tick()
    assert not issubclass(TimeLimitReached, KeyboardInterrupt)


# EM inside a search


def toy_engine():
    rng = np.random.default_rng(0)
    codes = (rng.random((80, 4)) < np.where(rng.random((80, 1)) < 0.5, 0.8, 0.3)).astype(int)
    plan = compile_plan([-1, 0, 0, 0, 0], {at + 1: Evidence(codes[:, at], 2) for at in range(4)})
    engine = TreeEngine(plan, [2] * 5)
    return engine, rng.dirichlet([1, 1], size=(3, 9)).reshape(3, -1)


def test_candidates_and_final_models_have_tolerances_of_their_own():
    engine, starts = toy_engine()
    search = Search(Settings(tol=1e-6, search_tol=1.0, search_iter=40, max_iter=5000))
    rough = search.fit(engine, starts)
    fine = search.fit(engine, starts, atol=1e-6, max_iter=5000)
    assert rough.n_iter <= 40
    assert rough.n_iter < fine.n_iter
    assert rough.log_likelihood <= fine.log_likelihood + 1e-9
    # the tolerance of candidates is never finer than the final one, and never takes more iterations
    coarse = Search(Settings(tol=1.0, search_tol=1e-9, max_iter=20, search_iter=300)).fit(engine, starts)
    assert coarse.n_iter <= 20


@pytest.mark.parametrize("moment", [1, 2, 7])
def test_only_the_first_fit_returns_what_an_interrupt_leaves(monkeypatch, moment):
    engine, starts = toy_engine()

    def check(clock):
        n_checks[clock] += 1
        if n_checks[clock] == moment:
            raise KeyboardInterrupt

    n_checks = Counter()
    monkeypatch.setattr(Clock, "check", check)
    search = Search(Settings())
    found = search.fit(engine, starts, first=True)
    assert found.interrupted
    assert found.log_likelihood == pytest.approx(engine.log_likelihood(found.tables), rel=1e-10)
    assert search.stopped == "interrupted"
    # the run that follows does nothing more
    assert search.run(lambda: FIRST, rising(3)).stopped == "interrupted"
    search = Search(Settings())
    with pytest.raises(KeyboardInterrupt):
        search.fit(engine, starts)


def test_a_first_fit_without_time_still_returns_a_model():
    engine, starts = toy_engine()
    search = Search(Settings(), time_limit=1e-9)
    found = search.fit(engine, starts, first=True)
    assert np.isfinite(found.log_likelihood)
    assert search.stopped == "time_limit"


# searches taken up again


def no_start():
    raise AssertionError("the search goes on where it was")


def prepared(learner, data, notes=None):
    """Return the driver, the policy and the first tree of a learner, as ``fit`` has them."""
    search = learner._search(data)
    if notes is not None:
        search.checkpoint, search.saved = notes, notes.resume(search.entropy)
    tree = learner._first_tree(data)
    policy = learner._policy(TreeFitter(data, tree, search), learner._scorer(data))
    return search, policy, tree


def without_seconds(history):
    return [{name: value for name, value in vars(entry).items() if name != "seconds"} for entry in history]


SMALL = {"depth": 1, "n_restarts": 1, "random_state": 3, "show_progress": False, "n_splits": 4}


def resumable():
    flat = encode(sample(latent_class(3, [2, 3, 2, 3, 2]), 250, random_state=0))
    deep = two_classes_of_columns()
    gaps = sample(deep, 300, random_state=1)
    gaps = encode(gaps.mask(np.random.default_rng(0).random(gaps.shape) < 0.05))
    return [
        pytest.param(tuned(SplitMerge, **{**SMALL, "depth": 2}), flat, id="star"),
        pytest.param(tuned(SplitMerge, **SMALL, patience=3, introduce=True, directions="random"), flat, id="patient"),
        pytest.param(tuned(SplitMerge, deep, **SMALL), gaps, id="skeleton"),
        pytest.param(tuned(SplitMerge, deep, **SMALL, local=False, scoring_method="aic"), gaps, id="not local"),
        pytest.param(tuned(SplitMerge, start=latent_class(5, [2, 3, 2, 3, 2], seed=4), **SMALL), flat, id="start"),
        pytest.param(RandomStarts(n_starts=3, random_state=0, show_progress=False), flat, id="random starts"),
        pytest.param(RandomStarts(deep, n_starts=2, random_state=0, show_progress=False), gaps, id="random skeleton"),
    ]


@pytest.mark.parametrize(("learner", "data"), resumable())
def test_a_search_goes_on_from_any_state_as_if_it_had_never_stopped(learner, data):
    notes = Notes()
    search, policy, tree = prepared(learner, data, notes)
    whole = search.run(lambda: policy.start(tree), policy.advance)
    saved = notes.saved
    assert whole.stopped is None
    assert len(whole.history) >= 3  # there was something to find
    assert len(saved) > len(whole.history)
    assert saved[-1][0].finished
    for state, history in saved:
        search, policy, _ = prepared(learner, data, Notes((state, history)))
        again = search.run(no_start, policy.advance)
        assert_same_tree(again.tree, whole.tree)
        assert (again.score, again.log_likelihood) == (whole.score, whole.log_likelihood)
        assert without_seconds(again.history) == without_seconds(whole.history)
        seconds = [entry.seconds for entry in again.history]
        assert seconds == sorted(seconds)


def test_rounds_of_random_starts_go_on_as_well():
    learner = tuned(RandomStarts, n_states=3, n_starts=2, n_rounds=4, random_state=1, show_progress=False)
    data = encode(sample(latent_class(3, [2, 3, 2, 3, 2]), 250, random_state=0))
    notes = Notes()
    search, policy, tree = prepared(learner, data, notes)
    whole = search.run(lambda: learner._first_state(policy, tree), policy.advance)
    saved = notes.saved
    assert [state.memory.n_done for state, _ in saved] == [1, 2, 3, 4, 4]
    for state, history in saved:
        search, policy, _ = prepared(learner, data, Notes((state, history)))
        again = search.run(no_start, policy.advance)
        assert_same_tree(again.tree, whole.tree)
        assert without_seconds(again.history) == without_seconds(whole.history)


def test_a_search_cut_off_by_the_clock_can_be_taken_up(monkeypatch):
    data = encode(sample(latent_class(3, [2, 3, 2, 3, 2]), 250, random_state=0))
    learner = tuned(SplitMerge, **SMALL)
    search, policy, tree = prepared(learner, data)
    whole = search.run(lambda: policy.start(tree), policy.advance)
    calls = 0

    def check(clock):
        nonlocal calls
        calls += 1
        if calls == 60:
            raise KeyboardInterrupt

    notes = Notes()
    search, policy, tree = prepared(learner, data, notes)
    with monkeypatch.context() as patched:
        patched.setattr(Clock, "check", check)
        assert search.run(lambda: policy.start(tree), policy.advance).stopped == "interrupted"
    search, policy, _ = prepared(learner, data, Notes(notes.saved[-1]))
    again = search.run(no_start, policy.advance)
    assert again.stopped is None
    assert_same_tree(again.tree, whole.tree)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_search(n_jobs):
    data = encode(sample(two_classes_of_columns(), 300, random_state=1))
    outcomes = []
    for jobs in (1, n_jobs):
        search, policy, tree = prepared(tuned(SplitMerge, two_classes_of_columns(), **SMALL, n_jobs=jobs), data)
        outcomes.append(search.run(partial(policy.start, tree), policy.advance))
    assert_same_tree(outcomes[0].tree, outcomes[1].tree)
    assert without_seconds(outcomes[0].history) == without_seconds(outcomes[1].history)
