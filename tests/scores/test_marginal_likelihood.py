"""The Cheeseman-Stutz score against its definition."""

from math import lgamma, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import sample
from pgmpy_latent.model.tree import LatentTree
from tests.support import reference
from tests.support.scored_tables import COIN, TOLERANCE, TOSSES, frame_of, scored_tables, shaped


@pytest.mark.parametrize("prior", [0, -1.0, np.inf, np.nan, [1.0]])
def test_prior_must_be_a_positive_number(prior):
    with pytest.raises(ValueError, match="above zero"):
        scores.cheeseman_stutz(COIN, TOSSES, prior=prior)


@given(scored_tables(), st.sampled_from([0.5, 1.0, 2.0]))
def test_cheeseman_stutz_equals_its_definition(problem, prior):
    tree, codes, rows, weights = problem
    counts = reference.expected_counts(tree.parent, tree.tables, rows, weights)
    observed = weights @ reference.log_likelihoods(tree.parent, tree.tables, rows)
    completed = sum((count * np.log(table)).sum() for count, table in zip(counts, tree.tables, strict=True))
    expected = reference.log_marginal_likelihood(counts, prior) + observed - completed
    found = scores.cheeseman_stutz(
        tree, frame_of(tree, codes), sample_weight=weights, weight_kind="frequency", prior=prior
    )
    np.testing.assert_allclose(found, expected, **TOLERANCE)


def test_cheeseman_stutz_of_complete_data_is_the_marginal_likelihood():
    """Predict one row after the other from those before, whatever the tree's tables are."""
    tree = shaped([-1, 0, 0], [2, 3, 2], [False] * 3)
    codes = sample(tree, 12, random_state=0).to_numpy()
    total = 0.0
    for node, above in enumerate(tree.parent):
        seen = np.ones(tree.tables[node].shape)
        for row in codes:
            u = row[above] if above >= 0 else 0
            total += log(seen[u, row[node]] / seen[u].sum())
            seen[u, row[node]] += 1
    assert scores.cheeseman_stutz(tree, frame_of(tree, codes)) == pytest.approx(total)


def test_cheeseman_stutz_by_hand():
    """One toss behind a hidden variable that says nothing about it: each hidden state gets half of it."""
    tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False], [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    root = lgamma(2) - lgamma(3) + 2 * lgamma(1.5)
    leaf = 2 * (lgamma(2) - lgamma(2.5) + lgamma(1.5))
    found = scores.cheeseman_stutz(tree, pd.DataFrame({"x": ["a"]}))
    assert found == pytest.approx(log(0.5) - 2 * log(0.5) + root + leaf)
