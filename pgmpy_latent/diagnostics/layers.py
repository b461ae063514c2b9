"""The layout of a network in pictures: layers from top to bottom, parents above children, with few crossings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pgmpy_latent.model.network import child_lists, topological_order

#: Inches between neighbouring boxes, between an edge that passes a layer and its neighbours, and between components.
BETWEEN_BOXES, BETWEEN_EDGES, BETWEEN_COMPONENTS = 0.16, 0.09, 0.35
#: Width of a component in relation to its height, roughly; narrower layers than this, in inches, are not divided.
ASPECT, NARROW = 1.5, 5.0
#: How often layers are ordered anew, and how often places are improved.
ORDERINGS, IMPROVEMENTS = 24, 24
#: How much an edge resists a bend where it passes layers, in relation to where it begins or ends.
STRAIGHT = 6.0
#: Space below a layer in inches, at least and at most, and in relation to how far its edges lead to the side.
LEAST_SPACE, MOST_SPACE, SLOPE = 0.34, 0.8, 0.12


@dataclass(frozen=True)
class Layers:
    """Places of the nodes of a network.

    Attributes
    ----------
    x : array, shape (n_nodes,)
        Middle of each node, in inches from the left.
    layer : int array, shape (n_nodes,)
        From 0, at the top.
    bends : dict of (parent, layer) to float
        Where the edges of a parent pass a layer between it and its children, in inches from the left. All edges that
        leave one parent share their way.
    width : float
        Of all together, in inches.
    n_layers : int
    """

    x: np.ndarray
    layer: np.ndarray
    bends: dict[tuple[int, int], float]
    width: float
    n_layers: int

    def way(self, parent: int, child: int) -> list[float]:
        """Return where an edge passes the layers between its ends, from above."""
        return [self.bends[parent, at] for at in range(self.layer[parent] + 1, self.layer[child])]

    def arrival(self, parent: int, child: int, parents: Sequence[int], room: float) -> float:
        """Return where an edge ends on its child: side by side, in the order in which edges come from above.

        ``parents`` are all of the child, and ``room`` is what each of their edges has, in inches.
        """
        came = {above: (self.way(above, child) or [self.x[above]])[-1] for above in parents}
        order = sorted(parents, key=lambda above: (came[above], above))
        return float(self.x[child] + (order.index(parent) + 0.5 - len(order) / 2) * room)

    def rows(self, parents: Sequence[Sequence[int]], box: float, strip: float = 0.0) -> tuple[np.ndarray, float]:
        """Return the upper ends of the boxes of every layer, and the height of all; wide bends take more space.

        Parameters
        ----------
        parents : sequence of sequences of int
            As given to :func:`layered`.
        box, strip : float
            Height of the boxes, and what is left free above each of them, in inches.
        """
        reach, used = np.zeros(self.n_layers), np.zeros(self.n_layers, dtype=bool)
        for child, some in enumerate(parents):
            for parent in some:
                ways = [self.x[parent], *self.way(parent, child), self.x[child]]
                for at, (here, there) in enumerate(pairwise(ways), start=int(self.layer[parent])):
                    reach[at] = max(reach[at], abs(here - there))
                used[self.layer[parent] : self.layer[child]] = True
        space = np.where(used, np.clip(SLOPE * reach, LEAST_SPACE, MOST_SPACE), LEAST_SPACE / 3) + strip
        tops = strip + np.concatenate([[0.0], np.cumsum(box + space)[:-1]])
        return tops, float(tops[-1] + box)


def layered(
    parents: Sequence[Sequence[int]], widths: Sequence[float], row: float, before_unlinked: float = 0.0
) -> Layers:
    """Return the place of every node.

    Every component is laid out by itself: nodes go into layers below all of their parents, wide layers are divided,
    each layer is ordered so that its nodes are near their neighbours above and below (barycentres), and places are
    moved together as far as widths allow. Nodes without edges come last, in rows of their own.

    Parameters
    ----------
    parents : sequence of sequences of int
        Indices of each node's parents.
    widths : sequence of float
        Of every node's box, in inches.
    row : float
        Height of a layer with the space below it, in inches.
    before_unlinked : float
        Inches left free before nodes without edges.

    Examples
    --------
    >>> found = layered([(), (0,), (0,), (1, 2)], [1.0] * 4, 0.6)
    >>> found.layer.tolist(), found.x.round(2).tolist()
    ([0, 1, 1, 2], [1.08, 0.5, 1.66, 1.08])
    """
    width = np.asarray(widths, dtype=float)
    linked, alone = _components(parents)
    parts = [_Component([parents[node] for node in nodes], nodes, width[nodes], row).placed() for nodes in linked]
    widest = max([NARROW, *(part.width for part in parts), np.sqrt(ASPECT * row * width.sum()), *width])
    x, layer = np.zeros(len(width)), np.zeros(len(width), dtype=np.int64)
    bends: dict[tuple[int, int], float] = {}
    left, top, bottom, right = 0.0, 0, 0, 0.0
    for nodes, part in zip(linked, parts, strict=True):
        if left and left + part.width > widest:
            left, top = 0.0, bottom
        x[nodes], layer[nodes] = part.x + left, part.layer + top
        bends |= {(nodes[node], at + top): place + left for (node, at), place in part.bends.items()}
        bottom, right = max(bottom, top + part.n_layers), max(right, left + part.width)
        left += part.width + BETWEEN_COMPONENTS
    left = before_unlinked
    for node in alone:
        if left > before_unlinked and left + width[node] > widest:
            left, bottom = before_unlinked, bottom + 1
        x[node], layer[node] = left + width[node] / 2, bottom
        right = max(right, left + width[node])
        left += width[node] + BETWEEN_BOXES
    return Layers(x, layer, bends, right, bottom + bool(alone))


def _components(parents: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[int]]:
    """Return the nodes of every component of several nodes, the largest first, and the nodes without neighbours."""
    children = child_lists(parents)
    seen: set[int] = set()
    found = []
    for start in range(len(parents)):
        if start in seen:
            continue
        nodes = [start]
        seen.add(start)
        for node in nodes:  # the list grows while it is walked
            new = [other for other in (*parents[node], *children[node]) if other not in seen]
            nodes += dict.fromkeys(new)
            seen.update(new)
        found.append(sorted(nodes))
    found.sort(key=lambda nodes: -len(nodes))
    return [nodes for nodes in found if len(nodes) > 1], [nodes[0] for nodes in found if len(nodes) == 1]


class _Component:
    """The layout of connected nodes, numbered from 0.

    Attributes
    ----------
    rows : list of lists of int
        The nodes of every layer from left to right, with numbers of their own for edges that pass it.
    """

    def __init__(self, parents: Sequence[Sequence[int]], nodes: Sequence[int], width: np.ndarray, row: float):
        place = {node: at for at, node in enumerate(nodes)}
        self.parents = [[place[above] for above in some] for some in parents]
        self.children = child_lists(self.parents)
        self.n = len(nodes)
        self.width = width.tolist()
        self.layer = self._divided(self._ranks(), max(np.sqrt(ASPECT * row * width.sum()), width.max(), NARROW))
        self._pass_layers()

    def _ranks(self) -> list[int]:
        """Return layers below all parents, in which nodes with more children than parents are near their children."""
        rank, order = [0] * self.n, topological_order(self.parents)
        for node in order:
            rank[node] = max((rank[above] + 1 for above in self.parents[node]), default=0)
        for node in reversed(order):
            if len(self.children[node]) > len(self.parents[node]):
                rank[node] = min(rank[child] for child in self.children[node]) - 1
        return rank

    def _divided(self, rank: list[int], widest: float) -> list[int]:
        """Return layers of bounded width: what does not fit moves down, those with most below them stay."""
        below = [0] * self.n
        for node in reversed(topological_order(self.parents)):
            below[node] = max((below[child] + 1 for child in self.children[node]), default=0)
        layer, used = [0] * self.n, [0.0] * (2 * self.n)
        for node in sorted(range(self.n), key=lambda node: (rank[node], -below[node], node)):
            at = max([rank[node], *(layer[above] + 1 for above in self.parents[node])])
            while used[at] and used[at] + self.width[node] > widest:
                at += 1
            layer[node] = at
            used[at] += self.width[node] + BETWEEN_BOXES
        kept = {at: place for place, at in enumerate(sorted(set(layer)))}
        return [kept[at] for at in layer]

    def _pass_layers(self) -> None:
        """Number the places at which edges pass layers, and link every node and place to those next to it."""
        self.passing: dict[tuple[int, int], int] = {}
        self.at_layer = list(self.layer)
        self.above: list[list[int]] = [[] for _ in range(self.n)]
        self.owner = list(range(self.n))
        for node in range(self.n):
            last = max((self.layer[child] for child in self.children[node]), default=0)
            for at in range(self.layer[node] + 1, last):
                self.passing[node, at] = len(self.above)
                self.above.append([self._end(node, at - 1)])
                self.at_layer.append(at)
                self.owner.append(node)
                self.width.append(0.0)
        for node in range(self.n):
            self.above[node] = [self._end(above, self.layer[node] - 1) for above in self.parents[node]]
        self.below = [self._around_the_way_on(items) for items in child_lists(self.above)]
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        seen: set[int] = set()
        for start in [node for node in range(self.n) if not self.parents[node]]:  # depth first: families together
            ahead = [start]
            while ahead:
                item = ahead.pop()
                if item not in seen:
                    seen.add(item)
                    self.rows[self.at_layer[item]].append(item)
                    ahead += reversed(self.below[item])

    def _around_the_way_on(self, items: list[int]) -> list[int]:
        """Return what is below an item in its first order: children on both sides of edges that lead further down."""
        further = [item for item in items if item >= self.n]
        children = [item for item in items if item < self.n]
        return [*children[: len(children) // 2], *further, *children[len(children) // 2 :]]

    def _end(self, node: int, at: int) -> int:
        """Return the number of a node, or of the place at which its edges pass a layer."""
        return node if at == self.layer[node] else self.passing[node, at]

    def placed(self) -> Layers:
        """Return the places."""
        self._order()
        x = self._places()
        half = np.array(self.width) / 2
        x -= (x - half).min()
        bends = {key: float(x[item]) for key, item in self.passing.items()}
        return Layers(x[: self.n], np.array(self.layer), bends, float((x + half).max()), len(self.rows))

    # Order ------------------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Order every layer; keep the order with the fewest crossings."""
        best, fewest = [list(row) for row in self.rows], self._n_crossings()
        for turn in range(ORDERINGS):
            down = turn % 2 == 0
            layers = range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1)
            for at in layers:
                self._sort(at, self.above if down else self.below, -1 if down else 1)
            self._swap()
            if (crossings := self._n_crossings()) < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
            if not fewest:
                break
        self.rows = best

    def _sort(self, at: int, near: Sequence[Sequence[int]], side: int) -> None:
        """Sort a layer by the mean place of neighbours in the one before; others keep their share of the way."""
        place = {item: index for index, item in enumerate(self.rows[at + side])}
        scale = len(place) / len(self.rows[at])
        means = {
            item: np.mean([place[other] for other in near[item]]) if near[item] else (index + 0.5) * scale - 0.5
            for index, item in enumerate(self.rows[at])
        }
        self.rows[at].sort(key=lambda item: means[item])

    def _swap(self) -> None:
        """Swap neighbours in a layer as long as fewer edges cross."""
        for at, row in enumerate(self.rows):
            sides = [
                ({item: index for index, item in enumerate(self.rows[at + side])}, near)
                for side, near in ((-1, self.above), (1, self.below))
                if 0 <= at + side < len(self.rows)
            ]
            for _ in range(len(row)):
                changed = False
                for left in range(len(row) - 1):
                    first, second = row[left : left + 2]
                    gain = 0
                    for place, near in sides:
                        ours, theirs = ([place[other] for other in near[item]] for item in (first, second))
                        gain += sum((a > b) - (a < b) for a in ours for b in theirs)
                    if gain > 0:
                        row[left : left + 2] = second, first
                        changed = True
                if not changed:
                    break

    def _n_crossings(self) -> int:
        """Return how many pairs of edges between neighbouring layers cross."""
        total = 0
        for upper, lower in zip(self.rows[:-1], self.rows[1:], strict=True):
            place = {item: index for index, item in enumerate(upper)}
            ends = np.array(
                [place[other] for item in lower for other in sorted(self.above[item], key=place.__getitem__)]
            )
            total += int(sum((ends[:at] > end).sum() for at, end in enumerate(ends)))
        return total

    # Places -----------------------------------------------------------------------------------------------------------

    def _places(self) -> np.ndarray:
        """Return places that are near those of neighbours, in the order of every layer."""
        x, half = np.zeros(len(self.above)), np.array(self.width) / 2
        offsets = []
        for row in self.rows:
            apart = [half[a] + half[b] + self._gap(a, b) for a, b in pairwise(row)]
            offsets.append(np.cumsum([0.0, *apart]))
            x[row] = offsets[-1] - offsets[-1][-1] / 2
        for turn in range(IMPROVEMENTS):
            layers = range(len(self.rows)) if turn % 2 == 0 else range(len(self.rows) - 1, -1, -1)
            for at in layers:
                row = self.rows[at]
                wanted, weight = zip(*(self._wanted(item, x) for item in row), strict=True)
                x[row] = _non_decreasing(np.array(wanted) - offsets[at], np.array(weight)) + offsets[at]
        return x

    def _gap(self, left: int, right: int) -> float:
        """Return the space between neighbours in a layer."""
        return BETWEEN_BOXES if max(left, right) < self.n else BETWEEN_EDGES

    def _wanted(self, item: int, x: np.ndarray) -> tuple[float, float]:
        """Return where an item would be by its neighbours, and how much it resists other places."""
        near = [*self.above[item], *self.below[item]]
        weights = np.array([STRAIGHT ** ((item >= self.n) + (other >= self.n)) for other in near])
        return float(weights @ x[near] / weights.sum()), float(weights.sum())


def _non_decreasing(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the non-decreasing numbers that are nearest to the given ones, in weighted squares.

    Examples
    --------
    >>> _non_decreasing(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            right, left = blocks.pop(), blocks.pop()
            total = left[1] + right[1]
            blocks.append(((left[0] * left[1] + right[0] * right[1]) / total, total, left[2] + right[2]))
    return np.repeat([block[0] for block in blocks], [block[2] for block in blocks])
