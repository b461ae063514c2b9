"""Where to split a state: directions from the data that belong to it, or at random."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.operators.star import Star, centred, scaled_down, tilted

#: Most rows that a direction is computed from; more are sampled.
MOST_ROWS = 2000
#: Rows whose weight is below this share of the largest say nothing about a state.
NEGLIGIBLE = 1e-4
#: Rounds of power iteration; directions are starts for EM, which corrects them.
ROUNDS = 8
#: Root mean square of the relative changes over the neighbours, and the largest one: large enough to leave the saddle
#: point between equal halves at once, small enough to rule nothing out.
TYPICAL, LARGEST = 0.5, 0.7
#: Probabilities below this have no say in how far the others can go.
RARE = 1e-3


def data_directions(
    star: Star, state: int, messages: np.ndarray, weights: np.ndarray, n: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return shifts along which the data of a state vary most: greedy sign search first, then leading eigenvectors.

    Two halves ``P ± r`` gain in log-likelihood, to second order, what ``Σ_i r_i(x_i) / P_i(x_i)`` varies in the data of
    the state beyond what independent neighbours would give. So the best small splits are leading eigenvectors of the
    covariance of the neighbours' standardised indicators: direction 3 of section 4.4.2 for variables of any
    cardinality, and what EM itself converges to from a tiny random split. The greedy search is direction 2: neighbours
    from the least to the most certain, each shifted the way in which it goes together with those before it.

    Parameters
    ----------
    star : Star
        The node and its neighbours.
    state : int
        The state to split.
    messages : array, shape (rows, columns of the star)
        What each row says about each neighbour.
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
    signals, weights = _signals(star, state, messages, weights, rng)
    found = [_greedy(star, state, signals, weights)] if n > 1 else []
    found += list(_leading(signals, weights, n - len(found), rng))
    return [_sized(star, state, vector) for vector in found]


def _signals(star: Star, state: int, messages, weights, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the rows that belong to a state, the standardised posterior of each neighbour's states."""
    chosen = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    weights = weights[chosen]
    if len(chosen) > MOST_ROWS:
        clock = rng.standard_exponential(len(chosen)) / weights
        sampled = np.sort(np.argpartition(clock, MOST_ROWS)[:MOST_ROWS])
        chosen, weights = chosen[sampled], np.ones(MOST_ROWS)
    row = star.rows[state]
    messages = messages[chosen]
    expected = star.per_neighbour(messages * row)
    ratio = np.divide(messages, expected, out=np.ones_like(messages), where=expected > 0)
    return (ratio - 1) * np.sqrt(row), weights / weights.sum()


def _leading(signals: np.ndarray, weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the leading eigenvectors of the signals' covariance, by power iteration."""
    size = signals.shape[1]
    weighted = signals * np.sqrt(weights)[:, None]
    basis = np.linalg.qr(rng.standard_normal((size, min(size, n + 2))))[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(weighted.T @ (weighted @ basis))[0]
    image = weighted @ basis
    vectors = np.linalg.eigh(image.T @ image)[1]
    return (basis @ vectors[:, ::-1][:, :n]).T


def _greedy(star: Star, state: int, signals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return a direction in which each neighbour goes along with those decided before it."""
    row = star.rows[state]
    uncertain = np.add.reduceat(-row * np.log(np.maximum(row, 1e-300)), star.starts)
    direction = np.zeros(len(row))
    along = np.zeros(len(signals))
    for item in np.argsort(-uncertain, kind="stable"):
        own = slice(star.starts[item], star.starts[item] + star.cards[item])
        block = signals[:, own]
        if direction.any():
            vector = block.T @ (weights * along)
        else:  # its likeliest state against the others
            vector = -row[own] * row[own].max()
            vector[np.argmax(row[own])] += row[own].max()
            vector = np.divide(vector, np.sqrt(row[own]), out=np.zeros_like(vector), where=row[own] > 0)
        length = np.linalg.norm(vector)
        if length > 0:
            direction[own] = vector / length
            along += block @ direction[own]
    return direction


def _sized(star: Star, state: int, vector: np.ndarray) -> np.ndarray:
    """Turn a direction among standardised indicators into a shift of typical size."""
    row = star.rows[state]
    vector = np.where(row > 0, vector, 0.0)
    largest = np.abs(vector).max()
    if largest == 0:
        return np.zeros_like(vector)
    vector = vector / largest  # so that squares neither overflow nor vanish
    typical = np.linalg.norm(vector) / np.sqrt(len(star.cards))
    shift = np.sqrt(row) * (vector * (TYPICAL / typical))
    # one factor per neighbour must not shrink all of it for the sake of a state that hardly occurs
    rare = row < RARE
    shift = np.where(rare, np.clip(shift, -LARGEST * row, LARGEST * row), shift)
    return scaled_down(centred(shift, row, star), LARGEST * row, star)


def random_directions(star: Star, state: int, n: int, size: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return random shifts in proportion to the rows of the state.

    Examples
    --------
    >>> star = Star(np.ones(1), np.array([[0.5, 0.5, 1.0, 0.0]]), np.array([2, 2]))
    >>> np.abs(random_directions(star, 0, 1, 0.1, np.random.default_rng(0))[0])
    array([0.05, 0.05, 0.  , 0.  ])
    """
    return [tilted(star, state, rng.uniform(-1, 1, star.rows.shape[1]), size) for _ in range(n)]
