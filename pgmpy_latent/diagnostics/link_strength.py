"""How strong the edges of a network are: what a parent says about its child beyond the other parents."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.inference.queries import network_engine
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.tables.encode import CategoricalData


def link_strength(network: LatentNetwork) -> list[list[float]] | None:
    """Return the mutual information of every node with each of its parents, given the other parents, in nats.

    It is that of the model's own distribution, without any data. None if the probabilities of families cannot be
    computed, because too many nodes depend on each other.

    Examples
    --------
    An exclusive or: each parent alone says nothing, and everything once the other is known.

    >>> network = LatentNetwork(["x", "y", "z"], [[0, 1]] * 3, [(), (), (0, 1)], [False] * 3,
    ...                         [[[0.5, 0.5]], [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]])
    >>> [[round(value, 4) for value in above] for above in link_strength(network)]
    [[], [], [0.6931, 0.6931]]
    """
    families = family_probabilities(network)
    if families is None:
        return None
    found = []
    for joint in families:
        every = range(joint.ndim - 1)
        given_all = _conditional_entropy(joint)
        found.append([max(_conditional_entropy(joint.sum(axis=at)) - given_all, 0.0) for at in every])
    return found


def family_probabilities(network: LatentNetwork) -> list[np.ndarray] | None:
    """Return the joint distribution of every node with its parents: an axis per parent, the last for the node.

    None if they cannot be computed, because too many nodes depend on each other.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2,
    ...                         [[[0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> family_probabilities(network)[1].tolist()
    [[0.25, 0.0], [0.375, 0.375]]
    """
    first = network.names[0]
    nothing = CategoricalData([first], [network.state_names[0]], [[-1]], [1.0])
    try:
        engine = network_engine(network.names, network.parents, network.cards, nothing)
        _, counts = engine.expected_counts(engine.layout.pack(network.tables))
    except ComponentTooLargeError:
        return None
    cards = [int(card) for card in network.cards]
    return [
        np.asarray(count).reshape([cards[above] for above in network.parents[node]] + [cards[node]])
        for node, count in enumerate(engine.layout.unpack(counts))
    ]


def _conditional_entropy(joint: np.ndarray) -> float:
    """Return the entropy of the last axis given the others."""
    above = joint.sum(axis=-1, keepdims=True)
    share = np.divide(joint, above, out=np.ones_like(joint), where=joint > 0)
    return float(-(joint * np.log(share)).sum())
