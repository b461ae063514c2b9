"""Stars: a node with the tables around it, as arrays in which states are split, merged, introduced and removed.

The operators on trees apply these functions to the star of a node. Learners, which compare hundreds of candidates that
differ in one node, use them without building trees.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of, normalised, path_from_root, rooted_at


@dataclass(frozen=True, eq=False)
class Star:
    """P(node), and P(neighbour | node) of all neighbours side by side.

    Attributes
    ----------
    share : array, shape (states,)
        Distribution of the node.
    rows : array, shape (states, sum of the neighbours' states)
        ``rows[state]`` holds one distribution after the other.
    cards : int array, shape (neighbours,)
        Number of states of each neighbour.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.5, 0.5, 0.1, 0.9]]), np.array([2, 2]))
    >>> split(star, 0, np.array([0.2, -0.2, 0.0, 0.0])).rows
    array([[0.7, 0.3, 0.1, 0.9],
           [0.3, 0.7, 0.1, 0.9]])
    """

    share: np.ndarray
    rows: np.ndarray
    cards: np.ndarray

    @property
    def n_states(self) -> int:
        """Number of states of the node."""
        return len(self.share)

    @cached_property
    def starts(self) -> np.ndarray:
        """First column of each neighbour."""
        return np.cumsum(self.cards, dtype=np.int64) - self.cards

    @cached_property
    def neighbour_of_column(self) -> np.ndarray:
        """Which neighbour each column belongs to."""
        return np.repeat(np.arange(len(self.cards)), self.cards)

    def per_neighbour(self, values: np.ndarray, combine=np.add) -> np.ndarray:
        """Combine the columns of each neighbour, and repeat the result over them."""
        return combine.reduceat(values, self.starts, axis=-1)[..., self.neighbour_of_column]

    def parts(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the columns of each neighbour by themselves."""
        return [values[..., first : first + card] for first, card in zip(self.starts, self.cards, strict=True)]


def star_of(tree: LatentTree, at: int) -> Star:
    """Return the star of a node: the tables when it is the root, neighbours in node order.

    Examples
    --------
    >>> tree = LatentTree(["x", "H"], [["a", "b"], [0, 1]], [-1, 0], [False, True],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> star_of(tree, 1).rows.round(3)
    array([[0.667, 0.333],
           [0.   , 1.   ]])
    """
    around = neighbours_of(tree, at)
    _, tables = rooted_at(tree.parent, tree.tables, at)
    rows = np.concatenate([np.empty((tree.cards[at], 0)), *(tables[other] for other in around)], axis=1)
    return Star(tables[at][0], rows, tree.cards[around])


def with_star(tree: LatentTree, at: int, star: Star, state_names: Sequence[Hashable]) -> LatentTree:
    """Return the tree with another star around a node, and new names of the node's states; its root stays the same.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["all"], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5]]])
    >>> star = split(star_of(tree, 0), 0, np.array([0.25, -0.25]))
    >>> with_star(tree, 0, star, ["one", "two"]).table("x")
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    parent, tables = rooted_at(tree.parent, tree.tables, at)
    tables[at] = star.share[None]
    for other, table in zip(neighbours_of(tree, at), star.parts(star.rows), strict=True):
        tables[other] = table
    states = list(tree.state_names)
    states[at] = tuple(state_names)
    parent, tables = rooted_at(parent, tables, path_from_root(tree.parent, at)[0])
    return LatentTree(tree.names, states, parent, tree.latent, tables, tree.missing)


def split(star: Star, state: int, shift: np.ndarray) -> Star:
    """Split a state in two: half of its share each, rows ``P + shift`` and ``P - shift``; the second half comes last.

    The shift of a neighbour is scaled down, as a whole, where a half would leave [0, 1].

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.9, 0.1]]), np.array([2]))
    >>> split(star, 0, np.array([-0.4, 0.4])).rows.round(6)
    array([[0.8, 0.2],
           [1. , 0. ]])
    """
    row = star.rows[state]
    shift = scaled_down(shift, row, star)
    share = np.append(star.share, star.share[state] / 2)
    share[state] /= 2
    rows = np.vstack([star.rows, row - shift])
    rows[state] = row + shift
    return Star(share, rows, star.cards)


def merge(star: Star, states: Sequence[int]) -> Star:
    """Merge states into the first of them: shares add up, rows are averaged by shares.

    Examples
    --------
    >>> star = Star(np.array([0.75, 0.25]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2]))
    >>> merge(star, [0, 1]).rows
    array([[0.75, 0.25]])
    """
    states = list(states)
    weights = normalised(star.share[None, states])[0]
    share, rows = star.share.copy(), star.rows.copy()
    share[states[0]] = star.share[states].sum()
    rows[states[0]] = weights @ star.rows[states]
    return Star(np.delete(share, states[1:]), np.delete(rows, states[1:], axis=0), star.cards)


def merge_pairs(star: Star, pairs: Sequence[tuple[int, int]]) -> list[Star]:
    """Return the star with two states merged, for many pairs at once. See :func:`merge`.

    Examples
    --------
    >>> star = Star(np.array([0.5, 0.25, 0.25]), np.eye(3), np.array([3]))
    >>> [merged.share.tolist() for merged in merge_pairs(star, [(0, 1), (2, 1)])]
    [[0.75, 0.25], [0.5, 0.5]]
    """
    if not pairs:
        return []
    into, gone = np.array(pairs).T
    both = star.share[into] + star.share[gone]
    weight = np.divide(star.share[into], both, out=np.full(len(both), 0.5), where=both > 0)[:, None]
    share = np.repeat(star.share[None], len(pairs), axis=0)
    rows = np.repeat(star.rows[None], len(pairs), axis=0)
    every = np.arange(len(pairs))
    share[every, into] = both
    rows[every, into] = weight * star.rows[into] + (1 - weight) * star.rows[gone]
    left = np.arange(star.n_states) != gone[:, None]
    share = share[left].reshape(len(pairs), -1)
    rows = rows[left].reshape(len(pairs), star.n_states - 1, -1)
    return [Star(merged_share, merged_rows, star.cards) for merged_share, merged_rows in zip(share, rows, strict=True)]


def merge_losses(star: Star, other: Star) -> np.ndarray:
    """Return what merging a state of one star with a state of another loses, if every row stays in its state.

    Per row of all, in nats: the expected log-probability of a row together with its state, before minus after, where
    rows are as the stars say. EM puts rows elsewhere then, and so loses less; but pairs that lose little here lose
    little in truth, and no row of a table is needed to say so.

    Parameters
    ----------
    star, other : Star
        With the same neighbours. They may be the same; a state merged with itself means nothing then.

    Returns
    -------
    array, shape (states of the star, states of the other)

    Examples
    --------
    >>> star = Star(np.array([0.5, 0.5]), np.eye(2), np.array([2]))
    >>> float(merge_losses(star, star)[0, 1])  # a column alone needs no states at all
    0.0
    """
    mine, theirs = star.share[:, None] * star.rows, other.share[:, None] * other.rows
    n_neighbours = len(star.cards)

    def information(share: np.ndarray, joint: np.ndarray) -> np.ndarray:
        return xlogy(joint, joint).sum(axis=-1) - (n_neighbours - 1) * xlogy(share, share)

    apart = information(star.share, mine)[:, None] + information(other.share, theirs)
    together = [information(share + other.share, joint + theirs) for share, joint in zip(star.share, mine, strict=True)]
    return apart - np.array(together)


def merge_groups(star: Star, labels: np.ndarray) -> Star:
    """Merge states into groups: ``labels`` holds the group of each state, from 0 on. See :func:`merge`.

    Examples
    --------
    >>> star = Star(np.array([0.5, 0.25, 0.25]), np.eye(3), np.array([3]))
    >>> merge_groups(star, np.array([0, 1, 0])).share
    array([0.75, 0.25])
    """
    member = (np.arange(labels.max() + 1)[:, None] == labels).astype(np.float64)
    weights = normalised(member * star.share)
    # a group of probability zero gets the mean of its states' rows
    weights = np.where((member @ star.share > 0)[:, None], weights, normalised(member))
    return Star(member @ star.share, weights @ star.rows, star.cards)


def introduce(star: Star, share: float, row: np.ndarray) -> Star:
    """Add a last state of the given share; the others keep their rows and proportions.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.9, 0.1]]), np.array([2]))
    >>> introduce(star, 0.25, np.array([0.5, 0.5])).share
    array([0.75, 0.25])
    """
    return Star(np.append((1 - share) * star.share, share), np.vstack([star.rows, row]), star.cards)


def remove(star: Star, state: int) -> Star:
    """Remove a state; the others keep their rows and proportions, or become equally likely if nothing is left.

    Examples
    --------
    >>> star = Star(np.array([0.5, 0.25, 0.25]), np.eye(3), np.array([3]))
    >>> remove(star, 0).share
    array([0.5, 0.5])
    """
    # dividing by the sum of the rest, not by 1 - P, stays exact where the removed state has nearly all probability
    share = normalised(np.delete(star.share, state)[None])[0]
    return Star(share, np.delete(star.rows, state, axis=0), star.cards)


def scaled_down(shift: np.ndarray, room: np.ndarray, star: Star) -> np.ndarray:
    """Return the shift, each neighbour's scaled by one factor so that no entry exceeds the room it has.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.9, 0.1]]), np.array([2]))
    >>> scaled_down(np.array([-0.4, 0.4]), star.rows[0], star).round(6)
    array([-0.1,  0.1])
    """
    room, size = np.maximum(room, 0.0), np.abs(shift)
    factor = star.per_neighbour(np.divide(room, size, out=np.ones(len(size)), where=size > room), np.minimum)
    # rounding must not exceed the room either; clipping ensures it near the smallest numbers, which have few digits
    smaller = np.clip(shift * (factor * (1 - 4 * np.finfo(float).eps)), -room, room)
    return np.where(factor < 1, smaller, shift)


def several_possible(star: Star, state: int) -> np.ndarray:
    """Tell for each column whether a state allows more than one state of that neighbour: only there can halves differ.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.9, 0.1, 1.0, 0.0]]), np.array([2, 2]))
    >>> several_possible(star, 0)
    array([ True,  True, False, False])
    """
    return star.per_neighbour((star.rows[state] > 0).astype(np.int64)) > 1


def tilted(star: Star, state: int, tilt: np.ndarray, size: float) -> np.ndarray:
    """Return a shift in proportion to the rows of a state: zeros stay zero, and both halves are distributions.

    ``P_j (u_j - Σ_k P_k u_k)`` for each neighbour, scaled so that its largest relative change is ``size``; zeros where
    only one state is possible.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.5, 0.5, 0.0]]), np.array([3]))
    >>> tilted(star, 0, np.array([1.0, -1.0, 9.0]), 0.1)
    array([ 0.05, -0.05,  0.  ])
    """
    row = star.rows[state]
    deviation = np.where(row > 0, tilt - star.per_neighbour(row * tilt), 0.0)
    largest = star.per_neighbour(np.abs(deviation), np.maximum)
    # in this order nothing overflows, since no deviation exceeds the largest
    relative = np.divide(deviation, largest, out=np.zeros(len(row)), where=largest > 0) * size
    return scaled_down(centred(row * relative, row, star), row, star)


def centred(shift: np.ndarray, row: np.ndarray, star: Star) -> np.ndarray:
    """Return the shift with the sum over each neighbour made zero at its likeliest state.

    To an entry of 1e-300 even the 1e-17 that rounding leaves over would be too much.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.9, 0.1]]), np.array([2]))
    >>> centred(np.array([0.2, -0.1]), star.rows[0], star)
    array([ 0.1, -0.1])
    """
    likeliest = np.flatnonzero(row == star.per_neighbour(row, np.maximum))
    # the first of those that are equally likely
    likeliest = likeliest[np.searchsorted(star.neighbour_of_column[likeliest], np.arange(len(star.cards)))]
    shift = shift.copy()
    shift[likeliest] = 0.0
    shift[likeliest] = 0.0 - np.add.reduceat(shift, star.starts)  # never -0
    return shift


def uniform_shift(star: Star, state: int, size: float, edge: float, rng: np.random.Generator) -> np.ndarray:
    """Return a random shift as the thesis draws it (Procedure 6.2 and its footnote 3).

    Uniform, centred, with a largest entry of ``size``; scaled down where a half would leave ``[edge, 1 - edge]``, and
    zero where the row leaves that interval already.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.5, 0.5, 1.0, 0.0]]), np.array([2, 2]))
    >>> np.abs(uniform_shift(star, 0, 0.001, 1e-6, np.random.default_rng(0)))
    array([0.001, 0.001, 0.   , 0.   ])
    """
    row = star.rows[state]
    shift = rng.uniform(-size, size, size=len(row))
    shift -= star.per_neighbour(shift) / star.cards[star.neighbour_of_column]
    largest = star.per_neighbour(np.abs(shift), np.maximum)
    room = row - edge  # if all entries are at least edge, then none exceeds 1 - edge
    movable = (star.per_neighbour(room, np.minimum) >= 0) & (largest > 0)
    # in this order the largest is exactly size, and nothing overflows
    shift = np.divide(shift, largest, out=np.zeros(len(row)), where=movable) * size
    return scaled_down(shift, room, star)


def split_clipped(star: Star, state: int, size: float, edge: float, rng: np.random.Generator) -> Star:
    """Split a state in two as section 4.4.2 of the thesis does: uniform shifts, clipped, and each half normalised.

    Every entry is moved by up to ``size``, one way in one half and the other way in the other; what leaves
    ``[edge, 1 - edge]`` is put on its edge. States with entries near 0 or 1 are split as well.

    Examples
    --------
    >>> star = Star(np.array([1.0]), np.array([[0.5, 0.5, 1.0, 0.0]]), np.array([2, 2]))
    >>> split_clipped(star, 0, 0.1, 1e-6, np.random.default_rng(0)).rows.round(2)
    array([[0.54, 0.46, 1.  , 0.  ],
           [0.46, 0.54, 0.91, 0.09]])
    """
    row = star.rows[state]
    shift = rng.uniform(-size, size, size=len(row))
    halves = np.clip(np.stack([row + shift, row - shift]), edge, 1 - edge)
    halves[:, star.cards[star.neighbour_of_column] == 1] = 1.0  # neighbours with one state
    halves = np.stack([half / star.per_neighbour(half) for half in halves])
    share = np.append(star.share, star.share[state] / 2)
    share[state] /= 2
    rows = np.vstack([star.rows, halves[1]])
    rows[state] = halves[0]
    return Star(share, rows, star.cards)


def substitute(star: Star, state: int, parts: Star) -> Star:
    """Replace a state by several that divide its share; the first takes its place, the rest come last.

    Examples
    --------
    >>> star = Star(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([2]))
    >>> substitute(star, 1, Star(np.array([0.5, 0.5]), np.eye(2), star.cards)).share
    array([0.5 , 0.25, 0.25])
    """
    share = np.append(star.share, star.share[state] * parts.share[1:])
    share[state] = star.share[state] * parts.share[0]
    rows = np.vstack([star.rows, parts.rows[1:]])
    rows[state] = parts.rows[0]
    return Star(share, rows, star.cards)
