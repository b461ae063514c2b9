"""NetworkEM as pgmpy's users meet it: against TreeEM on forests, and against EM by enumeration elsewhere."""

import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.parameter_estimator import DiscreteEM, DiscreteMLE
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from pgmpy_latent import LatentNetwork, NetworkEM, TreeEM, encode, log_likelihood, network_from_pgmpy, sample, to_pgmpy
from pgmpy_latent.em import fit as em
from pgmpy_latent.exceptions import ComponentTooLargeError, DataError, DegenerateStateWarning, StateNameError
from pgmpy_latent.testing import latent_networks
from tests.runtime.test_parallel import blas_threads
from tests.support import reference_networks as reference

pytestmark = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.DegenerateStateWarning")


def two_parents(hidden="H"):
    """A hidden node below two columns, above two others; one of these depends on a column directly as well."""
    edges = [("a", hidden), ("b", hidden), (hidden, "c"), (hidden, "d"), ("a", "d")]
    return DiscreteBayesianNetwork(edges, latents={hidden})


def star(columns="abcd", hidden="H"):
    return DiscreteBayesianNetwork([(hidden, column) for column in columns], latents={hidden})


def survey(n=200, seed=0, gaps=0.1):
    """Four columns of answers that hang on two others through a group that nobody asked about."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, size=n), rng.integers(0, 3, size=n)
    group = rng.random(n) < 0.1 + 0.4 * a + 0.2 * b
    c = rng.random(n) < np.where(group, 0.9, 0.1)
    d = rng.random(n) < np.where(group, 0.6, 0.1) + 0.3 * a
    frame = pd.DataFrame({"a": np.where(a, "yes", "no"), "b": b, "c": np.where(c, "yes", "no"), "d": d}, dtype=object)
    return frame.mask(rng.random(frame.shape) < gaps, None)


def fitted(model=None, data=None, weights=None, **options):
    options = {"seed": 0, "show_progress": False, **options}
    model = two_parents() if model is None else model
    return NetworkEM(**options).fit(model, survey() if data is None else data, weights)


def same_tables(left, right, **tolerance):
    for mine, theirs in zip(left, right, strict=True):
        if tolerance:
            np.testing.assert_allclose(mine, theirs, **tolerance)
        else:
            np.testing.assert_array_equal(mine, theirs)


# A pgmpy estimator ------------------------------------------------------------------------------------------------


def test_it_is_a_drop_in_for_pgmpys_em():
    network = two_parents().fit(survey(), estimator=NetworkEM(seed=0, show_progress=False))
    assert network.check_model()
    assert network.latents == {"H"}
    assert network.get_cpds("b").state_names["b"] == [0, 1, 2]
    answer = VariableElimination(network).query(["H"], evidence={"a": "yes", "b": 2}, show_progress=False)
    assert answer.values.sum() == pytest.approx(1)


def test_weights_reach_it_through_pgmpys_fit():
    weights = np.linspace(0.5, 2, 200)
    network = two_parents().fit(survey(), estimator=NetworkEM(seed=1, show_progress=False), sample_weight=weights)
    direct = fitted(weights=weights, seed=1)
    for cpd in direct.parameters_:
        np.testing.assert_array_equal(network.get_cpds(cpd.variable).get_values(), cpd.get_values())


def test_it_has_the_keywords_and_tags_of_tree_em():
    assert inspect.signature(NetworkEM.__init__) == inspect.signature(TreeEM.__init__)
    assert NetworkEM().get_params() == TreeEM().get_params()
    assert NetworkEM.get_class_tags() == TreeEM.get_class_tags()
    assert NetworkEM.get_class_tag("supports_latent_variables")
    assert NetworkEM.get_class_tag("supports_weighted_data")
    options = {"latent_card": {"H": 3}, "n_init": 2, "seed": 5, "prior": 0.1}
    estimator = NetworkEM(**options)
    assert {name: estimator.get_params()[name] for name in options} == options
    assert estimator.clone().get_params() == estimator.get_params()


@pytest.mark.filterwarnings("default")
def test_all_generic_checks_of_skbase_pass():
    from skbase.testing import TestAllObjects

    class GenericChecks(TestAllObjects):
        valid_tags = tuple(DiscreteEM.get_class_tags())

    results = GenericChecks().run_tests(NetworkEM, raise_exceptions=False)
    assert len(results) >= 15
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


def test_it_leaves_the_names_of_tree_em_behind():
    ours, theirs = fitted(star()), TreeEM(seed=0, show_progress=False).fit(star(), survey())
    assert {*vars(ours)} ^ {*vars(theirs)} == {"network_", "tree_"}


def test_what_it_leaves_behind_agrees():
    estimator = fitted(seed=3)
    assert isinstance(estimator.network_, LatentNetwork)
    assert [cpd.variable for cpd in estimator.parameters_] == list(two_parents().nodes())
    assert estimator.state_names_ == {
        "a": ["no", "yes"], "b": [0, 1, 2], "H": [0, 1], "c": ["no", "yes"], "d": [False, True],
    }  # fmt: skip
    assert estimator.converged_
    assert not estimator.interrupted_
    assert estimator.n_iter_ == len(estimator.log_likelihoods_)
    assert 1 <= estimator.n_best_ <= 16
    assert len(estimator.start_objectives_) == 16
    assert estimator.log_likelihood_ == pytest.approx(log_likelihood(estimator.network_, survey()), rel=1e-12)
    assert estimator.degenerate_states_ == []
    again = network_from_pgmpy(to_pgmpy(estimator.network_))
    assert again.names == estimator.network_.names
    same_tables(again.tables, estimator.network_.tables, atol=1e-15)


def test_a_plain_dag_will_do_and_further_columns_are_left_aside():
    dag = DAG([("H", "a"), ("H", "c"), ("b", "c")], latents={"H"})
    estimator = fitted(dag)
    assert [cpd.variable for cpd in estimator.parameters_] == ["H", "a", "c", "b"]
    assert estimator.network_.edges == [("H", "a"), ("H", "c"), ("b", "c")]


def test_without_hidden_variables_and_gaps_it_is_maximum_likelihood():
    data = survey(gaps=0.0)
    model = DiscreteBayesianNetwork([("a", "d"), ("b", "d"), ("a", "c"), ("d", "c")])
    theirs = DiscreteMLE().fit(model, data)
    same_tables(
        [cpd.get_values() for cpd in fitted(model, data).parameters_],
        [cpd.get_values() for cpd in theirs.parameters_],
        atol=1e-12,
    )


# Forests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "edges",
    [
        [("H", "a"), ("H", "b"), ("H", "c"), ("H", "d")],
        [("a", "H"), ("H", "b"), ("H", "c"), ("c", "d")],
        [("H", "a"), ("H", "b"), ("H", "G"), ("G", "c"), ("G", "d")],
    ],
)
def test_on_forests_it_gives_what_tree_em_gives_from_the_same_seed(edges, seed):
    model = DiscreteBayesianNetwork(edges, latents={"H", "G"} & {name for edge in edges for name in edge})
    options = {"seed": seed, "latent_card": {"H": 3}, "n_init": 4, "show_progress": False}
    ours, theirs = NetworkEM(**options).fit(model, survey()), TreeEM(**options).fit(model, survey())
    assert ours.log_likelihood_ == theirs.log_likelihood_
    np.testing.assert_array_equal(ours.log_likelihoods_, theirs.log_likelihoods_)
    assert ours.network_.names == theirs.tree_.names
    assert ours.state_names_ == theirs.state_names_
    # in which order the states are is said by the rows here, and by the tables there: nearly the same where EM ends
    same_tables(ours.network_.tables, theirs.tree_.tables)


def test_hidden_states_are_in_the_order_of_the_rows_that_they_account_for():
    estimator = fitted(latent_card=3)
    network, data = estimator.network_, encode(survey(), columns=list("abcd"))
    codes = data.codes_of(network.names)
    counts = reference.family_counts(network, codes, data.weights, [network.index("H")])
    assert (np.diff(counts) <= 1e-9).all()
    assert network.state_names[network.index("H")] == (0, 1, 2)


# EM ---------------------------------------------------------------------------------------------------------------


def maximised(network, counts, prior):
    """Return the network with the tables (prior + count) / sum; rows that no count falls into stay as they are."""
    tables = []
    for old, found in zip(network.tables, counts, strict=True):
        sums = (found + prior).sum(axis=1, keepdims=True)
        tables.append(np.where(sums > 0, (found + prior) / np.where(sums > 0, sums, 1), old))
    return network.with_tables(tables)


def enumerated_em(network, data, n_steps):
    """Return the log-likelihood after some plain EM steps, written out."""
    codes = data.codes_of(network.names)
    for _ in range(n_steps):
        network = maximised(network, reference.expected_counts(network, codes, data.weights), 0.0)
    return float(data.weights @ reference.log_likelihoods(network, codes))


def random_start(model, states, seed):
    """Return CPDs by variable, with random entries."""
    rng = np.random.default_rng(seed)
    cpds = {}
    for name in model.nodes():
        above = list(model.predecessors(name))
        sizes = [len(states[parent]) for parent in above]
        table = rng.dirichlet(np.ones(len(states[name])), size=int(np.prod(sizes, dtype=int)))
        known = {node: states[node] for node in (name, *above)}
        cpds[name] = TabularCPD(name, len(states[name]), table.T, above or None, sizes or None, known)
    return cpds


STATES = {"a": ["no", "yes"], "b": [0, 1, 2], "H": ["low", "high"], "c": ["no", "yes"], "d": [False, True]}


def started(model, cpds):
    network = DiscreteBayesianNetwork(model.edges(), latents=model.latents)
    network.add_cpds(*cpds.values())
    return network_from_pgmpy(network)


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_no_lower_than_two_hundred_plain_steps_from_the_same_start(seed):
    data = survey(60, gaps=0.0)
    cpds = random_start(two_parents(), STATES, seed)
    found = fitted(data=data, init_cpds=cpds, atol=1e-9)
    plain = enumerated_em(started(two_parents(), cpds), encode(data, columns=list("abcd")), 200)
    assert found.converged_
    assert found.log_likelihood_ >= plain - 1e-6


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_first_steps_are_those_of_plain_em(gaps):
    data = survey(40, gaps=gaps)
    cpds = random_start(two_parents(), STATES, 7)
    found = fitted(data=data, init_cpds=cpds, atol=0, max_iter=5)
    encoded, network = encode(data, columns=list("abcd")), started(two_parents(), cpds)
    steps = [enumerated_em(network, encoded, n_steps) for n_steps in range(6)]
    np.testing.assert_allclose(found.log_likelihoods_, steps, rtol=1e-12)


def test_it_takes_the_same_steps_as_pgmpys_em():
    data, cpds = survey(60, gaps=0.0), random_start(two_parents(), STATES, 1)
    theirs = DiscreteEM(max_iter=5, init_cpds=cpds, show_progress=False, atol=1e-12).fit(two_parents(), data)
    ours = fitted(data=data, init_cpds=cpds, max_iter=5, atol=0)
    for mine, his in zip(ours.parameters_, theirs.parameters_, strict=True):
        assert mine.variable == his.variable
        np.testing.assert_allclose(mine.get_values(), his.get_values(), atol=1e-8)


@given(latent_networks(max_nodes=5), st.integers(0, 2**16))
@settings(max_examples=30)
def test_it_never_falls_and_beginning_at_the_truth_is_never_worse_than_the_truth(network, seed):
    data = sample(network, 40, random_state=seed)
    data = data.mask(np.random.default_rng(seed).random(data.shape) < 0.1)
    model = to_pgmpy(network)
    cpds = {cpd.variable: cpd for cpd in model.cpds}
    states = dict(zip(network.names, network.state_names, strict=True))
    estimator = fitted(model, data, init_cpds=cpds, state_names=states)
    assert estimator.log_likelihood_ >= log_likelihood(network, data) - 1e-9
    drawn = fitted(model, data, state_names=states, latent_card=None, init_cpds="random", n_init=2, atol=0.1)
    for values in (estimator.log_likelihoods_, drawn.log_likelihoods_):
        assert (np.diff(values) >= -1e-9 * max(1.0, abs(values[-1]))).all()


@pytest.mark.parametrize("prior", [0.5, 2.0])
def test_with_a_prior_the_tables_are_prior_plus_expected_counts(prior):
    data = survey(80)
    estimator = fitted(data=data, prior=prior, atol=1e-12, n_init=2)
    encoded, network = encode(data, columns=list("abcd")), estimator.network_
    counts = reference.expected_counts(network, encoded.codes_of(network.names), encoded.weights)
    same_tables(network.tables, maximised(network, counts, prior).tables, atol=1e-5)
    assert all((table > 0).all() for table in network.tables)
    penalty = prior * sum(np.log(table).sum() for table in network.tables)
    assert estimator.start_objectives_.max() == pytest.approx(estimator.log_likelihood_ + penalty, abs=1e-6)


@pytest.mark.parametrize("prior", [None, 0.5])
def test_a_weight_is_a_repeated_row_and_a_zero_weight_an_absent_one(prior):
    data = survey(60)
    times = np.arange(60) % 3
    weighted = fitted(data=data, weights=times, prior=prior)
    repeated = fitted(data=data.loc[data.index.repeat(times)], prior=prior)
    assert weighted.log_likelihood_ == repeated.log_likelihood_
    same_tables(weighted.network_.tables, repeated.network_.tables)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_same_seed_same_answer_whatever_the_number_of_jobs(n_jobs):
    one, other = fitted(latent_card=3, seed=7), fitted(latent_card=3, seed=7, n_jobs=n_jobs)
    assert one.log_likelihood_ == other.log_likelihood_
    same_tables(one.network_.tables, other.network_.tables)


def test_order_of_rows_and_columns_changes_nothing():
    shuffled = survey().sample(frac=1, random_state=0)[["c", "a", "d", "b"]]
    plain, changed = fitted(), fitted(data=shuffled)
    assert plain.log_likelihood_ == pytest.approx(changed.log_likelihood_, rel=1e-12)
    same_tables(plain.network_.tables, changed.network_.tables, atol=1e-9)


def test_missing_cells_are_summed_out_not_dropped():
    data = survey(gaps=0.2)
    model = DiscreteBayesianNetwork([("a", "d"), ("b", "d"), ("a", "c"), ("d", "c")])
    estimator = fitted(model, data, atol=1e-10)
    network, encoded = estimator.network_, encode(data, columns=list(model.nodes()))
    codes = encoded.codes_of(network.names)
    assert estimator.log_likelihood_ == pytest.approx(
        encoded.weights @ reference.log_likelihoods(network, codes), rel=1e-12
    )
    counts = reference.expected_counts(network, codes, encoded.weights)
    same_tables(network.tables, maximised(network, counts, 0.0).tables, atol=1e-4)
    empty = pd.concat([data, pd.DataFrame([dict.fromkeys("abcd")] * 5, dtype=object)])
    assert fitted(model, empty, atol=1e-10).log_likelihood_ == pytest.approx(estimator.log_likelihood_, abs=1e-8)


# Where it begins --------------------------------------------------------------------------------------------------


def in_another_order(cpd):
    """Return the same CPD with its parents, and the states of all its variables, in reverse."""
    names = cpd.variables[:1] + cpd.variables[:0:-1]
    values = np.transpose(cpd.values, [0, *range(len(names) - 1, 0, -1)])[(slice(None, None, -1),) * len(names)]
    states = {name: list(cpd.state_names[name])[::-1] for name in names}
    sizes = [len(states[name]) for name in names[1:]]
    return TabularCPD(names[0], len(values), values.reshape(len(values), -1), names[1:] or None, sizes or None, states)


def test_given_tables_may_list_parents_and_states_in_any_order():
    cpds = random_start(two_parents(), STATES, 3)
    turned = {name: in_another_order(cpd) for name, cpd in cpds.items()}
    assert turned["d"].variables != cpds["d"].variables
    options = {"atol": 0, "max_iter": 9, "state_names": {"H": STATES["H"]}}
    plain, other = fitted(init_cpds=cpds, **options), fitted(init_cpds=turned, **options)
    assert len(other.start_objectives_) == 1
    np.testing.assert_allclose(other.log_likelihoods_, plain.log_likelihoods_, rtol=1e-12)
    assert other.state_names_ == plain.state_names_ == STATES | {"H": ["low", "high"]}
    same_tables(other.network_.tables, plain.network_.tables, atol=1e-12)


def test_hidden_states_that_a_start_names_keep_their_order():
    found = fitted(atol=1e-8)
    start = {cpd.variable: in_another_order(cpd) for cpd in found.parameters_}
    kept = fitted(init_cpds=start)
    assert kept.state_names_["H"] == [1, 0]
    assert kept.log_likelihood_ == pytest.approx(found.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(kept.network_.table("H"), found.network_.table("H")[:, ::-1], atol=1e-3)


def test_variables_that_a_start_leaves_out_begin_with_memberships():
    best = fitted()
    some = fitted(init_cpds={"c": best.parameters_[3]}, n_init=4)
    assert best.parameters_[3].variable == "c"
    assert len(some.start_objectives_) == 4
    assert some.log_likelihood_ == pytest.approx(best.log_likelihood_, abs=1e-3)


def test_a_uniform_start_is_the_saddle_point_it_says():
    with pytest.warns(DegenerateStateWarning, match="states 0 and 1 of 'H' are the same"):
        assert fitted(init_cpds="uniform").log_likelihood_ < fitted().log_likelihood_ - 1


# What is warned of ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default::pgmpy_latent.exceptions.DegenerateStateWarning")
def test_empty_or_duplicate_states_are_reported():
    data = pd.DataFrame({"a": ["x", "y"] * 20, "b": ["x", "y"] * 20, "c": ["x"] * 20 + ["y"] * 20})
    model = DiscreteBayesianNetwork([("H", "a"), ("H", "b"), ("c", "b")], latents={"H"})
    with pytest.warns(DegenerateStateWarning, match="Fewer states would fit as well"):
        estimator = fitted(model, data, latent_card=4, init_cpds="memberships")
    assert any("of 'H'" in words for words in estimator.degenerate_states_)


def test_too_few_iterations_give_a_warning_with_the_numbers():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3 iterations.*left to gain"):
        estimator = fitted(max_iter=3, latent_card=4)
    assert not estimator.converged_


def test_atol_zero_never_stops_early_and_warns_of_nothing():
    assert fitted(atol=0, max_iter=123, n_init=2).n_iter_ == 123


# What bad input gets ----------------------------------------------------------------------------------------------


def test_a_hidden_variable_named_like_a_column():
    with pytest.raises(DataError, match=r"hidden variable 'd' is named like a column"):
        fitted(DiscreteBayesianNetwork([("d", "a"), ("d", "b"), ("a", "b")], latents={"d"}))


def test_a_node_that_is_neither_hidden_nor_a_column():
    with pytest.raises(DataError, match=r"not columns of the data: \['z'\].*declare the nodes hidden"):
        fitted(DiscreteBayesianNetwork([("H", "a"), ("H", "z"), ("a", "z")], latents={"H"}))


def test_a_component_that_is_too_large_names_its_members():
    model = DiscreteBayesianNetwork([(hidden, "a") for hidden in ("F", "G", "H")], latents={"F", "G", "H"})
    model.add_edge("b", "c")
    with pytest.raises(ComponentTooLargeError, match=r"summing out \['F', 'G', 'H'\].*8,000,000 entries"):
        fitted(model, latent_card=200, n_init=1)


def test_not_a_network_and_nothing_but_hidden_nodes():
    with pytest.raises(TypeError, match="expected a pgmpy DAG"):
        NetworkEM().fit([("H", "a")], survey())
    with pytest.raises(DataError, match="all nodes of the model are hidden"):
        NetworkEM().fit(DiscreteBayesianNetwork([("p", "r"), ("q", "r")], latents={"p", "q", "r"}), survey())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"latent_card": {"J": 3}}, StateNameError, r"names \['J'\], which the model does not hide"),
        ({"latent_card": {"H": 0}}, StateNameError, "latent_card of 'H' is 0"),
        ({"n_init": 0}, ValueError, "n_init is 0"),
        ({"init_cpds": "best"}, ValueError, "init_cpds is 'best'"),
        ({"init_cpds": {"H": TabularCPD("H", 2, [[0.5], [0.5]])}}, StateNameError, r"is over \['H'\], the model needs"),
    ],
)
def test_settings_that_cannot_be_meant(options, error, message):
    with pytest.raises(error, match=message):
        fitted(**options)


@pytest.mark.parametrize("estimator", [TreeEM, NetworkEM])
def test_matrix_products_have_one_thread(monkeypatch, estimator):
    seen, fit = [], em.fit
    monkeypatch.setattr(em, "fit", lambda *given, **options: seen.append(blas_threads(0)) or fit(*given, **options))
    table = pd.DataFrame({"x": [0, 1, 1], "y": [0, 1, 0]})
    with threadpool_limits(3, user_api="blas"):
        estimator(n_init=2, seed=0, show_progress=False).fit(DAG([("h", "x"), ("h", "y")], latents={"h"}), table)
    assert seen == [1]
