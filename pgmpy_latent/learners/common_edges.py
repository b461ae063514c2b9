"""Which edges two networks of the same columns share, with their hidden variables matched by their neighbours."""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np
from scipy.optimize import linear_sum_assignment

from pgmpy_latent.model.network import LatentNetwork, child_lists

#: Least share of neighbours that two hidden variables must have in common to count as the same.
LEAST_SHARE = 0.5


def matched_latents(network: LatentNetwork, other: LatentNetwork) -> dict[int, int]:
    """Return which hidden variables of another network correspond to those of this one.

    Two hidden variables can be the same if at least half of the columns next to one or the other, as parents or
    children, are next to both. Pairs are chosen so that most of them agree overall, and each hidden variable is in one
    pair at most; names do not matter. Those that are left are then compared by columns and hidden variables
    that are matched already, and so on. Hidden variables that no column can be reached from are told apart by name.

    Examples
    --------
    >>> half, two = [[0.5, 0.5]], [[0.5, 0.5]] * 2
    >>> one = LatentNetwork("Hxyz", [[0, 1]] * 4, [(), (0,), (0,), (0,)], [True] + [False] * 3, [half, *[two] * 3])
    >>> other = LatentNetwork("xGyz", [[0, 1]] * 4, [(), (0,), (1,), (1,)], [False, True, False, False], one.tables)
    >>> matched_latents(one, other)
    {0: 1}
    """
    found: dict[int, int] = {}
    for _ in range(max(len(network.latent_names), 1)):
        further = _matched_further(network, other, found)
        if not further:
            break
        found |= further
    unreached, others = (
        _without_neighbours(each, nodes) for each, nodes in ((network, found), (other, found.values()))
    )
    return found | {node: others[name] for name, node in unreached.items() if name in others}


def _without_neighbours(network: LatentNetwork, matched: Collection[int]) -> dict[Hashable, int]:
    """Return the hidden variables, by name, that have no columns or matched hidden variables beside them."""
    near = _neighbours(network, {node: at for at, node in enumerate(matched)})
    return {network.names[node]: node for node, some in near.items() if not some and node not in matched}


def _matched_further(network: LatentNetwork, other: LatentNetwork, known: dict[int, int]) -> dict[int, int]:
    """Return further matches by neighbours that are columns, or hidden variables that are matched already."""
    ours, theirs = (
        _neighbours(each, {node: at for at, node in enumerate(nodes)})
        for each, nodes in ((network, known.keys()), (other, known.values()))
    )
    mine, yours = [node for node in ours if node not in known], [node for node in theirs if node not in known.values()]
    share = np.zeros((len(mine), len(yours)))
    for i, node in enumerate(mine):
        for j, match in enumerate(yours):
            share[i, j] = shared_part(ours[node], theirs[match])
    share[share < LEAST_SHARE] = 0.0
    rows, columns = linear_sum_assignment(share, maximize=True)
    return {mine[i]: yours[j] for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if share[i, j] > 0}


def shared_part(one: set, other: set) -> float:
    """Return how much two sets have in common, as a share of all that is in either.

    Examples
    --------
    >>> shared_part({1, 2}, {2, 3, 4}), shared_part(set(), set())
    (0.25, 0.0)
    """
    return len(one & other) / max(len(one | other), 1)


def _neighbours(network: LatentNetwork, labels: dict[int, int]) -> dict[int, set]:
    """Return the neighbours of every hidden node: columns by name, hidden ones by their labels, if they have any."""
    children = child_lists(network.parents)
    found = {}
    for node in np.flatnonzero(network.latent).tolist():
        near = (*network.parents[node], *children[node])
        columns = {("column", network.names[at]) for at in near if not network.latent[at]}
        found[node] = columns | {("hidden", labels[at]) for at in near if at in labels}
    return found


def counterparts(network: LatentNetwork, other: LatentNetwork) -> dict[int, int]:
    """Return the nodes of another network that correspond to those of this one: columns of the same name, and matches.

    A variable that is hidden in one of the networks and a column of the other corresponds to itself.

    Examples
    --------
    >>> half, two = [[0.5, 0.5]], [[0.5, 0.5]] * 2
    >>> one = LatentNetwork("Hxy", [[0, 1]] * 3, [(), (0,), (0,)], [True, False, False], [half, two, two])
    >>> other = LatentNetwork("xyG", [[0, 1]] * 3, [(2,), (2,), ()], [False, False, True], [two, two, half])
    >>> counterparts(one, other)
    {1: 0, 2: 1, 0: 2}
    """
    common = [name for name in network.names if name in other.names]
    pairs = {network.index(name): other.index(name) for name in common}
    same = {node: match for node, match in pairs.items() if not (network.latent[node] and other.latent[match])}
    matched, taken = matched_latents(network, other), set(same.values())
    return same | {node: match for node, match in matched.items() if node not in same and match not in taken}


def edges_found_again(network: LatentNetwork, other: LatentNetwork) -> list[int]:
    """Return, for every edge of a network, whether another has it: 1 if so, -1 the other way round, 0 not at all.

    The edges are in the order of ``network.edges``.

    Examples
    --------
    >>> half, two = [[0.5, 0.5]], [[0.5, 0.5]] * 2
    >>> one = LatentNetwork("xyz", [[0, 1]] * 3, [(), (0,), (1,)], [False] * 3, [half, two, two])
    >>> other = LatentNetwork("xyz", [[0, 1]] * 3, [(), (2,), (0,)], [False] * 3, [half, two, two])
    >>> edges_found_again(one, other)
    [0, -1]
    """
    place = counterparts(network, other)
    found = []
    for node, some in enumerate(network.parents):
        for above in some:
            here, there = place.get(above), place.get(node)
            if here is None or there is None:
                found.append(0)
            else:
                found.append(int(here in other.parents[there]) - int(there in other.parents[here]))
    return found
