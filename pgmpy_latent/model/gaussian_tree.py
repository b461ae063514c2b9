"""The model for columns of numbers: a forest over columns and hidden Gaussian variables, with linear edges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as shorten

import numpy as np
from numpy.typing import ArrayLike

from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.model.labels import check_names, has_too_many_digits
from pgmpy_latent.model.tree import (
    MissingCodes,
    MissingCodesLike,
    child_lists,
    pairs_of_codes,
    parents_first,
    same_codes,
)
from pgmpy_latent.runtime.arrays import read_only


@dataclass(frozen=True, eq=False, repr=False, init=False)
class GaussianTree:
    """A forest-shaped Gaussian network over columns of numbers and hidden variables, immutable.

    All variables are jointly normal. An edge says how two neighbours are correlated, and the correlation of any two
    nodes is the product of those along the path between them; nodes of different trees are independent. A column has a
    mean and a standard deviation of its own; a hidden node has mean 0 and variance 1. See ``check_gaussian_tree``
    for what must hold; every instance has passed it.

    Parameters
    ----------
    names : sequence of hashable
        Names of the nodes; they fix the order of everything else.
    parent : array of int, shape (n_nodes,)
        Index of each node's parent, -1 for a root. It does not matter for the distribution which node of a tree is its
        root.
    latent : array of bool, shape (n_nodes,)
        Which nodes are hidden.
    correlation : array, shape (n_nodes,)
        Of each node with its parent, between -1 and 1; 0 for a root.
    mean, std : arrays, shape (n_nodes,), optional
        Means and standard deviations; 0 and 1 by default, and always for hidden nodes.
    missing : dict of column to values, or pairs of them, optional
        Values of columns that count as missing cells wherever rows are read, such as 999 for "no answer"; stored as
        pairs.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, -0.5], std=[1.0, 2.0, 10.0])
    >>> tree
    GaussianTree(3 nodes, 1 latent, 6 parameters)
    >>> tree.covariance()
    array([[  4.,  -8.],
           [ -8., 100.]])
    """

    names: tuple[Hashable, ...]
    parent: np.ndarray
    latent: np.ndarray
    correlation: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    missing: MissingCodes

    def __init__(
        self,
        names: Iterable[Hashable],
        parent: ArrayLike,
        latent: ArrayLike,
        correlation: ArrayLike,
        mean: ArrayLike | None = None,
        std: ArrayLike | None = None,
        missing: MissingCodesLike = (),
    ) -> None:
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "parent", read_only(parent, np.int64))
        object.__setattr__(self, "latent", read_only(latent, np.bool_))
        object.__setattr__(self, "correlation", read_only(correlation, np.float64))
        n_nodes = len(self.names)
        object.__setattr__(self, "mean", read_only(np.zeros(n_nodes) if mean is None else mean, np.float64))
        object.__setattr__(self, "std", read_only(np.ones(n_nodes) if std is None else std, np.float64))
        object.__setattr__(self, "missing", pairs_of_codes(missing))
        check_gaussian_tree(self)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, hidden and observed."""
        return len(self.names)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: a mean and a standard deviation per column, and a correlation per edge."""
        return int(2 * (~self.latent).sum() + (self.parent >= 0).sum())

    @cached_property
    def latent_names(self) -> tuple[Hashable, ...]:
        """Names of the hidden nodes, in node order."""
        return tuple(name for name, hidden in zip(self.names, self.latent, strict=True) if hidden)

    @cached_property
    def observed_names(self) -> tuple[Hashable, ...]:
        """Names of the observed nodes, in node order."""
        return tuple(name for name, hidden in zip(self.names, self.latent, strict=True) if not hidden)

    @cached_property
    def order(self) -> np.ndarray:
        """Node indices, parents before children."""
        return read_only(parents_first(self.parent), np.int64)

    @cached_property
    def roots(self) -> np.ndarray:
        """Indices of the nodes without a parent."""
        return read_only(np.flatnonzero(self.parent < 0), np.int64)

    @cached_property
    def child_lists(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the children of every node."""
        return child_lists(self.parent)

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {name: node for node, name in enumerate(self.names)}

    def index(self, name: Hashable) -> int:
        """Return the position of the node called ``name``."""
        try:
            return self._position[name]
        except KeyError:
            raise KeyError(f"no node is called {name!r}; the nodes are {list(self.names)}") from None

    def neighbours(self, name: Hashable) -> dict[Hashable, float]:
        """Return the nodes next to the one called ``name``, each with its correlation.

        Examples
        --------
        >>> GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, -0.5]).neighbours("H")
        {'x': 0.8, 'y': -0.5}
        """
        node = self.index(name)
        above = int(self.parent[node])
        found = {} if above < 0 else {self.names[above]: float(self.correlation[node])}
        return found | {self.names[child]: float(self.correlation[child]) for child in self.child_lists[node]}

    def correlations(self) -> np.ndarray:
        """Return the correlations of all pairs of nodes, hidden ones included, in node order."""
        matrix = np.eye(self.n_nodes)
        seen: list[int] = []
        for node in self.order.tolist():
            above = self.parent[node]
            if above >= 0:
                matrix[node, seen] = matrix[seen, node] = self.correlation[node] * matrix[above, seen]
            seen.append(node)
        return matrix

    def covariance(self) -> np.ndarray:
        """Return the covariance matrix of the columns, in node order."""
        observed = np.flatnonzero(~self.latent)
        scale = self.std[observed]
        return self.correlations()[np.ix_(observed, observed)] * scale[:, None] * scale

    def with_missing(self, missing: MissingCodesLike) -> GaussianTree:
        """Return the same model with other values that count as missing cells.

        Examples
        --------
        >>> GaussianTree(["x"], [-1], [False], [0.0]).with_missing({"x": [999]}).missing
        (('x', (999,)),)
        """
        return GaussianTree(self.names, self.parent, self.latent, self.correlation, self.mean, self.std, missing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GaussianTree):
            return NotImplemented
        arrays = ("parent", "latent", "correlation", "mean", "std")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        same = same and self.names == other.names and list(map(type, self.names)) == list(map(type, other.names))
        return same and same_codes(self.missing, other.missing)

    def __hash__(self) -> int:
        return hash((self.names, self.parent.tobytes(), self.latent.tobytes()))

    def __repr__(self) -> str:
        return f"GaussianTree({self.n_nodes} nodes, {int(self.latent.sum())} latent, {self.n_parameters} parameters)"

    def _repr_html_(self) -> str:
        from pgmpy_latent.report.notebook import model_html

        return model_html(self)

    def __reduce__(self):  # copies and pickles are built anew, so that their arrays are read-only too
        arrays = self.parent, self.latent, self.correlation, self.mean, self.std
        return GaussianTree, (self.names, *arrays, self.missing)

    def __deepcopy__(self, memo) -> GaussianTree:
        return self  # immutable


def check_gaussian_tree(tree: GaussianTree) -> None:
    """Raise unless every invariant of a :class:`GaussianTree` holds.

    1. There is at least one node, and one that is observed; names are hashable and unique.
    2. Every array has one entry per node.
    3. Parents are other nodes or -1, and following them never runs in a circle.
    4. Correlations are between -1 and 1, neither included, and 0 at roots.
    5. Means are finite, standard deviations finite and positive; those of hidden nodes are 0 and 1.
    6. Values that count as missing are numbers or text, of columns.

    Raises
    ------
    InvalidTreeError
        Naming the node and what is wrong with it.
    NotATreeError
        If the parents form a cycle.

    Examples
    --------
    >>> GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 1.0])
    Traceback (most recent call last):
    pgmpy_latent.exceptions.InvalidTreeError: correlation of 'x' with its parent is 1; give a number between -1 and 1
    """
    n_nodes = len(tree.names)
    if n_nodes == 0:
        raise InvalidTreeError("a tree needs at least one node")
    check_names(tree.names, "node", InvalidTreeError)
    for field in ("parent", "latent", "correlation", "mean", "std"):
        shape = getattr(tree, field).shape
        if shape != (n_nodes,):
            raise InvalidTreeError(f"{field} has shape {shape} for {n_nodes} nodes; it needs one entry per node")
    if tree.latent.all():
        raise InvalidTreeError("all nodes are hidden; at least one must be observed")
    for node, above in enumerate(tree.parent.tolist()):
        if not -1 <= above < n_nodes or above == node:
            raise InvalidTreeError(f"node {tree.names[node]!r} has parent {above}; give another node or -1")
    parents_first(tree.parent, tree.names)
    _check_numbers(tree)
    for name, values in tree.missing:
        if name not in tree.observed_names:
            raise InvalidTreeError(f"missing names {name!r}, which is not an observed node; name columns only")
        for value in values:
            if not isinstance(value, (int, float, str)) or has_too_many_digits(value):
                raise InvalidTreeError(f"missing of {name!r} holds {shorten(value)}; give numbers or text")


def _check_numbers(tree: GaussianTree) -> None:
    """Raise unless correlations, means and standard deviations are what they can be."""
    for name, above, hidden, correlation, mean, std in zip(
        tree.names, tree.parent, tree.latent, tree.correlation, tree.mean, tree.std, strict=True
    ):
        if above < 0 and correlation != 0:
            raise InvalidTreeError(f"{name!r} is a root, but has correlation {correlation:.10g}; give 0")
        if not abs(correlation) < 1:
            raise InvalidTreeError(
                f"correlation of {name!r} with its parent is {correlation:.10g}; give a number between -1 and 1"
            )
        if not (np.isfinite(mean) and np.isfinite(std) and std > 0):
            raise InvalidTreeError(
                f"{name!r} has mean {mean:.10g} and standard deviation {std:.10g}; give finite numbers, the second "
                "above 0"
            )
        if hidden and (mean != 0 or std != 1):
            raise InvalidTreeError(
                f"hidden node {name!r} has mean {mean:.10g} and standard deviation {std:.10g}; hidden nodes have 0 "
                "and 1"
            )
