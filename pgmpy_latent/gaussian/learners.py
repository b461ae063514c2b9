"""Learners of Gaussian trees: baselines, binary forests, and a search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from pgmpy_latent.gaussian.binary_forests import closest_first, clustered
from pgmpy_latent.gaussian.edits import OPERATORS
from pgmpy_latent.gaussian.first_forests import chow_liu, independent, joined_neighbours, one_factor
from pgmpy_latent.gaussian.forest import Forest
from pgmpy_latent.gaussian.learner import Columns, GaussianLearner
from pgmpy_latent.learners.forests.bin_a import LINKAGES
from pgmpy_latent.runtime.settings import Constraint, RandomState, flag, one_of

#: Tables with at most so many columns are searched from several beginnings.
FEW_COLUMNS = 20


class GaussianBaseline(GaussianLearner):
    """Learn one of the models of numbers that a Gaussian latent tree must beat to be worth its hidden variables.

    - ``"independence"``: no edges.
    - ``"chow_liu"``: the tree over the columns themselves that has the largest likelihood, a spanning tree of largest
      mutual information, ``-ln(1 - r**2) / 2``.
    - ``"one_factor"``: one hidden variable above all columns; of fewer than three columns, none is needed.

    Parameters
    ----------
    model : {"chow_liu", "independence", "one_factor"}
        Which one.
    {shared}

    Attributes
    ----------
    tree_, model_, bic_, ...
        See :class:`GaussianEAST`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import GaussianBaseline
    >>> table = pd.DataFrame({"x": [0.5, 1.0, 2.5, 3.0], "y": [1.0, 1.5, 1.0, 4.0]})
    >>> learner = GaussianBaseline("independence").fit(table)
    >>> learner.n_parameters_, round(learner.log_likelihood_, 3)
    (4, -12.345)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"model": one_of("independence", "chow_liu", "one_factor")}

    def __init__(
        self,
        model: Literal["chow_liu", "independence", "one_factor"] = "chow_liu",
        *,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
    ) -> None:
        self.model = model
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    def _begin(self, correlations: np.ndarray, weight: float, cost: float) -> list[Forest]:
        if self.model == "chow_liu":
            return [chow_liu(correlations)]
        return [one_factor(len(correlations)) if self.model == "one_factor" else independent(len(correlations))]

    def _operators(self) -> Sequence[str]:
        return ()


class _GaussianForest(GaussianLearner):
    """Base of the two learners of binary forests."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "simplify": flag,
        "columns": one_of("leaves", "anywhere"),
    }
    simplify: bool

    def _operators(self) -> Sequence[str]:
        return ("contract", "cut") if self.simplify else ()


class GaussianBinG(_GaussianForest):
    """Learn a binary forest over columns of numbers, quickly: the two most informative roots first.

    All columns begin as roots. The two roots with the highest mutual information, ``-ln(1 - r**2) / 2`` of their
    scores, get a hidden parent, a factor model of the two, which takes their place; a score is the best prediction of a
    root from the columns below it. This ends when an edge would cost more than it gains. Then EM fits the whole
    forest.

    The factor model of a pair is not identified: one correlation is known, and two loadings are asked for. Both
    loadings are taken to be equal here, and the pair counts as one parameter. In the end, the last hidden variable,
    which has two neighbours only, is left out: the two are linked by an edge.

    Parameters
    ----------
    simplify : bool
        Whether to contract and cut edges, as long as the score rises. The trees are then no longer binary.
    columns : {"leaves", "anywhere"}
        Whether contracted edges may make columns inner nodes.
    {shared}

    Attributes
    ----------
    tree_, model_, bic_, ...
        See :class:`GaussianEAST`.

    References
    ----------
    S. Harmeling and C. K. I. Williams (2011). Greedy learning of binary latent trees. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 33, 1087-1097, section 2.5.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import GaussianBinG
    >>> rng = np.random.default_rng(0)
    >>> hidden = np.repeat(rng.normal(size=(300, 2)) @ [[1, 0.5], [0, 1]], 3, axis=1)
    >>> table = pd.DataFrame(hidden + 0.6 * rng.normal(size=(300, 6)), columns=list("abcdef"))
    >>> learner = GaussianBinG(simplify=True).fit(table)
    >>> [sorted(learner.tree_.neighbours(name)) for name in learner.latents_]
    [['H2', 'a', 'b', 'c'], ['H1', 'd', 'e', 'f']]
    """

    def __init__(
        self,
        *,
        simplify: bool = False,
        columns: Columns = "leaves",
        scoring_method: Literal["bic", "ebic", "aic"] = "bic",
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
    ) -> None:
        self.simplify = simplify
        self.columns = columns
        self.scoring_method = scoring_method
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    def _begin(self, correlations: np.ndarray, weight: float, cost: float) -> list[Forest]:
        return [closest_first(correlations, weight, cost)]


class GaussianBinA(_GaussianForest):
    """Learn a binary forest over columns of numbers whose shape comes from clustering the columns.

    Agglomerative clustering by mutual information gives a binary tree. Bottom-up, every inner node becomes a hidden
    variable, as in :class:`GaussianBinG`; where an edge would cost more than it gains, the tree falls apart.

    Parameters
    ----------
    linkage : {"average", "single", "complete"}
        How similar two clusters of columns are: the mean, the largest or the smallest mutual information.
    simplify : bool
        Whether to contract and cut edges, as long as the score rises.
    columns : {"leaves", "anywhere"}
        Whether contracted edges may make columns inner nodes.
    {shared}

    Attributes
    ----------
    tree_, model_, bic_, ...
        See :class:`GaussianEAST`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import GaussianBinA
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(300, 1)) + 0.6 * rng.normal(size=(300, 4)), columns=list("abcd"))
    >>> GaussianBinA(simplify=True).fit(table).latents_
    ['H1']
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"linkage": one_of(*LINKAGES)}

    def __init__(
        self,
        *,
        linkage: Literal["average", "single", "complete"] = "average",
        simplify: bool = False,
        columns: Columns = "leaves",
        scoring_method: Literal["bic", "ebic", "aic"] = "bic",
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
    ) -> None:
        self.linkage = linkage
        self.simplify = simplify
        self.columns = columns
        self.scoring_method = scoring_method
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    def _begin(self, correlations: np.ndarray, weight: float, cost: float) -> list[Forest]:
        return [clustered(correlations, weight, cost, self.linkage)]


class GaussianEAST(GaussianLearner):
    """Search for the Gaussian latent tree with the highest BIC, in the spirit of :class:`EAST`.

    The search begins with the tree of neighbour joining, and of tables with few columns also with the Chow-Liu tree and
    with one factor. It tries to contract an edge, which takes a hidden variable away; to give some neighbours of a node
    a hidden variable of their own; to move a node, with what is behind it, along an edge; and to cut an edge. What a
    move gains is computed around the edges that change, by EM on a few scores in place of all columns. Moves that do
    not share nodes are made together; then EM fits the whole forest, and this goes on as long as the score rises.

    Parameters
    ----------
    {shared}

    Attributes
    ----------
    tree_ : GaussianTree
        The learned model.
    model_, causal_graph_ : pgmpy.models.LinearGaussianBayesianNetwork
        The same as a pgmpy network, one object under two names, with the hidden variables as its ``latents``.
    adjacency_matrix_ : DataFrame
        1 where the row's variable is the parent of the column's.
    latents_ : list
        Names of the hidden variables: H1, H2 and so on.
    log_likelihood_, bic_ : float
        Natural logarithms, in the units of the columns; larger is better.
    n_parameters_ : int
        Two per column and one per edge.
    history_ : DataFrame
        A row per accepted step.
    stopped_ : {None, "time_limit", "interrupted"}
        What ended the search before its time.
    remaining_gain_ : float
        Log-likelihood that the last EM left to gain.
    weight_kind_, n_rows_, total_weight_, n_features_in_, feature_names_in_
        As for all learners.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import GaussianEAST
    >>> rng = np.random.default_rng(0)
    >>> hidden = np.repeat(rng.normal(size=(300, 2)) @ [[1, 0.5], [0, 1]], 3, axis=1)
    >>> table = pd.DataFrame(hidden + 0.6 * rng.normal(size=(300, 6)), columns=list("abcdef"))
    >>> learner = GaussianEAST(random_state=0).fit(table)
    >>> [sorted(learner.tree_.neighbours(name)) for name in learner.latents_]
    [['H2', 'a', 'b', 'c'], ['H1', 'd', 'e', 'f']]
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"columns": one_of("anywhere", "leaves")}

    def __init__(
        self,
        *,
        columns: Columns = "anywhere",
        scoring_method: Literal["bic", "ebic", "aic"] = "bic",
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
    ) -> None:
        self.columns = columns
        self.scoring_method = scoring_method
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    def _begin(self, correlations: np.ndarray, weight: float, cost: float) -> list[Forest]:
        n_columns = len(correlations)
        forests = [joined_neighbours(correlations, weight)]
        if n_columns <= FEW_COLUMNS:
            forests += [chow_liu(correlations)] * (self.columns == "anywhere") + [one_factor(n_columns)]
        return forests

    def _operators(self) -> Sequence[str]:
        return tuple(OPERATORS)
