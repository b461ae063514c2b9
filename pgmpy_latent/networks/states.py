"""States of hidden variables in networks of any shape: another order, one more, one less."""

from __future__ import annotations

from collections.abc import Sequence

from pgmpy_latent.network import LatentNetwork


def reordered(network: LatentNetwork, node: int, order: Sequence[int]) -> LatentNetwork:
    """Return the same distribution with the states of a hidden node in another order; their names stay in place.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> reordered(network, 0, [1, 0]).table("x").tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    tables = list(network.tables)
    tables[node] = tables[node][:, order]
    for child, above in enumerate(network.parents):
        if node in above:
            axis = above.index(node)
            table = tables[child].reshape(*network.cards[list(above)], -1)
            tables[child] = table.take(order, axis=axis).reshape(tables[child].shape)
    return network.with_tables(tables)
