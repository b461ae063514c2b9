"""Numeric columns of a table: which they are, their values, and how they shall depend on hidden variables.

Kinds are stated by users, or read from the types of columns. Everything that cannot be right is refused before any
work, with the name of the column: text, infinite values, constant columns, counts that are no counts, and whole numbers
that look like codes.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.model.emissions import FLOOR, LARGEST_FLOOR, NUMERIC_KINDS, Emission, NumericKind, emission_of_states
from pgmpy_latent.runtime.settings import kind_in_words, word_list
from pgmpy_latent.tables.columns import LISTED, Source, as_pandas, plain
from pgmpy_latent.tables.likely_codes import likely_codes
from pgmpy_latent.tables.missing_codes import codes_by_column

#: Kinds of columns.
Kind = Literal["categorical", "ordinal", "gaussian", "shared_gaussian", "poisson", "negative_binomial"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: What ``kinds`` may be.
Kinds: TypeAlias = Mapping[Hashable, Kind] | Literal["auto"] | None
#: Whole numbers with no more values than this are codes of categories, if nobody says otherwise.
FEW_CODES = 10
#: Gaussian columns of whole numbers have more values than this.
LEAST_VALUES = 4
#: Smaller codes for missing answers, as 9 above 1 to 5, belong to scales; counts and measurements may be that far out.
LEAST_CODE = 77
#: Variances and differences below this share of the largest value are rounding.
ROUNDING = 1e-12


def check_kinds(name: str, value) -> None:
    """Raise if ``kinds`` is not what it may be.

    Examples
    --------
    >>> check_kinds("kinds", {"age": "normal"})
    Traceback (most recent call last):
    ValueError: kinds of 'age' is 'normal'; give 'categorical', 'ordinal', 'gaussian', 'shared_gaussian', 'poisson' \
or 'negative_binomial'
    """
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is {kind_in_words(value)}; give a dict of column to kind, 'auto' or None")
    for column, kind in value.items():
        if kind not in KINDS:
            raise ValueError(f"{name} of {column!r} is {kind!r}; give {word_list([repr(one) for one in KINDS], 'or')}")


def kinds_of_table(X, kinds: Kinds, aside: Collection[Hashable] = (), missing=None) -> dict[Hashable, Kind]:
    """Return the kind of every column of a frame; what is not stated is read from the types.

    Numbers with fractions are Gaussian, ordered Categoricals ordinal, and all else categories. Whole numbers with many
    values may be measurements, counts or identifiers: nothing tells which, so they must be stated. So must numbers with
    text among them, unless the text is ``missing``.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": ["f", "m"], "height": [1.62, 1.81], "visits": [0, 3]})
    >>> kinds_of_table(frame, {"visits": "poisson"})
    {'sex': 'categorical', 'height': 'gaussian', 'visits': 'poisson'}
    """
    frame = as_pandas(X)
    stated = {} if kinds is None or isinstance(kinds, str) else {plain(name): kind for name, kind in kinds.items()}
    if not isinstance(frame, pd.DataFrame):
        frame = pd.DataFrame(frame)
    names = [plain(name) for name in frame.columns]
    absent = [name for name in stated if name not in names]
    if absent:
        raise DataError(f"kinds names {absent[0]!r}, which is no column of the table; name columns only")
    codes = codes_by_column(missing, names)
    found: dict[Hashable, Kind] = {}
    for at, name in enumerate(names):
        if name not in aside:
            found[name] = stated[name] if name in stated else _kind_of(name, frame.iloc[:, at], codes.get(name, ()))
    return found


def _kind_of(name: Hashable, column: pd.Series, missing: Sequence[Hashable]) -> Kind:
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return "ordinal" if kind.ordered else "categorical"
    if pd.api.types.is_bool_dtype(kind):
        return "categorical"
    values = pd.Series(column.dropna().unique())
    if not pd.api.types.is_numeric_dtype(kind):
        are_numbers = np.array([_is_number(value) for value in values], bool)
        if not are_numbers.any():
            _refuse_numbers_in_text(name, values)
            return "categorical"
        _refuse_text_among_numbers(name, [value for value in values[~are_numbers] if value not in missing])
        values = values[are_numbers]
    numbers = np.unique(values.to_numpy(dtype=np.float64))
    numbers = numbers[~np.isin(numbers, _numbers_in(missing))]
    are_whole = bool((np.isfinite(numbers) & (numbers == np.floor(numbers))).all())
    if len(numbers) == 1:
        raise DataError(_nothing_but(name, numbers[0]) + f", or say kinds={{{name!r}: 'categorical'}}")
    if are_whole and len(numbers) <= FEW_CODES:
        return "categorical"
    if are_whole:
        raise DataError(
            f"column {name!r} holds {len(numbers):,} different whole numbers, which may be measurements, counts or "
            f"codes; say which by kinds, as kinds={{{name!r}: 'gaussian'}}, 'poisson', 'negative_binomial' or "
            "'categorical'"
        )
    return "gaussian"


def _is_number(value) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _numbers_in(missing: Sequence[Hashable]) -> list[float]:
    return [float(one) for one in missing if isinstance(one, (int, float))]


def _refuse_text_among_numbers(name: Hashable, odd: list) -> None:
    if odd:
        raise DataError(
            f"column {name!r} holds numbers and, among them, {_no_numbers(odd)}; say missing={{{name!r}: "
            f"{odd[:LISTED]!r}}} for what stands for missing answers, or kinds={{{name!r}: 'categorical'}}"
        )


def _refuse_numbers_in_text(name: Hashable, values: pd.Series) -> None:
    """Raise if most values of a column of text are numbers, as where a file has a word in a column of numbers."""
    texts = values[[isinstance(value, str) for value in values]]
    are_numbers = pd.to_numeric(texts, errors="coerce").notna()
    odd = texts[~are_numbers].tolist()
    if are_numbers.sum() > FEW_CODES and 0 < len(odd) < are_numbers.sum():
        raise DataError(
            f"column {name!r} holds numbers written as text and, among them, {_no_numbers(odd)}; make numbers of it "
            f"by pd.to_numeric (errors='coerce' makes the rest missing), or say kinds={{{name!r}: 'categorical'}}"
        )


def _no_numbers(values: list) -> str:
    more = [f"{len(values) - LISTED} more"] if len(values) > LISTED else []
    listed = word_list([*map(repr, values[:LISTED]), *more], "and")
    return f"{listed}, which {'is no number' if len(values) == 1 else 'are no numbers'}"


def numeric_only(kinds: Mapping[Hashable, Kind]) -> dict[Hashable, NumericKind]:
    """Return the kinds of the numeric columns alone.

    Examples
    --------
    >>> numeric_only({"sex": "categorical", "height": "gaussian"})
    {'height': 'gaussian'}
    """
    return {name: kind for name, kind in kinds.items() if kind in NUMERIC_KINDS}


def read_numbers(
    name: Hashable,
    source: Source,
    kind: NumericKind | Emission,
    rows: np.ndarray | None,
    missing: Sequence[Hashable] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a numeric column in ascending order, and the position of every cell, -1 if missing.

    Parameters
    ----------
    name, source
        The column, and the table.
    kind : str or Emission
        What the column is; an emission if a model knows it. Whether values look like codes is asked of new columns
        alone: a few rows of a column may hold a few values.
    rows : int array, optional
        Which rows to read.
    missing : sequence, optional
        Values that count as missing cells; None if nobody has said which do.
    """
    cells: Any = source.values(source.names.index(name))
    cells = cells if rows is None else cells[rows]
    numbers = _as_floats(name, cells, missing or ())
    is_whole = pd.api.types.is_integer_dtype(getattr(cells, "dtype", None))
    if missing:
        numbers = np.where(np.isin(numbers, _numbers_in(missing)), np.nan, numbers)
    if np.isinf(numbers).any():
        raise DataError(f"column {name!r} holds infinity (inf); make it NaN or another number")
    known = ~np.isnan(numbers)
    values, places = np.unique(numbers[known], return_inverse=True)
    codes = np.full(len(numbers), -1, np.int64)
    codes[known] = places
    is_new = not isinstance(kind, Emission)
    kind = kind.kind if isinstance(kind, Emission) else kind
    if kind in ("poisson", "negative_binomial") and ((values < 0) | (values != np.floor(values))).any():
        odd = values[(values < 0) | (values != np.floor(values))][0]
        raise DataError(f"column {name!r} is said to hold counts, but it holds {odd:g}; say 'gaussian' of it")
    if is_new and missing is None and len(values) <= 10_000:
        likely = [code for code in likely_codes(values.tolist()) if isinstance(code, float)]
        codes_found = [code for code in likely if not 0 <= code < LEAST_CODE]
        if codes_found:
            listed = word_list([f"{code:g}" for code in codes_found], "and")
            raise DataError(
                f"column {name!r} is a number, and {listed} in it looks like a code for missing answers; say "
                f"missing={{{name!r}: {[int(code) for code in codes_found]}}}, or missing={{{name!r}: []}} if not"
            )
    if is_new and is_whole and kind in ("gaussian", "shared_gaussian") and 1 < len(values) <= LEAST_VALUES:
        raise DataError(
            f"column {name!r} holds {len(values)} different whole numbers, which look like codes of categories; say "
            "'categorical' or 'ordinal' of it, or make them floats if they are measurements"
        )
    return values, codes


def _as_floats(name: Hashable, cells, missing: Sequence[Hashable]) -> np.ndarray:
    """Return the cells of a column as numbers, NaN where they are missing; so are cells with text that counts as it."""
    series = pd.Series(cells)
    kind = series.dtype
    if pd.api.types.is_bool_dtype(kind) or isinstance(kind, pd.CategoricalDtype) or kind.kind in "mMc":
        raise DataError(f"column {name!r} holds {kind} values, which are no numbers; say 'categorical' of it")
    if not pd.api.types.is_numeric_dtype(kind):
        no_numbers = np.array([isinstance(cell, (bool, str, bytes)) for cell in series], bool)
        odd = next((cell for cell in series[no_numbers] if cell not in missing), None)
        if odd is not None:
            raise DataError(
                f"column {name!r} holds {odd!r}, which is no number; say 'categorical' of it, or missing={{{name!r}: "
                f"[{odd!r}]}} if that stands for missing answers"
            )
        series = series.astype(object).mask(no_numbers)
    try:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(f"column {name!r} holds cells that are no numbers; say 'categorical' of it") from None


def emission_for(name: Hashable, kind: NumericKind, values: np.ndarray, weights: np.ndarray) -> Emission:
    """Return how a column depends on its parent, given the weight of each of its distinct values.

    The variance of a Gaussian column given a state has a floor, without which a state on a single value would make any
    table infinitely likely: a thousandth of the variance of the column, or that of rounding, a twelfth of the square of
    the smallest difference between two values, if it is larger; but no more than a hundredth of the column's.

    Examples
    --------
    >>> heights = emission_for("height", "gaussian", np.array([1.5, 1.7, 1.9]), np.ones(3))
    >>> round(heights.centre, 6), round(heights.scale, 4), round(heights.floor, 3)
    (1.7, 0.1633, 0.01)
    """
    present = weights > 0
    values, weights = values[present], weights[present]
    if len(values) < 2:
        raise DataError(_nothing_but(name, values[0] if len(values) else None))
    if kind in ("poisson", "negative_binomial"):
        return Emission(kind, 0.0, 1.0, float(values.max()), 0.0)
    centre = float(np.average(values, weights=weights))
    scale = float(np.sqrt(np.average((values - centre) ** 2, weights=weights)))
    if not scale > ROUNDING * np.abs(values).max():
        raise DataError(f"column {name!r} is constant but for rounding, which says nothing; drop it")
    rounding = float((np.diff(values) / scale).min() ** 2 / 12)
    farthest = float(np.abs((values - centre) / scale).max())
    # so large that features are positive even if a state on the farthest value has the variance of the whole column
    return Emission(kind, centre, scale, float(np.hypot(farthest, 1.0)), max(FLOOR, min(rounding, LARGEST_FLOOR)))


def _nothing_but(name: Hashable, value: float | None) -> str:
    what = "is all missing" if value is None else f"holds nothing but {value:g}"
    return f"column {name!r} {what}, which says nothing about hidden variables; drop it"


def number_keys(values: np.ndarray, salt: int) -> np.ndarray:
    """Return a 64-bit number for every value of a column, the same in every table.

    Examples
    --------
    >>> bool((number_keys(np.array([0.0, 1.5]), 7) == number_keys(np.array([-0.0, 1.5]), 7)).all())
    True
    """
    keys = (values + 0.0).view(np.uint64) ^ np.uint64(salt)  # -0 + 0 is 0
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def kinds_in_use(
    state_names: Sequence[tuple[Hashable, ...]], columns: Sequence[Hashable], ordinal: Collection[Hashable] = ()
) -> dict[Hashable, Kind]:
    """Return the kinds of columns by what stands for their states.

    Examples
    --------
    >>> kinds_in_use([("a", "b"), (1, 2)], ["x", "y"], ["y"])
    {'x': 'categorical', 'y': 'ordinal'}
    """
    kinds: dict[Hashable, Kind] = {}
    for name, states in zip(columns, state_names, strict=True):
        emission = emission_of_states(states)
        kinds[name] = emission.kind if emission is not None else "ordinal" if name in ordinal else "categorical"
    return kinds
