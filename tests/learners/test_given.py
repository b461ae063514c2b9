"""Models from files, from pgmpy and from estimators answer as learners do."""

import contextlib
import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.base import clone

import pgmpy_latent
from pgmpy_latent import (
    Baseline,
    FindHidden,
    LatentNetwork,
    LatentTree,
    NetworkEM,
    RandomStarts,
    TreeEM,
    datasets,
    fitted,
    impute,
    load,
    log_likelihood,
    plotting,
    posterior,
    residuals,
    row_log_likelihoods,
    sample,
    save,
    standard_errors,
    to_pgmpy,
    write_report,
)
from pgmpy_latent.diagnostics.conditionals import shares_and_conditionals
from pgmpy_latent.exceptions import DesignWarning, FileFormatError
from pgmpy_latent.learners.given import GivenModel, GivenTree
from pgmpy_latent.learners.profiles import profiles
from pgmpy_latent.model.network import as_network
from pgmpy_latent.testing import latent_networks, latent_trees
from tests.support import reference_networks

TABLE = datasets.load_anes96()[["PID", "selfLR", "vote", "age"]].astype(object)
QUIET = {"random_state": 0, "show_progress": False}


@pytest.fixture(scope="module")
def learner():
    return RandomStarts(n_states=2, n_starts=2, **QUIET).fit(TABLE)


def forms(learner, folder):
    """Return the model of a learner in every form that it can have."""
    estimator = TreeEM(
        init_cpds={cpd.variable: cpd for cpd in learner.model_.get_cpds()}, max_iter=1, n_init=1, seed=0,
        show_progress=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(learner.model_, TABLE)
    estimator.tree_ = learner.tree_
    save(learner, folder / "learner.json")
    save(learner.tree_, folder / "tree.json")
    save(learner.model_, folder / "network.json")
    return {
        "learner": learner,
        "tree": learner.tree_,
        "network": as_network(learner.tree_),
        "pgmpy": learner.model_,
        "TreeEM": estimator,
        "file of a learner": folder / "learner.json",
        "file of a tree": load(folder / "tree.json"),
        "file of a network": load(folder / "network.json"),
    }


def test_every_form_of_a_model_answers_the_same(learner, tmp_path):
    rows = TABLE.head(20).mask(np.random.default_rng(0).random((20, 4)) < 0.3)
    for what, form in forms(learner, tmp_path).items():
        model = fitted(form)
        assert (model is learner) == (what == "learner")
        pd.testing.assert_frame_equal(model.predict_proba(rows), learner.predict_proba(rows), obj=what)
        pd.testing.assert_frame_equal(model.predict(rows), learner.predict(rows))
        pd.testing.assert_frame_equal(model.impute(rows), learner.impute(rows))
        pd.testing.assert_frame_equal(
            model.sample(5, random_state=0)[TABLE.columns], learner.sample(5, random_state=0)[TABLE.columns]
        )
        pd.testing.assert_frame_equal(model.profiles(), learner.profiles())
        np.testing.assert_allclose(model.score_samples(rows), learner.score_samples(rows))
        assert model.score(rows) == pytest.approx(learner.score(rows))
        assert model.transform(rows).shape == (20, 2)
        assert model.get_feature_names_out().tolist() == ["H=0", "H=1"]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            model.summary()
        assert "H (2): " in said.getvalue()
        model.report(tmp_path / "report.html", TABLE.head(100))
        assert "Hidden variables" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_functions_take_every_form_as_well(learner, tmp_path):
    rows = TABLE.head(10)
    for what, form in forms(learner, tmp_path).items():
        form = fitted(form) if what.startswith("file of a learner") else form
        pd.testing.assert_frame_equal(posterior(form, rows), posterior(learner.tree_, rows), obj=what)
        assert log_likelihood(form, rows) == pytest.approx(log_likelihood(learner.tree_, rows))
        pd.testing.assert_series_equal(row_log_likelihoods(form, rows), row_log_likelihoods(learner.tree_, rows))
        assert impute(form, rows).equals(impute(learner.tree_, rows))
        assert len(sample(form, 3, random_state=0)) == 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len(residuals(form, TABLE)) == 6
            assert standard_errors(form, TABLE)["probability"].sum() == pytest.approx(1 + 2 * 4)
        write_report(form, tmp_path / "report.html")
        plotting.plot_tree(form)
        plotting.plot_profiles(form)


def test_a_network_of_any_shape_has_profiles_summary_and_report(tmp_path, capsys):
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(2), n) for n in (1, 1, 4, 2, 2)]
    network = LatentNetwork(
        [*"HKabc"], [[0, 1]] * 5, [(), (), (0, 1), (0,), (1,)], [True, True, False, False, False], tables
    )
    for form in (network, to_pgmpy(network)):
        model = fitted(form, sample(network, 50, random_state=0))
        assert isinstance(model, GivenModel)
        assert model.bic_ < model.log_likelihood_ < 0
        model.summary()
        assert "H (2): a, b" in capsys.readouterr().out
        assert model.profiles().shape == (7, 4)
        assert plotting.plot_profiles(form, "H").get_title(loc="left").startswith("H: 2 classes")
        model.report(tmp_path / "report.html")
        assert "A given model, held against 50 rows" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_estimators_say_what_they_know(capsys):
    network = to_pgmpy(RandomStarts(n_states=2, n_starts=1, **QUIET).fit(TABLE).tree_)
    for kind in (TreeEM, NetworkEM):
        estimator = kind(n_init=2, seed=0, show_progress=False).fit(
            network, TABLE, sample_weight=np.full(len(TABLE), 2)
        )
        model = fitted(estimator)
        assert model.log_likelihood_ == estimator.log_likelihood_
        assert model.bic_ == pytest.approx(estimator.bic_)
        assert model.weight_kind_ == "frequency"
        model.summary()
        said = capsys.readouterr().out
        assert f"{len(TABLE)} rows stand for {2 * len(TABLE):,}" in said
        assert f"BIC {estimator.bic_:,.2f} (other programs: {-2 * estimator.bic_:,.2f})" in said


@given(latent_networks(max_nodes=5, zeros=False))
@settings(max_examples=25, deadline=None)
def test_profiles_of_networks_are_those_of_the_joint_distribution(network):
    for node in np.flatnonzero(network.latent).tolist():
        share, conditional = shares_and_conditionals(network, node)
        for state in range(network.cards[node]):
            row = np.full(network.n_nodes, -1)
            row[node] = state
            probability, joint = _given_one_state(network, row)
            assert share[state] == pytest.approx(probability, abs=1e-12)
            for other in range(network.n_nodes):
                axes = tuple(axis for axis in range(network.n_nodes) if axis != other)
                np.testing.assert_allclose(conditional[other][state], joint.sum(axis=axes), atol=1e-10)


def _given_one_state(network, row):
    """Return P(state of one node), and the joint distribution of all nodes given it, by enumeration."""
    states = np.array(list(np.ndindex(*network.cards.tolist())))
    joint = reference_networks.joint_probabilities(network, states)
    joint = np.where((row < 0).reshape(1, -1) | (states == row), 1.0, 0.0).all(axis=1) * joint
    return joint.sum(), (joint / joint.sum()).reshape(network.cards)


@given(latent_trees(max_nodes=6, zeros=False))
@settings(max_examples=15, deadline=None)
def test_profiles_of_a_tree_and_of_the_same_network_agree(tree):
    if tree.latent.any():
        pd.testing.assert_frame_equal(profiles(as_network(tree)), profiles(tree))


def test_a_file_keeps_what_the_learner_knows(tmp_path):
    table = TABLE.assign(weight=np.random.default_rng(0).lognormal(0, 0.3, len(TABLE)))
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(table, sample_weight="weight")
    save(learner, tmp_path / "model.json")
    model = fitted(tmp_path / "model.json")
    assert isinstance(model, GivenTree)
    assert model.tree_ == learner.tree_ == load(tmp_path / "model.json")
    for name in (
        "log_likelihood_",
        "score_",
        "n_rows_",
        "total_weight_",
        "weight_kind_",
        "design_",
        "kinds_",
        "remaining_gain_",
    ):
        assert getattr(model, name) == getattr(learner, name), name
    assert model.bic_ == pytest.approx(learner.bic_)
    assert (model.learner_, model.written_by_) == ("RandomStarts", pgmpy_latent.__version__)
    pd.testing.assert_frame_equal(model.history_, learner.history_, check_dtype=False)
    save(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    with pytest.warns(DesignWarning, match="fitted with sample_weight"):
        residuals(model, TABLE)


def test_ordinal_columns_and_missing_codes_survive_a_file(tmp_path):
    network = to_pgmpy(RandomStarts(n_states=2, n_starts=1, **QUIET).fit(TABLE).tree_)
    table = TABLE.replace({"age": {"18-29": "unknown"}})
    states = {name: sorted(TABLE[name].unique()) for name in TABLE}
    estimator = TreeEM(n_init=1, seed=0, max_iter=50, ordinal=["age"], state_names=states, show_progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(network, table, missing={"age": ["unknown"]})
    save(estimator, tmp_path / "model.json")
    model = fitted(tmp_path / "model.json")
    assert model.kinds_ == estimator.kinds_
    assert model.kinds_["age"] == "ordinal"
    assert dict(model.tree_.missing)["age"] == ("unknown",)


def test_a_model_by_itself_is_written_as_before(tmp_path):
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    save(tree, tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    assert (document["version"], "about" in document) == (1, False)
    assert "log_likelihood_" not in vars(fitted(tmp_path / "model.json"))


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        ([], '"about" is no object'),
        ({"nonsense": 1}, "unknown field 'nonsense'"),
        ({"n_rows": "many"}, "n_rows is 'many'"),
        ({"n_rows": True}, "n_rows is True"),
        ({"history": [3]}, "damaged"),
        ({"kinds": {"columns": ["x"]}}, "damaged"),
    ],
)
def test_damaged_histories_are_refused(tmp_path, about, problem):
    save(RandomStarts(n_states=2, n_starts=1, **QUIET).fit(TABLE.head(60)), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["about"] = about
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=problem):
        load(tmp_path / "model.json")
    document["version"] = 1
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="unknown fields"):
        load(tmp_path / "model.json")


def test_errors_of_profiles_are_standard_errors(learner):
    with pytest.warns(UserWarning, match="at the boundary"):
        found = learner.profiles(errors=True)
    with pytest.warns(UserWarning, match="at the boundary"):
        wide, errors = learner.profiles(), standard_errors(learner, TABLE)
    assert len(found) == wide.size
    assert list(found.columns[:5]) == ["latent", "state", "variable", "category", "probability"]
    for row in found.itertuples():
        assert row.probability == wide.at[(row.variable, row.category), (row.latent, row.state)]
    items = found[found["variable"] != "share"]
    merged = items.merge(errors, left_on=["variable", "state", "category"], right_on=["node", "parent_state", "state"])
    assert len(merged) == len(items)
    np.testing.assert_allclose(merged["standard_error_x"], merged["standard_error_y"])
    np.testing.assert_allclose(merged["lower_x"].astype(float), merged["lower_y"])
    with pytest.warns(UserWarning, match="at the boundary"):
        again = fitted(learner.tree_).profiles(errors=True, X=TABLE)
    pd.testing.assert_frame_equal(again, found)
    with pytest.raises(Exception, match=r"profiles\(errors=True, X=table\)"):
        fitted(learner.tree_).profiles(errors=True)


def test_what_is_no_entry_of_a_table_has_no_error_of_its_own():
    tree = datasets.hlc_model(7, random_state=0)
    table = sample(tree, 300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted(tree).profiles(errors=True, X=table)
    apart = found[(found["latent"] == "H2") & (found["variable"] == "D5")]
    assert set(apart["note"]) == {"computed from several tables"}
    assert apart["standard_error"].isna().all()


def test_an_independent_column_has_the_error_of_its_table():
    leaf = [[0.8, 0.2], [0.3, 0.7]]
    names, tables = ["H", "a", "b", "alone"], [[[0.6, 0.4]], leaf, leaf, [[0.25, 0.75]]]
    tree = LatentTree(names, [[0, 1]] * 4, [-1, 0, 0, -1], [True, False, False, False], tables)
    table = sample(tree, 400, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted(tree).profiles(errors=True, X=table)
    alone = found[found["variable"] == "alone"]
    np.testing.assert_allclose(alone["standard_error"], np.sqrt(0.25 * 0.75 / 400), rtol=0.1)
    assert not alone["note"].eq("computed from several tables").any()


def test_it_is_an_estimator_that_learns_nothing(learner):
    model = fitted(learner.tree_)
    assert model.fit().tree_ is learner.tree_
    assert "bic_" not in vars(model)
    assert model.fit(TABLE).bic_ == pytest.approx(learner.bic_)
    assert clone(model).tree_ == learner.tree_
    assert "GivenTree" in repr(model)
    assert "<b>Found</b>" in fitted(learner.tree_)._repr_html_()
    array = fitted(learner.tree_).predict(TABLE.to_numpy())
    assert (array.to_numpy() == learner.predict(TABLE).to_numpy()).all()


def test_what_is_no_model(tmp_path):
    with pytest.raises(TypeError, match="expected a LatentTree, LatentNetwork, pgmpy network or fitted learner"):
        fitted(3)
    with pytest.raises(Exception, match="is not fitted"):
        fitted(Baseline())
    with pytest.raises(FileNotFoundError):
        fitted(tmp_path / "nowhere.json")
    with pytest.raises(TypeError, match=r"got str; fitted\(path\) reads a model from a file"):
        write_report("model.json", tmp_path / "report.html")


def test_learners_of_networks_have_profiles_too():
    table = TABLE[["PID", "vote", "age"]].head(200)
    learner = FindHidden(**QUIET).fit(table)
    assert learner.profiles().shape[0] == 1 + sum(table[name].nunique() for name in table)
    hidden = replace(as_network(RandomStarts(n_states=2, n_starts=1, **QUIET).fit(table).tree_))
    assert fitted(hidden).profiles().shape[1] == 2
