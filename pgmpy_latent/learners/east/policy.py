"""The search of EAST: expand, adjust, simplify, until nothing improves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

import numpy as np

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.block_evaluation import BlockEvaluation
from pgmpy_latent.learners.east.block_fit import refitted
from pgmpy_latent.learners.east.block_states import split_and_merged, with_states_of
from pgmpy_latent.learners.east.blocks import BlockMessages, Division
from pgmpy_latent.learners.east.candidates import EvaluatedMove, by_ratio, by_score, in_turn
from pgmpy_latent.learners.east.evaluation import EVALUATIONS, Evaluation
from pgmpy_latent.learners.east.memory import EXCURSION, LOOK_AHEAD, SPLIT_AND_MERGE, EastMemory
from pgmpy_latent.learners.east.move import EXPAND, PHASES, Move, Phase
from pgmpy_latent.learners.east.moves import Relocate, moves_of, moves_within
from pgmpy_latent.learners.east.settings import EastSettings
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.memory import check_memory_is, check_value
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import FitOptions, Search, Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import make_regular
from pgmpy_latent.operators.blocks import rooted_at_columns
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.encode import CategoricalData

#: Most moves that wait in the queue, and the least improvement ratio they need, as a share of the best one's.
QUEUE, LEAST_RATIO = 12, 0.3
#: How many moves are tried at least, even if local EM sees no improvement: EM on all tables may, unless the score would
#: fall by what so many parameters cost.
HOPEFUL, HOPE = 6, 8.0
#: The look-ahead tries moves in batches of this size, and lets this many of each settle, the best ones, but none whose
#: score is lower by what so many parameters cost.
BATCH, SETTLED, DEEPEST = 12, 4, 40.0
#: Most moves that it tries where the tree explains all pairs of columns: a hidden variable may still have taken the
#: place of two, which one move cannot part.
EXPLAINED_LOOK_AHEAD = 24
#: Smallest rise of the score that counts as one.
RISE = 0.5


class EastPolicy:
    """The policy: takes a state of the search to the next one.

    The memory of states is an :class:`EastMemory`.

    Parameters
    ----------
    data : CategoricalData
        The table, columns in the order of their names.
    search : Search
        Runs EM.
    settings : EastSettings
        How the search goes.
    penalty : float, optional
        Cost of a parameter; that of BIC by default.
    division : Division, optional
        The same table, with what other searches have counted in it.
    """

    def __init__(
        self,
        data: CategoricalData,
        search: Search,
        settings: EastSettings,
        penalty: float | None = None,
        division: Division | None = None,
    ):
        self.data = data
        self.search = search
        self.settings = settings
        self.penalty = scores.penalty_per_parameter(data.total_weight) if penalty is None else penalty
        self.division = (division or Division(data)) if settings.rules.anywhere else None
        self._current: tuple[State, Evaluation] | None = None
        self._attempted: dict[Move, tuple[EvaluatedMove, State | None]] = {}  # with the current evaluation

    def __reduce__(self):  # workers need no intermediate results
        return EastPolicy, (self.data, self.search, self.settings, self.penalty)

    # Fitting

    def score(self, tree: LatentTree, log_likelihood: float) -> float:
        """Return the BIC."""
        return log_likelihood - self.penalty * tree.n_parameters

    def fitted(
        self,
        tree: LatentTree,
        step: int,
        memory: EastMemory,
        **options: Unpack[FitOptions],
    ) -> State:
        """Run EM on all tables of a tree."""
        engine = engine_for(tree, self.data)
        fit = self.search.fit(engine, engine.layout.pack(tree.tables), **options)
        tree = tree.with_tables(engine.layout.unpack(fit.tables))
        return State(tree, self.score(tree, fit.log_likelihood), fit.log_likelihood, step, memory)

    def start(self, tree: LatentTree) -> State:
        """Return the state at which the search begins."""
        if self.division is not None:
            tree = rooted_at_columns(tree, self.division.columns)
        return self.fitted(tree, 0, EastMemory(excursions=self.settings.excursions), first=True)

    def finish(self, state: State) -> Step:
        """Fit the current tree to the end."""
        memory = replace(state.memory, queue=())
        new = self.fitted(state.tree, state.step + 1, memory, **self.search.settings.last_fit)
        if new.score < state.score:  # EM with a prior maximises something else
            return Step(replace(state, finished=True))
        return Step(replace(new, finished=True), "fit", None)

    def _made(self, state: State, candidate: EvaluatedMove, wanted: float = -np.inf) -> State | None:
        """Make a move and fit the tree, unless it breaks a rule; EM ends early if ``wanted`` is out of reach."""
        tree = self._changed_tree(state, candidate)
        return None if tree is None else self._refitted(state, tree, wanted)

    def _refitted(self, state: State, tree: LatentTree, wanted: float = -np.inf) -> State:
        """Run EM on the parts of a tree in which it differs from that of a state."""
        target = self._target(tree, wanted)
        before = self._messages_of(state)
        if before is None:
            return self.fitted(tree, state.step + 1, state.memory, target=target)
        tree, log_likelihood = refitted(tree, before, self.search, target)
        return State(tree, self.score(tree, log_likelihood), log_likelihood, state.step + 1, state.memory)

    def _changed_tree(self, state: State, candidate: EvaluatedMove) -> LatentTree | None:
        """Return the tree that a move leads to; None if it breaks a rule."""
        tree = make_regular(candidate.move.apply(state.tree, candidate.changed))
        return None if self.settings.rules.broken(tree) else tree

    def _target(self, tree: LatentTree, score: float) -> float:
        """Return the log-likelihood with which a tree has a certain score; EM with a prior maximises something else."""
        return score + self.penalty * tree.n_parameters if self.search.settings.prior == 0 else -np.inf

    def _evaluation(self, state: State) -> Evaluation:
        """Return the evaluation of a state's moves, which lasts as long as the tree stays the same."""
        if self._current is None or self._current[0].tree is not state.tree or self._current[0].step != state.step:
            self._current, self._attempted = (state, self._evaluation_of(state)), {}
        return self._current[1]

    def _evaluation_of(self, state: State) -> Evaluation:
        """Return a new evaluation, which takes over what the last one knows about the blocks that both trees have."""
        options = (self.search, self.settings, self.penalty, state.step)
        if self.division is not None:
            return BlockEvaluation(BlockMessages(state.tree, self.division, self._last_messages), *options, self._last)
        return EVALUATIONS[self.settings.evaluation](NodeMessages(state.tree, self.data), *options)

    def learn_from(self, other: EastPolicy) -> None:
        """Take over what another policy with the same penalty knows about the last tree that it looked at."""
        self._current = other._current

    @property
    def _last(self) -> BlockEvaluation | None:
        evaluation = None if self._current is None else self._current[1]
        return evaluation if isinstance(evaluation, BlockEvaluation) else None

    @property
    def _last_messages(self) -> BlockMessages | None:
        return None if self._last is None else self._last.messages

    def _messages_of(self, state: State) -> BlockMessages | None:
        """Return the messages of a state in blocks; None if the tree is not divided."""
        if self.division is None:
            return None
        last = self._last_messages
        return last if last is not None and last.tree is state.tree else BlockMessages(state.tree, self.division, last)

    # Checkpoints

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search."""
        check_again(state, self.data, self.score)
        check_memory_is(state, EastMemory, "EAST")
        memory, allowed = state.memory, self.settings.excursions
        left = memory.excursions
        check_value("excursions", left, left == allowed[len(allowed) - len(left) :])
        check_over(state, self._has_nothing_left(state))
        for move in memory.queue:
            if move.is_possible(state.tree, self.settings.rules):
                move.check(state.tree)

    def _has_nothing_left(self, state: State) -> bool:
        """Tell whether a search with this memory can have come to its end."""
        memory = state.memory
        if memory.queue or memory.taking_over is not None:
            return False
        if self.settings.evaluation == "auto":
            is_last = memory.phase == SPLIT_AND_MERGE and not memory.excursions
            return is_last and not self._blocks_to_settle(state)
        since = {state.step, state.step - 1}  # the last EM counts as a step, if it helps
        others = [memory.exhausted.get(phase) for phase in PHASES if phase != memory.phase]
        return len({*others}) == 1 and since.issuperset(others)

    # Steps

    def advance(self, state: State) -> Step:
        """Take the next step."""
        return self._next_action(state.memory)(state)

    def _next_action(self, memory: EastMemory) -> Callable[[State], Step]:
        """Return the kind of step that comes next."""
        if memory.phase == EXCURSION:
            return self._excursion
        if memory.phase == LOOK_AHEAD:
            return self._look_ahead
        if memory.phase == SPLIT_AND_MERGE:
            return self._split_and_merge
        if memory.taking_over is not None:
            return self._take_over
        if self.settings.evaluation != "auto":
            return self._best_move
        return self._from_queue if memory.queue else self._fill_queue

    def _ordered(self, phase: str, candidates: Sequence[EvaluatedMove]) -> list[EvaluatedMove]:
        return by_ratio(candidates) if phase == EXPAND and self.settings.improvement_ratio else by_score(candidates)

    def _best_move(self, state: State) -> Step:
        """Make the best move of a phase, if it helps."""
        phase, kind = state.memory.phase, self.settings.evaluation
        moves = moves_of(state.tree, self.settings.rules, kind, [phase])
        ordered = self._ordered(phase, self._evaluation(state).candidates(moves))
        best = self._best_of(state, ordered, 2 if kind == "dc" and phase == EXPAND else 1)
        return self._next_phase(state) if best is None else self._accepted(state, *best)

    def _best_of(self, state: State, candidates: Sequence[EvaluatedMove], n: int) -> tuple[Move, State] | None:
        """Fit the first ``n`` candidates that break no rule; return the best, or None if the tree is better."""
        tried: list[tuple[EvaluatedMove, State | None]] = []
        left = list(candidates)
        while n and left:
            some, left = left[:n], left[n:]
            new = self.search.map(partial(self._made, state, wanted=state.score), some)
            tried += zip(some, new, strict=True)
            n -= sum(one is not None for one in new)
        return self._best(state, tried)

    def _best(self, state: State, tried: Sequence[tuple[EvaluatedMove, State | None]]) -> tuple[Move, State] | None:
        """Return the best of the candidates that were fitted, or None if the tree is better."""
        better = [(one.move, new) for one, new in tried if new is not None and new.score > state.score + RISE]
        if not better:
            return None
        expanding = state.memory.phase == EXPAND and self.settings.improvement_ratio
        return max(better, key=lambda pair: self._ratio(state, pair[1]) if expanding else pair[1].score)

    def _ratio(self, old: State, new: State) -> tuple[float, float]:
        rise, more = new.score - old.score, new.tree.n_parameters - old.tree.n_parameters
        return (rise / more if more > 0 else np.inf, rise)

    def _accepted(self, state: State, move: Move, new: State, **changes) -> Step:
        changes = {"moved": True, "taking_over": move.takes_over(state.tree, new.tree), **changes}
        return Step(replace(new, memory=replace(state.memory, **changes)), move.operator, str(move))

    def _next_phase(self, state: State) -> Step:
        """Continue with the next phase that has not been tried since the tree last changed."""
        phase = state.memory.phase
        exhausted = {**state.memory.exhausted, phase: state.step}
        at = PHASES.index(phase)
        others = [one for one in (*PHASES[at + 1 :], *PHASES[:at]) if exhausted.get(one) != state.step]
        if not others and self.settings.evaluation != "auto":
            return self.finish(state)
        memory = replace(
            state.memory, phase=others[0] if others else EXCURSION, exhausted=exhausted, queue=(), moved=False
        )
        return Step(replace(state, memory=memory))

    def _take_over(self, state: State) -> Step:
        """Let a new node take over more neighbours of the node it was introduced at."""
        node, new = state.memory.taking_over
        tree = state.tree
        over = Step(replace(state, memory=replace(state.memory, taking_over=None)))
        if node not in tree.names or new not in tree.names:
            return over
        at = tree.index(node)
        if tree.index(new) not in neighbours_of(tree, at):
            return over
        moves = [Relocate(unit, node, new) for unit in self.settings.rules.units(tree, at) if new not in unit]
        candidates = by_score(self._evaluation(state).candidates(moves))
        n_tries = self.settings.n_tries if self.settings.evaluation == "auto" else 1
        best = self._best_of(state, candidates, n_tries)
        return over if best is None else self._accepted(state, *best, taking_over=(node, new))

    # The queue

    def _fill_queue(self, state: State) -> Step:
        """Look for moves that are worth a try."""
        phase = state.memory.phase
        moves = moves_of(state.tree, self.settings.rules, self.settings.evaluation, [phase])
        ordered = self._ordered(phase, self._evaluation(state).candidates(moves))
        good = [one for one in ordered if one.score > 0]
        if phase == EXPAND and good:
            least = LEAST_RATIO * min(good[0].ratio, 1e9)
            good = [one for one in good if one.ratio >= least]
        hopeful = [one for one in ordered[:HOPEFUL] if one.score > -HOPE * self.penalty]
        chosen = good[:QUEUE] if len(good) >= HOPEFUL else hopeful
        if not chosen:
            return self._next_phase(state)
        queue = tuple(one.move for one in chosen)
        return Step(replace(state, memory=replace(state.memory, queue=queue, moved=False)))

    def _from_queue(self, state: State) -> Step:
        """Try the first moves of the queue, and make the best one if it helps."""
        memory, n = state.memory, self.settings.n_tries
        some, queue = memory.queue[:n], memory.queue[n:]
        possible = [move for move in some if move.is_possible(state.tree, self.settings.rules)]
        evaluation = self._evaluation(state)
        needed = self._to_attempt(state, possible, queue)
        items = [evaluation.known.get(move, move) for move in needed]
        new = self.search.map(partial(self._attempt, state, evaluation), items)
        self._attempted.update(zip(needed, new, strict=True))
        tried = {id(one): (one, new) for one, new in map(self._attempted.__getitem__, possible)}
        candidates = self._ordered(memory.phase, [one for one, _ in tried.values()])
        best = self._best(state, [tried[id(one)] for one in candidates])
        if best is None:
            left = replace(state, memory=replace(memory, queue=queue))
            return Step(left) if queue or memory.moved else self._next_phase(left)
        evaluated = [one.move for one in candidates]  # an introduction may have got another number of states
        return self._accepted(state, *best, queue=(*(move for move in evaluated if move != best[0]), *queue))

    def _to_attempt(self, state: State, moves: Sequence[Move], later: Sequence[Move]) -> list[Move]:
        """Return the moves that were not attempted yet, and some that may come next for workers that would be idle."""
        needed = [move for move in moves if move not in self._attempted]
        idle = -len(needed) % self.search.n_workers
        rules = self.settings.rules
        further = [move for move in later if move not in self._attempted and move.is_possible(state.tree, rules)]
        return needed + further[:idle]

    def _attempt(
        self, state: State, evaluation: Evaluation, item: Move | EvaluatedMove
    ) -> tuple[EvaluatedMove, State | None]:
        """Evaluate a move, unless that was done before, and fit the tree; None if it breaks a rule."""
        candidate = evaluation.candidate(item) if isinstance(item, Move) else item
        return candidate, self._made(state, candidate, wanted=state.score)

    # With another penalty

    def _excursion(self, state: State) -> Step:
        """Search with another penalty, then with the usual one; accept the result if its BIC is higher.

        A tree that is too large shows dependences that a smaller one misses; superfluous parts are then removed. One
        that is too small, after a round of adjustment and simplification, has lost what held the others in place, and
        grows anew.
        """
        left = state.memory.excursions
        if not left:
            return Step(replace(state, memory=replace(state.memory, phase=LOOK_AHEAD)))
        other = EastPolicy(self.data, self.search, self.settings, left[0] * self.penalty, self.division)
        usual = EastPolicy(self.data, self.search, self.settings, self.penalty, self.division)
        usual.learn_from(self)
        away, back = (PHASES[:1], (*PHASES[1:], PHASES[0])) if left[0] < 1 else (PHASES[1:], PHASES)
        new, is_back = state, False
        try:
            for policy, phases in ((other, away), (usual, back)):
                new, is_back = policy._set_out(new, phases), policy is usual
                while new.memory.phase in phases:
                    self.search.tick()
                    new = policy._next_action(new.memory)(new).state
                    self.search.show(f"excursion, {new.memory.phase}", new)
        except STOP_SIGNALS as stop:
            if not is_back:
                raise
            self.search.note_interrupt(stop)  # the best so far is kept, if it is better
        if new.score <= state.score + RISE:
            return Step(replace(state, memory=replace(state.memory, excursions=left[1:])))
        memory = replace(state.memory, phase=EXPAND)
        return Step(replace(new, step=state.step + 1, memory=memory), "excursion", None)

    def _set_out(self, state: State, phases: Sequence[Phase]) -> State:
        """Return the state in which a search through some phases begins."""
        exhausted = {phase: state.step for phase in PHASES if phase not in phases}
        memory = EastMemory(phases[0], exhausted, excursions=self.settings.excursions)
        score = self.score(state.tree, state.log_likelihood)
        return State(state.tree, score, state.log_likelihood, state.step, memory)

    # Two steps at once

    def _look_ahead(self, state: State) -> Step:
        """Try moves that do not help by themselves, and see whether they do once their surroundings have settled."""
        over = Step(replace(state, memory=replace(state.memory, phase=SPLIT_AND_MERGE)))
        most = (
            min(self.settings.look_ahead, EXPLAINED_LOOK_AHEAD) if state.memory.explained else self.settings.look_ahead
        )
        if not most:
            return over
        failed = list(state.memory.failed)
        known = set(failed)
        moves = moves_of(state.tree, self.settings.rules, self.settings.evaluation)
        candidates = by_score(self._evaluation(state).candidates(moves))
        unknown = [one for one in candidates if one.move.signature(state.tree) not in known]
        ordered = in_turn(unknown)[:most]
        n_at_once, least = SETTLED if self.search.n_workers > 1 else 1, state.score - DEEPEST * self.penalty
        for first in range(0, len(ordered), BATCH):
            some = ordered[first : first + BATCH]
            failed += [one.move.signature(state.tree) for one in some]
            new = self.search.map(partial(self._made, state, wanted=least), some)
            pairs = zip(some, new, strict=True)
            tried = [(one.move, made) for one, made in pairs if made is not None and made.score > least]
            tried = sorted(tried, key=lambda pair: -pair[1].score)[:SETTLED]
            for begin in range(0, len(tried), n_at_once):
                best = tried[begin : begin + n_at_once]
                for (move, _), settled in zip(best, self.search.map(partial(self._settled, state), best), strict=True):
                    if settled.score > state.score + RISE:
                        memory = replace(state.memory, phase=EXPAND, failed=tuple(failed))
                        return Step(replace(settled, memory=memory), move.operator, f"{move}, and around")
        return over

    def _settled(self, state: State, made: tuple[Move, State]) -> State:
        """Make all moves that help around a move that was made, except those that undo it."""
        move, new = made
        rules = self.settings.rules
        fresh = [name for name in new.tree.latent_names if name not in state.tree.latent_names]
        near = move.touched(state.tree).union(fresh)
        while new.score <= state.score + RISE:
            evaluation = self._evaluation_of(new)
            moves = [one for one in moves_within(new.tree, rules, near) if not move.is_undone_by(one, fresh)]
            for parcel in evaluation.parcels(moves):
                evaluation.remember(evaluation.evaluate_parcel(parcel))
            candidates = by_score(evaluation.recalled(moves))
            if not candidates or candidates[0].score <= RISE:
                break
            further = self._made(new, candidates[0])
            if further is None or further.score <= new.score + RISE:
                break
            new = replace(further, step=state.step + 1)
        return new

    # A last look at numbers of states

    def _split_and_merge(self, state: State) -> Step:
        """Split and merge states in one block; after the last one that this cannot improve, the search is over."""
        waiting = self._blocks_to_settle(state)
        if not waiting:
            return self.finish(state)
        name, (part, data) = next(iter(waiting.items()))
        changed, _ = split_and_merged(part, data, self.search, self.score, self.settings.rules.max_states, state.step)
        tree = make_regular(with_states_of(state.tree, changed))
        if not self.settings.rules.broken(tree):
            new = self._refitted(state, tree)
            if new.score > state.score + RISE:
                memory = replace(state.memory, phase=EXPAND, settled=())
                return Step(replace(new, memory=memory), "split and merge", name)
        return Step(replace(state, memory=replace(state.memory, settled=(*state.memory.settled, name))))

    def _blocks_to_settle(self, state: State) -> dict[str, tuple[LatentTree, CategoricalData]]:
        """Return the blocks whose states were not looked at, by the names of their hidden variables."""
        messages = self._messages_of(state)
        parts = [(state.tree, self.data)] if messages is None else [(one.tree, one.data) for one in messages.blocks]
        named = {", ".join(map(str, tree.latent_names)): (tree, data) for tree, data in parts if tree.latent.any()}
        return {name: part for name, part in named.items() if name not in state.memory.settled}
