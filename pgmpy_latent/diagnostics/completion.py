"""A table completed by a model: expected counts, and the entropy of its hidden variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Unpack

import numpy as np
from scipy.special import entr, xlogy

from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import AnyModel, asked, check_is_tree, encode_for, engine_for
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey


@dataclass(frozen=True)
class Completed:
    """One propagation, from which every score of a table follows."""

    tree: AnyModel
    data: CategoricalData
    engine: RowEngine
    tables: np.ndarray  # flat, in the engine's layout
    log_likelihood: float
    counts: np.ndarray  # expected count of every table entry

    @property
    def total_weight(self) -> float:
        """Sum of the rows' weights."""
        return self.data.total_weight

    @cached_property
    def completed_log_likelihood(self) -> float:
        """Expected log-likelihood of the table with hidden variables and missing cells filled in.

        Missing cells of numeric columns are left as they are.
        """
        numeric = self.engine.layout.numeric
        terms = xlogy(self.counts, self.tables)
        if numeric is None:
            return float(terms.sum())
        return float(terms[~numeric.entries].sum()) + self._of_numbers()

    def _of_numbers(self) -> float:
        """Return the expected logarithm of the densities of all cells of numeric columns."""
        total, data = 0.0, self.data
        weights, columns = data.weights, {name: at for at, name in enumerate(data.columns)}
        for node, emission in emissions_of(self.tree).items():
            name, above = self.tree.names[node], self.tree.parents[node]
            if name not in columns:
                continue
            values = np.append(data.values[name], np.nan)[data.codes[:, columns[name]]]
            logs = emission.log_densities(values, self.tree.tables[node])
            belief = self.engine.beliefs(self.tables, [above[0]])[0] if above else 1.0
            total += float(weights @ (belief * logs).sum(axis=1))
        return total


def complete(model, X, sample_weight, **survey: Unpack[Survey]) -> Completed:
    """Return a table as a model completes it: expected counts, log-likelihood, and the engine that computed them."""
    tree = asked(model)
    data = encode_for(tree, X, sample_weight=sample_weight, can_sum_out=False, **survey)
    return completed(tree, data, engine_for(tree, data))


def completed(tree: AnyModel, data: CategoricalData, engine: RowEngine) -> Completed:
    """Return encoded rows as a model completes them, given an engine for the two."""
    tables = engine.layout.pack(tree.tables)
    total, counts = engine.expected_counts(tables)
    return Completed(tree, data, engine, tables, float(total), counts)


def open_entropy(done: Completed) -> tuple[float, float]:
    """Return the entropy of the hidden variables, and the largest value that it could have."""
    tree, data = done.tree, done.data
    logs = np.log(tree.cards)
    largest = done.total_weight * float(logs[tree.latent].sum())
    if np.isneginf(done.log_likelihood):
        return np.nan, largest
    entropy = done.log_likelihood - done.completed_log_likelihood  # of hidden variables and missing cells together
    if data.has_missing.any():
        check_is_tree(tree)
        assert isinstance(tree, LatentTree)  # missing cells are told apart from hidden variables along its edges
        codes = np.zeros((data.n_distinct, tree.n_nodes), dtype=data.codes.dtype)
        codes[:, ~tree.latent] = data.codes
        codes[:, list(emissions_of(tree))] = 0  # numbers that are missing are no states that rows could be in
        belief = cache(lambda node: done.engine.beliefs(done.tables, [node])[0])
        for region, rows in _missing_regions(tree, codes < 0):
            around = _neighbours(tree, region)
            hidden = [node for node in around if tree.latent[node]]
            if len(hidden) > 1:
                largest += float(data.weights[rows].sum() * logs[region].sum())
                continue
            shares = data.weights[rows, None] * (belief(hidden[0])[rows] if hidden else 1.0)
            entropy -= _region_entropy(
                tree, region, [*hidden, *np.setdiff1d(around, hidden).tolist()], codes, rows, shares
            )
    return max(float(entropy), 0.0), largest


def _neighbours(tree: LatentTree, nodes: list[int]) -> list[int]:
    """Return the nodes next to a set of nodes, in node order."""
    inside = set(nodes)
    above = {int(tree.parent[node]) for node in nodes} - inside - {-1}
    below = {int(child) for child in np.flatnonzero(np.isin(tree.parent, nodes))} - inside
    return sorted(above | below)


def _missing_regions(tree: LatentTree, missing: np.ndarray) -> Iterator[tuple[list[int], np.ndarray]]:
    """Yield every connected set of missing nodes (a region), and the rows in which it is a whole region."""
    if not missing.any():
        return
    for top in np.flatnonzero(missing.any(axis=0)).tolist():
        above = tree.parent[top]
        begins = missing[:, top] & ~missing[:, above] if above >= 0 else missing[:, top]
        if not begins.any():
            continue
        reached, queue = {top: begins}, [top]
        for node in queue:  # the list grows while it is walked
            for child in tree.child_lists[node]:
                both = reached[node] & missing[:, child]
                if both.any():
                    reached[child] = both
                    queue.append(child)
        rows = np.flatnonzero(begins)
        if len(queue) == 1:
            yield queue, rows
            continue
        shapes, shape_of_row = np.unique(np.stack([reached[n][rows] for n in queue], 1), axis=0, return_inverse=True)
        for number, shape in enumerate(shapes):
            yield [queue[at] for at in np.flatnonzero(shape)], rows[shape_of_row.ravel() == number]


def _region_entropy(tree: LatentTree, missing: list[int], around: list[int], codes, rows, shares: np.ndarray) -> float:
    """Return the entropy of a region of missing nodes given its neighbours, summed over rows.

    Given its neighbours, the region is independent of the rest of the tree. If one neighbour is hidden it is the first,
    and takes each of its states with the row's share of weight; otherwise there is one share, the whole weight.
    """
    nodes = [*missing, *around]
    row, state = np.nonzero(shares)  # states without a share would bring in logarithms of zero
    weights = shares[row, state]
    codes = codes[np.ix_(rows, nodes)].astype(np.int32)[row]
    if around and tree.latent[around[0]]:
        codes[:, len(missing)] = state
    if len(missing) == 1 and around == [tree.parent[missing[0]]]:  # a leaf: by far the most frequent region
        return float(weights @ entr(tree.tables[missing[0]]).sum(axis=1)[codes[:, 1]])
    place = {node: at for at, node in enumerate(nodes)}
    parents = [place.get(int(tree.parent[node]), -1) for node in nodes]
    tables = [tree.tables[node] for node in nodes]
    for at in range(len(missing), len(nodes)):
        if parents[at] < 0:  # the parent is known: its own probability does not matter
            tables[at] = np.ones((1, tree.cards[nodes[at]]))
    evidence = {at: Evidence(np.ascontiguousarray(codes[:, at]), int(tree.cards[nodes[at]])) for at in place.values()}
    engine = TreeEngine(compile_plan(parents, evidence), tree.cards[nodes], weights)
    flat = engine.layout.pack(tables)
    total, counts = engine.expected_counts(flat)
    return float(total - xlogy(counts, flat).sum())
