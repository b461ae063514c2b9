"""What is chosen: sizes by the wrapper, folds, restarts, rounds of edges, and one of many equal ways to write a model.

Sizes are searched with a stand-in for the trials: the accuracy of a size on a draw of folds is simply said.
"""

from collections import Counter

import numpy as np
import pytest

from pgmpy_latent.classification import learn as _learn
from pgmpy_latent.classification import size_search as _wrapper
from pgmpy_latent.classification.canonical import canonical
from pgmpy_latent.classification.edges import learned_edges
from pgmpy_latent.classification.em import Ended, Problem, expected, run_em, sum_of
from pgmpy_latent.classification.inputs import Folds, TrainingRows
from pgmpy_latent.classification.learn import Recipe, _Choice, learn
from pgmpy_latent.classification.model import Parameters, grouped, log_densities
from pgmpy_latent.classification.rows import fold_weightings, training
from pgmpy_latent.classification.size_search import (
    BUDGETS,
    TRIAL_STARTS,
    TRIAL_TOL,
    WORST,
    Trial,
    Wrapper,
    work_of,
)
from pgmpy_latent.classification.starts import draw_starts
from pgmpy_latent.runtime.clock import Clock
from tests.support import reference_classification as reference


def noisy_rows(n_rows, n_attributes, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 2
    return spread * rng.normal(size=(n_rows, n_attributes)) + labels[:, None], labels


def folds_of(cv, attributes, labels):
    rows = np.arange(len(labels))
    return Folds(cv, TrainingRows(attributes, labels, np.ones(len(labels)), rows), np.unique(labels), seed=3)


class Search:
    """A wrapper for rows of two classes whose trials are said by a function of shape and draw.

    The function returns accuracy, log-loss and, if it matters, work; or the accuracy alone.
    """

    def __init__(self, monkeypatch, says, n_rows=500, n_attributes=10, cv=5):
        attributes, labels = noisy_rows(n_rows, n_attributes)
        self.folds = folds_of(cv, attributes, labels)
        self.rows = training(attributes, labels, np.ones(n_rows))
        self.says = says
        self.tried = []
        monkeypatch.setattr(_wrapper, "try_size", self.try_size)

    def try_size(self, rows, folds, shape, recipe, seed, clock):
        draw = next(at for at in range(20) if same_folds(folds, self.folds.draw(at)))
        said = self.says(shape, draw)
        self.tried.append((shape, draw))
        accuracy, log_loss, work = (*said, 0.0)[:3] if isinstance(said, tuple) else (said, 1.0, 0.0)
        return Trial(np.full(len(folds), accuracy), np.ones(len(folds)), log_loss, work, 0.0)

    def run(self, n_latents=None, n_components=None, **recipe):
        self.clock = Clock(None)
        wrapper = Wrapper(rows=self.rows, folds=self.folds, recipe=Recipe(**recipe), seed=0, clock=self.clock)
        return wrapper.search(n_latents, n_components)

    def on(self, draw):
        return [shape for shape, at in self.tried if at == draw]


def same_folds(left, right):
    return len(left) == len(right) and all(
        np.array_equal(a, b) for one, other in zip(left, right, strict=True) for a, b in zip(one, other, strict=True)
    )


def closeness(shape, best):
    """A hill in the plane of sizes."""
    return 0.9 - 0.05 * np.abs(np.log(shape) - np.log(best)).sum()


# Sizes ------------------------------------------------------------------------------------------------------------


def test_the_first_look_is_coarse_and_ends_after_two_numbers_of_latents_without_a_better_accuracy(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (3, 3)))
    search.run()
    first = [(latents, components) for latents in (1, 3, 6, 13) for components in (1, 3, 10)]
    assert search.on(0)[: len(first)] == first
    assert (20, 1) not in search.on(0)


def test_neighbours_of_the_best_sizes_are_tried(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (4, 2)))
    shape, _ = search.run()
    assert shape == (4, 2)
    assert {(4, 1), (4, 3), (6, 2), (3, 2)} <= set(search.on(0))
    assert (4, 2) not in search.on(0)[:12]


def test_a_hill_is_climbed_beyond_the_neighbours_of_the_first_look(monkeypatch):
    shape, _ = Search(monkeypatch, lambda shape, draw: closeness(shape, (9, 20))).run()
    assert shape == (9, 20)


def test_no_size_is_tried_twice_on_the_same_folds(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (4, 5)))
    search.run()
    assert set(Counter(search.tried).values()) == {1}


def test_the_best_sizes_are_compared_again_on_other_folds_in_rounds(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (4, 2)))
    _, table = search.run()
    ranked = sorted(search.on(0), key=lambda shape: (-closeness(shape, (4, 2)), shape[0] * shape[1], shape))
    assert [search.on(draw) for draw in range(1, 8)] == [ranked[:8]] * 2 + [ranked[:4]] * 4 + [[]]
    assert table["n_trials"].tolist() == [7] * 4 + [3] * 4 + [1] * (len(ranked) - 8)


def test_sizes_that_were_lucky_once_lose_when_they_are_compared_again(monkeypatch):
    def says(shape, draw):
        return 0.95 if (shape, draw) == ((3, 3), 0) else closeness(shape, (4, 2))

    search = Search(monkeypatch, says)
    shape, table = search.run()
    assert max(search.on(0), key=lambda shape: says(shape, 0)) == (3, 3)
    assert shape == (4, 2)
    assert tuple(table.loc[0, ["n_latents", "n_components"]]) == shape


def test_folds_that_were_given_are_used_once(monkeypatch):
    fold = np.arange(500) % 3
    cv = [(np.flatnonzero(fold != at), np.flatnonzero(fold == at)) for at in range(3)]
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (4, 2)), cv=cv)
    shape, table = search.run()
    assert shape == (4, 2)
    assert set(Counter(search.tried).values()) == {1}
    assert (table["n_trials"] == 1).all()


def test_sizes_have_at_most_as_many_latents_times_components_as_rows_to_learn_from(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: np.prod(shape) / 1000, n_rows=40, n_attributes=10, cv=4)
    shape, _ = search.run()
    assert np.prod(shape) == 30
    assert {(3, 10), (6, 5)} <= set(search.on(0))
    assert max(latents * components for latents, components in search.on(0)) == 30


def test_a_number_that_is_given_is_tried_however_few_the_rows(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: 0.5, n_rows=24, n_attributes=10, cv=2)
    assert search.run(n_latents=20)[0] == (20, 1)
    assert set(search.tried) == {((20, 1), draw) for draw in range(7)}


@pytest.mark.parametrize("most", [1, 2, 5])
def test_there_are_at_most_as_many_latents_as_attributes_times_classes(monkeypatch, most):
    search = Search(monkeypatch, lambda shape, draw: shape[0] / 1000, n_attributes=most)
    assert search.run(n_components=1)[0] == (2 * most, 1)
    assert max(latents for latents, _ in search.on(0)) == 2 * most


@pytest.mark.parametrize(
    ("says", "best"),
    [
        (lambda latents: (latents / 100, latents), 10),
        (lambda latents: (0.5, 1 / latents), 10),
        (lambda latents: (0.5, latents), 1),
        (lambda latents: (0.5, 1.0), 1),
        (lambda latents: (0.5 + 0.1 * (latents in (3, 4)), 1.0 - 0.1 * (latents == 4)), 4),
    ],
    ids=["accuracy", "then log-loss", "then log-loss, of small sizes", "then few parameters", "both"],
)
def test_accuracy_decides_then_log_loss_then_the_smaller_size(monkeypatch, says, best):
    search = Search(monkeypatch, lambda shape, draw: says(shape[0]), n_attributes=5)
    shape, table = search.run(n_components=1)
    assert shape == (best, 1)
    assert table.loc[0, "n_latents"] == best
    for _, row in table.iterrows():
        np.testing.assert_allclose(row[["accuracy", "log_loss"]].astype(float), says(row["n_latents"]), atol=1e-8)


def test_the_table_averages_over_trials(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: (0.3 + 0.1 * draw, 0.5 + draw), n_attributes=1)
    _, table = search.run(n_components=1)
    np.testing.assert_allclose(table["accuracy"], 0.6)
    np.testing.assert_allclose(table["log_loss"], 3.5)
    folds = np.repeat(0.3 + 0.1 * np.arange(7), 5)
    np.testing.assert_allclose(table["standard_error"], folds.std(ddof=1) / np.sqrt(35))


def test_the_accuracy_of_a_trial_counts_every_row_once():
    assert Trial(np.array([1.0, 0.5]), np.array([1.0, 3.0]), 0.0, 0.0, 0.0).accuracy == 0.625


def test_work_ends_the_first_look_the_closer_one_and_the_comparison(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: (closeness(shape, (20, 1)), 1.0, 0.6 * BUDGETS[0]))
    with pytest.warns(UserWarning, match="accuracy still rose with 3 latents, where the search for sizes ends"):
        search.run(n_components=1)
    assert search.on(0) == [(1, 1), (3, 1), (4, 1), (2, 1)]
    assert search.on(1) == [(4, 1), (3, 1), (2, 1), (1, 1)]
    assert not search.on(2)


@pytest.mark.parametrize(("n_rows", "dear"), [(100, False), (1000, True)])
def test_sizes_that_are_too_dear_are_left_out_of_the_first_look(monkeypatch, n_rows, dear):
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (1, 1)), n_rows=n_rows, n_attributes=60)
    search.run()
    assert (6, 3) in search.on(0)
    assert ((6, 10) not in search.on(0)) == dear


def test_a_comparison_that_was_interrupted_does_not_decide(monkeypatch):
    def says(shape, draw):
        if draw == 1 and shape != (3, 1):
            raise KeyboardInterrupt
        return 0.9 if shape == (3, 1) and draw == 0 else 0.1 if shape == (3, 1) else 0.8

    shape, table = Search(monkeypatch, says).run(n_components=1)
    assert shape == (3, 1)
    assert set(table["n_trials"]) == {1}


def test_without_time_the_guess_has_no_more_parameters_than_rows(monkeypatch):
    def says(shape, draw):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="no sizes could be compared before the end; n_latents=4 and n_components=75"):
        assert Search(monkeypatch, says).run(n_components=75)[0] == (4, 75)


def test_every_size_is_tried_once_if_asked_for(monkeypatch):
    search = Search(monkeypatch, lambda shape, draw: closeness(shape, (4, 20)), n_rows=100)
    shape, _ = search.run(trial_starts=2)
    components = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 35, 40)
    assert search.tried == [((q, m), 0) for q in range(1, 21) for m in components if q * m <= 80]
    assert shape == (4, 20)


def test_a_greedy_search_ends_with_the_first_number_of_latents_that_is_no_better(monkeypatch):
    values = {1: 0.5, 2: 0.6, 3: 0.7, 4: 0.7, 5: 0.9}
    search = Search(monkeypatch, lambda shape, draw: values[shape[0]] if shape[1] == 5 * shape[0] else 0.1)
    shape, _ = search.run(trial_starts=2, greedy=True)
    assert [latents for latents, components in search.on(0) if components == 40] == [1, 2, 3, 4]
    assert len(search.tried) == 4 * 12
    assert shape == (3, 15)


def test_rows_with_gaps_are_known_to_cost_more():
    attributes, labels = noisy_rows(200, 6)
    gaps = np.where(np.random.default_rng(0).random(attributes.shape) < 0.3, np.nan, attributes)
    complete, gappy = (training(table, labels, np.ones(200)) for table in (attributes, gaps))
    assert complete.n_ragged == 0
    assert 20 < gappy.n_ragged <= 200
    assert work_of(gappy, (6, 2), Recipe()) > 2 * work_of(complete, (6, 2), Recipe())


def test_an_interrupt_leaves_the_best_of_the_sizes_that_were_finished(monkeypatch):
    def says(shape, draw):
        if shape == (3, 3):
            raise KeyboardInterrupt
        return closeness(shape, (4, 1))

    search = Search(monkeypatch, says)
    shape, table = search.run()
    assert shape == (3, 1)
    assert sorted(zip(table["n_latents"], table["n_components"], strict=True)) == [(1, 1), (1, 3), (1, 10), (3, 1)]
    assert search.clock.stopped == "interrupted"


# One trial --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weighted_rows():
    """Rows of which some repeat, and one lies deep in the other class, with weights; and three folds."""
    attributes, labels = noisy_rows(48, 2, seed=1, spread=0.7)
    attributes[40:44] = attributes[0:4]
    attributes[1] = -8.0
    rows = training(attributes, labels, np.random.default_rng(2).gamma(2.0, 0.5, size=48) + 0.1)
    fold = np.arange(48) // 2 % 3
    return rows, [(np.flatnonzero(fold != at), np.flatnonzero(fold == at)) for at in range(3)]


def test_a_trial_is_a_cross_validation_by_hand(weighted_rows):
    rows, folds = weighted_rows
    trial = _wrapper.try_size(rows, folds, (2, 2), Recipe(), 5, Clock())
    learning, _ = fold_weightings(rows, folds)
    models = learn(rows, learning, (2, 2), Recipe(tol=TRIAL_TOL), TRIAL_STARTS, 5).models
    accuracies, losses = [], []
    for number, (learned, tested) in enumerate(folds):
        model = models.take(number)
        there = rows.labels[rows.place]
        prior = np.bincount(there[learned], rows.row_weights[learned]) / rows.row_weights[learned].sum()
        right = []
        for row in tested:
            logs = [reference.log_density(model, label, rows.table[rows.place[row]]) for label in range(2)]
            joint = logs + np.log(prior)
            right.append(joint.argmax() == there[row])
            losses.append(min(np.logaddexp(*joint) - joint[there[row]], WORST))
        accuracies.append(np.average(right, weights=rows.row_weights[tested]))
    weights = [rows.row_weights[tested] for _, tested in folds]
    np.testing.assert_allclose(trial.accuracies, accuracies)
    np.testing.assert_allclose(trial.masses, [mass.sum() for mass in weights])
    assert trial.log_loss == pytest.approx(np.average(losses, weights=np.concatenate(weights)))
    assert max(losses) == WORST
    assert trial.accuracy < 1


# Folds ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folds():
    return folds_of(5, *noisy_rows(60, 2))


def test_folds_are_drawn_anew_for_every_repeat_and_are_the_same_when_drawn_again(folds):
    draws = [folds.draw(repeat) for repeat in range(4)]
    assert not any(same_folds(draws[i], draws[j]) for i in range(4) for j in range(i))
    assert all(same_folds(draws[repeat], folds.draw(repeat)) for repeat in range(4))


def test_folds_are_stratified_and_test_every_row_once(folds):
    for repeat in range(3):
        drawn = folds.draw(repeat)
        assert sorted(np.concatenate([test for _, test in drawn])) == list(range(60))
        for learned, tested in drawn:
            assert sorted([*learned, *tested]) == list(range(60))
            assert np.bincount(folds.labels[tested]).tolist() == [6, 6]


def test_there_are_no_more_folds_than_rows_of_the_largest_class():
    labels = np.array([0] * 6 + [1] * 2)
    drawn = folds_of(10, np.zeros((8, 1)), labels).draw(0)
    assert len(drawn) == 6
    assert all(set(labels[learned]) == {0, 1} for learned, _ in drawn)


# Restarts ---------------------------------------------------------------------------------------------------------


def thresholds(*at):
    """Models of one attribute that predict the second class above a threshold, or, if it is None, below zero."""
    means = np.array([[1.0, -1.0] if place is None else [place - 1, place + 1] for place in at])[..., None]
    shape = (len(at), 1, 1)
    return Parameters(
        np.zeros((len(at), 2, 1)), means, np.ones_like(means), np.ones((*shape, 1)), np.zeros(shape), np.ones(shape)
    )


@pytest.fixture
def pool():
    """Restarts of two weightings, in a mixed order: the likeliest of each is a bad classifier."""
    rows = training(np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]), np.ones(4))
    ended = Ended(
        thresholds(0.0, None, 0.9, 0.9, 0.0, 0.0, None),
        np.array([-7.0, -1.0, -2.0, -5.0, -9.0, -3.0, -4.0]),
        np.array([1, 0, 0, 1, 0, 0, 1]),
        None,
        [[float(at)] for at in range(7)],
    )
    return rows, np.array([[1.0, 1.0, 1.0, 1.0], [3.0, 1.0, 1.0, 3.0]]), ended


@pytest.mark.parametrize(
    ("select", "likelihoods", "accuracies"),
    [("accuracy", [-3.0, -7.0], [1.0, 1.0]), ("likelihood", [-1.0, -4.0], [0.0, 0.0])],
)
def test_the_most_accurate_restart_is_chosen_or_the_likeliest(pool, select, likelihoods, accuracies):
    rows, weightings, ended = pool
    best = _Choice(rows, weightings, select).best(ended)
    assert best.log_likelihoods.tolist() == likelihoods
    assert best.accuracies.tolist() == accuracies
    chosen = [ended.log_likelihoods.tolist().index(value) for value in likelihoods]
    assert best.traces == tuple(tuple(ended.traces[at]) for at in chosen)
    np.testing.assert_array_equal(best.models.means, ended.models.means[chosen])
    prior = np.log([0.5, 0.5])
    np.testing.assert_allclose(best.log_joint, log_densities(best.models, rows.groups, 4) + prior)


def test_accuracy_is_that_of_the_weighting_and_likelihood_decides_where_it_is_equal(pool):
    rows, weightings, ended = pool
    choice = _Choice(rows, weightings, "accuracy")
    accuracies = choice.accuracy(choice.log_joint(ended.models, ended.numbers), ended.numbers)
    np.testing.assert_allclose(accuracies, [1.0, 0.0, 0.75, 0.875, 1.0, 1.0, 0.0])
    worth = choice.worth(ended.models, ended.numbers, ended.log_likelihoods)
    assert np.argsort(worth).tolist() == sorted(range(7), key=lambda at: (accuracies[at], ended.log_likelihoods[at]))
    likelihood = _Choice(rows, weightings, "likelihood").worth(ended.models, ended.numbers, ended.log_likelihoods)
    np.testing.assert_array_equal(likelihood, ended.log_likelihoods)


def test_the_most_accurate_restart_survives_a_race_that_it_would_lose_by_likelihood():
    attributes, labels = noisy_rows(60, 3, seed=5)
    rows = training(attributes, labels, np.ones(60))
    weights = rows.weights[None]
    starts, numbers = draw_starts(rows, weights, (1, 3), 8, seed=0)
    every = run_em(Problem(rows.by_class, weights), starts, numbers, max_iter=10, tol=0.0)
    joint = log_densities(every.models, rows.groups, 60) + np.log(0.5)
    accuracies = (joint.argmax(axis=2) == rows.labels).mean(axis=1)
    likeliest = np.argsort(-every.log_likelihoods)[:4]
    assert accuracies.max() > accuracies[likeliest].max()
    for select, best in [("accuracy", accuracies.argmax()), ("likelihood", likeliest[0])]:
        found = learn(rows, weights, (1, 3), Recipe(select=select, max_iter=10, tol=0.0), 8, seed=0)
        assert found.accuracies[0] == pytest.approx(accuracies[best])
        assert found.log_likelihoods[0] == pytest.approx(every.log_likelihoods[best])


# Rounds of edges --------------------------------------------------------------------------------------------------


@pytest.fixture
def two_blocks():
    """Attributes of which three hang on one latent and three on another."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, size=60)
    latents = rng.normal(size=(60, 2)) * np.where(labels[:, None], [0.4, 1.6], [1.6, 0.4]) + np.outer(labels, [1, -1])
    return training(latents[:, [0, 0, 0, 1, 1, 1]] + 0.4 * rng.normal(size=(60, 6)), labels, np.ones(60))


def with_edges(rows):
    """Return edges, and those that would be learned next."""
    weights = rows.weights[None]
    found = learn(rows, weights, (2, 1), Recipe(edges="shared"), 1, seed=0)
    _, sums = expected(Problem(rows.by_class, weights), found.models, np.zeros(1, int))
    return found.edges, learned_edges(sum_of(sums), found.edges, shared=True)


def test_edges_are_learned_until_they_stay(two_blocks):
    edges, following = with_edges(two_blocks)
    np.testing.assert_array_equal(edges, following)
    assert edges.sum() == 6


def test_one_round_of_edges_would_leave_too_many(two_blocks, monkeypatch):
    monkeypatch.setattr(_learn, "EDGE_ROUNDS", 1)
    edges, following = with_edges(two_blocks)
    assert edges.sum() > following.sum()


# The canonical form -----------------------------------------------------------------------------------------------


@pytest.fixture(params=range(5))
def canonised(request):
    """A model, the shares of its classes, its canonical form, and the edges of both."""
    rng = np.random.default_rng(request.param)
    model = Parameters(
        np.log(rng.dirichlet(np.ones(2), size=(1, 3))),
        rng.normal(size=(1, 3, 4)),
        rng.gamma(2.0, 0.5, size=(1, 3, 4)) + 0.1,
        rng.normal(size=(1, 2, 5, 4)),
        rng.normal(size=(1, 2, 5)),
        rng.gamma(2.0, 0.5, size=(1, 2, 5)) + 0.1,
    )
    edges = rng.random((1, 2, 5, 4)) < 0.7
    model = _learn.without(model, edges)
    shares = rng.dirichlet(np.ones(3))
    return model, shares, *canonical(model, shares, edges, shift=True)


def test_the_canonical_form_is_the_same_model(canonised):
    model, _, new, edges = canonised
    rows = grouped(np.random.default_rng(9).normal(size=(20, 5)))
    np.testing.assert_allclose(log_densities(new, rows, 20), log_densities(model, rows, 20), atol=1e-9)
    np.testing.assert_array_equal(new.loadings != 0, edges)


def test_canonical_latents_have_mean_zero_and_variance_one(canonised):
    _, shares, new, _ = canonised
    np.testing.assert_allclose(shares @ new.means[0], 0, atol=1e-12)
    np.testing.assert_allclose(shares @ (new.variances[0] + new.means[0] ** 2), 1)


def test_canonical_latents_are_ordered_by_how_much_they_move_the_attributes(canonised):
    _, shares, new, _ = canonised
    moved = np.tensordot(shares @ np.exp(new.log_weights[0]), (new.loadings[0] ** 2).sum(axis=1), axes=1)
    assert (np.diff(moved) < 0).all()


def test_canonical_loadings_are_positive_on_balance(canonised):
    _, shares, new, _ = canonised
    balance = np.tensordot(shares @ np.exp(new.log_weights[0]), new.loadings[0].sum(axis=1), axes=1)
    assert (balance > 0).all()


def test_without_offsets_the_canonical_latents_keep_their_means_but_for_scale(canonised):
    model, shares, _, edges = canonised
    new, _ = canonical(model, shares, edges, shift=False)
    np.testing.assert_array_equal(new.offsets, model.offsets)
    rows = grouped(np.random.default_rng(9).normal(size=(20, 5)))
    np.testing.assert_allclose(log_densities(new, rows, 20), log_densities(model, rows, 20), atol=1e-9)
