"""Baseline: the models that a latent tree must beat, with the surface of all learners."""

from __future__ import annotations

import os
from typing import ClassVar, Literal

import numpy as np

from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.cardinality.split_merge import SplitMerge
from pgmpy_latent.learners.column_forest import bic_forest, chow_liu_parents, fitted_forest
from pgmpy_latent.learners.search import Outcome, Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.settings import RandomState, one_of
from pgmpy_latent.tables.encode import CategoricalData

MODELS = ("independence", "chow_liu", "forest", "latent_class")


class Baseline(LatentTreeLearner):
    """Learn one of the models that a latent tree must beat to be worth its hidden variables.

    - ``"independence"``: no edges. Each column's table holds the shares of its states among its filled cells.
    - ``"chow_liu"``: the tree over the columns themselves that has the largest likelihood (Chow and Liu): a spanning
      tree of largest mutual information, rooted at the column that comes first by name. Pairs without any mutual
      information are not linked, so that it may fall into several trees. Ties go to the columns that come first by
      name; the order of the columns does not matter.
    - ``"forest"``: the forest over the columns with the highest BIC: a spanning forest of largest weight, where an edge
      weighs what it adds to the log-likelihood less ``ln(N) / 2`` for each of its ``(r - 1) (s - 1)`` parameters, and
      is left out if that is not positive. No forest has a higher BIC if no cell is missing.
    - ``"latent_class"``: one hidden variable above all columns, whose number of states BIC decides. This is
      :class:`SplitMerge` as it comes.

    Parameters
    ----------
    model : {"chow_liu", "forest", "independence", "latent_class"}
        Which one.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; None is maximum likelihood. The edges of ``"chow_liu"`` and
        ``"forest"`` do not depend on it.
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
        If two columns are never filled in the same row, which then count as independent for ``"chow_liu"`` and
        ``"forest"``.

    See Also
    --------
    SplitMerge : Latent class models with all their settings.
    mutual_information : What decides about the edges.

    Notes
    -----
    Where cells are missing, mutual information comes from the rows that have both columns, and the tables of
    ``"chow_liu"`` from EM on all rows, which starts with the shares among these rows. The likelihood is then at a local
    maximum for this tree; no rule says that no other tree is better. ``"forest"`` goes on from there by structural EM:
    edges are chosen anew by the expected counts of the fitted forest, as long as BIC rises.

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
        model: Literal["independence", "chow_liu", "forest", "latent_class"] = "chow_liu",
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
        if self.model == "forest":
            tree, log_likelihood = bic_forest(data, search)
        else:
            parent = np.full(len(data.columns), -1) if self.model == "independence" else chow_liu_parents(data)
            tree, log_likelihood = fitted_forest(data, parent, search)
        score = latent_class._scorer(data)(tree, log_likelihood)
        return search.run(lambda: State(tree, score, log_likelihood, finished=True), Step)
