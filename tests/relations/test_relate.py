"""Relations of classes with covariates and outcomes: against general optimisers, laws, and what is refused."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentNetwork, LatentTree, RandomStarts, TreeEM, from_pgmpy, posterior, relate, sample
from pgmpy_latent.exceptions import DataError, ImpossibleRowError, MissingCodeWarning
from tests.support.reference_relations import (
    class_likelihoods,
    covariate_objective,
    flat_logits,
    hessian,
    maximum,
    one_step_objective,
)

ITEMS = list("abcde")
PROFILES = np.array([[[0.85, 0.15], [0.25, 0.75]]] * 5)
THREE = np.array([[[0.9, 0.1], [0.15, 0.85], [0.2, 0.8]]] * 2 + [[[0.8, 0.2], [0.85, 0.15], [0.1, 0.9]]] * 3)


def class_model(profiles=PROFILES, sizes=None):
    n_classes = profiles.shape[1]
    names = ["H", *ITEMS[: len(profiles)]]
    sizes = np.full(n_classes, 1 / n_classes) if sizes is None else sizes
    states = [list(range(n_classes)), *[[0, 1]] * len(profiles)]
    parent = [-1, *[0] * len(profiles)]
    return LatentTree(names, states, parent, [True, *[False] * len(profiles)], [np.array([sizes]), *profiles])


def drawn(n, seed, profiles=PROFILES, slopes=((0.3, 1.0),)):
    """Draw rows whose class depends on age and whose income and children depend on the class."""
    rng = np.random.default_rng(seed)
    n_classes = profiles.shape[1]
    age = rng.normal(0, 1, n)
    beta = np.concatenate([np.zeros((1, 2)), np.array(slopes)])
    odds = np.exp(np.stack([np.ones(n), age], axis=1) @ beta.T)
    shares = odds / odds.sum(axis=1, keepdims=True)
    classes = (shares.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    table = {}
    for item, profile in zip(ITEMS, profiles, strict=False):
        table[item] = (rng.random(n) < profile[classes, 1]).astype(int)
    table = pd.DataFrame(table)
    table["age"] = age
    table["sex"] = np.where(rng.random(n) < 0.5, "f", "m")
    table["income"] = rng.normal(2.0 * classes, 1 + 0.5 * classes)
    table["children"] = rng.poisson(1 + classes)
    table["vote"] = np.where(rng.random(n) < 0.3 + 0.4 * (classes == n_classes - 1), "yes", "no")
    return table


@pytest.fixture(scope="module")
def table():
    return drawn(600, 1)


@pytest.fixture(scope="module")
def learner(table):
    return RandomStarts(n_states=2, random_state=0).fit(table[ITEMS])


def coefficients(found):
    """Return the estimates (n_classes - 1, n_terms) and standard errors, by class."""
    rows = found.coefficients
    n = rows["class"].nunique()
    return rows["estimate"].to_numpy().reshape(n, -1), rows["standard_error"].to_numpy().reshape(n, -1)


# Against general optimisers -----------------------------------------------------------------------


def matrix_of(table):
    return np.stack([np.ones(len(table)), table["age"], table["sex"] == "m"], axis=1).astype(float)


def in_model(found):
    return [found.network.table(item) for item in ITEMS]


@pytest.mark.parametrize("assignment", ["modal", "proportional"])
@pytest.mark.parametrize(("steps", "correction"), [(2, None), (3, "ml"), (3, "bch"), (3, None)])
def test_estimates_maximise_what_they_should(learner, table, steps, correction, assignment):
    found = relate(
        learner, table, ["age", "sex"], steps=steps, correction=correction, assignment=assignment, reference=0
    )
    likelihoods = class_likelihoods(in_model(found), table[ITEMS].to_numpy())
    joint = likelihoods * found.network.table("H")
    posteriors = joint / joint.sum(axis=1, keepdims=True)
    shares = np.eye(2)[posteriors.argmax(axis=1)] if assignment == "modal" else posteriors
    errors = posteriors.T @ shares / posteriors.sum(axis=0)[:, None]
    matrix = matrix_of(table)

    def objective(flat):
        if steps == 2:
            return covariate_objective(likelihoods, matrix, np.ones(len(table)))(flat)
        if correction == "ml":
            parts = [
                covariate_objective(np.tile(errors[:, s], (len(table), 1)), matrix, shares[:, s])(flat)
                for s in range(2)
            ]
            return sum(parts)
        weights = shares if correction is None else shares @ np.linalg.inv(errors)
        return sum(
            covariate_objective(np.tile(np.eye(2)[k], (len(table), 1)), matrix, weights[:, k])(flat) for k in (0, 1)
        )

    expected = maximum(objective, np.zeros(3))
    assert coefficients(found)[0][0] == pytest.approx(expected, abs=1e-4)
    if correction != "bch":
        assert found.log_likelihood == pytest.approx(objective(expected), abs=1e-6)
    else:
        assert np.isnan(found.log_likelihood)


def test_one_step_against_a_numerical_hessian(learner, table):
    found = relate(learner, table, ["age", "sex"], steps=1, reference=0)
    codes, matrix = table[ITEMS].to_numpy(), matrix_of(table)
    objective = one_step_objective(codes, [2] * 5, matrix, np.ones(len(table)), 2)
    at = flat_logits(coefficients(found)[0], in_model(found))
    assert objective(at) == pytest.approx(found.log_likelihood, abs=1e-8)
    slopes = [(objective(at + d) - objective(at - d)) / 2e-5 for d in 1e-5 * np.eye(len(at))]
    assert np.abs(slopes).max() < 0.05  # a maximum
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian(objective, at))))[:3]
    assert coefficients(found)[1][0] == pytest.approx(expected, rel=1e-3)


def test_one_step_of_three_classes_against_a_numerical_hessian():
    table = drawn(1500, 3, THREE, ((0.2, 1.0), (-0.2, -0.7)))
    learner = RandomStarts(n_states=3, random_state=0).fit(table[ITEMS])
    found = relate(learner, table, "age", steps=1, reference=0)
    matrix = matrix_of(table)[:, :2]
    objective = one_step_objective(table[ITEMS].to_numpy(), [2] * 5, matrix, np.ones(len(table)), 3)
    at = flat_logits(coefficients(found)[0], in_model(found))
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian(objective, at))))[:4]
    assert coefficients(found)[1].ravel() == pytest.approx(expected, rel=5e-3)


# Against a bootstrap ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "z", "options"),
    [
        ("covariate", "age", {"steps": 3, "correction": "ml"}),
        ("outcome", "income", {"steps": 3, "correction": "bch"}),
        pytest.param("covariate", "age", {"steps": 2}, marks=pytest.mark.slow),
        pytest.param("covariate", "age", {"steps": 3, "correction": "bch"}, marks=pytest.mark.slow),
        pytest.param("outcome", "income", {"steps": 2}, marks=pytest.mark.slow),
        pytest.param("outcome", "vote", {"steps": 3, "correction": "ml"}, marks=pytest.mark.slow),
        pytest.param("outcome", "children", {"steps": 3, "family": "count"}, marks=pytest.mark.slow),
    ],
)
def test_standard_errors_are_those_of_a_bootstrap(learner, table, kind, z, options):
    found = relate(learner, table, z, kind, **options)
    rng = np.random.default_rng(0)
    draws = [
        values_and_errors(relate(learner, table.iloc[rng.integers(0, len(table), len(table))], z, kind, **options))[0]
        for _ in range(120)
    ]
    assert values_and_errors(found)[1] == pytest.approx(np.std(draws, axis=0, ddof=1), rel=0.3)


def values_and_errors(found):
    frame = found.coefficients if hasattr(found, "coefficients") else found.means
    value = next(name for name in ("estimate", "mean", "share") if name in frame.columns)
    return frame[value].to_numpy(), frame["standard_error"].to_numpy()


# Unbiased where assigned classes are not ----------------------------------------------------------


def test_corrections_are_unbiased_where_assigned_classes_are_not():
    """Slope 1 of the second class, five columns with errors of 15 and 25 %: 11 % of rows are assigned wrongly."""
    found = {key: [] for key in [(2, None), (3, None), (3, "bch"), (3, "ml")]}
    for seed in range(30):
        table = drawn(500, 100 + seed)
        tree = class_model()
        for steps, correction in found:
            estimates, _ = coefficients(relate(tree, table, "age", steps=steps, correction=correction, reference=0))
            found[steps, correction].append(estimates[0, 1])
    off = {
        key: (np.mean(values) - 1) / (np.std(values, ddof=1) / np.sqrt(len(values))) for key, values in found.items()
    }
    assert abs(off[2, None]) < 2.5
    assert abs(off[3, "bch"]) < 2.5
    assert abs(off[3, "ml"]) < 2.5
    assert off[3, None] < -5


# Laws ---------------------------------------------------------------------------------------------

METHODS = [(1, "ml"), (2, "ml"), (3, "ml"), (3, "bch"), (3, None)]


@pytest.mark.parametrize(("steps", "correction"), METHODS)
def test_a_frequency_weight_equals_a_repeated_row(learner, table, steps, correction):
    some = table.head(150)
    times = np.random.default_rng(0).integers(0, 4, len(some))
    repeated = some.loc[np.repeat(some.index, times)]
    options = {"steps": steps, "correction": correction, "reference": 0}
    one = relate(learner.tree_, some, ["age", "sex"], sample_weight=times, **options)
    other = relate(learner.tree_, repeated, ["age", "sex"], **options)
    assert values_and_errors(one)[0] == pytest.approx(values_and_errors(other)[0], abs=1e-5)
    assert values_and_errors(one)[1] == pytest.approx(values_and_errors(other)[1], rel=1e-4)
    pd.testing.assert_frame_equal(one.tests, other.tests, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("steps", "correction"), METHODS[1:])
def test_a_frequency_weight_equals_a_repeated_row_for_outcomes(learner, table, steps, correction):
    some = table.head(200)
    times = np.random.default_rng(0).integers(0, 4, len(some))
    repeated = some.loc[np.repeat(some.index, times)]
    one = relate(learner.tree_, some, "income", "outcome", steps, correction, sample_weight=times)
    other = relate(learner.tree_, repeated, "income", "outcome", steps, correction)
    pd.testing.assert_frame_equal(one.means, other.means, rtol=1e-4)


@pytest.mark.parametrize(("steps", "correction"), METHODS)
def test_the_scale_of_sampling_weights_says_nothing(learner, table, steps, correction):
    weights = np.random.default_rng(1).uniform(0.5, 2, len(table))
    options = {"steps": steps, "correction": correction, "weight_kind": "sampling"}
    one, other = (relate(learner.tree_, table, "age", sample_weight=scale * weights, **options) for scale in (1, 1000))
    pd.testing.assert_frame_equal(one.coefficients, other.coefficients, rtol=1e-5)
    assert np.isnan(one.tests["likelihood_ratio"]).all()
    assert one.degrees_of_freedom == len(table) - 1


@pytest.mark.parametrize(("steps", "correction"), [(1, "ml"), (2, "ml"), (3, "bch")])
def test_rows_drawn_twice_as_clusters_say_as_much_as_once(learner, table, steps, correction):
    some = table.head(300)
    twice = pd.concat([some, some])
    options = {"steps": steps, "correction": correction, "reference": 0}
    one = relate(learner.tree_, some, "age", cluster=np.arange(300), **options)
    both = relate(learner.tree_, twice, "age", cluster=np.tile(np.arange(300), 2), **options)
    alone = relate(learner.tree_, twice, "age", **options)
    assert values_and_errors(both)[1] == pytest.approx(values_and_errors(one)[1], rel=1e-3)
    ratio = values_and_errors(both)[1] / values_and_errors(alone)[1]
    assert ratio == pytest.approx(np.full(2, np.sqrt(2)), rel=0.01 if steps > 1 else 0.3)


def test_a_learner_remembers_its_weights(table):
    weighted = table.assign(w=np.random.default_rng(1).integers(1, 3, len(table)))
    learner = RandomStarts(n_states=2, random_state=0).fit(weighted[[*ITEMS, "w"]], sample_weight="w")
    found = relate(learner, weighted, "age", steps=2)
    expected = relate(learner.tree_, weighted, "age", steps=2, sample_weight="w")
    pd.testing.assert_frame_equal(found.coefficients, expected.coefficients)


@pytest.mark.parametrize(("steps", "correction"), METHODS)
def test_units_and_order_change_nothing_but_units(learner, table, steps, correction):
    options = {"steps": steps, "correction": correction, "reference": 0}
    one = relate(learner, table, ["age", "sex"], **options)
    shuffled = table.sample(frac=1, random_state=0).assign(age=lambda frame: 100 + 10 * frame["age"])
    other = relate(learner, shuffled, ["age", "sex"], **options)
    assert other.coefficients["estimate"].iloc[1] == pytest.approx(one.coefficients["estimate"].iloc[1] / 10, abs=1e-6)
    assert other.coefficients["z"].iloc[1:].tolist() == pytest.approx(one.coefficients["z"].iloc[1:].tolist(), rel=1e-3)
    pd.testing.assert_frame_equal(one.tests, other.tests, rtol=1e-3)


def test_the_reference_changes_only_the_sign_of_two_classes(learner, table):
    one, other = (relate(learner, table, "age", steps=2, reference=at) for at in (0, 1))
    assert coefficients(one)[0] == pytest.approx(-coefficients(other)[0], abs=1e-6)
    assert coefficients(one)[1] == pytest.approx(coefficients(other)[1], rel=1e-4)
    pd.testing.assert_frame_equal(one.tests, other.tests, rtol=1e-3)


def test_dummies_of_two_categories_equal_a_number(learner, table):
    number = table.assign(male=(table["sex"] == "m").astype(float))
    for steps in (1, 2, 3):
        one, other = (relate(learner, number, name, steps=steps) for name in ("sex", "male"))
        assert one.coefficients["estimate"].to_numpy() == pytest.approx(other.coefficients["estimate"].to_numpy())
        assert one.coefficients["category"].tolist() == ["", "m"]


@pytest.mark.parametrize("correction", ["ml", "bch", None])
def test_shares_of_categories_are_those_that_a_logit_of_categories_gives(learner, table, correction):
    """Three steps with a categorical z say the same both ways round: the logit is saturated."""
    shares = relate(learner, table, "vote", "outcome", 3, correction).means
    found = relate(learner, table, "vote", "covariate", 3, correction)
    observed = (table["vote"] == "yes").mean()
    sizes = found.probabilities(pd.DataFrame({"vote": ["no", "yes"]})).to_numpy()
    joint = sizes * np.array([[1 - observed], [observed]])
    expected = (joint / joint.sum(axis=0))[1]
    assert shares.loc[shares["category"] == "yes", "share"].to_numpy() == pytest.approx(expected, abs=1e-6)


def test_naive_means_are_means_of_assigned_rows(learner, table):
    found = relate(learner, table, "income", "outcome", 3, None)
    likeliest = posterior(learner.tree_, table[ITEMS]).to_numpy().argmax(axis=1)
    groups = table["income"].groupby(likeliest)
    assert found.means["mean"].to_numpy() == pytest.approx(groups.mean().to_numpy())
    assert found.means["standard_deviation"].to_numpy() == pytest.approx(groups.std(ddof=0).to_numpy())
    errors = groups.std(ddof=0) / np.sqrt(groups.size())
    assert found.means["standard_error"].to_numpy() == pytest.approx(errors.to_numpy(), rel=0.01)


def test_the_objective_never_falls(learner, table):
    from pgmpy_latent.relations.covariates import Covariates
    from pgmpy_latent.relations.evidence import Method
    from pgmpy_latent.relations.last_step import estimated
    from pgmpy_latent.relations.logit import LogitPart
    from pgmpy_latent.relations.outcomes import outcome_part
    from pgmpy_latent.relations.rows import related_rows
    from pgmpy_latent.relations.step_one import StepOne

    for z in ("age", "income"):
        rows = related_rows(learner, table, z, None)
        step_one = StepOne.fitted(rows)
        posteriors = step_one.posteriors(step_one.tables)
        for with_sizes, part in [
            (False, LogitPart(Covariates.of(rows.z).matrix(rows.z), rows.pattern, 2, 0)),
            (True, outcome_part(rows.z[z], rows.pattern, "normal", 2)),
        ]:
            for steps in (2, 3):
                method = Method(step_one, steps, "ml", "proportional", rows.weights, with_sizes)
                trace = estimated(part, method.evidence(step_one.tables), rows.weights, posteriors).trace
                assert (np.diff(trace) >= -1e-9 * abs(trace[0])).all()


# What comes out -----------------------------------------------------------------------------------


def test_model_at_is_the_network_of_a_person(learner, table):
    found = relate(learner, table, ["age", "sex"], steps=1)
    person = {"age": 0.5, "sex": "m"}
    tree = from_pgmpy(found.model_at(person))
    beta, _ = coefficients(found)
    (other,) = {0, 1} - {found.reference}
    odds = np.exp(beta @ [1.0, 0.5, 1.0])[0]
    assert tree.table("H")[0, other] == pytest.approx(odds / (1 + odds))
    assert tree.table("a") == pytest.approx(found.network.table("a"))
    assert found.probabilities(person).to_numpy() == pytest.approx(tree.table("H"))


def test_class_sizes_are_means_over_rows(learner, table):
    found = relate(learner, table, ["age", "sex"], steps=2)
    sizes = found.class_sizes("sex")
    for value in ("f", "m"):
        expected = found.probabilities(table.assign(sex=value)).mean()
        assert sizes.loc[sizes["value"] == value, "size"].to_numpy() == pytest.approx(expected.to_numpy())
    # the delta method, against differences
    assert (sizes["standard_error"] > 0).all()
    assert sizes["standard_error"].iloc[0] == pytest.approx(sizes["standard_error"].iloc[1])


def test_printed_results_say_method_and_rows(learner, table):
    table = table.copy()
    table.loc[:9, "age"] = np.nan
    text = repr(relate(learner, table, "age", correction="bch"))
    assert text.startswith("Covariates and H: three steps, modal assignment, BCH; 590 rows, 10 left out\nagainst class")
    assert "log-likelihood" in repr(relate(learner, table, "age", steps=1))
    text = repr(relate(learner, table, "vote", "outcome", 2))
    assert text.startswith("vote by class (categorical): two steps; 600 rows, 0 left out\n")


@pytest.mark.parametrize(("steps", "correction"), METHODS)
def test_rows_without_z_are_left_out_of_every_step(learner, table, steps, correction):
    gaps = table.copy()
    gaps.loc[gaps.index % 7 == 0, "age"] = np.nan
    gaps.loc[gaps.index % 11 == 0, "sex"] = None
    one = relate(learner, gaps, ["age", "sex"], steps=steps, correction=correction)
    other = relate(learner, gaps.dropna(), ["age", "sex"], steps=steps, correction=correction)
    assert one.n_rows == other.n_rows == len(gaps.dropna())
    assert one.n_rows_left_out == len(gaps) - one.n_rows
    pd.testing.assert_frame_equal(one.coefficients, other.coefficients)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, nan_ok=True)


def test_missing_cells_are_summed_out_and_rows_of_none_left_out(learner, table):
    gaps = table.astype({item: object for item in ITEMS})
    gaps.loc[:99, "a"] = None
    gaps.loc[:2, ITEMS] = None
    found = relate(learner, gaps, "age", steps=2)
    assert (found.n_rows, found.n_rows_left_out) == (597, 3)


def test_one_of_several_hidden_variables(table):
    rng = np.random.default_rng(0)
    tables = [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]], *[PROFILES[0]] * 5]
    names, parent = ["G", "H", *ITEMS], [-1, 0, 0, 0, 1, 1, 1]
    tree = LatentTree(names, [[0, 1]] * 7, parent, [True, True, *[False] * 5], [np.array(t) for t in tables])
    rows = sample(tree, 800, latents=True, random_state=1)
    rows["age"] = rng.normal(rows["H"], 1.0)
    with pytest.raises(ValueError, match="2 hidden variables; name one of"):
        relate(tree, rows, "age")
    for steps in (1, 2, 3):
        found = relate(tree, rows[[*ITEMS, "age"]], "age", steps=steps, latent="H", reference=0)
        assert coefficients(found)[0][0, 1] == pytest.approx(1.0, abs=0.5)
        assert found.latent == "H"
        assert {node for node in found.model_at({"age": 1.0}).nodes()} == set(names)


def test_a_network_with_a_direct_effect(table):
    network = LatentNetwork(
        ["H", *ITEMS], [[0, 1]] * 6, [(), (0,), (0, 1), (0,), (0,), (0,)], [True, *[False] * 5],
        [[[0.5, 0.5]], PROFILES[0], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]], *PROFILES[2:]],
    )  # fmt: skip
    for steps in (1, 2, 3):
        found = relate(network, table, "age", steps=steps, reference=0)
        assert coefficients(found)[0][0, 1] == pytest.approx(1.0, abs=0.4)


def test_estimators_of_pgmpy_networks(table):
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork([("K", item) for item in ITEMS], latents={"K"})
    estimator = TreeEM(latent_card=2, seed=0).fit(network, table[ITEMS])
    found = relate(estimator, table, "age", steps=2)
    assert found.latent == "K"
    assert abs(coefficients(found)[0][0, 1]) == pytest.approx(1.0, abs=0.5)


def test_restrictions_of_tables_are_refused(table):
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork([("K", item) for item in ITEMS], latents={"K"})
    estimator = TreeEM(latent_card=2, seed=0, tied=[["a", "b"]]).fit(network, table[ITEMS])
    with pytest.raises(ValueError, match="fitted with tied, which relate does not keep"):
        relate(estimator, table, "age")
    assert relate(estimator.tree_, table, "age").latent == "K"


# Outcomes -----------------------------------------------------------------------------------------


def test_families_of_outcomes(learner, table):
    assert relate(learner, table, "income", "outcome").family == "normal"
    assert relate(learner, table, "vote", "outcome").family == "categorical"
    assert relate(learner, table, "children", "outcome", family="count").family == "count"
    low, high = relate(learner, table, "children", "outcome", family="count").means["mean"].sort_values()
    assert (low, high) == (pytest.approx(1.0, abs=0.2), pytest.approx(2.0, abs=0.25))


def test_categories_are_whole_numbers_though_missing_cells_made_them_floats(learner, table):
    marks = table["children"].clip(upper=2).astype(float).where(table.index % 7 > 0)
    found = relate(learner, table, marks.astype("category"), "covariate", 2)
    assert {type(category) for category in found.coefficients["category"]} == {str, int}  # "" for the constant
    plain = relate(learner, table, marks.astype("Int64").astype("category"), "covariate", 2)
    np.testing.assert_allclose(found.coefficients["estimate"], plain.coefficients["estimate"], atol=1e-9)
    shares = relate(learner, table, marks, "outcome", family="categorical").means
    assert {type(category) for category in shares["category"]} == {int}
    assert shares.groupby("class")["share"].sum().to_numpy() == pytest.approx([1, 1])


def test_tests_of_outcomes(learner, table):
    found = relate(learner, table, "income", "outcome", correction="bch")
    overall, pair = found.tests.iloc[0], found.tests.iloc[1]
    assert overall["wald"] == pytest.approx(pair["wald"])
    assert pair["difference"] == pytest.approx(found.means["mean"].iloc[0] - found.means["mean"].iloc[1])
    assert pair["wald"] == pytest.approx((pair["difference"] / pair["standard_error"]) ** 2)
    assert overall["p_value"] < 1e-6
    assert pair["p_holm"] == pytest.approx(pair["p_value"])


def test_negative_shares_of_bch_become_zero_and_say_so(learner, table):
    likeliest = posterior(learner.tree_, table[ITEMS]).to_numpy()
    table = table.assign(rare=np.where(likeliest[:, 0] > 0.995, "yes", "no"))
    with pytest.warns(UserWarning, match="BCH weights of some rows are negative"):
        found = relate(learner, table, "rare", "outcome", correction="bch")
    noted = found.means["note"].str.startswith("came out as -")
    assert noted.sum() == 1
    assert (found.means.loc[noted, "share"] == 0).all()
    assert found.means.groupby("class")["share"].sum().to_numpy() == pytest.approx([1, 1])
    assert "came out as" in repr(found)


def test_shares_of_zero_have_no_standard_error(learner, table):
    likeliest = posterior(learner.tree_, table[ITEMS]).to_numpy().argmax(axis=1)
    found = relate(learner, table.assign(known=likeliest.astype(str)), "known", "outcome", 3, None)
    assert found.means["share"].tolist() == [1, 0, 0, 1]
    assert np.isnan(found.means["standard_error"].to_numpy()[[1, 2]]).all()


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "cause"}, ValueError, "kind is 'cause'; give 'covariate' or 'outcome'"),
        ({"steps": 4}, ValueError, "steps is 4; give 1, 2 or 3"),
        ({"correction": "BCH"}, ValueError, "correction is 'BCH'; give 'ml', 'bch' or None"),
        ({"assignment": "hard"}, ValueError, "assignment is 'hard'; give 'modal' or 'proportional'"),
        ({"kind": "outcome", "steps": 1}, ValueError, "steps=1 is not for outcomes"),
        ({"level": 2}, ValueError, "level is 2; give a number between 0 and 1"),
        ({"reference": "low"}, ValueError, r"reference is 'low'; the classes are \[0, 1\]"),
        ({"z": "height"}, DataError, r"z names \['height'\], which the table lacks"),
        ({"z": "a"}, DataError, r"z has \['a'\], which the classes are made from"),
        ({"z": []}, DataError, "z has no columns"),
        ({"z": pd.Series([1.0, 2.0])}, DataError, "z has 2 rows and the table 600"),
        ({"z": "constant"}, DataError, "covariate 'constant' is the same in all rows"),
        ({"z": ["age", "twice"]}, DataError, "determine each other"),
        ({"z": "infinite"}, DataError, "covariate 'infinite' has infinite values"),
        ({"z": "empty"}, DataError, "no row has both a value of z"),
        ({"z": "many"}, DataError, "covariate 'many' has 600 categories"),
        ({"z": ["age", "sex"], "kind": "outcome"}, DataError, "relate one outcome at a time"),
        ({"z": "sex", "kind": "outcome", "family": "normal"}, DataError, "outcome 'sex' is not numeric"),
        ({"z": "age", "kind": "outcome", "family": "count"}, DataError, "has values that are no counts"),
        ({"z": "age", "kind": "outcome", "family": "t"}, ValueError, "family is 't'; give"),
        ({"z": "many", "kind": "outcome"}, DataError, "outcome 'many' has 600 categories"),
        ({"z": "constant", "kind": "outcome"}, DataError, "outcome 'constant' is the same in all rows"),
        ({"sample_weight": [1.0]}, DataError, "sample_weight has 1 values and the table 600 rows"),
        ({"cluster": "school"}, DataError, "cluster is 'school', which is no column"),
        ({"n_starts": 0}, ValueError, "n_starts"),
        ({"latent": "K"}, ValueError, "latent is 'K'; the hidden variables are"),
    ],
)
def test_what_cannot_be_related_is_refused(learner, table, options, error, message):
    table = table.assign(
        constant=1.0,
        twice=2 * table["age"],
        infinite=np.where(table.index == 3, np.inf, table["age"]),
        empty=np.nan,
        many=[f"person {at}" for at in table.index],
    )
    options = {"z": "age", **options}
    with pytest.raises(error, match=message):
        relate(learner, table, options.pop("z"), **options)


def test_tables_and_models_that_do_not_fit_are_refused(learner, table):
    with pytest.raises(TypeError, match="table is of type list; give a DataFrame"):
        relate(learner, [[1, 2]], "age")
    with pytest.raises(DataError, match=r"table lacks columns of the model: \['a'\]"):
        relate(learner, table.drop(columns="a"), "age")
    with pytest.raises(ValueError, match="has a single state"):
        relate(class_model(PROFILES[:, :1]), table, "age")
    impossible = class_model(np.array([[[1.0, 0.0], [1.0, 0.0]], *PROFILES[1:]]))
    with pytest.raises(ImpossibleRowError, match="rules out some rows"):
        relate(impossible, table, "age")
    network = LatentNetwork(
        ["g", "H", *ITEMS], [[0, 1]] * 7, [(), (0,), *[(1,)] * 5], [False, True, *[False] * 5],
        [[[0.5, 0.5]], [[0.5, 0.5]] * 2, *PROFILES],
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"the class 'H' has the parents \['g'\]"):
        relate(network, table.assign(g=0), "age")


def test_covariates_of_a_person_are_checked(learner, table):
    found = relate(learner, table, ["age", "sex"], steps=2)
    for person, message in [
        ({"age": 1.0}, r"z has no value for \['sex'\]"),
        ({"age": 1.0, "sex": "d"}, r"z has 'd' for 'sex'; give one of \['f', 'm'\]"),
        ({"age": "old", "sex": "f"}, "z has 'old' for 'age'; give a number"),
        ({"age": np.nan, "sex": "f"}, "z has no value for 'age'"),
        (3.0, "give a dict with a value for each"),
    ]:
        with pytest.raises(DataError, match=message):
            found.model_at(person)
    with pytest.raises(DataError, match="z has 2 rows; give the covariates of one person"):
        found.model_at(table[["age", "sex"]].head(2))
    with pytest.raises(ValueError, match="covariate is 'height'; give one of"):
        found.class_sizes("height")


def test_classes_that_nothing_is_assigned_to_are_refused(table):
    from pgmpy_latent.relations.evidence import Method
    from pgmpy_latent.relations.rows import related_rows
    from pgmpy_latent.relations.step_one import StepOne

    rows = related_rows(class_model(), table, "age", None)
    step_one = StepOne.fitted(rows)
    alike = [np.array([[0.9, 0.1]]), *[np.array([[0.6, 0.4], [0.55, 0.45]])] * 5]
    step_one = StepOne(step_one.engine, step_one.node, step_one.engine.layout.pack(alike))
    for correction in ("ml", "bch"):
        with pytest.raises(DataError, match="wrong assignments cannot be corrected for; use steps=2"):
            Method(step_one, 3, correction, "modal", rows.weights, with_sizes=False).check()
    Method(step_one, 3, None, "modal", rows.weights, with_sizes=False).check()


@pytest.mark.parametrize("seed", [0, 1])
def test_more_starts_keep_the_order_of_classes(learner, table, seed):
    one = relate(learner, table, "age", steps=1)
    many, again = (
        relate(learner, table, "age", steps=1, n_starts=6, random_state=seed, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert many.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-5)
    assert values_and_errors(many)[0] == pytest.approx(values_and_errors(one)[0], abs=1e-3)
    pd.testing.assert_frame_equal(many.coefficients, again.coefficients)


def test_a_covariate_that_tells_classes_apart_is_pointed_out(learner, table):
    likeliest = posterior(learner.tree_, table[ITEMS]).to_numpy().argmax(axis=1)
    with pytest.warns(UserWarning, match="grow tells some class apart without error"):
        relate(learner, table.assign(grow=likeliest.astype(float)), "grow", correction=None)


WAYS = [{"steps": 1}, {"steps": 2}, {}, {"correction": "bch"}, {"correction": None}]


@pytest.fixture(scope="module")
def regions(table, learner):
    """Nobody in the west is in the second class."""
    likely = posterior(learner.tree_, table[ITEMS]).to_numpy()[:, 1]
    west = (likely < 0.01) & (np.arange(len(table)) % 2 == 0)
    return table.assign(region=np.where(west, "west", np.where(np.arange(len(table)) % 3 == 0, "south", "north")))


@pytest.mark.parametrize("way", WAYS)
def test_a_category_without_some_class_is_named_and_the_others_have_their_errors(learner, regions, way):
    with pytest.warns(UserWarning, match=r"region='west' and class . do not occur together") as told:
        found = relate(learner, regions, ["region", "age"], **way)
    assert len(told) == 1, [str(warning.message) for warning in told]
    rows = found.coefficients.set_index(["covariate", "category"])
    assert rows.index[np.isnan(rows["standard_error"])].tolist() == [("region", "west")]
    assert np.isnan(found.tests.loc[["region", "(all)"], ["wald", "p_value"]]).all(axis=None)
    assert found.tests["df"].tolist() == [2, 1, 3]
    assert np.isfinite(found.tests.loc["age", "wald"])
    if way.get("correction", "ml") != "bch":
        assert found.tests.loc["region", "lr_p_value"] < 0.001
    assert np.isfinite(found.class_sizes("region").select_dtypes("number")).all(axis=None)


@pytest.mark.parametrize("first", ["west", "north"])
def test_the_first_category_may_be_the_one_that_lacks_a_class(learner, regions, first):
    order = [first, *sorted({"west", "north", "south"} - {first})]
    z = pd.Series(pd.Categorical(regions["region"], order), name="region")
    with pytest.warns(UserWarning, match="region='west' and class"):
        found = relate(learner, regions, z, steps=2)
    lost = found.coefficients["standard_error"].isna()
    assert lost.sum() == (3 if first == "west" else 1)
    with pytest.warns(UserWarning, match="region='west' and class"):
        other = relate(learner, regions, "region", steps=2)
    assert found.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-5)
    assert found.tests["lr_p_value"].to_numpy() == pytest.approx(other.tests["lr_p_value"].to_numpy(), rel=1e-3)


def test_huge_odds_ratios_are_printed_as_powers_of_ten(learner, table):
    likely = posterior(learner.tree_, table[ITEMS]).to_numpy().argmax(axis=1)
    with pytest.warns(UserWarning, match="grow tells some class apart without error"):
        found = relate(learner, table.assign(grow=likely.astype(float)), "grow")
    assert max(map(len, repr(found).splitlines()[2:])) < 130
    assert found.coefficients["standard_error"].isna().all()


@pytest.mark.parametrize(("steps", "kind"), [(1, "covariate"), (2, "covariate"), (2, "outcome")])
def test_weights_of_bch_are_for_three_steps(learner, table, steps, kind):
    with pytest.raises(ValueError, match=rf"correction is 'bch' and steps is {steps}; .* give steps=3"):
        relate(learner, table, "age", kind, steps, "bch")


# Rows that say nothing, and units -----------------------------------------------------------------


def drawn_survey(n=400):
    rng = np.random.default_rng(3)
    age = rng.normal(size=n)
    high = rng.random(n) < 1 / (1 + np.exp(-age))
    items = {f"q{at}": (rng.random(n) < np.where(high, 0.85, 0.15)).astype(float) for at in range(4)}
    return pd.DataFrame({**items, "age": age, "noise": rng.normal(size=n)})


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_rows_of_codes_and_rows_without_weight_are_left_out(steps):
    table = drawn_survey()
    table["group"] = np.where(np.arange(400) % 2, "a", "b")
    table["w"] = 1.0
    table.loc[:9, ["q0", "q1", "q2", "q3"]] = 9.0
    table.loc[10:14, "w"], table.loc[10:14, "group"] = 0.0, "zz"
    learner = RandomStarts(n_states=2, random_state=0, show_progress=False)
    learner.fit(table[["q0", "q1", "q2", "q3"]], missing=9)
    found = relate(learner, table, ["age", "group"], steps=steps, sample_weight="w", weight_kind="frequency")
    assert (found.n_rows, found.n_rows_left_out) == (385, 15)
    bare = table.iloc[15:]
    expected = relate(learner, bare, ["age", "group"], steps=steps)
    np.testing.assert_allclose(found.coefficients["estimate"], expected.coefficients["estimate"], atol=1e-5)
    np.testing.assert_array_equal(found.tests["df"], expected.tests["df"])


def test_tests_do_not_depend_on_units():
    table = drawn_survey()
    learner = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table[["q0", "q1", "q2", "q3"]])
    found = relate(learner, table, ["age", "noise"], steps=2).tests
    for name in ("age", "noise"):
        scaled = relate(learner, table.assign(**{name: 1e6 * table[name]}), ["age", "noise"], steps=2).tests
        pd.testing.assert_frame_equal(found, scaled, rtol=1e-4)


def test_what_refits_a_model_refuses_restricted_ones():
    from pgmpy_latent import add_direct_effects, direct_effects, residuals, standard_errors

    table = drawn_survey()[["q0", "q1", "q2", "q3"]]
    network = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table).model_
    fitted = TreeEM(tied=[["q0", "q1"]], seed=0, show_progress=False).fit(network, table)
    calls = (add_direct_effects, direct_effects, standard_errors, partial(residuals, n_bootstrap=5))
    for call in calls:
        with pytest.raises(ValueError, match=r"fitted with tied, which .* does not keep"):
            call(fitted, table)


# Progress and Ctrl-C ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "z", "steps", "n_told"), [("covariate", ["age", "sex"], 1, 5),
                                                            ("covariate", ["age", "sex"], 3, 5),
                                                            ("outcome", "income", 3, 2)])  # fmt: skip
def test_a_bar_shows_how_far_it_is(learner, table, kind, z, steps, n_told, monkeypatch, capsys):
    monkeypatch.setattr("pgmpy_latent.relations.relate.PROGRESS_DELAY", 0.0)
    relate(learner, table, z, kind, steps=steps, show_progress=False)
    assert capsys.readouterr().err == ""
    relate(learner, table, z, kind, steps=steps)
    shown = capsys.readouterr().err
    assert f"/{n_told} [" in shown


@pytest.mark.parametrize("steps", [1, 2])
def test_ctrl_c_gives_no_half_finished_figures(learner, table, steps, monkeypatch):
    from dataclasses import replace

    from pgmpy_latent.em import fit as em

    fit = em.fit
    monkeypatch.setattr(em, "fit", lambda *args, **options: replace(fit(*args, **options), interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        relate(learner, table, "age", steps=steps)


@pytest.mark.parametrize("kind", ["covariate", "outcome"])
def test_values_that_look_like_codes_are_warned_of(table, kind):
    rng = np.random.default_rng(0)
    coded = table.assign(years=rng.integers(18, 81, len(table)), answer=rng.choice(["no", "yes"], len(table)))
    relate_years = partial(relate, class_model(), z="years", kind=kind, show_progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingCodeWarning)
        relate_years(coded)
    coded.loc[::5, "years"] = 99
    coded.loc[::7, "answer"] = "refused"
    said = r"taken as they are: 99 in column 'years'. If they are codes, make them missing before, as x\.mask"
    with pytest.warns(MissingCodeWarning, match=said):
        relate_years(coded)
    with pytest.warns(MissingCodeWarning, match="'refused' in column 'answer'"):
        relate(class_model(), coded, "answer", kind, show_progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingCodeWarning)
        found = relate_years(coded.assign(years=coded["years"].mask(coded["years"].isin([99]))))
    assert found.n_rows_left_out == len(coded.loc[::5])
