"""EAST on tables with numbers: gains are those of whole trees, numbers stay leaves, and planted trees are found."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent import EAST, BinG, RandomStarts, presets, sample
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.learners.east.block_evaluation import BlockEvaluation
from pgmpy_latent.learners.east.blocks import BlockMessages, Division
from pgmpy_latent.learners.east.evaluation import Evaluation
from pgmpy_latent.learners.east.moves import Interpose, moves_of
from pgmpy_latent.learners.east.settings import EastSettings, Rules
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.learners.skeletons import in_order_of_table
from pgmpy_latent.model.emissions import emissions_of, emissions_table
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import cut_edge
from pgmpy_latent.operators.blocks import rooted_at_columns
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.tables.encode import encode
from pgmpy_latent.testing.strategies import cells_for, mixed_trees
from tests.support import reference_east as slow

seeds = st.integers(0, 2**32 - 1)
KINDS = {"g1": "gaussian", "p1": "poisson", "g2": "gaussian", "g3": "shared_gaussian", "noise": "gaussian"}


def two_factors(n=200, seed=0, missing=0.0):
    """Return a table of two hidden variables with three columns each, and a column that belongs to neither."""
    rng = np.random.default_rng(seed)
    first = rng.integers(2, size=n)
    second = np.where(rng.random(n) < 0.8, first, 1 - first)
    frame = pd.DataFrame(
        {
            "a": (rng.random(n) < np.array([0.15, 0.85])[first]).astype(int),
            "g1": rng.normal(np.array([0.0, 2.0])[first], 1.0),
            "p1": rng.poisson(np.array([1.0, 4.0])[first]),
            "b": (rng.random(n) < np.array([0.15, 0.85])[second]).astype(int),
            "g2": rng.normal(np.array([0.0, 2.0])[second], np.array([1.0, 0.5])[second]),
            "g3": rng.normal(np.array([0.0, 2.0])[second], 1.0),
            "noise": rng.normal(size=n),
        }
    )
    return frame.mask(rng.random(frame.shape) < missing)


@st.composite
def problems(draw):
    """Return a tree with numbers, and a table."""
    tree = draw(mixed_trees(max_nodes=4, max_numeric=3))
    assume(slow.sensible(tree))
    alone = min(emissions_of(tree))
    apart = cut_edge(tree, tree.names[tree.parent[alone]], tree.names[alone])
    if draw(st.booleans()) and slow.sensible(apart):  # a number that stands alone
        tree = apart
    cells = draw(cells_for(tree, min_rows=3, max_rows=10))
    data = encode_for(tree, pd.DataFrame({name: pd.Series(column) for name, column in cells.items()}))
    emissions = {tree.names[node]: emission for node, emission in emissions_of(tree).items()}
    assume(all((emissions[name].features_of(values) >= 0).all() for name, values in data.values.items()))
    return tree, data


def log_likelihood(tree, data):
    engine = engine_for(tree, data)
    return float(engine.log_likelihood(engine.layout.pack(tree.tables)))


def with_shares(tree, division):
    """Return a tree rooted at columns without missing cells, which have their distribution in the table."""
    tree = rooted_at_columns(tree, division.columns)
    tables = list(tree.tables)
    for name in division.columns:
        if tree.parent[tree.index(name)] < 0:
            tables[tree.index(name)] = division.share(name)[None]
    return tree.with_tables(tables)


def evaluation_of(tree, data, in_blocks):
    rules = Rules(columns="anywhere")
    options = (Search(Settings(), random_state=0), EastSettings(n_starts=2, n_steps=3, rules=rules), 1.0)
    if in_blocks:
        division = Division(data)
        return BlockEvaluation(BlockMessages(with_shares(tree, division), division), *options)
    return Evaluation(NodeMessages(tree, data), *options)


@settings(max_examples=40)
@given(problems(), seeds, st.booleans())
def test_the_gain_of_every_move_is_the_difference_of_log_likelihoods_of_whole_trees(problem, seed, in_blocks):
    tree, data = problem
    evaluation = evaluation_of(tree, data, in_blocks)
    tree = evaluation.tree
    before = log_likelihood(tree, data)
    assume(before > -1e5)  # a cell that no state can explain
    moves = moves_of(tree, Rules(columns="anywhere"))
    chosen = np.random.default_rng(seed).permutation(len(moves))[:4]
    for move in map(moves.__getitem__, chosen.tolist()):
        found = evaluation.candidate(move)
        larger = move.apply(tree, found.changed)
        assert found.gain == pytest.approx(log_likelihood(larger, data) - before, abs=1e-6 * max(1.0, abs(before)))
        if not isinstance(move, Interpose):  # which says the most states
            assert found.n_more == larger.n_parameters - tree.n_parameters
        assert all(larger.parent[node] >= 0 or not larger.child_lists[node] for node in emissions_of(larger))
        assert not set(emissions_of(larger)).intersection(larger.parent.tolist())


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_planted_hidden_variables_are_found(missing):
    frame = two_factors(missing=missing)
    learner = EAST(random_state=0, show_progress=False).fit(frame, kinds=KINDS)
    tree = learner.tree_
    around = [{tree.names[at] for at in neighbours_of(tree, tree.index(name))} for name in tree.latent_names]
    assert sorted(sorted(names - set(tree.latent_names)) for names in around) == [["a", "g1", "p1"], ["b", "g2", "g3"]]
    assert len(neighbours_of(tree, tree.index("noise"))) == 0
    assert learner.log_likelihood_ == pytest.approx(learner.score_samples(frame).sum(), rel=1e-9)
    assert learner.kinds_ == {"a": "categorical", "b": "categorical", **KINDS}
    assert set(learner.emissions_.index) == set(KINDS)
    assert set(learner.model_.nodes()) == {"H1", "H2", "a", "b"}


def test_a_number_beside_a_column_is_below_it():
    rng = np.random.default_rng(0)
    b = rng.integers(2, size=200)
    frame = pd.DataFrame({"a": rng.normal(3.0 * b), "b": b, "c": rng.integers(2, size=200)})
    learner = EAST(random_state=0, show_progress=False).fit(frame, kinds={"a": "gaussian"})
    assert learner.latents_ == []
    assert learner.tree_.names[learner.tree_.parent[learner.tree_.index("a")]] == "b"
    assert set(learner.model_.nodes()) == {"b", "c"}


def test_workers_the_order_of_rows_and_columns_and_interruptions_change_nothing(tmp_path):
    frame = two_factors(60)[["a", "g1", "b", "g2"]]
    kinds = {"g1": "gaussian", "g2": "gaussian"}
    options = {"random_state": 0, "show_progress": False}
    learner = EAST(**options).fit(frame, kinds=kinds)
    turned = frame[frame.columns[::-1]].sample(frac=1, random_state=1)
    assert EAST(n_jobs=2, **options).fit(turned, kinds=kinds).bic_ == learner.bic_
    path = tmp_path / "east.json"
    with pytest.warns(match="the time limit stopped"):
        EAST(checkpoint=path, time_limit=1e-3, **options).fit(frame, kinds=kinds)
    assert EAST(checkpoint=path, **options).fit(frame, kinds=kinds).tree_ == learner.tree_


def test_a_table_of_categories_through_the_mixed_path_gives_what_the_categorical_path_gives():
    frame = sample(LatentTree(
        ["H", "x", "y", "z"], [[0, 1], "ab", "ab", "ab"], [-1, 0, 0, 0], [True, False, False, False],
        [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * 3],
    ), 100, random_state=0)  # fmt: skip
    options = {"random_state": 0, "show_progress": False}
    plain, mixed = (EAST(**options).fit(frame, kinds=kinds) for kinds in (None, "auto"))
    assert plain.tree_ == mixed.tree_
    pd.testing.assert_frame_equal(plain.history_.drop(columns="seconds"), mixed.history_.drop(columns="seconds"))


def test_a_model_to_start_with_is_put_into_the_units_of_the_table():
    frame = two_factors(100)
    start = RandomStarts(n_states=2, n_starts=2, random_state=0, show_progress=False).fit(frame, kinds=KINDS)
    wider = two_factors(100, seed=1).assign(g1=lambda one: 5 * one["g1"])
    tree = in_order_of_table(start.tree_, encode(wider, numeric=KINDS))
    means, new = start.emissions_["mean"], emissions_table(tree)["mean"]
    assert np.allclose(means, new)
    learner = EAST(start=start, random_state=0, show_progress=False).fit(wider)
    assert learner.log_likelihood_ == pytest.approx(learner.score_samples(wider).sum(), rel=1e-9)


def test_counts_alone_do_not_compare_candidates_for_numbers():
    with pytest.raises(DataError, match=r"evaluation='dc' compares .* and 'g1' is a number"):
        EAST(tuning=presets.CHEN_2008_DC).fit(two_factors(50), kinds=KINDS)
    with pytest.raises(DataError, match="BinG learns from categories alone, and 'g1' is a number"):
        EAST(start=BinG(), show_progress=False).fit(two_factors(50), kinds=KINDS)
