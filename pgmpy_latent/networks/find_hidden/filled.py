"""The table with its missing cells drawn, so that a hidden variable is tried as if all were known."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.tables.encode import CategoricalData

#: Most draws for a distinct row with missing cells that stands for several rows.
MOST_DRAWS = 10


def filled(network: LatentNetwork, data: CategoricalData, rng: np.random.Generator) -> CategoricalData:
    """Return the table with missing cells drawn from their joint posterior under a network.

    A distinct row that stands for several rows is drawn several times, and its weight is shared. Cells of rows that are
    impossible under the network stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import encode
    >>> table = [[0.9, 0.1], [0.0, 1.0]]
    >>> network = LatentNetwork("ab", [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], table])
    >>> data = encode(pd.DataFrame({"a": [0, 1, 1], "b": [0, 1, None]}))
    >>> filled(network, data, np.random.default_rng(0)).codes.tolist()
    [[0, 0], [1, 1]]
    """
    if not data.has_missing.any():
        return data
    incomplete = np.flatnonzero((data.codes < 0).any(axis=1))
    n_draws = np.clip(np.ceil(data.row_counts[incomplete]), 1, MOST_DRAWS).astype(int)
    rows = np.repeat(incomplete, n_draws)
    weights = np.repeat(data.weights[incomplete] / n_draws, n_draws)
    engine = engine_for(network, CategoricalData(data.columns, data.state_names, data.codes[rows], weights))
    drawn = engine.draw(engine.layout.pack(network.tables), rng)[:, [network.index(name) for name in data.columns]]
    codes = np.concatenate([np.delete(data.codes, incomplete, axis=0), drawn])
    weights = np.concatenate([np.delete(data.weights, incomplete), weights])
    return CategoricalData(data.columns, data.state_names, codes, weights).select(data.columns)
