"""Columns of weights, strata and clusters: every function that takes weights reads them, in every kind of table."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import pgmpy_latent
from pgmpy_latent import (
    HLTA,
    Baseline,
    BinG,
    RandomStarts,
    TreeEM,
    average_posteriors,
    classification_table,
    encode,
    encode_chunks,
    plotting,
    residuals,
    scores,
    standard_errors,
    support,
    unusual_rows,
)
from pgmpy_latent.exceptions import DataError, DesignWarning, WeightError, WeightKindWarning
from tests.tables.test_survey import QUIET, answers, kish, people

KEYWORDS = ("weight_kind", "strata", "cluster")
DESIGN = {"sample_weight": "w", "strata": "region", "cluster": "village"}
POSITIONS = {"sample_weight": 4, "strata": 5, "cluster": 6}


def as_array(frame):
    """Return the table as numbers, its columns in the same places."""
    return frame.assign(region=(frame["region"] == "north").astype(float)).to_numpy(float)


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def fitted(frame):
    return RandomStarts(n_states=2, tol=1e-10, **QUIET).fit(frame, **DESIGN)


# --- Which functions take the keywords -----------------------------------------------------------------------


#: Standard errors of Gaussian trees do not take strata and clusters into account, and they draw no bootstrap tables.
WITHOUT_DESIGN = "Gaussian"


def takers_of_weights():
    """Return every public function, and every method of a public class, that takes weights."""
    found = {}
    for module in (pgmpy_latent, scores, plotting):
        for name in module.__all__:
            member = getattr(module, name)
            known = [one for one in dir(member) if not one.startswith("_") and hasattr(member, one)]
            methods = known if inspect.isclass(member) else []
            found |= {f"{name}.{one}": getattr(member, one) for one in methods} | {name: member}
    found = {what: call for what, call in found.items() if callable(call) and not inspect.isclass(call)}
    found = {what: call for what, call in found.items() if not what.startswith(WITHOUT_DESIGN)}
    takers = {what: call for what, call in found.items() if "sample_weight" in inspect.signature(call).parameters}
    return [pytest.param(call, id=what) for what, call in takers.items()]


@pytest.mark.parametrize("call", takers_of_weights())
def test_whoever_takes_weights_takes_how_rows_were_drawn(call):
    parameters = inspect.signature(call).parameters
    further = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    assert further or {*KEYWORDS} <= {*parameters}


def test_constructors_take_none_of_them():
    for name in pgmpy_latent.__all__:
        member = getattr(pgmpy_latent, name)
        if inspect.isclass(member) and issubclass(member, BaseEstimator):
            assert not {"sample_weight", *KEYWORDS} & {*inspect.signature(member).parameters}


# --- Names of columns ------------------------------------------------------------------------------------------


def test_columns_of_arrays_are_named_by_position(frame, fitted):
    array = as_array(frame)
    learner = RandomStarts(n_states=2, tol=1e-10, **QUIET).fit(array, **POSITIONS)
    assert learner.design_ == POSITIONS
    assert learner.n_features_in_ == 4
    mean = fitted.score(frame, **DESIGN)
    for score in (
        learner.score(array, **POSITIONS),
        learner.score(array, **POSITIONS, weight_kind="frequency"),
        learner.score(array[:, :4], sample_weight=frame["w"]),
        fitted.score(array, **POSITIONS),
    ):
        assert score == pytest.approx(mean, rel=1e-12)
    assert learner.score(array) == pytest.approx(fitted.score(frame), rel=1e-12)  # rows count alike
    assert learner.predict(array).equals(learner.predict(array[:, :4]))
    wanted = standard_errors(fitted, frame, **DESIGN)["standard_error"]
    np.testing.assert_allclose(standard_errors(learner, array, **POSITIONS)["standard_error"], wanted, rtol=1e-9)
    np.testing.assert_allclose(standard_errors(learner, array)["standard_error"], wanted, rtol=1e-9)


def test_weights_may_be_the_first_column_of_an_array(frame):
    array = frame[["w", *"abcd"]].to_numpy()
    learner = RandomStarts(n_states=2, **QUIET).fit(array, sample_weight=0)
    wanted = RandomStarts(n_states=2, **QUIET).fit(answers(frame), sample_weight=frame["w"])
    assert learner.score(array, sample_weight=0) == pytest.approx(wanted.score(frame, sample_weight="w"), rel=1e-9)
    assert residuals(learner, array)["n"].max() == pytest.approx(kish(frame["w"]))
    learner.partial_fit(array[:100], sample_weight=0)
    wanted.partial_fit(frame[:100], sample_weight="w")
    np.testing.assert_allclose(learner.tree_.table("H"), wanted.tree_.table("H"), rtol=1e-9)


def test_positions_that_an_array_lacks(frame, fitted):
    with pytest.raises(WeightError, match=r"no column 9, which sample_weight names; it has 0, 1"):
        fitted.score(as_array(frame), sample_weight=9)
    with pytest.raises(DataError, match="no column 'village', which cluster names"):
        fitted.score(as_array(frame), cluster="village")
    with pytest.raises(DataError, match="X has 7 features, but RandomStarts is expecting 4"):
        RandomStarts(n_states=2, **QUIET).fit(answers(frame)).score(as_array(frame))


def test_names_may_be_tuples(frame, fitted):
    table = frame.set_axis(pd.MultiIndex.from_tuples([("wave 1", name) for name in frame.columns]), axis=1)
    design = {what: ("wave 1", name) for what, name in DESIGN.items()}
    learner = RandomStarts(n_states=2, tol=1e-10, **QUIET).fit(table, **design)
    assert learner.design_ == design
    assert learner.tree_.observed_names == tuple(("wave 1", name) for name in "abcd")
    assert learner.score(table, **design) == pytest.approx(fitted.score(frame, **DESIGN), rel=1e-9)
    wanted = standard_errors(fitted, frame, **DESIGN)["standard_error"]
    np.testing.assert_allclose(standard_errors(learner, table)["standard_error"], wanted, rtol=1e-6)
    pieces = encode_chunks(iter([table[:100], table[100:]]), **design)
    assert pieces.total_weight == pytest.approx(encode(frame, **DESIGN).total_weight)
    weights = tuple(frame["w"])  # a tuple of values is no name
    assert encode(answers(frame), sample_weight=weights).total_weight == pytest.approx(kish(weights))


def test_a_name_that_two_columns_have_is_refused(frame):
    twice = pd.concat([frame, frame[["w"]]], axis=1)
    with pytest.raises(WeightError, match="sample_weight: two columns are called 'w'; give every column"):
        encode(twice, sample_weight="w")


def test_score_depends_on_neither_kind_nor_scale(frame, fitted):
    weighted = fitted.score(frame, sample_weight="w")
    assert fitted.score(frame, sample_weight=frame["w"] * 1000, weight_kind="frequency") == pytest.approx(weighted)
    assert fitted.score(frame, **DESIGN, weight_kind="sampling") == pytest.approx(weighted)
    assert weighted != pytest.approx(fitted.score(frame))
    with pytest.raises(ValueError, match="weight_kind is 'survey'"):
        fitted.score(frame, sample_weight="w", weight_kind="survey")
    with pytest.raises(ValueError, match="pgmpy's metrics take no weights; leave strata and cluster out"):
        fitted.score(true_graph=fitted.model_, strata="region", cluster="village")
    with pytest.raises(DataError, match=r"cluster has shape \(2,\)"):
        fitted.score(frame, cluster=[1, 2])


def test_new_rows_have_weights_of_the_same_kind(frame):
    counted = frame.assign(w=np.ceil(frame["w"] * 9))
    learner = RandomStarts(n_states=2, **QUIET)
    learner.fit(counted, sample_weight="w", cluster="village", strata="region", weight_kind="sampling")
    other = RandomStarts(n_states=2, **QUIET)
    other.fit(counted, sample_weight="w", cluster="village", strata="region", weight_kind="sampling")
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeightKindWarning)
        learner.partial_fit(counted[:150], **DESIGN)
    other.partial_fit(counted[:150], **DESIGN, weight_kind="sampling")
    np.testing.assert_array_equal(learner.tree_.table("H"), other.tree_.table("H"))


@pytest.mark.parametrize("dense_weights", [True, False])
def test_sparse_frames_name_columns(dense_weights):
    rng = np.random.default_rng(0)
    ones = (rng.random((200, 6)) < rng.choice([0.2, 0.7], (200, 1))).astype(int)
    table = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(ones), columns=list("abcdef"))
    weights = rng.lognormal(0, 0.5, 200)
    named = table.assign(w=weights if dense_weights else pd.arrays.SparseArray(weights, fill_value=0.0))
    learner = HLTA(**QUIET).fit(named, sample_weight="w")
    wanted = HLTA(**QUIET).fit(table, sample_weight=weights)
    assert learner.tree_ == wanted.tree_
    assert learner.score(named, sample_weight="w") == pytest.approx(wanted.score(table, sample_weight=weights))
    assert learner.predict(named).equals(wanted.predict(table))
    learner.partial_fit(named, sample_weight="w")
    assert not learner.tree_.table(learner.latents_[0]).flags.writeable


# --- What a learner remembers ------------------------------------------------------------------------------------


def test_functions_read_the_columns_of_fit_again(frame, fitted):
    assert fitted.design_ == DESIGN
    for ask in (standard_errors, residuals, classification_table, average_posteriors):
        wanted = ask(fitted, frame, **DESIGN)
        pd.testing.assert_frame_equal(ask(fitted, frame), wanted)
        pd.testing.assert_frame_equal(ask(fitted, frame, strata="region"), wanted)
    alone = standard_errors(fitted.tree_, frame, sample_weight="w")  # a model remembers nothing
    assert not np.allclose(alone["standard_error"], standard_errors(fitted, frame)["standard_error"])
    other = frame.assign(other=frame["w"] ** 2)
    assert residuals(fitted, other, sample_weight="other")["n"].max() == pytest.approx(kish(other["other"]))


def test_support_draws_as_fit_was_told(frame):
    table = pd.concat([frame, answers(people(seed=0)).add_suffix("2")], axis=1)
    table["a2"], table["b2"] = frame["a"], frame["b"]
    learner = BinG(**QUIET).fit(table, **DESIGN)
    options = {"n_bootstrap": 5, "show_progress": False}
    pd.testing.assert_frame_equal(support(learner, table, **options), support(learner, table, **DESIGN, **options))
    with pytest.warns(DesignWarning, match="fitted with sample_weight, strata and cluster"):
        support(learner, table.drop(columns=list(DESIGN.values())), **options)


def test_estimators_of_parameters_remember_too(frame, fitted):
    estimator = TreeEM(latent_card=2, seed=0, atol=1e-9, show_progress=False).fit(fitted.model_, frame, **DESIGN)
    wanted = standard_errors(fitted, frame, **DESIGN)["standard_error"]
    np.testing.assert_allclose(standard_errors(estimator, frame)["standard_error"], wanted, rtol=1e-3)


@pytest.mark.parametrize(
    ("given", "lost"),
    [
        (
            {},
            "sample_weight, strata and cluster, and nothing here says what they are.* Give sample_weight=, strata= and",
        ),
        (
            {"sample_weight": "w", "strata": "region"},
            "cluster, and nothing here says what it is.* Give cluster= as in fit",
        ),
    ],
)
def test_what_is_not_given_again_is_missed(frame, given, lost):
    values = {what: frame[name] for what, name in DESIGN.items()}
    learner = RandomStarts(n_states=2, **QUIET).fit(answers(frame), **values)
    assert learner.design_ == dict.fromkeys(DESIGN)
    with pytest.warns(DesignWarning, match=f"this RandomStarts was fitted with {lost}"):
        found = residuals(learner, frame, **given)
    assert found["n"].max() == pytest.approx(kish(frame["w"]) if given else len(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DesignWarning)
        residuals(learner, frame, **values)
        residuals(learner.tree_, frame, **given)


def test_a_frame_without_the_columns_is_missed(frame, fitted):
    with pytest.warns(DesignWarning, match="fitted with strata and cluster"):
        residuals(fitted, frame[[*"abcd", "w"]])
    with pytest.warns(DesignWarning, match="fitted with sample_weight, strata and cluster"):
        residuals(fitted, answers(frame).to_numpy())


def test_encoded_tables_bring_their_own_design(frame, fitted):
    encoded = encode(frame, **DESIGN)
    learner = RandomStarts(n_states=2, tol=1e-10, **QUIET).fit(encoded)
    assert learner.design_ == dict.fromkeys(DESIGN)
    wanted = standard_errors(fitted, frame, **DESIGN)
    for model in (learner, fitted):
        pd.testing.assert_frame_equal(standard_errors(model, encoded), wanted, rtol=1e-6)
    with pytest.warns(DesignWarning, match="fitted with strata and cluster"):
        residuals(learner, encode(frame[[*"abcd", "w"]], sample_weight="w"))


def test_single_rows_are_what_they_are_whatever_they_weigh(frame, fitted):
    light = frame.assign(w=np.where(np.arange(len(frame)) < 150, 0.0, frame["w"]))
    assert len(unusual_rows(fitted, light, n=300)) == 300


def test_reports_on_the_same_table_are_about_the_same_rows(frame, fitted, tmp_path):
    fitted.report(tmp_path / "own.html")
    fitted.report(tmp_path / "given.html", frame)
    for page in ("own", "given"):
        text = (tmp_path / f"{page}.html").read_text(encoding="utf-8")
        assert f"effective number of rows is {kish(frame['w']):.1f}" in text
        assert "in 24 clusters from 2 strata" in text


# --- What contradicts itself ------------------------------------------------------------------------------


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=list("abc"))
    return table.assign(w=rng.lognormal(0, 0.5, 60), n=rng.integers(1, 3, 60))


@pytest.mark.parametrize("kind", ["sampling", "frequency"])
def test_a_kind_without_weights_is_refused(drawn, kind):
    words = f"weight_kind is '{kind}', but there are no weights; give sample_weight"
    for fit in (
        lambda: RandomStarts(n_states=1).fit(drawn[["a", "b"]], weight_kind=kind),
        lambda: RandomStarts(n_states=1).fit(encode(drawn[["a", "b"]]), weight_kind=kind),
        lambda: encode_chunks(iter([drawn[["a", "b"]]]), weight_kind=kind),
    ):
        with pytest.raises(WeightError, match=words):
            fit()
    encode(encode(drawn, sample_weight="n", weight_kind="frequency"), weight_kind="frequency")


@pytest.mark.parametrize("what", ["strata", "cluster"])
def test_a_column_cannot_be_weights_and_units(drawn, what):
    words = "column 'n' is named by two of sample_weight, strata and cluster"
    with pytest.raises(DataError, match=words):
        encode(drawn, sample_weight="n", **{what: "n"})
    with pytest.raises(DataError, match=words):
        encode_chunks(iter([drawn]), sample_weight="n", **{what: "n"})


@pytest.mark.parametrize("weights", [[5e-324] * 4, [5e-324, 1e-323, 5e-324, 5e-324]])
def test_weights_too_small_to_be_scaled_are_refused(weights):
    with pytest.raises(WeightError, match=r"sample_weight sums to .*, too little to divide by; scale the weights up"):
        encode(np.array([[0], [1], [0], [1]]), sample_weight=weights)
    encode(np.array([[0], [1], [0], [1]]), sample_weight=[1e-280, 1e-280, 2e-280, 1e-280], weight_kind="sampling")


def test_updates_keep_to_the_kind_of_weights(drawn):
    columns = ["a", "b", "c", "w"]
    learner = RandomStarts(n_states=2, n_starts=2, random_state=0).fit(drawn[columns], sample_weight="w")
    with pytest.raises(WeightError, match="weight_kind is 'frequency', but fit was given sampling weights"):
        learner.partial_fit(drawn, sample_weight="n", weight_kind="frequency")
    with pytest.warns(DesignWarning, match="fit was given sampling weights, and these rows have none"):
        learner.partial_fit(drawn)
    learner.partial_fit(drawn, sample_weight="w")  # warnings are errors here


@pytest.mark.parametrize("what", ["sample_weight", "strata", "cluster"])
def test_a_series_in_another_order_of_the_rows_is_refused(what):
    table = pd.DataFrame({"x": list("abab"), "y": list("aabb")}, index=[3, 1, 4, 5])
    values = pd.Series([1.0, 2.0, 3.0, 1.0], index=table.index)
    turned, error = values.iloc[::-1], WeightError if what == "sample_weight" else DataError
    said = rf"{what} has the index of the table in another order.* say {what}\.loc\[X\.index\] .* {what}\.to_numpy\(\)"
    with pytest.raises(error, match=said):
        encode(table, **{what: turned})
    learner = Baseline("independence")
    with pytest.raises(error, match=said):
        learner.fit(table, **{what: turned})
    learner.fit(table)
    with pytest.raises(error, match=said):
        learner.score(table, **{what: turned})
    expected = encode(table, **{what: values})
    for same in (turned.loc[table.index], values.to_numpy(), values.reset_index(drop=True)):
        assert encode(table, **{what: same}).weights.tolist() == expected.weights.tolist()
    by_position = encode(table, **{what: turned.to_numpy()})
    for labels in ([0, 1, 2, 3], [3, 3, 4, 5]):
        again = encode(table, **{what: turned.set_axis(labels)})
        assert again.weights.tolist() == by_position.weights.tolist()


def test_rows_that_share_labels_have_no_order_to_align_to():
    table = pd.DataFrame({"x": list("abab")}, index=[1, 1, 2, 3])
    weights = pd.Series([1.0, 2.0, 3.0, 1.0], index=[1, 2, 1, 3])
    with pytest.raises(WeightError, match="put it into the order of the table, or sample_weight"):
        encode(table, sample_weight=weights)
