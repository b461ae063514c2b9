"""States of hidden variables in networks of any shape: another order, one more, one less.

For a hidden variable with parents as well as children, as the last chapter of Karčiauskas' thesis proposes it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations

import numpy as np

from pgmpy_latent.exceptions import UnsplittableStateError
from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.model.network import LatentNetwork, by_state, child_lists, from_state_first

#: Number of pairs of states, the most similar first, whose merging is tried.
MERGES = 3


def marginal(network: LatentNetwork, nodes: Sequence[int]) -> np.ndarray:
    """Return the joint distribution of some nodes, an axis for each.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> marginal(network, [1])
    array([0.75, 0.25])
    """
    above = sorted(_ancestors(network.parents, nodes))
    place = {node: at for at, node in enumerate(above)}
    parents = [tuple(place[parent] for parent in network.parents[node]) for node in above]
    engine = NetworkEngine(
        parents, network.cards[above], np.full((1, len(above)), -1), names=[network.names[node] for node in above]
    )
    tables = engine.layout.pack([network.tables[node] for node in above])
    product = np.ones(1)
    order: list[int] = []
    for component in engine.components:  # those in different components are independent
        inside = [node for node in nodes if place[node] in component.variables]
        if inside:
            joint = engine.joint(component, tables, [place[node] for node in inside])[0]
            product, order = np.multiply.outer(product, joint), [*order, *inside]
    product = product.reshape([int(network.cards[node]) for node in order])
    return product.transpose([order.index(node) for node in nodes])


def _ancestors(parents: Sequence[Sequence[int]], nodes: Sequence[int]) -> set[int]:
    ancestors, waiting = set(nodes), list(nodes)
    while waiting:
        for above in parents[waiting.pop()]:
            if above not in ancestors:
                ancestors.add(above)
                waiting.append(above)
    return ancestors


def split_state(
    network: LatentNetwork, node: Hashable, state: int, rng: np.random.Generator, size: float = 0.5
) -> LatentNetwork:
    """Split a state of a hidden variable into two halves that differ a little, in opposite directions.

    Each half is as likely as the other. The tables of the children move by ``+δ`` for one half and ``-δ`` for the
    other. The probabilities of the halves given the parents move likewise: ``P(half | a)`` is
    ``P(state | a) / 2 + ε_a`` for one half and ``P(state | a) / 2 - ε_a`` for the other, with
    ``ε_a = P(state) δ_a / (2 P(a))``, where the ``δ_a`` of all parent states sum to zero. Reversing an edge would turn
    a child's ``δ`` into these, so equivalent networks split alike. Merging the halves gives the network back; with
    ``size=0`` the distribution is the same.

    Parameters
    ----------
    network : LatentNetwork
        The model.
    node : hashable
        Name of the hidden variable.
    state : int
        Position of the state; the halves are there and at the end.
    rng : numpy.random.Generator
        Draws the directions.
    size : float
        How far to go, from 0 (not at all) to 1 (as far as probabilities allow).

    Returns
    -------
    LatentNetwork
        The states of the node are numbered.

    Raises
    ------
    UnsplittableStateError
        If the state has no probability, or no neighbour leaves it a direction.

    Examples
    --------
    >>> network = LatentNetwork(["A", "H", "B"], [[0, 1]] * 3, [(), (0,), (1,)], [False, True, False],
    ...                         [[[0.5, 0.5]], [[0.6, 0.4], [0.4, 0.6]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> new = split_state(network, "H", 0, np.random.default_rng(0))
    >>> merge_states(new, "H", (0, 2)).table("B").round(6).tolist()
    [[0.9, 0.1], [0.3, 0.7]]
    """
    at = network.index(node)
    share = float(marginal(network, [at])[state])
    if share <= 0:
        raise UnsplittableStateError(f"state {state} of {node!r} has probability zero; split another one")
    tables = list(network.tables)
    moved = False
    for child in child_lists(network.parents)[at]:
        table = by_state(network, child, at)
        shift = np.stack([_direction(row, rng, size) for row in table[state].reshape(-1, table.shape[-1])])
        shift = shift.reshape(table[state].shape)
        moved |= bool(shift.any())
        halves = np.concatenate([table, (table[state] - shift)[None]])
        halves[state] = table[state] + shift
        tables[child] = np.clip(from_state_first(network, child, at, halves), 0.0, None)
    table_of_node = network.tables[at]
    shift = np.zeros(len(table_of_node))
    if network.parents[at]:
        parents = marginal(network, network.parents[at]).ravel()
        share_of_parents = parents * table_of_node[:, state] / share  # P(a | state)
        delta = _direction(share_of_parents, rng, size)
        shift = np.divide(share * delta, 2 * parents, out=np.zeros(len(table_of_node)), where=parents > 0)
        moved |= bool(shift.any())
    if size > 0 and not moved:
        raise UnsplittableStateError(f"state {state} of {node!r} is certain of all its neighbours; split another one")
    halves = np.concatenate([table_of_node, (table_of_node[:, state] / 2 - shift)[:, None]], axis=1)
    halves[:, state] = table_of_node[:, state] / 2 + shift
    tables[at] = np.clip(halves, 0.0, None)
    return _resized(network, at, table_of_node.shape[1] + 1, tables)


def merge_states(network: LatentNetwork, node: Hashable, states: tuple[int, int]) -> LatentNetwork:
    """Merge two states of a hidden variable: their probabilities add up, their children's tables are averaged.

    The averages are weighted by the probabilities of the states; the distribution of the node's parents, and of
    everything else above it, stays as it is.

    Parameters
    ----------
    network : LatentNetwork
        The model.
    node : hashable
        Name of the hidden variable.
    states : pair of int
        Positions of the states; the merged one is at the lower.

    Returns
    -------
    LatentNetwork
        The states of the node are numbered.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> merge_states(network, "H", (0, 1)).table("x").tolist()
    [[0.75, 0.25]]
    """
    at = network.index(node)
    first, second = sorted(states)
    shares = marginal(network, [at])[[first, second]]
    weights = shares / shares.sum() if shares.sum() > 0 else np.full(2, 0.5)
    tables = list(network.tables)
    for child in child_lists(network.parents)[at]:
        table = by_state(network, child, at)
        table[first] = weights[0] * table[first] + weights[1] * table[second]
        tables[child] = from_state_first(network, child, at, np.delete(table, second, axis=0))
    merged = network.tables[at].copy()
    merged[:, first] += merged[:, second]
    tables[at] = np.delete(merged, second, axis=1)
    return _resized(network, at, merged.shape[1] - 1, tables)


def distance(network: LatentNetwork, node: int, left: int, right: int) -> float:
    """Return the mean distance of the probability tables of a node's children between two of its states.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> distance(network, 0, 0, 1)
    1.0
    """
    tables = [by_state(network, child, node) for child in child_lists(network.parents)[node]]
    apart = [np.abs(table[left] - table[right]).sum(axis=-1).mean() for table in tables]
    table_of_node = network.tables[node]
    apart.append(np.abs(table_of_node[:, left] - table_of_node[:, right]).mean() if network.parents[node] else 0.0)
    return float(sum(apart))


def with_a_state_less(network: LatentNetwork, hidden: Hashable) -> Iterator[LatentNetwork]:
    """Return the network with two states of a hidden variable merged, for each of the most similar pairs.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> [other.table("x").round(2).tolist() for other in with_a_state_less(network, "H")]
    [[[0.6, 0.4]]]
    """
    node = network.index(hidden)
    pairs = sorted(combinations(range(int(network.cards[node])), 2), key=lambda pair: distance(network, node, *pair))
    yield from (merge_states(network, hidden, pair) for pair in pairs[:MERGES])


def with_a_state_more(network: LatentNetwork, hidden: Hashable, rng: np.random.Generator) -> Iterator[LatentNetwork]:
    """Return the network with a state of a hidden variable split, for each state that can be.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> [other.cards.tolist() for other in with_a_state_more(network, "H", np.random.default_rng(0))]
    [[3, 2]]
    """
    for state in range(int(network.cards[network.index(hidden)])):
        with suppress(UnsplittableStateError):
            yield split_state(network, hidden, state, rng)


def _direction(row: np.ndarray, rng: np.random.Generator, size: float) -> np.ndarray:
    """Draw a change of a distribution that adds up to nothing and may be added and subtracted; zeros stay zeros."""
    drawn = row * rng.standard_normal(len(row))
    drawn -= row * drawn.sum()
    reach = np.abs(np.divide(drawn, row, out=np.zeros_like(row), where=row > 0)).max(initial=0.0)
    return np.zeros_like(row) if reach < 1e-12 else drawn * (size / reach)


def _resized(network: LatentNetwork, node: int, n_states: int, tables: Sequence[np.ndarray]) -> LatentNetwork:
    states = [tuple(range(n_states)) if at == node else names for at, names in enumerate(network.state_names)]
    return LatentNetwork(network.names, states, network.parents, network.latent, tables, network.missing)
