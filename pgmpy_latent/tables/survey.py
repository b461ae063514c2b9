"""How the rows of a table were drawn: frequency and sampling weights, strata, and clusters."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal, TypedDict

import numpy as np
import pandas as pd
from scipy import sparse

from pgmpy_latent.exceptions import DataError, WeightError, WeightKindWarning
from pgmpy_latent.model.labels import check_names, refuse_long_names
from pgmpy_latent.runtime.arrays import read_only
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import LISTED, Source, listing, open_table, plain, without_columns

#: The keywords that take one value per row, or the name of a column.
DRAWN = ("sample_weight", "strata", "cluster")
#: The kinds of weights.
KINDS = ("frequency", "sampling")
#: A table without equal rows is taken for a cross table if a sample of independent rows would have at least this many
#: pairs of equal rows on average: the probability of none is then about exp(-5).
EXPECTED_PAIRS = 5.0
#: Whole-number weights of at least this mean, on rows that repeat, may be sampling weights.
LARGE_MEAN = 5.0
#: Rows of a sample would not repeat if there are more than this many cells per squared number of rows.
MANY_CELLS = 10.0
#: Rows repeat if at least this share of them equals another row.
REPEATED = 0.05
#: Weights with a smaller sum cannot be scaled to a number of rows: the factor would overflow.
SMALLEST_TOTAL = 1e-290
#: Number of units whose scores are multiplied at once.
_BLOCK = 4096


#: What weights are: numbers of rows, or survey weights.
WeightKind = Literal["frequency", "sampling"]


class Survey(TypedDict, total=False):
    """The keywords for the sampling design, besides ``sample_weight``; see :func:`pgmpy_latent.encode`."""

    weight_kind: WeightKind | None
    strata: object
    cluster: object


# --- Reading ----------------------------------------------------------------------------------------------


def names_column(value, columns: Collection[Hashable] = ()) -> bool:
    """Tell whether ``sample_weight``, ``strata`` or ``cluster`` names a column, rather than holding values.

    A tuple does if it is among the names of the columns.

    Examples
    --------
    >>> names_column("w"), names_column(3), names_column([1.0, 2.0]), names_column(None)
    (True, True, False, False)
    >>> names_column(("w", "2024"), [("age", "2024"), ("w", "2024")]), names_column((1.0, 2.0), ["x", "w"])
    (True, False)
    """
    if isinstance(value, tuple):
        return all(isinstance(part, Hashable) for part in value) and value in columns
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)


@dataclass(frozen=True, eq=False)
class RowDesign:
    """Weights, strata and clusters of the rows of a table, checked, before equal rows are merged.

    Attributes
    ----------
    weights : array, shape (n_rows,), or None
        Before they are scaled.
    strata, clusters : int arrays, shape (n_rows,), or None
        Numbers of the strata and clusters.
    """

    weights: np.ndarray | None = None
    strata: np.ndarray | None = None
    clusters: np.ndarray | None = None

    @property
    def is_plain(self) -> bool:
        """Whether there are neither weights nor strata nor clusters."""
        return self.weights is None and self.strata is None and self.clusters is None

    def take(self, rows: np.ndarray) -> RowDesign:
        """Return some of the rows."""
        parts = (self.weights, self.strata, self.clusters)
        return RowDesign(*(None if part is None else part[rows] for part in parts))


def check_kind(weight_kind) -> None:
    """Raise unless ``weight_kind`` is known.

    Examples
    --------
    >>> check_kind("probability")
    Traceback (most recent call last):
    ValueError: weight_kind is 'probability'; give 'frequency' (a row of weight 3 stands for three rows), 'sampling' \
(survey weights), or None to tell by the weights
    """
    if weight_kind is not None and weight_kind not in KINDS:
        raise ValueError(
            f"weight_kind is {weight_kind!r}; give 'frequency' (a row of weight 3 stands for three rows), 'sampling' "
            "(survey weights), or None to tell by the weights"
        )


def check_kind_has_weights(weight_kind, weighted: bool) -> None:
    """Raise if the kind of weights is stated but there are no weights.

    Examples
    --------
    >>> check_kind_has_weights("sampling", False)
    Traceback (most recent call last):
    pgmpy_latent.exceptions.WeightError: weight_kind is 'sampling', but there are no weights; give sample_weight, too
    """
    if weight_kind is not None and not weighted:
        raise WeightError(f"weight_kind is {weight_kind!r}, but there are no weights; give sample_weight, too")


def refuse_one_column_twice(named: Sequence[Hashable]) -> None:
    """Raise if a column is named by more than one of ``sample_weight``, ``strata`` and ``cluster``.

    Examples
    --------
    >>> refuse_one_column_twice(["w", "region", "w"])
    Traceback (most recent call last):
    pgmpy_latent.exceptions.DataError: column 'w' is named by two of sample_weight, strata and cluster; it can be one
    """
    twice = [name for at, name in enumerate(named) if name in named[:at]]
    if twice:
        raise DataError(f"column {twice[0]!r} is named by two of sample_weight, strata and cluster; it can be one")


def read_design(source: Source, sample_weight, strata, cluster) -> tuple[RowDesign, list[Hashable]]:
    """Return weights, strata and clusters of a table's rows, and the names of the columns that hold them.

    Each is given by the name of a column, or as one value per row.
    """
    used: list[Hashable] = []
    weights = checked_weights(_values(source, sample_weight, "sample_weight", used), source.n_rows)
    labels = [
        numbered(_values(source, value, what, used), what, source.n_rows)
        for what, value in (("strata", strata), ("cluster", cluster))
    ]
    refuse_one_column_twice(used)
    return RowDesign(weights, *labels), used


def _values(source: Source, value, what: str, used: list[Hashable]):
    """Return the values of a keyword, or those of the column that it names."""
    if not names_column(value, source.names):
        refuse_other_order(value, source.labels, what)
        return value
    name, error = plain(value), WeightError if what == "sample_weight" else DataError
    refuse_long_names([name], "column", DataError, what)
    if name not in source.names:
        raise error(f"the table has no column {name!r}, which {what} names; it has {listing(source.names)}")
    check_names((other for other in source.names if other == name), "column", error, what)
    used.append(name)
    return source.values(source.names.index(name))


def index_of_frame(X) -> pd.Index | None:
    """Return the labels of the rows of a pandas frame; None of other tables."""
    return X.index if isinstance(X, pd.DataFrame) else None


def refuse_other_order(value, index: pd.Index | None, what: str) -> None:
    """Raise if values are a Series with the labels of a table's rows in another order: they go by position.

    A Series with other labels, as after ``reset_index``, is taken by position.

    Examples
    --------
    >>> refuse_other_order(pd.Series([1.0, 2.0], index=["p", "q"]), pd.Index(["p", "q"]), "sample_weight")
    >>> refuse_other_order(pd.Series([2.0, 1.0], index=["q", "p"]), pd.Index(["p", "q"]), "sample_weight")
    Traceback (most recent call last):
    pgmpy_latent.exceptions.WeightError: sample_weight has the index of the table in another order, and goes by \
position; say sample_weight.loc[X.index] to align it, or sample_weight.to_numpy() if the positions are right
    """
    if index is None or not isinstance(value, pd.Series) or len(value) != len(index) or value.index.equals(index):
        return
    numbers = pd.factorize(pd.Series([*value.index, *index], dtype=object), use_na_sentinel=False)[0]
    own, rows = numbers[: len(index)], numbers[len(index) :]
    if (own == rows).all() or (np.sort(own) != np.sort(rows)).any():
        return
    align = f"say {what}.loc[X.index] to align it" if value.index.is_unique else "put it into the order of the table"
    error = WeightError if what == "sample_weight" else DataError
    raise error(
        f"{what} has the index of the table in another order, and goes by position; {align}, or {what}.to_numpy() if "
        "the positions are right"
    )


def set_apart(X, drawn: Mapping[str, object]) -> tuple[object, dict[str, object]]:
    """Return a table without the columns that ``sample_weight``, ``strata`` and ``cluster`` name, and these columns.

    Keywords that hold values stay as they are, and so does the table if no column is named.

    Examples
    --------
    >>> table, drawn = set_apart(np.array([[1, 2, 0], [3, 4, 1]]), {"sample_weight": 2, "cluster": None})
    >>> table.tolist(), drawn["sample_weight"].tolist()
    ([[1, 2], [3, 4]], [0, 1])
    """
    if not any(isinstance(value, tuple) or names_column(value) for value in drawn.values()):
        for what, value in drawn.items():
            refuse_other_order(value, index_of_frame(X), what)
        return X, dict(drawn)
    source = open_table(X)
    used: list[Hashable] = []
    values = {what: _values(source, value, what, used) for what, value in drawn.items()}
    return (without_columns(X, used) if used else X), values


def checked_weights(sample_weight, n_rows: int, *, all_zero: bool = False) -> np.ndarray | None:
    """Return weights as floats, one per row; raise for anything else, and if all are zero unless that is allowed."""
    if sample_weight is None:
        return None
    raw = np.asarray(sample_weight)
    if raw.dtype.kind == "O":
        raw = np.where(pd.isna(raw), np.nan, raw)
    weights = None
    if raw.dtype.kind in "biuf" or (raw.dtype.kind == "O" and not any(isinstance(w, str) for w in raw.flat)):
        try:
            weights = raw.astype(np.float64)
        except OverflowError:  # integers of hundreds of digits
            raise WeightError("sample_weight holds a number too large for a float; scale the weights down") from None
        except (TypeError, ValueError):
            pass  # raised below
    if weights is None:
        raise WeightError(f"sample_weight is not numeric ({raw.dtype}); give one number per row")
    if weights.shape != (n_rows,):
        raise WeightError(f"sample_weight has shape {weights.shape}; X has {n_rows} rows: give ({n_rows},)")
    check_weights("sample_weight", weights, all_zero)
    return weights


def check_weights(what: str, weights: np.ndarray, all_zero: bool = False) -> None:
    """Raise unless weights are finite and not negative, and, unless allowed, not all zero."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        cells = ", ".join(f"{weights[i]} in row {i}" for i in bad[:LISTED])
        more = " and so on" if len(bad) > LISTED else ""
        raise WeightError(f"{what} holds {cells}{more}; weights must be finite and not negative")
    if not (all_zero or weights.any()):
        raise WeightError(f"{what} is zero in every row; give at least one row a positive weight")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise WeightError(f"{what} sums to more than a float can hold; scale the weights down")
    if 0 < total < SMALLEST_TOTAL:
        raise WeightError(f"{what} sums to {total:.3g}, too little to divide by; scale the weights up")


def numbered(labels, what: str, n_rows: int) -> np.ndarray | None:
    """Return the labels of strata or clusters as numbers, in order of appearance.

    Examples
    --------
    >>> numbered(["north", "south", "north"], "strata", 3).tolist()
    [0, 1, 0]
    """
    if labels is None:
        return None
    values = pd.Series(labels).array if not isinstance(labels, np.ndarray) else labels
    if np.shape(values) != (n_rows,):
        raise DataError(f"{what} has shape {np.shape(values)}; X has {n_rows} rows: give ({n_rows},), or a column name")
    try:
        numbers = pd.factorize(values)[0]
    except TypeError as error:
        raise DataError(f"{what} holds a value that is not a label ({error}); give text or numbers") from None
    missing = np.flatnonzero(numbers < 0)
    if len(missing):
        raise DataError(f"{what} is missing in row {missing[0]}; give every row one, or leave the row out")
    return numbers


# --- The keywords of a fit --------------------------------------------------------------------------------


def design_of_fit(X, data, drawn: Mapping[str, object]) -> dict[str, Hashable | None]:
    """Return which of ``sample_weight``, ``strata`` and ``cluster`` were used in a fit.

    Parameters
    ----------
    X : table
        The argument of ``fit``.
    data : CategoricalData, or another form of the encoded table
        If it is the argument itself, it may have weights and a design already.
    drawn : dict
        The keywords of ``fit``.

    Returns
    -------
    dict
        Keyword -> name of the column, or None if the keyword held values.
    """
    used: dict[str, Hashable | None] = dict.fromkeys(what for what in DRAWN if belongs_to(data, what))
    columns = getattr(X, "columns", None)
    columns = columns.tolist() if isinstance(columns, pd.Index) else ()  # only in pandas names may be tuples
    for what, value in drawn.items():
        if value is not None:
            used[what] = plain(value) if names_column(value, columns) else None
    return used


def belongs_to(data, what: str) -> bool:
    """Tell whether encoded data have weights, strata or clusters of their own."""
    if what == "sample_weight":
        return data.weight_kind is not None
    design = getattr(data, "design", None)
    return design is not None and (design.n_strata > 1 if what == "strata" else design.cluster is not None)


# --- Kinds of weights -------------------------------------------------------------------------------------


def are_whole(weights: np.ndarray) -> bool:
    """Tell whether weights could be counts.

    Examples
    --------
    >>> are_whole(np.array([1.0, 3.0])), are_whole(np.array([1.0, 0.5]))
    (True, False)
    """
    return bool((weights == np.floor(weights)).all())


def kind_of(weight_kind: WeightKind | None, whole: bool) -> WeightKind:
    """Return the kind of weights: as stated, or by default frequencies if all are whole, else sampling weights.

    Examples
    --------
    >>> kind_of(None, True), kind_of(None, False), kind_of("sampling", True)
    ('frequency', 'sampling', 'sampling')
    """
    if weight_kind is not None:
        return weight_kind
    return "frequency" if whole else "sampling"


def kish_scale(weights: np.ndarray, counts: np.ndarray | None = None) -> float:
    """Return the factor that makes sampling weights sum to Kish's effective number of rows, ``(Σw)² / Σw²``.

    It is the same for any order of the rows, to the last bit.

    Parameters
    ----------
    weights : array
        Positive weights of rows.
    counts : array, optional
        Number of rows with each weight; one by default.

    Examples
    --------
    >>> kish_scale(np.array([0.1, 0.1, 0.1])), round(kish_scale(np.array([1.0, 3.0])), 9)
    (10.0, 0.4)
    """
    values, place = np.unique(weights, return_inverse=True)
    counts = np.bincount(place, counts)
    if len(values) == 1:
        return float(1 / values[0])
    share = values / values[-1]  # squares of large weights would overflow
    return float((counts @ share) / (counts @ share**2) / values[-1])


def rows_in_words(number: float) -> str:
    """Return a number of rows that need not be whole, as text.

    Examples
    --------
    >>> rows_in_words(312.4567), rows_in_words(367_512.3)
    ('312.5', '367,512')
    """
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def warn_if_doubtful(
    kind: str | None,
    cards: Sequence[int],
    n_rows: int,
    n_distinct: int,
    mean_weight: float,
    has_units: bool = False,
) -> None:
    """Warn if the kind of weights was inferred from the weights and the other kind is plausible."""
    if kind == "sampling" and n_distinct == n_rows:
        cells = prod(int(card) for card in cards)
        repeats = 2 * max(cards) <= n_rows and n_rows * (n_rows - 1) / 2 > EXPECTED_PAIRS * cells
        if repeats or (n_rows == cells > 3 and len(cards) > 1):
            warn(
                "the weights have fractions and are taken for sampling weights, but no row of the table repeats "
                f"another, although it has only {cells} cells: if this is a cross table with a row per cell, say "
                'weight_kind="frequency"; if not, weight_kind="sampling".',
                WeightKindWarning,
            )
    why = _unlike_counts(cards, n_rows, n_distinct, has_units) if kind == "frequency" else ""
    if why and mean_weight >= LARGE_MEAN:
        warn(
            "the weights are whole numbers and are taken for frequencies, "
            f"{rows_in_words(mean_weight)} on average, but {why}: "
            'if these are survey weights, say weight_kind="sampling"; if a row of weight 3 stands '
            'for three rows, weight_kind="frequency".',
            WeightKindWarning,
        )


def _unlike_counts(cards: Sequence[int], n_rows: int, n_distinct: int, has_units: bool) -> str:
    """Return why large weights are unlikely to be counts; empty if nothing suggests it."""
    if has_units:
        return "rows were drawn from strata or in clusters, as people are and cells of a cross table are not"
    if n_distinct <= (1 - REPEATED) * n_rows:
        return "rows of the table repeat"
    if n_rows > 1 and sum(np.log(cards)) > 2 * np.log(n_rows) + np.log(MANY_CELLS):
        return (
            "the table has so many possible rows that hardly one of them would be seen so often, and no other near it"
        )
    return ""


# --- The design of distinct rows --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Design:
    """The sampling design of a table: what standard errors and bootstrap draws need to know about single rows.

    An entry stands for ``count`` rows of the table with the same distinct row, weight, stratum and cluster. Units were
    drawn independently: clusters (primary sampling units) if there are any, rows otherwise. Strata were drawn from
    separately. A stratum with a single unit does not show how much units differ: all such strata are joined into one;
    a single one is joined with the stratum that has the fewest units.

    Attributes
    ----------
    row : int array, shape (n_entries,)
        The distinct row.
    weight : array, shape (n_entries,)
        Weight of each of the rows.
    count : array, shape (n_entries,)
        How many rows of the table are alike.
    stratum : int array, shape (n_entries,)
        Number of the stratum.
    cluster : int array, shape (n_entries,), or None
        Number of the cluster; None if rows were drawn one by one.

    Examples
    --------
    >>> design = Design.of_rows(np.array([0, 1, 0]), np.array([2.0, 1.0, 2.0]))
    >>> design.row.tolist(), design.weight.tolist(), design.count.tolist()
    ([0, 1], [2.0, 1.0], [2.0, 1.0])
    """

    row: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    stratum: np.ndarray
    cluster: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "row", read_only(self.row, np.int64))
        object.__setattr__(self, "weight", read_only(self.weight, np.float64))
        object.__setattr__(self, "count", read_only(self.count, np.float64))
        object.__setattr__(self, "stratum", read_only(self.stratum, np.int64))
        if self.cluster is not None:
            object.__setattr__(self, "cluster", read_only(self.cluster, np.int64))

    def __reduce__(self):  # copies and pickles are built anew, so that their arrays are read-only too
        return Design, (self.row, self.weight, self.count, self.stratum, self.cluster)

    @classmethod
    def of_rows(
        cls,
        row: np.ndarray,
        weight: np.ndarray,
        count: np.ndarray | None = None,
        strata: np.ndarray | None = None,
        clusters: np.ndarray | None = None,
    ) -> Design:
        """Return the design of rows; equal ones are merged, and strata with a single unit are joined.

        Clusters with the same number in different strata are different clusters.
        """
        count = np.ones(len(row)) if count is None else np.asarray(count, np.float64)
        stratum = np.zeros(len(row), np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
        if clusters is not None:
            inner = np.unique(clusters, return_inverse=True)[1]
            clusters = np.unique(stratum * (inner.max(initial=0) + 1) + inner, return_inverse=True)[1]
        stratum = _joined_strata(stratum, clusters, count)
        keys = [weight, row, stratum] if clusters is None else [weight, row, clusters]
        order = np.lexsort(keys)
        ordered = [key[order] for key in keys]
        new = np.ones(len(order), bool)
        new[1:] = np.any([key[1:] != key[:-1] for key in ordered], axis=0)
        first = order[new]
        summed = np.add.reduceat(count[order], np.flatnonzero(new)) if len(order) else count
        return cls(row[first], weight[first], summed, stratum[first], None if clusters is None else clusters[first])

    def on_kish_scale(self) -> Design:
        """Return the design with weights that sum to Kish's effective number of rows.

        Examples
        --------
        >>> Design.of_rows(np.array([0, 1]), np.array([0.1, 0.1])).on_kish_scale().weight.tolist()
        [1.0, 1.0]
        """
        weight = self.weight * kish_scale(self.weight, self.count)
        if len(weight) and (self.weight == self.weight[0]).all():
            weight = np.ones(len(weight))  # exactly as without weights
        return Design(self.row, weight, self.count, self.stratum, self.cluster)

    def row_weights(self, n_distinct: int) -> np.ndarray:
        """Return the weights of the distinct rows."""
        return np.bincount(self.row, self.weight * self.count, minlength=n_distinct)

    @classmethod
    def of_counts(cls, counts: np.ndarray) -> Design:
        """Return the design of distinct rows with these counts, in one stratum and without clusters.

        Examples
        --------
        >>> Design.of_counts(np.array([3.0, 1.0])).n_units
        4.0
        """
        rows = np.arange(len(counts))
        return cls(rows, np.ones(len(counts)), counts, np.zeros(len(counts), np.int64))

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return round(float(self.count.sum()))

    @property
    def n_units(self) -> float:
        """Number of units that were drawn independently."""
        return float(self._units_of_strata.sum())

    @cached_property
    def n_strata(self) -> int:
        """Number of strata, after those with a single unit were joined."""
        return int(self.stratum.max()) + 1

    @property
    def words(self) -> str:
        """The strata and clusters as text that follows a description of the weights."""
        strata = f", {self.n_strata} strata" if self.n_strata > 1 else ""
        if self.cluster is None:
            return strata
        return f"{strata}, {self.n_units:.10g} cluster{'s' * (self.n_units != 1)}"

    @property
    def degrees_of_freedom(self) -> float:
        """Number of units less the number of strata."""
        return self.n_units - self.n_strata

    @cached_property
    def _unit(self) -> np.ndarray:
        """Number of the unit, or of the group of equal units, of every entry."""
        return np.arange(len(self.row)) if self.cluster is None else self.cluster

    @cached_property
    def _alike(self) -> np.ndarray:
        """How many units every unit stands for."""
        return self.count if self.cluster is None else np.ones(int(self.cluster.max()) + 1)

    @cached_property
    def _within(self) -> np.ndarray:
        """Weight of every entry in its unit."""
        return self.weight if self.cluster is None else self.weight * self.count

    @cached_property
    def _stratum_of_unit(self) -> np.ndarray:
        if self.cluster is None:
            return self.stratum
        found = np.empty(len(self._alike), np.int64)
        found[self.cluster] = self.stratum
        return found

    @cached_property
    def _units_of_strata(self) -> np.ndarray:
        return np.bincount(self._stratum_of_unit, self._alike, minlength=self.n_strata)

    @cached_property
    def _units_by_stratum(self) -> list[np.ndarray]:
        order = np.argsort(self._stratum_of_unit, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self._stratum_of_unit, minlength=self.n_strata))[:-1])

    def with_rows(self, groups: np.ndarray) -> Design:
        """Return the design after distinct rows were merged: ``groups`` holds the new row of every distinct row."""
        return Design.of_rows(groups[self.row], self.weight, self.count, self.stratum, self.cluster)

    def take(self, place: np.ndarray) -> Design | None:
        """Return the design of some of the distinct rows: ``place`` holds their new number, -1 for those left out."""
        kept = place[self.row] >= 0
        if not kept.any():
            return None
        clusters = None if self.cluster is None else self.cluster[kept]
        return Design.of_rows(place[self.row[kept]], self.weight[kept], self.count[kept], self.stratum[kept], clusters)

    def scatter(self, scores: np.ndarray) -> np.ndarray:
        """Return the variance of the sum of all rows' weighted scores, estimated from differences between units.

        With ``z`` the weighted sum of the scores of a unit, ``m`` the mean of ``z`` in its stratum and ``n`` the number
        of units of the stratum, it is the sum over strata of ``n / (n - 1) Σ (z - m) (z - m)'``. Finite populations
        are not corrected for.

        Parameters
        ----------
        scores : array, shape (n_distinct, n_parameters)
            Derivatives of the log-likelihood of every distinct row.

        Examples
        --------
        >>> Design.of_rows(np.array([0, 1]), np.array([1.0, 1.0])).scatter(np.array([[1.0], [-1.0]])).round(9).tolist()
        [[4.0]]
        """
        self._check_units()
        n = self._units_of_strata
        factor = n / (n - 1)
        members = sparse.csr_array(
            (self._within, (self._unit, self.row)), shape=(len(self._alike), len(scores)), dtype=np.float64
        )
        scale = np.sqrt(self._alike * factor[self._stratum_of_unit])
        square = np.zeros((scores.shape[1], scores.shape[1]))
        for first in range(0, members.shape[0], _BLOCK):
            some = slice(first, first + _BLOCK)
            part = (members[some] @ scores) * scale[some, None]
            square += part.T @ part
        shape = (self.n_strata, len(scores))
        totals = sparse.csr_array((self.weight * self.count, (self.stratum, self.row)), shape=shape) @ scores
        return square - (totals * (factor / n)[:, None]).T @ totals

    def _check_units(self) -> None:
        if (self._units_of_strata <= 1).any():
            raise DataError("there is a single unit, so nothing shows how much units differ; give at least two")

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a bootstrap sample of units, within strata: return weight and count of every entry.

        One unit less than there are is drawn from each stratum, with replacement, and weights are raised in return, so
        that the variance of strata with few units is not underestimated.

        References
        ----------
        Rao, J. N. K. and Wu, C. F. J. (1988). Resampling inference with complex survey data. Journal of the American
        Statistical Association 83, 231-241.

        Examples
        --------
        >>> weight, count = Design.of_counts(np.array([3.0, 1.0])).drawn(np.random.default_rng(0))
        >>> round(float(weight @ count), 9)
        4.0
        """
        self._check_units()
        times = np.zeros(len(self._alike))
        raised = np.ones(self.n_strata)
        for stratum, (n, here) in enumerate(zip(self._units_of_strata, self._units_by_stratum, strict=True)):
            draws = max(1, round(n) - 1)
            times[here] = rng.multinomial(draws, self._alike[here] / self._alike[here].sum())
            raised[stratum] = n / draws
        weight = self.weight * raised[self.stratum]
        count = times if self.cluster is None else self.count * times[self.cluster]
        return weight, count


def _joined_strata(stratum: np.ndarray, clusters: np.ndarray | None, count: np.ndarray) -> np.ndarray:
    """Return strata numbered from 0; those with a single unit are joined with others if there are any."""
    if clusters is None:
        n_units = np.bincount(stratum, count)
    else:
        pairs = np.unique(np.stack([stratum, clusters]), axis=1)
        n_units = np.bincount(pairs[0]).astype(np.float64)
    single = n_units <= 1
    new = np.arange(len(n_units))
    if single.any() and len(n_units) > 1:
        alone = np.flatnonzero(single)
        others = np.flatnonzero(~single)
        if len(alone) == 1:
            new[alone] = others[np.argmin(n_units[others])]
        else:
            new[alone] = alone[0]
    return np.unique(new[stratum], return_inverse=True)[1]
