"""Operators on the states of hidden variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from pgmpy_latent.exceptions import UnsplittableStateError
from pgmpy_latent.model.tree import ROW_SUM_TOLERANCE, LatentTree, child_lists, parents_first
from pgmpy_latent.operators import star as stars
from pgmpy_latent.operators.edges import neighbours_of, require_hidden, require_neighbours
from pgmpy_latent.operators.star import Star, several_possible, star_of, with_star

#: Probabilities that agree to this many decimals count as equal when states are put in order.
DECIMALS = 6
#: How far from zero the sum of a direction may be, relative to its largest entry.
DIRECTION_TOLERANCE = 1e-9
#: Smallest relative change of a random split; rounding would undo a smaller one.
SMALLEST_SIZE = 1e-12


def marginals(tree: LatentTree) -> list[np.ndarray]:
    """Return the marginal distribution of every node.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> marginals(tree)[1]
    array([0.75, 0.25])
    """
    return _marginals(tree.parent, tree.tables)


def _marginals(parent: np.ndarray, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    shares: list[np.ndarray] = [np.empty(0)] * len(parent)
    for node in parents_first(parent):
        above = parent[node]
        shares[node] = tables[node][0] if above < 0 else shares[above] @ tables[node]
    return shares


def permute_states(tree: LatentTree, node: Hashable, order: Sequence[int]) -> LatentTree:
    """Return the same distribution with the states of a node in another order, names included.

    Parameters
    ----------
    tree : LatentTree
        The model.
    node : hashable
        Name of the node.
    order : sequence of int
        The old position of each new state: a permutation.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> swapped = permute_states(tree, "x", [1, 0])
    >>> swapped.state_names[0], swapped.tables[0].tolist()
    (('b', 'a'), [[0.75, 0.25]])
    """
    at = tree.index(node)
    order = [int(state) for state in order]
    if sorted(order) != list(range(int(tree.cards[at]))):
        raise ValueError(f"order is {order}; the {tree.cards[at]} states of {node!r} need a permutation of them")
    states, tables = list(tree.state_names), list(tree.tables)
    states[at] = tuple(states[at][state] for state in order)
    _reorder(tree.child_lists[at], tables, at, order)
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)


def canonical_states(tree: LatentTree, nodes: Iterable[Hashable] | None = None) -> LatentTree:
    """Return the same distribution over observed variables with the hidden states in a canonical order.

    The states of a hidden variable are sorted by falling probability; equal ones by the tables of observed children,
    in node order. State names stay where they are, since the states of a fitted hidden variable have no meaning of
    their own. Two fits that found the same optimum look the same afterwards. ``nodes`` names hidden variables to sort;
    all by default.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> canonical_states(tree).tables[0].tolist()
    [[0.8, 0.2]]
    """
    chosen = tree.latent_names if nodes is None else nodes
    tables = canonical_tables(tree.parent, tree.latent, tree.tables, [tree.index(name) for name in chosen])
    return tree.with_tables(tables)


def canonical_tables(
    parent: np.ndarray, latent: np.ndarray, tables: Sequence[np.ndarray], nodes: Iterable[int]
) -> list[np.ndarray]:
    """Return the tables that a tree has once the states of some hidden nodes are sorted; see canonical_states."""
    shares, children, sorted_tables = _marginals(parent, tables), child_lists(parent), list(tables)
    for node in nodes:
        # tables of hidden children would not do: they depend on the order of those children's own states
        observed = [child for child in children[node] if not latent[child]]
        keys = np.concatenate([shares[node][:, None], *(tables[child] for child in observed)], axis=1)
        sort_keys = list(map(tuple, (-keys.round(DECIMALS)).tolist()))
        _reorder(children[node], sorted_tables, node, sorted(range(len(sort_keys)), key=sort_keys.__getitem__))
    return sorted_tables


def neighbour_rows(tree: LatentTree, node: Hashable) -> tuple[np.ndarray, dict[Hashable, np.ndarray]]:
    """Return P(node), and P(neighbour | node) for every neighbour: the tables when the node is the root.

    Parameters
    ----------
    tree : LatentTree
        The model.
    node : hashable
        Name of the node, hidden or observed; it may stand anywhere.

    Returns
    -------
    marginal : array, shape (states,)
        The node's own distribution.
    rows : dict of arrays, shape (states, states of the neighbour)
        One table per neighbour, by name, in node order. The parent's is uniform for states of probability zero.

    Examples
    --------
    >>> tree = LatentTree(["x", "H"], [["a", "b"], [0, 1]], [-1, 0], [False, True],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> marginal, rows = neighbour_rows(tree, "H")
    >>> marginal, rows["x"].round(3)
    (array([0.75, 0.25]), array([[0.667, 0.333], [0.   , 1.   ]]))
    """
    at = tree.index(node)
    star = star_of(tree, at)
    return star.share, _by_neighbour(tree, at, star.parts(star.rows))


def can_split(tree: LatentTree, node: Hashable, state: Hashable) -> bool:
    """Tell whether a state of a hidden node can be split into two different halves.

    It cannot if it allows only one state of every neighbour: two halves whose average is a point mass both equal it.
    What the parent's state is given a state of probability zero is no part of the model, so it does not count.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> can_split(tree, "H", 0), can_split(tree, "H", 1)
    (False, True)
    """
    at = require_hidden(tree, node)
    position = _state_index(tree, node, state, at)
    return bool(_changeable(tree, at, star_of(tree, at), position).any())


def random_direction(
    tree: LatentTree, node: Hashable, state: Hashable, rng: np.random.Generator, size: float = 0.001
) -> dict[Hashable, np.ndarray]:
    """Return a random way to split a state of a hidden node, for :func:`split_state`.

    Each neighbour's row P is tilted relative to its entries: ``r_j = P_j (u_j - Σ_k P_k u_k)`` with uniform u, scaled
    so that the largest relative change is ``size``. Zeros therefore stay zero and both halves are distributions, also
    where the model lies at the boundary. A neighbour of which only one state is possible gets zeros, and so does the
    parent if the state has probability zero.

    Parameters
    ----------
    tree : LatentTree
        The model.
    node, state : hashable
        A hidden node and the name of one of its states.
    rng : numpy.random.Generator
        Source of randomness.
    size : float
        Largest change relative to a probability; above 0 and at most 1.

    Returns
    -------
    dict of arrays
        One vector that sums to zero per neighbour, by name.

    Raises
    ------
    UnsplittableStateError
        If only one state of each neighbour is possible; see :func:`can_split`.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0], ["a", "b", "c"]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5, 0.0]]])
    >>> direction = random_direction(tree, "H", 0, np.random.default_rng(0), size=0.1)
    >>> abs(direction["x"]).round(6)
    array([0.05, 0.05, 0.  ])
    """
    if not SMALLEST_SIZE <= size <= 1:
        raise ValueError(f"size is {size}; it must be at least {SMALLEST_SIZE}, or rounding undoes it, and at most 1")
    at = require_hidden(tree, node)
    position = _state_index(tree, node, state, at)
    star = star_of(tree, at)
    changeable = _changeable(tree, at, star, position)
    if not changeable.any():
        raise UnsplittableStateError(
            f"state {state!r} of {node!r} allows one state of each neighbour only, so that both halves would equal it; "
            "split another state, or introduce a new one"
        )
    tilt = rng.uniform(-1, 1, size=len(changeable))  # drawn for all, so that one row does not shift the others
    shift = np.where(changeable, stars.tilted(star, position, tilt, size), 0.0)
    return _by_neighbour(tree, at, star.parts(shift))


def thesis_direction(
    tree: LatentTree,
    node: Hashable,
    state: Hashable,
    rng: np.random.Generator,
    size: float = 0.001,
    edge: float = 1e-6,
) -> dict[Hashable, np.ndarray]:
    """Return a random way to split a state as the thesis does: Procedure 6.2 with its footnote 3.

    Each vector is drawn uniformly, centred to sum to zero, and scaled so that its largest entry is ``size``. It is
    scaled down where a half would leave ``[edge, 1 - edge]``. A neighbour whose row leaves that interval already gets
    zeros; near the boundary all vectors can be zero, and the split then yields two equal halves, which EM cannot tell
    apart. :func:`random_direction` splits such states too.

    Parameters
    ----------
    tree : LatentTree
        The model.
    node, state : hashable
        A hidden node and the name of one of its states.
    rng : numpy.random.Generator
        Source of randomness.
    size : float
        The largest change of a probability.
    edge : float
        How close to zero and one the halves may come.

    Returns
    -------
    dict of arrays
        One vector that sums to zero per neighbour, by name.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0], ["a", "b"], ["a", "b"]], [-1, 0, 0], [True, False, False],
    ...                   [[[1.0]], [[0.5, 0.5]], [[1.0, 0.0]]])
    >>> direction = thesis_direction(tree, "H", 0, np.random.default_rng(0))
    >>> abs(direction["x"]), direction["y"]
    (array([0.001, 0.001]), array([0., 0.]))
    """
    at = require_hidden(tree, node)
    position = _state_index(tree, node, state, at)
    if not size > 0:
        raise ValueError(f"size is {size}; it must be above 0")
    if not 0 <= edge < 0.5:
        raise ValueError(f"edge is {edge}; it must be at least 0 and below 0.5")
    star = star_of(tree, at)
    return _by_neighbour(tree, at, star.parts(stars.uniform_shift(star, position, size, edge, rng)))


def split_state(
    tree: LatentTree,
    node: Hashable,
    state: Hashable,
    *,
    direction: Mapping[Hashable, ArrayLike] | None = None,
    rng: np.random.Generator | None = None,
    size: float = 0.001,
) -> LatentTree:
    """Split a state of a hidden node into two similar ones (Definitions 4.2 and 7.1).

    With the node as the root, each half has half of the state's probability, and its neighbours follow P + r given the
    first half and P - r given the second. :func:`merge_states` of the halves undoes the split. A direction of zeros
    duplicates the state, which keeps the distribution over all other variables; any direction keeps the distribution
    of each single variable.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is.
    node, state : hashable
        A hidden node and the name of one of its states. The first half keeps this name and its position. The second
        half comes last, called by the smallest whole number that is not a state yet.
    direction : mapping of neighbour to vector, optional
        How the rows of the neighbours change: the vectors r, each of sum zero; neighbours left out keep their rows. A
        vector is scaled down, as a whole, where P + r or P - r would leave [0, 1]. Random if None.
    rng : numpy.random.Generator, optional
        Source of the random direction; needed if no direction is given.
    size : float
        Size of the random direction; see :func:`random_direction`.

    Raises
    ------
    UnsplittableStateError
        If a random direction is asked for and there is none.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["all"], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5]]])
    >>> split = split_state(tree, "H", "all", direction={"x": [0.25, -0.25]})
    >>> split.state_names[0], split.table("H"), split.table("x")
    (('all', 0), array([[0.5, 0.5]]), array([[0.75, 0.25], [0.25, 0.75]]))
    >>> merge_states(split, "H", ["all", 0]) == tree
    True
    """
    at = require_hidden(tree, node)
    half = _state_index(tree, node, state, at)
    if direction is None:
        if rng is None:
            raise ValueError(
                f"to split state {state!r} of {node!r}, give a direction, or rng=numpy.random.default_rng(seed)"
            )
        shifts = _checked_direction(tree, node, random_direction(tree, node, state, rng, size))
    else:
        shifts = _checked_direction(tree, node, direction)
    star = star_of(tree, at)
    shift = _side_by_side(tree, at, shifts, [np.zeros(card) for card in star.cards])
    split = stars.split(star, half, shift)
    return with_star(tree, at, split, (*tree.state_names[at], _fresh_name(tree.state_names[at])))


def merge_states(tree: LatentTree, node: Hashable, states: Sequence[Hashable]) -> LatentTree:
    """Merge states of a hidden node into one (Definitions 5.2 and 7.2).

    With the node as the root, the probabilities of the states add up and the neighbours' rows are averaged, weighted by
    these probabilities (evenly if all are zero). This keeps the distribution of each single variable, and the joint one
    of all variables that are reached through the same neighbour. It changes how neighbours depend on each other, unless
    the states have equal rows.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is.
    node : hashable
        A hidden node.
    states : sequence of hashable
        Two or more of its states, by name. The result has name and position of the first one given.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.75, 0.25]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> merged = merge_states(tree, "H", [1, 0])
    >>> merged.state_names[0], merged.table("x")
    ((1,), array([[0.75, 0.25]]))
    """
    at = require_hidden(tree, node)
    merged = [_state_index(tree, node, state, at) for state in states]
    if len(merged) < 2:
        raise ValueError(f"{len(merged)} states of {node!r} are to be merged; give two or more")
    if len(set(merged)) < len(merged):
        raise ValueError(f"a state of {node!r} is to be merged with itself: {list(states)}; give different ones")
    left = [name for position, name in enumerate(tree.state_names[at]) if position not in merged[1:]]
    return with_star(tree, at, stars.merge(star_of(tree, at), merged), left)


def introduce_state(
    tree: LatentTree,
    node: Hashable,
    *,
    share: float,
    rows: Mapping[Hashable, ArrayLike] | None = None,
    name: Hashable = None,
) -> LatentTree:
    """Give a hidden node a new last state (Definition 4.1).

    With the node as the root, the new state has probability ``share``, and the others keep their rows and their
    proportions. The distribution over the other variables becomes a mixture of the old one and of the one given the
    new state. :func:`remove_state` undoes it.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is.
    node : hashable
        A hidden node.
    share : float
        Probability of the new state, between 0 and 1.
    rows : mapping of neighbour to distribution, optional
        P(neighbour | new state); uniform for neighbours left out.
    name : hashable, optional
        Name of the state; by default the smallest whole number that is not a state yet.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["old"], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5]]])
    >>> larger = introduce_state(tree, "H", share=0.25, rows={"x": [0.0, 1.0]}, name="new")
    >>> larger.state_names[0], larger.table("H"), larger.table("x")
    (('old', 'new'), array([[0.75, 0.25]]), array([[0.5, 0.5], [0. , 1. ]]))
    """
    at = require_hidden(tree, node)
    if not 0 < share < 1:
        raise ValueError(f"share of the new state of {node!r} is {share}; it must be above 0 and below 1")
    name = _fresh_name(tree.state_names[at]) if name is None else name
    if name in tree.state_names[at]:
        raise ValueError(f"{node!r} has a state {name!r} already; choose another name")
    checked = _checked_rows(tree, node, rows or {})
    star = star_of(tree, at)
    row = _side_by_side(tree, at, checked, [np.full(card, 1 / card) for card in star.cards])
    return with_star(tree, at, stars.introduce(star, share, row), (*tree.state_names[at], name))


def remove_state(tree: LatentTree, node: Hashable, state: Hashable) -> LatentTree:
    """Remove a state of a hidden node (Definition 5.1).

    With the node as the root, the other states keep their rows and their proportions; if the removed state had
    probability one, they become equally likely. The distribution over the other variables becomes the one given that
    the node is in another state.

    Parameters
    ----------
    tree : LatentTree
        The model. Its root stays where it is.
    node, state : hashable
        A hidden node and the name of one of its states.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1, 2], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.25, 0.25]], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])
    >>> smaller = remove_state(tree, "H", 0)
    >>> smaller.state_names[0], smaller.table("H"), smaller.table("x")
    ((1, 2), array([[0.5, 0.5]]), array([[0. , 1. ], [0.5, 0.5]]))
    """
    at = require_hidden(tree, node)
    removed = _state_index(tree, node, state, at)
    if tree.cards[at] == 1:
        raise ValueError(f"{state!r} is the last state of {node!r}; delete the node instead")
    left = [name for position, name in enumerate(tree.state_names[at]) if position != removed]
    return with_star(tree, at, stars.remove(star_of(tree, at), removed), left)


def _reorder(children: Iterable[int], tables: list[np.ndarray], at: int, order: Sequence[int]) -> None:
    """Put the states of a node in another order, in its own table and in those of its children."""
    tables[at] = tables[at][:, order]
    for child in children:
        tables[child] = tables[child][order]


def _state_index(tree: LatentTree, node: Hashable, state: Hashable, at: int) -> int:
    states = tree.state_names[at]
    if state not in states:
        raise ValueError(f"{node!r} has no state {state!r}; its states are {list(states)}")
    return states.index(state)


def _fresh_name(states: Sequence[Hashable]) -> int:
    return next(number for number in count() if number not in states)  # by ==, so that True takes the place of 1


def _changeable(tree: LatentTree, at: int, star: Star, state: int) -> np.ndarray:
    """Tell for each column of a star whether a split can change it.

    More than one state of its neighbour must be possible, and the model must hold the row: what the parent's state is
    given a state of probability zero is no part of it.
    """
    changeable = several_possible(star, state)
    if star.share[state] == 0 and tree.parent[at] >= 0:
        changeable &= star.neighbour_of_column != neighbours_of(tree, at).index(tree.parent[at])
    return changeable


def _by_neighbour(tree: LatentTree, at: int, parts: Sequence[np.ndarray]) -> dict[Hashable, np.ndarray]:
    """Return the parts by the names of the neighbours that they belong to."""
    return {tree.names[other]: part for other, part in zip(neighbours_of(tree, at), parts, strict=True)}


def _side_by_side(
    tree: LatentTree, at: int, vectors: Mapping[Hashable, np.ndarray], defaults: Sequence[np.ndarray]
) -> np.ndarray:
    """Return one vector per neighbour of a node as the columns of its star; defaults for neighbours left out."""
    by_name = _by_neighbour(tree, at, defaults)
    return np.concatenate([np.empty(0), *(vectors.get(name, default) for name, default in by_name.items())])


def _checked_direction(
    tree: LatentTree, node: Hashable, direction: Mapping[Hashable, ArrayLike]
) -> dict[Hashable, np.ndarray]:
    """Return the vectors as arrays whose sums are zero up to rounding."""
    shifts = _checked_vectors(tree, node, direction)
    for other, shift in shifts.items():
        total, largest = shift.sum(), np.abs(shift).max()
        if abs(total) > DIRECTION_TOLERANCE * largest:
            raise ValueError(f"the direction for {other!r} sums to {total:.6g}; it must sum to zero: subtract its mean")
        if largest > 0:  # in proportion, so that zeros stay zero and no entry changes its sign
            shifts[other] = shift - np.abs(shift) * (total / np.abs(shift).sum())
    return shifts


def _checked_rows(tree: LatentTree, node: Hashable, rows: Mapping[Hashable, ArrayLike]) -> dict[Hashable, np.ndarray]:
    """Return the rows as arrays that are distributions."""
    checked = _checked_vectors(tree, node, rows)
    for other, row in checked.items():
        if (row < 0).any() or abs(row.sum() - 1) > ROW_SUM_TOLERANCE:
            raise ValueError(
                f"the row for {other!r} is {row.tolist()}; give probabilities that are at least 0 and sum to 1"
            )
    return checked


def _checked_vectors(
    tree: LatentTree, node: Hashable, vectors: Mapping[Hashable, ArrayLike]
) -> dict[Hashable, np.ndarray]:
    """Return finite arrays, one entry per state of the neighbour that they are for."""
    require_neighbours(tree, node, vectors)
    checked = {}
    for other, values in vectors.items():
        vector = np.array(values, dtype=float)
        card = int(tree.cards[tree.index(other)])
        if vector.shape != (card,):
            raise ValueError(f"the vector for {other!r} has shape {vector.shape}; its states ask for {(card,)}")
        if not np.isfinite(vector).all():
            raise ValueError(f"the vector for {other!r} holds NaN or infinity; give finite numbers")
        checked[other] = vector
    return checked
