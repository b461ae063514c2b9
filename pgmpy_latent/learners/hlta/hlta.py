"""HLTA: latent trees above thousands of columns."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.base import clone

from pgmpy_latent import presets
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.east.column_places import MovesColumns, run_with_places
from pgmpy_latent.learners.east.settings import Columns
from pgmpy_latent.learners.hlta.column_tree import at_least_column_tree
from pgmpy_latent.learners.hlta.levels import LevelsPolicy
from pgmpy_latent.learners.hlta.numbers import fitted_to_numbers
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.search_learner import LEAST_SECONDS, SearchingLearner, made_regular
from pgmpy_latent.learners.skeletons import numbered_latent_names
from pgmpy_latent.learners.sparse_learner import SparseLearner
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import Constraint, RandomState, number
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.number_bins import BinnedTable
from pgmpy_latent.tables.sparse import SparseRows

#: Bins in the place of a number while islands and levels are found: they cost as much as a Gaussian column.
N_BINS = 3
#: Most cells of a table whose columns are moved in the end, or compared with the tree over the columns: messages at
#: all nodes take some 200 bytes for each.
MOST_CELLS = 10**7


class HLTA(MovesColumns, SparseLearner, SearchingLearner):
    """Learn a latent tree above hundreds or thousands of columns, level by level.

    Hierarchical latent tree analysis, as for words in documents. The two columns that say most about each other are
    the beginning of an island, which is joined by the column that says most about one of its members, until two hidden
    variables would explain the island clearly better than one does; columns about which the hidden variable says too
    little stay outside. Every island gets a hidden variable, of two states at first; when the island is complete,
    states are split as long as BIC rises. The hidden variables, known by their posteriors, are the variables of the
    next level, and so on, until few are left; these are linked by the tree with the highest mutual information. Only
    small models are fitted on the way up; at the end EM fits the whole tree, on all rows at once or, for large
    tables, on some at a time (stepwise EM).

    Numbers (``fit(..., kinds=...)``) are in bins of thirds until the last EM, which fits them as they are.

    Where the forest over the columns with the highest BIC beats this tree, as where columns nearly determine each
    other, hidden variables take the place of its inner columns instead (up to 10 million cells).

    Parameters
    ----------
    max_island : int
        Most variables of an island, at least 3. It bounds the work; islands are meant to end by themselves, and a
        smaller number cuts topics of more words into several.
    threshold : float
        By how much the BIC of an island with two hidden variables must exceed that with one for the island to end.
        Larger values make larger islands.
    top : int
        A level of so many variables or fewer is the last. A large number gives one level of hidden variables, linked
        with each other.
    max_states : int, optional
        Most states of a hidden variable; 2 is as in the papers. None: as many as BIC asks for.
    prior : float, optional
        Dirichlet pseudo-count of every table entry, so that nothing that has not occurred yet is impossible; None is
        maximum likelihood (batches then still use 0.001).
    random_state : int, RandomState or Generator, optional
        Seed of the batches of the last EM; nothing else is drawn.
    {shared}
    tuning : HLTATuning, optional
        When EM ends, and how many rows its steps look at. None stands for ``presets.HLTA``.

    Attributes
    ----------
    levels_ : dict
        The level of every hidden variable: 1 if columns are its children.
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. Hidden variables are called H1, H2 and
        so on in the order in which they came, level by level. Scores in ``history_`` are estimates from
        the islands; ``score_`` and ``log_likelihood_`` are exact.

    See Also
    --------
    BinA, BinG : Hidden variables with several states; for up to a few hundred columns.

    Notes
    -----
    All methods that take rows accept SciPy's sparse matrices of zeros and ones, and frames of sparse columns. A large
    one is never written out as a whole: islands read one column after the other, and steps that need whole rows read
    some thousand of them, up to 50 million cells at a time.

    References
    ----------
    P. Chen, N. L. Zhang, T. Liu, L. K. M. Poon, Z. Chen and F. Khawar (2017). Latent tree models for hierarchical topic
    detection. Artificial Intelligence 250, 105-124.

    T. Liu, N. L. Zhang and P. Chen (2014). Hierarchical latent tree analysis for topic detection. ECML PKDD 2014, Part
    II, 256-272.

    Examples
    --------
    >>> from pgmpy_latent import HLTA, datasets
    >>> learner = HLTA(top=2).fit(datasets.coins("binary_forest", random_state=0))
    >>> sorted(set(learner.levels_.values()))
    [1]
    """

    levels_: dict[Hashable, int]
    n_jobs = None  # islands come one after the other

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "max_island": number(3, whole=True),
        "threshold": number(0),
        "top": number(1, whole=True),
        "max_states": number(2, whole=True, optional=True),
    }
    _takes_numbers: ClassVar[bool] = True
    _default_tuning = presets.HLTA
    _tuning: presets.HLTATuning

    def __init__(
        self,
        *,
        max_island: int = 60,
        threshold: float = 3.0,
        top: int = 15,
        max_states: int | None = None,
        columns: Columns = "leaves",
        prior: float | None = 0.01,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.HLTATuning | None = None,
    ) -> None:
        self.max_island = max_island
        self.threshold = threshold
        self.top = top
        self.max_states = max_states
        self.columns = columns
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def _learn(self, data: CategoricalData | SparseRows) -> Outcome[LatentTree]:
        if isinstance(data, SparseRows) or not data.values:
            return self._learn_categories(data)
        binned = BinnedTable(data, N_BINS)
        outcome = self._learn_categories(binned.data)
        left = None if self.time_limit is None else max(self.time_limit - outcome.history[-1].seconds, LEAST_SECONDS)
        alone = clone(self).set_params(checkpoint=None, time_limit=left)
        alone._outer_clock = self._outer_clock
        outcome = fitted_to_numbers(outcome, binned, data, alone._search(data))
        self.levels_ = {name: self.levels_.get(name, 1) for name in outcome.tree.latent_names}
        return outcome

    def _learn_categories(self, data: CategoricalData | SparseRows) -> Outcome[LatentTree]:
        search = self._search(data)
        ordered = data.in_order_of_names()
        policy = LevelsPolicy(
            ordered,
            search,
            max_size=int(self.max_island),
            threshold=float(self.threshold),
            max_states=self.max_states,
            top=int(self.top),
            batch_size=self._tuning.batch_size,
            n_epochs=int(self._tuning.n_epochs),
        )
        places = None if self.columns == "leaves" else self._column_places(_written_out(ordered), search, policy.score)
        outcome = run_with_places(search, policy.start, policy, places)
        if outcome.stopped is not None and outcome.remaining_gain > 0:  # the score of islands is an estimate
            exact = policy.log_likelihood(outcome.tree)
            outcome = replace(outcome, log_likelihood=exact, score=policy.score(outcome.tree, exact))
        sizes = outcome.memory.sizes
        levels = np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()
        level_of: dict[Hashable, int] = dict(
            zip(numbered_latent_names(ordered.columns, len(levels)), levels, strict=True)
        )
        outcome = made_regular(outcome, policy.score)
        n_cells = ordered.n_distinct * len(ordered.columns)
        if outcome.stopped is None and policy.batch_size >= ordered.n_distinct and n_cells <= MOST_CELLS:
            found = at_least_column_tree(
                outcome, _written_out(ordered), search, policy.score, self.columns != "leaves", self.max_states
            )
            if found is not outcome:  # all of its hidden variables have a column below
                outcome, level_of = found, dict.fromkeys(found.tree.latent_names, 1)
        self.levels_ = {name: level_of[name] for name in outcome.tree.latent_names}
        return outcome


def _written_out(data: CategoricalData | SparseRows) -> CategoricalData:
    """Return a table of which all rows are looked at at once; raise if it is too large for that."""
    n_cells = data.n_distinct * len(data.columns)
    if n_cells > MOST_CELLS:
        raise DataError(
            f"columns='anywhere' looks at all cells at once, and the table has {n_cells:,}, more than {MOST_CELLS:,}; "
            "give some of the rows, or columns='leaves'"
        )
    return next(data.blocks(data.n_rows)) if isinstance(data, SparseRows) else data
