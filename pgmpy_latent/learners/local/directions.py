"""Where to split a state: directions from the data that belong to it, or at random."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pgmpy_latent.em.starts import CORRECTIONS, ROWS_PER_STATE, SMOOTHING
from pgmpy_latent.operators.star import Star, centred, scaled_down, tilted
from pgmpy_latent.runtime.arrays import largest_in_rows

#: Most rows that a direction is computed from; more are sampled.
MOST_ROWS = 2000
#: Rows whose weight is below this share of the largest say nothing about a state.
NEGLIGIBLE = 1e-4
#: Covariances of at most this size are decomposed as a whole.
SMALL = 80
#: Rounds of power iteration; directions are starts for EM, which corrects them.
ROUNDS = 8
#: Root mean square of the relative changes over the neighbours, and the largest one: large enough to leave the saddle
#: point between equal halves at once, small enough to rule nothing out.
TYPICAL, LARGEST = 0.5, 0.7
#: Added to probabilities by which indicators are standardised, so that states that hardly occur do not lead.
DAMPING = 0.02


class RowMessages(Protocol):
    """An array of messages, a row per row of the table, or an object that computes rows of it."""

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray: ...


def data_directions(
    star: Star, state: int, messages: RowMessages, weights: np.ndarray, n: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return shifts along which the data of a state vary most: greedy sign search first, then leading eigenvectors.

    Two halves ``P ± r`` gain in log-likelihood, to second order, what ``Σ_i r_i(x_i) / P_i(x_i)`` varies in the data of
    the state beyond what independent neighbours would give. So the best small splits are, nearly, leading eigenvectors
    of the covariance of the neighbours' standardised indicators: direction 3 of section 4.4.2 for variables of any
    cardinality, and what EM itself converges to from a tiny random split. The greedy search is direction 2: neighbours
    from the least to the most certain, each shifted in the direction in which it is associated with those before it.

    Parameters
    ----------
    star : Star
        The node and its neighbours.
    state : int
        The state to split.
    messages : array of shape (rows, columns of the star), or an object that computes rows of it
        The message of each row about each neighbour.
    weights : array, shape (rows,)
        Of each row, times the probability that the row belongs to the state.
    n : int
        How many directions.
    rng : Generator
        Of this candidate.

    Returns
    -------
    list of arrays, shape (columns of the star,)

    Examples
    --------
    >>> star = Star(np.ones(1), np.full((1, 4), 0.5), np.array([2, 2]))
    >>> rows = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
    >>> shifts = data_directions(star, 0, rows, np.array([4.0, 4.0, 1.0]), 1, np.random.default_rng(0))
    >>> bool(shifts[0][0] * shifts[0][2] > 0)
    True
    """
    deviations, weights = _deviations(star, state, messages, weights, rng)
    signals = deviations / np.sqrt(star.rows[state] + DAMPING)
    along = [_greedy(star, state, signals, weights)] if n > 1 else []
    along += [signals @ vector for vector in _leading(signals, weights, n - len(along), rng)]
    return [_shift_along(star, state, deviations, weights, positions) for positions in along]


def _deviations(
    star: Star, state: int, messages: RowMessages, weights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for rows of a state, the deviations of the neighbours' states from its probabilities."""
    chosen = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    weights = weights[chosen]
    if len(chosen) > MOST_ROWS:
        drawn = rng.multinomial(MOST_ROWS, weights / weights.sum())
        chosen, weights = chosen[drawn > 0], drawn[drawn > 0].astype(np.float64)
    row = star.rows[state]
    seen = messages[chosen] * row
    total = star.per_neighbour(seen)
    seen = np.divide(seen, total, out=np.broadcast_to(row, seen.shape).copy(), where=total > 0)
    return seen - row, weights / weights.sum()


def _leading(signals: np.ndarray, weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the leading eigenvectors of the signals' covariance; of a large one by power iteration."""
    size = signals.shape[1]
    weighted = signals * np.sqrt(weights)[:, None]
    if size <= SMALL:
        return np.linalg.eigh(weighted.T @ weighted)[1][:, ::-1][:, :n].T
    basis = np.linalg.qr(rng.standard_normal((size, min(size, n + 2))))[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(weighted.T @ (weighted @ basis))[0]
    image = weighted @ basis
    vectors = np.linalg.eigh(image.T @ image)[1]
    return (basis @ vectors[:, ::-1][:, :n]).T


def _greedy(star: Star, state: int, signals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return positions of the rows along a direction in which each neighbour is associated with those before it."""
    row = star.rows[state]
    uncertain = np.add.reduceat(-row * np.log(np.maximum(row, 1e-300)), star.starts)
    along = np.zeros(len(signals))
    for item in np.argsort(-uncertain, kind="stable"):
        states = slice(star.starts[item], star.starts[item] + star.cards[item])
        block = signals[:, states]
        if along.any():
            vector = block.T @ (weights * along)
        else:  # its likeliest state against the others
            vector = np.where(np.arange(star.cards[item]) == np.argmax(row[states]), 1.0, 0.0)
        length = np.linalg.norm(vector)
        if length > 0:
            along += block @ (vector / length)
    return along


def _shift_along(star: Star, state: int, deviations, weights, positions: np.ndarray) -> np.ndarray:
    """Return the shift that tells rows on one side of a direction from those on the other."""
    spread = np.sqrt(weights @ positions**2)
    if spread == 0:
        return np.zeros(deviations.shape[1])
    side = np.tanh(positions / spread)  # rows far out should not decide alone
    shift = (weights * side) @ deviations
    row = star.rows[state]
    relative = np.divide(shift, row, out=np.zeros_like(shift), where=row > 0)
    typical = np.sqrt((row * relative**2).sum() / len(star.cards))
    if typical == 0:
        return np.zeros_like(shift)
    shift = row * np.clip(relative * (TYPICAL / typical), -LARGEST, LARGEST)
    return scaled_down(centred(shift, row, star), LARGEST * row, star)


def random_directions(star: Star, state: int, n: int, size: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return random shifts in proportion to the rows of the state.

    Examples
    --------
    >>> star = Star(np.ones(1), np.array([[0.5, 0.5, 1.0, 0.0]]), np.array([2, 2]))
    >>> np.abs(random_directions(star, 0, 1, 0.1, np.random.default_rng(0))[0])
    array([0.05, 0.05, 0.  , 0.  ])
    """
    return [tilted(star, state, rng.uniform(-1, 1, (star.rows.shape[1],)), size) for _ in range(n)]


def random_star(
    star: Star, n_states: int, messages: RowMessages, weights: np.ndarray, rng: np.random.Generator
) -> Star:
    """Return a star made from random memberships of some rows, as a fresh start for EM.

    The memberships are drawn, and updated twice by neighbours' messages: :func:`random_memberships` for a star.

    Examples
    --------
    >>> star = Star(np.ones(1), np.full((1, 4), 0.5), np.array([2, 2]))
    >>> rows = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    >>> random_star(star, 2, rows, np.ones(2), np.random.default_rng(0)).rows.shape
    (2, 4)
    """
    usual = star.share @ star.rows
    clock = rng.standard_exponential(len(weights)) / weights
    chosen = _smallest(clock, ROWS_PER_STATE * n_states)
    weights = np.minimum(weights[chosen], 10 * np.median(weights[chosen]))
    rows_seen = messages[chosen]
    seen = usual * rows_seen
    seen = seen / star.per_neighbour(seen)
    belongs = rng.standard_exponential((len(chosen), n_states))
    for _ in range(CORRECTIONS + 1):
        belongs = belongs / belongs.sum(axis=1, keepdims=True)
        counts = (belongs * weights[:, None]).T @ seen + SMOOTHING * weights.sum() * usual / n_states
        rows = counts / star.per_neighbour(counts)
        share = weights @ belongs / weights.sum()
        logs = np.broadcast_to(np.log(share + 1e-12), belongs.shape)
        for first, card in zip(star.starts, star.cards, strict=True):
            states = slice(first, first + card)
            logs = logs + np.log(rows_seen[:, states] @ rows[:, states].T + 1e-300)
        belongs = np.exp(logs - largest_in_rows(logs))
    return Star(share / share.sum(), rows, star.cards)


def _smallest(values: np.ndarray, n: int) -> np.ndarray:
    """Return where the ``n`` smallest values are, in ascending order."""
    some = np.argpartition(values, n - 1)[:n] if n < len(values) else np.arange(len(values))
    return some[np.argsort(values[some], kind="stable")]
