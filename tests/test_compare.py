"""One table to choose the number of classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import LatentTree, RandomStarts, compare_classes, encode, sample, scores
from pgmpy_latent.operators import marginals
from tests.samples import latent_class

QUIET = {"show_progress": False, "n_init": 4}
COLUMNS = [
    "best", "log_likelihood", "n_parameters", "bic", "aic", "caic", "adjusted_bic", "icl", "cheeseman_stutz",
    "relative_entropy", "smallest_share", "found_by", "seconds",
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
    assert table.drop(columns=["found_by", "relative_entropy"]).notna().all(axis=None)
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
        ([1], {"n_init": 0}, "n_init is 0"),
        ([1], {"prior": -1}, "prior is -1"),
        ([1], {"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_questions_that_cannot_be_meant(survey, n_classes, options, message):
    with pytest.raises(ValueError, match=message):
        compare_classes(survey, n_classes, **{**QUIET, **options})


def test_ctrl_c_keeps_the_sizes_that_were_finished(monkeypatch, survey):
    original, calls = RandomStarts.fit, []

    def fit(self, X, y=None, sample_weight=None):
        calls.append(self.n_states)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(RandomStarts, "fit", fit)
    with pytest.warns(ConvergenceWarning, match="stopped the comparison at 3 classes; the table holds 1, 2"):
        table = compare_classes(survey, range(1, 5), method="random", n_init=2, show_progress=False)
    assert table.index.tolist() == [1, 2]


def test_a_row_has_as_many_classes_as_it_says():
    pair = pd.DataFrame({"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("aabb") * 5})
    table, models = compare_classes(pair, [1, 3, 4], method="split", show_progress=False, return_models=True)
    assert [int(models[size].cards[0]) for size in table.index] == [1, 3, 4]
    assert table["log_likelihood"].diff().dropna().min() >= -1e-8
