"""Structural EM as a policy: complete the table, climb over families, fit, and again."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace

from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.learners.search import Step
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.fitter import Fitter
from pgmpy_latent.networks.hill_climb import Climber
from pgmpy_latent.runtime.checkpoint import State

#: Smallest rise of the score that counts as one.
RISE = 1e-3


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
    """

    def __init__(self, fitter: Fitter, max_parents: int, free: Collection | None = None):
        self.fitter = fitter
        self.max_parents = max_parents
        self.free = free

    def improved(self, state: State) -> State | None:
        """Return the state after one round, or None if nothing better was found."""
        try:
            return self._improved(state)
        except ComponentTooLargeError as error:
            warnings.warn(f"no further edges were tried: {error}", ConvergenceWarning, stacklevel=2)
            return None

    def _improved(self, state: State) -> State | None:
        network = state.tree
        completion = self.fitter.completion(network)

        def score(node: int, parents: tuple[int, ...]) -> float:
            counts = completion.counts((*parents, node)).reshape(-1, int(network.cards[node]))
            return self.fitter.family_score(counts, self.fitter.data.total_weight)

        free = [n for n, name in enumerate(network.names) if self.free is None or name in self.free]
        climber = Climber(score, free, self.max_parents, tick=self.fitter.search.tick)
        parents = climber.climb(network.parents)
        if [set(above) for above in parents] == [set(above) for above in network.parents]:
            return None
        new = self.fitter.with_parents(network, parents, completion)
        found, log_likelihood = self.fitter.from_tables(new)
        better = self.fitter.state(found, log_likelihood, state.step + 1, state.memory)
        return better if better.score > state.score + RISE else None

    def advance(self, state: State) -> Step:
        """Take the next step of a search."""
        better = self.improved(state)
        if better is not None:
            return Step(better, "change edges", changes_in_words(state.tree, better.tree))
        return self.finish(state)

    def finish(self, state: State) -> Step:
        """Fit the current network to the end."""
        settings = self.fitter.search.settings
        network, log_likelihood = self.fitter.from_tables(state.tree, **settings.last_fit)
        final = self.fitter.state(network, log_likelihood, state.step + 1, state.memory)
        if final.score < state.score:  # Cheeseman-Stutz may fall where the likelihood rises
            return Step(replace(state, finished=True))
        return Step(replace(final, finished=True), "fit", None)


def changes_in_words(old: LatentNetwork, new: LatentNetwork) -> str:
    """Say how the edges of two networks differ."""
    before, after = set(old.edges), set(new.edges)
    turned = {(a, b) for a, b in after - before if (b, a) in before}
    added, removed = len(after - before - turned), len(before - after - {(b, a) for a, b in turned})
    return f"{added} added, {removed} removed, {len(turned)} turned"
