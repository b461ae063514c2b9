"""Numbers of states of hidden variables: agglomeration proposes, EM decides."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgmpy_latent import scores
from pgmpy_latent.data import CategoricalData
from pgmpy_latent.learners._search import Search
from pgmpy_latent.network import LatentNetwork
from pgmpy_latent.networks._round_robin import Assignment, round_robin
from pgmpy_latent.propagation.network_engine import NetworkEngine
from pgmpy_latent.queries import engine_for

#: Pseudo-count of every entry where EM begins, if there is no prior: nothing is ruled out.
SMOOTHING = 0.1
#: Further numbers of states are tried until so many in turn were no better.
PATIENCE = 2


@dataclass(frozen=True)
class SizingOptions:
    """How numbers of states are found; see :class:`~pgmpy_latent.AgglomerativeCardinality`."""

    scoring_method: str = "bde"
    prior: float = 1.0
    decide: str = "em"
    max_initial: int = 2_000
    fewest: int = 1

    @property
    def em_prior(self) -> float:
        """Pseudo-count of EM."""
        return self.prior if self.scoring_method == "bde" else 0.0


class Sizing:
    """Finds how many states the hidden variables of a graph need, and fits the network.

    Parameters
    ----------
    data : CategoricalData
        The table.
    search : Search
        Runs EM and keeps the time.
    names, parents : sequences
        The graph, by position.
    wanted : sequence of names
        Hidden variables to size.
    fixed : dict
        Hidden variables whose number of states is known.
    options : SizingOptions
        How.

    Attributes
    ----------
    assignment : Assignment
        States of the hidden variables in every row, and their agglomerations.
    agglomerated : dict
        Numbers of states by the agglomeration alone.
    em_scores : list of (name, number of states, score)
        What EM said.
    history : list of dict
        What was accepted.
    """

    def __init__(
        self,
        data: CategoricalData,
        search: Search,
        names: Sequence[Hashable],
        parents: Sequence[Sequence[int]],
        wanted: Sequence[Hashable],
        fixed: Mapping[Hashable, int],
        options: SizingOptions,
    ):
        self.data = data
        self.search = search
        self.wanted = list(wanted)
        self.fixed = dict(fixed)
        self.options = options
        self.assignment = Assignment.of(names, parents, [*wanted, *fixed], data)
        self.agglomerated: dict[Hashable, int] = {}
        self.em_scores: list[tuple[Hashable, int, float]] = []
        self.history: list[dict] = []

    def run(self) -> tuple[LatentNetwork, float]:
        """Return the fitted network and its log-likelihood; if time is up, as far as it got."""
        network = None
        try:
            network = self.found()
            settings = self.search.settings
            network, log_likelihood = self._fitted(
                network, first=True, atol=settings.tol, max_iter=settings.max_iter, polish=True
            )
        except KeyboardInterrupt:
            self.search.note_interrupt()
            network = self.network() if network is None else network
            engine = engine_for(network, self.data)
            log_likelihood = float(engine.log_likelihood(engine.layout.pack(network.tables)))
        self._note("fit", None, self.score(network, log_likelihood), log_likelihood)
        return network, log_likelihood

    def found(self) -> LatentNetwork:
        """Return the network with the best numbers of states, fitted for comparison only; an interrupt goes on."""
        self._agglomerate()
        return self._decided()[0]

    def _note(self, operator: str, target: Hashable, score: float, log_likelihood: float) -> None:
        n = scores.n_parameters(self.network())
        self.history.append(self.search.entry(len(self.history), operator, target, score, log_likelihood, n))

    # -- agglomeration --------------------------------------------------------------------------------------------

    def _agglomerate(self) -> None:
        score = 0.0

        def accepted(name: Hashable, gain: float) -> None:
            nonlocal score
            score += gain
            self.agglomerated[name] = int(self.assignment.cards[self.assignment.names.index(name)])
            self._note("agglomerate", name, score, np.nan)

        options = self.options
        round_robin(
            self.assignment, [*self.fixed, *self.wanted], self.fixed, options.scoring_method, options.prior,
            options.max_initial, options.fewest, accepted, self.search.tick,
        )  # fmt: skip

    def network(self) -> LatentNetwork:
        """Return the network with the tables that the completed table says."""
        given = self.assignment
        engine = NetworkEngine(given.parents, given.cards, given.codes, given.weights, given.names)
        counts = engine.known_counts + (self.options.em_prior or SMOOTHING)
        tables = engine.layout.unpack(counts / engine.layout.row_sums(counts))
        seen = dict(zip(self.data.columns, self.data.state_names, strict=True))
        states = [seen.get(name, tuple(range(card))) for name, card in zip(given.names, given.cards, strict=True)]
        hidden = {*self.wanted, *self.fixed}
        return LatentNetwork(given.names, states, given.parents, [name in hidden for name in given.names], tables)

    def with_states(self, name: Hashable, n_states: int) -> LatentNetwork:
        """Return the network with another number of states of a variable that was agglomerated."""
        self._take(name, n_states)
        return self.network()

    # -- EM -------------------------------------------------------------------------------------------------------

    def _fitted(self, network: LatentNetwork, **options) -> tuple[LatentNetwork, float]:
        engine = engine_for(network, self.data)
        options = {"prior": self.options.em_prior, **options}
        found = self.search.fit(engine, engine.layout.pack(network.tables), **options)
        return network.with_tables(engine.layout.unpack(found.tables)), found.log_likelihood

    def score(self, network: LatentNetwork, log_likelihood: float) -> float:
        """Return EM's score: Cheeseman-Stutz, or the BIC."""
        if self.options.scoring_method == "bde":
            return scores.cheeseman_stutz(network, self.data, prior=self.options.prior)
        penalty = scores.n_parameters(network) / 2 * np.log(self.data.total_weight)
        return float(log_likelihood - penalty)

    def _decided(self) -> tuple[LatentNetwork, float]:
        """Let EM choose among numbers of states around those found, one variable after the other."""
        best = self._fitted(self.network())
        value = self.score(*best)
        for name in self.wanted if self.options.decide == "em" else ():
            n_found = self.agglomerated.get(name, 1)
            self.em_scores.append((name, n_found, value))
            chosen, best, value = self._best_number(name, n_found, best, value)
            if chosen != n_found:
                self._take(name, chosen)
                self._note("decide", name, value, best[1])
        return best

    def _take(self, name: Hashable, n_states: int) -> None:
        trace, first, _ = self.assignment.traces[name]
        self.assignment.assign(self.assignment.names.index(name), trace.labels(n_states)[first])

    def _best_number(self, name: Hashable, n_found: int, best: tuple[LatentNetwork, float], value: float):
        """Go up and down from a number of states for as long as EM's score rises, or nearly."""
        chosen, n_most = n_found, self.assignment.traces[name][0].n_first
        for direction in (-1, 1):
            n_states, waited = n_found + direction, 0
            while self.options.fewest <= n_states <= n_most and waited < PATIENCE:
                self._take(name, n_states)
                tried = self._fitted(self.network())
                score = self.score(*tried)
                self.em_scores.append((name, n_states, score))
                waited = 0 if score > value else waited + 1
                if score > value:
                    chosen, best, value = n_states, tried, score
                n_states += direction
            if chosen < n_found:
                break  # fewer are better: more would not be
        self._take(name, chosen)
        return chosen, best, value

    # -- what is kept ---------------------------------------------------------------------------------------------

    def trace_frame(self) -> pd.DataFrame:
        """Return the score of every number of states."""
        frames = []
        for name in self.wanted:
            if name in self.assignment.traces:
                trace = self.assignment.traces[name][0]
                gains = np.concatenate([[np.nan], trace.gains])
                frames.append(pd.DataFrame({"n_states": trace.n_states, "score": trace.scores, "gain": gains}))
                frames[-1].insert(0, "hidden", pd.Series([name] * len(gains), dtype=object))
        columns = ["hidden", "n_states", "score", "gain"]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    def score_frame(self) -> pd.DataFrame:
        """Return what EM said about numbers of states."""
        places = {name: at for at, name in enumerate(self.wanted)}
        rows = sorted(self.em_scores, key=lambda row: (places[row[0]], row[1]))
        return pd.DataFrame(rows, columns=["hidden", "n_states", "score"])
