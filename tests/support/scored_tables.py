"""Trees of a given shape, and random tables to score them on."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.testing import codes_for, latent_trees, weights_for
from tests.support import reference

TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}
COIN = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
TOSSES = pd.DataFrame({"x": ["a", "b", "b", "b", "b"]})


def frame_of(tree, codes):
    """Return the codes as a table of state names."""
    columns = {}
    for at, name in enumerate(tree.observed_names):
        states = tree.state_names[tree.index(name)]
        columns[name] = pd.Series([states[code] if code >= 0 else None for code in codes[:, at]], dtype=object)
    return pd.DataFrame(columns)


def shaped(parent, cards, latent, seed=0):
    """Return a tree of the given shape with random tables."""
    rng = np.random.default_rng(seed)
    tables = [
        rng.dirichlet(np.ones(card), size=cards[above] if above >= 0 else 1)
        for above, card in zip(parent, cards, strict=True)
    ]
    names = [f"n{node}" for node in range(len(cards))]
    return LatentTree(names, [list(range(card)) for card in cards], parent, latent, tables)


def latent_class(classes, *items, seed=0):
    n_items = len(items)
    return shaped([-1] + [0] * n_items, [classes, *items], [True] + [False] * n_items, seed)


@st.composite
def scored_tables(draw, zeros=False, **options):
    """A small tree, a table with gaps, its rows as evidence, and weights."""
    tree = draw(latent_trees(max_nodes=6, max_card=3, zeros=zeros, **options))
    codes = draw(codes_for(tree, max_rows=8))
    weights = draw(weights_for(len(codes)))
    rows = reference.rows_of(codes, np.flatnonzero(~tree.latent))
    return tree, codes, rows, weights
