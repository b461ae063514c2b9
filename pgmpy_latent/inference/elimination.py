"""The order in which unknown variables are summed out, and the layout of the intermediate tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

#: Kinds of factors of a clique: a table of the network, or an earlier message; see :mod:`.kernels.cliques`.
_TABLE, _MESSAGE = 0, 1


@dataclass(frozen=True)
class Elimination:
    """A compiled order, for :func:`~pgmpy_latent.inference.kernels.cliques.eliminate`.

    Attributes
    ----------
    steps, factors, maps : int64 arrays
        In the format of the compiled code.
    n_clique_entries, n_message_entries : int
        Sizes of its workspaces.
    last : tuple of int
        Variables of the last clique, in the order of its entries.
    """

    steps: np.ndarray
    factors: np.ndarray
    maps: np.ndarray
    n_clique_entries: int
    n_message_entries: int
    last: tuple[int, ...]


def largest_clique(cards: Mapping[int, int], scopes: Sequence[Sequence[int]], keep: Sequence[int] = ()) -> int:
    """Return the number of entries of the largest intermediate table; see :func:`plan_elimination`.

    Examples
    --------
    >>> largest_clique({0: 2, 1: 3, 2: 4}, [(0, 1), (1, 2)])
    12
    """
    return max(prod(cards[variable] for variable in clique) for clique, _ in cliques(cards, scopes, keep))


def plan_elimination(
    cards: Mapping[int, int], families: Sequence[Mapping[int, int]], keep: Sequence[int] = ()
) -> Elimination:
    """Compile the elimination of the variables of a component.

    The next variable is always the one whose clique is smallest, the first of those that are equally small.

    Parameters
    ----------
    cards : dict
        Variable -> number of states.
    families : sequence of dict
        For every table that has such a variable among its family: variable -> distance of two of its states in the
        table.
    keep : sequence of int
        Variables that stay to the end, together; their joint distribution is then known.

    Returns
    -------
    Elimination

    Examples
    --------
    >>> plan = plan_elimination({0: 2, 1: 3}, [{0: 1}, {0: 3, 1: 1}])
    >>> plan.steps[:, 0].tolist(), plan.last
    ([6, 3], (1,))
    """
    scopes = [tuple(family) for family in families]
    waiting = [(_TABLE, number, dict(family)) for number, family in enumerate(families)]
    steps: list[tuple[int, ...]] = []
    factors: list[tuple[int, int, int]] = []
    maps = [np.empty(0, np.int64)]
    n_cliques = n_messages = n_maps = 0

    def placed(clique: Sequence[int], strides: Mapping[int, int]) -> int:
        nonlocal n_maps
        places = _places(clique, cards, strides)
        maps.append(places)
        n_maps += len(places)
        return n_maps - len(places)

    for clique, gone in cliques(cards, scopes, keep):
        used = [factor for factor in waiting if any(variable in factor[2] for variable in gone)]
        waiting = [factor for factor in waiting if not any(variable in factor[2] for variable in gone)]
        left = [variable for variable in clique if variable not in gone]
        strides = _strides(left, cards)
        size, n_left = prod(cards[v] for v in clique), prod(cards[v] for v in left)
        first = len(factors)
        factors += [(kind, source, placed(clique, factor_strides)) for kind, source, factor_strides in used]
        steps.append((size, first, len(used), n_left, n_messages, n_cliques, placed(clique, strides)))
        waiting.append((_MESSAGE, n_messages, strides))
        n_messages += n_left
        n_cliques += size
    return Elimination(
        np.array(steps, np.int64).reshape(-1, 7),
        np.array(factors, np.int64).reshape(-1, 3),
        np.concatenate(maps),
        n_cliques,
        n_messages,
        tuple(clique),
    )


def cliques(
    cards: Mapping[int, int], scopes: Sequence[Sequence[int]], keep: Sequence[int] = ()
) -> list[tuple[list[int], list[int]]]:
    """Return the cliques in turn, each with the variables that are summed out of it; see :func:`plan_elimination`.

    Examples
    --------
    >>> cliques({0: 2, 1: 3, 2: 4}, [(0, 1), (1, 2)])
    [([0, 1], [0]), ([1, 2], [1]), ([2], [2])]
    """
    linked = {variable: {variable} for variable in cards}
    for scope in scopes:
        for variable in scope:
            linked[variable] |= set(scope)
    # Size of the clique of every variable that is left; only those of the neighbours change.
    sizes = {variable: prod(cards[other] for other in linked[variable]) for variable in sorted(cards)}
    for variable in keep:
        del sizes[variable]
    found = []
    while sizes:
        best = min(sizes, key=lambda variable: (sizes[variable], variable))
        clique = linked.pop(best)
        del sizes[best]
        for other in clique - {best}:
            linked[other] = (linked[other] | clique) - {best}
            if other in sizes:
                sizes[other] = prod(cards[neighbour] for neighbour in linked[other])
        found.append((sorted(clique), [best]))
    if keep:
        found.append((list(keep), list(keep)))
    return found


def _strides(variables: Sequence[int], cards: Mapping[int, int]) -> dict[int, int]:
    """Return the distances of states in a table over these variables, the last one running fastest."""
    strides, size = {}, 1
    for variable in reversed(variables):
        strides[variable] = size
        size *= cards[variable]
    return strides


def _places(clique: Sequence[int], cards: Mapping[int, int], strides: Mapping[int, int]) -> np.ndarray:
    """Return, for every entry of a clique, its place in a table with the given distances of states."""
    places = np.zeros(1, np.int64)
    for variable in clique:
        offsets = np.arange(cards[variable], dtype=np.int64) * strides.get(variable, 0)
        places = (places[:, None] + offsets).ravel()
    return places
