"""Hypothesis strategies for trees, networks and tables.

Needs hypothesis: ``pip install "pgmpy-latent[test]"``.
"""

from __future__ import annotations

import numpy as np

from pgmpy_latent.model.emissions import NUMERIC_KINDS, Emission, NumericKind, emissions_of
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover
    raise ImportError(
        'random trees and tables need hypothesis; install it with pip install "pgmpy-latent[test]"'
    ) from error


def _random_table(rng: np.random.Generator, rows: int, states: int, zeros: bool) -> np.ndarray:
    table = rng.dirichlet(np.ones(states), size=rows)
    if zeros:  # some entries are exactly zero, some rows exactly deterministic
        keep = rng.random((rows, states)) > 0.3
        keep[np.arange(rows), rng.integers(states, size=rows)] = True
        table = np.where(keep, table + 1e-3, 0.0)
        table /= table.sum(axis=1, keepdims=True)
    return table


@st.composite
def latent_trees(
    draw,
    min_nodes: int = 1,
    max_nodes: int = 7,
    max_card: int = 4,
    zeros: bool | None = False,
    forests: bool = True,
    latents_are_inner: bool = False,
    labels: st.SearchStrategy | None = None,
):
    """Return a strategy for random :class:`~pgmpy_latent.LatentTree` objects.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    min_nodes, max_nodes : int
        Bounds on the number of nodes.
    max_card : int
        Most states of a node; nodes with one state occur.
    zeros : bool or None
        Whether tables may hold zeros and ones; None lets Hypothesis choose.
    forests : bool
        Whether there may be several roots.
    latents_are_inner : bool
        Whether only nodes with children may be hidden. Otherwise any node may be hidden or observed, as long
        as one is observed.
    labels : strategy, optional
        For names and states, such as ``st.one_of(st.text(), st.integers())``. Otherwise nodes are called x0 or H1,
        states s0, s1 and so on.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(latent_trees())
    ... def test_tables_are_probabilities(tree):
    ...     assert all(abs(table.sum(axis=1) - 1).max() < 1e-9 for table in tree.tables)
    >>> test_tables_are_probabilities()
    """
    n_nodes = draw(st.integers(min_nodes, max_nodes))
    lowest = -1 if forests else 0
    parent = [-1] + [draw(st.integers(lowest, node - 1)) for node in range(1, n_nodes)]
    cards = [draw(st.integers(1, max_card)) for _ in range(n_nodes)]
    latent = [draw(st.booleans()) for _ in range(n_nodes)]
    if latents_are_inner:
        latent = [hidden and node in parent for node, hidden in enumerate(latent)]
    if all(latent):
        latent[-1] = False
    with_zeros = draw(st.booleans()) if zeros is None else zeros
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # a random order of the nodes, so that parents do not always come first
    order = rng.permutation(n_nodes)
    place = np.argsort(order)
    parent = [int(place[parent[node]]) if parent[node] >= 0 else -1 for node in order]
    cards = [cards[node] for node in order]
    tables = [
        _random_table(rng, cards[above] if above >= 0 else 1, card, with_zeros)
        for above, card in zip(parent, cards, strict=True)
    ]
    if labels is None:
        names = [f"{'H' if latent[node] else 'x'}{node}" for node in order]
        state_names = [[f"s{state}" for state in range(card)] for card in cards]
    else:
        names, *state_names = [draw(st.lists(labels, min_size=n, max_size=n, unique=True)) for n in (n_nodes, *cards)]
    return LatentTree(
        names=names,
        state_names=state_names,
        parent=parent,
        latent=[latent[node] for node in order],
        tables=tables,
    )


def _random_emission(rng: np.random.Generator, kind: NumericKind) -> Emission:
    if kind in ("poisson", "negative_binomial"):
        return Emission(kind, 0.0, 1.0, float(rng.integers(3, 30)), 0.0)
    scale = float(10 ** rng.uniform(-6, 6))
    return Emission(kind, float(rng.normal(0, 10)) * scale, scale, float(rng.uniform(2, 5)), 1e-3)


def _random_numbers(rng: np.random.Generator, emission: Emission, rows: int) -> np.ndarray:
    """Return the table of a numeric column with random parameters."""
    if not emission.is_gaussian:
        return emission.table(rng.uniform(0.05, 0.9, rows) * emission.largest, None, rng.uniform(0.01, 3, rows))
    mean = emission.centre + emission.scale * rng.uniform(-0.6, 0.6, rows) * emission.largest
    return emission.table(mean, emission.scale**2 * rng.uniform(0.002, 1, 1 if emission.is_shared else rows))


@st.composite
def mixed_trees(
    draw, max_nodes: int = 5, max_card: int = 3, max_numeric: int = 4, kinds: tuple[NumericKind, ...] = NUMERIC_KINDS
):
    """Return a strategy for random trees with numeric columns as leaves of any node.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    max_nodes, max_card : int
        Most nodes with states, and most states of one.
    max_numeric : int
        Most numeric columns; there is at least one.
    kinds : sequence of str
        Kinds to choose from.

    Examples
    --------
    >>> from hypothesis import find
    >>> tree = find(mixed_trees(), lambda tree: True)
    >>> len(emissions_of(tree)) > 0
    True
    """
    inner = draw(latent_trees(max_nodes=max_nodes, max_card=max_card))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    emissions = [
        _random_emission(rng, kind) for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_numeric))
    ]
    above = [draw(st.integers(0, inner.n_nodes - 1)) for _ in emissions]
    tables = [_random_numbers(rng, one, int(inner.cards[parent])) for one, parent in zip(emissions, above, strict=True)]
    return LatentTree(
        names=[*inner.names, *(f"n{at}" for at in range(len(above)))],
        state_names=[*inner.state_names, *(one.features for one in emissions)],
        parent=[*inner.parent, *above],
        latent=[*inner.latent, *[False] * len(above)],
        tables=[*inner.tables, *tables],
    )


@st.composite
def cells_for(draw, tree: LatentTree, min_rows: int = 1, max_rows: int = 10, missing: bool = True):
    """Return a strategy for tables of a tree with numeric columns: a dict of column to list, None where it is missing.

    Numbers are drawn from the tree, rounded so that some repeat, and now and then far out.

    Examples
    --------
    >>> from hypothesis import find
    >>> tree = find(mixed_trees(), lambda tree: True)
    >>> sorted(find(cells_for(tree), lambda cells: True)) == sorted(tree.observed_names)
    True
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, emissions = draw(st.integers(min_rows, max_rows)), emissions_of(tree)
    share = draw(st.sampled_from([0.0, 0.3])) if missing else 0.0
    far = draw(st.sampled_from([1.0, 1.0, 100.0]))
    cells: dict = {}
    for node in np.flatnonzero(~tree.latent).tolist():
        if node in emissions:
            one, table = emissions[node], tree.tables[node]
            drawn = one.draw(table[rng.integers(len(table), size=n_rows)], rng)
            drawn = one.centre + far * np.round((drawn - one.centre) / one.scale, 1) * one.scale
            column: list = (np.round(drawn) if one.scale == 1.0 else drawn).tolist()
        else:
            states = tree.state_names[node]
            column = [states[at] for at in rng.integers(len(states), size=n_rows)]
        cells[tree.names[node]] = [None if rng.random() < share else cell for cell in column]
    return cells


@st.composite
def latent_networks(draw, max_nodes: int = 6, max_card: int = 3, max_parents: int = 3, zeros: bool | None = False):
    """Return a strategy for random :class:`~pgmpy_latent.LatentNetwork` objects of any shape.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    max_nodes, max_card, max_parents : int
        Most nodes, states of a node, and parents of a node; nodes with one state occur.
    zeros : bool or None
        Whether tables may hold zeros and ones; None lets Hypothesis choose.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(latent_networks())
    ... def test_something_is_observed(network):
    ...     assert not network.latent.all()
    >>> test_something_is_observed()
    """
    n_nodes = draw(st.integers(1, max_nodes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    place = rng.permutation(n_nodes)  # parents do not always come first
    parents: list = [()] * n_nodes
    for node in range(n_nodes):
        n_parents = draw(st.integers(0, min(node, max_parents)))
        parents[place[node]] = tuple(int(place[above]) for above in rng.permutation(node)[:n_parents])
    cards = [draw(st.integers(1, max_card)) for _ in range(n_nodes)]
    latent = [draw(st.booleans()) for _ in range(n_nodes)]
    if all(latent):
        latent[-1] = False
    with_zeros = draw(st.booleans()) if zeros is None else zeros
    tables = [
        _random_table(rng, int(np.prod([cards[parent] for parent in above], dtype=int)), card, with_zeros)
        for above, card in zip(parents, cards, strict=True)
    ]
    names = [f"{'H' if hidden else 'x'}{node}" for node, hidden in enumerate(latent)]
    return LatentNetwork(names, [[f"s{at}" for at in range(card)] for card in cards], parents, latent, tables)


@st.composite
def gaussian_trees(draw, max_nodes: int = 8, forests: bool = True, latents_are_inner: bool = False):
    """Return a strategy for random :class:`~pgmpy_latent.GaussianTree` objects.

    Parameters
    ----------
    draw : callable
        Supplied by Hypothesis.
    max_nodes : int
        Most nodes.
    forests : bool
        Whether there may be several roots.
    latents_are_inner : bool
        Whether only nodes with three neighbours or more may be hidden. Otherwise any node may be hidden or observed, as
        long as one is observed.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(gaussian_trees())
    ... def test_covariances_are_positive(tree):
    ...     assert (np.linalg.eigvalsh(tree.covariance()) > 0).all()
    >>> test_covariances_are_positive()
    """
    n_nodes = draw(st.integers(1, max_nodes))
    lowest = -1 if forests else 0
    above = np.array([-1] + [draw(st.integers(lowest, node - 1)) for node in range(1, n_nodes)])
    latent = np.array([draw(st.booleans()) for _ in range(n_nodes)])
    if latents_are_inner:
        degree = np.bincount(above[above >= 0], minlength=n_nodes) + (above >= 0)
        latent &= degree >= 3
    if latent.all():
        latent[-1] = False
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = rng.permutation(n_nodes)  # parents do not always come first
    place = np.append(np.argsort(order), -1)
    parent, hidden = place[above[order]], latent[order]
    correlation = rng.uniform(0.1, 0.95, n_nodes) * rng.choice([-1, 1], n_nodes)
    mean, std = rng.normal(scale=10, size=n_nodes), np.exp(rng.normal(size=n_nodes))
    return GaussianTree(
        [f"{'H' if is_hidden else 'x'}{node}" for node, is_hidden in zip(order, hidden, strict=True)],
        parent,
        hidden,
        np.where(parent < 0, 0.0, correlation),
        np.where(hidden, 0.0, mean),
        np.where(hidden, 1.0, std),
    )


@st.composite
def codes_for(draw, tree: LatentTree, min_rows: int = 1, max_rows: int = 12, missing: bool = True):
    """Return a strategy for codes of the observed nodes of a tree, -1 where a cell is missing.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> from hypothesis import find
    >>> find(codes_for(tree), lambda codes: True).shape[1]
    1
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(min_rows, max_rows))
    cards = tree.cards[~tree.latent]
    codes = rng.integers(0, cards, size=(n_rows, len(cards)))
    if missing and draw(st.booleans()):
        gaps = rng.random(codes.shape) < draw(st.sampled_from([0.1, 0.5, 0.9]))
        columns = rng.random(len(cards)) < 0.7  # some columns stay complete
        codes = np.where(gaps & columns, -1, codes)
    return codes


@st.composite
def weights_for(draw, n_rows: int):
    """Return a strategy for positive weights, whole or not.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(weights_for(3), lambda weights: True).shape
    (3,)
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        return rng.integers(1, 6, size=n_rows).astype(float)
    return rng.gamma(1.0, 2.0, size=n_rows) + 1e-3
