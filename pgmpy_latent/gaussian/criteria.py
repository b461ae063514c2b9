"""What searches for Gaussian trees maximise: the log-likelihood less a cost for every column and every edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.gaussian.forest import Forest
from pgmpy_latent.runtime.settings import Constraint, one_of
from pgmpy_latent.scores.information import penalty_per_parameter
from pgmpy_latent.scores.scoring_methods import PENALTIES, SCORERS, Criterion

#: Share of the extended BIC's term for the number of possible edges: that of Foygel and Drton.
GAMMA = 0.5


@dataclass(frozen=True)
class EdgeCriterion(Criterion):
    """A score that is the log-likelihood less a cost for every parameter, where edges may cost more than others.

    Attributes
    ----------
    parameter : callable
        Weight of all rows -> cost of a parameter.
    further : callable
        Number of columns -> what an edge costs beyond its parameter.
    """

    parameter: Callable[[float], float]
    further: Callable[[int], float]


def log_of_edges(n_columns: int) -> float:
    """Return what an edge costs in the extended BIC beyond its parameter: ``2 * GAMMA * ln(number of columns)``.

    Examples
    --------
    >>> round(log_of_edges(100), 3)
    4.605
    """
    return 2 * GAMMA * float(np.log(n_columns))


#: ``scoring_method`` -> what it stands for.
CRITERIA: Mapping[str, EdgeCriterion] = {
    name: EdgeCriterion(SCORERS[name].title, SCORERS[name].sentence, PENALTIES[name], lambda n_columns: 0.0)
    for name in ("bic", "aic")
} | {
    "ebic": EdgeCriterion(
        "extended BIC",
        "the extended Bayesian information criterion (EBIC)",
        penalty_per_parameter,
        log_of_edges,
    )
}
#: Checks a ``scoring_method``.
check_criterion: Constraint = one_of(*CRITERIA)


@dataclass(frozen=True)
class Costs:
    """What a score takes from the log-likelihood, for a certain table.

    Attributes
    ----------
    parameter, edge : float
        For a mean or a standard deviation, and for an edge.

    Examples
    --------
    >>> Costs.of("aic", 100.0, 3)
    Costs(parameter=1.0, edge=1.0)
    >>> round(Costs.of("ebic", 100.0, 3).edge - Costs.of("bic", 100.0, 3).edge, 4)
    1.0986
    """

    parameter: float
    edge: float

    @classmethod
    def of(cls, scoring_method: str, total_weight: float, n_columns: int) -> Costs:
        """Return the costs of a score for a table."""
        criterion = CRITERIA[scoring_method]
        parameter = criterion.parameter(total_weight)
        return cls(parameter, parameter + criterion.further(n_columns))

    def score(self, log_likelihood: float, forest: Forest) -> float:
        """Return the score of a forest; larger is better."""
        return log_likelihood - 2 * self.parameter * forest.n_columns - self.edge * len(forest.ends)
