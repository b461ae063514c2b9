"""Semi-cliques: sets of nodes that are densely linked, as the children of a hidden variable are once it is left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import networkx as nx


def skeleton(parents: Sequence[Sequence[int]], nodes: Sequence[int]) -> nx.Graph:
    """Return which of the nodes are linked, in either direction."""
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((above, node) for node, some in enumerate(parents) for above in some)
    return nx.Graph(graph.subgraph(nodes))


def is_semi_clique(graph: nx.Graph, nodes: set[int], share: float = 0.5) -> bool:
    """Tell whether every node is linked to at least a share, by default half, of the set.

    Examples
    --------
    >>> is_semi_clique(nx.cycle_graph(4), {0, 1, 2, 3})
    True
    >>> is_semi_clique(nx.cycle_graph(5), {0, 1, 2, 3, 4})
    False
    """
    return all(len(nodes.intersection(graph[node])) >= share * len(nodes) for node in nodes)


def semi_cliques(graph: nx.Graph, smallest: int = 3, share: float = 0.5) -> list[tuple[int, ...]]:
    """Return semi-cliques that cannot be made larger by one more node, the largest first.

    Each triangle, and each cycle of four nodes, grows by the node with the most links to it for as long as there is
    one; of nodes with equally many links, by the first.

    Examples
    --------
    >>> semi_cliques(nx.complete_graph(4))
    [(0, 1, 2, 3)]
    """
    cliques = set()
    for seed in _seeds(graph):
        if is_semi_clique(graph, set(seed), share):
            grown = _grown(graph, set(seed), share)
            if len(grown) >= smallest:
                cliques.add(tuple(sorted(grown)))
    return sorted(cliques, key=lambda nodes: (-len(nodes), nodes))


def _seeds(graph: nx.Graph) -> list[tuple[int, ...]]:
    seeds: list[tuple[int, ...]] = []
    for node in sorted(graph):
        for left, right in combinations(sorted(graph[node]), 2):
            if graph.has_edge(left, right):
                if node < left:
                    seeds.append((node, left, right))
                continue
            seeds += [
                (node, left, right, other) for other in sorted(set(graph[left]) & set(graph[right])) if other > node
            ]
    return seeds


def _grown(graph: nx.Graph, nodes: set[int], share: float) -> set[int]:
    while True:
        around = sorted({other for node in nodes for other in graph[node]} - nodes)
        links = {other: len(nodes.intersection(graph[other])) for other in around}
        possible = [other for other in around if is_semi_clique(graph, nodes | {other}, share)]
        if not possible:
            return nodes
        nodes = nodes | {max(possible, key=lambda other: (links[other], -other))}
