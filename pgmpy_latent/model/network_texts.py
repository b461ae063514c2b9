"""The texts of networks in the formats of other programs; every probability is written to its last bit.

Each writer takes nodes whose names and states fit the format (:mod:`pgmpy_latent.model.spelling`) and returns the
content of the file. The tables of :class:`~pgmpy_latent.model.json_format.Node` have a row per combination of the
parents' states, the last parent running fastest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import product
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from pgmpy_latent.model.json_format import LATENT, Node, decode_name, encode_name, parents_first
from pgmpy_latent.model.spelling import TextNode


def _numbers(values: np.ndarray, separator: str = " ") -> str:
    return separator.join(map(repr, np.ravel(values).tolist()))


def _parents(node: TextNode, nodes: Sequence[TextNode]) -> list[TextNode]:
    return [nodes[above] for above in node.parents]


def _nested(table: np.ndarray, sizes: Sequence[int], row: Callable[[np.ndarray], str], separator: str) -> str:
    """Return the rows in brackets, one pair of them for every parent."""
    if not sizes:
        return row(table[0])
    parts = np.split(table, sizes[0])
    return f"({separator.join(_nested(part, sizes[1:], row, separator) for part in parts)})"


def _sizes(node: TextNode, nodes: Sequence[TextNode]) -> list[int]:
    return [len(parent.states) for parent in _parents(node, nodes)]


def bif(nodes: Sequence[TextNode]) -> str:
    """Return the network in the Bayesian Interchange Format, version 0.15."""
    lines = ["network unknown {", "}"]
    for node in nodes:
        lines += [
            f"variable {node.name} {{",
            f"  type discrete [ {len(node.states)} ] {{ {', '.join(node.states)} }};",
            "}",
        ]
    for node in nodes:
        above = _parents(node, nodes)
        if not above:
            lines += [f"probability ( {node.name} ) {{", f"  table {_numbers(node.table, ', ')};", "}"]
            continue
        lines.append(f"probability ( {node.name} | {', '.join(parent.name for parent in above)} ) {{")
        for states, row in zip(product(*(parent.states for parent in above)), node.table, strict=True):
            lines.append(f"  ({', '.join(states)}) {_numbers(row, ', ')};")
        lines.append("}")
    return "\n".join([*lines, ""])


def xmlbif(nodes: Sequence[TextNode]) -> str:
    """Return the network as XMLBIF, version 0.3."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", "<NAME>unknown</NAME>"]
    for node in nodes:
        outcomes = "".join(f"<OUTCOME>{escape(state)}</OUTCOME>" for state in node.states)
        lines.append(f'<VARIABLE TYPE="nature"><NAME>{escape(node.name)}</NAME>{outcomes}</VARIABLE>')
    for node in nodes:
        given = "".join(f"<GIVEN>{escape(parent.name)}</GIVEN>" for parent in _parents(node, nodes))
        table = f"<TABLE>{_numbers(node.table)}</TABLE>"
        lines.append(f"<DEFINITION><FOR>{escape(node.name)}</FOR>{given}{table}</DEFINITION>")
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def net(nodes: Sequence[TextNode]) -> str:
    """Return the network in Hugin's NET format."""
    lines = ["net", "{", "}"]
    for node in nodes:
        states = " ".join(f'"{state}"' for state in node.states)
        lines += [f"node {node.name}", "{", f"  states = ({states});", "}"]
    for node in nodes:
        above = " ".join(parent.name for parent in _parents(node, nodes))
        data = _nested(node.table, _sizes(node, nodes), lambda row: f"({_numbers(row)})", "")
        lines += [f"potential ({node.name}{f' | {above}' if above else ''})", "{", f"  data = {data};", "}"]
    return "\n".join([*lines, ""])


def uai(nodes: Sequence[TextNode]) -> str:
    """Return the network in the format of the UAI competitions: a function per node, which comes last in its scope."""
    scopes = [f"{len(node.parents) + 1} {' '.join(map(str, (*node.parents, at)))}" for at, node in enumerate(nodes)]
    tables = [f"\n{node.table.size}\n {_numbers(node.table)}" for node in nodes]
    sizes = " ".join(str(len(node.states)) for node in nodes)
    return "\n".join(["BAYES", str(len(nodes)), sizes, str(len(nodes)), *scopes, *tables, ""])


def xdsl(nodes: Sequence[TextNode]) -> str:
    """Return the network as GeNIe's XDSL, with the nodes in rows of ten."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += ['<smile version="1.0" id="network" numsamples="1000" discsamples="10000">', "<nodes>"]
    for node in _in_order(nodes):
        states = "".join(f"<state id={quoteattr(state)} />" for state in node.states)
        above = " ".join(parent.name for parent in _parents(node, nodes))
        parents = f"<parents>{above}</parents>" if above else ""
        table = f"<probabilities>{_numbers(node.table)}</probabilities>"
        lines.append(f"<cpt id={quoteattr(node.name)}>{states}{parents}{table}</cpt>")
    lines += ["</nodes>", "<extensions>", '<genie version="1.0" app="pgmpy_latent" name="network">']
    for at, node in enumerate(nodes):
        left, top = 40 + 120 * (at % 10), 40 + 80 * (at // 10)
        lines += [
            f"<node id={quoteattr(node.name)}><name>{escape(node.name)}</name>",
            '<interior color="e5f6f7" /><outline color="000080" /><font color="000000" name="Arial" size="8" />',
            f"<position>{left} {top} {left + 80} {top + 40}</position></node>",
        ]
    return "\n".join([*lines, "</genie>", "</extensions>", "</smile>", ""])


def _in_order(nodes: Sequence[TextNode]) -> list[TextNode]:
    """Return the nodes with parents before children, which GeNIe asks for."""
    return [nodes[at] for at in parents_first(nodes)]


def dne(nodes: Sequence[TextNode]) -> str:
    """Return the network as Netica's DNE."""
    lines = ["// ~->[DNET-1]->~", "", "bnet network {"]
    for node in _in_order(nodes):
        above = ", ".join(parent.name for parent in _parents(node, nodes))
        table = _nested(node.table, _sizes(node, nodes), lambda row: f"({_numbers(row, ', ')})", ", ")
        lines += [
            f"node {node.name} {{",
            "  kind = NATURE;",
            "  discrete = TRUE;",
            f"  states = ({', '.join(node.states)});",
            f"  parents = ({above});",
            f"  probs = {table};",
            "  };",
        ]
    return "\n".join([*lines, "};", ""])


def r_code(nodes: Sequence[TextNode]) -> str:
    """Return code in R that makes the network ``fitted`` of bnlearn.

    bnlearn takes a table with one row for a vector, so that a node with a single state has no parents there: it depends
    on nothing.
    """
    nodes = [replace(node, parents=(), table=np.ones((1, 1))) if len(node.states) == 1 else node for node in nodes]
    lines = ["library(bnlearn)", "", f"network <- empty.graph({_r_vector([node.name for node in nodes])})"]
    arcs = [name for node in nodes for parent in _parents(node, nodes) for name in (parent.name, node.name)]
    if arcs:
        names = 'dimnames = list(NULL, c("from", "to"))'
        lines.append(f"arcs(network) <- matrix({_r_vector(arcs)}, ncol = 2, byrow = TRUE, {names})")
    tables = [f"  {_r_text(node.name)} = {_r_array(node, nodes)}" for node in nodes]
    return "\n".join([*lines, "fitted <- custom.fit(network, dist = list(", ",\n".join(tables), "))", ""])


def _r_array(node: TextNode, nodes: Sequence[TextNode]) -> str:
    """Return a table as an array in R, whose first dimension, the node itself, runs fastest."""
    family = [node, *_parents(node, nodes)]
    sizes = _sizes(node, nodes)
    table = np.moveaxis(node.table.reshape(*sizes, len(node.states)), -1, 0)
    states = ", ".join(f"{_r_text(member.name)} = {_r_vector(member.states)}" for member in family)
    dims = ", ".join(str(len(member.states)) for member in family)
    return f"array(c({_numbers(table.ravel(order='F'), ', ')}), dim = c({dims}), dimnames = list({states}))"


def _r_vector(words: Sequence[str]) -> str:
    return f"c({', '.join(map(_r_text, words))})"


def _r_text(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def python_code(nodes: Sequence[Node]) -> str:
    """Return code in Python that makes the pgmpy network ``network``, with names, states and roles as they are."""
    hidden = ", ".join(_literal(node.name) for node in nodes if node.latent)
    lines = [
        "from math import inf  # noqa: F401",
        "",
        "from pgmpy.factors.discrete import TabularCPD",
        "from pgmpy.models import DiscreteBayesianNetwork",
        "",
        "network = DiscreteBayesianNetwork()",
        f"network.add_nodes_from([{', '.join(_literal(node.name) for node in nodes)}])",
    ]
    edges = [
        f"({_literal(parent.name)}, {_literal(node.name)})"
        for node in nodes
        for parent in (nodes[at] for at in node.parents)
    ]
    lines.append(f"network.add_edges_from([{', '.join(edges)}])")
    if hidden:
        lines.append(f"network.latents = {{{hidden}}}")
    for role in sorted(frozenset().union(*(node.roles for node in nodes)) - {LATENT}):
        of_role = ", ".join(_literal(node.name) for node in nodes if role in node.roles)
        lines.append(f"network.with_role({role!r}, {{{of_role}}}, inplace=True)")
    if codes := [f"{_literal(node.name)}: {_literal(node.missing)}" for node in nodes if node.missing]:
        lines.append(f'network.graph["missing"] = {{{", ".join(codes)}}}')
    lines.append("network.cpds = [")
    for node in nodes:
        above = [nodes[at] for at in node.parents]
        states = [f"{_literal(member.name)}: list({_literal(member.states)})" for member in (node, *above)]
        lines += [
            "    TabularCPD(",
            f"        {_literal(node.name)},",
            f"        {len(node.states)},",
            f"        {json.dumps(node.table.T.tolist())},",
            f"        evidence=[{', '.join(_literal(parent.name) for parent in above)}] or None,",
            f"        evidence_card={[len(parent.states) for parent in above] or None!r},",
            f"        state_names={{{', '.join(states)}}},",
            "    ),",
        ]
    return "\n".join([*lines, "]", ""])


def _literal(value: Hashable) -> str:
    """Return a name or state as Python writes it; NumPy scalars become Python's."""
    return repr(decode_name(encode_name(value, f"the value {value!r}"), "a value"))
