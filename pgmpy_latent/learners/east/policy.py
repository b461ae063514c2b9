"""The search of EAST: expand, adjust, simplify, until nothing improves."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.evaluation import EVALUATIONS, RestrictedEvaluation, by_ratio, by_score, in_turn
from pgmpy_latent.learners.east.moves import (
    Introduce,
    Move,
    Relocate,
    Rules,
    applied,
    as_list,
    contractions,
    deletions,
    from_list,
    growths,
    introductions,
    is_possible,
    relocations,
    shrinkages,
    signature,
    touched,
    undoes,
)
from pgmpy_latent.learners.east.restricted import Candidate, Restricted
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.resumed import check_again, check_memory, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import neighbours_of
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.tables.encode import CategoricalData

#: The phases of a round, in their order.
PHASES = ("expand", "adjust", "delete states", "delete nodes")
#: Most candidates that wait to be tried, and the least improvement ratio they need, as a share of the best one's.
QUEUE, LEAST_RATIO = 12, 0.3
#: How many are tried at least, whether local EM sees an improvement or not: EM on all tables may.
HOPEFUL = 6
#: Looking ahead goes by so many candidates at a time, of which so many are given time to settle, those that do best.
BATCH, SETTLED = 12, 4
#: Smallest rise of the score that counts as one.
RISE = 0.5


@dataclass(frozen=True)
class Options:
    """How the search goes; see :class:`~pgmpy_latent.EAST`, which has them as arguments."""

    evaluation: str = "auto"
    improvement_ratio: bool = True
    n_starts: int = 8
    n_steps: int = 40
    n_tries: int = 3
    look_ahead: int = 24
    excursions: tuple[float, ...] = (0.5, 0.25)
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True, eq=False)
class Attempts:
    """What workers do with the candidates of a state, each by itself.

    Attributes
    ----------
    policy : EastPolicy
    state : State
        Whose candidates they are.
    evaluation : RestrictedEvaluation, optional
        Evaluates candidates.
    wanted : float
        EM ends early if this score is out of reach.
    """

    policy: EastPolicy
    state: State
    evaluation: RestrictedEvaluation | None = None
    wanted: float = -np.inf

    def known(self, moves: Sequence[Move]) -> list[Move | Candidate]:
        """Return moves, or what is known about them already."""
        return [self.evaluation.known(move) or move for move in moves]

    def evaluated(self, item: Move | Candidate) -> tuple[Candidate, State | None]:
        """Evaluate a move and fit the tree; None if it breaks a rule."""
        candidate = item if isinstance(item, Candidate) else self.evaluation.candidate(item)
        return candidate, self.tried(candidate)

    def tried(self, candidate: Candidate) -> State | None:
        """Fit the tree that a candidate leads to; None if it breaks a rule."""
        return self.policy._tried(self.state, candidate, self.wanted)

    def settled(self, pair: tuple[Move, State]) -> State:
        """Make all moves that help around one that was made."""
        return self.policy._settled(self.state, *pair)


class EastPolicy:
    """The policy.

    Parameters
    ----------
    data : CategoricalData
        The table, columns in the order of their names.
    search : Search
        Runs EM.
    options : Options
        How the search goes.
    penalty : float, optional
        What a parameter costs; what BIC says by default.
    """

    def __init__(self, data: CategoricalData, search: Search, options: Options, penalty: float | None = None):
        self.data = data
        self.search = search
        self.options = options
        self.penalty = float(np.log(data.total_weight) / 2) if penalty is None else penalty
        self._outlook: NodeMessages | None = None
        self._evaluated: tuple[tuple, RestrictedEvaluation] | None = None
        self._attempted: dict[Move, tuple[Candidate, State | None]] = {}  # since the tree changed last

    def __reduce__(self):  # what was computed on the way is left out
        return EastPolicy, (self.data, self.search, self.options, self.penalty)

    # -- fitting --------------------------------------------------------------------------------------------------

    def score(self, tree: LatentTree, log_likelihood: float) -> float:
        """Return the BIC."""
        return log_likelihood - self.penalty * tree.n_parameters

    def fitted(self, tree: LatentTree, step: int, memory: dict, **options) -> State:
        """Run EM on all tables of a tree."""
        engine = engine_for(tree, self.data)
        found = self.search.fit(engine, engine.layout.pack(tree.tables), **options)
        tree = tree.with_tables(engine.layout.unpack(found.tables))
        return State(tree, self.score(tree, found.log_likelihood), found.log_likelihood, step, memory)

    def start(self, tree: LatentTree, **options) -> State:
        """Return the state at which the search begins."""
        return self.fitted(tree, 0, self._first_memory(), first=True, **options)

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint is not what the table says, or what this policy remembers."""
        check_again(state, self.data, self.score)
        phases = (*PHASES, "excursion", "look ahead")
        check_memory(state.memory, phase=phases, exhausted=dict, queue=list, moved=bool, failed=list)
        allowed = list(self.options.excursions)
        check_memory(state.memory, excursions=lambda left: left == allowed[len(allowed) - len(left) :])
        check_memory(state.memory, local=lambda pair: pair is None or (type(pair) is list and len(pair) == 2))
        check_over(state, self._has_nothing_left(state))
        for parts in state.memory["queue"]:
            self._check_move(state.tree, from_list(parts))

    def _has_nothing_left(self, state: State) -> bool:
        """Tell whether a search with this memory can have come to its end."""
        memory = state.memory
        if memory["queue"] or memory["local"] is not None:
            return False
        if self.options.evaluation == "auto":
            return memory["phase"] == "look ahead" and not memory["excursions"]
        since = {state.step, state.step - 1}  # the last EM counts as a step, if it helps
        others = [memory["exhausted"].get(phase) for phase in PHASES if phase != memory["phase"]]
        return len({*others}) == 1 and since.issuperset(others)

    def _check_move(self, tree: LatentTree, move: Move) -> None:
        """Raise if a move that waits to be tried is none."""
        if is_possible(tree, move, self.options.rules) and isinstance(move, Introduce):
            most = np.prod([tree.cards[tree.index(name)] for name in move.moved])
            if type(move.n_states) is not int or not 2 <= move.n_states <= most:
                raise ValueError(f"a new hidden variable is to have {move.n_states!r} states")

    def _first_memory(self) -> dict:
        return {
            "phase": PHASES[0],
            "exhausted": {},
            "queue": [],
            "moved": False,
            "local": None,
            "failed": [],
            "excursions": list(self.options.excursions),
        }

    def _restricted(self, state: State) -> Restricted:
        outlook = self._outlook
        if outlook is None or outlook.tree is not state.tree:
            outlook = self._outlook = NodeMessages(state.tree, self.data)
        options = self.options
        return Restricted(
            outlook,
            self.search,
            self.penalty,
            options.n_starts,
            options.n_steps,
            (state.step,),
            max_states=None if np.isinf(options.rules.max_states) else int(options.rules.max_states),
        )

    def _evaluation(self, state: State) -> RestrictedEvaluation:
        """Return what evaluates candidates, and knows those it has seen for as long as the tree stays as it is."""
        tree, step = (None, None) if self._evaluated is None else self._evaluated[0]
        if tree is not state.tree or step != state.step:
            made = EVALUATIONS[self.options.evaluation](self._restricted(state))
            self._evaluated, self._attempted = ((state.tree, state.step), made), {}
        return self._evaluated[1]

    # -- the search -----------------------------------------------------------------------------------------------

    def advance(self, state: State) -> Step:
        """Take the next step."""
        phase = state.memory["phase"]
        if phase == "excursion":
            return self._excursion(state)
        if phase == "look ahead":
            return self._look_ahead(state)
        if state.memory["local"] is not None:
            return self._adjust_locally(state)
        if self.options.evaluation == "auto":
            return self._from_queue(state)
        ordered = self._ordered(phase, self._evaluation(state).candidates(self._moves(state.tree, phase)))
        n_tries = 2 if self.options.evaluation == "dc" and phase == "expand" else 1
        found = self._best_of(state, ordered, n_tries)
        return self._next_phase(state) if found is None else self._accepted(state, *found)

    def _moves(self, tree: LatentTree, phase: str) -> list[Move]:
        rules = self.options.rules
        if phase == "expand":
            return [*introductions(tree, rules), *growths(tree, rules)]
        if phase == "adjust":
            return relocations(tree, rules)
        if phase == "delete states":
            return shrinkages(tree, rules)
        return deletions(tree) + (contractions(tree) if self.options.evaluation == "auto" else [])

    def _ordered(self, phase: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        return by_ratio(candidates) if phase == "expand" and self.options.improvement_ratio else by_score(candidates)

    def _best_of(self, state: State, candidates: Sequence[Candidate], n: int) -> tuple[Move, State] | None:
        """Fit the first candidates that break no rule; return the best one, or None if none is better than the tree."""
        tried: list[tuple[Candidate, State | None]] = []
        left = list(candidates)
        while n and left:
            some, left = left[:n], left[n:]
            found = self.search.map(Attempts(self, state, wanted=state.score).tried, some)
            tried += [pair for pair in zip(some, found, strict=True) if pair[1] is not None]
            n -= sum(new is not None for new in found)
        return self._best(state, tried)

    def _best(self, state: State, tried: Sequence[tuple[Candidate, State | None]]) -> tuple[Move, State] | None:
        """Return the best of the candidates that were fitted, or None if none is better than the tree."""
        better = [(one.move, new) for one, new in tried if new is not None and new.score > state.score + RISE]
        if not better:
            return None
        expanding = state.memory["phase"] == "expand" and self.options.improvement_ratio
        return max(better, key=lambda pair: self._ratio(state, pair[1]) if expanding else pair[1].score)

    def _tried(self, state: State, candidate: Candidate, wanted: float = -np.inf) -> State | None:
        """Make a move and fit the tree, unless it breaks a rule; EM ends early if a wanted score is out of reach."""
        tree = applied(state.tree, candidate.move, candidate.local)
        if self.options.rules.broken(tree):
            return None
        target = wanted + self.penalty * tree.n_parameters if self.search.settings.prior == 0 else -np.inf
        return self.fitted(tree, state.step + 1, state.memory, target=target)

    def _ratio(self, old: State, new: State) -> tuple[float, float]:
        rise, more = new.score - old.score, new.tree.n_parameters - old.tree.n_parameters
        return (rise / more if more > 0 else np.inf, rise)

    def _accepted(self, state: State, move: Move, new: State, **memory) -> Step:
        local = None
        if isinstance(move, Introduce):
            names = [name for name in new.tree.latent_names if name not in state.tree.latent_names]
            local = [move.node, names[0]] if names and move.node in new.tree.names else None
        memory = {**state.memory, "moved": True, "local": local, **memory}
        return Step(replace(new, memory=memory), move.operator, str(move))

    def _next_phase(self, state: State) -> Step:
        """Go on with the next phase that has not been gone through since the tree changed last."""
        memory = {**state.memory, "queue": [], "moved": False}
        memory["exhausted"] = {**memory["exhausted"], memory["phase"]: state.step}
        at = PHASES.index(memory["phase"])
        for phase in (*PHASES[at + 1 :], *PHASES[:at]):
            if memory["exhausted"].get(phase) != state.step:
                return Step(replace(state, memory={**memory, "phase": phase}))
        if self.options.evaluation == "auto":
            return Step(replace(state, memory={**memory, "phase": "excursion"}))
        return self.finish(state)

    def finish(self, state: State) -> Step:
        """Fit the current tree to the end."""
        settings = self.search.settings
        options = settings.last_fit
        new = self.fitted(state.tree, state.step + 1, {**state.memory, "queue": []}, **options)
        if new.score < state.score:  # EM with a prior maximises something else
            return Step(replace(state, finished=True))
        return Step(replace(new, finished=True), "fit", None)

    # -- after a node was introduced ------------------------------------------------------------------------------

    def _adjust_locally(self, state: State) -> Step:
        """Let the new node take over more neighbours of the node it stems from."""
        node, new = state.memory["local"]
        over = Step(replace(state, memory={**state.memory, "local": None}))
        names = state.tree.names
        if node not in names or new not in names:
            return over
        at = state.tree.index(node)
        if state.tree.index(new) not in neighbours_of(state.tree, at):
            return over
        units = self.options.rules.units(state.tree, at)
        moves = [Relocate(unit, node, new) for unit in units if new not in unit]
        candidates = by_score(self._evaluation(state).candidates(moves))
        n_tries = self.options.n_tries if self.options.evaluation == "auto" else 1
        found = self._best_of(state, candidates, n_tries)
        return over if found is None else self._accepted(state, *found, local=[node, new])

    # -- a queue of candidates ------------------------------------------------------------------------------------

    def _from_queue(self, state: State) -> Step:
        """Try candidates in the order in which they were found, and look for new ones when all were tried."""
        memory = state.memory
        queue = [from_list(parts) for parts in memory["queue"]]
        if not queue:
            return self._filled(state)
        phase, n = memory["phase"], self.options.n_tries
        some, queue = queue[:n], queue[n:]
        possible = [move for move in some if is_possible(state.tree, move, self.options.rules)]
        tried = {id(one): (one, new) for one, new in self._attempts(state, possible, queue)}
        candidates = self._ordered(phase, [one for one, _ in tried.values()])
        found = self._best(state, [tried[id(one)] for one in candidates])
        if found is None:
            left = replace(state, memory={**memory, "queue": [as_list(move) for move in queue]})
            return Step(left) if queue or memory["moved"] else self._next_phase(left)
        evaluated = [one.move for one in candidates]  # an introduction may have got another number of states
        queue = [move for move in evaluated if move != found[0]] + queue
        return self._accepted(state, *found, queue=[as_list(move) for move in queue])

    def _attempts(self, state: State, moves: Sequence[Move], later: Sequence[Move]) -> list[tuple]:
        """Evaluate moves and fit the trees; workers that would be idle do so with moves that may come next."""
        evaluation = self._evaluation(state)
        known = self._attempted
        needed = [move for move in moves if move not in known]
        idle = -len(needed) % self.search.n_workers
        further = [move for move in later if move not in known and is_possible(state.tree, move, self.options.rules)]
        needed += further[:idle]
        attempts = Attempts(self, state, evaluation, state.score)
        found = self.search.map(attempts.evaluated, attempts.known(needed))
        known.update(zip(needed, found, strict=True))
        return [known[move] for move in moves]

    def _filled(self, state: State) -> Step:
        phase = state.memory["phase"]
        ordered = self._ordered(phase, self._evaluation(state).candidates(self._moves(state.tree, phase)))
        good = [one for one in ordered if one.score > 0]
        if phase == "expand" and good:
            least = LEAST_RATIO * min(good[0].ratio, 1e9)
            good = [one for one in good if one.ratio >= least]
        chosen = good[:QUEUE] if len(good) >= HOPEFUL else ordered[:HOPEFUL]
        if not chosen:
            return self._next_phase(state)
        queue = [as_list(one.move) for one in chosen]
        return Step(replace(state, memory={**state.memory, "queue": queue, "moved": False}))

    # -- with a lower penalty -------------------------------------------------------------------------------------

    def _excursion(self, state: State) -> Step:
        """Go on as if parameters cost less, until nothing helps any more, and come back: kept if it is better here.

        Trees that are too large show which dependences there are; what they do not need can then be left out.
        """
        left = state.memory["excursions"]
        if not left:
            return Step(replace(state, memory={**state.memory, "phase": "look ahead"}))
        lenient = EastPolicy(self.data, self.search, self.options, left[0] * self.penalty)
        strict = EastPolicy(self.data, self.search, self.options, self.penalty)
        *_, far = lenient.states(state, PHASES[:1])
        new = state
        try:
            for new in strict.states(far, (*PHASES[1:], PHASES[0])):  # noqa: B007 - the last one counts
                pass
        except STOP_SIGNALS as stop:
            self.search.note_interrupt(stop)  # what was found so far is kept, if it is better
        if new.score <= state.score + RISE:
            return Step(replace(state, memory={**state.memory, "excursions": left[1:]}))
        memory = {**state.memory, "phase": PHASES[0]}
        return Step(replace(new, step=state.step + 1, memory=memory), "excursion", None)

    def states(self, state: State, phases: Sequence[str]) -> Iterator[State]:
        """Go through some phases, in turn, until none of them helps any more; yield where the search is on its way."""
        memory = {**self._first_memory(), "phase": phases[0]}
        memory["exhausted"] = {phase: state.step for phase in PHASES if phase not in phases}
        score = self.score(state.tree, state.log_likelihood)
        state = State(state.tree, score, state.log_likelihood, state.step, memory)
        yield state
        while state.memory["phase"] in phases:
            self.search.tick()
            state = self.advance(state).state
            self.search.show(f"excursion, {state.memory['phase']}", state)
            yield state

    # -- two steps at once ----------------------------------------------------------------------------------------

    def _look_ahead(self, state: State) -> Step:
        """Try candidates that do not help by themselves, and see whether they do after what they touch has settled."""
        if not self.options.look_ahead:
            return self.finish(state)
        failed = list(state.memory["failed"])
        moves = [move for phase in PHASES for move in self._moves(state.tree, phase)]
        known = set(failed)
        candidates = [
            one
            for one in by_score(self._evaluation(state).candidates(moves))
            if signature(state.tree, one.move) not in known
        ]
        ordered = in_turn(candidates)[: self.options.look_ahead]
        for first in range(0, len(ordered), BATCH):
            some = ordered[first : first + BATCH]
            failed += [signature(state.tree, one.move) for one in some]
            found = self.search.map(Attempts(self, state).tried, some)
            tried = [(one.move, new) for one, new in zip(some, found, strict=True) if new is not None]
            tried.sort(key=lambda pair: -pair[1].score)
            for (move, _), settled in zip(tried, self._settled_in_turn(state, tried[:SETTLED]), strict=False):
                if settled.score > state.score + RISE:
                    memory = {**state.memory, "phase": PHASES[0], "failed": failed}
                    return Step(replace(settled, memory=memory), move.operator, f"{move}, and around")
        return self.finish(state)

    def _settled_in_turn(self, state: State, tried: Sequence[tuple[Move, State]]) -> Iterator[State]:
        """Yield what becomes of moves that were made; several workers look at all of them at once."""
        n = len(tried) if self.search.n_workers > 1 else 1
        for first in range(0, len(tried), n):
            yield from self.search.map(Attempts(self, state).settled, tried[first : first + n])

    def _settled(self, state: State, move: Move, new: State) -> State:
        """Make all moves that help around a move that was made, but none that undoes it."""
        fresh = [name for name in new.tree.latent_names if name not in state.tree.latent_names]
        near = touched(state.tree, move) | set(fresh)
        while new.score <= state.score + RISE:
            moves = [one for one in self._moves_near(new.tree, near) if not undoes(one, move, fresh)]
            found = by_score(self._restricted(new).candidates(moves))
            if not found or found[0].score <= RISE:
                break
            further = self._tried(new, found[0])
            if further is None or further.score <= new.score + RISE:
                break
            new = replace(further, step=state.step + 1)
        return new

    def _moves_near(self, tree: LatentTree, near: Collection[Hashable]) -> list[Move]:
        rules = self.options.rules
        moves: list[Move] = [move for move in (*growths(tree, rules), *shrinkages(tree, rules)) if move.node in near]
        moves += [move for move in relocations(tree, rules) if move.old in near and move.new in near]
        return moves + [move for move in deletions(tree) if move.node in near and move.into in near]
