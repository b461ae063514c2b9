"""EAST where there is little to learn from, or little to begin with."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import EAST, Baseline, presets, sample
from pgmpy_latent.datasets import hlc_model
from pgmpy_latent.exceptions import FewColumnsWarning, SkeletonError

QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return sample(hlc_model(7, random_state=6), 1500, random_state=0)


def test_columns_that_stand_alone_find_together(table):
    found = EAST(start=Baseline("independence"), **QUIET).fit(table)
    assert found.bic_ > EAST(tuning=presets.EAST.replace(evaluation="rl"), **QUIET).fit(table).bic_ - 1
    assert found.latents_


def test_a_group_that_no_hidden_variable_can_hold_is_named_before_the_search():
    pair = pd.DataFrame({"x": ["a", "b", "a", "b"], "y": ["c", "d", "c", "c"]})
    with pytest.warns(FewColumnsWarning), pytest.raises(SkeletonError, match=r"columns \['x', 'y'\] share"):
        EAST(together=["x", "y"], **QUIET).fit(pair)


def test_a_group_may_be_of_columns_whose_names_are_tuples(table):
    renamed = table.set_axis(pd.MultiIndex.from_tuples([("D", number) for number in range(7)]), axis=1)
    found = EAST(together=[("D", 0), ("D", 6)], tuning=presets.EAST.replace(excursions=(), look_ahead=0), **QUIET).fit(
        renamed
    )
    parents = {child: parent for parent, child in found.model_.edges()}
    assert parents[("D", 0)] == parents[("D", 6)]


def test_a_class_is_no_start(table):
    with pytest.raises(TypeError, match="start is the class EAST; give a learner, as EAST"):
        EAST(start=EAST, **QUIET).fit(table)


def test_a_summary_says_that_the_search_was_stopped(table, capsys):
    with pytest.warns(ConvergenceWarning):
        EAST(time_limit=0.2, **QUIET).fit(table).summary()
    assert "Not finished: the time limit stopped the search" in capsys.readouterr().out


def test_with_a_prior_no_step_lowers_the_score_either(table):
    score = EAST(prior=5.0, **QUIET).fit(table.head(600)).history_["score"]
    assert (np.diff(score) >= 0).all()
