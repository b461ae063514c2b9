"""What names a score in pickles and checkpoints stays the same, whichever file of the folder holds it."""

import pickle

import pandas as pd
import pytest

from pgmpy_latent import SplitMerge, encode, scores
from pgmpy_latent.runtime.fingerprint import fingerprint

OWN = sorted({*scores.__all__} - {"effective_dimension", "log_likelihood", "n_parameters"})


@pytest.mark.parametrize("name", OWN)
def test_a_pickle_names_the_public_module(name):
    value = getattr(scores, name)
    assert value.__module__ == "pgmpy_latent.scores"
    assert pickle.loads(f"cpgmpy_latent.scores\n{name}\n.".encode()) is pickle.loads(pickle.dumps(value)) is value


def test_held_out_rows_are_unpickled():
    assert pickle.loads(pickle.dumps(scores.HeldOut(n_folds=5))).n_folds == 5


def test_checkpoints_name_the_public_module():
    data = encode(pd.DataFrame({"x": ["a", "b"]}))
    assert fingerprint(SplitMerge(scoring_method=scores.icl), data).settings["scoring_method"] == (
        "pgmpy_latent.scores.icl"
    )
