"""EAST over all trees of columns and hidden variables: what it must not fall below, and what comes back."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy

from pgmpy_latent import EAST, Baseline, LatentTree, datasets, presets, sample, scores
from pgmpy_latent.learners.east.edge_moves import Relocate
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.operators import make_regular

QUIET = {"random_state": 0, "show_progress": False}
QUICK = presets.EAST.replace(excursions=(), look_ahead=0)


def table_of(rng, card, above):
    """Rows with a dominant entry, a different one in each row where there are as many."""
    return 0.8 * np.eye(card)[np.arange(above) % card] + 0.2 * rng.dirichlet(np.ones(card), size=above)


def model(parent, latent, seed=0):
    """A tree with binary columns and hidden variables of two states."""
    rng = np.random.default_rng(seed)
    tables = [[[0.5, 0.5]] if up < 0 else table_of(rng, 2, 2) for up in parent]
    names = [f"H{node}" if hidden else f"x{node}" for node, hidden in enumerate(latent)]
    return LatentTree(names, [[0, 1]] * len(parent), parent, latent, tables)


MODELS = {
    "a tree of columns": model([-1, 0, 1, 1, 3, 3, 0], [False] * 7),
    "a latent tree": model([-1, 0, 0, 0, 0, 0], [True] + [False] * 5),
    "both": model([-1, 0, 0, 0, 1, 4, 4, 6], [True] + [False] * 7),
    "two hidden variables at a column": model(
        [-1, 0, 0, 0, 3, 4, 4, 4], [True, False, False, False, True] + [False] * 3
    ),
}


def shape(tree):
    """Return the undirected tree with hidden nodes nameless, for comparisons up to their names."""
    graph = nx.Graph([(tree.names[node], tree.names[up]) for node, up in enumerate(tree.parent) if up >= 0])
    graph.add_nodes_from(tree.names)
    nx.set_node_attributes(graph, {name: None if name in tree.latent_names else name for name in tree.names}, "column")
    return graph


def same_shape(one, other):
    return nx.is_isomorphic(shape(one), shape(other), node_match=lambda a, b: a["column"] == b["column"])


@pytest.mark.parametrize("name", MODELS)
def test_the_generating_tree_comes_back(name):
    true = make_regular(MODELS[name])
    rows = sample(true, 4000, random_state=1)
    learner = EAST(columns="anywhere", **QUIET).fit(rows)
    assert same_shape(learner.tree_, true)
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, rows), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_bic_is_not_below_that_of_the_forest(seed, gaps):
    rng = np.random.default_rng(seed)
    rows = sample(MODELS["both"], 300, random_state=seed)
    rows = rows.astype(object).mask(rng.random(rows.shape) < gaps)
    learner = EAST(columns="anywhere", tuning=QUICK, **QUIET).fit(rows)
    assert learner.bic_ >= Baseline("forest").fit(rows).bic_ - 1e-3


@pytest.mark.parametrize(("evaluation", "columns"), [("auto", "anywhere"), ("dc", "leaves")])
def test_columns_stand_anywhere_unless_the_evaluation_knows_leaves_only(evaluation, columns):
    rows, tuning = sample(MODELS["both"], 500, random_state=0), QUICK.replace(evaluation=evaluation)
    learner = EAST(tuning=tuning, **QUIET).fit(rows)
    assert learner.tree_ == EAST(columns=columns, tuning=tuning, **QUIET).fit(rows).tree_
    inner = [name for name, degree in shape(learner.tree_).degree() if degree > 1]
    assert set(inner).isdisjoint(rows) == (columns == "leaves")


def linked_columns(tree):
    """Return the edges between columns."""
    hidden = set(tree.latent_names)
    return [edge for edge in shape(tree).edges if hidden.isdisjoint(edge)]


def test_columns_that_are_leaves_are_linked_with_each_other_in_parts_without_a_hidden_variable():
    apart = model([-1, 0, 0, 0, 0, -1, 5], [True] + [False] * 6)
    rows = sample(apart, 500, random_state=0)
    tree = EAST(columns="leaves", tuning=QUICK, **QUIET).fit(rows).tree_
    assert same_shape(tree, apart)
    assert [set(edge) for edge in linked_columns(tree)] == [{"x5", "x6"}]


def test_parts_without_a_hidden_variable_are_linked_by_any_of_their_columns():
    tree, rules = model([-1, 0, 0, 0, -1, 4], [True] + [False] * 5), Rules(columns="leaves")
    links = {(*move.moved, move.new) for move in Relocate.in_tree(tree, rules) if move.old is None}
    assert links == {("x4", "H0"), ("x5", "H0")}
    of_columns = {(*move.moved, move.new) for move in Relocate.in_tree(model([-1, -1, 1], [False] * 3), rules)}
    assert {("x0", "x1"), ("x0", "x2")} <= of_columns


def test_bic_is_not_below_that_of_columns_as_leaves():
    rows = sample(MODELS["both"], 500, random_state=0)
    anywhere, leaves = (EAST(columns=columns, **QUIET).fit(rows) for columns in ("anywhere", "leaves"))
    assert anywhere.bic_ >= leaves.bic_


def test_columns_that_must_share_a_hidden_variable_do():
    rows = sample(MODELS["a tree of columns"], 500, random_state=0)
    tree = EAST(columns="anywhere", together=[["x0", "x5"]], tuning=QUICK, **QUIET).fit(rows).tree_
    graph = shape(tree)
    assert any(graph.nodes[node]["column"] is None for node in nx.common_neighbors(graph, "x0", "x5"))


def rank_two(seed=0):
    """Two columns of eight categories, of which two groups are all that they have in common."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, 2000)
    return pd.DataFrame({name: 4 * group + rng.integers(0, 4, 2000) for name in ("x", "y")})


def test_what_two_columns_of_many_categories_have_in_common_is_a_hidden_variable_between_them():
    rows = rank_two()
    learner = EAST(**QUIET).fit(rows)
    assert learner.tree_.cards[learner.tree_.latent].tolist() == [2]
    assert sorted(learner.model_.edges()) == [("H1", "x"), ("H1", "y")]
    counts = pd.crosstab(rows["x"], rows["y"]).to_numpy()
    grouped = counts.reshape(2, 4, 2, 4).sum(axis=(1, 3))  # the maximum: within a group, x and y are independent
    by_hand = (
        xlogy(grouped, grouped / len(rows)).sum()
        + sum(xlogy(sums, sums / np.repeat(grouped.sum(axis=1), 4)).sum() for sums in (counts.sum(1), counts.sum(0)))
        - np.log(len(rows)) / 2 * 29
    )
    assert learner.bic_ == pytest.approx(by_hand, abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_six_coins_need_hidden_variables_on_edges(seed):
    table = datasets.coins("six_coins", random_state=0)
    learner = EAST(tuning=QUICK, random_state=seed, show_progress=False).fit(table)
    assert sorted(learner.tree_.cards[learner.tree_.latent]) == [2, 4, 4]
    assert learner.bic_ > -5298.5  # the tree with two bits in either pair and one bit between the pairs


def test_other_places_are_refused():
    with pytest.raises(ValueError, match="columns is 'inside'; give 'anywhere', 'leaves' or None"):
        EAST(columns="inside").fit(pd.DataFrame({"x": [0, 1], "y": [0, 1], "z": [0, 1]}))
