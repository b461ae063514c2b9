"""All scores at once, from a single propagation, and where each of them is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

from pgmpy_latent.diagnostics.completion import Completed, complete, open_entropy
from pgmpy_latent.diagnostics.dimension import effective_dimension
from pgmpy_latent.inference.queries import check_is_tree
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.scores.entropy import icl_from_parts, relative_entropy_from_parts
from pgmpy_latent.scores.information import (
    adjusted_bic_from_parts,
    aic_from_parts,
    bic_from_parts,
    caic_from_parts,
)
from pgmpy_latent.scores.marginal_likelihood import cheeseman_stutz_from_parts
from pgmpy_latent.tables.survey import Survey


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
    n_parameters : int, optional
        Number of free parameters, if constraints left fewer than the tables have.
    """

    done: Completed
    prior: float = 1.0
    effective: bool = False
    random_state: Any = 0
    n_parameters: int | None = None

    @property
    def total(self) -> float:
        """``LL``, the log-likelihood."""
        return self.done.log_likelihood

    @property
    def d(self) -> int:
        """The number of free parameters."""
        return self.done.tree.n_parameters if self.n_parameters is None else self.n_parameters

    @property
    def n(self) -> float:
        """``N``, the sum of the rows' weights."""
        return self.done.total_weight

    @cached_property
    def dimension(self) -> int | None:
        """The effective dimension; None if not asked for."""
        if not self.effective or self.done.engine.layout.numeric is not None:
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
        "AIC",
        "LL − d",
        lambda parts: aic_from_parts(parts.total, parts.d),
        for_networks=True,
        in_terminal=True,
        drawn=3,
    ),
    "caic": Score(
        "CAIC",
        "LL − d/2 · (ln N + 1)",
        lambda parts: caic_from_parts(parts.total, parts.d, parts.n),
        for_networks=True,
        drawn=2,
    ),
    "adjusted_bic": Score(
        "adjusted BIC",
        "LL − d/2 · ln((N + 2)/24)",
        lambda parts: adjusted_bic_from_parts(parts.total, parts.d, parts.n),
        for_networks=True,
        drawn=1,
    ),
    "icl": Score(
        "ICL",
        "BIC minus the entropy of the hidden states",
        lambda parts: icl_from_parts(bic_from_parts(parts.total, parts.d, parts.n), parts.entropy[0]),
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
        "approximates the log marginal likelihood, with 1 as the prior of every entry",
        lambda parts: cheeseman_stutz_from_parts(parts.done, parts.prior),
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
    >>> from pgmpy_latent import LatentTree
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
    n_parameters: int | None = None,
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
    n_parameters : int, optional
        Number of free parameters, if constraints left fewer than the tables have, as ``TreeEM(...).n_parameters_``.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> scores = summary(tree, pd.DataFrame({"x": ["a", "b", "b", "b"]}))
    >>> round(scores.bic, 4), round(scores.aic, 4), scores.relative_entropy
    (-2.9425, -3.2493, 1.0)
    """
    parts = ScoreParts(complete(tree, X, sample_weight, **survey), prior, effective, random_state, n_parameters)
    values: dict[str, Any] = {name: score.value(parts) for name, score in SCORES.items()}
    return Summary(
        total_weight=parts.n,
        n_parameters=parts.d,
        effective_dimension=parts.dimension,
        log_likelihood=parts.total,
        classification_entropy=parts.entropy[0],
        relative_entropy=relative_entropy_from_parts(*parts.entropy),
        **values,
    )


def network_summary(network: LatentNetwork | TreeMixture, X) -> dict[str, float]:
    """Return all scores that are defined for networks by name, from a single propagation; see :func:`summary`.

    Those of a mixture of trees are the same ones.

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
