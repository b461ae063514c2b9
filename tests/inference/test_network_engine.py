"""Propagation in networks of any shape: against enumeration, against the engine of trees, and against pgmpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import to_pgmpy
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.exceptions import ComponentTooLargeError, InvalidTreeError
from pgmpy_latent.inference import queries
from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.model.network import LatentNetwork, as_network, blanket, topological_order
from pgmpy_latent.networks.counts import Completion
from pgmpy_latent.testing import codes_for, latent_networks, latent_trees, weights_for
from tests.support import reference_networks as reference


@st.composite
def problems(draw, zeros=False, **options):
    """Return a network, rows of codes (some cells missing, some hidden nodes observed) and their weights."""
    network = draw(latent_networks(zeros=zeros, **options))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(1, 8))
    states = reference.joint_states(network.cards)
    probability = reference.joint_probabilities(network, states)
    codes = states[rng.choice(len(states), size=n_rows, p=probability / probability.sum())]
    codes[:, network.latent] = -1
    codes[rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.3]))] = -1
    return network, codes, draw(weights_for(n_rows))


def engine_of(network, codes, weights):
    engine = NetworkEngine(network.parents, network.cards, codes, weights, network.names)
    return engine, engine.layout.pack(network.tables)


@given(problems(zeros=None))
@settings(max_examples=150)
def test_log_likelihoods_and_counts_are_those_of_enumeration(problem):
    network, codes, weights = problem
    engine, tables = engine_of(network, codes, weights)
    logs = reference.log_likelihoods(network, codes)
    np.testing.assert_allclose(engine.row_log_likelihoods(tables), logs, atol=1e-10)
    total, counts = engine.expected_counts(tables)
    np.testing.assert_allclose(total, weights @ logs, atol=1e-9)
    np.testing.assert_allclose(engine.log_likelihood(tables), weights @ logs, atol=1e-9)
    for found, expected in zip(
        engine.layout.unpack(counts), reference.expected_counts(network, codes, weights), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-9)


@given(problems(max_nodes=5), st.data())
def test_beliefs_and_counts_of_any_nodes_are_those_of_enumeration(problem, data):
    network, codes, weights = problem
    engine, tables = engine_of(network, codes, weights)
    nodes = data.draw(st.permutations(range(network.n_nodes)))[: data.draw(st.integers(1, min(4, network.n_nodes)))]
    for node, found in zip(nodes, engine.beliefs(tables, nodes), strict=True):
        np.testing.assert_allclose(found, reference.beliefs(network, codes, node), atol=1e-10)
    expected = reference.family_counts(network, codes, weights, nodes)
    np.testing.assert_allclose(Completion(engine, tables).counts(nodes), expected.ravel(), atol=1e-9)


@given(st.data())
def test_forests_give_what_the_engine_of_trees_gives(data):
    tree = data.draw(latent_trees(max_nodes=6, max_card=3))
    codes = np.full((6, tree.n_nodes), -1)
    codes[:, ~tree.latent] = data.draw(codes_for(tree, min_rows=6, max_rows=6))
    weights = data.draw(weights_for(6))
    evidence = {n: Evidence(codes[:, n].copy(), int(tree.cards[n])) for n in np.flatnonzero(~tree.latent)}
    trees = TreeEngine(compile_plan(tree.parent, evidence), tree.cards, weights)
    engine, tables = engine_of(as_network(tree), codes, weights)
    for one, other in zip(engine.expected_counts(tables), trees.expected_counts(tables), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@given(problems(), st.integers(0, 2**16))
def test_em_never_falls_and_its_answer_does_not_depend_on_threads(problem, seed):
    network, codes, weights = problem
    engine, _ = engine_of(network, codes, weights)
    rng = np.random.default_rng(seed)
    starts = np.stack([random_tables(engine.layout, rng) for _ in range(3)])
    found = em.fit(engine, starts, max_iter=25, atol=0.0)
    assert (np.diff(found.log_likelihoods) >= -1e-9 * max(1.0, abs(found.log_likelihood))).all()
    again = em.fit(engine, starts, max_iter=25, atol=0.0, n_jobs=2)
    np.testing.assert_array_equal(found.tables, again.tables)


def test_impossible_rows_have_minus_infinity_and_no_belief():
    network = LatentNetwork(
        ["H", "x", "y"], [[0, 1]] * 3, [(), (0,), (0, 1)], [True, False, False],
        [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0]] * 4],
    )  # fmt: skip
    engine, tables = engine_of(network, np.array([[-1, 0, 1], [-1, 1, 0]]), np.ones(2))
    assert np.isneginf(engine.row_log_likelihoods(tables)).tolist() == [True, False]
    assert np.isneginf(engine.expected_counts(tables)[0])
    belief = engine.beliefs(tables, [0])[0]
    assert np.isnan(belief[0]).all()
    np.testing.assert_allclose(belief[1], [0.0, 1.0])


def test_many_hidden_variables_in_a_chain_do_not_underflow():
    """Two thousand hidden nodes with a child each: every message is scaled."""
    rng = np.random.default_rng(0)
    n = 2_000
    parents = [() if node == 0 else (node - 1,) for node in range(n)] + [(node,) for node in range(n)]
    codes = np.concatenate([np.full((3, n), -1), rng.integers(2, size=(3, n))], axis=1)
    engine = NetworkEngine(parents, [2] * (2 * n), codes)
    tables = random_tables(engine.layout, rng)
    trees = TreeEngine(
        compile_plan([-1, *range(n - 1), *range(n)], {n + at: Evidence(codes[:, n + at].copy(), 2) for at in range(n)}),
        [2] * (2 * n),
    )
    np.testing.assert_allclose(engine.row_log_likelihoods(tables), trees.row_log_likelihoods(tables), rtol=1e-10)


@given(problems(max_nodes=4))
@settings(max_examples=20)
def test_draws_fill_everything_and_follow_the_posterior(problem):
    network, codes, _ = problem
    many = np.repeat(codes[:1], 2_000, axis=0)
    engine, tables = engine_of(network, many, None)
    drawn = engine.draw(tables, np.random.default_rng(0))
    assert (drawn >= 0).all()
    seen = codes[0] >= 0
    assert (drawn[:, seen] == codes[0, seen]).all()
    for node in range(network.n_nodes):
        shares = np.bincount(drawn[:, node], minlength=network.cards[node]) / len(drawn)
        np.testing.assert_allclose(shares, reference.beliefs(network, codes[:1], node)[0], atol=0.06)


def test_a_component_that_is_too_large_is_refused_by_name():
    parents = [(), (), (), (0, 1, 2)]
    codes = np.array([[-1, -1, -1, 0]])
    with pytest.raises(ComponentTooLargeError, match=r"\['a', 'b', 'c'\].*125 entries.*at most|most allowed are 100"):
        NetworkEngine(parents, [5, 5, 5, 2], codes, names=["a", "b", "c", "d"], most_entries=100)


def test_pgmpy_gives_the_same_posterior():
    from pgmpy.inference import VariableElimination

    network = LatentNetwork(
        ["H", "G", "x", "y"], [[0, 1], [0, 1, 2], ["a", "b"], ["c", "d"]], [(), (0,), (0, 1), (1, 2)],
        [True, True, False, False],
        [np.random.default_rng(seed).dirichlet(np.ones(card), size=rows)
         for seed, (rows, card) in enumerate([(1, 2), (2, 3), (6, 2), (6, 2)])],
    )  # fmt: skip
    import pandas as pd

    found = queries.posterior(network, pd.DataFrame({"x": ["b"], "y": ["c"]}))
    for name in ("H", "G"):
        asked = VariableElimination(to_pgmpy(network)).query([name], evidence={"x": "b", "y": "c"}, show_progress=False)
        np.testing.assert_allclose(found[name].to_numpy()[0], asked.values, atol=1e-10)


def test_cycles_are_named_and_orders_respect_edges():
    with pytest.raises(InvalidTreeError, match="form a cycle"):
        topological_order([(1,), (2,), (0,)], ["a", "b", "c"])
    assert topological_order([(2,), (0, 2), ()]) == [2, 0, 1]
    assert blanket([(), (0, 2), (), (1,)], 1) == [0, 2, 3]
