"""The neighbourhood of a hidden variable, learned anew in its surroundings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from pgmpy_latent.exceptions import BlanketTooLargeError, ComponentTooLargeError
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.agglomeration.sizing import Sizing, SizingOptions
from pgmpy_latent.networks.find_hidden.memory import LocalResult
from pgmpy_latent.networks.find_hidden.surroundings import Surroundings
from pgmpy_latent.networks.fitter import FittedNetwork, Fitter, ScoredNetwork
from pgmpy_latent.networks.graph import Graph, nodes_in_order, parents_by_name
from pgmpy_latent.networks.knowledge import EdgeKnowledge
from pgmpy_latent.networks.states import with_a_state_less, with_a_state_more
from pgmpy_latent.networks.structural.policy import NOTHING_KNOWN, StructuralPolicy

#: Where structural EM begins: whether edges among the members are kept, and the number of states.
BEGIN = ((False, 3), (False, 4), (True, 2))
#: Smallest rise of the score for which states are split or merged.
WORTHWHILE = 0.1
#: Gain that EM leaves while surroundings are compared, in nats; its most iterations before edges change.
ATOL, FIRST_ITERATIONS = 0.5, 50
#: Of several starts of EM, the best 1/NARROWING go on after 1, 3, 7, ... iterations.
NARROWING = 2.0


@dataclass(frozen=True)
class LocalOptions:
    """What is tried around a hidden variable.

    Attributes
    ----------
    begin : tuple of (bool, int)
        Where structural EM begins: whether edges among the members are kept, and the number of states.
    n_states : int, optional
        Number of states, if it must not change.
    n_starts : int
        Random starts of EM for each of them.
    max_parents : int
        Most parents of a node.
    knowledge : EdgeKnowledge
        Which edges must be there, or must not.
    sizing : SizingOptions, optional
        How agglomeration finds a further number of states and the states to begin with; None does without.
    """

    begin: tuple[tuple[bool, int], ...] = BEGIN
    n_states: int | None = None
    n_starts: int = 4
    max_parents: int = 5
    knowledge: EdgeKnowledge = NOTHING_KNOWN
    sizing: SizingOptions | None = None


class LocalSearch:
    """Tries a hidden variable in some surroundings.

    Edges among its children are kept or dropped to begin with, it begins with several numbers of states, and structural
    EM then changes its parents and those of all nodes inside.

    Parameters
    ----------
    around : Surroundings
        Where.
    search : Search
        Runs EM.
    scoring_method : str
        What is maximised.
    options : LocalOptions
        How much is tried.
    """

    def __init__(self, around: Surroundings, search: Search, scoring_method: str, options: LocalOptions):
        self.around = around
        self.search = search
        self.fitter = Fitter(around.data, search, scoring_method)
        self.options = options

    @cached_property
    def base_score(self) -> float:
        """Score of the surroundings as they are."""
        if self.around.data.has_missing.any():
            return self.fitter.scored(self.fitter.from_tables(self.around.network)).score
        return self._score(self.around.network)

    def gain_of(self, network: LatentNetwork) -> float:
        """Return what the surroundings gain with a hidden variable, given the network of both."""
        return self._score(network) - self.base_score

    def _score(self, network: LatentNetwork) -> float:
        engine = self.fitter.engine(network.names, network.parents, network.cards)
        return self.fitter.score(network, float(engine.log_likelihood(engine.layout.pack(network.tables))))

    def begun(self, hidden: Hashable, members: Sequence[Hashable], key: tuple[int, ...]) -> LocalResult | None:
        """Return the best network with a new hidden variable above some nodes; None if none can be fitted."""
        best: ScoredNetwork | None = None
        for start in self._starts(hidden, members, key):
            with suppress(ComponentTooLargeError, BlanketTooLargeError):
                refined = self._refined(start(), self._may_link)
                best = refined if best is None or refined.score > best.score else best
        if best is None:
            return None
        gain = best.score - self.base_score
        return LocalResult(hidden, tuple(members), best.network, gain, gain, self.options.n_states is not None)

    def resized(self, result: LocalResult, key: tuple[int, ...]) -> LocalResult:
        """Split and merge states of the hidden variable, and change edges, for as long as the score rises."""
        network, gain, n_rounds, improved = result.network, result.gain, 0, True
        while improved:
            improved, n_rounds = False, n_rounds + 1
            rng = np.random.default_rng(self.search.seed(*key, n_rounds))
            for other in other_sizes(network, result.hidden, rng):
                new = self._refined(self.fitter.from_tables(other, atol=ATOL))
                if new.score - self.base_score > gain + WORTHWHILE:
                    network, gain, improved = new.network, new.score - self.base_score, True
        return replace(result, network=network, gain=gain, is_resized=True)

    def _starts(
        self, hidden: Hashable, members: Sequence[Hashable], key: tuple[int, ...]
    ) -> Iterator[Callable[[], FittedNetwork]]:
        options = self.options
        begin = options.begin
        if options.n_states is not None:
            begin = tuple(dict.fromkeys((keep, options.n_states) for keep, _ in begin))
        for at, (keep, n_states) in enumerate(begin):
            yield partial(self._at_random, hidden, members, keep, n_states, (*key, at))
        if options.sizing is not None and options.n_states is None:
            yield partial(self._agglomerated, hidden, members, options.sizing)

    def _at_random(
        self, hidden: Hashable, members: Sequence[Hashable], keep: bool, n_states: int, key: tuple[int, ...]
    ) -> FittedNetwork:
        """Run EM from random memberships."""
        network = self.around.network
        graph = with_hidden_parent(network, hidden, members, keep, self.options.knowledge)
        names, parents = nodes_in_order(graph, self.around.data)
        cards = {name: int(network.cards[network.index(name)]) for name in network.latent_names} | {hidden: n_states}
        known = network if network.latent.any() else None
        n_starts = self.options.n_starts
        em = {"n_jobs": 1, "narrowing": NARROWING, "atol": ATOL, "max_iter": FIRST_ITERATIONS}
        return self.fitter.from_scratch(names, parents, cards, n_starts, key, known, **em)

    def _agglomerated(self, hidden: Hashable, members: Sequence[Hashable], options: SizingOptions) -> FittedNetwork:
        """Run EM from the states that agglomeration finds without the edges among the members."""
        network = self.around.network
        names, parents = nodes_in_order(
            with_hidden_parent(network, hidden, members, False, self.options.knowledge), self.around.data
        )
        sizing = Sizing(self.around.data, self.search, names, parents, [hidden], network, options)
        return self.fitter.from_tables(sizing.best_network())

    def _refined(
        self, fit: FittedNetwork, may_link: Callable[[Hashable, Hashable], bool] | None = None
    ) -> ScoredNetwork:
        """Let structural EM change the parents of the nodes inside and of the new hidden variable."""
        outside = set(self.around.network.names) - set(self.around.inside)
        free = [name for name in fit.network.names if name not in outside]
        policy = StructuralPolicy(
            self.fitter, self.options.max_parents, free, self.around.paths, self.options.knowledge, may_link, ATOL
        )
        return policy.to_the_end(fit)

    def _may_link(self, parent: Hashable, child: Hashable) -> bool:
        """Tell whether an edge may be added: any to or from a new variable; others where families have both already."""
        return frozenset((parent, child)) in self._near or not {parent, child} <= self._known_names

    @cached_property
    def _known_names(self) -> frozenset[Hashable]:
        return frozenset(self.around.network.names)

    @cached_property
    def _near(self) -> set[frozenset[Hashable]]:
        """Pairs of nodes that are in one family."""
        network = self.around.network
        families = [[network.names[member] for member in (*above, node)] for node, above in enumerate(network.parents)]
        return {frozenset(pair) for family in families for pair in combinations(family, 2)}


def other_sizes(network: LatentNetwork, hidden: Hashable, rng: np.random.Generator) -> Iterator[LatentNetwork]:
    """Return the network with a state of a hidden variable less, if two are left, and with one more."""
    if int(network.cards[network.index(hidden)]) > 2:
        yield from with_a_state_less(network, hidden)
    yield from with_a_state_more(network, hidden, rng)


def with_hidden_parent(
    network: LatentNetwork,
    hidden: Hashable,
    members: Sequence[Hashable],
    keep_edges: bool = False,
    knowledge: EdgeKnowledge = NOTHING_KNOWN,
) -> Graph:
    """Return the graph with a hidden parent of some nodes, in place of the edges among them or besides these.

    Edges that must be there stay.

    Examples
    --------
    >>> network = LatentNetwork(["x", "y"], [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], [[0.5, 0.5]] * 2])
    >>> with_hidden_parent(network, "H", ["x", "y"]).parents
    {'H': (), 'x': ('H',), 'y': ('H',)}
    >>> with_hidden_parent(network, "H", ["x", "y"], keep_edges=True).parents
    {'H': (), 'x': ('H',), 'y': ('H', 'x')}
    """
    dropped = set() if keep_edges else set(members)
    parents = {hidden: ()} | parents_by_name(network)
    for name in members:
        kept = (above for above in parents[name] if above not in dropped or not knowledge.may_lose(above, name))
        parents[name] = (hidden, *kept)
    return Graph(parents, (hidden, *network.latent_names))
