"""BinG: binary latent forests, the two most informative roots first."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pgmpy_latent.learners.forests.forest import ForestLearner
from pgmpy_latent.learners.local.roots import Roots


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

    def pair(self, frontier: Roots) -> tuple[int, int] | None:
        """Return the closest pair."""
        if self.n_refused == self.patience:
            return None
        pair = frontier.closest()
        self._last = None if pair is None else (frontier, pair)
        return pair

    def joined(self, slot: int) -> None:
        """Go on."""

    def refused(self) -> None:
        """Go on with other pairs, if patience allows."""
        frontier, pair = self._last
        frontier.rule_out(*pair)
        if self.n_refused == 0:
            frontier.rule_out_weak(self.penalty)
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
    patience : int, optional
        How many pairs may be refused a parent before this ends; 1 in the paper. None goes on with the other pairs that
        say enough about each other, so that a column with very many states does not spoil the rest.
    max_states : int, optional
        Most states of a hidden variable, at least 2. A pair never needs more than its smaller variable has, so that
        binary tables get binary hidden variables; ``simplify`` may find more, up to this number.
    simplify : bool
        Whether to contract edges between hidden variables, and to reduce their states, as long as BIC rises. The trees
        are then no longer binary.
    debias : bool
        Whether roots are compared without the mutual information that independent variables show by chance, which is
        ``(states - 1) * (states - 1) / (2 * rows)``. It favours columns with many states; the paper leaves it in.
    context : tuple of int
        How many related roots help to find the model of a pair, which the pair alone leaves open: two binary columns
        can be explained by two classes in many ways. Several numbers give several models to choose from. ``()`` does
        without, as the paper does.
    n_init : int
        Random starts for every number of states.
    narrowing : float or None
        Of the starts, the best ``1/narrowing`` are kept after 1, 3, 7, 15, ... iterations. None takes all to the end.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; None is maximum likelihood.
    tol, max_iter
        Where the final EM stops: when less than ``tol`` is left to gain (in nats), or after so many iterations.
    search_tol, search_iter
        The same for the models of pairs.
    allow_many_states : bool
        Whether columns that look like identifiers, dates or measurements are taken; ``fit`` can be told of some.
    unseen : {"missing", "error"}
        What becomes of unknown categories in new rows.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.
    random_state : int, optional
        Same seed, same answer, whatever the order of columns and rows. (Weights with fractions are summed in the order
        of the rows, which can change last digits.)
    time_limit : float, optional
        Seconds; the forest so far is then returned, and ``stopped_`` says so.
    checkpoint : path-like, optional
        File that the search is kept in. A search that was killed goes on from it, and ends in the same model as one
        that never stopped; a finished one returns its model. A file of other data or other settings is refused.
    show_progress : bool
        Whether searches of more than two seconds show a bar.

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

    #: As the paper does it: the first pair that is refused a parent ends it all.
    PAPER: ClassVar[dict] = {**ForestLearner.PAPER, "patience": 1}

    def __init__(
        self,
        *,
        patience=None,
        max_states=None,
        simplify=False,
        debias=True,
        context=(4, 12),
        n_init=12,
        narrowing=2.0,
        prior=None,
        tol=1e-3,
        search_tol=0.1,
        max_iter=10_000,
        search_iter=300,
        allow_many_states=False,
        unseen="missing",
        n_jobs=None,
        random_state=None,
        time_limit=None,
        checkpoint=None,
        show_progress=True,
    ):
        self.patience = patience
        super().__init__(
            max_states=max_states,
            simplify=simplify,
            debias=debias,
            context=context,
            n_init=n_init,
            narrowing=narrowing,
            prior=prior,
            tol=tol,
            search_tol=search_tol,
            max_iter=max_iter,
            search_iter=search_iter,
            allow_many_states=allow_many_states,
            unseen=unseen,
            n_jobs=n_jobs,
            random_state=random_state,
            time_limit=time_limit,
            checkpoint=checkpoint,
            show_progress=show_progress,
        )

    def _check_settings(self) -> None:
        self._check_number("patience", 1, none=True, whole=True)
        super()._check_settings()

    def _order(self, information: np.ndarray, penalty: float) -> ClosestFirst:
        return ClosestFirst(penalty, self.patience)
