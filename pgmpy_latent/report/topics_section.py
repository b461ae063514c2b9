"""Topics of a wide tree: its lowest hidden variables as a treemap, each with the columns that say most about it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, element, label, paragraph, section

#: Fewest hidden variables with columns of their own for which there is a map.
FEWEST_TOPICS = 8
#: Maximum number of topics in the map, and of words in the box of one.
MOST_TOPICS, MOST_WORDS = 150, 4
#: Left, top, width and height.
Box: TypeAlias = tuple[float, float, float, float]


def topics_section(facts: Facts) -> Html | None:
    """Return the map of the topics; None for trees with few hidden variables, and for other networks."""
    if not facts.is_tree:
        return None
    columns = {node: _columns_of(facts, node) for node in facts.hidden}
    topics = sorted((node for node in facts.hidden if columns[node]), key=lambda node: -len(columns[node]))
    if len(topics) < FEWEST_TOPICS:
        return None
    shown = topics[:MOST_TOPICS]
    families = _families(facts, shown)
    sizes = [sum(len(columns[node]) for node in family) for family in families]
    pieces = []
    for hue, (family, place) in enumerate(zip(families, squarified(sizes, (0.0, 0.0, 100.0, 50.0)), strict=True)):
        inside = squarified([len(columns[node]) for node in family], place)
        for at, (node, box) in enumerate(zip(family, inside, strict=True)):
            pieces.append(_topic(facts, node, columns[node], box, hue if len(families) > 1 else at))
    words = f"{count(len(shown), 'hidden variable')} with columns of their own: the more columns, the larger the box."
    if len(families) > 1:
        words += " Boxes of one colour stand below the same hidden variable."
    words += " Choose one for its states."
    if len(shown) < len(topics):
        words += f" The {count(len(topics) - len(shown))} smallest are left out."
    return section("topics", "Topics", paragraph(words), element("div", *pieces, class_="topics"))


def _columns_of(facts: Facts, node: int) -> list[int]:
    """Return the columns below a hidden node itself, those that say most about it first."""
    own = [child for child in facts.tree.child_lists[node] if not facts.tree.latent[child]]
    return sorted(own, key=lambda child: -facts.links[child])


def _families(facts: Facts, topics: Sequence[int]) -> list[list[int]]:
    """Return the topics by the hidden variable above them, the largest families first."""
    by_parent: dict[int, list[int]] = {}
    for node in topics:
        above = int(facts.tree.parent[node])
        by_parent.setdefault(node if above < 0 else above, []).append(node)
    return sorted(by_parent.values(), key=lambda family: -sum(len(_columns_of(facts, node)) for node in family))


def _topic(facts: Facts, node: int, columns: Sequence[int], box: Box, hue: int) -> Html:
    """Return the box of a topic."""
    left, top, width, height = box
    name, words = label(facts.tree.names[node]), [label(facts.tree.names[column]) for column in columns]
    place = f"left:{left:.3f}%;top:{2 * top:.3f}%;width:{width:.3f}%;height:{2 * height:.3f}%"
    colour = f"background:hsl({(hue * 137.5) % 360:.0f} 55% 80%)"
    listed = ", ".join(words[:MOST_WORDS]) + ("…" if len(words) > MOST_WORDS else "")
    return element(
        "button",
        element("b", name),
        listed,
        type="button",
        style=f"{place};{colour}",
        title=f"{name}: {count(len(words), 'column')}",
        aria_label=f"{name}, {count(len(words), 'column')}: {listed}",
        data_node=node,
    )


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide a box into boxes whose areas have the proportions of the sizes, none much longer than wide.

    Rows are filled along the shorter side of what is left, as long as that brings their boxes closer to squares.

    Parameters
    ----------
    sizes : sequence of float
        Above zero, the largest first.
    box : tuple
        Left, top, width and height.

    References
    ----------
    Bruls, M., Huizing, K. and van Wijk, J. J. (2000). Squarified treemaps. Data Visualization 2000, 33-42.

    Examples
    --------
    >>> squarified([2, 1, 1], (0.0, 0.0, 4.0, 2.0))
    [(0.0, 0.0, 2.0, 2.0), (2.0, 0.0, 2.0, 1.0), (2.0, 1.0, 2.0, 1.0)]
    """
    left, top, width, height = box
    areas = np.asarray(sizes, dtype=float) * (width * height / sum(sizes)) if len(sizes) else np.empty(0)
    boxes: list[Box] = []
    while len(boxes) < len(areas):
        first, side = len(boxes), min(width, height)
        last = first + 1
        while last < len(areas) and _worst(areas[first : last + 1], side) <= _worst(areas[first:last], side):
            last += 1
        row = areas[first:last]
        depth = float(row.sum()) / side
        offsets = np.concatenate([[0.0], np.cumsum(row / depth)]).tolist()
        for start, end in pairwise(offsets):
            if width >= height:
                boxes.append((left, top + start, depth, end - start))
            else:
                boxes.append((left + start, top, end - start, depth))
        if width >= height:
            left, width = left + depth, width - depth
        else:
            top, height = top + depth, height - depth
    return boxes


def _worst(areas: np.ndarray, side: float) -> float:
    """Return how much longer than wide, or wider than long, the worst box of a row along a side is."""
    depth = areas.sum() / side
    ratios = areas / depth**2
    return float(np.maximum(ratios, 1 / ratios).max())
