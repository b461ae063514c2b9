"""How sure rows are of their hidden states, against enumeration."""

from math import log

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import sample
from pgmpy_latent.model.tree import LatentTree
from tests.support import reference
from tests.support.scored_tables import TOLERANCE, frame_of, latent_class, scored_tables, shaped


def counted_as_hidden(tree, row):
    """Return the hidden nodes, and the missing ones of gaps that touch several hidden nodes."""
    edges = [(node, int(above)) for node, above in enumerate(tree.parent) if above >= 0]
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(tree.n_nodes))
    hidden = set(np.flatnonzero(tree.latent).tolist())
    found = set(hidden)
    missing = [node for node in graph if node not in hidden and node not in row]
    for gap in nx.connected_components(graph.subgraph(missing)):
        touched = {other for node in gap for other in graph[node]} & hidden
        if len(touched) > 1:
            found |= gap
    return sorted(found)


def test_entropies_by_hand():
    tree = LatentTree(
        ["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False], [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]]
    )
    table = pd.DataFrame({"x": ["a", "b", None]})
    sure = -0.8 * log(0.8) - 0.2 * log(0.2)
    assert scores.classification_entropy(tree, table) == pytest.approx(2 * sure + log(2))
    assert scores.relative_entropy(tree, table) == pytest.approx(1 - (2 * sure + log(2)) / (3 * log(2)))
    assert scores.icl(tree, table) == pytest.approx(2 * log(0.5) - 3 / 2 * log(3) - 2 * sure - log(2))


@given(scored_tables(zeros=None))
def test_entropy_equals_enumeration(problem):
    tree, codes, rows, weights = problem
    table = frame_of(tree, codes)
    found = scores.classification_entropy(tree, table, sample_weight=weights, weight_kind="frequency")
    likelihood = scores.log_likelihood(tree, table, sample_weight=weights, weight_kind="frequency")
    if likelihood == -np.inf:
        assert np.isnan(found)
        return
    kept = [counted_as_hidden(tree, row) for row in rows]
    expected = sum(
        weight * reference.posterior_entropy(tree.parent, tree.tables, row, nodes)
        for row, weight, nodes in zip(rows, weights, kept, strict=True)
    )
    np.testing.assert_allclose(found, expected, **TOLERANCE)
    penalty = scores.n_parameters(tree) / 2 * np.log(weights.sum())
    np.testing.assert_allclose(
        scores.icl(tree, table, sample_weight=weights, weight_kind="frequency"),
        likelihood - penalty - expected,
        **TOLERANCE,
    )
    largest = sum(
        weight * np.log(tree.cards[nodes]).sum() for weight, nodes in zip(weights, kept, strict=True) if nodes
    )
    relative = scores.relative_entropy(tree, table, sample_weight=weights, weight_kind="frequency")
    assert 0 <= relative <= 1
    np.testing.assert_allclose(relative, 1 - expected / largest if largest > 0 else 1, **TOLERANCE)


@pytest.mark.parametrize(
    ("parent", "hidden"),
    [
        ([-1, 0, 1, 2, 3], [4]),  # a chain; gaps of every length above one hidden leaf
        ([-1, 0, 1, 2, 3], [0]),
        ([-1, 0, 1, 2, 3], [2]),
        ([-1, 0, 0, 1, 1], [2]),
        ([-1, 0, 0, 0, 0], [1, 3]),  # a gap at the root stands between two hidden leaves
        ([-1, 0, 1, 1, -1], [0, 2]),
    ],
)
def test_entropy_with_every_pattern_of_gaps(parent, hidden):
    tree = shaped(parent, [2] * 5, [node in hidden for node in range(5)], seed=2)
    codes = reference.joint_states([3] * (5 - len(hidden))) - 1
    weights = np.random.default_rng(0).gamma(1.0, size=len(codes))
    expected = sum(
        weight * reference.posterior_entropy(tree.parent, tree.tables, row, counted_as_hidden(tree, row))
        for row, weight in zip(reference.rows_of(codes, np.flatnonzero(~tree.latent)), weights, strict=True)
    )
    found = scores.classification_entropy(tree, frame_of(tree, codes), sample_weight=weights, weight_kind="frequency")
    np.testing.assert_allclose(found, expected, **TOLERANCE)


@given(scored_tables(latents_are_inner=True, min_nodes=4))
def test_entropy_of_the_open_part_is_never_below(problem):
    """All that the rows leave open is at least as uncertain as the hidden variables alone."""
    tree, codes, rows, weights = problem
    everything = sum(
        weight
        * reference.posterior_entropy(
            tree.parent, tree.tables, row, [node for node in range(tree.n_nodes) if node not in row]
        )
        for row, weight in zip(rows, weights, strict=True)
        if len(row) < tree.n_nodes
    )
    assert (
        scores.classification_entropy(tree, frame_of(tree, codes), sample_weight=weights, weight_kind="frequency")
        <= everything + 1e-9
    )


def test_missing_items_of_a_latent_class_model_add_no_entropy():
    tree = latent_class(3, 2, 4, 3, seed=1)
    complete = sample(tree, 50, random_state=0)
    gaps = complete.astype(object).mask(np.random.default_rng(0).random(complete.shape) < 0.3)
    row_by_row = 0.0
    for _, row in gaps.iterrows():
        evidence = {tree.index(name): int(value) for name, value in row.items() if not pd.isna(value)}
        row_by_row += reference.posterior_entropy(tree.parent, tree.tables, evidence, [0])
    assert scores.classification_entropy(tree, gaps) == pytest.approx(row_by_row)
    assert scores.relative_entropy(tree, gaps) == pytest.approx(1 - row_by_row / (50 * np.log(3)))
