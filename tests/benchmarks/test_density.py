"""The benchmark of density: test rows are scored, and decide nothing."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import density
from pgmpy_latent import Baseline, HiddenChowLiu, HiddenChowLiuMixture, sample
from tests.support.samples import leafy_tree

QUIET = {"random_state": 0, "show_progress": False}


class Leaky(HiddenChowLiu):
    """Looks at the test rows when it chooses."""

    def fit(self, X, y=None, sample_weight=None, X_valid=None, **more):
        seen = density.rows("nltcs", "test")[X.columns] if X_valid is not None else None
        return super().fit(X, y, sample_weight, X_valid if seen is None else pd.concat([X_valid, seen]), **more)


def figures(learner, monkeypatch, test):
    """Return what the benchmark finds of a learner before it scores a given table of test rows."""
    table = sample(leafy_tree(n_columns=8, card=2), 700, random_state=0).astype(pd.CategoricalDtype([0, 1]))
    parts = {"train": table[:400], "valid": table[400:], "test": test.astype(pd.CategoricalDtype([0, 1]))}
    monkeypatch.setattr(density, "rows", lambda name, part: parts[part].set_axis(table.columns, axis=1))
    found = density.fitted(learner, "nltcs")
    scored = found.pop("test")
    del found["seconds"]
    return json.dumps(found), scored


@pytest.mark.parametrize(
    ("learner", "leaks"),
    [
        (HiddenChowLiu(max_states=4, **QUIET), False),
        (HiddenChowLiuMixture(max_groups=2, max_states=4, n_trials=3, **QUIET), False),
        (Baseline("chow_liu", prior=0.1), False),
        (Leaky(max_states=4, **QUIET), True),
    ],
)
def test_test_rows_decide_nothing_and_a_planted_leak_is_caught(learner, leaks, monkeypatch):
    rng = np.random.default_rng(0)
    tests = [pd.DataFrame(rng.integers(2, size=(300, 8))), pd.DataFrame(np.ones((300, 8), int))]
    (first, one), (second, other) = (figures(learner, monkeypatch, test) for test in tests)
    assert (first != second) == leaks  # every bit of what was found
    assert one != other
