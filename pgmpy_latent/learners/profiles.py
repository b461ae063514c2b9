"""Profiles: how the observed variables are distributed in each state of each hidden variable."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from pgmpy_latent.model.emissions import Emission, emissions_of
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals


def profiles(tree: LatentTree) -> pd.DataFrame:
    """Return the share of every hidden state, and P(observed variable | hidden state) for all observed variables.

    Rows are pairs (variable, category), the first of them ``("share", "")``; columns are pairs (latent, state). Numeric
    columns have mean and standard deviation given the state, ``(variable, "mean")`` and ``(variable, "sd")``. Where
    truth values and numbers meet, truth values are written as text, as pandas cannot tell True from 1 in an index.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> profiles(tree)
    latent               H
    state                0    1
    variable category
    share               0.7  0.3
    x        a          0.9  0.2
             b          0.1  0.8
    """
    shares = marginals(tree)
    observed, hidden = np.flatnonzero(~tree.latent), np.flatnonzero(tree.latent)
    emissions = emissions_of(tree)
    n_rows = sum(2 if at in emissions else int(tree.cards[at]) for at in observed)
    blocks = [np.empty((1 + n_rows, 0))]
    for node in hidden:
        given = conditionals(tree, int(node))
        described = [_moments(emissions[at], given[at]) if at in emissions else given[at] for at in observed.tolist()]
        blocks.append(np.concatenate([shares[node][:, None], *described], axis=1).T)
    columns = [(tree.names[node], state) for node in hidden for state in tree.state_names[node]]
    return pd.DataFrame(
        np.concatenate(blocks, axis=1),
        index=pd.MultiIndex.from_tuples(_row_labels(tree, observed), names=["variable", "category"]),
        columns=pd.MultiIndex.from_tuples(columns, names=["latent", "state"]),
    )


def _moments(emission: Emission, features: np.ndarray) -> np.ndarray:
    """Return mean and standard deviation, by the expected features given every state: also those of mixtures."""
    found = emission.parameters(features)
    return np.stack([found.mean, np.sqrt(found.variance)], axis=1)


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


def _row_labels(tree: LatentTree, observed: np.ndarray) -> list[tuple[Hashable, Hashable]]:
    emissions = emissions_of(tree)
    labels = [
        (tree.names[at], state)
        for at in observed.tolist()
        for state in (("mean", "sd") if at in emissions else tree.state_names[at])
    ]
    kinds = {type(state) for _, state in labels}
    if bool in kinds and not kinds.isdisjoint({int, float}):
        labels = [(name, str(state) if isinstance(state, bool) else state) for name, state in labels]
    return [("share", ""), *labels]
