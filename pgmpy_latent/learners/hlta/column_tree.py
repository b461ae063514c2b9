"""The tree over the columns, which the tree of islands must beat, with hidden variables in the place of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.column_forest import bic_forest
from pgmpy_latent.learners.density.growth import with_hidden_copies
from pgmpy_latent.learners.search import FitOptions, Outcome, Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.canonical import canonical_tree
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.encode import CategoricalData

#: How often a column differs from the hidden variable above it, before EM.
ERROR = 0.02
#: Tables with columns of more states are not compared: those between hidden variables would be large.
MOST_STATES = 64
#: What ``history_`` calls it.
COLUMN_TREE = "tree over the columns"


def at_least_column_tree(
    outcome: Outcome[LatentTree],
    data: CategoricalData,
    search: Search,
    score: Callable[[LatentTree, float], float],
    anywhere: bool,
    max_states: int | None = None,
) -> Outcome[LatentTree]:
    """Return an outcome, or what the forest over the columns leads to where that one has the higher score.

    In the forest with the highest BIC, a hidden variable takes the place of every column with several neighbours; EM
    follows. Where columns may be anywhere, the forest itself is considered, too; otherwise there must be such columns.

    Parameters
    ----------
    outcome : Outcome
        Of a search that came to its end.
    data : CategoricalData
        The table.
    search : Search
        Runs EM. If it is stopped, the outcome stays as it is.
    score : callable
        Tree and log-likelihood -> score; larger is better.
    anywhere : bool
        Whether columns may be parents.
    max_states : int, optional
        Most states of a hidden variable, and so of a column that one takes the place of.
    """
    if max(data.cards) > MOST_STATES:
        return outcome
    try:
        forest, value = bic_forest(data, search)
        if score(forest, value) <= outcome.score:
            return outcome
        others = [(forest, value)] if anywhere else []
        tree = canonical_tree(with_hidden_copies(forest))  # with hidden roots
        n_states = tree.cards[tree.latent]
        if len(n_states) and n_states.max() <= (max_states or MOST_STATES):
            others.append(_fitted(tree, data, search))
    except STOP_SIGNALS:
        return outcome
    if not others:
        return outcome
    tree, value = max(others, key=lambda other: score(*other))
    best = score(tree, value)
    if best <= outcome.score:
        return outcome
    step = outcome.history[-1].step + 1
    entry = search.entry(step, COLUMN_TREE, None, best, value, tree.n_parameters)
    return replace(outcome, tree=tree, score=best, log_likelihood=value, history=[*outcome.history, entry])


def _fitted(tree: LatentTree, data: CategoricalData, search: Search) -> tuple[LatentTree, float]:
    """Return the tree with hidden variables that columns may differ from, fitted, and its log-likelihood."""
    engine = engine_for(tree, data)
    tables = np.maximum(engine.layout.pack(tree.tables), ERROR)
    options: FitOptions = {**search.settings.last_fit, "first": False}
    fit = search.fit(engine, tables / engine.layout.row_sums(tables), **options)
    return tree.with_tables(engine.layout.unpack(fit.tables)), fit.log_likelihood
