"""Questions to a tree about a table, against pgmpy and enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.inference import VariableElimination
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from pgmpy_latent import (
    LatentNetwork,
    LatentTree,
    NetworkEM,
    RandomStarts,
    StructuralEM,
    encode,
    impute,
    log_likelihood,
    most_likely,
    posterior,
    row_log_likelihoods,
    sample,
    to_pgmpy,
)
from pgmpy_latent.exceptions import DataError, UnseenCategoryError, UnseenCategoryWarning
from pgmpy_latent.inference import queries
from pgmpy_latent.inference.queries import model_and_data, model_of
from pgmpy_latent.model.network import as_network
from pgmpy_latent.testing import codes_for, latent_trees
from tests.support import reference


def frame_of(tree, codes):
    columns = np.flatnonzero(~tree.latent)
    return pd.DataFrame(
        {
            tree.names[c]: [tree.state_names[c][v] if v >= 0 else None for v in codes[:, at]]
            for at, c in enumerate(columns)
        },
        index=[f"row {at}" for at in range(len(codes))],
        dtype=object,
    )


@st.composite
def tables_of_data(draw, **options):
    tree = draw(latent_trees(**options))
    codes = draw(codes_for(tree))
    rows = reference.rows_of(codes, np.flatnonzero(~tree.latent))
    return tree, frame_of(tree, codes), rows


@given(tables_of_data())
def test_likelihoods_equal_enumeration(problem):
    tree, frame, rows = problem
    expected = reference.log_likelihoods(tree.parent, tree.tables, rows)
    found = row_log_likelihoods(tree, frame)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert found.index.equals(frame.index)
    assert log_likelihood(tree, frame) == pytest.approx(expected.sum(), rel=1e-10, abs=1e-10)
    weights = np.arange(len(frame)) + 1.0
    assert log_likelihood(tree, frame, sample_weight=weights, weight_kind="frequency") == pytest.approx(
        weights @ expected, rel=1e-10, abs=1e-10
    )


@given(tables_of_data())
def test_posteriors_equal_enumeration(problem):
    tree, frame, rows = problem
    found = posterior(tree, frame, tree.names)
    best = most_likely(tree, frame, tree.names)
    assert found.index.equals(frame.index)
    assert best.index.equals(frame.index)
    for node, name in enumerate(tree.names):
        expected = reference.beliefs(tree.parent, tree.tables, rows, node)
        np.testing.assert_allclose(found[name], expected, rtol=1e-10, atol=1e-10)
        chosen = [tree.state_names[node].index(state) for state in best[name]]
        np.testing.assert_allclose(expected[np.arange(len(rows)), chosen], expected.max(axis=1), rtol=1e-9)
    assert list(posterior(tree, frame).columns.get_level_values(0).unique()) == list(tree.latent_names)


@settings(max_examples=20)
@given(tables_of_data(min_nodes=2, max_nodes=5, max_card=3))
def test_posteriors_equal_pgmpys_variable_elimination(problem):
    tree, frame, rows = problem
    inference = VariableElimination(to_pgmpy(tree))
    for name in tree.latent_names:
        found = posterior(tree, frame, [name])
        for at, row in enumerate(rows[:3]):
            evidence = {tree.names[node]: tree.state_names[node][state] for node, state in row.items()}
            answer = inference.query([name], evidence=evidence, show_progress=False)
            values = [answer.get_value(**{name: state}) for state in tree.state_names[tree.index(name)]]
            np.testing.assert_allclose(found.iloc[at], values, rtol=1e-10, atol=1e-10)


@given(tables_of_data(zeros=False))
def test_imputation_fills_gaps_and_changes_nothing_else(problem):
    tree, frame, _ = problem
    for filled in (impute(tree, frame), impute(tree, frame, method="draw", random_state=0)):
        assert list(filled.columns) == list(tree.observed_names)
        assert filled.index.equals(frame.index)
        assert filled.notna().all(axis=None)
        seen = frame.notna()
        assert (filled.where(seen).fillna("-") == frame.where(seen).fillna("-")).all(axis=None)


def test_imputation_by_drawing_follows_the_joint_posterior():
    tree = LatentTree(
        ["H", "x", "y"],
        [[0, 1], ["a", "b"], ["a", "b"]],
        [-1, 0, 0],
        [True, False, False],
        [[[0.3, 0.7]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    )
    gaps = pd.DataFrame({"x": [None] * 4000, "y": [None] * 4000}, dtype=object)
    filled = impute(tree, gaps, method="draw", random_state=0)
    assert (filled["x"] == filled["y"]).all()
    assert (filled["x"] == "a").mean() == pytest.approx(0.3, abs=0.03)
    with pytest.raises(ValueError, match="method is 'mean'"):
        impute(tree, gaps, method="mean")


@pytest.mark.parametrize("method", ["most_likely", "draw"])
def test_imputation_keeps_order_index_and_categories(method):
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    frame = pd.DataFrame(
        {
            "z": pd.Categorical.from_codes([0, 0, 1, 1], pd.IntervalIndex.from_breaks([0, 1, 2])),
            "name": list("abcd"),
            "x": pd.Categorical(["small", "small", "large", "large"], dtype=sizes),
            ("y", 1): [1, 1, 2, 2],
        },
        index=pd.Index([7, 5, 5, 3], name="person"),
    )
    learner = RandomStarts(n_states=2, random_state=0).fit(frame.drop(columns="name"))
    gappy = frame.copy()
    gappy.iloc[0, 2] = gappy.iloc[3, 0] = None
    gappy[("y", 1)] = gappy[("y", 1)].astype("Int64").mask([False, True, False, False])
    filled = learner.impute(gappy[[("y", 1), "x", "name", "z"]], method=method, random_state=0)
    assert filled.columns.tolist() == [("y", 1), "x", "name", "z"]
    assert filled.index.equals(frame.index)
    assert filled.index.name == "person"
    for name in ("x", "z"):
        assert filled[name].dtype == frame[name].dtype
    pd.testing.assert_frame_equal(filled, frame[filled.columns])


def test_imputation_adds_categories_that_the_table_lacks():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.1, 0.9]]])
    frame = pd.DataFrame({"x": pd.Categorical(["a", None], ["a"], ordered=True)})
    filled = impute(tree, frame)
    assert filled["x"].tolist() == ["a", "b"]
    assert filled["x"].cat.categories.tolist() == ["a", "b"]
    assert not filled["x"].cat.ordered
    assert sample(tree, 3, random_state=0).astype(filled.dtypes)["x"].dtype == filled["x"].dtype


PARTY = [["A", "B"], ["no", "yes"]]


def party_models():
    """Return a tree and a network, that needs an engine of its own, in which party and vote go together."""
    given = [[1.0, 0.0], [0.0, 1.0]]
    tree = LatentTree(
        ["H", "party", "vote"], [[0, 1], *PARTY], [-1, 0, 0], [True, False, False], [[[0.4, 0.6]], given, given]
    )
    both = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    network = LatentNetwork(
        ["party", "H", "vote"],
        [PARTY[0], [0, 1], PARTY[1]],
        [(), (), (0, 1)],
        [False, True, False],
        [[[0.4, 0.6]], [[0.5, 0.5]], both],
    )
    return [tree, network]


@pytest.mark.parametrize("method", ["most_likely", "draw"])
@pytest.mark.parametrize("model", party_models(), ids=["tree", "network"])
def test_imputation_keeps_categories_that_the_model_does_not_know(model, method):
    frame = pd.DataFrame({"id": range(4), "party": ["Other", "A", None, "C"], "vote": ["yes", None, "yes", None]})
    with pytest.warns(UnseenCategoryWarning, match=r"'C' \(1 row\), 'Other' \(1 row\).*impute leaves them as they are"):
        filled = impute(model, frame, method=method, random_state=0)
    assert filled["id"].tolist() == [0, 1, 2, 3]
    assert filled["party"].tolist() == ["Other", "A", "B", "C"]
    assert filled["vote"].tolist()[:3] == ["yes", "no", "yes"]
    assert filled["vote"].iloc[3] in ("no", "yes")
    with pytest.warns(UnseenCategoryWarning):  # an encoded table has rows that are equal, and no other columns
        again = impute(model, encode(frame[["party", "vote"]]), method=method, random_state=0)
    pd.testing.assert_frame_equal(again[["party", "vote"]], filled[["party", "vote"]])
    sizes = frame.astype({"party": pd.CategoricalDtype(["Other", "C", "B", "A"])})
    with pytest.warns(UnseenCategoryWarning):
        assert impute(model, sizes, method=method, random_state=0)["party"].tolist() == filled["party"].tolist()


@pytest.mark.parametrize("method", ["most_likely", "draw"])
def test_learners_impute_keeps_unknown_categories_codes_aside_and_other_columns(method):
    frame = pd.DataFrame({"x": [1, 1, 2, 2, 99] * 5, "y": list("aabba") * 5, "z": list("ccddc") * 5})
    new = pd.DataFrame({"w": [0.5, 1.5, 2.5], "x": [7, 99, 2], "y": ["a", "a", None], "z": ["c", "c", "d"]})
    for learner in (RandomStarts(n_states=2, random_state=0), StructuralEM(show_progress=False)):
        learner.fit(frame, missing={"x": 99})
        with pytest.warns(UnseenCategoryWarning, match=r"7 \(1 row\)"):
            filled = learner.impute(new, method, random_state=0)
        expected = new.assign(x=[7, 1, 2], y=["a", "a", "b"])
        pd.testing.assert_frame_equal(filled, expected)


def test_imputation_of_a_polars_frame_keeps_its_other_columns():
    polars = pytest.importorskip("polars")
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.1, 0.9]]])
    frame = polars.DataFrame({"id": [5, None, 7], "x": ["a", None, "new"]})
    with pytest.warns(UnseenCategoryWarning):
        filled = impute(tree, frame)
    assert filled["x"].tolist() == ["a", "b", "new"]
    assert filled["id"].tolist()[::2] == [5, 7]


def test_imputation_of_a_polars_frame_returns_a_pandas_frame():
    polars = pytest.importorskip("polars")
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.1, 0.9]]])
    filled = impute(tree, polars.DataFrame({"x": ["a", None]}))
    assert isinstance(filled, pd.DataFrame)
    assert filled["x"].tolist() == ["a", "b"]


def test_categories_never_seen():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    frame = pd.DataFrame({"x": ["a", "new", "newer"]})
    with pytest.warns(UnseenCategoryWarning) as caught:
        assert log_likelihood(tree, frame) == pytest.approx(np.log(0.25))
    assert len(caught) == 1
    for ask in (log_likelihood, impute):
        with pytest.raises(UnseenCategoryError, match="'x'"):
            ask(tree, frame, unseen="error")


def test_impossible_rows_say_so():
    tree = LatentTree(
        ["H", "x", "y"],
        [[0, 1], ["a", "b"], ["a", "b"]],
        [-1, 0, 0],
        [True, False, False],
        [[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    )
    frame = pd.DataFrame({"x": ["a", "a"], "y": ["a", "b"]}, index=["fine", "odd"])
    assert row_log_likelihoods(tree, frame)["odd"] == -np.inf
    with pytest.warns(UserWarning, match=r"probability zero under the model: 1 \(the first: \['odd'\]\).*prior"):
        found = posterior(tree, frame)
    assert found.loc["odd"].isna().all()
    assert found.loc["fine"].tolist() == [1.0, 0.0]
    with pytest.warns(UserWarning, match="probability zero"):
        assert most_likely(tree, frame)["H"].isna().tolist() == [False, True]


def test_rows_that_were_left_out_with_weight_zero():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    data = encode(pd.DataFrame({"x": ["a", "b", "b"]}), sample_weight=[1, 0, 1])
    assert log_likelihood(tree, data) == pytest.approx(np.log(0.25) + np.log(0.75))
    for ask in (row_log_likelihoods, posterior, most_likely, impute):
        with pytest.raises(DataError, match=r"rows \[1\] of this CategoricalData were left out"):
            ask(tree, data)


def test_missing_columns_are_named():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    with pytest.raises(DataError, match="x"):
        log_likelihood(tree, pd.DataFrame({"y": ["a"]}))


def test_encoded_data_and_arrays_are_tables_too():
    tree = LatentTree([0], [[3, 4]], [-1], [False], [[[0.25, 0.75]]])
    array = np.array([[3], [4], [4]])
    expected = np.log(0.25) + 2 * np.log(0.75)
    assert log_likelihood(tree, array) == pytest.approx(expected)
    assert log_likelihood(tree, encode(array)) == pytest.approx(expected)
    assert posterior(tree, array, [0]).shape == (3, 2)


@given(latent_trees(max_nodes=5, zeros=None), st.integers(0, 1000))
def test_samples_have_the_models_columns_and_repeat(tree, seed):
    rows = sample(tree, 20, random_state=seed)
    assert list(rows.columns) == list(tree.observed_names)
    everything = sample(tree, 20, latents=True, random_state=seed)
    assert list(everything.columns) == list(tree.names)
    pd.testing.assert_frame_equal(everything[list(tree.observed_names)], rows)
    assert np.isfinite(log_likelihood(tree, rows))
    assert len(sample(tree, 0)) == 0


def test_samples_follow_the_joint_distribution():
    rng = np.random.default_rng(0)
    parent, cards = [-1, 0, 0, 1], [2, 3, 2, 2]
    tables = [rng.dirichlet(np.ones(c), size=cards[p] if p >= 0 else 1) for c, p in zip(cards, parent, strict=True)]
    tree = LatentTree("abcd", [range(c) for c in cards], parent, [True, False, False, False], tables)
    n = 40_000
    drawn = sample(tree, n, latents=True, random_state=1).to_numpy()
    for state in itertools.product(*[range(c) for c in cards]):
        expected = reference.joint_probabilities(parent, tables, np.array([state]))[0]
        observed = (drawn == state).all(axis=1).mean()
        assert abs(observed - expected) < 5 * np.sqrt(expected * (1 - expected) / n) + 1e-4


def test_a_negative_number_of_rows():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    with pytest.raises(ValueError, match="n is -1"):
        sample(tree, -1)
    with pytest.raises(ValueError, match=r"n is 2\.5"):
        sample(tree, 2.5)


def test_something_else_than_a_tree():
    for ask in (log_likelihood, posterior, most_likely, impute):
        with pytest.raises(
            TypeError, match=r"LatentTree, LatentNetwork, pgmpy network or fitted learner.*got DataFrame"
        ):
            ask(pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1]}))
    with pytest.raises(TypeError, match="got list"):
        sample([], 3)


def test_the_model_of_a_learner():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    learner = RandomStarts(n_states=2).fit(frame)
    assert model_of(learner) is learner.tree_
    assert model_of(learner.tree_) is learner.tree_
    network = as_network(learner.tree_)
    assert model_of(network) is network
    em = NetworkEM(seed=0).fit(learner.model_, frame)
    assert model_of(em) is em.network_
    with pytest.raises(NotFittedError, match="this RandomStarts is not fitted; call fit with a table first"):
        model_of(RandomStarts())
    with pytest.raises(
        TypeError, match=r"expected a LatentTree, LatentNetwork, pgmpy network or fitted learner.*got str"
    ):
        model_of("camps.json")
    with pytest.raises(TypeError, match="got KMeans"):
        model_of(KMeans(1, n_init=1).fit([[0.0], [1.0]]))


def test_tables_are_read_as_the_learner_reads_them():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    learner = RandomStarts(n_states=2).fit(frame, unseen="error")
    tree, data = model_and_data(learner, frame.to_numpy(), sample_weight=[1, 2, 3, 4])
    assert tree is learner.tree_
    assert data.columns == ("x", "y", "z")
    assert data.weights.tolist() == [3.0, 7.0]
    with pytest.raises(UnseenCategoryError, match="'x'"):
        model_and_data(learner, frame.replace("a", "other"))
    with pytest.warns(UnseenCategoryWarning, match="'x'"):
        assert model_and_data(tree, frame.replace("a", "other"))[1].has_missing[0]


def test_states_keep_their_types_beside_impossible_rows():
    table = [[1.0, 0.0], [0.0, 1.0]]
    tree = LatentTree(["H", "x", "y"], [[0, 1]] * 3, [-1, 0, 0], [True, False, False], [[[0.5, 0.5]], table, table])
    with pytest.warns(UserWarning, match="probability zero"):
        found = most_likely(tree, pd.DataFrame({"x": [0, 1], "y": [0, 0]}))
    assert found["H"].tolist() == [0, pd.NA]
    assert isinstance(found["H"].iloc[0], (int, np.integer))


def test_errors_about_unseen_categories_give_remedies_that_exist():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    new = frame.replace("a", "other")
    learner = RandomStarts(n_states=2).fit(frame, unseen="error")
    remedies = r"'b'\. Map them to known categories, empty the cells, or {}\.$"
    asked = (learner.predict, learner.predict_proba, learner.impute, learner.score, learner.partial_fit)
    for ask in (*asked, lambda rows: model_and_data(learner, rows)):
        with pytest.raises(UnseenCategoryError, match=remedies.format('fit with unseen="missing"')):
            ask(new)
    with pytest.raises(UnseenCategoryError, match=remedies.format('ask for unseen="missing"')):
        posterior(learner.tree_, new, unseen="error")


@given(st.integers(0, 1000), st.integers(1, 9))
def test_states_are_drawn_as_a_search_in_every_row_of_a_table_would(seed, n_states):
    rng = np.random.default_rng(seed)
    bounds = np.cumsum(rng.dirichlet(np.full(n_states, 0.3), size=4), axis=1)
    bounds[:, -1] = np.inf
    rows = rng.integers(4, size=50)
    values = np.where(rng.random(50) < 0.2, np.minimum(bounds[rows, 0], 1.0), rng.random(50))
    wanted = [np.searchsorted(bounds[row], value, side="right") for row, value in zip(rows, values, strict=True)]
    assert queries._first_above(bounds, rows, values).tolist() == wanted
