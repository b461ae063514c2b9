"""Pictures of profiles, searches, comparisons, residuals, partitions and unusual rows show the right numbers."""

from itertools import permutations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from pgmpy_latent import (
    EAST,
    Baseline,
    LatentTree,
    RandomStarts,
    SplitMerge,
    compare_classes,
    datasets,
    plotting,
    residuals,
    row_log_likelihoods,
    sample,
)
from pgmpy_latent.plotting.fit import _heavy_diagonal
from tests.support.samples import latent_class, small_tree, two_classes_of_columns

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def survey():
    return datasets.load_anes96().iloc[:, :5]


@pytest.fixture(scope="module")
def learner(survey):
    return RandomStarts(n_states=3, random_state=0).fit(survey)


def words(ax):
    return [text.get_text() for text in ax.texts]


# Profiles -----------------------------------------------------------------------------------------


def bars(ax):
    """Return row -> the widths of its bars as shares of a class, one list after the other."""
    found = {}
    for patch in ax.patches:
        found.setdefault(round(patch.get_y() + patch.get_height() / 2), []).append(patch.get_width())
    return {row: np.array(widths) for row, widths in found.items()}


def headings(ax):
    """Return the names of the columns, from top to bottom."""
    return [text.get_text() for text in ax.texts if text.get_weight() == "bold"]


def test_bars_are_the_profiles(learner):
    ax = plotting.plot_profiles(learner)
    table = learner.profiles()["H"]
    for row, column in enumerate(headings(ax)):
        expected = table.loc[column].to_numpy().T.ravel()
        widths = bars(ax)[row]
        np.testing.assert_allclose(3 * widths / widths.sum(), expected, atol=1e-12)
    shares = table.loc[("share", "")]
    assert [label.get_text() for label in ax.get_xticklabels()] == [f"class {at}\n{shares[at]:.0%}" for at in range(3)]
    assert ax.get_title(loc="left") == "H: 3 classes"


def test_columns_that_tell_the_classes_apart_come_first():
    tree = two_classes_of_columns()
    learner = RandomStarts(n_states=2).fit(sample(tree, 300, random_state=0))
    ax = plotting.plot_profiles(learner, n_columns=4)
    assert headings(ax) == learner.informative_columns(4)["column"].tolist()
    assert ax.get_title(loc="left") == "H: 2 classes, by the 4 of 6 columns that tell them apart best"


@pytest.mark.parametrize("n_classes", [1, 2, 8])
@pytest.mark.parametrize("width", [None, 3.0])
def test_texts_of_profiles_do_not_overlap(n_classes, width):
    tree = latent_class(n_classes, [2, 3, 12, 40])
    ax = None if width is None else plt.subplots(figsize=(width, 4))[1]
    ax = plotting.plot_profiles(tree, ax=ax)
    ax.figure.canvas.draw()
    bounds = np.array([text.get_window_extent().extents for text in ax.texts])
    apart = (bounds[:, None, 0] >= bounds[None, :, 2]) | (bounds[:, None, 1] >= bounds[None, :, 3])
    assert (apart | apart.T | np.eye(len(bounds), dtype=bool)).all()
    if width is None:
        assert (bounds[:, 2] <= ax.figure.bbox.x1).all()
    assert any(text.startswith("and ") and text.endswith(" more") for text in words(ax))  # of forty categories


def test_a_picture_of_profiles_is_as_wide_as_the_names_of_categories_need():
    tree = latent_class(2, [7])
    names = [tree.state_names[0], [f"a category with number {number}" for number in range(7)]]
    tree = LatentTree(tree.names, names, tree.parent, [True, False], tree.tables)
    ax = plotting.plot_profiles(tree)
    assert set(names[1]) <= set(words(ax))
    assert not any(text.endswith(" more") for text in words(ax))


def test_classes_that_have_names_are_called_by_them():
    tree = LatentTree(
        ["camp", "x"], [["left", "right"], ["a", "b"]], [-1, 0], [True, False],
        [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]],
    )  # fmt: skip
    ax = plotting.plot_profiles(tree)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["left\n70%", "right\n30%"]
    assert {"90%", "10%", "20%", "80%", "a", "b", "x"} == set(words(ax))


def test_which_hidden_variable_must_be_clear(survey):
    tree = two_classes_of_columns()
    with pytest.raises(ValueError, match="the model has 2 hidden variables; name one as latent: 'A', 'B'"):
        plotting.plot_profiles(tree)
    with pytest.raises(ValueError, match="latent is 'b1'; give a hidden variable, one of 'A', 'B'"):
        plotting.plot_profiles(tree, "b1")
    with pytest.raises(ValueError, match="the model has 0 hidden variables; there is nothing to draw"):
        plotting.plot_profiles(Baseline("chow_liu").fit(survey))
    with pytest.raises(ValueError, match="n_columns is 0; give a whole number that is at least 1"):
        plotting.plot_profiles(tree, "A", n_columns=0)
    assert headings(plotting.plot_profiles(tree, "B"))[0].startswith("b")


# Searches and comparisons -------------------------------------------------------------------------


def test_histories_are_drawn_against_seconds(survey):
    learners = [SplitMerge(random_state=0).fit(survey), EAST(random_state=0, show_progress=False).fit(survey)]
    ax = plotting.plot_history(*learners, learners[0])
    for line, learner in zip(ax.lines, [*learners, learners[0]], strict=True):
        np.testing.assert_array_equal(line.get_xdata(), learner.history_["seconds"])
        np.testing.assert_array_equal(line.get_ydata(), learner.history_["score"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SplitMerge 1", "EAST", "SplitMerge 2"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("seconds", "score (BIC)")


def test_scores_of_different_kinds_are_not_named(survey, learner):
    other = RandomStarts(n_states=3, scoring_method="aic").fit(survey)
    assert plotting.plot_history(learner, other).get_ylabel() == "score"
    assert plotting.plot_history(other, labels=["$x$"]).get_legend().get_texts()[0].get_text() == r"\$x\$"


def test_scores_of_a_history_are_written_in_full(learner):
    ax = plotting.plot_history(learner)
    ax.figure.canvas.draw()
    assert ax.yaxis.get_major_formatter().get_offset() == ""


def test_a_history_needs_learners(learner):
    with pytest.raises(ValueError, match="there is nothing to draw; give at least one fitted learner"):
        plotting.plot_history()
    with pytest.raises(ValueError, match="there are 2 labels for 1 learners; give one for each"):
        plotting.plot_history(learner, labels=["a", "b"])
    with pytest.raises(NotFittedError, match="This SplitMerge instance is not fitted yet"):
        plotting.plot_history(SplitMerge())


def test_a_comparison_shows_every_criterion_and_its_best(survey):
    table = compare_classes(survey, range(1, 4), n_starts=2)
    ax = plotting.plot_comparison(table)
    curves, tops = ax.lines[1::2], ax.lines[2::2]
    drawn = ["bic", "adjusted_bic", "caic", "aic", "icl"]
    for name, curve, top in zip(drawn, curves, tops, strict=True):
        np.testing.assert_array_equal(curve.get_ydata(), table[name] - table[name].max())
        assert (top.get_xdata(), top.get_ydata()) == ([table[name].idxmax()], [0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["BIC", "adjusted BIC", "CAIC", "AIC", "ICL"]
    assert len({to_hex(curve.get_color()) for curve in curves}) == len({curve.get_marker() for curve in curves}) == 5
    best = int(table.index[table["best"]][0])
    assert set(ax.lines[0].get_xdata()) == {best}
    assert ax.get_title(loc="left").splitlines()[0] == f"{best} classes are recommended"


def test_a_score_far_below_the_others_does_not_squeeze_them():
    """ICL falls by thousands, BIC differs by 3 and 30: both can be told apart in the picture, and have round ticks."""
    sizes = pd.Index([1, 2, 3, 4], name="n_classes")
    table = pd.DataFrame({"bic": [-930.0, -903.0, -900.0, -907.0], "icl": [-905.0, -990.0, -3e3, -9e3]}, index=sizes)
    ax = plotting.plot_comparison(table)
    ax.figure.canvas.draw()
    height = ax.bbox.height
    for curve in ax.lines[::2]:
        pixels = np.sort(ax.transData.transform(curve.get_xydata())[:, 1])
        assert np.diff(pixels).min() > 0.05 * height
        assert (pixels >= ax.bbox.y0).all()
        assert (pixels <= ax.bbox.y1).all()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["best", "−5", "−10", "−20", "−50", "−100", "−200", "−500", "−1,000", "−2,000", "−5,000"]


def test_scores_with_the_same_best_number_are_all_seen():
    both = pd.DataFrame({"bic": [-3.0, -2.0], "aic": [-3.0, -1.0]}, index=pd.Index([1, 2], name="n_classes"))
    first, second = plotting.plot_comparison(both).lines[1::2]
    assert first.get_markersize() > second.get_markersize()


def comparison():
    table = pd.DataFrame({"bic": [-3.0, -2.0], "aic": [-3.0, np.nan]}, index=pd.Index([1, 2], name="n_classes"))
    table.attrs.update(recommended=1, reason="It costs $5 and $6. " + "So it does. " * 20)
    return table


def test_the_recommendation_and_its_reason_are_the_title():
    ax = plotting.plot_comparison(comparison(), ["bic"])
    first, *others = ax.get_title(loc="left").splitlines()
    assert first == "1 class is recommended"
    assert others[0].startswith(r"It costs \$5 and \$6. So it does.")
    assert max(map(len, others)) <= 80
    assert len(ax.lines) == 3
    without = comparison()
    without.attrs.clear()
    assert plotting.plot_comparison(without).get_title(loc="left") == ""


def test_a_comparison_needs_its_columns():
    with pytest.raises(ValueError, match="the table has no column 'gini'; give a table of compare_classes"):
        plotting.plot_comparison(comparison(), ["bic", "gini"])
    with pytest.raises(ValueError, match="the table has none of the columns 'bic', 'adjusted_bic'"):
        plotting.plot_comparison(comparison()[[]])


# Residuals ----------------------------------------------------------------------------------------


def pairs():
    return pd.DataFrame(
        {
            "first": ["x", "x", "y", "z", "x", "y"],
            "second": ["y", "z", "z", ("a", 1), ("a", 1), ("a", 1)],
            "per_df": [1.5, np.inf, 30.0, 0.2, np.nan, 2.5],
            "adjusted_p": [0.06, 0.0, 0.001, 1.0, np.nan, 0.04],
        }
    )


def test_squares_are_residuals_per_degree_of_freedom():
    ax = plotting.plot_residuals(pairs())
    rows = [label.get_text() for label in ax.get_yticklabels()]
    columns = [label.get_text() for label in ax.get_xticklabels()]
    assert ["x", *rows] == [*columns, "('a', 1)"] == ["x", "z", "y", "('a', 1)"]
    shown = np.ma.filled(ax.images[0].get_array().astype(float), np.nan)
    expected = [[np.inf, np.nan, np.nan], [1.5, 30.0, np.nan], [np.nan, 0.2, 2.5]]
    np.testing.assert_array_equal(
        np.where(np.isinf(expected), np.nan, expected), np.where(np.isinf(shown), np.nan, shown)
    )
    dots = {tuple(place) for place in ax.collections[0].get_offsets()}
    assert dots == {(0, 0), (1, 1), (2, 2)}
    assert ax.get_title(loc="left") == "3 of 6 pairs differ significantly"
    ax.figure.canvas.draw()


def test_the_columns_that_stand_out_are_drawn():
    ax = plotting.plot_residuals(pairs(), n_columns=2)
    assert ax.get_title(loc="left").splitlines() == [
        "3 of 6 pairs differ significantly",
        "2 of 4 columns are shown",
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x"]


def test_residuals_of_a_model_are_drawn(survey, learner):
    table = residuals(learner, survey)
    ax = plotting.plot_residuals(table)
    assert len(ax.get_xticks()) == survey.shape[1] - 1
    assert np.ma.count(np.ma.masked_invalid(ax.images[0].get_array())) == len(table)


def test_residuals_need_their_columns():
    with pytest.raises(ValueError, match="the table has no column 'per_df'; give the table that"):
        plotting.plot_residuals(pairs().drop(columns="per_df"))
    with pytest.raises(ValueError, match="the table has no pairs of columns; there is nothing to draw"):
        plotting.plot_residuals(pairs().head(0))


# Partitions ---------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_diagonal_is_as_heavy_as_it_can_be(n_rows, n_columns, seed):
    counts = np.random.default_rng(seed).integers(0, 9, size=(n_rows, n_columns))
    rows, columns = _heavy_diagonal(counts)
    assert sorted(rows) == list(range(n_rows))
    assert sorted(columns) == list(range(n_columns))
    wide = counts if n_rows <= n_columns else counts.T
    best = max(
        sum(wide[at, to] for at, to in enumerate(order)) for order in permutations(range(wide.shape[1]), len(wide))
    )
    assert np.trace(counts[np.ix_(rows, columns)]) == best
    if n_rows <= n_columns:
        assert (np.diff(counts.sum(axis=1)[rows]) <= 0).all()


def test_two_partitions_are_crossed(survey, learner):
    first = learner.predict(survey)
    ax = plotting.plot_confusion(first, survey["PID"])
    table = pd.crosstab(first["H"].astype(str), survey["PID"].astype(str))
    rows = [label.get_text() for label in ax.get_yticklabels()]
    columns = [label.get_text() for label in ax.get_xticklabels()]
    counts = table.loc[rows, columns].to_numpy()
    expected = [f"{n}\n{n / counts[row].sum():.0%}" if n else "0" for row in range(3) for n in counts[row]]
    assert words(ax) == expected
    assert ax.get_title(loc="left") == f"adjusted Rand index {adjusted_rand_score(first['H'], survey['PID']):.2f}"
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("H", "PID")


def test_partitions_without_names_and_rows_without_classes():
    ax = plotting.plot_confusion([0, 0, 1, None], np.array(["a", "a", "b", "b"]))
    assert ax.get_title(loc="left") == "adjusted Rand index 1.00\n1 row without a class left out"
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("first", "second")
    same = pd.Series([0, 1], name="H")
    ax = plotting.plot_confusion(same, same)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("H (first)", "H (second)")


def test_partitions_must_be_of_the_same_rows():
    two = pd.DataFrame({"A": [0, 1], "B": [1, 0]})
    with pytest.raises(ValueError, match=r"second has 2 columns; give one of them, as predict\(X\)\['H'\]"):
        plotting.plot_confusion([0, 1], two)
    with pytest.raises(ValueError, match="first has 2 rows and second has 3; give partitions of the same rows"):
        plotting.plot_confusion([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="the indices of first and second differ; give partitions of the same rows"):
        plotting.plot_confusion(two["A"], two["B"].sort_index(ascending=False))
    with pytest.raises(ValueError, match="there is no row in which first and second are both known"):
        plotting.plot_confusion([0, None], [None, 1])


# Unusual rows -------------------------------------------------------------------------------------


def test_rows_are_compared_with_rows_of_the_model():
    tree = datasets.hlc_model(7, random_state=0)
    frame = sample(tree, 3000, random_state=1)
    ax = plotting.plot_anomalies(tree, frame)
    share = float(ax.get_title(loc="left").split("%")[0])
    values = row_log_likelihoods(tree, frame)
    threshold = ax.lines[0].get_xdata()[0]
    assert share == pytest.approx(100 * (values < threshold).mean(), abs=0.05)
    assert 0.3 < share < 2.5  # one in a hundred is expected
    drawn, given = (polygon.get_xy() for polygon in ax.patches)
    assert given[:, 0].min() <= values.min() <= values.max() <= given[:, 0].max()
    np.testing.assert_allclose([drawn[:, 0].min(), drawn[:, 0].max()], [given[:, 0].min(), given[:, 0].max()])


def test_odd_rows_are_noticed():
    tree = datasets.hlc_model(7, random_state=0)
    anything = pd.DataFrame(np.random.default_rng(0).integers(3, size=(2000, 7)), columns=list(tree.observed_names))
    assert float(plotting.plot_anomalies(tree, anything).get_title(loc="left").split("%")[0]) > 2.5


def test_gaps_are_drawn_as_well():
    tree = datasets.hlc_model(7, random_state=0)
    frame = sample(tree, 3000, random_state=1).astype(object)
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.6)
    share = float(plotting.plot_anomalies(tree, frame).get_title(loc="left").split("%")[0])
    assert 0.3 < share < 2.5


def test_weights_are_repeated_rows_and_impossible_rows_are_counted():
    tree = small_tree()
    frame = pd.DataFrame({"x": ["no", "yes", "yes"], "y": ["a", "a", "b"]})
    ax = plotting.plot_anomalies(tree, frame, sample_weight=[2, 1, 1])
    repeated = plotting.plot_anomalies(tree, frame.iloc[[0, 0, 1, 2]])
    np.testing.assert_array_equal(ax.patches[1].get_xy(), repeated.patches[1].get_xy())
    never = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[1.0, 0.0]]])
    title = plotting.plot_anomalies(never, pd.DataFrame({"x": ["a", "b"]})).get_title(loc="left")
    assert title.splitlines()[1] == "50.0% are impossible under the model and not shown"


def test_all_pictures_use_the_axes_they_get(survey, learner):
    _, axes = plt.subplots(2, 3)
    drawn = [
        plotting.plot_profiles(learner, ax=axes[0, 0]),
        plotting.plot_history(learner, ax=axes[0, 1]),
        plotting.plot_comparison(comparison(), ax=axes[0, 2]),
        plotting.plot_residuals(pairs(), ax=axes[1, 0]),
        plotting.plot_confusion([0, 1], [0, 1], ax=axes[1, 1]),
        plotting.plot_anomalies(learner, survey, ax=axes[1, 2]),
    ]
    assert all(ax is given for ax, given in zip(drawn, axes.ravel(), strict=True))
