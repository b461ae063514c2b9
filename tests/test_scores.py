"""Scores against their definitions, written out by enumeration."""

import re
from dataclasses import asdict, make_dataclass
from dataclasses import fields as dataclass_fields
from math import lgamma, log

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG
from sklearn.base import clone

from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    BinA,
    BinG,
    FindHidden,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    compare_classes,
    plotting,
    presets,
    scores,
)
from pgmpy_latent.cli.classes import LatentClasses
from pgmpy_latent.cli.compare import comparison_lines
from pgmpy_latent.diagnostics import dimension
from pgmpy_latent.em import fit as em
from pgmpy_latent.em import starts
from pgmpy_latent.inference.queries import encode_for, engine_for, posterior, sample
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.fit_section import fit_section
from pgmpy_latent.report.html import decimal
from pgmpy_latent.tables.encode import encode
from pgmpy_latent.testing import codes_for, latent_trees, weights_for
from tests.support import reference

TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


def frame_of(tree, codes):
    """Return the codes as a table of state names."""
    columns = {}
    for at, name in enumerate(tree.observed_names):
        states = tree.state_names[tree.index(name)]
        columns[name] = pd.Series([states[code] if code >= 0 else None for code in codes[:, at]], dtype=object)
    return pd.DataFrame(columns)


def shaped(parent, cards, latent, seed=0):
    """Return a tree of the given shape with random tables."""
    rng = np.random.default_rng(seed)
    tables = [
        rng.dirichlet(np.ones(card), size=cards[above] if above >= 0 else 1)
        for above, card in zip(parent, cards, strict=True)
    ]
    names = [f"n{node}" for node in range(len(cards))]
    return LatentTree(names, [list(range(card)) for card in cards], parent, latent, tables)


def latent_class(classes, *items, seed=0):
    n_items = len(items)
    return shaped([-1] + [0] * n_items, [classes, *items], [True] + [False] * n_items, seed)


@st.composite
def scored_tables(draw, zeros=False, **options):
    """A small tree, a table with gaps, its rows as evidence, and weights."""
    tree = draw(latent_trees(max_nodes=6, max_card=3, zeros=zeros, **options))
    codes = draw(codes_for(tree, max_rows=8))
    weights = draw(weights_for(len(codes)))
    rows = reference.rows_of(codes, np.flatnonzero(~tree.latent))
    return tree, codes, rows, weights


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


# Formulas by hand

COIN = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
TOSSES = pd.DataFrame({"x": ["a", "b", "b", "b", "b"]})
COIN_LIKELIHOOD = log(0.25) + 4 * log(0.75)


def test_formulas_by_hand():
    assert scores.n_parameters(COIN) == 1
    assert scores.log_likelihood(COIN, TOSSES) == pytest.approx(COIN_LIKELIHOOD)
    assert scores.bic(COIN, TOSSES) == pytest.approx(COIN_LIKELIHOOD - log(5) / 2)
    assert scores.aic(COIN, TOSSES) == pytest.approx(COIN_LIKELIHOOD - 1)
    assert scores.caic(COIN, TOSSES) == pytest.approx(COIN_LIKELIHOOD - (log(5) + 1) / 2)
    assert scores.adjusted_bic(COIN, TOSSES) == pytest.approx(COIN_LIKELIHOOD - log(7 / 24) / 2)
    assert scores.icl(COIN, TOSSES) == pytest.approx(scores.bic(COIN, TOSSES))
    assert scores.effective_bic(COIN, TOSSES) == pytest.approx(scores.bic(COIN, TOSSES))
    assert scores.relative_entropy(COIN, TOSSES) == 1


def test_entropies_by_hand():
    tree = LatentTree(
        ["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False], [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]]
    )
    table = pd.DataFrame({"x": ["a", "b", None]})
    sure = -0.8 * log(0.8) - 0.2 * log(0.2)
    assert scores.classification_entropy(tree, table) == pytest.approx(2 * sure + log(2))
    assert scores.relative_entropy(tree, table) == pytest.approx(1 - (2 * sure + log(2)) / (3 * log(2)))
    assert scores.icl(tree, table) == pytest.approx(2 * log(0.5) - 3 / 2 * log(3) - 2 * sure - log(2))


def test_number_of_parameters_by_hand():
    assert scores.n_parameters(latent_class(3, 2, 2, 2, 2)) == 14
    assert scores.n_parameters(latent_class(1, 2, 5)) == 5
    assert scores.n_parameters(shaped([-1, 0, -1], [2, 3, 4], [True, False, False])) == 1 + 4 + 3


def test_impossible_rows():
    tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False], [[[0.5, 0.5]], [[1.0, 0], [1.0, 0]]])
    table = pd.DataFrame({"x": ["a", "b"]})
    found = scores.summary(tree, table)
    for name in ("log_likelihood", "bic", "aic", "caic", "adjusted_bic", "icl", "cheeseman_stutz", "effective_bic"):
        assert getattr(found, name) == -np.inf, name
    assert scores.icl(tree, table) == -np.inf
    assert np.isnan(found.relative_entropy)
    assert np.isnan(found.classification_entropy)


@pytest.mark.parametrize("prior", [0, -1.0, np.inf, np.nan, [1.0]])
def test_prior_must_be_a_positive_number(prior):
    with pytest.raises(ValueError, match="above zero"):
        scores.cheeseman_stutz(COIN, TOSSES, prior=prior)


# Against enumeration


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


# Weights


@given(scored_tables())
def test_a_weight_equals_a_repeated_row(problem):
    tree, codes, _, weights = problem
    weights = np.ceil(weights).astype(int)
    table = frame_of(tree, codes)
    weighted = asdict(scores.summary(tree, table, sample_weight=weights, weight_kind="frequency", effective=False))
    repeated = asdict(scores.summary(tree, table.loc[np.repeat(table.index, weights)], effective=False))
    assert weighted.keys() == repeated.keys()
    for name, value in weighted.items():
        if value is not None:
            np.testing.assert_allclose(value, repeated[name], **TOLERANCE, err_msg=name)


@given(scored_tables())
def test_summary_agrees_with_the_single_scores(problem):
    tree, codes, _, weights = problem
    data = encode_for(tree, frame_of(tree, codes), sample_weight=weights, weight_kind="frequency")
    found = asdict(scores.summary(tree, data, prior=2.0, random_state=3))
    assert found.pop("total_weight") == pytest.approx(weights.sum())
    assert found.pop("n_parameters") == scores.n_parameters(tree)
    assert found.pop("effective_dimension") == scores.effective_dimension(tree, random_state=3)
    assert found.pop("cheeseman_stutz") == scores.cheeseman_stutz(tree, data, prior=2.0)
    for name, value in found.items():
        np.testing.assert_allclose(value, getattr(scores, name)(tree, data), **TOLERANCE, err_msg=name)


def test_scores_take_arrays():
    tree = LatentTree([0, 1], [["a", "b"]] * 2, [-1, 0], [False] * 2, [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
    table = np.array([["a", "b"], ["b", "b"]])
    assert scores.bic(tree, table) == pytest.approx(log(0.5 * 0.1 * 0.5 * 0.8) - 3 / 2 * log(2))
    assert scores.bic(tree, encode(table)) == pytest.approx(scores.bic(tree, table))


# Effective dimension


@pytest.mark.parametrize(
    ("tree", "parameters", "dimension"),
    [
        (latent_class(3, 2, 2, 2, 2), 14, 13),
        (latent_class(2, 2, 2, 2), 7, 7),
        (latent_class(2, 2, 2), 5, 3),
        (latent_class(2, 2), 3, 1),
        (latent_class(1, 2, 3), 3, 3),
        (latent_class(3, 2, 2, 2), 11, 7),
        (shaped([-1, 0, 1, 0], [2, 3, 2, 4], [False] * 4), 14, 14),  # all seen
        (shaped([-1, 0, 0], [2, 3, 4], [True] * 3), 11, 0),  # nothing seen
        (shaped([-1, -1, 1, 1], [4, 2, 2, 2], [False, True, False, False]), 8, 6),  # a forest: 3 + 3
        (shaped([-1, 0, 1, 1, 1], [2, 1, 2, 2, 2], [True, True, False, False, False]), 4, 3),  # one-state hidden
        (shaped([-1, 0, 0], [3, 2, 4], [False, False, True]), 2 + 3 + 9, 2 + 3),  # hidden leaf
    ],
)
def test_known_dimensions(tree, parameters, dimension):
    assert scores.n_parameters(tree) == parameters
    assert scores.effective_dimension(tree) == dimension


@pytest.mark.parametrize(
    ("items", "classes"), [(3, 2), (4, 2), (5, 4), (5, 5), (5, 6), (6, 5), (6, 9), (7, 15), (7, 16)]
)
def test_binary_latent_class_models_are_otherwise_regular(items, classes):
    """Products of projective lines have no defective secant variety but the third one of four lines."""
    expected = min(2**items - 1, classes * (items + 1) - 1)
    assert scores.effective_dimension(latent_class(classes, *[2] * items)) == expected


def reached_by_elimination(tree):
    return reference.effective_dimension(tree.parent, tree.cards.tolist(), tree.latent, seed=0)


@given(latent_trees(max_nodes=7, max_card=3))
def test_dimension_equals_exact_rank(tree):
    assert scores.effective_dimension(tree) == reached_by_elimination(tree)


@given(latent_trees(min_nodes=6, max_nodes=8, max_card=3, forests=False, latents_are_inner=True))
@settings(max_examples=25)
def test_dimension_of_hidden_inner_nodes_equals_exact_rank(tree):
    assert scores.effective_dimension(tree) == reached_by_elimination(tree)


def test_dimension_from_random_rows_equals_that_from_all_cells(monkeypatch):
    monkeypatch.setattr(dimension, "MOST_CELLS", 0)
    monkeypatch.setattr(dimension, "MORE_ROWS", 3000)  # the cells of small trees must all turn up

    @given(latent_trees(max_nodes=7, max_card=3))
    @settings(max_examples=40)
    def agree(tree):
        assert scores.effective_dimension(tree) == reached_by_elimination(tree)

    agree()


def hierarchy(*leaf_cards, root_card, inner_card):
    """Return a hidden root above hidden nodes, each above three leaves."""
    n_inner = len(leaf_cards) // 3
    parent = [-1] + [0] * n_inner + [1 + at // 3 for at in range(len(leaf_cards))]
    cards = [root_card] + [inner_card] * n_inner + list(leaf_cards)
    return shaped(parent, cards, [True] * (1 + n_inner) + [False] * len(leaf_cards))


def test_dimension_of_a_hierarchy_from_rows_and_from_cells(monkeypatch):
    tree = hierarchy(*[2] * 9, root_card=2, inner_card=3)  # three states are too many next to a binary root
    assert (scores.n_parameters(tree), scores.effective_dimension(tree)) == (40, 37)
    monkeypatch.setattr(dimension, "MOST_CELLS", 0)
    assert scores.effective_dimension(tree) == 37


def test_dimension_of_models_with_too_many_cells():
    assert scores.effective_dimension(hierarchy(*[3] * 9, root_card=3, inner_card=3)) == 74  # regular: all of them
    assert scores.effective_dimension(latent_class(4, *[3] * 20)) == 163
    assert scores.effective_dimension(latent_class(2, *[2] * 100)) == 201


def test_dimension_does_not_depend_on_tables_or_root():
    zeros = latent_class(3, 2, 2, 2, 2).with_tables([[[1.0, 0, 0]], *[[[1.0, 0]] * 3] * 4])
    assert scores.effective_dimension(zeros) == 13
    below = shaped([1, -1, 1, 1, 1], [2, 3, 2, 2, 2], [False, True, False, False, False])
    above = shaped([-1, 0, 1, 1, 1], [2, 3, 2, 2, 2], [False, True, False, False, False])
    assert scores.effective_dimension(below) == scores.effective_dimension(above) == 13


@given(latent_trees(max_nodes=6, max_card=3, forests=False))
def test_gradients_equal_complex_steps(tree):
    """The derivative of ln P(row) is the imaginary part after an imaginary step."""
    columns = np.flatnonzero(~tree.latent)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, tree.cards[columns], size=(4, len(columns)))
    found = dimension._gradients(tree, codes)
    rows = reference.rows_of(codes, columns)
    expected, step = [], 1e-30
    for node, table in enumerate(tree.tables):
        for u in range(table.shape[0]):
            for state in range(table.shape[1] - 1):
                moved = [t.astype(complex) for t in tree.tables]
                moved[node][u, state] += 1j * step
                moved[node][u, -1] -= 1j * step
                logs = [np.log(reference.row_joint(tree.parent, moved, row)[1].sum()) for row in rows]
                expected.append(np.imag(logs) / step)
    np.testing.assert_allclose(found, np.array(expected).reshape(-1, 4).T, rtol=1e-8, atol=1e-8)


def test_effective_bic_uses_the_effective_dimension():
    tree = latent_class(3, 2, 2, 2, 2)
    table = sample(tree, 100, random_state=0)
    difference = scores.effective_bic(tree, table) - scores.bic(tree, table)
    assert difference == pytest.approx(log(100) / 2)


# A published example


def test_survey_of_values(data_folder):
    """Goodman's four questions on role conflict, two classes: numbers that poLCA prints too."""
    table = pd.read_csv(data_folder / "polca_values.csv")
    items, weights = table.drop(columns="count"), table["count"].to_numpy()
    shape = latent_class(2, 2, 2, 2, 2)
    names = ["class", *items.columns]
    tree = LatentTree(names, [[0, 1], *[[1, 2]] * 4], shape.parent, shape.latent, shape.tables)
    engine = engine_for(tree, encode_for(tree, items, sample_weight=weights, weight_kind="frequency"))
    rng = np.random.default_rng(0)
    fitted = em.fit(engine, np.array([starts.random_tables(engine.layout, rng) for _ in range(5)]), atol=1e-6)
    tree = tree.with_tables(engine.layout.unpack(fitted.tables))
    found = scores.summary(tree, items, sample_weight=weights, weight_kind="frequency")
    assert found.total_weight == 216
    assert (found.n_parameters, found.effective_dimension) == (9, 9)
    assert found.log_likelihood == pytest.approx(-504.4677, abs=1e-4)
    assert found.bic == pytest.approx(-528.656, abs=1e-3)
    assert -2 * found.aic == pytest.approx(1026.935, abs=1e-3)
    classes = posterior(tree, items).to_numpy()
    entropy = -(weights[:, None] * classes * np.log(classes)).sum()
    assert found.relative_entropy == pytest.approx(1 - entropy / (216 * np.log(2)))
    assert found.icl == pytest.approx(found.bic - entropy)


# What a parameter costs, in all searches

QUIET = {"random_state": 0, "show_progress": False}
ABOVE_ALL = DAG([("H", name) for name in "xyzw"], latents={"H"})
SEARCHES = [
    SplitMerge(**QUIET),
    RandomStarts(n_starts=4, **QUIET),
    EAST(tuning=presets.EAST.replace(look_ahead=0), **QUIET),
    BinA(**QUIET),
    BinG(**QUIET),
    HLTA(**QUIET),
    LatentClasses(max_states=3, n_starts=2, **QUIET),
    StructuralEM(**QUIET),
    FindHidden(StructuralEM(**QUIET), scoring_method="bic", **QUIET),
    AgglomerativeCardinality(ABOVE_ALL, scoring_method="mdl", **QUIET),
]


@pytest.mark.parametrize("learner", SEARCHES, ids=lambda learner: type(learner).__name__)
def test_all_searches_charge_the_one_penalty(monkeypatch, learner):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300) > 0
    table = pd.DataFrame({name: group ^ (rng.random(300) < 0.1) for name in "xyzw"})
    usual = clone(learner).fit(table)
    monkeypatch.setattr(scores, "penalty_per_parameter", lambda total_weight: 100.0)
    dear = clone(learner).fit(table)
    assert dear.score_ == pytest.approx(dear.log_likelihood_ - 100 * dear.n_parameters_)
    assert usual.n_parameters_ > dear.n_parameters_ == 4  # columns that do not depend on each other


# A score is added in one place


@pytest.fixture
def half_of_aic(monkeypatch):
    """A score of its own, for the time of a test: an entry of SCORES and a field of Summary."""
    own = scores.Score(
        "half of AIC", "LL − d/2", lambda parts: parts.total - parts.d / 2, for_networks=True, in_terminal=True, drawn=9
    )
    monkeypatch.setitem(scores.SCORES, "half_of_aic", own)
    longer = make_dataclass("Summary", [("half_of_aic", float)], bases=(scores.Summary,), frozen=True)
    monkeypatch.setattr(scores, "Summary", longer)


@pytest.mark.usefixtures("half_of_aic")
def test_a_new_score_is_in_the_summary_and_the_report_of_a_tree():
    tree = latent_class(2, 2, 2, 2)
    table = sample(tree, 50, random_state=0)
    expected = scores.log_likelihood(tree, table) - tree.n_parameters / 2
    assert scores.summary(tree, table).half_of_aic == pytest.approx(expected)
    assert row_of_report(tree, table, "Half of AIC")[:3] == ["LL − d/2", decimal(expected), decimal(-2 * expected)]


@pytest.mark.usefixtures("half_of_aic")
def test_a_new_score_is_in_the_report_of_a_network():
    rng = np.random.default_rng(1)
    tables = [[[0.5, 0.5]], [[0.5, 0.5]], rng.dirichlet(np.ones(2), 4)]
    network = LatentNetwork(["x", "y", "z"], [[0, 1]] * 3, [(), (), (0, 1)], [False] * 3, tables)
    table = sample(network, 50, random_state=0)
    expected = scores.log_likelihood(network, table) - network.n_parameters / 2
    assert row_of_report(network, table, "Half of AIC")[1] == decimal(expected)


@pytest.mark.usefixtures("half_of_aic")
def test_a_new_score_is_in_a_comparison_in_the_terminal_and_in_pictures(monkeypatch):
    table = sample(latent_class(2, 2, 2, 2), 50, random_state=0)
    compared = compare_classes(table, [1, 2], n_starts=2, show_progress=False)
    expected = compared["log_likelihood"] - compared["n_parameters"] / 2
    np.testing.assert_allclose(compared["half_of_aic"], expected)
    monkeypatch.setenv("COLUMNS", "200")
    assert "half of AIC" in comparison_lines(compared)[0]
    monkeypatch.setenv("COLUMNS", "60")
    assert any("no room for" in line and "half of AIC" in line for line in comparison_lines(compared))
    drawn = [text.get_text() for text in plotting.plot_comparison(compared).get_legend().get_texts()]
    assert drawn == ["BIC", "adjusted BIC", "CAIC", "AIC", "ICL", "half of AIC"]


def row_of_report(model, table, title):
    """Return the cells of a row of the report's table of scores, after the first."""
    rows = re.findall("<tr>(.*?)</tr>", fit_section(Facts(model, encode_for(model, table))), re.DOTALL)
    cells = [[re.sub("<[^>]+>", "", cell) for cell in re.findall("<t[dh].*?</t[dh]>", row, re.DOTALL)] for row in rows]
    return next(row[1:] for row in cells if row[0] == title)


def test_every_score_has_a_function_of_its_name_and_a_field_of_the_summary():
    fields = {field.name for field in dataclass_fields(scores.Summary)}
    assert {*scores.SCORES} <= fields & {*scores.__all__}


def test_documentation_names_all_scores():
    assert all(f"``{name}``" in compare_classes.__doc__ for name in scores.compared_scores())
    assert "by default ``bic``, ``adjusted_bic``, ``caic``, ``aic`` and ``icl``." in plotting.plot_comparison.__doc__
