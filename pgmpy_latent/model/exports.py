"""Formats of model files: which there are, how models are written and read, and what each format loses.

A new format is a :class:`ModelFormat` in :data:`MODEL_FORMATS`, whether pgmpy has it or not; the command line and
:func:`check_export` then know it.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pgmpy_latent.exceptions import FileFormatError
from pgmpy_latent.model.convert import build_network, load, nodes_of, save, to_pgmpy, without_numbers
from pgmpy_latent.model.json_format import LATENT, Node
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.pgmpy_api import DiscreteBayesianNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.files import check_readable

#: Words of the formats' grammars: a name or state that contains one may be read as something else.
_KEYWORDS = re.compile("data|default|discrete|name|net|node|potential|probability|property|states|table|type|variable")

#: What is written to files.
AnyModel: TypeAlias = LatentTree | LatentNetwork | DiscreteBayesianNetwork


@dataclass(frozen=True)
class ModelFormat:
    """A format of model files.

    Attributes
    ----------
    name : str
        Its name in lower case.
    endings : tuple of str
        How its files end, in lower case.
    write : callable
        Writes a model, given the model and the path.
    read : callable
        Returns the model in a file, given the path; it may raise anything if the file is damaged.
    may_lose : bool
        Whether :func:`check_export` must look at what comes back.
    program : str
        Who writes and reads it, for messages.
    n_nodes_checked : int
        :func:`check_export` writes larger models in part only, as their readers take seconds, growing faster than
        linearly.
    order_in_file : callable
        The key by which its writer sorts the nodes.
    shuffles_parents : bool
        Whether its reader takes the parents of a node in no fixed order.
    """

    name: str
    endings: tuple[str, ...]
    write: Callable[[AnyModel, str | os.PathLike], None]
    read: Callable[[str | os.PathLike], AnyModel]
    may_lose: bool = True
    program: str = "pgmpy"
    n_nodes_checked: int = 100
    order_in_file: Callable[[Node], tuple] = lambda node: (node.name,)
    shuffles_parents: bool = False


def _of_pgmpy(name: str, *endings: str, **options) -> ModelFormat:
    """Return a format that pgmpy writes and reads."""

    def write(model: AnyModel, path: str | os.PathLike) -> None:
        network = model if isinstance(model, DiscreteBayesianNetwork) else to_pgmpy(model)
        network.save(str(path), name)

    def read(path: str | os.PathLike) -> DiscreteBayesianNetwork:
        return DiscreteBayesianNetwork.load(str(path), name)

    return ModelFormat(name, endings, write, read, **options)


#: Name -> format.
MODEL_FORMATS = {
    known.name: known
    for known in (
        ModelFormat("json", (".json",), save, load, may_lose=False, program="pgmpy_latent"),
        _of_pgmpy("bif", ".bif"),
        _of_pgmpy("xmlbif", ".xmlbif", ".xml", n_nodes_checked=1_000),
        _of_pgmpy("net", ".net", n_nodes_checked=25),
        _of_pgmpy(
            "uai",
            ".uai",
            n_nodes_checked=20,
            order_in_file=lambda node: (str(len(node.states)), node.name),
            shuffles_parents=True,
        ),
    )
}
#: The formats in which something may be lost, which :func:`check_export` knows.
EXPORT_FORMATS = tuple(name for name, known in MODEL_FORMATS.items() if known.may_lose)


def format_of(path: str | os.PathLike) -> ModelFormat:
    """Return the format of a model file by its ending.

    Examples
    --------
    >>> format_of("camps.XML").name
    'xmlbif'
    >>> format_of("camps.txt")
    Traceback (most recent call last):
    pgmpy_latent.exceptions.FileFormatError: camps.txt: a model file ends in .json, .bif, .xmlbif, .xml, .net, .uai
    """
    by_ending = {ending: known for known in MODEL_FORMATS.values() for ending in known.endings}
    ending = Path(path).suffix.lower()
    if ending not in by_ending:
        raise FileFormatError(f"{path}: a model file ends in {', '.join(by_ending)}")
    return by_ending[ending]


def write_model(model: AnyModel, path: str | os.PathLike) -> None:
    """Write a model to a file whose ending says the format, whatever that loses."""
    format_of(path).write(model, path)


def read_model(path: str | os.PathLike) -> AnyModel:
    """Read a model from a file whose ending says the format; a damaged file is a :class:`FileFormatError`."""
    known = format_of(path)
    return read_export(path, known.name) if known.may_lose else known.read(path)


def _export_format(name: str) -> ModelFormat:
    """Return one of the formats in which something may be lost, by its name in any case."""
    known = MODEL_FORMATS.get(str(name).lower())
    if known is None or not known.may_lose:
        raise ValueError(f"unknown format {name!r}; known are {', '.join(EXPORT_FORMATS)}")
    return known


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
    known = _export_format(format)
    nodes = nodes_of(model)
    categories = without_numbers(nodes)
    if len(categories) < len(nodes):
        numeric = [node.name for node in nodes if node.name not in {kept.name for kept in categories}]
        left_out = f"numeric columns are left out: {_some([repr(name) for name in numeric])}"
        rest = check_export(build_network(categories), format)
        return [left_out, *rest]
    if len(nodes) > known.n_nodes_checked:
        nodes = _representatives(nodes, known)
    with tempfile.TemporaryDirectory() as folder, _quiet_pgmpy():
        path = Path(folder, f"model{known.endings[0]}")
        network = build_network(nodes)
        try:
            known.write(network, path)
        except Exception as error:  # any error of the writer is the result
            return [f"{known.program} cannot write this model as {known.name.upper()}: {_first_line(error)}"]
        try:
            returned = nodes_of(known.read(path))
        except Exception as error:
            return [
                f"{known.program} cannot read its own {known.name.upper()} file of this model: {_first_line(error)}"
            ]
    return _differences(nodes, returned, known)


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
    known = _export_format(format)
    check_readable(path)
    try:
        with _quiet_pgmpy():
            network = known.read(path)
    except OSError:
        raise
    except Exception as error:  # pgmpy's readers raise many kinds
        raise FileFormatError(
            f"{path}: {known.program} cannot read it as {known.name.upper()}: {_first_line(error)}"
        ) from None
    if (
        not isinstance(network, DiscreteBayesianNetwork) or not network.nodes()
    ):  # UAI files may hold another kind of model
        raise FileFormatError(f"{path}: {known.program} finds no nodes in it; is it {known.name.upper()}?")
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


def _differences(sent: list[Node], returned: list[Node], known: ModelFormat) -> list[str]:
    if len(sent) != len(returned):
        lost = [repr(node.name) for node in sent if node.name not in {other.name for other in returned}]
        return [f"{len(sent)} nodes come back as {len(returned)}; lost or merged: {_some(lost)}"]
    # Readers keep the order of the file, so that even a renamed node is recognised by its place.
    arrived = dict(zip((node.name for node in sorted(sent, key=known.order_in_file)), returned, strict=True))
    pairs = [(node, arrived[node.name]) for node in sent]
    order = [arrived[node.name] for node in sent]
    inside = frozenset if known.shuffles_parents else tuple  # the UAI reader shuffles parents, which is reported below
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
            repr(a.name) for a, _ in pairs if known.shuffles_parents and len(a.parents) > 1
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


def _representatives(nodes: Sequence[Node], known: ModelFormat) -> list[Node]:
    """Return one node of every kind and their parents, the latter as roots: enough to show every problem."""
    seen: dict[tuple, int] = {}
    keep = {seen.setdefault(_traits(node, nodes), index) for index, node in enumerate(nodes)}
    keep |= _first_disorder(nodes, known.order_in_file) | _alike_but_for_case(nodes)
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
