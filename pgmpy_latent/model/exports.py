"""Check what a model loses in pgmpy's file formats, and read networks from them."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from pgmpy_latent.exceptions import FileFormatError
from pgmpy_latent.model.convert import build_network, nodes_of
from pgmpy_latent.model.json_format import LATENT, Node
from pgmpy_latent.model.pgmpy_api import DiscreteBayesianNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.files import check_readable

#: The formats of pgmpy that :func:`check_export` knows.
EXPORT_FORMATS = ("bif", "xmlbif", "net", "uai")
#: Above this many nodes pgmpy's readers take seconds, growing faster than linearly.
_SMALL = {"bif": 100, "xmlbif": 1_000, "net": 25, "uai": 20}
#: Words of the formats' grammars: a name or state that contains one may be read as something else.
_KEYWORDS = re.compile("data|default|discrete|name|net|node|potential|probability|property|states|table|type|variable")


def check_export(model: LatentTree | DiscreteBayesianNetwork, format: str) -> list[str]:
    """Return what a model would lose in a file of one of pgmpy's formats.

    The model is written and read back by the installed pgmpy, and the two are compared. Since pgmpy's readers are slow,
    only one node of each kind (characters of names and states, shape, digits of the probabilities) of a large model is
    written. The name of the network is not compared, and readers of other programs are not tried.

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
    nodes = nodes_of(model)
    if len(nodes) > _SMALL[kind]:
        nodes = _representatives(nodes, kind)
    with tempfile.TemporaryDirectory() as folder, _quiet_pgmpy():
        path = str(Path(folder, f"model.{kind}"))
        network = build_network(nodes)
        try:
            network.save(path, kind)
        except Exception as error:  # any error of pgmpy's is the result
            return [f"pgmpy cannot write this model as {kind.upper()}: {_first_line(error)}"]
        try:
            back = DiscreteBayesianNetwork.load(path, kind)
            returned = nodes_of(back)
        except Exception as error:
            return [f"pgmpy cannot read its own {kind.upper()} file of this model: {_first_line(error)}"]
    return _differences(nodes, returned, kind)


def read_export(path: str | os.PathLike, format: str) -> DiscreteBayesianNetwork:
    """Read a network from a file in one of pgmpy's formats.

    Parameters
    ----------
    path : path-like
        The file.
    format : {"bif", "xmlbif", "net", "uai"}
        In any case.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        The formats do not say which nodes are hidden; assign ``latents``.

    Raises
    ------
    FileFormatError
        If pgmpy cannot make a network of it.

    Examples
    --------
    >>> network = build_network(nodes_of(LatentTree(["x"], [["no", "yes"]], [-1], [False], [[[0.25, 0.75]]])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     network.save(f"{folder}/model.bif", "bif")
    ...     read_export(f"{folder}/model.bif", "bif").nodes()
    NodeView(('x',))
    """
    kind = str(format).lower()
    if kind not in EXPORT_FORMATS:
        raise ValueError(f"unknown format {format!r}; known are {', '.join(EXPORT_FORMATS)}")
    check_readable(path)
    try:
        with _quiet_pgmpy():
            network = DiscreteBayesianNetwork.load(str(path), kind)
    except OSError:
        raise
    except Exception as error:  # pgmpy's readers raise many kinds
        raise FileFormatError(f"{path}: pgmpy cannot read it as {kind.upper()}: {_first_line(error)}") from None
    if (
        not isinstance(network, DiscreteBayesianNetwork) or not network.nodes()
    ):  # UAI files may hold another kind of model
        raise FileFormatError(f"{path}: pgmpy finds no nodes in it; is it {kind.upper()}?")
    return network


@contextmanager
def _quiet_pgmpy() -> Iterator[None]:
    """Silence pgmpy's log, which warns about what the comparison finds anyway."""
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
    inside = frozenset if kind == "uai" else tuple  # the UAI reader shuffles parents, which is reported below
    same_edges = [inside(_parents(a, order)) == inside(_parents(b, returned)) for a, b in pairs]
    findings = {
        "nodes are renamed": [_change(a.name, b.name) for a, b in pairs if not _same(a.name, b.name)],
        "nodes come back in another order": [repr(b.name) for b in returned] if order != returned else [],
        "edges change, into": [repr(a.name) for (a, _), same in zip(pairs, same_edges, strict=True) if not same],
        "hidden nodes come back as observed": [repr(a.name) for a, b in pairs if a.latent and not b.latent],
        "roles are lost": [
            f"{role!r} of {a.name!r}" for a, b in pairs for role in sorted(a.roles - b.roles - {LATENT})
        ],
        "values that count as missing are forgotten": [repr(a.name) for a, b in pairs if a.missing and not b.missing],
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
    """Return the largest error of a node's probabilities; zero if the tables cannot be compared."""
    if a.table.shape != b.table.shape or _parents(a, order) != _parents(b, returned):
        return 0.0
    return float(np.abs(a.table - b.table).max())


def _representatives(nodes: Sequence[Node], kind: str) -> list[Node]:
    """Return one node of every kind and their parents, the latter as roots: enough to show every problem."""
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
        bool(node.missing),
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
