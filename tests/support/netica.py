"""A reader of Netica's DNE, written from the description of the format and apart from what writes it.

Tokens are identifiers (a letter, then letters, digits and underscores, 30 at most), numbers, strings, ``@imposs``
(zero) and punctuation; ``//`` and ``/* */`` begin comments. A block is ``kind name { ... };``, a field is
``name = value;``. The numbers of ``probs`` are in the order of the parents, the last one fastest, and within each
row of the node's states; their brackets do not matter.
"""

import re
from typing import NamedTuple

import numpy as np

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\])*")|(?P<imposs>@imposs)"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z]\w*)|(?P<mark>[{}()=,;])|(?P<blank>\s+)""",
    re.DOTALL | re.ASCII,
)


class Node(NamedTuple):
    """A node of a network: its states, parents, and table with a row for every combination of parents' states."""

    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: np.ndarray


def read_netica(text: str) -> dict[str, Node]:
    """Return the nodes of a network by name; raise ValueError where the text is against the description."""
    if not text.startswith("// ~->[DNET-1]->~"):
        raise ValueError("the first line does not say that this is DNET")
    tokens = _tokens(text)
    (kind, _, fields), rest = _block(tokens)
    if kind != "bnet" or rest:
        raise ValueError("a file holds one bnet")
    nodes = [entry for entry in fields if entry[0] == "node"]
    blocks = {name: {entry[0]: entry[1] for entry in body if len(entry) == 2} for _, name, body in nodes}
    sizes = {name: len(body["states"]) for name, body in blocks.items()}
    found: dict[str, Node] = {}
    for name, body in blocks.items():
        if body["kind"] != "NATURE" or body["discrete"] != "TRUE":
            raise ValueError(f"{name} is not a discrete node of nature")
        if any(parent not in found for parent in body["parents"]):
            raise ValueError(f"{name} stands before one of its parents")
        rows = int(np.prod([sizes[parent] for parent in body["parents"]]))
        table = np.array(_flat(body["probs"]), dtype=float).reshape(rows, sizes[name])
        found[name] = Node(tuple(body["states"]), tuple(body["parents"]), table)
    return found


def _tokens(text: str) -> list:
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"cannot read {text[at : at + 20]!r}")
        at, kind, words = match.end(), match.lastgroup, match.group()
        if kind == "word" and len(words) > 30:
            raise ValueError(f"{words} is longer than 30 characters")
        if kind not in ("comment", "blank"):
            tokens.append(float(words) if kind == "number" else 0.0 if kind == "imposs" else words)
    return tokens


def _block(tokens: list) -> tuple[tuple, list]:
    """Return (kind, name, entries) of a block, and what follows; entries are blocks, or (field, value)."""
    kind, name, opening, *rest = tokens
    if opening != "{":
        raise ValueError(f"{kind} {name} has no block")
    entries: list = []
    while rest[0] != "}":
        if rest[1] == "=":
            value, after = _value(rest[2:])
            entries.append((rest[0], value))
            if after[0] != ";":
                raise ValueError(f"{rest[0]} does not end in a semicolon")
            rest = after[1:]
        else:
            block, rest = _block(rest)
            entries.append(block)
    if rest[1] != ";":
        raise ValueError(f"{kind} {name} does not end in a semicolon")
    return (kind, name, entries), rest[2:]


def _value(tokens: list) -> tuple[object, list]:
    if tokens[0] != "(":
        return tokens[0], tokens[1:]
    values: list = []
    rest = tokens[1:]
    while rest[0] != ")":
        value, rest = _value(rest)
        values.append(value)
        if rest[0] == ",":
            rest = rest[1:]
    return values, rest[1:]


def _flat(value) -> list[float]:
    return [number for part in value for number in _flat(part)] if isinstance(value, list) else [value]
