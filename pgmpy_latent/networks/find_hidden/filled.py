"""The table with its missing cells drawn, so that a hidden variable is tried as if all were known."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.model.labels import sort_key
from pgmpy_latent.model.network import LatentNetwork, table_in_order
from pgmpy_latent.tables.encode import CategoricalData

#: Most draws for a distinct row with missing cells that stands for several rows.
MOST_DRAWS = 10


def filled(network: LatentNetwork, data: CategoricalData, rng: np.random.Generator) -> CategoricalData:
    """Return the table with missing cells drawn from their joint posterior under a network.

    A distinct row that stands for several rows is drawn several times, and its weight is shared. Cells of rows that are
    impossible under the network stay missing. What is drawn depends on the order neither of rows nor of columns.

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
    return _filled_in_order(_in_order_of_names(network), data.in_order_of_names(), rng).select(data.columns)


def _in_order_of_names(network: LatentNetwork) -> LatentNetwork:
    """Return a network with nodes, and the parents of each, sorted by name."""
    order = sorted(range(network.n_nodes), key=lambda node: sort_key(network.names[node]))
    place = {node: at for at, node in enumerate(order)}
    parents = [sorted(network.parents[node], key=place.__getitem__) for node in order]
    return LatentNetwork(
        [network.names[node] for node in order],
        [network.state_names[node] for node in order],
        [tuple(map(place.__getitem__, above)) for above in parents],
        network.latent[order],
        [
            table_in_order(network, node, above).reshape(network.tables[node].shape)
            for node, above in zip(order, parents, strict=True)
        ],
    )


def _filled_in_order(network: LatentNetwork, data: CategoricalData, rng: np.random.Generator) -> CategoricalData:
    """Return the table with missing cells drawn; rows are drawn in the order of their keys."""
    incomplete = np.flatnonzero((data.codes < 0).any(axis=1))
    incomplete = incomplete[np.argsort(data.row_keys[incomplete], kind="stable")]
    n_draws = np.clip(np.ceil(data.row_counts[incomplete]), 1, MOST_DRAWS).astype(int)
    rows = np.repeat(incomplete, n_draws)
    weights = np.repeat(data.weights[incomplete] / n_draws, n_draws)
    engine = engine_for(network, CategoricalData(data.columns, data.state_names, data.codes[rows], weights))
    drawn = engine.draw(engine.layout.pack(network.tables), rng)[:, [network.index(name) for name in data.columns]]
    codes = np.concatenate([np.delete(data.codes, incomplete, axis=0), drawn])
    weights = np.concatenate([np.delete(data.weights, incomplete), weights])
    return CategoricalData(data.columns, data.state_names, codes, weights)
