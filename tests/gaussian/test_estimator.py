"""GaussianTreeEM as a parameter estimator of pgmpy's."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.models import LinearGaussianBayesianNetwork
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import GaussianTree, GaussianTreeEM, gaussian, to_pgmpy
from pgmpy_latent.exceptions import AbsentColumnError, CodesAsNumbersWarning, DataError, NotATreeError, WeightError
from tests.support import reference_gaussian as reference
from tests.support.gaussian_samples import THREE, drawn


def three():
    network = LinearGaussianBayesianNetwork(to_pgmpy(THREE).edges())
    network.latents = {"G", "F1", "F2", "F3"}
    return network


def fitted(rows, **options):
    weights = {name: options.pop(name) for name in ("sample_weight", "weight_kind") if name in options}
    return GaussianTreeEM(**{"seed": 0, "show_progress": False, **options}).fit(three(), rows, **weights)


@pytest.mark.parametrize("gaps", [0.0, 0.05])
def test_a_fit_reports_what_it_found(gaps):
    rows = drawn(gaps=gaps)
    found = fitted(rows)
    assert found.converged_
    assert found.n_parameters_ == 2 * 9 + 12
    assert found.log_likelihood_ == pytest.approx(reference.log_likelihood(found.tree_, rows.to_numpy()), rel=1e-9)
    assert found.bic_ == pytest.approx(found.log_likelihood_ - 15 * np.log(len(rows)))
    assert found.bic_ == pytest.approx(gaussian.bic(found.tree_, rows), rel=1e-9)
    assert found.log_likelihood_ > gaussian.log_likelihood(THREE, rows)
    assert [cpd.variable for cpd in found.parameters_] == list(found.tree_.names)
    np.testing.assert_allclose(found.tree_.correlations()[4:, 4:], THREE.correlations()[4:, 4:], atol=0.15)
    loadings = found.tree_.correlations()[:4, 4:]
    assert (loadings[np.arange(4), np.abs(loadings).argmax(axis=1)] > 0).all()


def test_the_network_of_pgmpy_gets_the_same_distribution():
    rows = drawn()
    network = three()
    estimator = GaussianTreeEM(seed=0, show_progress=False)
    network.fit(rows, estimator=estimator)
    assert network.check_model()
    assert gaussian.from_pgmpy(network).latent_names == estimator.tree_.latent_names
    mean, covariance = network.to_joint_gaussian()
    order = [estimator.tree_.index(name) for name in nx.topological_sort(network)]
    wanted_mean, wanted = reference.joint(estimator.tree_)
    np.testing.assert_allclose(mean, wanted_mean[order], atol=1e-6)
    np.testing.assert_allclose(covariance, wanted[np.ix_(order, order)], atol=1e-5)


def test_the_figures_of_nine_tests_of_pupils(data_folder):
    table = pd.read_csv(data_folder / "holzinger9.csv")[[f"x{at}" for at in range(1, 10)]]
    network = LinearGaussianBayesianNetwork(
        [("g", f"f{at}") for at in range(3)] + [(f"f{at // 3}", f"x{at + 1}") for at in range(9)],
        latents={"g", "f0", "f1", "f2"},
    )
    found = GaussianTreeEM(seed=0).fit(network, table)
    assert round(found.log_likelihood_, 3) == -3737.745
    assert found.n_parameters_ == 30
    assert round(found.bic_, 3) == -3823.352


@pytest.mark.parametrize("gaps", [0.0, 0.05])
def test_a_weight_equals_a_repeated_row(gaps):
    rows = drawn(150, gaps=gaps)
    weights = np.random.default_rng(0).integers(0, 4, len(rows))
    weighted = fitted(rows, sample_weight=weights, atol=1e-8)
    repeated = fitted(rows.iloc[np.repeat(np.arange(len(rows)), weights)], atol=1e-8)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-9)
    assert weighted.bic_ == pytest.approx(repeated.bic_, rel=1e-9)
    np.testing.assert_allclose(weighted.tree_.correlation, repeated.tree_.correlation, atol=1e-4)
    named = fitted(rows.assign(w=weights), sample_weight="w", atol=1e-8)
    assert named.log_likelihood_ == weighted.log_likelihood_
    sampling = fitted(rows, sample_weight=np.full(len(rows), 0.37), weight_kind="sampling")
    assert sampling.total_weight_ == pytest.approx(len(rows))
    assert sampling.log_likelihood_ == pytest.approx(fitted(rows).log_likelihood_, rel=1e-6)


@pytest.mark.parametrize("gaps", [0.0, 0.05])
def test_other_units_shift_the_likelihood_and_leave_the_correlations(gaps):
    rows = drawn(300, gaps=gaps)
    before = fitted(rows, atol=1e-8)
    changed = rows.assign(x2=-1000 * rows["x2"] + 7, x5=rows["x5"] / 250 - 3)
    after = fitted(changed, atol=1e-8)
    shift = rows["x2"].count() * np.log(1000) - rows["x5"].count() * np.log(250)
    assert after.log_likelihood_ == pytest.approx(before.log_likelihood_ - shift, rel=1e-9)
    np.testing.assert_allclose(np.abs(after.tree_.correlation), np.abs(before.tree_.correlation), atol=2e-4)
    at = after.tree_.index("x2")
    assert after.tree_.std[at] == pytest.approx(1000 * before.tree_.std[at], rel=1e-4)
    assert after.tree_.mean[at] == pytest.approx(-1000 * before.tree_.mean[at] + 7, rel=1e-3)


def test_em_may_begin_at_a_model_and_direction_does_not_matter():
    rows = drawn(300)
    plain, given = fitted(rows, atol=1e-8), fitted(rows, init=THREE, atol=1e-8)
    assert given.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-4)
    turned = LinearGaussianBayesianNetwork([("F1", "G"), ("G", "F2"), ("G", "F3"), ("x0", "F1")], latents=set("G"))
    for at in range(1, 9):
        turned.add_edge(f"F{at // 3 + 1}", f"x{at}")
    turned.latents = {"G", "F1", "F2", "F3"}
    other = GaussianTreeEM(seed=0, atol=1e-8).fit(turned, rows)
    assert other.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-4)
    again = GaussianTreeEM(init=plain.tree_, atol=1e-8).fit(turned, rows)
    assert again.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-4)
    with pytest.raises(DataError, match="init has other edges than the model"):
        GaussianTreeEM(init=with_other_edges()).fit(three(), rows)
    with pytest.raises(TypeError, match="init is a str; give a GaussianTree"):
        GaussianTreeEM(init="best").fit(three(), rows)


def with_other_edges():
    parent = THREE.parent.copy()
    parent[4] = 2
    return GaussianTree(THREE.names, parent, THREE.latent, THREE.correlation)


def test_the_same_seed_gives_the_same_model_and_columns_may_come_in_any_order():
    rows = drawn(200)
    assert fitted(rows).tree_ == fitted(rows[rows.columns[::-1]].assign(more=1.0)).tree_


def test_a_limit_ends_a_fit_early_with_a_model():
    rows = drawn(300)
    with pytest.warns(ConvergenceWarning, match="EM has made 3 iterations and has not converged"):
        found = fitted(rows, max_iter=3)
    assert not found.converged_
    assert found.log_likelihood_ == pytest.approx(gaussian.log_likelihood(found.tree_, rows), rel=1e-9)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the search"):
        stopped = fitted(rows, time_limit=1e-9)
    assert stopped.stopped_ == "time_limit"
    assert stopped.log_likelihood_ == pytest.approx(gaussian.log_likelihood(stopped.tree_, rows), rel=1e-9)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        (lambda t: t.assign(x1=np.inf), DataError, "column 'x1' is infinite in row 0"),
        (lambda t: t.assign(x1=3.0), DataError, "column 'x1' is constant"),
        (lambda t: t.assign(x1=np.nan), DataError, "column 'x1' has no value at all"),
        (lambda t: t.assign(x1="a"), DataError, "column 'x1' .* does not hold numbers"),
        (lambda t: t.assign(x1=t["x0"] > 0), DataError, "column 'x1' holds truth values"),
        (lambda t: t.assign(x1=t["x0"] * -3 + 1), DataError, "columns 'x0' and 'x1' are the same but for their units"),
        (lambda t: t.assign(x1=t["x0"] * 1e200), DataError, "too large or too close together"),
        (lambda t: t.drop(columns="x1"), AbsentColumnError, "the table has no column 'x1'"),
        (lambda t: t.head(0), DataError, "0 sample"),
        (lambda t: t.head(1), DataError, "at least 2 are required"),
    ],
)
def test_tables_from_which_nothing_can_be_learned_are_refused(changed, error, words):
    with pytest.raises(error, match=words):
        fitted(changed(drawn(40)))


def test_weights_are_checked():
    with pytest.raises(WeightError, match="sample_weight has shape"):
        fitted(drawn(40), sample_weight=np.ones(3))
    with pytest.raises(WeightError, match="weight_kind is 'sampling', but there are no weights"):
        fitted(drawn(40), weight_kind="sampling")


def test_whole_numbers_that_look_like_codes_are_pointed_out():
    rows = drawn(200)
    with pytest.warns(CodesAsNumbersWarning, match="'x1' holds the numbers 1, 2, 3 only"):
        fitted(rows.assign(x1=np.clip(rows["x1"].rank(pct=True) * 3 + 1, 1, 3).astype(int)))
    ages = np.random.default_rng(0).integers(18, 60, 200)
    with pytest.warns(CodesAsNumbersWarning, match="'x1' holds 999, which look like codes for missing"):
        fitted(rows.assign(x1=np.where(rows["x0"] > 0.5, 999, ages)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(rows.assign(x1=ages))


@pytest.mark.parametrize("code", [999, -99, 99])
def test_measurements_that_look_like_codes_are_pointed_out(code):
    rows = drawn(200)
    with pytest.warns(CodesAsNumbersWarning, match=f"'x1' holds {code}, which look like codes for missing"):
        fitted(rows.assign(x1=np.where(rows["x0"] > 0.5, code, rows["x1"])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(rows.assign(x1=np.append(rows["x1"][:-1], 9.0)))  # may be measured


def test_networks_that_cannot_be_fitted_are_refused():
    with pytest.raises(NotATreeError, match="node 'z' has parents"):
        GaussianTreeEM().fit(LinearGaussianBayesianNetwork([("x", "z"), ("y", "z")]), drawn(20))
    with pytest.raises(TypeError, match="expected a pgmpy LinearGaussianBayesianNetwork or DAG"):
        GaussianTreeEM().fit("x", drawn(20))
    with pytest.raises(DataError, match="all nodes of the model are hidden"):
        GaussianTreeEM().fit(LinearGaussianBayesianNetwork([("x", "z")], latents={"x", "z"}), drawn(20))
    with pytest.raises(TypeError, match="GaussianTreeEM calls it n_init"):
        GaussianTreeEM(n_starts=3)
