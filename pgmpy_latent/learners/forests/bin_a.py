"""BinA: binary latent forests whose shape comes from clustering the columns.

Only the order in which roots are joined is here; the search and the fits are in ``forests/forest_search.py``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from scipy.cluster.hierarchy import linkage

from pgmpy_latent import presets
from pgmpy_latent.learners.east.settings import Columns
from pgmpy_latent.learners.forests.forest_search import ForestLearner
from pgmpy_latent.learners.local.roots import Roots
from pgmpy_latent.runtime.configured import MovedPreset
from pgmpy_latent.runtime.settings import Constraint, RandomState, one_of
from pgmpy_latent.tables.dependence import DECIMALS

LINKAGES = ("average", "single", "complete")


class AsClustered:
    """Join what agglomerative clustering joins; where a pair has no use for a parent, the tree falls apart.

    Parameters
    ----------
    merges : int array, shape (n_columns - 1, 2)
        Pairs of clusters in the order in which they are merged, numbered as SciPy does.

    Examples
    --------
    >>> order = AsClustered(np.array([[0, 1], [2, 3]]))
    >>> order.pair(None)
    (0, 1)
    >>> order.joined(0)
    >>> order.pair(None)
    (0, 2)
    """

    def __init__(self, merges: np.ndarray):
        self.merges = merges
        self.slots: list[int | None] = list(range(len(merges) + 1))

    def pair(self, roots: Roots) -> tuple[int, int] | None:
        """Return the next pair whose trees are whole."""
        while (at := len(self.slots) - len(self.merges) - 1) < len(self.merges):
            left, right = (self.slots[cluster] for cluster in self.merges[at])
            if left is not None and right is not None:
                return min(left, right), max(left, right)
            self.slots.append(None)
        return None

    def joined(self, slot: int) -> None:
        """Go on with the pair at this slot."""
        self.slots.append(slot)

    def refused(self) -> None:
        """Go on without the pair, and without whatever would stand above it."""
        self.slots.append(None)


def merges_of(information: np.ndarray, method: str) -> np.ndarray:
    """Cluster columns by their mutual information.

    Examples
    --------
    >>> merges_of(np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]]), "average").tolist()
    [[1, 2], [0, 3]]
    """
    n_columns = len(information)
    if n_columns < 2:
        return np.empty((0, 2), dtype=np.int64)
    pairs = information[np.triu_indices(n_columns, 1)].round(DECIMALS)
    return linkage(pairs.max() - pairs, method)[:, :2].astype(np.int64)


class BinA(ForestLearner):
    """Learn a binary latent forest whose shape comes from clustering the columns by their mutual information.

    Agglomerative clustering of the columns gives a binary tree (BIN-A of Harmeling and Williams). Bottom-up, every
    inner node becomes a hidden variable: a latent class model of the two below, whose number of states maximises BIC.
    Where a single state would be best the tree falls apart. Then EM fits the whole forest.

    Parameters
    ----------
    linkage : {"average", "single", "complete"}
        How similar two clusters of columns are: the mean, the largest or the smallest mutual information between a
        column of one and a column of the other.
    {shared}
    tuning : BinATuning, optional
        How pairs are modelled, and when EM ends; ``presets.HARMELING_WILLIAMS_2011_BIN_A`` follows the paper. None
        stands for ``presets.BIN_A``.

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, ...
        See :class:`BinG`.

    See Also
    --------
    BinG : Decides on the shape while it goes along; takes about as long.

    References
    ----------
    S. Harmeling and C. K. I. Williams (2011). Greedy learning of binary latent trees. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 33, 1087-1097.

    Examples
    --------
    >>> from pgmpy_latent import BinA, datasets
    >>> learner = BinA(linkage="average", random_state=0).fit(datasets.coins("binary_forest", random_state=0))
    >>> learner.n_states_
    {'H1': 4, 'H2': 2, 'H3': 2}
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"linkage": one_of(*LINKAGES)}
    _default_tuning = presets.BIN_A
    PAPER = MovedPreset("presets.HARMELING_WILLIAMS_2011_BIN_A")

    def __init__(
        self,
        *,
        linkage: Literal["average", "single", "complete"] = "average",
        max_states: int | None = None,
        simplify: bool = False,
        columns: Columns = "leaves",
        n_starts: int | None = None,
        prior: float | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.BinATuning | None = None,
    ) -> None:
        self.linkage = linkage
        super().__init__(
            max_states=max_states,
            simplify=simplify,
            columns=columns,
            n_starts=n_starts,
            prior=prior,
            tol=tol,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            time_limit=time_limit,
            checkpoint=checkpoint,
            show_progress=show_progress,
            tuning=tuning,
        )

    def _order(self, information: np.ndarray, penalty: float) -> AsClustered:
        return AsClustered(merges_of(information, self.linkage))
