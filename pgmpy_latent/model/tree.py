"""The model: a forest over observed and hidden categorical variables, with its probability tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmpy_latent.exceptions import InvalidTreeError, NotATreeError
from pgmpy_latent.model.emissions import emission_of_states
from pgmpy_latent.model.labels import MOST_DIGITS, check_names, has_too_many_digits
from pgmpy_latent.runtime.arrays import read_only

#: How far from one the sum of a row of probabilities may be.
ROW_SUM_TOLERANCE = 1e-8

#: Values that count as missing, as a model stores them: pairs (column, values).
MissingCodes = tuple[tuple[Hashable, tuple[Hashable, ...]], ...]
#: Values that count as missing, as callers may give them: a dict of column to values, or pairs.
MissingCodesLike = Mapping[Any, Iterable[Hashable]] | Iterable[tuple[Hashable, Iterable[Hashable]]]


def child_lists(parent: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Return the children of every node, in node order.

    Examples
    --------
    >>> child_lists(np.array([2, 2, -1]))
    ((), (), (0, 1))
    """
    children: list[list[int]] = list(map(list, [()] * len(parent)))
    for node, above in enumerate(parent):
        if above >= 0:
            children[above].append(node)
    return tuple(map(tuple, children))


def parents_first(parent: np.ndarray, names: Sequence[Hashable] | None = None) -> np.ndarray:
    """Return the node indices so that every parent precedes its children; names are for the error message.

    Raises
    ------
    NotATreeError
        If the parent pointers contain a cycle.

    Examples
    --------
    >>> parents_first(np.array([2, 2, -1])).tolist()
    [2, 0, 1]
    """
    children = child_lists(parent)
    order = [node for node, above in enumerate(parent) if above < 0]
    for node in order:  # the list grows while it is walked: breadth first
        order.extend(children[node])
    if len(order) < len(parent):
        inside = sorted(set(range(len(parent))) - set(order))
        called = inside if names is None else [names[node] for node in inside]
        raise NotATreeError(f"following the parents of {called} runs in a circle; a forest has none. Remove an edge.")
    return np.array(order, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DiscreteModel:
    """Nodes with names, states and probability tables: the common base of trees and networks, immutable.

    Its subclasses add the parents of the nodes. They write their own ``__init__``, as it accepts any sequences and
    arrays, while the fields hold tuples and read-only arrays.
    """

    names: tuple[Hashable, ...]
    state_names: tuple[tuple[Hashable, ...], ...]
    latent: np.ndarray
    tables: tuple[np.ndarray, ...]
    missing: MissingCodes

    if TYPE_CHECKING:  # computed by trees, a field of networks

        @property
        def parents(self) -> tuple[tuple[int, ...], ...]:
            """Indices of the parents of every node."""

    def _set_fields(
        self,
        names: Iterable[Hashable],
        state_names: Iterable[Iterable[Hashable]],
        latent: ArrayLike,
        tables: Iterable[ArrayLike],
        missing: MissingCodesLike,
    ) -> None:
        """Set the fields that all models have; only ``__init__`` may call this."""
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "state_names", tuple(tuple(states) for states in state_names))
        object.__setattr__(self, "latent", read_only(latent, np.bool_))
        object.__setattr__(self, "tables", tuple(read_only(table, np.float64) for table in tables))
        object.__setattr__(self, "missing", pairs_of_codes(missing))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, hidden and observed."""
        return len(self.names)

    @cached_property
    def cards(self) -> np.ndarray:
        """Number of states of each node."""
        return read_only([len(states) for states in self.state_names], np.int64)

    @cached_property
    def n_parameters(self) -> int:
        """Number of free parameters: a table of r rows and k states has r (k - 1), since every row sums to one."""
        total = sum(table.shape[0] * (table.shape[1] - 1) for table in self.tables)
        for node, emission in enumerate(map(emission_of_states, self.state_names)):
            if emission is not None:  # which may share parameters among the rows
                rows, columns = self.tables[node].shape
                total += emission.n_parameters(rows) - rows * (columns - 1)
        return int(total)

    @cached_property
    def is_numeric(self) -> np.ndarray:
        """Which nodes are numeric columns."""
        return read_only([emission_of_states(states) is not None for states in self.state_names], np.bool_)

    @cached_property
    def per_state(self) -> np.ndarray:
        """How many free parameters the table of each node gains with a state of its parent."""
        emissions = map(emission_of_states, self.state_names)
        shared = [one is not None and one.is_shared for one in emissions]
        return read_only(self.cards - 1 - np.array(shared, dtype=np.int64), np.int64)

    @cached_property
    def latent_names(self) -> tuple[Hashable, ...]:
        """Names of the hidden nodes, in node order."""
        return tuple(name for name, hidden in zip(self.names, self.latent, strict=True) if hidden)

    @cached_property
    def observed_names(self) -> tuple[Hashable, ...]:
        """Names of the observed nodes, in node order."""
        return tuple(name for name, hidden in zip(self.names, self.latent, strict=True) if not hidden)

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {name: node for node, name in enumerate(self.names)}

    def index(self, name: Hashable) -> int:
        """Return the position of the node called ``name``."""
        try:
            return self._position[name]
        except KeyError:
            raise KeyError(f"no node is called {name!r}; the nodes are {list(self.names)}") from None

    def table(self, name: Hashable) -> np.ndarray:
        """Return the table of the node called ``name``."""
        return self.tables[self.index(name)]

    def with_tables(self, tables: Iterable[np.ndarray]) -> Self:
        """Return the same model with other tables."""
        return replace(self, tables=tuple(tables))

    def _repr_html_(self) -> str:
        """Return the model as notebooks show it."""
        from pgmpy_latent.report.notebook import model_html

        return model_html(self)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LatentTree(DiscreteModel):
    """A forest-shaped discrete Bayesian network, immutable.

    The joint distribution is the product of ``tables[node][state of parent, state]`` over the nodes; a
    root's table has one row. A node is latent or observed, wherever it stands. See :func:`check` for what
    must hold; every instance has passed it.

    Parameters
    ----------
    names : sequence of hashable
        Names of the nodes; they fix the order of everything else.
    state_names : sequence of sequences
        The states of each node.
    parent : array of int, shape (n_nodes,)
        Index of each node's parent, -1 for a root.
    latent : array of bool, shape (n_nodes,)
        Which nodes are hidden.
    tables : sequence of arrays, shape (parent's states or 1, states)
        Conditional probabilities; every row sums to one.
    missing : dict of column to values, or pairs of them, optional
        Values of observed nodes that count as missing cells wherever rows are read, such as 99 for "no answer"; stored
        as pairs (name, values).

    Examples
    --------
    >>> tree = LatentTree(
    ...     names=["H", "smokes"],
    ...     state_names=[[0, 1], ["no", "yes"]],
    ...     parent=[-1, 0],
    ...     latent=[True, False],
    ...     tables=[[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]],
    ... )
    >>> tree
    LatentTree(2 nodes, 1 latent, 3 parameters)
    >>> tree.table("smokes")
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """

    parent: np.ndarray

    def __init__(
        self,
        names: Iterable[Hashable],
        state_names: Iterable[Iterable[Hashable]],
        parent: ArrayLike,
        latent: ArrayLike,
        tables: Iterable[ArrayLike],
        missing: MissingCodesLike = (),
    ) -> None:
        self._set_fields(names, state_names, latent, tables, missing)
        object.__setattr__(self, "parent", read_only(parent, np.int64))
        check(self)

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the parents of every node, at most one each, in the form that networks use."""
        return tuple(() if above < 0 else (int(above),) for above in self.parent)

    @cached_property
    def roots(self) -> np.ndarray:
        """Indices of the nodes without a parent."""
        return read_only(np.flatnonzero(self.parent < 0), np.int64)

    @cached_property
    def order(self) -> np.ndarray:
        """Node indices, parents before children."""
        return read_only(parents_first(self.parent), np.int64)

    @cached_property
    def child_lists(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the children of every node."""
        return child_lists(self.parent)

    def children(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the names of the children of the node called ``name``."""
        return tuple(self.names[child] for child in np.flatnonzero(self.parent == self.index(name)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatentTree):
            return NotImplemented
        return (
            self.names == other.names
            and self.state_names == other.state_names
            and same_types(self.state_names, other.state_names)
            and np.array_equal(self.parent, other.parent)
            and np.array_equal(self.latent, other.latent)
            and all(np.array_equal(a, b) for a, b in zip(self.tables, other.tables, strict=True))
            and same_codes(self.missing, other.missing)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.state_names, self.parent.tobytes(), self.latent.tobytes()))

    def __repr__(self) -> str:
        return f"LatentTree({self.n_nodes} nodes, {int(self.latent.sum())} latent, {self.n_parameters} parameters)"

    def __reduce__(self):  # copies and pickles are built anew, so that their arrays are read-only too
        return LatentTree, (self.names, self.state_names, self.parent, self.latent, self.tables, self.missing)

    def __deepcopy__(self, memo) -> LatentTree:
        return self  # immutable


def same_types(left: Iterable[Iterable], right: Iterable[Iterable]) -> bool:
    """Tell whether two equal lists of states also agree in type (1 == True, but they are not the same)."""
    return all(
        type(a) is type(b) for mine, theirs in zip(left, right, strict=True) for a, b in zip(mine, theirs, strict=True)
    )


def pairs_of_codes(missing: MissingCodesLike) -> MissingCodes:
    """Return codes for missing cells as pairs (name, values), from a dict or pairs; names without codes are dropped.

    Examples
    --------
    >>> pairs_of_codes({"age": [99, -1], "sex": []})
    (('age', (99, -1)),)
    """
    pairs = missing.items() if isinstance(missing, Mapping) else missing
    listed = ((name, tuple(values)) for name, values in pairs)
    return tuple((name, values) for name, values in listed if values)


def same_codes(left: MissingCodes, right: MissingCodes) -> bool:
    """Tell whether the same values count as missing, in any order."""
    mine, theirs = (
        {name: {(isinstance(value, bool), value) for value in values} for name, values in pairs}
        for pairs in (left, right)
    )
    return mine == theirs


def check(tree: LatentTree) -> None:
    """Raise unless every invariant of a :class:`LatentTree` holds.

    1. There is at least one node; names are hashable and unique.
    2. ``state_names``, ``parent``, ``latent`` and ``tables`` have one entry per node.
    3. Every node has at least one state; the states of a node are hashable and differ, and no number among names,
       states and values that count as missing has more than 1,000 digits.
    4. Parents are other nodes or -1, and following them never runs in a circle.
    5. A table has one row per state of the parent (one row at a root) and one column per state.
    6. Probabilities are finite and at least zero; each row sums to one (within 1e-8).
    7. Arrays are read-only.
    8. Values that count as missing are those of observed nodes, hashable, and none of their states.

    Raises
    ------
    InvalidTreeError
        Naming the node and what is wrong with it.
    NotATreeError
        If the parents form a cycle.

    Examples
    --------
    >>> LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.6]]])
    Traceback (most recent call last):
    pgmpy_latent.exceptions.InvalidTreeError: table of 'x': row 0 sums to 1.1, not to 1
    """
    check_nodes(tree, "parent")
    _check_parents(tree)
    cards = [len(states) for states in tree.state_names]
    shapes = [(cards[above] if above >= 0 else 1, card) for above, card in zip(tree.parent, cards, strict=True)]
    if not _are_distributions(tree.tables, shapes):
        for name, table, shape in zip(tree.names, tree.tables, shapes, strict=True):
            check_table(name, table, shape)
    if any(array.flags.writeable for array in (tree.parent, tree.latent, *tree.tables)):
        raise InvalidTreeError("the arrays of a tree must be read-only")


def check_nodes(tree: DiscreteModel, parents_field: str) -> None:
    """Raise unless names and states are well-formed; ``parents_field`` is the field that holds the parents."""
    n_nodes = len(tree.names)
    if n_nodes == 0:
        raise InvalidTreeError("a tree needs at least one node")
    check_names(tree.names, "node", InvalidTreeError)
    for field in ("state_names", parents_field, "latent", "tables"):
        if len(getattr(tree, field)) != n_nodes:
            raise InvalidTreeError(
                f"{field} has {len(getattr(tree, field))} entries for {n_nodes} nodes; it needs one per node"
            )
    for name, states in zip(tree.names, tree.state_names, strict=True):
        if not states:
            raise InvalidTreeError(f"node {name!r} has no states; it needs at least one")
        if any(map(has_too_many_digits, states)):
            raise InvalidTreeError(
                f"node {name!r} has a state that is a number of more than {MOST_DIGITS:,} digits; make it text"
            )
        if len(set(states)) < len(states):
            raise InvalidTreeError(f"node {name!r} names a state twice: {list(states)}")
    _check_codes(tree)


def _check_codes(tree: DiscreteModel) -> None:
    """Raise unless the values that count as missing are those of observed nodes, and none of their states."""
    for name, values in tree.missing:
        if name not in tree.observed_names:
            raise InvalidTreeError(f"missing names {name!r}, which is not an observed node; name columns only")
        states = {(isinstance(state, bool), state) for state in tree.state_names[tree.index(name)]}
        for value in values:
            if not isinstance(value, Hashable):
                raise InvalidTreeError(f"missing of {name!r} holds {value!r}; give text, numbers or booleans")
            if has_too_many_digits(value):
                raise InvalidTreeError(
                    f"missing of {name!r} holds a number of more than {MOST_DIGITS:,} digits; leave it out"
                )
            if (isinstance(value, bool), value) in states:
                raise InvalidTreeError(f"{value!r} is a state of {name!r} and counts as missing; decide for one")


def _check_parents(tree: LatentTree) -> None:
    if tree.parent.ndim != 1 or tree.latent.ndim != 1:
        raise InvalidTreeError("parent and latent must be one-dimensional")
    for node, above in enumerate(tree.parent):
        if not -1 <= above < len(tree.names) or above == node:
            raise InvalidTreeError(f"node {tree.names[node]!r} has parent {above}; give another node or -1")
    parents_first(tree.parent, tree.names)


def _are_distributions(tables: Sequence[np.ndarray], shapes: Sequence[tuple[int, int]]) -> bool:
    """Tell whether tables have their shapes and rows of probabilities, looking at all of them at once."""
    if [table.shape for table in tables] != shapes:
        return False
    entries = np.concatenate([table.ravel() for table in tables])
    n_rows, lengths = zip(*shapes, strict=True)
    ends = np.cumsum(np.repeat(lengths, n_rows))
    sums = np.add.reduceat(entries, np.concatenate([[0], ends[:-1]]))
    return bool(entries.min() >= 0) and bool((np.abs(sums - 1) <= ROW_SUM_TOLERANCE).all())


def check_table(name: Hashable, table: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise unless a table has the shape and its rows are probabilities."""
    if table.shape != shape:
        raise InvalidTreeError(f"table of {name!r} has shape {table.shape}; states of parent and node ask for {shape}")
    if not np.isfinite(table).all() or (table < 0).any():
        raise InvalidTreeError(f"table of {name!r} holds a negative number, NaN or infinity")
    sums = table.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise InvalidTreeError(f"table of {name!r}: row {worst} sums to {sums[worst]:.10g}, not to 1")
