"""AgglomerativeCardinality: how many states the hidden variables of a network need."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent import presets
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.model.labels import sort_key
from pgmpy_latent.model.network import LatentNetwork, blanket
from pgmpy_latent.networks.agglomeration.merging import SCORERS
from pgmpy_latent.networks.agglomeration.round_robin import Agglomeration, Assignment
from pgmpy_latent.networks.agglomeration.sizing import Sizing, SizingOptions
from pgmpy_latent.networks.fitter import NetworkLearner, NetworkSource
from pgmpy_latent.networks.graph import Graph, check_columns, graph_of, nodes_in_order
from pgmpy_latent.runtime.configured import choices, fill_docstring
from pgmpy_latent.runtime.settings import RandomState, number, one_of
from pgmpy_latent.tables.encode import CategoricalData


@fill_docstring(scorers=choices(SCORERS, "bde"))
class AgglomerativeCardinality(NetworkLearner):
    """Find out how many states the hidden variables of a network need, and fit it.

    A hidden variable begins with a state for every distinct assignment of its Markov blanket, so that its state is
    known in every row. Then the two states are merged whose merging raises the score of the completed table most (or
    lowers it least), until one is left (Elidan and Friedman). As merges are greedy, assignments of the blanket then
    move to states that suit them better, and states are merged or split anew, for as long as the same score rises; the
    number of states with the highest score counts. Several hidden variables take turns, each given the states of the
    others, until nothing changes. EM then begins with these states, and again with states of the fitted network merged
    and split; its score decides. Without EM, the likelihood has a say in the number of states, at tables that are
    estimated from the completed table.

    Parameters
    ----------
    network : pgmpy network or DAG, LatentTree, LatentNetwork or fitted learner
        The structure; hidden variables are its ``latents``.
    hidden : sequence of names, optional
        Hidden variables whose number of states is wanted; all by default. The others keep the number of states of
        their tables, and begin with the states that these find most likely.
    scoring_method : {scorers}
        Score of the completed table: the marginal likelihood with a pseudo-count for every table entry, or the
        description length. EM's score is then the Cheeseman-Stutz approximation with the same pseudo-count, or the
        BIC. See Notes.
    prior : float
        The pseudo-count of ``"bde"``; EM maximises the posterior with it. With ``"mdl"`` EM maximises the likelihood.
    decide : {"em", "agglomeration"}
        Whether EM decides on the number of states, or agglomeration alone does. EM is slower, and usually right where
        the two differ: hard assignments take randomness for structure.
    n_jobs : int, optional
        Not used; for uniformity.
    random_state : int, RandomState instance or None
        Draws the directions in which EM begins to split states: the same seed gives the same result.
    {shared}
    tuning : AgglomerativeCardinalityTuning, optional
        How many states there may be at first, and when EM ends. None stands for ``presets.AGGLOMERATIVE_CARDINALITY``.

    Attributes
    ----------
    cardinality_ : dict
        Hidden variable -> number of states. One state means that the variable is not needed.
    agglomerated_ : dict
        The same without EM: by the agglomeration, the second look at its states, and a choice among numbers of states
        around the best one. See Notes.
    trace_ : DataFrame
        A row per hidden variable and number of states: the score of the last agglomeration, and what the merge that
        led there gained, before the second look and the choice. The highest score need not be at ``agglomerated_``.
    em_scores_ : DataFrame
        EM's score for every number of states that was tried.
    network_, model_, causal_graph_, latents_, n_states_, log_likelihood_, n_parameters_, bic_, score_, history_, \
stopped_
        As in :class:`~pgmpy_latent.StructuralEM`; ``score_`` is EM's. In ``history_``, steps of agglomeration have what
        the score of the completed table has gained so far, a step ``"choose"`` the score of the number of states that
        was chosen without EM, and later steps EM's score.

    Notes
    -----
    The pseudo-count does not depend on the number of states, so that the score of the completed table is a sum over
    states plus a function of their number, and the gain of a merge never changes: it is computed once. A prior of fixed
    total weight that is shared out among the first states, and adds up as they merge, is decomposable too; on the Alarm
    network it found fewer of the true numbers.

    Without EM, numbers of states around the best one are compared by the score of the completed table, plus the
    log-likelihood of the table, minus that of the completed table, both at tables estimated from the completed one.
    This is the Cheeseman-Stutz approximation with known states in place of expected counts, or with ``"mdl"`` the BIC;
    it takes one evaluation of the likelihood per number of states. EM does not begin with the number that it chooses.

    Cells that are missing in a Markov blanket count as a value of their own where the first states are made, and a row
    is left out of the counts of the families that it does not show in full, and of no others. EM sums them out.

    References
    ----------
    Elidan, G. and Friedman, N. (2001). Learning the dimensionality of hidden variables. Proceedings of the 17th
    Conference on Uncertainty in Artificial Intelligence, 144-151.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.integers(3, size=600)
    >>> frame = pd.DataFrame({name: (hidden + (rng.random(600) < 0.1)) % 3 for name in "abcd"})
    >>> network = DAG([("h", name) for name in "abcd"], latents={"h"})
    >>> AgglomerativeCardinality(network, show_progress=False).fit(frame).cardinality_
    {'h': 3}
    """

    _constraints: ClassVar[dict] = {
        "scoring_method": lambda name, value: one_of(*SCORERS)(name, value),
        "prior": number(above=0, below=np.inf, example="1"),
        "decide": one_of("em", "agglomeration"),
    }
    _criteria = SCORERS
    _default_tuning = presets.AGGLOMERATIVE_CARDINALITY
    _tuning: presets.AgglomerativeCardinalityTuning
    prior: float
    cardinality_: dict[Hashable, int]
    agglomerated_: dict[Hashable, int]
    trace_: pd.DataFrame
    em_scores_: pd.DataFrame

    def __init__(
        self,
        network: NetworkSource = None,
        hidden: Sequence[Hashable] | None = None,
        *,
        scoring_method: Literal["bde", "mdl"] = "bde",
        prior: float = 1.0,
        decide: Literal["em", "agglomeration"] = "em",
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.AgglomerativeCardinalityTuning | None = None,
    ) -> None:
        self.network = network
        self.hidden = hidden
        self.scoring_method = scoring_method
        self.prior = prior
        self.decide = decide
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
        if self.network is None:
            raise ValueError("network is None; give the network whose hidden variables are to be sized")
        self._given_graph()

    def _given_graph(self) -> Graph:
        """Return the graph of the network, in which the variables that ``hidden`` names are hidden as well."""
        graph = graph_of(self.network)
        hidden = self._wanted(graph)
        strangers = [name for name in hidden if name not in graph.parents]
        if strangers:
            raise DataError(f"hidden names {strangers}, which are not in the network; it has {list(graph.parents)}")
        if not hidden and self.hidden is not None:
            raise DataError("hidden is empty; name hidden variables of the network, or leave it out for all of them")
        if not hidden:
            raise DataError("the network has no hidden variables; declare some: network.latents = {...}")
        latents = sorted({*graph.latents, *hidden}, key=sort_key)  # the order of nodes must not matter
        for name in latents:
            if not graph.parents[name] and not any(name in above for above in graph.parents.values()):
                raise DataError(f"the hidden variable {name!r} has no neighbours; link it, or leave it out")
        others = [name for name in latents if name not in hidden]
        if others and graph.model is None:
            raise DataError(
                f"hidden leaves out {others}, which are hidden too, and the network has no tables that say how many "
                "states they have; name them in hidden, or fit the network"
            )
        return Graph(graph.parents, tuple(latents), graph.model)

    def _wanted(self, graph: Graph) -> list[Hashable]:
        """Return the hidden variables whose number of states is wanted; a single one may be given as it is."""
        hidden = graph.latents if self.hidden is None else self.hidden
        if isinstance(hidden, str) or not isinstance(hidden, Collection) or _is_node(hidden, graph):
            hidden = [hidden]
        return sorted(dict.fromkeys(hidden), key=sort_key)

    def _columns_in_use(self, data: CategoricalData) -> Collection[Hashable]:
        return self._given_graph().parents  # a table may have more

    @property
    def _pseudo_count(self) -> float:
        return self._options().em_prior

    def _options(self) -> SizingOptions:
        return SizingOptions(self.scoring_method, float(self.prior), self.decide, int(self._tuning.max_initial))

    # Learning -----------------------------------------------------------------------------------------------------

    def _learn(self, data: CategoricalData) -> Outcome[LatentNetwork]:
        graph = self._given_graph()
        check_columns(graph, data.columns, all_columns=False)
        data = data.select([name for name in data.columns if name in graph.parents])
        wanted = self._wanted(graph)
        names, parents = nodes_in_order(graph, data)
        search = self._search(data)
        memo = Memo(search.checkpoint, search.saved)
        sizing = Sizing(data, search, names, parents, wanted, graph.model, self._options(), memo)
        fit = sizing.run()
        network = fit.network
        self.cardinality_ = {name: int(network.cards[network.index(name)]) for name in wanted}
        self.agglomerated_ = {name: sizing.agglomerated.get(name, 1) for name in wanted}
        self.trace_, self.em_scores_ = sizing.trace_frame(), sizing.score_frame()
        self._keep_merges(sizing.assignment)
        return Outcome(
            self._presentable(network, data),
            sizing.score(fit),
            fit.log_likelihood,
            sizing.history,
            search.stopped,
            remaining_gain=search.remaining_gain,
        )

    def _keep_merges(self, assignment: Assignment) -> None:
        """Keep the merge trees of the variables that were agglomerated before the time was up."""
        names = assignment.names
        self._merges: dict[Hashable, tuple[Agglomeration, list[Hashable]]] = {}
        for name in self.cardinality_:
            if name in assignment.traces:
                around = blanket(assignment.parents, names.index(name))
                self._merges[name] = (assignment.traces[name], [names[node] for node in around])

    def merges(self, hidden: Hashable | None = None) -> pd.DataFrame:
        """Return the merge tree of a hidden variable.

        Parameters
        ----------
        hidden : name, optional
            Which one; needed if there are several.

        Returns
        -------
        DataFrame
            A row per merge, in their order: the two states (``left``, ``right``), the ``gain`` of the score and the
            ``score`` after it, and ``n_states``, the number of states then. The first states are numbered from 0;
            each merge makes a new one, with the next number. ``attrs["hidden"]`` is the name of the variable, and
            ``attrs["blanket"]`` has the assignment of the Markov blanket of each first state.

        Examples
        --------
        >>> from pgmpy.base import DAG
        >>> frame = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [0, 1] * 20})
        >>> network = DAG([("h", name) for name in "abc"], latents={"h"})
        >>> AgglomerativeCardinality(network).fit(frame).merges()[["left", "right", "n_states"]]
           left  right  n_states
        0     0      1         1
        """
        check_is_fitted(self)
        name = _variable_in_question(hidden, self._merges)
        agglomeration, around = self._merges[name]
        trace = agglomeration.trace
        now = np.arange(trace.n_first)
        rows = []
        for at, (kept, gone) in enumerate(trace.merges):
            rows.append((now[kept], now[gone]))
            now[kept] = trace.n_first + at
        frame = pd.DataFrame(np.array(rows, dtype=np.int64).reshape(-1, 2), columns=["left", "right"])
        frame["gain"], frame["score"], frame["n_states"] = trace.gains, trace.scores[1:], trace.n_states[1:]
        frame.attrs["hidden"], frame.attrs["blanket"] = name, self._in_words(around, agglomeration.assignments)
        return frame

    def _in_words(self, around: Sequence[Hashable], kinds: np.ndarray) -> list[dict]:
        network = self.network_
        seen = {name: [*network.state_names[network.index(name)], None] for name in network.observed_names}
        return [  # -1 finds the None; states of other hidden variables have no names
            {name: seen[name][at] if name in seen else int(at) for name, at in zip(around, kind, strict=True)}
            for kind in kinds
        ]


def _is_node(hidden, graph: Graph) -> bool:
    return isinstance(hidden, Hashable) and hidden in graph.parents


def _variable_in_question(hidden: Hashable | None, known: Mapping) -> Hashable:
    """Return the hidden variable that a user names, or the only one."""
    if hidden is None and len(known) == 1:
        return next(iter(known))
    if not known:
        raise ValueError("nothing was agglomerated, as the time was up before; raise time_limit")
    if hidden not in known:
        raise ValueError(f"hidden is {hidden!r}; give one of {list(known)}")
    return hidden
