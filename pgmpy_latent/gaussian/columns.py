"""Reading columns of numbers from any table: values, weights, and what is refused before any work."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd

from pgmpy_latent.exceptions import AbsentColumnError, CodesAsNumbersWarning, DataError, FewRowsWarning
from pgmpy_latent.gaussian.moments import TableMoments, moments_of
from pgmpy_latent.model.labels import check_names, identity
from pgmpy_latent.model.tree import MissingCodes, pairs_of_codes
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import listing, open_table
from pgmpy_latent.tables.missing_codes import (
    CodesByColumn,
    SeenCodes,
    codes_by_column,
    settled_columns,
    warn_of_absent_codes,
)
from pgmpy_latent.tables.numbers import number_keys
from pgmpy_latent.tables.suitable import are_measured, codes_among_numbers
from pgmpy_latent.tables.survey import (
    WeightKind,
    are_whole,
    check_kind,
    check_kind_has_weights,
    kind_of,
    kish_scale,
    read_design,
)

#: A column whose values differ by less than this, relative to the largest of them, is constant.
CONSTANT = 1e-12
#: Numbers that are larger, or differ by less than one over this, cannot be squared.
LARGEST = 1e150
#: Two columns that are correlated more strongly than this are the same but for their units.
SAME = 1 - 1e-9
#: A column of whole numbers with at most so many different values, in many more rows, may hold codes.
FEW_VALUES, ROWS_PER_VALUE = 5, 10


@dataclass(frozen=True, eq=False)
class NumberTable:
    """A table of numbers, read and checked.

    Attributes
    ----------
    columns : tuple
        Names of the columns; positions, if it was an array.
    values : array, shape (n_rows, n_columns)
        NaN where a cell is missing.
    weights : array, shape (n_rows,), or None
        Sampling weights are scaled to sum to Kish's effective number of rows.
    weight_kind : {None, "frequency", "sampling"}
    missing : pairs of column and values
        Values that count as missing cells.
    settled : sequence of names
        Columns of which it has been said which values count as missing, if any.
    """

    columns: tuple[Hashable, ...]
    values: np.ndarray
    weights: np.ndarray | None
    weight_kind: WeightKind | None
    missing: MissingCodes = ()
    settled: Sequence[Hashable] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def row_keys(self) -> np.ndarray:
        """A 64-bit number for every row, the same in every table and for any order of the columns."""
        keys = np.zeros(self.n_rows, np.uint64)
        for name, column in zip(self.columns, self.values.T, strict=True):
            salt = int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest())
            keys += number_keys(np.ascontiguousarray(column), salt)
        return keys

    def moments(self) -> TableMoments:
        """Return the weights, means and mean products of the table."""
        return moments_of(self.values, self.weights)


def read_numbers(
    X,
    sample_weight=None,
    *,
    weight_kind: WeightKind | None = None,
    columns: Sequence[Hashable] | None = None,
    absent: str = "error",
    missing=None,
) -> NumberTable:
    """Read a table of numbers.

    Parameters
    ----------
    X : DataFrame or array, shape (n_rows, n_columns)
        Frames of polars and of other libraries that narwhals knows are welcome.
    sample_weight : array, shape (n_rows,), or column name, optional
    weight_kind : {"frequency", "sampling"}, optional
        See :func:`pgmpy_latent.encode`.
    columns : sequence of names, optional
        Columns to read, in this order; all by default.
    absent : {"error", "missing"}
        Whether columns that the table lacks are an error, or count as missing cells.
    missing : value, list of values, dict of column to either, or CombinedCodes, optional
        Values that count as missing cells; see :func:`pgmpy_latent.encode`.

    Examples
    --------
    >>> read_numbers(pd.DataFrame({"x": [1.5, None], "n": [2, 3]}), sample_weight="n").values.tolist()
    [[1.5], [nan]]
    """
    check_kind(weight_kind)
    source = open_table(X)
    if source.n_rows == 0:
        raise DataError("X has 0 sample(s), so there is nothing to read; give at least one row")
    design, used = read_design(source, sample_weight, None, None)
    check_kind_has_weights(weight_kind, design.weights is not None)
    there = [name for name in source.names if name not in used]
    check_names(there, "column", DataError, "X", allow_none=False)
    wanted = there if columns is None else list(columns)
    lacking = [name for name in wanted if name not in source.names]
    if lacking and absent == "error":
        raise AbsentColumnError(f"the table has no column {lacking[0]!r}; it has {listing(source.names)}")
    if not wanted:
        shape = f"(shape=({source.n_rows}, 0))"
        raise DataError(f"X has 0 feature(s) {shape} while a minimum of 1 is required; give at least one column")
    codes: CodesByColumn = codes_by_column(missing, source.names)
    seen: SeenCodes = set()
    values = np.full((source.n_rows, len(wanted)), np.nan)
    for at, name in enumerate(wanted):
        if name in source.names:
            values[:, at] = _numbers(name, source.values(source.names.index(name)), codes.get(name, ()), seen)
    if missing is not None:
        warn_of_absent_codes(missing, seen, dict.fromkeys(wanted, ()), ())
    weights, kind = design.weights, None
    if weights is not None:
        kind = kind_of(weight_kind, are_whole(weights))
        if kind == "sampling":
            weights = weights * kish_scale(weights[weights > 0])
    used_codes = pairs_of_codes({name: codes[name] for name in wanted if name in codes})
    settled = () if missing is None else settled_columns(missing, (), wanted)
    return NumberTable(tuple(wanted), values, weights, kind, used_codes, settled)


def _numbers(name: Hashable, values, missing: Sequence[Hashable], seen: SeenCodes) -> np.ndarray:
    """Return the cells of a column as floats, NaN where they are missing; raise if they are no finite numbers.

    Values that count as missing and occur are added to ``seen``.
    """
    column = pd.Series(values)
    words = [value for value in missing if isinstance(value, str)]
    if words and (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        seen.update((name, identity(word)) for word in words if (column == word).any())
        column = column.mask(column.isin(words))
    if pd.api.types.is_bool_dtype(column.dtype):
        raise DataError(
            f"column {name!r} holds truth values, not numbers; learners of categories such as EAST take them"
        )
    if pd.api.types.is_complex_dtype(column.dtype):
        raise DataError(f"column {name!r} holds complex numbers. Complex data not supported: take their size")
    is_text = column.dtype == object or isinstance(column.dtype, pd.StringDtype)
    if is_text:
        try:
            column = pd.to_numeric(column)
        except ValueError:
            pass  # raised below
        except TypeError as error:
            raise TypeError(f"column {name!r}: a cell as argument must be a string or a number ({error})") from None
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"column {name!r} ({column.dtype}) does not hold numbers; drop it, or turn it into numbers. Learners of "
            "categories such as EAST take it as it is"
        )
    numbers = column.astype("Float64").to_numpy(float, na_value=np.nan)
    for value in missing:
        if not isinstance(value, str) and (found := numbers == value).any():
            seen.add((name, identity(value)))
            numbers = np.where(found, np.nan, numbers)
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise DataError(f"column {name!r} is infinite in row {row}; replace such values, or make them missing (NaN)")
    return numbers


def check_columns(table: NumberTable) -> None:
    """Raise for columns from which nothing can be learned, and warn of those that may hold codes.

    Examples
    --------
    >>> check_columns(read_numbers(pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [3.0, 3.0, 3.0]})))
    Traceback (most recent call last):
    pgmpy_latent.exceptions.DataError: column 'y' is constant (3.0 in every row); drop it
    """
    counts = slice(None) if table.weights is None else table.weights > 0
    values = table.values[counts]
    if len(values) < 2:
        raise DataError(f"n_samples = {len(values)}, at least 2 are required")
    for name, column in zip(table.columns, values.T, strict=True):
        filled = column[~np.isnan(column)]
        if len(filled) == 0:
            raise DataError(f"column {name!r} has no value at all; drop it")
        spread, largest = np.ptp(filled), np.abs(filled).max()
        if spread <= CONSTANT * largest:
            raise DataError(f"column {name!r} is constant ({filled[0]} in every row); drop it")
        if largest > LARGEST or spread < 1 / LARGEST:
            raise DataError(
                f"column {name!r} has numbers too large or too close together to be squared; give it in another unit"
            )
        _warn_of_codes(name, filled, name in table.settled)
    _refuse_copies(table.columns, values)


def _warn_of_codes(name: Hashable, filled: np.ndarray, is_settled: bool) -> None:
    """Warn of a column that may hold codes of missing answers, or whole numbers that may be codes of categories.

    ``is_settled`` says that somebody has said which values count as missing.
    """
    distinct = np.unique(filled)
    codes, is_measured = codes_among_numbers(distinct), are_measured(distinct)
    if codes and not is_settled:
        warn(
            f"column {name!r} holds {', '.join(map(str, codes))}, which look like codes for missing answers, and are "
            f"taken for numbers; if they are codes, say missing={{{name!r}: {codes}}}, and missing={{}} if none are",
            CodesAsNumbersWarning,
        )
    elif not is_measured and len(distinct) <= FEW_VALUES and len(filled) >= ROWS_PER_VALUE * len(distinct):
        whole = ", ".join(f"{value:.0f}" for value in distinct)
        warn(
            f"column {name!r} holds the numbers {whole} only, which may be codes of categories; "
            "learners of categories such as EAST take them as they are",
            CodesAsNumbersWarning,
        )


def _refuse_copies(columns: Sequence[Hashable], values: np.ndarray) -> None:
    """Raise if one column is another in other units: nothing would bound the likelihood."""
    if np.isnan(values).any():
        with np.errstate(all="ignore"):
            correlations = pd.DataFrame(values).corr(min_periods=3).to_numpy(copy=True)
        correlations = np.nan_to_num(correlations)
    else:
        correlations = np.atleast_2d(np.corrcoef(values, rowvar=False))
    if len(values) < 3:  # two rows lie on a line
        return
    np.fill_diagonal(correlations, 0.0)
    if (np.abs(correlations) > SAME).any():
        left, right = np.argwhere(np.abs(correlations) > SAME)[0]
        raise DataError(
            f"columns {columns[left]!r} and {columns[right]!r} are the same but for their units; drop one of the two"
        )


def warn_of_few_numbers(n_parameters: int, total_weight: float) -> None:
    """Warn if a fitted model has more parameters than its table has rows.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     warn_of_few_numbers(30, 20.0)
    >>> print(said[0].message)
    the model has 30 parameters for 20 rows; leave columns out, or find more rows
    """
    if n_parameters > total_weight:
        warn(
            f"the model has {n_parameters:,} parameters for {total_weight:,.6g} rows; leave columns out, or find "
            "more rows",
            FewRowsWarning,
        )
