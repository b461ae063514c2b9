"""Edges between columns: latent class models with one edge more, fitted by EM."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.diagnostics.pairs import pair_statistics
from pgmpy_latent.diagnostics.score_test import with_edge
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import random_memberships
from pgmpy_latent.inference.queries import engine_for, network_engine
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.skeletons import fresh_latent_name
from pgmpy_latent.model.network import LatentNetwork, reordered
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.tables.encode import CategoricalData

#: Share of uniform tables where EM begins: it cannot leave zeros.
UNIFORM_SHARE = 1e-4
#: How many edges are fitted, of those that promise most.
TRIED = 3


@held_by_checkpoints("edge")
@dataclass(frozen=True, eq=False)
class EdgeFit:
    """A latent class model with a further edge, after EM.

    Attributes
    ----------
    parent, child : names
        The edge.
    network : LatentNetwork
        The model.
    log_likelihood, bic : float
        Larger is better.
    """

    parent: Hashable
    child: Hashable
    network: LatentNetwork
    log_likelihood: float
    bic: float


def fitted_with_edge(
    model: LatentTree | LatentNetwork,
    data: CategoricalData,
    edge: tuple[Hashable, Hashable],
    *,
    prior: float = 0.0,
    seeds: Sequence[np.random.SeedSequence] = (),
    n_jobs: int | None = 1,
    clock: Clock | None = None,
) -> EdgeFit:
    """Fit a latent class model with one edge more, beginning with its own tables, and with random ones.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
        The model without the edge.
    data : CategoricalData
        The table.
    edge : (parent, child)
        Names of two columns.
    prior : float
        Dirichlet pseudo-count of every table entry.
    seeds : sequence of SeedSequence
        One for every random start.
    n_jobs : int, optional
        Threads.
    clock : Clock, optional
        Ends the fit, which then raises.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0], [0, 1], [0, 1]], [-1, 0, 0], [True, False, False],
    ...                   [[[1.0]], [[0.5, 0.5]], [[0.5, 0.5]]])
    >>> data = CategoricalData(["x", "y"], [[0, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]], [30.0, 10.0, 10.0, 30.0])
    >>> fit = fitted_with_edge(tree, data, ("x", "y"))
    >>> fit.network.table("y").round(3).tolist(), round(fit.log_likelihood, 3)
    ([[0.75, 0.25], [0.25, 0.75]], -100.439)
    """
    clock = Clock() if clock is None else clock
    larger = with_edge(model, *edge)
    engine = engine_for(larger, data)
    lengths = engine.layout.row_lengths
    begin = (1 - UNIFORM_SHARE) * engine.layout.pack(larger.tables) + UNIFORM_SHARE / np.repeat(lengths, lengths)
    codes = data.codes_of(larger.names)
    more = [random_memberships(larger.parents, larger.cards, codes, data.weights, data.row_keys, seed)
            for seed in seeds]  # fmt: skip
    found = em.fit(engine, np.stack([begin, *more]), prior=prior, retry=True, n_jobs=n_jobs, clock=clock)
    if found.interrupted:
        clock.note_stop()
        raise clock.stop_signal()
    network = larger.with_tables(engine.layout.unpack(found.tables))
    score = bic_from_parts(found.log_likelihood, network.n_parameters, data.total_weight)
    return EdgeFit(*edge, by_size(network), found.log_likelihood, score)


def fitted_to_pair(tree: LatentTree, data: CategoricalData, edge: tuple[Hashable, Hashable]) -> EdgeFit:
    """Return the same as :func:`fitted_with_edge` for a model without edges between columns, in a fraction of the time.

    A hidden node whose states are the pairs of states of the two columns stands between them and the class. That is a
    tree, and its engine is faster than that of networks; ``P(pair | class)`` is then written as the table of the one
    column and that of the other given the first.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0], [0, 1], [0, 1]], [-1, 0, 0], [True, False, False],
    ...                   [[[1.0]], [[0.5, 0.5]], [[0.5, 0.5]]])
    >>> data = CategoricalData(["x", "y"], [[0, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]], [30.0, 10.0, 10.0, 30.0])
    >>> fit = fitted_to_pair(tree, data, ("x", "y"))
    >>> fit.network.table("y").round(3).tolist(), round(fit.log_likelihood, 3)
    ([[0.75, 0.25], [0.25, 0.75]], -100.439)
    """
    larger = with_edge(tree, *edge)
    hidden = int(np.flatnonzero(tree.latent)[0])
    first, second = (tree.index(name) for name in edge)
    n_classes, here, there = (int(tree.cards[node]) for node in (hidden, first, second))
    joint = (tree.tables[first][:, :, None] * tree.tables[second][:, None, :]).reshape(n_classes, -1)
    joint = (1 - UNIFORM_SHARE) * joint + UNIFORM_SHARE / (here * there)
    parents = [(tree.n_nodes,) if node in (first, second) else above for node, above in enumerate(tree.parents)]
    names = [*tree.names, fresh_latent_name(tree.names)]
    engine = network_engine(names, [*parents, (hidden,)], [*tree.cards, here * there], data)
    tables = [*tree.tables, joint]
    tables[first], tables[second] = np.repeat(np.eye(here), there, axis=0), np.tile(np.eye(there), (here, 1))
    free = np.array([node not in (first, second) for node in range(len(tables))])
    found = em.fit(engine, engine.layout.pack(tables), free=free)
    if found.interrupted:
        raise KeyboardInterrupt
    *tables, joint = engine.layout.unpack(found.tables)
    joint = joint.reshape(n_classes, here, there)
    sums = joint.sum(axis=2)
    tables[first] = sums
    given = np.divide(joint, sums[:, :, None], out=np.full_like(joint, 1 / there), where=sums[:, :, None] > 0)
    tables[second] = given.reshape(-1, there)
    network = larger.with_tables(tables)
    score = bic_from_parts(found.log_likelihood, network.n_parameters, data.total_weight)
    return EdgeFit(*edge, by_size(network), found.log_likelihood, score)


def by_size(network: LatentNetwork) -> LatentNetwork:
    """Return a latent class model with its classes in the order of their sizes.

    Examples
    --------
    >>> network = LatentNetwork(["H", "x"], [[0, 1]] * 2, [(), (0,)], [True, False],
    ...                         [[[0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> by_size(network).table("H").tolist()
    [[0.8, 0.2]]
    """
    hidden = int(np.flatnonzero(network.latent)[0])
    return reordered(network, {hidden: np.argsort(-network.tables[hidden][0], kind="stable")})


def best_edge(tree: LatentTree, data: CategoricalData, prior: float = 0.0) -> EdgeFit | None:
    """Return a latent class model with the best of a few edges; None if no two columns are filled together.

    The three pairs with the largest residuals, in relation to their degrees of freedom, are fitted.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0], [0, 1], [0, 1]], [-1, 0, 0], [True, False, False],
    ...                   [[[1.0]], [[0.5, 0.5]], [[0.5, 0.5]]])
    >>> data = CategoricalData(["x", "y"], [[0, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]], [30.0, 10.0, 10.0, 30.0])
    >>> fit = best_edge(tree, data)
    >>> fit.parent, fit.child, round(fit.bic, 3)
    ('x', 'y', -107.012)
    """
    pairs = pair_statistics(tree, data)
    pairs = pairs[(pairs[:, 3] > 0) & (pairs[:, 4] > 0)]
    if not len(pairs):
        return None
    order = np.argsort(-pairs[:, 2] / pairs[:, 3], kind="stable")[:TRIED]
    edges = [(data.columns[int(first)], data.columns[int(second)]) for first, second in pairs[order, :2]]
    fits = [
        fitted_with_edge(tree, data, edge, prior=prior) if prior else fitted_to_pair(tree, data, edge) for edge in edges
    ]
    return max(fits, key=lambda fit: fit.bic)
