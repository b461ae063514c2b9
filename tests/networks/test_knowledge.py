"""What is known about edges holds in every network that is learned, also through hidden variables."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG
from pgmpy.causal_discovery import GES, PC, ExpertKnowledge
from sklearn.base import clone

from pgmpy_latent import FindHidden, StructuralEM, log_likelihood
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.networks.hill_climb import Climber
from pgmpy_latent.networks.knowledge import knowledge_from

QUIET = {"random_state": 0, "show_progress": False}


def survey(n=500, n_columns=5):
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n)
    columns = [np.where(rng.random(n) < 0.8, group, rng.integers(3, size=n)) for _ in range(n_columns)]
    return pd.DataFrame({f"x{at}": column for at, column in enumerate(columns)})


KNOWN = {
    "required_edges": [("x0", "x1")],
    "forbidden_edges": [("x2", "x3"), ("x3", "x2")],
    "temporal_order": [["x0", "x1"], ["x2", "x3"], ["x4"]],
}


@pytest.mark.parametrize("kind", [StructuralEM, FindHidden])
@pytest.mark.parametrize("scoring_method", ["bic", "bde"])
def test_edges_are_as_they_are_known_to_be(kind, scoring_method):
    found = kind(scoring_method=scoring_method, expert_knowledge=ExpertKnowledge(**KNOWN), **QUIET).fit(survey())
    edges = set(found.network_.edges)
    assert ("x0", "x1") in edges
    assert not edges & {("x2", "x3"), ("x3", "x2")}
    graph = nx.DiGraph(list(edges))
    place = {name: at for at, tier in enumerate(KNOWN["temporal_order"]) for name in tier}
    for early in place:
        for late in place:
            if place[early] < place[late] and late in graph and early in graph:
                assert not nx.has_path(graph, late, early)


@pytest.mark.parametrize(("kind", "options"), [(StructuralEM, {}), (FindHidden, {"max_latents": 1, "n_states": 3})])
def test_what_is_known_holds_where_cells_are_missing_and_a_network_is_given(kind, options):
    table = survey(200)
    table = table.mask(np.random.default_rng(1).random(table.shape) < 0.1)
    base = DAG([("x0", "x1"), ("x1", "x4")])
    base.add_nodes_from(table.columns)
    found = kind(base, expert_knowledge=ExpertKnowledge(**KNOWN), **options, **QUIET).fit(table)
    edges = set(found.network_.edges)
    assert ("x0", "x1") in edges
    assert not edges & {("x2", "x3"), ("x3", "x2")}
    tier = {name: at for at, some in enumerate(KNOWN["temporal_order"]) for name in some}
    assert all(tier[above] <= tier[below] for above, below in edges if {above, below} <= set(tier))
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, table), rel=1e-9)


@pytest.mark.parametrize("base", [PC(show_progress=False), GES(return_type="dag")], ids=["PC", "GES"])
def test_learners_of_pgmpy_say_where_to_begin(base):
    table = survey(300, 4)
    found = FindHidden(base, max_latents=1, n_states=3, **QUIET).fit(table)
    assert found.latents_ == ["H"]
    assert set(found.base_.observed_names) == set(table.columns)
    gaps = table.astype(object).mask(np.random.default_rng(0).random(table.shape) < 0.1)
    with pytest.raises(
        DataError, match=r"does not learn from this table: .*NaN.*; fit it to rows without missing cells"
    ):
        FindHidden(base, **QUIET).fit(gaps)
    fitted = clone(base).fit(table)
    assert FindHidden(fitted, max_latents=0, **QUIET).fit(gaps).latents_ == []


def test_a_search_space_names_the_only_edges_among_its_nodes():
    space = ExpertKnowledge(search_space=[("x0", "x1"), ("x0", "x2"), ("x0", "x3"), ("x0", "x4")])
    found = StructuralEM(expert_knowledge=space, **QUIET).fit(survey())
    assert set(found.network_.edges) == {("x0", f"x{at}") for at in range(1, 5)}


@given(st.integers(0, 2**32 - 1))
def test_no_path_of_a_climb_leads_back_in_time(seed):
    rng = np.random.default_rng(seed)
    n_nodes, gains = 6, {}
    times = np.where(rng.random(n_nodes) < 0.6, rng.integers(0, 3, n_nodes), np.nan)

    def score(node, parents):
        return gains.setdefault((node, parents), float(rng.normal() + len(parents)))

    found = Climber(score, range(n_nodes), 2, times=times).climb([()] * n_nodes)
    graph = nx.DiGraph([(above, node) for node, some in enumerate(found) for above in some])
    graph.add_nodes_from(range(n_nodes))
    for node in graph:
        assert all(not times[below] < times[node] for below in nx.descendants(graph, node))


def test_a_checkpoint_knows_what_is_known(tmp_path):
    path, table = tmp_path / "search.json", survey(200)
    whole = StructuralEM(expert_knowledge=ExpertKnowledge(**KNOWN), checkpoint=path, **QUIET).fit(table)
    again = StructuralEM(expert_knowledge=ExpertKnowledge(**KNOWN), checkpoint=path, **QUIET).fit(table)
    assert again.network_ == whole.network_
    with pytest.raises(ValueError, match="expert_knowledge"):
        StructuralEM(expert_knowledge=ExpertKnowledge(), checkpoint=path, **QUIET).fit(table)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"expert_knowledge": "x0 before x1"}, TypeError, "expert_knowledge is a str; give pgmpy's ExpertKnowledge"),
        (
            {"expert_knowledge": ExpertKnowledge(required_edges=[("x0", "q")])},
            DataError,
            r"names \['q'\], which are not columns",
        ),
        (
            {"expert_knowledge": ExpertKnowledge(required_edges=[("x0", "x1")], forbidden_edges=[("x0", "x1")])},
            ValueError,
            r"requires edges that it also rules out: \[\('x0', 'x1'\)\]",
        ),
        (
            {"expert_knowledge": ExpertKnowledge(required_edges=[("x0", "x1"), ("x1", "x0")])},
            ValueError,
            "requires a cycle",
        ),
        (
            {
                "start": DAG([("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x3", "x4")]),
                "expert_knowledge": ExpertKnowledge(forbidden_edges=[("x0", "x1")]),
            },
            DataError,
            r"start has edges that expert_knowledge rules out: \[\('x0', 'x1'\)\]; remove them",
        ),
        (
            {
                "start": DAG([("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x3", "x4")]),
                "expert_knowledge": ExpertKnowledge(required_edges=[("x0", "x4")]),
            },
            DataError,
            r"start lacks edges that expert_knowledge requires: \[\('x0', 'x4'\)\]; add them",
        ),
    ],
)
def test_knowledge_that_cannot_hold(options, error, message):
    with pytest.raises(error, match=message):
        StructuralEM(**options, **QUIET).fit(survey(50))


def test_nothing_is_known_without_knowledge():
    known = knowledge_from(None)
    assert known.may_link("x", "y")
    assert known.may_lose("x", "y")
    assert known.places(["x"]) is None
