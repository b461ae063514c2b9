"""EM with numeric columns: its M-steps against a general optimiser, and the laws that any EM obeys."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.models import DiscreteBayesianNetwork
from scipy import optimize, stats
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

from pgmpy_latent import RandomStarts, SplitMerge, TreeEM
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import StartInputs, StartRows, make_start
from pgmpy_latent.em.step import Problem, step
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.kernels.numbers import dispersion_of
from pgmpy_latent.inference.queries import row_log_likelihoods
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import encode

KINDS = {"g": "gaussian", "s": "shared_gaussian", "p": "poisson", "b": "negative_binomial"}


def mixed_frame(n_rows=200, seed=0, missing=0.1):
    """Return a table of two classes with a column of every kind."""
    rng = np.random.default_rng(seed)
    h = rng.integers(2, size=n_rows)
    frame = pd.DataFrame(
        {
            "c": np.array(["no", "yes"])[(rng.random(n_rows) < np.array([0.2, 0.8])[h]).astype(int)],
            "g": rng.normal(np.array([0.0, 2.0])[h], np.array([1.0, 0.5])[h]),
            "s": rng.normal(np.array([10.0, 12.0])[h], 1.0),
            "p": rng.poisson(np.array([1.0, 5.0])[h]).astype(float),
            "b": rng.negative_binomial(2, np.array([0.5, 0.2])[h]).astype(float),
        }
    )
    return frame.mask(rng.random(frame.shape) < missing)


def model_of(frame, n_states=2):
    """Return the network of one hidden variable above all columns."""
    return DiscreteBayesianNetwork([("H", name) for name in frame.columns], latents={"H"})


def fitted(frame, kinds=None, n_states=2, **options):
    """Return TreeEM, fitted."""
    options = {"n_init": 4, "seed": 0, "show_progress": False, **options}
    weights = options.pop("sample_weight", None)
    estimator = TreeEM(latent_card=n_states, **options)
    return estimator.fit(model_of(frame), frame, sample_weight=weights, kinds=KINDS if kinds is None else kinds)


def starting_point(frame, kinds, seed=0, n_states=2):
    """Return an engine for one hidden variable, and the tables of a start."""
    data = encode(frame, numeric={name: kind for name, kind in kinds.items() if name in frame})
    parents = [(), *[(0,)] * len(data.columns)]
    from pgmpy_latent.inference.queries import network_engine

    cards = np.array([n_states, *data.cards])
    engine = network_engine(["H", *data.columns], parents, cards, data)
    inputs = StartInputs(engine.layout, parents, cards, StartRows.of(data, ["H", *data.columns]))
    return engine, make_start("memberships", inputs, np.random.SeedSequence(seed)), data


# M-steps ------------------------------------------------------------------------------------------


def best_by_optimiser(kind, values, weights):
    """Return the largest weighted log-likelihood of some values, by a general optimiser."""

    def loss(theta):
        if kind == "gaussian":
            logs = stats.norm.logpdf(values, theta[0], np.exp(theta[1]))
        elif kind == "poisson":
            logs = stats.poisson.logpmf(values, np.exp(theta[0]))
        else:
            size = np.exp(-theta[1])
            logs = stats.nbinom.logpmf(values, size, size / (size + np.exp(theta[0])))
        return -float(weights @ logs)

    mean = float(np.average(values, weights=weights))
    begin = [mean, 0.0] if kind == "gaussian" else [np.log(mean), -1.0]
    found = optimize.minimize(loss, begin[: 1 if kind == "poisson" else 2], method="Nelder-Mead",
                              options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 10_000})  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "negative_binomial"])
@pytest.mark.parametrize("seed", range(4))
def test_m_steps_are_maxima(kind, seed):
    rng = np.random.default_rng(seed)
    drawn = {
        "gaussian": lambda: rng.normal(5, 2, 60),
        "poisson": lambda: rng.poisson(3, 60),
        "negative_binomial": lambda: rng.negative_binomial(1.5, 0.1, 60),
    }[kind]()
    frame = pd.DataFrame({"x": drawn.astype(float)})
    data = encode(frame, numeric={"x": kind}, sample_weight=rng.integers(1, 5, 60))
    from pgmpy_latent.inference.queries import network_engine

    engine = network_engine(["x"], [()], data.cards, data)
    flat = np.full(engine.layout.size, 1 / engine.layout.size)
    for _ in range(2):  # a step of EM without hidden variables is an M-step
        log_likelihood, _, new = step(Problem(engine), flat[None])
        flat = new[0]
    values = np.array([data.values["x"][code] for code in data.codes[:, 0]])
    assert log_likelihood[0] == pytest.approx(best_by_optimiser(kind, values, data.weights), abs=1e-6)


@given(st.lists(st.integers(0, 300), min_size=2, max_size=30), st.floats(1e-6, 1e3))
def test_dispersions_are_where_the_slope_is_zero_or_at_a_bound(values, start):
    values, counts = np.unique(np.array(values, float), return_counts=True)
    found = dispersion_of(values, counts.astype(float), start)

    def value(dispersion):
        size, mean = 1 / dispersion, np.average(values, weights=counts)
        return float(counts @ stats.nbinom.logpmf(values, size, size / (size + mean)))

    if values.max() > 0:
        for other in (found * 0.9, found * 1.1, 1e-3, 0.1, 1.0, 10.0):
            if 1e-7 <= other <= 1e4 and found > 1e-7:
                assert value(found) >= value(other) - 1e-7 * (1 + abs(value(found)))


# Laws ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([(), ("g",), ("s",), ("p",), ("b",)]))
def test_plain_em_never_falls(seed, without):
    frame = mixed_frame(60, seed).drop(columns=list(without))
    engine, flat, _ = starting_point(frame, KINDS, seed)
    values = []
    for _ in range(12):
        log_likelihood, _, new = step(Problem(engine), flat[None])
        values.append(log_likelihood[0])
        flat = new[0]
    assert np.diff(values).min() >= -1e-9 * np.abs(values).max()


@pytest.mark.parametrize("seed", range(3))
def test_em_with_leaps_never_falls_and_converges(seed):
    engine, flat, _ = starting_point(mixed_frame(150, seed), KINDS, seed, n_states=3)
    found = em.fit(engine, flat, retry=True)
    assert found.converged
    assert np.diff(found.log_likelihoods).min() >= -1e-9 * abs(found.log_likelihood)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_numerical_gradients_are_those_of_expected_features(missing):
    kinds = {"g": "gaussian", "p": "poisson"}
    engine, flat, data = starting_point(mixed_frame(40, missing=missing)[["c", "g", "p"]], kinds)
    _, counts = engine.expected_counts(flat)
    tables, found = engine.layout.unpack(flat), engine.layout.unpack(counts)

    def slope(at, emission, now, mean, variance):
        """Return the slope of the log-likelihood along a small step of means and variances."""
        ends = [emission.table(now.mean + sign * mean, now.variance + sign * variance) for sign in (1, -1)]
        flats = [engine.layout.pack([*tables[:at], end, *tables[at + 1 :]]) for end in ends]
        up, down = (float(engine.log_likelihood(one)) for one in flats)
        return (up - down) / 2

    for at, emission in emissions_of(tree_like(data)).items():
        now, hits = emission.parameters(tables[at]), found[at].sum(axis=1)
        seen = emission.parameters(found[at] / hits[:, None])
        for state in range(2):
            small = 1e-4 * np.eye(2)[state]
            apart = hits[state] * (seen.mean[state] - now.mean[state]) / now.variance[state]
            by_mean = slope(at, emission, now, small, 0 * small)
            assert by_mean == pytest.approx(1e-4 * apart, rel=1e-4, abs=1e-8)
            if emission.is_gaussian:
                wider = seen.variance[state] + (seen.mean[state] - now.mean[state]) ** 2 - now.variance[state]
                expected = hits[state] * wider / (2 * now.variance[state] ** 2)
                by_variance = slope(at, emission, now, 0 * small, small)
                assert by_variance == pytest.approx(1e-4 * expected, rel=1e-4, abs=1e-7)


def tree_like(data, n_states=2):
    """Return one hidden variable above all columns, which stands for the order and the kinds of its nodes."""
    tables = [np.full((1, n_states), 1 / n_states), *(np.full((n_states, card), 1 / card) for card in data.cards)]
    states = [tuple(range(n_states)), *data.state_names]
    names, is_hidden = ["H", *data.columns], [True, *[False] * len(data.columns)]
    return LatentTree(names, states, [-1, *[0] * len(data.columns)], is_hidden, tables)


@pytest.mark.parametrize("n_states", [2, 3])
def test_latent_profiles_are_no_worse_than_diagonal_mixtures_of_scikit_learn(n_states):
    numbers = pd.DataFrame(load_iris().data, columns=list("wxyz"))
    learner = RandomStarts(n_states=n_states, n_starts=8, random_state=0, show_progress=False)
    learner.fit(numbers, kinds="auto")
    theirs = GaussianMixture(n_states, covariance_type="diag", reg_covar=1e-6, n_init=5, random_state=0, tol=1e-6)
    theirs.fit(numbers.to_numpy())
    assert learner.log_likelihood_ >= theirs.score(numbers.to_numpy()) * len(numbers) - 0.01


def test_a_weight_equals_a_repeated_row():
    frame = mixed_frame(80)
    weights = np.random.default_rng(1).integers(1, 4, len(frame))
    weighted = fitted(frame, sample_weight=weights)
    repeated = fitted(frame.loc[frame.index.repeat(weights)])
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, abs=1e-6)
    assert np.allclose(weighted.emissions_["mean"], repeated.emissions_["mean"], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, -2.5, 1e6])
def test_affine_changes_of_a_column(factor):
    frame = mixed_frame(150)
    changed = frame.assign(g=factor * frame["g"] + 7, s=frame["s"] / factor)
    one, other = fitted(frame), fitted(changed)
    n_g, n_s = frame["g"].notna().sum(), frame["s"].notna().sum()
    expected = one.log_likelihood_ - (n_g - n_s) * np.log(abs(factor))
    assert other.log_likelihood_ == pytest.approx(expected, abs=2e-4)
    means, new = one.emissions_.loc["g", "mean"].to_numpy(), other.emissions_.loc["g", "mean"].to_numpy()
    assert np.allclose(factor * means + 7, new, rtol=2e-3)
    sds, new = one.emissions_.loc["g", "sd"].to_numpy(), other.emissions_.loc["g", "sd"].to_numpy()
    assert np.allclose(abs(factor) * sds, new, rtol=2e-3)


def test_categories_alone_are_bit_for_bit_what_they_are_without_kinds():
    frame = mixed_frame(100)[["c"]].assign(d=list("abcab") * 20, e=list("xy") * 50)
    plain = RandomStarts(n_states=2, random_state=0).fit(frame)
    mixed = RandomStarts(n_states=2, random_state=0).fit(frame, kinds=dict.fromkeys(frame, "categorical"))
    assert plain.tree_ == mixed.tree_
    assert plain.log_likelihood_ == mixed.log_likelihood_


def test_the_metric_makes_steps_of_em_symmetric():
    engine, flat, _ = starting_point(mixed_frame(150, missing=0.2)[["c", "g", "p"]], KINDS, 0)
    found = em.fit(engine, flat, atol=1e-9)
    problem, at = Problem(engine), found.tables
    metric = problem.metric(at)
    rng = np.random.default_rng(0)

    def direction():
        way = rng.normal(size=at.shape) * at
        return way - at * engine.layout.row_sums(way)

    def image(way):
        size = 1e-6 / np.abs(way).max()
        ends = [step(problem, (at + sign * size * way)[None])[2][0] for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * size)

    one, other = direction(), direction()
    left, right = metric.inner(one, image(other)), metric.inner(image(one), other)
    assert left == pytest.approx(right, rel=1e-4)


def test_variances_have_a_floor():
    frame = pd.DataFrame({"x": np.r_[np.zeros(20), np.linspace(1, 9.7, 40)], "y": np.r_[np.zeros(20), np.arange(40.0)]})
    learner = RandomStarts(n_states=3, n_starts=8, random_state=0).fit(frame, kinds={"x": "gaussian", "y": "gaussian"})
    emission = emissions_of(learner.tree_)[learner.tree_.index("x")]
    least = np.sqrt(emission.floor) * emission.scale
    assert learner.emissions_.loc["x", "sd"].min() == pytest.approx(least)
    assert least <= 0.1 * frame["x"].std()


def test_shared_variances_are_equal_and_count_once():
    estimator = fitted(mixed_frame(150), n_states=3)
    sds = estimator.emissions_.loc["s", "sd"].to_numpy()
    assert np.allclose(sds, sds[0], rtol=1e-12)
    assert estimator.n_parameters_ == 2 + 3 + 6 + 4 + 3 + 6


def test_a_model_of_one_state_is_that_of_independent_columns():
    frame = mixed_frame(100, missing=0.0)
    learner = RandomStarts(n_states=1).fit(frame[["g", "p"]], kinds={"g": "gaussian", "p": "poisson"})
    expected = stats.norm.logpdf(frame["g"], frame["g"].mean(), frame["g"].std(ddof=0)).sum()
    expected += stats.poisson.logpmf(frame["p"], frame["p"].mean()).sum()
    assert learner.log_likelihood_ == pytest.approx(expected, rel=1e-10)


def test_what_is_fitted_has_the_likelihood_that_it_says():
    frame = mixed_frame(120)
    for learner in (RandomStarts(n_states=2, random_state=0), SplitMerge(random_state=0)):
        kinds = {name: kind for name, kind in KINDS.items()}
        learner.fit(frame, kinds=kinds)
        assert row_log_likelihoods(learner.tree_, frame).sum() == pytest.approx(learner.log_likelihood_, rel=1e-9)
        assert set(learner.model_.nodes()) == {"c", *learner.latents_}
        assert learner.kinds_ == {"c": "categorical", **KINDS}


def test_priors_leave_numbers_alone():
    frame = mixed_frame(120)[["g", "p"]]
    plain, with_prior = (fitted(frame, {"g": "gaussian", "p": "poisson"}, 1, prior=prior) for prior in (None, 5.0))
    assert plain.emissions_.equals(with_prior.emissions_)


# Errors before work -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        ([1.0, np.inf, 2.0], "gaussian", r"column 'x' holds infinity \(inf\); make it NaN"),
        ([2.0, 2.0, 2.0], "gaussian", "column 'x' holds nothing but 2, which says nothing about hidden variables"),
        (["a", "b", "c"], "gaussian", "column 'x' holds .* which is no number; say 'categorical'"),
        ([1.0, 2.5, 3.0], "poisson", r"column 'x' is said to hold counts, but it holds 2.5"),
        ([-1.0, 2.0, 3.0], "negative_binomial", "column 'x' is said to hold counts, but it holds -1"),
        ([1, 2, 3], "gaussian", "column 'x' holds 3 different whole numbers, which look like codes of categories"),
        ([True, False, True], "gaussian", "column 'x' holds bool values, which are no numbers"),
    ],
)
def test_columns_that_cannot_be_numbers(column, kind, words):
    frame = pd.DataFrame({"x": column, "y": [0.5, 1.5, 2.25]})
    with pytest.raises(DataError, match=words):
        RandomStarts(n_states=2).fit(frame, kinds={"x": kind})


def test_numbers_that_look_like_codes_for_missing_answers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": [*rng.integers(1, 6, 99), 99], "y": rng.normal(size=100)})
    with pytest.raises(
        DataError, match=r"'age' is a number, and 99 in it looks like a code .* missing=\{'age': \[99\]\}"
    ):
        RandomStarts(n_states=2).fit(frame, kinds={"age": "gaussian"})
    learner = RandomStarts(n_states=2).fit(frame, kinds={"age": "gaussian"}, missing={"age": 99})
    assert learner.emissions_.loc["age", "mean"].max() < 6


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"z": "gaussian"}, "kinds names 'z', which is no column of the table"),
        ("auto", "column 'n' holds 30 different whole numbers, which may be measurements, counts or codes"),
        ({"x": "ordinal", "n": "poisson"}, "column 'x' is said to be ordinal, which RandomStarts does not make use of"),
    ],
)
def test_kinds_that_cannot_be(kinds, words):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 30), "n": np.arange(30)})
    with pytest.raises(DataError, match=words):
        RandomStarts(n_states=2).fit(frame, kinds=kinds)


def test_numbers_are_leaves():
    frame = mixed_frame(50)
    chain = DiscreteBayesianNetwork([("H", "g"), ("g", "c"), ("H", "p")], latents={"H"})
    with pytest.raises(DataError, match="column 'g' is a number and has children in the model"):
        TreeEM().fit(chain, frame, kinds={"g": "gaussian", "p": "poisson"})
