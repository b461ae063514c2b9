"""RandomStarts: how many states hidden variables have, with EM from random starts for every number."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from pgmpy_latent import presets
from pgmpy_latent.em.starts import StartInputs, StartRows, make_start
from pgmpy_latent.exceptions import StateNameError
from pgmpy_latent.learners.cardinality.policy import (
    CardinalityLearner,
    Change,
    Model,
    Policy,
    Scoring,
    most_useful_states,
    warn_of_irregular,
)
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.memory import check_memory_is, check_value, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.configured import MovedPreset
from pgmpy_latent.runtime.settings import RandomState

#: More rounds than there is ever time for: each has twice as many starts as the one before.
MOST_ROUNDS = 64


def with_cards(tree: LatentTree, cards: np.ndarray) -> LatentTree:
    """Return a tree of the same shape with other numbers of hidden states and uniform tables.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.1, 0.9]]])
    >>> with_cards(tree, [3, 2]).cards.tolist()
    [3, 2]
    """
    states = [
        tuple(range(card)) if hidden else known
        for card, hidden, known in zip(cards, tree.latent, tree.state_names, strict=True)
    ]
    rows = [1 if above < 0 else int(cards[above]) for above in tree.parent]
    tables = [np.full((n, int(card)), 1 / card) for n, card in zip(rows, cards, strict=True)]
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables)


class RandomStartsPolicy(Policy):
    """Growing, shrinking and adjusting are the same: random starts, with one state more, one less, or as many."""

    def __init__(self, fitter: TreeFitter, score, *, starts: str, n_starts: int, narrowing: float | None, **options):
        self.max_states = options.pop("max_states", None)
        self.regular = options.pop("regular", True)
        super().__init__(fitter, score, **options)
        self.starts = starts
        self.n_starts = n_starts
        self.narrowing = narrowing

    def random_model(self, tree: LatentTree, cards: np.ndarray, key: tuple[int, ...], n: int, **options) -> Model:
        """Fit a tree with the given numbers of states from random starts."""
        shape = with_cards(tree, cards)
        engine = self.fitter.engine(shape)
        data = self.fitter.data
        rows = StartRows.of(data, shape.names)
        inputs = StartInputs(engine.layout, shape.parents, shape.cards, rows)
        flat = np.empty((n, engine.layout.size))
        for number in range(n):
            if not options.get("first"):
                self.search.tick()
            flat[number] = make_start(self.starts, inputs, self.search.seed(*key, number))
        options = {"narrowing": self.narrowing, "n_jobs": self.search.n_jobs, **options}
        fit = self.search.fit(engine, flat, **options)
        return self.model(shape.with_tables(engine.layout.unpack(fit.tables)), fit.log_likelihood, key)

    def _best(self, model: Model, change: int, operator: str, label: int) -> Change | None:
        """Return the best model with one state more or less at one of the hidden nodes."""
        best: Change | None = None
        for number, at in enumerate(np.flatnonzero(model.tree.latent)):
            cards = model.tree.cards.copy()
            cards[at] += change
            if not self._allowed(model.tree, int(at), int(cards[at])):
                continue
            new = self.random_model(model.tree, cards, (*model.key, label, number), self.n_starts)
            if best is None or new.score > best.model.score:
                best = Change(operator, model.tree.names[at], new)
        return best

    def _allowed(self, tree: LatentTree, at: int, n_states: int) -> bool:
        if n_states < 1 or (self.max_states is not None and n_states > self.max_states):
            return False
        return n_states < tree.cards[at] or not self.regular or n_states <= most_useful_states(tree, at)

    def grown(self, model: Model) -> Change | None:
        """Return the best model with one state more."""
        return self._best(model, +1, "increase", 1)

    def shrunk(self, model: Model) -> Change | None:
        """Return the best model with one state less."""
        return self._best(model, -1, "decrease", 2)

    def adjusted(self, model: Model) -> Iterator[Change]:
        """Yield a model with as many states from new starts."""
        if model.tree.latent.any():
            new = self.random_model(model.tree, model.tree.cards, (*model.key, 3), self.n_starts)
            yield Change("new starts", None, new)


@held_by_checkpoints("memory of RandomStarts")
@dataclass(frozen=True)
class RoundsMemory:
    """How many rounds of starts are done, the first one included."""

    n_done: int


class FixedPolicy(RandomStartsPolicy):
    """Numbers of states stay; every round doubles the starts (Procedures 4.3 and 7.8)."""

    def __init__(self, *args, n_rounds: int | None, **options):
        super().__init__(*args, **options)
        self.n_rounds = n_rounds

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search."""
        check_again(state, self.fitter.data, self.score)
        most = MOST_ROUNDS if self.n_rounds is None else self.n_rounds
        check_memory_is(state, RoundsMemory, "RandomStarts with n_states")
        n_done = state.memory.n_done
        check_value("n_done", n_done, 1 <= n_done <= most)
        check_over(state, n_done == self.n_rounds)

    def first(self, tree: LatentTree, cards: np.ndarray) -> State:
        """Return the state after the first round."""
        model = self.random_model(tree, cards, (0,), self.n_starts, first=True)
        return State(model.tree, model.score, model.log_likelihood, memory=RoundsMemory(1))

    def advance(self, state: State) -> Step:
        """Take a round with twice as many starts, or finish."""
        n_done = state.memory.n_done
        if self.n_rounds is not None and n_done >= self.n_rounds:
            last = self.finish(state)
            return replace(last, state=replace(last.state, finished=True))
        model = self.random_model(state.tree, state.tree.cards, (n_done,), self.n_starts * 2**n_done)
        memory = RoundsMemory(n_done + 1)
        if model.score > state.score:
            new = State(model.tree, model.score, model.log_likelihood, state.step + 1, memory)
            return Step(new, "new starts", None)
        return Step(replace(state, memory=memory))


class RandomStarts(CardinalityLearner):
    """Learn how many states hidden variables have, with EM from random starts for every number tried.

    The standard way, and the control group of :class:`SplitMerge`: nothing that was learned for one number of states
    is used for the next. Without ``n_states`` it searches as *Standard3* does (HLCStandard3 with a skeleton): one state
    more as long as the score rises, one less likewise, new starts for the same numbers, and again as long as anything
    helps. With ``n_states`` it is *StandardFixed*: rounds of starts, twice as many each time.

    Parameters
    ----------
    skeleton : LatentTree, pgmpy network or DAG, or networkx graph, optional
        The shape of the tree; see :class:`SplitMerge`. None stands for one hidden variable above all columns.
    n_states : int or dict, optional
        Numbers of states, of all hidden variables or by name. None: found by the search.
    {shared}
    tuning : RandomStartsTuning, optional
        How starts are drawn and thinned out, what is tried, and when EM ends; :mod:`~pgmpy_latent.presets` has those of
        the thesis. None stands for ``presets.RANDOM_STARTS``.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts, datasets
    >>> survey = datasets.load_anes96().iloc[:, :4]
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(survey)
    >>> learner.tree_.cards[0], learner.latents_
    (np.int64(2), ['H'])
    """

    _default_tuning = presets.RANDOM_STARTS
    THESIS = MovedPreset("presets.KARCIAUSKAS_2005_STANDARD3, or presets.KARCIAUSKAS_2005_STANDARD_FIXED with n_states")
    _tuning: presets.RandomStartsTuning

    def __init__(
        self,
        skeleton: LatentTree | nx.Graph | None = None,
        *,
        n_states: dict | int | None = None,
        n_starts: int | None = None,
        scoring_method: Scoring | None = None,
        prior: float | None = None,
        max_states: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.RandomStartsTuning | None = None,
    ) -> None:
        self.skeleton = skeleton
        self.n_states = n_states
        self.n_starts = n_starts
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
        self._refuse_endless("patience" if self.n_states is None else "n_rounds")

    def _policy(self, fitter: TreeFitter, score) -> RandomStartsPolicy:
        tuning = self._tuning
        names = ("starts", "n_starts", "narrowing", "delta", "shrink", "adjust", "patience", "regular")
        options = {name: getattr(tuning, name) for name in names}
        options["max_states"] = self.max_states
        if self.n_states is None:
            return RandomStartsPolicy(fitter, score, **options)
        return FixedPolicy(fitter, score, n_rounds=tuning.n_rounds, **options)

    def _first_state(self, policy: Policy, tree: LatentTree) -> State:
        if isinstance(policy, FixedPolicy):
            return policy.first(tree, self._fixed_cards(tree))
        return super()._first_state(policy, tree)

    def _fixed_cards(self, tree: LatentTree) -> np.ndarray:
        """Return the numbers of states asked for; warn where they are more than the neighbours can tell apart."""
        wanted = self.n_states
        if not isinstance(wanted, Mapping):
            wanted = dict.fromkeys(tree.latent_names, wanted)
        strangers = [name for name in wanted if name not in tree.latent_names]
        if strangers:
            raise StateNameError(f"n_states names {strangers}; the hidden variables are {list(tree.latent_names)}")
        cards = tree.cards.copy()
        for name in tree.latent_names:
            n_states = wanted.get(name, 2)
            if not isinstance(n_states, (int, np.integer)) or isinstance(n_states, bool) or n_states < 1:
                raise StateNameError(f"n_states of {name!r} is {n_states!r}; give a whole number of at least 1")
            cards[tree.index(name)] = n_states
        sized = with_cards(tree, cards)
        for name in tree.latent_names:
            bound = most_useful_states(sized, tree.index(name))
            if cards[tree.index(name)] > bound:
                warn_of_irregular(name, int(cards[tree.index(name)]), bound)
        return cards

    def _regular(self, outcome, policy):
        return outcome if self.n_states is not None else super()._regular(outcome, policy)
