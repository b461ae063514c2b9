"""Survey weights, strata and clusters: what is estimated, how sure it is, and what is said about it."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from benchmarks import survey_weights as simulation
from pgmpy_latent import (
    EAST,
    HLTA,
    Baseline,
    BinG,
    LatentTree,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
    average_posteriors,
    classification_table,
    compare_classes,
    datasets,
    encode,
    encode_chunks,
    load,
    log_likelihood,
    mutual_information,
    residuals,
    sample,
    scores,
    standard_errors,
    support,
    to_pgmpy,
)
from pgmpy_latent.exceptions import DataError, WeightError, WeightKindWarning
from tests.support import reference

QUIET = {"random_state": 0, "show_progress": False}


def kish(weights):
    weights = np.asarray(weights, float)
    return weights.sum() ** 2 / (weights**2).sum()


def people(n=300, seed=0, missing=0.0):
    """Return four answers that two classes explain, survey weights, regions, and villages within them."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    frame = pd.DataFrame({name: np.where(rng.random(n) < 0.85, kind, 1 - kind) for name in "abcd"})
    if missing:
        frame = frame.astype(object).mask(rng.random(frame.shape) < missing)
    frame["w"] = rng.lognormal(0, 0.7, n)
    frame["region"] = rng.choice(["north", "south"], n)
    frame["village"] = rng.integers(0, 12, n)
    return frame


def answers(frame):
    return frame[list("abcd")]


# --- Kinds of weights -------------------------------------------------------------------------------------


def test_whole_numbers_are_frequencies_and_others_sampling_weights():
    frame = answers(people())
    assert encode(frame).weight_kind is None
    assert encode(frame, sample_weight=np.arange(300) % 4).weight_kind == "frequency"
    assert encode(frame, sample_weight=np.arange(300) % 4 + 0.5).weight_kind == "sampling"
    assert encode(frame, sample_weight=np.arange(300) % 4, weight_kind="sampling").weight_kind == "sampling"
    assert encode(frame, sample_weight=np.full(300, 0.5), weight_kind="frequency").total_weight == 150


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=12), st.floats(1e-3, 1e3), st.integers(1, 3))
def test_sampling_weights_sum_to_the_effective_number_of_rows(weights, factor, n_states):
    table = pd.DataFrame({"x": np.arange(len(weights)) % n_states})
    data = encode(table, sample_weight=weights, weight_kind="sampling")
    assert data.total_weight == pytest.approx(kish(weights), rel=1e-12)
    shares = np.bincount(table["x"], weights) / np.sum(weights)
    np.testing.assert_allclose(data.weights, shares * kish(weights), rtol=1e-12)
    again = encode(table, sample_weight=np.multiply(weights, factor), weight_kind="sampling")
    np.testing.assert_allclose(again.weights, data.weights, rtol=1e-12)


def test_weights_of_any_size_can_be_squared():
    table = pd.DataFrame({"x": [0, 1, 1]})
    large = encode(table, sample_weight=[1e300, 2e300, 3e300], weight_kind="sampling")
    assert large.total_weight == pytest.approx(36 / 14)


def test_the_order_of_rows_changes_no_bit():
    frame = people()
    order = np.random.default_rng(1).permutation(len(frame))
    here, there = (encode(one, sample_weight="w", columns=list("abcd")) for one in (frame, frame.iloc[order]))
    assert np.array_equal(here.weights, there.weights)


@pytest.mark.parametrize("learner", [SplitMerge(**QUIET), RandomStarts(**QUIET), EAST(**QUIET), BinG(**QUIET),
                                     Baseline(), StructuralEM(random_state=0, show_progress=False)],
                         ids=lambda one: type(one).__name__)  # fmt: skip
def test_learners_do_not_depend_on_the_scale(learner):
    frame = people()
    first = learner.fit(frame.drop(columns=["region", "village"]), sample_weight="w")
    figures = first.log_likelihood_, first.bic_, first.n_parameters_
    assert (first.weight_kind_, first.n_rows_) == ("sampling", 300)
    assert first.total_weight_ == pytest.approx(kish(frame["w"]))
    assert list(first.feature_names_in_) == list("abcd")
    again = learner.fit(answers(frame), sample_weight=frame["w"] * 1000, weight_kind="sampling")
    assert (again.log_likelihood_, again.bic_, again.n_parameters_) == pytest.approx(figures, rel=1e-9, abs=1e-9)


def test_weights_that_sum_to_one_find_no_more_classes_than_others():
    table = datasets.load_anes96().iloc[:, :5]
    weights = np.random.default_rng(0).lognormal(0, 1, len(table))
    found = [SplitMerge(**QUIET).fit(table, sample_weight=w).n_states_["H"] for w in (weights, weights / weights.sum())]
    assert found[0] == found[1] <= 3


def test_tree_em_and_pieces(tmp_path):
    frame = people(missing=0.1)
    network = to_pgmpy(RandomStarts(n_states=2, **QUIET).fit(answers(frame), sample_weight=frame["w"]).tree_)
    options = {"latent_card": 2, "n_init": 4, "seed": 0, "show_progress": False}
    whole = TreeEM(**options).fit(network, frame, sample_weight="w", strata="region", cluster="village")
    assert whole.weight_kind_ == "sampling"
    assert whole.total_weight_ == pytest.approx(kish(frame["w"]))
    pytest.importorskip("pyarrow")
    frame.astype({name: "Int64" for name in "abcd"}).to_parquet(tmp_path / "people.parquet", row_group_size=50)
    path = str(tmp_path / "people.parquet")
    pieces = TreeEM(**options).fit(network, path, sample_weight="w")
    shards = TreeEM(**options, memory_limit=100).fit(network, path, sample_weight="w")
    for one in (pieces, shards):
        assert one.total_weight_ == pytest.approx(whole.total_weight_)
        assert one.log_likelihood_ == pytest.approx(whole.log_likelihood_, abs=1e-6)
        assert (one.weight_kind_, one.n_rows_) == ("sampling", 300)


@pytest.mark.parametrize("options", [
    {"sample_weight": "w"}, {"sample_weight": "w", "strata": "region", "cluster": "village"}, {"cluster": "village"},
    {"strata": "region"}, {"sample_weight": "count", "strata": "region"},
    {"sample_weight": "count", "weight_kind": "sampling"},
], ids=str)  # fmt: skip
def test_pieces_say_what_the_whole_table_says(options):
    frame = people(missing=0.1).assign(count=np.arange(300) % 4)
    columns = list("abcd")
    whole = encode(frame, columns=columns, **options)
    parts = encode_chunks([frame.iloc[:70], frame.iloc[70:200], frame.iloc[200:]], columns=columns, **options)
    assert np.array_equal(whole.codes, parts.codes)
    np.testing.assert_allclose(parts.weights, whole.weights, rtol=1e-13)
    assert (parts.weight_kind, parts.n_rows) == (whole.weight_kind, int((frame["count"] > 0).sum() if "count" in
                                                 options.values() else 300))  # fmt: skip
    tree = RandomStarts(n_states=2, **QUIET).fit(whole).tree_
    first, second = (standard_errors(tree, data, method="sandwich") for data in (whole, parts))
    pd.testing.assert_frame_equal(first, second, rtol=1e-9)


def test_dask_frames():
    dask = pytest.importorskip("dask.dataframe")
    frame = people()
    whole = encode(frame, sample_weight="w", strata="region", cluster="village")
    parts = encode_chunks(dask.from_pandas(frame, npartitions=3), sample_weight="w", strata="region", cluster="village")
    assert parts.columns == whole.columns == tuple("abcd")
    np.testing.assert_allclose(parts.weights, whole.weights, rtol=1e-13)
    assert repr(parts) == repr(whole)


def test_sparse_tables():
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(rng.random((200, 6)) < 0.3)
    weights = rng.lognormal(0, 1, 200)
    found = [HLTA(show_progress=False).fit(matrix, sample_weight=w) for w in (weights, weights / weights.sum())]
    assert found[0].total_weight_ == pytest.approx(kish(weights))
    assert found[0].bic_ == pytest.approx(found[1].bic_, rel=1e-9)
    with pytest.raises(DataError, match="of a sparse table are values, one per row"):
        HLTA().fit(matrix, sample_weight="w")
    with pytest.raises(DataError, match=r"strata has shape \(3,\)"):
        HLTA().fit(matrix, strata=[1, 2, 3])


# --- What equal weights are ------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_equal_weights_are_no_weights(missing):
    table = answers(people(missing=missing))
    equal = np.full(len(table), 0.3)
    plain, weighted = (RandomStarts(n_states=2, **QUIET).fit(table, sample_weight=w) for w in (None, equal))
    assert weighted.tree_ == plain.tree_
    assert weighted.bic_ == plain.bic_
    one, other = (compare_classes(table, [1, 2, 3], sample_weight=w, n_starts=4, n_bootstrap=19, show_progress=False)
                  for w in (None, equal))  # fmt: skip
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), other.drop(columns="seconds"))
    first = standard_errors(plain, table, method="sandwich")
    second = standard_errors(weighted, table, sample_weight=equal)
    pd.testing.assert_frame_equal(first, second, rtol=1e-9)


# --- Standard errors -------------------------------------------------------------------------------------


def test_shares_have_the_errors_of_linearisation_by_hand():
    frame = people()
    model = Baseline("independence").fit(frame, sample_weight="w", strata="region", cluster="village")
    found = standard_errors(model.tree_, frame, sample_weight="w")
    weights, n = frame["w"].to_numpy(), len(frame)
    for name in "abcd":
        share = np.average(frame[name] == 0, weights=weights)
        by_hand = np.sqrt(n / (n - 1) * ((weights * ((frame[name] == 0) - share)) ** 2).sum()) / weights.sum()
        row = found[(found["node"] == name) & (found["state"] == 0)].iloc[0]
        assert row["probability"] == pytest.approx(share, rel=1e-9)
        assert row["standard_error"] == pytest.approx(by_hand, rel=1e-6)
    clustered = standard_errors(model, frame, sample_weight="w", strata="region", cluster="village")
    linear = (weights / weights.sum() * ((frame["a"] == 0) - np.average(frame["a"] == 0, weights=weights))).to_numpy()
    units = (frame["region"] + frame["village"].astype(str)).to_numpy()
    by_hand = np.sqrt(reference.variance_of_total(linear[:, None], units, frame["region"]))[0, 0]
    assert clustered["standard_error"].iloc[0] == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("design", [(), ("region",), ("village",), ("region", "village")], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_hidden_classes_have_the_errors_of_the_definition(design, missing):
    frame = people(200, seed=1, missing=missing)
    model = RandomStarts(n_states=2, tol=1e-10, **QUIET).fit(answers(frame), sample_weight=frame["w"])
    options = {"strata": "region"} if "region" in design else {}
    options |= {"cluster": "village"} if "village" in design else {}
    found = standard_errors(model, frame, sample_weight="w", **options)
    codes = encode(answers(frame))
    weights = frame["w"].to_numpy() * kish(frame["w"]) / frame["w"].sum()
    units = np.arange(200) if "village" not in design else frame["village"].to_numpy()
    strata = frame["region"].to_numpy() if "region" in design else None
    by_definition = reference.standard_errors(model.tree_, codes.codes[codes.row_index], weights, units, strata)
    np.testing.assert_allclose(found["standard_error"], by_definition, rtol=1e-4)


def test_clusters_of_one_row_are_rows():
    frame = people()
    model = RandomStarts(n_states=2, **QUIET).fit(answers(frame), sample_weight=frame["w"])
    plain = standard_errors(model, frame, sample_weight="w")
    single = standard_errors(model, frame, sample_weight="w", cluster=np.arange(len(frame)))
    pd.testing.assert_frame_equal(plain, single, rtol=1e-9)


def test_clusters_and_strata_work_without_weights():
    frame = people()
    model = RandomStarts(n_states=2, **QUIET).fit(frame.drop(columns="w"), strata="region", cluster="village")
    assert model.weight_kind_ is None
    assert model.tree_ == RandomStarts(n_states=2, **QUIET).fit(answers(frame)).tree_
    doubled = pd.concat([answers(frame)] * 2)  # every row twice, which its cluster says
    once = standard_errors(model.tree_, answers(frame), method="sandwich")
    twice = standard_errors(model.tree_, doubled, cluster=np.tile(np.arange(300), 2))
    np.testing.assert_allclose(once["standard_error"], twice["standard_error"], rtol=1e-6)


def test_the_bootstrap_agrees_with_the_sandwich():
    frame = people(400)
    model = RandomStarts(n_states=2, **QUIET).fit(answers(frame), sample_weight=frame["w"])
    for options in ({}, {"strata": "region", "cluster": "village"}):
        formula = standard_errors(model, frame, sample_weight="w", **options)["standard_error"]
        drawn = standard_errors(
            model, frame, sample_weight="w", method="bootstrap", n_bootstrap=300, show_progress=False, **options
        )["standard_error"]
        assert np.median(drawn / formula) == pytest.approx(1, abs=0.12)


def test_the_curvature_alone_is_refused_with_sampling_weights():
    frame = people()
    model = Baseline("independence").fit(answers(frame), sample_weight=frame["w"])
    with pytest.raises(ValueError, match="method='information' takes rows for independent draws"):
        standard_errors(model, frame, sample_weight="w", method="information")


@pytest.mark.parametrize(
    ("regions", "strata"),
    [
        (["p"] * 6, [0] * 6),
        (["p", "q", "r", "r", "r", "r"], [0, 0, 1, 1, 1, 1]),  # two lonely ones make one stratum
        (["p", "q", "q", "r", "r", "r"], [1, 1, 1, 0, 0, 0]),  # one joins the stratum with the fewest units
    ],
)
def test_strata_with_a_single_unit_are_joined(regions, strata):
    table = pd.DataFrame({"x": [0, 1, 0, 1, 1, 0], "region": regions})
    model = Baseline("independence").fit(table[["x"]])
    found = standard_errors(model, table, strata="region")["standard_error"].iloc[0]
    values = (table[["x"]] == 0).to_numpy() / 6 - 1 / 12
    assert found == pytest.approx(np.sqrt(reference.variance_of_total(values, np.arange(6), strata))[0, 0], rel=1e-6)


@pytest.mark.parametrize("method", ["sandwich", "bootstrap"])
def test_a_single_cluster_says_nothing(method):
    frame = people()
    model = Baseline("independence").fit(answers(frame))
    with pytest.raises(DataError, match="there is a single unit"):
        standard_errors(model, answers(frame), cluster=np.zeros(300), method=method, show_progress=False)


@pytest.mark.parametrize("method", ["sandwich", "bootstrap"])
def test_few_clusters_are_warned_of(method):
    frame = answers(people())
    model = Baseline("independence").fit(frame)
    options = {"method": method, "n_bootstrap": 20, "show_progress": False}
    with pytest.warns(UserWarning, match="standard errors rest on 3 clusters, so few that they are rough"):
        standard_errors(model, frame, cluster=np.arange(300) % 3, **options)
    standard_errors(model, frame, cluster=np.arange(300) % 11, **options)  # warnings are errors here


@pytest.mark.parametrize("kind", [simulation.ROWS, simulation.CLUSTERS, simulation.STRATA])
def test_intervals_cover_the_truth(kind):
    """A small version of what ``benchmarks.survey_weights`` measures: 95 % intervals, 40 tables each."""
    found = simulation.coverage(kind, "sampling", 40)
    assert found["answers"] >= 0.91
    assert found["shares"] >= 0.91


# --- Tests and criteria ----------------------------------------------------------------------------------


def independent(seed, n=600):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 3, size=(n, 5)), columns=list("abcde"))
    weights = rng.lognormal(0, 1, n)
    return table, weights / weights.mean()


def test_independent_columns_with_uneven_weights_are_not_called_classes():
    """In ten such tables a test that takes weights for counts rejects every time, at its smallest p-value."""
    found = []
    for seed in range(10):
        table, weights = independent(seed)
        found.append(compare_classes(table, [1, 2], sample_weight=weights, n_starts=4, n_bootstrap=19,
                                     show_progress=False))  # fmt: skip
    assert sum(one.loc[2, "blrt_p"] <= 0.05 for one in found) <= 3
    assert all(one.attrs["recommended"] == 1 for one in found)
    assert "With sampling weights, the 600 rows count as" in found[0].attrs["reason"]


def test_criteria_use_the_effective_number_of_rows():
    frame = people()
    model = RandomStarts(n_states=2, **QUIET).fit(answers(frame), sample_weight=frame["w"])
    n = kish(frame["w"])
    logs = model.score_samples(answers(frame))
    total = np.average(logs, weights=frame["w"]) * n
    assert model.log_likelihood_ == pytest.approx(total, rel=1e-9)
    assert model.bic_ == pytest.approx(total - model.n_parameters_ / 2 * np.log(n), rel=1e-9)
    assert scores.bic(model.tree_, frame, sample_weight="w") == pytest.approx(model.bic_, rel=1e-12)
    assert log_likelihood(model.tree_, frame, sample_weight="w") == pytest.approx(total, rel=1e-9)
    assert model.score(frame, sample_weight="w") == pytest.approx(total / n, rel=1e-9)
    table = classification_table(model, frame, sample_weight="w")
    assert table.to_numpy().sum() == pytest.approx(n)
    shares = average_posteriors(model, frame, sample_weight=frame["w"] * 7)
    pd.testing.assert_frame_equal(shares, average_posteriors(model, frame, sample_weight="w"))
    counted = residuals(model, frame, sample_weight="w")
    assert counted["n"].max() == pytest.approx(n)
    drawn = mutual_information(frame, sample_weight="w", strata="region", cluster="village")
    assert list(drawn.columns) == list("abcd")


def test_the_kind_of_the_learner_is_kept():
    frame = people().assign(w=lambda one: np.ceil(one["w"]))
    model = RandomStarts(n_states=2, **QUIET).fit(answers(frame), sample_weight=frame["w"], weight_kind="sampling")
    assert residuals(model, frame, sample_weight="w")["n"].max() == pytest.approx(kish(frame["w"]))
    as_counts = residuals(model, frame, sample_weight="w", weight_kind="frequency")
    assert as_counts["n"].max() == pytest.approx(frame["w"].sum())


def test_support_draws_rows_and_clusters():
    tree = LatentTree("ABpqrstu", [[0, 1]] * 8, [-1, 0, 0, 0, 0, 1, 1, 1], [True] * 2 + [False] * 6,
                      [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]], *[[[0.9, 0.1], [0.1, 0.9]]] * 6])  # fmt: skip
    table = sample(tree, 400, random_state=0)
    weights = np.random.default_rng(0).lognormal(0, 0.5, 400)
    learner = BinG(**QUIET).fit(table, sample_weight=weights)
    options = {"n_bootstrap": 6, "show_progress": False}
    found = support(learner, table, sample_weight=weights, **options)
    scaled = support(learner, table, sample_weight=weights * 1000, weight_kind="sampling", **options)
    pd.testing.assert_frame_equal(found, scaled)
    assert found["support"].between(0, 1).all()
    assert found["support"].max() == 1
    # two clusters, one of which has noise alone: some draws are nothing but noise, in which no edge is found again
    noise = pd.DataFrame(np.random.default_rng(1).integers(0, 2, table.shape), columns=table.columns)
    mixed, where = pd.concat([table, noise], ignore_index=True), np.repeat([0, 1], 400)
    learner = BinG(**QUIET).fit(mixed)
    rows, clusters = (support(learner, mixed, **options, **one) for one in ({}, {"cluster": where}))
    assert clusters["support"].mean() < rows["support"].mean()


# --- What is said, and what is refused -------------------------------------------------------------------


def test_weights_that_may_be_counts_or_not():
    cells = pd.DataFrame([(a, b, c) for a in range(3) for b in range(3) for c in range(3)], columns=list("abc"))
    with pytest.warns(WeightKindWarning, match=r'cross table with a row per cell, say weight_kind="frequency"'):
        assert encode(cells, sample_weight=np.linspace(0.5, 20, 27)).weight_kind == "sampling"
    with pytest.warns(WeightKindWarning, match=r'if these are survey weights, say weight_kind="sampling"'):
        assert encode(answers(people()), sample_weight=np.arange(300) + 100).weight_kind == "frequency"
    small = pd.DataFrame([(a, b) for a in range(2) for b in range(2)], columns=list("ab"))
    with pytest.warns(WeightKindWarning, match="cross table"):
        encode(small, sample_weight=[0.5, 20.5, 3.5, 7])
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (100, 60)))
    with pytest.warns(WeightKindWarning, match="the table has so many possible rows"):
        encode(wide, sample_weight=np.arange(100) + 900)
    with pytest.warns(WeightKindWarning, match="rows were drawn from strata or in clusters"):
        encode(cells, sample_weight=np.arange(27) + 9, strata=np.arange(27) % 3)
    # neither is in doubt where the keyword is there, nor in a table of which all rows differ anyway
    encode(cells, sample_weight=np.linspace(0.5, 20, 27), weight_kind="frequency")
    encode(answers(people()), sample_weight=np.arange(300) + 100, weight_kind="sampling")
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (100, 60)))
    encode(wide, sample_weight=np.linspace(0.5, 1.5, 100))


def test_printouts_and_report_say_what_was_assumed(capsys, tmp_path):
    frame = people()
    model = RandomStarts(n_states=2, **QUIET).fit(frame, sample_weight="w", strata="region", cluster="village")
    model.summary()
    assert f"Sampling weights: 300 rows count as {kish(frame['w']):.4g}" in capsys.readouterr().out
    model.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"effective number of rows is {kish(frame['w']):.1f}" in page
    assert "in 24 clusters from 2 strata" in page
    assert "by the sandwich estimate" in page
    assert "how much clusters differ within 2 strata" in page
    assert "strata=&#x27;region&#x27;, cluster=&#x27;village&#x27;" in page
    assert "weight_kind=&#x27;sampling&#x27;" in page or "weight_kind='sampling'" in page
    StructuralEM(random_state=0, show_progress=False).fit(answers(frame), sample_weight=np.arange(300) % 3).summary()
    assert "Frequency weights: 300 rows stand for" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sample_weight": "v"}, WeightError, "the table has no column 'v', which sample_weight names"),
        ({"strata": "v"}, DataError, "the table has no column 'v', which strata names"),
        ({"cluster": [1, 2]}, DataError, r"cluster has shape \(2,\); X has 300 rows"),
        ({"strata": [None, *[1] * 299]}, DataError, "strata is missing in row 0"),
        ({"sample_weight": "w", "weight_kind": "survey"}, ValueError, "weight_kind is 'survey'; give 'frequency'"),
    ],
)
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        Baseline().fit(people(), **options)


def test_missing_codes_do_not_concern_strata():
    frame = people().assign(region=lambda one: (one["region"] == "north") + 1)
    whole = encode(frame, columns=list("abcd"), strata="region", missing=[1])
    pieces = encode_chunks([frame.iloc[:99], frame.iloc[99:]], columns=list("abcd"), strata="region", missing=[1])
    assert np.array_equal(whole.codes, pieces.codes)
    assert whole.design.n_strata == pieces.design.n_strata == 2


def test_pieces_name_columns():
    frame = people()
    with pytest.raises(DataError, match="strata is a ndarray; of a table in pieces, give the name of the column"):
        encode_chunks([frame], strata=np.ones(300))
    with pytest.raises(DataError, match="which strata or cluster names, has missing cells"):
        encode_chunks([frame.astype({"region": object}).mask(frame["village"] == 3)], cluster="region")


def test_encoded_tables_keep_their_design():
    frame = people()
    data = encode(frame, sample_weight="w", strata="region", cluster="village")
    some = data.select(["a", "b"])
    assert some.total_weight == pytest.approx(data.total_weight)
    assert some.design.n_units == data.design.n_units
    again = encode(encode(answers(frame)), sample_weight=frame["w"], strata=frame["region"], cluster=frame["village"])
    np.testing.assert_allclose(again.weights, data.weights, rtol=1e-12)
    assert repr(again) == repr(data)
    with pytest.raises(WeightError, match="was encoded with sampling weights"):
        encode(data, weight_kind="frequency")
    with pytest.raises(WeightError, match="need sample_weight, as the weights of single rows were merged"):
        encode(data, strata=frame["region"])


# --- The command line ------------------------------------------------------------------------------------


def run(*args, folder):
    command = [sys.executable, "-m", "pgmpy_latent.cli", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_line(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    drawn = ("--weights", "w", "--strata", "region", "--cluster", "village")
    done = run("learn", "people.csv", *drawn, "--max-classes", "3", "--report", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"sampling weights, effective number of rows {kish(frame['w']):.4g}, 2 strata, 24 clusters" in done.stdout
    model = load(tmp_path / "pgmpy-latent-model.json")
    assert set(model.observed_names) == set("abcd")
    assert "in 24 clusters from 2 strata" in (tmp_path / "page.html").read_text()
    assert json.loads((tmp_path / "pgmpy-latent-model.json").read_text())
    found = run("compare", "people.csv", *drawn, "--classes", "1-2", folder=tmp_path)
    assert "rows of a cluster are alike" in " ".join(found.stdout.split())


def test_the_command_line_names_its_own_options(tmp_path):
    people().assign(w=np.arange(300) + 100).to_csv(tmp_path / "people.csv", index=False)
    common = ("compare", "people.csv", "--drop", "region,village", "--classes", "1")
    doubtful = run(*common, "--weights", "w", folder=tmp_path)
    assert "say --weight-kind sampling" in " ".join(doubtful.stderr.split())
    sure = run(*common, "--weights", "w", "--weight-kind", "sampling", folder=tmp_path)
    assert "--weight-kind" not in sure.stderr
    assert "sampling weights, effective number of rows" in sure.stdout
    lost = run("compare", "people.csv", "--columns", "a,b,c", "--weight-kind", "sampling", folder=tmp_path)
    assert (lost.returncode, "name their column with --weights" in lost.stderr) == (2, True)
