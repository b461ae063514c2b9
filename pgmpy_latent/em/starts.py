"""Starts of EM: random tables, or tables made from random class memberships of a few rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.plan import Numbers
from pgmpy_latent.inference.queries import numbers_of
from pgmpy_latent.model.network import child_lists, topological_order
from pgmpy_latent.runtime.settings import one_of
from pgmpy_latent.tables.encode import CategoricalData, uniform_by_key

#: Distinct rows, per state of the largest hidden variable, whose memberships are drawn. With many more, the law
#: of large numbers makes all starts alike; with fewer, they depend on single rows.
ROWS_PER_STATE = 30
#: Pseudo-count of every table entry of a start, as a share of the rows that were drawn: no start rules anything out.
SMOOTHING = 0.02
#: How often drawn memberships are corrected by the messages of the children. Two rounds led to the best optimum of
#: small survey tables more often than one or none; more rounds made starts alike.
CORRECTIONS = 2
#: Added to draws that may be so small that they become zero, which EM cannot leave.
LEAST = 1e-12


def random_tables(layout: Layout, rng: np.random.Generator, concentration: float = 1.0) -> np.ndarray:
    """Draw every row of every table from the simplex; return them as a flat vector.

    Parameters
    ----------
    layout : Layout
        Where the tables lie.
    rng : Generator
        Source of the draws.
    concentration : float
        Parameter of the symmetric Dirichlet distribution: 1 is uniform; with less, few entries of a row are large.

    Examples
    --------
    >>> flat = random_tables(Layout([(1, 2), (2, 3)]), np.random.default_rng(0))
    >>> [float(table.sum()) for table in Layout([(1, 2), (2, 3)]).unpack(flat)]
    [1.0, 2.0]
    """
    flat = rng.standard_gamma(concentration, layout.size) + LEAST * (concentration < 1)
    return flat / layout.row_sums(flat)


def uniform_tables(layout: Layout) -> np.ndarray:
    """Return tables in which all states are equally likely, as a flat vector.

    Examples
    --------
    >>> uniform_tables(Layout([(1, 2)])).tolist()
    [0.5, 0.5]
    """
    return 1.0 / np.repeat(layout.row_lengths, layout.row_lengths).astype(np.float64)


def random_memberships(
    parents: Sequence[Sequence[int]],
    cards: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    row_keys: np.ndarray,
    seed: np.random.SeedSequence,
    hidden: Sequence[int] | None = None,
    numbers: Mapping[int, Numbers] | None = None,
) -> np.ndarray:
    """Make tables from soft class memberships that are drawn for a few rows.

    Hidden variables are handled bottom-up. For each, memberships are drawn for the chosen rows and corrected twice by
    the messages of its children; the tables are the resulting shares. Which rows are chosen depends on the seed and on
    the cells of the rows, not on their order.

    Parameters
    ----------
    parents : sequence of sequences of int
        The graph.
    cards : int array, shape (n_nodes,)
        Numbers of states.
    codes : int array, shape (n_rows, n_nodes)
        States of the distinct rows, -1 where a cell is missing or the node is hidden.
    weights : array, shape (n_rows,)
        Weights of the rows.
    row_keys : uint64 array, shape (n_rows,)
        A number for each row that depends on its cells alone.
    seed : SeedSequence
        Of this start.
    hidden : sequence of int, optional
        Nodes without any known cell in the table; by default those without any in these rows.
    numbers : dict of int to Numbers, optional
        Numeric columns, by node, and their values, of which codes are the positions.

    Returns
    -------
    array
        Flat tables.

    Examples
    --------
    >>> flat = random_memberships(
    ...     [(), (0,)], np.array([2, 2]), np.array([[-1, 0], [-1, 1]]), np.ones(2),
    ...     np.array([1, 2], dtype=np.uint64), np.random.SeedSequence(0))
    >>> flat.shape
    (6,)
    """
    rng = np.random.default_rng(seed)
    if hidden is None:
        hidden = [node for node in range(len(parents)) if (codes[:, node] < 0).all()]
    chosen = _choose_rows(weights, row_keys, n_rows_of_start(cards, hidden), rng)
    codes, weights = codes[chosen], np.minimum(weights[chosen], np.median(weights[chosen]) * 10)
    cells = {node: _NumericCells(codes[:, node], column, weights) for node, column in (numbers or {}).items()}
    shares = [
        cells[node].features if node in cells else _indicator(codes[:, node], int(cards[node]))
        for node in range(len(parents))
    ]
    _draw_hidden_shares(shares, hidden, parents, cards, weights, rng, cells)
    return _tables_from_shares(shares, parents, weights, cells)


class _NumericCells:
    """The cells of a numeric column in the rows of a start."""

    def __init__(self, codes: np.ndarray, numbers: Numbers, weights: np.ndarray):
        self.emission = numbers.emission
        self.values = np.append(numbers.values, np.nan)[codes]
        seen = codes >= 0
        self.features = self.emission.features_of(self.values)
        usual = self.features[seen] if seen.any() else self.emission.features_of(numbers.values)
        self.usual = np.average(usual, axis=0, weights=weights[seen] if seen.any() else None)
        self.features[~seen] = self.usual

    def table(self, above: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the table of shares of a parent, drawn a little towards that of all rows."""
        counts = (above * weights[:, None]).T @ self.features + SMOOTHING * weights.sum() / above.shape[1] * self.usual
        return counts / counts.sum(axis=1, keepdims=True)

    def log_messages(self, table: np.ndarray) -> np.ndarray:
        """Return the logarithms of the densities of the cells, (rows, states)."""
        return self.emission.log_densities(self.values, table)


class StartRows(NamedTuple):
    """Distinct rows that a start may be made from; see :func:`random_memberships`."""

    codes: np.ndarray
    weights: np.ndarray
    row_keys: np.ndarray
    hidden: Sequence[int] | None = None
    numbers: Mapping[int, Numbers] | None = None

    @classmethod
    def of(cls, data: CategoricalData, names: Sequence[Hashable], hidden: Sequence[int] | None = None) -> StartRows:
        """Return the rows of a table for nodes with some names."""
        return cls(data.codes_of(names), data.weights, data.row_keys, hidden, numbers_of(data, names))


@dataclass(frozen=True, eq=False)
class StartInputs:
    """What the tables of a start may depend on, besides the seed.

    Attributes
    ----------
    layout : Layout
        Shapes of the tables.
    parents : sequence of sequences of int
        The graph.
    cards : int array, shape (n_nodes,)
        Numbers of states.
    rows : StartRows or None
        Rows of the table, for strategies that need them.
    """

    layout: Layout
    parents: Sequence[Sequence[int]]
    cards: np.ndarray
    rows: StartRows | None = None


@dataclass(frozen=True)
class Strategy:
    """A way to begin EM.

    Attributes
    ----------
    description : str
        What the starts are, for documentation.
    make : callable
        :class:`StartInputs` and a seed -> flat tables.
    is_random : bool
        Whether another seed gives another start; if not, EM begins once.
    needs_rows : bool
        Whether starts are made from rows of the table.
    """

    description: str
    make: Callable[[StartInputs, np.random.SeedSequence], np.ndarray]
    is_random: bool = True
    needs_rows: bool = False


def _memberships(inputs: StartInputs, seed: np.random.SeedSequence) -> np.ndarray:
    rows = inputs.rows
    assert rows is not None, "random memberships are those of rows"
    return random_memberships(inputs.parents, inputs.cards, *rows[:3], seed, rows.hidden, rows.numbers)


#: The ways to begin EM, by the names that users give; the first is the default.
STRATEGIES = {
    "memberships": Strategy("random class memberships of some rows", _memberships, needs_rows=True),
    "random": Strategy("random tables", lambda inputs, seed: random_tables(inputs.layout, np.random.default_rng(seed))),
    "uniform": Strategy(
        "uniform tables (with hidden variables a saddle point that EM cannot leave)",
        lambda inputs, seed: uniform_tables(inputs.layout),
        is_random=False,
    ),
}


def random_strategies() -> list[str]:
    """Return the names of the strategies whose starts differ.

    Examples
    --------
    >>> random_strategies()
    ['memberships', 'random']
    """
    return [name for name, strategy in STRATEGIES.items() if strategy.is_random]


def make_start(kind: str, inputs: StartInputs, seed: np.random.SeedSequence) -> np.ndarray:
    """Return the flat tables of a start.

    Parameters
    ----------
    kind : str
        Name of a strategy in ``STRATEGIES``.
    inputs : StartInputs
        The model and the rows.
    seed : SeedSequence
        Of this start.

    Examples
    --------
    >>> inputs = StartInputs(Layout([(1, 2)]), [()], np.array([2]))
    >>> make_start("uniform", inputs, np.random.SeedSequence(0)).tolist()
    [0.5, 0.5]
    """
    one_of(*STRATEGIES)("kind", kind)
    return STRATEGIES[kind].make(inputs, seed)


def n_rows_of_start(cards: np.ndarray, hidden: Sequence[int]) -> int:
    """Return how many distinct rows a start is made from.

    Examples
    --------
    >>> n_rows_of_start(np.array([3, 2, 2]), [0])
    90
    """
    return ROWS_PER_STATE * max((int(cards[node]) for node in hidden), default=1)


def ringing_times(weights: np.ndarray, row_keys: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw when the clock of each row rings: the rows that ring first are a weighted sample.

    The time is inversely proportional to the weight, and otherwise depends on the key alone.

    Examples
    --------
    >>> keys = np.array([7, 7], dtype=np.uint64)
    >>> slow, fast = ringing_times(np.array([1.0, 2.0]), keys, np.random.default_rng(0))
    >>> float(slow / fast)
    2.0
    """
    salt = rng.integers(0, 2**64, dtype=np.uint64, endpoint=False)
    return -np.log(uniform_by_key(row_keys, salt)) / weights


def _choose_rows(weights, row_keys, n_chosen: int, rng: np.random.Generator) -> np.ndarray:
    """Choose rows without replacement, likelier the heavier they are; in an order that the keys fix."""
    clock = ringing_times(weights, row_keys, rng)
    if len(clock) <= n_chosen:
        return np.argsort(clock, kind="stable")
    first = np.argpartition(clock, n_chosen)[:n_chosen]
    return first[np.argsort(clock[first], kind="stable")]


def _indicator(codes: np.ndarray, card: int) -> np.ndarray:
    """Return one row of shares per code; a missing cell is spread like the cells that are there."""
    shares = np.zeros((len(codes), card))
    seen = codes >= 0
    shares[seen, codes[seen]] = 1.0
    if not seen.all():
        total = shares.sum(axis=0) + 1.0
        shares[~seen] = total / total.sum()
    return shares


def _draw_hidden_shares(shares, hidden, parents, cards, weights, rng, cells: Mapping[int, _NumericCells]) -> None:
    """Replace the shares of hidden nodes by random memberships, corrected by their children; bottom-up."""
    is_hidden = set(hidden)
    children = child_lists(parents)
    for node in topological_order(parents)[::-1]:
        if node not in is_hidden:
            continue
        drawn = rng.standard_exponential((len(weights), int(cards[node]))) + 1e-12
        drawn /= drawn.sum(axis=1, keepdims=True)
        logs = np.log(drawn)
        for _ in range(CORRECTIONS):
            for child in children[node]:
                if child in cells:
                    logs = logs + cells[child].log_messages(cells[child].table(drawn, weights))
                    continue
                table = _shares_table(drawn, shares[child], weights)
                logs = logs + np.log(shares[child] @ table.T + 1e-300)
            drawn = np.exp(logs - logs.max(axis=1, keepdims=True))
            drawn /= drawn.sum(axis=1, keepdims=True)
            logs = np.broadcast_to(np.log(drawn.mean(axis=0) + 1e-12), drawn.shape)
        shares[node] = drawn


def _shares_table(above: np.ndarray, below: np.ndarray, weights: np.ndarray) -> np.ndarray:
    counts = (above * weights[:, None]).T @ below
    counts += SMOOTHING * weights.sum() / counts.size
    return counts / counts.sum(axis=1, keepdims=True)


def _tables_from_shares(shares, parents, weights, cells: Mapping[int, _NumericCells]) -> np.ndarray:
    tables = []
    for node, above in enumerate(parents):
        joint = _joint([shares[parent] for parent in above], len(weights))
        tables.append(
            cells[node].table(joint, weights) if node in cells else _shares_table(joint, shares[node], weights)
        )
    return np.concatenate([table.ravel() for table in tables])


def _joint(shares: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
    """Return shares of all combinations of several variables' states, as if they were independent in every row."""
    joint = np.ones((n_rows, 1))
    for share in shares:
        joint = (joint[:, :, None] * share[:, None, :]).reshape(n_rows, -1)
    return joint
