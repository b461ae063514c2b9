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
    missing = (data.codes < 0).any(axis=1)
    n_draws = np.where(missing, np.clip(np.ceil(data.row_counts), 1, MOST_DRAWS), 1).astype(int)
    rows = np.repeat(np.arange(data.n_distinct), n_draws)
    weights = np.repeat(data.weights / n_draws, n_draws)
    repeated = CategoricalData(data.columns, data.state_names, data.codes[rows], weights)
    engine = engine_for(network, repeated)
    drawn = engine.draw(engine.layout.pack(network.tables), rng)
    codes = drawn[:, [network.index(name) for name in data.columns]]
    return CategoricalData(data.columns, data.state_names, codes, weights).select(data.columns)
