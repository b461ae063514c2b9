"""Residuals of all pairs of columns: whether they are associated as a model predicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import chi2

from pgmpy_latent.diagnostics.adjustment import holm, share_as_extreme, smallest_of_all
from pgmpy_latent.diagnostics.pair_draws import drawn_pair_statistics
from pgmpy_latent.diagnostics.pairs import pair_statistics
from pgmpy_latent.diagnostics.resampling import n_rows_of
from pgmpy_latent.em.restrictions import refuse_restricted
from pgmpy_latent.exceptions import NoOverlapWarning
from pgmpy_latent.inference.queries import asked, model_and_data, model_of
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.tree import DiscreteModel, LatentTree
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.settings import check_n_jobs, check_number, entropy_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.dependence import named_pairs
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey, WeightKind

#: Pairs whose adjusted p-value is below this stand out.
SIGNIFICANT = 0.05
#: How many pairs the advice names.
NAMED = 5


def residuals(
    model,
    X,
    *,
    n_bootstrap: int = 0,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    show_progress: bool = True,
) -> pd.DataFrame:
    """Compare the joint counts of every two columns with those that a model predicts.

    A model assumes that columns are independent given their hidden parents. Where two columns are associated more, or
    less, than their hidden variables explain, their residual is large.
    Latent GOLD calls the column ``per_df`` bivariate residuals.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, TreeMixture or fitted learner
        The model, fitted to ``X``.
    X : DataFrame, array or CategoricalData
        The table.
    n_bootstrap : int
        Number of tables that are drawn from the model, for p-values. 0 draws none, and p-values are those of the
        chi-squared distribution, which are too large; 200 are enough for a decision.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. By default all are as the
        learner was fitted: it remembers the kind and the columns (``design_``). Sampling weights sum to the effective
        number of rows; that rows of a cluster are alike is not accounted for in p-values, which are then too small.
    random_state : int, optional
        For the drawn tables: same seed, same p-values.
    n_jobs : int, optional
        Threads that share them; the result does not depend on it.
    show_progress : bool
        Whether drawing for more than two seconds shows a bar.

    Returns
    -------
    DataFrame
        A row per pair of columns, the strongest evidence against the model first: the smallest ``p_value`` and, among
        equal ones, the largest ``statistic``:

        - ``first``, ``second``: the columns;
        - ``statistic``: Pearson's X², the sum of ``(observed - fitted)² / fitted`` over the cells of their table;
        - ``df``: ``(k - 1) (l - 1)``, where k and l states occur in the table or are possible under the model;
        - ``per_df``: ``statistic / df``; up to about 1 the model accounts for the pair;
        - ``p_value``: of the statistic, in the chi-squared distribution with ``df`` degrees of freedom; with a
          bootstrap, ``(1 + b) / (1 + B)`` if it is as large in b of the B drawn tables;
        - ``adjusted_p``: the same, adjusted for the number of pairs: by Holm's method; with a bootstrap, by how often
          any pair of a drawn table stands out as much (Westfall and Young);
        - ``n``: weight of the rows in which both are filled.

        ``attrs["advice"]`` is a sentence that names the pairs that stand out, in the same order, and says what can be
        done about them.

    Warns
    -----
    NoOverlapWarning
        If two columns are never filled in the same row; their statistic is NaN.

    Notes
    -----
    The fitted number is ``n P(a, b)``, with ``n`` the weight of the rows in which both are filled and P the model's
    probability. Where cells are missing this presumes that rows in which both are filled are like other rows as far as
    these two columns go. If they are not, a pair may stand out because of the rows that are left.

    *Bootstrap.* Tables are drawn from the model, with as many rows as the given one and with missing cells where it has
    them. The model is fitted to each of them anew, with its own tables to begin with, and with the ``prior`` of the
    learner if it has one.

    Without a bootstrap, p-values are approximate. Parameters were estimated from the same rows, which makes the
    statistic of a true model smaller than chi-squared, by how much differs from pair to pair: p-values err on the side
    of the model. Cells that are expected in fewer than about one row make single statistics large by chance.

    References
    ----------
    Oberski, D. L., van Kollenburg, G. H. and Vermunt, J. K. (2013). A Monte Carlo evaluation of three methods to detect
    local dependence in binary data latent class models. Advances in Data Analysis and Classification 7, 267-279.
    Westfall, P. H. and Young, S. S. (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    The answer to r was copied by every fourth person when it came to s, which a latent class cannot explain.

    >>> from pgmpy_latent import RandomStarts, sample
    >>> names, item = list("opqrstuv"), [[0.9, 0.1], [0.2, 0.8]]
    >>> tree = LatentTree(["H", *names], [[0, 1], *[["no", "yes"]] * 8], [-1, *[0] * 8], [True, *[False] * 8],
    ...                   [[[0.5, 0.5]], *[item] * 8])
    >>> table = sample(tree, 1000, random_state=0)
    >>> table["s"] = table["r"].where(table.index % 4 == 0, table["s"])
    >>> found = residuals(RandomStarts(n_states=2).fit(table), table)
    >>> found.loc[0, ["first", "second"]].tolist(), bool(found.loc[0, "adjusted_p"] < 0.001)
    (['r', 's'], True)
    >>> print(found.attrs["advice"])
    1 of 28 pairs of columns goes together in a way that the model does not explain (X²/df in brackets):
    'r' and 's' (22.4). EAST would try a hidden variable for the two alone, further states, or another place in the
    tree for one of them.
    >>> drawn = residuals(RandomStarts(n_states=2).fit(table), table, n_bootstrap=19)
    >>> drawn.loc[0, ["p_value", "adjusted_p"]].tolist()
    [0.05, 0.05]
    """
    check_number("n_bootstrap", n_bootstrap, 0, whole=True)
    check_n_jobs(n_jobs)
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    if n_bootstrap:
        refuse_restricted(model, "residuals(n_bootstrap=...)")
        if isinstance(asked(model), TreeMixture):
            raise TypeError(
                "a mixture of trees is not fitted anew to drawn tables; leave n_bootstrap out, or give a learner of "
                "one tree, as HiddenChowLiu"
            )
    tree, data = model_and_data(model, X, sample_weight=sample_weight, may_be_mixture=True, **survey)
    with one_blas_thread():
        first, second, statistic, df, n = pair_statistics(tree, data).T
    statistic[n == 0] = np.nan
    _warn_of_no_overlap(data, np.stack([first, second], axis=1)[n == 0].astype(np.int64))
    approximate = _chi_squared_p(statistic, df)
    p_value, adjusted = approximate, holm(approximate)
    if n_bootstrap:
        n_rows_of(data)  # raises
        entropy, prior = entropy_of(random_state), _prior_of(model)
        drawn = drawn_pair_statistics(
            model_of(model), data, int(n_bootstrap), entropy, prior=prior, n_jobs=n_jobs, show_progress=show_progress
        )
        p_value = np.where(df > 0, share_as_extreme(drawn[0], statistic), np.nan)
        adjusted = smallest_of_all(_chi_squared_p(*drawn), approximate)
    order = np.lexsort([second, first, -statistic, approximate, p_value])  # NaN comes last
    first, second, df = first[order].astype(np.int64), second[order].astype(np.int64), df[order].astype(np.int64)
    statistic, p_value, adjusted = statistic[order], p_value[order], adjusted[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        per_df = np.where(df > 0, statistic / df, np.nan)
    table = pd.DataFrame(
        {
            "first": _names(data, first),
            "second": _names(data, second),
            "statistic": statistic,
            "df": df,
            "per_df": per_df,
            "p_value": p_value,
            "adjusted_p": adjusted,
            "n": n[order],
        }
    )
    table.attrs["advice"] = _advice(table, tree)
    return table


def _chi_squared_p(statistic: np.ndarray, df: np.ndarray) -> np.ndarray:
    return np.where(df > 0, chi2.sf(statistic, np.maximum(df, 1)), np.nan)


def _prior_of(model) -> float:
    """Return the pseudo-count that a learner was fitted with; a model itself has none."""
    prior = getattr(model, "prior", None)
    return float(prior) if isinstance(prior, (int, float)) else 0.0


def _names(data: CategoricalData, positions: np.ndarray) -> pd.Series:
    names = pd.Series(dict(enumerate(data.columns)), dtype=object)  # a name may be a tuple
    return names.loc[positions].reset_index(drop=True)


def _warn_of_no_overlap(data: CategoricalData, apart: np.ndarray) -> None:
    if len(apart):
        one = len(apart) == 1
        warn(
            f"{len(apart)} pair{'' if one else 's'} of columns {'is' if one else 'are'} never filled in the same row: "
            f"{named_pairs(data.columns, apart)}. Nothing can be said about {'it' if one else 'them'} (NaN); add rows "
            "that have both, or drop one of the two.",
            NoOverlapWarning,
        )


def _advice(table: pd.DataFrame, model: DiscreteModel) -> str:
    """Return a sentence about the pairs that stand out."""
    known = table[table["per_df"].notna()]
    if known.empty:
        return "There is no pair of columns to compare."
    out = known[known["adjusted_p"] < SIGNIFICANT]
    if out.empty:
        top = known.iloc[0]
        return (
            "No pair of columns stands out once their number is accounted for: the model explains how columns go "
            f"together. It explains {top['first']!r} and {top['second']!r} least well (X²/df {top['per_df']:.2f}, "
            f"p = {top['p_value']:.2g} by itself)."
        )
    named = [f"{row.first!r} and {row.second!r} ({row.per_df:.1f})" for row in out.head(NAMED).itertuples()]
    more = f", and {len(out) - NAMED} more" if len(out) > NAMED else ""
    remedy = "StructuralEM would try an edge between the two, and FindHidden a hidden variable behind them"
    if isinstance(model, LatentTree):
        remedy = (
            "EAST would try a hidden variable for the two alone, further states, or another place in the tree for one "
            "of them"
        )
    if isinstance(model, TreeMixture):
        remedy = "More trees, more states or less smoothing would come closer, if there are rows enough for them"
    return (
        f"{len(out)} of {len(known)} pairs of columns go{'es' * (len(out) == 1)} together in a way that the model "
        f"does not explain (X²/df in brackets): {', '.join(named)}{more}. {remedy}."
    )
