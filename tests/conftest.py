"""Settings shared by all tests."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

COMMON = {
    "deadline": None,
    "max_examples": int(os.environ.get("PGMPY_LATENT_EXAMPLES", "60")),
    "suppress_health_check": [HealthCheck.too_slow],
}
#: The same examples every time, so that a test fails because of what was changed.
settings.register_profile("repeatable", derandomize=True, **COMMON)
#: Other examples every time (``--hypothesis-profile=fresh``); a failure says how to repeat it.
settings.register_profile("fresh", derandomize=False, database=None, print_blob=True, **COMMON)
settings.load_profile("repeatable")
os.environ.pop("COLUMNS", None)  # pytest-xdist tells its workers a width; what is printed is as wide as without

#: A plugin that changes pgmpy, for runs that ask for it.
collect_ignore = ["support/next_pgmpy.py"]
#: The papers' data sets, beside the project; not part of it.
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of the papers' data sets, or skip."""
    if not DATA.is_dir():
        pytest.skip(f"the papers' data sets are not at {DATA}")
    return DATA


@pytest.fixture(autouse=True)
def no_figures_of_others():
    """Close the figures that other tests and examples in this process left open; pyplot warns of more than 20."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection_modifyitems(items):
    """Refuse names of tests that differ between processes, by which pytest-xdist could not share them out."""
    changing = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if changing:
        raise pytest.UsageError(f"the names of these tests have addresses; give them ids: {changing[:3]}")
