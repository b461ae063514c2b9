"""What a search for hidden variables remembers is a dataclass, and a checkpoint that holds anything else is refused."""

import json

import pytest

from pgmpy_latent import FindHidden, sample
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.networks.find_hidden.proposals import ProposalPolicy
from tests.support.samples import sealed, two_classes_of_columns

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def table():
    return sample(two_classes_of_columns(), 300, random_state=1)


@pytest.fixture
def path(tmp_path, monkeypatch, table):
    """Return the checkpoint of a search that was interrupted after its first proposal."""
    advance = ProposalPolicy.advance

    def interrupted(self, state):
        if state.memory.round is not None:
            raise KeyboardInterrupt
        return advance(self, state)

    learner = FindHidden(max_latents=1, checkpoint=tmp_path / "search.json", **QUIET)
    with monkeypatch.context() as patched:
        patched.setattr(ProposalPolicy, "advance", interrupted)
        with pytest.warns(UserWarning, match="Ctrl-C"):
            learner.fit(table)
    return learner.checkpoint


def change(path, **values):
    """Write other values into the memory of a checkpoint."""
    document = json.loads(path.read_text())
    memory = document["memory"]["of"]
    assert memory["round"]["of"]["n_tried"] == 1
    memory.update({name: value(memory[name]) for name, value in values.items()})
    path.write_bytes(sealed(json.dumps(document).encode()))


def test_an_interrupted_search_goes_on(path, table):
    change(path)
    again, whole = (FindHidden(max_latents=1, checkpoint=file, **QUIET).fit(table) for file in (path, None))
    assert again.network_ == whole.network_
    assert again.candidates_.equals(whole.candidates_)


def other_gain(value):
    value["of"]["results"]["of"][0]["of"]["gain"] += 1.0
    return value


def one_placed(value):
    value["of"]["n_placed"] = 2
    return value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("phase", lambda phase: "rest", "its memory of 'phase' is 'rest'"),
        ("n_removals", lambda n: 6, "its memory of 'n_removals' is 6"),
        ("n_removals", lambda n: -1, "its memory of 'n_removals' is -1"),
        ("base", lambda base: None, "its memory of 'base' is None"),
        ("candidates", lambda candidates: [], r"its memory of 'candidates' is \[\]"),
        ("candidates", lambda candidates: {"!": "tuple", "of": [{"step": 0}]}, "its memory of 'candidates' is "),
        ("round", lambda round_: 1, "its memory of 'round' is 1"),
        ("round", other_gain, "its gain is .*, and should be "),
        ("round", one_placed, "its memory of 'n_placed' is 2"),
        ("final", lambda final: [], r"its memory of 'final' is \[\]"),
        ("is_tree", lambda is_tree: True, "its memory of 'is_tree' is True"),
        ("tree_score", lambda score: "high", "its memory of 'tree_score' is 'high'"),
    ],
)
def test_a_memory_that_no_search_writes_is_refused(path, table, name, value, message):
    change(path, **{name: value})
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"is damaged .*{message}.*Remove it, or name another file"):
        FindHidden(max_latents=1, checkpoint=path, **QUIET).fit(table)
    assert path.read_bytes() == before


def test_the_memory_of_another_kind_is_refused(path, table):
    document = json.loads(path.read_text())
    document["memory"] = document["memory"]["of"]
    path.write_bytes(sealed(json.dumps(document).encode()))
    with pytest.raises(CheckpointError, match="its memory is not what a search writes"):
        FindHidden(max_latents=1, checkpoint=path, **QUIET).fit(table)
