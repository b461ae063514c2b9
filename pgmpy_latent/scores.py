"""How good a tree is for a table: likelihood against complexity. Larger scores are better.

``LL`` is the log-likelihood of the table (natural logarithm), ``d`` the number of free parameters of the tree, and
``N`` the sum of the rows' weights: the number of rows if there are none, Kish's effective number of rows of sampling
weights (see :func:`pgmpy_latent.encode`). BIC and its relatives carry the
sign of the papers on latent trees: -2 times as much is what statistical software prints. Missing cells are summed
out. A row that is impossible under the tree makes every score minus infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Unpack, cast

import numpy as np
from scipy.special import gammaln

from pgmpy_latent.diagnostics.completion import Completed, complete, open_entropy
from pgmpy_latent.diagnostics.dimension import effective_dimension, n_parameters
from pgmpy_latent.inference.queries import check_is_tree, encode_for, log_likelihood
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import number, word_list
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey

__all__ = [
    "HeldOut",
    "Summary",
    "adjusted_bic",
    "aic",
    "bic",
    "caic",
    "cheeseman_stutz",
    "classification_entropy",
    "effective_bic",
    "effective_dimension",
    "icl",
    "log_likelihood",
    "n_parameters",
    "relative_entropy",
    "summary",
]


def _likelihood_and_weight(tree: LatentTree, X, sample_weight, survey: Survey) -> tuple[float, float]:
    """Return LL and N, without the counts that only some scores need."""
    data = encode_for(tree, X, sample_weight=sample_weight, **survey)
    return log_likelihood(tree, data), data.total_weight


def penalty_per_parameter(total_weight: float) -> float:
    """Return what each free parameter costs in a score: ``ln(N) / 2``, the penalty of BIC.

    The searches compare models by the log-likelihood minus this for every parameter.

    Examples
    --------
    >>> round(penalty_per_parameter(100.0), 4)
    2.3026
    """
    return float(np.log(total_weight)) / 2


def bic_from_parts(log_likelihood: float, n_parameters: int, total_weight: float) -> float:
    """Return the BIC of a model whose log-likelihood is known.

    Examples
    --------
    >>> round(bic_from_parts(-2.2493, 1, 4.0), 4)
    -2.9424
    """
    return float(log_likelihood - n_parameters * penalty_per_parameter(total_weight))


def _aic(total: float, d: int) -> float:
    return float(total - d)


def _caic(total: float, d: int, n: float) -> float:
    return float(total - d / 2 * (np.log(n) + 1))


def _adjusted_bic(total: float, d: int, n: float) -> float:
    return float(total - d / 2 * np.log((n + 2) / 24))


def _icl(bic_value: float, entropy: float) -> float:
    return bic_value if np.isneginf(bic_value) else bic_value - entropy  # an impossible row has no posterior


def bic(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the Bayesian information criterion, ``LL - d/2 ln N``; larger is better.

    Parameters
    ----------
    tree : LatentTree
        The model, with maximum likelihood tables.
    X : DataFrame, array or CategoricalData
        The table; missing cells are summed out.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.

    Returns
    -------
    float
        With ``LL`` the log-likelihood, ``d`` the number of free parameters and ``N`` the sum of the weights.
        Statistical software prints ``-2 LL + d ln N``, which is this times -2, and smaller is better there.

    References
    ----------
    Schwarz, G. (1978). Estimating the dimension of a model. The Annals of Statistics, 6(2), 461-464.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(bic(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]})), 4)
    -2.9425
    """
    total, n = _likelihood_and_weight(tree, X, sample_weight, survey)
    return bic_from_parts(total, n_parameters(tree), n)


def aic(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return Akaike's information criterion, ``LL - d``; larger is better.

    ``LL`` is the log-likelihood and ``d`` the number of free parameters. Arguments are those of :func:`bic`.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(aic(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]})), 4)
    -3.2493
    """
    total, _ = _likelihood_and_weight(tree, X, sample_weight, survey)
    return _aic(total, n_parameters(tree))


def caic(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the consistent AIC, ``LL - d/2 (ln N + 1)``; larger is better.

    ``LL`` is the log-likelihood, ``d`` the number of free parameters and ``N`` the sum of the weights. Arguments are
    those of :func:`bic`.

    References
    ----------
    Bozdogan, H. (1987). Model selection and Akaike's information criterion. Psychometrika, 52(3), 345-370.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(caic(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]})), 4)
    -3.4425
    """
    total, n = _likelihood_and_weight(tree, X, sample_weight, survey)
    return _caic(total, n_parameters(tree), n)


def adjusted_bic(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the sample-size adjusted BIC, ``LL - d/2 ln((N + 2) / 24)``; larger is better.

    ``LL`` is the log-likelihood, ``d`` the number of free parameters and ``N`` the sum of the weights. Below 22 rows
    the logarithm is negative and more parameters count as better: use it for larger tables. Arguments are those of
    :func:`bic`.

    References
    ----------
    Sclove, S. L. (1987). Application of model-selection criteria to some problems in multivariate analysis.
    Psychometrika, 52(3), 333-343.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(adjusted_bic(tree, pd.DataFrame({"x": ["a", "b"] * 23})), 4)
    -38.848
    """
    total, n = _likelihood_and_weight(tree, X, sample_weight, survey)
    return _adjusted_bic(total, n_parameters(tree), n)


# How sure the rows are of their hidden states


def classification_entropy(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return how unsure the rows are of their hidden states, in nats; zero is certain.

    ``E = sum_n w_n H_n`` with ``H_n = - sum_h P(h | x_n) ln P(h | x_n)``, where ``w_n`` is the weight of row ``n``,
    ``x_n`` are its filled cells and ``h`` runs over the joint states of all hidden variables.

    Missing cells are no hidden variables and are summed out, with one exception. Missing cells that are neighbours in
    the tree form a region; where it touches at least two hidden variables, their posterior does not factor along
    the tree without it, and the cells of the region are hidden variables of this row. That needs an observed variable
    in between hidden ones; a missing leaf never does it.

    Notes
    -----
    ``ln P(open | x_n) = ln P(open, x_n) - ln P(x_n)``, where ``open`` is all that row ``n`` leaves open. Its
    expectation, summed over rows, is ``LL - sum(counts * ln(tables))`` with the expected counts of EM, so that
    hidden variables need no work by row. The entropy of missing cells, given their neighbours, is subtracted.

    Parameters
    ----------
    tree : LatentTree
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.

    Returns
    -------
    float
        NaN if a row is impossible.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.8, 0.2]]])
    >>> round(classification_entropy(tree, pd.DataFrame({"x": ["a", "b", None]})), 4)  # 3 ln 2
    2.0794
    """
    return open_entropy(complete(tree, X, sample_weight, **survey))[0]


def icl(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the integrated completed likelihood criterion, ``BIC - E``; larger is better.

    ``BIC`` is :func:`bic` and ``E`` is :func:`classification_entropy`, that of the joint posterior of all hidden
    variables: models whose classes overlap lose. Without hidden variables this is the BIC. Arguments are those of
    :func:`bic`.

    References
    ----------
    Biernacki, C., Celeux, G. and Govaert, G. (2000). Assessing a mixture model for clustering with the integrated
    completed likelihood. IEEE Transactions on Pattern Analysis and Machine Intelligence, 22(7), 719-725.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]])
    >>> X = pd.DataFrame({"x": ["a", "b"]})
    >>> round(bic(tree, X), 4), round(icl(tree, X), 4)
    (-2.426, -3.4268)
    """
    done = complete(tree, X, sample_weight, **survey)
    value = bic_from_parts(done.log_likelihood, n_parameters(tree), done.total_weight)
    return _icl(value, open_entropy(done)[0])


def relative_entropy(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return how well the rows' hidden states are known, from 0 (not at all) to 1 (for certain); larger is better.

    ``1 - E / (N sum_h ln k_h)``, where ``E`` is :func:`classification_entropy`, ``N`` the sum of the weights and
    ``k_h`` the number of states of hidden variable ``h``: the entropy index of latent class analysis, for any
    number of hidden variables. If nothing is hidden, or if every hidden variable has one state, it is 1. Missing
    cells that count as hidden (see there) enter the denominator with their rows' weights. It is no criterion to
    choose a model by. Arguments are those of :func:`classification_entropy`; NaN if a row is impossible.

    References
    ----------
    Ramaswamy, V., DeSarbo, W. S., Reibstein, D. J. and Robinson, W. T. (1993). An empirical pooling approach for
    estimating marketing mix elasticities with PIMS data. Marketing Science, 12(1), 103-124.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]])
    >>> round(relative_entropy(tree, pd.DataFrame({"x": ["a", "b"]})), 4)
    0.2781
    """
    return _relative_entropy(*open_entropy(complete(tree, X, sample_weight, **survey)))


def _relative_entropy(entropy: float, largest: float) -> float:
    if np.isnan(entropy):
        return np.nan
    return max(1 - entropy / largest, 0.0) if largest > 0 else 1.0


def cheeseman_stutz(
    tree: LatentTree | LatentNetwork, X, *, sample_weight=None, prior: float = 1.0, **survey: Unpack[Survey]
) -> float:
    """Return the Cheeseman-Stutz approximation of the log marginal likelihood; larger is better.

    ``CS = LL(D | θ) - LL(D' | θ) + ln P(D')``. Here ``D`` is the table and ``θ`` are the tree's tables. ``D'`` is
    the table completed with the tree: all that a row leaves open, hidden variables and missing cells, counts with
    its posterior probability, so that ``D'`` consists of the expected counts ``N_iuv`` of node ``i`` in state ``v``
    with its parent in state ``u``. ``LL(D' | θ) = sum N_iuv ln θ_iuv``, and the marginal likelihood of complete
    data is exact::

        ln P(D') = sum_iu [ lnΓ(α_iu) - lnΓ(α_iu + N_iu) + sum_v ( lnΓ(α + N_iuv) - lnΓ(α) ) ]

    with ``α`` the parameter of the Dirichlet prior of every table entry, ``α_iu`` and ``N_iu`` the sums of ``α``
    and ``N_iuv`` over the states ``v``. Without anything hidden or missing, the score is the marginal likelihood
    itself.

    Parameters
    ----------
    tree : LatentTree
        The model. Its tables should be those that EM finds with the same ``prior``, ``θ = (α + N) / sum(α + N)``.
        The prior belongs to the tables as the tree is rooted, so that another root means another score.
    X : DataFrame, array or CategoricalData
        The table.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    prior : float
        ``α``, above zero. 1 is uniform.

    Notes
    -----
    The penalty depends on the tables, not on the structure alone: of two models with equal structure the one
    with the lower log-likelihood can have the higher score. Nothing is added for relabellings of hidden states.

    References
    ----------
    Cheeseman, P. and Stutz, J. (1995). Bayesian classification (AutoClass): theory and results. In Advances in
    Knowledge Discovery and Data Mining, 153-180.
    Chickering, D. M. and Heckerman, D. (1997). Efficient approximations for the marginal likelihood of Bayesian
    networks with hidden variables. Machine Learning, 29, 181-212.

    Examples
    --------
    Two rows of a variable with two states are seen with probability 1/2 · 1/3 under a uniform prior.

    >>> import pandas as pd
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> round(float(np.exp(cheeseman_stutz(tree, pd.DataFrame({"x": ["a", "b"]})))), 4)
    0.1667
    """
    return _cheeseman_stutz(complete(tree, X, sample_weight, **survey), prior)


def _cheeseman_stutz(done: Completed, prior: float) -> float:
    if not (isinstance(prior, Real) and 0 < float(prior) < np.inf):
        raise ValueError(f"prior is {prior!r}; give a number above zero, such as 1 for a uniform prior")
    layout = done.engine.layout
    row_totals = np.add.reduceat(done.counts, layout.row_starts)
    row_priors = prior * layout.row_lengths
    marginal = (gammaln(row_priors) - gammaln(row_priors + row_totals)).sum()
    marginal += (gammaln(prior + done.counts) - gammaln(prior)).sum()
    return float(done.log_likelihood - done.completed_log_likelihood + marginal)


def effective_bic(tree: LatentTree, X, *, sample_weight=None, random_state=0, **survey: Unpack[Survey]) -> float:
    """Return the BIC with the effective dimension, ``LL - d_e/2 ln N``; larger is better.

    ``LL`` is the log-likelihood, ``d_e`` is :func:`effective_dimension` and ``N`` the sum of the weights. With
    ``N`` above 1 it is at least :func:`bic`. Arguments are those of :func:`bic`; ``random_state`` is for the
    effective dimension.

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]])
    >>> round(effective_bic(tree, pd.DataFrame({"x": ["a", "b"]})), 4)
    -1.7329
    """
    total, n = _likelihood_and_weight(tree, X, sample_weight, survey)
    return bic_from_parts(total, effective_dimension(tree, random_state=random_state), n)


# What searches maximise


@dataclass(frozen=True)
class Criterion:
    """What a search maximises, in words.

    Attributes
    ----------
    title, sentence : str
        What it is called beside a number, and within a sentence.
    """

    title: str
    sentence: str


@dataclass(frozen=True)
class TreeScorer(Criterion):
    """A score that searches for trees can maximise.

    Attributes
    ----------
    make : callable
        Table -> function of a tree and its log-likelihood, which returns the score; larger is better.
    """

    make: Callable[[CategoricalData], Callable[[LatentTree, float], float]]


#: ``scoring_method`` of searches that compare candidates by gain less penalty -> total weight -> cost of a parameter.
PENALTIES: dict[str, Callable[[float], float]] = {
    "bic": lambda total_weight: penalty_per_parameter(total_weight),
    "aic": lambda total_weight: 1.0,
}


def _bic_of_trees(data: CategoricalData) -> Callable[[LatentTree, float], float]:
    penalty = penalty_per_parameter(data.total_weight)
    return lambda tree, log_likelihood: log_likelihood - penalty * tree.n_parameters


#: ``scoring_method`` of the searches for trees -> what it stands for.
SCORERS = {
    "bic": TreeScorer("BIC", "the Bayesian information criterion (BIC)", _bic_of_trees),
    "aic": TreeScorer(
        "AIC",
        "Akaike's information criterion (AIC)",
        lambda data: lambda tree, log_likelihood: _aic(log_likelihood, tree.n_parameters),
    ),
    "cs": TreeScorer(
        "the Cheeseman–Stutz score",
        "the Cheeseman–Stutz approximation of the marginal likelihood",
        lambda data: lambda tree, log_likelihood: cheeseman_stutz(tree, data),
    ),
}


#: Number of folds by default.
N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """How a search finds the model that predicts best: a ``scoring_method`` of EAST and SplitMerge.

    BIC's best model is not the best predictor. What is validated is the cost of a parameter: for every fold, the search
    learns from the rows of the other folds with BIC's penalty, and goes on from there with smaller and smaller shares
    of it. After each share the rows of the fold are scored with :func:`~pgmpy_latent.smoothed` tables. The share with
    the highest sum over all folds is then used for all rows, in the same way. ``"heldout"`` stands for ``HeldOut()``.

    Attributes
    ----------
    n_folds : int
        Number of folds; every row is held out once.
    validation : DataFrame, array or CategoricalData, optional
        Rows to validate with instead of folds. Those of :func:`~pgmpy_latent.encode` may have weights. All other rows
        are learned from, so that nothing is learned twice.

    Examples
    --------
    >>> HeldOut(n_folds=5).n_folds
    5
    >>> HeldOut(n_folds=1)
    Traceback (most recent call last):
    ...
    ValueError: n_folds is 1; give a whole number of at least 2
    """

    n_folds: int = N_FOLDS
    validation: Any = None

    def __post_init__(self) -> None:
        number(2, whole=True)("n_folds", self.n_folds)
        if isinstance(self.validation, (str, int, float)):
            raise TypeError(
                f"validation is {self.validation!r}; give a table with the columns of the one to learn from"
            )

    def __repr__(self) -> str:
        if self.validation is None:
            return "HeldOut()" if self.n_folds == N_FOLDS else f"HeldOut(n_folds={self.n_folds})"
        return f"HeldOut(validation={type(self.validation).__name__})"


#: What a search with rows held out maximises, and its name as a ``scoring_method``.
HELD_OUT = Criterion("log-likelihood of held-out rows", "the log-likelihood of rows that were held out")
HELD_OUT_NAME = "heldout"


def held_out_of(scoring_method: object) -> HeldOut | None:
    """Return how a search validates; None if it maximises a score of the rows it learns from.

    Examples
    --------
    >>> held_out_of("heldout"), held_out_of("bic")
    (HeldOut(), None)
    """
    if isinstance(scoring_method, HeldOut):
        return scoring_method
    return HeldOut() if isinstance(scoring_method, str) and scoring_method == HELD_OUT_NAME else None


def criterion_of(scoring_method: object, criteria: Mapping[str, Criterion]) -> Criterion | None:
    """Return what a search maximises, in words; None if that has no name, such as a function of the user."""
    if held_out_of(scoring_method) is not None:
        return HELD_OUT
    return criteria.get(scoring_method) if isinstance(scoring_method, str) else None


def check_scoring_method(name: str, value: object) -> None:
    """Raise if a setting is neither the name of a score in ``SCORERS`` nor a function.

    Examples
    --------
    >>> check_scoring_method("scoring_method", "best")
    Traceback (most recent call last):
    ...
    ValueError: scoring_method is 'best'; give 'bic', 'aic', 'cs' or a function of tree and data
    """
    if not (callable(value) or (isinstance(value, str) and value in SCORERS)):
        known = word_list([*map(repr, SCORERS), "a function of tree and data"], "or")
        raise ValueError(f"{name} is {value!r}; give {known}")


def check_validated_method(name: str, value: object) -> None:
    """Raise if a setting is not a score of a search that can validate: those of :func:`check_scoring_method` and more.

    Examples
    --------
    >>> check_validated_method("scoring_method", "best")
    Traceback (most recent call last):
    ...
    ValueError: scoring_method is 'best'; give 'bic', 'aic', 'cs', 'heldout', HeldOut(...) or a function of tree and ...
    """
    if held_out_of(value) is None and not (callable(value) or (isinstance(value, str) and value in SCORERS)):
        known = word_list([*map(repr, (*SCORERS, HELD_OUT_NAME)), "HeldOut(...)", "a function of tree and data"], "or")
        raise ValueError(f"{name} is {value!r}; give {known}")


def check_penalised_method(name: str, value: object) -> None:
    """Raise if a setting is not a score that takes the same from the log-likelihood for every parameter.

    Examples
    --------
    >>> check_penalised_method("scoring_method", "cs")
    Traceback (most recent call last):
    ...
    ValueError: scoring_method is 'cs'; give 'bic', 'aic', 'heldout' or HeldOut(...), as candidates are compared by ...
    """
    if held_out_of(value) is None and not (isinstance(value, str) and value in PENALTIES):
        known = word_list([*map(repr, (*PENALTIES, HELD_OUT_NAME)), "HeldOut(...)"], "or")
        raise ValueError(
            f"{name} is {value!r}; give {known}, as candidates are compared by what they gain where the tree changes, "
            "less a penalty for every parameter"
        )


def tree_scorer(
    scoring_method: str | Callable | HeldOut, data: CategoricalData
) -> Callable[[LatentTree, float], float]:
    """Return the score that a search for trees maximises, as a function of a tree and its log-likelihood.

    Parameters
    ----------
    scoring_method : str or callable
        A name in ``SCORERS``, or a function of tree and data.
    data : CategoricalData
        The table.
    """
    check_scoring_method("scoring_method", scoring_method)
    if isinstance(scoring_method, str):
        known = SCORERS[scoring_method].make(data)
    else:
        function = cast("Callable", scoring_method)

        def known(tree: LatentTree, log_likelihood: float) -> float:
            return float(function(tree, data))

    def score(tree: LatentTree, log_likelihood: float) -> float:
        value = known(tree, log_likelihood)
        if np.isnan(value):
            raise ValueError("scoring_method returned NaN; it must return a number, larger for better models")
        return value

    return score


# All at once


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """What scores are computed from: a table completed by a model, and what follows from it.

    Attributes
    ----------
    done : Completed
        One propagation.
    prior : float
        Dirichlet parameter of :func:`cheeseman_stutz`.
    effective : bool
        Whether to find the :func:`effective_dimension`.
    random_state : int or Generator
        For the effective dimension.
    """

    done: Completed
    prior: float = 1.0
    effective: bool = False
    random_state: Any = 0

    @property
    def total(self) -> float:
        """``LL``, the log-likelihood."""
        return self.done.log_likelihood

    @property
    def d(self) -> int:
        """The number of free parameters."""
        return self.done.tree.n_parameters

    @property
    def n(self) -> float:
        """``N``, the sum of the rows' weights."""
        return self.done.total_weight

    @cached_property
    def dimension(self) -> int | None:
        """The effective dimension; None if not asked for."""
        if not self.effective:
            return None
        tree = self.done.tree
        check_is_tree(tree)
        assert isinstance(tree, LatentTree)  # for type checkers
        return effective_dimension(tree, random_state=self.random_state)

    @cached_property
    def entropy(self) -> tuple[float, float]:
        """The entropy of the hidden states, and the largest that it could be; of trees."""
        return open_entropy(self.done)


@dataclass(frozen=True)
class Score:
    """A criterion to compare models by: how it is computed, what it is called, and where it is shown.

    Attributes
    ----------
    title, formula : str
        Its name and its definition, as reports print them.
    value : callable
        :class:`ScoreParts` -> the score, larger for better models; None if it was not asked for.
    for_networks : bool
        Whether it is defined for networks that are no trees, too.
    times_minus_two : bool
        Whether statistical software prints -2 times as much.
    compared : bool
        Whether it is a column of :func:`pgmpy_latent.compare_classes`.
    in_terminal : bool
        Whether ``pgmpy-latent compare`` prints this column.
    drawn : int or None
        Its place among the curves of :func:`pgmpy_latent.plotting.plot_comparison`; None is not drawn.
    """

    title: str
    formula: str
    value: Callable[[ScoreParts], float | None]
    for_networks: bool = False
    times_minus_two: bool = True
    compared: bool = True
    in_terminal: bool = False
    drawn: int | None = None


#: The scores that tables, reports and pictures show, in their order. A new score is an entry here, and a field of
#: :class:`Summary`.
SCORES = {
    "bic": Score(
        "BIC",
        "LL − d/2 · ln N",
        lambda parts: bic_from_parts(parts.total, parts.d, parts.n),
        for_networks=True,
        in_terminal=True,
        drawn=0,
    ),
    "aic": Score(
        "AIC", "LL − d", lambda parts: _aic(parts.total, parts.d), for_networks=True, in_terminal=True, drawn=3
    ),
    "caic": Score(
        "CAIC",
        "LL − d/2 · (ln N + 1)",
        lambda parts: _caic(parts.total, parts.d, parts.n),
        for_networks=True,
        drawn=2,
    ),
    "adjusted_bic": Score(
        "adjusted BIC",
        "LL − d/2 · ln((N + 2)/24)",
        lambda parts: _adjusted_bic(parts.total, parts.d, parts.n),
        for_networks=True,
        drawn=1,
    ),
    "icl": Score(
        "ICL",
        "BIC minus the entropy of the hidden states",
        lambda parts: _icl(bic_from_parts(parts.total, parts.d, parts.n), parts.entropy[0]),
        in_terminal=True,
        drawn=4,
    ),
    "effective_bic": Score(
        "effective BIC",
        "BIC with the effective number of parameters",
        lambda parts: None if parts.dimension is None else bic_from_parts(parts.total, parts.dimension, parts.n),
        compared=False,
    ),
    "cheeseman_stutz": Score(
        "Cheeseman–Stutz",
        "approximates the log marginal likelihood",
        lambda parts: _cheeseman_stutz(parts.done, parts.prior),
        for_networks=True,
        times_minus_two=False,
    ),
}


def compared_scores() -> list[str]:
    """Return the scores that are columns of a comparison.

    Examples
    --------
    >>> compared_scores()[:2]
    ['bic', 'aic']
    """
    return [name for name, score in SCORES.items() if score.compared]


def drawn_scores() -> list[str]:
    """Return the scores that are drawn, in the order of their curves.

    Examples
    --------
    >>> drawn_scores()[:2]
    ['bic', 'adjusted_bic']
    """
    places = {name: score.drawn for name, score in SCORES.items() if score.drawn is not None}
    return sorted(places, key=lambda name: places[name])


@dataclass(frozen=True)
class Summary:
    """All scores of a tree on a table; see the functions of the same names.

    Attributes
    ----------
    total_weight : float
        ``N``, the sum of the rows' weights.
    n_parameters, effective_dimension : int
        Number of free parameters, and how many of them the data can tell apart. The second is None if not asked for.
    log_likelihood, bic, aic, caic, adjusted_bic, icl, cheeseman_stutz : float
        Larger is better.
    effective_bic : float
        BIC with the effective dimension; None if that was not asked for.
    classification_entropy, relative_entropy : float
        How unsure the rows are of their hidden states in nats, and how sure from 0 to 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from dataclasses import asdict
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> asdict(summary(tree, pd.DataFrame({"x": ["a", "b"]})))["n_parameters"]
    1
    """

    total_weight: float
    n_parameters: int
    effective_dimension: int | None
    log_likelihood: float
    bic: float
    effective_bic: float | None
    aic: float
    caic: float
    adjusted_bic: float
    icl: float
    cheeseman_stutz: float
    classification_entropy: float
    relative_entropy: float


def summary(
    tree: LatentTree,
    X,
    *,
    sample_weight=None,
    prior: float = 1.0,
    effective: bool = True,
    random_state=0,
    **survey: Unpack[Survey],
) -> Summary:
    """Return all scores at once, from a single propagation.

    Parameters
    ----------
    tree : LatentTree
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    prior : float
        Dirichlet parameter of :func:`cheeseman_stutz`.
    effective : bool
        Whether to find the :func:`effective_dimension`, which takes seconds from some hundred parameters on.
    random_state : int or Generator
        For the effective dimension.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import pandas as pd
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> scores = summary(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]}))
    >>> round(scores.bic, 4), round(scores.aic, 4), scores.relative_entropy
    (-2.9425, -3.2493, 1.0)
    """
    parts = ScoreParts(complete(tree, X, sample_weight, **survey), prior, effective, random_state)
    values: dict[str, Any] = {name: score.value(parts) for name, score in SCORES.items()}
    return Summary(
        total_weight=parts.n,
        n_parameters=parts.d,
        effective_dimension=parts.dimension,
        log_likelihood=parts.total,
        classification_entropy=parts.entropy[0],
        relative_entropy=_relative_entropy(*parts.entropy),
        **values,
    )


def network_summary(network: LatentNetwork, X) -> dict[str, float]:
    """Return all scores that are defined for networks by name, from a single propagation; see :func:`summary`.

    Examples
    --------
    >>> import pandas as pd
    >>> network = LatentNetwork(["x"], [["a", "b"]], [()], [False], [[[0.25, 0.75]]])
    >>> list(network_summary(network, pd.DataFrame({"x": ["a", "b"]})))[:4]
    ['total_weight', 'n_parameters', 'log_likelihood', 'bic']
    """
    parts = ScoreParts(complete(network, X, None))
    values = {name: score.value(parts) for name, score in SCORES.items() if score.for_networks}
    known = {name: value for name, value in values.items() if value is not None}
    return {"total_weight": parts.n, "n_parameters": parts.d, "log_likelihood": parts.total, **known}
