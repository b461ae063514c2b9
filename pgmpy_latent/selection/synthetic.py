"""Synthetic rows: rows like those of a table, and how alike they are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.alikeness import alikeness
from pgmpy_latent.inference.queries import model_and_data, sample_codes
from pgmpy_latent.learners.density.hidden_chow_liu import HiddenChowLiu
from pgmpy_latent.runtime.settings import RandomState, check_number, entropy_of
from pgmpy_latent.tables.columns import as_pandas, in_dtype_of, plain
from pgmpy_latent.tables.encode import CategoricalData, column_names, decode
from pgmpy_latent.tables.survey import Survey

#: Decimals of shares that are printed.
DECIMALS = 4
#: What is printed if rows are copies, but no row of the table is one of another.
NO_REPEATS = (
    "no row of the table occurs twice: if duplicates were removed, or it lists combinations, new rows may repeat its\n"
    "rows more often than 0.0000 says, and copies are no sign of rows learned by heart"
)


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticTable:
    """Synthetic rows, and how alike they are to the table that they stand for; printed, it says so in words.

    Attributes
    ----------
    rows : DataFrame
        The rows, with the columns and types of the table.
    alikeness : DataFrame
        A row per measure: its value for the ``synthetic`` rows, what to expect of as many ``new_rows`` from the source
        of the table, and its ``meaning``. All are shares, from 0 to 1.
    furthest_pair : tuple of names
        The two columns whose joint shares differ most; empty if there is only one column.
    model : LatentTree, LatentNetwork, TreeMixture or fitted learner
        What the rows were drawn from.

    Examples
    --------
    >>> from pgmpy_latent import Baseline, datasets, synthesise
    >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
    >>> print(synthesise(survey, 500, model=Baseline("chow_liu", prior=0.1).fit(survey), random_state=0))
    500 synthetic rows                                             synthetic   new rows
    mean distance of two columns' joint shares                        0.0735     0.0821
    largest distance of two columns' joint shares                     0.1031     0.1148
    rows with two values that never go together in the table          0.0000     0.0053
    rows less likely than 99 % of the table's                         0.0020     0.0100
    rows less likely than any of the table's                          0.0000     0.0011
    rows that the table has, too                                      0.9900     0.9820
    the columns that differ most: 'PID' and 'selfLR'
    """

    rows: pd.DataFrame
    alikeness: pd.DataFrame
    furthest_pair: tuple[Hashable, ...]
    model: object

    def __repr__(self) -> str:
        table = self.alikeness
        width = max(map(len, table["meaning"])) + 1
        lines = [f"{f'{len(self.rows):,} synthetic rows':<{width}} {'synthetic':>14} {'new rows':>10}"]
        lines += [
            f"{line.meaning:<{width}} {line.synthetic:>14.{DECIMALS}f} {line.new_rows:>10.{DECIMALS}f}"
            for line in table.itertuples()
        ]
        if self.furthest_pair:
            lines.append(f"the columns that differ most: {' and '.join(map(repr, self.furthest_pair))}")
        copied = table.loc["copied"]
        if copied["new_rows"] == 0 < copied["synthetic"]:
            lines.append(NO_REPEATS)
        return "\n".join(lines)


def synthesise(
    X,
    n: int | None = None,
    *,
    model=None,
    missing_cells: bool = False,
    sample_weight=None,
    random_state: RandomState = None,
    show_progress: bool = True,
    **survey: Unpack[Survey],
) -> SyntheticTable:
    """Write rows like those of a table, and say how alike they are.

    Parameters
    ----------
    X : DataFrame, array or CategoricalData
        The table.
    n : int, optional
        Number of rows; as many as the table has by default.
    model : LatentTree, LatentNetwork, TreeMixture or fitted learner, optional
        What to draw from. By default a :class:`HiddenChowLiu` is fitted to the table, the tree that predicts rows best;
        a :class:`HiddenChowLiuMixture` mostly comes closer still.
    missing_cells : bool
        Whether rows have missing cells: each has those of a row of the table that is drawn at random. Otherwise all
        cells are filled.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows of ``X``, or the name of the column that holds them.
    random_state : int or Generator, optional
        Same seed, same rows.
    show_progress : bool
        Whether the fit of the default model shows a progress bar.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    SyntheticTable
        Its ``rows`` are a frame with the columns and types of ``X``, of which those that the model does not have are
        left out. Its ``alikeness`` has a row for each of

        - ``pairs_mean``, ``pairs_largest``: how far the joint shares of two columns are from those of the table, as the
          mean over all pairs and for the worst one, ``furthest_pair``. The distance is half the sum of the absolute
          differences;
        - ``new_pairs``: the share of rows with two values that never go together in the table;
        - ``below_1_percent``, ``below_all``: the share of rows whose log-likelihood is below that of 99 % of the rows
          of the table, and below that of all of them;
        - ``copied``: the share of rows that are equal to a row of the table.

        Beside each stands what to expect of as many new rows from the same source. Larger values of the first five say
        that rows differ from the table's by more than chance; a larger share of copies says that the model repeats
        rows of the table, which matters where rows are confidential. Where no row of the table occurs twice, the share
        of copies among new rows is 0 if rows were drawn one by one; if duplicates were removed, or the table lists
        combinations, it cannot be told. The printed table then says so.

    See Also
    --------
    sample : Rows drawn from a model alone.
    unusual_rows : The least likely rows of a table.

    Notes
    -----
    What new rows show is estimated from the table: for pairs, by the distance of two tables that are drawn from its
    rows, one of ``n`` rows and one as large as the table; for ``new_pairs`` and ``copied``, by comparing each row of
    the table with all others. Likelihoods come from the model, which knows the rows of the table but not the drawn
    ones. Where the table has missing cells, all comparisons are made with rows that have missing cells, too.

    Rows that are no copies may still tell something about the people behind the table: this is no proof of anonymity.

    Examples
    --------
    >>> from pgmpy_latent import datasets, synthesise
    >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR", "educ"]]
    >>> found = synthesise(survey, 300, random_state=0, show_progress=False)
    >>> found.rows.shape, bool((found.rows.dtypes == survey.dtypes).all())
    ((300, 4), True)
    >>> found.alikeness.loc["pairs_mean", ["synthetic", "new_rows"]].astype(float).round(1).tolist()
    [0.1, 0.1]
    """
    if n is not None:
        check_number("n", n, 1, whole=True)
    entropy = entropy_of(random_state)
    if model is None:
        learner = HiddenChowLiu(random_state=entropy, show_progress=show_progress)
        model = learner.fit(X, sample_weight=sample_weight, **survey)
    found, data = model_and_data(model, X, sample_weight=sample_weight, may_be_mixture=True, **survey)
    rng, chance = (np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(key,))) for key in (0, 1))
    size = data.n_rows if n is None else int(n)
    codes = sample_codes(found, size, rng)[:, [found.index(name) for name in data.columns]]
    with_missing = _with_missing(data, codes, rng)
    table, furthest = alikeness(found, data, with_missing, chance)
    rows = _frame(X, data, with_missing if missing_cells else codes)
    return SyntheticTable(rows, table.rename(columns={"rows": "synthetic"}), furthest, model)


def _with_missing(data: CategoricalData, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows with the missing cells of rows of a table that are drawn at random."""
    if not data.has_missing.any():
        return codes
    like = rng.choice(data.n_distinct, len(codes), p=data.weights / data.total_weight)
    return np.where(data.codes[like] < 0, -1, codes)


def _frame(X, data: CategoricalData, codes: np.ndarray) -> pd.DataFrame:
    """Return rows of codes with the columns and types of a table."""
    table = X if isinstance(X, CategoricalData) else as_pandas(X)
    types = {plain(name): kind for name, kind in table.dtypes.items()} if isinstance(table, pd.DataFrame) else {}
    at = {name: place for place, name in enumerate(data.columns)}
    names = [name for name in column_names(X) if name in at] or list(data.columns)
    columns = [_typed(decode(codes[:, at[name]], data.state_names[at[name]]), types.get(name)) for name in names]
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = pd.Index(names, tupleize_cols=False)  # a name may be a tuple
    return frame


def _typed(column: pd.Series, dtype) -> pd.Series:
    """Return a column in the type of the table's, unless that has no missing values and the column has."""
    if dtype is None or isinstance(dtype, pd.CategoricalDtype):
        return in_dtype_of(column, dtype)
    holds_missing = not (isinstance(dtype, np.dtype) and dtype.kind in "iub")
    return column.astype(dtype) if holds_missing or not column.isna().any() else column
