"""BIC and its relatives, and the one penalty that all searches charge."""

from math import log

import numpy as np
import pandas as pd
import pytest
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
    presets,
    scores,
)
from pgmpy_latent.cli.classes import LatentClasses
from pgmpy_latent.inference.queries import sample
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.scores import information, scoring_methods
from pgmpy_latent.tables.encode import encode
from tests.support.scored_tables import COIN, TOSSES, latent_class, shaped

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


def test_number_of_parameters_by_hand():
    assert scores.n_parameters(latent_class(3, 2, 2, 2, 2)) == 14
    assert scores.n_parameters(latent_class(1, 2, 5)) == 5
    assert scores.n_parameters(shaped([-1, 0, -1], [2, 3, 4], [True, False, False])) == 1 + 4 + 3


def test_scores_take_arrays():
    tree = LatentTree([0, 1], [["a", "b"]] * 2, [-1, 0], [False] * 2, [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
    table = np.array([["a", "b"], ["b", "b"]])
    assert scores.bic(tree, table) == pytest.approx(log(0.5 * 0.1 * 0.5 * 0.8) - 3 / 2 * log(2))
    assert scores.bic(tree, encode(table)) == pytest.approx(scores.bic(tree, table))


def test_effective_bic_uses_the_effective_dimension():
    tree = latent_class(3, 2, 2, 2, 2)
    table = sample(tree, 100, random_state=0)
    difference = scores.effective_bic(tree, table) - scores.bic(tree, table)
    assert difference == pytest.approx(log(100) / 2)


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
    for module in (scores, information, scoring_methods):
        monkeypatch.setattr(module, "penalty_per_parameter", lambda total_weight: 100.0)
    dear = clone(learner).fit(table)
    assert dear.score_ == pytest.approx(dear.log_likelihood_ - 100 * dear.n_parameters_)
    assert usual.n_parameters_ > dear.n_parameters_ == 4  # columns that do not depend on each other
