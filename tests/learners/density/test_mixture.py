"""A mixture of trees with the same edges is one tree, and stays a mixture while EM runs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone

from pgmpy_latent import HiddenChowLiu, encode, log_likelihood, row_log_likelihoods, sample
from pgmpy_latent.learners.density.mixture import groups_of_rows, joined
from pgmpy_latent.learners.density.shape import hidden_tree
from pgmpy_latent.testing import assert_valid, check_learner
from tests.support.samples import assert_same_tree, leafy_tree

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def table():
    return sample(leafy_tree(n_columns=8, card=3), 300, random_state=0)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 3))
def test_a_mixture_is_the_weighted_sum_of_its_trees(seed, n_trees, n_states):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (20, 6)).astype(float)
    rows[0], rows[1] = 0, 1
    rows[rng.random(rows.shape) < 0.1] = np.nan
    parent = np.array([-1, *(int(rng.integers(0, at)) for at in range(1, 6))])
    shape = hidden_tree(encode(rows), parent, n_states)
    trees = [
        shape.with_tables([rng.dirichlet(np.ones(part.shape[1]), len(part)) for part in shape.tables])
        for _ in range(n_trees)
    ]
    shares = rng.dirichlet(np.ones(n_trees))
    mixture = joined(trees, shares)
    assert_valid(mixture)
    wanted = logsumexp([row_log_likelihoods(tree, rows) for tree in trees], axis=0, b=shares[:, None])
    assert row_log_likelihoods(mixture, rows).to_numpy() == pytest.approx(wanted, abs=1e-10)


def zeros(tree):
    return {name: int((tree.table(name) == 0).sum()) for name in tree.latent_names}


@pytest.mark.parametrize("with_validation", [True, False])
def test_zeros_between_groups_stay_and_there_are_no_others(table, with_validation):
    valid = {"X_valid": table.iloc[200:]} if with_validation else {}
    fitted = HiddenChowLiu(n_states=2, n_groups=3, **QUIET).fit(table.iloc[:200], **valid)
    tree = fitted.tree_
    assert set(fitted.n_states_.values()) == {6}
    wanted = {name: 0 if tree.parent[tree.index(name)] < 0 else 36 - 3 * 4 for name in tree.latent_names}
    assert zeros(tree) == wanted
    assert np.isfinite(log_likelihood(tree, table))
    fitted.partial_fit(table.iloc[200:210])
    assert zeros(fitted.tree_) == wanted


def test_a_mixture_keeps_the_contract_of_all_learners():
    check_learner(HiddenChowLiu(n_states=2, n_groups=2, **QUIET))


def test_groups_do_not_depend_on_the_order_of_rows(table):
    again = table.iloc[np.random.default_rng(0).permutation(len(table))]
    data, other = encode(table), encode(again)
    groups = [groups_of_rows(one, 3, np.random.SeedSequence(0)) for one in (data, other)]
    first, second = (
        dict(zip(map(tuple, one.codes.tolist()), of.tolist(), strict=True))
        for one, of in zip((data, other), groups, strict=True)
    )
    assert first == second


def test_fewer_rows_than_groups_make_fewer_groups():
    data = encode(np.array([[0, 0], [1, 1], [1, 1]]))
    assert len(set(groups_of_rows(data, 5, np.random.SeedSequence(0)).tolist())) == 2


def test_held_out_rows_choose_the_number_of_groups(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=1_200)
    shares = rng.choice([0.1, 0.9], size=(4, 10))
    rows = pd.DataFrame((rng.random((1_200, 10)) < shares[kind]).astype(int))
    learner = HiddenChowLiu(n_groups=None, n_states=2, checkpoint=tmp_path / "search.json", **QUIET)
    fitted = learner.fit(rows[:800], X_valid=rows[800:])
    tried = fitted.held_out_
    best = tried.query("best").iloc[0]
    assert best["n_groups"] > 1
    assert (tried["n_groups"] * tried["n_states"]).max() <= 32
    assert fitted.score_ == best["log_likelihood"] > tried.query("n_groups == 1")["log_likelihood"].max()
    assert "more groups" in set(fitted.history_["operator"])
    assert_same_tree(clone(learner).fit(rows[:800], X_valid=rows[800:]).tree_, fitted.tree_)  # from the checkpoint
