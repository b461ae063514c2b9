"""One tree for all that differ only in roots, in the names of hidden nodes and in the order of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from pgmpy_latent.model.labels import sort_key
from pgmpy_latent.model.tree import LatentTree, MissingCodes, child_lists, parents_first
from pgmpy_latent.operators.edges import neighbours_of, rooted_at
from pgmpy_latent.operators.states import DECIMALS, canonical_tables

#: What puts a branch in order: its earliest column, then its shape, then its probabilities.
Key = tuple[int, tuple[int, ...], tuple[float, ...]]


def canonical_tree(tree: LatentTree, columns: Sequence[Hashable] | None = None) -> LatentTree:
    """Return the same distribution over observed variables with roots, hidden names and node order in standard form.

    These depend on nothing but the undirected edges, the names of the observed variables and the numbers of states: not
    on where the roots were, what hidden nodes were called, or in which order the nodes stood. Two searches that found
    the same structure look the same afterwards; :func:`~pgmpy_latent.operators.canonical_states` does the same for the
    order of hidden states, which is left as it is here.

    - A component with hidden nodes is rooted at the hidden node whose largest branch has the fewest columns. Among
      several, the one with the smallest sum of distances to the columns comes first, then the one with more states,
      then the one nearest to the first column, to the second, and so on. A component without hidden nodes is rooted at
      its first column.
    - Hidden nodes are called H1, H2, ..., breadth first: components, and the branches below a node, come in the order
      of the earliest column in them. If a column has such a name, all of them are called H_1, H_2, ..., with as many
      underscores as it takes.
    - Hidden nodes come first, in the order of their numbers, then the columns.

    Hidden branches without any column say nothing about the data; they come last, by their shape. Where two of them
    have the same shape, the probabilities decide which is which.

    Parameters
    ----------
    tree : LatentTree
        The model.
    columns : sequence of hashable, optional
        The observed variables, each once, in the order that they shall have; sorted by name if None.

    Returns
    -------
    LatentTree
        It has the edges, the number of parameters and the names of states of the old one. Tables are those of
        :func:`~pgmpy_latent.operators.root_walk`: uniform given states that have probability zero.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> from pgmpy_latent.operators import root_walk
    >>> tree = hlc_model(7, random_state=0)
    >>> walked = canonical_tree(root_walk(tree, "D6"))
    >>> walked.names[:4], walked.children("H1"), walked.children("H3")
    (('H1', 'H2', 'H3', 'D1'), ('H2', 'H3', 'D4'), ('D5', 'D6', 'D7'))
    """
    return LatentTree(*_standard_form(tree, _checked_columns(tree, columns)), tree.missing)


def presentable(
    tree: LatentTree,
    missing: MissingCodes,
    columns: Sequence[Hashable] | None = None,
    *,
    standard_form: bool = False,
) -> LatentTree:
    """Return a learned tree as users see it: hidden states sorted and numbered from 0, and its codes for missing cells.

    Everything is built, and checked, in one go.

    Parameters
    ----------
    tree : LatentTree
        The learned model.
    missing : pairs (column, values)
        Values of the table that count as missing; those of columns that the tree does not have are left out.
    columns : sequence of hashable, optional
        The observed variables, each once, in the order that they shall have, after the hidden ones. By default nodes
        stay in their order.
    standard_form : bool
        Whether roots, names and the order of hidden nodes are those of :func:`canonical_tree`.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["s", "t"], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> tree = presentable(tree, (("x", (99,)), ("y", (-1,))))
    >>> tree.tables[0].tolist(), tree.state_names[0], tree.missing
    ([[0.8, 0.2]], (0, 1), (('x', (99,)),))
    """
    form = _Form(tree.names, tree.state_names, tree.parent, tree.latent, tree.tables)
    if standard_form:
        form = _standard_form(tree, _checked_columns(tree, None))
    if columns is not None:
        place = {name: at for at, name in enumerate(form.names)}
        hidden = np.flatnonzero(form.latent)
        order = np.array([*hidden, *(place[name] for name in _checked_columns(tree, columns))])
        form = form.in_order(order)
    return LatentTree(
        form.names,
        [
            range(len(states)) if hidden else states
            for states, hidden in zip(form.state_names, form.latent, strict=True)
        ],
        form.parent,
        form.latent,
        canonical_tables(form.parent, form.latent, form.tables, np.flatnonzero(form.latent).tolist()),
        [(name, values) for name, values in missing if name in tree.observed_names],
    )


class _Form(NamedTuple):
    """The parts of a tree that is yet to be built."""

    names: Sequence[Hashable]
    state_names: Sequence[Sequence[Hashable]]
    parent: np.ndarray
    latent: np.ndarray
    tables: Sequence[np.ndarray]

    def in_order(self, order: np.ndarray) -> _Form:
        """Return the parts with the nodes in another order; ``order`` has the old position of each."""
        place = np.append(np.argsort(order), -1)  # the parent of a root stays -1
        return _Form(
            [self.names[node] for node in order],
            [self.state_names[node] for node in order],
            place[self.parent[order]],
            self.latent[order],
            [self.tables[node] for node in order],
        )


def _standard_form(tree: LatentTree, columns: Sequence[Hashable]) -> _Form:
    """Return the parts of :func:`canonical_tree`."""
    position = _positions(tree, columns)
    parent, tables = _from_standard_roots(tree, position)
    keys = _branch_keys(parent, tables, position)
    hidden = [node for node in _breadth_first(parent, keys) if tree.latent[node]]
    order = np.array([*hidden, *(tree.index(name) for name in columns)])
    form = _Form(tree.names, tree.state_names, parent, tree.latent, tables).in_order(order)
    return form._replace(names=[*fresh_names(len(hidden), columns), *columns])


def with_standard_roots(tree: LatentTree) -> LatentTree:
    """Return the same distribution with the roots of :func:`canonical_tree`; names and the order of nodes stay.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> from pgmpy_latent.operators import root_walk
    >>> tree = root_walk(hlc_model(7, random_state=0), "D6")
    >>> [rooted.names[root] for rooted in (tree, with_standard_roots(tree)) for root in rooted.roots]
    ['D6', 'H1']
    """
    parent, tables = _from_standard_roots(tree, _positions(tree, _checked_columns(tree, None)))
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)


def _positions(tree: LatentTree, columns: Sequence[Hashable]) -> np.ndarray:
    """Return the position of every node among some columns: that of hidden nodes is after all of them."""
    position = np.full(tree.n_nodes, tree.n_nodes)
    position[[tree.index(name) for name in columns]] = np.arange(len(columns))
    return position


def _from_standard_roots(tree: LatentTree, position: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return parents and tables of a tree with its standard roots."""
    parent, tables = tree.parent, list(tree.tables)
    for component in _components(tree):
        root = _standard_root(tree, component, position)
        if parent[root] >= 0:
            parent, tables = rooted_at(parent, tables, root)
    return parent, tables


def _checked_columns(tree: LatentTree, columns: Iterable[Hashable] | None) -> tuple[Hashable, ...]:
    """Return the observed names of the tree itself in the order asked for."""
    if columns is None:
        return tuple(sorted(tree.observed_names, key=sort_key))
    known = {name: name for name in tree.observed_names}
    asked = list(columns)
    if strangers := [name for name in asked if name not in known]:
        raise ValueError(f"columns names {strangers}; the observed nodes are {list(known)}")
    if len(set(asked)) < len(asked) or len(asked) < len(known):
        raise ValueError(f"columns is {asked}; name each observed node once: {list(known)}")
    return tuple(known[name] for name in asked)  # 1 == 1.0, but the tree's own name stays


def fresh_names(n_hidden: int, columns: Sequence[Hashable]) -> list[str]:
    """Return names of hidden nodes that no column has."""
    taken, prefix = set(columns), "H"
    while True:
        names = [f"{prefix}{number}" for number in range(1, n_hidden + 1)]
        if taken.isdisjoint(names):
            return names
        prefix += "_"


def _components(tree: LatentTree) -> list[list[int]]:
    """Return the nodes of every component, parents first."""
    members: dict[int, list[int]] = {}
    root_of: dict[int, int] = {}
    for node in tree.order.tolist():
        above = int(tree.parent[node])
        root_of[node] = node if above < 0 else root_of[above]
        members.setdefault(root_of[node], []).append(node)
    return list(members.values())


# --- The root of a component ------------------------------------------------------------------------------


def _standard_root(tree: LatentTree, component: list[int], position: np.ndarray) -> int:
    """Return the node that a component is rooted at; its nodes are given parents first."""
    hidden = [node for node in component if tree.latent[node]]
    if not hidden:  # nothing is below a numeric column, unless it stands alone
        return min(component, key=lambda node: (tree.is_numeric[node], position[node]))
    largest, distance = _branch_sizes(tree, component)
    best = _smallest(hidden, lambda node: (largest[node], distance[node], -tree.cards[node]))
    best = _smallest(best, lambda node: _distances(tree, node, position))
    # what is left hangs on the same node, in branches without columns, or in a component without any
    return _smallest(best, lambda node: _whole_key(tree, node, position))[0]


def _smallest(nodes: list[int], key) -> list[int]:
    """Return all nodes whose key is the smallest; keys cost something, so a single node needs none."""
    if len(nodes) == 1:
        return nodes
    keys = [key(node) for node in nodes]
    least = min(keys)
    return [node for node, own in zip(nodes, keys, strict=True) if own == least]


def _branch_sizes(tree: LatentTree, component: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return, for every node, the columns in its largest branch, and the sum of its distances to all columns."""
    below = {node: int(not tree.latent[node]) for node in component}
    down = dict.fromkeys(component, 0)
    for node in reversed(component):
        for child in tree.child_lists[node]:
            below[node] += below[child]
            down[node] += down[child] + below[child]
    root = component[0]
    total, distance = below[root], {root: down[root]}
    for node in component[1:]:
        # one step closer to the columns below, one further from all others
        distance[node] = distance[int(tree.parent[node])] + total - 2 * below[node]
    largest = {
        node: max([total - below[node], *(below[child] for child in tree.child_lists[node])]) for node in component
    }
    return largest, distance


def _distances(tree: LatentTree, start: int, position: np.ndarray) -> tuple[int, ...]:
    """Return the distances from a node to the columns of its component, in their order.

    No two nodes between columns have the same ones: if a node is on the way from one column to another, its distances
    to these two tell which it is.
    """
    steps, reached = {start: 0}, [start]
    for node in reached:  # the list grows while it is walked
        for other in neighbours_of(tree, node):
            if other not in steps:
                steps[other] = steps[node] + 1
                reached.append(other)
    return tuple(steps[node] for node in sorted(reached, key=lambda node: position[node]) if not tree.latent[node])


def _whole_key(tree: LatentTree, root: int, position: np.ndarray) -> Key:
    """Return the key of a whole component rooted at a node."""
    return _branch_keys(*rooted_at(tree.parent, tree.tables, root), position, whole=True)[root]


# --- The order of branches --------------------------------------------------------------------------------


def _branch_keys(
    parent: np.ndarray, tables: Sequence[np.ndarray], position: np.ndarray, whole: bool = False
) -> list[Key]:
    """Return what puts branches in order, for the branch below every node.

    The earliest column decides, as no other branch has it. Shape and probabilities are left out where there is one,
    unless ``whole`` asks for them.
    """
    children, order = child_lists(parent), parents_first(parent)
    joints: dict[int, np.ndarray] = {}
    for node in order:
        # P(parent, node): a row of a conditional table is arbitrary where the parent's state has probability zero
        share = joints[parent[node]].sum(axis=0)[:, None] if parent[node] >= 0 else 1.0
        joints[node] = share * tables[node]
    keys: list[Key] = [(0, (), ())] * len(parent)
    for node in order[::-1]:
        below = sorted(keys[child] for child in children[node])
        first = min([int(position[node]), *(key[0] for key in below)])
        shape: tuple[int, ...] = ()
        numbers: tuple[float, ...] = ()
        if whole or first == len(parent):
            own = (int(position[node]), tables[node].shape[1], len(below))
            shape = (*own, *chain.from_iterable(key[1] for key in below))
            numbers = (*joints[node].ravel().round(DECIMALS).tolist(), *chain.from_iterable(key[2] for key in below))
        keys[node] = (first, shape, numbers)
    return keys


def _breadth_first(parent: np.ndarray, keys: Sequence[Key]) -> list[int]:
    """Return all nodes, component by component, each breadth first; keys put components and children in order."""
    children = child_lists(parent)
    found: list[int] = []
    for root in sorted(np.flatnonzero(parent < 0).tolist(), key=lambda node: keys[node]):
        queue = [root]
        for node in queue:  # the list grows while it is walked
            queue.extend(sorted(children[node], key=lambda child: keys[child]))
        found.extend(queue)
    return found
