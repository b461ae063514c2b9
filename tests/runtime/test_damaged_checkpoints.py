"""Damaged checkpoints are refused with one kind of error, whatever is wrong; see ``tests/support/mutants.py``."""

import random

import pytest

from pgmpy_latent import sample
from tests.support.mutants import estimators, mutants, originals, verdict
from tests.support.samples import two_classes_of_columns

#: How a fit with a damaged file may end. "honest": the digest was forged over something that only the search could
#: know, such as what it tried in vain; the result is then another one, and as good as it says.
ALLOWED = {"refused", "same", "honest"}


@pytest.fixture(scope="module")
def table():
    return sample(two_classes_of_columns(), 300, random_state=1)


def assert_all_are_found_out(name, table, path, monkeypatch, n, seed):
    """Damage the files of an estimator in so many ways."""
    files = originals(name, table, path, monkeypatch)
    ends = []
    for number, original in enumerate(files):
        assert verdict(original, original.content, table, path, must=True) == "same"
        rng = random.Random(f"{seed} {name} {number}")
        for content, words, must in mutants(original, rng, n // len(files)):
            ends.append((verdict(original, content, table, path, must), f"file {number}, {words}"))
    assert [end for end in ends if end[0] not in ALLOWED] == []
    assert sum(end == "refused" for end, _ in ends) > len(ends) / 2


@pytest.mark.parametrize("name", estimators())
def test_damaged_checkpoints_are_refused(name, table, tmp_path, monkeypatch):
    assert_all_are_found_out(name, table, tmp_path / "search.json", monkeypatch, 24, seed="small")


@pytest.mark.slow
@pytest.mark.parametrize("name", estimators())
def test_3000_damaged_checkpoints_are_refused(name, table, tmp_path, monkeypatch):
    n = -(-3000 // len(estimators())) + 3  # some files are left over by the division
    assert_all_are_found_out(name, table, tmp_path / "search.json", monkeypatch, n, seed="slow")
