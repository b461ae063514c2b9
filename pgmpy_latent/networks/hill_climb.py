"""Hill climbing over families: edges are added, removed and turned round for as long as the score rises."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from pgmpy_latent.model.network import child_lists

#: Smallest rise of the score that counts as one.
RISE = 1e-6

Change = tuple[str, int, int]


class Climber:
    """Greedy search over directed acyclic graphs; the best single change of an edge is made until none helps.

    Parameters
    ----------
    score : callable
        Score of a node with a sorted tuple of parents.
    free : collection of int
        Nodes whose parents may change.
    max_parents : int
        Most parents of a node.
    tick : callable
        Called for every family that is scored; may raise.

    Examples
    --------
    >>> climber = Climber(lambda node, parents: 1.0 if (node, parents) == (1, (0,)) else 0.0, [0, 1], 1)
    >>> climber.climb([(), ()])
    [(), (0,)]
    """

    def __init__(
        self,
        score: Callable[[int, tuple[int, ...]], float],
        free: Collection[int],
        max_parents: int,
        tick: Callable[[], None] = lambda: None,
    ):
        self.score = score
        self.free = sorted(free)
        self.max_parents = max_parents
        self.tick = tick
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def family(self, node: int, parents: Sequence[int]) -> float:
        """Return the score of a node with these parents; computed once."""
        key = (node, tuple(sorted(parents)))
        if key not in self._known:
            self.tick()
            self._known[key] = self.score(*key)
        return self._known[key]

    def climb(self, parents: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Return the parents of all nodes when no change of a single edge helps any more.

        Of changes that help equally the first is made: by parent, then child.
        """
        current = [tuple(sorted(above)) for above in parents]
        while True:
            below = _reachable(current)
            best, rise = None, RISE
            for change in self._changes(current, below):
                gain = self._gain(current, change)
                if gain > rise + RISE:
                    best, rise = change, gain
            if best is None:
                return current
            current = _changed(current, best)

    def _changes(self, parents: Sequence[tuple[int, ...]], below: np.ndarray) -> Iterator[Change]:
        free = set(self.free)
        for parent in range(len(parents)):
            for child in self.free:
                if parent in parents[child]:
                    yield "remove", parent, child
                    if (
                        parent in free
                        and self._has_room(parents, parent)
                        and not _detour(parents, below, parent, child)
                    ):
                        yield "turn", parent, child
                elif not below[child, parent] and self._has_room(parents, child):  # a node is below itself
                    yield "add", parent, child

    def _has_room(self, parents: Sequence[tuple[int, ...]], child: int) -> bool:
        return len(parents[child]) < self.max_parents

    def _gain(self, parents: Sequence[tuple[int, ...]], change: Change) -> float:
        kind, parent, child = change
        if kind == "add":
            return self.family(child, (*parents[child], parent)) - self.family(child, parents[child])
        gain = self.family(child, _without(parents[child], parent)) - self.family(child, parents[child])
        if kind == "turn":
            gain += self.family(parent, (*parents[parent], child)) - self.family(parent, parents[parent])
        return gain


def _without(parents: Sequence[int], gone: int) -> tuple[int, ...]:
    return tuple(parent for parent in parents if parent != gone)


def _changed(parents: Sequence[tuple[int, ...]], change: Change) -> list[tuple[int, ...]]:
    kind, parent, child = change
    new = list(parents)
    if kind == "add":
        new[child] = tuple(sorted((*new[child], parent)))
        return new
    new[child] = _without(new[child], parent)
    if kind == "turn":
        new[parent] = tuple(sorted((*new[parent], child)))
    return new


def _reachable(parents: Sequence[Sequence[int]]) -> np.ndarray:
    """Return, for every pair of nodes, whether a directed path leads from the first to the second."""
    reachable = np.eye(len(parents), dtype=bool)
    children = child_lists(parents)
    for node in range(len(parents)):
        waiting = [node]
        while waiting:
            for child in children[waiting.pop()]:
                if not reachable[node, child]:
                    reachable[node, child] = True
                    waiting.append(child)
    return reachable


def _detour(parents: Sequence[Sequence[int]], below: np.ndarray, parent: int, child: int) -> bool:
    """Tell whether a second path leads from a parent to its child."""
    return any(below[parent, other] for other in parents[child] if other != parent)
