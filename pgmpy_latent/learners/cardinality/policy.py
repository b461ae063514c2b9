"""Learners of how many states hidden variables have: the phases of growing, shrinking and adjusting (Procedure 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

from pgmpy_latent import scores
from pgmpy_latent.exceptions import DataError, RegularityWarning, SkeletonError
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.memory import check_memory_is, check_value, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import Outcome, Search, Step
from pgmpy_latent.learners.search_learner import SearchingLearner, made_regular
from pgmpy_latent.learners.skeletons import in_order_of_table, model_given, one_state_tree, states_of_columns
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.operators.regularity import UNBOUNDED, bound_from_cards, regular_bound
from pgmpy_latent.presets import RandomStartsTuning, SplitMergeTuning
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.configured import choices
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData

#: A score must rise by more than rounding to count as risen.
ROUNDING = 1e-9


@dataclass(eq=False)
class Model:
    """A fitted model during a search; ``notes`` holds intermediate results about it."""

    tree: LatentTree
    log_likelihood: float
    score: float
    key: tuple[int, ...]
    notes: dict = field(default_factory=dict)


class Change(NamedTuple):
    """A model that a search may go on with, and how it came about: the operator, and the node it was applied to."""

    operator: str
    node: Hashable
    model: Model


@held_by_checkpoints("memory of Procedure 6.1")
@dataclass(frozen=True)
class PhaseMemory:
    """Where a search stands in Procedure 6.1.

    Attributes
    ----------
    grow, shrink : bool
        Which of these phases are still to come, or under way.
    settled : bool
        Whether the model was fitted to the end.
    shrank : bool
        Whether this phase of shrinking has led to another model.
    tries : int
        How often growing has failed in a row.
    """

    grow: bool = True
    shrink: bool = True
    settled: bool = False
    shrank: bool = False
    tries: int = 0


class Policy:
    """Grow until the score no longer rises, shrink likewise, adjust; and again as long as anything helps.

    A subclass says what growing, shrinking and adjusting are: each yields or returns models, best first.

    Parameters
    ----------
    fitter : TreeFitter
        Fits trees.
    score : callable
        Tree and log-likelihood -> score.
    delta : float
        What an adjustment must gain.
    shrink, adjust : bool
        Whether to do so.
    patience : int or None
        How often growing may fail before the search goes on; None never gives up.
    """

    def __init__(
        self,
        fitter: TreeFitter,
        score: Callable[[LatentTree, float], float],
        *,
        delta: float,
        shrink: bool = True,
        adjust: bool = True,
        patience: int | None = 1,
    ):
        self.fitter = fitter
        self.search = fitter.search
        self.score = score
        self.delta = delta
        self.shrink = shrink
        self.adjust = adjust
        self.patience = patience
        self._latest: Model | None = None

    def grown(self, model: Model) -> Change | None:
        """Return the best model with one hidden state more."""
        raise NotImplementedError

    def shrunk(self, model: Model) -> Change | None:
        """Return the best model with one hidden state less."""
        raise NotImplementedError

    def adjusted(self, model: Model) -> Iterator[Change]:
        """Yield models from other ways to change the model, which may be worse in between."""
        raise NotImplementedError

    def model(self, tree: LatentTree, log_likelihood: float, key: tuple[int, ...]) -> Model:
        """Return a scored model."""
        return Model(tree, log_likelihood, self.score(tree, log_likelihood), key)

    def start(self, tree: LatentTree) -> State:
        """Return the state of a search that begins with a tree, after EM."""
        tree, fit = self.fitter.fit([tree], first=True)
        model = self.model(tree, fit.log_likelihood, ())
        return State(tree, model.score, model.log_likelihood, memory=PhaseMemory(shrink=self.shrink))

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search."""
        check_again(state, self.fitter.data, self.score)
        check_memory_is(state, PhaseMemory, "SplitMerge or RandomStarts")
        memory: PhaseMemory = state.memory
        check_value("tries", memory.tries, self.patience is None or memory.tries < self.patience)
        check_over(state, memory.settled and not memory.grow and not memory.shrink)

    def _current(self, state: State) -> Model:
        key = (state.step, state.memory.tries)
        if self._latest is None or self._latest.tree is not state.tree or self._latest.key != key:
            self._latest = Model(state.tree, state.log_likelihood, state.score, key)
        return self._latest

    def advance(self, state: State) -> Step:
        """Take the next step of Procedure 6.1."""
        memory: PhaseMemory = state.memory
        model = self._current(state)
        if memory.grow:
            return self._try_to_grow(state, model)
        if memory.shrink:
            return self._try_to_shrink(state, model)
        if not memory.settled:
            return self._settle(state)
        if self.adjust:
            for change in self.adjusted(model):
                if change.model.score > state.score + self.delta:
                    return self._accept(state, change, PhaseMemory(shrink=self.shrink, tries=memory.tries))
        return Step(replace(state, finished=True))

    def _try_to_grow(self, state: State, model: Model) -> Step:
        memory: PhaseMemory = state.memory
        change = self.grown(model)
        if change is not None and change.model.score > state.score + ROUNDING:
            return self._accept(state, change, PhaseMemory(shrink=self.shrink))
        if self.patience is None or memory.tries + 1 < self.patience:
            return Step(replace(state, memory=replace(memory, tries=memory.tries + 1)))
        return Step(replace(state, memory=replace(memory, grow=False)))

    def _try_to_shrink(self, state: State, model: Model) -> Step:
        memory: PhaseMemory = state.memory
        change = self.shrunk(model)
        if change is not None and change.model.score > state.score + ROUNDING:
            further = PhaseMemory(grow=False, shrink=self.shrink, shrank=True, tries=memory.tries)
            return self._accept(state, change, further)
        return Step(replace(state, memory=replace(memory, shrink=False, grow=memory.shrank, shrank=False)))

    def _settle(self, state: State) -> Step:
        """Fit the current model to the end, so that no adjustment is credited with what EM would have gained anyway."""
        return self.finish(replace(state, memory=replace(state.memory, settled=True)))

    def finish(self, state: State) -> Step:
        """Fit the current model to the end."""
        settings = self.search.settings
        if settings.search_tol <= settings.tol and settings.stop == "last_step":
            self.search.remaining_gain = 0.0
            return Step(state)  # candidates were fitted to the end, by the rule of papers
        tree, fit = self.fitter.fit([state.tree], **self.search.settings.last_fit)
        model = self.model(tree, fit.log_likelihood, ())
        if model.score <= state.score + ROUNDING:
            return Step(state)
        return Step(State(tree, model.score, model.log_likelihood, state.step + 1, state.memory), "fit", None)

    def _accept(self, state: State, change: Change, memory: PhaseMemory) -> Step:
        model = change.model
        new = State(model.tree, model.score, model.log_likelihood, state.step + 1, memory)
        return Step(new, change.operator, change.node)


#: What ``scoring_method`` may be.
Scoring = Literal["bic", "aic", "cs"] | Callable[[LatentTree, CategoricalData], float]


class CardinalityLearner(SearchingLearner):
    """Base of :class:`SplitMerge` and :class:`RandomStarts`: skeletons, starts, scores, and the run."""

    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {
        "scoring_method": (
            f"scoring_method : {choices(scores.SCORERS)} or callable, optional",
            "What the search maximises: a score of :mod:`pgmpy_latent.scores` (``'cs'`` is Cheeseman-Stutz), or a "
            "function of tree and data, such as :func:`pgmpy_latent.scores.icl`; larger is better. None: as ``tuning`` "
            "says, by default ``'bic'``.",
        ),
    }
    _takes_numbers: ClassVar[bool] = True
    _tuning: SplitMergeTuning | RandomStartsTuning
    skeleton: object

    def _refuse_endless(self, name: str) -> None:
        """Raise if a search that goes on until the time is up has no time limit."""
        if getattr(self._tuning, name) is None and self.time_limit is None:
            raise ValueError(f"{name}=None goes on until the time is up; give a time_limit as well")

    def _check_numbers(self, data: CategoricalData) -> None:
        super()._check_numbers(data)
        name = next(iter(data.values))
        if self._tuning.scoring_method == "cs":
            raise DataError(f"scoring_method='cs' is defined for categories alone, and {name!r} is a number; say 'bic'")
        if getattr(self, "columns", "leaves") == "anywhere":
            raise DataError(f"columns='anywhere' is for categories alone, and {name!r} is a number; leave it out")

    def _scorer(self, data: CategoricalData) -> Callable[[LatentTree, float], float]:
        return scores.tree_scorer(self._tuning.scoring_method, data)

    def _given_start(self) -> LatentTree | None:
        return model_given(getattr(self, "start", None))

    def _known_states(self) -> dict | None:
        return states_of_columns(self._given_start())

    def _known_codes(self) -> tuple:
        start = self._given_start()
        return () if start is None else start.missing

    def _first_tree(self, data: CategoricalData) -> LatentTree:
        """Return the tree to begin with: the one given, or one state for every hidden variable."""
        start = self._given_start()
        if start is None:
            return one_state_tree(self.skeleton, data)
        if self.skeleton is not None:
            raise SkeletonError("give a skeleton or a model to start with, not both: the model has a skeleton")
        return in_order_of_table(start, data)

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        search = self._search(data)
        tree = self._first_tree(data)
        fitter = TreeFitter(data, tree, search)
        policy = self._policy(fitter, self._scorer(data))
        outcome = self._run(search, lambda: self._first_state(policy, tree), policy, data)
        return self._regular(outcome, policy) if self._tuning.regular else outcome

    def _policy(self, fitter: TreeFitter, score: Callable[[LatentTree, float], float]) -> Policy:
        raise NotImplementedError

    def _run(
        self, search: Search, start: Callable[[], State], policy: Policy, data: CategoricalData
    ) -> Outcome[LatentTree]:
        return search.run(start, policy.advance, policy.check, policy.finish)

    def _first_state(self, policy: Policy, tree: LatentTree) -> State:
        return policy.start(tree)

    def _regular(self, outcome: Outcome[LatentTree], policy: Policy) -> Outcome[LatentTree]:
        return made_regular(outcome, policy.score)


def most_useful_states(tree: LatentTree, at: int) -> int:
    """Return how many states a hidden node can use, given its neighbours' numbers of states.

    One more than a regular node may have if it stands between two others: with as many states as the smaller of them
    it is not needed, but its skeleton may want it.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0], [0, 1], [0, 1, 2]], [-1, 0, 0], [True, False, False],
    ...                   [[[1.0]], [[0.5, 0.5]], [[0.2, 0.3, 0.5]]])
    >>> most_useful_states(tree, 0)
    2
    """
    if regular_bound(tree, tree.names[at]) == UNBOUNDED:
        return UNBOUNDED
    around = [int(tree.cards[other]) for other in neighbours_of(tree, at)]
    return min(around) if len(around) == 2 else max(1, bound_from_cards(around))


def warn_of_irregular(name: Hashable, wanted: int, bound: int) -> None:
    """Warn that a hidden variable was asked to have more states than its neighbours can tell apart."""
    warn(
        f"{wanted} states of {name!r} are more than the {bound} that its neighbours can tell apart (the bound of "
        "regularity: the product of their numbers of states, divided by the largest); further states cannot describe "
        f"the table better. Ask for at most {bound}.",
        RegularityWarning,
    )
