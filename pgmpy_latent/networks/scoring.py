"""What learners of networks maximise: scores of families, from the counts of their tables, and of fitted networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaln, xlogy

from pgmpy_latent import scores
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.runtime.settings import one_of
from pgmpy_latent.tables.encode import CategoricalData

#: Counts of a family and the sum of all weights -> score.
FamilyScore = Callable[[np.ndarray, float], float]


def bic_score(counts: np.ndarray, total: float) -> float:
    """Return the BIC of a family: the log-likelihood of its best table, minus the penalty of its parameters.

    Parameters
    ----------
    counts : array, shape (combinations of the parents' states, states)
        The counts of the family.
    total : float
        Sum of the weights of all rows.

    Examples
    --------
    >>> round(bic_score(np.array([[3.0, 1.0], [0.0, 4.0]]), 8.0), 4)
    -4.3288
    """
    n_rows, n_states = counts.shape
    sums = counts.sum(axis=1)
    return scores.bic_from_parts(xlogy(counts, counts).sum() - xlogy(sums, sums).sum(), n_rows * (n_states - 1), total)


def bde_score(counts: np.ndarray, total: float, prior: float) -> float:
    """Return the log marginal likelihood of a family with the same prior count for every entry of the table.

    Examples
    --------
    >>> round(bde_score(np.array([[1.0, 1.0]]), 2.0, 1.0), 4)
    -1.7918
    """
    row = prior * counts.shape[1]
    rows = gammaln(row) - gammaln(row + counts.sum(axis=1))
    return float(rows.sum() + (gammaln(prior + counts) - gammaln(prior)).sum())


@dataclass(frozen=True)
class NetworkScorer(scores.Criterion):
    """A score that searches for networks can maximise.

    Attributes
    ----------
    family : callable
        Pseudo-count -> function of a family's counts and the sum of all weights; the score of complete tables is the
        sum over families.
    network : callable
        Network, table, log-likelihood and pseudo-count -> the score of a fitted network; larger is better.
    pseudo_count : float
        Pseudo-count of every table entry that goes with it.
    needs_prior : bool
        Whether it is not defined with a pseudo-count of 0.
    """

    family: Callable[[float], FamilyScore]
    network: Callable[[LatentNetwork, CategoricalData, float, float], float]
    pseudo_count: float = 0.0
    needs_prior: bool = False


#: ``scoring_method`` of the learners of networks -> what it stands for.
SCORERS = {
    "bde": NetworkScorer(
        "the marginal likelihood",
        "the marginal likelihood with a Dirichlet prior (BDe), where something is hidden by Cheeseman–Stutz",
        lambda prior: partial(bde_score, prior=prior),
        lambda network, data, log_likelihood, prior: scores.cheeseman_stutz(network, data, prior=prior),
        pseudo_count=0.5,
        needs_prior=True,
    ),
    "bic": NetworkScorer(
        scores.SCORERS["bic"].title,
        scores.SCORERS["bic"].sentence,
        lambda prior: bic_score,
        lambda network, data, log_likelihood, prior: scores.bic_from_parts(
            log_likelihood, network.n_parameters, data.total_weight
        ),
    ),
}


def check_scoring_method(name: str, value: object) -> None:
    """Raise if a setting is not the name of a score in ``SCORERS``.

    Examples
    --------
    >>> check_scoring_method("scoring_method", "best")
    Traceback (most recent call last):
    ...
    ValueError: scoring_method is 'best'; give 'bde' or 'bic'
    """
    one_of(*sorted(SCORERS))(name, value)


def family_score(scoring_method: str, prior: float) -> FamilyScore:
    """Return the score of a family's counts, given the sum of all weights.

    Examples
    --------
    >>> round(family_score("bde", 1.0)(np.array([[1.0, 1.0]]), 2.0), 4)
    -1.7918
    """
    check_scoring_method("scoring_method", scoring_method)
    return SCORERS[scoring_method].family(prior)


def network_score(
    network: LatentNetwork, data: CategoricalData, log_likelihood: float, scoring_method: str, prior: float
) -> float:
    """Return the score of a fitted network: with "bde" the Cheeseman-Stutz approximation, with "bic" the BIC."""
    check_scoring_method("scoring_method", scoring_method)
    return SCORERS[scoring_method].network(network, data, log_likelihood, prior)
