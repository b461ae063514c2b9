"""The last pass over columns: what it must not lower, what it must leave alone, and how it ends early."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import HLTA, Baseline, BinA, BinG, LatentTree, SplitMerge, presets, sample, scores
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.learners.east import column_places
from pgmpy_latent.learners.east.column_places import ColumnPlaces
from pgmpy_latent.learners.east.edge_moves import Relocate
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.hlta.column_tree import COLUMN_TREE
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators import cut_edge, is_regular
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.clock import TimeLimitReached
from tests.learners.east.test_blocks import random_tree
from tests.learners.east.test_columns_anywhere import MODELS, same_shape
from tests.support.samples import assert_same_tree

QUIET = {"random_state": 0, "show_progress": False}
LEARNERS = {"BinG": BinG, "BinA": BinA, "HLTA": HLTA, "SplitMerge": SplitMerge}
every_learner = pytest.mark.parametrize("kind", LEARNERS.values(), ids=LEARNERS)


def total(tree, data):
    engine = engine_for(tree, data)
    return float(engine.log_likelihood(engine.layout.pack(tree.tables)))


def leaves_above(rng, n_columns):
    """A random tree of hidden variables, above some of which columns hang as leaves; not fitted to anything."""
    n_hidden = int(rng.integers(1, 4))
    parent = [-1, *(int(rng.integers(node)) for node in range(1, n_hidden)), *rng.integers(0, n_hidden, n_columns)]
    cards = [*rng.integers(2, 4, n_hidden).tolist(), *rng.integers(2, 4, n_columns).tolist()]
    tables = [
        rng.dirichlet(np.ones(card), size=1 if up < 0 else cards[up]) for up, card in zip(parent, cards, strict=True)
    ]
    names = [*(f"H{at}" for at in range(n_hidden)), *(f"x{at}" for at in range(n_columns))]
    return LatentTree(names, [range(card) for card in cards], parent, np.arange(len(names)) < n_hidden, tables)


@st.composite
def trees_and_tables(draw):
    """A tree with its columns at the ends, and a table drawn from another one, with missing cells in some columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    source = random_tree(rng)
    rows = sample(source, 60, random_state=int(rng.integers(1000)))
    for name in rows.columns[: draw(st.integers(0, rows.shape[1]))]:
        rows[name] = rows[name].astype(object).mask(rng.random(60) < 0.15)
    tree = leaves_above(rng, rows.shape[1])
    states = [range(int(source.cards[source.index(name)])) for name in rows.columns]
    tables = list(tree.tables)
    n_hidden = int(tree.latent.sum())
    for at, own in enumerate(states):
        tables[n_hidden + at] = rng.dirichlet(np.ones(len(own)), size=len(tables[n_hidden + at]))
    names = [*tree.latent_names, *rows.columns]
    tree = LatentTree(names, [*tree.state_names[:n_hidden], *states], tree.parent, tree.latent, tables)
    return tree, encode_for(tree, rows)


def passed_over(tree, data, prior=0.0):
    """Return the outcome of the pass alone, and the score before."""
    search = Search(Settings(prior=prior), random_state=0)
    penalty = scores.penalty_per_parameter(data.total_weight)

    def score(tree, log_likelihood):
        return log_likelihood - penalty * tree.n_parameters

    places = ColumnPlaces(data, search, score)
    value = total(tree, data)
    first = State(tree, score(tree, value), value, finished=True)
    return search.run(lambda: places.begun(first), places.advance, places.check, places.finish), first.score


@settings(deadline=None, max_examples=30)
@given(trees_and_tables(), st.sampled_from([0.0, 0.5]))
def test_bic_never_falls_and_is_that_of_the_tree(given_, prior):
    tree, data = given_
    outcome, before = passed_over(tree, data, prior)
    assert outcome.score >= before
    assert outcome.log_likelihood == pytest.approx(total(outcome.tree, data), rel=1e-9)
    assert outcome.score == pytest.approx(
        scores.bic_from_parts(outcome.log_likelihood, outcome.tree.n_parameters, data.total_weight), rel=1e-9
    )
    assert set(outcome.tree.observed_names) == set(tree.observed_names)
    assert is_regular(outcome.tree)
    if prior == 0.0:
        in_history = [entry.score for entry in outcome.history]
        assert in_history == sorted(in_history)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_places_are_those_of_all_moves(seed, is_forest):
    """With all nodes as places, these are the moves of the search over all trees that begin or end at columns."""
    tree = random_tree(np.random.default_rng(seed))
    if is_forest:
        child = next(node for node in range(tree.n_nodes) if tree.parent[node] >= 0)
        tree = cut_edge(tree, tree.names[tree.parent[child]], tree.names[child])
    moves = Relocate.to_places(tree, dict.fromkeys(tree.observed_names, tree.names))
    every = Relocate.in_tree(tree, Rules(columns="anywhere"))
    columns = set(tree.observed_names)

    def undirected(move):
        return frozenset([move.moved[0], move.old]) if move.new is None else move

    expected = [
        move for move in every if {move.old, *move.moved} & columns or (move.old is None and move.new in columns)
    ]
    assert {undirected(move) for move in moves} == {undirected(move) for move in expected}
    assert len({undirected(move) for move in moves}) == len(moves)
    assert all(move.is_possible(tree, Rules(columns="anywhere")) for move in moves)


@pytest.mark.parametrize("name", ["a tree of columns", "both"])
@pytest.mark.parametrize("kind", [BinG, BinA, HLTA], ids=["BinG", "BinA", "HLTA"])
def test_columns_that_hang_on_columns_are_found(kind, name):
    rows = sample(MODELS[name], 4000, random_state=1)
    leaves, anywhere = (kind(columns=columns, **QUIET).fit(rows) for columns in ("leaves", "anywhere"))
    assert anywhere.bic_ > leaves.bic_ + 5
    assert anywhere.bic_ == pytest.approx(scores.bic(anywhere.tree_, rows), rel=1e-9)
    assert len(anywhere.latents_) < len(leaves.latents_)
    assert anywhere.bic_ >= Baseline("forest").fit(rows).bic_ - 1e-4
    if name == "a tree of columns":
        assert same_shape(anywhere.tree_, MODELS[name])


def test_a_skeleton_of_leaves_becomes_the_tree_that_the_rows_come_from():
    rows = sample(MODELS["both"], 4000, random_state=1)
    leaves, anywhere = (SplitMerge(columns=columns, **QUIET).fit(rows) for columns in ("leaves", "anywhere"))
    assert leaves.tree_.n_nodes == 1 + rows.shape[1]
    assert anywhere.bic_ > leaves.bic_ + 5


@every_learner
def test_trees_that_need_no_pass_stay(kind):
    """The columns of a latent class model with strong classes are leaves."""
    rows = sample(MODELS["a latent tree"], 4000, random_state=1)
    further = {} if kind in (SplitMerge, HLTA) else {"simplify": True}
    leaves, anywhere = (kind(columns=columns, **further, **QUIET).fit(rows) for columns in ("leaves", "anywhere"))
    assert_same_tree(anywhere.tree_, leaves.tree_)
    assert anywhere.bic_ == leaves.bic_


@pytest.mark.parametrize("scoring", ["aic", "cs"])
def test_the_score_of_the_search_must_rise(scoring):
    rows = sample(MODELS["both"], 300, random_state=1)
    leaves, anywhere = (
        SplitMerge(columns=columns, scoring_method=scoring, **QUIET).fit(rows) for columns in ("leaves", "anywhere")
    )
    assert anywhere.score_ >= leaves.score_


def test_a_prior_keeps_everything_possible():
    rows = sample(MODELS["both"], 500, random_state=1)
    rows["x1"] = pd.Categorical(rows["x1"], categories=[0, 1, 2])  # 2 does not occur
    learner = HLTA(columns="anywhere", prior=0.01, **QUIET).fit(rows)
    assert min(table.min() for table in learner.tree_.tables) > 0


# Stopping and resuming


@every_learner
def test_ctrl_c_keeps_the_best_tree_so_far(monkeypatch, kind):
    rows = sample(MODELS["both"], 1000, random_state=1)
    steps = kind(**QUIET).fit(rows).history_
    before = steps.loc[steps["operator"] != COLUMN_TREE, "score"].iloc[-1]  # HLTA looks at that after the pass
    refitted, calls = column_places.refitted, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return refitted(*args)

    monkeypatch.setattr(column_places, "refitted", interrupted)
    with pytest.warns(ConvergenceWarning):
        learner = kind(columns="anywhere", **QUIET).fit(rows)
    assert learner.stopped_ == "interrupted"
    assert len(calls) == 2
    assert learner.bic_ > before
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, rows), rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("limit", [0.05, 0.5, 2.0])
def test_a_time_limit_keeps_the_best_tree_so_far(limit):
    rows = sample(MODELS["both"], 1000, random_state=1)
    leaves = BinG(time_limit=limit, **QUIET).fit(rows)
    learner = BinG(columns="anywhere", time_limit=limit, **QUIET).fit(rows)
    assert learner.stopped_ in (None, "time_limit")
    assert learner.stopped_ is not None or leaves.stopped_ is not None or learner.bic_ >= leaves.bic_
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, rows), rel=1e-9)


def test_a_time_limit_within_the_pass_leaves_time_for_the_last_em(monkeypatch):
    rows = sample(MODELS["both"], 1000, random_state=1)
    leaves = BinG(**QUIET).fit(rows)
    refitted, calls = column_places.refitted, []

    def late(tree, before, search):
        calls.append(tree)
        if len(calls) == 2:
            raise TimeLimitReached
        return refitted(tree, before, search)

    monkeypatch.setattr(column_places, "refitted", late)
    with pytest.warns(ConvergenceWarning):
        learner = BinG(columns="anywhere", time_limit=600, **QUIET).fit(rows)
    assert learner.stopped_ == "time_limit"
    assert learner.remaining_gain_ == 0  # the last EM came to its end
    assert learner.bic_ > leaves.bic_


@pytest.mark.slow
def test_a_process_that_knows_nothing_else_resumes_the_pass(tmp_path):
    """Moves that a checkpoint holds are known to a process that never saw EAST."""
    code = f"""
from pgmpy_latent import BinG, datasets
from pgmpy_latent.runtime import checkpoint
checkpoint.SHARE = float("inf")  # every state is written
learner = BinG(columns="anywhere", checkpoint={str(tmp_path / "a.json")!r}, random_state=0, show_progress=False)
learner.fit(datasets.load_anes96())
print(learner.bic_)
"""
    values = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout for _ in "ab"
    ]
    assert "Relocate" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert values[0] == values[1]


# Tables


def test_sparse_rows_give_the_same_tree():
    rng = np.random.default_rng(0)
    rows = sample(MODELS["a tree of columns"], 800, random_state=1).to_numpy() * (rng.random((800, 7)) < 0.99)
    dense = HLTA(columns="anywhere", **QUIET).fit(rows)
    thin = HLTA(columns="anywhere", **QUIET).fit(sparse.csr_array(rows))
    assert dense.bic_ > HLTA(**QUIET).fit(rows).bic_
    assert thin.bic_ == pytest.approx(dense.bic_, rel=1e-9)
    assert same_shape(thin.tree_, dense.tree_)
    assert set(thin.levels_) == set(thin.latents_)


def test_tables_that_are_too_large_are_refused_before_the_work(monkeypatch):
    monkeypatch.setattr("pgmpy_latent.learners.hlta.hlta.MOST_CELLS", 100)
    monkeypatch.setattr("pgmpy_latent.learners.hlta.levels.LevelsPolicy.start", None)
    for rows in (np.eye(20, dtype=int), sparse.csr_array(np.eye(20, dtype=int))):
        with pytest.raises(DataError, match="looks at all cells at once, and the table has 400, more than 100; give"):
            HLTA(columns="anywhere", **QUIET).fit(rows)


@every_learner
def test_other_places_are_refused(kind):
    with pytest.raises(ValueError, match="columns is 'inside'; give 'leaves' or 'anywhere'"):
        kind(columns="inside").fit(pd.DataFrame({"x": [0, 1], "y": [0, 1], "z": [0, 1]}))


def test_the_work_of_a_round_does_not_grow_with_the_square_of_the_columns():
    rng = np.random.default_rng(0)
    for n_columns in (20, 40):
        tree = LatentTree(
            ["H", *(f"x{at}" for at in range(n_columns))],
            [range(2)] * (n_columns + 1),
            [-1] + [0] * n_columns,
            [True] + [False] * n_columns,
            [[[0.5, 0.5]], *(rng.dirichlet([1, 1], size=2) for _ in range(n_columns))],
        )
        data = encode_for(tree, sample(tree, 100, random_state=0))
        places = ColumnPlaces(data, Search(Settings()), lambda tree, log_likelihood: log_likelihood)
        moves = Relocate.to_places(tree, places._places(tree))
        assert len(moves) <= n_columns * (column_places.NEAREST + 2)


def test_the_thesis_keeps_its_skeletons():
    assert SplitMerge(tuning=presets.KARCIAUSKAS_2005_CHAPTER_7).columns == "leaves"
