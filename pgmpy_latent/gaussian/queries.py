"""Questions to a Gaussian tree about rows: likelihoods, hidden variables, missing cells; and new rows.

All are computed exactly by our own code, along the edges of the tree, and missing cells are integrated out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Literal

import numpy as np
import pandas as pd

from pgmpy_latent.exceptions import DataError, WeightError
from pgmpy_latent.gaussian.columns import NumberTable, read_numbers
from pgmpy_latent.gaussian.forest import Forest, forest_of
from pgmpy_latent.gaussian.moments import TableMoments, rows_by_pattern
from pgmpy_latent.gaussian.shape import LOG_2_PI, Inference, Shape
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.runtime.settings import kind_in_words, one_of
from pgmpy_latent.tables.columns import as_pandas
from pgmpy_latent.tables.missing_codes import CombinedCodes
from pgmpy_latent.tables.survey import WeightKind

#: What becomes of columns of a model that a table lacks.
Absent = Literal["error", "missing"]


def checked(tree: GaussianTree) -> None:
    """Raise if this is no Gaussian tree."""
    if not isinstance(tree, GaussianTree):
        hint = "; a fitted learner has one as tree_" if hasattr(tree, "tree_") else ""
        raise TypeError(f"expected a GaussianTree, got {kind_in_words(tree)}{hint}")


def _read(tree: GaussianTree, X, absent: Absent, **weights) -> tuple[NumberTable, pd.Index]:
    """Return the columns of a model in a table, and the table's index."""
    checked(tree)
    one_of("error", "missing")("absent", absent)
    X = as_pandas(X)
    codes = CombinedCodes(None, dict(tree.missing)) if tree.missing else None
    table = read_numbers(X, columns=tree.observed_names, absent=absent, missing=codes, **weights)
    return table, X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(table.n_rows)


def read_for(tree: GaussianTree, X, **weights) -> tuple[NumberTable, TableMoments]:
    """Return the columns of a model in a table, and their moments; constant columns raise."""
    table, _ = _read(tree, X, "error", **weights)
    for name, column in zip(table.columns, table.values.T, strict=True):
        filled = column[~np.isnan(column)]
        if not len(filled) or np.ptp(filled) == 0:
            raise DataError(f"column {name!r} is constant or empty in this table, which says nothing about the model")
    return table, table.moments()


def log_likelihood_of(tree: GaussianTree, table: NumberTable) -> float:
    """Return the log-likelihood of a table that was read."""
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    return float(weights @ _row_values(tree, table.values))


def _standard(tree: GaussianTree, values: np.ndarray) -> tuple[Forest, np.ndarray, np.ndarray, np.ndarray]:
    """Return the forest of a model, the values in standard units, and what these are."""
    forest, nodes = forest_of(tree)
    columns = nodes[: forest.n_columns]
    mean, std = tree.mean[columns], tree.std[columns]
    return forest, (values - mean) / std, mean, std


def _by_pattern(forest: Forest, standard: np.ndarray) -> Iterator[tuple[np.ndarray, Inference, np.ndarray]]:
    """Yield rows with the same missing cells, what follows from the others, and these, (n_filled, n_rows)."""
    for filled, rows in rows_by_pattern(~np.isnan(standard)):
        known = np.zeros(forest.n_nodes, bool)
        known[filled] = True
        yield rows, Inference.at(Shape.of(forest.ends, known), forest.correlation), standard[np.ix_(rows, filled)].T


def row_log_likelihoods(tree: GaussianTree, X, *, absent: Absent = "error") -> pd.Series:
    """Return the logarithm of the density of each row, in the units of the columns; larger is better.

    Parameters
    ----------
    tree : GaussianTree
    X : DataFrame or array
        Rows of numbers; missing cells are integrated out, and further columns ignored.
    absent : {"error", "missing"}
        If the table lacks columns of the model: raise an error, or treat them as missing.

    Returns
    -------
    Series
        Under the index of the table.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, 0.5], std=[1.0, 2.0, 10.0])
    >>> row_log_likelihoods(tree, pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, None]})).round(4).tolist()
    [-4.7464, -1.7371]
    """
    table, index = _read(tree, X, absent)
    return pd.Series(_row_values(tree, table.values), index=index, name="log_likelihood")


def _row_values(tree: GaussianTree, values: np.ndarray) -> np.ndarray:
    forest, standard, _, std = _standard(tree, values)
    found = np.empty(len(values))
    for rows, inference, part in _by_pattern(forest, standard):
        known = inference.shape.known
        constant = len(known) * LOG_2_PI + 2 * np.log(std[known]).sum() + inference.log_determinant
        found[rows] = -(constant + inference.distances(part)) / 2
    return found


def log_likelihood(
    tree: GaussianTree, X, *, sample_weight=None, weight_kind: WeightKind | None = None, absent: Absent = "error"
) -> float:
    """Return the log-likelihood of a table: the weighted sum of :func:`row_log_likelihoods`.

    Parameters
    ----------
    tree : GaussianTree
    X : DataFrame or array
    sample_weight : array, shape (n_rows,), or column name, optional
    weight_kind : {"frequency", "sampling"}, optional
        Sampling weights are scaled to sum to Kish's effective number of rows.
    absent : {"error", "missing"}
        As in :func:`row_log_likelihoods`.

    Examples
    --------
    >>> tree = GaussianTree(["x"], [-1], [False], [0.0])
    >>> round(log_likelihood(tree, pd.DataFrame({"x": [0.0, 1.0]}), sample_weight=[1, 2]), 4)
    -3.7568
    """
    table, _ = _read(tree, X, absent, sample_weight=sample_weight, weight_kind=weight_kind)
    return log_likelihood_of(tree, table)


def bic(tree: GaussianTree, X, *, sample_weight=None, weight_kind: WeightKind | None = None) -> float:
    """Return the log-likelihood less ``ln(N) / 2`` for every parameter, where N is the weight of all rows.

    Examples
    --------
    >>> tree = GaussianTree(["x"], [-1], [False], [0.0])
    >>> round(bic(tree, pd.DataFrame({"x": [0.0, 1.0]})), 4)
    -3.031
    """
    table, _ = _read(tree, X, "error", sample_weight=sample_weight, weight_kind=weight_kind)
    if not table.total_weight > 0:
        raise WeightError("all weights are zero; give at least one row a positive weight")
    total = log_likelihood(tree, X, sample_weight=sample_weight, weight_kind=weight_kind)
    return total - tree.n_parameters * float(np.log(table.total_weight)) / 2


def posterior(tree: GaussianTree, X, *, absent: Absent = "error") -> pd.DataFrame:
    """Return the mean and the standard deviation of every hidden variable given each row.

    Parameters
    ----------
    tree, X, absent
        As in :func:`row_log_likelihoods`.

    Returns
    -------
    DataFrame
        Columns are pairs of a hidden variable and ``"mean"`` or ``"std"``.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, 0.5])
    >>> posterior(tree, pd.DataFrame({"x": [1.0], "y": [None]})).round(3).iloc[0].tolist()
    [0.8, 0.6]
    """
    table, index = _read(tree, X, absent)
    forest, standard, _, _ = _standard(tree, table.values)
    n_hidden = forest.n_nodes - forest.n_columns
    found = np.empty((table.n_rows, n_hidden, 2))
    for rows, inference, part in _by_pattern(forest, standard):
        hidden = inference.shape.unknown >= forest.n_columns
        found[rows, :, 0] = inference.means(part)[hidden].T
        found[rows, :, 1] = np.sqrt(inference.covariance.diagonal()[hidden])
    columns = pd.MultiIndex.from_product([tree.latent_names, ["mean", "std"]], names=["latent", "posterior"])
    return pd.DataFrame(found.reshape(table.n_rows, -1), index=index, columns=columns)


def impute(
    tree: GaussianTree,
    X,
    method: Literal["mean", "draw"] = "mean",
    random_state: int | np.random.Generator | None = None,
    *,
    absent: Absent = "error",
) -> pd.DataFrame:
    """Return the columns of the model with their missing cells filled.

    Parameters
    ----------
    tree, X, absent
        As in :func:`row_log_likelihoods`.
    method : {"mean", "draw"}
        The mean of each missing cell given the other cells of its row; or a draw of all missing cells of a row from
        their joint distribution.
    random_state : int or Generator, optional
        For draws.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, 0.5], [0.0, 0.0, 100.0])
    >>> impute(tree, pd.DataFrame({"x": [1.0], "y": [None]})).loc[0].tolist()
    [1.0, 100.4]
    """
    one_of("mean", "draw")("method", method)
    rng = np.random.default_rng(random_state)
    table, index = _read(tree, X, absent)
    forest, standard, mean, std = _standard(tree, table.values)
    filled = standard.copy()
    for rows, inference, part in _by_pattern(forest, standard):
        gaps = np.flatnonzero(inference.shape.unknown < forest.n_columns)
        if not len(gaps):
            continue
        values = inference.means(part)[gaps].T
        if method == "draw":
            factor = np.linalg.cholesky(inference.covariance[np.ix_(gaps, gaps)])
            values = values + rng.normal(size=values.shape) @ factor.T
        filled[np.ix_(rows, inference.shape.unknown[gaps])] = values
    known = ~np.isnan(table.values)
    values = np.where(known, table.values, filled * std + mean)
    return pd.DataFrame(values, index=index, columns=named(tree.observed_names))


def sample(
    tree: GaussianTree,
    n: int = 1,
    *,
    latents: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Draw rows from a model.

    Parameters
    ----------
    tree : GaussianTree
    n : int
        Number of rows.
    latents : bool
        Whether the hidden variables are among the columns.
    random_state : int or Generator, optional

    Examples
    --------
    >>> tree = GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.8])
    >>> sample(tree, 2, random_state=0).round(3)["x"].tolist()
    [0.485, -0.043]
    """
    checked(tree)
    rng = np.random.default_rng(random_state)
    noise = rng.normal(size=(tree.n_nodes, n))
    drawn = np.empty((tree.n_nodes, n))
    for node in tree.order.tolist():
        slope, above = tree.correlation[node], tree.parent[node]
        drawn[node] = noise[node] if above < 0 else slope * drawn[above] + np.sqrt(1 - slope**2) * noise[node]
    rows = (drawn * tree.std[:, None] + tree.mean[:, None]).T
    shown = np.arange(tree.n_nodes) if latents else np.flatnonzero(~tree.latent)
    return pd.DataFrame(rows[:, shown], columns=named([tree.names[node] for node in shown]))


def named(names) -> pd.Index:
    """Return names as the columns of a frame; tuples stay single names."""
    listed: list[Hashable] = list(names)
    return pd.Index(listed, tupleize_cols=False)
