"""What the support of a network is counted of: its hidden variables, and its edges with and without their direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from pgmpy_latent.learners.common_edges import edges_found_again, matched_latents
from pgmpy_latent.model.network import LatentNetwork, child_lists

#: The hidden variables that a drawn network has as well, and its edges: 1, -1 if reversed, 0 if absent.
SeenInNetwork: TypeAlias = tuple[frozenset[int], list[int]]


class NetworkSupport:
    """The hidden variables and edges of a network, and what of them other networks have.

    Parameters
    ----------
    network : LatentNetwork
        Whose edges are to be supported.
    """

    what = "networks"

    def __init__(self, network: LatentNetwork):
        self.network = network

    @property
    def why_nothing(self) -> str:
        """Why there is nothing to support; empty if there is something."""
        if self.network.edges or self.network.latent.any():
            return ""
        return "support is that of edges and hidden variables, and this network has none: all columns are independent."

    def seen_in(self, drawn: LatentNetwork) -> SeenInNetwork:
        """Return what a network that was learned from a drawn table has of this one."""
        return frozenset(matched_latents(self.network, drawn)), edges_found_again(self.network, drawn)

    def table(self, draws: Sequence[SeenInNetwork]) -> pd.DataFrame:
        """Return hidden variables and edges with the shares of draws that have them."""
        network, n_draws = self.network, len(draws) or np.nan
        children = child_lists(network.parents)
        rows: list[tuple] = []
        for node in np.flatnonzero(network.latent).tolist():
            share = sum(node in hidden for hidden, _ in draws) / n_draws
            near = sorted((*network.parents[node], *children[node]))
            columns = tuple(network.names[at] for at in near if not network.latent[at])
            rows.append(("hidden variable", network.names[node], None, columns, share, np.nan))
        for at, (parent, child) in enumerate(network.edges):
            either, same = (sum(edges[at] in kinds for _, edges in draws) / n_draws for kinds in ((1, -1), (1,)))
            rows.append(("edge", parent, child, (), either, same))
        names = ["kind", "parent", "child", "columns", "support", "same_direction"]
        columns_of_table = zip(*rows, strict=True) if rows else [()] * len(names)
        types = [object] * 4 + [float] * 2  # None stays None
        return pd.DataFrame(
            {
                name: pd.Series(list(values), dtype=kind)
                for name, values, kind in zip(names, columns_of_table, types, strict=True)
            }
        )
