"""The distributions of all nodes given the states of one of them."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.diagnostics.link_strength import families_given
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals


def shares_and_conditionals(model: LatentTree | LatentNetwork, node: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return P(state) of a node, and P(other | node) for every other node, of a model of any shape.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1], ["a", "b"]], [(), (0,)], [True, False],
    ...                         [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> share, given = shares_and_conditionals(network, 0)
    >>> share, given[1]
    (array([0.7, 0.3]), array([[0.9, 0.1],
           [0.2, 0.8]]))
    """
    if isinstance(model, LatentTree):
        return marginals(model)[node], conditionals(model, node)
    n_states = int(model.cards[node])
    share, given = np.zeros(n_states), [np.full((n_states, card), np.nan) for card in model.cards]
    for state in range(n_states):
        log, families = families_given(model, node, state)
        share[state] = np.exp(log)
        if np.isfinite(log):  # nothing follows from a state that does not occur
            for other, joint in enumerate(families):
                given[other][state] = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
    return share, given


def conditionals(tree: LatentTree, node: int) -> list[np.ndarray]:
    """Return P(other | node) for every other node: arrays of shape (states of node, states of other).

    Along the path between two nodes each step multiplies by P(next | last): the table of the next node on the way down,
    Bayes' rule on the way up. Nodes of other trees of the forest keep their marginal distribution. A state of
    probability zero says what the tables below it say, and nothing about what is above it.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> conditionals(tree, 1)[0]
    array([[0.75 , 0.25 ],
           [0.125, 0.875]])
    """
    shares = marginals(tree)
    given_node = [np.tile(share, (len(shares[node]), 1)) for share in shares]
    given_node[node] = np.eye(len(shares[node]))
    came_from, ahead = {node: -1}, [node]
    for at in ahead:  # the list grows while it is walked
        above = int(tree.parent[at])
        for to in (*tree.child_lists[at], *([above] if above >= 0 else [])):
            if to != came_from[at]:
                step = _upwards(tree.tables[at], shares[above], shares[at]) if to == above else tree.tables[to]
                given_node[to] = given_node[at] @ step
                came_from[to] = at
                ahead.append(to)
    return given_node


def _upwards(table: np.ndarray, above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return P(parent | child) by Bayes' rule: a row per state of the child."""
    joint = (above[:, None] * table).T
    possible = below > 0
    joint[possible] /= joint[possible].sum(axis=1, keepdims=True)
    joint[~possible] = above
    return joint
