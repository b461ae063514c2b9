"""The package runs with the names that pgmpy has today, and with those that it will have next."""

import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.base import clone

import pgmpy_latent
from pgmpy_latent import (
    EAST,
    HLTA,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    HiddenChowLiu,
    NetworkEM,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
)
from tests.support.samples import pgmpys_base

ROOT = Path(__file__).resolve().parents[2]
#: Whether this is the run against the stand-in.
STAND_IN = "tests.support.next_pgmpy" in sys.modules

LEARNERS = {
    "SplitMerge": SplitMerge(random_state=0),
    "RandomStarts": RandomStarts(n_states=2, random_state=0),
    "EAST": EAST(random_state=0),
    "BinG": BinG(random_state=0),
    "BinA": BinA(random_state=0),
    "HLTA": HLTA(random_state=0),
    "HiddenChowLiu": HiddenChowLiu(n_states=2, random_state=0),
    "Baseline": Baseline(random_state=0),
    "StructuralEM": StructuralEM(random_state=0),
    "FindHidden": FindHidden(random_state=0),
}


def survey():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=60)
    return pd.DataFrame({name: np.where(rng.random(60) < 0.9, groups, 1 - groups) for name in "uvwxyz"})


def star():
    graph = DAG([("H", name) for name in "uvwxyz"])
    graph.latents = {"H"}
    return graph


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_leave_behind_what_pgmpys_template_asks_for(name):
    frame, learner = survey(), clone(LEARNERS[name])
    assert isinstance(learner, pgmpys_base())
    assert learner.fit(frame) is learner
    graph = learner.causal_graph_
    assert isinstance(graph, DiscreteBayesianNetwork)
    assert nx.is_directed_acyclic_graph(graph)
    assert set(frame.columns) <= set(graph.nodes())
    matrix = learner.adjacency_matrix_
    assert list(matrix.index) == list(matrix.columns) == list(graph.nodes())
    assert {(above, below) for above in matrix.index for below in matrix.columns if matrix.loc[above, below]} == set(
        graph.edges()
    )
    assert learner.n_features_in_ == 6
    assert list(learner.feature_names_in_) == list(frame.columns)
    assert isinstance(learner.score(true_graph=graph), (int, float))
    assert pickle.loads(pickle.dumps(learner)).causal_graph_.nodes() == graph.nodes()


@pytest.mark.parametrize("estimator", [TreeEM(seed=0), NetworkEM(seed=0)], ids=["TreeEM", "NetworkEM"])
def test_parameter_estimators_give_their_tables_in_the_order_of_the_nodes(estimator):
    model = star()
    estimator.fit(model, survey())
    assert [cpd.variable for cpd in estimator.parameters_] == list(model.nodes())
    network = DiscreteBayesianNetwork(model.edges())
    network.add_cpds(*estimator.parameters_)
    assert network.check_model()


def test_every_public_name_can_be_had():
    for name in pgmpy_latent.__all__:
        assert getattr(pgmpy_latent, name) is not None


@pytest.mark.skipif(not STAND_IN, reason="this is about the stand-in")
def test_learners_have_the_base_of_the_stand_in():
    from tests.support import next_pgmpy

    assert all(isinstance(learner, next_pgmpy.BaseCausalDiscovery) for learner in LEARNERS.values())
    assert not hasattr(next_pgmpy._base, "_BaseCausalDiscovery")


@pytest.mark.skipif(STAND_IN, reason="this is the run against the stand-in")
def test_all_this_holds_with_the_next_pgmpy():
    options = ["-p", "tests.support.next_pgmpy", "-p", "no:cacheprovider", "-n", "0", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/model/test_pgmpy_api.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[0].count(".") > len(LEARNERS)  # they ran


def test_a_pgmpy_without_any_known_base_is_refused_with_the_remedy():
    script = (
        "from pgmpy.causal_discovery import _base\n"
        "for name in ('BaseCausalDiscovery', '_BaseCausalDiscovery'):\n"
        "    vars(_base).pop(name, None)\n"
        "import pgmpy_latent\n"
        "pgmpy_latent.EAST\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: this pgmpy has no base of structure learners that pgmpy_latent knows")
    assert last.endswith('pip install "pgmpy>=1.1.2,<2"')
    places = ("_base._BaseCausalDiscovery", "_base.BaseCausalDiscovery", "BaseCausalDiscovery")
    assert all(f"pgmpy.causal_discovery.{place}" in last for place in places)


def test_versions_of_pgmpy_that_may_break_names_are_not_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "pgmpy>=1.1.2,<2" in project["dependencies"]
