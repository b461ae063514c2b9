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
    try:
        return families_given(network, 0, -1)[1]
    except ComponentTooLargeError:
        return None


def families_given(network: LatentNetwork, node: int, state: int) -> tuple[float, list[np.ndarray]]:
    """Return ln P(state of a node), and the joint distribution of every node with its parents given that state.

    A state of -1 is none: nothing is given.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2,
    ...                         [[[0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> log, families = families_given(network, 1, 0)
    >>> round(float(np.exp(log)), 3), families[0].round(3).tolist(), families[1].round(3).tolist()
    (0.625, [0.4, 0.6], [[0.4, 0.0], [0.6, 0.0]])
    """
    row = CategoricalData([network.names[node]], [network.state_names[node]], [[state]], [1.0])
    engine = network_engine(network.names, network.parents, network.cards, row)
    log, counts = engine.expected_counts(engine.layout.pack(network.tables))
    cards = [int(card) for card in network.cards]
    return float(log), [
        np.asarray(count).reshape([cards[above] for above in network.parents[at]] + [cards[at]])
        for at, count in enumerate(engine.layout.unpack(counts))
    ]


def _conditional_entropy(joint: np.ndarray) -> float:
    """Return the entropy of the last axis given the others."""
    above = joint.sum(axis=-1, keepdims=True)
    share = np.divide(joint, above, out=np.ones_like(joint), where=joint > 0)
    return float(-(joint * np.log(share)).sum())
