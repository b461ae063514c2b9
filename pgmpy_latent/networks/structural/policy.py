"""Structural EM as a policy: complete the table, climb over families, fit, and again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.learners.search import Step
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.fitter import FittedNetwork, Fitter, ScoredNetwork
from pgmpy_latent.networks.hill_climb import Climber
from pgmpy_latent.networks.knowledge import EdgeKnowledge
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.warn import warn

#: Smallest rise of the score that counts as one.
RISE = 1e-3
NOTHING_KNOWN = EdgeKnowledge()


class StructuralPolicy:
    """Structural EM.

    Parameters
    ----------
    fitter : Fitter
        Fits and scores networks.
    max_parents : int
        Most parents of a node.
    free : collection of names, optional
        Nodes whose parents may change; all by default.
    paths : dict of name to names, optional
        Nodes from which a directed path leads to a node that is no part of the network; see
        :class:`~pgmpy_latent.networks.hill_climb.Climber`.
    knowledge : EdgeKnowledge
        Which edges must be there, or must not.
    may_link : callable, optional
        Whether an edge may be added besides, given the names of parent and child.
    atol : float, optional
        Gain that EM may leave; that of the search by default.
    """

    def __init__(
        self,
        fitter: Fitter,
        max_parents: int,
        free: Collection | None = None,
        paths: Mapping[Hashable, Collection[Hashable]] | None = None,
        knowledge: EdgeKnowledge = NOTHING_KNOWN,
        may_link: Callable[[Hashable, Hashable], bool] | None = None,
        atol: float | None = None,
    ):
        self.fitter = fitter
        self.max_parents = max_parents
        self.free = free
        self.paths = paths
        self.knowledge = knowledge
        self.may_link = may_link
        self.em: dict[str, float] = {} if atol is None else {"atol": atol}

    def improved(self, current: ScoredNetwork) -> ScoredNetwork | None:
        """Return the network after one round of hill climbing and EM, or None if its score is not higher."""
        try:
            return self._improved(current)
        except ComponentTooLargeError as error:
            warn(f"no further edges were tried: {error}", ConvergenceWarning)
            return None

    def _improved(self, current: ScoredNetwork) -> ScoredNetwork | None:
        network = current.network
        completion = self.fitter.completion(network)

        def may_have(node: int, parents: tuple[int, ...]) -> bool:
            return self.fitter.fits_the_rows(network.cards[[node, *parents]])

        climber = Climber(
            lambda node, parents: self.fitter.family(completion, node, parents),
            [node for node, name in enumerate(network.names) if self.free is None or name in self.free],
            self.max_parents,
            self.fitter.search.tick,
            may_have,
            lambda parent, child: self.knowledge.may_lose(network.names[parent], network.names[child]),
            times=self.knowledge.places(network.names),
            may_link=self._links(network),
            paths=self._paths(network),
        )
        parents = climber.climb(network.parents)
        if [set(above) for above in parents] == [set(above) for above in network.parents]:
            return None
        new = self.fitter.from_tables(self.fitter.with_parents(network, parents, completion), **self.em)
        better = self.fitter.scored(new)
        return better if better.score > current.score + RISE else None

    def to_the_end(self, fit: FittedNetwork) -> ScoredNetwork:
        """Return the network after as many rounds as raise its score."""
        current = self.fitter.scored(fit)
        while (better := self.improved(current)) is not None:
            current = better
        return current

    def _links(self, network: LatentNetwork) -> np.ndarray | None:
        if self.may_link is None and self.knowledge == NOTHING_KNOWN:
            return None

        def may_link(above: Hashable, name: Hashable) -> bool:
            return self.knowledge.may_link(above, name) and (self.may_link is None or self.may_link(above, name))

        return np.array([[may_link(above, name) for name in network.names] for above in network.names])

    def _paths(self, network: LatentNetwork) -> list[list[int]] | None:
        if self.paths is None:
            return None
        return [[network.index(above) for above in self.paths.get(name, ())] for name in network.names]

    def advance(self, state: State) -> Step:
        """Take the next step of a search."""
        better = self.improved(ScoredNetwork(state.tree, state.score, state.log_likelihood))
        if better is None:
            return self.finish(state)
        words = changes_in_words(state.tree, better.network)
        return Step(better.as_state(state.step + 1, state.memory), "change edges", words)

    def finish(self, state: State) -> Step:
        """Fit the current network to the end."""
        return last_step(state, self.fitter.scored(self.fitter.last_fit(state.tree)))


def last_step(state: State, final: ScoredNetwork) -> Step:
    """Return the end of a search, whose network was fitted to the end: as it was before, if its score fell.

    Cheeseman-Stutz may fall although the likelihood rises.
    """
    if final.score < state.score:
        return Step(replace(state, finished=True))
    return Step(replace(final.as_state(state.step + 1, state.memory), finished=True), "fit", None)


def changes_in_words(old: LatentNetwork, new: LatentNetwork) -> str:
    """Say how the edges of two networks differ."""
    before, after = set(old.edges), set(new.edges)
    turned = {(a, b) for a, b in after - before if (b, a) in before}
    added, removed = len(after - before - turned), len(before - after - {(b, a) for a, b in turned})
    return f"{added} added, {removed} removed, {len(turned)} turned"
