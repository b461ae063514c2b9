"""Classifiers of attributes as they are that Langseth and Nielsen compare with: mixtures and principal components."""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.mixture import GaussianMixture

#: Most components of an attribute's mixture, and most clusters, among which BIC chooses.
MOST_COMPONENTS, MOST_CLUSTERS = 5, 8
#: Smallest variance of a mixture's component, as a share of the attribute's.
FLOOR = 1e-3
#: The same for single Gaussians, where it is for the sake of arithmetic only: scikit-learn's.
TINY = 1e-9


def by_bic(rows: np.ndarray, most: int, floor: float) -> GaussianMixture:
    """Return the mixture of Gaussians with the best BIC; attributes should have variances of about 1."""
    found = None
    for n_components in range(1, min(most, len(np.unique(rows, axis=0))) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ends of iterations
            mixture = GaussianMixture(n_components, reg_covar=floor, random_state=0).fit(rows)
        bic = mixture.bic(rows)  # scikit-learn's: the smaller, the better
        if found is None or bic < found[0]:
            found = (bic, mixture)
    return found[1]


class _ByDensity(ClassifierMixin, BaseEstimator):
    """Bayes' rule with a density per class."""

    def fit(self, X, y):
        X = np.asarray(X, dtype=float)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.prior_ = np.bincount(labels) / len(labels)
        self.mean_, scale = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        self._learn((X - self.mean_) / self.scale_, labels)
        return self

    def predict_proba(self, X):
        rows = (np.asarray(X, dtype=float) - self.mean_) / self.scale_
        joint = self._joint(rows)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class MixtureNaiveBayes(_ByDensity):
    """NB/M: naive Bayes in which an attribute of a class is a mixture of Gaussians; BIC chooses how many."""

    def _learn(self, rows: np.ndarray, labels: np.ndarray) -> None:
        self.mixtures_ = [
            [by_bic(column[:, None], MOST_COMPONENTS, FLOOR) for column in rows[labels == label].T]
            for label in range(len(self.classes_))
        ]

    def _joint(self, rows: np.ndarray) -> np.ndarray:
        densities = [
            sum(mixture.score_samples(column[:, None]) for mixture, column in zip(mixtures, rows.T, strict=True))
            for mixtures in self.mixtures_
        ]
        return np.log(self.prior_) + np.column_stack(densities)


def axes_of(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the principal axes of weighted rows, a column each."""
    centred = rows - np.average(rows, axis=0, weights=weights)
    return np.linalg.eigh((centred * weights[:, None]).T @ centred / weights.sum())[1]


def log_density(rows: np.ndarray, given: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log-densities of rows under independent Gaussians of the columns of weighted rows.

    >>> log_density(np.zeros((1, 1)), np.array([[-1.0], [1.0]]), np.ones(2)).round(4)
    array([-0.9189])
    """
    mean = np.average(given, axis=0, weights=weights)
    variance = np.average((given - mean) ** 2, axis=0, weights=weights) + TINY
    return -0.5 * (np.log(2 * np.pi * variance) + (rows - mean) ** 2 / variance).sum(axis=1)


class ClasswisePCA(_ByDensity):
    """CW/PCA/n: each class has principal components of its own, all of them, which are independent Gaussians."""

    def _learn(self, rows: np.ndarray, labels: np.ndarray) -> None:
        self.parts_ = []
        for label in range(len(self.classes_)):
            own = rows[labels == label]
            axes = axes_of(own, np.ones(len(own)))
            self.parts_.append((axes, own @ axes))

    def _joint(self, rows: np.ndarray) -> np.ndarray:
        densities = [log_density(rows @ axes, given, np.ones(len(given))) for axes, given in self.parts_]
        return np.log(self.prior_) + np.column_stack(densities)


class ClusterPCA(_ByDensity):
    """CG/PCA/n: a mixture of Gaussians of all attributes, then in each component naive Bayes on its principal axes.

    Rows belong to components in part; BIC chooses how many components there are.
    """

    def _learn(self, rows: np.ndarray, labels: np.ndarray) -> None:
        mixture = by_bic(rows, MOST_CLUSTERS, FLOOR)
        self.parts_ = []
        for weights in mixture.predict_proba(rows).T:
            weights = weights + 1e-6  # every class has some weight in every cluster
            axes = axes_of(rows, weights)
            for label in range(len(self.classes_)):
                own = labels == label
                share = np.log(weights[own].sum() / len(rows))
                self.parts_.append((label, share, axes, rows[own] @ axes, weights[own]))

    def _joint(self, rows: np.ndarray) -> np.ndarray:
        found = np.full((len(rows), len(self.classes_)), -np.inf)
        for label, share, axes, given, weights in self.parts_:
            found[:, label] = np.logaddexp(found[:, label], share + log_density(rows @ axes, given, weights))
        return found


class Factors(TransformerMixin, BaseEstimator):
    """Factor analysis; BIC decides how many factors."""

    def fit(self, X, y=None):
        n_rows, n_columns = X.shape
        best = -math.inf
        for n_factors in range(1, (n_columns + 1) // 2 + 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of ends of iterations
                found = FactorAnalysis(n_factors, random_state=0).fit(X)
            n_parameters = n_columns * (n_factors + 2) - n_factors * (n_factors - 1) / 2
            bic = found.score(X) * n_rows - n_parameters / 2 * math.log(n_rows)
            if bic > best:
                best, self.model_ = bic, found
        return self

    def transform(self, X):
        return self.model_.transform(X)


class MainAxes(TransformerMixin, BaseEstimator):
    """Principal components whose variance is at least the mean one."""

    def fit(self, X, y=None):
        self.model_ = PCA().fit(X)
        self.kept_ = self.model_.explained_variance_ >= np.var(X, axis=0, ddof=1).mean()
        return self

    def transform(self, X):
        return self.model_.transform(X)[:, self.kept_]
