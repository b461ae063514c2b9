"""Warnings name the line of the user, also through pgmpy and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.pipeline import make_pipeline

from pgmpy_latent import Baseline, RandomStarts, TreeEM, impute, posterior
from pgmpy_latent.exceptions import FewRowsWarning, MissingCodeWarning, UnseenCategoryWarning, WeightKindWarning

FRAME = pd.DataFrame({"x": list("aabb") * 5, "y": list("ccdd") * 5, "z": list("eeff") * 5})


def files(caught, category):
    return {each.filename for each in caught if each.category is category}


@pytest.mark.parametrize("query", ["predict", "predict_proba", "transform", "impute", "score_samples"])
def test_unseen_categories_are_blamed_on_the_line_that_asks(query):
    learner = RandomStarts(n_states=2, random_state=0).fit(FRAME)
    with pytest.warns(UnseenCategoryWarning) as caught:
        getattr(learner, query)(FRAME.replace({"x": {"b": "new"}}))
    assert files(caught, UnseenCategoryWarning) == {__file__}


@pytest.mark.parametrize("query", [posterior, impute])
def test_so_are_those_of_functions(query):
    tree = RandomStarts(n_states=2, random_state=0).fit(FRAME).tree_
    with pytest.warns(UnseenCategoryWarning) as caught:
        query(tree, FRAME.replace({"x": {"b": "new"}}))
    assert files(caught, UnseenCategoryWarning) == {__file__}


def test_kinds_of_weights_and_codes_that_do_not_occur_are_blamed_on_fit():
    with pytest.warns((WeightKindWarning, MissingCodeWarning)) as caught:
        Baseline("independence").fit(FRAME, sample_weight=np.full(20, 7), missing={"x": ["?"]})
    assert files(caught, MissingCodeWarning) == {__file__}
    with pytest.warns(WeightKindWarning) as caught:
        Baseline("independence").fit(
            pd.DataFrame(np.random.default_rng(0).integers(0, 2, (300, 3))).add_prefix("q"),
            sample_weight=np.full(300, 2640),
        )
    assert files(caught, WeightKindWarning) == {__file__}


def test_pgmpy_and_scikit_learn_in_between_are_passed_over():
    network = DiscreteBayesianNetwork([("H", column) for column in FRAME], latents={"H"})
    with pytest.warns(FewRowsWarning) as caught:
        network.fit(FRAME.head(4), estimator=TreeEM(latent_card={"H": 2}, seed=0))
    assert files(caught, FewRowsWarning) == {__file__}
    with pytest.warns(MissingCodeWarning) as caught:
        make_pipeline(Baseline("independence")).fit(FRAME, baseline__missing={"x": ["?"]})
    assert files(caught, MissingCodeWarning) == {__file__}
