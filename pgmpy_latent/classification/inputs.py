"""The input of the classifier: tables, classes, weights and folds, checked before the long work."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from pgmpy_latent.exceptions import DataError, WeightError
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import as_pandas, plain, without_columns
from pgmpy_latent.tables.survey import (
    WeightKind,
    are_whole,
    check_kind,
    kind_of,
    kish_scale,
    names_column,
    numbered,
    set_apart,
    warn_if_doubtful,
)

#: Positions of rows to learn from, and of rows to test on.
Fold = tuple[np.ndarray, np.ndarray]

#: Sizes and spreads of attributes beyond which, up or down, squares overflow or vanish; and standard deviations.
LARGEST, FARTHEST = 1e150, 1e100
#: An attribute whose spread is below this share of its size is constant; the rest is rounding.
CONSTANT = 1e-12
#: Standard deviations between zero and an attribute's mean beyond which a model without offsets loses precision.
FAR = 1e3
#: How often folds of whole clusters are drawn until every class is in all of them but the one that is tested.
ATTEMPTS = 20


@dataclass(frozen=True)
class TrainingRows:
    """The rows of positive weight.

    Attributes
    ----------
    attributes : array, shape (n_rows, n_attributes)
    labels : int array, shape (n_rows,)
        Numbers of the classes.
    weights : array, shape (n_rows,)
        Positive.
    place : int array, shape (n_rows_given,)
        Position of each row of the user's table among these; -1 where its weight is zero.
    clusters : int array, shape (n_rows,), or None
        Numbers of the primary sampling units, those of different strata apart.
    """

    attributes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    place: np.ndarray
    clusters: np.ndarray | None = None

    def some(self, rows: np.ndarray) -> TrainingRows:
        """Return the rows at some positions."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return TrainingRows(
            self.attributes[rows], self.labels[rows], self.weights[rows], np.arange(len(rows)), clusters
        )


def training_rows(estimator, X, y, drawn: dict, weight_kind: WeightKind | None) -> TrainingRows:
    """Return the rows of positive weight.

    Sets ``classes_``, ``weight_kind_``, ``design_``, ``n_rows_`` and ``total_weight_`` of the estimator. ``drawn``
    holds ``sample_weight``, ``strata`` and ``cluster``: values, or names of columns of ``X``.
    """
    check_kind(weight_kind)
    X = as_pandas(X)
    design = {what: _name_of_column(X, values) for what, values in drawn.items() if values is not None}
    X, drawn = set_apart(X, drawn)
    sample_weight = drawn["sample_weight"]
    X, y = validate_data(
        estimator, _with_numbers(X), y, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2
    )
    _refuse_infinity(estimator, X)
    check_classification_targets(y)
    y = column_or_1d(y, warn=True)
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise WeightError("all weights are zero, so there is nothing to learn from")
    weights = _check_sample_weight(sample_weight, X)
    if (weights < 0).any():
        raise WeightError("sample_weight has negative entries; give weights of at least zero")
    strata, clusters = (numbered(drawn[what], what, len(X)) for what in ("strata", "cluster"))
    counts = weights > 0
    _warn_of_classes_without_weight(y, counts)
    estimator.design_, estimator.n_rows_ = design, len(X)
    X, y, weights = X[counts], y[counts], weights[counts]
    estimator.weight_kind_ = None if sample_weight is None else kind_of(weight_kind, are_whole(weights))
    if weight_kind is None and not (strata is None and clusters is None):
        warn_if_doubtful(estimator.weight_kind_, [len(X)], len(X), len(X), float(weights.mean()), True)
    if estimator.weight_kind_ == "sampling":
        weights = weights * kish_scale(weights)
    estimator.total_weight_ = float(weights.sum())
    try:
        estimator.classes_, labels = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError("y mixes kinds of values, or lacks some; give every row a class of one kind") from None
    _check_classes(estimator.classes_, labels)
    _check_attributes(estimator, X)
    if not estimator._tuning.offset:
        _check_near_zero(estimator, X)
    clusters = None if clusters is None else _apart_by_strata(clusters, strata)[counts]
    return TrainingRows(X, labels, weights, np.where(counts, np.cumsum(counts) - 1, -1), clusters)


def _name_of_column(X, values) -> Hashable | None:
    """Return the name of a column of the table, if the user gave one, and None if they are values."""
    columns = X.columns.tolist() if isinstance(X, pd.DataFrame) else ()
    return plain(values) if names_column(values, columns) else None


def _apart_by_strata(clusters: np.ndarray, strata: np.ndarray | None) -> np.ndarray:
    """Return numbers of clusters in which the same label in two strata means two clusters."""
    if strata is None:
        return clusters
    return np.unique(np.stack([strata, clusters]), axis=1, return_inverse=True)[1].ravel()


def new_rows(estimator, X) -> np.ndarray:
    """Return the attributes of new rows, without the columns that ``fit`` read as weights, strata or clusters."""
    X = without_design(estimator, as_pandas(X))
    X = validate_data(estimator, _with_numbers(X), dtype=np.float64, ensure_all_finite=False, reset=False)
    _refuse_infinity(estimator, X)
    return X


def without_design(estimator, X):
    """Return a table without the columns that ``fit`` read as weights, strata or clusters, if it has them."""
    aside = {name for name in getattr(estimator, "design_", {}).values() if name is not None}
    if not aside or isinstance(X, pd.DataFrame):
        return without_columns(X, aside) if aside else X
    shape = np.shape(X)
    has_them = len(shape) == 2 and shape[1] == estimator.n_features_in_ + len(aside) and aside <= {*range(shape[1])}
    return without_columns(X, aside) if has_them else X


def attribute_names(estimator) -> list[Hashable]:
    """Return the names of the attributes: those of the frame, or x0, x1, ..."""
    if hasattr(estimator, "feature_names_in_"):
        return list(estimator.feature_names_in_)
    return [f"x{at}" for at in range(estimator.n_features_in_)]


def latent_names(estimator) -> list[str]:
    """Return Z1, Z2, ..., or something longer where attributes are called so."""
    attributes = set(attribute_names(estimator))
    return [free_name(f"Z{at + 1}", attributes) for at in range(estimator.n_latents_)]


def free_name(name: str, used: set) -> str:
    """Return a name that is not used yet.

    Examples
    --------
    >>> free_name("class", {"class"})
    'class_'
    """
    while name in used:
        name += "_"
    return name


def _with_numbers(X):
    """Return a table with missing cells of any kind as NaN; raise if a column holds something else than numbers."""
    if isinstance(X, (np.ndarray, list)):
        array = np.array(X, dtype=object) if isinstance(X, list) else X
        if array.ndim == 2 and array.dtype.kind in "OSU":
            _refuse_text(pd.DataFrame(array, columns=[f"x{at}" for at in range(array.shape[1])]))
            return np.where(pd.isna(array), np.nan, array) if array.dtype == object else X
    if isinstance(X, pd.DataFrame):
        _refuse_text(X)
        odd = [
            at
            for at, dtype in enumerate(X.dtypes)
            if pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype)
        ]
        if odd:
            X = X.copy(deep=False)
            for at in odd:
                X.isetitem(at, pd.to_numeric(X.iloc[:, at]).astype("Float64").to_numpy(float, na_value=np.nan))
    return X


def _refuse_text(X: pd.DataFrame) -> None:
    for at, (name, dtype) in enumerate(X.dtypes.items()):
        if not _holds_numbers(X.iloc[:, at]):
            raise DataError(f"column {name!r} ({dtype}) does not hold numbers; encode it or drop it")


def _holds_numbers(column: pd.Series) -> bool:
    """Return whether a column holds numbers, also as text; raise TypeError where a cell is not a single value."""
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return not pd.api.types.is_complex_dtype(column.dtype)
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        return False
    try:
        pd.to_numeric(column)
    except ValueError:
        return False
    except TypeError as error:
        raise TypeError(f"column {column.name!r}: a cell as argument must be a string or a number ({error})") from None
    return True


def _refuse_infinity(estimator, X: np.ndarray) -> None:
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        name = attribute_names(estimator)[int(np.argmax(infinite))]
        raise DataError(f"column {name!r} has infinite values; replace them, or make them missing (NaN)")


def _check_classes(classes: np.ndarray, labels: np.ndarray) -> None:
    names = classes.tolist()
    if len(classes) == 1:
        raise DataError(f"there is one class only, {names[0]!r}; a classifier needs at least two")
    rows = np.bincount(labels)
    if (rows == 1).any():
        lonely = names[int(np.argmax(rows == 1))]
        raise DataError(
            f"class {lonely!r} has one row, so that its variance cannot be learned; join it with another or drop it"
        )


def _warn_of_classes_without_weight(y: np.ndarray, counts: np.ndarray) -> None:
    if counts.all():
        return
    lost = sorted(set(y[~counts].tolist()) - set(y[counts].tolist()), key=str)
    if lost:
        warn(
            f"all rows of class {', '.join(map(repr, lost))} have weight zero; the classifier will not know it",
            UserWarning,
        )


def _check_attributes(estimator, X: np.ndarray) -> None:
    names = attribute_names(estimator)
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise DataError(f"column {names[int(np.argmax(empty))]!r} has no value at all; drop it")
    spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    constant = spread <= CONSTANT * np.nanmax(np.abs(X), axis=0)
    if constant.all():
        raise DataError(
            f"all attributes are constant ({', '.join(map(repr, names[:5]))}); nothing tells the classes apart"
        )
    extreme = (np.nanmax(np.abs(X), axis=0) > LARGEST) | (~constant & (spread < 1 / LARGEST))
    if extreme.any():
        raise DataError(
            f"column {names[int(np.argmax(extreme))]!r} has numbers too large or too close together "
            "to be squared; give it in another unit"
        )


def refuse_remote(estimator, standardised: np.ndarray) -> None:
    """Raise if a new row is so far from those that were learned from that no probability can be computed."""
    remote = (np.abs(standardised) > FARTHEST).any(axis=0)
    if remote.any():
        name = attribute_names(estimator)[int(np.argmax(remote))]
        raise DataError(
            f"column {name!r} has a value more than {FARTHEST:g} standard deviations from the mean of the training "
            "rows; make it missing (NaN)"
        )


def _check_near_zero(estimator, X: np.ndarray) -> None:
    """Raise if a model without offsets would have to hit values far from zero by its latents alone."""
    spread = np.nanstd(X, axis=0)
    far = np.abs(np.nanmean(X, axis=0)) > FAR * np.where(spread > 0, spread, 1.0)
    if far.any():
        name = attribute_names(estimator)[int(np.argmax(far))]
        raise DataError(
            f"column {name!r} is too far from zero for a model without offsets; set offset=True, or centre it"
        )


def some_rows(labels: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return positions of at most about so many rows, of every class in proportion, but at least ten if there are."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(labels),)))
    share = most / len(labels)
    chosen = []
    for label in range(int(labels.max()) + 1):
        here = np.flatnonzero(labels == label)
        size = min(len(here), max(10, round(share * len(here))))
        chosen.append(rng.choice(here, size=size, replace=False))
    return np.sort(np.concatenate(chosen))


class Folds:
    """The wrapper's folds: stratified and drawn anew each time, or those that the user gave, once.

    Rows of one cluster are alike: where there are clusters, those that are drawn here keep all rows of one together,
    and splitters are told of them as ``groups``.

    Parameters
    ----------
    cv : int, splitter or iterable
    rows : TrainingRows
        The rows; an iterable ``cv`` has positions in the user's table.
    classes : array
        Names of the classes, for messages.
    seed : int
    """

    def __init__(self, cv, rows: TrainingRows, classes: np.ndarray, seed: int):
        self.attributes, self.labels, self.seed = rows.attributes, rows.labels, seed
        self.clusters = rows.clusters
        self.classes = classes.tolist()
        self.renewable = isinstance(cv, Integral) or cv is None
        self.cv = (5 if cv is None else int(cv)) if self.renewable else cv
        if self.renewable and self.clusters is not None:
            self._check_clusters(self.clusters)
        if not self.renewable and isinstance(cv, Iterable) and not hasattr(cv, "split"):
            folds = list(cv)
            if not all(isinstance(fold, (tuple, list)) and len(fold) == 2 for fold in folds):
                raise DataError("cv has folds that are not pairs of row numbers, to learn from and to test on")
            self.cv = [tuple(_mapped(part, rows.place) for part in fold) for fold in folds]
            if not self.cv:
                raise DataError("cv has no folds; give a whole number, a splitter, or pairs of row numbers")

    def draw(self, repeat: int) -> list[Fold]:
        """Return pairs of rows to learn from and rows to test on."""
        attempts = ATTEMPTS if self.renewable and self.clusters is not None else 1
        for attempt in range(attempts):
            folds = self._split(repeat, attempt)
            wrong = self._what_is_wrong(folds)
            if not wrong:
                return folds
        raise DataError(wrong)

    def _split(self, repeat: int, attempt: int) -> list[Fold]:
        if not self.renewable:
            splitter = check_cv(self.cv, self.labels, classifier=True)
        else:
            key = (repeat, attempt) if attempt else (repeat,)
            seed = int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0])
            kind = StratifiedKFold if self.clusters is None else StratifiedGroupKFold
            splitter = kind(min(self.cv, self._most_folds()), shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            warnings.filterwarnings("ignore", message="The groups parameter is ignored", category=UserWarning)
            groups = () if self.clusters is None else (self.clusters,)
            folds = splitter.split(self.attributes, self.labels, *groups)
            return [(np.asarray(learn), np.asarray(test)) for learn, test in folds]

    def _most_folds(self) -> int:
        """Return the rows of the largest class, or the number of clusters: more folds than that cannot be made."""
        most = int(np.bincount(self.labels).max())
        return most if self.clusters is None else min(most, len(np.unique(self.clusters)))

    def _check_clusters(self, clusters: np.ndarray) -> None:
        """Raise if a class is in a single cluster: the fold that tests on it leaves nothing to learn the class from."""
        pairs = np.unique(np.stack([self.labels, clusters]), axis=1)
        single = np.flatnonzero(np.bincount(pairs[0]) == 1)
        if len(single):
            raise DataError(
                f"all rows of class {self.classes[single[0]]!r} are in one cluster, so that folds of whole clusters "
                "cannot find n_latents and n_components; give both, give folds of your own as cv, or leave cluster out"
            )

    def _what_is_wrong(self, folds: Sequence[Fold]) -> str:
        """Return a message that says why folds are useless; an empty one if they are fine."""
        for number, (learn, test) in enumerate(folds):
            missing = np.setdiff1d(np.arange(len(self.classes)), self.labels[learn])
            if len(missing):
                other = "folds that keep every class, as a whole number does"
                if self.renewable and self.clusters is not None:
                    other = "fewer folds, as its classes are in few clusters, or n_latents and n_components"
                return (
                    f"fold {number} of cv leaves no row of class {self.classes[missing[0]]!r} to learn from; "
                    f"give {other}"
                )
            if not len(test):
                return f"fold {number} of cv has no row to test on; give other folds"
        return ""


def _mapped(rows, place: np.ndarray) -> np.ndarray:
    """Return row numbers of the user's table, or a mask, as positions among the rows of positive weight."""
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if len(rows) and (rows.min() < 0 or rows.max() >= len(place)):
        wrong = rows.min() if rows.min() < 0 else rows.max()
        raise DataError(f"cv has row {wrong}, but there are {len(place)} rows; give numbers from 0")
    positions = place[rows.astype(np.int64)]
    return positions[positions >= 0]
