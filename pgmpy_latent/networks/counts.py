"""Expected counts of any family, whether the network has it or not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.patterns import distinct_combinations


class SharedRows(NamedTuple):
    """Rows in which the same nodes are open, and how the weight of each is shared among the states of these.

    Attributes
    ----------
    rows : int array or None
        The rows; None is all.
    order : tuple of int
        The open nodes.
    mass : array, shape (n_rows, combined states)
        Weight of every combination of their states; the last node runs fastest.
    """

    rows: np.ndarray | None
    order: tuple[int, ...]
    mass: np.ndarray


class Completion:
    """A table as a network completes it.

    Parameters
    ----------
    engine : NetworkEngine
        The network and the table.
    tables : array, shape (size,)
        Its parameters.
    known : dict, optional
        Counts of families without open variables, by names; the same for all networks over a table. New ones are added.

    Examples
    --------
    >>> engine = NetworkEngine([(), (0,)], [2, 2], np.array([[-1, 0], [-1, 1]]), [3.0, 1.0])
    >>> tables = engine.layout.pack([np.full((1, 2), 0.5), np.full((2, 2), 0.5)])
    >>> Completion(engine, tables).counts([0, 1]).tolist()
    [1.5, 0.5, 1.5, 0.5]
    """

    def __init__(
        self, engine: NetworkEngine, tables: np.ndarray, known: dict[tuple[Hashable, ...], np.ndarray] | None = None
    ):
        self.engine = engine
        self.tables = tables
        self.codes = np.ascontiguousarray(engine.codes.T)
        self._has_gaps = np.any(self.codes < 0, axis=1)
        self._joints: dict[tuple, np.ndarray] = {}
        self._homes: dict[int, np.ndarray] = {}
        self._expected: dict[tuple[Hashable, ...], np.ndarray] = {}
        self._known = {} if known is None else known
        self._shared: dict[tuple[int, ...], list[SharedRows]] = {}

    def counts(self, nodes: Sequence[int]) -> np.ndarray:
        """Return the expected number of rows with each combination of states; the last node runs fastest."""
        family = tuple(nodes)
        complete = self.is_complete(family)
        key = tuple(self.engine.names[node] for node in family) if complete else family
        cache = self._known if complete else self._expected
        if key not in cache:
            cache[key] = self._counted(family)
        return cache[key]

    def is_complete(self, nodes: Sequence[int]) -> bool:
        """Tell whether all these nodes are observed in all rows."""
        return not self._has_gaps[list(nodes)].any()

    def _counted(self, nodes: tuple[int, ...]) -> np.ndarray:
        cards = [int(card) for card in self.engine.cards[list(nodes)]]
        strides = dict(zip(nodes, (prod(cards[at + 1 :]) for at in range(len(nodes))), strict=True))
        counts = np.zeros(prod(cards))
        for share in self._shares_of_rows(tuple(sorted(node for node in nodes if self._has_gaps[node]))):
            base = np.zeros(len(share.mass), dtype=np.int64)
            for node in nodes:
                if node not in share.order:
                    codes = self.codes[node] if share.rows is None else self.codes[node][share.rows]
                    base += strides[node] * codes.astype(np.int64)
            places = np.zeros(1, dtype=np.int64)
            for node in share.order:
                places = (places[:, None] + strides[node] * np.arange(self.engine.cards[node])).ravel()
            at = base if len(places) == 1 else base[:, None] + places
            counts += np.bincount(at.ravel(), share.mass.ravel(), minlength=len(counts))
        return counts

    def _shares_of_rows(self, nodes: tuple[int, ...]) -> list[SharedRows]:
        """Return shares of states of nodes with missing cells, for each set of rows in which the same ones are open."""
        if nodes not in self._shared:
            weights = self.engine.weights
            self._shared[nodes] = []
            for rows, open_nodes in self._kinds_of_rows(nodes):
                order, shares = self._shares(rows, open_nodes) if open_nodes else ([], np.ones((len(rows), 1)))
                mass = weights[rows, None] * shares
                self._shared[nodes].append(SharedRows(None if len(rows) == len(weights) else rows, tuple(order), mass))
        return self._shared[nodes]

    def _kinds_of_rows(self, nodes: Sequence[int]) -> list[tuple[np.ndarray, tuple[int, ...]]]:
        """Return sets of rows in which the same of these nodes are open, in the same components."""
        if not nodes:
            return [(np.arange(len(self.engine.codes)), ())]
        columns = [(self._home(node) + 1, len(self.engine.components) + 1) for node in nodes]
        kinds, shown = distinct_combinations(columns)
        return [
            (np.flatnonzero(kinds == kind), tuple(n for n, homes in zip(nodes, shown, strict=True) if homes[kind] > 0))
            for kind in range(len(shown[0]))
        ]

    def _home(self, node: int) -> np.ndarray:
        """Return the component that a node is in, for every row; -1 where it is observed."""
        if node not in self._homes:
            home = np.full(len(self.engine.codes), -1, dtype=np.int64)
            for number, component in enumerate(self.engine.components):
                if node in component.variables:
                    home[component.rows] = number
            self._homes[node] = home
        return self._homes[node]

    def _shares(self, rows: np.ndarray, nodes: Sequence[int]) -> tuple[list[int], np.ndarray]:
        """Return the nodes, and the joint distribution of their states in each row: components are independent."""
        order: list[int] = []
        shares = np.ones((len(rows), 1))
        for home in dict.fromkeys(int(self._home(node)[rows[0]]) for node in nodes):
            component = self.engine.components[home]
            inside = tuple(node for node in nodes if node in component.variables)
            if (home, inside) not in self._joints:
                self._joints[home, inside] = self.engine.joint(component, self.tables, inside)
            patterns = component.patterns[np.searchsorted(component.rows, rows)]
            joint = self._joints[home, inside][patterns]
            shares = (shares[:, :, None] * joint[:, None, :]).reshape(len(rows), -1)
            order += inside
        return order, shares
