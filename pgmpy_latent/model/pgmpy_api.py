"""All that the package takes from pgmpy, under one name each, whichever version of pgmpy is installed."""

from __future__ import annotations

from importlib import import_module

from pgmpy.base import DAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork
from pgmpy.parameter_estimator import DiscreteParameterEstimator, GaussianParameterEstimator

#: Where the base of pgmpy's structure learners is, what is public first: (module, name). It has no public place as yet;
#: in pgmpy 1.1 its name begins with an underscore, after 1.1 it does not.
PLACES_OF_THE_BASE = [
    ("pgmpy.causal_discovery", "BaseCausalDiscovery"),
    ("pgmpy.causal_discovery._base", "BaseCausalDiscovery"),
    ("pgmpy.causal_discovery._base", "_BaseCausalDiscovery"),
]


def _base_of_structure_learners() -> type:
    for module, name in PLACES_OF_THE_BASE:
        value = getattr(import_module(module), name, None)
        if value is not None:
            return value
    places = ", ".join(f"{module}.{name}" for module, name in PLACES_OF_THE_BASE)
    raise ImportError(
        f"this pgmpy has no base of structure learners that pgmpy_latent knows ({places}); "
        'install one that it was made for: pip install "pgmpy>=1.1.2,<2"'
    )


BaseCausalDiscovery = _base_of_structure_learners()

__all__ = [
    "DAG",
    "BaseCausalDiscovery",
    "DiscreteBayesianNetwork",
    "DiscreteParameterEstimator",
    "GaussianParameterEstimator",
    "LinearGaussianBayesianNetwork",
    "LinearGaussianCPD",
    "TabularCPD",
]
