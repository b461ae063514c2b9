"""A last look at the numbers of states in one block of a tree, by splits and merges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pgmpy_latent import presets
from pgmpy_latent.learners.cardinality.split_merge import split_merge_policy
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.encode import CategoricalData

#: Splits, merges, and one after the other. Restarts would begin anew, which is what the starts of a search are for, and
#: a second look with more care takes more than half of the time and has gained nothing.
TUNING = presets.SPLIT_MERGE.replace(depth=1, n_restarts=0, adjustments="thesis")


def split_and_merged(
    tree: LatentTree,
    data: CategoricalData,
    search: Search,
    score: Callable[[LatentTree, float], float],
    max_states: float = np.inf,
    step: int = 0,
) -> tuple[LatentTree, float]:
    """Return a tree of the same shape, with states split and merged while the score rises, and its log-likelihood.

    Parameters
    ----------
    tree : LatentTree
        The model, fitted to the table.
    data : CategoricalData
        The table; its columns are those of the tree.
    search : Search
        Runs EM. If it is stopped, the best tree so far is returned.
    score : callable
        Tree and log-likelihood -> score.
    max_states : float
        Most states of a hidden variable.
    step : int
        Number of the step, which random splits depend on.
    """
    fitter = TreeFitter(data, tree, search)
    policy = split_merge_policy(fitter, score, TUNING, None if np.isinf(max_states) else int(max_states))
    state = replace(policy.start(tree), step=step)
    try:
        while not state.finished:
            search.tick()
            state = policy.advance(state).state
    except STOP_SIGNALS as stop:
        search.note_interrupt(stop)
    return state.tree, state.log_likelihood


def with_states_of(tree: LatentTree, part: LatentTree) -> LatentTree:
    """Return a tree in which the hidden nodes of a part, and the tables of its nodes below the root, are those of it.

    The root of the part keeps its own table, unless it is a root of the tree.
    """
    states, tables = list(tree.state_names), list(tree.tables)
    for at, name in enumerate(part.names):
        node = tree.index(name)
        states[node] = part.state_names[at]
        if part.parent[at] >= 0 or tree.parent[node] < 0:
            tables[node] = part.tables[at]
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)
