"""Searches over trees whose columns stand anywhere: messages, moves and fits in blocks against the whole tree."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentTree, log_likelihood, sample
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.learners.east.block_evaluation import BlockEvaluation
from pgmpy_latent.learners.east.block_fit import refitted
from pgmpy_latent.learners.east.blocks import BlockMessages, Division
from pgmpy_latent.learners.east.moves import moves_of
from pgmpy_latent.learners.east.settings import EastSettings, Rules
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators import make_regular
from pgmpy_latent.operators.blocks import rooted_at_columns

ANYWHERE = Rules(columns="anywhere")


def random_tree(rng):
    """A regular tree of four to nine nodes, in which nodes with three neighbours or more may be hidden."""
    n_nodes = int(rng.integers(4, 10))
    parent = [-1, *(int(rng.integers(node)) for node in range(1, n_nodes))]
    degrees = np.bincount([node for node in parent if node >= 0], minlength=n_nodes) + (np.array(parent) >= 0)
    latent = (degrees > 2) & (rng.random(n_nodes) < 0.7)
    cards = np.where(latent, 2, rng.integers(2, 4, n_nodes))
    tables = [
        rng.dirichlet(np.ones(card), size=1 if up < 0 else cards[up]) for up, card in zip(parent, cards, strict=True)
    ]
    names = [f"H{node}" if latent[node] else f"x{node}" for node in range(n_nodes)]
    return make_regular(LatentTree(names, [range(card) for card in cards], parent, latent, tables))


@st.composite
def fitted_trees(draw, gaps=False):
    """A regular tree whose columns may stand inside, and a table that it was fitted to."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tree = random_tree(rng)
    rows = sample(tree, 80, random_state=int(rng.integers(1000)))
    if gaps:
        rows[tree.observed_names[0]] = rows[tree.observed_names[0]].astype(object).mask(np.arange(80) % 7 == 0)
    data = encode_for(tree, rows)
    tree = rooted_at_columns(tree, Division(data).columns)
    engine = engine_for(tree, data)
    search = Search(Settings(tol=1e-9, search_tol=1e-9, search_iter=3000, accelerate=False))
    fit = search.fit(engine, engine.layout.pack(tree.tables))
    return tree.with_tables(engine.layout.unpack(fit.tables)), data


def total(tree, data):
    engine = engine_for(tree, data)
    return float(engine.log_likelihood(engine.layout.pack(tree.tables)))


@settings(deadline=None, max_examples=30)
@given(fitted_trees() | fitted_trees(gaps=True))
def test_messages_of_blocks_are_those_of_the_tree(fitted):
    tree, data = fitted
    whole, divided = NodeMessages(tree, data), BlockMessages(tree, Division(data))
    for node in range(tree.n_nodes):
        np.testing.assert_allclose(divided.posterior(node), whole.posterior(node), atol=1e-6)
        np.testing.assert_allclose(divided.completed(node), whole.completed(node), atol=1e-5)


@settings(deadline=None, max_examples=30)
@given(fitted_trees() | fitted_trees(gaps=True))
def test_log_likelihoods_of_blocks_add_up(fitted):
    tree, data = fitted
    division = Division(data)
    blocks = division.blocks(tree)
    value = division.log_likelihood_of_roots(tree) + sum(block.log_likelihood for block in blocks)
    value -= sum(division.log_likelihood(block.gate) for block in blocks if block.gate is not None)
    assert value == pytest.approx(total(tree, data), rel=1e-9)


@settings(deadline=None, max_examples=25)
@given(fitted_trees() | fitted_trees(gaps=True))
def test_gains_are_those_of_the_tree_that_a_move_leads_to(fitted):
    """Tables that a move changes are fitted in its blocks; the log-likelihood of the whole tree rises by as much."""
    tree, data = fitted
    search = Search(Settings(), random_state=0)
    evaluation = BlockEvaluation(BlockMessages(tree, Division(data)), search, EastSettings(rules=ANYWHERE), 1.0)
    base = total(tree, data)
    for move in moves_of(tree, ANYWHERE):
        evaluated = evaluation.candidate(move)
        new = evaluated.move.apply(tree, evaluated.changed)
        assert total(new, data) - base == pytest.approx(evaluated.gain, abs=1e-4), move
        assert new.n_parameters - tree.n_parameters == evaluated.n_more, move


@settings(deadline=None, max_examples=25)
@given(fitted_trees() | fitted_trees(gaps=True), st.data())
def test_fits_in_blocks_are_fits_of_the_whole_tree(fitted, data_of_test):
    tree, data = fitted
    search = Search(Settings(), random_state=0)
    messages = BlockMessages(tree, Division(data))
    evaluation = BlockEvaluation(messages, search, EastSettings(rules=ANYWHERE), 1.0)
    moves = moves_of(tree, ANYWHERE)
    assume(moves)
    evaluated = evaluation.candidate(data_of_test.draw(st.sampled_from(moves)))
    changed = make_regular(evaluated.move.apply(tree, evaluated.changed))
    new, value = refitted(changed, messages, search)
    assert value == pytest.approx(total(new, data), rel=1e-9)
    assert value >= total(changed, data) - 1e-6


def test_moves_reach_any_neighbour():
    tree = make_regular(sample_tree())
    data = encode_for(tree, sample(tree, 200, random_state=0))
    assert log_likelihood(tree, data) < 0
    operators = {(type(move).__name__, str(move)) for move in moves_of(tree, ANYWHERE)}
    leaves = {(type(move).__name__, str(move)) for move in moves_of(tree, Rules())}
    assert leaves < operators
    assert ("Relocate", "c: H to a") in operators - leaves  # a leaf to a column
    assert ("Delete", "H into a") in operators - leaves  # a hidden variable into a column


def sample_tree():
    leaf = [[0.9, 0.1], [0.2, 0.8]]
    return LatentTree("Habcde", [[0, 1]] * 6, [-1, 0, 0, 0, 1, 1], [True] + [False] * 5, [[[0.5, 0.5]], *[leaf] * 5])
