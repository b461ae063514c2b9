"""Refinement: held-out rows never become less likely, and nothing but them decides."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import Baseline, HiddenChowLiu, LatentTree, RandomStarts, log_likelihood, refine, sample, smoothed
from pgmpy_latent.exceptions import NothingGrewWarning
from pgmpy_latent.learners.density import refinement
from pgmpy_latent.testing import latent_trees
from tests.support.samples import assert_same_tree, leafy_tree, press_ctrl_c


@pytest.fixture(scope="module")
def rows():
    """Return tables to learn from and to validate with."""
    table = sample(leafy_tree(n_columns=8, card=3), 600, random_state=0).astype(pd.CategoricalDtype([0, 1, 2]))
    return table[:400], table[400:].reset_index(drop=True)


@pytest.fixture(scope="module")
def learner(rows):
    return Baseline("chow_liu").fit(rows[0])


@settings(max_examples=10)
@given(latent_trees(max_nodes=6, max_card=3), st.integers(0, 99))
def test_held_out_rows_are_never_less_likely_than_under_the_smoothed_tree(tree, seed):
    table = sample(tree, 120, random_state=seed)
    train, valid = table[:80], table[80:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingGrewWarning)
        refined = refine(tree, train, valid, max_states=4, random_state=seed)
    assert log_likelihood(refined, valid) >= log_likelihood(smoothed(tree, train), valid) - 1e-9
    assert refined.observed_names == tree.observed_names


def test_a_tree_over_columns_becomes_one_of_hidden_variables(rows, learner):
    train, valid = rows
    refined = refine(learner, train, valid, random_state=0)
    assert refined.latent.any()
    assert log_likelihood(refined, valid) > log_likelihood(smoothed(learner, train), valid) + 5
    assert not learner.tree_.latent.any()  # it is not changed


def test_same_seed_same_tree_and_threads_do_not_matter(rows, learner):
    train, valid = rows
    first = refine(learner, train, valid, random_state=3)
    assert_same_tree(first, refine(learner, train, valid, random_state=3))
    assert_same_tree(first, refine(learner.tree_, train, valid, random_state=3, n_jobs=2))
    without = [refine(learner, train, random_state=3) for _ in range(2)]
    assert_same_tree(*without)


def test_without_a_table_to_validate_with_some_rows_are_held_out(rows, learner, monkeypatch):
    parts, run = [], refinement.Refinement.run

    def noted(self, tree):
        parts.append(self.part)
        return run(self, tree)

    monkeypatch.setattr(refinement.Refinement, "run", noted)
    refine(learner, rows[0], validation_share=0.25, random_state=0)
    assert parts[0].held_out.total_weight == 100
    assert parts[0].learn.total_weight == 300


def test_a_limit_of_states_and_nothing_to_split(rows, learner):
    train, valid = rows
    refined = refine(learner, train, valid, max_states=4, random_state=0)
    assert refined.cards[refined.latent].max(initial=0) <= 4
    independent = Baseline("independence").fit(train)
    with pytest.warns(NothingGrewWarning, match="the tree has kept its shape.*learn from scratch with HiddenChowLiu"):
        refined = refine(independent, train, valid, random_state=0)
    assert (refined.n_nodes, refined.latent.any()) == (independent.tree_.n_nodes, False)


@pytest.mark.parametrize("n_unlucky", [0, 3, 10**6])
def test_first_splits_that_do_not_help_are_drawn_anew(rows, learner, monkeypatch, n_unlucky):
    train, valid = rows
    drawn, better = [], refinement.Refinement.better

    def unlucky(self, best, start, smoothing):
        if not best.tree.latent.any() and start.latent.any():
            drawn.append(start)
            if len(drawn) <= n_unlucky:
                return best
        return better(self, best, start, smoothing)

    monkeypatch.setattr(refinement.Refinement, "better", unlucky)
    if n_unlucky <= 3:
        assert refine(learner, train, valid, random_state=0).latent.any()
        assert len(drawn) == n_unlucky + 1
    else:
        with pytest.warns(NothingGrewWarning, match="try another random_state"):
            assert not refine(learner, train, valid, random_state=0).latent.any()
        assert len(drawn) >= refinement.FIRST_DRAWS
    assert len({str(tree.tables[0]) for tree in drawn}) == len(drawn)


def test_zeros_between_hidden_variables_stay(rows):
    train, valid = rows
    mixture = HiddenChowLiu(n_groups=2, n_states=2, random_state=0, show_progress=False).fit(train)
    shares = []
    for tree in (mixture.tree_, refine(mixture, train, valid, max_states=8, random_state=0)):
        between = [at for at in np.flatnonzero(tree.latent) if tree.parent[at] >= 0 and tree.latent[tree.parent[at]]]
        shares.append(np.mean([(tree.tables[at] == 0).mean() for at in between]))
    assert shares[0] == pytest.approx(0.5)
    assert shares[1] == pytest.approx(0.5, abs=0.1)


def test_weights_are_repeated_rows(rows):
    train, valid = rows
    weights = np.random.default_rng(0).integers(1, 3, len(train))
    repeated = train.loc[train.index.repeat(weights)]
    tree = RandomStarts(n_states=2, random_state=0).fit(train).tree_
    one = refine(tree, train, valid, sample_weight=weights, max_states=8, random_state=0)
    other = refine(tree, repeated, valid, max_states=8, random_state=0)
    assert log_likelihood(one, valid) == pytest.approx(log_likelihood(other, valid), abs=1e-6)


def test_gaps_are_fine(rows):
    train = rows[0].where(np.random.default_rng(0).random(rows[0].shape) > 0.2)
    refined = refine(Baseline("chow_liu").fit(train), train, random_state=0, max_states=8)
    assert isinstance(refined, LatentTree)


def test_a_time_limit_returns_the_best_tree_so_far(rows, learner):
    train, valid = rows
    with pytest.warns(ConvergenceWarning, match="the time limit ended the refinement early"):
        refined = refine(learner, train, valid, time_limit=1e-6, random_state=0)
    assert log_likelihood(refined, valid) >= log_likelihood(smoothed(learner, train), valid) - 1e-9


def test_ctrl_c_returns_the_best_tree_so_far(rows, learner, monkeypatch):
    train, valid = rows
    press_ctrl_c(monkeypatch, 60)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the refinement early"):
        refined = refine(learner, train, valid, random_state=0)
    assert log_likelihood(refined, valid) >= log_likelihood(smoothed(learner, train), valid) - 1e-9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_states": 0}, "max_states is 0"),
        ({"validation_share": 1.5}, "validation_share is 1.5"),
        ({"time_limit": -1}, "time_limit is -1"),
    ],
)
def test_mistakes_are_named(rows, learner, options, words):
    with pytest.raises(ValueError, match=words):
        refine(learner, rows[0], **options)
    with pytest.raises(TypeError, match="expected a LatentTree"):
        refine("model.json", rows[0])
