"""Pictures of how well a model fits: pairs of columns, unusual rows; and of two partitions of the same rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from pgmpy_latent.diagnostics.explain import counted
from pgmpy_latent.diagnostics.residuals import SIGNIFICANT
from pgmpy_latent.inference.queries import engine_for, model_and_data, sample_codes
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.plotting.axes import BLUE, VERMILION, as_label, check_is_frame, lighten, new_axes, text_width
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey

#: Size of labels in points.
LABEL_SIZE = 8.0
#: Maximum length of a column's name beside a heat map, in characters.
SHORT = 28
#: Width and height of a cell of two partitions, in inches.
CELL = (0.62, 0.4)
#: Share of the rows drawn from a model that counts as unusual, and minimum number of rows drawn.
UNUSUAL, FEWEST_DRAWN = 0.01, 2000
#: Seed of those draws, so that two plots of the same rows are the same.
SEED = 0


def plot_residuals(table: pd.DataFrame, *, n_columns: int = 30, ax=None):
    """Draw how badly a model fits each pair of columns, as a heat map.

    A square is as dark as Pearson's X² of the pair is large, per degree of freedom; about 1 is what chance gives. Pairs
    that differ significantly (adjusted p-value below 0.05) have a dot. Columns of the pairs that stand out most come
    first.

    Parameters
    ----------
    table : DataFrame
        As :func:`pgmpy_latent.residuals` returns it: ``first``, ``second``, ``per_df`` and ``adjusted_p``.
    n_columns : int
        Most columns to draw; the title says how many there are.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> table = pd.DataFrame({"first": ["x", "x", "y"], "second": ["y", "z", "z"],
    ...                       "per_df": [9.5, 1.2, 0.4], "adjusted_p": [0.001, 0.4, 0.8]})
    >>> plot_residuals(table).get_title(loc="left")
    '1 of 3 pairs differs significantly'
    """
    check_is_frame(table, "residuals(model, X)")
    if missing := [name for name in ("first", "second", "per_df", "adjusted_p") if name not in table.columns]:
        raise ValueError(f"the table has no column {missing[0]!r}; give the table that pgmpy_latent.residuals returns")
    if table.empty:
        raise ValueError("the table has no pairs of columns; there is nothing to draw")
    table = table.sort_values("per_df", ascending=False, kind="stable", na_position="last")
    columns = list(dict.fromkeys(name for pair in zip(table["first"], table["second"], strict=True) for name in pair))
    shown = {name: at for at, name in enumerate(columns[:n_columns])}
    values, marked = np.full((len(shown), len(shown)), np.nan), []
    for first, second, value, p_value in table[["first", "second", "per_df", "adjusted_p"]].itertuples(index=False):
        if first in shown and second in shown:
            row, column = sorted((shown[first], shown[second]), reverse=True)
            values[row, column] = value
            if p_value < SIGNIFICANT:
                marked.append((column, row))
    labels = [as_label(name, SHORT) for name in shown]
    side = max(0.27 * len(shown), 1.5) + max(text_width(label, LABEL_SIZE) for label in labels)
    ax = new_axes(ax, side + 1.2, side + 0.7)
    _draw_squares(ax, values[1:, :-1], marked, labels)
    ax.set_title(_residual_title(table, len(shown), len(columns)), loc="left", fontsize=10)
    return ax


def _draw_squares(ax, values: np.ndarray, marked: list[tuple[int, int]], labels: list[str]) -> None:
    """Draw the lower triangle: rows are all columns but the first, columns all but the last."""
    from matplotlib.colors import LogNorm

    highest = values[np.isfinite(values)].max(initial=4.0)
    image = ax.imshow(values, cmap="Blues", norm=LogNorm(1.0, highest, clip=True))
    if marked:
        x, y = np.array(marked).T
        dark = values[y - 1, x] > highest**0.6
        ax.scatter(x, y - 1, s=14, c=np.where(dark, "white", "black"))
    ax.set_xticks(range(len(labels) - 1), labels[:-1], rotation=90, fontsize=LABEL_SIZE)
    ax.set_yticks(range(len(labels) - 1), labels[1:], fontsize=LABEL_SIZE)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, pad=0.02)
    ticks = [digit * 10**power for power in range(1 + int(np.log10(highest))) for digit in (1, 2, 5)]
    bar.set_ticks([tick for tick in ticks if tick <= highest], minor=False)
    bar.ax.minorticks_off()
    bar.ax.yaxis.set_major_formatter("{x:,.0f}")
    bar.ax.tick_params(labelsize=LABEL_SIZE)
    bar.set_label("X² per degree of freedom", fontsize=LABEL_SIZE)
    bar.outline.set_visible(False)


def _residual_title(table: pd.DataFrame, n_shown: int, n_columns: int) -> str:
    number = int((table["adjusted_p"] < SIGNIFICANT).sum())
    words = f"{number:,} of {counted(len(table), 'pair')} {'differs' if number == 1 else 'differ'} significantly"
    return words if n_shown == n_columns else f"{words}\n{n_shown} of {n_columns} columns are shown"


def plot_confusion(first, second, *, ax=None):
    """Draw how two partitions of the same rows cross.

    Rows are the classes of the first, columns those of the second, in the order that puts as many rows of the table as
    possible on the diagonal, large classes first. Every cell has its number of rows, and is as dark as its share of the
    class of the first.

    Parameters
    ----------
    first, second : Series, array, or DataFrame with one column
        The class of every row, as of ``learner.predict(X)["H"]``, or any column to compare it with. Rows of which one
        is missing are left out, and the title says how many.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Its title holds the adjusted Rand index: 1 if the partitions agree, about 0 if they have nothing in common.

    Examples
    --------
    >>> ax = plot_confusion(pd.Series([0, 0, 1, 1, 1], name="H"), pd.Series(list("bbaab"), name="vote"))
    >>> [label.get_text() for label in ax.get_xticklabels()], ax.get_title(loc="left")
    (['a', 'b'], 'adjusted Rand index 0.17')
    """
    first, second = _partition(first, "first"), _partition(second, "second")
    if len(first) != len(second):
        raise ValueError(f"first has {len(first)} rows and second has {len(second)}; give partitions of the same rows")
    if not first.index.equals(second.index):
        raise ValueError("the indices of first and second differ; give partitions of the same rows, in the same order")
    known = (first.notna() & second.notna()).to_numpy()
    if not known.any():
        raise ValueError("there is no row in which first and second are both known")
    rows, row_names = pd.factorize(first[known])
    columns, column_names = pd.factorize(second[known])
    counts = np.zeros((len(row_names), len(column_names)), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    row_order, column_order = _heavy_diagonal(counts)
    counts = counts[np.ix_(row_order, column_order)]
    row_labels = [as_label(row_names[at], SHORT) for at in row_order]
    labels = [as_label(column_names[at], SHORT) for at in column_order]
    left, below = (max(text_width(text, LABEL_SIZE) for text in texts) for texts in (row_labels, labels))
    turned = below > CELL[0]
    ax = new_axes(
        ax,
        max(CELL[0] * len(labels) + left + 0.5, 3.2),
        CELL[1] * len(row_labels) + (below if turned else 0.15) + 0.8,
    )
    _draw_counts(ax, counts)
    ax.set_yticks(range(len(row_labels)), row_labels, fontsize=LABEL_SIZE)
    ax.set_xticks(range(len(labels)), labels, fontsize=LABEL_SIZE, rotation=90 if turned else 0)
    ax.tick_params(length=0)
    names = [
        as_label(word if part.name is None else part.name) for word, part in (("first", first), ("second", second))
    ]
    if names[0] == names[1]:
        names = [f"{names[0]} (first)", f"{names[1]} (second)"]
    ax.set_ylabel(names[0])
    ax.set_xlabel(names[1])
    title = f"adjusted Rand index {adjusted_rand_score(rows, columns):.2f}"
    if not known.all():
        title += f"\n{counted(int((~known).sum()), 'row')} without a class left out"
    ax.set_title(title, loc="left", fontsize=10)
    return ax


def _partition(given, name: str) -> pd.Series:
    if isinstance(given, pd.DataFrame):
        if given.shape[1] != 1:
            raise ValueError(f"{name} has {counted(given.shape[1], 'column')}; give one of them, as predict(X)['H']")
        return given.iloc[:, 0]
    return given if isinstance(given, pd.Series) else pd.Series(np.asarray(given).tolist(), dtype=object)


def _heavy_diagonal(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of rows and one of columns that put as much as possible on the diagonal, largest rows first.

    Where there are more of the one than of the other, those without a partner come last.
    """
    rows, columns = linear_sum_assignment(-counts)
    largest = np.argsort(-counts.sum(axis=1)[rows], kind="stable")
    return _with_others(rows[largest], counts.sum(axis=1)), _with_others(columns[largest], counts.sum(axis=0))


def _with_others(first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    others = np.setdiff1d(np.arange(len(sizes)), first)
    return np.concatenate([first, others[np.argsort(-sizes[others], kind="stable")]])


def _draw_counts(ax, counts: np.ndarray) -> None:
    shares = counts / counts.sum(axis=1, keepdims=True)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), number in np.ndenumerate(counts):
        color = "white" if shares[row, column] > 0.6 else "black"
        text = f"{number:,}\n{shares[row, column]:.0%}" if number else "0"
        ax.text(column, row, text, ha="center", va="center", color=color, fontsize=LABEL_SIZE, linespacing=0.95)
    ax.spines[:].set_visible(False)


def plot_anomalies(model, X, *, sample_weight=None, ax=None, **survey: Unpack[Survey]):
    """Draw the log-likelihoods of rows beside those of rows drawn from the model.

    If the model is right, both look alike. Rows of the table that lie further left than nearly all that the model
    draws are unusual; :func:`pgmpy_latent.unusual_rows` lists them. Rows that are drawn have missing cells where
    those of the table do, as a row with missing cells is more likely than one without.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, or a fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The rows.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    ax : matplotlib axes, optional
        Where to draw.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pgmpy_latent import datasets, sample
    >>> tree = datasets.hlc_model(7, random_state=0)
    >>> plot_anomalies(tree, sample(tree, 500, random_state=1)).get_xlabel()
    'log-likelihood of a row'
    """
    model, data = model_and_data(model, X, sample_weight=sample_weight, **survey)
    values, weights = _row_values(model, data), data.weights
    drawn = _drawn_values(model, data)
    threshold = np.quantile(drawn, UNUSUAL)
    possible = np.isfinite(values)
    ax = new_axes(ax, 7.0, 4.0)
    edges = np.histogram_bin_edges(np.concatenate([values[possible], drawn]), bins=50)
    shared = {"bins": edges, "histtype": "stepfilled"}
    ax.hist(
        drawn, weights=np.full(len(drawn), 1 / len(drawn)), color="0.8", label="rows drawn from the model", **shared
    )
    ax.hist(
        values[possible], weights=weights[possible] / weights.sum(), label="rows of the table",
        facecolor="none", edgecolor=BLUE, lw=1.5, **shared,
    )  # fmt: skip
    ax.axvline(threshold, color=VERMILION, lw=1, ls="--", label=f"below it lie {UNUSUAL:.0%} of the rows drawn")
    ax.set_xlabel("log-likelihood of a row")
    ax.set_ylabel("share of rows")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False, fontsize=8)
    lighten(ax)
    ax.set_title(_anomaly_title(values < threshold, ~possible, weights), loc="left", fontsize=10)
    return ax


def _row_values(model: LatentTree | LatentNetwork, data: CategoricalData) -> np.ndarray:
    """Return the log-likelihood of each distinct row."""
    engine = engine_for(model, data)
    return engine.row_log_likelihoods(engine.layout.pack(model.tables))


def _drawn_values(model: LatentTree | LatentNetwork, data: CategoricalData) -> np.ndarray:
    """Return the log-likelihoods of rows drawn from a model, with the missing cells of rows of a table."""
    number = max(FEWEST_DRAWN, data.n_rows)
    rng = np.random.default_rng(SEED)
    drawn = sample_codes(model, number, rng)[:, [model.index(name) for name in data.columns]]
    alike = rng.choice(data.n_distinct, number, p=data.weights / data.total_weight)
    codes = np.where(data.codes[alike] < 0, -1, drawn)
    return _row_values(model, CategoricalData(data.columns, data.state_names, codes, np.ones(number)))


def _anomaly_title(unusual: np.ndarray, impossible: np.ndarray, weights: np.ndarray) -> str:
    total = weights.sum()
    share = weights[unusual].sum() / total
    words = f"{share:.1%} of the rows are less likely than {1 - UNUSUAL:.0%} of those drawn from the model"
    if impossible.any():
        words += f"\n{weights[impossible].sum() / total:.1%} are impossible under the model and not shown"
    return words
