"""Columns and hidden variables of a level: the evidence of the rows about each, as few distinct codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgmpy_latent.inference.plan import Evidence
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.runtime.arrays import WIDE, one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.tables.dependence import block_information
from pgmpy_latent.tables.encode import CategoricalData, code_dtype
from pgmpy_latent.tables.neighbours import Nearest, Neighbours
from pgmpy_latent.tables.sparse import SparseRows

#: How finely the log-odds of the states of a hidden variable are told apart, and from where on they all count as sure.
BINS, SURE = 16, 6.0
#: Hidden variables that are compared with others at once.
BLOCK = 128


@dataclass(frozen=True, eq=False)
class Variable:
    """A column, or a hidden variable of the level below.

    Attributes
    ----------
    node : int
        Its number in the growing forest: columns first, then hidden nodes as they came.
    read : callable
        Returns the code of each row. For a column this is the state, and the number of states where a cell is
        missing.
    beliefs : array or sparse array, shape (n_codes, n_states)
        P(state | code); zeros where a cell is missing. Sparse for a column of many states.
    messages : array, shape (n_codes, n_states), or None
        Likelihood of the cells below given each state, up to a factor; None for a column.
    """

    node: int
    read: Callable[[], np.ndarray]
    beliefs: np.ndarray | sparse.csr_array
    messages: np.ndarray | None = None

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.beliefs.shape[1]

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return self.beliefs.shape[0]

    @property
    def is_wide(self) -> bool:
        """Whether it is a column of many states."""
        return self.n_states > WIDE

    def evidence(self, codes: np.ndarray) -> Evidence:
        """Return the evidence of rows with these codes."""
        if self.messages is not None:
            return Evidence(codes, self.n_states, self.messages)
        return Evidence(np.where(codes == self.n_states, -1, codes), self.n_states)


def columns_as_variables(data: CategoricalData | SparseRows) -> list[Variable]:
    """Return the columns of a table.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> [variable] = columns_as_variables(encode([["a"], ["b"], [None]]))
    >>> sorted(variable.read().tolist()), variable.beliefs.tolist()
    ([0, 1, 2], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    """
    if isinstance(data, SparseRows):
        return [Variable(at, _reader(data.column, at), np.eye(2)) for at in range(len(data.columns))]
    variables = []
    for at, card in enumerate(data.cards.tolist()):
        seen = _states_seen(card + int(data.has_missing[at]), card)
        variables.append(Variable(at, _reader(_filled(data, card), at), seen))
    return variables


def _states_seen(n_codes: int, n_states: int) -> np.ndarray | sparse.csr_array:
    if n_states <= WIDE:
        return np.eye(n_codes, n_states)
    states = np.arange(n_states)
    return sparse.csr_array((np.ones(n_states), (states, states)), shape=(n_codes, n_states))


def _reader(read: Callable[[int], np.ndarray], at: int) -> Callable[[], np.ndarray]:
    return lambda: read(at)


def _filled(data: CategoricalData, card: int) -> Callable[[int], np.ndarray]:
    return lambda at: np.where(data.codes[:, at] < 0, card, data.codes[:, at].astype(np.int32))


def hidden_variable(node: int, patterns: np.ndarray, posterior: np.ndarray, weights: np.ndarray) -> Variable:
    """Return a hidden variable; its codes are bins of the log-odds of its states against the first.

    Parameters
    ----------
    node : int
        Its number.
    patterns : int array, shape (n_rows,)
        The pattern of each row below the variable.
    posterior : array, shape (n_patterns, n_states)
        Of each pattern.
    weights : array, shape (n_rows,)
        Of the rows.

    Examples
    --------
    >>> variable = hidden_variable(5, np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]), np.ones(3))
    >>> variable.read().tolist(), variable.beliefs.round(2).tolist()
    ([0, 1, 1], [[0.9, 0.1], [0.2, 0.8]])
    """
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(posterior, tiny))
    binned = np.digitize(logs[:, 1:] - logs[:, :1], np.linspace(-SURE, SURE, BINS - 1))
    used, bins = np.unique(binned, axis=0, return_inverse=True)
    bins = bins.ravel()
    masses = np.bincount(patterns, weights, minlength=len(posterior))
    sums = np.stack([np.bincount(bins, masses * column, minlength=len(used)) for column in posterior.T], axis=1)
    beliefs = sums / sums.sum(axis=1, keepdims=True)
    messages = beliefs / np.maximum(sums.sum(axis=0), tiny)
    codes = bins.astype(code_dtype(len(used)))[patterns]
    return Variable(node, lambda: codes, beliefs, messages / messages.max(axis=1, keepdims=True))


def share_of(variable: Variable, weights: np.ndarray) -> np.ndarray:
    """Return the distribution of a variable by itself, as a table.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> [variable] = columns_as_variables(encode([["a"], ["b"], ["a"], ["a"]]))
    >>> share_of(variable, np.array([3.0, 1.0])).tolist()
    [[0.75, 0.25]]
    """
    return normalised((_masses(variable, weights) @ variable.beliefs)[None])


def log_likelihood_alone(variable: Variable, weights: np.ndarray) -> float:
    """Return the log-likelihood of the cells below a variable if it is independent of all others.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> [variable] = columns_as_variables(encode([["a"], ["b"]]))
    >>> round(log_likelihood_alone(variable, np.ones(2)), 4)  # 2 log(1/2)
    -1.3863
    """
    masses = _masses(variable, weights)
    messages = variable.beliefs if variable.messages is None else variable.messages
    seen = (masses > 0) & (messages.sum(axis=1) > 0)
    return float(masses[seen] @ np.log(messages[seen] @ share_of(variable, weights)[0]))


def _masses(variable: Variable, weights: np.ndarray) -> np.ndarray:
    return np.bincount(variable.read(), weights, minlength=variable.n_codes)


def nearest_variables(
    variables: Sequence[Variable], weights: np.ndarray, k: int, clock: Clock | None = None
) -> Neighbours:
    """Return, for every variable, the ``k`` with the highest mutual information, by the posteriors of the rows.

    For columns this is :func:`~pgmpy_latent.tables.neighbours.nearest_columns`, which is faster.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]))
    >>> nearest_variables(columns_as_variables(data), data.weights, 1).which.tolist()
    [[1], [0], [0]]
    """
    nearest = Nearest(len(variables), k)
    with one_blas_thread():
        for left, right, values in _soft_pairs(variables, weights):
            nearest.offer(left, right, values)
            if left is not right:
                nearest.offer(right, left, values.T)
            if clock is not None:
                clock.check()
    return nearest.found()


def _soft_pairs(
    variables: Sequence[Variable], weights: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield variables, other variables, and the mutual information of their posteriors, taken to be independent."""
    is_wide = np.array([variable.is_wide for variable in variables], dtype=bool)
    narrow = np.flatnonzero(~is_wide)
    blocks = [narrow[first : first + BLOCK] for first in range(0, len(narrow), BLOCK)]
    blocks += [np.array([at]) for at in np.flatnonzero(is_wide)]
    for number, left in enumerate(blocks):
        ours, our_starts = _stacked_beliefs([variables[at] for at in left])
        for right in blocks[number:]:
            if right is left and is_wide[left[0]]:
                continue  # no use comparing it with itself, at the cost of its states squared
            theirs, starts = (ours, our_starts) if right is left else _stacked_beliefs([variables[at] for at in right])
            yield left, right, block_information(_products(ours, theirs, weights), our_starts, starts)


def _stacked_beliefs(variables: Sequence[Variable]) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Return P(state | row) of several variables, or a wide one, and where each begins: (states, rows)."""
    starts = np.cumsum([0, *(variable.n_states for variable in variables[:-1])])
    if variables[0].is_wide:
        return variables[0].beliefs[variables[0].read()].T.tocsr(), starts
    beliefs = [np.ascontiguousarray(variable.beliefs.T)[:, variable.read()] for variable in variables]
    return np.concatenate(beliefs), starts


def _products(left, right, weights: np.ndarray) -> np.ndarray:
    """Return the sums over rows of products of beliefs (states, rows), sparse or not."""
    product = (left * weights) @ right.T
    return product.toarray() if sparse.issparse(product) else product


def joint_counts(left: Variable, right: Variable, weights: np.ndarray) -> np.ndarray:
    """Return the joint counts of two variables, taken to be independent given the row.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(np.array([[0, 1], [1, 0], [1, 0]]))
    >>> joint_counts(*columns_as_variables(data), data.weights)
    array([[0., 1.],
           [2., 0.]])
    """
    return _products(_stacked_beliefs([left])[0], _stacked_beliefs([right])[0], weights)
