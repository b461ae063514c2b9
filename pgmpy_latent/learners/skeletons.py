"""Which variables are hidden, and who is whose parent: skeletons given as trees, networks or graphs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import count

import networkx as nx
import numpy as np

from pgmpy_latent.exceptions import NotATreeError, SkeletonError
from pgmpy_latent.model.convert import from_pgmpy
from pgmpy_latent.model.emissions import emission_of_states
from pgmpy_latent.model.network import LatentNetwork, as_tree, check_one_parent
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.sparse import SparseRows


def fresh_latent_name(columns, wanted: str = "H") -> str:
    """Return a name for a hidden variable that no column has: the wanted one, or with a number behind it.

    Examples
    --------
    >>> fresh_latent_name(["H", "x", "H_1"])
    'H_2'
    """
    column_names = set(columns)
    names = (wanted if number == 0 else f"{wanted}_{number}" for number in count())
    return next(name for name in names if name not in column_names)


def numbered_latent_names(columns, n: int) -> list[str]:
    """Return names for ``n`` hidden variables that no column has: H1, H2 and so on.

    Examples
    --------
    >>> numbered_latent_names(["H1", "x"], 2)
    ['H_1', 'H_2']
    """
    column_names, stem = set(columns), "H"
    while not column_names.isdisjoint(names := [f"{stem}{number}" for number in range(1, n + 1)]):
        stem += "_"
    return names


def grown_tree(
    data: CategoricalData | SparseRows, parents: Sequence[int], tables: Sequence[np.ndarray], names: Sequence[Hashable]
) -> LatentTree:
    """Return a forest that was grown above the columns of a table.

    Parameters
    ----------
    data : CategoricalData
        The table.
    parents : sequence of int
        Parent of each node, -1 for roots: columns first, then hidden nodes as they came.
    tables : sequence of arrays
        In the same order.
    names : sequence of hashable
        Of the hidden nodes.

    Returns
    -------
    LatentTree
        Hidden nodes before the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> data = encode(pd.DataFrame({"x": ["a", "b"]}))
    >>> grown_tree(data, [1, -1], [np.eye(2), np.array([[0.5, 0.5]])], ["H1"]).names
    ('H1', 'x')
    """
    n_columns = len(data.columns)
    order = [*range(n_columns, len(parents)), *range(n_columns)]
    position = {node: at for at, node in enumerate(order)}
    position[-1] = -1
    states = [*(tuple(range(tables[node].shape[1])) for node in order[: len(names)]), *data.state_names]
    return LatentTree(
        names=[*names, *data.columns],
        state_names=states,
        parent=[position[parents[node]] for node in order],
        latent=[node >= n_columns for node in order],
        tables=[tables[node] for node in order],
    )


def one_state_tree(skeleton, data: CategoricalData, called: str = "the skeleton") -> LatentTree:
    """Return a tree of the skeleton's shape in which each hidden variable has a single state.

    Parameters
    ----------
    skeleton : None, LatentTree, pgmpy network or DAG, or networkx graph
        None stands for one hidden variable above all columns. The hidden variables of a pgmpy network are its latents;
        those of a plain graph are the nodes that are no columns. An undirected graph is rooted at its first hidden
        variable.
    data : CategoricalData
        The table, whose columns must be exactly the observed variables.
    called : str
        What messages call it.

    Returns
    -------
    LatentTree
        Hidden variables first, then the columns in their order; tables are uniform.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> data = encode(pd.DataFrame({"x": ["a", "b"], "y": ["a", "b"]}))
    >>> one_state_tree(None, data).names
    ('H', 'x', 'y')
    >>> one_state_tree(nx.Graph([("K", "x"), ("K", "z")]), data)
    Traceback (most recent call last):
    pgmpy_latent.exceptions.SkeletonError: the skeleton lacks the columns ['y'], and its node 'z' is a leaf but not \
a column; a hidden variable needs neighbours. Every leaf must be a column, and every column a node.
    """
    if skeleton is None:
        hidden = fresh_latent_name(data.columns)
        parents: dict[Hashable, Hashable | None] = {hidden: None, **dict.fromkeys(data.columns, hidden)}
        latents = [hidden]
    else:
        parents, latents = _parents_and_latents(skeleton, data.columns)
        _check_columns(parents, latents, data.columns, called, given=_says_what_is_hidden(skeleton))
    names = [*latents, *data.columns]
    position = {name: at for at, name in enumerate(names)}
    states = [(0,)] * len(latents) + list(data.state_names)
    parent = [-1 if parents[name] is None else position[parents[name]] for name in names]
    tables = []
    for at, above in zip(range(len(names)), parent, strict=True):
        rows = 1 if above < 0 else len(states[above])
        tables.append(np.full((rows, len(states[at])), 1 / len(states[at])))
    hidden_ones = set(latents)
    return LatentTree(names, states, parent, [name in hidden_ones for name in names], tables)


def model_given(start) -> LatentTree | None:
    """Return the model that a search shall begin with, from whatever holds one.

    Parameters
    ----------
    start : None, LatentTree, pgmpy network with CPDs, or fitted learner
        What the user gave.

    Examples
    --------
    >>> model_given("camps.json")
    Traceback (most recent call last):
    TypeError: start is a str; give a LatentTree, a pgmpy network with CPDs, or a fitted learner
    """
    if start is None or isinstance(start, LatentTree):
        return start
    if hasattr(start, "tree_"):
        return start.tree_
    start = getattr(start, "network_", start)
    if isinstance(start, LatentNetwork):  # which may be a forest
        return as_tree(start)
    if not hasattr(start, "cpds"):
        kind = kind_in_words(start)
        if isinstance(start, type) and hasattr(start, "fit"):
            raise TypeError(f"start is {kind}; give a learner, as {start.__name__}()")
        unfitted = " that is not fitted" if hasattr(start, "fit") else ""
        raise TypeError(f"start is {kind}{unfitted}; give a LatentTree, a pgmpy network with CPDs, or a fitted learner")
    return from_pgmpy(start)


def states_of_columns(tree: LatentTree | None) -> dict | None:
    """Return the states of the observed variables of a model by name.

    Examples
    --------
    >>> states_of_columns(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]]))
    {'x': ('a', 'b')}
    """
    return None if tree is None else {name: tree.state_names[tree.index(name)] for name in tree.observed_names}


def in_order_of_table(tree: LatentTree, data: CategoricalData) -> LatentTree:
    """Return a model with its hidden variables first and then the columns of the table, which must be its own.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.tables.encode import encode
    >>> tree = LatentTree(["y", "x"], [["a"], ["b"]], [-1, -1], [False, False], [[[1.0]], [[1.0]]])
    >>> in_order_of_table(tree, encode(pd.DataFrame({"x": ["b"], "y": ["a"]}))).names
    ('x', 'y')
    """
    shape = one_state_tree(tree, data, "the model to start with")  # checks the columns
    order = [tree.index(name) for name in shape.names]
    states, tables = [tree.state_names[at] for at in order], [tree.tables[at] for at in order]
    for at, (before, now) in enumerate(zip(states, shape.state_names, strict=True)):
        old, new = emission_of_states(before), emission_of_states(now)
        if old is not None and new is not None:  # the same parameters, in the units of this table
            states[at], tables[at] = now, new.table(*old.parameters(tables[at]))
    return LatentTree(shape.names, states, shape.parent, shape.latent, tables)


def _says_what_is_hidden(skeleton) -> bool:
    return isinstance(skeleton, LatentTree) or hasattr(skeleton, "latents")


def _parents_and_latents(skeleton, columns: Sequence[Hashable]) -> tuple[dict, list]:
    """Return the parent of each node, and the hidden nodes in the skeleton's order."""
    if isinstance(skeleton, LatentTree):
        parents = {
            name: None if above < 0 else skeleton.names[above]
            for name, above in zip(skeleton.names, skeleton.parent, strict=True)
        }
        return parents, list(skeleton.latent_names)
    if not isinstance(skeleton, nx.Graph):
        raise SkeletonError(
            f"skeleton is {kind_in_words(skeleton)}; give a LatentTree, a pgmpy network or DAG, or a networkx graph"
        )
    known = set(columns)
    if _says_what_is_hidden(skeleton):
        latents = [node for node in skeleton.nodes if node in set(skeleton.latents)]
    else:
        latents = [node for node in skeleton.nodes if node not in known]
    if skeleton.is_directed():
        parents = {}
        for node in skeleton.nodes:
            above = list(skeleton.predecessors(node))
            check_one_parent(node, above)
            parents[node] = above[0] if above else None
        if not nx.is_directed_acyclic_graph(skeleton):
            raise NotATreeError("the skeleton's edges run in a circle; remove one of them")
        return parents, latents
    return _rooted(skeleton, latents), latents


def _rooted(graph: nx.Graph, latents: list) -> dict:
    """Return the parent of each node of an undirected forest, rooted at hidden nodes."""
    if graph.number_of_edges() and not nx.is_forest(graph):
        raise NotATreeError("the skeleton's edges run in a circle; remove one of them")
    parents: dict[Hashable, Hashable | None] = {}
    for root in [*latents, *graph.nodes]:
        if root not in parents:
            parents[root] = None
            parents.update({child: above for above, child in nx.bfs_edges(graph, root)})
    return parents


def _check_columns(parents: dict, latents: list, columns: Sequence[Hashable], called: str, given: bool) -> None:
    """Raise unless the observed nodes are exactly the columns."""
    hidden = set(latents)
    problems = []
    missing = [column for column in columns if column not in parents]
    if missing:
        problems.append(f"{called} lacks the columns {missing}")
    both = [column for column in columns if column in hidden]
    if both:
        problems.append(f"{called} hides {both}, which are columns")
    extra = [node for node in parents if node not in hidden and node not in set(columns)]
    if extra:
        problems.append(f"its nodes {extra} are neither columns nor declared as latents")
    if not given:
        degree = dict.fromkeys(parents, 0)
        for node, above in parents.items():
            if above is not None:
                degree[node] += 1
                degree[above] += 1
        problems += [
            f"its node {node!r} is a leaf but not a column; a hidden variable needs neighbours"
            for node in latents
            if degree[node] < 2
        ]
    if problems:
        raise SkeletonError(f"{', and '.join(problems)}. Every leaf must be a column, and every column a node.")
