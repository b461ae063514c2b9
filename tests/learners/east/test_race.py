"""A search that begins with several starts: which of them it tries, and what it never falls below."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import EAST, Baseline, BinG, LatentTree, datasets, log_likelihood, presets, sample
from pgmpy_latent.learners.east import race as race_module
from pgmpy_latent.learners.east import starts
from pgmpy_latent.learners.east.memory import EastMemory, Line, RaceMemory
from pgmpy_latent.learners.east.policy import EXPLAINED_LOOK_AHEAD
from pgmpy_latent.learners.east.race import Race
from pgmpy_latent.runtime.lossless_json import back, plain
from pgmpy_latent.tables.encode import encode
from tests.support.samples import Notes, assert_same_tree, leafy_tree, press_ctrl_c, run_out_of_time

QUIET = {"random_state": 0, "show_progress": False}
QUICK = QUIET | {"tuning": presets.EAST.replace(excursions=(), look_ahead=0)}


def chain(n_columns, n_rows, seed=0):
    """A table in which every column hangs on the one before it."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, n_rows)]
    for _ in range(n_columns - 1):
        columns.append(np.where(rng.random(n_rows) < 0.8, columns[-1], rng.integers(0, 3, n_rows)))
    return pd.DataFrame({f"x{at}": column for at, column in enumerate(columns)})


def table_that_no_tree_explains():
    """A table in which every pair of columns has a little in common."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (400, 4)), columns=list("abcd"))
    table["e"] = (table["a"] + table["b"]) % 2
    table["f"] = (table["b"] + table["c"] + table["d"]) % 2
    for left in "abcdef":
        table[left] = table[left].where(rng.random(400) < 0.8, table["a"])
    return table


@pytest.fixture
def begun(monkeypatch):
    """Names of the starts whose search was advanced."""
    names, advanced = [], Race._advanced

    def noted(self, state, line, waiting):
        names.append(line.name)
        return advanced(self, state, line, waiting)

    monkeypatch.setattr(Race, "_advanced", noted)
    return names


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10_000), st.booleans())
def test_it_is_never_below_its_starts(seed, gaps):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 3, (120, 5)), columns=list("abcde"))
    table["b"] = table["a"].where(rng.random(120) < 0.7, table["b"])
    table["e"] = ((table["c"] + table["d"]) % 3).where(rng.random(120) < 0.8, table["e"])
    if gaps:
        table["a"] = table["a"].astype(object).mask(rng.random(120) < 0.1)
    learner = EAST(**QUICK).fit(table)
    others = (
        Baseline("forest", show_progress=False),
        BinG(simplify=True, **QUIET),
        Baseline("latent_class", **QUIET),
    )
    for other in others:
        assert learner.bic_ >= other.fit(table).bic_ - 1e-3  # where the last EM of either ends
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, table), rel=1e-9)
    assert learner.history_["score"].is_monotonic_increasing


def test_columns_that_must_share_a_hidden_variable_do_where_the_latent_class_model_needs_none():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (300, 5)), columns=list("abcde"))
    tree = EAST(together=["a", "b"], **QUICK).fit(table).tree_
    (shared,) = {tree.names[tree.parent[tree.index(name)]] for name in "ab"} | ({"a", "b"} & set(tree.latent_names))
    assert shared in tree.latent_names


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "look_ahead", "excursions"),
    [
        (6, 100, 24, ()),
        (6, 20_000, 30, ()),
        (26, 300, 24, (0.25, 2.0)),
        (26, 3_000, 130, (0.25, 2.0)),
        (26, 5_000, 72, (2.0,)),
    ],
)
def test_how_far_it_looks_depends_on_rows_and_columns(n_columns, n_rows, look_ahead, excursions):
    codes = np.random.default_rng(0).integers(0, 9, (n_rows, n_columns))
    data, learner = encode(pd.DataFrame(codes).rename(columns=str)), EAST()
    assert (learner._look_ahead(data), learner._excursions(data)) == (look_ahead, excursions)


def test_excursions_to_smaller_trees_never_lower_the_score():
    table = sample(leafy_tree(), 600, random_state=0)
    tuning = presets.EAST.replace(excursions=(2.0,), look_ahead=0)
    learner = EAST(tuning=tuning, **QUIET).fit(table)
    assert learner.history_["score"].is_monotonic_increasing
    assert learner.bic_ >= EAST(**QUICK).fit(table).bic_ - 1e-3


def test_with_many_columns_it_does_not_begin_with_classes(begun, monkeypatch):
    monkeypatch.setattr(starts, "MANY_COLUMNS", 6)
    EAST(**QUICK).fit(chain(5, 100))
    assert set(begun) == set(starts.STAGES) - set(starts.SECOND)
    begun.clear()
    EAST(**QUICK).fit(chain(6, 100))
    assert set(begun) == {starts.FOREST, starts.BING}


def test_columns_that_hang_on_columns_need_no_hidden_variable():
    learner = EAST(**QUIET).fit(chain(6, 1000))
    assert learner.latents_ == []
    edges = {frozenset(edge) for edge in learner.model_.edges()}
    assert edges == {frozenset((f"x{at}", f"x{at + 1}")) for at in range(5)}


def test_from_a_large_tree_that_explains_all_pairs_it_only_looks_ahead_a_little(monkeypatch):
    table = sample(datasets.hlc_model(7, random_state=2), 3000, random_state=0)
    monkeypatch.setattr(starts, "FEW_CELLS", 10)
    monkeypatch.setattr(starts, "LEAST_ROWS", 10)
    memories, advance = [], Race.advance

    def noted(self, state):
        memories.append(state.memory)
        return advance(self, state)

    monkeypatch.setattr(Race, "advance", noted)
    learner = EAST(random_state=0, show_progress=False).fit(table)
    further = [memory for memory in memories if isinstance(memory, EastMemory)]
    assert list(dict.fromkeys(memory.phase for memory in further)) == ["look ahead", "split and merge"]
    assert all(memory.explained for memory in further)
    assert len(further[-1].failed) <= EXPLAINED_LOOK_AHEAD
    assert len(learner.latents_) == 3


def test_a_hidden_variable_that_took_the_place_of_two_is_parted_although_it_explains_all_pairs():
    table = sample(datasets.hlc_model(12, random_state=0), 10_000, random_state=1_000)
    learner = EAST(**QUIET).fit(table)
    assert sorted(learner.n_states_.values()) == [2, 2, 2, 3, 3, 3]  # with one of four states the BIC is 51 lower


def test_few_classes_are_tried_last_and_only_where_they_may_lead_elsewhere(begun, monkeypatch):
    table, always = table_that_no_tree_explains(), {starts.FOREST, starts.BING, starts.CLASSES}
    EAST(**QUICK).fit(table)
    assert set(begun) == always | {starts.TWO_CLASSES}
    assert list(dict.fromkeys(begun))[-1] == starts.TWO_CLASSES
    begun.clear()
    monkeypatch.setattr(starts, "FEW_HIDDEN", 0)  # fewer than the best tree has
    EAST(**QUICK).fit(table)
    assert set(begun) == always | {starts.TWO_CLASSES_BY_GAIN}
    assert list(dict.fromkeys(begun))[-1] == starts.TWO_CLASSES_BY_GAIN
    begun.clear()
    EAST(**QUICK).fit(chain(5, 100))  # the forest is the truth
    assert set(begun) == always


def test_a_tree_that_grew_among_columns_is_not_taken_for_the_best_one(begun):
    table = sample(datasets.hlc_model(7, random_state=9), 5_000, random_state=1_009)
    learner = EAST(**QUIET).fit(table)
    assert list(dict.fromkeys(begun))[-1] == starts.TWO_CLASSES
    assert learner.bic_ >= EAST(columns="leaves", **QUIET).fit(table).bic_ - 1e-3
    assert learner.n_states_ == {"H1": 3, "H2": 2, "H3": 3}


@pytest.mark.parametrize(("more_cells", "n_starts"), [(10, 1), (10_000, 2)])
def test_the_search_in_a_large_table_goes_on_from_one_start_or_two(begun, monkeypatch, more_cells, n_starts):
    monkeypatch.setattr(starts, "FEW_CELLS", 10)
    monkeypatch.setattr(starts, "LEAST_ROWS", 40)
    monkeypatch.setattr(starts, "MORE_CELLS", more_cells)
    EAST(**QUICK).fit(table_that_no_tree_explains())
    assert len(set(begun)) == n_starts
    assert set(begun) <= {starts.FOREST, starts.BING}


def test_a_start_that_breaks_a_rule_is_left_out(begun):
    table = sample(leafy_tree(0, n_columns=6, card=3), 300, random_state=0)
    learner = EAST(together=[table.columns[:2].tolist()], **QUICK).fit(table)
    assert starts.FOREST not in begun
    around = [set(learner.model_.to_undirected()[name]) for name in table.columns[:2]]
    assert set.intersection(*around, learner.latents_)


def test_a_race_goes_on_from_any_state_as_if_it_had_never_stopped(monkeypatch):
    table, notes = table_that_no_tree_explains().iloc[:, ::-1], Notes()  # columns against the order of their names
    notes.watch(monkeypatch)
    whole = EAST(checkpoint="notes", **QUICK).fit(table)
    races = [one for one in notes.saved if isinstance(one[0].memory, RaceMemory)]
    assert len({len(state.memory.lines) for state, _ in races}) > 1, "several starts were tried"
    rest = [one for one in notes.saved if not isinstance(one[0].memory, RaceMemory)]
    assert rest[-1][0].finished
    for state, history in races[:: max(1, len(races) // 6)] + rest[:: max(1, len(rest) // 3)]:
        Notes((state, history)).watch(monkeypatch)
        again = EAST(checkpoint="notes", **QUICK).fit(table)
        assert_same_tree(again.tree_, whole.tree_)
        dropped = [one.history_.drop(columns="seconds") for one in (again, whole)]
        pd.testing.assert_frame_equal(*dropped, check_exact=True)


@pytest.mark.parametrize("moment", [1, 300, 1000, 2000, 5000])
def test_all_starts_are_tried_after_a_time_limit_that_some_did_not_meet(moment, tmp_path, monkeypatch):
    table, path = table_that_no_tree_explains(), tmp_path / "search.json"
    with monkeypatch.context() as patched:
        run_out_of_time(patched, moment)
        with pytest.warns(ConvergenceWarning, match="the time limit stopped the search"):
            stopped = EAST(checkpoint=path, time_limit=3600, **QUICK).fit(table)
    assert stopped.stopped_ == "time_limit"
    assert_same_tree(EAST(checkpoint=path, **QUICK).fit(table).tree_, EAST(**QUICK).fit(table).tree_)


def test_nothing_else_is_begun_after_ctrl_c(monkeypatch):
    monkeypatch.setattr(BinG, "_learn", lambda *given: pytest.fail("BinG has begun"))
    press_ctrl_c(monkeypatch, 1)
    table = table_that_no_tree_explains()
    table["a"] = table["a"].mask(np.random.default_rng(0).random(len(table)) < 0.1)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
        learner = EAST(**QUICK).fit(table)
    assert learner.stopped_ == "interrupted"


def test_a_start_of_ones_own_is_the_only_one(begun):
    table = chain(5, 300)
    EAST(start=Baseline("chow_liu", show_progress=False), **QUICK).fit(table)
    assert begun == []


def test_other_evaluations_know_leaves_only():
    with pytest.raises(ValueError, match="evaluation='rl' compares trees whose columns are leaves; give columns="):
        EAST(columns="anywhere", tuning=presets.CHEN_2008).fit(chain(4, 50))
    tuning = presets.EAST.replace(evaluation="dc", n_steps=3)
    default, leaves = (EAST(columns=columns, tuning=tuning, **QUIET).fit(chain(4, 50)) for columns in (None, "leaves"))
    assert default.tree_ == leaves.tree_


def test_the_memory_of_a_race_survives_a_file():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    memory = RaceMemory((Line("forest of columns", 1, tree, -3.0, -2.0, 4, EastMemory("adjust", {"expand": 3})),), "x")
    again = back(json.loads(json.dumps(plain(memory))))
    assert again.leader == "x"
    assert again.phase == "adjust from forest of columns"
    assert vars(again.lines[0]) | {"tree": None} == vars(memory.lines[0]) | {"tree": None}
    assert again.lines[0].tree.tables[0].tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize("change", [{"name": "nowhere"}, {"stage": 9}, {"score": -1.0}])
def test_a_race_that_cannot_be_is_refused(change):
    table = chain(4, 60)
    learner = EAST(**QUICK)
    data = learner._check_fit_data(table).in_order_of_names()
    race = Race(data, learner._search(data), _settings(learner, data), starts.STAGES)
    state = race.start({starts.FOREST: Baseline("forest", show_progress=False).fit(table).tree_})
    race.check(state)
    line = state.memory.lines[0]
    wrong = Line(**{**vars(line), **change})
    with pytest.raises(ValueError):
        race.check(type(state)(**{**vars(state), "memory": RaceMemory((wrong,), state.memory.leader)}))


@pytest.mark.parametrize(("shift", "ends"), [(0.01, True), (-0.01, True), (1.0, False)])
def test_a_line_ends_at_a_tree_that_another_line_came_through(shift, ends):
    table = chain(4, 60)
    learner = EAST(**QUICK)
    data = learner._check_fit_data(table).in_order_of_names()
    race = Race(data, learner._search(data), _settings(learner, data), starts.STAGES)
    forest = Baseline("forest", show_progress=False).fit(table).tree_
    start = race.start({starts.FOREST: forest, starts.BING: forest})
    first = race.advance(race.advance(start).state).state  # the stage begins, and the first step
    (name, n_parameters, value), *_ = first.memory.passed
    assert (name, n_parameters) == (first.memory.lines[0].name, first.memory.lines[0].tree.n_parameters)
    other = next(line for line in start.memory.lines if line.name != name)
    began = race.advance(replace(start, memory=replace(start.memory, lines=(other,)))).state
    passed = ((name, n_parameters, value + shift),)
    then = race.advance(replace(began, memory=replace(began.memory, passed=passed))).state.memory
    assert (then.lines[0].memory.phase == "excursion") == ends
    assert (len(then.passed) == 1) == ends


def test_lines_that_meet_save_steps_and_change_nothing(begun, monkeypatch):
    table = chain(5, 300)
    met = EAST(**QUICK).fit(table)
    n_steps = len(begun)
    monkeypatch.setattr(race_module, "SAME", -1.0)  # never
    apart = EAST(**QUICK).fit(table)
    assert met.bic_ == pytest.approx(apart.bic_, abs=1e-3)
    assert n_steps < len(begun) - n_steps


def _settings(learner, data):
    from pgmpy_latent.learners.east.settings import EastSettings

    return EastSettings(rules=learner._rules(data))
