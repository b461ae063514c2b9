"""SplitMerge: how many states hidden variables have, by splitting and merging the states already learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import ClassVar

from pgmpy_latent.learners.cardinality.policy import CardinalityLearner, Model, Policy, most_useful_states
from pgmpy_latent.learners.local.node_states import NodeStates, Options
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.operators.edges import neighbours_of

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
        **phases,
    ):
        super().__init__(fitter, score, **phases)
        self.options = options
        self.depth = depth
        self.n_restarts = n_restarts
        self.max_states = max_states
        self.regular = regular

    def _spots(self, model: Model) -> list[NodeStates]:
        """Return the hidden nodes of a model; what is found out about them is kept with it."""
        if "spots" not in model.notes:
            model.notes["spots"] = [
                NodeStates(
                    self.fitter, self.options, name, model.log_likelihood, (*model.key, 0, number), tree=model.tree
                )
                for number, name in enumerate(model.tree.latent_names)
            ]
        return model.notes["spots"]

    def _allowed(self, model: Model, node: Hashable, n_states: int) -> bool:
        at = model.tree.index(node)
        if n_states <= model.tree.cards[at]:
            return True
        if self.max_states is not None and n_states > self.max_states:
            return False
        return not self.regular or n_states <= most_useful_states(model.tree, at)

    def _may_grow(self, model: Model, node: Hashable) -> bool:
        return self._allowed(model, node, int(model.tree.cards[model.tree.index(node)]) + 1)

    def grown(self, model: Model) -> tuple[str, Hashable, Model] | None:
        """Return the best model with one state split."""
        spots = [spot for spot in self._spots(model) if self._may_grow(model, spot.node)]
        return self._best([spot.grown for spot in spots], "split")

    def shrunk(self, model: Model) -> tuple[str, Hashable, Model] | None:
        """Return the best model with two states merged."""
        return self._best([spot.shrunk for spot in self._spots(model)], "merge")

    def adjusted(self, model: Model) -> Iterator[tuple[str, Hashable, Model]]:
        """Yield models with as many states after splitting and merging."""
        for depth in range(1, self.depth + 1):
            for spot in self._spots(model):
                for operator, found in spot.there_and_back(depth):
                    if not self._allowed(model, spot.node, found.n_states):
                        continue
                    yield self._best([found], operator)
                if depth == 1:
                    for operator, found in spot.exchanged():
                        yield self._best([found], operator)
        yield from self._grown_together(model)
        for number in range(self.n_restarts):
            for spot in self._spots(model):
                yield self._best([spot.restarted(number)], "restart")

    def _grown_together(self, model: Model) -> Iterator[tuple[str, Hashable, Model]]:
        """Yield models in which a node of one state and a hidden neighbour both got a state more.

        Where two such nodes stand between variables that depend on each other, neither helps without the other.
        """
        if self.options.adjustments != "all":
            return
        for number, spot in enumerate(self._spots(model)):
            if spot.n_states > 1 or not self._may_grow(model, spot.node) or spot.grown is None:
                continue
            larger = self._whole(spot.grown)
            larger.key = (*model.key, 2, number)
            around = {larger.tree.names[other] for other in neighbours_of(larger.tree, larger.tree.index(spot.node))}
            for other in self._spots(larger):
                if other.node in around and self._may_grow(larger, other.node) and other.grown is not None:
                    yield self._best([other.grown], "split two")

    def _best(self, found: list[NodeStates | None], operator: str) -> tuple[str, Hashable, Model] | None:
        """Return the model with the best score among changes of different nodes, after EM on the whole."""
        ranked = [spot for spot in found if spot is not None]
        ranked.sort(key=lambda spot: -self.score(spot.tree, spot.log_likelihood))
        finalists = [self._whole(spot) for spot in ranked[:FINALISTS]]
        if not finalists:
            return None
        best = max(range(len(finalists)), key=lambda at: finalists[at].score)
        return operator, ranked[best].node, finalists[best]

    def _whole(self, spot: NodeStates) -> Model:
        if self.fitter.is_star or not self.options.local:
            return self.model(spot.tree, spot.log_likelihood, spot.key)
        tree, fit = self.fitter.fit([spot.tree])
        return self.model(tree, fit.log_likelihood, spot.key)


class SplitMerge(CardinalityLearner):
    """Learn how many states hidden variables have, by splitting and merging the states already learned.

    The search of Karčiauskas' thesis, for latent class models (without a skeleton: one hidden variable above all
    columns) and for hierarchical ones (the skeleton's hidden variables), with better candidates. It begins with one
    state for every hidden variable and goes through three phases. *Grow*: split one state in two, as long as the score
    rises. *Shrink*: merge two states, likewise. *Adjust*: split and merge one after the other, or at the same time,
    even if the score falls in between; if that helps, all phases begin again. What was learned for one number of states
    is the start for the next, which finds better models than random starts, and sooner, where states are many.

    Directions of splits come from the data that belong to a state; partial EM on these data, all states at once,
    chooses among them; EM on the neighbourhood of the node (with everything further away turned into evidence) chooses
    among the best of all, and EM on the whole model follows.

    Parameters
    ----------
    skeleton : LatentTree, pgmpy network or DAG, or networkx graph, optional
        The shape of the tree. The hidden variables of a pgmpy network are its latents; those of a plain graph are the
        nodes that are no columns. An undirected graph is rooted at its first hidden variable; an observed root
        (hierarchical naive Bayes) and observed nodes inside are fine. None: one hidden variable above all columns,
        called ``H`` or, if a column has that name, ``H_1``.
    start : LatentTree, pgmpy network or fitted learner, optional
        A model to improve, in place of a skeleton.
    scoring_method : {"bic", "aic", "cs"} or callable
        What the search maximises: a score of :mod:`pgmpy_latent.scores` (``"cs"`` is Cheeseman-Stutz), or a function of
        tree and data, such as :func:`pgmpy_latent.scores.icl`; larger is better.
    prior : float, optional
        Dirichlet pseudo-count of every table entry (MAP); None is maximum likelihood.
    merge, adjust : bool
        Whether to shrink, and whether to adjust, which needs merges too. With ``merge=False`` this is *Splitting*; with
        ``patience=None`` and a time limit as well, its anytime form.
    partial : bool
        Whether splits of a state are tried by EM with the two new states only, on the data that belong to it.
    local : bool
        Whether candidates around a node are compared by EM on its neighbourhood alone. Matters for skeletons only.
    introduce : bool
        Whether new states for badly described rows, and removals of states, are candidates too.
    adjustments : {"all", "thesis"}
        Which adjustments are tried: all of them, or those of Procedure 6.4: merge then split, and half of a state
        joined to another.
    directions : {"data", "random", "thesis", "clipped"}
        How states are split: along what varies most in their data (two thirds, and at random), at random in proportion
        to probabilities, as chapter 6 of the thesis does, which cannot split states with probabilities near 0 or 1, or
        as its chapter 4 does: at random, clipped where a probability would leave (0, 1), and normalised.
    n_splits : int
        Splits tried for every state.
    perturbation : float
        Size of random splits: the largest relative change, at most 1; with ``"thesis"`` and ``"clipped"``, the largest
        change.
    n_candidates, n_merge_candidates : int or None
        How many of the most promising splits, and merges, EM is run for; None is all.
    n_screened : int or None
        With more states than this, only that many are considered for a split: those whose data are furthest (by
        Kullback-Leibler divergence) from what the state says. For merges, only pairs whose data are close, that many
        times the number of states. None considers all.
    narrowing, merge_narrowing : float
        Of the candidates, the best ``1/narrowing`` are kept after 1, 3, 7, 15, ... iterations.
    depth : int
        How many states an adjustment may go up and down again, or down and up again.
    n_restarts : int
        How often an adjustment tries random starts, improved by splitting and merging, where nothing else helps.
    delta : float
        What an adjustment must gain.
    patience : int or None
        How often growing may fail, with new random splits, before the search goes on. None goes on until
        ``time_limit``.
    max_states : int, optional
        Most states of a hidden variable.
    regular : bool
        Whether hidden variables get only as many states as their neighbours can tell apart, and are left out in the
        end where they carry nothing.
    tol, search_tol : float
        EM ends when the log-likelihood left to gain, by extrapolation, is below this: for the final model, and for
        candidates.
    max_iter, search_iter : int
        Most iterations of EM, for the final model and for candidates.
    stop : {"remaining", "last_step"}
        What the tolerances bound: the gain left, or the gain of the last iteration.
    accelerate : bool
        Whether EM leaps (SQUAREM).
    unseen : {"missing", "error"}
        What becomes of unknown categories in new rows.
    n_jobs : int, optional
        Threads that share candidates; -1 for all cores. The result does not depend on it.
    random_state : int, optional
        Same seed, same answer.
    time_limit : float, optional
        Seconds; the best model so far is then fitted, and ``stopped_`` says so.
    checkpoint : path-like, optional
        File that the search is kept in. A search that was killed goes on from it, and ends in the same model as one
        that never stopped; a finished one returns its model. A file of other data or other settings is refused.
    show_progress : bool
        Whether searches of more than two seconds show a bar.

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, not_needed_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``.

    See Also
    --------
    RandomStarts : The same search with random starts: the control group.
    compare_classes : One table to choose the number of classes.

    Notes
    -----
    ``SplitMerge(**SplitMerge.THESIS)`` follows sections 4.5.2 and 6.3.1 of the thesis: 16 random splits of size 0.001,
    q = 2 and 10, δ = 1, EM until a step gains less than 0.01 or for 200 iterations.
    ``SplitMerge(**SplitMerge.SPLITTING, time_limit=60)`` is *Splitting* with the settings of chapter 4.

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

    #: The settings of the thesis, sections 4.5.2 and 6.3.1.
    THESIS: ClassVar[dict] = {
        "adjustments": "thesis",
        "directions": "thesis",
        "perturbation": 0.001,
        "n_splits": 16,
        "n_candidates": 1,
        "n_merge_candidates": None,
        "n_screened": None,
        "narrowing": 2.0,
        "merge_narrowing": 10.0,
        "depth": 1,
        "n_restarts": 0,
        "delta": 1.0,
        "regular": False,
        "local": False,
        "tol": 0.01,
        "search_tol": 0.01,
        "max_iter": 200,
        "search_iter": 200,
        "stop": "last_step",
        "accelerate": False,
    }
    #: *Splitting* as in chapter 4: one split of every state, Cheeseman-Stutz, MAP; add a time limit.
    SPLITTING: ClassVar[dict] = {
        **THESIS,
        "scoring_method": "cs",
        "prior": 1.0,
        "merge": False,
        "partial": False,
        "directions": "clipped",
        "perturbation": 0.1,
        "n_splits": 1,
        "n_candidates": None,
        "patience": None,
    }

    def __init__(
        self,
        skeleton=None,
        *,
        start=None,
        scoring_method="bic",
        prior=None,
        merge=True,
        adjust=True,
        partial=True,
        local=True,
        introduce=False,
        adjustments="all",
        directions="data",
        n_splits=9,
        perturbation=0.5,
        n_candidates=8,
        n_merge_candidates=8,
        n_screened=64,
        narrowing=2.0,
        merge_narrowing=2.0,
        delta=0.1,
        patience=1,
        depth=3,
        n_restarts=3,
        max_states=None,
        regular=True,
        tol=1e-3,
        search_tol=0.1,
        max_iter=10_000,
        search_iter=300,
        stop="remaining",
        accelerate=True,
        unseen="missing",
        n_jobs=None,
        random_state=None,
        time_limit=None,
        checkpoint=None,
        show_progress=True,
    ):
        self.skeleton = skeleton
        self.start = start
        self.scoring_method = scoring_method
        self.prior = prior
        self.merge = merge
        self.adjust = adjust
        self.partial = partial
        self.local = local
        self.introduce = introduce
        self.adjustments = adjustments
        self.directions = directions
        self.n_splits = n_splits
        self.perturbation = perturbation
        self.n_candidates = n_candidates
        self.n_merge_candidates = n_merge_candidates
        self.n_screened = n_screened
        self.narrowing = narrowing
        self.merge_narrowing = merge_narrowing
        self.delta = delta
        self.patience = patience
        self.depth = depth
        self.n_restarts = n_restarts
        self.max_states = max_states
        self.regular = regular
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.search_iter = search_iter
        self.stop = stop
        self.accelerate = accelerate
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("n_candidates", "n_merge_candidates", "n_screened", "patience"):
            self._check_number(name, 1, none=True, whole=True)
        for name, least in (("n_splits", 1), ("depth", 1), ("n_restarts", 0)):
            self._check_number(name, least, whole=True)
        if self.adjustments not in ("all", "thesis"):
            raise ValueError(f"adjustments is {self.adjustments!r}; give 'all' or 'thesis'")
        if self.directions not in ("data", "random", "thesis", "clipped"):
            raise ValueError(f"directions is {self.directions!r}; give 'data', 'random', 'thesis' or 'clipped'")
        self._check_number("perturbation", 0)
        if not 0 < self.perturbation <= 1:
            raise ValueError(f"perturbation is {self.perturbation!r}; give a number above 0 and at most 1")
        self._check_number("narrowing", 1)
        self._check_number("merge_narrowing", 1)
        if self.merge_narrowing == 1:
            raise ValueError("merge_narrowing is 1, which keeps all candidates for ever; give more than 1, as 2")
        if self.patience is None and self.time_limit is None:
            raise ValueError("patience=None goes on until the time is up; give a time_limit as well")

    def _policy(self, fitter: TreeFitter, score) -> SplitMergePolicy:
        options = Options(
            directions=self.directions,
            n_splits=self.n_splits,
            perturbation=self.perturbation,
            partial=self.partial,
            local=self.local,
            introduce=self.introduce,
            adjustments=self.adjustments,
            n_candidates=self.n_candidates,
            n_merge_candidates=self.n_merge_candidates,
            n_screened=self.n_screened,
            narrowing=self.narrowing,
            merge_narrowing=self.merge_narrowing,
        )
        return SplitMergePolicy(
            fitter,
            score,
            options,
            max_states=self.max_states,
            regular=self.regular,
            depth=self.depth,
            n_restarts=self.n_restarts,
            delta=self.delta,
            shrink=self.merge,
            adjust=self.adjust and self.merge,
            patience=self.patience,
        )
