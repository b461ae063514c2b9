"""What learners of networks maximise: scores of families, from the counts of their tables, and of fitted networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaln, xlogy

from pgmpy_latent import scores
from pgmpy_latent.diagnostics.completion import completed
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import engine_for
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


def bdeu_score(counts: np.ndarray, total: float, prior: float) -> float:
    """Return the log marginal likelihood of a family whose entries share a prior count of ``prior`` among them.

    Networks that state the same independences have the same sum over families: the score does not depend on the
    directions of edges that the data cannot tell.

    Examples
    --------
    >>> round(bdeu_score(np.array([[1.0, 1.0]]), 2.0, 2.0), 4)
    -1.7918
    """
    return bde_score(counts, total, prior / counts.size)


def _same_everywhere(prior: float, layout: Layout) -> float | np.ndarray:
    """Return the pseudo-count of every entry of every table."""
    return prior


def _shared_by_table(prior: float, layout: Layout) -> np.ndarray:
    """Return pseudo-counts that add up to ``prior`` in every table."""
    return prior / np.repeat(layout.sizes, layout.sizes)


@dataclass(frozen=True)
class NetworkScorer(scores.Criterion):
    """A score that searches for networks can maximise.

    Attributes
    ----------
    family : callable
        Prior -> function of a family's counts and the sum of all weights; the score of complete tables is the
        sum over families.
    network : callable
        Network, table, log-likelihood, prior and a function that returns an engine for the two -> the score of a fitted
        network; larger is better.
    pseudo_count : float
        The prior that goes with it: a pseudo-count of every table entry, or what ``pseudo_counts`` takes.
    needs_prior : bool
        Whether it is not defined with a prior of 0.
    pseudo_counts : callable
        Prior and layout of tables -> the pseudo-counts of EM.
    """

    family: Callable[[float], FamilyScore]
    network: Callable[[LatentNetwork, CategoricalData, float, float, Callable[[], RowEngine]], float]
    pseudo_count: float = 0.0
    needs_prior: bool = False
    pseudo_counts: Callable[[float, Layout], float | np.ndarray] = _same_everywhere


def _marginal_likelihood(
    pseudo_counts: Callable[[float, Layout], float | np.ndarray],
    network: LatentNetwork,
    data: CategoricalData,
    log_likelihood: float,
    prior: float,
    engine: Callable[[], RowEngine],
) -> float:
    """Return the Cheeseman-Stutz approximation; without anything hidden or missing, the marginal likelihood."""
    own = engine()
    return scores.cheeseman_stutz_from_parts(completed(network, data, own), pseudo_counts(prior, own.layout))


#: ``scoring_method`` of the learners of networks -> what it stands for.
SCORERS = {
    "bde": NetworkScorer(
        "the marginal likelihood",
        "the marginal likelihood with a Dirichlet prior (BDe), where something is hidden by Cheeseman–Stutz",
        lambda prior: partial(bde_score, prior=prior),
        partial(_marginal_likelihood, _same_everywhere),
        pseudo_count=0.5,
        needs_prior=True,
        prior_words=scores.PRIOR_OF_ENTRIES,
    ),
    "bdeu": NetworkScorer(
        "the marginal likelihood with an equivalent sample size",
        "the marginal likelihood with an equivalent sample size (BDeu), where something is hidden by Cheeseman–Stutz",
        lambda prior: partial(bdeu_score, prior=prior),
        partial(_marginal_likelihood, _shared_by_table),
        pseudo_count=10.0,
        needs_prior=True,
        pseudo_counts=_shared_by_table,
        prior_words="with an equivalent sample size of {prior:g} in every table as its prior",
    ),
    "bic": NetworkScorer(
        scores.SCORERS["bic"].title,
        scores.SCORERS["bic"].sentence,
        lambda prior: bic_score,
        lambda network, data, log_likelihood, prior, engine: scores.bic_from_parts(
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
    ValueError: scoring_method is 'best'; give 'bde', 'bdeu' or 'bic'
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
    network: LatentNetwork,
    data: CategoricalData,
    log_likelihood: float,
    scoring_method: str,
    prior: float,
    engine: Callable[[], RowEngine] | None = None,
) -> float:
    """Return the score of a fitted network: the BIC, or with the others the Cheeseman-Stutz approximation."""
    check_scoring_method("scoring_method", scoring_method)
    own = engine if engine is not None else partial(engine_for, network, data)
    return SCORERS[scoring_method].network(network, data, log_likelihood, prior, own)
