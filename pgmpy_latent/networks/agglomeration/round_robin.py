"""Several hidden variables by agglomeration: one after the other, for as long as the completed table gets better."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pgmpy_latent.exceptions import BlanketTooLargeError
from pgmpy_latent.model.network import blanket
from pgmpy_latent.networks.agglomeration.merging import Scoring, Trace, agglomerate, blanket_states, statistics
from pgmpy_latent.networks.agglomeration.reassignment import RISE, Partition, Reassignment, best_of
from pgmpy_latent.tables.encode import CategoricalData


@dataclass(frozen=True)
class Agglomeration:
    """The agglomeration of a hidden variable.

    Attributes
    ----------
    trace : Trace
        The merges.
    first_states : int array, shape (n_rows,)
        The state that it began with in every row: the number of the assignment of the Markov blanket there.
    assignments : int array, shape (n_first_states, size of the blanket)
        The assignment of the blanket of each of the first states.
    levels : dict
        Number of states -> the best that reassignments, merges and splits made of the merged states.
    """

    trace: Trace
    first_states: np.ndarray
    assignments: np.ndarray
    levels: dict[int, Partition]

    def states(self, n_states: int) -> np.ndarray:
        """Return one of so many states for every row: those that were looked at again, or those that were merged.

        Some do not occur if the blanket has fewer assignments.
        """
        level = self.levels.get(n_states)
        labels = self.trace.labels(min(n_states, self.trace.n_first)) if level is None else level.states
        return labels[self.first_states]


@dataclass
class Assignment:
    """A state of every hidden variable for every distinct row.

    Attributes
    ----------
    names, parents : sequences
        The graph, by position.
    codes : int array, shape (n_rows, n_nodes)
        The table, completed.
    cards : int array, shape (n_nodes,)
        Numbers of states.
    weights : array, shape (n_rows,)
        Weights of the rows.
    traces : dict
        Hidden variable -> its last agglomeration.
    """

    names: Sequence[Hashable]
    parents: Sequence[Sequence[int]]
    codes: np.ndarray
    cards: np.ndarray
    weights: np.ndarray
    traces: dict[Hashable, Agglomeration] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        names: Sequence[Hashable],
        parents: Sequence[Sequence[int]],
        hidden: Sequence[Hashable],
        data: CategoricalData,
    ) -> Assignment:
        """Return the beginning: one state for every hidden variable."""
        codes = data.codes_of(names).astype(np.int64)
        seen = dict(zip(data.columns, data.cards.tolist(), strict=True))
        cards = np.array([seen.get(name, 1) for name in names])
        codes[:, [at for at, name in enumerate(names) if name in set(hidden)]] = 0
        return cls(names, parents, codes, cards, np.asarray(data.weights))

    def assign(self, node: int, states: np.ndarray, n_states: int) -> None:
        """Give a hidden variable other states, of which some may not occur."""
        self.codes[:, node] = states
        self.cards[node] = n_states

    def scoring(self, node: int, states: np.ndarray, method: str, prior: float) -> Scoring:
        """Return the score of some states of a hidden variable."""
        counted = statistics(self.codes, self.weights, self.cards, self.parents, node, states)
        return Scoring(counted, method, prior)


def round_robin(
    assignment: Assignment,
    hidden: Sequence[Hashable],
    method: str,
    prior: float,
    max_initial: int,
    fewest: int = 1,
    accepted: Callable[[Hashable, float], None] = lambda name, gain: None,
    tick: Callable[[], None] = lambda: None,
    agglomerated: Callable[[Scoring], Trace] | None = None,
) -> None:
    """Agglomerate hidden variables in turn, each given the states of all others, until nothing changes.

    A variable is looked at again only after one in its Markov blanket has changed; new states that score lower than the
    old ones are not taken. So the score of the completed table never falls, unless a variable must have more states
    (``fewest``).

    Parameters
    ----------
    assignment : Assignment
        Is changed.
    hidden : sequence of names
        In this order.
    method, prior
        See :class:`~pgmpy_latent.networks.agglomeration.merging.Scoring`.
    max_initial : int
        Most assignments of a blanket.
    fewest : int
        Fewest states of a variable, if its blanket has as many assignments.
    accepted : callable
        Called with a variable that has got new states, and what the score gained.
    tick : callable
        Called before every agglomeration; may raise.
    agglomerated : callable, optional
        Agglomerates a variable, or returns a stored result.
    """
    waiting = [assignment.names.index(name) for name in hidden]
    inside = set(waiting)
    while waiting:
        tick()
        node = waiting.pop(0)
        name = assignment.names[node]
        first, kinds = blanket_states(assignment.codes, assignment.cards, assignment.parents, node)
        if len(kinds) > max_initial:
            raise BlanketTooLargeError(
                f"the Markov blanket of {name!r}, {[assignment.names[n] for n in blanket(assignment.parents, node)]}, "
                f"takes {len(kinds):,} distinct values; the most allowed are max_initial={max_initial:,}. Raise it "
                "(time and memory grow with its square), or leave out parents or children with many states."
            )
        scoring = assignment.scoring(node, first, method, prior)
        trace = agglomerate(scoring, tick=tick) if agglomerated is None else agglomerated(scoring)
        levels = Reassignment(scoring, fewest, tick).levels(trace)
        best = best_of(levels)
        old = assignment.scoring(node, assignment.codes[:, node], method, prior)
        gain = best.score - old.total(old.statistics.counts)
        met_first = assignment.cards[node] < min(fewest, best.n_states)
        if gain > RISE or met_first:
            assignment.assign(node, best.states[first], best.n_states)
            accepted(name, gain)
            around = [other for other in blanket(assignment.parents, node) if other in inside]
            waiting += [other for other in around if other not in waiting]
        if gain > RISE or met_first or name not in assignment.traces:
            assignment.traces[name] = Agglomeration(trace, first, kinds, levels)
