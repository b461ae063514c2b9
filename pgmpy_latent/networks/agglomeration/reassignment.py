"""A second look at merged states, by the same score of the completed table: reassignments, merges and splits.

Merges are greedy: two assignments of the Markov blanket that were merged early stay together, even if other states
suit one of them better later on. Here single assignments move to the state that suits them best, for several numbers of
states; the best states of one number are then merged or split to begin anew with one less or one more, until no number
of states scores higher. Every row has one state throughout, and nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.networks.agglomeration.merging import Scoring, Trace, gains_with

#: Smallest rise of the score that counts as one.
RISE = 1e-6
#: Numbers of states that are looked at below the best one.
REACH = 8
#: Number of states, the most promising first, whose split is tried.
SPLITS = 2
#: Entries of arrays in which gains are computed at once.
ENTRIES = 2**20


@dataclass(frozen=True)
class Partition:
    """States of the assignments of a blanket.

    Attributes
    ----------
    states : int array, shape (n_first_states,)
        The state of each assignment of the blanket; none is empty.
    n_states : int
        Number of states.
    score : float
        Score of the families of the completed table that contain the variable.
    """

    states: np.ndarray
    n_states: int
    score: float


class Reassignment:
    """Looks at the states of a hidden variable again.

    Parameters
    ----------
    scoring : Scoring
        The score, with a state for every assignment of the blanket.
    fewest : int
        Fewest states that may be left.
    tick : callable
        Called before every number of states that is looked at; may raise.
    """

    def __init__(self, scoring: Scoring, fewest: int = 1, tick: Callable[[], None] = lambda: None):
        self.scoring = scoring
        self.fewest = min(fewest, scoring.statistics.n_states)
        self.tick = tick
        self._counts = scoring.statistics.counts
        # an assignment is counted in few columns: which, and how often; rows are filled up with counts of nothing
        rows, columns = np.nonzero(self._counts)
        places = np.arange(len(rows)) - np.searchsorted(rows, rows)
        shape = len(self._counts), int(places.max(initial=-1)) + 1
        self._columns, self._amounts = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        self._columns[rows, places], self._amounts[rows, places] = columns, self._counts[rows, columns]

    def levels(self, trace: Trace) -> dict[int, Partition]:
        """Return the best partition that was found for each number of states, beginning with those of a trace.

        Examples
        --------
        >>> from pgmpy_latent.networks.agglomeration.merging import agglomerate, statistics
        >>> codes = np.array([[-1, 0, 0], [-1, 1, 1]])
        >>> counted = statistics(codes, np.full(2, 9.0), [1, 2, 2], [(), (0,), (0,)], 0, np.array([0, 1]))
        >>> scoring = Scoring(counted, "bde", 1.0)
        >>> levels = Reassignment(scoring).levels(agglomerate(scoring))
        >>> levels[2].states.tolist()
        [0, 1]
        """
        found: dict[int, Partition] = {}
        waiting: set[int] = set()

        def offer(states: np.ndarray) -> None:
            new = self.reassigned(states)
            old = found.get(new.n_states)
            if old is None or new.score > old.score + RISE:
                found[new.n_states] = new
                waiting.add(new.n_states)

        begin = min(max(trace.best, self.fewest) + 1, trace.n_first)
        for n_states in range(begin, max(self.fewest, begin - REACH) - 1, -1):
            offer(trace.labels(n_states))
        while waiting:
            self.tick()
            n_states = max(waiting)
            waiting.discard(n_states)
            best = best_of(found).n_states
            if max(self.fewest, best - REACH) < n_states:
                offer(self._merged(found[n_states]))
            if n_states <= max(best, begin - 1):
                for states in self._splits(found[n_states]):
                    offer(states)
        return found

    def reassigned(self, states: np.ndarray) -> Partition:
        """Move single assignments to other states, for as long as the score rises; states may run empty."""
        states = np.unique(states, return_inverse=True)[1]
        counts, sizes = self._of_states(states), np.bincount(states)
        moved = len(counts) > 1
        while moved:
            moved = False
            rises = self._gains(states, counts, np.arange(len(states))).max(axis=1)
            for at in np.argsort(-rises, kind="stable")[: np.count_nonzero(rises > RISE)]:
                gains = self._gains(states, counts, at[None])[0]  # anew: others have moved
                old, new = states[at], int(gains.argmax())
                if gains[new] <= RISE or (sizes[old] == 1 and np.count_nonzero(sizes) <= self.fewest):
                    continue
                counts[old] = np.maximum(counts[old] - self._counts[at], 0.0)  # rounding must not leave less than none
                counts[new] += self._counts[at]
                sizes[old] -= 1
                sizes[new] += 1
                states[at] = new
                moved = True
        states = np.unique(states, return_inverse=True)[1]
        counts = self._of_states(states)
        return Partition(states, len(counts), self.scoring.total(counts))

    def _of_states(self, states: np.ndarray) -> np.ndarray:
        """Return the counts of states; every number up to the last is that of one."""
        return (states == np.arange(states.max() + 1)[:, None]).astype(np.float64) @ self._counts

    def _gains(self, states: np.ndarray, counts: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return what moving some assignments, each alone, to each state adds to the score."""
        at_once = max(1, ENTRIES // max(1, len(counts) * self._columns.shape[1]))
        if len(at) > at_once:
            parts = [at[begin : begin + at_once] for begin in range(0, len(at), at_once)]
            return np.concatenate([self._gains(states, counts, part) for part in parts])
        columns, amounts, values = self._columns[at], self._amounts[at], self.scoring.values
        own = counts[states[at][:, None], columns]
        left = (values(np.maximum(own - amounts, 0.0), columns) - values(own, columns)).sum(axis=1)
        there = counts[:, columns]
        joined = (values(there + amounts, columns) - values(there, columns)).sum(axis=2)
        gains = left[:, None] + joined.T
        gains[np.arange(len(at)), states[at]] = 0.0
        return gains

    def _merged(self, partition: Partition) -> np.ndarray:
        """Return states of which the two are merged whose merging raises the score most, or lowers it least."""
        counts, n_states = self._of_states(partition.states), partition.n_states
        gains = [gains_with(self.scoring, counts, state, np.arange(state + 1, n_states)) for state in range(n_states)]
        kept = int(np.argmax([row.max(initial=-np.inf) for row in gains]))
        gone = kept + 1 + int(gains[kept].argmax())
        return np.where(partition.states == gone, kept, partition.states)

    def _splits(self, partition: Partition) -> Iterator[np.ndarray]:
        """Return states of which one is split: in one half are all assignments that are counted in some column."""
        found = []
        for state in range(partition.n_states):
            members = np.flatnonzero(partition.states == state)
            counts = self._counts[members]
            are_there = counts != 0
            halves = are_there.T.astype(np.float64) @ counts
            whole = counts.sum(axis=0)
            gains = self.scoring.of_states(halves) + self.scoring.of_states(whole - halves)
            gains[are_there.all(axis=0) | ~are_there.any(axis=0)] = -np.inf
            if gains.max(initial=-np.inf) > -np.inf:
                gain = float(gains.max() - self.scoring.of_states(whole[None])[0])
                found.append((gain, members[are_there[:, int(gains.argmax())]]))
        found.sort(key=lambda split: -split[0])
        for _, half in found[:SPLITS]:
            states = partition.states.copy()
            states[half] = partition.n_states
            yield states


def best_of(levels: dict[int, Partition]) -> Partition:
    """Return the partition with the highest score; that with fewer states, if two are equal."""
    most = max(partition.score for partition in levels.values())
    return levels[min(number for number, one in levels.items() if one.score >= most - 1e-9 * max(1.0, abs(most)))]
