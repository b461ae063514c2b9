"""Forests over the columns themselves: Chow-Liu trees, and the forest with the highest BIC."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.dependence import DECIMALS, pairwise_information, warn_of_no_overlap
from pgmpy_latent.tables.encode import CategoricalData

#: Share of the columns' own distributions in the tables that EM starts with, so that no row is ruled out.
_SMOOTHING = 0.01
#: Smallest rise of BIC for which structural EM goes on.
_RISE = 1e-6


def chow_liu_parents(data: CategoricalData, *, warns: bool = True) -> np.ndarray:
    """Return the parent of each column in the tree of largest mutual information, whatever their order.

    ``warns`` says whether columns that are never filled together are pointed out.
    """
    ordered = data.in_order_of_names()
    information, apart = pairwise_information(ordered)
    if warns:
        warn_of_no_overlap(ordered.columns, apart)
    return _in_order_of(data, ordered, strongest_forest(information.round(DECIMALS)))


def bic_forest(data: CategoricalData, search: Search) -> tuple[LatentTree, float]:
    """Return the forest over the columns with the highest BIC, fitted, and its log-likelihood.

    Exact where no cell is missing. Otherwise edges are first chosen by the rows that have both columns, and then anew
    by the expected counts of the fitted forest (structural EM), as long as BIC rises.

    Parameters
    ----------
    data : CategoricalData
        The table.
    search : Search
        Runs EM.
    """
    ordered = data.in_order_of_names()
    information, apart = pairwise_information(ordered)
    warn_of_no_overlap(ordered.columns, apart)
    gains, costs = _filled_together(ordered) * information, _costs(ordered)
    tree, log_likelihood = fitted_forest(ordered, _best_parents(gains, costs), search)
    while ordered.has_missing.any():
        try:
            search.tick()
        except STOP_SIGNALS as stop:
            search.note_interrupt(stop)  # the forest so far is one to go on with
            break
        again = _best_parents(_expected_gains(tree, ordered, gains), costs)
        other, value = fitted_forest(ordered, again, search)
        if _bic(other, value, ordered) <= _bic(tree, log_likelihood, ordered) + _RISE:
            break
        tree, log_likelihood = other, value
    return _with_columns_of(data, tree), log_likelihood


def _costs(data: CategoricalData) -> np.ndarray:
    """Return what the parameters of an edge cost, for all pairs of columns."""
    return scores.penalty_per_parameter(data.total_weight) * np.multiply.outer(data.cards - 1, data.cards - 1)


def _filled_together(data: CategoricalData) -> np.ndarray:
    """Return the weight of the rows in which two columns are filled, for all pairs."""
    filled = (data.codes >= 0).astype(np.float64)
    return (filled * data.weights[:, None]).T @ filled


def _best_parents(gains: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the parents in the forest of largest weight, from what edges add to the log-likelihood and their costs."""
    return strongest_forest(np.maximum((gains - costs).round(DECIMALS), 0.0))


def _expected_gains(tree: LatentTree, data: CategoricalData, observed: np.ndarray) -> np.ndarray:
    """Return what edges add to the log-likelihood of the table as a forest completes it, for all pairs of columns.

    Parameters
    ----------
    tree : LatentTree
        The fitted forest.
    data : CategoricalData
        The table.
    observed : array, shape (n_columns, n_columns)
        What edges add in the rows that have both columns: all rows, where neither column has a missing cell.
    """
    engine = engine_for(tree, data)
    walk = engine.walk(engine.layout.pack(tree.tables))
    gains = observed.copy()
    for left in range(tree.n_nodes):
        for right in range(left):
            if data.has_missing[left] or data.has_missing[right]:
                gain = _gain(walk.pair_count(left, right, data.weights))
                gains[left, right] = gains[right, left] = gain
    return gains


def _gain(counts: np.ndarray) -> float:
    """Return what an edge adds to the log-likelihood of two variables with some joint counts."""
    total = counts.sum()
    joint, *alone = (xlogy(some, some).sum() for some in (counts, counts.sum(axis=0), counts.sum(axis=1)))
    return max(float(joint - sum(alone) + xlogy(total, total)), 0.0)


def _bic(tree: LatentTree, log_likelihood: float, data: CategoricalData) -> float:
    return scores.bic_from_parts(log_likelihood, tree.n_parameters, data.total_weight)


def _in_order_of(data: CategoricalData, ordered: CategoricalData, parent: np.ndarray) -> np.ndarray:
    """Return parents of the columns of a table, from those of the columns in the order of their names."""
    position = {name: at for at, name in enumerate(data.columns)}
    by_name = np.array([position[name] for name in ordered.columns])
    found = np.empty(len(by_name), dtype=np.int64)
    found[by_name] = np.where(parent >= 0, by_name[parent], -1)
    return found


def _with_columns_of(data: CategoricalData, tree: LatentTree) -> LatentTree:
    """Return a forest with its nodes in the order of a table's columns."""
    order = [tree.index(name) for name in data.columns]
    place = np.append(np.argsort(order), -1)  # the parent of a root stays -1
    return LatentTree(
        data.columns,
        data.state_names,
        place[tree.parent[order]],
        tree.latent[order],
        [tree.tables[at] for at in order],
    )


def strongest_forest(weights: np.ndarray) -> np.ndarray:
    """Return the parents in the spanning forest of largest weight; the first node of every tree is its root.

    Prim's algorithm on the matrix itself: nodes join the tree one by one, the strongest link first, and among equals
    the first node. A graph of networkx holds every link as a Python object, a million for 1,600 columns.

    Parameters
    ----------
    weights : array, shape (n_nodes, n_nodes)
        Symmetric; what is 0 is no link. The diagonal does not matter.

    Examples
    --------
    >>> strongest_forest(np.array([[0, 1, 3, 0], [1, 0, 2, 0], [3, 2, 0, 0], [0, 0, 0, 0]])).tolist()
    [-1, 2, 0, -1]
    """
    n_nodes = len(weights)
    parent = np.full(n_nodes, -1)
    strongest = np.zeros(n_nodes)  # link of each node to those that have joined
    outside = np.ones(n_nodes, dtype=bool)
    for _ in range(n_nodes):
        joining = np.argmax(np.where(outside, strongest, -1.0))  # a new root, if nothing is linked
        outside[joining] = False
        stronger = outside & (weights[joining] > strongest)
        strongest[stronger] = weights[joining, stronger]
        parent[stronger] = joining
    return parent


def fitted_forest(data: CategoricalData, parent: np.ndarray, search: Search) -> tuple[LatentTree, float]:
    """Return the tree over the columns with the best tables, and its log-likelihood."""
    children = np.flatnonzero(parent >= 0)
    needs_em = bool(data.has_missing[children].any() or data.has_missing[parent[children]].any())
    tables = _tables_of_filled(data, parent, search.settings.prior, _SMOOTHING if needs_em else 0.0)
    tree = LatentTree(data.columns, data.state_names, parent, np.zeros(len(parent), dtype=bool), tables)
    engine = engine_for(tree, data)
    flat = engine.layout.pack(tree.tables)
    if not needs_em:
        return tree, float(engine.log_likelihood(flat))
    settings = search.settings
    fit = search.fit(engine, flat, first=True, atol=settings.tol, max_iter=settings.max_iter, polish=True)
    return tree.with_tables(engine.layout.unpack(fit.tables)), fit.log_likelihood


def _tables_of_filled(data: CategoricalData, parent: np.ndarray, prior: float, smoothing: float) -> list[np.ndarray]:
    """Return the shares of states among the rows that have the cell, and the parent's cell where there is one.

    They are the best tables if no row lacks one of the two. A parent's state that never occurs gets the shares of all
    rows, as does, for a share of ``smoothing``, every other state.
    """
    tables = [normalised(_counts(data, at, -1) + prior) for at in range(len(parent))]
    alone = list(tables)
    for at in np.flatnonzero(parent >= 0).tolist():
        counts = _counts(data, at, int(parent[at])) + prior
        totals = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, totals, out=np.repeat(alone[at], len(counts), axis=0), where=totals > 0)
        tables[at] = (1 - smoothing) * shares + smoothing * alone[at]
    return tables


def _counts(data: CategoricalData, at: int, above: int) -> np.ndarray:
    """Return the weights of a column's states for each state of another, or of all rows together."""
    codes, n_rows, n_states = data.codes[:, at].astype(np.int64), 1, int(data.cards[at])
    there = codes >= 0
    if above >= 0:
        there &= data.codes[:, above] >= 0
        codes += n_states * data.codes[:, above].astype(np.int64)
        n_rows = int(data.cards[above])
    counts = np.bincount(codes[there], data.weights[there], minlength=n_rows * n_states)
    return counts.reshape(n_rows, n_states)
