"""Which numbers of states and which smoothing are tried, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from pgmpy_latent.learners.memory import held_by_checkpoints

#: Fewest states that are tried.
FEWEST = 2


class Candidate(NamedTuple):
    """What is tried: the number of states of hidden variables, and the sum of pseudo-counts in a row of a table."""

    n_states: int
    smoothing: float


@held_by_checkpoints("trial of HiddenChowLiu")
@dataclass(frozen=True)
class Trial:
    """What was tried, and how likely it makes the held-out rows.

    Attributes
    ----------
    n_states : int
        Of every hidden variable.
    smoothing : float
        Sum of the pseudo-counts in a row of a table.
    log_likelihood : float
        Of the held-out rows.
    n_iter : int
        Iterations of EM that led to it.
    n_parameters : int
        Of the tree.
    """

    n_states: int
    smoothing: float
    log_likelihood: float
    n_iter: int
    n_parameters: int


def numbers_of_states(most: int) -> tuple[int, ...]:
    """Return the numbers of states that are tried: each is twice the one before.

    Examples
    --------
    >>> numbers_of_states(20)
    (2, 4, 8, 16, 20)
    """
    numbers, n_states = [], FEWEST
    while n_states < most:
        numbers.append(n_states)
        n_states *= 2
    return (*numbers, most)


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the highest log-likelihood of held-out rows; of equal ones, the first."""
    return max(trials, key=lambda trial: trial.log_likelihood)


def next_candidate(
    trials: Sequence[Trial], numbers: Sequence[int], smoothings: Sequence[float], first: float
) -> Candidate | None:
    """Return what is tried next; None if there is nothing left.

    From the best candidate so far the search goes to the next larger number of states, to the next smaller smoothing or
    to the next larger one, in this order, as long as one of them is better.

    Parameters
    ----------
    trials : sequence of Trial
        What was tried so far.
    numbers : sequence of int
        Numbers of states, ascending.
    smoothings : sequence of float
        Ascending.
    first : float
        Smoothing to begin with, one of these.

    Examples
    --------
    >>> next_candidate([], [2, 4], [0.1, 1.0], 1.0)
    Candidate(n_states=2, smoothing=1.0)
    >>> next_candidate([Trial(2, 1.0, -7.5, 50, 9), Trial(4, 1.0, -7.8, 30, 20)], [2, 4, 8], [0.1, 1.0], 1.0)
    Candidate(n_states=2, smoothing=0.1)
    """
    if not trials:
        return Candidate(numbers[0], first)
    best = best_trial(trials)
    more, at = numbers.index(best.n_states) + 1, smoothings.index(best.smoothing)
    nearby = [Candidate(n_states, best.smoothing) for n_states in numbers[more : more + 1]]
    nearby += [
        Candidate(best.n_states, value) for value in (*smoothings[max(at - 1, 0) : at], *smoothings[at + 1 : at + 2])
    ]
    tried = {(trial.n_states, trial.smoothing) for trial in trials}
    return next((candidate for candidate in nearby if candidate not in tried), None)


def table_of(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return a row for every trial.

    Examples
    --------
    >>> table_of([Trial(2, 1.0, -7.5, 50, 9), Trial(4, 1.0, -7.8, 30, 20)])
       n_states  smoothing  log_likelihood  n_iter  n_parameters   best
    0         2        1.0            -7.5      50             9   True
    1         4        1.0            -7.8      30            20  False
    """
    best = best_trial(trials)
    return pd.DataFrame([{**vars(trial), "best": trial is best} for trial in trials])
