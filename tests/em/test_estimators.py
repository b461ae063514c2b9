"""TreeEM as pgmpy's users meet it."""

import os
import subprocess
import sys
import warnings

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

from pgmpy_latent import LatentNetwork, LatentTree, NetworkEM, TreeEM, from_pgmpy, log_likelihood, sample, to_pgmpy
from pgmpy_latent.exceptions import (
    DataError,
    DegenerateStateWarning,
    ImpossibleRowError,
    InvalidTreeError,
    NotATreeError,
    StateNameError,
    UnseenCategoryError,
    WeightError,
)
from pgmpy_latent.testing import latent_trees

pytestmark = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.DegenerateStateWarning")


def star(columns, hidden="H"):
    return DiscreteBayesianNetwork([(hidden, column) for column in columns], latents={hidden})


def survey(n=200, seed=0, gaps=0.1):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, size=n)
    frame = pd.DataFrame(
        {name: np.where(rng.random(n) < np.where(group, 0.8, 0.15), "yes", "no") for name in "abcd"}, dtype=object
    )
    return frame.mask(rng.random(frame.shape) < gaps, None)


def test_it_is_a_drop_in_for_pgmpys_em():
    model = star("abcd")
    fitted = model.fit(survey(), estimator=TreeEM(seed=0))
    assert fitted.check_model()
    assert fitted.latents == {"H"}
    assert fitted.get_cpds("a").state_names["a"] == ["no", "yes"]
    answer = VariableElimination(fitted).query(["H"], evidence={"a": "yes", "b": "yes"})
    assert answer.values.sum() == pytest.approx(1)


def test_it_takes_the_same_steps_as_pgmpys_em():
    data = survey(60, gaps=0.0)
    model = star("abcd")
    states = {"H": [0, 1]} | {column: ["no", "yes"] for column in "abcd"}
    rng = np.random.default_rng(1)
    start = {
        "H": TabularCPD("H", 2, [[0.4], [0.6]], state_names={"H": [0, 1]}),
        **{
            column: TabularCPD(
                column,
                2,
                rng.dirichlet([1, 1], size=2).T,
                ["H"],
                [2],
                state_names={column: states[column], "H": [0, 1]},
            )
            for column in "abcd"
        },
    }
    theirs = DiscreteEM(max_iter=5, init_cpds=start, show_progress=False, atol=1e-12).fit(model, data)
    ours = TreeEM(max_iter=5, init_cpds=start, atol=0).fit(model, data)
    for mine, his in zip(ours.parameters_, theirs.parameters_, strict=True):
        assert mine.variable == his.variable
        np.testing.assert_allclose(mine.get_values(), his.get_values(), atol=1e-8)


def test_without_hidden_variables_and_gaps_it_is_maximum_likelihood():
    data = survey(gaps=0.0)
    model = DiscreteBayesianNetwork([("a", "b"), ("b", "c"), ("a", "d")])
    ours = TreeEM().fit(model, data)
    theirs = DiscreteMLE().fit(model, data)
    for mine, his in zip(ours.parameters_, theirs.parameters_, strict=True):
        np.testing.assert_allclose(mine.get_values(), his.get_values(), atol=1e-12)


def test_fitted_names():
    estimator = TreeEM(seed=3).fit(star("abcd"), survey())
    assert [cpd.variable for cpd in estimator.parameters_] == ["H", "a", "b", "c", "d"]
    assert estimator.state_names_ == {"H": [0, 1]} | {column: ["no", "yes"] for column in "abcd"}
    assert estimator.converged_
    assert estimator.n_iter_ == len(estimator.log_likelihoods_)
    assert 1 <= estimator.n_best_ <= 16
    assert len(estimator.start_objectives_) == 16
    assert estimator.log_likelihood_ == pytest.approx(log_likelihood(estimator.tree_, survey()), rel=1e-12)
    assert np.diff(estimator.log_likelihoods_).min() >= -1e-9
    assert estimator.degenerate_states_ == []
    assert not estimator.interrupted_


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_same_seed_same_answer_whatever_the_number_of_jobs(n_jobs):
    one = TreeEM(latent_card=3, seed=7).fit(star("abcd"), survey())
    other = TreeEM(latent_card=3, seed=7, n_jobs=n_jobs).fit(star("abcd"), survey())
    assert one.tree_ == other.tree_


def test_different_seeds_that_find_the_same_optimum_look_the_same():
    trees = [TreeEM(seed=seed, atol=1e-9).fit(star("abcd"), survey()).tree_ for seed in range(4)]
    for tree in trees[1:]:
        for mine, first in zip(tree.tables, trees[0].tables, strict=True):
            np.testing.assert_allclose(mine, first, atol=1e-3)


def test_order_of_rows_and_columns_changes_nothing():
    data = survey()
    plain = TreeEM(seed=1).fit(star("abcd"), data)
    shuffled = data.sample(frac=1, random_state=0)[["c", "a", "d", "b"]]
    changed = TreeEM(seed=1).fit(star("abcd"), shuffled)
    assert changed.tree_ == plain.tree_
    other_model = TreeEM(seed=1).fit(star("dcba"), data)
    assert other_model.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-3)


def test_a_weight_is_a_repeated_row_and_a_zero_weight_an_absent_one():
    data = survey(40)
    times = np.arange(40) % 3
    weighted = TreeEM(seed=1).fit(star("abcd"), data, sample_weight=times)
    repeated = TreeEM(seed=1).fit(star("abcd"), data.loc[data.index.repeat(times)])
    assert weighted.tree_ == repeated.tree_
    assert weighted.log_likelihood_ == repeated.log_likelihood_


def test_weights_reach_it_through_pgmpys_fit():
    data = survey(40)
    weights = np.linspace(0.5, 2, 40)
    fitted = star("abcd").fit(data, estimator=TreeEM(seed=1), sample_weight=weights)
    direct = TreeEM(seed=1).fit(star("abcd"), data, sample_weight=weights)
    np.testing.assert_array_equal(fitted.get_cpds("H").get_values(), direct.parameters_[0].get_values())


def test_missing_cells_are_summed_out_not_dropped():
    data = survey()
    estimator = TreeEM(seed=0).fit(star("abcd"), data)
    assert data.isna().any(axis=1).sum() > 20
    total = TreeEM(seed=0).fit(star("abcd"), pd.concat([data, pd.DataFrame([dict.fromkeys("abcd")] * 5)]))
    assert total.log_likelihood_ == pytest.approx(estimator.log_likelihood_, abs=2e-3)


def test_unused_and_named_states_are_kept():
    data = survey(gaps=0.0)
    data["a"] = pd.Categorical(data["a"], categories=["yes", "perhaps", "no"])
    names = {"b": ["yes", "no", "never"], "H": ["low", "high"]}
    estimator = TreeEM(state_names=names, seed=0).fit(star("abcd"), data)
    assert estimator.state_names_["a"] == ["yes", "perhaps", "no"]
    assert estimator.state_names_["b"] == ["yes", "no", "never"]
    assert estimator.state_names_["H"] == ["low", "high"]
    assert estimator.tree_.table("a")[:, 1].max() == 0


def test_prior_rules_nothing_out():
    data = survey(gaps=0.0)
    names = {"b": ["yes", "no", "never"]}
    estimator = TreeEM(state_names=names, seed=0, prior=0.5).fit(star("abcd"), data)
    assert all((table > 0).all() for table in estimator.tree_.tables)


def test_trees_with_observed_nodes_anywhere(tmp_path):
    model = DiscreteBayesianNetwork([("a", "H"), ("H", "b"), ("H", "c"), ("b", "d")], latents={"H"})
    estimator = TreeEM(seed=0).fit(model, survey())
    assert from_pgmpy(to_pgmpy(estimator.tree_)) == estimator.tree_


def test_a_plain_dag_and_a_forest_will_do():
    dag = DAG([("H", "a"), ("H", "b")], latents={"H"})
    dag.add_node("c")
    estimator = TreeEM(seed=0).fit(dag, survey())
    assert [cpd.variable for cpd in estimator.parameters_] == ["H", "a", "b", "c"]


def test_one_state_latents_and_constant_columns_are_fine():
    data = survey(gaps=0.0).assign(e="same")
    estimator = TreeEM(latent_card={"H": 1}).fit(star("abcde"), data)
    independent = sum((data[c].value_counts() * np.log(data[c].value_counts() / len(data))).sum() for c in data.columns)
    assert estimator.log_likelihood_ == pytest.approx(independent, rel=1e-12)


def test_atol_zero_never_stops_early():
    estimator = TreeEM(seed=0, atol=0, max_iter=123, n_init=2).fit(star("abcd"), survey())
    assert estimator.n_iter_ == 123


def test_too_few_iterations_give_a_warning_with_the_numbers():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3 iterations.*left to gain"):
        estimator = TreeEM(seed=0, max_iter=3, latent_card=4).fit(star("abcd"), survey())
    assert not estimator.converged_


@pytest.mark.filterwarnings("default::pgmpy_latent.exceptions.DegenerateStateWarning")
def test_empty_or_duplicate_states_are_reported():
    data = pd.DataFrame({"a": ["x", "y"] * 20, "b": ["x", "y"] * 20})
    with pytest.warns(DegenerateStateWarning, match="Fewer states would fit as well"):
        estimator = TreeEM(latent_card=4, seed=0).fit(star("ab"), data)
    assert estimator.degenerate_states_


def test_given_tables_are_where_it_begins():
    truth = TreeEM(seed=0, atol=1e-9).fit(star("abcd"), survey())
    start = {cpd.variable: cpd for cpd in truth.parameters_}
    again = TreeEM(init_cpds=start).fit(star("abcd"), survey())
    assert again.n_best_ == 1
    assert len(again.start_objectives_) == 1
    assert again.log_likelihood_ == pytest.approx(truth.log_likelihood_, abs=1e-6)
    some = TreeEM(init_cpds={"a": start["a"]}, seed=0, n_init=4).fit(star("abcd"), survey())
    assert some.log_likelihood_ == pytest.approx(truth.log_likelihood_, abs=1e-3)


def test_hidden_states_that_a_start_names_keep_their_order():
    data = survey(gaps=0.0)
    truth = TreeEM(seed=0).fit(star("abcd"), data)
    small_first = {"H": TabularCPD("H", 2, [[0.1], [0.9]], state_names={"H": ["ill", "well"]})}
    start = truth.tree_.table("a")[::-1]
    small_first["a"] = TabularCPD("a", 2, start.T, ["H"], [2], {"a": ["no", "yes"], "H": ["ill", "well"]})
    found = TreeEM(init_cpds=small_first, seed=0, n_init=1).fit(star("abcd"), data)
    assert found.state_names_["H"] == ["ill", "well"]
    np.testing.assert_allclose(found.tree_.table("a"), truth.tree_.table("a")[::-1], atol=0.02)


@pytest.mark.parametrize("kind", ["polars", "lazy", "arrow"])
def test_other_frames(kind):
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    data = survey()
    frame = {
        "polars": lambda: polars.DataFrame(data.to_dict("list")),
        "lazy": lambda: polars.LazyFrame(data.to_dict("list")),
        "arrow": lambda: arrow.Table.from_pydict(data.to_dict("list")),
    }[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", getattr(polars.exceptions, "PerformanceWarning", UserWarning))
        found = TreeEM(seed=0).fit(star("abcd"), frame)
    assert found.tree_ == TreeEM(seed=0).fit(star("abcd"), data).tree_


@pytest.mark.parametrize("init", ["memberships", "random"])
def test_kinds_of_random_starts(init):
    estimator = TreeEM(init_cpds=init, seed=0).fit(star("abcd"), survey())
    assert estimator.n_best_ >= 8


def test_uniform_start_is_the_saddle_point_it_says():
    estimator = TreeEM(init_cpds="uniform").fit(star("abcd"), survey())
    best = TreeEM(seed=0).fit(star("abcd"), survey())
    assert estimator.log_likelihood_ < best.log_likelihood_ - 1


# What bad input gets


def test_a_network_that_is_not_a_forest():
    model = DiscreteBayesianNetwork([("h1", "x7"), ("h3", "x7")], latents={"h1", "h3"})
    with pytest.raises(NotATreeError, match=r"node 'x7' has parents 'h1' and 'h3'"):
        TreeEM().fit(model, pd.DataFrame({"x7": [0, 1]}))


def test_a_node_that_is_neither_hidden_nor_a_column():
    with pytest.raises(DataError, match=r"not columns of the data: \['z'\].*declare the nodes hidden"):
        TreeEM().fit(star("abz"), survey())


def test_a_hidden_variable_named_like_a_column():
    with pytest.raises(DataError, match=r"hidden variable 'd' is named like a column"):
        TreeEM().fit(star("abc", hidden="d"), survey())


def test_all_nodes_hidden():
    model = DiscreteBayesianNetwork([("a", "b")], latents={"a", "b"})
    with pytest.raises(DataError, match="all nodes of the model are hidden"):
        TreeEM().fit(model, pd.DataFrame({"c": [1]}))


def test_not_a_network():
    with pytest.raises(TypeError, match="expected a pgmpy DAG"):
        TreeEM().fit([("H", "a")], survey())


@pytest.mark.parametrize(
    ("settings_", "error", "message"),
    [
        ({"latent_card": {"H": 3}, "state_names": {"H": [0, 1]}}, StateNameError, "'H' is contradictory"),
        ({"latent_card": {"J": 3}}, StateNameError, "names \\['J'\\], which the model does not hide"),
        ({"latent_card": {"H": 0}}, StateNameError, "latent_card of 'H' is 0"),
        ({"latent_card": 2.5}, StateNameError, "is 2.5; give a whole number"),
        ({"state_names": {"a": ["yes"]}}, UnseenCategoryError, "'a'"),
        ({"n_init": 0}, ValueError, "n_init is 0"),
        ({"max_iter": 1.5}, ValueError, "max_iter is 1.5"),
        ({"atol": -1}, ValueError, "atol is -1"),
        ({"prior": float("nan")}, ValueError, "prior is nan"),
        ({"init_cpds": "best"}, ValueError, "init_cpds is 'best'"),
        ({"init_cpds": [1]}, ValueError, "init_cpds is a list"),
        ({"init_cpds": {"q": TabularCPD("q", 1, [[1]])}}, StateNameError, r"init_cpds names \['q'\], which"),
        ({"init_cpds": {"a": 1}}, StateNameError, "init_cpds of 'a' is an int"),
        ({"state_names": {"aa": [1]}}, StateNameError, r"state_names names \['aa'\], which the model does not have"),
        ({"state_names": {"H": ["x", "x"]}}, StateNameError, "'H'"),
        ({"state_names": {"H": []}}, StateNameError, "'H'"),
        ({"state_names": {"H": "ab"}}, StateNameError, "'H'"),
        ({"init_cpds": {"H": TabularCPD("H", 2, [[0.2], [0.2]])}}, InvalidTreeError, "init_cpds of 'H': row 0"),
        ({"prior": "a"}, ValueError, "prior is 'a'"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": "x"}, ValueError, "seed is 'x'"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"init_cpds": {"a": TabularCPD("a", 2, [[1], [0]])}}, StateNameError, r"is over \['a'\], the model needs"),
    ],
)
def test_settings_that_cannot_be_meant(settings_, error, message):
    with pytest.raises(error, match=message):
        TreeEM(**settings_).fit(star("abcd"), survey())


@pytest.mark.parametrize(
    ("weights", "message"),
    [([-1] + [1] * 199, "negative"), ([np.nan] * 200, "NaN|finite|missing"), ([0] * 200, "zero"), ([1] * 3, "3")],
)
def test_bad_weights(weights, message):
    with pytest.raises(WeightError, match=message):
        TreeEM().fit(star("abcd"), survey(), sample_weight=weights)


def test_impossible_given_tables():
    data = pd.DataFrame({"a": ["x", "y"]})
    model = DiscreteBayesianNetwork()
    model.add_node("a")
    start = {"a": TabularCPD("a", 2, [[1.0], [0.0]], state_names={"a": ["x", "y"]})}
    with pytest.raises(ImpossibleRowError, match="probability zero"):
        TreeEM(init_cpds=start).fit(model, data)


# Numbers that are known


def weighted_table(folder, name):
    frame = pd.read_csv(folder / name)
    return frame.drop(columns="count"), frame["count"]


@pytest.mark.parametrize(
    ("name", "n_classes", "expected"),
    [
        ("polca_carcinoma.csv", 2, -317.2568),
        ("polca_carcinoma.csv", 3, -293.7050),
        ("polca_carcinoma.csv", 4, -289.2858),
        ("polca_values.csv", 2, -504.4677),
        ("polca_values.csv", 3, -503.3011),
        ("coleman.csv", 2, -8618.790),
        ("coleman.csv", 3, -8525.871),
        ("hannover5.csv", 3, -15398.639),
        ("hannover8.csv", 3, -22910.453),
        ("house_building.csv", 2, -2939.134),
    ],
)
def test_known_optima(data_folder, name, n_classes, expected):
    data, weights = weighted_table(data_folder, name)
    estimator = TreeEM(latent_card=n_classes, seed=0, n_init=32, atol=1e-4).fit(star(data.columns), data, weights)
    assert estimator.log_likelihood_ == pytest.approx(expected, abs=6e-4)


def test_the_default_finds_the_rare_optimum_of_hannover8(data_folder):
    data, weights = weighted_table(data_folder, "hannover8.csv")
    values = [
        TreeEM(latent_card=4, seed=seed).fit(star(data.columns), data, weights).log_likelihood_ for seed in range(10)
    ]
    assert sum(abs(value + 22633.8408) < 1e-3 for value in values) >= 8


@settings(max_examples=15)
@given(latent_trees(min_nodes=3, max_nodes=6, max_card=3, latents_are_inner=True), st.integers(0, 100))
def test_beginning_at_the_truth_is_never_worse_than_the_truth(tree, seed):
    data = sample(tree, 60, random_state=seed)
    network = to_pgmpy(tree)
    start = {cpd.variable: cpd for cpd in network.cpds}
    states = dict(zip(tree.names, tree.state_names, strict=True))
    estimator = TreeEM(init_cpds=start, state_names=states).fit(network, data)
    assert estimator.log_likelihood_ >= log_likelihood(tree, data) - 1e-9


# Generic checks


@pytest.mark.filterwarnings("default")
def test_all_generic_checks_of_skbase_pass():
    from skbase.testing import TestAllObjects

    class GenericChecks(TestAllObjects):
        valid_tags = tuple(DiscreteEM.get_class_tags())

    results = GenericChecks().run_tests(TreeEM, raise_exceptions=False)
    failed = {name: result for name, result in results.items() if result != "PASSED"}
    assert len(results) >= 15
    assert not failed


def test_settings_are_stored_as_given_and_cloned():
    settings_ = {"latent_card": {"H": 3}, "n_init": 2, "seed": 5, "prior": 0.1}
    estimator = TreeEM(**settings_)
    assert {name: estimator.get_params()[name] for name in settings_} == settings_
    assert estimator.clone().get_params() == estimator.get_params()


def test_the_answer_does_not_depend_on_the_order_of_hashes():
    code = (
        "import numpy as np, pandas as pd\n"
        "from pgmpy.models import DiscreteBayesianNetwork\n"
        "from pgmpy_latent import TreeEM\n"
        "data = pd.DataFrame(np.random.default_rng(0).integers(0, 3, size=(200, 6)), columns=list('abcdef'))\n"
        "edges = [('H', 'J'), ('H', 'a'), ('H', 'b'), ('J', 'c'), ('J', 'd'), ('c', 'e')]\n"
        "model = DiscreteBayesianNetwork(edges, latents={'H', 'J'})\n"
        "model.add_node('f')\n"
        "tree = TreeEM(seed=1, latent_card={'H': 3, 'J': 2}).fit(model, data).tree_\n"
        "print(tree.names, [table.tobytes().hex() for table in tree.tables])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(("estimator", "model_class"), [(TreeEM, LatentTree), (NetworkEM, LatentNetwork)])
def test_a_fit_builds_its_model_once(monkeypatch, estimator, model_class):
    """From the tables of EM to the fitted model, one model is built and checked, whatever the order of its states."""
    data = pd.DataFrame({"x": [0, 0, 1, 1, 1], "y": [0, 0, 1, 1, 0], "z": [0, 1, 1, 1, 1], "w": [0, 1, 0, 1, 1]})
    edges = [("G", "H"), ("H", "x"), ("H", "y"), ("G", "z"), ("G", "w")]
    network = DiscreteBayesianNetwork(edges, latents={"G", "H"})
    built = []
    for kind in (LatentTree, LatentNetwork):

        def init(self, *args, original=kind.__init__, **keywords):
            built.append(type(self))
            original(self, *args, **keywords)

        monkeypatch.setattr(kind, "__init__", init)
    estimator(seed=0, n_init=2, show_progress=False).fit(network, data)
    assert built == [model_class]
