"""Rows of probability zero: no posterior, gaps that stay, cells that nobody changes, and one warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import (
    Baseline,
    LatentNetwork,
    LatentTree,
    RandomStarts,
    StructuralEM,
    classification_table,
    impute,
    most_likely,
    posterior,
    row_log_likelihoods,
    save,
)
from pgmpy_latent.cli import main
from pgmpy_latent.testing import codes_for, latent_networks, latent_trees
from tests.support import reference_networks

METHODS = ["most_likely", "draw"]


@st.composite
def rows_of_models(draw):
    """Return a tree or network with zeros in its tables, rows with gaps, and the codes of all nodes in each row."""
    model = draw(st.one_of(latent_trees(max_nodes=6, max_card=3, zeros=True), latent_networks(zeros=True)))
    seen = draw(codes_for(model, max_rows=8))
    codes = np.full((len(seen), model.n_nodes), -1)
    codes[:, ~model.latent] = seen
    columns = {
        model.names[node]: [model.state_names[node][code] if code >= 0 else None for code in codes[:, node]]
        for node in np.flatnonzero(~model.latent)
    }
    return model, pd.DataFrame(columns, index=[f"row {at}" for at in range(len(codes))], dtype=object), codes


def as_network(model):
    """Return a tree as a network, in which nodes might have several parents."""
    if isinstance(model, LatentNetwork):
        return model
    parents = [() if above < 0 else (int(above),) for above in model.parent]
    return LatentNetwork(model.names, model.state_names, parents, model.latent, model.tables)


def asked(question, *arguments, **options):
    """Return the answer, and the warnings about impossible rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = question(*arguments, **options)
    assert all("probability zero" in str(one.message) for one in caught)
    return answer, [str(one.message) for one in caught]


def assert_named(messages, frame, impossible):
    """Raise unless the impossible rows are named in one warning, or there is neither."""
    assert len(messages) == impossible.any()
    for message in messages:
        assert f"model: {impossible.sum()} (" in message
        assert all(repr(label) in message for label in frame.index[impossible])
        assert not any(repr(label) in message for label in frame.index[~impossible])


@given(rows_of_models())
def test_posteriors_of_impossible_rows_are_undefined_in_every_node(problem):
    model, frame, codes = problem
    network = as_network(model)
    expected = reference_networks.log_likelihoods(network, codes)
    np.testing.assert_allclose(row_log_likelihoods(model, frame), expected, rtol=1e-10, atol=1e-10)
    impossible = np.isneginf(expected)
    found, messages = asked(posterior, model, frame, model.names)
    assert_named(messages, frame, impossible)
    for node, name in enumerate(model.names):
        np.testing.assert_allclose(
            found[name], reference_networks.beliefs(network, codes, node), rtol=1e-10, atol=1e-10, equal_nan=True
        )
    for question in (posterior, most_likely):  # of nothing nothing is undefined
        assert asked(question, model, frame, [])[1] == []


@given(rows_of_models())
def test_most_likely_states_keep_cells_and_leave_impossible_rows_open(problem):
    model, frame, codes = problem
    network = as_network(model)
    impossible = np.isneginf(reference_networks.log_likelihoods(network, codes))
    found, messages = asked(most_likely, model, frame, model.names)
    assert_named(messages, frame, impossible)
    for node, name in enumerate(model.names):
        shares = reference_networks.beliefs(network, codes, node)
        for row, state in enumerate(found[name]):
            if codes[row, node] >= 0:
                assert state == model.state_names[node][codes[row, node]]
            elif impossible[row]:
                assert pd.isna(state)
            else:
                code = model.state_names[node].index(state)
                assert shares[row, code] == pytest.approx(shares[row].max(), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(problem=rows_of_models(), seed=st.integers(0, 1000))
def test_gaps_of_possible_rows_are_filled_and_nothing_else_is_touched(method, problem, seed):
    model, frame, codes = problem
    network = as_network(model)
    impossible = np.isneginf(reference_networks.log_likelihoods(network, codes))
    filled, messages = asked(impute, model, frame, method=method, random_state=seed)
    assert_named(messages, frame, impossible)
    assert filled.index.equals(frame.index)
    for row in range(len(frame)):
        for name in model.observed_names:
            before, after = frame[name].iloc[row], filled[name].iloc[row]
            if before is not None or impossible[row]:
                assert (before is None and pd.isna(after)) or after == before
            else:
                assert after in model.state_names[model.index(name)]
    if method == "draw":  # what is drawn together goes together
        after = codes.copy()
        for node in np.flatnonzero(~model.latent):
            places = {state: code for code, state in enumerate(model.state_names[node])}
            after[:, node] = [places.get(state, -1) for state in filled[model.names[node]]]
        assert np.isfinite(reference_networks.log_likelihoods(network, after[~impossible])).all()


@pytest.fixture
def chain():
    """A Chow–Liu tree over a, b and c; a = 0 with b = 2 has never been seen."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1, 1, 0] * 5, "b": [0, 1, 1, 2, 2, 0] * 5, "c": [0, 1, 1, 2, 2, 0] * 5})
    return Baseline("chow_liu").fit(frame)


@pytest.mark.parametrize("method", METHODS)
def test_an_observed_cell_of_an_impossible_row_is_not_deleted(chain, method):
    gappy = pd.DataFrame({"a": [0, 1], "b": [2, 2], "c": pd.array([None, None], "Int64")}, index=["odd", "fine"])
    filled, messages = asked(chain.impute, gappy, method=method, random_state=0)
    assert filled.loc["odd", ["a", "b"]].tolist() == [0, 2]
    assert pd.isna(filled.loc["odd", "c"])
    assert filled.loc["fine"].tolist() == [1, 2, 2]
    (message,) = messages
    assert "1 (the first: ['odd'])" in message
    assert "their missing cells stay" in message


def two_trees():
    """A forest: H with x and y, which always agree, and G with u and v, which need not."""
    sure, unsure = [[1.0, 0.0], [0.0, 1.0]], [[0.8, 0.2], [0.3, 0.7]]
    return LatentTree(
        ["H", "x", "y", "G", "u", "v"],
        [[0, 1]] * 6,
        [-1, 0, 0, -1, 3, 3],
        [True, False, False, True, False, False],
        [[[0.5, 0.5]], sure, sure, [[0.5, 0.5]], unsure, unsure],
    )


def test_a_row_of_a_forest_is_impossible_as_soon_as_one_tree_rules_it_out():
    frame = pd.DataFrame({"x": [0, 0], "y": [1, 0], "u": [1, 1], "v": [1, None]}, index=["odd", "fine"])
    for model in (two_trees(), as_network(two_trees())):
        found, _ = asked(posterior, model, frame)
        assert found.loc["odd"].isna().all()
        assert found.loc["fine"].notna().all()
        with pytest.warns(UserWarning, match="probability zero under the model are left out"):
            assert classification_table(model, frame, "G").to_numpy().sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["tree", "network"])
def test_learners_agree_about_impossible_rows(kind):
    frame = pd.DataFrame({"x": list("aabb") * 5, "y": list("ccdd") * 5, "z": list("eeff") * 5})
    learner = RandomStarts(n_states=2, random_state=0).fit(frame)
    if kind == "network":
        learner = StructuralEM(learner, random_state=0).fit(frame)
        assert learner.network_.latent_names == ("H",)
    rows = pd.DataFrame({"x": ["a", "a"], "y": ["c", "d"], "z": [None, None]}, index=["fine", "odd"], dtype=object)
    assert learner.score_samples(rows).tolist() == [pytest.approx(np.log(0.5)), -np.inf]
    for question in (learner.predict_proba, learner.transform, learner.predict):
        found, messages = asked(question, rows)
        assert_named(messages, rows, np.array([False, True]))
        empty = pd.isna(np.asarray(found))
        assert not empty[0].any()
        assert empty[1].all()


def test_the_command_line_predicts_nothing_of_impossible_rows(tmp_path, capsys):
    save(two_trees(), tmp_path / "model.json")
    (tmp_path / "rows.csv").write_text("x,y,u,v\n0,1,1,\n0,0,1,1\n")
    arguments = ["predict", tmp_path / "model.json", tmp_path / "rows.csv", "--variables", "y,v,G"]
    assert main([str(one) for one in arguments]) == 0
    found = capsys.readouterr()
    lines = [line.split(",") for line in found.out.splitlines()]
    assert lines[0] == ["row", "y", "P(y=0)", "P(y=1)", "v", "P(v=0)", "P(v=1)", "G", "P(G=0)", "P(G=1)"]
    assert lines[1] == ["1", "1", "", "", "", "", "", "", "", ""]  # y is as it was; nothing follows from the row
    assert "" not in lines[2]
    assert "1 row cannot occur under the model (row: 1)" in found.err


def test_many_impossible_rows_are_counted_in_one_warning():
    frame = pd.DataFrame({"x": [0] * 30, "y": [1] * 30, "u": [0] * 30, "v": [0] * 30})
    _, messages = asked(impute, two_trees(), frame)
    (message,) = messages
    assert "30 (the first: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])" in message
