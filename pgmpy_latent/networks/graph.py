"""Networks that users give, of whatever kind, and the form in which learners want them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from pgmpy_latent.exceptions import DataError, InvalidTreeError, StateNameError
from pgmpy_latent.model.convert import network_from_pgmpy
from pgmpy_latent.model.labels import sort_key
from pgmpy_latent.model.network import LatentNetwork, as_network, part_of, table_in_order, topological_order
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.tables.encode import CategoricalData


@dataclass(frozen=True)
class Graph:
    """A network without tables, or with some.

    Attributes
    ----------
    parents : dict
        Node -> its parents.
    latents : tuple
        Hidden nodes, in the network's order.
    model : LatentNetwork or None
        The whole model, if the network has tables.
    """

    parents: dict[Hashable, tuple[Hashable, ...]]
    latents: tuple[Hashable, ...]
    model: LatentNetwork | None = None

    @property
    def edges(self) -> list[tuple[Hashable, Hashable]]:
        """Pairs (parent, child)."""
        return [(above, name) for name, some in self.parents.items() for above in some]


def graph_of(network, called: str = "network") -> Graph:
    """Return the graph of a pgmpy network or DAG, a LatentTree or LatentNetwork, or a fitted learner.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> graph_of(DAG([("H", "x"), ("H", "y")], latents={"H"})).latents
    ('H',)
    """
    for name in ("network_", "tree_", "causal_graph_"):
        if hasattr(network, name):
            network = getattr(network, name)
            break
    if hasattr(network, "undirected_edges"):  # what pgmpy's learners return where the data leave directions open
        network = network.to_dag()
    if isinstance(network, (LatentTree, LatentNetwork)):
        model = as_network(network)
        return Graph(parents_by_name(model), model.latent_names, model)
    if not isinstance(network, nx.DiGraph) or not hasattr(network, "latents"):
        unfitted = " that is not fitted" if hasattr(network, "fit") else ""
        raise TypeError(
            f"{called} is {kind_in_words(network)}{unfitted}; give a pgmpy network or DAG, a LatentTree, a "
            "LatentNetwork or a fitted learner"
        )
    names = list(network.nodes)
    parents = {name: tuple(network.predecessors(name)) for name in names}
    position = {name: at for at, name in enumerate(names)}
    topological_order([[position[above] for above in parents[name]] for name in names], names)  # refuses cycles
    tables: LatentNetwork | None = None
    cpds = getattr(network, "cpds", [])
    if cpds and {cpd.variable for cpd in cpds} == set(names):
        tables = network_from_pgmpy(network)
        parents = parents_by_name(tables)  # in the order of the CPDs
    return Graph(parents, tuple(name for name in names if name in set(network.latents)), tables)


def parents_by_name(model: LatentNetwork) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return node -> its parents."""
    return {
        name: tuple(model.names[above] for above in some) for name, some in zip(model.names, model.parents, strict=True)
    }


def check_columns(
    graph: Graph, columns: Sequence[Hashable], called: str = "the network", all_columns: bool = True
) -> None:
    """Raise unless the observed nodes are columns and the hidden ones are not."""
    hidden, known = set(graph.latents), set(columns)
    both = [name for name in graph.latents if name in known]
    if both:
        raise DataError(f"{called} hides {both}, which are columns of the data; drop the columns, or rename the nodes")
    absent = [name for name in graph.parents if name not in hidden and name not in known]
    if absent:
        raise DataError(
            f"{called} has nodes that are not columns of the data: {absent}. Add the columns, or declare the nodes "
            "hidden: network.latents = {...}."
        )
    left = [name for name in columns if name not in graph.parents]
    if left and all_columns:
        raise DataError(f"{called} lacks the columns {left}; add them as nodes, or leave them out of the table")


def nodes_in_order(graph: Graph, data: CategoricalData) -> tuple[list[Hashable], list[tuple[int, ...]]]:
    """Return all nodes, hidden ones first and each kind in the order of names, and their parents, sorted.

    So nothing that is learned depends on the order of columns, nodes or edges.
    """
    names = [*sorted(graph.latents, key=sort_key), *sorted(data.columns, key=sort_key)]
    position = {name: at for at, name in enumerate(names)}
    parents = [tuple(sorted(position[above] for above in graph.parents.get(name, ()))) for name in names]
    return names, parents


def latent_cards(graph: Graph, n_states: Mapping | int | None) -> dict[Hashable, int]:
    """Return the number of states of every hidden node: that of ``n_states``, that of its table, or 2.

    Examples
    --------
    >>> latent_cards(Graph({"H": (), "x": ("H",)}, ("H",)), {"H": 3})
    {'H': 3}
    """
    if isinstance(n_states, Mapping):
        strangers = [name for name in n_states if name not in graph.latents]
        if strangers:
            raise StateNameError(f"n_states names {strangers}; the hidden nodes are {list(graph.latents)}")
    cards = {}
    for name in graph.latents:
        card = n_states.get(name) if isinstance(n_states, Mapping) else n_states
        if card is None:
            card = 2 if graph.model is None else int(graph.model.cards[graph.model.index(name)])
        if not isinstance(card, (int, np.integer)) or isinstance(card, bool) or card < 1:
            raise StateNameError(f"n_states of {name!r} is {card!r}; give a whole number of at least 1")
        cards[name] = int(card)
    return cards


def rearranged(network: LatentNetwork, names: Sequence[Hashable]) -> LatentNetwork:
    """Return the same network with its nodes in another order.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    >>> rearranged(network, ["y", "x"]).parents
    ((1,), ())
    """
    order = [network.index(name) for name in names]
    if sorted(order) != list(range(network.n_nodes)):
        raise InvalidTreeError("a new order must name every node once")
    return part_of(network, order)


def renamed(network: LatentNetwork, names: Mapping[Hashable, Hashable]) -> LatentNetwork:
    """Return the same network with other names of some nodes.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    >>> renamed(network, {"y": "z"}).edges
    [('x', 'z')]
    """
    return LatentNetwork(
        [names.get(name, name) for name in network.names],
        network.state_names,
        network.parents,
        network.latent,
        network.tables,
        network.missing,
    )


def tables_in_order(
    model: LatentNetwork, names: Sequence[Hashable], parents: Sequence[Sequence[int]]
) -> list[np.ndarray]:
    """Return the tables of a model for nodes, and parents of each node, in another order."""
    tables = []
    for name, above in zip(names, parents, strict=True):
        node = model.index(name)
        table = table_in_order(model, node, [model.index(names[parent]) for parent in above])
        tables.append(table.reshape(model.tables[node].shape))
    return tables


def connected(network: LatentNetwork) -> LatentNetwork:
    """Return the network without hidden nodes that have no neighbours, and so say nothing.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), ()], [True, False], [[[0.5, 0.5]]] * 2)
    >>> connected(network).names
    ('x',)
    """
    linked = {node for above, node in network.edges} | {above for above, node in network.edges}
    return part_of(network, [at for at, name in enumerate(network.names) if name in linked or not network.latent[at]])
