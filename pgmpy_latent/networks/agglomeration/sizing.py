"""Numbers of states of hidden variables: agglomeration proposes, EM decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.agglomeration.merging import Scoring, Trace, agglomerate, check_trace
from pgmpy_latent.networks.agglomeration.round_robin import Assignment, round_robin
from pgmpy_latent.networks.fitter import network_score
from pgmpy_latent.networks.states import distance, merge_states
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.runtime.lossless_json import plain
from pgmpy_latent.tables.encode import CategoricalData

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
    model : LatentNetwork, optional
        Knows all other hidden variables: they keep their number of states, and begin with the state that it finds most
        likely in each row.
    options : SizingOptions
        How.
    memo : Memo, optional
        Knows agglomerations and fits of a run that was killed.

    Attributes
    ----------
    assignment : Assignment
        States of the hidden variables in every row, and their agglomerations.
    agglomerated : dict
        Numbers of states by the agglomeration alone.
    em_scores : dict
        (Name, number of states) -> what EM said last.
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
        model: LatentNetwork | None,
        options: SizingOptions,
        memo: Memo | None = None,
    ):
        self.data = data
        self.memo = Memo() if memo is None else memo
        self._asked = Counter()
        self.search = search
        self.wanted = list(wanted)
        self.options = options
        self.hidden = {name for name in names if name not in set(data.columns)}
        self.assignment = Assignment.of(names, parents, list(self.hidden), data)
        others = [name for name in names if name in self.hidden and name not in set(wanted)]
        if others:
            self._take_from(model, others)
        self.agglomerated: dict[Hashable, int] = {}
        self.em_scores: dict[tuple[Hashable, int], float] = {}
        self.history: list[dict] = []
        self._best: tuple[LatentNetwork, float] | None = None

    def _take_from(self, model: LatentNetwork, names: Sequence[Hashable]) -> None:
        """Give hidden variables the states that a model finds most likely."""
        engine = engine_for(model, self.data)
        beliefs = engine.beliefs(engine.layout.pack(model.tables), [model.index(name) for name in names])
        for name, belief in zip(names, beliefs, strict=True):
            states = np.nan_to_num(belief).argmax(axis=1)
            self.assignment.assign(self.assignment.names.index(name), states, belief.shape[1])

    def run(self) -> tuple[LatentNetwork, float]:
        """Return the fitted network and its log-likelihood; if time is up, the best so far."""
        try:
            with self.memo.going_on:
                network = self.found()
                self._best = self._fitted(network, **self.search.settings.last_fit)
        except STOP_SIGNALS as stop:
            self.search.note_interrupt(stop)
        if self.search.stopped is None:
            self.memo.finish()
        else:
            self.memo.tend(now=True)
        network, log_likelihood = self._as_it_is() if self._best is None else self._best
        if self.search.stopped is not None:
            network, log_likelihood = self._finished(network, log_likelihood)
        self._note("fit", None, self.score(network, log_likelihood), log_likelihood, network)
        return network, log_likelihood

    def _finished(self, network: LatentNetwork, log_likelihood: float) -> tuple[LatentNetwork, float]:
        """Fit what there is when the time is up, in the time that was kept for it."""
        self.search.remaining_gain = np.inf
        if self.search.stopped == "time_limit":
            self.search.clock.use_reserve()
            try:
                return self._fitted(network, **self.search.settings.last_fit)
            except STOP_SIGNALS as stop:
                self.search.note_interrupt(stop)
        return network, log_likelihood

    def _as_it_is(self) -> tuple[LatentNetwork, float]:
        network = self.network()
        engine = engine_for(network, self.data)
        return network, float(engine.log_likelihood(engine.layout.pack(network.tables)))

    def found(self) -> LatentNetwork:
        """Return the network with the best numbers of states, fitted for comparison only; an interrupt goes on."""
        self._agglomerate()
        self._decide()
        return self._best[0]

    def _note(
        self, operator: str, target: Hashable, score: float, log_likelihood: float, network: LatentNetwork
    ) -> None:
        n = network.n_parameters
        self.history.append(self.search.entry(len(self.history), operator, target, score, log_likelihood, n))

    # -- agglomeration --------------------------------------------------------------------------------------------

    def _agglomerate(self) -> None:
        score = 0.0

        def accepted(name: Hashable, gain: float) -> None:
            nonlocal score
            score += gain
            self.agglomerated[name] = int(self.assignment.cards[self.assignment.names.index(name)])
            self._note("agglomerate", name, score, np.nan, self.network())

        options = self.options
        round_robin(
            self.assignment, self.wanted, options.scoring_method, options.prior,
            options.max_initial, options.fewest, accepted, self.search.tick, self._agglomerated,
        )  # fmt: skip

    def network(self) -> LatentNetwork:
        """Return the network with the tables that the completed table says."""
        given = self.assignment
        engine = NetworkEngine(given.parents, given.cards, given.codes, given.weights, given.names)
        counts = engine.known_counts + (self.options.em_prior or SMOOTHING)
        tables = engine.layout.unpack(counts / engine.layout.row_sums(counts))
        seen = dict(zip(self.data.columns, self.data.state_names, strict=True))
        states = [seen.get(name, tuple(range(card))) for name, card in zip(given.names, given.cards, strict=True)]
        latent = [name in self.hidden for name in given.names]
        return LatentNetwork(given.names, states, given.parents, latent, tables)

    def with_states(self, name: Hashable, n_states: int) -> LatentNetwork:
        """Return the network with another number of states of a variable that was agglomerated."""
        self._take(name, n_states)
        return self.network()

    # -- EM -------------------------------------------------------------------------------------------------------

    def _fitted(self, network: LatentNetwork, **options) -> tuple[LatentNetwork, float]:
        options = {"prior": self.options.em_prior, **options}

        def fitted() -> tuple[LatentNetwork, float]:
            engine = engine_for(network, self.data)
            found = self.search.fit(engine, engine.layout.pack(network.tables), **options)
            return network.with_tables(engine.layout.unpack(found.tables)), found.log_likelihood

        def check(known: tuple[LatentNetwork, float]) -> None:
            found, log_likelihood = known
            if found.names != network.names or found.parents != network.parents:
                raise ValueError("a network in it is not the one that was to be fitted")
            if repr(plain(found.state_names)) != repr(plain(network.state_names)):
                raise ValueError("a network in it has other states than the one that was to be fitted")
            check_model_again(found, self.data.columns, self.data.state_names)
            engine = engine_for(found, self.data)
            again = float(engine.log_likelihood(engine.layout.pack(found.tables)))
            check_number_again("log-likelihood", log_likelihood, again)

        return self._recalled("fit", fitted, check)

    def _recalled(self, kind: str, compute: Callable, check: Callable):
        """Compute something, or read it in the memo: calls of a kind come in the same order in every run."""
        self._asked[kind] += 1
        return self.memo.recall(f"{kind} {self._asked[kind]}", compute, lambda: self.search.stopped is None, check)

    def _agglomerated(self, scoring: Scoring) -> Trace:
        """Agglomerate a hidden variable."""
        found = self._recalled(
            "agglomerate",
            lambda: dict(vars(agglomerate(scoring, tick=self.search.tick))),
            lambda known: check_trace(Trace(**known), scoring),
        )
        return Trace(**found)

    def score(self, network: LatentNetwork, log_likelihood: float) -> float:
        """Return EM's score: Cheeseman-Stutz, or the BIC."""
        return network_score(network, self.data, log_likelihood, self.options.scoring_method, self.options.prior)

    def _decide(self) -> None:
        """Let EM choose among numbers of states around those found, one variable after the other, until all stay.

        The variable with the most states comes first: EM is slow while it has so many.
        """
        self._best = self._fitted(self.network())
        value = self.score(*self._best)
        waiting = sorted(self.wanted, key=lambda name: -self._n_states(name)) if self.options.decide == "em" else []
        while waiting:
            name = waiting.pop(0)
            before = self._n_states(name)
            self.em_scores[name, before] = value
            value = self._best_number(name, before, value)
            if self._n_states(name) != before:
                self._note("decide", name, value, self._best[1], self._best[0])
                waiting = [other for other in self.wanted if other != name]

    def _n_states(self, name: Hashable) -> int:
        return int(self.assignment.cards[self.assignment.names.index(name)])

    def _take(self, name: Hashable, n_states: int) -> None:
        trace, first, _ = self.assignment.traces[name]
        self.assignment.assign(self.assignment.names.index(name), trace.labels(n_states)[first], n_states)

    def _best_number(self, name: Hashable, before: int, value: float) -> float:
        """Go up and down from a number of states for as long as EM's score rises, or nearly; return the best score."""
        chosen, n_most = before, self.assignment.traces[name][0].n_first
        for direction in (-1, 1):
            n_states, waited, network = before + direction, 0, self._best[0]
            while self.options.fewest <= n_states <= n_most and waited < PATIENCE:
                tried, score = self._tried(name, n_states, network)
                self.em_scores[name, n_states] = score
                waited = 0 if score > value else waited + 1
                if score > value:
                    chosen, self._best, value = n_states, tried, score
                n_states, network = n_states + direction, tried[0]
            if chosen < before:
                break  # fewer are better: more would not be
        self._take(name, chosen)
        return value

    def _tried(
        self, name: Hashable, n_states: int, network: LatentNetwork
    ) -> tuple[tuple[LatentNetwork, float], float]:
        """Fit the network with another number of states; return it, its log-likelihood and its score.

        EM begins with what agglomeration says; and, if there are states fewer than the network has, with its two most
        similar states merged. With several hidden variables only the latter, as EM then has a short way to go.
        """
        starts = []
        node = network.index(name)
        if network.cards[node] == n_states + 1:
            pairs = combinations(range(n_states + 1), 2)
            nearest = min(pairs, key=lambda pair: distance(network, node, *pair))
            starts.append(merge_states(network, name, nearest))
        if not starts or len(self.wanted) == 1:
            self._take(name, n_states)
            starts.append(self.network())
        found = [self._fitted(start) for start in starts]
        return max(((one, self.score(*one)) for one in found), key=lambda pair: pair[1])

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
        rows = [(name, n_states, score) for (name, n_states), score in self.em_scores.items()]
        rows.sort(key=lambda row: (places[row[0]], row[1]))
        return pd.DataFrame(rows, columns=["hidden", "n_states", "score"])
