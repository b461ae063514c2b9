"""New names of nodes and states change nothing but names, everywhere."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import (
    LatentTree,
    RandomStarts,
    StructuralEM,
    TreeEM,
    datasets,
    explore,
    fitted,
    load,
    log_likelihood,
    plotting,
    rename,
    sample,
    save,
    to_pgmpy,
)
from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.testing import latent_networks, latent_trees

QUIET = {"random_state": 0, "show_progress": False}
TABLE = datasets.load_anes96()[["PID", "vote", "age"]].astype(object)
NODES, STATES = {"H": "mood"}, {"H": {0: "content", 1: "sad"}}


@pytest.fixture(scope="module")
def learner():
    return RandomStarts(n_states=2, n_starts=2, **QUIET).fit(TABLE)


@given(st.one_of(latent_trees(max_nodes=6), latent_networks(max_nodes=5)), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_only_names_change_and_the_old_ones_come_back(model, random):
    nodes = {name: f"new {name}" for name in model.names if random.random() < 0.6}
    states = {
        name: {state: f"s{at}" for at, state in enumerate(known)}
        for name, known in zip(model.names, model.state_names, strict=True)
        if random.random() < 0.6
    }
    named = rename(model, nodes, states)
    assert type(named) is type(model)
    assert named.parents == model.parents
    assert all(np.array_equal(one, other) for one, other in zip(named.tables, model.tables, strict=True))
    assert named.names == tuple(nodes.get(name, name) for name in model.names)
    back = rename(
        named,
        {new: old for old, new in nodes.items()},
        {nodes.get(name, name): {new: old for old, new in of.items()} for name, of in states.items()},
    )
    assert back == model
    table = sample(model, 5, random_state=0)
    renamed = table.apply(lambda column: column.map(lambda value: states.get(column.name, {}).get(value, value)))
    renamed.columns = [nodes.get(name, name) for name in table.columns]
    if len(table.columns):
        assert log_likelihood(named, renamed) == pytest.approx(log_likelihood(model, table))


def test_names_are_carried_everywhere(learner, tmp_path, capsys):
    named = rename(learner, NODES, STATES)
    assert learner.latents_ == ["H"]
    assert (named.latents_, named.n_states_) == (["mood"], {"mood": 2})
    assert named.profiles().columns.tolist() == [("mood", "content"), ("mood", "sad")]
    assert named.predict(TABLE.head(2)).columns.tolist() == ["mood"]
    assert set(named.predict(TABLE)["mood"]) == {"content", "sad"}
    pd.testing.assert_frame_equal(
        named.predict_proba(TABLE), learner.predict_proba(TABLE).set_axis(named.predict_proba(TABLE).columns, axis=1)
    )
    assert named.get_feature_names_out().tolist() == ["mood=content", "mood=sad"]
    assert named.model_.latents == {"mood"}
    assert named.model_.get_cpds("mood").state_names["mood"] == ["content", "sad"]
    assert named.sample(3, latents=True, random_state=0)["mood"].isin(["content", "sad"]).all()
    named.summary()
    assert "mood (2)" in capsys.readouterr().out
    named.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "mood" in text
    assert text.count(">content</") > 4  # in the list of classes, at the bars, and over the numbers
    assert "Class 0" not in text
    assert "mood" in explore(named).page
    assert "mood" in plotting.plot_profiles(named).get_title(loc="left")
    save(named, tmp_path / "model.json")
    assert fitted(tmp_path / "model.json").latents_ == ["mood"]
    assert load(tmp_path / "model.json") == named.tree_


def test_every_kind_of_model_comes_back_as_it_was(learner):
    assert rename(learner.tree_, NODES).latent_names == ("mood",)
    network = rename(to_pgmpy(learner.tree_), NODES, STATES)
    assert type(network) is type(learner.model_)
    assert network.latents == {"mood"}
    estimator = TreeEM(n_init=1, seed=0, show_progress=False).fit(learner.model_, TABLE)
    named = rename(estimator, NODES)
    assert named.latents_ == ["mood"]
    assert named.log_likelihood_ == estimator.log_likelihood_
    again = rename(named, {"mood": "mind"})
    assert (again.latents_, named.latents_) == (["mind"], ["mood"])
    assert rename(StructuralEM().fit(TABLE)).network_.names == ("PID", "vote", "age")


def test_columns_of_models_and_codes_that_count_as_missing():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]], missing={"x": ["?"]})
    named = rename(tree, {"x": "answer"}, {"x": ["no", "yes"]})
    assert (named.names, named.state_names, dict(named.missing)) == (("answer",), (("no", "yes"),), {"answer": ("?",)})


def test_mistakes(learner):
    tree = learner.tree_
    for call, problem in [
        (lambda: rename(tree, {"G": "mood"}), "nodes names 'G', but the nodes are"),
        (lambda: rename(tree, {"H": "mood"}, {"mood": {0: "low"}}), "use the names that nodes have before they are"),
        (lambda: rename(tree, states={"G": {}}), "states names 'G'"),
        (lambda: rename(tree, {"H": "vote"}), "would give the name 'vote' to several nodes"),
        (lambda: rename(tree, states={"H": {5: "sad"}}), "node 'H' has no state 5; its states are 0, 1"),
        (lambda: rename(tree, states={"H": ["sad"]}), "node 'H' has 2 states, and states gives it 1 names"),
        (lambda: rename(tree, states={"H": "sad"}), "and states gives it 1 names"),
        (lambda: rename(tree, states={"H": {0: 1}}), "two states of 'H' the same name"),
        (lambda: rename(learner, {"vote": "choice"}), "'vote': a learner has the columns of its table"),
    ]:
        with pytest.raises(InvalidTreeError, match=problem):
            call()
    with pytest.raises(TypeError, match="expected a LatentTree"):
        rename(3)
