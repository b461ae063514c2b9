"""Hidden variables that a network seems to lack: proposed, sized, refined and judged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations, count

import numpy as np

from pgmpy_latent.exceptions import BlanketTooLargeError, ComponentTooLargeError, UnsplittableStateError
from pgmpy_latent.learners.resumed import check_again, check_memory, check_model_again, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.learners.skeletons import fresh_latent_name
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.agglomeration.sizing import Sizing, SizingOptions
from pgmpy_latent.networks.find_hidden.semi_cliques import semi_cliques, skeleton
from pgmpy_latent.networks.fitter import Fitter
from pgmpy_latent.networks.graph import Graph, nodes_in_order, parents_by_name
from pgmpy_latent.networks.states import distance, merge_states, split_state
from pgmpy_latent.networks.structural.policy import StructuralPolicy, changes_in_words
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.clock import STOP_SIGNALS

#: How many pairs of states are tried to be merged.
MERGES = 3
#: Smallest rise of the score that counts as one.
RISE = 0.1
#: How often it may happen that hidden variables are left out again and further ones proposed.
ROUNDS = 5
#: Columns of ``candidates_`` and their types.
CANDIDATES = {
    "step": "int64", "hidden": object, "members": object, "n_states": "int64", "children": object, "score": "float64",
    "gain": "float64", "kept": "bool",
}  # fmt: skip
#: What a file must say about each of them.
KINDS = {"int64": int, "float64": float, "bool": bool}


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
    """Proposes a hidden parent for every semi-clique of the network, and keeps the best one; then again.

    Parameters
    ----------
    fitter : Fitter
        Fits networks, and scores their families.
    judge : callable
        What networks are compared by, given a network and its log-likelihood; larger is better.
    options : Options
        How.

    Attributes
    ----------
    candidates : list of dict
        What was proposed, and what became of it.
    base : LatentNetwork or None
        The network without further hidden variables, once its edges were learned.
    best : State or None
        The best proposal of this round so far.
    """

    def __init__(self, fitter: Fitter, judge: Callable[[LatentNetwork, float], float], options: Options):
        self.fitter = fitter
        self.search: Search = fitter.search
        self.judge = judge
        self.options = options
        self.candidates: list[dict] = []
        self.base: LatentNetwork | None = None
        self.best: State | None = None

    def state(self, network: LatentNetwork, log_likelihood: float, step: int, memory: dict) -> State:
        """Return a state of the search."""
        return State(network, self.judge(network, log_likelihood), log_likelihood, step, memory)

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint is not what the table says, or what this policy remembers."""
        data, memory = self.fitter.data, state.memory
        check_again(state, data, self.judge)
        check_memory(memory, phase=("edges", "propose"))
        if memory.get("rounds", 0) not in range(ROUNDS + 1):
            raise ValueError(f"its memory of 'rounds' is {memory['rounds']!r}")
        if memory.get("base") is not None:
            check_model_again(memory["base"], data.columns, data.state_names)
        for record in memory.get("candidates", []):
            numbers = {name: KINDS[kind] for name, kind in CANDIDATES.items() if kind is not object}
            check_memory(record, members=list, children=list, **numbers)
            if {*record} != {*CANDIDATES}:
                raise ValueError("its memory of 'candidates' is not what was proposed")
        check_over(state, memory["phase"] == "propose" and "round" not in memory and memory.get("base") is not None)
        if "round" in memory:
            check_memory(memory["round"], tried=int)
            best = memory["round"]["best"]
            if best is not None:
                check_again(self._as_state(state, best), data, self.judge)

    def remember(self, memory: dict) -> None:
        """Take up what a search that is to go on knew; no step of this one must have been taken yet."""
        if self.base is None:
            self.base = memory.get("base")
            self.candidates = [dict(record) for record in memory.get("candidates", [])]

    def advance(self, state: State) -> Step:
        """Take the next step: learn the edges, if that was asked for, and then propose hidden variables."""
        self.remember(state.memory)
        taken = self._advance(state)
        known = {"base": self.base, "candidates": [dict(record) for record in self.candidates]}
        return replace(taken, state=replace(taken.state, memory={**taken.state.memory, **known}))

    def _advance(self, state: State) -> Step:
        if state.memory["phase"] != "edges":
            self.base = state.tree if self.base is None else self.base
            return self._propose(state)
        policy = StructuralPolicy(self.fitter, self.options.max_parents)
        better = policy.improved(self.fitter.state(state.tree, state.log_likelihood, state.step))
        if better is None:
            self.base = state.tree
            return Step(replace(state, memory={"phase": "propose"}))
        new = self.state(better.tree, better.log_likelihood, state.step + 1, state.memory)
        self.base = new.tree
        return Step(new, "change edges", changes_in_words(state.tree, new.tree))

    def _propose(self, state: State) -> Step:
        """Try the next proposal; after the last one, take the best if it is better than the network without it."""
        round_so_far = state.memory.get("round", {"tried": 0, "best": None})
        state = replace(state, memory={name: own for name, own in state.memory.items() if name != "round"})
        self.best = None if round_so_far["best"] is None else self._as_state(state, round_so_far["best"])
        proposals = self._proposals(state.tree)
        try:
            if round_so_far["tried"] < len(proposals):
                self._try(state, proposals[round_so_far["tried"]])
                known = None if self.best is None else [self.best.tree, self.best.score, self.best.log_likelihood]
                tried = {"tried": round_so_far["tried"] + 1, "best": known}
                return Step(replace(state, memory={**state.memory, "round": tried}))
            self._tune(state)
        except STOP_SIGNALS as stop:
            if self.best is None or self.best.score <= state.score + self.options.min_gain:
                raise
            self.search.note_interrupt(stop)  # what was found so far is kept
        best = self.best
        if best is None:
            return self._finished(state)
        name = next(name for name in best.tree.latent_names if name not in state.tree.latent_names)
        record = max((one for one in self.candidates if one["hidden"] == name), key=lambda one: one["score"])
        record |= self._figures(best, state, name)
        if best.score <= state.score + self.options.min_gain:
            return self._finished(state)
        record["kept"] = True
        children = [child for parent, child in best.tree.edges if parent == name]
        words = f"{name} ({best.tree.cards[best.tree.index(name)]} states): {', '.join(map(str, children))}"
        return Step(replace(best, step=state.step + 1), "introduce hidden variable", words)

    @staticmethod
    def _as_state(state: State, found: Sequence) -> State:
        """Return the best proposal of a round as the state that would follow."""
        tree, score, log_likelihood = found
        return State(tree, score, log_likelihood, state.step + 1, state.memory)

    def _try(self, state: State, members: Sequence[int]) -> None:
        """Evaluate a proposal, and keep it if it is the best of its round."""
        with suppress(ComponentTooLargeError):  # cannot be fitted
            found = self._evaluated(state, members)
            if self.best is None or found.score > self.best.score:
                self.best = found
            self.search.show(f"{len(self.candidates)} proposals", self.best)

    def _tune(self, state: State) -> None:
        """Find the number of states of the best proposal, and the edges around it."""
        if self.best is not None:
            name = next(name for name in self.best.tree.latent_names if name not in state.tree.latent_names)
            self.best = self._resized(self.best, name)
            if self.best.score > state.score:
                self.best = self._settled(self.best)

    def _finished(self, state: State) -> Step:
        """Leave out hidden variables that are not needed any more, and propose again; or fit for the last time."""
        rounds = state.memory.get("rounds", 0)
        if rounds < ROUNDS:
            for hidden in self._own_hidden(state.tree):
                rival = self._without(state, hidden)
                if rival.score > state.score - self.options.min_gain:
                    for record in self.candidates:
                        record["kept"] &= record["hidden"] != hidden
                    if not self._own_hidden(rival.tree):
                        self.base = rival.tree
                    rival = replace(rival, memory={**state.memory, "rounds": rounds + 1})
                    return Step(rival, "remove hidden variable", hidden)
        return self.finish(state)

    def finish(self, state: State) -> Step:
        """Fit the current network to the end."""
        settings = self.search.settings
        options = settings.last_fit
        final = self.state(*self.fitter.from_tables(state.tree, **options), state.step + 1, state.memory)
        if final.score < state.score:
            return Step(replace(state, finished=True))
        return Step(replace(final, finished=True), "fit", None)

    def _own_hidden(self, network: LatentNetwork) -> list[Hashable]:
        """Return the hidden variables that were introduced here."""
        return [name for name in network.latent_names if name not in self.base.names]

    def _without(self, state: State, hidden: Hashable) -> State:
        """Return the network without a hidden variable, after structural EM.

        Better edges that were found on the way are none of the hidden variable's merits.
        """
        found = self._refined(*self.fitter.from_tables(self.fitter.without(state.tree, hidden)))
        return self.state(*found, state.step + 1, state.memory)

    def _proposals(self, network: LatentNetwork) -> list[tuple[int, ...]]:
        if len(network.latent_names) >= self.options.max_latents:
            return []
        observed = np.flatnonzero(~network.latent).tolist()
        found = semi_cliques(skeleton(network.parents, observed), self.options.min_children)
        return found[: self.options.max_candidates]

    def _evaluated(self, state: State, members: Sequence[int]) -> State:
        """Return the network with a hidden parent of some nodes."""
        network = state.tree
        names = [network.names[node] for node in members]
        hidden = fresh_latent_name(network.names)
        graph = with_hidden_parent(network, hidden, names)
        sized = self._sized(graph, network, hidden, state.step)
        found = [self._refined(*one, free={hidden, *names}) for one in sized]
        new = max((self.state(*one, state.step + 1, state.memory) for one in found), key=lambda one: one.score)
        record = {"step": state.step, "hidden": hidden, "members": names, "kept": False}
        self.candidates.append(record | self._figures(new, state, hidden))
        return new

    def _figures(self, new: State, old: State, hidden: Hashable) -> dict:
        network = new.tree
        return {
            "n_states": int(network.cards[network.index(hidden)]),
            "children": [child for parent, child in network.edges if parent == hidden],
            "score": new.score,
            "gain": new.score - old.score,
        }

    def _sized(
        self, graph: Graph, network: LatentNetwork, hidden: Hashable, step: int
    ) -> Iterator[tuple[LatentNetwork, float]]:
        """Fit the network with the number of states that was asked for; or with that found, and with two.

        Two states begin at random: where other hidden variables stand near, agglomeration may have seen too little.
        """
        data = self.fitter.data
        names, parents = nodes_in_order(graph, data)
        known = {name: int(network.cards[network.index(name)]) for name in network.latent_names}
        key = (step, len(self.candidates))
        if self.options.n_states is not None:
            cards = {**known, hidden: self.options.n_states}
            yield self.fitter.from_scratch(names, parents, cards, self.options.n_starts, key)
            return
        work = Sizing(data, self.search, names, parents, [hidden], network, self.options.sizing)
        try:
            found = work.found()
        except BlanketTooLargeError:  # too many children and co-parents to tell apart
            yield self._sized_from_scratch(names, parents, known, hidden, key)
            return
        yield self.fitter.from_tables(found)
        yield self.fitter.from_scratch(names, parents, {**known, hidden: 2}, self.options.n_starts, key)

    def _sized_from_scratch(
        self, names: Sequence, parents: Sequence, known: dict, hidden: Hashable, key: tuple[int, ...]
    ) -> tuple[LatentNetwork, float]:
        """Give a hidden variable more and more states, from random starts, for as long as the score rises."""
        best, highest = None, -np.inf
        for n_states in count(2):
            cards = {**known, hidden: n_states}
            found = self.fitter.from_scratch(names, parents, cards, self.options.n_starts, (*key, n_states))
            score = self.fitter.score(*found)
            if score <= highest:
                return best
            best, highest = found, score

    def _settled(self, state: State) -> State:
        """Let structural EM change any edge."""
        found = self.state(*self._refined(state.tree, state.log_likelihood), state.step, state.memory)
        return found if found.score > state.score else state

    def _resized(self, state: State, hidden: Hashable) -> State:
        """Split and merge states of the hidden variable for as long as the network gets better."""
        while self.options.n_states is None:
            network, best = state.tree, state
            n_states = int(network.cards[network.index(hidden)])
            rng = np.random.default_rng(self.search.seed(state.step, len(self.candidates), n_states))
            for other in other_sizes(network, hidden, rng):
                self.search.tick()
                new = self.state(*self.fitter.from_tables(other), state.step, state.memory)
                best = new if new.score > best.score + RISE else best
            if best is state:
                break
            state = best
        return state

    def _refined(
        self, network: LatentNetwork, log_likelihood: float, free: set | None = None
    ) -> tuple[LatentNetwork, float]:
        """Let structural EM change the parents of some nodes, or of all."""
        policy = StructuralPolicy(self.fitter, self.options.max_parents, free)
        state = self.fitter.state(network, log_likelihood, 0)
        while (better := policy.improved(state)) is not None:
            state = better
        return state.tree, state.log_likelihood


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
