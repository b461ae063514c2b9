"""Cross-validation between two networks against its definition: tables from the other folds, tested on the last."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentNetwork, encode
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.networks.find_hidden.tie_break import FOLDS, N_FOLDS, PSEUDO_COUNT, TieBreak
from pgmpy_latent.tables.folds import folds

TABLES = [np.full((1, 2), 0.5), np.full((2, 2), 0.5)]
LINKED = LatentNetwork("ab", [[0, 1]] * 2, [(), (0,)], [False] * 2, TABLES)
APART = LatentNetwork("ab", [[0, 1]] * 2, [(), ()], [False] * 2, [TABLES[0]] * 2)


def table(n, agreement, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=n)
    return encode(pd.DataFrame({"a": a, "b": np.where(rng.random(n) < agreement, a, 1 - a)}))


def shares(counts):
    return (counts + PSEUDO_COUNT) / (counts + PSEUDO_COUNT).sum(axis=-1, keepdims=True)


def cross_counts(data):
    counts = np.zeros((2, 2))
    np.add.at(counts, tuple(data.codes.T), data.weights)
    return counts


def test_it_is_the_log_likelihood_of_every_fold_under_tables_of_the_others():
    data, search = table(50, 0.8), Search(Settings(), random_state=3)
    linked = apart = 0.0
    for fold in folds(data, N_FOLDS, search.seed(*FOLDS)):
        learn, test = cross_counts(fold.learn), cross_counts(fold.held_out)
        a, b = shares(learn.sum(axis=1)), shares(learn.sum(axis=0))
        linked += (test * (np.log(a)[:, None] + np.log(shares(learn)))).sum()
        apart += (test * (np.log(a)[:, None] + np.log(b))).sum()
    tie_break = TieBreak(data, search)
    assert tie_break.held_out_log_likelihood(LINKED) == pytest.approx(linked, rel=1e-9)
    assert tie_break.held_out_log_likelihood(APART) == pytest.approx(apart, rel=1e-9)


def test_it_prefers_an_edge_where_there_is_one_and_none_in_independent_columns():
    search = Search(Settings(), random_state=0)
    linked = TieBreak(table(200, 0.8), search)
    assert linked.prefers(LINKED, APART)
    assert not linked.prefers(APART, LINKED)
    independent = TieBreak(encode(np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50)), search)
    names = {name: LatentNetwork([0, 1], network.state_names, network.parents, [False] * 2, network.tables)
             for name, network in (("linked", LINKED), ("apart", APART))}  # fmt: skip
    assert independent.prefers(names["apart"], names["linked"])
    assert not independent.prefers(names["linked"], names["apart"])
    assert not independent.prefers(names["apart"], names["apart"])


def test_too_few_rows_decide_nothing():
    tie_break = TieBreak(table(3, 0.8), Search(Settings(), random_state=0))
    assert not tie_break.prefers(LINKED, APART)
    assert not tie_break.prefers(APART, LINKED)


def test_tables_that_have_seen_the_held_out_rows_make_no_difference():
    rng = np.random.default_rng(6)
    data = encode(pd.DataFrame(rng.integers(3, size=(60, 4)), columns=list("abcd")))
    states, parents, latent = [[0, 1], *[[0, 1, 2]] * 4], [(), *[(0,)] * 4], [True, *[False] * 4]

    def classes(seed):
        drawn = np.random.default_rng(seed)
        tables = [drawn.dirichlet([1.0] * 2, 1), *(drawn.dirichlet([1.0] * 3, 2) for _ in range(4))]
        return LatentNetwork("Habcd", states, parents, latent, tables)

    tie_break = TieBreak(data, Search(Settings(), random_state=0))
    first, second = (tie_break.held_out_log_likelihood(classes(seed)) for seed in (0, 1))
    assert first == second
    independent = LatentNetwork("abcd", states[1:], [()] * 4, [False] * 4, [np.full((1, 3), 1 / 3)] * 4)
    assert first < tie_break.held_out_log_likelihood(independent)
