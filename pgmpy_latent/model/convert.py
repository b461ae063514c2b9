"""Conversion of models to pgmpy networks and files, and back."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import numpy as np

import pgmpy_latent
from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError, PgmpyLatentError
from pgmpy_latent.model.emissions import emission_of_states
from pgmpy_latent.model.gaussian_convert import (
    MISSING,
    gaussian_tree_from_document,
    gaussian_tree_text,
    to_linear_gaussian,
)
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.history import History
from pgmpy_latent.model.json_format import (
    LATENT,
    ROW_SUM_TOLERANCE,
    Node,
    document_of,
    from_document,
    from_text,
    mixture_from_document,
    mixture_from_text,
    mixture_text,
    parents_first,
    to_text,
)
from pgmpy_latent.model.labels import check_names
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork, as_tree, check_one_parent
from pgmpy_latent.model.pgmpy_api import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, TabularCPD
from pgmpy_latent.model.tree import ROW_SUM_TOLERANCE as EXACT
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.files import check_readable, write_whole
from pgmpy_latent.runtime.lossless_json import register

# LatentTree and pgmpy -----------------------------------------------------------------------------


@overload
def to_pgmpy(tree: LatentTree | LatentNetwork) -> DiscreteBayesianNetwork: ...
@overload
def to_pgmpy(tree: GaussianTree) -> LinearGaussianBayesianNetwork: ...
@overload
def to_pgmpy(tree: TreeMixture) -> list[tuple[float, DiscreteBayesianNetwork]]: ...
def to_pgmpy(
    tree: LatentTree | LatentNetwork | TreeMixture | GaussianTree,
) -> DiscreteBayesianNetwork | LinearGaussianBayesianNetwork | list[tuple[float, DiscreteBayesianNetwork]]:
    """Return the tree, or another network, as a pgmpy network.

    Parameters
    ----------
    tree : LatentTree, LatentNetwork, TreeMixture or GaussianTree

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        With the same order of nodes, states, hidden nodes (``latents``) and tables; ``check_model()`` holds.
        Numeric columns, which pgmpy's discrete networks cannot have, are left out: ``emissions_`` has them. Of a
        Gaussian tree, a ``LinearGaussianBayesianNetwork`` with its ``latents`` (pgmpy's own copies of it lose them).
        Of a mixture, a list of the weight and the network of every tree: in one network, a column would need a row of
        its table for every combination of the hidden states above it in all trees.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["no", "yes"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> network = to_pgmpy(tree)
    >>> network.latents, network.check_model()
    ({'H'}, True)
    >>> network.get_cpds("x").state_names
    {'x': ['no', 'yes'], 'H': [0, 1]}
    """
    if isinstance(tree, TreeMixture):
        return [(weight, to_pgmpy(part)) for weight, part in zip(tree.weights.tolist(), tree.trees, strict=True)]
    if isinstance(tree, GaussianTree):
        return to_linear_gaussian(tree)
    return build_network(without_numbers(_nodes_of_tree(tree)))


def without_numbers(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes that pgmpy's discrete networks can have: hidden variables and columns of categories.

    Numeric columns are leaves, so that nothing else depends on them.
    """
    kept = [at for at, node in enumerate(nodes) if emission_of_states(tuple(node.states)) is None]
    position = {old: new for new, old in enumerate(kept)}
    return [replace(nodes[at], parents=tuple(position[above] for above in nodes[at].parents)) for at in kept]


def to_cpds(tree: LatentTree | LatentNetwork) -> list[TabularCPD]:
    """Return the tables of a tree or network as pgmpy's CPDs, in the order of the nodes.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["no", "yes"]], [-1], [False], [[[0.25, 0.75]]])
    >>> to_cpds(tree)[0].get_values().ravel()
    array([0.25, 0.75])
    """
    return _build_cpds(without_numbers(_nodes_of_tree(tree)))


def from_pgmpy(network: DiscreteBayesianNetwork) -> LatentTree:
    """Return a forest-shaped pgmpy network as a tree.

    The states of a node are those of its own CPD, in that order; where the CPD of a child lists them in
    another order, its table is rearranged by name.

    Parameters
    ----------
    network : pgmpy.models.DiscreteBayesianNetwork
        Every node has a CPD and at most one parent.

    Returns
    -------
    LatentTree
        Its arrays are copies.

    Raises
    ------
    NotATreeError
        If a node has several parents.
    InvalidTreeError
        If a node has no CPD, a CPD disagrees with the graph or with the parent's states, or a row does not
        sum to one within 1e-8 (pgmpy allows 0.01; call ``normalize()`` on such a CPD).

    Examples
    --------
    >>> network = DiscreteBayesianNetwork([("H", "x")], latents={"H"})
    >>> network.add_cpds(
    ...     TabularCPD("H", 2, [[0.7], [0.3]]),
    ...     TabularCPD("x", 2, [[0.9, 0.2], [0.1, 0.8]], evidence=["H"], evidence_card=[2]),
    ... )
    >>> from_pgmpy(network)
    LatentTree(2 nodes, 1 latent, 3 parameters)
    """
    _check_network(network)
    for name in network.nodes():
        check_one_parent(name, list(network.predecessors(name)))
    try:
        return _build_tree(_nodes_of_network(network))
    except InvalidTreeError as error:
        raise InvalidTreeError(f"{error}{_remedy(error)}") from None


def network_from_pgmpy(network: DiscreteBayesianNetwork) -> LatentNetwork:
    """Return a pgmpy network of any shape as a :class:`~pgmpy_latent.LatentNetwork`; see :func:`from_pgmpy`.

    Rows that sum to one within 0.01, which pgmpy accepts, are normalised: published networks are rounded.

    Examples
    --------
    >>> network = DiscreteBayesianNetwork([("x", "z"), ("y", "z")], latents={"y"})
    >>> network.add_cpds(
    ...     TabularCPD("x", 2, [[0.7], [0.3]]),
    ...     TabularCPD("y", 2, [[0.6], [0.4]]),
    ...     TabularCPD("z", 2, [[0.9, 0.2, 0.5, 0.5], [0.1, 0.8, 0.5, 0.5]], evidence=["x", "y"], evidence_card=[2, 2]),
    ... )
    >>> network_from_pgmpy(network)
    LatentNetwork(3 nodes, 1 latent, 2 edges, 6 parameters)
    """
    nodes = _nodes_of_network(network)
    try:
        return _build_latent_network([replace(node, table=_rounded_off(node.table)) for node in nodes])
    except InvalidTreeError as error:
        raise InvalidTreeError(f"{error}{_remedy(error)}") from None


def model_from_pgmpy(network: DiscreteBayesianNetwork) -> LatentTree | LatentNetwork:
    """Return a pgmpy network as a tree if no node has several parents, and otherwise as a network.

    Examples
    --------
    >>> network = DiscreteBayesianNetwork([("H", "x")], latents={"H"})
    >>> network.add_cpds(
    ...     TabularCPD("H", 2, [[0.7], [0.3]]),
    ...     TabularCPD("x", 2, [[0.9, 0.2], [0.1, 0.8]], evidence=["H"], evidence_card=[2]),
    ... )
    >>> model_from_pgmpy(network)
    LatentTree(2 nodes, 1 latent, 3 parameters)
    """
    model = network_from_pgmpy(network)
    return model if any(len(above) > 1 for above in model.parents) else as_tree(model)


def _rounded_off(table: np.ndarray) -> np.ndarray:
    sums = table.sum(axis=1, keepdims=True)
    off = np.abs(sums - 1)
    return np.where((off > EXACT) & (off <= ROW_SUM_TOLERANCE), table / np.where(sums > 0, sums, 1), table)


def _remedy(error: InvalidTreeError) -> str:
    """Return the remedy for a row that pgmpy accepts and a tree does not."""
    return "; call normalize() on its CPD" if "sums to" in str(error) else ""


def _check_network(network) -> None:
    if not isinstance(network, DiscreteBayesianNetwork):
        hint = "; a fitted learner has one as model_" if hasattr(network, "tree_") else ""
        if isinstance(network, LinearGaussianBayesianNetwork):
            hint = "; gaussian.from_pgmpy takes it"
        raise TypeError(f"expected a pgmpy DiscreteBayesianNetwork, got {type(network).__name__}{hint}")


# Nodes: the form between trees, networks and files ------------------------------------------------


def nodes_of(model) -> list[Node]:
    """Return the nodes of a model, in its order; tables of pgmpy networks are copied. A fitted learner has a model."""
    model = _held(model)
    if isinstance(model, (TreeMixture, GaussianTree)):
        why = (
            "which has several trees; pass one of them, as mixture_.trees[0], or save the mixture as .json"
            if isinstance(model, TreeMixture)
            else "whose columns are numbers; save it as .json"
        )
        raise TypeError(f"expected a tree or network of categories, got {type(model).__name__}, {why}")
    if not isinstance(model, (LatentTree, LatentNetwork, DiscreteBayesianNetwork)):
        raise TypeError(
            f"expected a LatentTree, LatentNetwork, pgmpy network or fitted learner, got {type(model).__name__}"
        )
    return _nodes_of_network(model) if isinstance(model, DiscreteBayesianNetwork) else _nodes_of_tree(model)


def _held(model):
    """Return the model of a fitted learner or estimator; anything else as it is."""
    for attribute in ("tree_", "network_", "mixture_"):
        model = getattr(model, attribute, model)
    return model


def _nodes_of_tree(tree: LatentTree | LatentNetwork) -> list[Node]:
    if not isinstance(tree, (LatentTree, LatentNetwork)):
        hint = "a fitted learner has a pgmpy network as model_" if hasattr(tree, "model_") else "see from_pgmpy"
        raise TypeError(f"expected a LatentTree, got {type(tree).__name__}; {hint}")
    missing = dict(tree.missing)
    return [
        Node(name, states, above, table, frozenset({LATENT} if hidden else ()), missing.get(name, ()))
        for name, states, above, hidden, table in zip(
            tree.names, tree.state_names, tree.parents, tree.latent, tree.tables, strict=True
        )
    ]


def _build_tree(nodes: Sequence[Node]) -> LatentTree:
    for node in nodes:
        check_one_parent(node.name, [nodes[above].name for above in node.parents])
    return LatentTree(
        names=[node.name for node in nodes],
        state_names=[node.states for node in nodes],
        parent=[node.parents[0] if node.parents else -1 for node in nodes],
        latent=[node.latent for node in nodes],
        tables=[node.table for node in nodes],
        missing=_codes_of(nodes),
    )


def _build_latent_network(nodes: Sequence[Node]) -> LatentNetwork:
    return LatentNetwork(
        names=[node.name for node in nodes],
        state_names=[node.states for node in nodes],
        parents=[node.parents for node in nodes],
        latent=[node.latent for node in nodes],
        tables=[node.table for node in nodes],
        missing=_codes_of(nodes),
    )


def _codes_of(nodes: Sequence[Node]) -> dict[Hashable, tuple]:
    return {node.name: node.missing for node in nodes}


def _build_cpds(nodes: Sequence[Node]) -> list[TabularCPD]:
    cpds = []
    for node in nodes:
        above = [nodes[parent] for parent in node.parents]
        cpds.append(
            TabularCPD(
                node.name,
                len(node.states),
                node.table.T,
                evidence=[parent.name for parent in above] or None,
                evidence_card=[len(parent.states) for parent in above] or None,
                state_names={family.name: list(family.states) for family in (node, *above)},
            )
        )
    return cpds


def build_network(nodes: Sequence[Node], title: str = "") -> DiscreteBayesianNetwork:
    """Return the nodes as a pgmpy network."""
    check_names([node.name for node in nodes], "node", InvalidTreeError, allow_none=False)
    network = DiscreteBayesianNetwork()
    network.add_nodes_from([node.name for node in nodes])
    # pgmpy looks for a cycle at every edge; parents first, the search ends at once.
    network.add_edges_from(
        [(nodes[above].name, nodes[child].name) for child in parents_first(nodes) for above in nodes[child].parents]
    )
    for _, _, attributes in network.edges(data=True):
        attributes.pop("weight", None)  # which pgmpy sets to None, and networkx cannot draw
    for role in sorted(frozenset().union(*(node.roles for node in nodes))):
        network.with_role(role, {node.name for node in nodes if role in node.roles}, inplace=True)
    network.cpds = _build_cpds(nodes)  # add_cpds compares each with all before it
    if codes := {name: values for name, values in _codes_of(nodes).items() if values}:
        network.graph[MISSING] = codes  # pgmpy's writers put attributes of nodes, but not of graphs, into files
    if title:
        network.name = title
    return network


def _nodes_of_network(network: DiscreteBayesianNetwork) -> list[Node]:
    _check_network(network)
    names = list(network.nodes())
    position = {name: index for index, name in enumerate(names)}
    cpds: dict[Hashable, TabularCPD] = {}
    for cpd in network.cpds:
        if cpd.variable not in position:
            raise InvalidTreeError(f"there is a CPD of {cpd.variable!r}, which is not a node; remove it")
        cpds.setdefault(cpd.variable, cpd)  # the first is the one that get_cpds returns
    for name in names:
        if name not in cpds:
            raise InvalidTreeError(f"node {name!r} has no CPD; fit the network, or add the CPD")
    states = {name: _states(cpds[name], name, len(cpds[name].values)) for name in names}
    codes = network.graph.get(MISSING, {})
    return [
        Node(
            name=name,
            states=states[name],
            parents=tuple(position[above] for above in _evidence(network, cpds[name])),
            table=aligned_table(cpds[name], states),
            roles=_roles(network.nodes[name].get("roles")),
            missing=tuple(codes.get(name, ())),
        )
        for name in names
    ]


def _roles(roles) -> frozenset[str]:
    """Return the roles of a node; text, which pgmpy's XMLBIF reader leaves there, is ignored as pgmpy does."""
    return frozenset(roles) if isinstance(roles, set) else frozenset()


def _states(cpd: TabularCPD, name: Hashable, card: int) -> tuple[Hashable, ...]:
    states = tuple(cpd.state_names.get(name, ()))
    if len(states) != card:  # pgmpy compares these nowhere
        raise InvalidTreeError(
            f"the CPD of {cpd.variable!r} has {card} states of {name!r} but names {list(states)}; name each"
        )
    return states


def _evidence(network: DiscreteBayesianNetwork, cpd: TabularCPD) -> list[Hashable]:
    parents = list(network.predecessors(cpd.variable))
    if set(cpd.variables[1:]) != set(parents):
        raise InvalidTreeError(
            f"the CPD of {cpd.variable!r} has the parents {cpd.variables[1:]}, the graph {parents}; make them agree"
        )
    return cpd.variables[1:]


def aligned_table(
    cpd: TabularCPD, states: dict[Hashable, tuple], parents: Sequence[Hashable] | None = None
) -> np.ndarray:
    """Return a copy of the table with all states in the given order: a row per combination of the parents' states.

    ``parents`` says in which order they run, the last one fastest; as in the CPD by default.

    Examples
    --------
    >>> aligned_table(TabularCPD("x", 2, [[0.25], [0.75]], state_names={"x": ["a", "b"]}), {"x": ("b", "a")})
    array([[0.75, 0.25]])
    """
    values = np.asarray(cpd.values, dtype=np.float64)
    for axis, name in enumerate(cpd.variables):
        listed = _states(cpd, name, values.shape[axis])
        if set(listed) != set(states[name]):
            whose = "it" if axis == 0 else f"its parent {name!r}"
            other = "the data" if axis == 0 else f"that of {name!r}"
            raise InvalidTreeError(
                f"the CPD of {cpd.variable!r} gives {whose} the states {list(listed)}, but {other} has "
                f"{list(states[name])}; make them agree"
            )
        if listed != states[name]:
            values = values.take([listed.index(state) for state in states[name]], axis=axis)
    if parents is not None:
        values = values.transpose([0, *(cpd.variables.index(name) for name in parents)])
    return np.moveaxis(values, 0, -1).reshape(-1, values.shape[0]).copy()


# Files --------------------------------------------------------------------------------------------


def save(model, path: str | os.PathLike) -> None:
    """Write a model to a JSON file that :func:`load` reads back exactly.

    A LatentNetwork comes back as a pgmpy network.

    The file holds the kind of model, the order of nodes, names and states with their types, hidden nodes and other
    roles, the network's name, values that count as missing, and every bit of the probabilities; not the weights of
    edges, nor other attributes of nodes. Of a fitted learner or estimator it also holds what learned the model, the
    numbers of rows and their weights, kinds of columns, log-likelihood, score and history, which
    :func:`pgmpy_latent.fitted` gives back. Names and states may be text, integers, booleans, floats other than NaN, and
    tuples of these; NumPy scalars come back as Python's. The file is written completely or not at all: a failure leaves
    an older file unchanged.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, TreeMixture, GaussianTree, pgmpy.models.DiscreteBayesianNetwork or fitted learner
    path : path-like
        A file that is there is replaced. Its folder must exist.

    Raises
    ------
    InvalidTreeError
        If a name cannot be written, or the network is incomplete. There is no file then.

    Examples
    --------
    >>> import tempfile
    >>> tree = LatentTree(["x"], [[1, 2]], [-1], [False], [[[0.25, 0.75]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(tree, f"{folder}/model.json")
    ...     load(f"{folder}/model.json") == tree
    True
    """
    history = History.of(model)
    model = _held(model)
    about = history.document(pgmpy_latent.__version__) if history.known() else None
    if isinstance(model, GaussianTree):
        text = gaussian_tree_text(model, about)
    elif isinstance(model, (LatentTree, LatentNetwork, TreeMixture)):
        text = model_text(model, about)
    else:
        nodes = _nodes_of_network(model)  # also says what is expected, should the model be neither
        text = to_text("network", nodes, model.name if isinstance(model.name, str) else "")
    write_whole(path, text.encode())


def load(path: str | os.PathLike) -> LatentTree | TreeMixture | GaussianTree | DiscreteBayesianNetwork:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LatentTree, TreeMixture, GaussianTree or pgmpy.models.DiscreteBayesianNetwork
        Whichever was saved; a LatentNetwork comes back as a pgmpy network, of which :func:`network_from_pgmpy` makes
        one again. :func:`pgmpy_latent.fitted` reads a file into a model with the methods of a learner.

    Raises
    ------
    FileFormatError
        Naming the file, the node and the problem: cut short, not of this format, from a newer version, with
        sizes that do not fit, or with rows that are no probabilities (a tree's must sum to one within 1e-8,
        a network's within 0.01, as in pgmpy).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.json")
    ...     save(DiscreteBayesianNetwork(), path)
    ...     load(path).nodes()
    NodeView(())
    """
    return load_with_history(path)[0]


def load_with_history(
    path: str | os.PathLike,
) -> tuple[LatentTree | TreeMixture | GaussianTree | DiscreteBayesianNetwork, History]:
    """Return what :func:`load` does, and where the model comes from, as far as the file says so."""
    check_readable(path, "give a file that save wrote")
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        mixture = mixture_from_text(text)
        if mixture is not None:
            trees, weights, about = mixture
            return TreeMixture([_build_tree(nodes) for nodes in trees], weights), History.from_document(about)
        gaussian = document_of(text)
        if gaussian is not None:
            about = gaussian.get("about", {})
            return gaussian_tree_from_document(gaussian), History.from_document(about)
        kind, nodes, title, about = from_text(text)
        return _build_tree(nodes) if kind == "tree" else build_network(nodes, title), History.from_document(about)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not text in UTF-8 ({error})") from None
    except PgmpyLatentError as error:
        raise FileFormatError(f"{path}: {error}") from None


def model_text(model: LatentTree | LatentNetwork | TreeMixture, about: dict | None = None) -> str:
    """Return the JSON text of a tree, a network or a mixture of trees, as :func:`save` writes it."""
    if isinstance(model, TreeMixture):
        return mixture_text([_nodes_of_tree(tree) for tree in model.trees], model.weights.tolist(), about)
    return to_text("tree" if isinstance(model, LatentTree) else "network", _nodes_of_tree(model), about=about)


def model_from_document(document) -> LatentTree | LatentNetwork | TreeMixture:
    """Return the tree, network or mixture of parsed JSON text, bit for bit the one that :func:`model_text` wrote.

    Examples
    --------
    >>> import json
    >>> tree = LatentTree(["x"], [[1, 2]], [-1], [False], [[[0.25, 0.75]]])
    >>> model_from_document(json.loads(model_text(tree))) == tree
    True
    """
    mixture = mixture_from_document(document)
    if mixture is not None:
        return TreeMixture([_build_tree(nodes) for nodes in mixture[0]], mixture[1])
    kind, nodes, _ = from_document(document)
    return _build_tree(nodes) if kind == "tree" else _build_latent_network(nodes)


register(
    "model",
    (LatentTree, LatentNetwork, TreeMixture),
    lambda model: json.loads(model_text(model)),
    model_from_document,
)
