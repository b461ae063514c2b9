"""What searches maximise: every ``scoring_method`` of the searches for trees, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import word_list
from pgmpy_latent.scores.held_out import HELD_OUT_NAME, HeldOut, held_out_of
from pgmpy_latent.scores.information import aic_from_parts, penalty_per_parameter
from pgmpy_latent.scores.marginal_likelihood import cheeseman_stutz
from pgmpy_latent.tables.encode import CategoricalData


@dataclass(frozen=True)
class Criterion:
    """What a search maximises, in words.

    Attributes
    ----------
    title, sentence : str
        What it is called beside a number, and within a sentence.
    prior_words : str
        Which prior it has, with ``{prior:g}`` for its number; empty if it has none.
    """

    title: str
    sentence: str
    prior_words: str = field(default="", kw_only=True)


#: ``prior_words`` of scores with the same prior for all entries.
PRIOR_OF_ENTRIES = "with {prior:g} as the prior of every table entry"


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
        lambda data: lambda tree, log_likelihood: aic_from_parts(log_likelihood, tree.n_parameters),
    ),
    "cs": TreeScorer(
        "the Cheeseman–Stutz score",
        "the Cheeseman–Stutz approximation of the marginal likelihood",
        lambda data: lambda tree, log_likelihood: cheeseman_stutz(tree, data),
        prior_words=PRIOR_OF_ENTRIES,
    ),
}


#: What a search with rows held out maximises.
HELD_OUT = Criterion("log-likelihood of held-out rows", "the log-likelihood of rows that were held out")


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
