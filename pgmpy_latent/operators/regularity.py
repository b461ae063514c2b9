"""Regularity: the most states that a hidden node can use; and when two models are equivalent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from math import prod

import numpy as np

from pgmpy_latent.model.emissions import emission_of_states
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of, normalised
from pgmpy_latent.operators.nodes import delete_node
from pgmpy_latent.operators.star import Star, with_star
from pgmpy_latent.operators.states import neighbour_rows

#: How many random functions, and how many random rows, two models are compared on.
N_FUNCTIONS = 64
#: States that a node next to a numeric column can use: the more, the closer any density is described.
UNBOUNDED = 2**31
N_ROWS = 64
_SEED = 20260


def bound_from_cards(cards: Iterable[int]) -> int:
    """Return the most states that a hidden node needs, given the numbers of states of its neighbours.

    More states than that leave the set of distributions as it is. With more than two neighbours the bound is their
    product divided by the largest; with two, one less than the smaller. A hidden node with fewer neighbours is not
    needed at all: the bound is 0.

    Examples
    --------
    >>> bound_from_cards([2, 3, 4]), bound_from_cards([3, 4]), bound_from_cards([4])
    (6, 2, 0)
    """
    cards = [int(card) for card in cards]  # products of numpy's integers can overflow
    if len(cards) < 2:
        return 0
    return min(cards) - 1 if len(cards) == 2 else prod(cards) // max(cards)


def regular_bound(tree: LatentTree, node: Hashable) -> int:
    """Return the most states that a node needs if it is hidden; see :func:`bound_from_cards`.

    Next to a numeric column there is no such bound.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1], "abc", "abc"], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.5]], [[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]])
    >>> regular_bound(tree, "H")
    2
    """
    around = neighbours_of(tree, tree.index(node))
    if any(emission_of_states(tree.state_names[other]) is not None for other in around):
        return UNBOUNDED
    return bound_from_cards(tree.cards[around])


def irregular_nodes(tree: LatentTree) -> tuple[Hashable, ...]:
    """Return the names of the hidden nodes with more states than they need, or with only one.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1], "ab", "ab"], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> irregular_nodes(tree)  # an edge between x and y would do
    ('H',)
    """
    return tuple(
        name for name in tree.latent_names if not 1 < tree.cards[tree.index(name)] <= regular_bound(tree, name)
    )


def is_regular(tree: LatentTree) -> bool:
    """Tell whether no hidden node is larger than needed, or has only one state.

    Examples
    --------
    >>> is_regular(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]]))
    True
    """
    return not irregular_nodes(tree)


def make_regular(tree: LatentTree) -> LatentTree:
    """Return a regular tree with the same distribution over the observed variables.

    A hidden node with one state is removed and its edges are cut, which can leave a forest. One that has at most two
    neighbours and too many states is removed, and the two are joined. One with more neighbours and too many states is
    replaced by the joint state of all its neighbours but the largest. Each step removes hidden states, so this ends.

    Parameters
    ----------
    tree : LatentTree
        The model, with at least one observed variable. (A lone hidden node is left as it is.)

    Returns
    -------
    LatentTree
        The tree itself if it is regular. Nodes that are left keep their names and order; the states of a node that was
        replaced are called 0, 1, ... .

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1], "ab", "ab"], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> regular = make_regular(tree)
    >>> regular.names, regular.table("y").round(3)
    (('x', 'y'), array([[0.773, 0.227], [0.278, 0.722]]))
    """
    while tree.n_nodes > 1 and (irregular := irregular_nodes(tree)):
        tree = _reduced(tree, irregular[0])
    return tree


def equivalent(left: LatentTree, right: LatentTree, *, tolerance: float = 1e-8) -> bool:
    """Tell whether two models are marginally equivalent and have the same number of parameters.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, 0], [True, False], [[[0.5, 0.5]], [[1, 0], [0.5, 0.5]]])
    >>> from pgmpy_latent.operators import root_walk
    >>> equivalent(tree, root_walk(tree, "x")), equivalent(tree, make_regular(tree))
    (True, False)
    """
    return left.n_parameters == right.n_parameters and marginally_equivalent(left, right, tolerance=tolerance)


def marginally_equivalent(left: LatentTree, right: LatentTree, *, tolerance: float = 1e-8) -> bool:
    """Tell whether two models have the same distribution over the observed variables, in linear time.

    The expectation of a product of functions, one per observed variable, is a multilinear polynomial in the values of
    the functions, and its coefficients are the probabilities of the rows. Two such polynomials that differ are equal
    only on a set of measure zero (Schwartz and Zippel). So the distributions are equal if the expectations agree for
    random functions. Some random positive functions are tried, and some rows drawn from either model (the functions
    that are one at a row and zero elsewhere), whose probabilities show differences that are small in the whole but
    large for the row. The draws are always the same ones.

    Parameters
    ----------
    left, right : LatentTree
        The models. Order of nodes and states does not matter, hidden variables may differ; if the observed variables or
        their states do, the answer is False.
    tolerance : float
        The largest relative difference of an expectation, or of the probability of a row, that counts as rounding.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], "ab"], [-1, 0], [True, False], [[[0.5, 0.5]], [[1, 0], [0.5, 0.5]]])
    >>> marginally_equivalent(tree, make_regular(tree))
    True
    """
    if _states_by_name(left) != _states_by_name(right):
        return False
    rng = np.random.default_rng(_SEED)
    states = {name: left.state_names[left.index(name)] for name in left.observed_names}
    functions = {name: np.exp(rng.uniform(-1.5, 1.5, size=(N_FUNCTIONS, len(of)))) for name, of in states.items()}
    drawn = [_drawn_rows(tree, states, N_ROWS // 2, rng) for tree in (left, right)]
    tried = {name: np.concatenate([functions[name], *(rows[name] for rows in drawn)]) for name in states}
    ours, theirs = (_log_expectations(tree, states, tried) for tree in (left, right))
    return np.allclose(ours, theirs, rtol=0, atol=tolerance)  # -inf, the log of zero, is close to itself only


def _reduced(tree: LatentTree, node: Hashable) -> LatentTree:
    """Return a marginally equivalent tree without an irregular node, or with fewer states of it."""
    at = tree.index(node)
    around = neighbours_of(tree, at)
    if tree.cards[at] == 1:
        return delete_node(_cut_off(tree, at), node)
    if len(around) > 2:
        return _replaced_by_neighbours(tree, node)
    if not around:
        return delete_node(tree, node)
    above = int(tree.parent[at])
    return delete_node(tree, node, tree.names[above if above >= 0 else around[0]])


def _cut_off(tree: LatentTree, at: int) -> LatentTree:
    """Return the tree with all edges of a node of one state cut; they carry no information."""
    parent, tables = tree.parent.copy(), list(tree.tables)
    parent[list(tree.child_lists[at])] = -1  # their tables have one row: their marginal
    parent[at], tables[at] = -1, np.ones((1, 1))
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)


def _replaced_by_neighbours(tree: LatentTree, node: Hashable) -> LatentTree:
    """Return the tree in which a hidden node is the joint state of all its neighbours but the largest."""
    at = tree.index(node)
    marginal, rows = neighbour_rows(tree, node)
    largest = max(rows, key=lambda other: rows[other].shape[1])
    others = [other for other in rows if other != largest]
    cards = [rows[other].shape[1] for other in others]
    joint = marginal[:, None]  # P(old state, state of the others)
    for other in others:
        joint = (joint[:, :, None] * rows[other][:, None, :]).reshape(len(marginal), -1)
    tables = {largest: normalised(joint.T @ rows[largest])}
    for other, states in zip(others, np.unravel_index(np.arange(joint.shape[1]), cards), strict=True):
        tables[other] = np.eye(rows[other].shape[1])[states]
    side_by_side = np.concatenate([tables[other] for other in rows], axis=1)
    share = normalised(joint.sum(axis=0)[None, :])[0]
    star = Star(share, side_by_side, np.array([table.shape[1] for table in rows.values()]))
    return with_star(tree, at, star, range(joint.shape[1]))


def _states_by_name(tree: LatentTree) -> dict[Hashable, frozenset]:
    return {name: frozenset(tree.state_names[tree.index(name)]) for name in tree.observed_names}


def _drawn_rows(
    tree: LatentTree, states: Mapping[Hashable, tuple], n_rows: int, rng: np.random.Generator
) -> dict[Hashable, np.ndarray]:
    """Return indicators of random rows: name -> (row, state), with the states in the given order."""
    codes: dict[int, np.ndarray] = {}
    for node in tree.order:
        above = tree.parent[node]
        rows = tree.tables[node][codes[above] if above >= 0 else np.zeros(n_rows, dtype=int)]
        ends = rows.cumsum(axis=1)
        passed = ends <= rng.random((n_rows, 1)) * ends[:, -1:]
        codes[node] = np.minimum(passed.sum(axis=1), rows.shape[1] - 1)
    indicators = {}
    for name, ordered in states.items():
        node = tree.index(name)
        position = np.array([ordered.index(state) for state in tree.state_names[node]])
        indicators[name] = np.eye(len(ordered))[position[codes[node]]]
    return indicators


def _log_expectations(
    tree: LatentTree, states: Mapping[Hashable, tuple], functions: Mapping[Hashable, np.ndarray]
) -> np.ndarray:
    """Return log E[product of functions] for a batch of functions: name -> (batch, state in the given order).

    One pass from the leaves to the roots, in logarithms throughout: products over thousands of leaves leave the range
    of floating-point numbers, and two models that multiply in different orders must not lose different states.
    """
    messages: dict[int, np.ndarray] = {}
    total = np.zeros(1)
    for node in tree.order[::-1]:
        name = tree.names[node]
        value = np.zeros((1, 1))
        if name in functions:
            value = _log(functions[name][:, [states[name].index(state) for state in tree.state_names[node]]])
        for child in tree.child_lists[node]:
            value = value + messages.pop(child)
        messages[node] = np.stack([np.logaddexp.reduce(value + row, axis=1) for row in _log(tree.tables[node])], axis=1)
        if tree.parent[node] < 0:
            total = total + messages.pop(node)[:, 0]
    return total


def _log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)
