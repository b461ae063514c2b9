"""BinG: binary latent forests, the two most informative roots first.

Only the order in which roots are joined is here; the search and the fits are in ``forests/forest_search.py``.
"""

from __future__ import annotations

import numpy as np

from pgmpy_latent import presets
from pgmpy_latent.learners.forests.forest_search import ForestLearner
from pgmpy_latent.learners.local.roots import Roots
from pgmpy_latent.runtime.configured import MovedPreset


class ClosestFirst:
    """Join the two roots with the highest mutual information first.

    The paper stops when such a pair has no use for a parent. But mutual information is high by chance where a column
    has many states, and by construction where it is nearly an identifier; then other pairs come next, unless they say
    too little about each other to be worth a parent's parameters.

    Parameters
    ----------
    penalty : float
        What a parameter costs.
    patience : int, optional
        How many pairs may be refused before all ends; None: any number.
    """

    def __init__(self, penalty: float, patience: int | None = None):
        self.penalty = penalty
        self.patience = patience
        self.n_refused = 0
        self._last: tuple[Roots, tuple[int, int]] | None = None

    def pair(self, roots: Roots) -> tuple[int, int] | None:
        """Return the closest pair."""
        if self.n_refused == self.patience:
            return None
        pair = roots.closest()
        self._last = None if pair is None else (roots, pair)
        return pair

    def joined(self, slot: int) -> None:
        """Go on."""

    def refused(self) -> None:
        """Go on with other pairs, if patience allows."""
        if self._last is None:
            raise ValueError("no pair was asked for")
        roots, pair = self._last
        roots.rule_out(*pair)
        if self.n_refused == 0:
            roots.rule_out_weak(self.penalty)
        self.n_refused += 1


class BinG(ForestLearner):
    """Learn a binary latent forest, quickly: for tables with many columns, where a search would take too long.

    Greedy, from the bottom up (BIN-G of Harmeling and Williams). All columns begin as roots. The two roots with the
    highest mutual information get a hidden parent, a latent class model of the two whose number of states maximises
    BIC; it takes their place. What two roots say about each other comes from their posteriors given the columns below
    each, summed over the rows. This ends when one root is left, or when for all pairs a parent with a single state
    would be best. Then EM fits the whole forest.

    Parameters
    ----------
    {shared}
    tuning : BinGTuning, optional
        How pairs are chosen and modelled, and when EM ends; ``presets.HARMELING_WILLIAMS_2011_BIN_G`` follows the
        paper. None stands for ``presets.BIN_G``.

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. Hidden variables are called H1, H2 and
        so on in the order in which they came. Columns that say nothing about others stand alone.

    Warns
    -----
    NoOverlapWarning
        If two columns are never filled in the same row, which then count as independent.

    See Also
    --------
    BinA : The tree comes from clustering the columns first.
    SplitMerge : Better numbers of states for a given tree.

    References
    ----------
    S. Harmeling and C. K. I. Williams (2011). Greedy learning of binary latent trees. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 33, 1087-1097.

    Examples
    --------
    >>> from pgmpy_latent import BinG, datasets
    >>> learner = BinG(random_state=0).fit(datasets.coins("binary_forest", random_state=0))
    >>> learner.n_states_, sorted(learner.model_.edges())[:4]
    ({'H1': 4, 'H2': 2, 'H3': 2}, [('H1', 'x4'), ('H1', 'x5'), ('H2', 'H1'), ('H2', 'x3')])
    """

    _default_tuning = presets.BIN_G
    PAPER = MovedPreset("presets.HARMELING_WILLIAMS_2011_BIN_G")
    _tuning: presets.BinGTuning

    def _order(self, information: np.ndarray, penalty: float) -> ClosestFirst:
        return ClosestFirst(penalty, self._tuning.patience)
