"""Classifiers that Langseth and Nielsen compare with: each against its definition, written out."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from benchmarks.tables import langseth_nielsen
from benchmarks.tables._continuous_bayes import ClasswisePCA, ClusterPCA, MixtureNaiveBayes, log_density
from benchmarks.tables._discrete_bayes import (
    NAIVE_ROWS,
    TREE_ROWS,
    DiscreteNaiveBayes,
    TreeAugmentedNaiveBayes,
    conditional_information,
    cut_points,
    entropy,
)


def drawn(n_rows=120, n_columns=4, seed=0):
    """Return rows of two classes; columns depend on the class, and on the one before."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_rows)
    rows = rng.normal(size=(n_rows, n_columns)) + labels[:, None]
    for at in range(1, n_columns):
        rows[:, at] += rows[:, at - 1]
    return rows, labels


def pays(values, labels, cut):
    """Whether a cut point makes the description of the classes shorter, by the formula of Fayyad and Irani."""
    parts = labels[values < cut], labels[values > cut]
    n, h = len(labels), entropy(np.bincount(labels))
    k, own = len(set(labels)), [(len(set(part)), entropy(np.bincount(part))) for part in parts]
    gain = h - sum(len(part) * one for part, (_, one) in zip(parts, own, strict=True)) / n
    bits = np.log2(3**k - 2) - (k * h - sum(count * one for count, one in own))
    return gain, gain > (np.log2(n - 1) + bits) / n


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=60))
def test_no_further_cut_pays_and_every_cut_is_between_two_values(pairs):
    values, labels = np.array(pairs, dtype=float).T[0], np.array(pairs).T[1]
    cuts = cut_points(values, labels)
    assert cuts == sorted(set(cuts))
    for low, high in pairwise([-np.inf, *cuts, np.inf]):
        here = (values > low) & (values < high)
        part, own = values[here], labels[here]
        there = np.unique(part)
        assert len(there)
        best = max(((pays(part, own, one), one) for one in (there[1:] + there[:-1]) / 2), default=None)
        assert best is None or not best[0][1]


def test_a_class_that_changes_once_is_cut_there():
    values = np.arange(30.0)
    assert cut_points(values, (values >= 12).astype(int)) == [11.5]


def test_naive_bayes_is_the_product_of_its_tables():
    rows, labels = drawn()
    model = DiscreteNaiveBayes().fit(rows, labels)
    codes = model._codes(rows)
    expected = np.log([np.mean(labels == label) for label in (0, 1)]) * np.ones((len(rows), 1))
    for at, label in np.ndindex(len(rows), 2):
        own = codes[labels == label]
        for column in range(rows.shape[1]):
            same, card = (own[:, column] == codes[at, column]).sum(), len(model.cuts_[column]) + 1
            expected[at, label] += np.log((same + NAIVE_ROWS / card) / (len(own) + NAIVE_ROWS))
    expected = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert model.predict_proba(rows) == pytest.approx(expected)


@pytest.mark.parametrize("smoothing", [0.0, 5.0])
def test_tree_augmented_naive_bayes_is_the_product_of_its_tables(smoothing):
    rows, labels = drawn(n_rows=60)
    model = TreeAugmentedNaiveBayes(smoothing).fit(rows, labels)
    codes = model._codes(rows)
    expected = np.log([np.mean(labels == label) for label in (0, 1)]) * np.ones((len(rows), 1))
    for at, label in np.ndindex(len(rows), 2):
        for node, above in enumerate(model.parent_):
            here = labels == label
            if above >= 0:
                here = here & (codes[:, above] == codes[at, above])
            alone = np.mean(codes[:, node] == codes[at, node])
            same = (here & (codes[:, node] == codes[at, node])).sum() + smoothing * alone
            expected[at, label] += np.log(
                (same + TREE_ROWS / model.cards_[node]) / (here.sum() + smoothing + TREE_ROWS)
            )
    expected = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert model.predict_proba(rows) == pytest.approx(expected)


def test_the_tree_has_the_largest_conditional_information():
    rows, labels = drawn(n_rows=200)
    model = TreeAugmentedNaiveBayes().fit(rows, labels)
    codes = model._codes(rows)
    cards = model.cards_

    def weight(one, other):
        counts = np.zeros((cards[one], cards[other], 2))
        np.add.at(counts, (codes[:, one], codes[:, other], labels), 1)
        return conditional_information(counts)

    chosen = sum(weight(node, above) for node, above in enumerate(model.parent_) if above >= 0)
    pairs = list(combinations(range(4), 2))
    trees = [edges for edges in combinations(pairs, 3) if len(set().union(*edges)) == 4]  # and triangles miss a node
    assert chosen == pytest.approx(max(sum(weight(*pair) for pair in edges) for edges in trees))


def test_one_component_is_gaussian_naive_bayes(monkeypatch):
    monkeypatch.setattr("benchmarks.tables._continuous_bayes.MOST_COMPONENTS", 1)
    monkeypatch.setattr("benchmarks.tables._continuous_bayes.FLOOR", 1e-12)
    rows, labels = drawn()
    expected = GaussianNB(var_smoothing=0).fit(rows, labels).predict_proba(rows)
    assert MixtureNaiveBayes().fit(rows, labels).predict_proba(rows) == pytest.approx(expected, abs=1e-6)


def test_mixtures_find_what_a_gaussian_misses():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    rows = np.where(labels, rng.normal(size=400) * 0.3, rng.choice([-2, 2], size=400) + 0.3 * rng.normal(size=400))
    assert (MixtureNaiveBayes().fit(rows[:, None], labels).predict(rows[:, None]) == labels).mean() > 0.99


def test_components_of_each_class_are_quadratic_discriminant_analysis():
    rows, labels = drawn()
    expected = QuadraticDiscriminantAnalysis().fit(rows, labels).predict_proba(rows)
    # scikit-learn divides by the rows less one; so many rows make that small
    assert ClasswisePCA().fit(rows, labels).predict_proba(rows) == pytest.approx(expected, abs=0.05)
    assert (ClasswisePCA().fit(rows, labels).predict(rows) == (expected[:, 1] > 0.5)).mean() > 0.98


def test_one_cluster_is_naive_bayes_on_the_axes(monkeypatch):
    monkeypatch.setattr("benchmarks.tables._continuous_bayes.MOST_CLUSTERS", 1)
    rows, labels = drawn()
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    axes = np.linalg.eigh(np.cov(scaled.T))[1]
    expected = GaussianNB().fit(scaled @ axes, labels).predict_proba(scaled @ axes)
    assert ClusterPCA().fit(rows, labels).predict_proba(rows) == pytest.approx(expected, abs=1e-5)


def test_log_density_is_of_independent_gaussians():
    rng = np.random.default_rng(0)
    given, weights, rows = rng.normal(size=(20, 2)), rng.random(20), rng.normal(size=(3, 2))
    mean = (weights[:, None] * given).sum(axis=0) / weights.sum()
    variance = (weights[:, None] * (given - mean) ** 2).sum(axis=0) / weights.sum()
    density = np.exp(-((rows - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    assert log_density(rows, given, weights) == pytest.approx(np.log(density.prod(axis=1)), abs=1e-6)


@pytest.mark.parametrize("method", langseth_nielsen.BASELINES)
def test_every_baseline_takes_constant_columns_and_rare_classes(method):
    rows, labels = drawn(n_rows=40)
    rows[:, 1] = 3.0
    labels[:3], labels[3:] = 2, labels[3:] % 2
    model = langseth_nielsen.estimator(method).fit(rows, labels)
    shares = model.predict_proba(rows)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(40))
    assert (model.predict(rows) == labels).mean() > 0.6
