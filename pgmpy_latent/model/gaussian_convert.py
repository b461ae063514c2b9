"""Gaussian trees as pgmpy networks and as JSON text, and back."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from reprlib import repr as shorten

import numpy as np

from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.json_format import decode_name, encode_name, gaussian_text
from pgmpy_latent.model.labels import check_names
from pgmpy_latent.model.network import check_one_parent
from pgmpy_latent.model.pgmpy_api import LinearGaussianBayesianNetwork, LinearGaussianCPD
from pgmpy_latent.runtime.lossless_json import register

#: Attribute of a pgmpy network that holds the values of its columns that count as missing cells.
MISSING = "missing"

# pgmpy --------------------------------------------------------------------------------------------


def to_linear_gaussian(tree: GaussianTree) -> LinearGaussianBayesianNetwork:
    """Return a Gaussian tree as a pgmpy network: intercepts, slopes, and standard deviations of what is left.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.6], [0.0, 5.0], [1.0, 10.0])
    >>> network = to_linear_gaussian(tree)
    >>> network.latents, network.get_cpds("x").beta, network.get_cpds("x").std
    ({'H'}, array([5., 6.]), 8.0)
    """
    check_names(tree.names, "node", InvalidTreeError, allow_none=False)
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from(tree.names)
    network.add_edges_from(
        [(tree.names[tree.parent[node]], tree.names[node]) for node in tree.order if tree.parent[node] >= 0]
    )
    for _, _, attributes in network.edges(data=True):
        attributes.pop("weight", None)  # which pgmpy sets to None, and networkx cannot draw
    network.latents = set(tree.latent_names)
    if tree.missing:
        network.graph[MISSING] = dict(tree.missing)
    network.cpds = to_gaussian_cpds(tree)  # add_cpds compares each with all before it
    return network


def to_gaussian_cpds(tree: GaussianTree) -> list[LinearGaussianCPD]:
    """Return the CPDs of the nodes, in node order.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.6])
    >>> [cpd.variable for cpd in to_gaussian_cpds(tree)]
    ['H', 'x']
    """
    cpds = []
    for node, name in enumerate(tree.names):
        above, mean, std = int(tree.parent[node]), float(tree.mean[node]), float(tree.std[node])
        if above < 0:
            cpds.append(LinearGaussianCPD(name, [mean], std))
            continue
        correlation = float(tree.correlation[node])
        slope = correlation * std / float(tree.std[above])
        rest = std * float(np.sqrt(1 - correlation**2))
        cpds.append(LinearGaussianCPD(name, [mean - slope * float(tree.mean[above]), slope], rest, [tree.names[above]]))
    return cpds


def from_linear_gaussian(network: LinearGaussianBayesianNetwork) -> GaussianTree:
    """Return a forest-shaped pgmpy network as a Gaussian tree, with hidden nodes in units of mean 0 and variance 1.

    Examples
    --------
    >>> network = LinearGaussianBayesianNetwork([("H", "x")], latents={"H"})
    >>> network.add_cpds(LinearGaussianCPD("H", [1], 2), LinearGaussianCPD("x", [0, 3], 8, ["H"]))
    >>> tree = from_linear_gaussian(network)
    >>> tree.correlation.round(9).tolist(), tree.mean.tolist(), tree.std.tolist()
    ([0.0, 0.6], [0.0, 3.0], [1.0, 10.0])
    """
    names: list[Hashable] = list(network.nodes())
    position = {name: node for node, name in enumerate(names)}
    for name in names:
        check_one_parent(name, list(network.predecessors(name)))
    cpds = {cpd.variable: cpd for cpd in network.cpds}
    lacking = [name for name in names if name not in cpds]
    if lacking:
        raise InvalidTreeError(f"node {lacking[0]!r} has no CPD; fit the network, or add the CPD")
    n_nodes = len(names)
    parent, correlation = np.full(n_nodes, -1), np.zeros(n_nodes)
    mean, variance = np.zeros(n_nodes), np.ones(n_nodes)
    children: list[Hashable] = [name for name in names if not list(network.predecessors(name))]
    for name in children:  # grows while it is walked, parents first
        cpd, node = cpds[name], position[name]
        above = list(network.predecessors(name))
        beta = np.asarray(cpd.beta, dtype=np.float64)
        if len(beta) != 1 + len(above) or list(cpd.evidence or ()) != above:
            raise InvalidTreeError(
                f"the CPD of {name!r} has the parents {list(cpd.evidence or ())}, the graph {above}; make them agree"
            )
        mean[node], variance[node] = beta[0], float(cpd.std) ** 2
        if above:
            parent[node] = up = position[above[0]]
            mean[node] += beta[1] * mean[up]
            variance[node] += beta[1] ** 2 * variance[up]
            correlation[node] = beta[1] * np.sqrt(variance[up] / variance[node])
        children.extend(network.successors(name))
    latent = np.array([name in network.latents for name in names])
    std = np.where(latent, 1.0, np.sqrt(variance))
    return GaussianTree(
        names, parent, latent, correlation, np.where(latent, 0.0, mean), std, network.graph.get(MISSING, {})
    )


# JSON ---------------------------------------------------------------------------------------------


def gaussian_tree_text(tree: GaussianTree, about: dict | None = None) -> str:
    """Return the text of a file; every bit of the numbers is kept. ``about`` says where the model comes from.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.6])
    >>> from pgmpy_latent.model.json_format import document_of
    >>> gaussian_tree_from_document(document_of(gaussian_tree_text(tree))) == tree
    True
    """
    codes = dict(tree.missing)
    nodes = [
        {
            "name": encode_name(name, f"the name {name!r}"),
            "latent": bool(tree.latent[node]),
            "parent": int(tree.parent[node]),
            "correlation": float(tree.correlation[node]),
            "mean": float(tree.mean[node]),
            "std": float(tree.std[node]),
            **_missing_field(name, codes.get(name, ())),
        }
        for node, name in enumerate(tree.names)
    ]
    return gaussian_text(nodes, about)


def _missing_field(name: Hashable, values: Sequence[Hashable]) -> dict:
    """Return the field with the values of a column that count as missing; without any there is none."""
    if not values:
        return {}
    return {
        "missing": [encode_name(value, f"value {value!r} of {name!r}, which counts as missing,") for value in values]
    }


def gaussian_tree_from_document(document: dict) -> GaussianTree:
    """Return the model of parsed text; anything that would not be written is a FileFormatError."""
    entries = document.get("nodes")
    if not isinstance(entries, list):
        raise FileFormatError(f'"nodes" is {shorten(entries)}, not a list')
    fields = ("name", "latent", "parent", "correlation", "mean", "std")
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict) or sorted({*entry} - {"missing"}) != sorted(fields):
            raise FileFormatError(f"node number {at} must have the fields {', '.join(fields)}; it is {shorten(entry)}")
        if type(entry["latent"]) is not bool or type(entry["parent"]) is not int:
            raise FileFormatError(f"node number {at}: latent must be true or false, and parent a number of a node")
        if abs(entry["parent"]) > len(entries):
            raise FileFormatError(f"node number {at} has parent {shorten(entry['parent'])}, which is not a node")
        for field in ("correlation", "mean", "std"):
            if type(entry[field]) not in (int, float) or not abs(entry[field]) < np.inf or abs(entry[field]) > 1e308:
                raise FileFormatError(f"node number {at}: {field} is {shorten(entry[field])}, not a number")
        if not isinstance(entry.get("missing", []), list):
            raise FileFormatError(f"node number {at}: missing is {shorten(entry['missing'])}, not a list")
    names = [decode_name(entry["name"], f"the name of node number {at}") for at, entry in enumerate(entries)]
    codes = [
        (
            name,
            [decode_name(value, f"a value of {name!r} that counts as missing") for value in entry.get("missing", [])],
        )
        for name, entry in zip(names, entries, strict=True)
    ]
    parent, latent = ([entry[field] for entry in entries] for field in ("parent", "latent"))
    correlation, mean, std = ([float(entry[field]) for entry in entries] for field in ("correlation", "mean", "std"))
    return GaussianTree(names, parent, latent, correlation, mean, std, codes)


register(
    "Gaussian tree", (GaussianTree,), lambda tree: json.loads(gaussian_tree_text(tree)), gaussian_tree_from_document
)
