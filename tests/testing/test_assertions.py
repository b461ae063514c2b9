"""``check_learner`` lets learners that keep the contract pass, and says what is wrong with others."""

from dataclasses import replace
from itertools import count

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentTree, RandomStarts, to_pgmpy
from pgmpy_latent.testing import check_learner

QUICK = {"n_states": 2, "n_starts": 2, "show_progress": False}


def with_another_state(tree, name):
    """Return the tree with one more state of a variable, which never occurs."""
    at = tree.index(name)
    states = [[*own, "none of these"] if node == at else own for node, own in enumerate(tree.state_names)]
    tables = [np.pad(own, ((0, 0), (0, 1))) if node == at else own for node, own in enumerate(tree.tables)]
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables)


class WrongLikelihood(RandomStarts):
    def _learn(self, data):
        outcome = super()._learn(data)
        return replace(outcome, log_likelihood=outcome.log_likelihood + 1)


class FallingHistory(RandomStarts):
    def _learn(self, data):
        outcome = super()._learn(data)
        last = outcome.history[-1]
        return replace(outcome, history=[replace(last, score=last.score + 1), last])


class HistoryOfAnother(RandomStarts):
    def _learn(self, data):
        outcome = super()._learn(data)
        return replace(outcome, history=[replace(outcome.history[-1], score=outcome.score - 1)])


class AnotherState(RandomStarts):
    def _learn(self, data):
        outcome = super()._learn(data)
        return replace(outcome, tree=with_another_state(outcome.tree, data.columns[1]))


class OtherOrder(RandomStarts):
    def fit(self, X, y=None, **options):
        super().fit(X, y, **options)
        tree, order = self.tree_, [0, *range(X.shape[1], 0, -1)]
        self.tree_ = LatentTree(
            [tree.names[at] for at in order],
            [tree.state_names[at] for at in order],
            [-1] + [0] * X.shape[1],
            [tree.latent[at] for at in order],
            [tree.tables[at] for at in order],
        )
        self.model_ = self.causal_graph_ = to_pgmpy(self.tree_)
        return self


class Unseeded(RandomStarts):
    _draws = count()

    def _search(self, data):
        search = super()._search(data)
        search.entropy = next(self._draws)
        return search


class WeightsForgotten(RandomStarts):
    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X)


class WeightsRefused(RandomStarts):
    def fit(self, X, y=None):
        return super().fit(X)


class GapsRefused(RandomStarts):
    def _learn(self, data):
        if (data.codes < 0).any():
            raise ValueError("a cell is missing")
        return super()._learn(data)


class GapsLeft(RandomStarts):
    def impute(self, X, *args, **options):
        return X


class KnownCellsChanged(RandomStarts):
    def impute(self, X, *args, **options):
        return super().impute(X, *args, **options).assign(smokes="no")


class ReturnsNothing(RandomStarts):
    def fit(self, X, y=None, sample_weight=None):
        super().fit(X)


class ChangesItsKeyword(RandomStarts):
    def _learn(self, data):
        self.n_starts = 3
        return super()._learn(data)


class ChangesWhatItIsGiven(RandomStarts):
    def __init__(self, n_states=2, n_starts=2, show_progress=False, random_state=None):
        super().__init__(
            n_states=n_states, n_starts=n_starts + 1, show_progress=show_progress, random_state=random_state
        )


class AnswersBeforeFit(RandomStarts):
    def predict(self, X):
        return X


class IndexLost(RandomStarts):
    def predict_proba(self, X):
        return super().predict_proba(X).reset_index(drop=True)


class PredictsAnything(RandomStarts):
    def predict(self, X):
        states = super().predict(X)
        return 1 - states


class SampleUnseeded(RandomStarts):
    _draws = count()

    def sample(self, n=1, **options):
        return super().sample(n, **{**options, "random_state": next(self._draws)})


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (WrongLikelihood, r"log_likelihood_ is .*, but the rows have"),
        (FallingHistory, "the scores in history_ must not fall"),
        (HistoryOfAnother, "history_ must end with score_"),
        (AnotherState, r"the states of 'visits' must be its categories; they are \[0, 1, 2, 'none of these'\]"),
        (OtherOrder, "the observed variables must be the columns"),
        (Unseeded, "a second fit with the same seed must give the same model"),
        (WeightsForgotten, "weights must count rows"),
        (WeightsRefused, "fit must accept sample_weight, but it raised TypeError"),
        (GapsRefused, r"fit must accept missing cells, but it raised ValueError\('a cell is missing'\)"),
        (GapsLeft, "impute must fill every missing cell"),
        (KnownCellsChanged, "impute must leave known cells alone"),
        (ReturnsNothing, "fit must return the learner"),
        (ChangesItsKeyword, r"fit must leave keywords alone, but it changed \['n_starts'\]"),
        (ChangesWhatItIsGiven, "__init__ must store its keywords untouched"),
        (AnswersBeforeFit, "predict must raise NotFittedError before fit"),
        (IndexLost, "answers about rows must keep the index"),
        (PredictsAnything, "predict must give the likeliest state of 'H'"),
        (SampleUnseeded, "sample must depend on its seed alone"),
    ],
)
def test_a_broken_learner_is_told_what_is_wrong(broken, complaint):
    with pytest.raises(AssertionError, match=f"^{broken.__name__}: {complaint}"):
        check_learner(broken(**QUICK))


def test_a_learner_is_checked_on_a_table_of_its_own():
    group = np.random.default_rng(0).integers(0, 2, size=80)
    noise = np.random.default_rng(1).random((80, 3)) < 0.2
    frame = pd.DataFrame((group[:, None] ^ noise).astype(int), columns=[0, "b", "c"])
    check_learner(RandomStarts(**QUICK), frame)
    with pytest.raises(AssertionError, match="the states of 'b' must be its categories"):
        check_learner(AnotherState(**QUICK), frame)


def test_warnings_of_a_learner_go_through():
    class Warns(RandomStarts):
        def _learn(self, data):
            return replace(super()._learn(data), stopped="time_limit")

    with (
        pytest.warns(UserWarning, match="time limit stopped the search"),
        pytest.raises(AssertionError, match="the search was stopped"),
    ):
        check_learner(Warns(**QUICK))
