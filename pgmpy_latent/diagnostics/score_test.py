"""Score tests: whether a further edge would raise the likelihood of a fitted model, without fitting it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import chi2

from pgmpy_latent.diagnostics import information_matrix as fisher
from pgmpy_latent.diagnostics.resampling import drawn_from_model, n_rows_of
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.model.network import LatentNetwork, as_network
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Design

#: Most cells, over all patterns of missing cells, that are written out to compute the expected information.
MOST_CELLS = 20_000
#: Rows that are drawn from the model where there are more cells.
DRAWN_ROWS = 20_000
#: Share of the total weight below which a row of a table says nothing.
NO_WEIGHT = 1e-9
#: Rows that a cell must be expected in: a single row in a cell of fewer says too much.
FEWEST_EXPECTED = 0.5
#: Share of its information that a direction must keep once other parameters are accounted for.
NOTHING = 1e-6


@dataclass(frozen=True)
class ScoreTest:
    """A score test of an edge.

    Attributes
    ----------
    statistic : float
        About twice what the edge would gain in log-likelihood; for rows with a design, corrected for its effects.
    df : int
        Degrees of freedom: how many parameters the edge adds, without those at the boundary and those that the rows
        cannot tell from others.
    """

    statistic: float
    df: int

    @property
    def p_value(self) -> float:
        """Of the statistic in the chi-squared distribution; NaN without degrees of freedom."""
        return float(chi2.sf(self.statistic, self.df)) if self.df else float("nan")


def with_edge(model: LatentTree | LatentNetwork, parent: Hashable, child: Hashable) -> LatentNetwork:
    """Return the same distribution as a network that has a further edge.

    Examples
    --------
    >>> tree = LatentTree(["x", "y"], [[0, 1]] * 2, [-1, -1], [False] * 2, [[[0.5, 0.5]], [[0.1, 0.9]]])
    >>> with_edge(tree, "x", "y").table("y").tolist()
    [[0.1, 0.9], [0.1, 0.9]]
    """
    network = as_network(model)
    above, below = network.index(parent), network.index(child)
    parents, tables = list(network.parents), list(network.tables)
    parents[below] = (*parents[below], above)
    tables[below] = np.repeat(tables[below], int(network.cards[above]), axis=0)  # the last parent runs fastest
    return LatentNetwork(network.names, network.state_names, parents, network.latent, tables, network.missing)


class ScoreTests:
    """Score tests of edges that a fitted model does not have.

    With U the gradient of the log-likelihood by the parameters that an edge adds, at the model's tables, and V what is
    left of their information once the model's own parameters are accounted for, the statistic is ``U' inv(V) U``.
    The information is that expected under the model for rows with the same missing cells. Probabilities at the boundary
    stay where they are, so the parameters that would move them are left out; so are those of cells that are expected in
    less than half a row, where a single row would say too much.

    With sampling weights, strata or clusters the statistic is corrected for design effects; see
    :func:`corrected_for_design`. The variance of U by the differences between sampling units would not serve in place
    of V: where answers are rare it is often far too small, and its inverse far too large.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
        A model at the maximum of the likelihood.
    data : CategoricalData
        The table that it was fitted to.

    Examples
    --------
    Two columns that go together, in a model in which they do not: the statistic is Pearson's.

    >>> tree = LatentTree(["x", "y"], [[0, 1]] * 2, [-1, -1], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]]])
    >>> data = CategoricalData(["x", "y"], [[0, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]], [30.0, 20.0, 20.0, 30.0])
    >>> test = ScoreTests(tree, data).edge("x", "y")
    >>> round(test.statistic, 3), test.df, round(test.p_value, 4)
    (4.0, 1, 0.0455)
    """

    def __init__(self, model: LatentTree | LatentNetwork, data: CategoricalData):
        self.network, self.data = as_network(model), data
        self._engine = engine_for(self.network, data)
        self._tables = self._engine.layout.pack(self.network.tables)
        value, self._counts = self._engine.expected_counts(self._tables)
        if np.isneginf(value):
            raise ImpossibleRowError(
                "the model rules out some rows of this table, so it was not fitted to it; give the table that it was "
                "fitted to, or fit with a prior, e.g. prior=0.01"
            )
        self._fixed = fisher.at_the_boundary(self._engine.layout, self._tables, self._counts)
        empty = self._engine.layout.row_sums(self._counts) <= NO_WEIGHT * data.total_weight
        self._coordinates = fisher.Coordinates(self._engine.layout, self._tables, self._fixed | empty)

    @cached_property
    def _expected(self) -> CategoricalData:
        return expected_rows(self.network, self.data)

    @cached_property
    def _own_scores(self) -> np.ndarray:
        """Derivatives by the model's own parameters, of the rows that are expected."""
        return fisher.row_scores(engine_for(self.network, self._expected), self._coordinates)

    @cached_property
    def _own_scores_of_data(self) -> np.ndarray:
        return fisher.row_scores(self._engine, self._coordinates)

    @cached_property
    def _own_gradient(self) -> np.ndarray:
        return self._coordinates.gradient(self._tables, self._counts)

    def edge(self, parent: Hashable, child: Hashable) -> ScoreTest:
        """Return the score test of an edge from a node to another."""
        larger = with_edge(self.network, parent, child)
        engine = engine_for(larger, self.data)
        tables = engine.layout.pack(larger.tables)
        _, counts = engine.expected_counts(tables)
        node, card = self.network.index(child), int(self.network.cards[self.network.index(parent)])
        fixed = self._fixed_with_edge(engine.layout, node, card, counts)
        added = fisher.Coordinates(engine.layout, tables, fixed)
        if not added.n_parameters:
            return ScoreTest(0.0, 0)
        gradient = added.gradient(tables, counts)
        scores = fisher.row_scores(engine_for(larger, self._expected), added)
        weights = self._expected.weights[:, None]
        cross = (scores * weights).T @ self._own_scores
        own = _inverse((self._own_scores * weights).T @ self._own_scores)
        onto = cross @ own
        excess = gradient - onto @ self._own_gradient
        full = (scores * weights).T @ scores
        whiten = _whitening(full - onto @ cross.T, np.sqrt(np.diag(full)))
        df = whiten.shape[1]
        statistic = float(((excess @ whiten) ** 2).sum())
        if self.data.design is not None and df:
            left = fisher.row_scores(engine, added) - self._own_scores_of_data @ onto.T
            statistic = corrected_for_design(statistic, left @ whiten, self.data.design)
        return ScoreTest(statistic, df)

    def _fixed_with_edge(self, layout, node: int, card: int, counts: np.ndarray) -> np.ndarray:
        """Return which entries of the larger model stay: all but those of the child for other states of the parent.

        For each row of the child's table the parent's most frequent state is the one that others differ from.
        """
        old = self._engine.layout.unpack(self._fixed)[node]
        weight = layout.unpack(counts)[node].sum(axis=1).reshape(len(old), card)
        stays = weight <= fisher.FEW_ROWS  # a combination that is at the boundary itself
        stays[np.arange(len(old)), np.argmax(weight, axis=1)] = True
        expected = weight.reshape(-1, 1) * np.repeat(self.network.tables[node], card, axis=0)
        fixed = np.ones(layout.size, dtype=bool)
        rare = expected < FEWEST_EXPECTED
        layout.unpack(fixed)[node][:] = np.repeat(old, card, axis=0) | stays.reshape(-1, 1) | rare
        return fixed


def expected_rows(model: LatentTree | LatentNetwork, data: CategoricalData) -> CategoricalData:
    """Return the rows that a model expects in a table with the same missing cells.

    All combinations of states, for each pattern of missing cells, with their expected weights; where these are more
    than 20,000, as many rows as that are drawn from the model instead, always with the same seed.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> data = CategoricalData(["x"], [["a", "b"]], [[-1], [0]], [2.0, 4.0])
    >>> expected = expected_rows(tree, data)
    >>> expected.codes.ravel().tolist(), expected.weights.tolist()
    ([0, 1], [1.0, 3.0])
    """
    patterns, pattern_of_row = np.unique(data.codes >= 0, axis=0, return_inverse=True)
    shares = np.bincount(pattern_of_row.ravel(), data.weights, minlength=len(patterns))
    sizes = [math.prod(data.cards[known].tolist()) for known in patterns]
    if sum(sizes) > MOST_CELLS:
        return _drawn_rows(model, data)
    parts, weights = [], []
    for known, share, size in zip(patterns, shares, sizes, strict=True):
        if not known.any():
            continue  # a row without any known cell says nothing
        codes = np.full((size, len(known)), -1)
        codes[:, known] = np.stack(np.unravel_index(np.arange(size), data.cards[known]), axis=1)
        rows = CategoricalData(data.columns, data.state_names, codes, np.ones(size))
        engine = engine_for(model, rows)
        parts.append(codes)
        weights.append(share * np.exp(engine.row_log_likelihoods(engine.layout.pack(model.tables))))
    codes, flat = np.concatenate(parts), np.concatenate(weights)
    return CategoricalData(data.columns, data.state_names, codes[flat > 0], flat[flat > 0])


def _drawn_rows(model: LatentTree | LatentNetwork, data: CategoricalData) -> CategoricalData:
    n_draws = -(-DRAWN_ROWS // n_rows_of(data))
    draws = drawn_from_model(model, data, [np.random.default_rng((0, draw)) for draw in range(n_draws)])
    weights = draws.weights.sum(axis=0)
    there = weights > 0
    scale = data.total_weight / weights.sum()
    return CategoricalData(data.columns, data.state_names, draws.data.codes[there], weights[there] * scale)


def edge_tests(
    model: LatentTree | LatentNetwork, data: CategoricalData, edges: Iterable[tuple[Hashable, Hashable]]
) -> list[ScoreTest]:
    """Return the score test of each of several edges (parent, child). See :class:`ScoreTests`.

    Examples
    --------
    >>> tree = LatentTree(["x", "y"], [[0, 1]] * 2, [-1, -1], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]]])
    >>> data = CategoricalData(["x", "y"], [[0, 1]] * 2, [[0, 0], [0, 1], [1, 0], [1, 1]], [30.0, 20.0, 20.0, 30.0])
    >>> [round(test.statistic, 3) for test in edge_tests(tree, data, [("x", "y"), ("y", "x")])]
    [4.0, 4.0]
    """
    tests = ScoreTests(model, data)
    return [tests.edge(parent, child) for parent, child in edges]


def corrected_for_design(statistic: float, scores: np.ndarray, design: Design) -> float:
    """Return a sum of squares on the scale that it has for independent rows that all count alike.

    The squares are of sums of scores that would be uncorrelated and of variance one in such rows. In others, the sum of
    squares has the distribution of a sum of independent chi-squared variables of one degree of freedom each, times the
    design effects. It is stretched and moved so that mean and variance are those of the chi-squared distribution with
    as many degrees of freedom.

    Mean and spread of the design effects are those of the variance that differences between units show, as shares of
    those that the same rows show if they count for independent ones. So what rare answers add to the spread by chance
    cancels out, and equal weights change nothing. The statistic is zero where it would fall below.

    Parameters
    ----------
    statistic : float
        The sum of squares.
    scores : array, shape (n_distinct, df)
        The scores of every distinct row.
    design : Design
        How rows were drawn.

    References
    ----------
    Rao, J. N. K. and Scott, A. J. (1984). On chi-squared tests for multiway contingency tables with cell proportions
    estimated from survey data. Annals of Statistics 12, 46-60.
    Asparouhov, T. and Muthen, B. (2010). Simple second order chi-square correction. Mplus technical appendix.

    Examples
    --------
    Every row was drawn together with an equal one, so that there are half as many rows as it seems.

    >>> scores = np.array([[1.0], [-1.0]])
    >>> pairs = Design.of_rows(np.repeat([0, 1], 40), np.ones(80), clusters=np.repeat(np.arange(40), 2))
    >>> round(corrected_for_design(4.0, scores, pairs), 2)
    1.97
    """
    df = scores.shape[1]
    alike = Design.of_counts(design.row_weights(len(scores)))
    mean, spread = _mean_and_spread(design.scatter(scores))
    usual_mean, usual_spread = _mean_and_spread(alike.scatter(scores))
    if not (mean > 0 and usual_mean > 0):
        return statistic
    stretch = math.sqrt(min(max(spread / usual_spread, 1.0), df))
    return max(0.0, statistic * usual_mean / mean / stretch + df * (1 - 1 / stretch))


def _mean_and_spread(variance: np.ndarray) -> tuple[float, float]:
    """Return the mean of the eigenvalues, and the mean of their squares as a multiple of the squared mean."""
    mean = float(np.trace(variance)) / len(variance)
    return mean, float((variance**2).sum()) / len(variance) / mean**2 if mean > 0 else 1.0


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of an information matrix, without directions that it says nothing about."""
    if not len(matrix):
        return matrix
    scale = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    return np.linalg.pinv(matrix / np.outer(scale, scale), rcond=NOTHING, hermitian=True) / np.outer(scale, scale)


def _whitening(variance: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the matrix ``W`` with ``W W' = inv(V)``, without directions in which little of the information is left."""
    scale = np.maximum(scale, np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(variance / np.outer(scale, scale))
    kept = values > NOTHING
    return vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
