"""Unusual rows, against enumeration."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from pgmpy_latent import (
    HiddenChowLiuMixture,
    LatentTree,
    RandomStarts,
    TreeMixture,
    row_log_likelihoods,
    sample,
    unusual_rows,
)
from pgmpy_latent.model.network import as_network
from tests.diagnostics.test_residuals import problems, table_of
from tests.support import reference
from tests.support.samples import leafy_tree


@settings(max_examples=30)
@given(problems(max_nodes=5, max_card=3))
def test_rows_equal_enumeration(problem):
    tree, codes, _ = problem
    table = table_of(tree, codes)
    found = unusual_rows(tree, table, n=3)
    observed = np.flatnonzero(~tree.latent)
    rows = reference.rows_of(codes, observed)
    logs = reference.log_likelihoods(tree.parent, tree.tables, rows)
    np.testing.assert_allclose(found["log_likelihood"], np.sort(logs)[:3], rtol=1e-9, atol=1e-9)
    for place, row in found.iterrows():
        probabilities = {}
        for at, node in enumerate(observed):
            if codes[place, at] >= 0:
                emptied = codes[[place]].copy()
                emptied[0, at] = -1
                (others,) = reference.log_likelihoods(tree.parent, tree.tables, reference.rows_of(emptied, observed))
                probabilities[tree.names[node]] = np.exp(logs[place] - others)
        if not probabilities:
            assert row["cell"] is None
            assert np.isnan(row["probability"])
            continue
        assert row["probability"] == pytest.approx(min(probabilities.values()))
        assert probabilities[row["cell"]] == pytest.approx(min(probabilities.values()))
        node = tree.index(row["cell"])
        assert row["value"] == tree.state_names[node][codes[place, observed.tolist().index(node)]]


ITEM = [[0.9, 0.1], [0.2, 0.8]]
TREE = LatentTree(
    ["H", "x", "y", "z"],
    [[0, 1], *[["no", "yes"]] * 3],
    [-1, 0, 0, 0],
    [True, False, False, False],
    [[[0.5, 0.5]], ITEM, ITEM, [[0.99, 0.01], [0.02, 0.98]]],
)


def share_of_less_likely(frame, row):
    """Return the probability of a row that is at most as likely, by enumeration over the filled columns."""
    filled = [name for name in frame.columns if frame.loc[row, name] is not None]
    rows = pd.MultiIndex.from_product([["no", "yes"]] * len(filled), names=filled).to_frame(index=False)
    logs = row_log_likelihoods(TREE, rows.reindex(columns=["x", "y", "z"]).astype(object))
    own = row_log_likelihoods(TREE, frame.loc[[row]])[row]
    return np.exp(logs[logs <= own + 1e-9]).sum()


def test_shares_are_those_of_rows_with_the_same_gaps():
    frame = pd.DataFrame(
        {"x": ["yes", "no", None], "y": ["yes", "yes", "no"], "z": ["no", "no", "yes"]}, index=["p", "q", "r"]
    ).astype(object)
    frame = frame.where(frame.notna(), None)
    found = unusual_rows(TREE, frame)
    assert sorted(found.index) == ["p", "q", "r"]
    for row in found.index:
        assert found.loc[row, "share"] == pytest.approx(share_of_less_likely(frame, row), abs=0.02)
    assert (found["share"] >= 1 / 10_001).all()


def test_a_planted_row_is_found():
    frame = sample(TREE, 300, random_state=0)
    frame.loc[[0, 1]] = [["yes", "yes", "no"], ["no", "no", "yes"]]
    found = unusual_rows(TREE, frame, n=2)
    assert found["cell"].tolist() == ["z", "z"]
    assert found["log_likelihood"].is_monotonic_increasing
    assert (found["probability"] < 0.1).all()
    pd.testing.assert_frame_equal(unusual_rows(as_network(TREE), frame, n=2), found)
    pd.testing.assert_frame_equal(unusual_rows(TREE, frame, n=2, random_state=0), found)


def test_impossible_and_empty_rows():
    sure = LatentTree(
        ["x", "y"], [["a", "b"], ["c", "d"]], [-1, 0], [False] * 2, [[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]
    )
    frame = pd.DataFrame({"x": ["a", None, "a"], "y": ["c", None, "d"]}, dtype=object)
    found = unusual_rows(sure, frame)
    assert found.index[0] == 2
    assert found.loc[2].tolist() == [-np.inf, 1 / 10_001, "x", "a", 0.0]
    assert found.loc[1, "share"] == 1.0
    assert found.loc[1, "cell"] is None


def test_learners_and_fewer_rows_than_asked_for():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    learner = RandomStarts(n_states=2).fit(frame)
    assert len(unusual_rows(learner, frame.to_numpy())) == 4
    with pytest.raises(ValueError, match="n is 0; give a whole number of at least 1"):
        unusual_rows(learner, frame, n=0)


def test_a_mixture_and_its_learner_say_what_enumeration_says():
    rng = np.random.default_rng(0)
    tree = leafy_tree(n_columns=4, card=3)
    other = tree.with_tables([rng.dirichlet(np.ones(table.shape[1]), len(table)) for table in tree.tables])
    mixture = TreeMixture([tree, other], [0.4, 0.6])
    table = sample(mixture, 30, random_state=1)
    found = unusual_rows(mixture, table, n=3)
    logs = row_log_likelihoods(mixture, table)
    np.testing.assert_allclose(found["log_likelihood"], np.sort(logs)[:3], rtol=1e-12)
    row, (_, cell, value) = found.index[0], found.iloc[0][["share", "cell", "value"]]
    variants = pd.DataFrame([table.loc[row].to_dict() | {cell: state} for state in range(3)])
    chances = np.exp(row_log_likelihoods(mixture, variants))
    assert found["probability"].iloc[0] == pytest.approx(chances[value] / chances.sum(), rel=1e-9)
    learner = HiddenChowLiuMixture(n_trials=1, n_groups=2, n_states=2, random_state=0, show_progress=False).fit(table)
    assert unusual_rows(learner, table, n=3).shape == (3, 5)
