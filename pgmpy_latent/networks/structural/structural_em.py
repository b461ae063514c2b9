"""StructuralEM: the edges of a network with hidden variables and missing cells."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import ClassVar, Literal

from pgmpy_latent import presets
from pgmpy_latent.learners.resumed import check_again
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.fitter import Fitter, NetworkLearner, NetworkSource
from pgmpy_latent.networks.graph import Graph, check_columns, connected, graph_of, latent_cards
from pgmpy_latent.networks.knowledge import knowledge_from
from pgmpy_latent.networks.scoring import SCORERS
from pgmpy_latent.networks.structural.policy import StructuralPolicy
from pgmpy_latent.runtime.configured import choices, fill_docstring
from pgmpy_latent.runtime.settings import RandomState, number
from pgmpy_latent.tables.encode import CategoricalData


@fill_docstring(scorers=choices(SCORERS, "bic"))
class StructuralEM(NetworkLearner):
    """Learn the edges of a network, of which some variables may be hidden and some cells missing.

    Structural EM (Friedman): the current network completes the table; on the expected counts, edges are added, removed
    and turned round greedily; EM fits the new network; and so on for as long as the score rises. Without anything
    hidden or missing this is a hill climb. The number of states of hidden variables stays as it is.

    Parameters
    ----------
    start : pgmpy network or DAG, LatentTree, LatentNetwork or fitted learner, optional
        Where to begin; its ``latents`` are the hidden variables. By default there is nothing hidden and no edge. If it
        has tables, EM begins with them.
    n_states : dict or int, optional
        Hidden variable -> number of states; otherwise as the tables of ``start`` say, or 2.
    scoring_method : {scorers}
        What is maximised: the BIC, or the marginal likelihood with a pseudo-count for every table entry, or with an
        equivalent sample size; the latter two by the Cheeseman-Stutz approximation where something is hidden or
        missing.
    max_parents : int
        Most parents of a node.
    expert_knowledge : pgmpy.causal_discovery.ExpertKnowledge, optional
        Edges that must be there or must not, and an order of the columns in time; no path leads back in time, not even
        through hidden variables.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; with ``"bdeu"`` the equivalent sample size, which the entries of a
        table share. None is maximum likelihood with ``"bic"``, 0.5 with ``"bde"`` and 10 with ``"bdeu"``.
    {shared}
    tuning : StructuralEMTuning, optional
        When EM ends. None stands for ``presets.STRUCTURAL_EM``.

    Attributes
    ----------
    network_ : LatentNetwork
        The learned model.
    model_, causal_graph_ : pgmpy.models.DiscreteBayesianNetwork
        The same as a pgmpy network.
    latents_, n_states_, log_likelihood_, n_parameters_, bic_, score_, history_, stopped_, n_features_in_
        As in :class:`~pgmpy_latent.EAST`.

    References
    ----------
    Friedman, N. (1998). The Bayesian structural EM algorithm. Proceedings of the 14th Conference on Uncertainty in
    Artificial Intelligence, 129-138.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0, 0, 1, 1] * 25, "y": [0, 0, 1, 1] * 25, "z": [0, 1] * 50})
    >>> learner = StructuralEM(show_progress=False).fit(frame)
    >>> [tuple(sorted(edge)) for edge in learner.model_.edges()]
    [('x', 'y')]
    """

    _constraints: ClassVar[dict] = {"max_parents": number(1, whole=True)}
    _default_tuning = presets.STRUCTURAL_EM
    _tuning: presets.StructuralEMTuning
    _renamed: ClassVar[dict] = {"latent_card": "n_states"}

    def __init__(
        self,
        start: NetworkSource = None,
        *,
        n_states: dict | int | None = None,
        scoring_method: Literal["bic", "bde", "bdeu"] = "bic",
        max_parents: int = 5,
        expert_knowledge: object = None,
        prior: float | None = None,
        n_starts: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.StructuralEMTuning | None = None,
    ) -> None:
        self.start = start
        self.n_states = n_states
        self.scoring_method = scoring_method
        self.max_parents = max_parents
        self.expert_knowledge = expert_knowledge
        self.prior = prior
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning
        super().__init__()

    def _check_settings(self) -> None:
        super()._check_settings()
        self._check_scoring()
        knowledge_from(self.expert_knowledge)
        graph = self._given_graph()
        if graph is not None:
            latent_cards(graph, self.n_states)
        elif self.n_states is not None:
            raise ValueError("n_states needs a start whose latents are the hidden variables")

    def _given_graph(self) -> Graph | None:
        return None if self.start is None else graph_of(self.start, "start")

    def _learn(self, data: CategoricalData) -> Outcome[LatentNetwork]:
        graph = self._given_graph()
        knowledge = knowledge_from(self.expert_knowledge)
        knowledge.check_names([*data.columns, *(() if graph is None else graph.latents)])
        if graph is None:
            graph = Graph(knowledge.parents(), ())
        else:
            check_columns(graph, data.columns, "start")
            knowledge.check_edges(graph.edges, "start")
        search = self._search(data)
        fitter = Fitter(data, search, self.scoring_method)
        cards = latent_cards(graph, self.n_states)
        policy, n_starts = (
            StructuralPolicy(fitter, int(self.max_parents), knowledge=knowledge),
            int(self._tuning.n_starts),
        )
        outcome: Outcome[LatentNetwork] = search.run(
            lambda: fitter.scored(fitter.first_fit(graph, cards, n_starts)).as_state(0),
            policy.advance,
            lambda state: check_again(state, data, fitter.score),
            policy.finish,
        )
        network = connected(outcome.tree)
        unlinked = tuple(name for name in outcome.tree.latent_names if name not in network.latent_names)
        score = fitter.score(network, outcome.log_likelihood) if unlinked else outcome.score
        return replace(outcome, tree=self._presentable(network, data), score=score, not_needed=unlinked)
