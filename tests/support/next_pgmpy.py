"""A stand-in for the next pgmpy: the base of its structure learners has another name, and scikit-base as another base.

Give it to pytest to run any tests against it, as
``python -m pytest -p tests.support.next_pgmpy tests/learners/test_base.py``.
"""

import sys

from pgmpy.causal_discovery import _base
from skbase.base import BaseObject
from sklearn.base import BaseEstimator

assert "pgmpy_latent.model.pgmpy_api" not in sys.modules, "the package has seen today's pgmpy already"


class BaseCausalDiscovery(_base._BaseCausalDiscovery, BaseObject):
    """What pgmpy's development version calls it; tags belong to it, and fit takes keywords."""

    _tags = {"object_type": "causal_discovery", "data_types": None, "assumption:acyclicity": None}  # noqa: RUF012

    __eq__ = BaseEstimator.__eq__
    __hash__ = BaseEstimator.__hash__

    def fit(self, X, y=None, **fit_params):
        return self._fit(self._check_fit_data(X), **fit_params)


_base.BaseCausalDiscovery = BaseCausalDiscovery
del _base._BaseCausalDiscovery
