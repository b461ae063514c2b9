"""A last pass over a learned tree: columns move to any node, and hidden variables go, as long as the score rises."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.block_evaluation import BlockEvaluation
from pgmpy_latent.learners.east.block_fit import refitted
from pgmpy_latent.learners.east.blocks import BlockMessages, Division
from pgmpy_latent.learners.east.candidates import EvaluatedMove, by_score
from pgmpy_latent.learners.east.move import Move
from pgmpy_latent.learners.east.moves import Delete, Relocate  # which checkpoints can hold
from pgmpy_latent.learners.east.settings import Columns, EastSettings, Rules
from pgmpy_latent.learners.memory import check_memory_is, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import Outcome, Search, Step
from pgmpy_latent.learners.search_learner import SearchSettings
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import make_regular
from pgmpy_latent.operators.blocks import rooted_at_columns
from pgmpy_latent.operators.canonical import with_standard_roots
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.settings import Constraint, one_of
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.neighbours import nearest_columns

#: For every column, how many of those that say most about it are looked at as its new neighbours. So the work of a
#: round grows with the number of columns, not with its square.
NEAREST = 4
#: Iterations of EM on the tables that a move changes.
STEPS = 6
#: Smallest rise of the score that counts as one.
RISE = 0.5


class Policy(Protocol):
    """A search that the pass comes after."""

    def advance(self, state: State) -> Step:
        """Take the next step."""

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint is not one of this search."""

    def finish(self, state: State) -> Step:
        """Fit the model of a state to its end."""

    def score(self, tree: LatentTree, log_likelihood: float) -> float:
        """Return what is maximised."""


@held_by_checkpoints("memory of the pass over columns")
@dataclass(frozen=True)
class PlacesMemory:
    """Where the pass stands.

    Attributes
    ----------
    before : object
        The memory of the search before, at its end.
    score : float
        Of the tree with which the pass began.
    phase : str
        What the next step does.
    moved : bool
        Whether a move was made, so that EM on all tables is due.
    hopeless : tuple of Relocate
        Moves of columns that did not raise the score when they were last evaluated, and whose surroundings are still
        the same; they are evaluated again when nothing else is left.
    """

    before: object
    score: float
    phase: Literal["make regular", "move columns", "delete nodes"] = "make regular"
    moved: bool = False
    hopeless: tuple[Relocate, ...] = ()


class ColumnPlaces:
    """The policy of the pass: a column, with what hangs on it, moves to another column or hidden variable.

    Every round evaluates the moves of all columns, makes all that raise the score and do not get in each other's way,
    and fits the blocks that they change. When no column moves any more, hidden variables are deleted into a neighbour
    where that raises the score. Hidden variables that became redundant are left out.

    Parameters
    ----------
    data : CategoricalData
        The table.
    search : Search
        Runs EM.
    score : callable
        Tree and log-likelihood -> what must rise. Moves are proposed by BIC.
    """

    def __init__(self, data: CategoricalData, search: Search, score: Callable[[LatentTree, float], float]):
        self.data = data.in_order_of_names()
        self.search = search
        self.score = score
        self.settings = EastSettings(n_steps=STEPS, rules=Rules(columns="anywhere"))
        self.penalty = scores.penalty_per_parameter(data.total_weight)
        self.division = Division(self.data)
        self._latest: tuple[LatentTree, BlockEvaluation] | None = None

    def begun(self, state: State) -> State:
        """Return the state in which the pass begins, from the last one of another search."""
        return replace(state, memory=PlacesMemory(state.memory, state.score), finished=False)

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table."""
        check_memory_is(state, PlacesMemory, "the pass over columns")
        check_over(state, state.memory.phase == "delete nodes")
        check_again(state, self.data, self.score)

    def advance(self, state: State) -> Step:
        """Take the next step."""
        phase = state.memory.phase
        if phase == "make regular":
            return self._regular(state)
        messages = self._evaluation(state).messages
        if phase == "move columns":
            return self._relocated(state, Relocate.to_places(messages.tree, self._places(messages.tree)))
        step = self._moved(state, Delete.in_tree(messages.tree, self.settings.rules))
        return self.finish(state) if step is None else step

    def _relocated(self, state: State, moves: Sequence[Relocate]) -> Step:
        """Move columns, or go on: to the moves that were left out as hopeless, and then to deletions."""
        hopeless = set(state.memory.hopeless)
        step = self._moved(state, [move for move in moves if move not in hopeless])
        if step is not None:
            return step
        if hopeless:
            return Step(replace(state, memory=replace(state.memory, hopeless=())))
        state = self._in_phase(state, "delete nodes")
        return Step(replace(state, memory=replace(state.memory, hopeless=tuple(moves))))

    def _in_phase(self, state: State, phase: Literal["move columns", "delete nodes"]) -> State:
        return replace(state, memory=replace(state.memory, phase=phase))

    def _regular(self, state: State) -> Step:
        """Leave out what the tree does not need: the likelihood stays, and parameters become fewer."""
        state = self._in_phase(state, "move columns")
        tree = make_regular(state.tree)
        score = self.score(tree, state.log_likelihood)
        if tree.n_parameters == state.tree.n_parameters or score < state.score:
            return Step(state)
        return Step(replace(state, tree=tree, score=score, step=state.step + 1), "make regular", None)

    def finish(self, state: State) -> Step:
        """Fit the tree to the end, if a move was made; with a prior, the result need only be better than at first."""
        state = replace(state, finished=True)
        if not state.memory.moved:
            return Step(state)
        engine = engine_for(state.tree, self.data)
        settings = self.search.settings
        fit = self.search.fit(engine, engine.layout.pack(state.tree.tables), **settings.last_fit)
        tree = state.tree.with_tables(engine.layout.unpack(fit.tables))
        score = self.score(tree, fit.log_likelihood)
        if score < (state.memory.score if settings.prior > 0 else state.score):
            return Step(state)
        return Step(State(tree, score, fit.log_likelihood, state.step + 1, state.memory, True), "fit", None)

    # Moves

    @cached_property
    def _near(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The columns that say most about each column."""
        columns = self.data.columns
        which = nearest_columns(self.data, NEAREST, self.search.tick).which
        return {
            name: tuple(columns[at] for at in row if at >= 0) for name, row in zip(columns, which.tolist(), strict=True)
        }

    def _places(self, tree: LatentTree) -> dict[Hashable, list[Hashable]]:
        """Return the new neighbours to look at for each column: columns that say much about it, and their neighbours.

        Of these neighbours, only hidden ones: they stand for what several columns share.
        """
        hidden = {
            name: [tree.names[other] for other in neighbours_of(tree, tree.index(name)) if tree.latent[other]]
            for name in tree.observed_names
        }
        return {
            name: list(dict.fromkeys(place for other in near for place in (other, *hidden[other])))
            for name, near in self._near.items()
        }

    def _evaluation(self, state: State) -> BlockEvaluation:
        """Return the evaluation of a state's moves, which takes over what the last one knows about its blocks."""
        if self._latest is None or self._latest[0] is not state.tree:
            before = None if self._latest is None else self._latest[1]
            tree = rooted_at_columns(state.tree, self.division.columns)
            messages = BlockMessages(tree, self.division, None if before is None else before.messages)
            evaluation = BlockEvaluation(messages, self.search, self.settings, self.penalty, state.step, before)
            self._latest = state.tree, evaluation
        return self._latest[1]

    def _evaluated(self, evaluation: BlockEvaluation, moves: Sequence[Move]) -> list[EvaluatedMove]:
        """Evaluate all moves; the workers share them."""
        for evaluated in self.search.map(evaluation.evaluate_parcel, evaluation.parcels(moves)):
            evaluation.remember(evaluated)
        return evaluation.recalled(moves)

    def _moved(self, state: State, moves: Sequence[Move]) -> Step | None:
        """Make the moves that raise the score, or the better half of them if one alone promises more; and so on."""
        evaluation = self._evaluation(state)
        evaluated = by_score(self._evaluated(evaluation, moves))
        candidates = [one for one in evaluated if one.score > RISE]
        while candidates:
            self.search.tick()
            chosen, tree = self._made(evaluation.tree, candidates)
            tree, log_likelihood = refitted(make_regular(tree), evaluation.messages, self.search)
            score = self.score(tree, log_likelihood)
            if score > state.score + (candidates[0].score if len(chosen) > 1 else RISE):
                failed = [one.move for one in evaluated if one.score <= RISE and isinstance(one.move, Relocate)]
                hopeless = _unaffected(evaluation.tree, [*state.memory.hopeless, *failed], chosen)
                memory = replace(state.memory, phase="move columns", moved=True, hopeless=hopeless)
                new = State(tree, score, log_likelihood, state.step + 1, memory)
                return Step(new, chosen[0].move.operator, "; ".join(str(one.move) for one in chosen))
            candidates = chosen[: len(chosen) // 2]
        return None

    def _made(self, tree: LatentTree, candidates: Sequence[EvaluatedMove]) -> tuple[list[EvaluatedMove], LatentTree]:
        """Make the first moves, best first, that do not get in each other's way; return them, and the tree."""
        before, chosen = tree, list[EvaluatedMove]()
        leaving: set[Hashable] = set()  # nodes that go elsewhere, or are deleted
        staying: set[Hashable] = set()  # nodes that these moves need where they are
        for one in candidates:
            goes, stays = _leaving_and_staying(before, one.move)
            in_the_way = goes & (leaving | staying) or stays & leaving
            if not in_the_way and one.move.is_possible(tree, self.settings.rules):
                tree = one.move.apply(tree, one.changed)
                chosen.append(one)
                leaving |= goes
                staying |= stays
        return chosen, tree


class MovesColumns(SearchSettings):
    """Mixin of the learners that put columns at the ends of their trees: the keyword that asks for the pass."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {"columns": one_of("leaves", "anywhere")}
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {
        "columns": (
            'columns : {"leaves", "anywhere"}',
            "Where columns may stand: where the search puts them, or anywhere. In the latter case they move in a last "
            "pass, with what hangs on them, to other columns or hidden variables as long as the score rises, and "
            "hidden variables that are no longer needed are left out.",
        ),
    }
    columns: Columns

    def _column_places(
        self, data: CategoricalData, search: Search, score: Callable[[LatentTree, float], float]
    ) -> ColumnPlaces | None:
        return ColumnPlaces(data, search, score) if self.columns == "anywhere" else None


def _unaffected(tree: LatentTree, moves: Sequence[Relocate], made: Sequence[EvaluatedMove]) -> tuple[Relocate, ...]:
    """Return the moves that concern neither the nodes of the moves that were made nor their neighbours."""
    nodes = set[Hashable]().union(*(one.move.names for one in made))
    around = {tree.names[other] for name in nodes for other in neighbours_of(tree, tree.index(name))}
    return tuple(move for move in moves if move.names.isdisjoint(nodes | around))


def _leaving_and_staying(tree: LatentTree, move: Move) -> tuple[set[Hashable], set[Hashable]]:
    """Return the nodes that a move takes elsewhere or deletes, and those that it needs where they are."""
    if isinstance(move, Relocate):
        return set(move.moved), set() if move.new is None else {move.new}
    assert isinstance(move, Delete)
    return {move.node}, {tree.names[other] for other in neighbours_of(tree, tree.index(move.node))}


def run_with_places(search: Search, start: Callable[[], State], policy: Policy, places: ColumnPlaces | None) -> Outcome:
    """Run a search, and the pass over columns after it, as one: with one clock, one checkpoint and one history.

    Parameters
    ----------
    search : Search
        The driver.
    start : callable
        Makes the state that the first search begins with.
    policy : Policy
        The first search.
    places : ColumnPlaces, optional
        The pass; None for the first search alone.
    """
    if places is None:
        return search.run(start, policy.advance, policy.check, policy.finish)
    last = places

    def current(state: State) -> Policy:
        return last if isinstance(state.memory, PlacesMemory) else policy

    def advance(state: State) -> Step:
        step = current(state).advance(state)
        is_first = not isinstance(step.state.memory, PlacesMemory)
        return replace(step, state=last.begun(step.state)) if is_first and step.state.finished else step

    outcome = search.run(
        start, advance, lambda state: current(state).check(state), lambda state: current(state).finish(state)
    )
    memory = outcome.memory
    if not isinstance(memory, PlacesMemory):
        return outcome
    tree = with_standard_roots(outcome.tree) if memory.moved else outcome.tree  # the pass roots trees at columns
    return replace(outcome, tree=tree, memory=memory.before)
