"""Messages of the rows at every node of a tree, from one pass over it, shared by all candidates of a search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from pgmpy_latent.inference.plan import Evidence
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.local.neighbourhood import Neighbourhood, star_model
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of, normalised
from pgmpy_latent.operators.star import Star, star_of
from pgmpy_latent.runtime.arrays import largest_in_rows
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.number_bins import NumberBins, bins_of_column

#: Logarithm of the smallest entry of a message from a numeric column, as in the compiled code: nothing is ruled out.
LEAST_LOG = -1000 * np.log(2.0)
#: Added to expected counts of bins from which the bins of missing cells are guessed.
LEAST_COUNT = 1e-3


def dense(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Return evidence as the pattern of each row and the message of each pattern.

    Examples
    --------
    >>> dense(Evidence(np.array([1, -1]), 2))
    (array([1, 2], dtype=int32), array([[1., 0.],
           [0., 1.],
           [1., 1.]]))
    """
    if evidence.messages is not None:
        return evidence.index, evidence.messages
    return evidence.patterns(), np.vstack([np.eye(evidence.n_states), np.ones(evidence.n_states)])


def through(evidence: Evidence, table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the evidence about a node as evidence about the node above it.

    Parameters
    ----------
    evidence : Evidence
        What the rows say about the lower node.
    table : array, shape (states of the upper node, states of the lower one)
        P(lower node | upper node); of a numeric column its features.

    Returns
    -------
    index : int array, shape (rows,)
        The pattern of each row.
    messages : array, shape (patterns, states of the upper node)
    log_scales : array, shape (patterns,), or None
        Logarithm of a factor that was taken out of each message: densities leave the range of numbers.

    Examples
    --------
    >>> through(Evidence(np.array([1, -1]), 2), np.array([[0.9, 0.1], [0.2, 0.8]]))[1]
    array([[0.9, 0.2],
           [0.1, 0.8],
           [1. , 1. ]])
    """
    if evidence.numbers is None:
        index, messages = dense(evidence)
        return index, messages @ table.T, None
    logs = evidence.numbers.emission.log_densities(np.append(evidence.numbers.values, np.nan), table)
    largest = largest_in_rows(logs)
    return evidence.patterns(), np.exp(np.maximum(logs - largest, LEAST_LOG)), largest[:, 0]


class NodeMessages:
    """A fitted tree and the rows of a table, seen from its nodes.

    Every neighbour of a node sends it a message about each row. A candidate that changes some of the edges of a node
    leaves the messages of the other neighbours as they are; their product is ``rest``. Nodes are given by index.

    Parameters
    ----------
    tree : LatentTree
        The model.
    data : CategoricalData
        The table.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent.inference.queries import encode_for
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1], "ab", "ab"], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> messages = NodeMessages(tree, encode_for(tree, pd.DataFrame({"x": ["a", "b"], "y": ["a", "a"]})))
    >>> messages.rest(0, without=[1]).round(3)  # without x both rows say the same
    array([[1.   , 0.222],
           [1.   , 0.222]])
    """

    def __init__(self, tree: LatentTree, data: CategoricalData):
        self._set_out(tree, data)
        engine = engine_for(tree, data)
        #: The messages of one pass over the tree.
        self.walk = engine.walk(engine.layout.pack(tree.tables))
        self.marginals = self.walk.marginals

    def _set_out(self, tree: LatentTree, data: CategoricalData) -> None:
        """Begin with nothing computed."""
        self.tree = tree
        self.data = data
        self.around = [neighbours_of(tree, node) for node in range(tree.n_nodes)]
        self._stars: dict[int, Star] = {}
        self._messages: dict[tuple[int, int], Evidence] = {}
        self._factors: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray | None]] = {}
        self._scales: dict[tuple[int, int], float] = {}
        self._bins: dict[int, NumberBins] = {}
        self._products: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
        self._posteriors: dict[int, np.ndarray] = {}
        self._completed: dict[int, np.ndarray] = {}
        self._neighbourhoods: dict[int, Neighbourhood] = {}

    def __reduce__(self):  # a copy computes the messages again
        return NodeMessages, (self.tree, self.data)

    @property
    def weights(self) -> np.ndarray:
        """Of the rows."""
        return self.data.weights

    def star(self, node: int) -> Star:
        """Return the node with the tables around it."""
        if node not in self._stars:
            self._stars[node] = star_of(self.tree, node)
        return self._stars[node]

    def given(self, node: int, neighbour: int) -> np.ndarray:
        """Return P(neighbour | node)."""
        star = self.star(node)
        return star.parts(star.rows)[self.around[node].index(neighbour)]

    def message(self, neighbour: int, node: int) -> Evidence:
        """Return the evidence about a neighbour of a node from everything on the neighbour's side of the edge."""
        if (neighbour, node) not in self._messages:
            self._messages[neighbour, node] = self.walk.likelihood(neighbour, node)
        return self._messages[neighbour, node]

    def likelihood(self, node: int) -> Evidence:
        """Return the likelihood of the rows given each state of a node; of a numeric column its cells."""
        return self.walk.plan.evidence[node][0] if self.tree.is_numeric[node] else self.walk.likelihood(node)

    def factor(self, neighbour: int, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the message from a neighbour to a node: the pattern of each row, logarithms, and where a message is 0.

        Where a message is zero, its logarithm is given as 0: zeros are counted apart, so that the message of one
        neighbour can be taken out of a product again. Most messages have no zeros, and None instead of their places.
        """
        if (neighbour, node) not in self._factors:
            index, messages, scales = through(self.message(neighbour, node), self.given(node, neighbour))
            self._factors[neighbour, node] = index, *_logarithms(messages)
            self._scales[neighbour, node] = 0.0 if scales is None else float(self.weights @ scales[index])
        return self._factors[neighbour, node]

    def scale(self, neighbour: int, node: int) -> float:
        """Return the log-likelihood that :meth:`factor` leaves out of all rows together."""
        self.factor(neighbour, node)
        return self._scales[neighbour, node]

    def rest(self, node: int, without: Collection[int] = ()) -> np.ndarray:
        """Return P(node) times the messages of all but some neighbours: (rows, states); the largest of a row is 1."""
        if node not in self._products:  # of all factors: sums of logarithms, and numbers of zeros
            factors = [self._own_factor(node)]
            for other in self.around[node]:
                factors.append(self.factor(other, node))  # no comprehension: it would add a frame
            self._products[node] = times(None, None, factors)
        logs, zeros = self._products[node]
        for other in without:
            index, log, zero = self.factor(other, node)
            logs = logs - log[index]
            zeros = zeros if zero is None else zeros - zero[index]
        logs = logs if zeros is None else np.where(zeros > 0, -np.inf, logs)
        logs = logs - largest_in_rows(logs)
        if self.tree.is_numeric[self.around[node]].any():  # a state is ruled out by categories alone
            logs = np.where(logs > -np.inf, np.maximum(logs, LEAST_LOG), logs)
        return np.exp(logs)

    def _own_factor(self, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the distribution of a node times the evidence on it, as a factor."""
        index = np.zeros(self.data.n_distinct, dtype=np.int64)
        values = self.star(node).share[None]
        if not self.tree.latent[node]:
            evidence = self.observed(node)
            if evidence is not None:
                index, messages = dense(evidence)
                values = messages * values
        return index, *_logarithms(values)

    def rest_evidence(self, node: int, without: Collection[int] = ()) -> Evidence:
        """Return :meth:`rest` as evidence, of which several rows may share a pattern."""
        return Evidence(np.arange(self.data.n_distinct), int(self.tree.cards[node]), self.rest(node, without))

    def observed(self, node: int) -> Evidence | None:
        """Return the evidence about a node in its own column; None for a hidden node."""
        pieces = self.walk.plan.evidence.get(node, ())
        return pieces[0] if pieces else None

    def log_likelihood(self, node: int, rest: np.ndarray, without: Collection[int]) -> float:
        """Return the log-likelihood of the tree, up to the factors that ``rest`` leaves out."""
        product = rest
        for other in without:
            index, log, zero = self.factor(other, node)
            values = np.exp(log) if zero is None else np.where(zero, 0.0, np.exp(log))
            product = product * values[index]
        scale = sum(self.scale(other, node) for other in without)
        return float(self.weights @ np.log(product.sum(axis=1))) + scale

    def log_likelihood_through(self, node: int, neighbours: Sequence[int], before: np.ndarray) -> float:
        """Return the log-likelihood of the tree from the messages of some neighbours of a node.

        Parameters
        ----------
        node : int
            The node.
        neighbours : sequence of int
            All its neighbours but one.
        before : array, shape (rows, states)
            The message of the remaining one; it fixes the factor that is left out.
        """
        factors = [self.factor(other, node) for other in neighbours]
        logs, zeros = times(np.zeros(before.shape), None, factors)
        logs = logs if zeros is None else np.where(zeros > 0, -np.inf, logs)
        largest = largest_in_rows(logs)
        product = (before * np.exp(logs - largest)).sum(axis=1)
        scale = sum(self.scale(other, node) for other in neighbours)
        return float(self.weights @ (np.log(product) + largest[:, 0])) + scale

    def bins(self, node: int) -> NumberBins:
        """Return the bins of a numeric column by which moves are proposed: as many as it has features."""
        if node not in self._bins:
            self._bins[node] = bins_of_column(self.data, self.data.columns.index(self.tree.names[node]))
        return self._bins[node]

    def from_bins(self, node: int, table: np.ndarray) -> np.ndarray:
        """Return the table of a node, given one that is about bins where the node is a numeric column."""
        return self.bins(node).table(table) if self.tree.is_numeric[node] else table

    def _shares_of_bins(self, node: int) -> np.ndarray:
        """Return the bin of a numeric column in each row; of a missing cell how likely the bins are given the row."""
        codes = self.bins(node).codes(self.data.codes[:, self.data.columns.index(self.tree.names[node])])
        seen, shares = codes >= 0, np.zeros((len(codes), int(self.tree.cards[node])))
        shares[seen, codes[seen]] = 1.0
        if not seen.all():
            above = self.around[node]
            given = self.posterior(above[0]) if above else np.ones((len(codes), 1))
            counts = (given[seen] * self.weights[seen, None]).T @ shares[seen] + LEAST_COUNT
            shares[~seen] = given[~seen] @ normalised(counts)
        return shares

    def posterior(self, node: int) -> np.ndarray:
        """Return P(node | row); of a numeric column P(bin | row)."""
        if node not in self._posteriors and self.tree.is_numeric[node]:
            self._posteriors[node] = self._shares_of_bins(node)
        if node not in self._posteriors:
            evidence = self.observed(node)
            if evidence is not None and evidence.complete:
                posterior = np.eye(evidence.n_states)[evidence.index]
            else:
                posterior = self.rest(node)
                posterior /= posterior.sum(axis=1, keepdims=True)
            self._posteriors[node] = posterior
        return self._posteriors[node]

    def completed(self, node: int) -> np.ndarray:
        """Return expected counts of a node with pairs of its neighbours: (states, columns of its star, the same).

        These are the counts of a table that is completed by the model: a row counts for each combination of states as
        much as it is likely. (Within one neighbour the counts are those of two draws of it.)
        """
        if node not in self._completed:
            self._completed[node] = self._counted(node)
        return self._completed[node]

    def _counted(self, node: int) -> np.ndarray:
        around, star = self.around[node], self.star(node)
        shares = np.empty((self.data.n_distinct, star.rows.shape[1]))
        counts = np.empty((star.n_states, shares.shape[1], shares.shape[1]))
        messages, known = [], []
        for other in around:
            if self.tree.is_numeric[other]:
                messages.append((np.arange(self.data.n_distinct), self.posterior(other)))
                known.append(True)
                continue
            evidence = self.message(other, node)
            messages.append(dense(evidence))
            known.append(evidence.complete)
        columns = [slice(first, first + card) for first, card in zip(star.starts, star.cards, strict=True)]
        weights = self.posterior(node) * self.weights[:, None]
        for state in range(star.n_states):
            for (index, message), column, sure in zip(messages, columns, known, strict=True):
                if not sure or state == 0:  # a known state is the same for all states of the node
                    share = message if sure else normalised(message * star.rows[state, column])
                    shares[:, column] = share[index]
            counts[state] = (shares * weights[:, [state]]).T @ shares
        return counts

    def neighbourhood(self, node: int) -> Neighbourhood:
        """Return the latent class model around a node."""
        if node not in self._neighbourhoods:
            evidence = [self.message(other, node) for other in self.around[node]]
            self._neighbourhoods[node] = star_model(evidence, self.weights)
        return self._neighbourhoods[node]

    def transitions(self, node: int, targets: Collection[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield, for some nodes of the same component, P(that node | node, row): (rows, states, states of the target).

        They come one by one, so that only those on the way to the next one are stored.
        """
        wanted = set(targets)
        ahead = [(node, other, None) for other in self.around[node]]
        on_the_way = self._on_the_way(node, wanted)
        while ahead:
            here, target, so_far = ahead.pop()
            if target not in on_the_way:
                continue
            index, messages = dense(self.message(target, here))
            table = self.given(here, target)
            joint = messages[:, None, :] * table
            total = joint.sum(axis=2, keepdims=True)
            onward = np.divide(joint, total, out=np.broadcast_to(table, joint.shape).copy(), where=total > 0)[index]
            shares = onward if so_far is None else np.matmul(so_far, onward)
            if target in wanted:
                yield target, shares
            ahead += [(target, other, shares) for other in self.around[target] if other != here]

    def _on_the_way(self, node: int, targets: Collection[int]) -> set[int]:
        """Return the targets and all nodes between them and a node."""
        before, ahead = {node: -1}, [node]
        while ahead:
            here = ahead.pop()
            for other in self.around[here]:
                if other not in before:
                    before[other] = here
                    ahead.append(other)
        on_the_way: set[int] = set()
        for target in targets:
            while target != -1 and target not in on_the_way:
                on_the_way.add(target)
                target = before.get(target, -1)
        return on_the_way


def _logarithms(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return logarithms, with 0 for zeros, and an array that is 1 at zeros; None if there are none."""
    zero = values <= 0
    return (np.log(np.where(zero, 1.0, values)), zero.astype(np.int64)) if zero.any() else (np.log(values), None)


def times(logs: np.ndarray | None, zeros: np.ndarray | None, factors: Iterable[tuple]) -> tuple:
    """Return a product times further factors: sums of logarithms, and how many zeros there are, if any.

    Examples
    --------
    >>> factor = np.array([0, 1, 1]), np.log([[0.5, 0.5], [0.25, 1.0]]), np.array([[0, 0], [0, 1]])
    >>> logs, zeros = times(np.zeros((3, 2)), None, [factor, factor])
    >>> np.where(zeros > 0, 0.0, np.exp(logs))
    array([[0.25  , 0.25  ],
           [0.0625, 0.    ],
           [0.0625, 0.    ]])
    """
    for index, log, zero in factors:
        logs = log[index] if logs is None else logs + log[index]
        if zero is not None:
            zeros = zero[index] if zeros is None else zeros + zero[index]
    return logs, zeros
