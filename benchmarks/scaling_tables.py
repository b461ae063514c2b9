"""Tables whose sizes can be chosen, drawn from models that are known; and networks for learners that are given one."""

from __future__ import annotations

from benchmarks import runner  # noqa: F401 - first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from pgmpy.base import DAG

from benchmarks.gaussian import drawn_tree
from pgmpy_latent import GaussianTree, LatentTree, gaussian, sample

Sizes = dict[str, int]
ROWS, COLUMNS, STATES = "rows", "columns", "states of columns"
HIDDEN, HIDDEN_STATES = "hidden variables", "states of hidden variables"
AXES = (ROWS, COLUMNS, STATES, HIDDEN, HIDDEN_STATES)
#: What a classifier of numbers calls its sizes, and so trees of numbers.
ATTRIBUTES, LATENTS, COMPONENTS = "attributes", "latents", "components"
#: What a panel calls its own: people are rows.
ITEMS, WAVES = "items", "waves"

#: Share of each row of a table that goes to one state; the rest is random.
STRENGTH = 0.6
#: Share of the cells that is missing in rows with gaps, at random; so nearly every row has gaps of its own.
GAPS = 0.1
#: Standard deviation of the numbers that stand for a category, beside a distance of 1 between neighbours.
NOISE = 0.3


def planted_tree(sizes: Sizes) -> LatentTree:
    """Return a binary tree of hidden variables, each above as many columns as the others.

    >>> planted_tree({COLUMNS: 4, STATES: 3, HIDDEN: 2, HIDDEN_STATES: 3}).children("H2")
    ('x3', 'x4')
    """
    rng = np.random.default_rng(0)
    n_hidden, n_columns = sizes[HIDDEN], sizes[COLUMNS]
    parent = [(node - 1) // 2 if node else -1 for node in range(n_hidden)]
    parent += [column * n_hidden // n_columns for column in range(n_columns)]
    cards = [sizes[HIDDEN_STATES]] * n_hidden + [sizes[STATES]] * n_columns
    names = [f"H{node + 1}" for node in range(n_hidden)] + [f"x{column + 1}" for column in range(n_columns)]
    tables = [
        np.full((1, card), 1 / card) if above < 0 else planted_table(rng, cards[above], card)
        for above, card in zip(parent, cards, strict=True)
    ]
    return LatentTree(names, [range(card) for card in cards], parent, [name[0] == "H" for name in names], tables)


def planted_table(rng: np.random.Generator, n_above: int, card: int) -> np.ndarray:
    """Draw a table in which states of the parent prefer different states of the child, as far as there are enough."""
    preferred = rng.permutation(max(n_above, card))[:n_above] % card
    return STRENGTH * np.eye(card)[preferred] + (1 - STRENGTH) * rng.dirichlet(np.ones(card), size=n_above)


def planted(sizes: Sizes) -> tuple[LatentTree, pd.DataFrame]:
    """Return a tree, and rows drawn from it."""
    truth = planted_tree(sizes)
    return truth, sample(truth, sizes[ROWS], random_state=0)


def columns_below(truth: LatentTree, hidden: str) -> list[str]:
    return [name for name in truth.children(hidden) if name in truth.observed_names]


def dag(truth: LatentTree, edges: list[tuple[str, str]]) -> DAG:
    network = DAG(edges, latents=set(truth.latent_names))
    network.add_nodes_from(truth.names)
    return network


def linked_network(truth: LatentTree) -> DAG:
    """Return the tree's graph with links between pairs of columns besides, so that it is no tree."""
    edges = [(above, name) for above in truth.latent_names for name in truth.children(above)]
    groups = [columns_below(truth, above) for above in truth.latent_names]
    return dag(truth, edges + [pair for group in groups for pair in zip(group[::2], group[1::2], strict=False)])


def half_network(truth: LatentTree) -> DAG:
    """Return the tree's graph without the edges to every other column, for a learner to find."""
    edges = []
    for above in truth.latent_names:
        unlinked = columns_below(truth, above)[1::2]
        edges += [(above, name) for name in truth.children(above) if name not in unlinked]
    return dag(truth, edges)


def with_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out cells at random."""
    return table.mask(np.random.default_rng(0).random(table.shape) < GAPS)


def half_numbers(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Make every other column of categories one of numbers around them; return the kinds of all columns, too."""
    rng, mixed = np.random.default_rng(0), table.copy()
    for name in table.columns[1::2]:
        mixed[name] = table[name].astype(float) + NOISE * rng.normal(size=len(table))
    return mixed, {name: "gaussian" if at % 2 else "categorical" for at, name in enumerate(table)}


def planted_numbers(sizes: Sizes) -> tuple[GaussianTree, pd.DataFrame]:
    """Return a tree of numbers, and rows drawn from it."""
    truth = drawn_tree(sizes[ATTRIBUTES], 0)
    return truth, gaussian.sample(truth, sizes[ROWS], random_state=0)


def panel(sizes: Sizes) -> tuple[pd.DataFrame, list[str]]:
    """Return a long table of people who stay in their state or move between waves, and its items.

    >>> panel({ROWS: 2, ITEMS: 1, STATES: 2, WAVES: 3, HIDDEN_STATES: 2})[0].shape
    (6, 3)
    """
    rng, n_states = np.random.default_rng(0), sizes[HIDDEN_STATES]
    moves = planted_table(rng, n_states, n_states)
    shown = [planted_table(rng, n_states, sizes[STATES]) for _ in range(sizes[ITEMS])]
    state, waves = rng.integers(n_states, size=sizes[ROWS]), []
    for wave in range(sizes[WAVES]):
        answers = {f"x{at + 1}": drawn_from(rng, table[state]) for at, table in enumerate(shown)}
        waves.append(pd.DataFrame({"person": range(sizes[ROWS]), "wave": wave, **answers}))
        state = drawn_from(rng, moves[state])
    return pd.concat(waves, ignore_index=True), [f"x{at + 1}" for at in range(sizes[ITEMS])]


def drawn_from(rng: np.random.Generator, shares: np.ndarray) -> np.ndarray:
    """Draw a state for every row of probabilities."""
    return (rng.random(len(shares))[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(max=shares.shape[1] - 1)
