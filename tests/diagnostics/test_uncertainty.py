"""Standard errors, against second differences of the likelihood and against formulas for what is observed."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from pgmpy_latent import LatentTree, RandomStarts, encode, sample, standard_errors
from pgmpy_latent.diagnostics.uncertainty import Matching
from pgmpy_latent.em.fit import fit
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.model.network import LatentNetwork, as_network
from pgmpy_latent.operators import permute_states
from tests.support import reference

COLUMNS = ["node", "parent_state", "state", "probability", "standard_error", "lower", "upper", "note"]


def at_the_maximum(tree, data):
    """Return the tree with the tables of maximum likelihood, as near as EM gets from its own."""
    engine = engine_for(tree, data)
    found = fit(engine, engine.layout.pack(tree.tables), atol=1e-11, max_iter=100_000)
    return tree.with_tables(engine.layout.unpack(found.tables))


def star(n_classes, n_items, n_states=2):
    """Return a latent class model whose classes differ clearly."""
    rng = np.random.default_rng(0)
    items = [rng.dirichlet(np.ones(n_states), n_classes) * 0.8 + 0.2 / n_states for _ in range(n_items)]
    return LatentTree(
        ["H", *(f"x{at}" for at in range(n_items))],
        [range(n_classes), *[range(n_states)] * n_items],
        [-1, *[0] * n_items],
        [True, *[False] * n_items],
        [np.full((1, n_classes), 1 / n_classes), *items],
    )


TWO_HIDDEN = LatentTree(
    ["G", "H", "a", "b", "c", "d", "e", "f"],
    [[0, 1], [0, 1], *[["no", "yes"]] * 5, ["x", "y", "z"]],
    [-1, 0, 0, 0, 0, 1, 1, 1],
    [True, True, *[False] * 6],
    [
        [[0.6, 0.4]],
        [[0.8, 0.2], [0.3, 0.7]],
        *[[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]],
        *[[[0.85, 0.15], [0.1, 0.9]], [[0.2, 0.8], [0.9, 0.1]], [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]],
    ],
)


def drawn(tree, n_rows, missing=0.0, seed=0):
    frame = sample(tree, n_rows, random_state=seed)
    gaps = np.random.default_rng(seed).random(frame.shape) < missing
    return frame.astype(object).mask(gaps)


def test_values_with_two_classes_agree_with_the_numerical_hessian(data_folder):
    frame = pd.read_csv(data_folder / "polca_values.csv")
    weights = frame.pop("count").to_numpy(float)
    data = encode(frame, sample_weight=weights)
    tree = at_the_maximum(RandomStarts(n_states=2).fit(data).tree_, data)
    found = standard_errors(tree, frame, sample_weight=weights)
    np.testing.assert_allclose(
        found["standard_error"], reference.standard_errors(tree, data.codes, data.weights), rtol=1e-5
    )
    assert (found["note"] == "").all()


@pytest.mark.parametrize(("tree", "missing"), [(TWO_HIDDEN, 0.0), (TWO_HIDDEN, 0.1), (star(2, 4, 3), 0.0)])
def test_drawn_tables_agree_with_the_numerical_hessian(tree, missing):
    frame = drawn(tree, 400, missing)
    weights = np.random.default_rng(0).integers(1, 4, 400).astype(float)
    data = encode_for(tree, frame, sample_weight=weights)
    tree = at_the_maximum(tree, data)
    found = standard_errors(tree, frame, sample_weight=weights)
    np.testing.assert_allclose(
        found["standard_error"], reference.standard_errors(tree, data.codes, data.weights), rtol=1e-5
    )
    threads = standard_errors(tree, data, n_jobs=2)
    pd.testing.assert_frame_equal(threads, found, check_exact=True)


def observed_pair(n_rows=300):
    tree = LatentTree(
        ["x", "y"],
        [["a", "b"], ["c", "d", "e"]],
        [-1, 0],
        [False, False],
        [[[0.4, 0.6]], [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]],
    )
    frame = sample(tree, n_rows, random_state=0)
    return at_the_maximum(tree, encode_for(tree, frame)), frame


def test_what_is_observed_has_the_errors_of_shares():
    tree, frame = observed_pair()
    found = standard_errors(tree, frame)
    assert found.columns.tolist() == COLUMNS
    assert found["node"].tolist() == ["x"] * 2 + ["y"] * 6
    assert found["parent_state"].tolist() == [None] * 2 + ["a"] * 3 + ["b"] * 3
    assert found["state"].tolist() == ["a", "b", *"cde", *"cde"]
    totals = np.array([300] * 2 + [(frame["x"] == "a").sum()] * 3 + [(frame["x"] == "b").sum()] * 3)
    p = found["probability"]
    np.testing.assert_allclose(found["standard_error"], np.sqrt(p * (1 - p) / totals), rtol=1e-6)
    reach = 1.959963985 * found["standard_error"] / (p * (1 - p))
    np.testing.assert_allclose(found["lower"], expit(logit(p) - reach), rtol=1e-9)
    np.testing.assert_allclose(found["upper"], expit(logit(p) + reach), rtol=1e-9)
    narrower = standard_errors(tree, frame, level=0.5)
    assert (narrower["upper"] < found["upper"]).all()
    assert (narrower["lower"] > found["lower"]).all()


def test_four_times_the_weight_halves_the_errors():
    tree, frame = observed_pair()
    once, four = (standard_errors(tree, frame, sample_weight=np.full(300, weight)) for weight in (1.0, 4.0))
    np.testing.assert_allclose(once["standard_error"], 2 * four["standard_error"], rtol=1e-6)


def test_networks():
    tree, frame = observed_pair()
    pd.testing.assert_frame_equal(standard_errors(as_network(tree), frame), standard_errors(tree, frame))
    tables = [[[0.5, 0.5]], [[0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [0.5, 0.5]]]
    network = LatentNetwork("xyz", [[0, 1], ["u", "v"], [0, 1]], [(), (), (0, 1)], [False] * 3, tables)
    frame = pd.DataFrame(
        {
            "x": [0] * 8 + [1] * 8,
            "y": (["u"] * 4 + ["v"] * 4) * 2,
            "z": [0, 1, 1, 1, *[0, 1] * 2, 0, 0, 0, 1, *[0, 1] * 2],
        }
    )
    found = standard_errors(network, frame).set_index(["node", "parent_state", "state"])
    assert found.loc[("z", (0, "u"), 1), "standard_error"].item() == pytest.approx(np.sqrt(0.25 * 0.75 / 4), rel=1e-6)
    assert found.loc[("z", (1, "v"), 1), "standard_error"].item() == pytest.approx(np.sqrt(0.25 / 4), rel=1e-6)
    boot = standard_errors(
        network, frame, sample_weight=[25.0] * 16, weight_kind="frequency", method="bootstrap", n_bootstrap=50
    )
    boot = boot.set_index(["node", "parent_state", "state"])
    assert boot.loc[("z", (0, "u"), 1), "standard_error"].item() == pytest.approx(np.sqrt(0.25 * 0.75 / 100), rel=0.3)


def test_hidden_states_are_matched():
    tree = star(3, 5, 3)
    engine = engine_for(tree, encode_for(tree, drawn(tree, 100, missing=0.1)))
    tables = engine.layout.pack(tree.tables)
    match = Matching(as_network(tree), engine, tables)
    for order in itertools.permutations(range(3)):
        other = permute_states(tree, "H", order)
        np.testing.assert_allclose(match(engine.layout.pack(other.tables)), tables)
    two = engine_for(TWO_HIDDEN, encode_for(TWO_HIDDEN, drawn(TWO_HIDDEN, 100)))
    tables = two.layout.pack(TWO_HIDDEN.tables)
    other = permute_states(permute_states(TWO_HIDDEN, "G", [1, 0]), "H", [1, 0])
    np.testing.assert_allclose(Matching(as_network(TWO_HIDDEN), two, tables)(two.layout.pack(other.tables)), tables)


def test_probabilities_at_the_boundary(data_folder):
    frame = pd.read_csv(data_folder / "polca_carcinoma.csv")
    weights = frame.pop("count")
    learner = RandomStarts(n_states=3).fit(frame, sample_weight=weights)
    message = (
        r"20 of 45 probabilities are at the boundary, 0 or 1, .* NaN.* "
        r'In standard_errors, method="bootstrap" does without this'
    )
    with pytest.warns(UserWarning, match=message):
        found = standard_errors(learner, frame, sample_weight=weights)
    extreme = (found["probability"] < 1e-4) | (found["probability"] > 1 - 1e-4)
    assert extreme.sum() == 20
    assert (found["note"] == np.where(extreme, "at the boundary", "")).all()
    assert (found["standard_error"].isna() == extreme).all()
    assert (found["lower"].isna() == extreme).all()
    inside = found[~extreme]
    assert ((inside["lower"] > 0) & (inside["lower"] < inside["probability"])).all()
    assert ((inside["probability"] < inside["upper"]) & (inside["upper"] < 1)).all()
    boot = standard_errors(learner, frame, sample_weight=weights, method="bootstrap", n_bootstrap=20)
    assert boot["standard_error"].notna().all()
    assert (boot["note"] == found["note"]).all()


def test_an_entry_at_zero_leaves_the_others_of_its_row():
    tree = LatentTree(["x"], [["a", "b", "c"]], [-1], [False], [[[0.25, 0.0, 0.75]]])
    frame = pd.DataFrame({"x": ["a", "c", "c", "c"] * 25})
    with pytest.warns(UserWarning, match="1 of 3 probabilities are at the boundary"):
        found = standard_errors(tree, frame)
    assert found["note"].tolist() == ["", "at the boundary", ""]
    assert found.loc[0, "standard_error"] == pytest.approx(np.sqrt(0.25 * 0.75 / 100), rel=1e-6)


def test_more_classes_than_the_columns_can_tell_apart():
    tree = star(3, 4)
    data = encode_for(tree, drawn(tree, 2000))
    tree = at_the_maximum(tree, data)
    with (
        pytest.warns(UserWarning, match="can tell only 13 of the 14 parameters of this structure apart"),
        pytest.warns(UserWarning, match="of 27 probabilities are not identified: others make up for any change"),
    ):
        found = standard_errors(tree, data)
    unknown = found["note"] == "not identified"
    assert unknown.sum() > 15
    assert found.loc[unknown, ["standard_error", "lower", "upper"]].isna().all(axis=None)


def test_states_that_no_row_is_in():
    tree = LatentTree(
        ["H", "x", "y"],
        [["p", "q"], ["a", "b"], ["c", "d"]],
        [-1, 0, 0],
        [True, False, False],
        [[[1.0, 0.0]], [[0.5, 0.5], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]],
    )
    frame = pd.DataFrame({"x": list("abab"), "y": list("ccdd")})
    with (
        pytest.warns(UserWarning, match="4 of 10 probabilities are not identified"),
        pytest.warns(UserWarning, match="2 of 10 probabilities are at the boundary"),
    ):
        found = standard_errors(tree, frame)
    of_empty = found["parent_state"] == "q"
    assert (found["note"][of_empty] == "not identified").all()
    assert found["standard_error"][of_empty].isna().all()
    rest = found[(found["parent_state"] == "p")]
    np.testing.assert_allclose(rest["standard_error"], 0.25, rtol=1e-6)


def test_a_single_state_is_sure():
    tree = LatentTree(["H", "x"], [[0], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5]]])
    found = standard_errors(tree, pd.DataFrame({"x": ["a", "b"]}))
    assert found.loc[0, ["standard_error", "lower", "upper", "note"]].tolist() == [0.0, 1.0, 1.0, ""]
    np.testing.assert_allclose(found.loc[1:, "standard_error"], np.sqrt(0.125), rtol=1e-6)


def test_a_model_that_is_not_at_a_maximum():
    tree, frame = observed_pair()
    elsewhere = tree.with_tables([[[0.9, 0.1]], tree.tables[1]])
    with pytest.warns(UserWarning, match=r"not at a maximum of the likelihood of this table \(about .* nats could be"):
        standard_errors(elsewhere, frame)


def test_bootstrap_agrees_with_information():
    frame = drawn(TWO_HIDDEN, 1500)
    data = encode_for(TWO_HIDDEN, frame)
    tree = at_the_maximum(TWO_HIDDEN, data)
    information = standard_errors(tree, data)
    boot = standard_errors(tree, data, method="bootstrap", n_bootstrap=60, n_jobs=2)
    ratio = boot["standard_error"] / information["standard_error"]
    assert ratio.between(0.6, 1.6).all()
    assert 0.85 < ratio.mean() < 1.15
    assert (boot["lower"] <= boot["probability"]).all()
    assert (boot["probability"] <= boot["upper"]).all()
    assert (boot["note"] == "").all()
    again = standard_errors(as_network(tree), data, method="bootstrap", n_bootstrap=3)
    np.testing.assert_allclose(
        again["standard_error"],
        standard_errors(tree, data, method="bootstrap", n_bootstrap=3, n_jobs=2)["standard_error"],
        rtol=1e-6,
    )


def test_bootstrap_repeats_whatever_the_number_of_threads():
    tree, frame = observed_pair(50)
    one = standard_errors(tree, frame, method="bootstrap", n_bootstrap=5, random_state=3)
    two = standard_errors(tree, frame, method="bootstrap", n_bootstrap=5, random_state=3, n_jobs=2)
    other = standard_errors(tree, frame, method="bootstrap", n_bootstrap=5, random_state=4)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert (one["standard_error"] != other["standard_error"]).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method is 'magic'; give 'information', 'sandwich' or 'bootstrap'"),
        ({"level": 1.0}, "level is 1.0; give a number between 0 and 1, such as 0.95"),
        ({"level": "high"}, "level is 'high'; give a number"),
        ({"n_bootstrap": 1}, "n_bootstrap is 1; give a whole number of at least 2"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_settings_that_cannot_be_meant(options, message):
    tree, frame = observed_pair(10)
    with pytest.raises(ValueError, match=message):
        standard_errors(tree, frame, **options)


def test_a_table_that_the_model_rules_out():
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[1.0, 0.0]]])
    with pytest.raises(ImpossibleRowError, match="the model rules out some rows of this table"):
        standard_errors(tree, pd.DataFrame({"x": ["a", "b"]}))
