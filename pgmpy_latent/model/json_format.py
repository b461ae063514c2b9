"""The file format of the package: the nodes of a discrete network as JSON text, and back. Knows no pgmpy.

A file is one object: ``format`` ("pgmpy_latent"), ``version`` (1), ``kind`` ("tree" or "network"), for a
network its ``title``, and ``nodes``, in order. A node has ``name``, ``latent``, ``states``, ``parents`` (by
name), ``table`` (a row per combination of parent states, the last parent running fastest) and, in a network,
``roles`` other than being latent. If values of a column count as missing cells, ``missing`` lists them. Names and
states are JSON strings, integers and booleans; a float is
``{"float": "0.5"}``, a tuple ``{"tuple": [...]}``: ``1``, ``1.0``, ``True`` and ``"1"`` stay apart. A numeric column
has features in the place of states, ``{"feature": [name, kind, centre, scale, largest, floor]}``, with numbers as text;
:mod:`pgmpy_latent.model.emissions` says what they, and its table, mean. A mixture of trees has the kind
"mixture", and ``weights`` and ``trees``, each of which is written like a file, in place of ``nodes``. The
nodes of a Gaussian tree, of the kind "gaussian tree", have ``name``, ``latent``, ``parent`` (its place in the list, -1
for none), ``correlation``, ``mean`` and ``std``, and ``missing`` if values of the column count as missing cells.

A tree or network that was saved with the learner it comes from has the version 2 and ``about``, which
:mod:`pgmpy_latent.model.history` describes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from reprlib import repr as shorten
from typing import cast

import numpy as np

from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError
from pgmpy_latent.model.emissions import FEATURES, Emission, Feature, NumericKind
from pgmpy_latent.model.labels import check_names

FORMAT = "pgmpy_latent"
VERSION = 2
#: The version of files that say nothing about where the model comes from, which older readers know as well.
FIRST_VERSION = 1
KINDS = ("tree", "network")
GAUSSIAN = "gaussian tree"
#: pgmpy's word for the role of a hidden node.
LATENT = "latents"
#: pgmpy's check_model() lets a row be off by this much; a stricter reader would refuse its networks.
ROW_SUM_TOLERANCE = 0.01
#: An array has at most 64 dimensions, and pgmpy's tables need one for the node itself.
MOST_PARENTS = 63


@dataclass(frozen=True, eq=False)
class Node:
    """A node with its table: what trees, pgmpy networks and files have in common."""

    name: Hashable
    states: tuple[Hashable, ...]
    parents: tuple[int, ...]  #: positions in the list of nodes
    table: np.ndarray  #: shape (combinations of parent states, states)
    roles: frozenset[str] = frozenset()
    missing: tuple[Hashable, ...] = ()  #: values that count as missing cells

    @property
    def latent(self) -> bool:
        """Whether the node is hidden."""
        return LATENT in self.roles


def parents_first(nodes: Sequence[Node]) -> list[int]:
    """Return the positions of the nodes, parents before children; a cycle is a :class:`CycleError`."""
    return list(TopologicalSorter({index: node.parents for index, node in enumerate(nodes)}).static_order())


def table_problem(table: np.ndarray) -> str | None:
    """Return why the rows of a table are not probabilities; None if they are."""
    if not np.isfinite(table).all() or (table < 0).any():
        return "the table holds a negative number, NaN or infinity"
    sums = table.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        return f"row {worst} of the table sums to {sums[worst]:.10g}, not to 1"
    return None


# Writing ------------------------------------------------------------------------------------------


def _head(kind: str, about: dict | None, **fields) -> dict:
    """Return the first fields of a file; what is known about the model came with a later version."""
    head = {"format": FORMAT, "version": VERSION if about else FIRST_VERSION, "kind": kind, **fields}
    return {**head, "about": about} if about else head


def to_text(kind: str, nodes: Sequence[Node], title: str = "", about: dict | None = None) -> str:
    """Return the file's text: a field per line, a row of a table per line."""
    head = _head(kind, about, **({"title": title} if kind == "network" else {}))
    lines = [f"  {_dump(key)}: {_dump(value)},\n" for key, value in head.items()]
    body = ",\n".join(_node_text(node, nodes) for node in nodes)
    return "{\n" + "".join(lines) + f'  "nodes": [\n{body}\n  ]\n}}\n'


def mixture_text(trees: Sequence[Sequence[Node]], weights: Sequence[float], about: dict | None = None) -> str:
    """Return the text of a mixture: ``weights``, and under ``trees`` the text that each tree would have by itself."""
    head = _head("mixture", about, weights=list(weights))
    lines = [f"  {_dump(key)}: {_dump(value)},\n" for key, value in head.items()]
    body = ",\n".join(to_text("tree", nodes).strip() for nodes in trees)
    return "{\n" + "".join(lines) + f'  "trees": [\n{body}\n  ]\n}}\n'


def gaussian_text(nodes: Sequence[dict], about: dict | None = None) -> str:
    """Return the text of a Gaussian tree: a node per line."""
    head = _head(GAUSSIAN, about)
    lines = [f"  {_dump(key)}: {_dump(value)},\n" for key, value in head.items()]
    body = ",\n".join(f"    {_dump(node)}" for node in nodes)
    return "{\n" + "".join(lines) + f'  "nodes": [\n{body}\n  ]\n}}\n'


def _dump(value) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _node_text(node: Node, nodes: Sequence[Node]) -> str:
    problem = table_problem(node.table)
    if problem:
        raise InvalidTreeError(f"node {node.name!r}: {problem}. Mend its CPD; nothing was written.")
    fields = {
        "name": encode_name(node.name, f"the name {node.name!r}"),
        "latent": node.latent,
        "states": [encode_name(state, f"state {state!r} of node {node.name!r}") for state in node.states],
        "parents": [encode_name(nodes[above].name, "a parent") for above in node.parents],
    }
    roles = sorted(node.roles - {LATENT})
    if roles:
        fields["roles"] = [encode_name(role, f"role {role!r} of node {node.name!r}") for role in roles]
    if node.missing:
        what = f"of node {node.name!r}, which counts as missing,"
        fields["missing"] = [encode_name(value, f"value {value!r} {what}") for value in node.missing]
    lines = [f"{_dump(key)}: {_dump(value)}" for key, value in fields.items()]
    rows = ",\n".join(f"        {_dump(row)}" for row in node.table.tolist())
    return "    {" + ",\n     ".join([*lines, f'"table": [\n{rows}\n     ]']) + "}"


def encode_name(value: Hashable, what: str):
    """Return the JSON form of a name or state; NumPy's scalars become Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in (bool, int) or (type(value) is str and _is_unicode(value)):
        return value
    if type(value) is float and not math.isnan(value):
        return {"float": repr(value)}
    if type(value) is tuple:
        return {"tuple": [encode_name(part, what) for part in value]}
    if isinstance(value, Feature):
        units = value.emission
        numbers = [repr(number) for number in (units.centre, units.scale, units.largest, units.floor)]
        return {"feature": [value.name, units.kind, *numbers]}
    raise InvalidTreeError(
        f"{what} cannot be kept in a file ({type(value).__name__}): names and states may be text, integers, "
        "booleans, floats other than NaN, and tuples of these. Rename it; nothing was written."
    )


def _is_unicode(text: str) -> bool:
    """Tell whether a string has no lone surrogates, which UTF-8 cannot express."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


# Reading ------------------------------------------------------------------------------------------


def from_text(text: str) -> tuple[str, list[Node], str, dict]:
    """Return kind, nodes, title and ``about``; anything that :func:`to_text` would not write is a FileFormatError."""
    try:
        document = _parse(text)
        kind, nodes, title = from_document(document)
        return kind, nodes, title, document.get("about", {})
    except RecursionError:
        raise FileFormatError("nested too deeply") from None


def _optional_fields(document: dict) -> set[str]:
    """Return the fields that a file of this version may have besides those that it must have."""
    return {"about"} if document["version"] > FIRST_VERSION else set()


def mixture_from_text(text: str) -> tuple[list[list[Node]], list[float], dict] | None:
    """Return the nodes of every tree of a mixture, their weights, and ``about``; None if the text is no mixture."""
    try:
        document = _parse(text)
        found = mixture_from_document(document)
        return None if found is None else (*found, document.get("about", {}))
    except RecursionError:
        raise FileFormatError("nested too deeply") from None


def mixture_from_document(document) -> tuple[list[list[Node]], list[float]] | None:
    """Return the same from parsed JSON text."""
    if not isinstance(document, dict) or document.get("kind") != "mixture":
        return None
    _check_head(document)
    _check_fields(document, {"format", "version", "kind", "weights", "trees"}, _optional_fields(document), "the file")
    weights = _list(document["weights"], '"weights"')
    if not all(type(weight) in (int, float) for weight in weights):
        raise FileFormatError('"weights" are not numbers')
    trees = [from_document(tree) for tree in _list(document["trees"], '"trees"')]
    if any(kind != "tree" for kind, _, _ in trees):
        raise FileFormatError('the parts of a mixture must be of the kind "tree"')
    return [nodes for _, nodes, _ in trees], weights


def document_of(text: str) -> dict | None:
    """Return the parsed text of a Gaussian tree, with its head checked; None if it is of another kind."""
    try:
        document = _parse(text)
    except RecursionError:
        raise FileFormatError("nested too deeply") from None
    if not isinstance(document, dict) or document.get("kind") != GAUSSIAN:
        return None
    _check_head(document)
    _check_fields(document, {"format", "version", "kind", "nodes"}, _optional_fields(document), "the file")
    return document


def _parse(text: str):
    try:
        return json.loads(text)
    except ValueError as error:  # not always a JSONDecodeError: integers of thousands of digits
        raise FileFormatError(f"not JSON, or cut short: {error}") from None


def from_document(document) -> tuple[str, list[Node], str]:
    """Return kind, nodes and title of a text that was parsed already."""
    _check_head(document)
    kind = document.get("kind")
    if kind not in KINDS:
        raise FileFormatError(f'"kind" is {shorten(kind)}; it must be "tree" or "network"')
    extra = {"title"} if kind == "network" else set()
    _check_fields(document, {"format", "version", "kind", "nodes"} | extra, _optional_fields(document), "the file")
    title = document.get("title", "")
    if not isinstance(title, str) or not _is_unicode(title):
        raise FileFormatError(f'"title" is {shorten(title)}, not text')
    return kind, _read_nodes(_list(document["nodes"], '"nodes"')), title


def _check_head(document) -> None:
    """Raise unless a text is of this format, in a version that is known."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f'"format" is not "{FORMAT}": not a file that pgmpy_latent.save wrote')
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise FileFormatError(f"unknown version {shorten(version)}; this package writes version {VERSION}")
    if version > VERSION:
        raise FileFormatError(f"version {shorten(version)} was written by a newer pgmpy_latent; upgrade it")


def _read_nodes(entries: list) -> list[Node]:
    names = [_read_name(entry, f"node number {number}") for number, entry in enumerate(entries)]
    check_names(names, "node", FileFormatError)
    position = {name: index for index, name in enumerate(names)}
    states = [_read_states(name, entry) for name, entry in zip(names, entries, strict=True)]
    nodes = [_read_node(name, entry, states, position) for name, entry in zip(names, entries, strict=True)]
    try:
        parents_first(nodes)
    except CycleError as error:
        circle = " -> ".join(repr(names[index]) for index in error.args[1])
        raise FileFormatError(f"the parents form a cycle: {circle}") from None
    return nodes


def _read_name(entry, what: str) -> Hashable:
    _check_fields(entry, {"name", "latent", "states", "parents", "table"}, {"roles", "missing"}, what)
    return decode_name(entry["name"], f"the name of {what}")


def _read_states(name: Hashable, entry: dict) -> tuple[Hashable, ...]:
    states = tuple(
        decode_name(state, f"a state of node {name!r}") for state in _list(entry["states"], f"node {name!r}: states")
    )
    if not states:
        raise FileFormatError(f"node {name!r} has no states")
    if len(set(states)) < len(states):
        raise FileFormatError(f"node {name!r} names a state twice")
    return states


def _read_node(name: Hashable, entry: dict, states: list[tuple], position: dict[Hashable, int]) -> Node:
    what = f"node {name!r}"
    if type(entry["latent"]) is not bool:
        raise FileFormatError(f"{what}: latent is {shorten(entry['latent'])}, neither true nor false")
    roles = _list(entry.get("roles", []), f"{what}: roles")
    if not all(isinstance(role, str) and _is_unicode(role) for role in roles):
        raise FileFormatError(f"{what}: roles must be text")
    parents = _read_parents(what, entry["parents"], position)
    cards = [len(states[above]) for above in parents]
    table = _read_table(what, entry["table"], (math.prod(cards), len(states[position[name]])))
    return Node(
        name=name,
        states=states[position[name]],
        parents=parents,
        table=table,
        roles=frozenset(roles) - {LATENT} | ({LATENT} if entry["latent"] else set()),
        missing=_read_missing(what, entry, states[position[name]]),
    )


def _read_missing(what: str, entry: dict, states: tuple) -> tuple[Hashable, ...]:
    values = tuple(
        decode_name(value, f"a value of {what} that counts as missing")
        for value in _list(entry.get("missing", []), f"{what}: missing")
    )
    if values and entry["latent"]:
        raise FileFormatError(f"{what} is hidden; no values of it can count as missing")
    known = {(isinstance(state, bool), state) for state in states}
    for value in values:
        if (isinstance(value, bool), value) in known:
            raise FileFormatError(f"{what}: {shorten(value)} is a state and counts as missing")
    return values


def _read_parents(what: str, entry, position: dict[Hashable, int]) -> tuple[int, ...]:
    names = [decode_name(parent, f"a parent of {what}") for parent in _list(entry, f"{what}: parents")]
    for name in names:
        if name not in position:
            raise FileFormatError(f"{what} has the parent {name!r}, which is not a node of the file")
    if len(set(names)) < len(names):
        raise FileFormatError(f"{what} names a parent twice")
    if len(names) > MOST_PARENTS:
        raise FileFormatError(f"{what} has {len(names)} parents; a table allows {MOST_PARENTS}")
    return tuple(position[name] for name in names)


def _read_table(what: str, entry, shape: tuple[int, int]) -> np.ndarray:
    """Read rows of numbers. Lengths are checked before an array is made, so that no file can reserve memory."""
    rows = [_list(row, f"{what}: a row of the table") for row in _list(entry, f"{what}: the table")]
    if len(rows) != shape[0]:
        raise FileFormatError(f"{what}: the table has {len(rows)} rows; the states of the parents ask for {shape[0]}")
    for number, row in enumerate(rows):
        if len(row) != shape[1]:
            raise FileFormatError(f"{what}: row {number} of the table has {len(row)} entries for {shape[1]} states")
        for value in row:
            if type(value) not in (int, float) or not 0 <= value <= 2:  # NaN and 10**400 end here too
                raise FileFormatError(f"{what}: {shorten(value)} in row {number} of the table is not a probability")
    table = np.array(rows, dtype=np.float64)
    problem = table_problem(table)
    if problem:
        raise FileFormatError(f"{what}: {problem}")
    return table


def _decode_feature(parts: list, what: str) -> Feature:
    """Return the feature of a numeric column: its name, the kind of the column, and four numbers."""
    if len(parts) == 6 and all(isinstance(part, str) for part in parts):
        name, kind, *numbers = parts
        try:
            centre, scale, largest, floor = map(float, numbers)
        except ValueError:
            raise FileFormatError(f"{what}: {shorten(parts)} is no feature of a numeric column") from None
        is_known = kind in FEATURES and name in FEATURES[kind]
        if is_known and 0 < scale < np.inf and 0 < largest < np.inf and 0 <= floor < np.inf and np.isfinite(centre):
            return Feature(Emission(cast("NumericKind", kind), centre, scale, largest, floor), name)
    raise FileFormatError(f"{what}: {shorten(parts)} is no feature of a numeric column")


def decode_name(value, what: str) -> Hashable:
    """Return the name or state of a JSON form."""
    if type(value) in (bool, int) or (type(value) is str and _is_unicode(value)):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((tag, inner),) = value.items()
        if tag == "tuple" and isinstance(inner, list):
            return tuple(decode_name(part, what) for part in inner)
        if tag == "feature" and isinstance(inner, list):
            return _decode_feature(inner, what)
        if tag == "float" and isinstance(inner, str):
            return _decode_float(inner, what)
    raise FileFormatError(f"{what} is {shorten(value)}, which is neither text, integer, boolean, float nor tuple")


def _decode_float(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise FileFormatError(f"{what}: {shorten(text)} is not a float")
    return value


def _list(value, what: str) -> list:
    if not isinstance(value, list):
        raise FileFormatError(f"{what}: expected a list, found {shorten(value)}")
    return value


def _check_fields(entry, required: set[str], optional: set[str], what: str) -> None:
    if not isinstance(entry, dict):
        raise FileFormatError(f"{what}: expected an object, found {shorten(entry)}")
    missing = sorted(required - set(entry))
    unknown = sorted(set(entry) - required - optional)
    if missing or unknown:
        problem = f"misses {missing}" if missing else f"has unknown fields {shorten(unknown)}"
        raise FileFormatError(f"{what} {problem}")
