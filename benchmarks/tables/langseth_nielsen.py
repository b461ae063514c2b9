"""What the tables of Langseth and Nielsen share: their figures, and how ours are measured."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator
from functools import partial

from benchmarks import classification as work  # first: it sets the number of threads
from benchmarks import runner

# isort: split
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.tables.results import STANDARD_ERRORS, Job, Results

PAPER = "Langseth and Nielsen"
#: Data set -> rows.
ROWS = {
    "balance-scale": 625, "breast": 683, "crabs": 200, "diabetes": 768, "glass": 214, "glass2": 163, "heart": 270,
    "iris": 150, "liver": 345, "pima": 768, "sonar": 208, "tae": 151, "thyroid": 215, "vehicle": 846, "wine": 178,
}  # fmt: skip
#: Classifier of the paper -> the method that does the same, as far as the paper says what it does; None where no
#: library offers it.
METHODS = {
    "NB": "GaussianNB", "NB/M": None, "NB/D": None, "TAN/D": None, "TAN+/D": None, "k-NN": "k-NN", "FA/BIC": "FA/BIC",
    "PCA/λ": "PCA/λ", "PCA/n": "PCA/n", "CW/PCA/n": None, "CG/PCA/n": None, "LCM(q)": work.LINEAR,
    "LCM(q)/S": work.LINEAR_EDGES, "LCM(q,m;T)": work.TIED, "LCM(q,m;U)": work.UNTIED,
    "LCM(q,m;T)/S": work.TIED_EDGES,
}  # fmt: skip
REASONS = {
    "NB/M": "no library offers naive Bayes with mixtures of Gaussians whose numbers BIC chooses",
    **dict.fromkeys(
        ("NB/D", "TAN/D", "TAN+/D"),
        "the paper's are MLC++'s, with its version of the discretisation of Fayyad and Irani; no library that is "
        "measured here offers these classifiers with it",
    ),
    "CW/PCA/n": "a Gaussian of its own for each class, singular where a class has fewer rows than there are "
    "attributes; what the paper did then is not said",
    "CG/PCA/n": "no library offers a classifier that has an own PCA for each cluster of the attributes",
}
#: Why a baseline that is put together from scikit-learn's parts is worse.
WHY_WORSE = {"PCA/λ": "the paper does not say whether attributes are standardised; ours are not, as for PCA/n"}
#: What ours does and the paper's does not.
DEPARTURE = (
    "Our LCM(q) lets classes borrow variances from each other (`shrinkage`), which the paper's does not, and has an "
    "offset; without the former, and with fewer inner folds, it had 80.7 on average. Sizes are found by a shorter "
    "search than the paper's."
)
#: Equal is within so many percentage points at least: half a unit of the paper's last digit.
ROUNDING = 0.05


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


SCALED_AXES = "PCA/λ, standardised"
#: What scikit-learn's parts make of the paper's baselines; on attributes as they are.
PIPELINES = {
    "FA/BIC": lambda: make_pipeline(Factors(), GaussianNB()),
    "PCA/λ": lambda: make_pipeline(MainAxes(), GaussianNB()),
    "PCA/n": lambda: make_pipeline(PCA(), GaussianNB()),
    SCALED_AXES: lambda: make_pipeline(StandardScaler(), MainAxes(), GaussianNB()),
}


def results(run: runner.Runner) -> Results:
    """Return the results of Tables 2 and 3, which are those of the same fits."""
    return Results(run, "tables_langseth_nielsen_2", "tables_langseth_nielsen_3", "classification")


def on_table(name: str, method: str, seed: int) -> dict:
    if method not in PIPELINES:
        return work.on_table(name, method, seed)
    attributes = work.table(name)[0]
    return work.in_folds(name, seed, [PIPELINES[method]() for _ in range(work.N_FOLDS)], attributes, attributes)


def jobs(classifiers: Iterable[str]) -> Iterator[Job]:
    """Return what is to be measured, cheapest first."""
    methods = [METHODS.get(one, one) for one in classifiers if METHODS.get(one, one)]
    for method in sorted(methods, key=lambda method: method in work.OURS):
        for name in sorted(work.FILES, key=ROWS.get):
            for seed in work.SEEDS:
                yield work.table_case(name), method, seed, partial(quiet, name, method, seed)


def quiet(name: str, method: str, seed: int) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of attributes that are constant in a part, and of ends of iterations
        return on_table(name, method, seed)


def quick_jobs() -> Iterator[Job]:
    """Return classifiers of a few drawn rows."""
    for method in ("GaussianNB", "FA/BIC", "PCA/λ", "PCA/n", work.LINEAR):
        yield "quick: 60 rows", method, 0, partial(quick_fit, method)


def quick_fit(method: str) -> dict:
    attributes, labels = work.drawn(60, 3, 2, 0)
    if method == work.LINEAR:
        model = work.ours(n_latents=1, n_components=1)
    else:
        model = PIPELINES[method]() if method in PIPELINES else work.estimator(method)
    return work.in_fold(model, (attributes[:40], labels[:40]), (attributes[40:], labels[40:]))


def accuracies(found: Results, name: str, classifier: str) -> list[float]:
    """Return the accuracy of each seed that is there, in percent."""
    method = METHODS.get(classifier, classifier)
    rows = [found.row(work.table_case(name), method, seed) for seed in work.SEEDS]
    return [100 * float(np.mean(json.loads(row["figures"])["accuracy"])) for row in rows if row]


def fit_seconds(found: Results, name: str, classifier: str) -> list[float]:
    return found.values(work.table_case(name), METHODS[classifier], "seconds", work.SEEDS)


def deviation(accuracy: float, n_rows: int) -> float:
    """Return the theoretical standard deviation of an accuracy in percent, as the paper has it from Kohavi.

    >>> round(deviation(86.9, 625), 1)
    1.3
    """
    return math.sqrt(accuracy * (100 - accuracy) / n_rows)


def error(*deviations: float) -> float:
    return STANDARD_ERRORS * max(deviations) + ROUNDING
