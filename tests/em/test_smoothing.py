"""Tables for new rows: learned tables, continued with a pseudo-count."""

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
    encode,
    log_likelihood,
    row_log_likelihoods,
    sample,
    smoothed,
)
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.testing import latent_trees
from tests.support import reference


def known_tree(seed):
    """Return a random tree over four columns, and some rows of it."""
    rng = np.random.default_rng(seed)
    parent, cards = [-1, *(int(rng.integers(0, node)) for node in range(1, 4))], rng.integers(1, 4, 4)
    tables = [
        rng.dirichlet(np.ones(cards[node]), 1 if above < 0 else cards[above]) for node, above in enumerate(parent)
    ]
    tree = LatentTree("wxyz", [range(card) for card in cards], parent, [False] * 4, tables)
    codes = np.stack([rng.integers(0, card, 12) for card in cards], axis=1)
    return tree, codes, rng.integers(0, 4, 12) + (np.arange(12) == 0)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.1, 1.0]))
def test_without_anything_hidden_tables_are_shares_of_raised_counts(seed, pseudo_count):
    tree, codes, weights = known_tree(seed)
    frame = pd.DataFrame(codes, columns=list("wxyz"))
    found = smoothed(tree, frame, pseudo_count=pseudo_count, sample_weight=weights)
    expected = reference.shares_of_counts(tree.parent, tree.cards, codes, weights, pseudo_count)
    for table, shares in zip(found.tables, expected, strict=True):
        np.testing.assert_allclose(table, shares, atol=1e-9)


def test_the_same_holds_for_networks():
    parents = [(), (), (0, 1)]
    even = [np.full((1, 2), 0.5), np.full((1, 2), 0.5), np.full((4, 2), 0.5)]
    network = LatentNetwork("xyz", [(0, 1)] * 3, parents, [False] * 3, even)
    frame = pd.DataFrame({"x": [0, 0, 1], "y": [0, 1, 1], "z": [0, 1, 1]})
    found = smoothed(network, frame, pseudo_count=0.5)
    np.testing.assert_allclose(found.tables[2], [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(found.tables[0], [[2.5 / 4, 1.5 / 4]])


@given(latent_trees(max_nodes=6), st.integers(0, 1000))
def test_hidden_counts_are_raised_too(tree, seed):
    rows = sample(tree, 60, random_state=seed)
    data = encode(rows, state_names=dict(zip(tree.names, tree.state_names, strict=True)), columns=tree.observed_names)
    found = smoothed(tree, data, pseudo_count=0.3, tol=1e-8)
    engine = engine_for(found, data)
    _, counts = engine.expected_counts(engine.layout.pack(found.tables))
    for table, expected in zip(found.tables, engine.layout.unpack(counts + 0.3), strict=True):
        assert (table > 0).all()
        again = expected / expected.sum(axis=1, keepdims=True)  # a maximum is a fixed point of EM
        np.testing.assert_allclose(table, again, atol=2e-3)


def test_new_rows_that_the_learned_tables_rule_out_become_possible():
    table = pd.DataFrame({"x": list("aaabbb"), "y": list("cccddd"), "z": list("eefffe")})
    new = pd.DataFrame({"x": ["a", "b"], "y": ["d", "c"], "z": ["e", "f"]})
    learner = Baseline("chow_liu").fit(table)
    assert np.isneginf(log_likelihood(learner.tree_, new))
    scored = row_log_likelihoods(smoothed(learner, table), new)
    assert np.isfinite(scored).all()
    assert (row_log_likelihoods(smoothed(learner, table, pseudo_count=1.0), new) > scored).all()


def test_a_weight_is_a_repeated_row_and_learners_bring_their_weights():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=list("xyz")).assign(n=rng.integers(1, 4, 40))
    learner = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table, sample_weight="n")
    by_weight = smoothed(learner, table)
    by_row = smoothed(learner.tree_, table.loc[table.index.repeat(table["n"])])
    for left, right in zip(by_weight.tables, by_row.tables, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-9)


def test_what_cannot_be_done_is_refused():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    frame = pd.DataFrame({"x": ["a"]})
    with pytest.raises(ValueError, match="pseudo_count is 0; give a number above 0"):
        smoothed(tree, frame, pseudo_count=0)
    with pytest.raises(TypeError, match="expected a LatentTree"):
        smoothed(frame, frame)
