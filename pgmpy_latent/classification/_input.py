"""What people hand to the classifier: tables, classes, weights and folds, checked before the long work."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from numbers import Integral

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from pgmpy_latent.exceptions import DataError, WeightError


def training_rows(estimator, X, y, sample_weight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return attributes, numbers of the classes and weights of the rows that count; set ``classes_``."""
    _refuse_words(X)
    X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2)
    _refuse_infinity(estimator, X)
    check_classification_targets(y)
    y = column_or_1d(y, warn=True)
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise WeightError("all weights are zero, so there is nothing to learn from")
    weights = _check_sample_weight(sample_weight, X)
    if (weights < 0).any():
        raise WeightError("sample_weight has negative entries; give weights of at least zero")
    counts = weights > 0
    X, y, weights = X[counts], y[counts], weights[counts]
    estimator.classes_, labels = np.unique(y, return_inverse=True)
    _check_classes(estimator.classes_, labels)
    _check_attributes(estimator, X)
    return X, labels, weights


def new_rows(estimator, X) -> np.ndarray:
    """Return attributes of rows to be looked at."""
    _refuse_words(X)
    X = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, reset=False)
    _refuse_infinity(estimator, X)
    return X


def attribute_names(estimator) -> list[Hashable]:
    """Return the names of the attributes: those of the frame, or x0, x1, ..."""
    if hasattr(estimator, "feature_names_in_"):
        return list(estimator.feature_names_in_)
    return [f"x{at}" for at in range(estimator.n_features_in_)]


def latent_names(estimator) -> list[str]:
    """Return Z1, Z2, ..., or something longer where attributes are called so."""
    taken = set(attribute_names(estimator))
    return [free_name(f"Z{at + 1}", taken) for at in range(estimator.n_latents_)]


def free_name(name: str, taken: set) -> str:
    """Return a name that is not taken.

    Examples
    --------
    >>> free_name("class", {"class"})
    'class_'
    """
    while name in taken:
        name += "_"
    return name


def _refuse_words(X) -> None:
    """Raise if a column of a frame holds something else than numbers."""
    if not isinstance(X, pd.DataFrame):
        return
    for name, dtype in X.dtypes.items():
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            try:
                pd.to_numeric(X[name])
            except (ValueError, TypeError):
                raise DataError(
                    f"column {name!r} holds values of type {dtype}, but attributes are numbers; encode it or drop it"
                ) from None


def _refuse_infinity(estimator, X: np.ndarray) -> None:
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        name = attribute_names(estimator)[int(np.argmax(infinite))]
        raise DataError(f"column {name!r} has infinite values; replace them, or make them missing (NaN)")


def _check_classes(classes: np.ndarray, labels: np.ndarray) -> None:
    if len(classes) == 1:
        raise DataError(f"there is one class only, {classes[0]!r}; a classifier needs at least two")
    rows = np.bincount(labels)
    if (rows == 1).any():
        lonely = classes[int(np.argmax(rows == 1))]
        raise DataError(
            f"class {lonely!r} has one row, from which no spread can be learned; join it with another or drop it"
        )


def _check_attributes(estimator, X: np.ndarray) -> None:
    names = attribute_names(estimator)
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise DataError(f"column {names[int(np.argmax(empty))]!r} has no value at all; drop it")
    with np.errstate(invalid="ignore"):
        constant = np.nanmin(X, axis=0) == np.nanmax(X, axis=0)
    if constant.all():
        raise DataError(
            f"all attributes are constant ({', '.join(map(repr, names[:5]))}); nothing tells the classes apart"
        )


class Folds:
    """The wrapper's folds: stratified and drawn anew each time, or those that the user gave, once.

    Parameters
    ----------
    cv : int, splitter or iterable
    attributes, labels : arrays
        Of the training rows.
    classes : array
        Names of the classes, for messages.
    seed : int
    """

    def __init__(self, cv, attributes: np.ndarray, labels: np.ndarray, classes: np.ndarray, seed: int):
        self.attributes, self.labels, self.classes, self.seed = attributes, labels, classes, seed
        self.renewable = isinstance(cv, Integral) or cv is None
        self.cv = (5 if cv is None else int(cv)) if self.renewable else cv
        if not self.renewable and isinstance(cv, Iterable) and not hasattr(cv, "split"):
            self.cv = list(cv)

    def draw(self, repeat: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return pairs of rows to learn from and rows to test on."""
        if self.renewable:
            seed = int(np.random.SeedSequence(self.seed, spawn_key=(repeat,)).generate_state(1)[0])
            splitter = StratifiedKFold(min(self.cv, self._most_folds()), shuffle=True, random_state=seed)
        else:
            splitter = check_cv(self.cv, self.labels, classifier=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            folds = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(self.attributes, self.labels)]
        self._check(folds)
        return folds

    def _most_folds(self) -> int:
        """Return the rows of the largest class: more folds than that cannot be stratified."""
        return int(np.bincount(self.labels).max())

    def _check(self, folds: list) -> None:
        for number, (learn, test) in enumerate(folds):
            missing = np.setdiff1d(np.arange(len(self.classes)), self.labels[learn])
            if len(missing):
                raise DataError(
                    f"fold {number} of cv leaves no row of class {self.classes[missing[0]]!r} to learn from; "
                    "give folds that keep every class, as a whole number does"
                )
            if not len(test):
                raise DataError(f"fold {number} of cv has no row to test on; give other folds")
