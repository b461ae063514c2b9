"""The forest of columns with the highest BIC: against all forests, with weights and with missing cells."""

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import Baseline, LatentTree, TreeEM, encode, scores, to_pgmpy
from pgmpy_latent.exceptions import NoOverlapWarning

seeds = st.integers(0, 2**32 - 1)


def random_table(seed, n_columns, n_rows, gaps=0.0):
    """Columns of two to four states, each of which may depend on an earlier one."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, n_columns)
    codes = rng.integers(0, cards, size=(n_rows, n_columns))
    for at in range(1, n_columns):
        linked = rng.random(n_rows) < rng.choice([0.0, 0.2, 0.6])
        codes[:, at] = np.where(linked, codes[:, rng.integers(at)] % cards[at], codes[:, at])
    frame = pd.DataFrame(codes, columns=[f"c{at}" for at in range(n_columns)])
    return frame.mask(rng.random(frame.shape) < gaps)


def all_forests(names):
    """Yield the edges of every forest over some nodes."""
    pairs = list(combinations(names, 2))
    for n_edges in range(len(names)):
        for edges in combinations(pairs, n_edges):
            graph = nx.Graph(edges)
            graph.add_nodes_from(names)
            if nx.is_forest(graph):
                yield edges


def model_of(frame, edges):
    """Return a forest over the columns, rooted anywhere, with uniform tables."""
    data = encode(frame)
    graph = nx.Graph(edges)
    graph.add_nodes_from(data.columns)
    above = {}
    for component in nx.connected_components(graph):
        above |= {child: parent for parent, child in nx.bfs_edges(graph, min(component))}
    parent = [data.columns.index(above[name]) if name in above else -1 for name in data.columns]
    tables = [
        np.full((1 if up < 0 else len(data.state_names[up]), len(states)), 1 / len(states))
        for up, states in zip(parent, data.state_names, strict=True)
    ]
    return LatentTree(data.columns, data.state_names, parent, [False] * len(parent), tables)


def bic_of_counts(frame, weights, edges):
    """BIC of a forest on a complete table: relative frequencies, and one logarithm per row and column."""
    model = model_of(frame, edges)
    total, n_parameters = 0.0, 0
    for node, name in enumerate(model.names):
        up = model.parent[node]
        given_states = frame[model.names[up]] if up >= 0 else pd.Series(0, index=frame.index)
        for state in given_states.unique():
            rows = given_states == state
            counts = pd.Series(weights[rows]).groupby(frame.loc[rows, name].to_numpy()).sum()
            counts = counts[counts > 0]
            total += float((counts * np.log(counts / counts.sum())).sum())
        n_parameters += model.tables[node].shape[0] * (model.tables[node].shape[1] - 1)
    return total - n_parameters * np.log(weights.sum()) / 2


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(1, 5), st.integers(5, 80), st.booleans())
def test_no_forest_has_a_higher_bic_if_no_cell_is_missing(seed, n_columns, n_rows, weighted):
    frame = random_table(seed, n_columns, n_rows)
    weights = np.random.default_rng(seed).integers(1, 5, n_rows).astype(float) if weighted else np.ones(n_rows)
    options = {"sample_weight": weights, "weight_kind": "frequency"} if weighted else {}
    learner = Baseline("forest").fit(frame, **options)
    best = max(bic_of_counts(frame, weights, edges) for edges in all_forests(list(frame.columns)))
    assert learner.bic_ == pytest.approx(best, abs=1e-8 * max(1, abs(best)))
    assert learner.score_ == learner.bic_
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, frame, **options), rel=1e-12)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_the_order_of_columns_and_rows_does_not_matter(seed):
    frame = random_table(seed, 5, 60, gaps=0.1)
    shuffled = frame.sample(frac=1, random_state=seed % 1000)[sorted(frame.columns, reverse=True)]
    one, other = (Baseline("forest").fit(table) for table in (frame, shuffled))
    assert {frozenset(edge) for edge in one.model_.edges()} == {frozenset(edge) for edge in other.model_.edges()}
    assert one.bic_ == pytest.approx(other.bic_, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_with_missing_cells_bic_is_not_below_that_of_the_pairwise_forest_and_near_the_best(seed):
    frame = random_table(seed, 4, 150, gaps=0.25)
    learner = Baseline("forest").fit(frame)

    models = [
        TreeEM(seed=0, atol=1e-6).fit(to_pgmpy(model_of(frame, edges)), frame)
        for edges in all_forests(list(frame.columns))
    ]
    values = [scores.bic(model.tree_, frame) for model in models]
    assert learner.bic_ <= max(values) + 1e-3  # nothing is above the best
    assert learner.bic_ >= max(values) - 1e-3


def test_columns_that_are_never_filled_together_count_as_independent():
    frame = pd.DataFrame({"x": [0, 1, 0, 1, None, None], "y": [None, None, None, None, 0, 1]})
    with pytest.warns(NoOverlapWarning):
        learner = Baseline("forest").fit(frame)
    assert not learner.model_.edges()


def test_independent_columns_get_no_edges():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, size=(2000, 12)))
    n_pairs, chance = 66, 0.0058  # P(chi-squared with one degree of freedom > ln 2000)
    assert len(Baseline("forest").fit(frame).model_.edges()) <= 3 * n_pairs * chance


def test_coil_42(data_folder):
    table = pd.read_csv(data_folder / "coil42_train.csv.gz")
    options = {"sample_weight": table.pop("count"), "weight_kind": "frequency"}
    assert Baseline("forest").fit(table, **options).bic_ == pytest.approx(-51_310.97, abs=0.01)


def test_a_time_limit_leaves_the_forest_so_far():
    table = random_table(0, 4, 200, gaps=0.2)
    learner = Baseline("forest", time_limit=1e-9, show_progress=False)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped"):
        learner.fit(table)
    assert learner.stopped_ == "time_limit"
    assert np.isfinite(learner.bic_)
