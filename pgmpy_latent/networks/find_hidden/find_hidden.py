"""FindHidden: where a network lacks hidden variables, and how many states they have."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone

from pgmpy_latent import presets
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.learners.search_learner import learned_for
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.agglomeration.sizing import SizingOptions
from pgmpy_latent.networks.find_hidden.local_search import LocalOptions
from pgmpy_latent.networks.find_hidden.memory import Candidate, FinalNetworks, FindHiddenMemory
from pgmpy_latent.networks.find_hidden.proposals import Options, ProposalPolicy
from pgmpy_latent.networks.find_hidden.tie_break import TieBreak
from pgmpy_latent.networks.fitter import SMOOTHING, FittedNetwork, Fitter, NetworkLearner, NetworkSource
from pgmpy_latent.networks.graph import Graph, check_columns, connected, graph_of, latent_cards
from pgmpy_latent.networks.knowledge import knowledge_from
from pgmpy_latent.networks.scoring import SCORERS
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.runtime.configured import choices, fill_docstring
from pgmpy_latent.runtime.settings import RandomState, number, one_of
from pgmpy_latent.tables.encode import CategoricalData

#: Share of the rows that are held out, if networks are compared by them.
HELD_OUT = 0.25
#: Columns of ``candidates_`` and their types.
CANDIDATES = {
    "step": "int64", "hidden": object, "members": object, "n_states": "int64", "children": object,
    "local_gain": "float64", "score": "float64", "gain": "float64", "kept": "bool",
}  # fmt: skip


@fill_docstring(scorers=choices(SCORERS, "bde"))
class FindHidden(NetworkLearner):
    """Learn a network, and where hidden variables in it explain the data best.

    A variable that is left out of a network leaves a trace: its children become linked among each other. So a network
    over the columns is learned first, densely linked sets of columns are found in it (semi-cliques: each member is
    linked to at least half of the set, or to two fifths), and for each of them a hidden parent is proposed in place of
    the edges among them. So it is for the columns around each hidden variable of latent trees. Structural EM refines
    the edges around a proposal, its states are split and merged, and the best is kept if the network with it is better
    than the one without. Then again (Elidan, Lotner, Friedman and Koller; Elidan and Friedman). In the end the network
    is compared with the latent trees, and grows out of one of them if that is better.

    Parameters
    ----------
    base : pgmpy network, DAG or structure learner, LatentTree, LatentNetwork or learner of ours, optional
        The network to begin with, or what learns it. By default a hill climb over families, with ``scoring_method``.
        A network's own hidden variables are kept.
    criterion : {"cheeseman_stutz", "held_out"}
        What decides whether a hidden variable is kept: the Cheeseman-Stutz approximation of the marginal likelihood
        (with ``scoring_method="bic"``, the BIC), or the log-likelihood of a quarter of the rows, which then are not
        learned from until the network is found.
    n_states : int, optional
        Number of states of every new hidden variable; found by agglomeration by default.
    scoring_method : {scorers}
        Score of families, for the hill climb and structural EM: the marginal likelihood with a pseudo-count for every
        table entry, or with an equivalent sample size, or the BIC.
    max_latents : int, optional
        Most hidden variables.
    max_parents : int
        Most parents of a node.
    expert_knowledge : pgmpy.causal_discovery.ExpertKnowledge, optional
        Edges that must be there or must not, and an order of the columns in time; as of
        :class:`~pgmpy_latent.StructuralEM`.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; with ``"bdeu"`` the equivalent sample size. None is 0.5 with
        ``"bde"``, 10 with ``"bdeu"``, and maximum likelihood with ``"bic"``, under which new rows may be impossible.
    {shared}
    tuning : FindHiddenTuning, optional
        What is proposed and kept, and when EM ends; ``presets.ELIDAN_FRIEDMAN_2001`` follows the paper. None stands for
        ``presets.FIND_HIDDEN``.

    Attributes
    ----------
    network_ : LatentNetwork
        The learned model; without hidden variables if none is worth it.
    base_ : LatentNetwork
        The network without (further) hidden variables, fitted in the same way.
    candidates_ : DataFrame
        A row per proposal: the round (``step``), the name of the hidden variable, the ``members`` of the semi-clique,
        ``n_states``, its ``children`` after structural EM, the ``score`` of the network with it, the
        ``gain``, and whether it was ``kept``.
    latent_tree_score_ : float
        Score of the best latent tree of :class:`~pgmpy_latent.EAST` and :class:`~pgmpy_latent.HLTA`, to compare
        ``score_`` with; NaN if none was learned. ``summary()`` says so if the tree is better.
    model_, causal_graph_, latents_, n_states_, log_likelihood_, n_parameters_, bic_, score_, history_, stopped_
        As in :class:`~pgmpy_latent.StructuralEM`.

    Notes
    -----
    Structural EM is constrained while proposals are compared: only the parents of the new hidden variable and of the
    members of the semi-clique may change; any node may become one of them. Around the best proposal all edges may
    change. Hidden variables are sized with a pseudo-count of 1 if ``scoring_method="bic"``. A hidden variable is kept
    if the score rises by at least 3 (``min_gain`` of the tuning), so that the network with it, or the held-out rows,
    are twenty times as likely; or if it rises by less, and cross-validation agrees (``cross_validate``).

    Missing cells are drawn from their posterior while a proposal is tried in its surroundings. The whole network, which
    decides, is fitted to the table as it is.

    References
    ----------
    Elidan, G., Lotner, N., Friedman, N. and Koller, D. (2000). Discovering hidden variables: a structure-based
    approach. Advances in Neural Information Processing Systems 13, 479-485.
    Elidan, G. and Friedman, N. (2001). Learning the dimensionality of hidden variables. Proceedings of the 17th
    Conference on Uncertainty in Artificial Intelligence, 144-151.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.integers(3, size=1000)
    >>> frame = pd.DataFrame({name: (hidden + (rng.random(1000) < 0.2)) % 3 for name in "abcde"})
    >>> learner = FindHidden(random_state=0, show_progress=False).fit(frame)
    >>> learner.n_states_, sorted(learner.model_.edges())
    ({'H': 3}, [('H', 'a'), ('H', 'b'), ('H', 'd'), ('H', 'e'), ('c', 'H')])
    """

    _constraints: ClassVar[dict] = {
        "criterion": one_of("cheeseman_stutz", "held_out"),
        "n_states": number(2, whole=True, optional=True),
        "max_latents": number(0, whole=True, optional=True),
        "max_parents": number(1, whole=True),
    }
    _default_tuning = presets.FIND_HIDDEN
    _tuning: presets.FindHiddenTuning
    candidates_: pd.DataFrame
    latent_tree_score_: float

    def __init__(
        self,
        base: NetworkSource = None,
        *,
        criterion: Literal["cheeseman_stutz", "held_out"] = "cheeseman_stutz",
        n_states: int | None = None,
        scoring_method: Literal["bde", "bdeu", "bic"] = "bde",
        max_latents: int | None = None,
        max_parents: int = 5,
        expert_knowledge: object = None,
        prior: float | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.FindHiddenTuning | None = None,
    ) -> None:
        self.base = base
        self.criterion = criterion
        self.n_states = n_states
        self.scoring_method = scoring_method
        self.max_latents = max_latents
        self.max_parents = max_parents
        self.expert_knowledge = expert_knowledge
        self.prior = prior
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
        if self.criterion == "held_out" and self._pseudo_count == 0:
            raise ValueError(
                "criterion='held_out' needs a prior, as rows may be impossible without one; give prior=0.5, or "
                "scoring_method='bde'"
            )
        knowledge_from(self.expert_knowledge)
        self._given_graph()  # raises if it is not a network

    @property
    def _base_learns(self) -> bool:
        """Whether the base is a learner that still has to be fitted."""
        fitted = any(hasattr(self.base, name) for name in ("network_", "tree_", "causal_graph_"))
        return hasattr(self.base, "fit") and not fitted and not hasattr(self.base, "latents")

    def _given_graph(self) -> Graph | None:
        return None if self.base is None or self._base_learns else graph_of(self.base, "base")

    # Learning -----------------------------------------------------------------------------------------------------

    def _learn(self, data: CategoricalData) -> Outcome[LatentNetwork]:
        search = self._search(data)
        train, test = _divided(data, search) if self.criterion == "held_out" else (data, None)
        fitter = Fitter(train, search, self.scoring_method)
        tie_break = TieBreak(train, search) if test is None and self._tuning.cross_validate else None
        policy = ProposalPolicy(fitter, _judge(fitter, test), self._options(), tie_break)
        outcome: Outcome[LatentNetwork] = search.run(
            lambda: policy.first(self._first_network(fitter), learn_edges=self.base is None),
            policy.advance,
            policy.check,
            policy.finish,
        )
        memory: FindHiddenMemory = outcome.memory
        base = outcome.tree if memory.base is None else memory.base
        final = FinalNetworks(base, outcome.tree, outcome.log_likelihood)
        if test is not None:  # now all rows may be learned from
            final = self._with_all_rows(final, data, search, outcome)
        self.base_ = self._presentable(connected(final.base), data)
        self.candidates_ = _frame_of_candidates(memory.candidates)
        self.latent_tree_score_ = float("nan") if memory.tree_score is None else memory.tree_score
        return replace(
            outcome,
            tree=self._presentable(connected(final.network), data),
            log_likelihood=final.log_likelihood,
            stopped=search.stopped,
            remaining_gain=search.remaining_gain,
        )

    def _with_all_rows(
        self, networks: FinalNetworks, data: CategoricalData, search: Search, outcome: Outcome[LatentNetwork]
    ) -> FinalNetworks:
        """Fit networks to all rows, unless the checkpoint has them; if there is no time, return them as they are."""
        memory: FindHiddenMemory = outcome.memory
        if memory.final is not None:
            with search.checking():
                _check_final(networks, memory.final, data)
            return memory.final
        try:
            final = self._fitted_again(networks, data, search)
        except STOP_SIGNALS as stop:
            search.note_interrupt(stop)
            return replace(networks, log_likelihood=_log_likelihood(networks.network, data))
        search.keep_result(outcome, replace(memory, final=final))
        return final

    def _fitted_again(self, networks: FinalNetworks, data: CategoricalData, search: Search) -> FinalNetworks:
        """Fit networks to other rows."""
        fitter = Fitter(data, search, self.scoring_method)
        base, final = (fitter.last_fit(_smoothed(network)) for network in (networks.base, networks.network))
        return FinalNetworks(base.network, final.network, final.log_likelihood)

    def _words(self) -> str:
        return _about_the_tree(self.score_, self.latent_tree_score_) + super()._words()

    def _options(self) -> Options:
        tuning = self._tuning
        sizing = SizingOptions(prior=self._sizing_prior, max_initial=int(tuning.max_initial), fewest=2)
        return Options(
            max_latents=np.inf if self.max_latents is None else int(self.max_latents),
            max_candidates=tuning.max_candidates,
            min_children=int(tuning.min_children),
            shares=tuple(tuning.shares),
            use_tree=tuning.use_tree,
            n_resized=int(tuning.n_resized),
            n_placed=int(tuning.n_placed),
            max_parents=int(self.max_parents),
            min_gain=float(tuning.min_gain),
            begins_anew=self.base is None,
            local=LocalOptions(
                n_states=self.n_states,
                n_starts=int(tuning.n_starts),
                max_parents=int(self.max_parents),
                knowledge=knowledge_from(self.expert_knowledge),
                sizing=sizing if tuning.agglomerate else None,
            ),
        )

    @property
    def _sizing_prior(self) -> float:
        """Pseudo-count of every entry for agglomeration, whose score must be decomposable."""
        return (self._pseudo_count if self.scoring_method == "bde" else 0.0) or 1.0

    def _first_network(self, fitter: Fitter) -> FittedNetwork:
        """Return the network that the search begins with, fitted."""
        data, n_starts, knowledge = fitter.data, int(self._tuning.n_starts), knowledge_from(self.expert_knowledge)
        if self.base is None:
            knowledge.check_names(data.columns)
            return fitter.first_fit(Graph(knowledge.parents(), ()), {}, n_starts)
        graph = graph_of(self._learned_base(data, fitter.search) if self._base_learns else self.base, "base")
        check_columns(graph, data.columns, "base")
        knowledge.check_names([*data.columns, *graph.latents])
        knowledge.check_edges(graph.edges, "base")
        return fitter.first_fit(graph, latent_cards(graph, None), n_starts)

    def _learned_base(self, data: CategoricalData, search: Search):
        if isinstance(self.base, StructureLearner):
            return learned_for(self, self.base, data, search)
        try:
            return clone(self.base).fit(_frame(data))
        except ValueError as error:
            gaps = "; fit it to rows without missing cells, or leave base out" if (data.codes < 0).any() else ""
            name = type(self.base).__name__
            raise DataError(f"base, a {name}, does not learn from this table: {error}{gaps}") from error


def _check_final(networks: FinalNetworks, final: FinalNetworks, data: CategoricalData) -> None:
    """Raise if the final networks of a checkpoint are not those of the search, fitted to all rows."""
    for before, after in ((networks.base, final.base), (networks.network, final.network)):
        if before.edges != after.edges or before.state_names != after.state_names:
            raise ValueError("the networks fitted to all rows are not those that the search found")
        check_model_again(after, data.columns, data.state_names)
    check_number_again("log-likelihood of all rows", final.log_likelihood, _log_likelihood(final.network, data))


def _log_likelihood(network: LatentNetwork, data: CategoricalData) -> float:
    engine = engine_for(network, data)
    return float(engine.log_likelihood(engine.layout.pack(network.tables)))


def _about_the_tree(score: float, tree_score: float) -> str:
    """Return a paragraph that says that a latent tree is better, if it is.

    Examples
    --------
    >>> _about_the_tree(-100.0, -120.0), _about_the_tree(-100.0, float("nan"))
    ('', '')
    >>> print(_about_the_tree(-120.0, -100.0).strip())
    A latent tree describes the table better: its score is -100.0, that of the network -120.0. Compare with EAST.
    """
    if not tree_score > score:
        return ""
    scores = f"its score is {tree_score:.1f}, that of the network {score:.1f}"
    return f"\n\nA latent tree describes the table better: {scores}. Compare with EAST."


def _smoothed(network: LatentNetwork) -> LatentNetwork:
    """Return the network with a little of every table row spread over its states, so that nothing is ruled out."""
    tables = [(1 - SMOOTHING) * table + SMOOTHING / table.shape[1] for table in network.tables]
    return network.with_tables(tables)


def _frame_of_candidates(candidates: Sequence[Candidate]) -> pd.DataFrame:
    """Return a row per proposal; columns have their types even if there is none."""
    rows = [
        {**vars(candidate), "members": list(candidate.members), "children": list(candidate.children)}
        for candidate in candidates
    ]
    return pd.DataFrame(rows, columns=list(CANDIDATES)).astype(CANDIDATES)


def _frame(data: CategoricalData) -> pd.DataFrame:
    """Return encoded data as a table of numbered categories, each row repeated by its weight, a whole number.

    Other libraries read categories that are numbers or truth values in ways of their own; edges do not depend on names.
    """
    if (data.weights % 1).any():
        raise DataError(
            "base is a learner that takes no weights, and the weights are not whole numbers; fit it yourself"
        )
    rows = np.repeat(np.arange(data.n_distinct), data.weights.astype(int))
    columns = [
        pd.Categorical.from_codes(data.codes[rows, at], [f"category {code}" for code in range(len(states))])
        for at, states in enumerate(data.state_names)
    ]
    return pd.DataFrame(dict(zip(data.columns, columns, strict=True)))


def _divided(data: CategoricalData, search: Search) -> tuple[CategoricalData, CategoricalData]:
    """Divide the table at random into training rows and held-out rows; equal rows are divided one by one."""
    rng = np.random.default_rng(search.seed(1))
    copies = np.ceil(data.row_counts)
    held_out = data.weights * rng.binomial(copies.astype(int), HELD_OUT) / copies
    parts = []
    for weights in (data.weights - held_out, held_out):
        rows = np.flatnonzero(weights > 0)
        if not len(rows):
            raise DataError("there are too few rows to hold a quarter of them out; use criterion='cheeseman_stutz'")
        parts.append(CategoricalData(data.columns, data.state_names, data.codes[rows], weights[rows]))
    return parts[0], parts[1]


def _judge(fitter: Fitter, test: CategoricalData | None) -> Callable[[LatentNetwork, float], float]:
    """Return the score by which networks are compared, given a network and its log-likelihood."""
    if test is None:
        return fitter.score

    return lambda network, log_likelihood: _log_likelihood(network, test)
