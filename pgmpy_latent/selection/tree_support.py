"""What the support of a latent tree is counted of: edges between hidden variables that separate the same columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from pgmpy_latent.learners.splits import column_bits, splits
from pgmpy_latent.model.tree import LatentTree


class TreeSupport:
    """The edges of a tree, and how other trees separate the columns.

    Parameters
    ----------
    tree : LatentTree
        Whose edges are to be supported.
    """

    what = "trees"

    def __init__(self, tree: LatentTree):
        self.tree, self.bits = tree, column_bits(tree)

    @property
    def why_nothing(self) -> str:
        """Why there is no edge to support, and what to ask instead; empty if there are some."""
        tree = self.tree
        if self._inner_edges():
            return ""
        what = "support is that of edges between two hidden variables, and this model has none"
        if not tree.latent.any():
            return f"{what}: nothing in it is hidden. Learn a latent tree, as with EAST or BinG."
        if tree.latent.sum() == 1:
            return (
                f"{what}: it has a single hidden variable. compare_classes(X, n_bootstrap=100) says how sure its "
                "number of states is, and standard_errors(learner, X) how sure its probabilities are."
            )
        return f"{what}. standard_errors(learner, X) says how sure its probabilities are."

    def seen_in(self, drawn: LatentTree) -> set[frozenset[int]]:
        """Return what the edges separate in a tree that was learned from a drawn table."""
        return set(splits(drawn, self.bits).values())

    def table(self, draws: Sequence[set[frozenset[int]]]) -> pd.DataFrame:
        """Return the edges with the shares of draws that have them."""
        tree, wanted, rows = self.tree, splits(self.tree, self.bits), []
        for node in self._inner_edges():
            columns = tuple(name for name in tree.observed_names if name in self._names_below(node))
            share = sum(wanted[node] in drawn for drawn in draws) / len(draws) if draws else np.nan
            rows.append((tree.names[tree.parent[node]], tree.names[node], columns, share))
        return pd.DataFrame(rows, columns=["parent", "child", "columns", "support"]).astype({"support": "float64"})

    def _inner_edges(self) -> list[int]:
        """Return the hidden nodes whose parents are hidden."""
        tree = self.tree
        inside = (tree.parent >= 0) & tree.latent & tree.latent[tree.parent]
        return np.flatnonzero(inside).tolist()

    def _names_below(self, top: int) -> set[Hashable]:
        nodes = [top]
        for node in nodes:  # the list grows while it is walked
            nodes.extend(self.tree.child_lists[node])
        return {self.tree.names[node] for node in nodes if not self.tree.latent[node]}
