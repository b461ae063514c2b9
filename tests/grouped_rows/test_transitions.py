"""Latent transition models: published figures, a hidden Markov model by hand, gaps, weights and paths."""

import itertools

import numpy as np
import pandas as pd
import pytest

from benchmarks import runner
from pgmpy_latent import latent_transition, plotting
from pgmpy_latent.exceptions import DataError
from tests.support.reference import hidden_markov_log_likelihood

needs_data = pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")


def panel(n=150, n_times=4, seed=0, gaps=0.0):
    rng = np.random.default_rng(seed)
    move, show = np.array([[0.85, 0.15], [0.25, 0.75]]), np.array([[0.8, 0.15, 0.05], [0.1, 0.2, 0.7]])
    rows = []
    for person in range(n):
        state = rng.integers(2)
        for time in range(n_times):
            if rng.random() >= gaps:
                rows.append(
                    (f"p{person}", 2000 + time, int(rng.choice(3, p=show[state])), rng.random() < 0.3 + 0.4 * state)
                )
            state = rng.choice(2, p=move[state])
    return pd.DataFrame(rows, columns=["who", "year", "mood", "works"])


def fitted(table, **options):
    return latent_transition(table, "who", "year", ["mood", "works"], 2, n_starts=6, show_progress=False, **options)


@needs_data
@pytest.mark.parametrize(("k", "value", "n"), [(2, -13_921.09, 11), (3, -13_557.2, 20), (4, -13_392.93, 31)])
def test_health_of_russians_meets_the_published_figures(k, value, n):
    table = pd.read_csv(runner.DATA / "lca_rlms_long.csv")
    found = latent_transition(table, "id", "time", ["value"], k, show_progress=False)
    assert found.log_likelihood_ == pytest.approx(value, abs=0.006)
    assert found.n_parameters_ == n
    assert found.bic_ == pytest.approx(found.log_likelihood_ - n / 2 * np.log(1718))


@needs_data
@pytest.mark.parametrize(("by_time", "value", "n"), [(True, -6_900.447, 17), (False, -6_903.646, 7)])
def test_fertility_and_work_meet_the_published_figures(by_time, value, n):
    table = pd.read_csv(runner.DATA / "lca_psid_long.csv.gz")
    found = latent_transition(table, "id", "time", ["Y1Fertility", "Y2Employment"], 2, by_time, show_progress=False)
    assert (round(found.log_likelihood_, 3), found.n_parameters_) == (value, n)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_one_item_is_a_hidden_markov_model(gaps):
    table = panel(gaps=gaps, seed=1)
    found = latent_transition(table, "who", "year", ["mood"], 2, n_starts=6)
    wide = table.pivot(index="who", columns="year", values="mood")
    codes = wide.fillna(-1).to_numpy(int)
    begin, move = found.shares_.iloc[0].to_numpy(), found.transitions_.to_numpy()
    show = found.profiles_.to_numpy().T
    assert hidden_markov_log_likelihood(codes, begin, move, show) == pytest.approx(found.log_likelihood_, abs=1e-8)


def test_the_most_likely_paths_are_jointly_the_most_likely():
    table = panel(n=25, gaps=0.25, seed=2)
    found = fitted(table)
    begin, move = found.shares_.iloc[0].to_numpy(), found.transitions_.to_numpy()
    paths = found.paths()
    for who, rows in table.groupby("who"):
        values = {}
        for path in itertools.product(range(2), repeat=4):
            value = np.log(begin[path[0]]) + sum(np.log(move[a, b]) for a, b in itertools.pairwise(path))
            for row in rows.itertuples():
                state = path[row.year - 2000]
                value += np.log(found.profiles_.loc[("mood", row.mood), state])
                value += np.log(found.profiles_.loc[("works", str(row.works)), state])
            values[path] = value
        assert values[tuple(paths.loc[who])] == pytest.approx(max(values.values()), abs=1e-9)
    pd.testing.assert_frame_equal(found.paths(table.iloc[::-1]).sort_index(), paths.sort_index())


def test_order_of_rows_and_repeated_people_change_nothing():
    table = panel(n=60, gaps=0.2, seed=3)
    found = fitted(table)
    shuffled = fitted(table.sample(frac=1, random_state=0))
    assert shuffled.log_likelihood_ == pytest.approx(found.log_likelihood_, abs=1e-3)
    twice = pd.concat([table, table.assign(who=table["who"] + "again")])
    weighted = fitted(table.assign(w=2), sample_weight="w")
    assert weighted.log_likelihood_ == pytest.approx(fitted(twice).log_likelihood_, abs=1e-3)
    assert weighted.bic_ == pytest.approx(weighted.log_likelihood_ - weighted.n_parameters_ / 2 * np.log(120), abs=1e-6)


def test_transitions_by_time_fit_at_least_as_well():
    table = panel(n=80, seed=4)
    equal, by_time = fitted(table), fitted(table, by_time=True)
    assert by_time.log_likelihood_ >= equal.log_likelihood_ - 1e-3
    assert by_time.n_parameters_ - equal.n_parameters_ == 2 * 2 * 1
    assert by_time.transitions_.shape == (6, 2)
    np.testing.assert_allclose(by_time.transitions_.sum(axis=1), 1)
    assert by_time.model_.check_model()
    ordered = fitted(table, ordinal=["mood"])
    assert ordered.n_parameters_ == equal.n_parameters_ - 1
    assert (
        fitted(table.assign(mood=pd.Categorical(table["mood"], ordered=True)), ordinal=True).n_parameters_
        == ordered.n_parameters_
    )


def test_a_picture_is_drawn():
    found = fitted(panel(n=40, seed=5), by_time=True)
    ax = plotting.plot_transitions(found)
    assert ax.get_title(loc="left") == "2 hidden states at 4 times"
    assert len(ax.collections) == 3 * 4
    with pytest.raises(TypeError, match="give what latent_transition returns"):
        plotting.plot_transitions(3)


TABLE = panel(n=10, seed=6)


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        (3, {}, TypeError, "give a DataFrame"),
        (TABLE.drop(columns="mood"), {}, DataError, "no column 'mood'"),
        (TABLE.assign(who=None), {}, DataError, "'who' has no value"),
        (TABLE.assign(year=np.nan), {}, DataError, "'year' has no time"),
        (TABLE.assign(year=1), {}, DataError, "several rows at time 1"),
        (TABLE[TABLE["year"] == 2000], {}, DataError, "one time only"),
        (TABLE, {"sample_weight": np.arange(40.0)}, DataError, "sample_weight differs between the rows of"),
        (TABLE, {"strata": [1, 2]}, DataError, "strata is of shape"),
        (TABLE, {"ordinal": ["zzz"]}, DataError, "ordinal names"),
    ],
)
def test_mistakes_are_refused(table, options, error, words):
    with pytest.raises(error, match=words):
        fitted(table, **options)


def test_unknown_times_of_new_rows_are_refused():
    found = fitted(panel(n=40, seed=5))
    with pytest.raises(DataError, match="which the model does not know"):
        found.paths(TABLE.assign(year=TABLE["year"] + 1))


# The order of times --------------------------------------------------------------------------------


def waves(labels):
    """The same people, with other labels of the three waves."""
    rng = np.random.default_rng(0)
    state = rng.random(200) < 0.8
    rows = []
    for wave, label in enumerate(labels):
        state &= rng.random(200) < (1.0, 0.6, 0.6)[wave]
        answers = {item: (rng.random(200) < np.where(state, 0.9, 0.2)).astype(int) for item in ("x", "y")}
        rows.append(pd.DataFrame({"id": range(200), "wave": [label] * 200, **answers}))
    return pd.concat(rows, ignore_index=True)


def test_times_are_in_the_order_of_an_ordered_categorical():
    labels = ["before", "during", "after"]
    numbered = latent_transition(waves([0, 1, 2]), "id", "wave", ["x", "y"], 2, n_starts=4, show_progress=False)
    table = waves(labels)
    table["wave"] = pd.Categorical(table["wave"], [*labels, "never"], ordered=True)
    ordered = latent_transition(table, "id", "wave", ["x", "y"], 2, n_starts=4, show_progress=False)
    assert ordered.log_likelihood_ == pytest.approx(numbered.log_likelihood_, abs=1e-6)
    assert list(ordered.shares_.index) == labels
    np.testing.assert_allclose(ordered.transitions_, numbered.transitions_, atol=1e-4)


@pytest.mark.parametrize("kind", ["str", "category"])
def test_times_that_are_texts_are_refused(kind):
    table = waves(["wave 2", "wave 9", "wave 10"]).astype({"wave": kind})
    with pytest.raises(DataError, match=r"column .wave. has times that are texts.*ordered Categorical"):
        latent_transition(table, "id", "wave", ["x", "y"], 2)


def test_missing_weights_are_named():
    table = waves([0, 1, 2]).assign(w=1.0)
    table.loc[3, "w"] = np.nan
    with pytest.raises(DataError, match="sample_weight has no value in row 3"):
        latent_transition(table, "id", "wave", ["x", "y"], 2, sample_weight="w")


def test_a_single_item_needs_a_list():
    table = pd.DataFrame({"id": [1, 1, 2, 2], "wave": [1, 2, 1, 2], "health": [0, 1, 1, 1]})
    with pytest.raises(DataError, match=r"items is 'health'; give a list of columns, as \['health'\]"):
        latent_transition(table, "id", "wave", "health", 2)
    with pytest.raises(DataError, match=r"ordinal is 'health'; give a list of columns, as \['health'\]"):
        latent_transition(table, "id", "wave", ["health"], 2, ordinal="health")


def test_an_item_that_nobody_answered_at_one_time_is_summed_out_there():
    table = panel(seed=3).astype({"works": object})
    table.loc[table["year"] == 2001, "works"] = None
    found = fitted(table)
    assert found.n_parameters_ == fitted(panel(seed=3)).n_parameters_
    assert found.estimator_.log_likelihood_ > fitted(panel(seed=3)).log_likelihood_
