"""What the support of a latent tree is counted of: edges between the same columns, or that separate the same ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from pgmpy_latent.learners.splits import column_bits, splits
from pgmpy_latent.model.tree import LatentTree

#: What an edge is known by in another tree: the columns at its ends, as a sum of powers of two, and the columns that it
#: separates. Two columns are enough by themselves.
EdgeMark: TypeAlias = tuple[int, frozenset[int] | None]


class TreeSupport:
    """The edges of a tree, and what of them other trees have.

    An edge between two columns is found again where these are linked; any other where an edge separates the columns in
    the same way and, if a column is at one end of it, ends at the same column.

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
        if (tree.parent < 0).all():
            return "support is that of edges, and this model has none: its variables are independent of each other."
        what = (
            "support is that of edges between two hidden variables, between two columns, or of a column inside the "
            "tree, and this model has none"
        )
        if tree.latent.sum() == 1:
            return (
                f"{what}: it has a single hidden variable. compare_classes(X, n_bootstrap=100) says how sure its "
                "number of states is, and standard_errors(learner, X) how sure its probabilities are."
            )
        return f"{what}. standard_errors(learner, X) says how sure its probabilities are."

    def seen_in(self, drawn: LatentTree) -> set[EdgeMark]:
        """Return what edges are known by that a tree has which was learned from a drawn table."""
        seen: set[EdgeMark] = set()
        for node, separated in splits(drawn, self.bits).items():
            ends = self._columns_at(drawn, node)
            seen |= {(0, separated), *((end, separated) for end in ends)}
            if len(ends) == 2:
                seen.add((sum(ends), None))
        return seen

    def table(self, draws: Sequence[set[EdgeMark]]) -> pd.DataFrame:
        """Return the edges with the shares of draws that have them."""
        tree, separated, rows = self.tree, splits(self.tree, self.bits), []
        for node in self._inner_edges():
            ends = self._columns_at(tree, node)
            mark = (sum(ends), None if len(ends) == 2 else separated[node])
            below = self._names_below(node)
            columns = tuple(name for name in tree.observed_names if name in below)
            share = sum(mark in drawn for drawn in draws) / len(draws) if draws else np.nan
            rows.append((tree.names[tree.parent[node]], tree.names[node], columns, share))
        return pd.DataFrame(rows, columns=["parent", "child", "columns", "support"]).astype({"support": "float64"})

    def _inner_edges(self) -> list[int]:
        """Return the nodes below edges, but for those between a hidden variable and a column with no other edge.

        Whether a column is at the end of a tree, and below which hidden variable, follows from the other edges.
        """
        tree = self.tree
        has_parent = tree.parent >= 0
        degree = has_parent + np.array([len(below) for below in tree.child_lists])
        is_end = ~tree.latent & (degree == 1)
        hangs = (is_end & tree.latent[tree.parent]) | (is_end[tree.parent] & tree.latent)
        return np.flatnonzero(has_parent & ~hangs).tolist()

    def _columns_at(self, tree: LatentTree, node: int) -> list[int]:
        """Return the powers of two of the columns at the ends of the edge above a node."""
        return [self.bits[tree.names[end]] for end in (node, tree.parent[node]) if not tree.latent[end]]

    def _names_below(self, top: int) -> set[Hashable]:
        nodes = [top]
        for node in nodes:  # the list grows while it is walked
            nodes.extend(self.tree.child_lists[node])
        return {self.tree.names[node] for node in nodes if not self.tree.latent[node]}
