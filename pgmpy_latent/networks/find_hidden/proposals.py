"""The search of FindHidden as a policy: propose hidden variables, size them, refine the edges around them, decide."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.learners.memory import check_memory_is, check_value
from pgmpy_latent.learners.resumed import check_again, check_model_again, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.learners.skeletons import fresh_latent_name
from pgmpy_latent.model.labels import sort_key
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.networks.find_hidden.filled import filled
from pgmpy_latent.networks.find_hidden.local_search import LocalOptions, LocalSearch
from pgmpy_latent.networks.find_hidden.memory import Candidate, FindHiddenMemory, LocalResult, Round
from pgmpy_latent.networks.find_hidden.semi_cliques import skeleton
from pgmpy_latent.networks.find_hidden.sources import (
    dense_sets,
    groups_of_tree,
    is_small,
    latent_trees,
    without_repeats,
)
from pgmpy_latent.networks.find_hidden.surroundings import Surroundings, put_back, surroundings
from pgmpy_latent.networks.find_hidden.tie_break import TieBreak
from pgmpy_latent.networks.fitter import FittedNetwork, Fitter, ScoredNetwork
from pgmpy_latent.networks.graph import graph_of, latent_cards, renamed
from pgmpy_latent.networks.structural.policy import NOTHING_KNOWN, RISE, StructuralPolicy, changes_in_words, last_step
from pgmpy_latent.runtime.checkpoint import State, check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.encode import CategoricalData

#: Most times that a hidden variable is removed again and further ones are proposed.
MOST_REMOVALS = 5
#: Number of columns of a proposal that progress names.
NAMED = 4
#: Key of the seed with which missing cells are drawn.
DRAWS = (0, 2)


@dataclass(frozen=True)
class Options:
    """How hidden variables are found; see :class:`~pgmpy_latent.FindHidden` and its tuning."""

    max_latents: float = float("inf")
    max_candidates: int | None = 30
    min_children: int = 3
    shares: tuple[float, ...] = (0.5,)
    use_tree: bool = True
    n_resized: int = 5
    n_placed: int = 3
    max_parents: int = 5
    min_gain: float = 3.0
    begins_anew: bool = True
    local: LocalOptions = field(default_factory=LocalOptions)


class ProposalPolicy:
    """Proposes hidden variables in many places, tries each in its surroundings, and accepts the best; then again.

    A round has three parts. Every proposal is tried in its surroundings. The states of the hidden variables that gain
    most are split and merged there. Those that gain most then are put back, and structural EM may change any edge.
    After the last round, the network is compared with latent trees; hidden variables of a tree are accepted together.

    Parameters
    ----------
    fitter : Fitter
        Fits networks, and scores their families.
    judge : callable
        Returns the score by which networks are compared, given a network and its log-likelihood; larger is better.
    options : Options
        What is proposed and accepted.
    tie_break : TieBreak, optional
        Decides about a network whose score is higher by less than ``min_gain``; by default it is not accepted.
    """

    def __init__(
        self,
        fitter: Fitter,
        judge: Callable[[LatentNetwork, float], float],
        options: Options,
        tie_break: TieBreak | None = None,
    ):
        self.fitter = fitter
        self.tie_break = tie_break
        self.search: Search = fitter.search
        self.judge = judge
        self.options = options
        self._tried: dict[tuple, LocalResult | None] = {}
        self._drawn: tuple[LatentNetwork, CategoricalData] | None = None

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
        check_value("n_removals", memory.n_removals, memory.is_tree or memory.n_removals <= MOST_REMOVALS)
        check_value("base", memory.base, memory.base is not None or not (memory.candidates or memory.round))
        if memory.base is not None:
            check_model_again(memory.base, data.columns, data.state_names)
        check_value("is_tree", memory.is_tree, memory.tree_score is not None or not memory.is_tree)
        check_over(state, memory.phase == "propose" and memory.round is None and memory.base is not None)
        if memory.round is not None:
            self._check_round(state, memory.round)

    def _check_round(self, state: State, so_far: Round) -> None:
        """Raise if the results of a round in a checkpoint are not as good as it says."""
        check_value("n_tried", so_far.n_tried, len(so_far.results) <= so_far.n_tried <= len(self._proposals(state)))
        check_value("n_placed", so_far.n_placed, so_far.n_placed <= len(so_far.results))
        check_value("best_at", so_far.best_at, so_far.best is None or so_far.best_at < so_far.n_placed)
        if so_far.best is not None:
            check_again(so_far.best.as_state(state.step + 1), self.fitter.data, self.judge)
        for result in so_far.results:
            local = self._local(self._around(state, result.members))
            check_number_again("gain", result.gain, local.gain_of(result.network))

    def advance(self, state: State) -> Step:
        """Take the next step: change edges, as long as the base is learned, and then propose hidden variables."""
        memory: FindHiddenMemory = state.memory
        if memory.phase == "edges":
            return self._change_edges(state, memory)
        if memory.base is None:
            memory = replace(memory, base=state.tree)
        if memory.groups is None:
            memory = replace(memory, groups=self._groups)
        return self._propose(replace(state, memory=replace(memory, round=None)), memory.round or Round())

    def _change_edges(self, state: State, memory: FindHiddenMemory) -> Step:
        policy = StructuralPolicy(self.fitter, self.options.max_parents, knowledge=self.options.local.knowledge)
        better = policy.improved(self.fitter.scored(FittedNetwork(state.tree, state.log_likelihood)))
        if better is None:
            return Step(replace(state, memory=replace(memory, phase="propose", base=state.tree)))
        new = self.judged(better.fit).as_state(state.step + 1, replace(memory, base=better.network))
        return Step(new, "change edges", changes_in_words(state.tree, better.network))

    def _propose(self, state: State, so_far: Round) -> Step:
        """Take the next step of a round; after the last one, accept the best network if it is good enough."""
        try:
            next_round = self._next(state, so_far)
            if next_round is not None:
                return Step(replace(state, memory=replace(state.memory, round=next_round)))
        except STOP_SIGNALS as stop:
            if so_far.best is None or so_far.best.score <= state.score + self.options.min_gain:
                raise
            self.search.note_interrupt(stop)  # the best proposal so far is accepted
        return self._decide(state, so_far)

    def _next(self, state: State, so_far: Round) -> Round | None:
        """Return the round after the next proposal was tried, resized or put back; None if there is nothing left."""
        proposals = self._proposals(state)
        if so_far.n_tried < len(proposals):
            return self._with_tried(state, so_far, proposals)
        ranked = sorted(so_far.results, key=lambda result: -result.first_gain)
        waiting = [result for result in ranked[: self.options.n_resized] if not result.is_resized]
        if waiting:
            return self._with_resized(state, so_far, waiting[0])
        if so_far.n_placed < min(self.options.n_placed, len(so_far.results)):
            return self._with_placed(state, so_far)
        return None

    # The parts of a round -----------------------------------------------------------------------------------------

    def _with_tried(self, state: State, so_far: Round, proposals: Sequence[tuple[Hashable, ...]]) -> Round:
        """Try the next proposal in its surroundings."""
        members = proposals[so_far.n_tried]
        best = max((result.gain for result in so_far.results), default=None)
        self._show(state, f"proposal {so_far.n_tried + 1} of {len(proposals)}: {_in_words(members)}", best)
        around = self._around(state, members)
        key = (members, around.network.names, around.network.parents)
        if key not in self._tried or around.network.latent.any():
            hidden = fresh_latent_name(state.tree.names)
            self._tried[key] = self._local(around).begun(hidden, members, self._key(members))
        result = self._tried[key]
        if result is None:
            return replace(so_far, n_tried=so_far.n_tried + 1)
        result = self._renamed(result, state)
        return replace(so_far, n_tried=so_far.n_tried + 1, results=(*so_far.results, result))

    def _with_resized(self, state: State, so_far: Round, result: LocalResult) -> Round:
        """Split and merge the states of a hidden variable in its surroundings."""
        self._show(state, f"states above {_in_words(result.members)}", max(other.gain for other in so_far.results))
        around = self._around(state, result.members)
        key = (result.members, around.network.names, around.network.parents, "resized")
        if key not in self._tried or around.network.latent.any():
            self._tried[key] = self._local(around).resized(result, (*self._key(result.members), 1))
        new = self._renamed(self._tried[key], state)
        return replace(so_far, results=tuple(new if other is result else other for other in so_far.results))

    def _with_placed(self, state: State, so_far: Round) -> Round:
        """Put a hidden variable back into the whole network, and let structural EM change any edge."""
        result = _ranked(so_far)[so_far.n_placed]
        best = None if so_far.best is None else so_far.best.score - state.score
        self._show(state, f"edges around {_in_words(result.members)}", best)
        new = replace(so_far, n_placed=so_far.n_placed + 1)
        with suppress(ComponentTooLargeError):
            network = put_back(state.tree, self._around(state, result.members), result.network)
            scored = self._settled(self.fitter.from_tables(network))
            if result.hidden in scored.network.names and (new.best is None or scored.score > new.best.score):
                new = replace(new, best=scored, best_at=so_far.n_placed)
        return new

    def _renamed(self, result: LocalResult | None, state: State) -> LocalResult:
        """Return a result under the name that the next hidden variable has."""
        assert result is not None
        hidden = fresh_latent_name(state.tree.names)
        return replace(result, hidden=hidden, network=renamed(result.network, {result.hidden: hidden}))

    def _around(self, state: State, members: Sequence[Hashable]) -> Surroundings:
        """Return the surroundings of some columns and of the columns that are linked to them."""
        network: LatentNetwork = state.tree
        nodes = {network.index(name) for name in members}
        graph = skeleton(network.parents, range(network.n_nodes))
        around = nodes | {other for node in nodes for other in graph[node]}
        return surroundings(network, self._filled(state.memory), around)

    def _filled(self, memory: FindHiddenMemory) -> CategoricalData:
        """Return the table with its missing cells drawn by the network without new hidden variables."""
        base, data = memory.base, self.fitter.data
        if base is None or not data.has_missing.any():
            return data
        if self._drawn is None or self._drawn[0] is not base:
            self._drawn = base, filled(base, data, np.random.default_rng(self.search.seed(*DRAWS)))
            self._tried.clear()
        return self._drawn[1]

    def _local(self, around: Surroundings) -> LocalSearch:
        return LocalSearch(around, self.search.part(), self.fitter.scoring_method, self.options.local)

    def _key(self, members: Sequence[Hashable]) -> tuple[int, ...]:
        """Return the key of a proposal's seeds: the same in every round."""
        place = {name: at for at, name in enumerate(sorted(self.fitter.data.columns, key=sort_key))}
        return tuple(sorted(place[name] for name in members))

    def _show(self, state: State, words: str, gain: float | None) -> None:
        """Say what is tried, and the best gain so far."""
        best = "" if gain is None else f", best gain {gain:,.1f}"
        self.search.show(f"{words}{best}", state)

    # Decisions ----------------------------------------------------------------------------------------------------

    def _is_better(self, new: ScoredNetwork, old: ScoredNetwork) -> bool:
        """Tell whether a score is higher by enough, or higher at all if cross-validation agrees.

        Cross-validation is asked about hidden variables only: other edges among the columns must gain enough.
        """
        rise = new.score - old.score
        if rise > self.options.min_gain:
            return True
        if rise <= RISE or self.tie_break is None or not new.network.latent.any():
            return False
        return self.tie_break.prefers(new.network, old.network)

    def _decide(self, state: State, so_far: Round) -> Step:
        """Accept the best network of a round if the score rises by enough."""
        best, memory = so_far.best, state.memory
        accepted = best is not None and self._is_better(best, _scored(state))
        records = [_record(result, state) for result in _ranked(so_far)]
        if best is not None:
            records[so_far.best_at] = _updated(records[so_far.best_at], best, state, accepted)
        memory = replace(memory, candidates=(*memory.candidates, *records))
        if best is None or not accepted:
            return self._finished(replace(state, memory=memory))
        name, children = records[so_far.best_at].hidden, records[so_far.best_at].children
        n_states = best.network.cards[best.network.index(name)]
        target = f"{name} ({n_states} states): {', '.join(map(str, children))}"
        return Step(best.as_state(state.step + 1, memory), "introduce hidden variable", target)

    def _finished(self, state: State) -> Step:
        """Compare with latent trees, remove a hidden variable that is not needed any more, or fit for the last time."""
        memory: FindHiddenMemory = state.memory
        if memory.tree_score is None:
            return self._against_tree(state, memory)
        if memory.is_tree or memory.n_removals < MOST_REMOVALS:  # of a tree's, none comes back
            for hidden in _introduced(state.tree, memory):
                rival = self._without(state.tree, hidden)
                if not self._is_better(_scored(state), rival):
                    memory = _with_removed(memory, hidden, rival.network)
                    return Step(rival.as_state(state.step + 1, memory), "remove hidden variable", hidden)
        return self.finish(state)

    def _against_tree(self, state: State, memory: FindHiddenMemory) -> Step:
        """Go on from the best latent tree, with edges changed, if that is better than the network."""
        trees = [self._tree_as_network(tree) for tree in self._trees]
        rival = max(trees, key=lambda tree: tree.score, default=None)
        memory = replace(memory, tree_score=float("nan") if rival is None else rival.score)
        if rival is not None and self._may_be_taken(rival, state):
            grown = self._settled(rival.fit)
            if self._is_better(grown, _scored(state)):
                return self._with_tree(state, memory, grown)
        return self._finished(replace(state, memory=memory))

    def _with_tree(self, state: State, memory: FindHiddenMemory, grown: ScoredNetwork) -> Step:
        n_hidden = len(grown.network.latent_names)
        memory = replace(
            memory,
            is_tree=True,
            base=memory.base if n_hidden else grown.network,
            candidates=tuple(replace(candidate, kept=False) for candidate in memory.candidates),
        )
        words = f"{n_hidden} hidden variable{'s' * (n_hidden != 1)} left"
        return Step(grown.as_state(state.step + 1, memory), "begin with latent tree", words)

    def _tree_as_network(self, tree: LatentTree) -> ScoredNetwork:
        graph = graph_of(tree, "tree")
        return self.judged(self.fitter.first_fit(graph, latent_cards(graph, None), 1))

    def _may_be_taken(self, tree: ScoredNetwork, state: State) -> bool:
        """Tell whether a tree may become the network: if settings allow it, and if it is good or quickly changed."""
        options, local = self.options, self.options.local
        few = len(tree.network.latent_names) <= options.max_latents
        allowed = options.begins_anew and few and local.n_states is None and local.knowledge == NOTHING_KNOWN
        return allowed and (tree.score > state.score or is_small(self.fitter.data))

    def finish(self, state: State) -> Step:
        """Fit the current network to the end."""
        return last_step(state, self.judged(self.fitter.last_fit(state.tree)))

    def _without(self, network: LatentNetwork, hidden: Hashable) -> ScoredNetwork:
        """Return the network without a hidden variable, after structural EM.

        Better edges that are found on the way must not count as a merit of the hidden variable.
        """
        return self._settled(self.fitter.from_tables(self.fitter.without(network, hidden)))

    def _settled(self, fit: FittedNetwork) -> ScoredNetwork:
        """Let structural EM change any edge."""
        return self.judged(
            StructuralPolicy(self.fitter, self.options.max_parents, knowledge=self.options.local.knowledge)
            .to_the_end(fit)
            .fit
        )

    # Proposals ----------------------------------------------------------------------------------------------------

    def _proposals(self, state: State) -> list[tuple[Hashable, ...]]:
        """Return sets of columns that may have a hidden parent; not those where it gained nothing the last time."""
        options, network = self.options, state.tree
        if state.memory.is_tree or len(network.latent_names) >= options.max_latents:
            return []
        dense = dense_sets(network, options.min_children, options.shares)
        gains = {frozenset(candidate.members): candidate.local_gain for candidate in state.memory.candidates}
        groups = self._groups if state.memory.groups is None else state.memory.groups
        proposals = without_repeats([*dense[: options.max_candidates], *groups])
        return [members for members in proposals if gains.get(frozenset(members), 1.0) > 0]

    @cached_property
    def _groups(self) -> tuple[tuple[Hashable, ...], ...]:
        return tuple(group for tree in self._trees for group in groups_of_tree(tree, self.options.min_children))

    @cached_property
    def _trees(self) -> list[LatentTree]:
        return latent_trees(self.fitter.data, self.search) if self.options.use_tree else []


def _scored(state: State) -> ScoredNetwork:
    return ScoredNetwork(state.tree, state.score, state.log_likelihood)


def _ranked(so_far: Round) -> list[LocalResult]:
    """Return the results of a round, the highest gain first."""
    return sorted(so_far.results, key=lambda result: -result.gain)


def _in_words(members: Sequence[Hashable]) -> str:
    """Name the first of some columns, for the bar."""
    more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
    return ", ".join(map(str, members[:NAMED])) + more


def _introduced(network: LatentNetwork, memory: FindHiddenMemory) -> list[Hashable]:
    """Return the hidden variables that the search introduced."""
    base = network if memory.base is None else memory.base
    return [name for name in network.latent_names if name not in base.names]


def _record(result: LocalResult, state: State) -> Candidate:
    """Return the record of a proposal that was tried in its surroundings."""
    network = result.network
    n_states = int(network.cards[network.index(result.hidden)])
    return Candidate(
        state.step, result.hidden, result.members, n_states, _children(network, result.hidden), result.gain
    )


def _updated(candidate: Candidate, proposal: ScoredNetwork, state: State, kept: bool) -> Candidate:
    """Return a candidate with the figures of the whole network that was fitted with it."""
    network = proposal.network
    return replace(
        candidate,
        n_states=int(network.cards[network.index(candidate.hidden)]),
        children=_children(network, candidate.hidden),
        score=proposal.score,
        gain=proposal.score - state.score,
        kept=kept,
    )


def _children(network: LatentNetwork, hidden: Hashable) -> tuple[Hashable, ...]:
    return tuple(child for parent, child in network.edges if parent == hidden)


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
