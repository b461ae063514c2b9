"""The number of parameters of a tree, and the dimension of the set of distributions that they describe."""

from __future__ import annotations

import math

import numpy as np

from pgmpy_latent.inference.queries import asked, check_is_tree, encode_for, engine_for, refuse_numbers, sample
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import CategoricalData

#: Up to this many joint states of the observed variables, the effective dimension looks at all of them.
MOST_CELLS = 4096
#: Beyond, it looks at this many random rows per parameter and this many more. Fewer than one per parameter would hide
#: dimensions; the rest is there because rows repeat each other.
ROWS_PER_PARAMETER, MORE_ROWS = 3, 100
#: At how many random parameters the rank is taken, unless one shows the largest rank possible.
POINTS = 3
#: Share of the uniform distribution in a random table: entries close to zero would blur the rank.
UNIFORM_SHARE = 0.05


def n_parameters(tree) -> int:
    """Return the number of free parameters of a model, ``d``.

    A table with ``r`` rows (states of the parent, 1 at a root) and ``k`` states has ``r (k - 1)`` of them, since every
    row sums to one. See :func:`effective_dimension` for how many of them the data can tell apart.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b", "c"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.1, 0.1], [0.2, 0.2, 0.6]]])
    >>> n_parameters(tree)
    5
    """
    return asked(tree).n_parameters


def effective_dimension(tree: LatentTree, *, random_state=0, tol: float = 1e-11) -> int:
    """Return how many dimensions the distributions of the observed variables fill: at most :func:`n_parameters`.

    This is the rank of the Jacobian ``J[x, j] = ∂P(x) / ∂θ_j``, where ``x`` runs over the joint states of the observed
    variables and ``θ_j`` over the free parameters. It is the same at almost all parameters, so it belongs to the
    structure; the tree's tables are not used. Where it is below the number of parameters, infinitely many parameters
    give the same distribution.

    Parameters
    ----------
    tree : LatentTree
        The structure: nodes, numbers of states, and which nodes are hidden.
    random_state : int or Generator
        For the random parameters (and rows).
    tol : float
        Singular values up to this share of the largest one count as zero. Those that are zero come
        out near 1e-16; all others were above 1e-7 in latent class models and trees of up to 800 parameters.

    Returns
    -------
    int
        The largest rank at three random points. Rounding can make it too small in principle, but hardly too large.

    Notes
    -----
    An observed variable separates: the parts of the tree around it have their own parameters, and their dimensions
    add up. In parts without hidden variables every parameter counts. In each other part, the rows of ``J / P(x)``,
    which have the same rank, are the gradients of ``ln P(x)``: expected counts divided by the parameters. All ``x``
    are used if there are at most 4096, and else three random rows per parameter and a hundred more.

    References
    ----------
    Geiger, D., Heckerman, D. and Meek, C. (1996). Asymptotic model selection for directed networks with hidden
    variables. Uncertainty in Artificial Intelligence, 283-290.
    Kočka, T. and Zhang, N. L. (2002). Dimension correction for hierarchical latent class models. Uncertainty in
    Artificial Intelligence, 267-274.

    Examples
    --------
    Three classes of four binary variables are not identifiable although 14 parameters meet 15 free cells.

    >>> items = [np.full((3, 2), 0.5)] * 4
    >>> tree = LatentTree("Hpqrs", [[0, 1, 2], *[["no", "yes"]] * 4], [-1, 0, 0, 0, 0], [True, *[False] * 4],
    ...                   [np.full((1, 3), 1 / 3), *items])
    >>> n_parameters(tree), effective_dimension(tree)
    (14, 13)
    """
    check_is_tree(tree)
    refuse_numbers(tree, "the effective dimension")
    rng = np.random.default_rng(random_state)
    seen_above = [above < 0 or not tree.latent[above] for above in tree.parent]
    dimension = sum(
        table.shape[0] * (table.shape[1] - 1)
        for node, table in enumerate(tree.tables)
        if seen_above[node] and not tree.latent[node]
    )
    for top in np.flatnonzero(seen_above & tree.latent).tolist():
        part = _part_below(tree, top)
        given = tree.cards[tree.parent[top]] - 1 if tree.parent[top] >= 0 else 0  # parameters of another part
        dimension += _generic_rank(part, rng, tol) - int(given)
    return int(dimension)


def _part_below(tree: LatentTree, top: int) -> LatentTree:
    """Return the part of a hidden node with an observed parent: hidden nodes linked to it, and their neighbours."""
    nodes = [top]
    for node in nodes:  # the list grows while it is walked
        if tree.latent[node]:
            nodes.extend(tree.child_lists[node])
    tables = [tree.tables[node] for node in nodes]
    if tree.parent[top] >= 0:
        nodes.insert(0, int(tree.parent[top]))
        tables.insert(0, np.full((1, tree.cards[nodes[0]]), 1 / tree.cards[nodes[0]]))
    place = {node: at for at, node in enumerate(nodes)}
    return LatentTree(
        names=[tree.names[node] for node in nodes],
        state_names=[tree.state_names[node] for node in nodes],
        parent=[place[int(tree.parent[node])] if at else -1 for at, node in enumerate(nodes)],
        latent=tree.latent[nodes],
        tables=tables,
    )


def _generic_rank(part: LatentTree, rng: np.random.Generator, tol: float) -> int:
    """Return the largest rank of the gradients of ln P(row) at some random parameters."""
    cards = [int(card) for card in part.cards[~part.latent]]
    cells = math.prod(cards)
    possible = min(n_parameters(part), cells - 1)
    rank = 0
    for _ in range(POINTS):
        if rank < possible:
            point = _random_point(part, rng)
            codes = np.indices(cards).reshape(len(cards), -1).T if cells <= MOST_CELLS else _random_rows(point, rng)
            rank = max(rank, _rank(_gradients(point, codes), tol))
    return min(rank, possible)


def _random_point(part: LatentTree, rng: np.random.Generator) -> LatentTree:
    return part.with_tables(
        [
            (1 - UNIFORM_SHARE) * rng.dirichlet(np.ones(table.shape[1]), size=len(table))
            + UNIFORM_SHARE / table.shape[1]
            for table in part.tables
        ]
    )


def _random_rows(point: LatentTree, rng: np.random.Generator) -> np.ndarray:
    """Draw rows to which all hidden states contribute alike, so that none of their parameters stays unseen."""
    even = [
        np.full_like(table, 1 / table.shape[1]) if hidden else table
        for table, hidden in zip(point.tables, point.latent, strict=True)
    ]
    n_rows = ROWS_PER_PARAMETER * n_parameters(point) + MORE_ROWS
    return encode_for(point, sample(point.with_tables(even), n_rows, random_state=rng)).codes


def _gradients(point: LatentTree, codes: np.ndarray) -> np.ndarray:
    """Return the gradient of ln P(row) with respect to the free parameters: (rows, parameters).

    The derivative by a table entry is its expected count in the row divided by the entry. The free directions
    are those that raise one entry of a table's row at the cost of the last.
    """
    states = [point.state_names[node] for node in np.flatnonzero(~point.latent)]
    engine = engine_for(point, CategoricalData(point.observed_names, states, codes, np.ones(len(codes))))
    flat = engine.layout.pack(point.tables)
    hidden = np.flatnonzero(point.latent).tolist()
    belief = dict(zip(hidden, engine.beliefs(flat, hidden), strict=True))
    for node, column in zip(np.flatnonzero(~point.latent).tolist(), codes.T, strict=True):
        belief[node] = np.eye(point.cards[node])[column]
    blocks = []
    for node, table in enumerate(point.tables):
        above = int(point.parent[node])
        if above < 0:
            gradient = belief[node][:, None, :] / table
        elif point.latent[node] and point.latent[above]:
            # P(row) = sum_us from_above(u) table(u, s) from_below(s), up to factors that cancel
            from_above, from_below = engine.beliefs(flat, [above, node], without=[node])
            outer = from_above[:, :, None] * from_below[:, None, :]
            gradient = outer / (outer * table).sum(axis=(1, 2), keepdims=True)
        else:  # one of the two is known, so that their beliefs are independent
            gradient = belief[above][:, :, None] * belief[node][:, None, :] / table
        blocks.append((gradient[:, :, :-1] - gradient[:, :, -1:]).reshape(len(codes), -1))
    return np.concatenate(blocks, axis=1)


def _rank(matrix: np.ndarray, tol: float) -> int:
    """Return the rank, by singular values after giving all columns the same length."""
    lengths = np.linalg.norm(matrix, axis=0)
    present = lengths > tol * max(lengths.max(initial=0.0), 1.0)  # rounding errors in a zero column stay small
    if not present.any():
        return 0
    values = np.linalg.svd(matrix[:, present] / lengths[present], compute_uv=False)
    return int((values > tol * values[0]).sum())
