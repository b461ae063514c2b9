"""Operators on the states of hidden variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from pgmpy_latent.tree import LatentTree

#: Probabilities that agree to this many decimals count as equal when states are put in order.
DECIMALS = 6


def marginals(tree: LatentTree) -> list[np.ndarray]:
    """Return the marginal distribution of every node.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> marginals(tree)[1]
    array([0.75, 0.25])
    """
    found: list[np.ndarray] = [np.empty(0)] * tree.n_nodes
    for node in tree.order:
        above = tree.parent[node]
        found[node] = tree.tables[node][0] if above < 0 else found[above] @ tree.tables[node]
    return found


def permute_states(tree: LatentTree, node: Hashable, order: Sequence[int]) -> LatentTree:
    """Return the same distribution with the states of a node in another order, names included.

    Parameters
    ----------
    tree : LatentTree
        The model.
    node : hashable
        Name of the node.
    order : sequence of int
        The old position of each new state: a permutation.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> swapped = permute_states(tree, "x", [1, 0])
    >>> swapped.state_names[0], swapped.tables[0].tolist()
    (('b', 'a'), [[0.75, 0.25]])
    """
    at = tree.index(node)
    order = [int(state) for state in order]
    if sorted(order) != list(range(int(tree.cards[at]))):
        raise ValueError(f"order is {order}; the {tree.cards[at]} states of {node!r} need a permutation of them")
    states = list(tree.state_names)
    states[at] = tuple(states[at][state] for state in order)
    tables = list(tree.tables)
    tables[at] = tables[at][:, order]
    for child in np.flatnonzero(tree.parent == at):
        tables[child] = tables[child][order]
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables)


def canonical_states(tree: LatentTree, nodes: Iterable[Hashable] | None = None) -> LatentTree:
    """Return the same distribution over observed variables with the hidden states in a canonical order.

    The states of a hidden variable are sorted by falling probability; equal ones by the tables of observed children,
    in node order. State names stay where they are, since the states of a fitted hidden variable have no meaning of
    their own. Two fits that found the same optimum look the same afterwards. ``nodes`` names hidden variables to sort;
    all by default.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> canonical_states(tree).tables[0].tolist()
    [[0.8, 0.2]]
    """
    sorted_tree = tree
    shares = marginals(tree)
    chosen = tree.latent_names if nodes is None else nodes
    for node in (tree.index(name) for name in chosen):
        # tables of hidden children would not do: they depend on the order of those children's own states
        observed = np.flatnonzero((tree.parent == node) & ~tree.latent)
        keys = np.concatenate([shares[node][:, None], *(tree.tables[child] for child in observed)], axis=1)
        keys = keys.round(DECIMALS)
        order = sorted(range(len(keys)), key=lambda state, keys=keys: tuple(-keys[state]))
        sorted_tree = permute_states(sorted_tree, tree.names[node], order)
    return LatentTree(tree.names, tree.state_names, tree.parent, tree.latent, sorted_tree.tables)
