"""For tests of this package and of yours: assertions about trees and learners, and random trees and tables.

Random trees and tables are Hypothesis strategies, which need ``pip install "pgmpy-latent[test]"``; assertions do not.
"""

from importlib import import_module

from pgmpy_latent.testing.assertions import assert_valid, check_learner

_STRATEGIES = (
    "latent_trees", "latent_networks", "mixed_trees", "gaussian_trees", "codes_for", "cells_for", "weights_for"
)  # fmt: skip

__all__ = ["assert_valid", "check_learner", *_STRATEGIES]


def __getattr__(name: str):
    if name in _STRATEGIES:
        return getattr(import_module("pgmpy_latent.testing.strategies"), name)
    raise AttributeError(f"module 'pgmpy_latent.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
