"""Classifiers of discretised attributes that Langseth and Nielsen compare with: naive Bayes, and with a tree (TAN)."""

from __future__ import annotations

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

#: Rows that are added to the counts of an attribute's table, spread over its entries, so that nothing is impossible.
NAIVE_ROWS, TREE_ROWS = 1.0, 1e-3


def entropy(counts: np.ndarray) -> float:
    """Return the entropy of counts, in bits.

    >>> entropy(np.array([2, 2])), entropy(np.array([3, 0]))
    (1.0, 0.0)
    """
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def cut_points(values: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return the cut points of Fayyad and Irani (1993): entropy is cut while the description gets shorter.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    labels : ndarray of shape (n_rows,)
        Numbers of the classes.

    Examples
    --------
    >>> cut_points(np.arange(20.0), np.repeat([0, 1], 10)), cut_points(np.arange(4.0), np.array([0, 1, 0, 1]))
    ([9.5], [])
    """
    order = np.argsort(values, kind="stable")
    return _cuts(values[order], np.eye(labels.max() + 1, dtype=int)[labels[order]])


def _cuts(values: np.ndarray, indicators: np.ndarray) -> list[float]:
    """Return the cut points of sorted values, given an indicator per row and class."""
    places = np.flatnonzero(np.diff(values)) + 1  # of the first row after a cut
    if not len(places):
        return []
    n, whole, below = len(values), indicators.sum(axis=0), np.cumsum(indicators, axis=0)
    parts = [(entropy(below[at - 1]), entropy(whole - below[at - 1])) for at in places]
    left_over = [(at * one + (n - at) * other) / n for at, (one, other) in zip(places, parts, strict=True)]
    best = int(np.argmin(left_over))
    at, (left, right) = places[best], parts[best]
    n_classes = [int((counts > 0).sum()) for counts in (whole, below[at - 1], whole - below[at - 1])]
    bits = np.log2(3.0 ** n_classes[0] - 2)
    bits -= n_classes[0] * entropy(whole) - n_classes[1] * left - n_classes[2] * right
    if entropy(whole) - left_over[best] <= (np.log2(n - 1) + bits) / n:
        return []
    middle = float((values[at - 1] + values[at]) / 2)
    return [*_cuts(values[:at], indicators[:at]), middle, *_cuts(values[at:], indicators[at:])]


class _OfDiscretised(ClassifierMixin, BaseEstimator):
    """A classifier of attributes that are discretised by entropy."""

    def fit(self, X, y):
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.cuts_ = [np.array(cut_points(column, labels)) for column in np.asarray(X).T]
        self.cards_ = [len(cuts) + 1 for cuts in self.cuts_]
        self.prior_ = np.bincount(labels) / len(labels)
        self._learn(self._codes(X), labels)
        return self

    def _codes(self, X) -> np.ndarray:
        columns = [np.searchsorted(cuts, column) for cuts, column in zip(self.cuts_, np.asarray(X).T, strict=True)]
        return np.column_stack(columns)

    def predict_proba(self, X):
        joint = np.log(self.prior_) + self._row_log_likelihoods(self._codes(X))
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def counts_by_class(codes: np.ndarray, labels: np.ndarray, n_classes: int, card: int) -> np.ndarray:
    """Return how often each state occurs with each class, (states, classes)."""
    return np.bincount(codes * n_classes + labels, minlength=card * n_classes).reshape(card, n_classes).astype(float)


class DiscreteNaiveBayes(_OfDiscretised):
    """NB/D: naive Bayes with discretised attributes."""

    def _learn(self, codes: np.ndarray, labels: np.ndarray) -> None:
        self.tables_ = []
        for column, card in zip(codes.T, self.cards_, strict=True):
            counts = counts_by_class(column, labels, len(self.classes_), card) + NAIVE_ROWS / card
            self.tables_.append(counts / counts.sum(axis=0))

    def _row_log_likelihoods(self, codes: np.ndarray) -> np.ndarray:
        return sum(np.log(table[column]) for table, column in zip(self.tables_, codes.T, strict=True))


def conditional_information(counts: np.ndarray) -> float:
    """Return the mutual information of two attributes given the class, in nats, from counts (one, other, class).

    >>> round(conditional_information(np.array([[[4.0], [0.0]], [[0.0], [4.0]]])), 4)
    0.6931
    """
    joint = counts / counts.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0
    ratio = (joint * joint.sum(axis=(0, 1)))[there] / apart[there]
    return float((joint[there] * np.log(ratio)).sum())


class TreeAugmentedNaiveBayes(_OfDiscretised):
    """TAN/D: each attribute has the class and at most one other attribute as parents; TAN+/D smooths its tables.

    Parameters
    ----------
    smoothing : float
        How many rows the distribution of the attribute by itself weighs in the table of a state of its parents
        (Friedman, Geiger and Goldszmidt, 1997).
    """

    def __init__(self, smoothing=0.0):
        self.smoothing = smoothing

    def _learn(self, codes: np.ndarray, labels: np.ndarray) -> None:
        n_columns, n_classes = codes.shape[1], len(self.classes_)
        graph = nx.Graph()
        graph.add_nodes_from(range(n_columns))
        for one in range(n_columns):
            for other in range(one):
                counts = self._counts(codes, labels, one, other)
                shape = (self.cards_[one], self.cards_[other], n_classes)
                graph.add_edge(one, other, weight=conditional_information(counts.reshape(shape)))
        tree = nx.maximum_spanning_tree(graph)
        self.parent_ = [-1] * n_columns
        for above, below in nx.bfs_edges(tree, 0):
            self.parent_[below] = above
        self.tables_ = [self._table(codes, labels, node) for node in range(n_columns)]

    def _counts(self, codes: np.ndarray, labels: np.ndarray, node: int, parent: int) -> np.ndarray:
        """Return counts of an attribute's states given those of its parent and class, (states, parent * classes)."""
        n_classes, card = len(self.classes_), self.cards_[parent] if parent >= 0 else 1
        above = (codes[:, parent] if parent >= 0 else 0) * n_classes + labels
        return counts_by_class(codes[:, node], above, card * n_classes, self.cards_[node])

    def _table(self, codes: np.ndarray, labels: np.ndarray, node: int) -> np.ndarray:
        counts = self._counts(codes, labels, node, self.parent_[node])
        if self.smoothing:
            alone = counts.sum(axis=1, keepdims=True) / counts.sum()
            counts = counts + self.smoothing * alone
        counts = counts + TREE_ROWS / len(counts)
        return counts / counts.sum(axis=0)

    def _row_log_likelihoods(self, codes: np.ndarray) -> np.ndarray:
        n_classes = len(self.classes_)
        found = np.zeros((len(codes), n_classes))
        for node, (table, parent) in enumerate(zip(self.tables_, self.parent_, strict=True)):
            above = codes[:, parent] if parent >= 0 else np.zeros(len(codes), dtype=int)
            shaped = np.log(table).reshape(len(table), -1, n_classes)
            found += shaped[codes[:, node], above]
        return found
