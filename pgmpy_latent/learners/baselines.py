"""Baseline: the models that a latent tree must beat, with the surface of all learners."""

from __future__ import annotations

import os
from typing import ClassVar, Literal

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.cardinality.split_merge import SplitMerge
from pgmpy_latent.learners.search import Outcome, Search, Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.settings import RandomState, one_of
from pgmpy_latent.tables.dependence import DECIMALS, pairwise_information, warn_of_no_overlap
from pgmpy_latent.tables.encode import CategoricalData

MODELS = ("independence", "chow_liu", "latent_class")
#: Share of the columns' own distributions in the tables that EM starts with, so that no row is ruled out.
_SMOOTHING = 0.01


class Baseline(LatentTreeLearner):
    """Learn one of the models that a latent tree must beat to be worth its hidden variables.

    - ``"independence"``: no edges. Each column's table holds the shares of its states among its filled cells.
    - ``"chow_liu"``: the tree over the columns themselves that has the largest likelihood (Chow and Liu): a spanning
      tree of largest mutual information, rooted at the column that comes first by name. Pairs without any mutual
      information are not linked, so that it may fall into several trees. Ties go to the columns that come first by
      name; the order of the columns does not matter.
    - ``"latent_class"``: one hidden variable above all columns, whose number of states BIC decides. This is
      :class:`SplitMerge` as it comes.

    Parameters
    ----------
    model : {"chow_liu", "independence", "latent_class"}
        Which one.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; None is maximum likelihood. The edges of ``"chow_liu"`` do not
        depend on it.
    max_states : int, optional
        Most states of the hidden variable of ``"latent_class"``.
    {shared}

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. ``score_`` is the BIC.

    Warns
    -----
    NoOverlapWarning
        If two columns are never filled in the same row, which then count as independent for ``"chow_liu"``.

    See Also
    --------
    SplitMerge : Latent class models with all their settings.
    mutual_information : What decides about the edges.

    Notes
    -----
    Where cells are missing, mutual information comes from the rows that have both columns, and the tables of
    ``"chow_liu"`` from EM on all rows, which starts with the shares among these rows. The likelihood is then at a local
    maximum for this tree; no rule says that no other tree is better.

    References
    ----------
    C. K. Chow and C. N. Liu (1968). Approximating discrete probability distributions with dependence trees. IEEE
    Transactions on Information Theory 14, 462-467.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": list("aaabbbab"), "y": list("cccdddcd"), "z": list("efefefef")})
    >>> chow_liu = Baseline("chow_liu").fit(table)
    >>> sorted(chow_liu.model_.edges()), chow_liu.latents_
    ([('x', 'y'), ('x', 'z')], [])
    >>> bool(chow_liu.log_likelihood_ > Baseline("independence").fit(table).log_likelihood_)
    True
    """

    _constraints: ClassVar[dict] = {"model": one_of(*MODELS)}

    def __init__(
        self,
        model: Literal["independence", "chow_liu", "latent_class"] = "chow_liu",
        *,
        prior: float | None = None,
        max_states: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
    ) -> None:
        self.model = model
        self.prior = prior
        self.max_states = max_states
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    def _latent_class(self) -> SplitMerge:
        """Return the learner of latent class models with the same settings, which all models share."""
        settings = self.get_params(deep=False)
        if settings.pop("model") != "latent_class":
            settings["checkpoint"] = None  # nothing is searched for
        return SplitMerge(**settings)

    def _check_settings(self) -> None:
        super()._check_settings()
        self._latent_class()._check_settings()

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        latent_class = self._latent_class()
        if self.model == "latent_class":
            return latent_class._learn(data)
        search = latent_class._search(data)
        parent = np.full(len(data.columns), -1) if self.model == "independence" else _chow_liu_parents(data)
        tree, log_likelihood = _fitted(data, parent, search)
        score = latent_class._scorer(data)(tree, log_likelihood)
        return search.run(lambda: State(tree, score, log_likelihood, finished=True), Step)


def _chow_liu_parents(data: CategoricalData) -> np.ndarray:
    """Return the parent of each column in the tree of largest mutual information, whatever their order."""
    ordered = data.in_order_of_names()
    information, apart = pairwise_information(ordered)
    warn_of_no_overlap(ordered.columns, apart)
    position = {name: at for at, name in enumerate(data.columns)}
    by_name = np.array([position[name] for name in ordered.columns])
    above = _strongest_forest(information.round(DECIMALS))
    parent = np.empty(len(by_name), dtype=np.int64)
    parent[by_name] = np.where(above >= 0, by_name[above], -1)
    return parent


def _strongest_forest(weights: np.ndarray) -> np.ndarray:
    """Return the parents in the spanning forest of largest weight; the first node of every tree is its root.

    Prim's algorithm on the matrix itself: nodes join the tree one by one, the strongest link first, and among equals
    the first node. A graph of networkx holds every link as a Python object, a million for 1,600 columns.

    Parameters
    ----------
    weights : array, shape (n_nodes, n_nodes)
        Symmetric; what is 0 is no link. The diagonal does not matter.

    Examples
    --------
    >>> _strongest_forest(np.array([[0, 1, 3, 0], [1, 0, 2, 0], [3, 2, 0, 0], [0, 0, 0, 0]])).tolist()
    [-1, 2, 0, -1]
    """
    n_nodes = len(weights)
    parent = np.full(n_nodes, -1)
    strongest = np.zeros(n_nodes)  # link of each node to those that have joined
    outside = np.ones(n_nodes, dtype=bool)
    for _ in range(n_nodes):
        joining = np.argmax(np.where(outside, strongest, -1.0))  # a new root, if nothing is linked
        outside[joining] = False
        stronger = outside & (weights[joining] > strongest)
        strongest[stronger] = weights[joining, stronger]
        parent[stronger] = joining
    return parent


def _fitted(data: CategoricalData, parent: np.ndarray, search: Search) -> tuple[LatentTree, float]:
    """Return the tree over the columns with the best tables, and its log-likelihood."""
    children = np.flatnonzero(parent >= 0)
    needs_em = bool(data.has_missing[children].any() or data.has_missing[parent[children]].any())
    tables = _tables_of_filled(data, parent, search.settings.prior, _SMOOTHING if needs_em else 0.0)
    tree = LatentTree(data.columns, data.state_names, parent, np.zeros(len(parent), dtype=bool), tables)
    engine = engine_for(tree, data)
    flat = engine.layout.pack(tree.tables)
    if not needs_em:
        return tree, float(engine.log_likelihood(flat))
    settings = search.settings
    fit = search.fit(engine, flat, first=True, atol=settings.tol, max_iter=settings.max_iter, polish=True)
    return tree.with_tables(engine.layout.unpack(fit.tables)), fit.log_likelihood


def _tables_of_filled(data: CategoricalData, parent: np.ndarray, prior: float, smoothing: float) -> list[np.ndarray]:
    """Return the shares of states among the rows that have the cell, and the parent's cell where there is one.

    They are the best tables if no row lacks one of the two. A parent's state that never occurs gets the shares of all
    rows, as does, for a share of ``smoothing``, every other state.
    """
    tables = [normalised(_counts(data, at, -1) + prior) for at in range(len(parent))]
    alone = list(tables)
    for at in np.flatnonzero(parent >= 0).tolist():
        counts = _counts(data, at, int(parent[at])) + prior
        totals = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, totals, out=np.repeat(alone[at], len(counts), axis=0), where=totals > 0)
        tables[at] = (1 - smoothing) * shares + smoothing * alone[at]
    return tables


def _counts(data: CategoricalData, at: int, above: int) -> np.ndarray:
    """Return the weights of a column's states for each state of another, or of all rows together."""
    codes, n_rows, n_states = data.codes[:, at].astype(np.int64), 1, int(data.cards[at])
    there = codes >= 0
    if above >= 0:
        there &= data.codes[:, above] >= 0
        codes += n_states * data.codes[:, above].astype(np.int64)
        n_rows = int(data.cards[above])
    counts = np.bincount(codes[there], data.weights[there], minlength=n_rows * n_states)
    return counts.reshape(n_rows, n_states)
