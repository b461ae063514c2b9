"""Settings of a search of EAST, and the rules that every tree must keep."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of

#: Where columns may stand in a tree.
Columns = Literal["leaves", "anywhere"]


@dataclass(frozen=True)
class Rules:
    """Constraints on the trees of a search.

    Attributes
    ----------
    max_latents, max_states : float
        Largest number of hidden variables, and of states of each.
    together : tuple of frozenset
        Groups of columns that must share a hidden neighbour.
    columns : {"leaves", "anywhere"}
        Where the search puts columns. A model to start with may have them anywhere.
    """

    max_latents: float = np.inf
    max_states: float = np.inf
    together: tuple[frozenset, ...] = ()
    columns: Columns = "leaves"

    @property
    def anywhere(self) -> bool:
        """Whether columns may be neighbours of any node."""
        return self.columns == "anywhere"

    def broken(self, tree: LatentTree) -> str | None:
        """Return in words which rule a tree breaks, or None."""
        hidden = tree.latent_names
        if len(hidden) > self.max_latents:
            return f"has {len(hidden)} hidden variables, more than max_latents={self.max_latents}"
        for name in hidden:
            if tree.cards[tree.index(name)] > self.max_states:
                return f"has {tree.cards[tree.index(name)]} states of {name!r}, more than max_states={self.max_states}"
        for group in self.together:
            around = [set(neighbours_of(tree, tree.index(name))) for name in group]
            if not any(tree.latent[node] for node in set.intersection(*around)):
                return f"has no hidden variable that the columns {sorted(group, key=str)} share as together= asks"
        return None

    def unit(self, name: Hashable) -> frozenset:
        """Return the columns that must move with this one, itself included."""
        return next((group for group in self.together if name in group), frozenset([name]))

    def binds(self, name: Hashable) -> bool:
        """Tell whether a column must stay with others; its own neighbours then stay with it."""
        return len(self.unit(name)) > 1

    def units(self, tree: LatentTree, node: int) -> list[tuple[Hashable, ...]]:
        """Return the neighbours of a node, grouped into those that must move together."""
        units: dict[frozenset, list] = {}
        for other in neighbours_of(tree, node):
            units.setdefault(self.unit(tree.names[other]), []).append(tree.names[other])
        return [tuple(names) for names in units.values()]


@dataclass(frozen=True)
class EastSettings:
    """The settings of a search, passed down unchanged; :class:`~pgmpy_latent.EAST` documents most of them.

    Attributes
    ----------
    n_tries : int
        How many moves of the queue are fitted at once.
    tolerance : float
        Local EM stops when less than this is left to gain.
    """

    evaluation: str = "auto"
    improvement_ratio: bool = True
    n_starts: int = 8
    n_steps: int = 40
    n_tries: int = 3
    look_ahead: int = 24
    excursions: tuple[float, ...] = ()
    tolerance: float = 0.1
    rules: Rules = field(default_factory=Rules)
