"""The learner that docs/adding_a_learner.md shows is a learner like all others."""

import sys
from types import ModuleType

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks

from tests.learners import test_base as contract
from tests.test_readme import ROOT, python_blocks


def skeleton():
    """Return the page's learner, from a module of its own, so that pickles find it."""
    module = sys.modules["skeleton_of_a_learner"] = ModuleType("skeleton_of_a_learner")
    for block in python_blocks(ROOT / "docs" / "adding_a_learner.md")[:2]:
        exec(block, vars(module))
    return module.GrowingLearner(n_splits=2, random_state=0, show_progress=False)


LEARNER = skeleton()


@contract.unseen_is_fine
@contract.few_columns_are_fine
@estimator_checks.parametrize_with_checks([LEARNER])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "test",
    [
        contract.test_the_results_of_a_fit_agree_with_each_other,
        contract.test_the_model_is_a_pgmpy_network,
        contract.test_history_has_its_columns,
        contract.test_hidden_states_are_numbered_from_the_largest,
        contract.test_weights_count_rows,
    ],
    ids=lambda test: test.__name__,
)
def test_the_contract_of_all_learners(test):
    test(clone(LEARNER))


def test_settings_that_cannot_be_meant():
    with pytest.raises(ValueError, match="n_splits is 0"):
        clone(LEARNER).set_params(n_splits=0).fit(contract.survey())
