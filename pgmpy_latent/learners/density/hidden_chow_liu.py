"""HiddenChowLiu: a tree for prediction, whose hidden variables are linked like the columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pandas as pd

from pgmpy_latent import presets, scores
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.learners.column_forest import chow_liu_parents
from pgmpy_latent.learners.density.policy import TrialsPolicy
from pgmpy_latent.learners.density.trials import MOST_GROUPS, best_trial, numbers_of_states, table_of
from pgmpy_latent.learners.density.validated import ValidatedLearner
from pgmpy_latent.learners.fitted_mixture import FOR_PREDICTION
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.search_learner import SearchingLearner
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.configured import ORDER_DOES_NOT_MATTER
from pgmpy_latent.runtime.settings import Constraint, RandomState, number
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import held_out_share


class HiddenChowLiu(ValidatedLearner, SearchingLearner):
    """Learn a tree that makes new rows likely: hidden variables that are linked like the columns.

    The tree of Chow and Liu over the columns says what is linked. A hidden variable with many states takes the place of
    every column that has several neighbours, and the column hangs below it. Rows that are held out decide how many
    states hidden variables have, how much tables are smoothed, and when EM ends. Use it to score, complete, impute or
    draw rows. Its hidden variables are for prediction, not for interpretation: they have many states, and other starts
    lead to others that predict as well.

    Parameters
    ----------
    n_states : int, optional
        States of every hidden variable, in each of the trees that are mixed. None tries 2, 4, 8, and so on, as long as
        held-out rows become likelier. In the end, states that carry nothing are pruned (see
        :func:`pgmpy_latent.operators.prune_states`), so that hidden variables can have fewer.
    n_groups : int, optional
        Number of trees with the same edges that are mixed: rows begin in so many groups that are alike. The mixture is
        one tree, whose hidden variables have ``n_groups`` times as many states and tables that are zero where a state
        would lead to that of another tree. None tries 1, 2, 4 and 8, after states and smoothing, as long as held-out
        rows become likelier.
    smoothing : float, optional
        Sum of the pseudo-counts in a row of a table, which its entries share evenly. None tries several values.
    max_states : int
        Most states that are tried; those of all trees together, if the number of trees is tried too.
    validation_share : float, optional
        Share of the rows that are held out, if ``fit`` is not given a table to validate with. None: a tenth, but 1,000
        rows if a tenth are fewer, up to three tenths. The final tables are fitted to them as well.
    {shared}
    tuning : HiddenChowLiuTuning, optional
        How EM begins and ends, and which smoothing is tried. None stands for ``presets.HIDDEN_CHOW_LIU``.

    Attributes
    ----------
    smoothing_ : float
        The smoothing that was chosen.
    held_out_ : DataFrame
        What was tried: ``n_states``, ``smoothing``, ``n_groups``, ``log_likelihood`` of the held-out rows, ``n_iter``
        of EM, ``n_parameters``, and which one was the ``best``.
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. ``score_`` is the log-likelihood of
        the held-out rows.

    See Also
    --------
    Baseline : The tree of Chow and Liu itself.
    EAST : Trees to be interpreted; with ``scoring_method="heldout"`` the one that predicts best.

    References
    ----------
    A. Liu and G. Van den Broeck (2021). Tractable regularization of probabilistic circuits. NeurIPS 34, 3558-3570.

    Examples
    --------
    >>> from pgmpy_latent import Baseline, HiddenChowLiu, datasets
    >>> survey = datasets.load_anes96().iloc[:, :6]
    >>> learner = HiddenChowLiu(max_states=4, random_state=0, show_progress=False)
    >>> new = survey.iloc[700:]
    >>> bool(learner.fit(survey.iloc[:700]).score(new) > Baseline("independence").fit(survey.iloc[:700]).score(new))
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_states": number(1, whole=True, optional=True),
        "n_groups": number(1, whole=True, optional=True),
        "smoothing": number(above=0, optional=True),
        "max_states": number(1, whole=True),
        "validation_share": number(above=0, below=1, optional=True),
    }
    _default_tuning = presets.HIDDEN_CHOW_LIU
    _tuning: presets.HiddenChowLiuTuning
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {"random_state": ORDER_DOES_NOT_MATTER}
    _criteria: ClassVar[Mapping[str, scores.Criterion]] = {"bic": scores.HELD_OUT}  # whatever else a search maximises
    _has_standard_form = True
    _may_sample = False
    _warns_of_few_rows = False
    smoothing_: float
    held_out_: pd.DataFrame

    def __init__(
        self,
        *,
        n_states: int | None = None,
        n_groups: int | None = 1,
        smoothing: float | None = None,
        max_states: int = 32,
        validation_share: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.HiddenChowLiuTuning | None = None,
    ) -> None:
        self.n_states = n_states
        self.n_groups = n_groups
        self.smoothing = smoothing
        self.max_states = max_states
        self.validation_share = validation_share
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        data = data.in_order_of_names()
        given = self._given_fold(data)
        search = self._search(data if given is None else given)
        part = held_out_share(data, self.validation_share, search.seed(0)) if given is None else given
        tuning = self._tuning
        policy = TrialsPolicy(
            data,
            part,
            chow_liu_parents(part.learn),
            search,
            numbers_of_states(self.max_states) if self.n_states is None else (int(self.n_states),),
            tuple(sorted(tuning.smoothings)) if self.smoothing is None else (float(self.smoothing),),
            tuning,
            (1, *numbers_of_states(MOST_GROUPS)) if self.n_groups is None else (int(self.n_groups),),
            max(int(self.max_states), int(self.n_states or 1)) if self.n_groups is None else None,
        )
        return search.run(policy.start, policy.advance, policy.check, policy.finish)

    def _keep(self, outcome: Outcome, X) -> None:
        super()._keep(outcome, X)
        trials = outcome.memory.trials
        self.held_out_ = table_of(trials)
        self.smoothing_ = best_trial(trials).smoothing

    def _prior_of_update(self) -> np.ndarray:
        layout = Layout([table.shape for table in self.tree_.tables])
        return pseudo_counts_of_rows(layout, self.smoothing_, layout.pack(self.tree_.tables) > 0)

    def summary(self, n: int | None = None) -> None:
        """Print how well the model fits, its tree, and which columns say most about each hidden variable.

        Parameters
        ----------
        n : int, optional
            How many columns to list for each hidden variable; see :meth:`informative_columns`.

        Examples
        --------
        >>> from pgmpy_latent import HiddenChowLiu, datasets
        >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
        >>> HiddenChowLiu(n_states=2, random_state=0, show_progress=False).fit(survey).summary()  # doctest: +ELLIPSIS
        log-likelihood -3,4..., 1 hidden variable, 3 columns
        <BLANKLINE>
        H1 (2): vote, PID, selfLR
        ...
        These hidden variables are there to predict rows; they are not meant to be interpreted.
        """
        super().summary(n)
        print(f"\n{FOR_PREDICTION}")
