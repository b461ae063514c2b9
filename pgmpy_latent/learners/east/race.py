"""A search that begins with several starts, and goes on with the one that leads furthest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pgmpy_latent.diagnostics.pairs import pair_statistics
from pgmpy_latent.learners.east.blocks import Division
from pgmpy_latent.learners.east.memory import EXCURSION, LOOK_AHEAD, EastMemory, Line, RaceMemory
from pgmpy_latent.learners.east.move import PHASES
from pgmpy_latent.learners.east.policy import RISE, EastPolicy
from pgmpy_latent.learners.east.settings import Columns, EastSettings
from pgmpy_latent.learners.memory import check_value
from pgmpy_latent.learners.resumed import check_again, check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.blocks import rooted_at_columns
from pgmpy_latent.runtime.checkpoint import State
from pgmpy_latent.tables.encode import CategoricalData

#: Trees with as many parameters whose log-likelihoods are so close, in nats, are taken to be the same.
SAME = 0.05
Passed = tuple[tuple[str, int, float], ...]


class Stage(NamedTuple):
    """One part of the search from a start: where columns may stand, and how expansion orders its candidates."""

    columns: Columns
    by_ratio: bool


class Race:
    """The policy: searches from one start after the other, then goes on with the best tree.

    The search from a start ends where no move helps, or where another one came through the same tree. What it takes to
    get away from there (excursions, looking ahead, a last look at numbers of states) is spent on the best tree alone.
    Two starts that agree on the best tree so far do not show that it is the best one: others lead further. Some starts
    are tried only where another one led to the best tree.

    Parameters
    ----------
    data : CategoricalData
        The table, columns in the order of their names.
    search : Search
        Runs EM.
    settings : EastSettings
        How the search goes on with the best tree.
    stages : mapping
        Name of a start -> the stages of the search from there.
    most : int, optional
        How many starts are tried, the best ones; None is all. If there is such a limit, the first tree that explains
        all pairs of columns is enough: the search only looks ahead a little from there.
    penalty : float, optional
        Cost of a parameter; that of BIC by default.
    second : mapping, optional
        Name of a start that is tried only sometimes -> whether it is, given the name of the start that led to the best
        tree, and how many hidden variables this has.
    """

    def __init__(
        self,
        data: CategoricalData,
        search: Search,
        settings: EastSettings,
        stages: Mapping[str, Sequence[Stage]],
        most: int | None = None,
        penalty: float | None = None,
        second: Mapping[str, Callable[[str, int], bool]] | None = None,
    ):
        self.data = data
        self.search = search
        self.settings = settings
        self.stages = stages
        self.most = most
        self.second = second or {}
        self.division = Division(data)
        self.last = EastPolicy(data, search, settings, penalty, self.division)
        self._policies: dict[Stage, EastPolicy] = {}

    def start(self, trees: Mapping[str, LatentTree]) -> State:
        """Return the state at which the search begins, with the best one of some trees.

        Parameters
        ----------
        trees : mapping
            Name of a start -> the tree. The better it is after EM, the earlier the search from there comes.
        """
        lines = []
        for name, tree in trees.items():
            state = self.last.start(tree)
            lines.append(Line(name, 0, state.tree, state.score, state.log_likelihood))
        best = max(lines, key=lambda line: line.score)
        lines.sort(key=lambda line: (line.name in self.second, -line.score))
        memory = RaceMemory(tuple(lines[: self.most]), best.name)
        return State(best.tree, best.score, best.log_likelihood, memory=memory)

    def check(self, state: State) -> None:
        """Raise if a state of a checkpoint does not fit the table, or its memory is not that of such a search."""
        if not isinstance(state.memory, RaceMemory):
            self.last.check(state)
            return
        check_again(state, self.data, self.last.score)
        for line in state.memory.lines:
            check_value("lines", line.name, line.name in self.stages and line.stage <= len(self.stages[line.name]))
            self._policy(self.stages[line.name][max(line.stage, 1) - 1]).check(_state_of(line))
        check_value("lines", len(state.memory.lines), bool(state.memory.lines))
        check_value("leader", state.memory.leader, state.memory.leader in self.stages)
        check_over(state, False)

    def finish(self, state: State) -> Step:
        """Fit the best tree so far to the end."""
        if isinstance(state.memory, RaceMemory):
            state = replace(state, memory=EastMemory())
        return self.last.finish(state)

    def advance(self, state: State) -> Step:
        """Take the next step."""
        if not isinstance(state.memory, RaceMemory):
            return self.last.advance(state)
        line, *waiting = state.memory.lines
        if line.stage > 0 and line.memory.phase not in (EXCURSION, LOOK_AHEAD):
            return self._advanced(state, line, waiting)
        if line.stage < len(self.stages[line.name]):
            tree = rooted_at_columns(line.tree, self.division.columns)
            line = replace(line, stage=line.stage + 1, tree=tree, memory=EastMemory())
            return Step(replace(state, memory=replace(state.memory, lines=(line, *waiting))))
        is_enough = self._is_enough(state.tree)
        while waiting and not self._is_worth_a_try(waiting[0], state):
            waiting = waiting[1:]
        if waiting and not is_enough:
            return Step(replace(state, memory=replace(state.memory, lines=tuple(waiting))))
        exhausted = {phase: state.step for phase in PHASES}
        if is_enough:
            return Step(replace(state, memory=EastMemory(LOOK_AHEAD, exhausted, explained=True)))
        return Step(replace(state, memory=EastMemory(EXCURSION, exhausted, excursions=self.settings.excursions)))

    def _is_worth_a_try(self, line: Line, state: State) -> bool:
        """Tell whether the search from a start can be expected to lead to another tree than those before it."""
        is_tried = self.second.get(line.name)
        return is_tried is None or is_tried(state.memory.leader, int(state.tree.latent.sum()))

    def _advanced(self, state: State, line: Line, waiting: Sequence[Line]) -> Step:
        """Take a step of the search from one start; the state has the best tree of all."""
        policy = self._policy(self.stages[line.name][line.stage - 1])
        step = policy.advance(_state_of(line))
        new = step.state
        line = Line(line.name, line.stage, new.tree, new.score, new.log_likelihood, new.step, new.memory)
        line, passed = self._followed(line, state.memory.passed)
        if line.memory.phase == EXCURSION and new.tree is state.tree:
            self.last.learn_from(policy)  # where no move helped: what comes next looks at the same moves
        memory = replace(state.memory, lines=(line, *waiting), passed=passed)
        if new.score <= state.score + RISE:
            return Step(replace(state, memory=memory))
        better = State(new.tree, new.score, new.log_likelihood, state.step + 1, replace(memory, leader=line.name))
        if line.name != state.memory.leader:
            return Step(better, "start", line.name)
        return Step(better, step.operator, step.target)

    def _followed(self, line: Line, passed: Passed) -> tuple[Line, Passed]:
        """Return a line, ended where another line came through the same tree, and the trees that lines came through.

        From the same tree searches take the same path, or nearly so: all that were followed to their ends met there.
        """
        stages = self.stages[line.name]
        if stages[line.stage - 1].columns != self.settings.rules.columns:
            return line, passed
        here = (line.name, line.tree.n_parameters, line.log_likelihood)
        for name, n_parameters, value in passed:
            if name != line.name and n_parameters == here[1] and abs(value - here[2]) < SAME:
                return replace(line, stage=len(stages), memory=EastMemory(EXCURSION)), passed
        return line, passed if passed[-1:] == (here,) else (*passed, here)

    def _policy(self, stage: Stage) -> EastPolicy:
        """Return the policy of a stage; it keeps what it knows about the last tree."""
        if stage not in self._policies:
            rules = replace(self.settings.rules, columns=stage.columns)
            settings = replace(self.settings, improvement_ratio=stage.by_ratio, rules=rules)
            self._policies[stage] = EastPolicy(self.data, self.search, settings, self.last.penalty, self.division)
        return self._policies[stage]

    def _is_enough(self, tree: LatentTree) -> bool:
        """Tell whether little more is to be found: in a large table, where no pair of columns needs an edge.

        There a pair would be worth an edge if the two went together in a way that the tree does not explain.
        """
        if self.most is None or self.data.values:  # of numbers there is no such statistic
            return False
        _, _, statistic, df, _ = pair_statistics(tree, self.data).T
        return bool((statistic / 2 <= self.last.penalty * df).all())


def _state_of(line: Line) -> State:
    return State(line.tree, line.score, line.log_likelihood, line.step, line.memory)
