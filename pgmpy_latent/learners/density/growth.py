"""Larger trees with the same distribution: states that are there several times, and hidden copies of columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pgmpy_latent.learners.skeletons import numbered_latent_names
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.states import marginals


def with_copies(tree: LatentTree, copies: Mapping[int, np.ndarray]) -> LatentTree:
    """Return a tree in which states of hidden variables are there several times; the distribution stays.

    The copies of a state share its probability evenly, and their children have the same probabilities given each. They
    follow one another.

    Parameters
    ----------
    tree : LatentTree
        The model.
    copies : dict of node to int array, shape (n_states,)
        For hidden nodes, by position, how often each state shall be there: at least once.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["s", "t"], "ab"], [-1, 0], [True, False],
    ...                   [[[0.4, 0.6]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> larger = with_copies(tree, {0: np.array([2, 1])})
    >>> larger.table("H").tolist(), larger.table("x").tolist()
    ([[0.2, 0.2, 0.6]], [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    """
    states, tables = list(tree.state_names), list(tree.tables)
    for node, above in enumerate(tree.parent.tolist()):
        if above in copies:
            tables[node] = np.repeat(tables[node], copies[above], axis=0)
        if node in copies:
            tables[node] = np.repeat(tables[node] / copies[node], copies[node], axis=1)
            states[node] = tuple(range(tables[node].shape[1]))
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)


def shaken(tree: LatentTree, size: float, rng: np.random.Generator) -> LatentTree:
    """Return a tree whose probabilities differ a little, so that EM can tell copies of a state apart.

    Parameters
    ----------
    tree : LatentTree
        The model. What is impossible stays so.
    size : float
        Standard deviation of the logarithm of what each probability is multiplied by, before rows are normalised.
    rng : Generator
        Source of the draws.

    Examples
    --------
    >>> tree = LatentTree(["x"], ["abc"], [-1], [False], [[[0.5, 0.5, 0.0]]])
    >>> shaken(tree, 0.1, np.random.default_rng(0)).tables[0].round(3).tolist()
    [[0.506, 0.494, 0.0]]
    """
    tables = [table * np.exp(size * rng.standard_normal(table.shape)) for table in tree.tables]
    return tree.with_tables([table / table.sum(axis=1, keepdims=True) for table in tables])


def with_hidden_copies(tree: LatentTree) -> LatentTree:
    """Return a tree in which a hidden variable takes the place of every column with several neighbours.

    The column hangs below it and tells its state without error, so that the distribution stays.

    Parameters
    ----------
    tree : LatentTree
        The model.

    Examples
    --------
    >>> tree = LatentTree(["x", "y", "z"], ["ab"] * 3, [-1, 0, 1], [False] * 3,
    ...                   [[[0.5, 0.5]], np.full((2, 2), 0.5), np.full((2, 2), 0.5)])
    >>> larger = with_hidden_copies(tree)
    >>> larger.names, larger.parent.tolist(), larger.table("y").tolist()
    (('H1', 'x', 'y', 'z'), [1, -1, 0, 0], [[1.0, 0.0], [0.0, 1.0]])
    """
    n_neighbours = np.bincount(tree.parent[tree.parent >= 0], minlength=tree.n_nodes) + (tree.parent >= 0)
    inner = np.flatnonzero(~tree.latent & (n_neighbours > 1))
    names = numbered_latent_names(tree.names, len(inner))
    stands_for = np.arange(len(inner), len(inner) + tree.n_nodes)  # the node that the neighbours of a node see
    stands_for[inner] = np.arange(len(inner))
    above = np.where(tree.parent >= 0, stands_for[tree.parent], -1)
    parent = np.concatenate([above[inner], above])
    parent[len(inner) + inner] = np.arange(len(inner))
    tables = [*(tree.tables[at] for at in inner), *tree.tables]
    for at in inner:
        tables[len(inner) + at] = np.eye(int(tree.cards[at]))
    states = [*(tuple(range(int(tree.cards[at]))) for at in inner), *tree.state_names]
    latent = np.concatenate([np.ones(len(inner), bool), tree.latent])
    return LatentTree([*names, *tree.names], states, parent, latent, tables, tree.missing)


def weighty_states(tree: LatentTree, total_weight: float, least: float) -> dict[int, np.ndarray]:
    """Return, for every hidden node by position, which states have the weight of that many rows.

    Parameters
    ----------
    tree : LatentTree
        The model.
    total_weight, least : float
        Of all rows, and of those that a state must have.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["s", "t"], "ab"], [-1, 0], [True, False],
    ...                   [[[0.1, 0.9]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> weighty_states(tree, 100.0, 20.0)[0].tolist()
    [False, True]
    """
    shares = marginals(tree)
    return {node: shares[node] * total_weight >= least for node in np.flatnonzero(tree.latent).tolist()}
