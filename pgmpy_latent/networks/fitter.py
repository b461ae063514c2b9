"""The base class of learners of networks, and how they fit networks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, TypeAlias

import networkx as nx
import numpy as np

from pgmpy_latent.em.estimators import state_shares
from pgmpy_latent.em.fit import Fit
from pgmpy_latent.em.starts import random_memberships
from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.queries import engine_for, network_engine
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.fitted import FittedDiscrete
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.search import Search
from pgmpy_latent.learners.search_learner import SearchSettings
from pgmpy_latent.model.network import LatentNetwork, reordered
from pgmpy_latent.model.tree import LatentTree, MissingCodes
from pgmpy_latent.networks.counts import Completion
from pgmpy_latent.networks.graph import Graph, nodes_in_order, rearranged, tables_in_order
from pgmpy_latent.networks.scoring import SCORERS, check_scoring_method, family_score, network_score
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.fingerprint import Identified
from pgmpy_latent.scores import Criterion
from pgmpy_latent.tables.encode import CategoricalData

#: Share of a table row that is spread over its states where EM begins, so that no hidden state is ruled out.
SMOOTHING = 1e-3
#: Engines that a fitter keeps.
ENGINES = 4


@held_by_checkpoints("fitted network")
@dataclass(frozen=True)
class FittedNetwork:
    """A network after EM, and its log-likelihood."""

    network: LatentNetwork
    log_likelihood: float


@held_by_checkpoints("scored network")
@dataclass(frozen=True)
class ScoredNetwork:
    """A network after EM, with the score by which networks are compared; larger is better."""

    network: LatentNetwork
    score: float
    log_likelihood: float

    @property
    def fit(self) -> FittedNetwork:
        """The network without its score."""
        return FittedNetwork(self.network, self.log_likelihood)

    def as_state(self, step: int, memory: object = None) -> State:
        """Return the state of a search that has accepted the network."""
        return State(self.network, self.score, self.log_likelihood, step, memory)


#: What a network may come from: a model of ours or of pgmpy, a graph, or a learner.
NetworkSource: TypeAlias = LatentTree | LatentNetwork | nx.DiGraph | StructureLearner | None


class NetworkLearner(SearchSettings, FittedDiscrete, StructureLearner):
    """Base of the learners of networks; what :class:`~pgmpy_latent.learners.base.LatentTreeLearner` is for trees."""

    _holder = "network_"
    network_: LatentNetwork
    _criteria: ClassVar[Mapping[str, Criterion]] = SCORERS
    scoring_method: str
    prior: float | None

    def _given_graph(self) -> Graph | None:
        """Return the network that a keyword gives, if there is one; subclasses override it."""
        return None

    def _known_states(self) -> dict[Hashable, tuple[Hashable, ...]] | None:
        graph = self._given_graph()
        if graph is None or graph.model is None:
            return None
        states = dict(zip(graph.model.names, graph.model.state_names, strict=True))
        return {name: states[name] for name in graph.model.names if name not in graph.latents}

    def _known_codes(self) -> Iterable[tuple[Hashable, tuple]]:
        graph = self._given_graph()
        return () if graph is None or graph.model is None else graph.model.missing

    @property
    def _pseudo_count(self) -> float:
        """Dirichlet pseudo-count of every table entry: ``prior``, or the one that goes with the score."""
        return SCORERS[self.scoring_method].pseudo_count if self.prior is None else float(self.prior)

    def _search(self, data: Identified) -> Search:
        search = super()._search(data)
        search.settings = replace(search.settings, prior=self._pseudo_count)
        return search

    def _check_scoring(self) -> None:
        """Raise for scores that there are not, before any work."""
        check_scoring_method("scoring_method", self.scoring_method)
        if SCORERS[self.scoring_method].needs_prior and self._pseudo_count == 0:
            raise ValueError(
                f"prior is 0, with which {self.scoring_method!r} is not defined; give a pseudo-count above 0, as 0.5"
            )

    def _keep_model(self, model: LatentNetwork, missing: MissingCodes) -> LatentNetwork:
        known = tuple((name, values) for name, values in missing if name in model.observed_names)
        self.network_ = replace(model, missing=known)
        return self.network_

    def _presentable(self, network: LatentNetwork, data: CategoricalData) -> LatentNetwork:
        """Return the network with hidden nodes first, columns as in the table, and hidden states by their shares."""
        network = rearranged(network, [*network.latent_names, *self._order_of_columns(data)])
        engine = engine_for(network, data)
        shares = state_shares(engine, engine.layout.pack(network.tables))
        hidden = np.flatnonzero(network.latent).tolist()
        return reordered(network, {node: np.argsort(-shares[node], kind="stable") for node in hidden})

    def _order_of_columns(self, data: CategoricalData) -> Sequence[Hashable]:
        return data.columns


class Fitter:
    """Fits networks over one table, and scores them.

    Parameters
    ----------
    data : CategoricalData
        The table.
    search : Search
        Runs EM.
    scoring_method : str
        What networks are compared by. With ``"bde"`` and ``"bdeu"``, what is hidden is scored by the Cheeseman-Stutz
        approximation, with the pseudo-counts that go with it.
    """

    def __init__(self, data: CategoricalData, search: Search, scoring_method: str = "bic"):
        self.data = data
        self.search = search
        self.scoring_method = scoring_method
        self.family_score = family_score(scoring_method, search.settings.prior)
        self._known_counts: dict[tuple[Hashable, ...], np.ndarray] = {}
        self._known_scores: dict[tuple[Hashable, ...], float] = {}
        self._engines: dict[tuple, TreeEngine | NetworkEngine] = {}

    def states(self, names: Sequence[Hashable], cards: Mapping[Hashable, int]) -> list[tuple[Hashable, ...]]:
        """Return the states of all nodes: those of the table, or numbers."""
        columns = dict(zip(self.data.columns, self.data.state_names, strict=True))
        return [columns[name] if name in columns else tuple(range(cards[name])) for name in names]

    # EM ---------------------------------------------------------------------------------------------------------------

    def engine(
        self, names: Sequence[Hashable], parents: Sequence[Sequence[int]], cards: np.ndarray | Sequence[int]
    ) -> TreeEngine | NetworkEngine:
        """Return the engine of a graph; the last few are kept."""
        key = (tuple(names), tuple(map(tuple, parents)), tuple(map(int, cards)))
        if key not in self._engines:
            if len(self._engines) >= ENGINES:
                del self._engines[next(iter(self._engines))]
            self._engines[key] = network_engine(names, parents, np.asarray(cards), self.data)
        return self._engines[key]

    def _em(self, engine: TreeEngine | NetworkEngine, starts: np.ndarray, **options) -> Fit:
        prior = SCORERS[self.scoring_method].pseudo_counts(self.search.settings.prior, engine.layout)
        return self.search.fit(engine, starts, **{"prior": prior, **options})

    def from_tables(self, network: LatentNetwork, **options) -> FittedNetwork:
        """Run EM from the tables of the network."""
        engine = self.engine(network.names, network.parents, network.cards)
        fit = self._em(engine, engine.layout.pack(network.tables), **options)
        return FittedNetwork(network.with_tables(engine.layout.unpack(fit.tables)), fit.log_likelihood)

    def last_fit(self, network: LatentNetwork) -> FittedNetwork:
        """Run EM to the end, as for the model that a search returns."""
        return self.from_tables(network, **self.search.settings.last_fit)

    def from_scratch(
        self,
        names: Sequence[Hashable],
        parents: Sequence[Sequence[int]],
        cards: Mapping[Hashable, int],
        n_starts: int,
        key: tuple[int, ...] = (),
        known: LatentNetwork | None = None,
        **options,
    ) -> FittedNetwork:
        """Run EM from random memberships; once, if every state is known in every row.

        Hidden variables that a known network has begin in the states that it finds most likely.
        """
        states, data = self.states(names, cards), self.data
        sizes = np.array([len(names_of_states) for names_of_states in states])
        engine = self.engine(names, parents, sizes)
        codes = data.codes_of(names) if known is None else self._most_likely(names, known)
        seeds = [self.search.seed(*key, start) for start in range(n_starts if (codes < 0).any() else 1)]
        starts = [random_memberships(parents, sizes, codes, data.weights, data.row_keys, seed) for seed in seeds]
        fit = self._em(engine, np.stack(starts), **{"n_jobs": self.search.n_jobs, **options})
        latent = [name in cards for name in names]
        network = LatentNetwork(names, states, parents, latent, engine.layout.unpack(fit.tables))
        return FittedNetwork(network, fit.log_likelihood)

    def _most_likely(self, names: Sequence[Hashable], known: LatentNetwork) -> np.ndarray:
        """Return the codes of all nodes, with the most likely states of the hidden variables of a known network."""
        codes = self.data.codes_of(names).astype(np.int64)
        hidden = [name for name in known.latent_names if name in names]
        engine = self.engine(known.names, known.parents, known.cards)
        beliefs = engine.beliefs(engine.layout.pack(known.tables), [known.index(name) for name in hidden])
        for name, belief in zip(hidden, beliefs, strict=True):
            codes[:, list(names).index(name)] = np.nan_to_num(belief).argmax(axis=1)
        return codes

    def first_fit(self, graph: Graph, cards: Mapping[Hashable, int], n_starts: int) -> FittedNetwork:
        """Fit the network that a search begins with, from its own tables if they have the right numbers of states."""
        names, parents = nodes_in_order(graph, self.data)
        model = graph.model
        if model is not None and all(model.cards[model.index(name)] == cards[name] for name in cards):
            tables = tables_in_order(model, names, parents)
            latent = [name in cards for name in names]
            network = LatentNetwork(names, self.states(names, cards), parents, latent, tables)
            return self.from_tables(network, first=True)
        return self.from_scratch(names, parents, cards, n_starts, (0,), first=True)

    # Completed tables and families ------------------------------------------------------------------------------------

    def completion(self, network: LatentNetwork) -> Completion:
        """Return the table as the network completes it."""
        engine = self.engine(network.names, network.parents, network.cards)
        if not isinstance(engine, NetworkEngine):
            codes = self.data.codes_of(network.names)
            engine = NetworkEngine(network.parents, network.cards, codes, self.data.weights, network.names)
        return Completion(engine, engine.layout.pack(network.tables), self._known_counts)

    def family(self, completion: Completion, node: int, parents: Sequence[int]) -> float:
        """Return the score of a family in the completed table; kept if it is the same for all networks."""
        family = (*parents, node)
        names = tuple(completion.engine.names[member] for member in family)
        if names in self._known_scores:
            return self._known_scores[names]
        counts = completion.counts(family).reshape(-1, int(completion.engine.cards[node]))
        score = self.family_score(counts, self.data.total_weight)
        if completion.is_complete(family):
            self._known_scores[names] = score
        return score

    def fits_the_rows(self, sizes: np.ndarray | Sequence[int]) -> bool:
        """Tell whether a probability table with axes of these sizes has no more entries than the table has rows."""
        return prod(map(int, sizes)) <= self.data.total_weight

    def with_parents(
        self, network: LatentNetwork, parents: Sequence[Sequence[int]], completion: Completion
    ) -> LatentNetwork:
        """Return the network with other edges, and probability tables estimated from the completed table."""
        tables = [self._table(completion, node, above, network) for node, above in enumerate(parents)]
        return LatentNetwork(network.names, network.state_names, parents, network.latent, tables)

    def _table(self, completion: Completion, node: int, parents: Sequence[int], network: LatentNetwork) -> np.ndarray:
        if tuple(parents) == network.parents[node]:
            return network.tables[node]
        counts = completion.counts((*parents, node)).reshape(-1, int(network.cards[node]))
        sums = counts.sum(axis=1, keepdims=True)
        uniform = 1.0 / counts.shape[1]
        table = np.divide(counts, sums, out=np.full_like(counts, uniform), where=sums > 0)
        if network.latent[[node, *parents]].any():
            table = (1 - SMOOTHING) * table + SMOOTHING * uniform
        return table

    def without(self, network: LatentNetwork, hidden: Hashable) -> LatentNetwork:
        """Return the network without a node; its children keep their other parents."""
        removed, completion = network.index(hidden), self.completion(network)
        nodes = [node for node in range(network.n_nodes) if node != removed]
        parents = [tuple(above for above in some if above != removed) for some in network.parents]
        place = {node: at for at, node in enumerate(nodes)}
        return LatentNetwork(
            [network.names[node] for node in nodes],
            [network.state_names[node] for node in nodes],
            [[place[above] for above in parents[node]] for node in nodes],
            network.latent[nodes],
            [self._table(completion, node, parents[node], network) for node in nodes],
        )

    # Scores -----------------------------------------------------------------------------------------------------------

    def score(self, network: LatentNetwork, log_likelihood: float) -> float:
        """Return the score of a fitted network; larger is better."""
        return network_score(
            network,
            self.data,
            log_likelihood,
            self.scoring_method,
            self.search.settings.prior,
            lambda: self.engine(network.names, network.parents, network.cards),
        )

    def scored(self, fit: FittedNetwork) -> ScoredNetwork:
        """Return a fitted network with its score."""
        return ScoredNetwork(fit.network, self.score(fit.network, fit.log_likelihood), fit.log_likelihood)
