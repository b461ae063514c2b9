"""Hidden states that carry nothing, and the same distribution without them."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.operators.states import marginals

#: Largest relative difference of two probabilities that count as equal.
TOLERANCE = 1e-10


def prune_states(tree: LatentTree, *, tolerance: float = TOLERANCE) -> LatentTree:
    """Return the same distribution over the observed variables without hidden states that carry nothing.

    A state of probability zero is removed. Two states become one if the neighbours of their node, given one and given
    the other, have equal distributions, with one exception at most: ``Σ_i P(i) P(x | i) Q = P(x, {i}) Q`` where Q is
    what the other neighbours share. This is repeated until nothing changes, since states of a neighbour can become
    equal thereby.

    Parameters
    ----------
    tree : LatentTree
        The model.
    tolerance : float
        Largest relative difference of probabilities that count as equal. With 0 they must be the same to the last bit.

    Returns
    -------
    LatentTree
        With the same nodes and edges; the tree itself if there is nothing to prune. Where states were pruned, those
        that are left are called 0, 1, ... in their order. A hidden variable can be left with one state: see
        :func:`~pgmpy_latent.operators.make_regular`.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1, 2], "ab", "ab"], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.25, 0.25]], [[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]], [[1, 0], [0.2, 0.8], [0.4, 0.6]]])
    >>> pruned = prune_states(tree)
    >>> pruned.table("H"), pruned.table("y")
    (array([[0.5, 0.5]]), array([[1. , 0. ],
           [0.3, 0.7]]))
    """
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; it must be at least 0 and below 1")
    hidden = [node for node in tree.order if tree.latent[node]]
    while True:
        size = tree.cards.sum()
        for node in hidden:
            tree = _without_impossible(tree, node)
            tree = _without_equal(tree, node, tolerance)
        if tree.cards.sum() == size:
            return tree


def _without_impossible(tree: LatentTree, node: int) -> LatentTree:
    """Return the tree without states of a node that have probability zero."""
    left = np.flatnonzero(marginals(tree)[node] > 0)
    if len(left) == tree.cards[node]:
        return tree
    tables = list(tree.tables)
    tables[node] = normalised(tables[node][:, left])  # a parent's state that is impossible too may need it
    for child in tree.child_lists[node]:
        tables[child] = tables[child][left]
    return _with_states(tree, node, tables, len(left))


def _without_equal(tree: LatentTree, node: int, tolerance: float) -> LatentTree:
    """Return the tree in which states of a node are merged that differ in one neighbour at most."""
    exception = 0
    differ = _differences(tree, node, tolerance)
    while exception < max(len(differ), 1):
        others = np.delete(differ, exception, axis=0) if len(differ) else differ
        first = (~others.any(axis=0)).argmax(axis=1)  # the first state that each one equals
        leader = first == np.arange(len(first))
        if leader.all():
            exception += 1
            continue
        label = np.where(leader, np.arange(len(first)), first)
        label = np.where(leader[label], label, np.arange(len(first)))  # what equals none that stays, stays itself
        tree = _merged(tree, node, label)
        differ = _differences(tree, node, tolerance)
    return tree


def _differences(tree: LatentTree, node: int, tolerance: float) -> np.ndarray:
    """Return, for every neighbour, which pairs of states differ in its distribution; shape (neighbours, K, K)."""
    rows = [tree.tables[child] for child in tree.child_lists[node]]
    above = tree.parent[node]
    if above >= 0:
        rows.append(normalised((marginals(tree)[above][:, None] * tree.tables[node]).T))
    n_states = int(tree.cards[node])
    found = np.zeros((len(rows), n_states, n_states), dtype=bool)
    for at, table in enumerate(rows):
        for state, row in enumerate(table):
            found[at, state] = (np.abs(table - row) > tolerance * np.maximum(table, row)).any(axis=1)
    return found


def _merged(tree: LatentTree, node: int, label: np.ndarray) -> LatentTree:
    """Return the tree in which every state of a node is merged into the one that its label names."""
    left = np.unique(label)
    member = (left[:, None] == label).astype(np.float64)
    weights = normalised(member * marginals(tree)[node])
    tables = list(tree.tables)
    tables[node] = tables[node] @ member.T
    for child in tree.child_lists[node]:
        tables[child] = weights @ tables[child]
    return _with_states(tree, node, tables, len(left))


def _with_states(tree: LatentTree, node: int, tables: list[np.ndarray], n_states: int) -> LatentTree:
    states = list(tree.state_names)
    states[node] = tuple(range(n_states))
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)
