"""Tables drawn anew, how well models describe them, and the sentence that recommends one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import CategoricalData, encode, log_likelihood, sample
from pgmpy_latent.diagnostics.goodness import degrees_of_freedom, deviance_and_pearson
from pgmpy_latent.diagnostics.resampling import batches, drawn_from_model, drawn_from_rows, n_rows_of
from pgmpy_latent.exceptions import WeightError
from pgmpy_latent.inference.queries import encode_for
from pgmpy_latent.runtime.parallel import work_through
from pgmpy_latent.selection import class_draws
from pgmpy_latent.selection.class_choice import recommended
from pgmpy_latent.selection.class_draws import Refit, refitted
from tests.support.samples import latent_class, small_tables


def generators(n, seed=0):
    return [np.random.default_rng([seed, at]) for at in range(n)]


@given(small_tables(), st.integers(1, 4))
def test_drawn_tables_have_the_rows_and_gaps_of_the_given_one(data, n_draws):
    model = latent_class(2, data.cards)
    if (data.n_rows if data.weight_kind == "sampling" else round(data.total_weight)) < 2:
        with pytest.raises(WeightError, match="too few for a bootstrap; scale them"):
            n_rows_of(data)
        return
    draws = drawn_from_model(model, data, generators(n_draws))
    n = n_rows_of(data)
    assert draws.weights.shape == (n_draws, draws.data.n_distinct)
    total = data.total_weight if data.weight_kind == "sampling" else n
    np.testing.assert_allclose(draws.weights.sum(axis=1), total, rtol=1e-12)
    np.testing.assert_allclose(draws.weights.sum(axis=0), draws.data.weights, rtol=1e-12)
    assert len(np.unique(draws.data.codes, axis=0)) == draws.data.n_distinct
    assert draws.data.state_names == data.state_names

    def share_of_gaps(codes, weights):
        return weights @ (codes < 0) / weights.sum()

    for weights in draws.weights:
        gaps = share_of_gaps(draws.data.codes, weights)
        assert np.abs(gaps - share_of_gaps(data.codes, data.weights)).max() <= len(data.codes) / n


def test_tables_are_drawn_from_the_model():
    model = latent_class(2, [2, 3])
    data = encode_for(model, sample(model, 20_000, random_state=0))
    draws = drawn_from_model(model, data, generators(2))
    found = [encode(CategoricalData(data.columns, data.state_names, draws.data.codes, own)) for own in draws.weights]
    expected = log_likelihood(model, data) / 20_000
    for table in found:
        assert log_likelihood(model, table) / 20_000 == pytest.approx(expected, abs=0.02)
    assert (draws.weights[0] != draws.weights[1]).any()


def test_a_draw_does_not_depend_on_the_others():
    model = latent_class(2, [2, 3])
    data = encode_for(model, sample(model, 50, random_state=0))
    both = drawn_from_model(model, data, generators(2))
    alone = drawn_from_model(model, data, generators(2)[1:])
    there = both.weights[1] > 0
    np.testing.assert_array_equal(both.data.codes[there], alone.data.codes)
    np.testing.assert_array_equal(both.weights[1][there], alone.weights[0])


def test_rows_are_drawn_by_their_weights():
    data = CategoricalData(["x"], [["a", "b", "c"]], [[-1], [0], [2]], [0.1, 3000.2, 6999.9])
    drawn = drawn_from_rows(data, np.random.default_rng(0))
    assert drawn.total_weight == 10_000
    assert drawn.state_names == data.state_names
    assert set(drawn.codes[:, 0]) <= {-1, 0, 2}
    assert drawn.weights[-1] == pytest.approx(7000, abs=150)


def test_batches_are_small_where_tables_are_large():
    many = CategoricalData(range(12), [[0, 1]] * 12, np.arange(100)[:, None] >> np.arange(12) & 1, np.ones(100))
    assert [len(batch) for batch in batches(many, 12)] == [5, 5, 2]
    assert batches(many, 0) == []
    few = many.select(range(5))
    assert [len(batch) for batch in batches(few, 60)] == [25, 25, 10]


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_work_that_is_interrupted_returns_what_was_finished(n_jobs):
    def work(item):
        if item == 3:
            raise KeyboardInterrupt
        return item * 10

    assert work_through(work, [0, 1, 2], n_jobs) == ([0, 10, 20], False)
    results, interrupted = work_through(work, [0, 1, 2, 3, 4, 5], n_jobs)
    assert interrupted
    assert set(results) <= {0, 10, 20, 40, 50}
    if n_jobs != 2:
        assert results == [0, 10, 20]


def test_other_errors_of_the_work_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        work_through(lambda item: 1 / item, [1, 0], 2)


# misfit


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_misfit_equals_the_sum_over_all_cells(seed, n_cells):
    rng = np.random.default_rng(seed)
    weights, chances = rng.poisson(2.0, n_cells).astype(float) + np.eye(n_cells)[0], rng.dirichlet(np.ones(n_cells))
    expected = weights.sum() * chances
    seen = weights > 0
    g2, x2 = deviance_and_pearson(weights, np.log(chances))
    assert g2 == pytest.approx(2 * (weights[seen] * np.log(weights[seen] / expected[seen])).sum(), abs=1e-9)
    assert x2 == pytest.approx(((weights - expected) ** 2 / expected).sum(), rel=1e-9, abs=1e-9)
    alone = deviance_and_pearson(weights[seen], np.log(chances[seen]))
    np.testing.assert_allclose(alone, [g2, x2], atol=1e-9, rtol=1e-9)


def test_an_impossible_row_that_does_not_occur_costs_nothing():
    g2, x2 = deviance_and_pearson(np.array([[3.0, 0.0], [1.0, 1.0]]), np.array([[0.0, -np.inf], [0.0, -np.inf]]))
    assert (g2[0], x2[0]) == (0.0, 0.0)
    assert g2[1] == np.inf


def test_cells_beyond_counting_have_no_degrees_of_freedom():
    wide = CategoricalData(range(60), [[0, 1]] * 60, np.zeros((1, 60)), [1.0])
    assert degrees_of_freedom(wide, 10) is None


# fits to drawn tables


@pytest.mark.parametrize("steps", [1, 2])
def test_a_larger_model_never_fits_a_drawn_table_worse(steps):
    model, larger = latent_class(2, [2, 2, 3]), latent_class(2 + steps, [2, 2, 3])
    data = encode_for(model, sample(model, 60, random_state=0))
    seeds = [np.random.SeedSequence(0, spawn_key=(at,)) for at in range(6)]
    refit = refitted(model, larger, data, seeds, 0.0)
    assert (refit.ratio >= 0).all()
    assert (refit.ratio > 0).any()
    assert (refit.g2 >= refit.ratio - 0.05).all()  # nothing describes a table better than the table itself


def test_drawn_tables_are_fitted_as_well_as_by_many_starts(monkeypatch):
    model, larger = latent_class(2, [2, 2, 3, 2]), latent_class(3, [2, 2, 3, 2])
    data = encode_for(model, sample(model, 200, random_state=0))
    seeds = [np.random.SeedSequence(0, spawn_key=(at,)) for at in range(20)]
    quick = refitted(model, larger, data, seeds, 0.0)
    monkeypatch.setattr(class_draws, "RANDOM_STARTS", 60)
    monkeypatch.setattr(class_draws, "STAGES", ())
    thorough = refitted(model, larger, data, seeds, 0.0)
    np.testing.assert_allclose(quick.g2, thorough.g2, atol=0.05)
    assert np.mean(quick.ratio) > 0.95 * np.mean(thorough.ratio)
    assert np.min(thorough.ratio - quick.ratio) > -0.05


def test_batches_are_joined_in_order():
    parts = [
        Refit(np.array([1.0]), np.array([2.0]), np.array([3.0])),
        Refit(np.array([4.0]), np.array([5.0]), np.array([6.0])),
    ]
    joined = Refit.joined(parts)
    assert (joined.g2.tolist(), joined.x2.tolist(), joined.ratio.tolist()) == ([1, 4], [2, 5], [3, 6])
    assert Refit.joined([Refit(np.ones(1), np.ones(1), None)]).ratio is None


# the recommendation


def comparison(**columns):
    """Return a table of 1, 2 and 3 classes, in which nothing speaks against 2."""
    usual = {
        "bic": [-30.0, -10.0, -12.0], "n_parameters": [3, 7, 11], "effective_dimension": [3, 7, 11],
        "identified": [True] * 3, "smallest_share": [1.0, 0.4, 0.2], "n_best": 8, "n_starts": 8,
        "g2_p": [0.01, 0.4, 0.6], "blrt_p": [np.nan, 0.01, 0.3],
    }  # fmt: skip
    return pd.DataFrame({**usual, **columns}, index=[1, 2, 3])


def test_the_best_bic_is_recommended():
    assert recommended(comparison()) == (2, "BIC is best with 2 classes, by 2.0 over 3 classes.")


@pytest.mark.parametrize(
    ("columns", "doubt"),
    [
        ({"blrt_p": [np.nan, 0.01, 0.02]}, "asks for more (3 against 2, p = 0.020)"),
        ({"blrt_p": [np.nan, 0.2, 0.02]}, "stops at 1 class (2 against 1, p = 0.200)"),
        ({"g2_p": [0.01, 0.03, 0.6]}, "deviates from it by more than chance would (G², p = 0.030)"),
        ({"identified": [True, False, True], "effective_dimension": 6}, "its 7 parameters reach only 6 dimensions"),
        ({"smallest_share": [1.0, 0.012, 0.1]}, "its smallest class holds only 1.2 % of the rows"),
        ({"n_best": 1}, "only one of 8 random starts reached its best value, so raise n_starts"),
        ({"n_best": 0}, "none of 8 random starts reached its best value"),
        ({"bic": [-30.0, -20.0, -12.0], "blrt_p": [np.nan, 0.01, 0.01]}, "it is the largest number compared"),
    ],
)
def test_what_speaks_against_it(columns, doubt):
    _, reason = recommended(comparison(**columns))
    first, second = reason.split(" But ")
    assert first.startswith("BIC is best with")
    assert doubt in second
    assert ";" not in second
    assert second.endswith(".")


@pytest.mark.parametrize(
    "columns", [{"identified": None}, {"blrt_p": np.nan}, {"g2_p": np.nan}, {"n_best": 0, "n_starts": 0}]
)
def test_what_is_not_known_does_not_speak_against_it(columns):
    assert recommended(comparison(**columns))[1] == "BIC is best with 2 classes, by 2.0 over 3 classes."


def test_a_single_number_needs_no_comparison():
    assert recommended(comparison().loc[[2]]) == (2, "No other number than 2 classes was compared.")


def test_several_doubts_make_one_sentence():
    _, reason = recommended(comparison(n_best=0, g2_p=0.001, smallest_share=0.01))
    assert reason.count(". ") == 1
    assert "; and none of 8" in reason
