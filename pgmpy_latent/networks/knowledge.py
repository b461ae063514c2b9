"""What is known about edges before they are learned: required and forbidden ones, and an order in time."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgmpy_latent.exceptions import DataError, InvalidTreeError
from pgmpy_latent.model.network import topological_order
from pgmpy_latent.runtime.settings import kind_in_words

Edge = tuple[Hashable, Hashable]
#: What an object that says something about edges has, as pgmpy's ``ExpertKnowledge`` does.
FIELDS = ("required_edges", "forbidden_edges", "search_space", "temporal_order")


@dataclass(frozen=True)
class EdgeKnowledge:
    """What is known about edges.

    Attributes
    ----------
    required, forbidden : frozenset of (parent, child)
        Edges that must be there, and that must not.
    allowed : frozenset of (parent, child) or None
        The only edges that may be there among the nodes that they name; None for any.
    tiers : dict
        Node -> its place in time. No directed path leads back in time, not even through hidden variables.

    Examples
    --------
    >>> known = EdgeKnowledge(forbidden=frozenset({("x", "y")}), tiers={"x": 0, "z": 1})
    >>> known.may_link("x", "y"), known.may_link("z", "x"), known.may_link("x", "z")
    (False, False, True)
    """

    required: frozenset[Edge] = frozenset()
    forbidden: frozenset[Edge] = frozenset()
    allowed: frozenset[Edge] | None = None
    tiers: dict[Hashable, int] = field(default_factory=dict)

    def may_link(self, parent: Hashable, child: Hashable) -> bool:
        """Tell whether there may be an edge from a node to another."""
        if (parent, child) in self.forbidden:
            return False
        if self.allowed is not None and (parent, child) not in self.allowed and {parent, child} <= self._named:
            return False
        return self.tiers.get(parent, -np.inf) <= self.tiers.get(child, np.inf)

    def may_lose(self, parent: Hashable, child: Hashable) -> bool:
        """Tell whether an edge may be removed."""
        return (parent, child) not in self.required

    @property
    def _named(self) -> frozenset[Hashable]:
        return frozenset(name for edge in self.allowed or () for name in edge)

    def places(self, names: Sequence[Hashable]) -> np.ndarray | None:
        """Return the place in time of every node, NaN where it is not known; None if there is no order."""
        return np.array([self.tiers.get(name, np.nan) for name in names]) if self.tiers else None

    def parents(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """Return the required parents of every node that has some."""
        parents: dict[Hashable, tuple[Hashable, ...]] = {}
        for above, below in sorted(self.required, key=repr):
            parents[below] = (*parents.get(below, ()), above)
        return parents

    def check_edges(self, edges: Iterable[Edge], called: str) -> None:
        """Raise if a network to begin with has an edge that must not be there, or lacks one that must."""
        edges = set(edges)
        wrong = sorted((edge for edge in edges if not self.may_link(*edge)), key=repr)
        lacking = sorted(self.required - edges, key=repr)
        if wrong:
            raise DataError(f"{called} has edges that expert_knowledge rules out: {wrong}; remove them, or allow them")
        if lacking:
            raise DataError(f"{called} lacks edges that expert_knowledge requires: {lacking}; add them")

    def check_names(self, names: Collection[Hashable]) -> None:
        """Raise if it names what is neither a column nor a hidden variable."""
        named = {name for edge in (*self.required, *self.forbidden, *(self.allowed or ())) for name in edge}
        strangers = sorted({*named, *self.tiers} - set(names), key=repr)
        if strangers:
            raise DataError(f"expert_knowledge names {strangers}, which are not columns of the data; correct the names")


def knowledge_from(given: Any) -> EdgeKnowledge:
    """Return what an ``ExpertKnowledge`` of pgmpy says; nothing is known if there is none.

    Examples
    --------
    >>> from pgmpy.causal_discovery import ExpertKnowledge
    >>> sorted(knowledge_from(ExpertKnowledge(required_edges=[("x", "y")])).required)
    [('x', 'y')]
    """
    if given is None:
        return EdgeKnowledge()
    if not all(hasattr(given, name) for name in FIELDS):
        raise TypeError(f"expert_knowledge is {kind_in_words(given)}; give pgmpy's ExpertKnowledge, or None")
    required, forbidden, space = ({tuple(edge) for edge in getattr(given, name) or ()} for name in FIELDS[:3])
    order = given.temporal_order or ()
    tiers = {name: place for place, tier in enumerate(order) for name in tier}
    known = EdgeKnowledge(frozenset(required), frozenset(forbidden), frozenset(space) if space else None, tiers)
    wrong = sorted((edge for edge in required if not known.may_link(*edge)), key=repr)
    if wrong:
        raise ValueError(f"expert_knowledge requires edges that it also rules out: {wrong}; remove one of the two")
    names = sorted({name for edge in required for name in edge}, key=repr)
    try:
        topological_order([[names.index(above) for above, below in required if below == name] for name in names], names)
    except InvalidTreeError as error:
        raise ValueError(f"expert_knowledge requires a cycle: {error}") from error
    return known
