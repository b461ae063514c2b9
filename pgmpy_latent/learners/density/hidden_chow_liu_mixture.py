"""HiddenChowLiuMixture: a mixture of trees for prediction, each of which has edges of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent import presets, scores
from pgmpy_latent.learners.density.mixture import one_tree
from pgmpy_latent.learners.density.mixture_search import MixturePolicy
from pgmpy_latent.learners.density.mixture_trials import Choices, first_candidates, table_of
from pgmpy_latent.learners.density.trials import numbers_of_states
from pgmpy_latent.learners.density.validated import ValidatedLearner
from pgmpy_latent.learners.fitted_mixture import FittedMixture
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.search_learner import SearchSettings
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.emissions import emissions_table
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.tree import LatentTree, MissingCodes
from pgmpy_latent.runtime.configured import ORDER_DOES_NOT_MATTER
from pgmpy_latent.runtime.settings import Constraint, RandomState, flag, number
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import held_out_share


def _flag_or_none(name: str, value: object) -> None:
    if value is not None:
        flag(name, value)


class HiddenChowLiuMixture(SearchSettings, FittedMixture, ValidatedLearner):
    """Learn a mixture of trees that makes new rows likely, in which every tree has edges of its own.

    Rows are divided into groups that are alike. Each group gives a tree of Chow and Liu over the columns, and hidden
    variables take the place of its columns, as in :class:`HiddenChowLiu`; EM then fits all trees together, until rows
    that are held out become less likely. Several such mixtures, with other settings and other seeds, are fitted, and
    those that predict the held-out rows best together are averaged.

    Such a mixture predicts better than one tree, but is none: ``mixture_`` answers ``score``, ``score_samples``,
    ``impute``, ``sample``, and which tree a row comes from (``predict``, ``predict_proba``); ``networks_`` has a pgmpy
    network for every tree. There is no single tree or network, and so no ``tree_``, ``model_`` or ``partial_fit``: use
    :class:`HiddenChowLiu` for these. ``plotting.plot_tree(learner.mixture_.trees[0])`` draws one of the trees.

    Parameters
    ----------
    n_groups : int, optional
        Number of trees in every mixture. None tries 1, 2, 4, and so on up to ``max_groups``.
    n_states : int, optional
        States of every hidden variable. None tries 2, 4, 8, and so on up to ``max_states``.
    smoothing : float, optional
        Sum of the pseudo-counts in a row of a table, which its entries share evenly. None tries several values.
    own_edges : bool, optional
        Whether every tree has edges of its own, or all have those of the whole table. None tries both.
    n_trials : int, optional
        Number of mixtures that are fitted, each with another seed: with other settings, as long as held-out rows become
        likelier, and again with the best ones. None stands for 10; for up to 32 where these take seconds, and for 6 at
        least where they would take minutes. Work is estimated rather than timed, so that every machine finds the same.
    max_groups, max_states : int
        Most trees and states that are tried.
    validation_share : float, optional
        Share of the rows that are held out, if ``fit`` is not given a table to validate with. None: a tenth, but 1,000
        rows if a tenth are fewer, up to three tenths. The final tables are fitted to them as well.
    {shared}
    tuning : HiddenChowLiuTuning, optional
        How EM begins and ends, and which smoothing is tried. None stands for ``presets.HIDDEN_CHOW_LIU``.

    Attributes
    ----------
    mixture_ : TreeMixture
        The learned model: ``trees`` and their ``weights``.
    networks_ : list of (float, pgmpy.models.DiscreteBayesianNetwork)
        The weight and the network of every tree.
    held_out_ : DataFrame
        What was tried: ``n_groups``, ``n_states``, ``smoothing``, ``own_edges``, whether EM began with states that
        stand for categories (``by_category``), ``log_likelihood`` of the held-out rows, ``n_iter`` of EM,
        ``n_parameters``, and which ones are ``averaged``.
    history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. ``score_`` is the log-likelihood of
        the held-out rows.

    See Also
    --------
    HiddenChowLiu : One tree for prediction.

    Examples
    --------
    >>> from pgmpy_latent import HiddenChowLiuMixture, datasets
    >>> survey = datasets.load_anes96().iloc[:, :6]
    >>> learner = HiddenChowLiuMixture(n_groups=2, n_states=2, n_trials=2, random_state=0, show_progress=False)
    >>> learner.fit(survey.iloc[:700]).held_out_[["n_groups", "n_states"]].to_numpy().tolist()
    [[2, 2], [2, 2]]
    >>> bool(abs(learner.mixture_.weights.sum() - 1) < 1e-9), learner.predict_proba(survey.iloc[700:]).shape[0]
    (True, 244)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_groups": number(1, whole=True, optional=True),
        "n_states": number(1, whole=True, optional=True),
        "smoothing": number(above=0, optional=True),
        "own_edges": _flag_or_none,
        "n_trials": number(1, whole=True, optional=True),
        "max_groups": number(1, whole=True),
        "max_states": number(1, whole=True),
        "validation_share": number(above=0, below=1, optional=True),
    }
    _default_tuning = presets.HIDDEN_CHOW_LIU
    _tuning: presets.HiddenChowLiuTuning
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {"random_state": ORDER_DOES_NOT_MATTER}
    _criteria: ClassVar[Mapping[str, scores.Criterion]] = {"bic": scores.HELD_OUT}
    _warns_of_few_rows = False
    held_out_: pd.DataFrame

    def __init__(
        self,
        *,
        n_groups: int | None = None,
        n_states: int | None = None,
        smoothing: float | None = None,
        own_edges: bool | None = None,
        n_trials: int | None = None,
        max_groups: int = 8,
        max_states: int = 32,
        validation_share: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.HiddenChowLiuTuning | None = None,
    ) -> None:
        self.n_groups = n_groups
        self.n_states = n_states
        self.smoothing = smoothing
        self.own_edges = own_edges
        self.n_trials = n_trials
        self.max_groups = max_groups
        self.max_states = max_states
        self.validation_share = validation_share
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def _learn(self, data: CategoricalData) -> Outcome[TreeMixture]:
        data = data.in_order_of_names()
        given = self._given_fold(data)
        search = self._search(data if given is None else given)
        part = held_out_share(data, self.validation_share, search.seed(0)) if given is None else given
        choices = self._choices().for_rows(part.learn.n_distinct)
        first = first_candidates(choices, self._tuning.first_smoothing, float(part.learn.weights.sum()))
        n_trials = None if self.n_trials is None else int(self.n_trials)
        policy = MixturePolicy(data, part, search, choices, first, n_trials, self._tuning)
        return search.run(policy.start, policy.advance, policy.check, policy.finish)

    def _choices(self) -> Choices:
        """Return what is tried."""
        groups = tuple(sorted({1, *numbers_of_states(self.max_groups)})) if self.n_groups is None else (self.n_groups,)
        states = numbers_of_states(self.max_states) if self.n_states is None else (self.n_states,)
        smoothings = sorted(self._tuning.smoothings) if self.smoothing is None else [self.smoothing]
        edges = (False, True) if self.own_edges is None else (bool(self.own_edges),)
        by_category = (False, True) if self._tuning.category_starts else (False,)
        return Choices(
            tuple(map(int, groups)), tuple(map(int, states)), tuple(map(float, smoothings)), edges, by_category
        )

    def _keep(self, outcome: Outcome, X) -> None:
        super()._keep(outcome, X)
        self.held_out_ = table_of(outcome.memory.trials, outcome.memory.chosen)

    def _keep_model(self, model: TreeMixture, missing: MissingCodes) -> TreeMixture:
        self.mixture_ = model.with_codes(missing, self._columns)
        return self.mixture_

    def _keep_network(self, model: TreeMixture) -> None:
        self.networks_ = to_pgmpy(model)
        self.emissions_, self.kinds_ = emissions_table(model), dict.fromkeys(model.observed_names, "categorical")

    def one_tree(self) -> LatentTree:
        """Return the mixture as one tree with the same distribution, if ``own_edges=False``.

        The states of its hidden variables come in groups, one for each tree that is mixed, and tables are zero where a
        state would lead to that of another group. It is a model like any other tree: ``to_pgmpy`` turns it into one
        network.

        Returns
        -------
        LatentTree

        Raises
        ------
        InvalidTreeError
            If trees differ in their edges, or fall into several parts.

        Examples
        --------
        >>> from pgmpy_latent import HiddenChowLiuMixture, datasets
        >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR", "TVnews"]]
        >>> learner = HiddenChowLiuMixture(
        ...     n_groups=2, n_states=2, own_edges=False, n_trials=1, random_state=0, show_progress=False
        ... )
        >>> learner.fit(survey).one_tree().cards[:1]
        array([4])
        """
        check_is_fitted(self)
        return one_tree(self.mixture_)
