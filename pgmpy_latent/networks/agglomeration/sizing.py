"""Numbers of states of hidden variables: agglomeration proposes, EM decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.agglomeration.merging import SCORERS, Scoring, Trace, agglomerate, check_trace
from pgmpy_latent.networks.agglomeration.reassignment import RISE
from pgmpy_latent.networks.agglomeration.round_robin import Assignment, round_robin
from pgmpy_latent.networks.fitter import FittedNetwork, ScoredNetwork
from pgmpy_latent.networks.scoring import network_score
from pgmpy_latent.networks.states import with_a_state_less, with_a_state_more
from pgmpy_latent.runtime.checkpoint import HistoryEntry, check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.runtime.lossless_json import plain
from pgmpy_latent.tables.encode import CategoricalData

Result = TypeVar("Result", FittedNetwork, Trace)

#: Pseudo-count of every entry where EM begins, if there is no prior, so that no state is ruled out.
SMOOTHING = 0.1
#: Smallest rise of EM's score for which the number of states changes.
WORTHWHILE = 0.1
#: Iterations of EM with several hidden variables before states are merged.
FIRST_ITERATIONS = 30
#: Of several starts of EM with the same number of states, the best 1/NARROWING go on after 1, 3, 7, ... iterations.
NARROWING = 2.0


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
        return self.prior if SCORERS[self.scoring_method].uses_prior else 0.0


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
        (Name, number of states) -> the latest score of EM.
    history : list of HistoryEntry
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
        self._n_calls: Counter[str] = Counter()
        self.search = search
        self.wanted = list(wanted)
        self.options = options
        self.hidden = {name for name in names if name not in set(data.columns)}
        self.assignment = Assignment.of(names, parents, list(self.hidden), data)
        others = [name for name in names if name in self.hidden and name not in set(wanted)]
        if others:
            if model is None:
                raise ValueError(f"the hidden variables {others} are neither to be sized nor part of a model")
            self._assign_most_likely(model, others)
        self.agglomerated: dict[Hashable, int] = {}
        self.em_scores: dict[tuple[Hashable, int], float] = {}
        self.history: list[HistoryEntry] = []
        self._best: FittedNetwork | None = None

    def _assign_most_likely(self, model: LatentNetwork, names: Sequence[Hashable]) -> None:
        """Give hidden variables the states that a model finds most likely."""
        engine = engine_for(model, self.data)
        beliefs = engine.beliefs(engine.layout.pack(model.tables), [model.index(name) for name in names])
        for name, belief in zip(names, beliefs, strict=True):
            states = np.nan_to_num(belief).argmax(axis=1)
            self.assignment.assign(self.assignment.names.index(name), states, belief.shape[1])

    def run(self) -> FittedNetwork:
        """Return the fitted network; the best so far, if time is up."""
        try:
            with self.memo.going_on:
                self.agglomerate()
                self.choose()
                network = self._decide().network
                self._best = self._fitted(network, **self.search.settings.last_fit)
        except STOP_SIGNALS as stop:
            self.search.note_interrupt(stop)
        if self.search.stopped is None:
            self.memo.finish()
        else:
            self.memo.tend(now=True)
        fit = self._without_em() if self._best is None else self._best
        if self.search.stopped is not None:
            fit = self._finished(fit)
        self._note("fit", None, self.score(fit), fit)
        return fit

    def _finished(self, fit: FittedNetwork) -> FittedNetwork:
        """Fit the current network when the time is up, in the time that was reserved for it."""
        self.search.remaining_gain = np.inf
        if self.search.stopped == "time_limit":
            self.search.clock.use_reserve()
            try:
                return self._fitted(fit.network, **self.search.settings.last_fit)
            except STOP_SIGNALS as stop:
                self.search.note_interrupt(stop)
        return fit

    def _without_em(self) -> FittedNetwork:
        network = self.network()
        return FittedNetwork(network, self._log_likelihood(network))

    def _log_likelihood(self, network: LatentNetwork) -> float:
        engine = engine_for(network, self.data)
        return float(engine.log_likelihood(engine.layout.pack(network.tables)))

    def best_network(self) -> LatentNetwork:
        """Return the network with EM's numbers of states, fitted for comparison only; an interrupt is raised."""
        self.agglomerate()
        return self._decide().network

    def _note(self, operator: str, target: Hashable, score: float, fit: FittedNetwork) -> None:
        """Add an entry to the history."""
        step, n = len(self.history), fit.network.n_parameters
        self.history.append(self.search.entry(step, operator, target, score, fit.log_likelihood, n))

    # Agglomeration --------------------------------------------------------------------------------------------------

    def agglomerate(self) -> None:
        """Merge states, and look at them again, by the score of the completed table."""
        score = 0.0

        def accepted(name: Hashable, gain: float) -> None:
            nonlocal score
            score += gain
            self.agglomerated[name] = int(self.assignment.cards[self.assignment.names.index(name)])
            self._note("agglomerate", name, score, FittedNetwork(self.network(), np.nan))

        options = self.options
        round_robin(
            self.assignment, self.wanted, options.scoring_method, options.prior,
            options.max_initial, options.fewest, accepted, self.search.tick, self._agglomerated,
        )  # fmt: skip

    def choose(self) -> None:
        """Choose among numbers of states of the agglomeration by :meth:`hard_score`, one variable after the other.

        If EM decides, it begins with the states that the agglomeration found all the same.
        """
        codes, cards = self.assignment.codes.copy(), self.assignment.cards.copy()
        for name in self._most_states_first():
            self._choose(name)
        if self.options.decide == "em":
            self.assignment.codes[:], self.assignment.cards[:] = codes, cards

    def _choose(self, name: Hashable) -> None:
        """Take states from a hidden variable, or else give it more, for as long as :meth:`hard_score` rises."""
        begin, best = self._n_states(name), self.hard_score()
        levels = self.assignment.traces[name].levels
        for step in (-1, 1):
            while (wanted := self._n_states(name) + step) in levels and (step < 0 or wanted > begin):
                self.search.tick()
                self._assign(name, wanted)
                score = self.hard_score()
                if score <= best + RISE:
                    self._assign(name, wanted - step)
                    break
                best, self.agglomerated[name] = score, wanted
        if self._n_states(name) != begin:
            network = self.network()
            self._note("choose", name, best, FittedNetwork(network, self._log_likelihood(network)))

    def hard_score(self) -> float:
        """Return the score of the network whose tables are estimated from the completed table.

        It is that of the completed table, plus the log-likelihood of the table, minus that of the completed one: the
        Cheeseman-Stutz approximation with states that are known instead of expected counts, or the BIC.
        """
        engine = self._completed_engine()
        network = self._network_of(engine)
        complete = float(engine.log_likelihood(engine.layout.pack(network.tables)))
        method = SCORERS[self.options.scoring_method].network
        score = network_score(network, self.data, complete, method, self.options.prior, lambda: engine)
        return score + self._log_likelihood(network) - complete

    def network(self) -> LatentNetwork:
        """Return the network with probability tables estimated from the completed table."""
        return self._network_of(self._completed_engine())

    def _completed_engine(self) -> NetworkEngine:
        """Return an engine that knows the state of every hidden variable."""
        completed = self.assignment
        return NetworkEngine(completed.parents, completed.cards, completed.codes, completed.weights, completed.names)

    def _network_of(self, engine: NetworkEngine) -> LatentNetwork:
        """Return the network with probability tables estimated from the families that an engine knows in full."""
        completed = self.assignment
        names, cards = completed.names, completed.cards
        counts = engine.known_counts + (self.options.em_prior or SMOOTHING)
        tables = engine.layout.unpack(counts / engine.layout.row_sums(counts))
        columns = dict(zip(self.data.columns, self.data.state_names, strict=True))
        states = [columns.get(name, tuple(range(card))) for name, card in zip(names, cards, strict=True)]
        return LatentNetwork(names, states, completed.parents, [name in self.hidden for name in names], tables)

    def with_states(self, name: Hashable, n_states: int) -> LatentNetwork:
        """Return the network whose hidden variable has as many of the states that agglomeration found."""
        before = self.assignment.codes[:, (node := self.assignment.names.index(name))].copy(), self._n_states(name)
        self._assign(name, n_states)
        network = self.network()
        self.assignment.assign(node, *before)
        return network

    # EM -------------------------------------------------------------------------------------------------------------

    def _fitted(self, *starts: LatentNetwork, **options) -> FittedNetwork:
        """Run EM from the tables of networks that differ in nothing else, unless the memo has the result."""
        options = {"prior": self.options.em_prior, **options}
        network = starts[0]

        def fit_network() -> FittedNetwork:
            engine = engine_for(network, self.data)
            tables = np.stack([engine.layout.pack(start.tables) for start in starts])
            fit = self.search.fit(engine, tables, narrowing=NARROWING, **options)
            return FittedNetwork(network.with_tables(engine.layout.unpack(fit.tables)), fit.log_likelihood)

        return self._recalled("fit", FittedNetwork, fit_network, lambda fit: self._check_fit(fit, network))

    def _check_fit(self, fit: FittedNetwork, network: LatentNetwork) -> None:
        """Raise if a fit in a checkpoint cannot be that of a network."""
        if fit.network.names != network.names or fit.network.parents != network.parents:
            raise ValueError("a network in it is not the one that was to be fitted")
        if repr(plain(fit.network.state_names)) != repr(plain(network.state_names)):
            raise ValueError("a network in it has other states than the one that was to be fitted")
        check_model_again(fit.network, self.data.columns, self.data.state_names)
        check_number_again("log-likelihood", fit.log_likelihood, self._log_likelihood(fit.network))

    def _recalled(
        self, kind: str, result_type: type[Result], compute: Callable[[], Result], check: Callable[[Result], None]
    ) -> Result:
        """Compute a result, or read it in the memo: calls of a kind come in the same order in every run."""

        def check_all(result: object) -> None:
            if not isinstance(result, result_type):
                raise ValueError(f"it holds no {result_type.__name__} where one should be")
            check(result)

        self._n_calls[kind] += 1
        name = f"{kind} {self._n_calls[kind]}"
        return self.memo.recall(name, compute, lambda: self.search.stopped is None, check_all)

    def _agglomerated(self, scoring: Scoring) -> Trace:
        """Agglomerate a hidden variable, unless the memo has the result."""
        return self._recalled(
            "agglomerate",
            Trace,
            lambda: agglomerate(scoring, tick=self.search.tick),
            lambda trace: check_trace(trace, scoring),
        )

    def score(self, fit: FittedNetwork) -> float:
        """Return EM's score: Cheeseman-Stutz, or the BIC."""
        options = self.options
        method = SCORERS[options.scoring_method].network
        return network_score(fit.network, self.data, fit.log_likelihood, method, options.prior)

    def _scored(self, *starts: LatentNetwork, **options) -> ScoredNetwork:
        fit = self._fitted(*starts, **options)
        return ScoredNetwork(fit.network, self.score(fit), fit.log_likelihood)

    def _decide(self) -> ScoredNetwork:
        """Let EM choose among numbers of states around those found, one variable after the other, until all stay."""
        if self.options.decide != "em":
            return self._scored(self.network())
        best = self._scored(self.network()) if len(self.wanted) == 1 else self._thinned()
        self._best = best.fit
        waiting = self._most_states_first()
        while waiting:
            name = waiting.pop(0)
            before = self._n_states(name)
            self.em_scores[name, before] = best.score
            best = self._resized(name, before, best)
            if self._n_states(name) != before:
                waiting = [other for other in self.wanted if other != name]
        return best

    def _thinned(self) -> ScoredNetwork:
        """Let EM take states away before it has converged with too many of several variables, which is slow."""
        best = self._scored(self.network(), max_iter=FIRST_ITERATIONS)
        self._best = best.fit
        for name in self._most_states_first():
            best = self._changed(name, -1, best, max_iter=FIRST_ITERATIONS)
        return self._scored(best.network)

    def _most_states_first(self) -> list[Hashable]:
        return sorted(self.wanted, key=lambda name: -self._n_states(name))

    def _n_states(self, name: Hashable) -> int:
        return int(self.assignment.cards[self.assignment.names.index(name)])

    def _assign(self, name: Hashable, n_states: int) -> None:
        """Give a hidden variable the states that its agglomeration had when it was down to this number."""
        states = self.assignment.traces[name].states(n_states)
        self.assignment.assign(self.assignment.names.index(name), states, n_states)

    def _resized(self, name: Hashable, before: int, best: ScoredNetwork) -> ScoredNetwork:
        """Take states from a hidden variable, or else give it more, for as long as EM's score rises."""
        best = self._changed(name, -1, best)
        return self._changed(name, 1, best) if self._n_states(name) == before else best

    def _changed(self, name: Hashable, direction: int, best: ScoredNetwork, **options) -> ScoredNetwork:
        """Change a number of states by one in a direction for as long as EM's score rises."""
        before = self._n_states(name)
        tried = self._tried(name, direction, best.network, **options)
        while tried is not None and tried.score > best.score + WORTHWHILE:
            best, self._best = tried, tried.fit
            self._assign(name, self._n_states(name) + direction)
            tried = self._tried(name, direction, best.network, **options)
        if self._n_states(name) != before:
            self._note("decide", name, best.score, best.fit)
        return best

    def _tried(self, name: Hashable, direction: int, network: LatentNetwork, **options) -> ScoredNetwork | None:
        """Fit the network with one state less or one more; None if that is not possible.

        EM begins with similar states of the network merged, or with states split; and with the states of the
        agglomeration, if there are any.
        """
        n_states = self._n_states(name) + direction
        if n_states < self.options.fewest:
            return None
        if direction < 0:
            near = list(with_a_state_less(network, name))
        else:
            rng = np.random.default_rng(self.search.seed(network.index(name), n_states))
            near = list(with_a_state_more(network, name, rng))
        starts = [near] if near else []
        if (len(self.wanted) == 1 or not near) and n_states <= self.assignment.traces[name].trace.n_first:
            starts.append([self.with_states(name, n_states)])
        if not starts:
            return None
        tried = max((self._scored(*some, **options) for some in starts), key=lambda scored: scored.score)
        self.em_scores[name, n_states] = tried.score
        return tried

    # Results --------------------------------------------------------------------------------------------------------

    def trace_frame(self) -> pd.DataFrame:
        """Return the score of every number of states."""
        frames = []
        for name in self.wanted:
            if name in self.assignment.traces:
                trace = self.assignment.traces[name].trace
                gains = np.concatenate([[np.nan], trace.gains])
                frames.append(pd.DataFrame({"n_states": trace.n_states, "score": trace.scores, "gain": gains}))
                frames[-1].insert(0, "hidden", pd.Series([name] * len(gains), dtype=object))
        columns = ["hidden", "n_states", "score", "gain"]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    def score_frame(self) -> pd.DataFrame:
        """Return the scores of EM for all numbers of states that were tried."""
        places = {name: at for at, name in enumerate(self.wanted)}
        rows = [(name, n_states, score) for (name, n_states), score in self.em_scores.items()]
        rows.sort(key=lambda row: (places[row[0]], row[1]))
        return pd.DataFrame(rows, columns=["hidden", "n_states", "score"])
