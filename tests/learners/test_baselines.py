"""The models that latent trees must beat: against closed forms, all spanning trees, and published figures."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.inference import VariableElimination
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import pgmpy_latent
from pgmpy_latent import SplitMerge, encode
from pgmpy_latent.em.fit import fit
from pgmpy_latent.exceptions import NoOverlapWarning
from pgmpy_latent.inference import queries
from pgmpy_latent.learners.baselines import Baseline
from pgmpy_latent.learners.column_forest import _SMOOTHING, _tables_of_filled, strongest_forest
from pgmpy_latent.tables.dependence import mutual_information
from tests.support import reference

MODELS = ["independence", "chow_liu", "forest", "latent_class"]


def chain(n=300, seed=0, gaps=0.0):
    """Four columns of which each depends on the one before, and one that depends on nothing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(n, 5))
    for at in range(1, 4):
        codes[:, at] = np.where(rng.random(n) < 0.7, codes[:, at - 1], codes[:, at])
    frame = pd.DataFrame(codes, columns=["rain", "soil", "crop", "price", "dice"])
    return frame.mask(rng.random(frame.shape) < gaps)


def edges_of(learner):
    return {frozenset(edge) for edge in learner.model_.edges()}


# Published figures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "bic", "n_parameters"), [("independence", -79703.9, 73), ("chow_liu", -51559.6, 325)]
)
def test_coil_42(data_folder, model, bic, n_parameters):
    table = pd.read_csv(data_folder / "coil42_train.csv.gz")
    learner = Baseline(model).fit(table.drop(columns="count"), sample_weight=table["count"])
    assert learner.bic_ == pytest.approx(bic, abs=0.1)
    assert learner.score_ == pytest.approx(learner.bic_, abs=1e-6)
    assert learner.n_parameters_ == n_parameters


@pytest.mark.parametrize(("model", "log_likelihood"), [("independence", -255613.9), ("chow_liu", -238712.6)])
def test_newsgroups(data_folder, model, log_likelihood):
    table = pd.read_csv(data_folder / "news20w100.csv.gz").drop(columns="newsgroup")
    assert Baseline(model).fit(table).log_likelihood_ == pytest.approx(log_likelihood, abs=0.1)


# Trees over the columns -----------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_no_tree_is_better(n_columns, seed, weighted):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(1, 4, size=n_columns), size=(12, n_columns))
    codes[:, -1] = np.where(rng.random(12) < 0.7, codes[:, 0], codes[:, -1])
    weights = rng.gamma(1.0, 2.0, size=12) if weighted else np.ones(12)
    learner = Baseline().fit(codes, sample_weight=weights, weight_kind="frequency")
    best = max(reference.tree_log_likelihood(codes, weights, tree) for tree in reference.all_trees(n_columns))
    assert learner.log_likelihood_ == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_the_forest_is_the_one_that_networkx_finds(n_nodes, seed):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.integers(0, 4, size=(n_nodes, n_nodes)), 1)
    weights = weights + weights.T
    parent = strongest_forest(weights)
    graph = nx.from_numpy_array(weights)  # what is 0 is no edge
    expected = nx.maximum_spanning_tree(graph)
    mine = [(child, above) for child, above in enumerate(parent) if above >= 0]
    assert len(mine) == expected.number_of_edges()
    assert sum(weights[edge] for edge in mine) == expected.size(weight="weight")
    found = nx.Graph(mine)
    found.add_nodes_from(range(n_nodes))
    pieces = {frozenset(piece) for piece in nx.connected_components(found)}
    assert pieces == {frozenset(piece) for piece in nx.connected_components(graph)}
    assert {min(piece) for piece in pieces} == set(np.flatnonzero(parent < 0).tolist())


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_columns_does_not_matter(gaps, seed):
    rng = np.random.default_rng(seed)
    frame = chain(40, seed, gaps).assign(twin=lambda table: table["soil"], brother=lambda table: table["soil"])
    shuffled = frame[rng.permutation(frame.columns)]
    first, second = Baseline().fit(frame), Baseline().fit(shuffled)
    assert set(first.model_.edges()) == set(second.model_.edges())
    assert first.log_likelihood_ == pytest.approx(second.log_likelihood_, rel=1e-9)
    assert second.tree_.observed_names == tuple(shuffled.columns)


def test_edges_of_a_chain():
    learner = Baseline().fit(chain(3000))
    assert edges_of(learner) >= {frozenset(pair) for pair in [("rain", "soil"), ("soil", "crop"), ("crop", "price")]}
    assert [learner.tree_.names[root] for root in learner.tree_.roots] == ["crop"]  # the first by name
    assert learner.latents_ == learner.not_needed_ == []
    assert learner.history_["operator"].tolist() == ["start"]
    assert learner.history_["score"].tolist() == [learner.score_]
    assert learner.stopped_ is None


def test_columns_that_say_nothing_stand_alone():
    table = pd.DataFrame({"x": list("aabb"), "y": list("cdcd"), "z": list("eeff"), "only": "g"})
    learner = Baseline().fit(table)
    assert list(learner.model_.edges()) == [("x", "z")]
    assert learner.log_likelihood_ == pytest.approx(-8 * np.log(2))


def test_one_column():
    for model in MODELS:
        learner = Baseline(model, random_state=0, show_progress=False).fit(pd.DataFrame({"x": list("aab")}))
        assert learner.log_likelihood_ == pytest.approx(2 * np.log(2 / 3) + np.log(1 / 3))


def test_names_of_any_kind():
    frame = chain(100)
    frame.columns = pd.Index([3, "a", ("b", 1), 2.5, True], tupleize_cols=False)
    first = Baseline().fit(frame)
    second = Baseline().fit(frame[[True, 2.5, ("b", 1), "a", 3]])
    assert set(first.model_.edges()) == set(second.model_.edges())


# Tables of complete columns -------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, 0.5])
def test_tables_are_shares(prior):
    frame, weights = chain(), np.random.default_rng(1).gamma(1.0, 2.0, size=300)
    for model in ("independence", "chow_liu"):
        tree = Baseline(model, prior=prior).fit(frame, sample_weight=weights, weight_kind="frequency").tree_
        assert (tree.parent >= 0).any() == (model == "chow_liu")
        for node, above in enumerate(tree.parent):
            keys = [frame.iloc[:, above], frame.iloc[:, node]] if above >= 0 else [frame.iloc[:, node]]
            counts = pd.Series(weights).groupby(keys).sum()
            counts = counts.unstack(fill_value=0.0).to_numpy() if above >= 0 else counts.to_numpy()[None]
            counts = counts + (prior or 0.0)
            np.testing.assert_allclose(tree.tables[node], counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)


def test_states_that_never_occur():
    frame = chain(60).apply(lambda column: pd.Categorical(column, categories=range(4)))
    learner = Baseline().fit(frame)
    assert learner.log_likelihood_ == pytest.approx(Baseline().fit(chain(60)).log_likelihood_)
    assert learner.n_parameters_ > Baseline().fit(chain(60)).n_parameters_
    for node, above in enumerate(learner.tree_.parent):
        if above >= 0:  # nothing is known given such a state, but of all rows
            shares = frame.iloc[:, node].value_counts(normalize=True, sort=False)
            np.testing.assert_allclose(learner.tree_.tables[node][3], shares)
    unseen = frame.head(1).assign(dice=3)
    assert Baseline(prior=0.1).fit(frame).score(unseen) > -np.inf


def test_information_explains_the_gain():
    frame = chain()
    chow_liu, independence = Baseline().fit(frame), Baseline("independence").fit(frame)
    information = mutual_information(frame)
    gain = sum(information.loc[edge] for edge in chow_liu.model_.edges()) * len(frame)
    assert chow_liu.log_likelihood_ - independence.log_likelihood_ == pytest.approx(gain)


# Missing cells --------------------------------------------------------------------------------------


def test_independent_columns_use_their_filled_cells():
    frame = chain(gaps=0.3)
    tree = Baseline("independence").fit(frame).tree_
    for name in frame:
        np.testing.assert_allclose(
            tree.table(name)[0], frame[name].value_counts(normalize=True, sort=False).sort_index()
        )


@pytest.mark.parametrize("prior", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_em_goes_on_from_the_filled_cells(prior, seed):
    frame = chain(80, seed, gaps=0.3)
    learner = Baseline(prior=prior).fit(frame)
    tree, data = learner.tree_, encode(frame)
    start = tree.with_tables(_tables_of_filled(data, tree.parent, prior, _SMOOTHING))

    def objective(model):
        with np.errstate(divide="ignore"):
            penalty = sum(np.log(table).sum() for table in model.tables) if prior else 0.0
        return queries.log_likelihood(model, data) + prior * penalty

    assert objective(tree) > objective(start)
    engine = queries.engine_for(tree, data)
    flat = np.stack([engine.layout.pack(model.tables) for model in (tree, start)])
    best = fit(engine, flat, prior=prior, atol=1e-8).objective
    assert objective(tree) == pytest.approx(best, abs=1e-3)
    if not prior:
        assert learner.log_likelihood_ == pytest.approx(queries.log_likelihood(tree, frame))


def test_nothing_is_ruled_out_by_the_filled_cells():
    table = pd.DataFrame({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, None], "c": [0, 0, 1, 1, 1]})
    learner = Baseline().fit(pd.concat([table] + [table.head(4)] * 3))
    assert edges_of(learner) >= {frozenset("ab")}
    assert np.isfinite(learner.log_likelihood_)


def test_gaps_in_a_column_of_its_own_need_no_em():
    table = pd.DataFrame({"x": list("aabb") * 2, "y": list("ccdd") * 2, "z": ["e", "f"] * 3 + [None] * 2})
    learner = Baseline().fit(table)
    assert edges_of(learner) >= {frozenset("xy")}
    assert learner.tree_.table("z").tolist() == [[0.5, 0.5]]
    assert learner.log_likelihood_ == pytest.approx(-(8 + 6) * np.log(2))


def test_columns_that_never_meet():
    table = pd.DataFrame({"x": [0, 1, 0, 1, None, None], "y": [None] * 4 + [0, 1], "z": [0, 1, 1, 1, 0, 1]})
    with pytest.warns(NoOverlapWarning, match="'x' and 'y'") as caught:
        learner = Baseline().fit(table)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # the line of the user
    assert edges_of(learner) == {frozenset("xz"), frozenset("yz")}


def test_time_limit():
    with pytest.warns(ConvergenceWarning, match="time limit stopped the search"):
        learner = Baseline(time_limit=1e-9).fit(chain(gaps=0.2))
    assert learner.stopped_ == "time_limit"
    assert np.isfinite(learner.log_likelihood_)
    assert Baseline(time_limit=1e-9).fit(chain()).stopped_ is None  # nothing to search for


# Latent classes and settings ------------------------------------------------------------------------


def test_latent_classes_are_those_of_split_merge():
    frame, shared = chain(200, gaps=0.05), {"random_state": 3, "prior": 0.1, "max_states": 2, "show_progress": False}
    baseline, other = Baseline("latent_class", **shared).fit(frame), SplitMerge(**shared).fit(frame)
    assert baseline.tree_ == other.tree_
    assert baseline.n_states_ == {"H": 2}
    assert baseline.score_ == other.score_
    assert baseline.history_["operator"].tolist() == other.history_["operator"].tolist()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"model": "tree"}, "model is 'tree'; give 'independence', 'chow_liu', 'forest' or 'latent_class'"),
        ({"model": None}, "model is None; give 'independence'"),
        ({"prior": -1}, "prior is -1; give a number of at least 0, or None"),
        ({"max_states": 0}, "max_states is 0; give a whole number of at least 1, or None"),
        ({"time_limit": 0}, "time_limit is 0; give a number of seconds above 0"),
        ({"n_jobs": 0}, "n_jobs is 0; give the number of threads"),
    ],
)
def test_settings_are_checked_before_any_work(setting, message):
    with pytest.raises(ValueError, match=message):
        Baseline(**setting).fit("no table at all")


@pytest.mark.parametrize("model", MODELS)
def test_it_is_a_learner_like_any_other(model):
    learner = Baseline(model, prior=0.1, random_state=0, show_progress=False)
    assert clone(learner).get_params() == learner.get_params()
    frame = chain(gaps=0.1)
    assert learner.fit(frame).score(frame) == pytest.approx(learner.log_likelihood_ / len(frame), rel=1e-9)


# What can be asked of columns without a hidden variable ---------------------------------------------


@pytest.fixture(scope="module", params=["independence", "chow_liu"])
def without_latents(request):
    return Baseline(request.param).fit(chain(gaps=0.1)), chain(gaps=0.1)


def test_questions_about_rows(without_latents):
    learner, frame = without_latents
    assert learner.predict_proba(frame).shape == learner.predict(frame).shape == (300, 0)
    assert learner.transform(frame).shape == (300, 0)
    assert learner.get_feature_names_out().tolist() == []
    rows = learner.score_samples(frame)
    assert rows.sum() == pytest.approx(learner.log_likelihood_)
    for method in ("most_likely", "draw"):
        filled = learner.impute(frame, method, random_state=0)
        assert not filled.isna().any(axis=None)
        assert filled.to_numpy()[frame.notna()].tolist() == frame.to_numpy()[frame.notna()].tolist()


def test_draws_have_the_right_shares(without_latents):
    learner, frame = without_latents
    drawn = learner.sample(20_000, random_state=0)
    assert list(drawn) == list(frame)
    inference = VariableElimination(learner.model_)
    for name in frame:
        expected = inference.query([name], show_progress=False).values
        np.testing.assert_allclose(drawn[name].value_counts(normalize=True).sort_index(), expected, atol=0.02)
    assert learner.profiles().shape == (16, 0)


def test_the_pgmpy_network(without_latents):
    learner, frame = without_latents
    model = learner.model_
    assert model.check_model()
    assert model.latents == set()
    assert set(model.nodes()) == set(frame)
    assert pgmpy_latent.from_pgmpy(model) == learner.tree_
    assert learner.adjacency_matrix_.to_numpy().sum() == len(model.edges())
    assert learner.score(true_graph=model) == 0
    joint = VariableElimination(model).query(list(frame), show_progress=False)
    complete = frame.dropna()
    rows = [np.log(joint.get_value(**row)) for row in complete.head(5).astype(int).to_dict("records")]
    np.testing.assert_allclose(learner.score_samples(complete.head(5)), rows)


def test_files(without_latents, tmp_path):
    learner, _ = without_latents
    pgmpy_latent.save(learner.tree_, tmp_path / "tree.json")
    assert pgmpy_latent.load(tmp_path / "tree.json") == learner.tree_
    pgmpy_latent.save(learner.model_, tmp_path / "network.json")
    again = pgmpy_latent.load(tmp_path / "network.json")
    assert set(again.nodes()) == set(learner.model_.nodes())
    assert set(again.edges()) == set(learner.model_.edges())
    assert again.check_model()
