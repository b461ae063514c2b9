"""Hidden variables that are found: semi-cliques against brute force, and the learner as its users meet it."""

import pickle
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG
from pgmpy.causal_discovery import HillClimbSearch
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks

from pgmpy_latent import (
    EAST,
    AgglomerativeCardinality,
    FindHidden,
    LatentNetwork,
    StructuralEM,
    from_pgmpy,
    log_likelihood,
    row_log_likelihoods,
    sample,
    scores,
    to_pgmpy,
)
from pgmpy_latent.exceptions import ComponentTooLargeError, DataError
from pgmpy_latent.networks.find_hidden.local_search import with_hidden_parent
from pgmpy_latent.networks.find_hidden.semi_cliques import is_semi_clique, semi_cliques, skeleton
from pgmpy_latent.networks.fitter import Fitter
from pgmpy_latent.testing import latent_networks
from tests.support.samples import HISTORY, press_ctrl_c, tuned, two_classes_of_columns

# Semi-cliques -----------------------------------------------------------------------------------------------------


@st.composite
def small_graphs(draw):
    n_nodes = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    graph = nx.Graph()
    graph.add_nodes_from(range(n_nodes))
    share = draw(st.sampled_from([0.2, 0.4, 0.6, 0.9]))
    graph.add_edges_from(pair for pair in combinations(range(n_nodes), 2) if rng.random() < share)
    return graph


def linked_to_half(graph, nodes):
    return all(sum(graph.has_edge(node, other) for other in nodes) >= len(nodes) / 2 for node in nodes)


@given(small_graphs())
def test_a_semi_clique_is_a_set_whose_members_are_linked_to_half_of_it(graph):
    for size in range(1, len(graph) + 1):
        for nodes in combinations(graph, size):
            assert is_semi_clique(graph, set(nodes)) == linked_to_half(graph, nodes)


@given(small_graphs())
def test_semi_cliques_cannot_be_made_larger_by_one_node(graph):
    found = semi_cliques(graph)
    for nodes in found:
        assert linked_to_half(graph, nodes)
        assert not any(linked_to_half(graph, (*nodes, other)) for other in set(graph) - set(nodes))
    assert len(set(found)) == len(found)
    assert [len(nodes) for nodes in found] == sorted((len(nodes) for nodes in found), reverse=True)


@given(small_graphs(), st.integers(3, 5))
def test_every_triangle_and_every_cycle_of_four_is_in_a_semi_clique(graph, smallest):
    found = semi_cliques(graph)
    triangles = [set(nodes) for nodes in combinations(graph, 3) if graph.subgraph(nodes).number_of_edges() == 3]
    circles = [
        set(nodes)
        for nodes in combinations(graph, 4)
        if sorted(degree for _, degree in graph.subgraph(nodes).degree) == [2, 2, 2, 2]
    ]
    assert all(any(seed <= set(nodes) for nodes in found) for seed in triangles + circles)
    assert bool(found) == bool(triangles + circles)
    assert semi_cliques(graph, smallest) == [nodes for nodes in found if len(nodes) >= smallest]


@given(latent_networks())
def test_the_skeleton_has_the_links_among_some_nodes(network):
    nodes = np.flatnonzero(~network.latent).tolist()
    graph = skeleton(network.parents, nodes)
    assert sorted(graph) == nodes
    for left, right in combinations(nodes, 2):
        assert graph.has_edge(left, right) == (left in network.parents[right] or right in network.parents[left])


@given(latent_networks(), st.data())
def test_a_hidden_parent_replaces_the_edges_among_its_children_and_no_others(network, data):
    members = data.draw(st.sets(st.sampled_from(network.names), min_size=1))
    graph = with_hidden_parent(network, "new", sorted(members))
    edges = {(above, name) for name, some in graph.parents.items() for above in some}
    kept = {(above, below) for above, below in network.edges if not {above, below} <= members}
    assert edges == kept | {("new", member) for member in members}
    assert graph.latents == ("new", *network.latent_names)


# The learner ------------------------------------------------------------------------------------------------------


def survey(n=800, seed=0, n_columns=5):
    """Columns that say in which of three groups somebody is, or at times anything."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    columns = [np.where(rng.random(n) < 0.8, group, rng.integers(3, size=n)) for _ in range(n_columns)]
    return pd.DataFrame({f"x{at}": column for at, column in enumerate(columns)})


def learner(base=None, **options):
    return tuned(FindHidden, base, **{"random_state": 0, "show_progress": False, **options})


def base_score(found):
    """Return the score of the network before hidden variables were proposed."""
    history = found.history_
    return history.loc[history["operator"] == "change edges", "score"].iloc[-1]


@pytest.fixture(scope="module")
def found():
    return learner().fit(survey())


def neighbours(model, name):
    return {*model.predecessors(name), *model.successors(name)}


@pytest.mark.parametrize(("n_columns", "seed"), [(5, 0), (5, 1), (6, 2)])
def test_it_finds_the_hidden_variable_of_a_latent_class_model(n_columns, seed):
    table = survey(seed=seed, n_columns=n_columns)
    found, new = learner().fit(table), survey(seed=seed + 100, n_columns=n_columns)
    assert found.n_states_ == {"H": 3}
    assert neighbours(found.model_, "H") == set(table.columns)
    assert len(found.network_.edges) == n_columns
    assert found.score_ > found.history_["score"].iloc[0] + 10
    assert row_log_likelihoods(found.network_, new).sum() > row_log_likelihoods(found.base_, new).sum() + 10


def test_it_finds_nothing_in_independent_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(3, size=(600, 5)), columns=list("abcde"))
    found = learner().fit(table)
    assert found.latents_ == []
    assert not found.candidates_["kept"].any()
    assert found.network_.edges == found.base_.edges == []
    assert found.transform(table).shape == (600, 0)


def test_what_is_found_agrees_with_itself(found):
    table = survey()
    assert isinstance(found.network_, LatentNetwork)
    assert found.network_.names == ("H", *table.columns)
    assert found.latents_ == ["H"]
    assert found.stopped_ is None
    assert found.model_ is found.causal_graph_
    assert found.model_.check_model()
    assert found.model_.latents == {"H"}
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, table), rel=1e-10)
    assert found.n_parameters_ == scores.n_parameters(found.network_)
    assert found.bic_ == pytest.approx(found.log_likelihood_ - found.n_parameters_ / 2 * np.log(800), rel=1e-10)
    assert found.score_ == pytest.approx(scores.cheeseman_stutz(found.network_, table, prior=0.5), rel=1e-9)
    shares = found.predict_proba(table)["H"]
    assert (np.diff(shares.mean()) <= 1e-9).all()
    group = np.random.default_rng(0).integers(3, size=800)  # as survey draws it
    assert pd.crosstab(group, found.predict(table)["H"]).max(axis=1).sum() > 0.9 * 800


def test_the_base_is_the_network_without_hidden_variables(found):
    alone = StructuralEM(scoring_method="bde", show_progress=False).fit(survey())
    assert set(found.base_.edges) == set(alone.network_.edges)
    assert base_score(found) == pytest.approx(alone.score_, rel=1e-9)
    assert base_score(found) == pytest.approx(scores.cheeseman_stutz(found.base_, survey(), prior=0.5), rel=1e-9)


def test_proposals_are_listed(found):
    table = found.candidates_
    names = ["step", "hidden", "members", "n_states", "children", "local_gain", "score", "gain", "kept"]
    assert table.columns.tolist() == names
    kept = table[table["kept"]]
    assert kept["hidden"].tolist() == ["H"]
    row = kept.iloc[0]
    assert row["n_states"] == 3
    assert set(row["children"]) == set(found.model_.successors("H"))
    assert set(row["members"]) <= set(survey().columns)
    assert len(row["members"]) >= 3
    assert row["gain"] == pytest.approx(row["score"] - base_score(found))
    assert row["score"] == pytest.approx(found.score_, abs=0.1)  # before the last fit


def test_history_tells_what_was_introduced(found):
    history = found.history_
    assert history.columns.tolist() == HISTORY
    assert history["operator"].tolist()[:3] == ["start", "change edges", "introduce hidden variable"]
    assert history["target"].iloc[2].startswith("H (3 states): x")
    assert history["score"].is_monotonic_increasing
    assert history["score"].iloc[-1] == found.score_
    assert history["log_likelihood"].iloc[-1] == found.log_likelihood_


def test_several_hidden_variables_are_found_one_after_the_other():
    left, right = survey(600, seed=1, n_columns=4), survey(600, seed=2, n_columns=4)
    table = pd.concat([left, right.set_axis([f"y{at}" for at in range(4)], axis=1)], axis=1)
    found = learner().fit(table)
    assert found.n_states_ == {"H": 3, "H_1": 3}
    assert {frozenset(neighbours(found.model_, name)) for name in ("H", "H_1")} == {
        frozenset(left.columns), frozenset(table.columns[4:]),
    }  # fmt: skip
    kept = found.candidates_[found.candidates_["kept"]]
    assert kept["hidden"].tolist() == ["H", "H_1"]
    assert kept["step"].tolist() == [1, 2]
    assert learner(max_latents=1).fit(table).latents_ == ["H"]


def test_n_states_says_how_many_states_there_are():
    assert learner(n_states=3).fit(survey()).n_states_ == {"H": 3}
    table = sample(two_classes_of_columns(), 3000, random_state=0)
    found = learner(n_states=2).fit(table)
    assert found.latents_
    assert set(found.n_states_.values()) == {2}
    assert set(found.candidates_["n_states"]) == {2}


def test_without_hidden_variables_allowed_it_gives_the_base(found):
    none = learner(max_latents=0).fit(survey())
    assert none.latents_ == []
    assert none.candidates_.empty
    assert none.candidates_.columns.tolist() == found.candidates_.columns.tolist()
    assert none.network_.edges == none.base_.edges == found.base_.edges
    assert none.score_ == pytest.approx(base_score(found), rel=1e-9)


def test_min_children_and_max_candidates_limit_what_is_proposed():
    assert learner(min_children=6).fit(survey()).candidates_.empty
    table = pd.concat([survey(400, seed=at, n_columns=3).add_prefix(f"g{at}") for at in range(3)], axis=1)
    assert (learner(max_candidates=1, use_tree=False).fit(table).candidates_.groupby("step").size() == 1).all()
    assert learner(max_latents=1).fit(table).candidates_.groupby("step").size().max() > 1


def test_held_out_rows_decide_and_all_are_learned_from():
    table, new = survey(), survey(seed=100)
    found = learner(criterion="held_out").fit(table)
    assert found.latents_ == ["H"]
    assert neighbours(found.model_, "H") == set(table.columns)
    assert row_log_likelihoods(found.network_, new).sum() > row_log_likelihoods(found.base_, new).sum()
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, table), rel=1e-10)
    assert 0.2 < found.score_ / found.log_likelihood_ < 0.3  # of about a quarter of the rows
    assert 0.2 < found.latent_tree_score_ / found.log_likelihood_ < 0.3
    assert found.history_["score"].is_monotonic_increasing


def test_with_bic_the_score_is_the_bic():
    found = learner(scoring_method="bic").fit(survey())
    assert found.latents_
    assert found.score_ == pytest.approx(found.bic_, rel=1e-10)
    assert found.score_ > scores.bic(found.base_, survey())


def test_with_bdeu_the_score_has_an_equivalent_sample_size():
    table = survey()
    found = learner(scoring_method="bdeu").fit(table)
    assert found.n_states_ == {"H": 3}
    assert neighbours(found.model_, "H") == set(table.columns)
    assert found.score_ > base_score(found) + 10
    alone = StructuralEM(scoring_method="bdeu", show_progress=False).fit(table)
    assert set(found.base_.edges) == set(alone.network_.edges)
    assert base_score(found) == pytest.approx(alone.score_, rel=1e-9)


def test_missing_cells_are_summed_out():
    table = survey().mask(np.random.default_rng(0).random((800, 5)) < 0.1)
    found = learner().fit(table)
    assert found.n_states_ == {"H": 3}
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, table), rel=1e-10)
    assert not found.impute(table).isna().any(axis=None)


# What it begins with ----------------------------------------------------------------------------------------------


def all_linked():
    return DAG(list(combinations(survey().columns, 2)))


BASES = {
    "dag": all_linked,
    "pgmpy network": lambda: to_pgmpy(learner(max_latents=0).fit(survey()).base_),
    "network": lambda: learner(max_latents=0).fit(survey()).base_,
    "learner of ours": lambda: StructuralEM(show_progress=False),
    "learner of ours, fitted": lambda: StructuralEM(scoring_method="bde", show_progress=False).fit(survey()),
    "learner of pgmpy": lambda: HillClimbSearch(show_progress=False),
    "learner of pgmpy for DAGs": lambda: HillClimbSearch(return_type="dag", show_progress=False),
    "learner of pgmpy, fitted": lambda: HillClimbSearch(show_progress=False).fit(survey()),
}


@pytest.mark.parametrize("kind", BASES)
def test_every_kind_of_base_will_do(kind):
    base = BASES[kind]()
    found = learner(base).fit(survey())
    assert found.n_states_ == {"H": 3}
    assert found.base_.latent_names == ()
    assert found.base_.observed_names == tuple(survey().columns)
    assert found.score_ > scores.cheeseman_stutz(found.base_, survey(), prior=0.5) + 10
    if kind == "dag":
        assert set(found.base_.edges) == set(base.edges())


def test_a_base_is_left_as_it_is():
    base = StructuralEM(show_progress=False)
    learner(base).fit(survey())
    assert not hasattr(base, "network_")
    dag = all_linked()
    learner(dag).fit(survey())
    assert set(dag.edges()) == set(all_linked().edges())
    assert dag.latents == set()


def test_hidden_variables_of_a_base_are_kept():
    tree = two_classes_of_columns()
    found = learner(tree).fit(sample(tree, 600, random_state=0))
    assert {"A", "B"} <= set(found.latents_)
    assert found.base_.latent_names == ("A", "B")
    assert found.n_states_["A"] == found.n_states_["B"] == 2


def test_in_a_base_without_links_a_latent_tree_says_where_to_look():
    base = DAG()
    base.add_nodes_from(survey().columns)
    assert learner(base).fit(survey()).n_states_ == {"H": 3}
    found = learner(base, use_tree=False).fit(survey())
    assert found.latents_ == []
    assert found.network_.edges == []


# Weights, seeds and interrupts ------------------------------------------------------------------------------------


def assert_same_network(left, right):
    assert left.names == right.names
    assert left.parents == right.parents
    for mine, theirs in zip(left.tables, right.tables, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "options", [{}, {"criterion": "held_out"}, {"n_states": 2}, {"base": HillClimbSearch(show_progress=False)}]
)
def test_a_weight_is_a_repeated_row(options):
    table, weights = survey(400), np.random.default_rng(0).integers(0, 4, size=400)
    weighted = learner(**options).fit(table, sample_weight=weights)
    repeated = learner(**options).fit(table.loc[table.index.repeat(weights)])
    assert weighted.score_ == pytest.approx(repeated.score_, rel=1e-10)
    assert weighted.network_.edges == repeated.network_.edges
    for mine, theirs in zip(weighted.network_.tables, repeated.network_.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"criterion": "held_out"}, {"n_states": 3}])
def test_same_seed_same_answer_whatever_the_number_of_jobs(options):
    table = survey(400)
    first = learner(**options).fit(table)
    for n_jobs in (None, 2):
        again = learner(**options, n_jobs=n_jobs).fit(table)
        assert_same_network(first.network_, again.network_)
        pd.testing.assert_frame_equal(first.candidates_, again.candidates_)


def test_the_order_of_columns_does_not_matter(found):
    mixed = learner().fit(survey()[["x3", "x0", "x4", "x2", "x1"]])
    assert set(mixed.model_.edges()) == set(found.model_.edges())
    assert mixed.score_ == pytest.approx(found.score_, rel=1e-9)


@pytest.mark.parametrize("moment", [1, 10, 60, 150])
def test_ctrl_c_gives_the_best_so_far(monkeypatch, moment):
    press_ctrl_c(monkeypatch, moment)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search.*best model so far"):
        found = learner(all_linked()).fit(survey(400))
    assert found.stopped_ == "interrupted"
    assert found.model_.check_model()
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, survey(400)), rel=1e-10)


def test_when_time_is_up_the_best_so_far_is_returned():
    with pytest.warns(ConvergenceWarning, match="time limit stopped the search.*best model so far"):
        found = learner(all_linked(), time_limit=1e-9).fit(survey(400))
    assert found.stopped_ == "time_limit"
    assert found.latents_ == []
    assert found.candidates_.empty
    assert set(found.network_.edges) == set(all_linked().edges())


# What else is asked of a learner ----------------------------------------------------------------------------------


def test_settings_are_stored_as_given_and_copies_answer_alike(found):
    options = {"criterion": "held_out", "n_states": 3, "max_latents": 4}
    one = learner(StructuralEM(max_parents=2), **options)
    assert {name: one.get_params()[name] for name in options} == options
    assert one.get_params()["base__max_parents"] == 2
    assert clone(one).get_params()["base__max_parents"] == 2
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.score_samples(survey(20)), found.score_samples(survey(20)))
    assert found.sample(3, random_state=0).columns.tolist() == list(survey().columns)
    np.testing.assert_array_equal(found.transform(survey(20)), found.predict_proba(survey(20)).to_numpy())


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.UnseenCategoryWarning")
@estimator_checks.parametrize_with_checks([learner()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_what_is_found_is_where_other_learners_begin(found):
    sized = AgglomerativeCardinality(found.model_, show_progress=False).fit(survey())
    assert sized.cardinality_ == {"H": 3}
    assert set(sized.model_.edges()) == set(found.model_.edges())
    refined = StructuralEM(found.model_, scoring_method="bde", random_state=0, show_progress=False).fit(survey())
    assert refined.n_states_ == {"H": 3}
    assert refined.score_ >= found.score_ - 0.1
    tree = from_pgmpy(found.model_)  # a forest
    assert tree.latent_names == ("H",)
    grown = EAST(start=found.model_, random_state=0, show_progress=False).fit(survey())
    assert grown.score_ >= scores.bic(tree, survey())
    assert isinstance(grown.model_, DiscreteBayesianNetwork)


@pytest.mark.parametrize("moment", [2, 60, 400])
def test_ctrl_c_while_the_edges_of_the_base_are_learned_gives_what_there_is(monkeypatch, moment):
    press_ctrl_c(monkeypatch, moment)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C"):
        found = learner().fit(survey(400))
    assert found.stopped_ == "interrupted"
    assert found.model_.check_model()


def test_a_time_limit_ends_the_search_for_edges_too():
    with pytest.warns(ConvergenceWarning, match="time limit"):
        found = learner(time_limit=1e-9).fit(survey(400))
    assert found.stopped_ == "time_limit"
    assert found.model_.check_model()


def test_rows_that_were_held_out_may_hold_what_the_others_do_not():
    found = learner(criterion="held_out", scoring_method="bic", prior=0.01, random_state=5).fit(survey(300, 5))
    assert np.isfinite(found.log_likelihood_)
    with pytest.raises(ValueError, match="criterion='held_out' needs a prior"):
        learner(criterion="held_out", scoring_method="bic").fit(survey(300, 5))


def test_fractional_weights_share_the_copies_of_a_row_out_too():
    table = survey(300)
    found = learner(criterion="held_out").fit(table, sample_weight=np.full(300, 1.5))
    fresh = survey(3000, seed=9)
    assert row_log_likelihoods(found.network_, fresh).mean() > row_log_likelihoods(found.base_, fresh).mean() - 0.01


def test_a_component_that_cannot_be_summed_out_ends_no_search(monkeypatch):
    def too_large(*arguments):
        raise ComponentTooLargeError("too large")

    monkeypatch.setattr(Fitter, "with_parents", too_large)
    with pytest.warns(ConvergenceWarning, match="no further edges were tried: too large"):
        found = StructuralEM(show_progress=False).fit(survey(200))
    assert not found.model_.edges()


def test_a_semi_clique_with_too_many_assignments_is_sized_by_random_starts():
    found = learner(max_initial=20).fit(survey(600))
    assert found.n_states_ == {"H": 3}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"criterion": "bic"}, ValueError, "criterion is 'bic'; give 'cheeseman_stutz' or 'held_out'"),
        ({"n_states": 1}, ValueError, "n_states is 1; give a whole number of at least 2, or None"),
        ({"min_children": 2}, ValueError, "min_children is 2; give a whole number of at least 3"),
        ({"max_latents": -1}, ValueError, "max_latents is -1"),
        ({"scoring_method": "k2"}, ValueError, r"scoring_method is 'k2'; give 'bde', 'bdeu' or 'bic'"),
        ({"prior": 0}, ValueError, "prior is 0, with which 'bde' is not defined"),
        ({"base": DAG([("a", "b")])}, DataError, r"base has nodes that are not columns of the data: \['a', 'b'\]"),
        ({"base": DAG([("x0", "x1")])}, DataError, r"base lacks the columns \['x2', 'x3', 'x4'\]"),
        ({"base": DAG([("x0", "x1")], latents={"x0"})}, DataError, r"base hides \['x0'\], which are columns"),
        ({"base": "hill climb"}, TypeError, "base is a str; give a pgmpy network"),
        ({"time_limit": -1}, ValueError, "time_limit is -1; give a number of seconds above 0"),
    ],
)
def test_settings_that_cannot_be_meant(options, error, message):
    with pytest.raises(error, match=message):
        learner(**options).fit(survey(50))


def test_a_learner_without_weights_takes_whole_ones_only():
    with pytest.raises(DataError, match=r"learner that takes no weights.*not whole numbers"):
        learner(HillClimbSearch(show_progress=False)).fit(survey(50), sample_weight=np.linspace(0.5, 2, 50))


def test_a_base_of_pgmpy_learns_from_texts_beside_truth_values():
    table = survey(200)
    first, second = table.columns[:2]
    table[first] = table[first] == table[first].iloc[0]
    table[second] = table[second].map("answer {}".format)
    found = learner(HillClimbSearch(scoring_method="bic-d", show_progress=False), max_latents=0).fit(table)
    assert set(found.network_.observed_names) == set(table.columns)
