"""Hill climbing over families: edges are added, removed and turned round for as long as the score rises."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from pgmpy_latent.model.network import topological_order

#: Smallest rise of the score that counts as one.
RISE = 1e-6
#: Changes that gain less than the best by more than this are not compared with it.
NEAR = 1e-3

Parents = tuple[int, ...]
Change = tuple[int, int, str]


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
    may_have : callable
        Whether a node may get these parents; asked of families that are not there yet.
    may_lose : callable
        Whether the edge from a node to another may be removed or turned round.
    may_link : bool array, shape (n_nodes, n_nodes), optional
        Which edges may be added, by parent and child; all by default.
    times : array, shape (n_nodes,), optional
        Place of every node in time, NaN where it is not known: no directed path may lead back in time.
    paths : sequence of sequences of int, optional
        For every node, further nodes from which a directed path leads to it that is no part of the graph; no cycle may
        arise with these either.

    Examples
    --------
    >>> climber = Climber(lambda node, parents: 1.0 if (node, parents) == (1, (0,)) else 0.0, [0, 1], 1)
    >>> climber.climb([(), ()])
    [(), (0,)]
    """

    def __init__(
        self,
        score: Callable[[int, Parents], float],
        free: Collection[int],
        max_parents: int,
        tick: Callable[[], None] = lambda: None,
        may_have: Callable[[int, Parents], bool] = lambda node, parents: True,
        may_lose: Callable[[int, int], bool] = lambda parent, child: True,
        may_link: np.ndarray | None = None,
        times: np.ndarray | None = None,
        paths: Sequence[Sequence[int]] | None = None,
    ):
        self.score = score
        self.free = sorted(free)
        self.max_parents = max_parents
        self.tick = tick
        self.may_have = may_have
        self.may_lose = may_lose
        self.may_link = may_link
        self.times = times
        self.paths = paths
        self._known: dict[tuple[int, Parents], float] = {}

    def family(self, node: int, parents: Sequence[int]) -> float:
        """Return the score of a node with these parents; computed once."""
        key = (node, tuple(sorted(parents)))
        if key not in self._known:
            self.tick()
            self._known[key] = self.score(*key)
        return self._known[key]

    def climb(self, parents: Sequence[Sequence[int]]) -> list[Parents]:
        """Return the parents of all nodes when no change of a single edge helps any more.

        Of changes that help equally the first is made: by parent, then child.
        """
        current = [tuple(sorted(above)) for above in parents]
        n_nodes = len(current)
        added = np.full((n_nodes, n_nodes), np.nan)  # [parent, child]: gain of an edge that may be added, once computed
        while True:
            below = _reachable(current, self.paths)
            gains, removals = self._of_additions(current, below, added), self._of_removals(current, below)
            best = _first_best(gains, removals)
            if best is None:
                return current
            for child in _change(current, best):
                added[:, child] = np.nan

    def _of_additions(self, parents: Sequence[Parents], below: np.ndarray, added: np.ndarray) -> np.ndarray:
        """Return the gain of every edge that may be added, by parent and child; -inf where it may not."""
        room = np.zeros(len(parents), dtype=bool)
        room[[child for child in self.free if len(parents[child]) < self.max_parents]] = True
        possible = ~below.T & room  # a node is below itself
        for child in self.free:
            possible[list(parents[child]), child] = False
        for allowed in (self.may_link, self._in_time(below)):
            if allowed is not None:
                possible &= allowed
        for parent, child in np.argwhere(possible & np.isnan(added)).tolist():
            added[parent, child] = self._of_addition(parents, parent, child)
        return np.where(possible, added, -np.inf)

    def _in_time(self, below: np.ndarray) -> np.ndarray | None:
        """Return which edges, by parent and child, make no path that leads back in time."""
        if self.times is None:
            return None
        latest_above = np.where(below, np.nan_to_num(self.times, nan=-np.inf)[:, None], -np.inf).max(axis=0)
        first_below = np.where(below, np.nan_to_num(self.times, nan=np.inf), np.inf).min(axis=1)
        return latest_above[:, None] <= first_below

    def _of_addition(self, parents: Sequence[Parents], parent: int, child: int) -> float:
        family = tuple(sorted((*parents[child], parent)))
        if not self.may_have(child, family):
            return -np.inf
        return self.family(child, family) - self.family(child, parents[child])

    def _of_removals(self, parents: Sequence[Parents], below: np.ndarray) -> list[tuple[float, Change]]:
        """Return the gains of removing and turning edges."""
        free, in_time = set(self.free), self._in_time(below)
        gains: list[tuple[float, Change]] = []
        for child in self.free:
            for parent in parents[child]:
                if not self.may_lose(parent, child):
                    continue
                removal = self.family(child, _without(parents[child], parent)) - self.family(child, parents[child])
                gains.append((removal, (parent, child, "remove")))
                may_turn = parent in free and len(parents[parent]) < self.max_parents
                may_turn = may_turn and all(
                    allowed is None or bool(allowed[child, parent]) for allowed in (self.may_link, in_time)
                )
                others = (*_without(parents[child], parent), *(() if self.paths is None else self.paths[child]))
                if may_turn and not any(below[parent, other] for other in others):
                    gains.append((removal + self._of_addition(parents, child, parent), (parent, child, "turn")))
        return gains


def _first_best(additions: np.ndarray, others: Sequence[tuple[float, Change]]) -> Change | None:
    """Return the change that gains most; of those that gain equally, to rounding, the first by parent, then child."""
    highest = max([additions.max(initial=-np.inf), *(gain for gain, _ in others)])
    near = [(gain, change) for gain, change in others if gain > highest - NEAR]
    places = np.argwhere(additions > highest - NEAR).tolist()
    near += [(float(additions[parent, child]), (parent, child, "add")) for parent, child in places]
    best, rise = None, RISE
    for gain, change in sorted(near, key=lambda item: item[1]):
        if gain > rise + RISE:
            best, rise = change, gain
    return best


def _without(parents: Sequence[int], gone: int) -> Parents:
    return tuple(parent for parent in parents if parent != gone)


def _change(parents: list[Parents], change: Change) -> tuple[int, ...]:
    """Make a change; return the nodes whose parents are others now."""
    parent, child, kind = change
    if kind == "add":
        parents[child] = tuple(sorted((*parents[child], parent)))
        return (child,)
    parents[child] = _without(parents[child], parent)
    if kind == "remove":
        return (child,)
    parents[parent] = tuple(sorted((*parents[parent], child)))
    return parent, child


def _reachable(parents: Sequence[Parents], paths: Sequence[Sequence[int]] | None = None) -> np.ndarray:
    """Return, for every pair of nodes, whether a directed path leads from the first to the second."""
    above = parents if paths is None else [(*some, *more) for some, more in zip(parents, paths, strict=True)]
    reachable = np.eye(len(parents), dtype=bool)
    for node in topological_order(above):
        for parent in above[node]:
            reachable[:, node] |= reachable[:, parent]
    return reachable
