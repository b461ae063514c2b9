"""Relations of classes with covariates and outcomes in tables that others have published on."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, relate


@pytest.fixture(scope="module")
def cheating(data_folder):
    table = pd.read_csv(data_folder / "lca_cheating.csv")
    return RandomStarts(n_states=2, random_state=0).fit(table.drop(columns="GPA")), table


@pytest.fixture(scope="module")
def abortion(data_folder):
    table = pd.read_csv(data_folder / "lca_gss08.csv")
    table["female"] = (table["SEX"] == "FEMALE").astype(int)
    return RandomStarts(n_states=3, random_state=0).fit(table.iloc[:, :6]), table


def slope(found, name, of=None):
    rows = found.coefficients[found.coefficients["covariate"] == name]
    return float((rows if of is None else rows[rows["class"] == of])["estimate"].iloc[0])


@pytest.mark.parametrize(
    ("steps", "correction", "expected"),
    [(1, "ml", -0.84248), (2, "ml", -0.80989), (3, None, -0.46283), (3, "bch", -0.71436), (3, "ml", -0.70314)],
)
def test_grades_predict_cheating(cheating, steps, correction, expected):
    found = relate(*cheating, "GPA", steps=steps, correction=correction)
    assert slope(found, "GPA") == pytest.approx(expected, abs=1e-4)  # of the smaller class against the larger
    assert (found.n_rows, found.n_rows_left_out) == (315, 4)
    assert found.network.table("H")[0].argmax() == list(found.classes).index(found.reference)
    if steps == 1:
        assert found.log_likelihood == pytest.approx(-429.6384, abs=1e-4)
        assert found.n_parameters == 10


@pytest.mark.parametrize(
    ("steps", "correction", "expected"),
    [(2, "ml", [2.51602, 1.41145]), (3, "bch", [2.46255, 1.62576]), (3, "ml", [2.51992, 1.35424])],
)
def test_grades_by_class(cheating, steps, correction, expected):
    found = relate(*cheating, "GPA", "outcome", steps, correction)
    assert found.family == "normal"
    assert found.means["mean"].to_numpy() == pytest.approx(expected, abs=1e-4)
    assert (found.n_rows, found.n_rows_left_out) == (315, 4)


def test_bch_weights_are_negative_for_some_rows(cheating):
    from pgmpy_latent.relations.evidence import Method
    from pgmpy_latent.relations.rows import related_rows
    from pgmpy_latent.relations.step_one import StepOne

    rows = related_rows(*cheating, "GPA", None)
    step_one = StepOne.fitted(rows)
    method = Method(step_one, 3, "bch", "modal", rows.weights, with_sizes=False)
    weights = method.evidence(step_one.tables).weights
    assert weights.min() == pytest.approx(-0.23, abs=0.005)
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(weights)))


def test_a_learner_of_all_rows_gives_what_one_of_the_rows_with_z_gives(cheating):
    _, table = cheating
    table = table.dropna()
    learner = RandomStarts(n_states=2, random_state=1).fit(table.drop(columns="GPA"))
    assert slope(relate(learner, table, "GPA", steps=2), "GPA") == pytest.approx(-0.80989, abs=1e-4)


def test_age_predicts_the_way_of_balancing(data_folder):
    table = pd.read_csv(data_folder / "lca_balance.csv")
    learner = RandomStarts(n_states=3, random_state=0).fit(table[["d1", "d2", "d3", "d4"]])
    found = relate(learner, table, "age", steps=1)
    assert found.log_likelihood == pytest.approx(-917.533, abs=1e-3)
    assert found.n_parameters == 16
    assert found.tests.loc["age", "lr_p_value"] < 1e-10


def test_degree_and_sex_predict_opinions(abortion):
    learner, table = abortion
    yes = learner.tree_.tables[learner.tree_.index("POOR")][:, 1]  # of the states NO, YES
    no_class = int(yes.argmin())
    found = relate(learner, table, ["DEGREE", "female"], steps=1, reference=no_class)
    assert found.log_likelihood == pytest.approx(-666.7097, abs=1e-4)
    assert (found.n_parameters, found.n_rows, found.n_rows_left_out) == (28, 352, 3)
    assert slope(found, "female", int(yes.argmax())) == pytest.approx(-1.11400, abs=1e-4)
    middle = ({0, 1, 2} - {no_class, int(yes.argmax())}).pop()
    assert slope(found, "female", middle) == pytest.approx(-1.03064, abs=1e-4)
    # the likelihood-ratio tests compare with the published log-likelihoods of the smaller models
    assert found.tests.loc["female", "likelihood_ratio"] == pytest.approx(2 * (672.414 - 666.7097), abs=2e-3)
    assert found.tests.loc["(all)", "likelihood_ratio"] == pytest.approx(2 * (687.4486 - 666.7097), abs=1e-3)


def test_degree_alone_predicts_opinions(abortion):
    found = relate(*abortion, "DEGREE", steps=1, n_starts=5)
    assert found.log_likelihood == pytest.approx(-672.414, abs=1e-3)
    assert found.n_parameters == 26
