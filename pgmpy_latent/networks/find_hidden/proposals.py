"""The search of FindHidden as a policy: propose hidden variables, size them, refine the edges around them, decide."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from pgmpy_latent.exceptions import BlanketTooLargeError, ComponentTooLargeError, UnsplittableStateError
from pgmpy_latent.learners.memory import check_memory_is, check_value
from pgmpy_latent.learners.resumed import check_again, check_model_again, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.learners.skeletons import fresh_latent_name
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.agglomeration.sizing import Sizing, SizingOptions
from pgmpy_latent.networks.find_hidden.memory import Candidate, FindHiddenMemory, Round
from pgmpy_latent.networks.find_hidden.semi_cliques import semi_cliques, skeleton
from pgmpy_latent.networks.fitter import FittedNetwork, Fitter, ScoredNetwork
from pgmpy_latent.networks.graph import Graph, nodes_in_order, parents_by_name
from pgmpy_latent.networks.states import distance, merge_states, split_state
from pgmpy_latent.networks.structural.policy import StructuralPolicy, changes_in_words, last_step
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.clock import STOP_SIGNALS

#: Number of pairs of states, the most similar first, whose merging is tried.
MERGES = 3
#: Smallest rise of the score that counts as one.
RISE = 0.1
#: Most times that a hidden variable is removed again and further ones are proposed.
MOST_REMOVALS = 5


@dataclass(frozen=True)
class Options:
    """How hidden variables are found; see :class:`~pgmpy_latent.FindHidden`."""

    n_states: int | None = None
    max_latents: float = np.inf
    max_candidates: int | None = 20
    min_children: int = 3
    max_parents: int = 5
    n_starts: int = 8
    min_gain: float = 3.0
    sizing: SizingOptions = field(default_factory=SizingOptions)


class ProposalPolicy:
    """Proposes a hidden parent for every semi-clique of the network, and accepts the best one; then again.

    Parameters
    ----------
    fitter : Fitter
        Fits networks, and scores their families.
    judge : callable
        Returns the score by which networks are compared, given a network and its log-likelihood; larger is better.
    options : Options
        What is proposed and accepted.
    """

    def __init__(self, fitter: Fitter, judge: Callable[[LatentNetwork, float], float], options: Options):
        self.fitter = fitter
        self.search: Search = fitter.search
        self.judge = judge
        self.options = options

    def judged(self, fit: FittedNetwork) -> ScoredNetwork:
        """Return a fitted network with its score."""
        return ScoredNetwork(fit.network, self.judge(fit.network, fit.log_likelihood), fit.log_likelihood)

    def first(self, fit: FittedNetwork, learn_edges: bool) -> State:
        """Return the state that a search begins with."""
        memory = FindHiddenMemory("edges" if learn_edges else "propose")
        return self.judged(fit).as_state(0, memory)

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search."""
        check_memory_is(state, FindHiddenMemory, "FindHidden")
        data, memory = self.fitter.data, state.memory
        check_again(state, data, self.judge)
        check_value("n_removals", memory.n_removals, memory.n_removals <= MOST_REMOVALS)
        check_value("base", memory.base, memory.base is not None or not memory.candidates)
        if memory.base is not None:
            check_model_again(memory.base, data.columns, data.state_names)
        check_over(state, memory.phase == "propose" and memory.round is None and memory.base is not None)
        if memory.round is not None and memory.round.best is not None:
            check_again(memory.round.best.as_state(state.step + 1), data, self.judge)

    def advance(self, state: State) -> Step:
        """Take the next step: change edges, as long as the base is learned, and then propose hidden variables."""
        memory: FindHiddenMemory = state.memory
        if memory.phase == "edges":
            return self._change_edges(state, memory)
        if memory.base is None:
            memory = replace(memory, base=state.tree)
        return self._propose(replace(state, memory=replace(memory, round=None)), memory.round or Round())

    def _change_edges(self, state: State, memory: FindHiddenMemory) -> Step:
        policy = StructuralPolicy(self.fitter, self.options.max_parents)
        better = policy.improved(self.fitter.scored(FittedNetwork(state.tree, state.log_likelihood)))
        if better is None:
            return Step(replace(state, memory=replace(memory, phase="propose", base=state.tree)))
        new = self.judged(better.fit).as_state(state.step + 1, replace(memory, base=better.network))
        return Step(new, "change edges", changes_in_words(state.tree, better.network))

    def _propose(self, state: State, so_far: Round) -> Step:
        """Try the next proposal; after the last one, accept the best if it is better than the network without it."""
        best, proposals = so_far.best, self._proposals(state.tree)
        try:
            if so_far.n_tried < len(proposals):
                return self._try(state, so_far, proposals[so_far.n_tried])
            if best is not None:
                best = self._resized(best, _new_hidden(best, state), state)
                if best.score > state.score:
                    best = self._settled(best)
        except STOP_SIGNALS as stop:
            if best is None or best.score <= state.score + self.options.min_gain:
                raise
            self.search.note_interrupt(stop)  # the best proposal so far is accepted
        return self._finished(state) if best is None else self._decide(state, best)

    def _try(self, state: State, so_far: Round, members: Sequence[int]) -> Step:
        """Evaluate a proposal, and remember it if it is the best of its round."""
        memory, best = state.memory, so_far.best
        with suppress(ComponentTooLargeError):  # it cannot be fitted, so that it is not a candidate
            proposal, candidate = self._evaluated(state, members)
            memory = replace(memory, candidates=(*memory.candidates, candidate))
            if best is None or proposal.score > best.score:
                best = proposal
            self.search.show(f"{len(memory.candidates)} proposals", best.as_state(state.step + 1))
        return Step(replace(state, memory=replace(memory, round=Round(so_far.n_tried + 1, best))))

    def _decide(self, state: State, best: ScoredNetwork) -> Step:
        """Accept the best proposal of a round if the score rises by enough."""
        name, memory = _new_hidden(best, state), state.memory
        accepted = best.score > state.score + self.options.min_gain
        same_name = [at for at, candidate in enumerate(memory.candidates) if candidate.hidden == name]
        chosen = max(same_name, key=lambda at: memory.candidates[at].score)
        candidates = list(memory.candidates)
        candidates[chosen] = replace(_updated(candidates[chosen], best, state), kept=accepted)
        memory = replace(memory, candidates=tuple(candidates))
        if not accepted:
            return self._finished(replace(state, memory=memory))
        n_states, children = best.network.cards[best.network.index(name)], candidates[chosen].children
        target = f"{name} ({n_states} states): {', '.join(map(str, children))}"
        return Step(best.as_state(state.step + 1, memory), "introduce hidden variable", target)

    def _finished(self, state: State) -> Step:
        """Remove a hidden variable that is not needed any more, and propose again; or fit for the last time."""
        memory: FindHiddenMemory = state.memory
        if memory.n_removals < MOST_REMOVALS:
            for hidden in _introduced(state.tree, memory):
                rival = self._without(state.tree, hidden)
                if rival.score > state.score - self.options.min_gain:
                    memory = _with_removed(memory, hidden, rival.network)
                    return Step(rival.as_state(state.step + 1, memory), "remove hidden variable", hidden)
        return self.finish(state)

    def finish(self, state: State) -> Step:
        """Fit the current network to the end."""
        return last_step(state, self.judged(self.fitter.last_fit(state.tree)))

    def _without(self, network: LatentNetwork, hidden: Hashable) -> ScoredNetwork:
        """Return the network without a hidden variable, after structural EM.

        Better edges that are found on the way must not count as a merit of the hidden variable.
        """
        return self.judged(self._refined(self.fitter.from_tables(self.fitter.without(network, hidden))))

    def _proposals(self, network: LatentNetwork) -> list[tuple[int, ...]]:
        if len(network.latent_names) >= self.options.max_latents:
            return []
        observed = np.flatnonzero(~network.latent).tolist()
        proposals = semi_cliques(skeleton(network.parents, observed), self.options.min_children)
        return proposals[: self.options.max_candidates]

    def _evaluated(self, state: State, members: Sequence[int]) -> tuple[ScoredNetwork, Candidate]:
        """Return the network with a hidden parent of some nodes, and the record of the proposal."""
        network: LatentNetwork = state.tree
        names = tuple(network.names[node] for node in members)
        hidden = fresh_latent_name(network.names)
        graph = with_hidden_parent(network, hidden, names)
        key = (state.step, len(state.memory.candidates))
        fits = [self._refined(fit, free={hidden, *names}) for fit in self._sized(graph, network, hidden, key)]
        best = max((self.judged(fit) for fit in fits), key=lambda scored: scored.score)
        return best, _updated(Candidate(state.step, hidden, names, 0, (), 0.0, 0.0), best, state)

    def _sized(
        self, graph: Graph, network: LatentNetwork, hidden: Hashable, key: tuple[int, ...]
    ) -> Iterator[FittedNetwork]:
        """Fit the network with the number of states that was asked for; or with that found, and with two.

        Two states begin at random: near other hidden variables, agglomeration may have found too few.
        """
        data = self.fitter.data
        names, parents = nodes_in_order(graph, data)
        known = {name: int(network.cards[network.index(name)]) for name in network.latent_names}
        if self.options.n_states is not None:
            cards = {**known, hidden: self.options.n_states}
            yield self.fitter.from_scratch(names, parents, cards, self.options.n_starts, key)
            return
        sizing = Sizing(data, self.search, names, parents, [hidden], network, self.options.sizing)
        try:
            sized = sizing.best_network()
        except BlanketTooLargeError:  # too many children and co-parents to tell apart
            yield self._sized_from_scratch(names, parents, known, hidden, key)
            return
        yield self.fitter.from_tables(sized)
        yield self.fitter.from_scratch(names, parents, {**known, hidden: 2}, self.options.n_starts, key)

    def _sized_from_scratch(
        self,
        names: Sequence[Hashable],
        parents: Sequence[Sequence[int]],
        known: Mapping[Hashable, int],
        hidden: Hashable,
        key: tuple[int, ...],
    ) -> FittedNetwork:
        """Give a hidden variable more and more states, from random starts, for as long as the score rises."""

        def scored_with(n_states: int) -> ScoredNetwork:
            cards, n_starts = {**known, hidden: n_states}, self.options.n_starts
            return self.fitter.scored(self.fitter.from_scratch(names, parents, cards, n_starts, (*key, n_states)))

        best, n_states = scored_with(2), 3
        while (larger := scored_with(n_states)).score > best.score:
            best, n_states = larger, n_states + 1
        return best.fit

    def _settled(self, scored: ScoredNetwork) -> ScoredNetwork:
        """Let structural EM change any edge."""
        new = self.judged(self._refined(scored.fit))
        return new if new.score > scored.score else scored

    def _resized(self, scored: ScoredNetwork, hidden: Hashable, state: State) -> ScoredNetwork:
        """Split and merge states of the hidden variable for as long as the network gets better."""
        while self.options.n_states is None:
            network, best = scored.network, scored
            n_states = int(network.cards[network.index(hidden)])
            n_candidates = len(state.memory.candidates)
            rng = np.random.default_rng(self.search.seed(state.step + 1, n_candidates, n_states))
            for resized in other_sizes(network, hidden, rng):
                self.search.tick()
                new = self.judged(self.fitter.from_tables(resized))
                best = new if new.score > best.score + RISE else best
            if best is scored:
                break
            scored = best
        return scored

    def _refined(self, fit: FittedNetwork, free: Collection[Hashable] | None = None) -> FittedNetwork:
        """Let structural EM change the parents of some nodes, or of all."""
        policy = StructuralPolicy(self.fitter, self.options.max_parents, free)
        scored = self.fitter.scored(fit)
        while (better := policy.improved(scored)) is not None:
            scored = better
        return scored.fit


def _introduced(network: LatentNetwork, memory: FindHiddenMemory) -> list[Hashable]:
    """Return the hidden variables that the search introduced."""
    base = network if memory.base is None else memory.base
    return [name for name in network.latent_names if name not in base.names]


def _new_hidden(proposal: ScoredNetwork, state: State) -> Hashable:
    """Return the hidden variable that a proposal adds to the network of a state."""
    return next(name for name in proposal.network.latent_names if name not in state.tree.latent_names)


def _updated(candidate: Candidate, proposal: ScoredNetwork, state: State) -> Candidate:
    """Return a candidate with the figures of the network that was fitted with it."""
    network = proposal.network
    return replace(
        candidate,
        n_states=int(network.cards[network.index(candidate.hidden)]),
        children=tuple(child for parent, child in network.edges if parent == candidate.hidden),
        score=proposal.score,
        gain=proposal.score - state.score,
    )


def _with_removed(memory: FindHiddenMemory, hidden: Hashable, network: LatentNetwork) -> FindHiddenMemory:
    """Return the memory after a hidden variable was removed; a network with none that is new is the new base."""
    return replace(
        memory,
        n_removals=memory.n_removals + 1,
        base=memory.base if _introduced(network, memory) else network,
        candidates=tuple(
            replace(candidate, kept=candidate.kept and candidate.hidden != hidden) for candidate in memory.candidates
        ),
    )


def other_sizes(network: LatentNetwork, hidden: Hashable, rng: np.random.Generator) -> Iterator[LatentNetwork]:
    """Return the network with a state of a hidden variable less, the most similar ones merged, and with one more."""
    node = network.index(hidden)
    n_states = int(network.cards[node])
    if n_states > 2:
        pairs = sorted(combinations(range(n_states), 2), key=lambda pair: distance(network, node, *pair))
        yield from (merge_states(network, hidden, pair) for pair in pairs[:MERGES])
    for state in range(n_states):
        with suppress(UnsplittableStateError):
            yield split_state(network, hidden, state, rng)


def with_hidden_parent(network: LatentNetwork, hidden: Hashable, members: Sequence[Hashable]) -> Graph:
    """Return the graph with a hidden parent of some nodes in place of the edges among them.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    >>> with_hidden_parent(network, "H", ["x", "y"]).parents
    {'H': (), 'x': ('H',), 'y': ('H',)}
    """
    inside = set(members)
    parents = {hidden: ()} | parents_by_name(network)
    for name in members:
        parents[name] = (hidden, *(above for above in parents[name] if above not in inside))
    return Graph(parents, (hidden, *network.latent_names))
