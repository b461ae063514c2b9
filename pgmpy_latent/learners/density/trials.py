"""Which numbers of states and of groups and which smoothing are tried, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from pgmpy_latent.learners.memory import held_by_checkpoints

#: Fewest states and most groups that are tried.
FEWEST, MOST_GROUPS = 2, 8
#: From so many states on, an E-step in single precision is faster than one in double.
MANY_STATES = 16


class Candidate(NamedTuple):
    """What is tried: states of hidden variables, sum of pseudo-counts in a row of a table, and trees in a mixture."""

    n_states: int
    smoothing: float
    n_groups: int = 1


@held_by_checkpoints("trial of HiddenChowLiu")
@dataclass(frozen=True)
class Trial:
    """What was tried, and how likely it makes the held-out rows.

    Attributes
    ----------
    n_states : int
        Of every hidden variable, in every tree that is mixed.
    smoothing : float
        Sum of the pseudo-counts in a row of a table.
    n_groups : int
        Trees that are mixed.
    log_likelihood : float
        Of the held-out rows.
    standard_error : float
        Of the difference of this log-likelihood from that of the best trial before; a smaller one is no reason to
        prefer it.
    n_iter : int
        Iterations of EM that led to it.
    n_parameters : int
        Of the tree.
    """

    n_states: int
    smoothing: float
    n_groups: int
    log_likelihood: float
    standard_error: float
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
    """Return the trial with the highest log-likelihood of held-out rows, as far as these can tell.

    A later trial is better than those before if it is by more than the standard error of the difference: where few rows
    are held out, chance would prefer large models otherwise.

    Examples
    --------
    >>> trials = [Trial(2, 1.0, 1, -7.5, 0.0, 50, 9), Trial(4, 1.0, 1, -7.1, 0.2, 30, 20)]
    >>> trials += [Trial(8, 1.0, 1, -7.0, 0.3, 9, 50)]
    >>> best_trial(trials).n_states
    4
    """
    best, *others = trials
    for trial in others:
        if trial.log_likelihood > best.log_likelihood + trial.standard_error:
            best = trial
    return best


def next_candidate(
    trials: Sequence[Trial],
    numbers: Sequence[int],
    smoothings: Sequence[float],
    first: float,
    groups: Sequence[int] = (1,),
    most: int | None = None,
) -> Candidate | None:
    """Return what is tried next; None if there is nothing left.

    From the best candidate so far the search goes to the next larger number of states, to the next smaller smoothing or
    to the next larger one, in this order, as long as one of them is better. Then it goes to the next larger number of
    groups, with as many states in each of them or with the next smaller number.

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
    groups : sequence of int
        Numbers of groups, ascending.
    most : int, optional
        Most states of a hidden variable in all groups together.

    Examples
    --------
    >>> next_candidate([], [2, 4], [0.1, 1.0], 1.0)
    Candidate(n_states=2, smoothing=1.0, n_groups=1)
    >>> trials = [Trial(2, 1.0, 1, -7.5, 0.0, 50, 9), Trial(4, 1.0, 1, -7.8, 0.1, 30, 20)]
    >>> next_candidate(trials, [2, 4, 8], [0.1, 1.0], 1.0)
    Candidate(n_states=2, smoothing=0.1, n_groups=1)
    >>> next_candidate(trials, [2, 4, 8], [1.0], 1.0, groups=[1, 2])
    Candidate(n_states=2, smoothing=1.0, n_groups=2)
    """
    if not trials:
        return Candidate(numbers[0], first, groups[0])
    best = best_trial(trials)
    states, at, group = numbers.index(best.n_states), smoothings.index(best.smoothing), groups.index(best.n_groups) + 1
    nearby = [Candidate(n_states, best.smoothing, best.n_groups) for n_states in numbers[states + 1 : states + 2]]
    nearby += [
        Candidate(best.n_states, value, best.n_groups)
        for value in (*smoothings[max(at - 1, 0) : at], *smoothings[at + 1 : at + 2])
    ]
    nearby += [
        Candidate(n_states, best.smoothing, n_groups)
        for n_groups in groups[group : group + 1]
        for n_states in (best.n_states, *numbers[max(states - 1, 0) : states])
    ]
    tried = {(trial.n_states, trial.smoothing, trial.n_groups) for trial in trials}
    return next(
        (one for one in nearby if one not in tried and (most is None or one.n_states * one.n_groups <= most)), None
    )


def table_of(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return a row for every trial.

    Examples
    --------
    >>> found = table_of([Trial(2, 1.0, 1, -7.5, 0.0, 50, 9), Trial(4, 1.0, 1, -7.8, 0.1, 30, 20)])
    >>> found[["n_states", "log_likelihood", "standard_error", "best"]]
       n_states  log_likelihood  standard_error   best
    0         2            -7.5             0.0   True
    1         4            -7.8             0.1  False
    """
    best = best_trial(trials)
    return pd.DataFrame([{**vars(trial), "best": trial is best} for trial in trials])
