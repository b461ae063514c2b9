"""Pure functions that turn one forest into another: what searches try.

Each returns a forest with correlations from which EM can begin. Nodes keep their numbers; new ones come last. A node
that is no longer needed stays behind without neighbours, until :func:`pgmpy_latent.gaussian.forest.tidy` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.gaussian.forest import Forest

#: Where the correlation of a new edge between a hidden node and what it was made of begins, and the largest one.
CLOSE, CLOSEST = 0.9, 0.97
#: Smallest size of a correlation where EM begins.
LEAST = 0.05


def _edges(forest: Forest) -> dict[tuple[int, int], float]:
    return {
        (left, right): value
        for (left, right), value in zip(forest.ends.tolist(), forest.correlation.tolist(), strict=True)
    }


def _without(edges: dict[tuple[int, int], float], left: int, right: int) -> float:
    """Remove an edge, and return its correlation."""
    return edges.pop((left, right)) if (left, right) in edges else edges.pop((right, left))


def _modest(value: float) -> float:
    """Return a correlation from which EM can begin."""
    size = float(np.clip(abs(value), LEAST, CLOSEST))
    return -size if value < 0 else size


def contracted(forest: Forest, gone: int, kept: int) -> Forest:
    """Return a forest in which a hidden node is one with its neighbour, whose neighbours then are those of both.

    Examples
    --------
    >>> contracted(Forest(3, 4, [[3, 0], [3, 1], [3, 2]], [0.9, 0.5, 0.5]), 3, 0).neighbours[0]
    {1: 0.45, 2: 0.45}
    """
    edges = _edges(forest)
    between = _without(edges, gone, kept)
    for other, value in forest.neighbours[gone].items():
        if other != kept:
            _without(edges, gone, other)
            edges[other, kept] = value * between
    return Forest.of_edges(forest.n_columns, forest.n_nodes, edges)


def relocated(forest: Forest, moved: int, old: int, new: int) -> Forest:
    """Return a forest in which a node, with what is behind it, hangs on a neighbour of its old neighbour.

    Examples
    --------
    >>> relocated(Forest(3, 3, [[0, 1], [1, 2]], [0.5, 0.5]), 2, 1, 0).neighbours[0]
    {1: 0.5, 2: 0.25}
    """
    edges = _edges(forest)
    value = _without(edges, moved, old)
    edges[moved, new] = _modest(value * forest.neighbours[old].get(new, 1.0))
    return Forest.of_edges(forest.n_columns, forest.n_nodes, edges)


def grouped(forest: Forest, hub: int, members: Iterable[int]) -> Forest:
    """Return a forest in which some neighbours of a node hang on a new hidden node beside it.

    Examples
    --------
    >>> star = Forest(4, 5, [[4, 0], [4, 1], [4, 2], [4, 3]], [0.45, 0.45, 0.5, 0.5])
    >>> grouped(star, 4, [0, 1]).neighbours[5]
    {0: 0.5, 1: 0.5, 4: 0.9}
    """
    edges, new = _edges(forest), forest.n_nodes
    for member in members:
        edges[member, new] = _modest(_without(edges, member, hub) / CLOSE)
    edges[hub, new] = CLOSE
    return Forest.of_edges(forest.n_columns, forest.n_nodes + 1, edges)


def cut(forest: Forest, left: int, right: int) -> Forest:
    """Return a forest without an edge.

    Examples
    --------
    >>> cut(Forest(2, 2, [[0, 1]], [0.5]), 0, 1).neighbours
    ({}, {})
    """
    edges = _edges(forest)
    _without(edges, left, right)
    return Forest.of_edges(forest.n_columns, forest.n_nodes, edges)


@dataclass(frozen=True)
class Edit:
    """An edit and the nodes that it is applied to.

    Attributes
    ----------
    operator : str
        One of :data:`OPERATORS`.
    nodes : tuple of int
        Its arguments.
    """

    operator: str
    nodes: tuple[int, ...]

    def applied(self, forest: Forest) -> Forest:
        """Return the edited forest."""
        return OPERATORS[self.operator](forest, *self.nodes)

    def renumbered(self, places: dict[int, int]) -> Edit:
        """Return the same edit with other numbers of its nodes."""
        return Edit(self.operator, tuple(places[node] for node in self.nodes))


#: The edits of a search by name; each takes a forest and nodes.
OPERATORS: dict[str, Callable[..., Forest]] = {
    "contract": contracted,
    "relocate": relocated,
    "group": lambda forest, hub, *members: grouped(forest, hub, members),
    "cut": cut,
}
