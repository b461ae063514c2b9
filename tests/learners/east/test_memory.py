"""What a search remembers: it survives a file, and a file with another memory is refused before the search goes on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import EAST, presets, sample
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.learners import memory
from pgmpy_latent.learners.east.memory import EXCURSION, LOOK_AHEAD, EastMemory
from pgmpy_latent.learners.east.move import PHASES
from pgmpy_latent.learners.east.policy import EastPolicy
from pgmpy_latent.runtime.lossless_json import back, plain
from tests.support import reference_east as slow
from tests.support.samples import leafy_tree, sealed

names = st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.text(max_size=2), st.integers()))


@given(
    slow.with_rules(slow.any_trees()),
    st.sampled_from([*PHASES, EXCURSION, LOOK_AHEAD]),
    st.dictionaries(st.sampled_from(PHASES), st.integers(0, 99)),
    st.booleans(),
    st.one_of(st.none(), st.tuples(names, names)),
    st.lists(st.text(max_size=5), max_size=3).map(tuple),
    st.sampled_from([(), (0.25,), (0.5, 0.25)]),
    st.booleans(),
)
def test_a_memory_survives_a_file(drawn, phase, exhausted, moved, taking_over, failed, excursions, explained):
    queue = tuple(slow.all_moves(*drawn)[:12])
    written = EastMemory(phase, exhausted, queue, moved, taking_over, failed, excursions, explained=explained)
    assert back(json.loads(json.dumps(plain(written)))) == written


QUICK = {
    "columns": "leaves",
    "random_state": 0,
    "show_progress": False,
    "tuning": presets.EAST.replace(excursions=(), look_ahead=0),
}


@pytest.fixture(scope="module")
def table():
    return sample(leafy_tree(0, n_columns=6, card=3), 300, random_state=0)


@pytest.fixture
def path(monkeypatch, tmp_path, table):
    """A checkpoint of a search that was interrupted while moves waited in the queue."""
    advance = EastPolicy.advance

    def interrupted(self, state):
        if state.memory.queue and state.step > 1:
            raise KeyboardInterrupt
        return advance(self, state)

    learner = EAST(checkpoint=tmp_path / "search.json", **QUICK)
    with monkeypatch.context() as patched:
        patched.setattr(EastPolicy, "advance", interrupted)
        with pytest.warns(UserWarning, match="Ctrl-C"):
            learner.fit(table)
    return learner.checkpoint


def test_nothing_is_written_without_a_checkpoint(monkeypatch, table):
    monkeypatch.setattr(memory, "plain", lambda value: pytest.fail("no file was asked for"))
    assert len(EAST(**QUICK).fit(table).history_) > 2


def change(path, **values):
    """Write other values into the memory of a checkpoint."""
    document = json.loads(path.read_text())
    assert document["memory"]["of"]["queue"]
    document["memory"]["of"].update(values)
    path.write_bytes(sealed(json.dumps(document).encode()))


def queue_of(*parts):
    """Return a queue of one move as a checkpoint holds it."""
    return {"!": "tuple", "of": [{"!": "move of EAST", "of": list(parts)}]}


def test_an_interrupted_search_goes_on(path, table):
    change(path)
    again, whole = EAST(checkpoint=path, **QUICK).fit(table), EAST(**QUICK).fit(table)
    assert again.tree_ == whole.tree_


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"phase": "rest"}, "its memory of 'phase' is 'rest'"),
        ({"exhausted": []}, r"its memory of 'exhausted' is \[\]"),
        ({"queue": None}, "its memory of 'queue' is None"),
        ({"queue": queue_of("Prune", "H")}, "KeyError: 'Prune'"),
        (
            {"queue": queue_of("Introduce", "H", plain(("x0", "x1")), 1000)},
            "is to have 1000 states",
        ),
        ({"moved": 1}, "its memory of 'moved' is 1"),
        ({"taking_over": ["H"]}, r"its memory of 'taking_over' is \['H'\]"),
        ({"failed": {}}, "its memory of 'failed' is {}"),
        ({"excursions": plain((0.5,))}, r"its memory of 'excursions' is \(0.5,\)"),
        ({"excursions": [0.5]}, r"its memory of 'excursions' is \[0.5\]"),
        ({"exhausted": {"expand": -1}}, r"its memory of 'exhausted' is {'expand': -1}"),
        ({"rounds": 3}, "unexpected keyword argument 'rounds'"),
    ],
    ids=str,
)
def test_a_memory_that_no_search_writes_is_refused(path, table, values, message):
    change(path, **values)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"is damaged .*{message}.*Remove it, or name another file"):
        EAST(checkpoint=path, **QUICK).fit(table)
    assert path.read_bytes() == before


def test_the_memory_of_another_kind_is_refused(path, table):
    document = json.loads(path.read_text())
    document["memory"] = document["memory"]["of"]
    path.write_bytes(sealed(json.dumps(document).encode()))
    with pytest.raises(CheckpointError, match="its memory is not what a search writes"):
        EAST(checkpoint=path, **QUICK).fit(table)
