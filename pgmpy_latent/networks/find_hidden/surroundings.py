"""The part of a network around some nodes: a small network over few columns, in which a hidden variable is tried."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.model.labels import sort_key
from pgmpy_latent.model.network import LatentNetwork, child_lists
from pgmpy_latent.networks.graph import parents_by_name
from pgmpy_latent.tables.encode import CategoricalData


@dataclass(frozen=True)
class Surroundings:
    """Some nodes of a network with their families, as a network of their own.

    Whoever is only a parent of these nodes has no parents here. If no cell is missing, the score of the whole network
    and that of this one differ by a constant, whatever happens to the families of the nodes inside.

    Attributes
    ----------
    network : LatentNetwork
        The nodes and their parents. Nodes inside have the families and tables that they have in the whole network.
    data : CategoricalData
        The columns of these nodes; equal rows are one.
    inside : tuple of names
        Nodes whose families are those of the whole network.
    paths : dict
        Node that is not inside -> nodes here from which a directed path leads to it through nodes that are not inside.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> network = LatentNetwork("abc", [[0, 1]] * 3, [(), (0,), (1,)], [False] * 3,
    ...                         [[[0.5, 0.5]], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2])
    >>> data = encode(np.array([[0, 0, 0], [1, 0, 0]])).select([0, 1, 2])
    >>> data = CategoricalData("abc", data.state_names, data.codes, data.weights)
    >>> surroundings(network, data, [2]).network.names
    ('b', 'c')
    """

    network: LatentNetwork
    data: CategoricalData
    inside: tuple[Hashable, ...]
    paths: dict[Hashable, tuple[Hashable, ...]]


def surroundings(network: LatentNetwork, data: CategoricalData, nodes: Collection[int]) -> Surroundings:
    """Return the part of a network around some nodes.

    Hidden variables in the families of these nodes are inside too, and so are their children: what they say about each
    other depends on all of them.
    """
    inside = _with_hidden(network, nodes)
    kept = sorted({*inside, *(above for node in inside for above in network.parents[node])})
    place = {node: at for at, node in enumerate(kept)}
    seen = [node for node in kept if not network.latent[node]]
    part = data.select([network.names[node] for node in sorted(seen, key=lambda node: sort_key(network.names[node]))])
    parents, tables = [], []
    for node in kept:
        parents.append([place[above] for above in network.parents[node]] if node in inside else [])
        tables.append(network.tables[node] if node in inside else _shares(part, network, node))
    small = LatentNetwork(
        [network.names[node] for node in kept],
        [network.state_names[node] for node in kept],
        parents,
        network.latent[kept],
        tables,
    )
    paths = {network.names[node]: _paths(network, node, inside, place) for node in kept if node not in inside}
    names = tuple(network.names[node] for node in sorted(inside))
    return Surroundings(small, part, names, paths)


def _with_hidden(network: LatentNetwork, nodes: Collection[int]) -> set[int]:
    """Return the nodes and, if hidden variables are in their families, these with their children, and so on."""
    children = child_lists(network.parents)
    inside, waiting = set(nodes), list(nodes)
    while waiting:
        node = waiting.pop()
        linked = [other for other in (node, *network.parents[node]) if network.latent[other]]
        for new in {other for hidden in linked for other in (hidden, *children[hidden])} - inside:
            inside.add(new)
            waiting.append(new)
    return inside


def _shares(data: CategoricalData, network: LatentNetwork, node: int) -> np.ndarray:
    """Return the shares of the states of a column, as a table without parents."""
    codes = data.codes[:, data.columns.index(network.names[node])]
    known = codes >= 0
    counts = np.bincount(codes[known], data.weights[known], minlength=int(network.cards[node]))
    total = counts.sum()
    return (counts / total if total > 0 else np.full(len(counts), 1 / len(counts)))[None]


def _paths(network: LatentNetwork, node: int, inside: Collection[int], kept: Collection[int]) -> tuple[Hashable, ...]:
    """Return the kept nodes from which a path leads to a node whose other nodes are neither inside nor kept."""
    found, waiting, visited = set(), [node], {node}
    while waiting:
        for above in network.parents[waiting.pop()]:
            if above in visited:
                continue
            visited.add(above)
            if above in kept:
                found.add(above)
            else:
                waiting.append(above)
    return tuple(network.names[above] for above in sorted(found))


def put_back(network: LatentNetwork, around: Surroundings, changed: LatentNetwork) -> LatentNetwork:
    """Return the whole network with the families that the changed network of its surroundings has.

    Hidden variables that are new come first; all names are in order within their kind.
    """
    named = set(network.names)
    new = [name for name in changed.names if name not in named]
    latent = dict(zip(network.names, network.latent.tolist(), strict=True)) | dict.fromkeys(new, True)
    names = sorted(latent, key=lambda name: (not latent[name], sort_key(name)))
    families = {**_families(network, network.names), **_families(changed, [*new, *around.inside])}
    position = {name: at for at, name in enumerate(names)}
    states = dict(zip(network.names, network.state_names, strict=True))
    states |= dict(zip(changed.names, changed.state_names, strict=True))
    return LatentNetwork(
        names,
        [states[name] for name in names],
        [[position[above] for above in families[name][0]] for name in names],
        [latent[name] for name in names],
        [families[name][1] for name in names],
        network.missing,
    )


def _families(network: LatentNetwork, names: Sequence[Hashable]) -> dict[Hashable, tuple[tuple, np.ndarray]]:
    """Return the parents and the table of some nodes."""
    parents = parents_by_name(network)
    return {name: (parents[name], network.table(name)) for name in names}
