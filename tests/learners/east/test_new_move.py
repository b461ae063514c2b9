"""A kind of move is one class: the search makes the move that docs/east.md shows like all others."""

import sys
from types import ModuleType

import pytest

from pgmpy_latent import EAST, presets, sample, scores
from pgmpy_latent.learners.east import moves
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.runtime.lossless_json import back, plain
from tests.support.samples import assert_same_tree, latent_class
from tests.test_readme import ROOT, python_blocks

QUIET = {"random_state": 0, "show_progress": False}


def new_kind():
    """Return the page's class, from a module of its own, so that pickles find it."""
    module = sys.modules["a_new_move"] = ModuleType("a_new_move")
    exec(python_blocks(ROOT / "docs" / "east.md")[-1], vars(module))
    return module.GrowTwice


GrowTwice = new_kind()


@pytest.fixture
def table(monkeypatch):
    """Rows of a model with six classes; states can only be added in twos."""
    others = [kind for kind in moves.MOVES if kind is not moves.Grow]
    monkeypatch.setattr(moves, "MOVES", (GrowTwice, *others))
    return sample(latent_class(6, [4] * 6, seed=1, concentration=0.3), 1500, random_state=0)


@pytest.mark.parametrize("evaluation", ["auto", "rl", "dc"])
def test_the_search_makes_a_new_move(table, evaluation):
    tuning = presets.EAST.replace(evaluation=evaluation, excursions=(), look_ahead=4)
    learner = EAST(columns="leaves", tuning=tuning, **QUIET).fit(table)
    history = learner.history_
    made = history[history["operator"] == "introduce two states"]
    assert len(made) > 0
    assert set(made["target"]) == {"H"}
    assert (history["score"].diff().dropna() >= -1e-6).all()
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, table), rel=1e-9)


def test_its_results_depend_neither_on_workers_nor_on_a_checkpoint(table, tmp_path):
    table = table.head(500)
    options = {"columns": "leaves", "tuning": presets.EAST.replace(excursions=(), look_ahead=0), **QUIET}
    alone = EAST(**options).fit(table)
    assert "introduce two states" in set(alone.history_["operator"])
    assert_same_tree(EAST(n_jobs=2, **options).fit(table).tree_, alone.tree_)
    path = tmp_path / "search.json"
    for _ in range(2):  # the second search reads its result
        assert_same_tree(EAST(checkpoint=path, **options).fit(table).tree_, alone.tree_)


def test_constraints_hold_for_a_new_move(table):
    assert (
        max(EAST(max_states=3, tuning=presets.EAST.replace(evaluation="rl"), **QUIET).fit(table).n_states_.values())
        <= 3
    )
    tree = latent_class(2, [4] * 6)
    assert GrowTwice.in_tree(tree, Rules()) == [GrowTwice(tree.names[0])]
    assert GrowTwice.in_tree(tree, Rules(max_states=3)) == []


def test_what_a_new_move_need_not_say(table):
    tree, move = latent_class(2, [4] * 6), GrowTwice("C")
    assert move.is_possible(tree, Rules())
    assert not move.is_possible(tree, Rules(max_states=3))
    assert not GrowTwice("gone").is_possible(tree, Rules())
    assert move.touched(tree) == {"C"}
    assert str(move) == "C"
    assert back(plain(move)) == move
