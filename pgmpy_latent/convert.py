"""LatentTree to pgmpy and back, to a file and back, and what pgmpy's own file formats would lose."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent._json import LATENT, Node, from_text, parents_first, to_text
from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError, NotATreeError, PgmpyLatentError
from pgmpy_latent.tree import LatentTree

#: The formats of pgmpy that :func:`check_export` knows.
EXPORT_FORMATS = ("bif", "xmlbif", "net", "uai")
#: Above so many nodes pgmpy's readers need seconds, and more than in proportion.
_SMALL = {"bif": 100, "xmlbif": 1_000, "net": 25, "uai": 20}
#: Words of the formats' grammars: a name or state that contains one may be read as something else.
_KEYWORDS = re.compile("data|default|discrete|name|net|node|potential|probability|property|states|table|type|variable")


# LatentTree and pgmpy -----------------------------------------------------------------------------


def to_pgmpy(tree: LatentTree) -> DiscreteBayesianNetwork:
    """Return the tree as a pgmpy network.

    Parameters
    ----------
    tree : LatentTree

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        With the same order of nodes, states, hidden nodes (``latents``) and tables; ``check_model()`` holds.

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
    return _build_network(_nodes_of_tree(tree))


def to_cpds(tree: LatentTree) -> list[TabularCPD]:
    """Return the tables of a tree as pgmpy's CPDs, in the order of the nodes.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["no", "yes"]], [-1], [False], [[[0.25, 0.75]]])
    >>> to_cpds(tree)[0].get_values().ravel()
    array([0.25, 0.75])
    """
    return _build_cpds(_nodes_of_tree(tree))


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
        _check_one_parent(name, list(network.predecessors(name)))
    try:
        return _build_tree(_nodes_of_network(network))
    except InvalidTreeError as error:
        raise InvalidTreeError(f"{error}{_remedy(error)}") from None


def _remedy(error: InvalidTreeError) -> str:
    """Return what to do about a row that pgmpy tolerates and a tree does not."""
    return "; call normalize() on its CPD" if "sums to" in str(error) else ""


def _check_network(network) -> None:
    if not isinstance(network, DiscreteBayesianNetwork):
        raise TypeError(f"expected a pgmpy DiscreteBayesianNetwork, got {type(network).__name__}")


def _check_one_parent(name: Hashable, parents: list[Hashable]) -> None:
    if len(parents) > 1:
        listed = ", ".join(repr(parent) for parent in parents[:-1])
        raise NotATreeError(
            f"node {name!r} has parents {listed} and {parents[-1]!r}; a forest allows at most one. "
            "Remove all but one of the edges into it."
        )


# Nodes: the form between trees, networks and files ------------------------------------------------


def _nodes_of(model: LatentTree | DiscreteBayesianNetwork) -> list[Node]:
    return _nodes_of_tree(model) if isinstance(model, LatentTree) else _nodes_of_network(model)


def _nodes_of_tree(tree: LatentTree) -> list[Node]:
    if not isinstance(tree, LatentTree):
        raise TypeError(f"expected a LatentTree, got {type(tree).__name__}; see from_pgmpy")
    return [
        Node(name, states, () if above < 0 else (int(above),), table, frozenset({LATENT} if hidden else ()))
        for name, states, above, hidden, table in zip(
            tree.names, tree.state_names, tree.parent, tree.latent, tree.tables, strict=True
        )
    ]


def _build_tree(nodes: Sequence[Node]) -> LatentTree:
    for node in nodes:
        _check_one_parent(node.name, [nodes[above].name for above in node.parents])
    return LatentTree(
        names=[node.name for node in nodes],
        state_names=[node.states for node in nodes],
        parent=[node.parents[0] if node.parents else -1 for node in nodes],
        latent=[node.latent for node in nodes],
        tables=[node.table for node in nodes],
    )


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


def _build_network(nodes: Sequence[Node], title: str = "") -> DiscreteBayesianNetwork:
    if any(node.name is None for node in nodes):
        raise InvalidTreeError("a node is called None, which pgmpy does not allow; rename it")
    network = DiscreteBayesianNetwork()
    network.add_nodes_from([node.name for node in nodes])
    # pgmpy looks for a cycle at every edge; parents first, the search ends at once.
    network.add_edges_from(
        [(nodes[above].name, nodes[child].name) for child in parents_first(nodes) for above in nodes[child].parents]
    )
    for role in sorted(frozenset().union(*(node.roles for node in nodes))):
        network.with_role(role, {node.name for node in nodes if role in node.roles}, inplace=True)
    network.cpds = _build_cpds(nodes)  # add_cpds compares each with all before it
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
            raise InvalidTreeError(f"there is a CPD of {cpd.variable!r}, which is no node; remove it")
        cpds.setdefault(cpd.variable, cpd)  # the first is the one that get_cpds returns
    for name in names:
        if name not in cpds:
            raise InvalidTreeError(f"node {name!r} has no CPD; fit the network, or add the CPD")
    states = {name: _states(cpds[name], name, len(cpds[name].values)) for name in names}
    return [
        Node(
            name=name,
            states=states[name],
            parents=tuple(position[above] for above in _evidence(network, cpds[name])),
            table=_aligned_table(cpds[name], states),
            roles=_roles(network.nodes[name].get("roles")),
        )
        for name in names
    ]


def _roles(roles) -> frozenset[str]:
    """Return the roles of a node as pgmpy counts them: its XMLBIF reader leaves text, which it ignores."""
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


def _aligned_table(cpd: TabularCPD, states: dict[Hashable, tuple]) -> np.ndarray:
    """Return a copy of the table, parent states in the order of the parents' own CPDs, node states last."""
    values = np.asarray(cpd.values, dtype=np.float64)
    for axis, name in enumerate(cpd.variables[1:], start=1):
        listed = _states(cpd, name, values.shape[axis])
        if set(listed) != set(states[name]):
            raise InvalidTreeError(
                f"the CPD of {cpd.variable!r} gives its parent {name!r} the states {list(listed)}, but that "
                f"of {name!r} has {list(states[name])}; make them agree"
            )
        if listed != states[name]:
            values = values.take([listed.index(state) for state in states[name]], axis=axis)
    return np.moveaxis(values, 0, -1).reshape(-1, values.shape[0]).copy()


# Files --------------------------------------------------------------------------------------------


def save(model: LatentTree | DiscreteBayesianNetwork, path: str | os.PathLike) -> None:
    """Write a tree, or any discrete pgmpy network, to a JSON file that :func:`load` reads back exactly.

    Kept are kind, order of nodes, names and states with their types, hidden nodes and other roles, the
    network's name, and every bit of the probabilities; not the weights of edges, nor attributes that a user
    hung on nodes. Names and states may be text, integers, booleans, floats other than NaN, and tuples of
    these; NumPy's scalars come back as Python's. The file appears whole or not at all: a failure leaves an
    older file as it was.

    Parameters
    ----------
    model : LatentTree or pgmpy.models.DiscreteBayesianNetwork
    path : path-like
        Its folder must exist.

    Raises
    ------
    InvalidTreeError
        If a name cannot be kept, or the network is incomplete. Nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> tree = LatentTree(["x"], [[1, 2]], [-1], [False], [[[0.25, 0.75]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(tree, f"{folder}/model.json")
    ...     load(f"{folder}/model.json") == tree
    True
    """
    if isinstance(model, LatentTree):
        text = to_text("tree", _nodes_of_tree(model))
    else:
        nodes = _nodes_of_network(model)  # also says what is expected, should the model be neither
        text = to_text("network", nodes, model.name if isinstance(model.name, str) else "")
    _write_whole(Path(path), text.encode())


def load(path: str | os.PathLike) -> LatentTree | DiscreteBayesianNetwork:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LatentTree or pgmpy.models.DiscreteBayesianNetwork
        Whichever was saved.

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
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        kind, nodes, title = from_text(text)
        return _build_tree(nodes) if kind == "tree" else _build_network(nodes, title)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not text in UTF-8 ({error})") from None
    except PgmpyLatentError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _write_whole(path: Path, content: bytes) -> None:
    """Write beside the target, then put it in its place: readers see the old file or the new one."""
    target = Path(os.path.realpath(path))  # through a link, rather than in place of it
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(target.parent)!r} does not exist; create it first")
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


# What pgmpy's own formats lose --------------------------------------------------------------------


def check_export(model: LatentTree | DiscreteBayesianNetwork, format: str) -> list[str]:
    """Say what a file in one of pgmpy's formats would lose of a model.

    The model is written and read back by pgmpy, and the two are compared, so that the answer is that of the
    installed pgmpy. Its readers are slow; of a large model only nodes that differ in kind (characters of
    names and states, shape, digits of the probabilities) make the journey. The network's own name is not
    compared, and other programs' readers are not tried.

    Parameters
    ----------
    model : LatentTree or pgmpy.models.DiscreteBayesianNetwork
    format : {"bif", "xmlbif", "net", "uai"}
        In any case.

    Returns
    -------
    list of str
        A sentence per kind of loss, with examples; empty if the model comes back as it was.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["a", "b"], ["no", "yes"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> check_export(tree, "bif")
    ["hidden nodes come back as observed: 'H'"]
    """
    kind = str(format).lower()
    if kind not in EXPORT_FORMATS:
        raise ValueError(f"unknown format {format!r}; known are {', '.join(EXPORT_FORMATS)}")
    nodes = _nodes_of(model)
    if len(nodes) > _SMALL[kind]:
        nodes = _representatives(nodes, kind)
    with tempfile.TemporaryDirectory() as folder, _quiet_pgmpy():
        path = str(Path(folder, f"model.{kind}"))
        network = _build_network(nodes)
        try:
            network.save(path, kind)
        except Exception as error:  # whatever pgmpy raises is the finding
            return [f"pgmpy cannot write this model as {kind.upper()}: {_first_line(error)}"]
        try:
            back = DiscreteBayesianNetwork.load(path, kind)
            returned = _nodes_of_network(back)
        except Exception as error:
            return [f"pgmpy cannot read its own {kind.upper()} file of this model: {_first_line(error)}"]
    return _differences(nodes, returned, kind)


@contextmanager
def _quiet_pgmpy() -> Iterator[None]:
    """Silence pgmpy's log for a while: it warns about what the comparison finds."""
    logger = logging.getLogger("pgmpy")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip() or 'no message'}".splitlines()[0]


def _file_order(kind: str) -> Callable[[Node], tuple]:
    """Return the key by which pgmpy's writer sorts the nodes."""
    if kind == "uai":
        return lambda node: (str(len(node.states)), node.name)
    return lambda node: (node.name,)


def _differences(sent: list[Node], returned: list[Node], kind: str) -> list[str]:
    if len(sent) != len(returned):
        lost = [repr(node.name) for node in sent if node.name not in {other.name for other in returned}]
        return [f"{len(sent)} nodes come back as {len(returned)}; lost or merged: {_some(lost)}"]
    # Readers keep the order of the file, so that even a renamed node is recognised by its place.
    arrived = dict(zip((node.name for node in sorted(sent, key=_file_order(kind))), returned, strict=True))
    pairs = [(node, arrived[node.name]) for node in sent]
    order = [arrived[node.name] for node in sent]
    inside = frozenset if kind == "uai" else tuple  # the UAI reader shuffles parents, which is said below
    same_edges = [inside(_parents(a, order)) == inside(_parents(b, returned)) for a, b in pairs]
    findings = {
        "nodes are renamed": [_change(a.name, b.name) for a, b in pairs if not _same(a.name, b.name)],
        "nodes come back in another order": [repr(b.name) for b in returned] if order != returned else [],
        "edges change, into": [repr(a.name) for (a, _), same in zip(pairs, same_edges, strict=True) if not same],
        "hidden nodes come back as observed": [repr(a.name) for a, b in pairs if a.latent and not b.latent],
        "roles are lost": [
            f"{role!r} of {a.name!r}" for a, b in pairs for role in sorted(a.roles - b.roles - {LATENT})
        ],
        "states change": [f"{_change(*pair)} in {a.name!r}" for a, b in pairs for pair in _state_changes(a, b)],
        "tables may be scrambled (pgmpy's UAI reader takes several parents in no fixed order)": [
            repr(a.name) for a, _ in pairs if kind == "uai" and len(a.parents) > 1
        ],
        "probabilities change": [
            f"{a.name!r} by up to {error:.1g}"
            for (a, b), same in zip(pairs, same_edges, strict=True)
            if same and (error := _table_error(a, b, order, returned)) != 0
        ],
    }
    return [f"{what}: {_some(culprits)}" for what, culprits in findings.items() if culprits]


def _some(culprits: list[str]) -> str:
    return ", ".join(culprits[:3]) + (", ..." if len(culprits) > 3 else "")


def _change(before, after) -> str:
    return f"{before!r} becomes {after!r}"


def _same(before: Hashable, after: Hashable) -> bool:
    text = isinstance(before, str) and isinstance(after, str)  # NumPy has a class of its own
    return before == after and (text or type(before) is type(after))


def _parents(node: Node, nodes: Sequence[Node]) -> list[Hashable]:
    return [nodes[above].name for above in node.parents]


def _state_changes(a: Node, b: Node) -> list[tuple]:
    if len(a.states) != len(b.states):
        return [(list(a.states), list(b.states))]
    return [pair for pair in zip(a.states, b.states, strict=True) if not _same(*pair)]


def _table_error(a: Node, b: Node, order: Sequence[Node], returned: Sequence[Node]) -> float:
    """Return how far the probabilities of a node are off; zero where the tables cannot be compared."""
    if a.table.shape != b.table.shape or _parents(a, order) != _parents(b, returned):
        return 0.0
    return float(np.abs(a.table - b.table).max())


def _representatives(nodes: Sequence[Node], kind: str) -> list[Node]:
    """Return a node of every kind, and their parents without theirs: all that a format can stumble on."""
    seen: dict[tuple, int] = {}
    keep = {seen.setdefault(_traits(node, nodes), index) for index, node in enumerate(nodes)}
    keep |= _first_disorder(nodes, _file_order(kind)) | _alike_but_for_case(nodes)
    extra = {above for index in keep for above in nodes[index].parents} - keep
    position = {index: new for new, index in enumerate(sorted(keep | extra))}
    chosen = []
    for index in position:
        node = nodes[index]
        parents = tuple(position[above] for above in node.parents) if index in keep else ()
        table = node.table if index in keep else np.eye(1, len(node.states))
        chosen.append(replace(node, parents=parents, table=table))
    return chosen


def _traits(node: Node, nodes: Sequence[Node]) -> tuple:
    small = (node.table > 0) & (node.table < 1e-4)  # written with an exponent
    family = (node, *(nodes[above] for above in node.parents))
    return (
        *(_pattern(member.name) for member in family),
        *(_pattern(state) for member in family for state in member.states),
        node.table.shape,
        node.roles,
        bool(small.any()),
        np.array_equal(node.table, node.table.round(8)),  # as NET has it
    )


def _pattern(value: Hashable) -> tuple:
    """Return type and text, runs of letters and of digits shortened unless they spell a word of a grammar."""
    text = str(value)
    if not _KEYWORDS.search(text.lower()):
        text = re.sub("[0-9]+", "9", re.sub("[A-Za-z]+", "a", text))
    return type(value), text


def _first_disorder(nodes: Sequence[Node], key: Callable[[Node], tuple]) -> set[int]:
    for index in range(len(nodes) - 1):
        try:
            if key(nodes[index]) > key(nodes[index + 1]):
                return {index, index + 1}
        except TypeError:  # names that cannot be compared, which the writers cannot sort
            return {index, index + 1}
    return set()


def _alike_but_for_case(nodes: Sequence[Node]) -> set[int]:
    seen: dict[str, int] = {}
    for index, node in enumerate(nodes):
        first = seen.setdefault(str(node.name).lower(), index)
        if first != index:
            return {first, index}
    return set()
