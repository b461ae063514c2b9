"""SplitMerge: how many states hidden variables have, by splitting and merging the states already learned."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields
from typing import ClassVar, Literal

import networkx as nx

from pgmpy_latent import presets, scores
from pgmpy_latent.learners.cardinality.policy import (
    CardinalityLearner,
    Change,
    Model,
    Policy,
    Scoring,
    most_useful_states,
)
from pgmpy_latent.learners.east.column_places import MovesColumns, run_with_places
from pgmpy_latent.learners.east.settings import Columns
from pgmpy_latent.learners.held_out import PathLearner, Searching
from pgmpy_latent.learners.local.node_states import NodeStates, Options
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.learners.search_learner import Start, made_regular
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.configured import MovedPreset, choices
from pgmpy_latent.runtime.settings import RandomState
from pgmpy_latent.tables.encode import CategoricalData

#: How many nodes' changes are fitted as whole models before one is chosen.
FINALISTS = 2


class SplitMergePolicy(Policy):
    """Growing is splitting a state, shrinking is merging two, adjusting is one after the other."""

    def __init__(
        self,
        fitter: TreeFitter,
        score,
        options: Options,
        *,
        max_states: int | None,
        regular: bool,
        depth: int,
        n_restarts: int,
        penalised: bool,
        **phases,
    ):
        super().__init__(fitter, score, **phases)
        self.options = options
        self.depth = depth
        self.n_restarts = n_restarts
        self.penalised = penalised
        self.max_states = max_states
        self.regular = regular

    def _states_of_nodes(self, model: Model) -> list[NodeStates]:
        """Return the hidden nodes of a model, with their changes of states; they are stored with the model."""
        if "states of nodes" not in model.notes:
            model.notes["states of nodes"] = [
                NodeStates(
                    self.fitter, self.options, name, model.log_likelihood, (*model.key, 0, number), tree=model.tree
                )
                for number, name in enumerate(model.tree.latent_names)
            ]
        return model.notes["states of nodes"]

    def _allowed(self, model: Model, node: Hashable, n_states: int) -> bool:
        at = model.tree.index(node)
        if n_states <= model.tree.cards[at]:
            return True
        if self.max_states is not None and n_states > self.max_states:
            return False
        return not self.regular or n_states <= most_useful_states(model.tree, at)

    def _may_grow(self, model: Model, node: Hashable) -> bool:
        return self._allowed(model, node, int(model.tree.cards[model.tree.index(node)]) + 1)

    def grown(self, model: Model) -> Change | None:
        """Return the best model with one state split."""
        states_of_nodes = [
            node_states for node_states in self._states_of_nodes(model) if self._may_grow(model, node_states.node)
        ]
        return self._best([node_states.grown for node_states in states_of_nodes], "split")

    def shrunk(self, model: Model) -> Change | None:
        """Return the best model with two states merged."""
        return self._best([node_states.shrunk for node_states in self._states_of_nodes(model)], "merge")

    def adjusted(self, model: Model) -> Iterator[Change]:
        """Yield models with as many states after splitting and merging."""
        for depth in range(1, self.depth + 1):
            for node_states in self._states_of_nodes(model):
                for operator, changed in node_states.there_and_back(depth):
                    if self._allowed(model, node_states.node, changed.n_states):
                        yield self._change(changed, operator)
                if depth == 1:
                    for operator, changed in node_states.exchanged():
                        yield self._change(changed, operator)
        yield from self._grown_together(model)
        yield from self._looked_at_again(model)
        yield from self._restarted(model)

    def _looked_at_again(self, model: Model) -> Iterator[Change]:
        """Yield models from more splits, chosen with more care, and EM that runs to its end."""
        if self.options.adjustments != "all":
            return
        for node_states in self._states_of_nodes(model):
            thorough = node_states.thorough
            if self._may_grow(model, node_states.node):
                grown = thorough.grown_to_the_end(self._price(node_states))
                if grown is not None:
                    yield self._change(grown, "split")
            for operator, changed in thorough.exchanged():
                yield self._change(changed, operator)

    def _price(self, node_states: NodeStates) -> float:
        """Return what one state more must gain in log-likelihood: its penalty, where the score has one."""
        return node_states.worth if self.penalised else 0.0

    def _restarted(self, model: Model) -> Iterator[Change]:
        """Yield models from random starts: with as many states, then with one more and one less."""
        more_or_less = (1, -1) if self.n_restarts else ()
        for number, difference in enumerate((*[0] * self.n_restarts, *more_or_less)):
            for node_states in self._states_of_nodes(model):
                n_states = node_states.n_states + difference
                if not self._allowed(model, node_states.node, n_states):
                    continue
                restarted = node_states.restarted(number, n_states)
                if restarted is not None:
                    yield self._change(restarted, "restart")

    def _grown_together(self, model: Model) -> Iterator[Change]:
        """Yield models in which a node of one state and a hidden neighbour both got a state more.

        Where two such nodes stand between variables that depend on each other, neither helps without the other.
        """
        if self.options.adjustments != "all":
            return
        for number, node_states in enumerate(self._states_of_nodes(model)):
            if node_states.n_states > 1 or not self._may_grow(model, node_states.node) or node_states.grown is None:
                continue
            larger = self._whole(node_states.grown)
            larger.key = (*model.key, 2, number)
            around = {
                larger.tree.names[other] for other in neighbours_of(larger.tree, larger.tree.index(node_states.node))
            }
            for other in self._states_of_nodes(larger):
                if other.node in around and self._may_grow(larger, other.node) and other.grown is not None:
                    yield self._change(other.grown, "split two")

    def _best(self, changed: list[NodeStates | None], operator: str) -> Change | None:
        """Return the model with the best score among changes of different nodes, after EM on the whole."""
        ranked = [node_states for node_states in changed if node_states is not None]
        ranked.sort(key=lambda node_states: -self.score(node_states.tree, node_states.log_likelihood))
        finalists = [self._whole(node_states) for node_states in ranked[:FINALISTS]]
        if not finalists:
            return None
        best = max(range(len(finalists)), key=lambda at: finalists[at].score)
        return Change(operator, ranked[best].node, finalists[best])

    def _change(self, node_states: NodeStates, operator: str) -> Change:
        """Return the change of a single node, after EM on the whole."""
        return Change(operator, node_states.node, self._whole(node_states))

    def _whole(self, node_states: NodeStates) -> Model:
        if self.fitter.is_star or not self.options.local:
            return self.model(node_states.tree, node_states.log_likelihood, node_states.key)
        tree, fit = self.fitter.fit([node_states.tree])
        return self.model(tree, fit.log_likelihood, node_states.key)


def split_merge_policy(
    fitter: TreeFitter, score, tuning: presets.SplitMergeTuning, max_states: int | None = None
) -> SplitMergePolicy:
    """Return the policy that a tuning asks for.

    Parameters
    ----------
    fitter : TreeFitter
        Fits trees.
    score : callable
        Tree and log-likelihood -> score.
    tuning : SplitMergeTuning
        How candidates are made and chosen.
    max_states : int, optional
        Most states of a hidden variable.
    """
    names = {field.name for field in fields(Options)} & {field.name for field in fields(tuning)}
    return SplitMergePolicy(
        fitter,
        score,
        Options(**{name: getattr(tuning, name) for name in names}),
        max_states=max_states,
        regular=tuning.regular,
        depth=tuning.depth,
        n_restarts=tuning.n_restarts,
        penalised=tuning.scoring_method == "bic",
        delta=tuning.delta,
        shrink=tuning.merge,
        adjust=tuning.adjust and tuning.merge,
        patience=tuning.patience,
    )


class SplitMerge(MovesColumns, PathLearner, CardinalityLearner):
    """Learn how many states hidden variables have, by splitting and merging the states already learned.

    The search of Karčiauskas' thesis, for latent class models (without a skeleton: one hidden variable above all
    columns) and for hierarchical ones (the skeleton's hidden variables), with better candidates. It begins with one
    state for every hidden variable and goes through three phases. *Grow*: split one state in two, as long as the score
    rises. *Shrink*: merge two states, likewise. *Adjust*: split and merge one after the other, or at the same time,
    even if the score falls in between; if that helps, all phases begin again. Before the search ends it looks once more
    with care, and tries random starts. What was learned for one number of states is the start for the next, which
    finds better models than random starts, and sooner, where states are many.

    Directions of splits come from the data that belong to a state; partial EM on these data chooses among them; EM on
    the neighbourhood of the node (with everything further away turned into evidence) chooses among the best of all, and
    EM on the whole model follows.

    Parameters
    ----------
    skeleton : LatentTree, pgmpy network or DAG, or networkx graph, optional
        The shape of the tree. The hidden variables of a pgmpy network are its latents; those of a plain graph are the
        nodes that are no columns. An undirected graph is rooted at its first hidden variable; an observed root
        (hierarchical naive Bayes) and observed nodes inside are fine. None: one hidden variable above all columns,
        called ``H`` or, if a column has that name, ``H_1``.
    start : LatentTree, pgmpy network or fitted learner, optional
        A model to improve, in place of a skeleton.
    {shared}
    tuning : SplitMergeTuning, optional
        How candidates are made and chosen, and when EM ends; :mod:`~pgmpy_latent.presets` has those of the thesis. None
        stands for ``presets.SPLIT_MERGE``.

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, not_needed_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``.
    held_out_ : DataFrame or None
        With rows held out, a row for every share of BIC's penalty that was tried; see :class:`EAST`. ``score_`` is then
        the log-likelihood of the held-out rows, and ``history_`` has a row for every share.

    See Also
    --------
    RandomStarts : The same search with random starts: the control group.
    compare_classes : One table to choose the number of classes.

    Notes
    -----
    ``SplitMerge(tuning=presets.KARCIAUSKAS_2005_CHAPTER_6)`` is the search of the thesis for latent class models, that
    of chapter 7 for skeletons, and ``SplitMerge(time_limit=60, tuning=presets.KARCIAUSKAS_2005_CHAPTER_4)`` its
    *Splitting*.

    References
    ----------
    G. Karčiauskas (2005). Learning with hidden variables: a parameter reusing approach for tree-structured Bayesian
    networks. PhD thesis, Aalborg University.

    Examples
    --------
    >>> from pgmpy_latent import SplitMerge, datasets
    >>> survey = datasets.load_anes96().iloc[:, :5]
    >>> learner = SplitMerge(random_state=0).fit(survey)
    >>> learner.latents_, learner.model_.check_model()
    (['H'], True)
    >>> learner.history_["operator"].iloc[:2].tolist()
    ['start', 'split']
    """

    _default_tuning = presets.SPLIT_MERGE
    THESIS = MovedPreset("presets.KARCIAUSKAS_2005_CHAPTER_6, or presets.KARCIAUSKAS_2005_CHAPTER_7 with a skeleton")
    SPLITTING = MovedPreset("presets.KARCIAUSKAS_2005_CHAPTER_4")
    _tuning: presets.SplitMergeTuning
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {
        "scoring_method": (
            f"scoring_method : {choices((*scores.SCORERS, scores.HELD_OUT_NAME))}, HeldOut or callable, optional",
            "What the search maximises: a score of :mod:`pgmpy_latent.scores` (``'cs'`` is Cheeseman-Stutz), the "
            "log-likelihood of rows that are held out (:class:`~pgmpy_latent.scores.HeldOut`), or a function of tree "
            "and data, such as :func:`pgmpy_latent.scores.icl`; larger is better. None: as ``tuning`` says, by default "
            "``'bic'``.",
        ),
    }

    def __init__(
        self,
        skeleton: LatentTree | nx.Graph | None = None,
        *,
        start: Start = None,
        columns: Columns = "leaves",
        scoring_method: Scoring | Literal["heldout"] | scores.HeldOut | None = None,
        prior: float | None = None,
        max_states: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.SplitMergeTuning | None = None,
    ) -> None:
        self.skeleton = skeleton
        self.start = start
        self.columns = columns
        self.scoring_method = scoring_method
        self.prior = prior
        self.max_states = max_states
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def _check_settings(self) -> None:
        super()._check_settings()
        self._refuse_endless("patience")
        if scores.held_out_of(self._tuning.scoring_method) is not None and self._tuning.patience is None:
            raise ValueError(
                "patience=None goes on until the time is up, and folds need searches that end; give a number"
            )
        if scores.held_out_of(self._tuning.scoring_method) is not None and self.columns == "anywhere":
            raise ValueError(
                "columns='anywhere' moves columns by BIC, and scoring_method='heldout' is another score; leave one of "
                "them out, or use EAST, which has both"
            )

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        how = scores.held_out_of(self._tuning.scoring_method)
        if how is None:
            return super()._learn(data)
        outcome = self._learn_path(data, how)
        return made_regular(outcome, lambda tree, _: outcome.score) if self._tuning.regular else outcome

    def _searching(
        self, data: CategoricalData, penalty: float, search: Search, continues: bool = False
    ) -> Searching[SplitMergePolicy]:
        tree = self._first_tree(data)
        fitter = TreeFitter(data, tree, search)
        policy = self._policy(fitter, lambda tree, log_likelihood: log_likelihood - penalty * tree.n_parameters)
        return Searching(policy, lambda: tree)

    def _run(
        self, search: Search, start: Callable[[], State], policy: Policy, data: CategoricalData
    ) -> Outcome[LatentTree]:
        return run_with_places(search, start, policy, self._column_places(data, search, policy.score))

    def _policy(self, fitter: TreeFitter, score) -> SplitMergePolicy:
        return split_merge_policy(fitter, score, self._tuning, self.max_states)
