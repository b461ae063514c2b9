"""``fit(X, weights)`` gives the weights as ``y``, which learners do not use: they must not be lost silently."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

from pgmpy_latent import HLTA, Baseline, FindHidden, GaussianBaseline, HiddenChowLiu, StructuralEM, fitted
from pgmpy_latent.exceptions import UnusedTargetWarning, WeightError

TABLE = pd.DataFrame({"x": list("aabbab"), "y": list("ccddcd"), "z": list("eeffff")})
NUMBERS = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0, 2.0], "y": [1.0, 1.5, 1.0, 4.0, 3.5]})
FRACTIONS = [0.5, 2.0, 1.0, 1.0, 1.0, 1.0]
COUNTS = np.array([3, 1, 2, 1, 1, 1])
LEARNERS = [
    (Baseline("forest"), TABLE),
    (HiddenChowLiu(show_progress=False), TABLE),
    (HLTA(), TABLE),
    (StructuralEM(show_progress=False), TABLE),
    (FindHidden(show_progress=False), TABLE),
    (GaussianBaseline(), NUMBERS),
]
asks = pytest.mark.filterwarnings("error::pgmpy_latent.exceptions.UnusedTargetWarning")


@pytest.mark.parametrize(("learner", "table"), LEARNERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("weights", [FRACTIONS, np.array(FRACTIONS), pd.Series(FRACTIONS), pd.array(FRACTIONS)])
def test_weights_with_fractions_are_refused(learner, table, weights):
    with pytest.raises(WeightError, match=r"y has numbers with fractions.*fit\(X, sample_weight=weights\)"):
        learner.fit(table, weights[: len(table)])
    assert not hasattr(learner, "n_features_in_")


@pytest.mark.parametrize(("learner", "table"), LEARNERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", ["x", 0])
def test_the_name_of_a_column_of_weights_is_refused(learner, table, name):
    with pytest.raises(WeightError, match=rf"y is {name!r}; .*sample_weight={name!r}\)"):
        learner.fit(table, name)


@asks
def test_whole_numbers_may_be_weights_or_labels():
    with pytest.raises(UnusedTargetWarning, match=r"If they are weights: .*sample_weight=weights"):
        Baseline("forest").fit(TABLE, COUNTS)
    with pytest.raises(UnusedTargetWarning, match="If they are labels, leave them out"):
        Baseline("forest").fit(TABLE, COUNTS.astype(float))
    weighted = Baseline("forest").fit(TABLE, COUNTS, COUNTS)  # where weights are given, they are labels
    assert weighted.total_weight_ == COUNTS.sum()


@asks
@pytest.mark.parametrize("labels", [None, list("pqpqpq"), np.array([True, False] * 3), pd.Series(list("uvwuvw"))])
def test_labels_of_a_pipeline_pass(labels):
    pipeline = Pipeline([("learner", Baseline("forest"))]).fit(TABLE, labels)
    assert pipeline["learner"].total_weight_ == len(TABLE)
    assert pipeline.score(TABLE, labels) == pipeline["learner"].score(TABLE)


@pytest.mark.parametrize(("learner", "table"), LEARNERS[::5], ids=["Baseline", "GaussianBaseline"])
def test_scores_and_updates_refuse_them_too(learner, table):
    learner = learner.fit(table)
    weights = FRACTIONS[: len(table)]
    with pytest.raises(WeightError, match="sample_weight=weights"):
        learner.score(table, weights)
    if hasattr(learner, "partial_fit"):
        with pytest.raises(WeightError, match="sample_weight=weights"):
            learner.partial_fit(table, weights)


def test_sparse_tables_and_given_models_refuse_them_too():
    words = sparse.csr_array([[1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]] * 10)
    learner = HLTA().fit(words)
    weights = FRACTIONS * 10
    for method in (learner.fit, learner.score, learner.partial_fit):
        with pytest.raises(WeightError, match="sample_weight=weights"):
            method(words, weights)
    given = fitted(Baseline("forest").fit(TABLE).tree_)
    for method in (given.fit, given.score):
        with pytest.raises(WeightError, match="sample_weight=weights"):
            method(TABLE, FRACTIONS)
