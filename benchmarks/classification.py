"""LatentClassificationModel: the paper's fifteen data sets beside scikit-learn, missing attributes, and seconds.

Needs the papers' data sets. One thread; scikit-learn's part takes half an hour, ours a night. ``--only`` takes any part
of "case | method | seed 0" as it is printed, or several joined by "+": ``"Table 3"``, ``"iris + seed 1"``, ``Missing``,
``Growth``, ``Iteration``, ``"Default fit"``. ``--methods "LCM(q),SVM-RBF"`` and ``--seeds 0,2`` leave the others out,
so that two processes can share the work, each in a copy of the project.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from statistics import median

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pgmpy_latent.classification.em import Problem, step
from pgmpy_latent.classification.lcm import LatentClassificationModel
from pgmpy_latent.classification.rows import training
from pgmpy_latent.classification.starts import draw_starts

#: Name in the paper -> file.
FILES = {
    "balance-scale": "balance_scale", "breast": "wisconsin", "crabs": "crabs", "diabetes": "pima", "glass": "glass",
    "glass2": "glass2", "heart": "heart_statlog", "iris": "iris", "liver": "liver_bupa", "pima": "pima",
    "sonar": "sonar", "tae": "tae", "thyroid": "thyroid_new", "vehicle": "vehicle", "wine": "wine",
}  # fmt: skip
#: The same rows as another set, in other folds: what is added to the seed.
OTHER_FOLDS = {"pima": 100}
N_FOLDS, SEEDS = 5, range(3)

LINEAR, LINEAR_EDGES, TIED, UNTIED, TIED_EDGES = "LCM(q)", "LCM(q)/S", "LCM(q,m;T)", "LCM(q,m;U)", "LCM(q,m;T)/S"
#: Ours, cheapest first -> settings.
OURS = {
    LINEAR: {"n_components": 1},
    TIED: {},
    UNTIED: {"tied": False},
    LINEAR_EDGES: {"n_components": 1, "learn_edges": True},
    TIED_EDGES: {"learn_edges": True},
}

#: The paper's table 3, columns LCM(q), LCM(q)/S, LCM(q,m;T), LCM(q,m;U), LCM(q,m;T)/S.
PAPER = {
    "balance-scale": (88.0, 87.8, 90.9, 89.0, 87.4), "breast": (96.8, 96.5, 96.5, 96.5, 96.5),
    "crabs": (94.5, 95.5, 95.5, 95.5, 94.5), "diabetes": (75.9, 76.6, 75.9, 75.5, 72.9),
    "glass": (57.0, 62.1, 70.1, 64.5, 67.3), "glass2": (66.9, 67.6, 85.3, 81.0, 79.8),
    "heart": (85.2, 83.7, 83.3, 83.3, 82.6), "iris": (98.0, 96.7, 96.7, 97.3, 95.3),
    "liver": (65.2, 66.4, 68.4, 69.0, 69.0), "pima": (74.0, 74.4, 75.0, 75.6, 73.7),
    "sonar": (81.2, 76.4, 80.2, 84.1, 83.2), "tae": (56.9, 53.6, 61.5, 58.9, 56.9),
    "thyroid": (95.3, 95.8, 94.4, 95.4, 89.3), "vehicle": (84.3, 80.4, 83.5, 84.2, 79.2),
    "wine": (100.0, 99.4, 99.4, 98.9, 97.7),
}  # fmt: skip
PAPER_AVERAGE = (81.3, 80.9, 83.8, 83.2, 81.7)
#: The paper's table 1: least, median and most latents of LCM(q), and components of LCM(q,m;T).
PAPER_SIZES = {
    "balance-scale": ((4, 6, 10), (2, 20, 25)), "breast": ((1, 1, 2), (1, 1, 30)), "crabs": ((3, 4, 18), (2, 10, 20)),
    "diabetes": ((3, 6, 14), (1, 20, 35)), "glass": ((2, 4, 20), (10, 25, 35)), "glass2": ((2, 3, 4), (15, 30, 40)),
    "heart": ((2, 5, 6), (1, 1, 2)), "iris": ((3, 3, 6), (2, 4, 25)), "liver": ((10, 12, 12), (4, 15, 40)),
    "pima": ((8, 8, 14), (1, 1, 30)), "sonar": ((12, 40, 100), (15, 20, 40)), "tae": ((6, 8, 14), (20, 35, 40)),
    "thyroid": ((6, 6, 14), (2, 3, 15)), "vehicle": ((35, 40, 40), (20, 25, 40)), "wine": ((6, 14, 18), (1, 4, 30)),
}  # fmt: skip

# -- what scikit-learn tunes by cross-validation within the training part
LARGEST_K, N_TREES = 31, 500
SHRINKAGE = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
LOGISTIC_C = tuple(10.0**power for power in range(-4, 5))
SVM_C, SVM_GAMMA = (tuple(2.0**power for power in powers) for powers in (range(-2, 11, 2), range(-10, 2, 2)))
#: Smallest probability that counts in the log-loss.
SMALLEST = 1e-15

# -- missing attributes
MISSING_SETS, MISSING_SHARES, MISSING_SEED = ("wine", "thyroid", "vehicle"), (0.0, 0.1, 0.25, 0.5), 0
IN_TEST, IN_BOTH = "in the test part", "in both parts"

# -- seconds
BASE = {"rows": 1_000, "attributes": 20, "latents": 10, "components": 5, "classes": 3}
GROWTH = {
    "rows": (1_000, 3_000, 10_000, 30_000),
    "attributes": (5, 10, 20, 40, 80),
    "latents": (2, 5, 10, 20, 40),
    "components": (1, 2, 5, 10, 20),
    "classes": (2, 4, 8),
}
#: Iterations that are timed: so many, or for so many seconds, but never fewer than some.
MOST_STEPS, STEP_SECONDS, LEAST_STEPS = 300, 4.0, 9
STEP = "one iteration of EM"
FIT_ROWS, FIT_ATTRIBUTES, FIT_CLASSES = 500, 10, 3


# -- tables ------------------------------------------------------------------------------------------------------------


@cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the attributes of a data set, without incomplete rows, and the numbers of the classes."""
    frame = pd.read_csv(runner.DATA / f"{FILES[name]}.csv").dropna()
    _, labels = np.unique(frame.pop("class").to_numpy(str), return_inverse=True)
    return frame.to_numpy(float), labels


def folds(name: str, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to learn from and to test with; the same for all methods."""
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed + OTHER_FOLDS.get(name, 0))
    return list(splitter.split(*table(name)))


def with_gaps(attributes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Remove some cells at random; a larger share removes the same ones and others."""
    removed = np.random.default_rng(seed).random(attributes.shape) < share
    return np.where(removed, np.nan, attributes)


def drawn(n_rows: int, n_attributes: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of equally frequent classes, each of which is a mixture of two Gaussians."""
    rng = np.random.default_rng(seed)
    parts = np.arange(n_rows) % (2 * n_classes)
    attributes = rng.normal(size=(n_rows, n_attributes))
    for part in range(2 * n_classes):
        here = parts == part
        mixing = rng.normal(size=(n_attributes, n_attributes)) / np.sqrt(n_attributes)
        attributes[here] = attributes[here] @ mixing + rng.normal(size=n_attributes)
    return attributes, parts % n_classes


# -- methods -----------------------------------------------------------------------------------------------------------


def best_k(attributes: np.ndarray, labels: np.ndarray, largest: int = LARGEST_K) -> int:
    """Return the number of neighbours, the smallest of several, with which most rows are told from all others."""
    distances = squareform(pdist(attributes))
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(largest, len(labels) - 1)]
    votes = np.cumsum(np.eye(labels.max() + 1)[labels[nearest]], axis=1)
    return 1 + int((votes.argmax(axis=2) == labels[:, None]).mean(axis=0).argmax())


class LeaveOneOutNeighbours(ClassifierMixin, BaseEstimator):
    """Nearest neighbours; how many, leave-one-out within the training rows decides."""

    def fit(self, X, y):
        self.k_ = best_k(X, y)
        self.model_ = KNeighborsClassifier(self.k_).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class TowardsIdentity(BaseEstimator):
    """Covariance matrix, mixed with the identity; also of fewer rows than attributes, unlike ``reg_param`` of QDA."""

    def __init__(self, share=0.1):
        self.share = share

    def fit(self, X):
        self.covariance_ = (1 - self.share) * np.cov(X.T, bias=True) + self.share * np.eye(X.shape[1])
        return self


def tuned(*steps: BaseEstimator, **grid: Iterable) -> GridSearchCV:
    """Return a pipeline whose last step is tuned by five-fold accuracy."""
    pipeline = make_pipeline(*steps)
    last = pipeline.steps[-1][0]
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    values = {f"{last}__{name}": list(some) for name, some in grid.items()}
    return GridSearchCV(pipeline, values, scoring="accuracy", cv=splitter)


def logistic(*before: BaseEstimator) -> GridSearchCV:
    return tuned(*before, StandardScaler(), LogisticRegression(max_iter=10_000), C=LOGISTIC_C)


def svm(*before: BaseEstimator) -> GridSearchCV:
    return tuned(*before, StandardScaler(), SVC(), C=SVM_C, gamma=SVM_GAMMA)


def qda() -> GridSearchCV:
    last = QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=TowardsIdentity())
    return tuned(StandardScaler(), last, covariance_estimator__share=SHRINKAGE)


def scaled(last: BaseEstimator):
    return make_pipeline(StandardScaler(), last)


#: From scikit-learn, cheapest first -> a new estimator.
THEIRS: dict[str, Callable[[], BaseEstimator]] = {
    "GaussianNB": lambda: scaled(GaussianNB()),
    "k-NN": lambda: scaled(LeaveOneOutNeighbours()),
    "LDA": lambda: scaled(LinearDiscriminantAnalysis()),
    "QDA": qda,
    "Logistic regression": logistic,
    "Extra trees": lambda: scaled(ExtraTreesClassifier(N_TREES, random_state=0)),
    "Random forest": lambda: scaled(RandomForestClassifier(N_TREES, random_state=0)),
    "Gradient boosting": lambda: scaled(GradientBoostingClassifier(random_state=0)),
    "SVM-RBF": svm,
}
#: Methods for tables with gaps, but ours.
GAP_METHODS: dict[str, Callable[[], BaseEstimator]] = {
    "Hist gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "Means + logistic regression": lambda: logistic(SimpleImputer()),
    "Means + SVM-RBF": lambda: svm(SimpleImputer()),
}


def ours(**settings) -> LatentClassificationModel:
    return LatentClassificationModel(**settings, random_state=0, show_progress=False)


def estimator(method: str) -> BaseEstimator:
    """Return a new estimator of a column of table 3."""
    return ours(**OURS[method]) if method in OURS else THEIRS[method]()


# -- table 3 and missing attributes ------------------------------------------------------------------------------------


def log_loss(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean of minus the logarithm of the probability of the true class."""
    true = probabilities[np.arange(len(labels)), labels]
    return round(float(-np.log(np.clip(true, SMALLEST, 1.0)).mean()), 6)


def in_fold(model: BaseEstimator, learn: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> dict:
    """Learn from some rows, and test with others."""
    began = time.process_time()  # one thread: what it takes on a machine that does nothing else
    model.fit(*learn)
    seconds = time.process_time() - began
    kept = {
        "accuracy": round(float((model.predict(test[0]) == test[1]).mean()), 6),
        "log_loss": log_loss(model.predict_proba(test[0]), test[1]) if hasattr(model, "predict_proba") else None,
        "fit_seconds": round(seconds, 4),
        "n_train": len(learn[1]),
        "n_test": len(test[1]),
    }
    if isinstance(model, LatentClassificationModel):
        kept["sizes"] = [int(model.n_latents_), int(model.n_components_)]
    return kept


def in_folds(name: str, seed: int, models: Iterable[BaseEstimator], learn: np.ndarray, test: np.ndarray) -> dict:
    """Return the figures of all folds, as lists, and the mean seconds of a fit; learn and test may differ in gaps."""
    labels = table(name)[1]
    results = [
        in_fold(model, (learn[some], labels[some]), (test[others], labels[others]))
        for model, (some, others) in zip(models, folds(name, seed), strict=True)
    ]
    kept = {figure: [result[figure] for result in results] for figure in results[0]}
    return {"seconds": float(np.mean(kept["fit_seconds"])), **kept}


def on_table(name: str, method: str, seed: int) -> dict:
    """Return a cell of table 3."""
    attributes = table(name)[0]
    return in_folds(name, seed, [estimator(method) for _ in range(N_FOLDS)], attributes, attributes)


@cache
def sizes_of_folds(run: runner.Runner, name: str) -> list[list[int]]:
    """Return the sizes that the default finds in complete rows; from table 3, if they are there."""
    if run.find(table_case(name), TIED, MISSING_SEED):
        return run.figure(table_case(name), TIED, "sizes", MISSING_SEED)
    return on_table(name, TIED, MISSING_SEED)["sizes"]


def on_gaps(run: runner.Runner, name: str, where: str, share: float, method: str) -> dict:
    """Learn and test with cells removed in the test part, or in both."""
    complete = table(name)[0]
    gaps = with_gaps(complete, share, MISSING_SEED)
    if method == TIED:
        models = [ours(n_latents=q, n_components=m) for q, m in sizes_of_folds(run, name)]
    else:
        models = [GAP_METHODS[method]() for _ in range(N_FOLDS)]
    return in_folds(name, MISSING_SEED, models, gaps if where == IN_BOTH else complete, gaps)


# -- seconds -----------------------------------------------------------------------------------------------------------


def step_seconds(rows: int, attributes: int, latents: int, components: int, classes: int) -> float:
    """Return the median seconds of an iteration of EM with one model."""
    table, labels = drawn(rows, attributes, classes, 0)
    data = training(table, labels, np.ones(rows))
    problem = Problem(data.by_class, data.weights[None], noise_floor=1e-2)
    model, numbers = draw_starts(data, data.weights[None], (latents, components), 1, 0)
    for _ in range(3):
        _, model = step(problem, model, numbers)
    seconds: list[float] = []
    while len(seconds) < LEAST_STEPS or (len(seconds) < MOST_STEPS and sum(seconds) < STEP_SECONDS):
        began = time.process_time()
        step(problem, model, numbers)
        seconds.append(time.process_time() - began)
    return median(seconds)


def on_growth(what: str) -> dict:
    """Time iterations of EM with more and more of something."""
    found = [step_seconds(**{**BASE, what: size}) for size in GROWTH[what]]
    slopes = np.diff(np.log(found)) / np.diff(np.log(GROWTH[what]))
    overall = float(np.polyfit(np.log(GROWTH[what]), np.log(found), 1)[0])
    sizes = {"sizes": list(GROWTH[what]), "step_seconds": found, "slope": overall, "slopes": slopes.tolist()}
    return {"seconds": found[-1], **sizes}


def on_drawn(seed: int) -> dict:
    """Time the default fit on drawn rows."""
    attributes, labels = drawn(2 * FIT_ROWS, FIT_ATTRIBUTES, FIT_CLASSES, seed)
    learn, test = slice(FIT_ROWS), slice(FIT_ROWS, None)
    result = in_fold(ours(), (attributes[learn], labels[learn]), (attributes[test], labels[test]))
    return {"seconds": result.pop("fit_seconds"), **result}


def on_first_fold(name: str) -> dict:
    """Time the default fit on the first fold of a set."""
    (attributes, labels), (learn, test) = table(name), folds(name, 0)[0]
    result = in_fold(ours(), (attributes[learn], labels[learn]), (attributes[test], labels[test]))
    return {"seconds": result.pop("fit_seconds"), **result}


# -- measuring ---------------------------------------------------------------------------------------------------------

Job = tuple[str, str, int, Callable[[], dict]]
STEP_CASE = "Iteration: " + ", ".join(f"{size:,} {what}" for what, size in BASE.items())
FIT_CASE = f"Default fit: {FIT_ROWS} rows, {FIT_ATTRIBUTES} attributes, {FIT_CLASSES} classes"


def first_fold_case(name: str) -> str:
    return f"Default fit: {name}, first fold"


def table_case(name: str) -> str:
    return f"Table 3: {name}"


def gap_case(name: str, where: str, share: float) -> str:
    return f"Missing: {name}, {share:.0%} {where}" if share else f"Missing: {name}, nothing"


def growth_case(what: str) -> str:
    return f"Growth: {what}"


def gap_cases() -> list[tuple[str, str, float]]:
    """Return data sets, where cells are missing, and how many; nothing missing is one case, not two."""
    wheres = [(where, share) for where in (IN_TEST, IN_BOTH) for share in MISSING_SHARES if share or where == IN_TEST]
    return [(name, where, share) for name in MISSING_SETS for where, share in wheres]


def table_jobs(methods: Iterable[str], seeds: Iterable[int]) -> Iterator[Job]:
    names = sorted(FILES, key=lambda name: table(name)[0].size)
    for method in methods:
        for seed in seeds:
            for name in names:
                yield table_case(name), method, seed, partial(on_table, name, method, seed)


def gap_jobs(run: runner.Runner, methods: Iterable[str]) -> Iterator[Job]:
    for method in methods:
        for case in gap_cases():
            yield gap_case(*case), method, MISSING_SEED, partial(on_gaps, run, *case, method)


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return all that is to be measured, cheapest first: case, method, seed and work."""
    yield STEP_CASE, STEP, 0, lambda: {"seconds": step_seconds(**BASE)}
    for what in GROWTH:
        yield growth_case(what), STEP, 0, partial(on_growth, what)
    yield from table_jobs(THEIRS, SEEDS)
    yield from gap_jobs(run, GAP_METHODS)
    for seed in SEEDS:
        yield FIT_CASE, TIED, seed, partial(on_drawn, seed)
    for name in sorted(FILES, key=lambda name: table(name)[0].size):
        yield first_fold_case(name), TIED, 0, partial(on_first_fold, name)
    yield from table_jobs([LINEAR], SEEDS)
    for seed in SEEDS:
        yield from table_jobs([TIED], [seed])
    yield from gap_jobs(run, [TIED])
    for seed in SEEDS:
        yield from table_jobs([method for method in OURS if method not in (LINEAR, TIED)], [seed])


def names_in(text: str) -> list[str]:
    """Cut a list at its commas, except for those in brackets.

    >>> names_in("LCM(q,m;T), LDA")
    ['LCM(q,m;T)', 'LDA']
    """
    return [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]


def measure(run: runner.Runner, only: str, methods: list[str], seeds: list[int]) -> None:
    """Run everything that is not there yet; empty lists leave nothing out."""
    parts = [part.strip() for part in only.split("+")]
    for case, method, seed, work in jobs(run):
        label = f"{case} | {method} | seed {seed}"
        if (methods and method not in methods) or (seeds and seed not in seeds):
            continue
        if all(part in label for part in parts) and not run.find(case, method, seed):
            print(f"{label} ...", flush=True)
            run.compare(case, {method: work}, seed=seed, repeats=1)


def own_arguments() -> tuple[list[str], list[int]]:
    """Read the options that only this script has, and leave the others."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--methods", default="")
    parser.add_argument("--seeds", default="")
    own, sys.argv[1:] = parser.parse_known_args()
    methods, known = names_in(own.methods), {*OURS, *THEIRS, *GAP_METHODS, STEP}
    if unknown := set(methods) - known:
        parser.error(f"--methods: {', '.join(sorted(unknown))} not among {', '.join(sorted(known))}")
    return methods, [int(seed) for seed in own.seeds.split(",") if seed.strip()]


def main() -> None:
    from benchmarks.classification_page import page  # it takes the figures above for its tables

    methods, seeds = own_arguments()
    options = runner.arguments(__doc__)
    runner.PACKAGES.append("scikit-learn")  # half of the methods are its
    run = runner.Runner("classification", again=options.again, only=options.only)
    if not options.render:
        warnings.simplefilter("ignore")  # of attributes that are constant in a part, and of ends of iterations
        measure(run, options.only, methods, seeds)
    runner.render("classification", page(run))


if __name__ == "__main__":
    main()
