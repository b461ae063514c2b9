"""What the columns of a network of any shape say about its hidden nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy.special import rel_entr

from pgmpy_latent.diagnostics.conditionals import shares_and_conditionals
from pgmpy_latent.inference.queries import engine_for, sample_codes
from pgmpy_latent.model.network import LatentNetwork, child_lists, part_of
from pgmpy_latent.tables.dependence import block_information
from pgmpy_latent.tables.encode import CategoricalData

#: Information below this, in nats, is none at all.
NOTHING = 1e-12


class NetworkInformation:
    """What the columns of a network say about its hidden nodes, in rows that are drawn from it.

    Parameters
    ----------
    network : LatentNetwork
        The model.
    hidden : list of int
        The hidden nodes that are asked about.
    n_rows : int
        Number of rows to draw.
    random_state : int or Generator
        For these draws.

    Attributes
    ----------
    weights : array, shape (n_distinct,)
        Shares of the distinct rows; they sum to one.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False], [[[0.5, 0.5]], np.eye(2)])
    >>> found = NetworkInformation(network, [0], 100, 0)
    >>> prior, columns, information, n_linked = found.each(0)
    >>> columns, information.round(3).tolist(), round(mean_information(found.weights, found.belief(0), prior), 1)
    ([1], [0.693], 0.7)
    """

    def __init__(self, network: LatentNetwork, hidden: Sequence[int], n_rows: int, random_state):
        self.network = network
        drawn = sample_codes(network, n_rows, np.random.default_rng(random_state))[:, ~network.latent]
        codes, counts = np.unique(drawn, axis=0, return_counts=True)
        self.weights = counts / n_rows
        states = [network.state_names[node] for node in np.flatnonzero(~network.latent)]
        self.data = CategoricalData(network.observed_names, states, codes, self.weights)
        self._beliefs = dict(zip(hidden, self._asked(network, self.data, hidden), strict=True))

    def belief(self, at: int) -> np.ndarray:
        """Return P(hidden node | all columns): (n_distinct, states)."""
        return self._beliefs[at]

    def each(self, at: int) -> tuple[np.ndarray, list[int], np.ndarray, int]:
        """Return what single columns say about a hidden node.

        Returns
        -------
        prior : array, shape (states,)
        columns : list of int
            Those that say something.
        information : array
            Their mutual information with the hidden node, exact.
        n_linked : int
            How many columns there are in its component.
        """
        share, given = shares_and_conditionals(self.network, at)
        columns = [node for node in self._linked(at) if not self.network.latent[node]]
        occurs = share[:, None] > 0  # a state that does not occur says nothing, and nothing is known given it
        joints = (share[:, None] * np.where(occurs, given[node], 0.0) for node in columns)
        information = np.array([block_information(joint, [0], [0])[0, 0] for joint in joints])
        says = information > NOTHING
        return share, [node for node, some in zip(columns, says, strict=True) if some], information[says], len(columns)

    def beliefs_given_first(self, at: int, columns: Iterable[int]) -> Iterator[np.ndarray]:
        """Yield P(hidden node | first column), P(hidden node | first two columns), and so on."""
        heard: list[int] = []
        for column in columns:
            heard.append(column)
            part = part_of(self.network, self._with_ancestors([at, *heard]))
            places = [self.data.columns.index(self.network.names[node]) for node in heard]
            codes, back = np.unique(self.data.codes[:, places], axis=0, return_inverse=True)
            states = [self.data.state_names[place] for place in places]
            names = [self.network.names[node] for node in heard]
            rows = CategoricalData(names, states, codes, np.ones(len(codes)))
            yield self._asked(part, rows, [part.index(self.network.names[at])])[0][back.ravel()]

    @staticmethod
    def _asked(network: LatentNetwork, data: CategoricalData, nodes: Sequence[int]) -> list[np.ndarray]:
        engine = engine_for(network, data)
        return engine.beliefs(engine.layout.pack(network.tables), list(nodes))

    def _with_ancestors(self, nodes: Sequence[int]) -> list[int]:
        """Return nodes and all above them: the others say nothing as long as nothing below is known."""
        found = dict.fromkeys(nodes)
        ahead = list(found)
        for node in ahead:  # the list grows while it is walked
            new = [above for above in self.network.parents[node] if above not in found]
            found |= dict.fromkeys(new)
            ahead += new
        return sorted(found)

    def _linked(self, at: int) -> list[int]:
        """Return the nodes of the component of a node."""
        children = child_lists(self.network.parents)
        found, ahead = {at}, [at]
        for node in ahead:  # the list grows while it is walked
            new = [other for other in (*self.network.parents[node], *children[node]) if other not in found]
            found.update(new)
            ahead += new
        return sorted(found)


def mean_information(weights: np.ndarray, beliefs: np.ndarray, prior: np.ndarray) -> float:
    """Return how much rows say about a node, given P(node | row) and P(node).

    That is the mean of KL(P(node | row), P(node)). The difference of the entropies has the same mean, but differs from
    row to row by far more where the rows say little.

    Examples
    --------
    >>> round(mean_information(np.array([0.5, 0.5]), np.eye(2), np.array([0.5, 0.5])), 4)
    0.6931
    """
    return float(weights @ rel_entr(beliefs, prior).sum(axis=1))
