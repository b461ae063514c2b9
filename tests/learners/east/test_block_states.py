"""The last look at numbers of states, in one block of a tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import EAST, LatentTree, RandomStarts, sample, scores
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.learners.east.block_states import split_and_merged, with_states_of
from pgmpy_latent.learners.east.blocks import Division
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators.blocks import rooted_at_columns
from tests.learners.east.test_blocks import fitted_trees, total


def three_classes(n_rows=600):
    tables = [[[0.4, 0.3, 0.3]], *[np.eye(3) * 0.85 + 0.05] * 5]
    names = ["H", *"abcde"]
    tree = LatentTree(names, [range(3)] * 6, [-1, *[0] * 5], [True, *[False] * 5], tables)
    return sample(tree, n_rows, random_state=0)


def test_missing_states_are_found():
    table = three_classes()
    tree = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table).tree_
    data = encode_for(tree, table)
    penalty = scores.penalty_per_parameter(data.total_weight)
    search = Search(Settings())
    changed, value = split_and_merged(
        tree, data, search, lambda model, likelihood: likelihood - penalty * model.n_parameters
    )
    assert changed.cards[changed.latent].tolist() == [3]
    assert value == pytest.approx(total(changed, data), rel=1e-9)


@settings(deadline=None, max_examples=15)
@given(fitted_trees() | fitted_trees(gaps=True), st.sampled_from([2, np.inf]))
def test_a_last_look_never_lowers_the_score(fitted, max_states):
    tree, data = fitted
    penalty = scores.penalty_per_parameter(data.total_weight)

    def score(model, likelihood):
        return likelihood - penalty * model.n_parameters

    changed, value = split_and_merged(tree, data, Search(Settings()), score, max_states)
    assert score(changed, value) >= score(tree, total(tree, data)) - 1e-6
    assert value == pytest.approx(total(changed, data), rel=1e-9)
    assert changed.names == tree.names
    assert changed.parents == tree.parents
    assert (changed.cards[changed.latent] <= max(max_states, 2)).all()


@settings(deadline=None, max_examples=25)
@given(fitted_trees() | fitted_trees(gaps=True))
def test_a_block_put_back_leaves_the_distribution(fitted):
    tree, data = fitted
    division = Division(data)
    tree = rooted_at_columns(tree, division.columns)
    for block in division.blocks(tree):
        again = with_states_of(tree, block.tree)
        for node, table in enumerate(tree.tables):
            np.testing.assert_allclose(again.tables[node], table, atol=1e-6)
        assert again.state_names == tree.state_names


def test_the_search_looks_at_states_last():
    table = three_classes()
    learner = EAST(random_state=0, show_progress=False, start=_too_few_states(table), max_latents=1).fit(table)
    assert learner.n_states_ == {learner.latents_[0]: 3}


def _too_few_states(table):
    return RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table).tree_


def test_engines_agree_on_what_is_left(monkeypatch):
    """A tree that splits and merges cannot improve is finished: looking again finds nothing."""
    table = three_classes()
    tree = EAST(random_state=0, show_progress=False).fit(table).tree_
    data = encode_for(tree, table)
    penalty = scores.penalty_per_parameter(data.total_weight)
    _, value = split_and_merged(
        tree, data, Search(Settings()), lambda model, likelihood: likelihood - penalty * model.n_parameters
    )
    engine = engine_for(tree, data)
    assert value == pytest.approx(float(engine.log_likelihood(engine.layout.pack(tree.tables))), abs=0.5)
