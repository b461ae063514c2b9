"""How names and states are spelled in files of formats that do not allow every text, and how they are recovered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError
from pgmpy_latent.model.json_format import LATENT, Node, decode_name, encode_name

#: What the nodes of a file are called there, and what they are: the kind of document beside it.
FORMAT = "pgmpy_latent names"
VERSION = 1

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
IDENTIFIER_OR_NUMBER = re.compile(r"[A-Za-z][A-Za-z0-9_]*|-?[0-9]+")
#: Quoted text that NET readers take as one word.
QUOTED = re.compile(r"[!#-'*+\-.0-9:<-\[\]^_a-z|~]+")
#: Text without control characters, and without blanks at its ends, which readers strip.
PRINTABLE = re.compile(
    r"(?! )[^\x00-\x1f\x7f-\x9f\s](?:[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*[^\x00-\x20\x7f-\xa0\s])?"
)
#: What stands for letters that are no letter of ASCII with a mark.
LETTERS = str.maketrans(
    {
        "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
        "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ı": "i",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Spelling:
    """Which names and states a format can hold as they are.

    Attributes
    ----------
    name, state : compiled pattern
        What a name, and a state, must match as a whole.
    reserved : frozenset of str
        Words of the format's grammar, in lower case, which are neither names nor states.
    longest : int, optional
        Largest number of characters.
    numbered : bool
        Whether files have no names at all: nodes and states are numbers there, and read as ``var_0`` and ``0``.
    exact : bool
        Whether files keep names and states of every type, hidden nodes, other roles, and values that count as missing.
    """

    name: re.Pattern = PRINTABLE
    state: re.Pattern = PRINTABLE
    reserved: frozenset[str] = frozenset()
    longest: int | None = None
    numbered: bool = False
    exact: bool = False

    def fits(self, pattern: re.Pattern, text: str) -> bool:
        """Return whether a text can stand in a file as it is."""
        short = self.longest is None or len(text) <= self.longest
        return short and pattern.fullmatch(text) is not None and text.lower() not in self.reserved


@dataclass(frozen=True, eq=False)
class TextNode(Node):
    """A node whose name and states are text."""

    name: str
    states: tuple[str, ...]


def respelled(nodes: Sequence[Node], spelling: Spelling) -> list[TextNode]:
    """Return the nodes with names and states as a file of the format holds them: text, unique without regard to case.

    Examples
    --------
    >>> import numpy as np
    >>> node = Node("income (CHF)", ("<5", 0, "é", "e"), (), np.full((1, 4), 0.25))
    >>> plain = respelled([node], Spelling(IDENTIFIER, IDENTIFIER_OR_NUMBER))[0]
    >>> plain.name, plain.states
    ('income_CHF', ('s_5', '0', 'e_2', 'e'))
    """
    if spelling.numbered:
        names = [f"var_{at}" for at in range(len(nodes))]
        states = [[str(at) for at in range(len(node.states))] for node in nodes]
    else:
        names = _unique([node.name for node in nodes], spelling, spelling.name, "v")
        states = [_unique(node.states, spelling, spelling.state, "s") for node in nodes]
    return [
        TextNode(name, tuple(words), node.parents, node.table, node.roles, node.missing)
        for node, name, words in zip(nodes, names, states, strict=True)
    ]


def _unique(values: Iterable[Hashable], spelling: Spelling, pattern: re.Pattern, prefix: str) -> list[str]:
    """Return texts that fit the format; values that fit as they are come first in the choice of texts."""
    texts = [str(value) for value in values]
    chosen: dict[int, str] = {}
    taken: set[str] = set()
    for at, text in enumerate(texts):
        if spelling.fits(pattern, text) and text.lower() not in taken:
            chosen[at] = text
            taken.add(text.lower())
    for at, text in enumerate(texts):
        if at not in chosen:
            chosen[at] = _free(_plain(text, prefix, spelling), taken, spelling)
            taken.add(chosen[at].lower())
    return [chosen[at] for at in range(len(texts))]


def _plain(text: str, prefix: str, spelling: Spelling) -> str:
    """Return ASCII letters, digits and underscores that resemble the text.

    Examples
    --------
    >>> _plain("Straße", "v", Spelling()), _plain("Größe (cm)", "v", Spelling()), _plain("Ærø, Łódź", "v", Spelling())
    ('Strasse', 'Grosse_cm', 'AEro_Lodz')
    """
    letters = unicodedata.normalize("NFKD", text.translate(LETTERS)).encode("ascii", "ignore").decode()
    plain = re.sub("[^A-Za-z0-9]+", "_", letters).strip("_")
    plain = plain if plain[:1].isalpha() else f"{prefix}_{plain}".rstrip("_")
    plain = f"{prefix}_{plain}" if plain.lower() in spelling.reserved else plain
    return plain[: spelling.longest]


def _free(text: str, taken: set[str], spelling: Spelling) -> str:
    candidate, number = text, 1
    while candidate.lower() in taken or candidate.lower() in spelling.reserved:
        number += 1
        ending = f"_{number}"
        room = None if spelling.longest is None else spelling.longest - len(ending)
        candidate = f"{text[:room]}{ending}"
    return candidate


# The file of names --------------------------------------------------------------------------------


def names_document(nodes: Sequence[Node], written: Sequence[TextNode]) -> dict:
    """Return what a file that holds ``written`` does not say of ``nodes``, as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "nodes": [_entry(node, text) for node, text in zip(nodes, written, strict=True)],
    }


def _entry(node: Node, text: TextNode) -> dict:
    what = f"of node {node.name!r}"
    entry = {
        "written": text.name,
        "name": encode_name(node.name, f"the name {node.name!r}"),
        "latent": node.latent,
        "states": [
            {"written": word, "state": encode_name(state, f"state {state!r} {what}")}
            for word, state in zip(text.states, node.states, strict=True)
        ],
    }
    roles = sorted(node.roles - {LATENT})
    missing = [encode_name(value, f"value {value!r} {what}, which counts as missing,") for value in node.missing]
    return entry | ({"roles": roles} if roles else {}) | ({"missing": missing} if missing else {})


def renamed(nodes: Sequence[Node], document) -> list[Node]:
    """Return the nodes of a file as the document beside it says they are, in its order.

    Raises
    ------
    FileFormatError
        If the document is of another kind, or belongs to another file.
    """
    try:
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise FileFormatError(f"not a file of names of version {VERSION}")
        entries = {entry["written"]: entry for entry in document["nodes"]}
        if len(entries) != len(nodes) or {node.name for node in nodes} != set(entries):
            raise FileFormatError("it names other nodes than the file has")
        order = [list(entries).index(node.name) for node in nodes]
        found = [_renamed(node, entries[node.name]) for node in nodes]
    except (KeyError, TypeError, AttributeError, InvalidTreeError) as error:
        raise FileFormatError(f"not a file of names ({type(error).__name__}: {error})") from None
    found = [replace(node, parents=tuple(order[above] for above in node.parents)) for node in found]
    return [found[order.index(at)] for at in range(len(nodes))]


def _renamed(node: Node, entry: dict) -> Node:
    states = {state["written"]: decode_name(state["state"], "a state") for state in entry["states"]}
    if set(map(str, node.states)) != set(states) or len(node.states) != len(states):
        raise FileFormatError(f"it names other states of node {node.name!r} than the file has")
    return replace(
        node,
        name=decode_name(entry["name"], "a name"),
        states=tuple(states[str(state)] for state in node.states),
        roles=frozenset(entry.get("roles", ())) | ({LATENT} if entry["latent"] else frozenset()),
        missing=tuple(decode_name(value, "a value") for value in entry.get("missing", ())),
    )
