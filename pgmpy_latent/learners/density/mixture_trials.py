"""Which settings of a mixture are tried, in which order, for how long, and which mixtures are averaged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.model.mixture import TreeMixture

#: Trees and most states of the mixture that is tried first.
FIRST_GROUPS, FIRST_STATES = 4, 8
#: How many rows there are for every entry of the tables between hidden variables of what is tried first.
ROWS_PER_ENTRY = 12
#: Most entries of the tables between two hidden variables that a search arrives at, of all trees together; and distinct
#: rows for each of them, unless it begins with more.
MOST_ENTRIES, DISTINCT_PER_ENTRY = 2_048, 2
#: Mixtures that are fitted at least, also where they take long; that are usual; and that are fitted at most.
LEAST_TRIALS, TRIALS, MOST_TRIALS = 6, 10, 32
#: So many are usual from so many distinct rows on, where held-out rows tell more settings apart.
TRIALS_OF_MANY, MANY_ROWS = 14, 4_000
#: Numbers multiplied in all E-steps, after which fitting ends: with the usual mixtures, and with the least. About
#: a billion are multiplied in a second.
USUAL_WORK, MOST_WORK = 4_000 * 2**20, 240_000 * 2**20


class Candidate(NamedTuple):
    """Settings of a mixture.

    They are the trees, states of their hidden variables, smoothing, whether edges are their own, and whether EM begins
    with states that stand for categories; see :func:`~pgmpy_latent.learners.density.begin.category_tables`.
    """

    n_groups: int
    n_states: int
    smoothing: float
    own_edges: bool
    by_category: bool = False

    @property
    def settings(self) -> Candidate:
        """The same settings, however EM begins."""
        return self._replace(by_category=False)


class Choices(NamedTuple):
    """What is tried of every setting, in ascending order; and how large tables may become.

    The tables between two hidden variables, of all trees together, have at most ``most_entries``.
    """

    n_groups: tuple[int, ...]
    n_states: tuple[int, ...]
    smoothing: tuple[float, ...]
    own_edges: tuple[bool, ...]
    by_category: tuple[bool, ...] = (False,)
    most_entries: int = MOST_ENTRIES

    def for_rows(self, n_distinct: int) -> Choices:
        """Return the choices for a table with so many distinct rows: two for every entry, at least.

        Examples
        --------
        >>> Choices((1,), (2,), (1.0,), (True,)).for_rows(2_000).most_entries
        1000
        """
        return self._replace(most_entries=min(self.most_entries, n_distinct // DISTINCT_PER_ENTRY))


@held_by_checkpoints("trial of HiddenChowLiuMixture")
@dataclass(frozen=True)
class MixtureTrial:
    """A mixture that was fitted.

    Attributes
    ----------
    n_groups, n_states, smoothing, own_edges, by_category
        Its settings: see :class:`Candidate`.
    log_likelihood : float
        Of the held-out rows.
    n_iter : int
        Iterations of EM that led to it.
    work : int
        Numbers that its EM multiplied, about.
    mixture : TreeMixture
    rows, all_rows : arrays
        Log-likelihood of every distinct row that is held out, and of every one of the table.
    """

    n_groups: int
    n_states: int
    smoothing: float
    own_edges: bool
    by_category: bool
    log_likelihood: float
    n_iter: int
    work: int
    mixture: TreeMixture
    rows: np.ndarray
    all_rows: np.ndarray

    @property
    def candidate(self) -> Candidate:
        """Its settings."""
        return Candidate(self.n_groups, self.n_states, self.smoothing, self.own_edges, self.by_category)


def are_enough(n_trials: int, work: float, n_distinct: int) -> bool:
    """Tell whether so many mixtures are enough, after so much work.

    There are ten, fourteen if rows are many; fewer if they take minutes, and more if they take little time. Work is
    counted rather than measured, so that the result does not depend on the machine.

    Parameters
    ----------
    n_trials : int
        Mixtures that were fitted.
    work : float
        Numbers that their EM multiplied.
    n_distinct : int
        Distinct rows of the table.

    Examples
    --------
    >>> are_enough(10, 1e8, 900), are_enough(10, 1e10, 900), are_enough(10, 1e10, 9_000), are_enough(14, 1e10, 9_000)
    (False, True, False, True)
    >>> are_enough(6, 1e12, 900), are_enough(32, 0, 900)
    (True, True)
    """
    if n_trials < LEAST_TRIALS:
        return False
    usual = TRIALS_OF_MANY if n_distinct >= MANY_ROWS else TRIALS
    return n_trials >= MOST_TRIALS or work >= (USUAL_WORK if n_trials >= usual else MOST_WORK)


def first_candidates(choices: Choices, smoothing: float, n_rows: float) -> tuple[Candidate, ...]:
    """Return the settings to begin with: several trees with few states, and one tree with many.

    Several trees have edges of their own first, and then those of the whole table. Hidden variables have so many states
    that there are twelve rows for every entry of the tables between two of them; at least the fewest of the choices.

    Parameters
    ----------
    choices : Choices
        What is tried.
    smoothing : float
        The nearest of the choices is taken.
    n_rows : float
        Total weight of the rows to learn from.

    Examples
    --------
    >>> choices = Choices((1, 2, 4, 8), (2, 4, 8, 16, 32), (0.1, 1.0), (False, True))
    >>> [(one.n_groups, one.n_states, one.own_edges) for one in first_candidates(choices, 1.0, 15_000)]
    [(4, 8, True), (4, 8, False), (1, 32, False)]
    >>> [(one.n_groups, one.n_states, one.own_edges) for one in first_candidates(choices, 1.0, 1_600)]
    [(4, 4, True), (4, 4, False), (1, 8, False)]
    """
    nearest = min(choices.smoothing, key=lambda value: abs(value - smoothing))
    found: dict[int, list[Candidate]] = {}
    for groups, most in ((FIRST_GROUPS, FIRST_STATES), (1, max(choices.n_states))):
        n_groups = max([n for n in choices.n_groups if n <= groups], default=choices.n_groups[0])
        enough = [n for n in choices.n_states if n <= most and n_groups * n**2 * ROWS_PER_ENTRY <= n_rows]
        n_states = max(enough, default=choices.n_states[0])
        edges = choices.own_edges[:1] if n_groups == 1 else choices.own_edges[::-1]
        found.setdefault(n_groups, [Candidate(n_groups, n_states, nearest, own_edges) for own_edges in edges])
    return tuple(candidate for candidates in found.values() for candidate in candidates)


def values_of_settings(tried: Sequence[tuple[Candidate, np.ndarray]], weights: np.ndarray) -> dict[Candidate, float]:
    """Return how likely averages of very many mixtures would make held-out rows, for all settings tried twice or more.

    An average of n mixtures gains the share ``1 - 1/n`` of what an average of very many would gain over single ones,
    as long as mixtures differ little. So settings are compared by what is left when luck has averaged out: those of
    mixtures that vary much are worth more than single ones show.

    Parameters
    ----------
    tried : sequence of (Candidate, array of shape (n_rows,))
        Settings, and the log-likelihood of every row.
    weights : array, shape (n_rows,)
        Of the rows.

    Examples
    --------
    >>> one, two = Candidate(1, 2, 1.0, False), Candidate(1, 4, 1.0, False)
    >>> tried = [(one, np.log([0.9, 0.1])), (one, np.log([0.1, 0.9])), (two, np.log([0.4, 0.4]))]
    >>> {key.n_states: round(value, 3) for key, value in values_of_settings([*tried, tried[-1]], np.ones(2)).items()}
    {2: -0.365, 4: -1.833}
    """
    rows: dict[Candidate, list[np.ndarray]] = {}
    for candidate, logs in tried:
        rows.setdefault(candidate.settings, []).append(logs)
    return {settings: _of_many(np.stack(logs), weights) for settings, logs in rows.items() if len(logs) > 1}


def _of_many(rows: np.ndarray, weights: np.ndarray) -> float:
    """Return how likely an average of very many mixtures would make rows, given their log-likelihoods under a few."""
    n, single = len(rows), float(np.mean(rows @ weights))
    together = float((np.logaddexp.reduce(rows) - np.log(n)) @ weights)
    return single + (together - single) * n / (n - 1)


def next_candidate(
    tried: Sequence[Candidate],
    values: Mapping[Candidate, float],
    promising: Collection[Candidate],
    choices: Choices,
    first: Sequence[Candidate],
) -> Candidate:
    """Return the settings to try next: neighbours of the best so far, and if there are none left, the best again.

    Neighbours differ in one setting, by one step: more states, less smoothing, more trees, other edges, more smoothing,
    fewer trees, fewer states. Settings that are promising are tried twice, with two seeds and with both ways to begin,
    since single mixtures vary by luck; repeats take the way that these settings were tried with less often. After a
    neighbour that is not promising, the best settings are repeated, so that there is something to average. One tree
    has edges of its own anyway. Tables do not outgrow ``choices.most_entries``, since time grows with them.

    Parameters
    ----------
    tried : sequence of Candidate
        So far, in order.
    values : mapping of Candidate to float
        How good settings are that were tried twice; larger is better. See :func:`values_of_settings`.
    promising : collection of Candidate
        Settings of mixtures that would be averaged now, one at least.
    choices : Choices
        What is tried.
    first : sequence of Candidate
        Settings to begin with.

    Examples
    --------
    >>> choices = Choices((2, 4), (8,), (1.0,), (True,))
    >>> start = Candidate(2, 8, 1.0, True)
    >>> next_candidate([start], {}, {start}, choices, [start]) == start
    True
    >>> next_candidate([start] * 2, {start: -5.0}, {start}, choices, [start])
    Candidate(n_groups=4, n_states=8, smoothing=1.0, own_edges=True, by_category=False)
    >>> other = Candidate(4, 8, 1.0, True)
    >>> next_candidate([start, start, other], {start: -5.0}, {start, other}, choices, [start]) == other
    True
    >>> next_candidate([start, start, other], {start: -5.0}, {start}, choices, [start]) == start
    True
    """
    known = [candidate.settings for candidate in tried]
    left = [settings for settings in first if settings not in known]
    if left:
        return left[0]
    once = [settings for settings in known if settings in promising and known.count(settings) == 1]
    if once:
        return _again(once[0], tried, choices)
    best = max(values, key=lambda settings: values[settings])
    has_failed = len(tried) > len(first) and known.count(known[-1]) == 1
    if has_failed:
        return _again(best, tried, choices)
    steps = (
        ("n_states", 1), ("smoothing", -1), ("n_groups", 1), ("own_edges", -1), ("own_edges", 1), ("smoothing", 1),
        ("n_groups", -1), ("n_states", -1),
    )  # fmt: skip
    for name, by in steps:
        choice = getattr(choices, name)
        at = choice.index(getattr(best, name)) + by
        if not 0 <= at < len(choice) or (name == "own_edges" and best.n_groups == 1):
            continue
        candidate = best._replace(**{name: choice[at]})
        if candidate not in known and candidate.n_groups * candidate.n_states**2 <= choices.most_entries:
            return candidate
    return _again(best, tried, choices)


def _again(settings: Candidate, tried: Sequence[Candidate], choices: Choices) -> Candidate:
    """Return settings that were tried, with the way to begin that they were tried with less often."""
    ways = [candidate.by_category for candidate in tried if candidate.settings == settings]
    return settings._replace(by_category=min(choices.by_category, key=ways.count))


def chosen_trials(rows: np.ndarray, weights: np.ndarray) -> tuple[tuple[int, ...], float]:
    """Choose which mixtures are averaged: the best one, and one after another those that make held-out rows likeliest.

    Of all these averages, the one of most mixtures is chosen that makes held-out rows no less likely than the best
    one does, up to the standard error of the difference: averages of many predict new rows better than a choice of few
    that suits the held-out rows.

    Parameters
    ----------
    rows : array, shape (n_trials, n_rows)
        Log-likelihood of every row under every mixture.
    weights : array, shape (n_rows,)
        Of the rows.

    Returns
    -------
    chosen : tuple of int
        Ascending.
    log_likelihood : float
        Of all rows, under the average.

    Examples
    --------
    >>> chosen_trials(np.log([[0.9, 0.1], [0.1, 0.8], [0.1, 0.1]]), np.ones(2))[0]
    (0, 1)
    """
    order, averages = _averages(rows, weights)
    values = averages @ weights
    best = int(np.argmax(values))
    losses = averages[best] - averages
    errors = np.sqrt(((losses - (losses @ weights / weights.sum())[:, None]) ** 2) @ weights)
    last = int(np.flatnonzero(values[best] - values <= errors)[-1])
    last = max(last, best)
    return tuple(sorted(order[: last + 1])), float(values[last])


def _averages(rows: np.ndarray, weights: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the order in which mixtures are added to an average, and log-likelihoods of rows under each average."""
    order: list[int] = []
    sums = np.full((len(rows) + 1, rows.shape[1]), -np.inf)
    for n_before in range(len(rows)):
        left = [at for at in range(len(rows)) if at not in order]
        candidates = np.logaddexp(sums[n_before], rows[left])
        at = int(np.argmax(candidates @ weights))
        sums[n_before + 1] = candidates[at]
        order.append(left[at])
    return order, sums[1:] - np.log(np.arange(1, len(rows) + 1))[:, None]


def table_of(trials: Sequence[MixtureTrial], chosen: Sequence[int]) -> pd.DataFrame:
    """Return a row for every trial."""
    return pd.DataFrame(
        [
            {
                **trial.candidate._asdict(),
                "log_likelihood": trial.log_likelihood,
                "n_iter": trial.n_iter,
                "n_parameters": trial.mixture.n_parameters,
                "averaged": number in chosen,
            }
            for number, trial in enumerate(trials)
        ]
    )
