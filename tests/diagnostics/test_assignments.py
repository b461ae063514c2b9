"""Classification tables, against sums over posteriors row by row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given

from pgmpy_latent import LatentTree, RandomStarts, average_posteriors, classification_table, posterior
from pgmpy_latent.model.network import as_network
from tests.diagnostics.test_residuals import problems, table_of


@given(problems())
def test_tables_equal_sums_over_rows(problem):
    tree, codes, weights = problem
    assume(tree.latent.any())
    latent = tree.latent_names[0]
    table = classification_table(tree, table_of(tree, codes, weights), latent)
    expected = np.zeros(table.shape)
    for row, weight in zip(codes, weights, strict=True):
        belief = posterior(tree, frame_of(tree, row), [latent]).to_numpy()[0]
        expected[belief.argmax()] += weight * belief
    np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-9)
    assert table.to_numpy().sum() == pytest.approx(weights.sum())
    assert table.attrs["error"] == pytest.approx(1 - np.trace(expected) / weights.sum(), abs=1e-12)
    shares = average_posteriors(tree, table_of(tree, codes, weights), latent)
    used = expected.sum(axis=1) > 0
    np.testing.assert_allclose(shares[used], (expected / expected.sum(axis=1, keepdims=True).clip(1e-300))[used])
    assert shares[~used].isna().all(axis=None)


def frame_of(tree, row):
    nodes = np.flatnonzero(~tree.latent)
    cells = [None if code < 0 else tree.state_names[node][code] for node, code in zip(nodes, row, strict=True)]
    return pd.DataFrame([cells], columns=list(tree.observed_names), dtype=object)


TREE = LatentTree(
    ["H", "x", "y"],
    [["low", "high"], ["a", "b"], ["c", "d"]],
    [-1, 0, 0],
    [True, False, False],
    [[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
)


def test_networks_and_learners():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    learner = RandomStarts(n_states=2).fit(frame, sample_weight=[1, 2, 3, 4])
    table = classification_table(learner, frame.to_numpy(), sample_weight=[1, 2, 3, 4])
    np.testing.assert_allclose(table, [[7.0, 0.0], [0.0, 3.0]], atol=1e-6)
    pd.testing.assert_frame_equal(classification_table(as_network(TREE), frame), classification_table(TREE, frame))
    assert classification_table(TREE, frame).index.tolist() == ["low", "high"]


def test_impossible_rows_are_left_out():
    frame = pd.DataFrame({"x": ["a", "a", "b"], "y": ["c", "d", "d"]})
    with pytest.warns(UserWarning, match=r"rows of probability zero under the model are left out \(weight 5\)"):
        table = classification_table(TREE, frame, sample_weight=[2.0, 5.0, 1.0])
    assert table.to_numpy().tolist() == [[2.0, 0.0], [0.0, 1.0]]
    with pytest.warns(UserWarning, match="left out"):
        table = classification_table(TREE, frame.iloc[1:2])
    assert np.isnan(table.attrs["error"])


def test_which_hidden_variable_is_meant():
    frame = pd.DataFrame({"x": ["a"], "y": ["c"]})
    with pytest.raises(ValueError, match=r"latent is 'x'; the hidden variables are \['H'\]"):
        classification_table(TREE, frame, "x")
    seen = LatentTree(TREE.names, TREE.state_names, TREE.parent, [False] * 3, TREE.tables)
    with pytest.raises(ValueError, match="the model has no hidden variable"):
        average_posteriors(seen, frame.assign(H="low"))
    both = LatentTree(TREE.names, TREE.state_names, TREE.parent, [True, True, False], TREE.tables)
    with pytest.raises(ValueError, match=r"the model has 2 hidden variables; name one of \['H', 'x'\] as latent"):
        classification_table(both, frame)
    assert classification_table(both, frame, "x").shape == (2, 2)
