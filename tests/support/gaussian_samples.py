"""Tables of numbers for tests, and the tree of three factors."""

import numpy as np
import pandas as pd

from pgmpy_latent import GaussianTree, gaussian

THREE = GaussianTree(
    ["G", "F1", "F2", "F3", *(f"x{at}" for at in range(9))],
    [-1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    [True] * 4 + [False] * 9,
    [0, 0.7, 0.8, 0.6, 0.8, 0.7, 0.9, 0.8, -0.6, 0.9, 0.8, 0.7, 0.6],
    [0.0] * 4 + list(range(9)),
    [1.0] * 4 + [0.5 + at for at in range(9)],
)


def drawn(n_rows=400, seed=0, gaps=0.0, tree=THREE):
    """Return rows of a tree, with cells missing at random."""
    rows = gaussian.sample(tree, n_rows, random_state=seed)
    hole = np.random.default_rng(seed + 1).random(rows.shape) < gaps
    return rows.mask(pd.DataFrame(hole, columns=rows.columns))
