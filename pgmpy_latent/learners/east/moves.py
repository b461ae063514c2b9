"""The operators of a search over latent trees: which candidates there are, and what becomes of the tree."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count

import numpy as np

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import (
    bound_from_cards,
    contract_edge,
    cut_edge,
    delete_node,
    introduce_node,
    link_nodes,
    make_regular,
    regular_bound,
    relocate_node,
    root_walk,
)
from pgmpy_latent.operators.edges import neighbours_of, path_from_root
from pgmpy_latent.operators.star import Star, with_star


@dataclass(frozen=True)
class Rules:
    """What a tree must not violate.

    Attributes
    ----------
    max_latents, max_states : float
        Most hidden variables, and most states of each.
    together : tuple of frozenset
        Groups of columns that must have the same parent.
    """

    max_latents: float = np.inf
    max_states: float = np.inf
    together: tuple[frozenset, ...] = ()

    def broken(self, tree: LatentTree) -> str | None:
        """Return what a tree violates, in words, or None."""
        hidden = tree.latent_names
        if len(hidden) > self.max_latents:
            return f"has {len(hidden)} hidden variables, more than max_latents={self.max_latents}"
        for name in hidden:
            if tree.cards[tree.index(name)] > self.max_states:
                return f"has {tree.cards[tree.index(name)]} states of {name!r}, more than max_states={self.max_states}"
        for group in self.together:
            around = [set(neighbours_of(tree, tree.index(name))) for name in group]
            if not any(tree.latent[node] for node in set.intersection(*around)):
                return f"has no hidden variable that the columns {sorted(group, key=str)} share as together= asks"
        return None

    def unit(self, name: Hashable) -> frozenset:
        """Return the columns that must go wherever this one goes, itself included."""
        return next((group for group in self.together if name in group), frozenset([name]))

    def binds(self, name: Hashable) -> bool:
        """Tell whether a column must stay with others; what hangs on it stays there too."""
        return len(self.unit(name)) > 1

    def units(self, tree: LatentTree, node: int) -> list[tuple[Hashable, ...]]:
        """Return the neighbours of a node, those that must stay together as one."""
        found: dict[frozenset, list] = {}
        for other in neighbours_of(tree, node):
            found.setdefault(self.unit(tree.names[other]), []).append(tree.names[other])
        return [tuple(names) for names in found.values()]


@dataclass(frozen=True)
class Introduce:
    """Node introduction: a new hidden node between a node and some of its neighbours."""

    node: Hashable
    moved: tuple[Hashable, ...]
    n_states: int

    operator = "introduce node"

    def __str__(self) -> str:
        return f"{self.node}: {', '.join(map(str, self.moved))}"


@dataclass(frozen=True)
class Grow:
    """State introduction."""

    node: Hashable

    operator = "introduce state"

    def __str__(self) -> str:
        return str(self.node)


@dataclass(frozen=True)
class Relocate:
    """Node relocation: the edges of some neighbours of ``old`` lead to ``new`` instead.

    If ``new`` is None, the edge is cut; if ``old`` is None, ``moved`` is a node of another component than ``new``.
    """

    moved: tuple[Hashable, ...]
    old: Hashable
    new: Hashable

    operator = "relocate node"

    def __str__(self) -> str:
        ends = ["nowhere" if end is None else str(end) for end in (self.old, self.new)]
        return f"{', '.join(map(str, self.moved))}: {ends[0]} to {ends[1]}"


@dataclass(frozen=True)
class Shrink:
    """State deletion; a node that is left with one state is removed."""

    node: Hashable

    operator = "delete state"

    def __str__(self) -> str:
        return str(self.node)


@dataclass(frozen=True)
class Delete:
    """Node deletion: another hidden node takes over the neighbours."""

    node: Hashable
    into: Hashable

    operator = "delete node"

    def __str__(self) -> str:
        return f"{self.node} into {self.into}"


@dataclass(frozen=True)
class Contract:
    """Two hidden neighbours become one, with as many states as the data want. Not in the paper."""

    node: Hashable
    swallowed: Hashable

    operator = "join nodes"

    def __str__(self) -> str:
        return f"{self.node} and {self.swallowed}"


Move = Introduce | Grow | Relocate | Shrink | Delete | Contract
KINDS = {kind.__name__: kind for kind in (Introduce, Grow, Relocate, Shrink, Delete, Contract)}


#: The parts of moves that are names of single nodes.
NAMED = ("node", "old", "new", "into", "swallowed")


def introductions(tree: LatentTree, rules: Rules) -> list[Introduce]:
    """Return all introductions of a node between a node and two of its neighbours (or units of them).

    A hidden node must be left with at least three neighbours, the new one included; a column is known anyway. The new
    node has as many states as the old one, or as many as a regular tree allows.
    """
    if tree.latent.sum() >= rules.max_latents:
        return []
    found = []
    for node in range(tree.n_nodes):
        if rules.binds(tree.names[node]):
            continue
        units, degree = rules.units(tree, node), len(neighbours_of(tree, node))
        some = [*((unit,) for unit in units if len(unit) > 1), *combinations(units, 2)]
        for chosen in some:
            moved = tuple(other for unit in chosen for other in unit)
            if degree - len(moved) >= 2 or not tree.latent[node]:
                cards = [int(tree.cards[tree.index(other)]) for other in moved]
                bound = bound_from_cards([int(tree.cards[node]), *cards])
                n_states = int(min(tree.cards[node], bound, rules.max_states))
                if n_states > 1:
                    found.append(Introduce(tree.names[node], moved, n_states))
    return found


def growths(tree: LatentTree, rules: Rules) -> list[Grow]:
    """Return the hidden nodes that may have a state more."""
    return [
        Grow(name)
        for name in tree.latent_names
        if tree.cards[tree.index(name)] < min(regular_bound(tree, name), rules.max_states)
    ]


def relocations(tree: LatentTree, rules: Rules) -> list[Relocate]:
    """Return all ways to hang one side of an edge on another hidden node, to cut the edge, or to link components."""
    component = _components(tree)
    found = []
    for node in range(tree.n_nodes):
        if rules.binds(tree.names[node]):
            continue
        for unit in rules.units(tree, node):
            others = [tree.index(name) for name in unit]
            old, beyond = tree.names[node], set().union(*(_beyond(tree, other, node) for other in others))
            targets = [
                name
                for name in tree.latent_names
                if name != old and component[tree.index(name)] == component[node] and tree.index(name) not in beyond
            ]
            found += [Relocate(unit, old, new) for new in targets]
            if node < others[0] and not rules.binds(unit[0]):  # cutting is the same from both ends
                found.append(Relocate(unit, old, None))
    return found + list(_links(tree, component))


def _links(tree: LatentTree, component: np.ndarray) -> Iterator[Relocate]:
    """Yield edges between components, whose ends are hidden or columns of a component without any hidden node."""
    hidden = {int(component[tree.index(name)]) for name in tree.latent_names}
    ends = [node for node in range(tree.n_nodes) if tree.latent[node] or component[node] not in hidden]
    for pair in combinations(ends, 2):
        if component[pair[0]] != component[pair[1]]:
            moved, new = sorted(pair, key=lambda node: (tree.latent[node], node))  # a column is hung on a hidden node
            yield Relocate((tree.names[moved],), None, tree.names[new])


def shrinkages(tree: LatentTree, rules: Rules) -> list[Shrink]:
    """Return the hidden nodes that may have a state less; with one state they cannot hold columns together."""
    return [
        Shrink(name)
        for name in tree.latent_names
        if tree.cards[tree.index(name)] > 2
        or (tree.cards[tree.index(name)] == 2 and all(len(unit) == 1 for unit in rules.units(tree, tree.index(name))))
    ]


def deletions(tree: LatentTree) -> list[Delete]:
    """Return all pairs of a hidden node and a hidden neighbour that may take over its other neighbours."""
    return [
        Delete(name, tree.names[other])
        for name in tree.latent_names
        for other in neighbours_of(tree, tree.index(name))
        if tree.latent[other]
    ]


def contractions(tree: LatentTree) -> list[Contract]:
    """Return all pairs of hidden neighbours."""
    return [
        Contract(name, tree.names[other])
        for name in tree.latent_names
        for other in neighbours_of(tree, tree.index(name))
        if tree.latent[other] and tree.index(name) < other
    ]


def is_possible(tree: LatentTree, move: Move, rules: Rules) -> bool:
    """Tell whether a move that was found in an earlier tree can still be made."""
    if not _known(move) <= set(tree.names):
        return False
    if isinstance(move, Introduce):
        return any((move.node, move.moved) == (other.node, other.moved) for other in introductions(tree, rules))
    if isinstance(move, Grow):
        return move in growths(tree, rules)
    if isinstance(move, Shrink):
        return move in shrinkages(tree, rules)
    if isinstance(move, (Delete, Contract)):
        other = move.into if isinstance(move, Delete) else move.swallowed
        return tree.index(other) in neighbours_of(tree, tree.index(move.node))
    return _can_relocate(tree, move)


def _known(move: Move) -> set:
    """Return the names that must be there."""
    named = {*getattr(move, "moved", ()), *(getattr(move, part, None) for part in NAMED)}
    return named - {None}


def _can_relocate(tree: LatentTree, move: Relocate) -> bool:
    nodes = [tree.index(name) for name in move.moved]
    if move.old is None:
        return move in _links(tree, _components(tree))
    old = tree.index(move.old)
    if not set(nodes) <= set(neighbours_of(tree, old)):
        return False
    if move.new is None:
        return True
    component, new = _components(tree), tree.index(move.new)
    return bool(component[new] == component[old]) and not any(new in _beyond(tree, node, old) for node in nodes)


@dataclass(frozen=True, eq=False)
class Local:
    """The tables that a move changes.

    Attributes
    ----------
    root : hashable
        The node from which the tables are seen.
    tables : dict
        P(node | the one before it on the way from the root), by the node's name; the new node of an introduction is
        called None.
    star : Star, optional
        Instead: all tables around the root.
    """

    root: Hashable
    tables: Mapping[Hashable, np.ndarray] | None = None
    star: Star | None = None


def applied(tree: LatentTree, move: Move, local: Local) -> LatentTree:
    """Return the tree with a move made and its tables put in place; a node that becomes superfluous is left out.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, 0], [True, False], [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> applied(tree, Relocate(("x",), "H", None), Local("H", {"x": np.array([[0.5, 0.5]])}))
    LatentTree(1 nodes, 0 latent, 1 parameters)
    """
    if local.star is not None:
        if isinstance(move, Contract):
            tree = contract_edge(tree, move.node, move.swallowed)
        return make_regular(with_star(tree, tree.index(move.node), local.star, range(local.star.n_states)))
    new = None
    if isinstance(move, Introduce):
        new = next(name for name in (f"H{number}" for number in count(1)) if name not in tree.names)
        tree = introduce_node(root_walk(tree, move.node), move.node, move.moved, new)
    elif isinstance(move, Delete):
        tree = delete_node(root_walk(tree, move.into), move.node, move.into)
    else:
        tree = _relocated(tree, move)
    tables, states = list(tree.tables), list(tree.state_names)
    for name, table in local.tables.items():
        at = tree.index(new if name is None else name)
        tables[at] = table
        if name is None:
            states[at] = tuple(range(table.shape[1]))
    return make_regular(LatentTree(tree.names, states, tree.parent, tree.latent, tables))


def _relocated(tree: LatentTree, move: Relocate) -> LatentTree:
    """Return the tree with other edges; seen from the node that the edges lead to, or in two parts."""
    if move.new is None:
        return root_walk(cut_edge(root_walk(tree, move.old), move.old, move.moved[0]), move.moved[0])
    if move.old is None:
        return link_nodes(root_walk(tree, move.new), move.moved[0], move.new)
    for name in move.moved:
        tree = relocate_node(tree, name, move.old, move.new)
    return root_walk(tree, move.new)


def touched(tree: LatentTree, move: Move) -> frozenset:
    """Return the names of the hidden nodes that a move changes."""
    named = {getattr(move, part, None) for part in NAMED}
    return frozenset(name for name in named if name in tree.latent_names)


def undoes(move: Move, before: Move, fresh: Collection[Hashable]) -> bool:
    """Tell whether a move takes back what the one before it did; ``fresh`` are the nodes that this introduced."""
    if isinstance(before, Relocate):
        return isinstance(move, Relocate) and bool(set(move.moved) & set(before.moved))
    if isinstance(before, (Grow, Shrink)):
        return isinstance(move, (Grow, Shrink)) and move.node == before.node
    if isinstance(move, Relocate):
        return move.old in fresh
    return isinstance(move, (Delete, Contract)) and bool(_known(move) & set(fresh))


def signature(tree: LatentTree, move: Move) -> str:
    """Return words that change when something around a move does: its nodes, their neighbours, numbers of states."""
    around = []
    for name in sorted(_known(move), key=str):
        at = tree.index(name)
        others = [f"{tree.names[other]}/{tree.cards[other]}" for other in neighbours_of(tree, at)]
        around.append(f"{name}/{tree.cards[at]}: {' '.join(others)}")
    return f"{type(move).__name__} {move} | {', '.join(around)}"


def as_list(move: Move) -> list:
    """Return a move as plain words and numbers; :func:`from_list` reads it.

    Examples
    --------
    >>> from_list(as_list(Delete("H2", "H1")))
    Delete(node='H2', into='H1')
    """
    parts = [list(part) if isinstance(part, tuple) else part for part in vars(move).values()]
    return [type(move).__name__, *parts]


def from_list(parts: Sequence) -> Move:
    """Return the move that :func:`as_list` wrote.

    Examples
    --------
    >>> from_list(["Grow", "H"])
    Grow(node='H')
    """
    kind, *values = parts
    return KINDS[kind](*(tuple(value) if isinstance(value, list) else value for value in values))


def _components(tree: LatentTree) -> np.ndarray:
    """Return the root of each node."""
    return np.array([path_from_root(tree.parent, node)[0] for node in range(tree.n_nodes)])


def _beyond(tree: LatentTree, node: int, without: int) -> set[int]:
    """Return the nodes on a node's side of the edge to a neighbour."""
    found, ahead = {node}, [(node, without)]
    while ahead:
        here, before = ahead.pop()
        for other in neighbours_of(tree, here):
            if other != before:
                found.add(other)
                ahead.append((other, here))
    return found
