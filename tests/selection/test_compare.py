"""One table to choose the number of classes."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import LatentTree, compare_classes, encode, sample, scores
from pgmpy_latent.diagnostics import resampling as _resampling
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.fit import Problem
from pgmpy_latent.exceptions import WeightError
from pgmpy_latent.operators import marginals
from pgmpy_latent.selection import class_draws
from tests.support.samples import latent_class

QUIET = {"show_progress": False, "n_starts": 4}
COLUMNS = [
    "best", "log_likelihood", "n_parameters", "bic", "aic", "caic", "adjusted_bic", "icl", "cheeseman_stutz",
    "minus_2_bic", "relative_entropy", "smallest_share", "n_best", "n_starts", "effective_dimension", "identified",
    "g2", "x2", "df", "g2_p", "x2_p", "blrt", "blrt_p", "edge", "edge_bic", "found_by", "seconds",
]  # fmt: skip


@pytest.fixture(scope="module")
def survey():
    return sample(latent_class(3, [2, 3, 2, 3, 2]), 400, random_state=0)


@pytest.fixture(scope="module")
def compared(survey):
    return compare_classes(survey, range(1, 6), return_models=True, **QUIET)


def test_rows_and_columns(compared):
    table, models = compared
    assert table.index.tolist() == [1, 2, 3, 4, 5]
    assert table.index.name == "n_classes"
    assert table.columns.tolist() == COLUMNS
    assert list(models) == [1, 2, 3, 4, 5]
    assert table["best"].dtype == bool
    assert table.drop(columns=["blrt", "blrt_p", "g2_p", "x2_p"]).notna().all(axis=None)
    assert table["blrt"].isna().tolist() == [True, False, False, False, False]
    assert table["blrt_p"].isna().all()
    assert set(table["found_by"]) <= {"random starts", "splits"}
    assert (table["seconds"] > 0).all()


def test_the_best_bic_is_marked_and_is_the_truth(compared):
    table, _ = compared
    assert table["best"].sum() == 1
    assert table["best"].idxmax() == table["bic"].idxmax() == 3


def test_more_classes_never_describe_the_table_worse(compared):
    table, _ = compared
    assert table["log_likelihood"].diff().min() >= -1e-6
    assert table["n_parameters"].is_monotonic_increasing


def test_the_scores_are_those_of_the_models(survey, compared):
    table, models = compared
    for size, tree in models.items():
        assert isinstance(tree, LatentTree)
        assert tree.cards[tree.latent].tolist() == [size]
        assert tree.observed_names == tuple(survey.columns)
        row = table.loc[size]
        assert row["n_parameters"] == scores.n_parameters(tree)
        for name in ("log_likelihood", "bic", "aic", "caic", "adjusted_bic", "icl", "cheeseman_stutz"):
            assert row[name] == pytest.approx(getattr(scores, name)(tree, survey), abs=1e-7), name
        if size > 1:
            assert row["relative_entropy"] == pytest.approx(scores.relative_entropy(tree, survey), abs=1e-9)
        assert row["smallest_share"] == pytest.approx(marginals(tree)[tree.names.index("H")].min(), abs=1e-12)


@pytest.mark.parametrize(("method", "found_by"), [("random", "random starts"), ("split", "splits")])
def test_one_way_alone(survey, compared, method, found_by):
    table = compare_classes(survey, [1, 2, 3], method=method, **QUIET)
    assert set(table["found_by"]) == {found_by}
    assert (table["log_likelihood"] <= compared[0]["log_likelihood"].loc[:3] + 0.01).all()
    if method == "split":
        assert table["log_likelihood"].diff().min() >= -1e-6


def test_numbers_in_any_order_with_gaps(survey):
    table = compare_classes(survey, [4, 2, 2], **QUIET)
    assert table.index.tolist() == [2, 4]
    assert compare_classes(survey, 2, **QUIET).index.tolist() == [2]
    assert compare_classes(survey, np.array([2]), **QUIET).index.tolist() == [2]


def test_weights_gaps_and_encoded_tables(survey):
    table = survey.mask(np.random.default_rng(0).random(survey.shape) < 0.1).head(150)
    weights = np.random.default_rng(1).integers(0, 4, size=150)
    weighted = compare_classes(table, [1, 2], sample_weight=weights, **QUIET)
    repeated = compare_classes(table.loc[table.index.repeat(weights)], [1, 2], **QUIET)
    encoded = compare_classes(encode(table, sample_weight=weights), [1, 2], **QUIET)
    for other in (repeated, encoded):
        pd.testing.assert_frame_equal(
            weighted.drop(columns=["seconds", "found_by"]), other.drop(columns=["seconds", "found_by"]), rtol=1e-6
        )


def test_the_same_seed_gives_the_same_table(survey, compared):
    again = compare_classes(survey, range(1, 6), n_jobs=2, **QUIET)
    pd.testing.assert_frame_equal(again.drop(columns="seconds"), compared[0].drop(columns="seconds"), check_exact=True)


def test_a_prior_leaves_nothing_impossible(survey):
    _, models = compare_classes(survey, [2], prior=1.0, return_models=True, **QUIET)
    assert min(own.min() for own in models[2].tables) > 0


def test_a_column_may_be_called_like_the_hidden_variable(survey):
    _, models = compare_classes(survey.rename(columns={"x0": "H"}), [1, 2], return_models=True, **QUIET)
    assert models[2].latent_names == ("H_1",)


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.RegularityWarning")
def test_more_classes_than_can_be_told_apart(survey):
    table = compare_classes(survey[["x0", "x2", "x4"]], [4, 5], **QUIET)
    assert table.index.tolist() == [4, 5]
    assert table["log_likelihood"].diff().min() >= -1e-6


@pytest.mark.parametrize(
    ("n_classes", "options", "message"),
    [
        ([], {}, "n_classes is empty; give numbers of classes to compare"),
        ([0, 1], {}, "n_classes holds 0; give whole numbers of at least 1"),
        ([1.5], {}, "n_classes holds 1.5; give whole numbers"),
        ([True], {}, "n_classes holds True; give whole numbers"),
        ([1], {"method": "guess"}, "method is 'guess'; give 'both', 'random' or 'split'"),
        ([1], {"n_starts": 0}, "n_starts is 0"),
        ([1], {"prior": -1}, "prior is -1"),
        ([1], {"n_jobs": 0}, "n_jobs is 0"),
        ([1], {"n_bootstrap": -1}, "n_bootstrap is -1; give a whole number of at least 0"),
        ([1], {"n_bootstrap": 2.5}, "n_bootstrap is 2.5; give a whole number"),
        ([1], {"random_state": "now"}, "random_state is 'now'"),
    ],
)
def test_questions_that_cannot_be_meant(survey, n_classes, options, message):
    with pytest.raises(ValueError, match=message):
        compare_classes(survey, n_classes, **{**QUIET, **options})


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("n_init", "compare_classes has no keyword 'n_init' any more; give n_starts=..."),
        ("colour", "compare_classes() got an unexpected keyword argument 'colour'"),
    ],
)
def test_a_keyword_that_was_renamed_names_the_new_one(survey, keyword, message):
    with pytest.raises(TypeError) as caught:
        compare_classes(survey, [1], **{keyword: 2})
    assert str(caught.value) == message


def interrupt(monkeypatch, place, name, moment):
    """Let the given call of a function, counted from 1, be interrupted."""
    original, calls = getattr(place, name), []

    def call(*arguments, **options):
        calls.append(arguments)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(place, name, call)


def test_ctrl_c_keeps_the_sizes_that_were_finished(monkeypatch, survey):
    interrupt(monkeypatch, em, "fit", 3)
    with pytest.warns(ConvergenceWarning, match="stopped the comparison at 3 classes; the table holds 1, 2"):
        table = compare_classes(survey, range(1, 5), method="random", n_starts=2, show_progress=False)
    assert table.index.tolist() == [1, 2]


def test_ctrl_c_before_the_first_size_returns_what_em_had(monkeypatch, survey):
    interrupt(monkeypatch, Problem, "step", 8)
    with pytest.warns(ConvergenceWarning, match="stopped the comparison at 2 classes; the table holds 2"):
        table = compare_classes(survey, [2, 3], method="random", n_starts=2, show_progress=False)
    assert table.index.tolist() == [2]


def test_ctrl_c_keeps_the_draws_that_were_finished(monkeypatch, survey):
    interrupt(monkeypatch, class_draws, "fit_groups", 14)  # two for a batch: five batches of 1 class, one of 2
    monkeypatch.setattr(_resampling, "BATCH", 2)
    with pytest.warns(ConvergenceWarning, match=r"by number of classes: 10 for 1, 2 for 2 \(10 for each were wanted\)"):
        table = compare_classes(survey, [1, 2, 3], n_bootstrap=10, **QUIET)
    assert table.index.tolist() == [1, 2, 3]
    assert table["blrt_p"].tolist()[1:] == [1 / 11, 1 / 3]
    assert table["g2_p"].tolist()[:2] == [1 / 11, 1 / 3]


def test_ctrl_c_before_the_first_draw(monkeypatch, survey):
    interrupt(monkeypatch, class_draws, "fit_groups", 1)
    with pytest.warns(ConvergenceWarning, match="by number of classes: none"):
        table = compare_classes(survey, [1, 2], n_bootstrap=3, **QUIET)
    assert table["blrt_p"].isna().all()


def test_a_row_has_as_many_classes_as_it_says():
    pair = pd.DataFrame({"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("aabb") * 5})
    table, models = compare_classes(pair, [1, 3, 4], method="split", show_progress=False, return_models=True)
    assert [int(models[size].cards[0]) for size in table.index] == [1, 3, 4]
    assert table["log_likelihood"].diff().dropna().min() >= -1e-8


def cells(table, tree, weights=None):
    """Return observed and expected counts of every cell, by enumeration."""
    weights = np.ones(len(table)) if weights is None else np.asarray(weights)
    codes = [np.searchsorted(tree.state_names[tree.index(name)], table[name]) for name in table.columns]
    observed = np.zeros([len(tree.state_names[tree.index(name)]) for name in table.columns])
    np.add.at(observed, tuple(codes), weights)
    chances = np.zeros_like(observed)
    for cell in np.ndindex(observed.shape):
        rows = [tree.tables[tree.index(name)][:, at] for name, at in zip(table.columns, cell, strict=True)]
        chances[cell] = tree.table(tree.latent_names[0])[0] @ np.prod(rows, axis=0)
    return observed, chances * observed.sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_misfit_by_its_definition(survey, weighted):
    weights = np.random.default_rng(0).gamma(2.0, size=len(survey)) if weighted else None
    kind = "frequency" if weighted else None
    table, models = compare_classes(
        survey, [1, 2], sample_weight=weights, weight_kind=kind, return_models=True, **QUIET
    )
    for size, tree in models.items():
        observed, expected = cells(survey, tree, weights)
        seen = observed > 0
        row = table.loc[size]
        assert row["g2"] == pytest.approx(2 * (observed[seen] * np.log(observed[seen] / expected[seen])).sum())
        assert row["x2"] == pytest.approx(((observed - expected) ** 2 / expected).sum())
        assert row["df"] == 71 - scores.effective_dimension(tree)


def test_p_values_of_misfit_without_a_bootstrap(survey):
    few = compare_classes(survey[["x0", "x2", "x4"]], [1, 2], **QUIET)  # 8 cells, 400 rows
    assert few["df"].tolist() == [4, 0]
    assert few.loc[1, "g2_p"] == pytest.approx(chi2.sf(few.loc[1, "g2"], 4))
    assert few.loc[1, "x2_p"] == pytest.approx(chi2.sf(few.loc[1, "x2"], 4))
    assert few.loc[2, ["g2_p", "x2_p"]].isna().all()  # no degrees of freedom
    many = compare_classes(survey.head(100), [1, 2], **QUIET)  # 72 cells
    assert many[["g2_p", "x2_p"]].isna().all(axis=None)


def test_what_missing_cells_leave_out(survey):
    table = compare_classes(
        survey.mask(np.random.default_rng(0).random(survey.shape) < 0.1), [1, 2, 3], n_bootstrap=19, **QUIET
    )
    assert table[["g2", "x2", "df", "g2_p", "x2_p"]].isna().all(axis=None)
    assert table["blrt_p"].tolist()[1:] == [0.05, 0.05]
    assert table["identified"].all()


def test_what_is_identified():
    answers = sample(latent_class(2, [2, 2, 2, 2]), 300, random_state=0)
    table = compare_classes(answers, [1, 2, 3], **QUIET)
    assert table["effective_dimension"].tolist() == [4, 9, 13]
    assert table["identified"].tolist() == [True, True, False]
    assert table["df"].tolist() == [11, 6, 2]


def test_large_models_are_not_asked_whether_they_are_identified(monkeypatch, survey):
    monkeypatch.setattr("pgmpy_latent.selection.compare.MOST_PARAMETERS", 10)
    table = compare_classes(survey, [1, 2], **QUIET)
    assert table["effective_dimension"].isna().tolist() == [False, True]
    assert table["identified"].isna().tolist() == [False, True]
    assert table["df"].tolist() == [64, 71 - 15]


def test_how_many_starts_reached_the_best_value(monkeypatch, survey):
    fit, ends = em.fit, {}

    def remembering(engine, starts, **options):
        found = fit(engine, starts, **options)
        if options.get("narrowing") is None and engine.cards[0] not in ends:  # random starts come before splits
            ends[int(engine.cards[0])] = found.final_objectives
        return found

    monkeypatch.setattr(em, "fit", remembering)
    table = compare_classes(survey, [1, 2, 5], show_progress=False, n_starts=6)
    assert table["n_starts"].tolist() == [1, 6, 6]
    for size in (1, 2, 5):
        best = table.loc[size, "log_likelihood"]
        assert table.loc[size, "n_best"] == sum(end > best - 0.01 for end in ends[size])
    assert 0 < table.loc[2, "n_best"] < 6
    alone = compare_classes(survey, [2], method="split", **QUIET)
    assert alone[["n_best", "n_starts"]].to_numpy().tolist() == [[0, 0]]


# the bootstrap


@pytest.fixture(scope="module")
def two_classes():
    return sample(latent_class(2, [2, 3, 2, 2]), 250, random_state=3)


@pytest.fixture(scope="module")
def tested(two_classes):
    return compare_classes(two_classes, [1, 2, 3], n_bootstrap=39, **QUIET)


def test_one_class_is_rejected_and_two_are_kept(tested):
    assert tested["blrt_p"].isna().tolist() == [True, False, False]
    assert tested.loc[2, "blrt_p"] == 1 / 40
    assert tested.loc[3, "blrt_p"] > 0.1
    assert tested.loc[1, "g2_p"] == 1 / 40
    assert tested.loc[[2, 3], ["g2_p", "x2_p"]].min(axis=None) > 0.1
    assert tested.attrs["recommended"] == 2
    assert tested.attrs["reason"].startswith("BIC is best with 2 classes, by ")


def test_the_gain_over_the_next_smaller_model_of_the_table(two_classes):
    table = compare_classes(two_classes, [1, 3], n_bootstrap=9, **QUIET)
    assert table.loc[3, "blrt"] == pytest.approx(2 * (table.loc[3, "log_likelihood"] - table.loc[1, "log_likelihood"]))
    assert table.loc[3, "blrt_p"] == 0.1
    assert compare_classes(two_classes, [2], n_bootstrap=9, **QUIET)["blrt_p"].isna().all()


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_bootstrap_does_not_depend_on_threads(two_classes, tested, n_jobs):
    again = compare_classes(two_classes, [1, 2, 3], n_bootstrap=39, n_jobs=n_jobs, **QUIET)
    pd.testing.assert_frame_equal(again.drop(columns="seconds"), tested.drop(columns="seconds"), check_exact=True)
    assert again.attrs == tested.attrs


def test_another_seed_draws_other_tables(two_classes, tested):
    other = compare_classes(two_classes, [1, 2, 3], n_bootstrap=39, random_state=1, **QUIET)
    assert other.loc[[2, 3], "g2_p"].tolist() != tested.loc[[2, 3], "g2_p"].tolist()
    np.testing.assert_allclose(other["log_likelihood"], tested["log_likelihood"], atol=0.01)


def test_weights_count_rows(two_classes, tested):
    counted = two_classes.value_counts(sort=False).reset_index()
    table = compare_classes(
        counted.drop(columns="count"), [1, 2, 3], sample_weight=counted["count"], n_bootstrap=39, **QUIET
    )
    assert table["blrt_p"].tolist()[1:] == tested["blrt_p"].tolist()[1:]
    with pytest.raises(WeightError, match="the weights sum to 1, which stands for 1 rows, too few for a bootstrap"):
        compare_classes(
            two_classes, [1], sample_weight=np.full(250, 1 / 250), weight_kind="frequency", n_bootstrap=5, **QUIET
        )


def test_a_prior_is_used_for_drawn_tables_too(two_classes):
    table = compare_classes(two_classes, [1, 2, 3], prior=0.5, n_bootstrap=19, **QUIET)
    assert table.loc[2, "blrt_p"] == 0.05
    assert table.loc[3, "blrt_p"] > 0.05


def test_a_model_that_describes_every_cell_is_never_rejected():
    pair = pd.DataFrame({"x": list("aabbab"), "y": list("ababaa"), "z": list("abbaab")}).loc[
        lambda t: t.index.repeat(9)
    ]
    table = compare_classes(pair, [1, 4], n_bootstrap=19, n_starts=8, show_progress=False)
    assert table.loc[4, "g2"] == pytest.approx(0, abs=0.01)
    assert table.loc[4, "g2_p"] == 1.0


@pytest.mark.parametrize("weight", [1e300, 1e12])
def test_weights_that_stand_for_too_many_rows_to_draw_are_refused_before_work(weight):
    with pytest.raises(WeightError, match="more rows than a bootstrap can draw; scale them"):
        compare_classes(np.eye(3, dtype=int), [1], sample_weight=np.full(3, weight), n_bootstrap=3)


@pytest.mark.slow
def test_the_bootstrap_of_the_survey_on_abortion(data_folder):
    """300 draws: three classes against two, p = .003, the smallest possible; four against three, .6 to .7."""
    answers = pd.read_csv(data_folder / "lca_gss08.csv").iloc[:, :6]
    table = compare_classes(answers, [2, 3, 4], n_bootstrap=300, show_progress=False)
    assert table.loc[3, "blrt_p"] == pytest.approx(1 / 301)
    assert 0.6 <= table.loc[4, "blrt_p"] <= 0.7
