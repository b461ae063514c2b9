"""The shape of a hidden Chow-Liu tree: hidden variables that are linked like the columns."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.learners.skeletons import grown_tree, numbered_latent_names
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import CategoricalData


def hidden_tree(data: CategoricalData, parent: np.ndarray, n_states: int) -> LatentTree:
    """Return a tree in which hidden variables stand in for the columns of a tree over the columns; uniform tables.

    A column with several neighbours gets a hidden variable above it, and hidden variables are linked like their
    columns. A column with one neighbour hangs below that neighbour's hidden variable, since one of its own would add
    nothing; columns without any stand alone. Two columns that have only each other stay as they are.

    Parameters
    ----------
    data : CategoricalData
        The table.
    parent : int array, shape (n_columns,)
        Parent of each column, -1 for roots.
    n_states : int
        Of every hidden variable.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(np.array([[0, 0, 0, 0], [1, 1, 1, 1]]))
    >>> tree = hidden_tree(data, np.array([-1, 0, 1, 2]), 8)
    >>> tree.names, tree.parent.tolist(), tree.cards.tolist()
    (('H1', 'H2', 0, 1, 2, 3), [-1, 0, 0, 0, 1, 1], [8, 8, 2, 2, 2, 2])
    """
    hidden = inner_columns(parent)
    inner = np.isin(np.arange(len(parent)), hidden)
    node_of = np.arange(len(parent))  # what stands for a column: its hidden variable, or the column itself
    node_of[hidden] = len(parent) + np.arange(len(hidden))
    above = np.concatenate([_above_columns(parent, inner, node_of), _above_hidden(parent, inner, node_of)])
    cards = np.concatenate([data.cards, np.full(len(hidden), n_states)]).astype(np.int64)
    rows = np.where(above >= 0, cards[above], 1)
    tables = [np.full((n, card), 1.0 / card) for n, card in zip(rows.tolist(), cards.tolist(), strict=True)]
    return grown_tree(data, above.tolist(), tables, numbered_latent_names(data.columns, len(hidden)))


def inner_columns(parent: np.ndarray) -> np.ndarray:
    """Return the columns with several neighbours, for each of which there is a hidden variable, in the same order.

    Examples
    --------
    >>> inner_columns(np.array([-1, 0, 1, 2])).tolist()
    [1, 2]
    """
    linked = parent >= 0
    n_neighbours = linked + np.bincount(parent[linked], minlength=len(parent))
    return np.flatnonzero(n_neighbours > 1)


def _above_columns(parent: np.ndarray, inner: np.ndarray, node_of: np.ndarray) -> np.ndarray:
    """Return the node above each column: its hidden variable, that of its neighbour, or the neighbour itself."""
    above = np.where(inner, node_of, np.where(parent >= 0, node_of[parent], -1))
    for child in np.flatnonzero((parent >= 0) & inner).tolist():  # a root with one neighbour hangs below it
        if not inner[parent[child]]:
            above[parent[child]] = node_of[child]
    return above


def _above_hidden(parent: np.ndarray, inner: np.ndarray, node_of: np.ndarray) -> np.ndarray:
    """Return the hidden variable above each hidden variable, or -1."""
    at = parent[inner]
    return np.where((at >= 0) & inner[at], node_of[at], -1)
