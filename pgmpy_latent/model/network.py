"""A network over observed and hidden categorical variables, of any shape, with its probability tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from pgmpy_latent.exceptions import InvalidTreeError, NotATreeError
from pgmpy_latent.model.tree import (
    DiscreteModel,
    LatentTree,
    MissingCodesLike,
    check_nodes,
    check_table,
    same_codes,
    same_types,
)


def topological_order(parents: Sequence[Sequence[int]], names: Sequence[Hashable] | None = None) -> list[int]:
    """Return the nodes so that parents precede their children; in a forest as ``parents_first``.

    Raises
    ------
    InvalidTreeError
        If the parents form a cycle; it is named.

    Examples
    --------
    >>> topological_order([(1, 2), (2,), ()])
    [2, 1, 0]
    """
    children, left = child_lists(parents), [len(above) for above in parents]
    order = [node for node, n_above in enumerate(left) if not n_above]
    for node in order:  # the list grows while it is walked: breadth first
        for child in children[node]:
            left[child] -= 1
            if not left[child]:
                order.append(child)
    if len(order) < len(parents):
        circle = [node if names is None else names[node] for node in _circle(parents)]
        raise InvalidTreeError(f"the edges {' -> '.join(map(repr, circle))} form a cycle; remove one of them")
    return order


def _circle(parents: Sequence[Sequence[int]]) -> list[int]:
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError as error:
        return error.args[1]
    raise AssertionError("there is no cycle")


def child_lists(parents: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the children of every node, in node order.

    Examples
    --------
    >>> child_lists([(1, 2), (2,), ()])
    [[], [0], [0, 1]]
    """
    children: list[list[int]] = list(map(list, [()] * len(parents)))
    for node, above in enumerate(parents):
        for parent in above:
            children[parent].append(node)
    return children


def blanket(parents: Sequence[Sequence[int]], node: int) -> list[int]:
    """Return the Markov blanket of a node: its parents, its children, and their other parents; in node order.

    Examples
    --------
    >>> blanket([(), (0, 2), (), (1,)], 0)
    [1, 2]
    """
    below = child_lists(parents)[node]
    return sorted({*parents[node], *below, *(other for child in below for other in parents[child])} - {node})


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LatentNetwork(DiscreteModel):
    """A discrete Bayesian network, immutable: what :class:`LatentTree` is for forests.

    The joint distribution is the product of ``tables[node][states of the parents, state]`` over the nodes. Every
    instance has passed :func:`check`.

    Parameters
    ----------
    names : sequence of hashable
        Names of the nodes; they fix the order of everything else.
    state_names : sequence of sequences
        The states of each node.
    parents : sequence of sequences of int
        Indices of each node's parents.
    latent : array of bool, shape (n_nodes,)
        Which nodes are hidden.
    tables : sequence of arrays, shape (combinations of the parents' states, states)
        Conditional probabilities; every row sums to one. The last parent runs fastest.
    missing : dict of column to values, or pairs of them, optional
        Values of observed nodes that count as missing cells; as of :class:`LatentTree`.

    Examples
    --------
    >>> network = LatentNetwork(
    ...     names=["rain", "sprinkler", "wet"],
    ...     state_names=[["no", "yes"]] * 3,
    ...     parents=[(), (), (0, 1)],
    ...     latent=[False, True, False],
    ...     tables=[[[0.8, 0.2]], [[0.5, 0.5]], [[1.0, 0.0], [0.2, 0.8], [0.1, 0.9], [0.0, 1.0]]],
    ... )
    >>> network
    LatentNetwork(3 nodes, 1 latent, 2 edges, 6 parameters)
    """

    parents: tuple[tuple[int, ...], ...]

    def __init__(
        self,
        names: Iterable[Hashable],
        state_names: Iterable[Iterable[Hashable]],
        parents: Iterable[Iterable[int]],
        latent: ArrayLike,
        tables: Iterable[ArrayLike],
        missing: MissingCodesLike = (),
    ) -> None:
        self._set_fields(names, state_names, latent, tables, missing)
        object.__setattr__(self, "parents", tuple(tuple(int(node) for node in above) for above in parents))
        check(self)

    @cached_property
    def order(self) -> list[int]:
        """Node indices, parents before children."""
        return topological_order(self.parents)

    @property
    def edges(self) -> list[tuple[Hashable, Hashable]]:
        """Pairs (parent, child) of names, by child."""
        return [(self.names[above], self.names[node]) for node, some in enumerate(self.parents) for above in some]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatentNetwork):
            return NotImplemented
        return (
            (self.names, self.state_names, self.parents) == (other.names, other.state_names, other.parents)
            and same_types(self.state_names, other.state_names)
            and np.array_equal(self.latent, other.latent)
            and all(np.array_equal(a, b) for a, b in zip(self.tables, other.tables, strict=True))
            and same_codes(self.missing, other.missing)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.state_names, self.parents, self.latent.tobytes()))

    def __repr__(self) -> str:
        return (
            f"LatentNetwork({self.n_nodes} nodes, {int(self.latent.sum())} latent, {len(self.edges)} edges, "
            f"{self.n_parameters} parameters)"
        )

    def __reduce__(self):  # copies and pickles are built anew, so that their arrays are read-only too
        return LatentNetwork, (self.names, self.state_names, self.parents, self.latent, self.tables, self.missing)

    def __deepcopy__(self, memo) -> LatentNetwork:
        return self  # immutable


def check(network: LatentNetwork) -> None:
    """Raise unless every invariant of a :class:`LatentNetwork` holds; they are those of a tree, but for the parents.

    Raises
    ------
    InvalidTreeError
        Naming the node and what is wrong with it.

    Examples
    --------
    >>> LatentNetwork(["x", "y"], [[0, 1]] * 2, [(1,), (0,)], [False] * 2, [[[0.5, 0.5]] * 2] * 2)
    Traceback (most recent call last):
    pgmpy_latent.exceptions.InvalidTreeError: the edges 'x' -> 'y' -> 'x' form a cycle; remove one of them
    """
    check_nodes(network, "parents")
    for node, above in enumerate(network.parents):
        if len(set(above)) < len(above) or not all(0 <= parent < len(network.names) for parent in above):
            raise InvalidTreeError(f"node {network.names[node]!r} has the parents {list(above)}; give each node once")
    topological_order(network.parents, network.names)
    cards = [len(states) for states in network.state_names]
    for node, table in enumerate(network.tables):
        rows = prod(cards[parent] for parent in network.parents[node])
        check_table(network.names[node], table, (rows, cards[node]))


def by_state(model: DiscreteModel, child: int, parent: int) -> np.ndarray:
    """Return a copy of a child's table with the states of one parent as its first axis.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y", "z"], [[0, 1]] * 3, [(), (), (0, 1)], [False] * 3,
    ...                         [[[0.5, 0.5]], [[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]])
    >>> by_state(network, 2, 1)[0].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    above = model.parents[child]
    table = model.tables[child].reshape(*model.cards[list(above)], -1)
    return np.moveaxis(table, above.index(parent), 0).copy()


def from_state_first(network: LatentNetwork, child: int, parent: int, table: np.ndarray) -> np.ndarray:
    """Return the table that :func:`by_state` was made from."""
    table = np.moveaxis(table, 0, network.parents[child].index(parent))
    return table.reshape(-1, table.shape[-1])


def reordered(network: LatentNetwork, orders: Mapping[int, np.ndarray | Sequence[int]]) -> LatentNetwork:
    """Return the same distribution with the states of hidden nodes in another order; their names stay in place.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> reordered(network, {0: [1, 0]}).table("x").tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    return network.with_tables(reordered_tables(network.tables, network.parents, orders))


def reordered_tables(
    tables: Sequence[np.ndarray],
    parents: Sequence[Sequence[int]],
    orders: Mapping[int, np.ndarray | Sequence[int]],
) -> list[np.ndarray]:
    """Return tables with the states of some nodes in another order, also in the tables of their children.

    Examples
    --------
    >>> reordered_tables([np.array([[0.2, 0.8]]), np.eye(2)], [(), (0,)], {0: [1, 0]})[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    cards = [table.shape[1] for table in tables]
    result = []
    for node, table in enumerate(tables):
        family = (*parents[node], node)
        by_member = table.reshape([cards[member] for member in family])
        for axis, member in enumerate(family):
            if member in orders:
                by_member = np.take(by_member, orders[member], axis=axis)
        result.append(by_member.reshape(table.shape))
    return result


def part_of(network: LatentNetwork, nodes: Sequence[int]) -> LatentNetwork:
    """Return the network of some nodes, in this order; parents of these must be among them.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    >>> part_of(network, [0]).names
    ('x',)
    """
    place = {node: at for at, node in enumerate(nodes)}
    kept = [network.names[node] for node in nodes]
    return LatentNetwork(
        kept,
        [network.state_names[node] for node in nodes],
        [[place[above] for above in network.parents[node]] for node in nodes],
        network.latent[list(nodes)],
        [network.tables[node] for node in nodes],
        [(name, codes) for name, codes in network.missing if name in kept],
    )


def table_in_order(network: LatentNetwork, node: int, parents: Sequence[int]) -> np.ndarray:
    """Return a node's table with an axis for each parent, in the given order, and the last for the node.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y", "z"], [[0, 1]] * 3, [(), (), (0, 1)], [False] * 3,
    ...                         [[[0.5, 0.5]], [[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]]])
    >>> table_in_order(network, 2, [1, 0])[0].tolist()
    [[1.0, 0.0], [0.2, 0.8]]
    """
    order = network.parents[node]
    table = network.tables[node].reshape(*network.cards[list(order)], -1)
    return table.transpose([*(order.index(above) for above in parents), len(order)])


def as_network(model: LatentTree | LatentNetwork) -> LatentNetwork:
    """Return a tree as a network; a network as it is.

    Examples
    --------
    >>> as_network(LatentTree(["H", "x"], [[0], [0, 1]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5]]])).parents
    ((), (0,))
    """
    if isinstance(model, LatentNetwork):
        return model
    return LatentNetwork(model.names, model.state_names, model.parents, model.latent, model.tables, model.missing)


def as_tree(network: LatentNetwork) -> LatentTree:
    """Return a network in which no node has several parents as a tree.

    Raises
    ------
    NotATreeError
        Naming the node and its parents.

    Examples
    --------
    >>> as_tree(LatentNetwork(["H", "x"], [[0], [0, 1]], [(), (0,)], [True, False], [[[1.0]], [[0.5, 0.5]]]))
    LatentTree(2 nodes, 1 latent, 1 parameters)
    """
    for name, above in zip(network.names, network.parents, strict=True):
        check_one_parent(name, [network.names[parent] for parent in above])
    parent = [above[0] if above else -1 for above in network.parents]
    return LatentTree(network.names, network.state_names, parent, network.latent, network.tables, network.missing)


def check_one_parent(name: Hashable, parents: Sequence[Hashable]) -> None:
    """Raise NotATreeError if a node has several parents.

    Examples
    --------
    >>> check_one_parent("x", ["y", "z"])
    Traceback (most recent call last):
    pgmpy_latent.exceptions.NotATreeError: node 'x' has parents 'y' and 'z'; a forest allows at most one...
    """
    if len(parents) > 1:
        listed = ", ".join(repr(parent) for parent in parents[:-1])
        raise NotATreeError(
            f"node {name!r} has parents {listed} and {parents[-1]!r}; a forest allows at most one. "
            "Remove all but one of the edges into it, or use NetworkEM and its relatives, which allow several."
        )
