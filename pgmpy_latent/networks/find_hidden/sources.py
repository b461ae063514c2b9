"""Where hidden variables are looked for: densely linked columns, and the groups of latent trees."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from pgmpy_latent.learners.east.east import EAST
from pgmpy_latent.learners.hlta.hlta import HLTA
from pgmpy_latent.learners.search import Search
from pgmpy_latent.learners.search_learner import LEAST_SECONDS, SearchingLearner
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.networks.find_hidden.semi_cliques import semi_cliques, skeleton
from pgmpy_latent.tables.encode import CategoricalData

#: Fewest columns of a table for which there is a latent tree.
FEWEST_COLUMNS = 3
#: Most columns, and most cells in distinct rows, of a table for which EAST finds a tree as well.
MOST_COLUMNS, MOST_CELLS = 25, 20_000
#: Share of the time that is left which each of the trees may take.
SHARE_OF_TIME = 0.25


def dense_sets(network: LatentNetwork, smallest: int, shares: Iterable[float]) -> list[tuple[Hashable, ...]]:
    """Return the semi-cliques of the columns of a network, for each share of links that members must have.

    Those of the first share come first, the largest of each first.

    Examples
    --------
    >>> network = LatentNetwork("xyz", [[0, 1]] * 3, [(), (0,), (0, 1)], [False] * 3,
    ...                         [[[0.5, 0.5]], [[0.5, 0.5]] * 2, [[0.5, 0.5]] * 4])
    >>> dense_sets(network, 3, [0.5])
    [('x', 'y', 'z')]
    """
    observed = np.flatnonzero(~network.latent).tolist()
    graph = skeleton(network.parents, observed)
    found = [nodes for share in shares for nodes in semi_cliques(graph, smallest, share)]
    return [tuple(network.names[node] for node in nodes) for nodes in dict.fromkeys(found)]


def groups_of_tree(tree: LatentTree, smallest: int) -> list[tuple[Hashable, ...]]:
    """Return the columns below every hidden variable of a tree.

    If there are too few of them, those below its neighbours are added.

    Examples
    --------
    >>> table = [[0.5, 0.5]] * 2
    >>> tree = LatentTree(["H", "x", "y", "G", "z"], [[0, 1]] * 5, [-1, 0, 0, 0, 3], [True, False, False, True, False],
    ...                   [[[0.5, 0.5]], table, table, table, table])
    >>> groups_of_tree(tree, 2)
    [('x', 'y'), ('z', 'x', 'y')]
    """
    below: dict[int, list[Hashable]] = {node: [] for node in np.flatnonzero(tree.latent).tolist()}
    near: dict[int, list[int]] = {node: [] for node in below}
    for node, above in enumerate(tree.parent.tolist()):
        if above < 0:
            continue
        if not tree.latent[node]:
            below.setdefault(above, []).append(tree.names[node])
        elif above in near:
            near[above].append(node)
            near[node].append(above)
    groups = []
    for node, columns in below.items():
        if len(columns) < smallest:
            columns = [*columns, *(column for other in near.get(node, []) for column in below[other])]
        if len(columns) >= smallest:
            groups.append(tuple(columns))
    return list(dict.fromkeys(groups))


def latent_trees(data: CategoricalData, search: Search) -> list[LatentTree]:
    """Return the latent trees that :class:`~pgmpy_latent.EAST` and :class:`~pgmpy_latent.HLTA` find.

    EAST is left out for a table that would take it long; there is no tree of a table that is too small for one.
    """
    if len(data.columns) < FEWEST_COLUMNS:
        return []
    seed = search.entropy % 2**32
    learners: list[SearchingLearner] = [HLTA(random_state=seed, show_progress=False)]
    if is_small(data):
        learners.insert(0, EAST(random_state=seed, show_progress=False))
    return [_learned(learner, data, search) for learner in learners]


def is_small(data: CategoricalData) -> bool:
    """Tell whether a table is so small that EAST finds a tree in seconds.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> is_small(encode(np.array([[0, 1], [1, 0]]))), is_small(encode(np.array([range(26), range(26)])))
    (True, False)
    """
    return len(data.columns) <= MOST_COLUMNS and data.codes.size <= MOST_CELLS


def _learned(learner: SearchingLearner, data: CategoricalData, search: Search) -> LatentTree:
    left = search.clock.seconds_left
    learner.set_params(time_limit=max(SHARE_OF_TIME * left, LEAST_SECONDS) if np.isfinite(left) else None)
    learner._outer_clock = search.clock
    learner._check_settings()
    outcome = learner._learn(data)
    if outcome.stopped == "interrupted":
        search.note_interrupt()
        raise search.clock.stop_signal()
    return outcome.tree


def without_repeats(groups: Iterable[Sequence[Hashable]]) -> list[tuple[Hashable, ...]]:
    """Return the first of the groups that have the same members.

    Examples
    --------
    >>> without_repeats([("x", "y"), ("y", "x"), ("y", "z")])
    [('x', 'y'), ('y', 'z')]
    """
    first: dict[frozenset[Hashable], tuple[Hashable, ...]] = {}
    for group in groups:
        first.setdefault(frozenset(group), tuple(group))
    return list(first.values())
