"""Fits of trees of one shape: whole trees, and the neighbourhood of one of their hidden nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Unpack

import numpy as np

from pgmpy_latent.em.fit import Fit
from pgmpy_latent.inference.plan import Plan, compile_plan
from pgmpy_latent.inference.queries import tree_evidence
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.local.neighbourhood import Neighbourhood
from pgmpy_latent.learners.search import FitOptions, Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import root_walk
from pgmpy_latent.operators.star import Star, star_of
from pgmpy_latent.tables.encode import CategoricalData


class TreeFitter:
    """Fits trees of one shape to one table, whatever the numbers of hidden states.

    Parameters
    ----------
    data : CategoricalData
        The table.
    tree : LatentTree
        A tree of the shape; its observed nodes are the columns of the table, with their states.
    search : Search
        Runs EM.
    """

    def __init__(self, data: CategoricalData, tree: LatentTree, search: Search):
        self.data = data
        self.search = search
        self.evidence = tree_evidence(data, tree.names)
        self.plan = compile_plan(tree.parent, self.evidence)
        self._walked_plans: dict[Hashable, Plan] = {}
        hidden = np.flatnonzero(tree.latent)
        self.is_star = len(hidden) == 1 and bool(
            tree.parent[hidden[0]] == -1 and (np.delete(tree.parent, hidden[0]) == hidden[0]).all()
        )

    def engine(self, tree: LatentTree) -> TreeEngine:
        """Return the engine of a whole tree."""
        return TreeEngine(self.plan, tree.cards, self.data.weights)

    def fit(self, starts: Sequence[LatentTree], **options: Unpack[FitOptions]) -> tuple[LatentTree, Fit]:
        """Run EM on whole trees with equally many states everywhere."""
        engine = self.engine(starts[0])
        fit = self.search.fit(engine, np.stack([engine.layout.pack(tree.tables) for tree in starts]), **options)
        return starts[0].with_tables(engine.layout.unpack(fit.tables)), fit

    def neighbourhood(self, tree: LatentTree, node: Hashable) -> tuple[Neighbourhood, Star]:
        """Return the latent class model around a hidden node, and the star it has now."""
        walked = root_walk(tree, node)
        at = walked.index(node)
        around = walked.child_lists[at]
        if self.is_star:
            plan, center, neighbours = self.plan, at, list(around)
        else:
            plan, inside = self._frozen(walked, at, around)
            center, neighbours = inside.index(at), [inside.index(child) for child in around]
        star = star_of(walked, at)
        return Neighbourhood(plan, center, neighbours, star.cards, self.data.weights), star

    def _frozen(self, walked: LatentTree, at: int, around: Sequence[int]) -> tuple[Plan, list[int]]:
        """Turn everything beyond the neighbours into evidence; messages meet at the node, so none is compiled twice."""
        node = walked.names[at]
        if node not in self._walked_plans:
            self._walked_plans[node] = compile_plan(walked.parent, self.evidence, pivots=[at])
        engine = TreeEngine(self._walked_plans[node], walked.cards, self.data.weights)
        free = np.zeros(walked.n_nodes, dtype=bool)
        free[[at, *around]] = True
        frozen = engine.freeze(engine.layout.pack(walked.tables), free)
        return frozen.engine.plan, frozen.nodes.tolist()
